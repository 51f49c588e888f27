//! Refreshes copies in elements of lists in other documents (PT-extref.2).

use bson::{Bson, Document, doc};
use docward_model::{BsonType, Entity, Relationship, shell::quote};

use super::extended::{refresh_words, serves, unserved};
use super::plans::{Plans, by_id, missing, one, picked};
use crate::decide::decision::Decision;
use crate::decide::pattern::Pattern;
use crate::declared::field_plan::{Origin, Planned};
use crate::emit::js::{self, SPREAD, given, member_of};
use crate::emit::statement::{Job, Method, Script, Statement, Step};
use crate::layout::collection::{CollectionPlan, Purpose};

/// The path to objects of an entity: the nested fields, the last of which contains the objects.
type PathToCopy<'m> = Vec<&'m Planned>;

/// Copies of one entity in elements of lists.
struct Copies<'m> {
    /// The entity whose fields are copied, and the entity that has the copies.
    source: &'m Entity,
    holder: &'m Entity,
    fields: Vec<&'m str>,
    /// The field with the id, and the field with the copies. Without the second, the copies are
    /// beside the id.
    held: String,
    copy: Option<String>,
    id: String,
}

impl<'m> Plans<'m> {
    /// Returns a new object for an embedded field.
    fn part_of(&self, field: &Planned) -> Option<Document> {
        let Origin::Embedded(name) = &field.origin else { return None };
        let entity = self.layout.model.entity(&self.layout.model.relationship(name)?.child)?;
        let mut made = Document::new();
        if field.fields.iter().any(|field| field.origin == Origin::Id) {
            made.insert("_id", given("new ObjectId()"));
        }
        made.extend(self.sample(entity, &field.fields, &[]));
        Some(made)
    }

    /// Returns the function that refreshes copies in elements of lists.
    pub(super) fn copies_in_lists(
        &self,
        relationship: &'m Relationship,
        decision: &'m Decision,
    ) -> Option<Script> {
        let (model, naming) = (self.layout.model, self.layout.naming);
        let (fields, in_parent) = decision.patterns.iter().find_map(|pattern| match pattern {
            Pattern::ExtendedReference { fields, in_parent, .. } => Some((fields, *in_parent)),
            _ => None,
        })?;
        let (parent, child) =
            (model.entity(&relationship.parent)?, model.entity(&relationship.child)?);
        let (source, holder) = if in_parent { (child, parent) } else { (parent, child) };
        let single = decision.facts.children.max <= 1;
        let (held, copy) = match decision.patterns.first()? {
            Pattern::ParentInChild if !in_parent => {
                (naming.parent_field(relationship), Some(naming.parent_copy(relationship)))
            }
            Pattern::ChildrenInParent if in_parent && single => {
                let copy = naming.field(&[&naming.singular(relationship.role())]);
                (naming.child_field(relationship), Some(copy))
            }
            Pattern::ChildrenInParent if in_parent => (naming.id_of(&relationship.child), None),
            _ => return None,
        };
        let id = js::parameter(&match in_parent {
            true => naming.id_of(relationship.role()),
            false => naming.id_of(&relationship.parent),
        });
        let fields = fields.iter().map(String::as_str).collect();
        let copies = Copies { source, holder, fields, held, copy, id };
        let from = self.own(&source.name)?;
        let mut places: Vec<(&'m CollectionPlan, PathToCopy<'m>)> = Vec::new();
        let with_parts = self.design.collections.iter().filter(|collection| {
            matches!(collection.purpose, Purpose::Entity | Purpose::Overflow(_))
        });
        for collection in with_parts {
            let mut ways = Vec::new();
            self.ways(&collection.fields, &copies, &mut Vec::new(), &mut ways);
            places.extend(ways.into_iter().map(|way| (collection, way)));
        }
        // Documents are refreshed before the overflow pages of their lists.
        let (first, others) = places.split_first()?;
        let name = match in_parent {
            true => self.name("refresh copies of", relationship, false),
            false => self.name("refresh copies in", relationship, true),
        };
        let mut steps = vec![
            Step::Let("found", one(&from.name, &by_id(&copies.id), &copies.fields)),
            missing("found", &source.name),
        ];
        let refresh = |(collection, way): &(&CollectionPlan, PathToCopy<'_>)| {
            copies.refreshed(&collection.name, way)
        };
        if others.is_empty() {
            steps.push(Step::Return(refresh(first)));
        } else {
            steps.push(Step::Let("done", refresh(first)));
            steps.extend(others.iter().map(|place| Step::Run(refresh(place))));
            steps.push(Step::Code("return done;".to_owned()));
        }
        let mut does = refresh_words(decision, &source.name);
        let served = |(collection, way): &(&'m CollectionPlan, PathToCopy<'m>)| {
            unserved(collection, &copies.path(way))
        };
        does.extend(places.iter().map(served));
        let job = Job {
            name: name.clone(),
            parameters: vec![copies.id.clone()],
            does,
            clauses: vec!["PT-extref.2", "DM-07.7"],
            steps,
        };
        let check = self.copies_check(&copies, from, &places, &name);
        Some(Script {
            about: relationship.name.clone(),
            pattern: "extended-reference",
            intro: format!(
                "`{}`: {}. `{}` is embedded in a list, with its copies of `{}`.",
                relationship.name, decision.ruling.how, holder.name, source.name
            ),
            jobs: vec![job],
            check,
        })
    }

