//! The context of a rule, apart from its subject: settings, all evidence, and the list of findings.

use std::{any::Any, cell::RefCell, collections::BTreeMap, rc::Rc};

use docward_model::{
    Collection, Data, DataValue, Draft, Evidence, Finding, Namespace, Need, ProfileName, RuleMeta,
    Settings, Skipped, Subject, Threshold, ThresholdSetting, ThresholdValue,
};

use crate::{facts::names, proposed_change::ProposedChange};

/// Values that a rule computes once for all of its subjects, by name.
pub(crate) type Shared = RefCell<BTreeMap<String, Rc<dyn Any>>>;

/// The family of rules about the settings themselves.
pub(crate) const SUPPRESSIONS: char = 'A';

/// The context of one rule on one subject.
pub struct Cx<'a> {
    pub(crate) rule: &'static RuleMeta,
    pub(crate) settings: &'a Settings,
    pub(crate) evidence: &'a Evidence,
    /// The namespace of the subject, for per-namespace settings.
    pub(crate) namespace: Option<String>,
    pub(crate) shared: &'a Shared,
    pub(crate) findings: &'a mut Vec<Finding>,
    pub(crate) suppressed: &'a mut u64,
    pub(crate) withheld: &'a mut Vec<Finding>,
    /// The number of findings that each suppression has covered so far.
    pub(crate) kept_back: &'a mut Vec<u64>,
    pub(crate) skipped: &'a mut Vec<Skipped>,
    /// The changes of fields that earlier rules have proposed.
    pub(crate) changes: &'a mut Vec<ProposedChange>,
}

/// Keys of `data` that findings of any rule may have.
const COMMON_DATA: [&str; 4] = ["change", "fields", "pedantic", "relaxesValidator"];

/// Whether a rule declares a key of `data`. A declared `over*` covers all keys that begin with `over`.
fn declares_data(rule: &RuleMeta, key: &str) -> bool {
    let matches = |declared: &&str| match declared.strip_suffix('*') {
        Some(start) => key.starts_with(start),
        None => *declared == key,
    };
    COMMON_DATA.contains(&key) || rule.data.iter().any(matches)
}

/// Whether the name of a subject is that of a file or directory, and not from the data. This holds for a collection, or
/// for a database in which all collections have such names.
fn is_guessed(evidence: &Evidence, subject: &Subject) -> bool {
    if let Some(namespace) = subject.collection() {
        return evidence.collection(namespace).is_some_and(|c| c.has_guessed_name);
    }
    let Subject::Database(database) = subject else { return false };
    let inside = || evidence.collections.iter().filter(|c| c.namespace.database == *database);
    inside().next().is_some() && inside().all(|c| c.has_guessed_name)
}

