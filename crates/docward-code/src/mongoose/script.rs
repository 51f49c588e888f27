//! The parts of JavaScript and TypeScript that declarations need: bindings and literal values.

use std::collections::{BTreeMap, BTreeSet};

use bson::Bson;
use tree_sitter::Node;

use crate::{escapes::unescaped, shape};
use docward_source::syntax::{Source, Walk, part, parts};

/// The maximum number of names that are followed in a row.
pub(super) const MAX_HOPS: usize = 8;

/// A file and its bindings.
pub(super) struct Script<'t> {
    pub(super) source: &'t Source<'t>,
    /// The values of variables. If several have the same name, the first.
    bindings: BTreeMap<&'t str, Node<'t>>,
    /// TypeScript enumerations.
    enums: BTreeMap<&'t str, Node<'t>>,
    pub(super) classes: BTreeMap<&'t str, Node<'t>>,
    /// The export statements of classes, which contain their decorators.
    pub(super) exports: BTreeMap<usize, Node<'t>>,
    /// Method calls on names: the name, the method, the call. `a.path(…).validate(…)` counts as a
    /// call of `path`.
    pub(super) calls: Vec<(&'t str, &'t str, Node<'t>)>,
    /// Names in object literals and arrays, except for exports.
    pub(super) mentioned: BTreeSet<&'t str>,
}

/// A member of an object literal.
pub(super) struct Entry<'t> {
    pub(super) name: String,
    pub(super) key: Node<'t>,
    pub(super) value: Node<'t>,
}

impl<'t> Script<'t> {
    pub(super) fn new(source: &'t Source<'t>) -> Self {
        let mut script = Self {
            source,
            bindings: BTreeMap::new(),
            enums: BTreeMap::new(),
            classes: BTreeMap::new(),
            exports: BTreeMap::new(),
            calls: Vec::new(),
            mentioned: BTreeSet::new(),
        };
        source.walk_within(source.root(), |node, around| {
            let (name, value) = match node.kind() {
                "variable_declarator" => ("name", "value"),
                "assignment_expression" => ("left", "right"),
                "call_expression" => {
                    script.calls.extend(call(source, node));
                    return Walk::Into;
                }
                "identifier" | "shorthand_property_identifier" => {
                    if is_held(around) {
                        script.mentioned.insert(source.text_of(node));
                    }
                    return Walk::Into;
                }
                "enum_declaration" | "class_declaration" => {
                    if let Some(outer) = around.last().filter(|n| n.kind() == "export_statement") {
                        script.exports.insert(node.id(), *outer);
                    }
                    if let Some(name) = node.child_by_field_name("name") {
                        let name = source.text_of(name);
                        let kept = if node.kind() == "enum_declaration" {
                            &mut script.enums
                        } else {
                            &mut script.classes
                        };
                        kept.entry(name).or_insert(node);
                    }
                    return Walk::Into;
                }
                _ => return Walk::Into,
            };
            if let (Some(name), Some(value)) =
                (node.child_by_field_name(name), node.child_by_field_name(value))
                && name.kind() == "identifier"
            {
                script.bindings.entry(source.text_of(name)).or_insert(value);
            }
            Walk::Into
        });
        script
    }

