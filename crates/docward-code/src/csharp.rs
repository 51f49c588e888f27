//! Reads classes, structs and records as the C# driver's serializers map them without further
//! configuration.
//!
//! Docward reads a class only if the file shows that the driver maps it:
//!
//! - an attribute of `MongoDB.Bson`
//! - a property of type `ObjectId`
//! - a collection of the class in the same file
//!
//! The driver writes every mapped member, including null. A convention that is registered elsewhere
//! may rename a member, so only members that name their element are required. The driver stores
//! `decimal` as a string up to version 2 and as a decimal from version 3 on, so both are accepted.

use std::collections::BTreeMap;

use docward_source::{
    Language,
    syntax::{Source, Walk, part, parts, quoted},
};
use tree_sitter::Node;

use crate::{
    Imported, Model, Place,
    draft::{Draft, join},
    escapes::unescaped,
    shape::{Rest, Shape},
};

const LISTS: [&str; 14] = [
    "List",
    "IList",
    "IEnumerable",
    "ICollection",
    "IReadOnlyList",
    "IReadOnlyCollection",
    "HashSet",
    "ISet",
    "SortedSet",
    "Collection",
    "ObservableCollection",
    "Queue",
    "Stack",
    "LinkedList",
];
const MAPS: [&str; 5] = [
    "Dictionary",
    "IDictionary",
    "IReadOnlyDictionary",
    "SortedDictionary",
    "ConcurrentDictionary",
];

pub(crate) fn read(text: &str) -> Imported {
    let source = match Source::parse(&Language::CSharp.grammar(), text) {
        Ok(source) => source,
        Err(problem) => return Imported { models: Vec::new(), problems: vec![problem] },
    };
    let reader = Reader::new(&source);
    Imported { models: reader.models(), problems: source.problems() }
}

struct Reader<'t> {
    source: &'t Source<'t>,
    classes: Vec<Class<'t>>,
    /// The enumerations: name and members.
    enums: BTreeMap<&'t str, Vec<&'t str>>,
    /// The collection of each document class. Empty if the name is computed.
    collections: BTreeMap<&'t str, &'t str>,
}

struct Class<'t> {
    name: &'t str,
    place: Place,
    attributes: Vec<Attribute<'t>>,
    bases: Vec<&'t str>,
    /// An abstract class has no documents; only its subclasses have.
    is_abstract: bool,
    fields: Vec<Field<'t>>,
}

struct Field<'t> {
    name: &'t str,
    place: Place,
    kind: Node<'t>,
    attributes: Vec<Attribute<'t>>,
}

struct Attribute<'t> {
    name: &'t str,
    text: &'t str,
    place: Place,
}

impl<'t> Attribute<'t> {
    /// Returns the first string literal among the arguments.
    fn literal(&self) -> Option<String> {
        let (_, rest) = self.text.split_once('"')?;
        rest.split_once('"').map(|(text, _)| unescaped(text, false))
    }
}

/// Whether a declaration has one of these modifiers.
fn has_modifier(source: &Source<'_>, node: Node<'_>, words: &[&str]) -> bool {
    parts(node)
        .into_iter()
        .filter(|part| part.kind() == "modifier")
        .any(|modifier| words.contains(&source.text_of(modifier)))
}

/// Returns the name of a type without its namespace and type arguments.
fn plain(text: &str) -> &str {
    let text = text.split(['<', '[', '?', '(']).next().unwrap_or(text);
    text.rsplit(['.', ':']).next().unwrap_or(text).trim()
}

impl<'t> Reader<'t> {
    fn new(source: &'t Source<'t>) -> Self {
        let mut reader = Self {
            source,
            classes: Vec::new(),
            enums: BTreeMap::new(),
            collections: BTreeMap::new(),
        };
        source.walk(source.root(), |node| {
            match node.kind() {
                "class_declaration" | "struct_declaration" | "record_declaration" => {
                    let class = reader.class(node);
                    reader.classes.extend(class);
                }
                "enum_declaration" => {
                    let name = node.child_by_field_name("name").map_or("", |n| source.text_of(n));
                    let body = node.child_by_field_name("body").map(parts).unwrap_or_default();
                    let members = body.into_iter().filter_map(|m| m.child_by_field_name("name"));
                    let members = members.map(|member| source.text_of(member)).collect();
                    reader.enums.entry(name).or_insert(members);
                }
                // `database.GetCollection<User>("users")`, `IMongoCollection<User>`.
                "generic_name" => reader.collection(node),
                "invocation_expression" => reader.named_collection(node),
                _ => {}
            }
            Walk::Into
        });
        reader
    }

    fn collection(&mut self, node: Node<'t>) {
        let text = self.source.text_of(node);
        let Some((name, argument)) = text.split_once('<') else { return };
        if matches!(name.trim(), "IMongoCollection" | "GetCollection") {
            let class = plain(argument.trim_end_matches('>'));
            self.collections.entry(class).or_insert("");
        }
    }

