//! Options of reports for the terminal.

use docward_model::Finding;

/// Which repeated findings are written out.
#[derive(Clone, Debug, Default)]
pub enum Expand {
    /// More than three of one rule become one paragraph.
    #[default]
    No,
    /// All are written out.
    All,
    /// Findings of these rules (codes or names) are written out.
    Rules(Vec<String>),
}

/// The level of detail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detail {
    /// One screen: counts, the first fixes, one table.
    Overview,
    /// Every finding in full.
    #[default]
    Full,
    /// The number of findings for each rule.
    Statistics,
}

/// The options of the terminal.
#[derive(Clone, Debug)]
pub struct TerminalOptions {
    /// The level of detail.
    pub detail: Detail,
    /// Only findings of these rules, families, severities, databases or collections; all if empty.
    pub show: Vec<String>,
    /// True for colours.
    pub color: bool,
    /// The width in columns.
    pub width: usize,
    /// Which repeated findings are written out.
    pub expand: Expand,
    /// True for only problems and the summary.
    pub quiet: bool,
}

impl TerminalOptions {
    /// Returns whether `--show` selects a finding, by its rule or by its place.
    pub(crate) fn shows(&self, finding: &Finding) -> bool {
        let named = |wanted: &String| {
            let is = |word: &str| wanted.eq_ignore_ascii_case(word);
            let database = finding.at.namespace();
            let database = database.as_deref();
            let in_namespace = database.is_some_and(|ns| {
                let (db, collection) = ns.split_once('.').unwrap_or((ns, ""));
                is(ns) || is(db) || is(collection)
            });
            let file = finding.location.as_ref().map(|at| at.file.as_str());
            is(&finding.rule)
                || is(&finding.name)
                || is(&finding.rule[..1])
                || is(finding.severity.name())
                || is(finding.severity.word())
                || is(finding.area.name())
                || in_namespace
                || file.is_some_and(|file| file == wanted)
        };
        self.show.is_empty() || self.show.iter().any(named)
    }
}
