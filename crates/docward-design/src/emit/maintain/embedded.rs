//! Children inside their parent (PT-embed.1): a list with a bound, or the newest N (PT-slice.1).

use bson::{Bson, Document, doc};
use docward_model::shell::quote;
use docward_model::{BsonType, EntityField, Relationship};

use crate::decide::decision::Decision;
use crate::decide::pattern::Pattern;
use crate::declared::field_plan::{Origin, Planned, is_number, own};
use crate::emit::js::{self, SPREAD, given, member_of};
use crate::emit::statement::{Job, Method, Script, Statement, Step};
use crate::layout::collection::{CollectionPlan, Purpose};
use crate::model_file::quantity;

use super::atomic_parent_update::{asked, joined, sent_along, with};
use super::child_refs::at;
use super::summary::{Summary, nothing};
use super::transaction::Act;
use super::{Place, Plans, factory, unless_matched};

/// What the functions speak of.
pub(super) struct Inside<'m> {
    pub(super) relationship: &'m Relationship,
    pub(super) parent: Place<'m>,
    pub(super) field: &'m Planned,
    /// The path of the list.
    pub(super) list: String,
    pub(super) parent_id: String,
    pub(super) element: String,
    /// Elements have an id, by which they are asked for, changed and removed one by one.
    pub(super) addressed: bool,
}

impl Inside<'_> {
    /// What is appended: what the function is given, with an id where elements have one, and with the counts and
    /// sums that begin with nothing.
    pub(super) fn pushed(&self) -> Bson {
        let mut pushed = doc! { SPREAD: given(&self.element) };
        for kept in self.field.fields.iter().filter(|field| field.required) {
            if matches!(kept.origin, Origin::Computed(_)) {
                let zero = js::value(&nothing(kept.kind), 0);
                let value = format!("{} ?? {zero}", member_of(&self.element, &kept.name));
                pushed.insert(&kept.name, given(value));
            }
        }
        if pushed.len() == 1 && !self.addressed {
            return given(&self.element);
        }
        if self.addressed {
            pushed.insert("_id", given("_id"));
        }
        pushed.into()
    }

    /// Makes the id of an element.
    pub(super) fn made_id(&self) -> Option<Step> {
        let code = format!("const _id = {}._id ?? new ObjectId();", self.element);
        self.addressed.then_some(Step::Code(code))
    }

    /// Copies beside references in an element, which come with it.
    fn copies(&self) -> impl Iterator<Item = &Planned> {
        self.field.fields.iter().filter(|field| matches!(field.origin, Origin::Copy(_)))
    }

    /// What is said about copies.
    pub(super) fn along(&self) -> String {
        let copies = self.copies().filter_map(|field| match &field.origin {
            Origin::Copy(source) => Some(format!(
                " `{}` comes along: copies of the `{source}` as it is now (PT-extref.1).",
                field.name
            )),
            _ => None,
        });
        copies.collect()
    }

    /// What a check sends: the id stands where the function puts it.
    pub(super) fn sent(&self) -> &'static str {
        if self.addressed { "{ ...one(i), _id: new ObjectId() }" } else { "one(i)" }
    }
}

