//! Statements that are not updates: collections that are created or sharded, counts, joins, transactions and names.

use std::collections::{BTreeMap, BTreeSet};

use docward_model::code::{
    CodeCount, CodeName, Creation, DeclaredField, NameKind, Pipeline, Sharding, Transaction,
};

use super::{
    Scan,
    annotations::is_day,
    handlers,
    ir::{Call, Expr, Key, Kind, ScopeId, ScopeKind, StatementKind},
    read_modify_write::mentions_path,
};

pub(super) const WRITES: [&str; 29] = [
    "insertOne",
    "insertMany",
    "insert",
    "insert_one",
    "insert_many",
    "updateOne",
    "updateMany",
    "update_one",
    "update_many",
    "deleteOne",
    "deleteMany",
    "delete_one",
    "delete_many",
    "replaceOne",
    "replace_one",
    "findOneAndUpdate",
    "find_one_and_update",
    "findOneAndDelete",
    "findByIdAndUpdate",
    "InsertOne",
    "InsertMany",
    "UpdateOne",
    "UpdateMany",
    "DeleteOne",
    "DeleteMany",
    "ReplaceOne",
    "FindOneAndUpdate",
    "bulkWrite",
    "create",
];
pub(super) const READS: [&str; 16] = [
    "find",
    "findOne",
    "find_one",
    "aggregate",
    "countDocuments",
    "count_documents",
    "distinct",
    "Find",
    "FindOne",
    "Aggregate",
    "CountDocuments",
    "estimatedDocumentCount",
    "createIndex",
    "create_index",
    "count",
    "findById",
];

/// Keys whose value is a whole document: operators of updates, operations of bulk writes.
const HOLDS_DOCUMENT: [&str; 9] = [
    "$setOnInsert",
    "$set",
    "insertOne",
    "document",
    "replaceOne",
    "replacement",
    "updateOne",
    "update",
    "doc",
];
/// Methods that put an element into an array.
const ADDS_ELEMENT: [&str; 6] = ["push", "unshift", "append", "concat", "extend", "splice"];

impl<'u, 't> Scan<'u, 't> {
    pub(super) fn calls(&mut self) {
        let unit = self.values.unit;
        let mut calls = Vec::new();
        let mut objects = Vec::new();
        unit.each(|scope, expr| match &expr.kind {
            Kind::Call(call) => calls.push((scope, expr.at, &**call)),
            Kind::Object(entries) if entries.iter().any(|entry| entry.name() == Some("_id")) => {
                objects.push((scope, expr));
            }
            _ => {}
        });
        let mut named: BTreeSet<(Option<String>, String)> = BTreeSet::new();
        for (scope, at, call) in calls {
            let Some(method) = call.method() else { continue };
            match method {
                "createCollection" | "create_collection" | "CreateCollection" => {
                    self.creation(call, at, scope);
                }
                "shardCollection" => self.sharding(call, at, scope),
                "countDocuments" | "count_documents" | "CountDocuments" => {
                    self.count(call, at, scope);
                }
                "aggregate" | "Aggregate" => self.pipeline(call, at, scope),
                "withTransaction" | "with_transaction" | "WithTransaction" | "startTransaction"
                | "start_transaction" | "StartTransaction" => self.transaction(call, at, scope),
                _ => {}
            }
            self.found_by_day(call, method, scope);
            if WRITES.contains(&method) || READS.contains(&method) {
                self.name(call, method, scope, &mut named);
            }
        }
        // Components of a page also have `_id`s, which are not stored.
        if self.values.is_mongo_file() || self.values.is_mapper_file() {
            let elements = self.elements();
            for (scope, object) in objects {
                if !elements.contains(&object.at) && !self.is_only_answered(object, scope) {
                    self.random_id(object, scope);
                }
            }
        }
    }

