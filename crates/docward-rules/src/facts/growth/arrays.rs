//! The content of an array, whether it grows without bound (ALG-6), and which rule reports it: one
//! array has one finding.

use crate::facts::thresholds::{d003, d008, r008, r011};
use docward_model::{
    BsonType, Collection, Distribution, Evidence, Field, FieldShape, Growth, Namespace, Observed,
    Profile, Reference, Seen, Settings, TextClass,
};

use crate::facts::growth::forecast::{self, Credible};
use crate::facts::growth::patterns::{self, Bound};
use crate::facts::{
    growth::series,
    names::{self, meaning},
    values::sizes,
};

/// A distribution with this ratio between its end and its middle has a long tail.
pub const TAIL: u64 = 10;
/// An array that grew by one element may not grow further: one more address is no trend.
pub const ONE_MORE: f64 = 1.0;
/// Below this length, a long tail is still a short list.
const TAIL_FLOOR: u64 = 100;
const DAY_MS: f64 = 86_400_000.0;

/// The thresholds for arrays. Several rules must agree on which of them reports an array. All of them therefore read
/// the settings of D008 (and the share of D003) here.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The number of elements that an array should stay below.
    pub elements: u64,
    /// The minimum evidence for growth.
    pub credible: Credible,
    /// The maximum number of days that forecasts extend into the future.
    pub horizon_days: f64,
    /// A document larger than this is oversized.
    pub oversized: u64,
    /// The minimum share of an oversized document that one array must take.
    pub owned_share: f64,
    /// The minimum ratio of an outlier to the 99th percentile.
    pub outlier_ratio: f64,
    /// The minimum number of elements of an outlier.
    pub outlier_elements: u64,
    /// R011: the number of elements from which one of two arrays for one relation is too long.
    pub wide: u64,
}

impl Limits {
    /// Returns the limits as configured for a namespace.
    pub fn of(settings: &Settings, namespace: &Namespace) -> Self {
        let d008 = |threshold| d008::limit(settings, namespace, threshold);
        let d003 = |threshold| d003::limit(settings, namespace, threshold);
        let r008 = |threshold| r008::limit(settings, namespace, threshold);
        Self {
            elements: d008(&d008::MAX_ELEMENTS) as u64,
            credible: Credible {
                correlation: d008(&d008::MIN_CORRELATION),
                rows: d008(&d008::MIN_DOCUMENTS) as u64,
                days: d008(&d008::MIN_DAYS),
            },
            horizon_days: d008(&d008::HORIZON) * 365.25,
            oversized: d003(&d003::MAX_BYTES) as u64,
            owned_share: d003(&d003::MIN_SHARE),
            outlier_ratio: r008(&r008::MIN_RATIO),
            outlier_elements: r008(&r008::MIN_ELEMENTS) as u64,
            wide: r011::limit(settings, namespace, &r011::MAX_ELEMENTS) as u64,
        }
    }
}

/// The kind of an array's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Elements {
    /// Ids of other documents.
    Ids,
    /// Small records with a time and numbers: readings, samples, ticks.
    Series,
    /// Records with a time: messages, comments, log lines.
    Dated,
    /// Records without a time.
    Objects,
    /// Plain values.
    Scalars,
    /// Arrays.
    Arrays,
}

/// The child of an array's elements that contains their time: a date, or a number or text with such a name.
pub fn time_child<'a>(profile: &'a Profile, array: &'a Field) -> Option<&'a Field> {
    let element = profile.element(array)?;
    let often = |f: &&Field| f.shape == FieldShape::Named && f.presence() >= 0.9;
    let is_date = |f: &Field| f.types.of(BsonType::Date) * 10 >= f.types.non_null() * 9;
    let named = |f: &Field| {
        meaning::is_time(&f.name)
            || matches!(
                f.name.as_str(),
                "ts" | "t" | "time" | "when" | "at" | "minute" | "second" | "offset"
            )
    };
    let whole = |f: &Field| {
        f.types.non_null() > 0
            && (patterns::is_numeric(f)
                || f.text
                    .as_ref()
                    .is_some_and(|t| t.count(TextClass::is_date) * 10 >= t.total() * 9))
    };
    profile
        .children(element)
        .filter(often)
        .find(|f| f.types.of(BsonType::Date) > 0 && is_date(f))
        .or_else(|| profile.children(element).filter(often).find(|f| named(f) && whole(f)))
}

