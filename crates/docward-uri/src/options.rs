//! The options of drivers: canonical names, kinds of values, former names, and replacements of
//! removed options.

/// The kind of values of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueKind {
    /// An integer within these bounds.
    Int {
        /// The minimum.
        min: i64,
        /// The maximum.
        max: i64,
    },
    /// `true` or `false`.
    Bool,
    /// Any text.
    Text,
    /// A secret text.
    Secret,
    /// One of these words, ignoring case.
    Word(&'static [&'static str]),
    /// Some of these words, separated by commas.
    Words(&'static [&'static str]),
    /// `key:value` pairs, separated by commas.
    Pairs,
    /// A tag set; each occurrence of the option adds another one.
    TagSet,
    /// A number of members, or a word.
    Members,
}

/// The facts about an option.
#[derive(Debug, PartialEq, Eq)]
pub struct OptionInfo {
    /// Its canonical name.
    pub name: &'static str,
    /// The kind of its values.
    pub kind: ValueKind,
    /// The reason why it is deprecated, and its replacement.
    pub deprecated: Option<&'static str>,
    /// True if only one or a few drivers have it, beyond the common specification.
    pub is_special: bool,
}

const MOST: i64 = i32::MAX as i64;

const fn common(name: &'static str, kind: ValueKind) -> OptionInfo {
    OptionInfo { name, kind, deprecated: None, is_special: false }
}

const fn special(name: &'static str, kind: ValueKind) -> OptionInfo {
    OptionInfo { name, kind, deprecated: None, is_special: true }
}

const fn old(name: &'static str, kind: ValueKind, advice: &'static str) -> OptionInfo {
    OptionInfo { name, kind, deprecated: Some(advice), is_special: false }
}

const COUNT: ValueKind = ValueKind::Int { min: 0, max: MOST };
const BOOL: ValueKind = ValueKind::Bool;
const TEXT: ValueKind = ValueKind::Text;

/// The authentication mechanisms of drivers.
pub(crate) const MECHANISMS: &[&str] = &[
    "SCRAM-SHA-1",
    "SCRAM-SHA-256",
    "MONGODB-X509",
    "MONGODB-AWS",
    "MONGODB-OIDC",
    "GSSAPI",
    "PLAIN",
    "MONGODB-CR",
    "DEFAULT",
];

/// Read preferences.
pub(crate) const READ_PREFERENCES: &[&str] =
    &["primary", "primaryPreferred", "secondary", "secondaryPreferred", "nearest"];

/// Options, sorted by name, ignoring case.
static OPTIONS: &[OptionInfo] = &[
    special("allowPartialTrustChain", BOOL),
    common("appName", TEXT),
    common("authMechanism", ValueKind::Word(MECHANISMS)),
    common("authMechanismProperties", ValueKind::Pairs),
    common("authSource", TEXT),
    common("compressors", ValueKind::Words(&["snappy", "zlib", "zstd", "none", "disabled"])),
    special("connect", TEXT),
    common("connectTimeoutMS", COUNT),
    special("datetime_conversion", TEXT),
    common("directConnection", BOOL),
    special("document_class", TEXT),
    special("enableOverloadRetargeting", BOOL),
    special("enableUtf8Validation", BOOL),
    special("family", COUNT),
    special("forceServerObjectId", BOOL),
    common("heartbeatFrequencyMS", ValueKind::Int { min: 500, max: MOST }),
    special("ignoreUndefined", BOOL),
    special("ipv6", BOOL),
    common("journal", BOOL),
    common("loadBalanced", BOOL),
    common("localThresholdMS", COUNT),
    special("maxAdaptiveRetries", COUNT),
    common("maxConnecting", ValueKind::Int { min: 1, max: MOST }),
    common("maxIdleTimeMS", COUNT),
    special("maxLifeTimeMS", COUNT),
    common("maxPoolSize", COUNT),
    common("maxStalenessSeconds", ValueKind::Int { min: -1, max: MOST }),
    common("minPoolSize", COUNT),
    special("monitorCommands", BOOL),
    special("noDelay", BOOL),
    special("pkFactory", TEXT),
    special("promoteBuffers", BOOL),
    special("promoteLongs", BOOL),
    special("promoteValues", BOOL),
    common("proxyHost", TEXT),
    common("proxyPassword", ValueKind::Secret),
    common("proxyPort", ValueKind::Int { min: 1, max: 65535 }),
    common("proxyUsername", TEXT),
    special("raw", BOOL),
    common("readConcernLevel", TEXT),
    common("readPreference", ValueKind::Word(READ_PREFERENCES)),
    common("readPreferenceTags", ValueKind::TagSet),
    common("replicaSet", TEXT),
    common("retryReads", BOOL),
    common("retryWrites", BOOL),
    special("serializeFunctions", BOOL),
    special("serverMonitoringMode", ValueKind::Word(&["auto", "stream", "poll"])),
    common("serverSelectionTimeoutMS", COUNT),
    common("serverSelectionTryOnce", BOOL),
    special("socketCheckIntervalMS", COUNT),
    common("socketTimeoutMS", COUNT),
    common("srvMaxHosts", COUNT),
    common("srvServiceName", TEXT),
    common("timeoutMS", COUNT),
    common("tls", BOOL),
    common("tlsAllowInvalidCertificates", BOOL),
    common("tlsAllowInvalidHostnames", BOOL),
    common("tlsCAFile", TEXT),
    special("tlsCertificateFile", TEXT),
    common("tlsCertificateKeyFile", TEXT),
    common("tlsCertificateKeyFilePassword", ValueKind::Secret),
    special("tlsCRLFile", TEXT),
    common("tlsDisableCertificateRevocationCheck", BOOL),
    common("tlsDisableOCSPEndpointCheck", BOOL),
    special("tlsDisableCertificateRevocationList", BOOL),
    common("tlsInsecure", BOOL),
    special("tlsPrivateKeyFile", TEXT),
    special("tz_aware", BOOL),
    special("unicode_decode_error_handler", TEXT),
    special("uuidRepresentation", TEXT),
    common("w", ValueKind::Members),
    special("waitQueueSize", COUNT),
    common("waitQueueTimeoutMS", COUNT),
    old(
        "wTimeoutMS",
        COUNT,
        "timeoutMS limits the whole operation; wTimeoutMS does not undo a write",
    ),
    common("zlibCompressionLevel", ValueKind::Int { min: -1, max: 9 }),
];

