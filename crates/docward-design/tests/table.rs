//! Tests post-rules, questions, indexes, shard keys and checks at their limits, with models of two
//! entities.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod checks;
mod costs;
mod elements;
mod ends;
mod extended;
mod functions;
mod indexes;
mod kept;
mod lifetimes;
mod patterns;
mod previews;
mod questions;
mod reviews;
mod series;
mod shards;
mod sides;
mod turns;
