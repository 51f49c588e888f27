//! Queries that skip documents to reach a page.

use docward_model::code::{Origin, SkipQuery};

use super::{
    super::{
        Language, Scan,
        ir::{Call, Expr, Kind, ScopeId, ScopeKind},
    },
    Query, Reading, Reads, chain_base,
};

/// Methods after which a chain works on a list in memory.
const IN_MEMORY: [&str; 7] =
    ["stream", "AsEnumerable", "asSequence", "toList", "ToList", "ToListAsync", "toArray"];
/// Functions that keep a number within bounds.
const CLAMPS: [&str; 6] = ["min", "Min", "clamp", "Clamp", "coerceAtMost", "coerceIn"];

/// A number of documents that a query skips.
struct Skip<'u, 't> {
    number: &'u Expr<'t>,
    scope: ScopeId,
    collection: Option<String>,
    is_proven: bool,
}

impl<'u, 't> Scan<'u, 't> {
    pub(super) fn skips(&self, reading: &Reading<'u, 't>) -> Vec<SkipQuery> {
        let mut found = Vec::new();
        for (scope, expr) in &reading.calls {
            let Some(call) = expr.call() else { continue };
            found.extend(self.chained_skip(call, *scope));
            found.extend(self.skip_among(expr, call, *scope));
        }
        let mut seen = std::collections::BTreeSet::new();
        found.retain(|skip| seen.insert(skip.number.at));
        found.into_iter().filter_map(|skip| self.skip(skip)).collect()
    }

    fn skip(&self, skip: Skip<'u, 't>) -> Option<SkipQuery> {
        if self.values.int(skip.number, skip.scope).is_some() {
            return None;
        }
        let origins = self.origins(skip.number, skip.scope);
        Some(SkipQuery {
            place: self.place(skip.number.at, skip.scope),
            collection: skip.collection,
            is_proven: skip.is_proven,
            // A number named `from` does not identify a user.
            from_request: origins.iter().any(|o| matches!(o, Origin::Request | Origin::User(_))),
            from_caller: origins.iter().any(|o| matches!(o, Origin::Parameter { .. })),
            is_bounded: self.is_clamped(skip.number, skip.scope, 0),
        })
    }

    /// `find(filter).skip(n)`, `Find(filter).Skip(n)`.
    fn chained_skip(&self, call: &'u Call<'t>, scope: ScopeId) -> Option<Skip<'u, 't>> {
        if !matches!(call.method(), Some("skip" | "Skip")) {
            return None;
        }
        let number = call.positional(0)?;
        let Query { collection, is_proven, .. } = self.query_before(call.receiver()?, scope, 0)?;
        Some(Skip { number, scope, collection, is_proven })
    }

    /// The query that a chain begins with, also through a variable.
    fn query_before(&self, expr: &'u Expr<'t>, scope: ScopeId, steps: u32) -> Option<Query> {
        if steps > 12 {
            return None;
        }
        match &expr.kind {
            Kind::Call(call) => {
                if call.method().is_some_and(|method| IN_MEMORY.contains(&method)) {
                    return None;
                }
                let query = self.query(expr, scope).or_else(|| self.find_of_cursor(call));
                query.or_else(|| match call.receiver() {
                    Some(of) => self.query_before(of, scope, steps + 1),
                    // A function of the file that begins a query.
                    None => {
                        let function = self.called_function(self.reading(), call, scope)?;
                        let mut returned = self.returned(function);
                        returned.find_map(|(value, at)| self.query_before(value, at, steps + 1))
                    }
                })
            }
            Kind::Name(name) => {
                let given = self.values.given(name, scope);
                given.into_iter().find_map(|(at, value)| self.query_before(value, at, steps + 1))
            }
            _ => None,
        }
    }

    /// `find(filter)` of PyMongo, with any filter: its result has a `skip`.
    fn find_of_cursor(&self, call: &Call<'t>) -> Option<Query> {
        let is_own = self.values.unit.language == Language::Python
            && self.values.is_mongo_file()
            && call.method() == Some("find")
            && call.receiver().is_some();
        is_own.then_some(Query { collection: None, reads: Reads::Many, is_proven: true })
    }

