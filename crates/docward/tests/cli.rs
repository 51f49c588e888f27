//! Tests the command line with the real binary and real files: exit codes and the JSON format.

#![allow(clippy::unwrap_used, reason = "tests: a panic is the message")]

use std::{
    fs,
    io::Write,
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use crate::common::{audit_json, code, docward, findings, root, signal, stderr, stdout};
use bson::doc;

const SHOP: &str = "examples/shop";
const CLEAN: &str = "examples/shop-clean";

#[test]
fn the_shop_fails_and_the_clean_shop_passes() {
    let shop = docward(&["audit", SHOP]);
    assert_eq!(code(&shop), 1, "{}", stderr(&shop));
    let text = stdout(&shop);
    assert!(text.starts_with("docward 0.1.0 audit of examples/shop\n"), "{text}");
    assert!(!text.contains('\u{1b}'), "no colours when piped");
    let clean = docward(&["audit", CLEAN, "--fail-on", "warn"]);
    assert_eq!(code(&clean), 0, "{}", stdout(&clean));
}

#[test]
fn json_follows_the_contract_and_is_byte_stable() {
    let first = docward(&["audit", SHOP, "--format", "json"]);
    let again = docward(&["audit", SHOP, "--format", "json", "--threads", "1"]);
    assert_eq!(first.stdout, again.stdout, "threads and runs make no difference");
    let report: serde_json::Value = serde_json::from_slice(&first.stdout).unwrap();
    assert_eq!(report["version"], 1);
    assert_eq!(report["tool"]["name"], "docward");
    assert_eq!(report["profile"], "vendor");
    assert_eq!(report["sources"][0]["kind"], "dump");
    assert_eq!(report["sources"][0]["sampled"], false);
    for key in ["error", "warn", "info", "suppressed", "baselined"] {
        assert!(report["summary"][key].is_u64(), "{key}");
    }
    for finding in report["findings"].as_array().unwrap() {
        for key in ["rule", "name", "severity", "level", "what", "why", "todo", "fingerprint"] {
            assert!(finding[key].as_str().is_some_and(|t| !t.is_empty()), "{key}: {finding}");
        }
        assert!(finding["clauses"].as_array().is_some_and(|c| !c.is_empty()));
        assert!(finding["seen"]["sampled"].is_u64() && finding["seen"]["confidence"].is_number());
        assert!(finding["data"].is_object());
        assert!(finding.get("examples").is_none(), "values only on request");
    }
    let verdicts: Vec<_> = report["checklist"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| c["verdict"].as_str().unwrap())
        .collect();
    assert!(!verdicts.is_empty());
    assert!(verdicts.iter().all(|v| ["pass", "warn", "fail", "unknown", "n/a"].contains(v)));
    let prints: Vec<_> =
        report["findings"].as_array().unwrap().iter().map(|f| f["fingerprint"].as_str()).collect();
    let unique: std::collections::BTreeSet<_> = prints.iter().collect();
    assert_eq!(unique.len(), prints.len(), "fingerprints are unique");
}

#[test]
fn fail_on_select_ignore_and_profile_are_obeyed() {
    assert_eq!(code(&docward(&["audit", SHOP, "--fail-on", "never"])), 0);
    let (report, _) = audit_json(&[SHOP, "--select", "T"]);
    assert!(findings(&report).iter().all(|f| f.1.starts_with('T')));
    let (report, _) = audit_json(&[SHOP, "--ignore", "N006,money-as-double"]);
    assert!(findings(&report).iter().all(|f| f.1 != "N006" && f.1 != "T002"));
    let (report, _) = audit_json(&[SHOP, "--profile", "neutral"]);
    assert_eq!(report["profile"], "neutral");
    assert!(findings(&report).iter().all(|f| f.1 != "N006" && f.1 != "N002"));
    let unknown = docward(&["audit", SHOP, "--select", "D999"]);
    assert_eq!(code(&unknown), 2);
    assert!(stderr(&unknown).contains("D999"), "{}", stderr(&unknown));
}

#[test]
fn repeated_findings_are_folded_until_expanded() {
    let folded = stdout(&docward(&["audit", SHOP, "--select", "N006", "--verbose"]));
    assert!(folded.contains("places") && folded.contains("--show N006"), "{folded}");
    let expanded = stdout(&docward(&["audit", SHOP, "--select", "N006", "--show", "N006"]));
    assert!(!expanded.contains("--show N006 lists all"));
    assert!(expanded.lines().count() > folded.lines().count());
}

#[test]
fn values_are_shown_only_on_request() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("users.json");
    fs::write(
        &file,
        "{\"_id\": 1, \"userId\": \"Zebra77\"}\n{\"_id\": 2, \"userId\": \"zebra77\"}\n",
    )
    .unwrap();
    let file = file.to_str().unwrap();
    let quiet = stdout(&docward(&["audit", file, "--format", "json"]));
    assert!(quiet.contains("T011"), "{quiet}");
    assert!(!quiet.to_lowercase().contains("zebra77"));
    let loud = stdout(&docward(&["audit", file, "--format", "json", "--show-values"]));
    assert!(loud.contains("Zebra77"));
}

