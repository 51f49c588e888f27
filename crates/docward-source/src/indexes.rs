//! Indexes that code declares or creates, and the fields by which it deletes documents.

use docward_model::code::{CodeIndex, FieldQuery};

use super::{
    Scan,
    ir::{Call, Expr, Kind, ScopeId, StatementKind},
    methods::takes_filter,
};

/// Options by which documents expire, and the one of fields of Mongoose.
const EXPIRY: [&str; 6] = [
    "expireAfterSeconds",
    "ExpireAfterSeconds",
    "expireAfter",
    "ExpireAfter",
    "SetExpireAfterSeconds",
    "expire",
];
/// The part of a name by which a text declares expiry.
const WRITTEN: &str = "xpireAfter";

impl<'u, 't> Scan<'u, 't> {
    /// Finds every index.
    pub(super) fn indexes(&mut self) {
        let unit = self.values.unit;
        let mut declared = Vec::new();
        let mut deleted = Vec::new();
        let mut queries = Vec::new();
        unit.each(|scope, expr| {
            // `meta = {'indexes': [{'fields': ['seen'], 'expireAfterSeconds': 60}]}` of MongoEngine.
            if let Kind::Object(entries) = &expr.kind
                && entries.iter().any(|entry| entry.name() == Some("fields"))
            {
                declared.extend(self.index_of_document(expr, None, scope));
            }
            let Some(call) = expr.call() else { return };
            queries.extend(self.field_query(expr, call, scope));
            match call.method().unwrap_or_default() {
                "createIndex" | "create_index" | "CreateOne" | "ensureIndex" | "index"
                | "IndexModel" | "ensure_index" => {
                    declared.extend(self.index_of_call(expr, call, scope));
                }
                "createIndexes" | "create_indexes" | "CreateMany" => {
                    let lists =
                        call.args.iter().filter_map(|arg| self.values.list(&arg.value, scope));
                    let of = self.indexed(call, scope);
                    for item in lists.flatten() {
                        declared.extend(self.index_of_document(item, of.clone(), scope));
                    }
                }
                "Schema" => self.indexes_of_schema(expr, call, scope, &mut declared),
                method => {
                    let lower = method.to_ascii_lowercase();
                    if lower.contains("delete") || lower.contains("remove") {
                        self.fields_of(call, scope, &mut deleted);
                    }
                }
            }
        });
        for method in self.text.split(|c: char| !c.is_alphanumeric() && c != '_') {
            // `deleteByExpiresAtBefore` of Spring Data.
            if method.starts_with("deleteBy") || method.starts_with("deleteAllBy") {
                let field = method.split_once("By").map_or("", |(_, field)| field);
                let field = field.split("Before").next().unwrap_or(field);
                let mut field = field.split("LessThan").next().unwrap_or(field).to_owned();
                if let Some(first) = field.get_mut(..1) {
                    first.make_ascii_lowercase();
                }
                deleted.push(field);
            }
        }
        let mut written = self.text.contains(WRITTEN);
        // `{type: Date, expires: 60}` of Mongoose: `expires` next to other fields is a field.
        unit.each(|_, expr| {
            let Kind::Object(entries) = &expr.kind else { return };
            let has = |name| entries.iter().any(|entry| entry.name() == Some(name));
            written |= has("expires") && has("type");
        });
        if written && !declared.iter().any(|index: &CodeIndex| index.expires) {
            self.out.code.indexes.unread_expiry.insert(self.file.to_owned());
        }
        self.out.code.indexes.declared.extend(declared);
        self.out.code.indexes.deleted_by.extend(deleted);
        self.out.code.indexes.queries.extend(queries);
    }

