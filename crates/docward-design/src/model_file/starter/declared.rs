//! A model file from models that are declared elsewhere: in code, or as SQL tables. Such models
//! contain no numbers and operations, so these become questions.

use std::fmt::Write;

use docward_model::{BsonType, words};

use super::{free, scalar};

/// A declared type of document, or a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeclaredEntity {
    /// The name.
    pub name: String,
    /// The name of its collection, if it is known.
    pub collection: Option<String>,
    /// The fields without `_id`.
    pub fields: Vec<EntityFieldDraft>,
}

/// A declared field.
#[derive(Clone, Debug, PartialEq)]
pub struct EntityFieldDraft {
    /// The name.
    pub name: String,
    /// The type.
    pub kind: BsonType,
    /// Whether every document has it.
    pub required: bool,
    /// Whether it can be null.
    pub nullable: bool,
    /// Whether its values are unique.
    pub unique: bool,
    /// The values of an enumeration.
    pub values: Vec<String>,
    /// The maximum length of a string.
    pub most_bytes: Option<u64>,
    /// The fields of an object, or of the objects in an array.
    pub fields: Vec<Self>,
    /// The type of array elements that are not objects.
    pub element: Option<BsonType>,
    /// The entity whose ids it stores.
    pub target: Option<String>,
}

impl EntityFieldDraft {
    /// Creates a field that every document has.
    pub fn new(name: impl Into<String>, kind: BsonType) -> Self {
        Self {
            name: name.into(),
            kind,
            required: true,
            nullable: false,
            unique: false,
            values: Vec::new(),
            most_bytes: None,
            fields: Vec::new(),
            element: None,
            target: None,
        }
    }

    fn is_list_of_objects(&self) -> bool {
        self.kind == BsonType::Array && !self.fields.is_empty()
    }
}

/// Returns a model that is filled in from declared entities.
pub fn starter_declared(name: &str, entities: &[DeclaredEntity], as_of: Option<&str>) -> String {
    let mut out = String::from(
        "# Derived from declared models. Lines with `?` are questions that they cannot answer.\n",
    );
    let _ = writeln!(out, "version: 1\nname: {}", scalar(name));
    if let Some(day) = as_of {
        let _ = writeln!(out, "as-of: {day}");
    }
    let mut writer =
        Writer { entities: String::new(), relationships: Vec::new(), names: Vec::new() };
    writer.names.extend(entities.iter().map(|entity| entity.name.clone()));
    for entity in entities {
        writer.entity(&entity.name, entity.collection.as_deref(), &entity.fields);
    }
    let _ = writeln!(out, "\nentities:\n{}", writer.entities.trim_end());
    if !writer.relationships.is_empty() {
        let _ = writeln!(out, "\nrelationships:");
    }
    for relationship in &writer.relationships {
        out.push_str(&relationship.text());
    }
    let some = entities.first().map_or("order", |entity| entity.name.as_str());
    let _ =
        writeln!(out, "\n# ? reads:\n  # {some} page: {{rate: 200/s, from: {some}, where: [_id]}}");
    let _ = writeln!(out, "\n# ? writes:\n  # new {some}: {{rate: 20/s, insert: {some}}}");
    out
}

struct Written {
    name: String,
    child: String,
    field: Option<String>,
    /// Whether each parent has one child, which it refers to.
    single: bool,
    /// Whether the parent lists the ids of children.
    listed: bool,
}

impl Written {
    fn text(&self) -> String {
        let mut out = format!("  {}:\n    child: {}\n", scalar(&self.name), scalar(&self.child));
        if let Some(field) = &self.field {
            let _ = writeln!(out, "    field: {}", scalar(field));
        }
        if self.single {
            let _ = writeln!(out, "    children: 1");
        } else {
            let _ = writeln!(out, "    # ? children: {{p50: 3, p95: 10, p99: 20, max: 80}}");
        }
        if self.single || self.listed {
            let _ = writeln!(out, "    # ? parents: {{p50: 3, p95: 10, p99: 20, max: 80}}");
        }
        if !self.single {
            let _ = writeln!(out, "    # ? growth: bounded | endless | 30/year");
        }
        out
    }
}

struct Writer {
    entities: String,
    relationships: Vec<Written>,
    names: Vec<String>,
}

