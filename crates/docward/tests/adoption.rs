//! Adopting Docward in an old project: every format, baselines that only shrink, suppressions with
//! a reason and a last day, waivers, comparisons of reports, completions and manual pages.

#![allow(clippy::unwrap_used, reason = "tests: a panic is the message")]

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use crate::common::{code, docward, findings, stderr, stdout};
use serde_json::Value;

const SHOP: &str = "examples/shop";

struct Project {
    directory: tempfile::TempDir,
}

impl Project {
    /// Creates a collection of orders with faults that tests can fix one by one.
    fn new() -> Self {
        let project = Self { directory: tempfile::tempdir().unwrap() };
        project.orders(&[DATE_AS_TEXT, MONEY, "\"UserName\": \"a\""]);
        project.settings("");
        project
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn path(&self, name: &str) -> String {
        self.file(name).display().to_string()
    }

    fn settings(&self, text: &str) {
        fs::write(self.file("docward.toml"), format!("profile = \"neutral\"\n{text}")).unwrap();
    }

    fn orders(&self, fields: &[&str]) {
        let line = |n: usize| format!("{{\"_id\": {n}, {}}}\n", fields.join(", "));
        fs::write(self.file("orders.jsonl"), (0..60).map(line).collect::<String>()).unwrap();
    }

    /// Runs `docward audit` on the orders.
    fn audit(&self, more: &[&str]) -> std::process::Output {
        let orders = self.path("orders.jsonl");
        let mut all = vec!["audit", &orders, "--namespace", "db_shop.t_order"];
        all.extend(more);
        docward(&all)
    }

    fn report(&self, more: &[&str]) -> (Value, i32) {
        let mut all = vec!["--format", "json"];
        all.extend(more);
        let output = self.audit(&all);
        let report = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|e| panic!("{e}: {}", stderr(&output)));
        (report, code(&output))
    }
}

const DATE_AS_TEXT: &str = "\"createTime\": \"2024-03-15 10:30:00\"";
const MONEY: &str = "\"price\": 9.99";

fn rules(report: &Value) -> BTreeSet<String> {
    findings(report).into_iter().map(|(_, rule, _, _)| rule).collect()
}

fn known(file: &Path) -> usize {
    let baseline: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    baseline["findings"].as_array().unwrap().len()
}

#[test]
fn a_baseline_goes_round_and_only_shrinks() {
    let project = Project::new();
    let file = project.path("base.json");
    let (before, _) = project.report(&[]);
    let all = findings(&before).len();
    assert!(all >= 3, "{before}");

    let missing = project.audit(&["--baseline", &file]);
    assert_eq!(code(&missing), 2);
    assert!(stderr(&missing).contains("--write-baseline creates it"), "{}", stderr(&missing));

    // All findings are accepted, so only new ones are reported.
    let (written, exit) = project.report(&["--baseline", &file, "--write-baseline"]);
    assert_eq!((findings(&written).len(), exit), (0, 0), "{written}");
    assert_eq!(known(Path::new(&file)), all);
    let first = fs::read_to_string(&file).unwrap();
    let (again, exit) = project.report(&["--baseline", &file, "--fail-on", "info"]);
    assert_eq!((findings(&again).len(), exit), (0, 0));
    assert_eq!(again["summary"]["baselined"], all);

    // Counts and documents may change.
    let line = format!("{{\"_id\": 999, {DATE_AS_TEXT}, {MONEY}, \"UserName\": \"b\"}}\n");
    let text = fs::read_to_string(project.file("orders.jsonl")).unwrap();
    fs::write(project.file("orders.jsonl"), text + &line).unwrap();
    assert_eq!(findings(&project.report(&["--baseline", &file]).0).len(), 0);

    // One finding is fixed and another is new. The report lists both.
    project.orders(&[MONEY, "\"UserName\": \"a\"", "\"mixed\": 1"]);
    let text = fs::read_to_string(project.file("orders.jsonl")).unwrap();
    let mixed = text.replacen("\"mixed\": 1", "\"mixed\": {\"a\": \"x\"}", 30);
    fs::write(project.file("orders.jsonl"), mixed).unwrap();
    let (changed, exit) = project.report(&["--baseline", &file, "--fail-on", "warn"]);
    assert_eq!((rules(&changed), exit), (BTreeSet::from(["T005".to_owned()]), 1), "{changed}");
    assert_eq!(changed["findings"][0]["change"], "new");
    assert_eq!(changed["compared"]["fixed"][0]["rule"], "T001");
    assert_eq!(fs::read_to_string(&file).unwrap(), first, "a look changes nothing");

    // Writing the baseline again would let it grow, so this is refused with a reason.
    let refused = project.audit(&["--baseline", &file, "--write-baseline"]);
    assert_eq!(code(&refused), 2);
    assert!(stdout(&refused).contains("it would grow by 1"), "{}", stdout(&refused));
    assert_eq!(fs::read_to_string(&file).unwrap(), first);

    // An update shrinks the baseline, and the new finding stays reported.
    let (updated, _) = project.report(&["--baseline", &file, "--update-baseline"]);
    assert_eq!(rules(&updated), BTreeSet::from(["T005".to_owned()]));
    assert_eq!(known(Path::new(&file)), all - 1);
    let (grown, exit) =
        project.report(&["--baseline", &file, "--update-baseline", "--allow-growth"]);
    assert_eq!((findings(&grown).len(), exit), (0, 0));
    assert_eq!(known(Path::new(&file)), all);
}

