//! Statistics per place in the documents. Everything here merges exactly.

use docward_model::{BlobKind, BsonType, Distribution, TextClass};
use serde::{Deserialize, Serialize};

use crate::{
    forms::Forms,
    histogram::Histogram,
    sketch::{SAMPLE_IDS, Sketch},
    tally::Tally,
    text,
    values::OBJECT_ID_DIGITS,
};

/// The maximum number of values that are recorded individually per field.
pub(crate) const ENUMERATION: usize = 64;
/// The maximum length of values in an enumeration.
pub(crate) const ENUMERATION_BYTES: usize = 64;
/// The number of examples kept per field for `--show-values`.
const EXAMPLES: usize = 3;
/// The maximum number of distinct spellings compared per id-like field.
const CASE_GROUPS: usize = 512;

/// The kinds of counted values: types, and the classes of strings. One counter gives both.
const KINDS: usize = BsonType::COUNT + TextClass::COUNT;

/// Statistics of one place, in the order in which a value updates them.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[repr(C)]
pub(crate) struct Stats {
    /// Distinct scalars with their counts.
    pub(crate) sketch: Sketch,
    /// The range of int and long values; reversed while there are none.
    pub(crate) ints: (i64, i64),
    kinds: Tally<KINDS>,
    /// Lengths of strings.
    pub(crate) lengths: Histogram,
    /// The range of dates; reversed while there are none.
    pub(crate) dates: (i64, i64),
    /// Doubles.
    pub(crate) doubles: Doubles,
    /// Bytes of values whose size is not determined by their type or length.
    pub(crate) bytes: u64,
    /// Spellings by lower-case hash; id-like fields only.
    pub(crate) cases: Option<Box<Cases>>,
    /// Strings that denote a missing value.
    pub(crate) placeholders: u64,
    pub(crate) placeholder_words: u64,
    /// Forms of different strings.
    pub(crate) forms: Option<Box<Forms>>,
    /// Arrays.
    pub(crate) arrays: Option<Box<Arrays>>,
    /// Binaries and encoded files.
    pub(crate) blobs: Option<Box<Blobs>>,
    /// The values themselves, while there are few; `None` once there were too many.
    pub(crate) values: Option<Vec<(u64, String)>>,
    /// The maximum number of these values.
    most_values: u8,
    /// The maximum number of distinct identifiers kept.
    #[serde(default)]
    most_ids: u32,
    /// The values with the smallest hashes.
    pub(crate) examples: Vec<(u64, String)>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Doubles {
    pub(crate) min: f64,
    pub(crate) max: f64,
    pub(crate) integral: u64,
    pub(crate) fractional: u64,
    pub(crate) inexact: u64,
    pub(crate) not_finite: u64,
}

/// Up to 2^53, doubles hold every whole number.
const EXACT: f64 = 9_007_199_254_740_992.0;
/// 2^64. Whole numbers beyond it are measurements rather than identifiers.
const WIDEST: f64 = 18_446_744_073_709_551_616.0;

impl Default for Doubles {
    fn default() -> Self {
        Self {
            min: f64::INFINITY,
            max: f64::NEG_INFINITY,
            integral: 0,
            fractional: 0,
            inexact: 0,
            not_finite: 0,
        }
    }
}

impl Doubles {
    /// Adds a value; `is_whole` shows whether it is equal to an integer.
    #[inline]
    pub(crate) fn add(&mut self, n: f64, is_whole: bool) {
        if !n.is_finite() {
            self.not_finite += 1;
            return;
        }
        self.min = self.min.min(n);
        self.max = self.max.max(n);
        if is_whole || n.abs() >= 9.0e15 {
            self.integral += 1;
            self.inexact += u64::from(EXACT < n.abs() && n.abs() <= WIDEST);
        } else {
            self.fractional += 1;
        }
    }

    fn merge(&mut self, other: &Self) {
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.integral += other.integral;
        self.fractional += other.fractional;
        self.inexact += other.inexact;
        self.not_finite += other.not_finite;
    }
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Arrays {
    pub(crate) lengths: Histogram,
    pub(crate) bytes: Histogram,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Blobs {
    pub(crate) sizes: Histogram,
    pub(crate) kinds: Vec<(BlobKind, u64)>,
    pub(crate) subtypes: Vec<(u8, u64)>,
    pub(crate) encoded: u64,
    pub(crate) uuid_v4: u64,
    pub(crate) uuid_v7: u64,
}

/// One lower-case form: the hash and the text of the first kept spelling, and another spelling if
/// there is one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Spelling {
    lower: u64,
    raw: u64,
    text: Box<str>,
    other: Option<Box<(u64, Box<str>)>>,
}

/// Bottom-k sample of lower-case forms with their spellings, sorted by `lower`.
#[derive(Clone, Debug, Serialize, Deserialize)]
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

/// The empty range.
const NO_RANGE: (i64, i64) = (i64::MAX, i64::MIN);

/// Extends a range by a value.
#[inline]
pub(crate) fn widen(range: &mut (i64, i64), n: i64) {
    if n < range.0 {
        range.0 = n;
    }
    if n > range.1 {
        range.1 = n;
    }
}

/// The range, unless it is empty.
pub(crate) fn known((low, high): (i64, i64)) -> Option<(i64, i64)> {
    (low <= high).then_some((low, high))
}

impl Stats {
    pub(crate) fn new(k: u32) -> Self {
        Self {
            sketch: Sketch::new(k),
            ints: NO_RANGE,
            kinds: Tally::default(),
            lengths: Histogram::default(),
            dates: NO_RANGE,
            doubles: Doubles::default(),
            bytes: 0,
            cases: None,
            placeholders: 0,
            placeholder_words: 0,
            forms: None,
            arrays: None,
            blobs: None,
            values: Some(Vec::new()),
            most_values: ENUMERATION as u8,
            most_ids: SAMPLE_IDS,
            examples: Vec::new(),
        }
    }

