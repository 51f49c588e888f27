//! Lists of which a few parents have very many (PT-outlier.1): the first page in the parent, the others
//! beside it. Nothing is appended to a parent that has pages, so that all of them are in order and what a
//! writer of a page sees in the parent stays so.

mod checks;

use bson::{Bson, Document, doc};
use docward_model::shell::quote;

use crate::decide::decision::Decision;
use crate::decide::pattern::Pattern;
use crate::declared::field_plan::Origin;
use crate::emit::js::{self, SPREAD, given, member_of};
use crate::emit::statement::{Job, Method, Statement, Step};
use crate::layout::collection::{CollectionPlan, Purpose};
use crate::model_file::quantity;

use super::child_refs::at;
use super::embedded::Inside;
use super::summary::{Sum, Summary, before, is_given};
use super::transaction::{Act, Both};
use super::{Plans, picked};

/// What the functions speak of.
struct Pages<'a, 'm> {
    inside: &'a Inside<'m>,
    summary: Summary<'m>,
    /// The collection of the pages.
    pages: &'m CollectionPlan,
    /// Elements of a page.
    most: u64,
    /// The field of a page with the id of the parent.
    held: String,
    /// The field of the parent that says whether there are pages.
    flag: String,
    unique: Vec<&'m str>,
    /// The function that looks for what is unique.
    has: String,
    /// Elements that a check adds: two pages and a half. Where each makes a version of the parent, which is a copy of
    /// it, a few on a page are enough.
    many: u64,
}

impl<'m> Plans<'m> {
    /// Functions for a list with pages, and lines that check them.
    pub(super) fn pages(
        &self,
        inside: &Inside<'m>,
        decision: &'m Decision,
    ) -> Option<(&'static str, Vec<Job>, Vec<String>)> {
        let root_id = inside.parent.id_in("root");
        let r = inside.relationship;
        let overflow = Purpose::Overflow(r.name.clone());
        let pages = self.design.collections.iter().find(|c| c.purpose == overflow)?;
        let most = decision.patterns.iter().find_map(|pattern| match pattern {
            Pattern::Outlier { page } => Some(*page),
            _ => None,
        })?;
        let entity = self.layout.model.entity(&inside.parent.collection.entity);
        let versioned = entity.is_some_and(|e| self.beside(e, &Purpose::Versions).is_some());
        let these = Pages {
            inside,
            summary: self.summary(r, decision, &inside.parent),
            pages,
            most,
            held: self.layout.naming.id_of(&r.parent),
            flag: format!("{}{}", inside.parent.path, self.layout.overflow(r)),
            unique: self.unique_in(r),
            has: self.name("has", r, false),
            many: if versioned { most + 10 } else { most * 2 + most / 2 },
        };
        let mut jobs = Vec::new();
        if !these.unique.is_empty() {
            jobs.push(these.looking());
        }
        let (add, list) = (self.name("add", r, false), self.name("list", r, true));
        let adding = these.adding(&add);
        let both = Both {
            parent: &inside.parent,
            parent_id: &inside.parent_id,
            keeps: !these.summary.is_empty(),
            act: Act::Adds,
            child: None,
            found: &[],
        };
        let together = self.together(r, decision, &adding, both);
        jobs.push(adding);
        jobs.extend(together);
        jobs.extend(self.made_together(r, decision, &add, &inside.parent));
        jobs.push(these.listing(&list));
        let mut check = these.filled(self, &add, &list);
        if self.changes_both(r, decision) {
            let parents = quote(these.parents());
            let found = format!("at.getCollection({parents}).findOne({{ _id: root._id }})");
            let count = format!("({} ?? []).length", at(&found, &inside.list));
            let call = |update: &str| {
                format!("{add}InTransaction(at, {root_id}, one(unique()), {update})")
            };
            let lines = self.both_check(r, &inside.parent, call, (None, &count, 1));
            check.extend(self.on_another(inside, lines));
        }
        if inside.addressed {
            let (change, remove) = (self.name("change", r, false), self.name("remove", r, false));
            let id = js::parameter(&self.layout.naming.id_of(r.role()));
            let found = these.element(&id);
            let changing = these.changing(&change, &id, self.unique_stay(r));
            for (act, job, does) in [
                (Act::Changes, changing, self.changes_both(r, decision)),
                (Act::Removes, these.removing(&remove, &id), self.removes_both(r, decision)),
            ] {
                let both = Both { act, found: &found, ..both };
                let together = does.then(|| self.with_parent(r, &job, both));
                jobs.push(job);
                jobs.extend(together);
            }
            check.extend(these.taken_out(self, (&add, &change, &remove, &list)));
        }
        let expire = self.name("expire", r, true);
        if let Some((days, date)) = self.expires(r) {
            jobs.push(these.expiring(&expire, days, date));
            check.extend(these.aged(self, &add, &expire, &list, (days, date)));
        }
        // Counts may be off after a crash, and a parent that lost its pages still says that it has some.
        if inside.addressed || !these.summary.is_empty() {
            let rebuild = self.name("rebuild", r, true);
            jobs.push(these.rebuilding(&rebuild));
            check.extend(these.rebuilt(self, &add, &rebuild));
        }
        let (found, found_check) = self.finding(inside, (pages, &these.held));
        jobs.extend(found);
        check.extend(found_check);
        let drop = self.name("drop pages of", r, true);
        jobs.push(these.dropping(&drop));
        check.push(format!("{drop}(at, {root_id});"));
        check.push(format!(
            "expect(\"no page is left\", at.getCollection({}).countDocuments({}), 0);",
            quote(&pages.name),
            js::object(&doc! { &these.held: given(&root_id) }, 0)
        ));
        Some(("outlier", jobs, check))
    }

