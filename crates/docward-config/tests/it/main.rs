//! Tests of the crate from outside, in one binary: linking is what costs.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the message")]

mod guide;
mod meaning;
mod messages;
mod robust;
mod rules;
mod schema;
