//! Runs the case files of the drivers' specifications of server selection and of maximum staleness.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "tests: a panic is the message, and counts are printed"
)]

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use docward_net::{
    select::{Mode, ReadPreference, TagSet, near, suitable},
    topology::{Address, Server, ServerKind, Topology, TopologyKind},
};
use serde_json::Value;

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            found.extend(files(&entry));
        } else if entry.extension().is_some_and(|end| end == "json") {
            found.push(entry);
        }
    }
    found.sort();
    found
}

fn number(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| value["$numberLong"].as_str()?.parse().ok())
}

fn tags(value: &Value) -> TagSet {
    let pairs = value.as_object().into_iter().flatten();
    pairs.map(|(name, value)| (name.clone(), value.as_str().unwrap().to_owned())).collect()
}

fn server(value: &Value) -> Server {
    let kind = match value["type"].as_str().unwrap() {
        "RSPrimary" => ServerKind::Primary,
        "RSSecondary" => ServerKind::Secondary,
        "RSArbiter" => ServerKind::Arbiter,
        "RSOther" | "RSGhost" => ServerKind::Other,
        "Mongos" => ServerKind::Mongos,
        "Standalone" => ServerKind::Standalone,
        "Unknown" | "PossiblePrimary" => ServerKind::Unknown,
        other => panic!("{other}"),
    };
    Server {
        kind,
        tags: tags(&value["tags"]),
        last_write_ms: number(&value["lastWrite"]["lastWriteDate"]),
        updated_ms: number(&value["lastUpdateTime"]).unwrap_or(0),
        round_trip: value["avg_rtt_ms"].as_u64().map(Duration::from_millis),
        ..Server::unknown(Address::parse(value["address"].as_str().unwrap()))
    }
}

fn topology(value: &Value) -> Option<Topology> {
    let kind = match value["type"].as_str().unwrap() {
        "Single" => TopologyKind::Single,
        "ReplicaSetNoPrimary" => TopologyKind::NoPrimary,
        "ReplicaSetWithPrimary" => TopologyKind::WithPrimary,
        "Sharded" => TopologyKind::Sharded,
        "LoadBalanced" => TopologyKind::LoadBalanced,
        "Unknown" => TopologyKind::Unknown,
        other => panic!("{other}"),
    };
    let servers: Vec<Server> = value["servers"].as_array()?.iter().map(server).collect();
    let mut topology = Topology::new(&[], kind, None);
    for server in servers {
        topology.servers.insert(server.address.clone(), Arc::new(server));
    }
    Some(topology)
}

fn preference(case: &Value) -> ReadPreference {
    let asked = &case["read_preference"];
    if case["operation"] == "write" {
        return ReadPreference::default();
    }
    let mode = asked["mode"].as_str().unwrap_or("Primary");
    let mode = Mode::of(&format!("{}{}", mode[..1].to_lowercase(), &mode[1..])).unwrap();
    let sets = asked["tag_sets"].as_array().into_iter().flatten();
    let staleness = number(&asked["maxStalenessSeconds"]).and_then(|n| u64::try_from(n).ok());
    ReadPreference {
        mode,
        tag_sets: sets.map(tags).collect(),
        max_staleness: staleness.map(Duration::from_secs),
    }
}

fn addresses(servers: &Value) -> Vec<String> {
    let all = servers.as_array().unwrap().iter();
    let mut all: Vec<String> = all.map(|s| s["address"].as_str().unwrap().to_owned()).collect();
    all.sort();
    all
}

#[test]
fn the_case_files_of_the_specifications_hold() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/specs/source");
    let mut held = 0;
    for name in ["server-selection", "max-staleness"] {
        let folder = root.join(name).join("tests");
        if !folder.is_dir() {
            eprintln!("skipped: {} is not here", folder.display());
            return;
        }
        for file in files(&folder) {
            let case: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
            let Some(topology) = topology(&case["topology_description"]) else { continue };
            let heartbeat = number(&case["heartbeatFrequencyMS"]).unwrap_or(10_000);
            let heartbeat = Duration::from_millis(u64::try_from(heartbeat).unwrap());
            let preference = preference(&case);
            if case["error"] == true {
                assert!(preference.check(heartbeat).is_err(), "{}", file.display());
                held += 1;
                continue;
            }
            preference
                .check(heartbeat)
                .unwrap_or_else(|error| panic!("{}: {error}", file.display()));
            let found = suitable(&topology, &preference, heartbeat);
            let names = |servers: &[&Arc<Server>]| {
                servers.iter().map(|server| server.address.to_string()).collect::<Vec<_>>()
            };
            assert_eq!(names(&found), addresses(&case["suitable_servers"]), "{}", file.display());
            let window = near(found, Duration::from_millis(15));
            assert_eq!(names(&window), addresses(&case["in_latency_window"]), "{}", file.display());
            held += 1;
        }
    }
    println!("{held} cases hold");
}
