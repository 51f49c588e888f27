//! `docward guard`: a proxy for MongoDB that pools connections. Clients speak to it as to a router; few
//! connections to the servers carry the commands of many clients.
//!
//! A command is read as a whole (`request.rs`), goes to a server that suits it (`forward.rs`), and its answer is
//! looked through for cursors and changes of roles (`reply.rs`). What belongs to a server rather than to a
//! connection is kept in tables (`cursors.rs`, `transactions.rs`). The protocol itself is in `docward-wire`,
//! connections and discovery are in `docward-net`.

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "tests: a panic is the message"))]

mod admin;
mod auth;
mod client;
mod commands;
mod cursors;
mod doors;
mod errors;
mod forward;
mod gate;
mod guard;
mod hello;
mod memory;
mod metrics;
mod rates;
mod reply;
mod request;
mod rights;
mod settings;
mod transactions;

pub use admin::{ReloadRequests, serve_admin};
pub use auth::Auth;
pub use doors::Door;
pub use guard::Guard;
pub use hello::Face;
pub use rates::RateLimit;
pub use rights::{FileUser, FileUsers, Right};
pub use settings::{Listen, Live, Settings};
