//! Suppressions that cover no finding.

use docward_model::{Draft, Evidence, Seen, Subject, Suppression, Unit, selects};

use crate::{Cx, RULES, declare_rule, facts::code};

declare_rule! {
    /// # Unused suppression
    ///
    /// ## What it checks
    /// Reports suppressions that matched no finding of the run:
    /// - entries under `[[suppress]]` in `docward.toml`, if a rule they name ran and their database or files were
    ///   read
    /// - comments in code (`docward: allow D020 …`) when the rule finds nothing on their line or the next
    ///
    /// ## Exceptions
    /// Not reported:
    /// - entries for rules that are turned off or lacked evidence
    /// - entries for databases or files that were not read
    /// - entries that also name rules about data (`D`), when only code was read
    /// - any suppression when only a part was read (`--db`, `--collection`, `--sample`, `--select`, or a read
    ///   error)
    ///
    /// ## Why it matters
    /// Either the problem is solved, or the suppression never matched what it was written for. If it stays, it
    /// hides the next finding of that kind.
    ///
    /// ## Example
    /// ```jsonl,fires,suppress=D009:db_shop.*,today=2026-02-01
    /// {"_id": 1, "cells": $array(999, {"row": $j})}
    /// ```
    /// ```jsonl,clean,suppress=D009:db_shop.*,today=2026-02-01
    /// {"_id": 1, "cells": $array(1000, {"row": $j})}
    /// ```
    ///
    /// ## How to fix
    /// Remove the entry or the comment.
    ///
    /// ## When to ignore it
    /// The finding that the entry covers depends on rare data, which some runs do not contain.
    A002, "unused-suppression",
    level: Recommended,
    area: Hygiene,
    clauses: [],
    maturity: Preview,
    scope: Everywhere,
    needs: [],
    thresholds: [],
    data: [],
    check: Deployment(check),
}

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let settings = cx.settings();
    let today = settings.today.as_deref();
    let mut drafts = Vec::new();
    // A partial run cannot show that findings are missing.
    if settings.is_partial {
        return;
    }
    for (at, suppression) in settings.suppressions.iter().enumerate() {
        let was_due = !suppression.is_expired(today)
            && cx.kept_back(at) == 0
            && was_read(suppression, evidence)
            && was_judged(suppression, evidence, cx);
        if was_due {
            drafts.push(draft(suppression, settings.suppressions.len() as u64, evidence));
        }
    }
    drafts.into_iter().for_each(|draft| cx.report(draft));
}

/// Whether only code was examined.
fn is_code_alone(evidence: &Evidence) -> bool {
    evidence.code.is_some()
        && evidence.collections.is_empty()
        && evidence.databases.is_empty()
        && evidence.server.is_none()
}

/// Whether a rule that the entry names ran. If only code was read, all of them must have run: the entry may be for the
/// others.
fn was_judged(suppression: &Suppression, evidence: &Evidence, cx: &Cx<'_>) -> bool {
    let mut named = RULES.iter().filter(|rule| selects(&suppression.rule, &rule.meta));
    match is_code_alone(evidence) && !suppression.is_comment {
        true => named.all(|rule| cx.has_judged(&rule.meta)),
        false => named.any(|rule| cx.has_judged(&rule.meta)),
    }
}

/// Whether the run read anything that the entry can cover.
fn was_read(suppression: &Suppression, evidence: &Evidence) -> bool {
    if suppression.files.is_some() {
        return evidence.code.as_ref().is_some_and(|code| {
            let is_whole_project = code.roots.iter().any(|(_, within)| within.is_empty());
            is_whole_project || code.paths.iter().any(|file| suppression.is_about_file(file))
        });
    }
    let Some(pattern) = &suppression.pattern else { return true };
    let is_whole_deployment = evidence.server.is_some() || is_code_alone(evidence);
    let database = pattern.as_str().split('.').next().unwrap_or_default();
    is_whole_deployment
        || evidence.databases.iter().any(|name| name == database || pattern.matches(name))
        || evidence
            .collections
            .iter()
            .any(|c| c.namespace.database == database || pattern.matches(&c.namespace.to_string()))
}

