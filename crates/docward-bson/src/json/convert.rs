//! Converts typed values: from their text or their parts to BSON bytes.
//!
//! `wrapper` parses the parts in Extended JSON, `shell` in function calls; their meaning is the
//! same and is implemented here.

use std::str::FromStr;

use bson::raw::RawBsonRef;

use super::error::{Error, offset, quote};
use super::reader::{Read, Reader, element};
use super::{date, number};

/// The types of values without a notation in JSON itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    ObjectId,
    Date,
    Int32,
    Int64,
    Double,
    Decimal,
    Uuid,
    Binary,
    HexBinary,
    Regex,
    Timestamp,
    Code,
    Symbol,
    MinKey,
    MaxKey,
    Undefined,
    DbPointer,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::ObjectId => "ObjectId",
            Self::Date => "date",
            Self::Int32 => "int32",
            Self::Int64 => "int64",
            Self::Double => "double",
            Self::Decimal => "decimal128",
            Self::Uuid => "UUID",
            Self::Binary | Self::HexBinary => "binary value",
            Self::Regex => "regular expression",
            Self::Timestamp => "timestamp",
            Self::Code => "JavaScript code",
            Self::Symbol => "symbol",
            Self::MinKey => "MinKey",
            Self::MaxKey => "MaxKey",
            Self::Undefined => "undefined value",
            Self::DbPointer => "DBPointer",
        }
    }

    fn expected(self) -> &'static str {
        match self {
            Self::ObjectId => "24 hexadecimal digits",
            Self::Date => {
                "an ISO 8601 date such as \"2024-05-31T12:00:00Z\" or a whole number of milliseconds"
            }
            Self::Int32 => "a whole number from -2147483648 to 2147483647",
            Self::Int64 => "a whole number from -9223372036854775808 to 9223372036854775807",
            Self::Double => "a number, \"NaN\", \"Infinity\" or \"-Infinity\"",
            Self::Decimal => "a decimal number of at most 34 digits",
            Self::Uuid => "32 hexadecimal digits, in groups of 8-4-4-4-12 or in one",
            Self::Binary => "base64 text and a subtype from 0 to 255 (in JSON as hexadecimal text)",
            Self::HexBinary => "a subtype from 0 to 255 and hexadecimal text",
            Self::Regex => "a pattern and options, both text",
            Self::Timestamp => "seconds `t` and increment `i`, both from 0 to 4294967295",
            Self::Code => "code as text and, at most, a scope document",
            Self::Symbol => "text",
            Self::MinKey | Self::MaxKey => "nothing but the number 1",
            Self::Undefined => "nothing but `true`",
            Self::DbPointer => "a namespace `$ref` and an ObjectId `$id`",
        }
    }

    /// The error for a value with other content.
    pub(super) fn invalid(self, at: usize, found: String) -> Box<Error> {
        let (kind, expected) = (self.name(), self.expected());
        Box::new(Error::InvalidValue { at: offset(at), kind, expected, found })
    }
}

/// A value ready to be written.
pub(super) enum Built {
    /// A type, and a value of up to 16 bytes with its length.
    Fixed(u8, [u8; 16], usize),
    /// A type, and a value of any length.
    Bytes(u8, Vec<u8>),
}

fn fixed<const N: usize>(element: u8, bytes: [u8; N]) -> Built {
    let mut room = [0; 16];
    room[..N].copy_from_slice(&bytes);
    Built::Fixed(element, room, N)
}

/// Builds a value of a kind from one text; `None` if the text is invalid or the kind needs more.
pub(super) fn from_text(kind: Kind, text: &[u8]) -> Option<Built> {
    Some(match kind {
        Kind::ObjectId => fixed(element::OBJECT_ID, hexadecimal::<12>(text)?),
        Kind::Date => fixed(element::DATE, date::parse(text)?.to_le_bytes()),
        Kind::Int32 => fixed(element::INT32, integer::<i32>(text)?.to_le_bytes()),
        Kind::Int64 => fixed(element::INT64, integer::<i64>(text)?.to_le_bytes()),
        Kind::Double => fixed(element::DOUBLE, number::double_from(text)?.to_le_bytes()),
        Kind::Decimal => fixed(element::DECIMAL, decimal(text)?),
        Kind::Uuid => binary(4, &uuid(text)?),
        Kind::Symbol => Built::Bytes(element::SYMBOL, string(text)),
        Kind::Code => Built::Bytes(element::CODE, string(text)),
        _ => return None,
    })
}

