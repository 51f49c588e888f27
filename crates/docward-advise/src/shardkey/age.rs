//! Determines the newest of the sampled documents, and their effect on a key (SK-3).

use std::collections::BTreeSet;

use docward_model::{
    BsonType, Field, KeyCheck, KeySpread, Profile, SampledDocument, SampledValue, Verdict,
};

use super::{Judge, is_plain, places};
use docward_rules::facts::{
    text,
    thresholds::t008,
    values::{ids, monotonic},
};

/// The sort key of documents, from the oldest to the newest.
pub(super) type Age = (i64, u64);

/// With fewer distinct times, documents were loaded at once, and their times mean nothing.
const LEAST_TIMES: usize = 20;

/// The source of the age of documents.
#[derive(Clone, Copy, Debug)]
pub(super) enum Clock<'a> {
    /// A field: ids that begin with their time, or the creation time.
    Field(u32, BsonType, &'a Field),
    /// The storage order.
    Position,
    /// The documents came in another order and have no such field.
    Nothing,
}

impl<'a> Clock<'a> {
    /// Selects the best source. A time in the document is better than its position, because exports
    /// may be sorted by anything. Of two times, `_id` is the better one. The exception is if all
    /// ids were created in a small part of the period in which documents were created: they were
    /// then loaded, in any order.
    pub(super) fn of(profile: &'a Profile) -> Self {
        let is_id = |f: &Field| f.path.as_str() == "_id" && monotonic::is_timed_id(f);
        let is_birth = |f: &Field| {
            monotonic::by_type(f).is_some() && f.path.as_str() != "_id" && is_plain(profile, f)
        };
        let first = |test: &dyn Fn(&Field) -> bool| {
            let mut fields = profile.fields.iter().enumerate().filter(|(_, f)| test(f));
            fields.find_map(|(at, field)| Self::telling(profile, at as u32, field))
        };
        match (first(&is_id), first(&is_birth)) {
            (Some((_, Some(ids))), Some((birth, Some(births)))) if ids < births / 10 => birth,
            (Some((clock, _)), _) | (None, Some((clock, _))) => clock,
            (None, None) if profile.shuffled || is_sorted_by_chance(profile) => Self::Nothing,
            (None, None) => Self::Position,
        }
    }

    /// A field as a source, if nearly all documents have it and its values differ; with the
    /// milliseconds between the oldest and the newest, if it contains times.
    fn telling(profile: &Profile, at: u32, field: &'a Field) -> Option<(Self, Option<i64>)> {
        let kind = main_kind(profile, at)?;
        let clock = Self::Field(at, kind, field);
        let mut ages: Vec<Age> = profile.sample.iter().filter_map(|d| clock.age(d)).collect();
        ages.sort_unstable();
        let span = ages.last()?.0.saturating_sub(ages.first()?.0);
        let span = match kind {
            BsonType::ObjectId => Some(span.saturating_mul(1000)),
            BsonType::Date => Some(span),
            _ => None,
        };
        // Positions distinguish documents of one second, but must not count as times.
        let times: BTreeSet<Age> = match kind {
            BsonType::String | BsonType::BinData => ages.iter().copied().collect(),
            _ => ages.iter().map(|age| (age.0, 0)).collect(),
        };
        let tells = ages.len() * 20 >= profile.sample.len() * 19 && times.len() >= LEAST_TIMES;
        tells.then_some((clock, span))
    }

    pub(super) fn age(&self, document: &SampledDocument) -> Option<Age> {
        match *self {
            Self::Field(field, kind, _) => {
                let of = |v: &&SampledValue| v.field == field && v.kind == kind;
                let value = document.values.iter().find(of)?;
                Some(match kind {
                    BsonType::String | BsonType::BinData => (value.order, value.rest),
                    _ => (value.order, document.position),
                })
            }
            Self::Position => Some((document.position as i64, 0)),
            Self::Nothing => None,
        }
    }

    /// The meaning of `newest`, for messages.
    fn words(&self) -> String {
        match self {
            Self::Field(_, _, field) => format!("newest documents by `{}`", field.path.as_str()),
            Self::Position => "last documents in storage order".to_owned(),
            Self::Nothing => "newest documents".to_owned(),
        }
    }
}

