//! What a new user sees: one screen, clear errors, and sensible defaults.

#![allow(clippy::unwrap_used, reason = "tests: a panic is the message")]

use std::{fs, path::Path, process::Output};

use assert_cmd::Command;
use bson::doc;
use docward_testkit::Launch;
use serde_json::Value;

use crate::common::{audit_json, chosen_first, code, docward, findings, root, stderr, stdout};

const SHOP: &str = "examples/shop";

/// Runs docward in a directory with these environment variables.
fn run_in(directory: &Path, variables: &[(&str, &str)], arguments: &[&str]) -> Output {
    let mut command = Command::cargo_bin("docward").unwrap();
    command.args(arguments).current_dir(directory).env_remove("MONGODB_URI");
    command.env("COLUMNS", "100").envs(variables.iter().copied()).output().unwrap()
}

/// Returns the codes under "Fix first", in order.
fn fix_first(text: &str) -> Vec<String> {
    let lines = text.lines().skip_while(|line| *line != "Fix first").skip(1);
    let lines = lines.take_while(|line| !line.is_empty());
    // What does not fit into one line goes on below its beginning.
    let entries = lines.filter(|line| !line.starts_with("   "));
    entries.map(|line| line.split_whitespace().nth(1).unwrap().to_owned()).collect()
}

#[test]
fn an_audit_fits_one_screen_and_says_what_to_fix_first() {
    let output = docward(&["audit", SHOP]);
    assert_eq!(code(&output), 1);
    let text = stdout(&output);
    assert!(text.lines().count() <= 40, "{text}");
    assert!(text.contains("37,574 documents · 195 collections"), "{text}");
    assert!(text.contains("read in full"), "{text}");
    assert!(text.contains("20 design patterns in use (such as buckets): nothing to do"), "{text}");
    assert!(text.contains("Not checked: "), "{text}");
    assert!(text.contains("docward audit examples/shop --show V006"), "{text}");
    // Refused writes come before growth, and growth comes before slow operations.
    let first = fix_first(&text);
    assert_eq!(first.len(), 5, "{text}");
    let at = |code: &str| first.iter().position(|rule| rule == code);
    assert!(at("V006") < at("D008") && at("D008").is_some(), "{text}");
    assert!(!first.iter().any(|rule| rule.starts_with('N')), "untidy names come last: {text}");
    // Notes are counted but not printed.
    assert!(text.contains("notes (not shown)") && !text.contains("R020"), "{text}");
}

#[test]
fn what_was_not_checked_is_the_same_number_everywhere() {
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str| directory.path().join(name).display().to_string();
    let (html, json) = (file("a.html"), file("a.json"));
    let (as_html, as_json) = (format!("html={html}"), format!("json={json}"));
    let screen = docward(&["audit", SHOP, "--format", &as_html, "--format", &as_json]);
    let report: Value = serde_json::from_str(&fs::read_to_string(json).unwrap()).unwrap();
    let skipped = report["skipped"].as_array().unwrap().len();
    let text = stdout(&screen).replace('\n', " ");
    assert!(text.contains(&format!("Not checked: {skipped} more rules need")), "{text}");
    assert!(text.contains("(--client-uri URI)"), "{text}");
    let page = fs::read_to_string(html).unwrap();
    let coverage = page.split("id=\"coverage\"").nth(1).unwrap();
    assert!(coverage.contains(&format!("<b>{skipped}</b> of ")), "{skipped}");
    let full = stdout(&docward(&["audit", SHOP, "--verbose"])).replace("\n  ", " ");
    let listed = full.lines().filter(|line| {
        line.starts_with(
            "not checked, because the run lacks \
     ",
        )
    });
    let listed: usize = listed
        .map(|line| match line.rsplit_once(": ").unwrap().1 {
            many if many.contains(" rules (") => many.split(' ').next().unwrap().parse().unwrap(),
            few => few.split(", ").count(),
        })
        .sum();
    assert_eq!(listed, skipped, "{full}");
}

#[test]
fn an_area_that_most_rules_could_not_look_at_does_not_pass() {
    let page = stdout(&docward(&["audit", "examples/shop-clean", "--format", "html"]));
    let areas: Vec<(&str, usize, usize)> = page
        .split("class=\"area-name\"")
        .skip(1)
        .filter_map(|area| {
            let state = area.split_once("<b>")?.1.split_once("</b>")?.0;
            let (checked, all) = area.split_once(" rules checked")?.0.rsplit_once(" of ")?;
            Some((state, checked.rsplit_once('>')?.1.parse().ok()?, all.parse().ok()?))
        })
        .collect();
    assert!(areas.iter().any(|(state, ..)| *state == "Not fully checked"), "{areas:?}");
    for (state, checked, all) in areas {
        assert_eq!(state == "✓ Pass", checked * 2 >= all, "{state}: {checked} of {all}");
    }
}

