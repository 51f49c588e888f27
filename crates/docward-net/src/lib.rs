//! Connections to MongoDB as a proxy needs them: streams with TLS, frames, logins, what is known of a deployment,
//! and pools.
//!
//! Everything that decides is pure and has no IO: [`scram`], [`topology`], [`select`]. Time is tokio's, so that
//! tests can stop it. The official driver stays for everything that is not the path of a proxy.

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "tests: a panic is the message"))]

mod budget;
mod connection;
mod deployment;
mod frames;
mod monitor;
mod pool;
pub mod scram;
pub mod select;
mod stream;
mod tls;
pub mod topology;

pub use budget::Budget;
pub use connection::{Connection, Credential, KnownKeys, OpenError, Opener, command};
pub use deployment::{
    AtServer, Deployment, Lane, Leased, Limits, Login, Member, NoServer, PoolReport, Upstream,
};
pub use frames::{Frames, ReadError};
pub use pool::{Denied, Lease, Manage, Pool, PoolLimits, PoolState, Purpose};
pub use stream::{Stream, connect, tune};
pub use tls::{TlsClient, TlsError, TlsServer};

/// Random text without commas, for nonces.
pub fn nonce() -> String {
    use base64::Engine;
    let mut bytes = [0; 24];
    // Without randomness there is no safe login: nothing else is left to do.
    getrandom::fill(&mut bytes).expect("the system has randomness");
    base64::engine::general_purpose::STANDARD.encode(bytes)
}
