//! Facts about calls whose result no code awaits.

use super::Place;

/// A call of a driver or mapper that returns a promise which no code awaits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostPromise {
    /// The place.
    pub place: Place,
    /// The collection or model, if known.
    pub collection: Option<String>,
    /// The method.
    pub method: String,
    /// The library.
    pub library: Promiser,
    /// Whether the library sends nothing before code awaits the result.
    pub never_runs: bool,
    /// Whether the method changes data.
    pub writes: bool,
    /// Whether it is in an asynchronous callback of `forEach`, which waits for no callback.
    pub in_for_each: bool,
}

/// A library that returns promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Promiser {
    /// Mongoose.
    Mongoose,
    /// The driver of Node.js.
    Node,
    /// Motor.
    Motor,
    /// The asynchronous API of PyMongo.
    PyMongo,
}
