//! Draws the map of relationships: which collections reference or copy others.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

use docward_model::{Evidence, Namespace, Reference, Report, Severity, text};
use maud::{Markup, html};

use super::{
    findings::severity_class,
    graph::{Graph, GraphArrow, GraphBox},
    pack,
};
use crate::text::{line, plain};

/// The maximum number of boxes: larger maps are unreadable, and their layout takes seconds.
const MAX_BOXES: usize = 60;
/// The maximum number of rows in the table of relationships.
const MAX_ROWS: usize = 2_000;
/// The maximum number of copied fields in the label of an arrow.
const NAMED_COPIES: usize = 2;

/// An arrow of the map: all references and copies from one collection to another.
struct Link<'e> {
    references: Vec<&'e Reference>,
    copies: Vec<(String, String)>,
}

type Links<'e> = BTreeMap<(&'e Namespace, &'e Namespace), Link<'e>>;

pub(crate) fn section(report: &Report) -> Markup {
    let links = links(&report.evidence);
    let worst = worst(report);
    let drawn = chosen(&links);
    let boxes: BTreeSet<&Namespace> = links.keys().flat_map(|(a, b)| [*a, *b]).collect();
    let left_out = boxes.len() - drawn.len();
    let rows = rows(&links);
    html! {
        section #map aria-labelledby="map-title" {
            h2 #map-title { "Map" }
            p {
                "An arrow points from a collection with ids or copied fields to the collection that they "
                "come from. Dashed arrows are copies: fields that repeat values of the other collection, or "
                "that are declared as copies. Select a collection to open it."
            }
            p .legend {
                "Collections: " span .key.bad {} "with errors " span .key.poor {} "with warnings "
                span .key.good {} "with neither"
            }
            @if left_out > 0 {
                p .warn {
                    (text::plural(left_out as u64, "collection")) " with fewer links not drawn; the table has "
                    @if rows > MAX_ROWS { "more of them." } @else { "all." }
                }
            }
            p .hint { "Scroll sideways to see the whole map →" }
            div .scroll.wide tabindex="0" role="region" aria-label="Map of relationships" {
                (draw(&links, &drawn, &worst))
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

/// The collections with the most links, each with one linked partner, because a box without an
/// arrow shows no relation.
fn chosen<'e>(links: &Links<'e>) -> BTreeSet<&'e Namespace> {
    let mut partners: BTreeMap<&Namespace, BTreeSet<&Namespace>> = BTreeMap::new();
    for (from, to) in links.keys() {
        partners.entry(from).or_default().insert(to);
        partners.entry(to).or_default().insert(from);
    }
    let rank = |namespace: &&'e Namespace| {
        (Reverse(partners.get(namespace).map_or(0, BTreeSet::len)), *namespace)
    };
    let mut ranked: Vec<&Namespace> = partners.keys().copied().collect();
    ranked.sort_by_key(rank);
    let mut chosen = BTreeSet::new();
    for namespace in ranked {
        let others = || partners[namespace].iter().copied().filter(|other| *other != namespace);
        let is_linked = others().any(|other| chosen.contains(other));
        // A collection linked only to itself shows that in its box.
        let partner = if is_linked { None } else { others().min_by_key(rank) };
        let more = [Some(namespace), partner];
        let more = more.into_iter().flatten().filter(|one| !chosen.contains(one));
        let more: Vec<&Namespace> = more.collect();
        if chosen.len() + more.len() <= MAX_BOXES {
            chosen.extend(more);
        }
    }
    chosen
}

/// The worst severity of each collection that has errors or warnings.
fn worst(report: &Report) -> BTreeMap<String, Severity> {
    let mut worst: BTreeMap<String, Severity> = BTreeMap::new();
    for finding in report.findings.iter().filter(|f| f.severity > Severity::Info) {
        if let Some(namespace) = finding.at.namespace() {
            let known = worst.entry(namespace).or_insert(finding.severity);
            *known = (*known).max(finding.severity);
        }
    }
    worst
}

