//! Statements that read documents: the calls that are queries of MongoDB, and the sources of lists.
//!
//! Names are followed to their values. A call that only looks like a query is marked as not proven.

mod chains;
mod filters;
mod in_loop;
mod lists;
mod numbers;
mod skips;
mod sources;

use std::collections::{BTreeMap, BTreeSet};

use docward_model::code::Queries;

use super::{
    Language, Scan, handlers,
    ir::{Call, Expr, Kind, ScopeId, ScopeKind, StatementKind},
};
pub(super) use in_loop::Askers;

/// The kind of result of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reads {
    /// One document.
    One,
    /// A list of documents, or a cursor.
    Many,
    /// A number.
    Number,
}

/// A call that reads documents.
pub(super) struct Query {
    /// The collection or model, if known.
    pub(super) collection: Option<String>,
    pub(super) reads: Reads,
    /// Whether bindings prove that the call is a query of MongoDB.
    pub(super) is_proven: bool,
}

/// Methods that read documents, and whether only drivers and mappers of MongoDB have a method of that name.
const METHODS: [(&str, Reads, bool); 20] = [
    ("findOne", Reads::One, true),
    ("find_one", Reads::One, true),
    ("FindOne", Reads::One, true),
    ("findById", Reads::One, true),
    ("find_one_or_404", Reads::One, true),
    ("find", Reads::Many, false),
    ("Find", Reads::Many, false),
    ("findAll", Reads::Many, false),
    ("find_all", Reads::Many, false),
    ("find_many", Reads::Many, false),
    ("aggregate", Reads::Many, true),
    ("Aggregate", Reads::Many, false),
    ("distinct", Reads::Many, false),
    ("Distinct", Reads::Many, false),
    ("countDocuments", Reads::Number, true),
    ("count_documents", Reads::Number, true),
    ("CountDocuments", Reads::Number, true),
    ("count", Reads::Number, false),
    ("Count", Reads::Number, false),
    ("exists", Reads::One, false),
];
/// Methods of queries of MongoEngine and of models of Laravel, after the call that starts the query.
const OF_BUILDER: [(&str, Reads); 13] = [
    ("get", Reads::Many),
    ("all", Reads::Many),
    ("filter", Reads::Many),
    ("order_by", Reads::Many),
    ("paginate", Reads::Many),
    ("pluck", Reads::Many),
    ("first", Reads::One),
    ("find", Reads::One),
    ("findOrFail", Reads::One),
    ("firstOrFail", Reads::One),
    ("get_or_404", Reads::One),
    ("first_or_404", Reads::One),
    ("count", Reads::Number),
];
/// Other libraries whose models and tables have methods of these names.
const OTHER_LIBRARIES: [&str; 11] = [
    "sequelize",
    "typeorm",
    "objection",
    "bookshelf",
    "prisma",
    "knex",
    "mikro-orm",
    "lowdb",
    "firebase",
    "firestore",
    "sqlalchemy",
];
/// Entries of queries of Sequelize and TypeORM, which MongoDB does not have.
const OF_SQL: [&str; 4] = ["where", "include", "attributes", "relations"];
/// Suffixes of names that hold an object of the project and not a collection.
const OF_PROJECT: [&str; 6] = ["service", "controller", "api", "store", "manager", "client"];

/// The calls of a file.
pub(super) struct Reading<'u, 't> {
    calls: Vec<(ScopeId, &'u Expr<'t>)>,
    /// Functions that are passed to a call, with that call.
    callbacks: BTreeMap<ScopeId, (ScopeId, &'u Expr<'t>)>,
    /// Functions with a name, by their name.
    functions: BTreeMap<&'t str, Vec<ScopeId>>,
    /// The loops over lists.
    loops: Vec<in_loop::Loop<'u, 't>>,
}

impl<'u, 't> Scan<'u, 't> {
    /// Collects all facts about queries.
    pub(super) fn queries(&mut self) {
        let reading = self.reading();
        let chains = self.chains(reading);
        let found = Queries {
            in_loops: self.in_loops(reading),
            lists: self.lists(reading, &chains),
            skips: self.skips(reading),
            next_numbers: self.next_numbers(reading, &chains),
            filters: self.filters(reading),
            grown: self.grown(reading),
            requested: self.requested(reading),
        };
        self.out.code.queries = found;
    }

    fn reading(&self) -> &Reading<'u, 't> {
        self.reading.get_or_init(|| self.read_calls())
    }

