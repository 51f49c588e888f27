//! Draws layered graphs of boxes and arrows. A library places the boxes, and [`super::route`]
//! routes the lines between them. The drawing happens here, so that it follows the page's style.
//! Every connected component is laid out separately, the largest first.

use std::collections::BTreeSet;

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

use super::route::{self, Line};
use crate::text::plain;

const LINE_HEIGHT: f64 = 18.0;
const PADDING: f64 = 16.0;
/// The width of a letter in a name, and in the lines below it.
const NAME_LETTER: f64 = 8.2;
const LINE_LETTER: f64 = 7.0;
/// The distance between two line ends on one side.
const END_SPACE: f64 = 13.0;

/// The graph to draw.
#[derive(Default)]
pub(crate) struct Graph {
    pub(crate) boxes: Vec<GraphBox>,
    pub(crate) arrows: Vec<GraphArrow>,
}

pub(crate) struct GraphBox {
    /// The first line is the name.
    pub(crate) lines: Vec<String>,
    /// The tooltip.
    pub(crate) title: String,
    pub(crate) href: Option<String>,
    /// The CSS class of its colour, or empty.
    pub(crate) class: &'static str,
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
    /// Draws the graph; `noun` is the kind of its boxes.
    pub(crate) fn draw(&self, noun: &str) -> Markup {
        let mut canvas = Canvas {
            places: vec![None; self.boxes.len()],
            lines: self.arrows.iter().map(|_| Line::default()).collect(),
            top: 0.0,
            size: (0.0, 0.0),
        };
        for part in self.parts() {
            canvas.top = canvas.size.1;
            self.lay_out(&part, &mut canvas);
        }
        let arrows: Vec<(usize, usize)> = self.arrows.iter().map(|a| (a.from, a.to)).collect();
        route::lines(&canvas.places, &arrows, &mut canvas.lines);
        let texts: Vec<String> = self.arrows.iter().map(|a| plain(&a.label)).collect();
        let labels = route::labels(&canvas.places, &canvas.lines, &texts);
        let points: Vec<(f64, f64)> = canvas
            .lines
            .iter()
            .flat_map(|line| line.points.iter().copied())
            .chain(labels.iter().flatten().map(|(x, y, w, h)| (x + w, y + h)))
            .collect();
        points.into_iter().for_each(|(x, y)| canvas.grow(x, y));
        self.drawn(&canvas, &labels, noun)
    }

    /// The connected components, the largest first.
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