impl<'m> Plans<'m> {
    pub(super) fn embedded(
        &self,
        relationship: &'m Relationship,
        decision: &'m Decision,
    ) -> Option<Script> {
        let parent = self.place(&relationship.parent)?;
        let naming = self.layout.naming;
        let field = parent
            .fields
            .iter()
            .find(|field| field.origin == Origin::Embedded(relationship.name.clone()))?;
        let list = format!("{}{}", parent.path, field.name);
        let inside = Inside {
            relationship,
            list,
            parent_id: js::parameter(&naming.id_of(&relationship.parent)),
            element: js::parameter(&naming.singular(relationship.role())),
            addressed: field.fields.iter().any(|field| field.origin == Origin::Id),
            parent,
            field,
        };
        let (pattern, mut jobs, more) = if field.kind == BsonType::Object {
            self.one_inside(&inside)
        } else if decision.patterns.iter().any(|p| matches!(p, Pattern::Outlier { .. })) {
            self.pages(&inside, decision)?
        } else {
            self.list_inside(&inside, decision)
        };
        let child = self.layout.model.entity(&relationship.child)?;
        let summary = self.summary(relationship, decision, &inside.parent);
        let varied: Vec<&str> = summary.sums.iter().map(|sum| sum.field).collect();
        let first = field.fields.iter().find(|f| f.origin == Origin::Own && f.values.is_empty());
        // Elements are told apart by one field.
        let sample = self.sample(child, &field.fields, &varied);
        let parents = quote(&inside.parent.collection.name);
        let mut check = vec![
            format!("const root = {};", self.made(inside.parent.collection)),
            format!("at.getCollection({parents}).insertOne(root);"),
            format!("const one = {};", factory(&told_apart(sample, first))),
        ];
        check.extend(more);
        if let Some((versions, held)) = self.versioned(inside.parent.collection, &mut jobs) {
            let of_root = js::object(&doc! { &held: given("root._id") }, 0);
            let kept = format!("at.getCollection({}).countDocuments({of_root})", quote(versions));
            check
                .push(format!("expect(\"changes of parts are versions, too\", {kept} > 0, true);"));
            if pattern == "outlier" {
                let version =
                    format!("at.getCollection({parents}).findOne({{ _id: root._id }}).version");
                check.push(format!("const before = [{kept}, {version}];"));
                check.push(format!(
                    "{}(at, {}, one(0));",
                    self.name("add", relationship, false),
                    inside.parent.id_in("root")
                ));
                check.push(format!(
                    "expect(\"one more on a page is one more version\", [{kept} - before[0], {version} - before[1]], [1, 1]);"
                ));
            }
        }
        Some(Script {
            about: relationship.name.clone(),
            pattern,
            intro: format!("`{}`: {}.", relationship.name, decision.ruling.how),
            jobs,
            check,
        })
    }

    /// What changes a part changes the document: where old versions are kept, the one before is, and the next
    /// has a number of its own. Returns where they are, and by which field.
    pub(super) fn versioned(
        &self,
        home: &'m CollectionPlan,
        jobs: &mut [Job],
    ) -> Option<(&'m str, String)> {
        let entity = self.layout.model.entity(&home.entity)?;
        let versions = self.beside(entity, &Purpose::Versions)?;
        let held = self.layout.naming.id_of(&entity.name);
        // Only what the statement is about to change: where its filter finds nothing, nothing is kept.
        let keep = |filter: &Document| {
            let find = Statement::new(&home.name, Method::FindOne, [filter.clone().into()]);
            let copy = doc! {
                SPREAD: given("was"), "_id": given("new ObjectId()"), &held: given("was._id"),
            };
            let insert = Statement::insert(&versions.name, copy);
            Step::Code(format!(
                "{{\n  // The version before is kept; of changes at the same moment those between are not.\n  const was = {};\n  try {{\n    if (was !== null) {};\n  }} catch (error) {{\n    if (error.code !== 11000) throw error;\n  }}\n}}",
                find.shell(2),
                insert.shell(4)
            ))
        };
        for job in jobs {
            job.steps = versioned_steps(std::mem::take(&mut job.steps), &home.name, &keep);
        }
        Some((&versions.name, held))
    }

