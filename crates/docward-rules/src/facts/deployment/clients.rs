//! Clients: connection strings with their service and the topology of their deployment.

use std::fmt::Display;

use docward_connect::{Amount, pool_for};
use docward_model::{
    ClientUri, DeclaredTopology, Draft, Evidence, Level, Location, NoteKind, OptionValue,
    ProfileName, Purpose, Seen, Service, ServiceClass, Settings, Subject, Topology, Unit,
    UriChange, UriNote, client_uri::HOLE,
};
use docward_uri::nearest_option;

use crate::facts::deployment::addresses::{Reach, reach};

/// Names that containers and virtual machines give to a database on the developer's own machine.
const DEVELOPMENT_HOSTS: &[&str] =
    &["mongo", "mongodb", "host.docker.internal", "host.containers.internal"];

/// The topology behind a connection string, and its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape<'a> {
    /// A standalone server.
    Standalone,
    /// A replica set, with its name if a running server or the string provides it.
    ReplicaSet(Option<&'a str>),
    /// Routers in front of shards.
    Sharded,
    /// Unknown.
    Unknown,
}

/// A connection string of a client.
#[derive(Clone, Copy, Debug)]
pub struct Client<'a> {
    /// The string.
    pub uri: &'a ClientUri,
    /// The declared service of the string.
    pub service: Option<&'a Service>,
    /// The topology behind the string.
    pub shape: Shape<'a>,
    /// Whether the topology comes from a running server.
    pub is_seen: bool,
    /// The number of strings.
    total: u64,
}

/// The connection strings of clients.
pub fn clients<'a>(evidence: &'a Evidence, settings: &'a Settings) -> Vec<Client<'a>> {
    let all: Vec<&ClientUri> =
        evidence.uris.iter().filter(|uri| uri.purpose == Purpose::Client).collect();
    let total = all.len() as u64;
    all.into_iter()
        .map(|uri| {
            let (shape, is_seen) = shape(uri, evidence, settings);
            Client { uri, service: service(uri, settings), shape, is_seen, total }
        })
        .collect()
}

/// Returns the declared service of a string: by its declaration, its `appName`, or the file that contains it.
fn service<'a>(uri: &ClientUri, settings: &'a Settings) -> Option<&'a Service> {
    let named = |name: &str| settings.services.iter().find(|service| service.name == name);
    if let Some(name) = &uri.service {
        return named(name);
    }
    if let Some(service) = uri.app_name.as_deref().and_then(named) {
        return Some(service);
    }
    let file = &uri.site.as_ref()?.location.file;
    settings.services.iter().find(|service| service.code.iter().any(|glob| glob.matches(file)))
}

/// Determines the topology behind a string: from a running server first, then from the string, then from the
/// declaration.
fn shape<'a>(uri: &'a ClientUri, evidence: &'a Evidence, settings: &Settings) -> (Shape<'a>, bool) {
    match evidence.server.as_ref().and_then(|server| server.topology.as_ref()) {
        Some(Topology::Standalone) => return (Shape::Standalone, true),
        Some(Topology::ReplicaSet(name)) => return (Shape::ReplicaSet(Some(name)), true),
        Some(Topology::Sharded) => return (Shape::Sharded, true),
        None => {}
    }
    let shape = match settings.deployment.topology {
        Some(DeclaredTopology::Standalone) => Shape::Standalone,
        Some(DeclaredTopology::ReplicaSet) => Shape::ReplicaSet(uri.replica_set.as_deref()),
        Some(DeclaredTopology::Sharded) => Shape::Sharded,
        // Consoles also put the name of a set into SRV strings of sharded clusters.
        None if uri.replica_set.is_some() && !uri.srv => {
            Shape::ReplicaSet(uri.replica_set.as_deref())
        }
        None => Shape::Unknown,
    };
    (shape, false)
}

impl<'a> Client<'a> {
    /// Returns the class of the service, if declared.
    pub fn class(&self) -> Option<ServiceClass> {
        self.service.and_then(|service| service.class)
    }

    /// Whether the string points to the developer's own machine.
    pub fn is_local(&self) -> bool {
        let is_local = |host: &String| {
            let name = host.rsplit_once(':').map_or(host.as_str(), |(name, _)| name);
            reach(host) == Reach::Loopback
                || DEVELOPMENT_HOSTS.iter().any(|local| name.eq_ignore_ascii_case(local))
        };
        self.uri.is_for_development()
            || !self.uri.hosts.is_empty() && self.uri.hosts.iter().all(is_local)
    }

    /// Whether a shell script passes the string to a program that it starts. Nothing is known about that program.
    pub fn is_in_shell_script(&self) -> bool {
        let file = self.uri.site.as_ref().map_or("", |site| site.location.file.as_str());
        [".sh", ".bash", ".ps1"].iter().any(|end| file.ends_with(end))
    }

