//! DM-11.6: a validator with enough constraints.

use docward_model::{Collection, CoreSource, Draft, Field, Seen, Severity, Subject, Unit, Value};

use crate::{
    Cx, declare_rule,
    facts::{
        schema::{Coverage, coverage, described, formats::fixed_form, is_closed, schemas},
        text,
    },
    threshold,
};

declare_rule! {
    /// # Shallow validator
    ///
    /// ## What it checks
    /// Compares the top level of a `$jsonSchema` with the documents. Reports a schema if one of these shares is
    /// too low:
    /// - fields present in every document that are `required` (below 50 %)
    /// - fields with a type or an enumeration (below 80 %)
    /// - text fields with one recognised form (e-mail, URL, UUID, date, …) that have a pattern, length or
    ///   enumeration (below 50 %)
    ///
    /// A schema that requires no field and sets no type is always reported. It is an error for declared core
    /// collections and a warning for others. Fields of object mappers do not count. A schema with
    /// `additionalProperties: false` is not reported here; V006 compares it with the documents.
    ///
    /// ## Why it matters
    /// The validator `{bsonType: "object"}` accepts every document, but all tools show the collection as
    /// validated.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// options {"validator": {"$jsonSchema": {"bsonType": "object"}}}
    /// {"_id": 1, "userName": "zhang", "email": "zhang@example.com"}
    /// ```
    /// ```jsonl,clean
    /// options {"validator": {"$jsonSchema": {"bsonType": "object", "required": ["userName", "email"], "properties": {"userName": {"bsonType": "string", "minLength": 2, "maxLength": 50}, "email": {"bsonType": "string", "pattern": "^\\S+@\\S+\\.\\S+$"}}}}}
    /// x20 {"_id": $i, "userName": "zhang", "email": "zhang$i@example.com"}
    /// ```
    ///
    /// ## How to fix
    /// Add the fields that the finding names. List them in `required` if no document lacks them, and set a
    /// `bsonType` for each. Add a `pattern` or lengths if the text has a form.
    ///
    /// ## When to ignore it
    /// The rest of the document is free by design, such as the attributes of a product.
    V004, "shallow-validator",
    level: Mandatory,
    area: Hygiene,
    severities: [Error, Warn],
    clauses: ["DM-11.6"],
    maturity: Stable,
    scope: Everywhere,
    needs: [Options],
    thresholds: [MIN_REQUIRED, MIN_TYPED, MIN_FORMAT, ALWAYS, MIN_DOCUMENTS],
    data: ["formatShare", "requiredShare", "typedShare"],
    check: Collection(check),
}

threshold!(
    MIN_REQUIRED,
    "min-required-share",
    Float(0.5),
    "share of always-present fields",
    "DM-11.6: our default",
    "minimum share of always-present fields that the validator requires"
);
threshold!(
    MIN_TYPED,
    "min-typed-share",
    Float(0.8),
    "share of fields",
    "DM-11.6: our default",
    "minimum share of fields with a type or an enumeration"
);
threshold!(
    MIN_FORMAT,
    "min-format-share",
    Float(0.5),
    "share of text fields with a form",
    "DM-11.6: our default",
    "minimum share of text fields with one form that have a pattern, a length or an enumeration"
);
threshold!(
    ALWAYS,
    "always-present-share",
    Float(0.999),
    "share of documents",
    "ALG-10",
    "minimum share of documents with the field for it to count as always present"
);
threshold!(
    MIN_DOCUMENTS,
    "min-documents",
    Int(20),
    "documents",
    "our default",
    "minimum number of documents that show which fields are always present"
);

/// Whether a schema has no constraints: it requires an object, and lists names without constraints.
fn asks_nothing(schema: &Value) -> bool {
    schema.entries().iter().all(|(key, value)| match key.as_str() {
        "bsonType" | "type" => value.as_text() == Some("object"),
        "title" | "description" | "$comment" => true,
        "additionalProperties" => *value == Value::Bool(true),
        "required" => value.items().is_empty(),
        "properties" | "patternProperties" => value.entries().iter().all(|(_, field)| {
            field.entries().iter().all(|(key, _)| matches!(key.as_str(), "title" | "description"))
        }),
        _ => false,
    })
}

const PASSES: &str = "the collection has a validator, but wrong types and missing fields pass it";

