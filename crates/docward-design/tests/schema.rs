//! Compares `docs/design.schema.json` with the reader: both must accept the same models and keys.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::collections::BTreeSet;

use crate::common::{GALLERY, repository, text_of};
use docward_design::read;
use saphyr_parser::{Event, Parser, ScalarStyle};
use serde_json::{Map, Value};

fn schema() -> Value {
    let text = std::fs::read_to_string(repository().join("docs/design.schema.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Returns YAML as JSON, as editors see it.
fn json(text: &str) -> Value {
    let mut events = Parser::new_from_str(text).map(|event| event.unwrap().0);
    loop {
        match events.next().unwrap() {
            Event::StreamStart | Event::DocumentStart(_) => {}
            event => return node(event, &mut events),
        }
    }
}

fn node<'t>(event: Event<'t>, events: &mut impl Iterator<Item = Event<'t>>) -> Value {
    match event {
        Event::Scalar(text, ScalarStyle::Plain, _, _) => {
            serde_json::from_str(&text).unwrap_or_else(|_| Value::String(text.into_owned()))
        }
        Event::Scalar(text, ..) => Value::String(text.into_owned()),
        Event::SequenceStart(..) => {
            let mut items = Vec::new();
            loop {
                match events.next().unwrap() {
                    Event::SequenceEnd => return Value::Array(items),
                    event => items.push(node(event, events)),
                }
            }
        }
        Event::MappingStart(..) => {
            let mut entries = Map::new();
            loop {
                match events.next().unwrap() {
                    Event::MappingEnd => return Value::Object(entries),
                    Event::Scalar(key, ..) => {
                        let event = events.next().unwrap();
                        entries.insert(key.into_owned(), node(event, events));
                    }
                    other => panic!("{other:?}"),
                }
            }
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_model_of_the_gallery_is_valid() {
    let validator = jsonschema::validator_for(&schema()).unwrap();
    for name in GALLERY {
        let model = json(&text_of(name));
        let errors: Vec<String> = validator
            .iter_errors(&model)
            .map(|error| format!("{}: {error}", error.instance_path))
            .collect();
        assert!(errors.is_empty(), "{name}: {errors:#?}");
    }
}

#[test]
fn what_the_reader_refuses_the_schema_refuses() {
    let validator = jsonschema::validator_for(&schema()).unwrap();
    let good = "entities:\n  a: {count: 3k, fields: {x: int}}\nreads:\n  r: {from: a, where: [x], rate: 2/s}\n";
    assert!(read("m", good).is_ok() && validator.is_valid(&json(good)));
    for (from, to) in [
        ("count: 3k", "cuont: 3k"),
        ("count: 3k", "count: many"),
        ("x: int", "x: integer"),
        ("rate: 2/s", "rate: 2"),
        ("from: a, ", ""),
        ("[x]", "{x: nearby}"),
        ("entities:", "things:"),
    ] {
        let bad = good.replacen(from, to, 1);
        assert!(read("m", &bad).is_err(), "{bad}");
        assert!(!validator.is_valid(&json(&bad)), "{bad}");
    }
}

/// Returns the keys of a table in the schema.
fn keys(schema: &Value, pointer: &str) -> BTreeSet<String> {
    let table = schema.pointer(pointer).unwrap_or_else(|| panic!("no {pointer}"));
    assert_eq!(table["additionalProperties"], Value::Bool(false), "{pointer}");
    let properties = table["properties"].as_object().unwrap();
    for (key, value) in properties {
        let described = value.get("description").or_else(|| value.get("$ref"));
        assert!(described.is_some(), "{pointer}/{key} says nothing about itself");
    }
    properties.keys().cloned().collect()
}

/// Returns the keys that the reader lists when it finds an unknown one.
fn known(text: &str) -> BTreeSet<String> {
    let faults = read("m", text).unwrap_err();
    let hints = faults.iter().filter(|fault| fault.message.ends_with("has no `qqqqqqqq`"));
    let hints: Vec<&str> = hints.filter_map(|fault| fault.hint.as_deref()).collect();
    let [hint] = hints.as_slice() else { panic!("{faults:#?}") };
    let names = hint.strip_prefix("known keys: ").unwrap_or_else(|| panic!("{hint}"));
    names.split(", ").map(|name| name.trim_matches('`').to_owned()).collect()
}

#[test]
fn the_schema_and_the_reader_know_the_same_keys() {
    let schema = schema();
    let entity = |inside: &str| format!("entities: {{a: {{{inside}}}}}");
    let field = |inside: &str| entity(&format!("fields: {{x: {inside}}}"));
    let read = |inside: &str| format!("reads: {{r: {{from: a, rate: 1/s, {inside}}}}}");
    let relationship = |inside: &str| format!("relationships: {{a.b: {{child: a, {inside}}}}}");
    let q = "qqqqqqqq: 1";
    for (pointer, text) in [
        ("", q.to_owned()),
        ("/definitions/deployment", format!("deployment: {{{q}}}")),
        ("/definitions/deployment/properties/zones", format!("deployment: {{zones: {{{q}}}}}")),
        ("/definitions/entity", entity(q)),
        ("/definitions/entity/properties/lifecycle", entity(&format!("lifecycle: {{{q}}}"))),
        ("/definitions/entity/properties/series", entity(&format!("series: {{{q}}}"))),
        ("/definitions/field/oneOf/1", field(&format!("{{type: int, {q}}}"))),
        (
            "/definitions/field/oneOf/1/properties/bytes/oneOf/1",
            field(&format!("{{type: string, bytes: {{{q}}}}}")),
        ),
        ("/definitions/spread/oneOf/1", relationship(&format!("children: {{{q}}}"))),
        ("/definitions/growth/oneOf/2", relationship(&format!("growth: {{{q}}}"))),
        ("/definitions/relationship", relationship(q)),
        ("/definitions/read", read(q)),
        (
            "/definitions/read/properties/where/oneOf/1/additionalProperties/oneOf/1",
            read(&format!("where: {{x: {{{q}}}}}")),
        ),
        (
            "/definitions/read/properties/with/oneOf/1/additionalProperties/oneOf/2",
            read(&format!("with: {{a.b: {{{q}}}}}")),
        ),
        ("/definitions/write", format!("writes: {{w: {{insert: a, rate: 1/s, {q}}}}}")),
    ] {
        assert_eq!(keys(&schema, pointer), known(&text), "{pointer}");
    }
}

#[test]
fn every_key_is_explained_in_the_guide() {
    let guide = std::fs::read_to_string(repository().join("docs/design-model.md")).unwrap();
    let mut tables = vec![schema()];
    while let Some(table) = tables.pop() {
        let Some(table) = table.as_object() else { continue };
        if let Some(properties) = table.get("properties").and_then(Value::as_object) {
            for key in properties.keys() {
                assert!(guide.contains(&format!("`{key}`")), "{key} is not explained");
            }
        }
        tables.extend(table.values().cloned());
        tables.extend(table.values().filter_map(Value::as_array).flatten().cloned());
    }
}

#[test]
fn the_smallest_model_of_the_guide_gets_a_verdict() {
    let guide = std::fs::read_to_string(repository().join("docs/design-model.md")).unwrap();
    let mut blocks = guide.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next());
    let model = blocks.find(|block| block.contains("entities:")).unwrap();
    assert!(jsonschema::validator_for(&schema()).unwrap().is_valid(&json(model)));
    let case = crate::common::of(model);
    assert_eq!(case.verdict("order.items"), docward_design::Verdict::Embed);
    assert!(case.design.questions().is_empty());
}
