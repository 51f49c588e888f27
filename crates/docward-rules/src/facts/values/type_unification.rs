//! The type that a field of several types should have, what becomes of its other values, and the command
//! that converts them.

use docward_model::{
    BsonType, Collection, Conversion, EpochUnit, Field, Profile, Safety, Step, TextClass,
    UnsetWhere,
};

use crate::facts::values::classes::{self, Class};
use crate::facts::{names, remedies::statements, values::amounts};

/// The results of converting the values outside of the main class.
#[derive(Default)]
pub struct Outcome {
    /// Those that convert.
    pub converts: u64,
    /// Empty strings, which become null.
    pub empty: u64,
    /// Those that would lose their leading zeros.
    pub padded: u64,
    /// `false` beside values of another type, which stands for "no value".
    pub none: u64,
    /// Those that need a decision.
    pub stuck: u64,
}

/// The class to settle on: what most values are, unless the strings are numbers or dates and such
/// values exist.
pub fn main_class(field: &Field, found: &[(Class, u64)]) -> Class {
    // An id is what documents are known by elsewhere and cannot be changed in place: the fewest are.
    if field.path.as_str() == "_id" {
        let most = found.iter().rev().max_by_key(|(_, n)| *n);
        return most.map_or(Class::Other, |(class, _)| *class);
    }
    if is_moment(field, found) {
        return Class::Date;
    }
    // Empty strings, and `false` beside values of another type, stand for "no value".
    let is_value = |class: Class| match class {
        Class::Bool => !is_none(field),
        Class::Text => field.text.as_ref().is_none_or(|t| t.of(TextClass::Empty) != t.total()),
        _ => true,
    };
    let with_values: Vec<(Class, u64)> =
        found.iter().copied().filter(|(class, _)| is_value(*class)).collect();
    let found = if with_values.is_empty() { found } else { &with_values[..] };
    // A single value becomes a list of one; a list does not become a single value.
    if found.len() == 2 && found.iter().any(|(c, _)| *c == Class::Array) {
        return Class::Array;
    }
    // Rare types (regular expressions, code) are never the intended type of a field.
    let usual = found.iter().map(|(class, _)| *class).find(|c| *c != Class::Other);
    let first = usual.unwrap_or(Class::Other);
    if first == Class::Text
        && let Some(class) = beside_one_word(field, found)
    {
        return class;
    }
    if first != Class::Text {
        let of = |class| found.iter().find(|(c, _)| *c == class).map_or(0, |(_, n)| *n);
        // An object around a number is the odd one, even if it is somewhat more frequent.
        if first == Class::Object && found.len() > 2 && of(Class::Number) * 2 >= of(first) {
            return Class::Number;
        }
        // Leading zeros belong to a code, if it is not a single slip. Numbers would lose them.
        let is_code = field.text.as_ref().is_some_and(|strings| {
            let some = strings.total() - strings.of(TextClass::Empty);
            let padded = strings.of(TextClass::LeadingZero);
            padded >= REPEATED
                && padded * 10 >= some * 9
                && padded * CODES_ONE_IN >= field.types.non_null()
        }) && field.number.is_some_and(|number| number.fractional_doubles == 0);
        return if first == Class::Number && is_code { Class::Text } else { first };
    }
    let Some(strings) = &field.text else { return first };
    let some = (strings.total() - strings.of(TextClass::Empty)) as f64;
    for (class, converts) in [
        (Class::Number, strings.of(TextClass::Integer) + strings.of(TextClass::Decimal)),
        (Class::Date, strings.count(TextClass::is_date)),
        (Class::ObjectId, strings.of(TextClass::ObjectIdHex)),
        (Class::Bool, strings.of(TextClass::Boolean)),
    ] {
        if found.iter().any(|(c, _)| *c == class) && converts as f64 >= 0.9 * some {
            return class;
        }
    }
    first
}

/// Whether the booleans of a field of several types are all `false`: PHP and others write it for "no value".
pub fn is_none(field: &Field) -> bool {
    let bools = field.types.of(BsonType::Bool);
    let values = field.enumeration.as_deref().unwrap_or_default();
    bools > 0
        && bools < field.types.non_null()
        && !values.iter().any(|(value, _)| value == "true")
        && values.iter().any(|(value, n)| value == "false" && *n == bools)
}

/// Whether a field holds moments in two forms: text, and seconds or milliseconds since 1970.
fn is_moment(field: &Field, found: &[(Class, u64)]) -> bool {
    let has = |class| found.iter().any(|(c, _)| *c == class);
    let Some((strings, number)) = field.text.as_ref().zip(field.number) else { return false };
    let some = strings.total() - strings.of(TextClass::Empty);
    let is_rest = |(c, _): &(Class, u64)| matches!(c, Class::Number | Class::Text | Class::Date);
    has(Class::Number)
        && has(Class::Text)
        && found.iter().all(is_rest)
        && is_epoch(number.min, number.max)
        && strings.count(TextClass::is_date) as f64 >= 0.9 * some as f64
}