    fn named_collection(&mut self, node: Node<'t>) {
        let function = node.child_by_field_name("function");
        let text = function.map_or("", |function| self.source.text_of(function));
        // In a long method chain, only the last call counts.
        let Some(at) = text.rfind("GetCollection<") else { return };
        let class = text[at + "GetCollection<".len()..].strip_suffix('>');
        let Some(class) = class.filter(|class| !class.contains(['(', '\n'])).map(plain) else {
            return;
        };
        let arguments = node.child_by_field_name("arguments");
        let first = arguments.map_or("", |arguments| self.source.text_of(arguments));
        let name = first.trim_start_matches('(').trim_start().strip_prefix('"');
        if let Some((name, _)) = name.and_then(|rest| rest.split_once('"')) {
            self.collections.insert(class, name);
        }
    }

    fn attributes(&self, node: Node<'t>) -> Vec<Attribute<'t>> {
        let lists = parts(node).into_iter().filter(|part| part.kind() == "attribute_list");
        lists
            .flat_map(parts)
            .filter(|part| part.kind() == "attribute")
            .map(|attribute| {
                let name = attribute.child_by_field_name("name");
                let name = name.map_or("", |name| plain(self.source.text_of(name)));
                Attribute {
                    name: name.strip_suffix("Attribute").unwrap_or(name),
                    text: self.source.text_of(attribute),
                    place: self.source.place(attribute),
                }
            })
            .collect()
    }

    fn class(&self, node: Node<'t>) -> Option<Class<'t>> {
        let source = self.source;
        let name = node.child_by_field_name("name")?;
        let mut fields = Vec::new();
        // `record Order(string Id, decimal Total)`.
        if node.kind() == "record_declaration" {
            for parameter in part(node, "parameter_list").map(parts).unwrap_or_default() {
                if let Some(name) = parameter.child_by_field_name("name")
                    && let Some(kind) = parameter.child_by_field_name("type")
                {
                    fields.push(Field {
                        name: source.text_of(name),
                        place: source.place(name),
                        kind,
                        attributes: self.attributes(parameter),
                    });
                }
            }
        }
        for member in node.child_by_field_name("body").map(parts).unwrap_or_default() {
            if !has_modifier(source, member, &["public"])
                || has_modifier(source, member, &["static", "const"])
            {
                continue;
            }
            match member.kind() {
                "property_declaration" => fields.extend(self.property(member)),
                "field_declaration" => {
                    let Some(declaration) = part(member, "variable_declaration") else { continue };
                    let Some(kind) = declaration.child_by_field_name("type") else { continue };
                    for declarator in parts(declaration) {
                        let Some(name) = declarator.child_by_field_name("name") else { continue };
                        fields.push(Field {
                            name: source.text_of(name),
                            place: source.place(name),
                            kind,
                            attributes: self.attributes(member),
                        });
                    }
                }
                _ => {}
            }
        }
        let bases = part(node, "base_list").map(parts).unwrap_or_default();
        Some(Class {
            name: source.text_of(name),
            place: source.place(name),
            attributes: self.attributes(node),
            bases: bases.into_iter().map(|base| source.text_of(base)).collect(),
            is_abstract: has_modifier(source, node, &["abstract"]),
            fields,
        })
    }

    /// Returns a property that can be read and written. Computed properties are not stored.
    fn property(&self, node: Node<'t>) -> Option<Field<'t>> {
        let accessors = node.child_by_field_name("accessors")?;
        let words: Vec<&str> = parts(accessors)
            .into_iter()
            .filter_map(|accessor| accessor.child_by_field_name("name"))
            .map(|name| self.source.text_of(name))
            .collect();
        let attributes = self.attributes(node);
        let is_written = words.iter().any(|word| matches!(*word, "set" | "init"))
            || attributes.iter().any(|a| matches!(a.name, "BsonElement" | "BsonId"));
        let name = node.child_by_field_name("name")?;
        is_written.then_some(Field {
            name: self.source.text_of(name),
            place: self.source.place(name),
            kind: node.child_by_field_name("type")?,
            attributes,
        })
    }

    fn find(&self, name: &str) -> Option<&Class<'t>> {
        self.classes.iter().find(|class| class.name == name)
    }

    fn models(&self) -> Vec<Model> {
        let is_mapped = |class: &Class<'t>| {
            self.collections.contains_key(class.name)
                || self.is_marked(class)
                || class
                    .bases
                    .iter()
                    .filter_map(|base| self.find(plain(base)))
                    .any(|base| base.is_abstract && self.is_marked(base))
        };
        let mapped: Vec<&Class<'t>> =
            self.classes.iter().filter(|class| !class.is_abstract && is_mapped(class)).collect();
        mapped
            .into_iter()
            .map(|class| {
                let mut model = self.model(class);
                model.embedded = model.collection.is_none() && self.is_held(class.name);
                model
            })
            .collect()
    }

    /// Whether a class has an attribute or member that only the driver uses.
    fn is_marked(&self, class: &Class<'t>) -> bool {
        let is_bson = |attribute: &Attribute<'_>| attribute.name.starts_with("Bson");
        class.attributes.iter().any(is_bson)
            || class.fields.iter().any(|field| {
                field.attributes.iter().any(is_bson)
                    || plain(self.source.text_of(field.kind)) == "ObjectId"
            })
    }

    fn is_held(&self, name: &str) -> bool {
        self.classes.iter().filter(|class| class.name != name).any(|class| {
            class.fields.iter().any(|field| {
                let text = self.source.text_of(field.kind);
                text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == name)
            })
        })
    }

