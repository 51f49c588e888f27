//! Formats tables for the terminal and for Markdown.

use std::fmt::Write;

use crate::{markdown::cell, text::wrap};

/// A column of a table: its heading, and the function for its cells.
pub(crate) struct Column<R> {
    pub(crate) heading: &'static str,
    cell: fn(&R) -> String,
    /// True if its cells are words; numbers are right-aligned.
    pub(crate) is_text: bool,
}

impl<R> Column<R> {
    pub(crate) const fn words(heading: &'static str, cell: fn(&R) -> String) -> Self {
        Self { heading, cell, is_text: true }
    }

    pub(crate) const fn number(heading: &'static str, cell: fn(&R) -> String) -> Self {
        Self { heading, cell, is_text: false }
    }

    /// The cell of a row.
    pub(crate) fn of(&self, row: &R) -> String {
        (self.cell)(row)
    }
}

/// A table for the terminal: the first column and those in `left` are left-aligned, the others
/// right-aligned.
pub(crate) fn table(rows: &[Vec<String>], left: &[usize], indent: usize) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width =
        |at: usize| rows.iter().filter_map(|row| row.get(at)).map(|c| c.chars().count()).max();
    let widths: Vec<usize> = (0..columns).map(|at| width(at).unwrap_or(0)).collect();
    let mut out = String::new();
    for row in rows {
        let mut line = " ".repeat(indent);
        for (at, text) in row.iter().enumerate() {
            let gap = " ".repeat(widths[at].saturating_sub(text.chars().count()));
            if at > 0 {
                line.push_str("  ");
            }
            if left.contains(&at) {
                line.push_str(text);
                line.push_str(&gap);
            } else {
                line.push_str(&gap);
                line.push_str(text);
            }
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// A table of columns for the terminal. If it is too wide, each row becomes a list of its cells.
pub(crate) fn columns_table<R>(columns: &[Column<R>], rows: &[R], width: usize) -> String {
    let mut lines = vec![columns.iter().map(|column| column.heading.to_owned()).collect()];
    lines.extend(rows.iter().map(|row| columns.iter().map(|column| column.of(row)).collect()));
    let left: Vec<usize> = (0..columns.len()).filter(|at| columns[*at].is_text).collect();
    let whole = table(&lines, &left, 2);
    if whole.lines().all(|line| line.chars().count() <= width) {
        return whole;
    }
    let mut out = String::new();
    for row in rows {
        let mut cells = columns.iter().map(|column| (column.heading, column.of(row)));
        let name = cells.next().map_or_else(String::new, |(_, name)| name);
        let rest: Vec<String> = cells.map(|(heading, cell)| format!("{heading} {cell}")).collect();
        let _ = writeln!(out, "  {}", wrap(&format!("{name}: {}", rest.join(" · ")), width, 2, 4));
    }
    out
}

/// A table of columns for Markdown.
pub(crate) fn columns_markdown<R>(columns: &[Column<R>], rows: &[R], out: &mut String) {
    let line = |cells: Vec<String>| format!("| {} |", cells.join(" | "));
    let _ = writeln!(out, "{}", line(columns.iter().map(|c| c.heading.to_owned()).collect()));
    let rule: String = columns.iter().map(|c| if c.is_text { "---|" } else { "---:|" }).collect();
    let _ = writeln!(out, "|{rule}");
    for row in rows {
        let _ = writeln!(out, "{}", line(columns.iter().map(|c| cell(&c.of(row))).collect()));
    }
}
