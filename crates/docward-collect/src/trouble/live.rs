//! The problems that can occur with a running deployment. Each message says which facts are still
//! known and what to do. No message contains a password.

use std::time::Duration;

/// A situation in which a server did not return the requested data.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LiveTrouble {
    #[error(
        "the connection string is not valid: {0}; see https://www.mongodb.com/docs/manual/reference/connection-string/"
    )]
    BadUri(String),
    #[error(
        "the connection string is not valid: user or password hold characters that have to be \
         escaped: `@` as %40, `:` as %3A, `/` as %2F, `?` as %3F, `#` as %23, `%` as %25"
    )]
    Unescaped,
    #[error(
        "tlsAllowInvalidHostnames cannot be had: Docward always holds the certificate against the name of the \
         host; leave the option out, and connect by a name that stands in the certificate"
    )]
    NamesChecked,
    #[error("the host cannot be found: {}; check its name and the DNS server", dns_words(_0))]
    UnknownHost(String),
    #[error(
        "TLS cannot be set up: {0}; check tlsCAFile and tlsCertificateKeyFile, and \
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
        "the server asks for a login and the connection string has none; nothing was read from it; \
         write it as mongodb://USER:PASSWORD@HOST/?authSource=admin"
    )]
    NoLogin,
    #[error(
        "the server asks for a login and has no users yet; nothing was read from it; whoever is on its \
         machine may create the first one, so do: db.getSiblingDB(\"admin\").createUser({{user: \
         \"admin\", pwd: passwordPrompt(), roles: [\"root\"]}})"
    )]
    NoUsers,
    #[error(
        "the server is a member of the replica set {found}, and the connection string asks for \
         {wanted}; write replicaSet={found}"
    )]
    OtherSet { wanted: String, found: String },
    #[error(
        "the server is no member of a replica set, and the connection string asks for {wanted}; \
         leave replicaSet out"
    )]
    NoSet { wanted: String },
    #[error(
        "the member {member} of the replica set cannot be reached{}; what clients did on it (its \
         profiler, its running operations) was not read; the other members were asked: run again when it is back",
        because(why)
    )]
    MemberDown { member: String, why: Option<String> },
    #[error(
        "the arbiter {member} of the replica set cannot be reached; it holds no data, and nothing is missing \
         here, but its vote is when a primary is elected: bring it back, and run again"
    )]
    ArbiterDown { member: String },
    #[error(
        "the server is an arbiter of a replica set: it votes and holds no documents, so nothing was read from \
         it; connect to a member that does{}",
        such_as(others)
    )]
    Arbiter { others: Vec<String> },
    #[error(
        "the member {member} of the replica set went away while the deployment was read; documents came from \
         the others; look after it, and run again when it is back"
    )]
    MemberLost { member: String },
    #[error(
        "the replica set has no primary, so it takes no writes{}; the others were read: bring back enough \
         members with votes, and run again",
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
        "reading stopped after {documents} documents: new documents replaced those of the capped collection faster \
         than they were read; what was read before is in the report; read it without --max-rate, or a sample \
         of it with --sample"
    )]
    Overtaken { documents: u64 },
    #[error(
        "was dropped while it was read; {documents} of its documents are in the report; leave it out \
         with --collection if it comes and goes"
    )]
    Dropped { documents: u64 },
    #[error(
        "the server has not answered for {seconds} s, after {documents} documents; what was read \
         before is in the report; run again when it answers"
    )]
    Silent { documents: u64, seconds: u64 },
    #[error(
        "the server does not answer any more; {collections} were not read; what was read before is in the \
         report; run again when it answers"
    )]
    Lost { collections: String },
    #[error(
        "the server left several questions in a row unanswered; {questions} more were not asked, so sizes, \
         indexes or their use are not known of all collections; see with db.currentOp() what holds it up, and \
         run again"
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
    let distance = |name: &&String| strsim::damerau_levenshtein(wanted, name);
    let nearest = known.iter().min_by_key(distance);
    match nearest.filter(|name| distance(name) <= (wanted.chars().count() / 3).max(1)) {
        Some(name) => format!("did you mean `{name}`?"),
        None if known.is_empty() => "the deployment has none that this login may read".to_owned(),
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
    ("UnknownIssuer", "its certificate is signed by an unknown authority"),
    ("NotValidForName", "its certificate is for another name"),
    ("Expired", "its certificate has expired"),
    ("NotValidYet", "its certificate is not valid yet"),
    ("CaUsedAsEndEntity", "its certificate is that of an authority"),
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
        "name the file of the authority with tlsCAFile"
    } else if says(&["NotValidForName"]) {
        "connect by a name that stands in it, or have this name added"
    } else if says(&["CaUsedAsEndEntity"]) {
        "let that authority sign a certificate for the server (basicConstraints CA:FALSE), and give the authority's \
         own to clients with tlsCAFile"
    } else if says(&["peer certificate: Expired", "certificate expired"]) {
        "have it renewed"
    } else if says(&[HUNG_UP, "fatal alert"]) && certified {
        "servers do so with a client certificate that is out of date or signed by another authority than theirs: check tlsCertificateKeyFile, and see the server's log"
    } else if says(&[HUNG_UP, "fatal alert"]) {
        "it may ask for a client certificate: name one with tlsCertificateKeyFile, and see the server's log"
    } else if says(&["InvalidContentType", "corrupt message"]) {
        "it does not speak TLS: leave tls=true out, or ask for the port that does"
    } else {
        "check host, port, firewall and TLS, and add directConnection=true if only this server can be reached from here"
    }
}

fn of_certificate(certified: bool) -> &'static str {
    if certified {
        "the subject of the certificate has to be a user of the database $external, by the same name: see the server's log for it, and make it with db.getSiblingDB(\"$external\").createUser({user: SUBJECT, roles: […]})"
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
            "; a role that allows all that is missing (where there is one of this name, add the privileges to it with grantPrivilegesToRole): {role}"
        )
    };
    role.as_ref().map(words).unwrap_or_default()
}

fn as_user(user: &Option<String>) -> String {
    user.as_ref().map(|user| format!(" for user {user}")).unwrap_or_default()
}

/// What to check after a refused login, by the database where the user was looked for.
fn of_login(database: &Option<String>) -> String {
    match database.as_deref() {
        None | Some("admin") => "check user, password and authSource".to_owned(),
        Some(database) => format!(
            "the user was looked for in the database {database}; check user and password, or add \
             authSource=admin if the user was created there"
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
            ("db:27017: invalid peer certificate: Expired", false, "have it renewed"),
            (hung_up, true, "check tlsCertificateKeyFile"),
            (hung_up, false, "it may ask for a client certificate"),
            (
                "db:27017: received corrupt message of type InvalidContentType",
                false,
                "leave tls=true out",
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
            "the host cannot be found: DNS has no SRV record `_mongodb._tcp.db.example`; check its name and the DNS \
             server"
        );
        let refused = |certified| {
            LiveTrouble::Certificate { why: "Authentication failed".to_owned(), certified }
                .to_string()
        };
        assert!(refused(true).contains("a user of the database $external"), "{}", refused(true));
        assert!(refused(false).contains("tlsCertificateKeyFile"), "{}", refused(false));
    }
}
