//! Loads a dump into a deployment, as `mongorestore` would.

use std::{
    fs,
    io::Read as _,
    path::{Path, PathBuf},
};

use bson::{Bson, Document, RawDocumentBuf, doc};
use docward_bson::json;

use crate::shared::Servers;

/// The number of documents per insert.
const BATCH: usize = 1000;

/// A collection of a dump that the server refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Its name.
    pub namespace: String,
    /// The server's message.
    pub why: String,
}

impl Servers {
    /// Loads a dump directory: options, indexes and documents, bypassing validators. Returns the
    /// collections that the server refused.
    pub fn load(&self, dump: &Path) -> Vec<Refused> {
        let mut refused = Vec::new();
        for database in sorted(dump).into_iter().filter(|path| path.is_dir()) {
            let name = file_name(&database);
            for collection in collections(&database) {
                if let Err(error) = self.load_collection(&database, &name, &collection) {
                    let namespace = format!("{name}.{collection}");
                    refused.push(Refused { namespace, why: error.to_string() });
                }
            }
        }
        refused
    }

    /// Loads one collection of a dump; the files are in `directory`.
    pub fn load_collection(
        &self,
        directory: &Path,
        database: &str,
        collection: &str,
    ) -> Result<(), mongodb::error::Error> {
        let metadata = read(directory, &format!("{collection}.metadata.json"));
        let metadata = metadata.map(|text| parse(&String::from_utf8(text).expect("it is text")));
        let metadata = metadata.unwrap_or_default();
        // A time series creates its buckets itself.
        if !collection.starts_with("system.buckets.") {
            let mut create = doc! { "create": collection };
            if let Ok(options) = metadata.get_document("options") {
                create.extend(options.clone());
            }
            self.try_command(database, create)?;
        }
        self.load_documents(directory, database, collection)?;
        // Building indexes afterwards is faster; views and buckets have no indexes.
        let indexes: Vec<Bson> = metadata
            .get_array("indexes")
            .into_iter()
            .flatten()
            .filter(|index| {
                index.as_document().is_some_and(|index| index.get_str("name").ok() != Some("_id_"))
            })
            .cloned()
            .collect();
        if !indexes.is_empty() {
            self.try_command(database, doc! { "createIndexes": collection, "indexes": indexes })?;
        }
        Ok(())
    }

    fn load_documents(
        &self,
        directory: &Path,
        database: &str,
        collection: &str,
    ) -> Result<(), mongodb::error::Error> {
        let Some(bytes) = read(directory, &format!("{collection}.bson")) else { return Ok(()) };
        let documents = documents(&bytes).map_err(mongodb::error::Error::custom)?;
        self.insert_raw(database, collection, &documents)
    }

    pub(crate) fn insert_raw(
        &self,
        database: &str,
        collection: &str,
        documents: &[RawDocumentBuf],
    ) -> Result<(), mongodb::error::Error> {
        let target = self.client().database(database).collection::<RawDocumentBuf>(collection);
        for batch in documents.chunks(BATCH) {
            let insert = target.insert_many(batch).bypass_document_validation(true);
            let insert = insert.write_concern(self.everywhere());
            self.wait(insert.into_future())?;
        }
        Ok(())
    }
}

/// The collections of a dumped database; buckets after their time series.
fn collections(directory: &Path) -> Vec<String> {
    let mut names: Vec<_> = sorted(directory)
        .iter()
        .filter_map(|file| {
            let file = file_name(file);
            let end = file.find(".metadata.json").or_else(|| file.find(".bson"))?;
            Some((file.starts_with("system.buckets."), file[..end].to_owned()))
        })
        .collect();
    names.sort();
    names.dedup();
    names.into_iter().map(|(_, name)| name).collect()
}

/// The documents of a `.bson` file.
pub(crate) fn documents(mut bytes: &[u8]) -> Result<Vec<RawDocumentBuf>, String> {
    let mut documents = Vec::new();
    while let Some(length) = bytes.first_chunk::<4>() {
        let length = usize::try_from(i32::from_le_bytes(*length)).unwrap_or(usize::MAX);
        let Some((document, rest)) = bytes.split_at_checked(length) else {
            return Err(format!("the document after {} others is cut off", documents.len()));
        };
        let document = RawDocumentBuf::from_bytes(document.to_vec());
        documents.push(document.map_err(|error| error.to_string())?);
        bytes = rest;
    }
    Ok(documents)
}

/// Parses Extended JSON or mongosh notation. Where the shell would ask for a password, a fixed one
/// is used.
pub(crate) fn parse(text: &str) -> Document {
    let text = &text.replace("passwordPrompt()", "\"asked for by the shell\"");
    let bytes = json::parse_one(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    Document::from_reader(bytes.as_slice()).expect("the parser writes whole documents")
}

/// Reads a file, or its compressed version.
pub(crate) fn read(directory: &Path, name: &str) -> Option<Vec<u8>> {
    if let Ok(bytes) = fs::read(directory.join(name)) {
        return Some(bytes);
    }
    let packed = fs::File::open(directory.join(format!("{name}.gz"))).ok()?;
    let mut bytes = Vec::new();
    flate2::read::MultiGzDecoder::new(packed).read_to_end(&mut bytes).expect("whole gzip");
    Some(bytes)
}

fn sorted(directory: &Path) -> Vec<PathBuf> {
    let entries =
        fs::read_dir(directory).unwrap_or_else(|e| panic!("{}: {e}", directory.display()));
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("readable").path()).collect();
    paths.sort();
    paths
}

fn file_name(path: &Path) -> String {
    path.file_name().expect("it has a name").to_string_lossy().into_owned()
}
