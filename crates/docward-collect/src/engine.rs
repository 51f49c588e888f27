//! Sends blocks of documents to the profilers and collects the profiles.
//!
//! One thread reads and splits; the others profile (and read plain BSON files themselves, see
//! `pull`). The reader fills a block with whole documents, possibly from several small files, and
//! sends it to one of two workers in turn. Each worker keeps one profiler per collection, and they
//! are merged when the collection is closed. Merging is exact for any distribution of blocks, so
//! the result does not depend on timing or on the number of workers. Threads start with the second
//! block, so small inputs avoid their cost. Buffers are reused; when all are in use, the reader
//! waits.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::File,
    ops::Range,
    sync::{
        Arc,
        atomic::AtomicBool,
        mpsc::{self, Receiver, Sender},
    },
    thread::Scope,
    time::Instant,
};

use docward_model::Checked;
use docward_profile::{Damage, Profiled, Profiler, array_documents, last_id};

use crate::{
    Progress,
    damages::{Damages, relocate},
    examine::{BLOCK, Examined, Examiner, Task},
    pull::{Pull, Pulled},
};

/// The number of workers that receive blocks. One thread that decompresses or parses cannot keep
/// more of them busy, and each worker has its own profiles.
const BLOCK_WORKERS: usize = 2;

/// If less room than this is left, the block is sent instead of being filled further.
const LEAST_ROOM: usize = 64 * 1024;

/// A file (or member) that problems and counts belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FileId(pub(crate) usize);

/// A collection being profiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Slot(pub(crate) usize);

/// The results of the workers.
#[derive(Default)]
pub(crate) struct Outcome {
    /// Documents and their bytes, by file.
    pub(crate) read: BTreeMap<FileId, (u64, u64)>,
    /// Damaged documents, by file.
    pub(crate) damaged: BTreeMap<FileId, Damages>,
    /// Profiles of the collections that were closed.
    pub(crate) profiles: BTreeMap<Slot, Profiled>,
    /// The results of checking collections against a schema.
    pub(crate) checked: BTreeMap<Slot, Checked>,
    /// Serialized profilers, for collections whose state is requested.
    pub(crate) states: BTreeMap<Slot, Vec<u8>>,
}

/// Documents of one collection in a block.
struct Segment {
    slot: Slot,
    file: FileId,
    range: Range<usize>,
    /// Their position in the file.
    offset: u64,
    /// Their position among all documents of the collection, across files.
    position: u64,
    /// The `_id` of the preceding document.
    previous_id: Vec<u8>,
}

/// The progress of reading a collection.
#[derive(Default)]
struct Position {
    /// The number of bytes taken so far.
    bytes: u64,
    /// The last document taken, if it is in the current block.
    last: Option<Range<usize>>,
    /// The `_id` of the last document before the current block.
    last_id: Vec<u8>,
}

/// A response of a server.
pub(crate) trait Sent: Send {
    /// The BSON array of documents.
    fn array(&self) -> &[u8];
}

/// Documents of one collection from a response.
struct Answer {
    slot: Slot,
    file: FileId,
    sent: Box<dyn Sent>,
    /// The number of documents to skip at the beginning.
    skip: usize,
    position: u64,
    previous_id: Vec<u8>,
}

#[derive(Default)]
struct Block {
    bytes: Vec<u8>,
    /// Everything before this offset belongs to segments (or is skipped).
    filled: usize,
    segments: Vec<Segment>,
}

impl Block {
    fn lengthen(&mut self, length: usize) {
        if self.bytes.is_empty() {
            // Zeroed pages cost nothing until they are written to.
            self.bytes = vec![0; length];
        } else if self.bytes.len() < length {
            self.bytes.resize(length, 0);
        }
    }
}

enum Job<'a> {
    Profile(Block),
    /// Profile documents as a server sent them.
    ProfileAnswer(Answer),
    /// Read a file together with the other workers.
    Pull(Slot, Arc<Pull<'a>>),
    /// Continue with the saved profiler of a collection.
    Resume(Slot, Box<Profiler>),
    Close(Slot),
    /// Merge the parts of a collection; the flag requests the profiler state too.
    Finish(Slot, Vec<Examiner>, bool),
}

enum Reply {
    Profiled(Block, Notes),
    ProfiledAnswer(Notes),
    Pulled(Pulled),
    Part(usize, Slot, Option<Box<Examiner>>),
    Finished(Slot, Examined, Option<Vec<u8>>),
    Died,
}

