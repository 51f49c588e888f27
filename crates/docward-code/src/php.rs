//! Reads PHP classes: Doctrine ODM documents, by attributes or annotations, and Laravel models.
//!
//! Doctrine omits null fields unless a field has `nullable: true`. It writes integers in 32 or 64
//! bits, depending on their size. Laravel applies casts when a value is read, so a cast does not
//! tell the stored type. Numbers are accepted in every numeric type.

use docward_source::{
    Language,
    syntax::{Source, Walk, part, parts, quoted},
};
use tree_sitter::Node;

use crate::{
    Imported, Model, Place,
    draft::{Draft, join},
    escapes::unescaped,
    mongoose,
    shape::Shape,
};

pub(crate) fn read(text: &str) -> Imported {
    let source = match Source::parse(&Language::Php.grammar(), text) {
        Ok(source) => source,
        Err(problem) => return Imported { models: Vec::new(), problems: vec![problem] },
    };
    let reader = Reader::new(&source);
    Imported { models: reader.models(), problems: source.problems() }
}

struct Reader<'t> {
    source: &'t Source<'t>,
    classes: Vec<Class<'t>>,
    /// Whether a base class with the name `Model` is Laravel's class for MongoDB.
    has_laravel: bool,
}

struct Class<'t> {
    name: &'t str,
    place: Place,
    base: Option<&'t str>,
    /// The attributes of the class, and the annotations in its comment.
    marks: Vec<Mark<'t>>,
    fields: Vec<Field<'t>>,
    /// Members with a value: `$casts`, `$collection`, and the return value of the method `casts`.
    values: Vec<(&'t str, Node<'t>)>,
}

struct Field<'t> {
    name: &'t str,
    place: Place,
    /// The PHP type.
    kind: &'t str,
    marks: Vec<Mark<'t>>,
}

/// An attribute `#[ODM\Field(type: 'float')]`, or the annotation `@ODM\Field(type="float")`.
struct Mark<'t> {
    name: &'t str,
    text: &'t str,
    place: Place,
}

impl<'t> Mark<'t> {
    /// Returns an argument by name: `type: 'float'`, `type="float"`, `targetDocument: Item::class`.
    fn argument(&self, key: &str) -> Option<&'t str> {
        let (_, inside) = self.text.split_once('(')?;
        inside.match_indices(key).find_map(|(at, _)| {
            let before = inside[..at].trim_end();
            let rest = inside[at + key.len()..].trim_start().strip_prefix([':', '='])?;
            if !before.is_empty() && !before.ends_with([',', '(', '*']) {
                return None;
            }
            let end = rest.find([',', ')']).unwrap_or(rest.len());
            let value = rest[..end].trim().trim_matches(['"', '\'']);
            Some(value.trim_end_matches("::class"))
        })
    }

    fn is_true(&self, key: &str) -> bool {
        self.argument(key).is_some_and(|value| value.eq_ignore_ascii_case("true"))
    }
}

/// Returns the last part of a qualified name.
fn last(text: &str) -> &str {
    text.rsplit('\\').next().unwrap_or(text)
}

/// Returns the field type that a constant of `Types` denotes, or the name itself.
fn type_name(text: &str) -> String {
    last(text.rsplit("::").next().unwrap_or(text)).to_ascii_lowercase()
}

impl<'t> Reader<'t> {
    fn new(source: &'t Source<'t>) -> Self {
        let text = source.text.to_ascii_lowercase();
        let has_laravel = ["mongodb\\laravel", "mongodb\\eloquent", "mongodb\\auth", "moloquent"]
            .iter()
            .any(|name| text.contains(name));
        let mut reader = Self { source, classes: Vec::new(), has_laravel };
        // Comments precede the declaration that they describe.
        let mut comment: Option<Node<'t>> = None;
        source.walk(source.root(), |node| {
            match node.kind() {
                "comment" => comment = Some(node),
                "class_declaration" => {
                    let class = reader.class(node, comment.take());
                    reader.classes.extend(class);
                }
                "expression_statement" | "method_declaration" => comment = None,
                _ => {}
            }
            Walk::Into
        });
        reader
    }

