//! Ids on one side, or a document for each pair (ER-T.6, GC-07, PT-junction.1).

mod checks;

use bson::{Bson, doc};
use docward_model::shell::quote;
use docward_model::{BsonType, Relationship};

use crate::decide::decision::Decision;
use crate::decide::pattern::Pattern;
use crate::declared::dates;
use crate::declared::field_plan::{Origin, Planned};
use crate::emit::js::{self, SPREAD, given, member_of};
use crate::emit::statement::{Job, Method, Script, Statement, Step};
use crate::layout::collection::Purpose;
use crate::layout::index_plan::IndexPlan;

use super::child_refs::{at, missing, one};
use super::summary::Summary;
use super::transaction::{Act, Both};
use super::{Place, Plans, picked, unless_matched};

/// A child that may be gone, while something still leads to it.
const GONE: &str = "(found ?? {})";

/// What the functions of a link speak of.
struct Link<'m> {
    relationship: &'m Relationship,
    decision: &'m Decision,
    parent: Place<'m>,
    child: Place<'m>,
    parent_id: String,
    child_id: String,
    copied: Vec<&'m str>,
}

impl<'m> Link<'m> {
    /// What a link in a transaction does to both ends.
    fn both(&self, summary: &Summary<'_>) -> Both<'_, 'm> {
        Both {
            parent: &self.parent,
            parent_id: &self.parent_id,
            keeps: !summary.is_empty(),
            act: Act::Adds,
            child: Some((&self.child, &self.child_id)),
            found: &[],
        }
    }

    /// Finds the child, whole where the parent keeps something of it. What links to it refuses when it is
    /// not there; what takes a link away does not.
    fn found_child(&self, summary: &Summary<'_>, refuses: bool) -> Vec<Step> {
        let by_id = doc! { "_id": given(&self.child_id) };
        let children = &self.child.collection.name;
        let find = if summary.needs_child() {
            Statement::new(children, Method::FindOne, [by_id.into()])
        } else if self.copied.is_empty() {
            Statement::new(children, Method::FindOne, [by_id.into(), doc! { "_id": 1 }.into()])
        } else {
            one(children, &by_id, "", &self.copied)
        };
        let refused = refuses.then(|| missing("found", &self.relationship.child));
        std::iter::once(Step::Let("found", find)).chain(refused).collect()
    }

    /// Of two of a kind none is linked to itself.
    fn is_another(&self) -> Option<Step> {
        let (parent, child) = (&self.parent_id, &self.child_id);
        (self.relationship.parent == self.relationship.child).then(|| {
            Step::Code(format!(
                "if (String({parent}) === String({child})) throw new Error(\"nothing is linked to itself\");"
            ))
        })
    }

    /// Finds the parent, or refuses.
    fn found_parent(&self) -> [Step; 2] {
        let by_id = self.parent.by(&self.parent_id);
        let find = Statement::new(
            &self.parent.collection.name,
            Method::FindOne,
            [by_id.into(), doc! { "_id": 1 }.into()],
        );
        [Step::Let("parent", find), missing("parent", &self.relationship.parent)]
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
        let parent = self.place(&relationship.parent)?;
        let child = self.place(&relationship.child)?;
        // An id leads to a document, not to an object inside one.
        if !child.path.is_empty() {
            return None;
        }
        let link = Link {
            relationship,
            decision,
            parent,
            child,
            parent_id: js::parameter(&naming.id_of(&relationship.parent)),
            child_id: js::parameter(&naming.id_of(relationship.role())),
            copied: copied.map(|f| f.iter().map(String::as_str).collect()).unwrap_or_default(),
        };
        match decision.patterns.first()? {
            Pattern::Junction => self.junction(&link),
            Pattern::ParentsInChild => self.listed(&link, true),
            _ if decision.facts.children.max <= 1 => self.single(&link),
            _ => self.listed(&link, false),
        }
    }