/// Returns the kind of an array's elements.
pub fn elements(
    evidence: &Evidence,
    collection: &Collection,
    profile: &Profile,
    array: &Field,
) -> Elements {
    let Some(element) = profile.element(array) else { return Elements::Scalars };
    if holds_ids(evidence, collection, element) {
        return Elements::Ids;
    }
    match element.types.dominant() {
        Some(BsonType::Array) => Elements::Arrays,
        Some(BsonType::Object) => {
            let named = || profile.children(element).filter(|f| f.presence() >= 0.5);
            let Some(time) = time_child(profile, array) else { return Elements::Objects };
            let numbers = named()
                .filter(|f| {
                    // Amounts are not a series: orders and payments are entities.
                    patterns::is_numeric(f)
                        && f.path != time.path
                        && series::names_a_measure(&f.name)
                        && !meaning::is_money(&f.name)
                })
                .count();
            let texts =
                named().filter(|f| f.types.of(BsonType::String) > 0 && f.path != time.path).count();
            if numbers > 0 && numbers >= texts { Elements::Series } else { Elements::Dated }
        }
        _ => Elements::Scalars,
    }
}

/// Whether the elements are ids: ObjectIds, UUIDs, values that are another collection's `_id`, or numbers in an array
/// with a name for ids.
fn holds_ids(evidence: &Evidence, collection: &Collection, element: &Field) -> bool {
    let values = element.types.non_null();
    if values == 0 {
        return false;
    }
    let nearly_all = |n: u64| n * 100 >= values * 99;
    let binary = || {
        element.blob.as_ref().is_some_and(|b| {
            nearly_all(b.subtypes.iter().filter(|(s, _)| matches!(s, 3 | 4)).map(|(_, n)| n).sum())
        })
    };
    let text = || {
        element.text.as_ref().is_some_and(|t| {
            nearly_all(t.count(|c| {
                matches!(
                    c,
                    TextClass::ObjectIdHex
                        | TextClass::Uuid
                        | TextClass::UuidV4
                        | TextClass::UuidV7
                        | TextClass::Ulid
                )
            }))
        })
    };
    let named = || {
        matches!(names::words(element.path.leaf()).last().map(String::as_str), Some("id" | "ids"))
            && nearly_all(
                element.types.of(BsonType::Int)
                    + element.types.of(BsonType::Long)
                    + element.types.of(BsonType::String),
            )
    };
    nearly_all(element.types.of(BsonType::ObjectId))
        || binary()
        || text()
        || named()
        || evidence
            .references
            .iter()
            .any(|r| r.from == collection.namespace && r.path == element.path)
}

/// The certainty that an array grows without bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// One signal.
    Possible,
    /// Two independent signals.
    Likely,
    /// It grows with age, is already long, and its elements were added over days.
    Certain,
}

impl Verdict {
    /// The word in findings.
    pub fn name(self) -> &'static str {
        match self {
            Self::Possible => "possible",
            Self::Likely => "likely",
            Self::Certain => "certain",
        }
    }
}

/// An array that grows without bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unbounded {
    /// The certainty of the growth.
    pub verdict: Verdict,
    /// Growth with the age of the document, if it is one of the signals.
    pub growth: Option<Growth>,
    /// Growth of the same documents between two dates, if it is one of the signals.
    pub observed: Option<Observed>,
    /// Whether its elements carry dates that lie days apart.
    pub dated: bool,
    /// Whether a few arrays are far longer than the others.
    pub long_tail: bool,
}

/// Nouns of things that occur repeatedly (DM-08.2 and similar clauses).
const EVER_NEW: &[&str] = &[
    "comment",
    "follower",
    "event",
    "message",
    "log",
    "login",
    "audit",
    "history",
    "reading",
    "sample",
    "measurement",
    "order",
    "post",
    "notification",
    "view",
    "click",
    "visit",
    "transaction",
    "activity",
    "like",
    "review",
    "payment",
    "session",
    "purchase",
    "tick",
];

