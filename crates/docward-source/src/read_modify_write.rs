//! Documents that are loaded, changed in memory and saved: arrays that grow that way, and values of which
//! the last writer wins.

mod origin;
mod sessions;

use sessions::is_of_transaction;

use docward_model::code::{Append, AppendKind, Cap, Change, ReadThenWrite};

use super::{
    Scan,
    array_bounds::{STEPS, TAKEN_OUT, is_of_steps, sets_state_of},
    ir::{Call, Expr, Function, Key, Kind, ScopeId, ScopeKind, StatementKind},
};

/// Methods that load one document.
const LOADS: [&str; 22] = [
    "findOne",
    "findById",
    "find_one",
    "findUnique",
    "findByIdAndUpdate",
    "findOneAndUpdate",
    "first",
    "get",
    "FindOne",
    "findOneBy",
    "find_one_or_404",
    "get_or_404",
    "findFirst",
    "orElseThrow",
    "orElse",
    "findByUsername",
    "findByEmail",
    "findByName",
    "One",
    "populate",
    "exec",
    "orFail",
];

/// Methods of a query that is still about the same document.
const CHAINED: [&str; 13] = [
    "select",
    "session",
    "sort",
    "maxTimeMS",
    "setOptions",
    "read",
    "cache",
    "catch",
    "where",
    "equals",
    "collation",
    "hint",
    "only",
];

impl<'u, 't> Scan<'u, 't> {
    /// Finds what is loaded, changed and saved.
    pub(super) fn loaded(&mut self) {
        let unit = self.values.unit;
        // Variables that are saved, by function.
        let mut saved: Vec<(ScopeId, String)> = Vec::new();
        let mut alone = Vec::new();
        // Documents that are told to save themselves.
        let mut own = Vec::new();
        unit.each(|scope, expr| {
            let Some(call) = expr.call() else { return };
            let function = self.outer_function(scope);
            if matches!(call.method(), Some("save" | "save_changes" | "replace")) {
                // `user.save()`, `repository.save(user)`.
                let of = call.receiver().and_then(Expr::path);
                let given = call.positional(0).and_then(Expr::path);
                let is_own = given.is_none();
                let Some(path) = given.or(of) else { return };
                if is_own && call.method() == Some("save") {
                    own.push((function, path.clone()));
                }
                // In a transaction the other of two is refused, and tries again.
                let is_read_in = self.is_read_with_session(&path, scope);
                if !(is_read_in && self.is_in_transaction(call, function)) {
                    alone.push((function, path.clone()));
                }
                saved.push((function, path));
            }
        });
        if saved.is_empty() {
            self.written_back();
            return;
        }
        let mut changes = Vec::new();
        unit.each(|scope, expr| {
            let Some(call) = expr.call() else { return };
            let (Some(method), Some(of)) = (call.method(), call.receiver()) else { return };
            let adds = match unit.language {
                l if l.is_script() => matches!(method, "push" | "unshift" | "addToSet" | "concat"),
                l if l.is_jvm() => matches!(method, "add" | "addAll"),
                super::Language::Python => matches!(method, "append" | "extend" | "insert"),
                _ => false,
            };
            if !adds || call.args.is_empty() {
                return;
            }
            if let Some((root, path)) = self.array_of(of).or_else(|| self.aliased(of, scope)) {
                changes.push((scope, expr.at, root, path));
            }
        });
        for (scope, at, root, path) in changes {
            let function = self.outer_function(scope);
            let is_saved = saved.iter().any(|(f, name)| *f == function && *name == root);
            if !is_saved || path == "errors" {
                continue;
            }
            let is_own = own.iter().any(|(f, name)| *f == function && *name == root);
            let collection = self
                .loaded_from(&root, at, scope)
                .or_else(|| self.handed_over(&root, at, scope).filter(|_| is_own));
            let Some(collection) = collection else { continue };
            let place = self.place(at, scope);
            let text = self.function_text(function);
            let whole = format!("{root}.{path}");
            let trims = [".shift(", ".splice(", ".slice(", ".pop(", "[-"]
                .iter()
                .any(|trim| text.contains(&format!("{whole}{trim}")));
            let tests = text.contains(&format!("{whole}.length <"))
                || text.contains(&format!("{whole}.length >"))
                || text.contains(&format!("len({whole})"))
                || text.contains(&format!("{whole}.size()"));
            let kind = AppendKind::Document;
            let collection = collection.name();
            if self.is_cut_behind(&whole, function, scope) {
                let read_line = self.location(unit.scopes[function].at).line;
                self.out.code.read_then_writes.push(ReadThenWrite {
                    place: place.clone(),
                    read_line,
                    collection: collection.clone(),
                    path: path.clone(),
                    change: Change::Truncated,
                    is_kept_apart: false,
                });
            }
            let cap = if trims || tests {
                Cap::Guard("its length is tested or cut in the same function".to_owned())
            } else {
                Cap::None
            };
            let mut few = self.may_stay_short(&path, at, scope);
            let moves_on = sets_state_of(text, &root)
                && (is_of_steps(&path) || self.asks_state_before(&root, at, scope));
            if moves_on {
                few = few.or(Some(STEPS));
            }
            if self.takes_same_key_out(&whole, at, scope) {
                few = few.or(Some(TAKEN_OUT));
            }
            let of = Some(root);
            self.out.code.appends.push(Append { place, kind, collection, of, path, cap, few });
        }
        self.counted(&alone, &own);
        if unit.language.is_jvm() && self.values.knows_documents() {
            self.set_from_itself(&alone);
        }
        self.written_back();
    }

