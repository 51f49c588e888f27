//! The schema says what the parser says.

use serde_json::{Map, Value, json};
use toml_edit::{Document, Item, Value as Toml};

use crate::{guide, rules};

fn schema() -> Value {
    serde_json::from_str(&docward_config::json_schema(&rules::all())).unwrap()
}

#[test]
fn the_same_bytes_whatever_the_order_of_the_rules() {
    let mut rules = rules::all();
    let text = docward_config::json_schema(&rules);
    rules.reverse();
    assert_eq!(text, docward_config::json_schema(&rules));
    assert!(text.ends_with("}\n") && text.is_ascii());
    // Written and read again it is the same text: ours is ordinary pretty JSON.
    let again: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(serde_json::to_string_pretty(&again).unwrap() + "\n", text);
}

#[test]
fn rules_are_described() {
    let schema = schema();
    let d008 = &schema["definitions"]["D008"];
    assert_eq!(d008["title"], "D008 unbounded-array: Unbounded array");
    assert_eq!(d008["description"], "Looks for arrays that grow as long as their document lives.");
    assert_eq!(
        d008["properties"]["max-elements"],
        json!({
            "description": "Length from which an array counts as long. Unit: elements. Source: no figure in source.",
            "type": "integer",
            "minimum": 0,
            "default": 1000,
        })
    );
    assert_eq!(d008["properties"]["severity"]["default"], "error");
    let of = |code: &str, key: &str| schema["definitions"][code]["properties"][key].clone();
    assert_eq!(of("D008", "min-correlation")["minimum"], -1);
    assert_eq!(of("T002", "min-double-share")["maximum"], 1);
    assert_eq!(of("T012", "earliest").get("minimum"), None);
    assert_eq!(of("N011", "prefer")["enum"], json!(["camelCase", "snake_case"]));
    assert_eq!(of("N013", "allow")["items"], json!({"type": "string"}));
    assert_eq!(
        schema["definitions"]["rules"]["properties"]["unbounded-array"],
        json!({"$ref": "#/definitions/D008"})
    );
}

#[test]
fn without_rules_there_is_still_a_schema() {
    let text = docward_config::json_schema(&[]);
    assert!(serde_json::from_str::<Value>(&text).is_ok());
}

/// Files, and whether they are sound: parser and schema must agree.
#[test]
fn parser_and_schema_agree() {
    let example = guide::complete_example();
    for (text, sound) in [
        (example.as_str(), true),
        ("", true),
        ("profile = 'x'", false),
        ("profil = 'vendor'", false),
        ("fail-on = 'never'", true),
        ("select = ['D', 'all', 'unbounded-array']", true),
        ("select = ['Z']", false),
        ("select = 'D'", false),
        ("[rules.D008]\nmax-elements = -1", false),
        ("[rules.D008]\nmax-elements = 1.5", false),
        ("[rules.D008]\nmin-correlation = 1", true),
        ("[rules.D008]\nmin-correlation = 2", false),
        ("[rules.unbounded-array]\nenabled = false", true),
        ("[rules.D008]\nenabled = 'no'", false),
        ("[rules.D008]\nseverity = 'off'", false),
        ("[rules.D008]\nx = 1", false),
        ("[rules.D999]", false),
        ("[rules.N013]\nallow = ['a']", true),
        ("[rules.N013]\nallow = 'a'", false),
        ("[rules.N011]\nprefer = 'x'", false),
        ("[rules.T012]\nearliest = -1", true),
        ("[[namespaces]]\nmatch = 'a.b'\nignore = ['D']", true),
        ("[[namespaces]]\nignore = ['D']", false),
        ("[namespaces]\nmatch = 'a.b'", false),
        ("[collections]\ncore = ['']", false),
        ("[[collections.bounded]]\nmatch = 'a.b'\npath = 'c'\nmax = 0", false),
        ("[[collections.mirrors]]\nmatch = 'a.b'", false),
        ("[[collections.shard-keys]]\nnamespace = 'a.b'\nkey = { a = 1, b = 'hashed' }", true),
        ("[[collections.shard-keys]]\nnamespace = 'a.b'\nkey = { a = 2 }", false),
        ("[[collections.shard-keys]]\nnamespace = 'a.*'\nkey = { a = 1 }", false),
        ("[[collections.shard-keys]]\nnamespace = 'a'\nkey = { a = 1 }", false),
        ("[[collections.shard-keys]]\nnamespace = 'a.b'\nkey = {}", false),
        ("[deployment]\nshards = 0", false),
        ("[deployment]\nserver-version = 6.0", false),
        ("[deployment]\nserver-version = 'six'", false),
    ] {
        let (_, problems) = docward_config::parse(text, "f", &rules::all());
        assert_eq!(problems.is_empty(), sound, "parser: {text}\n{problems:?}");
        let schema = schema();
        let value = to_json(Document::parse(text).unwrap().as_item());
        assert_eq!(faults(&value, &schema, &schema).is_empty(), sound, "schema: {text}\n{value}");
    }
}

