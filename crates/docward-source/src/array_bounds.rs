//! What shows that an array stays short although nothing bounds it: it is emptied now and then, or it notes the steps
//! of one thing until that is done.

use std::collections::BTreeSet;

use docward_model::code::Cap;

use super::{
    Scan,
    ir::{Expr, Kind, ScopeId, ScopeKind, StatementKind},
    read_modify_write::mentions_path,
    updates::UPDATES,
    values::Field,
};

/// Why an array stays short that is emptied.
const EMPTIED: &str = "another statement empties it";
/// Why an array stays short that has one element for each state.
pub(super) const STEPS: &str = "it notes the steps of one thing, whose state is set with it";
/// Why an array stays short of which each key is taken out before it is added.
pub(super) const TAKEN_OUT: &str = "what has the same key is taken out before";

impl<'u, 't> Scan<'u, 't> {
    /// Whether a test of the state of a document leaves the function before a place: `if (order.status !== 'new') return`.
    pub(super) fn asks_state_before(&self, root: &str, at: usize, scope: ScopeId) -> bool {
        let unit = self.values.unit;
        let function = self.outer_function(scope);
        (0..unit.scopes.len()).any(|id| {
            let inner = &unit.scopes[id];
            let ScopeKind::Branch(Some(condition)) = &inner.kind else { return false };
            let text = self.text.get(inner.at..inner.end).unwrap_or_default();
            let leaves = ["return", "throw", "raise"].iter().any(|word| text.contains(word));
            let mut asks = false;
            condition.visit(&mut |expr| {
                let Kind::Binary(sign, left, right) = &expr.kind else { return };
                let of = left.path();
                let state =
                    of.as_deref().and_then(|path| path.strip_prefix(root)?.strip_prefix('.'));
                asks |= matches!(*sign, "===" | "!==" | "==" | "!=")
                    && state.is_some_and(is_state)
                    && matches!(right.kind, Kind::Text(_));
            });
            inner.end <= at
                && leaves
                && asks
                && unit.is_in(id, function)
                && unit.is_in(scope, inner.parent)
        })
    }

    /// Whether elements with a key are taken out on the way to adding one with it: `post.votes = post.votes.filter((vote) =>
    /// vote.userId !== userId); post.votes.push({userId, …})`.
    pub(super) fn takes_same_key_out(&self, whole: &str, at: usize, scope: ScopeId) -> bool {
        let unit = self.values.unit;
        let Some(pushed) = self.text.get(at..).and_then(|text| text.split(';').next()) else {
            return false;
        };
        unit.statements.iter().any(|statement| {
            let StatementKind::Assign { target, value, adds: false } = &statement.kind else {
                return false;
            };
            let is_before = value.end <= at && unit.is_in(scope, statement.scope);
            let is_same = target.path().as_deref() == Some(whole);
            let Some(call) = value.call().filter(|call| call.method() == Some("filter")) else {
                return false;
            };
            let of = call.receiver().and_then(Expr::path);
            let kept = self.text.get(value.at..value.end).unwrap_or_default();
            // `vote.userId.toString() !== userId`: the key is a member of the element.
            let unlike = kept.split_once("!=").map(|(element, _)| element);
            let key = unlike.and_then(|element| {
                let mut members = element.rsplit(|c: char| !c.is_alphanumeric() && c != '_');
                members.find(|word| !matches!(*word, "" | "toString" | "_id" | "equals"))
            });
            is_before
                && is_same
                && of.as_deref() == Some(whole)
                && key.is_some_and(|key| names_word(pushed, key))
        })
    }

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

    /// What a function takes out of an array and puts into it, or empties before it fills it, is replaced.
    pub(super) fn replaced(&mut self) {
        let emptied: BTreeSet<(Option<String>, String)> = self
            .out
            .code
            .set_paths
            .iter()
            .filter(|set| matches!(set.operator.as_str(), "$pull" | "$pullAll" | "$pop" | "$unset"))
            .map(|set| (set.place.function.clone(), set.path.clone()))
            .collect();
        for append in &mut self.out.code.appends {
            let key = (append.place.function.clone(), append.path.clone());
            if append.cap == Cap::None && key.0.is_some() && emptied.contains(&key) {
                append.cap = Cap::Guard("the same function takes elements out of it".to_owned());
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
            let is_cut = |path: &String| is_empty(value) || self.is_cut_by_age(value, path);
            let Some(path) = target.path().filter(is_cut) else { continue };
            let Some((root, leaf)) = path.rsplit_once('.') else { continue };
            let is_this = matches!(root, "this" | "self");
            // `if (!post.comments) post.comments = []` begins it.
            let begins = unit.around(statement.scope).any(|id| match &unit.scopes[id].kind {
                ScopeKind::Branch(Some(condition)) => mentions_path(condition, &path),
                _ => false,
            });
            if !is_this && !begins && saved(root.split('.').next().unwrap_or(root)) {
                out.insert(leaf.to_owned());
            }
        }
        out
    }

    /// Whether a list is what of it is not too old: `log.filter((entry) => entry.date >= since)`. Who takes out one by
    /// its key leaves the others.
    fn is_cut_by_age(&self, value: &Expr<'t>, path: &str) -> bool {
        let Some(call) = value.call().filter(|call| call.method() == Some("filter")) else {
            return false;
        };
        let is_itself = call.receiver().and_then(Expr::path).is_some_and(|of| of == path);
        let kept = call.args.first().and_then(|arg| self.text.get(arg.value.at..arg.value.end));
        let compares = |kept: &str| {
            let kept = kept.replace("=>", "");
            let is_of_time =
                ["date", "time", "At ", "at)", "since", "ago", "expire", "now", "timestamp"]
                    .iter()
                    .any(|word| kept.to_ascii_lowercase().contains(&word.to_ascii_lowercase()));
            is_of_time && (kept.contains('>') || kept.contains('<'))
        };
        is_itself && kept.is_some_and(compares)
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

/// Whether a function sets the state of a document: `order.status = 'paid'`.
pub(super) fn sets_state_of(text: &str, root: &str) -> bool {
    let member = format!("{root}.");
    text.match_indices(member.as_str()).any(|(at, _)| {
        let rest = &text[at + member.len()..];
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        let (name, behind) = rest.split_at(end);
        let behind = behind.trim_start();
        is_state(name) && behind.starts_with('=') && !behind.starts_with("==")
    })
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
    const STEPS: [&str; 15] = [
        "history",
        "histories",
        "timeline",
        "events",
        "transactions",
        "tracking",
        "trackings",
        "log",
        "logs",
        "audit",
        "trail",
        "approvals",
        "attempts",
        "steps",
        "transitions",
    ];
    STEPS.iter().any(|end| lower.ends_with(end))
        && !DAILY.iter().any(|word| lower.starts_with(word))
}

/// Whether a text has a word.
fn names_word(text: &str, word: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|known| known == word)
}
