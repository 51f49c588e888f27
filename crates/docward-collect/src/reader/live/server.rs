//! Facts about the deployment and the server that responds.

use std::collections::BTreeSet;

use docward_model::{
    Connections, CustomRole, DefaultConcerns, Member, PrivilegePlace, RolePrivilege, Server,
    StartOptions, TOLERATED_LAG, Topology, User, Value, text,
};
use mongodb::bson::{Bson, Document, doc};

use super::{
    super::Reader,
    Answering, Deployment,
    driver_error::code,
    privileges::Resource,
    session::{Read, number},
};
use crate::{
    catalogue,
    identity::DeploymentId,
    trouble::{LiveTrouble, Trouble},
};

/// Parameters that are relevant for safety.
const PARAMETERS: [&str; 4] =
    ["authenticationMechanisms", LOCALHOST, "enableTestCommands", "scramIterationCount"];

/// The parameter that controls the localhost exception.
const LOCALHOST: &str = "enableLocalhostAuthBypass";

/// A server of which only one fact is known: it has no users yet.
pub(super) fn without_users() -> Server {
    Server {
        parameters: vec![(LOCALHOST.to_owned(), "true".to_owned())],
        users: Some(Vec::new()),
        ..Server::default()
    }
}

/// Built-in roles.
const BUILT_IN: [&str; 19] = [
    "__queryableBackup",
    "__system",
    "backup",
    "clusterAdmin",
    "clusterManager",
    "clusterMonitor",
    "dbAdmin",
    "dbAdminAnyDatabase",
    "dbOwner",
    "enableSharding",
    "hostManager",
    "read",
    "readAnyDatabase",
    "readWrite",
    "readWriteAnyDatabase",
    "restore",
    "root",
    "userAdmin",
    "userAdminAnyDatabase",
];

