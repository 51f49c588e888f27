//! Reads `entities:` with their fields and lifecycles (DP-2).

use docward_model::{BsonType, Entity, EntityField, Lifecycle, Location, Series, Spread, Variant};

use crate::model_file::fault::Faults;
use crate::model_file::position::At;
use crate::model_file::quantity;
use crate::model_file::table::{Table, listed, nearest};
use crate::model_file::yaml::{Node, Value};

use super::{count, one_text, rate};

pub(super) fn read(node: &Node, faults: &mut Faults<'_>) -> Vec<Entity> {
    let Some(table) = Table::of(node, "`entities`", faults) else { return Vec::new() };
    table.entries().iter().filter_map(|(name, at, node)| entity(name, *at, node, faults)).collect()
}

fn entity(name: &str, at: At, node: &Node, faults: &mut Faults<'_>) -> Option<Entity> {
    if name.is_empty() || !name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-')) {
        let message = format!("`{name}` cannot name an entity");
        faults.push(at, message, Some("use letters, digits, `_` and `-`".to_owned()));
    }
    let what = format!("entity `{name}`");
    let mut table = Table::of(node, &what, faults)?;
    let (lifecycle, kept_by) =
        table.get("lifecycle").map_or((None, None), |n| lifecycle(n, faults));
    let entity = Entity {
        name: name.to_owned(),
        place: faults.location(at),
        collection: table.get("collection").and_then(|node| super::collection(node, faults)),
        count: table.get("count").and_then(|n| count(n, "the number of documents", faults)),
        fields: table.get("fields").map(|n| fields(n, faults)).unwrap_or_default(),
        variants: table.get("variants").map(|n| variants(n, faults)).unwrap_or_default(),
        lifecycle,
        kept_by,
        never_written: never(table.get("written"), "written", faults),
        never_read: never(table.get("read"), "read", faults),
        series: table.get("series").and_then(|n| series(n, faults)),
        needs_plain: table
            .get("needs-change-streams-or-updates")
            .and_then(|n| n.flag("whether change streams or updates are needed", faults)),
        keeps_versions: table
            .get("keeps-versions")
            .and_then(|n| n.flag("whether old versions are kept", faults))
            .unwrap_or(false),
        shape_version: table
            .get("shape-version")
            .and_then(|n| n.read("the version of the shape", "`2`", quantity::version, faults)),
        attributes: table
            .get("attributes")
            .map(|n| n.words("an attribute", faults).into_iter().map(|(word, _)| word).collect())
            .unwrap_or_default(),
        hot: table
            .get("hot")
            .and_then(|n| n.read("the fraction in daily use", "`20%`", quantity::share, faults)),
        services: table
            .get("services")
            .map(|n| n.words("a service", faults).into_iter().map(|(word, _)| word).collect())
            .unwrap_or_default(),
    };
    table.finish(&what, faults);
    Some(entity)
}

/// Reads `written: never` or `read: never`, which state that an entity has no such operations.
fn never(node: Option<&Node>, word: &str, faults: &mut Faults<'_>) -> bool {
    let Some(node) = node else { return false };
    let read = |text: &str| (text == "never").then_some(());
    let example = format!(
        "`never`; declare operations under `{}s:`",
        match word {
            "written" => "write",
            word => word,
        }
    );
    node.read(&format!("how it is {word}"), &example, read, faults).is_some()
}

/// Reads the growth and retention of documents, and the date field that determines their age.
fn lifecycle(
    node: &Node,
    faults: &mut Faults<'_>,
) -> (Option<Lifecycle>, Option<(String, Location)>) {
    let Some(mut table) = Table::of(node, "`lifecycle`", faults) else { return (None, None) };
    let growth = table.get("growth").and_then(|n| {
        n.read("the growth", "`0`, `20/s`, `600k/month` or `2M/year`", quantity::per_year, faults)
    });
    let growth_open = table.get("growth").is_none();
    let forever = |text: &str| match text {
        "forever" => Some(None),
        text => quantity::days(text).map(Some),
    };
    let kept = table.get("kept").and_then(|n| {
        n.read(
            "how long it is kept",
            "`forever`, `30 minutes`, `90 days` or `2 years`",
            forever,
            faults,
        )
    });
    let kept_open = table.get("kept").is_none();
    let cold_days = table
        .get("cold-after")
        .and_then(|n| n.read("when it becomes cold", "`1 year`", quantity::days, faults));
    let by = table.get("by").and_then(|node| {
        let text = node.text("the date that it expires by", faults)?.to_owned();
        Some((text, faults.location(node.at)))
    });
    table.finish("`lifecycle`", faults);
    // A missing value is an open question. An invalid one was already reported.
    let per_year = if growth_open { Some(0.0) } else { growth };
    let kept_days = if kept_open { Some(None) } else { kept };
    let life = per_year.zip(kept_days).map(|(per_year, kept_days)| Lifecycle {
        per_year,
        kept_days,
        cold_days,
        growth_open,
        kept_open,
    });
    (life, by)
}

