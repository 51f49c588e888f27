//! Go.

use std::{borrow::Cow, collections::BTreeSet};

use tree_sitter::Node;

use docward_model::Driver;

use super::{Dialect, USUAL};
use crate::{
    Scan,
    clients::Made,
    ir::{Arg, Entry, Expr, Function, Key, Kind, ScopeId, Unit},
    lower::{Lower, entry},
    options::Chain,
    syntax::parts,
    values::{Signs, Values},
};

/// Go.
pub(crate) static DIALECT: Dialect = Dialect {
    lower: node,
    client,
    connects: |_, _, call, _| {
        call.receiver().and_then(Expr::last_name) == Some("mgo")
            && call.method().is_some_and(|method| method.starts_with("Dial"))
    },
    builders: &BUILDERS,
    formats: &[("fmt.Sprintf", Signs::Percent)],
    is_serverless: |_, function| {
        function
            .parameters
            .iter()
            .any(|(_, class)| class.contains("events.APIGateway") || class.contains("events.SQS"))
    },
    is_framework: |module| FRAMEWORKS.iter().any(|known| module.contains(known)),
    entry_functions: &["init"],
    // The context.
    leading_arguments: 1,
    survey: |values, text, out| {
        out.stored = stored_structs(values, text);
        out.written = out.stored.clone();
        out.written.extend(made_structs(values.unit, text));
    },
    ..USUAL
};

/// Modules of web frameworks, which have a path.
const FRAMEWORKS: [&str; 7] = [
    "net/http",
    "gin-gonic/gin",
    "labstack/echo",
    "gofiber/fiber",
    "gorilla/mux",
    "go-chi/chi",
    "google.golang.org/grpc",
];

/// Methods of `options.Client()`, and the option each sets.
const BUILDERS: [(&str, &str); 17] = [
    ("SetMaxPoolSize", "maxPoolSize"),
    ("SetMinPoolSize", "minPoolSize"),
    ("SetMaxConnIdleTime", "maxIdleTimeMS"),
    ("SetConnectTimeout", "connectTimeoutMS"),
    ("SetSocketTimeout", "socketTimeoutMS"),
    ("SetServerSelectionTimeout", "serverSelectionTimeoutMS"),
    ("SetRetryWrites", "retryWrites"),
    ("SetRetryReads", "retryReads"),
    ("SetWriteConcern", "w"),
    ("SetReadPreference", "readPreference"),
    ("SetAppName", "appName"),
    ("SetDirect", "directConnection"),
    ("SetReplicaSet", "replicaSet"),
    ("SetTimeout", "timeoutMS"),
    ("SetLoadBalanced", "loadBalanced"),
    ("SetHeartbeatInterval", "heartbeatFrequencyMS"),
    ("SetMaxConnecting", "maxConnecting"),
];

