//! Changes of parent and child that must be atomic: in one write if the child is embedded, in one
//! transaction if it is a separate document (DP-3, ER-T.4, CK-10).

use bson::{Bson, Document, doc};
use docward_model::{BsonType, DesignWrite, Relationship, shell::quote};

use super::plans::{Plans, at, is_one_of_each, update, varies, vary};
use crate::decide::decision::Decision;
use crate::declared::field_plan::{Origin, Planned};
use crate::emit::example::day;
use crate::emit::expectations::{Check, root_in};
use crate::emit::js::{self, SPREAD, given};
use crate::emit::statement::{Job, Statement, Step};
use crate::layout::collection::CollectionPlan;

/// The change of a child by a function.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Act {
    Adds,
    Changes,
    Removes,
}

impl Act {
    /// Whether a write does this to the children of a relationship and keeps the parent.
    fn is_done_by(self, write: &DesignWrite, r: &Relationship) -> bool {
        let does = match self {
            Self::Adds => &write.inserts,
            Self::Changes => &write.updates,
            Self::Removes => &write.deletes,
        };
        let whole = write.inserts.iter().chain(&write.deletes);
        does.contains(&r.child) && !whole.into_iter().any(|entity| *entity == r.parent)
    }
}

/// A parameter with update operators for the parent, if the function has one.
pub(super) struct ParentUpdate {
    name: Option<String>,
    /// Whether callers must pass it, because a declared write sets fields of the parent.
    is_required: bool,
    /// The text about it in the function's comment.
    pub(super) words: String,
}

impl ParentUpdate {
    pub(super) fn exists(&self) -> bool {
        self.name.is_some()
    }

    /// Returns the argument for checks that change no other data.
    pub(super) fn nothing(&self) -> &'static str {
        if self.is_required { ", {}" } else { "" }
    }

    /// Returns an update that also contains the operators of the parameter.
    pub(super) fn joined(&self, update: Document) -> Bson {
        let Some(name) = &self.name else { return update.into() };
        let mut joined = doc! { SPREAD: given(name) };
        for (operator, part) in update {
            let mut both = doc! { SPREAD: given(format!("{name}.{operator}")) };
            match part {
                Bson::Document(part) => both.extend(part),
                // Computed parts are also spread.
                code => {
                    both.insert(format!("{SPREAD}."), code);
                }
            }
            joined.insert(operator, both);
        }
        joined.into()
    }

    /// Adds the parameter to a function, which fails if a required one is missing.
    pub(super) fn added_to(&self, mut job: Job) -> Job {
        job.does.push_str(&self.words);
        let Some(name) = &self.name else { return job };
        match self.is_required {
            true => {
                let why = format!("{name} is missing: the update of the parent in the same write");
                job.steps.insert(0, Step::fail_if(format!("{name} == null"), why));
                job.parameters.push(name.clone());
            }
            false => job.parameters.push(format!("{name} = {{}}")),
        }
        job
    }
}

/// The call, in a check, of a function that changes a child and its parent.
pub(super) struct BothCall<'c> {
    /// The means of writing both: a transaction or one write.
    pub(super) with: &'c str,
    /// Returns a call with an update of the parent.
    pub(super) call: &'c dyn Fn(&str) -> String,
    /// An expression for the number of children.
    pub(super) count: &'c str,
    /// The amount by which a call changes this number.
    pub(super) by: i32,
}

impl<'m> Plans<'m> {
    /// Returns the declared writes that change parent and child atomically.
    pub(super) fn atomic(
        &self,
        r: &'m Relationship,
    ) -> impl Iterator<Item = &'m DesignWrite> + use<'m> {
        let writes = self.layout.model.writes.iter();
        writes.filter(|write| write.atomic && write.touches(&r.parent) && write.touches(&r.child))
    }

    /// Returns the parent update of a function that changes an embedded child. It exists if a
    /// declared write or an invariant requires that both change together.
    pub(super) fn parent_update(
        &self,
        r: &'m Relationship,
        act: Act,
        parameters: &[&str],
    ) -> ParentUpdate {
        let mut writes = self.atomic(r).filter(|write| act.is_done_by(write, r)).peekable();
        if r.invariant.is_none() && writes.peek().is_none() {
            return ParentUpdate { name: None, is_required: false, words: String::new() };
        }
        let is_required = writes.any(|write| sets_parent(write, r)) || r.invariant.is_some();
        let name = update_of(&r.parent, parameters);
        let mut words = format!(
            " `{name}` changes the `{}` in the same write (DP-3, ER-T.4), with operators such as \
             `$inc` and `$set`.",
            r.parent
        );
        if let Some(invariant) = &r.invariant {
            words.push_str(&format!(" It must preserve: {invariant}."));
        }
        ParentUpdate { name: Some(name), is_required, words }
    }

    /// Whether an existing parent changes together with a child that is a separate document.
    pub(super) fn needs_both(&self, r: &'m Relationship, decision: &Decision, act: Act) -> bool {
        let is_done = |write: &DesignWrite| match act {
            Act::Adds => !(write.inserts.contains(&r.parent) && write.inserts.contains(&r.child)),
            act => act.is_done_by(write, r),
        };
        decision.needs_transaction && (r.invariant.is_some() || self.atomic(r).any(is_done))
    }

