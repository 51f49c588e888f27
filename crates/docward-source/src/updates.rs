//! Updates: the elements that they add to arrays, the paths that they set, and the bounds of arrays.

mod bounds;

use std::collections::BTreeSet;

use docward_model::code::{Append, AppendKind, Cap, Origin, SetPath};

use super::{
    Scan,
    ir::{Call, Expr, Kind, Part, ScopeId, ScopeKind, StatementKind},
    origins::position,
    values::Field,
};
pub(super) use bounds::{is_enumerated, makes_id, records};

/// Methods that take a filter and an update.
pub(super) const UPDATES: [&str; 29] = [
    "updateAsync",
    "upsertAsync",
    "updateOne",
    "updateMany",
    "update",
    "findOneAndUpdate",
    "findByIdAndUpdate",
    "findAndModify",
    "update_one",
    "update_many",
    "find_one_and_update",
    "find_and_modify",
    "UpdateOne",
    "UpdateMany",
    "UpdateByID",
    "UpdateId",
    "UpdateAll",
    "Update",
    "Upsert",
    "UpsertId",
    "FindOneAndUpdate",
    "updateFirst",
    "updateMulti",
    "upsert",
    "findAndUpdate",
    "FindOneAndUpdateOne",
    "Apply",
    "updateById",
    "bulkWrite",
];
/// Operators of updates; a filter has others (`$or`).
const OPERATORS: [&str; 18] = [
    "$set",
    "$unset",
    "$inc",
    "$push",
    "$addToSet",
    "$pull",
    "$pullAll",
    "$pop",
    "$min",
    "$max",
    "$mul",
    "$rename",
    "$setOnInsert",
    "$currentDate",
    "$bit",
    "$pushAll",
    "$addFields",
    "$replaceWith",
];
/// Functions that build an operator (Java's `Updates`, KMongo, Spring's `Update`).
const BUILDERS: [(&str, AppendKind); 9] = [
    ("push", AppendKind::Push),
    ("pushEach", AppendKind::Push),
    ("addToSet", AppendKind::AddToSet),
    ("addEachToSet", AppendKind::AddToSet),
    ("pushAll", AppendKind::Push),
    ("Push", AppendKind::Push),
    ("AddToSet", AppendKind::AddToSet),
    ("pushAtIndex", AppendKind::Push),
    ("pushToArray", AppendKind::Push),
];

/// A function that adds a value to an array that its caller names: `push(id, field, value)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wrapper {
    kind: AppendKind,
    /// The parameter that names the array.
    field: usize,
    /// The parameter that is added.
    value: Option<usize>,
    /// The number of parameters.
    parameters: usize,
}

/// The facts about the statement around an operator.
#[derive(Default)]
struct Statement<'u, 't> {
    filter: Vec<Field<'u, 't>>,
    update: Vec<Field<'u, 't>>,
    collection: Option<String>,
    /// The bound of all arrays of the document.
    whole: Option<Cap>,
    selected_by: BTreeSet<Origin>,
    /// Arrays that the same update filters.
    filtered: BTreeSet<String>,
}

impl<'u, 't> Scan<'u, 't> {
    /// Finds every update of the file.
    pub(super) fn updates(&mut self) {
        let mut seen = BTreeSet::new();
        let mut calls = Vec::new();
        self.values.unit.each(|scope, expr| {
            if let Some(call) = expr.call() {
                calls.push((scope, call));
            }
        });
        for (scope, call) in &calls {
            if call.method().is_some_and(|method| UPDATES.contains(&method)) {
                self.update(call, *scope, &mut seen);
            }
            self.built(call, *scope);
            self.mapper_update(call, *scope);
            self.pushed_by_laravel(call, *scope);
            self.wrapped(call, *scope);
        }
        self.loose(&mut seen);
        self.replaced();
        self.emptied();
        self.calls_of_appenders();
    }

