//! Snapshots of one report in every format, for people and for programs.

use docward_model::{
    Action, Basis, BsonType, Change, ChecklistItem, Code, Collection, Compared, Conversion, Data,
    Evidence, FieldPath, Filter, Finding, Fix, IndexKey, Known, Level, Location, Look, Namespace,
    NewIndex, Problem, ProfileName, Rename, Report, Safety, Seen, Severity, Site, Skipped, Source,
    SourceKind, Step, Subject, SuppressionUse, Unit, UnsetWhere, ValidationAction, ValidationLevel,
    Value, Verdict, Waiver,
};
use docward_report::{
    Expand, Format, Rendering, TerminalDetail, TerminalOptions, View, fix_script, json, render,
};

fn finding(rule: &'static str, severity: Severity, at: Subject, what: &str) -> Finding {
    Finding {
        rule: rule.into(),
        name: if rule == "N006" { "collection-without-prefix" } else { "unbounded-array" }.into(),
        severity,
        level: if severity == Severity::Error { Level::Prohibited } else { Level::Recommended },
        area: docward_model::Area::Hygiene,
        deadline: None,
        clauses: vec![if rule == "N006" { "DM-03.1" } else { "DM-08.2" }.into()],
        at,
        location: None,
        what: what.to_owned(),
        why: "the document grows with every write and stops at 16 MB".to_owned(),
        todo: "move the elements to a collection of their own, with the parent's id and an index on it"
            .to_owned(),
        seen: Seen::all(12_000, Unit::Documents),
        data: Data::new().with("p99", 2300_u64).with("max", 5100_u64).with("share", 0.25),
        examples: vec!["a value out of a document".to_owned()],
        locations: Vec::new(),
        paths: Vec::new(),
        excerpt: None,
        edits: Vec::new(),
            uri: Vec::new(),
        fix: (rule != "N006").then(|| Fix {
            refactoring: Some("RF-01".into()),
            safety: Safety::Guarded,
            action: Action::Command("db.t_user.aggregate([…])".to_owned()),
        }),
        fingerprint: format!("{rule} {what}"),
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
        tool_version: "0.0.0".into(),
        run: None,
        profile: ProfileName::Vendor,
        profile_reason: None,
        sources: vec![Source {
            server: None,
            kind: SourceKind::Dump,
            name: "dump".to_owned(),
            documents: 12_000,
            bytes: 9_000_000,
            sampled: false,
        }],
        against: None,
        findings,
        suppressed: 2,
        baselined: 0,
        skipped: vec![Skipped { rule: "K001".into(), needs: "shard keys".to_owned() }],
        problems: vec![Problem {
            source: "dump/db_shop/t_log.bson".to_owned(),
            message: "the document at byte 1,024 is cut short; dump the collection again"
                .to_owned(),
        }],
        checklist: vec![
            ChecklistItem {
                id: "CK-1".into(),
                title: "names follow the rules".into(),
                verdict: Verdict::Fail,
                evidence: "5 names do not: orders, users and 3 more".to_owned(),
                waiver: None,
            },
            ChecklistItem {
                id: "CK-7".into(),
                title: "few enough collections".into(),
                verdict: Verdict::Pass,
                evidence: "6 in all".to_owned(),
                waiver: None,
            },
        ],
        interrupted: false,
        show_values: false,
        suppressions: vec![SuppressionUse {
            about: "T002 at db_legacy.*".to_owned(),
            reason: "moves to the new ledger".to_owned(),
            expires: Some("2027-01-31".to_owned()),
            findings: 2,
        }],
        judged: Some(vec!["D008".into(), "N006".into()]),
        namespaces: None,
        withheld: ["suppressed".to_owned()].into(),
        filter: Filter::default(),
        compared: None,
        evidence: Evidence::default(),
        forecasts: Vec::new(),
    }
}

fn rendered(report: &Report, format: Format, view: View, terminal: TerminalOptions) -> String {
    let fails_from = Some(Severity::Error);
    let site = Site::default();
    render(report, &Rendering { format, view, terminal, fails_from, rules: &[], site: &site })
}

fn terminal(report: &Report, options: &TerminalOptions) -> String {
    rendered(report, Format::Terminal, View::Findings, options.clone())
}

