//! The JSON Schema of `docward.toml`, for completion and checks in editors.
//!
//! Draft 7, because TOML language servers read it. It is as strict as the parser about keys, types
//! and ranges; only the parser checks rules that a schema cannot express (globs, one rule under two
//! names). One difference: the parser accepts codes in any case, the schema offers them as written
//! in the registry.

use docward_model::{
    DeclaredTopology, LimitScope, PEDANTIC, ProfileName, RuleMeta, ServiceClass, Threshold,
    ThresholdValue,
};

use crate::{AUTHS, FACES, FailOn, json::Json, keys::SHARDS, threshold};

/// The schema of the file for these rules: formatted JSON, the same bytes for the same rules in any
/// order.
pub fn json_schema(rules: &[&RuleMeta]) -> String {
    let mut rules = rules.to_vec();
    rules.sort_by_key(|rule| rule.code);

    let mut definitions = vec![
        ("selectors".to_owned(), selectors(&rules, &[])),
        ("selected".to_owned(), selectors(&rules, &[PEDANTIC])),
        ("rules".to_owned(), rule_tables(&rules)),
        ("pattern".to_owned(), pattern()),
        ("path".to_owned(), path()),
    ];
    definitions.extend(rules.iter().map(|rule| (rule.code.to_owned(), rule_table(rule))));

    Json::object([
        ("$schema", Json::text("http://json-schema.org/draft-07/schema#")),
        ("title", Json::text("docward.toml")),
        ("description", Json::text("Configuration of Docward, see docs/configuration.md.")),
    ])
    .merged(table(
        [
            (
                "profile",
                words(
                    "A named set of defaults.",
                    &ProfileName::ALL.map(ProfileName::name),
                    "neutral",
                ),
            ),
            (
                "select",
                described(
                    "Only these rules; all if empty. `pedantic` adds findings that are likely but \
                     not proven.",
                    reference("selected"),
                ),
            ),
            ("ignore", described("Never these rules.", reference("selectors"))),
            (
                "fail-on",
                words(
                    "Findings of this severity or higher fail the run.",
                    &FailOn::ALL.map(FailOn::name),
                    "error",
                ),
            ),
            (
                "baseline",
                string().with(
                    "description",
                    Json::text("File of accepted findings, relative to this file."),
                ),
            ),
            ("rules", described("Settings by rule code or name.", reference("rules"))),
            ("namespaces", namespaces()),
            ("collections", collections()),
            ("deployment", deployment()),
            ("service", service()),
            ("guard", guard()),
            ("suppress", suppress()),
            ("waive", waive()),
        ],
        &[],
    ))
    .with("definitions", Json::Object(definitions))
    .pretty()
}

fn selectors(rules: &[&RuleMeta], others: &[&str]) -> Json {
    let mut families: Vec<_> = rules.iter().map(|rule| rule.family().to_string()).collect();
    families.dedup();
    let known = std::iter::once("all".to_owned())
        .chain(families)
        .chain(rules.iter().map(|rule| rule.code.to_owned()))
        .chain(rules.iter().map(|rule| rule.name.to_owned()))
        .chain(others.iter().map(|word| (*word).to_owned()));
    list(
        "Rules by code (D008), family (D) or name (unbounded-array).",
        Json::object([("enum", Json::texts(known))]),
    )
}

fn rule_tables(rules: &[&RuleMeta]) -> Json {
    let by = |key: fn(&RuleMeta) -> &'static str| {
        rules.iter().map(move |rule| (key(rule), reference(rule.code)))
    };
    table(by(|rule| rule.code).chain(by(|rule| rule.name)), &[])
}

fn rule_table(rule: &RuleMeta) -> Json {
    let common = [
        (
            "severity",
            words(
                "A severity other than the default.",
                &["error", "warning", "note", "warn", "info"],
                rule.highest_severity().word(),
            ),
        ),
        (
            "enabled",
            Json::object([
                ("description", Json::text("Turns the rule on or off, regardless of the profile.")),
                ("type", Json::text("boolean")),
            ]),
        ),
    ];
    let thresholds =
        rule.thresholds.iter().map(|threshold| (threshold.key, threshold_value(threshold)));
    let title = format!("{} {}: {}", rule.code, rule.name, rule.title());
    let mut out = Json::object([("title", Json::text(title))]);
    if let Some(what) = rule.section("What it checks") {
        out = out.with("description", Json::text(unwrapped(&what)));
    }
    out.merged(table(common.into_iter().chain(thresholds), &[]))
}

