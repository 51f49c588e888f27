//! A dump in the format of current `mongodump`: `database/collection.bson`, with a
//! `collection.metadata.json` next to it, and `prelude.json` at the top; some collections are
//! gzipped.

use std::collections::BTreeMap;
use std::io::Write;

use anyhow::{Context, Result, bail};
use bson::{Bson, Document, doc};
use flate2::{Compression, GzBuilder};
use serde_json::{Value, json};

use super::chance::{Ids, Rng, births};
use super::schema::Node;

/// An expected finding of an audit, at warning or above.
pub(crate) struct Case {
    /// The story or sample it belongs to.
    pub(crate) story: &'static str,
    /// `database.collection`, or a database.
    pub(crate) namespace: String,
    /// A connection string given with `--uri`, for findings that need one.
    pub(crate) uri: Option<&'static str>,
    /// The codes of exactly these rules.
    pub(crate) rules: Vec<&'static str>,
    /// The problem there, or the reason why there is none.
    pub(crate) wrong: &'static str,
}

/// A collection with all its data in a dump.
pub(crate) struct Collection {
    pub(crate) database: &'static str,
    pub(crate) name: String,
    pub(crate) documents: Vec<Document>,
    pub(crate) options: Document,
    indexes: Vec<Document>,
    kind: &'static str,
    /// The name the documents are stored under, if it is not the collection's own.
    stored_as: Option<String>,
    gzip: bool,
    pub(crate) cases: Vec<Case>,
}

impl Collection {
    pub(crate) fn new(database: &'static str, name: impl Into<String>) -> Self {
        Self {
            database,
            name: name.into(),
            documents: Vec::new(),
            options: Document::new(),
            indexes: vec![doc! { "v": 2, "key": { "_id": 1 }, "name": "_id_" }],
            kind: "collection",
            stored_as: None,
            gzip: false,
            cases: Vec::new(),
        }
    }

    pub(crate) fn namespace(&self) -> String {
        format!("{}.{}", self.database, self.name)
    }

    /// A separate random generator.
    pub(crate) fn rng(&self) -> Rng {
        Rng::new(&self.namespace())
    }

    pub(crate) fn documents(mut self, documents: Vec<Document>) -> Self {
        self.documents = documents;
        self
    }

    /// Adds `n` documents, each created at some time since the opening: `document` generates one
    /// from its number and that time. `seed` determines its ids.
    pub(crate) fn born(
        self,
        seed: &str,
        n: usize,
        mut document: impl FnMut(&mut Rng, &mut Ids, usize, i64) -> Document,
    ) -> Self {
        let (mut rng, mut ids) = (self.rng(), Ids::new(seed));
        let births = births(&mut rng, n);
        let documents = births
            .into_iter()
            .enumerate()
            .map(|(at, born)| document(&mut rng, &mut ids, at, born))
            .collect();
        self.documents(documents)
    }

