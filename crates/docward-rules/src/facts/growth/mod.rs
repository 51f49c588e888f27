//! What grows, how fast, and which patterns bound it.

pub mod arrays;
pub mod forecast;
pub mod patterns;
pub mod series;
