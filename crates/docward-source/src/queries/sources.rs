//! Determines the source of a list: the results of a query, an array of a document, the request, or constants.

use docward_model::code::{ListSource, Origin};

use super::{
    super::{
        Scan,
        ir::{Call, Expr, Kind, ScopeId, ScopeKind},
        origins::position,
        read_modify_write::Loaded,
    },
    Reading, Reads,
};

/// Maximum number of bindings that are followed one after the other.
const MAX_STEPS: u32 = 7;
/// A variable that receives more values is not followed through all of them.
const MOST_VALUES: usize = 4;
/// Methods after which one document is still one document.
const STAYS_ONE: [&str; 22] = [
    "exec",
    "lean",
    "populate",
    "select",
    "session",
    "orElseThrow",
    "orElse",
    "get",
    "block",
    "toObject",
    "toJSON",
    "sort",
    "then",
    "catch",
    "orFail",
    "collation",
    "hint",
    "maxTimeMS",
    "await",
    "awaitSingle",
    "One",
    "map",
];
/// Methods that take one document out of a list.
const TAKES_ONE: [&str; 13] = [
    "first",
    "First",
    "FirstOrDefault",
    "FirstOrDefaultAsync",
    "FirstAsync",
    "SingleOrDefault",
    "SingleOrDefaultAsync",
    "SingleAsync",
    "findFirst",
    "next",
    "One",
    "firstOrNull",
    "pop",
];
/// Functions whose result has the elements of their argument.
const PASSES: [&str; 28] = [
    "list",
    "enumerate",
    "sorted",
    "reversed",
    "zip",
    "set",
    "tuple",
    "range",
    "len",
    "filter",
    "map",
    "values",
    "keys",
    "entries",
    "from",
    "iterator_to_array",
    "array_values",
    "array_keys",
    "array_map",
    "array_filter",
    "array_unique",
    "array_column",
    "collect",
    "chunk",
    "asList",
    "uniq",
    "uniqBy",
    "all",
];

/// The source of the value of an expression.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Made {
    /// The results of a query.
    Many {
        collection: Option<String>,
        limit: Option<i64>,
        is_proven: bool,
    },
    /// One document.
    One {
        collection: Option<String>,
        is_proven: bool,
    },
    /// An array of a document.
    Array {
        is_proven: bool,
    },
    Request,
    Constant,
    Unknown,
}

impl Made {
    /// The source of a list, and whether it is proven that the list is stored data; `None` if it is not a list.
    pub(super) fn list(self) -> Option<(ListSource, bool)> {
        match self {
            Self::Many { collection, limit, is_proven } => {
                Some((ListSource::Query { collection, limit }, is_proven))
            }
            Self::Array { is_proven } => Some((ListSource::Document, is_proven)),
            Self::Request => Some((ListSource::Request, true)),
            Self::Constant => Some((ListSource::Constant, true)),
            Self::Unknown => Some((ListSource::Unknown, true)),
            Self::One { .. } => None,
        }
    }

    /// The document, if bindings prove that it was loaded.
    fn loaded(self) -> Option<Loaded> {
        match self {
            Self::Many { collection, is_proven: true, .. }
            | Self::One { collection, is_proven: true } => Some(Loaded::of(collection)),
            Self::Array { is_proven: true } => Some(Loaded::of(None)),
            _ => None,
        }
    }

    fn is_stored(&self) -> bool {
        matches!(self, Self::Many { .. } | Self::One { .. } | Self::Array { .. })
    }

    /// An element of a list.
    fn element(self) -> Self {
        match self {
            Self::Many { collection, is_proven, .. } => Self::One { collection, is_proven },
            Self::Array { is_proven } => Self::One { collection: None, is_proven },
            other => other,
        }
    }

    /// A member of a value.
    fn member(self) -> Self {
        match self {
            Self::One { is_proven, .. } => Self::Array { is_proven },
            other => other,
        }
    }
}

