//! Reads Java classes and records for Spring Data MongoDB.
//!
//! Spring Data writes null only for a field with `write = ALWAYS`, so optional fields are absent
//! instead. It always writes primitives, so these are required. It stores an `_id` of type `String`
//! as an ObjectId if the value has the form of one, so both types are accepted. `BigDecimal` and
//! `BigInteger` are strings by default up to version 4. An application can configure decimals, so
//! both types are accepted unless `targetType` decides.

mod java;
mod validation;

use tree_sitter::Node;

use crate::{
    Imported, Model, Place,
    draft::{Draft, join},
    shape::Shape,
};
use docward_source::{
    Language,
    syntax::{Source, parts, quoted},
};
use java::{Annotation, Class, Field, Java};

/// Base classes that add no fields to documents.
const PLAIN_BASES: [&str; 2] = ["Object", "AbstractAggregateRoot"];

const LISTS: [&str; 9] = [
    "List",
    "Collection",
    "Iterable",
    "ArrayList",
    "LinkedList",
    "Queue",
    "Deque",
    "ArrayDeque",
    "Streamable",
];
const SETS: [&str; 6] = ["Set", "HashSet", "LinkedHashSet", "SortedSet", "TreeSet", "EnumSet"];
const MAPS: [&str; 7] =
    ["Map", "HashMap", "LinkedHashMap", "TreeMap", "SortedMap", "EnumMap", "ConcurrentHashMap"];

pub(crate) fn read(text: &str) -> Imported {
    let source = match Source::parse(&Language::Java.grammar(), text) {
        Ok(source) => source,
        Err(problem) => return Imported { models: Vec::new(), problems: vec![problem] },
    };
    let reader = Reader { java: Java::new(&source) };
    Imported { models: reader.models(), problems: source.problems() }
}

struct Reader<'t> {
    java: Java<'t>,
}

/// The place where a type is used. The annotations belong to the field.
struct Spot<'s> {
    path: &'s str,
    /// Whether the value is the document's `_id`.
    id: bool,
}

impl<'t> Reader<'t> {
    fn models(&self) -> Vec<Model> {
        let classes = &self.java.classes;
        let documents: Vec<&Class<'t>> =
            classes.iter().filter(|class| class.annotation("Document").is_some()).collect();
        if !documents.is_empty() {
            return documents.into_iter().map(|class| self.model(class)).collect();
        }
        // The file declares only embedded classes; the document class is in another file.
        let parts = classes.iter().filter(|class| !class.fields.is_empty());
        parts
            .map(|class| {
                let mut model = self.model(class);
                model.embedded = self.is_held(class.name);
                model
            })
            .collect()
    }