impl Reader<'_, '_, '_> {
    /// Records that documents may come from a member that lags: the report is then about the past.
    fn note_lag(&self, deployment: &Deployment<'_>, server: &Server) {
        let session = &deployment.session;
        let members = server.members.as_deref().unwrap_or_default();
        let has_primary = members.iter().any(|m| m.state.as_deref() == Some("PRIMARY"));
        let is_read_from = |member: &Member| {
            if session.direct {
                return server.host.as_deref() == Some(member.host.as_str());
            }
            let by_preference = match session.read_preference {
                "primary" => false,
                "primaryPreferred" => !has_primary,
                _ => true,
            };
            by_preference && member.is_read_from()
        };
        let late: Vec<String> = members
            .iter()
            .filter(|member| is_read_from(member))
            .filter_map(|member| Some((member, member.lag_seconds?)))
            .filter(|(_, lag)| *lag > TOLERATED_LAG)
            .map(|(member, lag)| format!("{} ({})", member.host, text::plural(lag, "second")))
            .collect();
        if late.is_empty() {
            return;
        }
        let (may, instead) = match session.direct {
            true => ("was", "connect to the primary"),
            false => ("may have been", "add readPreference=primary to the connection string"),
        };
        self.progress.note(&format!(
            "{}: this data {may} read from a member that is behind the primary, {}; newer writes \
             are missing: {instead} to read them",
            session.name,
            text::list(&late, 5)
        ));
    }

    /// Requests facts about the deployment; facts that are refused stay unknown. Returns the
    /// identity of the deployment.
    pub(super) fn read_server(&mut self, deployment: &mut Deployment<'_>) -> Option<DeploymentId> {
        let mut server = Server {
            read_preference: Some(deployment.session.read_preference.to_owned()),
            ..Server::default()
        };
        let mut primary = None;
        if let Some(hello) = self.fact(deployment, Read::Hello, "hello", Document::new()) {
            primary = hello.get_str("primary").ok().map(str::to_owned);
            server.host = hello.get_str("me").ok().map(str::to_owned);
            deployment.answering = Answering::of(&hello);
            let topology = topology(&hello);
            deployment.is_routed = topology == Topology::Sharded;
            server.topology = Some(topology);
        }
        if let Some(build) = self.fact(deployment, Read::BuildInfo, "buildInfo", Document::new()) {
            server.version = build.get_str("version").ok().map(str::to_owned);
            let version = server.version.as_deref().and_then(catalogue::version);
            self.table.server_version = self.table.server_version.or(version);
            deployment.version = version;
        }
        // A shard key analysis needs documents and the workload only, so it requests no facts about
        // the set-up and no privileges for them.
        let is_set_up_wanted = self.request.analyze_keys.is_none();
        if is_set_up_wanted {
            self.set_up(deployment, &mut server);
        }
        if matches!(server.topology, Some(Topology::ReplicaSet(_))) {
            let rest = Document::new();
            let config = self.fact(deployment, Read::ReplSetGetConfig, "replSetGetConfig", rest);
            let rest = Document::new();
            let status = self.fact(deployment, Read::ReplSetGetStatus, "replSetGetStatus", rest);
            server.members = members(config.as_ref(), status.as_ref());
            self.note_lag(deployment, &server);
            if !deployment.session.direct {
                deployment.members = askable(server.members.as_deref(), primary.as_deref());
                deployment.down = down(server.members.as_deref());
                self.arbiters_down(deployment, server.members.as_deref());
                self.without_primary(deployment, server.members.as_deref());
            }
        }
        if is_set_up_wanted {
            self.users(deployment, &mut server);
        }
        if is_set_up_wanted && server.topology != Some(Topology::Standalone) {
            let action = "getDefaultRWConcern";
            let reply = self.fact(deployment, Read::GetDefaultRwConcern, action, Document::new());
            server.default_concerns = reply.as_ref().map(default_concerns);
        }
        server.cluster = self.cluster(deployment, server.topology.as_ref());
        let source = &mut self.sources[deployment.source];
        source.server = Some(in_words(&server));
        let id = DeploymentId::of(&server);
        self.table.server.get_or_insert(server);
        id
    }

    /// Start options, host information and counters.
    fn set_up(&mut self, deployment: &mut Deployment<'_>, server: &mut Server) {
        let rest = Document::new();
        if let Some(reply) = self.fact(deployment, Read::GetCmdLineOpts, "getCmdLineOpts", rest) {
            server.start = reply.get_document("parsed").ok().map(start_options);
        }
        self.parameters(deployment, server);
        // Sections that are expensive for the server are left out.
        let rest = doc! {
            "repl": 0, "metrics": 0, "locks": 0, "tcmalloc": 0, "opLatencies": 0,
        };
        if let Some(status) = self.fact(deployment, Read::ServerStatus, "serverStatus", rest) {
            server.uptime_seconds = number(&status, "uptime");
            server.answers_anybody = !deployment.session.logged_in;
            server.clock_seconds =
                status.get_datetime("localTime").ok().map(|t| t.timestamp_millis() / 1000);
            let host = || status.get_str("host").ok().map(str::to_owned);
            server.host = server.host.take().or_else(host);
            server.connections = status.get_document("connections").ok().and_then(connections);
            server.open_data_handles = open_data_handles(&status);
        }
        if let Some(host) = self.fact(deployment, Read::HostInfo, "hostInfo", Document::new()) {
            server.max_open_files = max_open_files(&host);
        }
    }

    /// Reports a set without a primary, whichever members are down.
    fn without_primary(&mut self, deployment: &Deployment<'_>, members: Option<&[Member]>) {
        let members = members.unwrap_or_default();
        let is_told = members.iter().any(|member| member.state.is_some());
        let is_primary = |member: &Member| member.state.as_deref() == Some("PRIMARY");
        if !is_told || members.iter().any(is_primary) {
            return;
        }
        let gone = unreachable(Some(members)).map(|member| member.host.clone());
        let trouble = LiveTrouble::NoPrimary { down: gone.collect() };
        self.troubles.add_for(deployment.session.name.clone(), &Trouble::Live(trouble));
    }

    /// Reports arbiters that cannot be reached: they hold no data to read, but the set needs their
    /// votes.
    fn arbiters_down(&mut self, deployment: &Deployment<'_>, members: Option<&[Member]>) {
        for member in unreachable(members).filter(|member| member.arbiter == Some(true)) {
            let trouble = LiveTrouble::ArbiterDown { member: member.host.clone() };
            self.troubles.add_for(deployment.session.name.clone(), &Trouble::Live(trouble));
        }
    }

    /// Reports members that became unreachable since the beginning.
    pub(super) fn members_lost(&mut self, deployment: &Deployment<'_>) {
        if deployment.members.len() < 2 || deployment.session.direct {
            return;
        }
        let status = deployment.session.ask("admin", Read::ReplSetGetStatus, Document::new());
        let Ok(status) = status else { return };
        let now = members(None, Some(&status)).unwrap_or_default();
        for member in &deployment.members {
            let is_down = now.iter().any(|m| m.host == *member && m.healthy == Some(false));
            if is_down && !deployment.down.contains(member) {
                let trouble = LiveTrouble::MemberLost { member: member.clone() };
                self.troubles.add_for(deployment.session.name.clone(), &Trouble::Live(trouble));
            }
        }
    }

    fn fact(
        &mut self,
        deployment: &mut Deployment<'_>,
        read: Read,
        action: &'static str,
        rest: Document,
    ) -> Option<Document> {
        match deployment.session.ask("admin", read, rest) {
            Ok(reply) => Some(reply),
            // Not supported by this version or topology: command not found, unsupported.
            Err(error) if matches!(code(&error), Some(59 | 115 | 51_300)) => None,
            Err(error) => {
                self.refused(deployment, Resource::Cluster, action, action, &error);
                None
            }
        }
    }

    fn parameters(&mut self, deployment: &mut Deployment<'_>, server: &mut Server) {
        let mut rest = doc! { "getParameter": 1, "featureCompatibilityVersion": 1 };
        rest.extend(PARAMETERS.map(|name| (name.to_owned(), Bson::Int32(1))));
        let Some(reply) = self.fact(deployment, Read::GetParameter, "getParameter", rest) else {
            return;
        };
        server.feature_compatibility = reply
            .get_document("featureCompatibilityVersion")
            .and_then(|version| version.get_str("version"))
            .ok()
            .map(str::to_owned);
        server.parameters = PARAMETERS
            .iter()
            .filter_map(|&name| Some((name.to_owned(), reply.get(name)?.to_string())))
            .collect();
    }

    fn users(&mut self, deployment: &mut Deployment<'_>, server: &mut Server) {
        let rest = doc! { "usersInfo": { "forAllDBs": true } };
        match deployment.session.ask_value("admin", Read::UsersInfo, rest) {
            Ok(reply) => {
                let users = users(&reply);
                if let Some(reply) = self.roles(deployment, &users) {
                    server.custom_roles = custom_roles(&reply);
                    server.role_privileges = Some(role_privileges(&reply));
                }
                server.users = Some(users);
            }
            Err(error) => {
                self.refused(deployment, Resource::Cluster, "viewUser", "usersInfo", &error);
            }
        }
    }

    /// The definitions of the user-defined roles that users have.
    fn roles(&mut self, deployment: &mut Deployment<'_>, users: &[User]) -> Option<Value> {
        let held: BTreeSet<_> = users
            .iter()
            .flat_map(|user| &user.roles)
            .filter(|(_, role)| !BUILT_IN.contains(&role.as_str()))
            .collect();
        if held.is_empty() {
            return None;
        }
        let named: Vec<_> = held.iter().map(|(db, role)| doc! { "role": role, "db": db }).collect();
        let rest = doc! { "rolesInfo": named, "showPrivileges": true };
        match deployment.session.ask_value("admin", Read::RolesInfo, rest) {
            Ok(reply) => Some(reply),
            Err(error) => {
                for (database, _) in held {
                    let resource = Resource::Database(database.clone());
                    self.refused(deployment, resource, "viewRole", "rolesInfo", &error);
                }
                None
            }
        }
    }
}

