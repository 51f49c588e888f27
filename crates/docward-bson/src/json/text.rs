//! Reads strings and quoted names: copies them while searching for their end.
//!
//! Nearly every string is short ASCII without a backslash, so that case is one loop of load, store
//! and test; all others continue in a loop that handles every case.

use std::borrow::Cow;

use super::error::{Error, offset, shorten};
use super::reader::{Read, Reader, element};
use super::swar;

/// The bytes in a quoted text that end the fast loop: its closing quote, a backslash, and non-ASCII
/// bytes.
#[inline(always)]
fn stops(word: u64, quote: u8) -> u64 {
    swar::equal(word, quote) | swar::equal(word, b'\\') | swar::high(word)
}

impl<'i> Reader<'i> {
    /// Reads a string value; the double quote was already read.
    #[inline(always)]
    pub(super) fn string(&mut self) -> Read<u8> {
        let slot = self.end;
        self.end += 4;
        let start = self.pos;
        if !self.plain::<false>() {
            self.text_from(start, b'"', false)?;
        }
        self.end_string(slot);
        Ok(element::STRING)
    }

    /// Reads a string value in single quotes; the quote was already read.
    pub(super) fn string_in_single_quotes(&mut self) -> Read<u8> {
        let slot = self.end;
        self.end += 4;
        self.text_in(b'\'', false)?;
        self.end_string(slot);
        Ok(element::STRING)
    }

    #[inline(always)]
    fn end_string(&mut self, slot: usize) {
        self.put(0);
        self.patch_length(slot, self.end - slot - 4);
    }

    /// Reads a field name without BSON's final NUL; the double quote was already read.
    #[inline(always)]
    pub(super) fn name(&mut self) -> Read<()> {
        let start = self.pos;
        if !self.plain::<true>() {
            self.text_from(start, b'"', true)?;
        }
        Ok(())
    }

    /// Reads a text in quotes of any kind; the first quote was already read.
    pub(super) fn text_in(&mut self, quote: u8, name: bool) -> Read<()> {
        self.text_from(self.pos, quote, name)
    }

    /// Copies plain text up to its double quote. Returns `false` if another character ends the
    /// copy.
    #[inline(always)]
    fn plain<const NAME: bool>(&mut self) -> bool {
        let (mut pos, mut end) = (self.pos, self.end);
        let plain = loop {
            let Some(word) = swar::load(self.input, pos) else {
                break false;
            };
            let mut stop = stops(word, b'"');
            if NAME {
                stop |= swar::equal(word, 0);
            }
            // Always a whole word: later writes overwrite the invalid rest.
            self.set_word(end, word);
            if stop == 0 {
                pos += 8;
                end += 8;
                continue;
            }
            let count = swar::first(stop);
            pos += count;
            end += count;
            break (word >> (8 * count)) as u8 == b'"';
        };
        self.pos = pos + usize::from(plain);
        self.end = end;
        plain
    }

    /// Copies a text that began at `start` from `pos` on, with all kinds of content.
    #[inline(never)]
    fn text_from(&mut self, start: usize, quote: u8, name: bool) -> Read<()> {
        // Validated as a whole at the end: escapes are ASCII in the input, so it is UTF-8 exactly
        // if everything between them is.
        let mut ascii = true;
        let first = self.end;
        loop {
            while let Some(word) = swar::load(self.input, self.pos) {
                ascii &= swar::high(word) == 0;
                let stop = swar::equal(word, quote) | swar::equal(word, b'\\');
                let count = if stop == 0 { 8 } else { swar::first(stop) };
                self.put_word(word, count);
                self.pos += count;
                if stop != 0 {
                    break;
                }
            }
            match self.input.get(self.pos) {
                None => return Err(self.unexpected_end()),
                Some(&byte) if byte == quote => break,
                Some(b'\\') => self.escape()?,
                Some(&byte) => {
                    ascii &= byte.is_ascii();
                    self.put(byte);
                    self.pos += 1;
                }
            }
        }
        if !ascii {
            self.check_utf8(start, self.pos)?;
        }
        // The fast loop stops at a NUL in a name, so there is none before `first`.
        if name && memchr::memchr(0, self.written(first)).is_some() {
            let at = offset(start);
            return Err(Box::new(Error::NulCharacter { at, what: "a field name" }));
        }
        self.pos += 1;
        Ok(())
    }