#[test]
fn files_that_were_written_are_named() {
    let directory = tempfile::tempdir().unwrap();
    let clean = root().join("examples/shop-clean").display().to_string();
    let run = |more: &[&str]| {
        let options = ["audit", &clean, "--emit-fixes", "fixes.js", "--format", "html=report.html"];
        run_in(directory.path(), &[], &[&options[..], more].concat())
    };
    let told = stderr(&run(&[]));
    assert!(told.contains("wrote report.html\n") && told.contains("wrote fixes.js\n"), "{told}");
    assert_eq!(stderr(&run(&["--quiet"])), "");
}

#[test]
fn every_source_fits_one_screen_at_any_width() {
    for width in ["60", "80", "100", "120"] {
        for source in [SHOP, "examples/shop-clean", "examples/drift"] {
            let output = run_in(&root(), &[("COLUMNS", width)], &["audit", source]);
            let text = stdout(&output);
            assert!(text.lines().count() <= 40, "{width} {source}: {text}");
            let widest = width.parse::<usize>().unwrap();
            for line in text.lines().filter(|line| !line.starts_with("  docward ")) {
                assert!(line.chars().count() <= widest, "{width}: {line}");
            }
        }
    }
}

#[test]
fn details_are_behind_verbose_show_and_statistics() {
    let verbose = stdout(&docward(&["audit", SHOP, "--verbose"]));
    assert!(verbose.contains("ERRORS (20)") && verbose.contains("NOTES ("), "{verbose}");
    let rule = stdout(&docward(&["audit", SHOP, "--show", "D008"]));
    assert_eq!(rule.matches("D008 unbounded-array").count(), 6, "{rule}");
    assert!(rule.contains("why: ") && !rule.contains("D007"), "{rule}");
    let named = stdout(&docward(&["audit", SHOP, "--show", "unbounded-array"]));
    assert_eq!(rule, named);
    let collection = stdout(&docward(&["audit", SHOP, "--show", "db_shop.t_app_config"]));
    assert!(
        collection.contains("D007 deep-nesting") && !collection.contains("D008"),
        "{collection}"
    );
    let nothing = stdout(&docward(&["audit", SHOP, "--show", "D012"]));
    assert!(nothing.contains("no finding matches --show D012"), "{nothing}");
    let statistics = stdout(&docward(&["audit", SHOP, "--statistics"]));
    assert!(statistics.contains("     6  D008  unbounded-array"), "{statistics}");
    // Exit codes do not depend on the printed part.
    assert_eq!(code(&docward(&["audit", SHOP, "--show", "D012"])), 1);
}

#[test]
fn every_format_has_the_order_of_the_first_screen() {
    let (report, _) = audit_json(&[SHOP]);
    let rules: Vec<String> = findings(&report).into_iter().map(|(_, rule, ..)| rule).collect();
    let mut order: Vec<&String> = Vec::new();
    for rule in &rules {
        if order.last() != Some(&rule) {
            order.push(rule);
        }
    }
    let screen = stdout(&docward(&["audit", SHOP]));
    // With one column, the table has the order of the report.
    let narrow = run_in(&root(), &[("COLUMNS", "50")], &["audit", SHOP]);
    let narrow = stdout(&narrow);
    let (_, table) = narrow.split_once("By rule\n").unwrap();
    let rows: Vec<&str> =
        table.lines().take(5).filter_map(|row| row.split_whitespace().next()).collect();
    assert_eq!(order[..5], rows[..]);
    // The worst rule of each area comes before the second of another.
    let chosen: Vec<String> = chosen_first(&report).into_iter().map(|(rule, _)| rule).collect();
    assert_eq!(chosen, fix_first(&screen));
    let markdown = stdout(&docward(&["audit", SHOP, "--format", "markdown"]));
    let at = |rule: &str| markdown.find(rule).unwrap_or(usize::MAX);
    assert!(at("V006") < at("D008") && at("D008") < at("N006"), "the same order");
}

