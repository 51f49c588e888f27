//! Children that are embedded in their parent (PT-embed.1): a single object, a bounded list, or the
//! newest N (PT-slice.1).

use bson::{Bson, Document, doc};
use docward_model::{BsonType, EntityField, Relationship, shell::quote};

use super::atomic_parent_update::{asked, joined, sent_along, with};
use super::plans::{Plans, at, by_id, factory, now, unless_matched, vary};
use super::transaction::Act;
use crate::decide::decision::Decision;
use crate::decide::pattern::Pattern;
use crate::declared::field_plan::{Origin, Planned, is_number, own};
use crate::emit::js::{self, SPREAD, given, member_of};
use crate::emit::statement::{Job, Method, Script, Statement, Step};
use crate::layout::collection::CollectionPlan;

/// The parts of the design that the functions use.
pub(super) struct Inside<'m> {
    pub(super) relationship: &'m Relationship,
    pub(super) parent: &'m CollectionPlan,
    pub(super) field: &'m Planned,
    pub(super) parent_id: String,
    pub(super) element: String,
    /// Whether elements have an id for reads and changes of single elements.
    addressed: bool,
}

impl Inside<'_> {
    /// Returns the element to append: the argument of the function, with an id if elements have
    /// one.
    pub(super) fn pushed(&self) -> Bson {
        match self.addressed {
            true => doc! { SPREAD: given(&self.element), "_id": given("_id") }.into(),
            false => given(&self.element),
        }
    }

    /// Returns steps that create the id of an element and return it.
    fn made_id(&self) -> (Option<Step>, Option<Step>) {
        let code = format!("const _id = {}._id ?? new ObjectId();", self.element);
        let made = self.addressed.then_some(Step::Code(code));
        (made, self.addressed.then(|| Step::Code("return _id;".to_owned())))
    }

    /// Returns a note about copies beside references in an element. The caller passes them with the
    /// element.
    pub(super) fn along(&self) -> String {
        let copies = self.field.fields.iter().filter_map(|field| match &field.origin {
            Origin::Copy(source) => Some(format!(
                " `{}` contains copies of the current `{source}` (PT-extref.1).",
                field.name
            )),
            _ => None,
        });
        copies.collect()
    }
}

impl<'m> Plans<'m> {
    pub(super) fn embedded(
        &self,
        relationship: &'m Relationship,
        decision: &'m Decision,
    ) -> Option<Script> {
        let parent = self.own(&relationship.parent)?;
        let naming = self.layout.naming;
        let is_it = |field: &&Planned| field.origin == Origin::Embedded(relationship.name.clone());
        let field = parent.fields.iter().find(is_it)?;
        let inside = Inside {
            relationship,
            parent_id: js::parameter(&naming.id_of(&relationship.parent)),
            element: js::parameter(&naming.singular(relationship.role())),
            addressed: field.fields.iter().any(|field| field.origin == Origin::Id),
            parent,
            field,
        };
        let page = decision.patterns.iter().find_map(|pattern| match pattern {
            Pattern::Outlier { page } => Some(*page),
            _ => None,
        });
        let (pattern, jobs, more) = match page {
            _ if field.kind == BsonType::Object => self.one_inside(&inside),
            Some(page) => self.pages(&inside, page)?,
            None => self.list_inside(&inside, decision),
        };
        let child = self.layout.model.entity(&relationship.child)?;
        let first = field.fields.iter().find(|f| f.origin == Origin::Own && f.values.is_empty());
        // Elements differ in one field.
        let sample = told_apart(self.sample(child, &field.fields, &[]), first);
        let mut check = vec![
            format!("const root = {};", self.made(parent)),
            format!("at.getCollection({}).insertOne(root);", quote(&parent.name)),
            format!("const one = {};", factory(&sample)),
        ];
        check.extend(more);
        Some(Script {
            about: relationship.name.clone(),
            pattern,
            intro: format!("`{}`: {}.", relationship.name, decision.ruling.how),
            jobs,
            check,
        })
    }

    fn one_inside(&self, inside: &Inside<'m>) -> (&'static str, Vec<Job>, Vec<String>) {
        let (r, parents, list) =
            (inside.relationship, &inside.parent.name, inside.field.name.as_str());
        let name = self.name("set", r, false);
        let parameters = vec![inside.parent_id.clone(), inside.element.clone()];
        let also = self.parent_update(r, Act::Adds, &parameters);
        let more = sent_along(also.as_ref());
        let set = joined(also.as_ref(), doc! { "$set": { list: inside.pushed() } });
        let (made_id, returned) = inside.made_id();
        let job = Job {
            name: name.clone(),
            parameters: with(parameters, also.as_ref()),
            does: format!(
                "Sets the `{}` of a `{}` document in one write.{}{}",
                r.role(),
                r.parent,
                inside.along(),
                also.as_ref().map_or("", |also| &also.words)
            ),
            clauses: vec!["PT-embed.1"],
            steps: asked(also.as_ref())
                .into_iter()
                .chain(made_id)
                .chain([
                    Step::Let("done", Statement::update(parents, by_id(&inside.parent_id), set)),
                    unless_matched(&r.parent),
                ])
                .chain(returned)
                .collect(),
        };
        let mut check = vec![
            format!("{name}(at, root._id, one(1){more});"),
            format!(
                "refused(\"no parent, nothing set\", null, () => {name}(at, new ObjectId(), one(1){more}));"
            ),
            now(parents),
            format!(
                "expect(\"it is part of the parent\", typeof {}, \"object\");",
                at("now", list)
            ),
        ];
        if also.is_some() {
            let call = |update: &str| format!("{name}(at, root._id, one(unique()), {update})");
            check.extend(self.parent_update_check(r, (inside.parent, list), 0, call));
        }
        ("embedded", vec![job], check)
    }