impl<'u, 't> Scan<'u, 't> {
    pub(super) fn made(
        &self,
        reading: &Reading<'u, 't>,
        expr: &'u Expr<'t>,
        scope: ScopeId,
        steps: u32,
    ) -> Made {
        if steps > MAX_STEPS {
            return Made::Unknown;
        }
        let next = |expr: &'u Expr<'t>| self.made(reading, expr, scope, steps + 1);
        match &expr.kind {
            Kind::Call(call) => self.made_by_call(reading, expr, call, scope, steps),
            Kind::Name(name) => self.made_of_name(reading, expr, name, scope, steps),
            Kind::Member(of, _) => {
                let given = expr.path().map(|path| self.values.given(&path, scope));
                for (at, value) in given.into_iter().flatten().take(MOST_VALUES) {
                    let made = self.made(reading, value, at, steps + 1);
                    if made.is_stored() {
                        return made;
                    }
                }
                match next(of).member() {
                    Made::Unknown => self.made_elsewhere(expr, scope),
                    made => made,
                }
            }
            Kind::Index(of, key) => match (next(of), &key.kind) {
                (made, Kind::Text(_)) => made.member(),
                (made, _) => made.element(),
            },
            Kind::List(items) => {
                let is_constant = |item: &Expr<'t>| {
                    matches!(item.kind, Kind::Text(_) | Kind::Number(_) | Kind::Bool(_))
                };
                if items.iter().all(is_constant) {
                    return Made::Constant;
                }
                items.iter().map(next).find(Made::is_stored).unwrap_or(Made::Unknown)
            }
            Kind::Choice(held) => self.first_stored(held[1..].iter().map(next)),
            Kind::Binary("||" | "??" | "?:" | "+", left, right) => {
                self.first_stored([left, right].into_iter().map(|side| next(side)))
            }
            Kind::Other(items) => self.first_stored(items.iter().map(next)),
            Kind::Number(_) | Kind::Text(_) | Kind::Bool(_) | Kind::Null => Made::Constant,
            _ => Made::Unknown,
        }
    }

    /// The first value that was stored before, or else the last of the others.
    fn first_stored(&self, all: impl Iterator<Item = Made>) -> Made {
        let mut last = Made::Unknown;
        for made in all {
            if made.is_stored() {
                return made;
            }
            // An empty list does not show its source.
            if last == Made::Unknown || last == Made::Constant {
                last = made;
            }
        }
        last
    }

    fn made_by_call(
        &self,
        reading: &Reading<'u, 't>,
        expr: &'u Expr<'t>,
        call: &'u Call<'t>,
        scope: ScopeId,
        steps: u32,
    ) -> Made {
        if let Some(query) = self.query(expr, scope) {
            let is_proven = query.is_proven;
            return match query.reads {
                Reads::One => Made::One { collection: query.collection, is_proven },
                Reads::Many => {
                    let limit = self.limit_among(call, scope);
                    Made::Many { collection: query.collection, limit, is_proven }
                }
                Reads::Number => Made::Unknown,
            };
        }
        let Some(method) = call.method() else { return Made::Unknown };
        if let Some(of) = call.receiver() {
            match self.made(reading, of, scope, steps + 1) {
                Made::Many { collection, limit, is_proven } => {
                    if TAKES_ONE.contains(&method) {
                        return Made::One { collection, is_proven };
                    }
                    let limit = limit.or_else(|| self.limit_of(method, call, scope));
                    return Made::Many { collection, limit, is_proven };
                }
                one @ Made::One { .. } if STAYS_ONE.contains(&method) && !gets_member(call) => {
                    return one;
                }
                Made::One { is_proven, .. } => return Made::Array { is_proven },
                Made::Array { is_proven } => return Made::Array { is_proven },
                Made::Request => return Made::Request,
                Made::Constant | Made::Unknown => {}
            }
        }
        if let Some(function) = self.called_function(reading, call, scope) {
            let returned = self.returned(function);
            let made = returned.map(|(value, at)| self.made(reading, value, at, steps + 1));
            let made = self.first_stored(made);
            if made.is_stored() {
                return made;
            }
        }
        // A function of another file that returns a document which it loaded.
        let of_project = call.receiver().is_none_or(|of| of.path().is_some());
        if let Some(Some(collection)) = self.values.known.loaders.get(method)
            && of_project
        {
            return Made::One { collection: collection.clone(), is_proven: true };
        }
        if PASSES.contains(&method) {
            let args = call.args.iter().map(|arg| &arg.value);
            let lists = args.filter(|arg| !matches!(arg.kind, Kind::Function(_)));
            return self.first_stored(lists.map(|arg| self.made(reading, arg, scope, steps + 1)));
        }
        self.made_elsewhere(expr, scope)
    }

    /// The number of results that a chained method leaves.
    fn limit_of(&self, method: &str, call: &'u Call<'t>, scope: ScopeId) -> Option<i64> {
        let number = |n| call.positional(n).and_then(|arg| self.values.int(arg, scope));
        match method {
            "limit" | "Limit" | "take" | "Take" => number(0),
            "slice" if number(0) == Some(0) => number(1),
            _ => None,
        }
    }

    /// The limit among the arguments of a query: `find(filter, {limit: 5})`, `find(filter, limit=5)`.
    fn limit_among(&self, call: &'u Call<'t>, scope: ScopeId) -> Option<i64> {
        if let Some(limit) = call.named("limit") {
            return self.values.int(limit, scope);
        }
        call.args.iter().skip(1).find_map(|arg| {
            let fields = self.values.document(&arg.value, scope)?;
            let limit = fields.into_iter().find(|field| field.is("limit"))?;
            self.values.int(limit.value, limit.scope)
        })
    }

    fn made_of_name(
        &self,
        reading: &Reading<'u, 't>,
        expr: &'u Expr<'t>,
        name: &'t str,
        scope: ScopeId,
        steps: u32,
    ) -> Made {
        match self.made_at(reading, name, expr.at, scope, steps) {
            Made::Unknown => self.made_elsewhere(expr, scope),
            made => made,
        }
    }

    /// Returns the source of a variable at a position, as far as the file shows it.
    fn made_at(
        &self,
        reading: &Reading<'u, 't>,
        name: &str,
        place: usize,
        scope: ScopeId,
        steps: u32,
    ) -> Made {
        // An element of a list: the innermost loop with this name for its element.
        let around = reading.loops.iter().filter(|own| {
            own.at <= place && place < own.end && own.names.contains(&name) && own.list.at != place
        });
        if let Some(own) = around.min_by_key(|own| own.end - own.at) {
            return self.made(reading, own.list, own.scope, steps + 1).element();
        }
        let given = self.values.given(name, scope);
        let values = given.iter().take(MOST_VALUES);
        let made = values.map(|(at, value)| self.made(reading, value, *at, steps + 1));
        let mut made = self.first_stored(made);
        if !made.is_stored() {
            // `cursor.All(ctx, &users)`, `ids.push(doc.owner)`.
            let filled = self.filled(reading, name, scope, steps);
            made = filled.unwrap_or(made);
        }
        if made.is_stored() || !given.is_empty() && made != Made::Unknown {
            return made;
        }
        self.made_of_parameter(reading, name, scope, steps)
    }

    /// The document in a variable that has no value of its own: an element of a loop, a parameter of a callback.
    pub(in super::super) fn loaded_for_name(
        &self,
        name: &str,
        at: usize,
        scope: ScopeId,
    ) -> Option<Loaded> {
        self.made_at(self.reading(), name, at, scope, 0).loaded()
    }

    /// The document that a value is, or is a part of.
    pub(in super::super) fn loaded_as(
        &self,
        value: &'u Expr<'t>,
        scope: ScopeId,
    ) -> Option<Loaded> {
        self.made(self.reading(), value, scope, 1).loaded()
    }

    /// Returns the values that the same function adds to a variable after its declaration.
    fn filled(
        &self,
        reading: &Reading<'u, 't>,
        name: &str,
        scope: ScopeId,
        steps: u32,
    ) -> Option<Made> {
        let within = self.outer_function(scope);
        reading.calls.iter().find_map(|(at, expr)| {
            let call = expr.call()?;
            let own = self.outer_function(*at) == within;
            let is_it = |arg: &Expr<'t>| matches!(arg.kind, Kind::Name(other) if other == name);
            let made = match call.method()? {
                "All" | "into" | "Decode"
                    if own && call.args.iter().any(|arg| is_it(&arg.value)) =>
                {
                    self.made(reading, call.receiver()?, *at, steps + 1)
                }
                "push" | "append" | "add" | "Add" if own && is_it(call.receiver()?) => {
                    let added = call.args.last()?;
                    let mut names = Vec::new();
                    added.value.visit(&mut |inner| {
                        if matches!(inner.kind, Kind::Name(_)) {
                            names.push(inner);
                        }
                    });
                    let element = names.into_iter().find_map(|inner| {
                        let made = self.made(reading, inner, *at, steps + 2);
                        made.is_stored().then_some(made)
                    })?;
                    match element {
                        Made::One { is_proven, .. }
                            if self.is_in_loop_or_callback(reading, expr) =>
                        {
                            Made::Many { collection: None, limit: None, is_proven }
                        }
                        _ => return None,
                    }
                }
                _ => return None,
            };
            made.is_stored().then_some(made)
        })
    }

    fn is_in_loop_or_callback(&self, reading: &Reading<'u, 't>, expr: &Expr<'t>) -> bool {
        reading.loops.iter().any(|own| own.at <= expr.at && expr.end <= own.end)
    }

    /// Returns the source of a parameter: a query with a callback, its promise, or calls in the file.
    fn made_of_parameter(
        &self,
        reading: &Reading<'u, 't>,
        name: &str,
        scope: ScopeId,
        steps: u32,
    ) -> Made {
        let unit = self.values.unit;
        let found = unit.around(scope).find_map(|id| match &unit.scopes[id].kind {
            ScopeKind::Function(function) => Some((id, function, position(function, name)?)),
            _ => None,
        });
        let Some((id, function, index)) = found else { return Made::Unknown };
        if let Some((at, expr)) = reading.callbacks.get(&id)
            && let Some(call) = expr.call()
        {
            // `find(filter, (err, docs) => …)`.
            if index == 1 && self.query(expr, *at).is_some() {
                return self.made(reading, expr, *at, steps + 1);
            }
            let answers = match call.method() {
                Some("then" | "subscribe" | "flatMap" | "spread") => index == 0,
                Some("exec" | "toArray" | "lean" | "sort" | "all") => index == 1,
                _ => false,
            };
            if let Some(of) = call.receiver().filter(|_| answers) {
                return self.made(reading, of, *at, steps + 1);
            }
        }
        let is_only = reading.functions.get(function.name).is_some_and(|own| own.len() == 1);
        if function.name.is_empty() || !is_only {
            return Made::Unknown;
        }
        let calls = reading.calls.iter().filter_map(|(at, expr)| {
            let call = expr.call().filter(|call| call.method() == Some(function.name))?;
            let arg = call.positional(index).or_else(|| call.named(name))?;
            Some(self.made(reading, arg, *at, steps + 2))
        });
        self.first_stored(calls.take(MOST_VALUES))
    }

    /// The source of a value by other bindings: the request, or constants.
    fn made_elsewhere(&self, expr: &'u Expr<'t>, scope: ScopeId) -> Made {
        let origins = self.origins(expr, scope);
        if origins.contains(&Origin::Request) {
            Made::Request
        } else if !origins.is_empty() && origins.iter().all(|origin| *origin == Origin::Constant) {
            Made::Constant
        } else {
            Made::Unknown
        }
    }
}

/// `doc.get("items")` is a member, `found.get()` the document itself.
fn gets_member(call: &Call<'_>) -> bool {
    call.method() == Some("get") && call.positional(0).is_some()
}
