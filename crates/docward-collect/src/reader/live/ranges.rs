//! Reads a large collection in ranges of its `_id`s. Several ranges are read in parallel, and
//! reading can continue after a lost connection or in another run.
//!
//! The ranges are split at `_id`s drawn by a random walk and sorted by the server. They are bounds
//! of the `_id` index, which orders all types. A document whose `_id` has another type than a bound
//! is therefore not left out. Within a range documents are in `_id` order.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

use docward_bson::value::{hex, unhex};
use docward_model::CollectionKind;
use futures_util::StreamExt as _;
use mongodb::{
    bson::{Bson, Document, RawBsonRef, RawDocument, RawDocumentBuf, cstr, doc},
    error::Error,
    raw_batch_cursor::RawBatch,
};
use tokio::sync::mpsc;

use super::{
    super::Reader,
    Deployment,
    catalogue::Listed,
    documents::{AHEAD, ATTEMPTS, End, GLANCE, PAUSE, SILENCE, batch_size},
    driver_error::can_be_continued,
    pace::{Patience, wait_for_rate},
    session::{Bounds, Read},
};
use crate::{engine::FileId, resume::IdRange};

/// Smaller collections are not split.
const LEAST_DOCUMENTS: u64 = 20_000;
const LEAST_BYTES: u64 = 32 * 1024 * 1024;

/// The maximum number of ranges read in parallel: each takes a connection.
const READERS: usize = 4;

/// The number of ranges per reader, so that all stay busy to the end.
const RANGES_EACH: usize = 4;

/// The number of `_id`s drawn per range, so that ranges have about equal sizes.
const DRAWN_EACH: usize = 16;

/// The artificial distance between the positions of two ranges: more than any collection has.
const APART: u64 = 1 << 48;

/// A message of a range reader. Ranges are identified by number.
enum News {
    Batch(usize, RawBatch),
    Done(usize),
    Failed(usize, Box<Error>),
}

/// A range that is to be read, by its number.
struct Part {
    at: usize,
    range: IdRange,
    batch_size: u32,
}

/// The ranges that no reader has begun.
type Queue = Arc<Mutex<VecDeque<Part>>>;

