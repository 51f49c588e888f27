//! Advice that depends on figures: shard keys and unique values, reconsidered verdicts, stored
//! counts, large documents, mistakes in model files.

mod shard_keys;
mod verdicts;
