//! Python.

use std::borrow::Cow;

use tree_sitter::Node;

use docward_model::{
    Driver,
    code::{Lookup, RefusedCall},
};

use super::{Dialect, USUAL, is_module_of, named};
use crate::{
    Known, Scan,
    clients::Made,
    ir::{Arg, Call, Entry, Expr, Function, Key, Kind, Mark, Part, ScopeId, ScopeKind, Unit},
    lower::{Lower, entry, joined, unescaped},
    options::mode,
    syntax::{part, parts},
    unmapped_models,
    values::Values,
};

/// Python.
pub(crate) static DIALECT: Dialect = Dialect {
    lower: node,
    client,
    refused,
    lookup: |_| {
        Some(Lookup { expression: "os.environ[\"MONGODB_URI\"]", needs: Some("import os") })
    },
    handler_mark,
    handles,
    is_serverless: |_, function| {
        matches!(function.name, "handler" | "lambda_handler" | "main_handler")
            && function.parameters.first().is_some_and(|(name, _)| *name == "event")
    },
    is_framework: |module| is_module_of(module, &FRAMEWORKS),
    plain_functions: &["def ", "async def "],
    chains_comparisons: true,
    is_document_class,
    survey,
    ..USUAL
};

/// Modules of web frameworks, by the start of their names.
const FRAMEWORKS: [&str; 12] = [
    "flask",
    "django",
    "rest_framework",
    "fastapi",
    "starlette",
    "sanic",
    "tornado",
    "aiohttp.web",
    "bottle",
    "falcon",
    "quart",
    "pyramid",
];

