//! The styles of names, and the recommended ones (ALG-7).

pub mod house;
pub mod meaning;
pub mod naming;
pub mod origin;
pub mod path_typos;
pub mod renames;
pub mod suffix;

pub use docward_model::words::split as words;

/// The style of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Style {
    /// One lower-case word: fits either style.
    Neutral,
    /// `createTime`.
    Camel,
    /// `create_time`.
    Snake,
    /// `CreateTime`.
    Pascal,
    /// `CREATE_TIME`, `ID`.
    Screaming,
    /// `create-time`.
    Kebab,
    /// Two styles in one name, `Create_Time`.
    Mixed,
    /// Spaces, dots or other special characters, or letters without case.
    Other,
}

impl Style {
    /// The name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Neutral => "one word",
            Self::Camel => "camelCase",
            Self::Snake => "snake_case",
            Self::Pascal => "PascalCase",
            Self::Screaming => "UPPER_CASE",
            Self::Kebab => "kebab-case",
            Self::Mixed => "mixed",
            Self::Other => "other",
        }
    }
}

/// All words joined, lower-case: equal for spellings of one concept.
pub fn normalised(name: &str) -> String {
    words(name).concat()
}

/// The first letters of the words: `createTime` gives `ct`.
pub fn initials(name: &str) -> String {
    words(name).iter().filter_map(|w| w.chars().next()).collect()
}

/// Returns the style of a name, without its leading underscores.
pub fn style(name: &str) -> Style {
    let name = name.trim_start_matches('_');
    if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-') {
        return Style::Other;
    }
    let upper = name.chars().any(|c| c.is_ascii_uppercase());
    let lower = name.chars().any(|c| c.is_ascii_lowercase());
    let underscore = name.trim_end_matches('_').contains('_');
    let hyphen = name.contains('-');
    match (upper, lower, underscore, hyphen) {
        (_, _, true, true) | (true, true, _, true) => Style::Mixed,
        (_, _, _, true) => Style::Kebab,
        (true, true, true, _) => Style::Mixed,
        (true, false, _, _) => Style::Screaming,
        (false, _, true, _) => Style::Snake,
        (true, true, false, _) if name.starts_with(|c: char| c.is_ascii_uppercase()) => {
            Style::Pascal
        }
        (true, true, false, _) => Style::Camel,
        (false, _, false, _) => Style::Neutral,
    }
}

/// `create_time`.
pub fn to_snake(name: &str) -> String {
    words(name).join("_")
}

/// `createTime`.
pub fn to_camel(name: &str) -> String {
    let mut out = String::new();
    for (i, word) in words(name).iter().enumerate() {
        if i == 0 {
            out.push_str(word);
        } else {
            let mut chars = word.chars();
            out.extend(chars.next().map(|c| c.to_ascii_uppercase()));
            out.push_str(chars.as_str());
        }
    }
    out
}

/// Converts the name to a style that people use.
pub fn in_style(name: &str, style: Style) -> String {
    if style == Style::Snake { to_snake(name) } else { to_camel(name) }
}

/// A database or collection name as the house writes it: prefix and snake_case.
pub fn prefixed(name: &str, prefix: &str) -> String {
    let bare = name.strip_prefix(prefix).unwrap_or(name);
    let snake = to_snake(bare);
    let snake = snake.strip_prefix(prefix).unwrap_or(&snake);
    format!("{prefix}{snake}")
}

/// Whether a statement can name a field. Bytes that are not UTF-8 were replaced when the name was
/// read, and a statement with the replacement finds nothing.
pub fn can_be_named(name: &str) -> bool {
    !name.contains(char::REPLACEMENT_CHARACTER)
}

/// Returns the advice for a field that no statement can name.
pub fn not_to_be_named(name: &str) -> String {
    format!(
        "the name `{name}` is not UTF-8, so no statement can contain it: dump the collection, correct the name in the dump and restore it"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn styles_are_told_apart() {
        for (name, expect) in [
            ("createTime", Style::Camel),
            ("create_time", Style::Snake),
            ("Create_Time", Style::Mixed),
            ("createTime_utc", Style::Mixed),
            ("CreateTime", Style::Pascal),
            ("CREATE_TIME", Style::Screaming),
            ("CT", Style::Screaming),
            ("create-time", Style::Kebab),
            ("name", Style::Neutral),
            ("address2", Style::Neutral),
            ("_total", Style::Neutral),
            ("first name", Style::Other),
        ] {
            assert_eq!(style(name), expect, "{name}");
        }
    }

    #[test]
    fn proposals_keep_the_words() {
        assert_eq!(prefixed("UserCenter", "db_"), "db_user_center");
        assert_eq!(prefixed("db-payment", "db_"), "db_payment");
        assert_eq!(prefixed("OrderDetail", "t_"), "t_order_detail");
        assert_eq!(prefixed("t_user-address", "t_"), "t_user_address");
        assert_eq!(to_camel("Create_Time"), "createTime");
        assert_eq!(initials("createTime"), "ct");
    }
}
