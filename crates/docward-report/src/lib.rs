//! One [`Report`](docward_model::Report), several shapes: the terminal, JSON per the contract, and
//! the checklist table. Each format is one file; none of them decides anything.

mod checklist;
mod json;
mod shardkey;
mod terminal;
mod text;

pub use checklist::checklist;
pub use json::{json, rules_json};
pub use shardkey::{shard_keys, shard_keys_json};
pub use terminal::{Expand, TerminalOptions, terminal};
pub use text::{Paint, wrap};
