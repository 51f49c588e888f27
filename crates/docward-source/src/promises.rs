//! Calls of drivers and mappers that return a promise without a consumer: statements of their own, callbacks of
//! `forEach`, variables without another use.

use docward_model::code::{LostPromise, Promiser};

use super::{
    Language, Scan,
    calls::WRITES,
    ir::{Call, Expr, Kind, ScopeId, ScopeKind, StatementKind},
    methods::method_is,
    queries::{Reads, chain_base},
};

/// Methods of Mongoose that only describe a query: Mongoose sends it when code waits for it.
const DESCRIBES: [&str; 19] = [
    "find",
    "findOne",
    "findById",
    "updateOne",
    "updateMany",
    "deleteOne",
    "deleteMany",
    "replaceOne",
    "findOneAndUpdate",
    "findOneAndDelete",
    "findOneAndReplace",
    "findByIdAndUpdate",
    "findByIdAndDelete",
    "findByIdAndRemove",
    "countDocuments",
    "estimatedDocumentCount",
    "distinct",
    "aggregate",
    "exists",
];
/// Methods of models of Mongoose that run immediately.
const RUNS: [&str; 4] = ["create", "insertMany", "bulkWrite", "syncIndexes"];
/// Methods of the drivers that return a promise.
const OF_DRIVER: [&str; 18] = [
    "insertOne",
    "insertMany",
    "updateOne",
    "updateMany",
    "deleteOne",
    "deleteMany",
    "replaceOne",
    "findOne",
    "findOneAndUpdate",
    "findOneAndDelete",
    "findOneAndReplace",
    "bulkWrite",
    "countDocuments",
    "estimatedDocumentCount",
    "distinct",
    "createIndex",
    "createIndexes",
    "dropIndex",
];
/// Methods of a query that return a query.
const GOES_ON: [&str; 20] = [
    "sort",
    "limit",
    "skip",
    "select",
    "lean",
    "populate",
    "where",
    "equals",
    "gt",
    "gte",
    "lt",
    "lte",
    "in",
    "nin",
    "ne",
    "session",
    "setOptions",
    "collation",
    "hint",
    "orFail",
];
/// Libraries whose collections have other methods under these names.
const OTHER_LIBRARIES: [&str; 5] = ["mongojs", "monk", "mongoskin", "meteor/", "promised-mongo"];

impl<'u, 't> Scan<'u, 't> {
    /// Finds every promise for which no code waits.
    pub(super) fn promises(&mut self) {
        let unit = self.values.unit;
        let is_other = OTHER_LIBRARIES.iter().any(|library| unit.imports_from(library));
        if self.values.is_shell || is_other {
            return;
        }
        let mut found = Vec::new();
        for statement in &unit.statements {
            let scope = statement.scope;
            let value = match &statement.kind {
                StatementKind::Eval(value) if self.is_whole_statement(value) => value,
                StatementKind::Return(value) if self.is_discarded(scope) => value,
                StatementKind::Assign { target, value, adds: false }
                    if self.is_never_mentioned(target) =>
                {
                    value
                }
                _ => continue,
            };
            let text = self.text.get(value.at..).unwrap_or_default();
            let is_waited =
                ["await", "yield", "void", "return"].iter().any(|word| text.starts_with(word));
            if !is_waited && let Some(call) = value.call() {
                found.extend(self.lost_promise(value, call, scope));
            }
        }
        let mut hears = false;
        unit.each(|scope, expr| {
            found.extend(self.lost_callback(expr, scope));
            hears |= expr.text().as_deref() == Some("unhandledRejection");
        });
        self.out.code.hears_rejections |= hears;
        self.out.code.lost_promises.extend(found);
    }