    /// Removes the pages of a document that is gone, for everything it has pages of.
    pub(super) fn pages_gone(&self, entity: &str, id: &str) -> Vec<Step> {
        let of_it = self.design.collections.iter().filter(|collection| {
            collection.entity == entity && matches!(collection.purpose, Purpose::Overflow(_))
        });
        let held = self.layout.naming.id_of(entity);
        of_it.map(|pages| Step::Run(all_of(&pages.name, doc! { &held: given(id) }))).collect()
    }
}

fn all_of(collection: &str, filter: Document) -> Statement {
    Statement::new(collection, Method::DeleteMany, [filter.into()])
}

impl Pages<'_, '_> {
    fn parents(&self) -> &str {
        &self.inside.parent.collection.name
    }

    fn role(&self) -> &str {
        self.inside.relationship.role()
    }

    fn by_id(&self) -> Document {
        self.inside.parent.by(&self.inside.parent_id)
    }

    fn of_parent(&self) -> Document {
        doc! { &self.held: given(&self.inside.parent_id) }
    }

    /// A filter that is true while a list has room and none with the same unique value.
    fn has_room(&self, mut filter: Document, list: &str) -> Document {
        filter.insert(format!("{list}.{}", self.most - 1), doc! { "$exists": false });
        for field in &self.unique {
            let value = given(member_of(&self.inside.element, field));
            filter.insert(format!("{list}.{field}"), doc! { "$ne": value });
        }
        filter
    }

    /// The parent while it is full or has pages: only then is there a next page.
    fn full_or_paged(&self) -> Document {
        let full = format!("{}.{}", self.inside.list, self.most - 1);
        let mut filter = self.by_id();
        filter.insert("$or", vec![doc! { &self.flag: true }, doc! { full: { "$exists": true } }]);
        filter
    }

    fn no_parent(&self, test: &str) -> Step {
        let missing = quote(&format!("there is no such {}", self.inside.relationship.parent));
        Step::Code(format!("if ({test}) throw new Error({missing});"))
    }