#[test]
fn what_cannot_be_read_is_an_error_and_replaces_no_report() {
    let directory = tempfile::tempdir().unwrap();
    let kept = directory.path().join("prev.json");
    fs::write(&kept, "yesterday").unwrap();
    fs::write(directory.path().join("empty.json"), "").unwrap();
    let output = kept.display().to_string();
    for source in ["nothere", "empty.json", "mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=200"] {
        for format in ["json", "terminal", "html", "sarif", "junit"] {
            let arguments = ["audit", source, "--format", format, "--output", &output];
            let run = run_in(directory.path(), &[], &arguments);
            assert_eq!(code(&run), 2, "{source}");
            assert_eq!(stdout(&run), "", "{source}");
            assert!(stderr(&run).starts_with("error: "), "{source}: {}", stderr(&run));
            assert_eq!(fs::read_to_string(&kept).unwrap(), "yesterday", "{source} {format}");
        }
    }
    // The other commands behave in the same way.
    fs::create_dir(directory.path().join("empty")).unwrap();
    for command in
        [vec!["schema", "infer"], vec!["shardkey"], vec!["checklist"], vec!["lint"], vec!["audit"]]
    {
        for source in ["nothere", "empty"] {
            let arguments = [command.clone(), vec![source, "--output", &output]].concat();
            let run = run_in(directory.path(), &[], &arguments);
            assert_eq!((code(&run), stdout(&run)), (2, String::new()), "{arguments:?}");
            assert!(stderr(&run).starts_with("error: "), "{arguments:?}: {}", stderr(&run));
            assert_eq!(fs::read_to_string(&kept).unwrap(), "yesterday", "{arguments:?}");
        }
    }
    // The readable part is reported.
    let shop = root().join("examples/shop-clean").display().to_string();
    let both = run_in(directory.path(), &[], &["audit", "nothere", &shop]);
    assert_eq!(code(&both), 2);
    assert!(stdout(&both).contains("Not read in full\n  nothere: no such file"), "{both:?}");
}

#[test]
fn broken_settings_stop_the_run_before_anything_is_read() {
    let directory = tempfile::tempdir().unwrap();
    let shop = root().join(SHOP).display().to_string();
    for (text, message) in [
        ("profile = \"neutral\n", "docward.toml:1:19: not TOML"),
        (
            "profle = \"neutral\"\n",
            "docward.toml:1:1: unknown key `profle`; did you mean `profile`?",
        ),
        ("[rules.D08]\nseverity = \"note\"\n", "docward.toml:1:8: "),
    ] {
        let file = directory.path().join("docward.toml");
        fs::write(&file, text).unwrap();
        let config = file.display().to_string();
        for command in ["audit", "checklist", "shardkey", "lint"] {
            let run = run_in(directory.path(), &[], &[command, &shop, "--config", &config]);
            assert_eq!(code(&run), 2, "{command} {text}");
            assert_eq!(stdout(&run), "", "{command} {text}");
            let told = stderr(&run);
            assert!(told.starts_with("error: ") && told.contains(message), "{command}: {told}");
        }
    }
}

#[test]
fn a_source_that_is_missing_comes_from_the_environment() {
    let directory = tempfile::tempdir().unwrap();
    let none = run_in(directory.path(), &[], &["audit"]);
    assert_eq!(code(&none), 2);
    assert!(stderr(&none).contains("or set MONGODB_URI"), "{}", stderr(&none));
    let servers = Launch::standalone().shared().start();
    servers.insert("shop.orders", (0..20).map(|n| doc! { "_id": n, "total": n }));
    let uri = servers.uri();
    let found = run_in(directory.path(), &[("MONGODB_URI", &uri)], &["audit"]);
    assert!(stdout(&found).contains("20 documents · 1 collection"), "{found:?}");
}

#[test]
fn the_database_of_a_connection_string_is_what_is_audited() {
    let servers = Launch::standalone().shared().start();
    servers.insert("shop.orders", (0..20).map(|n| doc! { "_id": n, "total": n }));
    servers.insert("crm.people", (0..30).map(|n| doc! { "_id": n, "name": "x" }));
    let uri = |database: &str| servers.uri().replacen("/?", &format!("/{database}?"), 1);
    let documents = |arguments: &[&str]| {
        let (report, _) = audit_json(arguments);
        report["sources"][0]["documents"].as_u64().unwrap()
    };
    assert_eq!(documents(&[&uri("shop")]), 20);
    assert_eq!(documents(&[&uri("shop"), "--all-databases"]), 50);
    assert_eq!(documents(&[&uri("shop"), "--db", "crm"]), 30);
    assert_eq!(documents(&[&uri("")]), 50);
    // `admin` stores accounts and is named to log in, so it does not restrict the run.
    assert_eq!(documents(&[&uri("admin")]), 50);
    let missing = docward(&["audit", &uri("shp")]);
    assert_eq!(code(&missing), 2);
    assert_eq!(stdout(&missing), "");
    assert!(
        stderr(&missing).contains("no database matches `shp`; did you mean `shop`?"),
        "{}",
        stderr(&missing)
    );
    let other = docward(&["audit", &uri("accounting")]);
    assert!(stderr(&other).contains("the deployment has `crm`, `shop`"), "{}", stderr(&other));
    let mixed = docward(&["audit", &uri("shop"), &uri("crm")]);
    assert!(stderr(&mixed).contains("choose with --db"), "{}", stderr(&mixed));
}

