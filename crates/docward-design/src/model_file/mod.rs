//! Reads and writes model files.

pub(crate) mod fault;
pub(crate) mod interview;
pub(crate) mod position;
pub(crate) mod quantity;
pub(crate) mod read;
pub(crate) mod starter;
pub(crate) mod table;
pub(crate) mod yaml;
