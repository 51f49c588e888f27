//! MongoDB's validators and `$jsonSchema`: compiled once, then evaluated on raw documents without
//! building them. Refused documents are explained like on the server.
//!
//! The dialect is the server's (draft 4 with `bsonType`; without `$ref`, `format`, `default`,
//! `definitions` and the type `integer`), including the order in which mistakes are reported, their
//! codes and their messages. Where server versions differ, 6.0 is followed. The reference is a
//! running server: `tests/` compares with recorded verdicts, and with a live server on generated
//! schemas and documents.
//!
//! `encrypt` and `encryptMetadata` are not evaluated: they concern ciphertext, which Docward cannot
//! read.

mod compare;
mod evaluate;
mod explain;
mod names;
mod number;
mod parse;
mod pattern;
mod schema;
mod tally;
mod validator;
mod value;

use bson::Document;
use docward_bson::walk::{Fault, count_elements};

pub use compare::{Change, Comparison, Containment, Effect, Outline, compare, outline};
use evaluate::Checker;
pub use explain::Violation;
use explain::{Extent, explain};
use schema::{Expr, Node};
pub use tally::{Tally, as_stored};
pub use validator::{Validator, ValidatorFault};
use value::{OBJECT, Raw};

/// A compiled schema.
#[derive(Debug)]
pub struct Schema {
    root: Node,
    /// The schema as conditions, for explanations.
    rules: Expr,
}

/// The reason why a document is not a valid schema: the server's code and message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SchemaFault {
    /// The server's code: 2 `BadValue`, 9 `FailedToParse`, 14 `TypeMismatch`, 51091 for patterns.
    pub code: i32,
    /// The server's message.
    pub message: String,
}

impl Schema {
    /// Compiles a `$jsonSchema` from BSON.
    pub fn compile(schema: &[u8]) -> Result<Self, SchemaFault> {
        parse::sound(schema)?;
        let parse::Read { root, encrypted } = parse::schema(schema)?;
        if let Some(keyword) = encrypted {
            let message = format!(
                "$jsonSchema keyword '{keyword}' is about encrypted values and is not evaluated offline"
            );
            return parse::fault(parse::FAILED_TO_PARSE, message);
        }
        let rules = parse::schema_rules(Raw { tag: OBJECT, bytes: schema })?;
        Ok(Self { root, rules })
    }

    /// Returns whether a document is valid. A damaged document is a fault, not a verdict.
    pub fn accepts(&self, document: &[u8]) -> Result<bool, Fault> {
        Checker::default().holds(&self.root, Raw { tag: OBJECT, bytes: document })
    }

    /// Explains why a document is refused, in the format of the server's `errInfo.details`; `None`
    /// if it is valid.
    pub fn explain(&self, document: &[u8]) -> Result<Option<Document>, Fault> {
        if self.accepts(document)? {
            return Ok(None);
        }
        // Values are shown completely, so all of them have to be undamaged.
        count_elements(document)?;
        explain(&self.rules, document, Extent::First).map(Some)
    }
}

/// Returns whether a validator has a constraint on a field with an empty name. MongoDB accepts such
/// a validator, and crashes when it has to explain why a document is refused.
pub fn demands_nameless(validator: &[u8]) -> bool {
    fn within(value: &bson::Bson) -> bool {
        match value {
            bson::Bson::Document(document) => document.iter().any(|(key, value)| {
                let nameless =
                    value.as_document().and_then(|properties| properties.get_document("").ok());
                key == "properties" && nameless.is_some_and(|schema| !schema.is_empty())
                    || within(value)
            }),
            bson::Bson::Array(items) => items.iter().any(within),
            _ => false,
        }
    }
    Document::from_reader(validator).is_ok_and(|document| within(&bson::Bson::Document(document)))
}
