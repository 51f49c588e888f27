//! Searches the Rust files of the workspace.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};

use crate::root;

/// Every Rust file of the product and its tools.
pub(crate) fn rust_files() -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for folder in ["crates", "xtask", "fuzz", "bench"] {
        let folder = root().join(folder);
        if folder.is_dir() {
            gather(&folder, &mut files)?;
        }
    }
    files.sort();
    Ok(files)
}

/// Whether a Rust file is code of the product and not of its tests.
pub(crate) fn is_product(file: &Path) -> bool {
    let path = file.strip_prefix(root()).unwrap_or(file);
    path.starts_with("crates")
        && !path.starts_with("crates/docward-testkit")
        && !path.iter().any(|part| part == "tests" || part == "tests.rs")
}

fn gather(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("listing {}", folder.display()))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            if name != "target" && name != "node_modules" && name != "data" {
                gather(&path, files)?;
            }
        } else if name.ends_with(".rs") {
            files.push(path);
        }
    }
    Ok(())
}

/// Names of functions marked as tests, sorted.
pub(crate) fn test_names() -> Result<Vec<String>> {
    let mut names = Vec::new();
    for file in rust_files()? {
        let text =
            fs::read_to_string(&file).with_context(|| format!("reading {}", file.display()))?;
        let mut marked = false;
        for line in text.lines().map(str::trim) {
            if line.starts_with("#[test]") {
                marked = true;
            } else if let Some(rest) = line.strip_prefix("fn ").filter(|_| marked) {
                names.push(rest.split('(').next().unwrap_or_default().to_owned());
                marked = false;
            } else if !line.starts_with("#[") && !line.starts_with("//") {
                marked = false;
            }
        }
    }
    names.sort();
    names.dedup();
    Ok(names)
}
