//! Copies of fields beside a reference (PT-extref.1): refreshed when the source changes, or left as they
//! were at the time (PT-extref.2).

use bson::{Document, doc};
use docward_model::{BsonType, Relationship, shell::quote, text};

use super::plans::{Plans, by_id, found, missing, one, picked, root_in, update};
use super::summary::Summary;
use crate::decide::decision::Decision;
use crate::decide::pattern::Pattern;
use crate::emit::js::{self, SPREAD, given, member_of};
use crate::emit::statement::{Job, Method, Statement, Step};
use crate::layout::collection::CollectionPlan;

/// A document that another one names by its id, where more than the id follows from that: a copy beside
/// the id, or figures that the named one keeps.
pub(super) struct Other<'m> {
    /// The entity that is named, and where it is.
    entity: &'m str,
    home: &'m CollectionPlan,
    /// The field with its id.
    held: String,
    /// The field with the copy, and what is copied.
    copy: Option<(String, Vec<&'m str>)>,
    /// What it keeps of those that name it.
    summary: Summary<'m>,
    /// Whether there may be none.
    optional: bool,
}

impl Other<'_> {
    /// The name of the document in a function.
    fn found(&self) -> String {
        js::function(&["of", &self.held])
    }

    /// Finds it for a new document, or refuses.
    pub(super) fn fetch(&self, document: &str) -> Vec<Step> {
        let id = member_of(document, &self.held);
        let find = match &self.copy {
            Some((_, fields)) => one(&self.home.name, &by_id(&id), fields),
            None => found(&self.home.name, by_id(&id)),
        };
        let name = self.found();
        let find = match self.optional {
            true => format!("({id} ?? null) === null ? undefined : {}", find.shell(0)),
            false => find.shell(0),
        };
        vec![Step::Code(format!("const {name} = {find};")), missing(&name, self.entity)]
    }

    /// Puts the copy into a new document; one that is given is kept.
    pub(super) fn put(&self, document: &str, into: &mut Document) {
        let Some((copy, fields)) = &self.copy else { return };
        let from = format!("{} ?? {}", member_of(document, copy), self.found());
        if self.optional {
            let copied = js::object(&doc! { copy: given(picked(&from, fields)) }, 2);
            into.insert(format!("{SPREAD}{copy}"), given(format!("(({from}) && {copied})")));
        } else {
            into.insert(copy, given(picked(&from, fields)));
        }
    }

    /// What it keeps follows when one comes that names it.
    pub(super) fn arrival(&self, document: &str, id: &str) -> Option<Step> {
        self.updated(document, self.summary.arrival(document, id))
    }

    /// The same when one goes.
    pub(super) fn departure(&self, document: &str, id: &str) -> Option<Step> {
        self.updated(document, self.summary.departure(document, id))
    }

    fn updated(&self, document: &str, change: bson::Bson) -> Option<Step> {
        let change = update(self.home, &member_of(document, &self.held), change);
        (!self.summary.is_empty()).then_some(Step::Run(change))
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
        sample.insert(&self.held, given(format!("{name}._id")));
        if let Some((copy, _)) = &self.copy {
            sample.remove(copy);
        }
        vec![
            format!("const {name} = {};", plans.made(self.home)),
            format!("at.getCollection({}).insertOne({name});", quote(&self.home.name)),
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
                picked(&name, fields)
            ));
        }
        if let Some(count) = &self.summary.count {
            let found = format!(
                "at.getCollection({}).findOne({{ _id: {name}._id }})",
                quote(&self.home.name)
            );
            lines.push(format!(
                "expect({}, Number({}), {number});",
                quote(&format!("`{count}` counts along")),
                member_of(&found, count)
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
            let single = decision.facts.children.max <= 1;
            let (named, held, copy, in_parent) = match decision.patterns.first() {
                Some(Pattern::ParentInChild) if r.child == entity => {
                    (&r.parent, naming.parent_field(r), naming.parent_copy(r), false)
                }
                Some(Pattern::ChildrenInParent) if r.parent == entity && single => {
                    let copy = naming.field(&[&naming.singular(r.role())]);
                    (&r.child, naming.child_field(r), copy, true)
                }
                _ => continue,
            };
            let Some(home) = self.own(named) else { continue };
            let copied = decision.patterns.iter().find_map(|pattern| match pattern {
                Pattern::ExtendedReference { fields, in_parent: here, .. }
                    if *here == in_parent =>
                {
                    Some((copy.clone(), fields.iter().map(String::as_str).collect()))
                }
                _ => None,
            });
            let summary =
                if in_parent { Summary::nothing() } else { self.summary(r, decision, home) };
            let is_known = held == own || found.iter().any(|other| other.held == held);
            if !is_known && (copied.is_some() || !summary.is_empty()) {
                let optional =
                    if in_parent { decision.facts.children.p50 < 1 } else { r.parents < 1.0 };
                found.push(Other { entity: named, home, held, copy: copied, summary, optional });
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
        (parents, children): (&str, &str),
    ) -> Job {
        let naming = self.layout.naming;
        let held = naming.parent_field(relationship);
        let id = js::parameter(&held);
        let set = doc! { naming.parent_copy(relationship): given(picked("parent", fields)) };
        let update = Statement::new(
            children,
            Method::UpdateMany,
            [doc! { held: given(&id) }.into(), doc! { "$set": set }.into()],
        );
        Job {
            name: self.name("refresh copies in", relationship, true),
            parameters: vec![id.clone()],
            does: refresh_words(decision, &relationship.parent),
            clauses: vec!["PT-extref.2", "DM-07.7"],
            steps: vec![
                Step::Let("parent", one(parents, &by_id(id), fields)),
                missing("parent", &relationship.parent),
                Step::Return(update),
            ],
        }
    }

    /// In a check: copies in the children of `root` stay until they are refreshed; `any` finds one of them.
    pub(super) fn copy_check(
        &self,
        r: &Relationship,
        (copy, fields): (&str, &[&str]),
        (parents, any): (&str, &str),
    ) -> Vec<String> {
        let refresh = self.name("refresh copies in", r, true);
        let Some(text) = self.text_among(&r.parent, fields) else { return Vec::new() };
        let copied = member_of(&member_of("copy", copy), text);
        vec![
            "const changed = \"changed \" + unique();".to_owned(),
            format!(
                "at.getCollection({}).updateOne({{ _id: root._id }}, {});",
                quote(parents),
                js::object(&doc! { "$set": { text: given("changed") } }, 0)
            ),
            format!("let copy = {any};"),
            format!(
                "expect(\"copies stay as they were (PT-extref.2)\", {copied} === changed, false);"
            ),
            format!("{refresh}(at, root._id);"),
            format!("copy = {any};"),
            format!("expect(\"a refresh mirrors the change\", {copied}, changed);"),
        ]
    }

    /// A text among fields that are copied, for checks.
    pub(super) fn text_among<'f>(&self, entity: &str, fields: &[&'f str]) -> Option<&'f str> {
        let entity = self.layout.model.entity(entity)?;
        let is_text = |name: &&&str| {
            let field = entity.field(name);
            field.is_some_and(|f| f.kind == BsonType::String && f.values.is_empty())
        };
        fields.iter().find(is_text).copied()
    }
}

