//! MongoDB's validators and `$jsonSchema`: read once, then asked of raw documents without building them.
//! What is refused is explained as the server explains it.
//!
//! The dialect is the server's (draft 4 with `bsonType`; without `$ref`, `format`, `default`,
//! `definitions` and the type `integer`), down to the order in which mistakes are reported, their codes
//! and their words. What the server decides differently in another version is decided as 6.0 does. Truth
//! is a running server: `tests/` compares with verdicts of one, and with a live one on generated schemas
//! and documents.
//!
//! `encrypt` and `encryptMetadata` are not evaluated: they are about ciphertext, which nobody here can read.

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

/// A schema, ready to be asked.
#[derive(Debug)]
pub struct Schema {
    root: Node,
    /// The same again, for explanations.
    rules: Expr,
}

/// Why a document is no schema: the server's code and words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SchemaFault {
    /// The server's code: 2 `BadValue`, 9 `FailedToParse`, 14 `TypeMismatch`, 51091 for patterns.
    pub code: i32,
    /// The server's words.
    pub message: String,
}

impl Schema {
    /// Reads a `$jsonSchema` out of BSON.
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

    /// Whether a document is valid. Damaged documents are a fault, not a verdict.
    pub fn accepts(&self, document: &[u8]) -> Result<bool, Fault> {
        Checker::default().holds(&self.root, Raw { tag: OBJECT, bytes: document })
    }

    /// Why a document is refused, as the server tells it in `errInfo.details`; nothing if it is valid.
    pub fn explain(&self, document: &[u8]) -> Result<Option<Document>, Fault> {
        if self.accepts(document)? {
            return Ok(None);
        }
        // Values are shown whole, so all of them have to be sound.
        count_elements(document)?;
        explain(&self.rules, document, Extent::First).map(Some)
    }
}

/// Whether a validator demands something of a field without a name. MongoDB takes it, and stops when it has
/// to explain why a document is refused.
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
