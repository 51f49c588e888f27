//! Derives the index for a shape: fields compared for equality, then sort fields, then ranges. Also decides whether an
//! existing index, or one proposed for another shape, does the same.

use docward_model::{
    Collection, CollectionKind, Comparison, DirectionKind, Evidence, Index, IndexKey, NewIndex,
    Predicate, Profile, QueryShape, QueryStats, Step, Value,
};

use crate::facts::{
    indexes,
    workload::{has_position, keys},
};

/// An index that would serve a shape, or one branch of it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Wanted {
    /// Fields compared for equality, then sort fields, then ranges.
    pub keys: Vec<(String, i32)>,
    /// The number of equalities among the keys.
    pub equalities: usize,
    /// The number of keys after the equalities that serve only the sort.
    pub sorts: usize,
}

/// The indexes for a shape: one, or one for each branch of its `$or`. Empty if no plain index helps.
pub fn indexes_for(shape: &QueryShape, profile: Option<&Profile>) -> Vec<Wanted> {
    let common = index_for(&shape.filter, shape, profile);
    if let Some(wanted) = common.as_ref().filter(|w| !shape.branches || w.equalities > 0) {
        return vec![wanted.clone()];
    }
    // If one branch has no index, the server scans for all of them.
    let branches = shape.alternatives.iter().map(|branch| {
        let all: Vec<Predicate> = shape.filter.iter().chain(branch).cloned().collect();
        index_for(&all, shape, profile)
    });
    let mut wanted = branches.collect::<Option<Vec<_>>>().unwrap_or_default();
    if wanted.is_empty() {
        return common.into_iter().collect();
    }
    wanted.sort();
    // An index also serves every query whose index would be a prefix of it.
    let all = wanted.clone();
    wanted.retain(|one| {
        !all.iter().any(|o| o.keys.len() > one.keys.len() && one.is_served_by(&o.keys))
    });
    wanted.dedup();
    wanted
}

/// The index for fields that must all match. `$in` counts as equality; with a sort, only as long as the server keeps
/// the order. Negations, patterns in the middle and expressions narrow nothing. Only an index on one position of an
/// array serves a filter on this position.
fn index_for(
    filter: &[Predicate],
    shape: &QueryShape,
    profile: Option<&Profile>,
) -> Option<Wanted> {
    let is_special = |p: &Predicate| p.comparison == Comparison::Special;
    let is_exact_id = |p: &Predicate| p.path == "_id" && p.comparison == Comparison::Equality;
    // A text or geospatial index finds the documents, and MongoDB uses no other index with it. The same holds for the
    // index on `_id`.
    if filter.iter().any(|p| is_special(p) || is_exact_id(p)) {
        return None;
    }
    let sorted = is_sortable(filter, shape, profile);
    let is_equality = |c: Comparison| match c {
        Comparison::Equality | Comparison::OneOf => true,
        Comparison::OneOfMany => !sorted,
        _ => false,
    };
    let is_range = |c: Comparison| match c {
        Comparison::Range | Comparison::Between | Comparison::Prefix => true,
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
        let fitting = filter.iter().filter(|p| wanted(p.comparison) && !has_position(&p.path));
        fitting.map(|p| p.path.as_str()).collect()
    };
    let equalities = with(&is_equality).iter().map(|path| add(path, 1)).last().unwrap_or(0);
    // Without an equality, an index that begins with `_id` is the existing one.
    let sorted = sorted && (equalities > 0 || shape.sort.first().is_some_and(|(p, _)| p != "_id"));
    let sort = shape.sort.iter().filter(|_| sorted);
    let sorts = sort.map(|(path, up)| add(path, if *up { 1 } else { -1 })).last();
    let sorts = sorts.unwrap_or(equalities);
    with(&is_range).iter().for_each(|path| {
        add(path, 1);
    });
    let begins_new = keys.first().is_some_and(|(path, _)| path != "_id");
    let is_plain = keys.iter().all(|(path, _)| !path.starts_with('$') && !path.is_empty());
    (begins_new && is_plain).then_some(Wanted { keys, equalities, sorts: sorts - equalities })
}

