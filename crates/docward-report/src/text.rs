//! Colours and line breaking for the terminal.

/// Colours, or none.
#[derive(Clone, Copy, Debug)]
pub struct Paint {
    /// Whether escape sequences are written.
    pub color: bool,
}

impl Paint {
    fn with(self, code: &str, text: &str) -> String {
        let text = plain(text);
        if self.color { format!("\x1b[{code}m{text}\x1b[0m") } else { text }
    }

    /// For errors and failures.
    pub fn red(self, text: &str) -> String {
        self.with("1;31", text)
    }

    /// For warnings.
    pub fn yellow(self, text: &str) -> String {
        self.with("1;33", text)
    }

    /// For notes.
    pub fn blue(self, text: &str) -> String {
        self.with("1;34", text)
    }

    /// For what passed.
    pub fn green(self, text: &str) -> String {
        self.with("1;32", text)
    }

    /// For headings.
    pub fn bold(self, text: &str) -> String {
        self.with("1", text)
    }

    /// For what matters less.
    pub fn dim(self, text: &str) -> String {
        self.with("2", text)
    }
}

/// Text without control characters and without signs that turn the writing direction: names come out
/// of data and must not command the terminal.
pub(crate) fn plain(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '\n' => c,
            c if c.is_control() => '\u{fffd}',
            '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                '\u{fffd}'
            }
            c => c,
        })
        .collect()
}

/// Breaks text into lines of at most `width` columns, the first after `first` columns already used,
/// the others indented by `indent`. Words longer than a line stay whole, so that names and commands
/// can be copied.
pub fn wrap(text: &str, width: usize, first: usize, indent: usize) -> String {
    let mut out = String::new();
    let mut column = first;
    let mut line_start = true;
    for word in plain(text).split_whitespace() {
        let len = word.chars().count();
        if !line_start && column + 1 + len > width {
            out.push('\n');
            out.push_str(&" ".repeat(indent));
            column = indent;
            line_start = true;
        }
        if !line_start {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += len;
        line_start = false;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_does_not_command_the_terminal() {
        assert_eq!(plain("a\u{1b}[31mb\u{202e}c\u{7}"), "a\u{fffd}[31mb\u{fffd}c\u{fffd}");
        assert!(!Paint { color: false }.bold("x\u{1b}c").contains('\u{1b}'));
    }

    #[test]
    fn lines_are_broken_between_words() {
        assert_eq!(wrap("aa bb cc dd", 5, 0, 2), "aa bb\n  cc\n  dd");
        assert_eq!(wrap("a-very-long-word x", 5, 0, 0), "a-very-long-word\nx");
    }
}
