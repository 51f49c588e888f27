//! Numbers of all four types, compared and divided exactly like on the server.

use std::cmp::Ordering;

use num_bigint::BigInt;

/// 2^63: the first integer that does not fit 64 bits.
const BEYOND_INT: f64 = 9_223_372_036_854_775_808.0;

/// A number from BSON.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Number {
    Int(i64),
    Double(f64),
    Decimal(Decimal),
}

/// A 128-bit decimal, split into its parts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Decimal {
    NaN,
    Infinite { negative: bool },
    Finite { negative: bool, coefficient: u128, exponent: i32 },
}

impl Decimal {
    /// Reads the binary form with an integer coefficient.
    pub(crate) fn from_bytes(bytes: [u8; 16]) -> Self {
        let bits = u128::from_le_bytes(bytes);
        let negative = bits >> 127 == 1;
        let high = (bits >> 122) & 0x1f;
        match high {
            0x1f => return Self::NaN,
            0x1e => return Self::Infinite { negative },
            _ => {}
        }
        // Coefficients with more than 34 digits mean zero.
        let (exponent, coefficient) = if (bits >> 125) & 0x3 == 0x3 {
            ((bits >> 111) & 0x3fff, 0)
        } else {
            ((bits >> 113) & 0x3fff, bits & ((1 << 113) - 1))
        };
        let coefficient = if coefficient >= 10_u128.pow(34) { 0 } else { coefficient };
        Self::Finite { negative, coefficient, exponent: exponent as i32 - 6176 }
    }

    /// The integer value, if it is an integer that fits 64 bits.
    fn exact(self) -> Option<i64> {
        let Self::Finite { negative, coefficient, exponent } = self else { return None };
        if coefficient == 0 {
            return Some(0);
        }
        let power = 10_u128.checked_pow(exponent.unsigned_abs())?;
        let whole = if exponent >= 0 {
            coefficient.checked_mul(power)?
        } else if coefficient.is_multiple_of(power) {
            coefficient / power
        } else {
            return None;
        };
        signed(whole, negative)
    }

    /// The truncated value, if it fits 64 bits.
    fn truncated(self) -> Option<i64> {
        let Self::Finite { negative, coefficient, exponent } = self else { return None };
        if exponent >= 0 {
            return self.exact();
        }
        match 10_u128.checked_pow(exponent.unsigned_abs()) {
            Some(power) => signed(coefficient / power, negative),
            None => Some(0),
        }
    }

    /// The nearest integer, ties to even, if it fits 64 bits.
    pub(crate) fn rounded(self) -> Option<i64> {
        let Self::Finite { negative, coefficient, exponent } = self else { return None };
        if exponent >= 0 {
            return self.exact();
        }
        let Some(power) = 10_u128.checked_pow(exponent.unsigned_abs()) else { return Some(0) };
        let (whole, rest) = (coefficient / power, coefficient % power);
        let up = match (rest * 2).cmp(&power) {
            Ordering::Less => false,
            Ordering::Equal => whole % 2 == 1,
            Ordering::Greater => true,
        };
        signed(whole + u128::from(up), negative)
    }

    /// Converts a double to a decimal as the server does for division: 15 significant digits.
    fn from_double(value: f64) -> Self {
        if value.is_nan() {
            return Self::NaN;
        }
        if value.is_infinite() {
            return Self::Infinite { negative: value < 0.0 };
        }
        let text = format!("{value:.14e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let negative = digits.starts_with('-');
        let digits: String = digits.chars().filter(char::is_ascii_digit).collect();
        let exponent = exponent.parse::<i32>().unwrap_or(0) - 14;
        Self::Finite { negative, coefficient: digits.parse().unwrap_or(0), exponent }
    }
}

fn signed(whole: u128, negative: bool) -> Option<i64> {
    let whole = i128::try_from(whole).ok()?;
    i64::try_from(if negative { -whole } else { whole }).ok()
}

/// The reason why a number is not a 64-bit integer, in the server's words.
pub(crate) enum NotWhole {
    NaN,
    TooLarge,
    Fraction,
}

impl Number {
    /// The integer value.
    pub(crate) fn whole(self) -> Result<i64, NotWhole> {
        match self {
            Self::Int(n) => Ok(n),
            Self::Double(n) if n.is_nan() => Err(NotWhole::NaN),
            Self::Double(n) if !(-BEYOND_INT..BEYOND_INT).contains(&n) => Err(NotWhole::TooLarge),
            Self::Double(n) if n.fract() != 0.0 => Err(NotWhole::Fraction),
            Self::Double(n) => Ok(n as i64),
            Self::Decimal(n) => n.exact().ok_or(NotWhole::TooLarge),
        }
    }

    /// The truncated value, if it fits 64 bits.
    pub(crate) fn truncated(self) -> Option<i64> {
        match self {
            Self::Int(n) => Some(n),
            Self::Double(n) => (-BEYOND_INT..BEYOND_INT).contains(&n).then_some(n as i64),
            Self::Decimal(n) => n.truncated(),
        }
    }

