//! `cargo fuzz run guard`; the work is in the library, which the smoke test runs on stable Rust.
#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| docward_fuzz_cases::guard(bytes));

#[cfg(not(fuzzing))]
fn main() {}