fn topology(hello: &Document) -> Topology {
    match (hello.get_str("msg"), hello.get_str("setName")) {
        (Ok("isdbgrid"), _) => Topology::Sharded,
        (_, Ok(name)) => Topology::ReplicaSet(name.to_owned()),
        _ => Topology::Standalone,
    }
}

fn start_options(parsed: &Document) -> StartOptions {
    let section = |name: &str| parsed.get_document(name).ok();
    let (net, security) = (section("net"), section("security"));
    let text = |section: Option<&Document>, key: &str| {
        section.and_then(|section| section.get_str(key).ok()).map(str::to_owned)
    };
    let yes = |section: Option<&Document>, key: &str| {
        section.is_some_and(|section| section.get_bool(key).ok() == Some(true))
    };
    let tls = net.and_then(|net| net.get_document("tls").or_else(|_| net.get_document("ssl")).ok());
    let asks_for_login = text(security, "authorization").as_deref() == Some("enabled")
        || text(security, "keyFile").is_some()
        || text(security, "clusterAuthMode").is_some();
    StartOptions {
        // During the transition to access control, clients that do not log in may still do
        // everything.
        authorization: asks_for_login && !yes(security, "transitionToAuth"),
        bind_addresses: if yes(net, "bindIpAll") {
            Some(vec!["*".to_owned()])
        } else {
            text(net, "bindIp")
                .map(|list| list.split(',').map(|address| address.trim().to_owned()).collect())
        },
        tls_mode: text(tls, "mode"),
        javascript: security.and_then(|s| s.get_bool("javascriptEnabled").ok()),
        audit_log: section("auditLog").is_some(),
        cluster_role: text(section("sharding"), "clusterRole"),
    }
}

