//! Bytes that hold documents: walking raw BSON, reading Extended JSON and mongosh notation into
//! BSON, and framing dump and archive files. Sans-IO: callers bring the bytes.
//!
//! Not here: opening files (`docward-collect`), statistics (`docward-profile`).

pub mod json;
