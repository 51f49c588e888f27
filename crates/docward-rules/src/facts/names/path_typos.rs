//! Finds paths that no document has, and the path that was probably intended.

use docward_model::Profile;

use crate::facts::names::naming::{concept, holds_data_keys};

/// The path without positions in arrays.
fn plain(path: &str) -> String {
    let parts: Vec<_> = path.split('.').filter(|p| p.parse::<u32>().is_err()).collect();
    parts.join(".")
}

/// Whether no document has the path and the documents can show this: no part of the path is a map with data as keys,
/// or an array of arrays.
pub fn is_absent(profile: &Profile, path: &str) -> bool {
    if path.contains("$**") || path == "_id" || path.starts_with("_id.") {
        return false;
    }
    let path = plain(path);
    let mut known = profile.fields.iter().map(|f| (f, f.path.dotted()));
    !known.any(|(field, dotted)| {
        dotted == path
            || (path.starts_with(&format!("{dotted}.")) && holds_data_keys(profile, field))
            // Keys folded at the top level.
            || dotted == "*"
    })
}

/// Returns the existing path that is most similar to the absent one, if it differs by at most this
/// many letters.
pub fn nearest(profile: &Profile, path: &str, most_edits: usize) -> Option<String> {
    nearest_of(profile, path, most_edits, |_| true)
}

/// Returns the most similar path among those that `counts` accepts.
pub fn nearest_of(
    profile: &Profile,
    path: &str,
    most_edits: usize,
    counts: impl Fn(&str) -> bool,
) -> Option<String> {
    let path = plain(path);
    let wanted: Vec<String> = path.split('.').map(concept).collect();
    let mut best: Option<(usize, String)> = None;
    for field in &profile.fields {
        let known = field.path.dotted();
        if known.contains('*') || known == "_id" || !counts(&known) {
            continue;
        }
        // The same words in another style are nearer than any edit.
        let same_words = known.split('.').map(concept).eq(wanted.iter().cloned());
        let distance = if same_words { 0 } else { strsim::damerau_levenshtein(&known, &path) };
        let allowed = match path.len() {
            0..=4 => 0,
            5..=9 => 1,
            _ => 2,
        };
        let allowed = allowed.min(most_edits);
        if distance <= allowed && best.as_ref().is_none_or(|b| (distance, &known) < (b.0, &b.1)) {
            best = Some((distance, known));
        }
    }
    best.map(|(_, known)| known)
}
