//! Regular expressions. Docward uses a newer version of the library of servers from 6.1 on,
//! restricted to the behaviour of theirs. Older servers use the predecessor of that library. It
//! differs only in rare cases and in its messages for invalid patterns.

use crate::SchemaFault;

/// A compiled pattern.
#[derive(Clone, Debug)]
pub(crate) struct Pattern(pcre2::bytes::Regex);

/// A pattern as the library of servers reads it. The version here is newer: it reads `{,3}` and
/// `{1, 3}` as quantifiers, which are text to servers, and it supports variable-length lookbehind.
fn as_servers_read(text: &str) -> Result<String, &'static str> {
    let mut out = String::with_capacity(text.len());
    // The depth of parentheses, and the depths at which lookbehinds are open.
    let (mut depth, mut behind) = (0_usize, Vec::new());
    let (mut in_class, mut class_start, mut quoted) = (false, 0, false);
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &text[at..];
        let next = rest.chars().next().map_or(1, char::len_utf8);
        let mut taken = next;
        if quoted {
            quoted = !rest.starts_with("\\E");
        } else if let Some(escaped) = rest.strip_prefix('\\') {
            quoted = escaped.starts_with('Q');
            taken = 1 + escaped.chars().next().map_or(0, char::len_utf8);
        } else if in_class {
            // The first closing bracket of a class is a literal.
            in_class = !(rest.starts_with(']') && at > class_start);
            if let Some(end) = rest.strip_prefix("[:").and_then(|inner| inner.find(":]")) {
                taken = end + 4;
            }
        } else {
            match bytes[at] {
                b'[' => {
                    in_class = true;
                    class_start = at + if rest.starts_with("[^") { 2 } else { 1 };
                }
                b'(' => {
                    depth += 1;
                    if rest.starts_with("(?<=") || rest.starts_with("(?<!") {
                        behind.push(depth);
                    }
                    // The text after `(?` is not a quantifier.
                    if rest.starts_with("(?") {
                        taken = 2;
                    }
                }
                b')' => {
                    behind.retain(|open| *open != depth);
                    depth = depth.saturating_sub(1);
                }
                b'*' | b'+' | b'?' if !behind.is_empty() => return Err(VARIES),
                b'{' => match Times::read(rest) {
                    Times::Newer => out.push('\\'),
                    Times::Varying if !behind.is_empty() => return Err(VARIES),
                    _ => {}
                },
                _ => {}
            }
        }
        out.push_str(&rest[..taken]);
        at += taken;
    }
    Ok(out)
}

/// The message of the library of servers.
const VARIES: &str = "lookbehind assertion is not fixed length";

/// The content of braces.
enum Times {
    /// A quantifier with a fixed count.
    Fixed,
    /// A quantifier with a variable count.
    Varying,
    /// A quantifier in newer libraries only.
    Newer,
    /// Other text.
    Text,
}

impl Times {
    fn read(text: &str) -> Self {
        let inner = text.strip_prefix('{').and_then(|rest| rest.split_once('}'));
        let Some((inner, _)) = inner else { return Self::Text };
        let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        let blank = [' ', '\t'];
        let (least, most) = match inner.split_once(',') {
            Some((least, most)) => (least, Some(most)),
            None => (inner, None),
        };
        let (bare_least, bare_most) =
            (least.trim_matches(blank), most.map(|m| m.trim_matches(blank)));
        let is_times = match bare_most {
            None => is_number(bare_least),
            Some("") => is_number(bare_least),
            Some(most) => is_number(most) && (bare_least.is_empty() || is_number(bare_least)),
        };
        if !is_times {
            return Self::Text;
        }
        if bare_least.is_empty() || inner.contains(blank) {
            return Self::Newer;
        }
        if most.is_none_or(|most| most == least) { Self::Fixed } else { Self::Varying }
    }
}