    fn one_inside(&self, inside: &Inside<'m>) -> (&'static str, Vec<Job>, Vec<String>) {
        let root_id = inside.parent.id_in("root");
        let r = inside.relationship;
        let set = doc! { "$set": { &inside.list: inside.pushed() } };
        let by_id = inside.parent.by(&inside.parent_id);
        let parents = &inside.parent.collection.name;
        let name = self.name("set", r, false);
        let parameters = vec![inside.parent_id.clone(), inside.element.clone()];
        let besides = self.besides(inside, (Act::Adds, &name), &parameters, (false, false));
        let more = sent_along(besides.as_ref());
        let set = joined(besides.as_ref(), set.into());
        let job = Job {
            name: name.clone(),
            parameters: with(parameters, besides.as_ref()),
            does: format!(
                "Sets the `{}` of one `{}`: one document, one write.{}{}",
                r.role(),
                r.parent,
                inside.along(),
                besides.as_ref().map_or("", |besides| &besides.words)
            ),
            clauses: vec!["PT-embed.1"],
            steps: asked(besides.as_ref())
                .chain(inside.made_id())
                .chain([
                    Step::Let("done", Statement::update(parents, by_id, set)),
                    unless_matched(&r.parent),
                ])
                .chain(inside.addressed.then(|| Step::Code("return _id;".to_owned())))
                .collect(),
        };
        let mut check = vec![
            format!("{name}(at, {root_id}, one(1){more});"),
            format!(
                "refused(\"no parent, nothing set\", null, () => {name}(at, new ObjectId(), one(1){more}));"
            ),
            now(parents),
            format!(
                "expect(\"it is part of the parent\", typeof {}, \"object\");",
                read(&inside.list)
            ),
        ];
        if let Some(besides) = &besides {
            let call = |update: &str| format!("{name}(at, {root_id}, one(unique()), {update})");
            check.extend(self.besides_check(inside, (besides, 0), call));
        }
        ("embedded", vec![job], check)
    }