/// The limit of open files of the server's process: in `extra` as documented, or one level deeper
/// (6.0).
fn max_open_files(host: &Document) -> Option<u64> {
    let extra = host.get_document("extra").ok()?;
    let deeper = || number(extra.get_document("extra").ok()?, "maxOpenFiles");
    number(extra, "maxOpenFiles").or_else(deeper)
}

/// Files of tables and indexes that the storage engine holds open.
fn open_data_handles(status: &Document) -> Option<u64> {
    let engine = status.get_document("wiredTiger").ok()?;
    let handles = engine.get_document("data-handle").ok()?;
    number(handles, "connection data handles currently active")
}

fn connections(document: &Document) -> Option<Connections> {
    Some(Connections {
        current: number(document, "current")?,
        available: number(document, "available")?,
        total_created: number(document, "totalCreated")?,
        since_earlier: None,
    })
}

/// The members, from the configuration and the status of a set, whichever is available.
fn members(config: Option<&Document>, status: Option<&Document>) -> Option<Vec<Member>> {
    let listed = |document: &Document| -> Vec<Document> {
        let members = document.get_array("members").into_iter().flatten();
        members.filter_map(|member| member.as_document().cloned()).collect()
    };
    let configured = config.and_then(|reply| reply.get_document("config").ok()).map(listed);
    let seen = status.map(listed);
    let primary_at = seen.iter().flatten().find(|m| m.get_str("stateStr").ok() == Some("PRIMARY"));
    let primary_at = primary_at.and_then(|m| m.get_datetime("optimeDate").ok()).copied();
    let mut members: Vec<Member> = Vec::new();
    for member in configured.iter().flatten() {
        members.push(Member {
            host: member.get_str("host").unwrap_or_default().to_owned(),
            votes: number(member, "votes"),
            priority_milli: member.get("priority").and_then(thousandths),
            hidden: member.get_bool("hidden").ok(),
            arbiter: member.get_bool("arbiterOnly").ok(),
            delay_seconds: number(member, "secondaryDelaySecs")
                .or_else(|| number(member, "slaveDelay")),
            tags: Some(tags(member)),
            ..Member::default()
        });
    }
    for member in seen.iter().flatten() {
        let host = member.get_str("name").unwrap_or_default();
        let at = members.iter().position(|known| known.host == host).unwrap_or_else(|| {
            members.push(Member { host: host.to_owned(), ..Member::default() });
            members.len() - 1
        });
        let known = &mut members[at];
        known.state = member.get_str("stateStr").ok().map(str::to_owned);
        known.healthy = number(member, "health").map(|health| health == 1);
        if known.state.as_deref() == Some("SECONDARY")
            && let (Some(primary), Ok(own)) = (primary_at, member.get_datetime("optimeDate"))
        {
            let behind = primary.timestamp_millis() - own.timestamp_millis();
            known.lag_seconds = Some(u64::try_from(behind / 1000).unwrap_or_default());
        }
    }
    members.sort_by(|a, b| a.host.cmp(&b.host));
    (config.is_some() || status.is_some()).then_some(members)
}

