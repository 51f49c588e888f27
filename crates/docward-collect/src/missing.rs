//! The error message for a path that does not exist, with the most similar existing path.

use std::path::{Path, PathBuf};

/// Returns the error message for a path that does not exist.
pub fn missing(path: &Path) -> String {
    match nearest(path) {
        Some(near) => {
            format!("no such file or directory; did you mean `{}`?", near.display())
        }
        None => "no such file or directory; check the path".to_owned(),
    }
}

/// Replaces each missing component of the path with the most similar name in its directory.
fn nearest(path: &Path) -> Option<PathBuf> {
    let mut found = PathBuf::new();
    for name in path {
        let whole = found.join(name);
        found = if whole.exists() { whole } else { found.join(like(&found, name.to_str()?)?) };
    }
    (!found.as_os_str().is_empty()).then_some(found)
}

/// Returns the most similar name in a directory, if one is similar enough.
fn like(directory: &Path, name: &str) -> Option<String> {
    let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    let entries = std::fs::read_dir(directory).ok()?.flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let near = names.filter_map(|other| {
        let is_start = name.len() >= 3 && other.starts_with(name)
            || other.len() >= 3 && name.starts_with(other.as_str());
        let distance = strsim::damerau_levenshtein(name, &other);
        let is_near = distance <= (name.chars().count() / 3).max(1);
        (is_near || is_start).then_some((distance, other))
    });
    near.min().map(|(_, other)| other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_path_is_named() {
        let folder = tempfile::tempdir().expect("a directory");
        std::fs::create_dir_all(folder.path().join("dump/shop-clean")).expect("directories");
        std::fs::write(folder.path().join("dump/orders.json"), "{}").expect("a file");
        let said = |path: &str| missing(&folder.path().join(path));
        let ends = |path: &str, near: &str| {
            assert!(said(path).ends_with(&format!("{near}`?")), "{}", said(path));
        };
        ends("dump/order.json", "dump/orders.json");
        ends("dump/shop-claen", "dump/shop-clean");
        ends("dmp/shop", "dump/shop-clean");
        assert!(said("dump/x").ends_with("check the path"), "{}", said("dump/x"));
    }
}
