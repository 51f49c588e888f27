//! The map of relationships: which collection references or copies which. A library for layered graphs
//! says where boxes and arrows go; they are drawn here, so that they follow the page's style.

use std::collections::{BTreeMap, BTreeSet};

use docward_model::{Evidence, Namespace, Reference, text};
use layout::{
    core::{
        base::Orientation,
        format::{ClipHandle, RenderBackend},
        geometry::Point,
        style::StyleAttr,
    },
    std_shapes::shapes::{Arrow, Element, ShapeKind},
    topo::layout::VisualGraph,
};
use maud::{Markup, html};

use super::pack;
use crate::text::{line, plain};

/// More boxes than this nobody follows, and placing them takes seconds.
const MAX_BOXES: usize = 60;
/// Rows of the table of relationships.
const MAX_ROWS: usize = 500;
const BOX_HEIGHT: f64 = 34.0;

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

/// Every part that hangs together is laid out on its own, the largest first, one below the other.
fn draw(links: &Links<'_>, chosen: &BTreeSet<&Namespace>) -> Markup {
    let databases: BTreeSet<&str> = chosen.iter().map(|ns| ns.database.as_str()).collect();
    let with_database = databases.len() > 1;
    let mut canvas = Canvas::default();
    for part in parts(links, chosen) {
        canvas.top = canvas.size.1;
        lay_out(links, &part, with_database, &mut canvas);
    }
    canvas.drawn()
}

/// Collections that are linked, directly or through others.
fn parts<'e>(links: &Links<'e>, chosen: &BTreeSet<&'e Namespace>) -> Vec<BTreeSet<&'e Namespace>> {
    let mut parts: Vec<BTreeSet<&Namespace>> =
        chosen.iter().map(|namespace| BTreeSet::from([*namespace])).collect();
    for (from, to) in links.keys() {
        let holding = |ns: &Namespace| parts.iter().position(|part| part.contains(ns));
        if let (Some(a), Some(b)) = (holding(from), holding(to))
            && a != b
        {
            let (kept, merged) = (a.min(b), a.max(b));
            let other = parts.remove(merged);
            parts[kept].extend(other);
        }
    }
    parts.sort_by(|a, b| b.len().cmp(&a.len()).then(a.cmp(b)));
    parts
}

