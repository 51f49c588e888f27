//! `.bson`: contiguous documents.

use std::{io, time::Instant};

use docward_bson::dump::{self, Hop, Next};

use super::Reader;
use crate::{
    engine::{FileId, Slot},
    stream::{End, Stream},
    trouble::Trouble,
};

/// When a sample is taken, the rest of a source up to this size is still counted; for a larger one
/// the number of documents is estimated.
const COUNTED: u64 = 256 * 1024 * 1024;

/// A length above MongoDB's limit but within this one may still be that of a document.
const OVERSIZED: i32 = 256 * 1024 * 1024;

impl Reader<'_, '_, '_> {
    /// Skips a document that is too large for MongoDB, of which `held` bytes are available. Returns
    /// false if the bytes are not a document: it must begin with an element and end with a zero
    /// byte.
    fn pass_oversized(&mut self, stream: &mut Stream<'_>, held: usize, length: i32) -> bool {
        let begins = self.engine.held(held).get(4).is_some_and(|tag| matches!(tag, 1..=0x13));
        if !begins || !(0..=OVERSIZED).contains(&length) || held >= length as usize {
            return false;
        }
        let mut left = length as usize - held;
        let mut last = None;
        while left > 0 {
            let room = self.engine.room(0);
            let wanted = left.min(room.len());
            let (got, end) = stream.fill(&mut room[..wanted]);
            last = room[..got].last().copied().or(last);
            left -= got;
            if left > 0 && !matches!(end, End::Full) {
                return false;
            }
        }
        last == Some(0)
    }

    /// Reads documents of one collection from a stream of BSON.
    pub(super) fn read_bson(
        &mut self,
        source: usize,
        file: FileId,
        slot: Slot,
        mut stream: Stream<'_>,
    ) {
        // The offset of the held bytes in the (decompressed) stream, and the number of documents
        // before them.
        let (mut offset, mut read) = match self.pull_bson(file, slot, &mut stream) {
            Ok(pulled) => pulled,
            Err(error) => return self.failed(file, &stream, 0, error),
        };
        let (mut held, mut counted) = (0, 0);
        loop {
            let room = self.engine.room(held);
            let (got, end) = stream.fill(&mut room[held..]);
            held += got;
            let allowance = self.allowance(slot);
            let mut hop = dump::hop(self.engine.held(held), allowance);
            self.engine.take(slot, file, offset, hop.bytes);
            self.table.entry(slot).taken += hop.documents;
            offset += hop.bytes as u64;
            held -= hop.bytes;
            read += hop.documents;
            let documents = hop.documents;
            if hop.next == Next::Limit {
                hop = dump::hop(self.engine.held(held), u64::MAX);
                self.engine.pass(hop.bytes);
                offset += hop.bytes as u64;
                held -= hop.bytes;
                counted += hop.documents;
            }
            self.advance(&mut stream, documents);

            if let Next::BadLength { length } = hop.next {
                if matches!(end, End::Full) && self.pass_oversized(&mut stream, held, length) {
                    offset += length as u64;
                    held = 0;
                    let bytes = length as usize;
                    self.troubles.add(file, &Trouble::TooLarge { at: offset, bytes });
                    continue;
                }
                self.troubles.add(file, &Trouble::BadLength { at: offset, length });
                break;
            }
            match end {
                End::Full => {}
                // If the user stopped the run, a missing end is expected.
                End::Eof if self.is_stopped() => {
                    self.sources[source].sampled = true;
                    break;
                }
                End::Eof => {
                    self.report_tail(file, offset, held, hop);
                    break;
                }
                End::Failed(error) => {
                    self.failed(file, &stream, offset + held as u64, error);
                    break;
                }
            }
            if self.is_stopped() {
                self.sources[source].sampled = true;
            }
            if self.is_stopped() || (counted > 0 && is_long(&stream)) {
                counted = estimate(&stream, read + counted).saturating_sub(read);
                break;
            }
            if let Next::Partial { needed } = hop.next {
                self.engine.make_room(held, needed);
            }
        }
        self.leave_unread(source, slot, counted);
    }

    /// The time at which reading has to end.
    fn until(&self) -> Option<Instant> {
        self.began.checked_add(self.request.max_time?)
    }

    /// Lets the profiling threads read the intact beginning of a file, if that is worthwhile;
    /// returns the number of bytes and documents.
    fn pull_bson(
        &mut self,
        file: FileId,
        slot: Slot,
        stream: &mut Stream<'_>,
    ) -> io::Result<(u64, u64)> {
        let is_worth_it = stream.raw_position().1.is_some_and(|bytes| self.engine.pulls(bytes));
        if !is_worth_it || self.request.sample.is_some() {
            return Ok((0, 0));
        }
        let Some(handle) = stream.take_file() else { return Ok((0, 0)) };
        let place = handle.try_clone()?;
        let (bytes, documents) = self.engine.pull(slot, file, handle, self.until());
        self.table.entry(slot).taken += documents;
        self.advanced += bytes;
        stream.go_on_at(&place, bytes)?;
        Ok((bytes, documents))
    }

    fn report_tail(&mut self, file: FileId, at: u64, have: usize, hop: Hop) {
        match hop.next {
            Next::Partial { .. } if have < 4 => {
                self.troubles.add(file, &Trouble::StrayTail { at, have });
            }
            Next::Partial { needed } => {
                self.troubles.add(file, &Trouble::CutShort { at, have, needed });
            }
            Next::End | Next::Limit | Next::BadLength { .. } => {}
        }
    }
}

/// Returns whether the rest is too long to be counted.
pub(super) fn is_long(stream: &Stream<'_>) -> bool {
    let (position, length) = stream.raw_position();
    length.is_some_and(|length| length.saturating_sub(position) > COUNTED)
}

/// Estimates the number of documents in a stream from the part that contained `documents`.
pub(super) fn estimate(stream: &Stream<'_>, documents: u64) -> u64 {
    match stream.raw_position() {
        (position, Some(length)) if position > 0 && length > position => {
            (documents as f64 * (length as f64 / position as f64)).round() as u64
        }
        _ => documents,
    }
}