    /// A call with a filter and an update.
    fn update(&mut self, call: &'u Call<'t>, scope: ScopeId, seen: &mut BTreeSet<usize>) {
        let collection = self.updated(call, scope);
        let mut documents = Vec::new();
        for arg in &call.args {
            let (value, at) = self.values.follow(&arg.value, scope);
            match &value.kind {
                Kind::List(items) => {
                    documents
                        .extend(items.iter().filter_map(|item| self.values.document(item, at)));
                }
                _ => documents.extend(self.values.document(value, at)),
            }
        }
        // `{updateOne: {filter, update}}` of bulk writes, `{query, update}` of commands.
        let mut at = 0;
        while at < documents.len() && documents.len() < 200 {
            let inner: Vec<_> = documents[at]
                .iter()
                .filter(|field| {
                    ["updateOne", "updateMany", "update", "u", "Update"].iter().any(|n| field.is(n))
                })
                .filter_map(|field| self.values.document(field.value, field.scope))
                .collect();
            documents.extend(inner);
            at += 1;
        }
        let is_update = |document: &Vec<Field<'u, 't>>| {
            document.iter().any(|field| OPERATORS.iter().any(|operator| field.is(operator)))
        };
        let filter = documents.iter().find(|document| !is_update(document)).cloned();
        let filter = filter.unwrap_or_default();
        let by_id = matches!(
            call.method(),
            Some("findByIdAndUpdate" | "UpdateByID" | "UpdateId" | "updateById")
        );
        let ids = call.args.iter().take(2).filter(|_| by_id);
        let ids = ids.filter(|arg| self.values.document(&arg.value, scope).is_none());
        let selected_by = (filter.iter().map(|field| (field.value, field.scope)))
            .chain(ids.map(|arg| (&arg.value, scope)))
            .flat_map(|(value, scope)| self.origins(value, scope))
            .chain(match call.receiver().map(|of| &of.kind) {
                // A document that was loaded before: `chat.update({…})`.
                Some(Kind::Name(name)) => self.selection_of(name, scope),
                _ => BTreeSet::new(),
            })
            .collect();
        let filtered = documents
            .iter()
            .flatten()
            .filter(|field| field.is("$set") || field.is("$addFields"))
            .flat_map(|field| self.operands(field.value, field.scope))
            .filter(|field| mentions(field.value, "$filter"))
            .filter_map(|field| field.name)
            .collect();
        let whole = self.bounded_document(call, &filter, scope);
        let mut statement =
            Statement { filter, collection, whole, selected_by, filtered, update: Vec::new() };
        for document in documents.into_iter().filter(is_update) {
            statement.update = document;
            self.operators(&statement, seen);
        }
    }

    /// The operators of an update.
    fn operators(&mut self, statement: &Statement<'u, 't>, seen: &mut BTreeSet<usize>) {
        for entry in &statement.update {
            let Some(operator) = entry.name.as_deref() else { continue };
            if !seen.insert(entry.at) {
                continue;
            }
            for field in self.operands(entry.value, entry.scope) {
                // The entries under an operator of an update are fields; `{$push: {$each…}}` collects.
                if field.is_spread || field.name.as_ref().is_some_and(|name| name.starts_with('$'))
                {
                    continue;
                }
                self.operand(operator, &field, statement);
            }
        }
    }

    /// The fields under an operator; both operands of a condition count (`$push: pick ? {…} : {…}`).
    pub(super) fn operands(&self, value: &'u Expr<'t>, scope: ScopeId) -> Vec<Field<'u, 't>> {
        let (value, scope) = self.values.follow(value, scope);
        match &value.kind {
            Kind::Choice(held) => held[1..]
                .iter()
                .flat_map(|side| self.values.document(side, scope).unwrap_or_default())
                .collect(),
            _ => self.values.document(value, scope).unwrap_or_default(),
        }
    }

