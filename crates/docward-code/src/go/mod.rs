//! Reads Go structs with `bson` tags as the official driver writes them.
//!
//! The driver always writes a field without `omitempty`, so the field is required. It writes nil
//! pointers, slices, maps and interfaces as null, or omits them with `omitempty`. Any struct may be
//! a separate document. [`crate::Model::embedded`] marks structs that other structs contain.

mod tags;
mod validator;

use std::collections::{BTreeMap, BTreeSet};

use tree_sitter::Node;

use crate::{
    Imported, Model, Place,
    draft::{Draft, join},
    escapes::unescaped,
    shape::{Rest, Shape},
};
use docward_source::{
    Language,
    syntax::{Source, Walk, part, parts, quoted},
};
use tags::Tag;

pub(crate) fn read(text: &str) -> Imported {
    let source = match Source::parse(&Language::Go.grammar(), text) {
        Ok(source) => source,
        Err(problem) => return Imported { models: Vec::new(), problems: vec![problem] },
    };
    let reader = Reader::new(&source);
    Imported { models: reader.models(), problems: source.problems() }
}

struct Reader<'t> {
    source: &'t Source<'t>,
    /// The declared types: name and definition.
    types: BTreeMap<&'t str, Node<'t>>,
    /// The names in order of declaration.
    names: Vec<(&'t str, Place)>,
    /// Types with their own marshalling method.
    custom: BTreeSet<&'t str>,
}

/// The content of a field's tags: everything but its type.
struct Written {
    name: String,
    omit_empty: bool,
    min_size: bool,
}

impl<'t> Reader<'t> {
    fn new(source: &'t Source<'t>) -> Self {
        let mut reader =
            Self { source, types: BTreeMap::new(), names: Vec::new(), custom: BTreeSet::new() };
        source.walk(source.root(), |node| {
            match node.kind() {
                "type_spec" | "type_alias" => {
                    let name = node.child_by_field_name("name");
                    let kind = node.child_by_field_name("type");
                    if let (Some(name), Some(kind)) = (name, kind) {
                        let text = source.text_of(name);
                        if reader.types.insert(text, kind).is_none() {
                            reader.names.push((text, source.place(name)));
                        }
                    }
                }
                "method_declaration" => {
                    let name = node.child_by_field_name("name").map_or("", |n| source.text_of(n));
                    if matches!(name, "MarshalBSON" | "MarshalBSONValue")
                        && let Some(receiver) = node.child_by_field_name("receiver")
                    {
                        let text = source.text_of(receiver).trim_matches(['(', ')']);
                        let owner = text.rsplit([' ', '*']).next().unwrap_or_default();
                        reader.custom.insert(owner);
                    }
                }
                _ => {}
            }
            Walk::Into
        });
        reader
    }

    fn models(&self) -> Vec<Model> {
        let held = self.held();
        let structs = self.names.iter().filter(|(name, _)| self.structure(name).is_some());
        // If some structs have `bson` tags, the others are not stored.
        let tagged: Vec<_> = structs
            .clone()
            .filter(|(name, _)| {
                self.types
                    .get(name)
                    .is_some_and(|kind| self.source.text_of(*kind).contains("bson:\""))
            })
            .collect();
        let chosen: Vec<_> = if tagged.is_empty() { structs.collect() } else { tagged };
        let models = chosen.into_iter().map(|(name, place)| {
            let mut draft = Draft::default();
            let mut shape = self.named(&mut draft, name, "", *place);
            if !shape.has_property("_id") {
                shape.properties.insert(0, ("_id".to_owned(), Shape::of(&["objectId"])));
            }
            shape.title = Some((*name).to_owned());
            let mut model = draft.finish(*name, None, *place, shape);
            model.embedded = held.contains(name);
            model
        });
        models.collect()
    }

