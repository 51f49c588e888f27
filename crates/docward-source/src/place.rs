//! Lines and columns.

/// A place in a text, as editors count: from 1, columns in characters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
}

/// The number of bytes between two marks of [`Places`].
const STEP: usize = 512;

/// Converts offsets to places, also within one endless line: characters are counted from the nearest mark.
pub struct Places<'t> {
    text: &'t [u8],
    /// Offsets at which lines start.
    lines: Vec<usize>,
    /// Characters before every `STEP`th byte.
    marks: Vec<usize>,
}

impl<'t> Places<'t> {
    /// Reads a text once.
    pub fn new(text: &'t str) -> Self {
        let text = text.as_bytes();
        let mut lines = vec![0];
        lines.extend(
            text.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1),
        );
        let mut marks = Vec::with_capacity(text.len() / STEP + 1);
        let mut seen = 0;
        for chunk in text.chunks(STEP) {
            marks.push(seen);
            seen += characters(chunk);
        }
        marks.push(seen);
        Self { text, lines, marks }
    }

    /// The place of the byte at `offset`; the end for offsets beyond it.
    pub fn at(&self, offset: usize) -> Place {
        let offset = offset.min(self.text.len());
        let line = self.lines.partition_point(|start| *start <= offset);
        let start = self.lines[line - 1];
        let column = self.before(offset) - self.before(start) + 1;
        Place { line: small(line), column: small(column) }
    }

    fn before(&self, offset: usize) -> usize {
        let mark = offset / STEP;
        self.marks[mark] + characters(&self.text[mark * STEP..offset])
    }
}

fn characters(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| (**byte & 0xc0) != 0x80).count()
}

fn small(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_counted_in_characters_from_one() {
        let text = format!("a\nüb\r\n{}x", "ü".repeat(2000));
        let places = Places::new(&text);
        let at = |needle: char| places.at(text.rfind(needle).unwrap());
        assert_eq!(places.at(0), Place { line: 1, column: 1 });
        assert_eq!(at('b'), Place { line: 2, column: 2 });
        assert_eq!(at('x'), Place { line: 3, column: 2001 });
        assert_eq!(places.at(text.len()), Place { line: 3, column: 2002 });
        assert_eq!(places.at(usize::MAX), Place { line: 3, column: 2002 });
    }

    #[test]
    fn the_end_of_a_text_as_long_as_a_step_has_a_place() {
        for n in [0, STEP - 1, STEP, STEP + 1, 2 * STEP] {
            let text = "x".repeat(n);
            assert_eq!(Places::new(&text).at(n).column as usize, n + 1);
        }
    }
}
