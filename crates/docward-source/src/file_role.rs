//! What a file is for, by where it lies and what it says: an example, a script that runs once, a test, the output of
//! a compiler.

use super::{
    FileKind, Language,
    ir::{Scope, ScopeKind, StatementKind, Unit},
    secrets::{shortened, tail_start},
};

/// A file that is filled in by whoever uses it.
pub(super) fn is_sample(file: &str) -> bool {
    let name = file.rsplit('/').next().unwrap_or(file).to_ascii_lowercase();
    ["example", "sample", "template", ".dist", "default.env", "clusterserviceversion", ".csv."]
        .iter()
        .any(|word| name.contains(word))
}

/// A script that somebody runs by hand: migrations, seeds, tools.
pub(super) fn is_script(file: &str) -> bool {
    let lower = file.to_ascii_lowercase();
    let name = lower.rsplit('/').next().unwrap_or(&lower);
    let in_folder = lower.split('/').rev().skip(1).any(|folder| {
        matches!(
            folder,
            "scripts"
                | "mongock"
                | "script"
                | "tools"
                | "migrations"
                | "migration"
                | "seeds"
                | "seeders"
                | "seed"
                | "bin"
                | "benchmarks"
                | "benchmark"
                | "bench"
                | "fixtures"
                | "playground"
        ) || folder.ends_with("-migrations")
            || folder.ends_with("-scripts")
    });
    // `initv4144.ts`, `upgrade_12.py`.
    let is_step = ["init", "upgrade", "patch"].iter().any(|word| {
        name.strip_prefix(word).is_some_and(|rest| {
            let rest = rest.trim_start_matches(['_', '-', 'v']);
            rest.bytes().take(2).filter(u8::is_ascii_digit).count() == 2
        })
    });
    in_folder || is_step || ["migrat", "seed"].iter().any(|word| name.starts_with(word))
}

/// A program that does something and ends: a probe, a check before a start, a script that somebody runs by hand.
/// Nothing of it is used by others, it ends by itself, and it neither serves nor waits for anything.
pub(super) fn is_one_shot(unit: &Unit<'_>, text: &str) -> bool {
    ends_by_itself(unit.language, text) || runs_straight(unit, text) || exits_when_done(unit, text)
}

/// What a program does that does not end.
const STAYS: [&str; 22] = [
    "listen(",
    "createServer",
    "setInterval",
    "SIGTERM",
    "SIGINT",
    ".watch(",
    "while True",
    "while (true)",
    "run_forever",
    "uvicorn",
    "app.run(",
    ".serve",
    "subscribe(",
    "consume(",
    ".login(",
    "schedule",
    "cron",
    "express()",
    "Router(",
    "new Worker",
    "bot.launch",
    "startPolling",
];

/// Whether the words of a program say that it ends, and that nobody else uses it.
fn ends_by_itself(language: Language, text: &str) -> bool {
    let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
    let ends = match language {
        language if language.is_script() => {
            has(&["process.exit", ".close(", ".disconnect("])
                && !has(&["module.exports", "exports.", "\nexport "])
        }
        Language::Python => has(&["__main__"]) && has(&["sys.exit(", "exit("]) && has(&[".close("]),
        _ => false,
    };
    ends && !has(&STAYS)
}

/// Whether a program of Python is one run from its first line to its last: it has no function or class that others
/// could use, and waits for nothing.
fn runs_straight(unit: &Unit<'_>, text: &str) -> bool {
    let is_named = |scope: &Scope<'_>| match &scope.kind {
        ScopeKind::Function(function) => !function.name.is_empty(),
        ScopeKind::Class { .. } => true,
        _ => false,
    };
    // What other modules import is made there, and nothing is done with it.
    let does_something = text.contains("print")
        && unit.scopes.iter().any(|scope| matches!(scope.kind, ScopeKind::Loop));
    unit.language == Language::Python
        && !unit.scopes.iter().any(is_named)
        && does_something
        && !STAYS.iter().any(|word| text.contains(word))
}

/// Whether the last thing a script does is to run one function and to leave when that is done:
/// `main().then(() => process.exit(0))`.
fn exits_when_done(unit: &Unit<'_>, text: &str) -> bool {
    let last = unit.statements.iter().filter(|statement| statement.scope == 0).filter_map(|s| {
        match &s.kind {
            StatementKind::Eval(expr) => Some((expr.at, expr.end)),
            StatementKind::Assign { target, value, .. } => Some((target.at, value.end)),
            StatementKind::Return(_) => None,
        }
    });
    let Some((from, to)) = last.max() else { return false };
    let then = text.get(from..to).and_then(|last| last.split_once(".then("));
    let done = then.map(|(_, rest)| rest.split(".catch(").next().unwrap_or(rest));
    unit.language.is_script() && done.is_some_and(|done| done.contains("process.exit"))
}