    /// `find(filter, {skip: n})`, `find(filter, skip=n)`, `options.Find().SetSkip(n)`, `[{$skip: n}]`,
    /// `PageRequest.of(page, size)`.
    fn skip_among(
        &self,
        expr: &'u Expr<'t>,
        call: &'u Call<'t>,
        scope: ScopeId,
    ) -> Option<Skip<'u, 't>> {
        let unit = self.values.unit;
        let skip = |number, scope, collection, is_proven| {
            Some(Skip { number, scope, collection, is_proven })
        };
        match call.method()? {
            "SetSkip" if unit.imports_from("mongo-driver") => {
                return skip(call.positional(0)?, scope, None, true);
            }
            "of" if call.receiver().and_then(Expr::last_name) == Some("PageRequest") => {
                return skip(call.positional(0)?, scope, None, self.values.knows_documents());
            }
            _ => {}
        }
        // `pipeline.push({$skip: n})`.
        if let (Some("push" | "append"), Some(Kind::Object(entries))) =
            (call.method(), call.positional(0).map(|stage| &stage.kind))
        {
            let entry = entries.iter().find(|entry| entry.name() == Some("$skip"))?;
            return skip(&entry.value, scope, None, true);
        }
        let query = self.query(expr, scope)?;
        if let Some(number) = call.named("skip") {
            return skip(number, scope, query.collection, query.is_proven);
        }
        if matches!(call.method(), Some("aggregate" | "Aggregate")) {
            let mut found = None;
            for arg in &call.args {
                let (value, at) = self.values.follow(&arg.value, scope);
                value.visit(&mut |inner| {
                    let Kind::Object(entries) = &inner.kind else { return };
                    let entry = entries.iter().find(|entry| entry.name() == Some("$skip"));
                    found = found.or(entry.map(|entry| (&entry.value, at)));
                });
            }
            let (number, at) = found?;
            return skip(number, at, query.collection, query.is_proven);
        }
        let option = call.args.iter().skip(1).find_map(|arg| {
            let fields = self.values.document(&arg.value, scope)?;
            fields.into_iter().find(|field| field.is("skip"))
        })?;
        skip(option.value, option.scope, query.collection, query.is_proven)
    }

    /// Whether code keeps a number within bounds: with `Math.min(page, 100)`, or with a comparison in the function.
    fn is_clamped(&self, expr: &'u Expr<'t>, scope: ScopeId, steps: u32) -> bool {
        if steps > 6 {
            return false;
        }
        let mut names = Vec::new();
        let mut found = false;
        expr.visit(&mut |inner| match &inner.kind {
            Kind::Call(call) => found |= call.method().is_some_and(|m| CLAMPS.contains(&m)),
            Kind::Name(name) => names.push(*name),
            _ => {}
        });
        found
            || names.into_iter().any(|name| {
                self.is_compared(name, scope)
                    || self.values.given(name, scope).into_iter().any(|(at, value)| {
                        value.at != expr.at && self.is_clamped(value, at, steps + 1)
                    })
            })
    }

    /// Whether the function compares a name with a constant upper bound: `if (page > 100)`.
    fn is_compared(&self, name: &str, scope: ScopeId) -> bool {
        let unit = self.values.unit;
        let function = self.outer_function(scope);
        let is_bound = |expr: &Expr<'t>| match &expr.kind {
            Kind::Number(number) => number.parse::<f64>().is_ok_and(|number| number > 1.0),
            Kind::Name(name) => name.chars().all(|c| c.is_ascii_uppercase() || c == '_'),
            _ => false,
        };
        let is_it =
            |expr: &Expr<'t>| matches!(chain_base(expr).kind, Kind::Name(own) if own == name);
        unit.scopes.iter().enumerate().any(|(id, scope)| {
            let ScopeKind::Branch(Some(condition)) = &scope.kind else { return false };
            let mut found = false;
            condition.visit(&mut |inner| {
                if let Kind::Binary(operator, left, right) = &inner.kind {
                    found |= match *operator {
                        ">" | ">=" => is_it(left) && is_bound(right),
                        "<" | "<=" => is_it(right) && is_bound(left),
                        _ => false,
                    };
                }
            });
            found && self.outer_function(id) == function
        })
    }
}
