//! Functions that several rules share: the meaning of names, their words, the format of numbers.

pub mod code;
pub mod deployment;
pub mod grouping;
pub mod growth;
pub mod indexes;
pub mod names;
pub mod relations;
pub mod remedies;
pub mod schema;
pub mod text;
pub mod thresholds;
pub mod values;
pub mod workload;
