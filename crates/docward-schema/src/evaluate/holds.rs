//! Evaluates an expression on a document or on a value.

use std::cmp::Ordering;

use docward_bson::walk::Fault;

use super::{
    Checker,
    path::{Leaf, Subject, visit},
};
use crate::{
    number::Number,
    schema::{Bits, Choice, Comparison, Expr, Regex, Test, What},
    value::{
        ARRAY, BINARY, NULL, OBJECT, REGEX, Raw, STRING, SYMBOL, UNDEFINED, order, rank, text,
    },
};

impl Expr {
    /// Returns whether the expression matches a document.
    pub(crate) fn holds(&self, subject: Subject<'_>) -> Result<bool, Fault> {
        match &self.what {
            What::And(parts) => all(parts, |part| part.holds(subject)),
            What::Or(parts) => any(parts, |part| part.holds(subject)),
            What::Nor(parts) => any(parts, |part| part.holds(subject)).map(|any| !any),
            What::OneOf(parts) => {
                let mut count = 0;
                for part in parts {
                    count += usize::from(part.holds(subject)?);
                }
                Ok(count == 1)
            }
            What::Not(inner) => inner.holds(subject).map(|holds| !holds),
            What::Always(holds) => Ok(*holds),
            What::At { path, test } => {
                visit(subject, path, test.leaf(), &mut |value| test.holds(value))
            }
            What::Schema { node, .. } => Checker::default().holds(node, subject.whole()),
            What::Allowed(allowed) => {
                for element in subject.whole().elements()? {
                    let element = element?;
                    let value = Subject::Lone(Raw::from(element));
                    for (_, pattern, inner) in &allowed.patterns {
                        if pattern.is_in(element.key) && !inner.holds(value)? {
                            return Ok(false);
                        }
                    }
                    if allowed.is_other(element.key) && !allowed.others.holds(value)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            What::When { condition, then } => {
                Ok(!condition.holds(subject)? || then.holds(subject)?)
            }
            What::Same(literal) => literal.raw().equals(subject.whole()),
            What::Fields(bound) => Ok(bound.admits(subject.whole().count()?)),
        }
    }

    /// Returns whether the expression matches a value, as in `$elemMatch`: paths are not followed.
    fn holds_of(&self, value: Option<Raw<'_>>) -> Result<bool, Fault> {
        match &self.what {
            What::And(parts) => all(parts, |part| part.holds_of(value)),
            What::Or(parts) => any(parts, |part| part.holds_of(value)),
            What::Nor(parts) => any(parts, |part| part.holds_of(value)).map(|any| !any),
            What::Not(inner) => inner.holds_of(value).map(|holds| !holds),
            What::Always(holds) => Ok(*holds),
            What::At { test, .. } => test.holds(value),
            // These expressions do not occur there.
            _ => Ok(false),
        }
    }
}

fn all(parts: &[Expr], mut ask: impl FnMut(&Expr) -> Result<bool, Fault>) -> Result<bool, Fault> {
    for part in parts {
        if !ask(part)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn any(parts: &[Expr], mut ask: impl FnMut(&Expr) -> Result<bool, Fault>) -> Result<bool, Fault> {
    for part in parts {
        if ask(part)? {
            return Ok(true);
        }
    }
    Ok(false)
}

impl Test {
    /// The treatment of an array at the end of the path.
    fn leaf(&self) -> Leaf {
        match self {
            Self::Size(_)
            | Self::AnyObject(_)
            | Self::AnyValue(_)
            | Self::SchemaType(_)
            | Self::SchemaEqual(_)
            | Self::Items(_)
            | Self::Unique
            | Self::EachFrom(..)
            | Self::ElementAt(..)
            | Self::Object(_) => Leaf::Whole,
            _ => Leaf::Both,
        }
    }

    /// Returns whether the test matches a value, or a missing one.
    fn holds(&self, value: Option<Raw<'_>>) -> Result<bool, Fault> {
        let Some(value) = value else {
            return Ok(match self {
                Self::Compare(comparison, literal) => {
                    other_type(*comparison, UNDEFINED, literal.raw().tag)
                }
                Self::In(choice) => choice.has_null,
                _ => false,
            });
        };
        match self {
            Self::Compare(comparison, literal) => compare(*comparison, value, literal.raw()),
            Self::In(choice) => choice.has(value),
            Self::Pattern(regex) => Ok(regex.is_in(value)),
            Self::Mod { divisor, remainder } => Ok(value
                .number()
                .and_then(Number::truncated)
                .is_some_and(|number| number.checked_rem(*divisor).unwrap_or(0) == *remainder)),
            Self::Exists => Ok(true),
            Self::Type(types) | Self::SchemaType(types) => Ok(types.has(value.tag)),
            Self::Bits(bits) => Ok(bits.are_in(value)),
            Self::SchemaEqual(literal) => literal.raw().equals(value),
            Self::MultipleOf(divisor) => {
                Ok(value.number().is_some_and(|number| number.is_multiple_of(*divisor)))
            }
            Self::Length(bound) => {
                Ok(value.characters().is_some_and(|length| bound.admits(length)))
            }
            Self::Object(inner) => {
                Ok(value.tag == OBJECT && inner.holds(Subject::Fields(value.bytes))?)
            }
            _ if value.tag != ARRAY => Ok(false),
            _ => self.holds_of_array(value),
        }
    }

    fn holds_of_array(&self, array: Raw<'_>) -> Result<bool, Fault> {
        match self {
            Self::Size(size) => Ok(i64::try_from(array.count()?).is_ok_and(|count| count == *size)),
            Self::Items(bound) => Ok(bound.admits(array.count()?)),
            Self::Unique => Ok(array.duplicate()?.is_none()),
            Self::AnyObject(inner) => {
                for element in array.elements()? {
                    let element = Raw::from(element?);
                    // Here the server treats an array as an object with numbers as names.
                    if matches!(element.tag, OBJECT | ARRAY)
                        && inner.holds(Subject::Fields(element.bytes))?
                    {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Self::AnyValue(parts) => {
                for element in array.elements()? {
                    let element = Raw::from(element?);
                    if all(parts, |part| part.holds_of(Some(element)))? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Self::EachFrom(start, inner) => {
                for element in array.elements()?.skip(*start) {
                    if !inner.holds(Subject::Lone(Raw::from(element?)))? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Self::ElementAt(position, inner) => match array.elements()?.nth(*position) {
                None => Ok(true),
                Some(element) => inner.holds(Subject::Lone(Raw::from(element?))),
            },
            _ => Ok(false),
        }
    }
}

fn compare(comparison: Comparison, value: Raw<'_>, limit: Raw<'_>) -> Result<bool, Fault> {
    if rank(value.tag) != rank(limit.tag) {
        return Ok(other_type(comparison, value.tag, limit.tag));
    }
    let is_nan = |value: Raw<'_>| value.number().is_some_and(Number::is_nan);
    if comparison != Comparison::Equal && is_nan(value) != is_nan(limit) {
        return Ok(false);
    }
    let order = order(value, limit)?;
    Ok(match comparison {
        Comparison::Equal => order == Ordering::Equal,
        Comparison::Less => order == Ordering::Less,
        Comparison::LessOrEqual => order != Ordering::Greater,
        Comparison::Greater => order == Ordering::Greater,
        Comparison::GreaterOrEqual => order != Ordering::Less,
    })
}

/// Values of different types compare only with null, which equals a missing value, and with MinKey
/// and MaxKey.
fn other_type(comparison: Comparison, value: u8, limit: u8) -> bool {
    use Comparison::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual};
    match (value, limit) {
        (UNDEFINED, NULL) | (NULL, UNDEFINED) => {
            matches!(comparison, Equal | LessOrEqual | GreaterOrEqual)
        }
        (_, 0x7f) => matches!(comparison, Less | LessOrEqual),
        (_, 0xff) => matches!(comparison, Greater | GreaterOrEqual),
        _ => false,
    }
}

impl Choice {
    fn has(&self, value: Raw<'_>) -> Result<bool, Fault> {
        if self.has_null && value.tag == UNDEFINED {
            return Ok(true);
        }
        // The values are sorted.
        let mut among = &self.values[..];
        while !among.is_empty() {
            let middle = among.len() / 2;
            match order(among[middle].raw(), value)? {
                Ordering::Equal => return Ok(true),
                Ordering::Less => among = &among[middle + 1..],
                Ordering::Greater => among = &among[..middle],
            }
        }
        Ok(self.patterns.iter().any(|regex| regex.is_in(value)))
    }
}

impl Regex {
    fn is_in(&self, value: Raw<'_>) -> bool {
        match value.tag {
            STRING | SYMBOL => self.pattern.is_in(text(value.bytes)),
            REGEX => {
                let mut parts = value.bytes.split(|byte| *byte == 0);
                parts.next() == Some(&self.words) && parts.next() == Some(&self.flags)
            }
            _ => false,
        }
    }
}

impl Bits {
    fn are_in(&self, value: Raw<'_>) -> bool {
        if value.tag == BINARY {
            let bytes = value.bytes.get(5..).unwrap_or_default();
            let mut found = self.positions.iter().map(|position| {
                let byte = usize::try_from(position / 8).ok().and_then(|at| bytes.get(at));
                (byte.copied().unwrap_or(0) >> (position % 8) & 1 == 1) == self.set
            });
            return if self.all { found.all(|found| found) } else { found.any(|found| found) };
        }
        let bits = match value.number() {
            Some(Number::Int(n)) => n,
            Some(number @ Number::Double(n)) => match number.truncated() {
                Some(whole) if n.fract() == 0.0 => whole,
                _ => return false,
            },
            // In the server's decimals, a number that does not fit becomes the lowest integer.
            Some(Number::Decimal(decimal)) => decimal.rounded().unwrap_or(i64::MIN),
            None => return false,
        };
        let bits = bits.cast_unsigned();
        let found = if self.set { bits & self.mask } else { !bits & self.mask };
        if self.all { found == self.mask } else { found != 0 }
    }
}

impl<'d> Subject<'d> {
    /// The object itself.
    pub(crate) fn whole(self) -> Raw<'d> {
        match self {
            Self::Fields(bytes) => Raw { tag: OBJECT, bytes },
            Self::Lone(value) => value,
        }
    }
}
