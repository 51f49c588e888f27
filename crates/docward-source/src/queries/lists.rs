//! Queries without a selective condition that load all their results into a list, and collections that grow with
//! requests.

use std::collections::BTreeSet;

use docward_model::code::{FilterKind, ListQuery, Origin};

use super::{
    super::{
        Language, Scan, handlers,
        ir::{Call, Expr, Kind, ScopeId},
        values::Field,
    },
    Query, Reading, Reads, chain_base,
    chains::Chains,
};

/// Methods that begin a query for a list.
const BEGINS: [&str; 8] =
    ["find", "Find", "findAll", "find_all", "find_many", "all", "get", "objects"];
/// Methods on a query that limit its results, return one of them, or read them one by one.
const BOUNDS: [&str; 37] = [
    "limit",
    "Limit",
    "take",
    "Take",
    "first",
    "First",
    "FirstOrDefault",
    "FirstOrDefaultAsync",
    "FirstAsync",
    "SingleOrDefault",
    "SingleOrDefaultAsync",
    "SingleAsync",
    "One",
    "one",
    "count",
    "Count",
    "countDocuments",
    "CountDocuments",
    "CountDocumentsAsync",
    "size",
    "paginate",
    "simplePaginate",
    "cursor",
    "stream",
    "pipe",
    "explain",
    "distinct",
    "next",
    "Next",
    "tryNext",
    "hasNext",
    "forEach",
    "each",
    "chunk",
    "lazy",
    "remove",
    "where",
];
/// Methods on a query that load its results.
const LOADS: [&str; 13] = [
    "toArray",
    "to_list",
    "ToList",
    "ToListAsync",
    "ToArray",
    "ToArrayAsync",
    "into",
    "toList",
    "All",
    "exec",
    "lean",
    "collect",
    "populate",
];
/// Functions that load their argument.
const LOADERS: [&str; 8] =
    ["list", "sorted", "tuple", "dumps", "jsonify", "DataFrame", "iterator_to_array", "loads"];
/// Operators that a large part of a collection may meet.
const VAGUE: [&str; 4] = ["$ne", "$nin", "$exists", "$not"];
const INSERTS: [&str; 9] = [
    "insertOne",
    "insert_one",
    "InsertOne",
    "insertMany",
    "insert_many",
    "InsertMany",
    "insert",
    "create",
    "save",
];

impl<'u, 't> Scan<'u, 't> {
    /// Finds queries that load a whole collection, or much of it.
    pub(super) fn lists(
        &self,
        reading: &Reading<'u, 't>,
        chains: &Chains<'u, 't>,
    ) -> Vec<ListQuery> {
        let loaded = self.loaded_spans(reading);
        let mut seen = BTreeSet::new();
        let mut found = Vec::new();
        for (scope, expr) in &reading.calls {
            let Some(call) = expr.call() else { continue };
            let begins = call.method().is_some_and(|method| BEGINS.contains(&method));
            let Some(query) = self.query(expr, *scope).filter(|_| begins) else { continue };
            if query.reads != Reads::Many || !seen.insert(expr.at) {
                continue;
            }
            let Some(filter) = self.filter_kind(call, *scope) else { continue };
            let in_handler =
                handlers::handler_around(self.values.unit, *scope, self.within).is_some();
            let is_loaded = self.loads_by_itself(call, &query, *scope)
                || chains.has(call, &LOADS)
                || loaded.contains(&(call.callee.at, call.callee.end));
            if !is_loaded || chains.has(call, &BOUNDS) || self.has_other_options(call, *scope) {
                continue;
            }
            let (filter, fields) = filter;
            found.push(ListQuery {
                place: self.place(expr.at, *scope),
                collection: query.collection,
                is_proven: query.is_proven,
                filter,
                fields,
                in_handler,
            });
        }
        found
    }

    /// Whether the driver or mapper returns a list, and not a cursor.
    fn loads_by_itself(&self, call: &'u Call<'t>, query: &Query, scope: ScopeId) -> bool {
        let unit = self.values.unit;
        match unit.language {
            language if language.is_script() => {
                let target = call.receiver().and_then(|of| self.values.target(of, scope));
                query.is_proven && target.is_some_and(|target| target.is_model)
            }
            language if language.is_jvm() => query.collection.is_none(),
            Language::Php => {
                let is_static = matches!(chain_base(&call.callee).kind, Kind::Name(name)
                    if self.values.known.models.contains_key(name));
                is_static && matches!(call.method(), Some("all" | "get"))
            }
            _ => false,
        }
    }

