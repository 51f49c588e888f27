//! Pure questions several rules ask: what a name means, how it is split, how numbers are printed.

pub mod indexes;
pub mod names;
pub mod naming;
pub mod patterns;
pub mod schema;
pub mod server;
pub mod shell;
pub mod suffix;
pub mod text;
pub mod words;

pub use words::is_auxiliary_name;