    /// `Report.findOne({userId, visitDate})`: finds one document by a day and by its owner.
    fn found_by_day(&mut self, call: &'u Call<'t>, method: &str, scope: ScopeId) {
        if !matches!(
            method,
            "findOne"
                | "find_one"
                | "FindOne"
                | "findOneAndUpdate"
                | "find_one_and_update"
                | "FindOneAndUpdate"
        ) {
            return;
        }
        let Some(filter) = call.positional(0).and_then(|arg| self.values.document(arg, scope))
        else {
            return;
        };
        if filter.len() < 2 {
            return;
        }
        let of = call.receiver().and_then(|of| self.values.target(of, scope));
        let Some(of) = of.map(|target| target.collection) else { return };
        for field in filter {
            let is_range = self.values.document(field.value, field.scope).is_some();
            if let Some(name) = field.name.filter(|name| !is_range && is_day(name)) {
                self.out.code.day_keys.insert((of.clone(), name));
            }
        }
    }

    fn creation(&mut self, call: &'u Call<'t>, at: usize, scope: ScopeId) {
        let name = call.args.iter().find_map(|arg| self.values.text(&arg.value, scope));
        // `Model.createCollection()` takes its options from the schema, and other libraries have collections too.
        let of = call.receiver().filter(|_| !call.args.is_empty());
        if !of.is_some_and(|of| self.values.is_database(of, scope, 0)) {
            return;
        }
        let (mut validator, mut special, mut partial) = (false, false, false);
        let mut option = |name: &str| match name {
            "validator" | "validationOptions" | "SetValidator" => validator = true,
            "timeseries"
            | "timeSeriesOptions"
            | "SetTimeSeriesOptions"
            | "viewOn"
            | "view_on"
            | "capped"
            | "SetCapped"
            | "clusteredIndex" => special = true,
            _ => {}
        };
        // The name follows the context in Go. A computed name has the same position.
        let skip = call
            .args
            .iter()
            .position(|arg| self.values.text(&arg.value, scope).is_some())
            .unwrap_or(self.values.unit.language.dialect().leading_arguments)
            + 1;
        for arg in call.args.iter().skip(skip) {
            if let Some(name) = arg.name {
                option(name);
            } else if let Some(fields) = self.values.document(&arg.value, scope) {
                fields.iter().filter_map(|field| field.name.as_deref()).for_each(&mut option);
                partial |= fields.iter().any(|field| field.name.is_none());
            } else {
                let mut methods = Vec::new();
                let (value, _) = self.values.follow(&arg.value, scope);
                value.visit(&mut |expr| methods.extend(expr.call().and_then(Call::method)));
                // A builder shows all options; the content of any other function or variable is unknown.
                let is_builder = methods.iter().any(|method| {
                    matches!(*method, "CreateCollection" | "CreateCollectionOptions")
                });
                partial |= !is_builder && !matches!(value.kind, Kind::Function(_));
                methods.into_iter().for_each(&mut option);
            }
            partial |= arg.spread;
        }
        let place = self.place(at, scope);
        self.out.code.creations.push(Creation {
            place,
            collection: name.unwrap_or_default(),
            is_partial: partial,
            validator,
            special,
        });
    }

    fn sharding(&mut self, call: &'u Call<'t>, at: usize, scope: ScopeId) {
        let Some(namespace) = call.positional(0).and_then(|arg| self.values.text(arg, scope))
        else {
            return;
        };
        let key = call
            .positional(1)
            .and_then(|arg| self.values.document(arg, scope))
            .unwrap_or_default()
            .into_iter()
            .filter_map(|field| {
                let hashed =
                    self.values.text(field.value, field.scope).as_deref() == Some("hashed");
                Some((field.name?, hashed))
            })
            .collect::<Vec<_>>();
        if !key.is_empty() {
            let place = self.place(at, scope);
            self.out.code.shardings.push(Sharding { place, namespace, key });
        }
    }

    fn count(&mut self, call: &'u Call<'t>, at: usize, scope: ScopeId) {
        let fields = call
            .args
            .iter()
            .find_map(|arg| self.values.document(&arg.value, scope))
            .unwrap_or_default()
            .into_iter()
            .filter_map(|field| field.name)
            .collect();
        let collection = call.receiver().and_then(|of| self.values.target(of, scope));
        let collection = collection.map(|target| target.collection);
        let in_handler = handlers::handler_around(self.values.unit, scope, self.within).is_some();
        let is_existence = self.is_existence(call, scope);
        let before_insert = is_existence && self.inserts_after(collection.as_deref(), at, scope);
        let place = self.place(at, scope);
        self.out.code.counts.push(CodeCount {
            place,
            collection,
            fields,
            in_handler,
            is_existence,
            before_insert,
        });
    }