    /// Counts a value that is not a string.
    #[inline(always)]
    pub(crate) fn count_type(&mut self, kind: BsonType) {
        self.kinds.bump(kind as usize);
    }

    /// Counts a string.
    #[inline(always)]
    pub(crate) fn count_text(&mut self, class: TextClass, length: usize) {
        self.kinds.bump(BsonType::COUNT + class as usize);
        self.lengths.add(length as u64);
    }

    /// Strings by class.
    pub(crate) fn classes(&self) -> [u64; TextClass::COUNT] {
        std::array::from_fn(|class| self.kinds.get(BsonType::COUNT + class))
    }

    /// Strings by class, classified together. Digits alone count as a number unless most texts of
    /// the field are ObjectIds in hexadecimal: digits of that length are then ids that happen to
    /// have no letter.
    pub(crate) fn settled_classes(&self, lengths: &Distribution) -> [u64; TextClass::COUNT] {
        let [hex, huge, zero] =
            [TextClass::ObjectIdHex, TextClass::HugeInteger, TextClass::LeadingZero]
                .map(|class| class as usize);
        let mut classes = self.classes();
        let digits = classes[huge] + classes[zero];
        let as_long = lengths.buckets.iter().find(|b| b.0 == OBJECT_ID_DIGITS).map_or(0, |b| b.2);
        // The sum proves that no digits have another length, and no other text has this one.
        if digits > 0 && digits < classes[hex] && as_long == classes[hex] + digits {
            classes[hex] += digits;
            (classes[huge], classes[zero]) = (0, 0);
        }
        classes
    }

    /// Values of a type.
    pub(crate) fn of(&self, kind: BsonType) -> u64 {
        match kind {
            BsonType::String => self.classes().iter().sum(),
            _ => self.kinds.get(kind as usize),
        }
    }

    /// Values by type.
    pub(crate) fn types(&self) -> [u64; BsonType::COUNT] {
        BsonType::ALL.map(|kind| self.of(kind))
    }

    pub(crate) fn count(&self) -> u64 {
        self.kinds.all().sum()
    }

    /// The size of all values in bytes.
    pub(crate) fn value_bytes(&self) -> u64 {
        let fixed: u64 = BsonType::ALL
            .iter()
            .map(|&kind| {
                let each = match kind {
                    BsonType::Bool => 1,
                    BsonType::Int => 4,
                    BsonType::Double | BsonType::Date | BsonType::Long | BsonType::Timestamp => 8,
                    BsonType::ObjectId => 12,
                    BsonType::Decimal => 16,
                    // The length prefix of a string and its NUL; the bytes of its characters are
                    // counted separately.
                    BsonType::String => 5,
                    _ => 0,
                };
                self.of(kind) * each
            })
            .sum();
        fixed + self.lengths.sum() + self.bytes
    }

    /// Keeps fewer values from now on: in a collection with very many places each has a smaller
    /// share.
    pub(crate) fn shrink(&mut self, k: u32, values: usize) {
        self.most_ids = self.most_ids.min(k);
        self.sketch.shrink(k);
        self.shrink_values(values);
    }

    fn shrink_values(&mut self, values: usize) {
        self.most_values = self.most_values.min(values as u8);
        let most = self.most_cases();
        if let Some(forms) = &mut self.forms {
            forms.shrink(self.sketch.k() as usize);
        }
        if let Some(cases) = &mut self.cases {
            cases.trim(most);
            cases.groups.shrink_to(most);
        }
        if self.values.as_ref().is_some_and(|kept| kept.len() > values) {
            self.values = None;
        }
    }

    /// Keeps as many values as for an identifier: an ObjectId refers to a document, whatever the
    /// name of its field.
    #[cold]
    pub(crate) fn widen(&mut self) {
        self.sketch.widen(self.most_ids);
    }

    /// The maximum number of spellings of an identifier to compare: fewer at greater depth, and if
    /// there are many places.
    fn most_cases(&self) -> usize {
        match usize::from(self.most_values) {
            ENUMERATION => CASE_GROUPS.min(2 * self.sketch.k() as usize),
            fewer => 2 * fewer,
        }
    }

