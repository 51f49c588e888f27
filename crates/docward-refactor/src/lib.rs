//! What changes a deployment: the only place of Docward that writes to one.
//!
//! Everything here is asked for by an operator, after a dry run that showed what would happen. Each change
//! waits for a majority, is remembered so that it can be undone, and does nothing when it is done already.
//!
//! Read on: `operator` (the connection, and what the account may do), `validator` (validators and the
//! ladder of RF-19), `undo` (what was there before), `cost` (what validation costs writes), `simulate` (ways to
//! store a relationship, measured in a scratch database).

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