    /// Whether a count only shows whether there is at least one document: the code compares it with 0 or 1, or uses it
    /// as a condition. A count in a variable qualifies if every use of the variable is such a test.
    fn is_existence(&self, call: &'u Call<'t>, scope: ScopeId) -> bool {
        let unit = self.values.unit;
        let is_call = |expr: &Expr<'t>| bare(expr).call().is_some_and(|own| is_same(own, call));
        let within = self.outer_function(scope);
        let variable = unit.statements.iter().find_map(|statement| match &statement.kind {
            StatementKind::Assign { target, value, adds: false } if is_call(value) => {
                first_name(target)
            }
            _ => None,
        });
        let is_number = |expr: &Expr<'t>| match (&expr.kind, variable) {
            (Kind::Name(name), Some(variable)) => *name == variable,
            (_, Some(_)) => false,
            (_, None) => expr.call().is_some_and(|own| is_same(own, call)),
        };
        let chains = unit.language.dialect().chains_comparisons;
        let (mut all, mut asked, mut logged) = (0_u32, 0_u32, 0_u32);
        let mut see = |expr: &Expr<'t>| {
            all += u32::from(is_number(expr));
            // A use in a log message does not matter.
            if let Kind::Call(call) = &expr.kind
                && is_log(call)
            {
                let args = call.args.iter();
                args.for_each(|arg| {
                    arg.value.visit(&mut |inner| logged += u32::from(is_number(inner)))
                });
            }
            let compared = |left: &Expr<'t>, right: &Expr<'t>| {
                let is_bound = |expr: &Expr<'t>| matches!(expr.kind, Kind::Number("0" | "1"));
                u32::from(is_number(bare(left)) && is_bound(right))
                    + u32::from(is_number(bare(right)) && is_bound(left))
            };
            asked += match &expr.kind {
                Kind::Binary(
                    ">" | "<" | ">=" | "<=" | "==" | "===" | "!=" | "!==",
                    left,
                    right,
                ) => compared(left, right),
                // A comparison that may have more than two operands.
                Kind::Other(sides) if chains => match sides.as_slice() {
                    [left, right] => compared(left, right),
                    _ => 0,
                },
                Kind::Choice(held) => u32::from(is_truth_of(&held[0], &is_number)),
                _ => 0,
            };
        };
        // A condition is evaluated once, even if it decides about several branches. Its parts are also statements.
        let mut conditions: BTreeMap<(usize, usize), &Expr<'t>> = BTreeMap::new();
        for (id, held) in unit.scopes.iter().enumerate() {
            if let ScopeKind::Branch(Some(condition)) = &held.kind
                && self.outer_function(id) == within
            {
                conditions.insert((condition.at, condition.end), condition);
            }
        }
        let is_condition =
            |expr: &Expr<'t>| conditions.keys().any(|(at, end)| *at <= expr.at && expr.end <= *end);
        for statement in &unit.statements {
            if self.outer_function(statement.scope) != within {
                continue;
            }
            match &statement.kind {
                StatementKind::Assign { value, .. } => value.visit(&mut see),
                StatementKind::Eval(expr) if is_condition(expr) => {}
                StatementKind::Eval(expr) | StatementKind::Return(expr) => expr.visit(&mut see),
            }
        }
        for condition in conditions.values() {
            condition.visit(&mut see);
        }
        let truths = conditions.values().filter(|condition| is_truth_of(condition, &is_number));
        let asked = asked + truths.map(|_| 1).sum::<u32>();
        asked > 0 && all <= asked + logged
    }

    /// Whether the function then stores a document in the collection that was counted.
    fn inserts_after(&self, collection: Option<&str>, at: usize, scope: ScopeId) -> bool {
        const INSERTS: [&str; 9] = [
            "insertOne",
            "insert_one",
            "InsertOne",
            "insert",
            "create",
            "save",
            "insertMany",
            "insert_many",
            "InsertMany",
        ];
        let within = self.outer_function(scope);
        let mut inserts = false;
        self.values.unit.each(|inner, expr| {
            let Some(call) = expr.call().filter(|_| expr.at > at) else { return };
            if self.outer_function(inner) != within
                || !call.method().is_some_and(|method| INSERTS.contains(&method))
            {
                return;
            }
            let target = call.receiver().and_then(|of| self.values.target(of, inner));
            // `user.save()` of a document that was created before.
            inserts |= match (target, collection) {
                (Some(target), Some(collection)) => target.collection == collection,
                _ => call.method() == Some("save"),
            };
        });
        inserts
    }

    /// A pipeline that reads, with the collections that it joins.
    fn pipeline(&mut self, call: &'u Call<'t>, at: usize, scope: ScopeId) {
        let collection =
            call.receiver().and_then(|of| self.values.target(of, scope)).map(|t| t.collection);
        let mut joined = BTreeSet::new();
        let mut writes = false;
        for arg in &call.args {
            let (value, at) = self.values.follow(&arg.value, scope);
            value.visit(&mut |expr| {
                let Kind::Object(entries) = &expr.kind else { return };
                writes |= entries.iter().any(|e| matches!(e.name(), Some("$out" | "$merge")));
                for entry in entries.iter().filter(|entry| entry.name() == Some("$lookup")) {
                    let fields = self.values.document(&entry.value, at).unwrap_or_default();
                    let from = fields.into_iter().find(|field| field.is("from"));
                    joined
                        .extend(from.and_then(|field| self.values.text(field.value, field.scope)));
                }
            });
        }
        if !writes {
            let place = self.place(at, scope);
            let joined = joined.into_iter().collect();
            self.out.code.pipelines.push(Pipeline { place, collection, joined });
        }
    }

    /// The collections that a transaction writes: those of the function it receives, or of the enclosing one.
    fn transaction(&mut self, call: &'u Call<'t>, at: usize, scope: ScopeId) {
        let unit = self.values.unit;
        let given = call.args.iter().find_map(|arg| match arg.value.kind {
            Kind::Function(id) => Some(id),
            _ => None,
        });
        let Some(within) = given.or_else(|| unit.function(scope).map(|(id, _)| id)) else { return };
        let mut collections = BTreeSet::new();
        unit.each(|inner, expr| {
            if let Some(call) = expr.call()
                && unit.is_in(inner, within)
                && call.method().is_some_and(|method| WRITES.contains(&method) || method == "save")
                && let Some(target) = call.receiver().and_then(|of| self.values.target(of, inner))
            {
                collections.insert(target.collection);
            }
        });
        if !collections.is_empty() {
            let place = self.place(at, scope);
            let collections = collections.into_iter().collect();
            self.out.code.transactions.push(Transaction { place, collections });
        }
    }

    fn name(
        &mut self,
        call: &'u Call<'t>,
        method: &str,
        scope: ScopeId,
        named: &mut BTreeSet<(Option<String>, String)>,
    ) {
        let Some(target) = call.receiver().and_then(|of| self.values.target(of, scope)) else {
            return;
        };
        if target.is_model {
            return;
        }
        let key = (target.database.clone(), target.collection.clone());
        let written = WRITES.contains(&method);
        if !named.insert(key) && !written {
            return;
        }
        let place = self.place(call.callee.at, scope);
        if let Some(database) = &target.database {
            self.out.code.names.push(CodeName {
                place: place.clone(),
                kind: NameKind::Database,
                database: None,
                name: database.clone(),
                written,
                is_literal: false,
                in_script: false,
            });
        }
        self.out.code.names.push(CodeName {
            place,
            kind: NameKind::Collection,
            database: target.database,
            name: target.collection,
            written,
            // `db.users` of the shell.
            is_literal: self.values.is_shell
                && matches!(call.receiver().map(|of| &of.kind), Some(Kind::Member(of, _)) if matches!(of.kind, Kind::Name("db"))),
            in_script: false,
        });
    }

    /// Returns the positions of objects that are parts of a document: elements of arrays and objects within others.
    /// Their `_id` is not a key of a collection.
    fn elements(&self) -> BTreeSet<usize> {
        let unit = self.values.unit;
        let mut found = BTreeSet::new();
        let mut add = |expr: &'u Expr<'t>| {
            expr.visit(&mut |inner| {
                if matches!(inner.kind, Kind::Object(_)) {
                    found.insert(inner.at);
                }
            });
        };
        unit.each(|scope, expr| match &expr.kind {
            Kind::Object(entries) => {
                // `$push: {items: item}` with an `item` that was created before.
                let pushed = entries.iter().filter(|entry| {
                    matches!(entry.name(), Some("$push" | "$addToSet" | "$each" | "$concatArrays"))
                });
                for entry in pushed {
                    let mut named = Vec::new();
                    entry.value.visit(&mut |inner| {
                        if matches!(inner.kind, Kind::Name(_)) {
                            named.push(inner);
                        }
                    });
                    named.into_iter().for_each(|name| add(self.values.follow(name, scope).0));
                }
                let within = entries.iter().filter(|entry| match &entry.key {
                    Key::Text(name) => !HOLDS_DOCUMENT.contains(&name.as_ref()),
                    Key::Computed(_) => true,
                    Key::Spread => false,
                });
                within.for_each(|entry| add(&entry.value));
            }
            Kind::Call(call) if call.method().is_some_and(|m| ADDS_ELEMENT.contains(&m)) => {
                call.args.iter().for_each(|arg| add(&arg.value));
            }
            _ => {}
        });
        // `user.items = [{_id: …}]`.
        for statement in &unit.statements {
            if let StatementKind::Assign { target, value, .. } = &statement.kind
                && matches!(target.kind, Kind::Member(..) | Kind::Index(..))
                && matches!(value.kind, Kind::List(_))
            {
                add(value);
            }
        }
        found
    }

    /// Whether an object is only sent to the client, `res.json({_id: uuidv4()})`, or kept in memory. A variable
    /// without any other use also counts.
    fn is_only_answered(&self, object: &Expr<'t>, scope: ScopeId) -> bool {
        let unit = self.values.unit;
        let answers = |call: &Call<'t>| {
            let of = call.receiver().and_then(base_name);
            matches!(call.method(), Some("json" | "send" | "jsonify" | "render" | "JSON"))
                && matches!(of, None | Some("res" | "response" | "ctx" | "c" | "reply"))
        };
        let is_within = |expr: &Expr<'t>| expr.at <= object.at && object.end <= expr.end;
        let variable = unit.statements.iter().find_map(|statement| match &statement.kind {
            StatementKind::Assign { target, value, .. } if value.at == object.at => {
                match target.kind {
                    Kind::Name(name) => Some(name),
                    _ => None,
                }
            }
            _ => None,
        });
        let function = self.outer_function(scope);
        let (mut answered, mut used) = (false, false);
        unit.each(|at, expr| {
            let Some(call) = expr.call() else { return };
            let is_given = call.args.iter().any(|arg| {
                let is_named = variable.is_some_and(|variable| {
                    self.outer_function(at) == function && mentions_path(&arg.value, variable)
                });
                is_within(&arg.value) || is_named
            });
            // The function is an argument of the call that registers it: `router.get('/', (req, res) => …)`.
            let holds =
                unit.scopes[function].at >= expr.at && unit.scopes[function].end <= expr.end;
            if is_given && !(holds && function != 0) {
                match answers(call) || self.is_kept_in_memory(call) {
                    true => answered = true,
                    false => used = true,
                }
            }
        });
        answered && !used
    }

    /// `STORE.append(event)` of a list from which the file stores nothing.
    fn is_kept_in_memory(&self, call: &Call<'t>) -> bool {
        let adds = matches!(call.method(), Some("append" | "push" | "add"));
        let list = call.receiver().and_then(base_name).filter(|_| adds);
        list.is_some_and(|list| {
            let stores = |line: &str| line.to_ascii_lowercase().contains("insert");
            !self.text.lines().any(|line| stores(line) && line.contains(list))
        })
    }

    /// `{_id: uuidv4()}`, `{"_id": str(uuid.uuid4())}`, and defaults of models.
    fn random_id(&mut self, object: &'u Expr<'t>, scope: ScopeId) {
        let Kind::Object(entries) = &object.kind else { return };
        for entry in entries.iter().filter(|entry| entry.name() == Some("_id")) {
            let mut made_by = None;
            entry.value.visit(&mut |expr| {
                let name = match &expr.kind {
                    Kind::Call(call) => call.method(),
                    Kind::Name(name) => Some(*name),
                    _ => None,
                };
                if let Some(name) = name {
                    let lower = name.to_ascii_lowercase();
                    let from_uuid = self
                        .values
                        .unit
                        .import(name)
                        .is_some_and(|import| import.module == "uuid" && import.name == "v4");
                    if from_uuid
                        || matches!(lower.as_str(), "uuid4" | "uuidv4" | "randomuuid" | "nanoid")
                    {
                        made_by = Some(name.to_owned());
                    }
                }
            });
            // `nanoid(7)`: short on purpose, for people who read and type it.
            let is_short = entry.value.call().is_some_and(|call| {
                call.method() == Some("nanoid") && call.positional(0).is_some()
            });
            if let Some(made_by) = made_by.filter(|_| !is_short) {
                let place = self.place(entry.at, scope);
                self.out.code.fields.push(DeclaredField {
                    place,
                    model: String::new(),
                    collection: None,
                    path: "_id".to_owned(),
                    types: Vec::new(),
                    annotations: Vec::new(),
                    allowed: Vec::new(),
                    made_by: Some(made_by),
                    generated: false,
                    max_items: None,
                    is_stored: true,
                });
            }
        }
    }
}

