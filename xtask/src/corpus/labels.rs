//! `corpus/labels.jsonl`: judgements of people who read the code.

use std::collections::BTreeSet;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use super::findings::Row;

/// A kind of fault in a program that uses MongoDB, and the rules that should report it.
pub(super) struct Kind {
    pub(super) name: &'static str,
    pub(super) rules: &'static [&'static str],
}

/// The kinds of faults that people look for in packages. A kind without rules is not covered by any
/// rule.
pub(super) const KINDS: &[Kind] = &[
    Kind { name: "unbounded-append", rules: &["D020", "D023"] },
    Kind { name: "lost-update", rules: &["W020"] },
    Kind { name: "float-money", rules: &["T020"] },
    Kind { name: "string-date", rules: &["T021"] },
    Kind { name: "client-per-request", rules: &["C040", "C041"] },
    Kind { name: "hard-coded-credential", rules: &["S020"] },
    Kind { name: "collection-per-entity", rules: &["L020"] },
    Kind { name: "query-per-result", rules: &["W022"] },
    Kind { name: "unbounded-find", rules: &["W023"] },
    Kind { name: "injection", rules: &["S021"] },
    Kind { name: "missing-await", rules: &["W026"] },
    Kind { name: "missing-ttl", rules: &["I020"] },
    Kind { name: "certificate-checks-off", rules: &["S009"] },
    Kind { name: "skip-paging", rules: &["W024"] },
    Kind { name: "max-plus-one", rules: &["W025"] },
];

/// The verdict of a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Verdict {
    True,
    False,
    Doubtful,
}

impl Verdict {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::True => "true",
            Self::False => "false",
            Self::Doubtful => "doubtful",
        }
    }
}

/// A judgement about one place: of a finding (`rule`), or of the code itself (`kind`).
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Label {
    pub(super) package: String,
    pub(super) file: String,
    pub(super) line: u32,
    /// The last line of a place that has several.
    #[serde(default)]
    pub(super) to: Option<u32>,
    pub(super) rule: Option<String>,
    #[serde(default)]
    pub(super) kind: Option<String>,
    pub(super) verdict: Verdict,
    pub(super) reason: String,
}

/// A finding may be a few lines away from the line that a person names: at the start of the
/// statement, or at the field inside it.
const TOLERANCE: u32 = 3;

impl Label {
    pub(super) fn last(&self) -> u32 {
        self.to.unwrap_or(self.line)
    }

    fn judges(&self, row: &Row) -> bool {
        self.rule.as_deref() == Some(&row.rule)
            && (&self.package, &self.file, self.line) == (&row.package, &row.file, row.line)
    }

    /// Whether a finding of one of these rules is at this place.
    pub(super) fn is_found_by(&self, row: &Row, rules: &[&str]) -> bool {
        let near = self.line.saturating_sub(TOLERANCE)..=self.last().saturating_add(TOLERANCE);
        let is_here = |file: &str, line: u32| file == self.file && near.contains(&line);
        row.package == self.package
            && rules.contains(&row.rule.as_str())
            && (is_here(&row.file, row.line)
                || row.also.iter().any(|place| is_here(&place.file, place.line)))
    }

    fn check(&self, packages: &[String]) -> Result<()> {
        if !packages.contains(&self.package) {
            bail!("no package `{}` in the list", self.package);
        }
        match (&self.rule, &self.kind) {
            (Some(_), Some(_)) => bail!("has a rule and a kind; a label judges one of them"),
            (None, None) => bail!("needs `rule`, or `rule: null` and `kind`"),
            (None, Some(kind)) if !KINDS.iter().any(|known| known.name == kind) => {
                let names: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
                bail!("no kind `{kind}`; there are {}", names.join(", "))
            }
            _ => {}
        }
        if self.last() < self.line {
            bail!("ends at line {}, before it begins at line {}", self.last(), self.line);
        }
        if self.reason.trim().is_empty() {
            bail!("has no reason");
        }
        Ok(())
    }
}

/// Returns the label that decides about a finding. It is one of its rule at its line, or else a
/// place of a suitable kind.
pub(super) fn about<'a>(row: &Row, labels: &'a [Label]) -> Option<&'a Label> {
    let is_read = |label: &&Label| {
        let kind = KINDS.iter().find(|kind| label.kind.as_deref() == Some(kind.name));
        kind.is_some_and(|kind| label.is_found_by(row, kind.rules))
    };
    labels.iter().find(|label| label.judges(row)).or_else(|| labels.iter().find(is_read))
}

/// Reads the labels of the packages in the list.
pub(super) fn parse(text: &str, packages: &[String]) -> Result<Vec<Label>> {
    let mut labels = Vec::new();
    let mut seen = BTreeSet::new();
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let place = || format!("line {}", at + 1);
        let label: Label = serde_json::from_str(line).with_context(place)?;
        label.check(packages).with_context(place)?;
        let Label { package, file, line, rule, kind, .. } = label.clone();
        if !seen.insert((package, file, line, rule, kind)) {
            bail!("line {}: this place has a label of the same rule or kind already", at + 1);
        }
        labels.push(label);
    }
    Ok(labels)
}

