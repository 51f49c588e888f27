//! The profile of the documents of one collection. `docward-profile` computes it from a stream of
//! documents in bounded memory; rules read it. Counts are exact unless a field says "estimate".

use serde::{Deserialize, Serialize};

use crate::{BsonType, FieldPath, Growth, Observed, TrackedDocument, TypeCounts};

/// A distribution of whole numbers, kept as buckets no wider than 1/32 of their value.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Distribution {
    /// The number of values.
    pub count: u64,
    /// The smallest, exact.
    pub min: u64,
    /// The largest, exact.
    pub max: u64,
    /// Their sum, exact.
    pub sum: u64,
    /// Ascending buckets `(lowest value, highest value, values in it)`; empty ones left out.
    pub buckets: Vec<(u64, u64, u64)>,
    /// A limit and the exact number of values at or above it, when that was counted.
    pub exact: Option<(u64, u64)>,
}

impl Distribution {
    /// The value at or below which the share `q` of values lies: exact below 64, within 1/32 above,
    /// never above `max`.
    pub fn quantile(&self, q: f64) -> u64 {
        let rank = ((self.count as f64 * q).ceil() as u64).clamp(1, self.count.max(1));
        let mut passed = 0;
        for &(_, high, n) in &self.buckets {
            passed += n;
            if passed >= rank {
                return high.min(self.max);
            }
        }
        self.max
    }

    /// Median.
    pub fn p50(&self) -> u64 {
        self.quantile(0.50)
    }

    /// 95th percentile.
    pub fn p95(&self) -> u64 {
        self.quantile(0.95)
    }

    /// 99th percentile.
    pub fn p99(&self) -> u64 {
        self.quantile(0.99)
    }

    /// Mean; 0 without values.
    pub fn mean(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum as f64 / self.count as f64 }
    }

    /// The number of values at or above `limit`. The bucket that contains the limit is split
    /// linearly: the result is exact below 64 and an estimate above, but 0 only if no value reaches
    /// the limit.
    pub fn at_least(&self, limit: u64) -> u64 {
        if self.count == 0 || self.max < limit {
            return 0;
        }
        if let Some((_, n)) = self.exact.filter(|&(exact, _)| exact == limit) {
            return n;
        }
        let mut total = 0.0;
        for &(low, high, n) in &self.buckets {
            // The outermost buckets contain no values beyond the minimum and the maximum.
            let (low, high) = (low.max(self.min), high.min(self.max));
            if low >= limit {
                total += n as f64;
            } else if high >= limit {
                let width = (high - low + 1) as f64;
                total += n as f64 * ((high - limit + 1) as f64 / width);
            }
        }
        (total.round() as u64).max(1)
    }
}

impl Distribution {
    /// The number of values larger than `limit`, using the exact counts where available.
    pub fn larger_than(&self, exact: &[(u64, u64)], limit: u64) -> u64 {
        let counted = exact.iter().find(|&&(tier, _)| tier == limit);
        counted.map_or_else(|| self.at_least(limit + 1), |&(_, n)| n)
    }
}

/// The number of distinct values of a field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Distinct {
    /// Distinct values (estimate unless `exact`).
    pub values: f64,
    /// True if the count is exact.
    pub exact: bool,
    /// The share of all values that are the most frequent one.
    pub top_share: f64,
    /// Half width of the 95 % interval of `top_share`; 0 when exact.
    pub top_share_error: f64,
}

/// The class of a text. Each string has exactly one class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[repr(u8)]
pub enum TextClass {
    /// No characters.
    Empty,
    /// Date and time with an offset or `Z`.
    DateTimeOffset,
    /// Date and time without an offset.
    DateTimeLocal,
    /// A calendar date, year first.
    DateOnly,
    /// A calendar date with slashes or dots, or day first: ambiguous.
    DateAmbiguous,
    /// A year and month, `2024-03`: a period label.
    YearMonth,
    /// Digits (with sign), no leading zero, fits a 64-bit integer.
    Integer,
    /// Digits with a leading zero.
    LeadingZero,
    /// Digits that do not fit a 64-bit integer.
    HugeInteger,
    /// A number with a fraction.
    Decimal,
    /// A random UUID (version 4).
    UuidV4,
    /// A time-ordered UUID (version 6 or 7).
    UuidV7,
    /// Another UUID.
    Uuid,
    /// A ULID.
    Ulid,
    /// 24 hexadecimal digits.
    ObjectIdHex,
    /// 32, 40 or 64 hexadecimal digits: a content hash or a dashless UUID.
    HexDigest,
    /// An e-mail address.
    Email,
    /// A URL.
    Url,
    /// `true` or `false` (any case).
    Boolean,
    /// Base64 (or a data URI) of a file whose first bytes are known.
    EncodedFile,
    /// None of the above.
    Other,
}

