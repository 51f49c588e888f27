//! Two sets of findings side by side: those of a run, and those a baseline or an earlier report knows.

use std::collections::BTreeMap;

use crate::{Finding, Severity, Subject};

/// A finding as a baseline or an earlier report knows it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Known {
    /// The rule's code.
    pub rule: String,
    /// What it is about.
    pub at: Subject,
    /// What tells it from others.
    pub fingerprint: String,
    /// The rule's name.
    pub name: String,
    /// How loud it was.
    pub severity: Severity,
    /// What was wrong; empty in a baseline, which holds no figures.
    pub what: String,
}

impl Known {
    /// A finding, to be known later.
    pub fn of(finding: &Finding) -> Self {
        Self {
            rule: finding.rule.to_string(),
            at: finding.at.clone(),
            fingerprint: finding.fingerprint.clone(),
            name: finding.name.to_string(),
            severity: finding.severity,
            what: finding.what.clone(),
        }
    }
}

/// What became of a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// It was not there.
    New,
    /// It was there, less loud.
    Worse(Severity),
    /// It was there with other words, or louder than now; as it was told then.
    Changed(String),
    /// It was there as it is.
    Same,
    /// The earlier run did not look for it.
    NotLookedFor,
}

impl Change {
    /// The word used in JSON.
    pub fn name(&self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Worse(_) => "worse",
            Self::Changed(_) => "changed",
            Self::Same => "unchanged",
            Self::NotLookedFor => "not looked for before",
        }
    }
}

/// What is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// Findings that are accepted for now.
    Baseline,
    /// The report of an earlier run.
    Report,
}

impl Basis {
    /// The word used in JSON and in sentences.
    pub fn name(self) -> &'static str {
        match self {
            Self::Baseline => "baseline",
            Self::Report => "report",
        }
    }
}

/// How findings differ from those that are known.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// What was compared with.
    pub basis: Basis,
    /// Its name, a file.
    pub with: String,
    /// The file whose findings these are, where two files are compared.
    pub subject: Option<String>,
    /// Known findings that are no more.
    pub fixed: Vec<Known>,
    /// Known findings that nobody looked for this time.
    pub not_judged: Vec<Known>,
    /// Known findings that are there as they were.
    pub unchanged: Vec<Known>,
    /// What became of the findings, by fingerprint; those not here are new.
    changes: BTreeMap<String, Change>,
}

impl Compared {
    /// Compares findings with known ones. Of a known one that is missing, `looked_for` says whether the
    /// run would have found it; of one that is not known, `was_looked_for` says whether it would have been.
    pub fn of(
        basis: Basis,
        with: &str,
        known: Vec<Known>,
        findings: &[Finding],
        looked_for: impl Fn(&Known) -> bool,
        was_looked_for: impl Fn(&Finding) -> bool,
    ) -> Self {
        let mut open: BTreeMap<String, Known> =
            known.into_iter().map(|known| (known.fingerprint.clone(), known)).collect();
        let mut out = Self {
            basis,
            with: with.to_owned(),
            subject: None,
            fixed: Vec::new(),
            not_judged: Vec::new(),
            unchanged: Vec::new(),
            changes: BTreeMap::new(),
        };
        for finding in findings {
            let change = match open.remove(&finding.fingerprint) {
                None if was_looked_for(finding) => Change::New,
                None => Change::NotLookedFor,
                Some(before) if finding.severity > before.severity => {
                    Change::Worse(before.severity)
                }
                Some(before) if is_changed(finding, &before) => Change::Changed(before.what),
                Some(before) => {
                    out.unchanged.push(before);
                    Change::Same
                }
            };
            out.changes.insert(finding.fingerprint.clone(), change);
        }
        for missing in open.into_values() {
            if looked_for(&missing) {
                out.fixed.push(missing);
            } else {
                out.not_judged.push(missing);
            }
        }
        out.fixed.sort();
        out.not_judged.sort();
        out
    }

