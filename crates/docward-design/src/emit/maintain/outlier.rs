//! The outlier pattern for lists of which a few parents have very many elements (PT-outlier.1). The
//! first page is in the parent, further pages are separate documents. Elements are appended only to
//! the last page, so that the order is kept.

use bson::{Bson, Document, doc};
use docward_model::shell::quote;

use super::embedded::Inside;
use super::plans::{Plans, at, by_id, found, now};
use crate::declared::field_plan::Origin;
use crate::emit::js::{self, SPREAD, given, member_of};
use crate::emit::statement::{Job, Method, Statement, Step};
use crate::layout::collection::CollectionPlan;

/// The parts of the design that the functions use.
struct Pages<'a, 'm> {
    inside: &'a Inside<'m>,
    /// The collection of the pages.
    pages: &'m CollectionPlan,
    /// The maximum number of elements of a page.
    most: u64,
    /// The field of a page with the parent's id.
    held: String,
    /// The field of the parent that says whether there are pages.
    flag: String,
}

impl<'m> Plans<'m> {
    /// Returns the functions for a list with pages, and the lines of their check.
    pub(super) fn pages(
        &self,
        inside: &Inside<'m>,
        most: u64,
    ) -> Option<(&'static str, Vec<Job>, Vec<String>)> {
        let r = inside.relationship;
        let these = Pages {
            inside,
            pages: self.pages_of(r)?,
            most,
            held: self.layout.naming.id_of(&r.parent),
            flag: self.layout.overflow(r),
        };
        let (add, list) = (self.name("add", r, false), self.name("list", r, true));
        let drop = self.name("drop pages of", r, true);
        let jobs = vec![these.adding(&add), these.listing(&list), these.dropping(&drop)];
        let mut check = these.filled(&self.made(inside.parent), &add, &list);
        check.push(format!("{drop}(at, root._id);"));
        check.push(format!(
            "expect(\"no page is left\", at.getCollection({}).countDocuments({}), 0);",
            quote(&these.pages.name),
            js::object(&doc! { &these.held: given("root._id") }, 0)
        ));
        Some(("outlier", jobs, check))
    }
}

impl Pages<'_, '_> {
    fn parents(&self) -> &str {
        &self.inside.parent.name
    }

    fn role(&self) -> &str {
        &self.inside.field.name
    }

    fn of_parent(&self) -> Document {
        doc! { &self.held: given(&self.inside.parent_id) }
    }

    /// Returns the path of the last possible element. It is missing while the list has room.
    fn last(&self) -> String {
        format!("{}.{}", self.role(), self.most - 1)
    }

    fn adding(&self, name: &str) -> Job {
        let Inside { element, parent_id, relationship: r, .. } = self.inside;
        let push = || doc! { "$push": { self.role(): self.inside.pushed() } };
        let mut room = by_id(parent_id);
        room.insert(&self.flag, doc! { "$ne": true });
        room.insert(self.last(), doc! { "$exists": false });
        // A parent needs a next page only if it is full or already has pages.
        let mut full = by_id(parent_id);
        full.insert(
            "$or",
            vec![doc! { &self.flag: true }, doc! { self.last(): { "$exists": true } }],
        );
        let mark = Statement::update(self.parents(), full, doc! { "$set": { &self.flag: true } });
        let missing = quote(&format!("there is no such {}", r.parent));
        let last = Statement::new(
            &self.pages.name,
            Method::Find,
            [self.of_parent().into(), doc! { "page": 1 }.into()],
        )
        .then("sort", doc! { "page": -1 })
        .then("limit", 1);
        let mut in_last = self.of_parent();
        in_last.insert("page", given("page"));
        let mut opened = in_last.clone();
        in_last.insert(self.last(), doc! { "$exists": false });
        opened.insert(self.role(), Bson::Array(vec![self.inside.pushed()]));
        let steps = vec![
            Step::Note(format!(
                "While the parent has no pages and has room, its position {} is empty.",
                self.most - 1
            )),
            Step::Let("done", Statement::update(self.parents(), room, push())),
            Step::Code("if (done.matchedCount === 1) return 1;".to_owned()),
            Step::Note(
                "Set the flag first: readers must look for pages before the first page exists."
                    .to_owned(),
            ),
            Step::Let("marked", mark),
            Step::Note(
                "The parent is no longer full, or another writer was first: try \
             again."
                    .to_owned(),
            ),
            Step::Code(format!(
                "if (marked.matchedCount === 0) {{\n  if ({} === null) throw new Error({missing});\n  return {name}(db, {parent_id}, {element});\n}}",
                found(self.parents(), by_id(parent_id)).shell(2),
            )),
            Step::Note(
                "The unique index lets only one writer create a page; the others find \
                 it."
                .to_owned(),
            ),
            Step::Code("let page = 1;".to_owned()),
            Step::Retry(vec![
                Step::Let("last", last),
                Step::Code("page = last.length === 0 ? 1 : last[0].page;".to_owned()),
                Step::Let("added", Statement::update(&self.pages.name, in_last, push())),
                Step::Code("if (added.matchedCount === 1) break;\npage += 1;".to_owned()),
                Step::Run(Statement::insert(&self.pages.name, opened)),
                Step::Code("break;".to_owned()),
            ]),
            Step::Code("return page;".to_owned()),
        ];
        Job {
            name: name.to_owned(),
            parameters: vec![parent_id.clone(), element.clone()],
            does: format!(
                "Appends one element: to the parent while it has fewer than {} and no pages, then \
                 to the last page in `{}`, then to a new page. Returns the number of the page; \
                 the parent is page 1.{}",
                self.most,
                self.pages.name,
                self.inside.along()
            ),
            clauses: vec!["PT-outlier.1", "GC-04"],
            steps,
        }
    }