    /// Adds an expected finding for this collection.
    pub(crate) fn case(
        mut self,
        story: &'static str,
        rules: &[&'static str],
        wrong: &'static str,
    ) -> Self {
        let namespace = self.namespace();
        self.cases.push(Case { story, namespace, uri: None, rules: rules.to_vec(), wrong });
        self
    }

    /// Enforces a schema; `_id` is an ObjectId unless the schema says otherwise.
    pub(crate) fn validated(mut self, schema: Node) -> Self {
        let mut schema = schema.0;
        if let Ok(properties) = schema.get_document_mut("properties")
            && !properties.contains_key("_id")
        {
            properties.insert("_id", doc! { "bsonType": "objectId" });
        }
        self.options.insert("validator", doc! { "$jsonSchema": schema });
        self.options.insert("validationLevel", "strict");
        self.options.insert("validationAction", "error");
        self
    }

    /// Adds a schema without enforcing it.
    pub(crate) fn warned(self, schema: Node) -> Self {
        let mut this = self.validated(schema);
        this.options.insert("validationLevel", "moderate");
        this.options.insert("validationAction", "warn");
        this
    }

    pub(crate) fn index(self, key: Document) -> Self {
        self.index_with(key, Document::new())
    }

    pub(crate) fn unique(self, key: Document) -> Self {
        self.index_with(key, doc! { "unique": true })
    }

    pub(crate) fn index_with(mut self, key: Document, options: Document) -> Self {
        let name: Vec<String> =
            key.iter().map(|(path, kind)| format!("{path}_{}", plain(kind))).collect();
        let mut index = doc! { "v": 2, "key": key, "name": name.join("_") };
        index.extend(options);
        self.indexes.push(index);
        self
    }

    /// Stores the documents gzipped, if they are many and similar.
    pub(crate) fn gzipped(mut self) -> Self {
        self.gzip = true;
        self
    }

    /// Makes it a native time series collection: its documents are buckets under an internal name.
    pub(crate) fn time_series(mut self, options: Document) -> Self {
        self.kind = "timeseries";
        self.stored_as = Some(format!("system.buckets.{}", self.name));
        self.options.insert("timeseries", options);
        // Such a collection has no index on `_id`.
        self.indexes.clear();
        self
    }

    fn metadata(&self) -> Result<Value> {
        let mut metadata = serde_json::Map::new();
        if !self.options.is_empty() {
            metadata.insert("options".to_owned(), canonical(&Bson::from(self.options.clone()))?);
        }
        let indexes: Result<Vec<Value>> =
            self.indexes.iter().map(|index| canonical(&Bson::from(index.clone()))).collect();
        metadata.insert("indexes".to_owned(), indexes?.into());
        // Views and time series collections have no index on `_id`.
        if self.kind == "collection" {
            let uuid = Rng::new(&format!("uuid of {}", self.namespace())).uuid().replace('-', "");
            metadata.insert("uuid".to_owned(), uuid.into());
        }
        metadata.insert("collectionName".to_owned(), self.name.clone().into());
        metadata.insert("type".to_owned(), self.kind.into());
        Ok(metadata.into())
    }
}

/// A dump of a whole deployment.
pub(crate) struct Dump {
    /// The directory.
    pub(crate) name: &'static str,
    pub(crate) collections: Vec<Collection>,
    /// Expected findings for databases.
    pub(crate) cases: Vec<Case>,
    /// Files next to the dump that are not a part of it.
    pub(crate) extras: Vec<(&'static str, String)>,
}

/// A file to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct File {
    /// Its content, not compressed.
    pub(crate) content: Vec<u8>,
    /// True if it is compressed on disk.
    pub(crate) gzip: bool,
}

impl Dump {
    /// The files of the dump, by path in its directory.
    pub(crate) fn files(&self) -> Result<BTreeMap<String, File>> {
        let mut files = BTreeMap::new();
        let mut put = |path: String, content: Vec<u8>, gzip: bool| {
            let path = if gzip { format!("{path}.gz") } else { path };
            match files.insert(path.clone(), File { content, gzip }) {
                None => Ok(()),
                Some(_) => bail!("{path} comes twice"),
            }
        };
        let prelude = json!({ "ServerVersion": "6.0.5", "ToolVersion": "100.12.0" });
        put("prelude.json".to_owned(), prelude.to_string().into_bytes(), false)?;
        for (path, content) in &self.extras {
            put((*path).to_owned(), content.clone().into_bytes(), false)?;
        }
        for collection in &self.collections {
            let mut bytes = Vec::new();
            for document in &collection.documents {
                document
                    .to_writer(&mut bytes)
                    .with_context(|| format!("a document of {}", collection.namespace()))?;
            }
            let at = |name: &str| format!("{}/{name}", collection.database);
            let stored = collection.stored_as.as_ref().unwrap_or(&collection.name);
            put(at(&format!("{stored}.bson")), bytes, collection.gzip)?;
            let metadata = collection.metadata()?.to_string().into_bytes();
            put(at(&format!("{}.metadata.json", collection.name)), metadata, collection.gzip)?;
        }
        Ok(files)
    }

    /// The expected findings, collections first.
    pub(crate) fn all_cases(&self) -> impl Iterator<Item = &Case> {
        self.collections.iter().flat_map(|c| &c.cases).chain(&self.cases)
    }
}

impl File {
    /// The content on disk. The gzip header contains no file name and no time, because those would
    /// change.
    pub(crate) fn packed(&self) -> Result<Vec<u8>> {
        if !self.gzip {
            return Ok(self.content.clone());
        }
        let mut writer =
            GzBuilder::new().mtime(0).operating_system(255).write(Vec::new(), Compression::best());
        writer.write_all(&self.content)?;
        Ok(writer.finish()?)
    }
}

/// The direction of an index in its name.
fn plain(kind: &Bson) -> String {
    match kind {
        Bson::String(text) => text.clone(),
        Bson::Int32(n) => n.to_string(),
        other => other.to_string(),
    }
}

/// Canonical Extended JSON for the values in options and indexes.
fn canonical(value: &Bson) -> Result<Value> {
    Ok(match value {
        Bson::String(text) => json!(text),
        Bson::Boolean(b) => json!(b),
        Bson::Int32(n) => json!({ "$numberInt": n.to_string() }),
        Bson::Int64(n) => json!({ "$numberLong": n.to_string() }),
        Bson::Double(n) => json!({ "$numberDouble": format!("{n:?}") }),
        Bson::Array(items) => items.iter().map(canonical).collect::<Result<Vec<_>>>()?.into(),
        Bson::Document(document) => {
            let mut map = serde_json::Map::new();
            for (key, value) in document {
                map.insert(key.clone(), canonical(value)?);
            }
            map.into()
        }
        other => bail!("no use for {:?} in metadata", other.element_type()),
    })
}