/// The members that hold data, respond, and are visible to clients. If their state is unknown, only
/// the primary, because waiting for a member that is down takes seconds.
fn askable(members: Option<&[Member]>, primary: Option<&str>) -> Vec<String> {
    let answers = |member: &&Member| {
        matches!(member.state.as_deref(), Some("PRIMARY" | "SECONDARY"))
            && member.healthy != Some(false)
            && member.is_visible()
    };
    let hosts: Vec<_> =
        members.unwrap_or_default().iter().filter(answers).map(|m| m.host.clone()).collect();
    if hosts.is_empty() { primary.map(str::to_owned).into_iter().collect() } else { hosts }
}

/// The data-bearing members that the responding one cannot reach, including hidden ones, because
/// the set relies on their copies. A recovering member counts as reachable.
fn down(members: Option<&[Member]>) -> Vec<String> {
    unreachable(members).filter(|m| m.arbiter != Some(true)).map(|m| m.host.clone()).collect()
}

fn unreachable(members: Option<&[Member]>) -> impl Iterator<Item = &Member> {
    members.unwrap_or_default().iter().filter(|member| member.healthy == Some(false))
}

fn tags(member: &Document) -> Vec<(String, String)> {
    let tags = member.get_document("tags").into_iter().flatten();
    let mut tags: Vec<_> =
        tags.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect();
    tags.sort();
    tags
}

fn thousandths(priority: &Bson) -> Option<u64> {
    let priority = match priority {
        Bson::Int32(n) => f64::from(*n),
        Bson::Int64(n) => *n as f64,
        Bson::Double(n) => *n,
        _ => return None,
    };
    Some((priority * 1000.0).round() as u64)
}

fn text(value: &Value, key: &str) -> String {
    value.get(key).and_then(Value::as_text).unwrap_or_default().to_owned()
}

/// The user-defined roles in a response.
fn made_by_people(reply: &Value) -> impl Iterator<Item = &Value> {
    let listed = reply.get("roles").map_or(&[][..], Value::items).iter();
    listed.filter(|role| !role.get("isBuiltin").is_some_and(Value::is_truthy))
}

/// The privileges of a role, including inherited ones.
fn privileges(role: &Value) -> &[Value] {
    role.get("inheritedPrivileges").or(role.get("privileges")).map_or(&[][..], Value::items)
}

