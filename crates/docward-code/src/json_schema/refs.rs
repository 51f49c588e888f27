//! Resolves references within one document: pointers, anchors and identifiers. Docward does not
//! read other documents.

use std::collections::BTreeMap;

use serde_json::Value;

/// Members that hold values and not schemas. Their contents cannot declare identifiers.
const VALUES: [&str; 4] = ["enum", "const", "default", "examples"];

/// The identifiers of the schemas of a document.
pub(super) struct Refs {
    /// The pointer of each resource, by its address. The document itself also has the empty
    /// address.
    resources: BTreeMap<String, String>,
    /// The pointer of each anchor. The key is the address, `#` and the anchor.
    anchors: BTreeMap<String, String>,
    /// Whether keywords next to a reference are ignored, as in drafts before 2019-09.
    pub(super) lonely: bool,
}

impl Refs {
    pub(super) fn of(root: &Value) -> Self {
        let draft = root.get("$schema").and_then(Value::as_str).unwrap_or_default();
        let old = ["draft-03", "draft-04", "draft-05", "draft-06", "draft-07"];
        let mut refs = Self {
            resources: BTreeMap::new(),
            anchors: BTreeMap::new(),
            lonely: old.iter().any(|name| draft.contains(name)),
        };
        refs.resources.insert(String::new(), String::new());
        refs.index(root, "", "");
        refs
    }

    fn index(&mut self, value: &Value, at: &str, base: &str) {
        match value {
            Value::Array(elements) => {
                for (index, element) in elements.iter().enumerate() {
                    self.index(element, &format!("{at}/{index}"), base);
                }
            }
            Value::Object(members) => {
                let text = |key: &str| members.get(key).and_then(Value::as_str);
                let mut own = base.to_owned();
                let id = text("$id").or_else(|| text("id"));
                if let Some(id) = id.filter(|_| !self.lonely || !members.contains_key("$ref")) {
                    let (address, fragment) = id.split_once('#').unwrap_or((id, ""));
                    if !address.is_empty() {
                        own = joined(base, address);
                        self.resources.entry(own.clone()).or_insert_with(|| at.to_owned());
                    }
                    // Drafts before 2019-09 declare anchors with `$id`.
                    if !fragment.is_empty() {
                        self.anchors.entry(format!("{own}#{fragment}")).or_insert(at.to_owned());
                    }
                }
                for key in ["$anchor", "$dynamicAnchor"] {
                    if let Some(anchor) = text(key) {
                        self.anchors.entry(format!("{own}#{anchor}")).or_insert(at.to_owned());
                    }
                }
                for (name, member) in members {
                    if !VALUES.contains(&name.as_str()) {
                        self.index(member, &format!("{at}/{}", escaped(name)), &own);
                    }
                }
            }
            _ => {}
        }
    }