#[test]
fn names_decide_the_profile_where_nobody_does() {
    let (shop, _) = audit_json(&["examples/shop-clean"]);
    assert_eq!(shop["profile"], "vendor", "its names have the prefixes");
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("orders.json");
    fs::write(&data, "{\"_id\": 1, \"total\": 2}\n").unwrap();
    let data = data.display().to_string();
    let (plain, _) = audit_json(&[&data, "--as", "shop.orders"]);
    assert_eq!(plain["profile"], "neutral");
    assert!(!findings(&plain).iter().any(|(_, rule, ..)| rule == "N002" || rule == "N006"));
    let (asked, _) = audit_json(&[&data, "--as", "shop.orders", "--profile", "vendor"]);
    assert!(findings(&asked).iter().any(|(_, rule, ..)| rule == "N006"), "{asked}");
}

#[test]
fn the_neutral_profile_proposes_no_house_names() {
    let (report, _) = audit_json(&[SHOP, "--profile", "neutral"]);
    let prefixed = |text: &str| {
        text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '.')
            .any(|word| word.starts_with("db_config.t_") || word.starts_with("db_app"))
    };
    for finding in report["findings"].as_array().unwrap() {
        let (rule, todo) = (&finding["rule"], finding["todo"].as_str().unwrap());
        assert!(!prefixed(todo), "{rule}: {todo}");
    }
    let (admin, _) = audit_json(&[SHOP, "--profile", "neutral", "--select", "N001"]);
    let todo = admin["findings"][0]["todo"].as_str().unwrap();
    assert!(todo.contains("`app_config.app_settings`"), "{todo}");
}

#[test]
fn one_run_writes_several_formats() {
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str| directory.path().join(name).display().to_string();
    let html = format!("html={}", file("report.html"));
    let sarif = format!("sarif={}", file("report.sarif"));
    let both = docward(&["audit", SHOP, "--format", &html, "-f", &sarif]);
    assert_eq!(code(&both), 1);
    assert!(stdout(&both).contains("Fix first"), "people still get their summary");
    assert!(
        fs::read_to_string(file("report.html"))
            .unwrap()
            .to_lowercase()
            .starts_with("<!doctype html>")
    );
    let text = fs::read_to_string(file("report.sarif")).unwrap();
    let sarif_report: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(sarif_report["version"], "2.1.0");
    let json = docward(&["audit", SHOP, "-f", "json", "-f", &sarif]);
    assert!(stdout(&json).starts_with('{'), "the one without a file goes to standard output");
    let unclear = docward(&["audit", SHOP, "-f", "json", "-f", "sarif"]);
    assert_eq!(code(&unclear), 2);
    assert!(stderr(&unclear).contains("--format html=report.html"), "{}", stderr(&unclear));
    let unknown = docward(&["audit", SHOP, "-f", "htm=x"]);
    assert!(stderr(&unknown).contains("html"), "{}", stderr(&unknown));
}

#[test]
fn commands_that_check_write_several_formats_too() {
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str| directory.path().join(name).display().to_string();
    let (json, sarif) = (format!("json={}", file("r.json")), format!("sarif={}", file("r.sarif")));
    let parsed = |name: &str| -> Value {
        serde_json::from_str(&fs::read_to_string(file(name)).unwrap()).unwrap()
    };
    let uri = "mongodb://db1.example.com,db2.example.com/shop?w=1";
    let connect = docward(&["connect", "check", uri, "-f", &json, "-f", &sarif]);
    assert!(stdout(&connect).contains("corrected"), "{connect:?}");
    assert!(parsed("r.json")["corrected"].is_array(), "JSON has the corrected strings");
    assert_eq!(parsed("r.sarif")["version"], "2.1.0");
    let (schema, users) = ("examples/drift/user.validator.json", "examples/drift/users.jsonl");
    let checked = docward(&["schema", "check", schema, users, "-f", &json, "-f", &sarif]);
    assert!(stdout(&checked).contains("V007"), "{checked:?}");
    assert_eq!(parsed("r.json")["findings"][0]["rule"], "V007");
    let unclear = docward(&["schema", "check", schema, users, "-f", "json", "-f", "sarif"]);
    assert_eq!(code(&unclear), 2);
}