/// Returns whether documents are in the order of random ids: an export sorted by `_id`.
fn is_sorted_by_chance(profile: &Profile) -> bool {
    ids::judge(profile, t008::RISING.default_number(), t008::MIN_PAIRS.default_number() as u64)
        .is_some_and(|id| {
            matches!(id.kind, ids::IdKind::RandomUuidText | ids::IdKind::RandomUuidBinary)
                && matches!(id.order, ids::Order::Rising | ids::Order::Falling)
        })
}

/// The type of most sampled values of a field.
fn main_kind(profile: &Profile, field: u32) -> Option<BsonType> {
    let values = profile.sample.iter().flat_map(|d| &d.values).filter(|v| v.field == field);
    let mut kinds: Vec<BsonType> = values.map(|v| v.kind).collect();
    kinds.sort_unstable_by_key(|kind| *kind as u8);
    let main = kinds.chunk_by(|a, b| a == b).max_by_key(|same| same.len())?;
    main.first().copied()
}

impl Judge<'_> {
    /// Returns whether the values of a field increase with time.
    pub(super) fn rises(&self, path: &str) -> bool {
        let Some((_, field)) = self.field(path) else { return false };
        if monotonic::by_type(field).is_some() {
            return true;
        }
        let key = [(path.to_owned(), false)];
        let (placed, blurred) = self.places(&key);
        let hot = || places::newest(&placed, self.chunks()).is_some_and(|newest| newest.is_hot());
        match self.clock {
            Clock::Field(..) => !blurred && hot(),
            Clock::Position => {
                self.by_order(field).is_some()
                    || (!blurred && monotonic::is_counter(field) && hot())
            }
            Clock::Nothing => monotonic::is_made_in_order(field),
        }
    }

    fn by_order(&self, field: &Field) -> Option<String> {
        monotonic::by_order(self.profile, field, self.limits.correlation, self.limits.rising_ids)
    }

    /// SK-3.
    pub(super) fn monotonic(&self, key: &[(String, bool)], spread: &KeySpread) -> KeyCheck {
        let (verdict, evidence) = self.hot_end(key, spread);
        KeyCheck { clause: "SK-3", verdict, evidence }
    }

    fn hot_end(&self, key: &[(String, bool)], spread: &KeySpread) -> (Verdict, String) {
        let Some((first, hashed)) = key.first() else {
            return (Verdict::Unknown, "the key has no field".to_owned());
        };
        let field = self.field(first).map(|(_, field)| field);
        if let (false, Some(reason)) = (*hashed, field.and_then(monotonic::by_type)) {
            return (
                Verdict::Fail,
                format!(
                    "`{first}` increases monotonically: {reason}, so every insert goes to the \
                 last chunk"
                ),
            );
        }
        if let Some(found) = self.coarse_before_rising(key) {
            return found;
        }
        if *hashed {
            let evidence = "hashed, so a monotonically increasing field does not matter";
            return (Verdict::Pass, evidence.to_owned());
        }
        let Some(field) = field else {
            return (Verdict::Unknown, "no document has its first field".to_owned());
        };
        match (self.clock, spread.newest_share) {
            (_, Some(share)) => self.measured(field, share, spread.hot_end),
            (_, None) if monotonic::is_made_in_order(field) => (
                Verdict::Fail,
                format!(
                    "`{first}` is unique and begins with the time of the document, so inserts go \
                     to the last chunk"
                ),
            ),
            (Clock::Nothing, None) if monotonic::is_random(field) => {
                (Verdict::Pass, "random UUIDs have no order".to_owned())
            }
            (Clock::Nothing, None) => {
                let came = if self.profile.shuffled {
                    "documents were not read in storage order"
                } else {
                    "documents are stored in the order of their random ids"
                };
                let evidence = format!(
                    "{came}, and no field shows their age, so it is unknown whether `{first}` \
                     increases monotonically"
                );
                (Verdict::Unknown, evidence)
            }
            (Clock::Position, None) => match self.by_order(field) {
                Some(reason) => (
                    Verdict::Fail,
                    format!(
                        "`{first}` increases monotonically: \
                 {reason}"
                    ),
                ),
                None => (Verdict::Unknown, self.why_no_order(key)),
            },
            (Clock::Field(..), None) => (Verdict::Unknown, self.why_no_order(key)),
        }
    }

    fn why_no_order(&self, key: &[(String, bool)]) -> String {
        let (_, blurred) = self.places(key);
        if blurred {
            "its values have too long a common prefix to compare their order".to_owned()
        } else {
            "there are too few documents to see an order".to_owned()
        }
    }

    /// A verdict based on the chunks of the newest documents.
    fn measured(&self, first: &Field, share: f64, hot: bool) -> (Verdict, String) {
        let newest = self.clock.words();
        let goes = format!(
            "{} of the {newest} go to one of {} chunks",
            text::percent(share),
            self.chunks()
        );
        if !hot {
            if matches!(self.clock, Clock::Position)
                && let Some(doubt) = self.doubt_of_positions(first)
            {
                return doubt;
            }
            // One frequent value may fill that chunk, with old and new documents alike: SK-2
            // reports that.
            let skewed = if share >= 0.3 {
                ", like the older ones, so the key does not increase \
                 monotonically (see SK-2)"
            } else {
                ""
            };
            return (Verdict::Pass, format!("{goes}{skewed}"));
        }
        let follows = first.natural_order.is_some_and(|r| r.abs() >= self.limits.correlation);
        if matches!(self.clock, Clock::Position) && follows && !monotonic::is_counter(first) {
            return (
                Verdict::Unknown,
                format!(
                    "documents are stored in the order of `{}`: they were sorted by it, or it \
                     increases monotonically; no field shows their age",
                    first.path.as_str()
                ),
            );
        }
        (Verdict::Fail, goes)
    }

    /// The reason why positions in storage order do not prove that values are not monotonic, if
    /// there is one. A secondary stores documents in runs, and keeps this order when it becomes
    /// primary. Consecutive numbers may therefore have been assigned in order wherever they are
    /// stored.
    fn doubt_of_positions(&self, first: &Field) -> Option<(Verdict, String)> {
        let path = first.path.as_str();
        if monotonic::is_random(first) {
            return Some((Verdict::Pass, "random UUIDs have no order".to_owned()));
        }
        if self.profile.copied {
            let evidence = format!(
                "documents may come from a secondary, which does not store them in insertion \
                 order, and no field shows their age, so it is unknown whether `{path}` increases \
                 monotonically; read from the primary (readPreference=primary)"
            );
            return Some((Verdict::Unknown, evidence));
        }
        monotonic::has_no_gaps(first, self.documents()).then(|| {
            let evidence = format!(
                "the numbers in `{path}` are unique and almost without gaps, like a counter, but \
                 documents are not stored in their order, and no field shows their age"
            );
            (Verdict::Unknown, evidence)
        })
    }

    /// Checks for a coarse prefix before an increasing field. New documents go to the end of each
    /// group of equal prefixes. With few distinct prefixes, they go to few chunks (SK-10 asks for
    /// many).
    fn coarse_before_rising(&self, key: &[(String, bool)]) -> Option<(Verdict, String)> {
        let rises = |path: &str| self.rising.get(path).copied().unwrap_or_default();
        let at = key.iter().skip(1).position(|(path, hashed)| !hashed && rises(path))? + 1;
        let before = &key[..at];
        // One value per document: each forms its own group.
        if self.is_unique(before) {
            return None;
        }
        let (ends, _) = self.values(before, &self.places(before).0);
        if ends >= self.chunks() as f64 {
            return None;
        }
        let names: Vec<&str> = before.iter().map(|(path, _)| path.as_str()).collect();
        let ends = ends.round() as u64;
        let evidence = format!(
            "`{}` increases monotonically, and before it {} {} only {}: inserts go to the ends of \
             {}",
            key[at].0,
            text::list(&names, 3),
            text::form(names.len() as u64, "has", "have"),
            text::plural(ends, "value"),
            text::form(ends, "one range", "a few ranges")
        );
        Some((Verdict::Fail, evidence))
    }
}
