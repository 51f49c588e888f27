//! Formats designs.

pub(crate) mod json;
pub(crate) mod markdown;
mod simulation;
pub(crate) mod terminal;

use docward_design::{Decision, OperationCost, Pattern, PoolPlan, Vote, Window};
use docward_model::text;

pub use simulation::simulation_report;

/// The level of detail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// Verdicts and their consequences.
    Brief,
    /// Also the documents, and the total cost of each alternative.
    Usual,
    /// Also every vote with its clauses, the cost of each operation, and each check.
    Explained,
}

/// The options of every client on one line.
pub(crate) fn pool_options(plan: &PoolPlan) -> String {
    let options: Vec<String> =
        plan.options().iter().map(|(name, value, _)| format!("{name} {value}")).collect();
    options.join(", ")
}

/// Notes on these options, one sentence each.
pub(crate) fn pool_notes(plan: &PoolPlan) -> Vec<String> {
    let mut notes = vec![plan.formula(), plan.sum(), plan.way().to_owned()];
    notes.extend(plan.warnings().map(|warning| {
        format!("{}: {} ({})", warning.gravity.name(), warning.message, warning.clause)
    }));
    if let Some(next) = plan.next() {
        notes.push(format!(
            "the model declares {} operations per second; the number of connections depends on \
             how long an operation takes (PF-4): `{next}`",
            number(plan.per_second)
        ));
    }
    notes
}

/// The patterns of a decision, each with its main details.
pub(crate) fn patterns(patterns: &[Pattern]) -> Vec<String> {
    let has_pairs = patterns.contains(&Pattern::Junction);
    let one = |found: &Pattern| match found {
        // Fields next to a pair of ids are in neither parent nor child.
        Pattern::ExtendedReference { fields, .. } if has_pairs => {
            format!("{}: {} in each pair", found.name(), text::list(fields, 3))
        }
        _ => pattern(found),
    };
    patterns.iter().map(one).collect()
}

/// Describes a pattern.
pub(crate) fn pattern(pattern: &Pattern) -> String {
    let name = pattern.name();
    match pattern {
        Pattern::ExtendedReference { fields, in_parent, .. } => {
            let side = if *in_parent { "in the parent" } else { "in the child" };
            format!("{name}: {} {side}", text::list(fields, 3))
        }
        Pattern::Subset { newest, by, .. } => format!("{name}: newest {newest} by `{by}`"),
        Pattern::Computed { counts, sums } => {
            let count = counts.then(|| "count".to_owned());
            let parts: Vec<String> =
                count.into_iter().chain(sums.iter().map(|f| format!("sum of `{f}`"))).collect();
            format!("{name}: {}", parts.join(", "))
        }
        Pattern::Approximation { step } => format!("{name}: one write for {step} events"),
        Pattern::Outlier { page } => format!("{name}: pages of {}", text::count(*page)),
        Pattern::CappedArray { newest } => format!("{name}: newest {newest}"),
        Pattern::TimeSeries { time, meta, granularity } => {
            format!("{name}: `{time}`, {}, {granularity}", text::list(meta, 3))
        }
        Pattern::Bucket(bucket) => {
            let window = match bucket.window {
                Window::Day => "a day",
                Window::Hour => "an hour",
                Window::Events(_) => "a fixed number",
            };
            format!(
                "{name}: {window}, {} readings, {}, {} documents a year for {} readings",
                text::count(bucket.most),
                text::bytes(bucket.bytes),
                text::count(bucket.per_year.0),
                text::count(bucket.per_year.1)
            )
        }
        Pattern::Polymorphic { discriminator } => {
            format!("{name}: distinguished by `{discriminator}`")
        }
        Pattern::Attribute { fields } => format!("{name}: {}", text::list(fields, 4)),
        Pattern::Archive { days } => format!("{name}: after {} days", text::count(*days)),
        _ => name.to_owned(),
    }
}

/// The rows of a decision, for lists.
pub(crate) fn rows(decision: &Decision) -> Vec<(Vote, String, &str)> {
    let order = [Vote::Veto, Vote::Embed, Vote::Reference, Vote::Abstain, Vote::Open];
    let mut rows: Vec<_> = decision
        .ruling
        .rows
        .iter()
        .map(|row| (row.vote, row.rows.join(" "), row.because.as_str()))
        .collect();
    rows.sort_by_key(|(vote, _, _)| order.iter().position(|o| o == vote));
    rows
}

/// The most important rows of [`costs`]: all reads, all writes, and the current size of the parent.
pub(crate) fn main_costs(decision: &Decision) -> Vec<Vec<String>> {
    let operations = decision.alternatives.first().map_or(0, |way| way.operations.len());
    let rows = costs(decision);
    let is_main = |at: &usize| *at == 0 || (operations + 1..=operations + 3).contains(at);
    rows.into_iter().enumerate().filter(|(at, _)| is_main(at)).map(|(_, row)| row).collect()
}

