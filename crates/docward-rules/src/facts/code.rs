//! Findings in source code: where they are, and what tells them apart from run to run.

use std::collections::BTreeSet;

use docward_model::{
    Draft, Evidence, Namespace, Seen, Subject, Suppression, Unit,
    code::{Append, Code, DeclaredField, Place},
};

/// A finding at a place. Its fingerprint holds while lines move: the file within the project, the function and what
/// it is about.
pub fn draft(
    evidence: &Evidence,
    place: &Place,
    about: &str,
    what: impl Into<String>,
    why: &'static str,
    todo: impl Into<String>,
) -> Draft {
    let file = match &evidence.code {
        Some(code) => code.within_project(&place.location.file),
        None => place.location.file.clone(),
    };
    Draft::new(Subject::Deployment, what, why, todo, seen(evidence))
        .location(place.location.clone())
        .key(format!("{file} {} {about}", place.function.as_deref().unwrap_or_default()))
}

/// What tells a suppression from others: of a comment not its line, which moves with every change above it.
pub fn suppression_key(evidence: &Evidence, suppression: &Suppression) -> String {
    match &evidence.code {
        Some(code) if suppression.is_comment => {
            let file = code.within_project(&suppression.location.file);
            format!("{} in {file}", suppression.rule)
        }
        _ => suppression.text(),
    }
}

/// Fields of models that a rule is about, each with the last part of its path. A part that several models hold
/// is one place, and one field.
pub fn fields(
    evidence: &Evidence,
    is_meant: impl Fn(&Code, &DeclaredField, &str) -> bool,
) -> Vec<(&DeclaredField, &str)> {
    let mut places = BTreeSet::new();
    let mut out = Vec::new();
    if let Some(code) = &evidence.code {
        for field in &code.fields {
            let leaf = field.path.rsplit('.').next().unwrap_or(&field.path).trim_end_matches("[]");
            if is_meant(code, field, leaf) && places.insert(&field.place.location) {
                out.push((field, leaf));
            }
        }
    }
    out
}

/// A finding about a field of a model; what is wrong with it, in words.
pub fn field_draft(
    evidence: &Evidence,
    field: &DeclaredField,
    what: &str,
    why: &'static str,
    todo: &'static str,
) -> Draft {
    let about = format!("{} {}", field.model, field.path);
    let what = format!("`{}` of `{}` {what}", field.path, field.model);
    draft(evidence, &field.place, &about, what, why, todo).data("path", field.path.as_str())
}

/// How many files were looked at.
pub fn seen(evidence: &Evidence) -> Seen {
    let files = evidence.code.as_ref().map_or(0, |code| code.files.max(code.read));
    Seen::all(files, Unit::Files)
}

/// ` of `name`` when a collection or model is known.
pub fn of(collection: Option<&str>) -> String {
    collection.map(|name| format!(" of `{name}`")).unwrap_or_default()
}

/// Statements in source code that add to an array of a collection.
pub fn appends<'a>(
    evidence: &'a Evidence,
    namespace: &'a Namespace,
    path: &str,
) -> impl Iterator<Item = &'a Append> {
    let plain = path.replace("[]", "");
    evidence.code.iter().flat_map(|code| &code.appends).filter(move |append| {
        append.collection.as_deref() == Some(namespace.collection.as_str())
            && plain_path(&append.path) == plain
    })
}

/// A path of an update without positions in arrays.
pub fn plain_path(path: &str) -> String {
    let parts = path
        .split('.')
        .filter(|part| !part.starts_with('$') && part.parse::<u32>().is_err() && !part.is_empty());
    parts.collect::<Vec<_>>().join(".")
}

/// `app.js:12`.
pub fn line(place: &Place) -> String {
    format!("{}:{}", place.location.file, place.location.line)
}
