//! Converts `Builders<T>` method chains and C# conditions to the documents that the driver creates from them.
//!
//! `Builders<User>.Update.Push(u => u.Logs, entry)` becomes `{$push: {Logs: entry}}`, and
//! `users.Find(u => u.Email == email)` gets the filter `{Email: email}`. The checks of documents therefore also apply
//! to these.

use std::borrow::Cow;

use tree_sitter::Node;

use super::{Lower, type_name};
use crate::{
    ir::{Entry, Expr, Key, Kind, Part, ScopeId},
    syntax::parts,
};

/// The kinds of builders, and of variables that hold them.
const FILTER: &str = "Filter";
const UPDATE: &str = "Update";
const INDEX: &str = "IndexKeys";
/// The same, if the variable holds a document that was begun.
const FILTER_DEFINITION: &str = "FilterDefinition";
const UPDATE_DEFINITION: &str = "UpdateDefinition";
const INDEX_DEFINITION: &str = "IndexKeysDefinition";

/// Methods that change one field, and the operator of each.
const UPDATES: [(&str, &str); 18] = [
    ("Set", "$set"),
    ("Unset", "$unset"),
    ("SetOnInsert", "$setOnInsert"),
    ("Inc", "$inc"),
    ("Mul", "$mul"),
    ("Min", "$min"),
    ("Max", "$max"),
    ("Rename", "$rename"),
    ("CurrentDate", "$currentDate"),
    ("Push", "$push"),
    ("PushEach", "$push"),
    ("AddToSet", "$addToSet"),
    ("AddToSetEach", "$addToSet"),
    ("Pull", "$pull"),
    ("PullAll", "$pullAll"),
    ("PullFilter", "$pull"),
    ("PopFirst", "$pop"),
    ("PopLast", "$pop"),
];
/// Conditions on one field; an empty operator means equality.
const CONDITIONS: [(&str, &str); 22] = [
    ("Eq", ""),
    ("AnyEq", ""),
    ("Ne", "$ne"),
    ("AnyNe", "$ne"),
    ("Gt", "$gt"),
    ("Gte", "$gte"),
    ("Lt", "$lt"),
    ("Lte", "$lte"),
    ("AnyGt", "$gt"),
    ("AnyGte", "$gte"),
    ("AnyLt", "$lt"),
    ("AnyLte", "$lte"),
    ("In", "$in"),
    ("AnyIn", "$in"),
    ("Nin", "$nin"),
    ("AnyNin", "$nin"),
    ("All", "$all"),
    ("Size", "$size"),
    ("Exists", "$exists"),
    ("Regex", "$regex"),
    ("ElemMatch", "$elemMatch"),
    ("StringIn", "$in"),
];
const KEYS: [(&str, &str); 5] = [
    ("Ascending", "1"),
    ("Descending", "-1"),
    ("Hashed", "hashed"),
    ("Text", "text"),
    ("Geo2DSphere", "2dsphere"),
];

/// Maximum number of links of a chain.
const MAX_LINKS: u32 = 60;

/// Records the content of a name, by its declared type or by its value.
pub(super) fn remember<'t>(
    l: &mut Lower<'_, 't>,
    name: &'t str,
    class: &'t str,
    value: Option<Node<'_>>,
) {
    let declared = match type_name(class) {
        "UpdateDefinitionBuilder" => Some(UPDATE),
        "FilterDefinitionBuilder" => Some(FILTER),
        "IndexKeysDefinitionBuilder" => Some(INDEX),
        "UpdateDefinition" => Some(UPDATE_DEFINITION),
        "FilterDefinition" => Some(FILTER_DEFINITION),
        "IndexKeysDefinition" => Some(INDEX_DEFINITION),
        _ => None,
    };
    let given = || {
        let value = value?;
        let kind = kind_of(l, value, 0)?;
        // `Builders<T>.Filter` itself, or the result of one of its methods.
        Some(if value.kind() == "invocation_expression" { definition(kind) } else { kind })
    };
    match declared.or_else(given) {
        Some(kind) => {
            l.builders.insert(name, kind);
        }
        None => {
            l.builders.remove(name);
        }
    }
}