fn written(report: &Report, format: Format) -> String {
    rendered(report, format, View::Findings, options(Expand::No))
}

fn review(report: &Report, format: Format) -> String {
    rendered(report, format, View::Checklist, options(Expand::No))
}

/// The report compared with an earlier one. In the earlier one, a finding had a lower severity, one
/// had another message, one was fixed since and one could not be checked. One finding is in a file.
fn compared() -> Report {
    let mut report = report();
    report.problems.clear();
    let mut in_file = report.findings[1].clone();
    in_file.fingerprint = "in a file".to_owned();
    in_file.location = Some(Location { file: "conf/docward.toml".to_owned(), line: 12, column: 5 });
    report.findings.push(in_file);
    let mut known: Vec<Known> = report.findings[..4].iter().map(Known::of).collect();
    known[0].severity = Severity::Warn;
    known[1].what = "collection `orders` did not begin with `t_`".to_owned();
    for (rule, fingerprint) in [("D008", "gone"), ("W001", "not looked for")] {
        known.push(Known {
            rule: rule.to_owned(),
            fingerprint: fingerprint.to_owned(),
            what: "was there".to_owned(),
            ..known[0].clone()
        });
    }
    let looked_for = |known: &Known| report.looked_for(known);
    let compared =
        Compared::of(Basis::Report, "old.json", known, &report.findings, looked_for, |_| true);
    report.findings.retain(|finding| *compared.change(finding) != Change::Same);
    report.compared = Some(compared);
    report
}

fn waived() -> Report {
    let mut report = report();
    report.checklist[0].waiver = Some(Waiver {
        item: "CK-1".to_owned(),
        reason: "renamed with the move in March".to_owned(),
        by: Some("Kim".to_owned()),
        expires: Some("2027-03-31".to_owned()),
    });
    report
}

fn options(expand: Expand) -> TerminalOptions {
    TerminalOptions {
        detail: TerminalDetail::Full,
        show: Vec::new(),
        color: false,
        width: 90,
        expand,
        quiet: false,
    }
}

#[test]
fn the_script_speaks_of_relaxed_validators_where_a_statement_relaxes_one() {
    let about = "Some statements first set validationAction";
    let mut report = report();
    let user = || Namespace::new("db_shop", "t_user");
    let plan = |steps: Vec<Step>| Fix {
        refactoring: None,
        safety: Safety::Guarded,
        action: Action::Plan(steps),
    };
    let set = Step::SetValidator {
        namespace: user(),
        validator: Value::Map(Vec::new()),
        level: ValidationLevel::Moderate,
        action: ValidationAction::Warn,
    };
    report.findings[0].fix = Some(plan(vec![set]));
    assert!(!fix_script(&report, &[]).contains(about), "a proposed validator");
    let relax = Step::RelaxValidator { namespace: user() };
    let unset = Step::UnsetField {
        namespace: user(),
        path: FieldPath::new("posts"),
        documents: UnsetWhere::Empty,
    };
    report.findings[0].fix = Some(plan(vec![relax, unset]));
    let script = fix_script(&report, &[]);
    assert!(script.contains(about));
    // The header consists of comments only: no line of a literal breaks off.
    let (header, _) = script.split_once("\n\n").unwrap();
    assert!(header.lines().all(|line| line.starts_with("//")), "{header}");
}

#[test]
fn validators_in_their_new_form_end_the_script() {
    let mut report = report();
    let user = || Namespace::new("db_shop", "t_user");
    let set = Step::SetValidator {
        namespace: user(),
        validator: Value::Map(Vec::new()),
        level: ValidationLevel::Strict,
        action: ValidationAction::Error,
    };
    let rename = Step::RenameFields {
        namespace: user(),
        renames: vec![Rename { from: FieldPath::new("a"), to: FieldPath::new("b") }],
        only_where_free: false,
    };
    let plan = |step: Step| {
        Some(Fix { refactoring: None, safety: Safety::Guarded, action: Action::Plan(vec![step]) })
    };
    report.findings.truncate(1);
    report.findings[0].fix = plan(rename);
    let end = |report: &Report| {
        let script = fix_script(report, std::slice::from_ref(&set));
        script.split_once("\n// Last: ").expect("a last part").1.to_owned()
    };
    // Programs must change with renames, so a person runs both.
    report.findings[0].rule = "N011".into();
    let text = end(&report);
    assert!(
        text.starts_with("validator of db_shop.t_user (manual)\n// Run this after all fixes"),
        "{text}"
    );
    assert!(!text.contains("step("), "{text}");
    report.findings[0].rule = "D007".into();
    let text = end(&report);
    assert!(text.contains("step(\"guarded\", \"validator of db_shop.t_user\""), "{text}");
    // Only the fixes of this collection have to succeed first.
    assert!(text.contains("after([\"D007 db_shop.t_user"), "{text}");
}