    /// Returns the pointer that `reference` resolves to if it is written at `at`.
    pub(super) fn resolve(&self, root: &Value, at: &str, reference: &str) -> Option<String> {
        let base = self.base(at);
        let (address, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let address = if address.is_empty() { base.to_owned() } else { joined(base, address) };
        let resource = self.resources.get(&address)?;
        let fragment = decoded(fragment);
        let pointer = if fragment.is_empty() {
            resource.clone()
        } else if fragment.starts_with('/') {
            format!("{resource}{fragment}")
        } else {
            self.anchors.get(&format!("{address}#{fragment}"))?.clone()
        };
        root.pointer(&pointer).is_some().then_some(pointer)
    }

    /// Returns the target of a dynamic reference. With a single resource, it is the target of an
    /// ordinary reference. With several, it depends on which schemas the validation has entered.
    pub(super) fn resolve_dynamic(
        &self,
        root: &Value,
        at: &str,
        reference: &str,
    ) -> Option<String> {
        if self.resources.values().any(|pointer| !pointer.is_empty()) {
            return None;
        }
        self.resolve(root, at, reference)
    }

    /// Returns the address of the innermost resource around a pointer.
    fn base(&self, at: &str) -> &str {
        let inside = |pointer: &str| {
            pointer.is_empty()
                || at == pointer
                || at.strip_prefix(pointer).is_some_and(|rest| rest.starts_with('/'))
        };
        self.resources
            .iter()
            .filter(|(_, pointer)| inside(pointer))
            .max_by_key(|(address, pointer)| (pointer.len(), address.len()))
            .map_or("", |(address, _)| address)
    }

    /// Returns all references: the position and the target of each.
    pub(super) fn all(&self, root: &Value) -> Vec<(String, String)> {
        let mut found = Vec::new();
        let mut stack = vec![(root, String::new())];
        while let Some((value, here)) = stack.pop() {
            match value {
                Value::Array(elements) => stack.extend(
                    elements
                        .iter()
                        .enumerate()
                        .map(|(i, element)| (element, format!("{here}/{i}"))),
                ),
                Value::Object(members) => {
                    if let Some(Value::String(reference)) = members.get("$ref")
                        && let Some(target) = self.resolve(root, &here, reference)
                    {
                        found.push((here.clone(), target));
                    }
                    stack.extend(
                        members
                            .iter()
                            .map(|(name, member)| (member, format!("{here}/{}", escaped(name)))),
                    );
                }
                _ => {}
            }
        }
        found
    }
}

/// Returns a name with the escapes that a pointer needs.
pub(super) fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// Returns a fragment with its percent escapes decoded.
fn decoded(fragment: &str) -> String {
    let bytes = fragment.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let hex = fragment.get(at + 1..at + 3).and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match (byte, hex) {
            (b'%', Some(value)) => {
                out.push(value);
                at += 3;
            }
            _ => {
                out.push(*byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Returns the absolute form of a reference, as far as it can be resolved.
fn joined(base: &str, reference: &str) -> String {
    let scheme = |text: &str| {
        text.find(':').filter(|colon| {
            *colon > 0
                && text[..*colon].chars().all(|c| c.is_ascii_alphanumeric() || "+.-".contains(c))
        })
    };
    if scheme(reference).is_some() {
        return reference.to_owned();
    }
    let path_from = match (scheme(base), base.find("://")) {
        (Some(_), Some(slashes)) => {
            base[slashes + 3..].find('/').map_or(base.len(), |slash| slashes + 3 + slash)
        }
        _ => 0,
    };
    let (origin, path) = base.split_at(path_from);
    if reference.starts_with('/') {
        return format!("{origin}{reference}");
    }
    let folder = path.rfind('/').map_or("", |slash| &path[..=slash]);
    let folder = if folder.is_empty() && !origin.is_empty() { "/" } else { folder };
    let mut parts: Vec<&str> = folder.split('/').collect();
    parts.pop();
    for part in reference.split('/') {
        match part {
            "." => {}
            ".." => {
                if parts.len() > 1 {
                    parts.pop();
                }
            }
            part => parts.push(part),
        }
    }
    format!("{origin}{}", parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_joined() {
        for (base, reference, expect) in [
            ("", "a.json", "a.json"),
            ("http://x.test/s/root.json", "item.json", "http://x.test/s/item.json"),
            ("http://x.test/s/root.json", "/item.json", "http://x.test/item.json"),
            ("http://x.test/s/root.json", "../item.json", "http://x.test/item.json"),
            ("http://x.test", "item.json", "http://x.test/item.json"),
            ("http://x.test/a", "urn:b:c", "urn:b:c"),
        ] {
            assert_eq!(joined(base, reference), expect, "{base} {reference}");
        }
    }

    #[test]
    fn broken_percent_signs_stay() {
        assert_eq!(decoded("/a%25b%7Ec"), "/a%b~c");
        assert_eq!(decoded("/%zz%4"), "/%zz%4");
        assert_eq!(decoded("%ü"), "%ü");
    }
}
