//! Operations in words, and the index that would serve them.

use docward_model::{
    Collection, Comparison, DirectionKind, Draft, Evidence, Index, Namespace, Profile, QueryShape,
    QueryStats, Safety, Seen, Subject, Unit,
};

use super::{indexes, server, shell, words};

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

/// The index a shape wants.
#[derive(Debug, PartialEq)]
pub struct Wanted {
    /// Fields compared for equality, then those it sorts by, then ranges.
    pub keys: Vec<(String, i32)>,
    /// How many of them are equalities.
    equalities: usize,
    /// How many after those are only there for the sort.
    sorts: usize,
}

/// The index for a shape: equality first, then what it sorts by, then ranges. `$in` counts as
/// equality, with a sort up to 200 values only. `None` when no plain index helps.
pub fn index_for(shape: &QueryShape, profile: Option<&Profile>) -> Option<Wanted> {
    // The index of a text or a place finds the documents; no other is used beside it.
    if shape.filter.iter().any(|p| p.comparison == Comparison::Special) {
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
    let mut keys: Vec<(String, i32)> = Vec::new();
    let mut array = None;
    let mut add = |path: &str, way: i32| {
        // An index cannot have the elements of two arrays.
        let root = profile.and_then(|p| indexes::array_root(p, path));
        let is_second = root.is_some() && array.is_some() && root != array;
        if !is_second && !keys.iter().any(|(p, _)| p == path) {
            array = array.take().or(root);
            keys.push((path.to_owned(), way));
        }
        keys.len()
    };
    let with = |wanted: &dyn Fn(Comparison) -> bool| -> Vec<&str> {
        let fitting = shape.filter.iter().filter(|p| wanted(p.comparison));
        fitting.map(|p| p.path.as_str()).collect()
    };
    let equalities = with(&is_equality).iter().map(|path| add(path, 1)).last().unwrap_or(0);
    let sorts =
        sort_keys(shape).iter().map(|(path, way)| add(path, *way)).last().unwrap_or(equalities);
    with(&is_range).iter().for_each(|path| {
        add(path, 1);
    });
    let is_new = |(path, _): &(String, i32)| path != "_id" && !path.starts_with('$');
    (!keys.is_empty() && keys.iter().all(is_new)).then_some(Wanted {
        keys,
        equalities,
        sorts: sorts - equalities,
    })
}

impl Wanted {
    /// Whether an index with these keys does what this one would: the equalities in any order, the
    /// sort read forwards or backwards as a whole, ranges either way.
    fn is_served_by(&self, keys: &[(String, i32)]) -> bool {
        if keys.len() < self.keys.len() {
            return false;
        }
        let (fixed, rest) = self.keys.split_at(self.equalities);
        let (has_fixed, has_rest) = keys.split_at(self.equalities);
        let (sort, has_sort) = (&rest[..self.sorts], &has_rest[..self.sorts]);
        let same_way = |same: bool| sort.iter().zip(has_sort).all(|(a, b)| (a.1 == b.1) == same);
        fixed.iter().all(|(path, _)| has_fixed.iter().any(|(p, _)| p == path))
            && rest.iter().zip(has_rest).all(|(a, b)| a.0 == b.0)
            && (same_way(true) || same_way(false))
    }
}

/// An index of the collection that does what the wanted one would.
fn serving<'a>(
    collection: Option<&'a Collection>,
    wanted: &Wanted,
    shape: &QueryShape,
) -> Option<&'a Index> {
    let collection = collection?;
    let default = collection.options.as_ref().and_then(|o| o.collation.as_deref());
    collection.indexes.as_deref()?.iter().find(|index| {
        let plain = index.keys.iter().take(wanted.keys.len()).map(|key| match key.kind {
            DirectionKind::Ascending => Some((key.path.clone(), 1)),
            DirectionKind::Descending => Some((key.path.clone(), -1)),
            _ => None,
        });
        index.partial_filter.is_none()
            && !index.hidden
            && has_collation(index.collation.as_deref(), shape, default)
            && plain.collect::<Option<Vec<_>>>().is_some_and(|keys| wanted.is_served_by(&keys))
    })
}