    fn model(&self, class: &Class<'t>) -> Model {
        let mut draft = Draft::default();
        let mut shape = self.shape(&mut draft, class, "", class.place);
        if !shape.has_property("_id") {
            shape.properties.insert(0, ("_id".to_owned(), Shape::of(&["objectId"])));
        }
        shape.title = Some(class.name.to_owned());
        let attribute = class.attributes.iter().find(|a| a.name.ends_with("Collection"));
        let named = attribute.and_then(Attribute::literal);
        let named =
            named.or_else(|| self.collections.get(class.name).map(|name| (*name).to_owned()));
        let collection = named.filter(|name| !name.is_empty());
        draft.finish(class.name, collection, class.place, shape)
    }

    fn shape(&self, draft: &mut Draft, class: &Class<'t>, path: &str, place: Place) -> Shape {
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
        for base in class.bases.iter().filter(|_| depth < 16) {
            let name = plain(base);
            let is_interface =
                name.starts_with('I') && name[1..].starts_with(|c: char| c.is_ascii_uppercase());
            match self.find(name).filter(|other| other.name != class.name) {
                Some(base) => self.members(draft, base, path, into, depth + 1),
                None if is_interface => {}
                None => {
                    let why = "its parent type is not declared in this file";
                    draft.loosened(path, quoted(base), why, class.place);
                }
            }
        }
        for field in &class.fields {
            self.field(draft, field, path, into);
        }
    }

    fn field(&self, draft: &mut Draft, field: &Field<'t>, path: &str, into: &mut Shape) {
        let attribute = |name: &str| field.attributes.iter().find(|a| a.name == name);
        if let Some(why) = attribute("BsonIgnore") {
            draft.noted(&join(path, field.name), quoted(why.text), "not stored", field.place);
            return;
        }
        if attribute("BsonExtraElements").is_some() {
            into.rest = Rest::Open;
            return;
        }
        let element = attribute("BsonElement").and_then(Attribute::literal);
        let is_id = attribute("BsonId").is_some()
            || element.is_none() && matches!(field.name, "Id" | "id" | "_id");
        let name = if is_id { "_id" } else { element.as_deref().unwrap_or(field.name) };
        if !draft.can_name(path, name, field.place) {
            return;
        }
        let inner = join(path, name);
        draft.field(&inner, field.place);
        let mut shape = match attribute("BsonSerializer") {
            Some(by) => {
                draft.loosened(&inner, quoted(by.text), "decided by code", by.place);
                Shape::default()
            }
            None => self.kind(draft, field.kind, &inner),
        };
        let represented = attribute("BsonRepresentation").and_then(|a| representation(a.text));
        if let Some(kind) = represented {
            shape = self.represented(shape, kind, field);
        }
        let is_left_out = ["BsonIgnoreIfNull", "BsonIgnoreIfDefault"]
            .iter()
            .any(|name| attribute(name).is_some());
        if element.is_some() && !is_left_out && !is_id {
            into.require(name);
        }
        into.set_property(name, shape);
    }

    /// Applies `BsonRepresentation`: the value is stored as another type. For lists, this holds for
    /// each element.
    fn represented(&self, shape: Shape, kind: &'static str, field: &Field<'t>) -> Shape {
        let null = shape.null;
        let text = self.source.text_of(field.kind);
        let name = plain(text);
        let mut one = Shape::of(&[kind]);
        let members = self.enums.get(name).filter(|_| kind == "string");
        if let Some(members) = members {
            one.set_enum(members.iter().map(|member| (*member).into()).collect());
        }
        if text.trim_end_matches('?').ends_with("[]") || LISTS.contains(&name) {
            one = Shape::array(one);
        }
        one.null = null;
        one
    }

    fn kind(&self, draft: &mut Draft, kind: Node<'t>, path: &str) -> Shape {
        let place = self.source.place(kind);
        draft.deeper(path, place, |draft| self.kind_inside(draft, kind, path))
    }

