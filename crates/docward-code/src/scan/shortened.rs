//! What shows that an array stays short although nothing bounds it: it is emptied now and then, or it notes the steps
//! of one thing until that is done.

use std::collections::BTreeSet;

use super::{
    Scan,
    ir::{Expr, Kind, StatementKind},
    updates::UPDATES,
    values::Field,
};

/// Why an array stays short that is emptied.
const EMPTIED: &str = "another statement empties it";
/// Why an array stays short that has one element for each state.
pub(super) const STEPS: &str = "it notes the steps of one thing, whose state is set with it";

impl<'u, 't> Scan<'u, 't> {
    /// Notes at arrays of the file that another statement empties them.
    pub(super) fn shortened(&mut self) {
        let is_open = |scan: &Self| scan.out.code.appends.iter().any(|append| append.few.is_none());
        if !is_open(self) {
            return;
        }
        let emptied = self.emptied();
        for append in &mut self.out.code.appends {
            let leaf = append.path.rsplit('.').next().unwrap_or_default();
            if append.few.is_none() && emptied.contains(leaf) {
                append.few = Some(EMPTIED);
            }
        }
    }

    /// Names of fields that a statement sets to an empty list: `{$set: {unread: []}}`, `cart.items = []`.
    fn emptied(&self) -> BTreeSet<String> {
        let unit = self.values.unit;
        let mut out = BTreeSet::new();
        let is_empty =
            |value: &Expr<'t>| matches!(&value.kind, Kind::List(items) if items.is_empty());
        let mut see = |field: &Field<'u, 't>| {
            if let Some(name) = field.name.as_deref().filter(|_| is_empty(field.value)) {
                out.insert(name.rsplit('.').next().unwrap_or(name).to_owned());
            }
        };
        unit.each(|scope, expr| {
            let Some(call) = expr.call() else { return };
            if !call.method().is_some_and(|method| UPDATES.contains(&method)) {
                return;
            }
            for arg in call.args.iter().skip(1) {
                for field in self.operands(&arg.value, scope) {
                    match field.is("$set") {
                        true => self.operands(field.value, field.scope).iter().for_each(&mut see),
                        false => see(&field),
                    }
                }
            }
        });
        let saved = |root: &str| {
            let save = format!("{root}.save(");
            self.text.contains(&save)
        };
        for statement in &unit.statements {
            let StatementKind::Assign { target, value, adds: false } = &statement.kind else {
                continue;
            };
            let Some(path) = target.path().filter(|_| is_empty(value)) else { continue };
            let Some((root, leaf)) = path.rsplit_once('.') else { continue };
            let is_this = matches!(root, "this" | "self");
            if !is_this && saved(root.split('.').next().unwrap_or(root)) {
                out.insert(leaf.to_owned());
            }
        }
        out
    }

    /// Whether an update sets the state of what it changes, `$set: {status: 'paid'}`, to something that its filter does
    /// not ask for already.
    pub(super) fn sets_state(&self, update: &[Field<'u, 't>], filter: &[Field<'u, 't>]) -> bool {
        let written = |field: &Field<'u, 't>| self.text.get(field.value.at..field.value.end);
        let sets = |field: &Field<'u, 't>| {
            field.name.as_deref().is_some_and(is_state)
                && !filter
                    .iter()
                    .any(|had| had.name == field.name && written(had) == written(field))
        };
        update.iter().any(|entry| match entry.is("$set") {
            true => self.operands(entry.value, entry.scope).iter().any(sets),
            false => sets(entry),
        })
    }
}

/// Whether a name says the state of something: `orderStatus`, `payment.state`.
pub(super) fn is_state(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    ["status", "state", "stage", "phase"].iter().any(|end| lower.ends_with(end))
}

/// Whether an array has an element for each step of something, by its name: a history, but not that of what somebody
/// does each day.
pub(super) fn is_of_steps(path: &str) -> bool {
    const DAILY: [&str; 9] =
        ["login", "search", "browse", "brows", "view", "watch", "chat", "location", "play"];
    let lower = path.rsplit('.').next().unwrap_or(path).to_ascii_lowercase();
    ["history", "histories", "timeline", "events", "transactions", "tracking", "trackings"]
        .iter()
        .any(|end| lower.ends_with(end))
        && !DAILY.iter().any(|word| lower.starts_with(word))
}