    /// The nearest double.
    pub(crate) fn as_double(self) -> f64 {
        match self {
            Self::Int(n) => n as f64,
            Self::Double(n) => n,
            Self::Decimal(Decimal::NaN) => f64::NAN,
            Self::Decimal(Decimal::Infinite { negative }) => {
                if negative {
                    f64::NEG_INFINITY
                } else {
                    f64::INFINITY
                }
            }
            Self::Decimal(Decimal::Finite { negative, coefficient, exponent }) => {
                let sign = if negative { "-" } else { "" };
                format!("{sign}{coefficient}e{exponent}").parse().unwrap_or(f64::NAN)
            }
        }
    }

    /// Returns whether it is between zero and one.
    pub(crate) fn is_share(self) -> bool {
        (0.0..=1.0).contains(&self.as_double())
    }

    pub(crate) fn is_finite(self) -> bool {
        match self {
            Self::Int(_) => true,
            Self::Double(n) => n.is_finite(),
            Self::Decimal(n) => matches!(n, Decimal::Finite { .. }),
        }
    }

    fn decimal(self) -> Decimal {
        match self {
            Self::Int(n) => Decimal::Finite {
                negative: n < 0,
                coefficient: u128::from(n.unsigned_abs()),
                exponent: 0,
            },
            Self::Double(n) => Decimal::from_double(n),
            Self::Decimal(n) => n,
        }
    }

    pub(crate) fn is_nan(self) -> bool {
        match self {
            Self::Int(_) => false,
            Self::Double(n) => n.is_nan(),
            Self::Decimal(n) => n == Decimal::NaN,
        }
    }

    /// The order of the server's comparison: NaN first, equal to itself.
    pub(crate) fn order(self, other: Self) -> Ordering {
        match (self.is_nan(), other.is_nan()) {
            (true, true) => return Ordering::Equal,
            (true, false) => return Ordering::Less,
            (false, true) => return Ordering::Greater,
            (false, false) => {}
        }
        match (self, other) {
            (Self::Int(a), Self::Int(b)) => a.cmp(&b),
            (Self::Double(a), Self::Double(b)) => a.partial_cmp(&b).unwrap_or(Ordering::Equal),
            (Self::Int(a), Self::Double(b)) => int_to_double(a, b),
            (Self::Double(a), Self::Int(b)) => int_to_double(b, a).reverse(),
            _ => Exact::of(self).order(&Exact::of(other)),
        }
    }

    /// Returns whether it is within a limit, as `$lte` and `$gte` decide: NaN only compares with
    /// NaN.
    pub(crate) fn is_within(self, limit: Self, exclusive: bool, wanted: Ordering) -> bool {
        if self.is_nan() != limit.is_nan() {
            return false;
        }
        match self.order(limit) {
            Ordering::Equal => !exclusive,
            order => order == wanted,
        }
    }

    /// Returns whether it is an integer multiple of another one, both as decimals.
    pub(crate) fn is_multiple_of(self, divisor: Self) -> bool {
        let (Decimal::Finite { coefficient: a, exponent: ea, .. }, divisor) =
            (self.decimal(), divisor.decimal())
        else {
            return false;
        };
        let (b, eb) = match divisor {
            Decimal::NaN => return false,
            // A finite number divided by an infinite one is its own remainder.
            Decimal::Infinite { .. } => return a == 0,
            Decimal::Finite { coefficient, exponent, .. } => (coefficient, exponent),
        };
        if b == 0 {
            return false;
        }
        if a == 0 {
            return true;
        }
        let (a, ea) = without_zeros(a, ea);
        let (b, eb) = without_zeros(b, eb);
        // Without trailing zeros the dividend is not a multiple of ten, and so not of any higher
        // power of ten.
        if ea < eb {
            return false;
        }
        let scaled = BigInt::from(a) * power_of_ten((ea - eb).unsigned_abs());
        scaled % BigInt::from(b) == BigInt::ZERO
    }

    /// The reason why it is not a valid divisor, in the server's words.
    pub(crate) fn is_no_divisor(self) -> Option<&'static str> {
        match self.decimal() {
            Decimal::NaN => Some("NaN"),
            Decimal::Infinite { .. } => Some("infinite"),
            Decimal::Finite { .. } => None,
        }
    }

    /// Returns whether it is greater than zero.
    pub(crate) fn is_positive(self) -> bool {
        self.is_nan() || self.order(Self::Int(0)) == Ordering::Greater
    }
}

fn without_zeros(mut coefficient: u128, mut exponent: i32) -> (u128, i32) {
    while coefficient.is_multiple_of(10) {
        coefficient /= 10;
        exponent += 1;
    }
    (coefficient, exponent)
}

fn power_of_ten(exponent: u32) -> BigInt {
    BigInt::from(10).pow(exponent)
}

