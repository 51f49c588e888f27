//! Operations in, [`Workload`](docward_model::Workload) out: the queries of clients by shape,
//! without values.
//!
//! [`log_entry`], [`profile_entry`], [`running_entry`] and [`totals_entry`] parse the output of
//! servers, one line or row at a time. [`Recorder`] adds them up in bounded memory. It leaves out
//! Docward's own operations ([`is_own`]). No IO, no clock.

mod entry;
mod own;
mod positions;
mod recorder;
mod refusals;
mod running;
mod sessions;
mod shape;
mod totals;
mod update;
mod writes;

pub use entry::{Entry, Error, Ran, log_entry, profile_entry};
pub use own::{is_own, own_name};
pub use recorder::Recorder;
pub use running::running_entry;
pub use totals::{Totals, totals_entry};
