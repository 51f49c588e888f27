//! Which findings appear and disappear between two runs.

use std::{collections::BTreeMap, fmt::Write};

use super::{
    findings::Row,
    labels::{self, Label},
};

/// Rows of two runs, side by side.
pub(super) struct Difference<'a> {
    appeared: Vec<&'a Row>,
    disappeared: Vec<&'a Row>,
    /// The same finding before and after, with another severity or other places.
    changed: Vec<(&'a Row, &'a Row)>,
}

impl<'a> Difference<'a> {
    /// Compares two runs. A finding is the same if its package, rule, place and fingerprint are.
    pub(super) fn of(old: &'a [Row], new: &'a [Row]) -> Self {
        type Identity<'a> = (&'a str, &'a str, &'a str, u32, &'a str);
        let by_identity = |rows: &'a [Row]| -> BTreeMap<Identity<'a>, &'a Row> {
            let identity =
                |row: &'a Row| (&*row.package, &*row.rule, &*row.file, row.line, &*row.fingerprint);
            rows.iter().map(|row| (identity(row), row)).collect()
        };
        let (before, after) = (by_identity(old), by_identity(new));
        let missing_in = |rows: &BTreeMap<Identity<'a>, &'a Row>,
                          others: &BTreeMap<Identity<'a>, &'a Row>| {
            let missing = rows.iter().filter(|(key, _)| !others.contains_key(*key));
            missing.map(|(_, row)| *row).collect::<Vec<_>>()
        };
        Self {
            appeared: missing_in(&after, &before),
            disappeared: missing_in(&before, &after),
            changed: before
                .iter()
                .filter_map(|(key, &row)| Some((row, *after.get(key)?)))
                .filter(|(before, after)| before != after)
                .collect(),
        }
    }

    /// Returns text for people: every change in the shown packages with its label, and totals of
    /// all packages.
    pub(super) fn text(&self, labels: &[Label], is_shown: impl Fn(&str) -> bool) -> String {
        let mut out = String::new();
        let mut line = |sign: char, row: &Row, note: &str| {
            if is_shown(&row.package) {
                // Writing to a string cannot fail.
                let _ = writeln!(out, "{sign} {}{note}{}", shown(row), verdict(row, labels));
            }
        };
        for row in &self.disappeared {
            line('-', row, "");
        }
        for row in &self.appeared {
            line('+', row, "");
        }
        for (before, after) in &self.changed {
            line('~', before, &format!("  {}", change(before, after)));
        }
        let rows = [&self.disappeared, &self.appeared].into_iter().flatten().copied();
        let all = rows.chain(self.changed.iter().map(|(before, _)| *before));
        let hidden = all.filter(|row| !is_shown(&row.package)).count();
        let _ = writeln!(
            out,
            "{} appear, {} disappear, {} change",
            self.appeared.len(),
            self.disappeared.len(),
            self.changed.len()
        );
        if hidden > 0 {
            let _ = writeln!(out, "{hidden} of them are in the half `measure` and not shown");
        }
        out
    }
}

fn level(row: &Row) -> String {
    format!("{}{}", row.severity, if row.pedantic { " (pedantic)" } else { "" })
}

fn shown(row: &Row) -> String {
    format!("{} {} {} {}:{}", row.rule, level(row), row.package, row.file, row.line)
}

fn change(before: &Row, after: &Row) -> String {
    if level(before) == level(after) {
        format!("{} other places before, {} now", before.also.len(), after.also.len())
    } else {
        format!("now {}", level(after))
    }
}

fn verdict(row: &Row, labels: &[Label]) -> String {
    labels::about(row, labels).map_or_else(String::new, |label| {
        format!("  [labelled {}: {}]", label.verdict.name(), label.reason)
    })
}

#[cfg(test)]
mod tests {
    use super::{
        super::{
            findings::Place,
            labels::tests::{label, row},
        },
        *,
    };

    #[test]
    fn shows_what_appears_disappears_and_changes() {
        let same = row("T020", "same.js", 1);
        let gone = row("D020", "a.js", 4);
        let come = row("W020", "a.js", 9);
        let mut quieter = row("C040", "b.js", 2);
        let mut grouped = row("S020", "c.js", 3);
        let old = [same.clone(), gone, quieter.clone(), grouped.clone()];
        quieter.severity = "info".into();
        grouped.also.push(Place { file: "d.js".into(), line: 1 });
        let new = [same, come, quieter, grouped];
        let labels = [label("\"line\":4,\"rule\":\"D020\"")];
        assert_eq!(
            Difference::of(&old, &new).text(&labels, |_| true),
            "- D020 warn shop a.js:4  [labelled true: grows]\n\
             + W020 warn shop a.js:9\n\
             ~ C040 warn shop b.js:2  now info\n\
             ~ S020 warn shop c.js:3  0 other places before, 1 now\n\
             1 appear, 1 disappear, 2 change\n"
        );
    }

    #[test]
    fn a_finding_that_becomes_pedantic_changes() {
        let before = row("T020", "a.js", 1);
        let mut after = before.clone();
        after.pedantic = true;
        let text = Difference::of(&[before], &[after]).text(&[], |_| true);
        assert_eq!(
            text,
            "~ T020 warn shop a.js:1  now warn (pedantic)\n0 appear, 0 disappear, 1 change\n"
        );
    }

    #[test]
    fn two_findings_on_one_line_are_told_apart() {
        let one = row("T020", "a.js", 1);
        let mut other = one.clone();
        other.fingerprint = "2f".into();
        let old = [one.clone()];
        let new = [one, other];
        assert_eq!(Difference::of(&old, &new).appeared.len(), 1);
    }

    #[test]
    fn changes_in_packages_that_are_not_shown_are_counted() {
        let old = [row("D020", "a.js", 4)];
        assert_eq!(
            Difference::of(&old, &[]).text(&[], |_| false),
            "0 appear, 1 disappear, 0 change\n\
             1 of them are in the half `measure` and not shown\n"
        );
    }
}