    /// The first write in `list.forEach(async (item) => …)`, which continues before any callback ends.
    fn lost_callback(&self, expr: &'u Expr<'t>, scope: ScopeId) -> Option<LostPromise> {
        let unit = self.values.unit;
        let call = expr.call().filter(|call| call.method() == Some("forEach"))?;
        let Kind::Function(callback) = call.positional(0)?.kind else { return None };
        let text = self.text.get(unit.scopes[callback].at..)?;
        if !unit.language.is_script() || !text.starts_with("async") {
            return None;
        }
        let mut found = None;
        unit.each(|scope, expr| {
            if found.is_none() && unit.is_in(scope, callback) {
                let lost = expr.call().and_then(|call| self.lost_promise(expr, call, scope));
                found = lost.filter(|lost| lost.writes);
            }
        });
        let place = self.place(expr.at, scope);
        found.map(|lost| LostPromise { place, in_for_each: true, never_runs: false, ..lost })
    }

    fn lost_promise(
        &self,
        expr: &'u Expr<'t>,
        call: &'u Call<'t>,
        scope: ScopeId,
    ) -> Option<LostPromise> {
        if has_callback(call) {
            return None;
        }
        let method = call.method()?;
        let of = call.receiver()?;
        let found = |collection, method: &str, library, never_runs| {
            let writes = (WRITES.contains(&method) || method == "save")
                && !matches!(method, "find" | "aggregate");
            Some(LostPromise {
                place: self.place(expr.at, scope),
                collection,
                method: method.to_owned(),
                library,
                never_runs,
                writes: writes || method.contains("And") || method.contains("_and_"),
                in_for_each: false,
            })
        };
        match self.values.unit.language {
            language if language.is_script() => {
                // `User.find().sort()` and `User.updateOne().exec()`.
                let (mut first, mut runs) = (call, false);
                loop {
                    let name = first.method()?;
                    if name != "exec" && !GOES_ON.contains(&name) {
                        break;
                    }
                    runs |= name == "exec";
                    match first.receiver().and_then(Expr::call) {
                        Some(inner) if !has_callback(inner) => first = inner,
                        _ => return None,
                    }
                }
                let method = first.method()?;
                let of = first.receiver()?;
                if method == "save" && std::ptr::eq(first, call) {
                    let collection = self.document_of_mongoose(of, scope)?;
                    return found(Some(collection), "save", Promiser::Mongoose, false);
                }
                let target = self.values.target(of, scope)?;
                let collection = Some(target.collection);
                if target.is_model {
                    let name = collection.as_deref().unwrap_or_default();
                    let is_own =
                        self.values.unit.imports_from("mongoose") || self.is_model_of_project(name);
                    let is_lazy = DESCRIBES.contains(&method);
                    let is_known = is_lazy || RUNS.contains(&method);
                    return (is_own && is_known).then(|| {
                        found(collection, method, Promiser::Mongoose, is_lazy && !runs)
                    })?;
                }
                let is_driver = is_of_driver(method) && std::ptr::eq(first, call);
                is_driver.then(|| found(collection, method, Promiser::Node, false))?
            }
            Language::Python if is_of_driver(method) => {
                let unit = self.values.unit;
                let has = |name: &str| unit.imports.iter().any(|import| import.name == name);
                let library = if unit.imports_from("motor") {
                    Promiser::Motor
                } else if has("AsyncMongoClient") || has("AsyncCollection") || has("AsyncDatabase")
                {
                    Promiser::PyMongo
                } else {
                    return None;
                };
                if has("MongoClient") || has("Collection") {
                    return None;
                }
                let target = self.values.target(of, scope)?;
                found(Some(target.collection), method, library, library == Promiser::PyMongo)
            }
            _ => None,
        }
    }

    /// The model of a document that is created or loaded in the same function: `const user = new User(…)`.
    fn document_of_mongoose(&self, of: &'u Expr<'t>, scope: ScopeId) -> Option<String> {
        let (made, at) = self.values.follow(of, scope);
        let call = made.call()?;
        if let Some(target) = self.values.target(&call.callee, at)
            && target.is_model
            && self.text.get(made.at..).is_some_and(|text| text.starts_with("new "))
        {
            return Some(target.collection);
        }
        let query = self.query(made, at)?;
        let is_loaded = query.is_proven && query.reads == Reads::One;
        let base = chain_base(made);
        let is_model = self.values.target(base, at).is_some_and(|target| target.is_model);
        is_loaded.then_some(query.collection.filter(|_| is_model))?
    }