fn series(node: &Node, faults: &mut Faults<'_>) -> Option<Series> {
    let mut table = Table::of(node, "`series`", faults)?;
    let time = one_text(table.get("time"), "the field of the time", faults);
    let id: Vec<String> = table
        .get("id")
        .map(|n| n.words("a field of the series", faults).into_iter().map(|(w, _)| w).collect())
        .unwrap_or_default();
    let per_second = table.get("rate").and_then(|n| rate(n, "the readings of one series", faults));
    let series = table.get("series").and_then(|n| count(n, "the number of series", faults));
    table.finish("`series`", faults);
    match (time, per_second) {
        (Some(time), Some(per_second)) if !id.is_empty() => {
            Some(Series { time, id, per_second, series })
        }
        _ => {
            faults.push(
                node.at,
                "a series needs its `time`, its `id` and the `rate` of one series",
                Some("write `{time: ts, id: sensorId, rate: 1/min}`".to_owned()),
            );
            None
        }
    }
}

fn variants(node: &Node, faults: &mut Faults<'_>) -> Vec<Variant> {
    let Some(table) = Table::of(node, "`variants`", faults) else { return Vec::new() };
    table
        .entries()
        .iter()
        .map(|(name, _, node)| Variant { name: name.clone(), fields: fields(node, faults) })
        .collect()
}

pub(super) fn fields(node: &Node, faults: &mut Faults<'_>) -> Vec<EntityField> {
    let Some(table) = Table::of(node, "`fields`", faults) else { return Vec::new() };
    table.entries().iter().filter_map(|(name, at, node)| field(name, *at, node, faults)).collect()
}

/// The types, with the names of `bsonType`.
const TYPES: &[&str] = &[
    "string",
    "int",
    "long",
    "double",
    "decimal",
    "bool",
    "date",
    "objectId",
    "binData",
    "object",
    "array",
    "timestamp",
];

fn kind(text: &str) -> Option<BsonType> {
    let text = if text == "bindata" { "binData" } else { text };
    BsonType::ALL.into_iter().find(|kind| TYPES.contains(&kind.name()) && kind.name() == text)
}

fn field(name: &str, at: At, node: &Node, faults: &mut Faults<'_>) -> Option<EntityField> {
    if name.is_empty() {
        faults.push(at, "a field without a name", Some("give it one".to_owned()));
    } else if name.starts_with('$') || name.contains('.') {
        let hint = match name.starts_with('$') {
            true => "names cannot begin with `$`, which is reserved for the server",
            false => "nest objects with `type: object` and `fields:`",
        };
        faults.push(at, format!("`{name}` cannot name a field"), Some(hint.to_owned()));
    } else if name.contains(char::is_control) {
        faults.push(at, format!("`{name}` cannot name a field: it has control characters"), None);
    }
    let mut field = EntityField {
        name: name.to_owned(),
        place: faults.location(at),
        kind: BsonType::String,
        bytes: None,
        values: Vec::new(),
        distinct: None,
        top_share: None,
        rising: None,
        required: true,
        nullable: false,
        unique: false,
        fields: Vec::new(),
        element: None,
        items: None,
    };
    // The short form: `status: string`.
    if matches!(node.value, Value::Scalar(..)) {
        // A field of an unknown type still counts as a field. Otherwise references to it would also
        // be reported.
        field.kind = read_kind(node, faults).unwrap_or(field.kind);
        if field.kind == BsonType::Array {
            let hint = "write `{type: array, items: {p50: 3, p99: 10, max: 50}}`".to_owned();
            let message = format!("field `{name}` is an array without a declared length");
            faults.push(node.at, message, Some(hint));
        }
        return Some(field);
    }
    let what = format!("field `{name}`");
    let mut table = Table::of(node, &what, faults)?;
    if let Some(node) = table.get("type") {
        field.kind = read_kind(node, faults).unwrap_or(field.kind);
    } else {
        let hint = format!("add `type:`, one of {}", listed(TYPES));
        faults.push(node.at, format!("{what} has no type"), Some(hint));
    }
    field.bytes = table.get("bytes").and_then(|n| sizes(n, faults));
    field.values = table
        .get("values")
        .map(|n| n.words("a value", faults).into_iter().map(|(word, _)| word).collect())
        .unwrap_or_default();
    field.distinct = table.get("distinct").and_then(|n| count(n, "different values", faults));
    field.top_share = table.get("top-share").and_then(|n| {
        n.read("the share of the most frequent value", "`60%`", quantity::share, faults)
    });
    field.rising = table.get("rising").and_then(|n| {
        n.flag(
            "whether it increases \
     monotonically",
            faults,
        )
    });
    let flag = |node: Option<&Node>, what: &str, faults: &mut Faults<'_>| {
        node.and_then(|node| node.flag(what, faults))
    };
    field.required = flag(table.get("required"), "whether it is required", faults).unwrap_or(true);
    field.nullable = flag(table.get("nullable"), "whether it may be null", faults).unwrap_or(false);
    field.unique = flag(table.get("unique"), "whether it is unique", faults).unwrap_or(false);
    if field.unique && field.nullable {
        let hint = "leave it out instead of writing null: `required: false`".to_owned();
        faults.push(node.at, format!("{what} is unique, and null would be so too"), Some(hint));
    }
    field.fields = table.get("fields").map(|n| fields(n, faults)).unwrap_or_default();
    if let Some(inside) = field.fields.iter().find(|inside| inside.unique) {
        let at = At { line: inside.place.line, column: inside.place.column };
        let hint = "make it a field of the entity, where an index can enforce it".to_owned();
        faults.push(at, format!("`{}` is unique inside of {what}", inside.name), Some(hint));
    }
    field.element = table.get("of").and_then(|n| read_kind(n, faults));
    field.items = table.get("items").and_then(|n| spread(n, "`items`", faults));
    if field.kind == BsonType::Array && field.items.is_none() {
        faults.push(
            node.at,
            format!("{what} is an array without a declared length"),
            Some("add `items: {p50: 3, p99: 10, max: 50}`".to_owned()),
        );
    }
    table.finish(&what, faults);
    Some(field)
}

