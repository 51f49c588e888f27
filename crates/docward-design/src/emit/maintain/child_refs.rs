//! Children that store the id of their parent (PT-ref.1, DM-08.3), and the data that the parent
//! stores about them.

use bson::{Document, doc};
use docward_model::{DesignRead, Matching, Relationship, shell::quote};

use super::extended::{Copied, Other};
use super::parent_summary::{ChildLookup, SummaryMaintenance};
use super::plans::{Plans, at, by_id, factory, found, one, picked, update};
use super::summary::Summary;
use super::transaction::{Act, BothCall};
use crate::decide::decision::Decision;
use crate::decide::pattern::Pattern;
use crate::emit::expectations::{Check, root_in, stored};
use crate::emit::js::{self, SPREAD, given, member_of};
use crate::emit::statement::{Job, Method, Script, Statement, Step};
use crate::layout::collection::{CollectionPlan, Purpose};

/// The parts of the design that the functions use.
struct Owned<'m> {
    r: &'m Relationship,
    parent: &'m CollectionPlan,
    children: &'m CollectionPlan,
    parent_id: String,
    child: String,
    child_id: String,
    /// The field with the parent's id.
    held: String,
    /// The field with copies of the parent, and the copied fields.
    copy: Option<(String, Vec<&'m str>)>,
    summary: Summary<'m>,
    others: Vec<Other<'m>>,
    newest_first: Document,
}

impl<'m> Plans<'m> {
    pub(super) fn owned(&self, r: &'m Relationship, decision: &'m Decision) -> Option<Script> {
        let parent = self.own(&r.parent)?;
        // The script of the entity handles readings in buckets or a time series.
        let children = self.own(&r.child)?;
        let naming = self.layout.naming;
        let held = naming.parent_field(r);
        if !children.fields.iter().any(|field| field.name == held) {
            return None;
        }
        let copied = decision.copied(false);
        let copied = copied.map(|fields| fields.iter().map(String::as_str).collect());
        let owned = Owned {
            r,
            parent,
            children,
            parent_id: js::parameter(&naming.id_of(&r.parent)),
            child: js::parameter(&naming.singular(r.role())),
            child_id: js::parameter(&naming.id_of(r.role())),
            held,
            copy: copied.map(|fields| (naming.parent_copy(r), fields)),
            summary: self.summary(r, decision, parent),
            others: self.others(&r.child, r),
            newest_first: newest_by(decision),
        };
        let keeps = !owned.summary.is_empty();
        let (adding, removal) = (self.adding(&owned), self.removal(&owned));
        let mut check = self.owned_check(&owned, &adding.name, &removal.name);
        let count = format!("{}.countDocuments({})", stored(&children.name), owned.of_root());
        let mut both =
            |job: &Job, read: Option<Statement>, by: i32, call: &dyn Fn(&str) -> String| {
                let mut lines = Check::default();
                let one = BothCall { with: "a transaction", call, count: &count, by };
                lines.extend(self.both_check(r, parent, &one));
                check.block("if (transactions) {", lines);
                self.with_parent(r, job, parent, keeps, read)
            };
        let adding_both = self.needs_both(r, decision, Act::Adds).then(|| {
            let name = &adding.name;
            both(&adding, None, 1, &|update| {
                format!("{name}InTransaction(at, root._id, one(unique()), {update})")
            })
        });
        let removing_both = self.needs_both(r, decision, Act::Removes).then(|| {
            let (name, any) = (&removal.name, owned.any_of_root());
            let read = Statement::new(&children.name, Method::FindOne, [owned.filter().into()]);
            both(&removal, Some(read), -1, &|update| {
                format!("{name}InTransaction(at, root._id, {any}._id, () => ({update}))")
            })
        });
        let mut jobs = vec![adding];
        jobs.extend(adding_both);
        jobs.push(removal);
        jobs.extend(removing_both);
        jobs.push(self.listing(&owned));
        if keeps {
            let keeper = SummaryMaintenance {
                relationship: r,
                parent,
                members: ChildLookup::Holding(&children.name, owned.held.clone()),
                summary: &owned.summary,
            };
            jobs.push(self.rebuilding(&keeper, &owned.parent_id));
            let all = format!("{}.find({})", stored(&children.name), owned.of_root());
            check.extend(self.figures_check(&keeper, &all));
        }
        if let Some((copy, fields)) = &owned.copy {
            let refresh = self.name("refresh copies in", r, true);
            let set = doc! { "$set": { copy: given(picked("found", fields)) } };
            let all = doc! { &owned.held: given(&owned.parent_id) };
            let write =
                Statement::new(&children.name, Method::UpdateMany, [all.into(), set.into()]);
            let copied = Copied { source: (&r.parent, parent), id: &owned.parent_id, fields };
            jobs.push(copied.refreshing(&refresh, decision, "", write));
            let read = member_of(&owned.any_of_root(), copy);
            check.extend(self.mirror_check(&copied, "root", &refresh, &read));
        }
        let pattern = if owned.summary.preview.is_some() {
            "subset"
        } else if owned.copy.is_some() {
            "extended-reference"
        } else if keeps {
            "computed"
        } else {
            "parent-id-in-child"
        };
        Some(Script {
            about: r.name.clone(),
            pattern,
            intro: format!(
                "`{}`: {}. Documents of `{}` have `{}`.",
                r.name, decision.ruling.how, children.name, owned.held
            ),
            jobs,
            check,
        })
    }