fn draw(
    links: &Links<'_>,
    chosen: &BTreeSet<&Namespace>,
    worst: &BTreeMap<String, Severity>,
) -> Markup {
    let databases: BTreeSet<&str> = chosen.iter().map(|ns| ns.database.as_str()).collect();
    let with_database = databases.len() > 1;
    let name = |ns: &Namespace| if with_database { ns.to_string() } else { ns.collection.clone() };
    let mut graph = Graph::default();
    let mut places = BTreeMap::new();
    for &namespace in chosen {
        // A collection that refers to itself has a symbol in its box.
        let own = if links.contains_key(&(namespace, namespace)) { " ↺" } else { "" };
        let severity = worst.get(&namespace.to_string()).copied();
        places.insert(namespace, graph.boxes.len());
        graph.boxes.push(GraphBox {
            lines: vec![format!("{}{own}", name(namespace))],
            title: match severity {
                Some(severity) => format!("{namespace}: has {}s", severity.word()),
                None => namespace.to_string(),
            },
            class: severity.map_or("good", severity_class),
            href: Some(format!(
                "#collection={}",
                pack::percent_encoded(&line(&namespace.to_string()))
            )),
        });
    }
    for ((from, to), link) in links {
        let (Some(&tail), Some(&head)) = (places.get(from), places.get(to)) else { continue };
        let arrow = |label: String, words: String, dashed: bool| GraphArrow {
            from: tail,
            to: head,
            label,
            words: format!("{} → {}: {words}", name(from), name(to)),
            dashed,
        };
        if let Some(first) = link.references.first() {
            let label = format!("{} {}", first.path, cardinality(first));
            let label = with_more(label, link.references.len() - 1);
            graph.arrows.push(arrow(label, references_in_words(link), false));
        }
        if !link.copies.is_empty() {
            let named: Vec<&str> =
                link.copies.iter().take(NAMED_COPIES).map(|(path, _)| path.as_str()).collect();
            let label = with_more(named.join(", "), link.copies.len() - named.len());
            graph.arrows.push(arrow(label, copies_in_words(link), true));
        }
    }
    graph.draw("collection")
}

/// `customerId 1:N +2`.
fn with_more(label: String, more: usize) -> String {
    if more > 0 { format!("{label} +{more}") } else { label }
}

fn references_in_words(link: &Link<'_>) -> String {
    let references = link.references.iter().map(|r| format!("{} ({})", r.path, cardinality(r)));
    references.collect::<Vec<_>>().join(", ")
}

fn copies_in_words(link: &Link<'_>) -> String {
    let copies = link.copies.iter().map(|(path, source)| format!("{path} copies {source}"));
    copies.collect::<Vec<_>>().join(", ")
}

/// The total number of relationships.
fn rows(links: &Links<'_>) -> usize {
    links.values().map(|link| link.references.len() + link.copies.len()).sum()
}

/// The cardinality from parents to children, as found in the data.
fn cardinality(reference: &Reference) -> &'static str {
    match (reference.parents_per_child > 1.05, reference.children_per_parent.max > 1) {
        (false, false) => "1:1",
        (false, true) => "1:N",
        (true, false) => "N:1",
        (true, true) => "N:M",
    }
}

fn table(links: &Links<'_>) -> Markup {
    let rows = rows(links);
    let mut shown = 0;
    html! {
        details {
            summary { "All relationships (" (text::count(rows as u64)) ")" }
            div .scroll tabindex="0" role="region" aria-label="All relationships" {
                table .stacked {
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
                                        th scope="row" { (namespace_link(from)) }
                                        td data-label="Field" { code { (plain(reference.path.as_str())) } }
                                        td data-label="To" { (namespace_link(to)) " " code { (plain(reference.to_path.as_str())) } }
                                        td data-label="Kind" { "reference " (cardinality(reference)) }
                                        td data-label="Per parent: median" .num { (text::count(reference.children_per_parent.p50())) }
                                        td data-label="Most" .num { (text::count(reference.children_per_parent.max)) }
                                        td data-label="Found there" .num { (text::percent(reference.contained)) }
                                    }
                                }
                            }
                            @for (path, source) in &link.copies {
                                @if { shown += 1; shown <= MAX_ROWS } {
                                    tr {
                                        th scope="row" { (namespace_link(from)) }
                                        td data-label="Field" { code { (plain(path)) } }
                                        td data-label="To" { (namespace_link(to)) " " code { (plain(source)) } }
                                        td data-label="Kind" { "copy" }
                                        td {} td {} td {}
                                    }
                                }
                            }
                        }
                    }
                }
            }
            @if rows > MAX_ROWS { p .warn { (text::count((rows - MAX_ROWS) as u64)) " more are left out." } }
        }
    }
}