#[test]
fn what_was_not_looked_for_stays_in_the_baseline() {
    let project = Project::new();
    let file = project.path("base.json");
    project.audit(&["--baseline", &file, "--write-baseline"]);
    let all = known(Path::new(&file));
    for more in [
        &["--select", "N"][..],
        &["--collection", "t_other*"],
        &["--ignore", "T"],
        &["--sample", "5"],
        &["--metadata-only"],
    ] {
        let mut arguments = vec!["--baseline", file.as_str(), "--update-baseline"];
        arguments.extend(more);
        project.audit(&arguments);
        assert_eq!(known(Path::new(&file)), all, "{more:?}");
    }
    // The finding is ignored, suppressed or in another file. This says nothing about the rest of
    // its database.
    for settings in [
        "[[namespaces]]\nmatch = \"*.*\"\nignore = [\"T\"]\n",
        "[[suppress]]\nrule = \"T\"\nreason = \"x\"\nexpires = \"never\"\n",
    ] {
        project.settings(settings);
        project.audit(&["--baseline", &file, "--update-baseline"]);
        assert_eq!(known(Path::new(&file)), all, "{settings}");
    }
    project.settings("");
    let orders = project.path("orders.jsonl");
    let other = ["audit", &orders, "--namespace", "db_shop.t_other", "--baseline", &file];
    docward(&[&other[..], &["--update-baseline"]].concat());
    assert_eq!(known(Path::new(&file)), all, "other collections");
    let (narrow, _) = project.report(&["--baseline", &file, "--select", "N"]);
    assert!(!narrow["compared"]["notJudged"].as_array().unwrap().is_empty());
    assert!(narrow["compared"]["fixed"].as_array().unwrap().is_empty());
}

#[test]
fn a_finding_that_becomes_louder_is_told_although_it_is_known() {
    let project = Project::new();
    let file = project.path("base.json");
    project.audit(&["--baseline", &file, "--write-baseline"]);
    project.settings("[rules.T002]\nseverity = \"error\"\n");
    let (louder, exit) = project.report(&["--baseline", &file]);
    assert_eq!((rules(&louder), exit), (BTreeSet::from(["T002".to_owned()]), 1), "{louder}");
    assert_eq!(louder["findings"][0]["change"], "worse");
    assert_eq!(louder["findings"][0]["before"], "warn");
}

#[test]
fn a_baseline_that_cannot_be_written_costs_no_report() {
    let project = Project::new();
    let output = project.audit(&["--baseline", "no/such/directory.json", "--write-baseline"]);
    assert_eq!(code(&output), 2);
    assert!(stdout(&output).contains("the baseline was not written"), "{}", stdout(&output));
    assert!(stdout(&output).contains("T001"), "the findings are printed");
    // An incomplete run does not create a baseline either.
    let broken = project.path("broken.bson");
    fs::write(&broken, [1, 2, 3]).unwrap();
    let file = project.path("base.json");
    let output = project.audit(&[&broken, "--baseline", &file, "--write-baseline"]);
    assert_eq!(code(&output), 2);
    assert!(!Path::new(&file).exists(), "{}", stdout(&output));
}

#[test]
fn a_suppressed_finding_still_fails_its_item() {
    let project = Project::new();
    project.orders(&[DATE_AS_TEXT]);
    project.settings("[[suppress]]\nrule = \"all\"\nreason = \"x\"\nexpires = \"never\"\n");
    let orders = project.path("orders.jsonl");
    let list = docward(&["checklist", &orders, "--namespace", "db_shop.t_order"]);
    assert_eq!(code(&list), 1);
    assert!(stdout(&list).contains("FAIL    CK-5"), "{}", stdout(&list));
}

