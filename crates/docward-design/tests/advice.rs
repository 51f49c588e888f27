//! Advice that depends on figures: shard keys and unique values, reconsidered verdicts, stored
//! counts, large documents, mistakes in model files.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod shard_keys;
mod verdicts;
