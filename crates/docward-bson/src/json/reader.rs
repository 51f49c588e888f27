//! Reads one document: the grammar of objects and arrays, and the BSON bytes.
//!
//! There is no intermediate tree: values are written while they are read, and lengths and types
//! that are known only later are patched in. The work buffer is longer than its content and is
//! written by index. This combines the bounds check and the capacity check, and strings can be
//! copied eight bytes at a time regardless of where they end.
//!
//! Not included: strings (`text`), numbers (`number`), typed values such as `$oid` (`wrapper`),
//! bare words (`shell`), and the text between documents (`stream`).

use super::error::{Error, describe, is_word, offset};
use super::stream::MAX_DEPTH;
use crate::walk::MAX_DOCUMENT;

/// The result of reading. The error is boxed, so that a success fits into a register.
pub(super) type Read<T> = Result<T, Box<Error>>;

/// The type bytes of BSON elements.
pub(super) mod element {
    pub(crate) const DOUBLE: u8 = 0x01;
    pub(crate) const STRING: u8 = 0x02;
    pub(crate) const DOCUMENT: u8 = 0x03;
    pub(crate) const ARRAY: u8 = 0x04;
    pub(crate) const BINARY: u8 = 0x05;
    pub(crate) const UNDEFINED: u8 = 0x06;
    pub(crate) const OBJECT_ID: u8 = 0x07;
    pub(crate) const BOOLEAN: u8 = 0x08;
    pub(crate) const DATE: u8 = 0x09;
    pub(crate) const NULL: u8 = 0x0A;
    pub(crate) const REGEX: u8 = 0x0B;
    pub(crate) const DB_POINTER: u8 = 0x0C;
    pub(crate) const CODE: u8 = 0x0D;
    pub(crate) const SYMBOL: u8 = 0x0E;
    pub(crate) const CODE_WITH_SCOPE: u8 = 0x0F;
    pub(crate) const INT32: u8 = 0x10;
    pub(crate) const TIMESTAMP: u8 = 0x11;
    pub(crate) const INT64: u8 = 0x12;
    pub(crate) const DECIMAL: u8 = 0x13;
    pub(crate) const MIN_KEY: u8 = 0xFF;
    pub(crate) const MAX_KEY: u8 = 0x7F;
}

/// The minimum room when the buffer grows: more than any fixed-size write.
const ROOM: usize = 64;

/// Reads one document from `input` and writes it to the work buffer.
pub(super) struct Reader<'i> {
    pub(super) input: &'i [u8],
    /// The next byte to read.
    pub(super) pos: usize,
    /// The work buffer; its valid content ends at `end`.
    pub(super) buf: Vec<u8>,
    /// The position of the next write. It may be past the end of `buf`, which grows on writing.
    pub(super) end: usize,
    /// The start of the document, for errors.
    start: usize,
    depth: usize,
}

impl<'i> Reader<'i> {
    /// Creates a reader for the document whose `{` is at `pos`. `buf` is any vector, to reuse its
    /// memory.
    pub(super) fn new(input: &'i [u8], pos: usize, buf: Vec<u8>) -> Self {
        Self { input, pos, buf, end: 0, start: pos, depth: 0 }
    }

    /// Reads the document. It is never a typed value itself: `{"$oid": "…"}` as a whole document is
    /// a document with the field `$oid`.
    pub(super) fn top(&mut self) -> Read<()> {
        let open = self.pos;
        self.pos += 1;
        self.fields(open)
    }

    /// Reads fields up to and including the `}`; the `{` at `open` was already read.
    pub(super) fn fields(&mut self, open: usize) -> Read<()> {
        self.enter(open)?;
        let slot = self.end;
        self.end += 4;
        let mut byte = self.peek()?;
        loop {
            let kind = self.end;
            self.end += 1;
            match byte {
                b'"' => {
                    self.pos += 1;
                    self.name()?;
                }
                b'}' => {
                    self.end = kind;
                    break;
                }
                _ => self.bare_name(byte)?,
            }
            self.put(0);
            if self.peek()? != b':' {
                return Err(self.unexpected("`:` after the field name"));
            }
            self.pos += 1;
            let byte_of_value = self.peek()?;
            let element = self.value(byte_of_value)?;
            self.patch_byte(kind, element);
            self.check_size()?;
            byte = self.peek()?;
            match byte {
                b',' => {
                    self.pos += 1;
                    byte = self.peek()?;
                }
                b'}' => break,
                _ => return Err(self.unexpected("`,` or `}` after the value")),
            }
        }
        self.leave(slot);
        Ok(())
    }