/// Whether an index can provide the order. One with the elements of an array cannot, if the query filters by those
/// elements.
fn is_sortable(filter: &[Predicate], shape: &QueryShape, profile: Option<&Profile>) -> bool {
    let root = |path: &str| profile.and_then(|p| indexes::array_root(p, path));
    let is_bounded = |(path, _): &(String, bool)| {
        root(path).is_some_and(|array| {
            filter.iter().any(|p| root(&p.path).as_deref() == Some(array.as_str()))
        })
    };
    !shape.sort.is_empty() && !shape.sort.iter().any(is_bounded)
}

impl Wanted {
    /// Whether an index with these keys does what this one would. Equalities may be in any order, the sort may be read
    /// forwards or backwards as a whole, and ranges in either direction.
    pub fn is_served_by(&self, keys: &[(String, i32)]) -> bool {
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

    /// The equalities, in any order.
    fn fixed(&self) -> &[(String, i32)] {
        &self.keys[..self.equalities]
    }

    fn has_fixed(&self, path: &str) -> bool {
        self.fixed().iter().any(|(p, _)| p == path)
    }

    /// Returns the index with its equalities in the order that lets it serve most of the others: their fields first,
    /// the fewest before the rest.
    fn arranged(&self, others: &[Wanted]) -> Self {
        let is_within = |other: &&Wanted| {
            other.equalities == other.keys.len()
                && other.equalities < self.equalities
                && other.fixed().iter().all(|(path, _)| self.has_fixed(path))
        };
        let mut within: Vec<&Wanted> = others.iter().filter(is_within).collect();
        within.sort_by_key(|other| (other.keys.len(), &other.keys));
        let mut first: Vec<(String, i32)> = Vec::new();
        for other in within {
            if first.iter().all(|(path, _)| other.has_fixed(path)) {
                let more = other.fixed().iter().filter(|key| !first.contains(key)).cloned();
                first.extend(more.collect::<Vec<_>>());
            }
        }
        let rest = self.keys.iter().filter(|key| !first.contains(key)).cloned();
        let keys = first.iter().cloned().chain(rest.collect::<Vec<_>>()).collect();
        Self { keys, ..*self }
    }
}

/// A proposed index, and the other shapes of the collection it serves.
pub struct Proposed<'e> {
    /// The index to create.
    pub wanted: Wanted,
    /// Other shapes that lack an index and would use this one.
    pub also: Vec<&'e QueryShape>,
}

/// The index to create for a shape, together with those of other shapes of the collection. A longer index that begins
/// with the fields of this shape serves both. If two indexes serve each other's shape, one is created.
pub fn merged<'e>(evidence: &'e Evidence, stats: &QueryStats, wanted: &Wanted) -> Proposed<'e> {
    let lacking = lacking(evidence, &stats.shape);
    let all: Vec<Wanted> = lacking.iter().map(|(_, wanted)| wanted.clone()).collect();
    // A range can be read in either direction, a sort of several fields cannot, so sort indexes come first.
    let serving =
        all.iter().map(|other| other.arranged(&all)).filter(|o| wanted.is_served_by(&o.keys));
    let chosen = serving
        .max_by(|a, b| (a.keys.len(), a.sorts, &b.keys).cmp(&(b.keys.len(), b.sorts, &a.keys)))
        .unwrap_or_else(|| wanted.arranged(&all));
    let also = lacking
        .iter()
        .filter(|(shape, other)| **shape != stats.shape && other.is_served_by(&chosen.keys));
    Proposed { also: also.map(|(shape, _)| *shape).collect(), wanted: chosen }
}

/// Shapes of the collection that read or sort too much, use the same collation, and lack one index.
fn lacking<'e>(evidence: &'e Evidence, shape: &QueryShape) -> Vec<(&'e QueryShape, Wanted)> {
    let collection = evidence.collection(&shape.namespace);
    let profile = collection.and_then(|c| c.profile.as_ref());
    let shapes = evidence.workload.iter().flat_map(|w| &w.shapes);
    shapes
        .filter(|s| s.shape.namespace == shape.namespace && s.shape.collation == shape.collation)
        .filter(|s| reads_too_much(s))
        .filter_map(|s| match indexes_for(&s.shape, profile).as_slice() {
            [wanted] if serving(collection, wanted, &s.shape).is_none() => {
                Some((&s.shape, wanted.clone()))
            }
            _ => None,
        })
        .collect()
}