    /// Whether an expression is a complete statement.
    fn is_whole_statement(&self, expr: &Expr<'t>) -> bool {
        let before = self.text.get(..expr.at).unwrap_or_default();
        let line = before.rsplit('\n').next().unwrap_or_default().trim();
        if self.values.unit.language == Language::Python {
            return line.is_empty() || line.ends_with([';', ':']);
        }
        let ends_statement = |text: &str| text.ends_with([';', '{', '}', ')']);
        if !line.is_empty() {
            return ends_statement(line) || line.ends_with("else");
        }
        // The lines before, without comments.
        let lines =
            before.lines().rev().map(|line| line.split(" //").next().unwrap_or(line).trim());
        let last = lines.filter(|line| !line.is_empty()).find(|line| {
            !line.starts_with("//") && !line.starts_with('*') && !line.starts_with("/*")
        });
        last.is_none_or(|line| {
            ends_statement(line)
                || line.ends_with("else")
                || line.ends_with("*/")
                || line.ends_with(['\'', '"', '`', ']'])
        })
    }

    /// Whether the caller discards the result of a function: `users.forEach((user) => User.updateOne(…))`.
    fn is_discarded(&self, scope: ScopeId) -> bool {
        const DISCARDS: [&str; 7] =
            ["forEach", "on", "once", "setTimeout", "setInterval", "setImmediate", "nextTick"];
        let unit = self.values.unit;
        let Some((id, function)) = unit.function(scope) else { return false };
        let to = function.passed_to.as_deref().unwrap_or_default();
        let is_callback = DISCARDS.contains(&to.rsplit('.').next().unwrap_or(to));
        let text = self.text.get(unit.scopes[id].at..).unwrap_or_default();
        is_callback && !text.starts_with("async")
    }

    /// Whether a variable has no use except its declaration.
    fn is_never_mentioned(&self, target: &Expr<'t>) -> bool {
        let Kind::Name(name) = target.kind else { return false };
        let unit = self.values.unit;
        let is_local = unit.function(unit.scope_at(target.at)).is_some()
            && matches!(
                unit.scopes[self.values.owner(unit.scope_at(target.at))].kind,
                ScopeKind::Function(_)
            );
        let is_word =
            |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '$');
        let mentions = self.text.match_indices(name).filter(|(at, _)| {
            !is_word(self.text[..*at].chars().next_back())
                && !is_word(self.text[at + name.len()..].chars().next())
        });
        is_local && mentions.take(2).count() == 1
    }
}

fn is_of_driver(method: &str) -> bool {
    OF_DRIVER.iter().any(|name| method_is(method, name))
}

/// Whether a call passes a callback that receives the result, or an argument in its place that may be one.
fn has_callback(call: &Call<'_>) -> bool {
    let method = call.method().unwrap_or_default();
    let own = match method {
        "save" | "exec" => 0,
        _ if ["update", "Update", "replace", "Replace"].iter().any(|w| method.contains(w)) => 2,
        _ => 1,
    };
    call.args.iter().enumerate().any(|(at, arg)| match &arg.value.kind {
        Kind::Function(_) => true,
        Kind::Object(_) | Kind::Null | Kind::Text(_) => false,
        _ => arg.name.is_none() && at >= own || is_callback(&arg.value),
    })
}

fn is_callback(expr: &Expr<'_>) -> bool {
    expr.last_name().is_some_and(|name| {
        let lower = name.to_ascii_lowercase();
        matches!(lower.as_str(), "cb" | "done" | "next" | "fn")
            || lower.contains("callback")
            || lower.ends_with("handler")
    })
}