    /// Whether an element shares what must be unique, wherever it is.
    fn looking(&self) -> Job {
        let same = |list: &str| {
            let mut each = self.unique.iter().map(|field| {
                let value = given(member_of(&self.inside.element, field));
                doc! { format!("{list}.{field}"): value }
            });
            match (each.next(), each.len()) {
                (Some(one), 0) => one,
                (first, _) => {
                    let all: Vec<Bson> = first.into_iter().chain(each).map(Bson::from).collect();
                    doc! { "$or": all }
                }
            }
        };
        let find = |collection: &str, list: &str| {
            let id = doc! { "_id": 1 };
            Statement::new(collection, Method::FindOne, [same(list).into(), id.into()])
        };
        Job {
            name: self.has.clone(),
            parameters: vec![self.inside.element.clone()],
            does: format!(
                "Whether a parent or a page has one with this {}. The unique indexes hold between parents and between pages, but none reaches from one collection to the other: two writers at the same moment, one of a parent and one of a page of another parent, could both pass.",
                self.unique.join(" or ")
            ),
            clauses: vec!["PT-outlier.1", "GC-37"],
            steps: vec![
                Step::Let("found", find(self.parents(), &self.inside.list)),
                Step::Code("if (found !== null) return true;".to_owned()),
                Step::Let("page", find(&self.pages.name, self.role())),
                Step::Code("return page !== null;".to_owned()),
            ],
        }
    }

    fn adding(&self, name: &str) -> Job {
        let Inside { list, element, relationship: r, .. } = self.inside;
        let refuse_twins = || {
            let taken = quote(&format!("there is one with this {}", self.unique.join(" or ")));
            let code = format!("if ({}(db, {element})) throw new Error({taken});", self.has);
            (!self.unique.is_empty()).then_some(Step::Code(code))
        };
        let returned = if self.inside.addressed { "_id" } else { "page" };
        let mut room = self.by_id();
        room.insert(&self.flag, doc! { "$ne": true });
        let mut steps: Vec<Step> = self.inside.made_id().into_iter().collect();
        steps.extend(refuse_twins());
        steps.extend([
            Step::Note(format!(
                "While the parent has no pages and room, its place {} is empty.",
                self.most - 1
            )),
            Step::Let(
                "done",
                Statement::update(self.parents(), self.has_room(room, list), self.pushed_inside()),
            ),
            Step::Code(format!(
                "if (done.matchedCount === 1) return {};",
                if self.inside.addressed { "_id" } else { "1" }
            )),
            Step::Note("Readers must know of pages before there is one.".to_owned()),
        ]);
        let mut mark = vec![
            Bson::from(self.full_or_paged()),
            Bson::from(doc! { "$set": { &self.flag: true } }),
        ];
        let mut opened = self.of_parent();
        opened.insert("page", given("page"));
        // Pages go when the parent goes by itself.
        let marked = match self.date() {
            Some(date) => {
                opened.insert(SPREAD, given(picked("marked", &[date])));
                mark.push(doc! { "projection": { date: 1 } }.into());
                (Method::FindOneAndUpdate, "marked === null")
            }
            None => (Method::UpdateOne, "marked.matchedCount === 0"),
        };
        steps.push(Step::Let("marked", Statement::new(self.parents(), marked.0, mark)));
        // An equal one came first, or there is room again.
        let find = [self.by_id().into(), doc! { "_id": 1 }.into()];
        let find = Statement::new(self.parents(), Method::FindOne, find);
        let missing = quote(&format!("there is no such {}", r.parent));
        steps.push(Step::Note("Not full any more, or another was first: once again.".to_owned()));
        steps.push(Step::Code(format!(
            "if ({}) {{\n  if ({} === null) throw new Error({missing});\n  return {name}(db, {}, {element});\n}}",
            marked.1,
            find.shell(2),
            self.inside.parent_id,
        )));
        opened.insert(self.role(), Bson::Array(vec![self.inside.pushed()]));
        let last = Statement::new(
            &self.pages.name,
            Method::Find,
            [self.of_parent().into(), doc! { "page": 1 }.into()],
        )
        .then("sort", doc! { "page": -1 })
        .then("limit", 1);
        let mut in_last = self.of_parent();
        in_last.insert("page", given("page"));
        let append = Statement::update(
            &self.pages.name,
            self.has_room(in_last, self.role()),
            doc! { "$push": { self.role(): self.inside.pushed() } },
        );
        let mut attempt: Vec<Step> = refuse_twins().into_iter().collect();
        attempt.extend([
            Step::Let("last", last),
            Step::Code("page = last.length === 0 ? 1 : last[0].page;".to_owned()),
            Step::Let("added", append),
            Step::Code("if (added.matchedCount === 1) break;\npage += 1;".to_owned()),
            Step::Run(Statement::insert(&self.pages.name, opened)),
            Step::Code("break;".to_owned()),
        ]);
        steps.extend([
            Step::Note(
                "The unique index lets one writer open a page; the others find it.".to_owned(),
            ),
            Step::Code("let page = 1;".to_owned()),
            Step::Retry(attempt),
        ]);
        if !self.summary.is_empty() {
            let update = self.summary.arrival(element, "_id");
            let dropped = all_of(&self.pages.name, self.of_parent());
            let missing = quote(&format!("there is no such {}", r.parent));
            steps.extend([
                Step::Note("What was refused is not counted: the element comes first.".to_owned()),
                Step::Let("counted", Statement::update(self.parents(), self.by_id(), update)),
                Step::Code("if (counted.matchedCount === 0) {".to_owned()),
                Step::Code(format!("  {};\n  throw new Error({missing});\n}}", dropped.shell(2))),
            ]);
        }
        steps.push(Step::Code(format!("return {returned};")));
        let mut clauses = vec!["PT-outlier.1", "GC-04"];
        clauses.extend(self.summary.clauses.iter());
        let mut does = format!(
            "Appends one: to the parent while it holds fewer than {} and has no pages, then to the last page in `{}`, then to a new page. Returns {}.",
            self.most,
            self.pages.name,
            if self.inside.addressed {
                "its id"
            } else {
                "the number of the page; the parent is page 1"
            },
        );
        if !self.summary.is_empty() {
            does.push_str(&format!(
                " {}: in the same write while it goes to the parent, else right after it.",
                self.summary.words()
            ));
        }
        does.push_str(&self.inside.along());
        let parameters = vec![self.inside.parent_id.clone(), element.clone()];
        Job { name: name.to_owned(), parameters, does, clauses, steps }
    }

