//! Lines of a check, which runs functions in a scratch database and compares their results.

use std::fmt::Display;

use docward_model::shell::quote;

/// Lines of JavaScript. They use the functions at the beginning of `check.js`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Check(Vec<String>);

impl Check {
    /// Returns all lines.
    pub fn lines(&self) -> impl Iterator<Item = &str> {
        self.0.iter().flat_map(|lines| lines.lines())
    }

    /// Adds code.
    pub(crate) fn run(&mut self, code: impl Into<String>) {
        self.0.push(code.into());
    }

    /// Adds a constant.
    pub(crate) fn set(&mut self, name: &str, value: impl Display) {
        self.run(format!("const {name} = {value};"));
    }

    /// Adds a new document of a collection with a name.
    pub(crate) fn insert(&mut self, name: &str, collection: &str) {
        self.set(name, made(collection));
        self.run(format!("{}.insertOne({name});", stored(collection)));
    }

    /// Adds an expectation about the value of an expression.
    pub(crate) fn expect(&mut self, what: &str, actual: impl Display, wanted: impl Display) {
        self.run(format!("expect({}, {actual}, {wanted});", quote(what)));
    }

    /// Adds an expectation that a call fails with any error.
    pub(crate) fn fails(&mut self, what: &str, call: impl Display) {
        self.run(format!("refused({}, null, () => {call});", quote(what)));
    }

    /// Adds an expectation that the server refuses a call with a code.
    pub(crate) fn refused(&mut self, what: &str, code: i32, call: impl Display) {
        self.run(format!("refused({}, {code}, () => {call});", quote(what)));
    }

    /// Adds lines in a separate block: `if (transactions) { … }`.
    pub(crate) fn block(&mut self, open: &str, inside: Check) {
        self.run(open);
        self.0.extend(inside.lines().map(|line| format!("  {line}")));
        self.run("}");
    }

    /// Adds the lines of another check.
    pub(crate) fn extend(&mut self, other: Check) {
        self.0.extend(other.0);
    }
}

/// Returns an expression for a collection.
pub(crate) fn stored(collection: &str) -> String {
    format!("at.getCollection({})", quote(collection))
}

/// Returns an expression that creates a new document of a collection.
pub(crate) fn made(collection: &str) -> String {
    format!("make[{}]()", quote(collection))
}

/// Returns an expression for the current document with the id of `root`.
pub(crate) fn root_in(collection: &str) -> String {
    found(collection, "root")
}

/// Returns an expression for the stored document with the id of another one.
pub(crate) fn found(collection: &str, document: &str) -> String {
    format!("{}.findOne({{ _id: {document}._id }})", stored(collection))
}
