//! Documents that are loaded, changed in memory and saved: arrays that grow this way, and values for which the last
//! write wins.

mod loads;
mod whole_documents;

use docward_model::code::{Append, AppendKind, Cap, Change, ReadThenWrite, WriteGuard};

use super::{
    Language, Scan,
    ir::{Call, Expr, Function, Key, Kind, ScopeId, ScopeKind, StatementKind},
    updates::{UPDATES, records},
    values::stem,
};
pub(super) use loads::Loaded;

/// A document that is saved.
struct Saved {
    function: ScopeId,
    root: String,
    /// Whether it saves itself, `user.save()`, rather than being passed to a repository.
    is_own: bool,
    has_session: bool,
}

/// Methods that change elements of a list or map.
const CHANGES: [&str; 12] = [
    "push", "unshift", "splice", "pop", "shift", "append", "extend", "insert", "remove", "update",
    "add", "addAll",
];
/// Methods that truncate a list.
const CUTS: [&str; 4] = ["shift", "pop", "splice", "slice"];

impl<'u, 't> Scan<'u, 't> {
    /// Finds documents that are loaded, changed and saved.
    pub(super) fn loaded(&mut self) {
        let saved = self.saved();
        if !saved.is_empty() {
            self.added_to_loaded(&saved);
            self.computed_from_itself(&saved);
            if self.values.unit.language.is_jvm() && self.values.knows_documents() {
                self.set_from_itself(&saved);
            }
        }
        self.written_back();
        self.put_back();
    }

    fn saved(&self) -> Vec<Saved> {
        let mut saved = Vec::new();
        self.values.unit.each(|scope, expr| {
            let Some(call) = expr.call() else { return };
            if !matches!(call.method(), Some("save" | "save_changes" | "replace")) {
                return;
            }
            // `user.save()`, `repository.save(user)`.
            let of = call.receiver().and_then(Expr::path);
            let given = call.positional(0).and_then(Expr::path).filter(|path| !is_session(path));
            let is_own = given.is_none();
            let Some(root) = given.or(of) else { return };
            let has_session = call.args.iter().any(|arg| names_session(&arg.value));
            let function = self.outer_function(scope);
            saved.push(Saved { function, root, is_own, has_session });
        });
        saved
    }

    /// `post.comments.push(c); post.save()`.
    fn added_to_loaded(&mut self, saved: &[Saved]) {
        let unit = self.values.unit;
        let mut added = Vec::new();
        unit.each(|scope, expr| {
            let Some(call) = expr.call() else { return };
            let (Some(method), Some(of)) = (call.method(), call.receiver()) else { return };
            let adds = match unit.language {
                l if l.is_script() => matches!(method, "push" | "unshift" | "addToSet" | "concat"),
                l if l.is_jvm() => matches!(method, "add" | "addAll"),
                Language::Python => matches!(method, "append" | "extend" | "insert"),
                _ => false,
            };
            let value = call.args.last().filter(|_| adds);
            if let (Some(value), Some((root, path))) = (value, self.array(of, scope)) {
                added.push((scope, expr.at, root, path, &value.value, method));
            }
        });
        // `user.tokens = [...user.tokens, token]`.
        for statement in &unit.statements {
            let StatementKind::Assign { target, value, adds: false } = &statement.kind else {
                continue;
            };
            if let Kind::List(items) = &value.kind
                && let [list, .., value] = items.as_slice()
                && self.is_spread(list)
                && list.path() == target.path()
                && let Some((root, path)) = self.array(target, statement.scope)
            {
                added.push((statement.scope, target.at, root, path, value, "concat"));
            }
        }
        for (scope, at, root, path, value, method) in added {
            let function = self.outer_function(scope);
            let Some(save) = saved.iter().find(|s| s.function == function && s.root == root) else {
                continue;
            };
            let Some(collection) = self.loaded_or_handed(&root, at, scope, save.is_own) else {
                continue;
            };
            let whole = format!("{root}.{path}");
            let cuts = self.cuts(&whole, function, scope);
            if cuts == Some(true) {
                self.note_race(
                    (scope, at),
                    collection.clone(),
                    path.clone(),
                    Change::Truncated,
                    None,
                );
            }
            let cap = match cuts {
                Some(_) => Cap::Length,
                None if self.tests_length(&path, scope) => Cap::Length,
                None if self.is_replaced(&whole, at, scope) => Cap::Replaced,
                None => Cap::None,
            };
            let append = self.append(at, scope, AppendKind::Document, path, cap);
            self.out.code.appends.push(Append {
                collection: collection.collection,
                from_caller: collection.from_caller,
                value: self.origins(value, scope),
                adds_document: self.is_document(value, scope),
                selected_by: self.selection_of(&root, scope),
                is_unique: method == "addToSet"
                    || self.is_behind_search(&append.path, at, scope)
                    || self.is_filtered(&whole, at, scope),
                records_change: self.changes_recorded(&root, value, function),
                ..append
            });
        }
    }