    fn read_calls(&self) -> Reading<'u, 't> {
        let unit = self.values.unit;
        let mut calls = Vec::new();
        let mut callbacks = BTreeMap::new();
        let mut functions: BTreeMap<&'t str, Vec<ScopeId>> = BTreeMap::new();
        unit.each(|scope, expr| {
            let Some(call) = expr.call() else { return };
            calls.push((scope, expr));
            for arg in &call.args {
                if let Kind::Function(id) = arg.value.kind {
                    callbacks.insert(id, (scope, expr));
                }
            }
        });
        for (id, scope) in unit.scopes.iter().enumerate() {
            if let ScopeKind::Function(function) = &scope.kind
                && !function.name.is_empty()
            {
                functions.entry(function.name).or_default().push(id);
            }
        }
        let mut reading = Reading { calls, callbacks, functions, loops: Vec::new() };
        reading.loops = self.loops(&reading);
        reading
    }

    /// Functions that request handlers call, and functions that are registered for a path.
    fn requested(&self, reading: &Reading<'u, 't>) -> BTreeSet<String> {
        let unit = self.values.unit;
        let mut found = BTreeSet::new();
        for (scope, expr) in &reading.calls {
            let Some(call) = expr.call() else { continue };
            if handlers::handler_around(unit, *scope, self.within).is_some() {
                found.extend(call.method());
            }
            if call.callee.path().is_some_and(|path| (unit.language.dialect().is_route)(&path)) {
                found.extend(call.args.iter().filter_map(|arg| arg.value.last_name()));
            }
        }
        found.into_iter().map(str::to_owned).collect()
    }

    /// The query that a call sends.
    pub(super) fn query(&self, expr: &'u Expr<'t>, scope: ScopeId) -> Option<Query> {
        let call = expr.call()?;
        let (method, of) = (call.method()?, call.receiver()?);
        let unit = self.values.unit;
        if let Some(query) = self.query_of_builder(call, scope) {
            return Some(query);
        }
        let known = METHODS.iter().find(|(name, ..)| *name == method);
        let (reads, is_telling) = match known {
            Some((_, reads, is_telling)) => (*reads, *is_telling),
            None if unit.language.is_jvm() && method.starts_with("findBy") => (Reads::Many, false),
            None if unit.language.is_jvm() && method.starts_with("findAllBy") => {
                (Reads::Many, false)
            }
            None => return None,
        };
        let is_other = OTHER_LIBRARIES.iter().any(|library| unit.imports_from(library))
            || self.has_entry_of_sql(call, scope);
        if is_other {
            return None;
        }
        if let Some(target) = self.values.target(of, scope) {
            let is_proven = !target.is_model
                || self.is_model_of_project(&target.collection)
                || unit.imports_from("mongoose");
            // `User::find($id)` of Laravel.
            let is_by_id = unit.language == Language::Php && target.is_model && method == "find";
            let reads = if is_by_id { Reads::One } else { reads };
            return Some(Query { collection: Some(target.collection), reads, is_proven });
        }
        // `db[name].find(filter)`.
        if let Kind::Index(base, _) = &of.kind
            && self.values.is_database(base, scope, 0)
        {
            return Some(Query { collection: None, reads, is_proven: true });
        }
        let is_proven = match unit.language {
            language if language.is_jvm() => {
                let path = of.path()?.to_ascii_lowercase();
                let is_repository = path.contains("repo") || path.ends_with("dao");
                let is_template = path.ends_with("template") || path.ends_with("operations");
                let is_own = (is_repository || is_template) && self.values.knows_documents();
                is_own.then_some(true)?
            }
            // `collection.Find(ctx, filter)`.
            Language::Go => {
                let of_driver = unit.imports_from("mongo-driver") && call.args.len() >= 2;
                (of_driver || unit.imports_from("mgo")).then_some(true)?
            }
            Language::Python => {
                let asks = call.positional(0).is_none_or(|arg| {
                    matches!(self.values.follow(arg, scope).0.kind, Kind::Object(_))
                });
                let is_own = is_telling || (asks && reads == Reads::Many && !call.args.is_empty());
                (is_own && self.values.is_mongo_file()).then_some(true)?
            }
            language if language.is_script() => {
                let is_plain = call.positional(0).is_some_and(|arg| {
                    matches!(self.values.follow(arg, scope).0.kind, Kind::Object(_))
                });
                let is_of_project = of.last_name().is_some_and(|name| {
                    let name = name.to_ascii_lowercase();
                    OF_PROJECT.iter().any(|end| name.ends_with(end))
                });
                let in_file = self.values.is_mongo_file() || self.values.is_mapper_file();
                let of_database = matches!(&of.kind, Kind::Member(of, _)
                    if matches!(of.last_name(), Some("db" | "database")));
                let is_likely = (is_telling || is_plain) && (in_file || of_database);
                (is_likely && !is_of_project).then_some(false)?
            }
            _ => return None,
        };
        Some(Query { collection: None, reads, is_proven })
    }

