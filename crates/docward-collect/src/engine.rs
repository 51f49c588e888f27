//! Blocks of documents out to the profilers, profiles back.
//!
//! One thread reads and cuts; the others profile (and read plain BSON files themselves, see `pull`).
//! The reader fills a block with whole documents, possibly of several small files, and sends it to
//! one of two workers in turn. Each worker keeps one profiler per collection, and they are merged
//! when the collection is closed. Merging is exact whoever had which block, so the outcome does not
//! depend on timing or on the number of workers. Threads are started with the second
//! block: small inputs never pay for them. Buffers go round; when all are out, the reader waits.

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

/// Workers that blocks go to. One thread that unpacks or parses does not keep more of them busy, and
/// each has profiles of its own.
const BLOCK_WORKERS: usize = 2;

/// With less room than this left, a block is sent rather than filled further.
const LEAST_ROOM: usize = 64 * 1024;

/// A file (or member) troubles and counts belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FileId(pub(crate) usize);

/// A collection being profiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Slot(pub(crate) usize);

/// What came back from the workers.
#[derive(Default)]
pub(crate) struct Outcome {
    /// Documents and their bytes, by file.
    pub(crate) read: BTreeMap<FileId, (u64, u64)>,
    /// Damaged documents, by file.
    pub(crate) damaged: BTreeMap<FileId, Damages>,
    /// Profiles of the collections that were closed.
    pub(crate) profiles: BTreeMap<Slot, Profiled>,
    /// What came of holding collections against a schema.
    pub(crate) checked: BTreeMap<Slot, Checked>,
    /// Profilers of those that were asked to be kept, as bytes.
    pub(crate) states: BTreeMap<Slot, Vec<u8>>,
}

/// Documents of one collection in a block.
struct Segment {
    slot: Slot,
    file: FileId,
    range: Range<usize>,
    /// Where they stand in the file.
    offset: u64,
    /// Where they stand among all documents of the collection, whatever file they came from.
    position: u64,
    /// The `_id` of the document before them.
    previous_id: Vec<u8>,
}

/// How far a collection has been read.
#[derive(Default)]
struct Position {
    /// Bytes taken so far.
    bytes: u64,
    /// What was taken last, if that is in the present block.
    last: Option<Range<usize>>,
    /// The `_id` of the last document before the present block.
    last_id: Vec<u8>,
}

/// What a server sent in one answer.
pub(crate) trait Sent: Send {
    /// The BSON array of documents.
    fn array(&self) -> &[u8];
}

/// Documents of one collection out of an answer.
struct Answer {
    slot: Slot,
    file: FileId,
    sent: Box<dyn Sent>,
    /// Documents at its beginning that are not wanted.
    skip: usize,
    position: u64,
    previous_id: Vec<u8>,
}

#[derive(Default)]
struct Block {
    bytes: Vec<u8>,
    /// Everything before belongs to segments (or is passed over).
    filled: usize,
    segments: Vec<Segment>,
}

impl Block {
    fn lengthen(&mut self, length: usize) {
        if self.bytes.is_empty() {
            // Pages of fresh zeroes cost nothing until they are written to.
            self.bytes = vec![0; length];
        } else if self.bytes.len() < length {
            self.bytes.resize(length, 0);
        }
    }
}

