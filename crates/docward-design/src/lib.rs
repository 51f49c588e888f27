//! The design advisor: from declared entities and access patterns (DP-1, DP-2) to a document model,
//! with the arithmetic of every decision.
//!
//! [`read`] reads a model file, [`decide`] decides one relationship by rows of the decision tables
//! (ALG-5). Pure: no IO, no clock.

mod aging;
mod attribute;
pub mod capacity;
mod checks;
mod clash;
mod collection;
mod compare;
mod decide;
mod deciding;
mod derive;
mod documents;
pub mod emit;
pub mod example;
mod facts;
mod fault;
mod index;
mod interview;
pub mod js;
mod layout;
pub mod maintain;
pub mod measured;
mod naming;
mod pattern;
mod plan;
mod planned;
mod pools;
mod position;
mod predict;
mod preview;
pub mod quantile;
mod quantity;
mod read;
mod readings;
mod remarks;
mod sensitivity;
mod shard;
pub mod size;
mod starter;
pub mod statement;
mod table;
mod tail;
pub mod validator;
mod whole;
mod written;
mod yaml;

pub use capacity::{Capacity, Crossing};
pub use clash::clashes;
pub use collection::{CollectionPlan, Purpose};
pub use compare::{Alternative, OperationCost, Way};
pub use decide::{Choice, Row, Ruling, Vote, decide, is_outlier, rows};
pub use derive::{Known, Question, known, questions};
pub use facts::{Bounds, Facts, Growth, Kind};
pub use fault::Fault;
pub use index::{IndexPlan, Partial};
pub use interview::{Ask, interview};
pub use layout::Figure;
pub use naming::Naming;
pub use pattern::{Bucket, Pattern, Window};
pub use plan::{Decision, Design, DesignCheck, EntityAdvice, Verdict, design, design_stored};
pub use planned::{Kinds, Origin, Planned, Rank, document_bytes};
pub use pools::{PoolPlan, Pools, pools};
pub use predict::{Act, Fetch, Link, Predictor, ReadPlan, WritePlan, predictors};
pub use read::{MAX_BYTES, read};
pub use readings::{Readings, ReadingsWay, readings};
pub use sensitivity::{Turn, turns};
pub use shard::{KeyCandidate, ShardPlan};
pub use starter::{LooksLikeSeries, STARTER, starter_from};
pub use table::nearest;
