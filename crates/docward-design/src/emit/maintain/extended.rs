//! Copies of fields beside a reference (PT-extref.1). They are refreshed when the source changes,
//! or keep their original values (PT-extref.2).

use bson::{Document, doc};
use docward_model::{BsonType, Relationship, shell::quote, text};

use super::plans::{Plans, by_id, found, missing, one, picked, root_in, update};
use super::summary::Summary;
use crate::decide::decision::Decision;
use crate::decide::pattern::Pattern;
use crate::emit::js::{self, SPREAD, given, member_of};
use crate::emit::statement::{Job, Method, Statement, Step};
use crate::layout::collection::CollectionPlan;

/// A document that another one refers to by id, with dependent data: a copy beside the id, or
/// figures in the referenced document.
pub(super) struct Other<'m> {
    /// The referenced entity and its collection.
    entity: &'m str,
    home: &'m CollectionPlan,
    /// The field with its id.
    held: String,
    /// The field with the copy, and the copied fields.
    copy: Option<(String, Vec<&'m str>)>,
    /// What it stores about the documents that refer to it.
    summary: Summary<'m>,
    /// Whether the reference may be missing.
    optional: bool,
}

impl Other<'_> {
    /// Returns the name of the document in a function.
    fn found(&self) -> String {
        js::function(&["of", &self.held])
    }

    /// Returns steps that find it for a new document, or fail.
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

    /// Adds the copy to a new document. A copy that the caller passes is kept.
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

    /// Returns the update of its figures when a new document refers to it.
    pub(super) fn arrival(&self, document: &str, id: &str) -> Option<Step> {
        self.updated(document, self.summary.arrival(document, id))
    }

    /// Returns the update of its figures when such a document is removed.
    pub(super) fn departure(&self, document: &str, id: &str) -> Option<Step> {
        self.updated(document, self.summary.departure(document, id))
    }

    fn updated(&self, document: &str, change: bson::Bson) -> Option<Step> {
        let change = update(self.home, &member_of(document, &self.held), change);
        (!self.summary.is_empty()).then_some(Step::Run(change))
    }

    /// Returns a note about it for the comment of a function.
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
                " The function also updates what the `{}` in `{held}` stores about it.",
                self.entity
            ));
        }
        said
    }

    /// Returns lines of a check that insert the document. The sample refers to it but leaves the
    /// copy to the function.
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

    /// Returns lines of a check: the document `made` has the dependent data.
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
    /// Returns the other documents that an entity refers to, except through `besides`.
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

    /// Returns the function that refreshes the copies of a parent in its children.
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

    /// Returns lines of a check: copies in the children of `root` keep their values until they are
    /// refreshed. `any` finds one of the children.
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

    /// Returns a string field among the copied fields, for checks.
    pub(super) fn text_among<'f>(&self, entity: &str, fields: &[&'f str]) -> Option<&'f str> {
        let entity = self.layout.model.entity(entity)?;
        let is_text = |name: &&&str| {
            let field = entity.field(name);
            field.is_some_and(|f| f.kind == BsonType::String && f.values.is_empty())
        };
        fields.iter().find(is_text).copied()
    }
}

/// Returns lines of a check: a string of a child changes, and the copy in `now` changes with the
/// refresh.
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

/// Returns a note about a refresh.
pub(super) fn refresh_words(decision: &Decision, source: &str) -> String {
    let changing = decision.patterns.iter().find_map(|pattern| match pattern {
        Pattern::ExtendedReference { changing, .. } => Some(changing.as_slice()),
        _ => None,
    });
    let advice = match changing {
        Some([]) | None => "No declared write changes the copied fields.".to_owned(),
        Some(names) => format!(
            "Declared writes change {}: call it after them if copies must follow, and never if \
             copies must keep their original values. A concurrent writer may store a copy that it \
             read before the change: call this function again after such writers end.",
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

/// Returns a note about a refresh that no index supports. The design does not create the index,
/// because the model does not say whether copies follow, and every write has to update each index.
pub(super) fn unserved(collection: &CollectionPlan, path: &str) -> String {
    if serves(collection, path) {
        return String::new();
    }
    format!(
        " It reads all of `{}`: if copies must follow, create an index on `{path}` first.",
        collection.name
    )
}