impl<'a> Cx<'a> {
    /// Returns all evidence, for rules that examine more than their subject.
    pub fn evidence(&self) -> &'a Evidence {
        self.evidence
    }

    /// Returns a value that is computed from all collections and used for each of them. It is built at the first
    /// call, so that Docward does not read many thousand collections again for each of them.
    pub fn shared<T: Any>(&self, name: &str, build: impl FnOnce(&'a Evidence) -> T) -> Rc<T> {
        let kept = self.shared.borrow().get(name).cloned();
        if let Some(kept) = kept.and_then(|kept| kept.downcast().ok()) {
            return kept;
        }
        let built = Rc::new(build(self.evidence));
        self.shared.borrow_mut().insert(name.to_owned(), Rc::<T>::clone(&built));
        built
    }

    /// Returns the user's settings.
    pub fn settings(&self) -> &'a Settings {
        self.settings
    }

    /// A threshold as a number.
    pub fn limit(&self, threshold: &Threshold) -> f64 {
        number(self.configured(threshold), threshold)
    }

    /// Returns the threshold at a namespace, for rules that examine the whole deployment.
    pub fn limit_at(&self, threshold: &Threshold, namespace: &Namespace) -> f64 {
        number(self.configured_at(threshold, Some(&namespace.to_string())), threshold)
    }

    /// Returns a threshold as an integer.
    pub fn count(&self, threshold: &Threshold) -> u64 {
        self.limit(threshold).max(0.0) as u64
    }

    /// Returns the threshold as an integer at a namespace, for rules that examine the whole deployment.
    pub fn count_at(&self, threshold: &Threshold, namespace: &Namespace) -> u64 {
        self.limit_at(threshold, namespace).max(0.0) as u64
    }

    /// A threshold that is on or off.
    pub fn flag(&self, threshold: &Threshold) -> bool {
        self.limit(threshold) != 0.0
    }

    /// A threshold that is a word.
    pub fn text(&self, threshold: &Threshold) -> String {
        match (self.configured(threshold), threshold.default) {
            (Some(ThresholdSetting::Text(text)), _) => text.clone(),
            (_, ThresholdValue::Text(text)) => text.to_owned(),
            _ => String::new(),
        }
    }

    /// A threshold that is a house prefix. Without house naming it is empty, unless the user sets it.
    pub fn prefix(&self, threshold: &Threshold) -> String {
        let is_house = self.settings.profile == ProfileName::Vendor;
        let is_set = self.configured(threshold).is_some();
        if is_house || is_set { self.text(threshold) } else { String::new() }
    }

    /// A threshold that is a list of words: the default list plus the user's words.
    pub fn words(&self, threshold: &Threshold) -> Vec<String> {
        let mut words: Vec<String> = match threshold.default {
            ThresholdValue::Words(words) => words.iter().map(|&w| w.to_owned()).collect(),
            _ => Vec::new(),
        };
        if let Some(ThresholdSetting::Words(more)) = self.configured(threshold) {
            words.extend(more.iter().cloned());
        }
        words
    }

    fn configured(&self, threshold: &Threshold) -> Option<&'a ThresholdSetting> {
        self.configured_at(threshold, self.namespace.as_deref())
    }

    fn configured_at(
        &self,
        threshold: &Threshold,
        namespace: Option<&str>,
    ) -> Option<&'a ThresholdSetting> {
        debug_assert!(
            self.rule.thresholds.iter().any(|t| std::ptr::eq(*t, threshold)),
            "{} reads the threshold {} without declaring it",
            self.rule.code,
            threshold.key
        );
        self.settings.threshold_at(self.rule.code, threshold.key, namespace)
    }

    /// Whether a collection is core business: declared, or else inferred. Inferred means an ordinary
    /// collection with documents, other than logs, caches, sessions and the like.
    pub fn is_core(&self, collection: &Collection) -> bool {
        crate::facts::deployment::business::is_core(self.settings, collection)
    }

    /// Reports a finding.
    pub fn report(&mut self, mut draft: Draft) {
        // The name of a loose file is not the name of a collection.
        if self.rule.needs.contains(&Need::Names) && is_guessed(self.evidence, &draft.at) {
            return;
        }
        let namespace = draft.at.namespace();
        if let Some(ns) = &namespace
            && self.settings.is_ignored_at(self.rule, ns)
        {
            *self.suppressed += 1;
            return;
        }
        let is_withheld = self.is_suppressed(&draft);
        if draft.pedantic && !self.settings.pedantic {
            return;
        }
        if draft.fix.as_ref().is_some_and(|fix| !names::can_be_named(&fix.command())) {
            draft.fix = None;
            draft.todo.push_str("; a name in it is not UTF-8, so no statement can name it: dump the collection, correct the name in the file of the dump and restore it");
        }
        let level = draft.level.unwrap_or(self.rule.level);
        let configured = self.settings.severity_at(self.rule, namespace.as_deref());
        let own = draft.severity.unwrap_or_else(|| level.severity());
        debug_assert!(
            self.rule.severities.contains(&own),
            "{} reports {own}, which its declaration does not have: severities: [...]",
            self.rule.code
        );
        let severity = configured.unwrap_or(own);
        let clauses = if draft.clauses.is_empty() { self.rule.clauses } else { draft.clauses };
        debug_assert!(
            clauses.iter().all(|c| self.rule.clauses.contains(c)),
            "{} cites a clause it does not declare",
            self.rule.code
        );
        if cfg!(debug_assertions) {
            let mut keys = draft.data.entries().iter().map(|(key, _)| key.as_str());
            let undeclared = keys.find(|key| !declares_data(self.rule, key));
            assert_eq!(
                undeclared, None,
                "{} does not declare this key of its data",
                self.rule.code
            );
        }
        let fingerprint = fingerprint(&[
            self.rule.code,
            namespace.as_deref().unwrap_or(""),
            draft.at.path().map_or("", |p| p.as_str()),
            draft.at.index().unwrap_or(""),
            &draft.key,
        ]);
        // A message must not contain a password, even if a rule quotes one.
        draft.what = without_password(draft.what);
        draft.todo = without_password(draft.todo);
        let data = draft.data.entries().iter().fold(Data::new(), |data, (key, value)| {
            data.with(key, data_without_password(value.clone()))
        });
        let changes = draft.all_changes();
        let finding = Finding {
            rule: self.rule.code.into(),
            name: self.rule.name.into(),
            severity,
            level,
            area: draft.area.unwrap_or(self.rule.area),
            deadline: draft.deadline,
            clauses: clauses.iter().map(|&clause| clause.into()).collect(),
            at: draft.at,
            location: draft.location,
            locations: draft.locations,
            paths: draft.paths,
            excerpt: None,
            what: draft.what,
            why: draft.why.into_owned(),
            todo: draft.todo,
            seen: draft.seen,
            data,
            examples: draft.examples,
            fix: draft.fix,
            edits: draft.edits,
            uri: draft.uri,
            fingerprint,
        };
        let rule = self.rule.code;
        if !is_withheld
            && let Subject::Collection(namespace) | Subject::Field(namespace, _) = &finding.at
        {
            self.changes.extend(changes.into_iter().map(|change| ProposedChange {
                rule,
                namespace: namespace.clone(),
                change,
            }));
        }
        if is_withheld {
            *self.suppressed += 1;
            self.withheld.push(finding);
        } else {
            self.findings.push(finding);
        }
    }

    /// Whether a suppression covers the finding; counted for each suppression that does. Findings about suppressions
    /// themselves cannot be suppressed.
    fn is_suppressed(&mut self, draft: &Draft) -> bool {
        let covering = self.covering(draft);
        self.kept_back.resize(self.settings.suppressions.len(), 0);
        for suppression in &covering {
            self.kept_back[*suppression] += 1;
        }
        !covering.is_empty()
    }

    /// Whether the user accepts the finding for now. A rule that combines several places in one finding keeps accepted
    /// places separate from the others.
    pub fn is_accepted(&self, draft: &Draft) -> bool {
        !self.covering(draft).is_empty()
    }

    /// Returns the suppressions that cover a finding today, by their position in the settings.
    fn covering(&self, draft: &Draft) -> Vec<usize> {
        if self.rule.family() == SUPPRESSIONS {
            return Vec::new();
        }
        let today = self.settings.today.as_deref();
        let place = draft.location.as_ref();
        let code = self.evidence.code.as_ref();
        let within = code.and_then(|code| Some(code.within_project(&place?.file)));
        let covers = |suppression: &docward_model::Suppression| {
            !suppression.is_expired(today)
                && suppression.covers(self.rule, &draft.at, place, within.as_deref())
        };
        let all = self.settings.suppressions.iter().enumerate();
        all.filter(|(_, suppression)| covers(suppression)).map(|(at, _)| at).collect()
    }

    /// The number of findings that a suppression covered, by its position in the settings.
    pub(crate) fn kept_back(&self, at: usize) -> u64 {
        self.kept_back.get(at).copied().unwrap_or(0)
    }

    /// Returns the changes that earlier rules in this run propose for fields of a collection. Rules run in the order
    /// of their codes, so rules about validators see the proposals of those about types and names.
    pub fn changes_of(&self, namespace: &Namespace) -> Vec<ProposedChange> {
        self.changes.iter().filter(|change| change.namespace == *namespace).cloned().collect()
    }

    /// Whether a rule ran and had all evidence it needs.
    pub(crate) fn has_judged(&self, rule: &RuleMeta) -> bool {
        self.settings.is_on(rule) && !self.skipped.iter().any(|s| s.rule == rule.code)
    }

    /// Records that evidence was missing for this subject.
    pub fn skip(&mut self, need: Need) {
        self.skipped.push(Skipped { rule: self.rule.code.into(), needs: need.name().to_owned() });
    }
}