/// Builds a value of a kind from one or two parts; `None` if they are invalid.
pub(super) fn from_parts(
    kind: Kind,
    first: RawBsonRef<'_>,
    second: Option<RawBsonRef<'_>>,
) -> Option<Built> {
    use RawBsonRef as Value;
    Some(match (kind, first, second) {
        (Kind::Regex, Value::String(pattern), options) => {
            regex(pattern.as_bytes(), text_or_empty(options)?.as_bytes())?
        }
        (Kind::Regex, Value::RegularExpression(regex), None) => {
            // `new RegExp(/a/)`
            self::regex(regex.pattern.as_str().as_bytes(), regex.options.as_str().as_bytes())?
        }
        (Kind::Binary, Value::String(base64), subtype) => {
            binary(self::subtype(subtype)?, &decode_base64(base64.as_bytes())?)
        }
        (Kind::HexBinary, Value::String(hex), subtype) => {
            binary(self::subtype(subtype)?, &decode_hexadecimal(hex.as_bytes())?)
        }
        (Kind::Timestamp, seconds, Some(increment)) => {
            let (t, i) = (u32::try_from(whole(seconds)?), u32::try_from(whole(increment)?));
            let value = u64::from(t.ok()?) << 32 | u64::from(i.ok()?);
            fixed(element::TIMESTAMP, value.to_le_bytes())
        }
        (Kind::Code, Value::String(code), Some(Value::Document(scope))) => {
            let code = string(code.as_bytes());
            let length = 4 + code.len() + scope.as_bytes().len();
            let mut bytes = (length as u32).to_le_bytes().to_vec();
            bytes.extend_from_slice(&code);
            bytes.extend_from_slice(scope.as_bytes());
            Built::Bytes(element::CODE_WITH_SCOPE, bytes)
        }
        (Kind::DbPointer, Value::String(namespace), Some(Value::ObjectId(id))) => {
            let mut bytes = string(namespace.as_bytes());
            bytes.extend_from_slice(&id.bytes());
            Built::Bytes(element::DB_POINTER, bytes)
        }
        (Kind::ObjectId, Value::ObjectId(id), None) => fixed(element::OBJECT_ID, id.bytes()),
        (Kind::Date, Value::DateTime(date), None) => {
            fixed(element::DATE, date.timestamp_millis().to_le_bytes())
        }
        (Kind::MinKey, value, None) if whole(value) == Some(1) => fixed(element::MIN_KEY, []),
        (Kind::MaxKey, value, None) if whole(value) == Some(1) => fixed(element::MAX_KEY, []),
        (Kind::Undefined, Value::Boolean(true), None) => fixed(element::UNDEFINED, []),
        (_, Value::String(text), None) => from_text(kind, text.as_bytes())?,
        (Kind::Double, Value::Double(value), None) => fixed(element::DOUBLE, value.to_le_bytes()),
        (Kind::Decimal, Value::Double(value), None) => {
            // The format of numbers in JavaScript, which is the value that the shell would pass on.
            let text = if value.abs() < 1e21 { format!("{value}") } else { format!("{value:e}") };
            fixed(element::DECIMAL, decimal(text.as_bytes())?)
        }
        (Kind::Decimal, Value::Decimal128(value), None) => fixed(element::DECIMAL, value.bytes()),
        (_, value, None) => {
            let value = whole(value)?;
            match kind {
                Kind::Date => fixed(element::DATE, value.to_le_bytes()),
                Kind::Int32 => fixed(element::INT32, i32::try_from(value).ok()?.to_le_bytes()),
                Kind::Int64 => fixed(element::INT64, value.to_le_bytes()),
                Kind::Double => fixed(element::DOUBLE, (value as f64).to_le_bytes()),
                Kind::Decimal => fixed(element::DECIMAL, decimal(value.to_string().as_bytes())?),
                _ => return None,
            }
        }
        _ => return None,
    })
}

