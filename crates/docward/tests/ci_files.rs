//! The files that other projects use unchanged: `action.yml`, `ci/gitlab.yml` and
//! `.pre-commit-hooks.yaml`. The tests run their shell steps with a wheel of the binary under test.
//! They do not cover parts that only GitHub or GitLab can evaluate.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "tests: a panic is the message")]

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::OnceLock,
};

use saphyr_parser::{Event, Parser, ScalarStyle};
use serde_json::{Map, Value};

use crate::common::{docward, root, stderr, stdout};

const VERSION: &str = env!("CARGO_PKG_VERSION");
const FILES: [&str; 3] = ["action.yml", "ci/gitlab.yml", ".pre-commit-hooks.yaml"];

/// A file with a password, which is an error.
const FAULTY: &str = "from pymongo import MongoClient\n\
    client = MongoClient(\"mongodb://app:Kq8vTz2LmP@db1.shop.internal:27017/db_shop\")\n";

fn yaml(file: &str) -> Value {
    fn value<'t>(event: Event<'t>, events: &mut impl Iterator<Item = Event<'t>>) -> Value {
        match event {
            Event::Scalar(text, ScalarStyle::Plain, ..) if text == "true" => Value::Bool(true),
            Event::Scalar(text, ScalarStyle::Plain, ..) if text == "false" => Value::Bool(false),
            Event::Scalar(text, ..) => Value::String(text.into_owned()),
            Event::SequenceStart(..) => {
                let mut items = Vec::new();
                loop {
                    match events.next().unwrap() {
                        Event::SequenceEnd => return Value::Array(items),
                        event => items.push(value(event, events)),
                    }
                }
            }
            Event::MappingStart(..) => {
                let mut entries = Map::new();
                loop {
                    let key = match events.next().unwrap() {
                        Event::MappingEnd => return Value::Object(entries),
                        Event::Scalar(key, ..) => key.into_owned(),
                        other => panic!("{other:?}"),
                    };
                    let event = events.next().unwrap();
                    let before = entries.insert(key, value(event, events));
                    assert!(before.is_none(), "a key stands twice");
                }
            }
            other => panic!("{other:?}"),
        }
    }
    let text = fs::read_to_string(root().join(file)).unwrap();
    let mut events = Parser::new_from_str(&text)
        .map(|event| event.unwrap_or_else(|error| panic!("{file}: {error}")).0)
        .skip_while(|event| matches!(event, Event::StreamStart | Event::DocumentStart(_)));
    let first = events.next().unwrap();
    value(first, &mut events)
}

fn texts(value: &Value) -> Vec<String> {
    value.as_array().unwrap().iter().map(|item| item.as_str().unwrap().to_owned()).collect()
}

/// Returns the wheel, which is created once. The folder is deleted with the other temporary files
/// of the machine.
fn wheel() -> &'static Path {
    static WHEEL: OnceLock<PathBuf> = OnceLock::new();
    WHEEL.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("wheel");
        let made = Command::new("python3")
            .arg(root().join("scripts/package.py"))
            .args(["--only", "wheel", "--binary"])
            .arg(assert_cmd::cargo::cargo_bin!("docward"))
            .arg("--output")
            .arg(&folder)
            .output()
            .unwrap();
        assert!(made.status.success(), "{}", stderr(&made));
        let mut files = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
        files.find(|path| path.extension().is_some_and(|ending| ending == "whl")).unwrap()
    })
}

/// A simulated job: a project, and an environment that later steps extend.
struct Runner {
    folder: tempfile::TempDir,
    variables: BTreeMap<String, String>,
}