/// Masks the passwords of connection strings in a text.
fn without_password(text: String) -> String {
    let may_have = text.contains("://") && text.contains('@');
    if may_have { docward_uri::redact(&text) } else { text }
}

fn data_without_password(value: DataValue) -> DataValue {
    match value {
        DataValue::Text(text) => DataValue::Text(without_password(text)),
        DataValue::List(items) => {
            DataValue::List(items.into_iter().map(data_without_password).collect())
        }
        DataValue::Map(entries) => DataValue::Map(
            entries.into_iter().map(|(key, value)| (key, data_without_password(value))).collect(),
        ),
        other => other,
    }
}

fn number(configured: Option<&ThresholdSetting>, threshold: &Threshold) -> f64 {
    match configured {
        Some(ThresholdSetting::Int(n)) => *n as f64,
        Some(ThresholdSetting::Float(n)) => *n,
        Some(ThresholdSetting::Flag(b)) => f64::from(u8::from(*b)),
        _ => threshold.default_number(),
    }
}

/// FNV-1a over the parts, with a separator: stable across versions and platforms.
fn fingerprint(parts: &[&str]) -> String {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for part in parts {
        for byte in part.bytes().chain([0x1f]) {
            hash ^= u64::from(byte);
            hash = hash.wrapping_mul(0x0100_0000_01b3);
        }
    }
    format!("{hash:016x}")
}
