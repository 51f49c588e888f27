//! Turns decisions into collections: fields, indexes, shard keys, sizes and the checklist.

pub(crate) mod aging;
pub mod capacity;
pub(crate) mod checks;
pub(crate) mod collection;
pub(crate) mod collections;
pub(crate) mod fields;
pub(crate) mod index;
pub(crate) mod index_plan;
pub(crate) mod plan;
pub(crate) mod shard;
pub(crate) mod shard_key;
pub(crate) mod time_series;
pub mod validator;