/// The report of a worker about a block.
#[derive(Default)]
struct Notes {
    read: Vec<(FileId, u64, u64)>,
    damaged: Vec<(FileId, Vec<Damage>, u64)>,
}

/// The reader's side of the engine.
pub(crate) struct Engine<'scope, 'env> {
    scope: &'scope Scope<'scope, 'env>,
    threads: usize,
    progress: &'scope dyn Progress,
    stop: &'scope AtomicBool,
    task: Task,
    block: Block,
    /// The first worker, as long as there are no threads.
    local: Worker,
    workers: Vec<Sender<Job<'scope>>>,
    replies: Option<Receiver<Reply>>,
    spare: Vec<Block>,
    /// The number of workers that are reading a file, and that file.
    pulling: usize,
    pulled_file: FileId,
    in_flight: usize,
    bytes_in_flight: usize,
    blocks: usize,
    /// The progress of reading each collection.
    positions: BTreeMap<Slot, Position>,
    /// Collections to close after the current block is sent.
    close_behind_block: Vec<Slot>,
    /// Collections being closed, with the parts received from each worker.
    closing: BTreeMap<Slot, Vec<Option<Option<Box<Examiner>>>>>,
    /// Collections whose profiler state is requested in addition to the profile.
    kept: BTreeSet<Slot>,
    /// A collection whose parts are discarded on arrival.
    discarding: Option<Slot>,
    finishing: usize,
    died: bool,
    /// The expected number of collections, as far as known.
    expected: usize,
    /// True if sampled documents stay in the profiles.
    keep_samples: bool,
    /// True if documents that can be recognised in a later run stay in the profiles.
    keep_tracked: bool,
    outcome: Outcome,
}

impl<'scope, 'env> Engine<'scope, 'env> {
    /// Creates an engine with this number of profiling threads; with one, everything runs on the
    /// caller's thread.
    pub(crate) fn new(
        scope: &'scope Scope<'scope, 'env>,
        threads: usize,
        progress: &'scope dyn Progress,
        stop: &'scope AtomicBool,
        task: Task,
    ) -> Self {
        Self {
            scope,
            threads,
            progress,
            stop,
            block: Block::default(),
            local: Worker::new(task.clone()),
            task,
            workers: Vec::new(),
            replies: None,
            spare: Vec::new(),
            pulling: 0,
            pulled_file: FileId(0),
            in_flight: 0,
            bytes_in_flight: 0,
            blocks: 0,
            positions: BTreeMap::new(),
            close_behind_block: Vec::new(),
            closing: BTreeMap::new(),
            kept: BTreeSet::new(),
            discarding: None,
            finishing: 0,
            died: false,
            expected: 0,
            keep_samples: false,
            keep_tracked: false,
            outcome: Outcome::default(),
        }
    }

    /// Keeps the sampled documents in the profiles.
    pub(crate) fn keep_samples(&mut self, keep: bool) {
        self.keep_samples = keep;
    }

    /// Keeps documents that can be recognised on another date in the profiles.
    pub(crate) fn keep_tracked(&mut self, keep: bool) {
        self.keep_tracked = keep;
    }

    /// Sets the minimum number of expected collections; with many, each profile keeps less.
    pub(crate) fn expect(&mut self, collections: usize) {
        self.expected = self.expected.max(collections);
    }

    /// Returns a buffer to read into, which begins with the `held` bytes that it already contains.
    /// Data written to it is lost unless the caller holds on to it or takes it with [`Self::take`].
    pub(crate) fn room(&mut self, held: usize) -> &mut [u8] {
        self.block.lengthen(BLOCK);
        if self.block.bytes.len() - self.block.filled < held + LEAST_ROOM {
            self.roll(held, held + LEAST_ROOM);
        }
        &mut self.block.bytes[self.block.filled..]
    }

    /// The first bytes of the buffer.
    pub(crate) fn held(&self, held: usize) -> &[u8] {
        &self.block.bytes[self.block.filled..][..held]
    }

