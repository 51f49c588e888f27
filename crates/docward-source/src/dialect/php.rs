//! PHP: the extension and the library of MongoDB, Laravel and Doctrine.

use docward_model::Driver;
use tree_sitter::Node;

use super::{Dialect, USUAL, is_module_of, named};
use crate::{
    Known, Library, Scan,
    clients::Made,
    handlers,
    ir::{
        Arg, Call, Entry, Expr, Function, Key, Kind, Mark, Part, ScopeId, ScopeKind, StatementKind,
        Unit,
    },
    lower::{Lower, entry, unescaped},
    syntax::{part, parts},
    values::{Signs, Values},
};

/// PHP.
pub(crate) static DIALECT: Dialect = Dialect {
    lower: node,
    client,
    is_client: |unit, call| is_client_class(&class_of(unit, call)),
    // A process answers one request at a time, over one connection to each server.
    has_pools: false,
    password,
    collection,
    reads_environment: &["env", "getenv", "config"],
    formats: &[("sprintf", Signs::Percent)],
    handler_mark: |path| {
        let last = path.rsplit('.').next().unwrap_or(path);
        matches!(last, "Route" | "Get" | "Post" | "Put" | "Delete" | "Patch").then_some("the route")
    },
    handles,
    is_route: |to| {
        let (receiver, method) = to.rsplit_once('.').unwrap_or(("", to));
        let is_verb = ["get", "post", "put", "delete", "patch", "any", "match"].contains(&method);
        receiver == "Route" && is_verb || handlers::is_route(to)
    },
    is_framework: |module| is_module_of(module, &FRAMEWORKS),
    is_document_class,
    is_test: |path| {
        let name = path.rsplit('/').next().unwrap_or(path);
        ["test.php", "tests.php", "cest.php"].iter().any(|end| name.ends_with(end))
    },
    survey: collections_of_models,
    library: |_, text| is_mapper(text).then_some(Library::Php),
    ..USUAL
};

/// Namespaces of web frameworks.
const FRAMEWORKS: [&str; 9] = [
    "Illuminate\\Http",
    "Illuminate\\Routing",
    "Illuminate\\Support\\Facades\\Route",
    "Symfony\\Component\\HttpFoundation",
    "Symfony\\Component\\HttpKernel",
    "Symfony\\Component\\Routing",
    "Psr\\Http\\Message",
    "Slim",
    "Laravel\\Lumen",
];

