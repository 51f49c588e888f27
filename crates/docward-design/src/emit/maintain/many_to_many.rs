//! Many-to-many relationships: ids on one side, or a junction document for each pair (ER-T.6,
//! GC-07, PT-junction.1).

use bson::{Bson, Document, doc};
use docward_model::{BsonType, Relationship, shell::quote};

use super::extended::{mirror_check, refresh_words, serves, unserved};
use super::plans::{
    Plans, at, by_id, found, is_one_of_each, missing, one, picked, root_in, unless_matched, update,
};
use crate::decide::decision::Decision;
use crate::decide::pattern::Pattern;
use crate::declared::field_plan::{Origin, Planned};
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
    /// Returns steps that find the child and its copied fields, or fail.
    fn found_child(&self) -> [Step; 2] {
        let by_id = by_id(&self.child_id);
        let find = match self.copied.is_empty() {
            true => found(&self.child.name, by_id),
            false => one(&self.child.name, &by_id, &self.copied),
        };
        [Step::Let("found", find), missing("found", &self.relationship.child)]
    }

    /// Returns steps that find the parent, or fail.
    fn found_parent(&self) -> [Step; 2] {
        let find = found(&self.parent.name, by_id(&self.parent_id));
        [Step::Let("parent", find), missing("parent", &self.relationship.parent)]
    }

    /// Returns a step that refuses to link a document to itself, if both ends are the same entity.
    fn is_another(&self) -> Option<Step> {
        let (parent, child) = (&self.parent_id, &self.child_id);
        (self.relationship.parent == self.relationship.child).then(|| {
            Step::Code(format!(
                "if (String({parent}) === String({child})) throw new Error(\"a document cannot be linked to itself\");"
            ))
        })
    }

    /// Returns the function that refreshes copies of a child.
    fn refreshing(&self, name: &str, unserved: &str, write: Statement) -> Job {
        let [find, missing] = self.found_child();
        Job {
            name: name.to_owned(),
            parameters: vec![self.child_id.clone()],
            does: refresh_words(self.decision, &self.relationship.child) + unserved,
            clauses: vec!["PT-extref.2", "DM-07.7"],
            steps: vec![find, missing, Step::Return(write)],
        }
    }

    fn script(&self, pattern: &'static str, jobs: Vec<Job>, check: Vec<String>) -> Script {
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
        let copied = decision.patterns.iter().find_map(|pattern| match pattern {
            Pattern::ExtendedReference { fields, in_parent: true, .. } => Some(fields),
            _ => None,
        });
        let link = Link {
            relationship,
            decision,
            parent: self.own(&relationship.parent)?,
            child: self.own(&relationship.child)?,
            parent_id: js::parameter(&naming.id_of(&relationship.parent)),
            child_id: js::parameter(&naming.id_of(relationship.role())),
            copied: copied.map(|f| f.iter().map(String::as_str).collect()).unwrap_or_default(),
        };
        match decision.patterns.first()? {
            Pattern::Junction => self.junction(&link),
            Pattern::ParentsInChild => self.listed(&link, true),
            _ if decision.facts.children.max <= 1 => Some(self.single(&link)),
            _ => self.listed(&link, false),
        }
    }

    /// Returns the script for a single id with copies beside it.
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
        let mut jobs = vec![Job {
            name: name.clone(),
            parameters: vec![link.parent_id.clone(), link.child_id.clone()],
            does: format!(
                "Sets the `{}` of a `{}` document{}.",
                r.child,
                r.parent,
                if has_copies { ", with copies of the fields that are always shown" } else { "" }
            ),
            clauses: vec!["PT-ref.1", "PT-extref.1"],
            steps: vec![find, missing, Step::Let("done", write), unless_matched(&r.parent)],
        }];
        let mut check = self.ends(link, 1);
        check.push(format!("{name}(at, root._id, others[0]._id);"));
        check.push(format!("let now = {};", root_in(&link.parent.name)));
        check.push(format!(
            "expect(\"the id is kept\", String({}), String(others[0]._id));",
            at("now", &held)
        ));
        check.extend(self.of_one_check(link, &held, &name));
        if has_copies {
            let refresh = self.name("refresh copies of", r, false);
            let write = Statement::new(
                &link.parent.name,
                Method::UpdateMany,
                [doc! { &held: given(&link.child_id) }.into(), doc! { "$set": copies() }.into()],
            );
            jobs.push(link.refreshing(&refresh, &unserved(link.parent, &held), write));
            check.extend(self.mirrored(link, "others[0]", (&refresh, &at("now", &copy))));
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
        let parameters = vec![link.parent_id.clone(), link.child_id.clone()];
        let done = |write: Statement| {
            [Step::Let("done", write), Step::Code("return done.matchedCount === 1;".to_owned())]
        };
        let there = if in_child { link.found_parent() } else { link.found_child() };
        let mut jobs = vec![
            Job {
                name: add.clone(),
                parameters: parameters.clone(),
                does: format!(
                    "Links both ends of `{}` once. Returns false if they are already linked, if \
                     `{list}` has {most}, its limit, or if there is no such `{}`.",
                    r.name,
                    if in_child { &r.child } else { &r.parent }
                ),
                clauses: vec!["GC-07", "DM-08.2"],
                steps: link.is_another().into_iter().chain(there).chain(done(push)).collect(),
            },
            Job {
                name: remove.clone(),
                parameters,
                does: "Removes the link; returns false if there was none.".to_owned(),
                clauses: vec!["GC-07"],
                steps: done(pull).into(),
            },
        ];
        // A function for the opposite direction is generated only if an index supports it.
        let is_served = serves(holder, &id_path);
        let back = self.name(if in_child { "list" } else { "list holders of" }, r, in_child);
        if is_served {
            let find = Statement::find(holders, doc! { &id_path: given(other_id) });
            jobs.push(Job {
                name: back.clone(),
                parameters: vec![other_id.clone()],
                does:
                    "Finds all documents that are linked to a document, with the index on the list."
                        .to_owned(),
                clauses: vec!["PT-ref.1"],
                steps: vec![Step::Return(find)],
            });
        }
        let number = if in_child { 3 } else { most.clamp(1, 3) };
        let mut check = self.ends(link, number);
        check.push(format!(
            "for (const other of others) expect(\"linked\", {add}(at, root._id, other._id), true);"
        ));
        check.push(format!(
            "expect(\"nothing is linked twice\", {add}(at, root._id, others[0]._id), false);"
        ));
        check.extend(is_served.then(|| match in_child {
            true => {
                format!("expect(\"all are found\", {back}(at, root._id).length, others.length);")
            }
            false => {
                format!("expect(\"the holder is found\", {back}(at, others[0]._id).length, 1);")
            }
        }));
        if !in_child {
            check.extend(self.of_one_check(link, &id_path, &add));
        }
        let nobody = match in_child {
            true => format!("{add}(at, new ObjectId(), others[0]._id)"),
            false => format!("{add}(at, root._id, new ObjectId())"),
        };
        check.push(format!("refused(\"nothing leads nowhere\", null, () => {nobody});"));
        check.push(format!("expect(\"unlinked\", {remove}(at, root._id, others[0]._id), true);"));
        check.push(format!(
            "expect(\"and not twice\", {remove}(at, root._id, others[0]._id), false);"
        ));
        if let Some(key) = key.filter(|_| !link.copied.is_empty() && number > 1) {
            let refresh = self.name("refresh copies of", r, false);
            // Replaces the whole element, so that a field that its source no longer has disappears.
            let set = doc! { "$set": { format!("{list}.$[one]"): element } };
            let by = doc! { "arrayFilters": [{ format!("one.{key}"): given(other_id) }] };
            let all = doc! { &id_path: given(other_id) };
            let arguments = [all.into(), set.into(), by.into()];
            let write = Statement::new(holders, Method::UpdateMany, arguments);
            jobs.push(link.refreshing(&refresh, &unserved(holder, &id_path), write));
            check.push(format!("let now = {};", root_in(&link.parent.name)));
            let copy = format!(
                "{}.find((one) => String({}) === String(others[1]._id))",
                at("now", list),
                member_of("one", key)
            );
            check.extend(self.mirrored(link, "others[1]", (&refresh, &copy)));
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
        let summary = self.summary(r, link.decision, link.parent);
        let pair = doc! { first: given(&link.parent_id), second: given(&link.child_id) };
        let (add, remove) = (self.name("link", r, false), self.name("unlink", r, false));
        // Copies in the junction document are the current values of the child (PT-extref.1).
        let copied = pairs.fields.iter().find(|f| matches!(f.origin, Origin::Copy(_)));
        let copies = |copied: &Planned| doc! { &copied.name: given(picked("found", &link.copied)) };
        let mut inserted = pair.clone();
        inserted.extend(copied.map(copies).unwrap_or_default());
        let counted = |by: Bson| {
            let write = update(link.parent, &link.parent_id, by);
            (!summary.is_empty()).then_some(Step::Run(write))
        };
        let mut steps: Vec<Step> = link.is_another().into_iter().collect();
        steps.extend(link.found_parent());
        steps.extend(link.found_child());
        steps.push(Step::Note(
            "The unique index refuses an existing pair (error 11000).".to_owned(),
        ));
        steps.push(Step::Run(Statement::insert(&pairs.name, inserted)));
        steps.extend(counted(summary.arrival("found", &link.child_id)));
        let off = [
            Some(Step::Let("done", Statement::new(&pairs.name, Method::DeleteMany, [pair.into()]))),
            Some(Step::Code("if (done.deletedCount === 0) return false;".to_owned())),
            counted(summary.departure("found", &link.child_id)),
            Some(Step::Code("return true;".to_owned())),
        ];
        let parameters = vec![link.parent_id.clone(), link.child_id.clone()];
        let mut clauses = vec!["PT-junction.1", "SN-10", "GC-37"];
        clauses.extend(summary.clauses.iter());
        let mut jobs = vec![
            Job {
                name: add.clone(),
                parameters: parameters.clone(),
                does: format!(
                    "Adds a pair of `{}` as a document; the unique index refuses a duplicate pair.",
                    r.name
                ),
                clauses,
                steps,
            },
            Job {
                name: remove.clone(),
                parameters,
                does: "Removes the pair; returns false if there was none.".to_owned(),
                clauses: vec!["PT-junction.1"],
                steps: off.into_iter().flatten().collect(),
            },
        ];
        let keeper = self.keeper(r, link.decision);
        jobs.extend(keeper.as_ref().map(|keeper| self.rebuilding(keeper, &link.parent_id)));
        let role = self.layout.naming.singular(r.role());
        let forward = js::function(&["list", r.role(), "of", &r.parent]);
        let backward = js::function(&["list", &r.parent, "of", &role]);
        let count = js::function(&["count", &r.parent, "of", &role]);
        let along = |from: &str, to: &str, other: &CollectionPlan, id: &str| {
            let lookup = doc! {
                "from": &other.name, "localField": to, "foreignField": "_id", "as": "other",
            };
            let stages = vec![
                Bson::from(doc! { "$match": { from: given(id) } }),
                doc! { "$lookup": lookup }.into(),
                doc! { "$unwind": "$other" }.into(),
                doc! { "$replaceRoot": { "newRoot": "$other" } }.into(),
            ];
            Statement::new(&pairs.name, Method::Aggregate, [stages.into()])
        };
        let reading = |name: &str, id: &str, does: &str, statement: Statement| Job {
            name: name.to_owned(),
            parameters: vec![id.to_owned()],
            does: does.to_owned(),
            clauses: vec!["PT-junction.1", "SN-10"],
            steps: vec![Step::Return(statement)],
        };
        let (does, find) = match copied {
            Some(copied) => (
                format!(
                    "Finds the pairs of a parent with the unique index. The copies in `{}` make a \
                     read of the other collection unnecessary.",
                    copied.name
                ),
                Statement::find(&pairs.name, doc! { first: given(&link.parent_id) }),
            ),
            None => (
                "Finds the children of a parent, with the unique index.".to_owned(),
                along(first, second, link.child, &link.parent_id),
            ),
        };
        let of_child: Document = doc! { second: given(&link.child_id) };
        let number = Statement::new(&pairs.name, Method::CountDocuments, [of_child.clone().into()]);
        jobs.extend([
            reading(&forward, &link.parent_id, &does, find),
            reading(
                &backward,
                &link.child_id,
                "Finds the parents of a child, with the second index.",
                along(second, first, link.parent, &link.child_id),
            ),
            reading(
                &count,
                &link.child_id,
                "Counts the parents of a child, using only the second index.",
                number,
            ),
        ]);
        let mut check = self.ends(link, 3);
        check.push(format!("for (const other of others) {add}(at, root._id, other._id);"));
        check.push(format!(
            "refused(\"no pair twice (GC-37)\", 11000, () => {add}(at, root._id, others[0]._id));"
        ));
        check.push(format!("expect(\"one way\", {forward}(at, root._id).length, 3);"));
        check.push(format!("expect(\"the other way\", {backward}(at, others[0]._id).length, 1);"));
        check.push(format!("expect(\"counted\", {count}(at, others[0]._id), 1);"));
        for value in ["root._id, new ObjectId()", "new ObjectId(), others[0]._id"] {
            check
                .push(format!("refused(\"both ends are there\", null, () => {add}(at, {value}));"));
        }
        for (field, value) in [(first, "root._id"), (second, "others[0]._id")] {
            check.push(format!(
                "expect(\"found by an index (SN-10)\", stages(at.getCollection({}).find({}).explain()).includes(\"COLLSCAN\"), false);",
                quote(&pairs.name),
                js::object(&doc! { field: given(value) }, 0)
            ));
        }
        check.push(format!("expect(\"taken away\", {remove}(at, root._id, others[0]._id), true);"));
        check.push(format!(
            "expect(\"and not twice\", {remove}(at, root._id, others[0]._id), false);"
        ));
        check.push(format!("expect(\"the others are left\", {forward}(at, root._id).length, 2);"));
        if let Some(keeper) = &keeper {
            let ids = "others.slice(1).map((one) => one._id)";
            let children = quote(&link.child.name);
            let all = format!("at.getCollection({children}).find({{ _id: {{ $in: {ids} }} }})");
            let change: Option<fn(&str) -> String> = None;
            check.extend(self.figures_check(keeper, &all, "others[1]", change));
        }
        if let Some(copied) = copied {
            let refresh = self.name("refresh copies of", r, false);
            let set = doc! { "$set": copies(copied) };
            let arguments = [of_child.clone().into(), set.into()];
            let write = Statement::new(&pairs.name, Method::UpdateMany, arguments);
            jobs.push(link.refreshing(&refresh, "", write));
            let pair = format!(
                "{forward}(at, root._id).find((one) => String({}) === String(others[1]._id))",
                member_of("one", second)
            );
            check.push("let now = null;".to_owned());
            let copy = member_of(&pair, &copied.name);
            check.extend(self.mirrored(link, "others[1]", (&refresh, &copy)));
        }
        let (drop, drop_back) = (
            js::function(&["drop", r.role(), "of", &r.parent]),
            js::function(&["drop", &r.parent, "of", &role]),
        );
        let pairs_of_parent = [doc! { first: given(&link.parent_id) }.into()];
        let found =
            Statement::new(&pairs.name, Method::Find, [of_child.into(), doc! { first: 1 }.into()]);
        jobs.extend([
            Job {
                name: drop.clone(),
                parameters: vec![link.parent_id.clone()],
                does: format!(
                    "Removes all pairs of a `{}`; call it when the document is deleted.",
                    r.parent
                ),
                clauses: vec!["PT-junction.1"],
                steps: vec![Step::Return(Statement::new(
                    &pairs.name,
                    Method::DeleteMany,
                    pairs_of_parent,
                ))],
            },
            Job {
                name: drop_back.clone(),
                parameters: vec![link.child_id.clone()],
                does: format!(
                    "Removes all pairs of a `{}` individually, so that summaries in parents stay \
                     correct; call it before the document is deleted.",
                    r.child
                ),
                clauses: vec!["PT-junction.1"],
                steps: vec![
                    Step::Let("found", found),
                    Step::Code(format!(
                        "for (const one of found) {remove}(db, {}, {});",
                        member_of("one", first),
                        link.child_id
                    )),
                    Step::Code("return found.length;".to_owned()),
                ],
            },
        ]);
        check
            .push(format!("expect(\"pairs go with one end\", {drop_back}(at, others[1]._id), 1);"));
        check.push(format!("{drop}(at, root._id);"));
        check.push(format!("expect(\"and with the other\", {forward}(at, root._id).length, 0);"));
        Some(link.script("junction", jobs, check))
    }

    /// Returns lines of a check that create a parent `root` and several children `others`.
    fn ends(&self, link: &Link<'m>, number: u64) -> Vec<String> {
        vec![
            format!("const root = {};", self.made(link.parent)),
            format!("at.getCollection({}).insertOne(root);", quote(&link.parent.name)),
            format!(
                "const others = Array.from({{ length: {number} }}, () => ({}));",
                self.made(link.child)
            ),
            format!("at.getCollection({}).insertMany(others);", quote(&link.child.name)),
        ]
    }

    /// Returns lines of a check: a child with one parent cannot be linked to a second.
    fn of_one_check(&self, link: &Link<'m>, held: &str, add: &str) -> Vec<String> {
        if !is_one_of_each(link.parent, held) {
            return Vec::new();
        }
        vec![
            format!("const second = {};", self.made(link.parent)),
            format!("at.getCollection({}).insertOne(second);", quote(&link.parent.name)),
            format!(
                "refused(\"it has one parent\", 11000, () => {add}(at, second._id, others[0]._id));"
            ),
        ]
    }

    /// Returns lines of a check: copies of a child keep their values until they are refreshed.
    fn mirrored(&self, link: &Link<'m>, child: &str, (refresh, copy): (&str, &str)) -> Vec<String> {
        let text = self.text_among(&link.relationship.child, &link.copied);
        text.map_or_else(Vec::new, |text| {
            let ends = (link.parent.name.as_str(), link.child.name.as_str());
            mirror_check(ends, (child, text), (refresh, &member_of(copy, text)))
        })
    }
}