    /// Finds all paths through lists to objects that have the copies.
    fn ways(
        &self,
        fields: &'m [Planned],
        copies: &Copies<'m>,
        above: &mut PathToCopy<'m>,
        found: &mut Vec<PathToCopy<'m>>,
    ) {
        if above.len() > 4 {
            return;
        }
        for field in fields {
            let Origin::Embedded(name) = &field.origin else { continue };
            let child = self.layout.model.relationship(name).map(|r| r.child.as_str());
            above.push(field);
            if child == Some(copies.holder.name.as_str()) {
                let mut way = above.clone();
                let list = || {
                    field.fields.iter().find(|inside| {
                        inside.kind == BsonType::Array
                            && inside.origin == Origin::Reference(copies.source.name.clone())
                            && inside.fields.iter().any(|f| f.name == copies.held)
                    })
                };
                way.extend(copies.copy.is_none().then(list).flatten());
                let has = |name: &str| {
                    way.last().is_some_and(|f| f.fields.iter().any(|f| f.name == name))
                };
                let in_list = way.iter().any(|field| field.kind == BsonType::Array);
                if in_list && has(&copies.held) && copies.copy.as_deref().is_none_or(has) {
                    found.push(way);
                }
            }
            self.ways(&field.fields, copies, above, found);
            above.pop();
        }
    }

    /// Returns lines of a check: copies keep their values until they are refreshed, and a refresh
    /// leaves other copies unchanged.
    fn copies_check(
        &self,
        copies: &Copies<'m>,
        from: &CollectionPlan,
        places: &[(&'m CollectionPlan, PathToCopy<'m>)],
        refresh: &str,
    ) -> Vec<String> {
        let Some(text) = self.text_among(&copies.source.name, &copies.fields) else {
            return Vec::new();
        };
        let sources = quote(&from.name);
        let id = "source._id";
        let mut lines = vec![
            format!("const source = {};", self.made(from)),
            format!("at.getCollection({sources}).insertOne(source);"),
            "const changed = \"changed \" + unique();".to_owned(),
            format!(
                "at.getCollection({sources}).updateOne({{ _id: source._id }}, {});",
                js::object(&doc! { "$set": { text: given("changed") } }, 0)
            ),
        ];
        for (number, (collection, way)) in places.iter().enumerate() {
            let (root, now) = (format!("root{number}"), format!("now{number}"));
            let document = self.with_copies(copies, way, Some(id));
            let Some(document) = document else { return Vec::new() };
            let name = quote(&collection.name);
            let mut whole = doc! { SPREAD: given(self.made(collection)) };
            whole.extend(document);
            let read = |document: &str| {
                let down = way.iter().fold(document.to_owned(), |at, field| {
                    let at = member_of(&at, &field.name);
                    if field.kind == BsonType::Array { format!("{at}[0]") } else { at }
                });
                let beside = copies.copy.as_ref().map(|copy| member_of(&down, copy));
                member_of(&beside.unwrap_or(down), text)
            };
            let path = copies.path(way);
            lines.push(format!("const {root} = {};", js::object(&whole, 0)));
            lines.push(format!("at.getCollection({name}).insertOne({root});"));
            lines.push(format!(
                "expect(\"copies stay as they were (PT-extref.2)\", {} === changed, false);",
                read(&root)
            ));
            lines.push(format!("{refresh}(at, {id});"));
            lines.push(format!(
                "const {now} = at.getCollection({name}).findOne({{ _id: {root}._id }});"
            ));
            lines.push(format!(
                "expect(\"a refresh mirrors the change\", {}, changed);",
                read(&now)
            ));
            lines.push(format!("{} = changed;", read(&root)));
            lines.push(format!("expect(\"and leaves the rest\", plain({now}), plain({root}));"));
            if serves(collection, &path) {
                lines.push(format!(
                    "expect(\"found by an index\", stages(at.getCollection({name}).find({}).explain()).includes(\"COLLSCAN\"), false);",
                    js::object(&doc! { &path: given(id) }, 0)
                ));
            }
            lines.push(format!("at.getCollection({name}).deleteOne({{ _id: {root}._id }});"));
        }
        lines
    }

