//! A connection string as rules judge it: hosts, login, TLS. It is taken apart once, and what must not
//! be seen again, the password, does not survive that: only how strong it is.

use std::fmt;

use crate::{Location, password::Strength};

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

/// What stands in the place of a password.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Password {
    /// Nothing: it is given elsewhere, or nobody logs in.
    #[default]
    Absent,
    /// Nothing between `:` and `@`: a login without a password.
    Empty,
    /// Something that is filled in later: `<password>`, `${PASSWORD}`, `*****`.
    Placeholder,
    /// A password.
    Given(Strength),
}

/// Why a text is no connection string. None of the messages repeats a part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UriFault {
    /// Neither `mongodb://` nor `mongodb+srv://`.
    Scheme,
    /// No host.
    NoHost,
    /// A port that is no number.
    Port,
    /// A `/`, `?` or `#` before the `@` cuts the login in two.
    Unescaped,
}

impl fmt::Display for UriFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Scheme => "expected mongodb:// or mongodb+srv://",
            Self::NoHost => "the connection string names no host",
            Self::Port => {
                "what stands behind a host's `:` is no port; if it is a login, its `@host` is missing; \
                 nothing of it was judged"
            }
            Self::Unescaped => {
                "the user or password holds a character that must be written as a percent code (`/` \
                 as %2F, `?` as %3F, `#` as %23, `@` as %40); nothing of it was judged"
            }
        })
    }
}

impl ClientUri {
    /// Takes a connection string apart.
    pub fn parse(text: &str, purpose: Purpose) -> Result<Self, UriFault> {
        let text = text.trim();
        let (srv, rest) = if let Some(rest) = text.strip_prefix("mongodb://") {
            (false, rest)
        } else {
            (true, text.strip_prefix("mongodb+srv://").ok_or(UriFault::Scheme)?)
        };
        // Taking such a text apart would make a host or a database of a piece of the password. What
        // stands for a password that is filled in later may hold anything else (`[pwd]`, `%s`).
        if user_part(text).is_some_and(|login| login.contains(['@', '/', '?', '#'])) {
            return Err(UriFault::Unescaped);
        }
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, tail) = rest.split_at(end);
        let path = tail.split('?').next().unwrap_or_default();
        let (login, hosts) = match authority.rsplit_once('@') {
            Some((login, hosts)) => (Some(login), hosts),
            None => (None, authority),
        };
        let hosts: Vec<String> =
            hosts.split(',').map(|h| decoded(h.trim())).filter(|h| !h.is_empty()).collect();
        if hosts.is_empty() {
            return Err(UriFault::NoHost);
        }
        if !hosts.iter().all(|host| has_good_port(host)) {
            return Err(UriFault::Port);
        }
        let database = Some(decoded(path.trim_start_matches('/'))).filter(|name| !name.is_empty());
        let mut uri = Self {
            purpose,
            srv,
            hosts,
            database,
            // Names that lead to others are used with TLS unless the string says otherwise.
            tls: srv,
            ..Self::default()
        };
        if let Some((_, options)) = tail.split_once('?') {
            options.split(['&', ';']).for_each(|option| uri.set(option));
        }
        if uri.auth_source.is_empty() {
            uri.auth_source = uri.usual_auth_source();
        }
        if let Some(login) = login {
            let (user, password) = match login.split_once(':') {
                Some((user, password)) => (user, Some(password)),
                None => (login, None),
            };
            uri.user = Some(decoded(user)).filter(|name| !name.is_empty());
            uri.password = password.map_or(Password::Absent, |raw| uri.judged(raw));
        }
        Ok(uri)
    }

    fn set(&mut self, option: &str) {
        let (key, value) = option.split_once('=').unwrap_or((option, ""));
        let yes = value.eq_ignore_ascii_case("true");
        match key.to_ascii_lowercase().as_str() {
            "tls" | "ssl" => self.tls = yes,
            "authsource" => self.auth_source = decoded(value),
            "authmechanism" => self.mechanism = Some(value.to_ascii_uppercase()),
            "appname" => self.app_name = Some(decoded(value)),
            "replicaset" => self.replica_set = Some(decoded(value)).filter(|name| !name.is_empty()),
            "readpreference" => self.read_preference = Some(decoded(value)),
            "readpreferencetags" => self.read_tags.push(tag_set(value)),
            "tlsinsecure"
            | "tlsallowinvalidcertificates"
            | "tlsallowinvalidhostnames"
            | "sslallowinvalidcertificates"
            | "sslallowinvalidhostnames"
                if yes =>
            {
                self.unchecked.push(key.to_owned());
            }
            _ => {}
        }
    }

    /// Where drivers look a login up when the string does not say.
    fn usual_auth_source(&self) -> String {
        let (in_path, otherwise) = match self.mechanism.as_deref() {
            Some("MONGODB-X509" | "MONGODB-AWS" | "MONGODB-OIDC" | "GSSAPI") => (None, "$external"),
            Some("PLAIN") => (self.database.as_deref(), "$external"),
            _ => (self.database.as_deref(), "admin"),
        };
        in_path.unwrap_or(otherwise).to_owned()
    }

    /// What is to be known of a password. Secrets of other logins (keys, tokens) are no passwords that
    /// people choose.
    fn judged(&self, raw: &str) -> Password {
        let decoded = decoded(raw);
        let chosen = !matches!(
            self.mechanism.as_deref(),
            Some("MONGODB-AWS" | "MONGODB-X509" | "MONGODB-OIDC")
        );
        if !chosen {
            Password::Absent
        } else if raw.is_empty() {
            Password::Empty
        } else if is_placeholder(raw) || is_placeholder(&decoded) {
            Password::Placeholder
        } else {
            Password::Given(Strength::of(&decoded))
        }
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

    /// The string in words: whose it is.
    pub fn owner(&self) -> String {
        match (&self.app_name, self.purpose) {
            (None, Purpose::Source) => "the connection string that was audited".to_owned(),
            _ => format!("the connection string of `{}`", self.key()),
        }
    }
}

