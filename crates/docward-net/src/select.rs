//! Server selection by read preference, as the drivers' specifications describe it. This module does no IO.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use docward_wire::{Document, Fault, Kind};

use crate::topology::{Server, ServerKind, Topology, TopologyKind};

/// The mode of a read preference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Only the primary.
    #[default]
    Primary,
    /// The primary, or a secondary if there is no primary.
    PrimaryPreferred,
    /// Only secondaries.
    Secondary,
    /// A secondary, or the primary if no secondary is suitable.
    SecondaryPreferred,
    /// The primary or a secondary.
    Nearest,
}

impl Mode {
    /// Returns the mode with the given name, or `None` if there is none.
    pub fn of(word: &str) -> Option<Self> {
        Some(match word {
            "primary" => Self::Primary,
            "primaryPreferred" => Self::PrimaryPreferred,
            "secondary" => Self::Secondary,
            "secondaryPreferred" => Self::SecondaryPreferred,
            "nearest" => Self::Nearest,
            _ => return None,
        })
    }
}

/// Tags that a member must have.
pub type TagSet = BTreeMap<String, String>;

/// A read preference.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadPreference {
    /// The mode.
    pub mode: Mode,
    /// Tag sets in order of preference: the first that any member matches decides. An empty list allows all members.
    pub tag_sets: Vec<TagSet>,
    /// The maximum replication lag of a secondary.
    pub max_staleness: Option<Duration>,
}

/// Why a read preference cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadPreference {
    /// `mode` is unknown.
    #[error(
        "`mode` of a read preference must be primary, primaryPreferred, secondary, secondaryPreferred or nearest"
    )]
    Mode,
    /// `tags` has the wrong type.
    #[error("`tags` of a read preference must be an array of documents with string values")]
    Tags,
    /// `maxStalenessSeconds` is not a whole number, or is less than the heartbeats can measure.
    #[error("`maxStalenessSeconds` of a read preference must be a whole number of at least 90")]
    Staleness,
    /// The mode `primary` has tags or `maxStalenessSeconds`.
    #[error("read preference `primary` takes neither tags nor maxStalenessSeconds")]
    OfPrimary,
    /// The document is invalid.
    #[error("{0}")]
    Broken(#[from] Fault),
}

/// An idle primary writes to the oplog at least this often, so that `lastWriteDate` shows the replication lag.
const IDLE_WRITES: Duration = Duration::from_secs(10);
const LEAST_STALENESS: Duration = Duration::from_secs(90);

impl ReadPreference {
    /// Parses `$readPreference`.
    pub fn parse(document: Document<'_>) -> Result<Self, BadPreference> {
        let mut preference = Self::default();
        for element in document.elements() {
            let element = element?;
            match element.name {
                b"mode" => {
                    preference.mode =
                        element.text().and_then(Mode::of).ok_or(BadPreference::Mode)?;
                }
                b"tags" if element.kind == Kind::Array => {
                    let sets = element.document().ok_or(BadPreference::Tags)?;
                    for set in sets.elements() {
                        let set = set?.document().ok_or(BadPreference::Tags)?;
                        preference.tag_sets.push(tags(set)?);
                    }
                }
                b"tags" => return Err(BadPreference::Tags),
                b"maxStalenessSeconds" => {
                    let seconds = element.integer().ok_or(BadPreference::Staleness)?;
                    // Drivers send -1 if there is no limit.
                    preference.max_staleness = u64::try_from(seconds).ok().map(Duration::from_secs);
                }
                _ => {}
            }
        }
        if preference.mode == Mode::Primary
            && (preference.max_staleness.is_some()
                || preference.tag_sets.iter().any(|set| !set.is_empty()))
        {
            return Err(BadPreference::OfPrimary);
        }
        Ok(preference)
    }

    /// Checks that `maxStalenessSeconds` is at least 90, and at least 10 more than the heartbeat interval.
    pub fn check(&self, heartbeat: Duration) -> Result<(), BadPreference> {
        match self.max_staleness {
            Some(most) if most < LEAST_STALENESS.max(heartbeat + IDLE_WRITES) => {
                Err(BadPreference::Staleness)
            }
            _ => Ok(()),
        }
    }
}

