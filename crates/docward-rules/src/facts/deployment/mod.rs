//! What a deployment consists of: its servers, accounts and network, and the programs that use it.

pub mod accounts;
pub mod addresses;
pub mod business;
pub mod clients;
pub mod groups;
pub mod network;
pub mod server;
