//! Recognises collections that already follow a pattern of the rule book, so that rules do not
//! report them (PT-*, GC-04, GC-49). Shape and numbers decide; a name alone is never enough.

use std::collections::BTreeMap;

use docward_model::{
    BsonType, Collection, CollectionKind, Distribution, Evidence, Field, FieldPath, FieldShape,
    Namespace, Profile, Settings, TextClass, ValidationLevel, Value,
};

use crate::facts::{
    code,
    names::{self, meaning},
    text,
};
use docward_model::code::Cap;

/// The number of elements in a page of an outlier document (PT-outlier.1), and the recommended maximum for a bucket.
pub const PAGE: u64 = 1000;
/// The maximum length of a preview (PT-subset.1, PT-slice.1: 3, 5, 10, 100).
pub const PREVIEW: u64 = 100;
/// Common caps in `$slice`.
const ROUND: &[u64] = &[3, 5, 10, 20, 25, 50, 100, 200, 250, 500, 1000];

/// The reason why an array cannot grow without bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bound {
    /// Coordinates of a GeoJSON geometry, or of a plain point or polygon.
    Geometry,
    /// An embedding or another vector: numbers, always the same count.
    Vector(u64),
    /// The user declared a cap in `docward.toml`.
    Declared(u64),
    /// The validator has a cap.
    Validator(u64),
    /// Readings of a bucket document, closed by count or by its period.
    Bucket(u64),
    /// The inline part of an outlier document, or one of its overflow pages.
    OverflowPage(u64),
    /// The newest few elements; the whole list is elsewhere.
    Preview(u64),
    /// Lengths accumulate at a round number, and none is above it.
    Capped(u64),
    /// Every array has the same length.
    FixedLength(u64),
}

impl Bound {
    /// Whether the bound was decided, in contrast to one that only the lengths show.
    pub fn is_by_design(&self) -> bool {
        !matches!(self, Self::Capped(_) | Self::FixedLength(_))
    }

    /// The bound in words, for findings.
    pub fn describe(&self) -> String {
        match self {
            Self::Geometry => "coordinates of a geometry".to_owned(),
            Self::Vector(n) => format!("a vector of {} numbers", text::count(*n)),
            Self::Declared(n) => format!("declared to hold at most {} elements", text::count(*n)),
            Self::Validator(n) => {
                format!("limited by the validator to {} elements", text::count(*n))
            }
            Self::Bucket(n) => format!("a bucket of at most {} elements", text::count(*n)),
            Self::OverflowPage(n) => format!("a page of at most {} elements", text::count(*n)),
            Self::Preview(n) => format!("a preview of at most {} elements", text::count(*n)),
            Self::Capped(n) => format!("never longer than {} elements", text::count(*n)),
            Self::FixedLength(n) => format!("always {} elements long", text::count(*n)),
        }
    }
}

/// Returns the bound of an array; `None` if none is visible.
pub fn bound(
    settings: &Settings,
    collection: &Collection,
    profile: &Profile,
    field: &Field,
) -> Option<Bound> {
    let array = field.array.as_ref()?;
    let lengths = &array.lengths;
    if is_geometry(profile, field) {
        return Some(Bound::Geometry);
    }
    // Arrays that grew in all documents at the same pace have the same length in all of them, but only for now.
    let grows = array.observed.is_some_and(|seen| {
        crate::facts::growth::arrays::Limits::of(settings, &collection.namespace)
            .credible
            .is_seen(&seen)
    });
    let numbers = vector(profile, field).or_else(|| raster(profile, field));
    if let Some(n) = numbers.filter(|_| !grows) {
        return Some(Bound::Vector(n));
    }
    // A declared cap that the data exceeds is not a cap.
    if let Some(cap) = settings.array_cap(&collection.namespace, field.path.as_str()) {
        return (lengths.max <= cap).then_some(Bound::Declared(cap));
    }
    if let Some(cap) = validator_cap(collection, &field.path, lengths.max) {
        return Some(Bound::Validator(cap));
    }
    if let Some(bucket) = bucket(profile)
        && bucket.closed
        && profile.fields[bucket.array].path == field.path
    {
        return Some(Bound::Bucket(bucket.cap));
    }
    if lengths.max <= PAGE && (overflow_flag(profile).is_some() || overflow_page(profile).is_some())
    {
        return Some(Bound::OverflowPage(lengths.max));
    }
    if let Some(preview) = preview(profile, field) {
        return Some(Bound::Preview(preview.length));
    }
    if let Some(cap) = capped_at(lengths).filter(|&cap| !is_new_length(field, cap)) {
        return Some(Bound::Capped(cap));
    }
    // Slots have a plain type. An equal number of records in every document may also be a coincidence.
    let plain = profile
        .element(field)
        .is_some_and(|e| e.types.of(BsonType::Object) == 0 && e.types.of(BsonType::Array) == 0);
    (lengths.count >= 20
        && lengths.min == lengths.max
        && lengths.max > 0
        && plain
        && !grows
        && !crate::facts::growth::arrays::keeps_coming(field))
    .then_some(Bound::FixedLength(lengths.max))
}