    fn list_inside(
        &self,
        inside: &Inside<'m>,
        decision: &'m Decision,
    ) -> (&'static str, Vec<Job>, Vec<String>) {
        let (r, parents, list) =
            (inside.relationship, &inside.parent.name, inside.field.name.as_str());
        let capped = decision.patterns.iter().find_map(|pattern| match pattern {
            Pattern::CappedArray { newest } => Some(*newest),
            _ => None,
        });
        let most = inside.field.items.map_or(999, |items| items.max);
        let mut filter = by_id(&inside.parent_id);
        // A unique index only compares different documents. Within this document, the filter
        // prevents duplicates.
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
        let pushed: Bson = match capped {
            Some(newest) => doc! { "$each": [inside.pushed()], "$slice": -(newest as i32) }.into(),
            None => inside.pushed(),
        };
        let add = self.name("add", r, false);
        let parameters = vec![inside.parent_id.clone(), inside.element.clone()];
        let also = self.parent_update(r, Act::Adds, &parameters);
        let more = sent_along(also.as_ref());
        let update = joined(also.as_ref(), doc! { "$push": { list: pushed } });
        let (pattern, mut does, clauses) = match capped {
            Some(newest) => (
                "capped-array",
                format!(
                    "Appends one element and keeps the newest {newest}; the same write removes \
                     older ones."
                ),
                vec!["PT-slice.1", "SN-06", "DM-08.4"],
            ),
            None => (
                "embedded",
                format!("Appends one element; fails if `{list}` has {most}, its limit."),
                vec!["PT-embed.1", "DM-08.2"],
            ),
        };
        does.push_str(&inside.along());
        does.push_str(also.as_ref().map_or("", |also| &also.words));
        // The error lists the reasons why the filter may match nothing.
        let mut what = r.parent.clone();
        if capped.is_none() {
            what.push_str(", or it is full");
        }
        if !unique.is_empty() {
            what.push_str(&format!(", or it has this {} already", unique.join(" or ")));
        }
        let (made_id, returned) = inside.made_id();
        let mut jobs = vec![Job {
            name: add.clone(),
            parameters: with(parameters, also.as_ref()),
            does,
            clauses,
            steps: asked(also.as_ref())
                .into_iter()
                .chain(made_id)
                .chain([
                    Step::Let("done", Statement::update(parents, filter, update)),
                    unless_matched(&what),
                ])
                .chain(returned)
                .collect(),
        }];
        let many = match capped {
            Some(newest) => newest + newest.div_ceil(2),
            None => most.min(20),
        };
        // The function puts the id last, so the check does too.
        let sent = if inside.addressed { "{ ...one(i), _id: new ObjectId() }" } else { "one(i)" };
        let read = at("now", list);
        let mut check = vec![
            "const sent = [];".to_owned(),
            format!(
                "for (let i = 0; i < {many}; i++) {{\n  sent.push({sent});\n  {add}(at, root._id, sent[i]{more});\n}}"
            ),
            now(parents),
        ];
        match capped {
            Some(newest) => check.push(format!(
                "expect(\"{many} pushes leave the newest {newest}, in order (SN-06)\", plain({read}), plain(sent.slice(-{newest})));"
            )),
            None => {
                check.push(format!(
                    "expect(\"all are there, in order\", plain({read}), plain(sent));"
                ));
                if most <= 20 {
                    check.push(format!(
                        "refused(\"the list has a limit (DM-08.2)\", null, () => {add}(at, root._id, one({most}){more}));"
                    ));
                }
            }
        }
        if !unique.is_empty() {
            let again = format!("{add}(at, root._id, sent[sent.length - 1]{more})");
            check.push(format!("refused(\"not twice in one document\", null, () => {again});"));
            check.push(format!("const second = {};", self.made(inside.parent)));
            check.push(format!("at.getCollection({}).insertOne(second);", quote(parents)));
            let elsewhere = format!("{add}(at, second._id, sent[sent.length - 1]{more})");
            // Several parents may have copies of a shared child, so only others must be unique.
            if !r.is_shared() {
                check.push(format!("refused(\"nor in two\", 11000, () => {elsewhere});"));
            }
        }
        if inside.addressed {
            let (more_jobs, more) = self.one_by_one(inside);
            jobs.extend(more_jobs);
            check.extend(more);
        }
        if also.is_some() {
            let call = |update: &str| format!("{add}(at, root._id, one(unique()), {update})");
            check.extend(self.parent_update_check(r, (inside.parent, list), 1, call));
        }
        (pattern, jobs, check)
    }