fn namespace_link(namespace: &Namespace) -> Markup {
    let name = line(&namespace.to_string());
    html! { a href={ "#collection=" (pack::percent_encoded(&name)) } { (name) } }
}

#[cfg(test)]
mod tests {
    use docward_model::{BsonType, CopiedField, Distribution, FieldPath};

    use super::*;

    fn reference(from: &str, to: &str, parents_per_child: f64) -> Reference {
        Reference {
            from: Namespace::new("db", from),
            path: FieldPath::new(format!("{to}Id")),
            to: Namespace::new("db", to),
            to_path: FieldPath::new("_id"),
            contained: 1.0,
            references_contained: 1.0,
            checked_values: 10,
            from_type: BsonType::ObjectId,
            to_type: BsonType::ObjectId,
            needs_conversion: false,
            children_per_parent: Distribution { max: 5, ..Distribution::default() },
            parents: 10.0,
            parents_per_child,
            looked_up: false,
        }
    }

    /// The map without the surrounding page.
    fn page_of(evidence: &Evidence) -> String {
        let links = links(evidence);
        let worst = BTreeMap::from([("db.customer".to_owned(), Severity::Error)]);
        draw(&links, &chosen(&links), &worst).into_string() + &table(&links).into_string()
    }

    #[test]
    fn dm_07_5_ids_in_arrays_are_many_to_many() {
        assert_eq!(cardinality(&reference("order", "product", 2.9)), "N:M");
        assert_eq!(cardinality(&reference("order", "customer", 1.0)), "1:N");
    }

    #[test]
    fn pt_extref_1_a_copy_has_an_arrow_of_its_own() {
        let mut evidence = Evidence::default();
        evidence.references.push(reference("order", "customer", 1.0));
        let page = page_of(&evidence);
        assert_eq!(
            (page.matches("<path class=\"edge").count(), page.matches("copied").count()),
            (1, 0)
        );
        for name in ["name", "city", "level"] {
            evidence.copies.push(CopiedField {
                from: Namespace::new("db", "order"),
                path: FieldPath::new(format!("customer.{name}")),
                reference: FieldPath::new("customerId"),
                to: Namespace::new("db", "customer"),
                source: FieldPath::new(name),
                compared: 100,
                differing: 1,
                by_value: true,
            });
        }
        let page = page_of(&evidence);
        assert!(page.contains("class=\"node bad\"") && page.contains("db.customer: has errors"));
        assert_eq!(page.matches("<path class=\"edge").count(), 2);
        assert_eq!(page.matches("class=\"edge copied\"").count(), 1, "one for all copies");
        assert!(
            page.contains("customerId 1:N<") && page.contains("customer.name, customer.city +1<")
        );
    }

    #[test]
    fn every_box_of_a_large_map_has_an_arrow() {
        let mut evidence = Evidence::default();
        // Stars of one centre and two leaves: if chosen by rank alone, the last centres would have
        // no leaves.
        for star in 0..100 {
            let middle = format!("m{star:03}");
            evidence.references.push(reference(&format!("a{star:03}"), &middle, 1.0));
            evidence.references.push(reference(&format!("b{star:03}"), &middle, 1.0));
        }
        let links = links(&evidence);
        let chosen = chosen(&links);
        assert!((MAX_BOXES - 1..=MAX_BOXES).contains(&chosen.len()), "{}", chosen.len());
        for one in &chosen {
            let is_linked = |(from, to): &(&Namespace, &Namespace)| {
                (from == one && chosen.contains(to)) || (to == one && chosen.contains(from))
            };
            assert!(links.keys().any(is_linked), "{one}");
        }
        assert!(!page_of(&evidence).contains("left out"), "the table has all");
    }
}
