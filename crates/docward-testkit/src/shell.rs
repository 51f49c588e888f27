//! Runs the mongosh statements that findings propose, without mongosh.
//!
//! Only the statements of rules are supported: calls on `db`, one after the other, possibly after
//! an `if (count === 0)`. Anything else is an error in the rule, and panics with the text. Each
//! method is converted to the server command that mongosh sends for it.

use bson::{Bson, Document, doc};

use crate::{load::parse, shared::Servers};

/// One call: `db.getSiblingDB("d").getCollection("c").method(…)`.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The database; `test` unless named.
    pub database: String,
    /// The collection, for its methods.
    pub collection: Option<String>,
    /// The called method.
    pub method: String,
    /// Its arguments.
    pub arguments: Vec<Bson>,
}

/// A call, and a condition that must be 0 before it.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// The condition.
    pub unless: Option<Call>,
    /// The call.
    pub call: Call,
}

/// The reason why a proposal cannot be run on a server unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotRunnable {
    /// It has placeholders for the reader to fill in.
    Template,
    /// It is for a sharded cluster.
    Sharding,
}

/// Parses the text of a proposal.
pub fn statements(text: &str) -> Result<Vec<Statement>, NotRunnable> {
    if has_placeholder(text) {
        return Err(NotRunnable::Template);
    }
    let is_for_clusters = |statement: &str| {
        statement.starts_with("sh.") || statement.contains("refineCollectionShardKey")
    };
    if text.split("; ").any(is_for_clusters) {
        return Err(NotRunnable::Sharding);
    }
    let mut rest = text.trim();
    let mut statements = Vec::new();
    while !rest.is_empty() {
        let mut unless = None;
        if let Some(condition) = rest.strip_prefix("if (") {
            let (call, after) = read_call(condition, text);
            let after = after.strip_prefix(" === 0)");
            rest = after.unwrap_or_else(|| panic!("`=== 0)` expected: {text}")).trim_start();
            unless = Some(call);
        }
        let (call, after) = read_call(rest, text);
        statements.push(Statement { unless, call });
        let after = after.trim_start();
        assert!(after.is_empty() || after.starts_with(';'), "`;` expected at `{after}`: {text}");
        rest = after.trim_start_matches(';').trim_start();
    }
    Ok(statements)
}

/// Finds `<kind>` or `/* … */` outside the names that a rule quotes from the data.
fn has_placeholder(text: &str) -> bool {
    text.contains("/*")
        || text.match_indices('<').any(|(at, _)| {
            text[at + 1..].split_once('>').is_some_and(|(word, _)| {
                !word.is_empty() && word.chars().all(|c| c.is_alphabetic() || c == ' ')
            })
        })
}

fn read_call<'t>(text: &'t str, whole: &str) -> (Call, &'t str) {
    let mut rest = text.strip_prefix("db").unwrap_or_else(|| panic!("`db` expected: {whole}"));
    let mut call = Call {
        database: "test".to_owned(),
        collection: None,
        method: String::new(),
        arguments: Vec::new(),
    };
    while let Some(after) = rest.strip_prefix('.') {
        assert!(call.method.is_empty(), "nothing may follow `{}`: {whole}", call.method);
        let (name, after) =
            after.split_once('(').unwrap_or_else(|| panic!("`(` expected: {whole}"));
        let end = closing(after).unwrap_or_else(|| panic!("`)` expected: {whole}"));
        let arguments = parse(&format!("{{\"arguments\": [{}]}}", &after[..end]));
        let arguments = arguments.get_array("arguments").expect("it was put there").clone();
        rest = &after[end + 1..];
        match (name, arguments.as_slice()) {
            ("getSiblingDB", [Bson::String(name)]) => call.database.clone_from(name),
            ("getCollection", [Bson::String(name)]) => call.collection = Some(name.clone()),
            _ => (call.method, call.arguments) = (name.to_owned(), arguments),
        }
    }
    assert!(!call.method.is_empty(), "no method is called: {whole}");
    (call, rest)
}

/// The position of the closing parenthesis that was opened before `text`.
fn closing(text: &str) -> Option<usize> {
    let (mut depth, mut in_string, mut escaped) = (0u32, false, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if in_string => escaped = true,
            '"' => in_string = !in_string,
            _ if in_string => {}
            '(' => depth += 1,
            ')' if depth == 0 => return Some(at),
            ')' => depth -= 1,
            _ => {}
        }
    }
    None
}

