//! Comments that allow a finding: `docward: allow D020 until 2027-01-31 a nightly job trims the array`.

/// Rules that a comment allows for its own line and the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allowed {
    /// The line of the comment.
    pub line: u32,
    /// Codes or names of rules.
    pub rules: Vec<String>,
    /// The last day on which the comment applies, as written; `None` for unlimited.
    pub until: Option<String>,
    /// The reason; empty if none was given.
    pub reason: String,
}

const MARK: &str = "docward: allow ";

/// Returns the findings that comments of a text allow. Rules are separated by commas; an optional last day and the
/// reason follow. `end_of_comment` returns where the comment around a position ends.
pub(super) fn allowed(text: &str, end_of_comment: impl Fn(usize) -> Option<usize>) -> Vec<Allowed> {
    let mut start = 0;
    text.split_inclusive('\n')
        .enumerate()
        .filter_map(|(at, line)| {
            let offset = start;
            start += line.len();
            let mark = line.find(MARK)?;
            let end = end_of_comment(offset + mark)?.saturating_sub(offset).min(line.len());
            let rest = line.get(mark + MARK.len()..end)?.trim();
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
            let (until, reason) = last_day(behind(rest.get(used..).unwrap_or_default()));
            let line = u32::try_from(at + 1).unwrap_or(u32::MAX);
            Some(Allowed { line, rules, until, reason: behind(reason).to_owned() })
        })
        .collect()
}

/// Returns the comment on a line, in the syntax of most languages.
pub(super) fn at_end(line: &str) -> Option<&str> {
    let trimmed = line.trim_start();
    if trimmed.starts_with(['*', '#']) || trimmed.starts_with("/*") {
        return Some(trimmed);
    }
    // `mongodb://` does not begin a comment.
    let at = line.match_indices("//").find(|(at, _)| !line[..*at].ends_with(':'));
    at.map(|(at, _)| &line[at..]).or_else(|| line.split_once(" # ").map(|(_, remark)| remark))
}

/// Returns the text after a rule or a day, without separators.
fn behind(text: &str) -> &str {
    text.trim_start_matches(['-', ':', ',', ' ']).trim()
}

/// Returns the day of `until 2027-01-31` and the rest. A text without a digit after `until` is part of the reason:
/// `until the job runs`.
fn last_day(text: &str) -> (Option<String>, &str) {
    let Some(rest) = text.strip_prefix("until ").map(str::trim_start) else { return (None, text) };
    let (day, reason) = rest.split_once(' ').unwrap_or((rest, ""));
    let day = day.trim_end_matches([':', ',', ';']);
    match day.starts_with(|c: char| c.is_ascii_digit()) {
        true => (Some(day.to_owned()), reason),
        false => (None, text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_and_reason_are_told_apart() {
        let text = "a\nx() // docward: allow D020, uncapped-push: cut every night\n# docward: allow S020\n";
        let found = allowed(text, |_| Some(text.len()));
        assert_eq!(found.len(), 2);
        assert_eq!(
            (found[0].line, found[0].rules.as_slice()),
            (2, ["D020".to_owned(), "uncapped-push".to_owned()].as_slice())
        );
        assert_eq!(found[0].reason, "cut every night");
        assert_eq!((found[1].line, found[1].reason.as_str()), (3, ""));
    }

    #[test]
    fn the_last_day_is_no_part_of_the_reason() {
        let of = |rest: &str| {
            let text = format!("// docward: allow D020{rest}");
            let found = allowed(&text, |_| Some(text.len())).remove(0);
            (found.until.unwrap_or_default(), found.reason)
        };
        let pair = |day: &str, reason: &str| (day.to_owned(), reason.to_owned());
        assert_eq!(of(" until 2027-01-31 cut every night"), pair("2027-01-31", "cut every night"));
        assert_eq!(of(": until 2027-01-31: cut"), pair("2027-01-31", "cut"));
        assert_eq!(of(" until 2027-01-31"), pair("2027-01-31", ""));
        assert_eq!(of(" until 31.1. cut"), pair("31.1.", "cut"));
        assert_eq!(of(" until the job runs"), pair("", "until the job runs"));
    }
}
