//! A connection string in the form that rules use: hosts, login, options. `docward-uri` parses it.
//! It contains only the strength of the password, never the password itself.

use crate::{DataValue, Location, password::Strength};

/// Placeholder for a host name or user that source code computes.
pub const HOLE: &str = "{…}";

/// The role of a connection string in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Purpose {
    /// To read the deployment that is audited.
    Source,
    /// A client uses it; rules check it.
    #[default]
    Client,
}

/// A parsed connection string. It holds no password.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClientUri {
    /// The role of the string in this run.
    pub purpose: Purpose,
    /// True for `mongodb+srv://`: the host is a DNS name that resolves to the list of hosts.
    pub srv: bool,
    /// Hosts, with their ports where given.
    pub hosts: Vec<String>,
    /// The user name.
    pub user: Option<String>,
    /// The password.
    pub password: Password,
    /// The database in the path.
    pub database: Option<String>,
    /// The database the login is looked up in.
    pub auth_source: String,
    /// `authMechanism`.
    pub mechanism: Option<String>,
    /// `appName`.
    pub app_name: Option<String>,
    /// True if TLS is used.
    pub tls: bool,
    /// Options that disable TLS checks, as written.
    pub unchecked: Vec<String>,
    /// `replicaSet`.
    pub replica_set: Option<String>,
    /// `readPreference`, as written.
    pub read_preference: Option<String>,
    /// `readPreferenceTags` in order: a read goes to the members matched by the first set that
    /// matches any member. An empty set matches all members.
    pub read_tags: Vec<Vec<(String, String)>>,
    /// Every option, from the string and from code, under its canonical name. Of several with one
    /// name the last one wins, except for `readPreferenceTags`.
    pub options: Vec<ClientOption>,
    /// The position where source code or configuration creates the client; `None` for a standalone
    /// string.
    pub site: Option<ClientSite>,
    /// The driver that uses it, when known.
    pub driver: Option<Driver>,
    /// The declared service it belongs to, when that is not its `appName`.
    pub service: Option<String>,
    /// True if parts of the string are computed and could not be read. Rules then report nothing
    /// about options that seem to be absent.
    pub is_partial: bool,
    /// True if all options of a partial string are known: only its login, its database or option
    /// values are computed.
    pub options_are_known: bool,
    /// True if it was read from a file of connection strings.
    pub is_from_file: bool,
    /// True if the program passes the credentials when it connects, outside the string.
    pub has_credentials_in_code: bool,
    /// Problems that drivers warn about or refuse.
    pub notes: Vec<UriNote>,
    /// The positions of its parts.
    pub places: UriPlaces,
}

/// The positions of the parts of a connection string, as far as they are known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UriPlaces {
    /// Its first character.
    pub start: Option<Location>,
    /// The user.
    pub user: Option<Location>,
    /// The password.
    pub password: Option<Location>,
    /// The hosts, in their order.
    pub hosts: Vec<Location>,
    /// The database.
    pub database: Option<Location>,
    /// The position after its last character.
    pub end: Option<Location>,
}

/// The kind of a mistake in a connection string.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NoteKind {
    /// An option that drivers do not know, or no longer know.
    Unknown,
    /// A value that is invalid for the option; drivers ignore it.
    WrongValue,
    /// An option that is given several times.
    Repeated,
    /// A deprecated option or name.
    Deprecated,
    /// A mistake for which drivers refuse the whole string.
    Refused,
    /// Options that contradict each other.
    Contradiction,
    /// An option without effect.
    NoEffect,
    /// The option needs a read preference that reads from secondaries, and the string sets none.
    NeedsSecondaries,
}

/// A mistake in a connection string.
#[derive(Clone, Debug, PartialEq)]
pub struct UriNote {
    /// The kind of mistake.
    pub kind: NoteKind,
    /// The option that it is about, under its canonical name if there is one.
    pub option: String,
    /// The description of the mistake.
    pub what: String,
    /// The advice on what to write instead.
    pub todo: String,
    /// The changes that `todo` names, in order. Empty if the user has to decide.
    pub fix: Vec<UriChange>,
    /// The position of the mistake.
    pub location: Option<Location>,
}

