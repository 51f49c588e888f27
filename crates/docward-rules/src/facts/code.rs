//! Findings in source code: where they are, and what tells them apart from run to run.

use docward_model::{Draft, Evidence, Seen, Subject, Unit, code::Place};

/// A finding at a place. Its fingerprint holds while lines move: file, function and what it is about.
pub fn draft(
    evidence: &Evidence,
    place: &Place,
    about: &str,
    what: impl Into<String>,
    why: &'static str,
    todo: impl Into<String>,
) -> Draft {
    Draft::new(Subject::Deployment, what, why, todo, seen(evidence))
        .location(place.location.clone())
        .key(format!(
            "{} {} {about}",
            place.location.file,
            place.function.as_deref().unwrap_or_default()
        ))
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
