//! One report, every shape: what people and programs read, kept as snapshots.

use docward_model::{
    ChecklistItem, Data, FieldPath, Finding, Fix, Level, Namespace, Problem, ProfileName, Report,
    Safety, Seen, Severity, Skipped, Source, SourceKind, Subject, Unit, Verdict,
};
use docward_report::{Expand, TerminalOptions, checklist, json, terminal};

fn finding(rule: &'static str, severity: Severity, at: Subject, what: &str) -> Finding {
    Finding {
        rule: rule.into(),
        name: if rule == "N006" { "collection-without-prefix" } else { "unbounded-array" }.into(),
        severity,
        level: if severity == Severity::Error { Level::Prohibited } else { Level::Recommended },
        clauses: vec![if rule == "N006" { "DM-03.1" } else { "DM-08.2" }.into()],
        at,
        location: None,
        what: what.to_owned(),
        why: "the document grows with every write and stops at 16 MB".to_owned(),
        todo: "move the elements to a collection of their own, with the parent's id and an index on it"
            .to_owned(),
        seen: Seen { unit: Unit::Documents, sampled: 12_000, total: 12_000, confidence: 1.0 },
        data: Data::new().with("p99", 2300_u64).with("max", 5100_u64).with("share", 0.25),
        examples: vec!["a value out of a document".to_owned()],
        fix: (rule != "N006").then(|| Fix {
            refactoring: Some("RF-01".into()),
            command: "db.t_user.aggregate([…])".to_owned(),
            safety: Safety::Guarded,
        }),
        fingerprint: format!("{rule}-{}", what.len()),
    }
}

fn report() -> Report {
    let user = Namespace::new("db_shop", "t_user");
    let mut findings = vec![finding(
        "D008",
        Severity::Error,
        Subject::Field(user, FieldPath::new("posts")),
        "`posts` grows with the age of its document: p99 2,300, longest 5,100",
    )];
    for name in ["orders", "users", "posts", "likes", "tags"] {
        findings.push(finding(
            "N006",
            Severity::Warn,
            Subject::Collection(Namespace::new("db_shop", name)),
            &format!("collection `{name}` does not begin with `t_`"),
        ));
    }
    Report {
        tool_version: "0.0.0",
        profile: ProfileName::Vendor,
        sources: vec![Source {
            server: None,
            kind: SourceKind::Dump,
            name: "dump".to_owned(),
            documents: 12_000,
            bytes: 9_000_000,
            sampled: false,
        }],
        findings,
        suppressed: 2,
        baselined: 0,
        skipped: vec![Skipped { rule: "K001", needs: "shard keys".to_owned() }],
        problems: vec![Problem {
            source: "dump/db_shop/t_log.bson".to_owned(),
            message: "the document at byte 1,024 is cut short; dump the collection again"
                .to_owned(),
        }],
        checklist: vec![
            ChecklistItem {
                id: "CK-1",
                title: "names follow the rules",
                verdict: Verdict::Fail,
                evidence: "5 names do not: orders, users and 3 more".to_owned(),
            },
            ChecklistItem {
                id: "CK-7",
                title: "few enough collections",
                verdict: Verdict::Pass,
                evidence: "6 in all".to_owned(),
            },
        ],
        interrupted: false,
        show_values: false,
    }
}

fn options(expand: Expand) -> TerminalOptions {
    TerminalOptions { color: false, width: 90, expand, quiet: false }
}

#[test]
fn terminal_folds_repeated_findings() {
    insta::assert_snapshot!(terminal(&report(), &options(Expand::No)));
}

#[test]
fn terminal_expanded_with_values() {
    let mut report = report();
    report.show_values = true;
    insta::assert_snapshot!(terminal(&report, &options(Expand::All)));
}

#[test]
fn quiet_still_tells_problems() {
    let quiet = terminal(&report(), &TerminalOptions { quiet: true, ..options(Expand::No) });
    assert!(quiet.contains("NOT READ IN FULL") && !quiet.contains("why:"), "{quiet}");
    for problem in report().problems {
        assert!(quiet.contains(&problem.source), "{quiet}");
    }
}

#[test]
fn json_version_1() {
    insta::assert_snapshot!(json(&report()));
}

#[test]
fn checklist_table() {
    insta::assert_snapshot!(checklist(&report(), false, 90));
}