impl Writer {
    fn entity(&mut self, name: &str, collection: Option<&str>, fields: &[EntityFieldDraft]) {
        let _ = writeln!(self.entities, "  {}:", scalar(name));
        if let Some(collection) = collection {
            let _ = writeln!(self.entities, "    collection: {}", scalar(collection));
        }
        let _ = writeln!(self.entities, "    # ? count: 100k");
        let mut nested = Vec::new();
        let mut lines = Vec::new();
        for field in fields {
            match &field.target {
                Some(target) if self.names.contains(target) => self.reference(name, field, target),
                _ if field.is_list_of_objects() => {
                    let child = format!("{name}_{}", words::singular(&field.name.to_lowercase()));
                    let child = free(child, |child| self.names.iter().any(|have| have == child));
                    self.names.push(child.clone());
                    nested.push((child, field));
                }
                _ => lines.push(line(field)),
            }
        }
        let _ = writeln!(self.entities, "    fields:{}", if lines.is_empty() { " {}" } else { "" });
        for line in lines {
            let _ = writeln!(self.entities, "      {line}");
        }
        let _ = writeln!(
            self.entities,
            "    # ? lifecycle: {{growth: 1000/day, kept: forever | 90 days}}\n    # ? read: never   \
             (or add reads below)\n    # ? written: never   (or add writes below)"
        );
        for (child, field) in nested {
            self.push(Written {
                name: format!("{name}.{}", field.name),
                child: child.clone(),
                field: None,
                single: false,
                listed: false,
            });
            self.entity(&child, None, &field.fields);
        }
    }

    /// Adds the relationship of a field that stores ids.
    fn reference(&mut self, name: &str, field: &EntityFieldDraft, target: &str) {
        let listed = field.kind == BsonType::Array;
        // In an element of a list, the target is the child. Otherwise, it is the parent.
        let is_part = self.relationships.iter().any(|r| r.child == name && r.field.is_none());
        let (parent, child, role) = match listed || is_part {
            true if listed => (name, target, field.name.clone()),
            true => (name, target, stem(&field.name).to_owned()),
            false => (target, name, words::plural(name)),
        };
        self.push(Written {
            name: format!("{parent}.{role}"),
            child: child.to_owned(),
            field: Some(field.name.clone()),
            single: is_part && !listed,
            listed,
        });
    }

    /// Adds a relationship. A second one between the same entities is named after its field.
    fn push(&mut self, mut relationship: Written) {
        let taken = |name: &str| self.relationships.iter().any(|have| have.name == name);
        if taken(&relationship.name)
            && let Some(field) = &relationship.field
        {
            relationship.name = format!("{}_by_{field}", relationship.name);
        }
        if !taken(&relationship.name) {
            self.relationships.push(relationship);
        }
    }
}

/// Returns the name of a reference without `Id`.
fn stem(name: &str) -> &str {
    let found = ["_id", "Id", "ID"].iter().find_map(|end| name.strip_suffix(end));
    found.filter(|stem| !stem.is_empty()).unwrap_or(name)
}

/// Returns a line such as `status: {type: string, values: [new, paid]}`.
fn line(field: &EntityFieldDraft) -> String {
    format!("{}: {}{}", scalar(&field.name), value(field), open(field))
}

fn value(field: &EntityFieldDraft) -> String {
    let mut parts = vec![format!("type: {}", field.kind.name())];
    if let Some(element) = field.element.filter(|_| field.kind == BsonType::Array) {
        parts.push(format!("of: {}", element.name()));
    }
    if let Some(most) = field.most_bytes.filter(|_| field.values.is_empty()) {
        parts.push(format!("bytes: {{typical: {}, p99: {most}}}", most.div_ceil(2)));
    }
    if !field.values.is_empty() {
        let values: Vec<String> = field.values.iter().map(|value| scalar(value)).collect();
        parts.push(format!("values: [{}]", values.join(", ")));
    }
    for (name, is_set) in [("unique", field.unique), ("nullable", field.nullable && !field.unique)]
    {
        if is_set {
            parts.push(format!("{name}: true"));
        }
    }
    if !field.required || field.unique && field.nullable {
        parts.push("required: false".to_owned());
    }
    if !field.fields.is_empty() {
        let inside: Vec<String> = field
            .fields
            .iter()
            .map(|inside| format!("{}: {}", scalar(&inside.name), value(inside)))
            .collect();
        parts.push(format!("fields: {{{}}}", inside.join(", ")));
    }
    if field.kind == BsonType::Array {
        parts.push("items: {p50: 1, p99: 10, max: 50}".to_owned());
    }
    match parts.as_slice() {
        [kind] => kind.trim_start_matches("type: ").to_owned(),
        _ => format!("{{{}}}", parts.join(", ")),
    }
}

/// Returns the questions about a field.
fn open(field: &EntityFieldDraft) -> String {
    fn has_array(field: &EntityFieldDraft) -> bool {
        field.kind == BsonType::Array || field.fields.iter().any(has_array)
    }
    match has_array(field) {
        true => "   # ? `items` is an example: how long is the array?".to_owned(),
        false => String::new(),
    }
}