impl Reader<'_, '_, '_> {
    /// Returns whether a collection is read in ranges: if that is faster, or lets a later run
    /// continue.
    pub(super) fn is_read_in_ranges(&mut self, listed: &Listed) -> bool {
        let asked = self.request.full && (self.request.threads > 2 || self.request.resumable);
        let is_large = listed.stats.is_some_and(|stats| {
            stats.documents >= LEAST_DOCUMENTS && stats.data_bytes >= LEAST_BYTES
        });
        asked && is_large && self.has_ranges(listed)
    }

    /// Returns whether a collection can be read in ranges.
    pub(super) fn has_ranges(&mut self, listed: &Listed) -> bool {
        let entry = self.table.entry(listed.slot);
        let has_index = entry.indexes.iter().flatten().any(docward_model::Index::is_id);
        has_index && entry.kind == CollectionKind::Plain && entry.taken == 0
    }

    /// Splits a collection into ranges; `None` if the server cannot draw a sample.
    pub(super) fn split(
        &self,
        deployment: &Deployment<'_>,
        listed: &Listed,
    ) -> Option<Vec<IdRange>> {
        let ranges = self.readers() * RANGES_EACH;
        let drawn = (ranges * DRAWN_EACH) as i64;
        let pipeline = vec![
            doc! { "$sample": { "size": drawn } },
            doc! { "$project": { "_id": 1 } },
            doc! { "$sort": { "_id": 1 } },
        ];
        let rest = doc! {
            "aggregate": &listed.namespace.collection,
            "pipeline": pipeline,
            // One more than there are: the reply then has no cursor to ask for the end.
            "cursor": { "batchSize": drawn as i32 + 1 },
        };
        let ids =
            deployment.session.list(&listed.namespace.database, Read::Aggregate, rest).ok()?;
        let bounds: Vec<String> =
            ids.iter().skip(DRAWN_EACH).step_by(DRAWN_EACH).filter_map(digits_of).collect();
        Some(between(bounds))
    }

    fn readers(&self) -> usize {
        self.request.threads.clamp(1, READERS)
    }

    /// Reads the remaining ranges, and updates them to what then remains.
    pub(super) fn read_ranges(
        &mut self,
        deployment: &Deployment<'_>,
        listed: &Listed,
        ranges: &mut Vec<IdRange>,
        file: FileId,
    ) -> End {
        let readers = self.readers().min(ranges.len());
        let batch_size = batch_size(listed, self.request.max_rate, readers as u64);
        let part = |(at, range): (usize, &IdRange)| Part { at, range: range.clone(), batch_size };
        let queue: Queue = Arc::new(Mutex::new(ranges.iter().enumerate().map(part).collect()));
        let (sender, mut news) = mpsc::channel(AHEAD.max(readers));
        for _ in 0..readers {
            read_queue(deployment, listed, Arc::clone(&queue), sender.clone());
        }
        let mut done = vec![false; ranges.len()];
        let mut failures = vec![0; ranges.len()];
        let began = Instant::now();
        let before = self.table.entry(listed.slot).taken;
        let mut last = began;
        let end = loop {
            if done.iter().all(|done| *done) {
                break End::Done;
            }
            let heard =
                deployment.session.wait(async { tokio::time::timeout(GLANCE, news.recv()).await });
            if self.is_stopped() {
                break End::Stopped;
            }
            match heard {
                Err(_) if last.elapsed() > SILENCE => break End::Silent,
                Err(_) => continue,
                Ok(None) => break End::Done,
                Ok(Some(News::Done(at))) => done[at] = true,
                Ok(Some(News::Batch(at, batch))) => {
                    failures[at] = 0;
                    if let Err(error) = self.take_part(batch, listed, &mut ranges[at], file) {
                        break End::Failed(Box::new(error));
                    }
                    if let Some(rate) = self.request.max_rate {
                        let taken = self.table.entry(listed.slot).taken - before;
                        self.rest(wait_for_rate(rate, taken, began.elapsed()));
                    }
                }
                Ok(Some(News::Failed(at, error))) => {
                    failures[at] += 1;
                    if !can_be_continued(&error) || failures[at] >= ATTEMPTS {
                        break End::Failed(error);
                    }
                    // Meanwhile the other batches wait in the channel.
                    self.rest(PAUSE * (failures[at] - 1));
                    // The reader that failed has ended. Its successor also reads the ranges that
                    // are still in the queue. A smaller batch takes less time.
                    let batch_size = (batch_size >> failures[at]).max(1);
                    let part = Part { at, range: ranges[at].clone(), batch_size };
                    queue.lock().unwrap_or_else(PoisonError::into_inner).push_front(part);
                    read_queue(deployment, listed, Arc::clone(&queue), sender.clone());
                }
            }
            last = Instant::now();
        };
        let mut at = 0;
        ranges.retain(|_| {
            at += 1;
            !done[at - 1]
        });
        end
    }

    /// Passes the documents of a batch to the profilers, and records the progress of its range.
    fn take_part(
        &mut self,
        batch: RawBatch,
        listed: &Listed,
        range: &mut IdRange,
        file: FileId,
    ) -> Result<(), Error> {
        self.engine.turn_to(listed.slot, range.position);
        let documents = || batch.doc_slices().into_iter().flatten().filter_map(Result::ok);
        let id_of_document = |found: RawBsonRef<'_>| found.as_document().and_then(id_digits);
        // The lower bound of a continued range is the document that was read last.
        let first = range.after.as_ref().and_then(|_| documents().next()).and_then(id_of_document);
        let skip = usize::from(first.is_some() && first == range.after);
        let last = documents().last().and_then(id_of_document);
        self.take_batch(batch, listed.slot, file, skip)?;
        range.position = self.engine.position(listed.slot);
        range.after = last.or(range.after.take());
        Ok(())
    }
}

