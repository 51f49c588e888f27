//! Tests of the individual items.

mod recorded;

use docward_model::Subject;

use super::*;
use docward_rules::testing::Example;

/// The item for an example, with all rules.
fn item(id: &str, settings: &str, body: &str) -> ChecklistItem {
    let example = Example::new("T002", settings, body);
    let outcome = docward_rules::judge(&example.evidence, &example.settings);
    of(id, &example.evidence, &example.settings, &outcome)
}

fn of(id: &str, evidence: &Evidence, settings: &Settings, outcome: &Outcome) -> ChecklistItem {
    checklist(evidence, settings, outcome).into_iter().find(|i| i.id == id).unwrap()
}

fn finding(rule: &'static str, severity: Severity, at: Subject) -> Finding {
    Finding {
        rule: rule.into(),
        name: "x".into(),
        severity,
        level: Level::Recommended,
        area: docward_model::Area::Hygiene,
        deadline: None,
        clauses: Vec::new(),
        at,
        location: None,
        what: "what".into(),
        why: "why".into(),
        todo: "todo".into(),
        seen: docward_model::Seen::all(1, docward_model::Unit::Documents),
        data: docward_model::Data::new(),
        examples: Vec::new(),
        fix: None,
        locations: Vec::new(),
        paths: Vec::new(),
        excerpt: None,
        edits: Vec::new(),
        uri: Vec::new(),
        fingerprint: String::new(),
    }
}

#[test]
fn ck_1_one_bad_name_fails_the_item_and_is_named() {
    let naming = RULES.iter().find(|r| {
        r.meta.level != Level::Information && r.meta.clauses.iter().any(|c| c.starts_with("DM-04"))
    });
    let rule = naming.expect("a rule about field names");
    let example = Example::new("T002", "", "{\"price\": NumberDecimal(\"1\")}");
    let ns = example.evidence.collections[0].namespace.clone();
    let path = docward_model::FieldPath::new("Create_Time");
    let outcome = Outcome {
        findings: vec![finding(rule.meta.code, Severity::Warn, Subject::Field(ns, path))],
        ..Outcome::default()
    };
    let item = of("CK-1", &example.evidence, &example.settings, &outcome);
    assert_eq!(item.verdict, Verdict::Fail);
    assert!(item.evidence.contains("`Create_Time`"), "{}", item.evidence);
}

