//! Tests that schema and parser agree.

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
    // Parsing and writing it again gives the same text: it is ordinary formatted JSON.
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
            "description": "Length from which an array counts as long. Unit: elements. Source: our default.",
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

/// Files, and whether they are valid: parser and schema must agree.
#[test]
fn parser_and_schema_agree() {
    let example = guide::complete_example();
    let validator = jsonschema::draft7::new(&schema()).unwrap();
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
        ("[[suppress]]\nrule = 'D'\nreason = 'x'\nexpires = 2027-01-31", true),
        ("[[suppress]]\nrule = 'D'\nreason = 'x'\nexpires = 'never'", true),
        ("[[suppress]]\nrule = 'D'\nreason = 'x'\nexpires = 'soon'", false),
        ("[[suppress]]\nrule = 'D'\nreason = 'x'\nexpires = 2027-01-31T10:00:00Z", false),
        ("[[suppress]]\nrule = 'D'\nreason = 'x'", false),
        ("[[suppress]]\nrule = 'D'\nfile = 'src/**'\nreason = 'x'\nexpires = 'never'", true),
        ("[[suppress]]\nrule = 'D'\nfile = 3\nreason = 'x'\nexpires = 'never'", false),
        ("[[waive]]\nitem = 'CK-15'\nreason = 'x'\nexpires = 'never'", true),
        ("[[waive]]\nitem = 'CK-16'\nreason = 'x'\nexpires = 'never'", false),
        ("[deployment]\nshards = 0", false),
        ("[deployment]\nserver-version = 6.0", false),
        ("[deployment]\nserver-version = 'six'", false),
        ("[deployment]\ntopology = 'replica-set'\nmembers = 3", true),
        ("[deployment]\ntopology = 'cluster'", false),
        ("[deployment]\nrouters = 0", false),
        ("[deployment]\nrouters-change-often = 'yes'", false),
        ("[[service]]\nname = 'a'\nclass = 'report'\npeak-qps = 0.5", true),
        ("[[service]]\nclass = 'report'", false),
        ("[[service]]\nname = ''", false),
        ("[[service]]\nname = 'a'\nclass = 'reports'", false),
        ("[[service]]\nname = 'a'\npeak-qps = 0", false),
        ("[[service]]\nname = 'a'\nstale-reads-ms = 0", true),
        ("[[service]]\nname = 'a'\ninstances = 1.5", false),
        ("[[service]]\nname = 'a'\nqps = 1", false),
    ] {
        let (_, problems) = docward_config::parse(text, "f", &rules::all());
        assert_eq!(problems.is_empty(), sound, "parser: {text}\n{problems:?}");
        let value = to_json(Document::parse(text).unwrap().as_item());
        assert_eq!(validator.is_valid(&value), sound, "schema: {text}\n{value}");
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