fn node<'t>(l: &mut Lower<'_, 't>, node: Node<'_>, scope: ScopeId) -> Kind<'t> {
    match node.kind() {
        "module" | "block" => l.block(node, scope),
        "expression_statement" => {
            // A string in a statement of its own is documentation.
            if let [only] = parts(node).as_slice()
                && matches!(only.kind(), "string" | "concatenated_string")
            {
                l.unit.remarks.push((node.start_byte(), node.end_byte()));
                return Kind::Other(Vec::new());
            }
            l.rest(node, scope)
        }
        "decorated_definition" => {
            let marks: Vec<Mark<'t>> = parts(node)
                .into_iter()
                .filter(|child| child.kind() == "decorator")
                .filter_map(|child| l.mark(child, scope))
                .collect();
            match node.child_by_field_name("definition") {
                Some(definition) => defined(l, definition, marks, scope),
                None => Kind::Other(Vec::new()),
            }
        }
        "function_definition" | "class_definition" => defined(l, node, Vec::new(), scope),
        "lambda" => {
            let function = Function {
                name: "",
                parameters: parameters(l, node),
                marks: Vec::new(),
                passed_to: None,
                exported: false,
            };
            Kind::Function(l.function(function, node.child_by_field_name("body"), node, scope))
        }
        "for_statement" => l.repeat_each(node, scope),
        "for_in_clause" => {
            let left = l.field(node, "left", scope);
            let list = l.field(node, "right", scope);
            // The enclosing comprehension runs for each element.
            l.iterate(node.child_by_field_name("left"), &list, node.parent(), scope);
            Kind::Other(vec![left, list])
        }
        "while_statement" => l.repeat(node, &["condition"], scope),
        "if_statement" | "elif_clause" => l.branches(node, scope),
        "with_item" => {
            let Some(value) = node.child_by_field_name("value") else { return l.rest(node, scope) };
            if value.kind() != "as_pattern" {
                return l.rest(node, scope);
            }
            let held = parts(value);
            let [what, target] = held.as_slice() else { return l.rest(node, scope) };
            let what = l.node(*what, scope);
            let target = match parts(*target).first() {
                Some(name) => l.node(*name, scope),
                None => l.node(*target, scope),
            };
            l.assign(target, what, false, scope);
            Kind::Other(Vec::new())
        }
        "assignment" => l.assignment(node, false, scope),
        "augmented_assignment" => l.assignment(node, true, scope),
        "return_statement" => l.returned(node, scope),
        "global_statement" | "nonlocal_statement" => {
            let names = parts(node).into_iter().map(|name| (scope, l.text(name)));
            let names: Vec<_> = names.collect();
            l.unit.outer_names.extend(names);
            Kind::Other(Vec::new())
        }
        "import_statement" => {
            for name in parts(node) {
                if name.kind() == "aliased_import" {
                    l.import(l.field_text(name, "alias"), l.field_text(name, "name"), "");
                } else {
                    let module = l.text(name);
                    l.import(module.split('.').next().unwrap_or(module), module, "");
                }
            }
            Kind::Other(Vec::new())
        }
        "import_from_statement" => {
            let module = l.field_text(node, "module_name");
            for name in node.children_by_field_name("name", &mut node.walk()) {
                if name.kind() == "aliased_import" {
                    l.import(l.field_text(name, "alias"), module, l.field_text(name, "name"));
                } else {
                    l.import(l.text(name), module, l.text(name));
                }
            }
            Kind::Other(Vec::new())
        }
        "conditional_expression" => l.choice(node, [1, 0, 2], scope),
        "call" => {
            let callee = l.field(node, "function", scope);
            let args = arguments(l, node, scope);
            l.call(callee, args)
        }
        "attribute" => {
            Kind::Member(l.boxed(node, "object", scope), l.field_text(node, "attribute"))
        }
        "subscript" => {
            Kind::Index(l.boxed(node, "value", scope), l.boxed(node, "subscript", scope))
        }
        "string" => text(l, node, scope),
        "concatenated_string" => {
            let held = l.children(node, scope);
            joined(held)
        }
        "integer" | "float" => Kind::Number(l.text(node)),
        "true" => Kind::Bool(true),
        "false" => Kind::Bool(false),
        "none" => Kind::Null,
        "identifier" => Kind::Name(l.text(node)),
        "dictionary" => {
            let mut entries = Vec::new();
            for child in parts(node) {
                match child.kind() {
                    "pair" => {
                        let key = l.field(child, "key", scope);
                        let value = l.field(child, "value", scope);
                        entries.push(entry(key, value));
                    }
                    _ => entries.push(Entry {
                        key: Key::Spread,
                        at: child.start_byte(),
                        value: l.node(child, scope),
                    }),
                }
            }
            Kind::Object(entries)
        }
        "list" | "tuple" | "set" | "expression_list" => Kind::List(l.children(node, scope)),
        "binary_operator" => l.binary(node, scope),
        "comparison_operator" if parts(node).len() == 2 => {
            let held = parts(node);
            let (left, right) = (l.node(held[0], scope), l.node(held[1], scope));
            Kind::Binary(l.field_text(node, "operators"), Box::new(left), Box::new(right))
        }
        "boolean_operator" => Kind::Binary(
            if l.field_text(node, "operator") == "or" { "||" } else { "&&" },
            l.boxed(node, "left", scope),
            l.boxed(node, "right", scope),
        ),
        _ => l.rest(node, scope),
    }
}

fn defined<'t>(
    l: &mut Lower<'_, 't>,
    node: Node<'_>,
    marks: Vec<Mark<'t>>,
    scope: ScopeId,
) -> Kind<'t> {
    let name = l.field_text(node, "name");
    if node.kind() == "class_definition" {
        let bases = node
            .child_by_field_name("superclasses")
            .map(|list| parts(list).into_iter().map(|base| l.text(base)).collect())
            .unwrap_or_default();
        let inner = l.enter(ScopeKind::Class { name, bases, marks }, scope, node);
        l.block_field(node, "body", inner);
    } else {
        let exported = !name.starts_with('_');
        defaults(l, node, scope);
        let parameters = parameters(l, node);
        let function = Function { name, parameters, marks, passed_to: None, exported };
        l.function(function, node.child_by_field_name("body"), node, scope);
    }
    Kind::Other(Vec::new())
}

