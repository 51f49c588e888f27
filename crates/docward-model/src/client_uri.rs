//! A connection string as rules judge it: hosts, login, options. `docward-uri` takes it apart; what must not
//! be seen again, the password, does not survive that: only how strong it is.

use crate::{DataValue, Location, password::Strength};

/// What stands in the name of a host, or for a user, where source code computes it.
pub const HOLE: &str = "{…}";

/// What a connection string was given for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Purpose {
    /// To read the deployment that is audited.
    Source,
    /// To be judged: a client uses it.
    #[default]
    Client,
}

/// What a connection string says. Holds no password.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClientUri {
    /// What it was given for.
    pub purpose: Purpose,
    /// Whether it is `mongodb+srv://`: the host is a name that leads to others.
    pub srv: bool,
    /// Hosts, with their ports where given.
    pub hosts: Vec<String>,
    /// Who logs in.
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
    /// Whether TLS is used.
    pub tls: bool,
    /// Options that switch checks of TLS off, as written.
    pub unchecked: Vec<String>,
    /// `replicaSet`.
    pub replica_set: Option<String>,
    /// `readPreference`, as written.
    pub read_preference: Option<String>,
    /// `readPreferenceTags` in their order: a read goes to the members of the first set that any
    /// member matches. An empty set matches all.
    pub read_tags: Vec<Vec<(String, String)>>,
    /// Every option, from the string and from code, under its canonical name; of several with one name
    /// the last one counts, `readPreferenceTags` apart.
    pub options: Vec<ClientOption>,
    /// Where the client is made in source code or configuration; `None` for a string of its own.
    pub site: Option<ClientSite>,
    /// The driver that uses it, when known.
    pub driver: Option<Driver>,
    /// The declared service it belongs to, when that is not its `appName`.
    pub service: Option<String>,
    /// Whether parts of the string are computed and could not be read: then nothing is said about what
    /// seems to be absent.
    pub is_partial: bool,
    /// Whether all options of a partial string are seen all the same: only its login, its database or
    /// values of options are computed.
    pub options_are_known: bool,
    /// Whether it was read from a file of connection strings.
    pub is_from_file: bool,
    /// Whether the program gives the credentials where it connects, outside of the string.
    pub has_credentials_in_code: bool,
    /// What drivers warn about or refuse.
    pub notes: Vec<UriNote>,
    /// Where its parts stand.
    pub places: UriPlaces,
}

/// Where the parts of a connection string stand, as far as that is known.
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
    /// Behind its last character.
    pub end: Option<Location>,
}

/// What kind of mistake is in a connection string.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NoteKind {
    /// An option that drivers do not know, or know no more.
    Unknown,
    /// A value that the option does not take: drivers ignore it.
    WrongValue,
    /// An option that is given several times.
    Repeated,
    /// An option or a name that should not be used any more.
    Deprecated,
    /// Drivers refuse the whole string.
    Refused,
    /// Options that say different things.
    Contradiction,
    /// An option without effect.
    NoEffect,
}

/// A mistake in a connection string.
#[derive(Clone, Debug, PartialEq)]
pub struct UriNote {
    /// What kind of mistake.
    pub kind: NoteKind,
    /// The option it is about, under its canonical name where there is one.
    pub option: String,
    /// The mistake in words.
    pub what: String,
    /// What to write instead.
    pub todo: String,
    /// The changes that `todo` names, in their order. Empty where people have to decide.
    pub fix: Vec<UriChange>,
    /// Where it stands.
    pub location: Option<Location>,
}

/// One change of a connection string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UriChange {
    /// Gives an option a value: in the place of the one it has, or at the end. A name it once had becomes
    /// the canonical one.
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
    /// Puts other hosts in the place of all that are there.
    Hosts(Vec<String>),
    /// Puts another database in the path, or removes it.
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

    /// Changes as the figure `change` of a finding: an entry for each kind of change.
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
    /// As it was written: `ssl`, `maxpoolsize`, `SetMaxPoolSize`.
    pub written: String,
    /// Its value; milliseconds where the canonical name says so.
    pub value: OptionValue,
    /// Where it stands.
    pub location: Option<Location>,
    /// Whether its value may be meant, or not count at all: a comment explains it, or code applies a connection string
    /// behind it.
    pub may_be_meant: bool,
    /// Whether code sets it only where a connection string asks for it.
    pub is_asked_for: bool,
}

/// The value of an option.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the variants say it")]
pub enum OptionValue {
    Int(i64),
    Bool(bool),
    Text(String),
    /// Computed: it is there, and no more is known.
    Unknown,
}

/// Where a client is made.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientSite {
    /// The call, or the line of a configuration file.
    pub location: Location,
    /// Whether all options that code gives could be read.
    pub is_whole: bool,
    /// Whether it leads to this machine where no setting says otherwise.
    pub is_local_by_default: bool,
}

/// A driver, or a library on top of one, with defaults of its own.
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

    /// The driver a word stands for.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|driver| driver.name().eq_ignore_ascii_case(word))
    }
}

/// What stands in the place of a password.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Password {
    /// Nothing: it is given elsewhere, or nobody logs in.
    #[default]
    Absent,
    /// Nothing between `:` and `@`: a login without a password.
    Empty,
    /// Something that a program or a person replaces: `${PASSWORD}`, `*****`.
    Placeholder,
    /// A word in angle brackets that was copied from an example: `<password>`.
    Unfilled,
    /// A password.
    Given(Strength),
}

impl ClientUri {
    /// Where drivers look a login up when nothing says.
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

    /// Whether an option that is not there can be said to be absent: neither the string nor code has
    /// parts in which it may stand.
    pub fn shows_all_options(&self) -> bool {
        (!self.is_partial || self.options_are_known)
            && self.site.as_ref().is_none_or(|site| site.is_whole)
    }

    /// Whether all hosts are known.
    pub fn shows_all_hosts(&self) -> bool {
        !self.hosts.is_empty() && !self.hosts.iter().any(|host| host.contains(HOLE))
    }

    /// The hosts as one text: what a report calls the connection string by.
    pub fn label(&self) -> String {
        let scheme = if self.srv { "mongodb+srv" } else { "mongodb" };
        format!("{scheme}://{}", self.hosts.join(","))
    }

    /// What tells it from other strings: the application's name, or the hosts.
    pub fn key(&self) -> String {
        self.app_name.clone().unwrap_or_else(|| self.label())
    }

    /// Whether a program makes the client: what it sets stands beside the string.
    pub fn is_made_in_code(&self) -> bool {
        self.site.is_some() && self.driver.is_some()
    }

    /// The string in words, or the client that code makes: whose it is.
    pub fn owner(&self) -> String {
        match (&self.app_name, self.purpose) {
            (None, Purpose::Source) => "the connection string that was audited".to_owned(),
            (None, _) if self.is_made_in_code() && self.hosts.is_empty() => {
                "the client that is made here".to_owned()
            }
            _ if self.is_made_in_code() => format!("the client of `{}`", self.key()),
            _ => format!("the connection string of `{}`", self.key()),
        }
    }
}

/// A host in the form in which two of them can be compared: lower case, with its port.
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
