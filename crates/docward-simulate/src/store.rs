//! The documents of one alternative in the scratch database, and the sizes that the server reports.

use docward_design::{Link, Predictor, StorageAlternative, measured::Compared};
use futures_util::TryStreamExt as _;
use mongodb::{
    Collection, Database,
    bson::{Bson, Document, RawDocumentBuf, doc},
    error::Error,
    options::IndexOptions,
};

use crate::{context::RunContext, make::Maker};
use docward_refactor::{Trouble, failed};

/// The maximum size and number of documents in a batch.
const BATCH: (usize, usize) = (8 << 20, 5000);

/// The maximum size of a generated document: the server permits 16 MiB, and later pushes need
/// space.
pub(crate) const LARGEST: u64 = 15 << 20;

/// The parents and children of one alternative.
pub(crate) struct Store<'p> {
    pub(crate) way: &'p Predictor,
    pub(crate) maker: Maker<'p>,
    pub(crate) parents: Collection<RawDocumentBuf>,
    pub(crate) children: Collection<RawDocumentBuf>,
    /// The numbers of the children of each parent: the first, and one after the last.
    pub(crate) held: Vec<(u64, u64)>,
    /// Parents that cannot store more children.
    pub(crate) full: Vec<bool>,
    /// Existing parents.
    pub(crate) alive: Vec<usize>,
    /// The number of parents truncated at the maximum size.
    pub(crate) cut: u64,
}

/// The sizes that the server reports.
pub(crate) struct Sizes {
    pub(crate) parent: Option<[Compared; 3]>,
    pub(crate) data: Compared,
    pub(crate) index: Compared,
    pub(crate) on_disk: u64,
    pub(crate) all_indexes: u64,
    /// The number of documents that it counts.
    pub(crate) documents: u64,
}

pub(crate) const RELATION: &str = "docward_relation";

impl<'p> Store<'p> {
    /// Generates and stores everything.
    pub(crate) async fn build(
        around: &RunContext<'_>,
        database: &Database,
        way: &'p Predictor,
        name: &str,
        counts: &[u64],
    ) -> Result<Self, Trouble> {
        let word = way.way.name();
        let name = name.replace(['.', '$'], "_");
        let mut store = Self {
            way,
            maker: Maker::new(way, around.seed),
            parents: database.collection(&format!("{name}_{word}_parent")),
            children: database.collection(&format!("{name}_{word}_child")),
            held: Vec::with_capacity(counts.len()),
            full: Vec::with_capacity(counts.len()),
            alive: (0..counts.len()).collect(),
            cut: 0,
        };
        let words = "storing documents in the scratch database";
        store.indexes(database).await.map_err(|e| failed("creating scratch collections", &e))?;
        let (mut parents, mut children) = (Batch::default(), Batch::default());
        for (i, wanted) in counts.iter().enumerate() {
            let i = i as u64;
            let (document, held) = store.maker.parent(i, 0, *wanted, LARGEST as usize);
            store.held.push((0, held));
            store.full.push(held < *wanted);
            store.cut += u64::from(held < *wanted);
            if parents.add(document) {
                around.check()?;
                parents.flush(&store.parents, around).await.map_err(|e| failed(words, &e))?;
            }
        }
        // Children are inserted in rotation, as in practice: those of one parent are not adjacent.
        let mut order: Vec<usize> = (0..counts.len()).collect();
        order.sort_by_key(|parent| std::cmp::Reverse(counts[*parent]));
        let most = counts
            .iter()
            .copied()
            .max()
            .filter(|_| way.way != StorageAlternative::Embed)
            .unwrap_or(0);
        for child in 0..most {
            let having = order.partition_point(|parent| counts[*parent] > child);
            for parent in &order[..having] {
                if children.add(store.maker.child(*parent as u64, child)) {
                    around.check()?;
                    children.flush(&store.children, around).await.map_err(|e| failed(words, &e))?;
                }
            }
        }
        parents.flush(&store.parents, around).await.map_err(|e| failed(words, &e))?;
        children.flush(&store.children, around).await.map_err(|e| failed(words, &e))?;
        around.check()?;
        Ok(store)
    }

