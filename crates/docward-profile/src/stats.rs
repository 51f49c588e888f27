//! What is kept per place in the documents. Everything here merges exactly.

use docward_model::{BlobKind, BsonType, TextClass};

use crate::{histogram::Histogram, sketch::Sketch};

/// Values of a field are remembered one by one while there are at most this many.
pub(crate) const ENUMERATION: usize = 64;
/// Longer values are no enumeration.
pub(crate) const ENUMERATION_BYTES: usize = 64;
/// Examples kept per field for `--show-values`.
const EXAMPLES: usize = 3;
/// Distinct spellings compared per id-like field.
const CASE_GROUPS: usize = 512;

/// Statistics of one place.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Stats {
    /// Bytes of all values.
    pub(crate) bytes: u64,
    /// Strings.
    pub(crate) text: Option<Box<Text>>,
    /// Distinct scalars with counts.
    pub(crate) sketch: Sketch,
    /// Values by type, indexed by [`BsonType`].
    pub(crate) types: [u64; BsonType::COUNT],
    /// Range of int and long values.
    pub(crate) ints: Option<(i64, i64)>,
    /// Range of dates.
    pub(crate) dates: Option<(i64, i64)>,
    /// Doubles.
    pub(crate) doubles: Option<Box<Doubles>>,
    /// Arrays.
    pub(crate) arrays: Option<Box<Arrays>>,
    /// Binaries and encoded files.
    pub(crate) blobs: Option<Box<Blobs>>,
    /// The values themselves, while few; `None` once there were too many.
    pub(crate) values: Option<Vec<(u64, String)>>,
    /// The values with the smallest hashes.
    pub(crate) examples: Vec<(u64, String)>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Doubles {
    pub(crate) min: f64,
    pub(crate) max: f64,
    pub(crate) integral: u64,
    pub(crate) fractional: u64,
    pub(crate) not_finite: u64,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Text {
    pub(crate) classes: [u64; TextClass::COUNT],
    pub(crate) lengths: Histogram,
    /// Spellings by lower-case hash; id-like fields only.
    pub(crate) cases: Option<Box<Cases>>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Arrays {
    pub(crate) lengths: Histogram,
    pub(crate) bytes: Histogram,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Blobs {
    pub(crate) sizes: Histogram,
    pub(crate) kinds: Vec<(BlobKind, u64)>,
    pub(crate) subtypes: Vec<(u8, u64)>,
    pub(crate) encoded: u64,
    pub(crate) uuid_v4: u64,
    pub(crate) uuid_v7: u64,
}

/// One lower-case form: hash of the spelling first kept, its text, and another spelling if there is one.
#[derive(Clone, Debug)]
pub(crate) struct Spelling {
    lower: u64,
    raw: u64,
    text: String,
    other: Option<(u64, String)>,
}

/// Bottom-k sample of lower-case forms with their spellings, sorted by `lower`.
#[derive(Clone, Debug)]
pub(crate) struct Cases {
    theta: u64,
    groups: Vec<Spelling>,
}

impl Default for Cases {
    fn default() -> Self {
        Self { theta: u64::MAX, groups: Vec::new() }
    }
}

pub(crate) fn bump<T: Copy + PartialEq>(counts: &mut Vec<(T, u64)>, key: T, n: u64) {
    match counts.iter_mut().find(|(k, _)| *k == key) {
        Some((_, count)) => *count += n,
        None => counts.push((key, n)),
    }
}

fn widen<T: PartialOrd + Copy>(range: &mut Option<(T, T)>, other: Option<(T, T)>) {
    if let Some((low, high)) = other {
        *range = Some(match *range {
            None => (low, high),
            Some((a, b)) => (if low < a { low } else { a }, if high > b { high } else { b }),
        });
    }
}

impl Stats {
    pub(crate) fn new(k: usize) -> Self {
        Self {
            types: [0; BsonType::COUNT],
            bytes: 0,
            sketch: Sketch::new(k),
            ints: None,
            doubles: None,
            dates: None,
            text: None,
            arrays: None,
            blobs: None,
            values: Some(Vec::new()),
            examples: Vec::new(),
        }
    }

    pub(crate) fn count(&self) -> u64 {
        self.types.iter().sum()
    }

    /// Remembers a value that the sketch saw for the first time.
    #[cold]
    pub(crate) fn remember(&mut self, hash: u64, bytes: usize, text: impl Fn() -> String) {
        if let Some(values) = &mut self.values {
            if values.len() >= ENUMERATION || bytes > ENUMERATION_BYTES {
                self.values = None;
            } else if !values.iter().any(|(h, _)| *h == hash) {
                values.push((hash, text()));
            }
        }
        let largest = self.examples.iter().map(|(h, _)| *h).max();
        if self.examples.len() < EXAMPLES || largest.is_some_and(|h| hash < h) {
            keep_example(&mut self.examples, hash, text());
        }
    }

    pub(crate) fn merge(&mut self, other: Self) {
        for (mine, theirs) in self.types.iter_mut().zip(other.types) {
            *mine += theirs;
        }
        self.bytes += other.bytes;
        self.sketch.merge(&other.sketch);
        widen(&mut self.ints, other.ints);
        widen(&mut self.dates, other.dates);
        merge_box(&mut self.doubles, other.doubles, |a, b| {
            a.min = a.min.min(b.min);
            a.max = a.max.max(b.max);
            a.integral += b.integral;
            a.fractional += b.fractional;
            a.not_finite += b.not_finite;
        });
        merge_box(&mut self.text, other.text, |a, b| {
            for (mine, theirs) in a.classes.iter_mut().zip(b.classes) {
                *mine += theirs;
            }
            a.lengths.merge(&b.lengths);
            merge_box(&mut a.cases, b.cases, |x, y| x.merge(*y));
        });
        merge_box(&mut self.arrays, other.arrays, |a, b| {
            a.lengths.merge(&b.lengths);
            a.bytes.merge(&b.bytes);
        });
        merge_box(&mut self.blobs, other.blobs, |a, b| {
            a.sizes.merge(&b.sizes);
            b.kinds.iter().for_each(|&(k, n)| bump(&mut a.kinds, k, n));
            b.subtypes.iter().for_each(|&(k, n)| bump(&mut a.subtypes, k, n));
            a.encoded += b.encoded;
            a.uuid_v4 += b.uuid_v4;
            a.uuid_v7 += b.uuid_v7;
        });
        self.values = match (self.values.take(), other.values) {
            (Some(mut mine), Some(theirs)) => {
                for (hash, text) in theirs {
                    if !mine.iter().any(|(h, _)| *h == hash) {
                        mine.push((hash, text));
                    }
                }
                (mine.len() <= ENUMERATION).then_some(mine)
            }
            _ => None,
        };
        for (hash, text) in other.examples {
            keep_example(&mut self.examples, hash, text);
        }
    }
}

fn keep_example(examples: &mut Vec<(u64, String)>, hash: u64, text: String) {
    if examples.iter().any(|(h, _)| *h == hash) {
        return;
    }
    examples.push((hash, text));
    examples.sort_by_key(|(h, _)| *h);
    examples.truncate(EXAMPLES);
}

fn merge_box<T>(mine: &mut Option<Box<T>>, theirs: Option<Box<T>>, merge: impl Fn(&mut T, Box<T>)) {
    match (mine.as_mut(), theirs) {
        (Some(mine), Some(theirs)) => merge(mine, theirs),
        (None, Some(theirs)) => *mine = Some(theirs),
        (_, None) => {}
    }
}

impl Cases {
    /// Notes one spelling. `lower` is the hash of the lower-case form.
    #[inline]
    pub(crate) fn add(&mut self, lower: u64, raw: u64, text: impl FnOnce() -> String) {
        if lower >= self.theta {
            return;
        }
        match self.groups.binary_search_by_key(&lower, |g| g.lower) {
            Ok(at) => {
                let group = &mut self.groups[at];
                if raw != group.raw {
                    let text = text();
                    // The caseless hash lets a few signs fall together; the texts themselves decide.
                    if text.eq_ignore_ascii_case(&group.text) {
                        group.note(raw, || text);
                    }
                }
            }
            Err(at) => {
                self.groups.insert(at, Spelling { lower, raw, text: text(), other: None });
                self.trim();
            }
        }
    }

    fn trim(&mut self) {
        if self.groups.len() > CASE_GROUPS {
            self.theta = self.groups[CASE_GROUPS].lower;
            self.groups.truncate(CASE_GROUPS);
        }
    }

    fn merge(&mut self, other: Self) {
        self.theta = self.theta.min(other.theta);
        for group in other.groups {
            if group.lower >= self.theta {
                continue;
            }
            match self.groups.binary_search_by_key(&group.lower, |g| g.lower) {
                Ok(at) => {
                    self.groups[at].note(group.raw, || group.text);
                    if let Some((raw, text)) = group.other {
                        self.groups[at].note(raw, || text);
                    }
                }
                Err(at) => self.groups.insert(at, group),
            }
        }
        let theta = self.theta;
        self.groups.retain(|g| g.lower < theta);
        self.trim();
    }

    pub(crate) fn finish(&self) -> docward_model::CaseCollision {
        let colliding: Vec<_> = self.groups.iter().filter(|g| g.other.is_some()).collect();
        docward_model::CaseCollision {
            groups: self.groups.len() as u64,
            colliding: colliding.len() as u64,
            exact: self.theta == u64::MAX,
            example: colliding.first().and_then(|g| {
                let (_, other) = g.other.as_ref()?;
                let mut pair = [g.text.clone(), other.clone()];
                pair.sort();
                let [a, b] = pair;
                Some((a, b))
            }),
        }
    }
}

impl Spelling {
    /// Keeps the two spellings with the smallest hashes, so that the order of arrival is without effect.
    fn note(&mut self, raw: u64, text: impl FnOnce() -> String) {
        if raw == self.raw || self.other.as_ref().is_some_and(|(h, _)| *h <= raw && self.raw < raw)
        {
            return;
        }
        let text = text();
        if raw < self.raw {
            let old = (self.raw, std::mem::replace(&mut self.text, text));
            self.raw = raw;
            self.other = Some(old);
        } else {
            self.other = Some((raw, text));
        }
    }
}
