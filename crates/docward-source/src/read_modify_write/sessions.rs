//! Sessions and transactions around what is loaded and saved.

use super::super::{
    Scan,
    ir::{Call, Expr, Kind, ScopeId, ScopeKind},
};
use super::{CHAINED, LOADS};

impl Scan<'_, '_> {
    /// Whether a document is saved with a session, in a function that begins a transaction or has to be given
    /// the session it reads with.
    pub(super) fn is_in_transaction(&self, call: &Call<'_>, function: ScopeId) -> bool {
        let has_session = call.args.iter().any(|arg| match &arg.value.kind {
            Kind::Object(entries) => entries.iter().any(|entry| entry.name() == Some("session")),
            Kind::Name(name) => matches!(*name, "session" | "opts"),
            // `session ? {session} : undefined`.
            Kind::Choice(held) => held.iter().any(|side| side.path().as_deref() == Some("session")),
            _ => false,
        });
        has_session && is_of_transaction(self.function_text(function))
    }

    /// Whether a function saves with a session that it is given.
    pub(super) fn is_saved_in_given_session(&self, function: ScopeId) -> bool {
        let text = self.function_text(function);
        let saves = [".save({ session", ".save({session", ".save(session"];
        self.takes_session(function) && saves.iter().any(|save| text.contains(save))
    }

    /// Whether a function is given a session: whoever calls it began the transaction.
    pub(super) fn takes_session(&self, function: ScopeId) -> bool {
        let ScopeKind::Function(function) = &self.values.unit.scopes[function].kind else {
            return false;
        };
        function.parameters.iter().any(|(name, kind)| {
            name.to_ascii_lowercase().ends_with("session") || kind.contains("ClientSession")
        })
    }

    /// Whether a document was read with a session, as far as one can tell: what was read without is no part of the
    /// transaction that it is saved in.
    pub(super) fn is_read_with_session(&self, root: &str, scope: ScopeId) -> bool {
        let given = self.values.given(root, scope);
        let says = |value: &Expr<'_>| {
            let read = self.text.get(value.at..value.end).unwrap_or_default();
            // Of `Session.findById(id, options)` the arguments count, not the model.
            let given = read.split_once('(').map_or(read, |(_, given)| given);
            given.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| {
                matches!(word, "opts" | "options" | "trx" | "tx" | "SessionContext")
                    || word.to_ascii_lowercase().ends_with("session")
            })
        };
        let is_search = |value: &Expr<'_>| {
            value.call().and_then(Call::method).is_some_and(|method| {
                LOADS.contains(&method) || CHAINED.contains(&method) || method.starts_with("find")
            })
        };
        // Once a transaction has done something, whatever changes later is a conflict for what it writes.
        let is_later = |value: &Expr<'_>| {
            let before = self.text.get(..value.at).unwrap_or_default();
            let function = self.function_text(self.outer_function(scope));
            let begun = ["startTransaction(", "withTransaction("];
            let begun = begun.iter().filter_map(|word| before.rfind(word)).max();
            let since = begun.map(|at| &before[at..]);
            since.is_some_and(|since| {
                function.contains(since)
                    && [".session(session)", "{ session }", "{session}", "session });", "session})"]
                        .iter()
                        .any(|word| since.contains(word))
            })
        };
        given.iter().all(|(_, value)| says(value) || is_later(value) || !is_search(value))
    }
}

/// Whether a function begins a transaction (`runInTransaction(…)` of the project's own, too; `new Transaction(…)` is a
/// document), or reads with the session it has to be given. One that may be left out proves nothing.
pub(super) fn is_of_transaction(text: &str) -> bool {
    let lower = text.to_ascii_lowercase().replace('_', "");
    // `connection.transaction(…)`, `withTransaction(…)`.
    let begins = [".", "with", "start", "in", "run", "use"]
        .iter()
        .any(|before| lower.contains(&format!("{before}transaction(")));
    let may_lack = ["session = null", "session = undefined", "session = None", "session?:"]
        .iter()
        .any(|word| text.contains(word));
    begins || (text.contains(".session(session)") && !may_lack)
}
