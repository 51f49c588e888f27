//! Changes deployments. No other crate of Docward writes to one.
//!
//! An operator requests every change, after a dry run that showed what would happen. Each change
//! waits for a majority, is recorded so that it can be undone, and does nothing if it is already in
//! place.
//!
//! The modules:
//!
//! - `operator`: the connection, and the privileges of the account
//! - `validator`: validators and the ladder of RF-19
//! - `undo`: the state before a change
//! - `cost`: the cost of validation for writes
//! - `simulate`: alternatives to store a relationship, measured in a scratch database

mod cost;
mod operator;
mod simulate;
mod undo;
mod validator;

pub use cost::Cost;
pub use operator::{Missing, Operator, Trouble};
pub use simulate::{PlannedSeries, PlannedSimulation, Scale, SimulationPlan};
pub use undo::{Undo, UndoFault};
pub use validator::{Action, Level, Rung, Standing, Validation};