    fn is_held(&self, name: &str) -> bool {
        self.java.classes.iter().filter(|class| class.name != name).any(|class| {
            class.fields.iter().any(|field| {
                let text = self.java.source.text_of(field.kind);
                text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == name)
            })
        })
    }

    fn model(&self, class: &Class<'t>) -> Model {
        let mut draft = Draft::default();
        let mut shape = self.class(&mut draft, class, "", class.place, true);
        if !shape.has_property("_id") {
            shape.properties.insert(0, ("_id".to_owned(), Shape::of(&["objectId"])));
        }
        shape.title = Some(class.name.to_owned());
        let mut collection = None;
        if let Some(document) = class.annotation("Document") {
            let named = self.java.text(document, &["collection", "value"]);
            collection = match named {
                Some(name) if name.contains("#{") => {
                    let what = quoted(document.text);
                    draft.noted("", what, "the name of the collection is computed", document.place);
                    None
                }
                Some(name) => Some(name),
                None if !mentions_name(document) => Some(decapitalised(class.name)),
                None => None,
            };
            // Spring Data writes the class name into the document, so that it can read the document
            // back.
            if !shape.has_property("_class") {
                shape.set_property("_class", Shape::of(&["string"]));
            }
        }
        draft.finish(class.name, collection, class.place, shape)
    }

    /// Reads the documents of a class that is named at `place`.
    fn class(
        &self,
        draft: &mut Draft,
        class: &Class<'t>,
        path: &str,
        place: Place,
        top: bool,
    ) -> Shape {
        draft.named(class.name, path, place, |draft| {
            let mut shape = Shape::object();
            self.fields(draft, class, path, &mut shape, top, 0);
            shape
        })
    }

    fn fields(
        &self,
        draft: &mut Draft,
        class: &Class<'t>,
        path: &str,
        into: &mut Shape,
        top: bool,
        depth: usize,
    ) {
        if let Some(base) = class.base.filter(|_| depth < 16) {
            let text = self.java.source.text_of(base);
            let name = text.split('<').next().unwrap_or_default();
            match self.java.find(name).filter(|other| other.name != class.name) {
                Some(base) => self.fields(draft, base, path, into, top, depth + 1),
                None if PLAIN_BASES.contains(&name) => {}
                None => {
                    let why = "its parent type is not declared in this file";
                    draft.loosened(path, quoted(text), why, self.java.source.place(base));
                }
            }
        }
        for field in &class.fields {
            self.field(draft, field, path, into, top);
        }
    }

    fn field(&self, draft: &mut Draft, field: &Field<'t>, path: &str, into: &mut Shape, top: bool) {
        let java = &self.java;
        if let Some(why) = field.annotation(&["Transient", "ReadOnlyProperty", "Value"]) {
            draft.noted(&join(path, field.name), quoted(why.text), "not stored", field.place);
            return;
        }
        let settings = field.annotation(&["Field"]);
        let explicit = field.annotation(&["Id", "MongoId"]);
        let id = explicit.is_some() || matches!(field.name, "id" | "_id") && settings.is_none();
        let given = settings.and_then(|settings| java.text(settings, &["name", "value"]));
        let name =
            if id { "_id".to_owned() } else { given.unwrap_or_else(|| field.name.to_owned()) };
        if let Some(unwrapped) = field.annotation(&["Unwrapped"]) {
            self.unwrapped(draft, field, unwrapped, path, into);
            return;
        }
        if !draft.can_name(path, &name, field.place) {
            return;
        }
        let inner = join(path, &name);
        draft.field(&inner, field.place);
        let target = settings
            .and_then(|settings| java.text(settings, &["targetType"]))
            .or_else(|| {
                field
                    .annotation(&["MongoId"])
                    .and_then(|id| java.text(id, &["value", "targetType"]))
            })
            .and_then(|target| target_type(&target));
        let plain_id = id && field.annotation(&["MongoId"]).is_none();
        let replaced =
            field.annotation(&["DBRef", "DocumentReference", "Encrypted", "ValueConverter"]);
        let mut shape = match (target, replaced) {
            (Some(kind), _) => Shape::of(&[kind]),
            (None, Some(by)) => self.replaced(draft, by, field, &inner),
            (None, None) => {
                // Elements may have their own annotations.
                let checked = field.annotation(&["Valid"]).is_some()
                    || java.source.text_of(field.kind).contains('@');
                let spot = Spot { path: &inner, id: plain_id };
                let mut shape =
                    draft.looked_into(checked, |draft| self.kind(draft, field.kind, &spot));
                if field.trailing_array {
                    shape = Shape::array(shape);
                }
                shape
            }
        };
        let mut required = is_primitive(field.kind) && !field.trailing_array;
        for annotation in &field.annotations {
            required |= validation::apply(draft, &mut shape, java, annotation, &inner);
        }
        if settings.is_some_and(|settings| settings.text.contains("ALWAYS")) && !required {
            shape.null = true;
        }
        if required && (!top || name != "_id") {
            into.require(&name);
        }
        into.set_property(&name, shape);
    }

    /// Reads a value that is stored in place of another document, or of a value that code converts.
    fn replaced(
        &self,
        draft: &mut Draft,
        by: &Annotation<'t>,
        field: &Field<'t>,
        path: &str,
    ) -> Shape {
        let what = quoted(by.text);
        let one = match by.name {
            "DBRef" => {
                draft.noted(path, what, "a DBRef; its target is not looked up", by.place);
                Shape::db_ref()
            }
            "Encrypted" => return Shape::of(&["binData"]),
            "DocumentReference" => {
                draft.loosened(
                    path,
                    what,
                    "the `_id` of the other document, of whatever type",
                    by.place,
                );
                Shape::default()
            }
            _ => {
                draft.loosened(path, what, "decided by code", by.place);
                return Shape::default();
            }
        };
        let text = self.java.source.text_of(field.kind);
        let base = text.split('<').next().unwrap_or_default();
        let base = base.rsplit('.').next().unwrap_or_default();
        if text.ends_with("[]") || LISTS.contains(&base) || SETS.contains(&base) {
            Shape::array(one)
        } else if MAPS.contains(&base) {
            Shape::map(one)
        } else {
            one
        }
    }

    fn unwrapped(
        &self,
        draft: &mut Draft,
        field: &Field<'t>,
        annotation: &Annotation<'t>,
        path: &str,
        into: &mut Shape,
    ) {
        let prefix = self.java.text(annotation, &["prefix"]).unwrap_or_default();
        let shape = self.kind(draft, field.kind, &Spot { path, id: false });
        if shape.properties.is_empty() {
            draft.loosened(
                path,
                quoted(annotation.text),
                "its fields are not in this file",
                field.place,
            );
        }
        for (name, inner) in shape.properties {
            let name = format!("{prefix}{name}");
            if draft.can_name(path, &name, annotation.place) {
                into.set_property(&name, inner);
            }
        }
    }

    fn kind(&self, draft: &mut Draft, kind: Node<'t>, spot: &Spot<'_>) -> Shape {
        let place = self.java.source.place(kind);
        draft.deeper(spot.path, place, |draft| self.kind_inside(draft, kind, spot))
    }

    fn kind_inside(&self, draft: &mut Draft, kind: Node<'t>, spot: &Spot<'_>) -> Shape {
        let source = self.java.source;
        let text = source.text_of(kind);
        let element = format!("{}[]", spot.path);
        let inside = Spot { path: &element, id: false };
        match kind.kind() {
            "array_type" => {
                let Some(inner) = kind.child_by_field_name("element") else {
                    return Shape::default();
                };
                if source.text_of(inner) == "byte" {
                    return Shape::of(&["binData"]);
                }
                Shape::array(self.kind(draft, inner, &inside))
            }
            "annotated_type" => {
                let Some(inner) = parts(kind).into_iter().next_back() else {
                    return Shape::default();
                };
                let mut shape = self.kind(draft, inner, spot);
                for annotation in self.java.annotations(Some(kind)) {
                    validation::apply(draft, &mut shape, &self.java, &annotation, spot.path);
                }
                shape
            }
            "wildcard" => {
                let annotated = |n: &Node<'t>| !n.kind().ends_with("annotation");
                match parts(kind).into_iter().rfind(annotated) {
                    Some(inner) => self.kind(draft, inner, spot),
                    None => Shape::default(),
                }
            }
            "generic_type" => self.generic(draft, kind, spot),
            _ => self.named(draft, kind, text.rsplit('.').next().unwrap_or_default(), spot),
        }
    }

    fn generic(&self, draft: &mut Draft, kind: Node<'t>, spot: &Spot<'_>) -> Shape {
        let source = self.java.source;
        let all = parts(kind);
        let base = all.first().map_or("", |base| source.text_of(*base));
        let base = base.rsplit('.').next().unwrap_or_default();
        let arguments = all.into_iter().find(|part| part.kind() == "type_arguments");
        let arguments = arguments.map(parts).unwrap_or_default();
        let element = format!("{}[]", spot.path);
        let values = join(spot.path, "*");
        match base {
            base if LISTS.contains(&base) => {
                let inside = Spot { path: &element, id: false };
                Shape::array(
                    arguments
                        .first()
                        .map_or_else(Shape::default, |one| self.kind(draft, *one, &inside)),
                )
            }
            base if SETS.contains(&base) => {
                let inside = Spot { path: &element, id: false };
                let each = arguments
                    .first()
                    .map_or_else(Shape::default, |one| self.kind(draft, *one, &inside));
                Shape { unique_items: true, ..Shape::array(each) }
            }
            base if MAPS.contains(&base) => {
                let inside = Spot { path: &values, id: false };
                Shape::map(
                    arguments
                        .get(1)
                        .map_or_else(Shape::default, |one| self.kind(draft, *one, &inside)),
                )
            }
            "Optional" => {
                arguments.first().map_or_else(Shape::default, |one| self.kind(draft, *one, spot))
            }
            name => self.named(draft, kind, name, spot),
        }
    }

    fn named(&self, draft: &mut Draft, kind: Node<'t>, name: &str, spot: &Spot<'_>) -> Shape {
        let place = self.java.source.place(kind);
        if let Some(constants) = self.java.enums.get(name) {
            let mut shape = Shape::of(&["string"]);
            shape.set_enum(constants.iter().map(|constant| (*constant).into()).collect());
            return shape;
        }
        if let Some(class) = self.java.find(name) {
            return self.class(draft, class, spot.path, place, false);
        }
        match name {
            "String" if spot.id => Shape::of(&["objectId", "string"]),
            "BigInteger" if spot.id => Shape::of(&["objectId", "string"]),
            "String" | "CharSequence" | "char" | "Character" | "Locale" | "Currency" | "URI"
            | "URL" | "Class" | "Duration" | "Period" | "ZoneId" => Shape::of(&["string"]),
            "int" | "Integer" | "short" | "Short" | "byte" | "Byte" | "AtomicInteger" => {
                Shape::of(&["int"])
            }
            "long" | "Long" | "AtomicLong" => Shape::of(&["long"]),
            "double" | "Double" | "float" | "Float" => Shape::of(&["double"]),
            "boolean" | "Boolean" | "AtomicBoolean" => Shape::of(&["bool"]),
            "BigDecimal" | "BigInteger" => {
                let why = "a string by default up to version 4, a decimal if configured: both are \
                     accepted";
                draft.noted(spot.path, name, why, place);
                Shape::of(&["decimal", "string"])
            }
            "Decimal128" => Shape::of(&["decimal"]),
            "Date" | "Instant" | "LocalDateTime" | "LocalDate" | "LocalTime" | "DateTime" => {
                Shape::of(&["date"])
            }
            "ObjectId" => Shape::of(&["objectId"]),
            "UUID" | "Binary" => Shape::of(&["binData"]),
            "BsonTimestamp" | "BSONTimestamp" => Shape::of(&["timestamp"]),
            "Point" | "GeoJsonPoint" | "GeoJsonPolygon" | "GeoJsonLineString" | "Box"
            | "Circle" | "Polygon" | "Document" | "DBObject" | "BasicDBObject" | "DBRef" => {
                Shape::object()
            }
            // The type of a `Number` field depends on the stored value.
            "Number" => Shape::of(&["int", "long", "double"]),
            name if LISTS.contains(&name) || SETS.contains(&name) => Shape::of(&["array"]),
            name if MAPS.contains(&name) => Shape::object(),
            "Object" => Shape::default(),
            _ => {
                let what = quoted(self.java.source.text_of(kind));
                draft.loosened(spot.path, what, "a type that is not declared in this file", place);
                Shape::default()
            }
        }
    }
}