#[test]
fn ck_9_ck_11_ck_12_ck_15_need_a_workload() {
    let judged = |id: &str, body: &str| {
        let example = Example::new("W001", "", body);
        let outcome = docward_rules::judge(&example.evidence, &example.settings);
        of(id, &example.evidence, &example.settings, &outcome).verdict
    };
    let scan = r#"{"_id": 1, "a": 2}
        ran x30 {"command": {"find": "t_order_item", "filter": {"a": 1}}, "planSummary": "COLLSCAN", "docsExamined": 5000, "nreturned": 1}"#;
    for id in ["CK-9", "CK-11", "CK-12", "CK-15"] {
        assert_eq!(judged(id, r#"{"_id": 1, "a": 2}"#), Verdict::Unknown, "{id}");
        let expect = if id == "CK-12" { Verdict::Fail } else { Verdict::Pass };
        assert_eq!(judged(id, scan), expect, "{id}");
    }
    let running = r#"running {"secs_running": 9, "planSummary": "IXSCAN { a: 1 }", "command": {"find": "t_order_item", "filter": {"a": 1}}}"#;
    assert_eq!(judged("CK-12", running), Verdict::Unknown, "it has not ended");
    let joined = r#"ran x30 {"command": {"aggregate": "t_order_item", "pipeline": [{"$lookup": {"from": "p", "localField": "p", "foreignField": "_id", "as": "x"}}]}}"#;
    assert_eq!(judged("CK-9", joined), Verdict::Fail);
    let counted =
        r#"ran x30 {"command": {"count": "t_order_item", "query": {"p": 1}}, "keysExamined": 900}"#;
    assert_eq!(judged("CK-11", counted), Verdict::Fail);
}

#[test]
fn ck_13_a_rising_key_fails() {
    let judged = |key: &str| {
        let example = Example::new(
            "K003",
            &format!("shard-key=db_shop.t_order_item:{key}"),
            "x1200 {\"_id\": ObjectId(\"$oid\"), \"createdAt\": 1}",
        );
        let outcome = docward_rules::judge(&example.evidence, &example.settings);
        of("CK-13", &example.evidence, &example.settings, &outcome).verdict
    };
    assert_eq!(judged(r#"{"_id":1}"#), Verdict::Fail);
    assert_eq!(judged(r#"{"_id":"hashed"}"#), Verdict::Pass);
}

#[test]
fn ck_13_a_key_that_may_rise_needs_the_order_of_inserts() {
    let judged = |key: &str, copied: bool, shuffled: bool| {
        let documents: String = (0..1500u32)
            .map(|i| format!("{{\"_id\": {}}}\n", i.wrapping_mul(2_654_435_761) >> 1))
            .collect();
        let settings = format!("shard-key=db_shop.t_order_item:{key}");
        let mut example = Example::new("K003", &settings, &documents);
        let profile = example.evidence.collections[0].profile.as_mut().expect("documents");
        (profile.copied, profile.shuffled) = (copied, shuffled);
        let outcome = docward_rules::judge(&example.evidence, &example.settings);
        of("CK-13", &example.evidence, &example.settings, &outcome)
    };
    assert_eq!(judged(r#"{"_id":1}"#, false, false).verdict, Verdict::Pass);
    for (copied, shuffled) in [(true, false), (false, true)] {
        let open = judged(r#"{"_id":1}"#, copied, shuffled);
        assert_eq!(open.verdict, Verdict::Unknown, "{}", open.evidence);
        assert!(open.evidence.contains(
            "whether `_id` of `db_shop.t_order_item` increases \
         monotonically"
        ));
        assert_eq!(judged(r#"{"_id":"hashed"}"#, copied, shuffled).verdict, Verdict::Pass);
    }
}

#[test]
fn ck_2_900_kb_pass_and_more_than_1_mb_fails() {
    let pass = item("CK-2", "", "x3 {\"text\": \"$pad(900000)\"}");
    assert_eq!(pass.verdict, Verdict::Pass, "{}", pass.evidence);
    let fail = item("CK-2", "", "x3 {\"text\": \"$pad(1100000)\"}");
    assert_eq!(fail.verdict, Verdict::Fail, "{}", fail.evidence);
    let other = item("CK-2", "core=db_x.*", "x3 {\"text\": \"$pad(1100000)\"}");
    assert_eq!(other.verdict, Verdict::Unknown, "not a core collection");
}

/// Figures that the server computed over all documents override a sample, even if none was read.
#[test]
fn ck_2_ck_14_sizes_that_the_server_counted() {
    let counted = |max: u64| docward_model::Counted {
        documents: 20_001,
        sizes: docward_model::Distribution { count: 20_001, max, ..Default::default() },
        larger_than: vec![(CORE_BYTES, u64::from(max > CORE_BYTES))],
        ..Default::default()
    };
    let mut example = Example::new("D001", "", "x300 {\"_id\": $i, \"name\": \"a\"}");
    let mut verdict = |max: u64, is_read: bool| {
        let collection = &mut example.evidence.collections[0];
        collection.counted = Some(Box::new(counted(max)));
        let profile = collection.profile.take().filter(|_| is_read);
        collection.profile = profile;
        let outcome = docward_rules::judge(&example.evidence, &example.settings);
        let item = of("CK-2", &example.evidence, &example.settings, &outcome);
        (item.verdict, item.evidence)
    };
    let (failed, evidence) = verdict(11_400_000, true);
    assert_eq!(failed, Verdict::Fail, "{evidence}");
    let (passed, evidence) = verdict(900_000, true);
    assert_eq!(passed, Verdict::Pass, "{evidence}");
    assert!(evidence.contains("20,001 documents counted by the server"), "{evidence}");
    assert_eq!(verdict(11_400_000, false).0, Verdict::Fail, "none was read");
}

/// Core collections are inferred from documents.
#[test]
fn ck_6_nothing_is_vouched_for_when_no_document_was_read() {
    let mut example = Example::new("V001", "", "options {}\nx300 {\"_id\": $i, \"name\": \"a\"}");
    let verdict = |example: &Example| {
        let outcome = docward_rules::judge(&example.evidence, &example.settings);
        of("CK-6", &example.evidence, &example.settings, &outcome).verdict
    };
    assert_eq!(verdict(&example), Verdict::Fail);
    example.evidence.collections[0].profile = None;
    assert_eq!(verdict(&example), Verdict::Unknown);
}

#[test]
fn ck_2_ck_3_ck_5_a_sample_says_what_it_leaves_open() {
    let mut example = Example::new("T002", "", "x300 {\"_id\": $i, \"name\": \"a\"}");
    let mut said = |total: u64| {
        example.evidence.collections[0].profile.as_mut().unwrap().total = total;
        let outcome = docward_rules::judge(&example.evidence, &example.settings);
        ["CK-2", "CK-3", "CK-5"].map(|id| {
            let item = of(id, &example.evidence, &example.settings, &outcome);
            assert_eq!(item.verdict, Verdict::Pass, "{}", item.evidence);
            item.evidence
        })
    };
    for evidence in said(20_000) {
        assert!(evidence.contains("0 of 300 sampled in `"), "{evidence}");
        assert!(evidence.contains("fewer than 1 % of its documents at 95 %"), "{evidence}");
    }
    for evidence in said(300) {
        assert!(!evidence.contains("sampled"), "{evidence}");
    }
}

#[test]
fn ck_3_five_layers_warn_and_six_fail() {
    let nested = |n: usize| format!("{}1{}", "{\"a\": ".repeat(n + 1), "}".repeat(n + 1));
    assert_eq!(item("CK-3", "", &nested(3)).verdict, Verdict::Pass);
    let five = item("CK-3", "", &nested(5));
    assert_eq!(five.verdict, Verdict::Warn);
    assert!(!five.evidence.contains("warning"), "{}", five.evidence);
    assert_eq!(item("CK-3", "", &nested(6)).verdict, Verdict::Fail);
}

/// D007 reports on every collection, so the item does not pass together with it.
#[test]
fn ck_3_fails_by_an_error_in_a_collection_that_is_not_core() {
    let deep = format!("{}1{}", "{\"a\": ".repeat(8), "}".repeat(8));
    let body = format!("@ db_shop.t_order\nx30 {{\"_id\": $i}}\n@ db_shop.t_debug\n{deep}");
    let failed = item("CK-3", "core=db_shop.t_order", &body);
    assert_eq!(failed.verdict, Verdict::Fail, "{}", failed.evidence);
    assert!(failed.evidence.starts_with("D007 in `"), "{}", failed.evidence);
    assert!(failed.evidence.contains("`db_shop.t_debug`"), "{}", failed.evidence);
}

/// However an item is computed, its verdict is never less severe than the findings that cite it.
#[test]
fn ck_1_to_ck_15_no_item_is_milder_than_the_findings_that_cite_it() {
    let example = Example::new("T002", "", "x30 {\"_id\": $i, \"log\": [1, 2]}");
    let at = Subject::Collection(example.evidence.collections[0].namespace.clone());
    for number in 1..=15 {
        let id = format!("CK-{number}");
        for severity in [Severity::Error, Severity::Warn, Severity::Info] {
            let clauses = vec![id.clone().into()];
            let found = Finding { clauses, ..finding("X001", severity, at.clone()) };
            let outcome = Outcome { findings: vec![found], ..Outcome::default() };
            let verdict = of(&id, &example.evidence, &example.settings, &outcome).verdict;
            match severity {
                Severity::Error => assert_eq!(verdict, Verdict::Fail, "{id}"),
                Severity::Warn => assert_eq!(verdict, on_warning(&id), "{id}"),
                Severity::Info => {
                    assert!(!matches!(verdict, Verdict::Fail | Verdict::Warn), "{id}")
                }
            }
        }
    }
}

#[test]
fn ck_13_does_not_apply_where_nothing_is_sharded() {
    let document = "{\"_id\": 1, \"a\": 2}";
    assert_eq!(item("CK-13", "", document).verdict, Verdict::Unknown, "a dump does not say");
    assert_eq!(item("CK-13", "topology=replica-set", document).verdict, Verdict::NotApplicable);
    let alone = format!("{document}\nserver {{\"topology\": \"standalone\"}}");
    assert_eq!(item("CK-13", "", &alone).verdict, Verdict::NotApplicable);
    let planned = "topology=replica-set,shard-key=db_shop.t_order_item:{\"a\":1}";
    assert_ne!(item("CK-13", planned, document).verdict, Verdict::NotApplicable);
}

#[test]
fn ck_4_a_cap_in_the_validator_passes_and_no_cap_is_unknown() {
    let schema = "options {\"validator\": {\"$jsonSchema\": {\"properties\": {\"tags\": {\"bsonType\": \"array\", \"maxItems\": 50}}}}}\n";
    let body = "x30 {\"_id\": $i, \"tags\": [\"a\", \"b\"]}";
    let capped = item("CK-4", "", &format!("{schema}{body}"));
    assert_eq!(capped.verdict, Verdict::Pass, "{}", capped.evidence);
    let open = item("CK-4", "", body);
    assert_eq!(open.verdict, Verdict::Unknown, "{}", open.evidence);
    assert!(open.evidence.contains("`tags`"), "{}", open.evidence);
    let declared = item("CK-4", "cap=db_shop.*:tags:50", body);
    assert_eq!(declared.verdict, Verdict::Pass, "{}", declared.evidence);
}

#[test]
fn ck_8_a_growing_array_fails_once_and_is_named() {
    let example = Example::new("T002", "", "x30 {\"_id\": $i, \"log\": [1, 2]}");
    let ns = example.evidence.collections[0].namespace.clone();
    let at = Subject::Field(ns, docward_model::FieldPath::new("log"));
    let outcome =
        Outcome { findings: vec![finding("D008", Severity::Error, at)], ..Outcome::default() };
    let item = of("CK-8", &example.evidence, &example.settings, &outcome);
    assert_eq!(item.verdict, Verdict::Fail);
    assert_eq!(item.evidence.matches("`log`").count(), 1, "{}", item.evidence);
}

#[test]
fn ck_4_ck_5_ck_8_ck_9_ck_11_ck_12_ck_15_no_finding_that_cites_an_item_stands_beside_a_pass() {
    let example = Example::new("T002", "", "x30 {\"_id\": $i, \"log\": [1, 2]}");
    let ns = example.evidence.collections[0].namespace.clone();
    for id in ["CK-4", "CK-5", "CK-8", "CK-9", "CK-11", "CK-12", "CK-15"] {
        let citing = RULES.iter().filter(|r| r.meta.clauses.contains(&id));
        for rule in citing {
            let at = Subject::Field(ns.clone(), docward_model::FieldPath::new("log"));
            let found = Finding {
                clauses: rule.meta.clauses.iter().map(|&c| c.into()).collect(),
                location: Some(docward_model::Location {
                    file: "app.js".to_owned(),
                    line: 7,
                    column: 3,
                }),
                ..finding(rule.meta.code, Severity::Warn, at)
            };
            let outcome = Outcome { findings: vec![found.clone()], ..Outcome::default() };
            let item = of(id, &example.evidence, &example.settings, &outcome);
            assert_eq!(item.verdict, on_warning(id), "{id} {}", rule.meta.code);
            assert!(item.evidence.contains("`log` of `"), "{}", item.evidence);
            assert!(item.evidence.contains("(app.js:7)"), "{}", item.evidence);
            let info = Finding { severity: Severity::Info, ..found };
            let outcome = Outcome { findings: vec![info], ..Outcome::default() };
            let item = of(id, &example.evidence, &example.settings, &outcome);
            assert_ne!(item.verdict, Verdict::Fail, "{id} {}: only told", rule.meta.code);
        }
    }
    let cites = |code: &str, id: &str| {
        RULES.iter().any(|r| r.meta.code == code && r.meta.clauses.contains(&id))
    };
    for (id, codes) in [
        ("CK-4", &["D008", "D020", "R006", "W007"][..]),
        ("CK-8", &["D008", "D020", "R006", "W007"]),
        ("CK-5", &["T020", "T021"]),
        ("CK-11", &["W005", "W021"]),
        ("CK-12", &["W001", "W002", "W003"]),
        ("CK-15", &["W010", "W020"]),
    ] {
        codes.iter().for_each(|code| assert!(cites(code, id), "{code} {id}"));
    }
}

#[test]
fn ck_4_ck_8_one_array_is_named_once_whoever_tells() {
    let example = Example::new("T002", "", "x30 {\"_id\": $i, \"log\": [1, 2]}");
    let ns = example.evidence.collections[0].namespace.clone();
    let at = Subject::Field(ns, docward_model::FieldPath::new("log"));
    let found = |rule| Finding {
        clauses: vec!["CK-4".into()],
        ..finding(rule, Severity::Error, at.clone())
    };
    let findings = vec![found("D008"), found("W007"), found("R006")];
    let outcome = Outcome { findings, ..Outcome::default() };
    let item = of("CK-8", &example.evidence, &example.settings, &outcome);
    assert!(item.evidence.starts_with("1 array grows"), "{}", item.evidence);
}

#[test]
fn ck_1_passes_without_source_code() {
    let item = item("CK-1", "ns=db_shop.t_order_item", "x30 {\"_id\": $i, \"userName\": \"a\"}");
    assert_eq!(item.verdict, Verdict::Pass, "{}", item.evidence);
}

#[test]
fn ck_5_money_in_doubles_fails_and_a_switched_off_rule_is_unknown() {
    let fail = item("CK-5", "", "{\"amount\": 199.99}");
    assert_eq!(fail.verdict, Verdict::Fail);
    assert!(fail.evidence.contains("`amount`"), "{}", fail.evidence);
    let pass = item("CK-5", "", "{\"amount\": NumberDecimal(\"199.99\")}");
    assert_eq!(pass.verdict, Verdict::Pass, "{}", pass.evidence);
    let mut example = Example::new("T002", "", "{\"amount\": 199.99}");
    example.settings.ignore.push("T002".into());
    let outcome = docward_rules::judge(&example.evidence, &example.settings);
    let off = of("CK-5", &example.evidence, &example.settings, &outcome);
    assert_eq!(off.verdict, Verdict::Unknown);
    assert!(off.evidence.contains("T002"), "{}", off.evidence);
}

#[test]
fn ck_6_a_missing_validator_fails_and_unseen_options_are_unknown() {
    let mut example = Example::new("T002", "", "x30 {\"name\": \"a\"}");
    let ns = example.evidence.collections[0].namespace.clone();
    let outcome = Outcome {
        findings: vec![finding("V001", Severity::Error, Subject::Collection(ns))],
        ..Outcome::default()
    };
    assert_eq!(of("CK-6", &example.evidence, &example.settings, &outcome).verdict, Verdict::Fail);
    example.evidence.collections[0].options = None;
    let outcome = docward_rules::judge(&example.evidence, &example.settings);
    assert_eq!(
        of("CK-6", &example.evidence, &example.settings, &outcome).verdict,
        Verdict::Unknown
    );
}

#[test]
fn ck_6_a_validator_that_is_switched_off_fails() {
    let body = |level: &str| {
        format!(
            "options {{\"validator\": {{\"$jsonSchema\": {{\"required\": [\"name\"], \"properties\": {{\"name\": {{\"bsonType\": \"string\"}}}}}}}}, \"validationLevel\": \"{level}\"}}\nx30 {{\"_id\": $i, \"name\": \"a\"}}"
        )
    };
    let verdict = |level: &str| {
        let mut example = Example::new("T002", "", &body(level));
        example.settings.select.clear();
        let outcome = docward_rules::judge(&example.evidence, &example.settings);
        of("CK-6", &example.evidence, &example.settings, &outcome).verdict
    };
    assert_eq!(verdict("strict"), Verdict::Pass);
    assert_eq!(verdict("off"), Verdict::Fail);
}

#[test]
fn ck_7_a_full_database_warns_and_the_instance_decides() {
    let example = Example::new("T002", "", "{\"a\": 1}");
    let one = |rule, severity, at| Outcome {
        findings: vec![finding(rule, severity, at)],
        ..Outcome::default()
    };
    let outcome = one("L001", Severity::Error, Subject::Deployment);
    assert_eq!(of("CK-7", &example.evidence, &example.settings, &outcome).verdict, Verdict::Fail);
    let outcome = one("L002", Severity::Warn, Subject::Database("db_shop".into()));
    let warned = of("CK-7", &example.evidence, &example.settings, &outcome);
    assert_eq!(warned.verdict, Verdict::Warn);
    assert!(
        warned.evidence.starts_with("1 database has too many collections"),
        "{}",
        warned.evidence
    );
}

#[test]
fn ck_7_5000_warn_and_5001_fail() {
    let mut example = Example::new("L001", "", "{\"a\": 1}");
    for (n, verdict) in [(4999, Verdict::Pass), (5000, Verdict::Warn), (5001, Verdict::Fail)] {
        example.evidence.databases = (0..51).map(|db| format!("db_{db}")).collect();
        example.evidence.collections = (0..n)
            .map(|i| {
                let db = format!("db_{}", i % 51);
                Collection::named(docward_model::Namespace::new(db, format!("t_{i}")))
            })
            .collect();
        example.settings.select = vec!["L001".to_owned(), "L002".to_owned()];
        let outcome = docward_rules::judge(&example.evidence, &example.settings);
        let item = of("CK-7", &example.evidence, &example.settings, &outcome);
        assert_eq!(item.verdict, verdict, "{n}: {}", item.evidence);
        let is_reached = item.evidence.starts_with("the limit is reached");
        assert_eq!(is_reached, n == 5000, "{n}: {}", item.evidence);
    }
}

#[test]
fn ck_14_a_p99_of_12_mb_fails() {
    assert_eq!(item("CK-14", "", "x3 {\"text\": \"$pad(1000000)\"}").verdict, Verdict::Pass);
    let fail = item("CK-14", "", "x3 {\"text\": \"$pad(12000000)\"}");
    assert_eq!(fail.verdict, Verdict::Fail, "{}", fail.evidence);
}
