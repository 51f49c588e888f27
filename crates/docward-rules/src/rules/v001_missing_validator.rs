//! DM-11.1 and AP-S4.5: core collections have a validator.

use docward_model::{
    Collection, CollectionKind, CoreSource, Draft, Safety, Seen, Severity, Step, Subject, Unit,
    ValidationAction, ValidationLevel, Value,
};

use crate::{
    Cx, declare_rule,
    facts::{
        deployment::server,
        schema::{self, Held, targets::Targets},
        text,
    },
    threshold,
};

declare_rule! {
    /// # Missing validator
    ///
    /// ## What it checks
    /// Reports core collections without a `$jsonSchema` validator. Core collections are declared in the
    /// configuration (`core`), or else inferred: ordinary collections with documents, other than logs, caches,
    /// sessions and settings.
    /// - An error for a declared core collection, a warning for an inferred one: there is no validator.
    /// - A note for an inferred one with fewer than 10 documents.
    /// - A warning for a declared core collection, a note for an inferred one: the validator consists of query
    ///   operators, or documents can bypass its schema through `$or`.
    ///
    /// Docward does not report views, time series (which cannot have a validator), capped collections (usually logs) and
    /// the server's own collections.
    ///
    /// ## Why it matters
    /// Without a validator, every client may store any type under any name. One faulty release is enough to store
    /// prices as text, and every reader then has to handle both.
    ///
    /// ## Example
    /// ```jsonl,fires,core=db_shop.t_user
    /// @ db_shop.t_user
    /// {"_id": 1, "userName": "zhang", "createTime": ISODate("2024-03-15T10:30:00Z")}
    /// ```
    /// ```jsonl,clean,core=db_shop.t_user
    /// @ db_shop.t_user
    /// options {"validator": {"$jsonSchema": {"bsonType": "object", "required": ["userName"], "properties": {"userName": {"bsonType": "string"}}}}}
    /// {"_id": 1, "userName": "zhang"}
    /// ```
    ///
    /// ## How to fix
    /// The finding contains a first schema from the documents: required fields and their types. Add formats and
    /// enumerations, and apply it with `validationAction: "warn"`. Watch the log, and change the action to
    /// `error` when it stays empty.
    ///
    /// `docward schema infer` derives a more complete schema with the reason for each constraint.
    /// `docward schema apply` performs these steps.
    ///
    /// ## When to ignore it
    /// The collection is not core. Declare the core collections, and the rule checks only these.
    V001, "missing-validator",
    level: Mandatory,
    area: Hygiene,
    severities: [Error, Warn, Info],
    clauses: ["DM-11.1", "AP-S4.5"],
    maturity: Stable,
    scope: Everywhere,
    needs: [Options, Core],
    thresholds: [REQUIRED_SHARE],
    data: ["declaredCore", "documents", "refusedDocuments", "required", "typed"],
    check: Collection(check),
}

threshold!(
    REQUIRED_SHARE,
    "required-share",
    Float(0.999),
    "share of documents",
    "ALG-10",
    "fields present in this share of documents are required in the proposed validator"
);

