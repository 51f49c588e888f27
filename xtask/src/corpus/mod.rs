//! `cargo xtask corpus` lints pinned programs that use MongoDB. It compares the findings with
//! recorded ones and with labels made by reading. `docs/corpus.md` explains the files.

mod diff;
mod fetch;
mod findings;
mod labels;
mod packages;
mod table;

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};

use crate::root;
use diff::Difference;
use packages::{Half, Package, Registry};

const USAGE: &str = "usage:
  cargo xtask corpus fetch [--half learn|measure]
  cargo xtask corpus run [--half learn|measure] [--bin PATH] [--output FILE] [--record]
  cargo xtask corpus diff OLD NEW
  cargo xtask corpus table [--findings FILE]
  cargo xtask corpus missed [--half learn|measure] [--findings FILE]
  cargo xtask corpus add npm|pypi NAME VERSION";

/// The list of packages, the recorded findings and the labels, below the root of the repository.
const PACKAGES: &str = "corpus/packages.toml";
const FINDINGS: &str = "corpus/findings.jsonl";
const LABELS: &str = "corpus/labels.jsonl";

/// Runs one of the commands of [`USAGE`].
pub(crate) fn run(words: &[String]) -> Result<()> {
    let (command, words) = words.split_first().context(USAGE)?;
    match command.as_str() {
        "fetch" => {
            let [half] = options(words, ["--half"])?;
            fetch::fetch(&selected(half.as_deref())?)
        }
        "run" => {
            let (flags, rest): (Vec<_>, Vec<_>) =
                words.iter().cloned().partition(|word| word == "--record");
            let [half, bin, output] = options(&rest, ["--half", "--bin", "--output"])?;
            let half = half.as_deref().map(Half::parse).transpose()?;
            lint(half, bin.map(PathBuf::from), output.map(PathBuf::from), !flags.is_empty())
        }
        "diff" => match words {
            [old, new] => {
                let (old, new) = (rows(Path::new(old))?, rows(Path::new(new))?);
                print!("{}", Difference::of(&old, &new).text(&known_labels()?, |_| true));
                Ok(())
            }
            _ => bail!(USAGE),
        },
        "table" => {
            let [findings] = options(words, ["--findings"])?;
            let findings = rows(&findings_file(findings))?;
            let packages = listed()?;
            let labels = known_labels()?;
            check_places(&packages, &labels)?;
            print!("{}", table::text(&packages, &findings, &labels));
            Ok(())
        }
        "missed" => {
            let [half, findings] = options(words, ["--half", "--findings"])?;
            let packages = selected(Some(half.as_deref().unwrap_or("learn")))?;
            let findings = rows(&findings_file(findings))?;
            print!("{}", table::missed(&packages, &findings, &known_labels()?));
            Ok(())
        }
        "add" => match words {
            [registry, name, version] => add(registry, name, version),
            _ => bail!(USAGE),
        },
        other => bail!("corpus has no command `{other}`\n{USAGE}"),
    }
}

/// The values of options, each of which may be given once.
fn options<const N: usize>(words: &[String], names: [&str; N]) -> Result<[Option<String>; N]> {
    let mut values = [const { None }; N];
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let Some(at) = names.iter().position(|name| name == word) else {
            bail!("unexpected `{word}`\n{USAGE}");
        };
        let value = words.next().with_context(|| format!("{word} needs a value\n{USAGE}"))?;
        if values[at].replace(value.clone()).is_some() {
            bail!("{word} is given twice");
        }
    }
    Ok(values)
}