    async fn indexes(&self, database: &Database) -> Result<(), Error> {
        // Created in advance: a transaction on an old server cannot create a collection.
        database.create_collection(self.parents.name()).await?;
        let options = IndexOptions::builder().name(RELATION.to_owned()).build();
        let index = |keys: Document| {
            mongodb::IndexModel::builder().keys(keys).options(options.clone()).build()
        };
        if self.way.way == StorageAlternative::Embed {
            if self.way.needs_lookup() {
                let keys = doc! { format!("{}._id", self.way.role): 1 };
                self.parents.create_index(index(keys)).await?;
            }
            return Ok(());
        }
        database.create_collection(self.children.name()).await?;
        if self.way.link == Link::ChildIds {
            if self.way.indexes_list() {
                self.parents.create_index(index(doc! { self.maker.listed_path(): 1 })).await?;
            }
            return Ok(());
        }
        let mut keys = doc! { &self.way.parent_id: 1 };
        if let Some(by) = &self.way.newest_by {
            keys.insert(by, -1);
        }
        self.children.create_index(index(keys)).await?;
        Ok(())
    }

    /// The number of children of a parent.
    pub(crate) fn count(&self, parent: usize) -> u64 {
        let (from, to) = self.held[parent];
        to - from
    }

    /// The sizes that the server reports, before any change.
    pub(crate) async fn sizes(&self, database: &Database) -> Result<Sizes, Trouble> {
        let counts: Vec<u64> = (0..self.held.len()).map(|i| self.count(i)).collect();
        let predicted = self.way.storage(&counts, counts.iter().sum());
        let mut names = vec![self.parents.name()];
        if self.way.way != StorageAlternative::Embed {
            names.push(self.children.name());
        }
        sizes(database, self.way, &self.parents, &names, &counts, predicted).await
    }

    /// The number of stored documents.
    pub(crate) fn documents(&self) -> u64 {
        let all: u64 = (0..self.held.len()).map(|i| self.count(i)).sum();
        self.held.len() as u64 + if self.way.way == StorageAlternative::Embed { 0 } else { all }
    }

    /// Frees the space before the next alternative.
    pub(crate) async fn clear(&self) -> Result<(), Trouble> {
        for collection in [&self.parents, &self.children] {
            collection.drop().await.map_err(|e| failed("dropping scratch collections", &e))?;
        }
        Ok(())
    }
}

/// The sizes of parents and of these collections that the server reports, with the predictions:
/// bytes of all documents and of the index.
pub(crate) async fn sizes(
    database: &Database,
    way: &Predictor,
    parents: &Collection<RawDocumentBuf>,
    names: &[&str],
    counts: &[u64],
    (data, index): (u64, u64),
) -> Result<Sizes, Trouble> {
    let words = "reading sizes";
    let sizes = [doc! { "$project": { "_id": 0, "bytes": { "$bsonSize": "$$ROOT" } } }];
    let rows: Vec<Document> = async { parents.aggregate(sizes).await?.try_collect().await }
        .await
        .map_err(|e| failed(words, &e))?;
    let mut measured: Vec<u64> = rows.iter().filter_map(|row| number(row.get("bytes")?)).collect();
    measured.sort_unstable();
    let at = |share: f64| {
        let last = measured.len().saturating_sub(1);
        measured.get(((last as f64) * share).round() as usize).copied().unwrap_or(0) as f64
    };
    let [p50, p99, max] = way.parent_sizes(counts);
    let parent = [(p50, 0.5), (p99, 0.99), (max, 1.0)]
        .map(|(predicted, share)| Compared { predicted, measured: at(share) });
    let mut found = Sizes { parent: Some(parent), ..Sizes::predicted(data, index) };
    for name in names {
        found.add(database, name).await?;
    }
    Ok(found)
}

impl Sizes {
    pub(crate) fn predicted(data: u64, index: u64) -> Self {
        let of = |bytes: u64| Compared { predicted: bytes as f64, measured: 0.0 };
        Self {
            parent: None,
            data: of(data),
            index: of(index),
            on_disk: 0,
            all_indexes: 0,
            documents: 0,
        }
    }

