//! Runs rules on examples written as text: the fences of rule pages and the tests of rule files.
//!
//! Lines are documents. CONTRIBUTING.md has the complete grammar; the common forms are:
//!
//! - `@ db.coll` starts a collection;
//! - `options {…}` and `index {…}` set catalogue facts;
//! - `ran {…}` is an operation on the collection, as the server's profiler records it;
//! - `log {…}` is a line of a server's log;
//! - `x500 {…}` repeats a document or operation.

use std::{collections::BTreeMap, sync::Arc};

use docward_bson::{json, value::to_value};
use docward_model::{
    ClientUri, Code, Collection, CollectionKind, CollectionOptions, CollectionStats, CoreSource,
    Counted, DeclaredTopology, Deployment, Evidence, Finding, Index, IndexKey, IndexUsage,
    LimitScope, Location, Namespace, NamespaceOverride, NamespacePattern, ProfileName, Purpose,
    RuleSettings, Settings, Severity, ShardKey, Suppression, ThresholdSetting, ThresholdValue,
    Value, WorkloadKind,
    code::{Place, SetPath},
};
use docward_profile::{Links, Profiler, relate};
use docward_schema::{Tally, Validator};
use docward_source::{FileKind, importers, module, scan, survey};
use docward_workload::{Entry, Ran, Recorder, log_entry, profile_entry, running_entry};

use crate::{Outcome, RULES, cx::SUPPRESSIONS, engine};

mod facts;
mod placeholders;

use facts::{key_fields, network, server, service, template_of, uri_of};
use placeholders::Counter;

/// Findings of one rule on an example, with default settings.
pub fn check(code: &str, body: &str) -> Vec<Finding> {
    check_with(code, "", body)
}

/// Findings of one rule on an example that only `--select pedantic` shows.
pub fn check_pedantic(code: &str, body: &str) -> Vec<Finding> {
    let rule = RULES.iter().find(|r| r.meta.code == code).expect("the rule exists");
    let mut example = Example::new(code, "", body);
    example.settings.pedantic = true;
    let mut outcome = Outcome::default();
    engine::run(rule, &example.evidence, &example.settings, &mut outcome);
    outcome.findings.retain(|finding| finding.data.get("pedantic").is_some());
    outcome.findings
}

/// Returns the findings of one rule on an example, as a complete run reports them.
pub fn judged(code: &str, body: &str) -> Vec<Finding> {
    let example = Example::new(code, "", body);
    let mut findings = engine::judge(&example.evidence, &example.settings).findings;
    findings.retain(|finding| finding.rule == code);
    findings
}

/// Findings of one rule on an example, with settings `key=value,key=value`.
pub fn check_with(code: &str, settings: &str, body: &str) -> Vec<Finding> {
    let rule = RULES.iter().find(|r| r.meta.code == code).expect("the rule exists");
    let example = Example::new(code, settings, body);
    if rule.meta.family() == SUPPRESSIONS {
        let mut findings = engine::judge(&example.evidence, &example.settings).findings;
        findings.retain(|finding| finding.rule == code);
        return findings;
    }
    let mut outcome = Outcome::default();
    engine::run(rule, &example.evidence, &example.settings, &mut outcome);
    docward_model::arrange(&mut outcome.findings);
    outcome.findings
}

/// Returns the severities of one rule's findings on an example, in order.
pub fn severities(code: &str, settings: &str, body: &str) -> Vec<Severity> {
    check_with(code, settings, body).iter().map(|finding| finding.severity).collect()
}

/// Returns the number of findings of a rule on a client's connection string, written without
/// `mongodb://`.
pub fn count_on(code: &str, settings: &str, uri: &str) -> usize {
    check_with(code, settings, &format!("uri mongodb://{uri}")).len()
}

/// A service declared with these keys, and a client of it with these options.
pub fn of_service(keys: &str, options: &str) -> String {
    format!("service {{\"name\": \"x\"{keys}}}\nuri mongodb://a,b/?appName=x&{options}")
}

