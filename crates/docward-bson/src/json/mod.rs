//! Converts JSON text to raw BSON bytes.
//!
//! One parser reads every text format of MongoDB documents:
//!
//! - JSON lines, an array of documents, or documents one after another
//! - plain JSON
//! - Extended JSON 1 and 2 (canonical and relaxed)
//! - the notation of mongosh and the old `mongo` shell (`ObjectId("…")`, unquoted names, comments,
//!   trailing commas)
//!
//! The notation is detected for each value, so mixtures also work.
//!
//! [`Parser`] consumes the stream piece by piece and tolerates broken documents: it reports the
//! error and continues with the next document. [`parse_one`] is for a text that is a single
//! document.
//!
//! Numbers get the types that `mongoimport` assigns: an integer is an int32 if it fits, else an
//! int64 if it fits, else a double. Numbers with a fraction or an exponent are doubles. Duplicate
//! field names are kept, because BSON permits them.
//!
//! Not included: reading files or decompression (`docward-collect`), reading BSON, and evaluating
//! JavaScript: only the literal forms listed in `shell` are supported.

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
