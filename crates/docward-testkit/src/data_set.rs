//! Loads a folder of data files of any kind: dumps, plain or compressed BSON, JSON documents.

use std::{
    fs,
    path::{Path, PathBuf},
};

use bson::RawDocumentBuf;
use docward_bson::json::{Parser, Step};

use crate::{
    load::{Refused, documents, read},
    shared::Servers,
};

impl Servers {
    /// Loads every data file below a folder. The collection is named after the file, its database
    /// after the file's folder. Returns the files and collections that could not be loaded.
    pub fn load_data_set(&self, folder: &Path) -> Vec<Refused> {
        let mut refused = Vec::new();
        for file in files(folder) {
            let Some((name, is_json)) = collection_name(&file) else { continue };
            let directory = file.parent().expect("a file is in a folder");
            let database: String = directory
                .file_name()
                .expect("a folder has a name")
                .to_string_lossy()
                .replace(['.', ' ', '/', '"', '$'], "_");
            let loaded = match is_json {
                true => parse_all(&file)
                    .and_then(|all| self.load_parsed(&database, &name, all, directory)),
                false => self
                    .load_collection(directory, &database, &name)
                    .map_err(|error| error.to_string()),
            };
            if let Err(why) = loaded {
                refused.push(Refused { namespace: format!("{database}.{name}"), why });
            }
        }
        refused
    }

    fn load_parsed(
        &self,
        database: &str,
        collection: &str,
        all: Vec<RawDocumentBuf>,
        directory: &Path,
    ) -> Result<(), String> {
        // The same documents as BSON are the better source.
        if read(directory, &format!("{collection}.bson")).is_some() {
            return Ok(());
        }
        self.insert_raw(database, collection, &all).map_err(|error| error.to_string())
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("readable").path()).collect();
    paths.sort();
    let below = |path: PathBuf| if path.is_dir() { files(&path) } else { vec![path] };
    paths.into_iter().flat_map(below).collect()
}

/// The collection of a data file, and whether the file contains JSON.
fn collection_name(file: &Path) -> Option<(String, bool)> {
    let name = file.file_name()?.to_string_lossy();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    let is_meta = name.ends_with(".metadata.json") || name.starts_with("system.indexes.");
    let json = name.strip_suffix(".json").or_else(|| name.strip_suffix(".jsonl"));
    let found = json.map(|name| (name.to_owned(), true));
    let bson = || Some((name.strip_suffix(".bson")?.to_owned(), false));
    found.or_else(bson).filter(|_| !is_meta)
}

/// The documents of a JSON file: one per line, one after the other, or in an array.
fn parse_all(file: &Path) -> Result<Vec<RawDocumentBuf>, String> {
    let bytes = fs::read(file).map_err(|error| error.to_string())?;
    let (mut parser, mut rest, mut out) = (Parser::new(), bytes.as_slice(), Vec::new());
    loop {
        match parser.step(rest, true, &mut out) {
            Step::Document { consumed } => rest = &rest[consumed..],
            Step::Failed { error, .. } => return Err(error.to_string()),
            Step::NeedMore { .. } | Step::End => break,
        }
    }
    documents(&out)
}

#[cfg(test)]
mod tests {
    use bson::Document;

    use super::*;

    #[test]
    fn collections_are_named_after_files() {
        let of = |name: &str| collection_name(Path::new(name));
        assert_eq!(of("a/b.bson.gz"), Some(("b".to_owned(), false)));
        assert_eq!(of("a/b.c.json"), Some(("b.c".to_owned(), true)));
        assert_eq!(of("a/b.metadata.json.gz"), None);
        assert_eq!(of("a/b.csv"), None);
    }

    #[test]
    fn json_files_hold_documents_in_any_arrangement() {
        let folder = tempfile::tempdir().unwrap();
        for text in ["[{\"a\": 1}, {\"a\": 2}]", "{\"a\": 1}\n{\"a\": 2}\n", "{\"a\":1}{\"a\":2}"] {
            let file = folder.path().join("x.json");
            fs::write(&file, text).unwrap();
            let all = parse_all(&file).unwrap();
            let numbers: Vec<_> = all
                .iter()
                .map(|one| Document::try_from(one.as_ref()).unwrap().get_i32("a").unwrap())
                .collect();
            assert_eq!(numbers, [1, 2], "{text}");
        }
    }
}