    fn structure(&self, name: &str) -> Option<Node<'t>> {
        self.types.get(name).copied().filter(|kind| kind.kind() == "struct_type")
    }

    /// Returns the names of types that structs contain.
    fn held(&self) -> BTreeSet<&'t str> {
        let mut held = BTreeSet::new();
        for (owner, kind) in &self.types {
            self.source.walk(*kind, |node| {
                if node.kind() == "type_identifier" {
                    let name = self.source.text_of(node);
                    if name != *owner {
                        held.insert(name);
                    }
                }
                Walk::Into
            });
        }
        held
    }

    fn named(&self, draft: &mut Draft, name: &'t str, path: &str, place: Place) -> Shape {
        if self.custom.contains(name) {
            draft.loosened(path, name, "it has its own encoder", place);
            return Shape::default();
        }
        let Some(kind) = self.types.get(name).copied() else {
            draft.loosened(path, name, "a type that is not declared in this file", place);
            return Shape::default();
        };
        draft.named(name, path, place, |draft| match kind.kind() {
            "struct_type" => self.fields_of(draft, kind, path),
            _ => self.kind(draft, kind, path, false),
        })
    }

    fn fields_of(&self, draft: &mut Draft, structure: Node<'t>, path: &str) -> Shape {
        let mut shape = Shape::object();
        let fields = part(structure, "field_declaration_list").map(parts).unwrap_or_default();
        for field in fields.into_iter().filter(|field| field.kind() == "field_declaration") {
            self.field(draft, field, path, &mut shape);
        }
        shape
    }

    fn field(&self, draft: &mut Draft, field: Node<'t>, path: &str, into: &mut Shape) {
        let Some(kind) = field.child_by_field_name("type") else { return };
        let tag = field.child_by_field_name("tag").map_or("", |tag| self.source.text_of(tag));
        let tag = Tag::read(tag);
        let mut cursor = field.walk();
        let mut names: Vec<Node<'t>> = field.children_by_field_name("name", &mut cursor).collect();
        if names.is_empty() {
            names.push(kind);
        }
        for node in names {
            let full = self.source.text_of(node).trim_start_matches('*');
            let name = full.rsplit('.').next().unwrap_or_default();
            // The driver sees only exported fields and embedded structs.
            let exported = name.chars().next().is_some_and(char::is_uppercase);
            if !exported && node.id() != kind.id() || tag.bson == Some("-") {
                continue;
            }
            let place = self.source.place(node);
            let mut options = tag.bson.unwrap_or_default().split(',');
            let given = options.next().filter(|given| !given.is_empty());
            let options: Vec<&str> = options.collect();
            if options.contains(&"inline") {
                self.inline(draft, kind, path, into, place);
                continue;
            }
            let written = Written {
                name: given.map_or_else(|| name.to_lowercase(), |given| unescaped(given, false)),
                omit_empty: options.contains(&"omitempty"),
                min_size: options.contains(&"minsize"),
            };
            if !draft.can_name(path, &written.name, place) {
                continue;
            }
            let inner = join(path, &written.name);
            draft.field(&inner, place);
            let checked = self.is_looked_into(kind, tag.validate);
            let mut shape = draft
                .looked_into(checked, |draft| self.kind(draft, kind, &inner, written.min_size));
            if self.is_nil_as_null(kind) && !written.omit_empty {
                shape.null = true;
            }
            let mut required = !written.omit_empty;
            if let Some(rules) = tag.validate.filter(|rules| draft.is_checked() && *rules != "-") {
                let outcome =
                    validator::apply(draft, &mut shape, rules, &inner, place, written.omit_empty);
                required |= outcome;
            }
            if written.name == "_id" {
                shape.null = false;
            }
            if required {
                into.require(&written.name);
            }
            into.set_property(&written.name, shape);
        }
    }

    /// Whether the validator descends into a field. It descends into structs unless a rule excludes
    /// them, and into elements of lists and maps only with `dive`.
    fn is_looked_into(&self, kind: Node<'t>, rules: Option<&str>) -> bool {
        let mut rules = rules.unwrap_or_default().split(',');
        match kind.kind() {
            "slice_type" | "array_type" | "map_type" => rules.any(|rule| rule == "dive"),
            "pointer_type" => match parts(kind).first() {
                Some(inner) => {
                    self.is_looked_into(*inner, Some(&rules.collect::<Vec<_>>().join(",")))
                }
                None => true,
            },
            _ => !rules.any(|rule| matches!(rule, "-" | "structonly")),
        }
    }

    /// Reads an inline struct, whose fields belong to the outer struct, or an inline map, which
    /// holds all other fields.
    fn inline(
        &self,
        draft: &mut Draft,
        kind: Node<'t>,
        path: &str,
        into: &mut Shape,
        place: Place,
    ) {
        let shape = self.kind(draft, kind, path, false);
        if shape.properties.is_empty() {
            if let Rest::Like(_) = shape.rest {
                into.rest = shape.rest;
            } else if !shape.is("object") {
                let what = quoted(self.source.text_of(kind));
                draft.loosened(path, what, "its parent type is not declared in this file", place);
            }
            return;
        }
        for (name, inner) in shape.properties {
            into.set_property(&name, inner);
        }
        for name in shape.required {
            into.require(&name);
        }
    }

    fn kind(&self, draft: &mut Draft, kind: Node<'t>, path: &str, min_size: bool) -> Shape {
        let place = self.source.place(kind);
        draft.deeper(path, place, |draft| self.kind_inside(draft, kind, path, min_size, place))
    }

    fn kind_inside(
        &self,
        draft: &mut Draft,
        kind: Node<'t>,
        path: &str,
        min_size: bool,
        place: Place,
    ) -> Shape {
        let text = self.source.text_of(kind);
        let element = || format!("{path}[]");
        match kind.kind() {
            "pointer_type" | "parenthesized_type" => match parts(kind).first() {
                Some(inner) => self.kind(draft, *inner, path, min_size),
                None => Shape::default(),
            },
            "slice_type" | "array_type" => {
                let Some(inner) = kind.child_by_field_name("element") else {
                    return Shape::default();
                };
                if matches!(self.source.text_of(inner), "byte" | "uint8") {
                    return Shape::of(&["binData"]);
                }
                let mut each = self.kind(draft, inner, &element(), min_size);
                each.null |= self.is_nil_as_null(inner);
                let mut shape = Shape::array(each);
                let length = kind.child_by_field_name("length").map(|n| self.source.text_of(n));
                if let Some(length) = length.and_then(|length| length.parse().ok()) {
                    shape.min_items = Some(length);
                    shape.max_items = Some(length);
                }
                shape
            }
            "map_type" => {
                let Some(inner) = kind.child_by_field_name("value") else {
                    return Shape::default();
                };
                let mut values = self.kind(draft, inner, &join(path, "*"), min_size);
                values.null |= self.is_nil_as_null(inner);
                Shape::map(values)
            }
            "struct_type" => self.fields_of(draft, kind, path),
            "interface_type" => Shape::default(),
            "qualified_type" => self.qualified(draft, text, path, place),
            "type_identifier" => match text {
                _ if self.types.contains_key(text) => self.named(draft, text, path, place),
                "string" => Shape::of(&["string"]),
                "bool" => Shape::of(&["bool"]),
                "int8" | "int16" | "int32" | "uint8" | "uint16" | "byte" | "rune" => {
                    Shape::of(&["int"])
                }
                // The driver writes `int` in the narrowest type that holds it. It does so for other
                // types only with `minsize`.
                "int" | "uint" | "uint32" | "uint64" => Shape::of(&["int", "long"]),
                "int64" if min_size => Shape::of(&["int", "long"]),
                "int64" => Shape::of(&["long"]),
                "float32" | "float64" => Shape::of(&["double"]),
                "any" => Shape::default(),
                _ => self.named(draft, text, path, place),
            },
            "generic_type" => match kind.child_by_field_name("type") {
                Some(base) => self.kind(draft, base, path, min_size),
                None => Shape::default(),
            },
            _ => {
                draft.loosened(path, quoted(text), "a type that is not stored", place);
                Shape::default()
            }
        }
    }

    /// Whether the driver writes the zero value of a type as null.
    fn is_nil_as_null(&self, kind: Node<'t>) -> bool {
        const LISTS_AND_MAPS: [&str; 6] =
            ["bson.M", "bson.D", "bson.A", "primitive.M", "primitive.D", "primitive.A"];
        matches!(kind.kind(), "pointer_type" | "slice_type" | "map_type" | "interface_type")
            || LISTS_AND_MAPS.contains(&self.source.text_of(kind))
    }

    fn qualified(&self, draft: &mut Draft, text: &str, path: &str, place: Place) -> Shape {
        match text {
            "time.Time" | "primitive.DateTime" | "bson.DateTime" => Shape::of(&["date"]),
            "time.Duration" => Shape::of(&["long"]),
            "primitive.ObjectID" | "bson.ObjectID" | "bson.ObjectId" => Shape::of(&["objectId"]),
            "primitive.Decimal128" | "bson.Decimal128" => Shape::of(&["decimal"]),
            "primitive.Timestamp" | "bson.Timestamp" => Shape::of(&["timestamp"]),
            "primitive.Binary" | "bson.Binary" | "uuid.UUID" => Shape::of(&["binData"]),
            "primitive.Regex" | "bson.Regex" => Shape::of(&["regex"]),
            "primitive.Symbol" | "bson.Symbol" => Shape::of(&["symbol"]),
            "primitive.JavaScript" | "bson.JavaScript" => Shape::of(&["javascript"]),
            "primitive.M" | "primitive.D" | "bson.M" | "bson.D" | "bson.Raw"
            | "primitive.DBRef" | "bson.DBPointer" => Shape::object(),
            "primitive.A" | "bson.A" => Shape::of(&["array"]),
            "bson.RawValue" => Shape::default(),
            // The driver writes the number in the string, which may be an integer or not.
            "json.Number" => Shape::of(&["int", "long", "double"]),
            "url.URL" => Shape::of(&["string"]),
            _ => {
                draft.loosened(path, text, "a type that is not declared in this file", place);
                Shape::default()
            }
        }
    }
}