fn to_json(item: &Item) -> Value {
    match item {
        Item::None => Value::Null,
        Item::Value(value) => value_to_json(value),
        Item::Table(table) => {
            table.iter().map(|(k, v)| (k.to_owned(), to_json(v))).collect::<Map<_, _>>().into()
        }
        Item::ArrayOfTables(tables) => {
            tables.iter().map(|table| to_json(&Item::Table(table.clone()))).collect()
        }
    }
}

fn value_to_json(value: &Toml) -> Value {
    match value {
        Toml::String(s) => s.value().as_str().into(),
        Toml::Integer(n) => (*n.value()).into(),
        Toml::Float(n) => (*n.value()).into(),
        Toml::Boolean(b) => (*b.value()).into(),
        Toml::Datetime(d) => d.value().to_string().into(),
        Toml::Array(list) => list.iter().map(value_to_json).collect(),
        Toml::InlineTable(table) => table
            .iter()
            .map(|(k, v)| (k.to_owned(), value_to_json(v)))
            .collect::<Map<_, _>>()
            .into(),
    }
}

/// The part of JSON Schema that ours uses; an unknown keyword fails the test.
fn faults(value: &Value, schema: &Value, root: &Value) -> Vec<String> {
    let mut out = Vec::new();
    for (keyword, rule) in schema.as_object().unwrap() {
        let holds =
            match keyword.as_str() {
                "$schema" | "title" | "description" | "default" | "definitions" => true,
                "$ref" => {
                    let name = rule.as_str().unwrap().strip_prefix("#/definitions/").unwrap();
                    out.extend(faults(value, &root["definitions"][name], root));
                    true
                }
                "allOf" => {
                    for schema in rule.as_array().unwrap() {
                        out.extend(faults(value, schema, root));
                    }
                    true
                }
                "type" => match rule.as_str().unwrap() {
                    "object" => value.is_object(),
                    "array" => value.is_array(),
                    "string" => value.is_string(),
                    "integer" => value.is_i64(),
                    "number" => value.is_number(),
                    "boolean" => value.is_boolean(),
                    other => panic!("type {other}"),
                },
                "enum" => rule.as_array().unwrap().contains(value),
                "minimum" => value.as_f64().is_none_or(|n| n >= rule.as_f64().unwrap()),
                "maximum" => value.as_f64().is_none_or(|n| n <= rule.as_f64().unwrap()),
                "minLength" => value.as_str().is_none_or(|s| !s.is_empty()),
                "minProperties" => value.as_object().is_none_or(|o| !o.is_empty()),
                "pattern" => match rule.as_str().unwrap() {
                    "^[0-9]+\\.[0-9]+(\\.[0-9]+)?$" => value
                        .as_str()
                        .is_some_and(|s| s.split('.').all(|n| n.parse::<u32>().is_ok())),
                    "^[^.*?\\[{]+\\.[^*?\\[{]+$" => {
                        value.as_str().is_some_and(|s| s.contains('.') && !s.contains(['*', '?']))
                    }
                    other => panic!("pattern {other}"),
                },
                "items" => {
                    for item in value.as_array().into_iter().flatten() {
                        out.extend(faults(item, rule, root));
                    }
                    true
                }
                "required" => rule.as_array().unwrap().iter().all(|key| {
                    value.as_object().is_none_or(|o| o.contains_key(key.as_str().unwrap()))
                }),
                "properties" => {
                    for (key, schema) in rule.as_object().unwrap() {
                        if let Some(value) = value.get(key) {
                            out.extend(faults(value, schema, root));
                        }
                    }
                    true
                }
                "additionalProperties" => {
                    let known = schema.get("properties").and_then(Value::as_object);
                    for (key, value) in value.as_object().into_iter().flatten() {
                        if known.is_some_and(|known| known.contains_key(key)) {
                            continue;
                        }
                        match rule {
                            Value::Bool(false) => out.push(format!("{key} is unknown")),
                            schema => out.extend(faults(value, schema, root)),
                        }
                    }
                    true
                }
                other => panic!("keyword {other}"),
            };
        if !holds {
            out.push(format!("{value} breaks {keyword} {rule}"));
        }
    }
    out
}