/// Whether a compiler or bundler wrote a file: what it says is said, and mended, where it was made from.
pub(super) fn is_generated(text: &str, kind: FileKind) -> bool {
    /// Lines of people are shorter on average.
    const LONG_LINES: usize = 400;
    /// Shorter files may be one long line that somebody wrote.
    const FEW: usize = 4000;
    let FileKind::Code(language) = kind else { return false };
    let says_so = text.lines().take(12).any(|line| {
        let lower = line.to_ascii_lowercase();
        lower.contains("do not edit") && lower.contains("generated")
    });
    if says_so {
        return true;
    }
    if !language.is_script() {
        return false;
    }
    let head = shortened(text, 4096);
    let tail = &text[tail_start(text, text.len())..];
    let is_compiled = ["Object.defineProperty(exports, \"__esModule\"", "(this && this.__"]
        .iter()
        .any(|mark| head.contains(mark))
        || tail.lines().any(|line| line.starts_with("//# sourceMappingURL="));
    let is_bundle = ["__webpack_require__", "webpackBootstrap", "webpackJsonp", "webpackChunk"]
        .iter()
        .any(|mark| head.contains(mark));
    let is_minified = text.len() > FEW && text.len() / (text.lines().count() + 1) > LONG_LINES;
    is_compiled || is_bundle || is_minified
}

/// Whether a file describes runs of tests on a server for that: they start databases of their own.
pub(super) fn is_ci(file: &str) -> bool {
    let lower = file.to_ascii_lowercase();
    let name = lower.rsplit('/').next().unwrap_or(&lower);
    [".circleci/", ".github/workflows/", ".buildkite/", ".gitlab/ci/"]
        .iter()
        .any(|folder| lower.contains(folder))
        || [".gitlab-ci", ".travis", ".drone", "azure-pipelines", "bitbucket-pipelines", "appveyor"]
            .iter()
            .any(|start| name.starts_with(start))
        || name.starts_with("jenkinsfile")
}

/// Whether a file is a copy that somebody left beside the one in use: `user.1.js`, `user copy.js`, `user.old.js`.
pub(super) fn is_copy(file: &str) -> bool {
    let name = file.rsplit('/').next().unwrap_or(file).to_ascii_lowercase();
    let stem = name.rsplit_once('.').map_or(name.as_str(), |(stem, _)| stem);
    let last = stem.rsplit_once(['.', ' ', '_', '-']).map_or("", |(_, last)| last);
    let is_numbered = stem.rsplit_once('.').is_some_and(|(_, n)| n.len() == 1 && n != "0")
        && stem.ends_with(|c: char| c.is_ascii_digit());
    is_numbered || matches!(last, "copy" | "old" | "bak" | "orig")
}

/// Whether a file stands aside of the program: its equal elsewhere is the one in use.
pub fn stands_aside(file: &str) -> bool {
    const ASIDE: [&str; 9] =
        ["temp", "tmp", "backup", "bak", "old", "copy", "archive", "docs", "documentation"];
    let lower = file.to_ascii_lowercase();
    is_copy(file)
        || is_script(file)
        || is_test(file)
        || lower
            .split('/')
            .any(|folder| folder.split(['_', '-', '.', ' ']).any(|word| ASIDE.contains(&word)))
}

/// Classes that a tool for migrations runs once.
pub(super) fn is_migration(text: &str) -> bool {
    ["\n@ChangeUnit", "\n@ChangeLog", "@ChangeSet("].iter().any(|mark| text.contains(mark))
}

/// Whether a program is called a test: `test.py`, `test-queue.js`. Settings of that name (`test.json`) may lead to a
/// database that somebody has.
fn is_program_of_tests(name: &str) -> bool {
    let Some((stem, ending)) = name.rsplit_once('.') else { return false };
    matches!(ending, "py" | "js" | "ts" | "mjs" | "cjs" | "tsx" | "jsx")
        && (stem == "test" || stem.starts_with("test-"))
}

/// Whether a file is part of tests, by its path.
pub fn is_test(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    let name = lower.rsplit('/').next().unwrap_or(&lower);
    let in_folder = lower.split('/').rev().skip(1).any(|folder| {
        matches!(
            folder,
            "test"
                | "tests"
                | "__tests__"
                | "spec"
                | "specs"
                | "testing"
                | "e2e"
                | "__mocks__"
                | "fixtures"
                | "testdata"
                | "cypress"
                | "integration-tests"
                | "test-utils"
        ) || folder.ends_with("-test")
            || folder.ends_with("-tests")
            || folder.ends_with("_test")
            || folder.ends_with("_tests")
    });
    let of_language = match FileKind::of(path) {
        Some(FileKind::Code(language)) => (language.dialect().is_test)(&lower),
        _ => false,
    };
    in_folder
        || of_language
        || name.starts_with("test_")
        || is_program_of_tests(name)
        || name == "conftest.py"
        || [
            ".test.",
            ".spec.",
            "_test.go",
            "_test.py",
            "tests.py",
            "test.java",
            "tests.java",
            "it.java",
            "test.kt",
            "unittest",
            "testutils",
            "test_utils",
            "testhelper",
            "test_helper",
            "mockdata",
        ]
        .iter()
        .any(|ending| name.contains(ending))
}
