//! Reads NestJS classes: `@Schema()` on a class, `@Prop()` on its fields, and types from their
//! annotations.

use tree_sitter::Node;

use crate::{
    Model, Place,
    draft::{Draft, is_nameable, join},
    shape::Shape,
};
use docward_source::syntax::{part, parts, quoted};

use super::{
    Reader,
    fields::{Field, NUMBER, insert},
    plural,
    script::bare,
};

impl<'t> Reader<'t> {
    /// Returns the models of classes with `@Schema()`.
    pub(super) fn decorated_classes(&self) -> Vec<Model> {
        let mut models = Vec::new();
        for (name, class) in &self.script.classes {
            let Some(decorator) = self.decorator(*class, "Schema") else { continue };
            let options = self.argument(decorator).filter(|node| node.kind() == "object");
            let embedded = self.is_held(name);
            let collection = options
                .and_then(|options| self.script.option(options, "collection"))
                .and_then(|value| self.script.literal(value))
                .and_then(|value| value.as_str().map(str::to_owned))
                .or_else(|| (!embedded).then(|| plural::collection(name)));
            let mut draft = Draft::default();
            let mut shape = self.class(&mut draft, *class, "", self.place(*class), true);
            shape.title = Some((*name).to_owned());
            let mut model = draft.finish(*name, collection, self.place(*class), shape);
            model.embedded = embedded;
            models.push(model);
        }
        models
    }

    /// Whether a field of another class has this type.
    fn is_held(&self, name: &str) -> bool {
        self.script.classes.iter().filter(|(other, _)| **other != name).any(|(_, class)| {
            self.props(*class).iter().any(|(_, _, field)| {
                let text = self.script.text(*field);
                // References also name the class that they refer to.
                !text.contains("ref:")
                    && text
                        .split(|c: char| !c.is_alphanumeric() && c != '_')
                        .any(|word| word == name || word.strip_suffix("Schema") == Some(name))
            })
        })
    }