impl Reader<'_> {
    /// Writes the value built from a text at `at`.
    pub(super) fn put_text(&mut self, kind: Kind, text: &[u8], at: usize) -> Read<u8> {
        match from_text(kind, text) {
            Some(built) => Ok(self.put_built(built)),
            None => {
                let mut found = quote(text);
                if kind == Kind::ObjectId && text.len() != 24 {
                    let count = String::from_utf8_lossy(text).chars().count();
                    let plural = if count == 1 { "" } else { "s" };
                    found += &format!(" with {count} character{plural}");
                }
                Err(kind.invalid(at, found))
            }
        }
    }

    /// Writes a value.
    pub(super) fn put_built(&mut self, built: Built) -> u8 {
        match built {
            Built::Fixed(element, bytes, length) => {
                self.put_bytes(&bytes[..length]);
                element
            }
            Built::Bytes(element, bytes) => {
                self.put_bytes(&bytes);
                element
            }
        }
    }
}

/// Describes a value, for errors.
pub(super) fn show(value: Option<RawBsonRef<'_>>) -> String {
    match value {
        None => "nothing".to_owned(),
        Some(RawBsonRef::String(text)) => quote(text.as_bytes()),
        Some(RawBsonRef::Int32(value)) => format!("`{value}`"),
        Some(RawBsonRef::Int64(value)) => format!("`{value}`"),
        Some(RawBsonRef::Double(value)) => format!("`{value}`"),
        Some(RawBsonRef::Boolean(value)) => format!("`{value}`"),
        Some(RawBsonRef::Null) => "`null`".to_owned(),
        Some(RawBsonRef::Document(_)) => "a document".to_owned(),
        Some(RawBsonRef::Array(_)) => "an array".to_owned(),
        Some(RawBsonRef::ObjectId(_)) => "an ObjectId".to_owned(),
        Some(RawBsonRef::DateTime(_)) => "a date".to_owned(),
        Some(_) => "a value of another type".to_owned(),
    }
}

/// An integer of any type.
fn whole(value: RawBsonRef<'_>) -> Option<i64> {
    match value {
        RawBsonRef::Int32(value) => Some(value.into()),
        RawBsonRef::Int64(value) => Some(value),
        // Beyond 2^53 a double does not identify a single integer.
        RawBsonRef::Double(value) if value.fract() == 0.0 && value.abs() <= 9e15 => {
            Some(value as i64)
        }
        _ => None,
    }
}

/// Parses an integer in its usual form only.
fn integer<T: FromStr>(text: &[u8]) -> Option<T> {
    if number::form(text) != Some(number::Form::Whole) {
        return None;
    }
    std::str::from_utf8(text).ok()?.parse().ok()
}

fn decimal(text: &[u8]) -> Option<[u8; 16]> {
    if let Some(bytes) = plain_decimal(text) {
        return Some(bytes);
    }
    let unsigned = text.strip_prefix(b"-").or(text.strip_prefix(b"+")).unwrap_or(text);
    let named = ["nan", "inf", "infinity"]
        .iter()
        .any(|name| unsigned.eq_ignore_ascii_case(name.as_bytes()));
    // `007` is not a number elsewhere; here it is, because the specification has such cases.
    let zeros = unsigned.iter().take_while(|&&byte| byte == b'0').count();
    let significant = &unsigned[zeros..];
    let zero_only = zeros > 0 && significant.is_empty();
    let signed_twice = matches!(unsigned.first(), Some(b'-' | b'+'));
    if !named && !zero_only && (signed_twice || !is_decimal(significant, zeros > 0)) {
        return None;
    }
    let text = std::str::from_utf8(text).ok()?;
    bson::Decimal128::from_str(text).ok().map(|value| value.bytes())
}