fn tags(document: Document<'_>) -> Result<TagSet, BadPreference> {
    let mut set = TagSet::new();
    for element in document.elements() {
        let element = element?;
        let name = std::str::from_utf8(element.name).map_err(|_| BadPreference::Tags)?;
        let value = element.text().ok_or(BadPreference::Tags)?;
        set.insert(name.to_owned(), value.to_owned());
    }
    Ok(set)
}

/// Returns the servers that a read preference allows, regardless of their round-trip time.
pub fn suitable<'t>(
    topology: &'t Topology,
    preference: &ReadPreference,
    heartbeat: Duration,
) -> Vec<&'t Arc<Server>> {
    let all = || topology.servers.values();
    match topology.kind {
        TopologyKind::Unknown => return Vec::new(),
        TopologyKind::Single => return all().filter(|s| s.kind != ServerKind::Unknown).collect(),
        TopologyKind::LoadBalanced => return all().collect(),
        TopologyKind::Sharded => return all().filter(|s| s.kind == ServerKind::Mongos).collect(),
        TopologyKind::NoPrimary | TopologyKind::WithPrimary => {}
    }
    let primary = || topology.primary().into_iter().collect::<Vec<_>>();
    let secondaries = || {
        let fresh = all().filter(|server| {
            server.kind == ServerKind::Secondary
                && is_fresh(topology, server, preference, heartbeat)
        });
        tagged(fresh.collect(), &preference.tag_sets)
    };
    let or = |first: Vec<&'t Arc<Server>>, second: &dyn Fn() -> Vec<&'t Arc<Server>>| {
        if first.is_empty() { second() } else { first }
    };
    match preference.mode {
        Mode::Primary => primary(),
        Mode::PrimaryPreferred => or(primary(), &secondaries),
        Mode::Secondary => secondaries(),
        Mode::SecondaryPreferred => or(secondaries(), &primary),
        Mode::Nearest => {
            let members = all().filter(|server| {
                server.kind == ServerKind::Primary
                    || server.kind == ServerKind::Secondary
                        && is_fresh(topology, server, preference, heartbeat)
            });
            tagged(members.collect(), &preference.tag_sets)
        }
    }
}

/// Returns the servers whose round-trip time exceeds that of the nearest one by at most `window`.
pub fn near(servers: Vec<&Arc<Server>>, window: Duration) -> Vec<&Arc<Server>> {
    let nearest = servers.iter().filter_map(|server| server.round_trip).min();
    let Some(nearest) = nearest else { return servers };
    let is_near =
        |server: &&Arc<Server>| server.round_trip.is_none_or(|rtt| rtt <= nearest + window);
    servers.into_iter().filter(is_near).collect()
}

fn tagged<'t>(servers: Vec<&'t Arc<Server>>, sets: &[TagSet]) -> Vec<&'t Arc<Server>> {
    if sets.is_empty() {
        return servers;
    }
    let having = |set: &TagSet| -> Vec<&'t Arc<Server>> {
        let has = |server: &&&Arc<Server>| {
            set.iter().all(|(name, value)| server.tags.get(name) == Some(value))
        };
        servers.iter().filter(has).copied().collect()
    };
    sets.iter().map(having).find(|found| !found.is_empty()).unwrap_or_default()
}

