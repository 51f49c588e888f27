//! The problems that can occur with a running deployment. Each message states which facts are still
//! known and the next step. No message contains a password.

use std::time::Duration;

/// A situation in which a server did not return the requested data.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LiveTrouble {
    #[error(
        "the connection string is invalid: {0}; see \
         https://www.mongodb.com/docs/manual/reference/connection-string/"
    )]
    BadUri(String),
    #[error(
        "the connection string is invalid: the user or password contains characters that must be \
         escaped: `@` as %40, `:` as %3A, `/` as %2F, `?` as %3F, `#` as %23, `%` as %25"
    )]
    Unescaped,
    #[error(
        "tlsAllowInvalidHostnames is not supported: Docward always checks the host name in the \
         certificate; remove the option, and connect with a name that the certificate contains"
    )]
    NamesChecked,
    #[error("cannot find the host: {}; check its name and the DNS server", dns_words(_0))]
    UnknownHost(String),
    #[error(
        "cannot set up TLS: {0}; check tlsCAFile and tlsCertificateKeyFile, and \
         tlsCertificateKeyFilePassword if the key has a password"
    )]
    Tls(String),
    #[error("no server answered within {patience:?}: {}; {}", plain(why), way_out(why, *certified))]
    Unreachable {
        patience: Duration,
        why: String,
        /// True if the client presented a certificate.
        certified: bool,
    },
    #[error("the login was refused{}: {why}; {}", as_user(user), of_login(database))]
    Login {
        user: Option<String>,
        /// The database where the server looked for the user.
        database: Option<String>,
        why: String,
    },
    #[error("the login by certificate was refused: {why}; {}", of_certificate(*certified))]
    Certificate {
        why: String,
        /// True if the client presented a certificate.
        certified: bool,
    },
    #[error(
        "the server requires a login, but the connection string has none; nothing was read; write \
         mongodb://USER:PASSWORD@HOST/?authSource=admin"
    )]
    NoLogin,
    #[error(
        "the server requires a login, but has no users yet; nothing was read; create the first \
         user on its machine: db.getSiblingDB(\"admin\").createUser({{user: \
         \"admin\", pwd: passwordPrompt(), roles: [\"root\"]}})"
    )]
    NoUsers,
    #[error(
        "the server is a member of the replica set {found}, but the connection string names \
         {wanted}; write replicaSet={found}"
    )]
    OtherSet { wanted: String, found: String },
    #[error(
        "the server is not a member of a replica set, but the connection string names {wanted}; \
         remove replicaSet"
    )]
    NoSet { wanted: String },
    #[error(
        "cannot reach the member {member} of the replica set{}; its profiler and running \
         operations were not read, those of the other members were; run again when it is back",
        because(why)
    )]
    MemberDown { member: String, why: Option<String> },
    #[error(
        "cannot reach the arbiter {member} of the replica set; it has no data, so the report is \
         complete, but elections lack its vote: restart it"
    )]
    ArbiterDown { member: String },
    #[error(
        "the server is an arbiter of a replica set and has no documents, so nothing was read; \
         connect to a data-bearing member{}",
        such_as(others)
    )]
    Arbiter { others: Vec<String> },
    #[error(
        "the member {member} of the replica set became unreachable during the run; documents were \
         read from other members; run again when it is back"
    )]
    MemberLost { member: String },
    #[error(
        "the replica set has no primary, so it accepts no writes{}; the other members were read; \
         restore a majority of voting members, and run again",
        of_members(down)
    )]
    NoPrimary { down: Vec<String> },
    #[error("{what} failed: {why}; {rest}")]
    Failed { what: String, why: String, rest: &'static str },
    #[error(
        "reading stopped after {documents} documents: {why}; what was read before is in the \
         report; run again when the server is back"
    )]
    Cut { documents: u64, why: String },
    #[error(
        "reading stopped after {documents} documents: new documents replaced those of the capped \
         collection faster than Docward read them; what was read before is in the report; read it \
         without --max-rate, or read a sample with --sample"
    )]
    Overtaken { documents: u64 },
    #[error(
        "was dropped during the run; {documents} of its documents are in the report; exclude it \
         with --collection if it is temporary"
    )]
    Dropped { documents: u64 },
    #[error(
        "was renamed to {name} during the run; {documents} of its documents are in the report; run \
         again to read it under its new name"
    )]
    Renamed { documents: u64, name: String },
    #[error(
        "the server has not answered for {seconds} s, after {documents} documents; what was read \
         before is in the report; run again when it answers"
    )]
    Silent { documents: u64, seconds: u64 },
    #[error(
        "the server no longer answers; {collections} were not read; what was read before is in the \
         report; run again when it answers"
    )]
    Lost { collections: String },
    #[error(
        "the server did not answer several requests in a row, so Docward skipped {questions} \
         more; sizes, indexes or their use are unknown for some collections; find the cause with \
         db.currentOp(), and run again"
    )]
    NotAsked { questions: usize },
    #[error("no database matches `{wanted}`; {}", near_or_all(wanted, known))]
    NoDatabase { wanted: String, known: Vec<String> },
    #[error("not allowed: {actions} on {resource}; {effect}{}", by_role(role))]
    Forbidden { actions: String, resource: String, effect: &'static str, role: Option<String> },
}

