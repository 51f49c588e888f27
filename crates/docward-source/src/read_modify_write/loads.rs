//! Documents that are loaded: their collections, and the values that select them.

use std::collections::BTreeSet;

use docward_model::code::Origin;

use super::{
    super::{
        Scan,
        ir::{Call, Expr, Kind, ScopeId, ScopeKind, StatementKind},
        methods::{is_of_mongodb, method_is},
        values::Values,
    },
    lower_first,
};

/// Methods that load one document.
const LOADS: [&str; 19] = [
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
    "One",
    "populate",
    "exec",
    "orFail",
];

/// Methods of a query that still return the same document.
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

/// A loaded document.
#[derive(Clone, Debug)]
pub(crate) struct Loaded {
    /// The collection or model, if known.
    pub(crate) collection: Option<String>,
    /// Whether a caller passes it to the function.
    pub(crate) from_caller: bool,
}

impl Loaded {
    pub(crate) fn of(collection: Option<String>) -> Self {
        Self { collection, from_caller: false }
    }
}

impl<'u, 't> Scan<'u, 't> {
    /// The variable of a document and the path of its array: `user` and `comments` of `user.comments`. The array may
    /// also be in another variable, `const seen = page.seen`. `this` is the document in methods of schemas, `self` in
    /// those of documents.
    pub(super) fn array(&self, expr: &Expr<'t>, scope: ScopeId) -> Option<(String, String)> {
        let own = |expr: &Expr<'t>| {
            let path = match &expr.kind {
                Kind::Member(..) => expr.path()?,
                _ => return None,
            };
            let (root, field) = path.split_once('.')?;
            let is_document = match root {
                "this" => self.is_schema_method(self.outer_function(scope)),
                "self" => self.document_class(scope).is_some(),
                _ => false,
            };
            is_document.then(|| (root.to_owned(), field.to_owned()))
        };
        if let Some(found) = own(expr).or_else(|| self.array_of(expr)) {
            return Some(found);
        }
        let Kind::Name(name) = expr.kind else { return None };
        let [(_, value)] = self.values.given(name, scope)[..] else { return None };
        self.array_of(value).or_else(|| own(value))
    }

    /// The class of documents of Python that a method belongs to.
    fn document_class(&self, scope: ScopeId) -> Option<&'t str> {
        let unit = self.values.unit;
        let (_, class) = unit.class(scope)?;
        let is_python = unit.language == crate::Language::Python;
        (is_python && self.values.known.models.contains_key(class)).then_some(class)
    }

    /// Returns the origins of the values that select a document.
    pub(crate) fn selection_of(&self, root: &str, scope: ScopeId) -> BTreeSet<Origin> {
        if root == "req.user" {
            return BTreeSet::from([Origin::User(root.to_owned())]);
        }
        let given = self.values.given(root, scope);
        if given.is_empty() {
            return self.parameter(root, scope).into_iter().collect();
        }
        given.into_iter().flat_map(|(at, value)| self.argument_origins(value, at)).collect()
    }

    /// Whether a function is a method of documents: `schema.methods.count = function () {…}`.
    fn is_schema_method(&self, id: ScopeId) -> bool {
        let unit = self.values.unit;
        let ScopeKind::Function(function) = &unit.scopes[id].kind else { return false };
        let is_it = |value: &Expr<'t>| matches!(value.kind, Kind::Function(to) if to == id);
        let is_method = |target: &Expr<'t>, value: &Expr<'t>| match &value.kind {
            // `schema.methods = {count: function () {…}}`.
            Kind::Object(entries) => {
                target.last_name() == Some("methods")
                    && entries.iter().any(|entry| is_it(&entry.value))
            }
            _ => {
                is_it(value)
                    && matches!(&target.kind, Kind::Member(of, _) if of.last_name() == Some("methods"))
            }
        };
        self.values.is_mapper_file()
            && (function.passed_to.as_deref().is_some_and(|to| to.ends_with("chema.method"))
                || unit.statements.iter().any(|statement| {
                    matches!(&statement.kind, StatementKind::Assign { target, value, .. }
                        if is_method(target, value))
                }))
    }

    /// The document that a caller passes to a function, which saves it. The models show whether it is a document of
    /// MongoDB.
    pub(super) fn handed_in(&self, root: &str, scope: ScopeId) -> Option<Loaded> {
        let is_given = self.values.given(root, scope).is_empty()
            && self.parameter(root, scope).is_some()
            && self.values.unit.language.is_script();
        is_given.then_some(Loaded { collection: None, from_caller: true })
    }

    /// `user.comments` is the array `comments` of `user`; `user.getComments()` too.
    fn array_of(&self, expr: &Expr<'t>) -> Option<(String, String)> {
        match &expr.kind {
            Kind::Member(of, name) => match &of.kind {
                // The login check of the framework loads `req.user`.
                Kind::Member(..) if of.path().as_deref() == Some("req.user") => {
                    Some(("req.user".to_owned(), (*name).to_owned()))
                }
                Kind::Name(root) => (!matches!(
                    *root,
                    "self" | "this" | "window" | "props" | "state" | "console" | "router"
                ))
                .then(|| ((*root).to_owned(), (*name).to_owned())),
                _ => {
                    let (root, path) = self.array_of(of)?;
                    Some((root, format!("{path}.{name}")))
                }
            },
            Kind::Call(call) if self.values.unit.language.is_jvm() => {
                let field = call.method()?.strip_prefix("get")?;
                let root = call.receiver()?.path()?;
                Some((root, lower_first(field)))
            }
            _ => None,
        }
    }

    /// Returns the query from which a variable was loaded, or `None` if it was not loaded as far as is known.
    pub(crate) fn loaded_from(&self, root: &str, at: usize, scope: ScopeId) -> Option<Loaded> {
        if root == "req.user" {
            return self.values.is_mapper_file().then_some(Loaded::of(None));
        }
        if root == "this" {
            let function = self.outer_function(scope);
            let is_method = self.is_schema_method(function);
            return is_method.then(|| Loaded::of(self.model_of_method(function)));
        }
        if root == "self" {
            let class = self.document_class(scope)?;
            return Some(Loaded::of(Some(self.values.known.collection_of(class))));
        }
        let given = self.values.given(root, scope);
        if given.is_empty() {
            let loaded = self.loaded_for(root, scope);
            return loaded.or_else(|| self.loaded_for_name(root, at, scope));
        }
        // An unconditional assignment in an enclosing block hides older values: `user = new User()` after a search
        // without a result.
        let unit = self.values.unit;
        let last = given
            .iter()
            .filter(|(block, value)| {
                value.at < at
                    && self.values.owner(*block) == self.values.owner(scope)
                    && unit.is_in(scope, *block)
            })
            .map(|(_, value)| value.at)
            .max();
        given
            .into_iter()
            .filter(|(_, value)| last.is_none_or(|last| value.at >= last))
            .find_map(|(at, value)| self.load(value, at, 0).or_else(|| self.loaded_as(value, at)))
    }

    /// Returns the value that a find passes to a callback parameter: `.then(user => …)`, `(err, user) => …`.
    fn loaded_for(&self, root: &str, scope: ScopeId) -> Option<Loaded> {
        let (id, function) = self.values.unit.function(scope)?;
        let (_, class) = function.parameters.iter().find(|(name, _)| *name == root)?;
        // `current_user: User = Depends(…)`: a document of Beanie that another function loads.
        let class = class.rsplit('.').next().unwrap_or(class).trim();
        if self.values.unit.language == crate::Language::Python
            && self.values.known.models.contains_key(class)
        {
            return Some(Loaded::of(Some(self.values.known.collection_of(class))));
        }
        let to = function.passed_to.as_deref()?;
        let (of, last) = to.rsplit_once('.').unwrap_or(("", to));
        let by_find = last == "then"
            || last == "exec"
            || LOADS.contains(&last)
            || (last == "flatMap" && self.follows_find(id));
        if by_find {
            return self.values.is_mapper_file().then_some(Loaded::of(None));
        }
        // `products.forEach((product) => …)` of a list that was loaded.
        let is_each = matches!(last, "forEach" | "map") && self.values.unit.language.is_script();
        let lists = self.values.given(of, scope).into_iter().filter(|_| is_each);
        lists.into_iter().find_map(|(at, value)| self.load_list(value, at))
    }

    /// Whether a function receives the result of a search of a repository:
    /// `repository.findById(id).flatMap(found -> …)`.
    fn follows_find(&self, function: ScopeId) -> bool {
        let mut found = false;
        self.values.unit.each(|_, expr| {
            let Some(call) = expr.call() else { return };
            let takes = call
                .args
                .iter()
                .any(|arg| matches!(arg.value.kind, Kind::Function(id) if id == function));
            let of = call.receiver().and_then(Expr::call).and_then(Call::method);
            found |= takes && of.is_some_and(|method| method.starts_with("find"));
        });
        found && self.values.unit.language.is_jvm()
    }

    /// The documents of a list: `await Product.find(…)`.
    fn load_list(&self, value: &'u Expr<'t>, scope: ScopeId) -> Option<Loaded> {
        let call = value.call()?;
        let (method, of) = (call.method()?, call.receiver()?);
        if CHAINED.contains(&method)
            || matches!(method, "populate" | "exec" | "limit" | "skip" | "to_list")
        {
            return self.load_list(of, scope);
        }
        let target = self.values.target(of, scope).filter(|target| target.is_model)?;
        let lists = matches!(method, "find" | "find_many" | "find_all");
        lists.then_some(Loaded::of(Some(target.collection)))
    }

    pub(super) fn load(&self, value: &'u Expr<'t>, scope: ScopeId, steps: u32) -> Option<Loaded> {
        let is_python = self.values.unit.language == crate::Language::Python;
        match &value.kind {
            // `for (const batch of batches)`.
            Kind::Index(list, any) if matches!(any.kind, Kind::Null) => {
                let Kind::Name(name) = list.kind else { return self.load_list(list, scope) };
                let given = self.values.given(name, scope);
                return given.into_iter().find_map(|(at, value)| self.load_list(value, at));
            }
            // A document to which another one links: `client = session.client`.
            Kind::Member(of, _) if is_python && self.values.is_mapper_file() => {
                let Kind::Name(name) = of.kind else { return None };
                // The last value before this one: a list traversal, `node = node.next`, has many.
                let given = self.values.given(name, scope).into_iter().filter(|_| steps < 4);
                let (at, last) =
                    given.filter(|(_, v)| v.at < value.at).max_by_key(|(_, v)| v.at)?;
                return self.load(last, at, steps + 1).map(|_| Loaded::of(None));
            }
            _ => {}
        }
        let call = value.call().filter(|_| steps < 8)?;
        let method = call.method()?;
        if self.values.unit.language.is_jvm()
            && call.receiver().is_none_or(|of| matches!(of.kind, Kind::Name("this")))
        {
            return self.loaded_by(method, steps);
        }
        let of = call.receiver()?;
        // `User.findOne(…).select("+password").exec()`.
        if CHAINED.contains(&method) && of.call().is_some() {
            return self.load(of, scope, steps + 1);
        }
        if LOADS.contains(&method) || method.starts_with("findBy") || method.starts_with("findOne")
        {
            // `User.findOne(…)` of a model, `repository.findById(…)`.
            if let Some(target) = self.values.target(of, scope) {
                return Some(Loaded::of(Some(target.collection)));
            }
            if let Some(found) = self.load(of, scope, steps + 1) {
                return Some(found);
            }
            if method_is(method, "findOne") && self.writes_there(of, scope) {
                return Some(Loaded::of(None));
            }
            // `Optional<Account> found = repository.findById(id)`, then `found.get()`.
            if let Kind::Name(name) = of.kind
                && self.values.unit.language.is_jvm()
                && matches!(method, "get" | "orElseThrow" | "orElse")
            {
                let given = self.values.given(name, scope);
                return given.into_iter().find_map(|(at, value)| self.load(value, at, steps + 1));
            }
            // `this.findOne(…)` in a static of a schema.
            let is_this = matches!(of.kind, Kind::Name("this"));
            if is_this && self.values.is_mapper_file() && self.is_schema_static(scope) {
                return Some(Loaded::of(None));
            }
            let path = of.path().or_else(|| queried(of)).unwrap_or_default();
            let is_objects = path.ends_with(".objects");
            let is_repository =
                self.values.unit.language.is_jvm() && path.to_ascii_lowercase().contains("repo");
            let is_of_sql = is_objects && self.is_django_model(&path);
            if (is_objects || is_repository) && !is_of_sql && self.values.is_mapper_file() {
                return Some(Loaded::of(None));
            }
        }
        None
    }

    /// Whether the function also calls a method on this object that only collections of MongoDB have.
    fn writes_there(&self, of: &Expr<'t>, scope: ScopeId) -> bool {
        let Some(path) = of.path() else { return false };
        let function = self.outer_function(scope);
        let mut found = false;
        self.values.unit.each(|there, expr| {
            let Some(call) = expr.call() else { return };
            found |= call.method().is_some_and(is_of_mongodb)
                && call.receiver().and_then(Expr::path).as_ref() == Some(&path)
                && self.outer_function(there) == function;
        });
        found
    }

    /// Whether a function is a static of a schema: `schema.statics.read = function () {…}`, `statics: {…}`.
    fn is_schema_static(&self, scope: ScopeId) -> bool {
        let unit = self.values.unit;
        let function = self.outer_function(scope);
        let is_own = |expr: &Expr<'t>| matches!(expr.kind, Kind::Function(id) if id == function);
        let mut found = false;
        unit.each(|_, expr| match &expr.kind {
            Kind::Object(entries) => {
                let statics = entries.iter().filter(|entry| entry.name() == Some("statics"));
                statics.for_each(|entry| entry.value.visit(&mut |inner| found |= is_own(inner)));
            }
            Kind::Call(call) if call.method() == Some("static") => {
                found |= call.args.iter().any(|arg| is_own(&arg.value));
            }
            _ => {}
        });
        found
            || unit.statements.iter().any(|statement| match &statement.kind {
                StatementKind::Assign { target, value, .. } => {
                    is_own(value)
                        && target
                            .path()
                            .is_some_and(|path| path.rsplit('.').nth(1) == Some("statics"))
                }
                _ => false,
            })
    }

    /// Functions of the file that only return documents that they loaded.
    pub(crate) fn loaders(&self) -> Vec<(String, Option<String>)> {
        let unit = self.values.unit;
        let mut found = Vec::new();
        for (id, scope) in unit.scopes.iter().enumerate() {
            let ScopeKind::Function(function) = &scope.kind else { continue };
            let returned: Vec<_> = unit
                .statements
                .iter()
                .filter_map(|statement| match &statement.kind {
                    StatementKind::Return(value) if !matches!(value.kind, Kind::Null) => {
                        let own = unit.function(statement.scope).map(|(own, _)| own);
                        (own == Some(id)).then_some((value, statement.scope))
                    }
                    _ => None,
                })
                .collect();
            let mut loaded = returned.iter().map(|(value, at)| self.returned_load(value, *at, 0));
            if !function.name.is_empty()
                && let Some(Some(first)) = loaded.next()
                && loaded.all(|other| other.is_some())
            {
                found.push((function.name.to_owned(), first.collection));
            }
        }
        found
    }

    /// Returns the document that a function returns: the result of a search of a mapper or driver.
    fn returned_load(&self, value: &'u Expr<'t>, scope: ScopeId, steps: u32) -> Option<Loaded> {
        if steps > 8 {
            return None;
        }
        if let Kind::Name(name) = value.kind {
            let given = self.values.given(name, scope);
            return given
                .into_iter()
                .find_map(|(at, value)| self.returned_load(value, at, steps + 1));
        }
        self.load(value, scope, 0).or_else(|| {
            let call = value.call()?;
            let method = call.method()?;
            if CHAINED.contains(&method) || matches!(method, "exec" | "populate" | "orFail") {
                return self.returned_load(call.receiver()?, scope, steps + 1);
            }
            let finds = matches!(
                method,
                "findById" | "findOne" | "find_one" | "findOneAndUpdate" | "findByIdAndUpdate"
            );
            let of = call.receiver()?.path().unwrap_or_default();
            (finds && of.to_ascii_lowercase().ends_with("model")).then_some(Loaded::of(None))
        })
    }

    /// Returns the document that a function of the same file loads and returns: `getAccount(id)`.
    fn loaded_by(&self, name: &str, steps: u32) -> Option<Loaded> {
        let unit = self.values.unit;
        unit.statements.iter().find_map(|statement| {
            let StatementKind::Return(value) = &statement.kind else { return None };
            let (_, function) = unit.function(statement.scope)?;
            let is_own = function.name == name && !name.is_empty();
            is_own.then(|| self.load(value, statement.scope, steps + 1)).flatten()
        })
    }

    /// Whether `User.objects` are rows of a relational database: its class is a model of Django, or the file imports
    /// only Django.
    fn is_django_model(&self, path: &str) -> bool {
        let unit = self.values.unit;
        let name = path.trim_end_matches(".objects");
        let name = name.rsplit('.').next().unwrap_or(name);
        if self.values.known.models.contains_key(name) {
            return false;
        }
        let class = unit.scopes.iter().find_map(|scope| match &scope.kind {
            ScopeKind::Class { name: known, bases, .. } if *known == name => Some(bases),
            _ => None,
        });
        match class {
            Some(bases) => bases.iter().any(|base| base.ends_with("models.Model")),
            None => {
                let knows = |module: &str| unit.imports_from(module);
                (knows("django") || knows("rest_framework"))
                    && !["mongoengine", "djongo", "beanie", "odmantic"].iter().any(|m| knows(m))
            }
        }
    }
}