#[test]
fn the_same_documents_in_every_dialect_give_the_same_findings() {
    let documents: Vec<_> = (0..40)
        .map(|i| doc! { "_id": i, "price": 1.25 + f64::from(i), "createTime": "2024-03-15 10:30:00", "status": i % 3, "tags": ["a", "b"] })
        .collect();
    let directory = tempfile::tempdir().unwrap();
    let bson: Vec<u8> = documents.iter().flat_map(|d| d.to_vec().unwrap()).collect();
    let line = |d: &bson::Document| {
        format!(
            "{{\"_id\": {}, \"price\": {:?}, \"createTime\": \"2024-03-15 10:30:00\", \"status\": {}, \"tags\": [\"a\", \"b\"]}}",
            d.get_i32("_id").unwrap(),
            d.get_f64("price").unwrap(),
            d.get_i32("status").unwrap()
        )
    };
    let lines: Vec<String> = documents.iter().map(line).collect();
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(&bson).unwrap();
    let files: [(&str, Vec<u8>); 5] = [
        ("a.bson", bson.clone()),
        ("b.bson.gz", gz.finish().unwrap()),
        ("c.jsonl", lines.join("\n").into_bytes()),
        ("d.json", format!("\u{feff}[{}]\r\n", lines.join(",\r\n")).into_bytes()),
        ("e.json", lines.join("").replace("\"price\"", "price").into_bytes()),
    ];
    let mut seen = Vec::new();
    for (name, bytes) in files {
        let path = directory.path().join(name);
        fs::write(&path, bytes).unwrap();
        let (report, _) = audit_json(&[path.to_str().unwrap(), "--namespace", "db_shop.t_order"]);
        assert_eq!(
            report["problems"].as_array().unwrap().len(),
            0,
            "{name}: {}",
            report["problems"]
        );
        assert_eq!(report["sources"][0]["documents"], 40, "{name}");
        let mut found = findings(&report);
        // A single BSON file and a JSON file give the same evidence, because neither has a
        // catalogue.
        found.sort();
        seen.push((name, found));
    }
    assert!(seen[0].1.iter().any(|f| f.1 == "T002") && seen[0].1.iter().any(|f| f.1 == "T001"));
    for (name, found) in &seen[1..] {
        assert_eq!(*found, seen[0].1, "{name}");
    }
}

#[test]
fn standard_input_is_read_whatever_it_is() {
    let bson = doc! { "_id": 1, "amount": 2.5 }.to_vec().unwrap();
    for input in [bson, b"{\"_id\": 1, \"amount\": 2.5}\n".to_vec()] {
        let output = assert_cmd::Command::cargo_bin("docward")
            .unwrap()
            .args(["audit", "-", "--namespace", "db_shop.t_payment", "--format", "json"])
            .write_stdin(input)
            .output()
            .unwrap();
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(findings(&report).iter().any(|f| f.1 == "T002" && f.2 == "db_shop.t_payment"));
        assert_eq!(report["sources"][0]["kind"], "stdin");
    }
}