/// Findings of one rule on an example whose first collection was also counted by a server.
pub fn check_counted(code: &str, body: &str, counted: Counted) -> Vec<Finding> {
    check_changed(code, body, |collection| collection.counted = Some(Box::new(counted)))
}

/// Findings of one rule on an example with additional facts about its first collection.
pub fn check_changed(code: &str, body: &str, change: impl FnOnce(&mut Collection)) -> Vec<Finding> {
    let rule = RULES.iter().find(|r| r.meta.code == code).expect("the rule exists");
    let mut example = Example::new(code, "", body);
    change(&mut example.evidence.collections[0]);
    let mut outcome = Outcome::default();
    engine::run(rule, &example.evidence, &example.settings, &mut outcome);
    outcome.findings
}

/// Returns the findings of one rule for an example whose documents are a sample of this many.
pub fn check_sampled(code: &str, body: &str, total: u64) -> Vec<Finding> {
    check_changed(code, body, |collection| {
        collection.profile.as_mut().expect("documents").total = total;
    })
}

/// A threshold set for the namespaces that a pattern matches.
pub fn override_at(
    pattern: &str,
    code: &str,
    key: &str,
    value: ThresholdSetting,
) -> NamespaceOverride {
    let rule = RuleSettings {
        thresholds: BTreeMap::from([(key.to_owned(), value)]),
        ..RuleSettings::default()
    };
    NamespaceOverride {
        pattern: NamespacePattern::new(pattern).expect("a glob"),
        ignore: Vec::new(),
        select: Vec::new(),
        rules: BTreeMap::from([(code.to_owned(), rule)]),
    }
}

/// Findings of one rule on an example, with a threshold of a rule set for its namespace.
pub fn check_at(
    code: &str,
    body: &str,
    (owner, key, value): (&str, &str, ThresholdSetting),
) -> Vec<Finding> {
    let rule = RULES.iter().find(|r| r.meta.code == code).expect("the rule exists");
    let mut example = Example::new(code, "", body);
    example.settings.overrides.push(override_at("db_shop.*", owner, key, value));
    let mut outcome = Outcome::default();
    engine::run(rule, &example.evidence, &example.settings, &mut outcome);
    outcome.findings
}

/// Evidence and settings of an example, for tests of several rules or the checklist.
pub struct Example {
    /// The evidence of the example.
    pub evidence: Evidence,
    /// The settings of the run.
    pub settings: Settings,
}

impl Example {
    /// Parses an example; panics with the faulty line, since it is only used in tests.
    pub fn new(code: &str, settings: &str, body: &str) -> Self {
        let mut example = Self {
            evidence: Evidence {
                deployment: Deployment { server_version: None, names_are_real: true },
                ..Evidence::default()
            },
            // Examples use the profile in which every rule is on. Examples without naming rules set another profile.
            settings: Settings { profile: ProfileName::Vendor, ..Settings::default() },
        };
        let mut namespace = Namespace::new("db_shop", "t_order_item");
        for pair in split_settings(settings) {
            let (key, value) = pair.split_once('=').expect("settings are key=value");
            example.set(code, key.trim(), value.trim(), &mut namespace);
        }
        // A declared model comes first, up to the line that ends a YAML document.
        let body = match body.strip_prefix("model\n").and_then(|rest| rest.split_once("\n...\n")) {
            Some((model, rest)) => {
                let model = docward_design::read("model.yaml", model);
                example.evidence.design = Some(model.unwrap_or_else(|faults| panic!("{faults:?}")));
                rest
            }
            None => body,
        };
        match body.strip_prefix("source ").and_then(|rest| rest.split_once('\n')) {
            // Documents may follow after a line that ends the source code.
            Some(_) => match body.split_once("\n...\n") {
                Some((sources, data)) => {
                    example.read_sources(sources);
                    example.read(data, namespace);
                }
                None => example.read_sources(body),
            },
            None => example.read(body, namespace),
        }
        example
    }