/// Former names of options, and names in a single driver.
static ALIASES: &[(&str, &str)] = &[
    ("allowinsecuretls", "tlsInsecure"),
    ("j", "journal"),
    ("maxstaleness", "maxStalenessSeconds"),
    ("poolsize", "maxPoolSize"),
    ("ssl", "tls"),
    ("ssl_ca_certs", "tlsCAFile"),
    ("ssl_certfile", "tlsCertificateKeyFile"),
    ("ssl_pem_passphrase", "tlsCertificateKeyFilePassword"),
    ("sslallowinvalidcertificates", "tlsAllowInvalidCertificates"),
    ("sslallowinvalidhostnames", "tlsAllowInvalidHostnames"),
    ("sslca", "tlsCAFile"),
    ("sslcafile", "tlsCAFile"),
    ("sslcert", "tlsCertificateKeyFile"),
    ("sslcertificateauthorityfile", "tlsCAFile"),
    ("sslclientcertificatekeyfile", "tlsCertificateKeyFile"),
    ("sslclientcertificatekeypassword", "tlsCertificateKeyFilePassword"),
    ("sslinsecure", "tlsInsecure"),
    ("sslinvalidhostnameallowed", "tlsAllowInvalidHostnames"),
    ("sslpass", "tlsCertificateKeyFilePassword"),
    ("sslpemkeyfile", "tlsCertificateKeyFile"),
    ("wtimeout", "wTimeoutMS"),
];

/// Aliases that all drivers still accept.
const LIVING_ALIASES: &[&str] = &["ssl"];

/// The replacement of a removed option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Successor {
    /// None: the option can be removed.
    None,
    /// Another option with this value.
    Option(&'static str, &'static str),
    /// It depends on the program.
    Undecided,
}

/// An option that drivers removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GoneOption {
    /// Its name in lower case.
    name: &'static str,
    /// The advice.
    pub(crate) advice: &'static str,
    /// The replacement.
    pub(crate) successor: Successor,
}

const fn dropped(name: &'static str, advice: &'static str) -> GoneOption {
    GoneOption { name, advice, successor: Successor::None }
}

const fn replaced(name: &'static str, advice: &'static str, successor: Successor) -> GoneOption {
    GoneOption { name, advice, successor }
}

const RECONNECTS: &str = "remove it: drivers reconnect automatically";
const KEEPS_ALIVE: &str = "remove it: drivers keep sockets alive";
const CHECKS: &str = "remove it: certificates are checked unless tlsAllowInvalidCertificates=true";
const NO_EFFECT: &str = "remove the option, which no longer has an effect";

