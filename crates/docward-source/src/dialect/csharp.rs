//! C#: the driver, ASP.NET Core and Azure Functions.

mod fluent;

use std::borrow::Cow;

use docward_model::{Driver, OptionValue};
use tree_sitter::Node;

use super::{Dialect, USUAL, is_module_of, named};
use crate::{
    Library, Scan,
    clients::Made,
    handlers,
    ir::{
        Arg, Entry, Expr, Function, Key, Kind, Mark, Part, ScopeId, ScopeKind, StatementKind, Unit,
    },
    lower::{Lower, entry, unescaped},
    options::CodeOption,
    syntax::{part, parts},
    values::Signs,
};

/// C#.
pub(crate) static DIALECT: Dialect = Dialect {
    lower: node,
    client,
    password: |_, call, _| {
        let makes = matches!(
            call.method(),
            Some("CreateCredential" | "CreateMongoCRCredential" | "CreatePlainCredential")
        );
        call.positional(2).filter(|_| makes).map(|password| (password, "password"))
    },
    builders: &PROPERTIES,
    reads_environment: &["GetValue"],
    formats: &[("string.Format", Signs::Braces), ("String.Format", Signs::Braces)],
    handler_mark: |path| {
        const VERBS: [&str; 7] = [
            "HttpGet",
            "HttpPost",
            "HttpPut",
            "HttpDelete",
            "HttpPatch",
            "HttpHead",
            "AcceptVerbs",
        ];
        VERBS.contains(&path).then_some("the request handler")
    },
    handles,
    is_route: |to| {
        let method = to.rsplit('.').next().unwrap_or(to);
        let is_mapped = ["MapGet", "MapPost", "MapPut", "MapDelete", "MapPatch", "MapMethods"];
        // Services that are registered this way are created again for each request, or for each use.
        is_mapped.contains(&method)
            || ["AddScoped", "AddTransient"].contains(&method)
            || handlers::is_route(to)
    },
    is_serverless: |_, function| {
        let is_function =
            |mark: &Mark<'_>| matches!(mark.path.as_str(), "FunctionName" | "Function");
        function.marks.iter().any(is_function)
            || function.parameters.iter().any(|(_, class)| *class == "ILambdaContext")
    },
    is_framework: |module| is_module_of(module, &FRAMEWORKS),
    entry_functions: &["Main", "StartAsync"],
    library: |_, text| text.contains("MongoDB.Bson").then_some(Library::CSharp),
    is_test: |path| {
        let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
        ["test.cs", "tests.cs", "fixture.cs"].iter().any(|end| name.ends_with(end))
            || folders.split('/').any(|f| f.ends_with(".tests") || f.ends_with(".test"))
    },
    ..USUAL
};

/// Namespaces of web frameworks.
const FRAMEWORKS: [&str; 7] = [
    "Microsoft.AspNetCore",
    "Microsoft.Azure.Functions",
    "Microsoft.Azure.WebJobs",
    "System.Web.Http",
    "System.Web.Mvc",
    "Grpc.Core",
    "FastEndpoints",
];

/// Properties of `MongoClientSettings` and `MongoUrlBuilder`, with their options.
const PROPERTIES: [(&str, &str); 25] = [
    ("MaxConnectionPoolSize", "maxPoolSize"),
    ("MinConnectionPoolSize", "minPoolSize"),
    ("MaxConnectionIdleTime", "maxIdleTimeMS"),
    ("WaitQueueTimeout", "waitQueueTimeoutMS"),
    ("ConnectTimeout", "connectTimeoutMS"),
    ("SocketTimeout", "socketTimeoutMS"),
    ("ServerSelectionTimeout", "serverSelectionTimeoutMS"),
    ("HeartbeatInterval", "heartbeatFrequencyMS"),
    ("LocalThreshold", "localThresholdMS"),
    ("Timeout", "timeoutMS"),
    ("MaxConnecting", "maxConnecting"),
    ("RetryWrites", "retryWrites"),
    ("RetryReads", "retryReads"),
    ("WriteConcern", "w"),
    ("ReadPreference", "readPreference"),
    ("ReadConcernLevel", "readConcernLevel"),
    ("ApplicationName", "appName"),
    ("ReplicaSetName", "replicaSet"),
    ("DirectConnection", "directConnection"),
    ("LoadBalanced", "loadBalanced"),
    ("UseTls", "tls"),
    ("UseSsl", "tls"),
    ("AllowInsecureTls", "tlsInsecure"),
    ("AuthenticationSource", "authSource"),
    ("AuthenticationMechanism", "authMechanism"),
];