#[test]
fn broken_input_is_a_problem_and_the_rest_is_audited() {
    let directory = tempfile::tempdir().unwrap();
    let good: Vec<u8> =
        (0..30).flat_map(|i| doc! { "_id": i, "price": 1.5 }.to_vec().unwrap()).collect();
    let mut truncated = good.clone();
    truncated.truncate(good.len() - 3);
    let cases: [(&str, Vec<u8>, &str); 6] = [
        ("truncated.bson", truncated, "byte"),
        ("length.bson", [good.clone(), vec![0xff, 0xff, 0xff, 0x7f, 1, 2]].concat(), "byte"),
        ("empty.bson", Vec::new(), ""),
        ("bad.json", b"{\"_id\": 1, \"price\": 1.5}\n{\"_id\": ObjectId(\"user_001\")}\n{\"_id\": 3, \"price\": 2.5}\n".to_vec(), "24 hexadecimal"),
        ("random.bson", (0..600u32).map(|i| (i.wrapping_mul(2654435761) >> 13) as u8).collect(), "byte"),
        ("utf8.json", b"{\"_id\": 1, \"name\": \"\xff\xfe\"}\n{\"_id\": 2, \"price\": 1.5}\n".to_vec(), "UTF-8"),
    ];
    for (name, bytes, expect) in cases {
        let path = directory.path().join(name);
        fs::write(&path, &bytes).unwrap();
        let (report, code) = audit_json(&[path.to_str().unwrap()]);
        if expect.is_empty() {
            assert!(code == 0 || code == 2, "{name}: {code}");
            continue;
        }
        assert_eq!(code, 2, "{name}: {report}");
        let problems = report["problems"].to_string();
        assert!(problems.contains(name) && problems.contains(expect), "{name}: {problems}");
        if name != "random.bson" {
            assert!(findings(&report).iter().any(|f| f.1 == "T002"), "{name}: the rest is audited");
        }
    }
    let missing = docward(&["audit", "no/such/dump"]);
    assert_eq!(code(&missing), 2);
    assert!(stderr(&missing).contains("no/such/dump"), "{}", stderr(&missing));
}

#[test]
fn settings_are_read_and_their_faults_have_a_place() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("orders.json");
    fs::write(&data, "{\"_id\": 1, \"price\": 1.5}\n").unwrap();
    let settings = directory.path().join("docward.toml");
    fs::write(&settings, "ignore = [\"T002\"]\n").unwrap();
    let (report, code) = audit_json(&[data.to_str().unwrap()]);
    assert!(findings(&report).iter().all(|f| f.1 != "T002"), "the nearest docward.toml counts");
    assert_eq!(code, 0);
    fs::write(&settings, "profile = \"vendor\"\n[rules.D008]\nmax-elemnts = 5\n").unwrap();
    for flags in
        [&["audit", "--quiet"][..], &["audit", "--quiet", "--metadata-only"], &["checklist"]]
    {
        let told = docward(&[flags, &[data.to_str().unwrap()]].concat());
        assert_eq!(code_of(&told), 2);
        assert!(stderr(&told).contains("docward.toml:3:1"), "{flags:?}: {}", stderr(&told));
        assert_eq!(stdout(&told), "", "nothing was read");
    }
    let bad = docward(&["audit", data.to_str().unwrap(), "--config", "no-such.toml"]);
    assert_eq!(code_of(&bad), 2);
}

#[test]
fn settings_beside_the_dump_count_when_no_nearer_ones_do() {
    let directory = tempfile::tempdir().unwrap();
    let at = |path: &str| directory.path().join(path);
    fs::create_dir_all(at("backup/dump")).unwrap();
    fs::create_dir_all(at("elsewhere/below")).unwrap();
    fs::write(at("backup/dump/orders.json"), "{\"_id\": 1, \"price\": 1.5}\n").unwrap();
    let source = at("backup/dump");
    let rules = |source: &std::path::Path| {
        let output = Command::new(env!("CARGO_BIN_EXE_docward"))
            .args(["audit", source.to_str().unwrap(), "--format", "json"])
            .current_dir(at("elsewhere/below"))
            .output()
            .unwrap();
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        findings(&report).into_iter().map(|f| f.1).collect::<Vec<_>>()
    };
    let put = |path: &str, ignored: &str| {
        fs::write(at(path), format!("ignore = [\"{ignored}\"]\n")).unwrap();
    };
    let money = "T002".to_owned();
    assert!(rules(&source).contains(&money));
    put("backup/docward.toml", "T002");
    assert!(!rules(&source).contains(&money), "beside the dump");
    assert!(!rules(&source.join("orders.json")).contains(&money), "beside the directory of a file");
    put("elsewhere/docward.toml", "N006");
    assert!(rules(&source).contains(&money), "the working directory and those above it come first");
    put("backup/dump/docward.toml", "T002");
    assert!(!rules(&source).contains(&money), "the one in the dump comes before all");
}

