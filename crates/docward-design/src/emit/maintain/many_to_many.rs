//! Many-to-many relationships: ids on one side, or a junction document for each pair (ER-T.6,
//! GC-07, PT-junction.1).

use bson::{Bson, Document, doc};
use docward_model::{BsonType, Relationship};

use super::extended::{Copied, serves, unserved};
use super::parent_summary::{ChildLookup, SummaryMaintenance};
use super::plans::{Plans, at, by_id, found, one, picked, update};
use crate::decide::decision::Decision;
use crate::decide::pattern::Pattern;
use crate::declared::field_plan::{Origin, Planned};
use crate::emit::expectations::{Check, made, root_in, stored};
use crate::emit::js::{self, SPREAD, given, member_of};
use crate::emit::statement::{Job, Method, Script, Statement, Step};
use crate::layout::collection::{CollectionPlan, Purpose};

/// The parts of the design that the functions use.
struct Link<'m> {
    relationship: &'m Relationship,
    decision: &'m Decision,
    parent: &'m CollectionPlan,
    child: &'m CollectionPlan,
    parent_id: String,
    child_id: String,
    copied: Vec<&'m str>,
}

impl<'m> Link<'m> {
    fn ids(&self) -> [&str; 2] {
        [&self.parent_id, &self.child_id]
    }

    /// Returns steps that find the child and its copied fields, or fail.
    fn found_child(&self) -> [Step; 2] {
        let by_id = by_id(&self.child_id);
        let find = match self.copied.is_empty() {
            true => found(&self.child.name, by_id),
            false => one(&self.child.name, &by_id, &self.copied),
        };
        [Step::Let("found", find), Step::missing("found", &self.relationship.child)]
    }

    /// Returns steps that find the parent, or fail.
    fn found_parent(&self) -> [Step; 2] {
        let find = found(&self.parent.name, by_id(&self.parent_id));
        [Step::Let("parent", find), Step::missing("parent", &self.relationship.parent)]
    }

    /// Returns a step that refuses to link a document to itself, if both ends are the same entity.
    fn is_another(&self) -> Option<Step> {
        let [parent, child] = self.ids();
        (self.relationship.parent == self.relationship.child).then(|| {
            let same = format!("String({parent}) === String({child})");
            Step::fail_if(same, "a document cannot be linked to itself")
        })
    }

    fn copies(&self) -> Copied<'_> {
        let source = (self.relationship.child.as_str(), self.child);
        Copied { source, id: &self.child_id, fields: &self.copied }
    }

    /// Begins a check with a parent `root` and several children `others`.
    fn check(&self, number: u64) -> Check {
        let mut check = Check::default();
        check.insert("root", &self.parent.name);
        let child = made(&self.child.name);
        check.set("others", format!("Array.from({{ length: {number} }}, () => ({child}))"));
        check.run(format!("{}.insertMany(others);", stored(&self.child.name)));
        check
    }

    fn script(&self, pattern: &'static str, jobs: Vec<Job>, check: Check) -> Script {
        Script {
            about: self.relationship.name.clone(),
            pattern,
            intro: format!("`{}`: {}.", self.relationship.name, self.decision.ruling.how),
            jobs,
            check,
        }
    }
}

impl<'m> Plans<'m> {
    pub(super) fn linked(
        &self,
        relationship: &'m Relationship,
        decision: &'m Decision,
    ) -> Option<Script> {
        let naming = self.layout.naming;
        let copied = decision.copied(true).unwrap_or_default();
        let link = Link {
            relationship,
            decision,
            parent: self.own(&relationship.parent)?,
            child: self.own(&relationship.child)?,
            parent_id: js::parameter(&naming.id_of(&relationship.parent)),
            child_id: js::parameter(&naming.id_of(relationship.role())),
            copied: copied.iter().map(String::as_str).collect(),
        };
        match decision.patterns.first()? {
            Pattern::Junction => self.junction(&link),
            Pattern::ParentsInChild => self.listed(&link, true),
            _ if decision.facts.children.max <= 1 => Some(self.single(&link)),
            _ => self.listed(&link, false),
        }
    }