#[test]
fn a_diff_does_not_call_withheld_or_unread_things_fixed_or_new() {
    let project = Project::new();
    let file = |name: &str| project.path(name);
    project.audit(&["--format", "json", "--output", &file("all.json")]);
    project.audit(&["--baseline", &file("b.json"), "--write-baseline"]);
    project.audit(&[
        "--baseline",
        &file("b.json"),
        "--format",
        "json",
        "--output",
        &file("based.json"),
    ]);
    project.audit(&["--select", "N", "--format", "json", "--output", &file("narrow.json")]);
    project.settings("[[suppress]]\nrule = \"T\"\nreason = \"x\"\nexpires = \"never\"\n");
    project.audit(&["--format", "json", "--output", &file("suppressed.json")]);
    let diff = |old: &str, new: &str| -> Value {
        let output = docward(&["diff", &file(old), &file(new), "--format", "json"]);
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", stderr(&output)))
    };
    for new in ["based.json", "suppressed.json", "narrow.json"] {
        let report = diff("all.json", new);
        assert_eq!(report["compared"]["fixed"].as_array().unwrap().len(), 0, "{new}");
        let back = diff(new, "all.json");
        assert_eq!(back["compared"]["new"], 0, "{new}");
    }
    // Each finding is in one class, and the head names both reports.
    let classes = |report: &Value| -> u64 {
        ["new", "changed", "notLookedForBefore"]
            .iter()
            .map(|class| report["compared"][*class].as_u64().unwrap())
            .sum()
    };
    let back = diff("narrow.json", "all.json");
    let shown = back["findings"].as_array().unwrap().len() as u64;
    assert!(shown > 0);
    assert_eq!(classes(&back), shown, "{}", back["compared"]);
    let text = stdout(&docward(&["diff", &file("narrow.json"), &file("all.json")]));
    let head = text.lines().next().unwrap();
    assert!(
        head.contains(&format!("diff of {} and {}", file("narrow.json"), file("all.json"))),
        "{head}"
    );
    assert!(text.contains(&format!(" · {shown} not looked for before · ")), "{text}");
    // Nothing was read, so nothing was checked.
    let mut blank: Value =
        serde_json::from_str(&fs::read_to_string(file("all.json")).unwrap()).unwrap();
    blank["findings"] = serde_json::json!([]);
    blank["sources"] = serde_json::json!([]);
    blank["problems"] = serde_json::json!([{ "source": "dump", "message": "no such file" }]);
    fs::write(file("blank.json"), blank.to_string()).unwrap();
    let since = docward(&["diff", &file("blank.json"), &file("all.json")]);
    assert_eq!(code(&since), 0, "{}", stderr(&since));
    assert!(stderr(&since).contains("a run that read nothing"), "{}", stderr(&since));
    assert!(stdout(&since).contains(" not checked before"), "{}", stdout(&since));
    fs::write(file("diff.json"), diff("narrow.json", "all.json").to_string()).unwrap();
    let of_diff = docward(&["diff", &file("all.json"), &file("diff.json")]);
    assert_eq!(code(&of_diff), 2);
    assert!(stderr(&of_diff).contains("comparison of two reports"), "{}", stderr(&of_diff));
    // An incomplete run must not look like a pass.
    let broken = file("broken.bson");
    fs::write(&broken, [1, 2, 3]).unwrap();
    project.audit(&[&broken, "--format", "json", "--output", &file("problem.json")]);
    assert_eq!(code(&docward(&["diff", &file("all.json"), &file("problem.json")])), 2);
}

#[test]
fn names_out_of_data_stay_names_in_every_format() {
    let project = Project::new();
    let field = "\"``<img src=x onerror=alert(1)>`_at\": \"2024-03-15 10:30:00\"";
    let odd = "\"x\\n::error::y\\ufffe_at\": \"2024-03-15 10:30:00\"";
    project.orders(&[field, odd]);
    let read = |format: &str| stdout(&project.audit(&["--format", format, "--expand"]));
    let markdown = read("markdown");
    for line in markdown.lines().filter(|line| line.contains("<img")) {
        // The text is in a code block, or in a span whose fence is longer than any run of backticks
        // in it.
        assert!(line.contains("``` ") || line.starts_with("db."), "{line}");
    }
    assert!(!read("html").contains("<img"));
    for format in ["terminal", "github", "markdown"] {
        assert!(!read(format).lines().any(|line| line.starts_with("::error::y")), "{format}");
    }
    assert!(!read("junit").contains('\u{fffe}'));
}