/// Methods of the driver that have an asynchronous variant: `UpdateOneAsync` does what `UpdateOne` does.
const DRIVER_METHODS: [&str; 24] = [
    "Aggregate",
    "BulkWrite",
    "CountDocuments",
    "CreateCollection",
    "CreateMany",
    "CreateOne",
    "DeleteMany",
    "DeleteOne",
    "Distinct",
    "EstimatedDocumentCount",
    "Find",
    "FindOneAndDelete",
    "FindOneAndReplace",
    "FindOneAndUpdate",
    "InsertMany",
    "InsertOne",
    "ListCollectionNames",
    "ListCollections",
    "ListDatabaseNames",
    "ListDatabases",
    "ReplaceOne",
    "RunCommand",
    "UpdateMany",
    "UpdateOne",
];

fn node<'t>(l: &mut Lower<'_, 't>, node: Node<'_>, scope: ScopeId) -> Kind<'t> {
    match node.kind() {
        "compilation_unit" | "block" | "declaration_list" | "switch_body" | "accessor_list" => {
            l.block(node, scope)
        }
        "namespace_declaration" => {
            l.block_field(node, "body", scope);
            Kind::Other(Vec::new())
        }
        "attribute_list"
        | "modifier"
        | "base_list"
        | "type_argument_list"
        | "nullable_type"
        | "array_type"
        | "file_scoped_namespace_declaration"
        | "type_parameter_list"
        | "typeof_expression" => Kind::Other(Vec::new()),
        "class_declaration"
        | "interface_declaration"
        | "struct_declaration"
        | "record_declaration" => class(l, node, scope),
        "method_declaration"
        | "constructor_declaration"
        | "local_function_statement"
        | "operator_declaration" => {
            let marks = marks(l, node, scope);
            let name = l.field_text(node, "name");
            function(l, node, name, marks, scope);
            Kind::Other(Vec::new())
        }
        "accessor_declaration" => {
            if node.child_by_field_name("body").is_some() {
                function(l, node, "", Vec::new(), scope);
            }
            Kind::Other(Vec::new())
        }
        "lambda_expression" | "anonymous_method_expression" => {
            Kind::Function(function(l, node, "", Vec::new(), scope))
        }
        "property_declaration" => {
            if let Some(value) = node.child_by_field_name("value") {
                let target = l.field(node, "name", scope);
                let value = l.node(value, scope);
                l.assign(target, value, false, scope);
            }
            l.block_field(node, "accessors", scope);
            Kind::Other(Vec::new())
        }
        "variable_declaration" => {
            for declarator in parts(node) {
                if declarator.kind() == "variable_declarator" {
                    declared(l, node, declarator, scope);
                }
            }
            Kind::Other(Vec::new())
        }
        "assignment_expression" => {
            let adds = !matches!(l.field_text(node, "operator"), "=" | "??=");
            let target = l.field(node, "left", scope);
            let value = l.field(node, "right", scope);
            let kind = target.kind.clone();
            l.assign(target, value, adds, scope);
            kind
        }
        "for_statement" => l.repeat(node, &["initializer", "condition", "update"], scope),
        "foreach_statement" => l.repeat_each(node, scope),
        "while_statement" | "do_statement" => l.repeat(node, &["condition"], scope),
        "if_statement" => l.branches(node, scope),
        "switch_section" | "switch_expression_arm" => l.case(node, scope),
        "return_statement" => l.returned(node, scope),
        "using_directive" => {
            let path = parts(node).into_iter().next_back().map_or("", |path| l.text(path));
            let alias = l.field_text(node, "name");
            if alias.is_empty() {
                l.import("", path, "");
            } else {
                let (module, name) = path.rsplit_once('.').unwrap_or(("", path));
                l.import(alias, module, name);
            }
            Kind::Other(Vec::new())
        }
        "invocation_expression" => invocation(l, node, scope),
        "object_creation_expression" | "implicit_object_creation_expression" => {
            let class =
                node.child_by_field_name("type").map_or("", |class| type_name(l.text(class)));
            created(l, node, class, scope)
        }
        "anonymous_object_creation_expression" => anonymous_object(l, node, scope),
        "array_creation_expression" | "implicit_array_creation_expression" => {
            match part(node, "initializer_expression") {
                Some(items) => Kind::List(l.children(items, scope)),
                None => Kind::List(Vec::new()),
            }
        }
        "collection_expression" => Kind::List(l.children(node, scope)),
        "initializer_expression" => Kind::List(l.children(node, scope)),
        "member_access_expression" => match fluent::constant(l, node) {
            Some(document) => document,
            None => {
                let of = l.boxed(node, "expression", scope);
                Kind::Member(of, member_name(l, node))
            }
        },
        "conditional_access_expression" => {
            let of = l.boxed(node, "condition", scope);
            match parts(node).into_iter().next_back() {
                Some(binding) if binding.kind() == "member_binding_expression" => {
                    Kind::Member(of, member_name(l, binding))
                }
                _ => of.kind,
            }
        }
        "element_access_expression" => {
            let of = l.boxed(node, "expression", scope);
            let at = node.child_by_field_name("subscript").and_then(|list| {
                let argument = parts(list).into_iter().next()?;
                parts(argument).into_iter().next_back()
            });
            let at = at.map(|at| l.node(at, scope));
            Kind::Index(of, Box::new(at.unwrap_or_else(|| Expr::nothing(node.start_byte()))))
        }
        "string_literal" | "raw_string_literal" => literal(l, node),
        "verbatim_string_literal" => {
            let text = l.text(node);
            let inner = text.get(2..text.len().saturating_sub(1)).unwrap_or_default();
            let at = node.start_byte() + 2;
            let read = match inner.contains("\"\"") {
                true => Cow::Owned(inner.replace("\"\"", "\"")),
                false => Cow::Borrowed(inner),
            };
            Kind::Text(vec![Part::Text(read, at)])
        }
        "interpolated_string_expression" => interpolated(l, node, scope),
        "integer_literal" | "real_literal" => Kind::Number(l.text(node)),
        "boolean_literal" => Kind::Bool(l.text(node) == "true"),
        "null_literal" | "default_expression" => Kind::Null,
        "prefix_unary_expression" | "unary_expression" => match parts(node).as_slice() {
            [number] if matches!(number.kind(), "integer_literal" | "real_literal") => {
                Kind::Number(l.text(node))
            }
            _ => l.rest(node, scope),
        },
        "binary_expression" => match fluent::joined(l, node, scope) {
            Some(document) => document,
            None => l.binary(node, scope),
        },
        "conditional_expression" => {
            let held = ["condition", "consequence", "alternative"];
            Kind::Choice(Box::new(held.map(|field| l.field(node, field, scope))))
        }
        "cast_expression" => l.field(node, "value", scope).kind,
        "as_expression" => l.field(node, "left", scope).kind,
        "this" | "base" => Kind::Name("this"),
        "generic_name" | "qualified_name" | "predefined_type" => {
            Kind::Name(type_name(l.text(node)))
        }
        "identifier" => variable(l, node, scope),
        _ => l.rest(node, scope),
    }
}