    /// Whether an array to which something is added is cut on the same way through the function: one of the two
    /// stands in the block of the other or around it. Another branch does not run with this one, and an element that is
    /// taken out of the middle is replaced.
    fn is_cut_behind(&self, whole: &str, function: ScopeId, scope: ScopeId) -> bool {
        let unit = self.values.unit;
        let text = self.function_text(function);
        let start = unit.scopes[function].at;
        [".shift(", ".splice(", ".slice(", ".pop(", "[-"].iter().any(|trim| {
            let cut = format!("{whole}{trim}");
            text.match_indices(cut.as_str()).any(|(at, _)| {
                let is_cut = match *trim {
                    // What is cut off has to be put back: `user.logins = user.logins.slice(-10)`.
                    ".slice(" | "[-" => {
                        let before = text[..at].trim_end().strip_suffix('=').map(str::trim_end);
                        before.is_some_and(|before| before.ends_with(whole))
                    }
                    ".splice(" => !takes_one_out(&text[at + cut.len()..]),
                    _ => true,
                };
                let there = unit.scope_at(start + at);
                is_cut && (unit.is_in(there, scope) || unit.is_in(scope, there))
            })
        })
    }

    /// Whether an element is added only where a search of the same array, by the last part of its path, found none:
    /// `const had = user.tokens.find(…); if (had) {…} else {user.tokens.push(…)}`,
    /// `if (user.tokens.includes(t)) return; user.tokens.push(t)`.
    pub(super) fn is_behind_search(&self, leaf: &str, at: usize, scope: ScopeId) -> bool {
        const SEARCHES: [&str; 10] = [
            "find",
            "some",
            "findIndex",
            "any",
            "indexOf",
            "includes",
            "contains",
            "index",
            "count",
            "filter",
        ];
        let unit = self.values.unit;
        let is_array = |expr: &Expr<'t>| {
            matches!(&expr.kind, Kind::Member(_, name) if *name == leaf)
                || matches!(&expr.kind, Kind::Index(_, at) if at.text().as_deref() == Some(leaf))
        };
        let searches = |expr: &Expr<'t>| {
            let mut found = false;
            expr.visit(&mut |inner| {
                found |= inner.call().is_some_and(|call| {
                    call.method().is_some_and(|method| SEARCHES.contains(&method))
                        && call.receiver().is_some_and(is_array)
                });
            });
            // `if user not in post.likes`.
            let text = self.text.get(expr.at..expr.end).unwrap_or_default();
            let is_asked = text.split(" in ").skip(1).any(|after| {
                let list = after.split([' ', ')', ':']).next().unwrap_or_default();
                let list = list.trim_end_matches(['"', '\'', ']']);
                list.strip_suffix(leaf).is_some_and(|of| of.ends_with(['.', '"', '\'']))
            });
            found || (is_asked && unit.language == super::Language::Python)
        };
        let function = self.outer_function(scope);
        let around: Vec<ScopeId> = unit.around(scope).collect();
        let decides = |id: ScopeId| match &unit.scopes[id].kind {
            ScopeKind::Branch(Some(condition)) => Some(condition),
            _ => None,
        };
        // A test before it that leaves counts as one around it.
        let leaves = |id: ScopeId| {
            let inner = &unit.scopes[id];
            let text = self.text.get(inner.at..inner.end).unwrap_or_default();
            inner.end <= at
                && unit.is_in(id, function)
                && ["return", "throw", "raise", "continue"].iter().any(|word| text.contains(word))
        };
        let conditions = (0..unit.scopes.len())
            .filter(|id| around.contains(id) || leaves(*id))
            .filter_map(decides);
        conditions.into_iter().any(|condition| {
            let mut names = Vec::new();
            condition.visit(&mut |inner| {
                if let Kind::Name(name) = inner.kind {
                    names.push(name);
                }
            });
            let given = names.into_iter().flat_map(|name| self.values.given(name, scope));
            searches(condition) || given.into_iter().any(|(_, value)| searches(value))
        })
    }

    /// `user.count += 1; user.save()`.
    fn counted(&mut self, saved: &[(ScopeId, String)], own: &[(ScopeId, String)]) {
        let unit = self.values.unit;
        for statement in &unit.statements {
            let StatementKind::Assign { target, value, adds } = &statement.kind else { continue };
            let Some(whole) = target.path() else { continue };
            let function = self.outer_function(statement.scope);
            // `account.billing.balance` is a field of `account` that is saved.
            let found = saved.iter().filter(|(f, _)| *f == function).find_map(|(_, name)| {
                let field = whole.strip_prefix(name.as_str())?.strip_prefix('.')?;
                Some((name.clone(), field.to_owned()))
            });
            let Some((root, path)) = found else { continue };
            let is_own = own.iter().any(|(f, name)| *f == function && *name == root);
            // What stands on the same way through the function, and not on another branch. An element that was looked for
            // is there as a rule: `if (index > -1) list.splice(index, 1)`.
            let is_on_way = |at: usize| {
                let there = unit.scope_at(unit.scopes[function].at + at);
                let found = match &unit.scopes[there].kind {
                    ScopeKind::Branch(Some(condition)) => {
                        let asked = self.text.get(condition.at..condition.end).unwrap_or_default();
                        let asked = asked.replace([' ', '(', ')'], "");
                        [">-1", "!==-1", "!=-1", ">=0"].iter().any(|end| asked.ends_with(end))
                    }
                    _ => false,
                };
                unit.is_in(statement.scope, there)
                    || found && unit.is_in(unit.scopes[there].parent, statement.scope)
            };
            if is_own
                && unit.language.is_script()
                && replaced_lists(self.function_text(function), &root).any(is_on_way)
            {
                continue;
            }
            // `const sum = user.balance + n; user.balance = sum`.
            let value = match value.kind {
                Kind::Name(_) => self.values.follow(value, statement.scope).0,
                _ => value,
            };
            let reads_itself = *adds || (is_sum(value) && mentions_path(value, &whole));
            let mut is_text = matches!(value.kind, Kind::List(_));
            value.visit(&mut |inner| is_text |= matches!(inner.kind, Kind::Text(_)));
            if !reads_itself || is_text {
                continue;
            }
            let collection = match root.as_str() {
                "self" => None,
                "this" => {
                    let is_method = self.is_schema_method(function);
                    is_method.then(|| Loaded(self.model_of_method(function)))
                }
                root => self.loaded_from(root, target.at, statement.scope).or_else(|| {
                    self.handed_over(root, target.at, statement.scope).filter(|_| is_own)
                }),
            };
            let Some(collection) = collection else { continue };
            let is_versioned = collection
                .0
                .as_ref()
                .is_some_and(|model| self.values.known.versioned.contains(model));
            if is_versioned && unit.language.is_script() {
                continue;
            }
            let at = (statement.scope, target.at);
            self.note_race(at, collection, path, change_of(value));
        }
    }

    /// Whether a function is a method of documents: `schema.methods.count = function () {…}`.
    fn is_schema_method(&self, id: ScopeId) -> bool {
        let unit = self.values.unit;
        let ScopeKind::Function(function) = &unit.scopes[id].kind else { return false };
        let is_given = |target: &Expr<'t>| {
            target.path().is_some_and(|path| path.rsplit('.').nth(1) == Some("methods"))
        };
        self.values.is_mapper_file()
            && (function.passed_to.as_deref().is_some_and(|to| to.ends_with("chema.method"))
                || unit.statements.iter().any(|statement| {
                    matches!(&statement.kind, StatementKind::Assign { target, value, .. }
                        if matches!(value.kind, Kind::Function(to) if to == id) && is_given(target))
                }))
    }

    /// `account.setBalance(account.getBalance() - amount); repository.save(account)`, unless a transaction or a version
    /// refuses the second of two.
    fn set_from_itself(&mut self, saved: &[(ScopeId, String)]) {
        let unit = self.values.unit;
        let mut found = Vec::new();
        unit.each(|scope, expr| {
            let Some(call) = expr.call() else { return };
            let Some(field) = call.method().and_then(|name| name.strip_prefix("set")) else {
                return;
            };
            let (Some(root), Some(value)) =
                (call.receiver().and_then(Expr::path), call.positional(0))
            else {
                return;
            };
            let (value, _) = self.values.follow(value, scope);
            if is_worked_out(value) && reads(value, &root, &format!("get{field}")) {
                found.push((scope, expr.at, root, field));
            }
        });
        for (scope, at, root, field) in found {
            let function = self.outer_function(scope);
            let is_saved =
                |name: &str| saved.iter().any(|(f, saved)| *f == function && saved == name);
            // A part of what is saved: `Account account = customer.getAccounts()…`.
            let owner = match is_saved(&root) {
                true => Some(root),
                false => self
                    .values
                    .given(&root, scope)
                    .into_iter()
                    .find_map(|(_, value)| base_of(value))
                    .filter(|base| is_saved(base)),
            };
            let Some(owner) = owner.filter(|_| !self.is_guarded(function)) else { continue };
            let Some(collection) = self.loaded_from(&owner, at, scope) else { continue };
            let mut path = field.to_owned();
            path.get_mut(0..1).into_iter().for_each(|first| first.make_ascii_lowercase());
            self.note_race((scope, at), collection, path, Change::Number);
        }
    }

    /// Notes a field that is read and written back in the function around a place.
    fn note_race(
        &mut self,
        (scope, at): (ScopeId, usize),
        collection: Loaded,
        path: String,
        change: Change,
    ) {
        let function = self.outer_function(scope);
        self.out.code.read_then_writes.push(ReadThenWrite {
            place: self.place(at, scope),
            read_line: self.location(self.values.unit.scopes[function].at).line,
            collection: collection.name(),
            path,
            change,
            is_kept_apart: self.is_saved_in_given_session(function)
                || self.is_uninterrupted(function, at)
                || self.is_route_of_tests(function),
        });
    }

    /// Whether a function answers requests for a path that says tests: `router.post('/seed-test-data', async (req, res) =>`.
    fn is_route_of_tests(&self, function: ScopeId) -> bool {
        let scope = &self.values.unit.scopes[function];
        let ScopeKind::Function(Function { passed_to: Some(to), .. }) = &scope.kind else {
            return false;
        };
        let is_route = to.rsplit('.').next().is_some_and(|method| {
            matches!(method, "get" | "post" | "put" | "patch" | "delete" | "all")
        });
        let before = self.text.get(..scope.at).unwrap_or_default();
        let call = before.rfind(&format!("{to}(")).map(|at| &before[at + to.len() + 1..]);
        let path = call.and_then(|given| given.split(['\'', '"', '`']).nth(1));
        is_route
            && path.is_some_and(|path| {
                path.split(|c: char| !c.is_alphanumeric())
                    .any(|word| matches!(word, "test" | "seed" | "mock" | "demo" | "simulate"))
            })
    }

    /// Whether a coroutine of Python reads and writes with a driver that waits, and waits for nothing between: its event
    /// loop lets nobody else come between.
    fn is_uninterrupted(&self, function: ScopeId, at: usize) -> bool {
        let unit = self.values.unit;
        let scope = &unit.scopes[function];
        let waits = ["motor", "AsyncMongoClient", "beanie"].iter().any(|w| self.text.contains(w));
        if unit.language != super::Language::Python || waits {
            return false;
        }
        let text = self.text.get(scope.at..scope.end).unwrap_or_default();
        let before = self.text.get(scope.at..at).unwrap_or_default();
        let read = ["find_one(", "find("].iter().filter_map(|read| before.rfind(read)).max();
        let head = text.split('(').next().unwrap_or_default();
        head.contains("async def")
            && read.is_some_and(|read| {
                let write = &text[read..];
                let end = ["update_one(", "replace_one(", "update("];
                let end = end.iter().filter_map(|word| write.find(word)).min();
                !write[..end.unwrap_or(write.len())].contains("await ")
            })
    }

    /// Whether what a function of Spring saves is refused when another came first: in a transaction, or by a version.
    fn is_guarded(&self, function: ScopeId) -> bool {
        let unit = self.values.unit;
        let is_transaction = unit.around(function).any(|id| match &unit.scopes[id].kind {
            ScopeKind::Function(Function { marks, .. }) | ScopeKind::Class { marks, .. } => {
                marks.iter().any(|mark| mark.path.ends_with("Transactional"))
            }
            _ => false,
        });
        let text = self.function_text(function);
        is_transaction
            || text
                .split(|c: char| !c.is_alphanumeric() && c != '_')
                .any(|word| self.values.known.has_version(word))
    }

    /// `updateOne(filter, {$set: {count: doc.count + 1}})` with a `doc` that was read before.
    fn written_back(&mut self) {
        let unit = self.values.unit;
        let mut found = Vec::new();
        let mut listed = Vec::new();
        unit.each(|scope, expr| {
            for (document, scope) in self.replaced_fields(expr, scope) {
                for field in self.values.document(document, scope).unwrap_or_default() {
                    let Some(name) = field.name.as_ref().filter(|name| !name.starts_with('$'))
                    else {
                        continue;
                    };
                    let value = self.values.follow(field.value, field.scope).0;
                    let last = name.rsplit('.').next().unwrap_or(name);
                    if is_sum(value)
                        && let Some(root) = self.summed(value, last, field.scope)
                    {
                        found.push((field.scope, field.at, root, name.clone(), change_of(value)));
                    }
                    // `const list = doc.history; list.push(entry)`, then `$set: {history: list}`.
                    if let (Kind::Name(list), Kind::Member(of, member)) =
                        (&field.value.kind, &value.kind)
                        && *member == last
                        && let Some(root) = of.path()
                        && self.is_added_to(list, field.scope)
                    {
                        listed.push((field.scope, field.at, root, name.clone()));
                    }
                }
            }
        });
        for (scope, at, root, path) in listed {
            if let Some(collection) = self.loaded_from(&root, at, scope) {
                let place = self.place(at, scope);
                let few = self.may_stay_short(&path, at, scope);
                let (kind, collection) = (AppendKind::Document, collection.name());
                let (of, cap) = (Some(root), Cap::None);
                self.out.code.appends.push(Append { place, kind, collection, of, path, cap, few });
            }
        }
        for (scope, at, root, path, change) in found {
            let text = self.function_text(self.outer_function(scope));
            let has_session = (text.contains("session }") || text.contains(".session(session)"))
                && self.is_read_with_session(&root, scope);
            if self.is_counted_by_server(&path, scope) || (has_session && is_of_transaction(text)) {
                continue;
            }
            if let Some(collection) = self.loaded_from(&root, at, scope) {
                self.note_race((scope, at), collection, path, change);
            }
        }
        self.put_back();
    }

    /// Documents whose fields replace those that are stored: `$set` of an update, or the update itself where a mapper
    /// takes one without an operator (`User.findByIdAndUpdate(id, {balance: n})`).
    fn replaced_fields(&self, expr: &'u Expr<'t>, scope: ScopeId) -> Vec<(&'u Expr<'t>, ScopeId)> {
        if let Kind::Object(entries) = &expr.kind {
            let sets = entries.iter().filter(|entry| entry.name() == Some("$set"));
            return sets.map(|entry| (&entry.value, scope)).collect();
        }
        let is_update = |call: &&Call<'t>| {
            matches!(
                call.method(),
                Some(
                    "findByIdAndUpdate"
                        | "findOneAndUpdate"
                        | "updateOne"
                        | "updateMany"
                        | "update"
                )
            ) && self.values.unit.language.is_script()
        };
        let update = expr.call().filter(is_update).and_then(|call| call.positional(1));
        // Whoever knows the mapper knows that it adds `$set`.
        update
            .filter(|_| self.values.is_mapper_file())
            .map(|update| (update, scope))
            .into_iter()
            .collect()
    }

    /// The variable whose member of this name is part of a sum: `doc` of `doc.count + 1`, `doc["count"] + 1` or
    /// `doc.get("count", 0) + 1`; also where the member has a name of its own, `const had = doc.count`.
    fn summed(&self, value: &'u Expr<'t>, field: &str, scope: ScopeId) -> Option<String> {
        summed(value, field).or_else(|| {
            let mut names = Vec::new();
            value.visit(&mut |inner| {
                if let Kind::Name(name) = inner.kind {
                    names.push(name);
                }
            });
            names.into_iter().find_map(|name| {
                let [(_, given)] = self.values.given(name, scope)[..] else { return None };
                summed(given, field).filter(|_| !is_sum(given))
            })
        })
    }

    /// Whether elements are added to a list in the function around, and nothing there cuts it.
    fn is_added_to(&self, list: &str, scope: ScopeId) -> bool {
        let text = self.function_text(self.outer_function(scope));
        let has = |methods: &[&str]| {
            methods.iter().any(|method| text.contains(&format!("{list}{method}")))
        };
        has(&[".push(", ".append(", ".unshift("])
            && !has(&[
                ".splice(", ".shift(", ".pop(", ".slice(", ".filter(", ".remove(", ".length", "[-",
            ])
    }

    /// Whether the function lets the server count the field elsewhere: `$set` then belongs to a special case, such as
    /// a lock after too many attempts.
    fn is_counted_by_server(&self, path: &str, scope: ScopeId) -> bool {
        let function = self.outer_function(scope);
        let mut is_counted = false;
        self.values.unit.each(|at, expr| {
            let Kind::Object(entries) = &expr.kind else { return };
            if function == 0 || self.outer_function(at) != function {
                return;
            }
            let counted = entries.iter().filter(|entry| entry.name() == Some("$inc"));
            is_counted |= counted.into_iter().any(|entry| {
                let fields = self.values.document(&entry.value, at).unwrap_or_default();
                fields.iter().any(|field| field.is(path))
            });
        });
        is_counted
    }

    /// `doc = find_one(…)`, then `replace_one(filter, doc)`.
    fn put_back(&mut self) {
        let mut found = Vec::new();
        self.values.unit.each(|scope, expr| {
            let Some(call) = expr.call() else { return };
            let is_replace = matches!(
                call.method(),
                Some(
                    "replaceOne"
                        | "replace_one"
                        | "ReplaceOne"
                        | "findOneAndReplace"
                        | "find_one_and_replace"
                        | "FindOneAndReplace"
                )
            );
            // `db.users.save(doc)` of old drivers and of the shell.
            let of = call.receiver();
            let is_save = call.method() == Some("save")
                && of.is_some_and(|of| self.values.target(of, scope).is_some_and(|t| !t.is_model));
            if !is_replace && !is_save {
                return;
            }
            let has_more_than_id = call.args.iter().take(2).any(|arg| {
                let fields = self.values.document(&arg.value, scope);
                fields.is_some_and(|fields| {
                    fields.len() > 1
                        && fields.iter().any(|field| field.is("_id"))
                        && !fields.iter().any(|field| field.is_spread)
                })
            });
            let root = call.args.iter().find_map(|arg| match &arg.value.kind {
                Kind::Name(name) => Some((*name).to_owned()),
                Kind::Object(entries) => entries.iter().find_map(|entry| match &entry.key {
                    Key::Spread => entry.value.path(),
                    _ => None,
                }),
                _ => None,
            });
            if let Some(root) = root.filter(|_| !has_more_than_id) {
                found.push((scope, expr.at, root));
            }
        });
        for (scope, at, root) in found {
            let Some((function, _)) = self.values.unit.function(scope) else { continue };
            // Read by the same function, and not filled in by another.
            let given = self.values.given(&root, scope);
            if !given.iter().all(|(at, _)| self.values.unit.is_in(*at, function)) {
                continue;
            }
            let Some(collection) =
                given.into_iter().find_map(|(at, value)| self.load(value, at, 0))
            else {
                continue;
            };
            let place = self.place(at, scope);
            let read_line = place.location.line;
            self.out.code.read_then_writes.push(ReadThenWrite {
                place,
                read_line,
                collection: collection.name(),
                path: String::new(),
                change: Change::Document,
                is_kept_apart: self.is_uninterrupted(function, at),
            });
        }
    }

    /// The outermost function around a scope that is no class: callbacks belong to the function that gives
    /// them.
    pub(super) fn outer_function(&self, scope: ScopeId) -> ScopeId {
        let unit = self.values.unit;
        let mut found = 0;
        for id in unit.around(scope) {
            match &unit.scopes[id].kind {
                ScopeKind::Function(_) => found = id,
                ScopeKind::Class { .. } => break,
                _ => {}
            }
        }
        found
    }

    fn function_text(&self, function: ScopeId) -> &'t str {
        let scope = &self.values.unit.scopes[function];
        self.text.get(scope.at..scope.end).unwrap_or_default()
    }
}