/// Defaults of parameters are lowered as expressions.
fn defaults<'t>(l: &mut Lower<'_, 't>, node: Node<'_>, scope: ScopeId) {
    let list = node.child_by_field_name("parameters");
    for child in list.map(parts).unwrap_or_default() {
        l.block_field(child, "value", scope);
    }
}

fn parameters<'t>(l: &Lower<'_, 't>, node: Node<'_>) -> Vec<(&'t str, &'t str)> {
    let Some(list) = node.child_by_field_name("parameters") else { return Vec::new() };
    parts(list)
        .into_iter()
        .map(|child| {
            let name = match child.kind() {
                "identifier" => child,
                _ => child
                    .child_by_field_name("name")
                    .or_else(|| part(child, "identifier"))
                    .unwrap_or(child),
            };
            (l.text(name), l.field_text(child, "type"))
        })
        .collect()
}

fn arguments<'t>(l: &mut Lower<'_, 't>, node: Node<'_>, scope: ScopeId) -> Vec<Arg<'t>> {
    let Some(list) = node.child_by_field_name("arguments") else { return Vec::new() };
    if list.kind() == "generator_expression" {
        return vec![Arg { name: None, value: l.node(list, scope), spread: false }];
    }
    parts(list)
        .into_iter()
        .map(|child| match child.kind() {
            "keyword_argument" => Arg {
                name: Some(l.field_text(child, "name")),
                value: l.field(child, "value", scope),
                spread: false,
            },
            "dictionary_splat" | "list_splat" => {
                Arg { name: None, value: l.node(child, scope), spread: true }
            }
            _ => Arg { name: None, value: l.node(child, scope), spread: false },
        })
        .collect()
}

fn text<'t>(l: &mut Lower<'_, 't>, node: Node<'_>, scope: ScopeId) -> Kind<'t> {
    let mut held = Vec::new();
    let mut cursor = node.walk();
    for child in node.named_children(&mut cursor) {
        match child.kind() {
            "string_content" => {
                let inner = parts(child);
                if inner.is_empty() {
                    held.push(l.literal(child));
                    continue;
                }
                // Text and escapes in turn; the text between escapes has no node.
                let mut at = child.start_byte();
                for escape in inner {
                    if escape.start_byte() > at {
                        held.push(between(l, at, escape.start_byte()));
                    }
                    let sequence = l.text(escape);
                    let read = if sequence.starts_with('\\') {
                        Cow::Owned(unescaped(sequence).into_owned())
                    } else {
                        // `{{` in a formatted text.
                        Cow::Owned(sequence.chars().take(1).collect())
                    };
                    held.push(Part::Text(read, escape.start_byte()));
                    at = escape.end_byte();
                }
                if child.end_byte() > at {
                    held.push(between(l, at, child.end_byte()));
                }
            }
            "interpolation" => {
                let expr = l.field(child, "expression", scope);
                held.push(Part::Hole(Box::new(expr)));
            }
            _ => {}
        }
    }
    Kind::Text(held)
}

fn between<'t>(l: &Lower<'_, 't>, from: usize, to: usize) -> Part<'t> {
    Part::Text(Cow::Borrowed(l.source.text.get(from..to).unwrap_or_default()), from)
}

fn client<'u, 't>(scan: &Scan<'u, 't>, expr: &'u Expr<'t>, scope: ScopeId) -> Option<Made<'u, 't>> {
    let call = expr.call()?;
    let method = call.method()?;
    let is_connect = method == "connect"
        && match call.receiver() {
            Some(of) => matches!(of.kind, Kind::Name("mongoengine" | "me")),
            None => scan.values.unit.import("connect").is_some_and(|i| i.module == "mongoengine"),
        };
    let is_client = matches!(
        method,
        "MongoClient"
            | "AsyncIOMotorClient"
            | "AsyncMongoClient"
            | "MotorClient"
            | "MotorReplicaSetClient"
            | "MongoReplicaSetClient"
    );
    if !is_connect && !is_client {
        return None;
    }
    let uri = if is_connect {
        call.named("host").or_else(|| call.positional(0).filter(|arg| scan.is_uri(arg, scope)))
    } else {
        call.positional(0).or_else(|| call.named("host"))
    };
    let mut options = Vec::new();
    let mut whole = true;
    for arg in &call.args {
        if arg.spread {
            match scan.values.document(&arg.value, scope) {
                Some(_) => whole &= scan.options_of(&arg.value, scope, &mut options),
                None => whole = false,
            }
        } else if let Some(name) = arg.name {
            options.extend(scan.values.option(name, &arg.value, arg.value.at, scope));
        }
    }
    Some(Made {
        driver: Driver::Python,
        uri: uri.map(|uri| (uri, scope)),
        options,
        whole,
        hosts: Vec::new(),
        is_shared: false,
    })
}

