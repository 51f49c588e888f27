//! JSON of every dialect, converted to BSON.

use docward_bson::{
    dump::MAX_DOCUMENT,
    json::{MAX_TEXT, Parser, Step},
};

use super::{
    Reader,
    bson::{estimate, is_long},
};
use crate::{
    engine::{FileId, Slot},
    examine::BLOCK,
    stream::{End, Stream},
    trouble::Trouble,
};

/// The initial size of the text buffer; it grows for a document that does not fit.
const TEXT: usize = 1024 * 1024;

impl Reader<'_, '_, '_> {
    /// Reads documents of one collection from a stream of text.
    pub(super) fn read_json(
        &mut self,
        source: usize,
        file: FileId,
        slot: Slot,
        mut stream: Stream<'_>,
    ) {
        let mut text = std::mem::take(&mut self.text);
        text.resize(TEXT.max(text.len()), 0);
        let mut parser = Parser::new();
        let (mut held, mut read, mut counted) = (0, 0, 0);
        // The bytes since the last document, good or bad.
        let mut idle = 0;
        let mut allowance = self.allowance(slot);
        loop {
            let (got, end) = stream.fill(&mut text[held..]);
            held += got;
            // A failed or stopped stream may end anywhere, so its end is not checked.
            let is_end = matches!(end, End::Eof) && !self.is_stopped();
            let (mut at, mut documents, mut ended) = (0, 0, false);
            loop {
                let block = self.engine.writer();
                let before = block.len();
                match parser.step(&text[at..held], is_end, block) {
                    Step::Document { consumed } => {
                        (at, idle) = (at + consumed, 0);
                        let bytes = block.len() - before;
                        if bytes > MAX_DOCUMENT {
                            block.truncate(before);
                            let at = parser.place().offset;
                            self.troubles.add(file, &Trouble::TooLarge { at, bytes });
                        } else if allowance == 0 {
                            block.truncate(before);
                            counted += 1;
                        } else {
                            allowance -= 1;
                            documents += 1;
                            self.engine.wrote(slot, file);
                        }
                    }
                    Step::Failed { consumed, error } => {
                        (at, idle) = (at + consumed, 0);
                        self.troubles.add(file, &Trouble::Json(error.into()));
                    }
                    Step::NeedMore { consumed } => {
                        (at, idle) = (at + consumed, idle + consumed);
                        break;
                    }
                    Step::End => {
                        ended = true;
                        break;
                    }
                }
            }
            self.table.entry(slot).taken += documents;
            read += documents;
            self.advance(&mut stream, documents);
            if ended {
                break;
            }
            if idle > MAX_TEXT {
                let at = parser.place().offset;
                self.troubles.add(file, &Trouble::NoMoreDocuments { at, bytes: idle });
                break;
            }
            match end {
                End::Full => {}
                End::Eof => break,
                End::Failed(error) => {
                    let at = parser.place().offset + (held - at) as u64;
                    self.failed(file, &stream, at, error);
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
            text.copy_within(at..held, 0);
            held -= at;
            if held > text.len() / 2 {
                // The text of a document is bounded, and so is the buffer.
                text.resize((text.len() * 2).min(MAX_TEXT + 2 * TEXT), 0);
            }
        }
        self.leave_unread(source, slot, counted);
        if text.len() > BLOCK {
            text.truncate(TEXT);
            text.shrink_to(TEXT);
        }
        self.text = text;
    }
}
