//! Findings in source code: their places, and the keys that identify them in later runs.

use std::collections::{BTreeMap, BTreeSet};

use docward_model::{
    Draft, Evidence, FieldPath, Namespace, Seen, Subject, Suppression, Unit,
    code::{Append, Code, DeclaredField, Place},
};

use crate::facts::text;

/// A finding at a place. Its fingerprint does not change while lines move: it consists of the file within the project,
/// the function and the subject.
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

/// Returns the key of a suppression. The key of a comment does not contain the line, which moves with every change
/// above it.
pub fn suppression_key(evidence: &Evidence, suppression: &Suppression) -> String {
    match &evidence.code {
        Some(code) if suppression.is_comment => {
            let file = code.within_project(&suppression.location.file);
            format!("{} in {file}", suppression.rule)
        }
        _ => suppression.text(),
    }
}

/// Fields of models that a rule checks, each with the last part of its path. A part that several models contain is one
/// place, and one field.
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

/// A finding about fields of one model, in the order of their lines; `what` describes the fault.
pub fn fields_draft(
    evidence: &Evidence,
    fields: &[&DeclaredField],
    what: &str,
    why: &'static str,
    todo: &'static str,
) -> Draft {
    let paths: Vec<&str> = fields.iter().map(|field| field.path.as_str()).collect();
    let Some(first) = fields.first() else {
        return Draft::new(Subject::Deployment, what, why, todo, seen(evidence));
    };
    let about = format!("{} {}", first.model, paths.join(" "));
    let what = format!("{} of `{}` {what}", text::list(&paths, 5), first.model);
    let draft = draft(evidence, &first.place, &about, what, why, todo);
    let others = fields.iter().skip(1).map(|field| field.place.location.clone());
    let draft = draft
        .paths(paths.iter().map(|path| FieldPath::new(*path)))
        .data("path", first.path.as_str())
        .locations(others);
    match paths.len() {
        1 => draft,
        _ => draft.data("fields", text::list(&paths, 20)),
    }
}

/// Groups fields by the assessment of a rule: fields of one model, in one file, with the same assessment are together.
pub fn by_model<'a, T: Ord>(
    evidence: &Evidence,
    fields: Vec<(&'a DeclaredField, T)>,
) -> Vec<(Vec<&'a DeclaredField>, T)> {
    let mut models: BTreeMap<(String, &str, T), Vec<&DeclaredField>> = BTreeMap::new();
    for (field, says) in fields {
        let file = match &evidence.code {
            Some(code) => code.within_project(&field.place.location.file),
            None => field.place.location.file.clone(),
        };
        models.entry((file, &field.model, says)).or_default().push(field);
    }
    let mut out: Vec<_> = models.into_iter().map(|((_, _, says), fields)| (fields, says)).collect();
    out.iter_mut().for_each(|(fields, _)| {
        fields.sort_by(|a, b| a.place.location.cmp(&b.place.location));
    });
    out
}

/// Whether the code at a place never runs, according to all files of the project.
pub fn is_never_run(evidence: &Evidence, place: &Place) -> bool {
    evidence.code.as_ref().is_some_and(|found| found.is_never_run(place))
}

/// Returns the number of files that were examined.
pub fn seen(evidence: &Evidence) -> Seen {
    let files = evidence.code.as_ref().map_or(0, |code| code.files.max(code.read));
    Seen::all(files, Unit::Files)
}

/// Returns ` of `name`` if a collection or model is known.
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

/// Whether code serves requests or jobs: it is reachable, is not started by hand, and has more than
/// one user.
pub fn runs_by_itself(found: &Code, place: &Place) -> bool {
    !found.is_never_run(place)
        && !found.is_hand_run(&place.location.file)
        && !found.is_for_one_person()
}

/// The number of documents in the only collection of the data that has the name in the code.
pub fn stored_documents(evidence: &Evidence, collection: Option<&str>) -> Option<u64> {
    let name = collection?;
    let mut named = evidence.collections.iter().filter(|c| c.namespace.collection == name);
    let (only, None) = (named.next()?, named.next()) else { return None };
    let in_profile = only.profile.as_ref().map(|profile| profile.total.max(profile.documents));
    only.stats.as_ref().map(|stats| stats.documents).or(in_profile)
}
