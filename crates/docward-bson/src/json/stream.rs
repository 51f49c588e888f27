//! Reads the stream: the text between documents, and the positions of everything in it.
//!
//! Not included: the content of documents (`reader`).

use super::error::{Error, LOOKAHEAD, Place, describe, is_word, offset};
use super::reader::{Blank, Reader, blank};
use super::skip::Skip;

/// The maximum nesting depth of documents and arrays. MongoDB stores 100.
pub const MAX_DEPTH: usize = 200;

/// The maximum number of bytes of text in one document. MongoDB stores 16 MiB of BSON, and the
/// longest notation, canonical Extended JSON of small numbers, takes less than four times as much.
///
/// It also limits how much callers have to buffer, and keeps every length within BSON's 31 bits: no
/// text becomes more than eight times as long.
pub const MAX_TEXT: usize = 64 << 20;

/// The number of bytes of work space kept between documents: enough for the largest that MongoDB
/// stores.
const KEPT: usize = 64 << 20;

/// Splits a stream of text into documents and converts each to BSON.
///
/// Documents may follow one another, with or without line ends or commas between them, or be in a
/// top-level array. Comments, whitespace and a byte order mark at the start are skipped.
///
/// ```
/// use docward_bson::json::{Parser, Step};
///
/// let mut rest = &b"{\"a\": 1}\n{oops}\n{\"a\": ObjectId('507f1f77bcf86cd799439011')}"[..];
/// let (mut parser, mut out) = (Parser::new(), Vec::new());
/// let (mut good, mut bad) = (0, 0);
/// loop {
///     match parser.step(rest, true, &mut out) {
///         Step::Document { consumed } => {
///             good += 1;
///             rest = &rest[consumed..];
///         }
///         Step::Failed { consumed, error } => {
///             assert_eq!(error.place().line, 2);
///             bad += 1;
///             rest = &rest[consumed..];
///         }
///         Step::NeedMore { .. } => unreachable!("there is no more"),
///         Step::End => break,
///     }
/// }
/// assert_eq!((good, bad), (2, 1));
/// ```
#[derive(Debug)]
pub struct Parser {
    /// The number of bytes consumed.
    offset: u64,
    /// The number of line ends consumed.
    lines: u64,
    /// The start of the current line.
    line_start: u64,
    /// True if the current line contains only spaces so far.
    line_is_blank: bool,
    /// True if the byte order mark was looked for.
    started: bool,
    /// The start of the top-level array that contains the next document.
    array: Option<Place>,
    /// The input that remains to be skipped.
    skip: Option<Skip>,
    /// Work space, kept to reuse its memory.
    buf: Vec<u8>,
}

/// The result of [`Parser::step`].
///
/// `consumed` is the number of bytes processed: the next step has to begin after them.
#[derive(Debug)]
pub enum Step {
    /// A document was read.
    Document {
        /// The number of bytes processed.
        consumed: usize,
    },
    /// The input contains no complete document, and more may follow.
    ///
    /// The next step begins with the document again. Callers should therefore offer twice as much
    /// each time, to keep the total effort proportional to the length of the document. They never
    /// have to offer much more than [`MAX_TEXT`].
    NeedMore {
        /// The number of bytes processed.
        consumed: usize,
    },
    /// Invalid input.
    Failed {
        /// The number of bytes processed. Reading continues after them: at the next document if it
        /// can be found.
        consumed: usize,
        /// The error.
        error: Error,
    },
    /// The stream has ended.
    End,
}

/// The next item in the stream.
enum Next {
    Document(usize),
    NeedMore(usize),
    End,
    /// An error between documents: its position, the error, and the input to skip from there.
    Failed(usize, Error, Skip),
}

impl Default for Parser {
    fn default() -> Self {
        Self {
            offset: 0,
            lines: 0,
            line_start: 0,
            line_is_blank: true,
            started: false,
            array: None,
            skip: None,
            buf: Vec::new(),
        }
    }
}

impl Parser {
    /// Creates a parser for the start of a stream.
    pub fn new() -> Self {
        Self::default()
    }

    /// The position of the next byte of input.
    pub fn place(&self) -> Place {
        Place {
            offset: self.offset,
            line: self.lines + 1,
            column: self.offset - self.line_start + 1,
        }
    }

