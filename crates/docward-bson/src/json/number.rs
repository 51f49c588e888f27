//! Parses numbers, with the types that `mongoimport` assigns.
//!
//! Integers of up to 16 digits and short decimals are parsed here; all others by the standard
//! library.

use super::error::{Error, is_word, offset, shorten};
use super::reader::{Read, Reader, element};
use super::swar;

/// The powers of ten that a double represents exactly.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

/// The powers of ten for a shift by up to eight digits.
const SHIFTS: [u64; 9] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];

/// Every integer up to here is exact as a double.
const EXACT: u64 = 1 << 53;

/// Reads up to 16 digits: their value and count. `None` if there may be more digits, or too little
/// input to decide.
#[inline(always)]
fn digits(input: &[u8], pos: usize) -> Option<(u64, usize)> {
    let (count, value) = swar::digits(swar::load(input, pos)?);
    if count < 8 {
        return Some((value, count));
    }
    let (more, low) = swar::digits(swar::load(input, pos + 8)?);
    if more == 8 {
        return None;
    }
    Some((value * SHIFTS[more] + low, 8 + more))
}

impl Reader<'_> {
    /// Reads the number at `pos`.
    #[inline(always)]
    pub(super) fn number(&mut self) -> Read<u8> {
        match self.short_number() {
            Some(element) => Ok(element),
            None => self.long_number(),
        }
    }

    /// Reads a number in the common forms; `None` for all others, without consuming anything.
    #[inline(always)]
    fn short_number(&mut self) -> Option<u8> {
        let input = self.input;
        let negative = input[self.pos] == b'-';
        let start = self.pos + usize::from(negative);
        let (whole, count) = digits(input, start)?;
        if count == 0 || (input[start] == b'0' && count > 1) {
            return None;
        }
        let mut pos = start + count;
        match input[pos] {
            b'.' => {
                let (fraction, places) = digits(input, pos + 1)?;
                pos += 1 + places;
                // Up to 15 digits on each side: only their sum can exceed the limit.
                if places == 0
                    || count + places > 19
                    || !matches!(input[pos], b',' | b'}' | b']' | b'\t'..=b' ')
                {
                    return None;
                }
                let scale = SHIFTS[places.min(8)] * SHIFTS[places - places.min(8)];
                let mantissa = whole.checked_mul(scale)?.checked_add(fraction)?;
                if mantissa > EXACT {
                    return None;
                }
                // Both are exact, so the single rounding of the division gives the nearest double.
                let value = mantissa as f64 / POWERS[places];
                let value = if negative { -value } else { value };
                self.put_word(value.to_bits(), 8);
                self.pos = pos;
                Some(element::DOUBLE)
            }
            // The common characters after a number; all others take the slow path.
            b',' | b'}' | b']' | b'\t'..=b' ' => {
                let value = if negative { -(whole as i64) } else { whole as i64 };
                self.pos = pos;
                Some(self.put_integer(value))
            }
            _ => None,
        }
    }

    /// Writes an integer in the smallest type that fits.
    #[inline(always)]
    pub(super) fn put_integer(&mut self, value: i64) -> u8 {
        if value == i64::from(value as i32) {
            self.put_word(u64::from(value as u32), 4);
            element::INT32
        } else {
            self.put_word(value as u64, 8);
            element::INT64
        }
    }

    /// Reads the number at `pos` in any form.
    #[inline(never)]
    pub(super) fn long_number(&mut self) -> Read<u8> {
        let start = self.pos;
        let signed = usize::from(matches!(self.input[start], b'-' | b'+'));
        let mut end = start + signed;
        while let Some(&byte) = self.input.get(end) {
            let exponent_sign =
                matches!(byte, b'-' | b'+') && matches!(self.input[end - 1], b'e' | b'E');
            if !is_word(byte) && byte != b'.' && !exponent_sign {
                break;
            }
            end += 1;
        }
        if end == self.input.len() {
            return Err(self.unexpected_end());
        }
        let text = &self.input[start..end];
        let element = match &text[signed..] {
            b"Infinity" => {
                let sign = if text[0] == b'-' { -1.0 } else { 1.0 };
                self.put_word((sign * f64::INFINITY).to_bits(), 8);
                Some(element::DOUBLE)
            }
            _ => self.put_number(text),
        };
        match element {
            Some(element) => {
                self.pos = end;
                Ok(element)
            }
            None => {
                let text = shorten(text);
                Err(Box::new(Error::InvalidNumber { at: offset(start), text }))
            }
        }
    }

    /// Writes the number in a text; `None` if it is not a number.
    fn put_number(&mut self, text: &[u8]) -> Option<u8> {
        let form = form(text)?;
        let text = std::str::from_utf8(text).ok()?;
        if form == Form::Whole
            && let Ok(value) = text.parse()
        {
            return Some(self.put_integer(value));
        }
        self.put_word(double(text)?.to_bits(), 8);
        Some(element::DOUBLE)
    }
}

/// Parses a text in the form of a number as a double, unless it is out of range.
fn double(text: &str) -> Option<f64> {
    text.parse().ok().filter(|value: &f64| value.is_finite())
}

/// The form of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Digits only.
    Whole,
    /// A number with a fraction or an exponent.
    Fraction,
}

/// The form of a number in a text; `None` if it is not a number. Accepts `.5`, `5.` and `+5` like
/// JavaScript, because they appear in hand-written files; refuses `007`, which has another meaning
/// in many languages.
pub(super) fn form(text: &[u8]) -> Option<Form> {
    let text = text.strip_prefix(b"-").or(text.strip_prefix(b"+")).unwrap_or(text);
    let run = |text: &[u8]| text.iter().take_while(|b| b.is_ascii_digit()).count();
    let mut form = Form::Whole;
    let whole = run(text);
    if whole > 1 && text[0] == b'0' {
        return None;
    }
    let mut rest = &text[whole..];
    let mut places = 0;
    if let Some(after) = rest.strip_prefix(b".") {
        form = Form::Fraction;
        places = run(after);
        rest = &after[places..];
    }
    if whole + places == 0 {
        return None;
    }
    if let Some(after) = rest.strip_prefix(b"e").or(rest.strip_prefix(b"E")) {
        form = Form::Fraction;
        let after = after.strip_prefix(b"-").or(after.strip_prefix(b"+")).unwrap_or(after);
        let count = run(after);
        if count == 0 {
            return None;
        }
        rest = &after[count..];
    }
    rest.is_empty().then_some(form)
}

/// Parses a text by the rules of `$numberDouble`.
pub(super) fn double_from(text: &[u8]) -> Option<f64> {
    match text {
        b"NaN" => Some(f64::NAN),
        b"Infinity" => Some(f64::INFINITY),
        b"-Infinity" => Some(f64::NEG_INFINITY),
        _ => {
            form(text)?;
            double(std::str::from_utf8(text).ok()?)
        }
    }
}
