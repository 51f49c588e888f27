//! Pure questions several rules ask: what a name means, how it is split, how numbers are printed.

pub mod arrays;
pub mod blobs;
pub mod forecast;
pub mod names;
pub mod patterns;
pub mod proposals;
pub mod series;
pub mod sizes;
pub mod text;
pub mod words;

pub use words::is_auxiliary_name;
