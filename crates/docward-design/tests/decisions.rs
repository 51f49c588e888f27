//! What models lead to, and what is written for them.
//! One program: each of its own would be built and linked with everything that Docward rests on.

mod clash;
mod common;
mod emitted;
mod gallery;
mod held;
mod lists;
mod live;
mod references;
mod schema;
mod table;