#[test]
fn what_only_shows_something_is_a_comment_of_the_script() {
    let mut report = report();
    let inspect = Step::Inspect {
        namespace: Namespace::new("db_shop", "t_user"),
        look: Look::CountWithout { path: FieldPath::new("email") },
    };
    report.findings[0].fix =
        Some(Fix { refactoring: None, safety: Safety::Safe, action: Action::Plan(vec![inspect]) });
    let script = fix_script(&report, &[]);
    assert!(script.contains("\n// Check the documents first:\n// db."), "{script}");
    assert!(!script.contains("step(\"safe\""), "{script}");
}

#[test]
fn steps_are_written_by_name_and_read_back() {
    let namespace = || Namespace::new("db_shop", "t_user");
    let path = || FieldPath::new("address.city");
    let index = NewIndex {
        name: Some("by_city".to_owned()),
        collation: Some(Value::Map(vec![("locale".to_owned(), Value::Text("de".to_owned()))])),
        ..NewIndex::ascending(["address.city"])
    };
    let validator = Value::Map(vec![(
        "$jsonSchema".to_owned(),
        Value::Map(vec![
            ("required".to_owned(), Value::List(vec![Value::Text("email".to_owned())])),
            ("minimum".to_owned(), Value::Date(1_700_000_000_000)),
            ("title".to_owned(), Value::Other("NumberDecimal(\"1\")".to_owned())),
            ("maxLength".to_owned(), Value::Int(8)),
            ("maximum".to_owned(), Value::Double(0.5)),
        ]),
    )]);
    let steps = vec![
        Step::ConvertField {
            namespace: namespace(),
            path: path(),
            from: vec![BsonType::String],
            to: vec![BsonType::ObjectId],
            conversion: Conversion::CAST,
        },
        Step::LiftField {
            namespace: namespace(),
            rename: Rename { from: path(), to: FieldPath::new("city") },
        },
        Step::CreateIndex { namespace: namespace(), index },
        Step::SetValidation {
            namespace: namespace(),
            level: ValidationLevel::Strict,
            action: ValidationAction::Error,
            unless_broken: Some(validator),
        },
        Step::ShardCollection {
            namespace: namespace(),
            keys: vec![IndexKey::sharded(&("a".to_owned(), true)), IndexKey::ascending("b")],
            has_collation: false,
        },
        Step::CreateAdministrator,
        Step::Inspect { namespace: namespace(), look: Look::IndexUse },
    ];
    let mut report = report();
    report.findings[0].fix =
        Some(Fix { refactoring: None, safety: Safety::Guarded, action: Action::Plan(steps) });
    let written = json(&report);
    let value: serde_json::Value = serde_json::from_str(&written).unwrap();
    let fix = &value["findings"][0]["fix"];
    assert_eq!(
        fix["steps"][0],
        serde_json::json!({
            "step": "convertField",
            "namespace": "db_shop.t_user",
            "path": "address.city",
            "from": ["string"],
            "to": ["objectId"],
            "conversion": { "by": "cast", "readsWords": false, "emptyToNull": false },
        })
    );
    assert_eq!(fix["steps"][2]["keys"], serde_json::json!({ "address.city": 1 }));
    let command = report.findings[0].fix.as_ref().unwrap().command();
    assert_eq!(fix["command"], serde_json::json!(command));
    let read = docward_report::read(&written).unwrap();
    assert_eq!(read.findings[0].fix, report.findings[0].fix);
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
    insta::assert_snapshot!(review(&report(), Format::Terminal));
}

const MACHINES: [(&str, Format); 5] = [
    ("sarif", Format::Sarif),
    ("junit", Format::Junit),
    ("markdown", Format::Markdown),
    ("github", Format::Github),
    ("gitlab", Format::Gitlab),
];