#[test]
fn the_baseline_can_be_named_in_the_settings() {
    let project = Project::new();
    project.settings("baseline = \"accepted.json\"\n");
    project.audit(&["--write-baseline"]);
    assert!(project.file("accepted.json").is_file(), "beside the file that names it");
    assert_eq!(findings(&project.report(&[]).0).len(), 0);
    fs::write(project.file("accepted.json"), "[]").unwrap();
    let broken = project.audit(&[]);
    assert_eq!(code(&broken), 2);
    assert!(stderr(&broken).contains("is not a baseline"), "{}", stderr(&broken));
    let alone = project.audit(&["--allow-growth"]);
    assert!(stderr(&alone).contains("requires --write-baseline"), "{}", stderr(&alone));
}

#[test]
fn suppressions_hold_until_their_day_and_are_missed_when_unused() {
    let project = Project::new();
    let suppress = |more: &str| {
        project.settings(&format!("[[suppress]]\nreason = \"moves in spring\"\n{more}"));
        project.report(&[]).0
    };
    let held = suppress("rule = \"T001\"\nmatch = \"db_shop.*\"\nexpires = 2999-12-31\n");
    assert!(!rules(&held).contains("T001"));
    assert_eq!(held["summary"]["suppressed"], 1);
    assert_eq!(held["suppressions"][0]["findings"], 1);
    assert_eq!(held["suppressions"][0]["reason"], "moves in spring");

    let expired = suppress("rule = \"T001\"\nexpires = \"2020-01-31\"\n");
    assert!(rules(&expired).is_superset(&["A001", "T001"].map(str::to_owned).into()));
    let told = expired["findings"].as_array().unwrap();
    let told = told.iter().find(|f| f["rule"] == "A001").unwrap();
    assert!(told["location"]["file"].as_str().unwrap().ends_with("docward.toml"), "{told}");
    assert_eq!(told["location"]["line"], 2);

    let unused = suppress("rule = \"D009\"\nexpires = \"never\"\n");
    assert!(rules(&unused).contains("A002"));
    // Suppressions by family, name and path.
    let by_path = suppress("rule = \"T\"\npath = \"create*\"\nexpires = \"never\"\n");
    assert!(!rules(&by_path).contains("T001") && rules(&by_path).contains("T002"));
    let by_name = suppress("rule = \"date-as-string\"\npath = \"price\"\nexpires = \"never\"\n");
    assert!(rules(&by_name).contains("T001"), "another field");
}

#[test]
fn suppressions_without_reason_or_day_are_refused_with_their_place() {
    let project = Project::new();
    for (text, expect) in [
        ("[[suppress]]\nrule = \"T001\"\nexpires = \"never\"\n", "needs `reason`"),
        ("[[suppress]]\nrule = \"T001\"\nreason = \"x\"\n", "needs `expires`"),
        (
            "[[suppress]]\nrule = \"T001\"\nreason = \" \"\nexpires = \"never\"\n",
            "`reason` is empty",
        ),
        ("[[suppress]]\nrule = \"T001\"\nreason = \"x\"\nexpires = \"soon\"\n", "must be a day"),
        ("[[suppress]]\nrule = \"T999\"\nreason = \"x\"\nexpires = \"never\"\n", "T999"),
        (
            "[[suppress]]\nrule = \"T001\"\nmatch = \"a[\"\nreason = \"x\"\nexpires = \"never\"\n",
            "not a pattern",
        ),
        ("[[waive]]\nitem = \"CK-99\"\nreason = \"x\"\nexpires = \"never\"\n", "CK-99"),
    ] {
        project.settings(text);
        let output = project.audit(&[]);
        assert_eq!(code(&output), 2, "{text}");
        assert!(stderr(&output).contains(expect), "{text}: {}", stderr(&output));
        assert_eq!(stdout(&output), "", "nothing is read with settings that cannot be used");
    }
}