fn read_kind(node: &Node, faults: &mut Faults<'_>) -> Option<BsonType> {
    let text = node.text("the type", faults)?;
    let found = kind(text);
    if found.is_none() {
        let hint = match nearest(text, TYPES.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("known types: {}", listed(TYPES)),
        };
        faults.push(node.at, format!("unknown type `{text}`"), Some(hint));
    }
    found
}

/// The maximum size of a value in bytes. A value that does not fit into a document needs other
/// storage (DM-05.4), and the design reports this. Larger sizes are typing errors.
const LARGEST: u64 = 1 << 40;

/// Reads `300 B` or `{typical: 300 B, p99: 2 KB}`.
fn sizes(node: &Node, faults: &mut Faults<'_>) -> Option<(u64, u64)> {
    let bytes = |node: &Node, faults: &mut Faults<'_>| {
        let read = |text: &str| quantity::bytes(text).filter(|bytes| *bytes <= LARGEST);
        node.read("a size", "`300 B`, `2 KB` or `1 MB`, and no more than 1024 GB", read, faults)
    };
    if matches!(node.value, Value::Scalar(..)) {
        return bytes(node, faults).map(|size| (size, size));
    }
    let mut table = Table::of(node, "`bytes`", faults)?;
    let typical = table.get("typical").and_then(|n| bytes(n, faults));
    let p99 = table.get("p99").and_then(|n| bytes(n, faults));
    table.finish("`bytes`", faults);
    let (Some(typical), Some(p99)) = (typical.or(p99), p99.or(typical)) else {
        faults.push(node.at, "`bytes` needs `typical` and `p99`", None);
        return None;
    };
    if typical > p99 {
        faults.push(node.at, "the typical size is above the 99th percentile", None);
    }
    Some((typical, p99))
}

/// Reads an integer.
fn whole(node: &Node, what: &str, faults: &mut Faults<'_>) -> Option<u64> {
    let number = count(node, what, faults)?;
    if (number - number.round()).abs() > 1e-6 * number {
        let hint = "if one parent in three has one, `p50` is 0".to_owned();
        faults.push(node.at, format!("`{number}` of {what} is not a whole number"), Some(hint));
        return None;
    }
    Some(number.round() as u64)
}

/// Reads `{p50: 3, p95: 10, p99: 20, max: 80}`, or one number for all. A missing figure gets the
/// next higher one.
pub(super) fn spread(node: &Node, what: &str, faults: &mut Faults<'_>) -> Option<Spread> {
    if matches!(node.value, Value::Scalar(..)) {
        return whole(node, what, faults).map(Spread::always);
    }
    let mut table = Table::of(node, what, faults)?;
    let mut unread = false;
    let mut number = |key: &'static str, faults: &mut Faults<'_>| {
        let given = table.get(key)?;
        let read = whole(given, key, faults);
        unread |= read.is_none();
        read
    };
    let (p50, p95) = (number("p50", faults), number("p95", faults));
    let (p99, max) = (number("p99", faults), number("max", faults));
    table.finish(what, faults);
    // An invalid value was already reported, so it is not reported as missing.
    if unread {
        return None;
    }
    let (Some(p99), Some(max)) = (p99, max) else {
        faults.push(
            node.at,
            format!("{what} needs at least `p99` and `max`"),
            Some("write `{p50: 3, p95: 10, p99: 20, max: 80}`".to_owned()),
        );
        return None;
    };
    let p95 = p95.unwrap_or(p99);
    let spread = Spread { p50: p50.unwrap_or(p95), p95, p99, max };
    if !(spread.p50 <= spread.p95 && spread.p95 <= spread.p99 && spread.p99 <= spread.max) {
        let message = format!("{what} must increase from `p50` to `max`");
        faults.push(node.at, message, None);
    }
    Some(spread)
}
