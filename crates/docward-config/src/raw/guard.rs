//! Reads and validates `[guard]` and the users file that it names.

use docward_model::NamespacePattern;
use toml_edit::Item;

use super::{At, Reader, entries};
use crate::{
    keys::{self, Section},
    suggest,
};

/// The settings in `[guard]`. The command line supplies the defaults of missing ones.
#[derive(Clone, Debug, Default)]
pub struct GuardSettings {
    /// The connection string of the deployment.
    pub upstream: Option<String>,
    /// The address that clients connect to.
    pub listen: Option<String>,
    /// The admin address.
    pub admin: Option<String>,
    /// The host name under which clients reach the guard.
    pub advertise: Option<String>,
    /// The appearance of the guard to clients: one of [`FACES`].
    pub face: Option<String>,
    /// The method by which clients log in: one of [`AUTHS`].
    pub auth: Option<String>,
    /// The users file, relative to the directory of the settings file.
    pub users: Option<String>,
    /// The file with certificate and key, relative to the directory of the settings file.
    pub tls_certificate: Option<String>,
    /// The file with the CAs of client certificates, relative to the directory of the settings file.
    pub tls_client_ca: Option<String>,
    /// The maximum number of connections per server and user.
    pub max_pool: Option<u64>,
    /// The minimum number of open connections per server and user.
    pub min_pool: Option<u64>,
    /// The maximum number of connections per server, for all users together.
    pub max_server_connections: Option<u64>,
    /// Seconds that a command waits for a connection.
    pub wait_seconds: Option<u64>,
    /// The maximum number of clients.
    pub max_clients: Option<u64>,
    /// Seconds that clients have to finish when the guard shuts down.
    pub grace_seconds: Option<u64>,
    /// The maximum size of all messages in memory, in megabytes.
    pub memory_mb: Option<u64>,
    /// The rate limits of users and applications.
    pub limits: Vec<GuardLimit>,
}

/// An entry of `[[guard.limit]]`.
#[derive(Clone, Debug)]
pub struct GuardLimit {
    /// A pattern for users, as `database.user`.
    pub user: Option<NamespacePattern>,
    /// A pattern for applications, as `appName`.
    pub application: Option<NamespacePattern>,
    /// The maximum number of commands per second.
    pub operations_per_second: Option<u64>,
    /// The maximum number of command bytes per second.
    pub bytes_per_second: Option<u64>,
    /// The maximum number of commands that run at the same time.
    pub concurrent: Option<u64>,
}

/// An entry of `[[user]]` in a users file.
#[derive(Clone, Debug)]
pub struct GuardUser {
    /// The user name, or the subject of a certificate.
    pub name: String,
    /// The SCRAM verifier of the password; `None` for a login by certificate.
    pub password: Option<String>,
    /// Patterns for databases, each with whether the user may write.
    pub databases: Vec<(NamespacePattern, bool)>,
}

/// The values of `face`: how the guard appears to clients.
pub const FACES: [&str; 3] = ["router", "lb", "member"];
/// The values of `auth`: how clients log in.
pub const AUTHS: [&str; 3] = ["mirror", "list", "off"];
/// The rights that a user can have on a database.
pub const RIGHTS: [&str; 2] = ["read", "readWrite"];

/// The maximum of all numbers. A larger one is a typing error.
const MAX_VALUE: i64 = 1_000_000_000_000;

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
            // Without its invalid pattern, the limit would apply to all users or applications.
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
                let message = format!("duplicate user `{}`", suggest::excerpt(name.value));
                self.out.error(name.at, message, None);
                continue;
            }
            if databases.is_empty() {
                let hint = "write `databases = { db_shop = \"readWrite\" }`";
                self.out.note(at, "this user has no rights", Some(hint.to_owned()));
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
        if (least..=MAX_VALUE).contains(&number.value) {
            return u64::try_from(number.value).ok();
        }
        let message = format!("`{name}` must be from {least} to {MAX_VALUE}, not {}", number.value);
        self.out.error(number.at, message, None);
        None
    }
}

/// The root table of a users file.
pub(crate) const USERS_ROOT: Section = Section { header: "", keys: &["user"] };