impl<'u, 't> Scan<'u, 't> {
    /// The collection that an update changes, from its receiver. The receiver may be a document that was loaded before
    /// (`chat.update({…})`), or a member of a `db` that was passed as an argument.
    pub(crate) fn updated(&self, call: &'u Call<'t>, scope: ScopeId) -> Option<String> {
        let of = call.receiver()?;
        if let Some(target) = self.values.target(of, scope) {
            return Some(target.collection);
        }
        let is_python = self.values.unit.language == crate::Language::Python;
        match &of.kind {
            Kind::Name(root) if matches!(call.method(), Some("update" | "updateOne")) => {
                self.loaded_from(root, of.at, scope)?.collection
            }
            Kind::Member(base, name)
                if is_python && matches!(base.last_name(), Some("db" | "database")) =>
            {
                Some((*name).to_owned())
            }
            _ => None,
        }
    }

    /// The model whose documents a function is a method of: `accountSchema.methods.pay = function () {…}` with
    /// `mongoose.model('Account', accountSchema)`.
    pub(super) fn model_of_method(&self, id: ScopeId) -> Option<String> {
        let unit = self.values.unit;
        let ScopeKind::Function(function) = &unit.scopes[id].kind else { return None };
        let given = unit.statements.iter().find_map(|statement| match &statement.kind {
            StatementKind::Assign { target, value, .. }
                if matches!(value.kind, Kind::Function(to) if to == id) =>
            {
                let path = target.path()?;
                path.split_once(".methods.").map(|(schema, _)| schema.to_owned())
            }
            _ => None,
        });
        let passed = function.passed_to.as_deref().and_then(|to| to.strip_suffix(".method"));
        let schema = given.or_else(|| passed.map(str::to_owned))?;
        let mut model = None;
        unit.each(|scope, expr| {
            let Some(call) = expr.call().filter(|call| call.method() == Some("model")) else {
                return;
            };
            if call.positional(1).and_then(Expr::path).as_ref() == Some(&schema) {
                model = call.positional(0).and_then(|name| self.values.text(name, scope));
            }
        });
        model.map(|model| self.values.known.collection_of(&model))
    }

