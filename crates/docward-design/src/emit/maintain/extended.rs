//! Copies of fields beside a reference (PT-extref.1): refreshed when the source changes, or left as they
//! were at the time (PT-extref.2).

use bson::{Document, doc};
use docward_model::shell::quote;
use docward_model::{BsonType, Relationship};

use crate::decide::decision::Decision;
use crate::decide::pattern::Pattern;
use crate::emit::js::{self, SPREAD, given, member_of};
use crate::emit::statement::{Job, Method, Statement, Step};

use super::child_refs::{at, missing, one};
use super::summary::Summary;
use super::{Place, Plans, picked};

/// A document that another one names by its id, where more than the id follows from that: a copy beside
/// the id, or figures that the named one keeps.
pub(super) struct Other<'m> {
    /// The entity that is named, and where it is.
    entity: &'m str,
    place: Place<'m>,
    /// The field with its id.
    pub(super) held: String,
    /// The field with the copy, and what is copied.
    copy: Option<(String, Vec<&'m str>)>,
    /// What it keeps of those that name it.
    pub(super) summary: Summary<'m>,
    /// Whether there may be none.
    optional: bool,
    /// The function that counts those that name it, roughly.
    rough: Option<String>,
    /// The function that removes one of those that name it, how many of them are kept, and what says which
    /// are the newest.
    newest: Option<(String, u64, Document)>,
}

impl Other<'_> {
    /// The name of the document in a function.
    fn found(&self) -> String {
        js::function(&["of", &self.held])
    }

    /// Finds it for a new document, or refuses.
    pub(super) fn fetch(&self, document: &str) -> Vec<Step> {
        let fields = self.copy.as_ref().map_or(&[][..], |(_, fields)| fields);
        let by_id = self.place.by(member_of(document, &self.held));
        let mut find = one(&self.place.collection.name, &by_id, &self.place.path, fields);
        if fields.is_empty() {
            find = Statement::new(
                &self.place.collection.name,
                Method::FindOne,
                [by_id.into(), doc! { "_id": 1 }.into()],
            );
        }
        let name = self.found();
        let find = match self.optional {
            true => {
                let id = member_of(document, &self.held);
                format!("({id} ?? null) === null ? undefined : {}", find.shell(0))
            }
            false => find.shell(0),
        };
        vec![Step::Code(format!("const {name} = {find};")), missing(&name, self.entity)]
    }

    /// Puts the copy into a new document; one that is given is kept.
    pub(super) fn put(&self, document: &str, into: &mut Document) {
        let Some((copy, fields)) = &self.copy else { return };
        let found = at(&self.found(), &self.place.path);
        let from = format!("{} ?? {found}", member_of(document, copy));
        if self.optional {
            let copied = js::object(&doc! { copy: given(picked(&from, fields)) }, 2);
            into.insert(format!("{SPREAD}{copy}"), given(format!("(({from}) && {copied})")));
        } else {
            into.insert(copy, given(picked(&from, fields)));
        }
    }

    /// What it keeps follows when one comes that names it: figures, a rough count, the newest alone.
    pub(super) fn arrival(&self, document: &str, id: &str, children: &str) -> Vec<Step> {
        let named = member_of(document, &self.held);
        let mut steps: Vec<Step> =
            self.updated(document, self.summary.arrival(document, id)).into_iter().collect();
        if let Some(counts) = &self.rough {
            steps.push(self.where_named(document, &format!("{counts}(db, {named});")));
        }
        if let Some((remove, newest, order)) = &self.newest {
            let older = Statement::new(
                children,
                Method::Find,
                [doc! { &self.held: given(&named) }.into(), doc! { "_id": 1 }.into()],
            )
            .then("sort", order.clone())
            .then("skip", *newest as i32);
            let cut =
                format!("for (const one of {}) {remove}(db, {named}, one._id);", older.shell(0));
            steps.push(self.where_named(document, &cut));
        }
        steps
    }

    /// The same when one goes.
    pub(super) fn departure(&self, document: &str, id: &str) -> Vec<Step> {
        let mut steps: Vec<Step> =
            self.updated(document, self.summary.departure(document, id)).into_iter().collect();
        if let Some(counts) = &self.rough {
            let named = member_of(document, &self.held);
            let off = format!("{counts}(db, {named}, Math.random(), -1);");
            steps.push(self.where_named(document, &off));
        }
        steps
    }

    /// Something that is done where one is named.
    fn where_named(&self, document: &str, code: &str) -> Step {
        let named = member_of(document, &self.held);
        Step::Code(match self.optional {
            true => format!("if (({named} ?? null) !== null) {{\n  {code}\n}}"),
            false => code.to_owned(),
        })
    }

    fn updated(&self, document: &str, update: bson::Bson) -> Option<Step> {
        let update = self.place.update(&member_of(document, &self.held), update);
        (!self.summary.is_empty()).then_some(Step::Run(update))
    }

    /// What is said about it.
    pub(super) fn words(&self) -> String {
        let held = &self.held;
        let mut said = String::new();
        if let Some((copy, _)) = &self.copy {
            said = format!(
                " `{copy}` is copied from the document that `{held}` names, unless it is given."
            );
        }
        let calls = self.rough.iter().chain(self.newest.as_ref().map(|(remove, ..)| remove));
        let calls: Vec<String> = calls.map(|name| format!("`{name}`")).collect();
        if !calls.is_empty() {
            said.push_str(&format!(
                " It calls {} for the `{}` that `{held}` names: load that file, too.",
                calls.join(" and "),
                self.entity
            ));
        }
        if !self.summary.is_empty() {
            said.push_str(&format!(
                " What the `{}` that `{held}` names keeps of it follows.",
                self.entity
            ));
        }
        said
    }

    /// In a check: one that is there, named by the sample, which leaves the copy to the function.
    pub(super) fn prepare(&self, plans: &Plans<'_>, sample: &mut Document) -> Vec<String> {
        let name = self.found();
        sample.insert(&self.held, given(self.place.id_in(&name)));
        if let Some((copy, _)) = &self.copy {
            sample.remove(copy);
        }
        vec![
            format!("const {name} = {};", plans.made_at(&self.place)),
            format!("at.getCollection({}).insertOne({name});", quote(&self.place.collection.name)),
        ]
    }

    /// In a check: what follows from the id is there, of a document called `made`.
    pub(super) fn followed(&self, made: &str, number: &str) -> Vec<String> {
        let name = self.found();
        let mut lines = Vec::new();
        if let Some((copy, fields)) = &self.copy {
            lines.push(format!(
                "expect({}, plain({}), plain({}));",
                quote(&format!("`{copy}` is copied along (PT-extref.1)")),
                member_of(made, copy),
                picked(&at(&name, &self.place.path), fields)
            ));
        }
        if let Some(count) = &self.summary.count {
            let found = format!(
                "at.getCollection({}).findOne({{ _id: {name}._id }})",
                quote(&self.place.collection.name)
            );
            lines.push(format!(
                "expect({}, Number({}), {number});",
                quote(&format!("`{count}` counts along")),
                at(&found, count)
            ));
        }
        lines
    }
}

