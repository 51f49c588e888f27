//! Names and texts in mongosh syntax.

/// Quotes a text as a mongosh string literal.
pub fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            // Some readers treat these two characters as line ends, even inside strings. Characters
            // that change the writing direction would hide what the command does. Both are escaped.
            c if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') || turns(c) => {
                out.push_str(&format!("\\u{:04x}", u32::from(c)))
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Returns whether a character changes the writing direction of the text after it.
pub fn turns(c: char) -> bool {
    matches!(
        c,
        '\u{61c}'
            | '\u{200e}'
            | '\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}'
    )
}

/// As an object key, quoted or not, this name would set the prototype instead of a field.
const PROTOTYPE: &str = "__proto__";

/// A key of an object literal, unquoted if possible.
pub fn key(name: &str) -> String {
    let bare = !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '$');
    if bare && name != PROTOTYPE { name.to_owned() } else { quoted_key(name) }
}

/// A quoted key of an object literal.
pub fn quoted_key(name: &str) -> String {
    if name == PROTOTYPE { format!("[{}]", quote(name)) } else { quote(name) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_no_identifiers_are_quoted() {
        for bare in ["customerId", "_id", "$id", "a2"] {
            assert_eq!(key(bare), bare);
        }
        for quoted in ["2faId", "address.city", "a-b", "", "wild $**"] {
            assert_eq!(key(quoted), format!("\"{quoted}\""));
        }
        assert_eq!(key("a\"b\\"), r#""a\"b\\""#);
        assert_eq!(key("__proto__"), r#"["__proto__"]"#);
        assert_eq!(quoted_key("__proto__"), r#"["__proto__"]"#);
        assert_eq!(quoted_key("_total"), r#""_total""#);
        assert_eq!(quote("t_\u{202e}redro\u{7}"), r#""t_\u202eredro\u0007""#);
    }
}