#[test]
fn commands_list_the_options_that_do_something() {
    let options = |command: &[&str]| {
        let help = stdout(&docward(&[command, &["--help"]].concat()));
        let lines = help.lines().filter(|line| line.trim_start().starts_with('-'));
        let words = lines.flat_map(|line| line.split_whitespace().take(2));
        words.map(|word| word.trim_end_matches(',').to_owned()).collect::<Vec<_>>()
    };
    for (command, absent) in [
        (&["checklist"][..], &["--verbose", "--show", "--statistics", "--write-baseline"][..]),
        (&["design", "check"], &["--code", "--design", "--network-rules", "--client-uri"]),
    ] {
        let listed = options(command);
        for name in absent {
            assert!(!listed.iter().any(|word| word == name), "{command:?} lists {name}");
        }
    }
    // A short option has the same meaning in every command.
    for command in [
        &["audit"][..],
        &["lint"],
        &["checklist"],
        &["shardkey"],
        &["schema", "infer"],
        &["schema", "check"],
        &["schema", "diff"],
        &["schema", "apply"],
        &["connect", "check"],
        &["connect", "plan"],
        &["design"],
        &["design", "check"],
        &["design", "simulate"],
        &["diff"],
    ] {
        let listed = options(command);
        for letter in ["-f", "-o"] {
            assert!(listed.iter().any(|word| word == letter), "{command:?} has no {letter}");
        }
    }
}

#[test]
fn old_names_of_options_work_and_say_so() {
    let output = docward(&["audit", SHOP, "--uri", "mongodb://db1,db2,db3/?replicaSet=rs0", "-q"]);
    assert!(stderr(&output).contains("note: --uri is now called --client-uri"), "{output:?}");
    let output = docward(&["audit", SHOP, "--fail-on", "warn", "-q"]);
    assert_eq!(code(&output), 1, "the old word for a severity");
    let output = docward(&["audit", SHOP, "--fail-on", "loud", "-q"]);
    assert!(
        stderr(&output).contains("[possible values: error, warning, note, never]"),
        "{output:?}"
    );
}

#[test]
fn init_writes_a_file_that_the_next_run_takes() {
    let directory = tempfile::tempdir().unwrap();
    let shop = root().join(SHOP).display().to_string();
    let written = run_in(directory.path(), &[], &["init", &shop, "--yes"]);
    assert_eq!(code(&written), 0, "{written:?}");
    let text = fs::read_to_string(directory.path().join("docward.toml")).unwrap();
    assert!(text.contains("profile = \"vendor\""), "{text}");
    assert!(text.contains("prefer = \"camelCase\""), "{text}");
    assert!(stderr(&written).contains("wrote docward.toml: vendor profile"), "{written:?}");
    assert!(stderr(&written).ends_with(&format!("next: docward audit {shop}\n")), "{written:?}");
    assert!(!text.contains("\n[collections]"), "a guess is not declared: {text}");
    assert!(!text.contains("docs/"), "{text}");
    let next = run_in(directory.path(), &[], &["audit", &shop, "-q", "--config", "docward.toml"]);
    assert_eq!(stderr(&next), "", "no remark about the file");
    // An existing file is not replaced.
    let again = run_in(directory.path(), &[], &["init", &shop, "--yes"]);
    assert_eq!(code(&again), 2);
    assert!(stderr(&again).contains("exists"), "{again:?}");
    assert_eq!(code(&run_in(directory.path(), &[], &["init", &shop, "--yes", "--force"])), 0);
    // A directory with only code, and an empty one.
    let models = directory.path().join("models");
    fs::create_dir(&models).unwrap();
    let model = "from pydantic import BaseModel\nfrom beanie import Document\n\n\nclass Order(Document):\n    order_no: str\n    created_at: str\n";
    fs::write(models.join("models.py"), model).unwrap();
    let code_only = run_in(directory.path(), &[], &["init", "models", "--output", "-"]);
    assert!(stdout(&code_only).contains("prefer = \"snake_case\""), "{code_only:?}");
    assert!(stdout(&code_only).contains("profile = \"neutral\""), "{code_only:?}");
    let from_below = run_in(&models, &[], &["init", "..", "--yes"]);
    let text = fs::read_to_string(models.join("docward.toml")).unwrap();
    let whole = directory.path().canonicalize().unwrap().display().to_string();
    assert!(text.contains(&format!("from {whole}.")), "{text}");
    assert!(stderr(&from_below).ends_with("next: docward lint ..\n"), "{from_below:?}");
    let elsewhere = run_in(&models, &[], &["init", "--yes", "--output", "a.toml"]);
    let said = stderr(&elsewhere);
    assert!(said.ends_with("next: docward lint . --config a.toml\n"), "{said}");
    let nothing = run_in(directory.path(), &[], &["init", "nothere", "--output", "-"]);
    assert_eq!(code(&nothing), 2);
    assert!(stderr(&nothing).contains("error: nothere"), "{nothing:?}");
}