fn lay_out(
    links: &Links<'_>,
    part: &BTreeSet<&Namespace>,
    with_database: bool,
    canvas: &mut Canvas,
) {
    let name = |ns: &Namespace| if with_database { ns.to_string() } else { ns.collection.clone() };
    let mut graph = VisualGraph::new(Orientation::LeftToRight);
    let mut handles = BTreeMap::new();
    for &namespace in part {
        let label = plain(&match links.get(&(namespace, namespace)) {
            Some(_) => format!("{} ↺", name(namespace)),
            None => name(namespace),
        });
        let width = label.chars().count() as f64 * 7.4 + 24.0;
        let at = canvas.boxes.len();
        canvas.boxes.push(Box { namespace: namespace.to_string(), label, place: None });
        let element = Element::create_with_properties(
            ShapeKind::new_box(""),
            StyleAttr::simple(),
            Orientation::LeftToRight,
            Point::new(width, BOX_HEIGHT),
            at.to_string(),
        );
        handles.insert(namespace, graph.add_node(element));
    }
    for ((from, to), link) in links {
        let (Some(&tail), Some(&head)) = (handles.get(from), handles.get(to)) else { continue };
        // A collection that refers to itself has a sign in its box instead.
        if from == to {
            continue;
        }
        let at = canvas.arrows.len();
        let label = plain(&label(link));
        let mut arrow = Arrow::simple_with_properties(&label, at.to_string());
        // Text makes the library leave room between boxes; it is drawn where the line runs.
        arrow.text = "·".repeat(label.chars().count() / 2 + 1);
        canvas.arrows.push(ArrowPath {
            words: format!("{} → {}: {}", name(from), name(to), words(link)),
            label,
            copied: link.references.is_empty(),
            d: String::new(),
            middle: None,
            reversed: false,
        });
        graph.add_edge(arrow, tail, head);
    }
    graph.do_it(false, false, false, canvas);
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

/// What the library placed.
#[derive(Default)]
struct Canvas {
    boxes: Vec<Box>,
    arrows: Vec<ArrowPath>,
    /// Where the part begins that is laid out now.
    top: f64,
    size: (f64, f64),
}

struct Box {
    namespace: String,
    label: String,
    /// Left, top, width and height.
    place: Option<(f64, f64, f64, f64)>,
}

struct ArrowPath {
    words: String,
    label: String,
    copied: bool,
    d: String,
    /// Where its label goes.
    middle: Option<(f64, f64)>,
    /// Whether the head is at the start of the path.
    reversed: bool,
}

impl Canvas {
    fn grow(&mut self, x: f64, y: f64) {
        self.size = (self.size.0.max(x + 12.0), self.size.1.max(y + 12.0));
    }

    fn drawn(&self) -> Markup {
        let (width, height) = self.size;
        let title = format!(
            "{} and {}",
            text::plural(self.boxes.len() as u64, "collection"),
            text::plural(self.arrows.len() as u64, "arrow")
        );
        html! {
            svg .map width=(format!("{width:.0}")) height=(format!("{height:.0}"))
                viewBox={ "0 0 " (format!("{width:.0} {height:.0}")) } role="group" aria-label=(title) {
                defs {
                    marker #head viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto-start-reverse" {
                        path .head d="M0 0 L10 5 L0 10 z" {}
                    }
                }
                @for arrow in self.arrows.iter().filter(|arrow| !arrow.d.is_empty()) {
                    g .arrow {
                        title { (plain(&arrow.words)) }
                        path class={ "edge" (if arrow.copied { " copied" } else { "" }) } d=(arrow.d)
                            marker-start=[arrow.reversed.then_some("url(#head)")]
                            marker-end=[(!arrow.reversed).then_some("url(#head)")] {}
                    }
                }
                @for node in &self.boxes {
                    @if let Some((x, y, w, h)) = node.place {
                        a href={ "#collection=" (pack::percent_encoded(&line(&node.namespace))) } {
                            title { (plain(&node.namespace)) }
                            rect .node x=(format!("{x:.1}")) y=(format!("{y:.1}")) width=(format!("{w:.1}")) height=(format!("{h:.1}")) rx="6" {}
                            text .node-label x=(format!("{:.1}", x + w / 2.0)) y=(format!("{:.1}", y + h / 2.0 + 4.5)) text-anchor="middle" { (node.label) }
                        }
                    }
                }
                @for arrow in &self.arrows {
                    @if let Some((x, y)) = arrow.middle {
                        text .edge-label x=(format!("{x:.1}")) y=(format!("{:.1}", y - 4.0)) text-anchor="middle" { (arrow.label) }
                    }
                }
            }
        }
    }
}

impl RenderBackend for Canvas {
    fn draw_rect(
        &mut self,
        xy: Point,
        size: Point,
        _: &StyleAttr,
        properties: Option<String>,
        _: Option<ClipHandle>,
    ) {
        let at = properties.and_then(|id| id.parse::<usize>().ok());
        if let Some(node) = at.and_then(|at| self.boxes.get_mut(at)) {
            let top = self.top + xy.y;
            node.place = Some((xy.x, top, size.x, size.y));
            self.grow(xy.x + size.x, top + size.y);
        }
    }

    fn draw_arrow(
        &mut self,
        path: &[(Point, Point)],
        _: bool,
        head: (bool, bool),
        _: &StyleAttr,
        properties: Option<String>,
        _: &str,
    ) {
        let at = properties.and_then(|id| id.parse::<usize>().ok());
        let top = self.top;
        let point = |p: &Point| format!("{:.1} {:.1}", p.x, p.y + top);
        let [first, second, rest @ ..] = path else { return };
        let mut d = format!(
            "M{} C{} {} {}",
            point(&first.0),
            point(&first.1),
            point(&second.0),
            point(&second.1)
        );
        for (control, end) in rest {
            d.push_str(&format!(" S{} {}", point(control), point(end)));
        }
        for (a, b) in path {
            self.grow(a.x, a.y + top);
            self.grow(b.x, b.y + top);
        }
        // The line runs through the end of each of its pieces.
        let middle = path[path.len() / 2].1;
        if let Some(arrow) = at.and_then(|at| self.arrows.get_mut(at)) {
            arrow.d = d;
            arrow.middle = Some((middle.x, middle.y + top));
            arrow.reversed = head.0;
        }
    }

    fn draw_line(&mut self, _: Point, _: Point, _: &StyleAttr, _: Option<String>) {}
    fn draw_circle(&mut self, _: Point, _: Point, _: &StyleAttr, _: Option<String>) {}
    fn draw_text(&mut self, _: Point, _: &str, _: &StyleAttr) {}
    fn create_clip(&mut self, _: Point, _: Point, _: usize) -> ClipHandle {
        0
    }
}