/// Lowers a class. In its methods, names of its fields mean `this.name`.
fn class<'t>(l: &mut Lower<'_, 't>, node: Node<'_>, scope: ScopeId) -> Kind<'t> {
    let marks = marks(l, node, scope);
    let bases = part(node, "base_list").map(parts).unwrap_or_default();
    let bases = bases.into_iter().map(|base| type_name(l.text(base))).collect();
    let kind = ScopeKind::Class { name: l.field_text(node, "name"), bases, marks };
    let inner = l.enter(kind, scope, node);
    let Some(body) = node.child_by_field_name("body") else { return Kind::Other(Vec::new()) };
    for member in parts(body) {
        let modifiers = parts(member).into_iter().filter(|part| part.kind() == "modifier");
        let is_shared =
            modifiers.into_iter().any(|word| matches!(l.text(word), "static" | "const"));
        if is_shared {
            continue;
        }
        match member.kind() {
            "property_declaration" => {
                let name = l.field_text(member, "name");
                let class = l.field_text(member, "type");
                l.fields.insert((inner, name));
                fluent::remember(l, name, class, None);
            }
            "field_declaration" => {
                let Some(declaration) = part(member, "variable_declaration") else { continue };
                let class = l.field_text(declaration, "type");
                for declarator in parts(declaration) {
                    if declarator.kind() == "variable_declarator" {
                        let name = l.field_text(declarator, "name");
                        l.fields.insert((inner, name));
                        fluent::remember(l, name, class, None);
                    }
                }
            }
            _ => {}
        }
    }
    l.block_field(node, "body", inner);
    Kind::Other(Vec::new())
}

