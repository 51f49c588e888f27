//! Derives facts from a declared model before any decision: names, dates, fields with their sizes,
//! and the direction of reads.

pub(crate) mod dates;
pub(crate) mod field_plan;
pub(crate) mod naming;
pub mod quantile;
pub(crate) mod read_direction;
pub mod size;
