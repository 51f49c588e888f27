//! Runs the commands on the pages, and updates the output shown there.
//!
//! | fence | on the pages of `RUN` and in tutorials |
//! |---|---|
//! | `console` | every line that begins with `$ ` is run; what follows is its output, in which a line `…` stands for any number of lines |
//! | `sh` | every command that begins with `docward` is run; it must not fail. In a tutorial the whole block is run |
//! | `yaml`, `toml`, `python` | when it begins with `# NAME.yaml`, commands find it under that name |
//!
//! Durations in the output may differ. A command may fail with exit code 2 if the page shows its error message.
//!
//! On other pages, for commands about a server, and for commands within a text, only the arguments are checked: the
//! commands are run with `--help` appended, which a wrong argument prevents.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use anyhow::{Context, Result, bail};

use crate::{docs, links, root};

/// Pages whose commands are run, in addition to tutorials.
const RUN: [&str; 9] = [
    "docs/connect.md",
    "docs/connect-check.md",
    "docs/design.md",
    "docs/design-decisions.md",
    "docs/design-gallery.md",
    "docs/design-model.md",
    "docs/design-simulate.md",
    "docs/first-screens.md",
    "examples/README.md",
];
/// Folders of generated pages.
const GENERATED: [&str; 2] = ["docs/commands", "docs/rules"];

/// The treatment of the commands of a page.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// Check their arguments.
    Arguments,
    /// Run those of Docward.
    Commands,
    /// Run them, and every `sh` block as a script.
    Tutorial,
}

impl Mode {
    fn of(page: &Path, text: &str) -> Self {
        if page.starts_with("docs/tutorials") && !text.contains("$MONGODB_URI") {
            Self::Tutorial
        } else if RUN.iter().any(|name| page == Path::new(name)) {
            Self::Commands
        } else {
            Self::Arguments
        }
    }
}

/// The width of the output on a page.
const COLUMNS: &str = "100";

/// Runs the commands of all pages. With `check` it writes nothing; without it, it writes output
/// that has changed.
pub(super) fn run(check: bool) -> Result<()> {
    let mut faults = Vec::new();
    let pages = links::pages()?;
    for page in pages.iter().filter(|page| !GENERATED.iter().any(|folder| page.starts_with(folder)))
    {
        let path = root().join(page);
        let name = page.display().to_string();
        let text = fs::read_to_string(&path).with_context(|| name.clone())?;
        let scratch = Scratch::new()?;
        let mode = Mode::of(page, &text);
        let fresh = refreshed(&text, mode, &|step| scratch.take(step), &mut |line, fault| {
            faults.push(format!("{name}:{line}: {fault}"));
        })?;
        if fresh == text {
            continue;
        }
        if check {
            faults.push(format!(
                "{name} does not show what its commands print: run `cargo xtask examples`"
            ));
        } else {
            fs::write(&path, fresh).with_context(|| name.clone())?;
        }
    }
    if !faults.is_empty() {
        bail!("{}", faults.join("\n"));
    }
    Ok(())
}

/// A command of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    /// Run it.
    Run(String),
    /// Run a block of commands as a script.
    Script(String),
    /// Only check its arguments.
    Arguments(String),
    /// A file for the following commands: its name and its text.
    File(String, String),
}

impl Step {
    fn of(command: &str, mode: Mode) -> Self {
        let command = command.split(" #").next().unwrap_or_default().trim().to_owned();
        let absent = [
            "mongodb://",
            "$MONGODB_URI",
            " simulate ",
            "mongod.log",
            "clients.txt",
            "requirements.txt",
        ];
        // A server or a file that is missing here. Checks of connection strings do not connect.
        let is_impossible = !command.starts_with("docward connect check 'mongodb://")
            && absent.iter().any(|word| command.contains(word));
        if mode == Mode::Arguments || is_impossible {
            Self::Arguments(command)
        } else {
            Self::Run(command)
        }
    }
}

