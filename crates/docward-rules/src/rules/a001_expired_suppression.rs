//! Suppressions whose expiry date has passed.

use docward_model::{Draft, Evidence, Seen, Subject, Suppression, Unit};

use crate::{Cx, declare_rule, facts::code};

declare_rule! {
    /// # Expired suppression
    ///
    /// ## What it checks
    /// Reports suppressions whose expiry date has passed:
    /// - entries under `[[suppress]]` in `docward.toml`, by their `expires`
    /// - comments in code, by the date in the comment (`docward: allow D020 until 2027-01-31 …`)
    ///
    /// Docward reports the findings that they covered again.
    ///
    /// ## Why it matters
    /// The date was set so that people review the finding again. Until they do, it is unknown whether the reason for
    /// the suppression still applies.
    ///
    /// ## Example
    /// ```jsonl,fires,suppress=D009:db_shop.*:2026-01-31,today=2026-02-01
    /// {"_id": 1, "cells": $array(1000, {"row": $j})}
    /// ```
    /// ```jsonl,clean,suppress=D009:db_shop.*:2026-01-31,today=2026-01-31
    /// {"_id": 1, "cells": $array(1000, {"row": $j})}
    /// ```
    ///
    /// ## How to fix
    /// Remove the entry or the comment when the problem is solved. Otherwise solve it, or set a new date with a
    /// reason.
    ///
    /// ## When to ignore it
    /// Never. Write `expires = "never"` for a finding that stays accepted.
    A001, "expired-suppression",
    level: Recommended,
    area: Hygiene,
    clauses: [],
    maturity: Preview,
    scope: Everywhere,
    needs: [],
    thresholds: [],
    data: ["expired"],
    check: Deployment(check),
}

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let today = cx.settings().today.as_deref();
    let all = &cx.settings().suppressions;
    for expired in all.iter().filter(|suppression| suppression.is_expired(today)) {
        cx.report(draft(expired, all.len() as u64, evidence));
    }
}

fn draft(expired: &Suppression, total: u64, evidence: &Evidence) -> Draft {
    let day = expired.expires.as_deref().unwrap_or_default();
    Draft::new(
        Subject::Deployment,
        format!("the suppression of {} expired on {day} (\"{}\")", expired.text(), expired.reason),
        "the date for another review has passed, so Docward reports its findings again",
        match expired.is_comment {
            true => "remove the comment if the problem is solved, or set a new date",
            false => "remove the entry if the problem is solved, or set a new `expires`",
        },
        Seen::all(total, Unit::Suppressions),
    )
    .data("expired", day)
    .location(expired.location.clone())
    .key(code::suppression_key(evidence, expired))
}

#[cfg(test)]
mod tests {
    use crate::testing::{Example, check_with};

    const LONG: &str = r#"{"_id": 1, "cells": $array(1000, {"row": $j})}"#;

    #[test]
    fn the_place_in_the_file_is_told() {
        let found = check_with("A001", "suppress=D009::2026-01-31,today=2026-02-01", LONG);
        assert_eq!(found[0].location.as_ref().map(|l| l.line), Some(3));
        assert!(found[0].what.contains("D009 expired on 2026-01-31"), "{}", found[0].what);
    }

    #[test]
    fn what_is_suppressed_is_counted_until_the_last_day() {
        let judged = |today: &str| {
            let settings = format!("suppress=D009:db_shop.*:2026-01-31,today={today}");
            let example = Example::new("A001", &settings, LONG);
            let outcome = crate::judge(&example.evidence, &example.settings);
            let told = outcome.findings.iter().filter(|f| f.rule == "D009").count();
            (told, outcome.suppressed, outcome.kept_back)
        };
        assert_eq!(judged("2026-01-31"), (0, 1, vec![1]));
        assert_eq!(judged("2026-02-01"), (1, 0, vec![0]));
    }
}