/// Applies the limits of W001 to W003 at their defaults.
fn reads_too_much(stats: &QueryStats) -> bool {
    let average = stats.examined() / stats.count.max(1);
    let scans = stats.collection_scans > 0 && stats.most_scanned >= 1000;
    scans
        || stats.running.collection_scans > 0
        || (average >= 1000 && (stats.sorts > 0 || stats.examined_per_returned() >= 100.0))
}

/// An index of the collection that does the same as the wanted one.
pub fn serving<'a>(
    collection: Option<&'a Collection>,
    wanted: &Wanted,
    shape: &QueryShape,
) -> Option<&'a Index> {
    fitting(collection?, wanted, shape).find(|index| !index.hidden)
}

/// Indexes that serve it, including hidden ones.
fn fitting<'a>(
    collection: &'a Collection,
    wanted: &Wanted,
    shape: &QueryShape,
) -> impl Iterator<Item = &'a Index> {
    let default = collection.options.as_ref().and_then(|o| o.collation.as_deref());
    collection.indexes.iter().flatten().filter(move |index| {
        index.partial_filter.is_none()
            // A sparse index omits documents: the server does not sort all documents by it.
            && (!index.sparse || wanted.equalities > 0)
            && has_collation(index.collation.as_deref(), shape, default)
            && has_keys(index, wanted)
    })
}

fn has_keys(index: &Index, wanted: &Wanted) -> bool {
    if let ([(path, _)], [key, ..]) = (wanted.keys.as_slice(), index.keys.as_slice()) {
        let is_hashed = key.kind == DirectionKind::Hashed && key.path == *path;
        let within = key.path.strip_suffix("$**").map(|prefix| prefix.trim_end_matches('.'));
        let is_wildcard = index.keys.len() == 1
            && within.is_some_and(|prefix| {
                prefix.is_empty() || path.strip_prefix(prefix).is_some_and(|r| r.starts_with('.'))
            });
        if (is_hashed && wanted.equalities == 1) || (is_wildcard && wanted.sorts == 0) {
            return true;
        }
    }
    directed(&index.keys[..wanted.keys.len().min(index.keys.len())])
        .is_some_and(|keys| wanted.is_served_by(&keys))
}

/// Fields of an index with their directions; `None` if one of them has none.
fn directed(keys: &[IndexKey]) -> Option<Vec<(String, i32)>> {
    let way = |key: &IndexKey| match key.kind {
        DirectionKind::Ascending => Some((key.path.clone(), 1)),
        DirectionKind::Descending => Some((key.path.clone(), -1)),
        _ => None,
    };
    keys.iter().map(way).collect()
}

/// Whether an index compares texts as a query does; a query without a collation uses that of the collection.
fn has_collation(index: Option<&str>, shape: &QueryShape, default: Option<&str>) -> bool {
    if shape.collation.is_empty() {
        return index == default;
    }
    let Some(index) = index else { return false };
    let indexed =
        |key: &str| index.split(',').find_map(|option| option.strip_prefix(key)?.strip_prefix('='));
    let asked = |key: &str| {
        let option = shape.collation.iter().find(|(k, _)| k == key);
        option.map(|(_, value)| value.trim_matches('"'))
    };
    let locale = asked("locale").unwrap_or_default();
    let is_same = |&(key, default, unless): &(&str, &str, &[&str])| {
        // If the locale has its own default, only options that both state can be compared.
        let default = (!unless.contains(&locale)).then_some(default);
        let (index, query) = (indexed(key).or(default), asked(key).or(default));
        index.zip(query).is_none_or(|(index, query)| index == query)
    };
    indexed("locale") == Some(locale) && COLLATION.iter().all(is_same)
}

/// Options of a collation with the server's defaults, and the locales that have another one.
const COLLATION: [(&str, &str, &[&str]); 7] = [
    ("strength", "3", &[]),
    ("caseLevel", "false", &[]),
    ("caseFirst", "off", &["da", "mt"]),
    ("numericOrdering", "false", &[]),
    ("alternate", "non-ignorable", &["th"]),
    ("maxVariable", "punct", &[]),
    ("backwards", "false", &["fr_CA"]),
];

