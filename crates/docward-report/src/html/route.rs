//! Routes the lines between boxes and places their labels: smooth lines from side to side, separate
//! line ends, and labels where they cover least.

use std::collections::BTreeMap;

/// The left, top, width and height.
pub(super) type Rect = (f64, f64, f64, f64);
type Point = (f64, f64);

/// The number of sample points for a piece of a curve.
const SAMPLES: u32 = 40;
/// The minimum distance between a line and a box that it does not belong to.
const CLEAR: f64 = 5.0;
/// The increment from one detour around a box to the next, and the number of detours tried on
/// either side.
const BOW: f64 = 24.0;
const MAX_BOWS: u32 = 16;
/// The width of a letter in a label, and its height including space.
const LETTER: f64 = 6.7;
const LABEL_HEIGHT: f64 = 15.0;
/// The distance between two labels.
const GAP: f64 = 2.0;

/// A routed line.
#[derive(Clone, Debug, Default)]
pub(super) struct Line {
    /// The SVG path.
    pub(super) d: String,
    /// Points on it, from end to end.
    pub(super) points: Vec<Point>,
    /// True if the arrow head is at the start.
    pub(super) reversed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Side {
    Left,
    Right,
    Top,
    Bottom,
}

/// Lines from box to box. A line that would cross another box is routed around it: along the
/// layout's path, or else by the smallest free detour.
pub(super) fn lines(places: &[Option<Rect>], arrows: &[(usize, usize)], as_laid: &mut [Line]) {
    let sides: Vec<Option<(Side, Side)>> = arrows
        .iter()
        .map(|(from, to)| {
            if from == to {
                return None;
            }
            Some(facing(places.get(*from).copied()??, places.get(*to).copied()??))
        })
        .collect();
    let ends = ends(places, arrows, &sides);
    for (at, line) in as_laid.iter_mut().enumerate() {
        let (Some((from, to)), Some(&[start, end])) = (sides[at], ends.get(&at)) else { continue };
        let (tail, head) = arrows[at];
        // The number of points of a line that are on boxes it does not belong to.
        let covered = |points: &[Point]| -> usize {
            let others = places.iter().enumerate().filter(|(i, _)| *i != tail && *i != head);
            let on = |place: Rect| points.iter().filter(|p| is_inside(**p, place, CLEAR)).count();
            others.filter_map(|(_, place)| *place).map(on).sum()
        };
        let (a, b) = (pulled(start, from, end), pulled(end, to, start));
        let curve = |by: f64| {
            let (x, y) = match from {
                Side::Left | Side::Right => (0.0, by),
                Side::Top | Side::Bottom => (by, 0.0),
            };
            let controls = ((a.0 + x, a.1 + y), (b.0 + x, b.1 + y));
            (controls, cubic(start, controls.0, controls.1, end))
        };
        let (mut controls, mut points) = curve(0.0);
        let mut crossed = covered(&points);
        if crossed > 0 && !line.points.is_empty() {
            let as_laid = covered(&line.points);
            if as_laid == 0 {
                continue;
            }
            for by in (1..=MAX_BOWS).flat_map(|n| [f64::from(n) * BOW, -f64::from(n) * BOW]) {
                let (pulls, bent) = curve(by);
                // The area above and to the left of the drawing is not visible.
                let is_shown = bent.iter().all(|(x, y)| *x >= CLEAR && *y >= CLEAR);
                let now = covered(&bent);
                if is_shown && now < crossed {
                    (controls, points, crossed) = (pulls, bent, now);
                }
            }
            if as_laid < crossed {
                continue;
            }
        }
        let show = |(x, y): Point| format!("{x:.1} {y:.1}");
        let d =
            format!("M{} C{} {} {}", show(start), show(controls.0), show(controls.1), show(end));
        *line = Line { d, points, reversed: false };
    }
}

/// The sides of two boxes that face each other.
fn facing(from: Rect, to: Rect) -> (Side, Side) {
    if from.0 + from.2 <= to.0 {
        (Side::Right, Side::Left)
    } else if to.0 + to.2 <= from.0 {
        (Side::Left, Side::Right)
    } else if from.1 < to.1 {
        (Side::Bottom, Side::Top)
    } else {
        (Side::Top, Side::Bottom)
    }
}

/// The start and end of each line: line ends on one side of a box are distributed over it, in the
/// order of their targets, so that they do not cross there.
fn ends(
    places: &[Option<Rect>],
    arrows: &[(usize, usize)],
    sides: &[Option<(Side, Side)>],
) -> BTreeMap<usize, [Point; 2]> {
    // The sort key on the side, the arrow, and which of its two ends it is.
    type Ends = Vec<(f64, usize, usize)>;
    let mut shared: BTreeMap<(usize, Side), Ends> = BTreeMap::new();
    for (at, ((from, to), sides)) in arrows.iter().zip(sides).enumerate() {
        let Some((a, b)) = sides else { continue };
        for (end, (own, other, side)) in
            [(*from, *to, *a), (*to, *from, *b)].into_iter().enumerate()
        {
            let Some((x, y, w, h)) = places[other] else { continue };
            let order = match side {
                Side::Left | Side::Right => y + h / 2.0,
                Side::Top | Side::Bottom => x + w / 2.0,
            };
            shared.entry((own, side)).or_default().push((order, at, end));
        }
    }
    let mut found: BTreeMap<usize, [Point; 2]> = BTreeMap::new();
    for ((own, side), mut here) in shared {
        let Some((x, y, w, h)) = places[own] else { continue };
        here.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let parts = here.len() as f64 + 1.0;
        for (i, (_, at, end)) in here.into_iter().enumerate() {
            let share = (i as f64 + 1.0) / parts;
            let point = match side {
                Side::Left => (x, y + h * share),
                Side::Right => (x + w, y + h * share),
                Side::Top => (x + w * share, y),
                Side::Bottom => (x + w * share, y + h),
            };
            found.entry(at).or_default()[end] = point;
        }
    }
    found
}

/// A point perpendicular to a side, halfway to the other end.
fn pulled(from: Point, side: Side, to: Point) -> Point {
    let (across, down) = ((to.0 - from.0).abs() / 2.0, (to.1 - from.1).abs() / 2.0);
    match side {
        Side::Left => (from.0 - across, from.1),
        Side::Right => (from.0 + across, from.1),
        Side::Top => (from.0, from.1 - down),
        Side::Bottom => (from.0, from.1 + down),
    }
}

/// Points on a cubic curve.
pub(super) fn cubic(a: Point, b: Point, c: Point, d: Point) -> Vec<Point> {
    (0..=SAMPLES)
        .map(|i| {
            let t = f64::from(i) / f64::from(SAMPLES);
            let u = 1.0 - t;
            let (k, l, m, n) = (u * u * u, 3.0 * u * u * t, 3.0 * u * t * t, t * t * t);
            let at = |a: f64, b: f64, c: f64, d: f64| k * a + l * b + m * c + n * d;
            (at(a.0, b.0, c.0, d.0), at(a.1, b.1, c.1, d.1))
        })
        .collect()
}

fn is_inside((x, y): Point, (left, top, width, height): Rect, around: f64) -> bool {
    (left - around..=left + width + around).contains(&x)
        && (top - around..=top + height + around).contains(&y)
}

fn overlap(a: Rect, b: Rect) -> f64 {
    let across = (a.0 + a.2).min(b.0 + b.2) - a.0.max(b.0);
    let down = (a.1 + a.3).min(b.1 + b.3) - a.1.max(b.1);
    if across > 0.0 && down > 0.0 { across * down } else { 0.0 }
}

/// The box of each label: on its line or next to it, as close to the middle as other labels permit.
/// Labels never overlap.
pub(super) fn labels(
    places: &[Option<Rect>],
    lines: &[Line],
    texts: &[String],
) -> Vec<Option<Rect>> {
    let mut placed: Vec<Option<Rect>> = Vec::new();
    for (at, (line, text)) in lines.iter().zip(texts).enumerate() {
        if line.points.is_empty() || text.is_empty() {
            placed.push(None);
            continue;
        }
        let width = text.chars().count() as f64 * LETTER + 4.0;
        let last = line.points.len() - 1;
        let is_free = |label: &Rect| {
            let around = (label.0 - GAP, label.1 - GAP, label.2 + 2.0 * GAP, label.3 + 2.0 * GAP);
            placed.iter().flatten().all(|other| overlap(around, *other) == 0.0)
        };
        let cost = |label: Rect, away: f64| {
            let boxes: f64 = places.iter().flatten().map(|place| overlap(label, *place)).sum();
            let under = lines.iter().enumerate().filter(|(other, _)| *other != at);
            let covered = under
                .flat_map(|(_, line)| &line.points)
                .filter(|point| is_inside(**point, label, 0.0))
                .count() as f64;
            boxes * 10.0 + covered * 20.0 + away
        };
        let label = |share: f64, row: i32| {
            let (x, y) = line.points[(last as f64 * share).round() as usize];
            let down = f64::from(row) * (LABEL_HEIGHT + GAP);
            // The area above and to the left of the drawing is not visible.
            let (left, top) = (x - width / 2.0, y - LABEL_HEIGHT / 2.0 + down);
            (left.max(GAP), top.max(GAP), width, LABEL_HEIGHT)
        };
        let shares = || (2..=18).map(|i| f64::from(i) / 20.0);
        let best = (-2_i32..=2)
            .flat_map(|row| shares().map(move |share| (share, row)))
            .map(|(share, row)| {
                let away = (share - 0.5).abs() * 60.0 + f64::from(row.abs()) * 40.0;
                (label(share, row), away)
            })
            .filter(|(label, _)| is_free(label))
            .map(|(label, away)| (cost(label, away), label))
            .min_by(|a, b| a.0.total_cmp(&b.0));
        // Rows continue below everything, so one of them is free.
        let below = || (3..).map(|row| label(0.5, row)).find(is_free);
        placed.push(best.map(|(_, label)| label).or_else(below));
    }
    placed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn routed(places: &[Option<Rect>], arrows: &[(usize, usize)]) -> Vec<Line> {
        let mut made = vec![Line::default(); arrows.len()];
        lines(places, arrows, &mut made);
        made
    }

    #[test]
    fn lines_to_one_box_end_apart_and_do_not_cross() {
        let places: Vec<Option<Rect>> = [
            (300.0, 0.0, 80.0, 60.0),
            (0.0, 0.0, 80.0, 30.0),
            (0.0, 200.0, 80.0, 30.0),
            (0.0, 100.0, 80.0, 30.0),
        ]
        .map(Some)
        .to_vec();
        let made = routed(&places, &[(1, 0), (2, 0), (3, 0)]);
        let ends: Vec<f64> = made.iter().map(|line| line.points[40].1).collect();
        assert_eq!(ends, [15.0, 45.0, 30.0]);
        for line in &made {
            assert_eq!((line.points[0].0, line.points[40].0), (80.0, 300.0));
        }
    }

    #[test]
    fn there_and_back_are_two_lines() {
        let places = [Some((0.0, 0.0, 80.0, 30.0)), Some((200.0, 0.0, 80.0, 90.0))];
        let made = routed(&places, &[(0, 1), (1, 0)]);
        assert_ne!(made[0].points[0], made[1].points[40]);
        assert_eq!((made[0].points[0].0, made[1].points[0].0), (80.0, 200.0));
    }

    #[test]
    fn a_line_that_would_cross_a_box_keeps_its_way_around() {
        let places =
            [(0.0, 0.0, 50.0, 30.0), (300.0, 0.0, 50.0, 30.0), (150.0, 0.0, 50.0, 30.0)].map(Some);
        let around = Line { d: "M0 0".to_owned(), points: vec![(0.0, 99.0)], reversed: true };
        let mut made = [around];
        lines(&places, &[(0, 1)], &mut made);
        assert_eq!(made[0].d, "M0 0");
    }

    #[test]
    fn a_line_that_was_laid_behind_a_box_bows_around_it() {
        let places =
            [(0.0, 100.0, 50.0, 30.0), (300.0, 100.0, 50.0, 30.0), (150.0, 90.0, 50.0, 50.0)]
                .map(Some);
        let behind = Line { d: "M0 0".to_owned(), points: vec![(175.0, 115.0)], reversed: true };
        let mut made = [behind];
        lines(&places, &[(0, 1)], &mut made);
        let on_box = |p: &Point| is_inside(*p, (150.0, 90.0, 50.0, 50.0), 0.0);
        assert!(!made[0].points.iter().any(on_box), "{}", made[0].d);
        assert_eq!((made[0].points[0], made[0].points[40]), ((50.0, 115.0), (300.0, 115.0)));
    }

    #[test]
    fn labels_lie_beside_boxes_and_each_other() {
        let places: Vec<Option<Rect>> = [
            (0.0, 0.0, 80.0, 30.0),
            (260.0, 0.0, 80.0, 30.0),
            (260.0, 60.0, 80.0, 30.0),
            (260.0, 120.0, 80.0, 30.0),
        ]
        .map(Some)
        .to_vec();
        let made = routed(&places, &[(0, 1), (0, 2), (0, 3)]);
        let texts = ["customerId".to_owned(), "productId".to_owned(), "x".to_owned()];
        let found: Vec<Rect> = labels(&places, &made, &texts).into_iter().flatten().collect();
        assert_eq!(found.len(), 3);
        for (i, label) in found.iter().enumerate() {
            assert!(places.iter().flatten().all(|place| overlap(*label, *place) == 0.0));
            assert!(found[..i].iter().all(|other| overlap(*label, *other) == 0.0), "{found:?}");
        }
    }

    #[test]
    fn labels_of_many_lines_between_two_boxes_lie_beside_each_other() {
        let places = [Some((0.0, 0.0, 80.0, 30.0)), Some((200.0, 0.0, 80.0, 30.0))];
        let arrows = [(0, 1); 40];
        let made = routed(&places, &arrows);
        let texts = vec!["items[].productId N:M".to_owned(); 40];
        let found: Vec<Rect> = labels(&places, &made, &texts).into_iter().flatten().collect();
        assert_eq!(found.len(), 40);
        for (i, label) in found.iter().enumerate() {
            assert!(found[..i].iter().all(|other| overlap(*label, *other) == 0.0), "{found:?}");
            assert!(label.0 >= 0.0 && label.1 >= 0.0, "{label:?} is cut off");
        }
    }
}