    /// Reads array elements up to and including `close`; `pos` is at the opening bracket.
    pub(super) fn elements(&mut self, close: u8, names: Names) -> Read<()> {
        self.enter(self.pos)?;
        self.pos += 1;
        let slot = self.end;
        self.end += 4;
        let mut index = 0;
        let mut byte = self.peek()?;
        while byte != close {
            let kind = self.end;
            match names {
                Names::Indexes => self.put_index(index),
                Names::DbRef => {
                    self.put(0);
                    self.put_bytes(DB_REF_NAMES.get(index as usize).unwrap_or(&&b"extra\0"[..]));
                }
            }
            index += 1;
            let element = self.value(byte)?;
            self.patch_byte(kind, element);
            self.check_size()?;
            byte = self.peek()?;
            if byte == b',' {
                self.pos += 1;
                byte = self.peek()?;
            } else if byte != close {
                return Err(self.unexpected(if close == b']' {
                    "`,` or `]` after the value"
                } else {
                    "`,` or `)` after the argument"
                }));
            }
        }
        self.leave(slot);
        Ok(())
    }

    /// Reads the value that begins with `byte`, the one at `pos`, and returns its type.
    #[inline(always)]
    pub(super) fn value(&mut self, byte: u8) -> Read<u8> {
        match byte {
            b'"' => {
                self.pos += 1;
                self.string()
            }
            b'0'..=b'9' | b'-' => self.number(),
            b'{' => self.object(),
            b'[' => {
                self.elements(b']', Names::Indexes)?;
                Ok(element::ARRAY)
            }
            _ => self.bare_value(byte),
        }
    }

    /// Reads an object that is a value: a document or, by its first field, a typed value.
    fn object(&mut self) -> Read<u8> {
        let open = self.pos;
        self.pos += 1;
        let byte = self.peek()?;
        let second = self.input.get(self.pos + 1);
        if byte == b'$' || (second == Some(&b'$') && (byte == b'"' || byte == b'\'')) {
            return self.wrapped(open);
        }
        self.fields(open)?;
        Ok(element::DOCUMENT)
    }

    /// Refuses a document as soon as it is too large, rather than after its conversion.
    #[inline(always)]
    fn check_size(&self) -> Read<()> {
        if self.end <= MAX_DOCUMENT { Ok(()) } else { Err(self.too_large()) }
    }

    #[cold]
    fn too_large(&self) -> Box<Error> {
        Box::new(Error::TooLarge { at: offset(self.start), limit: MAX_DOCUMENT })
    }