#[test]
fn a_waived_item_is_signed_off() {
    let project = Project::new();
    project.orders(&[DATE_AS_TEXT]);
    let list = |more: &[&str]| {
        let orders = project.path("orders.jsonl");
        let mut all = vec!["checklist", &orders, "--namespace", "db_shop.t_order"];
        all.extend(more);
        docward(&all)
    };
    assert_eq!(code(&list(&[])), 1, "CK-5 fails");
    let waive = |day: &str| {
        project.settings(&format!(
            "[[waive]]\nitem = \"CK-5\"\nreason = \"the old ledger\"\nby = \"Kim\"\nexpires = {day}\n"
        ));
    };
    waive("2999-12-31");
    let signed = list(&[]);
    assert_eq!(code(&signed), 0, "{}", stdout(&signed));
    assert!(stdout(&signed).contains("waived by Kim until 2999-12-31: the old ledger"));
    for format in ["json", "sarif", "junit", "markdown", "html"] {
        let text = stdout(&list(&["--format", format]));
        assert!(text.contains("the old ledger"), "{format}: {text}");
    }
    waive("2020-01-31");
    let expired = list(&[]);
    assert_eq!(code(&expired), 1);
    let text = stdout(&expired).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("its waiver expired on 2020-01-31"), "{text}");
    project.orders(&["\"orderedAt\": {\"$date\": \"2024-01-01T00:00:00Z\"}"]);
    waive("2999-12-31");
    let passed = stdout(&list(&["--format", "json"]));
    assert!(passed.contains("its waiver in docward.toml is no longer needed"), "{passed}");
    assert!(!passed.contains("the old ledger"), "what passes is not waived");
}

#[test]
fn two_reports_are_compared_in_every_format() {
    let project = Project::new();
    let (old, new) = (project.path("old.json"), project.path("new.json"));
    project.audit(&["--format", "json", "--output", &old]);
    project.orders(&[MONEY, "\"UserName\": \"a\"", "\"totalAmount\": 7.5"]);
    project.audit(&["--format", "json", "--output", &new]);

    let same = docward(&["diff", &old, &old, "--format", "json", "--fail-on", "info"]);
    assert_eq!(code(&same), 0);
    let same: Value = serde_json::from_slice(&same.stdout).unwrap();
    assert!(same["findings"].as_array().unwrap().is_empty());

    let diff = docward(&["diff", &old, &new, "--format", "json", "--fail-on", "warn"]);
    let report: Value = serde_json::from_slice(&diff.stdout).unwrap();
    assert_eq!(code(&diff), 1, "{report}");
    assert!(report["findings"].as_array().unwrap().iter().any(|f| f["change"] == "new"));
    assert_eq!(report["compared"]["fixed"][0]["rule"], "T001");
    for format in ["terminal", "sarif", "junit", "markdown", "html"] {
        let text = stdout(&docward(&["diff", &old, &new, "--format", format]));
        assert!(text.contains("T001") || format == "html", "{format}: {text}");
    }
    let narrow = docward(&["diff", &old, &new, "--quiet", "--color", "never"]);
    assert!(stdout(&narrow).contains("1 fixed"), "{}", stdout(&narrow));

    // One of the reports may come from another command.
    let piped = std::process::Command::new(env!("CARGO_BIN_EXE_docward"))
        .args(["diff", &old, "-", "--quiet", "--color", "never"])
        .stdin(fs::File::open(&new).unwrap())
        .output()
        .unwrap();
    assert_eq!(stdout(&piped), stdout(&narrow));

    fs::write(&old, "{}").unwrap();
    let broken = docward(&["diff", &old, &new]);
    assert_eq!(code(&broken), 2);
    assert!(stderr(&broken).contains("is not a report"), "{}", stderr(&broken));
    let both = docward(&["diff", "-", "-"]);
    assert_eq!(code(&both), 2);
    assert!(stderr(&both).contains("both reports cannot come from standard input"));
    let missing = docward(&["diff", "no/such.json", &new]);
    assert!(stderr(&missing).contains("no/such.json"), "{}", stderr(&missing));
}