/// A 64-bit integer has more digits than a double, so the double is truncated, never the integer.
fn int_to_double(int: i64, double: f64) -> Ordering {
    if double >= BEYOND_INT {
        return Ordering::Less;
    }
    if double < -BEYOND_INT {
        return Ordering::Greater;
    }
    let whole = double.trunc();
    int.cmp(&(whole as i64)).then_with(|| {
        let fraction = double - whole;
        0.0_f64.partial_cmp(&fraction).unwrap_or(Ordering::Equal)
    })
}

/// A number as a fraction of two integers, for the rare comparison with a decimal.
enum Exact {
    Infinite { negative: bool },
    Finite { numerator: BigInt, denominator: BigInt },
}

impl Exact {
    fn of(number: Number) -> Self {
        let whole = |numerator: BigInt| Self::Finite { numerator, denominator: BigInt::from(1) };
        match number {
            Number::Int(n) => whole(BigInt::from(n)),
            Number::Double(n) if n.is_finite() => {
                let (mantissa, exponent) = parts(n);
                let two = BigInt::from(2);
                if exponent >= 0 {
                    whole(BigInt::from(mantissa) * two.pow(exponent.unsigned_abs()))
                } else {
                    Self::Finite {
                        numerator: BigInt::from(mantissa),
                        denominator: two.pow(exponent.unsigned_abs()),
                    }
                }
            }
            Number::Double(n) => Self::Infinite { negative: n < 0.0 },
            Number::Decimal(Decimal::Finite { negative, coefficient, exponent }) => {
                let signed = BigInt::from(coefficient) * if negative { -1 } else { 1 };
                if exponent >= 0 {
                    whole(signed * power_of_ten(exponent.unsigned_abs()))
                } else {
                    let denominator = power_of_ten(exponent.unsigned_abs());
                    Self::Finite { numerator: signed, denominator }
                }
            }
            Number::Decimal(Decimal::Infinite { negative }) => Self::Infinite { negative },
            // Handled before.
            Number::Decimal(Decimal::NaN) => whole(BigInt::ZERO),
        }
    }

    fn order(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Infinite { negative: a }, Self::Infinite { negative: b }) => b.cmp(a),
            (Self::Infinite { negative }, _) => {
                if *negative {
                    Ordering::Less
                } else {
                    Ordering::Greater
                }
            }
            (_, Self::Infinite { negative }) => {
                if *negative {
                    Ordering::Greater
                } else {
                    Ordering::Less
                }
            }
            (
                Self::Finite { numerator: a, denominator: b },
                Self::Finite { numerator: c, denominator: d },
            ) => (a * d).cmp(&(c * b)),
        }
    }
}

/// A finite double as mantissa times a power of two.
fn parts(value: f64) -> (i64, i32) {
    let bits = value.to_bits();
    let exponent = ((bits >> 52) & 0x7ff) as i32;
    let fraction = (bits & ((1 << 52) - 1)) as i64;
    let (mantissa, exponent) = match exponent {
        0 => (fraction, -1074),
        _ => (fraction | (1 << 52), exponent - 1075),
    };
    (if value.is_sign_negative() { -mantissa } else { mantissa }, exponent)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(text: &str) -> Number {
        let decimal: bson::Decimal128 = text.parse().expect("a decimal");
        Number::Decimal(Decimal::from_bytes(decimal.bytes()))
    }

    #[test]
    fn numbers_of_different_types_are_compared_exactly() {
        use Number::{Double, Int};
        for (a, b, expect) in [
            (Int(1), Double(1.0), Ordering::Equal),
            (Int(i64::MAX), Double(9_223_372_036_854_775_808.0), Ordering::Less),
            (Int(9_007_199_254_740_993), Double(9_007_199_254_740_992.0), Ordering::Greater),
            (Int(0), Double(-0.0), Ordering::Equal),
            (Int(-1), Double(-1.5), Ordering::Greater),
            (decimal("0.1"), Double(0.1), Ordering::Less),
            (decimal("1.50"), Double(1.5), Ordering::Equal),
            (decimal("1E+6000"), Double(f64::MAX), Ordering::Greater),
            (decimal("Infinity"), Double(f64::INFINITY), Ordering::Equal),
            (decimal("NaN"), Int(0), Ordering::Less),
            (decimal("NaN"), Double(f64::NAN), Ordering::Equal),
        ] {
            assert_eq!(a.order(b), expect, "{a:?} {b:?}");
            assert_eq!(b.order(a), expect.reverse(), "{b:?} {a:?}");
        }
    }

    #[test]
    fn multiples_are_decimal() {
        use Number::{Double, Int};
        for (a, b, expect) in [
            (Double(0.3), Double(0.1), true),
            (Double(4.35), Double(0.01), true),
            (Int(7), Int(2), false),
            (Int(0), Double(0.5), true),
            (decimal("1E+30"), Int(7), false),
            (decimal("7E+300"), Int(7), true),
            (Double(f64::INFINITY), Int(1), false),
            (Double(1.5), decimal("0.5"), true),
        ] {
            assert_eq!(a.is_multiple_of(b), expect, "{a:?} {b:?}");
        }
    }
}
