//! Where a value in memory comes from: the document that was loaded, and by which model.

use super::{
    super::{
        Scan,
        ir::{Expr, Kind, ScopeId, ScopeKind, StatementKind},
    },
    CHAINED, LOADS, Loaded, queried,
};

impl<'u, 't> Scan<'u, 't> {
    /// An array of a document under a name of its own: `const seen = page.seen; seen.push(user)`. `this` is the
    /// document in methods of schemas.
    pub(super) fn aliased(&self, expr: &Expr<'t>, scope: ScopeId) -> Option<(String, String)> {
        let this = |expr: &Expr<'t>| match &expr.kind {
            Kind::Member(..) => {
                let path = expr.path()?.strip_prefix("this.")?.to_owned();
                let is_method = self.is_schema_method(self.outer_function(scope));
                is_method.then(|| ("this".to_owned(), path))
            }
            _ => None,
        };
        let Kind::Name(name) = expr.kind else { return this(expr) };
        let [(_, value)] = self.values.given(name, scope)[..] else { return None };
        self.array_of(value).or_else(|| this(value))
    }

    /// `user.comments` is the array `comments` of `user`; `user.getComments()` too.
    pub(super) fn array_of(&self, expr: &Expr<'t>) -> Option<(String, String)> {
        match &expr.kind {
            Kind::Member(of, name) => match &of.kind {
                // `req.user` is loaded by whoever checks logins.
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
                let mut name = field.to_owned();
                name.get_mut(0..1)?.make_ascii_lowercase();
                Some((root, name))
            }
            _ => None,
        }
    }

    /// What a variable was loaded from that is used at a place; `None` when it was not loaded, or is not known to be.
    pub(crate) fn loaded_from(&self, root: &str, at: usize, scope: ScopeId) -> Option<Loaded> {
        if root == "req.user" {
            return self.values.is_mapper_file().then_some(Loaded(None));
        }
        if root == "this" {
            let function = self.outer_function(scope);
            let is_method = self.is_schema_method(function);
            return is_method.then(|| Loaded(self.model_of_method(function)));
        }
        let given = self.values.given(root, scope);
        if given.is_empty() {
            // `.then(user => …)`, `(err, user) => …` of a find.
            let (id, function) = self.values.unit.function(scope)?;
            let (_, class) = function.parameters.iter().find(|(name, _)| *name == root)?;
            // `current_user: User = Depends(…)`, a document of Beanie that somebody loaded.
            let class = class.rsplit('.').next().unwrap_or(class).trim();
            if self.values.unit.language == crate::Language::Python
                && self.values.known.models.contains_key(class)
            {
                return Some(Loaded(Some(self.values.known.collection_of(class))));
            }
            let to = function.passed_to.as_deref()?;
            let (of, last) = to.rsplit_once('.').unwrap_or(("", to));
            let by_find = last == "then"
                || last == "exec"
                || LOADS.contains(&last)
                || (last == "flatMap" && self.follows_find(id));
            if by_find {
                return self.values.is_mapper_file().then_some(Loaded(None));
            }
            // `products.forEach((product) => …)` of a list that was loaded.
            let is_each =
                matches!(last, "forEach" | "map") && self.values.unit.language.is_script();
            let lists = self.values.given(of, scope).into_iter().filter(|_| is_each);
            return lists.into_iter().find_map(|(at, value)| self.load_list(value, at));
        }
        // What is given to it for good, in a block around the place, makes older values forgotten:
        // `user = new User()` behind a search that found none.
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
            .find_map(|(at, value)| self.load(value, at, 0))
    }

    /// Whether a function is given to what a search of a repository answers:
    /// `repository.findById(id).flatMap(found -> …)`.
    fn follows_find(&self, function: ScopeId) -> bool {
        let at = self.values.unit.scopes[function].at;
        let before = &self.text[crate::secrets::tail_start(self.text, at)..at];
        let chain = before.rsplit([';', '{', '}']).next().unwrap_or_default();
        self.values.unit.language.is_jvm() && chain.contains(".find")
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
        lists.then_some(Loaded(Some(target.collection)))
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
            // A document that another one links to: `client = session.client`.
            Kind::Member(of, _) if is_python && self.values.is_mapper_file() => {
                let Kind::Name(name) = of.kind else { return None };
                // The last value before this one: a list that is followed, `node = node.next`, has many.
                let given = self.values.given(name, scope).into_iter().filter(|_| steps < 4);
                let (at, last) =
                    given.filter(|(_, v)| v.at < value.at).max_by_key(|(_, v)| v.at)?;
                return self.load(last, at, steps + 1).map(|_| Loaded(None));
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
                return Some(Loaded(Some(target.collection)));
            }
            if let Some(found) = self.load(of, scope, steps + 1) {
                return Some(found);
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
            let is_static = matches!(of.kind, Kind::Name("this"))
                && self.values.unit.language.is_script()
                && [".statics", ".static(", "statics:"].iter().any(|word| self.text.contains(word));
            if is_static && self.values.is_mapper_file() {
                return Some(Loaded(None));
            }
            let path = of.path().or_else(|| queried(of)).unwrap_or_default();
            let is_objects = path.ends_with(".objects");
            let is_repository =
                self.values.unit.language.is_jvm() && path.to_ascii_lowercase().contains("repo");
            let is_of_sql = is_objects && self.is_django_model(&path);
            if (is_objects || is_repository) && !is_of_sql && self.values.is_mapper_file() {
                return Some(Loaded(None));
            }
        }
        None
    }

    /// What a function of the same file returns that it loaded: `getAccount(id)`.
    fn loaded_by(&self, name: &str, steps: u32) -> Option<Loaded> {
        let unit = self.values.unit;
        unit.statements.iter().find_map(|statement| {
            let StatementKind::Return(value) = &statement.kind else { return None };
            let (_, function) = unit.function(statement.scope)?;
            let is_own = function.name == name && !name.is_empty();
            is_own.then(|| self.load(value, statement.scope, steps + 1)).flatten()
        })
    }

    /// Whether `User.objects` are rows of a relational database: its class is one of Django's own models, or the
    /// file knows nothing else.
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
