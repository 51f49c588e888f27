//! Numbers that are computed from the largest stored one, or from a count, and then stored.

use std::collections::BTreeSet;

use docward_model::code::{NextNumber, NumberBasis};

use super::{
    super::{
        Scan,
        ir::{Call, Expr, Kind, ScopeId, ScopeKind, StatementKind},
        values::Field,
    },
    Query, Reading, Reads,
    chains::Chains,
    target_names,
};

/// Methods that store a new document.
const STORES: [&str; 11] = [
    "insertOne",
    "insert_one",
    "InsertOne",
    "insertMany",
    "insert_many",
    "InsertMany",
    "insert",
    "create",
    "save",
    "Insert",
    "Create",
];
/// The names that drivers give the duplicate-key error.
const DUPLICATE: [&str; 7] = [
    "DuplicateKeyError",
    "DuplicateKeyException",
    "MongoDuplicateKeyException",
    "IsDuplicateKeyError",
    "NotUniqueError",
    "IsDup",
    "DuplicateKey",
];

/// An addition of 1: its other operand and its position.
struct Sum<'u, 't> {
    expr: &'u Expr<'t>,
    scope: ScopeId,
}

/// The field that stores a number.
struct Stored {
    collection: Option<String>,
    field: Option<String>,
}

impl<'u, 't> Scan<'u, 't> {
    pub(super) fn next_numbers(
        &self,
        reading: &Reading<'u, 't>,
        chains: &Chains<'u, 't>,
    ) -> Vec<NextNumber> {
        let mut found = Vec::new();
        let mut seen = BTreeSet::new();
        for (scope, expr) in &reading.calls {
            let Some(call) = expr.call() else { continue };
            let Some(query) = self.query(expr, *scope) else { continue };
            let basis = match query.reads {
                Reads::Number => NumberBasis::Count,
                _ if self.reads_largest(call, query.reads, *scope, chains) => NumberBasis::Largest,
                _ => continue,
            };
            let function = self.outer_function(*scope);
            let (at, end) =
                (self.values.unit.scopes[function].at, self.values.unit.scopes[function].end);
            let names = self.names_of(reading, expr, function);
            let names = self.derived(&names, at, end);
            let Some(sum) = self.sum(expr, &names, function) else { continue };
            if !seen.insert(sum.expr.at) {
                continue;
            }
            if let Some(number) =
                self.next_number(reading, query, expr, *scope, basis, &sum, function)
            {
                found.push(number);
            }
        }
        found
    }

    #[expect(clippy::too_many_arguments, reason = "the read, the sum and what is around both")]
    fn next_number(
        &self,
        reading: &Reading<'u, 't>,
        query: Query,
        read: &'u Expr<'t>,
        scope: ScopeId,
        basis: NumberBasis,
        sum: &Sum<'u, 't>,
        function: ScopeId,
    ) -> Option<NextNumber> {
        let stored = self.stored(reading, sum, function)?;
        let is_same = match (&stored.collection, &query.collection) {
            (Some(stored), Some(read)) => {
                if stored != read {
                    return None;
                }
                true
            }
            (None, _) | (_, None) => false,
        };
        // A hook before a save stores its own document.
        let is_hook = self.is_hook(sum.scope);
        Some(NextNumber {
            place: self.place(sum.expr.at, sum.scope),
            read_line: self.places.at(read.at).line,
            collection: query.collection.or(stored.collection),
            field: stored.field,
            basis,
            is_proven: query.is_proven && (is_same || is_hook),
            retries: self.handles_duplicates(scope),
        })
    }

    /// Whether a query returns the document with the largest value: sorted in descending order, and only the first.
    fn reads_largest(
        &self,
        call: &'u Call<'t>,
        reads: Reads,
        scope: ScopeId,
        chains: &Chains<'u, 't>,
    ) -> bool {
        let chained = chains.of(call);
        let mut links = vec![(scope, call)];
        links.extend(chained.iter().copied());
        // Links before the query: `User.objects.order_by('-number').first()`.
        let mut before = call.receiver();
        while let Some(inner) = before.and_then(Expr::call) {
            links.push((scope, inner));
            before = inner.receiver();
        }
        let is_one = reads == Reads::One
            || links.iter().any(|(at, link)| match link.method() {
                Some("limit" | "Limit" | "take" | "Take" | "SetLimit") => {
                    link.positional(0).and_then(|arg| self.values.int(arg, *at)) == Some(1)
                }
                Some("first" | "First" | "FirstOrDefault" | "FirstOrDefaultAsync" | "findOne") => {
                    true
                }
                _ => false,
            });
        let descends = links.iter().any(|(at, link)| self.sorts_down(link, *at));
        let is_max = matches!(call.method(), Some("aggregate" | "Aggregate")) && {
            let mut found = false;
            for arg in &call.args {
                let (value, _) = self.values.follow(&arg.value, scope);
                value.visit(&mut |inner| {
                    let Kind::Object(entries) = &inner.kind else { return };
                    found |= entries.iter().any(|entry| entry.name() == Some("$max"));
                });
            }
            found
        };
        is_one && descends || is_max
    }

