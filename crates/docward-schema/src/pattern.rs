//! Regular expressions, by the library the server uses.

use crate::SchemaFault;

/// A compiled pattern.
#[derive(Clone, Debug)]
pub(crate) struct Pattern(pcre2::bytes::Regex);

/// The server's code for patterns that do not compile.
const INVALID: i32 = 51_091;

impl Pattern {
    pub(crate) fn new(text: &str) -> Result<Self, SchemaFault> {
        if text.contains('\0') {
            let message = "Regular expression cannot contain an embedded null byte".to_owned();
            return Err(SchemaFault { code: 2, message });
        }
        let built = pcre2::bytes::RegexBuilder::new().utf(true).jit_if_available(true).build(text);
        built.map(Self).map_err(|error| SchemaFault {
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