fn function<'t>(
    l: &mut Lower<'_, 't>,
    node: Node<'_>,
    name: &'t str,
    marks: Vec<Mark<'t>>,
    scope: ScopeId,
) -> ScopeId {
    let mut modifiers = parts(node).into_iter().filter(|part| part.kind() == "modifier");
    let function = Function {
        name,
        parameters: parameters(l, node),
        marks,
        passed_to: None,
        exported: modifiers.any(|modifier| l.text(modifier) == "public"),
    };
    let body = node.child_by_field_name("body").or_else(|| part(node, "block"));
    l.function(function, body, node, scope)
}

fn parameters<'t>(l: &mut Lower<'_, 't>, node: Node<'_>) -> Vec<(&'t str, &'t str)> {
    let Some(list) = node.child_by_field_name("parameters") else { return Vec::new() };
    if list.kind() != "parameter_list" {
        return vec![(l.text(list), "")];
    }
    let mut out = Vec::new();
    for parameter in parts(list) {
        let name = match parameter.child_by_field_name("name") {
            Some(name) => l.text(name),
            None => l.text(parameter),
        };
        let class = l.field_text(parameter, "type");
        fluent::remember(l, name, class, None);
        out.push((name, type_name(class)));
    }
    out
}

/// A variable, or a field of the enclosing class: `_client` is `this._client`.
fn variable<'t>(l: &Lower<'_, 't>, node: Node<'_>, scope: ScopeId) -> Kind<'t> {
    let name = l.text(node);
    let unit = &l.unit;
    let class = unit.class(scope).filter(|(id, _)| l.fields.contains(&(*id, name)));
    let is_local = || {
        unit.around(scope).any(|id| {
            l.locals.contains(&(id, name))
                || matches!(&unit.scopes[id].kind, ScopeKind::Function(function)
                    if function.parameters.iter().any(|(parameter, _)| *parameter == name))
        })
    };
    if class.is_none() || is_local() {
        return Kind::Name(name);
    }
    let at = node.start_byte();
    let this = Expr { at, end: at, kind: Kind::Name("this") };
    Kind::Member(Box::new(this), name)
}