    /// One field that an operator changes.
    fn operand(&mut self, operator: &str, field: &Field<'u, 't>, statement: &Statement<'u, 't>) {
        // A computed name is shown as in the code.
        let path = field.name.clone().unwrap_or_else(|| {
            let computed = field.computed.and_then(Expr::path);
            computed.map_or_else(|| "*".to_owned(), |path| format!("[{path}]"))
        });
        let collection = statement.collection.clone();
        let kind = match operator {
            // `$push: {logs: {$each: [], $slice: -100}}` adds nothing and truncates.
            "$push" if self.only_cuts(field) => None,
            "$push" | "$pushAll" => Some(AppendKind::Push),
            "$addToSet" => Some(AppendKind::AddToSet),
            "$set" | "$addFields" if mentions(field.value, "$concatArrays") => {
                Some(AppendKind::Concat)
            }
            _ => None,
        };
        if !matches!(operator, "$push" | "$pushAll" | "$addToSet" | "$addFields") || kind.is_none()
        {
            const CHANGES: [&str; 10] = [
                "$set",
                "$inc",
                "$unset",
                "$min",
                "$max",
                "$mul",
                "$setOnInsert",
                "$pull",
                "$pullAll",
                "$pop",
            ];
            let operator = if operator == "$push" { "$pop" } else { operator };
            if CHANGES.contains(&operator) {
                let place = self.place(field.at, field.scope);
                let (operator, collection) = (operator.to_owned(), collection.clone());
                let path = path.clone();
                self.out.code.set_paths.push(SetPath { place, operator, collection, path });
            }
        }
        let Some(kind) = kind else { return };
        let cap = match (kind, statement.whole) {
            (AppendKind::Concat, _) if mentions(field.value, "$slice") => Cap::Slice(0),
            (AppendKind::Concat, _) if statement.filtered.contains(&path) => Cap::Replaced,
            (AppendKind::Concat, whole) => whole.unwrap_or(Cap::None),
            (_, whole) => match self.cap(field, statement) {
                Cap::None => whole.unwrap_or(Cap::None),
                cap => cap,
            },
        };
        if let Some(wrapper) = self.wrapper(kind, field) {
            self.out.wrappers.push(wrapper);
            return;
        }
        let each = self
            .values
            .document(field.value, field.scope)
            .and_then(|modifiers| modifiers.into_iter().find(|modifier| modifier.is("$each")));
        let value = each.map_or((field.value, field.scope), |each| (each.value, each.scope));
        let append = self.append(field.at, field.scope, kind, path, cap);
        self.out.code.appends.push(Append {
            collection,
            value: self.origins(value.0, value.1),
            adds_document: self.is_document(value.0, value.1),
            selected_by: statement.selected_by.clone(),
            is_unique: append.is_unique
                || self.lets_in_once(&statement.filter, &append.path)
                || self.is_behind_search(&append.path, field.at, field.scope),
            records_change: self.records_change(value.0, statement),
            ..append
        });
    }

    /// Records an append at a known place.
    pub(super) fn append(
        &self,
        at: usize,
        scope: ScopeId,
        kind: AppendKind,
        path: String,
        cap: Cap,
    ) -> Append {
        let in_loop = self.is_in_loop(scope);
        Append { in_loop, ..Append::plain(self.place(at, scope), kind, path, cap) }
    }