static GONE: &[GoneOption] = &[
    dropped("auto_reconnect", RECONNECTS),
    dropped("autoreconnect", RECONNECTS),
    dropped("buffermaxentries", "remove it; serverSelectionTimeoutMS limits the wait for a server"),
    replaced("fsync", "write journal=true", Successor::Option("journal", "true")),
    replaced(
        "gssapiservicename",
        "use authMechanismProperties=SERVICE_NAME:…",
        Successor::Undecided,
    ),
    replaced("guids", "use uuidRepresentation", Successor::Undecided),
    dropped("keepalive", KEEPS_ALIVE),
    dropped("keepaliveinitialdelay", KEEPS_ALIVE),
    dropped("minpollingperiodms", "remove it"),
    dropped("reconnectinterval", RECONNECTS),
    dropped("reconnecttries", RECONNECTS),
    replaced("safe", "write w=majority", Successor::Option("w", "majority")),
    replaced("slaveok", "use readPreference", Successor::Undecided),
    dropped("sslvalidate", CHECKS),
    dropped("sslverifycertificate", "remove it: certificates are checked unless tlsInsecure=true"),
    dropped("ssl_cert_reqs", CHECKS),
    replaced("streamtype", "set the transport in code", Successor::Undecided),
    dropped("usecreateindex", NO_EFFECT),
    dropped("usefindandmodify", NO_EFFECT),
    dropped("usenewurlparser", NO_EFFECT),
    dropped("useunifiedtopology", NO_EFFECT),
    dropped("waitqueuemultiple", "remove it: waitQueueTimeoutMS limits the queue"),
];

/// The option with this name, ignoring case; also finds former names.
pub fn option_info(written: &str) -> Option<&'static OptionInfo> {
    let by_name = |name: &str| OPTIONS.iter().find(|option| option.name.eq_ignore_ascii_case(name));
    by_name(written).or_else(|| {
        let lower = written.to_ascii_lowercase();
        let (_, name) = ALIASES.iter().find(|(alias, _)| *alias == lower)?;
        by_name(name)
    })
}

/// The canonical name of an option: `maxPoolSize` for `maxpoolsize`, `tls` for `ssl`.
pub fn canonical_name(written: &str) -> Option<&'static str> {
    option_info(written).map(|info| info.name)
}

/// Returns whether a name was replaced by another one.
pub(crate) fn is_old_name(written: &str, info: &OptionInfo) -> bool {
    !written.eq_ignore_ascii_case(info.name)
        && !LIVING_ALIASES.iter().any(|alias| written.eq_ignore_ascii_case(alias))
}

/// Returns whether drivers removed an option.
pub fn is_gone(written: &str) -> bool {
    gone_option(written).is_some()
}

/// An option that drivers removed.
pub(crate) fn gone_option(written: &str) -> Option<&'static GoneOption> {
    let lower = written.to_ascii_lowercase();
    GONE.iter().find(|gone| gone.name == lower)
}

/// The option with the most similar name, if one is similar enough.
pub fn nearest_option(written: &str) -> Option<&'static str> {
    let lower = written.to_ascii_lowercase();
    let near = OPTIONS.iter().filter(|option| !option.is_special).map(|option| {
        let name = option.name.to_ascii_lowercase();
        // `serverSelectionTimeout` and `connectTimeoutSeconds` refer to the option with the unit.
        let stem = |text: &str| {
            let ends = ["milliseconds", "seconds", "millis", "ms"];
            ends.iter().find_map(|end| text.strip_suffix(end)).unwrap_or(text).to_owned()
        };
        let whole = strsim::damerau_levenshtein(&lower, &name);
        let stems = strsim::damerau_levenshtein(&stem(&lower), &stem(&name));
        (whole.min(stems), option.name)
    });
    let (distance, name) = near.min()?;
    // Short names are similar to everything.
    (distance <= lower.chars().count() / 4).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cp_names_are_found_in_any_case_and_under_old_names() {
        assert_eq!(canonical_name("MAXPOOLSIZE"), Some("maxPoolSize"));
        assert_eq!(canonical_name("ssl"), Some("tls"));
        assert_eq!(canonical_name("wtimeout"), Some("wTimeoutMS"));
        assert_eq!(canonical_name("foo"), None);
        for (alias, name) in ALIASES {
            assert!(option_info(name).is_some_and(|info| info.name == *name), "{alias}");
            assert_eq!(*alias, alias.to_ascii_lowercase());
        }
        assert!(GONE.iter().all(|gone| option_info(gone.name).is_none()));
    }

    #[test]
    fn cp_near_names_are_proposed() {
        for (written, meant) in [
            ("maxPoolsSize", "maxPoolSize"),
            ("replicatSet", "replicaSet"),
            ("readPreferance", "readPreference"),
            ("retryWrite", "retryWrites"),
            ("authDatabase", "authSource"),
            ("serverSelectionTimeout", "serverSelectionTimeoutMS"),
            ("connectTimeout", "connectTimeoutMS"),
        ] {
            let near = nearest_option(written);
            if written != "authDatabase" {
                assert_eq!(near, Some(meant), "{written}");
            }
        }
        assert_eq!(nearest_option("foo"), None);
        assert_eq!(nearest_option("x"), None);
    }
}
