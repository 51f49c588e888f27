//! Finds what would turn a decision: each fact is changed alone until the other side wins.

use docward_model::text;

use crate::decide::facts::{Bounds, Facts, Growth, Kind};
use crate::decide::vote::{self, Choice};

/// A change of one fact that turns the decision.
#[derive(Clone, Debug, PartialEq)]
pub struct Turn {
    /// The side that then wins.
    pub choice: Choice,
    /// The changed fact in words, such as `99th percentile of children is 50 or more`.
    pub when: String,
    /// The value from which the decision turns. `None` for a fact that is true or false.
    pub from: Option<f64>,
}

/// The influences on a relationship other than its own facts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Around {
    /// The maximum number of children that are kept (PT-slice.1).
    pub keep_newest: Option<u64>,
    /// The sizes in bytes of the other lists embedded in the same parent, at the 99th percentile.
    pub lists: Vec<u64>,
    /// The size in bytes of the names of all lists.
    pub names: u64,
    /// Whether children stay separate while any read needs only the child (CK-12).
    pub apart_if_read_alone: bool,
}

impl Around {
    /// Whether a list stays in its parent together with the others. While the lists are too large
    /// together, the largest is removed (CK-14).
    fn holds(&self, facts: &Facts, bounds: &Bounds) -> bool {
        let own = facts.children_bytes();
        // If two lists have the same size, this one is removed.
        let smaller = self.lists.iter().filter(|list| **list <= own);
        let base = facts.parent_bytes.saturating_add(self.names);
        let beside = smaller.fold(base, |sum, list| sum.saturating_add(*list));
        beside.saturating_add(own) <= bounds.safe_bytes
    }
}