    /// What became of a finding.
    pub fn change(&self, finding: &Finding) -> &Change {
        self.changes.get(&finding.fingerprint).unwrap_or(&Change::New)
    }

    /// How many of these findings were there with other words or louder.
    pub fn count_changed(&self, findings: &[Finding]) -> usize {
        findings.iter().filter(|f| matches!(self.change(f), Change::Changed(_))).count()
    }

    /// How many of these findings the earlier run did not look for.
    pub fn count_unseen(&self, findings: &[Finding]) -> usize {
        findings.iter().filter(|f| *self.change(f) == Change::NotLookedFor).count()
    }

    /// How many of these findings are new, or louder than they were.
    pub fn count_new(&self, findings: &[Finding]) -> usize {
        let is_new = |f: &&Finding| matches!(self.change(f), Change::New | Change::Worse(_));
        findings.iter().filter(is_new).count()
    }
}

/// A baseline holds no words, so nothing in it changes.
fn is_changed(finding: &Finding, before: &Known) -> bool {
    !before.what.is_empty() && (finding.what != before.what || finding.severity != before.severity)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Data, Level, Namespace, Seen, Unit};

    fn finding(fingerprint: &str, severity: Severity, what: &str) -> Finding {
        Finding {
            rule: "D008".into(),
            name: "unbounded-array".into(),
            severity,
            level: Level::Prohibited,
            area: crate::Area::Hygiene,
            deadline: None,
            clauses: Vec::new(),
            at: Subject::Collection(Namespace::new("db", "t")),
            location: None,
            what: what.to_owned(),
            why: String::new(),
            todo: String::new(),
            seen: Seen::all(1, Unit::Documents),
            data: Data::new(),
            examples: Vec::new(),
            fix: None,
            locations: Vec::new(),
            excerpt: None,
            edits: Vec::new(),
            uri: Vec::new(),
            fingerprint: fingerprint.to_owned(),
        }
    }

    #[test]
    fn findings_are_new_worse_changed_or_the_same() {
        let before = [
            finding("same", Severity::Warn, "3 arrays"),
            finding("worse", Severity::Warn, "3 arrays"),
            finding("other", Severity::Warn, "3 arrays"),
            finding("gone", Severity::Warn, "3 arrays"),
            finding("unseen", Severity::Warn, "3 arrays"),
        ];
        let now = [
            finding("same", Severity::Warn, "3 arrays"),
            finding("worse", Severity::Error, "3 arrays"),
            finding("other", Severity::Warn, "4 arrays"),
            finding("new", Severity::Info, "1 array"),
            finding("unasked", Severity::Info, "1 array"),
        ];
        let known = before.iter().map(Known::of).collect();
        let compared = Compared::of(
            Basis::Report,
            "old.json",
            known,
            &now,
            |known| known.fingerprint != "unseen",
            |finding| finding.fingerprint != "unasked",
        );
        let names: Vec<_> = now.iter().map(|f| compared.change(f).name()).collect();
        assert_eq!(names, ["unchanged", "worse", "changed", "new", "not looked for before"]);
        assert_eq!(compared.count_changed(&now), 1);
        assert_eq!(compared.count_new(&now), 2);
        assert_eq!(compared.count_unseen(&now), 1);
        let classes =
            [compared.count_new(&now), compared.count_changed(&now), compared.count_unseen(&now)];
        let shown = classes.iter().sum::<usize>() + compared.unchanged.len();
        assert_eq!(shown, now.len(), "each finding is in one class");
        let prints =
            |list: &[Known]| list.iter().map(|k| k.fingerprint.clone()).collect::<Vec<_>>();
        assert_eq!(prints(&compared.fixed), ["gone"]);
        assert_eq!(prints(&compared.not_judged), ["unseen"]);
        assert_eq!(prints(&compared.unchanged), ["same"]);
    }
}
