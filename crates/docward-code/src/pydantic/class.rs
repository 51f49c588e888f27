//! Reads the classes of a Python file: fields, settings and validators. `types.rs` interprets the
//! types.

use std::collections::BTreeMap;

use tree_sitter::Node;

use crate::Place;
use docward_source::syntax::{Source, parts};

use super::expr::Expr;

#[derive(Debug, Default)]
pub(super) struct Class {
    pub(super) name: String,
    pub(super) place: Place,
    pub(super) bases: Vec<Expr>,
    pub(super) doc: Option<String>,
    pub(super) fields: Vec<Field>,
    /// Assignments without a type, such as members of an enumeration.
    pub(super) members: Vec<(String, Expr)>,
    /// `model_config`, `class Config`, and arguments of the class.
    pub(super) config: Vec<(String, Expr)>,
    /// Beanie's `class Settings`.
    pub(super) settings: Vec<(String, Expr)>,
    /// Decorated methods: decorator, name of the method, position.
    pub(super) methods: Vec<(Expr, String, Place)>,
}

#[derive(Debug)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) place: Place,
    pub(super) kind: Expr,
    pub(super) default: Option<Expr>,
}

impl Class {
    pub(super) fn option(&self, name: &str) -> Option<&Expr> {
        self.config.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    /// Returns the type that a root model wraps: `RootModel[X]`, `root: X`, or `__root__: X` of
    /// older versions.
    fn root(&self) -> Option<&Expr> {
        let is_root = |base: &&Expr| base.name() == "RootModel";
        let field = |name: &str| {
            self.fields.iter().find(|field| field.name == name).map(|field| &field.kind)
        };
        let Some(base) = self.bases.iter().find(is_root) else { return field("__root__") };
        match base {
            Expr::Index(_, inner) => field("root").or(inner.first()),
            _ => field("root"),
        }
    }

    pub(super) fn setting(&self, name: &str) -> Option<&Expr> {
        self.settings.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value)
    }
}

/// The declarations of a file.
#[derive(Debug, Default)]
pub(super) struct Module {
    /// The classes in order of declaration.
    pub(super) classes: Vec<Class>,
    /// Type aliases.
    pub(super) aliases: BTreeMap<String, Expr>,
}

impl Module {
    pub(super) fn read(source: &Source<'_>) -> Self {
        let mut module = Self::default();
        module.block(source, source.root(), 0);
        module
    }

    pub(super) fn class(&self, name: &str) -> Option<&Class> {
        self.classes.iter().find(|class| class.name == name)
    }

    /// Records a class. A root model is stored as the value it wraps, so it becomes a type alias.
    fn declare(&mut self, class: Class) {
        match class.root() {
            Some(held) => {
                let held = held.clone();
                self.aliases.entry(class.name).or_insert(held);
            }
            None => self.classes.push(class),
        }
    }

    /// Reads top-level statements, also inside conditions and after syntax errors.
    fn block(&mut self, source: &Source<'_>, node: Node<'_>, depth: usize) {
        if depth > 6 {
            return;
        }
        for statement in parts(node) {
            match statement.kind() {
                "class_definition" => self.declare(class(source, statement)),
                "decorated_definition" => {
                    if let Some(inner) = statement.child_by_field_name("definition")
                        && inner.kind() == "class_definition"
                    {
                        self.declare(class(source, inner));
                    }
                }
                "expression_statement" => {
                    for assignment in parts(statement) {
                        if let Some((name, value)) = plain_assignment(source, assignment) {
                            self.aliases.entry(name).or_insert(value);
                        }
                    }
                }
                "type_alias_statement" => {
                    let both = parts(statement);
                    if let [name, value] = both.as_slice() {
                        let name = source.text_of(*name).to_owned();
                        self.aliases.entry(name).or_insert(Expr::read(source, *value));
                    }
                }
                "if_statement" | "else_clause" | "try_statement" | "except_clause" | "block"
                | "ERROR" => {
                    self.block(source, statement, depth + 1);
                }
                _ => {}
            }
        }
    }
}