/// Whether a call writes a message for people: `console.log`, `logger.info`, `fmt.Println`, `print`.
fn is_log(call: &Call<'_>) -> bool {
    match call.receiver().and_then(base_name) {
        Some(of) => matches!(of, "console" | "log" | "logger" | "logging" | "fmt"),
        None => call.method() == Some("print"),
    }
}

/// Whether two calls have the same position.
pub(super) fn is_same(one: &Call<'_>, other: &Call<'_>) -> bool {
    (one.callee.at, one.callee.end) == (other.callee.at, other.callee.end)
}

/// An expression without its wrapper: `await x`, `(x)`.
fn bare<'e, 't>(expr: &'e Expr<'t>) -> &'e Expr<'t> {
    match &expr.kind {
        Kind::Other(items) if items.len() == 1 => bare(&items[0]),
        _ => expr,
    }
}

/// The name that is assigned to; of several, as in Go, the first.
fn first_name<'t>(target: &Expr<'t>) -> Option<&'t str> {
    match &target.kind {
        Kind::Name(name) => Some(name),
        Kind::List(items) | Kind::Other(items) => first_name(items.first()?),
        _ => None,
    }
}

/// Whether a condition tests only whether a number is 0, alone or together with other conditions.
fn is_truth_of<'t>(condition: &Expr<'t>, is_number: &dyn Fn(&Expr<'t>) -> bool) -> bool {
    match &condition.kind {
        Kind::Binary("&&" | "||" | "and" | "or", left, right) => {
            is_truth_of(left, is_number) || is_truth_of(right, is_number)
        }
        // `!count`, `(count)`.
        Kind::Other(items) if items.len() == 1 => is_truth_of(&items[0], is_number),
        _ => is_number(condition),
    }
}

/// The name that a chain begins with: `res` of `res.status(200)`.
fn base_name<'t>(expr: &Expr<'t>) -> Option<&'t str> {
    match &expr.kind {
        Kind::Name(name) => Some(name),
        Kind::Member(of, _) => base_name(of),
        Kind::Call(call) => base_name(call.receiver()?),
        _ => None,
    }
}