    /// The date of the parent that its pages share, so that they go with it.
    fn date(&self) -> Option<&str> {
        let copied = self.pages.fields.iter().find(|f| matches!(f.origin, Origin::Copy(_)));
        copied.map(|date| date.name.as_str())
    }

    /// Appends to the list in the parent, with everything that is kept of it.
    fn pushed_inside(&self) -> Bson {
        let list = &self.inside.list;
        if self.summary.sums.is_empty() {
            let mut update = doc! { "$push": { list: self.inside.pushed() } };
            if let Some(count) = &self.summary.count {
                update.insert("$inc", doc! { count: 1 });
            }
            return update.into();
        }
        let mut set = self.summary.added(&self.inside.element, 1);
        let have = doc! { "$ifNull": [format!("${list}"), []] };
        set.insert(list, doc! { "$concatArrays": [have, [{ "$literal": self.inside.pushed() }]] });
        self.summary.stages([set])
    }

    /// Sums with what some elements in the parent add to them, or without it.
    fn sums(&self, operator: &str, those: &Document) -> Document {
        let mut set = Document::new();
        for Sum { field, sum, having, zero, .. } in &self.summary.sums {
            let value = format!("$$this.{field}");
            let among = |condition: &Document| {
                doc! { "$filter": { "input": format!("${}", self.inside.list), "cond": condition } }
            };
            let values = doc! { "$map": { "input": among(those), "in": &value } };
            set.insert(sum, doc! { operator: [before(sum, zero.clone()), { "$sum": values }] });
            if let Some(having) = having {
                let those = doc! { "$and": [those.clone(), is_given(value)] };
                let number = doc! { "$size": among(&those) };
                set.insert(having, doc! { operator: [before(having, 0.into()), number] });
            }
        }
        set
    }

    /// Takes elements out of the list in the parent: those for which a condition over `$$this` is true.
    fn without(&self, those: &Document) -> Bson {
        let list = &self.inside.list;
        let among = |condition: Document| {
            doc! { "$filter": { "input": format!("${list}"), "cond": condition } }
        };
        let mut set = self.sums("$subtract", those);
        if let Some(count) = &self.summary.count {
            let number = doc! { "$size": among(those.clone()) };
            set.insert(count, doc! { "$subtract": [before(count, 0.into()), number] });
        }
        set.insert(list, among(doc! { "$not": [those.clone()] }));
        self.summary.stages([set])
    }

