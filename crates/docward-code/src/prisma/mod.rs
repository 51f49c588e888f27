//! Reads Prisma schemas for the MongoDB connector. The language is small and line-based, so this
//! module has its own parser.
//!
//! Fields with a `?` may be absent or null, because the connector writes both. Lists may be absent,
//! but are never null. Relations are not stored; they are recorded as left out.

mod text;

use std::collections::BTreeMap;

use bson::Bson;

use crate::{
    Imported, Model, Place, Problem,
    draft::{Draft, join},
    shape::Shape,
};
use text::{Attribute, Block, Field};

pub(crate) fn read(text: &str) -> Imported {
    let (blocks, mut problems) = text::blocks(text);
    for block in blocks.iter().filter(|block| block.keyword == "datasource") {
        let provider = block.fields.iter().find(|field| field.name == "provider");
        let named = provider.and_then(|field| field.value.as_deref()).unwrap_or("mongodb");
        if named != "mongodb" {
            let place = provider.map_or(block.place, |field| field.place);
            let message =
                format!("the provider is `{named}`, not `mongodb`: types are read as MongoDB's");
            problems.push(Problem { line: place.line, column: place.column, message });
        }
    }
    let mut reader = Reader {
        types: blocks.iter().map(|block| (block.name.as_str(), block)).collect(),
        problems,
    };
    let models = blocks
        .iter()
        .filter(|block| block.keyword == "model")
        .map(|block| reader.model(block))
        .collect();
    let mut problems = reader.problems;
    problems.sort();
    problems.dedup();
    Imported { models, problems }
}

struct Reader<'b> {
    types: BTreeMap<&'b str, &'b Block>,
    problems: Vec<Problem>,
}

impl<'b> Reader<'b> {
    fn model(&mut self, block: &'b Block) -> Model {
        let mut draft = Draft::default();
        let mut shape = Shape::object();
        self.fields(&mut draft, block, "", &mut shape);
        for attribute in &block.attributes {
            if matches!(attribute.name.as_str(), "unique" | "id") {
                let why = "needs a unique index, not a schema";
                draft.loosened("", attribute.text(), why, attribute.place);
            }
        }
        shape.title = Some(block.name.clone());
        shape.description = block.comment.clone();
        let mapped = block.attributes.iter().find(|attribute| attribute.name == "map");
        let collection = mapped.and_then(Attribute::string).unwrap_or_else(|| block.name.clone());
        draft.finish(&block.name, Some(collection), block.place, shape)
    }

    fn fields(&mut self, draft: &mut Draft, block: &'b Block, path: &str, into: &mut Shape) {
        for field in &block.fields {
            let mapped = field.attribute("map").and_then(Attribute::string);
            let name = mapped.unwrap_or_else(|| field.name.clone());
            let inner = join(path, &name);
            let target = self.types.get(field.kind.as_str()).copied();
            if let Some(target) = target.filter(|block| matches!(&*block.keyword, "model" | "view"))
            {
                let what = format!("relation to {}", target.name);
                draft.noted(&inner, what, "not stored in this collection", field.place);
                continue;
            }
            if !draft.can_name(path, &name, field.place) {
                continue;
            }
            draft.field(&inner, field.place);
            let mut shape = self.value(draft, field, target, &inner);
            shape.description = field.comment.clone();
            self.attributes(draft, field, &inner);
            if !field.optional && !field.list {
                into.require(&name);
            }
            into.set_property(&name, shape);
        }
    }

    fn value(
        &mut self,
        draft: &mut Draft,
        field: &'b Field,
        target: Option<&'b Block>,
        path: &str,
    ) -> Shape {
        let inner = if field.list { format!("{path}[]") } else { path.to_owned() };
        let one = match target {
            Some(block) if block.keyword == "enum" => {
                let values = block.fields.iter().map(|value| {
                    let mapped = value.attribute("map").and_then(Attribute::string);
                    Bson::from(mapped.unwrap_or_else(|| value.name.clone()))
                });
                let mut shape = Shape::of(&["string"]);
                shape.set_enum(values.collect());
                shape
            }
            Some(block) => draft.named(&block.name, &inner, field.place, |draft| {
                let mut shape = Shape::object();
                self.fields(draft, block, &inner, &mut shape);
                shape
            }),
            None => self.scalar(draft, field, &inner),
        };
        match (field.list, field.optional) {
            (true, _) => Shape::array(one),
            (false, true) => one.or_null(),
            (false, false) => one,
        }
    }

    fn scalar(&mut self, draft: &mut Draft, field: &'b Field, path: &str) -> Shape {
        let native =
            field.attributes.iter().find_map(|attribute| attribute.name.strip_prefix("db."));
        match (field.kind.as_str(), native) {
            (_, Some("ObjectId")) => Shape::of(&["objectId"]),
            (_, Some("Timestamp")) => Shape::of(&["timestamp"]),
            ("Int", Some("Long")) | ("BigInt", _) => Shape::of(&["long"]),
            ("Int", _) => Shape::of(&["int"]),
            ("String", _) => Shape::of(&["string"]),
            ("Boolean", _) => Shape::of(&["bool"]),
            ("Float", _) => Shape::of(&["double"]),
            ("DateTime", _) => Shape::of(&["date"]),
            ("Bytes", _) => Shape::of(&["binData"]),
            ("Json", _) => Shape::default(),
            ("Decimal", _) => {
                self.problem(field.place, "the MongoDB connector has no `Decimal`".to_owned());
                draft.loosened(
                    path,
                    "Decimal",
                    "the MongoDB connector does not support \
                 it",
                    field.place,
                );
                Shape::default()
            }
            ("Unsupported", _) => {
                draft.loosened(
                    path,
                    "Unsupported",
                    "a type that Prisma does not know",
                    field.place,
                );
                Shape::default()
            }
            (name, _) => {
                self.problem(field.place, format!("unknown type `{name}`"));
                draft.loosened(path, name, "not declared in this file", field.place);
                Shape::default()
            }
        }
    }

    fn attributes(&self, draft: &mut Draft, field: &Field, path: &str) {
        for attribute in &field.attributes {
            let why = match attribute.name.as_str() {
                "default" => "the server sets no default values",
                "updatedAt" => "set by the client",
                "unique" => {
                    let why = "needs a unique index, not a schema";
                    draft.loosened(path, attribute.text(), why, attribute.place);
                    continue;
                }
                _ => continue,
            };
            draft.noted(path, attribute.text(), why, attribute.place);
        }
    }

    fn problem(&mut self, Place { line, column }: Place, message: String) {
        self.problems.push(Problem { line, column, message });
    }
}
