//! Source files that no target compiles. A test in such a file never runs.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};

/// Returns the `.rs` files below `src` and `tests` of a package that none of its targets has as a
/// module. `roots` are the files of the targets.
pub(crate) fn orphans(package: &Path, roots: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut compiled = BTreeSet::new();
    for root in roots {
        gather(root, root.parent().unwrap_or(package), &mut compiled)?;
    }
    let mut files = Vec::new();
    for folder in ["src", "tests"] {
        list(&package.join(folder), &mut files)?;
    }
    files.retain(|file| !compiled.contains(file));
    files.sort();
    Ok(files)
}

/// Collects a file and the files of its modules, which are in `folder`.
fn gather(file: &Path, folder: &Path, found: &mut BTreeSet<PathBuf>) -> Result<()> {
    if !found.insert(file.to_owned()) {
        return Ok(());
    }
    let text = fs::read_to_string(file).with_context(|| format!("reading {}", file.display()))?;
    for (name, path) in modules(&text) {
        if let Some(path) = path {
            let file = file.parent().unwrap_or(folder).join(path);
            gather(&file, file.parent().unwrap_or(folder), found)?;
            continue;
        }
        let below = folder.join(&name);
        let flat = folder.join(format!("{name}.rs"));
        let file = if flat.is_file() { flat } else { below.join("mod.rs") };
        gather(&file, &below, found)?;
    }
    Ok(())
}

/// Returns the modules that a file declares and that have their own files: name and `#[path]`.
fn modules(text: &str) -> Vec<(String, Option<String>)> {
    let mut found = Vec::new();
    let mut path = None;
    for line in text.lines().map(str::trim) {
        if let Some(rest) = line.strip_prefix("#[path = \"") {
            path = rest.strip_suffix("\"]").map(str::to_owned);
            continue;
        }
        let words = line.strip_suffix(';').unwrap_or_default();
        let name = match words.split(' ').collect::<Vec<_>>().as_slice() {
            ["mod", name] => Some(*name),
            [visible, "mod", name] if visible.starts_with("pub") => Some(*name),
            _ => None,
        };
        if let Some(name) = name {
            found.push((name.to_owned(), path.take()));
        } else if !line.starts_with("#[") {
            path = None;
        }
    }
    found
}

fn list(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    if !folder.is_dir() {
        return Ok(());
    }
    for entry in fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            list(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_a_declaration_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            path
        };
        let library = write("src/lib.rs", "mod a;\n#[cfg(test)]\nmod tests;\n");
        write("src/a.rs", "pub(crate) mod b;\n");
        write("src/a/b.rs", "");
        write("src/tests.rs", "");
        let tests = write("tests/all.rs", "#[path = \"odd/name.rs\"]\nmod other;\nmod common;\n");
        write("tests/odd/name.rs", "mod inner;\n");
        write("tests/odd/inner.rs", "");
        write("tests/common/mod.rs", "");
        let forgotten = write("tests/forgotten.rs", "// mod forgotten;\n");
        assert_eq!(orphans(folder.path(), &[library, tests]).unwrap(), [forgotten]);
    }
}