#[test]
fn a_report_of_nothing_replaces_no_report() {
    let directory = tempfile::tempdir().unwrap();
    let kept = directory.path().join("kept.json");
    fs::write(&kept, "yesterday").unwrap();
    let output = kept.display().to_string();
    let servers = Launch::standalone().auth().start();
    let nobody = servers.create_user("nobody", Vec::<bson::Bson>::new());
    let uri = servers.uri_as(Some(&nobody));
    let audit = docward(&["audit", &uri, "-f", "json", "-o", &output]);
    assert_eq!((code(&audit), stdout(&audit)), (2, String::new()), "{audit:?}");
    assert!(stderr(&audit).contains("error: mongodb://"), "{audit:?}");
    let mut command = Command::cargo_bin("docward").unwrap();
    let empty = command.args(["audit", "-", "--as", "db.t", "-f", "json", "-o", &output]);
    let empty = empty.write_stdin("").output().unwrap();
    assert_eq!((code(&empty), stdout(&empty)), (2, String::new()), "{empty:?}");
    assert_eq!(fs::read_to_string(&kept).unwrap(), "yesterday");
}

#[test]
fn init_reads_only_the_database_of_the_connection_string() {
    let servers = Launch::standalone().shared().start();
    servers.insert("shop.orders", [doc! { "orderNo": 1 }]);
    servers.insert("other.things", [doc! { "thing_no": 1 }]);
    let directory = tempfile::tempdir().unwrap();
    let of = |database: &str| servers.uri().replace("/?", &format!("/{database}?"));
    let made = run_in(directory.path(), &[], &["init", &of("shop"), "--output", "-"]);
    assert!(stdout(&made).contains("shop.orders"), "{made:?}");
    assert!(!stdout(&made).contains("other.things"), "{made:?}");
    let missing = run_in(directory.path(), &[], &["init", &of("SHOP"), "--output", "-"]);
    assert_eq!(code(&missing), 2, "{missing:?}");
    assert!(stderr(&missing).contains("did you mean `shop`?"), "{missing:?}");
}

#[test]
fn init_looks_into_any_directory_or_file() {
    let directory = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = directory.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    let program = "from pymongo import MongoClient\n\nclient = MongoClient('db1')\n";
    write("app/main.py", program);
    write("app/package.json", "{}");
    write("mixed/main.py", program);
    write("mixed/dump/shop/orders.bson", "");
    write("mixed/dump/shop/orders.metadata.json", "{}");
    write("data/orders.json", "[{\"orderNo\": 1}]");
    for (named, next) in [
        ("app", "next: docward lint app --config s.toml\n"),
        ("app/main.py", "next: docward lint app/main.py --config s.toml\n"),
        ("data", "next: docward audit data --config s.toml\n"),
        ("data/orders.json", "next: docward audit data/orders.json --config s.toml\n"),
        (
            "mixed",
            "next: docward audit mixed/dump --config s.toml\nnext: docward lint mixed --config s.toml\n",
        ),
    ] {
        let made =
            run_in(directory.path(), &[], &["init", named, "--yes", "--force", "-o", "s.toml"]);
        assert_eq!(code(&made), 0, "{named}: {made:?}");
        assert!(stderr(&made).ends_with(next), "{named}: {made:?}");
    }
}

#[test]
fn next_commands_can_be_pasted() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("-orders.json"), "[{\"Order_No\": 1}, {\"orderNo\": 2}]")
        .unwrap();
    let screen = run_in(directory.path(), &[], &["audit", "--", "-orders.json"]);
    let screen = stdout(&screen);
    let shown = screen.lines().find(|line| line.contains("--verbose")).expect("a next command");
    let words: Vec<&str> = shown.split_whitespace().skip(1).take_while(|w| *w != "every").collect();
    let words: Vec<&str> = words.into_iter().take_while(|word| *word != "the").collect();
    let again = run_in(directory.path(), &[], &words);
    assert_ne!(code(&again), 2, "{words:?}: {again:?}");
    let client = "mongodb://app:secret@db1,db2/?replicaSet=rs0&w=0";
    let screen = docward(&["audit", SHOP, "--client-uri", client]);
    let screen = stdout(&screen);
    assert!(screen.contains("--client-uri \"$CLIENT_URI\" --verbose"), "{screen}");
    assert!(screen.contains("Set CLIENT_URI first"), "{screen}");
}

#[test]
fn a_screen_with_problems_keeps_its_table() {
    let directory = tempfile::tempdir().unwrap();
    for number in 0..6 {
        fs::write(directory.path().join(format!("broken{number}.json")), "[{").unwrap();
    }
    let broken = directory.path().display().to_string();
    for width in ["60", "80", "100", "200"] {
        let mut command = Command::cargo_bin("docward").unwrap();
        let output = command.args(["audit", SHOP, &broken]).current_dir(root());
        let text = stdout(&output.env("COLUMNS", width).output().unwrap());
        assert!(text.lines().count() <= 40, "{width}: {text}");
        assert!(text.contains("Not read in full") && text.contains("By rule"), "{width}: {text}");
    }
}

