//! What would turn a decision: each fact is moved by itself until the other side wins.

use docward_model::text;

use crate::decide::{Choice, decide};
use crate::facts::{Bounds, Facts, Growth, Kind};

/// A change of one fact that turns the decision.
#[derive(Clone, Debug, PartialEq)]
pub struct Turn {
    /// The other side.
    pub choice: Choice,
    /// The fact as it would have to be: `99th percentile of children is 50 or more`.
    pub when: String,
    /// The value of the fact from which it turns; `None` for those that are true or false.
    pub from: Option<f64>,
}

/// What bears on a relationship beside its own facts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Around {
    /// Only the newest so many are kept, however many come (PT-slice.1).
    pub keep_newest: Option<u64>,
    /// Bytes of other lists that are embedded in the same parent, at the 99th percentile.
    pub lists: Vec<u64>,
    /// Bytes of the names of all of them.
    pub names: u64,
}

impl Around {
    /// Whether a list stays in its parent beside the others: while they are too large together, the largest
    /// goes (CK-14).
    fn holds(&self, facts: &Facts, bounds: &Bounds) -> bool {
        let own = facts.children_bytes();
        // Of two that are as large the one that is asked about goes.
        let smaller = self.lists.iter().filter(|list| **list <= own);
        let base = facts.parent_bytes.saturating_add(self.names);
        let beside = smaller.fold(base, |sum, list| sum.saturating_add(*list));
        beside.saturating_add(own) <= bounds.safe_bytes
    }
}

/// Every single fact that turns the decision: numbers, sizes, shares, then what is true or false.
pub fn turns(facts: &Facts, bounds: &Bounds, around: &Around) -> Vec<Turn> {
    let outcome = |facts: &Facts| match decide(facts, bounds).choice {
        Choice::Embed if !around.holds(facts, bounds) => Choice::Reference,
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
        // A longer list has a longer tail; a shorter one is shorter altogether.
        spread.max = if number < facts.children.p99 { number } else { spread.max.max(number) };
        moved
    };
    if matches!(facts.kind, Kind::OneToMany) {
        let p99 = facts.children.p99;
        // More than are kept there never are.
        let most = around.keep_newest.unwrap_or(u64::MAX).min(bounds.many * 2);
        if let Some(number) = first(p99, most, |n| turned(&children(n))) {
            say(
                format!("a parent has {} or more at p99", text::count(number)),
                Some(number as f64),
            );
        }
        // The largest parents may speak against it alone.
        let largest = |number: u64| {
            let mut moved = facts.clone();
            moved.children.max = number;
            moved
        };
        let below = match facts.children.max > p99 && turned(&largest(p99)) {
            true => last(facts.children.max, |n| n < p99 || turned(&largest(n))),
            false => last(p99, |n| turned(&children(n))),
        };
        // That there are none is no advice.
        if let Some(number) = below.filter(|number| *number > 0) {
            say(format!("no parent has more than {}", text::count(number)), Some(number as f64));
        }
    }
    let longer = facts.child_p99.saturating_sub(facts.child_bytes);
    let bytes = |number: u64| Facts {
        child_bytes: number,
        child_p99: number.saturating_add(longer),
        ..facts.clone()
    };
    if let Some(number) = first(facts.child_bytes.max(1), 16 * 1024 * 1024, |n| turned(&bytes(n))) {
        say(format!("a child has {} or more", text::bytes(number)), Some(number as f64));
    }
    if let Some(number) = last(facts.child_bytes, |n| turned(&bytes(n))) {
        say(format!("a child has {} or less", text::bytes(number)), Some(number as f64));
    }
    let mut share = |value: Option<f64>, noun: &str, set: &dyn Fn(f64) -> Facts| {
        let now = value.map_or(0, |value| (value * 100.0).round() as u64);
        if let Some(percent) = first(now, 100, |n| turned(&set(n as f64 / 100.0))) {
            let or_more = if percent < 100 { " or more" } else { "" };
            say(format!("{noun} in {percent} %{or_more}"), Some(percent as f64 / 100.0));
        }
        if let Some(percent) = last(now, |n| turned(&set(n as f64 / 100.0))) {
            let or_less = if percent > 0 { " or less" } else { "" };
            say(format!("{noun} in {percent} %{or_less}"), Some(percent as f64 / 100.0));
        }
    };
    share(facts.co_read, "reads have both", &|value| Facts {
        co_read: Some(value),
        // What is read with its parent is not read alone.
        queried_alone: facts.queried_alone.map(|alone| alone.min(1.0 - value)),
        ..facts.clone()
    });
    share(facts.queried_alone, "reads want the child alone", &|value| Facts {
        queried_alone: Some(value),
        co_read: facts.co_read.map(|both| both.min(1.0 - value)),
        ..facts.clone()
    });
    share(facts.child_only_update, "updates change the child alone", &|value| Facts {
        child_only_update: Some(value),
        ..facts.clone()
    });
    if let Some(atomic) = facts.atomic
        && turned(&Facts { atomic: Some(!atomic), ..facts.clone() })
    {
        let need = if atomic { "need not" } else { "must" };
        say(format!("both {need} change together"), None);
    }
    match facts.growth {
        _ if around.keep_newest.is_some() => {}
        Growth::Endless if turned(&Facts { growth: Growth::Bounded, ..facts.clone() }) => {
            say("there is an end to the children of one parent".to_owned(), None);
        }
        Growth::Bounded if turned(&Facts { growth: Growth::Endless, ..facts.clone() }) => {
            say("there is no end to the children of one parent".to_owned(), None);
        }
        _ => {}
    }
    found
}

/// The smallest number above `now`, up to `end`, for which something holds: sought in doubling steps,
/// then bisected.
fn first(now: u64, end: u64, holds: impl Fn(u64) -> bool) -> Option<u64> {
    let (mut low, mut step) = (now, 1_u64);
    loop {
        let high = now.saturating_add(step).min(end);
        if high <= low && step > 1 {
            return None;
        }
        if holds(high) {
            let (mut low, mut high) = (low, high);
            while high - low > 1 {
                let middle = low + (high - low) / 2;
                if holds(middle) { high = middle } else { low = middle }
            }
            return Some(high);
        }
        if high >= end {
            return None;
        }
        low = high;
        step = step.saturating_mul(2);
    }
}

/// The largest number below `now` for which something holds.
fn last(now: u64, holds: impl Fn(u64) -> bool) -> Option<u64> {
    if now == 0 || !holds(0) && !holds(1.min(now - 1)) {
        return None;
    }
    let (mut low, mut high) = (if holds(0) { 0 } else { 1 }, now);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if holds(middle) { low = middle } else { high = middle }
    }
    Some(low)
}