impl Runner {
    /// Returns `None` with a message if this machine has no venv for installing packages.
    fn new() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let probe = Command::new("python3").args(["-m", "venv"]).arg(at("image")).output().unwrap();
        if !probe.status.success() {
            eprintln!("skipped: python3 -m venv does not work here: {}", stdout(&probe));
            return None;
        }
        fs::create_dir_all(at("project/src")).unwrap();
        fs::write(at("project/src/shop.py"), FAULTY).unwrap();
        fs::write(at("project/src/names.py"), "NAMES = []\n").unwrap();
        let text = |name: &str| at(name).display().to_string();
        let variables = [
            ("HOME", text("home")),
            ("PATH", format!("{}:{}", text("image/bin"), std::env::var("PATH").unwrap())),
            ("RUNNER_TEMP", text("temporary")),
            ("GITHUB_PATH", text("path")),
            // Packages are only installed from the folder of the wheel.
            ("PIP_NO_INDEX", "1".to_owned()),
            ("PIP_FIND_LINKS", wheel().parent().unwrap().display().to_string()),
        ];
        let variables = variables.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        Some(Self { folder, variables })
    }

    fn project(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    /// Runs a script like GitHub's `shell: bash` and GitLab's runner, which stop at the first
    /// failure.
    fn run(&mut self, script: &str, variables: &BTreeMap<String, String>) -> Output {
        let output = Command::new("bash")
            .args(["--noprofile", "--norc", "-eo", "pipefail", "-c", script])
            .current_dir(self.project())
            .env_clear()
            .envs(&self.variables)
            .envs(variables)
            .output()
            .unwrap();
        if let Ok(added) = fs::read_to_string(&self.variables["GITHUB_PATH"]) {
            let path = format!("{}:{}", added.trim(), self.variables["PATH"]);
            self.variables.insert("PATH".to_owned(), path);
        }
        output
    }

    /// Runs the steps of the action with these inputs, up to the first failure.
    fn action(&mut self, given: &[(&str, &str)]) -> Output {
        let action = yaml("action.yml");
        let mut inputs: BTreeMap<&str, &str> = BTreeMap::new();
        for (name, input) in action["inputs"].as_object().unwrap() {
            inputs.insert(name, input["default"].as_str().unwrap());
        }
        for (name, value) in given {
            assert!(inputs.insert(name, value).is_some(), "there is no input {name}");
        }
        assert_eq!(action["runs"]["using"], "composite");
        let mut last = None;
        for step in action["runs"]["steps"].as_array().unwrap() {
            if !step.get("if").is_none_or(|condition| holds(condition.as_str().unwrap(), &inputs)) {
                continue;
            }
            let Some(script) = step.get("run") else {
                assert!(step["uses"].as_str().unwrap().contains("/upload-sarif@"), "{step}");
                continue;
            };
            assert_eq!(step["shell"], "bash");
            let mut variables = BTreeMap::new();
            for (name, value) in step["env"].as_object().unwrap() {
                let input = value.as_str().unwrap();
                let input = input.strip_prefix("${{ inputs.").unwrap().strip_suffix(" }}").unwrap();
                variables.insert(name.clone(), inputs[input].to_owned());
            }
            let script = script.as_str().unwrap();
            // An input inside a script could run commands.
            assert!(!script.contains("${{"), "{script}");
            let output = self.run(script, &variables);
            let failed = !output.status.success();
            last = Some(output);
            if failed {
                break;
            }
        }
        last.unwrap()
    }
}

/// Evaluates a condition of the form that the action uses.
fn holds(condition: &str, inputs: &BTreeMap<&str, &str>) -> bool {
    let (input, text) =
        condition.strip_prefix("always() && inputs.").unwrap().split_once(" == ").unwrap();
    inputs[input] == text.trim_matches('\'')
}

#[test]
fn action_reports_findings_and_fails_from_the_severity_that_was_asked_for() {
    let Some(mut runner) = Runner::new() else { return };
    let wheel = wheel().to_str().unwrap();
    let output = runner.action(&[("package", wheel), ("args", "lint src")]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stdout(&output).contains("::error "), "{}", stdout(&output));
    assert!(!runner.project().join("docward.sarif").exists());

    let asked = [
        ("package", wheel),
        ("fail-on", "never"),
        ("sarif-file", "docward.sarif"),
        ("upload-sarif", "true"),
    ];
    let output = runner.action(&asked);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let report = fs::read_to_string(runner.project().join("docward.sarif")).unwrap();
    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report["runs"][0]["tool"]["driver"]["name"], "docward");
    let output = runner.action(&[("package", wheel), ("sarif-file", "again.sarif")]);
    assert_eq!(output.status.code(), Some(1), "a report does not hide the result");
    assert!(!report["runs"][0]["results"].as_array().unwrap().is_empty());
}

#[test]
fn action_installs_its_own_version_and_says_what_is_wrong() {
    let Some(mut runner) = Runner::new() else { return };
    fs::remove_file(runner.project().join("src/shop.py")).unwrap();
    let output = runner.action(&[]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));

    let output = runner.action(&[("upload-sarif", "true")]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stdout(&output).contains("::error::upload-sarif needs sarif-file"));

    let output = runner.action(&[("version", "99.0.0")]);
    assert_ne!(output.status.code(), Some(0));
    assert!(stderr(&output).contains("docward==99.0.0"), "{}", stderr(&output));

    let output = runner.action(&[("args", "audit missing")]);
    assert_eq!(output.status.code(), Some(2), "{}", stdout(&output));
}