#[cfg(test)]
pub(super) mod tests {
    use super::{super::findings::Place, *};

    /// A label in one line of `corpus/labels.jsonl`, with what differs from the usual.
    pub(in super::super) fn label(more: &str) -> Label {
        parse(&line(more), &["shop".to_owned()]).unwrap().remove(0)
    }

    fn line(more: &str) -> String {
        format!(
            "{{\"package\":\"shop\",\"file\":\"a.js\",\"verdict\":\"true\",\"reason\":\"grows\",{more}}}\n"
        )
    }

    fn message(text: &str) -> String {
        format!("{:#}", parse(text, &["shop".to_owned()]).unwrap_err())
    }

    pub(in super::super) fn row(rule: &str, file: &str, line: u32) -> Row {
        Row {
            package: "shop".into(),
            rule: rule.into(),
            file: file.into(),
            line,
            severity: "warn".into(),
            pedantic: false,
            fingerprint: "1f".into(),
            also: Vec::new(),
        }
    }

    #[test]
    fn messages_name_the_line_and_what_is_wrong() {
        let good = line("\"line\":4,\"rule\":\"D020\"");
        let second = |more: &str| message(&format!("{good}{}", line(more)));
        assert_eq!(
            second("\"line\":4,\"rule\":\"D020\""),
            "line 2: this place has a label of the same rule or kind already"
        );
        assert_eq!(second("\"line\":5"), "line 2: needs `rule`, or `rule: null` and `kind`");
        assert_eq!(
            second("\"line\":5,\"rule\":\"D020\",\"kind\":\"lost-update\""),
            "line 2: has a rule and a kind; a label judges one of them"
        );
        let unknown = second("\"line\":5,\"rule\":null,\"kind\":\"slow\"");
        assert!(unknown.starts_with("line 2: no kind `slow`; there are unbounded-append, "));
        assert_eq!(
            second("\"line\":5,\"to\":3,\"rule\":\"D020\""),
            "line 2: ends at line 3, before it begins at line 5"
        );
        assert!(message(&good.replace("grows", " ")).ends_with("has no reason"));
        assert!(
            message(&good.replace("shop", "store")).ends_with("no package `store` in the list")
        );
        assert!(message(&good.replace("\"true\"", "\"yes\"")).contains("unknown variant `yes`"));
        assert!(message(&good.replace("line", "row")).starts_with("line 1: unknown field `row`"));
        assert!(message("{").starts_with("line 1: EOF"));
    }

    #[test]
    fn a_label_judges_the_finding_of_its_rule_at_its_line() {
        let label = label("\"line\":4,\"rule\":\"D020\"");
        assert!(label.judges(&row("D020", "a.js", 4)));
        assert!(!label.judges(&row("D020", "a.js", 5)));
        assert!(!label.judges(&row("D020", "b.js", 4)));
        assert!(!label.judges(&row("W020", "a.js", 4)));
    }

    #[test]
    fn a_place_is_found_by_the_rules_of_its_kind_within_three_lines() {
        let site = label("\"line\":10,\"to\":20,\"rule\":null,\"kind\":\"lost-update\"");
        let is_found = |row: &Row| site.is_found_by(row, &["W020"]);
        assert!(is_found(&row("W020", "a.js", 7)));
        assert!(is_found(&row("W020", "a.js", 23)));
        assert!(!is_found(&row("W020", "a.js", 6)));
        assert!(!is_found(&row("W020", "a.js", 24)));
        assert!(!is_found(&row("D020", "a.js", 10)));
        let mut grouped = row("W020", "b.js", 10);
        assert!(!is_found(&grouped));
        grouped.also.push(Place { file: "a.js".into(), line: 15 });
        assert!(is_found(&grouped));
    }

    #[test]
    fn a_label_of_the_rule_decides_before_a_place_found_by_reading() {
        let site = label("\"line\":10,\"rule\":null,\"kind\":\"lost-update\"");
        let finding = row("W020", "a.js", 11);
        let labels = [site.clone()];
        assert_eq!(about(&finding, &labels).map(|label| label.line), Some(10));
        assert!(about(&row("D020", "a.js", 11), &labels).is_none());
        let judged = Label { verdict: Verdict::False, ..label("\"line\":11,\"rule\":\"W020\"") };
        let labels = [site, judged];
        assert_eq!(about(&finding, &labels).map(|label| label.verdict), Some(Verdict::False));
    }

    #[test]
    fn kinds_are_named_once() {
        let names: BTreeSet<&str> = KINDS.iter().map(|kind| kind.name).collect();
        assert_eq!(names.len(), KINDS.len());
    }
}
