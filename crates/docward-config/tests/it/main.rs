//! Tests of the crate from outside, in one binary: linking is what costs.

mod guide;
mod meaning;
mod messages;
mod robust;
mod rules;
mod schema;