/// Weighs the signals of ALG-6 that documents can show. Returns `None` if the array has a bound or the signals are
/// too weak.
pub fn unbounded(
    settings: &Settings,
    collection: &Collection,
    profile: &Profile,
    field: &Field,
    limits: &Limits,
) -> Option<Unbounded> {
    let array = field.array.as_ref()?;
    let lengths = &array.lengths;
    if patterns::bound(settings, collection, profile, field).is_some() {
        return None;
    }
    let growth = array.growth.filter(|g| limits.credible.holds(g));
    let observed = array.observed.filter(|seen| limits.credible.is_seen(seen));
    let large = lengths.max >= limits.elements;
    let long_tail = lengths.max >= TAIL_FLOOR && lengths.max >= TAIL * lengths.p50().max(1);
    let dated = time_child(profile, field)
        .and_then(|f| f.dates)
        .is_some_and(|(from, to)| to.saturating_sub(from) as f64 >= limits.credible.days * DAY_MS);
    let measured = array
        .growth
        .is_some_and(|g| g.rows >= limits.credible.rows && g.days >= limits.credible.days);
    let seen_long = observed.as_ref().is_some_and(|seen| {
        let elements = limits.elements as f64;
        forecast::first_reach(seen, elements, ONE_MORE, limits.horizon_days).is_some()
    });
    let verdict = match growth {
        // Observed growth needs no inference from ages.
        _ if observed.is_some() && large && (dated || growth.is_some()) => Verdict::Certain,
        _ if observed.is_some() && large => Verdict::Likely,
        _ if seen_long && long_tail => Verdict::Likely,
        _ if seen_long => Verdict::Possible,
        Some(_) if large && dated => Verdict::Certain,
        Some(_) if large => Verdict::Likely,
        // The array is still short: the question is whether it becomes long within the horizon.
        Some(g) => {
            let rate = longest_rate(profile, field, Some(&g))?;
            forecast::reach(
                lengths.max as f64,
                limits.elements as f64,
                rate,
                g.newest_ms,
                limits.horizon_days,
            )?;
            if long_tail { Verdict::Likely } else { Verdict::Possible }
        }
        // Documents of known age do not show growth: the array is long for another reason.
        None if measured || !large => return None,
        // The ages are unknown. Two signals remain: a long list of recurring events, and dates in it that are days
        // apart.
        None => match (keeps_coming(field), dated) {
            (true, true) => Verdict::Likely,
            (true, false) | (false, true) => Verdict::Possible,
            (false, false) => return None,
        },
    };
    Some(Unbounded { verdict, growth, observed, dated, long_tail })
}

/// Whether the name denotes things that are added continuously: messages, readings, log lines.
pub fn keeps_coming(field: &Field) -> bool {
    names_what_keeps_coming(field.path.leaf())
}

/// Whether a name alone denotes things that are added continuously; also for a collection.
pub fn names_what_keeps_coming(name: &str) -> bool {
    names::words(name).last().is_some_and(|w| EVER_NEW.contains(&meaning::singular(w).as_str()))
}

/// The number of elements a day that the longest array gains. If its document is among the largest, this is its length
/// divided by its age. Otherwise it is the common rate, but at least the length divided by the whole span.
pub fn longest_rate(profile: &Profile, field: &Field, growth: Option<&Growth>) -> Option<f64> {
    let max = field.array.as_ref()?.lengths.max as f64;
    let known = profile
        .largest
        .iter()
        .filter(|d| {
            d.owner == field.path.as_str() && d.owner_elements.is_some_and(|n| n as f64 == max)
        })
        .find_map(|d| d.age_days.filter(|&days| days >= 1.0));
    match (known, growth) {
        (Some(days), _) => Some(max / days),
        (None, Some(g)) => Some(g.per_day.max(max / g.days.max(1.0))),
        (None, None) => None,
    }
}

/// Whether a few arrays are far longer than the rest, which have a normal length (PT-outlier.1).
pub fn has_outliers(lengths: &Distribution, limits: &Limits) -> bool {
    let p99 = lengths.p99();
    lengths.max >= limits.outlier_elements
        && lengths.max as f64 >= limits.outlier_ratio * p99.max(1) as f64
}

/// Whether an array makes documents oversized: in most of the largest documents, it takes more than its share.
pub fn dominates(profile: &Profile, field: &Field, limits: &Limits) -> bool {
    let Some(array) = &field.array else { return false };
    let oversized: Vec<_> = profile.largest.iter().filter(|d| d.bytes > limits.oversized).collect();
    let path = field.path.as_str();
    let owned = oversized
        .iter()
        .filter(|d| {
            if d.owner == path {
                d.owner_elements.is_some()
                    && d.owner_bytes as f64 > limits.owned_share * d.bytes as f64
            } else {
                // An array inside the object that takes the bytes: its own share is known only for the longest one.
                field.parent.is_some()
                    && path.strip_prefix(d.owner.as_str()).is_some_and(|rest| rest.starts_with('.'))
                    && !path.contains("[]")
                    && array.bytes.max as f64 > limits.owned_share * d.bytes as f64
            }
        })
        .count();
    owned > 0 && owned * 2 > oversized.len()
}