    fn marks(&self, node: Node<'t>, comment: Option<Node<'t>>) -> Vec<Mark<'t>> {
        let source = self.source;
        let mut marks = Vec::new();
        let list = node.child_by_field_name("attributes");
        for attribute in list.map(parts).unwrap_or_default().into_iter().flat_map(parts) {
            let name = parts(attribute).first().map_or("", |name| source.text_of(*name));
            marks.push(Mark {
                name: last(name),
                text: source.text_of(attribute),
                place: source.place(attribute),
            });
        }
        let Some(comment) = comment else { return marks };
        let text = source.text_of(comment);
        for (at, _) in text.match_indices('@') {
            let rest = &text[at + 1..];
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '\\').unwrap_or(rest.len());
            let name = &rest[..end];
            let has_arguments = rest[end..].starts_with('(');
            let is_odm = name.contains('\\') || has_arguments || name == "Document" || name == "Id";
            if !is_odm || name.is_empty() {
                continue;
            }
            let end = match has_arguments {
                true => rest.find(')').map_or(rest.len(), |close| close + 1),
                false => end,
            };
            marks.push(Mark { name: last(name), text: &rest[..end], place: source.place(comment) });
        }
        marks
    }

    fn class(&self, node: Node<'t>, comment: Option<Node<'t>>) -> Option<Class<'t>> {
        let source = self.source;
        let name = node.child_by_field_name("name")?;
        let base = part(node, "base_clause").and_then(|clause| parts(clause).first().copied());
        let mut class = Class {
            name: source.text_of(name),
            place: source.place(name),
            base: base.map(|base| last(source.text_of(base))),
            marks: self.marks(node, comment),
            fields: Vec::new(),
            values: Vec::new(),
        };
        let body = node.child_by_field_name("body")?;
        let mut cursor = body.walk();
        let mut before: Option<Node<'t>> = None;
        for member in body.named_children(&mut cursor) {
            match member.kind() {
                "comment" => {
                    before = Some(member);
                    continue;
                }
                "property_declaration" => self.properties(member, before, &mut class),
                "method_declaration" => self.method(member, &mut class),
                _ => {}
            }
            before = None;
        }
        Some(class)
    }

    fn properties(&self, member: Node<'t>, comment: Option<Node<'t>>, class: &mut Class<'t>) {
        let source = self.source;
        for element in parts(member).into_iter().filter(|p| p.kind() == "property_element") {
            let Some(name) = element.child_by_field_name("name") else { continue };
            let plain = source.text_of(name).trim_start_matches('$');
            if let Some(value) = element.child_by_field_name("default_value") {
                class.values.push((plain, value));
            }
            class.fields.push(Field {
                name: plain,
                place: source.place(name),
                kind: member.child_by_field_name("type").map_or("", |kind| source.text_of(kind)),
                marks: self.marks(member, comment),
            });
        }
    }

    /// Reads promoted constructor parameters, which are properties, and `casts()`, which returns
    /// the same as `$casts`.
    fn method(&self, member: Node<'t>, class: &mut Class<'t>) {
        let source = self.source;
        let name = member.child_by_field_name("name").map_or("", |name| source.text_of(name));
        if name == "casts" {
            source.walk(member, |node| {
                if node.kind() == "return_statement" {
                    class.values.extend(parts(node).first().map(|value| ("casts", *value)));
                    return Walk::Past;
                }
                Walk::Into
            });
        }
        if name != "__construct" {
            return;
        }
        for parameter in member.child_by_field_name("parameters").map(parts).unwrap_or_default() {
            if parameter.kind() != "property_promotion_parameter" {
                continue;
            }
            let Some(name) = parameter.child_by_field_name("name") else { continue };
            class.fields.push(Field {
                name: source.text_of(name).trim_start_matches('$'),
                place: source.place(name),
                kind: parameter.child_by_field_name("type").map_or("", |kind| source.text_of(kind)),
                marks: self.marks(parameter, None),
            });
        }
    }

    fn find(&self, name: &str) -> Option<&Class<'t>> {
        self.classes.iter().find(|class| class.name == name)
    }

    fn models(&self) -> Vec<Model> {
        let mut models = Vec::new();
        for class in &self.classes {
            let mark = |names: &[&str]| class.marks.iter().find(|m| names.contains(&m.name));
            let odm =
                mark(&["Document", "EmbeddedDocument", "MappedSuperclass", "QueryResultDocument"]);
            let is_odm = odm.is_some() && self.source.text.contains("Doctrine\\ODM");
            // A mapped superclass has no documents.
            let of_documents = ["Document", "EmbeddedDocument"];
            if is_odm && let Some(odm) = odm.filter(|odm| of_documents.contains(&odm.name)) {
                let mut draft = Draft::default();
                let shape = self.document(&mut draft, class, "", class.place);
                let named = odm.argument("collection").map(str::to_owned);
                let collection = (odm.name == "Document")
                    .then(|| named.unwrap_or_else(|| class.name.to_owned()));
                let mut model = finished(draft, class, collection, shape);
                model.embedded = odm.name != "Document";
                models.push(model);
            } else if self.has_laravel && self.is_laravel(class, 0) {
                models.push(self.laravel(class));
            }
        }
        models
    }

    /// Whether a class extends Laravel's model, directly or through other classes of this file.
    fn is_laravel(&self, class: &Class<'t>, depth: usize) -> bool {
        match class.base {
            Some(base) if base == class.name || depth > 16 => false,
            Some(base) => match self.find(base) {
                Some(base) => self.is_laravel(base, depth + 1),
                None => {
                    ["Model", "Eloquent", "Moloquent", "User", "Authenticatable"].contains(&base)
                }
            },
            None => false,
        }
    }

    fn document(&self, draft: &mut Draft, class: &Class<'t>, path: &str, place: Place) -> Shape {
        draft.named(class.name, path, place, |draft| {
            let mut shape = Shape::object();
            self.members(draft, class, path, &mut shape, 0);
            shape
        })
    }

    fn members(
        &self,
        draft: &mut Draft,
        class: &Class<'t>,
        path: &str,
        into: &mut Shape,
        depth: usize,
    ) {
        if let Some(base) = class.base.filter(|_| depth < 16) {
            match self.find(base).filter(|other| other.name != class.name) {
                Some(base) => self.members(draft, base, path, into, depth + 1),
                None => {
                    let why = "its parent type is not declared in this file";
                    draft.loosened(path, base, why, class.place);
                }
            }
        }
        for field in &class.fields {
            self.field(draft, field, path, into);
        }
    }

    fn field(&self, draft: &mut Draft, field: &Field<'t>, path: &str, into: &mut Shape) {
        const KNOWN: [&str; 10] = [
            "Field",
            "Id",
            "Version",
            "EmbedOne",
            "EmbedMany",
            "ReferenceOne",
            "ReferenceMany",
            "File",
            "Lock",
            "Index",
        ];
        let marks = || field.marks.iter().filter(|mark| KNOWN.contains(&mark.name));
        // An index attribute does not contain the type of its field.
        let mark = marks().find(|mark| mark.name != "Index" && mark.name != "Version");
        let Some(mark) = mark.or_else(|| marks().find(|mark| mark.name == "Version")) else {
            return;
        };
        let is_id = mark.name == "Id";
        // PHP has escapes only in double quotes. Field names contain no backslash, so all strings are read alike.
        let given = mark.argument("name").map(|name| unescaped(name, true));
        let name = if is_id { "_id" } else { given.as_deref().unwrap_or(field.name) };
        if mark.is_true("notSaved") {
            draft.noted(&join(path, name), quoted(mark.text), "not stored", field.place);
            return;
        }
        if !draft.can_name(path, name, field.place) {
            return;
        }
        let inner = join(path, name);
        draft.field(&inner, field.place);
        let mut shape = match mark.name {
            "Id" => match mark.argument("strategy").map(str::to_ascii_uppercase).as_deref() {
                None | Some("AUTO") => Shape::of(&["objectId"]),
                Some("INCREMENT") => Shape::of(&["int", "long"]),
                Some("UUID") => Shape::of(&["string", "binData"]),
                _ => Shape::default(),
            },
            "EmbedOne" => self.target(draft, mark, &inner),
            "EmbedMany" => Shape::array(self.target(draft, mark, &format!("{inner}[]"))),
            "ReferenceOne" | "ReferenceMany" => {
                let why = "its target is not looked up";
                draft.noted(&inner, quoted(mark.text), why, mark.place);
                let one = match mark.argument("storeAs") {
                    Some("id") => Shape::default(),
                    Some("ref") => Shape::object(),
                    _ => Shape::db_ref(),
                };
                if mark.name == "ReferenceOne" { one } else { Shape::array(one) }
            }
            _ => self.kind(draft, field, mark, &inner),
        };
        shape.null |= mark.is_true("nullable");
        into.set_property(name, shape);
    }

    fn target(&self, draft: &mut Draft, mark: &Mark<'t>, path: &str) -> Shape {
        let target = last(mark.argument("targetDocument").unwrap_or_default());
        match self.find(target) {
            Some(class) => draft
                .deeper(path, mark.place, |draft| self.document(draft, class, path, mark.place)),
            None => {
                let why = "a document that is not declared in this file";
                draft.loosened(path, quoted(mark.text), why, mark.place);
                Shape::object()
            }
        }
    }

    /// Returns the type of a field: the type in the attribute, or the PHP type.
    fn kind(&self, draft: &mut Draft, field: &Field<'t>, mark: &Mark<'t>, path: &str) -> Shape {
        let given = mark.argument("type").map(type_name);
        let declared = field.kind.trim_start_matches('?');
        let name = given.unwrap_or_else(|| match last(declared) {
            "array" => "hash".to_owned(),
            "DateTime" | "DateTimeImmutable" | "DateTimeInterface" => "date".to_owned(),
            other => other.to_ascii_lowercase(),
        });
        match name.as_str() {
            "string" => Shape::of(&["string"]),
            "int" | "integer" => Shape::of(&["int", "long"]),
            "int64" => Shape::of(&["long"]),
            "float" => Shape::of(&["double"]),
            "bool" | "boolean" => Shape::of(&["bool"]),
            "date" | "date_immutable" => Shape::of(&["date"]),
            "timestamp" => Shape::of(&["timestamp"]),
            "decimal128" => Shape::of(&["decimal"]),
            "hash" => Shape::of(&["object", "array"]),
            "collection" => Shape::of(&["array"]),
            "object_id" | "objectid" | "id" => Shape::of(&["objectId"]),
            "raw" | "mixed" | "" => Shape::default(),
            name if name.starts_with("bin") => Shape::of(&["binData"]),
            _ => {
                let why = "an unknown type";
                draft.loosened(path, quoted(mark.text), why, mark.place);
                Shape::default()
            }
        }
    }

    fn laravel(&self, class: &Class<'t>) -> Model {
        let mut draft = Draft::default();
        let mut shape = Shape::object();
        for (_, casts) in class.values.iter().filter(|(name, _)| *name == "casts") {
            for element in parts(*casts) {
                let held = parts(element);
                let [key, value] = held.as_slice() else { continue };
                let name = self.source.text_of(*key).trim_matches(['\'', '"']);
                let place = self.source.place(*key);
                // A cast may have a path into a document. Only casts of top-level fields are
                // translated.
                if name.contains('.') || name == "id" || name == "_id" {
                    continue;
                }
                if !draft.can_name("", name, place) {
                    continue;
                }
                draft.field(name, place);
                let cast = self.source.text_of(*value).trim_matches(['\'', '"']);
                let one = self.cast(&mut draft, cast, name, place);
                shape.set_property(name, one.or_null());
            }
        }
        let named = class.values.iter().find(|(name, _)| matches!(*name, "collection" | "table"));
        let named = named.filter(|(_, value)| value.kind().ends_with("string"));
        let named = named.map(|(_, value)| self.source.text_of(*value).trim_matches(['\'', '"']));
        let collection = named.map_or_else(|| plural(class.name), str::to_owned);
        finished(draft, class, Some(collection), shape)
    }

    /// Returns the types that a cast accepts.
    fn cast(&self, draft: &mut Draft, cast: &str, path: &str, place: Place) -> Shape {
        let name = cast.split(':').next().unwrap_or(cast);
        match name.to_ascii_lowercase().as_str() {
            "int" | "integer" => Shape::of(&["int", "long"]),
            "real" | "float" | "double" => Shape::of(&["double", "int", "long"]),
            "decimal" => Shape::of(&["decimal", "string"]),
            "string" | "hashed" => Shape::of(&["string"]),
            "bool" | "boolean" => Shape::of(&["bool"]),
            "date" | "datetime" | "immutable_date" | "immutable_datetime" => {
                Shape::of(&["date", "string"])
            }
            "timestamp" => Shape::of(&["date", "int", "long"]),
            "array" | "json" | "object" | "collection" => Shape::of(&["array", "object", "string"]),
            name if name.starts_with("encrypted") => Shape::of(&["string"]),
            _ => {
                draft.loosened(path, quoted(cast), "decided by code", place);
                Shape::default()
            }
        }
    }
}

fn finished(
    draft: Draft,
    class: &Class<'_>,
    collection: Option<String>,
    mut shape: Shape,
) -> Model {
    if !shape.has_property("_id") {
        shape.properties.insert(0, ("_id".to_owned(), Shape::of(&["objectId"])));
    }
    shape.title = Some(class.name.to_owned());
    draft.finish(class.name, collection, class.place, shape)
}

/// Returns the default collection of a Laravel model: `order_items` for `OrderItem`.
fn plural(class: &str) -> String {
    let mut words = String::new();
    for (at, letter) in class.char_indices() {
        if letter.is_uppercase() && at > 0 {
            words.push('_');
        }
        words.extend(letter.to_lowercase());
    }
    match words.rsplit_once('_') {
        Some((first, last)) => format!("{first}_{}", mongoose::plural_name(last)),
        None => mongoose::plural_name(&words),
    }
}
