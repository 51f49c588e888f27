//! The parts of Java that declarations need: classes, records, enumerations and annotations.

use std::collections::BTreeMap;

use bson::Bson;
use tree_sitter::Node;

use crate::{Place, escapes::unescaped, shape};
use docward_source::syntax::{Source, Walk, part, parts};

/// A file and the types it declares.
pub(super) struct Java<'t> {
    pub(super) source: &'t Source<'t>,
    /// The classes in order of declaration.
    pub(super) classes: Vec<Class<'t>>,
    /// The names of constants, in order of declaration.
    pub(super) enums: BTreeMap<&'t str, Vec<&'t str>>,
    /// Constants that are strings.
    constants: BTreeMap<&'t str, String>,
}

pub(super) struct Class<'t> {
    pub(super) name: &'t str,
    pub(super) place: Place,
    pub(super) annotations: Vec<Annotation<'t>>,
    pub(super) base: Option<Node<'t>>,
    pub(super) fields: Vec<Field<'t>>,
}

pub(super) struct Field<'t> {
    pub(super) name: &'t str,
    pub(super) place: Place,
    pub(super) kind: Node<'t>,
    /// Whether the array brackets follow the name: `int a[]`.
    pub(super) trailing_array: bool,
    pub(super) annotations: Vec<Annotation<'t>>,
}

#[derive(Clone)]
pub(super) struct Annotation<'t> {
    pub(super) name: &'t str,
    pub(super) place: Place,
    pub(super) text: &'t str,
    arguments: Vec<(&'t str, Node<'t>)>,
}

impl<'t> Java<'t> {
    pub(super) fn new(source: &'t Source<'t>) -> Self {
        let mut java = Self {
            source,
            classes: Vec::new(),
            enums: BTreeMap::new(),
            constants: BTreeMap::new(),
        };
        source.walk(source.root(), |node| {
            match node.kind() {
                "class_declaration" => {
                    let class = java.class(node);
                    java.classes.extend(class);
                }
                "record_declaration" => {
                    let record = java.record(node);
                    java.classes.extend(record);
                }
                "enum_declaration" => {
                    let name = node.child_by_field_name("name").map_or("", |n| source.text_of(n));
                    let body = node.child_by_field_name("body").map(parts).unwrap_or_default();
                    let constants = body.into_iter().filter(|part| part.kind() == "enum_constant");
                    let names =
                        constants.filter_map(|constant| constant.child_by_field_name("name"));
                    java.enums.entry(name).or_insert(names.map(|n| source.text_of(n)).collect());
                }
                _ => {}
            }
            Walk::Into
        });
        java
    }