fn threshold_value(threshold: &Threshold) -> Json {
    let mut description = sentence(threshold.help);
    let (kind, default) = match threshold.default {
        ThresholdValue::Int(n) => ("integer", Json::Int(n)),
        ThresholdValue::Float(n) => ("number", Json::Float(n)),
        ThresholdValue::Flag(b) => ("boolean", Json::Bool(b)),
        ThresholdValue::Text(text) => ("string", Json::text(text)),
        ThresholdValue::Words(words) => ("array", Json::texts(words.iter().copied())),
    };
    match threshold.default {
        ThresholdValue::Int(_) | ThresholdValue::Float(_) => {
            description.push_str(&format!(" Unit: {}.", threshold.unit));
        }
        // The words are not written as `default`: an editor would offer to write out words that
        // apply anyway.
        ThresholdValue::Words(_) => description.push_str(" Added to the default list of the rule."),
        ThresholdValue::Flag(_) | ThresholdValue::Text(_) => {}
    }
    description.push_str(&format!(" Source: {}.", threshold.source));
    let mut out =
        Json::object([("description", Json::Text(description)), ("type", Json::text(kind))]);
    if let ThresholdValue::Words(_) = threshold.default {
        return out.with("items", string());
    }
    if let Some(choices) = threshold::choices(threshold) {
        out = out.with("enum", Json::texts(choices));
    }
    if matches!(threshold.default, ThresholdValue::Int(_) | ThresholdValue::Float(_)) {
        let (low, high) = threshold::range(threshold);
        for (key, bound) in [("minimum", low), ("maximum", high)] {
            if let Some(bound) = bound {
                out = out.with(key, Json::Int(bound as i64));
            }
        }
    }
    out.with("default", default)
}

fn namespaces() -> Json {
    let entry = table(
        [
            (
                "match",
                described(
                    "Which namespaces. Also matches the name of a database.",
                    reference("pattern"),
                ),
            ),
            ("ignore", described("Rules that are off there.", reference("selectors"))),
            (
                "select",
                described(
                    "Rules that are on there although this entry or an earlier one ignores them.",
                    reference("selectors"),
                ),
            ),
            ("rules", described("Settings that apply there.", reference("rules"))),
        ],
        &["match"],
    );
    list("Settings that apply only to some namespaces; later entries win.", entry)
}

fn collections() -> Json {
    let core = list("Business-critical collections; inferred by default.", reference("pattern"));
    let bounded = table(
        [
            ("match", reference("pattern")),
            ("path", described("The array.", reference("path"))),
            ("max", whole("Maximum number of elements that the application keeps.", 1)),
        ],
        &["match", "path", "max"],
    );
    let mirror = table(
        [("match", reference("pattern")), ("path", described("The copy.", reference("path")))],
        &["match", "path"],
    );
    let field = Json::object([("enum", Json::List(vec![Json::Int(1), Json::text("hashed")]))]);
    let key = Json::object([
        ("description", Json::text("Fields in order, 1 or \"hashed\".")),
        ("type", Json::text("object")),
        ("minProperties", Json::Int(1)),
        ("additionalProperties", field),
    ]);
    let namespace = Json::object([
        ("description", Json::text("The collection, `database.collection`.")),
        ("type", Json::text("string")),
        ("pattern", Json::text("^[^.*?\\[{]+\\.[^*?\\[{]+$")),
    ]);
    let shard_key = table([("namespace", namespace), ("key", key)], &["namespace", "key"]);
    table(
        [
            ("core", core),
            ("bounded", list("Arrays the application keeps short.", bounded)),
            ("mirrors", list("Copied fields that must follow their source.", mirror)),
            ("shard-keys", list("Shard keys in use or planned.", shard_key)),
        ],
        &[],
    )
    .with("description", Json::text("Facts about the collections."))
}