    /// Whether an element of a list stands for all elements of another: `...list`, `*list`.
    fn is_spread(&self, item: &Expr<'t>) -> bool {
        self.text.get(item.at..).is_some_and(|text| text.starts_with(['.', '*']))
    }

    /// Whether the function truncates an array: `Some(true)` if the truncation runs with the addition, `Some(false)` in
    /// another branch of the function.
    fn cuts(&self, whole: &str, function: ScopeId, scope: ScopeId) -> Option<bool> {
        let unit = self.values.unit;
        let mut found = None;
        let mut note = |there: ScopeId| {
            let together = unit.is_in(there, scope) || unit.is_in(scope, there);
            found = Some(found == Some(true) || together);
        };
        let is_array = |expr: &Expr<'t>| expr.path().as_deref() == Some(whole);
        unit.each(|there, expr| {
            let Some(call) = expr.call().filter(|_| unit.is_in(there, function)) else { return };
            let cuts = match call.method() {
                Some("shift" | "pop") => true,
                // `splice(at, 1)` removes one element, which is replaced.
                Some("splice") => {
                    let number = |n| call.positional(n).map(|arg| &arg.kind);
                    matches!(number(0), Some(Kind::Number("0")))
                        || !matches!(number(1), Some(Kind::Number("1")))
                }
                _ => false,
            };
            if cuts && call.receiver().is_some_and(is_array) {
                note(there);
            }
        });
        // A cut counts only if its result is assigned back: `user.logins = user.logins.slice(-10)`.
        for statement in &unit.statements {
            let StatementKind::Assign { target, value, .. } = &statement.kind else { continue };
            let is_cut = match &value.kind {
                Kind::Call(call) => {
                    call.method() == Some("slice") && call.receiver().is_some_and(is_array)
                }
                Kind::Index(of, key) => is_array(of) && !matches!(key.kind, Kind::Text(_)),
                _ => false,
            };
            if is_cut && is_array(target) && unit.is_in(statement.scope, function) {
                note(statement.scope);
            }
        }
        found
    }

    /// Whether elements are removed before one is added: `post.votes = post.votes.filter((vote) => vote.user !== id)`.
    fn is_filtered(&self, whole: &str, at: usize, scope: ScopeId) -> bool {
        self.assigned_before(whole, at, scope).any(|value| {
            let call = value.call().filter(|call| call.method() == Some("filter"));
            let of = call.and_then(Call::receiver).and_then(Expr::path);
            of.as_deref() == Some(whole)
        })
    }

    /// Whether code assigns a new array before it adds elements: `cart.items = []`.
    fn is_replaced(&self, whole: &str, at: usize, scope: ScopeId) -> bool {
        self.assigned_before(whole, at, scope)
            .any(|value| matches!(&value.kind, Kind::List(items) if items.is_empty()))
            && !self
                .conditions_before(at, scope)
                .iter()
                .any(|condition| mentions_path(condition, whole))
    }

    /// Values that a member receives before a place, in an enclosing block.
    fn assigned_before(
        &self,
        whole: &str,
        at: usize,
        scope: ScopeId,
    ) -> impl Iterator<Item = &'u Expr<'t>> {
        let unit = self.values.unit;
        unit.statements.iter().filter_map(move |statement| match &statement.kind {
            StatementKind::Assign { target, value, adds: false }
                if value.end <= at
                    && unit.is_in(scope, statement.scope)
                    && target.path().as_deref() == Some(whole) =>
            {
                Some(value)
            }
            _ => None,
        })
    }