    /// Records one spelling of an identifier. `lower` is the hash of the lower-case form.
    #[inline]
    pub(crate) fn note_case(&mut self, lower: u64, raw: u64, text: impl FnOnce() -> String) {
        let most = self.most_cases();
        self.cases.get_or_insert_with(Box::default).add(most, lower, raw, text);
    }

    /// Records a value that the sketch has seen for the first time.
    #[cold]
    pub(crate) fn remember(&mut self, hash: u64, bytes: usize, text: impl Fn() -> String) {
        if let Some(values) = &mut self.values {
            if values.len() >= usize::from(self.most_values) || bytes > ENUMERATION_BYTES {
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
        self.kinds.merge(&other.kinds);
        self.lengths.merge(&other.lengths);
        self.bytes += other.bytes;
        self.shrink_values(usize::from(other.most_values));
        self.most_ids = self.most_ids.min(other.most_ids);
        self.sketch.merge(&other.sketch);
        for (mine, theirs) in [(&mut self.ints, other.ints), (&mut self.dates, other.dates)] {
            *mine = (mine.0.min(theirs.0), mine.1.max(theirs.1));
        }
        self.doubles.merge(&other.doubles);
        let most = self.most_cases();
        merge_box(&mut self.cases, other.cases, |a, b| a.merge(*b, most));
        self.placeholders += other.placeholders;
        self.placeholder_words += other.placeholder_words;
        merge_box(&mut self.forms, other.forms, |a, b| a.merge(*b));
        if let Some(forms) = &mut self.forms {
            forms.shrink(self.sketch.k() as usize);
        }
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
                (mine.len() <= usize::from(self.most_values)).then_some(mine)
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

impl Blobs {
    /// Counts a binary.
    pub(crate) fn add(&mut self, subtype: u8, data: &[u8]) {
        bump(&mut self.subtypes, subtype, 1);
        self.sizes.add(data.len() as u64);
        if subtype == 4 && data.len() == 16 {
            let variant = data[8] >> 6 == 0b10;
            self.uuid_v4 += u64::from(variant && data[6] >> 4 == 4);
            self.uuid_v7 += u64::from(variant && matches!(data[6] >> 4, 6 | 7));
        } else {
            bump(&mut self.kinds, text::blob_kind(data), 1);
        }
    }
}

impl Cases {
    #[inline]
    fn add(&mut self, most: usize, lower: u64, raw: u64, text: impl FnOnce() -> String) {
        if lower >= self.theta {
            return;
        }
        match self.groups.binary_search_by_key(&lower, |g| g.lower) {
            Ok(at) => {
                let group = &mut self.groups[at];
                if raw != group.raw {
                    let text = text().into_boxed_str();
                    // The caseless hash has collisions for some symbols, so the texts themselves
                    // are compared.
                    if text.eq_ignore_ascii_case(&group.text) {
                        group.note(raw, || text);
                    }
                }
            }
            Err(at) => {
                self.groups.insert(at, Spelling { lower, raw, text: text().into(), other: None });
                self.trim(most);
            }
        }
    }

    fn trim(&mut self, most: usize) {
        if let Some(first_beyond) = self.groups.get(most) {
            self.theta = first_beyond.lower;
            self.groups.truncate(most);
        }
    }

    fn merge(&mut self, other: Self, most: usize) {
        self.theta = self.theta.min(other.theta);
        for group in other.groups {
            if group.lower >= self.theta {
                continue;
            }
            match self.groups.binary_search_by_key(&group.lower, |g| g.lower) {
                Ok(at) => {
                    self.groups[at].note(group.raw, || group.text);
                    if let Some(other) = group.other {
                        self.groups[at].note(other.0, || other.1);
                    }
                }
                Err(at) => self.groups.insert(at, group),
            }
        }
        let theta = self.theta;
        self.groups.retain(|g| g.lower < theta);
        self.trim(most);
    }

    pub(crate) fn finish(&self) -> docward_model::CaseCollision {
        let colliding: Vec<_> = self.groups.iter().filter(|g| g.other.is_some()).collect();
        docward_model::CaseCollision {
            groups: self.groups.len() as u64,
            colliding: colliding.len() as u64,
            exact: self.theta == u64::MAX,
            example: colliding.first().and_then(|g| {
                let other = &g.other.as_ref()?.1;
                let mut pair = [g.text.to_string(), other.to_string()];
                pair.sort();
                let [a, b] = pair;
                Some((a, b))
            }),
        }
    }
}

impl Spelling {
    /// Keeps the two spellings with the smallest hashes, so that the order of arrival does not
    /// matter.
    fn note(&mut self, raw: u64, text: impl FnOnce() -> Box<str>) {
        let is_beyond = |other: &(u64, Box<str>)| other.0 <= raw && self.raw < raw;
        if raw == self.raw || self.other.as_deref().is_some_and(is_beyond) {
            return;
        }
        let text = text();
        if raw < self.raw {
            let old = (self.raw, std::mem::replace(&mut self.text, text));
            self.raw = raw;
            self.other = Some(Box::new(old));
        } else {
            self.other = Some(Box::new((raw, text)));
        }
    }
}
