//! Reads bare words: `true` and the like, and the notation of mongosh and the old `mongo` shell.
//!
//! Supported are: `true`, `false`, `null`, `undefined`, `NaN`, `Infinity`, `/pattern/flags`,
//! `MinKey`, `MaxKey`, and calls, with or without `new`, of the functions listed in [`function`]
//! with literal arguments. Everything else is an error; nothing is evaluated.

use bson::raw::{RawBsonRef, RawDocument};

use super::convert::{self, Kind};
use super::error::{Error, is_word, offset, shorten};
use super::reader::{Names, Read, Reader, element};
use super::wrapper::inner_names;

/// The result of a function call.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Function {
    /// A value, from arguments in the order of `convert`.
    Make(Kind),
    /// A value, from arguments in the reverse order.
    MakeReversed(Kind),
    /// A value without arguments, and optionally without parentheses.
    Constant(u8),
    /// A document `{$ref, $id, $db}`.
    DbRef,
}

fn function(word: &[u8]) -> Option<Function> {
    Some(match word {
        b"ObjectId" | b"ObjectID" | b"ObjectId.createFromHexString" => {
            Function::Make(Kind::ObjectId)
        }
        b"ISODate" | b"Date" => Function::Make(Kind::Date),
        b"NumberInt" | b"Int32" => Function::Make(Kind::Int32),
        b"NumberLong" | b"Long" | b"Long.fromString" | b"Long.fromNumber" => {
            Function::Make(Kind::Int64)
        }
        b"Double" | b"NumberDouble" => Function::Make(Kind::Double),
        b"NumberDecimal" | b"Decimal128" | b"Decimal128.fromString" => {
            Function::Make(Kind::Decimal)
        }
        b"UUID" => Function::Make(Kind::Uuid),
        b"BinData" => Function::MakeReversed(Kind::Binary),
        b"HexData" => Function::MakeReversed(Kind::HexBinary),
        b"Binary.createFromBase64" => Function::Make(Kind::Binary),
        b"Binary.createFromHexString" => Function::Make(Kind::HexBinary),
        b"Timestamp" => Function::Make(Kind::Timestamp),
        b"RegExp" | b"BSONRegExp" => Function::Make(Kind::Regex),
        b"Code" => Function::Make(Kind::Code),
        b"BSONSymbol" | b"Symbol" => Function::Make(Kind::Symbol),
        b"DBPointer" => Function::Make(Kind::DbPointer),
        b"DBRef" => Function::DbRef,
        b"MinKey" => Function::Constant(element::MIN_KEY),
        b"MaxKey" => Function::Constant(element::MAX_KEY),
        _ => return None,
    })
}

impl<'i> Reader<'i> {
    /// Reads a value that begins with anything but a double quote, a bracket or a digit.
    #[inline(never)]
    pub(super) fn bare_value(&mut self, byte: u8) -> Read<u8> {
        let rest = self.input.get(self.pos..).unwrap_or_default();
        for (word, element, value) in [
            (&b"true"[..], element::BOOLEAN, 1),
            (b"false", element::BOOLEAN, 0),
            (b"null", element::NULL, 0),
        ] {
            let ends = rest.get(word.len()).is_none_or(|&after| !is_word(after));
            if ends && rest.starts_with(word) {
                self.pos += word.len();
                if element == element::BOOLEAN {
                    self.put(value);
                }
                return Ok(element);
            }
        }
        match byte {
            b'\'' => {
                self.pos += 1;
                self.string_in_single_quotes()
            }
            b'/' => self.regex(),
            b'+' | b'.' => self.long_number(),
            _ if is_word(byte) => self.word(),
            _ => Err(self.unexpected("a value")),
        }
    }

    fn word(&mut self) -> Read<u8> {
        let start = self.pos;
        let mut word = self.take_word()?;
        if word == b"new" {
            self.peek()?;
            word = self.take_word()?;
        }
        match word {
            b"undefined" => return Ok(element::UNDEFINED),
            b"NaN" | b"Infinity" => {
                let value = if word == b"NaN" { f64::NAN } else { f64::INFINITY };
                self.put_word(value.to_bits(), 8);
                return Ok(element::DOUBLE);
            }
            _ => {}
        }
        let Some(function) = function(word) else {
            let word = shorten(word);
            return Err(Box::new(Error::UnknownWord { at: offset(start), word }));
        };
        let called = self.peek()? == b'(';
        if let Function::Constant(element) = function
            && !called
        {
            return Ok(element);
        }
        if !called {
            return Err(self.unexpected("`(` after the name of a type"));
        }
        self.call(function, start)
    }