    /// Whether another client of the same file has a larger pool: then this client has a separate task.
    pub fn has_larger_beside(&self, evidence: &Evidence) -> bool {
        let Some(site) = self.uri.site.as_ref().filter(|_| self.uri.is_made_in_code()) else {
            return false;
        };
        let size = |uri: &ClientUri| match uri.option("maxPoolSize").map(|option| &option.value) {
            Some(OptionValue::Int(size)) => *size,
            // The driver's default, or a computed value.
            _ => i64::MAX,
        };
        evidence.uris.iter().any(|other| {
            let is_beside = other.site.as_ref().is_some_and(|beside| {
                beside.location.file == site.location.file && beside.location != site.location
            });
            is_beside && other.is_made_in_code() && size(other) > size(self.uri)
        })
    }

    /// Whether the code that creates it has no request handlers in its language and no declared
    /// service. A daemon, a bot or a tool uses only as many connections as it has threads.
    pub fn serves_nobody(&self, evidence: &Evidence) -> bool {
        let Some(site) = self.uri.site.as_ref().filter(|_| self.uri.is_made_in_code()) else {
            return false;
        };
        let family = language_of(&site.location.file);
        let mut serving = evidence.code.iter().flat_map(|code| &code.serving);
        self.service.is_none() && !serving.any(|serving| language_of(&serving.file) == family)
    }

    /// Whether the value of an option may be intended or irrelevant: a comment explains it, a
    /// connection string may override it, or the program serves no requests.
    pub fn may_be_meant(&self, option: &str, evidence: &Evidence) -> bool {
        self.uri.option(option).is_some_and(|option| option.may_be_meant)
            || self.serves_nobody(evidence)
    }

    /// Whether the value of an option is only the house's idea of a usual value: source code sets it or leaves it out,
    /// and no declaration about the service shows harm.
    pub fn is_usual_elsewhere(&self, settings: &Settings) -> bool {
        settings.profile == ProfileName::Neutral
            && self.uri.site.is_some()
            && self.service.is_none()
    }

    /// Whether processes that answer requests may live for a few calls only: their pools are small on purpose.
    pub fn is_short_lived(&self, evidence: &Evidence) -> bool {
        let Some(site) = &self.uri.site else { return false };
        let family = language_of(&site.location.file);
        let mut serving = evidence.code.iter().flat_map(|code| &code.serving);
        serving.any(|serving| serving.is_short_lived && language_of(&serving.file) == family)
    }

    /// Whether options may be missing: all options are known, and the string is not for the developer's own machine.
    pub fn can_lack_options(&self) -> bool {
        self.uri.shows_all_options() && !self.is_local()
    }

    /// Whether an option is missing and not just misspelled, which C028 reports.
    pub fn lacks(&self, name: &str) -> bool {
        let is_meant = |note: &UriNote| {
            note.kind == NoteKind::Unknown && nearest_option(&note.option) == Some(name)
        };
        self.uri.option(name).is_none() && !self.uri.notes.iter().any(is_meant)
    }

    /// The value of a numeric option.
    pub fn number(&self, name: &str) -> Option<i64> {
        match self.uri.option(name)?.value {
            OptionValue::Int(number) => Some(number),
            _ => None,
        }
    }

    /// The value of a boolean option.
    pub fn flag(&self, name: &str) -> Option<bool> {
        match self.uri.option(name)?.value {
            OptionValue::Bool(flag) => Some(flag),
            _ => None,
        }
    }

