//! Models that people declare in code, as MongoDB's `$jsonSchema`: text in, data out.
//!
//! Eight kinds are read: Mongoose (and NestJS), Prisma, Pydantic (and Beanie), Go structs with `bson` tags,
//! Spring Data classes, PHP classes (Doctrine ODM and Laravel), C# classes and JSON Schema. Each has a folder or a file of its own; what they share is the
//! [`shape`] they fill and the [`draft`] that remembers where every field is declared.
//!
//! One promise holds for all of them: a schema refuses nothing that the library would write for a valid
//! model, as far as that is known. Where the declaration is stricter than the schema (validators in code,
//! unique indexes), [`Model::left_out`] says so. Nothing is executed and nothing outside the text is
//! looked up: a type that another file declares is left open, and named.

mod csharp;
mod declared_models;
mod draft;
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

/// What a text declares.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Imported {
    /// The models, in the order they are declared.
    pub models: Vec<Model>,
    /// What could not be read. The rest was.
    pub problems: Vec<Problem>,
}

/// One model: what documents of one kind look like.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// Its name in code.
    pub name: String,
    /// The collection, as the library would name it; none when the library leaves that to the caller or
    /// the name is computed.
    pub collection: Option<String>,
    /// Whether another model of the text holds it: more likely a part than a collection of its own.
    pub embedded: bool,
    /// The body of `$jsonSchema`, in the server's dialect.
    pub schema: Document,
    /// Where it is declared.
    pub declared_at: Place,
    /// Where each field is declared. Paths have dots, `[]` for the elements of an array and `*` for the
    /// values of a map: `items[].price`, `labels.*`.
    pub fields: BTreeMap<String, Place>,
    /// Those whose names the framework chose (`createdAt` of Mongoose's `timestamps`).
    pub generated: BTreeSet<String>,
    /// What the schema does not say although the declaration does.
    pub left_out: Vec<LeftOut>,
}

/// Part of a declaration that the schema does not carry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// The field; empty for the model as a whole.
    pub path: String,
    /// What was declared, in the declaration's own words.
    pub what: String,
    /// Why it is not in the schema.
    pub why: String,
    /// Where it is declared.
    pub place: Place,
    /// Whether the schema therefore accepts documents that the declaration refuses. Otherwise nothing
    /// about validity is lost: defaults, references, examples.
    pub loosens: bool,
}

/// Longer texts are no source code that somebody wrote.
const MAX_TEXT: usize = 16 << 20;

/// Reads the models out of a text.
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
    // Several models may hold the type that declares the field.
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
