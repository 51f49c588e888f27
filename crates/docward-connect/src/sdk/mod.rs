//! Generates clients with the rule book's options, four connection methods and a health check
//! (SDK-ALL, GC-26 to GC-29). A program uses one client for the whole process, and the file
//! contains no secret.
//!
//! The templates next to this file are nearly valid programs: words between double underscores are
//! replaced, and text between `@when METHOD` and `@end` is included if the method is requested.
//! Replacements are numbers, words of a fixed list or validated names, so that no value can break
//! out of a string.

mod capability;

use docward_model::ServiceClass;

pub use capability::{Capability, capabilities};

use crate::{CONNECT_TIMEOUT_MS, MAX_IDLE_MS, MIN_POOL, Method, WAIT_QUEUE_MS, read_preference};

/// `maxPoolSize` of the rule book's samples.
pub const SAMPLE_POOL: u32 = 150;
/// `serverSelectionTimeoutMS` of the samples.
pub const SELECTION_MS: u32 = 5_000;
/// Below this, a failover may take longer than server selection waits for a primary (GC-29).
pub const FAILOVER_SELECTION_MS: u32 = 15_000;
/// Java's read timeout in the samples.
const READ_MS: u32 = 30_000;

/// The languages of generated clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "languages by their usual names")]
pub enum SdkLanguage {
    Python,
    Java,
    Node,
    Go,
    Rust,
}

impl SdkLanguage {
    /// Every language.
    pub const ALL: [Self; 5] = [Self::Python, Self::Java, Self::Node, Self::Go, Self::Rust];

    /// The word used on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Python => "python",
            Self::Java => "java",
            Self::Node => "node",
            Self::Go => "go",
            Self::Rust => "rust",
        }
    }

    /// The name of the file; in Java and Go it has a meaning.
    pub fn file_name(self) -> &'static str {
        match self {
            Self::Python => "mongo_client.py",
            Self::Java => "MongoConnection.java",
            Self::Node => "mongoClient.mjs",
            Self::Go => "mongoclient.go",
            Self::Rust => "mongo_client.rs",
        }
    }
}

/// The generation of the Go driver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GoVersion {
    /// `go.mongodb.org/mongo-driver`.
    V1,
    /// `go.mongodb.org/mongo-driver/v2`.
    #[default]
    V2,
}

/// The options of a generated client.
#[derive(Clone, Debug)]
pub struct SdkRequest {
    /// The language.
    pub language: SdkLanguage,
    /// The generation of the driver, for Go.
    pub go: GoVersion,
    /// The connection methods, the first for the shared client; empty means all.
    pub methods: Vec<Method>,
    /// The class of the service.
    pub class: Option<ServiceClass>,
    /// The requested read preference, one of the five modes.
    pub read_preference: Option<&'static str>,
    /// `appName`.
    pub app_name: String,
    /// `maxPoolSize`.
    pub max_pool: u32,
    /// `minPoolSize`.
    pub min_pool: u32,
    /// Routers that clients reach, if known: each gets its own pool.
    pub routers: Option<u64>,
    /// `serverSelectionTimeoutMS`.
    pub selection_ms: u32,
    /// Docward's version.
    pub version: &'static str,
}

impl SdkRequest {
    /// A request for a client in a language, with the rule book's options.
    pub fn new(language: SdkLanguage, version: &'static str) -> Self {
        Self {
            language,
            go: GoVersion::default(),
            methods: Vec::new(),
            class: None,
            read_preference: None,
            app_name: "app".to_owned(),
            max_pool: SAMPLE_POOL,
            min_pool: u32::try_from(MIN_POOL).unwrap_or(10),
            routers: None,
            selection_ms: SELECTION_MS,
            version,
        }
    }
}

/// Returns whether a name is permitted in a generated file: letters, digits and `.`, `_`, `-`, at
/// most 64.
pub fn is_app_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 64
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'))
}

/// Generates the file. Names that [`is_app_name`] refuses become `app`.
pub fn client(request: &SdkRequest) -> String {
    let template = match (request.language, request.go) {
        (SdkLanguage::Python, _) => include_str!("client.py.tmpl"),
        (SdkLanguage::Java, _) => include_str!("MongoConnection.java.tmpl"),
        (SdkLanguage::Node, _) => include_str!("client.mjs.tmpl"),
        (SdkLanguage::Go, GoVersion::V1) => include_str!("client_v1.go.tmpl"),
        (SdkLanguage::Go, GoVersion::V2) => include_str!("client_v2.go.tmpl"),
        (SdkLanguage::Rust, _) => include_str!("client.rs.tmpl"),
    };
    let words = words(request);
    let mut out = String::new();
    let mut shown = true;
    for line in template.lines() {
        if let Some((_, method)) = line.split_once("@when ") {
            shown = wants(request, method.trim());
        } else if line.trim_start().trim_start_matches(['#', '/']).trim() == "@end" {
            shown = true;
        } else if shown {
            out.push_str(&filled(line, &words));
            out.push('\n');
        }
    }
    out
}