impl TextClass {
    /// The number of classes.
    pub const COUNT: usize = 21;

    /// Every class, in order.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Empty,
        Self::DateTimeOffset,
        Self::DateTimeLocal,
        Self::DateOnly,
        Self::DateAmbiguous,
        Self::YearMonth,
        Self::Integer,
        Self::LeadingZero,
        Self::HugeInteger,
        Self::Decimal,
        Self::UuidV4,
        Self::UuidV7,
        Self::Uuid,
        Self::Ulid,
        Self::ObjectIdHex,
        Self::HexDigest,
        Self::Email,
        Self::Url,
        Self::Boolean,
        Self::EncodedFile,
        Self::Other,
    ];

    /// Returns whether it is a full date or date and time.
    pub fn is_date(self) -> bool {
        matches!(
            self,
            Self::DateTimeOffset | Self::DateTimeLocal | Self::DateOnly | Self::DateAmbiguous
        )
    }

    /// Returns whether it is a number written as text.
    pub fn is_number(self) -> bool {
        matches!(self, Self::Integer | Self::LeadingZero | Self::HugeInteger | Self::Decimal)
    }
}

/// Strings of a field.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TextProfile {
    /// Strings by class, in [`TextClass::ALL`] order.
    pub classes: [u64; TextClass::COUNT],
    /// Lengths in bytes.
    pub lengths: Distribution,
    /// Spellings that differ only in case; checked in id-like fields.
    pub case_collisions: Option<CaseCollision>,
    /// Bytes before and after compressing a few long strings; `None` if there were none.
    pub compression: Option<(u64, u64)>,
    /// Strings that stand for a missing value: `N/A`, `null`, `\N`.
    #[serde(default)]
    pub placeholders: u64,
    /// Those of [`Self::placeholders`] that may also be words, codes or names: `NA`, `None`.
    #[serde(default)]
    pub placeholder_words: u64,
    /// The forms of some of the different strings.
    #[serde(default)]
    pub forms: TextForms,
}

/// The forms of some of the different strings of a field, chosen by their hashes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextForms {
    /// Strings examined.
    pub examined: u64,
    /// Amounts with a currency: `$8.09M`, `1,234.50 €`.
    pub money: u64,
    /// Short items with separators between them: `a, b, c`.
    pub lists: u64,
    /// Objects and arrays in JSON.
    pub json: u64,
    /// Dates that name the month and end with an offset or a zone: `Fri, 15 Mar 2024 10:30:00 GMT`.
    #[serde(default)]
    pub zoned_dates: u64,
    /// Other dates that name the month, or begin with the year: `October 1, 2009`, `2024/03/15`.
    #[serde(default)]
    pub clear_dates: u64,
    /// Dates with slashes whose second number is above 12: `3/15/2024`.
    #[serde(default)]
    pub month_first: u64,
    /// Dates whose first number is above 12: `15/03/2024`.
    #[serde(default)]
    pub day_first: u64,
    /// Other dates outside ISO 8601: `3/4/2024`, and those that end with a comment.
    #[serde(default)]
    pub unclear_dates: u64,
    /// Seconds since 1970.
    #[serde(default)]
    pub epoch_seconds: u64,
    /// Milliseconds since 1970.
    #[serde(default)]
    pub epoch_milliseconds: u64,
    /// Times without a date: `09:30`, `00:43:55.328`.
    #[serde(default)]
    pub clocks: u64,
}

impl TextProfile {
    /// Strings of one class.
    pub fn of(&self, class: TextClass) -> u64 {
        self.classes[class as usize]
    }

    /// Strings for which `test` holds.
    pub fn count(&self, test: impl Fn(TextClass) -> bool) -> u64 {
        TextClass::ALL.into_iter().filter(|&c| test(c)).map(|c| self.of(c)).sum()
    }

    /// All strings.
    pub fn total(&self) -> u64 {
        self.classes.iter().sum()
    }
}