fn definition(kind: &'static str) -> &'static str {
    match kind {
        FILTER => FILTER_DEFINITION,
        UPDATE => UPDATE_DEFINITION,
        INDEX => INDEX_DEFINITION,
        other => other,
    }
}

/// Returns the kind of document that an expression builds: `Builders<T>.Update`, a variable that holds it, or a chain
/// that begins with one.
fn kind_of(l: &Lower<'_, '_>, node: Node<'_>, steps: u32) -> Option<&'static str> {
    if steps > MAX_LINKS {
        return None;
    }
    match node.kind() {
        "identifier" => l.builders.get(l.text(node)).copied(),
        "parenthesized_expression" => kind_of(l, parts(node).into_iter().next()?, steps + 1),
        "member_access_expression" => {
            let of = node.child_by_field_name("expression")?;
            let name = l.field_text(node, "name");
            if of.kind() == "this" {
                return l.builders.get(name).copied();
            }
            let is_builders = type_name(l.text(of)) == "Builders";
            [FILTER, UPDATE, INDEX].into_iter().find(|kind| is_builders && *kind == name)
        }
        "invocation_expression" => {
            let function = node.child_by_field_name("function")?;
            let of = function.child_by_field_name("expression")?;
            kind_of(l, of, steps + 1)
        }
        _ => None,
    }
}

/// `Builders<T>.Filter.Empty`.
pub(super) fn constant<'t>(l: &Lower<'_, 't>, node: Node<'_>) -> Option<Kind<'t>> {
    let of = node.child_by_field_name("expression")?;
    let is_empty = l.field_text(node, "name") == "Empty";
    (is_empty && kind_of(l, of, 0) == Some(FILTER)).then(|| Kind::Object(Vec::new()))
}

/// `filter & other`.
pub(super) fn joined<'t>(
    l: &mut Lower<'_, 't>,
    node: Node<'_>,
    scope: ScopeId,
) -> Option<Kind<'t>> {
    if l.field_text(node, "operator") != "&" {
        return None;
    }
    let left = node.child_by_field_name("left")?;
    let right = node.child_by_field_name("right")?;
    let is_filter = |kind: Option<&str>| matches!(kind, Some(FILTER | FILTER_DEFINITION));
    if !is_filter(kind_of(l, left, 0)) && !is_filter(kind_of(l, right, 0)) {
        return None;
    }
    Some(Kind::Object(vec![spread(l, left, scope), spread(l, right, scope)]))
}

/// All fields of another document.
fn spread<'t>(l: &mut Lower<'_, 't>, node: Node<'_>, scope: ScopeId) -> Entry<'t> {
    let value = match node.kind() {
        "lambda_expression" => condition(l, node, scope),
        _ => None,
    };
    let at = node.start_byte();
    let value = match value {
        Some(kind) => Expr { at, end: node.end_byte(), kind },
        None => l.node(node, scope),
    };
    Entry { key: Key::Spread, value, at }
}

fn single<'t>(key: &'static str, at: usize, value: Expr<'t>) -> Expr<'t> {
    let end = value.end;
    let entry = Entry { key: Key::Text(Cow::Borrowed(key)), value, at };
    Expr { at, end, kind: Kind::Object(vec![entry]) }
}

