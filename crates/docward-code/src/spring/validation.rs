//! Translates Bean Validation (`jakarta.validation`, `javax.validation`, and some of Hibernate's
//! annotations). An application that enables validation checks these rules before it writes a
//! document.

use bson::Bson;

use crate::{
    draft::Draft,
    pattern,
    shape::{Limit, Shape, number},
};
use docward_source::syntax::quoted;

use super::java::{Annotation, Java};

/// Annotations that do not restrict values.
const HARMLESS: [&str; 40] = [
    "Id",
    "MongoId",
    "Field",
    "Document",
    "Transient",
    "Version",
    "Indexed",
    "TextIndexed",
    "TextScore",
    "GeoSpatialIndexed",
    "HashIndexed",
    "WildcardIndexed",
    "CompoundIndex",
    "CreatedDate",
    "LastModifiedDate",
    "CreatedBy",
    "LastModifiedBy",
    "DBRef",
    "DocumentReference",
    "Unwrapped",
    "Valid",
    "Getter",
    "Setter",
    "Builder",
    "Default",
    "Singular",
    "ToString",
    "EqualsAndHashCode",
    "With",
    "JsonProperty",
    "JsonIgnore",
    "JsonFormat",
    "JsonInclude",
    "Nullable",
    "Deprecated",
    "SuppressWarnings",
    "Override",
    "Schema",
    "Autowired",
    "PersistenceCreator",
];

/// Applies one annotation. Returns whether it makes the field required. Nested objects are
/// validated only with `@Valid`.
pub(super) fn apply(
    draft: &mut Draft,
    shape: &mut Shape,
    java: &Java<'_>,
    annotation: &Annotation<'_>,
    path: &str,
) -> bool {
    if !draft.is_checked() {
        return false;
    }
    let what = || quoted(annotation.text);
    let place = annotation.place;
    let value = |key: &str| java.argument(annotation, key);
    let size = |key: &str| match value(key) {
        Some(Bson::Int32(n)) => u64::try_from(n).ok(),
        _ => None,
    };
    let zero = Bson::Int32(0);
    match annotation.name {
        "NotNull" | "NonNull" | "Nonnull" => return true,
        "NotBlank" => {
            shape.patterns.push("\\S".to_owned());
            return true;
        }
        "NotEmpty" => {
            shape.set_min_size(1);
            return true;
        }
        "Size" | "Length" => {
            if let Some(n) = size("min").filter(|n| *n > 0) {
                shape.set_min_size(n);
            }
            if let Some(n) = size("max") {
                shape.set_max_size(n);
            }
        }
        "Positive" => shape.minimum = Limit::excluding(zero),
        "PositiveOrZero" => shape.minimum = Limit::including(zero),
        "Negative" => shape.maximum = Limit::excluding(zero),
        "NegativeOrZero" => shape.maximum = Limit::including(zero),
        "Min" | "Max" | "DecimalMin" | "DecimalMax" | "Range" => {
            limits(draft, shape, java, annotation, path);
        }
        "Pattern" => match java.text(annotation, &["regexp"]) {
            Some(source) => {
                let insensitive = annotation.text.contains("CASE_INSENSITIVE");
                let source = if insensitive { format!("(?i){source}") } else { source };
                match pattern::whole(&source) {
                    Ok(pattern) => shape.patterns.push(pattern),
                    Err(why) => draft.loosened(path, what(), why, place),
                }
            }
            None => draft.loosened(path, what(), "no pattern in this file", place),
        },
        "Email" => {
            // The validator accepts an empty string.
            shape.patterns.push(format!("^$|{}", pattern::EMAIL));
            draft.loosened(path, what(), pattern::EMAIL_WHY, place);
        }
        "AssertTrue" => shape.set_enum(vec![true.into()]),
        "AssertFalse" => shape.set_enum(vec![false.into()]),
        "Past" | "PastOrPresent" | "Future" | "FutureOrPresent" => {
            draft.loosened(path, what(), "a schema cannot use the current time", place);
        }
        "Digits" => draft.loosened(path, what(), "the server does not count digits", place),
        "UniqueElements" => shape.unique_items = true,
        name if HARMLESS.contains(&name) => {
            if annotation.text.contains("unique = true") || annotation.text.contains("unique=true")
            {
                draft.loosened(path, what(), "needs a unique index, not a schema", place);
            }
        }
        _ => draft.loosened(path, what(), "an unknown annotation", place),
    }
    false
}

fn limits(
    draft: &mut Draft,
    shape: &mut Shape,
    java: &Java<'_>,
    annotation: &Annotation<'_>,
    path: &str,
) {
    let read = |key: &str| match java.argument(annotation, key)? {
        Bson::String(text) => {
            // Exact decimal bounds are given as strings.
            if shape.is("decimal") {
                text.parse::<bson::Decimal128>()
                    .ok()
                    .map(Bson::Decimal128)
                    .filter(|_| number(&text).is_some())
            } else {
                number(&text)
            }
        }
        other => Some(other),
    };
    let exclusive = java.argument(annotation, "inclusive") == Some(Bson::Boolean(false));
    let (low, high) = match annotation.name {
        "Min" | "DecimalMin" => (read("value"), None),
        "Max" | "DecimalMax" => (None, read("value")),
        _ => (read("min"), read("max")),
    };
    if low.is_none() && high.is_none() {
        draft.loosened(path, quoted(annotation.text), "no number in this file", annotation.place);
        return;
    }
    if shape.is("string") {
        let why = "numbers that are stored as strings are not compared";
        draft.loosened(path, quoted(annotation.text), why, annotation.place);
    }
    if let Some(value) = low {
        shape.minimum = Some(Limit { value, exclusive });
    }
    if let Some(value) = high {
        shape.maximum = Some(Limit { value, exclusive });
    }
}
