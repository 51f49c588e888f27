//! Steps that convert the values of a field.

use docward_model::{
    BsonType, Conversion, Draft, Field, FieldPath, FieldShape, Namespace, Profile, Safety, Step,
    TextClass,
};

use crate::facts::text;

/// Returns a step that converts the values of a field that have one of the types `from`.
pub fn convert(
    namespace: &Namespace,
    path: &FieldPath,
    from: impl Into<Vec<BsonType>>,
    to: impl Into<Vec<BsonType>>,
    conversion: Conversion,
) -> Step {
    Step::ConvertField {
        namespace: namespace.clone(),
        path: path.clone(),
        from: from.into(),
        to: to.into(),
        conversion,
    }
}

/// The server's conversion of strings. Empty strings become null, because as strings they would be a second type in
/// addition to the converted values.
pub fn cast(field: &Field) -> Conversion {
    let empty_to_null = empty_strings(field) > 0;
    Conversion::Cast { inner: None, epoch: None, reads_words: false, empty_to_null }
}

/// The number of empty strings.
pub fn empty_strings(field: &Field) -> u64 {
    field.text.as_ref().map_or(0, |text| text.of(TextClass::Empty))
}

/// Describes how [`cast`] treats empty strings, as text to append to advice.
pub fn empty_to_null(field: &Field) -> String {
    match empty_strings(field) {
        0 => String::new(),
        n => format!("; {} null", text::verb(n, "empty string becomes", "empty strings become")),
    }
}

/// Advises a conversion: as the remedy if the statement can run unchanged, otherwise only as a description.
pub fn advise(draft: Draft, step: Step, can_be_run: Option<Safety>) -> Draft {
    match can_be_run {
        Some(safety) => draft.plan(Some("RF-10"), safety, [step]),
        None => step.changes().into_iter().fold(draft, Draft::change),
    }
}

/// Whether an update can name a place: no folded keys, and no names that are empty or contain dots, brackets or
/// dollars.
pub fn can_be_written(profile: &Profile, field: &Field) -> bool {
    let mut at = Some(field);
    while let Some(current) = at {
        let is_plain = match current.shape {
            FieldShape::Named => {
                !current.name.is_empty()
                    && !current.name.contains('.')
                    && !current.name.contains("[]")
                    && !current.name.starts_with('$')
            }
            FieldShape::Element => true,
            _ => false,
        };
        if !is_plain {
            return false;
        }
        at = profile.parent(current);
    }
    true
}