/// Returns every single fact that turns the decision: numbers, sizes, shares, then facts that are
/// true or false.
pub fn turns(facts: &Facts, bounds: &Bounds, around: &Around) -> Vec<Turn> {
    let outcome = |facts: &Facts| match vote::choice(facts, bounds) {
        Choice::Embed if !around.holds(facts, bounds) => Choice::Reference,
        Choice::Embed if around.apart_if_read_alone && facts.queried_alone != Some(0.0) => {
            Choice::Reference
        }
        choice => choice,
    };
    let choice = outcome(facts);
    let turned = |facts: &Facts| outcome(facts) != choice;
    let mut found = Vec::new();
    let mut say = |when: String, from: Option<f64>| {
        found.push(Turn { choice: choice.other(), when, from });
    };
    let children = |number: u64| {
        let mut moved = facts.clone();
        let spread = &mut moved.children;
        spread.p99 = number;
        spread.p50 = spread.p50.min(number);
        spread.p95 = spread.p95.min(number);
        // If p99 increases beyond the maximum, so does the maximum. If p99 decreases, no list is
        // longer than it.
        spread.max = if number < facts.children.p99 { number } else { spread.max.max(number) };
        moved
    };
    if matches!(facts.kind, Kind::OneToMany) {
        let p99 = facts.children.p99;
        // A list never has more children than are kept.
        let most = around.keep_newest.unwrap_or(u64::MAX).min(bounds.many * 2);
        let small = |n: u64| children(n).children_bytes() <= bounds.small_bytes;
        let safe = |n: u64| children(n).projected() <= bounds.safe_bytes;
        let marks: Vec<u64> =
            [bounds.few, bounds.many, ceasing(most, &small), ceasing(most, &safe)]
                .into_iter()
                .flat_map(|mark| [mark.saturating_sub(1), mark])
                .collect();
        if let Some(turning) = first(p99, most, &marks, &|n| turned(&children(n))) {
            let until = turning
                .until
                .map_or(String::new(), |most| format!(", up to {},", text::count(most)));
            say(
                format!("a parent has {} or more children{until} at p99", text::count(turning.at)),
                Some(turning.at as f64),
            );
        }
        // The maximum alone may speak against embedding.
        let largest = |number: u64| {
            let mut moved = facts.clone();
            moved.children.max = number;
            moved
        };
        let below = match facts.children.max > p99 && turned(&largest(p99)) {
            true => last(facts.children.max, &marks, &|n| n < p99 || turned(&largest(n))),
            false => last(p99, &marks, &|n| turned(&children(n))),
        };
        // Advice to have no children would be useless.
        if let Some(turning) = below.filter(|turning| turning.at > 0) {
            let until = turning.until.filter(|least| *least > 1).map_or(String::new(), |least| {
                format!(", and parents at p99 have {} or more", text::count(least))
            });
            say(
                format!("no parent has more than {} children{until}", text::count(turning.at)),
                Some(turning.at as f64),
            );
        }
    }
    // Large children keep their ratio to the mean.
    let times = facts.child_p99 as f64 / facts.child_bytes.max(1) as f64;
    let bytes = |number: u64| Facts {
        child_bytes: number,
        child_p99: (number as f64 * times).round() as u64,
        ..facts.clone()
    };
    let spread = facts.child_p99 > facts.child_bytes + facts.child_bytes / 10;
    let mean = if spread { ", on average, and proportionally more for large ones" } else { "" };
    let largest = 16 * 1024 * 1024;
    let small = |n: u64| bytes(n).children_bytes() <= bounds.small_bytes;
    let safe = |n: u64| bytes(n).projected() <= bounds.safe_bytes;
    let marks: Vec<u64> = [ceasing(largest, &small), ceasing(largest, &safe)]
        .into_iter()
        .flat_map(|mark| [mark.saturating_sub(1), mark])
        .collect();
    let ends = |word: &str, until: Option<String>| {
        until.map_or(String::new(), |until| format!(", {word} to {until}"))
    };
    if let Some(turning) = first(facts.child_bytes.max(1), largest, &marks, &|n| turned(&bytes(n)))
    {
        let until = ends("up", turning.until.map(text::bytes));
        let at = text::bytes(turning.at);
        say(format!("a child has {at} or more{until}{mean}"), Some(turning.at as f64));
    }
    if let Some(turning) = last(facts.child_bytes, &marks, &|n| turned(&bytes(n))) {
        let until = ends("down", turning.until.filter(|least| *least > 1).map(text::bytes));
        let at = text::bytes(turning.at);
        say(format!("a child has {at} or less{until}{mean}"), Some(turning.at as f64));
    }
    let marks: Vec<u64> = [bounds.mostly, bounds.often, bounds.rarely]
        .into_iter()
        .map(|share| (share * 100.0).round() as u64)
        .flat_map(|mark| [mark.saturating_sub(1), mark, mark + 1])
        .collect();
    let mut share = |value: Option<f64>, noun: &str, set: &dyn Fn(f64) -> Facts| {
        let now = value.map_or(0, |value| (value * 100.0).round() as u64);
        let holds = |n: u64| turned(&set(n as f64 / 100.0));
        if let Some(Turning { at, until }) = first(now, 100, &marks, &holds) {
            let or_more = if at < 100 { " or more" } else { "" };
            let until = ends("up", until.map(|until| format!("{until} %")));
            let when = format!("the share of {noun} is {at} %{or_more}{until}");
            say(when, Some(at as f64 / 100.0));
        }
        if let Some(Turning { at, until }) = last(now, &marks, &holds) {
            let or_less = if at > 0 { " or less" } else { "" };
            let until = ends("down", until.map(|until| format!("{until} %")));
            let when = format!("the share of {noun} is {at} %{or_less}{until}");
            say(when, Some(at as f64 / 100.0));
        }
    };
    share(facts.co_read, "reads that fetch both", &|value| Facts {
        co_read: Some(value),
        // A read that has the parent does not read the child alone.
        queried_alone: facts.queried_alone.map(|alone| alone.min(1.0 - value)),
        ..facts.clone()
    });
    share(facts.queried_alone, "reads that need only the child", &|value| Facts {
        queried_alone: Some(value),
        co_read: facts.co_read.map(|both| both.min(1.0 - value)),
        ..facts.clone()
    });
    share(facts.child_only_update, "updates that change only the child", &|value| Facts {
        child_only_update: Some(value),
        ..facts.clone()
    });
    if let Some(atomic) = facts.atomic
        && turned(&Facts { atomic: Some(!atomic), ..facts.clone() })
    {
        let need = if atomic { "need not" } else { "must" };
        say(format!("parent and children {need} change together"), None);
    }
    match facts.growth {
        _ if around.keep_newest.is_some() => {}
        // A single child stays a single child, whatever the growth.
        _ if matches!(facts.kind, Kind::OneToOne | Kind::ManyToOne) => {}
        Growth::Endless if turned(&Facts { growth: Growth::Bounded, ..facts.clone() }) => {
            say("the number of children per parent is bounded".to_owned(), None);
        }
        Growth::Bounded if turned(&Facts { growth: Growth::Endless, ..facts.clone() }) => {
            say("the number of children per parent is unbounded".to_owned(), None);
        }
        _ => {}
    }
    found
}