    /// Source code instead of lines. A line `source FILE` begins each file.
    fn read_sources(&mut self, body: &str) {
        let mut files: Vec<(&str, FileKind, String)> = Vec::new();
        for line in body.split_inclusive('\n') {
            let named = line.trim_end().strip_prefix("source ").filter(|file| !file.contains(' '));
            match (named.and_then(|file| Some((file, FileKind::of(file)?))), files.last_mut()) {
                (Some((file, kind)), _) => files.push((file, kind, String::new())),
                (None, Some((_, _, text))) => text.push_str(line),
                (None, None) => panic!("{body}: a file that is looked at"),
            }
        }
        let texts: Vec<_> =
            files.iter().map(|(file, kind, text)| (*file, *kind, text.as_str())).collect();
        let known = survey(&texts);
        let mut code = Code::default();
        for (file, kind, text) in &files {
            let scanned = scan(file, file, text, *kind, &known, docward_code::declared_models);
            assert!(scanned.problems.is_empty(), "{:?}", scanned.problems);
            self.evidence.uris.extend(scanned.clients);
            code.absorb(scanned.code);
        }
        let modules = files.iter().filter_map(|(file, kind, text)| {
            Some(((*file).to_owned(), module(*kind, file, text.as_bytes())?))
        });
        code.imported_by = importers(&modules.collect());
        self.evidence.uris.retain(|uri| {
            !uri.site.as_ref().is_some_and(|site| code.is_hand_run(&site.location.file))
        });
        code.paths = files.iter().map(|(file, ..)| (*file).to_owned()).collect();
        self.evidence.code = Some(code);
    }

    fn set(&mut self, code: &str, key: &str, value: &str, namespace: &mut Namespace) {
        let settings = &mut self.settings;
        let pattern = |text: &str| NamespacePattern::new(text).expect("a glob");
        match key {
            "ns" => *namespace = Namespace::parse(value).expect("a namespace"),
            "profile" if value == "neutral" => settings.profile = ProfileName::Neutral,
            "core" => {
                let mut patterns = match std::mem::take(&mut settings.core) {
                    CoreSource::Declared(patterns) => patterns,
                    CoreSource::Inferred => Vec::new(),
                };
                patterns.push(pattern(value));
                settings.core = CoreSource::Declared(patterns);
            }
            "shards" => settings.shards = Some(value.parse().expect("a number")),
            "version" => {
                let (major, minor) = value.split_once('.').expect("major.minor");
                let version = (major.parse().expect("major"), minor.parse().expect("minor"));
                settings.server_version = Some(version);
                self.evidence.deployment.server_version = Some(version);
            }
            "names" => self.evidence.deployment.names_are_real = value != "guessed",
            "mirror" => {
                let (ns, path) = value.split_once(':').expect("ns:path");
                settings.mirrors.push((pattern(ns), path.to_owned()));
            }
            "cap" => {
                let mut parts = value.split(':');
                let mut next = || parts.next().expect("ns:path:cap");
                let (ns, path, cap) = (next(), next(), next());
                settings.bounded_arrays.push((
                    pattern(ns),
                    path.to_owned(),
                    cap.parse().expect("a cap"),
                ));
            }
            "today" => settings.today = Some(value.to_owned()),
            // `suppress=RULE:PATTERN:LAST DAY`; all parts but the first may be omitted.
            "suppress" => {
                let mut parts = value.split(':');
                let mut next = || parts.next().filter(|part| !part.is_empty());
                let rule = next().expect("a rule").to_owned();
                settings.suppressions.push(Suppression {
                    rule,
                    pattern: next().map(pattern),
                    path: None,
                    files: None,
                    is_comment: false,
                    reason: "being moved".to_owned(),
                    expires: next().map(str::to_owned),
                    location: Location { file: "docward.toml".to_owned(), line: 3, column: 1 },
                });
            }
            "topology" => {
                settings.deployment.topology =
                    DeclaredTopology::ALL.into_iter().find(|known| known.name() == value);
                assert!(settings.deployment.topology.is_some(), "no topology {value}");
            }
            "routers" => settings.deployment.routers = Some(value.parse().expect("a number")),
            "members" => settings.deployment.members = Some(value.parse().expect("a number")),
            "limit" => {
                settings.deployment.connection_limit = Some(value.parse().expect("a number"));
            }
            "limit-scope" => {
                settings.deployment.limit_scope =
                    LimitScope::ALL.into_iter().find(|known| known.name() == value);
                assert!(settings.deployment.limit_scope.is_some(), "no scope {value}");
            }
            "uri-db" => settings.uri_databases.push(value.to_owned()),
            "shard-key" => {
                let (ns, keys) = value.split_once(':').expect("ns:{keys}");
                let keys =
                    to_value(&json::parse_one(keys).expect("keys are a document")).expect("BSON");
                settings.shard_keys.push(ShardKey {
                    namespace: Namespace::parse(ns).expect("a namespace"),
                    fields: key_fields(&keys),
                });
            }
            _ => {
                let rule = RULES.iter().find(|r| r.meta.code == code).expect("the rule exists");
                let threshold = rule
                    .meta
                    .thresholds
                    .iter()
                    .find(|t| t.key == key)
                    .unwrap_or_else(|| panic!("{code} has no threshold {key}"));
                let parsed = match threshold.default {
                    ThresholdValue::Int(_) => {
                        ThresholdSetting::Int(value.parse().expect("a whole number"))
                    }
                    ThresholdValue::Float(_) => {
                        ThresholdSetting::Float(value.parse().expect("a number"))
                    }
                    ThresholdValue::Flag(_) => {
                        ThresholdSetting::Flag(value.parse().expect("true or false"))
                    }
                    ThresholdValue::Text(_) => ThresholdSetting::Text(value.to_owned()),
                    ThresholdValue::Words(_) => {
                        ThresholdSetting::Words(value.split(' ').map(str::to_owned).collect())
                    }
                };
                settings
                    .rules
                    .entry(code.to_owned())
                    .or_default()
                    .thresholds
                    .insert(key.to_owned(), parsed);
            }
        }
    }