    /// Takes the first `length` bytes of the buffer as documents at `offset` of a file.
    pub(crate) fn take(&mut self, slot: Slot, file: FileId, offset: u64, length: usize) {
        if length == 0 {
            return;
        }
        let start = self.block.filled;
        self.block.filled += length;
        let position = self.positions.entry(slot).or_default();
        let at = position.bytes;
        position.bytes += length as u64;
        let before = position.last.replace(start..self.block.filled);
        if let Some(last) = self.block.segments.last_mut()
            && (last.slot, last.file, last.range.end) == (slot, file, start)
            && last.offset + last.range.len() as u64 == offset
        {
            last.range.end += length;
            return;
        }
        let range = start..self.block.filled;
        let previous_id = match before {
            Some(before) => last_id(&self.block.bytes[before]),
            None => position.last_id.clone(),
        };
        self.block.segments.push(Segment { slot, file, range, offset, position: at, previous_id });
    }

    /// Skips the first `length` bytes of the buffer.
    pub(crate) fn pass(&mut self, length: usize) {
        self.block.filled += length;
    }

    /// Sends the taken documents and prepares a new buffer. The buffer begins with the first `keep`
    /// bytes of the current one and has space for at least `needed` bytes in total.
    fn roll(&mut self, keep: usize, needed: usize) {
        let from = self.block.filled;
        if self.block.segments.is_empty() {
            self.block.bytes.copy_within(from..from + keep, 0);
            self.block.filled = 0;
        } else {
            let mut next = self.fresh_block();
            next.lengthen(BLOCK.max(needed));
            next.bytes[..keep].copy_from_slice(&self.block.bytes[from..from + keep]);
            let full = std::mem::replace(&mut self.block, next);
            for position in self.positions.values_mut() {
                if let Some(last) = position.last.take() {
                    position.last_id = last_id(&full.bytes[last]);
                }
            }
            self.send(full);
            for slot in std::mem::take(&mut self.close_behind_block) {
                self.close_now(slot);
            }
        }
        self.block.lengthen(needed);
    }

    /// Enlarges the buffer for a document of which `held` bytes are available.
    pub(crate) fn make_room(&mut self, held: usize, needed: usize) {
        if self.block.bytes.len() - self.block.filled < needed {
            self.roll(held, needed);
        }
    }

    /// Returns whether the workers should read a plain BSON file of this length themselves.
    pub(crate) fn pulls(&self, length: u64) -> bool {
        self.threads > 1 && length >= 4 * BLOCK as u64
    }

    /// Lets the workers read a file of whole documents from its beginning. Returns the byte and the
    /// number of documents they reached; the rest needs special handling.
    pub(crate) fn pull(
        &mut self,
        slot: Slot,
        file: FileId,
        handle: File,
        until: Option<Instant>,
    ) -> (u64, u64) {
        self.roll(0, 0);
        if self.workers.is_empty() {
            self.start();
        }
        let position = self.positions.entry(slot).or_default();
        let last_id = std::mem::take(&mut position.last_id);
        let pull = Pull::new(handle, position.bytes, last_id, self.progress, self.stop, until);
        let pull = Arc::new(pull);
        for worker in &self.workers {
            if worker.send(Job::Pull(slot, Arc::clone(&pull))).is_err() {
                self.died = true;
            }
        }
        (self.pulling, self.pulled_file) = (self.workers.len(), file);
        while self.pulling > 0 && !self.died {
            self.wait();
        }
        // A worker that panicked still holds the file; the run fails anyway.
        let Some(cursor) = Arc::into_inner(pull).map(Pull::into_cursor) else { return (0, 0) };
        let position = self.positions.entry(slot).or_default();
        (position.bytes, position.last_id) = (cursor.position, cursor.last_id);
        (cursor.offset, cursor.documents)
    }

    /// The block as a vector to append documents to; finish with [`Self::wrote`].
    pub(crate) fn writer(&mut self) -> &mut Vec<u8> {
        self.block.bytes.truncate(self.block.filled);
        &mut self.block.bytes
    }

    /// Takes the documents appended to the vector of [`Self::writer`].
    pub(crate) fn wrote(&mut self, slot: Slot, file: FileId) {
        let length = self.block.bytes.len() - self.block.filled;
        let offset = self.positions.get(&slot).map_or(0, |position| position.bytes);
        self.take(slot, file, offset, length);
        // Send before the vector has to grow, in most cases.
        if self.block.filled >= BLOCK - BLOCK / 16 {
            self.roll(0, 0);
        }
    }

