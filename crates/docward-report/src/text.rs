//! Colours and line breaking for the terminal.

/// Colours, or none.
#[derive(Clone, Copy, Debug)]
pub struct Paint {
    /// Whether escape sequences are written.
    pub color: bool,
}

impl Paint {
    fn with(self, code: &str, text: &str) -> String {
        if self.color { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
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

/// Breaks text into lines of at most `width` columns, the first after `first` columns already used,
/// the others indented by `indent`. Words longer than a line stay whole, so that names and commands
/// can be copied.
pub fn wrap(text: &str, width: usize, first: usize, indent: usize) -> String {
    let mut out = String::new();
    let mut column = first;
    let mut line_start = true;
    for word in text.split_whitespace() {
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
    fn lines_are_broken_between_words() {
        assert_eq!(wrap("aa bb cc dd", 5, 0, 2), "aa bb\n  cc\n  dd");
        assert_eq!(wrap("a-very-long-word x", 5, 0, 0), "a-very-long-word\nx");
    }
}