/// `dc:ny,rack:1` as pairs; what is no pair means nothing to a driver either.
fn tag_set(text: &str) -> Vec<(String, String)> {
    let pairs = text.split(',').map(decoded);
    pairs.filter_map(|p| p.split_once(':').map(|(k, v)| (k.to_owned(), v.to_owned()))).collect()
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

/// The part before the host, as far as it can be told: user and password.
pub fn user_part(uri: &str) -> Option<&str> {
    let rest = uri.split_once("://").map_or(uri, |(_, rest)| rest);
    let before_options = rest.split('?').next().unwrap_or(rest);
    match before_options.rsplit_once('@') {
        Some((user, _)) => Some(user),
        // A question mark inside of the password; an option has a name and a value.
        None => {
            let (user, _) = rest.rsplit_once('@')?;
            let after = user.split_once('?')?.1;
            let is_option = after.contains('=') && are_hosts(before_options);
            (!is_option).then_some(user)
        }
    }
}

/// Whether text before the options has ports where ports belong.
fn are_hosts(text: &str) -> bool {
    text.split('/').next().unwrap_or(text).split(',').all(|host| match host.rsplit_once(':') {
        Some((_, port)) => host.ends_with(']') || port.bytes().all(|b| b.is_ascii_digit()),
        None => true,
    })
}

/// Whether user or password hold characters that have to be escaped. Whatever is then said about
/// such a connection string may quote the password as a host or a port.
pub fn is_unescaped(uri: &str) -> bool {
    user_part(uri).is_some_and(|user| {
        user.matches(':').count() > 1
            || user.contains(['@', '/', '?', '#', '[', ']', ' '])
            || user.split('%').skip(1).any(|rest| {
                !rest.get(..2).is_some_and(|code| code.bytes().all(|b| b.is_ascii_hexdigit()))
            })
    })
}

/// Whether a host has a port that is a number, or none. A path is a socket of the file system.
fn has_good_port(host: &str) -> bool {
    let behind = host.rsplit_once(']').map_or(host, |(_, behind)| behind);
    host.starts_with('/')
        || behind.split_once(':').is_none_or(|(_, port)| port.parse::<u16>().is_ok())
}

/// Whether something is filled in here later.
fn is_placeholder(text: &str) -> bool {
    let between = |open: &str, close: &str| {
        text.len() > open.len() + close.len() - 1 && text.starts_with(open) && text.ends_with(close)
    };
    let variable = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_uppercase() || c == '_')
            && name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
    };
    let blanked = |c: char| text.chars().count() >= 3 && text.chars().all(|other| other == c);
    ["*", "x", "X", ".", "…", "•", "#", "?"].iter().any(|c| c.chars().all(blanked))
        || [("<", ">"), ("{", "}"), ("[", "]"), ("${", "}"), ("$(", ")"), ("#{", "}"), ("%(", ")s")]
            .iter()
            .any(|(open, close)| between(open, close))
        || (between("%", "%") && variable(text.trim_matches('%')))
        || text.strip_prefix('$').is_some_and(variable)
        || matches!(text, "%s" | "%v" | "{}" | "…" | "...")
        || text.eq_ignore_ascii_case("redacted")
}

