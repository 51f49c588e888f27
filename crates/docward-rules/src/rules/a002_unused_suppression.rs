//! Suppressions that keep nothing back.

use docward_model::{Draft, Evidence, Seen, Subject, Suppression, Unit, selects};

use crate::{Cx, RULES, declare_rule};

declare_rule! {
    /// # Unused suppression
    ///
    /// ## What it checks
    /// Reports entries under `[[suppress]]` in `docward.toml` that kept nothing back, although a rule they
    /// name was judged and their database was read. Entries about rules that are switched off or could not
    /// look, and about other databases, are left alone: another run may need them. So are all entries when
    /// only a part was read (`--db`, `--collection`, `--sample`, `--select`, a problem).
    ///
    /// ## Why it matters
    /// The matter is settled, or the entry never did what was meant. Left where it is, it hides the next
    /// finding of that kind from everybody.
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
    /// Remove the entry.
    ///
    /// ## When to ignore it
    /// The audit read a sample, and what the entry covers is rare.
    A002, "unused-suppression",
    level: Recommended,
    clauses: [],
    maturity: Preview,
    scope: Everywhere,
    needs: [],
    thresholds: [],
    check: Deployment(check),
}

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let settings = cx.settings();
    let today = settings.today.as_deref();
    let mut drafts = Vec::new();
    // What was read in part, or not as asked, says nothing about what is missing.
    if settings.is_partial {
        return;
    }
    for (at, suppression) in settings.suppressions.iter().enumerate() {
        let was_due = !suppression.is_expired(today)
            && cx.kept_back(at) == 0
            && was_read(suppression, evidence)
            && RULES
                .iter()
                .any(|rule| selects(&suppression.rule, &rule.meta) && cx.has_judged(&rule.meta));
        if was_due {
            drafts.push(draft(suppression, settings.suppressions.len() as u64));
        }
    }
    drafts.into_iter().for_each(|draft| cx.report(draft));
}

/// Whether anything was read that the entry can be about.
fn was_read(suppression: &Suppression, evidence: &Evidence) -> bool {
    let Some(pattern) = &suppression.pattern else { return true };
    let is_whole_deployment = evidence.server.is_some();
    let database = pattern.as_str().split('.').next().unwrap_or_default();
    is_whole_deployment
        || evidence.databases.iter().any(|name| name == database || pattern.matches(name))
        || evidence
            .collections
            .iter()
            .any(|c| c.namespace.database == database || pattern.matches(&c.namespace.to_string()))
}

fn draft(unused: &Suppression, total: u64) -> Draft {
    Draft::new(
        Subject::Deployment,
        format!("the suppression of {} keeps nothing back (\"{}\")", unused.text(), unused.reason),
        "it will hide the next finding of that kind from everybody",
        "remove the entry",
        Seen::all(total, Unit::Suppressions),
    )
    .location(unused.location.clone())
    .key(unused.text())
}

#[cfg(test)]
mod tests {
    use crate::testing::check_with;

    const SHORT: &str = r#"{"_id": 1, "cells": [1]}"#;
    const LONG: &str = r#"{"_id": 1, "cells": $array(1000, {"row": $j})}"#;

    #[test]
    fn entries_that_overlap_are_both_used() {
        let both = "suppress=D009,suppress=D009:db_shop.*";
        assert!(check_with("A002", both, LONG).is_empty());
        // Another collection of the database that was read.
        assert_eq!(check_with("A002", "suppress=D009:db_shop.t_gone", LONG).len(), 1);
        // Nobody suppresses what watches suppressions.
        assert_eq!(check_with("A002", "suppress=A:db_shop.*,suppress=all", SHORT).len(), 1);
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