/// In a check: a text of a child called `others[…]` is changed, and the copy on `now` follows when it is refreshed.
pub(super) fn mirror_check(
    (parents, children): (&str, &str),
    (child, text): (&str, &str),
    (refresh, copied): (&str, &str),
) -> Vec<String> {
    vec![
        "const changed = \"changed \" + unique();".to_owned(),
        format!(
            "at.getCollection({}).updateOne({{ _id: {child}._id }}, {});",
            quote(children),
            js::object(&doc! { "$set": { text: given("changed") } }, 0)
        ),
        format!("expect(\"copies stay as they were (PT-extref.2)\", {copied} === changed, false);"),
        format!("{refresh}(at, {child}._id);"),
        format!("now = {};", root_in(parents)),
        format!("expect(\"a refresh mirrors the change\", {copied}, changed);"),
    ]
}

/// What is said about a refresh.
pub(super) fn refresh_words(decision: &Decision, source: &str) -> String {
    let changing = decision.patterns.iter().find_map(|pattern| match pattern {
        Pattern::ExtendedReference { changing, .. } => Some(changing.as_slice()),
        _ => None,
    });
    let advice = match changing {
        Some([]) | None => "No declared write changes what is copied.".to_owned(),
        Some(names) => format!(
            "Declared writes change {}: call it after them if copies are to follow, and never if they are to stay as they were at the time. A copy that somebody makes or refreshes at the same moment, from what they read before the change, stays as it was: call it once more when they are through.",
            text::list(names, 3)
        ),
    };
    format!("Brings the copies of `{source}` up to date. {advice}")
}

/// Whether an index begins with a path.
pub(super) fn serves(collection: &CollectionPlan, path: &str) -> bool {
    let begins = |keys: &[(String, bool)]| keys.first().is_some_and(|(name, _)| name == path);
    collection.indexes.iter().any(|index| index.only.is_none() && begins(&index.keys))
}

/// What is said about a refresh that no index serves: whether copies follow is not declared, and every
/// index is paid for by every write.
pub(super) fn unserved(collection: &CollectionPlan, path: &str) -> String {
    if serves(collection, path) {
        return String::new();
    }
    format!(
        " It reads all of `{}`: if copies are to follow, create an index on `{path}` first.",
        collection.name
    )
}
