//! Children with the id of their parent (PT-ref.1, DM-08.3), and what the parent keeps of them.

use bson::{Document, doc};
use docward_model::shell::quote;
use docward_model::{BsonType, Relationship};

use crate::decide::decision::Decision;
use crate::decide::pattern::Pattern;
use crate::declared::dates::newest_date;
use crate::emit::js::{self, SPREAD, given, member_of};
use crate::emit::statement::{Job, Method, Script, Statement, Step};
use crate::layout::collection::Purpose;

use super::extended::Other;
use super::parent_summary::Keeper;
use super::transaction::{Act, Bad, Both};
use super::{Place, Plans, factory, picked};

impl<'m> Plans<'m> {
    /// Whether every document of an entity has a field, if only as null.
    pub(super) fn must_have(&self, entity: &str, field: &str) -> bool {
        let entity = self.layout.model.entity(entity);
        entity.and_then(|entity| entity.field(field)).is_some_and(|field| field.required)
    }

    pub(super) fn owned(
        &self,
        relationship: &'m Relationship,
        decision: &'m Decision,
    ) -> Option<Script> {
        let parent = self.place_or_element(&relationship.parent)?;
        let home = self.home(&relationship.child)?;
        if home.purpose != Purpose::Entity {
            // Readings go to buckets or a time series; see the script of the entity.
            return None;
        }
        let child_entity = self.layout.model.entity(&relationship.child)?;
        let naming = self.layout.naming;
        let held = naming.parent_field(relationship);
        if !home.fields.iter().any(|field| field.name == held) {
            return None;
        }
        let (parents, children) = (parent.collection.name.as_str(), home.name.as_str());
        let parent_id = js::parameter(&naming.id_of(&relationship.parent));
        let child = js::parameter(&naming.singular(relationship.role()));
        let summary = self.summary(relationship, decision, &parent);
        let copied = decision.patterns.iter().find_map(|pattern| match pattern {
            Pattern::ExtendedReference { fields, in_parent: false, .. } => Some(fields),
            _ => None,
        });
        let copy = naming.parent_copy(relationship);
        let by_parent = parent.by(&parent_id);
        let root_id = parent.id_in("root");

        let mut document =
            doc! { SPREAD: given(&child), "_id": given("_id"), &held: given(&parent_id) };
        let mut steps = vec![Step::Code(format!("const _id = {child}._id ?? new ObjectId();"))];
        if let Some(fields) = copied {
            let names: Vec<&str> = fields.iter().map(String::as_str).collect();
            steps.push(Step::Let("parent", one(parents, &by_parent, &parent.path, &names)));
            steps.push(missing("parent", &relationship.parent));
            document.insert(&copy, given(picked(&at("parent", &parent.path), &names)));
        } else if summary.is_empty() {
            // Nothing is written to the parent that would show that it is missing.
            let find = [by_parent.clone().into(), doc! { "_id": 1 }.into()];
            steps.push(Step::Let("parent", Statement::new(parents, Method::FindOne, find)));
            steps.push(missing("parent", &relationship.parent));
        }
        let others = self.others(&relationship.child, relationship);
        for other in &others {
            steps.extend(other.fetch(&child));
            other.put(&child, &mut document);
        }
        steps.push(Step::Run(Statement::insert(children, document)));
        if !summary.is_empty() {
            let update = summary.arrival(&child, "_id");
            steps.push(Step::Let("done", parent.update(&parent_id, update)));
            let gone =
                Statement::new(children, Method::DeleteMany, [doc! { "_id": given("_id") }.into()]);
            steps.push(Step::Code("if (done.matchedCount === 0) {".to_owned()));
            steps.push(Step::Code(format!("  {};", gone.shell(2))));
            steps.push(Step::Code(format!(
                "  throw new Error({});\n}}",
                quote(&format!("there is no such {}", relationship.parent))
            )));
        }
        steps.extend(others.iter().flat_map(|other| other.arrival(&child, "_id", children)));
        // What is cut off goes one by one, as if it were removed: what the parent keeps stays right, and
        // two writers that cut at the same time remove each of them once.
        let newest_first = self.newest_by(relationship, decision);
        let ordered = self.order_of(relationship, &newest_first).is_some_and(|o| o == newest_first);
        if let Some(newest) = relationship.keep_newest {
            let older = Statement::new(
                children,
                Method::Find,
                [doc! { &held: given(&parent_id) }.into(), doc! { "_id": 1 }.into()],
            )
            .then("sort", newest_first.clone())
            .then("skip", newest as i32);
            steps.push(Step::Let("older", older));
            steps.push(Step::Code(format!(
                "for (const one of older) {}(db, {parent_id}, one._id);",
                self.name("remove", relationship, false)
            )));
        }
        let rough = self.approximation(relationship, decision, &parent, &parent_id);
        if let Some((job, _)) = &rough {
            steps.push(Step::Code(format!("{}(db, {parent_id});", job.name)));
        }
        steps.push(Step::Code("return _id;".to_owned()));
        let add = self.name("add", relationship, false);
        let mut clauses = vec!["PT-ref.1"];
        clauses.extend(summary.clauses.iter());
        if summary.count.is_some() {
            clauses.push("DM-08.3");
        }
        let mut does = format!(
            "Adds one of `{}` as a document of its own that holds the id of its `{}`.",
            relationship.name, relationship.parent
        );
        if copied.is_some() {
            clauses.push("PT-extref.1");
            does.push_str(&format!(" `{copy}` is a copy as of now."));
        }
        does.extend(others.iter().map(Other::words));
        if let Some(newest) = relationship.keep_newest {
            clauses.push("PT-slice.1");
            let by: Vec<&str> = newest_first.keys().map(String::as_str).collect();
            does.push_str(&format!(
                " Older ones than the newest {newest} by `{}` are removed.",
                by.join("`, `")
            ));
        }
        if !summary.is_empty() {
            does.push_str(&format!(" One update of the parent: {}.", summary.words()));
        }
        let parameters = vec![parent_id.clone(), child.clone()];
        let mut jobs = vec![Job { name: add.clone(), parameters, does, clauses, steps }];
        let both = Both {
            parent: &parent,
            parent_id: &parent_id,
            keeps: !summary.is_empty(),
            act: Act::Adds,
            child: None,
            found: &[],
        };
        jobs.extend(self.together(relationship, decision, &jobs[0], both));
        let whole = self.made_together(relationship, decision, &add, &parent);
        jobs.extend(whole.clone());

        let child_id = js::parameter(&naming.id_of(relationship.role()));
        let counts = rough.as_ref().map(|(job, _)| job.name.as_str());
        let keeper = self.keeper(relationship, decision);
        let removal = self.removal(
            relationship,
            (&summary, keeper.as_ref()),
            (&others, counts),
            (&parent, children),
            (&parent_id, &child_id, &held),
        );
        let goes = self.removes_both(relationship, decision);
        let filter = doc! { "_id": given(&child_id), &held: given(&parent_id) };
        let archive = self.beside(child_entity, &Purpose::Archive);
        let places = std::iter::once(children).chain(archive.map(|archive| archive.name.as_str()));
        let found: Vec<String> = places
            .map(|place| Statement::new(place, Method::FindOne, [filter.clone().into()]).shell(4))
            .collect();
        let removes = Both { act: Act::Removes, found: &found, ..both };
        let gone = goes.then(|| self.with_parent(relationship, &removal, removes));
        jobs.push(removal);
        jobs.extend(gone);
        jobs.push(self.listing(relationship, newest_first, children, (&parent_id, &held)));
        let change = self.keeping(keeper.as_ref(), decision, (&parent_id, &child_id), &mut jobs);
        let mut changed = Vec::new();
        if change.is_none() {
            let child = (children, child_id.as_str(), held.as_str());
            changed = self.changed_together(relationship, decision, child, both);
        }
        let changes = changed.last().map(|job| job.name.clone());
        jobs.extend(changed);
        if let Some(fields) = copied {
            let names: Vec<&str> = fields.iter().map(String::as_str).collect();
            jobs.push(self.refreshing(relationship, decision, &names, (&parent, children)));
        }

        let pattern = if summary.preview.is_some() {
            "subset"
        } else if copied.is_some() {
            "extended-reference"
        } else if !summary.is_empty() {
            "computed"
        } else if rough.is_some() {
            "approximation"
        } else {
            "parent-id-in-child"
        };
        let mut varied: Vec<&str> = summary.sums.iter().map(|sum| sum.field).collect();
        varied.extend(summary.preview.iter().map(|(_, _, by, ..)| *by));
        let newest_first = self.newest_by(relationship, decision);
        varied.extend(newest_first.keys().map(String::as_str));
        let mut sample = self.sample(child_entity, &home.fields, &varied);
        sample.remove(&held);
        if copied.is_some() {
            sample.remove(&copy);
        }
        let named: Vec<String> =
            others.iter().flat_map(|other| other.prepare(self, &mut sample)).collect();
        let check = self.owned_check(
            relationship,
            &summary,
            &others,
            copied.map(|f| (copy.as_str(), f.as_slice())),
            &sample,
            ordered,
        );
        let check = check.into_iter().chain(self.together_check(
            (relationship, decision),
            &parent,
            (whole.as_ref(), changes.as_deref()),
            (children, &held),
        ));
        let figures = keeper.iter().flat_map(|keeper| {
            let find = js::object(&doc! { &held: given(&root_id) }, 0);
            let all = format!("at.getCollection({}).find({find})", quote(children));
            let some = format!("at.getCollection({}).findOne({find})", quote(children));
            let call = change.as_ref().map(|change| {
                let (name, root_id) = (change.name.clone(), root_id.clone());
                move |changes: &str| format!("{name}(at, {root_id}, some._id, {changes})")
            });
            self.figures_check(keeper, &all, &some, call)
        });
        let check = std::iter::once(format!("const root = {};", self.made_at(&parent)))
            .chain(std::iter::once(format!(
                "at.getCollection({}).insertOne(root);",
                quote(parents)
            )))
            .chain(named)
            .chain(check)
            .chain(figures)
            .chain(rough.iter().flat_map(|(_, check)| check.clone()))
            .chain(parent.list().map(|list| {
                let found =
                    format!("at.getCollection({}).findOne({{ _id: root._id }})", quote(parents));
                format!(
                    "expect(\"the rest of the list stays as it was\", plain({}[1]), plain({}[1]));",
                    at(&found, list),
                    at("root", list)
                )
            }))
            .collect();
        jobs.extend(rough.map(|(job, _)| job));
        Some(Script {
            about: relationship.name.clone(),
            pattern,
            intro: format!(
                "`{}`: {}. Documents of `{children}` hold `{held}`.",
                relationship.name, decision.ruling.how
            ),
            jobs,
            check,
        })
    }

