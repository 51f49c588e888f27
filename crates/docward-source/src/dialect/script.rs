//! JavaScript and TypeScript.

use std::borrow::Cow;

use tree_sitter::Node;

use docward_model::{Driver, code::Lookup};

use super::{Dialect, USUAL, is_module_of, named};
use crate::{
    Known, Language, Scan,
    clients::Made,
    ir::{
        Arg, Call, Entry, Expr, Function, Key, Kind, Mark, ScopeId, ScopeKind, StatementKind, Unit,
    },
    lower::{Lower, entry},
    syntax::{part, parts},
    values::{Signs, Values},
};

/// JavaScript and TypeScript.
pub(crate) static DIALECT: Dialect = Dialect {
    lower: node,
    client,
    connects,
    formats: &[("util.format", Signs::Percent)],
    // Reading the environment has another type than a string, so TypeScript refuses it in place of a literal.
    lookup: |language| {
        let lookup = Lookup { expression: "process.env.MONGODB_URI", needs: None };
        (language == Language::JavaScript).then_some(lookup)
    },
    handler_mark: crate::handlers::mapping,
    handles,
    is_serverless,
    is_framework: |module| is_module_of(module, &FRAMEWORKS),
    plain_functions: &[
        "function ",
        "async function ",
        "export function ",
        "export async function ",
        "const ",
        "let ",
        "var ",
        "export const ",
        "exports.",
        "module.exports.",
    ],
    names_imported_files: true,
    is_document_class: |unit, _, marks| {
        marks.iter().any(|mark| mark.path == "Schema") && unit.imports_from("mongoose")
    },
    survey,
    ..USUAL
};

/// Modules of web frameworks, by the start of their names.
const FRAMEWORKS: [&str; 16] = [
    "express",
    "fastify",
    "koa",
    "@koa/",
    "@nestjs/common",
    "@hapi/",
    "hapi",
    "restify",
    "hono",
    "next",
    "nuxt",
    "apollo-server",
    "@apollo/server",
    "graphql-yoga",
    "http",
    "socket.io",
];