fn code_of(output: &std::process::Output) -> i32 {
    code(output)
}

#[test]
fn rules_are_listed_and_explained() {
    let list = stdout(&docward(&["rules"]));
    assert!(list.contains("T002 money-as-double"));
    let count = list.lines().filter(|l| l.len() > 5 && l.as_bytes()[1].is_ascii_digit()).count();
    assert!(count >= 50, "{count} rules");
    let clause = stdout(&docward(&["rules", "--clause", "DM-09.2"]));
    assert!(clause.contains("T002") && !clause.contains("N001"));
    let json: serde_json::Value =
        serde_json::from_str(&stdout(&docward(&["rules", "--family", "D", "--format", "json"])))
            .unwrap();
    assert!(json.as_array().unwrap().iter().all(|r| r["code"].as_str().unwrap().starts_with('D')));
    for (family, said) in [("Q", "there are N (Naming), D ("), ("naming", "did you mean `N`?")] {
        let unknown = docward(&["rules", "--family", family]);
        assert_eq!(code(&unknown), 2, "{family}");
        assert!(stderr(&unknown).contains(said), "{}", stderr(&unknown));
    }
    let help = stdout(&docward(&["rules", "--help"]));
    let listed = help.split("family (").nth(1).unwrap().split(')').next().unwrap();
    assert!(json_rules().iter().all(|code| listed.contains(&code[..1])), "{listed}");
    // A table keeps its form.
    let page = stdout(&docward(&["explain", "W009"]));
    let row = page.lines().find(|line| line.trim_start().starts_with("set-up")).unwrap();
    assert!(row.contains("  TCP and TLS for every request  ") && !row.contains('|'), "{page}");
    let page = stdout(&docward(&["explain", "T002"]));
    for heading in ["What it checks", "Why it matters", "How to fix", "When to ignore it"] {
        assert!(page.contains(heading), "{page}");
    }
    assert_eq!(page, stdout(&docward(&["explain", "money-as-double"])));
    let near = docward(&["explain", "mony-as-double"]);
    assert_eq!(code(&near), 2);
    assert!(stderr(&near).contains("did you mean `money-as-double`"), "{}", stderr(&near));
    let schema: serde_json::Value =
        serde_json::from_str(&stdout(&docward(&["rules", "--config-schema"]))).unwrap();
    assert!(schema["properties"]["rules"].is_object());
}

#[test]
fn usage_errors_say_what_to_write() {
    for (arguments, tip) in [
        (&["audit", SHOP, "--json"][..], "tip: write '--format json'"),
        (&["audit", SHOP, "--html=a.html"], "tip: write '--format html'"),
        (&["lint", "crates", "--sarif"], "tip: write '--format sarif'"),
        (&["checklist", SHOP, "--markdown"], "tip: write '--format markdown'"),
        (&["design", "shop.yaml", "--html"], "tip: write '--format html'"),
        (&[SHOP], "tip: to audit it, write 'docward audit examples/shop'"),
        (&["xtask/src"], "tip: to judge code, write 'docward lint xtask/src'"),
        (&["mongodb://localhost/x"], "write 'docward audit mongodb://localhost/x'"),
        (&["audit", "examples/shp"], "no such file or directory; did you mean `examples/shop`?"),
        (&["lint", "xtsk/src"], "did you mean `xtask/src`?"),
    ] {
        let wrong = docward(arguments);
        assert_eq!(code(&wrong), 2, "{arguments:?}");
        assert!(stderr(&wrong).contains(tip), "{arguments:?}: {}", stderr(&wrong));
        assert!(!stderr(&wrong).contains("as a value"), "{}", stderr(&wrong));
    }
    let other = docward(&["explain", "D008", "--html"]);
    assert!(!stderr(&other).contains("--format html"), "{}", stderr(&other));
}