#[test]
fn the_same_findings_are_in_every_format() {
    let json: Value =
        serde_json::from_slice(&docward(&["audit", SHOP, "--format", "json"]).stdout).unwrap();
    let all: BTreeSet<(String, String)> = json["findings"]
        .as_array()
        .unwrap()
        .iter()
        // Recognised patterns need no action, so only machine-readable formats contain them.
        .filter(|f| !(f["rule"] == "R020" && f["severity"] == "info"))
        .map(|f| {
            let text = |key: &str| f[key].as_str().unwrap().to_owned();
            (text("rule"), text("fingerprint"))
        })
        .collect();
    assert!(all.len() > 100);
    let patterns = json["findings"].as_array().unwrap().len() - all.len();
    assert!(patterns > 0);
    assert_eq!(json["summary"]["patterns"], patterns);
    let read = |format: &str| stdout(&docward(&["audit", SHOP, "--format", format]));

    let sarif: Value = serde_json::from_str(&read("sarif")).unwrap();
    let results = sarif["runs"][0]["results"].as_array().unwrap();
    let pair = |r: &Value| {
        let print = r["partialFingerprints"]["docward/v1"].as_str().unwrap();
        (r["ruleId"].as_str().unwrap().to_owned(), print.to_owned())
    };
    assert_eq!(results.iter().map(pair).collect::<BTreeSet<_>>(), all);
    let descriptors = sarif["runs"][0]["tool"]["driver"]["rules"].as_array().unwrap();
    assert!(descriptors.iter().all(|rule| !rule["help"]["text"].as_str().unwrap().is_empty()));

    let gitlab: Value = serde_json::from_str(&read("gitlab")).unwrap();
    assert_eq!(gitlab.as_array().unwrap().len(), all.len());
    let junit = read("junit");
    let errors = json["summary"]["error"].as_u64().unwrap() as usize;
    assert_eq!(junit.matches("<failure ").count(), errors);
    let cases = junit.matches("<testcase ").count();
    assert_eq!(cases, all.len() + json["skipped"].as_array().unwrap().len());
    let github = read("github");
    assert_eq!(github.lines().filter(|line| line.starts_with("::error ")).count(), 10);
    assert_eq!(github.lines().filter(|line| line.starts_with("::notice ")).count(), 10);
    assert!(github.lines().last().unwrap().contains("more: see the report"), "{github}");
    let markdown = read("markdown");
    assert!(markdown.len() < 65_536, "fits a comment: {}", markdown.len());
    for (rule, _) in &all {
        assert!(markdown.contains(rule), "{rule}");
    }
    // The page is always the same, including pictures, except for its date and duration.
    assert_eq!(without_times(&read("html")), without_times(&read("html")));
}

/// Returns a page without its date and duration.
fn without_times(page: &str) -> String {
    let mut out = page.to_owned();
    for id in ["started", "duration"] {
        let start = out.find(&format!("id=\"{id}\">")).expect("the page says when and how long");
        let end = start + out[start..].find('<').expect("the element ends");
        out.replace_range(start..end, "");
    }
    out
}

#[test]
fn values_stay_out_of_every_format_unless_asked_for() {
    let project = Project::new();
    project.orders(&[DATE_AS_TEXT, "\"status\": \"very secret value\""]);
    for format in ["terminal", "json", "sarif", "junit", "markdown", "github", "gitlab"] {
        let text = stdout(&project.audit(&["--format", format]));
        assert!(!text.contains("2024-03-15 10:30:00") && !text.contains("secret"), "{format}");
    }
}

#[test]
fn completions_and_manual_pages_come_from_the_definition() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = stdout(&docward(&["completions", shell]));
        for word in ["shardkey", "update-baseline"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
        // The last two shells do not complete values.
        assert!(script.contains("sarif") || matches!(shell, "powershell" | "elvish"), "{shell}");
    }
    let page = stdout(&docward(&["man"]));
    assert!(page.starts_with(".ie") || page.contains(".TH docward 1"), "{page}");
    let directory = tempfile::tempdir().unwrap();
    let target = directory.path().join("man1").display().to_string();
    assert_eq!(code(&docward(&["man", &target])), 0);
    let audit = fs::read_to_string(directory.path().join("man1/docward-audit.1")).unwrap();
    assert!(audit.contains("write\\-baseline") && audit.contains("Examples:"), "{audit}");
}

/// Code that appends to an array without a bound, in three files below a separate folder.
struct CodeBase {
    directory: tempfile::TempDir,
}

const PUSH: &str = "db.t_user.updateOne({_id}, {$push: {logins: {at: new Date()}}});\n";

impl CodeBase {
    fn new(files: &[(&str, &str)]) -> Self {
        let base = Self { directory: tempfile::tempdir().unwrap() };
        for (name, text) in files {
            let path = base.directory.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        base
    }

    /// Returns the JSON report of `docward lint` on a part of the code, and the exit code.
    fn lint(&self, part: &str, more: &[&str]) -> (Value, i32) {
        let target = self.directory.path().join(part).display().to_string();
        let mut all = vec!["lint", &target, "--format", "json", "--profile", "neutral"];
        all.extend(more);
        let output = docward(&all);
        let report = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|e| panic!("{e}: {}", stderr(&output)));
        (report, code(&output))
    }
}