/// The page with the current output of its commands.
fn refreshed(
    text: &str,
    mode: Mode,
    take: &dyn Fn(&Step) -> Result<Option<Output>>,
    fault: &mut dyn FnMut(usize, String),
) -> Result<String> {
    let lines: Vec<&str> = text.lines().collect();
    let mut out: Vec<String> = Vec::new();
    let mut fence: Option<&str> = None;
    let mut at = 0;
    while at < lines.len() {
        let line = lines[at];
        let number = at + 1;
        at += 1;
        out.push(line.to_owned());
        if let Some(language) = line.strip_prefix("```") {
            fence = if fence.is_some() { None } else { Some(language) };
            continue;
        }
        let command = match fence {
            None => {
                for command in inline(line) {
                    if let Some(output) = take(&Step::Arguments(command.clone()))? {
                        ended(number, &command, &output, fault);
                    }
                }
                continue;
            }
            Some("sh") if mode == Mode::Tutorial => {
                if lines[number - 2].starts_with("```") {
                    let block = lines[number - 1..].iter().take_while(|l| !l.starts_with("```"));
                    let block = block.copied().collect::<Vec<_>>().join("\n");
                    if let Some(output) = take(&Step::Script(block.clone()))? {
                        ended(number, &block, &output, fault);
                    }
                }
                continue;
            }
            Some("sh") => line,
            Some(language @ ("yaml" | "toml" | "python"))
                if lines[number - 2].starts_with("```") =>
            {
                let rest = lines[number - 1..].iter().take_while(|l| !l.starts_with("```"));
                let text: String = rest.map(|line| format!("{line}\n")).collect();
                let ending = if language == "python" { ".py" } else { language };
                let name = line.strip_prefix("# ").filter(|name| name.ends_with(ending));
                if let Some(name) = name.filter(|name| !name.contains([' ', '/'])) {
                    take(&Step::File(name.to_owned(), text))?;
                }
                continue;
            }
            Some("console" | "text") => match line.strip_prefix("$ ") {
                Some(command) => command,
                None => continue,
            },
            Some(_) => continue,
        };
        // A backslash at the end of a line continues it on the next one.
        let mut command = command.to_owned();
        while command.ends_with('\\') && at < lines.len() {
            command.pop();
            command += lines[at].trim_start();
            out.push(lines[at].to_owned());
            at += 1;
        }
        if !command.starts_with("docward ") {
            continue;
        }
        let step = Step::of(&command, mode);
        let Some(output) = take(&step)? else { continue };
        let end = at
            + lines[at..]
                .iter()
                .take_while(|l| !l.starts_with("$ ") && !l.starts_with("```"))
                .count();
        let shown = &lines[at..end];
        let shows_error = shown.first().is_some_and(|line| line.starts_with("error: "));
        if !shows_error {
            ended(number, &command, &output, fault);
        }
        if fence != Some("console") || matches!(step, Step::Arguments(_)) {
            continue;
        }
        let printed = if shows_error { &output.stderr } else { &output.stdout };
        let printed = String::from_utf8_lossy(printed).into_owned();
        let printed: Vec<&str> = printed.lines().map(str::trim_end).collect();
        let is_same =
            shown.iter().map(|line| timeless(line)).eq(printed.iter().map(|line| timeless(line)));
        if is_same {
            out.extend(shown.iter().map(|line| (*line).to_owned()));
        } else if shown.iter().any(|line| is_gap(line)) {
            if let Some(missing) = missing(shown, &printed) {
                fault(number, format!("`{command}` does not print: {missing}"));
            }
            out.extend(shown.iter().map(|line| (*line).to_owned()));
        } else {
            out.extend(printed.iter().map(|line| (*line).to_owned()));
        }
        at = end;
    }
    Ok(out.join("\n") + "\n")
}

/// Commands between backticks in a line of text, as the shell would read them.
fn inline(line: &str) -> Vec<String> {
    let spans = line.split('`').skip(1).step_by(2);
    let is_command = |span: &&str| {
        span.strip_prefix("docward ")
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_lowercase()))
    };
    let commands = spans.filter(|span| is_command(span) && !span.contains('…'));
    commands.map(str::to_owned).collect()
}

