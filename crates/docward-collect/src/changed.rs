//! Lines that differ from a git revision.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::Command,
};

use docward_model::Location;

/// Lines that were added or changed since a revision, by file. Untracked files count as new in all
/// lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangedLines {
    files: BTreeMap<PathBuf, Lines>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Lines {
    All,
    /// First and last line of each range.
    Ranges(Vec<(u32, u32)>),
}

impl ChangedLines {
    /// Asks git about the repositories that contain the paths.
    ///
    /// # Errors
    /// The error says why git does not answer.
    pub fn since(revision: &str, paths: &[PathBuf]) -> Result<Self, String> {
        // A revision that looks like a flag is invalid.
        if revision.starts_with('-') {
            return Err("a revision does not start with `-`".to_owned());
        }
        let mut out = Self::default();
        for path in paths {
            let folder = match path.is_dir() {
                true => path.clone(),
                false => path.parent().map(Path::to_owned).unwrap_or_default(),
            };
            let folder = if folder.as_os_str().is_empty() { PathBuf::from(".") } else { folder };
            let top = git(&folder, &["rev-parse", "--show-toplevel"])?;
            let top = PathBuf::from(top.trim_end_matches(['\n', '\r']));
            // These options give the output one form, regardless of the user's git configuration.
            let diff = git(
                &folder,
                &[
                    "-c",
                    "core.quotepath=false",
                    "diff",
                    "-U0",
                    "-M",
                    "--no-color",
                    "--no-ext-diff",
                    "--no-textconv",
                    "--no-relative",
                    "--submodule=short",
                    "--src-prefix=a/",
                    "--dst-prefix=b/",
                    revision,
                    "--",
                ],
            )?;
            let whole = |name: &str| {
                let path = top.join(name);
                path.canonicalize().unwrap_or(path)
            };
            for (name, ranges) in ranges(&diff) {
                out.files.insert(whole(&name), Lines::Ranges(ranges));
            }
            let new =
                git(&folder, &["ls-files", "--others", "--exclude-standard", "-z", "--full-name"])?;
            for name in new.split('\0').filter(|name| !name.is_empty()) {
                out.files.insert(whole(name), Lines::All);
            }
        }
        Ok(out)
    }

    /// Returns whether the line of a location was added or changed.
    pub fn touches(&self, location: &Location) -> bool {
        let path = Path::new(&location.file);
        let whole = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        match self.files.get(&whole) {
            None => false,
            Some(Lines::All) => true,
            Some(Lines::Ranges(ranges)) => {
                ranges.iter().any(|(first, last)| (*first..=*last).contains(&location.line))
            }
        }
    }
}

fn git(folder: &Path, args: &[&str]) -> Result<String, String> {
    let output = Command::new("git")
        .arg("-C")
        .arg(folder)
        .args(args)
        .output()
        .map_err(|error| format!("git cannot be run: {error}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let said = said.trim().lines().next().unwrap_or("git failed").to_owned();
        let advice = match said.contains("not a git repository") {
            true => "compare with a revision only inside a git repository",
            false => "name a revision that `git log` knows",
        };
        return Err(format!("{said}; {advice}"));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The lines that a diff without context adds, by file. Deleted lines are ignored.
fn ranges(diff: &str) -> BTreeMap<String, Vec<(u32, u32)>> {
    let mut out: BTreeMap<String, Vec<(u32, u32)>> = BTreeMap::new();
    let mut file = None;
    // The number of remaining lines in the hunk, whose content is arbitrary and must not be parsed.
    let mut rest = 0;
    for line in diff.split('\n') {
        if rest > 0 && line.starts_with(['+', '-']) {
            rest -= 1;
        } else if let Some(name) = line.strip_prefix("+++ ") {
            file = unquoted(name).strip_prefix("b/").map(str::to_owned);
        } else if let Some((old, new)) = hunk(line) {
            rest = old.1 + new.1;
            if let Some(file) = file.as_ref().filter(|_| new.1 > 0) {
                out.entry(file.clone()).or_default().push((new.0, new.0 + new.1 - 1));
            }
        }
    }
    out
}

/// First line and number of lines, of the old and the new side: `@@ -3,2 +4 @@`.
fn hunk(line: &str) -> Option<((u32, u32), (u32, u32))> {
    let (old, rest) = line.strip_prefix("@@ -")?.split_once(" +")?;
    let (new, _) = rest.split_once(" @@")?;
    let side = |text: &str| -> Option<(u32, u32)> {
        match text.split_once(',') {
            Some((first, count)) => Some((first.parse().ok()?, count.parse().ok()?)),
            None => Some((text.parse().ok()?, 1)),
        }
    };
    Some((side(old)?, side(new)?))
}

/// Decodes a name as git writes it: followed by a tab if it has spaces, in quotes if it has special
/// characters.
fn unquoted(name: &str) -> String {
    let name = name.strip_suffix('\t').unwrap_or(name);
    let Some(inner) = name.strip_prefix('"').and_then(|name| name.strip_suffix('"')) else {
        return name.to_owned();
    };
    let mut out = Vec::new();
    let mut bytes = inner.bytes().peekable();
    while let Some(byte) = bytes.next() {
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        match bytes.next() {
            Some(b'a') => out.push(7),
            Some(b'b') => out.push(8),
            Some(b't') => out.push(b'\t'),
            Some(b'n') => out.push(b'\n'),
            Some(b'v') => out.push(11),
            Some(b'f') => out.push(12),
            Some(b'r') => out.push(b'\r'),
            Some(digit @ b'0'..=b'7') => {
                let mut value = u32::from(digit - b'0');
                for _ in 0..2 {
                    if let Some(next) = bytes.next_if(|b| (b'0'..=b'7').contains(b)) {
                        value = value * 8 + u32::from(next - b'0');
                    }
                }
                out.push(u8::try_from(value).unwrap_or(b'?'));
            }
            Some(other) => out.push(other),
            None => {}
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn added_lines_are_read_from_diffs() {
        let diff = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,0 +2,3 @@\n++++ b/not-a-file\n+@@ -1 +9 @@\n+c\n@@ -5,2 +7,0 @@ f()\n-a\n-b\n@@ -9 +9 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\ndiff --git a/gone b/gone\n--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n--- a/y z\t\n+++ b/y z\t\n@@ -1 +1 @@\n-a\n+b\n";
        let expected = BTreeMap::from([
            ("x".to_owned(), vec![(2, 4), (9, 9)]),
            ("y z".to_owned(), vec![(1, 1)]),
        ]);
        assert_eq!(ranges(diff), expected);
        assert_eq!(unquoted("\"b/a\\\"b\\tc\\303\\274\""), "b/a\"b\tcü");
    }
}
