//! Pure questions several rules ask: what a name means, how it is split, how numbers are printed.

pub mod names;
pub mod patterns;
pub mod text;
pub mod words;

pub use words::is_auxiliary_name;
