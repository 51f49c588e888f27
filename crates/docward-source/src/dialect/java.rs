//! Java.

use tree_sitter::Node;

use docward_model::Driver;

use super::{Dialect, Duration, USUAL, is_module_of};
use crate::{
    Known, Scan,
    clients::Made,
    ir::{Arg, Expr, Function, Kind, Mark, ScopeId, ScopeKind, Unit},
    lower::Lower,
    options::Chain,
    syntax::{part, parts},
    values::{Signs, Values},
};

/// Java.
pub(crate) static DIALECT: Dialect = Dialect { lower: node, ..JVM };

/// The common parts of Java and Kotlin: the driver, Spring, and the standard library.
pub(super) const JVM: Dialect = Dialect {
    client,
    builders: &BUILDERS,
    bare_duration: Duration::Unknown,
    formats: &[("String.format", Signs::Percent)],
    format_method: Signs::Percent,
    handler_mark: crate::handlers::mapping,
    is_serverless: |_, function| function.name == "handleRequest" && function.parameters.len() == 2,
    is_framework: |module| is_module_of(module, &FRAMEWORKS),
    is_document_class: |_, _, marks| {
        marks.iter().any(|mark| mark.path == "Document" || mark.path.ends_with(".Document"))
    },
    survey: |values, text, out| {
        versioned(values.unit, text, out);
        stored_parts(values, text, out);
    },
    ..USUAL
};

/// Modules of web frameworks, by the start of their names.
const FRAMEWORKS: [&str; 8] = [
    "org.springframework.web",
    "jakarta.ws.rs",
    "javax.ws.rs",
    "jakarta.servlet",
    "javax.servlet",
    "io.ktor.server",
    "io.javalin",
    "io.undertow",
];

/// Methods of the builders of `MongoClientSettings`, and of `MongoClientOptions` before, with the option each sets.
const BUILDERS: [(&str, &str); 17] = [
    ("maxSize", "maxPoolSize"),
    ("minSize", "minPoolSize"),
    ("maxConnectionIdleTime", "maxIdleTimeMS"),
    ("maxWaitTime", "waitQueueTimeoutMS"),
    ("connectTimeout", "connectTimeoutMS"),
    ("readTimeout", "socketTimeoutMS"),
    ("serverSelectionTimeout", "serverSelectionTimeoutMS"),
    ("retryWrites", "retryWrites"),
    ("retryReads", "retryReads"),
    ("writeConcern", "w"),
    ("readPreference", "readPreference"),
    ("applicationName", "appName"),
    ("requiredReplicaSetName", "replicaSet"),
    ("invalidHostNameAllowed", "tlsAllowInvalidHostnames"),
    ("connectionsPerHost", "maxPoolSize"),
    ("minConnectionsPerHost", "minPoolSize"),
    ("maxConnectionIdleTimeMS", "maxIdleTimeMS"),
];