    /// Whether a call sorts in descending order: `sort({n: -1})`, `sort('-n')`, `sort("n", -1)`, `sort=[("n", -1)]`,
    /// `SetSort(…)`, `SortByDescending(…)`, `orderBy('n', 'desc')`.
    fn sorts_down(&self, call: &'u Call<'t>, scope: ScopeId) -> bool {
        let descends = |arg: &'u Expr<'t>, at: ScopeId| {
            let (value, _) = self.values.follow(arg, at);
            let mut found = false;
            value.visit(&mut |inner| {
                found |= match &inner.kind {
                    Kind::Text(_) => inner.text().is_some_and(|text| {
                        text.starts_with('-') || text.eq_ignore_ascii_case("desc")
                    }),
                    // The sign belongs to the expression, not to the number in it.
                    Kind::Number(_) => self.text[inner.at..].starts_with('-'),
                    Kind::Member(_, name) | Kind::Name(name) => {
                        matches!(*name, "DESCENDING" | "DESC" | "descending")
                    }
                    Kind::Call(call) => matches!(call.method(), Some("descending")),
                    _ => false,
                };
            });
            found
        };
        // `options.FindOne().SetSort(bson.D{{"number", -1}})`, also in a variable.
        let sets_sort = |arg: &'u Expr<'t>| {
            let mut found = false;
            let mut sorts = Vec::new();
            self.values.follow(arg, scope).0.visit(&mut |inner| {
                let sort = inner.call().filter(|call| call.method() == Some("SetSort"));
                sorts.extend(sort.and_then(|call| call.positional(0)));
            });
            sorts.into_iter().for_each(|sort| found |= descends(sort, scope));
            found
        };
        match call.method() {
            Some("sort" | "order_by" | "orderBy" | "with") => {
                call.args.iter().any(|arg| descends(&arg.value, scope))
            }
            Some("SortByDescending" | "latest" | "orderByDesc") => true,
            _ => {
                call.named("sort").is_some_and(|sort| descends(sort, scope))
                    || call.args.iter().skip(1).any(|arg| {
                        let fields = self.values.document(&arg.value, scope).unwrap_or_default();
                        let sort = fields.iter().find(|field: &&Field<'u, 't>| field.is("sort"));
                        sort.is_some_and(|sort| descends(sort.value, sort.scope))
                            || sets_sort(&arg.value)
                    })
            }
        }
    }