/// This number of different gains that end at the same length shows a cap.
const WAYS: u64 = 3;

/// Whether no array of a field had this length on an earlier date, and some have grown since. The longest length is
/// then no cap. Arrays with a cap would have had this length before, or would have reached it by different gains.
pub fn is_new_length(field: &Field, length: u64) -> bool {
    let observed = field.array.as_ref().and_then(|array| array.observed.as_ref());
    observed.is_some_and(|seen| {
        let is_cut = seen.leaders[0].0 == length && seen.ways_to_largest >= WAYS;
        seen.grown > 0 && seen.largest_then < length && !is_cut
    })
}

/// Whether an operation adds to an array without truncating it: an update in the workload, or a statement in the code.
/// Lengths that stop at a value are then no cap.
pub fn is_appended_without_cap(evidence: &Evidence, namespace: &Namespace, field: &Field) -> bool {
    let plain = code::plain_path(field.path.as_str());
    let pushed = evidence.workload.iter().flat_map(|workload| &workload.shapes).any(|stats| {
        stats.shape.namespace == *namespace
            && stats.idle < stats.count + stats.running.operations
            && stats.shape.pushes.iter().any(|push| {
                let place = crate::facts::workload::place(&push.path);
                !push.capped && place.dotted() == field.path.dotted()
            })
    });
    pushed
        || evidence.code.iter().flat_map(|code| &code.appends).any(|append| {
            append.cap == Cap::None
                && append.collection.as_deref() == Some(namespace.collection.as_str())
                && code::plain_path(&append.path) == plain
        })
}

/// Returns the sibling fields of this one.
pub fn siblings<'a>(profile: &'a Profile, field: &'a Field) -> impl Iterator<Item = &'a Field> {
    profile.fields.iter().filter(move |f| f.parent == field.parent && f.path != field.path)
}

/// Whether nearly all values of a field are numbers.
pub fn is_numeric(field: &Field) -> bool {
    let values = field.types.non_null();
    values > 0 && field.types.numbers() * 100 >= values * 99
}

/// Whether nearly all values of a field are arrays.
fn is_array(field: &Field) -> bool {
    let values = field.types.non_null();
    values > 0 && field.types.of(BsonType::Array) * 100 >= values * 99
}

// --- geometry and vectors ------------------------------------------------------------------------

/// Whether a place belongs to a geometry. That is `coordinates` next to a text `type` (GeoJSON), `arcs` there
/// (TopoJSON), or `geometries` made of these. Anything inside them belongs to it, and so does a plain list of points
/// (an array of pairs or triples of numbers).
pub fn is_geometry(profile: &Profile, field: &Field) -> bool {
    let mut at = Some(field);
    while let Some(place) = at {
        if is_coordinates(profile, place)
            || is_list_of_points(profile, place)
            || are_geometries(profile, place)
        {
            return true;
        }
        at = profile.parent(place);
    }
    false
}

fn is_coordinates(profile: &Profile, field: &Field) -> bool {
    field.shape == FieldShape::Named
        && matches!(field.name.as_str(), "coordinates" | "arcs")
        && field.array.is_some()
        && siblings(profile, field).any(|f| f.name == "type" && f.types.of(BsonType::String) > 0)
        && innermost(profile, field).is_some_and(is_numeric)
}