/// Whether an index compares texts as a query does; a query without a collation has the collection's.
fn has_collation(index: Option<&str>, shape: &QueryShape, default: Option<&str>) -> bool {
    if shape.collation.is_empty() {
        return index == default;
    }
    let options: Vec<&str> = index.unwrap_or_default().split(',').collect();
    shape.collation.iter().all(|(key, value)| {
        options.contains(&format!("{key}={}", value.trim_matches('"')).as_str())
    })
}

/// The keys in `{ a: 1, b.c: -1 }`; `None` when they are not all plain.
fn plain_keys(text: &str) -> Option<Vec<(String, i32)>> {
    let inside = text.trim().strip_prefix('{')?.strip_suffix('}')?;
    let key = |part: &str| {
        let (path, way) = part.rsplit_once(':')?;
        let way = way.trim().parse::<f64>().ok()?;
        Some((path.trim().trim_matches('"').to_owned(), if way < 0.0 { -1 } else { 1 }))
    };
    inside.split(',').map(key).collect()
}

/// What to do for a shape that lacks an index: the words and, when there is one, the command.
pub fn advice(evidence: &Evidence, stats: &QueryStats) -> (String, Option<String>) {
    let shape = &stats.shape;
    let collection = evidence.collection(&shape.namespace);
    let profile = collection.and_then(|c| c.profile.as_ref());
    let Some(wanted) = index_for(shape, profile) else {
        return (without_index(shape), None);
    };
    let used = stats.indexes_used.iter().filter_map(|text| plain_keys(text));
    if used.into_iter().any(|keys| wanted.is_served_by(&keys)) {
        let todo = format!(
            "the index it used, with {}, is the one for this filter: compare one more field, or ask for fewer documents",
            keys(&wanted.keys)
        );
        return (todo, None);
    }
    if let Some(index) = serving(collection, &wanted, shape) {
        let todo = format!(
            "index `{}` would serve it: find out why it was not used (made later, another type of the value, a hint)",
            index.name
        );
        return (todo, None);
    }
    let text = keys(&wanted.keys);
    let collation = match shape.collation.as_slice() {
        [] => String::new(),
        options => {
            let options: Vec<_> = options.iter().map(|(k, v)| format!("{k}: {v}")).collect();
            format!(", {{collation: {{{}}}}}", options.join(", "))
        }
    };
    let range_behind_sort =
        wanted.sorts > 0 && wanted.keys.len() > wanted.equalities + wanted.sorts;
    let hint = if range_behind_sort {
        "; if the range alone leaves few documents, put it before the sort"
    } else if shape.branches {
        "; for the branches of the $or it only narrows the search"
    } else if !collation.is_empty() {
        ", with the collation of the query: an index without it is not used"
    } else {
        ""
    };
    let command = format!("{}.createIndex({text}{collation})", shell::collection(&shape.namespace));
    (format!("create the index {text}, equality before sort before range{hint}"), Some(command))
}

/// What to do where no plain index helps.
fn without_index(shape: &QueryShape) -> String {
    let special = shape.filter.iter().find(|p| p.comparison == Comparison::Special);
    let others = shape.filter.iter().filter(|p| p.comparison != Comparison::Special);
    let others: Vec<&str> = others.map(|p| p.path.as_str()).collect();
    match special {
        Some(special) if !others.is_empty() => format!(
            "put {} into the same index as {}: no other one is used beside it",
            others.join(", "),
            special.path
        ),
        Some(special) => format!("ask for less by {}: nearer, or rarer words", special.path),
        None if shape.filter.iter().any(|p| p.path == "_id") => {
            "the index on _id would serve it: find out why it was not used (a hint, another type or collation of the value)".to_owned()
        }
        None if shape.branches => {
            "give each branch of the $or an index of its own, or ask twice".to_owned()
        }
        None if shape.filters_late => {
            "put what can be asked of the stored fields into a $match at the beginning, and index that"
                .to_owned()
        }
        None => {
            "no plain index serves this filter: ask for an exact value or a range of a field first"
                .to_owned()
        }
    }
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

/// Shapes on people's own collections.
pub fn business_shapes(evidence: &Evidence) -> impl Iterator<Item = &QueryStats> {
    let shapes = evidence.workload.iter().flat_map(|w| &w.shapes);
    shapes.filter(|s| is_business(&s.shape.namespace))
}

/// A text that tells shapes of one collection apart, for fingerprints.
pub fn key(shape: &QueryShape) -> String {
    format!("{shape:?}")
}
