//! Documents in, [`Profile`](docward_model::Profile) out: streaming, mergeable, bounded memory.
//!
//! [`Profiler`] reads raw BSON of one collection. Profilers of parts merge exactly to the result of
//! a single profiler. [`relate`] compares the links of several collections. No IO, no clock, no
//! randomness: the same documents give the same profile.

mod between;
mod blocks;
mod families;
mod finish;
mod forms;
mod growth;
mod hash;
mod histogram;
mod joins;
mod links;
mod profiler;
mod rows;
mod saved;
mod sketch;
mod stats;
mod tally;
mod text;
mod tree;
mod values;

pub use between::observe_growth;
pub use blocks::{array_documents, last_id};
pub use families::families;
pub use finish::Profiled;
pub use links::{Links, Lookup, MANY, relate};
pub use profiler::{Damage, Profiler, TIERS as SIZE_TIERS};