    fn removal(
        &self,
        relationship: &Relationship,
        (summary, keeper): (&super::summary::Summary<'_>, Option<&Keeper<'_>>),
        (others, counts): (&[Other<'_>], Option<&str>),
        (parent, children): (&Place<'_>, &str),
        (parent_id, child_id, held): (&str, &str, &str),
    ) -> Job {
        let filter = doc! { "_id": given(child_id), held: given(parent_id) };
        let gone =
            |from: &str| Statement::new(from, Method::FindOneAndDelete, [filter.clone().into()]);
        let mut does = format!("Removes one of `{}`.", relationship.name);
        let entity = self.layout.model.entity(&relationship.child);
        let archive = entity.and_then(|entity| self.beside(entity, &Purpose::Archive));
        let mut steps = match archive {
            None => vec![Step::Let("found", gone(children))],
            Some(archive) => {
                does.push_str(&format!(" It may be in `{}` already.", archive.name));
                vec![
                    Step::Let("current", gone(children)),
                    Step::Let("archived", gone(&archive.name)),
                    Step::Code("const found = current ?? archived;".to_owned()),
                ]
            }
        };
        steps.push(Step::Code("if (found === null) return false;".to_owned()));
        steps.extend(self.pages_gone(&relationship.child, child_id));
        if !summary.is_empty() {
            let update = summary.departure("found", child_id);
            steps.push(Step::Run(parent.update(parent_id, update)));
            let named = member_of("found", held);
            let refilled = keeper.map(|keeper| keeper.refilled(&named)).unwrap_or_default();
            if summary.preview.is_some() && refilled.is_empty() {
                does.push_str(&format!(
                    " The preview is one shorter until the next one comes, however old that is, or `{}` fills it.",
                    self.name("rebuild", relationship, true)
                ));
            }
            steps.extend(refilled);
        }
        steps.extend(others.iter().flat_map(|other| other.departure("found", child_id)));
        if let Some(counts) = counts {
            steps.push(Step::Code(format!("{counts}(db, {parent_id}, Math.random(), -1);")));
        }
        steps.push(Step::Code("return true;".to_owned()));
        Job {
            name: self.name("remove", relationship, false),
            parameters: vec![parent_id.to_owned(), child_id.to_owned()],
            does,
            clauses: summary.clauses.clone(),
            steps,
        }
    }

    /// The order of the newest first: by the field of a preview, the date of a child, or the id.
    pub(super) fn newest_by(&self, relationship: &Relationship, decision: &Decision) -> Document {
        let by = decision.patterns.iter().find_map(|pattern| match pattern {
            Pattern::Subset { by, .. } => Some(by.clone()),
            _ => None,
        });
        // What is cut off is the oldest, whatever a page shows first.
        let child = self.layout.model.entity(&relationship.child);
        let is_date = |by: &String| {
            child.and_then(|child| child.field(by)).is_some_and(|f| f.kind == BsonType::Date)
        };
        let by = by.filter(|by| relationship.keep_newest.is_none() || is_date(by));
        let cut = |_: &u64| newest_date(self.layout.model.entity(&relationship.child)?);
        let by = by.or_else(|| relationship.keep_newest.as_ref().and_then(cut));
        doc! { by.unwrap_or_else(|| "_id".to_owned()): -1 }
    }

    /// The order that an index has for the children of one parent: as they are shown, or as a declared read
    /// asks for them.
    fn order_of(&self, relationship: &Relationship, newest_first: &Document) -> Option<Document> {
        if !newest_first.contains_key("_id") {
            return Some(newest_first.clone());
        }
        let by_parent = |(name, _): &(String, docward_model::Matching)| {
            *name == relationship.parent || relationship.field.as_ref() == Some(name)
        };
        let mut reads = self.layout.model.reads.iter();
        let read = reads.find(|read| {
            read.from == relationship.child
                && !read.sort.is_empty()
                && read.filter.len() == 1
                && read.filter.iter().all(by_parent)
        })?;
        let falls = |falls: &bool| if *falls { -1 } else { 1 };
        Some(read.sort.iter().map(|(name, f)| (name.clone(), falls(f).into())).collect())
    }

    fn listing(
        &self,
        relationship: &Relationship,
        newest_first: Document,
        children: &str,
        (parent_id, held): (&str, &str),
    ) -> Job {
        let find = Statement::find(children, doc! { held: given(parent_id) });
        let (find, which) = match self.order_of(relationship, &newest_first) {
            Some(order) if order == newest_first => (find.then("sort", order), "The newest"),
            Some(order) => (find.then("sort", order), "The first, as a declared read sorts them,"),
            None => (find, "Some, in no order,"),
        };
        let find = find.then("limit", given("limit"));
        Job {
            name: self.name("list", relationship, true),
            parameters: vec![parent_id.to_owned(), "limit = 20".to_owned()],
            does: format!(
                "{which} of `{}`: the second query, asked only when somebody wants more than the parent shows.",
                relationship.name
            ),
            clauses: vec!["PT-hybrid.1"],
            steps: vec![Step::Return(find)],
        }
    }

    fn owned_check(
        &self,
        relationship: &Relationship,
        summary: &super::summary::Summary<'_>,
        others: &[Other<'_>],
        copied: Option<(&str, &[String])>,
        sample: &Document,
        ordered: bool,
    ) -> Vec<String> {
        let Some(home) = self.home(&relationship.child) else { return Vec::new() };
        let (add, list) =
            (self.name("add", relationship, false), self.name("list", relationship, true));
        let remove = self.name("remove", relationship, false);
        let Some(parent) = self.place_or_element(&relationship.parent) else { return Vec::new() };
        let root_id = parent.id_in("root");
        let (parents, path) = (parent.collection.name.clone(), parent.path);
        let held = self.layout.naming.parent_field(relationship);
        let children = quote(&home.name);
        let shown = summary.preview.as_ref().map_or(5, |(_, newest, ..)| *newest);
        let number = shown.max(relationship.keep_newest.unwrap_or(0)) + 2;
        let left = relationship.keep_newest.map_or(number, |newest| newest.min(number));
        let mut lines = vec![
            format!("const one = {};", factory(sample)),
            "const ids = [];".to_owned(),
            format!("for (let i = 0; i < {number}; i++) ids.push({add}(at, {root_id}, one(i)));"),
            format!(
                "let now = at.getCollection({}).findOne({{ _id: root._id }});",
                quote(&parents)
            ),
            format!(
                "expect(\"each is a document of its own\", at.getCollection({children}).countDocuments({}), {left});",
                js::object(&doc! { &held: given(&root_id) }, 0)
            ),
            format!(
                "expect(\"the list has all of them\", {list}(at, {root_id}, 2000).length, {left});"
            ),
        ];
        if !others.is_empty() {
            lines.push(format!(
                "const made = at.getCollection({children}).findOne({});",
                js::object(&doc! { &held: given(&root_id) }, 0)
            ));
            let left = left.to_string();
            lines.extend(others.iter().flat_map(|other| other.followed("made", &left)));
        }
        if relationship.keep_newest.is_some() {
            // What is listed in no order, or in another, is compared in one.
            let sorted = if ordered { "" } else { ".sort()" };
            lines.push(format!(
                "expect(\"{number} leave the newest {left} (PT-slice.1)\", {list}(at, {root_id}, 2000).map((one) => String(one._id)){sorted}, ids.slice(-{left}).reverse().map(String){sorted});"
            ));
        }
        let read = |name: &str| at("now", name);
        if let Some((name, newest, by, key, _)) = &summary.preview {
            let ids =
                format!("{}.map((element) => String({}))", read(name), member_of("element", key));
            lines.push(format!(
                "expect(\"{number} pushes leave {newest}, newest first (SN-05)\", {ids}, ids.slice(-{newest}).reverse().map(String));"
            ));
            let old = if *by == "_id" { "unique().toString(16).padStart(24, \"0\")" } else { "" };
            lines.push(format!("{add}(at, {root_id}, {{ ...one(0), _id: new ObjectId({old}) }});"));
            lines.push(
                "now = at.getCollection(".to_owned()
                    + &quote(&parents)
                    + ").findOne({ _id: root._id });",
            );
            lines.push(format!(
                "expect(\"one that is older than all shown is not shown\", {ids}, ids.slice(-{newest}).reverse().map(String));"
            ));
        }
        let all = format!(
            "at.getCollection({children}).find({}).toArray()",
            js::object(&doc! { &held: given(&root_id) }, 0)
        );
        let again =
            format!("now = at.getCollection({}).findOne({{ _id: root._id }});", quote(&parents));
        let taken = format!(
            "const taken = at.getCollection({children}).findOne({})._id;",
            js::object(&doc! { &held: given(&root_id) }, 0)
        );
        let mut totals = Vec::new();
        if let Some(count) = &summary.count {
            totals.push(format!(
                "expect(\"the count is right\", Number({}), all.length);",
                read(count)
            ));
        }
        for sum in &summary.sums {
            totals.extend(sum.holds("all", read));
        }
        if !totals.is_empty() {
            lines.push("let all = [];".to_owned());
            lines.push(format!("await together(Array.from({{ length: 20 }}, async (_, i) => {add}(at, {root_id}, one(100 + i))));"));
            for sum in summary.sums.iter().filter(|sum| sum.having.is_some()) {
                let field = member_of("without", sum.field);
                let lacks = match self.must_have(&relationship.child, sum.field) {
                    true => format!("{field} = null"),
                    false => format!("delete {field}"),
                };
                lines.push(format!(
                    "{{\n  const without = one(200);\n  {lacks};\n  {add}(at, {root_id}, without);\n}}"
                ));
            }
            let refresh = [format!("all = {all};"), again.clone()];
            lines.extend(refresh.iter().cloned());
            lines.extend(totals.iter().cloned());
            lines.push(taken.clone());
            lines
                .push(format!("expect(\"one is removed\", {remove}(at, {root_id}, taken), true);"));
            lines
                .push(format!("expect(\"and not twice\", {remove}(at, {root_id}, taken), false);"));
            lines.extend(refresh.iter().cloned());
            lines.extend(totals.iter().cloned());
            let rebuild = self.name("rebuild", relationship, true);
            lines.push("const before = now;".to_owned());
            lines.push(format!("{rebuild}(at, {root_id});"));
            lines.extend(refresh);
            lines.extend(totals);
        } else {
            lines.push(taken);
            lines
                .push(format!("expect(\"one is removed\", {remove}(at, {root_id}, taken), true);"));
        }
        lines.push(format!(
            "refused(\"no parent, no child\", null, () => {add}(at, new ObjectId(), one(0)));"
        ));
        if let Some((copy, fields)) = copied {
            lines.extend(self.copy_check(
                relationship,
                fields,
                copy,
                (&parents, &home.name),
                (&path, &held, &root_id),
            ));
        }
        lines
    }

    /// In a check: what is done in transactions.
    fn together_check(
        &self,
        (relationship, decision): (&'m Relationship, &Decision),
        parent: &Place<'m>,
        (whole, changes): (Option<&Job>, Option<&str>),
        (children, held): (&str, &str),
    ) -> Vec<String> {
        let (add, root_id) = (self.name("add", relationship, false), parent.id_in("root"));
        let children = quote(children);
        let of_root = js::object(&doc! { held: given(&root_id) }, 0);
        let count = format!("at.getCollection({children}).countDocuments({of_root})");
        let any = format!("at.getCollection({children}).findOne({of_root})");
        let mut lines = Vec::new();
        if self.changes_both(relationship, decision) {
            let call = |update: &str| {
                format!("{add}InTransaction(at, {root_id}, one(unique()), {update})")
            };
            let twice = |update: &str| {
                let child = format!("{{ ...one(unique()), _id: {any}._id }}");
                format!("{add}InTransaction(at, {root_id}, {child}, {update})")
            };
            let bad: Option<Bad<'_>> = Some(("11000", &twice));
            lines.extend(self.both_check(relationship, parent, call, (bad, &count, 1)));
        }
        if self.removes_both(relationship, decision) {
            let remove = self.name("remove", relationship, false);
            let call = |update: &str| {
                let update = Act::Removes.takes(update);
                format!("{remove}InTransaction(at, {root_id}, {any}._id, {update})")
            };
            lines.extend(self.both_check(relationship, parent, call, (None, &count, -1)));
        }
        if let (Some(name), Some(child)) = (changes, self.place(&relationship.child)) {
            let id = format!("{any}._id");
            lines.extend(self.other_check(
                relationship,
                (&child, &id),
                Act::Changes,
                |update, other| {
                    let seen = format!(
                        "(before, after) => {{ seen = [before, after]; return {update}; }}"
                    );
                    format!("{name}(at, {root_id}, {id}, {other}, {seen})")
                },
            ));
        }
        lines.extend(
            whole.into_iter().flat_map(|job| self.made_check(job, parent, (&children, held))),
        );
        lines
    }
}

/// A document by a filter, with the fields wanted.
pub(super) fn one(collection: &str, filter: &Document, path: &str, fields: &[&str]) -> Statement {
    let mut projection = Document::new();
    match path.strip_suffix(".$.") {
        // The element that was found, as a whole.
        Some(list) => {
            projection.insert(format!("{list}.$"), 1);
        }
        None => {
            projection.extend(fields.iter().map(|field| (format!("{path}{field}"), 1.into())));
        }
    }
    Statement::new(collection, Method::FindOne, [filter.clone().into(), projection.into()])
}

/// Refuses when a document was not found.
pub(super) fn missing(name: &str, what: &str) -> Step {
    Step::Code(format!(
        "if ({name} === null) throw new Error({});",
        quote(&format!("there is no such {what}"))
    ))
}

/// The object at a path: `parent`, `parent.profile`. The element that a filter finds is the first of what a
/// projection of it leaves.
pub(super) fn at(object: &str, path: &str) -> String {
    path.split('.').filter(|part| !part.is_empty()).fold(object.to_owned(), |at, part| match part {
        "$" => format!("{at}[0]"),
        part => member_of(&at, part),
    })
}