/// Returns each finding in the form `A002 app.mongodb:1`.
fn places(report: &Value) -> Vec<String> {
    let findings = report["findings"].as_array().unwrap().iter();
    let place = |finding: &Value| {
        let file = finding["location"]["file"].as_str().unwrap_or_default();
        let name = file.rsplit('/').next().unwrap_or_default();
        format!("{} {name}:{}", finding["rule"].as_str().unwrap(), finding["location"]["line"])
    };
    findings.map(place).collect()
}

#[test]
fn comments_that_allow_have_a_reason_a_day_and_a_use() {
    let with = |comment: &str| {
        let base = CodeBase::new(&[("app.mongodb", &format!("{comment}\n{PUSH}"))]);
        base.lint("", &["--fail-on", "info"])
    };
    // A used suppression: the report states its subject, its reason and its last day.
    let (report, exit) = with("// docward: allow D020 until 2999-12-31 cut every night");
    assert_eq!((places(&report), exit), (Vec::new(), 0), "{report}");
    let used = &report["suppressions"][0];
    assert!(used["about"].as_str().unwrap().ends_with("app.mongodb:1"), "{used}");
    assert_eq!(
        (&used["reason"], &used["expires"]),
        (&"cut every night".into(), &"2999-12-31".into())
    );
    assert_eq!(used["findings"], 1);
    // An expired suppression: the report shows its position and the findings that it covered.
    let (report, exit) = with("// docward: allow D020 until 2020-01-01 cut every night");
    let mut told = places(&report);
    told.sort();
    assert_eq!((told, exit), (vec!["A001 app.mongodb:1".into(), "D020 app.mongodb:2".into()], 1));
    // An unused suppression: one of its two rules, or all of them.
    let (report, exit) = with("// docward: allow D020, T020 cut every night");
    assert_eq!((places(&report), exit), (vec!["A002 app.mongodb:1".to_owned()], 1), "{report}");
    assert!(report["findings"][0]["what"].as_str().unwrap().contains("T020 at"), "{report}");
    // A run on a part of the code, or with a part of the rules, cannot tell which suppressions are
    // unused.
    let base = CodeBase::new(&[("app.mongodb", "// docward: allow D020 cut every night\n")]);
    assert_eq!(places(&base.lint("", &["--select", "D020,A002"]).0), Vec::<String>::new());
    // An invalid date suppresses nothing.
    let (report, exit) = with("// docward: allow D020 until 2027-13-41 cut every night");
    assert_eq!((places(&report), exit), (vec!["D020 app.mongodb:2".to_owned()], 2), "{report}");
    assert!(report["problems"][0]["message"].as_str().unwrap().contains("2027-01-31"), "{report}");
}

#[test]
fn suppressions_of_code_are_narrowed_by_file_and_missed_when_unused() {
    let settings = |entry: &str| {
        format!("[[suppress]]\nrule = \"D020\"\nreason = \"old\"\nexpires = \"never\"\n{entry}\n")
    };
    let lint = |entry: &str, part: &str| {
        let base = CodeBase::new(&[
            ("docward.toml", &settings(entry)),
            ("code/src/app.mongodb", PUSH),
            ("code/src/legacy/old.mongodb", &PUSH.replace("logins", "visits")),
            ("code/lib/clean.mongodb", "db.t_user.findOne({_id});\n"),
        ]);
        let config = base.directory.path().join("docward.toml").display().to_string();
        let mut told = places(&base.lint(part, &["--config", &config]).0);
        told.sort();
        told.join(" ")
    };
    let (app, old) = ("D020 app.mongodb:1", "D020 old.mongodb:1");
    assert_eq!(lint("", ""), "");
    for glob in ["code/src/legacy/**", "**/old.mongodb", "legacy/*", "src/legacy/old.mongodb"] {
        assert_eq!(lint(&format!("file = \"{glob}\""), ""), app, "{glob}");
    }
    // A suppression without a match is reported if everything was examined, or at least the files
    // that it names.
    let unused = "A002 docward.toml:1";
    assert_eq!(lint("file = \"src/lgacy/**\"", ""), format!("{unused} {app} {old}"));
    assert_eq!(lint("file = \"lib/**\"", "code/lib"), unused);
    assert_eq!(lint("file = \"src/**\"", "code/lib"), "", "not looked at");
    // Names of fields are not files.
    assert_eq!(lint("path = \"code/**\"", ""), format!("{unused} {app} {old}"));
    assert_eq!(lint("", "code/lib"), unused);
    // An array has one finding. Accepting one statement does not hide the others.
    let same = |allowed: &str| {
        let old = format!("{allowed}{PUSH}");
        let base = CodeBase::new(&[("a.mongodb", &old), ("b.mongodb", PUSH)]);
        places(&base.lint("", &[]).0).join(" ")
    };
    assert_eq!(same(""), "D020 a.mongodb:1");
    assert_eq!(same("// docward: allow D020 cut every night\n"), "D020 b.mongodb:1");
}