    fn listing(&self, name: &str) -> Job {
        let list = &self.inside.list;
        let whole = Statement::new(self.parents(), Method::FindOne, [self.by_id().into()]);
        let rest =
            Statement::find(&self.pages.name, self.of_parent()).then("sort", doc! { "page": 1 });
        let at = |path: &str| at("parent", path);
        Job {
            name: name.to_owned(),
            parameters: vec![self.inside.parent_id.clone()],
            does: "All of them in order. The pages are asked for only where the parent says there are some.".to_owned(),
            clauses: vec!["PT-outlier.1"],
            steps: vec![
                Step::Let("parent", whole),
                self.no_parent("parent === null"),
                Step::Code(format!("if (!{}) return {};", at(&self.flag), at(list))),
                Step::Let("pages", rest),
                Step::Code(format!(
                    "return {}.concat(...pages.map((page) => {}));",
                    at(list),
                    member_of("page", self.role())
                )),
            ],
        }
    }

    /// A page that has an element, as it was before an update of it; of its elements that one alone.
    fn on_page(&self, id: &str, update: Document, mut options: Document) -> Statement {
        let mut filter = self.of_parent();
        filter.insert(format!("{}._id", self.role()), given(id));
        options.insert("projection", doc! { self.role(): { "$elemMatch": { "_id": given(id) } } });
        Statement::new(
            &self.pages.name,
            Method::FindOneAndUpdate,
            [filter.into(), update.into(), options.into()],
        )
    }

    fn changing(&self, name: &str, id: &str, mut steps: Vec<Step>) -> Job {
        let list = &self.inside.list;
        let mut filter = self.by_id();
        filter.insert(format!("{list}._id"), given(id));
        let paths = |list: &str| {
            let path = quote(&format!("{list}.$[one]."));
            doc! { "$set": given(format!(
                "Object.fromEntries(Object.entries(changes).map(([name, value]) => [{path} + name, value]))"
            )) }
        };
        let by = || doc! { "arrayFilters": [{ "one._id": given(id) }] };
        let this = doc! { "$eq": ["$$this._id", { "$literal": given(id) }] };
        let inside: Vec<Bson> = if self.summary.sums.is_empty() {
            vec![paths(list).into(), by().into()]
        } else {
            let merged = doc! { "$mergeObjects": ["$$this", { "$literal": given("changes") }] };
            let each = doc! { "$cond": [this.clone(), merged, "$$this"] };
            let changed = doc! { list: { "$map": { "input": format!("${list}"), "in": each } } };
            let (less, more) = (self.sums("$subtract", &this), self.sums("$add", &this));
            vec![self.summary.stages([less, changed, more])]
        };
        let arguments = std::iter::once(Bson::from(filter)).chain(inside);
        steps.extend([
            Step::Let("done", Statement::new(self.parents(), Method::UpdateOne, arguments)),
            Step::Code("if (done.matchedCount === 1) return true;".to_owned()),
            Step::Let("page", self.on_page(id, paths(self.role()), by())),
            Step::Code("if (page === null) return false;".to_owned()),
        ]);
        let mut does =
            "Changes fields of one element, in the parent or on a page; false when it is not there."
                .to_owned();
        if !self.summary.sums.is_empty() {
            let mut sets = [self.summary.added("found", -1), self.summary.added("after", 1)];
            for (set, count) in sets.iter_mut().zip(self.summary.count.iter().cycle()) {
                set.remove(count);
            }
            let update = self.summary.stages(sets);
            steps.extend([
                self.found(),
                Step::Code("const after = { ...found, ...changes };".to_owned()),
                Step::Run(Statement::update(self.parents(), self.by_id(), update)),
            ]);
            does.push_str(" Sums follow.");
        }
        steps.push(Step::Code("return true;".to_owned()));
        Job {
            name: name.to_owned(),
            parameters: vec![self.inside.parent_id.clone(), id.to_owned(), "changes".to_owned()],
            does,
            clauses: vec!["PT-outlier.1"],
            steps,
        }
    }

