//! Detects malformed connection strings. No message repeats more of the text than its scheme, or a
//! host with its port: the rest may be a password.

use crate::secret::{is_userinfo, port_follows};

/// The mistake in a malformed connection string.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Lookalike {
    /// Quotes around it.
    #[error("the connection string has quotes around it; remove them")]
    Quoted,
    /// Spaces around it.
    #[error("the connection string has blanks before or after it; remove them")]
    Blank,
    /// A scheme in upper case, or misspelled.
    #[error("the scheme is `{written}`; write `{meant}`")]
    Scheme {
        /// The scheme as written.
        written: String,
        /// The scheme that was meant.
        meant: &'static str,
    },
    /// A scheme of another protocol.
    #[error("the scheme is `{0}`; connection strings begin with `mongodb://` or `mongodb+srv://`")]
    Foreign(String),
    /// A slash is missing.
    #[error("slashes are missing in the scheme; write `{0}`")]
    Slashes(&'static str),
    /// A variable name before it.
    #[error("remove `{0}=` before the connection string")]
    Assignment(String),
    /// A login without a scheme.
    #[error(
        "this looks like a login without a scheme; write mongodb://USER:PASSWORD@HOST:PORT/DATABASE"
    )]
    NoScheme,
    /// A host, usually with its port.
    #[error("`{0}` is no file and has no scheme; to name a server, write mongodb://{0}")]
    Host(String),
}

const PLAIN: &str = "mongodb://";
const SRV: &str = "mongodb+srv://";

/// Returns whether a text begins like a connection string.
fn is_connection_string(text: &str) -> bool {
    text.starts_with(PLAIN) || text.starts_with(SRV)
}

/// The mistake in a text that resembles a connection string but is not one; `None` for valid
/// connection strings, and for texts that are probably file names.
pub fn lookalike(text: &str) -> Option<Lookalike> {
    if is_connection_string(text) {
        return None;
    }
    let bare = text.trim();
    let quotes = ['"', '\'', '`', '<', '>', '“', '”', '‘', '’'];
    let unquoted = bare.trim_matches(quotes).trim();
    if is_connection_string(bare) {
        return Some(Lookalike::Blank);
    }
    if unquoted != bare && (is_connection_string(unquoted) || lookalike(unquoted).is_some()) {
        return Some(Lookalike::Quoted);
    }
    let meant = |scheme: &str| {
        if scheme.to_ascii_lowercase().contains("srv") { SRV } else { PLAIN }
    };
    if let Some((name, value)) = bare.split_once('=') {
        let is_name = !name.is_empty()
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            && !name.starts_with(|c: char| c.is_ascii_digit());
        if is_name && is_connection_string(value.trim_matches(quotes)) {
            return Some(Lookalike::Assignment(name.to_owned()));
        }
    }
    if let Some((scheme, _)) = bare.split_once("://") {
        let is_scheme = (1..=20).contains(&scheme.len())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+.-_".contains(c));
        return Some(match scheme {
            _ if !is_scheme => Lookalike::NoScheme,
            _ if is_near(scheme) => {
                Lookalike::Scheme { written: format!("{scheme}://"), meant: meant(scheme) }
            }
            _ => Lookalike::Foreign(format!("{scheme}://")),
        });
    }
    // `mongodb:/…`, `mongodb//…`: the scheme is there, but its separator is incomplete.
    let end = bare.find([':', '/']).unwrap_or(bare.len());
    let (scheme, rest) = bare.split_at(end);
    let is_cut = rest.starts_with(":/") || rest.starts_with("//") || is_userinfo(rest);
    if is_near(scheme) && is_cut && !port_follows(rest) {
        return Some(Lookalike::Slashes(meant(scheme)));
    }
    if is_userinfo(bare) {
        return Some(Lookalike::NoScheme);
    }
    let is_this_machine = bare == "localhost" || bare.parse::<std::net::Ipv4Addr>().is_ok();
    (is_this_machine || are_hosts_with_ports(bare)).then(|| Lookalike::Host(bare.to_owned()))
}

