//! Building dumps and archives, and reading them.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use bson::{Bson, Document, doc};
use docward_bson::archive::{Crc64, MAGIC};
use docward_collect::{Collected, Progress, Request, Silent, collect};
use docward_model::{Collection, Namespace};
use flate2::{Compression, write::GzEncoder};
use tempfile::TempDir;

/// A temporary directory.
pub(crate) struct Place(TempDir);

impl Place {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// Writes a file below the directory.
    pub(crate) fn put(&self, path: &str, bytes: impl AsRef<[u8]>) -> &Self {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
        self
    }

    pub(crate) fn at(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    /// Reads a file or directory below the directory.
    pub(crate) fn read(&self, path: &str) -> Collected {
        read(&[&self.at(path)])
    }

    pub(crate) fn request(&self, path: &str) -> Request {
        request(&[&self.at(path)])
    }
}

pub(crate) fn request(paths: &[&Path]) -> Request {
    let sources = paths.iter().map(|path| path.display().to_string()).collect();
    Request { sources, ..Request::default() }
}

pub(crate) fn read(paths: &[&Path]) -> Collected {
    run(&request(paths))
}

pub(crate) fn run(request: &Request) -> Collected {
    collect(request, &Silent, &AtomicBool::new(false))
}

pub(crate) fn bytes(documents: &[Document]) -> Vec<u8> {
    documents.iter().flat_map(|document| document.to_vec().unwrap()).collect()
}

pub(crate) fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Orders with a few fields, the same in every call.
pub(crate) fn orders(count: i32) -> Vec<Document> {
    let order = |n: i32| {
        doc! { "_id": n, "no": format!("A-{n:06}"), "total": f64::from(n) * 1.25,
        "items": [{ "sku": n % 17, "qty": n % 5 }, { "sku": n % 13, "qty": 1 }] }
    };
    (0..count).map(order).collect()
}

/// One line of Extended JSON per document.
pub(crate) fn as_json(documents: &[Document]) -> String {
    documents.iter().map(|document| object(document) + "\n").collect()
}

fn object(document: &Document) -> String {
    let fields: Vec<_> = document.iter().map(|(key, v)| format!("{key:?}:{}", value(v))).collect();
    format!("{{{}}}", fields.join(","))
}

fn value(value: &Bson) -> String {
    match value {
        Bson::Document(document) => object(document),
        Bson::Array(items) => {
            let items: Vec<_> = items.iter().map(self::value).collect();
            format!("[{}]", items.join(","))
        }
        Bson::String(text) => format!("{text:?}"),
        Bson::Int64(number) => format!("{{\"$numberLong\":\"{number}\"}}"),
        Bson::Double(number) => format!("{{\"$numberDouble\":\"{number:?}\"}}"),
        other => other.to_string(),
    }
}

pub(crate) const ID_INDEX: &str = r#"{"v":2,"key":{"_id":1},"name":"_id_"}"#;

/// Metadata as current versions write it.
pub(crate) fn metadata(collection: &str, options: &str, indexes: &[&str]) -> String {
    let indexes = indexes.join(",");
    format!(
        r#"{{"options":{options},"indexes":[{indexes}],"uuid":"00","collectionName":"{collection}","type":"collection"}}"#
    )
}

pub(crate) fn collection<'c>(collected: &'c Collected, name: &str) -> &'c Collection {
    let namespace = Namespace::parse(name).unwrap();
    collected.evidence.collection(&namespace).unwrap_or_else(|| {
        let all: Vec<_> =
            collected.evidence.collections.iter().map(|c| c.namespace.to_string()).collect();
        panic!("{name} is not among {all:?}")
    })
}

/// Documents read of a collection.
pub(crate) fn documents(collected: &Collected, name: &str) -> u64 {
    collection(collected, name).profile.as_ref().map_or(0, |profile| profile.documents)
}

/// Names of all collections.
pub(crate) fn names(collected: &Collected) -> Vec<String> {
    collected.evidence.collections.iter().map(|c| c.namespace.to_string()).collect()
}

/// Problems as lines, with the directory left out.
pub(crate) fn problems(collected: &Collected) -> Vec<String> {
    let line = |p: &docward_model::Problem| {
        let name = p.source.rsplit('/').next().unwrap_or_default();
        format!("{name}: {}", p.message)
    };
    collected.problems.iter().map(line).collect()
}

/// The evidence for the rules, as text.
pub(crate) fn evidence(collected: &Collected) -> String {
    format!("{:#?}", collected.evidence)
}

/// Writes archives block by block.
pub(crate) struct ArchiveWriter {
    bytes: Vec<u8>,
    crcs: Vec<(String, Crc64)>,
}

const END: [u8; 4] = [0xff; 4];

impl ArchiveWriter {
    /// An archive that announces collections with their metadata and type.
    pub(crate) fn new(announced: &[(&str, &str, &str)]) -> Self {
        let mut archive = Self { bytes: MAGIC.to_vec(), crcs: Vec::new() };
        archive.put(&doc! { "concurrent_collections": 4, "version": "0.1",
        "server_version": "6.0.5", "tool_version": "100.9.4" });
        for (name, metadata, kind) in announced {
            let (database, collection) = name.split_once('.').unwrap();
            archive.put(&doc! { "db": database, "collection": collection, "metadata": *metadata,
            "size": 0, "type": *kind });
        }
        archive.bytes.extend(END);
        archive
    }

    fn put(&mut self, document: &Document) {
        self.bytes.extend(document.to_vec().unwrap());
    }

    fn crc(&mut self, name: &str) -> &mut Crc64 {
        let at = self.crcs.iter().position(|(other, _)| other == name).unwrap_or_else(|| {
            self.crcs.push((name.to_owned(), Crc64::new()));
            self.crcs.len() - 1
        });
        &mut self.crcs[at].1
    }

    /// A block of documents.
    pub(crate) fn block(mut self, name: &str, documents: &[Document]) -> Self {
        let (database, collection) = name.split_once('.').unwrap();
        self.put(&doc! { "db": database, "collection": collection, "EOF": false, "CRC": 0_i64 });
        let bytes = bytes(documents);
        self.crc(name).update(&bytes);
        self.bytes.extend(bytes);
        self.bytes.extend(END);
        self
    }

    /// Ends a collection; `wrong` is added to the correct checksum.
    pub(crate) fn end(mut self, name: &str, wrong: u64) -> Self {
        let (database, collection) = name.split_once('.').unwrap();
        let crc = (self.crc(name).value() ^ wrong) as i64;
        self.put(&doc! { "db": database, "collection": collection, "EOF": true, "CRC": crc });
        self.bytes.extend(END);
        self
    }

    pub(crate) fn done(self) -> Vec<u8> {
        self.bytes
    }
}

/// Records all calls; stops the run after this many documents.
#[derive(Default)]
pub(crate) struct Listener {
    pub(crate) total: AtomicU64,
    pub(crate) bytes: AtomicU64,
    pub(crate) documents: AtomicU64,
    pub(crate) notes: Mutex<Vec<String>>,
    pub(crate) stop_after: Option<u64>,
    pub(crate) stop: AtomicBool,
}

impl Progress for Listener {
    fn total_bytes(&self, n: u64) {
        self.total.store(n, Ordering::Relaxed);
    }

    fn advance(&self, bytes: u64, documents: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        let seen = self.documents.fetch_add(documents, Ordering::Relaxed) + documents;
        if self.stop_after.is_some_and(|limit| seen >= limit) {
            self.stop.store(true, Ordering::Relaxed);
        }
    }

    fn note(&self, text: &str) {
        self.notes.lock().unwrap().push(text.to_owned());
    }
}