/// The keys in `{ a: 1, b.c: -1 }`; `None` if they are not all plain.
fn plain_keys(text: &str) -> Option<Vec<(String, i32)>> {
    let inside = text.trim().strip_prefix('{')?.strip_suffix('}')?;
    let key = |part: &str| {
        let (path, way) = part.rsplit_once(':')?;
        let way = way.trim().parse::<f64>().ok()?;
        Some((path.trim().trim_matches('"').to_owned(), if way < 0.0 { -1 } else { 1 }))
    };
    inside.split(',').map(key).collect()
}

/// Returns the advice for a query shape without an index: the text and the steps.
pub fn advice(evidence: &Evidence, stats: &QueryStats) -> (String, Vec<Step>) {
    let shape = &stats.shape;
    let collection = evidence.collection(&shape.namespace);
    let profile = collection.and_then(|c| c.profile.as_ref());
    let wanted = indexes_for(shape, profile);
    match wanted.as_slice() {
        [] => (without_index(shape, profile), Vec::new()),
        [one]
            if shape.alternatives.is_empty()
                || index_for(&shape.filter, shape, profile).is_some() =>
        {
            advice_for_one(evidence, stats, one)
        }
        branches => {
            let missing: Vec<&Wanted> = branches
                .iter()
                .filter(|wanted| serving(collection, wanted, shape).is_none())
                .collect();
            if missing.is_empty() {
                let todo = "each branch of the $or has an index: find out why it was not used (created later, another value type, or a hint)";
                return (todo.to_owned(), Vec::new());
            }
            let texts: Vec<_> = missing.iter().map(|wanted| keys(&wanted.keys)).collect();
            let steps = missing.iter().map(|wanted| create(shape, wanted, None)).collect();
            let todo = format!(
                "create an index for each branch of the $or, because a branch without one scans the collection: {}",
                texts.join(" and ")
            );
            (todo, steps)
        }
    }
}

fn advice_for_one(evidence: &Evidence, stats: &QueryStats, wanted: &Wanted) -> (String, Vec<Step>) {
    let shape = &stats.shape;
    let used = stats.indexes_used.iter().filter_map(|text| plain_keys(text));
    if used.into_iter().any(|keys| wanted.is_served_by(&keys)) {
        let todo = format!(
            "the query already uses the right index, {}: filter by one more field, or request fewer documents",
            keys(&wanted.keys)
        );
        return (todo, Vec::new());
    }
    if let Some(index) = serving(evidence.collection(&shape.namespace), wanted, shape) {
        let todo = format!(
            "index `{}` supports this query: find out why it was not used (created later, another value type, or a hint)",
            index.name
        );
        return (todo, Vec::new());
    }
    if let Some(instead) = hidden_or_behind_view(evidence, shape, wanted) {
        return instead;
    }
    let Proposed { wanted, also } = merged(evidence, stats, wanted);
    let range_behind_sort =
        wanted.sorts > 0 && wanted.keys.len() > wanted.equalities + wanted.sorts;
    let hint = if range_behind_sort {
        "; if the range alone leaves few documents, put the range before the sort"
    } else if shape.branches {
        "; for the branches of the $or, it only narrows the search"
    } else if !shape.collation.is_empty() {
        " with the collation of the query, because the query cannot use an index without it"
    } else {
        ""
    };
    let mut todo =
        format!("create the index {} (equality, then sort, then range){hint}", keys(&wanted.keys));
    if let Some(first) = also.first() {
        let more = match also.len() {
            1 => String::new(),
            n => format!(" and {} more", n - 1),
        };
        todo.push_str(&format!(
            "; it also supports {}{more}",
            crate::facts::workload::words(first)
        ));
    }
    // The server would give both the same name.
    let twin = twins(evidence, shape, &wanted).next();
    if let Some(twin) = twin {
        todo.push_str(&format!(
            "; index `{}` has the same keys but does not support this query (partial, sparse or another collation), so the new index needs another name",
            twin.name
        ));
    }
    let name = twin.map(|twin| format!("{}_all", twin.name));
    (todo, vec![create(shape, &wanted, name)])
}

