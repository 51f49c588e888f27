//! Tests the translation against the test suite of JSON Schema and against small cases of our own.
//! The suite is not part of the repository. `DOCWARD_JSON_SCHEMA_SUITE=…/tests/draft2020-12 cargo
//! test -p docward-code --lib suite -- --ignored --nocapture` prints how many verdicts agree.

use bson::doc;
use serde_json::Value;

use super::{Positions, Refs, Translator, keywords::bson};

/// Returns the schema of `{v: …}`, and how many restrictions it leaves out.
fn translated(schema: &Value) -> (bson::Document, usize) {
    let text = schema.to_string();
    let (refs, positions) = (Refs::of(schema), Positions::of(&text));
    let mut translator = Translator::new(schema, &refs, &positions);
    let inner = translator.value("");
    let lost = translator.draft.left_out.iter().filter(|one| one.loosens).count();
    (doc! { "properties": { "v": inner } }, lost)
}

fn compiled(schema: &bson::Document) -> docward_schema::Schema {
    let bytes = schema.to_vec().expect("a document");
    docward_schema::Schema::compile(&bytes).unwrap_or_else(|fault| panic!("{fault}: {schema}"))
}

/// Returns the verdict about an instance, or `None` if no document can hold it.
fn verdict(schema: &docward_schema::Schema, instance: &Value) -> Option<bool> {
    let bytes = doc! { "v": bson(instance) }.to_vec().ok()?;
    schema.accepts(&bytes).ok()
}

#[test]
fn verdicts_stay_the_same() {
    let cases = include_str!("../../tests/json_schema_cases.json");
    let cases: Value = serde_json::from_str(cases).unwrap();
    for case in cases.as_array().unwrap() {
        let (schema, lost) = translated(&case["schema"]);
        assert_eq!(lost, 0, "{case}");
        let schema = compiled(&schema);
        for (key, expect) in [("valid", true), ("invalid", false)] {
            for instance in case[key].as_array().unwrap() {
                assert_eq!(verdict(&schema, instance), Some(expect), "{instance} of {case}");
            }
        }
    }
}

#[test]
#[ignore = "needs the suite, which is not part of the repository"]
#[expect(clippy::print_stdout, reason = "run by hand, for its figures")]
fn the_suite() {
    let folder = std::env::var("DOCWARD_JSON_SCHEMA_SUITE").expect("the folder of a draft");
    // Schemas of older drafts do not name their draft.
    let old = folder.rsplit('/').next().and_then(|name| name.strip_prefix("draft"));
    let draft = old
        .filter(|name| name.len() == 1)
        .map(|name| format!("http://json-schema.org/draft-0{name}/schema#"));
    let (mut schemas, mut complete, mut agree, mut differ, mut looser, mut stricter) =
        (0, 0, 0, 0, 0, 0);
    let mut files: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    for file in files.into_iter().filter(|file| file.extension().is_some_and(|e| e == "json")) {
        let groups: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
        for group in groups.as_array().unwrap() {
            schemas += 1;
            let mut given = group["schema"].clone();
            if let (Some(draft), Value::Object(members)) = (&draft, &mut given) {
                members.entry("$schema").or_insert_with(|| draft.as_str().into());
            }
            let (schema, lost) = translated(&given);
            let ready = compiled(&schema);
            complete += usize::from(lost == 0);
            for test in group["tests"].as_array().unwrap() {
                let expect = test["valid"].as_bool().unwrap();
                let Some(got) = verdict(&ready, &test["data"]) else { continue };
                if lost > 0 {
                    looser += usize::from(got && !expect);
                    if !got && expect {
                        stricter += 1;
                        println!(
                            "STRICTER {}: {} / {}: {schema}",
                            file.display(),
                            group["description"],
                            test["description"]
                        );
                    }
                } else if got == expect {
                    agree += 1;
                } else {
                    differ += 1;
                    println!(
                        "{}: {} / {}: {} expected {expect}\n   {}\n   {schema}",
                        file.display(),
                        group["description"],
                        test["description"],
                        test["data"],
                        group["schema"]
                    );
                }
            }
        }
    }
    println!(
        "{schemas} schemas, {complete} carried over completely: {agree} verdicts agree, {differ} differ; \
         of the others {looser} verdicts are looser, {stricter} stricter"
    );
}
