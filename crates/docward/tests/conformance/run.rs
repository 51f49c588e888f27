//! Runs the cases of `conformance/` through the real binary.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use docward_bson::json;
use serde_json::Value;

use super::{
    page::{self, Case, Clause, File, Kind, Run},
    placeholders::Counter,
};

/// The rules of each clause.
pub(crate) type Rules = BTreeMap<String, BTreeSet<String>>;

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the root").to_owned()
}

/// The clauses of all pages.
pub(crate) fn clauses() -> Vec<Clause> {
    page::read(&root().join("conformance")).unwrap_or_else(|error| panic!("{error}"))
}

/// The clauses of docs/clauses.toml with their rules.
pub(crate) fn rules() -> Rules {
    let text = fs::read_to_string(root().join("docs/clauses.toml")).expect("the table");
    let table: toml_edit::DocumentMut = text.parse().expect("TOML");
    let rows = table["clause"].as_array_of_tables().expect("clauses");
    let is_rule = |name: &str| name.len() == 4 && name[1..].chars().all(|c| c.is_ascii_digit());
    rows.iter()
        .map(|row| {
            let by = row["by"].as_array().into_iter().flatten();
            let codes = by.filter_map(|name| name.as_str()).filter(|name| is_rule(name));
            let id = row["id"].as_str().expect("an id").to_owned();
            (id, codes.map(str::to_owned).collect())
        })
        .collect()
}

/// The cases of the clauses that `CONFORMANCE` names; all of them if it is not set.
pub(crate) fn chosen(clauses: &[Clause], is_live: bool) -> Vec<(&Clause, &Case)> {
    let chosen = std::env::var("CONFORMANCE").unwrap_or_default();
    clauses
        .iter()
        .filter(|clause| chosen.split(',').any(|start| clause.id.starts_with(start)))
        .flat_map(|clause| clause.cases.iter().map(move |case| (clause, case)))
        .filter(|(_, case)| case.is_live() == is_live)
        .collect()
}

/// Runs cases in parallel, and returns the faults of all of them. `start` sets up the server of a
/// case that needs one: a guard that keeps it alive, and its connection string.
pub(crate) fn run<S>(
    cases: &[(&Clause, &Case)],
    rules: &Rules,
    start: impl Fn(&Case) -> Option<(S, String)> + Sync,
) -> Vec<String> {
    let next = AtomicUsize::new(0);
    let faults = Mutex::new(BTreeMap::new());
    let workers = thread::available_parallelism().map_or(2, usize::from) + 1;
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some((clause, case)) = cases.get(at) else { return };
                    let server = start(case);
                    let uri = server.as_ref().map(|(_, uri)| uri.as_str());
                    let own = faults_of(clause, case, rules, uri);
                    if !own.is_empty() {
                        faults.lock().expect("no panic").insert(at, own);
                    }
                }
            });
        }
    });
    faults.into_inner().expect("no panic").into_values().collect()
}

/// The faults of a case, with its place. A case that is marked as failing must have faults.
fn faults_of(clause: &Clause, case: &Case, rules: &Rules, uri: Option<&str>) -> String {
    let folder = tempfile::tempdir().expect("a directory");
    for file in &case.files {
        if let Err(fault) = write(folder.path(), file) {
            return format!("{} {}: {}: {fault}\n", case.place, clause.id, file.name);
        }
    }
    let mut faults = String::new();
    let empty = BTreeSet::new();
    let rules = rules.get(&clause.id).unwrap_or(&empty);
    for run in &case.runs {
        for fault in run_faults(case, run, rules, folder.path(), uri) {
            _ = writeln!(faults, "{} {}: {fault}", run.place, clause.id);
        }
    }
    match case.fails {
        Some(_) if faults.is_empty() => {
            format!("{} {}: the case holds now: remove `Fails:`\n", case.place, clause.id)
        }
        Some(_) => String::new(),
        None => faults,
    }
}