fn deployment() -> Json {
    let version = Json::object([
        ("description", Json::text("Server version, major and minor.")),
        ("type", Json::text("string")),
        ("pattern", Json::text("^[0-9]+\\.[0-9]+(\\.[0-9]+)?$")),
    ]);
    let (least, most) = (i64::from(*SHARDS.start()), i64::from(*SHARDS.end()));
    let shards = Json::object([
        ("description", Json::text("Number of existing or planned shards.")),
        ("type", Json::text("integer")),
        ("minimum", Json::Int(least)),
        ("maximum", Json::Int(most)),
    ]);
    let often = Json::object([
        ("description", Json::text("Whether routers are added or removed often.")),
        ("type", Json::text("boolean")),
    ]);
    table(
        [
            ("server-version", version),
            ("shards", shards),
            ("topology", choice("Topology.", &DeclaredTopology::ALL.map(DeclaredTopology::name))),
            ("routers", whole("Number of mongos routers that clients reach.", 1)),
            ("members", whole("Number of replica set members that clients can read from.", 1)),
            ("connection-limit", whole("Connection limit.", 1)),
            (
                "limit-scope",
                choice(
                    "Whether the limit applies to the whole deployment or to each server. \
                     Default: to each server of a replica set, and to the whole of a sharded \
                     cluster.",
                    &LimitScope::ALL.map(LimitScope::name),
                ),
            ),
            ("client-ips", whole("Number of client IP addresses.", 1)),
            ("routers-change-often", often),
        ],
        &[],
    )
    .with("description", Json::text("Facts about the servers."))
}

fn service() -> Json {
    let name = string()
        .with(
            "description",
            Json::text("Name of the service; connection strings with this `appName` belong to it."),
        )
        .with("minLength", Json::Int(1));
    let entry = table(
        [
            ("name", name),
            (
                "class",
                choice(
                    "Class of the service, which determines its reads and writes.",
                    &ServiceClass::ALL.map(ServiceClass::name),
                ),
            ),
            ("code", list("Globs for the files of its source code.", string())),
            ("peak-qps", positive("Peak operations per second of one instance.")),
            ("latency-ms", positive("Mean time of an operation in milliseconds.")),
            ("instances", whole("Number of instances.", 1)),
            ("processes", whole("Number of processes per instance, each with its own pool.", 1)),
            (
                "stale-reads-ms",
                whole(
                    "Maximum age of data that it reads, in milliseconds; 0 if the data must be \
                     current.",
                    0,
                ),
            ),
            ("pool", whole("maxPoolSize, if the connection strings do not contain it.", 1)),
        ],
        &["name"],
    );
    list("The services that connect.", entry)
}

fn guard() -> Json {
    let text = |description: &str| string().with("description", Json::text(description));
    let limit = table(
        [
            ("user", text("Glob pattern for users, as `database.user`. Default: all users.")),
            ("application", text("Glob pattern for `appName`. Default: all applications.")),
            ("operations-per-second", whole("Maximum number of commands per second.", 1)),
            ("bytes-per-second", whole("Maximum number of command bytes per second.", 1)),
            ("concurrent", whole("Maximum number of commands that run at the same time.", 1)),
        ],
        &[],
    );
    table(
        [
            ("upstream", text("Connection string of the deployment.")),
            (
                "listen",
                text("Address that clients connect to: `HOST:PORT`, or the path of a Unix socket."),
            ),
            (
                "admin",
                text("Admin address for health checks, metrics and state: a loopback `IP:PORT`."),
            ),
            (
                "advertise",
                text("Host name under which clients reach the guard, for `face = \"member\"`."),
            ),
            ("face", words("How the guard appears to clients.", &FACES, "router")),
            ("auth", choice("How clients log in.", &AUTHS)),
            ("users", text("Users file, for `auth = \"list\"`.")),
            ("tls-certificate", text("PEM file with the guard's certificate and key.")),
            ("tls-client-ca", text("PEM file with the CAs that sign client certificates.")),
            ("max-pool", whole("Maximum number of connections per server and user.", 1)),
            ("min-pool", whole("Minimum number of open connections per server and user.", 0)),
            (
                "max-server-connections",
                whole("Maximum number of connections per server, for all users together.", 1),
            ),
            ("wait-seconds", whole("Seconds that a command waits for a connection.", 1)),
            ("max-clients", whole("Maximum number of clients.", 1)),
            (
                "grace-seconds",
                whole("Seconds that clients have to finish when the guard shuts down.", 0),
            ),
            ("memory-mb", whole("Maximum size of all messages in memory, in megabytes.", 64)),
            ("limit", list("Rate limits for users and applications.", limit)),
        ],
        &[],
    )
}

fn choice(description: &str, words: &[&str]) -> Json {
    Json::object([
        ("description", Json::text(description)),
        ("enum", Json::texts(words.iter().copied())),
    ])
}