    fn kind_inside(&self, draft: &mut Draft, kind: Node<'t>, path: &str) -> Shape {
        let text = self.source.text_of(kind);
        let element = format!("{path}[]");
        match kind.kind() {
            "nullable_type" => match kind.child_by_field_name("type") {
                Some(inner) => self.kind(draft, inner, path).or_null(),
                None => Shape::default(),
            },
            "array_type" => {
                let Some(inner) = kind.child_by_field_name("type") else {
                    return Shape::default();
                };
                if self.source.text_of(inner) == "byte" {
                    return Shape::of(&["binData"]).or_null();
                }
                Shape::array(self.kind(draft, inner, &element)).or_null()
            }
            "generic_name" => {
                let base = plain(text);
                let arguments = part(kind, "type_argument_list").map(parts).unwrap_or_default();
                let mut argument = |at: usize, path: &str| {
                    let inner = arguments.get(at);
                    inner.map_or_else(Shape::default, |inner| self.kind(draft, *inner, path))
                };
                match base {
                    "Nullable" => argument(0, path).or_null(),
                    base if LISTS.contains(&base) => Shape::array(argument(0, &element)).or_null(),
                    base if MAPS.contains(&base) => {
                        let is_text = arguments
                            .first()
                            .is_some_and(|key| self.source.text_of(*key).ends_with("tring"));
                        // The driver stores a dictionary as an array of pairs if its keys are not
                        // strings.
                        match is_text {
                            true => Shape::map(argument(1, &join(path, "*"))).or_null(),
                            false => Shape::of(&["object", "array"]).or_null(),
                        }
                    }
                    name => self.named(draft, kind, name, path),
                }
            }
            "qualified_name" => match kind.child_by_field_name("name") {
                Some(name) => self.kind(draft, name, path),
                None => Shape::default(),
            },
            _ => self.named(draft, kind, plain(text), path),
        }
    }

    fn named(&self, draft: &mut Draft, kind: Node<'t>, name: &str, path: &str) -> Shape {
        let place = self.source.place(kind);
        if self.enums.contains_key(name) {
            return Shape::of(&["int", "long"]);
        }
        if let Some(class) = self.find(name) {
            return self.shape(draft, class, path, place).or_null();
        }
        match name {
            "string" | "String" | "Uri" | "Version" | "CultureInfo" => {
                Shape::of(&["string"]).or_null()
            }
            "TimeSpan" => Shape::of(&["string"]),
            "bool" | "Boolean" => Shape::of(&["bool"]),
            "byte" | "sbyte" | "short" | "ushort" | "int" | "uint" | "char" | "Byte" | "Int16"
            | "Int32" | "UInt16" | "UInt32" => Shape::of(&["int"]),
            "long" | "ulong" | "Int64" | "UInt64" | "TimeOnly" => Shape::of(&["long"]),
            "double" | "float" | "Double" | "Single" => Shape::of(&["double"]),
            "decimal" | "Decimal" => {
                let why = "a string up to version 2 of the driver, a decimal since version 3: \
                 both are accepted";
                draft.noted(path, name, why, place);
                Shape::of(&["decimal", "string"])
            }
            "Decimal128" | "BsonDecimal128" => Shape::of(&["decimal"]),
            "DateTime" | "DateOnly" | "BsonDateTime" => Shape::of(&["date"]),
            "DateTimeOffset" => Shape::of(&["array", "object", "date", "string"]),
            "Guid" => Shape::of(&["binData", "string"]),
            "ObjectId" | "BsonObjectId" => Shape::of(&["objectId"]),
            "BsonDocument" | "ExpandoObject" => Shape::object().or_null(),
            "BsonArray" => Shape::of(&["array"]).or_null(),
            "BsonTimestamp" => Shape::of(&["timestamp"]).or_null(),
            "object" | "Object" | "dynamic" | "BsonValue" => Shape::default(),
            name if LISTS.contains(&name) => Shape::of(&["array"]).or_null(),
            _ => {
                let what = quoted(self.source.text_of(kind));
                draft.loosened(path, what, "a type that is not declared in this file", place);
                Shape::default()
            }
        }
    }
}

/// Returns the server's name for a `BsonType`.
fn representation(attribute: &str) -> Option<&'static str> {
    let (_, rest) = attribute.split_once("BsonType.")?;
    let end = rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len());
    Some(match &rest[..end] {
        "ObjectId" => "objectId",
        "String" => "string",
        "Decimal128" => "decimal",
        "Double" => "double",
        "Int32" => "int",
        "Int64" => "long",
        "Boolean" => "bool",
        "DateTime" => "date",
        "Binary" => "binData",
        "Array" => "array",
        "Document" => "object",
        "Timestamp" => "timestamp",
        _ => return None,
    })
}
