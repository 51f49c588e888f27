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
            ("select", described(
                    "Only these rules; all when empty. `pedantic` adds findings that are likely and not proven.",
                    reference("selected"),
                )),
            ("ignore", described("Never these rules.", reference("selectors"))),
            (
                "fail-on",
                words(
                    "The severity from which findings fail the run.",
                    &FailOn::ALL.map(FailOn::name),
                    "error",
                ),
            ),
            (
                "baseline",
                string().with(
                    "description",
                    Json::text("File of findings that are accepted for now, beside this file."),
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
                ("description", Json::text("On or off, whatever the profile says.")),
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
        // Not as `default`: an editor would offer to write out words that apply anyway.
        ThresholdValue::Words(_) => description.push_str(" Added to the rule's own list."),
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
                    "Which namespaces; matches the database's own name as well.",
                    reference("pattern"),
                ),
            ),
            ("ignore", described("Rules switched off there.", reference("selectors"))),
            (
                "select",
                described(
                    "Rules that speak there although this entry or one before it ignores them.",
                    reference("selectors"),
                ),
            ),
            ("rules", described("Settings that hold there.", reference("rules"))),
        ],
        &["match"],
    );
    list("Settings that hold for some namespaces only; later ones win.", entry)
}

fn collections() -> Json {
    let core = list("Collections of core business; inferred when absent.", reference("pattern"));
    let bounded = table(
        [
            ("match", reference("pattern")),
            ("path", described("The array.", reference("path"))),
            ("max", whole("Elements the application keeps at most.", 1)),
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
    .with("description", Json::text("What the application knows about its collections."))
}

fn deployment() -> Json {
    let version = Json::object([
        ("description", Json::text("The server's version, major and minor.")),
        ("type", Json::text("string")),
        ("pattern", Json::text("^[0-9]+\\.[0-9]+(\\.[0-9]+)?$")),
    ]);
    let (least, most) = (i64::from(*SHARDS.start()), i64::from(*SHARDS.end()));
    let shards = Json::object([
        ("description", Json::text("Shards there are or will be.")),
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
            (
                "topology",
                choice(
                    "How it is put together.",
                    &DeclaredTopology::ALL.map(DeclaredTopology::name),
                ),
            ),
            ("routers", whole("Routers (mongos) that clients reach.", 1)),
            ("members", whole("Members of the replica set that clients may read from.", 1)),
            ("connection-limit", whole("Connections that are accepted.", 1)),
            (
                "limit-scope",
                choice(
                    "What the limit is about: all connections together, or those of each server. By default each server of a replica set, and all of a cluster.",
                    &LimitScope::ALL.map(LimitScope::name),
                ),
            ),
            ("client-ips", whole("Addresses that clients come from.", 1)),
            ("routers-change-often", often),
        ],
        &[],
    )
    .with("description", Json::text("What is known about the servers."))
}

fn service() -> Json {
    let name = string()
        .with(
            "description",
            Json::text("Its name; connection strings with this `appName` belong to it."),
        )
        .with("minLength", Json::Int(1));
    let entry = table(
        [
            ("name", name),
            (
                "class",
                choice(
                    "What it may expect of its reads and writes.",
                    &ServiceClass::ALL.map(ServiceClass::name),
                ),
            ),
            ("code", list("Globs over the files of its source code.", string())),
            ("peak-qps", positive("Operations in a second at the peak, of one instance.")),
            ("latency-ms", positive("Mean time of an operation in milliseconds.")),
            ("instances", whole("Instances that run at the same time.", 1)),
            ("processes", whole("Processes in an instance, each with a pool of its own.", 1)),
            (
                "stale-reads-ms",
                whole(
                    "How old what it reads may be, in milliseconds; 0 when it must be current.",
                    0,
                ),
            ),
            ("pool", whole("maxPoolSize, when connection strings do not tell it.", 1)),
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
                        "Only what is said of source code in these files: a glob such as \
                         `src/legacy/**`, for a whole path or the end of one.",
                    ),
                ),
            ),
            ("reason", reason()),
            ("expires", day()),
        ],
        &["rule", "reason", "expires"],
    );
    list("Findings that are accepted for a time.", entry)
}

fn waive() -> Json {
    let item = Json::object([
        ("description", Json::text("An item of a checklist.")),
        ("type", Json::text("string")),
        ("pattern", Json::text("^(CK-([1-9]|1[0-5])|SE-[1-9]|SC-[1-7])$")),
    ]);
    let by = string().with("description", Json::text("Who answers for it."));
    let entry = table(
        [("item", item), ("reason", reason()), ("by", by), ("expires", day())],
        &["item", "reason", "expires"],
    );
    list("Items of checklists that are signed off although they do not pass.", entry)
}

fn reason() -> Json {
    string().with("description", Json::text("Why.")).with("minLength", Json::Int(1))
}

/// A TOML date, which is a string for editors that check with a schema.
fn day() -> Json {
    string()
        .with("description", Json::text("The last day on which it holds, or `never`."))
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
            Json::text("A glob over `database.collection`, such as `db_shop.t_log_*`."),
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
