//! Converts models that are declared in code to MongoDB's `$jsonSchema`. This crate does no IO.
//!
//! It reads eight kinds of declarations:
//!
//! - Mongoose, also through NestJS
//! - Prisma
//! - Pydantic and Beanie
//! - Go structs with `bson` tags
//! - Spring Data classes
//! - PHP classes for Doctrine ODM and Laravel
//! - C# classes
//! - JSON Schema
//!
//! Each kind has its own module. All of them fill a [`shape`] and record the position of every
//! field in a [`draft`].
//!
//! The generated schemas follow one rule: a schema accepts everything that the library would write
//! for a valid model, as far as that is known. If the declaration is stricter than the schema
//! (validators in code, unique indexes), [`Model::left_out`] records the difference. This crate
//! executes nothing and looks up nothing outside the text. A type from another file stays
//! unrestricted, and the result names it.

mod csharp;
mod declared_models;
mod draft;
mod escapes;
mod go;
mod json_schema;
mod kind;
mod mongoose;
mod pattern;
mod php;
mod prisma;
mod pydantic;
mod shape;
mod spring;

use std::collections::{BTreeMap, BTreeSet};

use bson::Document;

pub use declared_models::declared_models;
pub use docward_source::{place::Place, syntax::Problem};
pub use kind::Kind;

/// The models of a text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Imported {
    /// The models in order of declaration.
    pub models: Vec<Model>,
    /// The parts that could not be read. All other parts were read.
    pub problems: Vec<Problem>,
}

/// A model, which describes one type of document.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// The name in the code.
    pub name: String,
    /// The collection, named as the library would name it. `None` if the caller chooses the name or
    /// the name is computed.
    pub collection: Option<String>,
    /// Whether another model of the text contains it. Such a model is more likely a subdocument
    /// than a separate collection.
    pub embedded: bool,
    /// The body of `$jsonSchema`, in the server's dialect.
    pub schema: Document,
    /// The place of the declaration.
    pub declared_at: Place,
    /// The place where each field is declared. Paths have dots, `[]` for the elements of an array
    /// and `*` for the values of a map: `items[].price`, `labels.*`.
    pub fields: BTreeMap<String, Place>,
    /// Fields whose names the framework chose, such as `createdAt` of Mongoose's `timestamps`.
    pub generated: BTreeSet<String>,
    /// Parts of the declaration that the schema does not express.
    pub left_out: Vec<LeftOut>,
}

/// A part of a declaration that the schema does not express.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// The path of the field. Empty if it is about the whole model.
    pub path: String,
    /// The declared text.
    pub what: String,
    /// Why it is not in the schema.
    pub why: String,
    /// The place of the declaration.
    pub place: Place,
    /// Whether the schema therefore accepts documents that the declaration refuses. This is false
    /// for defaults, references and examples, which do not affect validity.
    pub loosens: bool,
}

/// The maximum text length in bytes. Longer texts are not handwritten source code.
const MAX_TEXT: usize = 16 << 20;

/// Reads the models in a text.
pub fn read(kind: Kind, text: &str) -> Imported {
    if text.len() > MAX_TEXT {
        let message = format!("longer than {} MiB: not read", MAX_TEXT >> 20);
        return Imported {
            models: Vec::new(),
            problems: vec![Problem { line: 1, column: 1, message }],
        };
    }
    let mut imported = match kind {
        Kind::Mongoose => mongoose::read(text),
        Kind::Prisma => prisma::read(text),
        Kind::Pydantic => pydantic::read(text),
        Kind::Go => go::read(text),
        Kind::Spring => spring::read(text),
        Kind::Php => php::read(text),
        Kind::CSharp => csharp::read(text),
        Kind::JsonSchema => json_schema::read(text),
    };
    let impossible = imported.models.iter().flat_map(|model| &model.left_out);
    // Several models may contain the type that declares the field.
    let impossible: BTreeSet<Problem> = impossible
        .filter(|left| left.why == draft::NULL_IN_NAME)
        .map(|LeftOut { what, why, place: Place { line, column }, .. }| Problem {
            line: *line,
            column: *column,
            message: format!("field `{what}`: {why}"),
        })
        .collect();
    imported.problems.extend(impossible);
    imported
}