fn node<'t>(l: &mut Lower<'_, 't>, node: Node<'_>, scope: ScopeId) -> Kind<'t> {
    match node.kind() {
        "program"
        | "compound_statement"
        | "colon_block"
        | "declaration_list"
        | "enum_declaration_list"
        | "switch_block" => l.block(node, scope),
        "namespace_definition" => {
            l.block_field(node, "body", scope);
            Kind::Other(Vec::new())
        }
        // Literal HTML outside of PHP tags, and types.
        "text"
        | "php_tag"
        | "text_interpolation"
        | "named_type"
        | "optional_type"
        | "union_type"
        | "primitive_type"
        | "attribute_list"
        | "visibility_modifier" => Kind::Other(Vec::new()),
        "class_declaration"
        | "interface_declaration"
        | "trait_declaration"
        | "enum_declaration"
        | "anonymous_class" => {
            let marks = marks(l, node, scope);
            let bases = ["base_clause", "class_interface_clause"]
                .into_iter()
                .filter_map(|clause| part(node, clause))
                .flat_map(parts)
                .map(|base| last_segment(l.text(base)))
                .collect();
            let kind = ScopeKind::Class { name: l.field_text(node, "name"), bases, marks };
            let inner = l.enter(kind, scope, node);
            l.block_field(node, "body", inner);
            Kind::Other(Vec::new())
        }
        "method_declaration" | "function_definition" | "anonymous_function" | "arrow_function" => {
            let marks = marks(l, node, scope);
            let is_hidden = part(node, "visibility_modifier")
                .is_some_and(|modifier| l.text(modifier) != "public");
            let function = Function {
                name: l.field_text(node, "name"),
                parameters: parameters(l, node, scope),
                marks,
                passed_to: None,
                exported: !is_hidden,
            };
            let id = l.function(function, node.child_by_field_name("body"), node, scope);
            match node.kind() {
                "anonymous_function" | "arrow_function" => Kind::Function(id),
                _ => Kind::Other(Vec::new()),
            }
        }
        "const_element" => {
            if let [name, value] = parts(node).as_slice() {
                let target = l.node(*name, scope);
                let value = l.node(*value, scope);
                l.assign(target, value, false, scope);
            }
            Kind::Other(Vec::new())
        }
        "property_declaration" => {
            let owner = if part(node, "static_modifier").is_some() { "self" } else { "this" };
            for element in parts(node).into_iter().filter(|p| p.kind() == "property_element") {
                let Some(name) = element.child_by_field_name("name") else { continue };
                let Some(value) = element.child_by_field_name("default_value") else { continue };
                let (at, end) = (name.start_byte(), name.end_byte());
                let owner = Box::new(Expr { at, end: at, kind: Kind::Name(owner) });
                let kind = Kind::Member(owner, variable(l.text(name)));
                let value = l.node(value, scope);
                l.assign(Expr { at, end, kind }, value, false, scope);
            }
            Kind::Other(Vec::new())
        }
        "static_variable_declaration" => {
            if let Some(value) = node.child_by_field_name("value") {
                let target = l.field(node, "name", scope);
                let value = l.node(value, scope);
                l.assign(target, value, false, scope);
            }
            Kind::Other(Vec::new())
        }
        "assignment_expression" | "reference_assignment_expression" => {
            assigned(l, node, false, scope)
        }
        "augmented_assignment_expression" => {
            let adds = l.field_text(node, "operator") != "??=";
            assigned(l, node, adds, scope)
        }
        "for_statement" => l.repeat(node, &["initialize", "condition", "update"], scope),
        "while_statement" | "do_statement" => l.repeat(node, &["condition"], scope),
        "foreach_statement" => {
            let held = parts(node);
            if let Some(list) = held.first() {
                let list = l.node(*list, scope);
                l.iterate(held.get(1).copied(), &list, node.child_by_field_name("body"), scope);
                l.eval(list, scope);
            }
            l.repeat(node, &[], scope)
        }
        "if_statement" | "else_if_clause" => branches(l, node, scope),
        "else_clause" => {
            l.block_field(node, "body", scope);
            Kind::Other(Vec::new())
        }
        "case_statement" | "default_statement" => l.case(node, scope),
        "return_statement" => l.returned(node, scope),
        "namespace_use_declaration" => {
            let group = node.child_by_field_name("body");
            let prefix = part(node, "namespace_name").map(|name| l.text(name));
            for clause in parts(group.unwrap_or(node)) {
                if clause.kind() == "namespace_use_clause" {
                    used(l, clause, prefix);
                }
            }
            Kind::Other(Vec::new())
        }
        "function_call_expression" => {
            let Some(function) = node.child_by_field_name("function") else {
                return l.rest(node, scope);
            };
            let callee = class_or_function(l, function, scope);
            let args = arguments(l, node.child_by_field_name("arguments"), scope);
            // `define('MONGODB_URI', 'mongodb://…')` declares a constant.
            if let (Kind::Name("define"), [name, value]) = (&callee.kind, args.as_slice())
                && let Kind::Text(held) = &name.value.kind
                && let [Part::Text(std::borrow::Cow::Borrowed(text), at)] = held.as_slice()
            {
                let target = Expr { at: *at, end: at + text.len(), kind: Kind::Name(text) };
                l.assign(target, value.value.clone(), false, 0);
            }
            l.call(callee, args)
        }
        "member_call_expression" | "nullsafe_member_call_expression" => {
            let callee = member(l, node, scope);
            let args = arguments(l, node.child_by_field_name("arguments"), scope);
            l.call(callee, args)
        }
        "scoped_call_expression" => {
            let callee = scoped(l, node, scope);
            let args = arguments(l, node.child_by_field_name("arguments"), scope);
            l.call(callee, args)
        }
        "object_creation_expression" => {
            let held = parts(node);
            let Some(class) = held.first() else { return Kind::Other(Vec::new()) };
            if class.kind() == "anonymous_class" {
                return l.node(*class, scope).kind;
            }
            let callee = class_or_function(l, *class, scope);
            let args = arguments(l, part(node, "arguments"), scope);
            l.call(callee, args)
        }
        "member_access_expression" | "nullsafe_member_access_expression" => {
            member(l, node, scope).kind
        }
        "scoped_property_access_expression" => scoped(l, node, scope).kind,
        "class_constant_access_expression" => match parts(node).as_slice() {
            // `self::URI` is the constant `URI` of this class.
            [class, name] if matches!(l.text(*class), "self" | "static") => {
                Kind::Name(l.text(*name))
            }
            [class, name] if l.text(*name) == "class" => class_or_function(l, *class, scope).kind,
            [class, name] => {
                let class = class_or_function(l, *class, scope);
                Kind::Member(Box::new(class), l.text(*name))
            }
            _ => l.rest(node, scope),
        },
        "subscript_expression" => {
            let held = parts(node);
            let of = held.first().map(|of| l.node(*of, scope));
            let at = held.get(1).map(|at| l.node(*at, scope));
            let nothing = || Expr::nothing(node.start_byte());
            Kind::Index(Box::new(of.unwrap_or_else(nothing)), Box::new(at.unwrap_or_else(nothing)))
        }
        "array_creation_expression" | "list_literal" => array(l, node, scope),
        "string" => l.fragments(node, scope),
        "encapsed_string" | "heredoc_body" => filled_in(l, node, scope),
        "heredoc" | "nowdoc" => l.field(node, "value", scope).kind,
        "nowdoc_body" => l.fragments(node, scope),
        "integer" | "float" => Kind::Number(l.text(node)),
        "boolean" => Kind::Bool(l.text(node).eq_ignore_ascii_case("true")),
        "null" => Kind::Null,
        "variable_name" => Kind::Name(variable(l.text(node))),
        "name" | "qualified_name" | "relative_scope" => Kind::Name(last_segment(l.text(node))),
        "unary_op_expression" => match node.child_by_field_name("argument") {
            Some(number) if matches!(number.kind(), "integer" | "float") => {
                Kind::Number(l.text(node))
            }
            _ => l.rest(node, scope),
        },
        "binary_expression" => {
            let operator = match l.field_text(node, "operator") {
                "." => "+",
                "and" => "&&",
                "or" => "||",
                other => other,
            };
            let left = l.boxed(node, "left", scope);
            Kind::Binary(operator, left, l.boxed(node, "right", scope))
        }
        "conditional_expression" => {
            let condition = l.field(node, "condition", scope);
            let alternative = l.field(node, "alternative", scope);
            match node.child_by_field_name("body") {
                Some(body) => {
                    let body = l.node(body, scope);
                    Kind::Choice(Box::new([condition, body, alternative]))
                }
                None => Kind::Binary("?:", Box::new(condition), Box::new(alternative)),
            }
        }
        "cast_expression" => l.field(node, "value", scope).kind,
        _ => l.rest(node, scope),
    }
}