    fn read(&mut self, body: &str, namespace: Namespace) {
        let mut parts: BTreeMap<Namespace, (Collection, Vec<u8>)> = BTreeMap::new();
        let mut current = namespace;
        let mut counter = Counter::default();
        let mut workload: Option<Recorder> = None;
        let mut schemas: BTreeMap<Namespace, Arc<Validator>> = BTreeMap::new();
        for line in body.lines().map(str::trim).filter(|l| !l.is_empty()) {
            if let Some(name) = line.strip_prefix("@ ") {
                current = Namespace::parse(name.trim()).expect("@ db.coll");
                parts.entry(current.clone()).or_insert_with(|| fresh(&current));
                continue;
            }
            // A path that source code sets: `writes t_order a.b.c`.
            if let Some((collection, path)) =
                line.strip_prefix("writes ").and_then(|rest| rest.split_once(' '))
            {
                let location = Location { file: "app.js".to_owned(), line: 1, column: 1 };
                let code = self.evidence.code.get_or_insert_default();
                code.set_paths.push(SetPath {
                    place: Place { location, function: None },
                    operator: "$set".to_owned(),
                    collection: Some(collection.to_owned()),
                    path: path.trim().to_owned(),
                });
                continue;
            }
            let part = parts.entry(current.clone()).or_insert_with(|| fresh(&current));
            let parse = |text: &str| {
                json::parse_one(text).unwrap_or_else(|error| panic!("{error}\n  in {text}"))
            };
            if let Some(uri) = line.strip_prefix("uri ") {
                self.evidence.uris.push(uri_of(uri, Purpose::Client));
            } else if let Some(uri) = line.strip_prefix("source ") {
                self.evidence.uris.push(uri_of(uri, Purpose::Source));
            } else if let Some(uri) = line.strip_prefix("file ") {
                let place = |at: docward_uri::At| Location {
                    file: "clients.txt".to_owned(),
                    line: 1,
                    column: at.offset as u32 + 1,
                };
                let parsed = docward_uri::parse(uri).unwrap_or_else(|fault| panic!("{fault}"));
                let client = parsed.client_at(Purpose::Client, &place);
                self.evidence.uris.push(ClientUri { is_from_file: true, ..client });
            } else if let Some(template) = line.strip_prefix("template ") {
                self.evidence.uris.push(template_of(template));
            } else if let Some(facts) = line.strip_prefix("service ") {
                let value = to_value(&parse(facts)).expect("BSON");
                self.settings.services.push(service(&value));
            } else if let Some(facts) = line.strip_prefix("network ") {
                let value = to_value(&parse(facts)).expect("BSON");
                self.evidence.network = Some(network(&value));
            } else if let Some(facts) = line.strip_prefix("server ") {
                let value = to_value(&parse(facts)).expect("BSON");
                self.evidence.server = Some(server(&value));
            } else if let Some(options) = line.strip_prefix("options ") {
                let value = to_value(&parse(options)).expect("BSON");
                if value.get("viewOn").is_some() {
                    part.0.kind = CollectionKind::View;
                } else if value.get("timeseries").is_some() {
                    part.0.kind = CollectionKind::TimeSeries;
                } else if value.get("capped").is_some_and(Value::is_truthy) {
                    part.0.kind = CollectionKind::Capped;
                }
                part.0.options = Some(CollectionOptions::from_value(&value));
            } else if let Some(schema) = line.strip_prefix("schema ") {
                let validator = Validator::compile(&parse(schema));
                let validator = validator.unwrap_or_else(|fault| panic!("{fault}\n  in {schema}"));
                schemas.insert(current.clone(), Arc::new(validator));
            } else if let Some(index) = line.strip_prefix("index ") {
                let value = to_value(&parse(index)).expect("BSON");
                let mut index = Index::from_value(&value).expect("an index has a key");
                if let Some(used) = value.get("used").and_then(Value::as_int) {
                    let since = value.get("since").and_then(Value::as_int);
                    let operations = used as u64;
                    let members = value.get("members").and_then(Value::as_int).unwrap_or(0) as u32;
                    index.usage = Some(IndexUsage { operations, since, members });
                    index.bytes = value.get("bytes").and_then(Value::as_int).map(|n| n as u64);
                }
                if index.name.is_empty() {
                    index.name =
                        index.keys.iter().map(|k| k.path.as_str()).collect::<Vec<_>>().join("_");
                }
                part.0.indexes.get_or_insert_default().push(index);
            } else if let Some(counts) = line.strip_prefix("stats ") {
                let value = to_value(&parse(counts)).expect("BSON");
                let count = |name| value.get(name).and_then(Value::as_int).map(|n| n as u64);
                part.0.stats = Some(CollectionStats {
                    documents: count("documents").unwrap_or(0),
                    invalid: count("invalid"),
                    ..CollectionStats::default()
                });
            } else if let Some(rest) = line.strip_prefix("ran ") {
                let recorder = workload.get_or_insert_with(recorder);
                let (times, text) = repeated(rest);
                for _ in 0..times {
                    let row = to_value(&parse(&counter.fill(text))).expect("BSON");
                    recorder.add(Entry::Ran(Box::new(operation(row, &current, counter.i))));
                }
            } else if let Some(rest) = line.strip_prefix("running ") {
                let recorder = workload.get_or_insert_with(recorder);
                let row = to_value(&parse(rest)).expect("BSON");
                let ran = running_entry(&running(row, &current), 3).expect("a long operation");
                recorder.add(Entry::Ran(Box::new(ran)));
            } else if let Some(rest) = line.strip_prefix("log ") {
                let recorder = workload.get_or_insert_with(recorder);
                let (times, text) = repeated(rest);
                for _ in 0..times {
                    let entry = to_value(&parse(&counter.fill(text))).expect("BSON");
                    recorder.add(log_entry(&entry).expect("a line of a log"));
                }
            } else {
                let (times, text) = repeated(line);
                for _ in 0..times {
                    part.1.extend(parse(&counter.fill(text)));
                }
            }
        }
        self.evidence.workload = workload.map(Recorder::finish);
        let mut links: Vec<(Namespace, Links)> = Vec::new();
        for (namespace, (mut collection, bytes)) in parts {
            if !self.evidence.databases.contains(&namespace.database) {
                self.evidence.databases.push(namespace.database.clone());
            }
            if !bytes.is_empty() {
                let mut profiler = Profiler::new();
                profiler.add_block(&bytes, 0);
                let profiled = profiler.finish();
                collection.profile = Some(profiled.profile);
                if let Some(validator) = schemas.get(&namespace) {
                    let mut tally = Tally::new(Arc::clone(validator));
                    tally.add_block(&bytes, 0);
                    collection.checked = Some(Box::new(tally.finish()));
                }
                links.push((namespace, profiled.links));
            }
            self.evidence.collections.push(collection);
        }
        let (references, copies) = relate(&links, &[]);
        self.evidence.references = references;
        self.evidence.copies = copies;
        self.evidence.families = docward_profile::families(&self.evidence.collections);
    }
}