    /// Whether the function sets a field of the document to what the added element records:
    /// `order.status = status; order.history.push({status, at})`.
    fn changes_recorded(&self, root: &str, added: &'u Expr<'t>, function: ScopeId) -> bool {
        let unit = self.values.unit;
        unit.statements.iter().any(|statement| match &statement.kind {
            StatementKind::Assign { target, value, adds: false } => {
                let of = target.path();
                unit.is_in(statement.scope, function)
                    && of
                        .is_some_and(|of| of.strip_prefix(root).is_some_and(|f| f.starts_with('.')))
                    && records(self.values.follow(added, statement.scope).0, value)
            }
            _ => false,
        })
    }

    /// `user.count += 1; user.save()`.
    fn computed_from_itself(&mut self, saved: &[Saved]) {
        let unit = self.values.unit;
        for statement in &unit.statements {
            let StatementKind::Assign { target, value, adds } = &statement.kind else { continue };
            let Some(whole) = target.path() else { continue };
            let function = self.outer_function(statement.scope);
            // `account.billing.balance` is a field of `account` that is saved.
            let found = saved.iter().filter(|save| save.function == function).find_map(|save| {
                let field = whole.strip_prefix(save.root.as_str())?.strip_prefix('.')?;
                Some((save, field.to_owned()))
            });
            let Some((save, path)) = found else { continue };
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
            let (at, scope) = (target.at, statement.scope);
            let Some(collection) = self.loaded_or_handed(&save.root, at, scope, save.is_own) else {
                continue;
            };
            let is_script = unit.language.is_script();
            let is_versioned = is_script
                && (collection
                    .collection
                    .as_ref()
                    .is_some_and(|m| self.values.known.versioned.contains(m))
                    || save.is_own && self.writes_whole_list(&save.root, function, scope));
            let guard = match is_versioned {
                true => Some(WriteGuard::Version),
                false => self.transaction_guard(&save.root, scope, save.has_session),
            };
            self.note_race((scope, at), collection, path, change_of(value), guard);
        }
    }

    /// Returns the query that a variable was loaded by. If the document saves itself, a function of the project may
    /// have loaded it, or a caller may pass it.
    fn loaded_or_handed(
        &self,
        root: &str,
        at: usize,
        scope: ScopeId,
        is_own: bool,
    ) -> Option<Loaded> {
        let loaded = self.loaded_from(root, at, scope);
        let handed = || {
            let loaded = self.handed_over(root, at, scope);
            loaded.or_else(|| self.handed_in(root, scope)).filter(|_| is_own)
        };
        loaded.or_else(handed)
    }

    /// Whether a whole list of a Mongoose document is assigned before its `save`. Mongoose then adds the version that
    /// was read to the filter of the update.
    fn writes_whole_list(&self, root: &str, function: ScopeId, scope: ScopeId) -> bool {
        let unit = self.values.unit;
        let is_list = |path: Option<String>| {
            path.is_some_and(|path| path.strip_prefix(root).is_some_and(|of| of.starts_with('.')))
        };
        let mut found = false;
        let mut marked = Vec::new();
        let mut lists = Vec::new();
        unit.each(|there, expr| {
            if !unit.is_in(there, function) {
                return;
            }
            match &expr.kind {
                Kind::Index(of, _) => lists.extend(of.path()),
                Kind::Call(call) => {
                    let of = call.receiver().and_then(Expr::path);
                    match call.method() {
                        Some("sort" | "splice" | "shift" | "pop" | "reverse") => {
                            found |= is_list(of) && unit.is_in(scope, there);
                        }
                        Some("markModified") if of.as_deref() == Some(root) => {
                            marked.extend(call.positional(0).and_then(Expr::text));
                        }
                        Some("push" | "find" | "findIndex" | "forEach" | "map" | "id") => {
                            lists.extend(of);
                        }
                        _ => {}
                    }
                }
                _ => {}
            }
        });
        let rewrites = unit.statements.iter().any(|statement| match &statement.kind {
            StatementKind::Assign { target, value, adds: false } => {
                let path = target.path();
                let source = match &value.kind {
                    Kind::Call(call)
                        if matches!(call.method(), Some("filter" | "slice" | "concat")) =>
                    {
                        call.receiver().and_then(Expr::path)
                    }
                    Kind::List(items) => items.first().and_then(Expr::path),
                    _ => None,
                };
                is_list(path.clone())
                    && source.is_some()
                    && source == path
                    && unit.is_in(statement.scope, function)
                    && unit.is_in(scope, statement.scope)
            }
            _ => false,
        });
        found || rewrites || marked.iter().any(|name| lists.contains(&format!("{root}.{name}")))
    }

