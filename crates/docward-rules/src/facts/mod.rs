//! Pure questions several rules ask: what a name means, how it is split, how numbers are printed.

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
