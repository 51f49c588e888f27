//! Parent and children that change together in two documents: both are written in one transaction (CK-10).

use bson::{Bson, Document, doc};
use docward_model::shell::quote;
use docward_model::{BsonType, DesignWrite, EntityField, Relationship};

use crate::decide::decision::Decision;
use crate::declared::field_plan::{self, Origin, Planned};
use crate::emit::js::{self, SPREAD, given, member_of};
use crate::emit::statement::{Job, Method, Statement, Step};
use crate::layout::collection::Purpose;

use super::child_refs::at;
use super::{Place, Plans, unless_matched, vary};

/// What a function in a transaction does to the parent.
#[derive(Clone, Copy)]
pub(super) struct Both<'p, 'm> {
    /// Where the parent is, and the parameter of its id.
    pub(super) parent: &'p Place<'m>,
    pub(super) parent_id: &'p str,
    /// Whether the function that is called writes what the parent keeps of its children.
    pub(super) keeps: bool,
    /// What it does to a child.
    pub(super) act: Act,
    /// Where a child is that is only linked, and the parameter of its id: it may change, too.
    pub(super) child: Option<(&'p Place<'m>, &'p str)>,
    /// Code that finds a child that is there, as it is changed or removed: in the first of these places that has it.
    pub(super) found: &'p [String],
}

/// What a function does to a child.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Act {
    /// Makes it, or links it.
    Adds,
    Changes,
    Removes,
}

/// Where the update of a parent is made.
#[derive(Clone, Copy)]
pub(super) enum Made<'a> {
    /// By the caller, who knows what is added, or linked.
    Outside(Act, bool),
    /// In the transaction, of what was there.
    Inside(Act),
    /// On the server, behind a change of the list of that path.
    Stages(Act, &'a str),
}

impl Act {
    /// What the update of the parent is made of: what was there is known in the transaction only. Whoever adds one
    /// knows what is added.
    fn given(self) -> Option<&'static str> {
        match self {
            Self::Adds => None,
            Self::Changes => Some("before, after"),
            Self::Removes => Some("gone"),
        }
    }

    /// Whether a write does so to the children of a relationship whose parent stays.
    pub(super) fn is_done_by(self, write: &DesignWrite, r: &Relationship) -> bool {
        let does = match self {
            Self::Adds => &write.inserts,
            Self::Changes => &write.updates,
            Self::Removes => &write.deletes,
        };
        let whole = write.inserts.iter().chain(&write.deletes);
        does.contains(&r.child) && !whole.into_iter().any(|entity| *entity == r.parent)
    }

    /// In a check: an update as the function takes it.
    pub(super) fn takes(self, update: &str) -> String {
        match self.given() {
            None => update.to_owned(),
            Some(_) => format!("() => ({update})"),
        }
    }
}

/// In a check: writes an update that gives a field a value.
pub(super) type Setting<'c> = dyn Fn(&str, &str) -> String + 'c;

/// In a check: the code that a child is refused with, and a call that has such a child.
pub(super) type Bad<'c> = (&'c str, &'c dyn Fn(&str) -> String);

impl<'m> Plans<'m> {
    /// Declared writes that change parent and child as a whole.
    pub(super) fn atomic(
        &self,
        r: &'m Relationship,
    ) -> impl Iterator<Item = &'m DesignWrite> + use<'m> {
        let writes = self.layout.model.writes.iter();
        writes.filter(|write| write.atomic && write.touches(&r.parent) && write.touches(&r.child))
    }

    /// Whether a write that is all or nothing sets fields of an end.
    pub(super) fn is_set_together(&self, r: &'m Relationship, end: &str) -> bool {
        self.atomic(r).any(|write| write.sets.iter().any(|(entity, _)| entity == end))
    }

    /// Whether a write makes parent and child at once.
    fn makes_both(write: &DesignWrite, r: &Relationship) -> bool {
        write.inserts.contains(&r.parent) && write.inserts.contains(&r.child)
    }

    /// Whether a parent that is there is changed along with its children.
    pub(super) fn changes_both(&self, r: &'m Relationship, decision: &Decision) -> bool {
        let mut writes = self.atomic(r).filter(|write| !Self::makes_both(write, r));
        decision.needs_transaction && (r.invariant.is_some() || writes.next().is_some())
    }

