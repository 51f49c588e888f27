//! Post-rules, questions, indexes, shard keys and checks, each at its bound, on models of two entities.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod common;

#[path = "table/checks.rs"]
mod checks;
#[path = "table/costs.rs"]
mod costs;
#[path = "table/ends.rs"]
mod ends;
#[path = "table/indexes.rs"]
mod indexes;
#[path = "table/kept.rs"]
mod kept;
#[path = "table/lifetimes.rs"]
mod lifetimes;
#[path = "table/patterns.rs"]
mod patterns;
#[path = "table/questions.rs"]
mod questions;
#[path = "table/series.rs"]
mod series;
#[path = "table/shards.rs"]
mod shards;
#[path = "table/turns.rs"]
mod turns;
