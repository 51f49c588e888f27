//! `docward guard`: a MongoDB proxy that pools connections. Clients connect to it as to a router. A few connections to
//! the servers carry the commands of many clients.
//!
//! The guard parses each command (`request.rs`), sends it to a suitable server (`forward.rs`), and checks the reply for
//! cursors and state changes (`reply.rs`). Cursors and transactions belong to a server and not to a connection, so
//! tables record their servers (`cursors.rs`, `transactions.rs`). The guard closes on the servers what clients left open
//! (`closing.rs`). `docward-wire` implements the wire protocol, and
//! `docward-net` implements connections and server discovery.

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "tests: a panic is the message"))]

mod admin;
mod auth;
mod caller;
mod client;
mod closing;
mod commands;
mod cursors;

mod errors;
mod forward;
#[doc(hidden)]
pub mod fuzzing;
mod gate;
mod guard;
mod hello;
mod listeners;
mod memory;
mod metrics;
mod rates;
mod reply;
mod request;
mod rights;
mod settings;
mod snapshot;
mod table;
mod transactions;

pub use admin::{ReloadRequests, serve_admin};

pub use guard::Guard;
pub use hello::Face;
pub use listeners::Listener;
pub use rates::RateLimit;
pub use rights::{FileUser, FileUsers, Right};
pub use settings::{Auth, Listen, Live, Settings};
