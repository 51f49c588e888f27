//! Copies of fields next to a reference (PT-extref.1). They are refreshed when the source changes,
//! or keep their original values (PT-extref.2).

use bson::{Bson, Document, doc};
use docward_model::{BsonType, Relationship, text};

use super::plans::{Plans, by_id, found, one, picked, update};
use super::summary::Summary;
use crate::decide::decision::Decision;
use crate::decide::pattern::Pattern;
use crate::declared::field_plan::{Origin, Planned};
use crate::emit::expectations::{Check, found as found_in, made, stored};
use crate::emit::js::{self, SPREAD, given, member_of};
use crate::emit::statement::{Job, Method, Script, Statement, Step};
use crate::layout::collection::CollectionPlan;

/// Fields of one document that others copy.
pub(super) struct Copied<'a> {
    /// The entity whose fields are copied, and its collection.
    pub(super) source: (&'a str, &'a CollectionPlan),
    /// The parameter with its id.
    pub(super) id: &'a str,
    pub(super) fields: &'a [&'a str],
}

impl Copied<'_> {
    /// Returns the function that refreshes the copies. `unserved` names the scans that it needs.
    pub(super) fn refreshing(
        &self,
        name: &str,
        decision: &Decision,
        unserved: &str,
        write: Statement,
    ) -> Job {
        let (source, home) = self.source;
        let changing = decision.patterns.iter().find_map(|pattern| match pattern {
            Pattern::ExtendedReference { changing, .. } => Some(changing.as_slice()),
            _ => None,
        });
        let advice = match changing {
            Some([]) | None => "No declared write changes the copied fields.".to_owned(),
            Some(names) => format!(
                "Declared writes change {}: call it after them if copies must follow, and never \
                 if copies must keep their original values. A concurrent writer may store a copy \
                 that it read before the change: call this function again after such writers end.",
                text::list(names, 3)
            ),
        };
        let does = format!("Brings the copies of `{source}` up to date. {advice}{unserved}");
        let find = Step::Let("found", one(&home.name, &by_id(self.id), self.fields));
        let steps = [find, Step::missing("found", source)];
        let steps = steps.into_iter().chain([Step::Return(write)]);
        Job::new(name, &[self.id], does, steps).by(&["PT-extref.2", "DM-07.7"])
    }
}