    fn adding(&self, owned: &Owned<'_>) -> Job {
        let Owned { r, parent, children, parent_id, child, held, summary, others, .. } = owned;
        let mut document =
            doc! { SPREAD: given(child), "_id": given("_id"), held: given(parent_id) };
        let mut steps = vec![Step::code(format!("const _id = {child}._id ?? new ObjectId();"))];
        let mut does = format!(
            "Adds one element of `{}` as a separate document with the id of its `{}`.",
            r.name, r.parent
        );
        let mut clauses = vec!["PT-ref.1"];
        clauses.extend(summary.clauses.iter());
        if summary.count.is_some() {
            clauses.push("DM-08.3");
        }
        if let Some((copy, fields)) = &owned.copy {
            steps.push(Step::Let("parent", one(&parent.name, &by_id(parent_id), fields)));
            steps.push(Step::missing("parent", &r.parent));
            document.insert(copy, given(picked("parent", fields)));
            clauses.push("PT-extref.1");
            does.push_str(&format!(" `{copy}` is a copy of the current value."));
        } else if summary.is_empty() {
            // No write to the parent would reveal that it is missing, so it is looked up.
            steps.push(Step::Let("parent", found(&parent.name, by_id(parent_id))));
            steps.push(Step::missing("parent", &r.parent));
        }
        for other in others {
            steps.extend(other.fetch(child));
            other.put(child, &mut document);
        }
        steps.push(Step::Run(Statement::insert(&children.name, document)));
        if !summary.is_empty() {
            steps.push(Step::Let("done", update(parent, parent_id, summary.arrival(child, "_id"))));
            let gone = [doc! { "_id": given("_id") }.into()];
            let gone = Statement::new(&children.name, Method::DeleteMany, gone);
            let why = quote(&format!("there is no such {}", r.parent));
            let undo = vec![Step::Run(gone), Step::code(format!("throw new Error({why});"))];
            steps.push(Step::Block("if (done.matchedCount === 0) {".to_owned(), undo, "}"));
        }
        steps.extend(others.iter().filter_map(|other| other.arrival(child, "_id")));
        steps.push(Step::code("return _id;"));
        does.extend(others.iter().map(Other::words));
        if !summary.is_empty() {
            does.push_str(&format!(" One update of the parent: {}.", summary.words()));
        }
        Job::new(&self.name("add", r, false), &[parent_id, child], does, steps).by(&clauses)
    }

    fn removal(&self, owned: &Owned<'_>) -> Job {
        let Owned { r, parent, children, parent_id, child_id, summary, others, .. } = owned;
        let gone =
            |from: &str| Statement::new(from, Method::FindOneAndDelete, [owned.filter().into()]);
        let mut does = format!("Removes one element of `{}`.", r.name);
        let entity = self.layout.model.entity(&r.child);
        let mut steps = match entity.and_then(|entity| self.beside(entity, &Purpose::Archive)) {
            None => vec![Step::Let("found", gone(&children.name))],
            Some(archive) => {
                does.push_str(&format!(" It may be in `{}` already.", archive.name));
                vec![
                    Step::Let("current", gone(&children.name)),
                    Step::Let("archived", gone(&archive.name)),
                    Step::code("const found = current ?? archived;"),
                ]
            }
        };
        steps.push(Step::return_if("found === null", "false"));
        if !summary.is_empty() {
            steps.push(Step::Run(update(parent, parent_id, summary.departure("found", child_id))));
        }
        if summary.preview.is_some() {
            does.push_str(&format!(
                " The preview has one element less until the next insert, or until `{}` rebuilds \
                 it.",
                self.name("rebuild", r, true)
            ));
        }
        steps.extend(others.iter().filter_map(|other| other.departure("found", child_id)));
        steps.push(Step::code("return true;"));
        let name = self.name("remove", r, false);
        Job::new(&name, &[parent_id, child_id], does, steps).by(&summary.clauses)
    }

    /// Returns an order that an index provides for the children of a parent: that of the preview,
    /// or that of a declared read.
    fn order_of(&self, owned: &Owned<'_>) -> Option<Document> {
        if !owned.newest_first.contains_key("_id") {
            return Some(owned.newest_first.clone());
        }
        let r = owned.r;
        let by_parent =
            |(name, _): &(String, Matching)| *name == r.parent || r.field.as_ref() == Some(name);
        let is_sorted = |read: &&DesignRead| {
            read.from == r.child
                && !read.sort.is_empty()
                && read.filter.len() == 1
                && read.filter.iter().all(by_parent)
        };
        let read = self.layout.model.reads.iter().find(is_sorted)?;
        let falls = |falls: &bool| if *falls { -1 } else { 1 };
        Some(read.sort.iter().map(|(name, f)| (name.clone(), falls(f).into())).collect())
    }