impl<'m> Plans<'m> {
    /// What documents of an entity name beside what a relationship says of them.
    pub(super) fn others(&self, entity: &str, besides: &Relationship) -> Vec<Other<'m>> {
        let naming = self.layout.naming;
        let mut found: Vec<Other<'m>> = Vec::new();
        let own = naming.parent_field(besides);
        for (r, decision) in self.layout.linked().filter(|(r, _)| r.name != besides.name) {
            let (first, single) = (decision.patterns.first(), decision.facts.children.max <= 1);
            let (named, held, copy, in_parent) = match first {
                Some(Pattern::ParentInChild) if r.child == entity => {
                    let copy = naming.parent_copy(r);
                    (&r.parent, naming.parent_field(r), copy, false)
                }
                Some(Pattern::ChildrenInParent) if r.parent == entity && single => {
                    let copy = naming.field(&[&naming.singular(r.role())]);
                    (&r.child, naming.child_field(r), copy, true)
                }
                _ => continue,
            };
            // An id in a parent leads to a document, not to an object inside one.
            let place = match in_parent {
                true => self.place(named).filter(|place| place.path.is_empty()),
                false => self.place_or_element(named),
            };
            let Some(place) = place else { continue };
            let copied = decision.patterns.iter().find_map(|pattern| match pattern {
                Pattern::ExtendedReference { fields, in_parent: here, .. }
                    if *here == in_parent =>
                {
                    Some((copy.clone(), fields.iter().map(String::as_str).collect()))
                }
                _ => None,
            });
            let summary =
                if in_parent { Summary::nothing() } else { self.summary(r, decision, &place) };
            let is_rough = |p: &Pattern| matches!(p, Pattern::Approximation { .. });
            let rough = decision.patterns.iter().any(is_rough) && !in_parent;
            let rough = rough.then(|| self.name("count", r, false));
            let newest = r
                .keep_newest
                .filter(|_| !in_parent)
                .map(|newest| (self.name("remove", r, false), newest, self.newest_by(r, decision)));
            let is_known = held == own || found.iter().any(|other| other.held == held);
            let follows = !summary.is_empty() || rough.is_some() || newest.is_some();
            if !is_known && (copied.is_some() || follows) {
                let optional =
                    if in_parent { decision.facts.children.p50 < 1 } else { r.parents < 1.0 };
                found.push(Other {
                    entity: named,
                    place,
                    held,
                    copy: copied,
                    summary,
                    optional,
                    rough,
                    newest,
                });
            }
        }
        found
    }

    /// Refreshes the copies that children hold of their parent.
    pub(super) fn refreshing(
        &self,
        relationship: &Relationship,
        decision: &Decision,
        fields: &[&str],
        (parent, children): (&Place<'_>, &str),
    ) -> Job {
        let naming = self.layout.naming;
        let held = naming.parent_field(relationship);
        let id = js::parameter(&held);
        let copy = naming.parent_copy(relationship);
        let source = one(&parent.collection.name, &parent.by(&id), &parent.path, fields);
        let set = doc! { copy: given(picked(&at("parent", &parent.path), fields)) };
        let update = Statement::new(
            children,
            Method::UpdateMany,
            [doc! { held: given(&id) }.into(), doc! { "$set": set }.into()],
        );
        Job {
            name: self.name("refresh copies in", relationship, true),
            parameters: vec![id],
            does: self.refresh_words(decision, &relationship.parent),
            clauses: vec!["PT-extref.2", "DM-07.7"],
            steps: vec![
                Step::Let("parent", source),
                missing("parent", &relationship.parent),
                Step::Return(update),
            ],
        }
    }

    pub(super) fn refresh_words(&self, decision: &Decision, source: &str) -> String {
        let changing = decision.patterns.iter().find_map(|pattern| match pattern {
            Pattern::ExtendedReference { changing, .. } => Some(changing.as_slice()),
            _ => None,
        });
        let advice = match changing {
            Some([]) | None => "No declared write changes what is copied.".to_owned(),
            Some(names) => format!(
                "Declared writes change {}: call it after them if copies are to follow, and never if they are to stay as they were at the time. A copy that somebody makes or refreshes at the same moment, from what they read before the change, stays as it was: call it once more when they are through.",
                docward_model::text::list(names, 3)
            ),
        };
        format!("Brings the copies of `{source}` up to date. {advice}")
    }

    /// Copies stay until they are refreshed.
    pub(super) fn copy_check(
        &self,
        relationship: &Relationship,
        fields: &[String],
        copy: &str,
        (parents, children): (&str, &str),
        (path, held, root_id): (&str, &str, &str),
    ) -> Vec<String> {
        let refresh = self.name("refresh copies in", relationship, true);
        let source = self.layout.model.entity(&relationship.parent);
        let text = fields.iter().find(|name| {
            source
                .and_then(|entity| entity.field(name))
                .is_some_and(|field| field.kind == BsonType::String && field.values.is_empty())
        });
        let Some(text) = text else { return Vec::new() };
        let find = format!(
            "at.getCollection({}).findOne({})",
            quote(children),
            js::object(&doc! { held: given(root_id) }, 0)
        );
        let mut set = Document::new();
        set.insert(format!("{}{text}", path.replace(".$.", ".0.")), given("changed"));
        let copied = member_of(&member_of("copy", copy), text);
        vec![
            "const changed = \"changed \" + unique();".to_owned(),
            format!(
                "at.getCollection({}).updateOne({{ _id: root._id }}, {});",
                quote(parents),
                js::object(&doc! { "$set": set }, 0)
            ),
            format!("let copy = {find};"),
            format!(
                "expect(\"copies stay as they were (PT-extref.2)\", {copied} === changed, false);"
            ),
            format!("{refresh}(at, {root_id});"),
            format!("copy = {find};"),
            format!("expect(\"a refresh mirrors the change\", {copied}, changed);"),
        ]
    }
}
