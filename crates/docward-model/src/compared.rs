//! Compares two sets of findings: those of this run with those of a baseline or an earlier report.

use std::collections::BTreeMap;

use crate::{Finding, Severity, Subject};

/// A finding from a baseline or an earlier report.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Known {
    /// The rule's code.
    pub rule: String,
    /// The subject of the finding.
    pub at: Subject,
    /// The fingerprint that identifies the finding.
    pub fingerprint: String,
    /// The rule's name.
    pub name: String,
    /// Its severity at that time.
    pub severity: Severity,
    /// The message; empty in a baseline, which stores no figures.
    pub what: String,
}

impl Known {
    /// Records a finding for later comparison.
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

/// The change of a finding since the earlier run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// The earlier run did not report it.
    New,
    /// The earlier run reported it with this lower severity.
    Worse(Severity),
    /// The earlier run reported it with a different message or a higher severity. Holds the earlier
    /// message.
    Changed(String),
    /// The earlier run reported the same finding.
    Same,
    /// The earlier run did not check for it.
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

/// The kind of data the findings are compared with.
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

/// The differences between findings and known findings.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// The kind of data compared with.
    pub basis: Basis,
    /// The name of the file compared with.
    pub with: String,
    /// The file that holds the findings, when two files are compared.
    pub subject: Option<String>,
    /// Known findings that are gone.
    pub fixed: Vec<Known>,
    /// Known findings that this run did not check for.
    pub not_judged: Vec<Known>,
    /// Known findings that are unchanged.
    pub unchanged: Vec<Known>,
    /// The change of each finding, by fingerprint; findings not listed are new.
    changes: BTreeMap<String, Change>,
}

impl Compared {
    /// Compares findings with known ones. `looked_for` returns whether this run would have reported
    /// a known finding that is missing. `was_looked_for` returns whether the earlier run would have
    /// reported a finding that is new.
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

    /// The change of a finding.
    pub fn change(&self, finding: &Finding) -> &Change {
        self.changes.get(&finding.fingerprint).unwrap_or(&Change::New)
    }

    /// The number of these findings whose message changed or whose severity was higher before.
    pub fn count_changed(&self, findings: &[Finding]) -> usize {
        findings.iter().filter(|f| matches!(self.change(f), Change::Changed(_))).count()
    }

    /// The number of these findings that the earlier run did not check for.
    pub fn count_unseen(&self, findings: &[Finding]) -> usize {
        findings.iter().filter(|f| *self.change(f) == Change::NotLookedFor).count()
    }

    /// The number of these findings that are new or have a higher severity than before.
    pub fn count_new(&self, findings: &[Finding]) -> usize {
        let is_new = |f: &&Finding| matches!(self.change(f), Change::New | Change::Worse(_));
        findings.iter().filter(is_new).count()
    }
}

/// A baseline stores no messages, so none of its findings can change.
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
            paths: Vec::new(),
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
