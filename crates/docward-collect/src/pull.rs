//! Plain BSON files, read by the threads that profile them.
//!
//! Copying a block on one core and looking into it on another costs nearly as much as profiling it.
//! So workers fetch their blocks themselves: one at a time reads, hops over whole documents and
//! leaves the place where the next block begins; then it profiles while another reads. Only what is
//! in order is read this way. At the first thing that is not (a length that is none, a document
//! that is cut off or very large, an error), reading ends at that place, for the caller to go on.

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

/// Documents beyond this size are left to the caller, so that a block per thread is no memory to
/// speak of.
const LARGEST: usize = 4 * BLOCK;

/// Where a collection has more places than this, no more than [`FEW`] threads go on: each has a tree
/// of its own.
const MANY_PLACES: usize = 1024;
const FEW: usize = 2;

/// A file that several threads read.
pub(crate) struct Pull<'a> {
    cursor: Mutex<Cursor>,
    progress: &'a dyn Progress,
    stop: &'a AtomicBool,
    until: Option<Instant>,
}

/// How far the file has been read.
pub(crate) struct Cursor {
    file: File,
    /// Where the next block begins in the file.
    pub(crate) offset: u64,
    /// Where it begins among all documents of the collection.
    pub(crate) position: u64,
    /// The `_id` of the document before it.
    pub(crate) last_id: Vec<u8>,
    /// Documents passed.
    pub(crate) documents: u64,
    ended: bool,
}

/// What one thread read.
#[derive(Default)]
pub(crate) struct Pulled {
    pub(crate) documents: u64,
    pub(crate) bytes: u64,
    pub(crate) damages: Damages,
}

/// A block as the cursor gave it.
struct Fetched {
    length: usize,
    offset: u64,
    position: u64,
    previous_id: Vec<u8>,
}

impl<'a> Pull<'a> {
    /// The documents of a file from its beginning.
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

    /// How far the file was read, when every thread is done.
    pub(crate) fn into_cursor(self) -> Cursor {
        self.cursor.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads and profiles blocks until there are no more, as one of several threads.
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
    /// Fills the buffer from the present place; how many bytes and documents of it are whole ones.
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
                // More than the buffer holds.
                Next::Partial { needed } if filled == buffer.len() && needed <= LARGEST => {
                    buffer.resize(LARGEST, 0);
                }
                _ => return None,
            }
        }
    }
}
