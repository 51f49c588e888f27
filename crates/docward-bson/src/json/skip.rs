//! Finds where reading can go on after something that could not be read.
//!
//! What is skipped is broken in an unknown way, so nothing in it can be trusted: a quote may be
//! missing, or a bracket. Two signs are looked for, and the first one wins: the bracket that
//! closes the broken document by simple counting, and a line that begins with `{` no further
//! right than the broken document did. The second also holds inside what seems to be a string or
//! a comment, since those are what swallows documents when their end is missing.
//!
//! Not here: reporting. The stream may end anywhere within what is skipped, so this is a state
//! machine that goes on with the next piece.

/// What is being skipped, and how far into it the last piece went.
#[derive(Debug)]
pub(super) struct Skip {
    /// A broken document, rather than something else that is no document.
    document: bool,
    in_array: bool,
    /// How far right a line may begin with `{` to be the next document.
    indent: u64,
    braces: u32,
    brackets: u32,
    state: State,
    /// How many blanks this line began with, as long as it has nothing else.
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
    /// Skips a broken document, beginning at its `{`.
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

    /// Skips something else: up to the end of its line or, in an array, of the element.
    pub(super) fn other(in_array: bool, indent: u64) -> Self {
        Self { document: false, ..Self::document(in_array, indent) }
    }

    /// Skips as much as belongs to it. `Some` is where to go on; `None` if it takes all of
    /// `input` and maybe more.
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

    /// Whether only blanks came before on this line.
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

    /// Takes one byte. `Some(0)` if the end is before it, `Some(1)` if after it.
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

    /// Takes one byte outside strings and comments.
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
