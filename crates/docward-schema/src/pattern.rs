//! Regular expressions, by the library of servers from 6.1 on. 6.0 and older have its predecessor, which takes and
//! matches the same but for rare cases; what they say of a pattern that does not compile is worded otherwise.

use crate::SchemaFault;

/// A compiled pattern.
#[derive(Clone, Debug)]
pub(crate) struct Pattern(pcre2::bytes::Regex);

/// The server's code for patterns that do not compile.
const INVALID: i32 = 51_091;
const UNKNOWN_FLAG: i32 = 51_108;

impl Pattern {
    pub(crate) fn new(text: &str) -> Result<Self, SchemaFault> {
        Self::with_flags(text, "")
    }

    /// Of names in `patternProperties`, which the server matches byte by byte, not letter by letter.
    pub(crate) fn of_names(text: &str) -> Result<Self, SchemaFault> {
        Self::build(text, "", false)
    }

    /// With the letters that stand behind a regular expression.
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
                // Drivers send it; it changes nothing.
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
        builder.build(text).map(Self).map_err(|error| SchemaFault {
            code: INVALID,
            message: format!("Regular expression is invalid: {error}"),
        })
    }

    /// Whether it is found in a text. Text that is not UTF-8, or too much for the library's limits, is
    /// not matched, as on the server.
    pub(crate) fn is_in(&self, text: &[u8]) -> bool {
        self.0.is_match(text).unwrap_or(false)
    }
}