/// The server's code for invalid patterns.
const INVALID: i32 = 51_091;
const UNKNOWN_FLAG: i32 = 51_108;

impl Pattern {
    pub(crate) fn new(text: &str) -> Result<Self, SchemaFault> {
        Self::with_flags(text, "")
    }

    /// Compiles a pattern for names in `patternProperties`, which the server matches by bytes, not
    /// by characters.
    pub(crate) fn of_names(text: &str) -> Result<Self, SchemaFault> {
        Self::build(text, "", false)
    }

    /// Compiles a pattern with the flags of a regular expression.
    pub(crate) fn with_flags(text: &str, flags: &str) -> Result<Self, SchemaFault> {
        Self::build(text, flags, true)
    }

    fn build(text: &str, flags: &str, utf: bool) -> Result<Self, SchemaFault> {
        let mut builder = pcre2::bytes::RegexBuilder::new();
        builder.utf(utf).jit_if_available(true);
        for flag in flags.chars() {
            match flag {
                'i' => builder.caseless(true),
                'm' => builder.multi_line(true),
                's' => builder.dotall(true),
                'x' => builder.extended(true),
                // Drivers send this flag; it has no effect.
                'u' => &mut builder,
                other => {
                    let message = format!(" invalid flag in regex options: {other}");
                    return Err(SchemaFault { code: UNKNOWN_FLAG, message });
                }
            };
        }
        if text.contains('\0') {
            let message = "Regular expression cannot contain an embedded null byte".to_owned();
            return Err(SchemaFault { code: 2, message });
        }
        let invalid = |why: &dyn std::fmt::Display| SchemaFault {
            code: INVALID,
            message: format!("Regular expression is invalid: {why}"),
        };
        let older = as_servers_read(text).map_err(|why| invalid(&why))?;
        builder.build(&older).map(Self).map_err(|error| invalid(&error))
    }

    /// Returns whether the pattern matches a text. Text that is not UTF-8, or exceeds the library's
    /// limits, does not match, as on the server.
    pub(crate) fn is_in(&self, text: &[u8]) -> bool {
        self.0.is_match(text).unwrap_or(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gc_17_numbers_of_times_are_those_of_servers() {
        for (pattern, text, is_in) in [
            ("a{,2}", "xyz", false),
            ("a{,2}", "a{,2}", true),
            ("^[a-z]{,50}$", "abc", false),
            ("^a{1, 3}$", "aa", false),
            ("^a{1,3}$", "aa", true),
            ("^a{2}$", "aa", true),
            ("^a{2,}$", "aaa", true),
            // In classes, after a backslash and in quotes braces are literals anyway.
            ("^[{,2}]+$", "{,2}", true),
            ("^[]{,2}]+$", "]2", true),
            ("^a\\{,2}$", "a{,2}", true),
            ("^\\Qa{,2}\\E$", "a{,2}", true),
            ("^[[:alpha:]]{1,2}$", "ab", true),
            ("(?<=ab)c", "abc", true),
            ("(?<!a)c", "bc", true),
            ("(?<=a{2})b", "aab", true),
            ("(?<=\\+)b", "+b", true),
            ("(?<name>a+)b", "aab", true),
            ("(?<=a)b+", "abb", true),
        ] {
            let compiled =
                Pattern::new(pattern).unwrap_or_else(|fault| panic!("{pattern}: {fault:?}"));
            assert_eq!(compiled.is_in(text.as_bytes()), is_in, "{pattern} in {text}");
        }
    }

    #[test]
    fn gc_17_servers_look_behind_by_one_length() {
        for pattern in ["(?<=a{1,3})b", "(?<!a*)b", "(?<=(a|b)?)c", "(?<=a+)b"] {
            let fault = Pattern::new(pattern).unwrap_err();
            assert_eq!(fault.code, INVALID, "{pattern}");
            assert!(fault.message.contains("not fixed length"), "{}", fault.message);
        }
    }
}