/// A range of numbers for which a condition holds. It begins at the number nearest to the declared
/// one.
struct Turning {
    at: u64,
    /// The end of the range. `None` if the condition holds as far as was searched.
    until: Option<u64>,
}

/// Returns the nearest range above `now`, up to `end`, in which a condition holds. Tries doubling
/// steps, and the marks, because the condition may hold only between two of them.
fn first(now: u64, end: u64, marks: &[u64], holds: &dyn Fn(u64) -> bool) -> Option<Turning> {
    let steps = (0..u64::BITS).map(|power| now.saturating_add(1 << power).min(end));
    let mut tried: Vec<u64> = steps.take_while(|n| *n < end).chain([end]).collect();
    tried.extend(marks);
    tried.retain(|n| *n > now && *n <= end);
    tried.sort_unstable();
    tried.dedup();
    turning(now, &tried, holds)
}

/// Returns the nearest range below `now` in which a condition holds.
fn last(now: u64, marks: &[u64], holds: &dyn Fn(u64) -> bool) -> Option<Turning> {
    let steps = (0..u64::BITS).map_while(|power| now.checked_sub(1 << power));
    let mut tried: Vec<u64> = steps.chain([0, 1]).collect();
    tried.extend(marks);
    tried.retain(|n| *n < now);
    tried.sort_unstable_by(|a, b| b.cmp(a));
    tried.dedup();
    turning(now, &tried, holds)
}

/// Searches the numbers in `tried`, which lead away from `now`. The condition does not hold for
/// `now`.
fn turning(now: u64, tried: &[u64], holds: &dyn Fn(u64) -> bool) -> Option<Turning> {
    let found = tried.iter().position(|n| holds(*n))?;
    let before = found.checked_sub(1).map_or(now, |i| tried[i]);
    let at = edge(tried[found], before, holds);
    let gone = tried[found..].iter().position(|n| !holds(*n));
    let until = gone.map(|i| edge(tried[found + i - 1], tried[found + i], holds));
    Some(Turning { at, until })
}

/// Returns the last number for which the condition holds, between `yes` and `no`.
fn edge(mut yes: u64, mut no: u64, holds: &dyn Fn(u64) -> bool) -> u64 {
    while yes.abs_diff(no) > 1 {
        let middle = yes.min(no) + yes.abs_diff(no) / 2;
        if holds(middle) { yes = middle } else { no = middle }
    }
    yes
}

/// Returns the first number up to `end` for which a condition no longer holds. Returns 0 if there
/// is none.
fn ceasing(end: u64, holds: &dyn Fn(u64) -> bool) -> u64 {
    match holds(0) && !holds(end) {
        true => edge(0, end, holds) + 1,
        false => 0,
    }
}
