//! Changes of parent and child that must be atomic but are in two documents. Both are written in
//! one transaction (CK-10).

use bson::doc;
use docward_model::{BsonType, DesignWrite, Relationship, shell::quote};

use super::plans::{Plans, at, is_one_of_each, root_in, unless_matched, update, varies, vary};
use crate::decide::decision::Decision;
use crate::declared::field_plan::{Origin, Planned};
use crate::emit::example::day;
use crate::emit::js::{self, given};
use crate::emit::statement::{Job, Step};
use crate::layout::collection::CollectionPlan;

/// What a function does to a child.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Act {
    Adds,
    Changes,
    Removes,
}

impl Act {
    /// Whether a write does this to the children of a relationship and keeps the parent.
    pub(super) fn is_done_by(self, write: &DesignWrite, r: &Relationship) -> bool {
        let does = match self {
            Self::Adds => &write.inserts,
            Self::Changes => &write.updates,
            Self::Removes => &write.deletes,
        };
        let whole = write.inserts.iter().chain(&write.deletes);
        does.contains(&r.child) && !whole.into_iter().any(|entity| *entity == r.parent)
    }
}

/// For a check: the error code for an invalid child, and a call with such a child.
pub(super) type Bad<'c> = (&'c str, &'c dyn Fn(&str) -> String);

impl<'m> Plans<'m> {
    /// Returns the declared writes that change parent and child atomically.
    pub(super) fn atomic(
        &self,
        r: &'m Relationship,
    ) -> impl Iterator<Item = &'m DesignWrite> + use<'m> {
        let writes = self.layout.model.writes.iter();
        writes.filter(|write| write.atomic && write.touches(&r.parent) && write.touches(&r.child))
    }

    /// Whether an existing parent changes together with an added child.
    pub(super) fn adds_both(&self, r: &'m Relationship, decision: &Decision) -> bool {
        let makes_both = |write: &DesignWrite| {
            write.inserts.contains(&r.parent) && write.inserts.contains(&r.child)
        };
        let mut writes = self.atomic(r).filter(|write| !makes_both(write));
        decision.needs_transaction && (r.invariant.is_some() || writes.next().is_some())
    }

    /// Whether a remaining parent changes together with a removed child.
    pub(super) fn removes_both(&self, r: &'m Relationship, decision: &Decision) -> bool {
        let goes = |write: &DesignWrite| {
            write.deletes.contains(&r.child) && !write.deletes.contains(&r.parent)
        };
        decision.needs_transaction && (r.invariant.is_some() || self.atomic(r).any(goes))
    }

    /// Returns the name of the parameter for the change of one end.
    pub(super) fn update_of(entity: &str, taken: &[String]) -> String {
        let name = js::parameter(&format!("{entity} update"));
        if taken.contains(&name) { format!("{name}_") } else { name }
    }