fn node<'t>(l: &mut Lower<'_, 't>, node: Node<'_>, scope: ScopeId) -> Kind<'t> {
    match node.kind() {
        "program"
        | "block"
        | "class_body"
        | "interface_body"
        | "enum_body"
        | "enum_body_declarations"
        | "constructor_body" => l.block(node, scope),
        "class_declaration"
        | "interface_declaration"
        | "enum_declaration"
        | "record_declaration" => {
            let marks = marks(l, node, scope);
            let bases = ["superclass", "interfaces"]
                .into_iter()
                .filter_map(|field| node.child_by_field_name(field))
                .flat_map(|list| l.text(list).split([' ', ',', '<', '>', '\n']))
                .filter(|word| !matches!(*word, "" | "extends" | "implements"))
                .collect();
            let kind = ScopeKind::Class { name: l.field_text(node, "name"), bases, marks };
            let inner = l.enter(kind, scope, node);
            l.block_field(node, "body", inner);
            Kind::Other(Vec::new())
        }
        "method_declaration" | "constructor_declaration" | "lambda_expression" => {
            let marks = marks(l, node, scope);
            let function = Function {
                name: l.field_text(node, "name"),
                parameters: parameters(l, node),
                marks,
                passed_to: None,
                exported: part(node, "modifiers")
                    .is_some_and(|modifiers| l.text(modifiers).contains("public")),
            };
            let id = l.function(function, node.child_by_field_name("body"), node, scope);
            if node.kind() == "lambda_expression" {
                Kind::Function(id)
            } else {
                Kind::Other(Vec::new())
            }
        }
        "field_declaration" | "local_variable_declaration" => {
            let declarators: Vec<_> =
                node.children_by_field_name("declarator", &mut node.walk()).collect();
            for declarator in declarators {
                let target = l.field(declarator, "name", scope);
                if node.kind() == "local_variable_declaration" {
                    l.unit.locals.extend(target.last_name().map(|name| (scope, name)));
                }
                let value = l.field(declarator, "value", scope);
                l.assign(target, value, false, scope);
            }
            l.modifiers(node, scope);
            Kind::Other(Vec::new())
        }
        "resource" => {
            let value = l.field(node, "value", scope);
            let target = l.field(node, "name", scope);
            l.assign(target, value, false, scope);
            Kind::Other(Vec::new())
        }
        "assignment_expression" => {
            let adds = l.field_text(node, "operator") != "=";
            l.assignment(node, adds, scope)
        }
        "for_statement" => l.repeat(node, &["init", "condition", "update"], scope),
        "enhanced_for_statement" => {
            let list = l.field(node, "value", scope);
            let body = node.child_by_field_name("body");
            l.iterate(node.child_by_field_name("name"), &list, body, scope);
            l.eval(list, scope);
            l.repeat(node, &[], scope)
        }
        "while_statement" | "do_statement" => l.repeat(node, &["condition"], scope),
        "if_statement" => l.branches(node, scope),
        "switch_block_statement_group" | "switch_rule" => l.case(node, scope),
        "return_statement" => l.returned(node, scope),
        "import_declaration" => l.imported_path(node),
        "method_invocation" => {
            let name = l.field_text(node, "name");
            let callee = match node.child_by_field_name("object") {
                Some(object) => Kind::Member(Box::new(l.node(object, scope)), name),
                None => Kind::Name(name),
            };
            let callee = Expr { at: node.start_byte(), end: node.end_byte(), kind: callee };
            let args = arguments(l, node, scope);
            l.call(callee, args)
        }
        "object_creation_expression" => {
            let class = node.child_by_field_name("type");
            let name = class.map_or("", |class| {
                let text = l.text(class);
                text.split('<').next().unwrap_or(text)
            });
            let callee =
                Expr { at: node.start_byte(), end: node.end_byte(), kind: Kind::Name(name) };
            let args = arguments(l, node, scope);
            if let Some(body) = part(node, "class_body") {
                let kind = ScopeKind::Class { name, bases: Vec::new(), marks: Vec::new() };
                let inner = l.enter(kind, scope, body);
                let expr = l.node(body, inner);
                l.eval(expr, inner);
            }
            l.call(callee, args)
        }
        "field_access" => Kind::Member(l.boxed(node, "object", scope), l.field_text(node, "field")),
        "array_access" => Kind::Index(l.boxed(node, "array", scope), l.boxed(node, "index", scope)),
        "string_literal" => l.fragments(node, scope),
        "decimal_integer_literal" | "decimal_floating_point_literal" | "hex_integer_literal" => {
            Kind::Number(l.text(node))
        }
        "true" => Kind::Bool(true),
        "false" => Kind::Bool(false),
        "null_literal" => Kind::Null,
        "identifier" | "this" | "type_identifier" => Kind::Name(l.text(node)),
        "binary_expression" => l.binary(node, scope),
        "array_initializer" => Kind::List(l.children(node, scope)),
        "cast_expression" => l.field(node, "value", scope).kind,
        _ => l.rest(node, scope),
    }
}

fn parameters<'t>(l: &Lower<'_, 't>, node: Node<'_>) -> Vec<(&'t str, &'t str)> {
    let Some(list) = node.child_by_field_name("parameters") else { return Vec::new() };
    if list.kind() == "identifier" {
        return vec![(l.text(list), "")];
    }
    parts(list)
        .into_iter()
        .map(|child| match child.kind() {
            "identifier" => (l.text(child), ""),
            _ => (l.field_text(child, "name"), l.field_text(child, "type")),
        })
        .collect()
}

fn marks<'t>(l: &mut Lower<'_, 't>, node: Node<'_>, scope: ScopeId) -> Vec<Mark<'t>> {
    let Some(modifiers) = part(node, "modifiers") else { return Vec::new() };
    let annotations: Vec<_> = parts(modifiers)
        .into_iter()
        .filter(|child| matches!(child.kind(), "annotation" | "marker_annotation"))
        .collect();
    annotations
        .into_iter()
        .map(|child| Mark {
            path: l.field_text(child, "name").to_owned(),
            args: arguments(l, child, scope),
        })
        .collect()
}

