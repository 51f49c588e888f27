//! Describes operations in words, and reports those that an index would improve.

use crate::facts::thresholds::{w001, w003};
use docward_model::{
    Comparison, Draft, Evidence, FieldPath, Namespace, Predicate, QueryShape, QueryStats, Safety,
    Seen, Settings, Subject, Unit,
};

use crate::facts::{
    deployment::server, indexes::index_advice::advice, names::meaning, remedies::shell,
};

/// `find {status, createTime (range)} sorted by {createTime: -1}`.
pub fn words(shape: &QueryShape) -> String {
    let mut out = shape.operation.name().to_owned();
    let fields: Vec<String> = shape
        .filter
        .iter()
        .map(|p| match comparison(p.comparison) {
            "" => p.path.clone(),
            how => format!("{} ({how})", p.path),
        })
        .chain(shape.branches.then(|| "$or".to_owned()))
        .chain(shape.filters_late.then(|| "computed fields".to_owned()))
        .collect();
    if !fields.is_empty() {
        out.push_str(&format!(" by {{{}}}", fields.join(", ")));
    }
    if !shape.sort.is_empty() {
        out.push_str(&format!(" sorted by {}", keys(&sort_keys(shape))));
    }
    out
}

fn comparison(comparison: Comparison) -> &'static str {
    match comparison {
        Comparison::Equality => "",
        Comparison::OneOf | Comparison::OneOfMany => "one of",
        Comparison::Range | Comparison::Between => "range",
        Comparison::Prefix => "begins with",
        Comparison::Regex => "pattern",
        Comparison::Exists => "exists",
        Comparison::Negation => "not",
        Comparison::Special => "text or place",
        Comparison::Expression => "expression",
    }
}

/// `{status: 1, createTime: -1}`.
pub fn keys(keys: &[(String, i32)]) -> String {
    let keys: Vec<_> =
        keys.iter().map(|(path, way)| format!("{}: {way}", shell::key(path))).collect();
    format!("{{{}}}", keys.join(", "))
}

fn sort_keys(shape: &QueryShape) -> Vec<(String, i32)> {
    shape.sort.iter().map(|(path, up)| (path.clone(), if *up { 1 } else { -1 })).collect()
}

/// A finding about a shape that an index would improve: the figures, and the proposed index.
pub fn lacking_index(
    evidence: &Evidence,
    stats: &QueryStats,
    what: String,
    why: impl Into<std::borrow::Cow<'static, str>>,
) -> Draft {
    let (todo, steps) = advice(evidence, stats);
    let at = Subject::Collection(stats.shape.namespace.clone());
    let draft = Draft::new(
        at,
        what,
        why,
        todo,
        Seen::all(stats.count + stats.running.operations, Unit::Operations),
    )
    .data("operations", stats.count)
    .data("documentsExamined", stats.documents_examined)
    .data("returned", stats.returned)
    .data("maxMillis", stats.millis.1)
    .key(key(&stats.shape));
    match steps.is_empty() {
        true => draft,
        false => draft.plan(None, Safety::Safe, steps),
    }
}

/// Whether two collections are known to be related: the documents show a reference, or one of the
/// fields in the queries is an id.
pub fn are_related<'a>(
    evidence: &Evidence,
    (a, b): (&Namespace, &Namespace),
    fields: impl IntoIterator<Item = &'a str>,
) -> bool {
    let known = evidence
        .references
        .iter()
        .any(|r| (r.from == *a && r.to == *b) || (r.from == *b && r.to == *a));
    let is_id = |path: &str| meaning::is_id(path.rsplit('.').next().unwrap_or(path));
    known || fields.into_iter().any(is_id)
}

/// Whether an operation belongs to the business data and not to the server's databases.
pub fn is_business(namespace: &Namespace) -> bool {
    !server::is_system_database(&namespace.database)
        && !namespace.collection.starts_with("system.")
        && namespace.collection != "$cmd"
}

/// Shapes on collections of users, of completed operations.
pub fn business_shapes(evidence: &Evidence) -> impl Iterator<Item = &QueryStats> {
    all_business_shapes(evidence).filter(|s| s.count > 0)
}

/// Shapes on collections of users, including operations that were only seen running.
pub fn all_business_shapes(evidence: &Evidence) -> impl Iterator<Item = &QueryStats> {
    let shapes = evidence.workload.iter().flat_map(|w| &w.shapes);
    shapes.filter(|s| is_business(&s.shape.namespace))
}

/// Whether collection scans are the fault to report for a shape: most of its operations were scans,
/// or W001 reports them in full.
pub fn is_told_as_scan(settings: &Settings, stats: &QueryStats) -> bool {
    let w001 = |threshold| w001::limit(settings, &stats.shape.namespace, threshold) as u64;
    let is_reported = stats.collection_scans >= w001(&w001::MIN_COUNT)
        && stats.most_scanned >= w001(&w001::MIN_EXAMINED);
    stats.collection_scans > 0 && (2 * stats.collection_scans > stats.count || is_reported)
}

