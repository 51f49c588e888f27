//! Addresses and ports in the notation of the formats, and lists whose entries may be invalid.

use std::{fmt, marker::PhantomData, net::IpAddr};

use docward_model::{Peer, PortRange, Protocol};
use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use serde::{
    Deserialize, Deserializer,
    de::{
        DeserializeOwned, Error, IntoDeserializer, SeqAccess, Visitor, value::StringDeserializer,
    },
};

/// All addresses.
pub(super) fn everyone() -> [Peer; 2] {
    [Peer::Range(IpNet::V4(Ipv4Net::default())), Peer::Range(IpNet::V6(Ipv6Net::default()))]
}

/// An address range, or a single address.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range(pub(super) IpNet);

impl Range {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let single = || text.parse::<IpAddr>().map(IpNet::from);
        let range = text.parse::<IpNet>().map(|range| range.trunc()).or_else(|_| single());
        range
            .map(Self)
            .map_err(|_| format!("`{text}` is not an address or a range such as 203.0.113.0/24"))
    }
}

impl<'de> Deserialize<'de> for Range {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(from)?).map_err(D::Error::custom)
    }
}

/// A single address.
#[derive(Clone, Copy, Debug)]
pub(super) struct Address(pub(super) IpAddr);

impl<'de> Deserialize<'de> for Address {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let address = text.trim().parse().map(Self);
        address.map_err(|_| D::Error::custom(format!("`{text}` is not an address")))
    }
}

/// Parses ports: `27017`, `1000-2000`, `*`, `ALL`.
pub(super) fn ports(text: &str, protocol: Protocol) -> Result<PortRange, String> {
    let text = text.trim();
    if text == "*" || text.eq_ignore_ascii_case("all") {
        return Ok(PortRange::every(protocol));
    }
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    match (first.trim().parse(), last.trim().parse()) {
        (Ok(first), Ok(last)) if first <= last => Ok(PortRange { protocol, first, last }),
        _ => Err(format!("`{text}` is not a port or a range such as 27017-27019")),
    }
}

/// A port or a port range, as a number or as text; the protocol comes from elsewhere.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ports(pub(super) PortRange);

impl<'de> Deserialize<'de> for Ports {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = Ports;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a port (27017) or a range (\"27017-27019\")")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Ports, E> {
                ports(text, Protocol::Tcp).map(Ports).map_err(E::custom)
            }

            fn visit_i64<E: Error>(self, port: i64) -> Result<Ports, E> {
                self.visit_str(&port.to_string())
            }

            fn visit_u64<E: Error>(self, port: u64) -> Result<Ports, E> {
                self.visit_str(&port.to_string())
            }
        }
        from.deserialize_any(Text)
    }
}

/// The protocol of a rule; `None` for protocols without ports. Numbers are IANA protocol numbers.
pub(super) fn protocol(text: &str) -> Option<Protocol> {
    match text.to_ascii_lowercase().as_str() {
        "tcp" | "6" => Some(Protocol::Tcp),
        "udp" | "17" => Some(Protocol::Udp),
        "*" | "-1" | "all" | "any" => Some(Protocol::Any),
        _ => None,
    }
}

/// A text; an empty one counts as absent.
#[derive(Clone, Debug)]
pub(super) struct Filled<T>(pub(super) Option<T>);

impl<'de, T: DeserializeOwned> Deserialize<'de> for Filled<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        if text.trim().is_empty() {
            return Ok(Self(None));
        }
        let text: StringDeserializer<D::Error> = text.into_deserializer();
        T::deserialize(text).map(|value| Self(Some(value)))
    }
}

/// A rule in a list. An invalid one is kept as an error, so that the others can be checked.
#[derive(Debug)]
pub(super) struct Entry<T> {
    /// Its own name.
    name: Option<String>,
    rule: Result<T, String>,
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for Entry<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(from)?;
        let text = |key| value.get(key).and_then(serde_json::Value::as_str);
        let name = text("name").or_else(|| text("PolicyDescription"));
        let name = name.filter(|name| !name.trim().is_empty()).map(str::to_owned);
        Ok(Self { name, rule: T::deserialize(value).map_err(|error| error.to_string()) })
    }
}

/// Reads the entries of a list of rules, with their numbers. `read` returns `None` for rules that
/// are not relevant. Unreadable ones are added to `unread`.
pub(super) fn readable<T, R>(
    entries: Vec<Entry<T>>,
    group: &str,
    unread: &mut Vec<String>,
    read: impl Fn(usize, T) -> Result<Option<R>, String>,
) -> Vec<R> {
    let mut all = Vec::new();
    for (number, Entry { name, rule }) in entries.into_iter().enumerate() {
        match rule.and_then(|rule| read(number, rule)) {
            Ok(rule) => all.extend(rule),
            Err(why) => {
                let name =
                    name.map_or_else(|| format!("rule {}", number + 1), |n| format!("`{n}`"));
                unread.push(format!("{name} of `{group}`: {why}"));
            }
        }
    }
    all
}

/// Returns which of two words a text is, ignoring case.
pub(super) fn is_first(text: &str, first: &str, second: &str) -> Result<bool, String> {
    match text {
        text if text.eq_ignore_ascii_case(first) => Ok(true),
        text if text.eq_ignore_ascii_case(second) => Ok(false),
        _ => Err(format!("`{text}` is neither {first} nor {second}")),
    }
}

/// One value, or a list of values.
#[derive(Debug)]
pub(super) struct Many<T>(pub(super) Vec<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Many<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct OneOrMore<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for OneOrMore<T> {
            type Value = Many<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("one value or a list of values")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Many<T>, E> {
                T::deserialize(text.into_deserializer()).map(|one| Many(vec![one]))
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<Many<T>, E> {
                T::deserialize(number.into_deserializer()).map(|one| Many(vec![one]))
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<Many<T>, E> {
                T::deserialize(number.into_deserializer()).map(|one| Many(vec![one]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Many<T>, A::Error> {
                let mut all = Vec::new();
                while let Some(one) = list.next_element()? {
                    all.push(one);
                }
                Ok(Many(all))
            }
        }
        from.deserialize_any(OneOrMore(PhantomData))
    }
}
