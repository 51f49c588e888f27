//! The map of relationships: which collection references or copies which.

use std::collections::{BTreeMap, BTreeSet};

use docward_model::{Evidence, Namespace, Reference, text};
use maud::{Markup, html};

use super::graph::{Graph, GraphArrow, GraphBox};
use super::pack;
use crate::text::{line, plain};

/// More boxes than this nobody follows, and placing them takes seconds.
const MAX_BOXES: usize = 60;
/// Rows of the table of relationships.
const MAX_ROWS: usize = 500;

/// An arrow of the map: all references and copies from one collection to another.
struct Link<'e> {
    references: Vec<&'e Reference>,
    copies: Vec<(String, String)>,
}

type Links<'e> = BTreeMap<(&'e Namespace, &'e Namespace), Link<'e>>;

pub(crate) fn section(evidence: &Evidence) -> Markup {
    let links = links(evidence);
    let drawn = chosen(&links);
    let boxes: BTreeSet<&Namespace> = links.keys().flat_map(|(a, b)| [*a, *b]).collect();
    let left_out = boxes.len() - drawn.len();
    html! {
        section #map aria-labelledby="map-title" {
            h2 #map-title { "Map" }
            p {
                "An arrow leads from the collection that holds ids, or copies of fields, to the one they are "
                "from. Dashed arrows are copies."
            }
            @if left_out > 0 {
                p .warn { (text::plural(left_out as u64, "collection")) " with fewer links not drawn; the table has all." }
            }
            div .scroll tabindex="0" role="region" aria-label="Drawn map of relationships" {
                (draw(&links, &drawn))
            }
            (table(&links))
        }
    }
}

fn links(evidence: &Evidence) -> Links<'_> {
    let mut links: Links<'_> = BTreeMap::new();
    let empty = || Link { references: Vec::new(), copies: Vec::new() };
    for reference in &evidence.references {
        let key = (&reference.from, &reference.to);
        links.entry(key).or_insert_with(empty).references.push(reference);
    }
    for copy in &evidence.copies {
        let pair = (copy.path.to_string(), copy.source.to_string());
        links.entry((&copy.from, &copy.to)).or_insert_with(empty).copies.push(pair);
    }
    links
}

/// The collections with the most links.
fn chosen<'e>(links: &Links<'e>) -> BTreeSet<&'e Namespace> {
    let mut degrees: BTreeMap<&Namespace, usize> = BTreeMap::new();
    for (from, to) in links.keys() {
        *degrees.entry(from).or_default() += 1;
        *degrees.entry(to).or_default() += 1;
    }
    let mut ranked: Vec<_> = degrees.into_iter().collect();
    ranked.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    ranked.into_iter().take(MAX_BOXES).map(|(namespace, _)| namespace).collect()
}

fn draw(links: &Links<'_>, chosen: &BTreeSet<&Namespace>) -> Markup {
    let databases: BTreeSet<&str> = chosen.iter().map(|ns| ns.database.as_str()).collect();
    let with_database = databases.len() > 1;
    let name = |ns: &Namespace| if with_database { ns.to_string() } else { ns.collection.clone() };
    let mut graph = Graph::default();
    let mut places = BTreeMap::new();
    for &namespace in chosen {
        // A collection that refers to itself has a sign in its box.
        let own = if links.contains_key(&(namespace, namespace)) { " ↺" } else { "" };
        places.insert(namespace, graph.boxes.len());
        graph.boxes.push(GraphBox {
            lines: vec![format!("{}{own}", name(namespace))],
            title: namespace.to_string(),
            href: Some(format!(
                "#collection={}",
                pack::percent_encoded(&line(&namespace.to_string()))
            )),
        });
    }
    for ((from, to), link) in links {
        let (Some(&tail), Some(&head)) = (places.get(from), places.get(to)) else { continue };
        graph.arrows.push(GraphArrow {
            from: tail,
            to: head,
            label: label(link),
            words: format!("{} → {}: {}", name(from), name(to), words(link)),
            dashed: link.references.is_empty(),
        });
    }
    graph.draw("collection")
}

/// `customerId 1:N`.
fn label(link: &Link<'_>) -> String {
    let first = match (link.references.first(), link.copies.first()) {
        (Some(reference), _) => format!("{} {}", reference.path, cardinality(reference)),
        (None, Some((path, _))) => path.clone(),
        (None, None) => String::new(),
    };
    let more = (link.references.len() + link.copies.len()).saturating_sub(1);
    if more > 0 { format!("{first} +{more}") } else { first }
}

fn words(link: &Link<'_>) -> String {
    let references = link.references.iter().map(|r| format!("{} ({})", r.path, cardinality(r)));
    let copies = link.copies.iter().map(|(path, source)| format!("{path} copies {source}"));
    references.chain(copies).collect::<Vec<_>>().join(", ")
}

/// Parents to children, as it is in the data.
fn cardinality(reference: &Reference) -> &'static str {
    match (reference.parents_per_child > 1.05, reference.children_per_parent.max > 1) {
        (false, false) => "1:1",
        (false, true) => "1:N",
        (true, false) => "N:1",
        (true, true) => "N:M",
    }
}

fn table(links: &Links<'_>) -> Markup {
    let rows: usize = links.values().map(|link| link.references.len() + link.copies.len()).sum();
    let mut shown = 0;
    html! {
        details {
            summary { "All relationships (" (text::count(rows as u64)) ")" }
            div .scroll tabindex="0" role="region" aria-label="All relationships" {
                table {
                    thead { tr {
                        th scope="col" { "From" }
                        th scope="col" { "Field" }
                        th scope="col" { "To" }
                        th scope="col" { "Kind" }
                        th scope="col" .num { "Per parent: median" }
                        th scope="col" .num { "Most" }
                        th scope="col" .num { "Found there" }
                    } }
                    tbody {
                        @for ((from, to), link) in links {
                            @for reference in &link.references {
                                @if { shown += 1; shown <= MAX_ROWS } {
                                    tr {
                                        td { (namespace_link(from)) }
                                        td { code { (plain(reference.path.as_str())) } }
                                        td { (namespace_link(to)) " " code { (plain(reference.to_path.as_str())) } }
                                        td { "reference " (cardinality(reference)) }
                                        td .num { (text::count(reference.children_per_parent.p50())) }
                                        td .num { (text::count(reference.children_per_parent.max)) }
                                        td .num { (text::percent(reference.contained)) }
                                    }
                                }
                            }
                            @for (path, source) in &link.copies {
                                @if { shown += 1; shown <= MAX_ROWS } {
                                    tr {
                                        td { (namespace_link(from)) }
                                        td { code { (plain(path)) } }
                                        td { (namespace_link(to)) " " code { (plain(source)) } }
                                        td { "copy" }
                                        td {} td {} td {}
                                    }
                                }
                            }
                        }
                    }
                }
            }
            @if rows > MAX_ROWS { p .warn { (rows - MAX_ROWS) " more are left out." } }
        }
    }
}

fn namespace_link(namespace: &Namespace) -> Markup {
    let name = line(&namespace.to_string());
    html! { a href={ "#collection=" (pack::percent_encoded(&name)) } { (name) } }
}