/// The members of a `GeometryCollection`.
fn are_geometries(profile: &Profile, field: &Field) -> bool {
    field.name == "geometries"
        && siblings(profile, field).any(|f| f.name == "type" && f.types.of(BsonType::String) > 0)
        && profile
            .element(field)
            .is_some_and(|e| profile.children(e).any(|f| is_coordinates(profile, f)))
}

fn is_list_of_points(profile: &Profile, field: &Field) -> bool {
    let Some(element) = profile.element(field) else { return false };
    element.array.as_ref().is_some_and(|a| a.lengths.min >= 2 && a.lengths.max <= 3)
        && profile.element(element).is_some_and(is_numeric)
}

/// The elements of the innermost array of an array of arrays.
fn innermost<'a>(profile: &'a Profile, field: &'a Field) -> Option<&'a Field> {
    let mut at = profile.element(field)?;
    while let Some(inner) = profile.element(at) {
        at = inner;
    }
    Some(at)
}

/// Maximum number of dimensions that vector search accepts.
const MAX_DIMENSIONS: u64 = 8192;

/// The length of an embedding: numbers with fractions, the same count in every document.
pub fn vector(profile: &Profile, field: &Field) -> Option<u64> {
    let lengths = &field.array.as_ref()?.lengths;
    let element = profile.element(field)?;
    let fractions = element.number.is_some_and(|n| n.fractional_doubles > 0);
    (lengths.count >= 2
        && lengths.min == lengths.max
        && (16..=MAX_DIMENSIONS).contains(&lengths.max)
        && fractions
        && is_numeric(element)
        && !crate::facts::growth::arrays::keeps_coming(field))
    .then_some(lengths.max)
}

/// The length of a list of numbers with `width` × `height` values next to it: the cells of a grid.
fn raster(profile: &Profile, field: &Field) -> Option<u64> {
    let lengths = &field.array.as_ref()?.lengths;
    let is_cell = |element: &&Field| is_numeric(element);
    profile.element(field).filter(is_cell)?;
    let side = |names: [&str; 3]| {
        let named = |f: &&Field| f.parent == field.parent && names.contains(&f.name.as_str());
        profile.fields.iter().find(named)?.number
    };
    let width = side(["width", "cols", "columns"])?;
    let height = side(["height", "rows", "lines"])?;
    let is_area = |length: u64, width: f64, height: f64| length as f64 == width * height;
    (is_area(lengths.min, width.min, height.min) && is_area(lengths.max, width.max, height.max))
        .then_some(lengths.max)
}

// --- caps in the validator -----------------------------------------------------------------------

/// The maximum length of an array that the validator allows, if every array complies. A cap that the data exceeds does
/// not count: it was added later, or writes bypass it.
pub fn validator_cap(collection: &Collection, path: &FieldPath, longest: u64) -> Option<u64> {
    asked_cap(collection, path).filter(|&cap| longest <= cap)
}

/// A declared cap, or one in the validator, that arrays break, in words.
pub fn broken_cap(settings: &Settings, collection: &Collection, field: &Field) -> Option<String> {
    let lengths = &field.array.as_ref()?.lengths;
    let declared = settings.array_cap(&collection.namespace, field.path.as_str());
    let (cap, source) = match declared {
        Some(cap) => (cap, "declared under `[[collections.bounded]]`"),
        None => (asked_cap(collection, &field.path)?, "in the validator"),
    };
    let over = lengths.at_least(cap.saturating_add(1)).max(1);
    (lengths.max > cap).then(|| {
        format!(
            "{} {} the limit of {} {source}",
            text::part(over, lengths.count, "array"),
            text::form(over, "breaks", "break"),
            text::count(cap)
        )
    })
}

/// The maximum length that the validator allows, whether or not arrays comply.
fn asked_cap(collection: &Collection, path: &FieldPath) -> Option<u64> {
    let options = collection.options.as_ref()?;
    let validator = options.validator.as_ref()?;
    if options.validation_level == ValidationLevel::Off {
        return None;
    }
    schema_cap(validator.get("$jsonSchema"), path).or_else(|| query_cap(validator, path))
}