/// Values of an id-like field that differ only in upper and lower case.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CaseCollision {
    /// Distinct values examined, compared without case.
    pub groups: u64,
    /// Groups with more than one spelling.
    pub colliding: u64,
    /// True if all values were examined (otherwise a sample).
    pub exact: bool,
    /// Two spellings, for `--show-values`.
    pub example: Option<(String, String)>,
}

/// Numbers of a field (all widths together).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NumberProfile {
    /// Smallest.
    pub min: f64,
    /// Largest.
    pub max: f64,
    /// Doubles without a fraction.
    pub integral_doubles: u64,
    /// Doubles with a fraction.
    pub fractional_doubles: u64,
    /// Doubles between 2^53 and 2^64, where a double cannot hold every whole number.
    #[serde(default)]
    pub inexact_doubles: u64,
    /// Longs of 18 digits or more, of those examined in detail.
    #[serde(default)]
    pub long_ids: u64,
    /// The number of these longs whose digits are those that a double shows.
    #[serde(default)]
    pub rounded_longs: u64,
    /// NaN or infinite.
    pub not_finite: u64,
    /// Doubles, of those examined in detail, whose shortest text has at most 4 decimals.
    pub short_decimals: u64,
    /// Doubles examined in detail.
    pub examined_doubles: u64,
}

/// The first bytes of a binary, or of decoded base64.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[expect(missing_docs, reason = "file formats by their usual names")]
pub enum BlobKind {
    Png,
    Jpeg,
    Gif,
    Pdf,
    Zip,
    Gzip,
    Mp4,
    WebP,
    Unknown,
}

impl BlobKind {
    /// The name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Png => "PNG",
            Self::Jpeg => "JPEG",
            Self::Gif => "GIF",
            Self::Pdf => "PDF",
            Self::Zip => "ZIP",
            Self::Gzip => "GZIP",
            Self::Mp4 => "MP4",
            Self::WebP => "WebP",
            Self::Unknown => "binary",
        }
    }
}

/// Binaries of a field, and strings that are encoded files.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Blob {
    /// Sizes in bytes (of the decoded file for base64).
    pub sizes: Distribution,
    /// Kinds with counts, most frequent first.
    pub kinds: Vec<(BlobKind, u64)>,
    /// Binary subtypes with counts, most frequent first.
    pub subtypes: Vec<(u8, u64)>,
    /// The number of base64 texts.
    pub encoded: u64,
    /// Binaries of subtype 4 that are random UUIDs (version 4).
    pub uuid_v4: u64,
    /// Binaries of subtype 4 that are time-ordered UUIDs (version 6 or 7).
    pub uuid_v7: u64,
}

/// Arrays of a field.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ArrayProfile {
    /// Elements per array.
    pub lengths: Distribution,
    /// Growth of the length with the document's age.
    pub growth: Option<Growth>,
    /// Some arrays as (age of the document in days, length), for a chart of the growth.
    #[serde(default)]
    pub by_age: Vec<(f64, u64)>,
    /// Growth of the length in documents that were also read on an earlier date.
    pub observed: Option<Observed>,
    /// Bytes per array.
    pub bytes: Distribution,
}

/// The common form of the keys of a folded object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the variants say it")]
pub enum KeyForm {
    Date,
    Number,
    ObjectId,
    Uuid,
    /// Words, names, addresses: no common form, but an open set.
    Various,
}

/// An object whose keys are data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DynamicKeys {
    /// Distinct keys (estimate unless `exact`).
    pub keys: f64,
    /// True if the number of keys is exact.
    pub exact: bool,
    /// Their common form.
    pub form: KeyForm,
    /// Keys per object.
    pub per_object: Distribution,
    /// A few keys, for `--show-values`.
    pub examples: Vec<String>,
}

/// The kind of a field, for naming and pattern rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FieldShape {
    /// A named field.
    Named,
    /// The elements of the array above it (`[]`).
    Element,
    /// All values of an object whose keys are data (`*`).
    AnyKey,
}