    /// Adds the sizes that the server reports for a collection.
    pub(crate) async fn add(&mut self, database: &Database, name: &str) -> Result<(), Trouble> {
        let stats = statistics(database, name).await.map_err(|e| failed("reading sizes", &e))?;
        let of = |key: &str| stats.get(key).and_then(number).unwrap_or(0);
        self.data.measured += of("size") as f64;
        self.on_disk += of("storageSize");
        self.all_indexes += of("totalIndexSize");
        self.documents += of("count");
        if let Ok(indexes) = stats.get_document("indexSizes") {
            let own = indexes.iter().filter(|(name, _)| name.starts_with(RELATION));
            self.index.measured += own.filter_map(|(_, size)| number(size)).sum::<u64>() as f64;
        }
        Ok(())
    }
}

async fn statistics(database: &Database, name: &str) -> Result<Document, Error> {
    let command = doc! {
        "aggregate": name, "cursor": {}, "pipeline": [{ "$collStats": { "storageStats": {} } }],
    };
    let rows: Vec<Document> = database.run_cursor_command(command).await?.try_collect().await?;
    // Each shard answers separately.
    let mut all = Document::new();
    for row in &rows {
        let Ok(stats) = row.get_document("storageStats") else { continue };
        // A time series reports its number of buckets.
        let buckets = stats.get_document("timeseries").ok().and_then(|t| t.get("bucketCount"));
        let count = buckets.or_else(|| stats.get("count")).and_then(number).unwrap_or(0);
        let before = all.get("count").and_then(number).unwrap_or(0);
        all.insert("count", (before + count) as i64);
        for key in ["size", "storageSize", "totalIndexSize"] {
            let sum = all.get(key).and_then(number).unwrap_or(0)
                + stats.get(key).and_then(number).unwrap_or(0);
            all.insert(key, sum as i64);
        }
        if let Ok(sizes) = stats.get_document("indexSizes") {
            // The size without the reusable free space of the file, which depends on the times of
            // checkpoints.
            let used = sizes.iter().map(|(name, size)| {
                let details = stats.get_document("indexDetails").and_then(|d| d.get_document(name));
                let blocks = details.and_then(|details| details.get_document("block-manager"));
                let free = blocks.ok().and_then(|b| b.get("file bytes available for reuse"));
                let size = number(size).unwrap_or(0);
                let before = own(&all, name);
                let used = size.saturating_sub(free.and_then(number).unwrap_or(0));
                (name.clone(), Bson::Int64((before + used) as i64))
            });
            let used: Document = used.collect();
            all.insert("indexSizes", used);
        }
    }
    Ok(all)
}

/// The bytes of an index found so far.
fn own(all: &Document, name: &str) -> u64 {
    let sizes = all.get_document("indexSizes").ok();
    sizes.and_then(|sizes| sizes.get(name)).and_then(number).unwrap_or(0)
}

/// A count in any numeric type.
pub(crate) fn number(value: &Bson) -> Option<u64> {
    match value {
        Bson::Int32(n) => u64::try_from(*n).ok(),
        Bson::Int64(n) => u64::try_from(*n).ok(),
        Bson::Double(n) => Some(*n as u64),
        _ => None,
    }
}

#[derive(Default)]
pub(crate) struct Batch {
    documents: Vec<RawDocumentBuf>,
    bytes: usize,
}

impl Batch {
    /// Adds a document; returns whether the batch should be sent.
    pub(crate) fn add(&mut self, document: RawDocumentBuf) -> bool {
        self.bytes += document.as_bytes().len();
        self.documents.push(document);
        self.bytes >= BATCH.0 || self.documents.len() >= BATCH.1
    }

    pub(crate) async fn flush(
        &mut self,
        into: &Collection<RawDocumentBuf>,
        around: &RunContext<'_>,
    ) -> Result<(), Error> {
        if self.documents.is_empty() {
            return Ok(());
        }
        into.insert_many(&self.documents).ordered(false).await?;
        (around.progress)(self.bytes as u64, self.documents.len() as u64);
        *self = Self::default();
        Ok(())
    }
}
