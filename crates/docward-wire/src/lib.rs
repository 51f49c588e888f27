//! MongoDB's wire protocol for a proxy: frames, messages, compression, and edits of raw BSON
//! documents.
//!
//! This crate does no IO. It checks lengths from the wire before it allocates memory for them, and
//! no input causes a panic. The caller reads a complete frame, whose length is in its [`Header`].
//! [`Message::parse`] then returns the position of each part as a [`Span`]. The caller can
//! therefore change fixed-width values in place.

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

/// Why bytes from the wire are invalid. The guard closes the connection after any of these.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The declared length of a message is out of range.
    #[error("message length {length} is out of range (16 to {most} bytes)")]
    Length {
        /// The declared length in bytes.
        length: i64,
        /// The maximum length in bytes.
        most: usize,
    },
    /// A part of a message is incomplete, or does not have the declared length.
    #[error("unexpected end of {0}")]
    Truncated(&'static str),
    /// Bytes follow the end of a message's content.
    #[error("unexpected bytes after {0}")]
    Leftover(&'static str),
    /// A BSON document is invalid.
    #[error("invalid BSON document: {0}")]
    Document(&'static str),
    /// A flag is unknown that receivers must not ignore.
    #[error("unknown message flags {0:#x}")]
    Flags(u32),
    /// The kind of a section is unknown.
    #[error("unknown section kind {0} (expected 0 or 1)")]
    Section(u8),
    /// The message does not have exactly one body.
    #[error("message has {0} bodies (expected 1)")]
    Bodies(usize),
    /// Two document sequences have the same name.
    #[error("message contains the same document sequence twice")]
    Twice,
    /// The message has more document sequences than any command.
    #[error("message has too many document sequences")]
    Sequences,
    /// The checksum is wrong.
    #[error("message checksum does not match")]
    Checksum,
    /// The compressor is unknown.
    #[error("unknown compressor {0}")]
    Compressor(u8),
    /// Compressed data is corrupt, compressed twice, or does not have the declared length.
    #[error("compressed message is corrupt or does not have its declared length")]
    Compressed,
}