/// One change of a connection string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UriChange {
    /// Sets the value of an option: at its current position, or at the end. A deprecated name
    /// becomes the canonical one.
    Set {
        /// The canonical name.
        name: String,
        /// The value, without percent codes. Never a secret.
        value: String,
    },
    /// Gives an option its canonical name.
    Rename {
        /// The name as written.
        written: String,
        /// The canonical name.
        name: String,
    },
    /// Removes an option.
    Remove {
        /// The canonical name, or the one that was written when no driver knows it.
        name: String,
    },
    /// Replaces all hosts.
    Hosts(Vec<String>),
    /// Replaces or removes the database in the path.
    Database(Option<String>),
    /// Removes the password, with its colon.
    RemovePassword,
}

impl UriChange {
    /// Gives an option a value.
    pub fn set(name: impl Into<String>, value: impl ToString) -> Self {
        Self::Set { name: name.into(), value: value.to_string() }
    }

    /// Removes an option.
    pub fn remove(name: impl Into<String>) -> Self {
        Self::Remove { name: name.into() }
    }

    /// Returns changes for the figure `change` of a finding: one entry for each kind of change.
    pub fn told(changes: &[Self]) -> DataValue {
        let mut all: Vec<(String, DataValue)> = Vec::new();
        for change in changes {
            let pair = |name: &str, value: &str| {
                DataValue::Map(vec![(name.to_owned(), DataValue::from(value))])
            };
            let (kind, more) = match change {
                Self::Set { name, value } => ("set", pair(name, value)),
                Self::Rename { written, name } => ("rename", pair(written, name)),
                Self::Remove { name } => ("remove", DataValue::from(vec![name.as_str()])),
                Self::Hosts(hosts) => ("hosts", DataValue::from(hosts.clone())),
                Self::Database(name) => ("database", name.as_deref().unwrap_or_default().into()),
                Self::RemovePassword => ("password", "remove".into()),
            };
            match (all.iter_mut().find(|(key, _)| key == kind), more) {
                (Some((_, DataValue::Map(entries))), DataValue::Map(more)) => entries.extend(more),
                (Some((_, DataValue::List(items))), DataValue::List(more)) => items.extend(more),
                (_, more) => all.push((kind.to_owned(), more)),
            }
        }
        DataValue::Map(all)
    }
}

/// An option of a client.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientOption {
    /// Its canonical name: `maxPoolSize`, `tls`.
    pub name: String,
    /// The option as written: `ssl`, `maxpoolsize`, `SetMaxPoolSize`.
    pub written: String,
    /// The value, in milliseconds if the canonical name says so.
    pub value: OptionValue,
    /// The position of the option.
    pub location: Option<Location>,
    /// True if the value may be intentional, because a comment explains it, or may have no effect,
    /// because code applies a connection string after it.
    pub may_be_meant: bool,
    /// True if code sets the option only if a connection string contains it.
    pub is_asked_for: bool,
}

/// The value of an option.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the variants say it")]
pub enum OptionValue {
    Int(i64),
    Bool(bool),
    Text(String),
    /// The value is computed and therefore unknown.
    Unknown,
}

/// The place that creates a client.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientSite {
    /// The call, or the line of a configuration file.
    pub location: Location,
    /// True if all options that code sets could be read.
    pub is_whole: bool,
    /// True if the client connects to this machine unless a setting says otherwise.
    pub is_local_by_default: bool,
}

/// A driver, or a library on top of one, with its own defaults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "names of drivers")]
pub enum Driver {
    Python,
    Java,
    Node,
    Mongoose,
    Go,
    Rust,
    Php,
    CSharp,
    Ruby,
}

impl Driver {
    /// Every driver.
    pub const ALL: [Self; 9] = [
        Self::Python,
        Self::Java,
        Self::Node,
        Self::Mongoose,
        Self::Go,
        Self::Rust,
        Self::Php,
        Self::CSharp,
        Self::Ruby,
    ];

    /// The word used on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Python => "python",
            Self::Java => "java",
            Self::Node => "node",
            Self::Mongoose => "mongoose",
            Self::Go => "go",
            Self::Rust => "rust",
            Self::Php => "php",
            Self::CSharp => "csharp",
            Self::Ruby => "ruby",
        }
    }

    /// Parses the name of a driver.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|driver| driver.name().eq_ignore_ascii_case(word))
    }
}

