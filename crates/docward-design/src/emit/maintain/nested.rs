//! Lists inside of elements of a list: found by the id of the document and of the element (PT-embed.1).

use bson::{Bson, Document, doc};
use docward_model::shell::quote;
use docward_model::{BsonType, Relationship};

use crate::decide::decision::Decision;
use crate::declared::field_plan::Origin;
use crate::emit::js::{self, SPREAD, given, member_of};
use crate::emit::statement::{Job, Method, Script, Statement, Step};

use super::atomic_parent_update::{Besides, joined, sent_along, with};
use super::transaction::Act;
use super::{Place, Plans, factory};

impl<'m> Plans<'m> {
    /// Functions for a list of what is an element of a list in a document of its own.
    pub(super) fn list_in_list(
        &self,
        r: &'m Relationship,
        decision: &'m Decision,
    ) -> Option<Script> {
        let parent = self.element(&r.parent)?;
        let outer = parent.list()?;
        let is_it = |origin: &Origin| *origin == Origin::Embedded(r.name.clone());
        let field = parent.fields.iter().find(|field| is_it(&field.origin))?;
        let child = self.layout.model.entity(&r.child)?;
        let naming = self.layout.naming;
        // What more follows from one than the list says is left to the application.
        let is_plain = self.others(&r.child, r).is_empty()
            && self.unique_in(r).is_empty()
            && self.summary(r, decision, &parent).is_empty();
        if field.kind != BsonType::Array || !is_plain || r.keep_newest.is_some() {
            return None;
        }
        let most = field.items.map_or(999, |items| items.max).max(1);
        let (home, role) = (&parent.collection.name, &field.name);
        let root = self.layout.model.entity(&parent.collection.entity)?;
        let root_id = js::parameter(&naming.id_of(&root.name));
        let parent_id = js::parameter(&naming.id_of(&r.parent));
        let element = js::parameter(&naming.singular(r.role()));
        let child_id = js::parameter(&naming.id_of(r.role()));
        if root_id == parent_id || parent_id == child_id {
            return None;
        }
        let addressed = field.fields.iter().any(|field| field.origin == Origin::Id);
        let inner = format!("{outer}.$[one].{role}");
        let which = || doc! { "one._id": given(&parent_id) };
        let mut room = doc! { "_id": given(&parent_id) };
        room.insert(format!("{role}.{}", most - 1), doc! { "$exists": false });
        let by = doc! { "_id": given(&root_id), outer: { "$elemMatch": room } };
        let mut pushed = doc! { SPREAD: given(&element) };
        let mut steps = Vec::new();
        if addressed {
            steps.push(Step::Code(format!("const _id = {element}._id ?? new ObjectId();")));
            pushed.insert("_id", given("_id"));
        }
        let update = |change: Bson, filters: Vec<Document>| {
            [change, doc! { "arrayFilters": filters }.into()]
        };
        // What else changes of the element that has the list.
        let whole = Place {
            collection: parent.collection,
            path: format!("{outer}.$[one]."),
            fields: parent.fields,
        };
        let besides = |act: Act, name: &str, parameters: &[String]| {
            self.besides_of(r, (&whole, role), (act, name), parameters, (false, false))
        };
        let add = self.name("add", r, false);
        let given_to_add = vec![root_id.clone(), parent_id.clone(), element.clone()];
        let with_add = besides(Act::Adds, &add, &given_to_add);
        steps.extend(with_add.as_ref().and_then(Besides::asked));
        let push = joined(with_add.as_ref(), doc! { "$push": { &inner: pushed } }.into());
        let arguments = std::iter::once(by.into()).chain(update(push, vec![which()]));
        steps.push(Step::Let("done", Statement::new(home, Method::UpdateOne, arguments)));
        steps.push(Step::Code("if (done.matchedCount === 0) return false;".to_owned()));
        steps.push(Step::Code(format!("return {};", if addressed { "_id" } else { "true" })));
        let also = sent_along(with_add.as_ref());
        let mut jobs = vec![Job {
            name: add.clone(),
            parameters: with(given_to_add, with_add.as_ref()),
            does: format!(
                "Adds one of `{}` to the element of `{outer}` with the id; false when there is no such element, or when its list holds {most}, its bound. Returns {}.{}",
                r.name,
                if addressed { "the id" } else { "true" },
                with_add.as_ref().map_or("", |besides| &besides.words)
            ),
            clauses: vec!["PT-embed.1", "DM-08.1"],
            steps,
        }];
        let (change, remove) = (self.name("change", r, false), self.name("remove", r, false));
        // What checks give for what else changes: nothing.
        let mut sent: Vec<String> = Vec::new();
        if addressed {
            let one = doc! { "_id": given(&parent_id), format!("{role}._id"): given(&child_id) };
            let there = doc! { "_id": given(&root_id), outer: { "$elemMatch": one } };
            let path = quote(&format!("{inner}.$[two]."));
            let set = doc! { "$set": given(format!(
                "Object.fromEntries(Object.entries(changes).map(([name, value]) => [{path} + name, value]))"
            )) };
            let pull = doc! { "$pull": { &inner: { "_id": given(&child_id) } } };
            let two = doc! { "two._id": given(&child_id) };
            for (name, does, act, change, filters) in [
                (&change, "Changes fields of one", Act::Changes, set, vec![which(), two]),
                (&remove, "Removes one", Act::Removes, pull, vec![which()]),
            ] {
                let mut parameters = vec![root_id.clone(), parent_id.clone(), child_id.clone()];
                parameters.extend((act == Act::Changes).then(|| "changes".to_owned()));
                let besides = besides(act, name, &parameters);
                let update = update(joined(besides.as_ref(), change.into()), filters);
                let arguments = std::iter::once(there.clone().into()).chain(update);
                let done = Statement::new(home, Method::UpdateOne, arguments);
                let asked = besides.as_ref().and_then(Besides::asked).into_iter();
                jobs.push(Job {
                    name: name.clone(),
                    parameters: with(parameters, besides.as_ref()),
                    does: format!(
                        "{does} of `{}`; false when it is not there.{}{}",
                        r.name,
                        besides.as_ref().map_or("", |besides| &besides.words),
                        match act == Act::Changes && besides.is_some() {
                            true => format!(
                                " What depends on what was there goes into that update as well, so that nobody's change is lost: fields of the one are `{inner}.$[two].…` there, for `$inc` and the like."
                            ),
                            false => String::new(),
                        }
                    ),
                    clauses: vec!["PT-embed.1"],
                    steps: asked
                        .chain([
                            Step::Let("done", done),
                            Step::Code("return done.matchedCount === 1;".to_owned()),
                        ])
                        .collect(),
                });
                sent.push(sent_along(besides.as_ref()));
            }
        }
        let mut sample = self.sample(child, &field.fields, &[]);
        sample.remove("_id");
        let parents = quote(home);
        let first = format!("root.{outer}[0]._id");
        let list = |at: u32| {
            let now = format!("at.getCollection({parents}).findOne({{ _id: root._id }})");
            format!("({} ?? [])", member_of(&format!("{}[{at}]", member_of(&now, outer)), role))
        };
        let some = most.min(3);
        let mut check = vec![
            format!("const root = {};", self.made_at(&parent)),
            format!("at.getCollection({parents}).insertOne(root);"),
            format!("const one = {};", factory(&sample)),
            format!("const was = [{}.length, {}.length];", list(0), list(1)),
            format!(
                "for (let i = was[0]; i < {some}; i++) expect(\"it is added\", {add}(at, root._id, {first}, one(i){also}) === false, false);"
            ),
            format!("expect(\"the list has them\", {}.length, Math.max(was[0], {some}));", list(0)),
            format!("expect(\"another list stays as it was\", {}.length, was[1]);", list(1)),
            format!(
                "expect(\"nothing is added to what is not there\", {add}(at, root._id, new ObjectId(), one(0){also}), false);"
            ),
            format!(
                "for (let i = {}.length; i < {most}; i++) {add}(at, root._id, {first}, one(i){also});",
                list(0)
            ),
            format!(
                "expect(\"and nothing to a list that is full (DM-08.1)\", {add}(at, root._id, {first}, one(0){also}), false);"
            ),
        ];
        if addressed {
            let id = format!("{}[0]._id", list(0));
            let [changed, removed] = &sent[..] else { return None };
            let own = field.fields.iter().find(|f| {
                f.origin == Origin::Own && f.kind == BsonType::String && f.values.is_empty()
            });
            check.push(format!("const some = {id};"));
            if let Some(own) = own {
                let changes = js::object(&doc! { &own.name: "changed" }, 0);
                check.push(format!(
                    "expect(\"it is changed\", {change}(at, root._id, {first}, some, {changes}{changed}), true);"
                ));
                let read = member_of(&format!("{}[0]", list(0)), &own.name);
                check.push(format!("expect(\"and is\", {read}, \"changed\");"));
            }
            check.push(format!(
                "expect(\"it is removed\", {remove}(at, root._id, {first}, some{removed}), true);"
            ));
            check.push(format!(
                "expect(\"and not twice\", {remove}(at, root._id, {first}, some{removed}), false);"
            ));
            check.push(format!("expect(\"one is gone\", {}.length, {});", list(0), most - 1));
        }
        self.versioned(parent.collection, &mut jobs);
        Some(Script {
            about: r.name.clone(),
            pattern: "list-in-list",
            intro: format!(
                "`{}`: {}. Elements of `{outer}` in documents of `{home}` hold `{role}`.",
                r.name, decision.ruling.how
            ),
            jobs,
            check,
        })
    }
}