/// The cost table of the alternatives: headings, then rows.
pub(crate) fn costs(decision: &Decision) -> Vec<Vec<String>> {
    let ways = &decision.alternatives;
    let Some(first) = ways.first() else { return Vec::new() };
    let mut heading = vec![String::new()];
    heading.extend(
        ways.iter().map(|way| format!("{}{}", way.name, if way.chosen { " (chosen)" } else { "" })),
    );
    let mut rows = vec![heading];
    for (i, operation) in first.operations.iter().enumerate() {
        let mut row = vec![format!("{} {}", operation.name, rate(operation.per_second))];
        row.extend(ways.iter().map(|way| cost(&way.operations[i])));
        rows.push(row);
    }
    let mut line = |label: &str, of: &dyn Fn(&docward_design::Alternative) -> String| {
        let mut row = vec![label.to_owned()];
        row.extend(ways.iter().map(of));
        rows.push(row);
    };
    line("read per second", &|way| {
        format!(
            "{}, {}{}",
            documents(way.per_second(false, |c| c.documents)),
            text::bytes(way.per_second(false, |c| c.bytes) as u64),
            entries_read(way.per_second(false, |c| c.entries))
        )
    });
    line("written per second", &|way| {
        format!(
            "{}, {}, {}",
            documents(way.per_second(true, |c| c.documents)),
            text::bytes(way.per_second(true, |c| c.bytes) as u64),
            counted(way.per_second(true, |c| c.entries), "index entry", "index entries")
        )
    });
    for (i, label) in
        ["parent now, p50/p99/max", "in 1 year", "in 3 years", "in 5 years"].iter().enumerate()
    {
        // Constant sizes are printed once.
        if i > 0
            && ways
                .iter()
                .all(|way| way.parent[i].1 == way.parent[0].1 && way.parent[i].2 == way.parent[0].2)
        {
            continue;
        }
        line(label, &|way| {
            let (_, p50, p99, max) = way.parent[i];
            format!("{} / {} / {}", text::bytes(p50), text::bytes(p99), text::bytes(max))
        });
    }
    if ways.iter().any(|way| way.longest_list.is_some()) {
        line("longest list", &|way| match way.longest_list {
            Some((0, _)) | None => "none".to_owned(),
            Some((elements, false)) => text::count(elements),
            Some((elements, true)) => format!("{}, no limit", text::count(elements)),
        });
    }
    if ways.iter().any(|way| way.storage.is_some()) {
        line("data, indexes for it", &|way| match (way.storage, way.index_bytes) {
            (Some(data), Some(index)) => format!("{}, {}", text::bytes(data), text::bytes(index)),
            _ => "not declared".to_owned(),
        });
    }
    rows
}

fn cost(cost: &OperationCost) -> String {
    format!(
        "{}, {}{}{}",
        documents(cost.documents),
        text::bytes(cost.bytes as u64),
        entries_read(if cost.writes { 0.0 } else { cost.entries }),
        if cost.transaction { ", transaction" } else { "" }
    )
}

/// Counted index entries are read from the index.
fn entries_read(entries: f64) -> String {
    if entries == 0.0 {
        return String::new();
    }
    format!(", {}", counted(entries, "index entry", "index entries"))
}

/// `1 doc`, `2.5 docs`.
fn documents(count: f64) -> String {
    counted(count, "doc", "docs")
}

/// A figure with its noun: singular if it is printed as `1`.
fn counted(value: f64, one: &str, many: &str) -> String {
    let figure = number(value);
    let noun = if figure == "1" { one } else { many };
    format!("{figure} {noun}")
}

/// A figure with its significant digits only.
pub(crate) fn number(value: f64) -> String {
    if value >= 100.0 || value == value.trunc() {
        text::count(value.round() as u64)
    } else if value >= 1.0 {
        format!("{value:.1}")
    } else {
        format!("{value:.3}").trim_end_matches('0').trim_end_matches('.').to_owned()
    }
}

/// A rate in its usual form.
pub(crate) fn rate(per_second: f64) -> String {
    if per_second >= 1.0 {
        format!("{}/s", number(per_second))
    } else if per_second * 60.0 >= 1.0 {
        format!("{}/min", number(per_second * 60.0))
    } else if per_second * 3600.0 >= 1.0 {
        format!("{}/h", number(per_second * 3600.0))
    } else if per_second * DAY >= 1.0 {
        format!("{}/day", number(per_second * DAY))
    } else if per_second * 7.0 * DAY >= 0.999 {
        format!("{}/week", number(per_second * 7.0 * DAY))
    } else {
        format!("{}/year", number(per_second * 365.0 * DAY))
    }
}

const DAY: f64 = 86_400.0;

/// When the embedded form would exceed the size limits, as a sentence; `None` if it never does.
pub(crate) fn crossings(decision: &Decision) -> Option<String> {
    let all = decision.alternatives.iter().flat_map(|way| &way.crossings);
    let (mut passed, mut coming) = (Vec::new(), Vec::new());
    for crossing in all {
        match (crossing.years, &crossing.date) {
            (None, _) => {}
            (Some(0.0), _) => passed.push(crossing.label),
            (Some(years), Some(date)) => {
                coming.push(format!("{} in {} ({date})", crossing.label, span(years)));
            }
            (Some(years), None) => coming.push(format!("{} in {}", crossing.label, span(years))),
        }
    }
    let above = passed.last().map(|label| format!("is already above {label}"));
    let later = (!coming.is_empty()).then(|| format!("would cross {}", coming.join(", ")));
    let said: Vec<String> = above.into_iter().chain(later).collect();
    (!said.is_empty()).then(|| format!("if embedded, a parent at p99 {}", said.join(" and ")))
}

fn span(years: f64) -> String {
    if years < 2.0 / 12.0 {
        text::plural((years * 365.0).ceil() as u64, "day")
    } else if years < 2.0 {
        text::plural((years * 12.0).round() as u64, "month")
    } else if years < 1000.0 {
        format!("{years:.1} years")
    } else {
        "more than a thousand years".to_owned()
    }
}

/// The keys of an index in their usual form.
pub(crate) fn keys(index: &docward_design::IndexPlan) -> String {
    let keys: Vec<String> = index
        .keys
        .iter()
        .map(|(name, falls)| {
            let key = docward_model::shell::key(name);
            match index.kinds.get(name) {
                Some(kind) => format!("{key}: \"{kind}\""),
                None => format!("{key}: {}", if *falls { "-1" } else { "1" }),
            }
        })
        .collect();
    format!("{{{}}}", keys.join(", "))
}
