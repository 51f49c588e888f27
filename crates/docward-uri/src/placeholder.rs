//! Placeholders for passwords that are filled in later.

/// Returns whether a text is a placeholder that is filled in later.
pub(crate) fn is_placeholder(text: &str) -> bool {
    let between = |open: &str, close: &str| {
        text.len() > open.len() + close.len() - 1 && text.starts_with(open) && text.ends_with(close)
    };
    let variable = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_uppercase() || c == '_')
            && name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
    };
    let blanked = |c: char| text.chars().count() >= 3 && text.chars().all(|other| other == c);
    ["*", "x", "X", ".", "…", "•", "#", "?"].iter().any(|c| c.chars().all(blanked))
        || [
            ("<", ">"),
            ("{", "}"),
            ("[", "]"),
            ("(", ")"),
            ("${", "}"),
            ("$(", ")"),
            ("#{", "}"),
            ("%(", ")s"),
        ]
        .iter()
        .any(|(open, close)| between(open, close))
        || (between("%", "%") && variable(text.trim_matches('%')))
        || text.strip_prefix('$').is_some_and(variable)
        || matches!(text, "%s" | "%v" | "{}" | "…" | "...")
        || text.eq_ignore_ascii_case("redacted")
}