#[test]
fn every_id_is_explained_and_misspelt_ones_are_corrected() {
    let explained = |id: &str| {
        let page = docward(&["explain", id]);
        assert_eq!(code(&page), 0, "{id}: {}", stderr(&page));
        stdout(&page)
    };
    let clause = explained("DM-08.2");
    for part in ["DM-08.2   clause · prohibited", "D008 unbounded-array"] {
        assert!(clause.contains(part), "{part}: {clause}");
    }
    assert_eq!(clause, explained("dm-08.2"));
    assert!(explained("CK-3").contains("D007 deep-nesting"));
    assert!(explained("RF-14").contains("refactoring"));
    assert!(explained("GC-43").contains("Connection budgets of replica sets"));
    assert!(explained("DM-09").contains("DM-09.2  "), "a group is listed");
    let json: serde_json::Value =
        serde_json::from_str(&stdout(&docward(&["explain", "CK-4", "--format", "json"]))).unwrap();
    assert_eq!(json[0]["id"], "CK-4");
    for (arguments, hint) in [
        (&["explain", "CK-44"][..], "`CK-4`"),
        (&["rules", "--clause", "DM-99"], "no clause is called `DM-99`; did you mean `DM-"),
        (&["rules", "--clause", "DM-09.22"], "did you mean `DM-09.2`"),
        (&["rules", "--clause", "DP-3"], "`docward explain DP-3` shows what does"),
        (&["rules", "--grep", "unbouded"], "did you mean `unbounded`"),
        (&["rules", "--grep", "zzzz"], "no rule has `zzzz`"),
    ] {
        let wrong = docward(arguments);
        assert_eq!(code(&wrong), 2, "{arguments:?}");
        assert!(stderr(&wrong).contains(hint), "{arguments:?}: {}", stderr(&wrong));
    }
    let list = stdout(&docward(&["rules", "--clause", "DM-09.2"]));
    assert!(list.contains("T002 money-as-double") && list.contains("Money as double"), "{list}");
}

#[test]
fn examples_of_rules_are_written_for_people() {
    let page = stdout(&docward(&["explain", "D008"]));
    assert!(page.contains("20 documents like: {\"_id\": ObjectId(…), \"logins\": ["), "{page}");
    assert!(page.contains("… 1,200 elements]") && !page.contains("$array"), "{page}");
    assert!(page.contains("source: our default"), "{page}");
}

/// Without a site every output names the command, with one all of them link to the same page.
#[test]
fn help_links_lead_to_the_site_or_to_explain() {
    let run = |site: &str, arguments: &[&str]| {
        let mut command = assert_cmd::Command::cargo_bin("docward").unwrap();
        command.env("DOCWARD_DOCS_URL", site).current_dir(root()).args(arguments).output().unwrap()
    };
    let site = "https://docs.example.org";
    let page = "https://docs.example.org/rules/T001";
    let drift = ["audit", "examples/drift/users.jsonl", "--as", "shop.users"];
    let sarif = |site| -> serde_json::Value {
        let text = stdout(&run(site, &[&drift[..], &["--format", "sarif"]].concat()));
        serde_json::from_str(&text).unwrap()
    };
    let t001 = |log: &serde_json::Value| {
        let rules = log["runs"][0]["tool"]["driver"]["rules"].as_array().unwrap();
        rules.iter().find(|rule| rule["id"] == "T001").unwrap().clone()
    };

    let with = sarif(site);
    assert_eq!(t001(&with)["helpUri"], page);
    assert_eq!(with["runs"][0]["tool"]["driver"]["informationUri"], "https://docs.example.org/");
    let without = t001(&sarif(""));
    assert_eq!(without.get("helpUri"), None);
    assert!(
        without["help"]["text"].as_str().unwrap().contains("docward explain T001"),
        "{without}"
    );

    let terminal = [&drift[..], &["--show", "T001"]].concat();
    assert!(stdout(&run(site, &terminal)).contains(&format!("next: {page}")));
    assert!(stdout(&run("", &terminal)).contains("next: docward explain T001"));

    assert!(stdout(&run(site, &["explain", "T001"])).contains(&format!("More: {page}")));
    assert!(!stdout(&run("", &["explain", "T001"])).contains("More:"));
    assert!(
        stdout(&run(site, &["explain", "DM-09.1"]))
            .contains("https://docs.example.org/clauses.html")
    );

    let wrong = run("docs.example.org", &["explain", "T001"]);
    assert!(stderr(&wrong).contains("DOCWARD_DOCS_URL is ignored"), "{}", stderr(&wrong));
    assert!(!stdout(&wrong).contains("More:"));
}

