//! Pure questions several rules ask: what a name means, how it is split, how numbers are printed.

<<<<<<< HEAD
<<<<<<< HEAD
pub mod indexes;
=======
pub mod arrays;
pub mod blobs;
pub mod forecast;
>>>>>>> rulesd
=======
pub mod amounts;
pub mod business;
pub mod classes;
pub mod dates;
pub mod fold;
pub mod ids;
>>>>>>> rulest
pub mod names;
pub mod naming;
pub mod patterns;
<<<<<<< HEAD
<<<<<<< HEAD
pub mod schema;
pub mod server;
pub mod shell;
pub mod suffix;
=======
pub mod proposals;
pub mod series;
pub mod sizes;
>>>>>>> rulesd
=======
pub mod relations;
pub mod sharding;
pub mod statements;
>>>>>>> rulest
pub mod text;
pub mod words;

pub use words::is_auxiliary_name;