fn decorators(source: &Source<'_>, node: Node<'_>) -> Vec<Expr> {
    let all = parts(node).into_iter().filter(|part| part.kind() == "decorator");
    all.filter_map(|decorator| parts(decorator).first().map(|n| Expr::read(source, *n))).collect()
}

fn plain_assignment(source: &Source<'_>, node: Node<'_>) -> Option<(String, Expr)> {
    if node.kind() != "assignment" {
        return None;
    }
    let left = node.child_by_field_name("left").filter(|left| left.kind() == "identifier")?;
    let right = node.child_by_field_name("right")?;
    Some((source.text_of(left).to_owned(), Expr::read(source, right)))
}

fn class(source: &Source<'_>, node: Node<'_>) -> Class {
    let name = node.child_by_field_name("name");
    let mut class = Class {
        name: name.map_or_else(String::new, |name| source.text_of(name).to_owned()),
        place: source.place(name.unwrap_or(node)),
        ..Class::default()
    };
    for base in node.child_by_field_name("superclasses").map(parts).unwrap_or_default() {
        if base.kind() == "keyword_argument" {
            let key = base.child_by_field_name("name");
            let value = base.child_by_field_name("value");
            if let (Some(key), Some(value)) = (key, value) {
                class.config.push((source.text_of(key).to_owned(), Expr::read(source, value)));
            }
        } else {
            class.bases.push(Expr::read(source, base));
        }
    }
    let body = node.child_by_field_name("body").map(parts).unwrap_or_default();
    for (index, statement) in body.into_iter().enumerate() {
        member(source, &mut class, statement, index == 0);
    }
    class
}

fn member(source: &Source<'_>, class: &mut Class, statement: Node<'_>, first: bool) {
    match statement.kind() {
        "expression_statement" => {
            for inner in parts(statement) {
                match inner.kind() {
                    "string" if first => {
                        if let Expr::Literal(bson::Bson::String(text)) = Expr::read(source, inner) {
                            let lines: Vec<&str> = text.trim().lines().map(str::trim).collect();
                            class.doc = Some(lines.join("\n")).filter(|text| !text.is_empty());
                        }
                    }
                    "assignment" => assignment(source, class, inner),
                    _ => {}
                }
            }
        }
        "class_definition" => {
            let inner = self::class(source, statement);
            match inner.name.as_str() {
                "Config" => class.config.extend(inner.members),
                "Settings" | "Collection" => class.settings.extend(inner.members),
                _ => {}
            }
        }
        "decorated_definition" => {
            let name = statement
                .child_by_field_name("definition")
                .and_then(|definition| definition.child_by_field_name("name"));
            let name = name.map_or_else(String::new, |name| source.text_of(name).to_owned());
            for decorator in decorators(source, statement) {
                class.methods.push((decorator, name.clone(), source.place(statement)));
            }
        }
        _ => {}
    }
}

fn assignment(source: &Source<'_>, class: &mut Class, node: Node<'_>) {
    let Some(left) = node.child_by_field_name("left").filter(|left| left.kind() == "identifier")
    else {
        return;
    };
    let name = source.text_of(left).to_owned();
    let value = node.child_by_field_name("right").map(|right| Expr::read(source, right));
    if name == "model_config" {
        match value {
            Some(Expr::Call(_, _, named)) => class.config.extend(named),
            Some(Expr::Dict(pairs)) => class.config.extend(
                pairs.into_iter().filter_map(|(k, v)| k.text().map(|k| (k.to_owned(), v.clone()))),
            ),
            _ => {}
        }
        return;
    }
    match node.child_by_field_name("type") {
        Some(kind) => class.fields.push(Field {
            name,
            place: source.place(left),
            kind: Expr::read(source, kind),
            default: value,
        }),
        None => class.members.extend(value.map(|value| (name, value))),
    }
}
