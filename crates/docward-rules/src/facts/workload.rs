//! Operations in words, and findings about those that an index would serve better.

use docward_model::{
    Comparison, Draft, Evidence, Namespace, QueryShape, QueryStats, Safety, Seen, Subject, Unit,
};

use super::{server, shell, wanted::advice, words};

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
        Comparison::Range => "range",
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

/// A finding about a shape that an index would serve better: the figures, and the index proposed.
pub fn lacking_index(
    evidence: &Evidence,
    stats: &QueryStats,
    what: String,
    why: impl Into<std::borrow::Cow<'static, str>>,
) -> Draft {
    let (todo, command) = advice(evidence, stats);
    let at = Subject::Collection(stats.shape.namespace.clone());
    let draft = Draft::new(
        at,
        what,
        why,
        todo,
        Seen::all(stats.count + stats.running.operations, Unit::Operations),
    )
    .data("operations", stats.count)
    .data("documents_examined", stats.documents_examined)
    .data("returned", stats.returned)
    .data("max_millis", stats.millis.1)
    .key(key(&stats.shape));
    match command {
        Some(command) => draft.fix(None, Safety::Safe, command),
        None => draft,
    }
}

/// Whether two collections belong together as far as is known: the documents show a reference, or one
/// of these fields, by which one is asked for, is an id.
pub fn are_related<'a>(
    evidence: &Evidence,
    (a, b): (&Namespace, &Namespace),
    fields: impl IntoIterator<Item = &'a str>,
) -> bool {
    let known = evidence
        .references
        .iter()
        .any(|r| (r.from == *a && r.to == *b) || (r.from == *b && r.to == *a));
    let is_id = |path: &str| words::is_id(path.rsplit('.').next().unwrap_or(path));
    known || fields.into_iter().any(is_id)
}

/// Whether people's own operations are meant: not those on the server's databases.
pub fn is_business(namespace: &Namespace) -> bool {
    !server::is_system_database(&namespace.database)
        && !namespace.collection.starts_with("system.")
        && namespace.collection != "$cmd"
}

/// Shapes on people's own collections, of operations that ended.
pub fn business_shapes(evidence: &Evidence) -> impl Iterator<Item = &QueryStats> {
    all_business_shapes(evidence).filter(|s| s.count > 0)
}

/// The same, also of operations that were only seen running.
pub fn all_business_shapes(evidence: &Evidence) -> impl Iterator<Item = &QueryStats> {
    let shapes = evidence.workload.iter().flat_map(|w| &w.shapes);
    shapes.filter(|s| is_business(&s.shape.namespace))
}

/// A text that tells shapes of one collection apart, for fingerprints.
pub fn key(shape: &QueryShape) -> String {
    format!("{shape:?}")
}