fn arguments<'t>(l: &mut Lower<'_, 't>, node: Node<'_>, scope: ScopeId) -> Vec<Arg<'t>> {
    let Some(list) = node.child_by_field_name("arguments") else { return Vec::new() };
    parts(list)
        .into_iter()
        .map(|child| match child.kind() {
            "element_value_pair" => Arg {
                name: Some(l.field_text(child, "key")),
                value: l.field(child, "value", scope),
                spread: false,
            },
            _ => Arg { name: None, value: l.node(child, scope), spread: false },
        })
        .collect()
}

pub(super) fn client<'u, 't>(
    scan: &Scan<'u, 't>,
    expr: &'u Expr<'t>,
    scope: ScopeId,
) -> Option<Made<'u, 't>> {
    let call = expr.call()?;
    let method = call.method()?;
    let of = call.receiver().and_then(Expr::last_name);
    let is_made = matches!(
        (of, method),
        (Some("MongoClients" | "MongoClient" | "ReactiveMongoClients"), "create")
            | (None, "MongoClient")
            | (Some("KMongo"), "createClient")
    );
    if !is_made {
        return None;
    }
    let mut chain = Chain::new(scan.text);
    let mut uri = None;
    for arg in &call.args {
        let (value, at) = scan.values.follow(&arg.value, scope);
        match value.call() {
            Some(inner)
                if matches!(inner.method(), Some("MongoClientURI" | "ConnectionString")) =>
            {
                uri = inner.positional(0).map(|uri| (uri, at));
            }
            Some(_) => scan.values.chain(&arg.value, scope, 0, &mut chain),
            None if uri.is_none() && matches!(value.kind, Kind::Text(_) | Kind::Binary(..)) => {
                uri = Some((&arg.value, scope));
            }
            None => chain.whole &= !matches!(value.kind, Kind::Name(_) | Kind::Member(..)),
        }
    }
    Some(Made {
        driver: Driver::Java,
        uri: uri.or(chain.uri),
        options: chain.options(),
        whole: chain.whole && !chain.hosts,
        hosts: chain.host_names,
        is_shared: false,
    })
}

/// Classes with a field that is marked as the version.
fn versioned(unit: &Unit<'_>, text: &str, out: &mut Known) {
    for scope in &unit.scopes {
        let ScopeKind::Class { name, bases, .. } = &scope.kind else { continue };
        if text.get(scope.at..scope.end).is_some_and(|class| class.contains("@Version")) {
            out.versioned.insert((*name).to_owned());
        }
        if !bases.is_empty() {
            let bases =
                bases.iter().map(|base| base.split('<').next().unwrap_or(base).trim().to_owned());
            out.extended.entry((*name).to_owned()).or_default().extend(bases);
        }
    }
}

/// Classes that are types of fields in documents of Spring Data, alone or in lists: they are stored with the documents.
fn stored_parts(values: &Values<'_, '_>, text: &str, out: &mut Known) {
    let unit = values.unit;
    for scope in &unit.scopes {
        let ScopeKind::Class { marks, .. } = &scope.kind else { continue };
        if !marks.iter().any(|mark| mark.path == "Document") || !unit.imports_from("mongodb") {
            continue;
        }
        let class = text.get(scope.at..scope.end).unwrap_or_default();
        for line in class.lines().filter(|line| line.trim_end().ends_with(';')) {
            let declared = line.split(['=', ';']).next().unwrap_or_default();
            // A call, or a name in a package.
            if declared.contains(['(', '.', '"']) || declared.trim_start().starts_with("return") {
                continue;
            }
            let words = declared.split(|c: char| !c.is_alphanumeric() && c != '_');
            for word in words.filter(|word| word.starts_with(char::is_uppercase)) {
                let package = match unit.import(word) {
                    Some(import) => import.module.to_string(),
                    None => package_of(text).to_owned(),
                };
                if !package.starts_with("java") {
                    out.parts.insert((package, word.to_owned()));
                }
            }
        }
    }
}

/// The package that a file of Java belongs to.
pub(crate) fn package_of(text: &str) -> &str {
    let package = text.lines().find_map(|line| line.trim().strip_prefix("package "));
    package.map_or("", |name| name.trim_end_matches(';').trim())
}