    /// Returns the script for a single id with copies next to it.
    fn single(&self, link: &Link<'m>) -> Script {
        let (naming, r) = (self.layout.naming, link.relationship);
        let held = naming.child_field(r);
        let copy = naming.field(&[&naming.singular(r.role())]);
        let copies = || doc! { &copy: given(picked("found", &link.copied)) };
        let mut set = doc! { &held: given(&link.child_id) };
        let has_copies = !link.copied.is_empty();
        if has_copies {
            set.extend(copies());
        }
        let name = self.name("set", r, false);
        let [find, missing] = link.found_child();
        let write = update(link.parent, &link.parent_id, doc! { "$set": set });
        let does = format!(
            "Links one `{}` to its `{}`{}.",
            r.parent,
            r.child,
            if has_copies { ", with copies of the fields that are always shown" } else { "" }
        );
        let steps = [find, missing, Step::Let("done", write), Step::unless_matched(&r.parent)];
        let mut jobs =
            vec![Job::new(&name, &link.ids(), does, steps).by(&["PT-ref.1", "PT-extref.1"])];
        let mut check = link.check(1);
        check.run(format!("{name}(at, root._id, others[0]._id);"));
        let root = root_in(&link.parent.name);
        let kept = format!("String({})", at(&root, &held));
        check.expect("the id is kept", kept, "String(others[0]._id)");
        if has_copies {
            let refresh = self.name("refresh copies of", r, false);
            let all = doc! { &held: given(&link.child_id) };
            let arguments = [all.into(), doc! { "$set": copies() }.into()];
            let write = Statement::new(&link.parent.name, Method::UpdateMany, arguments);
            let unserved = unserved(link.parent, &held);
            jobs.push(link.copies().refreshing(&refresh, link.decision, &unserved, write));
            let copy = at(&root, &copy);
            check.extend(self.mirror_check(&link.copies(), "others[0]", &refresh, &copy));
        }
        let pattern = if has_copies { "extended-reference" } else { "child-id-in-parent" };
        link.script(pattern, jobs, check)
    }