fn is_fresh(
    topology: &Topology,
    server: &Server,
    preference: &ReadPreference,
    heartbeat: Duration,
) -> bool {
    let Some(most) = preference.max_staleness else { return true };
    let Some(own) = server.last_write_ms else { return true };
    let heartbeat = i64::try_from(heartbeat.as_millis()).unwrap_or(i64::MAX);
    let behind = match topology.primary().and_then(|p| Some((p, p.last_write_ms?))) {
        Some((primary, written)) => (server.updated_ms - own) - (primary.updated_ms - written),
        None => {
            let secondaries = topology.servers.values().filter(|s| s.kind == ServerKind::Secondary);
            secondaries.filter_map(|s| s.last_write_ms).max().unwrap_or(own) - own
        }
    };
    behind + heartbeat <= i64::try_from(most.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::Address;
    use bson::{doc, rawdoc};

    fn topology() -> Topology {
        let seeds: Vec<Address> = ["a", "b", "c"].map(Address::parse).to_vec();
        let hosts = ["a:27017", "b:27017", "c:27017"];
        let member = |name: &str, role: &str, dc: &str, rtt: u64, behind_ms: i64| {
            let written = bson::DateTime::from_millis(1_000_000 - behind_ms);
            let reply = doc! {
                "ok": 1, "setName": "rs0", "hosts": hosts.to_vec(), role: true, "tags": { "dc": dc },
                "lastWrite": { "lastWriteDate": written }, "maxWireVersion": 17,
            };
            let round_trip = Some(Duration::from_millis(rtt));
            Server { round_trip, ..Server::of_hello(Address::parse(name), &reply, 1_000_000) }
        };
        Topology::new(&seeds, TopologyKind::Unknown, None)
            .updated(member("a", "isWritablePrimary", "ny", 20, 0))
            .updated(member("b", "secondary", "ny", 5, 1_000))
            .updated(member("c", "secondary", "sf", 60, 200_000))
    }

    fn chosen(preference: &bson::RawDocument) -> String {
        let topology = topology();
        let document = Document::new(preference.as_bytes()).unwrap();
        let preference = ReadPreference::parse(document).unwrap();
        let found = suitable(&topology, &preference, Duration::from_secs(10));
        found.iter().map(|server| server.address.parts().0).collect::<Vec<_>>().join("")
    }

    #[test]
    fn modes_tags_and_staleness_choose_members() {
        for (preference, expected) in [
            (rawdoc! {}, "a"),
            (rawdoc! { "mode": "primary" }, "a"),
            (rawdoc! { "mode": "primaryPreferred" }, "a"),
            (rawdoc! { "mode": "secondary" }, "bc"),
            (rawdoc! { "mode": "secondaryPreferred" }, "bc"),
            (rawdoc! { "mode": "nearest" }, "abc"),
            (rawdoc! { "mode": "nearest", "tags": [{ "dc": "ny" }] }, "ab"),
            (rawdoc! { "mode": "secondary", "tags": [{ "dc": "x" }, { "dc": "sf" }] }, "c"),
            (rawdoc! { "mode": "secondary", "tags": [{ "dc": "x" }, {}] }, "bc"),
            (rawdoc! { "mode": "secondary", "tags": [{ "dc": "x" }] }, ""),
            (rawdoc! { "mode": "secondaryPreferred", "tags": [{ "dc": "x" }] }, "a"),
            (rawdoc! { "mode": "secondary", "maxStalenessSeconds": 120 }, "b"),
            (rawdoc! { "mode": "secondary", "maxStalenessSeconds": -1 }, "bc"),
        ] {
            assert_eq!(chosen(&preference), expected, "{preference:?}");
        }
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        for (preference, refused) in [
            (rawdoc! { "mode": "first" }, BadPreference::Mode),
            (rawdoc! { "mode": 1 }, BadPreference::Mode),
            (rawdoc! { "mode": "secondary", "tags": { "a": "b" } }, BadPreference::Tags),
            (rawdoc! { "mode": "secondary", "tags": [{ "a": 1 }] }, BadPreference::Tags),
            (rawdoc! { "mode": "primary", "tags": [{ "a": "b" }] }, BadPreference::OfPrimary),
            (rawdoc! { "mode": "primary", "maxStalenessSeconds": 100 }, BadPreference::OfPrimary),
        ] {
            let document = Document::new(preference.as_bytes()).unwrap();
            assert_eq!(ReadPreference::parse(document), Err(refused), "{preference:?}");
        }
        let short =
            ReadPreference { max_staleness: Some(Duration::from_secs(60)), ..Default::default() };
        assert_eq!(short.check(Duration::from_secs(10)), Err(BadPreference::Staleness));
    }

    #[test]
    fn the_window_is_measured_from_the_nearest() {
        let topology = topology();
        let preference = ReadPreference { mode: Mode::Nearest, ..Default::default() };
        let all = suitable(&topology, &preference, Duration::from_secs(10));
        let near = near(all, Duration::from_millis(15));
        assert_eq!(near.len(), 2, "5 and 20 ms, not 60");
    }
}
