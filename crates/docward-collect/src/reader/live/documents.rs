//! Reads the documents of a live collection: all of them, or a sample that costs the server little.
//!
//! `$sample` is used only if the server implements it as a random walk (first stage, fewer than 5 %
//! of more than 100 documents); above that it would sort the whole collection. A larger share is
//! drawn at random while the server scans the collection in natural order, without a sort.
//!
//! A network failure or a change of the primary loses the cursor. A collection that is read in
//! ranges continues where it was; any other is discarded and read again from the start, so no
//! document counts twice.

use std::time::{Duration, Instant};

use docward_model::Namespace;
use docward_profile::{Profiled, Profiler};
use futures_util::StreamExt as _;
use mongodb::{
    bson::{Bson, Document, Uuid, doc},
    error::Error,
    raw_batch_cursor::{RawBatch, RawBatchCursor},
};
use tokio::sync::mpsc;

use super::{
    super::Reader,
    Deployment,
    catalogue::Listed,
    driver_error::{
        can_be_continued, code, is_forbidden, is_gone, is_overtaken, is_unreachable, words,
    },
    pace::{Patience, wait_for_rate},
    privileges::Resource,
    ranges::{between, id_of},
    session::{Read, ReadMethod, number},
};
use crate::{
    engine::{FileId, Sent, Slot},
    resume::{IdRange, Resumed},
    trouble::{LiveTrouble, Trouble},
};

/// The default number of documents to read per collection.
const SAMPLE: u64 = 10_000;

/// The maximum relative difference between the mean document size of a sample and that of the
/// collection.
const SAME_MEAN: f64 = 0.1;

/// Scanning this many bytes to draw documents with equal probability is acceptable: it takes the
/// server some seconds.
const PASSED: u64 = 8 << 30;

/// The target size of a batch in bytes, based on the mean document size.
const BATCH_BYTES: u64 = 4 * 1024 * 1024;

/// The number of batches to prefetch.
pub(super) const AHEAD: usize = 2;

/// The number of attempts to read a collection from the start.
pub(super) const ATTEMPTS: u32 = 4;

/// The pause before the next attempt: electing a new primary takes some seconds.
pub(super) const PAUSE: Duration = Duration::from_secs(1);

/// A server that does not respond for this long is given up.
pub(super) const SILENCE: Duration = Duration::from_secs(30);

/// The time limit for counting the documents that fail the validator.
const COUNTING: Duration = Duration::from_secs(5);

/// The number of tracked documents requested at a time: each can have 16 MB.
const FOLLOWED_AT_ONCE: usize = 32;

/// The interval for checking whether the run was stopped.
pub(super) const GLANCE: Duration = Duration::from_millis(100);

/// The method to get `wanted` of `documents` documents.
fn way(wanted: Option<u64>, documents: Option<u64>, version: Option<(u32, u32)>) -> ReadMethod {
    let Some(wanted) = wanted else { return ReadMethod::Everything };
    match documents {
        None => ReadMethod::First(wanted),
        Some(documents) if wanted >= documents => ReadMethod::Everything,
        Some(documents) if documents > 100 && wanted.saturating_mul(20) < documents => {
            ReadMethod::Random(wanted)
        }
        // `$sampleRate` exists since 4.4.2.
        Some(documents) if version >= Some((4, 4)) => {
            ReadMethod::Share(wanted as f64 / documents as f64)
        }
        Some(_) => ReadMethod::First(wanted),
    }
}

/// Returns whether a random walk preferred large or small documents. The server chooses pages, not
/// documents, so documents that share their page with few others are drawn too often. The mean size
/// shows it, unless it differs by chance.
fn is_biased(taken: u64, bytes: u64, average: u64) -> bool {
    if taken == 0 || average == 0 {
        return false;
    }
    let mean = bytes as f64 / taken as f64;
    let by_chance = SAME_MEAN.max(4.0 / (taken as f64).sqrt());
    (mean / average as f64 - 1.0).abs() > by_chance
}

