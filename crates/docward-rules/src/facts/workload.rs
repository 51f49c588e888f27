//! Operations in words, and the index that would serve them.

use docward_model::{
    Collection, Comparison, DirectionKind, Draft, Evidence, Index, Namespace, QueryShape,
    QueryStats, Safety, Seen, Subject, Unit,
};

use super::{server, shell};

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
        Comparison::Special => "expression",
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

/// The keys of an index for a shape: equality first, then what it sorts by, then ranges. `$in` counts
/// as equality, with a sort up to 200 values only. `None` when no plain index helps.
pub fn index_for(shape: &QueryShape) -> Option<Vec<(String, i32)>> {
    if shape.branches {
        return None;
    }
    let sorted = !shape.sort.is_empty();
    let is_equality = |c: Comparison| match c {
        Comparison::Equality | Comparison::OneOf => true,
        Comparison::OneOfMany => !sorted,
        _ => false,
    };
    let is_range = |c: Comparison| match c {
        Comparison::Range | Comparison::Prefix => true,
        Comparison::OneOfMany => sorted,
        _ => false,
    };
    let mut out: Vec<(String, i32)> = Vec::new();
    let mut add = |path: &str, way: i32| {
        if !out.iter().any(|(p, _)| p == path) {
            out.push((path.to_owned(), way));
        }
    };
    shape.filter.iter().filter(|p| is_equality(p.comparison)).for_each(|p| add(&p.path, 1));
    sort_keys(shape).iter().for_each(|(path, way)| add(path, *way));
    shape.filter.iter().filter(|p| is_range(p.comparison)).for_each(|p| add(&p.path, 1));
    (!out.is_empty() && out.iter().all(|(path, _)| path != "_id" && !path.starts_with('$')))
        .then_some(out)
}

/// An index that begins with these fields, those of the equalities in any order.
pub fn serving<'a>(
    collection: Option<&'a Collection>,
    keys: &[(String, i32)],
    equalities: usize,
) -> Option<&'a Index> {
    let indexes = collection?.indexes.as_deref()?;
    indexes.iter().find(|index| {
        let plain = |kind: &DirectionKind| {
            matches!(kind, DirectionKind::Ascending | DirectionKind::Descending)
        };
        index.keys.len() >= keys.len()
            && index.partial_filter.is_none()
            && !index.hidden
            && index.keys.iter().take(keys.len()).all(|k| plain(&k.kind))
            && keys[..equalities]
                .iter()
                .all(|(path, _)| index.keys[..equalities].iter().any(|k| k.path == *path))
            && keys[equalities..]
                .iter()
                .zip(&index.keys[equalities..])
                .all(|((path, _), k)| k.path == *path)
    })
}

/// How many leading keys of [`index_for`] are equalities.
pub fn equalities(shape: &QueryShape, keys: &[(String, i32)]) -> usize {
    let by_value = |path: &str| {
        shape.filter.iter().any(|p| {
            p.path == path && matches!(p.comparison, Comparison::Equality | Comparison::OneOf)
        })
    };
    keys.iter().take_while(|(path, _)| by_value(path)).count()
}

/// What to do for a shape that lacks an index: the words and, when there is one, the command.
pub fn advice(evidence: &Evidence, shape: &QueryShape) -> (String, Option<String>) {
    let namespace = &shape.namespace;
    let Some(wanted) = index_for(shape) else {
        let todo = if shape.branches {
            "give each branch of the $or an index of its own, or ask twice"
        } else {
            "no plain index serves this filter: ask for an exact value or a range of a field first"
        };
        return (todo.to_owned(), None);
    };
    let leading = equalities(shape, &wanted);
    if let Some(index) = serving(evidence.collection(namespace), &wanted, leading) {
        let todo = format!(
            "index `{}` would serve it: find out why it was not used (made later, another collation or type of the value, a hint)",
            index.name
        );
        return (todo, None);
    }
    let text = keys(&wanted);
    let range_behind_sort = !shape.sort.is_empty() && wanted.len() > leading + shape.sort.len();
    let hint = if range_behind_sort {
        "; if the range alone leaves few documents, put it before the sort"
    } else {
        ""
    };
    let command = format!("{}.createIndex({text})", shell::collection(namespace));
    (format!("create the index {text}, equality before sort before range{hint}"), Some(command))
}

/// A finding about a shape that an index would serve better: the figures, and the index proposed.
pub fn lacking_index(
    evidence: &Evidence,
    stats: &QueryStats,
    what: String,
    why: impl Into<std::borrow::Cow<'static, str>>,
) -> Draft {
    let (todo, command) = advice(evidence, &stats.shape);
    let at = Subject::Collection(stats.shape.namespace.clone());
    let draft = Draft::new(at, what, why, todo, Seen::all(stats.count, Unit::Operations))
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

/// Whether people's own operations are meant: not those on the server's databases.
pub fn is_business(namespace: &Namespace) -> bool {
    !server::is_system_database(&namespace.database)
        && !namespace.collection.starts_with("system.")
        && namespace.collection != "$cmd"
}

/// Shapes on people's own collections.
pub fn business_shapes(evidence: &Evidence) -> impl Iterator<Item = &QueryStats> {
    let shapes = evidence.workload.iter().flat_map(|w| &w.shapes);
    shapes.filter(|s| is_business(&s.shape.namespace))
}

/// A text that tells shapes of one collection apart, for fingerprints.
pub fn key(shape: &QueryShape) -> String {
    format!("{shape:?}")
}
