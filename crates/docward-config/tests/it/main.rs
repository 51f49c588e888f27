//! Tests of the crate's public interface, in one binary, because linking is expensive.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the message")]

mod guide;
mod meaning;
mod messages;
mod robust;
mod rules;
mod schema;
