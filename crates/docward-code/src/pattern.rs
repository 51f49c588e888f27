//! Translates regular expressions of other languages to PCRE2, which the server uses. A pattern
//! that does not compile there would make the whole schema invalid. Docward therefore compiles each
//! pattern first.

/// Returns a pattern for the server, or why there is none.
pub(crate) fn checked(pattern: String) -> Result<String, String> {
    if pattern.contains('\0') {
        return Err("the server does not accept a pattern with a null character".to_owned());
    }
    match pcre2::bytes::RegexBuilder::new().utf(true).build(&pattern) {
        Ok(_) => Ok(pattern),
        Err(error) => Err(format!("the server's regular expressions refuse it: {error}")),
    }
}

/// Explains why a Python pattern may be stricter on the server.
pub(crate) const ASCII_CLASSES: &str = "\\d, \\w, \\s and \\b mean ASCII on the server, and any digit, letter or space of Unicode in Python";

/// Whether a pattern has classes that match all of Unicode in Python and Rust, but only ASCII on
/// the server.
pub(crate) fn has_classes(pattern: &str) -> bool {
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        if c == '\\' && chars.next().is_some_and(|c| "dDwWsSbB".contains(c)) {
            return true;
        }
    }
    false
}

/// Translates an ECMAScript pattern, as in JavaScript and JSON Schema. Anchors stay unchanged to
/// keep the pattern recognisable, although `$` on the server also matches before a final line feed.
pub(crate) fn ecma(source: &str, flags: &str) -> Result<String, String> {
    let mut out = String::new();
    let mut modes = String::new();
    for flag in flags.chars() {
        match flag {
            'i' | 'm' | 's' => modes.push(flag),
            // These flags change how a match is reported, not whether there is one.
            'g' | 'd' | 'u' | 'v' => {}
            other => return Err(format!("the flag `{other}` has no counterpart")),
        }
    }
    if !modes.is_empty() {
        out.push_str(&format!("(?{modes})"));
    }
    let mut chars = source.chars().peekable();
    let mut in_class = false;
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                None => return Err("it ends in a backslash".to_owned()),
                Some('u') => {
                    let mut digits = String::new();
                    if chars.peek() == Some(&'{') {
                        chars.next();
                        digits.extend(chars.by_ref().take_while(|c| *c != '}'));
                    } else {
                        while digits.len() < 4
                            && let Some(digit) = chars.next_if(char::is_ascii_hexdigit)
                        {
                            digits.push(digit);
                        }
                    }
                    out.push_str(&format!("\\x{{{digits}}}"));
                }
                Some('/') => out.push('/'),
                // ECMAScript gives these escapes no meaning, but PCRE2 does.
                Some(c @ ('a' | 'e' | 'A' | 'Z' | 'z' | 'G' | 'h' | 'H' | 'R' | 'Q' | 'E')) => {
                    out.push(c)
                }
                Some('d') => out.push_str(if in_class { "0-9" } else { "[0-9]" }),
                Some(c) => {
                    out.push('\\');
                    out.push(c);
                }
            },
            '[' if in_class => out.push_str("\\["),
            '[' => {
                // Empty classes: `[]` matches nothing, `[^]` matches anything.
                if chars.peek() == Some(&']') {
                    chars.next();
                    out.push_str("(?!)");
                    continue;
                }
                out.push('[');
                in_class = true;
                if chars.next_if_eq(&'^').is_some() {
                    if chars.next_if_eq(&']').is_some() {
                        out.pop();
                        out.push_str("[\\s\\S]");
                        in_class = false;
                    } else {
                        out.push('^');
                    }
                }
            }
            ']' if in_class => {
                in_class = false;
                out.push(']');
            }
            c => out.push(c),
        }
    }
    checked(out)
}

/// Returns a pattern that has to match the whole string, as Java's `matches` and Python's
/// `fullmatch` require.
pub(crate) fn whole(pattern: &str) -> Result<String, String> {
    let anchored = pattern.starts_with('^') && pattern.ends_with('$') && !pattern.contains('|');
    if anchored { checked(pattern.to_owned()) } else { checked(format!("^(?:{pattern})$")) }
}

/// Matches every address that a validator accepts. Validators require more, but differ in what they
/// require.
pub(crate) const EMAIL: &str = "^.+@.+$";
/// Explains what [`EMAIL`] does not check.
pub(crate) const EMAIL_WHY: &str = "checks only for an `@` with text on both sides; address \
 validators differ in the rest";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_of_javascript_are_carried_over() {
        for (source, flags, expect) in [
            ("^[a-z]+$", "", "^[a-z]+$"),
            ("^[a-z]+$", "gi", "(?i)^[a-z]+$"),
            (r"a\/b", "", "a/b"),
            (r"\u00e9\u{1F600}", "u", r"\x{00e9}\x{1F600}"),
            ("[^]", "", r"[\s\S]"),
            ("[]", "", "(?!)"),
            ("[[a]", "", r"[\[a]"),
            (r"^\d{3}[\d-]$", "", "^[0-9]{3}[0-9-]$"),
            (r"\a", "", "a"),
            (r"(?<year>\w+)\s", "", r"(?<year>\w+)\s"),
        ] {
            assert_eq!(ecma(source, flags).as_deref(), Ok(expect), "{source}");
        }
        for (source, flags) in [("(", ""), ("a", "y"), ("a\\", ""), ("a\0", ""), ("(?<=a+)b", "")] {
            assert!(ecma(source, flags).is_err(), "{source}");
        }
    }

    #[test]
    fn whole_matches_are_anchored_once() {
        assert_eq!(whole("^a$").as_deref(), Ok("^a$"));
        assert_eq!(whole("a|b").as_deref(), Ok("^(?:a|b)$"));
        assert_eq!(whole("^a|b$").as_deref(), Ok("^(?:^a|b$)$"));
    }
}