/// `readPreference=ReadPreference.SECONDARY_PREFERRED`: PyMongo accepts a string there, not an object.
fn refused<'u, 't>(scan: &Scan<'u, 't>, call: &'u Call<'t>) -> Option<RefusedCall> {
    let value = call.named("readPreference")?;
    let mode = mode(value).filter(|_| matches!(value.kind, Kind::Member(..)))?;
    Some(RefusedCall {
        place: scan.place(value.at, 0),
        what:
            "`readPreference` is given an object; PyMongo takes a word there and raises ValueError"
                .to_owned(),
        instead: format!("readPreference=\"{mode}\", or read_preference with the object"),
        swap: (
            scan.text.get(value.at..value.end).unwrap_or_default().to_owned(),
            format!("\"{mode}\""),
        ),
    })
}

fn handler_mark(path: &str) -> Option<&'static str> {
    let (receiver, last) = path.rsplit_once('.').unwrap_or(("", path));
    let is_method = matches!(
        last,
        "route" | "get" | "post" | "put" | "delete" | "patch" | "websocket" | "api_route"
    );
    if !receiver.is_empty() && is_method {
        Some("the route")
    } else if matches!(last, "api_view" | "login_required" | "csrf_exempt" | "require_http_methods")
    {
        Some("the view")
    } else if matches!(last, "task" | "shared_task" | "periodic_task")
        && !receiver.starts_with("locust")
    {
        Some("the task")
    } else {
        None
    }
}

fn handles<'t>(unit: &Unit<'t>, _: ScopeId, function: &Function<'t>, file: &str) -> Option<String> {
    // `@route('/users')` of Bottle, which has a default application.
    let of_bottle = |mark: &Mark<'_>| {
        matches!(mark.path.as_str(), "route" | "get" | "post" | "put" | "delete" | "patch")
            && unit.import(&mark.path).is_some_and(|import| import.module == "bottle")
    };
    if function.marks.iter().any(of_bottle) {
        return Some(named("the route", function));
    }
    let django = function.parameters.first().is_some_and(|(name, _)| *name == "request")
        && (file.ends_with("views.py") || file.contains("/views/"));
    django.then(|| named("the view", function))
}

fn is_document_class(unit: &Unit<'_>, bases: &[&str], _: &[Mark<'_>]) -> bool {
    let is_document = bases.iter().any(|base| {
        matches!(
            base.rsplit('.').next().unwrap_or(base),
            "Document" | "DynamicDocument" | "EmbeddedDocument" | "BeanieDocument"
        )
    });
    let is_known = || ["mongoengine", "beanie", "odmantic"].iter().any(|m| unit.imports_from(m));
    (is_document && is_known()) || is_of_djongo(unit, bases)
}

/// Whether a class is a model of djongo, which keeps models of Django in MongoDB: `from djongo import models`.
pub(crate) fn is_of_djongo(unit: &Unit<'_>, bases: &[&str]) -> bool {
    bases.iter().any(|base| base.ends_with("models.Model"))
        && unit.imports.iter().any(|import| import.module == "djongo" && import.name == "models")
}

fn survey<'u, 't>(values: &Values<'u, 't>, text: &str, out: &mut Known) {
    if unmapped_models::STORES.iter().any(|word| text.contains(word)) {
        out.kept = unmapped_models::classes(values);
    }
}
