//! Kotlin. Its grammar has few fields, so children are distinguished by their kinds.

use std::borrow::Cow;

use tree_sitter::Node;

use super::{Dialect, java::JVM};
use crate::{
    ir::{Arg, Expr, Function, Kind, Mark, Part, ScopeId, ScopeKind},
    lower::Lower,
    syntax::{part, parts},
};

/// Kotlin.
pub(crate) static DIALECT: Dialect = Dialect {
    lower: node,
    handles: |_, _, function, _| {
        let is_getter = function.passed_to.as_deref() == Some("getter");
        is_getter.then(|| "the getter of a property".to_owned())
    },
    // `get("/users") { … }` of Ktor.
    is_route: |to| matches!(to, "get" | "post" | "put" | "delete" | "patch"),
    ..JVM
};

fn node<'t>(l: &mut Lower<'_, 't>, node: Node<'_>, scope: ScopeId) -> Kind<'t> {
    match node.kind() {
        "source_file" | "block" | "class_body" | "enum_class_body" => l.block(node, scope),
        "class_declaration" | "object_declaration" | "companion_object" => {
            let marks = marks(l, node, scope);
            let bases = part(node, "delegation_specifiers")
                .map(|list| {
                    l.text(list).split([' ', ',', '(', ')', '<', '>']).filter(|w| !w.is_empty())
                })
                .into_iter()
                .flatten()
                .collect();
            let kind = ScopeKind::Class { name: l.field_text(node, "name"), bases, marks };
            let inner = l.enter(kind, scope, node);
            for body in ["primary_constructor", "class_body", "enum_class_body"] {
                if let Some(body) = part(node, body) {
                    let expr = l.node(body, inner);
                    l.eval(expr, inner);
                }
            }
            Kind::Other(Vec::new())
        }
        "function_declaration" | "anonymous_function" => {
            let marks = marks(l, node, scope);
            // Defaults of parameters are lowered as expressions.
            for child in part(node, "function_value_parameters").map(parts).unwrap_or_default() {
                if child.kind() != "parameter" {
                    let expr = l.node(child, scope);
                    l.eval(expr, scope);
                }
            }
            let function = Function {
                name: l.field_text(node, "name"),
                parameters: parameters(l, node),
                marks,
                passed_to: None,
                exported: true,
            };
            let id = l.function(function, part(node, "function_body"), node, scope);
            if node.kind() == "anonymous_function" {
                Kind::Function(id)
            } else {
                Kind::Other(Vec::new())
            }
        }
        "lambda_literal" => {
            let parameters = part(node, "lambda_parameters")
                .map(|list| parts(list).into_iter().map(|p| (l.text(p), "")).collect())
                .unwrap_or_default();
            let function = Function {
                name: "",
                parameters,
                marks: Vec::new(),
                passed_to: None,
                exported: false,
            };
            let inner = l.enter(ScopeKind::Function(function), scope, node);
            for child in parts(node) {
                if child.kind() != "lambda_parameters" {
                    let expr = l.node(child, inner);
                    l.eval(expr, inner);
                }
            }
            Kind::Function(inner)
        }
        // A getter runs on every access.
        "getter" => {
            let function = Function {
                name: "getter",
                parameters: Vec::new(),
                marks: Vec::new(),
                passed_to: Some("getter".to_owned()),
                exported: true,
            };
            l.function(function, part(node, "function_body"), node, scope);
            Kind::Other(Vec::new())
        }
        "property_declaration" => {
            let Some(declared) = part(node, "variable_declaration") else {
                return l.rest(node, scope);
            };
            let value = parts(node)
                .into_iter()
                .rev()
                .find(|child| {
                    !matches!(
                        child.kind(),
                        "variable_declaration"
                            | "modifiers"
                            | "getter"
                            | "setter"
                            | "type_parameters"
                            | "user_type"
                            | "nullable_type"
                    )
                })
                .map(|child| l.node(child, scope));
            let name = part(declared, "identifier").unwrap_or(declared);
            if l.unit.function(scope).is_some() {
                l.unit.locals.push((scope, l.text(name)));
            }
            let target = Expr {
                at: name.start_byte(),
                end: name.end_byte(),
                kind: Kind::Name(l.text(name)),
            };
            if let Some(value) = value {
                l.assign(target, value, false, scope);
            }
            if let Some(getter) = part(node, "getter") {
                l.node(getter, scope);
            }
            l.modifiers(node, scope);
            Kind::Other(Vec::new())
        }
        "assignment" => {
            let adds = l.field_text(node, "operator") != "=";
            l.assignment(node, adds, scope)
        }
        "for_statement" => {
            let held = parts(node);
            let inner = l.enter(ScopeKind::Loop, scope, node);
            for (n, child) in held.iter().enumerate() {
                let expr = l.node(*child, inner);
                // The element, the list and the body.
                if n == 1 {
                    l.iterate(held.first().copied(), &expr, held.get(2).copied(), scope);
                }
                l.eval(expr, inner);
            }
            Kind::Other(Vec::new())
        }
        "while_statement" | "do_while_statement" => l.whole_loop(node, scope),
        "return_expression" => l.returned(node, scope),
        "import" => l.imported_path(node),
        "call_expression" => {
            let held = parts(node);
            let Some(first) = held.first() else { return Kind::Other(Vec::new()) };
            let mut callee = l.node(*first, scope);
            let mut args = Vec::new();
            // `get("/") { … }` is one call, whose last argument is the function.
            if matches!(callee.kind, Kind::Call(_))
                && held.iter().skip(1).all(|child| child.kind() == "annotated_lambda")
                && let Kind::Call(inner) = std::mem::replace(&mut callee.kind, Kind::Null)
            {
                (callee, args) = (inner.callee, inner.args);
            }
            for child in held.iter().skip(1) {
                match child.kind() {
                    "value_arguments" => args.extend(arguments(l, *child, scope)),
                    "annotated_lambda" => {
                        args.push(Arg { name: None, value: l.node(*child, scope), spread: false });
                    }
                    _ => {}
                }
            }
            l.call(callee, args)
        }
        "navigation_expression" => {
            let held = parts(node);
            // `User::comments` names a property.
            let mut cursor = node.walk();
            let is_reference = node.children(&mut cursor).any(|child| child.kind() == "::");
            match held.as_slice() {
                [_, .., name] if is_reference => {
                    Kind::Text(vec![Part::Text(Cow::Borrowed(l.text(*name)), name.start_byte())])
                }
                [of, .., name] => Kind::Member(Box::new(l.node(*of, scope)), l.text(*name)),
                _ => l.rest(node, scope),
            }
        }
        "index_expression" => {
            let held = parts(node);
            match held.as_slice() {
                [of, at] => Kind::Index(Box::new(l.node(*of, scope)), Box::new(l.node(*at, scope))),
                _ => l.rest(node, scope),
            }
        }
        "string_literal" | "multiline_string_literal" => {
            let text = l.fragments(node, scope);
            with_names(text, l.text(node), node.start_byte())
        }
        "number_literal" | "float_literal" => Kind::Number(l.text(node)),
        "identifier" | "this_expression" => match l.text(node) {
            "true" => Kind::Bool(true),
            "false" => Kind::Bool(false),
            "null" => Kind::Null,
            name => Kind::Name(name),
        },
        "binary_expression" => l.binary(node, scope),
        // `User::comments` and `a to b`: KMongo and documents.
        "infix_expression" => {
            let held = parts(node);
            match held.as_slice() {
                [left, word, right] => Kind::Binary(
                    l.text(*word),
                    Box::new(l.node(*left, scope)),
                    Box::new(l.node(*right, scope)),
                ),
                _ => l.rest(node, scope),
            }
        }
        "collection_literal" => Kind::List(l.children(node, scope)),
        "callable_reference" => {
            let name = l.text(node).rsplit("::").next().unwrap_or_default();
            Kind::Text(vec![Part::Text(Cow::Borrowed(name), node.start_byte())])
        }
        "user_type" | "type_arguments" | "package_header" => Kind::Other(Vec::new()),
        _ => l.rest(node, scope),
    }
}

