//! Real MongoDB servers for tests: started on free loopback ports, stopped and swept up whatever
//! happens to the test.
//!
//! A test about a server talks to a server; nothing here imitates one. `scripts/mongod.py` says
//! where the program is (`DOCWARD_MONGOD`, `PATH`, or a copy it fetches once). Everything blocks:
//! tests are plain functions.
//!
//! ```no_run
//! use docward_testkit::Launch;
//!
//! let servers = Launch::replica_set(3).auth().start();
//! servers.insert("db_shop.t_order", [bson::doc! { "_id": 1 }]);
//! println!("{}", servers.uri());
//! ```
//!
//! Not for the product: only tests depend on it.

mod browser;
mod certificates;
mod launch;
mod load;
mod patience;
mod ports;
mod program;
mod shell;
mod supervised;

pub use browser::Browser;
pub use certificates::Certificates;
pub use launch::{Blocked, FailPoint, Launch, Servers};
pub use load::Refused;
pub use patience::{PATIENCE, wait_for, wait_until};
pub use program::{mongod, mongod_of, mongosh, repository};
pub use shell::{Call, NotRunnable, Statement, statements};

pub use mongodb;