fn node<'t>(l: &mut Lower<'_, 't>, node: Node<'_>, scope: ScopeId) -> Kind<'t> {
    match node.kind() {
        "source_file" | "block" | "statement_list" => l.block(node, scope),
        "function_declaration" | "method_declaration" | "func_literal" => {
            let name = l.field_text(node, "name");
            let function = Function {
                name,
                parameters: parameters(l, node),
                marks: Vec::new(),
                passed_to: None,
                exported: name.starts_with(char::is_uppercase),
            };
            let id = l.function(function, node.child_by_field_name("body"), node, scope);
            if node.kind() == "func_literal" { Kind::Function(id) } else { Kind::Other(Vec::new()) }
        }
        "short_var_declaration" | "assignment_statement" => {
            let adds =
                node.kind() == "assignment_statement" && l.field_text(node, "operator") != "=";
            let targets = list(l, node, "left", scope);
            if node.kind() == "short_var_declaration" {
                declare(l, &targets, scope);
            }
            let values = list(l, node, "right", scope);
            pairs(l, targets, values, adds, scope);
            Kind::Other(Vec::new())
        }
        "var_spec" | "const_spec" => {
            let names: Vec<_> = node.children_by_field_name("name", &mut node.walk()).collect();
            let targets: Vec<_> = names.into_iter().map(|name| l.node(name, scope)).collect();
            declare(l, &targets, scope);
            let values = list(l, node, "value", scope);
            pairs(l, targets, values, false, scope);
            Kind::Other(Vec::new())
        }
        "for_statement" => l.whole_loop(node, scope),
        "range_clause" => {
            let list = l.field(node, "right", scope);
            let body = node.parent().and_then(|around| around.child_by_field_name("body"));
            l.iterate(node.child_by_field_name("left"), &list, body, scope);
            list.kind
        }
        "if_statement" => {
            l.block_field(node, "initializer", scope);
            l.branches(node, scope)
        }
        "return_statement" => l.returned(node, scope),
        "import_spec" => {
            let path = l.field_text(node, "path").trim_matches(['"', '`']);
            // `/v2` at the end is a version, not a name.
            let mut names = path.rsplit('/');
            let last = names.next().unwrap_or(path);
            let is_version =
                last.strip_prefix('v').is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()));
            let name = if is_version { names.next().unwrap_or(last) } else { last };
            let alias = l.field_text(node, "name");
            l.import(if alias.is_empty() { name } else { alias }, path, "");
            Kind::Other(Vec::new())
        }
        "call_expression" => {
            let callee = l.field(node, "function", scope);
            let args = match node.child_by_field_name("arguments") {
                Some(list) => parts(list)
                    .into_iter()
                    .map(|child| Arg {
                        name: None,
                        spread: child.kind() == "variadic_argument",
                        value: l.node(child, scope),
                    })
                    .collect(),
                None => Vec::new(),
            };
            l.call(callee, args)
        }
        "selector_expression" => {
            Kind::Member(l.boxed(node, "operand", scope), l.field_text(node, "field"))
        }
        "index_expression" => {
            Kind::Index(l.boxed(node, "operand", scope), l.boxed(node, "index", scope))
        }
        "composite_literal" => {
            let class = l.field_text(node, "type");
            let body = node.child_by_field_name("body");
            let held = body.map(|body| l.node(body, scope).kind);
            match held {
                Some(kind) => documents(mapped(kind, class), class),
                None => Kind::Other(Vec::new()),
            }
        }
        "literal_value" => {
            let mut entries = Vec::new();
            let mut items = Vec::new();
            for child in parts(node) {
                if child.kind() == "keyed_element" {
                    let held = parts(child);
                    if let [key, value] = held.as_slice() {
                        let key = l.node(*key, scope);
                        let value = l.node(*value, scope);
                        // Names of fields of a struct are names, keys of a map are expressions.
                        entries.push(match key.kind {
                            Kind::Name(name) => {
                                Entry { key: Key::Text(name.into()), value, at: key.at }
                            }
                            _ => entry(key, value),
                        });
                    }
                } else {
                    items.push(l.node(child, scope));
                }
            }
            if entries.is_empty() { Kind::List(items) } else { Kind::Object(entries) }
        }
        "interpreted_string_literal" => l.fragments(node, scope),
        "raw_string_literal" => l.quoted(node, 1),
        "int_literal" | "float_literal" => Kind::Number(l.text(node)),
        "true" => Kind::Bool(true),
        "false" => Kind::Bool(false),
        "nil" => Kind::Null,
        "identifier" | "type_identifier" | "field_identifier" | "package_identifier" => {
            Kind::Name(l.text(node))
        }
        "binary_expression" => l.binary(node, scope),
        "unary_expression" => l.field(node, "operand", scope).kind,
        "type_declaration" => Kind::Other(Vec::new()),
        _ => l.rest(node, scope),
    }
}