    /// One id, with copies beside it.
    fn single(&self, link: &Link<'m>) -> Option<Script> {
        let root_id = link.parent.id_in("root");
        let naming = self.layout.naming;
        let (r, path) = (link.relationship, &link.parent.path);
        let held = format!("{path}{}", naming.child_field(r));
        let copy = format!("{path}{}", naming.field(&[&naming.singular(r.role())]));
        let mut set = doc! { &held: given(&link.child_id) };
        let (parents, children) = (&link.parent.collection.name, &link.child.collection.name);
        let source = one(children, &doc! { "_id": given(&link.child_id) }, "", &link.copied);
        let mut steps = vec![Step::Let("found", source.clone()), missing("found", &r.child)];
        if !link.copied.is_empty() {
            set.insert(&copy, given(picked("found", &link.copied)));
        }
        steps.push(Step::Let("done", link.parent.update(&link.parent_id, doc! { "$set": set })));
        steps.push(unless_matched(&r.parent));
        let name = self.name("set", r, false);
        let mut jobs = vec![Job {
            name: name.clone(),
            parameters: vec![link.parent_id.clone(), link.child_id.clone()],
            does: format!(
                "Lets one of `{}` refer to its `{}`{}.",
                r.parent,
                r.child,
                if link.copied.is_empty() {
                    ""
                } else {
                    ", with copies of what is shown every time"
                }
            ),
            clauses: vec!["PT-ref.1", "PT-extref.1"],
            steps,
        }];
        let mut check = self.ends(link, 1);
        check.push(format!("{name}(at, {root_id}, others[0]._id);"));
        let read = |name: &str| at("now", name);
        check.push(now(parents));
        check.push(format!(
            "expect(\"the id is kept\", String({}), String(others[0]._id));",
            read(&held)
        ));
        check.extend(self.of_one_check(link, &held, &name));
        if !link.copied.is_empty() {
            let set = doc! { &copy: given(picked("found", &link.copied)) };
            let update = Statement::new(
                parents,
                Method::UpdateMany,
                [doc! { &held: given(&link.child_id) }.into(), doc! { "$set": set }.into()],
            );
            let refresh = self.name("refresh copies of", r, false);
            jobs.push(Job {
                name: refresh.clone(),
                parameters: vec![link.child_id.clone()],
                does: self.refresh_words(link.decision, &r.child) + &unserved(&link.parent, &held),
                clauses: vec!["PT-extref.2", "DM-07.7"],
                steps: vec![
                    Step::Let("found", source),
                    missing("found", &r.child),
                    Step::Return(update),
                ],
            });
            check.extend(self.mirror_check(link, &refresh, &read(&copy)));
        }
        Some(self.script(
            link,
            if link.copied.is_empty() { "child-id-in-parent" } else { "extended-reference" },
            jobs,
            check,
        ))
    }