/// `maxItems` of an array in a `$jsonSchema`.
fn schema_cap(schema: Option<&Value>, path: &FieldPath) -> Option<u64> {
    let mut at = schema?;
    for part in path.as_str().split('.') {
        let name = part.trim_end_matches("[]");
        at = property(at, name)?;
        for _ in 0..(part.len() - name.len()) / 2 {
            at = at.get("items")?;
        }
    }
    at.get("maxItems")?.as_int().and_then(|n| u64::try_from(n).ok())
}

fn property<'a>(schema: &'a Value, name: &str) -> Option<&'a Value> {
    schema
        .get("properties")
        .and_then(|p| p.get(name))
        .or_else(|| schema.get("allOf")?.items().iter().find_map(|part| property(part, name)))
}

/// Caps written as a query: `{"tags.100": {$exists: false}}`, or
/// `{$expr: {$lte: [{$size: "$tags"}, 100]}}`, alone or inside `$and`.
fn query_cap(query: &Value, path: &FieldPath) -> Option<u64> {
    let dotted = path.dotted();
    query.entries().iter().find_map(|(key, value)| match key.as_str() {
        "$and" => value.items().iter().find_map(|part| query_cap(part, path)),
        "$expr" => size_cap(value, &dotted),
        _ => {
            let index = key.strip_prefix(&dotted)?.strip_prefix('.')?;
            let absent = value.get("$exists").is_some_and(|v| !v.is_truthy());
            index.parse().ok().filter(|_| absent)
        }
    })
}

fn size_cap(expression: &Value, dotted: &str) -> Option<u64> {
    for (operator, less) in [("$lte", 0), ("$lt", 1)] {
        if let Some([left, right]) = expression.get(operator).map(Value::items)
            && left.get("$size").and_then(Value::as_text).and_then(|p| p.strip_prefix('$'))
                == Some(dotted)
        {
            return right.as_int().and_then(|n| u64::try_from(n - less).ok());
        }
    }
    None
}

// --- counts and periods --------------------------------------------------------------------------

const COUNTS: &[&str] = &["count", "counts", "cnt", "total", "num", "number", "size", "n"];

/// Returns the noun that a counter counts: `reviewCount`, `num_reviews` and `totalReviews` give `review`. A bare
/// `count` gives an empty text; other names give `None`.
pub fn counted(name: &str) -> Option<String> {
    let mut all = names::words(name);
    let is = |w: Option<&String>| w.is_some_and(|w| COUNTS.contains(&w.as_str()));
    if all.len() == 1 && (is(all.first()) || all[0] == "nsamples" || all[0] == "length") {
        return Some(String::new());
    }
    if all.last().is_some_and(|w| matches!(w.as_str(), "count" | "counts" | "cnt" | "total")) {
        all.pop();
    } else if is(all.first()) && all.last().is_some_and(|w| w.ends_with('s')) {
        all.remove(0);
    } else {
        return None;
    }
    let last = all.last_mut()?;
    *last = meaning::singular(last);
    Some(all.concat())
}

/// Returns the counter next to an array: `count`, or a name with the same noun.
fn counter_of<'a>(profile: &'a Profile, array: &'a Field) -> Option<&'a Field> {
    let noun = array_noun(&array.name);
    siblings(profile, array)
        .filter(|f| is_numeric(f))
        .find(|f| counted(&f.name).is_some_and(|what| what.is_empty() || same_noun(&what, &noun)))
}

/// The noun of an array without the words for a part of the list.
fn array_noun(name: &str) -> String {
    let mut all = names::words(name);
    if all.len() > 1 && PART_WORDS.contains(&all[0].as_str()) {
        all.remove(0);
    }
    if let Some(last) = all.last_mut() {
        *last = meaning::singular(last);
    }
    all.concat()
}

fn same_noun(a: &str, b: &str) -> bool {
    !a.is_empty() && !b.is_empty() && (a.ends_with(b) || b.ends_with(a))
}

/// The certainty that a field names the period of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Period {
    /// `date`, `day`, `start`: often something else.
    Weak,
    /// `hour`, `bucket_start`, `period`, `window`: nothing else.
    Strong,
}