    /// A query whose filter is a document with known fields.
    fn field_query(
        &self,
        expr: &'u Expr<'t>,
        call: &'u Call<'t>,
        scope: ScopeId,
    ) -> Option<FieldQuery> {
        let method = call.method()?;
        let leading = self.values.unit.language.dialect().leading_arguments;
        let filter = call.positional(leading).filter(|_| takes_filter(method))?;
        let fields = self.values.document(filter, scope)?;
        let mut found = std::collections::BTreeSet::new();
        let mut add = |name: String, value: &'u Expr<'t>, at: ScopeId| {
            let operators = self.values.document(value, at).unwrap_or_default();
            let is_negation = !operators.is_empty()
                && operators.iter().all(|operator| {
                    ["$ne", "$nin", "$exists", "$not", "$regex", "$options"]
                        .iter()
                        .any(|negation| operator.is(negation))
                });
            let is_pattern = value.call().is_some_and(|c| matches!(c.method(), Some("RegExp")));
            if !is_negation && !is_pattern {
                found.insert(name);
            }
        };
        for field in fields {
            let name = field.name.filter(|name| !name.starts_with('$') && name != "_id")?;
            add(name, field.value, field.scope);
        }
        // `filter.user = id` and `filter[key] = value` after the declaration.
        if let Kind::Name(name) = filter.kind {
            for statement in &self.values.unit.statements {
                let StatementKind::Assign { target, value, .. } = &statement.kind else { continue };
                let (Kind::Member(of, _) | Kind::Index(of, _)) = &target.kind else { continue };
                if !matches!(of.kind, Kind::Name(own) if own == name)
                    || self.values.owner(statement.scope) != self.values.owner(scope)
                {
                    continue;
                }
                let path = match &target.kind {
                    Kind::Member(_, path) => (*path).to_owned(),
                    Kind::Index(_, key) => key.text()?.into_owned(),
                    _ => return None,
                };
                if path.starts_with('$') || path == "_id" {
                    return None;
                }
                add(path, value, statement.scope);
            }
        }
        let (of, is_proven) = self.target_of(expr, call, scope)?;
        let fields: Vec<String> = found.into_iter().collect();
        (is_proven && !fields.is_empty()).then_some(FieldQuery {
            place: self.place(expr.at, scope),
            of: of?,
            fields,
        })
    }

    /// `users.createIndex({email: 1}, {unique: true})`, `create_index("email")`, `schema.index({email: 1})`.
    fn index_of_call(
        &self,
        expr: &'u Expr<'t>,
        call: &'u Call<'t>,
        scope: ScopeId,
    ) -> Option<CodeIndex> {
        let leading = self.values.unit.language.dialect().leading_arguments;
        let is_model = call.method() == Some("CreateOne");
        let first = call.positional(if is_model { leading } else { 0 })?;
        if is_model {
            return self.index_of_document(first, self.indexed(call, scope), scope);
        }
        let keys = self.keys(first, scope)?;
        let mut expires =
            call.args.iter().any(|arg| arg.name.is_some_and(|name| EXPIRY.contains(&name)));
        for arg in call.args.iter().skip(1) {
            expires |= self.expires(&arg.value, scope);
        }
        let of = self.indexed(call, scope);
        Some(CodeIndex { place: self.place(expr.at, scope), of, keys, expires })
    }

    /// `{key: {email: 1}, unique: true}`, `mongo.IndexModel{Keys: …, Options: …}`, `IndexModel([("email", 1)])`.
    fn index_of_document(
        &self,
        item: &'u Expr<'t>,
        of: Option<String>,
        scope: ScopeId,
    ) -> Option<CodeIndex> {
        let (item, scope) = self.values.follow(item, scope);
        if let Some(call) = item.call() {
            // The scan finds the call itself separately, without the collection.
            return self.index_of_call(item, call, scope).map(|index| CodeIndex { of, ..index });
        }
        let fields = self.values.document(item, scope)?;
        let key = fields.iter().find(|f| f.is("key") || f.is("Keys") || f.is("fields"))?;
        let keys = self.keys(key.value, key.scope)?;
        let expires = fields.iter().any(|field| {
            field.name.as_deref().is_some_and(|name| EXPIRY.contains(&name))
                || field.is("Options") && self.expires(field.value, field.scope)
        });
        Some(CodeIndex { place: self.place(item.at, scope), of, keys, expires })
    }