    /// Reads the next document from `input`, the available unread part of the stream, and appends
    /// it to `out`. If no document was read, `out` stays unchanged.
    ///
    /// `eof` means that nothing follows `input`. The result is then never [`Step::NeedMore`].
    pub fn step(&mut self, input: &[u8], eof: bool, out: &mut Vec<u8>) -> Step {
        let mut from = 0;
        if let Some(skip) = &mut self.skip {
            match skip.run(input) {
                Some(end) => {
                    self.line_is_blank = skip.is_at_line_start();
                    self.skip = None;
                    from = end;
                }
                None if eof => return self.end(input),
                None => {
                    self.advance(input);
                    return Step::NeedMore { consumed: input.len() };
                }
            }
        }
        match self.next(input, from, eof) {
            Next::Document(start) => self.document(input, start, eof, out),
            Next::NeedMore(pos) if input.len() - pos > MAX_TEXT => {
                let place = self.place_of(input, pos);
                self.advance(input);
                let error = Error::TooLong { at: place, what: "comment", limit: MAX_TEXT };
                Step::Failed { consumed: input.len(), error }
            }
            Next::NeedMore(pos) => {
                self.advance(&input[..pos]);
                Step::NeedMore { consumed: pos }
            }
            Next::End => self.end(input),
            Next::Failed(pos, error, skip) => self.fail(input, pos, error, skip),
        }
    }

    /// Ends the stream; `input` is the rest, without a further document.
    fn end(&mut self, input: &[u8]) -> Step {
        let at = self.place_of(input, input.len());
        self.advance(input);
        self.skip = None;
        match self.array.take() {
            // Every document of the array was returned, but its missing end is an error that
            // callers should report.
            Some(began) => {
                let error = Error::UnexpectedEnd { at, what: "array", began };
                Step::Failed { consumed: input.len(), error }
            }
            None => Step::End,
        }
    }

    /// Finds the next document in `input` from `pos` on.
    fn next(&mut self, input: &[u8], mut pos: usize, eof: bool) -> Next {
        const MARK: &[u8] = b"\xEF\xBB\xBF";
        if !self.started {
            if !eof && input.len() < MARK.len() && MARK.starts_with(input) {
                return Next::NeedMore(0);
            }
            self.started = true;
            if input.starts_with(MARK) {
                // Editors do not show it as a part of the line.
                self.line_start = MARK.len() as u64;
                pos = MARK.len();
            }
        }
        loop {
            let outcome = blank(input, pos);
            let (Blank::Until(end) | Blank::Open(end)) = outcome;
            self.note_blank(&input[pos..end]);
            pos = end;
            if let Blank::Open(_) = outcome {
                if !eof {
                    return Next::NeedMore(pos);
                }
                match input.get(pos + 1) {
                    // A comment at the end needs no line end.
                    Some(b'/') => return Next::End,
                    Some(b'*') => {
                        let (at, began) = (offset(input.len()), offset(pos));
                        let error = Error::UnexpectedEnd { at, what: "comment", began };
                        let skip = Skip::other(self.array.is_some(), self.indent(input, pos));
                        return Next::Failed(pos, error, skip);
                    }
                    _ => {}
                }
            }
            match input.get(pos) {
                Some(b'{') => return Next::Document(pos),
                Some(b',') => {}
                Some(b'[') if self.array.is_none() => {
                    self.array = Some(self.place_of(input, pos));
                }
                Some(b']') if self.array.is_some() => self.array = None,
                Some(_) if !eof && input.len() - pos < LOOKAHEAD => return Next::NeedMore(pos),
                Some(_) => {
                    let found = describe(input, pos);
                    let error = Error::NotADocument { at: offset(pos), found };
                    let skip = Skip::other(self.array.is_some(), self.indent(input, pos));
                    return Next::Failed(pos, error, skip);
                }
                None if eof => return Next::End,
                None => return Next::NeedMore(pos),
            }
            self.line_is_blank = false;
            pos += 1;
        }
    }

