//! JSON text in, raw BSON bytes out.
//!
//! One parser for everything people keep MongoDB documents in: JSON lines, an array of documents,
//! documents one after another; plain JSON, Extended JSON 1 and 2 (canonical and relaxed), and the
//! notation of mongosh and the old `mongo` shell (`ObjectId("…")`, unquoted names, comments,
//! trailing commas). Which notation a value is in is decided value by value, so mixtures work too.
//!
//! [`Parser`] takes the stream piece by piece and survives broken documents: it reports the error
//! and goes on with the next document. [`parse_one`] is for a text that is one document.
//!
//! Numbers become the types `mongoimport` would give them: a whole number is an int32 when it
//! fits, else an int64 when it fits, else a double; a fraction or an exponent makes a double.
//! Duplicate field names are kept, as BSON can hold them.
//!
//! Not here: reading files or decompressing (`docward-collect`), reading BSON, and evaluating
//! JavaScript: only the literal forms listed in `shell` are understood.

mod convert;
mod date;
mod error;
mod number;
mod reader;
mod shell;
mod skip;
mod stream;
mod swar;
mod text;
mod wrapper;

#[cfg(test)]
mod tests;

pub use error::{Error, Place};
pub use stream::{MAX_DEPTH, MAX_TEXT, Parser, Step, parse_one};