/// Returns the class of the other values if all strings are the same word, such as `unknown`. This word means "no
/// value".
fn beside_one_word(field: &Field, found: &[(Class, u64)]) -> Option<Class> {
    let strings = field.text.as_ref()?;
    // The enumeration holds values of all types.
    let values = field.enumeration.as_ref()?;
    let named = strings.of(TextClass::Other);
    let all_are_one = named + strings.of(TextClass::Empty) == strings.total()
        && values.iter().any(|(word, n)| *n == named && word.parse::<f64>().is_err());
    let (other, n) = found.iter().find(|(class, _)| {
        matches!(class, Class::Number | Class::Date | Class::ObjectId | Class::Bool)
    })?;
    // The other values differ; a second word would be the other half of a pair.
    let do_differ = values.len() as u64 > REPEATED;
    (all_are_one && do_differ && found.len() == 2 && named >= REPEATED && *n >= REPEATED)
        .then_some(*other)
}

/// Values are codes if at least one value of this number has leading zeros.
const CODES_ONE_IN: u64 = 20;

/// Fewer equal values may be chance.
const REPEATED: u64 = 3;

/// The type to convert to, as `$convert` names it.
pub fn target_type(profile: &Profile, field: &Field, main: Class) -> &'static str {
    match main {
        Class::Number => number_type(profile, field).name(),
        Class::Text => "string",
        Class::Object => "object",
        Class::Array => "array",
        Class::Bool => "bool",
        Class::Date => "date",
        Class::ObjectId => "objectId",
        Class::Binary => "binData",
        Class::Other => "one type",
    }
}

/// Number of digits that a double, an int and a long always keep.
const DOUBLE_DIGITS: u64 = 15;
const INT_DIGITS: u64 = 9;

/// The type that holds every number of the field, those in its strings included.
fn number_type(profile: &Profile, field: &Field) -> BsonType {
    let has = |kind| field.types.of(kind) > 0;
    let text = |class| field.text.as_ref().map_or(0, |text| text.of(class));
    let digits = field.text.as_ref().map_or(0, |text| text.lengths.max);
    let largest = field.number.map_or(0.0, |n| n.min.abs().max(n.max.abs()));
    let in_doubles = field.number.is_some_and(|n| n.fractional_doubles + n.not_finite > 0);
    let fractions = in_doubles || text(TextClass::Decimal) > 0;
    let exact_in_double = largest <= 2_f64.powi(53) && digits <= DOUBLE_DIGITS;
    if amounts::is_money_field(profile, field)
        || has(BsonType::Decimal)
        || text(TextClass::HugeInteger) > 0
        || (fractions && !exact_in_double)
        || largest >= 2_f64.powi(63)
    {
        return BsonType::Decimal;
    }
    let first = field.types.values().into_iter().map(|(kind, _)| kind).find(|k| k.is_number());
    match first {
        _ if fractions => BsonType::Double,
        Some(BsonType::Double) | None if exact_in_double => BsonType::Double,
        Some(BsonType::Int) if largest <= f64::from(i32::MAX) && digits <= INT_DIGITS => {
            BsonType::Int
        }
        _ => BsonType::Long,
    }
}

/// Numbers that have to be converted along with the odd values, because the field would mix them with the target.
fn other_numbers(field: &Field, target: BsonType) -> impl Iterator<Item = BsonType> {
    let whole = |kind| matches!(kind, BsonType::Int | BsonType::Long);
    let kinds = field.types.values().into_iter().map(|(kind, _)| kind);
    kinds
        .filter(move |kind| kind.is_number() && *kind != target && !(whole(*kind) && whole(target)))
}

/// Counts what becomes of `n` values of an odd class.
pub fn settle(
    profile: &Profile,
    field: &Field,
    main: Class,
    class: Class,
    n: u64,
    out: &mut Outcome,
) {
    if class == Class::Bool && main != Class::Bool && is_none(field) {
        out.none += n;
        return;
    }
    if (main, class) == (Class::Text, Class::Number) {
        // The text `NaN` would look like a name.
        let not_finite = field.number.map_or(0, |numbers| numbers.not_finite);
        out.converts += n.saturating_sub(not_finite);
        out.stuck += not_finite;
        return;
    }
    let Some(strings) = field.text.as_ref().filter(|_| class == Class::Text) else {
        let converts = match (main, class) {
            // Anything can be wrapped in an array; scalars have a text.
            (Class::Array, _) => true,
            // Servers before 8.0 do not make text of binaries.
            (Class::Text, c) => {
                !matches!(c, Class::Object | Class::Array | Class::Binary | Class::Other)
            }
            (Class::Number, Class::Bool) => true,
            (Class::Number, Class::Object) => wrapped_number(profile, field).is_some(),
            (Class::Bool, Class::Number) => {
                field.number.is_some_and(|x| x.min >= 0.0 && x.max <= 1.0)
            }
            (Class::Date, Class::Number) => field.number.is_some_and(|x| is_epoch(x.min, x.max)),
            _ => false,
        };
        *(if converts { &mut out.converts } else { &mut out.stuck }) += n;
        return;
    };
    let empty = strings.of(TextClass::Empty);
    if main == Class::Array {
        out.empty += empty;
        out.converts += n.saturating_sub(empty);
        return;
    }
    let (converts, padded) = match main {
        Class::Number => (
            strings.of(TextClass::Integer)
                + strings.of(TextClass::Decimal)
                + strings.of(TextClass::HugeInteger),
            strings.of(TextClass::LeadingZero),
        ),
        Class::Date => (strings.count(|c| c.is_date() && c != TextClass::DateAmbiguous), 0),
        Class::Bool => (strings.of(TextClass::Boolean), 0),
        Class::ObjectId => (strings.of(TextClass::ObjectIdHex), 0),
        _ => (0, 0),
    };
    out.empty += empty;
    out.converts += converts;
    out.padded += padded;
    out.stuck += n.saturating_sub(empty + converts + padded);
}

