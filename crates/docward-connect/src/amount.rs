//! Numbers as people write them, exactly: `0.1` is a tenth. Rates and times of a plan are multiplied and
//! rounded up, and with floating point 1000 × 0.02 × 1.5 comes out as a little more than 30.

use std::fmt;

/// Parts of one.
const PARTS: u128 = 1_000_000;
/// The largest amount: products of two of them, and a few factors more, stay within 128 bits.
const LARGEST: u128 = 1_000_000_000_000;

/// A number that is not negative, with up to six digits behind the point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Amount(u128);

/// Why a text is no amount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AmountFault {
    /// No number, or none that is finite.
    NotANumber,
    /// Below zero.
    Negative,
    /// Nothing can be planned with it.
    Zero,
    /// Above a million million.
    TooLarge,
    /// More than six digits behind the point.
    TooFine,
}

impl fmt::Display for AmountFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotANumber => "not a number; write it like 1000 or 2.5",
            Self::Negative => "must not be negative",
            Self::Zero => "must be more than 0",
            Self::TooLarge => "must not be more than 1,000,000,000,000",
            Self::TooFine => "has more than six digits behind the point",
        })
    }
}

impl std::error::Error for AmountFault {}

impl Amount {
    /// Reads `1000`, `2.5`, `1_000` or `1,000`; more than zero.
    pub fn parse(text: &str) -> Result<Self, AmountFault> {
        let text = text.trim();
        let (negative, digits) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
        let whole: String = whole.chars().filter(|c| !matches!(c, '_' | ',')).collect();
        let all_digits = |text: &str| text.chars().all(|c| c.is_ascii_digit());
        if whole.is_empty() && part.is_empty() || !all_digits(&whole) || !all_digits(part) {
            return Err(AmountFault::NotANumber);
        }
        let part = part.trim_end_matches('0');
        if part.len() > 6 {
            return Err(AmountFault::TooFine);
        }
        let whole = whole.trim_start_matches('0');
        if whole.len() > 13 {
            return Err(AmountFault::TooLarge);
        }
        let number = |text: &str| text.parse::<u128>().unwrap_or(0);
        let millionths = number(whole) * PARTS + number(&format!("{part:0<6}"));
        match millionths {
            0 => Err(AmountFault::Zero),
            _ if negative => Err(AmountFault::Negative),
            n if n > LARGEST * PARTS => Err(AmountFault::TooLarge),
            n => Ok(Self(n)),
        }
    }

    /// The number a person wrote into a settings file: the shortest text that means this double.
    /// What is finer than a millionth is rounded up.
    pub fn from_f64(number: f64) -> Result<Self, AmountFault> {
        if !number.is_finite() {
            return Err(AmountFault::NotANumber);
        }
        match Self::parse(&number.to_string()) {
            Err(AmountFault::TooFine) => Self::parse(&format!("{number:.6}")),
            other => other,
        }
    }

    /// In millionths.
    pub fn millionths(self) -> u128 {
        self.0
    }

    /// As a floating point number, for printing.
    pub fn as_f64(self) -> f64 {
        self.0 as f64 / PARTS as f64
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, part) = (self.0 / PARTS, self.0 % PARTS);
        if part == 0 {
            return write!(f, "{whole}");
        }
        let part = format!("{part:06}");
        write!(f, "{whole}.{}", part.trim_end_matches('0'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read_exactly() {
        for (text, millionths) in
            [("20", 20_000_000), ("0.02", 20_000), (".5", 500_000), ("1,000", 1_000_000_000)]
        {
            assert_eq!(Amount::parse(text).map(Amount::millionths), Ok(millionths), "{text}");
        }
        assert_eq!(Amount::from_f64(0.1).map(Amount::millionths), Ok(100_000));
        assert_eq!(Amount::parse("12.50").map(|a| a.to_string()), Ok("12.5".to_owned()));
    }

    #[test]
    fn what_is_no_amount_says_why() {
        for (text, fault) in [
            ("", AmountFault::NotANumber),
            (".", AmountFault::NotANumber),
            ("NaN", AmountFault::NotANumber),
            ("inf", AmountFault::NotANumber),
            ("1e9", AmountFault::NotANumber),
            ("0", AmountFault::Zero),
            ("0.0", AmountFault::Zero),
            ("-1", AmountFault::Negative),
            ("0.0000001", AmountFault::TooFine),
            ("1000000000001", AmountFault::TooLarge),
            ("99999999999999999999999999999999999999999999", AmountFault::TooLarge),
        ] {
            assert_eq!(Amount::parse(text), Err(fault), "{text}");
        }
        assert_eq!(Amount::from_f64(f64::NAN), Err(AmountFault::NotANumber));
        assert_eq!(Amount::from_f64(-3.0), Err(AmountFault::Negative));
    }
}
