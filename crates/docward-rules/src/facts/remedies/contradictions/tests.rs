//! Tests that contradictions are found, and that none is found where a document is accepted.

use proptest::prelude::*;

use docward_bson::value::to_bytes;
use docward_schema::Schema;

use super::{dead::kind_of, *};

/// Small random choices from one number.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }

    fn small(&mut self) -> Value {
        Value::Int(self.roll(4) as i64)
    }

    fn name(&mut self) -> String {
        ["a", "b", "c"][self.roll(3) as usize].to_owned()
    }

    fn value(&mut self, depth: u32) -> Value {
        match self.roll(if depth > 2 { 5 } else { 8 }) {
            0 => Value::Null,
            1 | 2 => self.small(),
            3 => Value::Double(1.5),
            4 => Value::Text("abc"[..self.roll(4) as usize].to_owned()),
            5 => Value::List((0..self.roll(3)).map(|_| self.value(depth + 1)).collect()),
            _ => self.object(depth + 1),
        }
    }

    fn object(&mut self, depth: u32) -> Value {
        let mut out: Vec<(String, Value)> = Vec::new();
        for _ in 0..self.roll(4) {
            let name = self.name();
            if !out.iter().any(|(known, _)| *known == name) {
                out.push((name, self.value(depth)));
            }
        }
        Value::Map(out)
    }

    fn types(&mut self) -> Value {
        let words = ["int", "string", "object", "array", "null", "number"];
        let mut out: Vec<Value> = Vec::new();
        for _ in 0..=self.roll(2) {
            let word = Value::Text(words[self.roll(6) as usize].to_owned());
            if !out.contains(&word) {
                out.push(word);
            }
        }
        Value::List(out)
    }

    fn schemas(&mut self, depth: u32) -> Value {
        Value::List((0..=self.roll(2)).map(|_| self.schema(depth + 1)).collect())
    }

    fn schema(&mut self, depth: u32) -> Value {
        let mut out: Vec<(String, Value)> = Vec::new();
        for _ in 0..self.roll(if depth == 0 { 5 } else { 4 }) {
            let (key, value) = match self.roll(if depth > 3 { 8 } else { 16 }) {
                0 | 1 => ("bsonType", self.types()),
                2 => ("minimum", self.small()),
                3 => ("maximum", self.small()),
                4 => ("minLength", self.small()),
                5 => ("maxItems", self.small()),
                6 => {
                    let mut listed: Vec<Value> = Vec::new();
                    for _ in 0..=self.roll(2) {
                        let value = self.value(3);
                        if !listed.contains(&value) {
                            listed.push(value);
                        }
                    }
                    ("enum", Value::List(listed))
                }
                7 => ("required", Value::List(vec![Value::Text(self.name())])),
                8 | 9 => {
                    let name = self.name();
                    ("properties", Value::Map(vec![(name, self.schema(depth + 1))]))
                }
                10 => ("additionalProperties", Value::Bool(false)),
                11 => ("items", self.schema(depth + 1)),
                12 => ("allOf", self.schemas(depth)),
                13 => ("anyOf", self.schemas(depth)),
                14 => ("oneOf", self.schemas(depth)),
                _ => ("not", self.schema(depth + 1)),
            };
            if !out.iter().any(|(known, _)| known == key) {
                out.push((key.to_owned(), value));
            }
        }
        if self.roll(3) == 0 && !out.iter().any(|(known, _)| known == "minItems") {
            out.push(("minItems".to_owned(), self.small()));
        }
        Value::Map(out)
    }
}

/// The values at a path.
fn at<'v>(value: &'v Value, path: &str) -> Vec<&'v Value> {
    let mut found = vec![value];
    for step in path.replace("[]", ".[]").split('.').filter(|step| !step.is_empty()) {
        found = found
            .into_iter()
            .flat_map(|value| match step {
                "[]" => value.items().iter().collect(),
                name => value.get(name).into_iter().collect::<Vec<_>>(),
            })
            .collect();
    }
    found
}

/// Whether a document meets a branch that is reported as impossible. Only alternatives at the top level count.
fn holds(schema: &Value, what: &str, document: &[u8]) -> bool {
    let Some(rest) = what.strip_prefix("branch ") else { return false };
    let Some((number, rest)) = rest.split_once(" of `") else { return false };
    let Some((keyword, rest)) = rest.split_once('`') else { return false };
    if !rest.starts_with(" can never hold") {
        return false;
    }
    let Some(branches) = schema.get(keyword) else { return false };
    // Alternatives of parts are reported in the same form.
    if schema.get("allOf").is_some() || ["anyOf", "oneOf"].iter().all(|k| schema.get(k).is_some()) {
        return false;
    }
    let nested = |node: &Value| ["anyOf", "oneOf", "allOf"].iter().any(|k| node.get(k).is_some());
    if branches.items().iter().any(nested) {
        return false;
    }
    let branch = number.parse::<usize>().ok().and_then(|n| branches.items().get(n - 1));
    branch.is_some_and(|branch| {
        Schema::compile(&to_bytes(branch.entries()))
            .is_ok_and(|schema| schema.accepts(document).unwrap_or(false))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    /// A constraint that a document meets is not reported as impossible.
    #[test]
    fn dm_11_6_no_document_disproves_a_contradiction(seed in any::<u64>()) {
        let mut dice = Dice(seed);
        let schema = dice.schema(0);
        let Ok(compiled) = Schema::compile(&to_bytes(schema.entries())) else { return Ok(()) };
        let told = contradictions(&[&schema]);
        if told.is_empty() {
            return Ok(());
        }
        for _ in 0..200 {
            let Value::Map(mut fields) = dice.object(0) else { return Ok(()) };
            fields.insert(0, ("_id".to_owned(), Value::Int(1)));
            let bytes = to_bytes(&fields);
            if !compiled.accepts(&bytes).unwrap() {
                continue;
            }
            let document = Value::Map(fields);
            for found in &told {
                let what = found.what.as_str();
                prop_assert!(!what.starts_with("no document can pass"), "{}\n{schema:?}\n{document:?}", what);
                prop_assert!(!holds(&schema, what, &bytes), "{}\n{schema:?}\n{document:?}", what);
                let subject = what.split(':').next().unwrap();
                if subject.contains(" in branch ") {
                    continue;
                }
                if let Some(path) = subject.strip_prefix("no value of `").and_then(|s| s.strip_suffix("` can pass")) {
                    prop_assert!(at(&document, path).is_empty(), "{}\n{schema:?}\n{document:?}", what);
                }
                for kind in &KINDS {
                    let head = format!("no {} in `", kind.noun);
                    if let Some(path) = subject.strip_prefix(&head).and_then(|s| s.strip_suffix("` can pass")) {
                        let none = at(&document, path).iter().all(|v| !kind_of(v).iter().any(|t| kind.types.contains(t)));
                        prop_assert!(none, "{}\n{schema:?}\n{document:?}", what);
                    }
                }
            }
        }
    }
}
