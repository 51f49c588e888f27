//! The design advisor. It turns declared entities and access patterns (DP-1, DP-2) into a document
//! model and explains the arithmetic of every decision. This crate does no IO and uses no clock.
//!
//! Imports between modules go in one direction only: no module imports a later one.
//!
//! 1. [`declared`]: what follows from a declared model: names, dates, fields and their sizes.
//! 2. [`model_file`]: reads YAML into a model, writes starter files, runs the interview.
//! 3. [`decide`]: decides one relationship by the rows of the decision tables (ALG-5), and its
//!    patterns.
//! 4. [`layout`]: documents, collections, indexes, shard keys, sizes, the checklist.
//! 5. [`cost`]: the cost of each alternative for a relationship, operation by operation.
//! 6. [`design`]: a whole model, with constraints that run until nothing changes.
//! 7. [`emit`]: scripts, validators, examples, diagrams.

mod cost;
mod decide;
mod declared;
mod design;
pub mod emit;
mod layout;
mod model_file;

pub use cost::access_plan::{Act, Fetch, Link, ReadPlan, WritePlan};
pub use cost::measured;
pub use cost::pools::{PoolPlan, Pools, pools};
pub use cost::predict::{Predictor, predictors};
pub use cost::readings::{Readings, ReadingsWay, readings};
pub use decide::alternative::{Alternative, Crossing, OperationCost, StorageAlternative};
pub use decide::decision::{Decision, EntityAdvice, Verdict};
pub use decide::derive::{Known, Question, known, questions};
pub use decide::facts::{Bounds, Facts, Growth, Kind, is_outlier};
pub use decide::flip_points::{Turn, turns};
pub use decide::pattern::{Bucket, Pattern, Window};
pub use decide::vote::{Choice, Row, RowId, Ruling, Vote, decide, rows};
pub use declared::field_plan::{Kinds, Origin, Planned, Rank, document_bytes};
pub use declared::naming::Naming;
pub use declared::{quantile, size};
pub use design::clash::clashes;
pub use design::{design, design_stored};
pub use emit::{example, js, maintain, statement};
pub use layout::capacity::Capacity;
pub use layout::checks::{CheckId, DesignCheck};
pub use layout::collection::{CollectionPlan, Purpose};
pub use layout::fields::Figure;
pub use layout::index_plan::{IndexPlan, Partial};
pub use layout::plan::Design;
pub use layout::shard_key::{KeyCandidate, ShardPlan, UniqueLookup, is_warning};
pub use layout::{capacity, validator};
pub use model_file::fault::Fault;
pub use model_file::interview::{Ask, interview};
pub use model_file::read::{MAX_BYTES, read};
pub use model_file::starter::declared::{DeclaredEntity, EntityFieldDraft, starter_declared};
pub use model_file::starter::{LooksLikeSeries, STARTER, starter_from};
pub use model_file::table::nearest;