/// The field with the period of a document; a `date` counts only if it is truncated to the day, so that documents share
/// it.
fn period_field(profile: &Profile) -> Option<(&Field, Period)> {
    let in_id = |f: &Field| profile.parent(f).is_some_and(|p| p.path.as_str() == "_id");
    let mut best: Option<(&Field, Period)> = None;
    for field in profile.fields.iter().filter(|f| f.parent.is_none() || in_id(f)) {
        let time = field.types.of(BsonType::Date) > 0
            || field.text.as_ref().is_some_and(|t| {
                t.count(|c| c.is_date() || c == TextClass::YearMonth) * 100 >= t.total() * 99
            });
        if !time || field.presence() < 0.9 {
            continue;
        }
        let all = names::words(&field.name);
        let has = |list: &[&str]| all.iter().any(|w| list.contains(&w.as_str()));
        let strength = if has(&["hour", "bucket", "period", "window", "slot", "minute", "interval"])
        {
            Some(Period::Strong)
        } else if all.len() <= 2
            && has(&["date", "day", "month", "week", "start", "begin"])
            && is_shared(profile, field)
        {
            Some(Period::Weak)
        } else {
            None
        };
        if let Some(strength) = strength
            && best.is_none_or(|(_, b)| strength > b)
        {
            best = Some((field, strength));
        }
    }
    best
}

/// Whether documents share their dates: a period is truncated to the hour or day, a moment is not.
fn is_shared(profile: &Profile, field: &Field) -> bool {
    field.distinct.values > 0.0 && profile.documents as f64 >= 1.5 * field.distinct.values
}

// --- bucket --------------------------------------------------------------------------------------

/// A bucket collection (PT-bucket.3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// Index of the array in the profile's fields.
    pub array: usize,
    /// The field with the period of the bucket.
    pub period: FieldPath,
    /// The counter next to the array, if one agrees with it.
    pub counter: Option<FieldPath>,
    /// The longest observed array.
    pub cap: u64,
    /// Whether a cap is visible: buckets close by count, or lengths are equal and at most a page.
    pub closed: bool,
}

/// Recognises documents that hold the readings of one period: a period, an array of readings, and
/// a counter that agrees with it or readings that carry a time.
pub fn bucket(profile: &Profile) -> Option<Bucket> {
    let (period, strength) = period_field(profile)?;
    let mut arrays: Vec<(usize, &Field)> = profile
        .fields
        .iter()
        .enumerate()
        .filter(|(_, f)| f.parent.is_none() && is_array(f) && f.array.is_some())
        .collect();
    arrays.sort_by_key(|(at, f)| {
        (std::cmp::Reverse(f.array.as_ref().map_or(0, |a| a.lengths.sum)), *at)
    });
    let (at, array) = *arrays.first()?;
    let lengths = &array.array.as_ref()?.lengths;
    if lengths.max < 2 || is_geometry(profile, array) {
        return None;
    }
    let counter = counter_of(profile, array)
        .filter(|f| f.number.is_some_and(|n| n.max == lengths.max as f64));
    let timed = crate::facts::growth::arrays::time_child(profile, array).is_some();
    let readings = timed || profile.element(array).is_some_and(is_numeric);
    let recognised = match strength {
        Period::Strong => counter.is_some() || readings,
        Period::Weak => counter.is_some() || timed,
    };
    if !recognised {
        return None;
    }
    let growth = array.array.as_ref()?.growth;
    let level =
        !growth.is_some_and(|g| crate::facts::growth::forecast::Credible::DEFAULT.holds(&g));
    let closed = lengths.max <= PAGE && (counter.is_some() || level)
        || counter.is_some() && at_max(lengths) * 5 >= lengths.count;
    Some(Bucket {
        array: at,
        period: period.path.clone(),
        counter: counter.map(|f| f.path.clone()),
        cap: lengths.max,
        closed,
    })
}

/// Whether this is the array of buckets that never close.
pub fn is_open_bucket(profile: &Profile, field: &Field) -> bool {
    bucket(profile).is_some_and(|b| !b.closed && profile.fields[b.array].path == field.path)
}