/// Writes an input. `jsonl` is a collection of a dump, `operations` the log of a server.
fn write(folder: &Path, file: &File) -> Result<(), String> {
    match file.language.as_str() {
        "jsonl" => {
            let (database, collection) =
                file.name.split_once('.').expect("jsonl is a database and a collection");
            let directory = folder.join("dump").join(database);
            fs::create_dir_all(&directory).expect("a directory");
            let mut bytes = Vec::new();
            for document in documents(&file.body)? {
                document.to_writer(&mut bytes).expect("a document");
            }
            fs::write(directory.join(format!("{collection}.bson")), bytes).expect("a file");
            let metadata = directory.join(format!("{collection}.metadata.json"));
            if !metadata.exists() {
                let index = r#"{"v": 2, "key": {"_id": 1}, "name": "_id_"}"#;
                let text = format!(r#"{{"options": {{}}, "indexes": [{index}]}}"#);
                fs::write(metadata, text).expect("a file");
            }
        }
        "metadata" => {
            let (database, collection) =
                file.name.split_once('.').expect("metadata is of a database and a collection");
            let directory = folder.join("dump").join(database);
            fs::create_dir_all(&directory).expect("a directory");
            let data = directory.join(format!("{collection}.bson"));
            if !data.exists() {
                fs::write(data, b"").expect("a file");
            }
            let path = directory.join(format!("{collection}.metadata.json"));
            fs::write(path, &file.body).expect("a file");
        }
        "operations" => {
            let lines: Result<Vec<String>, String> =
                lines(&file.body).iter().enumerate().map(|(at, line)| log_line(at, line)).collect();
            fs::write(folder.join(&file.name), lines?.concat()).expect("a file");
        }
        "server" => {}
        _ => {
            let path = folder.join(&file.name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a directory");
            fs::write(path, &file.body).expect("a file");
        }
    }
    Ok(())
}

/// The lines of a fence. `x500 LINE` repeats a line with its placeholders filled, `x500 [A, B]` two of
/// them in turns.
fn lines(body: &str) -> Vec<String> {
    let mut filled = Vec::new();
    for line in body.lines().filter(|line| !line.trim().is_empty()) {
        let repeated = line.strip_prefix('x').and_then(|rest| rest.split_once(' '));
        let (times, line) = repeated
            .and_then(|(times, line)| Some((times.parse::<usize>().ok()?, line)))
            .unwrap_or((1, line));
        let mut counter = Counter::default();
        for at in 0..times {
            let line = counter.fill(&line.replace("$at", &minute(at)));
            match serde_json::from_str(&line) {
                Ok(Value::Array(all)) => filled.extend(all.iter().map(Value::to_string)),
                _ => filled.push(line),
            }
        }
    }
    filled
}

/// A time, as many minutes after the first one.
fn minute(at: usize) -> String {
    let (day, hour, minute) = (15 + at / 1440, at / 60 % 24, at % 60);
    format!("2024-03-{day:02}T{hour:02}:{minute:02}:00Z")
}

/// Parses a document in Extended JSON.
pub(crate) fn document(text: &str) -> Result<bson::Document, String> {
    let bytes = json::parse_one(text).map_err(|error| error.to_string())?;
    bson::Document::from_reader(bytes.as_slice()).map_err(|error| error.to_string())
}

/// The documents of a fence. Those without `_id` get one of their own, a day apart.
fn documents(body: &str) -> Result<Vec<bson::Document>, String> {
    let with_id = |(at, line): (usize, &String)| {
        let document = document(line)?;
        if document.contains_key("_id") {
            return Ok(document);
        }
        let id = format!("{:08x}{:016x}", 1_600_000_000 + at * 86_400, at * 7919 + 1);
        let id = bson::oid::ObjectId::parse_str(id).expect("an id");
        let mut whole = bson::doc! { "_id": id };
        whole.extend(document);
        Ok(whole)
    };
    lines(body).iter().enumerate().map(with_id).collect()
}

/// A line of a server's log, a tenth of a second after the one before. An attribute `ctx` names the
/// connection.
fn log_line(at: usize, attr: &str) -> Result<String, String> {
    let mut attr: Value = serde_json::from_str(attr).map_err(|error| format!("{error}: {attr}"))?;
    if attr.get("t").is_some() {
        return Ok(format!("{attr}\n"));
    }
    let object = attr.as_object_mut().expect("an object");
    let context = object.remove("ctx").unwrap_or_else(|| "conn1".into());
    let millis = at * 100;
    let time = format!(
        "2024-03-15T{:02}:{:02}:{:02}.{:03}+00:00",
        10 + millis / 3_600_000,
        millis / 60_000 % 60,
        millis / 1000 % 60,
        millis % 1000
    );
    for (key, value) in [("type", "command".into()), ("durationMillis", 20.into())] {
        object.entry(key).or_insert(value);
    }
    let line = serde_json::json!({
        "t": {"$date": time}, "s": "I", "c": "COMMAND", "id": 51803, "ctx": context,
        "msg": "Slow query", "attr": attr,
    });
    Ok(format!("{line}\n"))
}

/// Splits a command into its arguments. Quotes hold blanks and each other.
fn arguments(command: &str) -> Vec<String> {
    let mut arguments = Vec::new();
    let mut current: Option<String> = None;
    let mut quote = None;
    for c in command.chars() {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (Some(_), _) => current.get_or_insert_default().push(c),
            (None, '\'' | '"') => {
                quote = Some(c);
                current.get_or_insert_default();
            }
            (None, ' ') => arguments.extend(current.take()),
            (None, _) => current.get_or_insert_default().push(c),
        }
    }
    arguments.extend(current);
    arguments
}

fn run_faults(
    case: &Case,
    run: &Run,
    rules: &BTreeSet<String>,
    folder: &Path,
    uri: Option<&str>,
) -> Vec<String> {
    let is_text = |line: &&String| {
        line.starts_with('"') || line.starts_with("not \"") || line.starts_with("exit ")
    };
    let (texts, lines): (Vec<&String>, Vec<&String>) = run.expected.iter().partition(is_text);
    let (values, lines): (Vec<&String>, Vec<&String>) =
        lines.into_iter().partition(|line| line.contains(" = "));
    let (files, lines): (Vec<&String>, Vec<&String>) =
        lines.into_iter().partition(|line| line.starts_with("file "));
    let command = run.command.replace("$URI", uri.unwrap_or_default());
    let mut words = arguments(&command);
    let is_report = texts.is_empty() && values.is_empty() && files.is_empty();
    if is_report || !values.is_empty() {
        words.extend(["--format".to_owned(), "json".to_owned()]);
    }
    let output = Command::new(assert_cmd::cargo::cargo_bin("docward"))
        .args(&words)
        .current_dir(folder)
        .env_remove("NO_COLOR")
        .env("COLUMNS", "100")
        .output()
        .expect("the binary runs");
    if is_report {
        return report_faults(case, &lines, rules, &output);
    }
    let mut faults: Vec<_> =
        lines.iter().map(|line| format!("no finding beside words and values: {line}")).collect();
    let json = serde_json::from_slice(&output.stdout).unwrap_or_default();
    faults.extend(values.iter().filter_map(|line| value_fault(line, &json)));
    faults.extend(files.iter().filter_map(|line| file_fault(line, folder)));
    faults.extend(texts.iter().filter_map(|text| text_fault(text, &output)));
    faults
}

/// The fault of a line `decisions[order.items].verdict = embed`.
fn value_fault(line: &str, json: &Value) -> Option<String> {
    let (path, expected) = line.split_once(" = ")?;
    let found = at_path(json, path)
        .map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
    (found.as_deref() != Some(expected))
        .then(|| format!("missing: {line}\nfound:   {}", found.as_deref().unwrap_or("nothing")))
}

/// The value at a path. `[x]` is the element with that position, or with that text in a member.
fn at_path<'a>(json: &'a Value, path: &str) -> Option<&'a Value> {
    let (step, rest) = match path.strip_prefix('[') {
        Some(path) => {
            let (key, rest) = path.split_once(']')?;
            let all = json.as_array()?;
            let has = |value: &&Value| {
                value == &key
                    || value.as_object().is_some_and(|members| members.values().any(|v| v == key))
            };
            let step = match key.parse::<usize>() {
                Ok(at) => all.get(at),
                Err(_) => all.iter().find(has),
            };
            (step?, rest)
        }
        None => {
            let end = path.find(['.', '[']).unwrap_or(path.len());
            (json.get(&path[..end])?, &path[end..])
        }
    };
    match rest.strip_prefix('.').unwrap_or(rest) {
        "" => Some(step),
        rest => at_path(step, rest),
    }
}

