//! Bytes that hold documents: walking raw BSON, reading Extended JSON and mongosh notation into
//! BSON, and framing dump and archive files. Sans-IO: callers bring the bytes.
//!
//! Not here: opening files (`docward-collect`), statistics (`docward-profile`).

pub mod archive;
pub mod dump;
pub mod json;
pub mod value;
pub mod walk;

/// A decimal's bytes, as text.
pub fn decimal_text(bytes: [u8; 16]) -> String {
    bson::Decimal128::from_bytes(bytes).to_string()
}