    pub(super) fn find(&self, name: &str) -> Option<&Class<'t>> {
        self.classes.iter().find(|class| class.name == name)
    }

    fn class(&mut self, node: Node<'t>) -> Option<Class<'t>> {
        let source = self.source;
        let name = node.child_by_field_name("name")?;
        let mut fields = Vec::new();
        for member in node.child_by_field_name("body").map(parts).unwrap_or_default() {
            if member.kind() != "field_declaration" {
                continue;
            }
            let Some(kind) = member.child_by_field_name("type") else { continue };
            let modifiers = part(member, "modifiers");
            let words = modifiers.map_or("", |modifiers| source.text_of(modifiers));
            let is = |word: &str| words.split_whitespace().any(|other| other == word);
            let declarators =
                parts(member).into_iter().filter(|p| p.kind() == "variable_declarator");
            for declarator in declarators {
                let Some(name) = declarator.child_by_field_name("name") else { continue };
                if is("static") {
                    let value = declarator.child_by_field_name("value");
                    if let Some(Bson::String(text)) = value.and_then(|value| self.literal(value)) {
                        self.constants.entry(source.text_of(name)).or_insert(text);
                    }
                    continue;
                }
                // The driver does not store `transient` fields.
                if is("transient") {
                    continue;
                }
                fields.push(Field {
                    name: source.text_of(name),
                    place: source.place(name),
                    kind,
                    trailing_array: declarator.child_by_field_name("dimensions").is_some(),
                    annotations: self.annotations(modifiers),
                });
            }
        }
        Some(Class {
            name: source.text_of(name),
            place: source.place(name),
            annotations: self.annotations(part(node, "modifiers")),
            base: node.child_by_field_name("superclass").and_then(|s| parts(s).first().copied()),
            fields,
        })
    }

    fn record(&self, node: Node<'t>) -> Option<Class<'t>> {
        let source = self.source;
        let name = node.child_by_field_name("name")?;
        let parameters = node.child_by_field_name("parameters").map(parts).unwrap_or_default();
        let fields = parameters.into_iter().filter(|part| part.kind() == "formal_parameter");
        let fields = fields.filter_map(|parameter| {
            let name = parameter.child_by_field_name("name")?;
            Some(Field {
                name: source.text_of(name),
                place: source.place(name),
                kind: parameter.child_by_field_name("type")?,
                trailing_array: false,
                annotations: self.annotations(part(parameter, "modifiers")),
            })
        });
        Some(Class {
            name: source.text_of(name),
            place: source.place(name),
            annotations: self.annotations(part(node, "modifiers")),
            base: None,
            fields: fields.collect(),
        })
    }

    /// Returns the annotations among modifiers or before a type.
    pub(super) fn annotations(&self, holder: Option<Node<'t>>) -> Vec<Annotation<'t>> {
        let all = holder.map(parts).unwrap_or_default().into_iter();
        all.filter(|part| matches!(part.kind(), "annotation" | "marker_annotation"))
            .map(|node| {
                let full = node.child_by_field_name("name").map_or("", |n| self.source.text_of(n));
                let arguments =
                    node.child_by_field_name("arguments").map(parts).unwrap_or_default();
                let arguments = arguments.into_iter().map(|argument| {
                    let key = argument.child_by_field_name("key");
                    let value = argument.child_by_field_name("value");
                    match (argument.kind(), key, value) {
                        ("element_value_pair", Some(key), Some(value)) => {
                            (self.source.text_of(key), value)
                        }
                        _ => ("value", argument),
                    }
                });
                Annotation {
                    name: full.rsplit('.').next().unwrap_or_default(),
                    place: self.source.place(node),
                    text: self.source.text_of(node),
                    arguments: arguments.collect(),
                }
            })
            .collect()
    }

    /// Returns the value of a literal. For `Type.NAME`, returns the name.
    pub(super) fn literal(&self, node: Node<'t>) -> Option<Bson> {
        let text = self.source.text_of(node);
        match node.kind() {
            "string_literal" => Some(unescaped(text.trim_matches('"'), false).into()),
            "decimal_integer_literal" | "hex_integer_literal" | "unary_expression" => {
                shape::number(
                    text.replace(' ', "").trim_end_matches(['l', 'L', 'd', 'D', 'f', 'F']),
                )
            }
            "decimal_floating_point_literal" => {
                shape::number(text.trim_end_matches(['d', 'D', 'f', 'F']))
            }
            "true" => Some(Bson::Boolean(true)),
            "false" => Some(Bson::Boolean(false)),
            "identifier" | "field_access" => {
                let name = text.rsplit('.').next().unwrap_or_default();
                Some(self.constants.get(name).map_or(name, String::as_str).into())
            }
            "parenthesized_expression" => parts(node)
                .first()
                .filter(|inner| inner.kind().ends_with("literal"))
                .and_then(|inner| self.literal(*inner)),
            _ => None,
        }
    }

    /// Returns an argument of an annotation.
    pub(super) fn argument(&self, annotation: &Annotation<'t>, key: &str) -> Option<Bson> {
        let found = annotation.arguments.iter().find(|(name, _)| *name == key);
        found.and_then(|(_, value)| self.literal(*value))
    }

    /// Returns a string argument that has one of several names.
    pub(super) fn text(&self, annotation: &Annotation<'t>, keys: &[&str]) -> Option<String> {
        let mut found = keys.iter().filter_map(|key| self.argument(annotation, key));
        found.find_map(|value| value.as_str().map(str::to_owned)).filter(|text| !text.is_empty())
    }
}

impl Class<'_> {
    pub(super) fn annotation(&self, name: &str) -> Option<&Annotation<'_>> {
        self.annotations.iter().find(|annotation| annotation.name == name)
    }
}

impl<'t> Field<'t> {
    pub(super) fn annotation(&self, names: &[&str]) -> Option<&Annotation<'t>> {
        self.annotations.iter().find(|annotation| names.contains(&annotation.name))
    }
}
