//! Pure questions several rules ask: what a name means, how it is split, how numbers are printed.

pub mod accounts;
pub mod addresses;
pub mod amounts;
pub mod arrays;
pub mod blobs;
pub mod business;
pub mod classes;
pub mod dates;
pub mod fold;
pub mod forecast;
pub mod ids;
pub mod indexes;
pub mod names;
pub mod naming;
pub mod network;
pub mod patterns;
pub mod proposals;
pub mod relations;
pub mod renames;
pub mod rising;
pub mod schema;
pub mod series;
pub mod server;
pub mod sharding;
pub mod shell;
pub mod sizes;
pub mod slips;
pub mod statements;
pub mod suffix;
pub mod text;
pub mod validators;
pub mod wanted;
pub mod words;
pub mod workload;

pub use words::is_auxiliary_name;