/// A variable, without the sign before it.
fn variable(text: &str) -> &str {
    text.trim_start_matches(['&', '$'])
}

/// The last name of a path through namespaces.
fn last_segment(text: &str) -> &str {
    text.rsplit('\\').next().unwrap_or(text)
}

/// Lowers an assignment. Its value is its target: `return $this->client = new Client($uri)`.
fn assigned<'t>(l: &mut Lower<'_, 't>, node: Node<'_>, adds: bool, scope: ScopeId) -> Kind<'t> {
    let target = l.field(node, "left", scope);
    let value = l.field(node, "right", scope);
    let kind = target.kind.clone();
    l.assign(target, value, adds, scope);
    kind
}

fn branches<'t>(l: &mut Lower<'_, 't>, node: Node<'_>, scope: ScopeId) -> Kind<'t> {
    let condition = node.child_by_field_name("condition").map(|child| {
        let expr = l.node(child, scope);
        l.eval(expr.clone(), scope);
        expr
    });
    let mut cursor = node.walk();
    let body = node.child_by_field_name("body");
    let others = node.children_by_field_name("alternative", &mut cursor);
    for branch in body.into_iter().chain(others).collect::<Vec<_>>() {
        let inner = l.enter(ScopeKind::Branch(condition.clone()), scope, branch);
        let expr = l.node(branch, inner);
        l.eval(expr, inner);
    }
    Kind::Other(Vec::new())
}

/// Lowers a name of a class or function, with its written namespace: `MongoDB\Client`.
fn class_or_function<'t>(l: &mut Lower<'_, 't>, node: Node<'_>, scope: ScopeId) -> Expr<'t> {
    if node.kind() != "qualified_name" {
        return l.node(node, scope);
    }
    let (at, end) = (node.start_byte(), node.end_byte());
    let text = l.text(node).trim_start_matches('\\');
    let kind = match text.rsplit_once('\\') {
        Some((namespace, name)) => {
            // A file that writes fully qualified names imports nothing.
            l.import("", namespace, name);
            let of = Expr { at, end, kind: Kind::Name(namespace) };
            Kind::Member(Box::new(of), name)
        }
        None => Kind::Name(text),
    };
    Expr { at, end, kind }
}