fn check(collection: &Collection, cx: &mut Cx<'_>) {
    let Some(options) = &collection.options else { return };
    let ns = &collection.namespace;
    if collection.kind != CollectionKind::Plain
        || server::is_system_database(&ns.database)
        || !cx.is_core(collection)
        || collection.profile.as_ref().is_some_and(server::holds_server_rows)
    {
        return;
    }
    let declared = matches!(cx.settings().core, CoreSource::Declared(_));
    let core = if declared { "core collection" } else { "collection" };
    if let Some(validator) = &options.validator {
        match schema::held(validator) {
            Held::All => {}
            held => report_expression(collection, held, declared, core, cx),
        }
        return;
    }
    let seen = seen(collection);
    let documents = collection.profile.as_ref().map_or(0, |p| p.total.max(p.documents));
    let targets = Targets::new(&cx.changes_of(ns), ns);
    let proposal = collection
        .profile
        .as_ref()
        .filter(|p| p.documents > 0)
        .map(|p| schema::propose(p, cx.limit(&REQUIRED_SHARE), &targets));
    // A schema that names no field accepts any document, and only looks like a validator.
    let has_no_names = proposal.as_ref().is_some_and(|p| p.required.is_empty() && p.typed == 0);
    let proposal = proposal.filter(|_| !has_no_names);
    let todo = match &proposal {
        Some(p) => {
            let refused: u64 = p.refused.iter().map(|(_, n)| n).sum();
            let read = collection.profile.as_ref().map_or(0, |profile| profile.documents);
            let clean = if refused == 0 {
                "every document read passes it".to_owned()
            } else {
                let names: Vec<_> = p.refused.iter().map(|(name, _)| name.as_str()).collect();
                let refuses = format!(
                    "{} not pass it because of {}",
                    text::form(refused, "does", "do"),
                    text::list(&names, 3)
                );
                // One document may be refused for several fields.
                let up_to = if names.len() > 1 { "up to " } else { "" };
                if read < documents {
                    format!(
                        "{up_to}{} of the {} read {refuses}; repair such documents first",
                        text::count(refused),
                        text::count(read)
                    )
                } else {
                    format!(
                        "{up_to}{} {refuses}: repair them first",
                        text::plural(refused, "document")
                    )
                }
            };
            // Values that other findings convert must pass before and after the conversion.
            let converted: Vec<_> = p.converted.iter().map(String::as_str).collect();
            let later = if converted.is_empty() {
                String::new()
            } else {
                format!(
                    ". In it, {} both the stored and the target type: remove the stored type after you convert the values",
                    if converted.len() == 1 {
                        format!("`{}` admits", converted[0])
                    } else {
                        format!("{} admit", text::list(&converted, 3))
                    }
                )
            };
            format!(
                "apply the proposed skeleton ({} required, {} typed; {clean}) with action `warn`, and set `error` when the log shows no more violations{later}",
                text::plural(p.required.len() as u64, "field"),
                text::count(p.typed as u64)
            )
        }
        None if has_no_names => "the field names are data or differ in every document: first store them as values (`[{k, v}]` in an array, see D010), then describe the array in a `$jsonSchema`".to_owned(),
        None => "describe required fields, types and formats in a `$jsonSchema` and apply it with collMod".to_owned(),
    };
    let mut draft = Draft::new(
        Subject::Collection(ns.clone()),
        if documents > 0 {
            format!("the {core} has no validator ({})", text::plural(documents, "document"))
        } else {
            format!("the {core} has no validator")
        },
        "without a validator, any client can store any type in any field",
        todo,
        seen,
    )
    .data("declaredCore", declared)
    .data("documents", documents);
    if let Some(p) = &proposal {
        draft = draft
            .data("required", p.required.clone())
            .data("typed", p.typed)
            .data("refusedDocuments", p.refused.iter().map(|(_, n)| n).sum::<u64>());
    }
    if let Some(p) = proposal {
        draft = draft.plan(
            Some("RF-19"),
            Safety::Safe,
            [Step::SetValidator {
                namespace: ns.clone(),
                validator: Value::Map(vec![("$jsonSchema".to_owned(), p.schema)]),
                level: ValidationLevel::Moderate,
                action: ValidationAction::Warn,
            }],
        );
    }
    let read = collection.profile.as_ref();
    let is_tiny = read.is_some_and(|p| p.documents >= p.total && p.documents < FEW);
    if !declared {
        draft = draft.severity(if is_tiny { Severity::Info } else { Severity::Warn });
    }
    cx.report(draft);
}

/// Fewer documents than this do not show which fields future documents will have.
const FEW: u64 = 10;

/// The catalogue shows this fact: a sample of the documents adds no doubt.
fn seen(collection: &Collection) -> Seen {
    let whole = collection.profile.as_ref().filter(|profile| profile.documents >= profile.total);
    whole.map_or_else(|| Seen::all(1, Unit::Collections), |profile| profile.seen())
}