    /// Returns whether the graph has more paths than the library, which follows each of them, can
    /// process in time. If two paths lead to one box at each step, their number doubles each time.
    fn is_tangled(&self) -> bool {
        const WAYS: u64 = 10_000;
        let mut follow: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); self.boxes.len()];
        for arrow in self.arrows.iter().filter(|arrow| arrow.from != arrow.to) {
            follow[arrow.from].insert(arrow.to);
        }
        // The number of paths from each box. A path that is still being followed is a cycle, which
        // the library breaks.
        let mut ways: Vec<Option<u64>> = vec![None; self.boxes.len()];
        let mut all = 0_u64;
        for first in 0..self.boxes.len() {
            let mut open = vec![(first, false)];
            while let Some((at, is_done)) = open.pop() {
                if is_done {
                    let behind = follow[at].iter().filter_map(|next| ways[*next]);
                    ways[at] = Some(behind.fold(1, u64::saturating_add));
                } else if ways[at].is_none() {
                    ways[at] = Some(0);
                    open.push((at, true));
                    open.extend(follow[at].iter().map(|next| (*next, false)));
                }
            }
            all = all.saturating_add(ways[first].unwrap_or(0));
        }
        all > WAYS
    }

    fn lay_out(&self, part: &[usize], canvas: &mut Canvas) {
        let mut graph = VisualGraph::new(Orientation::LeftToRight);
        let mut handles = vec![None; self.boxes.len()];
        for &at in part {
            let lines = &self.boxes[at].lines;
            let long = |line: &String| plain(line).chars().count() as f64;
            let name = lines.first().map_or(0.0, long) * NAME_LETTER;
            let below = lines.iter().skip(1).map(long).fold(0.0, f64::max) * LINE_LETTER;
            let width = name.max(below) + 24.0;
            // Lines that end at one side need room to end separately.
            let arrows = self.arrows.iter().filter(|arrow| arrow.from != arrow.to);
            let (come, go) = arrows.fold((0_u32, 0_u32), |(come, go), arrow| {
                (come + u32::from(arrow.to == at), go + u32::from(arrow.from == at))
            });
            let ends = f64::from(come.max(go) + 1) * END_SPACE;
            let height = (lines.len() as f64 * LINE_HEIGHT + PADDING).max(ends);
            let element = Element::create_with_properties(
                ShapeKind::new_box(""),
                StyleAttr::simple(),
                Orientation::LeftToRight,
                Point::new(width, height),
                at.to_string(),
            );
            handles[at] = Some(graph.add_node(element));
        }
        let mut laid = BTreeSet::new();
        let is_tangled = self.is_tangled();
        let mut joined: Vec<usize> = (0..self.boxes.len()).collect();
        for (at, arrow) in self.arrows.iter().enumerate() {
            let (Some(tail), Some(head)) = (handles[arrow.from], handles[arrow.to]) else {
                continue;
            };
            // A self-reference is shown in its box. A second arrow between two boxes affects the
            // position of neither.
            let ends = (arrow.from.min(arrow.to), arrow.from.max(arrow.to));
            if arrow.from == arrow.to || !laid.insert(ends) {
                continue;
            }
            // For a tangled graph, the library only gets a spanning forest; all lines are drawn
            // afterwards.
            if is_tangled && !join(&mut joined, arrow.from, arrow.to) {
                continue;
            }
            let mut drawn = Arrow::simple_with_properties("", at.to_string());
            // The text makes the library leave room between boxes; it is drawn where the line runs.
            drawn.text = "·".repeat(plain(&arrow.label).chars().count() / 2 + 1);
            graph.add_edge(drawn, tail, head);
        }
        graph.do_it(false, false, false, canvas);
    }

    fn drawn(&self, canvas: &Canvas, labels: &[Option<route::Rect>], noun: &str) -> Markup {
        let (width, height) = canvas.size;
        let placed = canvas.lines.iter().filter(|line| !line.d.is_empty()).count();
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
                @for (arrow, line) in self.arrows.iter().zip(&canvas.lines).filter(|(_, line)| !line.d.is_empty()) {
                    g .arrow {
                        title { (plain(&arrow.words)) }
                        path class={ "edge" (if arrow.dashed { " copied" } else { "" }) } d=(line.d)
                            marker-start=[line.reversed.then_some("url(#head)")]
                            marker-end=[(!line.reversed).then_some("url(#head)")] {}
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
                @for (arrow, label) in self.arrows.iter().zip(labels) {
                    @if let Some((x, y, w, h)) = label {
                        rect .paper x=(format!("{x:.1}")) y=(format!("{y:.1}")) width=(format!("{w:.1}")) height=(format!("{h:.1}")) {}
                        text .edge-label x=(format!("{:.1}", x + w / 2.0)) y=(format!("{:.1}", y + h / 2.0 + 4.0)) text-anchor="middle" { (plain(&arrow.label)) }
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
            rect class={ "node" (if node.class.is_empty() { "" } else { " " }) (node.class) } x=(format!("{x:.1}")) y=(format!("{y:.1}")) width=(format!("{w:.1}")) height=(format!("{h:.1}")) rx="6" {}
            @for (i, line) in node.lines.iter().enumerate() {
                @let top = if alone { middle } else { y + PADDING / 2.0 + LINE_HEIGHT * (i as f64 + 0.75) };
                @if alone || i == 0 {
                    text .node-label x=(format!("{:.1}", x + w / 2.0)) y=(format!("{top:.1}")) text-anchor="middle" { (plain(line)) }
                } @else {
                    text .node-line x=(format!("{:.1}", x + 12.0)) y=(format!("{top:.1}")) { (plain(line)) }
                }
            }
        }
    }
}

/// The positions that the library computed.
struct Canvas {
    /// The left, top, width and height of each box.
    places: Vec<Option<route::Rect>>,
    lines: Vec<Line>,
    /// The top of the component being laid out.
    top: f64,
    size: (f64, f64),
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
        let flat = |p: &Point| (p.x, p.y + top);
        let mut points =
            route::cubic(flat(&first.0), flat(&first.1), flat(&second.0), flat(&second.1));
        let mut before = (flat(&second.0), flat(&second.1));
        let mut d = format!(
            "M{} C{} {} {}",
            point(&first.0),
            point(&first.1),
            point(&second.0),
            point(&second.1)
        );
        for (control, end) in rest {
            d.push_str(&format!(" S{} {}", point(control), point(end)));
            let (pull, joint) = before;
            let mirrored = (2.0 * joint.0 - pull.0, 2.0 * joint.1 - pull.1);
            points.extend(route::cubic(joint, mirrored, flat(control), flat(end)));
            before = (flat(control), flat(end));
        }
        if let Some(line) = at.and_then(|at| self.lines.get_mut(at)) {
            *line = Line { d, points, reversed: head.0 };
        }
    }

    fn draw_line(&mut self, _: Point, _: Point, _: &StyleAttr, _: Option<String>) {}
    fn draw_circle(&mut self, _: Point, _: Point, _: &StyleAttr, _: Option<String>) {}
    fn draw_text(&mut self, _: Point, _: &str, _: &StyleAttr) {}
    fn create_clip(&mut self, _: Point, _: Point, _: usize) -> ClipHandle {
        0
    }
}

/// Joins the groups of two boxes; returns false if they are already joined.
fn join(groups: &mut [usize], a: usize, b: usize) -> bool {
    let (a, b) = (groups[a], groups[b]);
    groups.iter_mut().filter(|group| **group == b).for_each(|group| *group = a);
    a != b
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(boxes: usize, arrows: impl Iterator<Item = (usize, usize)>) -> String {
        let boxes = (0..boxes).map(|n| GraphBox {
            lines: vec![format!("box {n}")],
            title: String::new(),
            href: None,
            class: "",
        });
        let arrow = |(from, to): (usize, usize)| GraphArrow {
            from,
            to,
            label: "one".into(),
            words: "one".into(),
            dashed: false,
        };
        let (boxes, arrows) = (boxes.collect(), arrows.map(arrow).collect());
        Graph { boxes, arrows }.draw("box").into_string()
    }

    /// With one edge per arrow there would be 2^60 paths.
    #[test]
    fn two_arrows_for_each_step_of_a_long_chain_are_drawn() {
        let drawn = drawn(61, (0..60).flat_map(|n| [(n, n + 1), (n, n + 1)]));
        assert!(drawn.matches("<path").count() >= 120, "{}", drawn.len());
    }

    /// Here the number of paths is a Fibonacci number.
    #[test]
    fn boxes_that_two_ways_lead_to_are_drawn() {
        let drawn = drawn(62, (0..60).flat_map(|n| [(n, n + 1), (n, n + 2)]));
        assert!(drawn.matches("<path").count() >= 120, "{}", drawn.len());
    }

    #[test]
    fn a_circle_is_drawn() {
        let drawn = drawn(30, (0..30).flat_map(|n| [(n, (n + 1) % 30), (n, (n + 2) % 30)]));
        assert!(drawn.matches("<path").count() >= 60, "{}", drawn.len());
    }
}