fn node<'t>(l: &mut Lower<'_, 't>, node: Node<'_>, scope: ScopeId) -> Kind<'t> {
    match node.kind() {
        "program" | "statement_block" => l.block(node, scope),
        "class_body" => {
            // Decorators are siblings of the declaration that they belong to.
            let mut marks = Vec::new();
            for child in parts(node) {
                match child.kind() {
                    "decorator" => marks.extend(l.mark(child, scope)),
                    "method_definition" => {
                        function(l, child, std::mem::take(&mut marks), scope);
                    }
                    _ => {
                        let expr = l.node(child, scope);
                        l.eval(expr, scope);
                        marks.clear();
                    }
                }
            }
            Kind::Other(Vec::new())
        }
        "class_declaration" | "class" | "abstract_class_declaration" => {
            let marks = marks(l, node, scope);
            class(l, node, marks, scope)
        }
        "export_statement" => {
            l.unit.exports = true;
            let marks = marks(l, node, scope);
            let before = l.unit.scopes.len();
            match node.child_by_field_name("declaration") {
                Some(declaration) if declaration.kind().contains("class") => {
                    class(l, declaration, marks, scope);
                }
                _ => {
                    let held = l.children(node, scope);
                    held.into_iter().for_each(|expr| l.eval(expr, scope));
                }
            }
            // The outermost functions of the statement are exported.
            for id in before..l.unit.scopes.len() {
                if l.unit.scopes[id].parent == scope
                    && let ScopeKind::Function(function) = &mut l.unit.scopes[id].kind
                {
                    function.exported = true;
                }
            }
            Kind::Other(Vec::new())
        }
        "function_declaration" | "generator_function_declaration" => {
            function(l, node, Vec::new(), scope);
            Kind::Other(Vec::new())
        }
        "function_expression"
        | "function"
        | "generator_function"
        | "arrow_function"
        | "method_definition" => Kind::Function(function(l, node, Vec::new(), scope)),
        "lexical_declaration" => {
            declare(l, node, scope);
            l.block(node, scope)
        }
        "variable_declaration" => {
            // `var` is visible in the whole function.
            let function = l.unit.around(scope).find(|id| {
                matches!(
                    l.unit.scopes[*id].kind,
                    ScopeKind::Function(_) | ScopeKind::Class { .. } | ScopeKind::Module
                )
            });
            declare(l, node, function.unwrap_or(0));
            l.block(node, scope)
        }
        "variable_declarator" => {
            let value = l.field(node, "value", scope);
            let Some(name) = node.child_by_field_name("name") else {
                return Kind::Other(vec![value]);
            };
            name_function(l, &value, l.text(name));
            if let Some((module, whole)) = required(&value) {
                imported(l, name, module, whole);
            }
            if let Some(members) = taken_apart(l, name, &value) {
                for (target, member) in members {
                    l.assign(target, member, false, scope);
                }
                return Kind::Other(Vec::new());
            }
            let target = pattern(l, name, scope);
            let is_list = name.kind() == "array_pattern" && !has_gaps(l.text(name));
            match (is_list, target.kind, value.kind) {
                (true, Kind::List(names), Kind::Call(call)) if is_all(&call) => {
                    assign_each(l, names, *call, scope);
                }
                (_, kind, of) => {
                    let target = Expr { kind, ..target };
                    l.assign(target, Expr { kind: of, ..value }, false, scope);
                }
            }
            Kind::Other(Vec::new())
        }
        "assignment_expression" | "augmented_assignment_expression" => {
            let target = l.field(node, "left", scope);
            let value = l.field(node, "right", scope);
            name_function(l, &value, target.last_name().unwrap_or_default());
            let exports = target.path().is_some_and(|path| {
                path.starts_with("exports.") || path.starts_with("module.exports")
            });
            if let (true, Kind::Function(id)) = (exports, &value.kind)
                && let ScopeKind::Function(function) = &mut l.unit.scopes[*id].kind
            {
                function.exported = true;
            }
            // `cached ??= make()` assigns a value; it does not add to one.
            let operator = l.field_text(node, "operator");
            let adds =
                node.kind().starts_with("augmented") && !matches!(operator, "??=" | "||=" | "&&=");
            let copy = value.clone();
            l.assign(target, value, adds, scope);
            // `return cached = x` also returns the value; parts that were already recorded are not recorded again.
            match copy.kind {
                Kind::Function(_) | Kind::Call(_) | Kind::Object(_) | Kind::List(_) => {
                    Kind::Other(Vec::new())
                }
                kind => kind,
            }
        }
        "update_expression" => {
            let target = l.field(node, "argument", scope);
            let one = Expr { at: node.start_byte(), end: node.end_byte(), kind: Kind::Number("1") };
            l.assign(target, one, true, scope);
            Kind::Other(Vec::new())
        }
        "public_field_definition" | "field_definition" => {
            let value = l.field(node, "value", scope);
            let name =
                node.child_by_field_name("name").or_else(|| node.child_by_field_name("property"));
            let Some(name) = name else { return Kind::Other(vec![value]) };
            name_function(l, &value, l.text(name));
            let target = Expr {
                at: name.start_byte(),
                end: name.end_byte(),
                kind: Kind::Name(l.text(name)),
            };
            l.assign(target, value, false, scope);
            Kind::Other(Vec::new())
        }
        "for_statement" => l.repeat(node, &["initializer", "condition", "increment"], scope),
        "for_in_statement" if l.field_text(node, "operator") == "of" => l.repeat_each(node, scope),
        "for_in_statement" => l.repeat(node, &["right"], scope),
        "while_statement" | "do_statement" => l.repeat(node, &["condition"], scope),
        "if_statement" => l.branches(node, scope),
        "switch_case" | "switch_default" => l.case(node, scope),
        "return_statement" => l.returned(node, scope),
        "import_statement" => {
            let module = node
                .child_by_field_name("source")
                .map(|source| l.text(source).trim_matches(['"', '\'']))
                .unwrap_or_default();
            if let Some(clause) = part(node, "import_clause") {
                for child in parts(clause) {
                    match child.kind() {
                        "identifier" => l.import(l.text(child), module, "default"),
                        "namespace_import" => {
                            if let Some(name) = part(child, "identifier") {
                                l.import(l.text(name), module, "");
                            }
                        }
                        "named_imports" => {
                            for item in parts(child) {
                                let name = l.field_text(item, "name");
                                let alias = l.field_text(item, "alias");
                                l.import(if alias.is_empty() { name } else { alias }, module, name);
                            }
                        }
                        _ => {}
                    }
                }
            }
            Kind::Other(Vec::new())
        }
        "call_expression" | "new_expression" => {
            let field = if node.kind() == "call_expression" { "function" } else { "constructor" };
            let callee = l.field(node, field, scope);
            let args = arguments(l, node, scope);
            l.call(callee, args)
        }
        "member_expression" => {
            Kind::Member(l.boxed(node, "object", scope), l.field_text(node, "property"))
        }
        "subscript_expression" => {
            Kind::Index(l.boxed(node, "object", scope), l.boxed(node, "index", scope))
        }
        "string" | "template_string" => l.fragments(node, scope),
        "number" => Kind::Number(l.text(node)),
        "true" => Kind::Bool(true),
        "false" => Kind::Bool(false),
        "null" | "undefined" => Kind::Null,
        "identifier"
        | "this"
        | "property_identifier"
        | "shorthand_property_identifier_pattern"
        | "private_property_identifier"
        | "super" => Kind::Name(l.text(node)),
        "object" => Kind::Object(object(l, node, scope)),
        "array" => Kind::List(l.children(node, scope)),
        "binary_expression" => l.binary(node, scope),
        "ternary_expression" => l.choice(node, [0, 1, 2], scope),
        // Types and markup of components hold nothing of interest.
        "type_annotation"
        | "type_arguments"
        | "interface_declaration"
        | "type_alias_declaration"
        | "regex" => Kind::Other(Vec::new()),
        "as_expression"
        | "satisfies_expression"
        | "non_null_expression"
        | "await_expression"
        | "parenthesized_expression" => match parts(node).first() {
            Some(inner) => l.node(*inner, scope).kind,
            None => Kind::Other(Vec::new()),
        },
        "type_assertion" => match parts(node).last() {
            Some(inner) => l.node(*inner, scope).kind,
            None => Kind::Other(Vec::new()),
        },
        _ => l.rest(node, scope),
    }
}