/// The form of the password in a connection string.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Password {
    /// No password: it is supplied elsewhere, or the client does not log in.
    #[default]
    Absent,
    /// An empty password: no characters between `:` and `@`.
    Empty,
    /// A placeholder that a program or a person replaces: `${PASSWORD}`, `*****`.
    Placeholder,
    /// A placeholder in angle brackets, copied from an example: `<password>`.
    Unfilled,
    /// A password.
    Given(Strength),
}

impl ClientUri {
    /// The database that drivers authenticate against if the string names none.
    pub fn usual_auth_source(&self) -> String {
        let (in_path, otherwise) = match self.mechanism.as_deref() {
            Some("MONGODB-X509" | "MONGODB-AWS" | "MONGODB-OIDC" | "GSSAPI") => (None, "$external"),
            Some("PLAIN") => (self.database.as_deref(), "$external"),
            _ => (self.database.as_deref(), "admin"),
        };
        in_path.unwrap_or(otherwise).to_owned()
    }

    /// An option by its canonical name.
    pub fn option(&self, name: &str) -> Option<&ClientOption> {
        self.options.iter().rfind(|option| option.name == name)
    }

    /// Returns whether a missing option is known to be absent: neither the string nor the code has
    /// unread parts that may set it.
    pub fn shows_all_options(&self) -> bool {
        (!self.is_partial || self.options_are_known)
            && self.site.as_ref().is_none_or(|site| site.is_whole)
    }

    /// Returns whether all hosts are known.
    pub fn shows_all_hosts(&self) -> bool {
        !self.hosts.is_empty() && !self.hosts.iter().any(|host| host.contains(HOLE))
    }

    /// The hosts as one text; reports use it to name the connection string.
    pub fn label(&self) -> String {
        let scheme = if self.srv { "mongodb+srv" } else { "mongodb" };
        format!("{scheme}://{}", self.hosts.join(","))
    }

    /// The key that distinguishes this string from others: the application name, or the hosts.
    pub fn key(&self) -> String {
        self.app_name.clone().unwrap_or_else(|| self.label())
    }

    /// Returns whether a program creates the client and may set options in addition to the string.
    pub fn is_made_in_code(&self) -> bool {
        self.site.is_some() && self.driver.is_some()
    }

    /// Describes the connection string, or the client that code creates, for use in sentences.
    pub fn owner(&self) -> String {
        match (&self.app_name, self.purpose) {
            (None, Purpose::Source) => "the connection string that was audited".to_owned(),
            (None, _) if self.is_made_in_code() && self.hosts.is_empty() => {
                "the client that is made here".to_owned()
            }
            _ if self.is_made_in_code() => format!("the client for `{}`", self.key()),
            _ => format!("the connection string `{}`", self.key()),
        }
    }
}

/// A host in comparable form: lower case, with its port.
pub fn with_port(host: &str) -> String {
    let behind = host.rsplit_once(']').map_or(host, |(_, behind)| behind);
    if host.starts_with('/') || behind.contains(':') {
        host.to_ascii_lowercase()
    } else {
        format!("{}:27017", host.to_ascii_lowercase())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_compared_with_their_ports() {
        for (host, expected) in [
            ("Router1", "router1:27017"),
            ("10.0.0.1:27018", "10.0.0.1:27018"),
            ("[fd00::1]", "[fd00::1]:27017"),
            ("[fd00::1]:27018", "[fd00::1]:27018"),
            ("/tmp/mongodb-27017.sock", "/tmp/mongodb-27017.sock"),
        ] {
            assert_eq!(with_port(host), expected);
        }
    }

    #[test]
    fn absence_is_told_only_of_what_is_seen_whole() {
        assert!(ClientUri::default().shows_all_options());
        let partial = ClientUri { is_partial: true, ..ClientUri::default() };
        assert!(!partial.shows_all_options());
        assert!(ClientUri { options_are_known: true, ..partial }.shows_all_options());
        let unknown = ClientUri { hosts: vec![format!("{HOLE}:27017")], ..ClientUri::default() };
        assert!(!unknown.shows_all_hosts());
    }
}
