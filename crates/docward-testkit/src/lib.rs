//! Real MongoDB servers for tests: started on free loopback ports, stopped and cleaned up whatever
//! happens to the test.
//!
//! Tests of server features use real servers; the crate has no mocks. `scripts/mongod.py` finds the
//! program (`DOCWARD_MONGOD`, `PATH`, or a copy that it downloads once). All functions block: tests
//! are plain functions.
//!
//! ```no_run
//! use docward_testkit::Launch;
//!
//! let servers = Launch::replica_set(3).auth().start();
//! servers.insert("db_shop.t_order", [bson::doc! { "_id": 1 }]);
//! println!("{}", servers.uri());
//! ```
//!
//! Only tests depend on this crate.

mod browser;
mod certificates;
mod converge;
mod data_set;
mod launch;
mod load;
mod patience;
mod ports;
mod program;
mod shared;
mod shell;
mod supervised;
mod values;

pub use browser::Browser;
pub use certificates::Certificates;
pub use converge::{Outcome, Proposal, Row, Trace, converge};
pub use launch::{Blocked, Deployment, FailPoint, Launch};
pub use load::Refused;
pub use patience::{PATIENCE, wait_for, wait_until};
pub use program::{mongod, mongod_of, mongosh, repository};
pub use shared::Servers;
pub use shell::{Call, NotRunnable, Statement, statements};

pub use mongodb;