#[test]
fn findings_in_every_format() {
    for (name, format) in MACHINES {
        insta::assert_snapshot!(format!("findings_{name}"), written(&report(), format));
    }
}

#[test]
fn comparisons_in_every_format() {
    insta::assert_snapshot!("compared_terminal", written(&compared(), Format::Terminal));
    insta::assert_snapshot!("compared_json", written(&compared(), Format::Json));
    for (name, format) in MACHINES {
        insta::assert_snapshot!(format!("compared_{name}"), written(&compared(), format));
    }
}

#[test]
fn checklists_in_every_format() {
    insta::assert_snapshot!("checklist_terminal", review(&waived(), Format::Terminal));
    for (name, format) in MACHINES {
        insta::assert_snapshot!(format!("checklist_{name}"), review(&waived(), format));
    }
}

/// The readable content of a page: compressed parts decompressed, without style and script, one
/// element per line.
fn unpacked(page: &str) -> String {
    use base64::{Engine, engine::general_purpose::STANDARD};
    let mut out = String::new();
    let mut rest = page;
    let between = |text: &str, close: &str| text.find(close).expect("it ends");
    while let Some(start) = rest.find("<s") {
        let (before, element) = rest.split_at(start);
        out.push_str(before);
        let opening = &element[..=between(element, ">")];
        let (close, is_packed) = match opening {
            "<style>" => ("</style>", false),
            "<script>" => ("</script>", false),
            _ if opening.starts_with("<script type=\"text/plain\"") => ("</script>", true),
            _ => {
                out.push_str(opening);
                rest = &element[opening.len()..];
                continue;
            }
        };
        let end = between(element, close);
        out.push_str(opening);
        if is_packed {
            let packed = STANDARD.decode(&element[opening.len()..end]).expect("base64");
            let json = std::io::read_to_string(flate2::read::GzDecoder::new(packed.as_slice()));
            out.push_str(&json.expect("a text").replace("><", ">\n<"));
        } else {
            out.push('…');
        }
        rest = &element[end..];
    }
    out.push_str(rest);
    let policy = out.find("'sha256-").expect("the policy names the script") + 8;
    let hash = out[policy..].find('\'').expect("it ends");
    out.replace_range(policy..policy + hash, "…");
    out.replace("><", ">\n<")
}

#[test]
fn pages_are_what_they_were() {
    insta::assert_snapshot!("findings_html", unpacked(&written(&report(), Format::Html)));
    insta::assert_snapshot!("compared_html", unpacked(&written(&compared(), Format::Html)));
    insta::assert_snapshot!("checklist_html", unpacked(&review(&waived(), Format::Html)));
}

/// A report with this many findings of a severity, of one rule.
fn many(severity: Severity, n: usize) -> Report {
    let mut report = report();
    let one = Subject::Collection(Namespace::new("db_shop", "orders"));
    let what = |i: usize| format!("collection number {i} does not begin with `t_`");
    report.findings = (0..n).map(|i| finding("N006", severity, one.clone(), &what(i))).collect();
    report
}

#[test]
fn markdown_folds_long_lists() {
    // Warnings as lines, and errors that do not fit in full.
    for (severity, n) in [(Severity::Warn, 60), (Severity::Error, 5_000)] {
        let text = written(&many(severity, n), Format::Markdown);
        let start = text.find("###").expect("a heading");
        let mut depth = 0;
        let mut open = 0;
        for line in text[start..].lines() {
            depth += i32::from(line.starts_with("<details>"));
            depth -= i32::from(line.starts_with("</details>"));
            open += i32::from(depth == 0 && line.starts_with("- `"));
        }
        assert!(open <= 3 && depth == 0, "{open} lines of {severity} in the open");
        assert!(text.contains("<details><summary>N006 collection-without-prefix: "), "{text}");
        assert!(text.len() < 62_000, "{}", text.len());
    }
    let left_out = written(&many(Severity::Error, 5_000), Format::Markdown);
    assert!(left_out.contains("more are not shown; `--format json` has all"), "{left_out}");
}