/// Records the names that a declaration introduces.
fn declare<'t>(l: &mut Lower<'_, 't>, node: Node<'_>, scope: ScopeId) {
    for name in parts(node).into_iter().filter_map(|part| part.child_by_field_name("name")) {
        if name.kind() == "identifier" {
            let name = l.text(name);
            l.unit.block_names.push((scope, name));
        }
    }
}

/// A function whose name is that of its assignment target.
fn name_function<'t>(l: &mut Lower<'_, 't>, value: &Expr<'t>, name: &'t str) {
    if let Kind::Function(id) = value.kind
        && let ScopeKind::Function(function) = &mut l.unit.scopes[id].kind
        && function.name.is_empty()
    {
        function.name = name;
    }
}

/// `require('x')` or `require('x').y`: the module and the name.
fn required<'t>(value: &Expr<'t>) -> Option<(Cow<'t, str>, &'t str)> {
    let (call, name) = match &value.kind {
        Kind::Member(of, name) => (of.call()?, *name),
        _ => (value.call()?, ""),
    };
    (call.method() == Some("require") && call.receiver().is_none())
        .then(|| call.positional(0)?.text().map(|module| Cow::Owned(module.into_owned())))
        .flatten()
        .map(|module| (module, name))
}

fn imported<'t>(l: &mut Lower<'_, 't>, name: Node<'_>, module: Cow<'t, str>, whole: &'t str) {
    if name.kind() == "identifier" {
        l.import(l.text(name), module, whole);
        return;
    }
    for item in parts(name) {
        match item.kind() {
            "shorthand_property_identifier_pattern" => {
                l.import(l.text(item), module.clone(), l.text(item));
            }
            "pair_pattern" => {
                l.import(l.field_text(item, "value"), module.clone(), l.field_text(item, "key"));
            }
            _ => {}
        }
    }
}

/// Whether elements are left out of a pattern: `[, second]`.
fn has_gaps(pattern: &str) -> bool {
    let plain: String = pattern.chars().filter(|c| !c.is_whitespace()).collect();
    plain.starts_with("[,") || plain.contains(",,") || plain.contains("...")
}

/// Whether a call is `Promise.all([…])` with a literal list.
fn is_all(call: &Call<'_>) -> bool {
    call.method() == Some("all")
        && call.receiver().is_some_and(|of| matches!(of.kind, Kind::Name("Promise")))
        && matches!(call.args.as_slice(), [Arg { value, .. }] if matches!(value.kind, Kind::List(_)))
}

