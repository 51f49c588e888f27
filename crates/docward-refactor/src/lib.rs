//! Changes deployments. Apart from this crate, only `docward-simulate` writes to a deployment, in a
//! scratch database.
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

mod cost;
mod operator;
mod undo;
mod validator;

pub use cost::Cost;
pub use operator::{Missing, Operator, Trouble, failed};
pub use undo::{Undo, UndoFault};
pub use validator::{Action, Level, Rung, Standing, Validation};