#[test]
fn gitlab_job_writes_its_artefacts_and_fails_from_the_severity_that_was_asked_for() {
    let Some(mut runner) = Runner::new() else { return };
    let job = &yaml("ci/gitlab.yml")["docward"];
    let script = [texts(&job["before_script"]), texts(&job["script"])].concat().join("\n");
    let mut variables: BTreeMap<String, String> = BTreeMap::new();
    for (name, value) in job["variables"].as_object().unwrap() {
        variables.insert(name.clone(), value.as_str().unwrap().to_owned());
    }
    let installed = runner.run(&texts(&job["before_script"]).join("\n"), &variables);
    assert!(installed.status.success(), "{}", stderr(&installed));
    let without_reports = stdout(&runner.run("docward lint . --fail-on never", &variables));
    let output = runner.run(&script, &variables);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(
        stdout(&output).contains(without_reports.trim()),
        "the job must not read its own reports: {}",
        stdout(&output)
    );
    assert!(stdout(&output).contains("S020"), "the log shows what was found: {}", stdout(&output));
    for (kind, file) in job["artifacts"]["reports"].as_object().unwrap() {
        let text = fs::read_to_string(runner.project().join(file.as_str().unwrap())).unwrap();
        assert!(text.contains("S020"), "{kind}: {text}");
    }

    variables.insert("DOCWARD_PACKAGE".to_owned(), wheel().display().to_string());
    variables.insert("DOCWARD_FAIL_ON".to_owned(), "never".to_owned());
    let output = runner.run(&script, &variables);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

#[test]
fn hooks_run_what_pre_commit_would_run() {
    let Some(mut runner) = Runner::new() else { return };
    let hooks = yaml(".pre-commit-hooks.yaml");
    let hook = |id: &str| hooks.as_array().unwrap().iter().find(|hook| hook["id"] == id).unwrap();
    for hook in hooks.as_array().unwrap() {
        assert_eq!(hook["language"], "python");
        assert_eq!(texts(&hook["additional_dependencies"]), [format!("docward=={VERSION}")]);
    }
    let nothing = BTreeMap::new();
    let output = runner.run(&format!("pip install docward=={VERSION}"), &nothing);
    assert!(output.status.success(), "{}", stderr(&output));

    let lint = hook("docward-lint");
    assert_eq!(lint["pass_filenames"], false);
    let lint = lint["entry"].as_str().unwrap();
    let output = runner.run(lint, &nothing);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stdout(&output).contains("S020"), "{}", stdout(&output));
    fs::remove_file(runner.project().join("src/shop.py")).unwrap();
    let output = runner.run(lint, &nothing);
    assert_eq!(output.status.code(), Some(0), "{}{}", stdout(&output), stderr(&output));

    let audit = hook("docward-audit");
    assert_eq!(audit["pass_filenames"], false);
    let data = root().join("examples/shop-clean");
    let output =
        runner.run(&format!("{} {}", audit["entry"].as_str().unwrap(), data.display()), &nothing);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

/// Returns the lines of a file that run docward, in scripts and in `entry`.
fn commands(file: &str) -> Vec<String> {
    let text = fs::read_to_string(root().join(file)).unwrap();
    let text = text.replace(" || code=$?", "");
    let lines = text.lines().map(|line| {
        let line = line.trim().trim_start_matches("- ");
        line.strip_prefix("entry: ").unwrap_or(line)
    });
    lines.filter(|line| line.starts_with("docward ")).map(str::to_owned).collect()
}

#[test]
fn every_option_of_the_files_exists() {
    for file in FILES {
        let commands = commands(file);
        assert!(!commands.is_empty(), "{file}");
        for command in commands {
            let mut words = command.split(' ').skip(1);
            let called = words.next().unwrap();
            // A variable stands for a command; CI runs these two.
            let called = if called.starts_with('$') { vec!["audit", "lint"] } else { vec![called] };
            // `${FILE:+--format …}` is a conditional option.
            let words = words.map(|word| word.split(":+").last().unwrap_or(word));
            for option in words.filter(|word| word.starts_with("--")) {
                for name in &called {
                    let help = stdout(&docward(&[name, "--help"]));
                    assert!(
                        help.contains(&format!("{option} "))
                            || help.contains(&format!("{option}\n")),
                        "{file}: {name} {option}"
                    );
                }
            }
        }
    }
}

#[test]
fn release_workflow_runs_scripts_that_exist() {
    let workflow = yaml(".github/workflows/release.yml");
    let steps = workflow["jobs"]["package"]["steps"].as_array().unwrap();
    let scripts: Vec<&str> = steps.iter().filter_map(|step| step["run"].as_str()).collect();
    let scripts = scripts.join("\n");
    let named: Vec<&str> = scripts.split("python3 ").skip(1).collect();
    assert!(named.len() >= 2, "{scripts}");
    for rest in named {
        let script = rest.split_whitespace().next().unwrap();
        assert!(root().join(script).is_file(), "{script}");
    }
    let check = format!("version = \"{VERSION}\"");
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    assert!(manifest.lines().any(|line| line == check), "the workflow looks for this line");
}

/// Pages and files must contain the version of the workspace, so that a release changes all of
/// them.
#[test]
fn files_and_pages_name_the_version_of_the_workspace() {
    let mut found = 0;
    for file in ["README.md", "docs/install.md", "docs/ci.md"].iter().chain(&FILES) {
        let text = fs::read_to_string(root().join(file)).unwrap();
        for before in ["docward==", "docward@", "docward-linux-x64-", "docward-"] {
            for rest in text.split(before).skip(1) {
                if rest.starts_with(|first: char| first.is_ascii_digit()) {
                    found += 1;
                    assert!(rest.starts_with(VERSION), "{file}: {before}{}", &rest[..8]);
                }
            }
        }
    }
    assert!(found >= 10, "{found}");
    assert_eq!(yaml("action.yml")["inputs"]["version"]["default"], VERSION);
}