/// Exit code 1 is a valid result too: an open question, a finding.
fn ended(line: usize, command: &str, output: &Output, fault: &mut dyn FnMut(usize, String)) {
    if !matches!(output.status.code(), Some(0 | 1)) {
        let told = String::from_utf8_lossy(&output.stderr);
        fault(line, format!("`{command}` fails: {}", told.trim()));
    }
}

/// A line without the duration of the run.
fn timeless(line: &str) -> String {
    let is_duration =
        |part: &&str| part.strip_suffix(" s").is_some_and(|n| n.parse::<f64>().is_ok());
    line.split(" · ").filter(|part| !is_duration(part)).collect::<Vec<_>>().join(" · ")
}

fn is_gap(line: &str) -> bool {
    line.trim() == "…"
}

/// The first shown line that is missing in the output at its place; gaps match any lines.
fn missing(shown: &[&str], printed: &[&str]) -> Option<String> {
    let mut from = 0;
    let mut parts = shown.split(|line| is_gap(line)).enumerate().peekable();
    while let Some((i, part)) = parts.next() {
        let is_last = parts.peek().is_none();
        let Some(first) = part.first() else { continue };
        let places = match (i, is_last) {
            (0, _) => 0..1,
            (_, true) => {
                let last = printed.len().saturating_sub(part.len());
                last.max(from)..last.max(from) + 1
            }
            _ => from..printed.len(),
        };
        let found = places
            .into_iter()
            .find(|at| printed.get(*at..at + part.len()).is_some_and(|lines| lines == part));
        match found {
            Some(at) => from = at + part.len(),
            None => return Some((*first).to_owned()),
        }
    }
    None
}

