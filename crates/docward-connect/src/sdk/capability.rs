//! The support of each driver for the rule book's options (SDK-ALL.1, GC-26 to GC-29).

use super::SdkLanguage;

/// One option or behaviour of a driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capability {
    /// The option or subject.
    pub subject: &'static str,
    /// The setting to use, or what replaces it.
    pub note: &'static str,
    /// True if it differs from the rule book's samples.
    pub gap: bool,
    /// The clause.
    pub clause: &'static str,
}

const fn can(subject: &'static str, note: &'static str, clause: &'static str) -> Capability {
    Capability { subject, note, gap: false, clause }
}

const fn gap(subject: &'static str, note: &'static str, clause: &'static str) -> Capability {
    Capability { subject, note, gap: true, clause }
}

/// The table of a language.
pub fn capabilities(language: SdkLanguage) -> &'static [Capability] {
    match language {
        SdkLanguage::Python => &PYTHON,
        SdkLanguage::Java => &JAVA,
        SdkLanguage::Node => &NODE,
        SdkLanguage::Go => &GO,
        SdkLanguage::Rust => &RUST,
    }
}

const PYTHON: [Capability; 6] = [
    can("maxPoolSize, minPoolSize, maxIdleTimeMS", "keyword arguments", "SDK-PY.1"),
    can("waitQueueTimeoutMS", "keyword argument", "PP-4"),
    can("connectTimeoutMS, serverSelectionTimeoutMS", "keyword arguments", "PP-5"),
    gap(
        "readPreference",
        "readPreference takes text; ReadPreference.SECONDARY_PREFERRED under that name raises ValueError",
        "GC-26",
    ),
    can("health check", "pymongo.timeout() bounds it", "SDK-PY.5"),
    gap(
        "fork()",
        "a client must not be used on both sides of fork(); shared_client() creates one per \
         process",
        "SDK-ALL.3",
    ),
];

const JAVA: [Capability; 6] = [
    can("maxPoolSize, minPoolSize, maxIdleTimeMS", "applyToConnectionPoolSettings", "SDK-JV.1"),
    gap(
        "waitQueueTimeoutMS",
        "maxWaitTime; since 5.2, the driver recommends one timeout for the whole client instead",
        "GC-28",
    ),
    can(
        "connectTimeoutMS, socketTimeoutMS",
        "applyToSocketSettings; the read timeout of 30 s is in this file only",
        "SDK-JV.1",
    ),
    gap(
        "factory",
        "MongoClients.create creates clients; MongoClient.create does not \
     exist",
        "GC-27",
    ),
    can("readPreference", "ReadPreference.secondaryPreferred() and similar methods", "SDK-JV.1"),
    gap(
        "health check",
        "the sample in the rule book has no health check; this file has one",
        "SDK-ALL.4",
    ),
];

const NODE: [Capability; 5] = [
    can("maxPoolSize, minPoolSize, maxIdleTimeMS", "options of MongoClient", "SDK-ND.1"),
    can("waitQueueTimeoutMS", "option of MongoClient", "PP-4"),
    can("connectTimeoutMS, serverSelectionTimeoutMS", "options of MongoClient", "PP-5"),
    gap(
        "health check",
        "the rule book's sample checks only SRV connections; here every method has the check",
        "SDK-ND.2",
    ),
    gap(
        "serverless",
        "in functions that start for each request, keep the client between warm calls with a pool \
         of at most 5, or use a pooling proxy",
        "GC-14",
    ),
];

const GO: [Capability; 5] = [
    can(
        "maxPoolSize, minPoolSize, maxIdleTimeMS",
        "SetMaxPoolSize, SetMinPoolSize, SetMaxConnIdleTime",
        "SDK-GO.1",
    ),
    gap(
        "waitQueueTimeoutMS",
        "there is no waitQueueTimeoutMS: give every operation a context with a deadline (OperationTimeout)",
        "GC-28",
    ),
    can(
        "connectTimeoutMS, serverSelectionTimeoutMS",
        "SetConnectTimeout, SetServerSelectionTimeout",
        "PP-5",
    ),
    gap("Connect", "version 1 connects with a context, version 2 without", "GC-28"),
    can("health check", "client.Ping with a deadline", "SDK-GO.2"),
];

const RUST: [Capability; 5] = [
    can("maxPoolSize, minPoolSize, maxIdleTimeMS", "fields of ClientOptions", "SDK-ALL.1"),
    gap(
        "waitQueueTimeoutMS",
        "there is no waitQueueTimeoutMS: put tokio::time::timeout around operations (OPERATION_TIMEOUT)",
        "GC-28",
    ),
    can("connectTimeoutMS, serverSelectionTimeoutMS", "fields of ClientOptions", "PP-5"),
    can("readPreference", "ClientOptions::selection_criteria", "SDK-ALL.1"),
    gap(
        "samples",
        "the rule book has no sample for Rust; this file follows the others",
        "SDK-ALL.1",
    ),
];
