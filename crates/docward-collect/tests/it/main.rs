//! Files as users have them, built here and read through the public interface.
#![allow(clippy::unwrap_used, reason = "a test that cannot set up its files should stop there")]
#![allow(clippy::print_stderr, reason = "a skipped test says so")]

mod archives;
mod damage;
mod dumps;
mod loose;
mod real_data;
mod running;
mod support;
mod zips;
