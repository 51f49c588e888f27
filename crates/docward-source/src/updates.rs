//! Updates: what they add to arrays, which paths they set, and what keeps arrays short.

mod bounds;

use std::collections::BTreeSet;

use docward_model::code::{Append, AppendKind, Cap, SetPath};

use super::{
    Scan,
    array_bounds::{STEPS, is_of_steps},
    ir::{Call, Expr, Kind, ScopeId, StatementKind},
    values::Field,
};
use bounds::{is_enumerated, is_period, mentions_call};

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
/// Functions that stand for an operator (Java's `Updates`, KMongo, Spring's `Update`).
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

/// Why an array stays short that is searched before anything is added.
pub(super) const SEARCHED: &str =
    "it is looked through first, and there is one element for each key";

/// What makes a document.
const MAKES: [&str; 5] = ["insertOne", "insert_one", "InsertOne", "create", "insert"];
/// What makes an id for one.
const MAKES_ID: [&str; 16] = [
    "ObjectId",
    "ObjectID",
    "NewObjectID",
    "NewObjectId",
    "uuid4",
    "uuidv4",
    "v4",
    "randomUUID",
    "uuid",
    "uuid1",
    "nanoid",
    "ulid",
    "cuid",
    "NewString",
    "Random.id",
    "uuid.New",
];

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
        }
        self.loose(&mut seen);
        self.replaced();
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
        let whole = self.bounded_document(call, &filter, scope);
        // A pipeline may take out in one stage what it puts in with the next.
        let filtered: BTreeSet<String> = documents
            .iter()
            .flatten()
            .filter(|field| field.is("$set") || field.is("$addFields"))
            .filter_map(|field| self.values.document(field.value, field.scope))
            .flatten()
            .filter(|field| mentions(field.value, "$filter"))
            .filter_map(|field| field.name)
            .collect();
        // Where a document is found by its id, a date beside that is only a condition.
        let id = filter.iter().find(|field| field.is("_id"));
        // `{_id: today_key()}`.
        let is_day = |field: &Field<'u, 't>| {
            let written = self.text.get(field.value.at..field.value.end).unwrap_or_default();
            let written = written.to_ascii_lowercase().replace('_', "");
            ["today", "daykey", "datekey"].iter().any(|word| written.contains(word))
        };
        let by_period = id.map_or_else(|| self.is_of_period(&filter), is_day);
        for document in documents.iter().filter(|document| is_update(document)) {
            let from = self.out.code.appends.len();
            self.operators(document, &filter, collection.as_deref(), seen);
            let changes_state = self.changes_state(document, &filter);
            let sets_state = self.sets_state(document, &filter);
            for append in &mut self.out.code.appends[from..] {
                let why = match changes_state {
                    true => Some("the filter asks for a state that the same update changes"),
                    false => self.values.lets_in_once(&filter, &append.path),
                };
                append.few = append.few.or(why);
                if sets_state && is_of_steps(&append.path) {
                    append.few = append.few.or(Some(STEPS));
                }
            }
            if by_period {
                let added = &mut self.out.code.appends[from..];
                added.iter_mut().for_each(|a| a.few = Some("the filter names a period"));
            }
            for append in &mut self.out.code.appends[from..] {
                if append.kind == AppendKind::Concat && filtered.contains(&append.path) {
                    append.few = Some("the same update takes elements out of it");
                }
            }
            if let Some(why) = whole {
                for append in &mut self.out.code.appends[from..] {
                    if append.cap == Cap::None {
                        append.cap = Cap::Guard(why.to_owned());
                    }
                }
            }
        }
    }

    /// Whether an update sets a field that its filter wants otherwise: it counts once for each change of that state
    /// (`{active: {$ne: true}}` with `$set: {active: true}`).
    fn changes_state(&self, update: &[Field<'u, 't>], filter: &[Field<'u, 't>]) -> bool {
        let is_fixed = |field: &Field<'u, 't>| {
            let (value, _) = self.values.follow(field.value, field.scope);
            matches!(value.kind, Kind::Bool(_) | Kind::Number(_) | Kind::Null)
                || value.text().is_some()
                || is_enumerated(value)
        };
        let written = |field: &Field<'u, 't>| self.text.get(field.value.at..field.value.end);
        let set = update
            .iter()
            .filter(|entry| entry.is("$set") || entry.is("$unset"))
            .flat_map(|entry| self.operands(entry.value, entry.scope));
        set.into_iter().any(|field| {
            is_fixed(&field)
                && field.name.is_some()
                && filter
                    .iter()
                    .any(|wanted| wanted.name == field.name && written(wanted) != written(&field))
        })
    }

    /// The operators of an update.
    fn operators(
        &mut self,
        update: &[Field<'u, 't>],
        filter: &[Field<'u, 't>],
        collection: Option<&str>,
        seen: &mut BTreeSet<usize>,
    ) {
        for entry in update {
            let Some(operator) = entry.name.as_deref() else { continue };
            if !seen.insert(entry.at) {
                continue;
            }
            for field in self.operands(entry.value, entry.scope) {
                // Under an operator of an update are fields; `{$push: {$each…}}` collects.
                if field.is_spread || field.name.as_ref().is_some_and(|name| name.starts_with('$'))
                {
                    continue;
                }
                self.operand(operator, &field, filter, update, collection);
            }
        }
    }

    /// The fields under an operator; of both sides where a condition decides (`$push: pick ? {…} : {…}`).
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
    fn operand(
        &mut self,
        operator: &str,
        field: &Field<'u, 't>,
        filter: &[Field<'u, 't>],
        update: &[Field<'u, 't>],
        collection: Option<&str>,
    ) {
        // A name that is computed is shown as code has it.
        let path = field.name.clone().unwrap_or_else(|| {
            let computed = field.computed.and_then(Expr::path);
            computed.map_or_else(|| "*".to_owned(), |path| format!("[{path}]"))
        });
        let place = self.place(field.at, field.scope);
        let collection = collection.map(str::to_owned);
        match operator {
            // `$push: {logs: {$each: [], $slice: -100}}` adds nothing and cuts.
            "$push" if self.only_cuts(field) => {
                let operator = "$pop".to_owned();
                self.out.code.set_paths.push(SetPath { place, operator, collection, path });
            }
            "$push" | "$addToSet" | "$pushAll" => {
                let is_set = operator == "$addToSet";
                let kind = if is_set { AppendKind::AddToSet } else { AppendKind::Push };
                // `$addToSet: {months: month}`.
                let of_period = is_set && field.value.last_name().is_some_and(is_period);
                let few = of_period.then_some("there is one element for each period");
                let mut cap = self.cap(field, filter, update);
                if cap == Cap::None
                    && let Some(why) = self.is_tested(&path, field.value, field.scope)
                {
                    cap = Cap::Guard(why.to_owned());
                }
                let few = few.or_else(|| self.may_stay_short(&path, field.at, field.scope));
                let of = None;
                self.out.code.appends.push(Append { place, kind, collection, of, path, cap, few });
            }
            "$set" | "$inc" | "$unset" | "$min" | "$max" | "$mul" | "$setOnInsert" | "$pull"
            | "$pullAll" | "$pop" => {
                if operator == "$set" && mentions(field.value, "$concatArrays") {
                    let sliced = mentions(field.value, "$slice");
                    self.out.code.appends.push(Append {
                        place: place.clone(),
                        kind: AppendKind::Concat,
                        collection: collection.clone(),
                        of: None,
                        path: path.clone(),
                        cap: if sliced { Cap::Slice(0) } else { Cap::None },
                        few: None,
                    });
                }
                let operator = operator.to_owned();
                self.out.code.set_paths.push(SetPath { place, operator, collection, path });
            }
            _ => {}
        }
    }

    /// Whether a `$push` adds nothing and keeps some.
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
            // A static import of the driver's or KMongo's functions.
            None => unit.import(method).is_some_and(|import| {
                import.module.contains("Updates") || import.module.contains("kmongo")
            }),
            Some(of) => of.last_name() == Some("Updates") || self.is_spring_update(of, scope, 0),
        };
        let Some(field) = call.positional(0).filter(|_| of_updates) else { return };
        let Some(path) = self.values.text(field, scope) else { return };
        // `Updates.pushEach("f", new ArrayList<>(), new PushOptions().slice(n))` adds nothing and cuts.
        const NOTHING: [&str; 5] = [
            "new ArrayList<>()",
            "Collections.emptyList()",
            "List.of()",
            "emptyList()",
            "listOf()",
        ];
        let is_nothing = |value: &Expr<'t>| {
            self.text.get(value.at..value.end).is_some_and(|text| NOTHING.contains(&text))
        };
        let kind =
            kind.filter(|_| method != "pushEach" || !call.positional(1).is_some_and(is_nothing));
        let Some(kind) = kind else {
            let (place, operator) = (self.place(field.at, scope), "$pull".to_owned());
            self.out.code.set_paths.push(SetPath { place, operator, collection: None, path });
            return;
        };
        let after = self.text.get(call.callee.end..).unwrap_or_default();
        let chained: String = after.chars().take(400).take_while(|c| *c != ';').collect();
        let options = call.args.iter().any(|arg| mentions_call(&arg.value, "slice"));
        let is_cut = call.positional(1).is_some_and(|value| self.has_slice(value, scope));
        let cap = if chained.contains(".slice(") || options || is_cut {
            Cap::Slice(0)
        } else if call.positional(1).is_some_and(|value| value.text().is_some()) {
            Cap::Constant
        } else {
            Cap::None
        };
        let place = self.place(field.at, scope);
        let collection = None;
        let of = None;
        self.out.code.appends.push(Append { place, kind, collection, of, path, cap, few: None });
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
            // What takes elements out of an array: `pull__comments__id`.
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
                let place = self.place(value.at, scope);
                let path = path.replace("__", ".");
                let collection = None;
                self.out.code.appends.push(Append {
                    place,
                    kind,
                    collection,
                    of: None,
                    path,
                    cap,
                    few: None,
                });
            }
        }
    }

    /// Laravel: `Cart::where('user', $id)->push('items', $item)`, also of a model that was loaded like that.
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
        let place = self.place(call.callee.at, scope);
        let collection = Some(self.values.known.collection_of(model));
        self.out.code.appends.push(Append {
            place,
            kind,
            collection,
            of: None,
            path,
            cap,
            few: None,
        });
    }

    /// Update documents that are not written where they are used: constants, values that are returned,
    /// `update["$push"] = …`, `update.$push.events = …`.
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
            if matches!(value.kind, Kind::Object(_)) {
                found.extend(self.values.document(value, statement.scope));
            }
        }
        for (operator, field) in operands {
            if seen.insert(field.at) {
                self.operand(&operator, &field, &[], &[], None);
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
                self.operators(&document, &[], None, seen);
            }
        }
    }
}