    /// Returns the list of a relationship in the documents that store it.
    fn list_of_ids(
        &self,
        r: &Relationship,
        holder: &'m CollectionPlan,
        in_child: bool,
    ) -> Option<&'m Planned> {
        let naming = self.layout.naming;
        let target = if in_child { &r.parent } else { &r.child };
        let ids = if in_child { naming.parents_field(r) } else { naming.ids_of(r.role()) };
        holder.fields.iter().find(|field| {
            field.kind == BsonType::Array
                && matches!(&field.origin, Origin::Reference(entity) if entity == target)
                && (r.field.as_ref() == Some(&field.name)
                    || field.name == ids
                    || field.name == r.role())
        })
    }

    /// Returns the script for a bounded list of ids in the parent or in the child.
    fn listed(&self, link: &Link<'m>, in_child: bool) -> Option<Script> {
        let r = link.relationship;
        let holder = if in_child { link.child } else { link.parent };
        let field = self.list_of_ids(r, holder, in_child)?;
        let most = field.items.map_or(999, |items| items.max);
        let list = field.name.as_str();
        let (holder_id, other_id) = match in_child {
            true => (&link.child_id, &link.parent_id),
            false => (&link.parent_id, &link.child_id),
        };
        // Elements are ids, or objects that begin with the id.
        let key = field.fields.first().map(|first| first.name.as_str());
        let id_path = key.map_or_else(|| list.to_owned(), |key| format!("{list}.{key}"));
        let (element, pulled): (Bson, Bson) = match key {
            Some(key) => (
                doc! { key: given(other_id), SPREAD: given(picked("found", &link.copied)) }.into(),
                doc! { key: given(other_id) }.into(),
            ),
            None => (given(other_id), given(other_id)),
        };
        let holders = &holder.name;
        let mut room = by_id(holder_id);
        room.insert(&id_path, doc! { "$ne": given(other_id) });
        room.insert(format!("{list}.{}", most.saturating_sub(1)), doc! { "$exists": false });
        let push = Statement::update(holders, room, doc! { "$push": { list: element.clone() } });
        let mut there = by_id(holder_id);
        there.insert(&id_path, given(other_id));
        let pull = Statement::update(holders, there, doc! { "$pull": { list: pulled } });
        let (add, remove) = (self.name("link", r, false), self.name("unlink", r, false));
        let done = |write: Statement| {
            [Step::Let("done", write), Step::code("return done.matchedCount === 1;")]
        };
        let there = if in_child { link.found_parent() } else { link.found_child() };
        let does = format!(
            "Links both ends of `{}` once. Returns false if they are already linked, if `{list}` \
             has {most}, its limit, or if there is no such `{}`.",
            r.name,
            if in_child { &r.child } else { &r.parent }
        );
        let steps = link.is_another().into_iter().chain(there).chain(done(push));
        let gone = "Removes the link; returns false if there was none.";
        let mut jobs = vec![
            Job::new(&add, &link.ids(), does, steps).by(&["GC-07", "DM-08.2"]),
            Job::new(&remove, &link.ids(), gone, done(pull)).by(&["GC-07"]),
        ];
        let number = if in_child { 3 } else { most.clamp(1, 3) };
        let mut check = link.check(number);
        let call = |name: &str, parent: &str, child: &str| format!("{name}(at, {parent}, {child})");
        let first = |name: &str| call(name, "root._id", "others[0]._id");
        let linked = call(&add, "root._id", "other._id");
        check.run(format!("for (const other of others) expect(\"linked\", {linked}, true);"));
        check.expect("nothing is linked twice", first(&add), false);
        // A function for the opposite direction is generated only if an index supports it.
        if serves(holder, &id_path) {
            let back = self.name(if in_child { "list" } else { "list holders of" }, r, in_child);
            let does = "Finds the documents linked to the given one, using the index on the list.";
            let find = Statement::find(holders, doc! { &id_path: given(other_id) });
            jobs.push(Job::new(&back, &[other_id], does, [Step::Return(find)]).by(&["PT-ref.1"]));
            let (id, found) = if in_child { ("root._id", number) } else { ("others[0]._id", 1) };
            check.expect("found from the other side", format!("{back}(at, {id}).length"), found);
        }
        let unknown_target = match in_child {
            true => call(&add, "new ObjectId()", "others[0]._id"),
            false => call(&add, "root._id", "new ObjectId()"),
        };
        check.fails("a missing target is refused", unknown_target);
        check.expect("unlinked", first(&remove), true);
        check.expect("and not twice", first(&remove), false);
        if let Some(key) = key.filter(|_| !link.copied.is_empty() && number > 1) {
            let refresh = self.name("refresh copies of", r, false);
            // Replaces the whole element, so that a field that its source no longer has disappears.
            let set = doc! { "$set": { format!("{list}.$[one]"): element } };
            let by = doc! { "arrayFilters": [{ format!("one.{key}"): given(other_id) }] };
            let all = doc! { &id_path: given(other_id) };
            let arguments = [all.into(), set.into(), by.into()];
            let write = Statement::new(holders, Method::UpdateMany, arguments);
            let unserved = unserved(holder, &id_path);
            jobs.push(link.copies().refreshing(&refresh, link.decision, &unserved, write));
            let copy = format!(
                "{}.find((one) => String({}) === String(others[1]._id))",
                at(&root_in(&link.parent.name), list),
                member_of("one", key)
            );
            check.extend(self.mirror_check(&link.copies(), "others[1]", &refresh, &copy));
        }
        let pattern = match (in_child, link.copied.is_empty()) {
            (true, _) => "parent-ids-in-child",
            (false, true) => "child-ids-in-parent",
            (false, false) => "extended-reference",
        };
        Some(link.script(pattern, jobs, check))
    }

    /// Returns the script for a junction document for each pair.
    fn junction(&self, link: &Link<'m>) -> Option<Script> {
        let r = link.relationship;
        let is_it = Purpose::Junction(r.name.clone());
        let pairs = self.design.collections.iter().find(|c| c.purpose == is_it)?;
        let mut ids = pairs.fields.iter().filter(|f| matches!(f.origin, Origin::Reference(_)));
        let (first, second) = (&ids.next()?.name, &ids.next()?.name);
        let [parent_id, child_id] = link.ids();
        let summary = self.summary(r, link.decision, link.parent);
        let pair = doc! { first: given(parent_id), second: given(child_id) };
        let of_parent = doc! { first: given(parent_id) };
        let of_child = doc! { second: given(child_id) };
        let role = self.layout.naming.singular(r.role());
        let (add, remove) = (self.name("link", r, false), self.name("unlink", r, false));
        let forward = js::function(&["list", r.role(), "of", &r.parent]);
        let backward = js::function(&["list", &r.parent, "of", &role]);
        let count = js::function(&["count", &r.parent, "of", &role]);
        let drop = js::function(&["drop", r.role(), "of", &r.parent]);
        let drop_back = js::function(&["drop", &r.parent, "of", &role]);
        // Copies in the junction document are the current values of the child (PT-extref.1).
        let copied = pairs.fields.iter().find(|f| matches!(f.origin, Origin::Copy(_)));
        let copies = |copied: &Planned| doc! { &copied.name: given(picked("found", &link.copied)) };
        let mut inserted = pair.clone();
        inserted.extend(copied.map(copies).unwrap_or_default());
        let counted =
            |by: Bson| (!summary.is_empty()).then(|| Step::Run(update(link.parent, parent_id, by)));
        let mut steps: Vec<Step> = link.is_another().into_iter().collect();
        steps.extend(link.found_parent());
        steps.extend(link.found_child());
        steps.push(Step::note("The unique index refuses an existing pair (error 11000)."));
        steps.push(Step::Run(Statement::insert(&pairs.name, inserted)));
        steps.extend(counted(summary.arrival("found", child_id)));
        let does =
            format!("Adds one pair of `{}` as a document; a duplicate pair is refused.", r.name);
        let linking = Job::new(&add, &link.ids(), does, steps)
            .by(&["PT-junction.1", "SN-10", "GC-37"])
            .by(&summary.clauses);
        let steps = [
            Some(Step::Let("done", Statement::new(&pairs.name, Method::DeleteMany, [pair.into()]))),
            Some(Step::return_if("done.deletedCount === 0", "false")),
            counted(summary.departure("found", child_id)),
            Some(Step::code("return true;")),
        ];
        let does = "Removes the pair; returns false if there was none.";
        let job = |name: &str, ids: &[&str], does: &str, steps: Vec<Step>| {
            Job::new(name, ids, does, steps).by(&["PT-junction.1"])
        };
        let unlinking = job(&remove, &link.ids(), does, steps.into_iter().flatten().collect());
        let mut jobs = vec![linking, unlinking];
        let members = ChildLookup::Paired(&pairs.name, first.clone());
        let (relationship, parent, summary) = (r, link.parent, &summary);
        let keeper = SummaryMaintenance { relationship, parent, members, summary };
        if !summary.is_empty() {
            jobs.push(self.rebuilding(&keeper, parent_id));
        }
        let along = |from: &Document, to: &str, other: &CollectionPlan| {
            let lookup = doc! {
                "from": &other.name, "localField": to, "foreignField": "_id", "as": "other",
            };
            let stages = vec![
                Bson::from(doc! { "$match": from.clone() }),
                doc! { "$lookup": lookup }.into(),
                doc! { "$unwind": "$other" }.into(),
                doc! { "$replaceRoot": { "newRoot": "$other" } }.into(),
            ];
            Statement::new(&pairs.name, Method::Aggregate, [stages.into()])
        };
        let reading = |name: &str, id: &str, does: &str, statement: Statement| {
            job(name, &[id], does, vec![Step::Return(statement)]).by(&["SN-10"])
        };
        let (does, find) = match copied {
            Some(copied) => (
                format!(
                    "Finds the pairs of a parent with the unique index. The copies in `{}` make a \
                     read of the other collection unnecessary.",
                    copied.name
                ),
                Statement::find(&pairs.name, of_parent.clone()),
            ),
            None => (
                "Finds the other side of a parent, with the unique index.".to_owned(),
                along(&of_parent, second, link.child),
            ),
        };
        let number = Statement::new(&pairs.name, Method::CountDocuments, [of_child.clone().into()]);
        let back = "Finds the parents of the other side, with the second index.";
        let counts = "Counts the parents of one child; the second index alone answers it.";
        jobs.extend([
            reading(&forward, parent_id, &does, find),
            reading(&backward, child_id, back, along(&of_child, first, link.parent)),
            reading(&count, child_id, counts, number),
        ]);
        let mut check = link.check(3);
        let call = |name: &str, id: &str| format!("{name}(at, {id})");
        let all = |name: &str| call(name, "root._id") + ".length";
        let pair_of = |parent: &str, child: &str| format!("{add}(at, {parent}, {child})");
        let first_pair = pair_of("root._id", "others[0]._id");
        check.run(format!("for (const other of others) {};", pair_of("root._id", "other._id")));
        check.refused("no pair twice (GC-37)", 11000, first_pair);
        check.expect("one way", all(&forward), 3);
        check.expect("the other way", call(&backward, "others[0]._id") + ".length", 1);
        check.expect("counted", call(&count, "others[0]._id"), 1);
        check.fails("the child is there", pair_of("root._id", "new ObjectId()"));
        check.fails("the parent is there", pair_of("new ObjectId()", "others[0]._id"));
        for (field, value) in [(first, "root._id"), (second, "others[0]._id")] {
            let filter = js::object(&doc! { field: given(value) }, 0);
            let plan = format!("stages({}.find({filter}).explain())", stored(&pairs.name));
            let scans = format!("{plan}.includes(\"COLLSCAN\")");
            check.expect("found by an index (SN-10)", scans, false);
        }
        let removed = format!("{remove}(at, root._id, others[0]._id)");
        check.expect("taken away", &removed, true);
        check.expect("and not twice", removed, false);
        check.expect("the others are left", all(&forward), 2);
        if !summary.is_empty() {
            let ids = "others.slice(1).map((one) => one._id)";
            let left = format!("{}.find({{ _id: {{ $in: {ids} }} }})", stored(&link.child.name));
            check.extend(self.figures_check(&keeper, &left));
        }
        if let Some(copied) = copied {
            let refresh = self.name("refresh copies of", r, false);
            let set = doc! { "$set": copies(copied) };
            let arguments = [of_child.clone().into(), set.into()];
            let write = Statement::new(&pairs.name, Method::UpdateMany, arguments);
            jobs.push(link.copies().refreshing(&refresh, link.decision, "", write));
            let pair = format!(
                "{}.find((one) => String({}) === String(others[1]._id))",
                call(&forward, "root._id"),
                member_of("one", second)
            );
            let copy = member_of(&pair, &copied.name);
            check.extend(self.mirror_check(&link.copies(), "others[1]", &refresh, &copy));
        }
        let dropped = Statement::new(&pairs.name, Method::DeleteMany, [of_parent.into()]);
        let found =
            Statement::new(&pairs.name, Method::Find, [of_child.into(), doc! { first: 1 }.into()]);
        let does = format!(
            "Removes all pairs of a `{0}`; call it when you delete that `{0}` document.",
            r.parent
        );
        let does_back = format!(
            "Removes all pairs of one `{}`, one by one, so that summaries in parents stay right; \
             call it before that one is deleted.",
            r.child
        );
        let parent_of = member_of("one", first);
        let each = format!("for (const one of found) {remove}(db, {parent_of}, {child_id});");
        let steps =
            vec![Step::Let("found", found), Step::code(each), Step::code("return found.length;")];
        jobs.extend([
            job(&drop, &[parent_id], &does, vec![Step::Return(dropped)]),
            job(&drop_back, &[child_id], &does_back, steps),
        ]);
        check.expect("pairs go with one end", call(&drop_back, "others[1]._id"), 1);
        check.run(call(&drop, "root._id") + ";");
        check.expect("and with the other", all(&forward), 0);
        Some(link.script("junction", jobs, check))
    }
}