/// One variable of a declaration, which names the class of `new(…)`.
fn declared(l: &mut Lower<'_, '_>, node: Node<'_>, declarator: Node<'_>, scope: ScopeId) {
    let Some(name) = declarator.child_by_field_name("name") else { return };
    let class = l.field_text(node, "type");
    let text = l.text(name);
    // Fields were recorded with the class.
    if !matches!(l.unit.scopes[scope].kind, ScopeKind::Class { .. }) {
        l.unit.block_names.push((scope, text));
        l.locals.insert((scope, text));
    }
    let value = parts(declarator).into_iter().find(|child| *child != name);
    fluent::remember(l, text, class, value);
    let Some(value) = value else { return };
    let target = l.node(name, scope);
    let (at, end) = (value.start_byte(), value.end_byte());
    let value = match value.kind() {
        "implicit_object_creation_expression" => {
            Expr { at, end, kind: created(l, value, type_name(class), scope) }
        }
        _ => l.node(value, scope),
    };
    l.assign(target, value, false, scope);
}

/// The name of a type without its namespace and arguments: `List` of `System.Collections.Generic.List<User>`.
fn type_name(text: &str) -> &str {
    let text = text.split(['<', '[', '?']).next().unwrap_or(text);
    text.rsplit(['.', ':']).next().unwrap_or(text).trim()
}

/// The name of a member, without type arguments and the suffix of asynchronous methods of the driver.
fn member_name<'t>(l: &Lower<'_, 't>, node: Node<'_>) -> &'t str {
    let name = type_name(l.field_text(node, "name"));
    name.strip_suffix("Async").filter(|name| DRIVER_METHODS.contains(name)).unwrap_or(name)
}

fn invocation<'t>(l: &mut Lower<'_, 't>, node: Node<'_>, scope: ScopeId) -> Kind<'t> {
    let Some(function) = node.child_by_field_name("function") else { return l.rest(node, scope) };
    let list = node.child_by_field_name("arguments");
    if let Some(document) = fluent::call(l, function, list, scope) {
        return document;
    }
    // `nameof(User.Email)` is a string.
    if function.kind() == "identifier" && l.text(function) == "nameof" {
        let path = list.map_or("", |list| l.text(list)).trim_matches(['(', ')']);
        let name = path.rsplit('.').next().unwrap_or(path);
        return Kind::Text(vec![Part::Text(Cow::Borrowed(name), node.start_byte())]);
    }
    let callee = l.node(function, scope);
    let asks = callee.last_name().is_some_and(|name| DRIVER_METHODS.contains(&name));
    let args = arguments(l, list, asks, scope);
    l.call(callee, args)
}

/// `asks` means that functions among the arguments are conditions on documents.
fn arguments<'t>(
    l: &mut Lower<'_, 't>,
    list: Option<Node<'_>>,
    asks: bool,
    scope: ScopeId,
) -> Vec<Arg<'t>> {
    let mut args = Vec::new();
    for argument in list.map(parts).unwrap_or_default() {
        let name = argument.child_by_field_name("name");
        let held = parts(argument).into_iter().rfind(|held| Some(*held) != name);
        let Some(held) = held else { continue };
        let condition = match asks && held.kind() == "lambda_expression" {
            true => fluent::condition(l, held, scope),
            false => None,
        };
        let value = match condition {
            Some(kind) => Expr { at: held.start_byte(), end: held.end_byte(), kind },
            None => l.node(held, scope),
        };
        args.push(Arg { name: name.map(|name| l.text(name)), value, spread: false });
    }
    args
}