/// The working directory of commands: with a model, data and the examples that the pages use.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Result<Self> {
        let made = std::env::temp_dir().join(format!("docward-pages-{}", std::process::id()));
        let _ = fs::remove_dir_all(&made);
        let examples = root().join("examples");
        copy(&examples, &made.join("examples"))?;
        copy(&examples.join("shop-clean"), &made.join("dump"))?;
        fs::copy(examples.join("models/shop.yaml"), made.join("shop.yaml"))?;
        Ok(Self(made))
    }

    /// Executes a step; a command has an output.
    fn take(&self, step: &Step) -> Result<Option<Output>> {
        let define = match step {
            // A finding is no failure of the script.
            Step::Script(_) => "set -e; docward() { \"$DOCWARD\" \"$@\" || [ $? -eq 1 ]; }",
            _ => "docward() { \"$DOCWARD\" \"$@\"; }",
        };
        let line = match step {
            Step::File(name, text) => {
                fs::write(self.0.join(name), text).with_context(|| name.clone())?;
                return Ok(None);
            }
            Step::Run(command) | Step::Script(command) => command.clone(),
            Step::Arguments(command) => {
                let command = command.split(';').next().unwrap_or_default();
                let before = command.split([' ', '\t']).take_while(|word| {
                    !matches!(*word, ">" | "<" | "|" | "||" | "&&" | "&" | "2>")
                });
                format!("{} --help", before.collect::<Vec<_>>().join(" "))
            }
        };
        Command::new("sh")
            .arg("-c")
            .arg(format!("{define}; {line}"))
            .current_dir(&self.0)
            .env("DOCWARD", docs::binary()?)
            .env("MONGODB_URI", "mongodb://127.0.0.1:27017/")
            .env("COLUMNS", COLUMNS)
            .env("NO_COLOR", "1")
            .stdin(std::process::Stdio::null())
            .output()
            .map(Some)
            .with_context(|| format!("running {line}"))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A directory that cannot be removed is left to the system.
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to).with_context(|| format!("{}", to.display()))?;
    for entry in fs::read_dir(from).with_context(|| format!("{}", from.display()))? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), &target).with_context(|| format!("{}", target.display()))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::{cell::RefCell, os::unix::process::ExitStatusExt, process::ExitStatus};

    use super::*;

    fn answer(code: i32, printed: &str) -> Output {
        Output {
            status: ExitStatus::from_raw(code << 8),
            stdout: printed.as_bytes().to_vec(),
            stderr: b"told\n".to_vec(),
        }
    }

    /// The resulting page, the commands that were run, the faults.
    fn read(text: &str, code: i32, printed: &str) -> (String, Vec<Step>, Vec<String>) {
        let steps = RefCell::new(Vec::new());
        let mut faults = Vec::new();
        let page = refreshed(
            text,
            Mode::Commands,
            &|step| {
                steps.borrow_mut().push(step.clone());
                Ok(Some(answer(code, printed)))
            },
            &mut |line, fault| faults.push(format!("{line}: {fault}")),
        )
        .expect("nothing can fail");
        (page, steps.into_inner(), faults)
    }

    #[test]
    fn output_that_has_changed_is_written_anew() {
        let page =
            "Text.\n\n```console\n$ docward design \\\n    a.yaml\nold\n$ docward rules\n```\n";
        let (fresh, steps, faults) = read(page, 0, "new\nlines\n");
        assert_eq!(
            fresh,
            "Text.\n\n```console\n$ docward design \\\n    a.yaml\nnew\nlines\n$ docward rules\nnew\nlines\n```\n"
        );
        assert_eq!(
            steps,
            [Step::Run("docward design a.yaml".into()), Step::Run("docward rules".into())]
        );
        assert!(faults.is_empty(), "{faults:?}");
        assert_eq!(read(&fresh, 0, "new\nlines\n").0, fresh);
    }

    #[test]
    fn what_is_left_out_may_be_anything_and_what_is_shown_must_be_there() {
        for (shown, printed, expect) in [
            ("a\n…\nd\n", "a\nb\nc\nd\n", true),
            ("a\n…\n", "a\nb\n", true),
            ("…\nd\n", "a\nd\n", true),
            ("…\nb\nc\n…\n", "a\nb\nc\nd\n", true),
            ("…\nb\nd\n…\n", "a\nb\nc\nd\n", false),
            ("b\n…\n", "a\nb\n", false),
            ("a\n…\nc\n", "a\nb\nc\nd\n", false),
            ("a\n…\nb\n", "b\na\n", false),
        ] {
            let page = format!("```console\n$ docward rules\n{shown}```\n");
            let (fresh, _, faults) = read(&page, 0, printed);
            assert_eq!(faults.is_empty(), expect, "{shown:?} {printed:?}: {faults:?}");
            assert_eq!(fresh, page);
        }
    }

    #[test]
    fn commands_about_a_server_are_checked_for_their_arguments() {
        let page = "Run `docward design init > x.yaml`.\n```sh\nmongosh x.js\ndocward design check m.yaml \"$MONGODB_URI\"   # live\n\
                    docward design m.yaml # here\n```\n```text\n$ docward design simulate m.yaml --uri mongodb://h/\nold\n```\n";
        let (fresh, steps, faults) = read(page, 0, "new");
        assert_eq!(fresh, page);
        assert_eq!(
            steps,
            [
                Step::Arguments("docward design init > x.yaml".into()),
                Step::Arguments("docward design check m.yaml \"$MONGODB_URI\"".into()),
                Step::Run("docward design m.yaml".into()),
                Step::Arguments("docward design simulate m.yaml --uri mongodb://h/".into()),
            ]
        );
        assert!(faults.is_empty(), "{faults:?}");
    }

    #[test]
    fn a_file_of_the_page_is_there_for_its_commands() {
        let page =
            "```yaml\n# a.yaml\nentities: {}\n```\n```yaml\n# yaml-language-server: x.json\n```\n";
        let (_, steps, _) = read(page, 0, "");
        assert_eq!(steps, [Step::File("a.yaml".into(), "# a.yaml\nentities: {}\n".into())]);
    }

    #[test]
    fn a_command_that_cannot_run_is_told_with_its_line() {
        let (_, _, faults) = read("a\n```sh\ndocward desing x\n```\n", 2, "");
        assert_eq!(faults, ["3: `docward desing x` fails: told"]);
        assert!(read("```sh\ndocward design x\n```\n", 1, "").2.is_empty());
    }
}