/// Parses digits with an optional sign and decimal point that fit 64 bits, the usual form of
/// amounts. The `bson` crate builds its decimals bit by bit, which would take a sixth of the time
/// for a file of orders.
fn plain_decimal(text: &[u8]) -> Option<[u8; 16]> {
    const MAX_DIGITS: usize = 18;
    const EXPONENT_BIAS: u64 = 6176;
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, text),
    };
    if digits.len() > MAX_DIGITS + 1 {
        return None;
    }
    let mut coefficient: u64 = 0;
    let mut decimals: Option<u64> = None;
    for (at, &byte) in digits.iter().enumerate() {
        match byte {
            b'0'..=b'9' => {
                coefficient = coefficient * 10 + u64::from(byte - b'0');
                decimals = decimals.map(|n| n + 1);
            }
            b'.' if decimals.is_none() && at > 0 && at + 1 < digits.len() => decimals = Some(0),
            _ => return None,
        }
    }
    if digits.is_empty() || (decimals.is_none() && digits.len() > MAX_DIGITS) {
        return None;
    }
    let high = (u64::from(negative) << 63) | ((EXPONENT_BIAS - decimals.unwrap_or(0)) << 49);
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&coefficient.to_le_bytes());
    bytes[8..].copy_from_slice(&high.to_le_bytes());
    Some(bytes)
}

/// Returns whether a text, possibly after leading zeros, is a number.
fn is_decimal(significant: &[u8], after_zeros: bool) -> bool {
    let starts_with_digit = significant.first().is_some_and(u8::is_ascii_digit);
    if after_zeros && !starts_with_digit {
        number::form(&[b"0", significant].concat()).is_some()
    } else {
        number::form(significant).is_some()
    }
}

/// A BSON string: length, text, NUL.
fn string(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len() + 5);
    bytes.extend_from_slice(&(text.len() as u32 + 1).to_le_bytes());
    bytes.extend_from_slice(text);
    bytes.push(0);
    bytes
}

fn text_or_empty(value: Option<RawBsonRef<'_>>) -> Option<&str> {
    match value {
        None => Some(""),
        Some(RawBsonRef::String(text)) => Some(text),
        Some(_) => None,
    }
}

/// Builds a regular expression, with its options in the order of BSON; `None` if it contains NUL.
pub(super) fn regex(pattern: &[u8], options: &[u8]) -> Option<Built> {
    if pattern.contains(&0) || options.contains(&0) {
        return None;
    }
    let mut bytes = Vec::with_capacity(pattern.len() + options.len() + 2);
    bytes.extend_from_slice(pattern);
    bytes.push(0);
    let first = bytes.len();
    bytes.extend_from_slice(options);
    // There are no options beyond ASCII; sorting their bytes would produce invalid UTF-8.
    if options.is_ascii() {
        bytes[first..].sort_unstable();
    }
    bytes.push(0);
    Some(Built::Bytes(element::REGEX, bytes))
}

fn binary(subtype: u8, content: &[u8]) -> Built {
    let mut bytes = Vec::with_capacity(content.len() + 9);
    if subtype == 2 {
        // The old binary subtype contains its length a second time.
        bytes.extend_from_slice(&(content.len() as u32 + 4).to_le_bytes());
        bytes.push(subtype);
    }
    bytes.extend_from_slice(&(content.len() as u32).to_le_bytes());
    if subtype != 2 {
        bytes.push(subtype);
    }
    bytes.extend_from_slice(content);
    Built::Bytes(element::BINARY, bytes)
}

/// The subtype of a binary value: hexadecimal text in JSON, a number in the shell.
fn subtype(value: Option<RawBsonRef<'_>>) -> Option<u8> {
    match value {
        None => Some(0),
        Some(RawBsonRef::String(text)) => {
            let digits = text.strip_prefix("0x").unwrap_or(text);
            // Version 1 wrote negative subtypes with eight digits: ffffff80 for 80.
            let digits = digits.strip_prefix("ffffff").filter(|d| d.len() == 2).unwrap_or(digits);
            if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                return None;
            }
            u8::from_str_radix(digits, 16).ok()
        }
        Some(value) => u8::try_from(whole(value)?).ok(),
    }
}

/// The value of every hexadecimal digit, and 255 for everything else.
const HEXADECIMAL: [u8; 256] = {
    let mut table = [0xFF; 256];
    let mut value = 0;
    while value < 16 {
        table[b"0123456789abcdef"[value] as usize] = value as u8;
        table[b"0123456789ABCDEF"[value] as usize] = value as u8;
        value += 1;
    }
    table
};

