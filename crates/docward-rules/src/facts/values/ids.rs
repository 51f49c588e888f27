//! The kind and order of the values in `_id` (DM-09.3, DM-09.4, DM-10.*). The rules about ids share
//! this decision, so exactly one of them reports it.

use crate::facts::thresholds::{t003, t008};
use docward_model::{Field, Namespace, Profile, Settings, TextClass, TextProfile};

use crate::facts::names::{self, meaning};
use crate::facts::values::classes::{Class, classes, is_only};

/// Numbers that are assigned: digits by form, codes by nature.
const GIVEN_OUT: &[&str] =
    &["tax", "vat", "national", "citizen", "personal", "registration", "serial", "bank", "iban"];

/// Minimum rank correlation with the storage order for ids to count as increasing, regardless of single neighbours.
const RISING_IN_THE_LARGE: f64 = 0.95;

/// The thresholds that divide the work between the rules about ids, as configured for a namespace:
/// `T003` reports digits, `T008` the order of ids.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// `T003`: minimum share of digits.
    pub digit_share: f64,
    /// `T003`: minimum number of values.
    pub digit_values: u64,
    /// `T008`: minimum share of increasing neighbours.
    pub rising_share: f64,
    /// `T008`: minimum number of neighbours to compare.
    pub order_pairs: u64,
    /// `T008`: number of documents from which the order matters.
    pub order_documents: u64,
}

impl Limits {
    /// Returns the limits as configured for a namespace.
    pub fn of(settings: &Settings, namespace: &Namespace) -> Self {
        let t003 = |threshold| t003::limit(settings, namespace, threshold);
        let t008 = |threshold| t008::limit(settings, namespace, threshold);
        Self {
            digit_share: t003(&t003::SHARE),
            digit_values: t003(&t003::MIN_VALUES) as u64,
            rising_share: t008(&t008::RISING),
            order_pairs: t008(&t008::MIN_PAIRS) as u64,
            order_documents: t008(&t008::MIN_DOCUMENTS) as u64,
        }
    }

    /// The digits of a field, by these thresholds.
    pub fn digits(&self, field: &Field) -> Option<Digits> {
        digits(field, self.digit_share, self.digit_values)
    }
}

/// Strings of an id-like field that are digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digits {
    /// Strings with at least one character.
    pub strings: u64,
    /// Integers of 64 bits.
    pub integers: u64,
    /// Digits that begin with a zero.
    pub leading_zero: u64,
}

/// The digits of a field named like an id whose strings are numbers; `None` for codes, and for
/// numbers that do not fit 64-bit integers.
pub fn digits(field: &Field, share: f64, min: u64) -> Option<Digits> {
    let leaf = field.path.leaf();
    let spoken = names::words(leaf);
    let bank_account = matches!(&spoken[..], [.., a, n] if a == "account" && n != "id");
    let given_out = bank_account || spoken.iter().any(|w| GIVEN_OUT.contains(&w.as_str()));
    if !meaning::is_id(leaf) || meaning::is_code(leaf) || given_out {
        return None;
    }
    // The rule about mixed types reports numbers and strings in one field.
    if !is_only(field, Class::Text) {
        return None;
    }
    let text: &TextProfile = field.text.as_ref()?;
    let strings = text.total() - text.of(TextClass::Empty);
    let integers = text.of(TextClass::Integer);
    let leading_zero = text.of(TextClass::LeadingZero);
    let enough = (integers + leading_zero) as f64 >= share * strings as f64;
    (strings > 0 && strings >= min && enough && text.of(TextClass::HugeInteger) == 0)
        .then_some(Digits { strings, integers, leading_zero })
}

/// The order of consecutive `_id`s in natural order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Order {
    /// They increase.
    Rising,
    /// They decrease: an export in descending order, or a descending key.
    Falling,
    /// About half of the neighbours increase, as in a random order.
    Random,
    /// An order between these.
    Loose,
    /// There are too few values.
    Unknown,
}

/// The kind of `_id`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdKind {
    /// The default.
    ObjectId,
    /// Random UUIDs (version 4) as text.
    RandomUuidText,
    /// Random UUIDs (version 4) as binary.
    RandomUuidBinary,
    /// Digests as text, in no increasing order.
    Digest,
    /// Text of one length without meaning, in random order.
    RandomText,
    /// UUIDs of version 6 or 7, text or binary.
    OrderedUuid,
    /// ULIDs.
    Ulid,
    /// ObjectIds as text.
    ObjectIdText,
    /// Digits as text.
    Digits,
    /// Numbers.
    Number,
    /// Text with a meaning: names, codes, addresses.
    Natural,
    /// Objects.
    Compound,
    /// Dates.
    Date,
    /// Binaries other than UUIDs of known versions.
    Binary,
    /// Several classes, or a rare one.
    Mixed,
}