    /// Returns a function that changes a child and its parent in one transaction. `read` is code
    /// that finds the removed child, because only the transaction knows what the parent loses with
    /// it.
    pub(super) fn with_parent(
        &self,
        r: &'m Relationship,
        job: &Job,
        (parent, parent_id): (&CollectionPlan, &str),
        (keeps, read): (bool, Option<&str>),
    ) -> Job {
        let mut parameters = job.parameters.clone();
        let name = Self::update_of(&r.parent, &parameters);
        let is_set = |write: &DesignWrite| write.sets.iter().any(|(e, _)| *e == r.parent);
        // A declared write that sets parent fields makes the update mandatory.
        let optional = keeps && !self.atomic(r).any(is_set);
        parameters.push(format!("{name}{}", if optional { " = null" } else { "" }));
        let mut inner = Vec::new();
        if let Some(read) = read {
            let may_lack = if optional { format!("{name} != null && ") } else { String::new() };
            let why = format!(
                "{name} is a function of (gone), because the transaction reads the old value"
            );
            inner.push(Step::Code(format!(
                "if ({may_lack}typeof {name} !== \"function\") throw new Error({});",
                quote(&why)
            )));
            inner.push(Step::Code(format!("const gone = {read};")));
        }
        inner.extend([
            Step::Code(format!("const result = {}(db, {});", job.name, job.parameters.join(", "))),
            Step::Code("if (result === false) return false;".to_owned()),
        ]);
        let mut does = match read {
            None => format!(
                "Runs `{}`, and `{name}` on its `{}`, in one transaction: both are written, or \
                 neither.",
                job.name, r.parent
            ),
            Some(_) => format!(
                "Runs `{}`, and on its `{}` the update that `{name}(gone)` returns, in one \
                 transaction: both are written, or neither. If the transaction is retried, \
                 `{name}` is called again.",
                job.name, r.parent
            ),
        };
        if optional {
            inner.push(Step::Code(format!("if ({name} == null) return result;")));
            does.push_str(&format!(
                " The function always writes what the `{}` stores about its `{}`; without an \
                 update, it changes nothing else.",
                r.parent,
                r.role()
            ));
        }
        let made = if read.is_some() { format!("{name}(gone)") } else { name };
        inner.push(Step::Let("done", update(parent, parent_id, given(made))));
        inner.push(unless_matched(&r.parent));
        inner.push(Step::Code("return result;".to_owned()));
        if let Some(invariant) = &r.invariant {
            does.push_str(&format!(" The update must preserve: {invariant}."));
        }
        does.push_str(" Needs a replica set or a sharded cluster.");
        Job {
            name: format!("{}InTransaction", job.name),
            parameters,
            does,
            clauses: vec!["CK-10"],
            steps: vec![
                Step::Code("return inTransaction(db, (db) => {".to_owned()),
                Step::Inside(inner),
                Step::Code("});".to_owned()),
            ],
        }
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

    /// Returns lines of a check: both documents are written, and an error in one undoes both.
    /// `call` writes a call with a change of the parent. `bad` writes a call with an invalid child
    /// and gives its error code. `count` counts the children.
    pub(super) fn both_check(
        &self,
        r: &'m Relationship,
        parent: &'m CollectionPlan,
        call: impl Fn(&str) -> String,
        checked: (Option<Bad<'_>>, &str, i32),
    ) -> Vec<String> {
        let lines = self.both_lines(r, parent, "a transaction", call, checked);
        if lines.is_empty() {
            return lines;
        }
        let mut all = vec!["if (transactions) {".to_owned()];
        all.extend(lines.iter().flat_map(|line| line.lines()).map(|line| format!("  {line}")));
        all.push("}".to_owned());
        all
    }

    /// Returns the same lines for any mechanism that changes both.
    pub(super) fn both_lines(
        &self,
        r: &'m Relationship,
        parent: &'m CollectionPlan,
        does: &str,
        call: impl Fn(&str) -> String,
        (bad, count, by): (Option<Bad<'_>>, &str, i32),
    ) -> Vec<String> {
        let Some(field) = self.checked_field(r, parent) else { return Vec::new() };
        let read = at(&root_in(&parent.name), &field.name);
        let value = match (field.kind, field.values.as_slice()) {
            (_, [_, ..]) => {
                let all: Vec<String> = field.values.iter().map(|value| quote(value)).collect();
                format!("[{}].find((one) => one !== {read})", all.join(", "))
            }
            (BsonType::Bool, _) => format!("!{read}"),
            // An integer that no other document of the check has.
            (BsonType::Int | BsonType::Long, _) => "1000000 + unique()".to_owned(),
            (BsonType::Double, _) => "1000000.5 + unique()".to_owned(),
            (BsonType::Decimal, _) => "NumberDecimal(`${1000000 + unique()}.25`)".to_owned(),
            _ => vary(field, true, day(self.layout.model)),
        };
        let set = |value: &str| setting(&field.name, value);
        let what = match by {
            0 => "sets it",
            1.. => "adds one",
            _ => "takes one away",
        };
        let mut lines = vec![
            format!("const was = {count};"),
            format!("const had = plain({{ is: {read} }});"),
            format!(
                "refused(\"a change of the parent that is refused\", 121, () => {});",
                call(&set("MinKey()"))
            ),
            format!("expect(\"undoes both: the child (CK-10)\", {count}, was);"),
            format!("expect(\"and the parent (CK-10)\", plain({{ is: {read} }}), had);"),
            format!("const put = {value};"),
            format!("{};", call(&set("put"))),
            format!("expect(\"{does} {what} (CK-10)\", {count}, was + {by});"),
            format!("expect(\"and changes the parent (CK-10)\", plain({read}), plain(put));"),
        ];
        if let Some((code, bad)) = bad {
            lines.push(format!("const kept = {count};"));
            let bad = bad(&set(&value));
            lines.push(format!("refused(\"a child that is refused\", {code}, () => {bad});"));
            lines
                .push(format!("expect(\"changes no parent (CK-10)\", plain({read}), plain(put));"));
            lines.push(format!("expect(\"and adds no child (CK-10)\", {count}, kept);"));
        }
        lines
    }
}

/// Returns an update that sets a field, for a check.
fn setting(path: &str, value: &str) -> String {
    js::object(&doc! { "$set": { path: given(value) } }, 0)
}
