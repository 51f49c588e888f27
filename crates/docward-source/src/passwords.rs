//! Passwords that code passes separately from a connection string: options of clients, credentials, settings objects.

use docward_model::code::{CodeSecret, Placeholder, SecretKind};

use super::{
    Language, Scan,
    ir::{Call, Expr, Kind, ScopeId, StatementKind},
    secrets::{is_local, is_secret, is_word, mark},
};

/// A password in code.
struct Given<'u, 't> {
    value: &'u Expr<'t>,
    scope: ScopeId,
    /// The setting that contains the password: `auth.password`.
    shown: &'static str,
    /// Whether the host is this machine, if it is known.
    local: Option<bool>,
}

impl<'u, 't> Scan<'u, 't> {
    /// Collects passwords that are passed separately from connection strings.
    pub(super) fn passwords(&mut self) {
        let mut given = Vec::new();
        self.values.unit.each(|scope, expr| match &expr.kind {
            Kind::Call(call) => match self.values.unit.language {
                language @ (Language::Php | Language::CSharp) => {
                    let found = (language.dialect().password)(&self.values, call, scope);
                    given.extend(found.map(|(value, shown)| Given {
                        value,
                        scope,
                        shown,
                        local: None,
                    }));
                }
                Language::Python => self.given_in_python(call, scope, &mut given),
                language if language.is_script() => self.given_in_script(call, scope, &mut given),
                Language::Go => self.given_in_go(call, scope, &mut given),
                _ => self.given_on_jvm(call, scope, &mut given),
            },
            Kind::Object(entries) => {
                for entry in entries {
                    self.given_in_settings(entry.name(), &entry.value, scope, &mut given);
                }
            }
            _ => {}
        });
        for statement in &self.values.unit.statements {
            if let StatementKind::Assign { target, value, .. } = &statement.kind {
                self.given_in_settings(target.last_name(), value, statement.scope, &mut given);
            }
        }
        // If all clients of the file connect to this machine, its passwords are also for this machine.
        let hosts = || self.out.clients.iter().flat_map(|client| &client.hosts);
        let only_local = hosts().next().is_some()
            && hosts().all(|host| is_local(host))
            && !self.out.clients.iter().any(|client| client.srv);
        let mut secrets = Vec::new();
        for Given { value, scope, shown, local } in given {
            let folded = self.values.fold(value, scope);
            let Some(text) = folded.whole().filter(|text| is_secret(text)) else { continue };
            secrets.push(CodeSecret {
                place: self.place(value.at, scope),
                kind: SecretKind::Password,
                mark: mark(&text),
                shown: format!("{shown}=*****"),
                fallback: folded.fallback,
                local: local.unwrap_or(only_local),
                in_remark: false,
                in_sample: self.is_sample,
                in_prose: false,
                literal: None,
                placeholder: is_word(&text).then_some(Placeholder::Password),
            });
        }
        for secret in secrets {
            if !self.out.code.secrets.iter().any(|had| had.place == secret.place) {
                self.out.code.secrets.push(secret);
            }
        }
    }

    /// `MongoClient(host, password="…")`, `connect(db, password="…")` of MongoEngine,
    /// `db.authenticate(user, "…")`.
    fn given_in_python(&self, call: &'u Call<'t>, scope: ScopeId, out: &mut Vec<Given<'u, 't>>) {
        let value = match call.method() {
            Some(
                "MongoClient" | "AsyncIOMotorClient" | "AsyncMongoClient" | "MotorClient"
                | "createCredential",
            ) => call.named("password"),
            Some("connect" | "register_connection")
                if self.values.unit.imports_from("mongoengine") =>
            {
                call.named("password")
            }
            Some("authenticate") if self.values.is_mongo_file() && call.args.len() > 1 => {
                call.named("password").or_else(|| call.positional(1))
            }
            _ => None,
        };
        let host = call.named("host").or(call.positional(0));
        let local = host
            .and_then(|host| self.values.text(host, scope))
            .filter(|host| !host.contains("://"))
            .map(|host| is_local(&host));
        out.extend(value.map(|value| Given { value, scope, shown: "password", local }));
    }

