//! Determines the role of a file from its path and content: an example, a script that runs once, a test, the output
//! of a compiler.

use std::collections::BTreeSet;

use super::{
    FileKind, Language,
    ir::{Call, Expr, Function, Scope, ScopeKind, StatementKind, Unit},
    secrets::{shortened, tail_start},
};

/// Folders of programs that people start by hand.
const SCRIPT_FOLDERS: [&str; 15] = [
    "scripts",
    "mongock",
    "script",
    "tools",
    "migrations",
    "migration",
    "seeds",
    "seeders",
    "seed",
    "bin",
    "benchmarks",
    "benchmark",
    "bench",
    "fixtures",
    "playground",
];

/// Whether a file is a template that users copy and fill in.
pub(super) fn is_sample(file: &str) -> bool {
    let name = file.rsplit('/').next().unwrap_or(file).to_ascii_lowercase();
    ["example", "sample", "template", ".dist", "default.env", ".csv."]
        .iter()
        .any(|word| name.contains(word))
}

/// Whether the folder or name of a file is typical of scripts that people start by hand: migrations, seeds, tools.
/// Other files may still import it.
pub(super) fn is_script(file: &str) -> bool {
    let lower = file.to_ascii_lowercase();
    let mut parts = lower.rsplit('/');
    let name = parts.next().unwrap_or_default();
    ["migrat", "seed"].iter().any(|word| name.starts_with(word))
        || parts.any(|folder| {
            let last = folder.rsplit('-').next().unwrap_or(folder);
            SCRIPT_FOLDERS.contains(&folder) || matches!(last, "migrations" | "scripts")
        })
}

/// Whether a file has classes and methods that a migration tool runs once.
pub(super) fn is_migration(unit: &Unit<'_>) -> bool {
    unit.scopes.iter().any(|scope| match &scope.kind {
        ScopeKind::Class { marks, .. } | ScopeKind::Function(Function { marks, .. }) => marks
            .iter()
            .any(|mark| matches!(mark.path.as_str(), "ChangeUnit" | "ChangeLog" | "ChangeSet")),
        _ => false,
    })
}

/// Calls of programs that do not end on their own.
const STAYS: [&str; 20] = [
    "listen",
    "createServer",
    "setInterval",
    "watch",
    "sleep",
    "run_forever",
    "serve",
    "subscribe",
    "consume",
    "login",
    "schedule",
    "express",
    "Router",
    "Worker",
    "launch",
    "startPolling",
    "add_job",
    "every",
    "Flask",
    "FastAPI",
];

/// Whether a program performs one task and ends: a probe, a check before a start, a script that people run by hand. It
/// exports nothing, and neither serves requests nor waits for events.
pub(super) fn is_one_shot(unit: &Unit<'_>) -> bool {
    let mut called = BTreeSet::new();
    let mut exits_when_done = false;
    unit.each(|scope, expr| {
        let Some(method) = expr.call().and_then(Call::method) else { return };
        called.insert(method);
        // `main().then(() => process.exit(0))`.
        let to = unit.function(scope).and_then(|(_, function)| function.passed_to.as_deref());
        let last = to.and_then(|to| to.rsplit('.').next());
        exits_when_done |= method == "exit" && matches!(last, Some("then" | "finally"));
    });
    let calls = |methods: &[&str]| methods.iter().any(|method| called.contains(method));
    if calls(&STAYS) {
        return exits_when_done && unit.language.is_script();
    }
    match unit.language {
        language if language.is_script() => {
            exits_when_done || calls(&["exit", "close", "disconnect"]) && !exports(unit)
        }
        Language::Python => {
            let is_named = |scope: &Scope<'_>| match &scope.kind {
                ScopeKind::Function(function) => !function.name.is_empty(),
                ScopeKind::Class { .. } => true,
                _ => false,
            };
            let is_main = |scope: &Scope<'_>| {
                matches!(&scope.kind, ScopeKind::Branch(Some(condition))
                    if super::read_modify_write::mentions_path(condition, "__name__"))
            };
            let has = |what: &dyn Fn(&Scope<'_>) -> bool| unit.scopes.iter().any(what);
            let loops = has(&|scope| matches!(scope.kind, ScopeKind::Loop));
            has(&is_main) && calls(&["exit"]) && calls(&["close"])
                || !has(&is_named) && loops && calls(&["print"])
        }
        _ => false,
    }
}

/// Whether a script exports something.
fn exports(unit: &Unit<'_>) -> bool {
    let is_export = |target: &Expr<'_>| {
        target.path().is_some_and(|path| path == "module.exports" || path.starts_with("exports."))
    };
    unit.exports
        || unit.statements.iter().any(|statement| {
            matches!(&statement.kind, StatementKind::Assign { target, .. } if is_export(target))
        })
}

/// Whether a compiler or bundler wrote a file. Findings belong to its source.
pub(super) fn is_generated(text: &str, kind: FileKind) -> bool {
    /// Lines written by people are shorter on average.
    const LONG_LINES: usize = 400;
    /// Shorter files may be one long line that a person wrote.
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

/// Whether a file describes test runs: they start separate servers.
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

/// Whether a file is a copy next to the file in use: `user.1.js`, `user copy.js`, `user.old.js`.
pub(super) fn is_copy(file: &str) -> bool {
    let name = file.rsplit('/').next().unwrap_or(file).to_ascii_lowercase();
    let stem = name.rsplit_once('.').map_or(name.as_str(), |(stem, _)| stem);
    let last = stem.rsplit_once(['.', ' ', '_', '-']).map_or("", |(_, last)| last);
    let is_numbered = stem.rsplit_once('.').is_some_and(|(_, n)| n.len() == 1 && n != "0")
        && stem.ends_with(|c: char| c.is_ascii_digit());
    is_numbered || matches!(last, "copy" | "old" | "bak" | "orig")
}

/// Whether a file is outside of the program, which uses another file with the same content.
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

/// Whether the name of a program marks it as a test: `test.py`, `test-queue.js`. Settings with such a name
/// (`test.json`) may belong to a real database.
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
