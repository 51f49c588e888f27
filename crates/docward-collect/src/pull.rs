//! Plain BSON files, read by the threads that profile them.
//!
//! Copying a block on one core and reading it on another costs nearly as much as profiling it. So
//! workers fetch their blocks themselves. One worker at a time reads, skips over whole documents
//! and sets the start of the next block; then it profiles while another one reads. Only intact data
//! is read here. At the first irregularity (an invalid length, a truncated or very large document,
//! an error), reading ends at that position and the caller continues.

use std::{
    fs::File,
    io::{ErrorKind, Read as _, Seek as _, SeekFrom},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};

use docward_bson::dump::{self, Next};
use docward_profile::last_id;

use crate::{
    Progress,
    damages::{Damages, relocate},
    examine::{BLOCK, Examiner},
};

/// Documents above this size are left to the caller, so that one block per thread needs little
/// memory.
const LARGEST: usize = 4 * BLOCK;

/// If a collection has more places than this, at most [`FEW`] threads continue, because each has
/// its own tree.
const MANY_PLACES: usize = 1024;
const FEW: usize = 2;

/// A file that several threads read.
pub(crate) struct Pull<'a> {
    cursor: Mutex<Cursor>,
    progress: &'a dyn Progress,
    stop: &'a AtomicBool,
    until: Option<Instant>,
}

/// The progress of reading the file.
pub(crate) struct Cursor {
    file: File,
    /// The offset of the next block in the file.
    pub(crate) offset: u64,
    /// The position of the next block among all documents of the collection.
    pub(crate) position: u64,
    /// The `_id` of the preceding document.
    pub(crate) last_id: Vec<u8>,
    /// The number of documents passed.
    pub(crate) documents: u64,
    ended: bool,
}

/// The result of one thread.
#[derive(Default)]
pub(crate) struct Pulled {
    pub(crate) documents: u64,
    pub(crate) bytes: u64,
    pub(crate) damages: Damages,
}

/// A block that a thread fetched.
struct Fetched {
    length: usize,
    offset: u64,
    position: u64,
    previous_id: Vec<u8>,
}

impl<'a> Pull<'a> {
    /// Starts reading the documents of a file from its beginning.
    pub(crate) fn new(
        file: File,
        position: u64,
        last_id: Vec<u8>,
        progress: &'a dyn Progress,
        stop: &'a AtomicBool,
        until: Option<Instant>,
    ) -> Self {
        let cursor = Cursor { file, offset: 0, position, last_id, documents: 0, ended: false };
        Self { cursor: Mutex::new(cursor), progress, stop, until }
    }

    /// The position reached in the file, when every thread is done.
    pub(crate) fn into_cursor(self) -> Cursor {
        self.cursor.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads and profiles blocks until there are none left, as one of several threads.
    pub(crate) fn work(&self, thread: usize, examiner: &mut Examiner) -> Pulled {
        let mut buffer = vec![0; BLOCK];
        let mut pulled = Pulled::default();
        while thread < FEW || examiner.places() <= MANY_PLACES {
            let Some(fetched) = self.fetch(&mut buffer) else { break };
            let before = (examiner.documents(), examiner.bytes());
            let block = &buffer[..fetched.length];
            examiner.add_block(block, fetched.position, &fetched.previous_id);
            let documents = examiner.documents() - before.0;
            pulled.documents += documents;
            pulled.bytes += examiner.bytes() - before.1;
            let (mut damages, count) = examiner.take_damage();
            if count > 0 {
                relocate(&mut damages, fetched.position, fetched.offset);
                pulled.damages.add(damages, count);
            }
            self.progress.advance(fetched.length as u64, documents);
        }
        pulled
    }

    /// Reads the next block of whole documents.
    fn fetch(&self, buffer: &mut Vec<u8>) -> Option<Fetched> {
        let mut guard = self.cursor.lock().unwrap_or_else(PoisonError::into_inner);
        let cursor = &mut *guard;
        let is_over = self.until.is_some_and(|until| Instant::now() >= until);
        if cursor.ended || is_over || self.stop.load(Ordering::Relaxed) {
            return None;
        }
        let hop = cursor.hop(buffer);
        cursor.ended = hop.is_none();
        let (length, documents) = hop?;
        let (offset, position) = (cursor.offset, cursor.position);
        cursor.offset += length as u64;
        cursor.position += length as u64;
        cursor.documents += documents;
        let previous_id = std::mem::replace(&mut cursor.last_id, last_id(&buffer[..length]));
        Some(Fetched { length, offset, position, previous_id })
    }
}

impl Cursor {
    /// Fills the buffer from the current position; returns the bytes and the number of whole
    /// documents in it.
    fn hop(&mut self, buffer: &mut Vec<u8>) -> Option<(usize, u64)> {
        self.file.seek(SeekFrom::Start(self.offset)).ok()?;
        let mut filled = 0;
        loop {
            while filled < buffer.len() {
                match self.file.read(&mut buffer[filled..]) {
                    Ok(0) => break,
                    Ok(got) => filled += got,
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(_) => return None,
                }
            }
            let hop = dump::hop(&buffer[..filled], u64::MAX);
            if hop.documents > 0 {
                return Some((hop.bytes, hop.documents));
            }
            match hop.next {
                // The document is larger than the buffer.
                Next::Partial { needed } if filled == buffer.len() && needed <= LARGEST => {
                    buffer.resize(LARGEST, 0);
                }
                _ => return None,
            }
        }
    }
}