    /// `new MongoClient(uri, {auth: {username, password: "…"}})`, `mongoose.connect(uri, {user, pass: "…"})`.
    fn given_in_script(&self, call: &'u Call<'t>, scope: ScopeId, out: &mut Vec<Given<'u, 't>>) {
        let is_client = matches!(
            call.method(),
            Some("MongoClient" | "connect" | "createConnection" | "forRoot" | "connectAsync")
        ) && (self.values.is_mongo_file() || self.values.is_mapper_file());
        let options = call.positional(1).filter(|_| is_client);
        let fields = options.and_then(|options| self.values.document(options, scope));
        for field in fields.unwrap_or_default() {
            match field.name.as_deref() {
                Some("auth") => {
                    let inner = self.values.document(field.value, field.scope).unwrap_or_default();
                    let password = inner.iter().find(|f| f.is("password") || f.is("pass"));
                    out.extend(password.map(|field| Given {
                        value: field.value,
                        scope: field.scope,
                        shown: "auth.password",
                        local: None,
                    }));
                }
                Some("pass") => out.push(Given {
                    value: field.value,
                    scope: field.scope,
                    shown: "pass",
                    local: None,
                }),
                _ => {}
            }
        }
    }

    /// `SetAuth(options.Credential{Password: "…"})`, `mgo.DialWithInfo(&mgo.DialInfo{Password: "…"})`.
    fn given_in_go(&self, call: &'u Call<'t>, scope: ScopeId, out: &mut Vec<Given<'u, 't>>) {
        if !matches!(call.method(), Some("SetAuth" | "DialWithInfo" | "Login")) {
            return;
        }
        let fields = call.positional(0).and_then(|arg| self.values.document(arg, scope));
        let password = fields.unwrap_or_default().into_iter().find(|field| field.is("Password"));
        out.extend(password.map(|field| Given {
            value: field.value,
            scope: field.scope,
            shown: "Password",
            local: None,
        }));
    }

    /// `MongoCredential.createCredential(user, database, "…".toCharArray())`.
    fn given_on_jvm(&self, call: &'u Call<'t>, scope: ScopeId, out: &mut Vec<Given<'u, 't>>) {
        let makes = call
            .method()
            .is_some_and(|method| method.starts_with("create") && method.ends_with("Credential"));
        let Some(password) = call.positional(2).filter(|_| makes) else { return };
        let (password, scope) = self.values.follow(password, scope);
        let characters = password.call().filter(|inner| inner.method() == Some("toCharArray"));
        let value = characters.and_then(Call::receiver).unwrap_or(password);
        out.push(Given { value, scope, shown: "password", local: None });
    }

    /// Settings that are code: `MONGO = {"host": "…", "password": "…"}`, `mongodb: {host: "…", password: "…"}`.
    fn given_in_settings(
        &self,
        name: Option<&str>,
        value: &'u Expr<'t>,
        scope: ScopeId,
        out: &mut Vec<Given<'u, 't>>,
    ) {
        let says_mongo = |word: &String| word.to_lowercase().starts_with("mongo");
        let about =
            name.is_some_and(|name| docward_model::words::split(name).iter().any(says_mongo));
        let Kind::Object(inner) = &value.kind else { return };
        let has = |names: &[&str]| {
            inner.iter().any(|e| e.name().is_some_and(|name| names.contains(&name)))
        };
        if !about || !has(&["host", "hosts", "server", "url", "uri", "user", "username"]) {
            return;
        }
        let host = inner.iter().find(|e| matches!(e.name(), Some("host" | "server")));
        let local =
            host.and_then(|host| self.values.text(&host.value, scope)).map(|host| is_local(&host));
        for entry in inner {
            if matches!(entry.name(), Some("password" | "pass" | "pwd" | "passwd")) {
                out.push(Given { value: &entry.value, scope, shown: "password", local });
            }
        }
    }
}