fn parameters<'t>(l: &Lower<'_, 't>, node: Node<'_>) -> Vec<(&'t str, &'t str)> {
    let Some(list) = part(node, "function_value_parameters") else { return Vec::new() };
    parts(list)
        .into_iter()
        .filter(|child| child.kind() == "parameter")
        .map(|child| {
            let held = parts(child);
            let text = |at: usize| held.get(at).map_or("", |child| l.text(*child));
            (text(0), text(1))
        })
        .collect()
}

fn marks<'t>(l: &mut Lower<'_, 't>, node: Node<'_>, scope: ScopeId) -> Vec<Mark<'t>> {
    let Some(modifiers) = part(node, "modifiers") else { return Vec::new() };
    let annotations: Vec<_> =
        parts(modifiers).into_iter().filter(|child| child.kind() == "annotation").collect();
    annotations
        .into_iter()
        .filter_map(|child| {
            let held = parts(child).into_iter().last()?;
            if held.kind() == "constructor_invocation" {
                let name = parts(held).first().map(|name| l.text(*name)).unwrap_or_default();
                let args = part(held, "value_arguments").map(|list| arguments(l, list, scope));
                Some(Mark { path: name.to_owned(), args: args.unwrap_or_default() })
            } else {
                Some(Mark { path: l.text(held).to_owned(), args: Vec::new() })
            }
        })
        .collect()
}