#[test]
fn sc_7_is_answered_from_code() {
    let answer = |code: Option<&str>| {
        let base = CodeBase::new(&[("app.py", code.unwrap_or_default())]);
        let folder = base.directory.path().display().to_string();
        let mut all = vec!["checklist", SHOP, "--format", "json"];
        if code.is_some() {
            all.extend(["--code", &folder]);
        }
        let report: Value = serde_json::from_slice(&docward(&all).stdout).unwrap();
        let items = report["checklist"].as_array().unwrap();
        let item = items.iter().find(|item| item["id"] == "SC-7").unwrap().clone();
        (
            item["verdict"].as_str().unwrap().to_owned(),
            item["evidence"].as_str().unwrap().to_owned(),
        )
    };
    let (verdict, evidence) = answer(None);
    assert!(verdict == "unknown" && evidence.contains("--code"), "{evidence}");
    let client = |uri: &str| format!("from pymongo import MongoClient\nc = MongoClient({uri})\n");
    let (verdict, evidence) = answer(Some(&client("'mongodb://root:Sup3rS3cret!@db.shop.io/x'")));
    assert!(verdict == "fail" && evidence.contains("app.py:2: plain-text password"), "{evidence}");
    assert!(!evidence.contains("Sup3rS3cret"), "{evidence}");
    let (verdict, evidence) = answer(Some(&client("os.environ['MONGODB_URI']")));
    assert!(verdict == "pass" && evidence.contains("1 file"), "{evidence}");
}

#[test]
fn what_was_said_of_a_collection_that_is_gone_is_fixed() {
    let directory = tempfile::tempdir().unwrap();
    let dump = directory.path().join("dump");
    let database = dump.join("db_shop");
    fs::create_dir_all(&database).unwrap();
    let write = |name: &str| {
        let documents: Vec<u8> = (0..30)
            .flat_map(|i| {
                bson::serialize_to_vec(
                    &bson::doc! { "_id": i, "createTime": "2024-03-15 10:30:00" },
                )
            })
            .flatten()
            .collect();
        fs::write(database.join(format!("{name}.bson")), documents).unwrap();
        let metadata =
            r#"{"options": {}, "indexes": [{"v": 2, "key": {"_id": 1}, "name": "_id_"}]}"#;
        fs::write(database.join(format!("{name}.metadata.json")), metadata).unwrap();
    };
    write("t_order");
    write("orders");
    let text = |path: &Path| path.display().to_string();
    let baseline = text(&directory.path().join("base.json"));
    let report = |source: &Path, more: &[&str]| {
        let source = text(source);
        let mut all = vec![source.as_str(), "--baseline", &baseline, "--fail-on", "never"];
        all.extend(more);
        crate::common::audit_json(&all).0
    };
    report(&dump, &["--write-baseline"]);
    let of_orders = |report: &Value, list: &str| {
        let known = report["compared"][list].as_array().unwrap();
        known.iter().filter(|known| known["namespace"] == "db_shop.orders").count()
    };
    for ending in ["bson", "metadata.json"] {
        fs::rename(
            database.join(format!("orders.{ending}")),
            database.join(format!("t_orders.{ending}")),
        )
        .unwrap();
    }
    let whole = report(&dump, &[]);
    assert!(of_orders(&whole, "fixed") >= 2, "{whole}");
    assert_eq!(of_orders(&whole, "notJudged"), 0, "{whole}");
    // A run on a part of the database says nothing about the rest.
    for part in
        [report(&dump, &["--collection", "t_order"]), report(&database.join("t_order.bson"), &[])]
    {
        assert_eq!(of_orders(&part, "fixed"), 0, "{part}");
    }
    // A database that is missing in the dump may exist.
    let other = directory.path().join("other");
    fs::create_dir_all(&other).unwrap();
    fs::rename(&database, other.join("db_other")).unwrap();
    assert_eq!(of_orders(&report(&other, &[]), "fixed"), 0);
}