    /// Opens a level.
    #[inline(always)]
    fn enter(&mut self, open: usize) -> Read<()> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            let at = offset(open);
            return Err(Box::new(Error::TooDeep { at, limit: MAX_DEPTH }));
        }
        Ok(())
    }

    /// Closes a level: skips the bracket, ends the document and writes its length.
    #[inline(always)]
    fn leave(&mut self, slot: usize) {
        self.pos += 1;
        self.depth -= 1;
        self.put(0);
        self.patch_length(slot, self.end - slot);
    }

    /// The next byte that is neither whitespace nor comment. `pos` is moved to it.
    #[inline(always)]
    pub(super) fn peek(&mut self) -> Read<u8> {
        match self.input.get(self.pos) {
            Some(&byte) if byte > b' ' && byte != b'/' => Ok(byte),
            _ => self.peek_past(),
        }
    }

    /// [`Self::peek`] if something has to be skipped first.
    fn peek_past(&mut self) -> Read<u8> {
        match blank(self.input, self.pos) {
            Blank::Until(pos) => self.pos = pos,
            Blank::Open(_) => return Err(self.unexpected_end()),
        }
        match self.input.get(self.pos) {
            Some(&byte) => Ok(byte),
            None => Err(self.unexpected_end()),
        }
    }

    /// Reads a field name that does not begin with a double quote.
    #[cold]
    fn bare_name(&mut self, byte: u8) -> Read<()> {
        if byte == b'\'' {
            self.pos += 1;
            return self.text_in(b'\'', true);
        }
        let start = self.pos;
        let rest = &self.input[start..];
        let Some(length) = rest.iter().position(|&b| !is_word(b)) else {
            return Err(self.unexpected_end());
        };
        if length == 0 {
            return Err(self.unexpected("a field name or `}`"));
        }
        let name = &rest[..length];
        self.check_utf8(start, start + length)?;
        self.pos += length;
        self.put_bytes(name);
        Ok(())
    }

    /// Checks that a piece of the input is UTF-8.
    pub(super) fn check_utf8(&self, start: usize, end: usize) -> Read<()> {
        match std::str::from_utf8(&self.input[start..end]) {
            Ok(_) => Ok(()),
            Err(error) => {
                let wrong = start + error.valid_up_to();
                let byte = self.input.get(wrong).copied().unwrap_or_default();
                Err(Box::new(Error::InvalidUtf8 { at: offset(wrong), byte }))
            }
        }
    }

    /// The error that the input ends inside the document.
    #[cold]
    pub(super) fn unexpected_end(&self) -> Box<Error> {
        Box::new(Error::UnexpectedEnd {
            at: offset(self.input.len()),
            what: "document",
            began: offset(self.start),
        })
    }

    /// The error for content at `pos` that differs from `expected`.
    #[cold]
    pub(super) fn unexpected(&self, expected: &'static str) -> Box<Error> {
        let found = describe(self.input, self.pos);
        Box::new(Error::Unexpected { at: offset(self.pos), expected, found })
    }

    /// The bytes written from `from` on.
    pub(super) fn written(&self, from: usize) -> &[u8] {
        // The end may be past the buffer if only room for a length was written.
        self.buf.get(from..self.end).unwrap_or_default()
    }

    /// Writes a byte.
    #[inline(always)]
    pub(super) fn put(&mut self, byte: u8) {
        if self.end >= self.buf.len() {
            self.grow(self.end);
        }
        self.buf[self.end] = byte;
        self.end += 1;
    }

    /// Writes eight bytes, of which `used` are valid.
    #[inline(always)]
    pub(super) fn put_word(&mut self, word: u64, used: usize) {
        self.set_word(self.end, word);
        self.end += used;
    }

    /// Writes eight bytes at `at`.
    #[inline(always)]
    pub(super) fn set_word(&mut self, at: usize, word: u64) {
        let bytes = word.to_le_bytes();
        match self.buf.get_mut(at..).and_then(|rest| rest.first_chunk_mut()) {
            Some(room) => *room = bytes,
            None => {
                self.grow(at);
                self.buf[at..at + 8].copy_from_slice(&bytes);
            }
        }
    }

    /// Writes bytes.
    pub(super) fn put_bytes(&mut self, bytes: &[u8]) {
        if self.end + bytes.len() > self.buf.len() {
            self.grow(self.end + bytes.len());
        }
        self.buf[self.end..self.end + bytes.len()].copy_from_slice(bytes);
        self.end += bytes.len();
    }

    /// Writes room for a type, an array index as text, and its final NUL.
    #[inline(always)]
    fn put_index(&mut self, index: u32) {
        let digit = |value: u32| u64::from(b'0') + u64::from(value);
        if index < 10 {
            self.put_word(digit(index) << 8, 3);
        } else if index < 100 {
            self.put_word(digit(index / 10) << 8 | digit(index % 10) << 16, 4);
        } else {
            self.put_long_index(index);
        }
    }

    fn put_long_index(&mut self, index: u32) {
        let mut text = [0; 10];
        let mut first = text.len();
        let mut rest = index;
        while rest > 0 {
            first -= 1;
            text[first] = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        self.put(0);
        self.put_bytes(&text[first..]);
        self.put(0);
    }

    /// Changes a byte written before.
    #[inline(always)]
    fn patch_byte(&mut self, at: usize, byte: u8) {
        if let Some(slot) = self.buf.get_mut(at) {
            *slot = byte;
        }
    }

    /// Writes a length into the four bytes reserved for it. [`super::MAX_TEXT`] bounds it.
    #[inline(always)]
    pub(super) fn patch_length(&mut self, at: usize, length: usize) {
        if let Some(slot) = self.buf.get_mut(at..at + 4) {
            slot.copy_from_slice(&(length as u32).to_le_bytes());
        }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, end: usize) {
        let length = (end + ROOM).max(1024).max(2 * self.buf.len());
        self.buf.resize(length, 0);
    }
}

/// The names of array elements.
#[derive(Clone, Copy)]
pub(super) enum Names {
    /// Their index, as in BSON arrays.
    Indexes,
    /// The fields of a DBRef.
    DbRef,
}

const DB_REF_NAMES: [&[u8]; 3] = [b"$ref\0", b"$id\0", b"$db\0"];

/// The end of whitespace and comments.
pub(super) enum Blank {
    /// At something else, or at the end of the input.
    Until(usize),
    /// No end: the comment that begins here is not closed, or the text here may still become a
    /// comment.
    Open(usize),
}

/// Skips whitespace and comments.
pub(super) fn blank(input: &[u8], mut pos: usize) -> Blank {
    loop {
        match input.get(pos) {
            Some(b' ' | b'\t' | b'\n' | b'\r' | 0x0B | 0x0C) => pos += 1,
            Some(b'/') => {
                let body = input.get(pos + 2..).unwrap_or_default();
                let length = match input.get(pos + 1) {
                    None => None,
                    Some(b'/') => memchr::memchr(b'\n', body).map(|end| end + 1),
                    Some(b'*') => memchr::memmem::find(body, b"*/").map(|end| end + 2),
                    Some(_) => return Blank::Until(pos),
                };
                match length {
                    Some(length) => pos += 2 + length,
                    None => return Blank::Open(pos),
                }
            }
            _ => return Blank::Until(pos),
        }
    }
}