/// `new Class(…) { Name = … }`: the braces contain the content of documents and lists, and the arguments of other
/// classes.
fn created<'t>(l: &mut Lower<'_, 't>, node: Node<'_>, class: &'t str, scope: ScopeId) -> Kind<'t> {
    let list = node.child_by_field_name("arguments").or_else(|| part(node, "argument_list"));
    let initializer = part(node, "initializer_expression");
    let mut args = arguments(l, list, false, scope);
    let mut entries = Vec::new();
    let mut items = Vec::new();
    for child in initializer.map(parts).unwrap_or_default() {
        let at = child.start_byte();
        match child.kind() {
            // `Name = value`, `["name"] = value`.
            "assignment_expression" => {
                let Some(left) = child.child_by_field_name("left") else { continue };
                let right = child.child_by_field_name("right");
                let value = match right {
                    Some(right) => l.node(right, scope),
                    None => Expr::nothing(at),
                };
                if left.kind() == "identifier" {
                    args.push(Arg { name: Some(l.text(left)), value, spread: false });
                } else if let Some(key) = inner_expression(left) {
                    let key = l.node(key, scope);
                    entries.push(entry(key, value));
                }
            }
            // `{ "name", value }`.
            "initializer_expression" => {
                if let [key, value] = parts(child).as_slice() {
                    let key = l.node(*key, scope);
                    let value = l.node(*value, scope);
                    entries.push(entry(key, value));
                }
            }
            _ => items.push(l.node(child, scope)),
        }
    }
    if !entries.is_empty() {
        // `new BsonDocument("a", 1) { { "b", 2 } }`.
        if let [key, value] = args.as_slice()
            && class == "BsonDocument"
        {
            entries.insert(0, entry(key.value.clone(), value.value.clone()));
        }
        return Kind::Object(entries);
    }
    if class == "BsonDocument" && args.is_empty() {
        return Kind::Object(Vec::new());
    }
    if !items.is_empty() && args.iter().all(|arg| arg.name.is_none()) {
        return Kind::List(items);
    }
    let (at, end) = (node.start_byte(), node.end_byte());
    l.call(Expr { at, end, kind: Kind::Name(class) }, args)
}

/// The expression between the brackets of `["name"] = …`.
fn inner_expression(node: Node<'_>) -> Option<Node<'_>> {
    let mut held = parts(node).into_iter().next_back()?;
    while matches!(held.kind(), "bracketed_argument_list" | "argument") {
        held = parts(held).into_iter().next_back()?;
    }
    Some(held)
}

/// `new { Name = value, Other }`.
fn anonymous_object<'t>(l: &mut Lower<'_, 't>, node: Node<'_>, scope: ScopeId) -> Kind<'t> {
    let mut cursor = node.walk();
    let mut entries: Vec<Entry<'t>> = Vec::new();
    let mut name: Option<Node<'_>> = None;
    let mut last: Option<Node<'_>> = None;
    let mut all: Vec<Node<'_>> = node.children(&mut cursor).collect();
    // Each entry ends with a comma or the bracket.
    for child in all.drain(..) {
        match child.kind() {
            "=" => name = last.take(),
            "," | "}" => {
                if let Some(value) = last.take() {
                    let key = name.take().unwrap_or(value);
                    let key = l.text(key).rsplit('.').next().unwrap_or_default();
                    let at = value.start_byte();
                    let value = l.node(value, scope);
                    entries.push(Entry { key: Key::Text(Cow::Borrowed(key)), value, at });
                }
            }
            _ if child.is_named() => last = Some(child),
            _ => {}
        }
    }
    Kind::Object(entries)
}

fn literal<'t>(l: &Lower<'_, 't>, node: Node<'_>) -> Kind<'t> {
    let mut held = Vec::new();
    for child in parts(node) {
        match child.kind() {
            "string_literal_content" | "raw_string_content" => held.push(l.literal(child)),
            "escape_sequence" => {
                held.push(Part::Text(unescaped(l.text(child)), child.start_byte()));
            }
            _ => {}
        }
    }
    Kind::Text(held)
}

fn interpolated<'t>(l: &mut Lower<'_, 't>, node: Node<'_>, scope: ScopeId) -> Kind<'t> {
    let mut held = Vec::new();
    for child in parts(node) {
        match child.kind() {
            "string_content" | "string_literal_content" => held.push(l.literal(child)),
            "escape_sequence" => {
                held.push(Part::Text(unescaped(l.text(child)), child.start_byte()));
            }
            "interpolation" => {
                let inner =
                    parts(child).into_iter().find(|part| !part.kind().starts_with("interpolation"));
                let inner = match inner {
                    Some(inner) => l.node(inner, scope),
                    None => Expr::nothing(child.start_byte()),
                };
                held.push(Part::Hole(Box::new(inner)));
            }
            _ => {}
        }
    }
    Kind::Text(held)
}

