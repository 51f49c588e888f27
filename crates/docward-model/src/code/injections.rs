//! Facts about queries that are built from input of a request.

use std::collections::BTreeSet;

use super::Place;

/// Facts about queries built from requests.
#[derive(Clone, Debug, Default)]
pub struct Injections {
    /// Queries that the sender of a request can change.
    pub found: Vec<Injection>,
    /// Libraries and settings of the project that check requests.
    pub guards: BTreeSet<InputGuard>,
}

impl Injections {
    /// Adds the facts of another file.
    pub(super) fn absorb(&mut self, other: Self) {
        let Self { found, guards } = other;
        self.found.extend(found);
        self.guards.extend(guards);
    }
}

/// A query that the sender of a request can change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Injection {
    /// The place of the value.
    pub place: Place,
    /// The collection or model, if known.
    pub collection: Option<String>,
    /// The part of the request: `req.body.user`.
    pub input: String,
    /// The part of the query that the request controls.
    pub kind: InjectionKind,
    /// Whether the value is an object only with a parser of query strings that nests.
    pub needs_nested_query: bool,
}

/// A part of a query that a request controls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InjectionKind {
    /// JavaScript that the server runs. Holds the operator.
    Script(&'static str),
    /// The text of a query that is parsed. Holds the parser.
    Json(String),
    /// A regular expression, with the field if it is known.
    Pattern(Option<String>),
    /// The whole filter.
    Filter,
    /// The condition on a field: the value may be an operator.
    Operator(String),
    /// The whole update of a mapper, which takes fields without an operator.
    Update,
}

/// A library or setting that checks requests before they reach a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum InputGuard {
    /// Removes operators: `express-mongo-sanitize`, Mongoose's `sanitizeFilter`.
    Sanitizer,
    /// Checks requests against a schema if a route requests it.
    Validator,
    /// Query strings have no nested values: Express 5.
    FlatQueries,
}
