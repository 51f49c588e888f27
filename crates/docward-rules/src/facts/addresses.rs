//! Addresses: which can be reached from where (ALG-11).

use std::net::IpAddr;

/// From where an address can be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// The machine itself.
    Loopback,
    /// Private networks, carriers' and link-local ranges.
    Private,
    /// Every address the machine has, whatever those are.
    Everything,
    /// The internet.
    Public,
    /// A name that was not looked up.
    Unknown,
}

/// The reach of an address a server listens on, with or without a port.
pub fn reach(address: &str) -> Reach {
    let text = address.trim();
    if text == "localhost" || text.starts_with('/') {
        // A path is a socket of the file system.
        return Reach::Loopback;
    }
    if text == "*" {
        return Reach::Everything;
    }
    let bare = text.strip_prefix('[').and_then(|t| t.split(']').next()).unwrap_or(text);
    let without_port = match bare.rsplit_once(':') {
        Some((host, port)) if !host.contains(':') && port.bytes().all(|b| b.is_ascii_digit()) => {
            host
        }
        _ => bare,
    };
    let Ok(ip) = without_port.parse::<IpAddr>() else { return Reach::Unknown };
    // IPv4 written as IPv6.
    let ip = match ip {
        IpAddr::V6(v6) => v6.to_ipv4_mapped().map_or(ip, IpAddr::V4),
        IpAddr::V4(_) => ip,
    };
    if ip.is_unspecified() {
        return Reach::Everything;
    }
    if ip.is_loopback() {
        return Reach::Loopback;
    }
    let private = match ip {
        IpAddr::V4(v4) => {
            let [a, b, ..] = v4.octets();
            v4.is_private() || v4.is_link_local() || (a == 100 && (64..128).contains(&b))
        }
        IpAddr::V6(v6) => {
            let first = v6.segments()[0];
            first & 0xfe00 == 0xfc00 || first & 0xffc0 == 0xfe80
        }
    };
    if private { Reach::Private } else { Reach::Public }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alg_11_addresses_are_classified() {
        for (address, expect) in [
            ("127.0.0.1", Reach::Loopback),
            ("127.0.0.1:27017", Reach::Loopback),
            ("::1", Reach::Loopback),
            ("[::1]:27017", Reach::Loopback),
            ("localhost", Reach::Loopback),
            ("/tmp/mongodb-27017.sock", Reach::Loopback),
            ("10.1.2.3", Reach::Private),
            ("172.16.0.1", Reach::Private),
            ("172.32.0.1", Reach::Public),
            ("192.168.1.1", Reach::Private),
            ("100.64.0.1", Reach::Private),
            ("100.128.0.1", Reach::Public),
            ("169.254.1.1", Reach::Private),
            ("fd00::1", Reach::Private),
            ("fe80::1", Reach::Private),
            ("2001:db8::1", Reach::Public),
            ("::ffff:10.0.0.1", Reach::Private),
            ("8.8.8.8", Reach::Public),
            ("0.0.0.0", Reach::Everything),
            ("::", Reach::Everything),
            ("*", Reach::Everything),
            ("db1.example.net", Reach::Unknown),
        ] {
            assert_eq!(reach(address), expect, "{address}");
        }
    }
}