    fn decorator(&self, node: Node<'t>, name: &str) -> Option<Node<'t>> {
        let mut found: Vec<Node<'t>> = Vec::new();
        for holder in [Some(node), self.script.exports.get(&node.id()).copied()] {
            let decorators = holder.map(parts).unwrap_or_default().into_iter();
            found.extend(decorators.filter(|part| part.kind() == "decorator"));
        }
        found.into_iter().find(|decorator| {
            let text = self.script.text(*decorator).trim_start_matches('@').trim_start();
            text.strip_prefix(name).is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
        })
    }

    fn argument(&self, decorator: Node<'t>) -> Option<Node<'t>> {
        let call = part(decorator, "call_expression")?;
        let first = parts(call.child_by_field_name("arguments")?).first().copied()?;
        Some(self.script.resolve(first))
    }

    /// Returns name, decorator and declaration of each field with `@Prop()`.
    fn props(&self, class: Node<'t>) -> Vec<(Node<'t>, Node<'t>, Node<'t>)> {
        let members = class.child_by_field_name("body").map(parts).unwrap_or_default();
        let fields = members.into_iter().filter(|member| {
            matches!(member.kind(), "public_field_definition" | "field_definition")
        });
        fields
            .filter_map(|field| {
                let name = field
                    .child_by_field_name("name")
                    .or_else(|| field.child_by_field_name("property"))?;
                Some((name, self.decorator(field, "Prop")?, field))
            })
            .collect()
    }

    /// Reads the documents of a class that is named at `place`.
    pub(super) fn class(
        &self,
        draft: &mut Draft,
        class: Node<'t>,
        path: &str,
        place: Place,
        top: bool,
    ) -> Shape {
        let name = class.child_by_field_name("name").map_or("", |name| self.script.text(name));
        draft.named(name, path, place, |draft| {
            let mut shape = Shape::object();
            let options = self
                .decorator(class, "Schema")
                .and_then(|decorator| self.argument(decorator))
                .filter(|node| node.kind() == "object")
                .map(|node| self.script.entries(node))
                .unwrap_or_default();
            let options: Vec<_> = options.into_iter().map(|e| (e.name, e.value)).collect();
            self.with_id(&mut shape, &options, top);
            for heritage in parts(class).into_iter().filter(|p| p.kind() == "class_heritage") {
                let what = self.script.text(heritage);
                let base = what.trim_start_matches("extends").trim();
                let known = self.script.classes.get(base).filter(|base| base.id() != class.id());
                match known {
                    Some(base) => self.props_into(draft, *base, path, &mut shape),
                    None if base.contains("Document") => {}
                    None => draft.loosened(
                        path,
                        quoted(what),
                        "declared in another file",
                        self.place(heritage),
                    ),
                }
            }
            self.props_into(draft, class, path, &mut shape);
            self.with_options_of_schema(draft, &mut shape, &options, path, top);
            self.open_to_kinds(draft, &mut shape, &options, path);
            shape
        })
    }

    fn props_into(&self, draft: &mut Draft, class: Node<'t>, path: &str, shape: &mut Shape) {
        for (name, decorator, field) in self.props(class) {
            let key = self.script.text(name);
            let inner = join(path, key);
            if !key.split('.').all(is_nameable) {
                draft.unnameable(path, key, self.place(name));
                continue;
            }
            draft.field(&inner, self.place(name));
            insert(shape, key, self.prop(draft, decorator, field, &inner));
        }
    }

    fn prop(&self, draft: &mut Draft, decorator: Node<'t>, field: Node<'t>, path: &str) -> Field {
        let argument = self.argument(decorator);
        match argument {
            Some(node) if node.kind() == "object" => {
                let kind = self.declared_type(node);
                let inferred = match kind {
                    Some(_) => None,
                    None => Some(self.annotated(draft, field, path)),
                };
                self.with_options(draft, kind, node, path, inferred)
            }
            Some(node) => {
                let shape = self.kind(draft, node, path).or_null();
                Field { shape, required: false }
            }
            None => Field { shape: self.annotated(draft, field, path).or_null(), required: false },
        }
    }

    /// Reads the type in the annotation of a field.
    fn annotated(&self, draft: &mut Draft, field: Node<'t>, path: &str) -> Shape {
        let annotation =
            field.child_by_field_name("type").and_then(|node| parts(node).first().copied());
        match annotation {
            Some(kind) => self.typed(draft, kind, path),
            None => Shape::default(),
        }
    }

    fn typed(&self, draft: &mut Draft, kind: Node<'t>, path: &str) -> Shape {
        let kind = bare(kind);
        let text = self.script.text(kind);
        match (kind.kind(), text) {
            (_, "string") => Shape::of(&["string"]),
            (_, "number") => Shape::of(&NUMBER),
            (_, "boolean") => Shape::of(&["bool"]),
            (_, "bigint") => Shape::of(&["long"]),
            (_, "any" | "unknown" | "object") => Shape::default(),
            ("array_type", _) => {
                let inner = format!("{path}[]");
                let each = parts(kind).first().copied();
                draft.deeper(path, self.place(kind), |draft| {
                    Shape::array(each.map_or_else(Shape::default, |each| {
                        self.typed(draft, each, &inner).or_null()
                    }))
                })
            }
            ("type_identifier" | "nested_type_identifier", _) => {
                let name = text.rsplit('.').next().unwrap_or_default();
                match name {
                    "Date" => Shape::of(&["date"]),
                    "ObjectId" => Shape::of(&["objectId"]),
                    "Buffer" => Shape::of(&["binData"]),
                    "Map" => Shape::object(),
                    _ => match self.script.classes.get(name) {
                        Some(class) => self.class(draft, *class, path, self.place(kind), false),
                        None => self.unknown(draft, kind, path),
                    },
                }
            }
            _ => self.unknown(draft, kind, path),
        }
    }

    fn unknown(&self, draft: &mut Draft, kind: Node<'t>, path: &str) -> Shape {
        let why = "a TypeScript type that does not determine the stored type, or from another file";
        draft.loosened(path, quoted(self.script.text(kind)), why, self.place(kind));
        Shape::default()
    }
}
