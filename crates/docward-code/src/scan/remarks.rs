//! Comments that allow a finding: `docward: allow D020 the list is cut by a nightly job`.

/// Rules that a comment allows for its own line and the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allowed {
    /// The line of the comment.
    pub line: u32,
    /// Codes or names of rules.
    pub rules: Vec<String>,
    /// Why; empty when nobody said.
    pub reason: String,
}

const MARK: &str = "docward: allow ";

/// What comments of a text allow. Rules are separated by commas, the reason stands behind them.
pub(super) fn allowed(text: &str) -> Vec<Allowed> {
    if !text.contains(MARK) {
        return Vec::new();
    }
    text.lines()
        .enumerate()
        .filter_map(|(at, line)| {
            let (_, rest) = line.split_once(MARK)?;
            let rest = rest.trim_end_matches("*/").trim_end_matches("-->").trim();
            let mut rules = Vec::new();
            let mut words = rest.split_inclusive(' ').peekable();
            let mut used = 0;
            for word in words.by_ref() {
                used += word.len();
                let name = word.trim().trim_end_matches([',', ':']);
                rules.push(name.to_owned());
                if !word.trim().ends_with(',') {
                    break;
                }
            }
            let reason = rest.get(used..).unwrap_or_default();
            let reason = reason.trim_start_matches(['-', ':', ' ']).trim().to_owned();
            Some(Allowed { line: u32::try_from(at + 1).unwrap_or(u32::MAX), rules, reason })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_and_reason_are_told_apart() {
        let found = allowed(
            "a\nx() // docward: allow D020, uncapped-push: cut every night\n# docward: allow S020\n",
        );
        assert_eq!(found.len(), 2);
        assert_eq!(
            (found[0].line, found[0].rules.as_slice()),
            (2, ["D020".to_owned(), "uncapped-push".to_owned()].as_slice())
        );
        assert_eq!(found[0].reason, "cut every night");
        assert_eq!((found[1].line, found[1].reason.as_str()), (3, ""));
    }
}
