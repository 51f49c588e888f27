//! Selections that the terminal's first screen and the HTML page share: the first fixes, recognised
//! patterns, and the inputs that would let more rules run.

use std::collections::BTreeMap;

use docward_model::{Area, Finding, Report, Severity};

/// The number of rules listed under "Fix first".
pub(crate) const FIX_FIRST: usize = 5;

/// The rule that recognises well-implemented patterns.
const PATTERNS: &str = "R020";

/// The errors of one rule, or its warnings.
pub(crate) struct OfRule<'a> {
    /// The first in the order of the report, which is the worst.
    pub(crate) first: &'a Finding,
    pub(crate) count: usize,
}

/// Errors and warnings by rule and severity, in the order of the report.
pub(crate) fn by_rule(report: &Report) -> Vec<OfRule<'_>> {
    let mut rules: Vec<OfRule<'_>> = Vec::new();
    let mut places: BTreeMap<(&str, Severity), usize> = BTreeMap::new();
    for finding in report.findings.iter().filter(|f| f.severity > Severity::Info) {
        let at = *places.entry((&*finding.rule, finding.severity)).or_insert(rules.len());
        match rules.get_mut(at) {
            Some(known) => known.count += 1,
            None => rules.push(OfRule { first: finding, count: 1 }),
        }
    }
    rules
}

/// Returns the rules to fix first, ordered by the consequence of not fixing them. Each area has its
/// worst rule among them before another area has its second. An error comes before the warning that
/// has the same position in its area. Hygiene only fills the remaining places.
pub(crate) fn fix_first<'a, 'r>(rules: &'r [OfRule<'a>]) -> Vec<&'r OfRule<'a>> {
    let mut ordered: Vec<&OfRule<'_>> = rules.iter().collect();
    ordered.sort_by_key(|rule| rule.first.area);
    let mut of_area: BTreeMap<Area, usize> = BTreeMap::new();
    let mut turns = Vec::new();
    for (position, rule) in ordered.iter().enumerate() {
        let turn = of_area.entry(rule.first.area).or_default();
        let is_warning = usize::from(rule.first.severity < Severity::Error);
        turns.push((rule.first.area == Area::Hygiene, *turn + is_warning, position));
        *turn += 1;
    }
    turns.sort_unstable();
    turns.truncate(FIX_FIRST);
    let mut chosen: Vec<usize> = turns.into_iter().map(|(.., position)| position).collect();
    chosen.sort_unstable();
    chosen.into_iter().map(|position| ordered[position]).collect()
}

/// Returns whether a finding recognises a pattern. It needs no action, so it is counted separately,
/// unless the configuration raised its severity.
pub(crate) fn is_recognised(finding: &Finding) -> bool {
    finding.rule == PATTERNS && finding.severity == Severity::Info
}

/// The patterns that were recognised.
pub(crate) fn recognised(report: &Report) -> impl Iterator<Item = &Finding> {
    report.findings.iter().filter(|finding| is_recognised(finding))
}

/// The findings to read: all except recognised patterns.
pub(crate) fn readable(report: &Report) -> impl Iterator<Item = &Finding> + Clone {
    report.findings.iter().filter(|finding| !is_recognised(finding))
}

/// An input that was not given, with the rules that need it.
pub(crate) struct MissingInput<'a> {
    /// `a server log`.
    pub(crate) what: &'a str,
    /// The option for it: `--log FILE`; empty if there is none.
    pub(crate) how: &'static str,
    pub(crate) rules: Vec<&'a str>,
}

impl MissingInput<'_> {
    /// `a server log (--log FILE)`.
    pub(crate) fn text(&self) -> String {
        match self.how {
            "" => self.what.to_owned(),
            how => format!("{} ({how})", self.what),
        }
    }
}

/// Every kind of missing input, the most useful first.
pub(crate) fn missing_inputs(report: &Report) -> Vec<MissingInput<'_>> {
    let mut inputs: BTreeMap<(usize, &str), MissingInput<'_>> = BTreeMap::new();
    for skip in &report.skipped {
        let (rank, what, how) = match skip.needs.as_str() {
            "source code" => (0, "code", "--code PATH"),
            "workload" | "a workload of at least a minute" => (1, "a server log", "--log FILE"),
            "a client's connection string" | "a connection string" => {
                (2, "clients' connection strings", "--client-uri URI")
            }
            "a running server" | "index usage" => (3, "a running deployment", "mongodb://…"),
            "network rules" => (4, "firewall rules", "--network-rules FILE"),
            "a declared model" => (5, "a design", "--design MODEL.yaml"),
            "shard keys" => (6, "shard keys", "docward.toml"),
            "options" | "indexes" => (7, "metadata of a mongodump", ""),
            "names" => (8, "names of the collections", "--as DB.COLL"),
            "documents" => (8, "documents", ""),
            "a schema to check against" => (9, "a schema", "docward schema check"),
            other => (10, other, ""),
        };
        let input = inputs.entry((rank, what)).or_insert_with(|| MissingInput {
            what,
            how,
            rules: Vec::new(),
        });
        if !input.rules.contains(&&*skip.rule) {
            input.rules.push(&skip.rule);
        }
    }
    inputs.into_values().collect()
}
