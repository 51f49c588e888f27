//! `[guard]`, and the file of users that it names. Values stand for themselves: read and judged in one step.

use docward_model::NamespacePattern;
use toml_edit::Item;

use super::{At, Reader, entries};
use crate::{
    keys::{self, Section},
    suggest,
};

/// What `[guard]` says; the command line's defaults hold where it says nothing.
#[derive(Clone, Debug, Default)]
pub struct GuardSettings {
    /// The deployment: a connection string.
    pub upstream: Option<String>,
    /// Where clients connect to.
    pub listen: Option<String>,
    /// The address for operators.
    pub admin: Option<String>,
    /// The name by which clients reach it.
    pub advertise: Option<String>,
    /// What clients see: a word of [`FACES`].
    pub face: Option<String>,
    /// How clients log in: a word of [`AUTHS`].
    pub auth: Option<String>,
    /// The file of users, relative to the directory of the settings.
    pub users: Option<String>,
    /// The file of certificate and key, likewise.
    pub tls_certificate: Option<String>,
    /// The file of authorities for certificates of clients, likewise.
    pub tls_client_ca: Option<String>,
    /// Connections to each server for each user at most.
    pub max_pool: Option<u64>,
    /// Connections to each server that are kept open.
    pub min_pool: Option<u64>,
    /// Connections to each server at most, whoever they are for.
    pub max_server_connections: Option<u64>,
    /// Seconds that a command waits for a connection.
    pub wait_seconds: Option<u64>,
    /// Clients at most.
    pub max_clients: Option<u64>,
    /// Seconds that clients may take to finish when the guard ends.
    pub grace_seconds: Option<u64>,
    /// Megabytes of messages that are in memory at the same time.
    pub memory_mb: Option<u64>,
    /// What users and applications may ask for.
    pub limits: Vec<GuardLimit>,
}

/// `[[guard.limit]]`.
#[derive(Clone, Debug)]
pub struct GuardLimit {
    /// Users, as `database.user`.
    pub user: Option<NamespacePattern>,
    /// Applications, as `appName`.
    pub application: Option<NamespacePattern>,
    /// Commands in a second.
    pub operations_per_second: Option<u64>,
    /// Bytes of commands in a second.
    pub bytes_per_second: Option<u64>,
    /// Commands at the same time.
    pub concurrent: Option<u64>,
}

/// `[[user]]` of a file of users.
#[derive(Clone, Debug)]
pub struct GuardUser {
    /// The name, or the subject of a certificate.
    pub name: String,
    /// What a password is checked with; none for a login by certificate.
    pub password: Option<String>,
    /// Databases, and whether they may be written.
    pub databases: Vec<(NamespacePattern, bool)>,
}

/// What clients see.
pub const FACES: [&str; 3] = ["router", "lb", "member"];
/// How clients log in.
pub const AUTHS: [&str; 3] = ["mirror", "list", "off"];
/// What a user may do in a database.
pub const RIGHTS: [&str; 2] = ["read", "readWrite"];

/// The most that a number can be: more is a slip of the hand.
const MOST: i64 = 1_000_000_000_000;

impl Reader<'_, '_> {
    pub(super) fn guard(&mut self, at: usize, item: &Item) -> GuardSettings {
        let mut guard = GuardSettings::default();
        let Some(table) = self.table("guard", at, item, "write `[guard]`") else { return guard };
        for (key, item) in entries(table) {
            let name = key.value;
            let text = match name {
                "upstream" => Some(&mut guard.upstream),
                "listen" => Some(&mut guard.listen),
                "admin" => Some(&mut guard.admin),
                "advertise" => Some(&mut guard.advertise),
                "users" => Some(&mut guard.users),
                "tls-certificate" => Some(&mut guard.tls_certificate),
                "tls-client-ca" => Some(&mut guard.tls_client_ca),
                _ => None,
            };
            if let Some(to) = text {
                *to = self.string(name, item).map(|text| text.value.to_owned());
                continue;
            }
            match name {
                "face" => guard.face = self.one_of(name, item, &FACES),
                "auth" => guard.auth = self.one_of(name, item, &AUTHS),
                "max-pool" => guard.max_pool = self.whole(name, item, 1),
                "min-pool" => guard.min_pool = self.whole(name, item, 0),
                "max-server-connections" => {
                    guard.max_server_connections = self.whole(name, item, 1);
                }
                "wait-seconds" => guard.wait_seconds = self.whole(name, item, 1),
                "max-clients" => guard.max_clients = self.whole(name, item, 1),
                "grace-seconds" => guard.grace_seconds = self.whole(name, item, 0),
                "memory-mb" => guard.memory_mb = self.whole(name, item, 64),
                "limit" => guard.limits = self.limits(key.at, item),
                _ => self.unknown(key, keys::GUARD),
            }
        }
        guard
    }

