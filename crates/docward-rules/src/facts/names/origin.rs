//! Whether another system chose the names and the layout of documents, as far as the documents show it.

use std::collections::BTreeMap;

use docward_model::{BsonType, Field, FieldShape, Profile, TextClass};

use crate::facts::names;

/// Names of fields with unchanged content from another system.
const ENVELOPES: [&str; 8] =
    ["data", "payload", "body", "raw", "response", "original", "message", "content"];
/// The minimum share of the bytes of the documents that makes such a field the content, and the others its description.
const CONTENT: f64 = 0.9;
/// The number of adjacent links that only interfaces with hypermedia have.
const LINKS: usize = 5;

/// Whether a field, or an enclosing one, contains data of another system: content with fields that only describe it,
/// JSON-LD, or the reply of an interface with hypermedia.
pub fn is_foreign(profile: &Profile, field: &Field) -> bool {
    are_foreign(profile, std::iter::once(field))
}

/// Whether all of the fields are foreign.
pub fn are_foreign<'a>(profile: &Profile, mut fields: impl Iterator<Item = &'a Field>) -> bool {
    is_linked_data(profile)
        || has_hypermedia(profile)
        || fields.all(|field| {
            let mut top = field;
            while let Some(parent) = profile.parent(top) {
                top = parent;
            }
            is_envelope(profile, top)
        })
}

/// The end of advice about foreign names.
pub const KEEP: &str = "; keep the names if another system defines them";

/// Whether keys at this place are names of a vocabulary, or data, rather than names of fields: `@type`, `rdfs:label`,
/// `refs/heads/main`.
pub fn is_qualified(name: &str) -> bool {
    name.starts_with('@') || name.contains(['/', ':'])
}

/// Whether at least three keys of an object are names of mail or HTTP headers: `Content-Type`, `X-Mailer`.
pub fn are_headers(names: &[&str]) -> bool {
    let is_header = |name: &&&str| {
        let mut parts = name.split('-');
        let has_hyphen = name.contains('-');
        has_hyphen
            && parts.all(|part| {
                part.starts_with(|c: char| c.is_ascii_uppercase())
                    && part.bytes().all(|c| c.is_ascii_alphanumeric())
            })
    };
    names.iter().filter(is_header).count() >= 3
}

fn is_envelope(profile: &Profile, top: &Field) -> bool {
    ENVELOPES.contains(&names::normalised(&top.name).as_str())
        && top.is_only(BsonType::Object)
        && profile.top_level().filter(|f| f.name != "_id").count() >= 3
        && top.bytes as f64 >= CONTENT * profile.sizes.sum as f64
}

fn is_linked_data(profile: &Profile) -> bool {
    profile
        .fields
        .iter()
        .any(|f| matches!(f.name.as_str(), "@context" | "@type" | "@graph" | "@id"))
}

fn has_hypermedia(profile: &Profile) -> bool {
    let mut links: BTreeMap<Option<usize>, usize> = BTreeMap::new();
    for field in profile.fields.iter().filter(|f| f.shape == FieldShape::Named) {
        let is_link = names::words(&field.name)
            .last()
            .is_some_and(|word| matches!(word.as_str(), "url" | "href"));
        if is_link && field.text.as_ref().is_some_and(|t| 2 * t.of(TextClass::Url) > t.total()) {
            *links.entry(field.parent).or_default() += 1;
        }
    }
    links.values().any(|&n| n >= LINKS)
}
