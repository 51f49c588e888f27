//! `cargo xtask examples` writes these files. Every run gives the same bytes.
//!
//! - `examples/shop`: a shop that breaks the rule book story by story
//! - `examples/shop-clean`: the same business, modelled well
//! - `expected.toml`: the expected findings
//! - `README.md`: an overview of the stories
//!
//! It also runs the commands on the pages ([`pages`]), and compares docs/json.md with what commands print.
//!
//! Each collection is defined with its problem and its expected finding in one place, under `shop/`.
//!
//! [`dump`] implements the layout, [`schema`] the validators, [`chance`] time and randomness.

mod business;
mod chance;
mod clean;
mod dump;
mod entities;
mod expected;
mod json_fields;
mod pages;
mod schema;
mod shop;
#[cfg(test)]
mod tests;
mod vocabulary;

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use dump::{Dump, File};

/// Writes the examples; with `--check` it lists the outdated files instead.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let check = match arguments {
        [] => false,
        [flag] if flag == "--check" => true,
        other => bail!("examples takes --check or nothing, not {other:?}"),
    };
    json_fields::check()?;
    pages::run(check)?;
    let root = root();
    let files = files(&[shop::dump(), clean::dump()])?;
    let stale = stale(&root, &files)?;
    if check {
        if stale.is_empty() {
            return Ok(());
        }
        bail!("not fresh, run `cargo xtask examples`: {}", stale.join(", "));
    }
    for path in &stale {
        let at = root.join(path);
        match files.get(path) {
            Some(file) => write(&at, &file.packed()?)?,
            None => fs::remove_file(&at).with_context(|| format!("{}", at.display()))?,
        }
    }
    writeln!(std::io::stdout(), "{} files, {} changed", files.len(), stale.len())?;
    Ok(())
}

/// `examples/` of this workspace.
fn root() -> PathBuf {
    crate::root().join("examples")
}

/// Every generated file by its path under `examples/`.
fn files(dumps: &[Dump]) -> Result<BTreeMap<String, File>> {
    let mut files = BTreeMap::new();
    for dump in dumps {
        for (path, file) in dump.files()? {
            files.insert(format!("{}/{path}", dump.name), file);
        }
    }
    let mut put = |path: &str, text: String| {
        files.insert(path.to_owned(), File { content: text.into_bytes(), gzip: false });
    };
    put("expected.toml", expected::toml(dumps));
    put("README.md", expected::readme(dumps));
    Ok(files)
}

/// Files that are missing, differ or do not belong there. Compressed files are compared by content,
/// so that another version of the compressor changes nothing.
fn stale(root: &Path, files: &BTreeMap<String, File>) -> Result<Vec<String>> {
    let mut stale = Vec::new();
    for (path, file) in files {
        let found = fs::read(root.join(path)).ok().and_then(|bytes| {
            if !file.gzip {
                return Some(bytes);
            }
            let mut content = Vec::new();
            flate2::read::GzDecoder::new(bytes.as_slice()).read_to_end(&mut content).ok()?;
            Some(content)
        });
        if found.as_ref() != Some(&file.content) {
            stale.push(path.clone());
        }
    }
    for name in ["shop", "shop-clean"] {
        for path in below(&root.join(name))? {
            let path = path.strip_prefix(root).with_context(|| format!("{}", path.display()))?;
            let path = path.to_string_lossy().replace('\\', "/");
            if !files.contains_key(&path) {
                stale.push(path);
            }
        }
    }
    Ok(stale)
}

/// All files below a directory, which may not exist.
fn below(directory: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    if !directory.is_dir() {
        return Ok(found);
    }
    for entry in fs::read_dir(directory).with_context(|| format!("{}", directory.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(below(&path)?);
        } else {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).with_context(|| format!("{}", parent.display()))?;
    }
    fs::write(path, bytes).with_context(|| format!("{}", path.display()))
}