    /// Whether one that goes changes the parent that stays.
    pub(super) fn removes_both(&self, r: &'m Relationship, decision: &Decision) -> bool {
        let goes = |write: &DesignWrite| {
            write.deletes.contains(&r.child) && !write.deletes.contains(&r.parent)
        };
        decision.needs_transaction && (r.invariant.is_some() || self.atomic(r).any(goes))
    }

    /// The parameter for the change of one end.
    pub(super) fn update_of(entity: &str, taken: &[String]) -> String {
        let name = js::parameter(&format!("{entity} update"));
        if taken.contains(&name) { format!("{name}_") } else { name }
    }

    /// The same, where both must change together.
    pub(super) fn together(
        &self,
        r: &'m Relationship,
        decision: &Decision,
        job: &Job,
        both: Both<'_, 'm>,
    ) -> Option<Job> {
        self.changes_both(r, decision).then(|| self.with_parent(r, job, both))
    }

    /// A function and a change of the parent in one transaction.
    pub(super) fn with_parent(&self, r: &'m Relationship, job: &Job, both: Both<'_, 'm>) -> Job {
        let Both { parent, parent_id, keeps, .. } = both;
        let mut parameters = job.parameters.clone();
        if !parameters.iter().any(|name| name == parent_id) {
            parameters.insert(0, parent_id.to_owned());
        }
        let update = Self::update_of(&r.parent, &parameters);
        let name = format!("{}InTransaction", job.name);
        // What a declared write sets is not forgotten in silence; what none sets is nobody's duty.
        let sets_child = both.child.is_some() && self.is_set_together(r, &r.child);
        let optional = (keeps || sets_child) && !self.is_set_together(r, &r.parent);
        let role = self.layout.naming.singular(r.role());
        let behind = match sets_child {
            true => format!(", {}", Self::update_of(&role, &parameters)),
            false => String::new(),
        };
        let by = match both.act {
            Act::Adds => Made::Outside(Act::Adds, both.child.is_some()),
            act => Made::Inside(act),
        };
        let sample = self.example_call(r, &name, (&parameters, &behind), (parent, by));
        let by_default = if optional && !sets_child { " = null" } else { "" };
        parameters.push(format!("{update}{by_default}"));
        let found = both.found.join("\n      ?? ");
        let read = |name: &str| Step::Code(format!("const {name} = {found};"));
        let mut inner = Vec::new();
        if let Some(of) = both.act.given() {
            let may_lack = if optional { format!("{update} != null && ") } else { String::new() };
            let why = format!(
                "{update} is a function of ({of}): what was there is read in the transaction"
            );
            inner.push(Step::Code(format!(
                "if ({may_lack}typeof {update} !== \"function\") throw new Error({});",
                quote(&why)
            )));
            inner.push(read(of.split(',').next().unwrap_or(of)));
        }
        inner.extend([
            Step::Code(format!("const result = {}(db, {});", job.name, job.parameters.join(", "))),
            Step::Code("if (result === false) return false;".to_owned()),
        ]);
        let mut does = match both.act.given() {
            None => format!(
                "`{}`, and `{update}` on its `{}`, in one transaction: both are done, or nothing.",
                job.name, r.parent
            ),
            Some(of) => format!(
                "`{}`, and what the function `{update}` makes of ({of}) on its `{}`, in one transaction: both are done, or nothing. It is called again when the transaction is.",
                job.name, r.parent
            ),
        };
        if let Some((child, id)) = both.child {
            let other = Self::update_of(&role, &parameters);
            let change = Step::Run(child.update(id, given(&other)));
            if sets_child {
                inner.push(change);
            } else {
                inner.push(Step::Code(format!("if ({other} !== null) {{")));
                inner.push(Step::Inside(vec![change]));
                inner.push(Step::Code("}".to_owned()));
            }
            does.push_str(&format!(
                " The link itself changes no field of the `{}`: `{other}` does{}.",
                r.child,
                if sets_child { "" } else { ", where it is given" }
            ));
            parameters.push(if sets_child { other } else { format!("{other} = null") });
        }
        if optional {
            inner.push(Step::Code(format!("if ({update} == null) return result;")));
        }
        let made = match both.act.given() {
            None => update.clone(),
            Some(of) => format!("{update}({of})"),
        };
        if both.act == Act::Changes {
            inner.push(read("after"));
        }
        inner.push(Step::Let("done", parent.update(parent_id, given(made))));
        inner.push(unless_matched(&r.parent));
        inner.push(Step::Code("return result;".to_owned()));
        if optional && sets_child {
            does.push_str(&format!(" `{update}` may be null: no declared write asks for it."));
        } else if optional {
            does.push_str(&format!(
                " What the `{}` keeps of its `{}` is written anyway; without an update nothing else of it is.",
                r.parent,
                r.role()
            ));
        }
        does.push_str(&Self::fields_of(parent));
        if let Some(invariant) = &r.invariant {
            does.push_str(&format!(" The update has to keep it true: {invariant}."));
        }
        does.push_str(&sample);
        does.push_str(" Needs a replica set or a cluster.");
        Job { name, parameters, does, clauses: vec!["CK-10"], steps: in_transaction(inner) }
    }