    /// Whether the read and the write are in one transaction, as far as the function shows.
    fn transaction_guard(
        &self,
        root: &str,
        scope: ScopeId,
        has_session: bool,
    ) -> Option<WriteGuard> {
        let unit = self.values.unit;
        let function = self.outer_function(scope);
        let is_marked = unit.around(function).any(|id| match &unit.scopes[id].kind {
            ScopeKind::Function(Function { marks, .. }) | ScopeKind::Class { marks, .. } => {
                marks.iter().any(|mark| mark.path.ends_with("Transactional"))
            }
            _ => false,
        });
        if is_marked {
            return Some(WriteGuard::Transaction);
        }
        let given = self.values.given(root, scope);
        let reads_in = given.iter().all(|(_, value)| names_session(value));
        if !has_session || !reads_in {
            return None;
        }
        let takes = unit.around(scope).any(|id| match &unit.scopes[id].kind {
            ScopeKind::Function(own) => {
                own.passed_to.is_none() && own.parameters.iter().any(|(name, _)| is_session(name))
            }
            _ => false,
        });
        let mut begins = false;
        unit.each(|there, expr| {
            let method = expr.call().and_then(Call::method).unwrap_or_default();
            let begins_one = method.to_ascii_lowercase().ends_with("transaction")
                && !method.starts_with(char::is_uppercase);
            begins |= begins_one && unit.is_in(there, function);
        });
        match (begins, takes) {
            (true, _) => Some(WriteGuard::Transaction),
            (false, true) => Some(WriteGuard::GivenSession),
            (false, false) => None,
        }
    }

    /// `account.setBalance(account.getBalance() - amount); repository.save(account)`.
    fn set_from_itself(&mut self, saved: &[Saved]) {
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
        // A version check refuses the second of two concurrent saves. The class of each variable is unknown here.
        let is_versioned = unit.imports.iter().any(|i| self.values.known.has_version(i.local))
            || unit.scopes.iter().any(|scope| {
                matches!(&scope.kind, ScopeKind::Class { name, .. } if self.values.known.has_version(name))
            });
        for (scope, at, root, field) in found {
            let function = self.outer_function(scope);
            let is_saved =
                |name: &str| saved.iter().any(|s| s.function == function && s.root == name);
            // A part of the saved document: `Account account = customer.getAccounts()…`.
            let owner = match is_saved(&root) {
                true => Some(root),
                false => self
                    .values
                    .given(&root, scope)
                    .into_iter()
                    .find_map(|(_, value)| base_of(value))
                    .filter(|base| is_saved(base)),
            };
            let Some(owner) = owner else { continue };
            let Some(collection) = self.loaded_from(&owner, at, scope) else { continue };
            let guard = match is_versioned {
                true => Some(WriteGuard::Version),
                false => self.transaction_guard(&owner, scope, false),
            };
            self.note_race((scope, at), collection, lower_first(field), Change::Number, guard);
        }
    }