    /// Reads the document that begins at `start`.
    fn document(&mut self, input: &[u8], start: usize, eof: bool, out: &mut Vec<u8>) -> Step {
        let limit = start.saturating_add(MAX_TEXT).min(input.len());
        let mut reader = Reader::new(&input[..limit], start, std::mem::take(&mut self.buf));
        let outcome = reader.top();
        let (end, length) = (reader.pos, reader.end);
        self.buf = reader.buf;
        let error = match outcome {
            Ok(()) => {
                out.extend_from_slice(self.buf.get(..length).unwrap_or_default());
                if self.buf.len() > KEPT {
                    self.buf = Vec::new();
                }
                self.advance(&input[..end]);
                self.line_is_blank = false;
                return Step::Document { consumed: end };
            }
            Err(error) => *error,
        };
        let indent = self.indent(input, start);
        let skip = Skip::document(self.array.is_some(), indent);
        if matches!(error, Error::UnexpectedEnd { .. }) && limit < input.len() {
            let at = offset(start);
            let error = Error::TooLong { at, what: "document", limit: MAX_TEXT };
            return self.fail(input, start, error, skip);
        }
        // The message of an error may depend on a few bytes after its position.
        let wrong = (error.place().offset as usize).min(limit);
        let undecided = matches!(error, Error::UnexpectedEnd { .. }) || limit - wrong < LOOKAHEAD;
        if undecided && !eof && input.len() - start <= MAX_TEXT {
            self.advance(&input[..start]);
            return Step::NeedMore { consumed: start };
        }
        // A word or number that the end of the piece splits is not an error in itself.
        let is_cut = limit == input.len()
            && input[wrong..].iter().all(|&byte| is_word(byte) || b"+-.\\".contains(&byte));
        let error = if is_cut {
            let (at, began) = (offset(input.len()), offset(start));
            Error::UnexpectedEnd { at, what: "document", began }
        } else {
            error
        };
        self.fail(input, start, error, skip)
    }

    /// Reports an error whose positions are offsets into `input`, and skips from `pos` on.
    fn fail(&mut self, input: &[u8], pos: usize, mut error: Error, mut skip: Skip) -> Step {
        error.relocate(|offset| self.place_of(input, offset as usize));
        let mut consumed = pos;
        self.line_is_blank = false;
        match skip.run(&input[pos..]) {
            Some(length) => {
                consumed += length;
                self.line_is_blank = skip.is_at_line_start();
            }
            None => {
                consumed = input.len();
                self.skip = Some(skip);
                // The enclosing array also ends there, for the same reason.
                if matches!(error, Error::UnexpectedEnd { .. }) {
                    self.array = None;
                }
            }
        }
        self.advance(&input[..consumed]);
        Step::Failed { consumed, error }
    }

    /// Tracks whitespace and comments that were skipped.
    fn note_blank(&mut self, passed: &[u8]) {
        if let Some(last) = memchr::memrchr(b'\n', passed) {
            self.line_is_blank = is_blank(&passed[last..]);
        } else if !is_blank(passed) {
            self.line_is_blank = false;
        }
    }

    /// The indentation of `pos`, if only spaces precede it on its line; else 0.
    fn indent(&self, input: &[u8], pos: usize) -> u64 {
        if self.line_is_blank { self.place_of(input, pos).column - 1 } else { 0 }
    }

    /// The position of a byte of `input`, which begins at the current position of the stream.
    fn place_of(&self, input: &[u8], pos: usize) -> Place {
        let before = &input[..pos.min(input.len())];
        let offset = self.offset + before.len() as u64;
        let lines = memchr::memchr_iter(b'\n', before).count() as u64;
        let line_start = match memchr::memrchr(b'\n', before) {
            Some(last) => self.offset + last as u64 + 1,
            None => self.line_start,
        };
        Place { offset, line: self.lines + lines + 1, column: offset - line_start + 1 }
    }

    /// Advances past `consumed`.
    fn advance(&mut self, consumed: &[u8]) {
        let lines = memchr::memchr_iter(b'\n', consumed).count() as u64;
        if lines > 0 {
            self.lines += lines;
            let last = memchr::memrchr(b'\n', consumed).unwrap_or_default();
            self.line_start = self.offset + last as u64 + 1;
        }
        self.offset += consumed.len() as u64;
    }
}

fn is_blank(bytes: &[u8]) -> bool {
    bytes.iter().all(u8::is_ascii_whitespace)
}

/// Converts a text that is a single document to BSON.
///
/// Whitespace and comments around it are permitted; anything else is an error.
pub fn parse_one(text: &str) -> Result<Vec<u8>, Error> {
    let mut parser = Parser::new();
    let mut out = Vec::new();
    let input = text.as_bytes();
    let rest = match parser.step(input, true, &mut out) {
        Step::Document { consumed } => &input[consumed..],
        Step::Failed { error, .. } => return Err(error),
        Step::NeedMore { .. } | Step::End => {
            let at = parser.place();
            let found = "the end of the input".to_owned();
            return Err(Error::NotADocument { at, found });
        }
    };
    let unexpected =
        |at, found| Err(Error::Unexpected { at, expected: "nothing after the document", found });
    let end = match blank(rest, 0) {
        Blank::Until(end) if end == rest.len() => return Ok(out),
        Blank::Open(begin) if rest[begin..].starts_with(b"//") => return Ok(out),
        Blank::Until(end) | Blank::Open(end) => end,
    };
    unexpected(parser.place_of(rest, end), describe(rest, end))
}
