//! Tests advice that depends on figures: shard keys and unique values, reconsidered verdicts, stored
//! counts, large documents, mistakes in model files.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod common;

#[path = "advice/shard_keys.rs"]
mod shard_keys;
#[path = "advice/verdicts.rs"]
mod verdicts;