pub(super) struct Loaded(pub(super) Option<String>);

impl Loaded {
    fn name(self) -> Option<String> {
        self.0
    }
}

impl<'u, 't> super::values::Values<'u, 't> {
    /// Whether the file works with classes that are known to be documents: repositories of other databases look the
    /// same.
    fn knows_documents(&self) -> bool {
        self.unit.imports.iter().any(|import| {
            import.module.contains("mongodb") || self.known.models.contains_key(import.local)
        })
    }

    /// Whether the file works with an object mapper for MongoDB.
    pub(super) fn is_mapper_file(&self) -> bool {
        self.unit.imports.iter().any(|import| {
            let module = import.module.to_ascii_lowercase();
            ["mongoose", "mongoengine", "beanie", "odmantic", "mongodb", "mongo"]
                .iter()
                .any(|mapper| module.contains(mapper))
                || module.contains("models")
                || self.known.models.contains_key(import.local)
        })
    }
}

/// What is added to a value.
fn change_of(value: &Expr<'_>) -> Change {
    // The key in `doc["log"] + line` is no text that is added.
    fn has(expr: &Expr<'_>, what: fn(&Kind<'_>) -> bool) -> bool {
        match &expr.kind {
            Kind::Binary(_, left, right) => what(&expr.kind) || has(left, what) || has(right, what),
            kind => what(kind),
        }
    }
    if has(value, |kind| matches!(kind, Kind::Text(_))) {
        Change::Text
    } else if has(value, |kind| matches!(kind, Kind::Number(_) | Kind::Binary("-" | "*", ..))) {
        Change::Number
    } else {
        Change::Value
    }
}

