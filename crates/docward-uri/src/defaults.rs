//! The behaviour of drivers for options that are not given. Values are those of current versions,
//! from the drivers' source code and documentation.

use docward_model::Driver;

/// The kind of a driver's pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoolKind {
    /// Connections that are shared by all threads of a process.
    Shared,
    /// One connection to each server in each process.
    OnePerProcess,
}

/// The defaults of a driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Defaults {
    /// The kind of pool.
    pub pool: PoolKind,
    /// `maxPoolSize`.
    pub max_pool_size: u32,
    /// True if the driver has `waitQueueTimeoutMS` at all.
    pub has_wait_queue_timeout: bool,
    /// True if a request waits for a connection without a time limit.
    pub waits_without_end: bool,
}

/// The defaults of most drivers; the others list their differences.
const USUAL: Defaults = Defaults {
    pool: PoolKind::Shared,
    max_pool_size: 100,
    has_wait_queue_timeout: true,
    waits_without_end: true,
};

/// The defaults of a driver.
pub fn defaults(driver: Driver) -> Defaults {
    match driver {
        // Before version 4 of the Node.js driver, which Mongoose 6 uses, the pool had 5
        // connections.
        Driver::Python | Driver::Node | Driver::Mongoose => USUAL,
        // These drivers wait at most two minutes.
        Driver::Java | Driver::CSharp => Defaults { waits_without_end: false, ..USUAL },
        // The context limits the wait.
        Driver::Go => Defaults { has_wait_queue_timeout: false, ..USUAL },
        // `ClientOptions` of the mongodb crate.
        Driver::Rust => Defaults { max_pool_size: 10, has_wait_queue_timeout: false, ..USUAL },
        // Each worker keeps one connection to each server.
        Driver::Php => Defaults {
            pool: PoolKind::OnePerProcess,
            max_pool_size: 1,
            has_wait_queue_timeout: false,
            waits_without_end: false,
        },
        // `lib/mongo/server/connection_pool.rb` of mongo-ruby-driver, which waits ten seconds.
        Driver::Ruby => Defaults { max_pool_size: 20, waits_without_end: false, ..USUAL },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gc_39_pools_are_those_of_current_drivers() {
        assert_eq!(defaults(Driver::Python).max_pool_size, 100);
        assert_eq!(defaults(Driver::Rust).max_pool_size, 10);
        assert_eq!(defaults(Driver::Php).pool, PoolKind::OnePerProcess);
    }

    #[test]
    fn gc_28_go_has_no_wait_queue_timeout() {
        assert!(!defaults(Driver::Go).has_wait_queue_timeout);
        assert!(defaults(Driver::Python).has_wait_queue_timeout);
    }
}