    /// Reads the word at `pos`, which may contain dots.
    fn take_word(&mut self) -> Read<&'i [u8]> {
        let rest = self.input.get(self.pos..).unwrap_or_default();
        let Some(length) = rest.iter().position(|&byte| !is_word(byte) && byte != b'.') else {
            return Err(self.unexpected_end());
        };
        self.pos += length;
        Ok(&rest[..length])
    }

    /// Reads the arguments of a call, with `pos` at the parenthesis, and writes its result.
    fn call(&mut self, function: Function, start: usize) -> Read<u8> {
        let arguments = self.pos;
        if let Function::Make(kind) = function {
            self.pos += 1;
            let byte = self.peek()?;
            let at = self.pos;
            if matches!(byte, b'"' | b'\'')
                && !matches!(kind, Kind::Binary | Kind::HexBinary | Kind::Regex)
            {
                let text = self.quoted(byte)?;
                if self.closed(b')')? {
                    return self.put_text(kind, &text, at);
                }
            }
        }
        self.pos = arguments;
        let slot = self.end;
        let names = if function == Function::DbRef { Names::DbRef } else { Names::Indexes };
        self.elements(b')', names)?;
        let parsed = RawDocument::from_bytes(self.written(slot));
        let mut values = parsed
            .iter()
            .flat_map(|document| document.iter())
            .filter_map(|item| item.ok().map(|(_, value)| value));
        let (first, second, third) = (values.next(), values.next(), values.next());
        let more = values.next().is_some();
        let kind = match function {
            Function::DbRef => {
                if second.is_none() || more {
                    let at = offset(start);
                    let found = if more { "more than three" } else { "fewer than two" };
                    return Err(Box::new(Error::InvalidValue {
                        at,
                        kind: "DBRef",
                        expected: "a collection, an identifier and, at most, a database",
                        found: found.to_owned(),
                    }));
                }
                return Ok(element::DOCUMENT);
            }
            Function::Constant(element) => {
                self.end = slot;
                return Ok(element);
            }
            Function::Make(kind) | Function::MakeReversed(kind) => kind,
        };
        let (a, b) = match (function, first) {
            (Function::MakeReversed(_), _) => (second, first),
            (_, Some(RawBsonRef::Document(inner))) if kind == Kind::Timestamp => {
                let [t, i] = inner_names(kind).map(|name| inner.get(name).ok().flatten());
                (t, i)
            }
            _ => (first, second),
        };
        let built = a.and_then(|a| convert::from_parts(kind, a, b));
        match built {
            Some(built) if third.is_none() => {
                self.end = slot;
                Ok(self.put_built(built))
            }
            _ => {
                let found = match (second, third) {
                    (_, Some(_)) => "more than two arguments".to_owned(),
                    (Some(_), _) => {
                        format!("{} and {}", convert::show(first), convert::show(second))
                    }
                    _ => convert::show(first),
                };
                Err(kind.invalid(start, found))
            }
        }
    }

    /// Reads a regular expression between slashes.
    fn regex(&mut self) -> Read<u8> {
        let start = self.pos;
        let mut pos = start + 1;
        let mut in_class = false;
        let end = loop {
            match self.input.get(pos) {
                None => return Err(self.unexpected_end()),
                Some(b'\n' | b'\r') => {
                    return Err(self.unexpected("a value"));
                }
                Some(b'\\') => pos += 1,
                Some(b'[') => in_class = true,
                Some(b']') => in_class = false,
                Some(b'/') if !in_class => break pos,
                Some(_) => {}
            }
            pos += 1;
        };
        let flags = self.input[end + 1..].iter().take_while(|b| b.is_ascii_alphabetic()).count();
        let pattern = &self.input[start + 1..end];
        let options = &self.input[end + 1..end + 1 + flags];
        self.check_utf8(start + 1, end)?;
        let Some(built) = convert::regex(pattern, options) else {
            let at = offset(start);
            return Err(Box::new(Error::NulCharacter { at, what: "a regular expression" }));
        };
        self.pos = end + 1 + flags;
        Ok(self.put_built(built))
    }
}