    fn list_inside(
        &self,
        inside: &Inside<'m>,
        decision: &'m Decision,
    ) -> (&'static str, Vec<Job>, Vec<String>) {
        let second_id = inside.parent.id_in("second");
        let root_id = inside.parent.id_in("root");
        let r = inside.relationship;
        let (list, parents) = (&inside.list, &inside.parent.collection.name);
        let capped = decision.patterns.iter().find_map(|pattern| match pattern {
            Pattern::CappedArray { newest } => Some(*newest),
            _ => None,
        });
        let most = inside.field.items.map_or(999, |items| items.max);
        let summary = self.summary(r, decision, &inside.parent);
        let mut filter = inside.parent.by(&inside.parent_id);
        // The unique index holds between documents; within this one the filter looks.
        let unique: Vec<&str> = self.unique_in(r);
        for field in &unique {
            filter.insert(
                format!("{list}.{field}"),
                doc! { "$ne": given(member_of(&inside.element, field)) },
            );
        }
        if capped.is_none() {
            filter.insert(format!("{list}.{}", most.saturating_sub(1)), doc! { "$exists": false });
        }
        let update: Bson = if summary.sums.is_empty() {
            match capped {
                Some(newest) => doc! {
                    "$push": { list: { "$each": [inside.pushed()], "$slice": -(newest as i32) } }
                }
                .into(),
                None => doc! { "$push": { list: inside.pushed() } }.into(),
            }
        } else {
            let before = doc! { "$ifNull": [format!("${list}"), []] };
            let all = doc! { "$concatArrays": [before, [{ "$literal": inside.pushed() }]] };
            summary.again(
                list,
                match capped {
                    Some(newest) => doc! { "$slice": [all, -(newest as i32)] },
                    None => all,
                },
            )
        };
        let add = self.name("add", r, false);
        let parameters = vec![inside.parent_id.clone(), inside.element.clone()];
        let in_stages = !summary.sums.is_empty();
        let keeps = !summary.is_empty();
        let besides = self.besides(inside, (Act::Adds, &add), &parameters, (in_stages, keeps));
        let also = sent_along(besides.as_ref());
        let update = joined(besides.as_ref(), update);
        let (pattern, does, mut clauses) = match capped {
            Some(newest) => (
                "capped-array",
                format!(
                    "Appends one and keeps the newest {newest}, cut by the server in the same write; older ones are gone."
                ),
                vec!["PT-slice.1", "SN-06", "DM-08.4"],
            ),
            None => (
                "embedded",
                format!("Appends one; refused when `{list}` holds {most}, its bound."),
                vec!["PT-embed.1", "DM-08.2"],
            ),
        };
        clauses.extend(summary.clauses.iter());
        let mut does = does;
        if !summary.is_empty() {
            does.push_str(&format!(" {}.", summary.words()));
        }
        does.push_str(&inside.along());
        does.push_str(besides.as_ref().map_or("", |besides| &besides.words));
        // What the filter of the statement asks for, turned round.
        let mut what = r.parent.clone();
        if capped.is_none() {
            what.push_str(", or it is full");
        }
        if !unique.is_empty() {
            what.push_str(&format!(", or it has this {} already", unique.join(" or ")));
        }
        let mut jobs = vec![Job {
            name: add.clone(),
            parameters: with(parameters, besides.as_ref()),
            does,
            clauses,
            steps: asked(besides.as_ref())
                .chain(inside.made_id())
                .chain([
                    Step::Let("done", Statement::update(parents, filter, update)),
                    unless_matched(&what),
                ])
                .chain(inside.addressed.then(|| Step::Code("return _id;".to_owned())))
                .collect(),
        }];
        let mut check = Vec::new();
        let many = match capped {
            Some(newest) => newest + newest.div_ceil(2),
            None => most.min(20),
        };
        check.push("const sent = [];".to_owned());
        // One without what is summed has no part in the mean.
        let lacking: String = summary
            .sums
            .iter()
            .filter(|sum| sum.having.is_some())
            .map(|sum| {
                let field = member_of("sent[i]", sum.field);
                match self.must_have(&r.child, sum.field) {
                    true => format!("  if (i === 1) {field} = null;\n"),
                    false => format!("  if (i === 1) delete {field};\n"),
                }
            })
            .collect();
        check.push(format!(
            "for (let i = 0; i < {many}; i++) {{\n  sent.push({});\n{lacking}  {add}(at, {root_id}, sent[i]{also});\n}}",
            inside.sent()
        ));
        check.push(now(parents));
        match capped {
            Some(newest) => check.push(format!(
                "expect(\"{many} pushes leave the newest {newest}, in order (SN-06)\", plain({}), plain(sent.slice(-{newest})));",
                read(list)
            )),
            None => {
                check.push(format!("expect(\"all are there, in order\", plain({}), plain(sent));", read(list)));
                if most <= 20 {
                    check.push(format!(
                        "refused(\"the list has a bound (DM-08.2)\", null, () => {add}(at, {root_id}, one({most}){also}));"
                    ));
                }
            }
        }
        if !unique.is_empty() {
            let again = format!("{add}(at, {root_id}, sent[sent.length - 1]{also})");
            check.push(format!("refused(\"not twice in one document\", null, () => {again});"));
            check.push(format!("const second = {};", self.made(inside.parent.collection)));
            check.push(format!("at.getCollection({}).insertOne(second);", quote(parents)));
            let elsewhere = format!("{add}(at, {second_id}, sent[sent.length - 1]{also})");
            // Of what is shared every parent has a copy.
            if !r.is_shared() {
                check.push(format!("refused(\"nor in two\", 11000, () => {elsewhere});"));
            }
        }
        if !summary.sums.is_empty() {
            check.push(match capped {
                Some(newest) => format!("const kept = sent.slice(-{newest});"),
                None => "const kept = sent;".to_owned(),
            });
        }
        for sum in &summary.sums {
            check.extend(sum.holds("kept", read));
        }
        if inside.addressed {
            let (more_jobs, more) = self.one_by_one(inside, &summary);
            jobs.extend(more_jobs);
            check.extend(more);
        }
        if let Some((job, more)) = self.expiring(inside, &summary, (&add, &also)) {
            jobs.push(job);
            check.extend(more);
        }
        if let Some(besides) = &besides {
            let call = |update: &str| format!("{add}(at, {root_id}, one(unique()), {update})");
            check.extend(self.besides_check(inside, (besides, 1), call));
        }
        (pattern, jobs, check)
    }

