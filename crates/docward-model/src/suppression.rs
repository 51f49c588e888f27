//! What the user has decided to live with, for how long, and why.

use crate::{Location, NamespacePattern, RuleMeta, Subject, selects};

/// Findings that are accepted until a day.
#[derive(Clone, Debug)]
pub struct Suppression {
    /// Which rules: a code, family or name.
    pub rule: String,
    /// Which namespaces; everything when absent, the deployment included.
    pub pattern: Option<NamespacePattern>,
    /// Which fields, or indexes by name; all when absent.
    pub path: Option<NamespacePattern>,
    /// Why.
    pub reason: String,
    /// The last day on which it holds, `2027-01-31`; for ever when absent.
    pub expires: Option<String>,
    /// Where it was written.
    pub location: Location,
}

impl Suppression {
    /// Whether it is about what a rule says of a subject, on any day.
    pub fn covers(&self, rule: &RuleMeta, at: &Subject) -> bool {
        let namespace = at.namespace();
        let part = at.path().map(crate::FieldPath::as_str).or(at.index());
        selects(&self.rule, rule)
            && self.pattern.as_ref().is_none_or(|p| namespace.is_some_and(|ns| p.matches(&ns)))
            && self.path.as_ref().is_none_or(|p| part.is_some_and(|part| p.matches(part)))
    }

    /// Whether its last day is over.
    pub fn is_expired(&self, today: Option<&str>) -> bool {
        is_over(self.expires.as_deref(), today)
    }

    /// What it is about, in words: `D008 at db_shop.t_log_* in items[].price`.
    pub fn text(&self) -> String {
        let mut out = self.rule.clone();
        for (word, pattern) in [("at", &self.pattern), ("in", &self.path)] {
            if let Some(pattern) = pattern {
                out.push_str(&format!(" {word} {}", pattern.as_str()));
            }
        }
        out
    }
}

/// An item of a checklist that is signed off although it did not pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiver {
    /// `CK-3`.
    pub item: String,
    /// Why.
    pub reason: String,
    /// Who answers for it.
    pub by: Option<String>,
    /// The last day on which it holds; for ever when absent.
    pub expires: Option<String>,
}

impl Waiver {
    /// Whether its last day is over.
    pub fn is_expired(&self, today: Option<&str>) -> bool {
        is_over(self.expires.as_deref(), today)
    }

    /// In words: `waived by Kim until 2027-01-31: the reason`.
    pub fn text(&self) -> String {
        let by = self.by.as_ref().map_or(String::new(), |by| format!(" by {by}"));
        let until = self.expires.as_ref().map_or(String::new(), |day| format!(" until {day}"));
        format!("waived{by}{until}: {}", self.reason)
    }
}

/// Calendar days as `YYYY-MM-DD` sort like the days.
fn is_over(expires: Option<&str>, today: Option<&str>) -> bool {
    matches!((expires, today), (Some(last), Some(today)) if last < today)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_day_still_counts() {
        assert!(!is_over(Some("2027-01-31"), Some("2027-01-31")));
        assert!(is_over(Some("2027-01-31"), Some("2027-02-01")));
        assert!(!is_over(None, Some("2999-01-01")));
        assert!(!is_over(Some("2000-01-01"), None), "without a clock nothing expires");
    }
}
