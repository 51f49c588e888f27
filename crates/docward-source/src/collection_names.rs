//! Computed names of collections, and time limits of calls to the server.

use docward_model::code::{ComputedName, Deadline};

use super::{
    Language, Scan,
    calls::{READS, WRITES},
    handlers,
    ir::{Call, Expr, Kind, ScopeId},
    targets::COLLECTION_METHODS,
    values::Fragment,
};

/// Whether a name says that it holds an id: `userId`, `user_id`, `id`.
fn is_id(name: &str) -> bool {
    docward_model::words::split(name).last().is_some_and(|word| word == "id")
}

impl<'u, 't> Scan<'u, 't> {
    /// Records collections whose names are assembled: `db.collection("chat_" + userId)`, `db[f"chat_{user_id}"]`.
    pub(super) fn computed_names(&mut self) {
        let mut found = Vec::new();
        self.values.unit.each(|scope, expr| {
            let name = match &expr.kind {
                Kind::Call(call) => {
                    let is_collection =
                        call.method().is_some_and(|m| COLLECTION_METHODS.contains(&m));
                    let of = call.receiver().filter(|_| is_collection);
                    of.filter(|of| self.is_of_mongo(of, scope)).and(call.positional(0))
                }
                Kind::Index(of, name) if self.values.is_database(of, scope, 0) => Some(&**name),
                _ => None,
            };
            found.extend(name.map(|name| (scope, name)));
        });
        for (scope, name) in found {
            let folded = self.values.fold(name, scope);
            let is_text = |f: &Fragment| matches!(f, Fragment::Text(text, _) if !text.is_empty());
            if folded.whole().is_some() {
                continue;
            }
            let shown = match folded.fragments.iter().any(is_text) {
                true => {
                    let parts = folded.fragments.iter().map(|fragment| match fragment {
                        Fragment::Text(text, _) => text.as_str(),
                        Fragment::Hole => "{…}",
                    });
                    parts.collect()
                }
                // Only the name of a variable shows its content.
                false => match name.last_name().filter(|name| is_id(name)) {
                    Some(name) => format!("{{{name}}}"),
                    None => continue,
                },
            };
            let place = self.place(name.at, scope);
            let parts = self.origins(self.values.follow(name, scope).0, scope);
            self.out.code.computed_names.push(ComputedName { place, shown, parts });
        }
    }

    fn is_of_mongo(&self, of: &'u Expr<'t>, scope: ScopeId) -> bool {
        self.values.is_database(of, scope, 0) || self.values.is_mongo_file()
    }

    /// Records time limits of Go: `context.WithTimeout(ctx, 10*time.Hour)`, and calls to the server without any.
    pub(super) fn deadlines(&mut self) {
        if self.values.unit.language != Language::Go || !self.values.is_mongo_file() {
            return;
        }
        let mut found = Vec::new();
        self.values.unit.each(|scope, expr| {
            let Some(call) = expr.call() else { return };
            let path = call.callee.path().unwrap_or_default();
            if path == "context.WithTimeout" {
                let limit = call.positional(1).and_then(|limit| self.duration(limit, scope));
                found.extend(limit.map(|limit| (scope, expr.at, Some(limit / 1_000_000))));
            } else if self.is_operation_of_go(call)
                && let Some(context) = call.positional(0)
                && let Some(made) = self.values.follow(context, scope).0.call()
                && matches!(
                    made.callee.path().as_deref(),
                    Some("context.Background" | "context.TODO")
                )
            {
                found.push((scope, expr.at, None));
            }
        });
        for (scope, at, milliseconds) in found {
            let in_handler =
                handlers::handler_around(self.values.unit, scope, self.within).is_some();
            let place = self.place(at, scope);
            self.out.code.deadlines.push(Deadline { place, milliseconds, in_handler });
        }
    }

    fn is_operation_of_go(&self, call: &Call<'t>) -> bool {
        call.receiver().is_some()
            && call.method().is_some_and(|method| {
                method.starts_with(char::is_uppercase)
                    && (READS.contains(&method)
                        || WRITES.contains(&method)
                        || matches!(
                            method,
                            "FindOneAndDelete" | "FindOneAndReplace" | "UpdateByID"
                        ))
            })
    }

    /// A duration of Go, `10 * time.Second`, in nanoseconds.
    fn duration(&self, expr: &'u Expr<'t>, scope: ScopeId) -> Option<i64> {
        let (expr, scope) = self.values.follow(expr, scope);
        match &expr.kind {
            Kind::Binary("*", left, right) => {
                self.duration(left, scope)?.checked_mul(self.duration(right, scope)?)
            }
            Kind::Call(call) if call.method() == Some("Duration") => {
                self.duration(call.positional(0)?, scope)
            }
            _ => match expr.path().as_deref() {
                Some("time.Hour") => Some(3_600_000_000_000),
                Some("time.Minute") => Some(60_000_000_000),
                Some("time.Second") => Some(1_000_000_000),
                Some("time.Millisecond") => Some(1_000_000),
                Some("time.Microsecond") => Some(1_000),
                Some("time.Nanosecond") => Some(1),
                _ => self.values.int(expr, scope),
            },
        }
    }
}
