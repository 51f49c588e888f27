//! A compiled expression. Conditions of a validator are read into this form; so are schemas, for
//! explaining why a document is refused (for evaluation they have a faster form).

use bson::Document;

use super::{Node, Types};
use crate::{number::Number, pattern::Pattern, value::Literal};

/// A condition, and its note for explanations.
#[derive(Debug)]
pub(crate) struct Expr {
    pub(crate) what: What,
    pub(crate) note: Note,
}

/// The contribution of a condition to an explanation.
#[derive(Debug)]
pub(crate) enum Note {
    /// The condition and everything below it are not explained.
    Silent,
    /// The condition itself is not explained, but conditions below it contribute.
    Through,
    /// The server cannot explain it, and therefore does not explain any part of the validator.
    Unknown,
    /// An explanation for the whole expression.
    Told(Box<Account>),
}

/// The explanation of a condition.
#[derive(Debug)]
pub(crate) struct Account {
    /// Its name, or one that begins with `_` if it has no keyword.
    pub(crate) tag: &'static str,
    /// The condition as written.
    pub(crate) source: Document,
    /// `title` and `description` of its schema.
    pub(crate) titles: Document,
}

impl Note {
    pub(crate) fn told(tag: &'static str, source: Document) -> Self {
        Self::titled(tag, source, Document::new())
    }

    pub(crate) fn titled(tag: &'static str, source: Document, titles: Document) -> Self {
        Self::Told(Box::new(Account { tag, source, titles }))
    }

    pub(crate) fn account(&self) -> Option<&Account> {
        match self {
            Self::Told(account) => Some(account),
            _ => None,
        }
    }

    /// The name; empty without an explanation.
    pub(crate) fn tag(&self) -> &'static str {
        self.account().map_or("", |account| account.tag)
    }
}

impl Expr {
    pub(crate) fn new(what: What, note: Note) -> Self {
        Self { what, note }
    }

    pub(crate) fn at(path: &[u8], test: Test, note: Note) -> Self {
        Self { what: What::At { path: path.into(), test }, note }
    }

    pub(crate) fn not(inner: Self, note: Note) -> Self {
        Self { what: What::Not(Box::new(inner)), note }
    }
}

/// A condition on a document.
#[derive(Debug)]
pub(crate) enum What {
    And(Vec<Expr>),
    Or(Vec<Expr>),
    Nor(Vec<Expr>),
    /// Exactly one of them matches.
    OneOf(Vec<Expr>),
    Not(Box<Expr>),
    Always(bool),
    /// A test on the values that a path leads to.
    At {
        path: Box<[u8]>,
        test: Test,
    },
    /// `$jsonSchema`: the form for evaluation, and the form for explanations.
    Schema {
        node: Box<Node>,
        rules: Box<Expr>,
    },
    /// `patternProperties` and `additionalProperties`.
    Allowed(Box<Allowed>),
    /// A dependency.
    When {
        condition: Box<Expr>,
        then: Box<Expr>,
    },
    /// The whole document equals this, ignoring the order of its fields.
    Same(Literal),
    /// At least or at most this many fields.
    Fields(Bound),
}

/// The name of a lone value. Any name would work; this is the server's.
pub(crate) const LONE: &[u8] = b"i";

/// A test on a value.
#[derive(Debug)]
pub(crate) enum Test {
    Compare(Comparison, Literal),
    In(Choice),
    Pattern(Regex),
    Mod {
        divisor: i64,
        remainder: i64,
    },
    Exists,
    Type(Types),
    Bits(Bits),
    Size(i64),
    /// `$elemMatch` on objects.
    AnyObject(Box<Expr>),
    /// `$elemMatch` on values.
    AnyValue(Vec<Expr>),
    /// `bsonType`: unlike `$type`, it applies to an array as a whole.
    SchemaType(Types),
    SchemaEqual(Literal),
    MultipleOf(Number),
    Length(Bound),
    Items(Bound),
    Unique,
    /// Each element from a position on.
    EachFrom(usize, Box<Expr>),
    /// The element at a position, if there is one.
    ElementAt(usize, Box<Expr>),
    /// An object that satisfies this.
    Object(Box<Expr>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comparison {
    Equal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// `$in`: one of some values or patterns.
#[derive(Debug, Default)]
pub(crate) struct Choice {
    pub(crate) values: Vec<Literal>,
    pub(crate) has_null: bool,
    pub(crate) patterns: Vec<Regex>,
}

/// A pattern with its source text: a regular expression in a document is equal only if its text is.
#[derive(Debug)]
pub(crate) struct Regex {
    pub(crate) pattern: Pattern,
    pub(crate) words: Box<[u8]>,
    pub(crate) flags: Box<[u8]>,
}

/// Bits by mask, for numbers, and by position, for binary data.
#[derive(Debug)]
pub(crate) struct Bits {
    pub(crate) mask: u64,
    pub(crate) positions: Vec<u64>,
    pub(crate) all: bool,
    pub(crate) set: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Bound {
    Least(u64),
    Most(u64),
}

impl Bound {
    pub(crate) fn admits(self, count: u64) -> bool {
        match self {
            Self::Least(least) => count >= least,
            Self::Most(most) => count <= most,
        }
    }
}

/// The permitted properties.
#[derive(Debug)]
pub(crate) struct Allowed {
    pub(crate) named: Vec<Box<[u8]>>,
    /// Patterns, as written and compiled, with the schema of properties that match.
    pub(crate) patterns: Vec<(String, Pattern, Expr)>,
    pub(crate) others: Expr,
}

impl Allowed {
    /// Returns whether only `additionalProperties` applies to a property.
    pub(crate) fn is_other(&self, name: &[u8]) -> bool {
        !self.named.iter().any(|known| **known == *name)
            && !self.patterns.iter().any(|(_, pattern, _)| pattern.is_in(name))
    }
}