impl Call {
    /// The database, and the command that mongosh would send.
    pub fn command(&self) -> (String, Document) {
        let admin = |command| ("admin".to_owned(), command);
        let own = |command| (self.database.clone(), command);
        let document = |at: usize| match self.arguments.get(at) {
            Some(Bson::Document(document)) => document.clone(),
            None => Document::new(),
            other => panic!("a document expected, not {other:?}: {self:?}"),
        };
        let text = |at: usize| match self.arguments.get(at) {
            Some(Bson::String(text)) => text.clone(),
            other => panic!("text expected, not {other:?}: {self:?}"),
        };
        let argument = |at: usize| self.arguments.get(at).expect("an argument").clone();
        let of_collection = || self.collection.clone().expect("a method of collections");
        match self.method.as_str() {
            "runCommand" => own(document(0)),
            "adminCommand" => admin(document(0)),
            "createCollection" => {
                let mut create = doc! { "create": text(0) };
                create.extend(document(1));
                own(create)
            }
            "updateMany" => own(doc! {
                "update": of_collection(),
                "updates": [{ "q": document(0), "u": argument(1), "multi": true }],
            }),
            "createIndex" => own(create_indexes(of_collection(), &[document(0)], &document(1))),
            "createIndexes" => {
                let Bson::Array(keys) = argument(0) else { panic!("a list expected: {self:?}") };
                let keys: Vec<_> =
                    keys.iter().filter_map(|key| key.as_document().cloned()).collect();
                own(create_indexes(of_collection(), &keys, &document(1)))
            }
            "hideIndex" => own(doc! {
                "collMod": of_collection(), "index": { "name": text(0), "hidden": true },
            }),
            "unhideIndex" => own(doc! {
                "collMod": of_collection(), "index": { "name": text(0), "hidden": false },
            }),
            "dropIndex" => own(doc! { "dropIndexes": of_collection(), "index": text(0) }),
            "renameCollection" => admin(doc! {
                "renameCollection": format!("{}.{}", self.database, of_collection()),
                "to": format!("{}.{}", self.database, text(0)),
            }),
            "aggregate" => own(doc! {
                "aggregate": of_collection(), "pipeline": argument(0), "cursor": {},
            }),
            "find" => own(doc! { "find": of_collection(), "filter": document(0) }),
            "distinct" => own(doc! { "distinct": of_collection(), "key": text(0) }),
            "countDocuments" => own(doc! {
                "aggregate": of_collection(),
                "pipeline": [
                    { "$match": document(0) },
                    { "$group": { "_id": 1, "n": { "$sum": 1 } } },
                ],
                "cursor": {},
            }),
            other => panic!("the method {other} is not known to the test kit: {self:?}"),
        }
    }
}

fn create_indexes(collection: String, keys: &[Document], options: &Document) -> Document {
    let indexes: Vec<_> = keys
        .iter()
        .map(|key| {
            let name: Vec<_> = key.iter().map(|(path, kind)| format!("{path}_{kind}")).collect();
            let mut index = doc! { "key": key.clone(), "name": name.join("_") };
            index.extend(options.clone());
            index
        })
        .collect();
    doc! { "createIndexes": collection, "indexes": indexes }
}

impl Servers {
    /// Runs a statement; `None` if its condition does not hold.
    pub fn run(&self, statement: &Statement) -> Result<Option<Document>, mongodb::error::Error> {
        if let Some(condition) = &statement.unless {
            let (database, command) = condition.command();
            let reply = self.try_command(&database, command)?;
            let batch = reply.get_document("cursor").and_then(|c| c.get_array("firstBatch"));
            if batch.is_ok_and(|batch| !batch.is_empty()) {
                return Ok(None);
            }
        }
        let (database, command) = statement.call.command();
        let reply = self.try_command(&database, command)?;
        // The command succeeds even if one of its updates failed.
        if let Ok([first, ..]) = reply.get_array("writeErrors").map(Vec::as_slice) {
            return Err(mongodb::error::Error::custom(first.to_string()));
        }
        Ok(Some(reply))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_become_commands() {
        let text = r#"db.getSiblingDB("d").getCollection("a)\"b").updateMany({"x": {$type: "int"}}, [{$set: {y: "(1"}}]); db.getSiblingDB("d").getCollection("c").createIndex({ a: 1, b: -1 }, {unique: true})"#;
        let commands: Vec<_> =
            statements(text).unwrap().iter().map(|s| s.call.command().1).collect();
        assert_eq!(
            commands,
            [
                doc! {
                    "update": "a)\"b",
                    "updates": [{
                        "q": { "x": { "$type": "int" } },
                        "u": [{ "$set": { "y": "(1" } }],
                        "multi": true,
                    }],
                },
                doc! {
                    "createIndexes": "c",
                    "indexes": [{ "key": { "a": 1, "b": -1 }, "name": "a_1_b_-1", "unique": true }],
                },
            ]
        );
    }

    #[test]
    fn templates_and_sharding_are_told() {
        let not = |text| statements(text).unwrap_err();
        assert_eq!(
            not("db.getCollection(\"a\").updateMany({}, {$set: {type: \"<kind>\"}})"),
            NotRunnable::Template
        );
        assert_eq!(not("sh.reshardCollection(\"d.c\", { a: 1 })"), NotRunnable::Sharding);
    }

    #[test]
    fn conditions_are_read() {
        let text = r#"if (db.getCollection("c").countDocuments({a: 1}) === 0) db.runCommand({collMod: "c"})"#;
        let statements = statements(text).unwrap();
        assert_eq!(statements[0].unless.as_ref().unwrap().method, "countDocuments");
        assert_eq!(statements[0].call.method, "runCommand");
    }
}