fn hexadecimal<const N: usize>(text: &[u8]) -> Option<[u8; N]> {
    if text.len() != 2 * N {
        return None;
    }
    let mut bytes = [0; N];
    let mut seen = 0;
    for (byte, digits) in bytes.iter_mut().zip(text.chunks_exact(2)) {
        let (high, low) = (HEXADECIMAL[digits[0] as usize], HEXADECIMAL[digits[1] as usize]);
        seen |= high | low;
        *byte = high << 4 | low & 0x0F;
    }
    (seen < 16).then_some(bytes)
}

fn decode_hexadecimal(text: &[u8]) -> Option<Vec<u8>> {
    let pairs = text.chunks(2);
    pairs.map(|digits| hexadecimal::<1>(digits).map(|[byte]| byte)).collect()
}

fn uuid(text: &[u8]) -> Option<[u8; 16]> {
    if text.len() != 36 {
        return hexadecimal(text);
    }
    let mut digits = [0; 32];
    let mut count = 0;
    for (index, &byte) in text.iter().enumerate() {
        if matches!(index, 8 | 13 | 18 | 23) {
            if byte != b'-' {
                return None;
            }
        } else {
            digits[count] = byte;
            count += 1;
        }
    }
    hexadecimal(&digits)
}

/// The value of every base64 digit, in the standard and the URL alphabet, and 255 for everything
/// else.
const BASE64: [u8; 256] = {
    let mut table = [0xFF; 256];
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut value = 0;
    while value < 64 {
        table[alphabet[value] as usize] = value as u8;
        value += 1;
    }
    table[b'-' as usize] = 62;
    table[b'_' as usize] = 63;
    table
};

/// Decodes base64, with or without padding.
fn decode_base64(text: &[u8]) -> Option<Vec<u8>> {
    let padding = text.iter().rev().take_while(|&&byte| byte == b'=').count();
    if padding > 2 || (padding > 0 && !text.len().is_multiple_of(4)) {
        return None;
    }
    let digits = &text[..text.len() - padding];
    if digits.len() % 4 == 1 {
        return None;
    }
    let mut bytes = Vec::with_capacity(digits.len() / 4 * 3 + 2);
    for group in digits.chunks(4) {
        let mut bits = 0u32;
        for &digit in group {
            let value = BASE64[digit as usize];
            if value > 63 {
                return None;
            }
            bits = bits << 6 | u32::from(value);
        }
        bits <<= 6 * (4 - group.len());
        bytes.extend_from_slice(&bits.to_be_bytes()[1..group.len()]);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64() {
        let decode = |text: &str| decode_base64(text.as_bytes());
        for (text, expected) in [
            ("", &b""[..]),
            ("Zg==", b"f"),
            ("Zm8=", b"fo"),
            ("Zm9v", b"foo"),
            ("Zm9vYg", b"foob"),
            ("Zm9vYmE", b"fooba"),
            ("//8=", b"\xFF\xFF"),
            ("__8", b"\xFF\xFF"),
        ] {
            assert_eq!(decode(text).as_deref(), Some(expected), "{text}");
        }
        for text in ["Z", "Z===", "Zg=", "Zm9v=", "Zm9vY", "Zm 9", "Zé==", "====", "=Zg="] {
            assert_eq!(decode(text), None, "{text}");
        }
    }

    #[test]
    fn plain_decimals_are_those_of_the_bson_crate() {
        for text in [
            "0",
            "-0",
            "1",
            "-1",
            "19.99",
            "0.00",
            "-0.10",
            "397.00",
            "99999999999.9999999",
            "999999999999999999",
            "123456789012345678",
            "00.5",
            "007",
            "1.000000000000000000",
        ] {
            let expect = bson::Decimal128::from_str(text).unwrap().bytes();
            assert_eq!(decimal(text.as_bytes()), Some(expect), "{text}");
        }
        for text in ["", ".", ".5", "5.", "1e5", "1.2.3", "--1", "1234567890123456789012"] {
            assert_eq!(plain_decimal(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn decimals() {
        for text in ["0", "-1.5", "+1.5E+3", "007", "00.5", ".5", "NaN", "-inf", "Infinity", "5."] {
            assert!(decimal(text.as_bytes()).is_some(), "{text}");
        }
        for text in ["", ".", "-", "--1", "-+1", "1e", "1e+", "abc", " 1", "1 ", "0x1", "1_0", "00"]
        {
            assert_eq!(decimal(text.as_bytes()).is_some(), text == "00", "{text}");
        }
    }
}
