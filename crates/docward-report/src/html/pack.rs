//! Data for the script: compressed JSON, encoded as text that cannot contain markup.

use std::io::Write;

use base64::{Engine, engine::general_purpose::STANDARD};
use flate2::{Compression, write::GzEncoder};
use maud::{Markup, PreEscaped, html};
use serde::Serialize;

/// A data block with an id.
pub(crate) fn block(id: &str, data: &impl Serialize) -> Markup {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    // Writing to memory cannot fail, and the data consists of texts and numbers.
    let json = serde_json::to_vec(data).unwrap_or_default();
    let packed = encoder.write_all(&json).and_then(|()| encoder.finish()).unwrap_or_default();
    html! {
        script type="text/plain" id=(id) { (PreEscaped(STANDARD.encode(packed))) }
    }
}

/// A name as a part of a URL.
pub(crate) fn percent_encoded(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                out.push(char::from(byte));
            }
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}
