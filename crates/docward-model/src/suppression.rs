//! Suppressions: findings the user accepts, for how long, and why.

use crate::{Location, NamespacePattern, RuleMeta, Subject, selects};

/// Findings that are accepted until a date.
#[derive(Clone, Debug)]
pub struct Suppression {
    /// The rules: a code, family or name.
    pub rule: String,
    /// The namespaces; everything if absent, including the deployment.
    pub pattern: Option<NamespacePattern>,
    /// The fields, or indexes by name; all if absent.
    pub path: Option<NamespacePattern>,
    /// The source files; everything if absent.
    pub files: Option<NamespacePattern>,
    /// True if it is a comment in the code: it then applies to its own line and the next.
    pub is_comment: bool,
    /// The reason.
    pub reason: String,
    /// The last day on which it is valid, `2027-01-31`; unlimited if absent.
    pub expires: Option<String>,
    /// The position of the suppression.
    pub location: Location,
}

impl Suppression {
    /// Returns whether it applies to a finding of a rule on a subject, regardless of the date.
    /// `place` is the place in the code, and `within` is the name of that file within its project.
    pub fn covers(
        &self,
        rule: &RuleMeta,
        at: &Subject,
        place: Option<&Location>,
        within: Option<&str>,
    ) -> bool {
        let namespace = at.namespace();
        let part = at.path().map(crate::FieldPath::as_str).or(at.index());
        selects(&self.rule, rule)
            && self.pattern.as_ref().is_none_or(|p| namespace.is_some_and(|ns| p.matches(&ns)))
            && self.path.as_ref().is_none_or(|p| part.is_some_and(|part| p.matches(part)))
            && (self.files.is_none()
                || place.is_some_and(|place| self.is_about_file(&place.file))
                || within.is_some_and(|file| self.is_about_file(file)))
            && (!self.is_comment || place.is_some_and(|place| self.stands_at(place)))
    }

    /// Returns whether it names a file, by its whole path or by the end of the path. The location
    /// of the project and the working directory do not matter.
    pub fn is_about_file(&self, file: &str) -> bool {
        let Some(glob) = &self.files else { return true };
        let ends = file.match_indices('/').filter_map(|(at, _)| file.get(at + 1..));
        std::iter::once(file).chain(ends).any(|path| glob.matches(path))
    }

    /// Returns whether a place is on the line of the comment or on the next.
    fn stands_at(&self, place: &Location) -> bool {
        place.file == self.location.file
            && (place.line == self.location.line || place.line == self.location.line + 1)
    }

    /// Returns whether its last day has passed.
    pub fn is_expired(&self, today: Option<&str>) -> bool {
        is_over(self.expires.as_deref(), today)
    }

    /// The target as text: `D008 at db_shop.t_log_* in items[].price`, `D020 at src/app.js:12`.
    pub fn text(&self) -> String {
        if self.is_comment {
            return format!("{} at {}:{}", self.rule, self.location.file, self.location.line);
        }
        let mut out = self.rule.clone();
        let narrowed = [("at", &self.pattern), ("in", &self.path), ("in the files", &self.files)];
        for (word, pattern) in narrowed {
            if let Some(pattern) = pattern {
                out.push_str(&format!(" {word} {}", pattern.as_str()));
            }
        }
        out
    }
}

/// A checklist item that is signed off although it did not pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiver {
    /// `CK-3`.
    pub item: String,
    /// The reason.
    pub reason: String,
    /// The person responsible for the waiver.
    pub by: Option<String>,
    /// The last day on which it is valid; unlimited if absent.
    pub expires: Option<String>,
}

impl Waiver {
    /// Returns whether its last day has passed.
    pub fn is_expired(&self, today: Option<&str>) -> bool {
        is_over(self.expires.as_deref(), today)
    }

    /// The waiver as text: `waived by Kim until 2027-01-31: the reason`.
    pub fn text(&self) -> String {
        let by = self.by.as_ref().map_or(String::new(), |by| format!(" by {by}"));
        let until = self.expires.as_ref().map_or(String::new(), |day| format!(" until {day}"));
        format!("waived{by}{until}: {}", self.reason)
    }
}

/// Dates as `YYYY-MM-DD` sort chronologically as text.
fn is_over(expires: Option<&str>, today: Option<&str>) -> bool {
    matches!((expires, today), (Some(last), Some(today)) if last < today)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn about(files: Option<&str>) -> Suppression {
        Suppression {
            rule: "D020".to_owned(),
            pattern: None,
            path: None,
            files: files.map(|glob| NamespacePattern::new(glob).expect("a glob")),
            is_comment: files.is_none(),
            reason: "cut every night".to_owned(),
            expires: None,
            location: Location { file: "src/app.js".to_owned(), line: 7, column: 4 },
        }
    }

    #[test]
    fn files_are_known_by_their_path_or_its_end() {
        for glob in ["code/src/legacy/app.js", "src/legacy/**", "**/app.js", "*.js", "legacy/*"] {
            assert!(about(Some(glob)).is_about_file("code/src/legacy/app.js"), "{glob}");
            assert!(about(Some(glob)).is_about_file("/home/kim/code/src/legacy/app.js"), "{glob}");
        }
        for glob in ["app", "src", "legacy/*.py", "ode/src/**"] {
            assert!(!about(Some(glob)).is_about_file("code/src/legacy/app.js"), "{glob}");
        }
    }

    #[test]
    fn a_comment_is_about_its_line_and_the_next() {
        let comment = about(None);
        let at = |file: &str, line| Location { file: file.to_owned(), line, column: 1 };
        assert!(comment.stands_at(&at("src/app.js", 7)) && comment.stands_at(&at("src/app.js", 8)));
        for other in [at("src/app.js", 6), at("src/app.js", 9), at("src/b.js", 7)] {
            assert!(!comment.stands_at(&other), "{other:?}");
        }
        assert_eq!(comment.text(), "D020 at src/app.js:7");
        assert_eq!(about(Some("src/**")).text(), "D020 in the files src/**");
    }

    #[test]
    fn the_last_day_still_counts() {
        assert!(!is_over(Some("2027-01-31"), Some("2027-01-31")));
        assert!(is_over(Some("2027-01-31"), Some("2027-02-01")));
        assert!(!is_over(None, Some("2999-01-01")));
        assert!(!is_over(Some("2000-01-01"), None), "without a clock nothing expires");
    }
}
