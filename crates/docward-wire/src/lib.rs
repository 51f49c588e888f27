//! MongoDB's wire protocol as a proxy needs it: frames, messages, compression, and edits of documents that stay
//! raw bytes.
//!
//! Sans-IO: bytes go in, bytes come out. Lengths that come from the wire are checked before anything is
//! allocated for them, and no bytes cause a panic. A whole frame is read first ([`Header`] says how long it is);
//! then [`Message::parse`] finds its parts as places ([`Span`]) in it, so that fixed-width values can be changed
//! where they stand.

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "tests: a panic is the message"))]

mod compressed;
mod document;
mod edit;
mod header;
mod message;
mod query;

pub use compressed::{Compressor, compress, decompress};
pub use document::{Document, Element, Elements, Kind};
pub use edit::{Change, edited, put_i32, put_i64};
pub use header::{Header, Op};
pub use message::{Flags, Message, Sequence, Span, message};
pub use query::{Query, failed_reply, reply};

/// What is wrong with bytes from the wire. None of these can be answered: the connection is closed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// A frame that claims an impossible length.
    #[error("a message of {length} bytes; between 16 and {most} are possible")]
    Length {
        /// As the header says.
        length: i64,
        /// The most that is accepted.
        most: usize,
    },
    /// Something reaches beyond the end of what holds it.
    #[error("{0} reaches beyond the end of its message")]
    Truncated(&'static str),
    /// Bytes are left over.
    #[error("{0} is followed by bytes that belong to nothing")]
    Leftover(&'static str),
    /// A document that is not one.
    #[error("a document is broken: {0}")]
    Document(&'static str),
    /// Flags that have to be understood and are not.
    #[error("message flags {0:#x} are not known")]
    Flags(u32),
    /// A section of a kind that is not known.
    #[error("a section of kind {0}; 0 and 1 are known")]
    Section(u8),
    /// The body has to be there exactly once.
    #[error("a message has exactly one body; this one has {0}")]
    Bodies(usize),
    /// A sequence of documents twice.
    #[error("a sequence of documents appears twice")]
    Twice,
    /// The checksum does not fit.
    #[error("the checksum of a message does not fit its bytes")]
    Checksum,
    /// A compressor that is not known.
    #[error("compressor {0} is not known")]
    Compressor(u8),
    /// Compressed bytes that are broken, or hold more or less than they claim.
    #[error("compressed bytes do not hold what they claim")]
    Compressed,
}
