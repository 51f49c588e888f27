//! Pure questions several rules ask: what a name means, how it is split, how numbers are printed.

pub mod amounts;
pub mod business;
pub mod classes;
pub mod dates;
pub mod fold;
pub mod ids;
pub mod names;
pub mod patterns;
pub mod relations;
pub mod sharding;
pub mod statements;
pub mod text;
pub mod words;

pub use words::is_auxiliary_name;
