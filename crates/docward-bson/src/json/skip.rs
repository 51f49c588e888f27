//! Finds the position to continue reading from after invalid input.
//!
//! The skipped input is invalid in an unknown place, so nothing in it is reliable: a quote or a
//! bracket may be missing. The first of two signs decides:
//!
//! - the bracket that closes the broken document by simple counting
//! - a line that begins with `{`, indented at most as far as the broken document
//!
//! The second also applies inside an apparent string or comment, because an unterminated one
//! swallows the following documents.
//!
//! Not included: reporting. The stream may be split anywhere within the skipped input, so this is a
//! state machine that continues with the next piece.

/// The kind of the skipped input, and the state at the end of the last piece.
#[derive(Debug)]
pub(super) struct Skip {
    /// True for a broken document, false for other input that is not a document.
    document: bool,
    in_array: bool,
    /// The maximum indentation of a `{` at the start of a line that begins the next document.
    indent: u64,
    braces: u32,
    brackets: u32,
    state: State,
    /// The number of spaces at the start of this line, as long as it contains nothing else.
    blanks: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    String(u8),
    Escape(u8),
    /// After a slash that may begin a comment.
    Slash,
    LineComment,
    Comment,
    /// After a star that may end a comment.
    Star,
}

impl Skip {
    /// Skips a broken document, starting at its `{`.
    pub(super) fn document(in_array: bool, indent: u64) -> Self {
        Self {
            document: true,
            in_array,
            indent,
            braces: 0,
            brackets: 0,
            state: State::Open,
            blanks: None,
        }
    }

    /// Skips other input: up to the end of its line or, in an array, of the element.
    pub(super) fn other(in_array: bool, indent: u64) -> Self {
        Self { document: false, ..Self::document(in_array, indent) }
    }

    /// Skips input. `Some` is the position to continue from; `None` if all of `input` is skipped
    /// and possibly more.
    pub(super) fn run(&mut self, input: &[u8]) -> Option<usize> {
        for (index, &byte) in input.iter().enumerate() {
            match byte {
                b'\n' => {
                    self.blanks = Some(0);
                    if self.ends_at_line_end() {
                        return Some(index);
                    }
                }
                b' ' | b'\t' | b'\r' => {
                    if let Some(blanks) = &mut self.blanks {
                        *blanks += 1;
                    }
                }
                b'{' if self.blanks.is_some_and(|blanks| blanks <= self.indent) => {
                    return Some(index);
                }
                _ => self.blanks = None,
            }
            if let Some(end) = self.byte(byte) {
                return Some(index + end);
            }
        }
        None
    }

    /// Returns whether the current line contains only spaces so far.
    pub(super) fn is_at_line_start(&self) -> bool {
        self.blanks.is_some()
    }

    fn is_flat(&self) -> bool {
        self.braces == 0 && self.brackets == 0
    }

    fn ends_at_line_end(&self) -> bool {
        let between = matches!(self.state, State::Open | State::Slash | State::LineComment);
        !self.document && self.is_flat() && between
    }

    /// Processes one byte. `Some(0)` if the end is before it, `Some(1)` if after it.
    fn byte(&mut self, byte: u8) -> Option<usize> {
        self.state = match (self.state, byte) {
            (State::Open, b'"' | b'\'') => State::String(byte),
            (State::Open, b'/') => State::Slash,
            (State::Open, _) | (State::Slash, b'"' | b'\'' | b'{' | b'}' | b'[' | b']' | b',') => {
                self.state = State::Open;
                return self.open(byte);
            }
            (State::String(quote), b'\\') => State::Escape(quote),
            (State::String(quote), _) if byte == quote => State::Open,
            (State::Escape(quote), _) => State::String(quote),
            (State::Slash, b'/') => State::LineComment,
            (State::Slash, b'*') => State::Comment,
            (State::Slash, _) => State::Open,
            (State::LineComment, b'\n') => State::Open,
            (State::Comment, b'*') => State::Star,
            (State::Star, b'/') => State::Open,
            (State::Star, b'*') => State::Star,
            (State::Star, _) => State::Comment,
            (state, _) => state,
        };
        None
    }

    /// Processes one byte outside strings and comments.
    fn open(&mut self, byte: u8) -> Option<usize> {
        match byte {
            b'"' | b'\'' => self.state = State::String(byte),
            b'{' => self.braces += 1,
            b'[' => self.brackets += 1,
            // The `]` of the array that the documents are in.
            b']' if self.brackets == 0 && self.in_array => return Some(0),
            b']' => self.brackets = self.brackets.saturating_sub(1),
            b',' if !self.document && self.in_array && self.is_flat() => return Some(0),
            b'}' => {
                self.braces = self.braces.saturating_sub(1);
                if self.document && self.braces == 0 {
                    return Some(1);
                }
            }
            _ => {}
        }
        None
    }
}