// --- outlier -------------------------------------------------------------------------------------

/// The flag of a document with more pages: `has_overflow`, `hasExtras`, `isOutlier`.
pub fn overflow_flag(profile: &Profile) -> Option<&Field> {
    profile.top_level().find(|f| {
        f.is_only(BsonType::Bool)
            && names::words(&f.name).iter().any(|w| {
                matches!(w.as_str(), "overflow" | "overflowed" | "extras" | "outlier" | "overflows")
            })
    })
}

/// An overflow page: `page` as an integer, the id of the document it continues, one array.
pub fn overflow_page(profile: &Profile) -> Option<&Field> {
    let page = profile.top_level().find(|f| {
        let all = names::words(&f.name);
        all[..].first().is_some_and(|w| w == "page")
            && (all.len() == 1
                || (all.len() == 2 && matches!(all[1].as_str(), "no" | "number" | "num")))
            && is_numeric(f)
            && f.number.is_some_and(|n| n.fractional_doubles == 0 && n.min >= 0.0)
    })?;
    let parent = profile.top_level().any(|f| f.name != "_id" && meaning::is_id(&f.name));
    let arrays = profile.top_level().filter(|f| is_array(f)).count();
    (parent && arrays == 1).then_some(page)
}

// --- preview, capped -----------------------------------------------------------------------------

const PART_WORDS: &[&str] = &["recent", "latest", "last", "newest", "top", "preview", "featured"];

/// The newest few elements kept in the parent (PT-subset.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preview {
    /// The longest observed array.
    pub length: u64,
    /// The counter next to it, if its values exceed the length of the array.
    pub counter: Option<FieldPath>,
}

/// Recognises a preview by its name and a small cap. A counter of the same noun that exceeds an array of one of
/// the usual lengths shows it too.
pub fn preview(profile: &Profile, field: &Field) -> Option<Preview> {
    let lengths = &field.array.as_ref()?.lengths;
    if field.shape != FieldShape::Named || lengths.max == 0 || lengths.max > PREVIEW {
        return None;
    }
    let beyond = counter_of(profile, field)
        .filter(|f| counted(&f.name).is_some_and(|what| !what.is_empty()))
        .filter(|f| f.number.is_some_and(|n| n.max > lengths.max as f64));
    let all = names::words(&field.name);
    let named = all.len() > 1 && PART_WORDS.contains(&all[0].as_str()) || all == ["preview"];
    let usual = matches!(lengths.max, 3 | 5 | 10 | 100);
    (named || (usual && beyond.is_some()))
        .then(|| Preview { length: lengths.max, counter: beyond.map(|f| f.path.clone()) })
}

/// Arrays as long as the longest one; from 64 up, within 1/32 of it.
fn at_max(lengths: &Distribution) -> u64 {
    lengths.buckets.last().map_or(0, |&(_, _, n)| n)
}

/// Returns the cap at which lengths accumulate. At least a fifth of the arrays (and at least five) have reached this
/// round number. Clearly fewer have a length just below it.
pub fn capped_at(lengths: &Distribution) -> Option<u64> {
    let full = at_max(lengths);
    if !ROUND.contains(&lengths.max) || full < 5 || full * 5 < lengths.count {
        return None;
    }
    let below = match lengths.buckets.len() {
        0 | 1 => 0,
        n => lengths.buckets[n - 2].2,
    };
    (full >= 2 * below).then_some(lengths.max)
}

// --- whole-collection patterns -------------------------------------------------------------------

/// Whether documents come from a native time series collection.
pub fn is_time_series(collection: &Collection) -> bool {
    collection.kind == CollectionKind::TimeSeries
        || collection.namespace.collection.starts_with("system.buckets.")
}

/// Whether the documents are the server's own buckets of a time series, whose structure users do not choose.
pub fn holds_server_buckets(collection: &Collection) -> bool {
    let has = |name: &str| {
        collection
            .profile
            .as_ref()
            .and_then(|p| p.field(name))
            .is_some_and(|f| f.parent.is_none() && f.types.of(BsonType::Object) > 0)
    };
    collection.namespace.collection.starts_with("system.buckets.")
        || (collection.kind == CollectionKind::TimeSeries && has("control") && has("data"))
}

