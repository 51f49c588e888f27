//! Documents that are read, changed in memory and written back as a whole.

use docward_model::code::{Change, WriteGuard};

use super::{
    super::{
        Scan,
        ir::{Call, Expr, Key, Kind, ScopeId},
    },
    mentions_path, names_session,
};

impl<'u, 't> Scan<'u, 't> {
    /// `doc = find_one(…)`, then `replace_one(filter, doc)` or `update_one(filter, {"$set": doc})`.
    pub(super) fn put_back(&mut self) {
        let mut found = Vec::new();
        self.values.unit.each(|scope, expr| {
            let Some(call) = expr.call() else { return };
            let method = call.method().unwrap_or_default().replace('_', "").to_ascii_lowercase();
            // `db.users.save(doc)` of old drivers and of the shell.
            let of = call.receiver();
            let is_save = method == "save"
                && of.is_some_and(|of| self.values.target(of, scope).is_some_and(|t| !t.is_model));
            let replaces = is_save || matches!(method.as_str(), "replaceone" | "findoneandreplace");
            let sets = matches!(method.as_str(), "updateone" | "findoneandupdate");
            if !replaces && !sets {
                return;
            }
            let asks_for_more = call.args.iter().take(2).any(|arg| {
                let fields = self.values.document(&arg.value, scope);
                fields.is_some_and(|fields| {
                    fields.len() > 1
                        && fields.iter().any(|field| field.is("_id"))
                        && !fields.iter().any(|field| field.is_spread)
                })
            });
            let whole = |value: &Expr<'t>| match &value.kind {
                Kind::Name(name) => Some((*name).to_owned()),
                Kind::Object(entries) => entries.iter().find_map(|entry| match &entry.key {
                    Key::Spread => entry.value.path(),
                    _ => None,
                }),
                _ => None,
            };
            let root = match sets {
                false => call.args.iter().find_map(|arg| whole(&arg.value)),
                true => call.positional(1).and_then(|update| match &update.kind {
                    Kind::Object(entries) => entries
                        .iter()
                        .filter(|entry| entry.name() == Some("$set"))
                        .find_map(|entry| whole(&entry.value)),
                    _ => None,
                }),
            };
            if let Some(root) = root {
                let has_session = call.args.iter().any(|arg| names_session(&arg.value));
                found.push((scope, expr.at, root, of, asks_for_more, has_session));
            }
        });
        for (scope, at, root, of, asks_for_more, has_session) in found {
            let Some((function, _)) = self.values.unit.function(scope) else { continue };
            // Read by the same function, and not filled in by another.
            let given = self.values.given(&root, scope);
            if !given.iter().all(|(at, _)| self.values.unit.is_in(*at, function)) {
                continue;
            }
            // A new document in the same variable was not read: `if (!doc) { doc = {…}; … }`.
            let is_made_anew = |block: ScopeId, value: &Expr<'t>| {
                value.end <= at
                    && self.values.unit.is_in(scope, block)
                    && !mentions_path(value, &root)
            };
            let last = given
                .iter()
                .filter(|(block, value)| is_made_anew(*block, value))
                .map(|(_, value)| value.at)
                .max();
            let loaded = given
                .into_iter()
                .filter(|(_, value)| last.is_none_or(|last| value.at >= last))
                .filter(|(block, value)| self.is_same_place(value, *block, of, scope))
                .find_map(|(at, value)| {
                    self.load(value, at, 0).or_else(|| self.loaded_as(value, at))
                });
            if let Some(loaded) = loaded {
                let guard = match asks_for_more {
                    true => Some(WriteGuard::Version),
                    false => self.transaction_guard(&root, scope, has_session),
                };
                self.note_race((scope, at), loaded, String::new(), Change::Document, guard);
            }
        }
    }

    /// Whether a value is read from the collection that a call writes to: the same one, or the same object. The class declares which
    /// collection a Java repository has.
    fn is_same_place(
        &self,
        value: &'u Expr<'t>,
        block: ScopeId,
        of: Option<&'u Expr<'t>>,
        scope: ScopeId,
    ) -> bool {
        if self.values.unit.language.is_jvm() {
            return true;
        }
        let mut read = match &value.kind {
            // `for doc in users.find(…)`.
            Kind::Index(list, any) if matches!(any.kind, Kind::Null) => list.call(),
            _ => value.call(),
        };
        while let Some(call) =
            read.filter(|call| call.receiver().is_some_and(|of| of.call().is_some()))
            && let Some(method) = call.method()
            && !method.to_ascii_lowercase().starts_with("find")
        {
            read = call.receiver().and_then(Expr::call);
        }
        let (Some(from), Some(to)) = (read.and_then(Call::receiver), of) else { return false };
        let is_same_object = from.path().is_some() && from.path() == to.path();
        let target = |of, scope| self.values.target(of, scope);
        is_same_object
            || target(from, block).zip(target(to, scope)).is_some_and(|(from, to)| {
                (from.database, from.collection) == (to.database, to.collection)
            })
    }
}
