//! Classes of Python that are stored without a mapper: `db.orders.insert_one(order.model_dump())`.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    ir::{Call, Expr, Key, Kind, ScopeId, StatementKind, Unit},
    values::Values,
};

/// Methods that store whole documents.
pub(super) const STORES: [&str; 5] =
    ["insert_one", "insert_many", "replace_one", "find_one_and_replace", "update_one"];

/// Classes whose objects a file stores without changes, with the fields that receive other values first.
pub(super) fn classes<'u, 't>(values: &Values<'u, 't>) -> BTreeMap<String, BTreeSet<String>> {
    let unit = values.unit;
    let mut out: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    unit.each(|scope, expr| {
        let Some(call) = expr.call() else { return };
        if !call.method().is_some_and(|method| STORES.contains(&method)) {
            return;
        }
        for arg in &call.args {
            let stored = match values.document(&arg.value, scope) {
                Some(fields) => fields
                    .into_iter()
                    .filter(|field| field.is("$set") || field.is_spread)
                    .map(|field| (field.value, field.scope))
                    .collect(),
                None => vec![(&arg.value, scope)],
            };
            for (value, scope) in stored {
                let Some((name, at)) = dumped(values, value, scope) else { continue };
                let Some(class) = class_of(values, name, at) else { continue };
                let changed = match &value.kind {
                    Kind::Name(document) => given_anew(unit, document, scope),
                    _ => BTreeSet::new(),
                };
                out.entry(class.to_owned()).or_default().extend(changed);
            }
        }
    });
    out
}

/// The variable whose fields a document has: `order` of `order.dict()`, also in another variable.
fn dumped<'u, 't>(
    values: &Values<'u, 't>,
    value: &'u Expr<'t>,
    scope: ScopeId,
) -> Option<(&'t str, ScopeId)> {
    let (value, scope) = values.follow(value, scope);
    let call = value.call()?;
    let name = |expr: Option<&Expr<'t>>| match expr?.kind {
        Kind::Name(name) => Some(name),
        _ => None,
    };
    match call.method()? {
        "dict" | "model_dump" => Some((name(call.receiver())?, scope)),
        "jsonable_encoder" => Some((name(call.positional(0))?, scope)),
        _ => None,
    }
}

/// The class of a variable: the constructor that creates it, or the type of the parameter.
fn class_of<'u, 't>(values: &Values<'u, 't>, name: &str, scope: ScopeId) -> Option<&'t str> {
    let made = values.given(name, scope).into_iter().find_map(|(_, value)| {
        let class = value.call().filter(|call| call.receiver().is_none()).and_then(Call::method)?;
        class.starts_with(char::is_uppercase).then_some(class)
    });
    made.or_else(|| {
        let (_, function) = values.unit.function(scope)?;
        let (_, class) = function.parameters.iter().find(|(other, _)| *other == name)?;
        let class = class.rsplit('.').next().unwrap_or(class).trim();
        let is_class = class.starts_with(char::is_uppercase)
            && class.chars().all(|c| c.is_alphanumeric() || c == '_');
        is_class.then_some(class)
    })
}

/// Fields of a document that receive another form before the document is stored: `doc["date"] = parse(order.date)`.
fn given_anew(unit: &Unit<'_>, document: &str, scope: ScopeId) -> BTreeSet<String> {
    let function = unit.function(scope).map(|(id, _)| id);
    let mut out = BTreeSet::new();
    for statement in &unit.statements {
        if unit.function(statement.scope).map(|(id, _)| id) != function {
            continue;
        }
        let StatementKind::Assign { target, .. } = &statement.kind else { continue };
        if let Kind::Index(of, key) = &target.kind
            && matches!(of.kind, Kind::Name(name) if name == document)
        {
            out.extend(key.text().map(|key| key.into_owned()));
        }
    }
    unit.each(|at, expr| {
        // `doc.update({"date": …})`.
        let Some(call) = expr.call().filter(|call| call.method() == Some("update")) else { return };
        let is_own = unit.function(at).map(|(id, _)| id) == function
            && call.receiver().is_some_and(|of| matches!(of.kind, Kind::Name(n) if n == document));
        let first = call.positional(0).filter(|_| is_own);
        if let Some(Kind::Object(entries)) = first.map(|first| &first.kind) {
            out.extend(entries.iter().filter_map(|entry| match &entry.key {
                Key::Text(key) => Some(key.to_string()),
                Key::Computed(_) | Key::Spread => None,
            }));
        }
    });
    out
}
