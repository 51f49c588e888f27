//! Decimal numbers with exact arithmetic: `0.1` is a tenth. Rates and times of a plan are
//! multiplied and rounded up, and in floating point 1000 × 0.02 × 1.5 is slightly more than 30.

use std::fmt;

/// The number of parts in one unit.
const PARTS: u128 = 1_000_000;
/// The largest amount: products of two of them, times a few factors, fit into 128 bits.
const LARGEST: u128 = 1_000_000_000_000;

/// A non-negative number with up to six decimals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Amount(u128);

/// The reason why a text is not an amount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AmountFault {
    /// Not a number, or not finite.
    NotANumber,
    /// Negative.
    Negative,
    /// Zero, which no plan can use.
    Zero,
    /// Above 10^12.
    TooLarge,
    /// More than six decimals.
    TooFine,
}

impl fmt::Display for AmountFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotANumber => "not a number; write it like 1000 or 2.5",
            Self::Negative => "must not be negative",
            Self::Zero => "must be more than 0",
            Self::TooLarge => "must not be more than 1,000,000,000,000",
            Self::TooFine => "has more than six decimal places",
        })
    }
}

impl std::error::Error for AmountFault {}

impl Amount {
    /// Parses `1000`, `2.5`, `1_000` or `1,000`; must be more than zero.
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

    /// Converts a number from a settings file: the shortest text that represents this double.
    /// Digits beyond a millionth are rounded up.
    pub fn from_f64(number: f64) -> Result<Self, AmountFault> {
        if !number.is_finite() {
            return Err(AmountFault::NotANumber);
        }
        match Self::parse(&number.to_string()) {
            Err(AmountFault::TooFine) => Self::parse(&format!("{number:.6}")),
            other => other,
        }
    }

    /// The amount in millionths.
    pub fn millionths(self) -> u128 {
        self.0
    }

    /// The amount as a floating-point number, for printing.
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