    /// Changes and removes one element by its id; what the parent keeps is worked out again in the same
    /// statement.
    fn one_by_one(&self, inside: &Inside<'m>, summary: &Summary<'m>) -> (Vec<Job>, Vec<String>) {
        let root_id = inside.parent.id_in("root");
        let r = inside.relationship;
        let (list, parents) = (&inside.list, &inside.parent.collection.name);
        let id = js::parameter(&self.layout.naming.id_of(r.role()));
        let mut filter = inside.parent.by(&inside.parent_id);
        filter.insert(format!("{list}._id"), given(&id));
        let this = doc! { "$eq": ["$$this._id", { "$literal": given(&id) }] };
        let (change, remove) = (self.name("change", r, false), self.name("remove", r, false));
        let input = format!("${list}");
        let ids = vec![inside.parent_id.clone(), id.clone()];
        let with_changes: Vec<String> = ids.iter().cloned().chain(["changes".to_owned()]).collect();
        let keeps = !summary.is_empty();
        // What was there before is known on the server only: what follows from it is worked out there.
        let besides = (
            self.besides(inside, (Act::Changes, &change), &with_changes, (true, keeps)),
            self.besides(inside, (Act::Removes, &remove), &ids, (true, keeps)),
        );
        let changing: Vec<Bson> = if summary.is_empty() && besides.0.is_none() {
            let paths = format!(
                "Object.fromEntries(Object.entries(changes).map(([name, value]) => [{} + name, value]))",
                quote(&format!("{list}.$[one]."))
            );
            let by = doc! { "arrayFilters": [{ "one._id": given(&id) }] };
            vec![doc! { "$set": given(paths) }.into(), by.into()]
        } else {
            let values = match besides.0.is_some() {
                true => given(
                    "Object.fromEntries(Object.entries(changes).map(([name, value]) => [name, typeof value === \"function\" ? value(\"$$this.\" + name) : { $literal: value }]))",
                ),
                false => doc! { "$literal": given("changes") }.into(),
            };
            let merged = doc! { "$mergeObjects": ["$$this", values] };
            let each = doc! { "$cond": [this.clone(), merged, "$$this"] };
            let stages = summary.again(list, doc! { "$map": { "input": &input, "in": each } });
            vec![joined(besides.0.as_ref(), stages)]
        };
        let taking: Bson = if summary.is_empty() && besides.1.is_none() {
            doc! { "$pull": { list: { "_id": given(&id) } } }.into()
        } else {
            let others = doc! { "$filter": { "input": &input, "cond": { "$not": [this] } } };
            joined(besides.1.as_ref(), summary.again(list, others))
        };
        let update = |arguments: Vec<Bson>| {
            let all = std::iter::once(Bson::from(filter.clone())).chain(arguments);
            Statement::new(parents, Method::UpdateOne, all)
        };
        let job = |name: &str,
                   parameters: Vec<String>,
                   does: &str,
                   first: Vec<Step>,
                   statement: Statement| Job {
            name: name.to_owned(),
            parameters,
            does: does.to_owned(),
            clauses: vec!["PT-embed.1"],
            steps: first
                .into_iter()
                .chain([
                    Step::Let("done", statement),
                    Step::Code("return done.matchedCount === 1;".to_owned()),
                ])
                .collect(),
        };
        let first = self.unique_stay(r);
        let kept =
            if summary.is_empty() { "" } else { " Sums and counts follow in the same write." };
        let jobs = vec![
            job(
                &change,
                with(with_changes, besides.0.as_ref()),
                &format!(
                    "Changes fields of one element; false when it is not there.{kept}{}{}",
                    match besides.0 {
                        Some(_) => {
                            " What depends on what was there is a function that makes an expression, so that nobody's change is lost: { n: (was) => ({ $add: [was, 1] }) }."
                        }
                        None => "",
                    },
                    besides.0.as_ref().map_or("", |besides| &besides.words)
                ),
                asked(besides.0.as_ref()).chain(first).collect(),
                update(changing),
            ),
            job(
                &remove,
                with(ids, besides.1.as_ref()),
                &format!(
                    "Takes one element out; false when it is not there.{kept}{}",
                    besides.1.as_ref().map_or("", |besides| &besides.words)
                ),
                asked(besides.1.as_ref()).collect(),
                update(vec![taking]),
            ),
        ];
        let (also, alone) = (sent_along(besides.0.as_ref()), sent_along(besides.1.as_ref()));
        let changed = self.changeable(r);
        let mut check = vec!["const last = sent[sent.length - 1];".to_owned()];
        if let Some((name, value)) = changed {
            let changes = js::object(&doc! { name: given(value) }, 2);
            check.push(format!(
                "{{\n  const i = 3;\n  const changes = {changes};\n  expect(\"it is changed\", {change}(at, {root_id}, last._id, changes{also}), true);\n  Object.assign(last, changes);\n}}"
            ));
        }
        let again = |check: &mut Vec<String>, list: &str| {
            for sum in &summary.sums {
                let lines = sum.holds(list, read).map(|line| format!("  {line}\n"));
                check.push(format!("{{\n  {}\n{}}}", now(parents), lines.concat()));
            }
        };
        again(&mut check, "kept");
        let removed = format!("{remove}(at, {root_id}, last._id{alone})");
        check.push(format!("expect(\"it is removed\", {removed}, true);"));
        check.push(format!("expect(\"and not twice\", {removed}, false);"));
        again(&mut check, "kept.slice(0, -1)");
        (jobs, check)
    }