    /// The list of a relationship in the documents that hold it.
    pub(super) fn list_of_ids(
        &self,
        r: &Relationship,
        holder: &Place<'m>,
        in_child: bool,
    ) -> Option<&'m Planned> {
        let naming = self.layout.naming;
        let target = if in_child { &r.parent } else { &r.child };
        holder.fields.iter().find(|field| {
            field.kind == BsonType::Array
                && matches!(&field.origin, Origin::Reference(entity) if entity == target)
                && (r.field.as_ref() == Some(&field.name)
                    || field.name
                        == if in_child { naming.parents_field(r) } else { naming.ids_of(r.role()) }
                    || field.name == r.role())
        })
    }

    /// A list of ids, in the parent or in the child, that has an end.
    fn listed(&self, link: &Link<'m>, in_child: bool) -> Option<Script> {
        let root_id = link.parent.id_in("root");
        let r = link.relationship;
        let holder = if in_child { &link.child } else { &link.parent };
        let field = self.list_of_ids(r, holder, in_child)?;
        let most = field.items.map_or(999, |items| items.max);
        let list = format!("{}{}", holder.path, field.name);
        let (holder_id, other_id) = if in_child {
            (&link.child_id, &link.parent_id)
        } else {
            (&link.parent_id, &link.child_id)
        };
        let summary = self.summary(r, link.decision, &link.parent);
        // Elements are ids, or objects that begin with the id.
        let key = field.fields.first().map(|first| first.name.as_str());
        let id_path = key.map_or_else(|| list.clone(), |key| format!("{list}.{key}"));
        let (element, pulled): (Bson, Bson) = match key {
            Some(key) => (
                doc! { key: given(other_id), SPREAD: given(picked("found", &link.copied)) }.into(),
                doc! { key: given(other_id) }.into(),
            ),
            None => (given(other_id), given(other_id)),
        };
        let parents = &link.parent.collection.name;
        let holders = &holder.collection.name;
        let mut room = holder.by(holder_id);
        room.insert(&id_path, doc! { "$ne": given(other_id) });
        room.insert(format!("{list}.{}", most.saturating_sub(1)), doc! { "$exists": false });
        let push = Statement::update(holders, room, doc! { "$push": { &list: element } });
        let mut there = holder.by(holder_id);
        there.insert(&id_path, given(other_id));
        let everywhere_pulled = pulled.clone();
        let pull = Statement::update(holders, there, doc! { "$pull": { &list: pulled } });
        let (add, remove) = (self.name("link", r, false), self.name("unlink", r, false));
        let parameters = vec![link.parent_id.clone(), link.child_id.clone()];
        let mut clauses = vec!["GC-07", "DM-08.2"];
        clauses.extend(summary.clauses.iter());
        let mut jobs = vec![Job {
            name: add.clone(),
            parameters: parameters.clone(),
            does: format!(
                "Links both ends of `{}` once: false when they are linked already, when `{list}` holds {most}, its bound, or when there is no such `{}`.",
                r.name,
                if in_child { &r.child } else { &r.parent }
            ),
            clauses,
            steps: self.changed(link, &summary, push, in_child, true),
        }];
        jobs.extend(self.together(r, link.decision, &jobs[0], link.both(&summary)));
        jobs.push(Job {
            name: remove.clone(),
            parameters,
            does: "Takes the link away; false when there was none.".to_owned() + lost(&summary),
            clauses: vec!["GC-07"],
            steps: self.changed(link, &summary, pull, in_child, false),
        });
        // What the parent keeps of its children is worked out one by one.
        let is_deleted = !dates::deleting(self.layout.model, &r.child).is_empty();
        let everywhere = (is_deleted && !in_child && summary.is_empty() && holder.path.is_empty())
            .then(|| self.name("unlink everywhere", r, false));
        jobs.extend(everywhere.iter().map(|name| Job {
            name: name.clone(),
            parameters: vec![link.child_id.clone()],
            does: format!(
                "Takes the id of one of `{}` out of all lists, before it is deleted: an id that leads nowhere takes room.{}",
                r.child,
                match serves(holder, &id_path) {
                    true => String::new(),
                    false => format!(
                        " It reads all of `{holders}`: where it runs often, create an index on `{id_path}` first."
                    ),
                }
            ),
            clauses: vec!["GC-07"],
            steps: vec![Step::Return(Statement::new(
                holders,
                Method::UpdateMany,
                [
                    doc! { &id_path: given(other_id) }.into(),
                    doc! { "$pull": { &list: everywhere_pulled.clone() } }.into(),
                ],
            ))],
        }));
        let keeper = self.keeper(r, link.decision);
        let ids = (link.parent_id.as_str(), link.child_id.as_str());
        let change = self.keeping(keeper.as_ref(), link.decision, ids, &mut jobs);
        // The way back is offered where an index serves it.
        let served = serves(holder, &id_path);
        if served {
            let back = Statement::find(holders, doc! { &id_path: given(other_id) });
            jobs.push(Job {
                name: self.name(if in_child { "list" } else { "list holders of" }, r, in_child),
                parameters: vec![other_id.clone()],
                does: "Everything that is linked to it, by the index on the list.".to_owned(),
                clauses: vec!["PT-ref.1"],
                steps: vec![Step::Return(back)],
            });
        }
        let number = self.linked_in_check(link, if in_child { u64::MAX } else { most });
        let mut check = self.ends(link, number as usize);
        check.push(format!(
            "for (const other of others) expect(\"linked\", {add}(at, {root_id}, other._id), true);"
        ));
        check.push(format!(
            "expect(\"nothing is linked twice\", {add}(at, {root_id}, others[0]._id), false);"
        ));
        let listed = self.name(if in_child { "list" } else { "list holders of" }, r, in_child);
        check.extend(served.then(|| {
            if in_child {
                format!("expect(\"all are found\", {listed}(at, {root_id}).length, others.length);")
            } else {
                format!("expect(\"the holder is found\", {listed}(at, others[0]._id).length, 1);")
            }
        }));
        // One more has to fit meanwhile.
        let is_full = !in_child && number >= most;
        let last = format!("(at, {root_id}, others[{}]._id);", number - 1);
        check.extend(is_full.then(|| format!("{remove}{last}")));
        check.extend(self.ends_check(link, &add, &remove));
        check.extend(is_full.then(|| format!("{add}{last}")));
        if !in_child {
            check.extend(self.of_one_check(link, &id_path, &add));
        }
        let nobody = if in_child {
            format!("{add}(at, new ObjectId(), others[0]._id)")
        } else {
            format!("{add}(at, {root_id}, new ObjectId())")
        };
        check.push(format!("refused(\"nothing leads nowhere\", null, () => {nobody});"));
        if let Some(everywhere) = &everywhere {
            check.push(format!("{everywhere}(at, others[0]._id);"));
            check.push(format!(
                "expect(\"it is in no list\", {remove}(at, {root_id}, others[0]._id), false);"
            ));
            check.push(format!("{add}(at, {root_id}, others[0]._id);"));
        }
        check.push(format!("expect(\"unlinked\", {remove}(at, {root_id}, others[0]._id), true);"));
        check.push(format!(
            "expect(\"and not twice\", {remove}(at, {root_id}, others[0]._id), false);"
        ));
        let held = doc! { &id_path: given(if in_child { &root_id } else { "others[0]._id" }) };
        let count = format!(
            "at.getCollection({}).countDocuments({})",
            quote(holders),
            js::object(&held, 0)
        );
        check.extend(self.together_link(link, (&add, &remove), &count));
        check.extend(keeper.iter().flat_map(|keeper| self.linked_figures(link, keeper, &change)));
        if !link.copied.is_empty()
            && let Some(key) = key
        {
            let refresh = self.name("refresh copies of", r, false);
            jobs.push(self.mirroring(link, &refresh, (&list, key)));
            check.push(now(parents));
            let list = at("now", &list);
            let copy = format!(
                "{list}.find((one) => String({}) === String(others[1]._id))",
                member_of("one", key)
            );
            check.extend(self.mirror_check(link, &refresh, &copy));
        }
        let pattern = match (in_child, link.copied.is_empty()) {
            (true, _) => "parent-ids-in-child",
            (false, true) => "child-ids-in-parent",
            (false, false) => "extended-reference",
        };
        Some(self.script(link, pattern, jobs, check))
    }

    /// A list is changed, and what the parent keeps of it along with it. False when nothing matched.
    fn changed(
        &self,
        link: &Link<'m>,
        summary: &Summary<'m>,
        mut statement: Statement,
        in_child: bool,
        arrives: bool,
    ) -> Vec<Step> {
        let mut steps = Vec::new();
        if arrives {
            steps.extend(link.is_another());
        }
        if arrives && in_child {
            steps.extend(link.found_parent());
        }
        if summary.needs_child() || arrives && !in_child {
            steps.extend(link.found_child(summary, arrives));
        }
        let summed = if arrives {
            summary.arrival("found", &link.child_id)
        } else {
            summary.departure(GONE, &link.child_id)
        };
        // The summary is in the same document when the parent holds the list.
        let apart = match summed {
            Bson::Document(more) if !in_child => {
                statement.also(more);
                None
            }
            _ if summary.is_empty() => None,
            apart => Some(apart),
        };
        steps.push(Step::Let("done", statement));
        steps.push(Step::Code("if (done.matchedCount === 0) return false;".to_owned()));
        if let Some(update) = apart {
            steps.push(Step::Run(link.parent.update(&link.parent_id, update)));
        }
        if !arrives {
            steps.extend(self.filled_again(link));
        }
        steps.push(Step::Code("return true;".to_owned()));
        steps
    }

    /// A preview that lost one shows the next one instead.
    fn filled_again(&self, link: &Link<'m>) -> Vec<Step> {
        let keeper = self.keeper(link.relationship, link.decision);
        keeper.map(|keeper| keeper.refilled(&link.parent_id)).unwrap_or_default()
    }

    /// Copies in the elements of a list.
    fn mirroring(&self, link: &Link<'m>, name: &str, (list, key): (&str, &str)) -> Job {
        let r = link.relationship;
        let source = one(
            &link.child.collection.name,
            &doc! { "_id": given(&link.child_id) },
            "",
            &link.copied,
        );
        // The whole element, so that a copy goes when its source has.
        let element =
            doc! { key: given(&link.child_id), SPREAD: given(picked("found", &link.copied)) };
        let set = doc! { format!("{list}.$[one]"): element };
        let one = format!("one.{key}");
        let update = Statement::new(
            &link.parent.collection.name,
            Method::UpdateMany,
            [
                doc! { format!("{list}.{key}"): given(&link.child_id) }.into(),
                doc! { "$set": set }.into(),
                doc! { "arrayFilters": [{ one: given(&link.child_id) }] }.into(),
            ],
        );
        Job {
            name: name.to_owned(),
            parameters: vec![link.child_id.clone()],
            does: self.refresh_words(link.decision, &r.child)
                + &unserved(&link.parent, &format!("{list}.{key}")),
            clauses: vec!["PT-extref.2", "DM-07.7"],
            steps: vec![
                Step::Let("found", source),
                missing("found", &r.child),
                Step::Return(update),
            ],
        }
    }

    /// A document for each pair.
    fn junction(&self, link: &Link<'m>) -> Option<Script> {
        let root_id = link.parent.id_in("root");
        let r = link.relationship;
        let pairs = self
            .design
            .collections
            .iter()
            .find(|collection| collection.purpose == Purpose::Junction(r.name.clone()))?;
        let mut ids = pairs.fields.iter().filter(|f| matches!(f.origin, Origin::Reference(_)));
        let (first, second) = (&ids.next()?.name, &ids.next()?.name);
        let summary = self.summary(r, link.decision, &link.parent);
        let children = &link.child.collection.name;
        let pair = doc! { first: given(&link.parent_id), second: given(&link.child_id) };
        let (add, remove) = (self.name("link", r, false), self.name("unlink", r, false));
        let mut steps: Vec<Step> = link.is_another().into_iter().collect();
        steps.extend(link.found_parent());
        steps.extend(link.found_child(&summary, true));
        steps.push(Step::Note(
            "The unique index refuses a pair that is there (error 11000).".to_owned(),
        ));
        let mut inserted = pair.clone();
        // Copies beside the pair are taken from the child as it is now (PT-extref.1).
        let copied = pairs.fields.iter().find(|f| matches!(f.origin, Origin::Copy(_)));
        if let Some(copied) = copied {
            inserted.insert(&copied.name, given(picked("found", &link.copied)));
        }
        steps.push(Step::Run(Statement::insert(&pairs.name, inserted)));
        let mut off = Vec::new();
        if summary.needs_child() {
            off.extend(link.found_child(&summary, false));
        }
        off.push(Step::Let("done", Statement::new(&pairs.name, Method::DeleteMany, [pair.into()])));
        off.push(Step::Code("if (done.deletedCount === 0) return false;".to_owned()));
        if !summary.is_empty() {
            let update = summary.arrival("found", &link.child_id);
            steps.push(Step::Run(link.parent.update(&link.parent_id, update)));
            let update = summary.departure(GONE, &link.child_id);
            off.push(Step::Run(link.parent.update(&link.parent_id, update)));
            off.extend(self.filled_again(link));
        }
        off.push(Step::Code("return true;".to_owned()));
        let parameters = vec![link.parent_id.clone(), link.child_id.clone()];
        let mut clauses = vec!["PT-junction.1", "SN-10", "GC-37"];
        clauses.extend(summary.clauses.iter());
        let along = |from: &str, to: &str, place: &Place<'_>, id: &str| {
            let lookup = doc! {
                "from": &place.collection.name,
                "localField": to,
                "foreignField": place.key(),
                "as": "other",
            };
            let stages = vec![
                Bson::from(doc! { "$match": { from: given(id) } }),
                doc! { "$lookup": lookup }.into(),
                doc! { "$unwind": "$other" }.into(),
                doc! { "$replaceRoot": { "newRoot": "$other" } }.into(),
            ];
            Statement::new(&pairs.name, Method::Aggregate, [stages.into()])
        };
        let naming = self.layout.naming;
        let role = naming.singular(r.role());
        let forward = js::function(&["list", r.role(), "of", &r.parent]);
        let backward = js::function(&["list", &r.parent, "of", &role]);
        let count = js::function(&["count", &r.parent, "of", &role]);
        let mut jobs = vec![Job {
            name: add.clone(),
            parameters: parameters.clone(),
            does: format!(
                "Adds one pair of `{}` as a document; a second one like it is refused.",
                r.name
            ),
            clauses,
            steps,
        }];
        jobs.extend(self.together(r, link.decision, &jobs[0], link.both(&summary)));
        jobs.push(Job {
            name: remove.clone(),
            parameters,
            does: "Takes the pair away; false when there was none.".to_owned() + lost(&summary),
            clauses: vec!["PT-junction.1"],
            steps: off,
        });
        let keeper = self.keeper(r, link.decision);
        let ids = (link.parent_id.as_str(), link.child_id.as_str());
        let change = self.keeping(keeper.as_ref(), link.decision, ids, &mut jobs);
        let reading = |name: &str, id: &str, does: &str, statement: Statement| Job {
            name: name.to_owned(),
            parameters: vec![id.to_owned()],
            does: does.to_owned(),
            clauses: vec!["PT-junction.1", "SN-10"],
            steps: vec![Step::Return(statement)],
        };
        jobs.push(match copied {
            Some(copied) => reading(
                &forward,
                &link.parent_id,
                &format!(
                    "From the parent to the other side, by the unique index: the pairs, with copies in `{}`, so that no other collection is read.",
                    copied.name
                ),
                Statement::find(&pairs.name, doc! { first: given(&link.parent_id) }),
            ),
            None => reading(
                &forward,
                &link.parent_id,
                "From the parent to the other side, by the unique index.",
                along(first, second, &link.child, &link.parent_id),
            ),
        });
        jobs.push(reading(
            &backward,
            &link.child_id,
            "From the other side to the parents, by the second index.",
            along(second, first, &link.parent, &link.child_id),
        ));
        jobs.push(reading(
            &count,
            &link.child_id,
            "How many parents one has: answered by the second index alone.",
            Statement::new(
                &pairs.name,
                Method::CountDocuments,
                [doc! { second: given(&link.child_id) }.into()],
            ),
        ));
        let number = self.linked_in_check(link, u64::MAX);
        let mut check = self.ends(link, number as usize);
        check.push(format!("for (const other of others) {add}(at, {root_id}, other._id);"));
        check.push(format!(
            "refused(\"no pair twice (GC-37)\", 11000, () => {add}(at, {root_id}, others[0]._id));"
        ));
        check.push(format!("expect(\"one way\", {forward}(at, {root_id}).length, {number});"));
        check.push(format!("expect(\"the other way\", {backward}(at, others[0]._id).length, 1);"));
        check.push(format!("expect(\"counted\", {count}(at, others[0]._id), 1);"));
        check.extend(self.ends_check(link, &add, &remove));
        for value in [&format!("{root_id}, new ObjectId()"), "new ObjectId(), others[0]._id"] {
            check
                .push(format!("refused(\"both ends are there\", null, () => {add}(at, {value}));"));
        }
        for (field, value) in [(first, root_id.as_str()), (second, "others[0]._id")] {
            check.push(format!(
                "expect(\"found by an index (SN-10)\", stages(at.getCollection({}).find({}).explain()).includes(\"COLLSCAN\"), false);",
                quote(&pairs.name),
                js::object(&doc! { field: given(value) }, 0)
            ));
        }
        check
            .push(format!("expect(\"taken away\", {remove}(at, {root_id}, others[0]._id), true);"));
        check.push(format!(
            "expect(\"and not twice\", {remove}(at, {root_id}, others[0]._id), false);"
        ));
        check.push(format!(
            "expect(\"the others are left\", {forward}(at, {root_id}).length, {});",
            number - 1
        ));
        let count = format!("{forward}(at, {root_id}).length");
        check.extend(self.together_link(link, (&add, &remove), &count));
        check.extend(keeper.iter().flat_map(|keeper| self.linked_figures(link, keeper, &change)));
        if let Some(copied) = copied {
            let refresh = self.name("refresh copies of", r, false);
            let source = one(children, &doc! { "_id": given(&link.child_id) }, "", &link.copied);
            let set = doc! { &copied.name: given(picked("found", &link.copied)) };
            let update = Statement::new(
                &pairs.name,
                Method::UpdateMany,
                [doc! { second: given(&link.child_id) }.into(), doc! { "$set": set }.into()],
            );
            jobs.push(Job {
                name: refresh.clone(),
                parameters: vec![link.child_id.clone()],
                does: self.refresh_words(link.decision, &r.child),
                clauses: vec!["PT-extref.2", "DM-07.7"],
                steps: vec![
                    Step::Let("found", source),
                    missing("found", &r.child),
                    Step::Return(update),
                ],
            });
            let pair = format!(
                "{forward}(at, {root_id}).find((one) => String({}) === String(others[1]._id))",
                member_of("one", second)
            );
            check.extend(self.mirror_check(link, &refresh, &member_of(&pair, &copied.name)));
        }
        let (drop, drop_back) = (
            js::function(&["drop", r.role(), "of", &r.parent]),
            js::function(&["drop", &r.parent, "of", &role]),
        );
        jobs.push(Job {
            name: drop.clone(),
            parameters: vec![link.parent_id.clone()],
            does: format!(
                "Takes all pairs of one `{}` away; call it when that one goes.",
                r.parent
            ),
            clauses: vec!["PT-junction.1"],
            steps: vec![Step::Return(Statement::new(
                &pairs.name,
                Method::DeleteMany,
                [doc! { first: given(&link.parent_id) }.into()],
            ))],
        });
        let found = Statement::new(
            &pairs.name,
            Method::Find,
            [doc! { second: given(&link.child_id) }.into(), doc! { first: 1 }.into()],
        );
        jobs.push(Job {
            name: drop_back.clone(),
            parameters: vec![link.child_id.clone()],
            does: format!(
                "Takes all pairs of one `{}` away, one by one, so that what parents keep stays right; call it before that one goes.",
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
        });
        check
            .push(format!("expect(\"pairs go with one end\", {drop_back}(at, others[1]._id), 1);"));
        check.push(format!("{drop}(at, {root_id});"));
        check.push(format!("expect(\"and with the other\", {forward}(at, {root_id}).length, 0);"));
        Some(self.script(link, "junction", jobs, check))
    }

    fn script(
        &self,
        link: &Link<'m>,
        pattern: &'static str,
        jobs: Vec<Job>,
        check: Vec<String>,
    ) -> Script {
        let mut declared = false;
        // The first look at the parent declares the name.
        let check = check
            .into_iter()
            .map(|line| {
                if line.starts_with("now = ") && !declared {
                    declared = true;
                    return format!("let {line}");
                }
                line
            })
            .collect();
        Script {
            about: link.relationship.name.clone(),
            pattern,
            intro: format!("`{}`: {}.", link.relationship.name, link.decision.ruling.how),
            jobs,
            check,
        }
    }
}

/// What is said about links to what is gone.
fn lost(summary: &Summary<'_>) -> &'static str {
    if summary.sums.is_empty() {
        return "";
    }
    " Of a child that is gone, sums keep what it had: run the rebuild function then."
}

/// Looks at the parent again.
fn now(parents: &str) -> String {
    format!("now = at.getCollection({}).findOne({{ _id: root._id }});", quote(parents))
}

/// Whether an index begins with a path.
pub(super) fn serves(place: &Place<'_>, path: &str) -> bool {
    let begins = |index: &IndexPlan| index.keys.first().is_some_and(|(name, _)| name == path);
    place.collection.indexes.iter().any(|index| index.only.is_none() && begins(index))
}

/// What is said about a refresh that no index serves: whether copies follow is not declared, and every
/// index is paid for by every write.
pub(super) fn unserved(place: &Place<'_>, path: &str) -> String {
    if serves(place, path) {
        return String::new();
    }
    let collection = &place.collection.name;
    format!(
        " It reads all of `{collection}`: if copies are to follow, create an index on `{path}` first."
    )
}