    /// Records a field that the enclosing function reads and writes back.
    fn note_race(
        &mut self,
        (scope, at): (ScopeId, usize),
        loaded: Loaded,
        path: String,
        change: Change,
        guard: Option<WriteGuard>,
    ) {
        let function = self.outer_function(scope);
        let read_line = match change {
            Change::Document => self.location(at).line,
            _ => self.location(self.values.unit.scopes[function].at).line,
        };
        let place = self.place(at, scope);
        let Loaded { collection, from_caller } = loaded;
        let write =
            ReadThenWrite { place, read_line, collection, from_caller, path, change, guard };
        self.out.code.read_then_writes.push(write);
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
                    // `let left = doc.stock - n; if (left < 0) left = 0`.
                    let mut sums = match value.kind {
                        Kind::Name(name) => self.values.given(name, field.scope),
                        _ => vec![(field.scope, value)],
                    };
                    sums.retain(|(_, value)| is_sum(value));
                    let sum = sums.into_iter().find_map(|(_, value)| {
                        Some((self.summed(value, last, field.scope)?, change_of(value)))
                    });
                    if let Some((root, change)) = sum {
                        found.push((field.scope, field.at, root, name.clone(), change));
                    } else if let Some(root) = self.rewritten(field.value, last, field.scope) {
                        found.push((field.scope, field.at, root, name.clone(), Change::List));
                    }
                    // `const list = doc.history; list.push(entry)`, then `$set: {history: list}`.
                    if let (Kind::Name(list), Kind::Member(of, member)) =
                        (&field.value.kind, &value.kind)
                        && *member == last
                        && let Some(root) = of.path()
                        && let Some(added) = self.added_to(list, field.scope)
                    {
                        listed.push((field.scope, field.at, root, name.clone(), added));
                    }
                }
            }
        });
        for (scope, at, root, path, added) in listed {
            if let Some(collection) = self.loaded_from(&root, at, scope) {
                let append = self.append(at, scope, AppendKind::Document, path, Cap::None);
                self.out.code.appends.push(Append {
                    collection: collection.collection,
                    value: self.origins(added, scope),
                    adds_document: self.is_document(added, scope),
                    selected_by: self.selection_of(&root, scope),
                    is_unique: self.is_behind_search(&append.path, at, scope),
                    ..append
                });
            }
        }
        for (scope, at, root, path, change) in found {
            let Some(collection) = self.loaded_from(&root, at, scope) else { continue };
            let around = self.updates_around(at, &path, scope);
            let guard = match (self.is_counted_by_server(&path, scope), around) {
                (true, _) => Some(WriteGuard::ServerCounts),
                (false, Some((true, _))) => Some(WriteGuard::Version),
                (false, around) => {
                    let has_session = around.is_none_or(|(_, has_session)| has_session);
                    self.transaction_guard(&root, scope, has_session)
                }
            };
            self.note_race((scope, at), collection, path, change, guard);
        }
    }

    /// Examines the update that contains a field, or otherwise the updates of its function. Returns whether the
    /// filter tests the same field, and whether there is a session.
    fn updates_around(&self, at: usize, path: &str, scope: ScopeId) -> Option<(bool, bool)> {
        let function = self.outer_function(scope);
        let (mut around, mut beside) = (None, None);
        self.values.unit.each(|there, expr| {
            let Some(call) = expr.call().filter(|_| self.outer_function(there) == function) else {
                return;
            };
            if !call.method().is_some_and(|method| UPDATES.contains(&method)) {
                return;
            }
            let filter = call.positional(0).and_then(|arg| self.values.document(arg, there));
            let asks = filter.unwrap_or_default().iter().any(|field| field.is(path));
            let found = (asks, call.args.iter().any(|arg| names_session(&arg.value)));
            match expr.at <= at && at < expr.end {
                true => around = Some(found),
                false => beside = Some(beside.filter(|had: &(bool, bool)| had.0).unwrap_or(found)),
            }
        });
        around.or(beside)
    }

    /// Documents whose fields replace stored fields: `$set` of an update, or the update itself if a mapper accepts one
    /// without an operator (`User.findByIdAndUpdate(id, {balance: n})`).
    fn replaced_fields(&self, expr: &'u Expr<'t>, scope: ScopeId) -> Vec<(&'u Expr<'t>, ScopeId)> {
        if let Kind::Object(entries) = &expr.kind {
            let sets = entries.iter().filter(|entry| entry.name() == Some("$set"));
            return sets.map(|entry| (&entry.value, scope)).collect();
        }
        let is_update = |call: &&Call<'t>| {
            call.method().is_some_and(|method| UPDATES.contains(&method))
                && self.values.unit.language.is_script()
                && self.values.is_mapper_file()
        };
        let update = expr.call().filter(is_update).and_then(|call| call.positional(1));
        update.map(|update| (update, scope)).into_iter().collect()
    }

    /// The variable whose member of this name is part of a sum: `doc` of `doc.count + 1`, `doc["count"] + 1` or
    /// `doc.get("count", 0) + 1`. The member may also be in another variable, `const had = doc.count`.
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

    /// The variable whose list or map of this name is a value with other elements: `doc.items.filter(…)`,
    /// `[...doc.items, item]`, `[i for i in doc["items"] if …]`. Also for `doc.items` itself if the function changes
    /// it.
    fn rewritten(&self, value: &'u Expr<'t>, field: &str, scope: ScopeId) -> Option<String> {
        let unit = self.values.unit;
        // `const items = doc.items`, also after a new assignment: `items = items.filter(…)`.
        let source = |expr: &'u Expr<'t>| {
            member_root(expr, field).or_else(|| {
                let Kind::Name(name) = expr.kind else { return None };
                let given = self.values.given(name, scope);
                given.into_iter().find_map(|(_, value)| {
                    // `queue = jobs.find_one(…)["queue"]` has no variable for the document.
                    let is_part = matches!(&value.kind, Kind::Index(of, key)
                        if of.call().is_some() && key.text().as_deref() == Some(field));
                    member_root(value, field).or_else(|| is_part.then(|| name.to_owned()))
                })
            })
        };
        let mut values = vec![value];
        if let Kind::Name(name) = value.kind {
            values.extend(self.values.given(name, scope).into_iter().map(|(_, value)| value));
        }
        let derived = values.iter().find_map(|value| match &value.kind {
            Kind::Call(call) if matches!(call.method(), Some("filter" | "concat" | "map")) => {
                source(call.receiver()?)
            }
            Kind::List(items) => items.iter().filter(|item| self.is_spread(item)).find_map(&source),
            Kind::Object(entries) => {
                let mut spread = entries.iter().filter(|entry| matches!(entry.key, Key::Spread));
                spread.find_map(|entry| source(&entry.value))
            }
            _ => {
                let mut within = unit.iterations.iter().filter(|own| {
                    value.at <= own.at && own.end <= value.end && own.at < own.list.at
                });
                within.find_map(|own| source(&own.list))
            }
        });
        derived.or_else(|| {
            let root = source(value)?;
            self.changes_elements(value, scope).then_some(root)
        })
    }

    /// Whether the function changes elements of a list or map: `items.push(item)`, `items[at] = item`.
    fn changes_elements(&self, list: &Expr<'t>, scope: ScopeId) -> bool {
        let unit = self.values.unit;
        let function = self.outer_function(scope);
        let text = &self.text[list.at..list.end];
        let is_it = |expr: &Expr<'t>| &self.text[expr.at..expr.end] == text;
        // `items[at].done`, `_.find(items, …).done`, `item.done` in a loop over the items.
        let is_inside = |expr: &Expr<'t>| {
            let mut of = expr;
            while let Kind::Member(inner, _) | Kind::Index(inner, _) = &of.kind {
                of = inner;
                if is_it(of) || self.is_element(of, &is_it) {
                    return true;
                }
            }
            false
        };
        let mut found = unit.statements.iter().any(|statement| match &statement.kind {
            StatementKind::Assign { target, .. } => {
                is_inside(target) && self.outer_function(statement.scope) == function
            }
            _ => false,
        });
        unit.each(|there, expr| {
            let changes = expr.call().is_some_and(|call| {
                call.method().is_some_and(|method| CHANGES.contains(&method))
                    && call.receiver().is_some_and(|of| is_it(of) || is_inside(of))
            });
            found |= changes && self.outer_function(there) == function;
        });
        found
    }

    /// Whether an expression is an element of a list: the result of a search in it, or the name of a loop over it.
    fn is_element(&self, expr: &Expr<'t>, is_list: &dyn Fn(&Expr<'t>) -> bool) -> bool {
        match &expr.kind {
            Kind::Call(call) => {
                call.method() == Some("find")
                    && (call.receiver().is_some_and(is_list)
                        || call.args.iter().any(|arg| is_list(&arg.value)))
            }
            Kind::Name(name) => self.elements_of(name, expr.at).is_some_and(is_list),
            _ => false,
        }
    }

    /// The element that the enclosing function adds to a list, if the function does not truncate the list.
    fn added_to(&self, list: &str, scope: ScopeId) -> Option<&'u Expr<'t>> {
        let function = self.outer_function(scope);
        let (mut added, mut is_cut) = (None, self.tests_length(list, scope));
        self.values.unit.each(|there, expr| {
            let Some(call) = expr.call().filter(|_| self.outer_function(there) == function) else {
                return;
            };
            if call.receiver().and_then(Expr::path).as_deref() == Some(list) {
                match call.method() {
                    Some("push" | "append" | "unshift") => {
                        added = call.args.first().map(|arg| &arg.value);
                    }
                    Some(method) => {
                        is_cut |= CUTS.contains(&method) || matches!(method, "filter" | "remove")
                    }
                    None => {}
                }
            }
        });
        added.filter(|_| !is_cut)
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

    /// The outermost enclosing function of a scope, within its class: callbacks belong to the function that passes
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
}

