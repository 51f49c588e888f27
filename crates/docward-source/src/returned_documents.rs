//! Documents that a function of the project hands over: `await this.wallets.findByUser(id)`, `getOrCreateCart()`. What
//! is told to save itself afterwards is a document, whoever loaded it.

use super::{
    Language, Scan,
    ir::{Call, Expr, Kind, ScopeId, ScopeKind, StatementKind},
    read_modify_write::Loaded,
    values::Values,
};

/// What functions that hand over a document of which others may have a copy begin with.
const HANDS: [&str; 11] = [
    "find", "get", "load", "fetch", "retrieve", "ensure", "require", "lookup", "read", "select",
    "check",
];

impl<'u, 't> Scan<'u, 't> {
    /// The collection that an update changes: that of what it is called on, also where that is a document which was
    /// loaded before (`chat.update({…})`), or the member of a `db` that somebody handed over.
    pub(super) fn updated(&self, call: &'u Call<'t>, scope: ScopeId) -> Option<String> {
        let of = call.receiver()?;
        if let Some(target) = self.values.target(of, scope) {
            return Some(target.collection);
        }
        let is_python = self.values.unit.language == Language::Python;
        match &of.kind {
            Kind::Name(root) if matches!(call.method(), Some("update" | "updateOne")) => {
                self.loaded_from(root, of.at, scope)?.0
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

    /// What a variable is that a function of the project was asked for, and that is told to save itself. Other mappers
    /// have a `save` as well: the project has to have models for MongoDB, and the file nothing of theirs.
    pub(super) fn handed_over(&self, root: &str, at: usize, scope: ScopeId) -> Option<Loaded> {
        let unit = self.values.unit;
        let is_other = ["sequelize", "typeorm", "objection", "bookshelf", "prisma"]
            .iter()
            .any(|mapper| unit.imports.iter().any(|import| import.module.contains(mapper)));
        if !unit.language.is_script() || is_other || self.values.known.models.is_empty() {
            return None;
        }
        let given = self.values.given(root, scope);
        let mut before =
            given.iter().filter(|(block, value)| value.at < at && unit.is_in(scope, *block));
        let is_asked = |(_, value): &&(ScopeId, &Expr<'_>)| {
            value.call().is_some_and(|call| {
                let name = call.method().unwrap_or_default();
                let is_own = match call.receiver().map(|of| &of.kind) {
                    None | Some(Kind::Name("this")) => true,
                    Some(Kind::Member(of, _)) => matches!(of.kind, Kind::Name("this")),
                    Some(Kind::Name(of)) => !self.values.known.models.contains_key(*of),
                    _ => false,
                };
                // Two that ask for what is kept in memory change one object.
                is_own
                    && HANDS.iter().any(|hands| name.starts_with(hands))
                    && !self.values.known.caching.contains(name)
            })
        };
        before.next_back().filter(is_asked).map(|_| Loaded(None))
    }
}

impl Values<'_, '_> {
    /// The model that Nest injects under a name of its own: `@InjectModel(LawyerProfile.name) lawyerModel: Model<…>`.
    pub(super) fn injected(&self, name: &str, scope: ScopeId) -> Option<String> {
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
