//! The statistics of a running guard, for the metrics and for operators.

use std::{sync::Arc, time::Duration};

use docward_net::{PoolReport, topology::Address};

/// The state of a server.
#[derive(Clone, Debug)]
pub(crate) struct ServerReport {
    /// The address.
    pub(crate) address: Address,
    /// The kind of the server, as operators see it.
    pub(crate) kind: &'static str,
    /// Why the server cannot be used.
    pub(crate) error: Option<String>,
    /// The moving average of the round-trip time.
    pub(crate) round_trip: Option<Duration>,
    /// The number of commands that were sent and not answered.
    pub(crate) in_flight: usize,
    /// The number of connections, open or being opened.
    pub(crate) connections: usize,
    /// The maximum number of connections.
    pub(crate) budget: usize,
}

/// Statistics of the guard.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    /// The time since the start.
    pub(crate) uptime: Duration,
    /// The number of connected clients.
    pub(crate) clients: usize,
    /// The number of clients by application and user.
    pub(crate) applications: Vec<(Arc<str>, Arc<str>, usize)>,
    /// The servers.
    pub(crate) servers: Vec<ServerReport>,
    /// The server and the statistics of each pool.
    pub(crate) pools: Vec<(Address, PoolReport)>,
    /// The number of open cursors.
    pub(crate) cursors: usize,
    /// The number of open transactions.
    pub(crate) transactions: usize,
    /// The bytes of messages in memory, and their limit.
    pub(crate) memory: (usize, usize),
    /// The number of commands since the start.
    pub(crate) requests: u64,
    /// Commands that were sent a second time.
    pub(crate) resent: u64,
    /// Commands that were rejected because no connection became free.
    pub(crate) rejected: u64,
    /// Commands that were rejected because of a limit of their user or application.
    pub(crate) limited: u64,
    /// The number of errors that the guard itself returned, by code.
    pub(crate) errors: Vec<(i32, u64)>,
    /// The time that recent commands spent in the guard and not at a server.
    pub(crate) added: Quantiles,
    /// Whether a server that accepts writes is known.
    pub(crate) has_primary: bool,
    /// Whether the guard is shutting down.
    pub(crate) is_draining: bool,
    /// Whether the guard is paused.
    pub(crate) is_paused: bool,
    /// The number of commands that wait for the end of a pause or hold.
    pub(crate) held: usize,
}

/// Quantiles of times in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Quantiles {
    /// The number of measurements.
    pub(crate) count: u64,
    /// The median.
    pub(crate) p50: u64,
    /// The 99th percentile.
    pub(crate) p99: u64,
}