#[test]
fn every_format_has_one_order_of_rules() {
    let (report, _) = audit_json(&[SHOP]);
    let mut rules: Vec<String> = Vec::new();
    for finding in report["findings"].as_array().unwrap() {
        let rule = finding["rule"].as_str().unwrap().to_owned();
        if finding["severity"] == "error" && !rules.contains(&rule) {
            rules.push(rule);
        }
    }
    let text = stdout(&docward(&["audit", SHOP, "--verbose"]));
    let errors = text.split("\nWARNINGS (").next().unwrap();
    let places = rules.iter().map(|rule| errors.find(&format!("\n  {rule} ")));
    let places: Vec<usize> = places.map(|place| place.expect("every rule")).collect();
    assert!(places.is_sorted(), "{rules:?}\n{errors}");
}

#[test]
fn the_environment_names_the_deployment_of_every_command_that_reads_one() {
    let directory = tempfile::tempdir().unwrap();
    let schema = directory.path().join("a.schema.json");
    fs::write(&schema, r#"{"$jsonSchema": {"required": ["name"]}}"#).unwrap();
    let schema = schema.to_str().unwrap();
    let dead = [("MONGODB_URI", "mongodb://127.0.0.1:1/shop?serverSelectionTimeoutMS=200")];
    for arguments in [
        vec!["audit"],
        vec!["checklist"],
        vec!["shardkey"],
        vec!["schema", "infer"],
        vec!["schema", "check", schema, "--as", "shop.a"],
        vec!["schema", "apply", "--schema", schema, "--namespace", "shop.a"],
    ] {
        let run = run_in(directory.path(), &dead, &arguments);
        assert_eq!(code(&run), 2, "{arguments:?}");
        assert!(stderr(&run).contains("no server answered"), "{arguments:?}: {}", stderr(&run));
        let run = run_in(directory.path(), &[], &arguments);
        assert_eq!(code(&run), 2, "{arguments:?}");
        assert!(stderr(&run).contains("MONGODB_URI"), "{arguments:?}: {}", stderr(&run));
    }
}

#[test]
fn the_guard_repeats_no_password_of_a_connection_string_it_cannot_read() {
    let directory = tempfile::tempdir().unwrap();
    for uri in [
        "mongodb://app:s3cret/host",
        "mongodb://app:s3cr%zzet@host",
        "mongodb://app:s3cret@host:99999",
        "mongo://app:s3cret@host",
        "'mongodb://app:s3cret@host'",
    ] {
        let arguments = ["guard", "--listen", "127.0.0.1:0"];
        let by_option = [arguments.as_slice(), &["--upstream", uri]].concat();
        for (variables, arguments) in
            [(vec![], by_option.as_slice()), (vec![("MONGODB_URI", uri)], arguments.as_slice())]
        {
            let run = run_in(directory.path(), &variables, arguments);
            let said = stdout(&run) + &stderr(&run);
            assert_eq!(code(&run), 2, "{said}");
            assert!(said.starts_with("error: --upstream: "), "{said}");
            assert!(!said.contains("s3c") && !said.contains("Kind:"), "{said}");
        }
    }
}

#[test]
fn the_header_names_the_database_and_next_commands_set_their_own_output() {
    let run = run_in(&root(), &[], &["audit", SHOP, "--db", "db_shop", "--fail-on", "never"]);
    let text = stdout(&run);
    let head = text.lines().next().unwrap();
    assert!(head.ends_with("audit of examples/shop, database db_shop"), "{head}");
    let directory = tempfile::tempdir().unwrap();
    let page = directory.path().join("page.html").display().to_string();
    let run = run_in(&root(), &[], &["audit", SHOP, "-f", &format!("html={page}")]);
    let text = stdout(&run);
    let next = text.lines().skip_while(|line| *line != "Next").nth(1).unwrap();
    assert!(next.starts_with("  docward audit examples/shop --show "), "{next}");
}

#[test]
fn connect_plan_asks_a_server_and_knows_the_old_name_of_the_option() {
    let directory = tempfile::tempdir().unwrap();
    let dead = "mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=200";
    for (option, is_old) in [("--server", false), ("--uri", true)] {
        let arguments = ["connect", "plan", "--apps", "2", "--pool", "10", option, dead];
        let run = run_in(directory.path(), &[], &arguments);
        assert_eq!(code(&run), 2);
        let told = stderr(&run);
        assert!(told.contains("error: --server: the deployment did not answer"), "{told}");
        assert_eq!(told.contains("note: --uri is now called --server"), is_old, "{told}");
    }
}

#[test]
fn no_output_replaces_a_source_or_the_settings() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("a.json");
    let settings = directory.path().join("docward.toml");
    for (file, text) in [(&data, "{\"a\": 1}\n"), (&settings, "profile = \"neutral\"\n")] {
        fs::write(file, text).unwrap();
    }
    for arguments in [
        vec!["audit", "a.json", "--output", "a.json"],
        vec!["audit", "a.json", "--format", "html=./a.json"],
        vec!["audit", "a.json", "--emit-fixes", "a.json"],
        vec!["audit", "a.json", "--save-evidence", "a.json"],
        vec!["audit", "a.json", "-f", "json", "-o", "docward.toml"],
        vec!["lint", "a.json", "--output", "a.json"],
        vec!["shardkey", "a.json", "--output", "a.json"],
        vec!["schema", "infer", "a.json", "--output", "a.json"],
    ] {
        let run = run_in(directory.path(), &[], &arguments);
        assert_eq!(code(&run), 2, "{arguments:?}");
        assert!(stderr(&run).contains("would replace"), "{arguments:?}: {}", stderr(&run));
    }
    assert_eq!(fs::read_to_string(&data).unwrap(), "{\"a\": 1}\n");
    assert_eq!(fs::read_to_string(&settings).unwrap(), "profile = \"neutral\"\n");
    for arguments in [
        vec!["audit", "a.json", "-f", "json=o", "-f", "html=o"],
        vec!["audit", "a.json", "-f", "json=o", "--emit-fixes", "./o"],
        vec!["audit", "a.json", "-f", "json", "-o", "o", "--save-evidence", "o"],
    ] {
        let run = run_in(directory.path(), &[], &arguments);
        assert_eq!(code(&run), 2, "{arguments:?}");
        assert!(stderr(&run).contains("two outputs"), "{arguments:?}: {}", stderr(&run));
    }
    assert!(!directory.path().join("o").exists());
    // Settings without quotes are a common mistake.
    fs::write(&settings, "profile = neutral\n").unwrap();
    let run = run_in(directory.path(), &[], &["audit", "a.json"]);
    assert!(stderr(&run).contains("write `\"neutral\"`"), "{}", stderr(&run));
}