enum Job<'a> {
    Profile(Block),
    /// Documents as a server sent them.
    ProfileAnswer(Answer),
    /// Read a file together with the other workers.
    Pull(Slot, Arc<Pull<'a>>),
    /// Go on with what is known of a collection.
    Resume(Slot, Box<Profiler>),
    Close(Slot),
    /// Put the parts together; whether their state is wanted, too.
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

/// What a worker has to say about a block.
#[derive(Default)]
struct Notes {
    read: Vec<(FileId, u64, u64)>,
    damaged: Vec<(FileId, Vec<Damage>, u64)>,
}

/// The reader's end.
pub(crate) struct Engine<'scope, 'env> {
    scope: &'scope Scope<'scope, 'env>,
    threads: usize,
    progress: &'scope dyn Progress,
    stop: &'scope AtomicBool,
    task: Task,
    block: Block,
    /// The first worker, until there are threads.
    local: Worker,
    workers: Vec<Sender<Job<'scope>>>,
    replies: Option<Receiver<Reply>>,
    spare: Vec<Block>,
    /// Workers that read a file, and the file they are reading.
    pulling: usize,
    pulled_file: FileId,
    in_flight: usize,
    bytes_in_flight: usize,
    blocks: usize,
    /// How far each collection has been read.
    positions: BTreeMap<Slot, Position>,
    /// Collections to be closed when the present block has been sent.
    close_behind_block: Vec<Slot>,
    /// Collections being closed: what each worker had of them.
    closing: BTreeMap<Slot, Vec<Option<Option<Box<Examiner>>>>>,
    /// Collections whose profilers are wanted besides their profiles.
    kept: BTreeSet<Slot>,
    /// A collection whose parts are thrown away when they come.
    discarding: Option<Slot>,
    finishing: usize,
    died: bool,
    /// How many collections there will be, as far as known.
    expected: usize,
    /// Whether sampled documents stay in the profiles.
    keep_samples: bool,
    /// Whether documents that can be met again stay in the profiles.
    keep_tracked: bool,
    outcome: Outcome,
}

impl<'scope, 'env> Engine<'scope, 'env> {
    /// An engine with that many profiling threads; with one, everything happens on the caller's.
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

    /// Leaves the sampled documents in the profiles.
    pub(crate) fn keep_samples(&mut self, keep: bool) {
        self.keep_samples = keep;
    }

    /// Leaves what can be met again on another date in the profiles.
    pub(crate) fn keep_tracked(&mut self, keep: bool) {
        self.keep_tracked = keep;
    }

    /// Says how many collections there will be at least; with many, each leaves less behind.
    pub(crate) fn expect(&mut self, collections: usize) {
        self.expected = self.expected.max(collections);
    }

    /// Room for reading into, which begins with the `held` bytes that are in it already. What is
    /// put there is lost unless it is held on to, or taken with [`Self::take`].
    pub(crate) fn room(&mut self, held: usize) -> &mut [u8] {
        self.block.lengthen(BLOCK);
        if self.block.bytes.len() - self.block.filled < held + LEAST_ROOM {
            self.roll(held, held + LEAST_ROOM);
        }
        &mut self.block.bytes[self.block.filled..]
    }

    /// The first bytes of the room.
    pub(crate) fn held(&self, held: usize) -> &[u8] {
        &self.block.bytes[self.block.filled..][..held]
    }

    /// Takes the first `length` bytes of the room as documents that stand at `offset` of a file.
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

    /// Passes over the first `length` bytes of the room.
    pub(crate) fn pass(&mut self, length: usize) {
        self.block.filled += length;
    }

    /// Sends what was taken, and makes room that begins with the first `keep` bytes of the present
    /// room and has space for at least `needed` in all.
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

    /// Makes the room large enough for a document of which `held` bytes are at hand.
    pub(crate) fn make_room(&mut self, held: usize, needed: usize) {
        if self.block.bytes.len() - self.block.filled < needed {
            self.roll(held, needed);
        }
    }

    /// Whether a plain BSON file of that length is better read by the workers themselves.
    pub(crate) fn pulls(&self, length: u64) -> bool {
        self.threads > 1 && length >= 4 * BLOCK as u64
    }

    /// Lets the workers read a file of whole documents from its beginning. Says up to which byte
    /// they came, and past how many documents; the rest needs a closer look.
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
        // A worker that died holds on to the file; the run is over then anyway.
        let Some(cursor) = Arc::into_inner(pull).map(Pull::into_cursor) else { return (0, 0) };
        let position = self.positions.entry(slot).or_default();
        (position.bytes, position.last_id) = (cursor.position, cursor.last_id);
        (cursor.offset, cursor.documents)
    }

    /// The block as a vector that documents can be appended to; end with [`Self::wrote`].
    pub(crate) fn writer(&mut self) -> &mut Vec<u8> {
        self.block.bytes.truncate(self.block.filled);
        &mut self.block.bytes
    }

    /// Takes what was appended to the vector of [`Self::writer`].
    pub(crate) fn wrote(&mut self, slot: Slot, file: FileId) {
        let length = self.block.bytes.len() - self.block.filled;
        let offset = self.positions.get(&slot).map_or(0, |position| position.bytes);
        self.take(slot, file, offset, length);
        // Before the vector has to grow, as a rule.
        if self.block.filled >= BLOCK - BLOCK / 16 {
            self.roll(0, 0);
        }
    }

    /// Takes the documents of an answer, without copying them, but for the first `skip`. Returns how
    /// many there are, and their bytes.
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
        // One in work and one waiting for each worker; an answer has some megabytes.
        while self.in_flight >= 2 * self.workers.len().min(BLOCK_WORKERS) && !self.died {
            self.wait();
        }
        self.hand_over(worker, Job::ProfileAnswer(answer));
        self.poll();
    }

    /// Where the next documents of a collection are said to stand. Parts of it may come in turns.
    pub(crate) fn turn_to(&mut self, slot: Slot, position: u64) {
        let present = self.positions.entry(slot).or_default();
        if present.bytes != position {
            *present = Position { bytes: position, ..Position::default() };
        }
    }

    /// Where the next document of a collection will stand.
    pub(crate) fn position(&self, slot: Slot) -> u64 {
        self.positions.get(&slot).map_or(0, |position| position.bytes)
    }

    /// Wants the profiler of a collection besides its profile.
    pub(crate) fn keep_state(&mut self, slot: Slot) {
        self.kept.insert(slot);
    }

    /// Goes on with a collection that an earlier run read in part.
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

    /// Takes over a collection that an earlier run has read to its end.
    pub(crate) fn adopt(&mut self, slot: Slot, file: FileId, profiled: Profiled) {
        let profile = &profiled.profile;
        self.outcome.read.insert(file, (profile.documents, profile.sizes.sum));
        self.finished(slot, Examined::Profile(Box::new(profiled)), None);
    }

    /// Says that no more documents of a collection will come, so that its memory can go.
    pub(crate) fn close(&mut self, slot: Slot) {
        if self.positions.remove(&slot).is_none() {
            return;
        }
        if self.block.segments.iter().any(|segment| segment.slot == slot) {
            // Small collections share a block; it is not sent half empty for their sake.
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

    /// Forgets what was taken of a collection that is not closed, as if it had not been read.
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

    /// Closes everything and waits for the outcome.
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
        // One block in work and one waiting for each worker keeps all of them busy; documents of
        // many MiB make larger blocks, of which fewer go out.
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

    /// The worker whose turn it is; `None` when the caller's thread does the work: alone, or the first
    /// time, because small inputs do not pay for threads.
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

    /// Starts the threads; the first goes on with what the caller's thread has profiled.
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

    /// Takes in replies that have come.
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

/// What one thread does.
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
                    // The caller takes the file back when nobody else has it.
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

/// Tells the reader when a worker dies, which would else wait for it for ever.
struct LastWords<'a>(&'a Sender<Reply>);

impl Drop for LastWords<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let _ = self.0.send(Reply::Died);
        }
    }
}
