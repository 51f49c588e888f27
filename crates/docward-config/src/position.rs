//! Converts byte offsets to lines and columns as editors count them: from 1, columns in characters.

/// The lines of a text.
pub(crate) struct Lines<'t> {
    text: &'t str,
    /// The byte offset of each line start.
    starts: Vec<usize>,
}

impl<'t> Lines<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        let starts =
            std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Self { text, starts }
    }

    /// The line and column of a byte offset; offsets beyond the end mean the end.
    pub(crate) fn position(&self, offset: usize) -> (u32, u32) {
        let offset = floor_char_boundary(self.text, offset);
        let line = self.line_of(offset);
        let before = self.text.get(self.start(line)..offset).unwrap_or_default();
        // A byte order mark has no column: editors do not show it.
        let column = before.chars().filter(|&c| c != '\u{feff}').count();
        (to_u32(line + 1), to_u32(column + 1))
    }

    /// The line (from 0) that contains an offset.
    pub(crate) fn line_of(&self, offset: usize) -> usize {
        self.starts.partition_point(|&start| start <= offset).saturating_sub(1)
    }

    /// The start of a line (from 0); the end of the text for lines beyond it.
    pub(crate) fn start(&self, line: usize) -> usize {
        self.starts.get(line).copied().unwrap_or(self.text.len())
    }

    /// A line (from 0) with its line break; empty beyond the end.
    pub(crate) fn line(&self, line: usize) -> &'t str {
        self.text.get(self.start(line)..self.start(line + 1)).unwrap_or_default()
    }

    /// The number of lines; an empty text has one.
    pub(crate) fn count(&self) -> usize {
        self.starts.len()
    }
}

fn to_u32(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// `str::floor_char_boundary` is newer than the oldest supported compiler.
fn floor_char_boundary(text: &str, offset: usize) -> usize {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    offset
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_characters_from_one() {
        let text = "\u{feff}é = 1\r\nab\n";
        let lines = Lines::new(text);
        for (offset, expect) in [
            (0, (1, 1)),
            (3, (1, 1)),
            (4, (1, 1)), // Inside `é`.
            (5, (1, 2)),
            (9, (1, 6)),
            (11, (2, 1)),
            (13, (2, 3)),
            (14, (3, 1)),
            (999, (3, 1)),
        ] {
            assert_eq!(lines.position(offset), expect, "offset {offset}");
        }
        assert_eq!(lines.count(), 3);
        assert_eq!((lines.line(1), lines.line(2), lines.line(9)), ("ab\n", "", ""));
    }
}
