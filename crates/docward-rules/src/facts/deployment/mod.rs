//! Facts about a deployment: servers, accounts, network, and clients.

pub mod accounts;
pub mod addresses;
pub mod business;
pub mod clients;
pub mod groups;
pub mod network;
pub mod server;