    /// Returns the document that a function of the project loads and returns: `await this.wallets.findByUser(id)`.
    /// Other mappers also have a `save`, so the file must not import any of them.
    pub(super) fn handed_over(&self, root: &str, at: usize, scope: ScopeId) -> Option<Loaded> {
        let unit = self.values.unit;
        let is_other = ["sequelize", "typeorm", "objection", "bookshelf", "prisma"]
            .iter()
            .any(|mapper| unit.imports_from(mapper));
        if is_other {
            return None;
        }
        let given = self.values.given(root, scope);
        let mut before =
            given.iter().filter(|(block, value)| value.at < at && unit.is_in(scope, *block));
        let name = before.next_back()?.1.call()?.method()?;
        self.values.known.loaders.get(name)?.clone().map(Loaded::of)
    }
}

impl Values<'_, '_> {
    /// The model that Nest injects under another name: `@InjectModel(LawyerProfile.name) lawyerModel: Model<…>`.
    pub(crate) fn injected(&self, name: &str, scope: ScopeId) -> Option<String> {
        let unit = self.unit;
        let (class, _) = unit.class(scope)?;
        let constructors = unit.scopes.iter().filter(|scope| scope.parent == class);
        let typed = constructors
            .filter_map(|scope| match &scope.kind {
                ScopeKind::Function(function) if function.name == "constructor" => Some(function),
                _ => None,
            })
            .flat_map(|function| &function.parameters)
            .find_map(|(parameter, class)| (*parameter == name).then_some(*class))?;
        // `Model<LawyerProfileDocument>`, `Model<HydratedDocument<LawyerProfile>>`.
        let inner = typed.rsplit('<').next()?.trim_end_matches('>').trim();
        let inner = inner.split(',').next().unwrap_or(inner).trim();
        [inner, inner.trim_end_matches("Document")]
            .into_iter()
            .find(|model| typed.contains("Model<") && self.known.models.contains_key(*model))
            .map(str::to_owned)
    }
}

/// Returns the subject of a query without the calls that narrow it: `User.objects` of `User.objects.filter(…)`.
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