    /// The names that hold the result of a query: variables, and parameters of functions that receive it.
    fn names_of(
        &self,
        reading: &Reading<'u, 't>,
        query: &Expr<'t>,
        function: ScopeId,
    ) -> Vec<&'t str> {
        let unit = self.values.unit;
        let mut names = Vec::new();
        for statement in &unit.statements {
            if let StatementKind::Assign { target, value, adds: false } = &statement.kind
                && value.at <= query.at
                && query.end <= value.end
                && !matches!(value.kind, Kind::Function(_))
                && self.outer_function(statement.scope) == function
            {
                target_names(target, &mut names);
            }
        }
        for (id, (_, expr)) in &reading.callbacks {
            let Some(call) = expr.call() else { continue };
            let ScopeKind::Function(own) = &unit.scopes[*id].kind else { continue };
            let of_query = expr.at == query.at;
            let index = match call.method() {
                Some("then") if of_query => 0,
                _ if of_query && own.parameters.len() >= 2 => 1,
                _ => continue,
            };
            names.extend(own.parameters.get(index).map(|(name, _)| *name));
        }
        // `FindOne(ctx, filter, options).Decode(&last)`, `cursor.All(ctx, &all)`.
        for (_, expr) in reading.calls.iter().filter(|(_, expr)| expr.at == query.at) {
            let Some(call) = expr.call() else { continue };
            if matches!(call.method(), Some("Decode" | "All" | "One")) {
                call.args.iter().for_each(|arg| target_names(&arg.value, &mut names));
            }
        }
        names
    }

    /// The sum of 1 and a part of a query's result.
    fn sum(
        &self,
        query: &Expr<'t>,
        names: &BTreeSet<&'t str>,
        function: ScopeId,
    ) -> Option<Sum<'u, 't>> {
        let is_one = |expr: &Expr<'t>| matches!(expr.kind, Kind::Number("1"));
        let of_result = |expr: &Expr<'t>| {
            let mut found = false;
            expr.visit(&mut |inner| {
                found |= match &inner.kind {
                    Kind::Name(name) => names.contains(name),
                    Kind::Call(_) => inner.at == query.at && inner.end >= query.end,
                    _ => false,
                };
            });
            found
        };
        let mut found = None;
        self.values.unit.each(|scope, expr| {
            if let Kind::Binary("+", left, right) = &expr.kind
                && self.outer_function(scope) == function
                && (is_one(right) && of_result(left) || is_one(left) && of_result(right))
                && !matches!(left.kind, Kind::Text(_))
            {
                found.get_or_insert(Sum { expr, scope });
            }
        });
        found
    }

    /// Finds the field that stores a sum: in a document that the function inserts or saves.
    fn stored(
        &self,
        reading: &Reading<'u, 't>,
        sum: &Sum<'u, 't>,
        function: ScopeId,
    ) -> Option<Stored> {
        let unit = self.values.unit;
        let (at, end) = (unit.scopes[function].at, unit.scopes[function].end);
        let mut names = Vec::new();
        let mut field = None;
        let mut is_saved = false;
        for statement in &unit.statements {
            let StatementKind::Assign { target, value, .. } = &statement.kind else { continue };
            if value.at <= sum.expr.at
                && sum.expr.end <= value.end
                && self.outer_function(statement.scope) == function
            {
                target_names(target, &mut names);
            }
        }
        let names = self.derived(&names, at, end);
        let uses = |expr: &Expr<'t>| {
            let mut found = false;
            expr.visit(&mut |inner| {
                found |= inner.at == sum.expr.at && inner.end == sum.expr.end
                    || matches!(inner.kind, Kind::Name(name) if names.contains(name));
            });
            found
        };
        // `this.number = last.number + 1` in a hook, `order.number = next; order.save()`.
        for statement in &unit.statements {
            if let StatementKind::Assign { target, value, adds: false } = &statement.kind
                && let Kind::Member(of, name) = &target.kind
                && self.outer_function(statement.scope) == function
                && uses(value)
            {
                let of = of.path().unwrap_or_default();
                let saves = reading.calls.iter().any(|(scope, expr)| {
                    let Some(call) = expr.call() else { return false };
                    let is_it = |expr: &Expr<'t>| expr.path().as_deref() == Some(of.as_str());
                    self.outer_function(*scope) == function
                        && call.method().is_some_and(|method| STORES.contains(&method))
                        && (call.receiver().is_some_and(is_it)
                            || call.args.iter().any(|arg| is_it(&arg.value)))
                });
                if saves || of == "this" && self.is_hook(statement.scope) {
                    field = Some((*name).to_owned());
                    is_saved = true;
                }
            }
        }
        let mut collection = None;
        for (scope, expr) in &reading.calls {
            let Some(call) = expr.call() else { continue };
            if self.outer_function(*scope) != function {
                continue;
            }
            let is_store = call.method().is_some_and(|method| STORES.contains(&method));
            let made = self.values.target(&call.callee, *scope).filter(|target| target.is_model);
            if !is_store && made.is_none() {
                continue;
            }
            let args = call
                .args
                .iter()
                .any(|arg| uses(&arg.value) || self.holds(&arg.value, *scope, &uses));
            // `doc.save()` of a document that has the number.
            let of_document = is_store
                && call
                    .receiver()
                    .is_some_and(|of| matches!(of.kind, Kind::Name(name) if names.contains(name)));
            if !args && !of_document {
                continue;
            }
            is_saved = true;
            let target = made
                .map(|target| target.collection)
                .or_else(|| self.inserted(call, *scope).map(|(name, _)| name));
            collection = collection.or(target);
            let documents =
                call.args.iter().filter_map(|arg| self.values.document(&arg.value, *scope));
            let named = documents.flatten().find(|field| uses(field.value));
            field = field.or(named.and_then(|field| field.name));
        }
        is_saved.then_some(Stored { collection, field })
    }

    /// Whether a document in a variable, or in a list, has a value.
    fn holds(&self, expr: &'u Expr<'t>, scope: ScopeId, uses: &dyn Fn(&Expr<'t>) -> bool) -> bool {
        let (value, at) = self.values.follow(expr, scope);
        match &value.kind {
            Kind::List(items) => items.iter().any(|item| self.holds(item, at, uses)),
            _ => self.values.document(value, at).unwrap_or_default().iter().any(|f| uses(f.value)),
        }
    }

    /// Whether a scope is in a hook that runs before a document is stored: `schema.pre('save', function () {…})`.
    fn is_hook(&self, scope: ScopeId) -> bool {
        let unit = self.values.unit;
        unit.around(scope).any(|id| match &unit.scopes[id].kind {
            ScopeKind::Function(function) => {
                function.passed_to.as_deref().is_some_and(|to| to.ends_with(".pre"))
            }
            _ => false,
        })
    }

    /// Whether the function handles the error for a duplicate key.
    fn handles_duplicates(&self, scope: ScopeId) -> bool {
        let unit = self.values.unit;
        let function = self.outer_function(scope);
        let mut found = unit.imports.iter().any(|import| DUPLICATE.contains(&import.local));
        unit.each(|at, expr| {
            if self.outer_function(at) == function {
                found |= match &expr.kind {
                    Kind::Number(number) => matches!(*number, "11000" | "11001"),
                    Kind::Text(_) => expr.text().is_some_and(|text| text.contains("E11000")),
                    Kind::Name(name) | Kind::Member(_, name) => DUPLICATE.contains(name),
                    _ => false,
                };
            }
        });
        found
    }
}
