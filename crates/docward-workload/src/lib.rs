//! Operations in, [`Workload`](docward_model::Workload) out: what clients ask, by shape, without the
//! values they ask for.
//!
//! [`log_entry`] and [`profile_entry`] read what servers write down, one parsed line or row at a
//! time; [`Recorder`] adds them up in bounded memory. No IO, no clock.

mod entry;
mod recorder;
mod sessions;
mod shape;
mod update;

pub use entry::{Entry, Error, Ran, log_entry, profile_entry};
pub use recorder::Recorder;
