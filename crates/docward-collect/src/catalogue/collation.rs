//! Collations in one spelling, so that equal ones compare equal.

use docward_model::Value;

/// What holds when a collation does not say; the server writes it out all the same.
const DEFAULTS: &[(&str, &str)] = &[
    ("alternate", "non-ignorable"),
    ("backwards", "false"),
    ("caseFirst", "off"),
    ("caseLevel", "false"),
    ("maxVariable", "punct"),
    ("normalization", "false"),
    ("numericOrdering", "false"),
    ("strength", "3"),
];

/// `locale=en strength=2`: sorted, without defaults and the version of the collation library.
/// `None` for the simple collation, which is no collation.
pub(crate) fn canonical(collation: &Value) -> Option<String> {
    let locale = collation.get("locale")?.as_text()?;
    if locale == "simple" {
        return None;
    }
    let mut parts: Vec<_> = collation
        .entries()
        .iter()
        .filter(|(key, _)| key != "locale" && key != "version")
        .filter_map(|(key, value)| Some((key.as_str(), plain(value)?)))
        .filter(|(key, value)| !DEFAULTS.contains(&(*key, value.as_str())))
        .collect();
    parts.sort_unstable();
    let mut text = format!("locale={locale}");
    for (key, value) in parts {
        text.push_str(&format!(" {key}={value}"));
    }
    Some(text)
}

fn plain(value: &Value) -> Option<String> {
    Some(match value {
        Value::Bool(value) => value.to_string(),
        Value::Text(text) => text.clone(),
        other => other.as_int()?.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use bson::doc;

    use super::*;
    use crate::catalogue::of_document;

    #[test]
    fn equal_collations_read_the_same() {
        let full = doc! { "locale": "en", "caseLevel": false, "caseFirst": "off", "strength": 2,
            "numericOrdering": true, "alternate": "non-ignorable", "maxVariable": "punct",
            "normalization": false, "backwards": false, "version": "57.1" };
        let brief = doc! { "numericOrdering": true, "strength": 2.0, "locale": "en" };
        let [full, brief] = [full, brief].map(|c| canonical(&of_document(&c.to_vec().unwrap())));
        assert_eq!(full.as_deref(), Some("locale=en numericOrdering=true strength=2"));
        assert_eq!(full, brief);
        let simple = of_document(&doc! { "locale": "simple" }.to_vec().unwrap());
        assert_eq!(canonical(&simple), None);
    }
}