/// `{value: 99}`: the number in objects that hold nothing else, where a path can reach it.
fn wrapped_number<'a>(profile: &'a Profile, field: &'a Field) -> Option<&'a Field> {
    let inside: Vec<&Field> = profile.children(field).collect();
    let [only] = inside[..] else { return None };
    let named = matches!(
        names::normalised(&only.name).as_str(),
        "value" | "amount" | "val" | "numberdecimal" | "numberint" | "numberlong" | "numberdouble"
    ) && !only.name.contains(['.', '$']);
    let number = classes::is_only(only, Class::Number)
        || only.text.as_ref().is_some_and(|t| {
            t.total() == only.types.non_null()
                && t.total() > 0
                && t.count(|c| c.is_number()) == t.total()
        });
    // An object without it would become empty.
    let always = only.types.non_null() == field.types.of(BsonType::Object);
    (named && number && always).then_some(only)
}

/// Seconds or milliseconds since 1970 between 1990 and 2100.
fn is_epoch(min: f64, max: f64) -> bool {
    is_epoch_seconds(min, max) || (min >= 631_152_000_000.0 && max <= 4_102_444_800_000.0)
}

fn is_epoch_seconds(min: f64, max: f64) -> bool {
    min >= 631_152_000.0 && max <= 4_102_444_800.0
}

/// The step that converts what can be converted; `None` where none does it in place.
pub fn fix(
    collection: &Collection,
    profile: &Profile,
    field: &Field,
    main: Class,
    target: &str,
    only_empty: bool,
) -> Option<(Safety, Step)> {
    if field.path.as_str() == "_id" || !statements::can_be_written(profile, field) {
        return None;
    }
    let namespace = collection.namespace.clone();
    if only_empty {
        let path = field.path.clone();
        let unset = Step::UnsetField { namespace, path, documents: UnsetWhere::Empty };
        return (!field.path.in_array()).then_some((Safety::Guarded, unset));
    }
    if !matches!(main, Class::Number | Class::Text | Class::Bool | Class::Date | Class::ObjectId) {
        return None;
    }
    let odd: Vec<BsonType> = field
        .types
        .values()
        .into_iter()
        .map(|(kind, _)| kind)
        .filter(|k| Class::of(*k).is_some_and(|c| c != main))
        .filter(|k| match k {
            BsonType::Object => main == Class::Number && wrapped_number(profile, field).is_some(),
            BsonType::Array => false,
            k if main == Class::Date && k.is_number() => {
                field.number.is_some_and(|n| is_epoch(n.min, n.max))
            }
            _ => true,
        })
        .collect();
    if odd.is_empty() {
        return None;
    }
    let target = BsonType::from_name(target)?;
    let odd = odd.into_iter().chain(other_numbers(field, target).filter(|_| main == Class::Number));
    let odd: Vec<BsonType> = odd.collect();
    let conversion = conversion(profile, field, main, &odd);
    let step = statements::convert(&namespace, &field.path, odd, [target], conversion);
    Some((Safety::Guarded, step))
}

/// Returns the conversion of the values of other types. Values that cannot be converted stay unchanged.
fn conversion(profile: &Profile, field: &Field, main: Class, odd: &[BsonType]) -> Conversion {
    let inner = wrapped_number(profile, field).filter(|_| odd.contains(&BsonType::Object));
    let epoch = (main == Class::Date && odd.iter().any(|k| k.is_number())).then(|| {
        match field.number.is_some_and(|n| is_epoch_seconds(n.min, n.max)) {
            true => EpochUnit::Seconds,
            false => EpochUnit::Milliseconds,
        }
    });
    Conversion::Cast {
        inner: inner.map(|inner| inner.name.clone()),
        epoch,
        reads_words: main == Class::Bool && odd.contains(&BsonType::String),
        empty_to_null: field.text.as_ref().is_some_and(|t| t.of(TextClass::Empty) > 0),
    }
}
