//! Applies the proposals of an audit to a live copy of the data, in the order of the script that
//! the audit writes. Then it audits again: the proposed findings must be gone, no new ones may
//! appear, and no value may be lost.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsStr,
    fs,
    path::Path,
    process::Command,
};

use bson::{Document, doc};
use docward_model::{Step, UnsetWhere};
use serde_json::Value;

use crate::{
    shared::Servers,
    shell::{Statement, statements},
    values::{self, Documents},
};

/// A proposal of the first audit, and what came of it.
#[derive(Clone, Debug)]
pub struct Proposal {
    /// The rule.
    pub rule: String,
    /// The database, the collection or the field.
    pub place: String,
    /// The statements.
    pub command: String,
    /// The outcome of the proposal.
    pub outcome: Outcome,
    /// The number of values that documents lost through it.
    pub lost: usize,
    key: Key,
    fingerprint: String,
    steps: Vec<Step>,
}

/// The outcome of a proposal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It only shows documents, or it needs a decision or a sharded cluster.
    NotRun,
    /// The server refused it.
    Failed(String),
    /// It ran, and its finding is gone.
    Gone,
    /// It ran, and its finding is still there.
    Left,
}

/// The results of two audits of a data set. The proposals of the first audit are applied before the
/// second.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// The proposals, in the order in which they were applied.
    pub proposals: Vec<Proposal>,
    /// Findings of the second audit that the first did not have: rule, place and message.
    pub new: Vec<(String, String, String)>,
    /// Values that documents lost: rule, path and a value.
    pub lost: Vec<(String, String, String)>,
}

/// The figures of one rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// Its proposals.
    pub proposed: usize,
    /// Proposals that ran.
    pub applied: usize,
    /// Proposals that ran and whose finding is gone.
    pub gone: usize,
    /// Proposals that ran and whose finding remains.
    pub left: usize,
    /// Proposals that the server refused.
    pub failed: usize,
    /// Findings of the rule that only the second audit has.
    pub new: usize,
    /// Values lost through proposals of the rule.
    pub lost: usize,
}

impl std::ops::AddAssign for Row {
    fn add_assign(&mut self, other: Self) {
        self.proposed += other.proposed;
        self.applied += other.applied;
        self.gone += other.gone;
        self.left += other.left;
        self.failed += other.failed;
        self.new += other.new;
        self.lost += other.lost;
    }
}

impl Trace {
    /// The figures by rule.
    pub fn rows(&self) -> BTreeMap<String, Row> {
        let mut rows: BTreeMap<String, Row> = BTreeMap::new();
        for proposal in &self.proposals {
            let row = rows.entry(proposal.rule.clone()).or_default();
            row.proposed += 1;
            row.lost += proposal.lost;
            row.applied += usize::from(matches!(proposal.outcome, Outcome::Gone | Outcome::Left));
            row.gone += usize::from(proposal.outcome == Outcome::Gone);
            row.left += usize::from(proposal.outcome == Outcome::Left);
            row.failed += usize::from(matches!(proposal.outcome, Outcome::Failed(_)));
        }
        for (rule, ..) in &self.new {
            rows.entry(rule.clone()).or_default().new += 1;
        }
        rows
    }
}

/// The subject of a finding: rule, namespace and path.
type Key = (String, String, String);

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn key(finding: &Value) -> Key {
    (text(&finding["rule"]), text(&finding["namespace"]), text(&finding["path"]))
}

fn place((_, namespace, path): &Key) -> String {
    format!("{namespace} {path}").trim_end().to_owned()
}

