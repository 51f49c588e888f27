//! DM-11.6: a validator that contradicts itself.

use docward_model::{Collection, Draft, FieldPath, Seen, Severity, Subject, Unit};

use crate::{
    Cx, declare_rule,
    facts::{
        remedies::contradictions::{Gravity, contradictions},
        schema::schemas,
        text,
    },
};

declare_rule! {
    /// # Contradictory schema
    ///
    /// ## What it checks
    /// Checks the `$jsonSchema` of a validator without documents, and reports what cannot be intended:
    /// - An error: no value can meet a constraint.
    /// - A warning: a branch contradicts the schema around it, two branches of a `oneOf` are equal, or a branch
    ///   of `anyOf` accepts everything.
    /// - A warning: other keywords exclude a value of an `enum`, such as `null` if null is not an allowed type.
    /// - A note: a keyword never applies, such as `minLength` of a field that is only `int`.
    ///
    /// Docward does not report fields that `{not: {}}` forbids on purpose, schemas that the server would refuse, or
    /// uncertain cases.
    ///
    /// ## Constraints that no value can meet
    /// - a lower limit above the upper limit
    /// - a required field, or `_id`, that a closed object (`additionalProperties: false`) does not list
    /// - an `enum` without a value of an allowed type or within the limits
    /// - combined lists of types that have no type in common
    /// - a `not` that excludes everything
    /// - a `oneOf` or `anyOf` in which no branch can be met
    ///
    /// ## Why it matters
    /// The server accepts such a schema without a warning. Then it refuses every insert, or a carefully written
    /// branch checks nothing.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// options {"validator": {"$jsonSchema": {"required": ["qty"], "properties": {"qty": {"bsonType": "int", "minimum": 100, "maximum": 10}}}}}
    /// ```
    /// No document meets a closed schema that does not list `_id`:
    /// ```jsonl,fires
    /// options {"validator": {"$jsonSchema": {"additionalProperties": false, "properties": {"sku": {"bsonType": "string"}}}}}
    /// ```
    /// The second branch requires a field that the closed schema around it refuses:
    /// ```jsonl,fires
    /// options {"validator": {"$jsonSchema": {"additionalProperties": false, "properties": {"_id": {}, "email": {}}, "anyOf": [{"required": ["email"]}, {"required": ["phone"]}]}}}
    /// ```
    /// ```jsonl,clean
    /// options {"validator": {"$jsonSchema": {"additionalProperties": false, "required": ["qty"], "properties": {"_id": {}, "qty": {"bsonType": "int", "minimum": 10, "maximum": 100}, "email": {}, "phone": {}}, "anyOf": [{"required": ["email"]}, {"required": ["phone"]}]}}}
    /// ```
    ///
    /// ## How to fix
    /// Each finding names the place and the contradicting constraints. Correct them. Before `collMod` sets the
    /// schema, test it with `docward schema test` on a document that should pass.
    ///
    /// ## When to ignore it
    /// The schema is generated, and a keyword without effect does no harm.
    V008, "contradictory-schema",
    level: Mandatory,
    area: Writes,
    severities: [Error, Warn, Info],
    clauses: ["DM-11.6"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Options],
    thresholds: [],
    data: ["invalid", "kind"],
    check: Collection(check),
}

