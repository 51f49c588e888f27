//! The cost of the alternatives for storing a relationship.

pub(crate) mod access_plan;
pub(crate) mod compare;
pub(crate) mod documents;
pub mod measured;
pub(crate) mod pools;
pub(crate) mod predict;
pub(crate) mod readings;
pub(crate) mod reconcile_costs;
pub(crate) mod size_distribution;