    /// How an update names the fields of an entity that is not at the top of its document.
    pub(super) fn fields_of(parent: &Place<'m>) -> String {
        if let Some(list) = parent.list() {
            format!(" In the update, fields of the one are `{list}.$.…`.")
        } else if !parent.path.is_empty() {
            format!(" In the update, its fields are `{}…`.", parent.path)
        } else {
            String::new()
        }
    }

    /// A new parent with its first children in one transaction, where a declared write makes both.
    pub(super) fn made_together(
        &self,
        r: &'m Relationship,
        decision: &Decision,
        add: &str,
        parent: &Place<'m>,
    ) -> Option<Job> {
        let write = self.atomic(r).find(|write| Self::makes_both(write, r))?;
        // More than a document follows from a parent that names others.
        let is_plain = parent.path.is_empty() && self.ids_with_more(&r.parent).is_empty();
        if !decision.needs_transaction || !is_plain || r.parent == r.child {
            return None;
        }
        let (one, many) = (js::parameter(&r.parent), js::parameter(r.role()));
        let document = doc! { SPREAD: given(&one), "_id": given("_id") };
        let inner = vec![
            Step::Code(format!("const _id = {one}._id ?? new ObjectId();")),
            Step::Run(Statement::insert(&parent.collection.name, document)),
            Step::Code(format!("for (const one of {many}) {add}(db, _id, one);")),
            Step::Code("return _id;".to_owned()),
        ];
        Some(Job {
            name: format!("{}InTransaction", js::function(&["add", &r.parent, "with", r.role()])),
            parameters: vec![one, many],
            does: format!(
                "For `{}`: inserts one of `{}` and calls `{add}` for each of its `{}`, in one transaction: all of them are there then, or none. Needs a replica set or a cluster.",
                write.name,
                r.parent,
                r.role()
            ),
            clauses: vec!["CK-10"],
            steps: in_transaction(inner),
        })
    }

    /// A change of a child that is there, by itself and with its parent, where a declared write changes both.
    pub(super) fn changed_together(
        &self,
        r: &'m Relationship,
        decision: &Decision,
        (children, child_id, held): (&str, &str, &str),
        both: Both<'_, 'm>,
    ) -> Vec<Job> {
        let changes = |write: &DesignWrite| {
            write.updates.contains(&r.child) && write.updates.contains(&r.parent)
        };
        let entity = self.layout.model.entity(&r.child);
        let has_versions = entity.and_then(|e| self.beside(e, &Purpose::Versions)).is_some();
        if !decision.needs_transaction || has_versions || !self.atomic(r).any(changes) {
            return Vec::new();
        }
        let filter = doc! { "_id": given(child_id), held: given(both.parent_id) };
        let found = [Statement::new(children, Method::FindOne, [filter.clone().into()]).shell(4)];
        let mut steps = self.begin_change(&r.child, children, filter);
        steps.push(Step::Code("return true;".to_owned()));
        let parameters = [both.parent_id, child_id, "changes"].map(str::to_owned).to_vec();
        let job = Job {
            name: self.name("change", r, false),
            parameters,
            does: format!("Changes one of `{}`.", r.name),
            clauses: vec!["PT-ref.1"],
            steps,
        };
        let changes = Both { act: Act::Changes, keeps: false, found: &found, ..both };
        let with = self.with_parent(r, &job, changes);
        vec![job, with]
    }