/// Indexes of the collection with exactly the wanted keys.
fn twins<'a>(
    evidence: &'a Evidence,
    shape: &QueryShape,
    wanted: &'a Wanted,
) -> impl Iterator<Item = &'a Index> {
    let collection = evidence.collection(&shape.namespace);
    let indexes = collection.and_then(|c| c.indexes.as_deref()).unwrap_or_default();
    indexes.iter().filter(|index| directed(&index.keys).is_some_and(|own| own == wanted.keys))
}

/// Returns the advice if an index cannot be created directly: it exists but is hidden, or the query reads a view.
fn hidden_or_behind_view(
    evidence: &Evidence,
    shape: &QueryShape,
    wanted: &Wanted,
) -> Option<(String, Vec<Step>)> {
    let collection = evidence.collection(&shape.namespace)?;
    if collection.kind == CollectionKind::View {
        let todo = format!(
            "`{}` is a view, and views have no indexes: create the index {} on the view's collection, if the view passes these fields through",
            shape.namespace,
            keys(&wanted.keys)
        );
        return Some((todo, Vec::new()));
    }
    let hidden = fitting(collection, wanted, shape).find(|index| index.hidden)?;
    let todo = format!("index `{}` supports this query but is hidden: unhide it", hidden.name);
    let unhide =
        Step::UnhideIndex { namespace: shape.namespace.clone(), index: hidden.name.clone() };
    Some((todo, vec![unhide]))
}

fn create(shape: &QueryShape, wanted: &Wanted, name: Option<String>) -> Step {
    let key = |(path, way): &(String, i32)| IndexKey {
        path: path.clone(),
        kind: if *way < 0 { DirectionKind::Descending } else { DirectionKind::Ascending },
    };
    // Options in the notation of the query: strings in quotes, numbers and booleans unchanged.
    let option = |(name, value): &(String, String)| {
        let text = value.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
        let value =
            text.map_or_else(|| Value::Other(value.clone()), |text| Value::Text(text.to_owned()));
        (name.clone(), value)
    };
    let collation: Vec<_> = shape.collation.iter().map(option).collect();
    let index = NewIndex {
        keys: wanted.keys.iter().map(key).collect(),
        name,
        collation: (!collation.is_empty()).then_some(Value::Map(collation)),
        ..NewIndex::default()
    };
    Step::CreateIndex { namespace: shape.namespace.clone(), index }
}

/// Returns the advice if no regular index helps.
fn without_index(shape: &QueryShape, profile: Option<&Profile>) -> String {
    let special = shape.filter.iter().find(|p| p.comparison == Comparison::Special);
    let others = shape.filter.iter().filter(|p| p.comparison != Comparison::Special);
    let others: Vec<&str> = others.map(|p| p.path.as_str()).collect();
    match special {
        Some(special) if !others.is_empty() => format!(
            "put {} into the same index as {}, because the server cannot combine this index with another",
            others.join(", "),
            special.path
        ),
        Some(special) => format!("narrow the search by {}: a smaller distance, or rarer words", special.path),
        None if shape.filter.iter().any(|p| p.path == "_id") => {
            "the index on _id supports this query: find out why it was not used (a hint, or another type or collation of the value)".to_owned()
        }
        None if shape.filter.iter().any(|p| has_position(&p.path)) => {
            "the path has an array position, and an index covers only one position: query elements by their values, or index the one path that queries use".to_owned()
        }
        None if shape.branches => {
            let hopeless = shape
                .alternatives
                .iter()
                .find(|branch| index_for(branch, shape, profile).is_none());
            match hopeless.and_then(|branch| branch.first()) {
                Some(asked) => format!(
                    "no index can support the $or branch on {}, so the whole query scans the collection: use an exact value or a range there, or two queries",
                    asked.path
                ),
                None => "create an index for each branch of the $or, or use two queries".to_owned(),
            }
        }
        None if shape.filters_late => {
            "move the conditions on stored fields to a $match at the beginning of the pipeline, and index these fields"
                .to_owned()
        }
        None => {
            "no regular index supports this filter: first filter by an exact value or a range of a field"
                .to_owned()
        }
    }
}
