//! Parses tags of struct fields: `key:"value"` pairs in one string.

/// The parts of a tag that affect documents.
#[derive(Debug, Default)]
pub(super) struct Tag<'t> {
    pub(super) bson: Option<&'t str>,
    pub(super) validate: Option<&'t str>,
}

impl<'t> Tag<'t> {
    pub(super) fn read(text: &'t str) -> Self {
        let mut tag = Self::default();
        let mut rest = text.trim_matches('`');
        loop {
            rest = rest.trim_start();
            let Some((key, after)) = rest.split_once(":\"") else { return tag };
            let Some(end) = closing(after) else { return tag };
            let value = &after[..end];
            match key.rsplit(' ').next() {
                Some("bson") => tag.bson = Some(value),
                Some("validate" | "binding") => tag.validate = Some(value),
                _ => {}
            }
            rest = &after[end + 1..];
        }
    }
}

/// Returns the position of the closing quotation mark. The string may contain escaped ones.
fn closing(text: &str) -> Option<usize> {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return Some(at),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::Tag;

    #[test]
    fn tags_are_taken_apart() {
        for (text, bson, validate) in [
            ("`bson:\"a,omitempty\" json:\"b\"`", Some("a,omitempty"), None),
            ("`json:\"b\" validate:\"min=1\" bson:\"a\"`", Some("a"), Some("min=1")),
            ("`binding:\"required\"`", None, Some("required")),
            ("`bson:\"a`", None, None),
            ("`bson:\"a\\\"`", None, None),
            ("``", None, None),
            ("", None, None),
        ] {
            let tag = Tag::read(text);
            assert_eq!((tag.bson, tag.validate), (bson, validate), "{text}");
        }
    }
}
