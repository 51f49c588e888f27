//! Escapes in string literals. The languages share almost all of them.

/// The text with its escapes resolved. An unknown escape is the character itself, or stays as it is
/// if `keeps_unknown`, as in Python and PHP.
pub(crate) fn unescaped(text: &str, keeps_unknown: bool) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, escape)) = rest.split_once('\\') {
        out.push_str(before);
        let Some(first) = escape.chars().next() else { return out };
        let behind = &escape[first.len_utf8()..];
        // The character, and the length of its digits.
        let (found, length) = match first {
            'n' => (Some('\n'), 0),
            't' => (Some('\t'), 0),
            'r' => (Some('\r'), 0),
            '\\' | '\'' | '"' | '`' => (Some(first), 0),
            'x' => number(behind, 2, 16),
            'U' => number(behind, 8, 16),
            'u' => match behind.strip_prefix('{').and_then(|rest| rest.split_once('}')) {
                Some((digits, _)) => (number(digits, 6, 16).0, digits.len() + 2),
                None => number(behind, 4, 16),
            },
            '0'..='7' => {
                let (found, length) = number(escape, 3, 8);
                (found, length.saturating_sub(1))
            }
            _ => (None, 0),
        };
        match found {
            Some(found) => {
                out.push(found);
                rest = &behind[length..];
            }
            None => {
                if keeps_unknown {
                    out.push('\\');
                }
                out.push(first);
                rest = behind;
            }
        }
    }
    out.push_str(rest);
    out
}

/// The character with the number at the start of a text, and the number of its digits.
fn number(text: &str, most: usize, radix: u32) -> (Option<char>, usize) {
    let length = text.chars().take(most).take_while(|c| c.is_digit(radix)).count();
    (u32::from_str_radix(&text[..length], radix).ok().and_then(char::from_u32), length)
}

#[cfg(test)]
mod tests {
    use super::unescaped;

    #[test]
    fn escapes_of_all_languages_are_resolved() {
        for (text, expected) in [
            ("a", "a"),
            (r"a\tb\n\\\'", "a\tb\n\\'"),
            (r"a\0b\x00c\u0000d\u{0}e\U00000000f", "a\0b\0c\0d\0e\0f"),
            (r"\x41\u00e9\101\u{1f600}", "AéA😀"),
            (r"\u00", "\0"),
            (r"\", ""),
            (r"\é", "é"),
            (r"\ud800", "ud800"),
        ] {
            assert_eq!(unescaped(text, false), expected, "{text}");
        }
        assert_eq!(unescaped(r"\d\é\uz", true), r"\d\é\uz");
    }
}
