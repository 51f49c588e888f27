//! Elements that reads ask for by a field of their own: those in parents and those on pages (PT-outlier.1,
//! CK-12).

use bson::{Bson, Document, doc};
use docward_model::shell::quote;
use docward_model::{DesignRead, Matching};

use crate::declared::field_plan::at_path;
use crate::emit::js::{self, SPREAD, given};
use crate::emit::statement::{Job, Method, Statement, Step};
use crate::layout::collection::CollectionPlan;
use crate::layout::index::paths::place_of;

use super::Plans;
use super::embedded::Inside;

/// A read of elements, wherever they are.
struct Asked<'m> {
    read: &'m DesignRead,
    /// Fields of an element, each with the parameter that it is compared with.
    fields: Vec<(String, String)>,
}

impl<'m> Plans<'m> {
    /// Functions that find elements of a list with pages, and lines that check them.
    pub(super) fn finding(
        &self,
        inside: &Inside<'m>,
        (pages, held): (&'m CollectionPlan, &str),
    ) -> (Vec<Job>, Vec<String>) {
        let (mut jobs, mut check): (Vec<Job>, Vec<String>) = (Vec::new(), Vec::new());
        for asked in self.asked(inside, pages) {
            let names: Vec<&str> = asked.fields.iter().map(|(field, _)| field.as_str()).collect();
            let relationship = inside.relationship;
            let mut parts = vec!["list"];
            // Several parents may have children of one name.
            parts.extend(self.is_ambiguous(relationship).then_some(relationship.parent.as_str()));
            parts.extend([relationship.role(), "by"]);
            parts.extend(names.iter().copied());
            let name = js::function(&parts);
            if jobs.iter().any(|job| job.name == name) {
                continue;
            }
            check.extend(self.finding_check(inside, (pages, held), &asked, &name));
            jobs.push(asked.job(inside, (pages, held), name));
        }
        (jobs, check)
    }

    fn asked(&self, inside: &Inside<'m>, pages: &CollectionPlan) -> Vec<Asked<'m>> {
        let role = inside.relationship.role();
        let path = format!("{role}.");
        let reads = self.layout.model.reads.iter();
        let of_child = reads.filter(|read| read.from == inside.relationship.child);
        let asked = of_child.filter_map(|read| {
            let field = |(name, how): &(String, Matching)| {
                let place = place_of(&self.layout, pages, &path, name);
                let field = place.strip_prefix(&path).filter(|_| *how == Matching::Equal)?;
                let is_there = at_path(&pages.fields, &place).is_some() && field != "_id";
                is_there.then(|| (field.to_owned(), js::parameter(&field.replace('.', " "))))
            };
            let fields: Option<Vec<_>> = read.filter.iter().map(field).collect();
            let fields = fields.filter(|fields| !fields.is_empty())?;
            Some(Asked { read, fields })
        });
        asked.collect()
    }

    /// In a check: one in a parent and one on a page of it are found, both by an index.
    fn finding_check(
        &self,
        inside: &Inside<'m>,
        (pages, held): (&CollectionPlan, &str),
        asked: &Asked<'m>,
        name: &str,
    ) -> Vec<String> {
        let role = inside.relationship.role();
        let [(field, _)] = asked.fields.as_slice() else { return Vec::new() };
        let planned = at_path(&pages.fields, &format!("{role}.{field}")).map(|(_, leaf)| leaf);
        let Some(planned) = planned.filter(|leaf| leaf.values.is_empty()) else {
            return Vec::new();
        };
        // What is inside of more than a list, or is a value with others beside it, is left to the others.
        if !inside.parent.path.is_empty() || field.contains('.') || planned.items.is_some() {
            return Vec::new();
        }
        let day = crate::emit::example::day(self.layout.model);
        let element = |number: u64| {
            let mut made = doc! { SPREAD: given(format!("one({number})")) };
            if inside.addressed {
                made.insert("_id", given("new ObjectId()"));
            }
            made.insert(field, given("wanted"));
            Bson::from(made)
        };
        let parents = quote(&inside.parent.collection.name);
        let on_pages = quote(&pages.name);
        let parent = doc! {
            SPREAD: given(self.made(inside.parent.collection)), &inside.list: [element(1)],
        };
        let page = doc! {
            SPREAD: given(format!("make[{on_pages}]()")),
            held: given("parent._id"),
            "page": 2,
            role: [element(2)],
        };
        let by = |list: &str| js::object(&doc! { format!("{list}.{field}"): given("wanted") }, 0);
        let lines = [
            format!("const wanted = {};", super::vary(planned, true, day)),
            format!("const parent = {};", js::object(&parent, 0)),
            format!("at.getCollection({parents}).insertOne(parent);"),
            format!("at.getCollection({on_pages}).insertOne({});", js::object(&page, 0)),
            format!(
                "expect(\"found in the parent and on its page (PT-outlier.1)\", {name}(at, wanted).map((one) => String({})), [String(parent._id), String(parent._id)]);",
                js::member_of("one", held)
            ),
            format!(
                "for (const all of [at.getCollection({parents}).find({}), at.getCollection({on_pages}).find({})]) {{\n  expect(\"by an index (CK-12)\", stages(all.explain()).includes(\"COLLSCAN\"), false);\n}}",
                by(&inside.list),
                by(role)
            ),
        ];
        let lines: Vec<String> =
            lines.iter().flat_map(|line| line.lines()).map(|l| format!("  {l}\n")).collect();
        vec![format!("{{\n{}}}", lines.concat())]
    }
}

impl Asked<'_> {
    fn job(
        &self,
        inside: &Inside<'_>,
        (pages, held): (&CollectionPlan, &str),
        name: String,
    ) -> Job {
        let role = inside.relationship.role();
        let stages = |list: &str, parent: &str| -> Vec<Bson> {
            let wanted: Document = self
                .fields
                .iter()
                .map(|(field, value)| (format!("{list}.{field}"), given(value)))
                .collect();
            let one = doc! { "_id": 0, "one": format!("${list}"), held: format!("${parent}") };
            vec![
                doc! { "$match": wanted.clone() }.into(),
                doc! { "$unwind": format!("${list}") }.into(),
                doc! { "$match": wanted }.into(),
                doc! { "$project": one }.into(),
            ]
        };
        let mut pipeline = stages(&inside.list, &inside.parent.key());
        let more = doc! { "coll": &pages.name, "pipeline": stages(role, held) };
        let one = doc! { "$mergeObjects": ["$one", { held: format!("${held}") }] };
        pipeline.push(doc! { "$unionWith": more }.into());
        pipeline.push(doc! { "$replaceRoot": { "newRoot": one } }.into());
        let sort: Document = self
            .read
            .sort
            .iter()
            .map(|(field, falls)| (field.clone(), Bson::from(if *falls { -1 } else { 1 })))
            .collect();
        if !sort.is_empty() {
            pipeline.push(doc! { "$sort": sort }.into());
        }
        if let Some(limit) = self.read.limit {
            pipeline.push(doc! { "$limit": limit as i64 }.into());
        }
        Job {
            name,
            parameters: self.fields.iter().map(|(_, parameter)| parameter.clone()).collect(),
            does: format!(
                "For `{}`: elements of parents and of pages in `{}`, each with the id of its parent.",
                self.read.name, pages.name
            ),
            clauses: vec!["PT-outlier.1", "CK-12"],
            steps: vec![Step::Return(Statement::new(
                &inside.parent.collection.name,
                Method::Aggregate,
                [pipeline.into()],
            ))],
        }
    }
}