    /// Returns the fields of a document for a check. The first element refers to the source of the
    /// copies, the second does not.
    fn with_copies(
        &self,
        copies: &Copies<'m>,
        way: &[&'m Planned],
        id: Option<&str>,
    ) -> Option<Document> {
        let (field, below) = way.split_first()?;
        let part = |first: bool| -> Option<Document> {
            let id = id.filter(|_| first);
            let mut made = match &field.origin {
                Origin::Reference(_) => {
                    self.maker(true).object(&field.fields, None, &copies.source.name, 0)
                }
                _ => self.part_of(field)?,
            };
            if below.is_empty() {
                made.insert(&copies.held, given(id.unwrap_or("new ObjectId()")));
                // A sample may lack optional fields.
                if let Some(copy) =
                    field.fields.iter().find(|f| Some(&f.name) == copies.copy.as_ref())
                {
                    made.insert(&copy.name, self.maker(true).object(&copy.fields, None, "", 0));
                }
            } else {
                made.extend(self.with_copies(copies, below, id)?);
            }
            Some(made)
        };
        let value = match field.kind {
            BsonType::Array => Bson::Array(
                [true, false].into_iter().filter_map(|first| Some(part(first)?.into())).collect(),
            ),
            _ => part(true)?.into(),
        };
        Some(doc! { &field.name: value })
    }
}

impl Copies<'_> {
    /// Returns the path of the ids in documents.
    fn path(&self, way: &[&Planned]) -> String {
        let names = way.iter().map(|field| field.name.as_str()).chain([self.held.as_str()]);
        names.collect::<Vec<_>>().join(".")
    }

    /// Returns the statement that refreshes copies at the end of a path, only in elements that lead
    /// to the id.
    fn refreshed(&self, collection: &str, way: &[&Planned]) -> Statement {
        let mut path = Vec::new();
        let mut filters = Vec::new();
        for (i, field) in way.iter().enumerate() {
            path.push(field.name.clone());
            if field.kind == BsonType::Array {
                let name = format!("part{}", filters.len() + 1);
                path.push(format!("$[{name}]"));
                filters.push(Bson::from(
                    doc! { format!("{name}.{}", self.path(&way[i + 1..])): given(&self.id) },
                ));
            }
        }
        let fields = picked("found", &self.fields);
        let value = match &self.copy {
            Some(copy) => {
                path.push(copy.clone());
                given(fields)
            }
            // Replaces the whole element, so that a field that its source no longer has disappears.
            None => doc! { &self.held: given(&self.id), SPREAD: given(fields) }.into(),
        };
        Statement::new(
            collection,
            Method::UpdateMany,
            [
                doc! { self.path(way): given(&self.id) }.into(),
                doc! { "$set": { path.join("."): value } }.into(),
                doc! { "arrayFilters": filters }.into(),
            ],
        )
    }
}