/// Audits, applies all proposals that can be run, and audits again. `docward` is the program,
/// `options` are further arguments of `docward audit`.
pub fn converge(servers: &Servers, docward: &Path, options: &[&str]) -> Trace {
    let script = servers.directory().join("fixes.js");
    let before = audit(servers, docward, options, Some(&script));
    let script = fs::read_to_string(&script).unwrap_or_default();
    let mut trace = Trace { proposals: in_order(proposals(&before), &script), ..Trace::default() };
    for proposal in &mut trace.proposals {
        let Some(statements) = runnable(proposal) else { continue };
        let known: BTreeMap<_, _> = changed(&statements)
            .into_iter()
            .map(|place| (place.clone(), servers.documents(&place.0, &place.1)))
            .collect();
        let ran = statements.iter().try_for_each(|statement| servers.run(statement).map(drop));
        proposal.outcome = match ran {
            Ok(()) => Outcome::Gone,
            Err(error) => Outcome::Failed(error.to_string()),
        };
        let drops_copies = |step: &Step| {
            matches!(step, Step::UnsetField { documents: UnsetWhere::EqualTo { .. }, .. })
        };
        let may_drop_copies = proposal.steps.iter().any(drops_copies);
        for ((database, collection), before) in known {
            let after = servers.documents(&database, &collection);
            let lost = values::lost(&before, &after, may_drop_copies);
            proposal.lost += lost.count;
            let examples = lost.examples.into_iter().map(|(path, value)| {
                (proposal.rule.clone(), format!("{database}.{collection} {path}"), value)
            });
            trace.lost.extend(examples);
        }
    }
    for statement in last(&script) {
        if let Err(error) = servers.run(&statement) {
            panic!("{error}: {statement:?}");
        }
    }
    let after = audit(servers, docward, options, None);
    compare(&before, &after, &mut trace);
    trace
}

fn audit(servers: &Servers, docward: &Path, options: &[&str], script: Option<&Path>) -> Value {
    let uri = servers.uri();
    let mut arguments = vec!["audit", &uri, "--full", "--all-databases", "--format", "json"];
    arguments.extend(["--no-progress", "--fail-on", "never"]);
    arguments.extend(options);
    let mut command = Command::new(docward);
    command.args(arguments);
    if let Some(script) = script {
        command.args([OsStr::new("--emit-fixes"), script.as_os_str()]);
    }
    let output = command.output().unwrap_or_else(|error| panic!("{}: {error}", docward.display()));
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)))
}

fn proposals(report: &Value) -> Vec<Proposal> {
    let findings = report["findings"].as_array().expect("a report has findings").iter();
    findings
        .filter(|finding| finding["fix"]["steps"].is_array())
        .map(|finding| Proposal {
            rule: text(&finding["rule"]),
            place: place(&key(finding)),
            command: text(&finding["fix"]["command"]),
            outcome: Outcome::NotRun,
            lost: 0,
            key: key(finding),
            fingerprint: text(&finding["fingerprint"]),
            steps: serde_json::from_value(finding["fix"]["steps"].clone()).expect("known steps"),
        })
        .collect()
}

/// Sorts proposals by their place in the script.
fn in_order(mut proposals: Vec<Proposal>, script: &str) -> Vec<Proposal> {
    let mut ordered = Vec::new();
    for block in
        script.split("\n\n// ").filter(|block| block.starts_with(|c: char| c.is_ascii_digit()))
    {
        let rule = block.split(' ').nth(1).unwrap_or_default();
        let is_it = |one: &Proposal| one.rule == rule && block.contains(&one.command);
        let at = proposals.iter().position(is_it);
        ordered.push(proposals.remove(at.unwrap_or_else(|| panic!("not in the report: {block}"))));
    }
    let missing: Vec<_> = proposals.iter().filter(|one| !one.steps.is_empty()).collect();
    assert!(missing.is_empty(), "not in the script: {missing:?}");
    ordered
}

/// The statements at the end of the script, which set validators in the form of all fixes.
fn last(script: &str) -> Vec<Statement> {
    let blocks = script.split("\n\n// ").filter(|block| block.starts_with("Last: "));
    let lines = blocks.filter_map(|block| block.lines().find(|line| line.contains("collMod:")));
    lines
        .flat_map(|line| {
            let text = line.trim_start_matches("// ").trim().trim_end_matches(';');
            statements(text).unwrap_or_else(|error| panic!("{error:?}: {line}"))
        })
        .collect()
}

/// The statements of a proposal, if each can be run as it is and changes something.
fn runnable(proposal: &Proposal) -> Option<Vec<Statement>> {
    let needs_people = |step: &Step| {
        let shows = matches!(step, Step::Inspect { .. });
        let account = matches!(
            step,
            Step::CreateAdministrator | Step::GrantRoles { .. } | Step::RevokeRoles { .. }
        );
        shows || account
    };
    if proposal.steps.is_empty() || proposal.steps.iter().any(needs_people) {
        return None;
    }
    statements(&proposal.command).ok()
}

