//! Reads `reads:` and `writes:`, the input of every decision (DP-1).

use docward_model::{DesignRead, DesignWrite, Matching, With};

use crate::model_file::fault::Faults;
use crate::model_file::position::At;
use crate::model_file::table::Table;
use crate::model_file::yaml::{Node, Value};

use super::{at_least_one, one_text, rate};

/// An `$in` with this many values or more counts as a range (the equality-sort-range guideline).
const MANY_VALUES: u32 = 201;

pub(super) fn reads(node: &Node, faults: &mut Faults<'_>) -> Vec<DesignRead> {
    let Some(table) = Table::of(node, "`reads`", faults) else { return Vec::new() };
    table
        .entries()
        .iter()
        .filter_map(|(name, at, node)| one_read(name, *at, node, faults))
        .collect()
}

fn one_read(name: &str, at: At, node: &Node, faults: &mut Faults<'_>) -> Option<DesignRead> {
    let what = format!("read `{name}`");
    let mut table = Table::of(node, &what, faults)?;
    // An invalid value was already reported, so it is not reported as missing.
    let missing = table.get("rate").is_none() || table.get("from").is_none();
    let per_second = table.get("rate").and_then(|n| rate(n, "the rate", faults));
    let from = one_text(table.get("from"), "the entity", faults);
    let read = DesignRead {
        name: name.to_owned(),
        place: faults.location(at),
        per_second: per_second.unwrap_or_default(),
        from: from.clone().unwrap_or_default(),
        filter: table.get("where").map(|n| filter(n, faults)).unwrap_or_default(),
        sort: table.get("sort").map(|n| sort(n, faults)).unwrap_or_default(),
        limit: table.get("limit").and_then(|n| at_least_one(n, "the limit", faults)),
        fields: table.get("fields").map(|n| words(n, faults)).unwrap_or_default(),
        with: table.get("with").map(|n| with(n, faults)).unwrap_or_default(),
        counts: table.get("count").map(|n| words(n, faults)).unwrap_or_default(),
        sums: table.get("sum").map(|n| sums(n, faults)).unwrap_or_default(),
        tolerates_stale: table
            .get("may-be-stale")
            .and_then(|n| n.flag("whether the result may be stale", faults))
            .unwrap_or(false),
    };
    table.finish(&what, faults);
    if missing {
        let message = format!("{what} needs `from` and `rate`");
        faults.push(at, message, Some("write `from: order` and `rate: 20/s`".to_owned()));
        return None;
    }
    Some(read)
}

pub(super) fn writes(node: &Node, faults: &mut Faults<'_>) -> Vec<DesignWrite> {
    let Some(table) = Table::of(node, "`writes`", faults) else { return Vec::new() };
    let one = |(name, at, node): &(String, At, Node)| one_write(name, *at, node, faults);
    table.entries().iter().filter_map(one).collect()
}

fn one_write(name: &str, at: At, node: &Node, faults: &mut Faults<'_>) -> Option<DesignWrite> {
    let what = format!("write `{name}`");
    let mut table = Table::of(node, &what, faults)?;
    let missing = table.get("rate").is_none();
    let per_second = table.get("rate").and_then(|n| rate(n, "the rate", faults));
    let mut list = |key: &'static str, faults: &mut Faults<'_>| {
        table.get(key).map(|n| words(n, faults)).unwrap_or_default()
    };
    let (inserts, updates, deletes) =
        (list("insert", faults), list("update", faults), list("delete", faults));
    let sets = list("sets", faults);
    let atomic =
        table.get("atomic").and_then(|n| n.flag("whether it is atomic", faults)).unwrap_or(false);
    table.finish(&what, faults);
    if missing || (inserts.is_empty() && updates.is_empty() && deletes.is_empty()) {
        let message = format!("{what} needs `rate` and an action");
        let hint = "write `rate: 5/s` and `insert:`, `update:` or `delete:` with entities";
        faults.push(at, message, Some(hint.to_owned()));
        return None;
    }
    let sets = sets
        .into_iter()
        .filter_map(|path| {
            let parts = path.split_once('.').map(|(e, f)| (e.to_owned(), f.to_owned()));
            if parts.is_none() {
                let hint = Some("write `entity.field`".to_owned());
                faults.push(at, format!("`{path}` in {what} names no entity"), hint);
            }
            parts
        })
        .collect();
    Some(DesignWrite {
        name: name.to_owned(),
        place: faults.location(at),
        per_second: per_second?,
        inserts,
        updates,
        deletes,
        sets,
        atomic,
    })
}

