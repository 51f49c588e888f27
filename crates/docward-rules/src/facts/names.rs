//! Names taken apart and put together again (ALG-7).

/// How a name is written.
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
    /// Spaces, dots or signs, or letters that have no case.
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

/// The words of a name, lower-case: split at case boundaries, underscores, hyphens, dots and signs;
/// digits stay with the word before them.
pub fn words(name: &str) -> Vec<String> {
    let chars: Vec<char> = name.chars().collect();
    let mut words = Vec::new();
    let mut word = String::new();
    for (i, &c) in chars.iter().enumerate() {
        if !c.is_alphanumeric() {
            if !word.is_empty() {
                words.push(std::mem::take(&mut word));
            }
            continue;
        }
        let before = i.checked_sub(1).map(|j| chars[j]);
        let after = chars.get(i + 1).copied();
        // `orderID`, `HTMLText`: a run of capitals is one word, but its last letter begins the next
        // word when a small letter follows.
        let boundary = c.is_uppercase()
            && before.is_some_and(|b| {
                b.is_lowercase()
                    || b.is_numeric()
                    || (b.is_uppercase() && after.is_some_and(char::is_lowercase))
            });
        if boundary && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        word.extend(c.to_lowercase());
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

/// All words joined, lower-case: equal for spellings of one concept.
pub fn normalised(name: &str) -> String {
    words(name).concat()
}

/// The first letters of the words: `createTime` gives `ct`.
pub fn initials(name: &str) -> String {
    words(name).iter().filter_map(|w| w.chars().next()).collect()
}

/// How the name is written; leading underscores aside.
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

/// The name in the given style, when it is one people write in.
pub fn in_style(name: &str, style: Style) -> String {
    if style == Style::Snake { to_snake(name) } else { to_camel(name) }
}

/// A database name as the house writes it: prefix and snake_case.
pub fn database_proposal(name: &str, prefix: &str) -> String {
    prefixed(name, prefix)
}

/// A collection name as the house writes it: prefix and snake_case.
pub fn collection_proposal(name: &str, prefix: &str) -> String {
    prefixed(name, prefix)
}

fn prefixed(name: &str, prefix: &str) -> String {
    let bare = name.strip_prefix(prefix).unwrap_or(name);
    let snake = to_snake(bare);
    let snake = snake.strip_prefix(prefix).unwrap_or(&snake);
    format!("{prefix}{snake}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_split_at_every_boundary() {
        for (name, expect) in [
            ("createTime", "create time"),
            ("Create_Time", "create time"),
            ("HTMLText", "html text"),
            ("orderID", "order id"),
            ("UN", "un"),
            ("t_log_202403", "t log 202403"),
            ("db.user.center", "db user center"),
            ("line2Text", "line2 text"),
            ("", ""),
        ] {
            assert_eq!(words(name).join(" "), expect, "{name}");
        }
    }

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
        assert_eq!(database_proposal("UserCenter", "db_"), "db_user_center");
        assert_eq!(database_proposal("db-payment", "db_"), "db_payment");
        assert_eq!(collection_proposal("OrderDetail", "t_"), "t_order_detail");
        assert_eq!(collection_proposal("t_user-address", "t_"), "t_user_address");
        assert_eq!(to_camel("Create_Time"), "createTime");
        assert_eq!(initials("createTime"), "ct");
    }
}
