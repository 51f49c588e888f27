//! Addresses: the networks from which they can be reached (ALG-11). Names are not resolved.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

/// Ranges that the internet does not reach, in addition to the loopback addresses.
const PRIVATE_V4: [Ipv4Net; 5] = [
    Ipv4Net::new_assert(Ipv4Addr::new(10, 0, 0, 0), 8),
    Ipv4Net::new_assert(Ipv4Addr::new(172, 16, 0, 0), 12),
    Ipv4Net::new_assert(Ipv4Addr::new(192, 168, 0, 0), 16),
    Ipv4Net::new_assert(Ipv4Addr::new(100, 64, 0, 0), 10),
    Ipv4Net::new_assert(Ipv4Addr::new(169, 254, 0, 0), 16),
];
const PRIVATE_V6: [Ipv6Net; 2] = [
    Ipv6Net::new_assert(Ipv6Addr::new(0xfc00, 0, 0, 0, 0, 0, 0, 0), 7),
    Ipv6Net::new_assert(Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0), 10),
];

/// IPv4 ranges that are not used on the internet, other than the private ones.
const UNUSED_V4: [Ipv4Net; 3] = [
    Ipv4Net::new_assert(Ipv4Addr::new(0, 0, 0, 0), 8),
    Ipv4Net::new_assert(Ipv4Addr::new(127, 0, 0, 0), 8),
    Ipv4Net::new_assert(Ipv4Addr::new(224, 0, 0, 0), 3),
];
/// The IPv6 range of public addresses.
const PUBLIC_V6: Ipv6Net = Ipv6Net::new_assert(Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);

/// Returns the shares of the public addresses of IPv4 and of IPv6 in these ranges.
pub fn public_shares(ranges: &[IpNet]) -> (f64, f64) {
    // In the aggregated list, no address is in two ranges.
    let ranges = IpNet::aggregate(&ranges.to_vec());
    let common = |part: IpNet| -> f64 {
        let within =
            ranges.iter().filter_map(|range| match (range.contains(&part), part.contains(range)) {
                (true, _) => Some(size(part)),
                (_, true) => Some(size(*range)),
                _ => None,
            });
        within.sum()
    };
    let not_public: Vec<IpNet> = PRIVATE_V4.into_iter().chain(UNUSED_V4).map(IpNet::V4).collect();
    let every = IpNet::V4(Ipv4Net::default());
    let public = size(every) - not_public.iter().copied().map(size).sum::<f64>();
    let v4 = common(every) - not_public.iter().copied().map(common).sum::<f64>();
    (v4 / public, common(IpNet::V6(PUBLIC_V6)) / size(IpNet::V6(PUBLIC_V6)))
}

/// Returns the number of addresses in a range.
fn size(range: IpNet) -> f64 {
    2_f64.powi(i32::from(range.max_prefix_len() - range.prefix_len()))
}

/// The networks from which an address can be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// The machine itself.
    Loopback,
    /// Private networks, carriers' and link-local ranges.
    Private,
    /// All addresses of the machine.
    Everything,
    /// The internet.
    Public,
    /// A name that was not resolved.
    Unknown,
}

/// The reach of an address in text, with or without a port.
pub fn reach(address: &str) -> Reach {
    let text = address.trim();
    let name = host(text);
    if name == "localhost" || name.ends_with(".localhost") || text.starts_with('/') {
        // A path is a socket of the file system.
        return Reach::Loopback;
    }
    if text == "*" {
        return Reach::Everything;
    }
    ip(text).map_or(Reach::Unknown, reach_of)
}

/// The address in a text, with or without a port; `None` for a name.
pub fn ip(text: &str) -> Option<IpAddr> {
    host(text.trim()).parse().ok().map(|ip: IpAddr| ip.to_canonical())
}

fn host(text: &str) -> &str {
    let bare = text.strip_prefix('[').and_then(|t| t.split(']').next()).unwrap_or(text);
    match bare.rsplit_once(':') {
        Some((host, port)) if !host.contains(':') && port.bytes().all(|b| b.is_ascii_digit()) => {
            host
        }
        _ => bare,
    }
}

/// The reach of an address.
pub fn reach_of(ip: IpAddr) -> Reach {
    // An IPv4 address written as IPv6 is IPv4.
    let ip = ip.to_canonical();
    let private = match ip {
        IpAddr::V4(v4) => PRIVATE_V4.iter().any(|range| range.contains(&v4)),
        IpAddr::V6(v6) => PRIVATE_V6.iter().any(|range| range.contains(&v6)),
    };
    if ip.is_unspecified() {
        Reach::Everything
    } else if ip.is_loopback() {
        Reach::Loopback
    } else if private {
        Reach::Private
    } else {
        Reach::Public
    }
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
            ("localhost:27017", Reach::Loopback),
            ("mongo.shop.localhost:27017", Reach::Loopback),
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
            ("fec0::1", Reach::Public),
            ("9.255.255.255", Reach::Public),
            ("11.0.0.0", Reach::Public),
            ("172.31.255.255:27017", Reach::Private),
            ("100.127.255.255", Reach::Private),
            ("[2001:db8::1]:27017", Reach::Public),
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
