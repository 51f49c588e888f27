//! Formats findings as GitLab's code quality report: a JSON list that merge requests show.

use std::collections::BTreeMap;

use docward_model::{Report, Severity, Subject};
use serde::Serialize;

use crate::{
    View, ranking,
    text::{change, checkout_path, plain},
};

#[derive(Serialize)]
struct Issue {
    description: String,
    check_name: String,
    fingerprint: String,
    severity: &'static str,
    location: Place,
}

#[derive(Serialize)]
struct Place {
    path: String,
    lines: Lines,
}

#[derive(Serialize)]
struct Lines {
    begin: u32,
}

/// One entry per finding, or per open checklist item. GitLab requires a path for each: findings in
/// data get that of their collection.
pub(crate) fn gitlab(report: &Report, view: View) -> String {
    let mut issues: Vec<Issue> = match view {
        View::Findings => ranking::readable(report)
            .map(|finding| Issue {
                description: plain(&format!(
                    "{}{}: {}",
                    finding.place(),
                    change(report, finding),
                    finding.what
                )),
                check_name: format!("{} {}", finding.rule, finding.name),
                fingerprint: finding.fingerprint.clone(),
                severity: severity(finding.severity),
                location: match &finding.location {
                    Some(place) => at(&checkout_path(report, &place.file), place.line),
                    None => at(&path(&finding.at), 1),
                },
            })
            .collect(),
        View::Checklist => report
            .checklist
            .iter()
            .filter(|item| item.is_open())
            .map(|item| Issue {
                description: plain(&format!("{}: {}", item.title, item.evidence)),
                check_name: item.id.to_string(),
                fingerprint: format!("checklist-{}", item.id),
                severity: "critical",
                location: at("deployment", 1),
            })
            .collect(),
    };
    issues.extend(report.obstacles().iter().map(|problem| Issue {
        description: plain(&format!("{}: {}", problem.source, problem.message)),
        check_name: "not read in full".to_owned(),
        fingerprint: format!("problem-{}", problem.source),
        severity: "blocker",
        location: at(&problem.source, 1),
    }));
    // GitLab keeps only one of several entries with the same fingerprint.
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    for issue in &mut issues {
        let n = seen.entry(issue.fingerprint.clone()).or_default();
        *n += 1;
        if *n > 1 {
            issue.fingerprint.push_str(&format!("-{n}"));
        }
    }
    let mut text = serde_json::to_string_pretty(&issues).unwrap_or_default();
    text.push('\n');
    text
}

fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "critical",
        Severity::Warn => "minor",
        Severity::Info => "info",
    }
}

fn at(path: &str, begin: u32) -> Place {
    Place { path: plain(path), lines: Lines { begin } }
}

fn path(at: &Subject) -> String {
    match at {
        Subject::Deployment => "deployment".to_owned(),
        Subject::Database(name) => name.clone(),
        Subject::Collection(ns) | Subject::Field(ns, _) | Subject::Index(ns, _) => {
            format!("{}/{}", ns.database, ns.collection)
        }
    }
}