/// The profile of documents whose structure users choose; `None` if there is none.
pub fn user_documents(collection: &Collection) -> Option<&Profile> {
    collection.profile.as_ref().filter(|p| {
        !holds_server_buckets(collection) && !crate::facts::deployment::server::holds_server_rows(p)
    })
}

/// Whether it is part of a GridFS bucket.
pub fn is_gridfs(collection: &Collection) -> bool {
    matches!(collection.kind, CollectionKind::GridFsFiles | CollectionKind::GridFsChunks)
}

/// The nouns of the collections of each database, to search by the end of a noun.
#[derive(Debug)]
pub struct Entities {
    /// The number of collections for each pair of a database and a noun spelt backwards.
    backwards: BTreeMap<(String, String), usize>,
}

impl Entities {
    /// Collects the nouns of all collections.
    pub fn of(evidence: &Evidence) -> Self {
        let mut backwards = BTreeMap::new();
        for collection in &evidence.collections {
            *backwards.entry(Self::key(&collection.namespace)).or_default() += 1;
        }
        Self { backwards }
    }

    fn key(Namespace { database, collection }: &Namespace) -> (String, String) {
        let noun = crate::facts::remedies::proposals::entity(collection).concat();
        (database.clone(), noun.chars().rev().collect())
    }

    /// Whether another collection of the same database has this noun.
    fn know(&self, namespace: &Namespace, noun: &str) -> bool {
        let own = Self::key(namespace);
        let is_other = |key: &(String, String), count: usize| count > usize::from(*key == own);
        let backwards: String = noun.chars().rev().collect();
        let ends_of_it = backwards.char_indices().map(|(at, c)| &backwards[..at + c.len_utf8()]);
        let mut shorter = ends_of_it.map(|end| (namespace.database.clone(), end.to_owned()));
        let from = (namespace.database.clone(), backwards.clone());
        let mut longer = self.backwards.range(from..).take_while(|((database, name), _)| {
            *database == namespace.database && name.starts_with(&backwards)
        });
        !noun.is_empty()
            && (shorter.any(|key| self.backwards.get(&key).is_some_and(|&n| is_other(&key, n)))
                || longer.any(|(key, &count)| is_other(key, count)))
    }
}

/// Stored results of counting, summing or averaging (PT-computed.1).
///
/// These are counters whose noun is an array here or a collection of the same database, and averages next to a counter.
/// Objects such as `computed`, `stats` or `summary` that are full of numbers also count.
pub fn computed_fields<'a>(
    entities: &Entities,
    namespace: &Namespace,
    profile: &'a Profile,
) -> Vec<&'a FieldPath> {
    let arrays: Vec<String> =
        profile.top_level().filter(|f| is_array(f)).map(|f| array_noun(&f.name)).collect();
    let known =
        |what: &str| entities.know(namespace, what) || arrays.iter().any(|a| same_noun(a, what));
    let counters: Vec<String> =
        profile.top_level().filter(|f| is_numeric(f)).filter_map(|f| counted(&f.name)).collect();
    let mut found = Vec::new();
    for field in profile.top_level() {
        let all = names::words(&field.name);
        let first = all.first().map_or("", String::as_str);
        let object = field.types.of(BsonType::Object) > 0
            && matches!(
                field.name.as_str(),
                "computed" | "stats" | "statistics" | "summary" | "aggregates" | "totals"
            );
        let numbers = || profile.children(field).filter(|c| is_numeric(c)).count();
        // `avgRating` next to `ratingCount`, or next to the count of something that is stored.
        let average = matches!(first, "avg" | "average" | "mean") && is_numeric(field) && {
            let noun = all[1..].concat();
            counters.iter().any(|what| same_noun(what, &noun) || (!what.is_empty() && known(what)))
        };
        let counter = is_numeric(field) && counted(&field.name).is_some_and(|what| known(&what));
        if (object && numbers() >= 2) || average || counter {
            found.push(&field.path);
        }
    }
    found
}