    /// `User.objects(name=n)`, `User.objects.get(id=i)`, `User.get(i)` of Beanie, `User::where('a', 1)->first()`.
    fn query_of_builder(&self, call: &'u Call<'t>, scope: ScopeId) -> Option<Query> {
        let (method, of) = (call.method()?, call.receiver()?);
        let known = |name: &str| self.values.known.models.contains_key(name);
        let of_model = |name: &str, reads| {
            let collection = Some(self.values.known.collection_of(name));
            Some(Query { collection, reads, is_proven: true })
        };
        let reads = || OF_BUILDER.iter().find(|(name, _)| *name == method).map(|(_, reads)| *reads);
        match self.values.unit.language {
            Language::Python => {
                let is_objects = |expr: &Expr<'t>| match &expr.kind {
                    Kind::Member(of, "objects") => of.last_name().filter(|name| known(name)),
                    _ => None,
                };
                if method == "objects" {
                    return of_model(of.last_name().filter(|name| known(name))?, Reads::Many);
                }
                if let Kind::Name(name) = of.kind
                    && method == "get"
                    && known(name)
                {
                    return of_model(name, Reads::One);
                }
                let model = is_objects(of).or_else(|| is_objects(&of.call()?.callee))?;
                let reads = if method == "get" { Reads::One } else { reads()? };
                of_model(model, reads)
            }
            Language::Php => {
                // A class before `::` that is known to be a model.
                let Kind::Call(first) = &of.kind else {
                    let Kind::Name(name) = of.kind else { return None };
                    let begins = matches!(method, "all" | "first" | "get") && known(name);
                    return begins.then(|| of_model(name, reads()?)).flatten();
                };
                let Kind::Name(name) = chain_base(&first.callee).kind else { return None };
                (known(name) && !matches!(method, "find")).then(|| of_model(name, reads()?))?
            }
            Language::Java | Language::Kotlin if method == "first" => {
                // `users.find(eq("_id", id)).first()` is the query before it.
                let inner = self.query(of, scope)?;
                Some(Query { reads: Reads::One, ..inner })
            }
            _ => None,
        }
    }

    /// Whether a model or its collection is declared in the project.
    pub(super) fn is_model_of_project(&self, name: &str) -> bool {
        let models = &self.values.known.models;
        models.contains_key(name) || models.values().any(|collection| collection == name)
    }

    fn has_entry_of_sql(&self, call: &'u Call<'t>, scope: ScopeId) -> bool {
        self.values.unit.language.is_script()
            && call.args.iter().any(|arg| {
                let fields = self.values.document(&arg.value, scope).unwrap_or_default();
                fields.iter().any(|field| OF_SQL.iter().any(|name| field.is(name)))
            })
    }

    /// The one function of the file that a call runs: `load(id)`, `this.load(id)`, `orders.load(id)` with
    /// `orders = Orders(db)`.
    fn called_function(
        &self,
        reading: &Reading<'u, 't>,
        call: &'u Call<'t>,
        scope: ScopeId,
    ) -> Option<ScopeId> {
        let is_own = call
            .receiver()
            .is_none_or(|of| matches!(of.kind, Kind::Name("this" | "self" | "cls" | "exports")));
        let functions = reading.functions.get(call.method()?)?;
        if is_own {
            return Some(*functions.first().filter(|_| functions.len() == 1)?);
        }
        let class = self.class_of(call.receiver()?, scope)?;
        let own = |id: &&ScopeId| {
            let parent = self.values.unit.scopes[**id].parent;
            self.values.unit.class(parent).is_some_and(|(_, name)| name == class)
        };
        functions.iter().find(own).copied()
    }

    /// The class of the object in a variable: `Orders` of `orders = Orders(db)`.
    fn class_of(&self, expr: &'u Expr<'t>, scope: ScopeId) -> Option<&'t str> {
        let (made, _) = self.values.follow(expr, scope);
        match made.call()?.callee.kind {
            Kind::Name(class) if class.starts_with(char::is_uppercase) => Some(class),
            _ => None,
        }
    }

    /// The values that a function returns.
    fn returned(&self, function: ScopeId) -> impl Iterator<Item = (&'u Expr<'t>, ScopeId)> {
        let unit = self.values.unit;
        unit.statements.iter().filter_map(move |statement| match &statement.kind {
            StatementKind::Return(value) => {
                let own = unit.function(statement.scope).map(|(own, _)| own);
                (own == Some(function)).then_some((value, statement.scope))
            }
            _ => None,
        })
    }
}

/// The expression that a chain of calls and members begins with.
pub(super) fn chain_base<'e, 't>(expr: &'e Expr<'t>) -> &'e Expr<'t> {
    match &expr.kind {
        Kind::Member(of, _) => chain_base(of),
        Kind::Call(call) => chain_base(&call.callee),
        _ => expr,
    }
}

/// The names that an assignment or a pattern gives values to.
fn target_names<'t>(target: &Expr<'t>, out: &mut Vec<&'t str>) {
    match &target.kind {
        Kind::Name(name) => out.push(name),
        Kind::List(items) | Kind::Other(items) => {
            items.iter().for_each(|item| target_names(item, out));
        }
        _ => {}
    }
}