    /// Takes the documents of a response without copying them, except for the first `skip`. Returns
    /// their number and their bytes.
    pub(crate) fn take_answer(
        &mut self,
        slot: Slot,
        file: FileId,
        sent: Box<dyn Sent>,
        skip: usize,
    ) -> (u64, u64) {
        let present = self.positions.entry(slot).or_default();
        let position = present.bytes;
        let (mut documents, mut last) = (0, None);
        for document in array_documents(sent.array()).skip(skip) {
            documents += 1;
            present.bytes += document.len() as u64;
            last = Some(document);
        }
        let bytes = present.bytes - position;
        if let Some(last) = last {
            let previous_id = std::mem::replace(&mut present.last_id, last_id(last));
            self.send_answer(Answer { slot, file, sent, skip, position, previous_id });
        }
        (documents, bytes)
    }

    fn send_answer(&mut self, answer: Answer) {
        let Some(worker) = self.next_worker() else {
            let notes = self.local.profile_answer(&answer);
            return self.take_notes(notes);
        };
        // One in progress and one waiting for each worker, because a response has several
        // megabytes.
        while self.in_flight >= 2 * self.workers.len().min(BLOCK_WORKERS) && !self.died {
            self.wait();
        }
        self.hand_over(worker, Job::ProfileAnswer(answer));
        self.poll();
    }

    /// Sets the position of the next documents of a collection. Its parts may arrive in any order.
    pub(crate) fn turn_to(&mut self, slot: Slot, position: u64) {
        let present = self.positions.entry(slot).or_default();
        if present.bytes != position {
            *present = Position { bytes: position, ..Position::default() };
        }
    }

    /// The position of the next document of a collection.
    pub(crate) fn position(&self, slot: Slot) -> u64 {
        self.positions.get(&slot).map_or(0, |position| position.bytes)
    }

    /// Requests the profiler state of a collection in addition to its profile.
    pub(crate) fn keep_state(&mut self, slot: Slot) {
        self.kept.insert(slot);
    }

    /// Continues with a collection that an earlier run read partially.
    pub(crate) fn resume(&mut self, slot: Slot, file: FileId, profiler: Profiler) {
        self.outcome.read.insert(file, (profiler.documents(), profiler.bytes()));
        self.positions.entry(slot).or_default();
        match self.workers.first() {
            None => {
                self.local.examiners.insert(slot, Examiner::Profile(Box::new(profiler)));
            }
            Some(worker) => {
                if worker.send(Job::Resume(slot, Box::new(profiler))).is_err() {
                    self.died = true;
                }
            }
        }
    }

    /// Adds a collection that an earlier run read completely.
    pub(crate) fn adopt(&mut self, slot: Slot, file: FileId, profiled: Profiled) {
        let profile = &profiled.profile;
        self.outcome.read.insert(file, (profile.documents, profile.sizes.sum));
        self.finished(slot, Examined::Profile(Box::new(profiled)), None);
    }

    /// Marks a collection as complete, so that its memory can be freed.
    pub(crate) fn close(&mut self, slot: Slot) {
        if self.positions.remove(&slot).is_none() {
            return;
        }
        if self.block.segments.iter().any(|segment| segment.slot == slot) {
            // Small collections share a block; closing one does not send the block half empty.
            self.close_behind_block.push(slot);
        } else {
            self.close_now(slot);
        }
    }

    fn close_now(&mut self, slot: Slot) {
        if self.workers.is_empty() {
            if let Some(examiner) = self.local.examiners.remove(&slot) {
                let state = self.kept.contains(&slot).then(|| examiner.save()).flatten();
                self.finished(slot, examiner.finish(), state);
            }
            return;
        }
        self.closing.insert(slot, self.workers.iter().map(|_| None).collect());
        for worker in &self.workers {
            let _ = worker.send(Job::Close(slot));
        }
        self.poll();
    }

    /// Discards the documents of a collection that is not closed, as if it had not been read.
    pub(crate) fn discard(&mut self, slot: Slot) {
        if self.positions.remove(&slot).is_none() {
            return;
        }
        self.roll(0, 0);
        if self.workers.is_empty() {
            self.local.examiners.remove(&slot);
            return;
        }
        self.discarding = Some(slot);
        self.close_now(slot);
        while !self.died && self.closing.contains_key(&slot) {
            self.wait();
        }
        self.discarding = None;
    }

    /// Closes all collections and waits for the results.
    pub(crate) fn finish(mut self) -> Outcome {
        self.roll(0, 0);
        let open: Vec<Slot> = self.positions.keys().copied().collect();
        for slot in open {
            self.close(slot);
        }
        while !self.died && (self.in_flight > 0 || !self.closing.is_empty() || self.finishing > 0) {
            self.wait();
        }
        self.outcome
    }