/// Returns whether a scheme is `mongodb` or `mongodb+srv`, possibly misspelled.
fn is_near(scheme: &str) -> bool {
    let lower = scheme.to_ascii_lowercase();
    ["mongodb", "mongodb+srv", "mongo", "mongosrv", "mongo+srv"]
        .iter()
        .any(|known| strsim::damerau_levenshtein(&lower, known) <= known.len() / 5)
}

/// Returns whether a text is `host:port` or `host:port/database`, with several hosts separated by
/// commas.
fn are_hosts_with_ports(text: &str) -> bool {
    let (hosts, database) = text.split_once('/').unwrap_or((text, ""));
    let is_database = !database.contains(['/', '\\', ':', ' ']);
    is_database
        && hosts.split(',').all(|host| {
            let Some((name, port)) = host.rsplit_once(':') else { return false };
            let name = name.strip_prefix('[').and_then(|n| n.strip_suffix(']')).unwrap_or(name);
            let is_ipv6 = name.parse::<std::net::Ipv6Addr>().is_ok();
            let is_name = !name.is_empty()
                && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_'));
            (is_ipv6 || is_name)
                && !port.is_empty()
                && port.bytes().all(|byte| byte.is_ascii_digit())
                && port.parse::<u16>().is_ok_and(|port| port > 0)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_is_named_and_nothing_secret_repeated() {
        for (text, expected) in [
            (
                "MONGODB_URI=mongodb://u:S3cret@h",
                "remove `MONGODB_URI=` before the connection string",
            ),
            ("mongo://u:S3cret@h", "the scheme is `mongo://`; write `mongodb://`"),
            ("MONGODB://u:S3cret@h", "the scheme is `MONGODB://`; write `mongodb://`"),
            ("mongdb+srv://u:S3cret@h", "the scheme is `mongdb+srv://`; write `mongodb+srv://`"),
            ("https://u:S3cret@h", "the scheme is `https://`; connection strings begin"),
            ("'mongodb://u:S3cret@h'", "has quotes around it"),
            ("\"mongo://u:S3cret@h\"", "has quotes around it"),
            (" mongodb://u:S3cret@h", "has blanks"),
            ("mongodb:/u:S3cret@h", "slashes are missing in the scheme; write `mongodb://`"),
            ("mongodb:u:S3cret@h", "slashes are missing in the scheme; write `mongodb://`"),
            ("mongodb//u:S3cret@h", "slashes are missing in the scheme; write `mongodb://`"),
            ("u:S3cret@h:27017", "a login without a scheme"),
            ("S3cret@/://h", "a login without a scheme"),
            ("localhost:27017", "write mongodb://localhost:27017"),
            ("db1:27017,db2:27018", "write mongodb://db1:27017,db2:27018"),
            ("mongodb:27017", "write mongodb://mongodb:27017"),
            ("db1.acme.io:27017/shop", "write mongodb://db1.acme.io:27017/shop"),
            ("[::1]:27017", "write mongodb://[::1]:27017"),
        ] {
            let told = lookalike(text).map(|fault| fault.to_string()).unwrap_or_default();
            assert!(told.contains(expected), "{text}: {told}");
            assert!(!told.contains("S3cret"), "{text}: {told}");
        }
    }

    #[test]
    fn connection_strings_and_names_of_files_are_neither() {
        for text in [
            "mongodb://u:p@h",
            "mongodb+srv://h",
            "dump",
            "dump/shop/orders.bson",
            "./a.json",
            "C:\\dump",
            "mongodb",
            "mongodb/dump",
            "mongo.log",
            "orders@2024.json",
            "a:b",
            "-",
            "",
            "localhost:99999",
        ] {
            assert_eq!(lookalike(text), None, "{text}");
        }
    }
}
