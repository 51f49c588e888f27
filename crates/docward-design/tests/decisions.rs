//! Tests the designs of models and their output. All tests are one program, because each separate
//! program would have to be linked with all dependencies.

mod advice;
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