/// Reports a validator made of query operators: it checks some conditions, but not the shape of each document.
fn report_expression(
    collection: &Collection,
    held: Held,
    declared: bool,
    core: &str,
    cx: &mut Cx<'_>,
) {
    let (what, todo) = match held {
        Held::Some => (
            "has a `$jsonSchema` that documents can bypass through another branch of its validator",
            "remove the other branches when all documents match the schema; until then, add a `$jsonSchema` to each of them",
        ),
        _ => (
            "has a validator of query operators, without a `$jsonSchema`",
            "keep the conditions and add a `$jsonSchema` to the same validator",
        ),
    };
    cx.report(
        Draft::new(
            Subject::Collection(collection.namespace.clone()),
            format!("{core} {what}"),
            "query operators check single conditions; a schema also describes which fields exist and their types",
            todo,
            seen(collection),
        )
        .data("declaredCore", declared)
        .severity(if declared { Severity::Warn } else { Severity::Info }),
    );
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, check_sampled, check_with};
    use docward_model::{Seen, Severity, Unit};

    const USER: &str = r#"{"_id": 1, "userName": "zhang", "age": 30, "createTime": ISODate("2024-03-15T10:30:00Z")}"#;

    #[test]
    fn dm_11_1_inferred_core_warns_declared_core_is_an_error() {
        let few = check("V001", &format!("@ db_shop.t_users\nx9 {USER}"));
        assert_eq!(few[0].severity, Severity::Info);
        let body = format!("@ db_shop.t_users\nx10 {USER}");
        let found = check("V001", &body);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].severity, Severity::Warn);
        assert!(found[0].what.starts_with("the collection has no validator"), "{}", found[0].what);
        let found = check_with("V001", "core=db_shop.t_users", &body);
        assert_eq!(found[0].severity, Severity::Error);
        assert!(check_with("V001", "core=db_pay.*", &body).is_empty());
    }

    #[test]
    fn dm_11_1_the_skeleton_is_read_off_the_documents() {
        let body = r#"@ db_shop.t_users
x1500 {"_id": $i, "userName": "zhang", "age": 30, "score": 1.5}
x1500 {"_id": $i, "userName": "li", "age": NumberLong(31), "score": 2, "nick": null}
{"_id": "z", "userName": 7, "age": 1, "score": 1.5}"#;
        let found = check("V001", body);
        let command = &found[0].fix.as_ref().unwrap().command();
        assert!(command.contains(r#"required: ["userName", "age", "score"]"#), "{command}");
        assert!(command.contains(r#"userName: {bsonType: "string"}"#), "{command}");
        assert!(command.contains(r#"age: {bsonType: ["int", "long"]}"#), "{command}");
        assert!(command.contains(r#"score: {bsonType: ["double", "int"]}"#), "{command}");
        assert!(!command.contains("nick"), "{command}");
        assert!(
            found[0].todo.contains(
                "; 1 document does not pass it because of `userName`: repair them first)"
            ),
            "{}",
            found[0].todo
        );
        let sampled = check_sampled("V001", body, 120_000);
        let told = "1 of the 3,001 read does not pass it because of `userName`; repair such documents first";
        assert!(sampled[0].todo.contains(told), "{}", sampled[0].todo);
        // The catalogue shows that there is no validator, even if only a sample was read.
        assert_eq!(sampled[0].seen, Seen::all(1, Unit::Collections));
    }

    #[test]
    fn dm_11_1_the_skeleton_describes_every_field() {
        let fields: Vec<String> = (0..60).map(|n| format!("\"field{n}\": 1")).collect();
        let found = check(
            "V001",
            &format!("@ db_shop.t_users\nx20 {{\"_id\": $i, {}}}", fields.join(", ")),
        );
        assert!(found[0].todo.contains("(60 fields required, 60 typed;"), "{}", found[0].todo);
    }

    #[test]
    fn dm_11_1_time_series_views_capped_and_logs_are_exempt() {
        for options in [
            r#"{"timeseries": {"timeField": "ts"}}"#,
            r#"{"viewOn": "t_users", "pipeline": []}"#,
            r#"{"capped": true, "size": 4096}"#,
        ] {
            let body = format!("@ db_shop.t_users\noptions {options}\n{USER}");
            assert!(check("V001", &body).is_empty(), "{options}");
        }
        assert!(check("V001", &format!("@ db_shop.t_login_log\n{USER}")).is_empty());
    }

    #[test]
    fn dm_11_1_documents_of_the_server_are_no_core() {
        for body in [
            r#"x20 {"host": "a", "process": "mongod", "asserts": {"user": 1}, "connections": {"current": 1}, "mem": {"bits": 64}, "network": {"bytesIn": 1}}"#,
            r#"x20 {"v": 2, "key": {"aB": 1, "c_d": -1}, "name": "x", "ns": "a.b"}"#,
            r#"x20 {"ts": 1, "op": "i", "ns": "a.b", "o": {"_id": 1}}"#,
        ] {
            let body = format!("@ db_shop.t_thing\n{body}");
            assert!(check("V001", &body).is_empty(), "{body}");
            for rule in ["N011", "N013", "N014"] {
                assert!(check(rule, &body).is_empty(), "{rule} {body}");
            }
        }
        let products = r#"x20 {"v": 2, "key": {"door": {"size": 1}}, "name": "x"}"#;
        assert_eq!(check("V001", &format!("@ db_shop.t_thing\n{products}")).len(), 1);
    }

    #[test]
    fn dm_11_1_settings_are_no_core() {
        for name in ["t_settings", "t_app_config"] {
            let body = format!("@ db_shop.{name}\nx4 {{\"_id\": \"k$i\", \"value\": $i}}");
            assert!(check("V001", &body).is_empty(), "{name}");
            assert_eq!(check_with("V001", "core=db_shop.*", &body).len(), 1, "{name}");
        }
        let users = "@ db_shop.t_user_settings\nx1000 {\"_id\": $i, \"theme\": \"dark\"}";
        assert_eq!(check("V001", users).len(), 1);
    }

    #[test]
    fn ap_s4_5_query_operators_are_less_than_a_schema() {
        let body = format!(
            "@ db_shop.t_users\noptions {{\"validator\": {{\"userName\": {{\"$type\": \"string\"}}}}}}\n{USER}"
        );
        assert_eq!(check("V001", &body)[0].severity, Severity::Info);
        assert_eq!(check_with("V001", "core=db_shop.*", &body)[0].severity, Severity::Warn);
    }
    #[test]
    fn ap_s4_5_a_schema_in_a_branch_is_told_as_one() {
        let of = |validator: &str| {
            let body = format!("@ db_shop.t_users\noptions {{\"validator\": {validator}}}\n{USER}");
            check("V001", &body)
        };
        let schema = r#"{"$jsonSchema": {"required": ["userName"]}}"#;
        for held in [
            format!(r#"{{"$or": [{schema}, {schema}]}}"#),
            format!(r#"{{"$and": [{{"age": {{"$gt": 1}}}}, {{"$or": [{schema}, {schema}]}}]}}"#),
        ] {
            assert_eq!(of(&held), [], "{held}");
        }
        for open in [
            format!(r#"{{"$or": [{schema}, {{"legacy": true}}]}}"#),
            format!(r#"{{"$nor": [{schema}]}}"#),
        ] {
            let found = of(&open);
            assert_eq!(found[0].severity, Severity::Info, "{open}");
            assert!(found[0].what.contains("documents can bypass"), "{}", found[0].what);
        }
        let plain = of(r#"{"$or": [{"age": {"$gt": 1}}, {"legacy": true}]}"#);
        assert!(plain[0].what.ends_with("without a `$jsonSchema`"), "{}", plain[0].what);
    }

    #[test]
    fn dm_11_1_no_skeleton_without_a_name_to_describe() {
        let documents: String = (0..400)
            .map(|i| {
                let fields: Vec<_> = (0..12).map(|n| format!("\"k{i}x{n}\": {n}")).collect();
                format!("{{\"_id\": {i}, {}}}\n", fields.join(", "))
            })
            .collect();
        let found = check("V001", &format!("@ db_shop.t_users\n{documents}"));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].fix, None, "{:?}", found[0].fix);
        assert!(
            found[0].todo.contains("the field names are data or differ in every document"),
            "{}",
            found[0].todo
        );
        assert!(found[0].todo.contains("D010"), "{}", found[0].todo);
    }

    #[test]
    fn dm_11_1_a_name_that_is_not_utf_8_is_left_out_of_the_skeleton() {
        let body = "@ db_shop.t_users\nx9 {\"_id\": $i, \"userName\": \"a\", \"k\u{fffd}\": 1}";
        let found = check("V001", body);
        let command = &found[0].fix.as_ref().expect("a skeleton").command();
        assert!(command.contains("properties: {userName: {bsonType: \"string\"}}"), "{command}");
    }
}