fn arguments<'t>(l: &mut Lower<'_, 't>, list: Node<'_>, scope: ScopeId) -> Vec<Arg<'t>> {
    parts(list)
        .into_iter()
        .filter_map(|child| {
            let held = parts(child);
            match held.as_slice() {
                [value] => Some(Arg {
                    name: None,
                    spread: value.kind() == "spread_expression",
                    value: l.node(*value, scope),
                }),
                [name, value] => Some(Arg {
                    name: Some(l.text(*name)),
                    value: l.node(*value, scope),
                    spread: false,
                }),
                _ => None,
            }
        })
        .collect()
}

/// Replaces `$name` in a string by the value of the name. The grammar has only pieces of text
/// there.
fn with_names<'t>(text: Kind<'t>, source: &'t str, start: usize) -> Kind<'t> {
    let Kind::Text(held) = text else { return text };
    let mut parts = Vec::new();
    let mut held = held.into_iter().peekable();
    while let Some(part) = held.next() {
        let Part::Text(Cow::Borrowed(text), at) = part else {
            parts.push(part);
            continue;
        };
        let mut end = at + text.len();
        let follows = |next: &Part<'t>, end: usize| matches!(next, Part::Text(Cow::Borrowed(_), at) if *at == end);
        while let Some(Part::Text(more, _)) = held.next_if(|next| follows(next, end)) {
            end += more.len();
        }
        let whole = source.get(at.saturating_sub(start)..end.saturating_sub(start));
        split(whole.unwrap_or(text), at, &mut parts);
    }
    Kind::Text(parts)
}

fn split<'t>(text: &'t str, at: usize, parts: &mut Vec<Part<'t>>) {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let mut begin = 0;
    for (dollar, _) in text.match_indices('$') {
        let rest = &text[dollar + 1..];
        let name = &rest[..rest.find(|c| !is_name(c)).unwrap_or(rest.len())];
        if dollar < begin
            || name.starts_with(|c: char| !c.is_alphabetic() && c != '_')
            || name.is_empty()
        {
            continue;
        }
        if dollar > begin {
            parts.push(Part::Text(Cow::Borrowed(&text[begin..dollar]), at + begin));
        }
        let (from, end) = (at + dollar + 1, at + dollar + 1 + name.len());
        parts.push(Part::Hole(Box::new(Expr { at: from, end, kind: Kind::Name(name) })));
        begin = dollar + 1 + name.len();
    }
    if begin < text.len() {
        parts.push(Part::Text(Cow::Borrowed(&text[begin..]), at + begin));
    }
}