fn list<'t>(l: &mut Lower<'_, 't>, node: Node<'_>, field: &str, scope: ScopeId) -> Vec<Expr<'t>> {
    match node.child_by_field_name(field) {
        Some(child) if child.kind() == "expression_list" => {
            parts(child).into_iter().map(|item| l.node(item, scope)).collect()
        }
        Some(child) => vec![l.node(child, scope)],
        None => Vec::new(),
    }
}

fn declare<'t>(l: &mut Lower<'_, 't>, targets: &[Expr<'t>], scope: ScopeId) {
    let names = targets.iter().filter_map(Expr::last_name);
    l.unit.locals.extend(names.map(|name| (scope, name)));
}

/// Pairs names and values. In `a, err := f()`, the call belongs to the first name. In `a, ok := m[k]`, both names
/// describe the element.
fn pairs<'t>(
    l: &mut Lower<'_, 't>,
    targets: Vec<Expr<'t>>,
    values: Vec<Expr<'t>>,
    adds: bool,
    scope: ScopeId,
) {
    if let ([_, found], [value]) = (targets.as_slice(), values.as_slice())
        && matches!(value.kind, Kind::Index(..))
    {
        l.assign(found.clone(), value.clone(), adds, scope);
    }
    let mut values = values.into_iter();
    for target in targets {
        if let Some(value) = values.next() {
            l.assign(target, value, adds, scope);
        }
    }
    values.for_each(|value| l.eval(value, scope));
}

fn parameters<'t>(l: &Lower<'_, 't>, node: Node<'_>) -> Vec<(&'t str, &'t str)> {
    let Some(list) = node.child_by_field_name("parameters") else { return Vec::new() };
    parts(list)
        .into_iter()
        .map(|child| (l.field_text(child, "name"), l.field_text(child, "type")))
        .collect()
}

/// Keys of a map are expressions: an identifier is a constant, not the name of a field.
fn mapped<'t>(kind: Kind<'t>, class: &str) -> Kind<'t> {
    let is_map = class.ends_with(".M") || class == "M" || class.starts_with("map[");
    let Kind::Object(entries) = kind else { return kind };
    let entries = entries.into_iter().map(|entry| match entry.key {
        Key::Text(Cow::Borrowed(name)) if is_map => {
            let key = Expr { at: entry.at, end: entry.at + name.len(), kind: Kind::Name(name) };
            Entry { key: Key::Computed(Box::new(key)), ..entry }
        }
        _ => entry,
    });
    Kind::Object(entries.collect())
}

/// `bson.D{{"a", 1}, {Key: "b", Value: 2}}` is a document like `bson.M{"a": 1, "b": 2}`.
fn documents<'t>(kind: Kind<'t>, class: &str) -> Kind<'t> {
    let Kind::List(items) = kind else { return kind };
    if !matches!(class, "bson.D" | "primitive.D" | "D") {
        return Kind::List(items);
    }
    let entries = items
        .into_iter()
        .map(|item| {
            let at = item.at;
            match item.kind {
                Kind::List(mut pair) if pair.len() == 2 => {
                    let value = pair.remove(1);
                    entry(pair.remove(0), value)
                }
                Kind::Object(fields) => {
                    let mut key = Expr::nothing(at);
                    let mut value = Expr::nothing(at);
                    for field in fields {
                        match field.name() {
                            Some("Key") => key = field.value,
                            Some("Value") => value = field.value,
                            _ => {}
                        }
                    }
                    entry(key, value)
                }
                _ => Entry { key: Key::Computed(Box::new(Expr::nothing(at))), value: item, at },
            }
        })
        .collect();
    Kind::Object(entries)
}

