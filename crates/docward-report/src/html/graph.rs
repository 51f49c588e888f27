//! Boxes and arrows: a library for layered graphs says where they go; they are drawn here, so that they
//! follow the page's style. Every part that hangs together is laid out on its own, the largest first.

use docward_model::text;
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

use crate::text::plain;

const LINE_HEIGHT: f64 = 18.0;
const PADDING: f64 = 16.0;

/// What is to be drawn.
#[derive(Default)]
pub(crate) struct Graph {
    pub(crate) boxes: Vec<GraphBox>,
    pub(crate) arrows: Vec<GraphArrow>,
}

pub(crate) struct GraphBox {
    /// The first line is the name.
    pub(crate) lines: Vec<String>,
    /// What a pointer over it shows.
    pub(crate) title: String,
    pub(crate) href: Option<String>,
}

pub(crate) struct GraphArrow {
    /// Indexes of boxes.
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) label: String,
    pub(crate) words: String,
    pub(crate) dashed: bool,
}

impl Graph {
    /// Draws everything; `noun` is what a box is.
    pub(crate) fn draw(&self, noun: &str) -> Markup {
        let mut canvas = Canvas {
            places: vec![None; self.boxes.len()],
            paths: self.arrows.iter().map(|_| Path::default()).collect(),
            top: 0.0,
            size: (0.0, 0.0),
        };
        for part in self.parts() {
            canvas.top = canvas.size.1;
            self.lay_out(&part, &mut canvas);
        }
        self.drawn(&canvas, noun)
    }

    /// Boxes that are linked, directly or through others, the largest part first.
    fn parts(&self) -> Vec<Vec<usize>> {
        let mut parts: Vec<Vec<usize>> = (0..self.boxes.len()).map(|at| vec![at]).collect();
        for arrow in &self.arrows {
            let holding = |at: usize| parts.iter().position(|part| part.contains(&at));
            if let (Some(a), Some(b)) = (holding(arrow.from), holding(arrow.to))
                && a != b
            {
                let (kept, merged) = (a.min(b), a.max(b));
                let other = parts.remove(merged);
                parts[kept].extend(other);
                parts[kept].sort_unstable();
            }
        }
        parts.sort_by(|a, b| b.len().cmp(&a.len()).then(a.cmp(b)));
        parts
    }

    fn lay_out(&self, part: &[usize], canvas: &mut Canvas) {
        let mut graph = VisualGraph::new(Orientation::LeftToRight);
        let mut handles = vec![None; self.boxes.len()];
        for &at in part {
            let lines = &self.boxes[at].lines;
            let longest = lines.iter().map(|l| plain(l).chars().count()).max().unwrap_or(0);
            let width = longest as f64 * 7.4 + 24.0;
            let height = lines.len() as f64 * LINE_HEIGHT + PADDING;
            let element = Element::create_with_properties(
                ShapeKind::new_box(""),
                StyleAttr::simple(),
                Orientation::LeftToRight,
                Point::new(width, height),
                at.to_string(),
            );
            handles[at] = Some(graph.add_node(element));
        }
        for (at, arrow) in self.arrows.iter().enumerate() {
            let (Some(tail), Some(head)) = (handles[arrow.from], handles[arrow.to]) else {
                continue;
            };
            // What points at itself says so in its box.
            if arrow.from == arrow.to {
                continue;
            }
            let mut drawn = Arrow::simple_with_properties("", at.to_string());
            // Text makes the library leave room between boxes; it is drawn where the line runs.
            drawn.text = "·".repeat(plain(&arrow.label).chars().count() / 2 + 1);
            graph.add_edge(drawn, tail, head);
        }
        graph.do_it(false, false, false, canvas);
    }

    fn drawn(&self, canvas: &Canvas, noun: &str) -> Markup {
        let (width, height) = canvas.size;
        let placed = canvas.paths.iter().filter(|path| !path.d.is_empty()).count();
        let title = format!(
            "{} and {}",
            text::plural(self.boxes.len() as u64, noun),
            text::plural(placed as u64, "arrow")
        );
        html! {
            svg .map width=(format!("{width:.0}")) height=(format!("{height:.0}"))
                viewBox={ "0 0 " (format!("{width:.0} {height:.0}")) } role="group" aria-label=(title) {
                defs {
                    marker #head viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto-start-reverse" {
                        path .head d="M0 0 L10 5 L0 10 z" {}
                    }
                }
                @for (arrow, path) in self.arrows.iter().zip(&canvas.paths).filter(|(_, path)| !path.d.is_empty()) {
                    g .arrow {
                        title { (plain(&arrow.words)) }
                        path class={ "edge" (if arrow.dashed { " copied" } else { "" }) } d=(path.d)
                            marker-start=[path.reversed.then_some("url(#head)")]
                            marker-end=[(!path.reversed).then_some("url(#head)")] {}
                    }
                }
                @for (node, place) in self.boxes.iter().zip(&canvas.places) {
                    @if let Some(place) = place {
                        @if let Some(href) = &node.href {
                            a href=(href) { (self.node(node, *place)) }
                        } @else {
                            g { (self.node(node, *place)) }
                        }
                    }
                }
                @for (arrow, path) in self.arrows.iter().zip(&canvas.paths) {
                    @if let Some((x, y)) = path.middle {
                        text .edge-label x=(format!("{x:.1}")) y=(format!("{:.1}", y - 4.0)) text-anchor="middle" { (plain(&arrow.label)) }
                    }
                }
            }
        }
    }

    fn node(&self, node: &GraphBox, (x, y, w, h): (f64, f64, f64, f64)) -> Markup {
        let alone = node.lines.len() == 1;
        let middle = y + h / 2.0 + 4.5;
        html! {
            title { (plain(&node.title)) }
            rect .node x=(format!("{x:.1}")) y=(format!("{y:.1}")) width=(format!("{w:.1}")) height=(format!("{h:.1}")) rx="6" {}
            @for (i, line) in node.lines.iter().enumerate() {
                @let top = if alone { middle } else { y + PADDING / 2.0 + LINE_HEIGHT * (i as f64 + 0.75) };
                @if alone || i == 0 {
                    text .node-label x=(format!("{:.1}", x + w / 2.0)) y=(format!("{top:.1}")) text-anchor="middle" { (plain(line)) }
                } @else {
                    text .edge-label x=(format!("{:.1}", x + 12.0)) y=(format!("{top:.1}")) { (plain(line)) }
                }
            }
        }
    }
}

/// What the library placed.
struct Canvas {
    /// Left, top, width and height of each box.
    places: Vec<Option<(f64, f64, f64, f64)>>,
    paths: Vec<Path>,
    /// Where the part begins that is laid out now.
    top: f64,
    size: (f64, f64),
}

#[derive(Default)]
struct Path {
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
        let top = self.top + xy.y;
        if let Some(place) = at.and_then(|at| self.places.get_mut(at)) {
            *place = Some((xy.x, top, size.x, size.y));
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
        if let Some(path) = at.and_then(|at| self.paths.get_mut(at)) {
            *path = Path { d, middle: Some((middle.x, middle.y + top)), reversed: head.0 };
        }
    }

    fn draw_line(&mut self, _: Point, _: Point, _: &StyleAttr, _: Option<String>) {}
    fn draw_circle(&mut self, _: Point, _: Point, _: &StyleAttr, _: Option<String>) {}
    fn draw_text(&mut self, _: Point, _: &str, _: &StyleAttr) {}
    fn create_clip(&mut self, _: Point, _: Point, _: usize) -> ClipHandle {
        0
    }
}
