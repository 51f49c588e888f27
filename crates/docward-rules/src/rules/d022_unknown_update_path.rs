//! DM-06.3: paths that no document has.

use docward_model::Evidence;

use crate::{Cx, declare_rule, facts::code};

declare_rule! {
    /// # Unknown update path
    ///
    /// ## What it checks
    /// Compares the paths that updates in source code write with the fields of the documents
    /// (`docward audit SOURCE --code PATH`). Reports a path that no document has, if most documents have a path
    /// that differs by a letter or two.
    ///
    /// The code must show the collection, and at least 100 of its documents must have been read.
    ///
    /// ## Why it matters
    /// An update with a mistyped path succeeds: the server creates the field. Code that reads the correct field
    /// does not see the value.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// @ db_shop.t_config
    /// x200 {"a": {"b": {"colour": 1}}}
    /// writes t_config a.b.coluor
    /// ```
    /// ```jsonl,clean
    /// @ db_shop.t_config
    /// x200 {"a": {"b": {"colour": 1}}}
    /// writes t_config a.b.colour
    /// writes t_config a.b.brightness
    /// writes t_other a.b.coluor
    /// ```
    ///
    /// ## How to fix
    /// Correct the path, and move the values that were written under the wrong one.
    ///
    /// ## When to ignore it
    /// The field is new and replaces the old one.
    D022, "unknown-update-path",
    level: Recommended,
    area: Correctness,
    clauses: ["DM-06.3"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Code, Documents],
    thresholds: [],
    data: ["nearest"],
    check: Deployment(check),
}

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let Some(found) = &evidence.code else { return };
    for set in &found.set_paths {
        let Some(name) = set.collection.as_deref().filter(|_| set.path != "*") else { continue };
        let mut named = evidence.collections.iter().filter(|c| c.namespace.collection == name);
        let (Some(collection), None) = (named.next(), named.next()) else { continue };
        let Some(profile) = collection.profile.as_ref().filter(|p| p.documents >= MIN_DOCUMENTS)
        else {
            continue;
        };
        let path = plain(&set.path);
        let has =
            |path: &str| profile.fields.iter().any(|field| plain(field.path.as_str()) == path);
        if has(&path) {
            continue;
        }
        let near = profile
            .fields
            .iter()
            .filter(|field| 2 * field.count >= profile.documents)
            .map(|field| plain(field.path.as_str()))
            .filter(|other| other.split('.').count() == path.split('.').count())
            .filter(|other| differs_little(&path, other))
            .min();
        if let Some(near) = near {
            cx.report(
                code::draft(
                    evidence,
                    &set.place,
                    &set.path,
                    format!(
                        "{} writes to `{}` of `{}`, but no document has this field; most documents have `{near}`",
                        set.operator, set.path, collection.namespace
                    ),
                    "an update with a mistyped path succeeds and creates a new field",
                    format!("change the path to `{near}`, and move values that were stored under the wrong name"),
                )
                .data("nearest", near.as_str()),
            );
        }
    }
}

/// Fewer documents do not show which fields exist.
const MIN_DOCUMENTS: u64 = 100;

/// A path without positions in arrays.
fn plain(path: &str) -> String {
    let parts: Vec<&str> = path
        .split('.')
        .map(|part| part.trim_end_matches("[]"))
        .filter(|part| !part.starts_with('$') && part.parse::<u32>().is_err() && !part.is_empty())
        .collect();
    parts.join(".")
}

/// Whether a part of the path differs by a letter or two, in a name long enough for a typing error.
fn differs_little(a: &str, b: &str) -> bool {
    let distance = strsim::damerau_levenshtein(a, b);
    let different: Vec<(&str, &str)> =
        a.split('.').zip(b.split('.')).filter(|(a, b)| a != b).collect();
    let [(a, b)] = different.as_slice() else { return false };
    distance > 0
        && distance <= 2
        && a.len().min(b.len()) >= 5
        && strsim::damerau_levenshtein(a, b) <= 1 + a.len() / 8
        // `address1` and `address2` are two fields.
        && !a.chars().zip(b.chars()).any(|(a, b)| a != b && a.is_ascii_digit() && b.is_ascii_digit())
}
