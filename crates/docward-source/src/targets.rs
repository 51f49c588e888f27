//! The collection that a statement uses.

use super::{
    ir::{Call, Expr, Kind, ScopeId},
    methods::is_of_mongodb,
    secrets::is_address,
    values::{Values, stem},
};

/// A collection, as code names it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Target {
    pub(crate) database: Option<String>,
    /// The collection's name, or the model's.
    pub(crate) collection: String,
    /// Whether it is a model of an object mapper.
    pub(crate) is_model: bool,
}

const MAX_STEPS: u32 = 8;

/// Methods that lead from a database to a collection.
pub(super) const COLLECTION_METHODS: [&str; 9] = [
    "collection",
    "getCollection",
    "get_collection",
    "Collection",
    "C",
    "GetCollection",
    "getSiblingCollection",
    "selectCollection",
    "with_options",
];
/// Methods that lead from a client to a database.
pub(super) const DATABASE_METHODS: [&str; 10] = [
    "db",
    "getDatabase",
    "GetDatabase",
    "get_database",
    "Database",
    "DB",
    "getSiblingDB",
    "getDB",
    "get_default_database",
    "selectDatabase",
];
/// Names of variables that hold a database.
const DATABASE_NAMES: [&str; 8] =
    ["db", "database", "mongo_db", "mongodb", "mydb", "_db", "mdb", "_database"];

impl<'u, 't> Values<'u, 't> {
    /// The collection that a method is called on.
    pub(crate) fn target(&self, expr: &'u Expr<'t>, scope: ScopeId) -> Option<Target> {
        self.target_at(expr, scope, 0)
    }

    fn target_at(&self, expr: &'u Expr<'t>, scope: ScopeId, steps: u32) -> Option<Target> {
        if steps > MAX_STEPS {
            return None;
        }
        // `User` is the model, regardless of what it was assigned from.
        let model = match &expr.kind {
            Kind::Name(name) if self.known.models.contains_key(*name) => Some(*name),
            Kind::Name(name) => {
                self.model_of_file(expr).or_else(|| self.exported_model(expr)).or_else(|| {
                    (self.local_model(expr, scope) || self.imported_model(name)).then_some(*name)
                })
            }
            Kind::Member(..) => self.exported_model(expr),
            _ => None,
        };
        if let Some(model) = model {
            let collection = self.known.collection_of(model);
            return Some(Target { database: None, collection, is_model: true });
        }
        if let Kind::Member(of, name) = &expr.kind {
            // `this.userModel`, `self.users`, `mongo.db.users`, `db.users`.
            if self.is_database(of, scope, 0) && !DATABASE_METHODS.contains(name) {
                let database = self.database(of, scope, 0);
                return Some(Target { database, collection: (*name).to_owned(), is_model: false });
            }
        }
        let (next, at) = self.follow(expr, scope);
        if !std::ptr::eq(next, expr) {
            return self.target_at(next, at, steps + 1);
        }
        match &expr.kind {
            Kind::Index(of, name) if self.is_database(of, scope, 0) => Some(Target {
                database: self.database(of, scope, 0),
                collection: self.plain_name(name, scope)?,
                is_model: false,
            }),
            Kind::Call(call) => {
                let method = call.method()?;
                let named = (self.unit.language.dialect().collection)(self, call, scope);
                if let Some((database, collection)) = named {
                    return Some(Target { database, collection, is_model: false });
                }
                if COLLECTION_METHODS.contains(&method) {
                    let name =
                        call.args.iter().find_map(|arg| self.plain_name(&arg.value, scope))?;
                    let database = call.receiver().and_then(|of| self.database(of, scope, 0));
                    return Some(Target { database, collection: name, is_model: false });
                }
                // `mongoose.model('User')`, `Model.find(…).sort(…)`.
                if method == "model" {
                    let name = self.plain_name(call.positional(0)?, scope)?;
                    return Some(Target {
                        database: None,
                        collection: self.known.collection_of(&name),
                        is_model: true,
                    });
                }
                None
            }
            Kind::Member(_, name) => {
                // `this.userModel` injected by Nest, `this.users`.
                let model = name.strip_suffix("Model").filter(|stem| !stem.is_empty())?;
                let mut capital = model.to_owned();
                if let Some(first) = capital.get_mut(0..1) {
                    first.make_ascii_uppercase();
                }
                let known = self.known.models.contains_key(&capital);
                let model = known.then_some(capital).or_else(|| self.injected(name, scope))?;
                Some(Target {
                    database: None,
                    collection: self.known.collection_of(&model),
                    is_model: true,
                })
            }
            _ => None,
        }
    }

    /// A name that may be shown: a connection string in place of a name is not shown.
    fn plain_name(&self, expr: &'u Expr<'t>, scope: ScopeId) -> Option<String> {
        self.text(expr, scope).filter(|text| !is_address(text))
    }

    /// Returns the module of an expression: an imported name, or `require('…')` itself.
    pub(super) fn module_of(&self, expr: &Expr<'t>) -> Option<String> {
        match &expr.kind {
            Kind::Name(name) => {
                let import = self.unit.import(name)?;
                matches!(import.name, "" | "default").then(|| import.module.to_string())
            }
            Kind::Call(call) if call.method() == Some("require") => {
                call.positional(0)?.text().map(|module| module.into_owned())
            }
            _ => None,
        }
    }