    /// `email: {type: String, unique: true}` and `seen: {type: Date, expires: 3600}` of Mongoose.
    fn indexes_of_schema(
        &self,
        schema: &'u Expr<'t>,
        call: &'u Call<'t>,
        scope: ScopeId,
        out: &mut Vec<CodeIndex>,
    ) {
        let of = self.model_of_schema(schema, scope);
        let Some(fields) = call.positional(0).and_then(|arg| self.values.document(arg, scope))
        else {
            return;
        };
        for field in fields {
            let Some(name) = field.name.clone() else { continue };
            let options = self.values.document(field.value, field.scope).unwrap_or_default();
            let is_on = |value: &Expr<'t>| !matches!(value.kind, Kind::Bool(false) | Kind::Null);
            let has = |name: &str| options.iter().any(|o| o.is(name) && is_on(o.value));
            let expires = has("expires")
                || options
                    .iter()
                    .any(|option| option.is("index") && self.expires(option.value, option.scope));
            if has("type") && (expires || has("index") || has("unique")) {
                let place = self.place(field.at, scope);
                out.push(CodeIndex { place, of: of.clone(), keys: vec![name], expires });
            }
        }
    }

    /// The model of a schema: `mongoose.model('User', schema)`.
    fn model_of_schema(&self, schema: &'u Expr<'t>, scope: ScopeId) -> Option<String> {
        let mut found = None;
        self.values.unit.each(|at, expr| {
            if let Some(call) = expr.call()
                && call.method() == Some("model")
                && let (Some(name), Some(given)) = (call.positional(0), call.positional(1))
                && std::ptr::eq(
                    self.values.follow(given, at).0,
                    self.values.follow(schema, scope).0,
                )
            {
                found = self.values.text(name, at);
            }
        });
        found
    }

    /// The collection or model for which a call creates an index.
    fn indexed(&self, call: &'u Call<'t>, scope: ScopeId) -> Option<String> {
        let of = call.receiver()?;
        if call.method() == Some("index") {
            return self.model_of_schema(of, scope);
        }
        // `collection.Indexes().CreateOne(…)`.
        let of = match of.call() {
            Some(inner) if inner.method() == Some("Indexes") => inner.receiver()?,
            _ => of,
        };
        self.values.target(of, scope).map(|target| target.collection)
    }

    /// `{a: 1}`, `"a"`, `[("a", 1)]`, `["a", "-b"]`, `Indexes.ascending("a")`.
    fn keys(&self, expr: &'u Expr<'t>, scope: ScopeId) -> Option<Vec<String>> {
        if let Some(fields) = self.values.document(expr, scope) {
            return fields.into_iter().map(|field| field.name).collect();
        }
        if let Some(items) = self.values.list(expr, scope) {
            let plain = |name: String| name.trim_start_matches(['-', '+', '#', '$']).to_owned();
            let name = |item: &'u Expr<'t>| match &item.kind {
                Kind::List(pair) => self.values.text(pair.first()?, scope),
                _ => self.values.text(item, scope),
            };
            return items.iter().map(|item| name(item).map(plain)).collect();
        }
        let (value, at) = self.values.follow(expr, scope);
        if let Some(call) = value.call() {
            let texts = call.args.iter().map(|arg| self.values.text(&arg.value, at));
            return texts.collect::<Option<Vec<_>>>().filter(|keys| !keys.is_empty());
        }
        self.values.text(expr, scope).map(|name| vec![name])
    }

    /// Whether options set an expiry of documents.
    fn expires(&self, options: &'u Expr<'t>, scope: ScopeId) -> bool {
        let (value, _) = self.values.follow(options, scope);
        let mut found = false;
        value.visit(&mut |expr| match &expr.kind {
            Kind::Object(entries) => {
                found |= entries
                    .iter()
                    .any(|entry| entry.name().is_some_and(|name| EXPIRY.contains(&name)));
            }
            Kind::Call(call) => found |= call.method().is_some_and(|m| EXPIRY.contains(&m)),
            _ => {}
        });
        found
    }

    /// The names of fields in the arguments of a call that deletes.
    fn fields_of(&self, call: &'u Call<'t>, scope: ScopeId, out: &mut Vec<String>) {
        for arg in &call.args {
            out.extend(arg.name.map(|name| name.split("__").next().unwrap_or(name).to_owned()));
            let (value, _) = self.values.follow(&arg.value, scope);
            value.visit(&mut |expr| match &expr.kind {
                Kind::Object(entries) => {
                    let names = entries.iter().filter_map(|entry| entry.name());
                    out.extend(names.map(|n| n.rsplit('.').next().unwrap_or(n).to_owned()));
                }
                Kind::Text(_) => out.extend(expr.text().map(|text| text.into_owned())),
                _ => {}
            });
        }
    }
}