    /// Code that finds an element, in the parent or on a page.
    fn element(&self, id: &str) -> [String; 2] {
        let one = |collection: &str, mut filter: Document, list: &str| {
            filter.insert(format!("{list}._id"), given(id));
            let shown = doc! { format!("{list}.$"): 1 };
            let find = [filter.into(), shown.into()];
            let found = Statement::new(collection, Method::FindOne, find).shell(4);
            let down = list.split('.').map(|part| format!("?.[{}]", quote(part)));
            format!("{found}{}?.[0]", down.collect::<String>())
        };
        [
            one(self.parents(), self.by_id(), &self.inside.list),
            one(&self.pages.name, self.of_parent(), self.role()),
        ]
    }

    /// The element that was on a page.
    fn found(&self) -> Step {
        Step::Code(format!("const found = {}[0];", member_of("page", self.role())))
    }

    fn removing(&self, name: &str, id: &str) -> Job {
        let list = &self.inside.list;
        let mut filter = self.by_id();
        filter.insert(format!("{list}._id"), given(id));
        let pull = |list: &str| doc! { "$pull": { list: { "_id": given(id) } } };
        let inside: Bson = if self.summary.sums.is_empty() {
            let mut update = pull(list);
            if let Some(count) = &self.summary.count {
                update.insert("$inc", doc! { count: -1 });
            }
            update.into()
        } else {
            self.without(&doc! { "$eq": ["$$this._id", { "$literal": given(id) }] })
        };
        let empty = doc! { "_id": given("page._id"), self.role(): { "$size": 0 } };
        let mut steps = vec![
            Step::Let("done", Statement::update(self.parents(), filter, inside)),
            Step::Code("if (done.matchedCount === 1) return true;".to_owned()),
            Step::Let("page", self.on_page(id, pull(self.role()), Document::new())),
            Step::Code("if (page === null) return false;".to_owned()),
            Step::Run(all_of(&self.pages.name, empty)),
        ];
        if !self.summary.is_empty() {
            steps.push(self.found());
            let update = self.summary.departure("found", id);
            steps.push(Step::Run(Statement::update(self.parents(), self.by_id(), update)));
        }
        steps.push(Step::Code("return true;".to_owned()));
        Job {
            name: name.to_owned(),
            parameters: vec![self.inside.parent_id.clone(), id.to_owned()],
            does: "Takes one element out of the parent or a page; false when it is not there. Where there are pages, the room it leaves stays free, so that order is kept; a page that becomes empty goes.".to_owned(),
            clauses: vec!["PT-outlier.1"],
            steps,
        }
    }

    /// Elements that are kept for a time in a parent that stays longer.
    fn expiring(&self, name: &str, days: f64, date: &str) -> Job {
        let list = &self.inside.list;
        let old = || doc! { "$lt": given("before") };
        let pull = |list: &str| doc! { "$pull": { list: { date: old() } } };
        let inside: Bson = if self.summary.is_empty() {
            pull(list).into()
        } else {
            let value = format!("$$this.{date}");
            // Here a date that is missing is less than any.
            let there = doc! { "$gt": [&value, Bson::Null] };
            let less = doc! { "$lt": [&value, { "$literal": given("before") }] };
            self.without(&doc! { "$and": [there, less] })
        };
        let with_old = doc! { format!("{}.{date}", self.role()): old() };
        let mut steps = vec![
            Step::Code(format!(
                "const before = new Date(today.getTime() - {});",
                quantity::milliseconds(days)
            )),
            Step::Run(Statement::new(
                self.parents(),
                Method::UpdateMany,
                [doc! { format!("{list}.{date}"): old() }.into(), inside],
            )),
        ];
        if self.summary.is_empty() {
            let update = [with_old.into(), pull(self.role()).into()];
            steps.push(Step::Run(Statement::new(&self.pages.name, Method::UpdateMany, update)));
        } else {
            let one = Statement::new(
                &self.pages.name,
                Method::FindOneAndUpdate,
                [with_old.into(), pull(self.role()).into()],
            );
            let by_parent = doc! { "_id": given(member_of("page", &self.held)) };
            let update = self.summary.departure("found", "found._id");
            let counted = Statement::update(self.parents(), by_parent, update);
            steps.push(Step::Note("Each page as it was before: what it lost is known.".to_owned()));
            steps.push(Step::Code("for (;;) {".to_owned()));
            steps.push(Step::Inside(vec![Step::Let("page", one)]));
            steps.push(Step::Code("  if (page === null) break;".to_owned()));
            steps.push(Step::Code(format!(
                "  for (const found of {}.filter((one) => {} < before)) {{",
                member_of("page", self.role()),
                member_of("one", date)
            )));
            steps.push(Step::Code(format!("    {};\n  }}\n}}", counted.shell(4))));
        }
        steps.push(Step::Run(all_of(&self.pages.name, doc! { self.role(): { "$size": 0 } })));
        Job {
            name: name.to_owned(),
            parameters: vec!["today = new Date()".to_owned()],
            does: format!(
                "Takes out what is older than {} by `{date}`, in parents and on pages: run it every day. An index with a time to live removes documents, not elements.",
                quantity::lasting(days)
            ),
            clauses: vec!["DP-2"],
            steps,
        }
    }

