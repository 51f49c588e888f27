//! Source code as a source of a report, and suppressions in its comments.

use docward_collect::SourceSeen;
use docward_model::{Location, Problem, Source, SourceKind, Suppression};
use docward_source::Allowed;

use crate::config;

/// Returns the paths as sources of a report. A file counts once, even if several paths contain it.
pub(crate) fn sources(paths: &[String], seen: &SourceSeen, sampled: bool) -> Vec<Source> {
    let one = |name: &String, documents: u64, bytes: u64| Source {
        kind: SourceKind::Code,
        name: name.clone(),
        documents,
        bytes,
        sampled,
        server: None,
    };
    let mut paths = paths.iter();
    let first = paths.next().map(|path| one(path, seen.code.files, seen.bytes));
    first.into_iter().chain(paths.map(|path| one(path, 0, 0))).collect()
}

/// Returns the suppressions in comments. A comment without a reason suppresses nothing and is a
/// problem. So is an unknown rule or an invalid date.
pub(crate) fn allowed_by_comments(
    seen: &mut SourceSeen,
    problems: &mut Vec<Problem>,
) -> Vec<Suppression> {
    let mut out = Vec::new();
    for (file, allowed) in std::mem::take(&mut seen.allowed) {
        if let Some(message) = fault(&allowed) {
            problems.push(Problem { source: format!("{file}:{}", allowed.line), message });
            continue;
        }
        let Allowed { line, rules, until, reason } = allowed;
        let location = Location { file, line, column: 1 };
        // One suppression for each rule, because each may become unnecessary separately.
        out.extend(rules.into_iter().map(|rule| Suppression {
            rule,
            pattern: None,
            path: None,
            files: None,
            is_comment: true,
            // The same line may contain code with a password.
            reason: docward_uri::redact(&reason),
            expires: until.clone(),
            location: location.clone(),
        }));
    }
    out
}

/// Returns the fault of a suppression comment.
fn fault(allowed: &Allowed) -> Option<String> {
    let unknown = allowed.rules.iter().find(|rule| config::known_selector(rule).is_err());
    if let Some(rule) = unknown {
        // Other text might be secret, so it is not repeated.
        let is_name = rule.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
        let rule = if is_name { rule.as_str() } else { "…" };
        return Some(format!(
            "the comment accepts findings of `{rule}`, but there is no such rule; `docward rules` \
             lists all rules"
        ));
    }
    if allowed.until.as_deref().is_some_and(|day| !docward_config::is_day(day)) {
        return Some(
            "the expiry date in this comment is invalid; write it as 2027-01-31".to_owned(),
        );
    }
    allowed.reason.is_empty().then(|| {
        "the comment accepts a finding without a reason; write the reason after the rule".to_owned()
    })
}