    fn listing(&self, name: &str) -> Job {
        let by_id = by_id(&self.inside.parent_id);
        let whole = Statement::new(self.parents(), Method::FindOne, [by_id.into()]);
        let rest =
            Statement::find(&self.pages.name, self.of_parent()).then("sort", doc! { "page": 1 });
        let missing = quote(&format!("there is no such {}", self.inside.relationship.parent));
        let (flag, list) = (at("parent", &self.flag), at("parent", self.role()));
        Job {
            name: name.to_owned(),
            parameters: vec![self.inside.parent_id.clone()],
            does: "Returns all elements in order. Reads pages only if the parent has \
             some."
                .to_owned(),
            clauses: vec!["PT-outlier.1"],
            steps: vec![
                Step::Let("parent", whole),
                Step::Code(format!("if (parent === null) throw new Error({missing});")),
                Step::Code(format!("if (!{flag}) return {list};")),
                Step::Let("pages", rest),
                Step::Code(format!(
                    "return {list}.concat(...pages.map((page) => {}));",
                    member_of("page", self.role())
                )),
            ],
        }
    }

    fn dropping(&self, name: &str) -> Job {
        let r = self.inside.relationship;
        let all = [self.of_parent().into()];
        Job {
            name: name.to_owned(),
            parameters: vec![self.inside.parent_id.clone()],
            does: format!(
                "Removes the pages of `{}` when the `{}` is deleted, because no function would \
                 find them any more.",
                r.name, r.parent
            ),
            clauses: vec!["PT-outlier.1"],
            steps: vec![Step::Return(Statement::new(&self.pages.name, Method::DeleteMany, all))],
        }
    }

    /// Returns lines of a check: two and a half pages, refused calls, and several writers.
    fn filled(&self, made: &str, add: &str, list: &str) -> Vec<String> {
        let (most, many) = (self.most, self.most * 2 + self.most / 2);
        let pages: Vec<String> = (2..)
            .zip((most..many).step_by(most as usize))
            .map(|(page, from)| format!("[{page}, {}]", (many - from).min(most)))
            .collect();
        let of_root = js::object(&doc! { &self.held: given("root._id") }, 0);
        let mut check = vec![
            "const sent = [];".to_owned(),
            format!(
                "for (let i = 0; i < {many}; i++) {{\n  sent.push(one(i));\n  {add}(at, root._id, sent[i]);\n}}"
            ),
            now(self.parents()),
            format!(
                "expect(\"the parent holds {most} (PT-outlier.1)\", {}.length, {most});",
                at("now", self.role())
            ),
            format!("expect(\"and says that there are more\", {}, true);", at("now", &self.flag)),
            format!(
                "expect(\"pages from 2 on\", at.getCollection({}).find({of_root}).sort({{ page: 1 }}).toArray().map((page) => [page.page, {}.length]), [{}]);",
                quote(&self.pages.name),
                member_of("page", self.role()),
                pages.join(", ")
            ),
            format!(
                "expect(\"the reader has {many}, in order\", plain({list}(at, root._id)), plain(sent));"
            ),
            format!("const second = {made};"),
            format!("at.getCollection({}).insertOne(second);", quote(self.parents())),
        ];
        let bad = self.inside.field.fields.iter().find(|f| f.origin == Origin::Own);
        if let Some(bad) = bad {
            let bad = js::object(&doc! { SPREAD: given("one(0)"), &bad.name: Bson::MinKey }, 0);
            for (parent, what) in [("second", "in the parent"), ("root", "on a page")] {
                check.push(format!(
                    "refused(\"a bad one {what}\", null, () => {add}(at, {parent}._id, {bad}));"
                ));
            }
        }
        check.push(format!(
            "expect(\"what is refused leaves nothing\", [{list}(at, root._id).length, {list}(at, second._id).length], [{many}, 0]);"
        ));
        check.push(format!(
            "await together(Array.from({{ length: 8 }}, async (_, writer) => {{\n  for (let i = 0; i < 3; i++) {add}(at, root._id, one({many} + writer * 3 + i));\n}}));"
        ));
        check.push(format!(
            "expect(\"8 writers lose nothing\", {list}(at, root._id).length, {});",
            many + 24
        ));
        check
    }
}
