//! Facts about statements that read documents: how often they run, how much they return, how they page and what is
//! computed from the result.

use std::collections::BTreeSet;

use super::Place;

/// Facts about queries.
#[derive(Clone, Debug, Default)]
pub struct Queries {
    /// Queries that run once for each element of a list.
    pub in_loops: Vec<LoopQuery>,
    /// Queries that load all their results into a list.
    pub lists: Vec<ListQuery>,
    /// Queries that skip documents to reach a page.
    pub skips: Vec<SkipQuery>,
    /// Numbers that are computed from the largest one or from a count, and then stored.
    pub next_numbers: Vec<NextNumber>,
    /// Fields that filters name.
    pub filters: Vec<FilterField>,
    /// Collections that request handlers insert documents into.
    pub grown: BTreeSet<String>,
    /// Functions that request handlers call by name, and functions that are registered for a path.
    pub requested: BTreeSet<String>,
}

impl Queries {
    /// Adds the facts of another file.
    pub(super) fn absorb(&mut self, other: Self) {
        let Self { in_loops, lists, skips, next_numbers, filters, grown, requested } = other;
        self.in_loops.extend(in_loops);
        self.lists.extend(lists);
        self.skips.extend(skips);
        self.next_numbers.extend(next_numbers);
        self.filters.extend(filters);
        self.grown.extend(grown);
        self.requested.extend(requested);
    }
}

/// A field that the filter of a query names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterField {
    /// The place.
    pub place: Place,
    /// The collection that is queried.
    pub collection: String,
    /// The path as written.
    pub path: String,
}

/// A query that runs once for each element of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoopQuery {
    /// The place of the query, or of the call of the function that queries.
    pub place: Place,
    /// The collection that is queried, if known.
    pub collection: Option<String>,
    /// Whether bindings prove that the call is a query of MongoDB.
    pub is_proven: bool,
    /// The function that queries, if the loop calls one.
    pub through: Option<String>,
    /// The source of the elements.
    pub list: ListSource,
    /// The line of the loop.
    pub loop_line: u32,
    /// Whether results are looked up in memory before the query runs.
    pub is_remembered: bool,
}

/// The source of the elements of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListSource {
    /// A query.
    Query {
        /// The collection, if known.
        collection: Option<String>,
        /// The number of results that the query is limited to, if it is a constant.
        limit: Option<i64>,
    },
    /// An array of a document that was loaded.
    Document,
    /// The request that is being handled.
    Request,
    /// Constants.
    Constant,
    /// Unknown.
    Unknown,
}

/// A query that loads all its results into a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListQuery {
    /// The place.
    pub place: Place,
    /// The collection or model, if known.
    pub collection: Option<String>,
    /// Whether bindings prove that the call is a query of MongoDB.
    pub is_proven: bool,
    /// The conditions of the filter.
    pub filter: FilterKind,
    /// The fields of the filter.
    pub fields: Vec<String>,
    /// Whether it is in a request handler.
    pub in_handler: bool,
}

/// The kind of condition by which a filter selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilterKind {
    /// There is no condition.
    Nothing,
    /// Only conditions that a large part of a collection may meet: flags, `$ne`, `$exists`.
    Flags,
}

/// A query that skips documents to reach a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkipQuery {
    /// The place.
    pub place: Place,
    /// The collection or model, if known.
    pub collection: Option<String>,
    /// Whether bindings prove that the call is a query of MongoDB.
    pub is_proven: bool,
    /// Whether bindings prove that the request decides how many documents are skipped.
    pub from_request: bool,
    /// Whether a parameter decides it.
    pub from_caller: bool,
    /// Whether the code limits the number.
    pub is_bounded: bool,
}

/// A number that is computed from the largest one or from a count, and then stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NextNumber {
    /// The place where the number is computed.
    pub place: Place,
    /// The line of the read.
    pub read_line: u32,
    /// The collection or model, if known.
    pub collection: Option<String>,
    /// The field that the number is stored in, if known.
    pub field: Option<String>,
    /// The value that the number is computed from.
    pub basis: NumberBasis,
    /// Whether bindings prove that the document with the number is stored in the collection that was read.
    pub is_proven: bool,
    /// Whether the function handles the duplicate-key error.
    pub retries: bool,
}

/// The value that the next number is computed from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberBasis {
    /// The largest number.
    Largest,
    /// The number of documents.
    Count,
}
