//! Answers that are not findings: a validator inferred from documents, shard keys measured and
//! ranked, the launch checklist, the security self-check, and the dates on which limits are
//! reached.
//!
//! They use the facts of `docward-rules`, and some of its findings. Like rules, they do no IO.

mod checklist;
mod growth;
pub mod infer;
mod security;
mod shardkey;

pub use checklist::checklist;
pub use growth::forecasts;
pub use security::security_checklist;
pub use shardkey::{KeyQuestion, shard_keys};