fn is_sum(expr: &Expr<'_>) -> bool {
    matches!(expr.kind, Kind::Binary("+" | "-", ..))
}

/// Whether a value is worked out from others: a sum, or `add` and `subtract` of numbers that are objects.
fn is_worked_out(value: &Expr<'_>) -> bool {
    is_sum(value)
        || value.call().is_some_and(|call| {
            matches!(call.method(), Some("add" | "subtract" | "plus" | "minus"))
        })
}

/// Whether an expression calls a method of a variable: `account.getBalance()`.
fn reads(expr: &Expr<'_>, root: &str, getter: &str) -> bool {
    let mut found = false;
    expr.visit(&mut |inner| {
        found |= inner.call().is_some_and(|call| {
            call.method() == Some(getter)
                && call.receiver().and_then(Expr::path).as_deref() == Some(root)
        });
    });
    found
}

/// What a query is about, behind the calls that narrow it: `User.objects` of `User.objects.filter(…)`.
fn queried(expr: &Expr<'_>) -> Option<String> {
    let call = expr.call()?;
    match call.callee.path() {
        Some(path) if path.ends_with(".objects") => Some(path),
        _ if matches!(
            call.method(),
            Some("filter" | "exclude" | "order_by" | "select_related")
        ) =>
        {
            let of = call.receiver()?;
            of.path().or_else(|| queried(of))
        }
        _ => None,
    }
}