    fn fresh_block(&mut self) -> Block {
        self.poll();
        // One block in progress and one waiting per worker keep all workers busy. Documents of many
        // MiB make larger blocks, so fewer of these are in flight.
        let threads = self.threads.min(BLOCK_WORKERS);
        let most_bytes = (threads + 2) * BLOCK;
        while self.in_flight > 0
            && (self.in_flight >= 2 * threads || self.bytes_in_flight + BLOCK > most_bytes)
            && !self.died
        {
            self.wait();
        }
        self.spare.pop().unwrap_or_default()
    }

    fn send(&mut self, block: Block) {
        let Some(worker) = self.next_worker() else {
            let notes = self.local.profile(&block);
            return self.note(block, notes);
        };
        self.bytes_in_flight += block.bytes.len();
        self.hand_over(worker, Job::Profile(block));
    }

    /// The next worker in turn; `None` if the caller's thread does the work: with a single thread,
    /// or for the first block, because small inputs do not justify threads.
    fn next_worker(&mut self) -> Option<usize> {
        let number = self.blocks;
        self.blocks += 1;
        if self.workers.is_empty() {
            if number == 0 || self.threads <= 1 {
                return None;
            }
            self.start();
        }
        Some(number % self.workers.len().min(BLOCK_WORKERS))
    }

    fn hand_over(&mut self, worker: usize, job: Job<'scope>) {
        self.in_flight += 1;
        if self.workers[worker].send(job).is_err() {
            self.died = true;
        }
    }

    /// Starts the threads; the first one continues with the profiles of the caller's thread.
    fn start(&mut self) {
        let (replies, receiver) = mpsc::channel();
        for index in 0..self.threads {
            let (sender, jobs) = mpsc::channel();
            let fresh = Worker::new(self.task.clone());
            let worker = if index == 0 { std::mem::replace(&mut self.local, fresh) } else { fresh };
            let replies = replies.clone();
            self.scope.spawn(move || worker.run(index, &jobs, &replies));
            self.workers.push(sender);
        }
        self.replies = Some(receiver);
    }

    /// Processes the replies that have arrived.
    fn poll(&mut self) {
        while let Some(reply) = self.replies.as_ref().and_then(|replies| replies.try_recv().ok()) {
            self.handle(reply);
        }
    }

    /// Waits for a reply.
    fn wait(&mut self) {
        match self.replies.as_ref().map(Receiver::recv) {
            Some(Ok(reply)) => self.handle(reply),
            _ => self.died = true,
        }
    }

    fn handle(&mut self, reply: Reply) {
        match reply {
            Reply::Profiled(block, notes) => {
                self.in_flight -= 1;
                self.bytes_in_flight -= block.bytes.len();
                self.note(block, notes);
            }
            Reply::ProfiledAnswer(notes) => {
                self.in_flight -= 1;
                self.take_notes(notes);
            }
            Reply::Pulled(pulled) => {
                self.pulling -= 1;
                let read = self.outcome.read.entry(self.pulled_file).or_default();
                read.0 += pulled.documents;
                read.1 += pulled.bytes;
                let Damages { first, count, kinds } = pulled.damages;
                if count > 0 {
                    let damages = self.outcome.damaged.entry(self.pulled_file).or_default();
                    damages.add(first, count);
                    damages.kinds.extend(kinds);
                }
            }
            Reply::Part(worker, slot, part) => {
                let Some(parts) = self.closing.get_mut(&slot) else { return };
                parts[worker] = Some(part);
                if parts.iter().all(Option::is_some)
                    && let Some(parts) = self.closing.remove(&slot)
                    && self.discarding != Some(slot)
                {
                    let parts = parts.into_iter().flatten().flatten().map(|part| *part).collect();
                    self.finishing += 1;
                    let worker = &self.workers[slot.0 % self.workers.len()];
                    if worker.send(Job::Finish(slot, parts, self.kept.contains(&slot))).is_err() {
                        self.died = true;
                    }
                }
            }
            Reply::Finished(slot, examined, state) => {
                self.finishing -= 1;
                self.finished(slot, examined, state);
            }
            Reply::Died => self.died = true,
        }
    }