fn role_privileges(reply: &Value) -> Vec<RolePrivilege> {
    let mut all = Vec::new();
    for role in made_by_people(reply) {
        for privilege in privileges(role) {
            let Some(resource) = privilege.get("resource") else { continue };
            let is = |key: &str| resource.get(key).is_some_and(Value::is_truthy);
            let place = match (is("anyResource"), is("cluster")) {
                (true, _) => PrivilegePlace::Everywhere,
                (_, true) => PrivilegePlace::Cluster,
                _ => {
                    PrivilegePlace::Collections(text(resource, "db"), text(resource, "collection"))
                }
            };
            let actions = privilege.get("actions").map_or(&[][..], Value::items).iter();
            let mut actions: Vec<_> =
                actions.filter_map(Value::as_text).map(str::to_owned).collect();
            actions.sort();
            let role = (text(role, "db"), text(role, "role"));
            all.push(RolePrivilege { role, place, actions });
        }
    }
    // The server returns them in arbitrary order.
    all.sort();
    all
}

fn custom_roles(reply: &Value) -> Vec<CustomRole> {
    let mut roles: Vec<_> = made_by_people(reply)
        .map(|role| {
            let inherited = role.get("inheritedRoles").map_or(&[][..], Value::items).iter();
            CustomRole {
                database: text(role, "db"),
                name: text(role, "role"),
                inherits: inherited.map(|role| (text(role, "db"), text(role, "role"))).collect(),
                writes: places(role, &["insert", "update"]),
                bypasses: places(role, &["bypassDocumentValidation"]),
            }
        })
        .collect();
    roles.sort();
    roles
}

/// The places where a role has one of these actions, directly or by inheritance. Empty names mean
/// any.
fn places(role: &Value, actions: &[&str]) -> Vec<(String, String)> {
    let mut places: Vec<_> = privileges(role)
        .iter()
        .filter(|privilege| {
            let allowed = privilege.get("actions").map_or(&[][..], Value::items).iter();
            allowed.filter_map(Value::as_text).any(|a| a == "anyAction" || actions.contains(&a))
        })
        .filter_map(|privilege| privilege.get("resource"))
        // The cluster resource contains no documents.
        .filter(|resource| {
            resource.get("db").is_some()
                || resource.get("anyResource").is_some_and(Value::is_truthy)
        })
        .map(|resource| (text(resource, "db"), text(resource, "collection")))
        .collect();
    places.sort();
    places.dedup();
    places
}

fn users(reply: &Value) -> Vec<User> {
    let mut users: Vec<_> = reply
        .get("users")
        .map_or(&[][..], Value::items)
        .iter()
        .map(|user| {
            let roles = user.get("roles").map_or(&[][..], Value::items).iter();
            let mut roles: Vec<_> =
                roles.map(|role| (text(role, "db"), text(role, "role"))).collect();
            // The server returns them in arbitrary order.
            roles.sort();
            User { database: text(user, "db"), name: text(user, "user"), roles }
        })
        .collect();
    users.sort();
    users
}

fn default_concerns(reply: &Document) -> DefaultConcerns {
    let write = reply.get_document("defaultWriteConcern").ok().and_then(|c| c.get("w"));
    let read = reply.get_document("defaultReadConcern").and_then(|c| c.get_str("level"));
    DefaultConcerns {
        write: write.map(|w| w.as_str().map_or_else(|| w.to_string(), str::to_owned)),
        read: read.ok().map(str::to_owned),
    }
}

fn in_words(server: &Server) -> String {
    let version = server.version.as_deref().unwrap_or("of unknown version");
    let mut text = format!("MongoDB {version}");
    if let Some(topology) = &server.topology {
        text.push_str(&format!(", {}", topology.text()));
    }
    if let Some(mode) = &server.read_preference {
        text.push_str(&format!(", read preference {mode}"));
    }
    text
}

#[cfg(test)]
mod tests {
    use mongodb::bson::DateTime;

    use super::*;