    /// The calls whose results a function or comprehension loads, by the range of the callee.
    fn loaded_spans(&self, reading: &Reading<'u, 't>) -> BTreeSet<(usize, usize)> {
        let mut given: Vec<(ScopeId, &'u Expr<'t>)> = Vec::new();
        for (scope, expr) in &reading.calls {
            let Some(call) = expr.call() else { continue };
            if call.method().is_some_and(|method| LOADERS.contains(&method)) {
                given.extend(call.args.iter().map(|arg| (*scope, &arg.value)));
            }
        }
        // A comprehension encloses its list.
        let comprehensions = self.values.unit.iterations.iter().filter(|own| own.at < own.list.at);
        given.extend(comprehensions.map(|own| (own.scope, &own.list)));
        let mut found = BTreeSet::new();
        for (scope, expr) in given {
            let values = match expr.kind {
                Kind::Name(name) => self.values.given(name, scope),
                _ => vec![(scope, expr)],
            };
            for (_, value) in values {
                let mut next = Some(value);
                while let Some(call) = next.and_then(Expr::call) {
                    found.insert((call.callee.at, call.callee.end));
                    next = call.receiver();
                }
            }
        }
        found
    }

    /// Returns the kind of a filter and its fields, or `None` if a condition is selective or unknown.
    fn filter_kind(&self, call: &'u Call<'t>, scope: ScopeId) -> Option<(FilterKind, Vec<String>)> {
        let nothing = Some((FilterKind::Nothing, Vec::new()));
        if matches!(call.method(), Some("all" | "find_all" | "findAll")) {
            let is_class =
                |arg: &Expr<'t>| matches!(&arg.kind, Kind::Member(_, "class") | Kind::Other(_));
            let is_plain = call.args.is_empty()
                || call.method() == Some("findAll")
                    && call.args.iter().all(|arg| is_class(&arg.value));
            return if is_plain { nothing } else { None };
        }
        let position = self.values.unit.language.dialect().leading_arguments;
        let filter = call.named("filter").or_else(|| call.positional(position));
        let Some(filter) = filter.filter(|arg| !matches!(arg.kind, Kind::Function(_))) else {
            // Conditions as keywords, or a function.
            let is_plain = call.args.iter().all(|arg| {
                arg.name.is_some_and(|name| matches!(name, "projection" | "sort" | "session"))
                    || matches!(arg.value.kind, Kind::Function(_))
                        && self.values.unit.language.is_script()
            });
            return if is_plain { nothing } else { None };
        };
        let (value, at) = self.values.follow(filter, scope);
        if matches!(value.kind, Kind::Null)
            || matches!(&value.kind, Kind::List(items) if items.is_empty())
        {
            return nothing;
        }
        let fields = self.values.document(value, at)?;
        // A document that is filled later does not show its conditions.
        if let Kind::Name(name) = filter.kind
            && self.is_filled_later(name, scope)
        {
            return None;
        }
        if fields.is_empty() {
            return nothing;
        }
        let names: Option<Vec<String>> = fields.iter().map(|field| field.name.clone()).collect();
        let names = names?;
        let is_vague = |field: &Field<'u, 't>| {
            let (value, at) = self.values.follow(field.value, field.scope);
            match &value.kind {
                Kind::Bool(_) | Kind::Null => true,
                Kind::Object(entries) => {
                    !entries.is_empty()
                        && self
                            .values
                            .document(value, at)
                            .unwrap_or_default()
                            .iter()
                            .all(|inner| VAGUE.iter().any(|operator| inner.is(operator)))
                }
                _ => false,
            }
        };
        let are_vague = fields.iter().all(|f| !f.is_spread && is_vague(f));
        // `_id: {$ne: id}` excludes one document.
        let kind = match names.iter().all(|name| name == "_id") {
            true => FilterKind::Nothing,
            false => FilterKind::Flags,
        };
        are_vague.then_some((kind, names))
    }

    /// Whether code adds conditions to a document after its declaration: `filter.state = …`, `filter["state"] = …`.
    fn is_filled_later(&self, name: &str, scope: ScopeId) -> bool {
        let unit = self.values.unit;
        let function = self.outer_function(scope);
        let given = unit.statements.iter().any(|statement| match &statement.kind {
            super::StatementKind::Assign { target, .. } => {
                matches!(target.kind, Kind::Member(..) | Kind::Index(..))
                    && matches!(member_base(target).kind, Kind::Name(own) if own == name)
                    && self.outer_function(statement.scope) == function
            }
            _ => false,
        });
        let mut called = false;
        unit.each(|at, expr| {
            let Some(call) = expr.call() else { return };
            let changes = matches!(
                call.method(),
                Some("update" | "assign" | "append" | "put" | "Add" | "push")
            );
            let is_it = |expr: &Expr<'t>| matches!(expr.kind, Kind::Name(own) if own == name);
            called |= changes
                && self.outer_function(at) == function
                && (call.receiver().is_some_and(is_it)
                    || call.args.iter().any(|arg| is_it(&arg.value)));
        });
        given || called || self.values.given(name, scope).len() > 1
    }