    /// What is unique is not changed in place: nothing would look for another.
    pub(super) fn unique_stay(&self, relationship: &Relationship) -> Vec<Step> {
        let nothing =
            "if (Object.keys(changes).length === 0) throw new Error(\"nothing to change\");";
        let mut steps = vec![Step::Code(nothing.to_owned())];
        steps.extend(self.unique_in(relationship).into_iter().map(|field| {
            let why = format!("{field} is unique: take the element out and add another");
            let changed = member_of("changes", field);
            Step::Code(format!("if ({changed} !== undefined) throw new Error({});", quote(&why)))
        }));
        steps
    }

    /// A field that a check changes, best a number that may be summed, and an expression for its value.
    pub(super) fn changeable(&self, relationship: &Relationship) -> Option<(&'m str, String)> {
        let child = self.layout.model.entity(&relationship.child)?;
        let is_plain = |field: &&EntityField| {
            let single = matches!(field.kind, BsonType::String | BsonType::Date | BsonType::Bool);
            field.values.is_empty() && !field.unique && (is_number(field.kind) || single)
        };
        let numbers = child.fields.iter().filter(|field| is_number(field.kind));
        let field = numbers.chain(&child.fields).find(is_plain)?;
        Some((field.name.as_str(), super::vary(&own(field), false, 0)))
    }

    /// Days that elements are kept in a parent that stays longer, and the date that says when they came.
    pub(super) fn expires(&self, relationship: &Relationship) -> Option<(f64, &'m str)> {
        let model = self.layout.model;
        let kept = |entity: &str| model.entity(entity)?.lifecycle?.kept_days;
        let days = kept(&relationship.child)?;
        if kept(&relationship.parent).is_some_and(|parent| parent <= days) {
            return None;
        }
        Some((days, crate::declared::dates::coming(model.entity(&relationship.child)?)?))
    }