/// `x500 …`: the number of repetitions, and the line.
fn repeated(line: &str) -> (u64, &str) {
    match line.strip_prefix('x').and_then(|rest| rest.split_once(' ')) {
        Some((times, text)) if times.chars().all(|c| c.is_ascii_digit()) => {
            (times.parse().expect("a count"), text)
        }
        _ => (1, line),
    }
}

fn recorder() -> Recorder {
    let mut recorder = Recorder::new();
    recorder.begin("example", WorkloadKind::Profiler);
    recorder
}

/// A row of `$currentOp`; missing fields get default values.
fn running(row: Value, namespace: &Namespace) -> Value {
    let mut entries = row.entries().to_vec();
    for (key, value) in [
        ("type", Value::Text("op".into())),
        ("active", Value::Bool(true)),
        ("client", Value::Text("10.0.0.1:50000".into())),
        ("ns", Value::Text(namespace.to_string())),
    ] {
        if row.get(key).is_none() {
            entries.push((key.to_owned(), value));
        }
    }
    Value::Map(entries)
}

/// A row of the profiler; missing fields get default values. Operations follow each other at ten
/// milliseconds unless `ts` says otherwise.
fn operation(mut row: Value, namespace: &Namespace, i: u64) -> Ran {
    let defaults = [
        ("ts", Value::Date(1_710_000_000_000 + i as i64 * 10)),
        ("op", Value::Text("command".into())),
        ("ns", Value::Text(namespace.to_string())),
        ("client", Value::Text("10.0.0.1".into())),
        ("millis", Value::Int(5)),
    ];
    if let Value::Map(entries) = &mut row {
        for (key, value) in defaults {
            if !entries.iter().any(|(k, _)| k == key) {
                entries.push((key.to_owned(), value));
            }
        }
    }
    profile_entry(&row).expect("a row of the profiler")
}

fn fresh(namespace: &Namespace) -> (Collection, Vec<u8>) {
    let id = Index {
        name: "_id_".into(),
        keys: vec![IndexKey { path: "_id".into(), kind: docward_model::DirectionKind::Ascending }],
        ..Index::default()
    };
    let collection = Collection {
        options: Some(CollectionOptions::default()),
        indexes: Some(vec![id]),
        ..Collection::named(namespace.clone())
    };
    (collection, Vec::new())
}

/// Splits at commas outside braces.
fn split_settings(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut depth = 0;
    for c in text.chars() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        parts.last_mut().expect("never empty").push(c);
    }
    parts.retain(|p| !p.trim().is_empty());
    parts
}