    #[test]
    fn start_options_are_read() {
        let check = |parsed: Document, authorization, bind: Option<&[&str]>, tls: Option<&str>| {
            let options = start_options(&parsed);
            assert_eq!(options.authorization, authorization, "{parsed}");
            let bind = bind.map(|list| list.iter().map(|&a| a.to_owned()).collect());
            assert_eq!(options.bind_addresses, bind, "{parsed}");
            assert_eq!(options.tls_mode.as_deref(), tls, "{parsed}");
        };
        check(doc! {}, false, None, None);
        check(
            doc! { "net": { "bindIp": "127.0.0.1, ::1" }, "security": { "keyFile": "/k" } },
            true,
            Some(&["127.0.0.1", "::1"]),
            None,
        );
        check(
            doc! {
                "net": { "bindIpAll": true, "ssl": { "mode": "requireSSL" } },
                "security": { "authorization": "enabled" },
            },
            true,
            Some(&["*"]),
            Some("requireSSL"),
        );
        check(doc! { "security": { "authorization": "disabled" } }, false, None, None);
        let transition = doc! { "keyFile": "/k", "transitionToAuth": true };
        check(doc! { "security": transition }, false, None, None);
        let role = |parsed: Document| start_options(&parsed).cluster_role;
        assert_eq!(
            role(doc! { "sharding": { "clusterRole": "shardsvr" } }).as_deref(),
            Some("shardsvr")
        );
        assert_eq!(role(doc! {}), None);
    }

    #[test]
    fn dm_12_3_the_limit_of_open_files_is_found_at_both_depths() {
        assert_eq!(max_open_files(&doc! { "extra": { "maxOpenFiles": 64_000 } }), Some(64_000));
        let deeper = doc! { "extra": { "extra": { "maxOpenFiles": 20_000_i64 } } };
        assert_eq!(max_open_files(&deeper), Some(20_000));
        assert_eq!(max_open_files(&doc! { "extra": {} }), None);
    }

    #[test]
    fn members_join_configuration_and_status() {
        let at = |millis| Bson::DateTime(DateTime::from_millis(millis));
        let config = doc! { "config": { "members": [
            { "host": "b:1", "votes": 1, "priority": 0.5, "hidden": false, "arbiterOnly": false,
              "tags": { "use": "read", "dc": "ny" } },
            { "host": "a:1", "votes": 1, "priority": 1, "secondaryDelaySecs": 3600_i64 },
        ] } };
        let status = doc! { "members": [
            { "name": "a:1", "stateStr": "SECONDARY", "health": 1.0, "optimeDate": at(10_000) },
            { "name": "b:1", "stateStr": "PRIMARY", "health": 1.0, "optimeDate": at(17_500) },
        ] };
        let both = members(Some(&config), Some(&status)).unwrap();
        assert_eq!((both[0].host.as_str(), both[0].lag_seconds), ("a:1", Some(7)));
        assert_eq!(both[0].delay_seconds, Some(3600));
        assert_eq!((both[1].priority_milli, both[1].lag_seconds), (Some(500), None));
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(both[1].tags, Some(vec![pair("dc", "ny"), pair("use", "read")]));
        assert_eq!(both[0].tags, Some(Vec::new()), "known to have none");
        assert_eq!(down(Some(&both)), Vec::<String>::new());
        let only_status = members(None, Some(&status)).unwrap();
        assert_eq!((only_status[0].votes, only_status[0].healthy), (None, Some(true)));
        assert_eq!(members(None, None), None);
    }

    #[test]
    fn members_that_cannot_be_reached_are_down() {
        let member = |host: &str, state: &str, healthy| Member {
            host: host.to_owned(),
            state: Some(state.to_owned()),
            healthy: Some(healthy),
            ..Member::default()
        };
        let gone = "(not reachable/healthy)";
        let members = [
            member("a:1", "PRIMARY", true),
            member("b:1", gone, false),
            member("c:1", "RECOVERING", true),
            Member { arbiter: Some(true), ..member("d:1", gone, false) },
            Member { hidden: Some(true), ..member("e:1", gone, false) },
            Member { host: "f:1".to_owned(), ..Member::default() },
        ];
        assert_eq!(down(Some(&members)), ["b:1", "e:1"], "an arbiter holds nothing to read");
        assert_eq!(unreachable(Some(&members)).count(), 3);
        assert_eq!(down(None), Vec::<String>::new());
    }
}