impl<'u, 't> super::values::Values<'u, 't> {
    /// Whether the file uses classes that are known to be documents: repositories of other databases look the same.
    pub(super) fn knows_documents(&self) -> bool {
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
                || self.known.hands_out_models(&stem(&import.module))
        })
    }
}

fn is_session(name: &str) -> bool {
    name.to_ascii_lowercase().ends_with("session")
        || matches!(name, "opts" | "options" | "trx" | "tx")
}

/// Whether a session is among the arguments of calls in an expression, or it is one.
fn names_session(expr: &Expr<'_>) -> bool {
    let mut found = false;
    expr.visit(&mut |inner| {
        found |= match &inner.kind {
            Kind::Name(name) => is_session(name),
            Kind::Object(entries) => entries.iter().any(|entry| entry.name() == Some("session")),
            _ => false,
        };
    });
    found
}

/// The kind of the part that is added to a value.
fn change_of(value: &Expr<'_>) -> Change {
    // The key in `doc["log"] + line` is not a string that is added.
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

/// Whether a value is computed from others: a sum, or `add` and `subtract` of numbers that are objects.
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

/// The variable that a chain of calls begins with.
fn base_of(expr: &Expr<'_>) -> Option<String> {
    match &expr.kind {
        Kind::Call(call) => base_of(call.receiver()?),
        Kind::Member(of, _) => base_of(of),
        Kind::Name(name) => Some((*name).to_owned()),
        _ => None,
    }
}

fn lower_first(name: &str) -> String {
    let mut name = name.to_owned();
    name.get_mut(0..1).into_iter().for_each(|first| first.make_ascii_lowercase());
    name
}

pub(super) fn mentions_path(expr: &Expr<'_>, path: &str) -> bool {
    let mut found = false;
    expr.visit(&mut |inner| found |= inner.path().as_deref() == Some(path));
    found
}

/// The variable that holds a document, alone or as an element: `doc`, `docs[0]`.
fn document_path(expr: &Expr<'_>) -> Option<String> {
    match &expr.kind {
        Kind::Index(of, at) if at.text().is_none() => of.path(),
        _ => expr.path(),
    }
}

/// The variable of a member of this name: `doc` of `doc.items`, `doc["items"]` or `doc.get("items", [])`.
fn member_root(expr: &Expr<'_>, field: &str) -> Option<String> {
    match &expr.kind {
        Kind::Member(of, name) if *name == field => document_path(of),
        Kind::Index(of, at) if at.text().as_deref() == Some(field) => document_path(of),
        Kind::Call(call)
            if call.method() == Some("get")
                && call.positional(0).and_then(Expr::text).as_deref() == Some(field) =>
        {
            call.receiver().and_then(document_path)
        }
        // `doc.items || []`.
        Kind::Binary("||" | "??" | "or", left, _) => member_root(left, field),
        _ => None,
    }
}

/// The variable whose member of this name is part of a sum: `doc` of `doc.count + 1` or `doc["count"] + 1`.
fn summed(expr: &Expr<'_>, field: &str) -> Option<String> {
    let mut root = None;
    expr.visit(&mut |inner| match &inner.kind {
        Kind::Member(of, name) if *name == field => root = root.take().or(document_path(of)),
        Kind::Index(of, at) if at.text().as_deref() == Some(field) => {
            root = root.take().or(document_path(of));
        }
        Kind::Call(call)
            if call.method() == Some("get")
                && call.positional(0).and_then(Expr::text).as_deref() == Some(field) =>
        {
            root = root.take().or(call.receiver().and_then(document_path));
        }
        _ => {}
    });
    root
}