fn positive(description: &str) -> Json {
    Json::object([
        ("description", Json::text(description)),
        ("type", Json::text("number")),
        ("exclusiveMinimum", Json::Int(0)),
    ])
}

fn suppress() -> Json {
    let entry = table(
        [
            ("rule", string().with("description", Json::text("A rule by code, family or name."))),
            ("match", described("Only there.", reference("pattern"))),
            (
                "path",
                string().with(
                    "description",
                    Json::text(
                        "Only these fields, or indexes by name: a glob such as `items[].*`.",
                    ),
                ),
            ),
            (
                "file",
                string().with(
                    "description",
                    Json::text(
                        "Only findings in these source files: a glob such as `src/legacy/**` for \
                         a full path or its end.",
                    ),
                ),
            ),
            ("reason", reason()),
            ("expires", day()),
        ],
        &["rule", "reason", "expires"],
    );
    list("Accepted findings.", entry)
}

fn waive() -> Json {
    let item = Json::object([
        ("description", Json::text("An item of a checklist.")),
        ("type", Json::text("string")),
        ("pattern", Json::text("^(CK-([1-9]|1[0-5])|SE-[1-9]|SC-[1-7])$")),
    ]);
    let by = string().with("description", Json::text("Who is responsible."));
    let entry = table(
        [("item", item), ("reason", reason()), ("by", by), ("expires", day())],
        &["item", "reason", "expires"],
    );
    list("Checklist items that are signed off although they do not pass.", entry)
}

fn reason() -> Json {
    string().with("description", Json::text("Why.")).with("minLength", Json::Int(1))
}

/// A TOML date, which is a string for editors that check with a schema.
fn day() -> Json {
    string()
        .with(
            "description",
            Json::text("Expiry date, the last date on which it applies, or `never`."),
        )
        .with("pattern", Json::text("^([0-9]{4}-[0-9]{2}-[0-9]{2}|never)$"))
}

/// A table that permits only these keys.
fn table<'k>(entries: impl IntoIterator<Item = (&'k str, Json)>, required: &[&str]) -> Json {
    let out = Json::object([
        ("type", Json::text("object")),
        ("properties", Json::object(entries)),
        ("additionalProperties", Json::Bool(false)),
    ]);
    if required.is_empty() {
        out
    } else {
        out.with("required", Json::texts(required.iter().copied()))
    }
}

fn list(description: &str, items: Json) -> Json {
    Json::object([
        ("description", Json::text(description)),
        ("type", Json::text("array")),
        ("items", items),
    ])
}

fn words(description: &str, words: &[&str], default: &str) -> Json {
    Json::object([
        ("description", Json::text(description)),
        ("enum", Json::texts(words.iter().copied())),
        ("default", Json::text(default)),
    ])
}

fn whole(description: &str, minimum: i64) -> Json {
    Json::object([
        ("description", Json::text(description)),
        ("type", Json::text("integer")),
        ("minimum", Json::Int(minimum)),
    ])
}

fn pattern() -> Json {
    string()
        .with(
            "description",
            Json::text("A glob for `database.collection`, such as `db_shop.t_log_*`."),
        )
        .with("minLength", Json::Int(1))
}

fn path() -> Json {
    string()
        .with("description", Json::text("A field as reports print it, such as `items[].price`."))
        .with("minLength", Json::Int(1))
}

fn string() -> Json {
    Json::object([("type", Json::text("string"))])
}

fn reference(name: &str) -> Json {
    Json::object([("$ref", Json::text(format!("#/definitions/{name}")))])
}

/// Draft 7 ignores all keywords next to a `$ref`, so a description needs a wrapper.
fn described(description: &str, schema: Json) -> Json {
    Json::object([("description", Json::text(description)), ("allOf", Json::List(vec![schema]))])
}

/// Joins the lines of a page, because editors wrap text themselves; paragraphs stay separate.
fn unwrapped(text: &str) -> String {
    let paragraphs: Vec<_> = text
        .split("\n\n")
        .map(|paragraph| paragraph.lines().map(str::trim).collect::<Vec<_>>().join(" "))
        .collect();
    paragraphs.join("\n\n")
}

fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    let mut out: String = chars.next().map(|c| c.to_uppercase().collect()).unwrap_or_default();
    out.push_str(chars.as_str());
    if !out.ends_with('.') {
        out.push('.');
    }
    out
}