/// One path in the documents.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Field {
    /// The path of the field.
    pub path: FieldPath,
    /// Its own name; empty for elements and folded keys.
    pub name: String,
    /// Named field, array element or folded key.
    pub shape: FieldShape,
    /// Index of the parent in [`Profile::fields`]; `None` at the top level.
    pub parent: Option<usize>,
    /// Indexes of children, in the order first seen.
    pub children: Vec<usize>,
    /// Container depth of this place (ALG-1): 0 at the top level.
    pub depth: u32,
    /// Values seen here.
    pub count: u64,
    /// Objects (or arrays) above it that could contain it.
    pub parents: u64,
    /// Values by type.
    pub types: TypeCounts,
    /// Bytes of all values here, including the contents of containers.
    pub bytes: u64,
    /// Different values; scalars only.
    pub distinct: Distinct,
    /// The values with their counts, if there are few; printed only with `--show-values`.
    pub enumeration: Option<Vec<(String, u64)>>,
    /// Strings.
    pub text: Option<Box<TextProfile>>,
    /// Numbers.
    pub number: Option<NumberProfile>,
    /// Earliest and latest date, milliseconds.
    pub dates: Option<(i64, i64)>,
    /// Arrays.
    pub array: Option<Box<ArrayProfile>>,
    /// Binaries and encoded files.
    pub blob: Option<Box<Blob>>,
    /// Set when this object's keys are data.
    pub dynamic: Option<Box<DynamicKeys>>,
    /// Rank correlation of the value with natural order (documents as stored), −1..=1; scalars
    /// at the top level only.
    pub natural_order: Option<f64>,
    /// A few values, shortened; printed only with `--show-values`.
    pub examples: Vec<String>,
}

impl Field {
    /// Share of parents that have the field, 0..=1.
    pub fn presence(&self) -> f64 {
        if self.parents == 0 { 0.0 } else { self.count as f64 / self.parents as f64 }
    }

    /// Returns whether every value (except null) has this type, and there is at least one.
    pub fn is_only(&self, kind: BsonType) -> bool {
        let n = self.types.of(kind);
        n > 0 && n == self.types.non_null()
    }
}

/// The order of `_id` values in natural order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct IdOrder {
    /// Neighbours of the same type that were compared.
    pub pairs: u64,
    /// The number of these pairs whose values increase.
    pub rising: u64,
}

impl IdOrder {
    /// The share of increasing neighbours; `None` if there are too few pairs.
    pub fn rising_share(&self) -> Option<f64> {
        (self.pairs >= 20).then(|| self.rising as f64 / self.pairs as f64)
    }
}

/// A large document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LargeDocument {
    /// Its size.
    pub bytes: u64,
    /// Its `_id`, shortened; printed only with `--show-values`.
    pub id: String,
    /// The top-level field with the most bytes.
    pub owner: String,
    /// The size of that field in bytes.
    pub owner_bytes: u64,
    /// The number of elements, if that field is an array.
    pub owner_elements: Option<u64>,
    /// Age in days against the newest document, when known.
    pub age_days: Option<f64>,
}

/// A set of top-level fields that documents have in common.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Shape {
    /// Documents with exactly these fields.
    pub documents: u64,
    /// The fields, as indexes in [`Profile::fields`], ascending.
    pub fields: Vec<usize>,
}

/// A field whose value predicts the shape of a document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Discriminator {
    /// Its index in [`Profile::fields`].
    pub field: usize,
    /// Share of sampled documents whose shape family its value predicts.
    pub accuracy: f64,
    /// Accuracy of always guessing the largest family.
    pub chance: f64,
}