/// The classification of `_id` of a collection.
#[derive(Clone, Copy, Debug)]
pub struct Id<'a> {
    /// The field.
    pub field: &'a Field,
    /// The kind of most values.
    pub kind: IdKind,
    /// The number of ids of that kind.
    pub count: u64,
    /// The order.
    pub order: Order,
    /// Share of increasing neighbours.
    pub rising: f64,
    /// The number of compared neighbours.
    pub pairs: u64,
}

/// Classifies `_id`; `None` if there is none.
pub fn judge(profile: &Profile, rising_share: f64, min_pairs: u64) -> Option<Id<'_>> {
    let field = profile.field("_id")?;
    let pairs = profile.id_order.pairs;
    let rising = if pairs == 0 { 0.0 } else { profile.id_order.rising as f64 / pairs as f64 };
    // Replica set members that copy many inserts at a time store them in runs, and concurrent
    // inserts overtake each other. Neighbours may then decrease although ids increase overall.
    let in_the_large = field.natural_order.is_some_and(|order| order >= RISING_IN_THE_LARGE);
    let order = if pairs < min_pairs.max(1) {
        Order::Unknown
    } else if rising >= rising_share || in_the_large {
        Order::Rising
    } else if rising <= 1.0 - rising_share {
        Order::Falling
    } else if (0.35..=0.65).contains(&rising) {
        Order::Random
    } else {
        Order::Loose
    };
    let (kind, count) = kind(field, order)?;
    Some(Id { field, kind, count, order, rising, pairs })
}

fn kind(field: &Field, order: Order) -> Option<(IdKind, u64)> {
    let all = field.types.non_null();
    let most = |n: u64| 2 * n > all;
    if let Some(blob) = &field.blob {
        if most(blob.uuid_v4) {
            return Some((IdKind::RandomUuidBinary, blob.uuid_v4));
        }
        if most(blob.uuid_v7) {
            return Some((IdKind::OrderedUuid, blob.uuid_v7));
        }
    }
    if let Some(text) = &field.text {
        let ordered = matches!(order, Order::Rising | Order::Falling);
        for (class, kind) in [
            (TextClass::UuidV4, IdKind::RandomUuidText),
            (TextClass::UuidV7, IdKind::OrderedUuid),
            (TextClass::Ulid, IdKind::Ulid),
            (TextClass::ObjectIdHex, IdKind::ObjectIdText),
            (TextClass::HexDigest, if ordered { IdKind::Natural } else { IdKind::Digest }),
            (
                TextClass::Uuid,
                if order == Order::Random { IdKind::RandomText } else { IdKind::Natural },
            ),
            (TextClass::Integer, IdKind::Digits),
        ] {
            if most(text.of(class)) {
                return Some((kind, text.of(class)));
            }
        }
    }
    let (class, n) = match classes(field)[..] {
        [] => return None,
        [one] => one,
        [(_, n), ..] => return Some((IdKind::Mixed, n)),
    };
    let kind = match class {
        Class::ObjectId => IdKind::ObjectId,
        Class::Number => IdKind::Number,
        Class::Text if order == Order::Random && is_meaningless(field) => IdKind::RandomText,
        Class::Text => IdKind::Natural,
        Class::Object => IdKind::Compound,
        Class::Date => IdKind::Date,
        Class::Binary => IdKind::Binary,
        Class::Array | Class::Bool | Class::Other => IdKind::Mixed,
    };
    Some((kind, n))
}

/// Text of one length, long enough, that alternates letters and digits: a token, not a word.
/// Natural keys (addresses, slugs, codes of a country) have varying lengths or are short.
pub fn is_meaningless(field: &Field) -> bool {
    let Some(text) = &field.text else { return false };
    let one_length = text.lengths.min == text.lengths.max && text.lengths.min >= 16;
    let tokens = field.examples.iter().filter(|e| is_token(e)).count();
    one_length
        && text.of(TextClass::Other) == text.total()
        && tokens > 0
        && 2 * tokens > field.examples.len()
}

fn is_token(example: &str) -> bool {
    let value: Vec<char> = example
        .trim_matches('"')
        .chars()
        .take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '+' | '/' | '='))
        .collect();
    let class = |c: char| match c {
        'a'..='z' => 0,
        'A'..='Z' => 1,
        '0'..='9' => 2,
        _ => 3,
    };
    let switches = value.windows(2).filter(|w| class(w[0]) != class(w[1])).count();
    value.len() >= 12
        && value.iter().any(char::is_ascii_digit)
        && value.iter().any(char::is_ascii_alphabetic)
        && 4 * switches >= value.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_told_from_words() {
        for token in ["V1StGXR8_Z5jdHi6B-myT", "\"a81bc81bdead4e5dabff9\"", "p4Lq9Zt2Xw7Rb1Nc8"] {
            assert!(is_token(token), "{token}");
        }
        for word in
            ["alice@example.com", "order-status-pending-approval", "2024-03-15-000001", "DE"]
        {
            assert!(!is_token(word), "{word}");
        }
    }
}