/// `$object->name`; a name that is computed is an index.
fn member<'t>(l: &mut Lower<'_, 't>, node: Node<'_>, scope: ScopeId) -> Expr<'t> {
    let object = l.boxed(node, "object", scope);
    let at = object.at;
    let Some(name) = node.child_by_field_name("name") else { return *object };
    let kind = match name.kind() {
        "name" => Kind::Member(object, l.text(name)),
        _ => Kind::Index(object, Box::new(l.node(name, scope))),
    };
    Expr { at, end: name.end_byte(), kind }
}

/// `Class::name`, `self::$name`.
fn scoped<'t>(l: &mut Lower<'_, 't>, node: Node<'_>, scope: ScopeId) -> Expr<'t> {
    let Some(class) = node.child_by_field_name("scope") else {
        return Expr::nothing(node.start_byte());
    };
    let mut class = class_or_function(l, class, scope);
    if let Kind::Name("static") = class.kind {
        class.kind = Kind::Name("self");
    }
    let Some(name) = node.child_by_field_name("name") else { return class };
    let (at, end) = (class.at, name.end_byte());
    Expr { at, end, kind: Kind::Member(Box::new(class), variable(l.text(name))) }
}

/// `use MongoDB\Client as MongoClient;`
fn used(l: &mut Lower<'_, '_>, clause: Node<'_>, prefix: Option<&str>) {
    let Some(path) = parts(clause).into_iter().next() else { return };
    let path = l.text(path).trim_start_matches('\\');
    let (module, name) = path.rsplit_once('\\').unwrap_or(("", path));
    let alias = l.field_text(clause, "alias");
    let module = match prefix.map(|prefix| prefix.trim_matches('\\')) {
        Some(prefix) if module.is_empty() => prefix.to_owned(),
        Some(prefix) => format!("{prefix}\\{module}"),
        None => module.to_owned(),
    };
    l.import(if alias.is_empty() { name } else { alias }, module, name);
}

fn array<'t>(l: &mut Lower<'_, 't>, node: Node<'_>, scope: ScopeId) -> Kind<'t> {
    let elements: Vec<Vec<Node<'_>>> = parts(node)
        .into_iter()
        .map(|element| match element.kind() {
            "array_element_initializer" | "pair" => parts(element),
            _ => vec![element],
        })
        .collect();
    let is_document = elements.iter().any(|element| element.len() == 2);
    if !is_document {
        return Kind::List(
            elements.into_iter().flatten().map(|item| l.node(item, scope)).collect(),
        );
    }
    let mut entries = Vec::new();
    for element in elements {
        match element.as_slice() {
            [key, value] => {
                let key = l.node(*key, scope);
                let value = l.node(*value, scope);
                entries.push(entry(key, value));
            }
            [item] => {
                let at = item.start_byte();
                let value = l.node(*item, scope);
                entries.push(Entry { key: Key::Spread, value, at });
            }
            _ => {}
        }
    }
    Kind::Object(entries)
}

/// Lowers a string in double quotes. Every part that is neither text nor an escape is interpolated.
fn filled_in<'t>(l: &mut Lower<'_, 't>, node: Node<'_>, scope: ScopeId) -> Kind<'t> {
    let mut held = Vec::new();
    for child in parts(node) {
        held.push(match child.kind() {
            "string_content" | "nowdoc_string" => l.literal(child),
            "escape_sequence" => Part::Text(unescaped(l.text(child)), child.start_byte()),
            _ => Part::Hole(Box::new(l.node(child, scope))),
        });
    }
    Kind::Text(held)
}

fn parameters<'t>(
    l: &mut Lower<'_, 't>,
    node: Node<'_>,
    scope: ScopeId,
) -> Vec<(&'t str, &'t str)> {
    let Some(list) = node.child_by_field_name("parameters") else { return Vec::new() };
    let mut out = Vec::new();
    for parameter in parts(list) {
        let name = variable(l.field_text(parameter, "name"));
        out.push((name, last_segment(l.field_text(parameter, "type"))));
        // Defaults of parameters are lowered as expressions.
        l.block_field(parameter, "default_value", scope);
    }
    out
}