/// `const [user, cart] = await Promise.all([findUser(), findCart()])`: each name receives its own value.
fn assign_each<'t>(l: &mut Lower<'_, 't>, names: Vec<Expr<'t>>, call: Call<'t>, scope: ScopeId) {
    let mut names = names.into_iter();
    for arg in call.args {
        let Kind::List(items) = arg.value.kind else { continue };
        for item in items {
            match names.next() {
                Some(name) => l.assign(name, item, false, scope),
                None => l.eval(item, scope),
            }
        }
    }
}

/// `const { a, b: c } = user`: the names, and the member that each of them is. `None` if the pattern is not just plain
/// members of something that has a name. A call would otherwise be recorded once for each name.
fn taken_apart<'t>(
    l: &Lower<'_, 't>,
    name: Node<'_>,
    value: &Expr<'t>,
) -> Option<Vec<(Expr<'t>, Expr<'t>)>> {
    if name.kind() != "object_pattern" || value.path().is_none() {
        return None;
    }
    let member_of = |target: Node<'_>, key: Node<'_>| {
        let at = |node: Node<'_>, kind| Expr { at: node.start_byte(), end: node.end_byte(), kind };
        let member = Kind::Member(Box::new(value.clone()), l.text(key));
        (at(target, Kind::Name(l.text(target))), at(key, member))
    };
    let of = |child: Node<'_>| match child.kind() {
        "shorthand_property_identifier_pattern" => Some(member_of(child, child)),
        "pair_pattern" => {
            let (key, target) =
                (child.child_by_field_name("key")?, child.child_by_field_name("value")?);
            let is_plain = key.kind() == "property_identifier" && target.kind() == "identifier";
            is_plain.then(|| member_of(target, key))
        }
        _ => None,
    };
    parts(name).into_iter().map(of).collect()
}

fn pattern<'t>(l: &mut Lower<'_, 't>, name: Node<'_>, scope: ScopeId) -> Expr<'t> {
    match name.kind() {
        "identifier" => l.node(name, scope),
        _ => Expr {
            at: name.start_byte(),
            end: name.end_byte(),
            kind: Kind::List(l.children(name, scope)),
        },
    }
}

fn class<'t>(
    l: &mut Lower<'_, 't>,
    node: Node<'_>,
    marks: Vec<Mark<'t>>,
    scope: ScopeId,
) -> Kind<'t> {
    let bases = part(node, "class_heritage")
        .map(|list| {
            l.text(list)
                .split([' ', ',', '\n'])
                .filter(|word| !matches!(*word, "" | "extends" | "implements"))
                .collect()
        })
        .unwrap_or_default();
    let name = l.field_text(node, "name");
    let inner = l.enter(ScopeKind::Class { name, bases, marks }, scope, node);
    l.block_field(node, "body", inner);
    Kind::Other(Vec::new())
}

fn marks<'t>(l: &mut Lower<'_, 't>, node: Node<'_>, scope: ScopeId) -> Vec<Mark<'t>> {
    let decorators: Vec<_> =
        parts(node).into_iter().filter(|child| child.kind() == "decorator").collect();
    decorators.into_iter().filter_map(|child| l.mark(child, scope)).collect()
}

fn function<'t>(
    l: &mut Lower<'_, 't>,
    node: Node<'_>,
    marks: Vec<Mark<'t>>,
    scope: ScopeId,
) -> ScopeId {
    // Defaults of parameters are lowered as expressions.
    for child in node.child_by_field_name("parameters").map(parts).unwrap_or_default() {
        let default = if child.kind() == "assignment_pattern" { "right" } else { "value" };
        l.block_field(child, default, scope);
    }
    let parameters = match node.child_by_field_name("parameters") {
        Some(list) => parts(list)
            .into_iter()
            .map(|child| {
                let name = child
                    .child_by_field_name("pattern")
                    .or_else(|| child.child_by_field_name("left"))
                    .unwrap_or(child);
                (l.text(name), l.field_text(child, "type").trim_start_matches([':', ' ']))
            })
            .collect(),
        None => vec![(l.field_text(node, "parameter"), "")],
    };
    let name = l.field_text(node, "name");
    let function = Function { name, parameters, marks, passed_to: None, exported: false };
    l.function(function, node.child_by_field_name("body"), node, scope)
}

fn arguments<'t>(l: &mut Lower<'_, 't>, node: Node<'_>, scope: ScopeId) -> Vec<Arg<'t>> {
    let Some(list) = node.child_by_field_name("arguments") else { return Vec::new() };
    if list.kind() == "template_string" {
        return vec![Arg { name: None, value: l.node(list, scope), spread: false }];
    }
    parts(list)
        .into_iter()
        .map(|child| Arg {
            name: None,
            spread: child.kind() == "spread_element",
            value: l.node(child, scope),
        })
        .collect()
}