/// The maximum number of database names in a message.
const LISTED: usize = 8;

/// The database that was probably meant, or else the list of databases.
fn near_or_all(wanted: &str, known: &[String]) -> String {
    // Database names that differ only in case are the same mistake as a typo.
    let distance =
        |name: &&String| strsim::damerau_levenshtein(&wanted.to_lowercase(), &name.to_lowercase());
    let nearest = known.iter().min_by_key(distance);
    match nearest.filter(|name| distance(name) <= (wanted.chars().count() / 3).max(1)) {
        Some(name) => format!("did you mean `{name}`?"),
        None if known.is_empty() => "the deployment has none that this user can read".to_owned(),
        None => {
            let listed = known.iter().take(LISTED).map(|name| format!("`{name}`"));
            let listed = listed.collect::<Vec<_>>().join(", ");
            let more = if known.len() > LISTED { ", …" } else { "" };
            format!("the deployment has {listed}{more}")
        }
    }
}

/// The error of a handshake when a server rejects the client's certificate: it closes the
/// connection without a message.
const HUNG_UP: &str = "peer closed connection without sending TLS close_notify";

/// Names of certificate errors in the TLS library, and what to print for each.
const CERTIFICATES: [(&str, &str); 5] = [
    ("UnknownIssuer", "an unknown authority signed its certificate"),
    ("NotValidForName", "its certificate is for another name"),
    ("Expired", "its certificate has expired"),
    ("NotValidYet", "its certificate is not valid yet"),
    ("CaUsedAsEndEntity", "its certificate is a CA certificate"),
];

/// The driver's message without links and without type names of the TLS library.
fn plain(why: &str) -> String {
    if let Some(at) = why.find(HUNG_UP) {
        return format!("{}the server ended the TLS handshake", &why[..at]);
    }
    let said = why.split_once("invalid peer certificate: ").and_then(|(before, certificate)| {
        let (_, words) = CERTIFICATES.iter().find(|(name, _)| certificate.contains(name))?;
        Some(format!("{before}{words}"))
    });
    said.unwrap_or_else(|| why.to_owned())
}

/// Rewrites a DNS error without the type names of the library.
pub fn dns_words(why: &str) -> String {
    let name = why.split_once("no records found for Query { name: Name(\"");
    match name.and_then(|(_, rest)| rest.split_once('"')) {
        Some((name, _)) => {
            format!("DNS has no SRV record `{}`", name.trim_end_matches('.'))
        }
        None => why.to_owned(),
    }
}

/// The advice for a server that cannot be reached.
fn way_out(why: &str, certified: bool) -> &'static str {
    let says = |words: &[&str]| words.iter().any(|word| why.contains(word));
    if says(&["UnknownIssuer"]) {
        "name the CA file with tlsCAFile"
    } else if says(&["NotValidForName"]) {
        "connect with a name that it contains, or add this name to it"
    } else if says(&["CaUsedAsEndEntity"]) {
        "let this CA sign a certificate for the server (basicConstraints CA:FALSE), and give the \
         CA certificate to clients with tlsCAFile"
    } else if says(&["peer certificate: Expired", "certificate expired"]) {
        "renew it"
    } else if says(&[HUNG_UP, "fatal alert"]) && certified {
        "the client certificate may have expired, or another CA signed it: check \
         tlsCertificateKeyFile, and see the server's log"
    } else if says(&[HUNG_UP, "fatal alert"]) {
        "it may require a client certificate: name one with tlsCertificateKeyFile, and see the \
         server's log"
    } else if says(&["InvalidContentType", "corrupt message"]) {
        "it does not use TLS: remove tls=true, or use its TLS port"
    } else {
        "check host, port, firewall and TLS, and add directConnection=true if only this server is \
         reachable"
    }
}