/// The document that a call of a builder's method creates.
pub(super) fn call<'t>(
    l: &mut Lower<'_, 't>,
    function: Node<'_>,
    list: Option<Node<'_>>,
    scope: ScopeId,
) -> Option<Kind<'t>> {
    if function.kind() != "member_access_expression" {
        return None;
    }
    let of = function.child_by_field_name("expression")?;
    let kind = kind_of(l, of, 0)?;
    let name = function.child_by_field_name("name")?;
    let method = type_name(l.text(name));
    let at = name.start_byte();
    let args = given(l, list);
    let find = |table: &[(&str, &'static str)]| {
        table.iter().find(|(name, _)| *name == method).map(|(_, operator)| *operator)
    };
    // An expression must not be lowered twice, so all checks that can fail come first.
    let step = match (kind, method) {
        (_, "Combine" | "And") => Step::All,
        (FILTER | FILTER_DEFINITION, "Or") => Step::List("$or"),
        (FILTER | FILTER_DEFINITION, "Nor" | "Not") => Step::List("$nor"),
        (FILTER | FILTER_DEFINITION, "Where") => Step::All,
        (FILTER | FILTER_DEFINITION, _) => Step::Condition(find(&CONDITIONS)?),
        (UPDATE | UPDATE_DEFINITION, _) => Step::Update(find(&UPDATES)?),
        _ => Step::Key(find(&KEYS)?),
    };
    let key = match step {
        Step::Condition(_) | Step::Update(_) | Step::Key(_) => {
            Some(field(l, args.first()?.1, scope)?)
        }
        Step::All | Step::List(_) => None,
    };
    let mut entries = match kind {
        // The chain so far.
        _ if of.kind() == "invocation_expression" => {
            let chain = spread(l, of, scope);
            match chain.value.kind {
                Kind::Object(entries) => entries,
                _ => vec![chain],
            }
        }
        FILTER_DEFINITION | UPDATE_DEFINITION | INDEX_DEFINITION => vec![spread(l, of, scope)],
        _ => Vec::new(),
    };
    let end = function.end_byte();
    match (step, key) {
        (Step::Condition(operator), Some((key, _))) => {
            let value = match args.get(1) {
                Some((_, arg)) => spread(l, *arg, scope).value,
                None => Expr { at, end: at, kind: Kind::Bool(true) },
            };
            let value = if operator.is_empty() { value } else { single(operator, at, value) };
            entries.push(Entry { key, value, at });
        }
        (Step::Update(operator), Some((key, key_at))) => {
            let value = changed(l, method, at, &args, scope);
            let held = Entry { key, value, at: key_at };
            let value = Expr { at, end, kind: Kind::Object(vec![held]) };
            entries.push(Entry { key: Key::Text(Cow::Borrowed(operator)), value, at });
        }
        (Step::Key(order), Some((key, _))) => {
            let kind = match order.parse::<i32>() {
                Ok(_) => Kind::Number(order),
                Err(_) => Kind::Text(vec![Part::Text(Cow::Borrowed(order), at)]),
            };
            entries.push(Entry { key, value: Expr { at, end: at, kind }, at });
        }
        (Step::List(operator), _) => {
            let items = args.into_iter().map(|(_, arg)| spread(l, arg, scope).value).collect();
            let value = Expr { at, end, kind: Kind::List(items) };
            entries.push(Entry { key: Key::Text(Cow::Borrowed(operator)), value, at });
        }
        _ => {
            for (_, arg) in args {
                entries.push(spread(l, arg, scope));
            }
        }
    }
    Some(Kind::Object(entries))
}