fn arguments<'t>(l: &mut Lower<'_, 't>, list: Option<Node<'_>>, scope: ScopeId) -> Vec<Arg<'t>> {
    let mut args = Vec::new();
    for argument in list.map(parts).unwrap_or_default() {
        let name = argument.child_by_field_name("name");
        let held = parts(argument).into_iter().find(|held| Some(*held) != name);
        let Some(held) = held else { continue };
        args.push(Arg {
            name: name.map(|name| l.text(name)),
            spread: held.kind() == "variadic_unpacking",
            value: l.node(held, scope),
        });
    }
    args
}

/// Attributes: `#[Route('/users')]`, `#[ODM\Document(collection: 'users')]`.
fn marks<'t>(l: &mut Lower<'_, 't>, node: Node<'_>, scope: ScopeId) -> Vec<Mark<'t>> {
    let Some(list) = node.child_by_field_name("attributes") else { return Vec::new() };
    let attributes: Vec<Node<'_>> = parts(list).into_iter().flat_map(parts).collect();
    let mut marks = Vec::new();
    for attribute in attributes {
        let Some(name) = parts(attribute).into_iter().next() else { continue };
        let path = l.text(name).trim_start_matches('\\').replace('\\', ".");
        let args = arguments(l, attribute.child_by_field_name("parameters"), scope);
        marks.push(Mark { path, args });
    }
    marks
}

/// Returns the fully qualified name of the class that a call instantiates, by the imports of the
/// file.
fn class_of(unit: &Unit<'_>, call: &Call<'_>) -> String {
    let (namespace, name) = match &call.callee.kind {
        Kind::Name(name) => ("", *name),
        Kind::Member(of, name) => match of.kind {
            Kind::Name(namespace) => (namespace, *name),
            _ => return String::new(),
        },
        _ => return String::new(),
    };
    let first = namespace.split('\\').next().filter(|first| !first.is_empty()).unwrap_or(name);
    let written =
        if namespace.is_empty() { name.to_owned() } else { format!("{namespace}\\{name}") };
    match unit.import(first) {
        Some(import) if import.module.is_empty() => {
            format!("{}{}", import.name, &written[first.len()..])
        }
        Some(import) => format!("{}\\{}{}", import.module, import.name, &written[first.len()..]),
        None => written,
    }
}

/// The classes of clients: of the library, of the extension, and of the extension before it.
fn is_client_class(class: &str) -> bool {
    matches!(class, "MongoDB\\Client" | "MongoDB\\Driver\\Manager" | "MongoClient")
}

fn client<'u, 't>(scan: &Scan<'u, 't>, expr: &'u Expr<'t>, scope: ScopeId) -> Option<Made<'u, 't>> {
    let call = match &expr.kind {
        Kind::Call(call) => call,
        Kind::Object(entries) => return connection(scan, entries, scope),
        _ => return None,
    };
    if !is_client_class(&class_of(scan.values.unit, call)) {
        return None;
    }
    let argument = |n, name| call.positional(n).or_else(|| call.named(name));
    let uri = argument(0, "uri").or_else(|| call.named("server"));
    let mut options = Vec::new();
    let mut whole = !call.args.iter().any(|arg| arg.spread);
    let mut is_shared = true;
    for list in [argument(1, "uriOptions"), argument(2, "driverOptions")].into_iter().flatten() {
        whole &= scan.options_of(list, scope, &mut options);
        let fields = scan.values.document(list, scope).unwrap_or_default();
        is_shared &= !fields.iter().any(|field| {
            let (value, _) = scan.values.follow(field.value, field.scope);
            field.is("disableClientPersistence") && !matches!(value.kind, Kind::Bool(false))
        });
    }
    Some(Made {
        driver: Driver::Php,
        uri: uri.map(|uri| (uri, scope)),
        options,
        whole,
        hosts: Vec::new(),
        // The extension keeps a client for the next request of the process with the same settings.
        is_shared,
    })
}

/// A connection of Laravel: `'mongodb' => ['driver' => 'mongodb', 'dsn' => …, 'options' => […]]`.
fn connection<'u, 't>(
    scan: &Scan<'u, 't>,
    entries: &'u [Entry<'t>],
    scope: ScopeId,
) -> Option<Made<'u, 't>> {
    let entry = |name: &str| {
        entries.iter().find(|entry| entry.name() == Some(name)).map(|entry| &entry.value)
    };
    let driver = entry("driver")?.text()?;
    if driver != "mongodb" {
        return None;
    }
    let mut options = Vec::new();
    let whole = entry("options").is_none_or(|list| scan.options_of(list, scope, &mut options));
    let host = entry("host").filter(|_| entry("dsn").is_none());
    let folded = host.map(|host| scan.values.fold(host, scope));
    let host = folded.filter(|folded| !folded.fallback).and_then(|folded| folded.whole());
    Some(Made {
        driver: Driver::Php,
        uri: entry("dsn").map(|uri| (uri, scope)),
        options,
        // The address comes from parts that settings fill in.
        whole: whole && entry("dsn").is_some(),
        hosts: host.into_iter().collect(),
        is_shared: true,
    })
}