fn check(collection: &Collection, cx: &mut Cx<'_>) {
    let Some(validator) = collection.options.as_ref().and_then(|o| o.validator.as_ref()) else {
        return;
    };
    let found = schemas(validator);
    if found.is_empty() {
        return;
    }
    // A closed schema refuses unlisted names: it is narrow, not shallow. V006 compares it with the documents, V008
    // checks that it lists `_id`.
    if found.iter().any(|schema| is_closed(schema)) {
        return;
    }
    let accepts_all = found.iter().all(|schema| asks_nothing(schema));
    let covered = found.into_iter().map(coverage).fold(Coverage::default(), |mut all, one| {
        all.required.extend(one.required);
        all.typed.extend(one.typed);
        all.formatted.extend(one.formatted);
        all.typed_patterns.extend(one.typed_patterns);
        all
    });
    if covered.required.is_empty() && covered.typed.is_empty() && covered.typed_patterns.is_empty()
    {
        report(
            collection,
            match accepts_all {
                true => "the validator describes no fields, so it accepts any document".to_owned(),
                false => "the validator requires no field and declares no types".to_owned(),
            },
            PASSES,
            "list the required fields, add a `bsonType` to each, and add a pattern or length to text fields with a fixed form".to_owned(),
            [0.0; 3],
            cx,
        );
        return;
    }
    let Some(profile) = &collection.profile else { return };
    if profile.documents < cx.count(&MIN_DOCUMENTS) {
        return;
    }
    // A field in a few documents may be an exception; one in a hundred is part of the structure.
    let fields: Vec<&Field> = described(profile).filter(|f| f.presence() >= 0.01).collect();
    let always: Vec<_> =
        fields.iter().filter(|f| f.presence() >= cx.limit(&ALWAYS)).copied().collect();
    let formed: Vec<_> = fields.iter().filter(|f| fixed_form(f).is_some()).copied().collect();
    let missing = |among: &[&Field], has: &dyn Fn(&str) -> bool| -> Vec<String> {
        among.iter().filter(|f| !has(&f.name)).map(|f| f.name.clone()).collect()
    };
    let share = |all: usize, missing: usize| {
        if all == 0 { 1.0 } else { (all - missing) as f64 / all as f64 }
    };
    let optional = missing(&always, &|name| covered.required.contains(name));
    let untyped = missing(&fields, &|name| covered.is_typed(name));
    let unformed = missing(&formed, &|name| covered.formatted.contains(name));
    let shares = [
        share(always.len(), optional.len()),
        share(fields.len(), untyped.len()),
        share(formed.len(), unformed.len()),
    ];
    let mut faults = Vec::new();
    let mut steps = Vec::new();
    if shares[0] < cx.limit(&MIN_REQUIRED) {
        let required = (always.len() - optional.len()) as u64;
        faults.push(format!(
            "{} {} required",
            text::part(required, always.len() as u64, "always-present field"),
            text::form_of(required, always.len() as u64, "is", "are")
        ));
        steps.push(format!("require {}", text::list(&optional, 5)));
    }
    if shares[1] < cx.limit(&MIN_TYPED) {
        let typed = (fields.len() - untyped.len()) as u64;
        faults.push(format!(
            "{} {} a type",
            text::part(typed, fields.len() as u64, "field"),
            text::form_of(typed, fields.len() as u64, "has", "have")
        ));
        steps.push(format!("add a `bsonType` to {}", text::list(&untyped, 5)));
    }
    if shares[2] < cx.limit(&MIN_FORMAT) {
        let bound = (formed.len() - unformed.len()) as u64;
        faults.push(format!(
            "{} with a fixed form {} a pattern or length",
            text::part(bound, formed.len() as u64, "text field"),
            text::form_of(bound, formed.len() as u64, "has", "have")
        ));
        let forms: Vec<_> = formed
            .iter()
            .filter(|f| unformed.contains(&f.name))
            .filter_map(|f| fixed_form(f).map(|form| format!("`{}` ({form})", f.name)))
            .take(5)
            .collect();
        steps.push(format!("add a pattern or length to {}", forms.join(", ")));
    }
    if !faults.is_empty() {
        report(
            collection,
            match shares[0] < cx.limit(&MIN_REQUIRED) || shares[1] < cx.limit(&MIN_TYPED) {
                true => {
                    format!(
                        "the validator does not check most of the document: {}",
                        faults.join("; ")
                    )
                }
                false => {
                    format!(
                        "the validator does not check the form of text fields: {}",
                        faults.join("; ")
                    )
                }
            },
            PASSES,
            steps.join("; "),
            shares,
            cx,
        );
    }
}