/// Returns whether more documents arrived than the requested share, so the server's count must be
/// wrong.
fn is_beyond(way: ReadMethod, documents: Option<u64>, taken: u64) -> bool {
    let (ReadMethod::Share(share), Some(documents)) = (way, documents) else { return false };
    let expected = share * documents as f64;
    taken as f64 > (1.1 * expected + 5.0 * expected.sqrt() + 10.0).min(documents as f64)
}

/// The reason why reading a collection ended.
pub(super) enum End {
    Done,
    Stopped,
    Silent,
    Failed(Box<Error>),
}

impl Reader<'_, '_, '_> {
    /// The number of documents of each collection to read; `None` for all.
    fn wanted(&self) -> Option<u64> {
        match self.request.sample {
            Some(sample) => Some(sample),
            None if self.request.full => None,
            None => Some(SAMPLE),
        }
    }

    /// The approximate number of bytes of a collection that will be read.
    pub(super) fn expected_bytes(&self, listed: &Listed) -> u64 {
        match listed.stats {
            Some(stats) if listed.has_documents && !self.request.metadata_only => {
                match self.wanted() {
                    Some(wanted) => wanted.min(stats.documents) * stats.average_bytes,
                    None => stats.data_bytes,
                }
            }
            _ => 0,
        }
    }

    /// Reads the documents of a collection.
    pub(super) fn read_live_collection(
        &mut self,
        deployment: &mut Deployment<'_>,
        listed: &Listed,
    ) {
        if self.request.check.is_some() {
            self.check_live_collection(deployment, listed);
            return;
        }
        self.push_down(deployment, listed);
        if self.request.metadata_only || !listed.has_documents {
            return;
        }
        if !self.is_known(deployment, listed) {
            self.read_documents_of(deployment, listed);
        }
        self.count_invalid(deployment, listed);
        self.follow(deployment, listed);
        // Keep it open if another source may have more of it.
        if self.open_ended == 0 && !self.remaining.contains_key(&listed.namespace) {
            self.engine.close(listed.slot);
            self.table.entry(listed.slot).closed = true;
        }
    }

    /// Adds a collection that an earlier run read completely.
    fn is_known(&mut self, deployment: &Deployment<'_>, listed: &Listed) -> bool {
        let Listed { namespace, uuid, .. } = listed;
        if self.request.resume.is_another(namespace, uuid.as_deref()) {
            self.progress.note(&format!(
                "{namespace}: dropped and recreated since it was read; it is read from the start"
            ));
        }
        let Some(Resumed::Whole(known)) = self.request.resume.of(namespace, uuid.as_deref()) else {
            return false;
        };
        let (profile, links) = (**known).clone();
        let file = self.live_file(deployment, &listed.namespace);
        let entry = self.table.entry(listed.slot);
        (entry.taken, entry.shuffled, entry.whole) = (profile.documents, profile.shuffled, true);
        self.engine.adopt(listed.slot, file, Profiled { profile, links });
        true
    }

    /// The ranges of `_id`s to read: those that an earlier run left, or those of a large
    /// collection.
    fn ranges(
        &mut self,
        deployment: &Deployment<'_>,
        listed: &Listed,
        file: FileId,
    ) -> Option<Vec<IdRange>> {
        let known = self.request.resume.of(&listed.namespace, listed.uuid.as_deref());
        if let Some(Resumed::Part(profiler, left)) = known {
            self.table.entry(listed.slot).taken += profiler.documents();
            self.engine.resume(listed.slot, file, (**profiler).clone());
            return Some(left.clone());
        }
        if self.is_read_in_ranges(listed) { self.split(deployment, listed) } else { None }
    }

    fn read_documents_of(&mut self, deployment: &mut Deployment<'_>, listed: &Listed) {
        let Listed { namespace, slot, stats, .. } = listed;
        let slot = *slot;
        let wanted = self.wanted();
        let mut documents = stats.map(|stats| stats.documents);
        let mut way = way(wanted, documents, self.table.server_version);
        let before = self.table.entry(slot).taken;
        let mut file = self.live_file(deployment, namespace);
        let mut ranges = self.ranges(deployment, listed, file);
        let mut biased = false;
        let (mut from_primary, mut has_primary) = (false, true);
        for attempt in 1.. {
            from_primary = has_primary && self.asks_primary(deployment, way, ranges.is_some());
            // The server's count can be wrong, for instance after a power failure. A sample
            // therefore ends after the requested number, regardless of the count.
            let most = wanted.filter(|_| way == ReadMethod::Everything && ranges.is_none());
            let most = most.map(|wanted| wanted.saturating_add(1));
            let end = match &mut ranges {
                Some(ranges) => self.read_ranges(deployment, listed, ranges, file),
                None => {
                    let way = most.map_or(way, ReadMethod::First);
                    self.read_once(deployment, listed, way, None, from_primary, file)
                }
            };
            let taken = self.table.entry(slot).taken - before;
            if let (ReadMethod::Random(wanted), End::Done) = (way, &end)
                && let Some(stats) = stats
                && before == 0
                && is_biased(taken, self.table.entry(slot).bytes, stats.average_bytes)
            {
                let share = wanted as f64 / documents.unwrap_or(stats.documents).max(1) as f64;
                let has_share = self.table.server_version >= Some((4, 4));
                if has_share && stats.data_bytes <= PASSED {
                    way = ReadMethod::Share(share.min(1.0));
                    self.forget(file, slot);
                    file = self.live_file(deployment, namespace);
                    continue;
                }
                biased = true;
            }
            // Reading to the end gives a more reliable number than the server's count.
            let is_short = most.is_none_or(|most| taken < most);
            let is_all = match way {
                ReadMethod::Everything => is_short,
                ReadMethod::First(limit) => taken < limit,
                // A random share may contain all documents.
                ReadMethod::Share(_) => documents == Some(taken),
                ReadMethod::Random(_) => false,
            };
            let mut is_whole = is_all && matches!(end, End::Done);
            // A random walk is random wherever it ends; a random share in natural order must reach
            // the end.
            let by_chance = match way {
                ReadMethod::Random(_) => !biased,
                ReadMethod::Share(_) => matches!(end, End::Done),
                ReadMethod::Everything | ReadMethod::First(_) => false,
            };
            match end {
                End::Done if !is_short => {
                    documents = self.count_anew(deployment, listed);
                    if before == 0 {
                        let known = documents.filter(|documents| *documents > taken);
                        way = self::way(wanted, known, self.table.server_version);
                        self.forget(file, slot);
                        file = self.live_file(deployment, namespace);
                        continue;
                    }
                }
                End::Done
                    if before == 0 && attempt <= ATTEMPTS && is_beyond(way, documents, taken) =>
                {
                    documents = self.count_anew(deployment, listed);
                    way = self::way(wanted, documents, self.table.server_version);
                    self.forget(file, slot);
                    file = self.live_file(deployment, namespace);
                    continue;
                }
                // A collection that no longer exists looks like an empty one, and so do its
                // ranges that were not read yet.
                End::Done if (taken == 0 || ranges.is_some()) && is_moved(deployment, listed) => {
                    is_whole = false;
                    self.tell_moved(deployment, listed, file, taken);
                }
                End::Done => deployment.lost = 0,
                End::Stopped => {
                    self.sources[deployment.source].sampled = true;
                    if documents.is_none_or(|documents| documents <= taken) {
                        documents = self.count_anew(deployment, listed);
                    }
                }
                End::Silent => {
                    deployment.lost += 1;
                    let trouble =
                        LiveTrouble::Silent { documents: taken, seconds: SILENCE.as_secs() };
                    self.troubles.add(file, &Trouble::Live(trouble));
                }
                // If the set has no primary, another member is read from.
                End::Failed(error) if from_primary && taken == 0 && is_unreachable(&error) => {
                    has_primary = false;
                    self.forget(file, slot);
                    file = self.live_file(deployment, namespace);
                    continue;
                }
                End::Failed(error) => {
                    // The random walk returned the same documents repeatedly.
                    let other_way = matches!(way, ReadMethod::Random(_))
                        && matches!(code(&error), Some(28_799));
                    let in_ranges = ranges.is_some();
                    let passes = can_be_continued(&error);
                    // Not every kind of collection can be split into ranges.
                    if in_ranges && !passes && taken == 0 && !is_forbidden(&error) {
                        ranges = None;
                        continue;
                    }
                    // If the server was already unreachable before, do not wait for it again for
                    // every collection.
                    let is_lost = is_unreachable(&error) && deployment.lost > 0;
                    let again =
                        passes && attempt < ATTEMPTS && before == 0 && !in_ranges && !is_lost;
                    if other_way || again {
                        if other_way {
                            way = ReadMethod::First(wanted.unwrap_or(SAMPLE));
                        }
                        self.forget(file, slot);
                        file = self.live_file(deployment, namespace);
                        // A server that loses cursors again and again never reaches the end in
                        // natural order. A range is continued.
                        if attempt > 1 && way == ReadMethod::Everything && self.has_ranges(listed) {
                            ranges = Some(between(Vec::new()));
                        }
                        std::thread::sleep(PAUSE * (attempt - 1));
                        continue;
                    }
                    deployment.lost += usize::from(is_unreachable(&error));
                    self.gave_up(deployment, listed, file, taken, &error);
                }
            }
            if !is_whole {
                // A part is never complete: at least one document is left even if the number is
                // unknown.
                let left = documents.unwrap_or_default().saturating_sub(taken).max(1);
                if by_chance && ranges.is_none() {
                    self.leave_out(deployment.source, slot, left);
                } else {
                    self.leave_unread(deployment.source, slot, left);
                }
            }
            self.left_open |= !is_whole;
            self.table.entry(slot).whole = is_whole;
            break;
        }
        // A router returns documents in the order in which shards respond.
        let is_shuffled =
            matches!(way, ReadMethod::Random(_)) || ranges.is_some() || deployment.is_routed;
        let entry = self.table.entry(slot);
        entry.shuffled |= is_shuffled;
        entry.copied |= !from_primary && deployment.may_be_copied();
        entry.left = ranges.unwrap_or_default();
        if self.request.resumable && !entry.left.is_empty() {
            self.engine.keep_state(slot);
        }
    }

    /// Lets the server count the documents one by one, if that is fast: its stored count turned out
    /// to be wrong.
    fn count_anew(&mut self, deployment: &Deployment<'_>, listed: &Listed) -> Option<u64> {
        let documents = counted(deployment, listed, None).ok()?;
        if let Some(stats) = &mut self.table.entry(listed.slot).stats {
            stats.documents = documents;
        }
        Some(documents)
    }

    /// Lets the server count the documents that fail the validator (DM-11.3), if that is fast.
    fn count_invalid(&mut self, deployment: &mut Deployment<'_>, listed: &Listed) {
        let Some(validator) = &listed.validator else { return };
        if self.is_stopped() {
            return;
        }
        // A failed count is reported; the documents that were read still show most failures.
        let invalid = counted(deployment, listed, Some(doc! { "$nor": [validator] }));
        if invalid.as_ref().is_err_and(|error| code(error) == Some(OUT_OF_TIME)) {
            // Only the server can evaluate query expressions.
            let else_where = match validator.keys().all(|key| key == "$jsonSchema") {
                true => {
                    "the documents that were read were checked; `docward schema check` counts \
                 all"
                }
                false => "count them with countDocuments({$nor: [VALIDATOR]}) when the load is low",
            };
            self.progress.note(&format!(
                "{}: the server did not count the documents that break the validator within {} s; \
                 {else_where}",
                listed.namespace,
                COUNTING.as_secs()
            ));
        }
        if let Err(error) = &invalid
            && code(error).is_some_and(|code| code != OUT_OF_TIME)
            && !(is_forbidden(error) || is_unreachable(error) || is_gone(error))
        {
            self.progress.note(&format!(
                "{}: the server could not count the documents that break the validator: {}; a \
                 document that causes this error cannot be written either",
                listed.namespace,
                words(error)
            ));
        }
        if let (Ok(invalid), Some(stats)) = (invalid, &mut self.table.entry(listed.slot).stats) {
            stats.invalid = Some(invalid);
        }
    }

    /// Reads the documents that an earlier run tracked: two samples of a large collection have
    /// hardly any documents in common.
    fn follow(&mut self, deployment: &mut Deployment<'_>, listed: &Listed) {
        let Some(ids) = self.request.follow.get(&listed.namespace) else { return };
        let ids: Vec<Bson> = ids.iter().filter_map(|digits| id_of(digits)).collect();
        let mut profiler = Profiler::new();
        for some in ids.chunks(FOLLOWED_AT_ONCE) {
            if self.is_stopped() {
                return;
            }
            let found = deployment.session.by_ids(&listed.namespace, some.to_vec(), false);
            match deployment.session.wait(found) {
                Ok(documents) => {
                    documents.iter().for_each(|found| profiler.add_block(found.as_bytes(), 0));
                }
                Err(error) => {
                    let file = self.live_file(deployment, &listed.namespace);
                    self.gave_up(deployment, listed, file, 0, &error);
                    return;
                }
            }
        }
        self.table.entry(listed.slot).followed = profiler.finish().profile.tracked;
    }

    /// Discards the documents of a failed attempt to read a collection.
    fn forget(&mut self, file: FileId, slot: Slot) {
        self.engine.discard(slot);
        self.kept.forget(slot);
        self.source_of.remove(&file);
        let entry = self.table.entry(slot);
        (entry.taken, entry.bytes) = (0, 0);
    }

    pub(super) fn gave_up(
        &mut self,
        deployment: &mut Deployment<'_>,
        listed: &Listed,
        file: FileId,
        documents: u64,
        error: &Error,
    ) {
        if is_forbidden(error) {
            let resource = Resource::Collection(listed.namespace.clone());
            deployment.missing.add(resource, "find");
        } else if is_gone(error) {
            self.tell_moved(deployment, listed, file, documents);
        } else if is_overtaken(error) {
            self.troubles.add(file, &Trouble::Live(LiveTrouble::Overtaken { documents }));
        } else {
            let trouble = LiveTrouble::Cut { documents, why: words(error) };
            self.troubles.add(file, &Trouble::Live(trouble));
        }
    }

    /// Reports that a collection was dropped or renamed.
    fn tell_moved(
        &mut self,
        deployment: &Deployment<'_>,
        listed: &Listed,
        file: FileId,
        documents: u64,
    ) {
        let trouble = match current_name(deployment, listed).flatten() {
            Some(name) if name != listed.namespace.collection => {
                LiveTrouble::Renamed { documents, name }
            }
            _ => LiveTrouble::Dropped { documents },
        };
        self.troubles.add(file, &Trouble::Live(trouble));
    }

    pub(super) fn read_once(
        &mut self,
        deployment: &Deployment<'_>,
        listed: &Listed,
        way: ReadMethod,
        filter: Option<Document>,
        from_primary: bool,
        file: FileId,
    ) -> End {
        let (sender, mut batches) = mpsc::channel(AHEAD);
        let began = Instant::now();
        let batch_size = batch_size(listed, self.request.max_rate, 1);
        let cursor =
            deployment.session.cursor(&listed.namespace, way, filter, batch_size, from_primary);
        fetch(deployment, cursor, sender);
        let mut last = began;
        let before = self.table.entry(listed.slot).taken;
        loop {
            let batch = deployment
                .session
                .wait(async { tokio::time::timeout(GLANCE, batches.recv()).await });
            if self.is_stopped() {
                return End::Stopped;
            }
            match batch {
                Err(_) if last.elapsed() > SILENCE => return End::Silent,
                Err(_) => continue,
                Ok(None) => return End::Done,
                Ok(Some(Err(error))) => return End::Failed(error),
                Ok(Some(Ok(batch))) => {
                    if let Err(error) = self.take_batch(batch, listed.slot, file, 0) {
                        return End::Failed(Box::new(error));
                    }
                    if let Some(rate) = self.request.max_rate {
                        let taken = self.table.entry(listed.slot).taken - before;
                        self.rest(wait_for_rate(rate, taken, began.elapsed()));
                    }
                }
            }
            last = Instant::now();
        }
    }

    /// Waits, unless the run is stopped in the meantime.
    pub(super) fn rest(&mut self, mut time: Duration) {
        while !time.is_zero() && !self.is_stopped() {
            let some = time.min(GLANCE);
            std::thread::sleep(some);
            time -= some;
        }
    }

    /// Passes the documents of a batch to the profilers, except for the first one if it was read
    /// before.
    pub(super) fn take_batch(
        &mut self,
        batch: RawBatch,
        slot: Slot,
        file: FileId,
        skip: usize,
    ) -> Result<(), Error> {
        // An array that cannot be parsed fails here, before any document is passed on.
        let documents = batch.doc_slices()?;
        if self.looks_up() {
            for document in documents.into_iter().skip(skip).flatten() {
                if let Some(document) = document.as_document() {
                    self.kept.offer(slot, document.as_bytes());
                }
            }
        }
        let sent = Box::new(Batch(batch));
        let (documents, bytes) = self.engine.take_answer(slot, file, sent, skip);
        let entry = self.table.entry(slot);
        entry.taken += documents;
        entry.bytes += bytes;
        self.progress.advance(bytes, documents);
        Ok(())
    }
}