    /// The read preference in use: `primary` unless another is set; `None` if it is computed.
    pub fn read_preference(&self) -> Option<&'a str> {
        match (&self.uri.read_preference, self.uri.option("readPreference")) {
            (Some(mode), _) => Some(mode),
            (None, None) => Some("primary"),
            (None, Some(_)) => None,
        }
    }

    /// Whether secondaries may answer reads.
    pub fn reads_secondaries(&self) -> bool {
        self.read_preference().is_some_and(|mode| {
            ["secondary", "secondaryPreferred", "nearest"]
                .iter()
                .any(|other| mode.eq_ignore_ascii_case(other))
        })
    }

    /// The user name of the login, if it is known.
    pub fn known_user(&self) -> Option<&'a str> {
        self.uri.user.as_deref().filter(|user| !user.contains(HOLE))
    }

    /// The number of pools that one process has: one for each router if the string names several, otherwise one.
    pub fn pools(&self, settings: &Settings) -> u32 {
        if self.shape != Shape::Sharded {
            return 1;
        }
        match u32::try_from(self.uri.hosts.len()).unwrap_or(1) {
            // A single address is that of a load balancer.
            1 if !self.uri.srv => 1,
            hosts if hosts > 1 => hosts,
            _ => settings.deployment.routers.unwrap_or(1),
        }
    }

    /// The `maxPoolSize` that the service needs, by its declaration (PF-4, PF-5).
    pub fn needed_pool(&self, settings: &Settings) -> Option<u32> {
        let service = self.service?;
        let qps = Amount::from_f64(service.peak_qps?).ok()?;
        let latency = Amount::from_f64(service.latency_ms?).ok()?;
        let pools = u64::from(service.processes.unwrap_or(1)) * u64::from(self.pools(settings));
        u32::try_from(pool_for(qps, latency, pools)).ok()
    }

    /// The place of an option, or of the string.
    pub fn place(&self, option: &str) -> Option<Location> {
        let option = self.uri.option(option).and_then(|option| option.location.clone());
        option.or_else(|| self.start())
    }

    /// The place of the first host, or of the string.
    pub fn host_place(&self) -> Option<Location> {
        self.uri.places.hosts.first().cloned().or_else(|| self.start())
    }

    /// Returns the start of the string or the call.
    pub fn start(&self) -> Option<Location> {
        let site = || self.uri.site.as_ref().map(|site| site.location.clone());
        self.uri.places.start.clone().or_else(site)
    }

    /// The name under which code sets an option, if it differs from the one in connection strings.
    fn name_in_code(&self, option: &str) -> Option<&str> {
        let bare = |name: &str| name.replace('_', "").to_ascii_lowercase();
        let written = self.uri.option(option)?.written.as_str();
        (self.uri.is_made_in_code() && bare(written) != bare(option)).then_some(written)
    }

    /// A finding about the value of an option, with the recommended value.
    pub fn option_draft(
        &self,
        option: &str,
        value: impl Display,
        is: impl Display,
        why: &'static str,
        better: impl Display,
    ) -> Draft {
        let owner = self.uri.owner();
        let (what, todo) = match self.name_in_code(option) {
            Some(name) => (
                format!("{owner} sets {option}={value} (`{name}`), which {is}"),
                format!("set `{name}` so that {option} is {better}"),
            ),
            None => (
                format!("{owner} sets {option}={value}, which {is}"),
                format!("set {option}={better}"),
            ),
        };
        self.draft(self.place(option), what, why, todo)
            .data("option", option)
            .uri([UriChange::set(option, better)])
    }

    /// A finding about a warning or a refusal of drivers, with the changes that the note proposes.
    pub fn note_draft(&self, note: &UriNote, level: Level, why: &'static str) -> Draft {
        let what = format!("{}: {}", self.uri.owner(), note.what);
        let place = note.location.clone().or_else(|| self.start());
        let draft = self
            .draft(place, what, why, note.todo.clone())
            .level(level)
            .data("option", note.option.as_str());
        match note.fix.as_slice() {
            [] => draft,
            fix => draft.uri(fix),
        }
    }

    /// A finding about the string.
    pub fn draft(
        &self,
        place: Option<Location>,
        what: impl Into<String>,
        why: &'static str,
        todo: impl Into<String>,
    ) -> Draft {
        let seen = Seen::all(self.total, Unit::ConnectionStrings);
        let draft = Draft::new(Subject::Deployment, what, why, todo, seen).key(self.uri.key());
        match place {
            Some(place) => draft.location(place),
            None => draft,
        }
    }
}

/// The language of a file by its extension; languages that share libraries have one name.
fn language_of(file: &str) -> &str {
    match file.rsplit('/').next() {
        Some("package.json") => return "script",
        Some("pom.xml") => return "jvm",
        _ => {}
    }
    match file.rsplit('.').next().unwrap_or_default() {
        "js" | "jsx" | "mjs" | "cjs" | "ts" | "tsx" | "mts" | "cts" => "script",
        "java" | "kt" | "kts" => "jvm",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Example;

    #[test]
    fn pf_4_pf_5_gc_09_pools_are_sized_by_what_is_declared() {
        let needed = |settings: &str, body: &str| {
            let example = Example::new("C018", settings, body);
            let clients = clients(&example.evidence, &example.settings);
            clients[0].needed_pool(&example.settings)
        };
        let service = r#"service {"name": "order", "peak-qps": 1000, "latency-ms": 20}"#;
        let with = |uri: &str| format!("{service}\nuri {uri}/?appName=order");
        assert_eq!(needed("", &with("mongodb://a,b,c")), Some(30));
        assert_eq!(needed("topology=sharded", &with("mongodb://10.0.0.1")), Some(30), "PF-1");
        assert_eq!(
            needed("topology=sharded,routers=8", &with("mongodb+srv://c.example.net")),
            Some(4)
        );
        assert_eq!(needed("topology=sharded", &with("mongodb://a,b,c")), Some(10), "PF-3");
        let processes = r#"service {"name": "order", "peak-qps": 1000, "latency-ms": 20, "processes": 4}
            uri mongodb://a,b/?appName=order"#;
        assert_eq!(needed("", processes), Some(8));
        assert_eq!(needed("", "uri mongodb://a,b/?appName=order"), None);
    }

    #[test]
    fn strings_for_the_own_machine_are_known() {
        let local = |uri: &str| {
            let example = Example::new("C010", "", &format!("uri {uri}"));
            clients(&example.evidence, &example.settings)[0].is_local()
        };
        for uri in [
            "mongodb://localhost:27017",
            "mongodb://127.0.0.1,127.0.0.1:27018/",
            "mongodb://mongo:27017/",
            "mongodb://[::1]/",
            "mongodb://%2Ftmp%2Fmongodb-27017.sock",
        ] {
            assert!(local(uri), "{uri}");
        }
        for uri in ["mongodb://db1", "mongodb://10.0.0.1", "mongodb://localhost,db1"] {
            assert!(!local(uri), "{uri}");
        }
    }
}