impl<'u, 't> super::values::Values<'u, 't> {
    /// The model that a chain of calls begins with: `Cart` of `Cart::where(…)->first()`.
    fn model_of_chain(&self, expr: &'u Expr<'t>, scope: ScopeId) -> Option<&'t str> {
        /// Longer chains are not written.
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

    /// Why a filter keeps an array short: it lets each key in once (`"likes.user": {$ne: id}`), or matches young
    /// documents only (`createdAt: {$gt: limit}`).
    fn lets_in_once(&self, filter: &[Field<'u, 't>], array: &str) -> Option<&'static str> {
        filter.iter().find_map(|field| {
            let name = field.name.as_deref()?;
            let conditions = self.document(field.value, field.scope)?;
            let has = |operators: &[&str]| {
                conditions.iter().any(|c| operators.iter().any(|operator| c.is(operator)))
            };
            let is_array =
                name == array || name.strip_prefix(array).is_some_and(|rest| rest.starts_with('.'));
            let is_creation = matches!(
                name.to_ascii_lowercase().replace('_', "").as_str(),
                "createdat" | "created" | "createtime" | "createdon" | "creationdate"
            );
            if is_array && has(&["$ne", "$nin", "$not"]) {
                Some("the filter lets each key in once")
            } else if is_creation && has(&["$gt", "$gte"]) {
                Some("only documents that are young match")
            } else {
                None
            }
        })
    }
}

/// What an operator is told to change: `update.$push.events`, `update["$push"][key]`.
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