/// A batch from the driver.
struct Batch(RawBatch);

impl Sent for Batch {
    fn array(&self) -> &[u8] {
        self.0.doc_slices().map_or(&[], |array| array.as_bytes())
    }
}

/// The batch size, for this number of concurrent readers.
pub(super) fn batch_size(listed: &Listed, max_rate: Option<u64>, readers: u64) -> u32 {
    let average = listed.stats.map_or(0, |stats| stats.average_bytes).max(64);
    // With a rate limit batches are small, so that documents arrive evenly.
    let most = max_rate.map_or(50_000, |rate| rate.clamp(1, 50_000));
    (BATCH_BYTES / readers / average).max(16).min(most) as u32
}

/// Lets the driver fetch documents slightly ahead of the receiver. Ends when the receiver is gone.
fn fetch(
    deployment: &Deployment<'_>,
    cursor: impl Future<Output = Result<RawBatchCursor, Error>> + Send + 'static,
    sender: mpsc::Sender<Result<RawBatch, Box<Error>>>,
) {
    let load = deployment.session.load();
    deployment.session.spawn(async move {
        let opened = Instant::now();
        let mut cursor = match cursor.await {
            Ok(cursor) => cursor,
            Err(error) => {
                let _ = sender.send(Err(Box::new(error))).await;
                return;
            }
        };
        // The first batch arrives with the cursor.
        tokio::time::sleep(load.pause(opened.elapsed())).await;
        let mut patience = Patience::default();
        loop {
            let asked = Instant::now();
            let Some(batch) = cursor.next().await else { return };
            let pause = patience.pause(asked.elapsed()).max(load.pause(asked.elapsed()));
            if sender.send(batch.map_err(Box::new)).await.is_err() {
                return;
            }
            tokio::time::sleep(pause).await;
        }
    });
}