/// The rule that reports an array.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Owner {
    /// D008: it grows without bound.
    Unbounded(Unbounded),
    /// R006: it contains ids and grows or is too long.
    Ids(Option<Unbounded>),
    /// R011: it is too long, does not grow, and its targets also list this side.
    ManyToMany,
    /// R008: a few are far longer than the rest.
    Outliers,
    /// D003: it makes documents oversized.
    Dominates,
    /// D009: it is long.
    Large,
}

/// The reference in this array, and the one in an array of the other side that points back (ER-T.6).
pub fn both_ways<'a>(
    evidence: &'a Evidence,
    namespace: &Namespace,
    profile: &Profile,
    array: &Field,
) -> Option<(&'a Reference, &'a Reference)> {
    let holds = |r: &Reference| {
        let field = profile.field(r.path.as_str());
        r.path.in_array()
            && field
                .and_then(|f| crate::facts::values::classes::enclosing_array(profile, f))
                .is_some_and(|f| f.path == array.path)
    };
    let from_here = |r: &&Reference| r.from == *namespace && r.to != *namespace && holds(r);
    evidence.references.iter().filter(from_here).find_map(|here| {
        let back = |r: &&Reference| r.from == here.to && r.to == here.from && r.path.in_array();
        Some((here, evidence.references.iter().find(back)?))
    })
}

/// Returns the rule that reports an array, if any.
pub fn owner(
    settings: &Settings,
    evidence: &Evidence,
    collection: &Collection,
    profile: &Profile,
    field: &Field,
    limits: &Limits,
) -> Option<Owner> {
    let array = field.array.as_ref()?;
    let large = array.lengths.max >= limits.elements;
    let bound = patterns::bound(settings, collection, profile, field);
    let unbounded = unbounded(settings, collection, profile, field, limits);
    // Equal lengths alone do not show a decision to store the relation twice.
    if array.lengths.max >= limits.wide
        && !bound.as_ref().is_some_and(Bound::is_by_design)
        && unbounded.is_none_or(|u| u.verdict <= Verdict::Possible)
        && both_ways(evidence, &collection.namespace, profile, field).is_some()
    {
        return Some(Owner::ManyToMany);
    }
    match bound {
        Some(Bound::Geometry | Bound::Vector(_)) => return None,
        Some(_) => return large.then_some(Owner::Large),
        None => {}
    }
    let grows = unbounded.is_some_and(|u| u.growth.is_some() || u.observed.is_some());
    if !grows && has_outliers(&array.lengths, limits) {
        return Some(Owner::Outliers);
    }
    if elements(evidence, collection, profile, field) == Elements::Ids {
        return (unbounded.is_some() || large).then_some(Owner::Ids(unbounded));
    }
    if let Some(unbounded) = unbounded {
        return Some(Owner::Unbounded(unbounded));
    }
    if dominates(profile, field, limits) {
        return Some(Owner::Dominates);
    }
    let declared = settings.array_cap(&collection.namespace, field.path.as_str());
    (large || declared.is_some_and(|cap| array.lengths.max > cap)).then_some(Owner::Large)
}

/// Returns the documents behind a statement about an array that is or becomes long: those with a long array, or all
/// documents with the array if none is long yet.
pub fn seen(profile: &Profile, field: &Field, limits: &Limits) -> Seen {
    let lengths = field.array.as_ref().map(|array| &array.lengths);
    let showing = lengths.map_or(0, |lengths| match lengths.at_least(limits.elements) {
        0 => lengths.count,
        long => long,
    });
    profile.seen_in(field, showing)
}

/// Bytes of one value in an array, on average.
pub fn value_bytes(field: &Field) -> u64 {
    field
        .array
        .as_ref()
        .map_or(0, |a| sizes::value_bytes(a.lengths.count, a.lengths.sum, a.bytes.sum))
}

/// Returns how many elements of the observed size fit into one document, if the rest of the document has its mean
/// size.
pub fn capacity(profile: &Profile, field: &Field, limit: u64) -> u64 {
    let array = field.array.as_ref().map_or(0, |a| a.bytes.mean() as u64);
    let rest = (profile.sizes.mean() as u64).saturating_sub(array);
    sizes::array_capacity(limit.saturating_sub(rest), value_bytes(field).max(1))
}