    fn rebuilding(&self, name: &str) -> Job {
        let list = &self.inside.list;
        let mut group = doc! { "_id": Bson::Null, "count": { "$sum": 1 } };
        group.extend(self.summary.grouped(&format!("{}.", self.role())));
        let mut set = Document::new();
        if let Some(count) = &self.summary.count {
            let inside = doc! { "$size": { "$ifNull": [format!("${list}"), []] } };
            set.insert(count, doc! { "$add": [inside, given("rest.count")] });
        }
        for kept in &self.summary.sums {
            let field = kept.field;
            let of =
                |word: &str| given(format!("rest[{}] ?? 0", quote(&format!("{word} {field}"))));
            let inside = doc! { "$sum": format!("${list}.{field}") };
            set.insert(&kept.sum, kept.typed(doc! { "$add": [inside, of("sum")] }));
            if let Some(having) = &kept.having {
                let those = doc! { "$filter": {
                    "input": { "$ifNull": [format!("${list}"), []] },
                    "cond": is_given(format!("$$this.{field}")),
                } };
                set.insert(having, doc! { "$add": [{ "$size": those }, of("having")] });
            }
        }
        set.insert(&self.flag, given("rest.count > 0"));
        let stages = vec![
            Bson::from(doc! { "$match": self.of_parent() }),
            doc! { "$unwind": format!("${}", self.role()) }.into(),
            doc! { "$group": group }.into(),
        ];
        let update = self.summary.stages([set]);
        Job {
            name: name.to_owned(),
            parameters: vec![self.inside.parent_id.clone()],
            does: format!(
                "Works out again what the parent keeps of `{}`, from its list and its pages: for existing data, and after a crash between two writes. A parent without pages is filled again. Run it while nobody adds to this parent.",
                self.inside.relationship.name
            ),
            clauses: vec!["PT-outlier.1", "PT-computed.1"],
            steps: vec![
                Step::Let(
                    "pages",
                    Statement::new(&self.pages.name, Method::Aggregate, [stages.into()]),
                ),
                Step::Code("const rest = pages[0] ?? { count: 0 };".to_owned()),
                Step::Let("done", Statement::update(self.parents(), self.by_id(), update)),
                self.no_parent("done.matchedCount === 0"),
            ],
        }
    }

    fn dropping(&self, name: &str) -> Job {
        let r = self.inside.relationship;
        let and = if self.date().is_some() {
            " Where the parent goes by its age, its pages do so too."
        } else {
            ""
        };
        Job {
            name: name.to_owned(),
            parameters: vec![self.inside.parent_id.clone()],
            does: format!(
                "Removes the pages of `{}` when the `{}` is deleted: nobody would find them any more.{and}",
                r.name, r.parent
            ),
            clauses: vec!["PT-outlier.1"],
            steps: vec![Step::Return(all_of(&self.pages.name, self.of_parent()))],
        }
    }
}
