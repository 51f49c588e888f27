//! Connections to MongoDB for a proxy: TLS streams, message frames, logins, server discovery and connection pools.
//!
//! [`scram`], [`topology`] and [`select`] do no IO. All time comes from tokio's clock, so that tests can pause it. Only
//! the proxy uses this crate; the rest of Docward uses the official driver.

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "tests: a panic is the message"))]

mod budget;
mod connection;
mod deployment;
mod frames;
mod member;
mod monitor;
mod pool;
pub mod scram;
pub mod select;
mod stream;
mod tls;
pub mod topology;

pub use budget::Budget;
pub use connection::{Connection, Credential, KnownKeys, OpenError, Opener, command};
pub use deployment::{Deployment, NoServer, Upstream};
pub use frames::{Frames, ReadError};
pub use member::{AtServer, Lane, Leased, Limits, Login, Member, PoolReport};
pub use pool::{Denied, Lease, Manage, Pool, PoolLimits, PoolState, Purpose};
pub use stream::{Stream, connect, tune};
pub use tls::{TlsClient, TlsError, TlsServer};

/// Returns a random string without commas, for use as a SCRAM nonce.
pub fn nonce() -> String {
    use base64::Engine;
    let mut bytes = [0; 24];
    // A login with a predictable nonce is not safe, so the process must stop here.
    getrandom::fill(&mut bytes).expect("the system has randomness");
    base64::engine::general_purpose::STANDARD.encode(bytes)
}
