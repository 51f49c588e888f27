//! Literal names of databases and collections in code. Names in variables are not checked, because they may come
//! from anywhere.

use docward_model::code::{CodeName, NameKind};

use super::{
    Scan,
    ir::{Arg, Call, Expr, Kind, ScopeId, ScopeKind, StatementKind},
    secrets::is_address,
    targets::{COLLECTION_METHODS, DATABASE_METHODS},
};

impl<'u, 't> Scan<'u, 't> {
    /// Finds every name.
    pub(super) fn names(&mut self) {
        let unit = self.values.unit;
        // `collection("users")` is also a call of Firestore.
        let is_mongo = self.values.is_mongo_file()
            && !["firebase", "firestore"].iter().any(|other| unit.imports_from(other));
        let is_mapper = unit.imports_from("mongoose");
        let mut found = Vec::new();
        unit.each(|scope, expr| match &expr.kind {
            Kind::Call(call) if is_mongo || is_mapper => {
                found.extend(self.called(call, is_mongo).map(|(kind, name)| (scope, kind, name)));
            }
            Kind::Index(of, name) if is_mongo => {
                if self.values.is_client(of, scope) {
                    found.push((scope, NameKind::Database, name));
                } else if self.values.is_database(of, scope, 0) {
                    found.push((scope, NameKind::Collection, name));
                }
            }
            _ => {}
        });
        found.extend(self.declared_names());
        for (scope, kind, name) in found {
            let Some(text) = name.text().filter(|text| is_name(text)) else { continue };
            // No server accepts a database with a space in its name: it is a message.
            if kind == NameKind::Database && text.contains(char::is_whitespace) {
                continue;
            }
            let place = self.place(name.at, scope);
            self.out.code.names.push(CodeName {
                place,
                kind,
                database: None,
                name: text.into_owned(),
                written: false,
                is_literal: true,
                in_script: false,
            });
        }
    }

    /// `client.db("shop")`, `db.collection("users")`, `createCollection("users")`,
    /// `mongoose.model("User", schema, "users")`, `new Schema({…}, {collection: "users"})`.
    fn called(&self, call: &'u Call<'t>, is_mongo: bool) -> Option<(NameKind, &'u Expr<'t>)> {
        let method = call.method()?;
        let of_mgo = || self.values.unit.imports_from("mgo");
        let first = || call.args.iter().map(|arg| &arg.value).find(|arg| arg.text().is_some());
        match method {
            "model" if call.positional(1).is_some() => {
                Some((NameKind::Collection, call.positional(2)?))
            }
            "Schema" => {
                let Kind::Object(entries) = &call.positional(1)?.kind else { return None };
                let entry = entries.iter().find(|entry| entry.name() == Some("collection"))?;
                Some((NameKind::Collection, &entry.value))
            }
            _ if !is_mongo || call.receiver().is_none() => None,
            "C" | "DB" if !of_mgo() => None,
            // `debug.db('connected')` writes to a log.
            "db" if call.receiver().and_then(Expr::path).is_some_and(|of| is_log(&of)) => None,
            // `mongoskin.db('host/shop')` receives an address.
            "db" if self.is_of_mongoskin(call) => None,
            "createCollection" | "create_collection" | "CreateCollection" => {
                Some((NameKind::Collection, first()?))
            }
            "with_options" => None,
            _ if COLLECTION_METHODS.contains(&method) => Some((NameKind::Collection, first()?)),
            _ if DATABASE_METHODS.contains(&method) => Some((NameKind::Database, first()?)),
            _ => None,
        }
    }

    fn is_of_mongoskin(&self, call: &Call<'t>) -> bool {
        let module = call.receiver().and_then(|of| self.values.module_of(of));
        module.is_some_and(|module| module == "mongoskin")
    }

    /// `@Document("users")`, `@Schema({collection: "users"})`, `meta = {"collection": "users"}` of MongoEngine,
    /// `class Settings: name = "users"` of Beanie.
    fn declared_names(&self) -> Vec<(ScopeId, NameKind, &'u Expr<'t>)> {
        let unit = self.values.unit;
        let mut found = Vec::new();
        for (id, scope) in unit.scopes.iter().enumerate() {
            let ScopeKind::Class { marks, .. } = &scope.kind else { continue };
            for mark in marks {
                let value = match mark.path.as_str() {
                    "Document" if unit.imports_from("data.mongodb") => {
                        let named = |arg: &&Arg<'t>| {
                            matches!(arg.name, None | Some("collection" | "value"))
                        };
                        mark.args.iter().find(named).map(|arg| &arg.value)
                    }
                    "Schema" if unit.imports_from("mongoose") => mark
                        .args
                        .first()
                        .and_then(|arg| match &arg.value.kind {
                            Kind::Object(entries) => {
                                entries.iter().find(|e| e.name() == Some("collection"))
                            }
                            _ => None,
                        })
                        .map(|entry| &entry.value),
                    _ => None,
                };
                found.extend(value.map(|value| (id, NameKind::Collection, value)));
            }
        }
        for statement in &unit.statements {
            let StatementKind::Assign { target, value, .. } = &statement.kind else { continue };
            let ScopeKind::Class { name: class, .. } = &unit.scopes[statement.scope].kind else {
                continue;
            };
            match (&target.kind, &value.kind) {
                (Kind::Name("meta"), Kind::Object(entries)) if unit.imports_from("mongoengine") => {
                    let entry = entries.iter().find(|entry| entry.name() == Some("collection"));
                    let value = entry.map(|entry| &entry.value);
                    found.extend(value.map(|v| (statement.scope, NameKind::Collection, v)));
                }
                (Kind::Name("name"), Kind::Text(_))
                    if *class == "Settings" && unit.imports_from("beanie") =>
                {
                    found.push((statement.scope, NameKind::Collection, value));
                }
                _ => {}
            }
        }
        found
    }
}

/// Whether an object is a log.
fn is_log(path: &str) -> bool {
    let last = path.rsplit('.').next().unwrap_or(path).to_ascii_lowercase();
    matches!(last.as_str(), "debug" | "log" | "logger" | "console" | "logging" | "winston" | "pino")
}

/// Whether a string is a name rather than a placeholder.
fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 300
        && !text.contains(['{', '#', '%', '\n'])
        && !is_address(text)
}