fn of_certificate(certified: bool) -> &'static str {
    if certified {
        "the database $external must have a user with the subject of the certificate as its name: \
         see the server's log for the subject, and create the user with \
         db.getSiblingDB(\"$external\").createUser({user: SUBJECT, roles: […]})"
    } else {
        "name the certificate with tlsCertificateKeyFile"
    }
}

fn of_members(down: &[String]) -> String {
    if down.is_empty() {
        String::new()
    } else {
        format!(" ({} cannot be reached)", down.join(", "))
    }
}

fn such_as(members: &[String]) -> String {
    members.first().map(|member| format!(", such as {member}")).unwrap_or_default()
}

fn by_role(role: &Option<String>) -> String {
    let words = |role: &String| {
        format!(
            "; this role has the missing privileges (if it exists already, add them with \
             grantPrivilegesToRole): {role}"
        )
    };
    role.as_ref().map(words).unwrap_or_default()
}

fn as_user(user: &Option<String>) -> String {
    user.as_ref().map(|user| format!(" for user {user}")).unwrap_or_default()
}

/// The next step after a refused login. `database` is where the server searched for the user.
fn of_login(database: &Option<String>) -> String {
    match database.as_deref() {
        None | Some("admin") => "check user, password and authSource".to_owned(),
        Some(database) => format!(
            "the server searched the database {database} for the user; check user and password, or \
             add authSource=admin if the user was created there"
        ),
    }
}

fn because(why: &Option<String>) -> String {
    why.as_ref().map(|why| format!(": {why}")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_login_names_the_database_that_was_searched() {
        let refused = |database: &str| {
            let (user, database) = (Some("ann".to_owned()), Some(database.to_owned()));
            LiveTrouble::Login { user, database, why: "Authentication failed".to_owned() }
                .to_string()
        };
        let shop = refused("shop");
        assert!(shop.contains("database shop") && shop.contains("add authSource=admin"), "{shop}");
        let admin = refused("admin");
        assert!(admin.ends_with("check user, password and authSource"), "{admin}");
    }

    #[test]
    fn what_certificates_lack_is_said() {
        let said = |why: &str, certified: bool| {
            let patience = Duration::from_secs(5);
            LiveTrouble::Unreachable { patience, why: why.to_owned(), certified }.to_string()
        };
        let hung_up =
            "db:27017: peer closed connection without sending TLS close_notify: https://docs.rs/x";
        for (why, certified, expected) in [
            ("db:27017: invalid peer certificate: UnknownIssuer", false, "with tlsCAFile"),
            (
                "db:27017: invalid peer certificate: NotValidForName",
                false,
                "for another name; connect",
            ),
            (
                "db:27017: invalid peer certificate: Other(OtherError(CaUsedAsEndEntity))",
                false,
                "CA:FALSE",
            ),
            ("db:27017: invalid peer certificate: Expired", false, "renew it"),
            (hung_up, true, "check tlsCertificateKeyFile"),
            (hung_up, false, "it may require a client certificate"),
            (
                "db:27017: received corrupt message of type InvalidContentType",
                false,
                "remove tls=true",
            ),
            ("db:27017: Connection refused", false, "check host, port, firewall and TLS"),
        ] {
            let message = said(why, certified);
            assert!(message.contains(expected), "{message}");
            assert!(!message.contains("docs.rs"), "{message}");
            assert!(!message.contains("invalid peer certificate"), "{message}");
        }
        let unknown = "DNS error: no records found for Query { name: Name(\"_mongodb._tcp.db.example.\"), query_type: SRV }";
        assert_eq!(
            LiveTrouble::UnknownHost(unknown.to_owned()).to_string(),
            "cannot find the host: DNS has no SRV record `_mongodb._tcp.db.example`; check its \
             name and the DNS server"
        );
        let refused = |certified| {
            LiveTrouble::Certificate { why: "Authentication failed".to_owned(), certified }
                .to_string()
        };
        assert!(
            refused(true).contains("the database $external must have a user"),
            "{}",
            refused(true)
        );
        assert!(refused(false).contains("tlsCertificateKeyFile"), "{}", refused(false));
    }
}