    /// The enclosing function of an operator whose field is one of its parameters.
    fn wrapper(&self, kind: AppendKind, field: &Field<'u, 't>) -> Option<(String, Wrapper)> {
        let computed = field.computed.filter(|_| field.name.is_none())?;
        let (_, function) = self.values.unit.function(field.scope)?;
        let of = |expr: &Expr<'t>| match &expr.kind {
            Kind::Name(name) => position(function, name),
            Kind::Text(parts) => parts.iter().find_map(|part| match part {
                Part::Hole(hole) => position(function, hole.last_name()?),
                Part::Text(..) => None,
            }),
            _ => None,
        };
        let mut value = None;
        field.value.visit(&mut |inner| value = value.or_else(|| of(inner)));
        let parameters =
            function.parameters.iter().filter(|(name, _)| !matches!(*name, "self" | "cls")).count();
        let wrapper = Wrapper { kind, field: of(computed)?, value, parameters };
        (!function.name.is_empty()).then(|| (function.name.to_owned(), wrapper))
    }

    /// A call of a function that adds to an array which the call names.
    fn wrapped(&mut self, call: &'u Call<'t>, scope: ScopeId) {
        let wrappers = &self.values.known.wrappers;
        let Some(Some(wrapper)) = call.method().and_then(|name| wrappers.get(name)) else { return };
        let given = call.args.len();
        let Some(field) = call.args.get(wrapper.field).map(|arg| &arg.value) else { return };
        let Some(path) = self.values.text(field, scope) else { return };
        let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '$');
        if given > wrapper.parameters || given < 2 || path.is_empty() || !path.chars().all(is_name)
        {
            return;
        }
        let append = self.append(field.at, scope, wrapper.kind, path, Cap::None);
        let value = wrapper.value.and_then(|at| call.args.get(at)).map(|arg| &arg.value);
        let others = call.args.iter().map(|arg| &arg.value);
        let others = others.filter(|arg| value.is_none_or(|value| value.at != arg.at));
        let selected_by = others.filter(|arg| arg.at != field.at);
        self.out.code.appends.push(Append {
            value: value.map(|value| self.origins(value, scope)).unwrap_or_default(),
            adds_document: value.is_some_and(|value| self.is_document(value, scope)),
            selected_by: selected_by.flat_map(|arg| self.origins(arg, scope)).collect(),
            collection: call
                .receiver()
                .and_then(|of| self.values.target(of, scope))
                .map(|t| t.collection),
            ..append
        });
    }

    /// Whether a `$push` adds nothing and truncates the array.
    fn only_cuts(&self, field: &Field<'u, 't>) -> bool {
        let held = self.values.document(field.value, field.scope).unwrap_or_default();
        let is_empty = |field: &Field<'u, 't>| matches!(&self.values.follow(field.value, field.scope).0.kind, Kind::List(all) if all.is_empty());
        held.iter().any(|field| field.is("$slice"))
            && held.iter().any(|field| field.is("$each") && is_empty(field))
    }

    /// `Updates.push("f", v)`, `new Update().push("f").slice(5).each(…)`, `push(User::comments, c)`.
    fn built(&mut self, call: &'u Call<'t>, scope: ScopeId) {
        let unit = self.values.unit;
        if !unit.language.is_jvm() {
            return;
        }
        let Some(method) = call.method() else { return };
        let takes_out =
            matches!(method, "pull" | "pullAll" | "pullByFilter" | "popFirst" | "popLast");
        let kind = BUILDERS.iter().find(|(name, _)| *name == method).map(|(_, kind)| *kind);
        if kind.is_none() && !takes_out {
            return;
        }
        let of_updates = match call.receiver() {
            // A static import of the driver's functions, one by one or all of them, or of KMongo's.
            None => unit.import(method).is_some_and(|import| is_of_driver(&import.module))
                || unit.imports.iter().any(|import| {
                    import.name == "Updates" && import.module == "com.mongodb.client.model"
                }) && !unit.scopes.iter().any(
                    |scope| matches!(&scope.kind, ScopeKind::Function(own) if own.name == method),
                ),
            Some(of) => of.last_name() == Some("Updates") || self.is_spring_update(of, scope, 0),
        };
        let Some(field) = call.positional(0).filter(|_| of_updates) else { return };
        let Some(path) = self.values.text(field, scope) else { return };
        // `Updates.pushEach("f", new ArrayList<>(), new PushOptions().slice(n))` adds nothing and truncates.
        let is_nothing = |value: &Expr<'t>| match &value.kind {
            Kind::Call(made) => made.args.is_empty(),
            Kind::List(items) => items.is_empty(),
            _ => false,
        };
        let kind =
            kind.filter(|_| method != "pushEach" || !call.positional(1).is_some_and(is_nothing));
        let Some(kind) = kind else {
            let (place, operator) = (self.place(field.at, scope), "$pull".to_owned());
            self.out.code.set_paths.push(SetPath { place, operator, collection: None, path });
            return;
        };
        let added = call.positional(1);
        // `update.push("f").slice(5).each(…)`: the chain continues around the call.
        let is_sliced = |expr: &Expr<'t>| {
            let outer = expr.call().filter(|outer| outer.method() == Some("slice"));
            outer.is_some_and(|outer| {
                outer.callee.at <= call.callee.at && call.callee.end < outer.callee.end
            })
        };
        let mut slices = call.args.iter().any(|arg| mentions_call(&arg.value, "slice"));
        unit.each(|_, expr| slices |= is_sliced(expr));
        let cap = if slices || added.is_some_and(|value| self.has_slice(value, scope)) {
            Cap::Slice(0)
        } else if added.is_some_and(|value| value.text().is_some()) {
            Cap::Constant
        } else {
            Cap::None
        };
        let append = self.append(field.at, scope, kind, path, cap);
        self.out.code.appends.push(Append {
            value: added.map(|value| self.origins(value, scope)).unwrap_or_default(),
            adds_document: added.is_some_and(|value| self.is_document(value, scope)),
            ..append
        });
    }

    fn is_spring_update(&self, expr: &'u Expr<'t>, scope: ScopeId, steps: u32) -> bool {
        if steps > 20 {
            return false;
        }
        let (expr, scope) = self.values.follow(expr, scope);
        match &expr.kind {
            Kind::Call(call) => {
                call.method() == Some("Update") && call.receiver().is_none()
                    || call.receiver().is_some_and(|of| self.is_spring_update(of, scope, steps + 1))
            }
            Kind::Name(name) => *name == "Update",
            _ => false,
        }
    }

    /// MongoEngine: `User.objects(id=i).update(push__comments=c)`.
    fn mapper_update(&mut self, call: &'u Call<'t>, scope: ScopeId) {
        if !matches!(call.method(), Some("update" | "update_one" | "modify" | "upsert_one")) {
            return;
        }
        let mut given: Vec<(String, &'u Expr<'t>)> = Vec::new();
        for arg in &call.args {
            match arg.name {
                Some(name) => given.push((name.to_owned(), &arg.value)),
                // `update(**{"push__logs": line})`.
                None if arg.spread => {
                    let fields = self.values.document(&arg.value, scope).unwrap_or_default();
                    given.extend(fields.into_iter().filter_map(|f| Some((f.name?, f.value))));
                }
                None => {}
            }
        }
        for (name, value) in given {
            // Operators that remove elements from an array: `pull__comments__id`.
            let pulled =
                ["pull__", "pull_all__", "pop__"].iter().find_map(|p| name.strip_prefix(p));
            if let Some(path) = pulled {
                let path = path.split("__").next().unwrap_or(path).to_owned();
                let place = self.place(value.at, scope);
                let operator = "$pull".to_owned();
                self.out.code.set_paths.push(SetPath { place, operator, collection: None, path });
                continue;
            }
            let found = [
                ("push__", AppendKind::Push),
                ("push_all__", AppendKind::Push),
                ("add_to_set__", AppendKind::AddToSet),
            ]
            .into_iter()
            .find_map(|(prefix, kind)| Some((name.strip_prefix(prefix)?, kind)));
            if let Some((path, kind)) = found {
                let is_constant = value.text().is_some() || is_enumerated(value);
                let cap = if is_constant { Cap::Constant } else { Cap::None };
                let path = path.replace("__", ".");
                let append = self.append(value.at, scope, kind, path, cap);
                let (value, adds_document) =
                    (self.origins(value, scope), self.is_document(value, scope));
                self.out.code.appends.push(Append { value, adds_document, ..append });
            }
        }
    }

    /// Laravel: `Cart::where('user', $id)->push('items', $item)`, also of a model that was loaded this way.
    fn pushed_by_laravel(&mut self, call: &'u Call<'t>, scope: ScopeId) {
        if self.values.unit.language != super::Language::Php || call.method() != Some("push") {
            return;
        }
        let (Some(field), Some(value), Some(of)) =
            (call.positional(0), call.positional(1), call.receiver())
        else {
            return;
        };
        let Some(model) = self.values.model_of_chain(of, scope) else { return };
        let Some(path) = self.values.text(field, scope) else { return };
        let is_set =
            matches!(call.positional(2).map(|unique| &unique.kind), Some(Kind::Bool(true)));
        let kind = if is_set { AppendKind::AddToSet } else { AppendKind::Push };
        let is_constant = value.text().is_some() || is_enumerated(value);
        let cap = if is_constant { Cap::Constant } else { Cap::None };
        let collection = Some(self.values.known.collection_of(model));
        let append = self.append(call.callee.at, scope, kind, path, cap);
        let (value, adds_document) = (self.origins(value, scope), self.is_document(value, scope));
        self.out.code.appends.push(Append { collection, value, adds_document, ..append });
    }

    /// Update documents that are written outside of the call: constants, return values, `update["$push"] = …`,
    /// `update.$push.events = …`.
    fn loose(&mut self, seen: &mut BTreeSet<usize>) {
        let mut found: Vec<Vec<Field<'u, 't>>> = Vec::new();
        let mut operands: Vec<(String, Field<'u, 't>)> = Vec::new();
        for statement in &self.values.unit.statements {
            let value = match &statement.kind {
                StatementKind::Assign { target, value, .. } => {
                    let field = |name, computed| Field {
                        computed,
                        name,
                        is_spread: false,
                        value,
                        at: target.at,
                        scope: statement.scope,
                    };
                    if let Some(operator) = operator_of(target) {
                        found.push(vec![field(Some(operator), None)]);
                    } else if let Some((operator, of)) = operand_of(target) {
                        let name = match of {
                            Operand::Name(name) => Some(name.to_owned()),
                            Operand::Computed(key) => self.values.text(key, statement.scope),
                        };
                        let computed = match of {
                            Operand::Computed(key) => Some(key),
                            Operand::Name(_) => None,
                        };
                        operands.push((operator, field(name, computed)));
                    }
                    value
                }
                StatementKind::Return(value) => value,
                StatementKind::Eval(_) => continue,
            };
            if matches!(value.kind, Kind::Object(_) | Kind::Call(_)) {
                found.extend(self.values.document(value, statement.scope));
            }
        }
        for (operator, field) in operands {
            if seen.insert(field.at) {
                self.operand(&operator, &field, &Statement::default());
            }
        }
        for document in found {
            let changes_array = |field: &Field<'u, 't>| {
                ["$push", "$addToSet", "$pull", "$pullAll", "$pop"].iter().any(|o| field.is(o))
            };
            let all_operators = document
                .iter()
                .all(|field| field.name.as_ref().is_none_or(|name| name.starts_with('$')));
            if all_operators && document.iter().any(changes_array) {
                self.operators(&Statement { update: document, ..Statement::default() }, seen);
            }
        }
    }
}