    /// Returns a function that changes a child and its parent in one transaction. `read` finds the
    /// removed child, because only the transaction can determine what the parent loses with it. The
    /// update is optional if the parent keeps a summary, which the function changes anyway.
    pub(super) fn with_parent(
        &self,
        r: &'m Relationship,
        job: &Job,
        parent: &CollectionPlan,
        keeps: bool,
        read: Option<Statement>,
    ) -> Job {
        let parameters: Vec<&str> = job.parameters.iter().map(String::as_str).collect();
        let name = update_of(&r.parent, &parameters);
        let (mut change, mut said) = (name.clone(), format!("`{name}`"));
        if read.is_some() {
            change = format!("{name}(gone)");
            said = format!("the update that `{name}(gone)` returns");
        }
        let own = job.parameters.join(", ");
        let inner = [
            read.map(|read| Step::Let("gone", read)),
            Some(Step::code(format!("const result = {}(db, {own});", job.name))),
            Some(Step::return_if("result === false", "false")),
            keeps.then(|| Step::return_if(format!("{name} == null"), "result")),
            Some(Step::Let("done", update(parent, &job.parameters[0], given(change)))),
            Some(Step::unless_matched(&r.parent)),
            Some(Step::code("return result;")),
        ];
        let mut does = format!(
            "Runs `{}`, and {said} on its `{}`, in one transaction: both are written, or \
             neither. If the transaction is retried, everything is called again.",
            job.name, r.parent
        );
        if keeps {
            does.push_str(" Without an update, it changes only what the parent stores anyway.");
        }
        if let Some(invariant) = &r.invariant {
            does.push_str(&format!(" The update must preserve: {invariant}."));
        }
        does.push_str(" Needs a replica set or a sharded cluster.");
        let inner = inner.into_iter().flatten().collect();
        let run = Step::Block("return inTransaction(db, (db) => {".to_owned(), inner, "});");
        let last = if keeps { format!("{name} = null") } else { name };
        let parameters: Vec<&str> = parameters.into_iter().chain([last.as_str()]).collect();
        Job::new(&format!("{}InTransaction", job.name), &parameters, does, [run]).by(&["CK-10"])
    }

    /// Returns a field of the parent that a check changes: one that a declared write sets, or any
    /// suitable one.
    fn checked_field(
        &self,
        r: &'m Relationship,
        parent: &'m CollectionPlan,
    ) -> Option<&'m Planned> {
        let entity = self.layout.model.entity(&r.parent)?;
        let is_fit = |field: &&Planned| {
            let declared = entity.field(&field.name);
            (varies(field) || field.kind == BsonType::Bool)
                && field.origin == Origin::Own
                && field.values.len() != 1
                && declared.is_some_and(|own| !own.unique)
                && !is_one_of_each(parent, &field.name)
        };
        let sets = self.atomic(r).flat_map(|write| &write.sets);
        let mut set = sets.filter(|(entity, _)| *entity == r.parent).filter_map(|(_, name)| {
            parent.fields.iter().find(|field| field.name == *name).filter(&is_fit)
        });
        set.next().or_else(|| parent.fields.iter().find(is_fit))
    }

    /// Returns lines of a check: both are written, and an error in one undoes both.
    pub(super) fn both_check(
        &self,
        r: &'m Relationship,
        parent: &'m CollectionPlan,
        one: &BothCall<'_>,
    ) -> Check {
        let mut check = Check::default();
        let Some(field) = self.checked_field(r, parent) else { return check };
        let read = at(&root_in(&parent.name), &field.name);
        let value = match (field.kind, field.values.as_slice()) {
            (_, [_, ..]) => {
                let all: Vec<String> = field.values.iter().map(|value| quote(value)).collect();
                format!("[{}].find((one) => one !== {read})", all.join(", "))
            }
            (BsonType::Bool, _) => format!("!{read}"),
            _ => vary(field, true, day(self.layout.model)),
        };
        let call = |value: &str| {
            (one.call)(&js::object(&doc! { "$set": { &field.name: given(value) } }, 0))
        };
        let BothCall { with, count, by, .. } = one;
        check.set("was", count);
        check.set("had", format!("plain({{ is: {read} }})"));
        check.refused("a change of the parent that is refused", 121, call("MinKey()"));
        check.expect("undoes both: the child (CK-10)", count, "was");
        check.expect("and the parent (CK-10)", format!("plain({{ is: {read} }})"), "had");
        check.set("put", value);
        check.run(format!("{};", call("put")));
        check.expect(&format!("{with} changes the child (CK-10)"), count, format!("was + {by}"));
        check.expect("and the parent (CK-10)", format!("plain({read})"), "plain(put)");
        check
    }
}

/// Whether a write sets fields of the parent.
fn sets_parent(write: &DesignWrite, r: &Relationship) -> bool {
    write.sets.iter().any(|(entity, _)| *entity == r.parent)
}

/// Returns the name of the parameter for the change of one end.
fn update_of(entity: &str, taken: &[&str]) -> String {
    let name = js::parameter(&format!("{entity} update"));
    if taken.contains(&name.as_str()) { format!("{name}_") } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dp_3_operators_of_both_are_joined() {
        let (name, words) = (Some("more".to_owned()), String::new());
        let also = ParentUpdate { name, is_required: true, words };
        let text = js::value(&also.joined(doc! { "$push": { "items": 1 } }), 0);
        assert_eq!(text, "{ ...more, $push: { ...more.$push, items: 1 } }");
    }
}