fn report(
    collection: &Collection,
    what: String,
    why: &'static str,
    todo: String,
    [required, typed, formatted]: [f64; 3],
    cx: &mut Cx<'_>,
) {
    let declared = matches!(cx.settings().core, CoreSource::Declared(_)) && cx.is_core(collection);
    cx.report(
        Draft::new(
            Subject::Collection(collection.namespace.clone()),
            what,
            why,
            todo,
            collection
                .profile
                .as_ref()
                .map_or_else(|| Seen::all(1, Unit::Collections), |p| p.seen()),
        )
        .data("requiredShare", required)
        .data("typedShare", typed)
        .data("formatShare", formatted)
        .severity(if declared { Severity::Error } else { Severity::Warn }),
    );
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, check_with};
    use docward_model::Severity;

    /// The sample of the rule book, with its e-mail pattern corrected (GC-17).
    const SAMPLE: &str = r#"options {"validator": {"$jsonSchema": {"bsonType": "object", "required": ["userName", "email", "createTime"], "properties": {"userName": {"bsonType": "string", "minLength": 2, "maxLength": 50}, "email": {"bsonType": "string", "pattern": "^\\S+@\\S+\\.\\S+$"}, "age": {"bsonType": "int", "minimum": 0, "maximum": 150}, "status": {"enum": ["active", "inactive", "deleted"]}, "createTime": {"bsonType": "date"}}}}, "validationLevel": "strict", "validationAction": "error"}
x50 {"_id": $i, "userName": "zhang$i", "email": "zhang$i@example.com", "age": 30, "status": "active", "createTime": ISODate("2024-03-15T10:30:00Z")}"#;

    #[test]
    fn dm_11_6_the_sample_validator_passes() {
        assert!(check("V004", SAMPLE).is_empty());
        for rule in ["V001", "V002", "V003", "V005", "V006"] {
            assert!(check(rule, SAMPLE).is_empty(), "{rule}");
        }
    }

    #[test]
    fn dm_11_6_bson_type_object_alone_fails() {
        let body = r#"options {"validator": {"$jsonSchema": {"bsonType": "object"}}}
{"_id": 1, "userName": "zhang"}"#;
        assert_eq!(check("V004", body)[0].severity, Severity::Warn);
        assert_eq!(check_with("V004", "core=db_shop.*", body)[0].severity, Severity::Error);
    }

    #[test]
    fn dm_11_6_missing_parts_are_named() {
        let body = r#"options {"validator": {"$jsonSchema": {"required": ["a"], "properties": {"a": {"bsonType": "int"}}}}}
x20 {"_id": $i, "a": 1, "b": "x$i@example.com", "c": 2, "d": "y"}"#;
        let found = check("V004", body);
        assert_eq!(found.len(), 1);
        assert!(
            found[0].what.contains("1 of 4 always-present fields is required"),
            "{}",
            found[0].what
        );
        assert!(found[0].what.contains("1 of 4 fields has a type"), "{}", found[0].what);
        assert!(found[0].todo.contains("`b` (e-mail)"), "{}", found[0].todo);
    }

    #[test]
    fn dm_11_6_one_of_branches_count() {
        let body = r#"options {"validator": {"$jsonSchema": {"required": ["type"], "properties": {"type": {"enum": ["car", "truck"]}}, "oneOf": [{"required": ["doors"], "properties": {"doors": {"bsonType": "int"}}}, {"required": ["load"], "properties": {"load": {"bsonType": "int"}}}]}}}
x20 {"_id": $i, "type": "car", "doors": 4}
x20 {"_id": $i, "type": "truck", "load": 4}"#;
        assert!(check("V004", body).is_empty());
    }

    #[test]
    fn dm_11_6_a_closed_schema_is_not_shallow() {
        for schema in [
            r#"{"additionalProperties": false}"#,
            r#"{"additionalProperties": false, "properties": {"userName": {}}}"#,
            r#"{"additionalProperties": false, "required": ["a"], "properties": {"a": {"bsonType": "int"}}}"#,
        ] {
            let body = format!(
                "options {{\"validator\": {{\"$jsonSchema\": {schema}}}}}\nx20 {{\"_id\": $i, \"userName\": \"zhang\", \"a\": 1, \"b\": 2}}"
            );
            assert!(check("V004", &body).is_empty(), "{schema}");
            assert_eq!(check("V006", &body).len(), 1, "{schema}");
        }
    }
}