/// The entry that a method adds to a document.
#[derive(Clone, Copy)]
enum Step {
    /// A condition on a field.
    Condition(&'static str),
    /// An operator of updates, with a field.
    Update(&'static str),
    /// A field of an index.
    Key(&'static str),
    /// A list of documents under an operator.
    List(&'static str),
    /// All fields of other documents.
    All,
}

/// Returns the new content of a field in an update: the value, or `{$each, $slice, …}`.
fn changed<'t>(
    l: &mut Lower<'_, 't>,
    method: &str,
    at: usize,
    args: &[(Option<&str>, Node<'_>)],
    scope: ScopeId,
) -> Expr<'t> {
    let Some((_, value)) = args.get(1) else {
        return Expr { at, end: at, kind: Kind::Number("1") };
    };
    let value = match method {
        "PullFilter" => spread(l, *value, scope).value,
        _ => l.node(*value, scope),
    };
    if !method.ends_with("Each") {
        return value;
    }
    let end = value.end;
    let mut entries = vec![Entry { key: Key::Text(Cow::Borrowed("$each")), value, at }];
    // `PushEach(field, values, slice, position, sort)`.
    for (n, (name, operator)) in
        [("slice", "$slice"), ("position", "$position"), ("sort", "$sort")].into_iter().enumerate()
    {
        let named = args.iter().find(|(given, _)| *given == Some(name));
        let given = named.or_else(|| args.get(n + 2).filter(|(given, _)| given.is_none()));
        let Some((_, given)) = given else { continue };
        let value = l.node(*given, scope);
        if !matches!(value.kind, Kind::Null) {
            entries.push(Entry { key: Key::Text(Cow::Borrowed(operator)), value, at });
        }
    }
    Expr { at, end, kind: Kind::Object(entries) }
}

/// Arguments with their names.
fn given<'n, 't>(l: &Lower<'_, 't>, list: Option<Node<'n>>) -> Vec<(Option<&'t str>, Node<'n>)> {
    let mut out = Vec::new();
    for argument in list.map(parts).unwrap_or_default() {
        let name = argument.child_by_field_name("name");
        let held = parts(argument).into_iter().rfind(|held| Some(*held) != name);
        out.extend(held.map(|held| (name.map(|name| l.text(name)), held)));
    }
    out
}

/// The field that an argument names: `u => u.Logs`, `"logs"`, or something computed.
fn field<'t>(l: &mut Lower<'_, 't>, node: Node<'_>, scope: ScopeId) -> Option<(Key<'t>, usize)> {
    if node.kind() == "lambda_expression" {
        let body = node.child_by_field_name("body")?;
        let path = path_of(l, body, parameter(l, node)?, 0)?;
        return Some((Key::Text(Cow::Owned(path)), body.start_byte()));
    }
    let key = l.node(node, scope);
    let at = key.at;
    let key = match key.text() {
        Some(text) => Key::Text(Cow::Owned(text.into_owned())),
        None => Key::Computed(Box::new(key)),
    };
    Some((key, at))
}

/// The one parameter of a function.
fn parameter<'t>(l: &Lower<'_, 't>, lambda: Node<'_>) -> Option<&'t str> {
    let list = lambda.child_by_field_name("parameters")?;
    let name = match list.kind() {
        "parameter_list" => match parts(list).as_slice() {
            [only] => only.child_by_field_name("name").unwrap_or(*only),
            _ => return None,
        },
        _ => list,
    };
    Some(l.text(name))
}

/// The path of `u.Address.City`, with the names that documents have: the driver stores `Id` as `_id`.
fn path_of(l: &Lower<'_, '_>, node: Node<'_>, parameter: &str, steps: u32) -> Option<String> {
    if steps > MAX_LINKS {
        return None;
    }
    let join = |path: String, name: &str| match path.is_empty() {
        true => name.to_owned(),
        false => format!("{path}.{name}"),
    };
    match node.kind() {
        "identifier" => (l.text(node) == parameter).then(String::new),
        "parenthesized_expression" | "postfix_unary_expression" => {
            path_of(l, parts(node).into_iter().next()?, parameter, steps + 1)
        }
        "cast_expression" => path_of(l, node.child_by_field_name("value")?, parameter, steps + 1),
        "member_access_expression" => {
            let of = node.child_by_field_name("expression")?;
            let path = path_of(l, of, parameter, steps + 1)?;
            let name = l.field_text(node, "name");
            // `x.EndsAt.Value` of a nullable.
            if name == "Value" && !path.is_empty() {
                return Some(path);
            }
            Some(join(path, if name == "Id" { "_id" } else { name }))
        }
        "element_access_expression" => {
            let of = node.child_by_field_name("expression")?;
            let path = path_of(l, of, parameter, steps + 1)?;
            let index = l.field_text(node, "subscript").trim_matches(['[', ']']);
            let index = match index {
                "-1" => "$",
                number if number.bytes().all(|b| b.is_ascii_digit()) => number,
                text if text.starts_with('"') => text.trim_matches('"'),
                _ => return None,
            };
            Some(join(path, index))
        }
        // `u.Items.FirstMatchingElement().Count`.
        "invocation_expression" => {
            let function = node.child_by_field_name("function")?;
            let of = function.child_by_field_name("expression")?;
            let path = path_of(l, of, parameter, steps + 1)?;
            let element = match type_name(l.field_text(function, "name")) {
                "FirstMatchingElement" => "$",
                "AllElements" => "$[]",
                "AllMatchingElements" => "$[element]",
                _ => return None,
            };
            Some(join(path, element))
        }
        _ => None,
    }
}

/// The filter that the driver creates from a condition: `u => u.Email == email && u.Age > 18`; `None` for conditions
/// that are not this simple.
pub(super) fn condition<'t>(
    l: &mut Lower<'_, 't>,
    lambda: Node<'_>,
    scope: ScopeId,
) -> Option<Kind<'t>> {
    let parameter = parameter(l, lambda)?;
    let body = lambda.child_by_field_name("body")?;
    let mut tests = Vec::new();
    planned(l, body, parameter, &mut tests, 0)?;
    Some(tested(l, tests, scope))
}