/// A reference with copied fields next to it (PT-extref.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExtendedReference<'a> {
    /// The field with the id.
    pub reference: &'a FieldPath,
    /// The collection referred to.
    pub to: &'a Namespace,
    /// The copies.
    pub copies: Vec<&'a FieldPath>,
}

/// References of a collection that carry copies of the target's fields.
pub fn extended_references<'a>(
    evidence: &'a Evidence,
    namespace: &Namespace,
) -> Vec<ExtendedReference<'a>> {
    let mut found: Vec<ExtendedReference<'a>> = Vec::new();
    for copy in evidence.copies.iter().filter(|c| c.by_value && c.from == *namespace) {
        match found.iter_mut().find(|e| *e.reference == copy.reference && *e.to == copy.to) {
            Some(known) => known.copies.push(&copy.path),
            None => found.push(ExtendedReference {
                reference: &copy.reference,
                to: &copy.to,
                copies: vec![&copy.path],
            }),
        }
    }
    for one in &mut found {
        one.copies.sort();
        one.copies.dedup();
    }
    found.sort_by_key(|e| (e.reference, e.to));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lengths(runs: &[(u64, u64)]) -> Distribution {
        let mut d =
            Distribution { min: runs[0].0, max: runs[runs.len() - 1].0, ..Distribution::default() };
        for &(value, n) in runs {
            d.count += n;
            d.sum += value * n;
            d.buckets.push((value, value, n));
        }
        d
    }

    #[test]
    fn pt_slice_1_lengths_pile_up_at_the_cap() {
        assert_eq!(capped_at(&lengths(&[(1, 10), (4, 12), (9, 8), (10, 60)])), Some(10));
        assert_eq!(capped_at(&lengths(&[(98, 3), (100, 40)])), Some(100));
        // A smooth tail that ends at a round number by chance, and an accumulation at an odd one.
        assert_eq!(capped_at(&lengths(&[(1, 50), (2, 30), (3, 20), (4, 10), (5, 8)])), None);
        assert_eq!(capped_at(&lengths(&[(1, 10), (17, 60)])), None);
        // Four documents are no accumulation.
        assert_eq!(capped_at(&lengths(&[(10, 4)])), None);
    }

    #[test]
    fn counters_name_what_they_count() {
        for (name, expect) in [
            ("count", Some("")),
            ("reviewCount", Some("review")),
            ("review_count", Some("review")),
            ("num_reviews", Some("review")),
            ("totalOrders", Some("order")),
            ("n", Some("")),
            ("country", None),
            ("numeric", None),
            ("totalAmount", None),
            ("number", Some("")),
        ] {
            assert_eq!(counted(name).as_deref(), expect, "{name}");
        }
    }

    fn map(entries: &[(&str, Value)]) -> Value {
        Value::Map(entries.iter().map(|(k, v)| ((*k).to_owned(), v.clone())).collect())
    }

    #[test]
    fn ck_4_caps_are_found_in_validators() {
        let tags = map(&[("bsonType", Value::Text("array".into())), ("maxItems", Value::Int(50))]);
        let rooms = map(&[("items", map(&[("properties", map(&[("messages", tags.clone())]))]))]);
        let schema = map(&[("properties", map(&[("tags", tags), ("rooms", rooms)]))]);
        assert_eq!(schema_cap(Some(&schema), &FieldPath::new("tags")), Some(50));
        assert_eq!(schema_cap(Some(&schema), &FieldPath::new("rooms[].messages")), Some(50));
        assert_eq!(schema_cap(Some(&schema), &FieldPath::new("rooms")), None);
        let exists = map(&[("tags.100", map(&[("$exists", Value::Bool(false))]))]);
        assert_eq!(query_cap(&exists, &FieldPath::new("tags")), Some(100));
        let size = map(&[("$size", Value::Text("$tags".into()))]);
        let lt = map(&[("$lt", Value::List(vec![size, Value::Int(100)]))]);
        let both = map(&[("$and", Value::List(vec![map(&[("$expr", lt)])]))]);
        assert_eq!(query_cap(&both, &FieldPath::new("tags")), Some(99));
        assert_eq!(query_cap(&both, &FieldPath::new("posts")), None);
    }
}