    pub(super) fn text(&self, node: Node<'t>) -> &'t str {
        self.source.text_of(node)
    }

    /// Returns the value of a name or of a wrapped expression, as far as the file defines it.
    pub(super) fn resolve(&self, node: Node<'t>) -> Node<'t> {
        let mut node = node;
        for _ in 0..MAX_HOPS {
            node = bare(node);
            if node.kind() != "identifier" && node.kind() != "shorthand_property_identifier" {
                break;
            }
            match self.bindings.get(self.text(node)) {
                Some(value) if value.id() != node.id() => node = *value,
                _ => break,
            }
        }
        node
    }

    /// Returns the variable that a value is assigned to.
    pub(super) fn bound_to(&self, value: Node<'t>) -> Option<&'t str> {
        let found = self.bindings.iter().find(|(_, bound)| bare(**bound).id() == value.id());
        found.map(|(name, _)| *name)
    }

    /// Returns the last name of `a.b.c`.
    pub(super) fn last_name(&self, node: Node<'t>) -> Option<&'t str> {
        match node.kind() {
            "identifier" | "shorthand_property_identifier" | "type_identifier" => {
                Some(self.text(node))
            }
            "member_expression" => node.child_by_field_name("property").map(|name| self.text(name)),
            _ => None,
        }
    }

    /// Returns the members of an object literal, including those of spread object literals.
    pub(super) fn entries(&self, object: Node<'t>) -> Vec<Entry<'t>> {
        let mut out = Vec::new();
        self.collect(object, &mut out, 0);
        out
    }

    fn collect(&self, object: Node<'t>, out: &mut Vec<Entry<'t>>, hops: usize) {
        for member in parts(object) {
            match member.kind() {
                "pair" => {
                    let key = member.child_by_field_name("key");
                    let value = member.child_by_field_name("value");
                    if let (Some(key), Some(value)) = (key, value)
                        && let Some(name) = self.key(key)
                    {
                        out.push(Entry { name, key, value });
                    }
                }
                "shorthand_property_identifier" => {
                    out.push(Entry {
                        name: self.text(member).to_owned(),
                        key: member,
                        value: member,
                    });
                }
                "method_definition" => {
                    if let Some(key) = member.child_by_field_name("name")
                        && let Some(name) = self.key(key)
                    {
                        out.push(Entry { name, key, value: member });
                    }
                }
                "spread_element" if hops < MAX_HOPS => {
                    if let Some(inner) = parts(member).first() {
                        let inner = self.resolve(*inner);
                        if inner.kind() == "object" {
                            self.collect(inner, out, hops + 1);
                        }
                    }
                }
                _ => {}
            }
        }
    }

    /// Returns the expressions that are spread into an object and that the file does not define.
    pub(super) fn foreign_spreads(&self, object: Node<'t>) -> Vec<Node<'t>> {
        let spread = parts(object).into_iter().filter(|member| member.kind() == "spread_element");
        spread
            .filter(|member| {
                parts(*member).first().is_some_and(|inner| self.resolve(*inner).kind() != "object")
            })
            .collect()
    }

    fn key(&self, key: Node<'t>) -> Option<String> {
        match key.kind() {
            "property_identifier" | "number" => Some(self.text(key).to_owned()),
            "string" => self.string(key),
            "computed_property_name" => {
                parts(key).first().and_then(|inner| self.string(self.resolve(*inner)))
            }
            _ => None,
        }
    }

    /// Returns the value of an option of an object literal.
    pub(super) fn option(&self, object: Node<'t>, name: &str) -> Option<Node<'t>> {
        self.entries(object).into_iter().rev().find(|entry| entry.name == name).map(|e| e.value)
    }

    /// Returns the value of a string expression.
    pub(super) fn string(&self, node: Node<'t>) -> Option<String> {
        match node.kind() {
            "string" => {
                let text = self.text(node);
                let text = text.get(1..text.len().saturating_sub(1)).unwrap_or_default();
                Some(unescaped(text, false))
            }
            "template_string" if part(node, "template_substitution").is_none() => {
                let text = self.text(node);
                let text = text.get(1..text.len().saturating_sub(1)).unwrap_or_default();
                Some(unescaped(text, false))
            }
            _ => None,
        }
    }

    /// Returns the value of a literal.
    pub(super) fn literal(&self, node: Node<'t>) -> Option<Bson> {
        let node = self.resolve(node);
        match node.kind() {
            "string" | "template_string" => self.string(node).map(Bson::from),
            "number" | "unary_expression" => {
                let text = self.text(node).trim_end_matches('n').replace(' ', "");
                shape::number(&text)
            }
            "true" => Some(Bson::Boolean(true)),
            "false" => Some(Bson::Boolean(false)),
            "null" => Some(Bson::Null),
            "member_expression" => self.enum_member(node),
            _ => None,
        }
    }

    /// Reads `Role.Admin`, a member of an enumeration or of an object literal.
    fn enum_member(&self, node: Node<'t>) -> Option<Bson> {
        let object = node.child_by_field_name("object")?;
        let name = self.last_name(node)?;
        if let Some(found) = self.enums.get(self.text(object)) {
            return self.enum_values(*found).into_iter().find(|(n, _)| n == name).map(|(_, v)| v);
        }
        let object = self.resolve(object);
        let value = (object.kind() == "object").then(|| self.option(object, name)).flatten()?;
        matches!(bare(value).kind(), "string" | "number").then(|| self.literal(value)).flatten()
    }

    fn enum_values(&self, node: Node<'t>) -> Vec<(String, Bson)> {
        let Some(body) = node.child_by_field_name("body") else { return Vec::new() };
        let mut next = 0_i64;
        let mut out = Vec::new();
        for member in parts(body) {
            let (name, value) = match member.kind() {
                "enum_assignment" => {
                    let name = member.child_by_field_name("name").and_then(|name| self.key(name));
                    // Only literals: a member of an enumeration could refer to this one again.
                    let value = member
                        .child_by_field_name("value")
                        .filter(|v| matches!(v.kind(), "string" | "number" | "unary_expression"))
                        .and_then(|v| self.literal(v));
                    (name, value)
                }
                _ => (self.key(member), Some(shape::whole(next))),
            };
            if let (Some(name), Some(value)) = (name, value) {
                next = match value {
                    Bson::Int32(n) => i64::from(n) + 1,
                    _ => next + 1,
                };
                out.push((name, value));
            }
        }
        out
    }

    /// Reads a list of values: an array, an enumeration, `Object.values(…)`, or `{ values: … }`.
    pub(super) fn values(&self, node: Node<'t>) -> Option<Vec<Bson>> {
        self.list(node, 0)
    }

    fn list(&self, node: Node<'t>, hops: usize) -> Option<Vec<Bson>> {
        if hops > MAX_HOPS {
            return None;
        }
        if let Some(found) = self.enums.get(self.text(bare(node))) {
            return Some(self.enum_values(*found).into_iter().map(|(_, value)| value).collect());
        }
        let node = self.resolve(node);
        match node.kind() {
            "array" => {
                let mut out = Vec::new();
                for element in parts(node) {
                    match element.kind() {
                        "spread_element" => {
                            out.extend(self.list(*parts(element).first()?, hops + 1)?);
                        }
                        _ => out.push(self.literal(element)?),
                    }
                }
                Some(out)
            }
            "object" => match self.option(node, "values") {
                Some(values) => self.list(values, hops + 1),
                // Mongoose accepts the values of any object.
                None => self.entries(node).iter().map(|entry| self.literal(entry.value)).collect(),
            },
            "call_expression" => {
                let function = self.text(node.child_by_field_name("function")?);
                let first = *parts(node.child_by_field_name("arguments")?).first()?;
                match function {
                    "Object.values" => self.list(first, hops + 1),
                    "Object.keys" => {
                        if let Some(found) = self.enums.get(self.text(first)) {
                            let names = self.enum_values(*found);
                            return Some(names.into_iter().map(|(name, _)| name.into()).collect());
                        }
                        let object = self.resolve(first);
                        (object.kind() == "object").then(|| {
                            self.entries(object).into_iter().map(|e| e.name.into()).collect()
                        })
                    }
                    "Object.freeze" => self.list(first, hops + 1),
                    _ => None,
                }
            }
            _ => None,
        }
    }
}

/// Returns an expression without parentheses and without TypeScript's type assertions.
pub(super) fn bare(node: Node<'_>) -> Node<'_> {
    let mut node = node;
    for _ in 0..MAX_HOPS {
        match node.kind() {
            "parenthesized_expression"
            | "as_expression"
            | "satisfies_expression"
            | "non_null_expression"
            | "await_expression" => match parts(node).first() {
                Some(inner) => node = *inner,
                None => break,
            },
            _ => break,
        }
    }
    node
}

/// Reads a method call.
fn call<'t>(source: &Source<'t>, node: Node<'t>) -> Option<(&'t str, &'t str, Node<'t>)> {
    let (object, method) = method(source, node)?;
    if object.kind() != "call_expression" {
        return Some((source.text_of(object), method, node));
    }
    // A chained call on a path belongs to that path.
    let path = path_call(source, object)?;
    let (name, _) = self::method(source, path)?;
    (name.kind() == "identifier").then(|| (source.text_of(name), "path", node))
}

/// Returns the `a.path(…)` at the start of a call chain.
pub(super) fn path_call<'t>(source: &Source<'t>, mut call: Node<'t>) -> Option<Node<'t>> {
    /// Longer call chains do not occur in practice.
    const CHAIN: usize = 16;
    for _ in 0..CHAIN {
        let (object, method) = method(source, call)?;
        match (object.kind(), method) {
            (_, "path") => return Some(call),
            ("call_expression", _) => call = object,
            _ => return None,
        }
    }
    None
}

/// Returns the object and the name of a method call.
pub(super) fn method<'t>(source: &Source<'t>, call: Node<'t>) -> Option<(Node<'t>, &'t str)> {
    let function = call.child_by_field_name("function")?;
    let name = function.child_by_field_name("property")?;
    Some((function.child_by_field_name("object")?, source.text_of(name)))
}

/// Whether a name is part of a declaration in an object literal or an array.
fn is_held(around: &[Node<'_>]) -> bool {
    let kind = |up: usize| {
        around.len().checked_sub(up).and_then(|at| around.get(at)).map_or("", |node| node.kind())
    };
    let declares = match kind(1) {
        "pair" | "array" => true,
        // A shorthand property counts inside another declaration or as the argument of a schema.
        "object" => {
            matches!(kind(2), "pair" | "array")
                || kind(2) == "arguments" && kind(3) == "new_expression"
        }
        _ => false,
    };
    // `module.exports = { userSchema }` exports the schema and does not contain it.
    let exported =
        (1..=4).any(|up| matches!(kind(up), "assignment_expression" | "export_statement"));
    declares && !exported
}