    fn limits(&mut self, at: usize, item: &Item) -> Vec<GuardLimit> {
        let mut out = Vec::new();
        for (at, table) in self.tables("limit", at, item, keys::GUARD_LIMIT) {
            let mut limit = GuardLimit {
                user: None,
                application: None,
                operations_per_second: None,
                bytes_per_second: None,
                concurrent: None,
            };
            for (key, item) in entries(table) {
                match key.value {
                    name @ "user" => limit.user = self.glob(name, item),
                    name @ "application" => limit.application = self.glob(name, item),
                    name @ "operations-per-second" => {
                        limit.operations_per_second = self.whole(name, item, 1);
                    }
                    name @ "bytes-per-second" => {
                        limit.bytes_per_second = self.whole(name, item, 1);
                    }
                    name @ "concurrent" => limit.concurrent = self.whole(name, item, 1),
                    _ => self.unknown(key, keys::GUARD_LIMIT),
                }
            }
            // A pattern that cannot be read must not widen the limit to everybody.
            if limit.user.is_some() == table.contains_key("user")
                && limit.application.is_some() == table.contains_key("application")
            {
                let limits =
                    [limit.operations_per_second, limit.bytes_per_second, limit.concurrent];
                if limits.iter().all(Option::is_none) {
                    let hint = "add `operations-per-second`, `bytes-per-second` or `concurrent`";
                    self.out.note(at, "`[[guard.limit]]` limits nothing", Some(hint.to_owned()));
                }
                out.push(limit);
            }
        }
        out
    }

    pub(super) fn users(&mut self, at: usize, item: &Item) -> Vec<GuardUser> {
        let mut out: Vec<GuardUser> = Vec::new();
        for (at, table) in self.tables("user", at, item, keys::GUARD_USER) {
            let (mut name, mut subject, mut password) = (None, None, None);
            let mut databases = Vec::new();
            for (key, item) in entries(table) {
                match key.value {
                    "name" => name = self.string("name", item),
                    "subject" => subject = self.string("subject", item),
                    "password" => password = self.string("password", item),
                    "databases" => databases = self.rights(key.at, item),
                    _ => self.unknown(key, keys::GUARD_USER),
                }
            }
            let user = match (name, subject, password) {
                (Some(name), None, Some(password)) => (name, Some(password.value.to_owned())),
                (None, Some(subject), None) => (subject, None),
                _ => {
                    let message = "`[[user]]` needs `name` and `password`, or `subject`";
                    let hint = "`docward guard user NAME` prints an entry";
                    self.out.error(at, message, Some(hint.to_owned()));
                    continue;
                }
            };
            let (name, password) = user;
            if out.iter().any(|known| known.name == name.value) {
                let message = format!("a user `{}` stands above", suggest::excerpt(name.value));
                self.out.error(name.at, message, None);
                continue;
            }
            if databases.is_empty() {
                let hint = "write `databases = { db_shop = \"readWrite\" }`";
                self.out.note(at, "the user may do nothing", Some(hint.to_owned()));
            }
            out.push(GuardUser { name: name.value.to_owned(), password, databases });
        }
        out
    }

    fn rights(&mut self, at: usize, item: &Item) -> Vec<(NamespacePattern, bool)> {
        let hint = "write `databases = { db_shop = \"readWrite\" }`";
        let Some(table) = self.table("databases", at, item, hint) else { return Vec::new() };
        let mut out = Vec::new();
        for (key, item) in entries(table) {
            let right = self.one_of(key.value, item, &RIGHTS);
            if let (Some(pattern), Some(right)) = (self.pattern(key), right) {
                out.push((pattern, right == "readWrite"));
            }
        }
        out
    }

    fn glob(&mut self, name: &str, item: &Item) -> Option<NamespacePattern> {
        let text = self.string(name, item)?;
        self.pattern(text)
    }

    fn pattern(&mut self, text: At<&str>) -> Option<NamespacePattern> {
        let found = NamespacePattern::new(text.value);
        found
            .map_err(|why| {
                let shown = suggest::excerpt(text.value);
                self.out.error(text.at, format!("`{shown}` is not a pattern: {why}"), None);
            })
            .ok()
    }

    fn one_of(&mut self, name: &str, item: &Item, words: &[&'static str]) -> Option<String> {
        let text = self.string(name, item)?;
        if words.contains(&text.value) {
            return Some(text.value.to_owned());
        }
        let hint = suggest::did_you_mean(text.value, words.iter().copied())
            .unwrap_or_else(|| format!("write {}", suggest::list(words, "or")));
        let message = format!("`{name}` cannot be `{}`", suggest::excerpt(text.value));
        self.out.error(text.at, message, Some(hint));
        None
    }

    fn whole(&mut self, name: &str, item: &Item, least: i64) -> Option<u64> {
        let number = self.integer(name, item)?;
        if (least..=MOST).contains(&number.value) {
            return u64::try_from(number.value).ok();
        }
        let message = format!("`{name}` must be from {least} to {MOST}, not {}", number.value);
        self.out.error(number.at, message, None);
        None
    }
}

/// The table of a section that only a file of users has.
pub(crate) const USERS_ROOT: Section = Section { header: "", keys: &["user"] };
