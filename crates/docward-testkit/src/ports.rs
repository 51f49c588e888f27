//! Reserves ports for one server as long as its test needs them, even while the server is down.
//!
//! A port that the system selects can be assigned to another process between two starts of a
//! server. A test that expects no answer there would then reach another test's server. So every
//! port is reserved as long as it is used, by a UDP socket with the same number. The UDP socket
//! does not conflict with the server's TCP socket, and the system closes it however the test ends.

use std::{
    net::{Ipv4Addr, TcpListener, UdpSocket},
    ops::Range,
    sync::atomic::{AtomicU32, Ordering},
};

/// Below the ports that Linux and macOS use for outgoing connections.
const PORTS: Range<u16> = 20_000..32_000;

/// A loopback port that no other test gets until this is dropped.
#[derive(Debug)]
pub(crate) struct Port {
    pub(crate) number: u16,
    _reserved: UdpSocket,
}

impl Port {
    /// Reserves a port without a listener.
    pub(crate) fn reserve() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let count = u32::from(PORTS.end - PORTS.start);
        // Concurrent processes start at different numbers.
        let first = std::process::id().wrapping_mul(101);
        for _ in 0..count {
            let step = NEXT.fetch_add(1, Ordering::Relaxed);
            let offset = u16::try_from(first.wrapping_add(step) % count).expect("below the count");
            let number = PORTS.start + offset;
            let Ok(reserved) = UdpSocket::bind((Ipv4Addr::LOCALHOST, number)) else { continue };
            if TcpListener::bind((Ipv4Addr::LOCALHOST, number)).is_ok() {
                return Self { number, _reserved: reserved };
            }
        }
        panic!("none of the ports {PORTS:?} is free")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_given_once_and_can_be_listened_on() {
        let mut ports: Vec<Port> = (0..200).map(|_| Port::reserve()).collect();
        for port in &ports {
            assert!(PORTS.contains(&port.number));
            assert!(UdpSocket::bind((Ipv4Addr::LOCALHOST, port.number)).is_err(), "reserved");
        }
        // A program that does not reserve its ports may take one at any time, but hardly all.
        let is_free = |port: &Port| TcpListener::bind((Ipv4Addr::LOCALHOST, port.number)).is_ok();
        assert!(ports.iter().any(is_free), "a server can listen there");
        ports.sort_by_key(|port| port.number);
        ports.dedup_by_key(|port| port.number);
        assert_eq!(ports.len(), 200);
    }
}
