//! The official driver on its own: loading the data to audit, and draining a cursor.

use std::{fs, hint::black_box, time::Instant};

use futures_util::StreamExt as _;
use mongodb::{Client, Collection, bson::{RawDocumentBuf, doc}, options::FindOptions};

/// The number of documents per insert.
const TOGETHER: usize = 5000;

fn with_collection<F: Future>(uri: &str, namespace: &str, work: impl FnOnce(Collection<RawDocumentBuf>) -> F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("threads");
    let (database, collection) = namespace.split_once('.').expect("db.collection");
    runtime.block_on(async {
        let client = Client::with_uri_str(uri).await.expect("a server");
        work(client.database(database).collection(collection)).await
    })
}

/// Loads the first documents of a file.
pub fn load(uri: &str, namespace: &str, file: &str, count: u64) {
    let bytes = fs::read(file).expect("the file was generated");
    with_collection(uri, namespace, async |collection| {
        let mut at = 0;
        let mut left = count;
        while at < bytes.len() && left > 0 {
            let mut some = Vec::with_capacity(TOGETHER);
            while at < bytes.len() && some.len() < TOGETHER && left > 0 {
                let length = i32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes")) as usize;
                some.push(RawDocumentBuf::from_bytes(bytes[at..at + length].to_vec()).expect("BSON"));
                at += length;
                left -= 1;
            }
            collection.insert_many(some).await.expect("inserted");
        }
    });
}

fn options(batch: u64) -> FindOptions {
    let mut options = FindOptions::default();
    options.batch_size = u32::try_from(batch).ok().filter(|&batch| batch > 0);
    options
}

/// A plain cursor, document by document without copying; 0 leaves the batch size to the driver.
pub fn drain(uri: &str, namespace: &str, batch: u64) {
    with_collection(uri, namespace, async |collection| {
        let start = Instant::now();
        let mut cursor = collection.find(doc! {}).with_options(options(batch)).await.expect("a cursor");
        let (mut documents, mut bytes) = (0_u64, 0);
        while cursor.advance().await.expect("a document") {
            documents += 1;
            bytes += black_box(cursor.current()).as_bytes().len();
        }
        println!("drain {:.6} {bytes} {documents}", start.elapsed().as_secs_f64());
    });
}

/// Whole batches, with the next one prefetched while the last one is processed.
pub fn drain_raw(uri: &str, namespace: &str, batch: u64) {
    with_collection(uri, namespace, async |collection| {
        let start = Instant::now();
        let mut cursor = collection.find(doc! {}).with_options(options(batch)).batch().await.expect("a cursor");
        let (sender, mut batches) = tokio::sync::mpsc::channel(2);
        tokio::spawn(async move {
            while let Some(batch) = cursor.next().await {
                if sender.send(batch.expect("a batch")).await.is_err() {
                    return;
                }
            }
        });
        let (mut documents, mut bytes) = (0_u64, 0);
        while let Some(batch) = batches.recv().await {
            for document in batch.doc_slices().expect("documents") {
                let document = document.expect("a document");
                documents += 1;
                bytes += black_box(document.as_document().expect("a document")).as_bytes().len();
            }
        }
        println!("drain-raw {:.6} {bytes} {documents}", start.elapsed().as_secs_f64());
    });
}