fn check(collection: &Collection, cx: &mut Cx<'_>) {
    let Some(validator) = collection.options.as_ref().and_then(|o| o.validator.as_ref()) else {
        return;
    };
    let namespace = &collection.namespace;
    // V006 leaves constraints that no document can meet to this rule, together with their count.
    let mut invalid =
        collection.stats.and_then(|stats| stats.invalid).filter(|invalid| *invalid > 0);
    for found in contradictions(&schemas(validator)) {
        let at = if found.path.is_empty() {
            Subject::Collection(namespace.clone())
        } else {
            Subject::Field(namespace.clone(), FieldPath::new(found.path.as_str()))
        };
        let (severity, word, why) = match found.gravity {
            Gravity::Impossible => (
                Severity::Error,
                "impossible",
                "the validator rejects every write of such a value, or it is off and checks nothing",
            ),
            Gravity::Unreachable => (
                Severity::Warn,
                "unreachable",
                "the validator does not check what it seems to check: it rejects correct values or accepts wrong ones",
            ),
            Gravity::Idle => (
                Severity::Info,
                "idle",
                "readers believe that the schema checks something, but it does not",
            ),
        };
        let counted = invalid.take_if(|_| found.gravity == Gravity::Impossible);
        let told = counted.map_or_else(String::new, |invalid| {
            format!(
                "; {} the validator (counted by the server)",
                text::verb(invalid, "stored document breaks", "stored documents break")
            )
        });
        let what = format!("{}{told}", found.what);
        let draft = Draft::new(at, what, why, found.todo, Seen::all(1, Unit::Collections))
            .data("kind", word)
            .key(found.what)
            .severity(severity);
        cx.report(counted.into_iter().fold(draft, |draft, n| draft.data("invalid", n)));
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, check_changed};
    use docward_model::{CollectionStats, DataValue, Severity};

    fn of(schema: &str) -> Vec<(Severity, String)> {
        let found =
            check("V008", &format!("options {{\"validator\": {{\"$jsonSchema\": {schema}}}}}"));
        found.into_iter().map(|f| (f.severity, f.what)).collect()
    }

    /// Returns the findings about the field `a` with this schema.
    fn field(schema: &str) -> Vec<(Severity, String)> {
        of(&format!("{{\"properties\": {{\"a\": {schema}}}}}"))
    }

    /// The only finding.
    fn only(found: Vec<(Severity, String)>) -> (Severity, String) {
        assert_eq!(found.len(), 1, "{found:?}");
        found.into_iter().next().unwrap()
    }

    #[test]
    fn dm_11_6_limits_that_exclude_each_other() {
        for (schema, words) in [
            (
                r#"{"bsonType": "int", "minimum": 5, "maximum": 4}"#,
                "`minimum` 5 is above `maximum` 4",
            ),
            (r#"{"minimum": 5, "maximum": 5, "exclusiveMaximum": true}"#, "itself excluded"),
            (r#"{"minimum": {"$numberDecimal": "5.5"}, "maximum": 5}"#, "`minimum` 5.5 is above"),
            (r#"{"bsonType": "string", "minLength": 3, "maxLength": 2}"#, "`minLength` 3"),
            (r#"{"bsonType": "array", "minItems": 3, "maxItems": 2}"#, "`minItems` 3"),
            (
                r#"{"bsonType": "object", "minProperties": 3, "maxProperties": 2}"#,
                "`minProperties` 3",
            ),
            (
                r#"{"bsonType": "object", "required": ["x", "y"], "maxProperties": 1}"#,
                "requires 2 fields, but",
            ),
            (
                r#"{"bsonType": "object", "properties": {"x": {}}, "additionalProperties": false, "minProperties": 2}"#,
                "allows only 1 field",
            ),
            (r#"{"allOf": [{"minimum": 5}, {"maximum": 4}]}"#, "`minimum` 5"),
        ] {
            let (severity, what) = only(field(schema));
            assert_eq!(severity, Severity::Error, "{schema}");
            assert!(what.contains(words), "{what}");
            assert!(what.contains("`a` can pass"), "{what}");
        }
        for schema in [
            r#"{"minimum": 5, "maximum": 5}"#,
            r#"{"minimum": {"$numberDecimal": "0.1"}, "maximum": 0.1, "exclusiveMaximum": true}"#,
            r#"{"bsonType": "string", "minLength": 2, "maxLength": 2}"#,
            r#"{"anyOf": [{"minimum": 5}, {"maximum": 4}]}"#,
            r#"{"bsonType": "array", "minItems": 0, "maxItems": 0}"#,
        ] {
            assert!(field(schema).is_empty(), "{schema}");
        }
    }

    #[test]
    fn dm_11_6_other_types_that_still_pass_make_it_a_warning() {
        let (severity, what) =
            only(field(r#"{"bsonType": ["int", "null"], "minimum": 5, "maximum": 4}"#));
        assert_eq!(severity, Severity::Warn);
        assert!(what.starts_with("no number in `a` can pass"), "{what}");
    }

    #[test]
    fn dm_11_6_closed_objects_list_what_they_require() {
        let (severity, what) = only(of(
            r#"{"required": ["a", "b"], "additionalProperties": false, "properties": {"_id": {}, "a": {}}}"#,
        ));
        assert_eq!(severity, Severity::Error);
        assert!(what.starts_with("no document can pass: `b` is required"), "{what}");
        let (_, what) = only(field(
            r#"{"bsonType": "object", "required": ["x"], "additionalProperties": false, "properties": {"y": {}}}"#,
        ));
        assert!(what.starts_with("no value of `a` can pass: `a.x` is required"), "{what}");
        for good in [
            r#"{"required": ["b"], "additionalProperties": false, "properties": {"_id": {}}, "patternProperties": {"^b": {}}}"#,
            r#"{"required": ["a.b"], "additionalProperties": false, "properties": {"_id": {}, "a": {}}}"#,
            r#"{"required": ["b"], "additionalProperties": {"bsonType": "int"}, "properties": {"a": {}}}"#,
        ] {
            assert!(of(good).is_empty(), "{good}");
        }
    }

    #[test]
    fn dm_11_3_what_nothing_can_pass_has_the_count_of_the_server() {
        let of = |schema: &str| {
            let body = format!("options {{\"validator\": {{\"$jsonSchema\": {schema}}}}}");
            check_changed("V008", &body, |collection| {
                let stats = CollectionStats { invalid: Some(1000), ..CollectionStats::default() };
                collection.stats = Some(stats);
            })
        };
        let closed = &of(r#"{"additionalProperties": false, "properties": {"a": {}}}"#)[0];
        let told = "; 1,000 stored documents break the validator (counted by the server)";
        assert!(closed.what.ends_with(told), "{}", closed.what);
        assert_eq!(closed.data.get("invalid"), Some(&DataValue::Int(1000)));
        // V006 reports documents that break the rest of the schema.
        let idle = &of(r#"{"properties": {"a": {"bsonType": "int", "minLength": 1}}}"#)[0];
        assert_eq!(idle.data.get("invalid"), None);
    }

    #[test]
    fn dm_11_6_a_closed_schema_lists_the_key() {
        let (severity, what) =
            only(of(r#"{"additionalProperties": false, "properties": {"a": {}}}"#));
        assert_eq!(severity, Severity::Error);
        assert!(what.contains("does not list `_id`"), "{what}");
        // No document can meet a branch that is closed by itself.
        let (severity, what) = only(of(
            r#"{"oneOf": [{"required": ["a"]}, {"additionalProperties": false, "properties": {"b": {}}}]}"#,
        ));
        assert_eq!(severity, Severity::Warn);
        assert!(what.starts_with("branch 2 of `oneOf` can never hold"), "{what}");
        // Objects inside have no `_id`.
        assert!(
            field(
                r#"{"bsonType": "object", "additionalProperties": false, "properties": {"x": {}}}"#
            )
            .is_empty()
        );
    }

    #[test]
    fn dm_11_6_a_required_field_without_values_closes_the_collection() {
        let (severity, what) = only(of(
            r#"{"required": ["items"], "properties": {"items": {"bsonType": "array", "minItems": 1, "items": {"bsonType": "object", "required": ["qty"], "properties": {"qty": {"bsonType": "int", "minimum": 2, "maximum": 1}}}}}}"#,
        ));
        assert_eq!(severity, Severity::Error);
        assert_eq!(
            what,
            "no document can pass: `items[].qty` is required, and no value of it can pass, because `minimum` 2 is above `maximum` 1"
        );
    }

    #[test]
    fn dm_11_6_enumerations_fit_what_stands_beside_them() {
        for (schema, words) in [
            (
                r#"{"bsonType": "int", "enum": ["1", "2"]}"#,
                "none of the values of its `enum` is int",
            ),
            (r#"{"enum": [1, 2], "minimum": 3}"#, "meets its other keywords"),
            (r#"{"enum": ["abc"], "maxLength": 2}"#, "meets its other keywords"),
            (r#"{"enum": [1.5], "bsonType": "int"}"#, "meets its other keywords"),
            (r#"{"allOf": [{"enum": ["a"]}, {"enum": ["b"]}]}"#, "no value of one `enum`"),
        ] {
            let (severity, what) = only(field(schema));
            assert_eq!(severity, Severity::Error, "{schema}");
            assert!(what.contains(words), "{what}");
        }
        for schema in [
            r#"{"enum": [1, 2], "bsonType": "long"}"#,
            r#"{"enum": [1, 2], "bsonType": "double"}"#,
            r#"{"enum": [1, 2], "bsonType": "decimal"}"#,
            r#"{"enum": [1.0], "bsonType": "int"}"#,
            r#"{"enum": [-7], "bsonType": "decimal", "minimum": -7, "maximum": -7}"#,
            r#"{"enum": [1.5], "bsonType": "decimal"}"#,
            r#"{"enum": [{"$numberDecimal": "1.10"}], "bsonType": "decimal"}"#,
            r#"{"enum": [ObjectId("65f3a2b8c1d2e3f4a5b6c7d8")], "bsonType": "objectId"}"#,
            r#"{"allOf": [{"enum": ["a", "b"]}, {"enum": ["b", "c"]}]}"#,
            r#"{"enum": ["abc", null], "bsonType": ["string", "null"], "maxLength": 3}"#,
        ] {
            assert!(field(schema).is_empty(), "{schema} {:?}", field(schema));
        }
    }

    #[test]
    fn dm_11_6_a_value_that_its_type_keeps_out() {
        let found = check(
            "V008",
            r#"options {"validator": {"$jsonSchema": {"properties": {"a": {"bsonType": "string", "enum": ["x", null]}}}}}"#,
        );
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].severity, Severity::Warn);
        assert!(found[0].what.starts_with("`null` of the `enum` of `a` can never pass"));
        assert!(found[0].todo.starts_with("add \"null\" to the types"), "{}", found[0].todo);
    }

    #[test]
    fn dm_11_6_types_without_one_in_common() {
        let (severity, what) =
            only(field(r#"{"bsonType": "int", "allOf": [{"bsonType": ["string", "null"]}]}"#));
        assert_eq!(severity, Severity::Error);
        assert!(
            what.contains("no type meets all of its type constraints (int; string/null)"),
            "{what}"
        );
        let (_, what) = only(of(r#"{"bsonType": "array"}"#));
        assert!(what.contains("a document is an object"), "{what}");
        assert!(field(r#"{"bsonType": "int", "allOf": [{"bsonType": "number"}]}"#).is_empty());
    }

    #[test]
    fn dm_11_6_not_everything() {
        assert_eq!(only(field(r#"{"bsonType": "int", "not": {}}"#)).0, Severity::Error);
        assert_eq!(
            only(field(r#"{"bsonType": "int", "not": {"bsonType": "number"}}"#)).0,
            Severity::Error
        );
        assert_eq!(only(of(r#"{"not": {}}"#)).0, Severity::Error);
        assert_eq!(
            only(of(r#"{"required": ["a"], "not": {"required": ["a"]}}"#)).0,
            Severity::Error
        );
        // A field may also be forbidden in a branch.
        assert!(field(r#"{"not": {}}"#).is_empty());
        assert!(
            field(r#"{"bsonType": "int", "not": {"bsonType": "int", "minimum": 3}}"#).is_empty()
        );
        assert!(
            of(r#"{"properties": {"x": {"bsonType": "int"}}, "oneOf": [{"required": ["x"]}, {"properties": {"x": {"not": {}}}}]}"#)
                .is_empty()
        );
        assert!(of(r#"{"required": ["a"], "not": {"required": ["b"]}}"#).is_empty());
        // A field that is required and forbidden.
        assert_eq!(
            only(of(r#"{"required": ["x"], "properties": {"x": {"not": {}}}}"#)).0,
            Severity::Error
        );
    }

    #[test]
    fn dm_11_6_branches_that_never_matter() {
        for (schema, severity, words) in [
            (
                r#"{"anyOf": [{"required": ["a"]}, {}]}"#,
                Severity::Warn,
                "branch 2 of `anyOf` accepts everything",
            ),
            (
                r#"{"anyOf": [{"bsonType": "object"}, {"required": ["b"]}]}"#,
                Severity::Warn,
                "branch 1 of `anyOf` accepts everything",
            ),
            (
                r#"{"oneOf": [{"required": ["a"]}, {"required": ["b"]}, {"title": "t", "required": ["a"]}]}"#,
                Severity::Warn,
                "branches 1 and 3 of `oneOf` are the same",
            ),
            (
                r#"{"anyOf": [{"required": ["a"]}, {"required": ["a"]}]}"#,
                Severity::Info,
                "branches 1 and 2 of `anyOf` are the same",
            ),
            (
                r#"{"required": ["t"], "properties": {"t": {"enum": ["car", "van"]}}, "oneOf": [{"properties": {"t": {"enum": ["car"]}}}, {"properties": {"t": {"enum": ["bike"]}}}]}"#,
                Severity::Warn,
                "branch 2 of `oneOf` can never hold",
            ),
            (
                r#"{"properties": {"a": {"bsonType": "string", "anyOf": [{"bsonType": "int"}, {"minLength": 1}]}}}"#,
                Severity::Warn,
                "branch 1 of `anyOf` of `a` can never hold",
            ),
        ] {
            let (found, what) = only(of(schema));
            assert_eq!(found, severity, "{schema}");
            assert!(what.starts_with(words), "{what}");
        }
        let (severity, what) = only(
            of(r#"{"oneOf": [{"required": ["a"]}, {"required": ["a"]}]}"#)
                .into_iter()
                .filter(|f| f.0 == Severity::Error)
                .collect(),
        );
        assert_eq!(severity, Severity::Error);
        assert!(what.starts_with("no document can pass: no branch of `oneOf`"), "{what}");
    }

    #[test]
    fn dm_11_6_alternatives_as_people_write_them_are_clean() {
        for schema in [
            r#"{"required": ["type"], "properties": {"type": {"enum": ["car", "truck"]}}, "oneOf": [{"required": ["doors"], "properties": {"type": {"enum": ["car"]}, "doors": {"bsonType": "int"}}}, {"required": ["load"], "properties": {"type": {"enum": ["truck"]}, "load": {"bsonType": "int"}}}]}"#,
            r#"{"properties": {"a": {"minimum": 0, "minLength": 1, "oneOf": [{"bsonType": "int"}, {"bsonType": "string"}]}}}"#,
            r#"{"properties": {"a": {"oneOf": [{"bsonType": "null"}, {"bsonType": "object", "required": ["x"], "properties": {"x": {"bsonType": "int"}}}]}}}"#,
            r#"{"properties": {"a": {"bsonType": ["string", "null"], "anyOf": [{"bsonType": "null"}, {"pattern": "^x"}]}}}"#,
            r#"{"anyOf": [{"required": ["a"]}, {"required": ["b"]}], "additionalProperties": false, "properties": {"_id": {}, "a": {}, "b": {}}}"#,
            r#"{"properties": {"title": {"bsonType": "string"}, "description": {"bsonType": "string"}}}"#,
        ] {
            assert!(of(schema).is_empty(), "{schema} {:?}", of(schema));
        }
    }

    #[test]
    fn dm_11_6_keywords_that_never_apply_are_information() {
        let (severity, what) =
            only(field(r#"{"bsonType": "int", "minLength": 1, "pattern": "x"}"#));
        assert_eq!(severity, Severity::Info);
        assert_eq!(what, "`minLength` and `pattern` of `a` have no effect: only int is admitted");
        let (severity, _) =
            only(field(r#"{"bsonType": "array", "required": ["x"], "properties": {"x": {}}}"#));
        assert_eq!(severity, Severity::Warn, "meant for the elements");
        assert!(field(r#"{"bsonType": ["int", "string"], "minLength": 1}"#).is_empty());
        assert!(field(r#"{"minLength": 1}"#).is_empty());
        // The constraints around a branch also apply in the other branches.
        assert!(
            field(r#"{"minimum": 0, "anyOf": [{"bsonType": "int"}, {"bsonType": "string"}]}"#)
                .is_empty()
        );
    }

    #[test]
    fn dm_11_6_what_the_server_does_not_take_is_not_judged() {
        assert!(field(r#"{"minimum": 5, "maximum": 4, "format": "x"}"#).is_empty());
        let and = r#"options {"validator": {"$and": [{"$jsonSchema": {"properties": {"a": {"bsonType": "int"}}}}, {"$jsonSchema": {"required": ["a"], "properties": {"a": {"bsonType": "string"}}}}]}}"#;
        assert!(check("V008", and)[0].what.starts_with("no document can pass"));
    }

    #[test]
    fn dm_11_6_alternatives_inside_alternatives_end() {
        let mut schema = r#"{"minimum": 1}"#.to_owned();
        for i in 0..12 {
            let branch = |n: u32| {
                format!(
                    "{{\"title\": \"{n}\", \"properties\": {{\"a{i}\": {schema}, \"n{n}\": {{}}}}}}"
                )
            };
            schema = format!("{{\"anyOf\": [{}, {}]}}", branch(1), branch(2));
            if schema.len() > 100_000 {
                break;
            }
        }
        assert!(of(&schema).is_empty());
    }
}