/// Percent codes resolved; what is none stays as it is.
fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let code = (bytes[at] == b'%')
            .then(|| bytes.get(at + 1..at + 3))
            .flatten()
            .and_then(|hex| std::str::from_utf8(hex).ok())
            .filter(|hex| hex.bytes().all(|b| b.is_ascii_hexdigit()))
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match code {
            Some(byte) => {
                out.push(byte);
                at += 3;
            }
            None => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uri(text: &str) -> ClientUri {
        ClientUri::parse(text, Purpose::Client).unwrap()
    }

    #[test]
    fn the_parts_are_found() {
        let parsed = uri(
            "mongodb://ap%70:Abcdef1!xyzw@10.0.0.1:27017,[fd00::1]:27018/db_shop?tls=TRUE&appName=a%20b",
        );
        assert_eq!(parsed.hosts, ["10.0.0.1:27017", "[fd00::1]:27018"]);
        assert_eq!(parsed.user.as_deref(), Some("app"));
        assert_eq!(
            (parsed.database.as_deref(), parsed.auth_source.as_str()),
            (Some("db_shop"), "db_shop")
        );
        assert_eq!((parsed.tls, parsed.app_name.as_deref()), (true, Some("a b")));
        assert!(matches!(parsed.password, Password::Given(_)));
        let plain = uri("mongodb://h");
        assert_eq!((plain.tls, plain.user, plain.password), (false, None, Password::Absent));
        assert_eq!(plain.auth_source, "admin");
        assert!(uri("mongodb+srv://cluster.example.net").tls);
        assert!(!uri("mongodb+srv://cluster.example.net/?ssl=false").tls);
        assert_eq!(uri("mongodb://h/?tls=true&tlsInsecure=true").unchecked, ["tlsInsecure"]);
        assert_eq!(uri("mongodb://h/?authSource=admin").auth_source, "admin");
    }

    #[test]
    fn se_8_se_9_logins_kept_elsewhere_are_looked_up_in_external() {
        let source = |rest: &str| uri(&format!("mongodb://u@h/{rest}")).auth_source;
        for mechanism in ["MONGODB-X509", "MONGODB-AWS", "MONGODB-OIDC", "GSSAPI", "gssapi"] {
            assert_eq!(source(&format!("?authMechanism={mechanism}")), "$external", "{mechanism}");
            assert_eq!(
                source(&format!("db?authMechanism={mechanism}")),
                "$external",
                "{mechanism}"
            );
        }
        assert_eq!(source("?authMechanism=PLAIN"), "$external");
        assert_eq!(source("db?authMechanism=PLAIN"), "db", "as drivers do");
        assert_eq!(source("db?authMechanism=SCRAM-SHA-256"), "db");
        assert_eq!(source("?authSource=x&authMechanism=GSSAPI"), "x", "what is said counts");
    }

    #[test]
    fn rp_6_tag_sets_keep_their_order() {
        let parsed = uri(
            "mongodb://h/?replicaSet=rs0&readPreference=secondary&readPreferenceTags=dc:ny,rack:1&readPreferenceTags=dc%3Ala&readPreferenceTags=",
        );
        assert_eq!(parsed.replica_set.as_deref(), Some("rs0"));
        assert_eq!(parsed.read_preference.as_deref(), Some("secondary"));
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        assert_eq!(
            parsed.read_tags,
            [vec![pair("dc", "ny"), pair("rack", "1")], vec![pair("dc", "la")], Vec::new()]
        );
    }

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
    fn nothing_of_a_password_becomes_something_else() {
        for text in [
            "mongodb://app:pa/ss@host/db",
            "mongodb://app:pa?ss@host/db",
            "mongodb://app:pa#ss@host/db",
            "mongodb://app:p@a/ss@host/db",
        ] {
            let fault = ClientUri::parse(text, Purpose::Client);
            assert_eq!(fault, Err(UriFault::Unescaped), "{text}");
        }
        let parsed = uri("mongodb://app:S3cret!Horse-Battery@host");
        assert!(!format!("{parsed:?}{}", parsed.label()).contains("S3cret"));
        assert_eq!(ClientUri::parse("mongodb://", Purpose::Client), Err(UriFault::NoHost));
        for cut in ["mongodb://app:secret", "mongodb://app:secret,host", "mongodb://h:70000"] {
            assert_eq!(ClientUri::parse(cut, Purpose::Client), Err(UriFault::Port), "{cut}");
        }
        assert_eq!(uri("mongodb://%2Ftmp%2Fmongodb-27017.sock").hosts, ["/tmp/mongodb-27017.sock"]);
        assert_eq!(ClientUri::parse("postgres://h", Purpose::Client), Err(UriFault::Scheme));
    }

    #[test]
    fn sc_7_se_6_placeholders_are_no_passwords() {
        for text in [
            "<password>",
            "%3Cdb_password%3E",
            "${PASSWORD}",
            "$(cat secret)",
            "$MONGO_PWD",
            "*****",
            "xxxxx",
            "{{ password }}",
            "{password}",
            "%s",
            "%PASSWORD%",
            "[pwd]",
            "REDACTED",
        ] {
            let parsed = uri(&format!("mongodb://app:{text}@host"));
            assert_eq!(parsed.password, Password::Placeholder, "{text}");
        }
        for text in ["password", "$ecret", "xx", "a*****"] {
            let parsed = uri(&format!("mongodb://app:{text}@host"));
            assert!(matches!(parsed.password, Password::Given(_)), "{text}");
        }
        assert_eq!(uri("mongodb://app:@host").password, Password::Empty);
        assert_eq!(uri("mongodb://app@host").password, Password::Absent);
        let keys = uri("mongodb://key:secret@host/?authMechanism=MONGODB-AWS");
        assert_eq!(keys.password, Password::Absent);
    }

    #[test]
    fn what_has_to_be_escaped_is_noticed() {
        for uri in [
            "mongodb://ann:p@ss@host/",
            "mongodb://ann:p/ss@host/?tls=true",
            "mongodb://ann:p?ss@host",
            "mongodb://ann:p?s=s@host",
            "mongodb://ann:p:ss@host",
            "mongodb://ann:100%@host",
        ] {
            assert!(is_unescaped(uri), "{uri}");
        }
        for uri in [
            "mongodb://host:27017/?appName=a@b",
            "mongodb://ann:p%40ss@host/",
            "mongodb://ann@host/",
            "mongodb://host",
        ] {
            assert!(!is_unescaped(uri), "{uri}");
        }
    }
}