impl<'u, 't> super::values::Values<'u, 't> {
    /// The model that a chain of calls begins with: `Cart` of `Cart::where(…)->first()`.
    fn model_of_chain(&self, expr: &'u Expr<'t>, scope: ScopeId) -> Option<&'t str> {
        /// Longer chains do not occur.
        const MAX_LINKS: u32 = 40;
        let (mut expr, mut scope) = self.follow(expr, scope);
        for _ in 0..MAX_LINKS {
            if let Kind::Name(name) = expr.kind {
                return self.known.models.contains_key(name).then_some(name);
            }
            (expr, scope) = self.follow(expr.call()?.receiver()?, scope);
        }
        None
    }
}

/// Whether a module has the functions that build updates.
fn is_of_driver(module: &str) -> bool {
    module.ends_with("Updates") || module.starts_with("org.litote.kmongo")
}

/// Whether a method is called somewhere in an expression.
pub(super) fn mentions_call(expr: &Expr<'_>, method: &str) -> bool {
    let mut found = false;
    expr.visit(&mut |inner| {
        found |= inner.call().is_some_and(|call| call.method() == Some(method));
    });
    found
}

/// The operand of an operator: `update.$push.events`, `update["$push"][key]`.
enum Operand<'e, 't> {
    Name(&'t str),
    Computed(&'e Expr<'t>),
}

/// The operator that a member is: `update.$push`, `update["$push"]`.
fn operator_of(expr: &Expr<'_>) -> Option<String> {
    match &expr.kind {
        Kind::Member(_, name) if name.starts_with('$') => Some((*name).to_owned()),
        Kind::Index(_, key) => {
            key.text().filter(|text| text.starts_with('$')).map(|text| text.into_owned())
        }
        _ => None,
    }
}

/// The operator and the field under it that are assigned to.
fn operand_of<'e, 't>(target: &'e Expr<'t>) -> Option<(String, Operand<'e, 't>)> {
    let (of, operand) = match &target.kind {
        Kind::Member(of, name) => (of, Operand::Name(name)),
        Kind::Index(of, key) => (of, Operand::Computed(key)),
        _ => return None,
    };
    let operator = operator_of(of).filter(|operator| OPERATORS.contains(&operator.as_str()))?;
    Some((operator, operand))
}

/// Whether a key is used somewhere in an expression.
pub(crate) fn mentions(expr: &Expr<'_>, key: &str) -> bool {
    let mut found = false;
    expr.visit(&mut |inner| {
        if let Kind::Object(entries) = &inner.kind {
            found |= entries.iter().any(|entry| entry.name() == Some(key));
        }
        if let Kind::Call(call) = &inner.kind {
            found |= call.args.iter().any(|arg| arg.value.text().as_deref() == Some(key));
        }
    });
    found
}