/// Whether a shape sorts enough in memory for W003 to report it.
pub fn is_told_as_sort(settings: &Settings, stats: &QueryStats) -> bool {
    let w003 = |threshold| w003::limit(settings, &stats.shape.namespace, threshold) as u64;
    !stats.shape.sort.is_empty()
        && stats.sorts > 0
        && stats.sorts >= w003(&w003::MIN_COUNT)
        && stats.sorted / stats.sorts >= w003(&w003::MIN_SORTED)
}

/// Whether a path of an operation contains a number that may be a position in an array.
pub fn has_position(path: &str) -> bool {
    path.split('.').any(|part| part == "$")
}

/// Converts a path of an operation to the path in documents: `items.$.log` is `items[].log`.
pub fn place(path: &str) -> FieldPath {
    let mut text = String::new();
    for part in path.split('.') {
        match part {
            "$" => text.push_str("[]"),
            _ if text.is_empty() => text.push_str(part),
            _ => text.extend([".", part]),
        }
    }
    FieldPath::new(text)
}

/// Returns a text that distinguishes the shapes of one collection, for fingerprints. It consists of named parts, and
/// only of those that a shape has, so that a new kind of part does not change other fingerprints.
pub fn key(shape: &QueryShape) -> String {
    let list = |items: &[String]| items.join(",");
    let fields = |filter: &[Predicate]| {
        let fields = filter.iter().map(|p| format!("{} {}", p.path, mark(p.comparison)));
        list(&fields.collect::<Vec<_>>())
    };
    let flag = |is: bool| if is { "yes".to_owned() } else { String::new() };
    let branches: Vec<String> = shape.alternatives.iter().map(|branch| fields(branch)).collect();
    let sort = shape.sort.iter().map(|(path, up)| format!("{path} {}", if *up { 1 } else { -1 }));
    let collation = shape.collation.iter().map(|(option, value)| format!("{option} {value}"));
    let lookups = shape.lookups.iter().map(|lookup| match &lookup.fields {
        Some((local, foreign)) => format!("{} {local} {foreign}", lookup.from),
        None => lookup.from.clone(),
    });
    let pushes = shape
        .pushes
        .iter()
        .map(|push| format!("{}{}", push.path, if push.capped { " capped" } else { "" }));
    let parts = [
        ("operation", shape.operation.name().to_owned()),
        ("filter", fields(&shape.filter)),
        ("or", flag(shape.branches)),
        ("branches", branches.join("|")),
        ("late", flag(shape.filters_late)),
        ("sort", list(&sort.collect::<Vec<_>>())),
        ("natural", flag(shape.in_stored_order)),
        ("collation", list(&collation.collect::<Vec<_>>())),
        ("projection", list(shape.projection.as_deref().unwrap_or_default())),
        ("limit", flag(shape.limited)),
        ("lookups", list(&lookups.collect::<Vec<_>>())),
        ("computes", flag(shape.computes)),
        ("pushes", list(&pushes.collect::<Vec<_>>())),
        ("writes", list(&shape.writes)),
        ("removes", list(&shape.removes)),
    ];
    let parts = parts.iter().filter(|(_, value)| !value.is_empty());
    parts.map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(";")
}

/// The text of a comparison in fingerprints. These texts never change.
fn mark(comparison: Comparison) -> &'static str {
    match comparison {
        Comparison::Equality => "eq",
        Comparison::OneOf => "in",
        Comparison::OneOfMany => "in-many",
        Comparison::Range => "range",
        Comparison::Between => "between",
        Comparison::Prefix => "prefix",
        Comparison::Regex => "regex",
        Comparison::Exists => "exists",
        Comparison::Negation => "not",
        Comparison::Special => "special",
        Comparison::Expression => "expression",
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::Example;

    #[test]
    fn ck_12_the_key_of_a_shape_is_made_of_named_parts() {
        let key = |command: &str| {
            let example = Example::new("W001", "", &format!(r#"ran {{"command": {command}}}"#));
            super::key(&example.evidence.workload.expect("operations").shapes[0].shape)
        };
        assert_eq!(
            key(
                r#"{"find": "t_order_item", "filter": {"a": 1, "b": {"$gt": 1}}, "sort": {"c": -1}, "limit": 5}"#
            ),
            "operation=find;filter=a eq,b range;sort=c -1;limit=yes"
        );
        assert_eq!(
            key(
                r#"{"q": {"$or": [{"a": 1}, {"b": 2}]}, "u": {"$push": {"log": 1}, "$unset": {"d": 1}}}"#
            ),
            "operation=update;or=yes;branches=a eq|b eq;pushes=log;writes=d;removes=d"
        );
    }
}