/// The ranges between these bounds, which cover the whole collection.
pub(super) fn between(mut bounds: Vec<String>) -> Vec<IdRange> {
    // Index bounds exclude the upper end, and an `_id` can be MaxKey.
    bounds.extend(digits_of(&doc! { "_id": Bson::MaxKey }));
    bounds.dedup();
    let from = std::iter::once(None).chain(bounds.iter().cloned().map(Some));
    let to = bounds.iter().cloned().map(Some).chain([None]);
    let range = |(at, (from, to))| IdRange { from, to, after: None, position: at as u64 * APART };
    from.zip(to).enumerate().map(range).collect()
}

/// Lets the driver read ranges from a queue, one after the other. Ends after a failure, and when
/// the receiver is gone.
fn read_queue(
    deployment: &Deployment<'_>,
    listed: &Listed,
    queue: Queue,
    sender: mpsc::Sender<News>,
) {
    let session = deployment.session.reading(&listed.namespace);
    deployment.session.spawn(async move {
        loop {
            let next = queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
            let Some(Part { at, range, batch_size }) = next else { return };
            let bound = |digits: &Option<String>| digits.as_deref().and_then(id_of);
            let from = bound(&range.after).or_else(|| bound(&range.from));
            let bounds = Bounds { from, to: bound(&range.to) };
            let mut cursor = match session.range_cursor(bounds, batch_size).await {
                Ok(cursor) => cursor,
                Err(error) => {
                    let _ = sender.send(News::Failed(at, Box::new(error))).await;
                    return;
                }
            };
            let mut patience = Patience::default();
            loop {
                let asked = Instant::now();
                let (news, is_last) = match cursor.next().await {
                    Some(Ok(batch)) => (News::Batch(at, batch), false),
                    Some(Err(error)) => (News::Failed(at, Box::new(error)), true),
                    None => (News::Done(at), true),
                };
                let failed = matches!(news, News::Failed(..));
                let pause = patience.pause(asked.elapsed());
                if sender.send(news).await.is_err() || failed {
                    return;
                }
                if is_last {
                    break;
                }
                tokio::time::sleep(pause).await;
            }
        }
    });
}

/// The `_id` of a document as the hexadecimal digits of its type and value.
fn id_digits(document: &RawDocument) -> Option<String> {
    let mut wrapped = RawDocumentBuf::new();
    wrapped.append(cstr!(""), document.get("_id").ok()??);
    // Skips its length, the type and the empty name; the value and the end follow.
    let bytes = wrapped.as_bytes();
    let value = bytes.get(6..bytes.len().checked_sub(1)?)?;
    Some(hex(&[&bytes[4..5], value].concat()))
}

fn digits_of(document: &Document) -> Option<String> {
    id_digits(&RawDocumentBuf::try_from(document).ok()?)
}

/// Decodes an `_id` from the hexadecimal digits of its type and value.
pub(super) fn id_of(digits: &str) -> Option<Bson> {
    let bytes = unhex(digits)?;
    let (tag, value) = bytes.split_first()?;
    let length = i32::try_from(value.len() + 7).ok()?.to_le_bytes();
    let document = [&length[..], &[*tag, 0], value, &[0]].concat();
    let mut document = Document::from_reader(&document[..]).ok()?;
    document.remove("")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_come_back_from_their_digits() {
        assert_eq!(id_of("1007000000"), Some(Bson::Int32(7)));
        assert_eq!(id_of("0203000000616200"), Some("ab".into()));
        for broken in ["", "10", "1007", "zz07000000", "100", "5507000000"] {
            assert_eq!(id_of(broken), None, "{broken}");
        }
        for id in [
            Bson::Int32(7),
            "x".repeat(500).into(),
            doc! { "day": 3, "shop": "a" }.into(),
            Bson::Null,
            Bson::Boolean(true),
            bson::oid::ObjectId::new().into(),
            Bson::MaxKey,
        ] {
            let digits = digits_of(&doc! { "a": 1, "_id": id.clone() });
            assert_eq!(digits.as_deref().and_then(id_of), Some(id));
        }
    }
}
