//! What follows from a declared model before anything is decided: names, dates, fields and their sizes, the way that
//! reads go.

pub(crate) mod access;
pub(crate) mod dates;
pub(crate) mod field_plan;
pub(crate) mod naming;
pub mod quantile;
pub mod size;
