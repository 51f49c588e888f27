//! Runs the registry over evidence.

use std::collections::{BTreeMap, BTreeSet};

use docward_model::{
    Collection, CoreSource, Evidence, Finding, Fix, Namespace, Need, Settings, Skipped, Step,
    Workload, arrange,
};

use crate::{
    Check, Cx, RULES, Rule,
    cx::{SUPPRESSIONS, Shared},
    facts::{
        indexes::{renaming, sharding},
        remedies,
        schema::validators,
    },
    proposed_change::ProposedChange,
};

/// The result of a run.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The findings in the order of reports.
    pub findings: Vec<Finding>,
    /// Findings turned off for their namespace, or accepted for now.
    pub suppressed: u64,
    /// The findings that are accepted for now: left out of reports, but not of checklists.
    pub withheld: Vec<Finding>,
    /// The number of findings that each entry of [`Settings::suppressions`] covers.
    pub kept_back: Vec<u64>,
    /// Rules without the evidence they need, sorted.
    pub skipped: Vec<Skipped>,
    /// The changes of fields that the findings propose, in the order of the rules.
    pub changes: Vec<ProposedChange>,
}

impl Outcome {
    /// The rules that ran and had all evidence they need.
    pub fn judged(&self, settings: &Settings) -> impl Iterator<Item = &'static Rule> {
        RULES.iter().copied().filter(|rule| {
            settings.is_on(&rule.meta) && !self.skipped.iter().any(|s| s.rule == rule.meta.code)
        })
    }
}

/// Applies every rule that is turned on.
pub fn judge(evidence: &Evidence, settings: &Settings) -> Outcome {
    let mut outcome = Outcome::default();
    let on = RULES.iter().copied().filter(|rule| settings.is_on(&rule.meta));
    // The rules about suppressions run last, because they check what each suppression covered.
    let (last, first): (Vec<_>, Vec<_>) = on.partition(|rule| rule.meta.family() == SUPPRESSIONS);
    for rule in first.into_iter().chain(last) {
        ask(rule, evidence, settings, &mut outcome);
    }
    outcome.kept_back.resize(settings.suppressions.len(), 0);
    for findings in [&mut outcome.findings, &mut outcome.withheld] {
        arrange(findings);
        // A string that several clients use is one place, and one finding.
        findings.dedup_by(|a, b| {
            a.location.is_some()
                && (&a.rule, &a.location, &a.at, &a.what) == (&b.rule, &b.location, &b.at, &b.what)
        });
        tell_apart(findings);
        remedies::settle(findings);
        make_way(evidence, findings);
    }
    outcome.skipped.sort();
    outcome.skipped.dedup();
    outcome
}

/// Returns the changes that the rules about types propose for the fields of collections. `schema infer` describes the
/// result in addition to the stored types, as the validator proposed by `V001` does.
pub fn type_changes(evidence: &Evidence, settings: &Settings) -> Vec<ProposedChange> {
    let mut outcome = Outcome::default();
    let about_types = |rule: &&Rule| {
        let code = rule.meta.code;
        rule.meta.family() == 'T' || code == "R001" || code == "D010"
    };
    let on = RULES.iter().copied().filter(|rule| settings.is_on(&rule.meta));
    for rule in on.filter(about_types) {
        ask(rule, evidence, settings, &mut outcome);
    }
    outcome.changes
}

/// Appends numbers to the fingerprints of findings that differ only in their text.
fn tell_apart(findings: &mut [Finding]) {
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    for finding in findings {
        let times = seen.entry(finding.fingerprint.clone()).or_default();
        *times += 1;
        if *times > 1 {
            finding.fingerprint.push_str(&format!("-{times}"));
        }
    }
}

/// Adapts the remedies to the validators of their collections, and adds steps for indexes on renamed fields.
fn make_way(evidence: &Evidence, findings: &mut [Finding]) {
    renaming::move_indexes(evidence, findings);
    let mut changing: BTreeMap<Namespace, usize> = BTreeMap::new();
    for finding in findings.iter() {
        let updating = finding.fix.iter().flat_map(Fix::steps).filter(|s| s.updates_documents());
        let namespaces: BTreeSet<&Namespace> = updating.filter_map(Step::namespace).collect();
        for namespace in namespaces {
            *changing.entry(namespace.clone()).or_default() += 1;
        }
    }
    // If several remedies change a collection, people may apply any of them. No remedy can assume the documents' final
    // form.
    changing.retain(|_, remedies| *remedies == 1);
    for finding in findings {
        validators::make_way(evidence, finding, &|namespace| changing.contains_key(namespace));
    }
}