    fn finished(&mut self, slot: Slot, examined: Examined, state: Option<Vec<u8>>) {
        let mut profiled = match examined {
            Examined::Profile(profiled) => *profiled,
            Examined::Check(checked) => {
                self.outcome.checked.insert(slot, *checked);
                return;
            }
        };
        profiled.links.shrink(self.expected);
        if !self.keep_samples {
            profiled.profile.sample = Vec::new();
        }
        if !self.keep_tracked {
            profiled.profile.tracked = Vec::new();
        }
        self.outcome.profiles.insert(slot, profiled);
        self.outcome.states.extend(state.map(|state| (slot, state)));
    }

    fn note(&mut self, mut block: Block, notes: Notes) {
        self.take_notes(notes);
        block.segments.clear();
        block.filled = 0;
        if block.bytes.len() > BLOCK {
            block.bytes.truncate(BLOCK);
            block.bytes.shrink_to(BLOCK);
        }
        self.spare.push(block);
    }

    fn take_notes(&mut self, notes: Notes) {
        for (file, documents, bytes) in notes.read {
            let read = self.outcome.read.entry(file).or_default();
            read.0 += documents;
            read.1 += bytes;
        }
        for (file, damages, count) in notes.damaged {
            self.outcome.damaged.entry(file).or_default().add(damages, count);
        }
    }
}

/// The state of one worker thread.
struct Worker {
    task: Task,
    examiners: BTreeMap<Slot, Examiner>,
}

impl Worker {
    fn new(task: Task) -> Self {
        Self { task, examiners: BTreeMap::new() }
    }

    fn examiner(&mut self, slot: Slot) -> &mut Examiner {
        self.examiners.entry(slot).or_insert_with(|| Examiner::new(&self.task))
    }

    fn run(mut self, index: usize, jobs: &Receiver<Job<'_>>, replies: &Sender<Reply>) {
        let _last_words = LastWords(replies);
        for job in jobs {
            let reply = match job {
                Job::Profile(block) => {
                    let notes = self.profile(&block);
                    Reply::Profiled(block, notes)
                }
                Job::ProfileAnswer(answer) => Reply::ProfiledAnswer(self.profile_answer(&answer)),
                Job::Pull(slot, pull) => {
                    let pulled = pull.work(index, self.examiner(slot));
                    // The caller reclaims the file when no other thread holds it.
                    drop(pull);
                    Reply::Pulled(pulled)
                }
                Job::Close(slot) => {
                    Reply::Part(index, slot, self.examiners.remove(&slot).map(Box::new))
                }
                Job::Resume(slot, profiler) => {
                    self.examiners.insert(slot, Examiner::Profile(profiler));
                    continue;
                }
                Job::Finish(slot, parts, keep) => {
                    let mut parts = parts.into_iter();
                    let mut whole = parts.next().unwrap_or_else(|| Examiner::new(&self.task));
                    parts.for_each(|part| whole.merge(part));
                    let state = keep.then(|| whole.save()).flatten();
                    Reply::Finished(slot, whole.finish(), state)
                }
            };
            if replies.send(reply).is_err() {
                return;
            }
        }
    }

    fn profile_answer(&mut self, answer: &Answer) -> Notes {
        let Answer { slot, file, sent, skip, position, previous_id } = answer;
        let examiner = self.examiner(*slot);
        let before = (examiner.documents(), examiner.bytes());
        examiner.add_array(sent.array(), *skip, *position, previous_id);
        let read = (*file, examiner.documents() - before.0, examiner.bytes() - before.1);
        let (damages, count) = examiner.take_damage();
        let damaged = if count > 0 { vec![(*file, damages, count)] } else { Vec::new() };
        Notes { read: vec![read], damaged }
    }

    fn profile(&mut self, block: &Block) -> Notes {
        let mut notes = Notes::default();
        for segment in &block.segments {
            let examiner = self.examiner(segment.slot);
            let before = (examiner.documents(), examiner.bytes());
            let documents = &block.bytes[segment.range.clone()];
            examiner.add_block(documents, segment.position, &segment.previous_id);
            let documents = examiner.documents() - before.0;
            notes.read.push((segment.file, documents, examiner.bytes() - before.1));
            let (mut damages, count) = examiner.take_damage();
            if count > 0 {
                relocate(&mut damages, segment.position, segment.offset);
                notes.damaged.push((segment.file, damages, count));
            }
        }
        notes
    }
}

/// Notifies the reader when a worker panics; otherwise the reader would wait forever.
struct LastWords<'a>(&'a Sender<Reply>);

impl Drop for LastWords<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let _ = self.0.send(Reply::Died);
        }
    }
}