    /// Returns functions that change and remove one element by its id.
    fn one_by_one(&self, inside: &Inside<'m>) -> (Vec<Job>, Vec<String>) {
        let (r, list) = (inside.relationship, inside.field.name.as_str());
        let id = js::parameter(&self.layout.naming.id_of(r.role()));
        let mut filter = by_id(&inside.parent_id);
        filter.insert(format!("{list}._id"), given(&id));
        let (change, remove) = (self.name("change", r, false), self.name("remove", r, false));
        let ids = vec![inside.parent_id.clone(), id.clone()];
        let with_changes: Vec<String> = ids.iter().cloned().chain(["changes".to_owned()]).collect();
        let paths = format!(
            "Object.fromEntries(Object.entries(changes).map(([name, value]) => [{} + name, value]))",
            quote(&format!("{list}.$[one]."))
        );
        let set = doc! { "$set": given(paths) };
        let by = doc! { "arrayFilters": [{ "one._id": given(&id) }] };
        let pull = doc! { "$pull": { list: { "_id": given(&id) } } };
        let job = |act: Act,
                   (name, parameters, does): (&str, Vec<String>, &str),
                   (update, options): (Document, Option<Document>),
                   first: Vec<Step>| {
            let also = self.parent_update(r, act, &parameters);
            let update = joined(also.as_ref(), update);
            let arguments = [Bson::from(filter.clone()), update].into_iter();
            let arguments = arguments.chain(options.map(Bson::from));
            let statement = Statement::new(&inside.parent.name, Method::UpdateOne, arguments);
            let steps = asked(also.as_ref()).into_iter().chain(first).chain([
                Step::Let("done", statement),
                Step::Code("return done.matchedCount === 1;".to_owned()),
            ]);
            let made = Job {
                name: name.to_owned(),
                parameters: with(parameters, also.as_ref()),
                does: format!("{does}{}", also.as_ref().map_or("", |also| &also.words)),
                clauses: vec!["PT-embed.1"],
                steps: steps.collect(),
            };
            (made, sent_along(also.as_ref()))
        };
        let does = "Changes fields of one element; returns false if it does not exist.";
        let changes = (change.as_str(), with_changes, does);
        let (changing, also) = job(Act::Changes, changes, (set, Some(by)), self.unique_stay(r));
        let does = "Removes one element; returns false if it does not exist.";
        let (removing, alone) = job(Act::Removes, (&remove, ids, does), (pull, None), Vec::new());
        let mut check = vec!["const last = sent[sent.length - 1];".to_owned()];
        if let Some((name, value)) = self.changeable(r) {
            let changes = js::object(&doc! { name: given(value) }, 2);
            check.push(format!(
                "{{\n  const i = 3;\n  const changes = {changes};\n  expect(\"it is changed\", {change}(at, root._id, last._id, changes{also}), true);\n}}"
            ));
        }
        let removed = format!("{remove}(at, root._id, last._id{alone})");
        check.push(format!("expect(\"it is removed\", {removed}, true);"));
        check.push(format!("expect(\"and not twice\", {removed}, false);"));
        (vec![changing, removing], check)
    }

    /// Returns steps that refuse changes of unique fields, because nothing would check other
    /// elements for duplicates.
    fn unique_stay(&self, relationship: &Relationship) -> Vec<Step> {
        let nothing =
            "if (Object.keys(changes).length === 0) throw new Error(\"nothing to change\");";
        let mut steps = vec![Step::Code(nothing.to_owned())];
        steps.extend(self.unique_in(relationship).into_iter().map(|field| {
            let why = format!("{field} is unique: remove the element and add another");
            let changed = member_of("changes", field);
            Step::Code(format!("if ({changed} !== undefined) throw new Error({});", quote(&why)))
        }));
        steps
    }

    /// Returns a field that a check can change, and an expression for its value.
    fn changeable(&self, relationship: &Relationship) -> Option<(&'m str, String)> {
        let child = self.layout.model.entity(&relationship.child)?;
        let is_plain = |field: &&EntityField| {
            let single = matches!(field.kind, BsonType::String | BsonType::Date | BsonType::Bool);
            field.values.is_empty() && !field.unique && (is_number(field.kind) || single)
        };
        let field = child.fields.iter().find(is_plain)?;
        Some((field.name.as_str(), vary(&own(field), false, 0)))
    }

    /// Returns the unique fields of the children.
    pub(super) fn unique_in(&self, relationship: &Relationship) -> Vec<&'m str> {
        let child = self.layout.model.entity(&relationship.child);
        let fields = child.into_iter().flat_map(|child| &child.fields);
        fields
            .filter(|field| field.unique && field.required)
            .map(|field| field.name.as_str())
            .collect()
    }
}

/// Returns a sample whose first field differs between elements.
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