/// A test of a condition.
struct Test<'n> {
    at: usize,
    path: String,
    operator: &'static str,
    with: With<'n>,
}

/// The operand that a field is compared with.
enum With<'n> {
    Value(Node<'n>),
    Bool(bool),
    /// One of several sets of tests.
    Either(Vec<Vec<Test<'n>>>),
}

/// The document of some tests.
fn tested<'t>(l: &mut Lower<'_, 't>, tests: Vec<Test<'_>>, scope: ScopeId) -> Kind<'t> {
    let mut entries = Vec::new();
    for Test { at, path, operator, with } in tests {
        let value = match with {
            With::Value(node) => l.node(node, scope),
            With::Bool(value) => Expr { at, end: at, kind: Kind::Bool(value) },
            With::Either(sides) => {
                let mut items = Vec::new();
                for side in sides {
                    items.push(Expr { at, end: at, kind: tested(l, side, scope) });
                }
                Expr { at, end: at, kind: Kind::List(items) }
            }
        };
        let value = if operator.is_empty() { value } else { single(operator, at, value) };
        entries.push(Entry { key: Key::Text(Cow::Owned(path)), value, at });
    }
    Kind::Object(entries)
}

fn planned<'n>(
    l: &Lower<'_, '_>,
    node: Node<'n>,
    parameter: &str,
    out: &mut Vec<Test<'n>>,
    steps: u32,
) -> Option<()> {
    if steps > MAX_LINKS {
        return None;
    }
    let at = node.start_byte();
    let mut file = |path: String, operator: &'static str, with: With<'n>| {
        out.push(Test { at, path, operator, with });
    };
    match node.kind() {
        "parenthesized_expression" => {
            planned(l, parts(node).into_iter().next()?, parameter, out, steps + 1)?;
        }
        // `_ => true`.
        "boolean_literal" => return (l.text(node) == "true").then_some(()),
        "member_access_expression" => file(path_of(l, node, parameter, 0)?, "", With::Bool(true)),
        "prefix_unary_expression" | "unary_expression" => {
            let path = path_of(l, parts(node).into_iter().next()?, parameter, 0)?;
            file(path, "", With::Bool(false));
        }
        // `u.Tags.Contains(tag)`, `ids.Contains(u.Id)`.
        "invocation_expression" => {
            let function = node.child_by_field_name("function")?;
            if l.field_text(function, "name") != "Contains" {
                return None;
            }
            let of = function.child_by_field_name("expression")?;
            let (_, arg) = given(l, node.child_by_field_name("arguments")).into_iter().next()?;
            match path_of(l, of, parameter, 0) {
                Some(path) => file(path, "", With::Value(arg)),
                None => file(path_of(l, arg, parameter, 0)?, "$in", With::Value(of)),
            }
        }
        "binary_expression" => {
            let left = node.child_by_field_name("left")?;
            let right = node.child_by_field_name("right")?;
            let operator = l.field_text(node, "operator");
            if operator == "&&" {
                planned(l, left, parameter, out, steps + 1)?;
                return planned(l, right, parameter, out, steps + 1);
            }
            if operator == "||" {
                let mut sides = Vec::new();
                for side in [left, right] {
                    let mut tests = Vec::new();
                    planned(l, side, parameter, &mut tests, steps + 1)?;
                    sides.push(tests);
                }
                file("$or".to_owned(), "", With::Either(sides));
                return Some(());
            }
            let (path, other, is_turned) = match path_of(l, left, parameter, 0) {
                Some(path) => (path, right, false),
                None => (path_of(l, right, parameter, 0)?, left, true),
            };
            let operator = match (operator, is_turned) {
                ("==", _) => "",
                ("!=", _) => "$ne",
                (">", false) | ("<", true) => "$gt",
                (">=", false) | ("<=", true) => "$gte",
                ("<", false) | (">", true) => "$lt",
                ("<=", false) | (">=", true) => "$lte",
                _ => return None,
            };
            file(path, operator, With::Value(other));
        }
        _ => return None,
    }
    Some(())
}