#[test]
fn names_of_sources_give_no_lines_and_no_colours() {
    let mut report = report();
    report.sources[0].name = "dump\n::error::pwn\u{1b}[31m".to_owned();
    let text = terminal(&report, &options(Expand::No));
    let first = text.lines().next().expect("a headline");
    assert!(first.contains("::error::pwn") && !text.contains('\u{1b}'), "{text}");
}

/// The report with a collection whose findings are all in the baseline.
fn known() -> Report {
    let mut report = report();
    report.problems.clear();
    report.evidence.collections =
        ["orders", "users"].map(|name| Collection::named(Namespace::new("db_shop", name))).into();
    let known = report.findings.iter().map(Known::of).collect();
    let compared =
        Compared::of(Basis::Baseline, "base.json", known, &report.findings, |_| true, |_| true);
    report.findings.clear();
    report.baselined = compared.unchanged.len() as u64;
    report.compared = Some(compared);
    report
}

#[test]
fn what_a_baseline_knows_is_not_called_healthy() {
    let page = unpacked(&written(&known(), Format::Html));
    for part in [
        "In the baseline",
        "0 with errors, 0 with warnings, 2 with known findings only, 0 with none of these",
        "data-label=\"In the baseline\"",
        ">6</td>",
        "accepted, not fixed",
        "\"o\":1",
    ] {
        assert!(page.contains(part), "{part} in {page}");
    }
}

#[test]
fn a_comparison_without_collections_has_no_column_for_them() {
    let page = unpacked(&written(&compared(), Format::Html));
    assert!(page.contains("Health of each database") && !page.contains("with neither"), "{page}");
    assert!(!page.contains("<th scope=\"col\">Collections</th>"), "{page}");
}

#[test]
fn files_are_named_as_in_the_checkout() {
    let mut report = compared();
    let place = Location { file: "/home/kim/shop/src/app.js".to_owned(), line: 3, column: 1 };
    report.findings[0].location = Some(place);
    report.evidence.code = Some(Code {
        roots: vec![("/home/kim/shop/src".to_owned(), "src".to_owned())],
        ..Code::default()
    });
    for (format, part) in [
        (Format::Sarif, "\"uri\": \"src/app.js\""),
        (Format::Gitlab, "\"path\": \"src/app.js\""),
        (Format::Github, "file=src/app.js,line=3"),
    ] {
        let text = written(&report, format);
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn a_report_is_read_back_as_it_was_written() {
    for report in [report(), waived()] {
        let text = json(&report);
        let read = docward_report::read(&text).unwrap();
        assert_eq!(json(&read), text);
    }
    for (text, expect) in [
        ("", "is not a report"),
        ("{\"version\": 2}", "version 2"),
        ("{\"version\": 1}", "is not a report"),
    ] {
        let fault = docward_report::read(text).unwrap_err().to_string();
        assert!(fault.contains(expect), "{fault}");
    }
}

#[test]
fn sarif_is_valid() {
    let schema: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(sarif_schema()).unwrap()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let mut broken: serde_json::Value =
        serde_json::from_str(&written(&report(), Format::Sarif)).unwrap();
    for log in [
        written(&report(), Format::Sarif),
        written(&compared(), Format::Sarif),
        review(&waived(), Format::Sarif),
    ] {
        let log = serde_json::from_str(&log).unwrap();
        let faults: Vec<String> =
            validator.iter_errors(&log).map(|e| format!("{}: {e}", e.instance_path)).collect();
        assert!(faults.is_empty(), "{}", faults.join("\n"));
        // Another library's SARIF types must accept it, too.
        serde_json::from_value::<serde_sarif::sarif::Sarif>(log).unwrap();
    }
    broken["runs"][0]["results"][0]["level"] = "loud".into();
    assert!(!validator.is_valid(&broken), "the schema looks at what it is given");
}

/// The SARIF schema, which the crate of its types includes.
fn sarif_schema() -> std::path::PathBuf {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let out = std::process::Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--manifest-path"])
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"))
        .output()
        .expect("cargo runs");
    let metadata: serde_json::Value = serde_json::from_slice(&out.stdout).expect("JSON");
    let packages = metadata["packages"].as_array().expect("a list");
    let package = packages.iter().find(|p| p["name"] == "serde-sarif").expect("the crate");
    let manifest = std::path::PathBuf::from(package["manifest_path"].as_str().expect("a path"));
    manifest.with_file_name("src").join("schema.json")
}