/// The collections whose documents the statements update.
fn changed(statements: &[Statement]) -> BTreeSet<(String, String)> {
    let updates = statements.iter().filter(|one| one.call.method == "updateMany");
    updates
        .filter_map(|one| Some((one.call.database.clone(), one.call.collection.clone()?)))
        .collect()
}

impl Servers {
    /// The documents of a collection by their `_id`.
    fn documents(&self, database: &str, collection: &str) -> Documents {
        let target = self.client().database(database).collection::<Document>(collection);
        self.wait(async {
            let mut cursor = target.find(doc! {}).await.expect("a collection can be read");
            let mut documents = Documents::new();
            while cursor.advance().await.expect("a collection can be read") {
                let document = cursor.deserialize_current().expect("a document");
                let id = document.get("_id").map(|id| format!("{id:?}")).unwrap_or_default();
                documents.insert(id, document);
            }
            documents
        })
    }
}

fn compare(before: &Value, after: &Value, trace: &mut Trace) {
    let findings = |report: &Value| report["findings"].as_array().cloned().unwrap_or_default();
    let fingerprints = |report: &Value| -> BTreeSet<String> {
        findings(report).iter().map(|one| text(&one["fingerprint"])).collect()
    };
    let (known, remaining) = (fingerprints(before), fingerprints(after));
    let renames = Renames::of(&trace.proposals);
    let before_keys: BTreeSet<Key> =
        findings(before).iter().map(|one| renames.follow(&key(one))).collect();
    let after_keys: BTreeSet<Key> = findings(after).iter().map(key).collect();
    for proposal in trace.proposals.iter_mut().filter(|one| one.outcome == Outcome::Gone) {
        let now = renames.follow(&proposal.key);
        let moved = now != proposal.key && after_keys.contains(&now);
        if moved || remaining.contains(&proposal.fingerprint) {
            proposal.outcome = Outcome::Left;
        }
    }
    for finding in findings(after) {
        let key = key(&finding);
        if !known.contains(&text(&finding["fingerprint"])) && !before_keys.contains(&key) {
            trace.new.push((key.0.clone(), place(&key), text(&finding["what"])));
        }
    }
}

/// The renames of applied proposals, in order.
struct Renames(Vec<Rename>);

enum Rename {
    Collection { from: String, to: String },
    Field { namespace: String, from: String, to: String },
}

impl Renames {
    fn of(proposals: &[Proposal]) -> Self {
        let applied = proposals.iter().filter(|one| one.outcome == Outcome::Gone);
        let renames = applied.flat_map(|one| &one.steps).flat_map(|step| match step {
            Step::RenameCollection { namespace, to } => vec![Rename::Collection {
                from: namespace.to_string(),
                to: format!("{}.{to}", namespace.database),
            }],
            Step::RenameFields { namespace, renames, .. } => {
                let field = |one: &docward_model::Rename| Rename::Field {
                    namespace: namespace.to_string(),
                    from: one.from.to_string(),
                    to: one.to.to_string(),
                };
                renames.iter().map(field).collect()
            }
            Step::LiftField { namespace, rename } => vec![Rename::Field {
                namespace: namespace.to_string(),
                from: rename.from.to_string(),
                to: rename.to.to_string(),
            }],
            _ => Vec::new(),
        });
        Self(renames.collect())
    }

    /// Returns the key of a finding after the renames.
    fn follow(&self, (rule, namespace, path): &Key) -> Key {
        let (mut namespace, mut path) = (namespace.clone(), path.clone());
        for rename in &self.0 {
            match rename {
                Rename::Collection { from, to } if *from == namespace => namespace.clone_from(to),
                Rename::Field { namespace: at, from, to } if *at == namespace => {
                    let rest = path.strip_prefix(from.as_str());
                    let rest = rest.filter(|rest| rest.is_empty() || rest.starts_with(['.', '[']));
                    if let Some(rest) = rest {
                        path = format!("{to}{rest}");
                    }
                }
                _ => {}
            }
        }
        (rule.clone(), namespace, path)
    }
}