/// The variable that a chain of calls begins with.
fn base_of(expr: &Expr<'_>) -> Option<String> {
    match &expr.kind {
        Kind::Call(call) => base_of(call.receiver()?),
        Kind::Member(of, _) => base_of(of),
        Kind::Name(name) => Some((*name).to_owned()),
        _ => None,
    }
}

/// Whether the arguments of `splice` take one element out of the middle: `splice(index, 1)`.
fn takes_one_out(arguments: &str) -> bool {
    let mut depth = 0;
    let end = arguments.find(|c: char| {
        depth += match c {
            '(' => 1,
            ')' => -1,
            _ => 0,
        };
        depth < 0
    });
    let arguments = &arguments[..end.unwrap_or(arguments.len())];
    arguments
        .rsplit_once(',')
        .is_some_and(|(first, count)| first.trim() != "0" && count.trim() == "1")
}

pub(super) fn mentions_path(expr: &Expr<'_>, path: &str) -> bool {
    let mut found = false;
    expr.visit(&mut |inner| found |= inner.path().as_deref() == Some(path));
    found
}

/// The variable whose member of this name is part of a sum: `doc` of `doc.count + 1` or `doc["count"] + 1`.
fn summed(expr: &Expr<'_>, field: &str) -> Option<String> {
    let mut root = None;
    expr.visit(&mut |inner| match &inner.kind {
        Kind::Member(of, name) if *name == field => root = root.take().or(of.path()),
        Kind::Index(of, at) if at.text().as_deref() == Some(field) => {
            root = root.take().or(of.path());
        }
        Kind::Call(call)
            if call.method() == Some("get")
                && call.positional(0).and_then(Expr::text).as_deref() == Some(field) =>
        {
            root = root.take().or(call.receiver().and_then(Expr::path));
        }
        _ => {}
    });
    root
}