    /// Reads the escape at `pos`.
    fn escape(&mut self) -> Read<()> {
        let Some(&letter) = self.input.get(self.pos + 1) else {
            return Err(self.unexpected_end());
        };
        let byte = match letter {
            b'"' | b'\\' | b'/' | b'\'' => letter,
            b'b' => 0x08,
            b'f' => 0x0C,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            // Exists in JavaScript only; mongosh writes it.
            b'v' => 0x0B,
            b'0' => 0,
            b'u' => return self.unicode_escape(),
            b'x' => {
                let value = self.hexadecimal(self.pos + 2, 2)?;
                self.put_char(char::from(value as u8));
                self.pos += 4;
                return Ok(());
            }
            _ => return Err(self.invalid_escape(2)),
        };
        self.put(byte);
        self.pos += 2;
        Ok(())
    }

    fn unicode_escape(&mut self) -> Read<()> {
        let start = self.pos;
        let unit = self.hexadecimal(start + 2, 4)?;
        let lone = || Err(Box::new(Error::LoneSurrogate { at: offset(start), unit }));
        let (code, length) = match unit {
            0xD800..0xDC00 => {
                for (index, wanted) in [(6, b'\\'), (7, b'u')] {
                    match self.input.get(start + index) {
                        None => return Err(self.unexpected_end()),
                        Some(&byte) if byte == wanted => {}
                        Some(_) => return lone(),
                    }
                }
                let low = self.hexadecimal(start + 8, 4)?;
                if !(0xDC00..0xE000).contains(&low) {
                    return lone();
                }
                let pair = (u32::from(unit) - 0xD800) << 10 | (u32::from(low) - 0xDC00);
                (0x10000 + pair, 12)
            }
            _ => (u32::from(unit), 6),
        };
        let Some(character) = char::from_u32(code) else {
            return lone();
        };
        self.put_char(character);
        self.pos = start + length;
        Ok(())
    }

    /// Reads this many hexadecimal digits of an escape.
    fn hexadecimal(&self, from: usize, count: usize) -> Read<u16> {
        let mut value = 0;
        for index in from..from + count {
            let Some(&byte) = self.input.get(index) else {
                return Err(self.unexpected_end());
            };
            let Some(digit) = char::from(byte).to_digit(16) else {
                return Err(self.invalid_escape(count + 2));
            };
            value = value << 4 | digit as u16;
        }
        Ok(value)
    }

    #[cold]
    fn invalid_escape(&self, length: usize) -> Box<Error> {
        let end = (self.pos + length).min(self.input.len());
        let found = format!("`{}`", shorten(&self.input[self.pos..end]));
        Box::new(Error::InvalidEscape { at: offset(self.pos), found })
    }

    fn put_char(&mut self, character: char) {
        self.put_bytes(character.encode_utf8(&mut [0; 4]).as_bytes());
    }

    /// Reads a text in quotes without writing it; `pos` is at the quote.
    pub(super) fn quoted(&mut self, quote: u8) -> Read<Cow<'i, [u8]>> {
        let input = self.input;
        let start = self.pos + 1;
        let mut pos = start;
        while let Some(word) = swar::load(input, pos) {
            let stop = stops(word, quote);
            if stop == 0 {
                pos += 8;
                continue;
            }
            pos += swar::first(stop);
            if input[pos] == quote {
                self.pos = pos + 1;
                return Ok(Cow::Borrowed(&input[start..pos]));
            }
            break;
        }
        let end = self.end;
        self.pos = start;
        self.text_in(quote, false)?;
        let text = self.written(end).to_vec();
        self.end = end;
        Ok(Cow::Owned(text))
    }
}