/// Returns Spring's default collection name for a class.
fn decapitalised(name: &str) -> String {
    let mut letters = name.chars();
    let first = letters.next().map(|c| c.to_lowercase().to_string()).unwrap_or_default();
    format!("{first}{}", letters.as_str())
}

/// Whether the arguments of `@Document` name the collection.
fn mentions_name(document: &Annotation<'_>) -> bool {
    let arguments = document.text.split_once('(').map_or("", |(_, arguments)| arguments);
    let arguments = arguments.trim_end_matches(')').trim();
    let named = arguments.contains("collection") || arguments.contains("value");
    !matches!(arguments, "" | "\"\"") && (named || !arguments.contains('='))
}

fn is_primitive(kind: Node<'_>) -> bool {
    matches!(kind.kind(), "integral_type" | "floating_point_type" | "boolean_type")
}

/// Returns the server's name for a `FieldType`.
fn target_type(name: &str) -> Option<&'static str> {
    Some(match name {
        "STRING" => "string",
        "OBJECT_ID" => "objectId",
        "DECIMAL128" => "decimal",
        "INT32" => "int",
        "INT64" => "long",
        "DOUBLE" => "double",
        "BOOLEAN" => "bool",
        "DATE_TIME" => "date",
        "BINARY" => "binData",
        "TIMESTAMP" => "timestamp",
        "ARRAY" => "array",
        "SCRIPT" => "javascript",
        "REGULAR_EXPRESSION" => "regex",
        "SYMBOL" => "symbol",
        _ => return None,
    })
}
