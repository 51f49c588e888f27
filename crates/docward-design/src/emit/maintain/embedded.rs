//! Children that are embedded in their parent (PT-embed.1): a single object, a bounded list, or the
//! newest N (PT-slice.1).

use bson::{Bson, Document, doc};
use docward_model::{BsonType, EntityField, Relationship, shell::quote};

use super::plans::{Plans, at, by_id, factory, vary};
use super::transaction::{Act, BothCall, ParentUpdate};
use crate::decide::decision::Decision;
use crate::declared::field_plan::{Origin, Planned, is_number, own};
use crate::emit::expectations::{Check, root_in};
use crate::emit::js::{self, SPREAD, given, member_of};
use crate::emit::statement::{Job, Script, Statement, Step};
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

/// The pattern of a script, its functions, and their check.
pub(super) type Parts = (&'static str, Vec<Job>, Check);

impl Inside<'_> {
    /// Returns the element to append: the argument of the function, with an id if elements have
    /// one.
    pub(super) fn pushed(&self) -> Bson {
        match self.addressed {
            true => doc! { SPREAD: given(&self.element), "_id": given("_id") }.into(),
            false => given(&self.element),
        }
    }

    /// Returns the steps of a function that writes one element.
    fn steps(&self, write: Statement, missing: &str) -> Vec<Step> {
        let id = format!("const _id = {}._id ?? new ObjectId();", self.element);
        let steps = [
            self.addressed.then(|| Step::code(id)),
            Some(Step::Let("done", write)),
            Some(Step::unless_matched(missing)),
            self.addressed.then(|| Step::code("return _id;")),
        ];
        steps.into_iter().flatten().collect()
    }

    /// Returns a note about copies next to references in an element. The caller passes them with
    /// the element.
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
        let (pattern, jobs, more) = match decision.page() {
            _ if field.kind == BsonType::Object => self.one_inside(&inside),
            Some(page) => self.pages(&inside, page)?,
            None => self.list_inside(&inside, decision),
        };
        let child = self.layout.model.entity(&relationship.child)?;
        let first = field.fields.iter().find(|f| f.origin == Origin::Own && f.values.is_empty());
        // Elements differ in one field.
        let sample = told_apart(self.sample(child, &field.fields, &[]), first);
        let mut check = Check::default();
        check.insert("root", &parent.name);
        check.set("one", factory(&sample));
        check.extend(more);
        Some(Script {
            about: relationship.name.clone(),
            pattern,
            intro: format!("`{}`: {}.", relationship.name, decision.ruling.how),
            jobs,
            check,
        })
    }

    fn one_inside(&self, inside: &Inside<'m>) -> Parts {
        let (r, parents, list) =
            (inside.relationship, &inside.parent.name, inside.field.name.as_str());
        let name = self.name("set", r, false);
        let parameters = [inside.parent_id.as_str(), &inside.element];
        let also = self.parent_update(r, Act::Adds, &parameters);
        let set = also.joined(doc! { "$set": { list: inside.pushed() } });
        let write = Statement::update(parents, by_id(&inside.parent_id), set);
        let does = format!(
            "Sets the `{}` of one `{}` in one write.{}",
            r.role(),
            r.parent,
            inside.along()
        );
        let job = Job::new(&name, &parameters, does, inside.steps(write, &r.parent));
        let call = |id: &str, one: &str, more: &str| format!("{name}(at, {id}, {one}{more})");
        let mut check = Check::default();
        check.run(call("root._id", "one(1)", also.nothing()) + ";");
        let unknown_parent = call("new ObjectId()", "one(1)", also.nothing());
        check.fails("a missing parent is refused", unknown_parent);
        let read = at(&root_in(parents), list);
        check.expect("it is part of the parent", format!("typeof {read}"), "\"object\"");
        check.extend(self.together_check(inside, &also, 0, &name));
        ("embedded", vec![also.added_to(job.by(&["PT-embed.1"]))], check)
    }

    fn list_inside(&self, inside: &Inside<'m>, decision: &'m Decision) -> Parts {
        let (r, parents, list) =
            (inside.relationship, &inside.parent.name, inside.field.name.as_str());
        let capped = decision.newest();
        let most = inside.field.items.map_or(999, |items| items.max);
        let mut filter = by_id(&inside.parent_id);
        // The error lists the reasons why the filter may match nothing.
        let mut missing = r.parent.clone();
        let (pattern, pushed, does, clauses): (_, Bson, _, &[&str]) = match capped {
            Some(newest) => (
                "capped-array",
                doc! { "$each": [inside.pushed()], "$slice": -(newest as i32) }.into(),
                format!(
                    "Appends one element and keeps the newest {newest}; the same write removes \
                     older ones."
                ),
                &["PT-slice.1", "SN-06", "DM-08.4"],
            ),
            None => {
                let last = format!("{list}.{}", most.saturating_sub(1));
                filter.insert(last, doc! { "$exists": false });
                missing.push_str(", or it is full");
                (
                    "embedded",
                    inside.pushed(),
                    format!("Appends one element; fails if `{list}` has {most}, its limit."),
                    &["PT-embed.1", "DM-08.2"],
                )
            }
        };
        // A unique index only compares different documents. Within this document, the filter
        // prevents duplicates.
        let unique: Vec<&str> = self.unique_in(r);
        for field in &unique {
            let value = given(member_of(&inside.element, field));
            filter.insert(format!("{list}.{field}"), doc! { "$ne": value });
        }
        if !unique.is_empty() {
            missing.push_str(&format!(", or it has this {} already", unique.join(" or ")));
        }
        let add = self.name("add", r, false);
        let parameters = [inside.parent_id.as_str(), &inside.element];
        let also = self.parent_update(r, Act::Adds, &parameters);
        let update = also.joined(doc! { "$push": { list: pushed } });
        let write = Statement::update(parents, filter, update);
        let job =
            Job::new(&add, &parameters, does + &inside.along(), inside.steps(write, &missing));
        let mut jobs = vec![also.added_to(job.by(clauses))];
        let many = match capped {
            Some(newest) => newest + newest.div_ceil(2),
            None => most.min(20),
        };
        // The function puts the id last, and so does the check.
        let sent = if inside.addressed { "{ ...one(i), _id: new ObjectId() }" } else { "one(i)" };
        let more = also.nothing();
        let read = format!("plain({})", at(&root_in(parents), list));
        let mut check = Check::default();
        check.set("sent", "[]");
        check.run(format!(
            "for (let i = 0; i < {many}; i++) {{\n  sent.push({sent});\n  {add}(at, root._id, sent[i]{more});\n}}"
        ));
        match capped {
            Some(newest) => check.expect(
                &format!("{many} pushes leave the newest {newest}, in order (SN-06)"),
                read,
                format!("plain(sent.slice(-{newest}))"),
            ),
            None => {
                check.expect("all are there, in order", read, "plain(sent)");
                if most <= 20 {
                    let full = format!("{add}(at, root._id, one({most}){more})");
                    check.fails("the list has a limit (DM-08.2)", full);
                }
            }
        }
        if !unique.is_empty() {
            let again = |id: &str| format!("{add}(at, {id}, sent[sent.length - 1]{more})");
            check.fails("not twice in one document", again("root._id"));
            // Several parents may have copies of a shared child, so only others must be unique.
            if !r.is_shared() {
                check.insert("second", parents);
                check.refused("nor in two", 11000, again("second._id"));
            }
        }
        if inside.addressed {
            let (more_jobs, more) = self.one_by_one(inside);
            jobs.extend(more_jobs);
            check.extend(more);
        }
        check.extend(self.together_check(inside, &also, 1, &add));
        (pattern, jobs, check)
    }

    /// Returns functions that change and remove one element by its id.
    fn one_by_one(&self, inside: &Inside<'m>) -> (Vec<Job>, Check) {
        let (r, list) = (inside.relationship, inside.field.name.as_str());
        let id = js::parameter(&self.layout.naming.id_of(r.role()));
        let (change, remove) = (self.name("change", r, false), self.name("remove", r, false));
        let parameters = [inside.parent_id.as_str(), &id, "changes"];
        let mut filter = by_id(&inside.parent_id);
        filter.insert(format!("{list}._id"), given(&id));
        let done = |also: &ParentUpdate, update: Document| {
            Statement::update(&inside.parent.name, filter.clone(), also.joined(update))
        };
        let matched = || Step::code("return done.matchedCount === 1;");
        let changing = self.parent_update(r, Act::Changes, &parameters);
        let paths = format!(
            "Object.fromEntries(Object.entries(changes).map(([name, value]) => [{} + name, value]))",
            quote(&format!("{list}.$[one]."))
        );
        let set = done(&changing, doc! { "$set": given(paths) })
            .with(doc! { "arrayFilters": [{ "one._id": given(&id) }] });
        let mut steps =
            vec![Step::fail_if("Object.keys(changes).length === 0", "nothing to change")];
        // The update checks no other elements for duplicates, so a unique field cannot be changed.
        steps.extend(self.unique_in(r).into_iter().map(|field| {
            Step::fail_if(
                format!("{} !== undefined", member_of("changes", field)),
                format!("{field} is unique: remove the element and add another"),
            )
        }));
        steps.extend([Step::Let("done", set), matched()]);
        let does = "Changes fields of one element; returns false if it does not exist.";
        let change_job = Job::new(&change, &parameters, does, steps).by(&["PT-embed.1"]);
        let removing = self.parent_update(r, Act::Removes, &parameters[..2]);
        let pull = done(&removing, doc! { "$pull": { list: { "_id": given(&id) } } });
        let does = "Removes one element; returns false if it does not exist.";
        let steps = [Step::Let("done", pull), matched()];
        let remove_job = Job::new(&remove, &parameters[..2], does, steps).by(&["PT-embed.1"]);
        let mut check = Check::default();
        check.set("last", "sent[sent.length - 1]");
        if let Some((name, value)) = self.changeable(r) {
            check.set(
                "changes",
                format!("((i) => ({}))(3)", js::object(&doc! { name: given(value) }, 0)),
            );
            let call = format!("{change}(at, root._id, last._id, changes{})", changing.nothing());
            check.expect("it is changed", call, true);
        }
        let removed = format!("{remove}(at, root._id, last._id{})", removing.nothing());
        check.expect("it is removed", &removed, true);
        check.expect("and not twice", removed, false);
        (vec![changing.added_to(change_job), removing.added_to(remove_job)], check)
    }

    /// Returns lines of a check: parent and list change in one write, and an error undoes both.
    fn together_check(
        &self,
        inside: &Inside<'m>,
        also: &ParentUpdate,
        by: i32,
        function: &str,
    ) -> Check {
        let mut check = Check::default();
        if !also.exists() {
            return check;
        }
        let parents = &inside.parent.name;
        let list = at(&root_in(parents), &inside.field.name);
        let call = |update: &str| format!("{function}(at, root._id, one(unique()), {update})");
        let mut lines = Check::default();
        lines.insert("root", parents);
        if by == 0 {
            // The first call adds the child, further calls replace it.
            lines.run(call("{}") + ";");
        }
        let count = format!("[{list} ?? []].flat().length");
        let one = BothCall { with: "one write", call: &call, count: &count, by };
        lines.extend(self.both_check(inside.relationship, inside.parent, &one));
        check.block("{", lines);
        check
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