fn draft(unused: &Suppression, total: u64, evidence: &Evidence) -> Draft {
    Draft::new(
        Subject::Deployment,
        format!("the suppression of {} matches no finding (\"{}\")", unused.text(), unused.reason),
        "it would hide a future finding of this rule",
        if unused.is_comment { "remove the comment" } else { "remove the entry" },
        Seen::all(total, Unit::Suppressions),
    )
    .location(unused.location.clone())
    .key(code::suppression_key(evidence, unused))
}

#[cfg(test)]
mod tests {
    use docward_model::{Code, Evidence, Location, NamespacePattern, Need, Suppression};

    use crate::{
        RULES,
        testing::{Example, check_with},
    };

    const SHORT: &str = r#"{"_id": 1, "cells": [1]}"#;
    const LONG: &str = r#"{"_id": 1, "cells": $array(1000, {"row": $j})}"#;

    #[test]
    fn entries_that_overlap_are_both_used() {
        let both = "suppress=D009,suppress=D009:db_shop.*";
        assert!(check_with("A002", both, LONG).is_empty());
        // Another collection of the database that was read.
        assert_eq!(check_with("A002", "suppress=D009:db_shop.t_gone", LONG).len(), 1);
        // The rules on suppressions cannot be suppressed.
        assert_eq!(check_with("A002", "suppress=A:db_shop.*,suppress=all", SHORT).len(), 1);
    }

    /// Returns the number of findings about an entry if only `src/app.js` was read.
    fn told_of_code(entry: Suppression, within: &str) -> usize {
        let mut example = Example::new("A002", "", "");
        example.evidence = Evidence {
            code: Some(Code {
                files: 1,
                paths: ["src/app.js".to_owned()].into(),
                roots: vec![("src".to_owned(), within.to_owned())],
                ..Code::default()
            }),
            ..Evidence::default()
        };
        let of_code = RULES.iter().filter(|rule| rule.meta.needs == [Need::Code]);
        example.settings.select = of_code.map(|rule| rule.meta.code.to_owned()).collect();
        example.settings.select.push("A".to_owned());
        example.settings.suppressions = vec![entry];
        let outcome = crate::judge(&example.evidence, &example.settings);
        outcome.findings.iter().filter(|f| f.rule == "A002").count()
    }

    fn entry(rule: &str, files: Option<&str>, is_comment: bool) -> Suppression {
        Suppression {
            rule: rule.to_owned(),
            pattern: None,
            path: None,
            files: files.map(|glob| NamespacePattern::new(glob).expect("a glob")),
            is_comment,
            reason: "cut every night".to_owned(),
            expires: None,
            location: Location { file: "src/app.js".to_owned(), line: 3, column: 1 },
        }
    }

    #[test]
    fn of_code_alone_entries_about_data_are_left_alone() {
        assert_eq!(told_of_code(entry("D020", None, false), "src"), 1);
        assert_eq!(told_of_code(entry("D020", None, true), "src"), 1);
        assert_eq!(told_of_code(entry("D", None, false), "src"), 0, "D008 was not judged");
        assert_eq!(told_of_code(entry("D", None, true), "src"), 1, "a comment is about code");
        assert_eq!(told_of_code(entry("D008", None, true), "src"), 0);
        assert_eq!(told_of_code(entry("D020", Some("src/**"), false), "src"), 1);
        assert_eq!(told_of_code(entry("D020", Some("lib/**"), false), "src"), 0, "not read");
        assert_eq!(told_of_code(entry("D020", Some("lib/**"), false), ""), 1, "all was read");
    }

    #[test]
    fn what_nobody_looked_for_is_left_alone() {
        for settings in [
            "suppress=D009:db_other.*",
            "suppress=D009:db_shop.*:2026-01-31,today=2026-02-01",
            "suppress=W001:db_shop.*",
        ] {
            assert!(check_with("A002", settings, SHORT).is_empty(), "{settings}");
        }
        for settings in ["suppress=D009", "suppress=D:db_shop.*", "suppress=large-array:db_*"] {
            assert_eq!(check_with("A002", settings, SHORT).len(), 1, "{settings}");
        }
    }
}