    /// Fields of the parent that declared writes set along with its children.
    fn set_together(&self, r: &'m Relationship, parent: &Place<'m>) -> Vec<&'m Planned> {
        let sets = self.atomic(r).flat_map(|write| &write.sets);
        let names = sets.filter(|(entity, _)| *entity == r.parent).map(|(_, field)| field);
        let mut found: Vec<&Planned> = Vec::new();
        for name in names {
            let field = parent.fields.iter().find(|field| field.name == *name);
            found.extend(field.filter(|field| !found.contains(field)));
        }
        found
    }

    /// The one number of a child, where nothing says that the parent has something else than its sum.
    fn summed(&self, r: &Relationship) -> Option<&'m EntityField> {
        let child = self.layout.model.entity(&r.child)?;
        let mut numbers = child.fields.iter().filter(|field| field_plan::is_number(field.kind));
        let one = numbers.next().filter(|_| numbers.next().is_none());
        one.filter(|_| is_sum(r))
    }

    /// A call as a declared write needs it, in words.
    pub(super) fn example_call(
        &self,
        r: &'m Relationship,
        name: &str,
        (parameters, behind): (&[String], &str),
        (parent, made): (&Place<'m>, Made<'_>),
    ) -> String {
        // Of a write that changes a child that is there, a function that adds one is no example.
        let mut writes = self.atomic(r).filter(|write| match made {
            Made::Outside(_, true) => !write.deletes.contains(&r.child),
            Made::Outside(Act::Adds, false) => write.inserts.contains(&r.child),
            Made::Outside(act, false) | Made::Inside(act) | Made::Stages(act, _) => {
                act.is_done_by(write, r)
            }
        });
        let Some(write) = writes.find(|w| w.sets.iter().any(|(entity, _)| *entity == r.parent))
        else {
            return String::new();
        };
        let is_set = |field: &&Planned| {
            write.sets.iter().any(|(entity, name)| *entity == r.parent && *name == field.name)
        };
        let sets = parent.fields.iter().filter(is_set);
        // Doubles would round what these hold, so the server does the sum.
        let is_exact = |field: &Planned| matches!(field.kind, BsonType::Long | BsonType::Decimal);
        let in_stages = match made {
            Made::Outside(..) => false,
            Made::Inside(_) => parent.list().is_none() && sets.clone().any(is_exact),
            Made::Stages(..) => true,
        };
        let summed = self.summed(r);
        let child_fields =
            || self.layout.model.entity(&r.child).into_iter().flat_map(|child| &child.fields);
        let is_sum = is_sum(r);
        let given_child = js::parameter(&self.layout.naming.singular(r.role()));
        let given_child = given_child.as_str();
        let has_child = parameters.iter().any(|name| name == given_child);
        let (mut more, mut set) = (Document::new(), Document::new());
        for field in sets {
            let path = format!("{}{}", parent.path, field.name);
            if !field_plan::is_number(field.kind) || !field.values.is_empty() {
                let value = match (field.values.last(), field.kind) {
                    (Some(value), _) => quote(value),
                    (None, BsonType::Date) => "new Date()".to_owned(),
                    (None, BsonType::Bool) => "true".to_owned(),
                    _ => "\"…\"".to_owned(),
                };
                set.insert(path, given(value));
                continue;
            }
            let is_set = |own: &&EntityField| {
                write.sets.iter().any(|(entity, name)| *entity == r.child && *name == own.name)
            };
            let mut alike = child_fields().filter(is_set).filter(|own| own.kind == field.kind);
            // What a write sets along with it, or the one number that there is.
            let set_along = alike.next().filter(|_| alike.next().is_none() && is_sum);
            let same = set_along.or(summed.filter(|same| same.kind == field.kind));
            // What may be missing counts as nothing.
            let of = |object: &str| {
                same.map(|same| match same.required && !same.nullable {
                    true => member_of(object, &same.name),
                    false => format!("({} ?? 0)", member_of(object, &same.name)),
                })
            };
            let same = same.map(|same| same.name.as_str());
            if let (Made::Stages(_, list), Some(same)) = (made, same) {
                let sum = doc! { "$sum": format!("${list}.{same}") };
                // Of nothing it is an int.
                let sum: Document = match field.kind {
                    BsonType::Decimal => doc! { "$toDecimal": sum },
                    BsonType::Long => doc! { "$toLong": sum },
                    BsonType::Double => doc! { "$toDouble": sum },
                    _ => sum,
                };
                set.insert(path, sum);
                continue;
            }
            // How much one more or less is, nobody said.
            let (difference, by): (Option<Bson>, Option<String>) = match made {
                Made::Outside(..) => (None, has_child.then(|| of(given_child)).flatten()),
                Made::Inside(Act::Removes) => (
                    of("gone").map(|gone| doc! { "$subtract": [0, given(gone)] }.into()),
                    // The minus of nothing would be a double.
                    of("gone").map(|gone| format!("0 - {gone}")),
                ),
                Made::Inside(_) => {
                    let both = of("after").zip(of("before"));
                    (
                        both.clone()
                            .map(|(is, was)| doc! { "$subtract": [given(is), given(was)] }.into()),
                        both.map(|(is, was)| format!("{is} - {was}")),
                    )
                }
                Made::Stages(..) => (None, None),
            };
            if in_stages {
                let by = difference.unwrap_or_else(|| given("by"));
                set.insert(&path, doc! { "$add": [format!("${path}"), by] });
            } else {
                more.insert(path, given(by.unwrap_or_else(|| "by".to_owned())));
            }
        }
        let mut update = Document::new();
        for (operator, part) in [("$inc", more), ("$set", set)] {
            if !part.is_empty() {
                update.insert(operator, part);
            }
        }
        if update.is_empty() {
            return String::new();
        }
        let update: Bson = if in_stages { vec![Bson::from(update)].into() } else { update.into() };
        let update = js::value(&update, 0).split_whitespace().collect::<Vec<_>>().join(" ");
        let update = update.replace(", }", " }").replace(", ]", "]").replace("[ {", "[{");
        let update = match made {
            Made::Inside(act) => format!("({}) => ({update})", act.given().unwrap_or_default()),
            _ => update,
        };
        let given = parameters.join(", ");
        format!(" For `{}`, such as: {name}(db, {given}, {update}{behind}).", write.name)
    }

    /// A field of the parent that a check changes: one that a declared write sets, or any that may be set.
    fn checked_field(
        &self,
        r: &'m Relationship,
        entity: &str,
        parent: &Place<'m>,
    ) -> Option<&'m Planned> {
        let entity = self.layout.model.entity(entity)?;
        let is_fit = |field: &&Planned| {
            let plain = super::varies(field) || field.kind == BsonType::Bool;
            let declared = entity.fields.iter().find(|own| own.name == field.name);
            let path = format!("{}{}", parent.path, field.name).replace(".$.", ".");
            plain
                && field.origin == Origin::Own
                && field.values.len() != 1
                && declared.is_some_and(|own| !own.unique)
                && !super::is_one_of_each(parent.collection, &path)
        };
        let set = self.set_together(r, parent).into_iter().filter(|_| entity.name == r.parent);
        let set = set.into_iter().find(|field| is_fit(field));
        set.or_else(|| parent.fields.iter().find(is_fit))
    }

    /// In a check: both documents are written, and an error in one undoes both. `call` writes a call with a
    /// change of the parent, `bad` one whose child is refused with a code; `count` counts the children.
    pub(super) fn both_check(
        &self,
        r: &'m Relationship,
        parent: &Place<'m>,
        call: impl Fn(&str) -> String,
        checked: (Option<Bad<'_>>, &str, i32),
    ) -> Vec<String> {
        let set = |path: &str, value: &str| js::object(&doc! { "$set": { path: given(value) } }, 0);
        let lines = self.both_lines(r, parent, ("a transaction", &set), call, checked);
        if lines.is_empty() { lines } else { within(&lines) }
    }

    /// The same, whatever does both: `set` writes an update that gives a field a value.
    pub(super) fn both_lines(
        &self,
        r: &'m Relationship,
        parent: &Place<'m>,
        (does, set): (&str, &Setting<'_>),
        call: impl Fn(&str) -> String,
        (bad, count, by): (Option<Bad<'_>>, &str, i32),
    ) -> Vec<String> {
        let Some(field) = self.checked_field(r, &r.parent, parent) else { return Vec::new() };
        let day = crate::emit::example::day(self.layout.model);
        let path = format!("{}{}", parent.path, field.name);
        let found = format!(
            "at.getCollection({}).findOne({{ _id: root._id }})",
            quote(&parent.collection.name)
        );
        let read = at(&found, &path);
        let value = match (field.kind, field.values.as_slice()) {
            (_, [_, ..]) => {
                let all: Vec<String> = field.values.iter().map(|value| quote(value)).collect();
                format!("[{}].find((one) => one !== {read})", all.join(", "))
            }
            (BsonType::Bool, _) => format!("!{read}"),
            // A whole number that no document of the check has.
            (BsonType::Int | BsonType::Long, _) => "1000000 + unique()".to_owned(),
            (BsonType::Double, _) => "1000000.5 + unique()".to_owned(),
            (BsonType::Decimal, _) => "NumberDecimal(`${1000000 + unique()}.25`)".to_owned(),
            _ => vary(field, true, day),
        };
        let set = |value: &str| set(&path, value);
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

    /// In a check: a transaction changes the child with an id, too. `call` writes a call with both changes.
    pub(super) fn other_check(
        &self,
        r: &'m Relationship,
        (child, id): (&Place<'m>, &str),
        act: Act,
        call: impl Fn(&str, &str) -> String,
    ) -> Vec<String> {
        let field = self.checked_field(r, &r.child, child);
        let Some(field) = field.filter(|field| field.values.is_empty()) else { return Vec::new() };
        let day = crate::emit::example::day(self.layout.model);
        let found =
            format!("at.getCollection({}).findOne({{ _id: {id} }})", quote(&child.collection.name));
        let read = member_of(&found, &field.name);
        let value = match field.kind {
            BsonType::Bool => format!("!{read}"),
            _ => vary(field, true, day),
        };
        let set = js::object(&doc! { &field.name: given("other") }, 0);
        let mut lines = vec![
            format!("const other = {value};"),
            format!("const had = plain({{ is: {read} }});"),
            "let seen = null;".to_owned(),
            format!("{};", call("{ $unset: { nothing: 1 } }", &set)),
            format!("expect(\"and changes the child (CK-10)\", plain({read}), plain(other));"),
        ];
        if act == Act::Changes {
            let (was, is) = (member_of("seen[0]", &field.name), member_of("seen[1]", &field.name));
            lines.push(format!(
                "expect(\"the update is made of what was and what is (CK-10)\", [plain({{ is: {was} }}), plain({is})], [had, plain(other)]);"
            ));
        }
        within(&lines)
    }

    /// In a check: a parent comes with its children, or not at all.
    pub(super) fn made_check(
        &self,
        job: &Job,
        parent: &Place<'m>,
        (children, held): (&str, &str),
    ) -> Vec<String> {
        let (name, parents) = (&job.name, quote(&parent.collection.name));
        let by = |id: &str| js::object(&doc! { held: given(id) }, 0);
        let lines = [
            format!("const whole = {name}(at, {}, [one(600)]);", self.made(parent.collection)),
            format!("const first = at.getCollection({children}).find({}).toArray();", by("whole")),
            "expect(\"a transaction makes both (CK-10)\", first.length, 1);".to_owned(),
            format!(
                "expect(\"the parent is there (CK-10)\", at.getCollection({parents}).countDocuments({{ _id: whole }}), 1);"
            ),
            format!("const half = {};", self.made(parent.collection)),
            format!(
                "refused(\"a child that is refused\", 11000, () => {name}(at, half, [{{ ...one(601), _id: first[0]._id }}]));"
            ),
            format!(
                "expect(\"leaves no parent (CK-10)\", at.getCollection({parents}).countDocuments({{ _id: half._id }}), 0);"
            ),
        ];
        within(&lines)
    }
}

/// Whether nothing says that a parent has something else than a sum over its children.
fn is_sum(r: &Relationship) -> bool {
    r.invariant.as_ref().is_none_or(|words| {
        let words = docward_model::words::split(words);
        ["sum", "total", "sums"].iter().any(|word| words.iter().any(|is| is == word))
    })
}

/// Lines of a check where there are transactions.
pub(super) fn within(lines: &[String]) -> Vec<String> {
    let mut all = vec!["if (transactions) {".to_owned()];
    all.extend(lines.iter().flat_map(|line| line.lines()).map(|line| format!("  {line}")));
    all.push("}".to_owned());
    all
}

/// Steps on the database of a transaction.
fn in_transaction(inner: Vec<Step>) -> Vec<Step> {
    let mut steps = vec![Step::Code("return inTransaction(db, (db) => {".to_owned())];
    steps.push(Step::Inside(inner));
    steps.push(Step::Code("});".to_owned()));
    steps
}
