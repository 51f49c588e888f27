//! The outlier pattern for lists of which a few parents have very many elements (PT-outlier.1). The
//! first page is in the parent, further pages are separate documents. Elements are appended only to
//! the last page, so that the order is kept.

use bson::{Bson, Document, doc};

use super::embedded::{Inside, Parts};
use super::plans::{Plans, at, by_id, found};
use crate::declared::field_plan::Origin;
use crate::emit::expectations::{Check, root_in, stored};
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
    /// The field of the parent that shows whether there are pages.
    flag: String,
}

impl<'m> Plans<'m> {
    /// Returns the functions for a list with pages, and the lines of their check.
    pub(super) fn pages(&self, inside: &Inside<'m>, most: u64) -> Option<Parts> {
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
        let mut check = these.filled(&add, &list);
        check.run(format!("{drop}(at, root._id);"));
        let left = format!("{}.countDocuments({})", stored(&these.pages.name), these.of_root());
        check.expect("no page is left", left, 0);
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

    fn of_root(&self) -> String {
        js::object(&doc! { &self.held: given("root._id") }, 0)
    }

    /// Returns the path of the last possible element. It is missing while the list has room.
    fn last(&self) -> String {
        format!("{}.{}", self.role(), self.most - 1)
    }

    fn adding(&self, name: &str) -> Job {
        let Inside { element, parent_id, relationship: r, .. } = self.inside;
        let pages = &self.pages.name;
        let push = || doc! { "$push": { self.role(): self.inside.pushed() } };
        let mut room = by_id(parent_id);
        room.insert(&self.flag, doc! { "$ne": true });
        room.insert(self.last(), doc! { "$exists": false });
        // A parent needs a next page only if it is full or already has pages.
        let mut full = by_id(parent_id);
        let is_full = [doc! { &self.flag: true }, doc! { self.last(): { "$exists": true } }];
        full.insert("$or", is_full.to_vec());
        let mark = Statement::update(self.parents(), full, doc! { "$set": { &self.flag: true } });
        let find = [self.of_parent().into(), doc! { "page": 1 }.into()];
        let last = Statement::new(pages, Method::Find, find);
        let last = last.then("sort", doc! { "page": -1 }).then("limit", 1);
        let mut in_last = self.of_parent();
        in_last.insert("page", given("page"));
        let mut opened = in_last.clone();
        in_last.insert(self.last(), doc! { "$exists": false });
        opened.insert(self.role(), Bson::Array(vec![self.inside.pushed()]));
        let again = vec![
            Step::Let("parent", found(self.parents(), by_id(parent_id))),
            Step::missing("parent", &r.parent),
            Step::code(format!("return {name}(db, {parent_id}, {element});")),
        ];
        let steps = [
            Step::note(format!(
                "While the parent has no pages and has room, its position {} is empty.",
                self.most - 1
            )),
            Step::Let("done", Statement::update(self.parents(), room, push())),
            Step::return_if("done.matchedCount === 1", "1"),
            Step::note("Readers must know about pages before the first one exists."),
            Step::Let("marked", mark),
            Step::note("The parent is no longer full, or another writer was first: try again."),
            Step::Block("if (marked.matchedCount === 0) {".to_owned(), again, "}"),
            Step::note("The unique index lets only one writer create a page; the others find it."),
            Step::code("let page = 1;"),
            Step::Retry(vec![
                Step::Let("last", last),
                Step::code("page = last.length === 0 ? 1 : last[0].page;"),
                Step::Let("added", Statement::update(pages, in_last, push())),
                Step::code("if (added.matchedCount === 1) break;\npage += 1;"),
                Step::Run(Statement::insert(pages, opened)),
                Step::code("break;"),
            ]),
            Step::code("return page;"),
        ];
        let does = format!(
            "Appends one element: to the parent while it has fewer than {} and no pages, then to \
             the last page in `{pages}`, then to a new page. Returns the number of the page; the \
             parent is page 1.{}",
            self.most,
            self.inside.along()
        );
        Job::new(name, &[parent_id, element], does, steps).by(&["PT-outlier.1", "GC-04"])
    }

    fn listing(&self, name: &str) -> Job {
        let Inside { parent_id, relationship: r, .. } = self.inside;
        let whole = Statement::new(self.parents(), Method::FindOne, [by_id(parent_id).into()]);
        let rest =
            Statement::find(&self.pages.name, self.of_parent()).then("sort", doc! { "page": 1 });
        let (flag, list) = (at("parent", &self.flag), at("parent", self.role()));
        let does = "Returns all elements in order. Reads pages only if the parent has some.";
        let steps = [
            Step::Let("parent", whole),
            Step::missing("parent", &r.parent),
            Step::code(format!("if (!{flag}) return {list};")),
            Step::Let("pages", rest),
            Step::code(format!(
                "return {list}.concat(...pages.map((page) => {}));",
                member_of("page", self.role())
            )),
        ];
        Job::new(name, &[parent_id], does, steps).by(&["PT-outlier.1"])
    }

    fn dropping(&self, name: &str) -> Job {
        let r = self.inside.relationship;
        let all = Statement::new(&self.pages.name, Method::DeleteMany, [self.of_parent().into()]);
        let does = format!(
            "Removes the pages of `{}` when the `{}` is deleted, because no function would find \
             them any more.",
            r.name, r.parent
        );
        Job::new(name, &[&self.inside.parent_id], does, [Step::Return(all)]).by(&["PT-outlier.1"])
    }

    /// Returns lines of a check: two and a half pages, refused calls, and several writers.
    fn filled(&self, add: &str, list: &str) -> Check {
        let (most, many) = (self.most, self.most * 2 + self.most / 2);
        let pages: Vec<String> = (2..)
            .zip((most..many).step_by(most as usize))
            .map(|(page, from)| format!("[{page}, {}]", (many - from).min(most)))
            .collect();
        let now = root_in(self.parents());
        let mut check = Check::default();
        check.set("sent", "[]");
        check.run(format!(
            "for (let i = 0; i < {many}; i++) {{\n  sent.push(one(i));\n  {add}(at, root._id, sent[i]);\n}}"
        ));
        let length = format!("{}.length", at(&now, self.role()));
        check.expect(&format!("the parent holds {most} (PT-outlier.1)"), length, most);
        check.expect("and says that there are more", at(&now, &self.flag), true);
        let found = format!(
            "{}.find({}).sort({{ page: 1 }}).toArray().map((page) => [page.page, {}.length])",
            stored(&self.pages.name),
            self.of_root(),
            member_of("page", self.role())
        );
        check.expect("pages from 2 on", found, format!("[{}]", pages.join(", ")));
        let all = |parent: &str| format!("{list}(at, {parent}._id)");
        let read = format!("plain({})", all("root"));
        check.expect(&format!("the reader has {many}, in order"), read, "plain(sent)");
        check.insert("second", self.parents());
        let bad = self.inside.field.fields.iter().find(|f| f.origin == Origin::Own);
        if let Some(bad) = bad {
            let bad = js::object(&doc! { SPREAD: given("one(0)"), &bad.name: Bson::MinKey }, 0);
            check.fails("a bad one in the parent", format!("{add}(at, second._id, {bad})"));
            check.fails("a bad one on a page", format!("{add}(at, root._id, {bad})"));
        }
        let left = format!("[{}.length, {}.length]", all("root"), all("second"));
        check.expect("what is refused leaves nothing", left, format!("[{many}, 0]"));
        check.run(format!(
            "await together(Array.from({{ length: 8 }}, async (_, writer) => {{\n  for (let i = 0; i < 3; i++) {add}(at, root._id, one({many} + writer * 3 + i));\n}}));"
        ));
        check.expect("8 writers lose nothing", all("root") + ".length", many + 24);
        check
    }
}
