//! What drivers do when an option is not given. Values are those of current versions, read off the drivers'
//! sources and documentation; `known_from` says where.

use docward_model::Driver;

/// Since which version of a driver something holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Since {
    /// The first number of the version.
    pub major: u32,
    /// The second number.
    pub minor: u32,
}

impl Since {
    const fn new(major: u32, minor: u32) -> Self {
        Self { major, minor }
    }
}

/// A pool that does not work as others do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoolKind {
    /// Connections that are shared by all threads of a process.
    Shared,
    /// One connection to each server in each process.
    OnePerProcess,
}

/// What a driver does when an option is not given. Times are milliseconds; `None` is no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Defaults {
    /// How connections are shared.
    pub pool: PoolKind,
    /// `maxPoolSize`.
    pub max_pool_size: u32,
    /// `minPoolSize`.
    pub min_pool_size: u32,
    /// `maxIdleTimeMS`.
    pub max_idle_time_ms: Option<u32>,
    /// `waitQueueTimeoutMS`.
    pub wait_queue_timeout_ms: Option<u32>,
    /// Whether the driver has `waitQueueTimeoutMS` at all.
    pub has_wait_queue_timeout: bool,
    /// `connectTimeoutMS`.
    pub connect_timeout_ms: u32,
    /// `serverSelectionTimeoutMS`.
    pub server_selection_timeout_ms: u32,
    /// The first version in which writes are retried unless told otherwise.
    pub retry_writes_since: Since,
    /// The first version in which reads are retried unless told otherwise.
    pub retry_reads_since: Since,
    /// The first version that understands `mongodb+srv://`.
    pub srv_since: Since,
    /// Where this is known from.
    pub known_from: &'static str,
}

/// What most drivers agree on; the others are told by what differs.
const USUAL: Defaults = Defaults {
    pool: PoolKind::Shared,
    max_pool_size: 100,
    min_pool_size: 0,
    max_idle_time_ms: None,
    wait_queue_timeout_ms: None,
    has_wait_queue_timeout: true,
    connect_timeout_ms: 10_000,
    server_selection_timeout_ms: 30_000,
    retry_writes_since: Since::new(0, 0),
    retry_reads_since: Since::new(0, 0),
    srv_since: Since::new(0, 0),
    known_from: "connection string options in the manual of the server",
};

/// What a driver does when an option is not given.
pub fn defaults(driver: Driver) -> Defaults {
    match driver {
        Driver::Python => Defaults {
            connect_timeout_ms: 20_000,
            retry_writes_since: Since::new(3, 9),
            retry_reads_since: Since::new(3, 9),
            srv_since: Since::new(3, 6),
            known_from: "pymongo/common.py of mongo-python-driver, and its changelog",
            ..USUAL
        },
        Driver::Java => Defaults {
            wait_queue_timeout_ms: Some(120_000),
            retry_writes_since: Since::new(3, 11),
            retry_reads_since: Since::new(3, 11),
            srv_since: Since::new(3, 6),
            known_from: "connection options in the documentation of the Java driver",
            ..USUAL
        },
        Driver::Node => Defaults {
            connect_timeout_ms: 30_000,
            retry_writes_since: Since::new(4, 0),
            retry_reads_since: Since::new(4, 0),
            srv_since: Since::new(3, 0),
            known_from: "src/connection_string.ts of node-mongodb-native; up to 3.x the pool had 5 connections",
            ..USUAL
        },
        Driver::Mongoose => Defaults {
            connect_timeout_ms: 30_000,
            retry_writes_since: Since::new(6, 0),
            retry_reads_since: Since::new(6, 0),
            srv_since: Since::new(5, 0),
            known_from: "the Node.js driver that Mongoose carries: 4.x since Mongoose 6; before that the pool had 5 connections",
            ..USUAL
        },
        Driver::Go => Defaults {
            has_wait_queue_timeout: false,
            connect_timeout_ms: 30_000,
            retry_writes_since: Since::new(1, 1),
            retry_reads_since: Since::new(1, 1),
            srv_since: Since::new(1, 0),
            known_from: "mongo/options/clientoptions.go and mongo/client.go of mongo-go-driver; waits end with the context",
            ..USUAL
        },
        Driver::Rust => Defaults {
            max_pool_size: 10,
            has_wait_queue_timeout: false,
            retry_writes_since: Since::new(1, 0),
            retry_reads_since: Since::new(1, 0),
            srv_since: Since::new(1, 0),
            known_from: "ClientOptions in the documentation of the mongodb crate",
            ..USUAL
        },
        Driver::Php => Defaults {
            pool: PoolKind::OnePerProcess,
            max_pool_size: 1,
            has_wait_queue_timeout: false,
            retry_writes_since: Since::new(1, 6),
            retry_reads_since: Since::new(1, 6),
            srv_since: Since::new(1, 4),
            known_from: "notes of the releases 1.4 and 1.6 of the mongodb extension; each worker keeps one connection to each server",
            ..USUAL
        },
        Driver::CSharp => Defaults {
            max_idle_time_ms: Some(600_000),
            wait_queue_timeout_ms: Some(120_000),
            connect_timeout_ms: 30_000,
            retry_writes_since: Since::new(2, 9),
            retry_reads_since: Since::new(2, 9),
            srv_since: Since::new(2, 6),
            known_from: "MongoDefaults and MongoClientSettings.RetryWrites of mongo-csharp-driver",
            ..USUAL
        },
        Driver::Ruby => Defaults {
            max_pool_size: 20,
            wait_queue_timeout_ms: Some(10_000),
            retry_writes_since: Since::new(2, 9),
            retry_reads_since: Since::new(2, 9),
            srv_since: Since::new(2, 7),
            known_from: "lib/mongo/server/connection_pool.rb and lib/mongo/server.rb of mongo-ruby-driver",
            ..USUAL
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gc_39_pools_are_those_of_current_drivers() {
        assert_eq!(defaults(Driver::Python).max_pool_size, 100);
        assert_eq!(defaults(Driver::Java).wait_queue_timeout_ms, Some(120_000));
        assert_eq!(defaults(Driver::Rust).max_pool_size, 10);
        assert_eq!(defaults(Driver::Php).pool, PoolKind::OnePerProcess);
    }

    #[test]
    fn gc_28_go_has_no_wait_queue_timeout() {
        assert!(!defaults(Driver::Go).has_wait_queue_timeout);
        assert!(defaults(Driver::Python).has_wait_queue_timeout);
    }

    #[test]
    fn cm_1_3_every_driver_tells_since_when_it_understands_srv() {
        for driver in Driver::ALL {
            let known = defaults(driver);
            assert!(known.srv_since > Since::new(0, 0) && !known.known_from.is_empty());
            assert!(known.retry_writes_since > Since::new(0, 0), "{}", driver.name());
            assert_eq!(known.server_selection_timeout_ms, 30_000);
        }
    }
}