/// Attributes: `[HttpGet("{id}")]`, `[BsonElement("name")]`.
fn marks<'t>(l: &mut Lower<'_, 't>, node: Node<'_>, scope: ScopeId) -> Vec<Mark<'t>> {
    let lists = parts(node).into_iter().filter(|part| part.kind() == "attribute_list");
    let attributes: Vec<Node<'_>> =
        lists.flat_map(parts).filter(|part| part.kind() == "attribute").collect();
    let mut marks = Vec::new();
    for attribute in attributes {
        let path = type_name(l.field_text(attribute, "name")).to_owned();
        let args = arguments(l, part(attribute, "attribute_argument_list"), false, scope);
        marks.push(Mark { path, args });
    }
    marks
}

/// The options in the settings of a client.
#[derive(Default)]
struct Settings<'u, 't> {
    uri: Option<(&'u Expr<'t>, ScopeId)>,
    options: Vec<CodeOption>,
    hosts: Vec<String>,
    is_partial: bool,
    /// Whether the driver treats the settings as different from those of every earlier client.
    is_unique: bool,
}

fn client<'u, 't>(scan: &Scan<'u, 't>, expr: &'u Expr<'t>, scope: ScopeId) -> Option<Made<'u, 't>> {
    let call = expr.call().filter(|call| matches!(call.callee.kind, Kind::Name("MongoClient")))?;
    let mut settings = Settings::default();
    if let Some(arg) = call.args.first() {
        read_settings(scan, &arg.value, scope, 0, &mut settings);
    }
    Some(Made {
        driver: Driver::CSharp,
        uri: settings.uri,
        options: settings.options,
        whole: !settings.is_partial && settings.hosts.is_empty(),
        hosts: settings.hosts,
        // Clients with equal settings share one pool.
        is_shared: !settings.is_unique,
    })
}

/// Settings, or an expression that yields them: a string, `new MongoUrl(…)`,
/// `MongoClientSettings.FromConnectionString(…)`.
fn read_settings<'u, 't>(
    scan: &Scan<'u, 't>,
    given: &'u Expr<'t>,
    scope: ScopeId,
    steps: u32,
    out: &mut Settings<'u, 't>,
) {
    if steps > 6 {
        out.is_partial = true;
        return;
    }
    // `settings.RetryWrites = false` after the declaration.
    if let Some(path) = given.path() {
        let owner = scan.values.owner(scope);
        for statement in &scan.values.unit.statements {
            if let StatementKind::Assign { target, value, adds: false } = &statement.kind
                && let Kind::Member(of, name) = &target.kind
                && of.path().as_deref() == Some(path.as_str())
                && scan.values.owner(statement.scope) == owner
            {
                let at = target.end - name.len();
                property(scan, name, value, at, statement.scope, out);
            }
        }
    }
    let (value, at) = scan.values.follow(given, scope);
    let Some(call) = value.call() else {
        match &value.kind {
            Kind::Text(_) | Kind::Binary(..) | Kind::Choice(_) => out.uri = Some((given, scope)),
            _ => {
                out.uri = Some((given, scope));
                out.is_partial = true;
            }
        }
        return;
    };
    match call.method() {
        Some(
            "FromConnectionString"
            | "FromUrl"
            | "MongoUrl"
            | "MongoUrlBuilder"
            | "Create"
            | "Parse",
        ) => {
            if let Some(inner) = call.args.iter().find(|arg| arg.name.is_none()) {
                read_settings(scan, &inner.value, at, steps + 1, out);
            }
        }
        Some("ToMongoUrl" | "Clone") => match call.receiver() {
            Some(of) => read_settings(scan, of, at, steps + 1, out),
            None => out.is_partial = true,
        },
        Some("MongoClientSettings") => {}
        _ => {
            out.uri = Some((given, scope));
            out.is_partial = true;
        }
    }
    for arg in &call.args {
        if let Some(name) = arg.name {
            property(scan, name, &arg.value, arg.value.at, at, out);
        }
    }
}