#[test]
fn problems_of_a_report_in_a_file_are_printed_and_no_documents_are_no_pass() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("a.json"), "{\"a\": 1}\n").unwrap();
    fs::write(directory.path().join("b.json"), "[{").unwrap();
    fs::write(directory.path().join("none.json"), "[]").unwrap();
    let run = run_in(directory.path(), &[], &["audit", "a.json", "b.json", "-o", "out.txt"]);
    assert_eq!(code(&run), 2);
    assert!(stderr(&run).contains("error: b.json"), "{}", stderr(&run));
    let run = run_in(directory.path(), &[], &["audit", "none.json", "-f", "html=none.html"]);
    assert_eq!(code(&run), 0, "{}", stderr(&run));
    let page = fs::read_to_string(directory.path().join("none.html")).unwrap();
    assert!(page.contains("No documents were read"));
}

#[test]
fn show_knows_rules_that_do_not_exist_or_were_not_checked() {
    let run = run_in(&root(), &[], &["audit", SHOP, "--show", "D999"]);
    assert_eq!((code(&run), stdout(&run)), (2, String::new()));
    assert!(stderr(&run).contains("--show D999"), "{}", stderr(&run));
    let run = run_in(&root(), &[], &["audit", SHOP, "--show", "W001"]);
    assert!(stdout(&run).contains("W001 was not checked: it needs"), "{}", stdout(&run));
    let run = run_in(&root(), &[], &["audit", SHOP, "--show", "K003"]);
    assert!(stdout(&run).ends_with("next: docward explain K003\n"), "{}", stdout(&run));
}

#[test]
fn passwords_of_other_forms_are_not_repeated() {
    for argument in [
        "mongodb://127.0.0.1:1/b&password=S3cretPw",
        "mongodb://app;S3cretPw@127.0.0.1:1/b",
        "user=app password=S3cretPw host=db1",
    ] {
        for command in [
            vec!["connect", "check"],
            vec!["audit"],
            vec!["schema", "infer"],
            vec!["checklist"],
            vec!["shardkey"],
            vec!["lint"],
        ] {
            let arguments = [command, vec![argument]].concat();
            let run = run_in(&root(), &[], &arguments);
            let said = stdout(&run) + &stderr(&run);
            assert!(!said.contains("S3cretPw"), "{arguments:?}: {said}");
        }
    }
    let directory = tempfile::tempdir().unwrap();
    let line = "u = \"mongodb://db1.corp.net/shop&password=S3cretPw\"\n";
    fs::write(directory.path().join("a.py"), line).unwrap();
    let run = run_in(directory.path(), &[], &["lint", ".", "--verbose"]);
    let said = stdout(&run) + &stderr(&run);
    assert!(!said.contains("S3cretPw"), "{said}");
}