    /// Whether options may bound the results: a limit, or an unknown value.
    fn has_other_options(&self, call: &'u Call<'t>, scope: ScopeId) -> bool {
        if call
            .args
            .iter()
            .any(|arg| arg.spread || matches!(arg.name, Some("limit" | "skip" | "options")))
        {
            return true;
        }
        let skip = self.values.unit.language.dialect().leading_arguments + 1;
        call.args.iter().skip(skip).any(|arg| {
            let (value, at) = self.values.follow(&arg.value, scope);
            match &value.kind {
                Kind::Function(_) | Kind::Null | Kind::Text(_) | Kind::Member(_, "class") => false,
                Kind::Call(_) => {
                    let mut limits = false;
                    value.visit(&mut |inner| {
                        limits |= inner.call().and_then(Call::method).is_some_and(|method| {
                            matches!(method, "SetLimit" | "limit" | "Limit")
                        });
                    });
                    limits || matches!(arg.value.kind, Kind::Name(name) if self.sets_limit(name, scope))
                }
                _ => match self.values.document(value, at) {
                    Some(fields) => {
                        fields.iter().any(|field| field.is_spread || field.is("limit") || field.is("Limit"))
                    }
                    None => !self.values.unit.language.is_jvm(),
                },
            }
        })
    }

    /// Whether `options.SetLimit(n)` follows the declaration.
    fn sets_limit(&self, name: &str, scope: ScopeId) -> bool {
        let function = self.outer_function(scope);
        let mut found = false;
        self.values.unit.each(|at, expr| {
            let Some(call) = expr.call().filter(|call| call.method() == Some("SetLimit")) else {
                return;
            };
            found |= self.outer_function(at) == function
                && matches!(chain_base(&call.callee).kind, Kind::Name(own) if own == name);
        });
        found
    }

    /// Collections that requests, or the callers of a function, insert documents into.
    pub(super) fn grown(&self, reading: &Reading<'u, 't>) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        for (scope, expr) in &reading.calls {
            let Some(call) = expr.call() else { continue };
            if !call.method().is_some_and(|method| INSERTS.contains(&method)) {
                continue;
            }
            let Some((collection, stored)) = self.inserted(call, *scope) else { continue };
            let in_handler =
                || handlers::handler_around(self.values.unit, *scope, self.within).is_some();
            let is_given = || {
                stored.iter().any(|(at, value)| {
                    let origins = self.origins(value, *at);
                    origins.iter().any(|origin| {
                        matches!(
                            origin,
                            Origin::Request | Origin::User(_) | Origin::Parameter { .. }
                        )
                    })
                })
            };
            if in_handler() || is_given() {
                found.insert(collection);
            }
        }
        found
    }

    /// The collection that a call inserts into, and the value that it stores.
    pub(super) fn inserted(
        &self,
        call: &'u Call<'t>,
        scope: ScopeId,
    ) -> Option<(String, Vec<(ScopeId, &'u Expr<'t>)>)> {
        let of = call.receiver()?;
        let args = || call.args.iter().map(|arg| (scope, &arg.value)).collect();
        if call.method() != Some("save") {
            let target = self.values.target(of, scope)?;
            return Some((target.collection, args()));
        }
        // `new User({…}).save()`, also with the document in a variable.
        let made = match of.kind {
            Kind::Name(name) => self.values.given(name, scope),
            _ => vec![(scope, of)],
        };
        made.into_iter().find_map(|(at, value)| {
            let call = value.call()?;
            let target = self.values.target(&call.callee, at).filter(|target| target.is_model)?;
            let stored = call.args.iter().map(|arg| (at, &arg.value)).collect();
            Some((target.collection, stored))
        })
    }
}

/// The expression that members and elements belong to.
fn member_base<'e, 't>(expr: &'e Expr<'t>) -> &'e Expr<'t> {
    match &expr.kind {
        Kind::Member(of, _) | Kind::Index(of, _) => member_base(of),
        _ => expr,
    }
}