/// One property of settings.
fn property<'u, 't>(
    scan: &Scan<'u, 't>,
    name: &str,
    value: &'u Expr<'t>,
    at: usize,
    scope: ScopeId,
    out: &mut Settings<'u, 't>,
) {
    let (given, inner) = scan.values.follow(value, scope);
    let is_unique = match given.kind {
        Kind::Function(id) => captures(scan.values.unit, id),
        _ => false,
    };
    match name {
        "ClusterConfigurator" => out.is_unique |= is_unique,
        // Functions that accept every certificate.
        "ServerCertificateValidationCallback" => {
            out.is_unique |= is_unique;
            if let Kind::Function(id) = given.kind
                && accepts_all(scan.values.unit, id)
            {
                out.options.push(CodeOption {
                    name: "tlsAllowInvalidCertificates".to_owned(),
                    written: name.to_owned(),
                    value: OptionValue::Bool(true),
                    at,
                    is_overridable: false,
                });
            }
        }
        "SslSettings" => {
            for arg in given.call().map(|call| &call.args).into_iter().flatten() {
                if let Some(name) = arg.name {
                    property(scan, name, &arg.value, arg.value.at, inner, out);
                }
            }
        }
        "Server" | "Servers" => value.visit(&mut |expr| {
            if let Some(call) = expr.call().filter(|c| c.method() == Some("MongoServerAddress")) {
                let host = call.positional(0).and_then(|host| scan.values.text(host, scope));
                let port = call.positional(1).and_then(|port| scan.values.int(port, scope));
                out.hosts.extend(host.map(|host| match port {
                    Some(port) => format!("{host}:{port}"),
                    None => host,
                }));
            }
        }),
        _ => out.options.extend(scan.values.property(name, value, at, scope)),
    }
}

/// Whether a function captures variables. Each instance of it is then a different one, and so are the settings.
fn captures(unit: &Unit<'_>, id: ScopeId) -> bool {
    let is_own = |name: &str| {
        let declares = |at: ScopeId| match &unit.scopes[at].kind {
            ScopeKind::Function(function) => {
                function.parameters.iter().any(|(parameter, _)| *parameter == name)
            }
            _ => false,
        };
        (0..unit.scopes.len()).any(|at| unit.is_in(at, id) && declares(at))
            || unit.block_names.iter().any(|(at, local)| *local == name && unit.is_in(*at, id))
    };
    let mut found = false;
    unit.each(|scope, expr| {
        if let Kind::Name(name) = expr.kind
            && unit.is_in(scope, id)
        {
            found |= !name.starts_with(char::is_uppercase) && name != "string" && !is_own(name);
        }
    });
    found
}

/// Whether a function returns `true` for every argument.
fn accepts_all(unit: &Unit<'_>, id: ScopeId) -> bool {
    let mut own = unit.statements.iter().filter(|statement| unit.is_in(statement.scope, id));
    matches!(own.next().map(|s| &s.kind), Some(StatementKind::Return(expr)) if matches!(expr.kind, Kind::Bool(true)))
        && own.next().is_none()
}

fn handles<'t>(unit: &Unit<'t>, id: ScopeId, function: &Function<'t>, _: &str) -> Option<String> {
    let takes_request = function
        .parameters
        .iter()
        .any(|(_, class)| matches!(*class, "HttpContext" | "HttpRequest" | "HttpRequestData"));
    let is_action = || {
        let class = unit.class(unit.scopes[id].parent);
        class.is_some_and(|(class, name)| match &unit.scopes[class].kind {
            ScopeKind::Class { bases, .. } => {
                let is_controller = |base: &&str| {
                    matches!(*base, "Controller" | "ControllerBase" | "ApiController" | "Hub")
                };
                let is_page = bases.contains(&"PageModel") && function.name.starts_with("On");
                name != function.name && (bases.iter().any(is_controller) || is_page)
            }
            _ => false,
        })
    };
    (takes_request || function.exported && !function.name.is_empty() && is_action())
        .then(|| named("the request handler", function))
}