fn wants(request: &SdkRequest, method: &str) -> bool {
    let mut methods = request.methods.iter();
    request.methods.is_empty()
        || match method {
            "per-mongos" => methods.any(|m| m.has_pool_per_router()),
            name => methods.any(|m| m.name() == name),
        }
}

/// Explains the pool size, for methods with one pool per router.
fn pool_why(request: &SdkRequest) -> String {
    let clause = request.methods.first().map_or("PF-2", |method| method.formula_clause());
    match (request.methods.as_slice(), request.routers) {
        ([], _) => {
            "With SRV or a list of all mongos, the client keeps a pool of this size for each \
             mongos (PF-2)."
                .to_owned()
        }
        (_, Some(routers)) => format!(
            "For each of {routers} mongos: up to {} connections of this client ({clause}).",
            u64::from(request.max_pool).saturating_mul(routers)
        ),
        (_, None) => format!(
            "For each mongos: multiply by the number of mongos to get all connections of this \
             client ({clause})."
        ),
    }
}

/// A line with its words replaced; a replacement of several lines repeats the text before the word.
fn filled(line: &str, words: &[(&'static str, String)]) -> String {
    let Some((word, value)) = words.iter().find(|(word, _)| line.contains(word)) else {
        return line.to_owned();
    };
    let (before, after) = line.split_once(word).unwrap_or((line, ""));
    let parts: Vec<String> = value.lines().map(|part| format!("{before}{part}{after}")).collect();
    let rest: Vec<(&'static str, String)> =
        words.iter().filter(|(other, _)| other != word).cloned().collect();
    parts
        .iter()
        .map(|part| filled(part, &rest).trim_end().to_owned())
        .collect::<Vec<_>>()
        .join("\n")
}

/// The replacements, by word.
fn words(request: &SdkRequest) -> Vec<(&'static str, String)> {
    let method = request.methods.first().copied().unwrap_or(Method::ReplicaSet);
    let advice = read_preference(request.class, None);
    let mode = request.read_preference.unwrap_or(advice.mode);
    let read_why = match (request.read_preference, request.class) {
        (Some(asked), Some(ServiceClass::Core)) if asked != "primary" => {
            "As requested, but core services should read the primary (RP-1).".to_owned()
        }
        (Some(_), _) => "As requested.".to_owned(),
        (None, None) => {
            "The class of the service was not given, so reads go to the primary; `--class` can \
             allow reads from secondaries (GC-10)."
                .to_owned()
        }
        (None, Some(class)) => {
            format!("Class {}: {} ({}).", class.name(), advice.why, advice.clause)
        }
    };
    let selection_why = if request.selection_ms < FAILOVER_SELECTION_MS {
        "Some elections take longer: retry failed operations, or set 15000 (GC-29)."
    } else {
        "Long enough for an election."
    };
    // The health check waits at most as long as operations do, and never without a limit.
    let health = request.selection_ms.clamp(1_000, 10_000);
    let app_name =
        if is_app_name(&request.app_name) { request.app_name.clone() } else { "app".to_owned() };
    let capabilities: Vec<String> = capabilities(request.language)
        .iter()
        .filter(|row| row.gap)
        .map(|row| format!("- {} ({})", row.note, row.clause))
        .collect();
    let marker = if request.language == SdkLanguage::Rust {
        "// __CAPABILITIES__"
    } else {
        "__CAPABILITIES__"
    };
    let capabilities = if request.language == SdkLanguage::Rust {
        capabilities.iter().map(|line| format!("//! {line}")).collect()
    } else {
        capabilities
    };
    let mut connect = [
        (
            "__CONNECT_PYTHON__",
            ["connect_srv", "connect_load_balancer", "connect_all_mongos", "connect_replica_set"],
        ),
        (
            "__CONNECT_NODE__",
            ["connectSrv", "connectLoadBalancer", "connectAllMongos", "connectReplicaSet"],
        ),
        (
            "__CONNECT_JAVA__",
            ["connectSrv", "connectLoadBalancer", "connectAllMongos", "connectReplicaSet"],
        ),
        (
            "__CONNECT_GO__",
            ["ConnectSRV", "ConnectLoadBalancer", "ConnectAllMongos", "ConnectReplicaSet"],
        ),
        (
            "__CONNECT_RUST__",
            ["connect_srv", "connect_load_balancer", "connect_all_mongos", "connect_replica_set"],
        ),
    ]
    .into_iter()
    .map(|(word, names)| {
        let at = Method::ALL.iter().position(|m| *m == method).unwrap_or(0);
        (word, names[at].to_owned())
    })
    .collect::<Vec<_>>();
    let mut all = vec![
        (marker, capabilities.join("\n")),
        ("__VERSION__", request.version.to_owned()),
        ("__APP_NAME__", app_name),
        ("__POOL_WHY__", pool_why(request)),
        ("__MAX_POOL__", request.max_pool.to_string()),
        ("__MIN_POOL__", request.min_pool.min(request.max_pool).to_string()),
        ("__MAX_IDLE_MS__", MAX_IDLE_MS.to_string()),
        ("__WAIT_QUEUE_MS__", WAIT_QUEUE_MS.to_string()),
        ("__CONNECT_MS__", CONNECT_TIMEOUT_MS.to_string()),
        ("__SELECTION_MS__", request.selection_ms.to_string()),
        ("__SELECTION_WHY__", selection_why.to_owned()),
        ("__HEALTH_MS__", health.to_string()),
        ("__READ_MS__", READ_MS.to_string()),
        ("__READ_WHY__", read_why),
        ("__READ_MODE_GO__", capitalised(mode)),
        ("__READ_MODE_RUST__", rust_mode(mode)),
        ("__READ_MODE__", mode.to_owned()),
    ];
    all.append(&mut connect);
    all
}

fn capitalised(mode: &str) -> String {
    let mut letters = mode.chars();
    letters
        .next()
        .map_or(String::new(), |first| first.to_ascii_uppercase().to_string() + letters.as_str())
}

fn rust_mode(mode: &str) -> String {
    match mode {
        "primary" => "ReadPreference::Primary".to_owned(),
        other => format!("ReadPreference::{} {{ options: None }}", capitalised(other)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_filled_in_and_nothing_secret_is_there() {
        for language in SdkLanguage::ALL {
            for go in [GoVersion::V1, GoVersion::V2] {
                let text = client(&SdkRequest { go, ..SdkRequest::new(language, "1.2.3") });
                for left in
                    ["__MAX", "__MIN", "__READ", "__CONNECT", "__SEL", "__CAP", "@when", "@end"]
                {
                    assert!(!text.contains(left), "{} {left}: {text}", language.name());
                }
                assert!(text.contains("MONGODB_PASSWORD") && text.contains("docward 1.2.3"));
                assert!(text.contains("150") && text.contains("120000"));
            }
        }
    }

    #[test]
    fn sdk_all_2_methods_are_there_when_asked_for() {
        let mut request = SdkRequest::new(SdkLanguage::Python, "1");
        let all = client(&request);
        for name in
            ["connect_srv", "connect_replica_set", "connect_load_balancer", "connect_all_mongos"]
        {
            assert!(all.contains(&format!("def {name}(")), "{name}");
        }
        request.methods = vec![Method::Srv];
        let one = client(&request);
        assert!(one.contains("def connect_srv(") && !one.contains("def connect_replica_set("));
        assert!(one.contains("_shared = connect_srv()"), "the shared client uses it");
        assert!(one.contains("# For each mongos: multiply by the number of mongos"), "{one}");
        request.routers = Some(16);
        request.max_pool = 10;
        let many = client(&request);
        assert!(many.contains("# For each of 16 mongos: up to 160 connections"), "{many}");
        request.methods = vec![Method::ReplicaSet];
        assert!(!client(&request).contains("mongos: "), "{}", client(&request));
    }

    #[test]
    fn rp_1_gc_10_the_class_decides_where_reads_go() {
        let mut request = SdkRequest::new(SdkLanguage::Java, "1");
        let unknown = client(&request);
        assert!(unknown.contains("ReadPreference.primary()") && unknown.contains("GC-10"));
        request.class = Some(ServiceClass::ReadHeavy);
        assert!(client(&request).contains("ReadPreference.secondaryPreferred()"));
        request.class = Some(ServiceClass::Core);
        assert!(client(&request).contains("ReadPreference.primary()"));
        request.read_preference = Some("nearest");
        assert!(client(&request).contains("core services should read the primary (RP-1)"));
    }

    #[test]
    fn names_cannot_break_out() {
        for bad in ["a\"b", "a'b", "a\nb", "a\\b", "", "a b", "__READ_MODE__x;", "é"] {
            assert!(!is_app_name(bad) || bad.starts_with("__"), "{bad}");
            let request =
                SdkRequest { app_name: bad.to_owned(), ..SdkRequest::new(SdkLanguage::Node, "1") };
            let text = client(&request);
            assert!(text.contains("appName: 'app'"), "{bad}");
        }
        assert!(is_app_name("order-service.v2"));
    }
}