/// The profile of the documents of one collection.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Profile {
    /// Documents read.
    pub documents: u64,
    /// The number of documents in the collection, as far as known.
    pub total: u64,
    /// Document sizes in bytes.
    pub sizes: Distribution,
    /// Exact counts of documents above a size: `(bytes, documents larger than that)`, ascending.
    pub larger_than: Vec<(u64, u64)>,
    /// The largest documents, largest first.
    pub largest: Vec<LargeDocument>,
    /// Documents by container depth (ALG-1); the last entry holds all deeper ones.
    pub depths: Vec<u64>,
    /// The greatest container depth.
    pub max_depth: u32,
    /// A path with that depth.
    pub deepest: Option<FieldPath>,
    /// The greatest depth as the server counts it (every object and array).
    pub max_server_depth: u32,
    /// Every place, parents before children, in the order first seen.
    pub fields: Vec<Field>,
    /// True if the number of paths reached the limit and further paths were left out.
    pub fields_capped: bool,
    /// Set if the names of top-level fields, except `_id`, are data.
    pub dynamic: Option<Box<DynamicKeys>>,
    /// Neighbouring `_id`s in natural order.
    pub id_order: IdOrder,
    /// True if documents were read in random order: their positions then do not show how they are
    /// stored.
    #[serde(default)]
    pub shuffled: bool,
    /// True if documents may be stored in the order in which a replicating member received them: in
    /// runs, not in insertion order.
    #[serde(default)]
    pub copied: bool,
    /// True if reading ended early, so the unread documents come after those read: not a random
    /// sample.
    #[serde(default)]
    pub in_order: bool,
    /// Growth of the document size with age.
    pub growth: Option<Growth>,
    /// Some documents as (age in days, bytes), for a chart of the growth.
    #[serde(default)]
    pub by_age: Vec<(f64, u64)>,
    /// Growth of the document size in documents that were also read on an earlier date.
    pub observed: Option<Observed>,
    /// The source of ages: `_id` or a date field.
    pub age_from: Option<FieldPath>,
    /// Shapes by top-level fields, most frequent first, at most 64.
    pub shapes: Vec<Shape>,
    /// Documents in shapes beyond those.
    pub other_shapes: u64,
    /// A field that predicts the shape.
    pub discriminator: Option<Discriminator>,
    /// Objects whose fields are in a different order than first seen.
    pub reordered_objects: u64,
    /// Objects in all.
    pub objects: u64,
    /// Documents drawn at random, as hashes of their scalars outside arrays; kept only on request.
    pub sample: Vec<SampledDocument>,
    /// Documents that can be recognised on a later date; kept only on request.
    pub tracked: Vec<TrackedDocument>,
}

/// A document drawn at random.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SampledDocument {
    /// Its position among the others, for natural order.
    pub position: u64,
    /// Its scalars, by field.
    pub values: Vec<SampledValue>,
}

/// A scalar of a sampled document.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SampledValue {
    /// Index into [`Profile::fields`].
    pub field: u32,
    /// Its type.
    pub kind: BsonType,
    /// Sort key of the value within one type. For texts: the first eight bytes, or the digits after
    /// a prefix.
    pub order: i64,
    /// The next eight bytes of texts, binaries and ObjectIds; sorts values with the same beginning.
    pub rest: u64,
    /// A hash; equal for equal values.
    pub hash: u64,
}

impl Profile {
    /// A field by path.
    pub fn field(&self, path: &str) -> Option<&Field> {
        self.fields.iter().find(|f| f.path.as_str() == path)
    }

    /// Fields at the top level, in the order first seen.
    pub fn top_level(&self) -> impl Iterator<Item = &Field> {
        self.fields.iter().filter(|f| f.parent.is_none())
    }

    /// Children of a field.
    pub fn children<'a>(&'a self, field: &'a Field) -> impl Iterator<Item = &'a Field> {
        field.children.iter().map(|&at| &self.fields[at])
    }

    /// The parent of a field.
    pub fn parent<'a>(&'a self, field: &Field) -> Option<&'a Field> {
        field.parent.map(|at| &self.fields[at])
    }

    /// The element node of an array field.
    pub fn element<'a>(&'a self, field: &'a Field) -> Option<&'a Field> {
        self.children(field).find(|c| c.shape == FieldShape::Element)
    }

    /// Documents larger than `bytes`: exact for the size limits of the rule book, else from the
    /// distribution.
    pub fn documents_larger_than(&self, bytes: u64) -> u64 {
        self.sizes.larger_than(&self.larger_than, bytes)
    }

    /// Scales an amount measured on the documents read to the whole collection.
    pub fn projected(&self, amount: u64) -> u64 {
        let all = u128::from(amount) * u128::from(self.total.max(self.documents));
        u64::try_from(all / u128::from(self.documents.max(1))).unwrap_or(u64::MAX)
    }

    /// The number of documents read, and the size of the collection.
    pub fn seen(&self) -> crate::Seen {
        let total = self.total.max(self.documents);
        crate::Seen::some(self.documents, total, crate::Unit::Documents, !self.in_order)
    }

    /// The amount examined, for a statement about this many values of a field. The number of values
    /// equals the number of documents if each document has at most one.
    pub fn seen_in(&self, field: &Field, values: u64) -> crate::Seen {
        let seen = self.seen();
        if field.path.in_array() || field.path.has_any_key() { seen } else { seen.showing(values) }
    }
}