/// Returns the codes of all rules.
fn json_rules() -> Vec<String> {
    let text = stdout(&docward(&["rules", "--format", "json"]));
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    let code = |rule: &serde_json::Value| rule["code"].as_str().unwrap().to_owned();
    json.as_array().unwrap().iter().map(code).collect()
}

#[test]
fn the_checklist_has_verdicts_and_evidence() {
    let shop = docward(&["checklist", SHOP]);
    assert_eq!(code(&shop), 1, "{}", stderr(&shop));
    let text = stdout(&shop);
    for id in ["CK-1", "CK-2", "CK-3", "CK-4", "CK-5", "CK-6", "CK-7", "CK-8", "CK-14"] {
        assert!(text.contains(id), "{id}: {text}");
    }
    assert!(text.contains("FAIL"));
    let head = text.lines().next().unwrap();
    assert!(head.starts_with("docward checklist of examples/shop: "), "{head}");
    assert!(head.contains(" documents in ") && head.ends_with(" profile"), "{head}");
    assert!(!text.contains("warning:"), "{text}");
    let last = text.lines().last().unwrap();
    assert!(last.starts_with("next: docward explain CK-"), "{last}");
    let json = stdout(&docward(&["checklist", SHOP, "--format", "json"]));
    let report: serde_json::Value = serde_json::from_str(&json).unwrap();
    let items = report["checklist"].as_array().unwrap();
    // No item is less severe than a finding that cites it.
    for finding in report["findings"].as_array().unwrap() {
        for clause in finding["clauses"].as_array().unwrap() {
            let Some(item) = items.iter().find(|item| item["id"] == *clause) else { continue };
            let verdict = item["verdict"].as_str().unwrap();
            match finding["severity"].as_str().unwrap() {
                "error" => assert_eq!(verdict, "fail", "{item} {finding}"),
                "warn" => assert!(["fail", "warn"].contains(&verdict), "{item} {finding}"),
                _ => {}
            }
        }
    }
}

#[test]
fn help_has_examples_and_usage_errors_are_2() {
    for command in [
        &["--help"][..],
        &["audit", "--help"],
        &["checklist", "--help"],
        &["rules", "--help"],
        &["explain", "--help"],
    ] {
        let help = docward(command);
        assert_eq!(code(&help), 0);
        assert!(stdout(&help).contains("Examples:"), "{command:?}");
    }
    assert_eq!(code(&docward(&["audit"])), 2);
    assert_eq!(code(&docward(&["audit", SHOP, "--format", "yaml"])), 2);
    let live =
        docward(&["audit", "mongodb://user:secret@localhost:1/db?serverSelectionTimeoutMS=300"]);
    assert_eq!(code(&live), 2);
    assert!(!stderr(&live).contains("secret"));
}

#[test]
fn an_interrupted_audit_reports_what_it_read() {
    reports_what_it_read_on("INT");
}

#[test]
fn a_terminated_audit_reports_what_it_read() {
    reports_what_it_read_on("TERM");
}

