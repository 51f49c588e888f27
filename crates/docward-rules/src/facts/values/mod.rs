//! Facts about the values of fields: types, order, meaning, sizes.

pub mod amounts;
pub mod blobs;
pub mod classes;
pub mod dates;
pub mod ids;
pub mod moments;
pub mod monotonic;
pub mod sizes;
pub mod type_unification;