fn printed(output: &Output) -> String {
    let streams = [&output.stdout, &output.stderr];
    streams.map(|bytes| String::from_utf8_lossy(bytes).into_owned()).concat()
}

/// A text with its words apart by one blank, without the quotes around it.
fn words(text: &str) -> String {
    let inner = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    inner.unwrap_or(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The fault of a line `file out/check.js "words"`.
fn file_fault(line: &str, folder: &Path) -> Option<String> {
    let (name, text) = line.strip_prefix("file ")?.split_once(' ')?;
    let written = fs::read_to_string(folder.join(name)).unwrap_or_default();
    (!words(&written).contains(&words(text))).then(|| format!("missing: {line}"))
}

/// Compares words, not line breaks.
fn text_fault(expected: &str, output: &Output) -> Option<String> {
    let printed = printed(output);
    if let Some(code) = expected.strip_prefix("exit ") {
        let own = output.status.code().map_or_else(String::new, |code| code.to_string());
        return (own != code).then(|| format!("expected exit {code}, got {own}\n{printed}"));
    }
    let (is_wanted, text) = match expected.strip_prefix("not ") {
        Some(text) => (false, text),
        None => (true, expected),
    };
    let has = words(&printed).contains(&words(text));
    (has != is_wanted).then(|| format!("expected {expected}, it prints\n{printed}"))
}

/// Compares the findings of the clause's rules, and of the rules the case names, with the expected
/// lines.
fn report_faults(
    case: &Case,
    lines: &[&String],
    rules: &BTreeSet<String>,
    output: &Output,
) -> Vec<String> {
    let report: Value = match serde_json::from_slice(&output.stdout) {
        Ok(report) => report,
        Err(_) => return vec![format!("no report\n{}", printed(output))],
    };
    let mut faults = Vec::new();
    for problem in report["problems"].as_array().into_iter().flatten() {
        faults.push(format!("problem: {problem}"));
    }
    let (items, expected): (Vec<&&String>, Vec<&&String>) =
        lines.iter().partition(|line| line.split(' ').next().is_some_and(|id| id.contains('-')));
    for item in items {
        faults.extend(item_fault(item, &report));
    }
    let first = |line: &str| line.split(' ').next().unwrap_or_default().to_owned();
    let named: BTreeSet<String> = expected.iter().map(|line| first(line)).collect();
    let all = report["findings"].as_array().into_iter().flatten();
    let mut found: Vec<String> = all
        .filter(|finding| {
            let rule = finding["rule"].as_str().unwrap_or_default();
            rules.contains(rule) || named.contains(rule)
        })
        .map(shown)
        .collect();
    let mut missing = Vec::new();
    for line in &expected {
        match found.iter().position(|own| own == **line) {
            Some(at) => _ = found.remove(at),
            None => missing.push(line.as_str()),
        }
    }
    if case.kind == Kind::Violating && !rules.is_empty() {
        let is_cited = |line: &&&String| rules.contains(&first(line));
        let is_item = lines.len() > expected.len();
        if !is_item && !expected.iter().any(is_cited) {
            faults.push("no expected finding is of a rule of the clause".to_owned());
        }
    }
    faults.extend(missing.iter().map(|line| format!("missing: {line}")));
    faults.extend(found.iter().map(|line| format!("found:   {line}")));
    faults
}

/// The fault of a line `CK-1 fail` or `CK-1 fail: words of its evidence`.
fn item_fault(line: &str, report: &Value) -> Option<String> {
    let (head, words) = line.split_once(": ").unwrap_or((line, ""));
    let (id, verdict) = head.split_once(' ')?;
    let items = report["checklist"].as_array().into_iter().flatten();
    let Some(item) = items.into_iter().find(|item| item["id"] == id) else {
        return Some(format!("missing: {line}"));
    };
    let evidence = item["evidence"].as_str().unwrap_or_default();
    let own = item["verdict"].as_str().unwrap_or_default();
    (own != verdict || !evidence.contains(words))
        .then(|| format!("missing: {line}\nfound:   {id} {own}: {evidence}"))
}

/// A finding as the pages write it: rule, severity, place.
fn shown(finding: &Value) -> String {
    let text = |key: &str| finding[key].as_str().unwrap_or_default();
    let severity = match text("severity") {
        "warn" => "warning",
        "info" => "note",
        other => other,
    };
    let location = &finding["location"];
    let place = match (location["file"].as_str(), location["line"].as_u64()) {
        (Some(file), _) if file.starts_with("argument ") => String::new(),
        (Some(file), Some(line)) => format!("{file}:{line}"),
        (Some(file), None) => file.to_owned(),
        (None, _) => text("namespace").to_owned(),
    };
    let paths: Vec<&str> = match finding["paths"].as_array() {
        Some(paths) => paths.iter().filter_map(Value::as_str).collect(),
        None => vec![text("path")],
    };
    let paths = paths.join(", ");
    let parts = [text("rule"), severity, &place, &paths];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}