    /// Elements that are kept for a time in a parent that stays longer: nothing lets them go by itself.
    fn expiring(
        &self,
        inside: &Inside<'m>,
        summary: &Summary<'m>,
        (add, also): (&str, &str),
    ) -> Option<(Job, Vec<String>)> {
        let aged_id = inside.parent.id_in("aged");
        let (r, model) = (inside.relationship, self.layout.model);
        let (days, date) = self.expires(r)?;
        let (list, parents) = (&inside.list, &inside.parent.collection.name);
        let old = doc! { "$lt": given("before") };
        let update: Bson = if summary.is_empty() {
            doc! { "$pull": { list: { date: old.clone() } } }.into()
        } else {
            let young = doc! { "$not": [{ "$lt": [format!("$$this.{date}"), { "$literal": given("before") }] }] };
            let left = doc! { "$filter": { "input": format!("${list}"), "cond": young } };
            summary.again(list, left)
        };
        let filter = doc! { format!("{list}.{date}"): old };
        let name = self.name("expire", r, true);
        let job = Job {
            name: name.clone(),
            parameters: vec!["today = new Date()".to_owned()],
            does: format!(
                "Takes out what is older than {} by `{date}`: run it every day. An index with a time to live removes documents, not elements.",
                quantity::lasting(days)
            ),
            clauses: vec!["DP-2"],
            steps: vec![
                Step::Code(format!(
                    "const before = new Date(today.getTime() - {});",
                    quantity::milliseconds(days)
                )),
                Step::Return(Statement::new(parents, Method::UpdateMany, [filter.into(), update])),
            ],
        };
        let day = crate::emit::example::day(model);
        let aged = |ago: u64| {
            let when = format!("new Date({day} - {ago} * 86400000)");
            js::object(&doc! { SPREAD: given("one(700)"), date: given(when) }, 0)
        };
        let check = vec![
            format!("const aged = {};", self.made(inside.parent.collection)),
            format!("at.getCollection({}).insertOne(aged);", quote(parents)),
            format!("{add}(at, {aged_id}, {}{also});", aged(days.ceil() as u64 + 1)),
            format!("{add}(at, {aged_id}, {}{also});", aged(0)),
            format!("{name}(at, new Date({day}));"),
            format!(
                "expect(\"what is old is gone\", {}.length, 1);",
                at(
                    &format!("at.getCollection({}).findOne({{ _id: aged._id }})", quote(parents)),
                    list
                )
            ),
        ];
        Some((job, check))
    }

    /// Fields of the children that no two of them share.
    pub(super) fn unique_in(&self, relationship: &Relationship) -> Vec<&'m str> {
        let child = self.layout.model.entity(&relationship.child);
        let fields = child.into_iter().flat_map(|child| &child.fields);
        fields
            .filter(|field| field.unique && field.required)
            .map(|field| field.name.as_str())
            .collect()
    }
}

/// Steps in which every update of a document of the collection raises its version, after what was there is
/// kept. The mark that there are pages is no version of its own where the count behind it makes one.
fn versioned_steps(steps: Vec<Step>, home: &str, keep: &dyn Fn(&Document) -> Step) -> Vec<Step> {
    let counts = steps.iter().any(|step| matches!(step, Step::Let("counted", _)));
    let mut out = Vec::new();
    for mut step in steps {
        let is_mark = matches!(step, Step::Let("marked", _));
        match &mut step {
            Step::Run(_) | Step::Let(..) | Step::Return(_) if is_mark && counts => {}
            Step::Run(statement) | Step::Let(_, statement) | Step::Return(statement) => {
                let one = matches!(statement.method, Method::UpdateOne | Method::FindOneAndUpdate);
                let filter = statement.filter().filter(|_| one && statement.collection == home);
                if let Some(filter) = filter {
                    out.push(keep(filter));
                    statement.raise("version");
                }
            }
            Step::Retry(inner) | Step::Inside(inner) => {
                *inner = versioned_steps(std::mem::take(inner), home, keep);
            }
            Step::Note(_) | Step::Code(_) => {}
        }
        out.push(step);
    }
    out
}

/// A sample whose first field differs from element to element.
fn told_apart(mut sample: Document, first: Option<&Planned>) -> Document {
    if let Some(field) = first
        && matches!(field.kind, BsonType::String | BsonType::Int | BsonType::Long)
        && !matches!(sample.get(&field.name), Some(Bson::JavaScriptCode(_)))
        && sample.contains_key(&field.name)
    {
        let expression = match field.kind {
            BsonType::String => format!("{} + i", quote(&format!("{} ", field.name))),
            _ => "i".to_owned(),
        };
        sample.insert(field.name.clone(), given(expression));
    }
    sample
}

pub(super) fn now(parents: &str) -> String {
    format!("const now = at.getCollection({}).findOne({{ _id: root._id }});", quote(parents))
}

pub(super) fn read(path: &str) -> String {
    at("now", path)
}