fn reports_what_it_read_on(signal: &str) {
    let mut child = Command::new(assert_cmd::cargo::cargo_bin("docward"))
        .args(["audit", "-", "--namespace", "db_shop.t_payment", "--format", "json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let (much, has_read_much) = std::sync::mpsc::channel();
    let feeder = thread::spawn(move || {
        let line = b"{\"_id\": 1, \"amount\": 2.5}\n".repeat(200);
        // The input is longer than the pipe and the buffers of the audit together.
        for _ in 0..(64 << 20) / line.len() {
            stdin.write_all(&line).unwrap();
        }
        much.send(()).unwrap();
        // The pipe breaks when the audit ends.
        while stdin.write_all(&line).is_ok() {}
    });
    has_read_much.recv().unwrap();
    self::signal(&child, signal);
    let output = child.wait_with_output().unwrap();
    feeder.join().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["interrupted"], true);
    assert!(report["sources"][0]["documents"].as_u64().unwrap() > 0);
    assert!(findings(&report).iter().any(|f| f.1 == "T002"));
}

#[test]
fn a_report_that_is_being_written_is_finished() {
    use std::io::Read as _;
    let mut child = Command::new(assert_cmd::cargo::cargo_bin("docward"))
        .args(["audit", SHOP, "--format", "json"])
        .current_dir(root())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // The report is longer than a pipe holds. After the first byte, the rest is still being
    // written.
    let mut out = child.stdout.take().unwrap();
    let mut text = vec![0; 1];
    out.read_exact(&mut text).unwrap();
    signal(&child, "INT");
    // A run that ends incorrectly would end within this time. A correct one waits.
    thread::sleep(Duration::from_millis(200));
    out.read_to_end(&mut text).unwrap();
    assert!(text.len() > 100_000, "{}", text.len());
    let report: serde_json::Value = serde_json::from_slice(&text).unwrap();
    assert_ne!(report["interrupted"], true);
    assert_eq!(child.wait().unwrap().code(), Some(1));
}

#[test]
fn a_report_file_is_replaced_as_a_whole_and_nothing_is_left_beside_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("report.json");
    fs::write(&path, "old").unwrap();
    let file = path.to_str().unwrap();
    docward(&["audit", SHOP, "--format", "json", "--output", file]);
    let text = fs::read_to_string(&path).unwrap();
    serde_json::from_str::<serde_json::Value>(&text).unwrap();
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
}

/// Pages, `explain` and `rules` must state the severities that a rule's findings may have.
#[test]
fn pages_and_lists_state_the_severities_of_findings() {
    let rules: serde_json::Value =
        serde_json::from_slice(&docward(&["rules", "--format", "json"]).stdout).unwrap();
    let listed = stdout(&docward(&["rules"]));
    for rule in rules.as_array().unwrap() {
        let code = rule["code"].as_str().unwrap();
        let names: Vec<&str> =
            rule["severities"].as_array().unwrap().iter().map(|s| s.as_str().unwrap()).collect();
        // JSON uses other words.
        let words = names.iter().map(|name| match *name {
            "warn" => "warning",
            "info" => "note",
            other => other,
        });
        let words: Vec<&str> = words.collect();
        let said = match words.as_slice() {
            [rest @ .., last] if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
            _ => words.concat(),
        };
        assert_eq!(rule["severity"], names[0], "{code}");
        let line = listed.lines().find(|line| line.starts_with(code)).unwrap();
        assert!(line.contains(&format!("  {said}  ")), "{code}: {line}");
        let page = stdout(&docward(&["explain", code, "--format", "markdown"]));
        let row = format!("\n| {said} | {} |", rule["level"].as_str().unwrap());
        assert!(page.contains(&row), "{code}: {row} in {page}");
        let explained = stdout(&docward(&["explain", code]));
        assert!(explained.lines().next().unwrap().contains(&format!("   {said} · ")), "{code}");
    }
    let severity = |code: &str| {
        let rule = rules.as_array().unwrap().iter().find(|rule| rule["code"] == code).unwrap();
        rule["severities"].clone()
    };
    assert_eq!(severity("V020"), serde_json::json!(["info"]));
    assert_eq!(severity("N013"), serde_json::json!(["warn", "info"]));
    assert_eq!(severity("D020"), serde_json::json!(["error", "warn"]));
}