fn object<'t>(l: &mut Lower<'_, 't>, node: Node<'_>, scope: ScopeId) -> Vec<Entry<'t>> {
    let mut entries = Vec::new();
    for child in parts(node) {
        let at = child.start_byte();
        match child.kind() {
            "pair" => {
                let value = l.field(child, "value", scope);
                let Some(key) = child.child_by_field_name("key") else { continue };
                match key.kind() {
                    "property_identifier" | "number" => {
                        name_function(l, &value, l.text(key));
                        entries.push(Entry { key: Key::Text(l.text(key).into()), value, at });
                    }
                    "computed_property_name" => {
                        let inner = parts(key).first().map(|inner| l.node(*inner, scope));
                        entries.push(entry(inner.unwrap_or_else(|| Expr::nothing(at)), value));
                    }
                    _ => {
                        let key = l.node(key, scope);
                        entries.push(entry(key, value));
                    }
                }
            }
            "shorthand_property_identifier" => {
                let name = l.text(child);
                let value = Expr { at, end: child.end_byte(), kind: Kind::Name(name) };
                entries.push(Entry { key: Key::Text(name.into()), value, at });
            }
            "method_definition" => {
                let id = function(l, child, Vec::new(), scope);
                let value = Expr { at, end: child.end_byte(), kind: Kind::Function(id) };
                entries.push(Entry {
                    key: Key::Text(l.field_text(child, "name").into()),
                    value,
                    at,
                });
            }
            _ => entries.push(Entry { key: Key::Spread, value: l.node(child, scope), at }),
        }
    }
    entries
}

fn client<'u, 't>(scan: &Scan<'u, 't>, expr: &'u Expr<'t>, scope: ScopeId) -> Option<Made<'u, 't>> {
    let call = expr.call()?;
    // `require('monk')('…')` has no name of its own.
    let method = call.method().unwrap_or_default();
    let of = call.receiver().and_then(Expr::last_name);
    let is_from = |expr: &Expr<'t>, modules: &[&str]| {
        scan.values.module_of(expr).is_some_and(|module| modules.contains(&module.as_str()))
    };
    let driver = match (of, method) {
        // `mongoskin.db('host/name')`, `monk('host/name')`, `mongojs('host/name')`.
        _ if is_from(&call.callee, &["monk", "mongojs"]) => Driver::Node,
        (_, "db") if call.receiver().is_some_and(|of| is_from(of, &["mongoskin"])) => Driver::Node,
        (None, "MongoClient") | (Some("MongoClient"), "connect") => Driver::Node,
        (Some("mongodb" | "mongo"), "MongoClient") => Driver::Node,
        (Some("mongoose"), "connect" | "createConnection") => Driver::Mongoose,
        (None, "connect" | "createConnection")
            if scan.values.unit.import(method).is_some_and(|i| i.module == "mongoose") =>
        {
            Driver::Mongoose
        }
        (Some("MongooseModule"), "forRoot") => Driver::Mongoose,
        (None, "monk") => Driver::Node,
        // Meteor connects without a call in the code, with these options.
        (Some("Mongo"), "setConnectionOptions") => {
            let mut options = Vec::new();
            let whole = scan.options_of(call.positional(0)?, scope, &mut options);
            return Some(Made {
                driver: Driver::Node,
                uri: None,
                options,
                whole,
                hosts: Vec::new(),
                is_shared: false,
            });
        }
        _ => return None,
    };
    let uri = call.positional(0)?;
    let mut options = Vec::new();
    let whole = match call.positional(1) {
        Some(arg) if matches!(arg.kind, Kind::Function(_)) => true,
        Some(arg) => scan.options_of(arg, scope, &mut options),
        None => true,
    };
    Some(Made {
        driver,
        uri: Some((uri, scope)),
        options,
        whole,
        hosts: Vec::new(),
        is_shared: false,
    })
}