/// `new Client($uri, ['username' => …, 'password' => '…'])`.
fn password<'u, 't>(
    values: &Values<'u, 't>,
    call: &'u Call<'t>,
    scope: ScopeId,
) -> Option<(&'u Expr<'t>, &'static str)> {
    if !is_client_class(&class_of(values.unit, call)) {
        return None;
    }
    let options = call.positional(1).or_else(|| call.named("uriOptions"))?;
    let fields = values.document(options, scope)?;
    let field = fields.into_iter().find(|field| field.is("password"))?;
    Some((field.value, "password"))
}

/// `$client->selectCollection('shop', 'users')`, `new Collection($manager, 'shop', 'users')`.
fn collection<'u, 't>(
    values: &Values<'u, 't>,
    call: &'u Call<'t>,
    scope: ScopeId,
) -> Option<(Option<String>, String)> {
    let from = match call.method()? {
        "selectCollection" | "getCollection" if call.receiver().is_some() => 0,
        "Collection" if class_of(values.unit, call) == "MongoDB\\Collection" => 1,
        _ => return None,
    };
    let collection = values.text(call.positional(from + 1)?, scope)?;
    Some((call.positional(from).and_then(|database| values.text(database, scope)), collection))
}

fn handles<'t>(unit: &Unit<'t>, id: ScopeId, function: &Function<'t>, _: &str) -> Option<String> {
    let is_request = |class: &str| {
        let class = class.trim_start_matches('?');
        matches!(class, "Request" | "ServerRequestInterface") || class.ends_with("FormRequest")
    };
    let takes_request = function.parameters.iter().any(|(_, class)| is_request(class));
    let is_action = || {
        let class = unit.class(unit.scopes[id].parent);
        class.is_some_and(|(class, _)| match &unit.scopes[class].kind {
            ScopeKind::Class { bases, .. } => bases.iter().any(|base| base.ends_with("Controller")),
            _ => false,
        })
    };
    let is_public = function.exported && !function.name.is_empty();
    (takes_request || is_public && !function.name.starts_with("__") && is_action())
        .then(|| named("the request handler", function))
}

/// Whether a file declares documents with a mapper.
fn is_mapper(text: &str) -> bool {
    let is_laravel = ["MongoDB\\Laravel", "Mongodb\\Eloquent", "Moloquent"]
        .iter()
        .any(|name| text.contains(name));
    is_laravel || text.contains("Doctrine\\ODM\\MongoDB")
}

/// Classes of documents: attributes of Doctrine, models of Laravel.
fn is_document_class(unit: &Unit<'_>, bases: &[&str], marks: &[Mark<'_>]) -> bool {
    let is_marked = marks
        .iter()
        .any(|mark| matches!(mark.path.as_str(), "Document" | "ODM.Document" | "MongoDB.Document"));
    let is_model = || {
        bases.iter().filter_map(|base| unit.import(base)).any(|import| {
            let module = import.module.to_ascii_lowercase();
            module.contains("mongodb") && (module.contains("eloquent") || module.contains("auth"))
                || module.starts_with("moloquent")
        })
    };
    is_marked && unit.imports_from("Doctrine") || is_model()
}

/// The collections that models of Laravel name: `protected $collection = 'users';`.
fn collections_of_models<'u, 't>(values: &Values<'u, 't>, _: &str, out: &mut Known) {
    let unit = values.unit;
    for statement in &unit.statements {
        let StatementKind::Assign { target, value, .. } = &statement.kind else { continue };
        let ScopeKind::Class { name, .. } = &unit.scopes[statement.scope].kind else { continue };
        let path = target.path().unwrap_or_default();
        if matches!(path.as_str(), "this.collection" | "this.table")
            && let Some(model) = out.models.get_mut(*name)
            && let Some(collection) = values.text(value, statement.scope)
        {
            *model = collection;
        }
    }
}