/// Applies one rule as if it were the only one.
pub(crate) fn run(
    rule: &'static Rule,
    evidence: &Evidence,
    settings: &Settings,
    out: &mut Outcome,
) {
    ask(rule, evidence, settings, out);
    make_way(evidence, &mut out.findings);
}

/// Returns the findings of one rule.
fn ask(rule: &'static Rule, evidence: &Evidence, settings: &Settings, out: &mut Outcome) {
    if let Some(missing) = missing_everywhere(rule, evidence, settings) {
        out.skipped.push(Skipped { rule: rule.meta.code.into(), needs: missing.name().to_owned() });
        return;
    }
    let shared = Shared::default();
    let mut with = |namespace: Option<String>, call: &mut dyn FnMut(&mut Cx<'_>)| {
        call(&mut Cx {
            rule: &rule.meta,
            settings,
            evidence,
            namespace,
            shared: &shared,
            findings: &mut out.findings,
            suppressed: &mut out.suppressed,
            withheld: &mut out.withheld,
            kept_back: &mut out.kept_back,
            skipped: &mut out.skipped,
            changes: &mut out.changes,
        });
    };
    match rule.check {
        Check::Deployment(check) => with(None, &mut |cx| check(evidence, cx)),
        Check::Collection(check) | Check::AnyCollection(check) => {
            let every = matches!(rule.check, Check::AnyCollection(_));
            for collection in evidence.collections.iter().filter(|c| every || c.kind.is_business())
            {
                if has(collection, &rule.meta) {
                    with(Some(collection.namespace.to_string()), &mut |cx| check(collection, cx));
                }
            }
        }
    }
}

/// Whether a collection has the evidence that a rule needs. A skip is reported only if no collection has it.
fn has(collection: &Collection, rule: &docward_model::RuleMeta) -> bool {
    rule.needs.iter().all(|need| match need {
        Need::Documents => collection.profile.as_ref().is_some_and(|p| p.documents > 0),
        Need::Counts => has_counts(collection),
        Need::Options => collection.options.is_some(),
        Need::Indexes => collection.indexes.is_some(),
        Need::IndexUsage => has_usage(collection),
        Need::Schema => collection.checked.is_some(),
        Need::Names
        | Need::Core
        | Need::ShardKeys
        | Need::Workload
        | Need::Rates
        | Need::Server
        | Need::Network
        | Need::Code
        | Need::Design
        | Need::Uris => true,
    })
}

fn has_counts(collection: &Collection) -> bool {
    collection.counted.is_some() || collection.profile.as_ref().is_some_and(|p| p.documents > 0)
}

fn has_usage(collection: &Collection) -> bool {
    collection.indexes.iter().flatten().any(|index| index.usage.is_some())
}

fn missing_everywhere(rule: &Rule, evidence: &Evidence, settings: &Settings) -> Option<Need> {
    let any = |test: fn(&Collection) -> bool| evidence.collections.iter().any(test);
    rule.meta.needs.iter().copied().find(|need| match need {
        Need::Names => !evidence.deployment.names_are_real,
        Need::Documents => !any(|c| c.profile.as_ref().is_some_and(|p| p.documents > 0)),
        Need::Counts => !any(has_counts),
        Need::Core => matches!(settings.core, CoreSource::Inferred) && !any(has_counts),
        Need::Options => !any(|c| c.options.is_some()),
        Need::Indexes => !any(|c| c.indexes.is_some()),
        Need::ShardKeys => !sharding::has_keys(evidence, settings),
        Need::Workload => evidence.workload.is_none(),
        Need::Rates => !evidence.workload.as_ref().is_some_and(Workload::tells_rates),
        Need::Server => evidence.server.is_none(),
        Need::IndexUsage => !any(has_usage),
        Need::Network => evidence.network.is_none(),
        Need::Uris => evidence.uris.is_empty(),
        Need::Code => evidence.code.is_none(),
        Need::Design => evidence.design.is_none(),
        Need::Schema => !any(|c| c.checked.is_some()),
    })
}

/// A rule by code or name, or the nearest names if there is none.
pub fn find(text: &str) -> Result<&'static Rule, Vec<&'static str>> {
    if let Some(rule) =
        RULES.iter().find(|r| r.meta.code.eq_ignore_ascii_case(text) || r.meta.name == text)
    {
        return Ok(rule);
    }
    let mut near: Vec<_> = RULES
        .iter()
        .flat_map(|r| [r.meta.code, r.meta.name])
        .map(|word| (strsim::damerau_levenshtein(&text.to_lowercase(), &word.to_lowercase()), word))
        .filter(|(distance, word)| *distance <= 1 + word.len() / 4)
        .collect();
    near.sort();
    Err(near.into_iter().take(3).map(|(_, word)| word).collect())
}