/// Whether a call connects immediately and the code can observe the result. The driver and Mongoose do so.
fn connects<'u, 't>(
    scan: &Scan<'u, 't>,
    expr: &'u Expr<'t>,
    call: &'u Call<'t>,
    scope: ScopeId,
) -> bool {
    let of = call.receiver().and_then(Expr::last_name);
    let method = call.method().unwrap_or_default();
    let values = &scan.values;
    let is_imported = || values.unit.import(method).is_some_and(|i| i.module == "mongoose");
    let is_client = call.receiver().is_some_and(|of| values.is_client(of, scope));
    let is_other = of.is_some_and(crate::contacts::is_of_another);
    let in_file = values.is_mongo_file() || values.is_mapper_file();
    match method {
        "connect" => {
            let is_own = is_client || is_imported() || (of.is_some() && in_file && !is_other);
            is_own && scan.is_heard(expr, call)
        }
        "asPromise" => in_file,
        "forRoot" | "forRootAsync" => of == Some("MongooseModule"),
        _ => false,
    }
}

fn handles<'t>(
    unit: &Unit<'t>,
    id: ScopeId,
    function: &Function<'t>,
    file: &str,
) -> Option<String> {
    let is_verb = matches!(function.name, "GET" | "POST" | "PUT" | "DELETE" | "PATCH");
    let answers = has_request_parameters(function)
        || function.exported && is_verb && is_route_file(file)
        || answers_context(unit, id, function);
    answers.then(|| named("the request handler", function))
}

/// `async (ctx) => { ctx.body = … }` of Koa.
fn answers_context<'t>(unit: &Unit<'t>, id: ScopeId, function: &Function<'t>) -> bool {
    function.parameters.first().is_some_and(|(name, _)| *name == "ctx")
        && unit.statements.iter().any(|statement| match &statement.kind {
            StatementKind::Assign { target, .. } => {
                unit.is_in(statement.scope, id) && target.path().as_deref() == Some("ctx.body")
            }
            _ => false,
        })
}

fn has_request_parameters(function: &Function<'_>) -> bool {
    let names: Vec<&str> = function.parameters.iter().map(|(name, _)| *name).collect();
    let is_request = |name: &str| matches!(name, "req" | "request" | "_req");
    match names.as_slice() {
        [request, response, ..] => {
            is_request(request) && matches!(*response, "res" | "response" | "reply" | "_res")
        }
        _ => false,
    }
}

fn is_route_file(file: &str) -> bool {
    let name = file.rsplit('/').next().unwrap_or(file);
    name.starts_with("route.") || file.contains("/api/") || file.contains("pages/api")
}

/// `exports.handler = async (event, context)`, `functions.https.onRequest(…)`.
fn is_serverless<'t>(_: &Unit<'t>, function: &Function<'t>) -> bool {
    let first = function.parameters.first().map_or("", |(name, _)| *name);
    let is_named =
        matches!(function.name, "handler" | "lambda_handler" | "main_handler" | "handle");
    (is_named && function.exported && matches!(first, "event" | "_event" | "evt"))
        || function
            .passed_to
            .as_deref()
            .is_some_and(|to| to.ends_with("https.onRequest") || to.ends_with("https.onCall"))
}

fn survey<'u, 't>(values: &Values<'u, 't>, _: &str, out: &mut Known) {
    models(values, out);
    // Mongoose adds the version to the filter of every save.
    if asks_for_version(values.unit) {
        out.versioned.extend(out.models.keys().cloned());
    }
}

/// `mongoose.model('User', schema, 'users')`, and the variable it is assigned to.
fn models<'u, 't>(values: &Values<'u, 't>, out: &mut Known) {
    let unit = values.unit;
    unit.each(|scope, expr| {
        if let Some(call) = expr.call()
            && matches!(call.method(), Some("model"))
            && (call.receiver().and_then(Expr::last_name).is_none_or(|of| {
                matches!(of, "mongoose" | "connection" | "conn" | "db" | "models")
            }) || call.args.len() >= 2 && unit.imports_from("mongoose"))
            && (call.receiver().is_some()
                || unit.import("model").is_some_and(|i| i.module == "mongoose"))
            && let Some(name) = call.positional(0).and_then(|arg| values.text(arg, scope))
        {
            let collection = call.positional(2).and_then(|arg| values.text(arg, scope));
            out.models.insert(name, collection.unwrap_or_default());
        }
    });
}

/// Whether a schema requests the version check: `{optimisticConcurrency: true}`.
fn asks_for_version(unit: &Unit<'_>) -> bool {
    let mut found = false;
    unit.each(|_, expr| {
        let Kind::Object(entries) = &expr.kind else { return };
        found |= entries.iter().any(|entry| {
            entry.name() == Some("optimisticConcurrency")
                && !matches!(entry.value.kind, Kind::Bool(false))
        });
    });
    found
}