fn client<'u, 't>(scan: &Scan<'u, 't>, expr: &'u Expr<'t>, scope: ScopeId) -> Option<Made<'u, 't>> {
    let call = expr.call()?;
    let method = call.method()?;
    let of = call.receiver().and_then(Expr::last_name)?;
    match (of, method) {
        ("mongo", "Connect" | "NewClient") => {}
        ("mgo", "Dial" | "DialWithTimeout") => {
            return Some(Made {
                driver: Driver::Go,
                uri: call.positional(0).map(|uri| (uri, scope)),
                options: Vec::new(),
                whole: true,
                hosts: Vec::new(),
                is_shared: false,
            });
        }
        _ => return None,
    }
    let mut chain = Chain::new(scan.text);
    for arg in &call.args {
        let is_context = arg.value.last_name().is_some_and(|name| name.contains("tx"))
            || arg.value.call().and_then(|c| c.receiver()).and_then(Expr::last_name)
                == Some("context");
        if !is_context {
            scan.values.chain(&arg.value, scope, 0, &mut chain);
            chain.whole &= !arg.spread;
        }
    }
    Some(Made {
        driver: Driver::Go,
        uri: chain.uri,
        options: chain.options(),
        whole: chain.whole && !chain.hosts,
        hosts: chain.host_names,
        is_shared: false,
    })
}

/// Structs of Go that a file passes to a collection: `InsertOne(ctx, User{…})`, or a variable of the type.
pub(crate) fn stored_structs<'u, 't>(values: &Values<'u, 't>, text: &str) -> BTreeSet<String> {
    let unit = values.unit;
    let mut stored = BTreeSet::new();
    unit.each(|scope, expr| {
        let Some(call) = expr.call() else { return };
        let given: Vec<&Expr<'t>> = match call.method() {
            Some("InsertOne" | "Insert" | "InsertMany" | "ReplaceOne" | "FindOneAndReplace") => {
                call.args.iter().map(|arg| &arg.value).collect()
            }
            // `bson.M{"$set": user}`: the struct as a whole.
            Some("UpdateOne" | "UpdateByID" | "FindOneAndUpdate") => {
                let documents = call.args.iter().filter_map(|a| values.document(&a.value, scope));
                let set = documents.flatten().filter(|f| f.is("$set") || f.is("$setOnInsert"));
                set.map(|field| field.value).collect()
            }
            _ => return,
        };
        for value in given {
            let written = text.get(value.at..value.end).unwrap_or_default();
            if matches!(value.kind, Kind::Object(_)) {
                stored.extend(struct_name(written));
            }
            let Kind::Name(name) = &value.kind else { continue };
            for (_, value) in values.given(name, scope) {
                if matches!(value.kind, Kind::Object(_)) {
                    stored.extend(struct_name(text.get(value.at..value.end).unwrap_or_default()));
                }
            }
            if let Some((id, function)) = unit.function(scope) {
                let parameter = function.parameters.iter().find(|(other, _)| other == name);
                stored.extend(parameter.and_then(|(_, class)| struct_name(class)));
                let scope = &unit.scopes[id];
                let body = text.get(scope.at..scope.end).unwrap_or_default();
                let start = format!("var {name} ");
                let declared = body.lines().find_map(|l| l.trim().strip_prefix(&start));
                stored.extend(declared.and_then(struct_name));
            }
        }
    });
    stored
}

/// Structs of Go that a file creates with values: only a created struct can be written.
pub(crate) fn made_structs(unit: &Unit<'_>, text: &str) -> BTreeSet<String> {
    let mut made = BTreeSet::new();
    unit.each(|_, expr| {
        if matches!(&expr.kind, Kind::Object(entries) if !entries.is_empty()) {
            made.extend(struct_name(text.get(expr.at..expr.end).unwrap_or_default()));
        }
    });
    made
}

/// The name of a struct, without its package: of `&models.User{…}`, `[]User`, `*User`.
pub(crate) fn struct_name(text: &str) -> Option<String> {
    let name = text.trim_start_matches(['&', '*', ' ', '[', ']']).split(['{', ' ']).next()?.trim();
    let name = name.rsplit('.').next()?;
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    is_name.then(|| name.to_owned())
}