    fn listing(&self, owned: &Owned<'_>) -> Job {
        let Owned { r, children, parent_id, held, .. } = owned;
        let find = Statement::find(&children.name, doc! { held: given(parent_id) });
        let (find, which) = match self.order_of(owned) {
            Some(order) if order == owned.newest_first => (find.then("sort", order), "The newest"),
            Some(order) => {
                (find.then("sort", order), "the first, in the order of a declared read, of")
            }
            None => (find, "some, in no particular order, of"),
        };
        let does = format!(
            "Returns {which} `{}`: a second query, needed only if the elements stored in the parent are not enough.",
            r.name
        );
        let steps = [Step::Return(find.then("limit", given("limit")))];
        Job::new(&self.name("list", r, true), &[parent_id, "limit = 20"], does, steps)
            .by(&["PT-hybrid.1"])
    }

    /// Returns lines of a check: children are added and removed, and stored figures and copies stay
    /// correct.
    fn owned_check(&self, owned: &Owned<'m>, add: &str, remove: &str) -> Check {
        let Owned { r, parent, children, held, summary, others, .. } = owned;
        let mut check = Check::default();
        let Some(entity) = self.layout.model.entity(&r.child) else { return check };
        let list = self.name("list", r, true);
        let mut varied: Vec<&str> = summary.sums.iter().map(|sum| sum.field).collect();
        varied.extend(owned.newest_first.keys().map(String::as_str));
        let mut sample = self.sample(entity, &children.fields, &varied);
        sample.remove(held);
        if let Some((copy, _)) = &owned.copy {
            sample.remove(copy);
        }
        check.insert("root", &parent.name);
        for other in others {
            other.prepare(&mut sample, &mut check);
        }
        let number = summary.preview.as_ref().map_or(5, |preview| preview.newest) + 2;
        let count = format!("{}.countDocuments({})", stored(&children.name), owned.of_root());
        check.set("one", factory(&sample));
        check.set("ids", "[]");
        check.run(format!(
            "for (let i = 0; i < {number}; i++) ids.push({add}(at, root._id, one(i)));"
        ));
        check.expect("each is a document of its own", count, number);
        let listed = format!("{list}(at, root._id, 2000).length");
        check.expect("the list has all of them", listed, number);
        if !others.is_empty() {
            check.set("child", owned.any_of_root());
        }
        for other in others {
            other.followed(&mut check, "child", number);
        }
        if let Some(preview) = &summary.preview {
            let (newest, by, key) = (preview.newest, preview.by, preview.key);
            let shown = format!(
                "{}.map((element) => String({}))",
                at(&root_in(&parent.name), &preview.name),
                member_of("element", key)
            );
            let wanted = format!("ids.slice(-{newest}).reverse().map(String)");
            let what = format!("{number} pushes leave {newest}, newest first (SN-05)");
            check.expect(&what, &shown, &wanted);
            let old = if by == "_id" { "unique().toString(16).padStart(24, \"0\")" } else { "" };
            check.run(format!("{add}(at, root._id, {{ ...one(0), _id: new ObjectId({old}) }});"));
            check.expect("one that is older than all shown is not shown", shown, wanted);
        }
        check.set("taken", format!("{}._id", owned.any_of_root()));
        let removed = format!("{remove}(at, root._id, taken)");
        check.expect("one is removed", &removed, true);
        check.expect("and not twice", removed, false);
        if !summary.sums.is_empty() || summary.count.is_some() {
            check.run(format!("await together(Array.from({{ length: 20 }}, async (_, i) => {add}(at, root._id, one(100 + i))));"));
        }
        for sum in summary.sums.iter().filter(|sum| sum.having.is_some()) {
            let field = member_of("without", sum.field);
            let lacks = match entity.field(sum.field).is_some_and(|field| field.required) {
                true => format!("{field} = null"),
                false => format!("delete {field}"),
            };
            check.run(format!(
                "{{\n  const without = one(200);\n  {lacks};\n  {add}(at, root._id, without);\n}}"
            ));
        }
        check.fails("no parent, no child", format!("{add}(at, new ObjectId(), one(0))"));
        check
    }
}

impl Owned<'_> {
    /// Returns a filter for one child of its parent.
    fn filter(&self) -> Document {
        doc! { "_id": given(&self.child_id), &self.held: given(&self.parent_id) }
    }

    /// Returns a filter for the children of `root`, for a check.
    fn of_root(&self) -> String {
        js::object(&doc! { &self.held: given("root._id") }, 0)
    }

    fn any_of_root(&self) -> String {
        format!("{}.findOne({})", stored(&self.children.name), self.of_root())
    }
}

/// Returns the order that puts the newest children first: by the field of a preview, or by id.
fn newest_by(decision: &Decision) -> Document {
    let by = decision.patterns.iter().find_map(|pattern| match pattern {
        Pattern::Subset { by, .. } => Some(by.as_str()),
        _ => None,
    });
    doc! { by.unwrap_or("_id"): -1 }
}
