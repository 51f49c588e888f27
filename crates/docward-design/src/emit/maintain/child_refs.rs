//! Children that store the id of their parent (PT-ref.1, DM-08.3), and what the parent stores about
//! them.

use bson::{Document, doc};
use docward_model::{DesignRead, Matching, Relationship, shell::quote};

use super::extended::Other;
use super::parent_summary::SummaryMaintenance;
use super::plans::{Plans, at, by_id, factory, found, missing, one, picked, root_in, update};
use super::summary::Summary;
use super::transaction::Bad;
use crate::decide::decision::Decision;
use crate::decide::pattern::Pattern;
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
        let copied = decision.patterns.iter().find_map(|pattern| match pattern {
            Pattern::ExtendedReference { fields, in_parent: false, .. } => Some(fields),
            _ => None,
        });
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
        let rough = self.approximation(r, decision, parent, &owned.parent_id);
        let counts = rough.as_ref().map(|(job, _)| job.name.as_str());
        let keeper = self.keeper(r, decision);
        let ends = (parent, owned.parent_id.as_str());
        let keeps = !owned.summary.is_empty();
        let adding = self.adding(&owned, counts);
        let removal = self.removal(&owned, keeper.as_ref(), counts);
        let adds_both = self.adds_both(r, decision);
        let both = adds_both.then(|| self.with_parent(r, &adding, ends, (keeps, None)));
        let add = adding.name.clone();
        let mut jobs = vec![adding];
        jobs.extend(both);
        let removes_both = self.removes_both(r, decision);
        let gone = Statement::new(&children.name, Method::FindOne, [owned.filter().into()]);
        let read = gone.shell(4);
        let both = removes_both.then(|| self.with_parent(r, &removal, ends, (keeps, Some(&read))));
        jobs.push(removal);
        jobs.extend(both);
        jobs.push(self.listing(&owned));
        let change = keeper.as_ref().and_then(|keeper| self.changing(keeper, &owned.child_id));
        jobs.extend(change.clone());
        jobs.extend(keeper.as_ref().map(|keeper| self.rebuilding(keeper, &owned.parent_id)));
        if let Some((_, fields)) = &owned.copy {
            jobs.push(self.refreshing(r, decision, fields, (&parent.name, &children.name)));
        }
        let pattern = if owned.summary.preview.is_some() {
            "subset"
        } else if owned.copy.is_some() {
            "extended-reference"
        } else if keeps {
            "computed"
        } else if rough.is_some() {
            "approximation"
        } else {
            "parent-id-in-child"
        };
        let mut check = self.owned_check(&owned, &add);
        let count = format!(
            "at.getCollection({}).countDocuments({})",
            quote(&children.name),
            owned.of_root()
        );
        let any = owned.any_of_root();
        if adds_both {
            let call =
                |update: &str| format!("{add}InTransaction(at, root._id, one(unique()), {update})");
            let twice = |update: &str| {
                let child = format!("{{ ...one(unique()), _id: {any}._id }}");
                format!("{add}InTransaction(at, root._id, {child}, {update})")
            };
            let bad: Option<Bad<'_>> = Some(("11000", &twice));
            check.extend(self.both_check(r, parent, call, (bad, &count, 1)));
        }
        if removes_both {
            let remove = self.name("remove", r, false);
            let call = |update: &str| {
                format!("{remove}InTransaction(at, root._id, {any}._id, () => ({update}))")
            };
            check.extend(self.both_check(r, parent, call, (None, &count, -1)));
        }
        if let Some(keeper) = &keeper {
            let all =
                format!("at.getCollection({}).find({})", quote(&children.name), owned.of_root());
            let call = change.as_ref().map(|change| {
                let name = change.name.clone();
                move |changes: &str| format!("{name}(at, root._id, some._id, {changes})")
            });
            check.extend(self.figures_check(keeper, &all, &any, call));
        }
        if let Some((job, lines)) = rough {
            jobs.push(job);
            check.extend(lines);
        }
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

    fn adding(&self, owned: &Owned<'_>, counts: Option<&str>) -> Job {
        let Owned { r, parent, children, parent_id, child, held, summary, others, .. } = owned;
        let mut document =
            doc! { SPREAD: given(child), "_id": given("_id"), held: given(parent_id) };
        let mut steps = vec![Step::Code(format!("const _id = {child}._id ?? new ObjectId();"))];
        let mut does = format!("Adds a `{}` document with the id of its `{}`.", r.name, r.parent);
        let mut clauses = vec!["PT-ref.1"];
        clauses.extend(summary.clauses.iter());
        if summary.count.is_some() {
            clauses.push("DM-08.3");
        }
        if let Some((copy, fields)) = &owned.copy {
            steps.push(Step::Let("parent", one(&parent.name, &by_id(parent_id), fields)));
            steps.push(missing("parent", &r.parent));
            document.insert(copy, given(picked("parent", fields)));
            clauses.push("PT-extref.1");
            does.push_str(&format!(" `{copy}` is a copy of the current value."));
        } else if summary.is_empty() {
            // No write to the parent would reveal that it is missing, so it is looked up.
            steps.push(Step::Let("parent", found(&parent.name, by_id(parent_id))));
            steps.push(missing("parent", &r.parent));
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
            steps.push(Step::Code("if (done.matchedCount === 0) {".to_owned()));
            steps.push(Step::Code(format!("  {};", gone.shell(2))));
            steps.push(Step::Code(format!(
                "  throw new Error({});\n}}",
                quote(&format!("there is no such {}", r.parent))
            )));
        }
        steps.extend(others.iter().filter_map(|other| other.arrival(child, "_id")));
        steps.extend(counts.map(|name| Step::Code(format!("{name}(db, {parent_id});"))));
        steps.push(Step::Code("return _id;".to_owned()));
        does.extend(others.iter().map(Other::words));
        if !summary.is_empty() {
            does.push_str(&format!(" One update of the parent: {}.", summary.words()));
        }
        let parameters = vec![parent_id.clone(), child.clone()];
        Job { name: self.name("add", r, false), parameters, does, clauses, steps }
    }

    fn removal(
        &self,
        owned: &Owned<'_>,
        keeper: Option<&SummaryMaintenance<'_>>,
        counts: Option<&str>,
    ) -> Job {
        let Owned { r, parent, children, parent_id, child_id, summary, .. } = owned;
        let gone =
            |from: &str| Statement::new(from, Method::FindOneAndDelete, [owned.filter().into()]);
        let mut does = format!("Removes a `{}` document.", r.name);
        let entity = self.layout.model.entity(&r.child);
        let mut steps = match entity.and_then(|entity| self.beside(entity, &Purpose::Archive)) {
            None => vec![Step::Let("found", gone(&children.name))],
            Some(archive) => {
                does.push_str(&format!(" It may be in `{}` already.", archive.name));
                vec![
                    Step::Let("current", gone(&children.name)),
                    Step::Let("archived", gone(&archive.name)),
                    Step::Code("const found = current ?? archived;".to_owned()),
                ]
            }
        };
        steps.push(Step::Code("if (found === null) return false;".to_owned()));
        if !summary.is_empty() {
            steps.push(Step::Run(update(parent, parent_id, summary.departure("found", child_id))));
            let refilled = keeper.map(|keeper| keeper.refilled(parent_id)).unwrap_or_default();
            if summary.preview.is_some() && refilled.is_empty() {
                does.push_str(&format!(
                    " The preview has one element fewer until the next insert, or until `{}` \
                     rebuilds it.",
                    self.name("rebuild", r, true)
                ));
            }
            steps.extend(refilled);
        }
        steps.extend(owned.others.iter().filter_map(|other| other.departure("found", child_id)));
        let off = |name: &str| Step::Code(format!("{name}(db, {parent_id}, Math.random(), -1);"));
        steps.extend(counts.map(off));
        steps.push(Step::Code("return true;".to_owned()));
        Job {
            name: self.name("remove", r, false),
            parameters: vec![parent_id.clone(), child_id.clone()],
            does,
            clauses: summary.clauses.clone(),
            steps,
        }
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
            Some(order) if order == owned.newest_first => {
                (find.then("sort", order), "the newest documents")
            }
            Some(order) => {
                (find.then("sort", order), "the first documents, in the order of a declared read,")
            }
            None => (find, "some documents, unsorted,"),
        };
        Job {
            name: self.name("list", r, true),
            parameters: vec![parent_id.clone(), "limit = 20".to_owned()],
            does: format!(
                "Returns {which} of `{}`. Needed only for children that the parent does not contain.",
                r.name
            ),
            clauses: vec!["PT-hybrid.1"],
            steps: vec![Step::Return(find.then("limit", given("limit")))],
        }
    }

    /// Returns lines of a check: children are added and removed, and stored figures and copies stay
    /// correct.
    fn owned_check(&self, owned: &Owned<'m>, add: &str) -> Vec<String> {
        let Owned { r, parent, children, held, summary, others, .. } = owned;
        let (list, remove) = (self.name("list", r, true), self.name("remove", r, false));
        let Some(entity) = self.layout.model.entity(&r.child) else { return Vec::new() };
        let mut varied: Vec<&str> = summary.sums.iter().map(|sum| sum.field).collect();
        varied.extend(owned.newest_first.keys().map(String::as_str));
        let mut sample = self.sample(entity, &children.fields, &varied);
        sample.remove(held);
        if let Some((copy, _)) = &owned.copy {
            sample.remove(copy);
        }
        let named: Vec<String> =
            others.iter().flat_map(|other| other.prepare(self, &mut sample)).collect();
        let (parents, of_root, any) = (quote(&parent.name), owned.of_root(), owned.any_of_root());
        let shown = summary.preview.as_ref().map_or(5, |preview| preview.newest);
        let number = shown + 2;
        let mut lines = vec![
            format!("const root = {};", self.made(parent)),
            format!("at.getCollection({parents}).insertOne(root);"),
        ];
        lines.extend(named);
        lines.extend([
            format!("const one = {};", factory(&sample)),
            "const ids = [];".to_owned(),
            format!("for (let i = 0; i < {number}; i++) ids.push({add}(at, root._id, one(i)));"),
            format!("let now = {};", root_in(&parent.name)),
            format!(
                "expect(\"each is a document of its own\", at.getCollection({}).countDocuments({of_root}), {number});",
                quote(&children.name)
            ),
            format!(
                "expect(\"the list has all of them\", {list}(at, root._id, 2000).length, {number});"
            ),
        ]);
        if !others.is_empty() {
            lines.push(format!("const made = {any};"));
            let number = number.to_string();
            lines.extend(others.iter().flat_map(|other| other.followed("made", &number)));
        }
        if let Some(preview) = &summary.preview {
            let (newest, by, key) = (preview.newest, preview.by, preview.key);
            let ids = format!(
                "{}.map((element) => String({}))",
                at("now", &preview.name),
                member_of("element", key)
            );
            lines.push(format!(
                "expect(\"{number} pushes leave {newest}, newest first (SN-05)\", {ids}, ids.slice(-{newest}).reverse().map(String));"
            ));
            let old = if by == "_id" { "unique().toString(16).padStart(24, \"0\")" } else { "" };
            lines.push(format!("{add}(at, root._id, {{ ...one(0), _id: new ObjectId({old}) }});"));
            lines.push(format!("now = {};", root_in(&parent.name)));
            lines.push(format!(
                "expect(\"one that is older than all shown is not shown\", {ids}, ids.slice(-{newest}).reverse().map(String));"
            ));
        }
        lines.push(format!("const taken = {any}._id;"));
        lines.push(format!("expect(\"one is removed\", {remove}(at, root._id, taken), true);"));
        lines.push(format!("expect(\"and not twice\", {remove}(at, root._id, taken), false);"));
        if !summary.sums.is_empty() || summary.count.is_some() {
            lines.push(format!("await together(Array.from({{ length: 20 }}, async (_, i) => {add}(at, root._id, one(100 + i))));"));
        }
        for sum in summary.sums.iter().filter(|sum| sum.having.is_some()) {
            let field = member_of("without", sum.field);
            let lacks = match entity.field(sum.field).is_some_and(|field| field.required) {
                true => format!("{field} = null"),
                false => format!("delete {field}"),
            };
            lines.push(format!(
                "{{\n  const without = one(200);\n  {lacks};\n  {add}(at, root._id, without);\n}}"
            ));
        }
        lines.push(format!(
            "refused(\"no parent, no child\", null, () => {add}(at, new ObjectId(), one(0)));"
        ));
        if let Some((copy, fields)) = &owned.copy {
            lines.extend(self.copy_check(r, (copy, fields), (&parent.name, &any)));
        }
        lines
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
        format!("at.getCollection({}).findOne({})", quote(&self.children.name), self.of_root())
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