/// Where lists of a document are put into another order, or cut, before it saves itself: Mongoose then writes the whole
/// list, and asks for the version of the document that was read.
fn replaced_lists<'a>(text: &'a str, root: &str) -> impl Iterator<Item = usize> + 'a {
    const WHOLE: [&str; 5] = ["sort", "splice", "shift", "pop", "reverse"];
    let start = format!("{root}.");
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$');
    let places: Vec<usize> = text.match_indices(&start).map(|(at, _)| at).collect();
    places.into_iter().filter(move |at| {
        let behind = &text[at + start.len()..];
        let path = behind.split(|c: char| !is_word(c) && c != '.').next().unwrap_or_default();
        let rest = &behind[path.len()..];
        let (list, method) = path.rsplit_once('.').unwrap_or_default();
        let is_called = !list.is_empty() && WHOLE.contains(&method) && rest.starts_with('(');
        // `post.comments = post.comments.filter(…)`.
        let given = rest.trim_start().strip_prefix('=').map(str::trim_start);
        let is_filtered = given.is_some_and(|given| {
            given
                .strip_prefix(start.as_str())
                .and_then(|given| given.strip_prefix(path))
                .is_some_and(|given| {
                    [".filter(", ".slice(", ".concat("].iter().any(|made| given.starts_with(made))
                })
        });
        // `post.comments = [...post.comments, one]`.
        let line = given.and_then(|given| given.lines().next()).unwrap_or_default();
        let is_spread = !path.is_empty() && line.contains(&format!("[...{start}{path}"));
        // `order.markModified('items')` of a list: the whole of it is sent.
        let marked = (path == "markModified").then(|| rest.strip_prefix('(')).flatten();
        let marked = marked.map(|name| name.trim_start_matches(['\'', '"', '`']));
        let marked = marked.and_then(|name| name.split(['\'', '"', '`']).next());
        let is_marked = marked.is_some_and(|name| {
            const OF_LISTS: [&str; 9] = [
                "[",
                ".push(",
                ".find(",
                ".findIndex(",
                ".forEach(",
                ".map(",
                ".some(",
                ".id(",
                ".filter(",
            ];
            OF_LISTS.iter().any(|sign| text.contains(&format!("{start}{name}{sign}")))
        });
        let is_own = !text[..*at].ends_with(|c: char| is_word(c) || c == '.');
        is_own && (is_called || is_filtered || is_spread || is_marked)
    })
}