    /// `const User = require('../models/user')`.
    fn imported_model(&self, name: &str) -> bool {
        self.unit.language.dialect().names_imported_files
            && name.starts_with(char::is_uppercase)
            && self.unit.import(name).is_some_and(|import| {
                let module = import.module.to_ascii_lowercase();
                module.starts_with('.') && module.contains("model")
            })
    }

    /// The model of a file that declares only one, under the name of the import:
    /// `const customersModel = require('../models/Customer')`.
    fn model_of_file(&self, expr: &Expr<'t>) -> Option<&'u str> {
        let Kind::Name(name) = &expr.kind else { return None };
        let is_named = self.unit.language.dialect().names_imported_files;
        let import = self.unit.import(name).filter(|_| is_named)?;
        let is_whole = matches!(import.name, "" | "default") && import.module.starts_with('.');
        let is_model = import.module.to_ascii_lowercase().contains("model");
        let stem = stem(&import.module);
        self.known.model_files.get(&stem).filter(|_| is_whole && is_model)?.as_deref()
    }

    /// The model that another file exports under a name: `db.users` with `const db = require('./model')`, `users` with
    /// `const {users} = require('./model')`.
    fn exported_model(&self, expr: &Expr<'t>) -> Option<&'u str> {
        let (module, name) = match &expr.kind {
            Kind::Member(of, name) => (self.module_of(of)?, *name),
            Kind::Name(local) => {
                let import = self.unit.import(local)?;
                (import.module.to_string(), import.name)
            }
            _ => return None,
        };
        let key = (stem(&module), name.to_owned());
        self.known.exported.get(&key).filter(|_| module.starts_with('.'))?.as_deref()
    }

    /// `const User = mongoose.model(…)` in this file.
    fn local_model(&self, expr: &'u Expr<'t>, scope: ScopeId) -> bool {
        let (value, _) = self.follow(expr, scope);
        value.call().is_some_and(|call| {
            call.method() == Some("model")
                && call
                    .receiver()
                    .and_then(Expr::last_name)
                    .is_some_and(|of| matches!(of, "mongoose" | "connection" | "conn" | "db"))
        })
    }

    /// Whether an expression is a database.
    pub(super) fn is_database(&self, expr: &'u Expr<'t>, scope: ScopeId, steps: u32) -> bool {
        if steps > MAX_STEPS {
            return false;
        }
        let by_name = expr.last_name().is_some_and(|name| DATABASE_NAMES.contains(&name));
        let (next, at) = self.follow(expr, scope);
        if !std::ptr::eq(next, expr) {
            // Use the name of the variable, unless its value shows something else.
            return match &next.kind {
                Kind::Call(_) | Kind::Index(..) | Kind::Member(..) => {
                    self.is_database(next, at, steps + 1) || (by_name && self.has_databases())
                }
                _ => false,
            };
        }
        match &expr.kind {
            Kind::Call(call) => {
                call.method().is_some_and(|method| DATABASE_METHODS.contains(&method))
            }
            // `client["shop"]`, `client.shop`.
            Kind::Index(of, _) | Kind::Member(of, _) if self.is_client(of, scope) => true,
            Kind::Name(_) | Kind::Member(..) => by_name && self.has_databases(),
            _ => false,
        }
    }

    /// The database's name, if it is a literal.
    fn database(&self, expr: &'u Expr<'t>, scope: ScopeId, steps: u32) -> Option<String> {
        if steps > MAX_STEPS {
            return None;
        }
        let (expr, scope) = self.follow(expr, scope);
        match &expr.kind {
            Kind::Call(call) if DATABASE_METHODS.contains(&call.method()?) => {
                call.args.iter().find_map(|arg| self.plain_name(&arg.value, scope))
            }
            Kind::Index(of, name) if self.is_client(of, scope) => self.plain_name(name, scope),
            Kind::Member(of, name) if self.is_client(of, scope) => Some((*name).to_owned()),
            _ => None,
        }
    }

    /// Whether an expression is a client.
    pub(crate) fn is_client(&self, expr: &'u Expr<'t>, scope: ScopeId) -> bool {
        let (value, _) = self.follow(expr, scope);
        match &value.kind {
            Kind::Call(call) => (self.unit.language.dialect().is_client)(self.unit, call),
            _ => false,
        }
    }

    /// Whether a `db` in the file is a database of MongoDB: others have no such methods, and no cursors with `toArray`.
    fn has_databases(&self) -> bool {
        let calls_methods = || {
            let mut found = false;
            self.unit.each(|_, expr| {
                let call = expr.call();
                found |= call.and_then(Call::method).is_some_and(is_of_mongodb);
                let call = call.filter(|call| call.method() == Some("toArray"));
                let mut next = call.and_then(Call::receiver);
                while let Some(before) = next.and_then(Expr::call) {
                    found |= matches!(before.method(), Some("find" | "aggregate"));
                    next = before.receiver();
                }
            });
            found
        };
        self.is_mongo_file() || *self.has_methods.get_or_init(calls_methods)
    }

    /// Whether the file uses MongoDB, so that a `db` is probably a database of MongoDB.
    pub(crate) fn is_mongo_file(&self) -> bool {
        let by_import = self.unit.imports.iter().any(|import| {
            let module = import.module.to_ascii_lowercase();
            ["mongo", "motor", "bson", "beanie", "mgo", "monk"].iter().any(|m| module.contains(m))
        });
        by_import || self.is_shell
    }
}