fn findings_file(named: Option<String>) -> PathBuf {
    named.map_or_else(|| root().join(FINDINGS), PathBuf::from)
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

fn listed() -> Result<Vec<Package>> {
    packages::parse(&read(&root().join(PACKAGES))?).context(PACKAGES)
}

fn selected(half: Option<&str>) -> Result<Vec<Package>> {
    let half = half.map(Half::parse).transpose()?;
    let mut packages = listed()?;
    packages.retain(|package| half.is_none_or(|half| package.half() == half));
    Ok(packages)
}

fn rows(path: &Path) -> Result<Vec<findings::Row>> {
    findings::parse(&read(path)?).with_context(|| path.display().to_string())
}

fn known_labels() -> Result<Vec<labels::Label>> {
    let names: Vec<String> = listed()?.into_iter().map(|package| package.name).collect();
    labels::parse(&read(&root().join(LABELS))?, &names).context(LABELS)
}

/// Every label of a package in the cache points at a line that exists.
fn check_places(packages: &[Package], labels: &[labels::Label]) -> Result<()> {
    for package in packages {
        let folder = fetch::folder(package)?;
        if !folder.is_dir() {
            continue;
        }
        for label in labels.iter().filter(|label| label.package == package.name) {
            let text = fs::read(folder.join(&label.file)).with_context(|| {
                format!("{LABELS}: {} has no file {}", label.package, label.file)
            })?;
            let lines = text.iter().filter(|&&byte| byte == b'\n').count() + 1;
            if label.last() as usize > lines {
                bail!(
                    "{LABELS}: {} {} has {lines} lines, and a label is at line {}",
                    label.package,
                    label.file,
                    label.last()
                );
            }
        }
    }
    Ok(())
}

fn lint(
    half: Option<Half>,
    bin: Option<PathBuf>,
    output: Option<PathBuf>,
    record: bool,
) -> Result<()> {
    let packages = listed()?;
    let is_chosen = |package: &Package| half.is_none_or(|half| package.half() == half);
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    let bin = bin.unwrap_or_else(|| target.join("debug/docward"));
    let chosen: Vec<&Package> = packages.iter().filter(|package| is_chosen(package)).collect();
    let new = findings::lint(&bin, &chosen)?;
    let output = output.unwrap_or_else(|| target.join("corpus/findings.jsonl"));
    write(&output, &new)?;
    println!("{} findings: {}", new.len(), output.display());

    let recorded = root().join(FINDINGS);
    let old = if recorded.exists() { rows(&recorded)? } else { Vec::new() };
    let is_row_chosen = |row: &findings::Row| chosen.iter().any(|p| p.name == row.package);
    let (old_chosen, mut kept): (Vec<_>, Vec<_>) = old.into_iter().partition(is_row_chosen);
    // Rules are tuned only on `learn`. Changes in `measure` are only counted, unless the user asks
    // for that half.
    let is_shown = |name: &str| {
        half == Some(Half::Measure)
            || packages.iter().any(|p| p.name == name && p.half() == Half::Learn)
    };
    let labels = if root().join(LABELS).exists() { known_labels()? } else { Vec::new() };
    print!("{}", Difference::of(&old_chosen, &new).text(&labels, is_shown));
    if record {
        kept.retain(|row| packages.iter().any(|package| package.name == row.package));
        kept.extend(new);
        kept.sort();
        write(&recorded, &kept)?;
    }
    Ok(())
}

fn write(path: &Path, rows: &[findings::Row]) -> Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    fs::write(path, findings::text(rows)?)
        .with_context(|| format!("cannot write {}", path.display()))
}

/// Downloads a package and appends it to the list with its digest.
fn add(registry: &str, name: &str, version: &str) -> Result<()> {
    let path = root().join(PACKAGES);
    let text = if path.exists() { read(&path)? } else { String::new() };
    let mut package = Package {
        name: name.to_owned(),
        registry: Registry::parse(registry)?,
        version: version.to_owned(),
        sha256: String::new(),
        python: None,
    };
    package.sha256 = fetch::digest(&package)?;
    let text = format!("{text}{}", package.entry());
    packages::parse(&text).context(PACKAGES)?;
    fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    println!("{name} {version} belongs to the half {}", package.half().name());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn options_are_read_in_any_order() {
        let [half, bin] = options(&words("--bin a --half learn"), ["--half", "--bin"]).unwrap();
        assert_eq!((half.as_deref(), bin.as_deref()), (Some("learn"), Some("a")));
        assert_eq!(options(&[], ["--half"]).unwrap(), [None]);
    }

    #[test]
    fn messages_name_the_word_that_is_wrong() {
        let message = |text: &str| format!("{:#}", run(&words(text)).unwrap_err());
        assert_eq!(message(""), USAGE);
        assert!(message("check").starts_with("corpus has no command `check`\nusage:"));
        assert!(message("fetch learn").starts_with("unexpected `learn`\nusage:"));
        assert!(message("fetch --half").starts_with("--half needs a value\nusage:"));
        assert_eq!(message("fetch --half learn --half learn"), "--half is given twice");
        assert_eq!(message("fetch --half other"), "`other` is no half: learn or measure");
        assert_eq!(message("add cpan shop 1.0"), "`cpan` is no registry: npm or pypi");
        assert!(message("diff one.jsonl").starts_with("usage:"));
        assert!(message("diff none.jsonl none.jsonl").starts_with("cannot read none.jsonl: "));
    }

    #[test]
    fn the_committed_files_are_valid() {
        assert!(!listed().unwrap().is_empty());
        assert!(!known_labels().unwrap().is_empty());
        let packages = listed().unwrap();
        for row in rows(&root().join(FINDINGS)).unwrap() {
            assert!(packages.iter().any(|package| package.name == row.package), "{row:?}");
        }
    }
}