fn words(node: &Node, faults: &mut Faults<'_>) -> Vec<String> {
    node.words("a name", faults).into_iter().map(|(word, _)| word).collect()
}

/// Reads `[orderId]` or `{orderId: equal, createTime: range, status: {one-of: 3}}`.
fn filter(node: &Node, faults: &mut Faults<'_>) -> Vec<(String, Matching)> {
    let Value::Map(_) = node.value else {
        return words(node, faults).into_iter().map(|word| (word, Matching::Equal)).collect();
    };
    let Some(table) = Table::of(node, "`where`", faults) else { return Vec::new() };
    let mut found = Vec::new();
    for (field, _, node) in table.entries() {
        let matching = if let Value::Map(_) = node.value {
            let Some(mut inner) = Table::of(node, "`where`", faults) else { continue };
            let read = |text: &str| text.parse::<u32>().ok();
            let number = inner.get("one-of").and_then(|n| n.read("one-of", "`3`", read, faults));
            inner.finish("a condition", faults);
            number.map(Matching::OneOf)
        } else {
            let example =
                "`equal`, `range`, `narrow-range`, `near`, `text`, `any-field` or `{one-of: 3}`";
            let read = |text: &str| match text {
                "equal" => Some(Matching::Equal),
                "range" => Some(Matching::Range),
                "narrow-range" => Some(Matching::NarrowRange),
                "near" => Some(Matching::Near),
                "text" => Some(Matching::Text),
                "any-field" => Some(Matching::AnyField),
                _ => None,
            };
            node.read("a condition", example, read, faults)
        };
        let matching = match matching {
            Some(Matching::OneOf(MANY_VALUES..)) => Some(Matching::Range),
            other => other,
        };
        found.extend(matching.map(|matching| (field.clone(), matching)));
    }
    found
}

/// Reads `{createTime: -1}`, or `[createTime]` for ascending order.
fn sort(node: &Node, faults: &mut Faults<'_>) -> Vec<(String, bool)> {
    let Value::Map(_) = node.value else {
        return words(node, faults).into_iter().map(|word| (word, false)).collect();
    };
    let Some(table) = Table::of(node, "`sort`", faults) else { return Vec::new() };
    let falling = |text: &str| match text {
        "1" => Some(false),
        "-1" => Some(true),
        _ => None,
    };
    table
        .entries()
        .iter()
        .filter_map(|(field, _, node)| {
            Some((field.clone(), node.read("an order", "`1` or `-1`", falling, faults)?))
        })
        .collect()
}

/// Reads `order.items: all`, `order.customer: [name, email]`, `post.comments: {newest: 3, by:
/// createTime}`.
fn with(node: &Node, faults: &mut Faults<'_>) -> Vec<With> {
    let Value::Map(_) = node.value else {
        let all = |relationship| With { relationship, fields: Vec::new(), newest: None };
        return words(node, faults).into_iter().map(all).collect();
    };
    let Some(table) = Table::of(node, "`with`", faults) else { return Vec::new() };
    let mut found = Vec::new();
    for (name, _, node) in table.entries() {
        let mut with = With { relationship: name.clone(), fields: Vec::new(), newest: None };
        match &node.value {
            Value::Scalar(text, false) if text == "all" => {}
            Value::Map(_) => {
                let Some(mut inner) = Table::of(node, "`with`", faults) else { continue };
                with.fields = inner.get("fields").map(|n| words(n, faults)).unwrap_or_default();
                let newest = inner.get("newest").and_then(|n| at_least_one(n, "how many", faults));
                let by = one_text(inner.get("by"), "the field", faults);
                with.newest = newest.map(|number| (number, by));
                inner.finish("what is fetched along", faults);
            }
            _ => with.fields = words(node, faults),
        }
        found.push(with);
    }
    found
}

/// Reads `{product.reviews: rating}`.
fn sums(node: &Node, faults: &mut Faults<'_>) -> Vec<(String, String)> {
    let Some(table) = Table::of(node, "`sum`", faults) else { return Vec::new() };
    let mut found = Vec::new();
    for (name, _, node) in table.entries() {
        found.extend(words(node, faults).into_iter().map(|field| (name.clone(), field)));
    }
    found
}