/// The server's error code for an exceeded time limit.
const OUT_OF_TIME: i32 = 50;

/// Returns whether a collection was dropped or renamed, as far as the server reports it.
fn is_moved(deployment: &Deployment<'_>, listed: &Listed) -> bool {
    let Namespace { database, collection } = &listed.namespace;
    if let Some(name) = current_name(deployment, listed) {
        return name.as_ref() != Some(collection);
    }
    let rest = doc! {
        "filter": { "name": collection },
        "nameOnly": true,
        "authorizedCollections": true,
    };
    let named = deployment.session.list(database, Read::ListCollections, rest);
    named.is_ok_and(|named| named.is_empty())
}

/// The name that a collection has now, `Some(None)` if it no longer exists; `None` if the user may
/// not list it.
fn current_name(deployment: &Deployment<'_>, listed: &Listed) -> Option<Option<String>> {
    let uuid = Uuid::parse_str(listed.uuid.as_deref()?).ok()?;
    let rest = doc! { "filter": { "info.uuid": uuid } };
    let database = &listed.namespace.database;
    let named = deployment.session.list(database, Read::ListCollections, rest).ok()?;
    Some(named.first().and_then(|row| row.get_str("name").ok()).map(str::to_owned))
}

/// The number of matching documents, as the server counts them within a time limit.
fn counted(
    deployment: &Deployment<'_>,
    listed: &Listed,
    filter: Option<Document>,
) -> Result<u64, Error> {
    let Namespace { database, collection } = &listed.namespace;
    let matching = filter.map(|filter| doc! { "$match": filter });
    let pipeline: Vec<Document> = matching.into_iter().chain([doc! { "$count": "n" }]).collect();
    let count = doc! {
        "aggregate": collection,
        "pipeline": pipeline,
        "cursor": {},
        "maxTimeMS": COUNTING.as_millis() as i64,
    };
    let question = (database.clone(), Read::Aggregate, count);
    let answer = deployment.session.list_many(vec![question]).into_iter().next();
    let rows = answer.transpose()?.unwrap_or_default();
    // If there are none, the server returns no row.
    Ok(rows.first().and_then(|row| number(row, "n")).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_random_walk_is_used_only_where_it_is_one() {
        let way = |wanted, documents| way(Some(wanted), Some(documents), Some((6, 0)));
        assert_eq!(way(100, 100), ReadMethod::Everything);
        assert_eq!(way(100, 50), ReadMethod::Everything);
        assert_eq!(way(4, 81), ReadMethod::Share(4.0 / 81.0), "100 documents or fewer are sorted");
        assert_eq!(way(5, 101), ReadMethod::Random(5));
        assert_eq!(way(5, 100), ReadMethod::Share(0.05));
        assert_eq!(way(10_000, 200_000), ReadMethod::Share(0.05), "5 % are sorted");
        assert_eq!(way(10_000, 200_001), ReadMethod::Random(10_000));
    }

    #[test]
    fn a_mean_that_differs_more_than_by_chance_tells_a_biased_walk() {
        assert!(is_biased(1000, 59_000_000, 3_000) && is_biased(1000, 100_000, 3_000));
        assert!(!is_biased(10_000, 10_500_000, 1_000), "5 %");
        assert!(!is_biased(200, 250_000, 1_000), "few differ by chance");
        assert!(!is_biased(0, 0, 1_000) && !is_biased(10, 1_000, 0));
    }

    #[test]
    fn more_than_a_share_tells_a_wrong_count() {
        assert!(is_beyond(ReadMethod::Share(0.5), Some(80_000), 150_000));
        assert!(!is_beyond(ReadMethod::Share(0.5), Some(80_000), 40_500));
        assert!(!is_beyond(ReadMethod::Share(0.9999), Some(40_000), 40_000));
        assert!(is_beyond(ReadMethod::Share(0.9999), Some(40_000), 40_001));
        assert!(!is_beyond(ReadMethod::Random(5), Some(10), 100));
    }

    #[test]
    fn without_a_count_or_a_rate_the_first_are_read() {
        assert_eq!(way(Some(10), None, Some((6, 0))), ReadMethod::First(10));
        assert_eq!(way(Some(10), Some(50), Some((4, 2))), ReadMethod::First(10));
        assert_eq!(way(Some(10), Some(50), None), ReadMethod::First(10));
        assert_eq!(way(None, Some(50), None), ReadMethod::Everything);
    }
}