/// A document that another one refers to by id, with dependent data: a copy next to the id, or
/// figures in the referenced document.
pub(super) struct Other<'m> {
    /// The referenced entity and its collection.
    entity: &'m str,
    home: &'m CollectionPlan,
    /// The field with its id.
    held: String,
    /// The field with the copy, and the copied fields.
    copy: Option<(String, Vec<&'m str>)>,
    /// The summary that the entity stores about the documents that refer to it.
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
    pub(super) fn fetch(&self, document: &str) -> [Step; 2] {
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
        [Step::code(format!("const {name} = {find};")), Step::missing(&name, self.entity)]
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

    fn updated(&self, document: &str, change: Bson) -> Option<Step> {
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

    /// Adds the document to a check. The sample refers to it but leaves the copy to the function.
    pub(super) fn prepare(&self, sample: &mut Document, check: &mut Check) {
        let name = self.found();
        sample.insert(&self.held, given(format!("{name}._id")));
        if let Some((copy, _)) = &self.copy {
            sample.remove(copy);
        }
        check.insert(&name, &self.home.name);
    }

    /// Adds to a check that a document has the dependent data, and the number of documents.
    pub(super) fn followed(&self, check: &mut Check, document: &str, number: u64) {
        let name = self.found();
        if let Some((copy, fields)) = &self.copy {
            let what = format!("`{copy}` is copied along (PT-extref.1)");
            let actual = format!("plain({})", member_of(document, copy));
            check.expect(&what, actual, format!("plain({})", picked(&name, fields)));
        }
        if let Some(count) = &self.summary.count {
            let counted = member_of(&found_in(&self.home.name, &name), count);
            let what = format!("`{count}` counts along");
            check.expect(&what, format!("Number({counted})"), number);
        }
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
            let copied = decision
                .copied(in_parent)
                .map(|fields| (copy, fields.iter().map(String::as_str).collect()));
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

    /// Returns the script that refreshes copies in elements of a list, whose entity has the id and
    /// the copies of another one.
    pub(super) fn copies_in_list(
        &self,
        r: &'m Relationship,
        decision: &'m Decision,
    ) -> Option<Script> {
        let naming = self.layout.naming;
        let (fields, in_parent) = copied_fields(decision)?;
        let (source, held, copy) = match in_parent {
            true => (&r.child, naming.child_field(r), naming.field(&[&naming.singular(r.role())])),
            false => (&r.parent, naming.parent_field(r), naming.parent_copy(r)),
        };
        let (home, list) = self.list_with_copies(r, decision)?;
        let from = self.own(source)?;
        let id = js::parameter(&match in_parent {
            true => naming.id_of(r.role()),
            false => naming.id_of(&r.parent),
        });
        let name = match in_parent {
            true => self.name("refresh copies of", r, false),
            false => self.name("refresh copies in", r, true),
        };
        let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
        let copied = Copied { source: (source, from), id: &id, fields: &fields };
        let path = format!("{}.{held}", list.name);
        let all = doc! { &path: given(&id) };
        let set = doc! { format!("{}.$[part].{copy}", list.name): given(picked("found", &fields)) };
        let by = doc! { "arrayFilters": [{ format!("part.{held}"): given(&id) }] };
        let arguments = [all.into(), doc! { "$set": set }.into(), by.into()];
        let write = Statement::new(&home.name, Method::UpdateMany, arguments);
        let job = copied.refreshing(&name, decision, &unserved(home, &path), write);
        // The first element refers to the source, the second one to another document.
        let holder = if in_parent { &r.parent } else { &r.child };
        let holder = self.layout.model.entity(holder)?;
        let mut element = self.sample(holder, &list.fields, &[]);
        if list.fields.iter().any(|field| field.origin == Origin::Id) {
            element.insert("_id", given("new ObjectId()"));
        }
        if let Some(field) = list.fields.iter().find(|field| field.name == copy) {
            element.insert(&copy, self.maker(true).object(&field.fields, None, "", 0));
        }
        let mut check = Check::default();
        check.insert("source", &from.name);
        let elements = ["source._id", "new ObjectId()"].map(|id| {
            element.insert(&held, given(id));
            Bson::from(element.clone())
        });
        let root = doc! { SPREAD: given(made(&home.name)), &list.name: elements.to_vec() };
        check.set("root", js::object(&root, 0));
        check.run(format!("{}.insertOne(root);", stored(&home.name)));
        let part = |number: u8| {
            let list = member_of(&found_in(&home.name, "root"), &list.name);
            member_of(&format!("{list}[{number}]"), &copy)
        };
        check.extend(self.mirror_check(&copied, "source", &name, &part(0)));
        let other = member_of(&format!("{}[1]", member_of("root", &list.name)), &copy);
        let (is, was) = (format!("plain({})", part(1)), format!("plain({other})"));
        check.expect("and leaves the rest", is, was);
        check.run(format!("{}.deleteOne({{ _id: root._id }});", stored(&home.name)));
        Some(Script {
            about: r.name.clone(),
            pattern: "extended-reference",
            intro: format!(
                "`{}`: {}. `{}` is embedded in a list, with its copies of `{source}`.",
                r.name, decision.ruling.how, holder.name
            ),
            jobs: vec![job],
            check,
        })
    }

    /// Returns the only list whose elements have the copies of a relationship, and its collection.
    /// There is none if they are deeper, on several lists, or on overflow pages.
    pub(super) fn list_with_copies(
        &self,
        r: &Relationship,
        decision: &Decision,
    ) -> Option<(&'m CollectionPlan, &'m Planned)> {
        let (_, in_parent) = copied_fields(decision)?;
        if in_parent && decision.facts.children.max > 1 {
            return None;
        }
        let holder = if in_parent { &r.parent } else { &r.child };
        let mut homes = self.layout.linked().filter(|(home, decision)| {
            home.child == *holder && decision.patterns.first() == Some(&Pattern::Embedded)
        });
        let (home, _) = homes.next().filter(|_| homes.next().is_none())?;
        let parent = self.own(&home.parent).filter(|_| self.pages_of(home).is_none())?;
        let list = parent.fields.iter().find(|field| {
            field.origin == Origin::Embedded(home.name.clone()) && field.kind == BsonType::Array
        })?;
        Some((parent, list))
    }

    /// Returns lines of a check: a string of the source changes, and the copy follows with the
    /// refresh. `source` names the document, and `copy` is an expression for the stored copy.
    pub(super) fn mirror_check(
        &self,
        copied: &Copied<'_>,
        source: &str,
        refresh: &str,
        copy: &str,
    ) -> Check {
        let mut check = Check::default();
        let (entity, home) = copied.source;
        let Some(entity) = self.layout.model.entity(entity) else { return check };
        let is_text = |name: &&&str| {
            let field = entity.field(name);
            field.is_some_and(|f| f.kind == BsonType::String && f.values.is_empty())
        };
        let Some(text) = copied.fields.iter().find(is_text) else { return check };
        let copy = member_of(copy, text);
        let change = js::object(&doc! { "$set": { *text: given("changed") } }, 0);
        let home = stored(&home.name);
        check.set("changed", "\"changed \" + unique()");
        check.run(format!("{home}.updateOne({{ _id: {source}._id }}, {change});"));
        let what = "copies stay as they were (PT-extref.2)";
        check.expect(what, format!("{copy} === changed"), false);
        check.run(format!("{refresh}(at, {source}._id);"));
        check.expect("a refresh mirrors the change", copy, "changed");
        check
    }
}

/// Returns the fields that a relationship copies, and whether the copies are in the parent.
pub(super) fn copied_fields(decision: &Decision) -> Option<(&[String], bool)> {
    let with_side = |in_parent| Some((decision.copied(in_parent)?, in_parent));
    with_side(true).or_else(|| with_side(false))
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
