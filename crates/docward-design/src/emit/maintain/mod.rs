//! What keeps the patterns of a design true: for each relationship and entity the functions that the
//! application calls, and the lines that check them in a scratch database.

mod archive;
mod atomic_parent_update;
mod bucket_corrections;
mod child_refs;
mod elements;
mod embedded;
mod entity;
mod extended;
mod find_elements;
mod many_to_many;
mod nested;
mod outlier;
mod parent_summary;
mod series;
mod summary;
mod transaction;
mod tree;

use bson::{Bson, Document, doc};
use child_refs::at;
use docward_model::shell::quote;
use docward_model::{BsonType, DesignModel, Entity, ProfileName, Relationship};

use crate::decide::decision::Decision;
use crate::decide::pattern::Pattern;
use crate::declared::access::is_tree;
use crate::declared::field_plan::{Origin, Planned};
use crate::declared::naming::Naming;
use crate::emit::example::Maker;
use crate::emit::js::{self, given};
use crate::emit::statement::{Method, Script, Statement, Step, is_value};
use crate::layout::collection::{CollectionPlan, Purpose};
use crate::layout::fields::Layout;
use crate::layout::plan::Design;

/// The scripts of a design, in the order of its relationships and entities.
pub fn scripts(model: &DesignModel, design: &Design, profile: ProfileName) -> Vec<Script> {
    let plans = Plans::new(model, design, profile);
    let mut found: Vec<Script> = Vec::new();
    for decision in &design.decisions {
        let Some(relationship) = model.relationship(&decision.relationship) else { continue };
        found.extend(plans.of_relationship(relationship, decision));
    }
    for advice in &design.entities {
        let Some(entity) = model.entity(&advice.entity) else { continue };
        for pattern in &advice.patterns {
            found.extend(plans.of_entity(entity, pattern));
        }
    }
    for script in &mut found {
        let names: Vec<String> = script.jobs.iter().map(|job| job.name.clone()).collect();
        for job in &mut script.jobs {
            plans.keyed_steps(&mut job.steps);
            // Whoever reads this one should know of the other.
            let both = format!("{}InTransaction", job.name);
            if names.contains(&both) {
                job.does.push_str(&format!(
                    " By itself it leaves the rest of the parent as it is: `{both}` changes both."
                ));
            }
        }
    }
    found
}

/// A design with what is needed to speak of its parts.
pub(crate) struct Plans<'m> {
    pub(crate) layout: Layout<'m>,
    pub(crate) design: &'m Design,
}

/// Where documents of an entity are: a collection, an object in its documents, or elements of a list there.
pub(crate) struct Place<'m> {
    pub(crate) collection: &'m CollectionPlan,
    /// `profile.` in front of the entity's fields; `options.$.` for the element that a filter by its id finds;
    /// empty for its own collection.
    pub(crate) path: String,
    /// The entity's fields.
    pub(crate) fields: &'m [Planned],
}

impl Place<'_> {
    /// The path of the id that names one of the entity: its own, also inside of another document; where it has
    /// none there, that of the document.
    pub(crate) fn key(&self) -> String {
        self.id().replace(".$.", ".")
    }

    /// The same path, for an update or for whoever reads a document that was found by it.
    fn id(&self) -> String {
        let has_id = self.fields.iter().any(|field| field.origin == Origin::Id);
        if has_id { format!("{}_id", self.path) } else { "_id".to_owned() }
    }

    /// The id of the one in a document; of a list it is the first.
    pub(crate) fn id_in(&self, document: &str) -> String {
        at(document, &self.id())
    }

    /// The list that it is an element of.
    pub(crate) fn list(&self) -> Option<&str> {
        self.path.strip_suffix(".$.")
    }

    /// Changes the one of an id.
    pub(crate) fn update(&self, id: &str, update: impl Into<Bson>) -> Statement {
        let update = match (self.list(), update.into()) {
            (Some(list), Bson::Array(stages)) => elements::of_one(list, id, stages),
            (_, update) => update,
        };
        // Servers before 7.0 find the shard of an `updateOne` by its key or by `_id`, and by nothing else.
        let is_found = self.collection.shard.is_none() || self.key() == "_id";
        let method = if is_found { Method::UpdateOne } else { Method::UpdateMany };
        Statement::new(&self.collection.name, method, [self.by(id).into(), update])
    }

    /// A filter for the one of an id.
    pub(crate) fn by(&self, id: impl Into<String>) -> Document {
        doc! { self.key(): given(id) }
    }
}

impl<'m> Plans<'m> {
    pub(crate) fn new(model: &'m DesignModel, design: &'m Design, profile: ProfileName) -> Self {
        let layout = Layout {
            model,
            decisions: &design.decisions,
            advice: &design.entities,
            naming: Naming::of(model, profile),
        };
        Self { layout, design }
    }

    /// The shard key of a collection that a server would look for in filters: those before 7.1 do.
    pub(crate) fn key_of(&self, collection: &str) -> &'m [(String, bool)] {
        let found = self.design.collections.iter().find(|c| c.name == collection);
        let is_asked = self.layout.model.deployment.server < (7, 1);
        let plan = found.and_then(|c| c.shard.as_ref()).filter(|_| is_asked);
        plan.map_or(&[], |plan| plan.key.fields.as_slice())
    }

    /// Lets statements find their document on a sharded cluster, or says where one does not.
    fn keyed_steps(&self, steps: &mut Vec<Step>) {
        for mut step in std::mem::take(steps) {
            match &mut step {
                Step::Run(statement) | Step::Let(_, statement) | Step::Return(statement) => {
                    let key = self.key_of(&statement.collection);
                    statement.look_up(key);
                    let lacks = |(field, _): &&(String, bool)| {
                        !is_value(statement.filter().and_then(|filter| filter.get(field)))
                    };
                    if statement.is_upsert() && key.iter().any(|field| lacks(&field)) {
                        let names: Vec<&str> = key.iter().map(|(name, _)| name.as_str()).collect();
                        steps.push(Step::Note(format!(
                            "`{}` is sharded by {}, and a server before 7.1 takes an upsert only with all of it in the filter: there, find the document first, and insert where there is none.",
                            statement.collection,
                            docward_model::text::list(&names, 5)
                        )));
                    }
                }
                Step::Retry(inner) | Step::Inside(inner) => self.keyed_steps(inner),
                Step::Note(_) | Step::Code(_) => {}
            }
            steps.push(step);
        }
    }

    /// The collection of an entity's own documents.
    pub(crate) fn home(&self, entity: &str) -> Option<&'m CollectionPlan> {
        self.design.collections.iter().find(|collection| {
            collection.entity == entity
                && matches!(
                    collection.purpose,
                    Purpose::Entity | Purpose::TimeSeries { .. } | Purpose::Bucket(_)
                )
        })
    }

    /// Where an entity's documents are; `None` inside lists, which one filter cannot name.
    pub(crate) fn place(&self, entity: &str) -> Option<Place<'m>> {
        if let Some(collection) = self.home(entity) {
            return matches!(collection.purpose, Purpose::Entity).then_some(Place {
                collection,
                path: String::new(),
                fields: &collection.fields,
            });
        }
        self.design.collections.iter().filter(|c| c.purpose == Purpose::Entity).find_map(
            |collection| {
                let (path, fields) = self.inside(&collection.fields, entity, 0)?;
                Some(Place { collection, path, fields })
            },
        )
    }

    /// The same, or the list that has them, where one filter finds an element by its id.
    pub(crate) fn place_or_element(&self, entity: &str) -> Option<Place<'m>> {
        self.place(entity).or_else(|| self.element(entity))
    }

    fn inside(
        &self,
        fields: &'m [Planned],
        entity: &str,
        depth: usize,
    ) -> Option<(String, &'m [Planned])> {
        if depth > 4 {
            return None;
        }
        fields.iter().filter(|field| field.kind == BsonType::Object).find_map(|field| {
            let Origin::Embedded(name) = &field.origin else { return None };
            if self.layout.model.relationship(name)?.child == entity {
                return Some((format!("{}.", field.name), field.fields.as_slice()));
            }
            let (path, fields) = self.inside(&field.fields, entity, depth + 1)?;
            Some((format!("{}.{path}", field.name), fields))
        })
    }

    fn of_relationship(
        &self,
        relationship: &'m Relationship,
        decision: &'m Decision,
    ) -> Option<Script> {
        match decision.patterns.first()? {
            Pattern::Tree => self.tree(relationship),
            Pattern::Embedded => self
                .embedded(relationship, decision)
                .or_else(|| self.list_in_list(relationship, decision)),
            Pattern::ParentInChild => self
                .owned(relationship, decision)
                .or_else(|| self.copies_in_lists(relationship, decision)),
            Pattern::ChildrenInParent | Pattern::ParentsInChild | Pattern::Junction => self
                .linked(relationship, decision)
                .or_else(|| self.copies_in_lists(relationship, decision)),
            _ => None,
        }
    }

    /// Whether another relationship calls its children the same, so that names need the parent. Those of a
    /// tree are called like their entity.
    fn is_ambiguous(&self, relationship: &Relationship) -> bool {
        let one = self.layout.naming.singular(relationship.role());
        self.layout.model.relationships.iter().any(|other| {
            let called = if is_tree(other) { &other.child } else { other.role() };
            other.name != relationship.name && self.layout.naming.singular(called) == one
        })
    }

    /// `addComment`, or `addPostComment` where several parents have comments.
    pub(crate) fn name(&self, verb: &str, relationship: &Relationship, many: bool) -> String {
        let role = if many {
            relationship.role().to_owned()
        } else {
            self.layout.naming.singular(relationship.role())
        };
        if self.is_ambiguous(relationship) {
            js::function(&[verb, &relationship.parent, &role])
        } else {
            js::function(&[verb, &role])
        }
    }

    pub(crate) fn maker(&self, fresh: bool) -> Maker<'m> {
        Maker { model: self.layout.model, fresh }
    }

    /// An expression that makes a new document of a collection, in checks.
    pub(crate) fn made(&self, collection: &CollectionPlan) -> String {
        format!("make[{}]()", quote(&collection.name))
    }

    /// A child as an application sends it, for a check: with copies beside its references, which functions
    /// that fetch them take out again.
    pub(crate) fn sample(
        &self,
        child: &'m Entity,
        fields: &[Planned],
        varied: &[&str],
    ) -> Document {
        let without: Vec<Planned> =
            fields.iter().filter(|field| field.origin != Origin::Id).cloned().collect();
        let mut made = self.maker(true).object(&without, Some(child), &child.name, 0);
        self.differing(&mut made, &without, Some(child));
        let day = crate::emit::example::day(self.layout.model);
        for field in &without {
            let place = self.place(&child.name);
            let unique = child.field(&field.name).is_some_and(|f| f.unique)
                || place.is_some_and(|place| {
                    is_one_of_each(place.collection, &format!("{}{}", place.path, field.name))
                });
            // A list of ids begins empty, and of those there may be many.
            let is_fixed = field.kind == BsonType::Array || !field.values.is_empty();
            if is_fixed || !(unique || varied.contains(&field.name.as_str())) {
                continue;
            }
            made.insert(field.name.clone(), given(vary(field, unique, day)));
        }
        made
    }
}

/// Whether a unique index says that no two documents have the same in a field.
pub(crate) fn is_one_of_each(collection: &CollectionPlan, field: &str) -> bool {
    let alone = |keys: &[(String, bool)]| matches!(keys, [(key, _)] if key == field);
    collection.indexes.iter().any(|index| index.unique && alone(&index.keys))
}

/// Whether a check can give a field another value.
pub(crate) fn varies(field: &Planned) -> bool {
    matches!(
        field.kind,
        BsonType::Date
            | BsonType::Int
            | BsonType::Long
            | BsonType::Double
            | BsonType::Decimal
            | BsonType::String
    )
}

/// An expression over `i` that differs from call to call; what must be unique does so for good.
pub(crate) fn vary(field: &Planned, unique: bool, day: i64) -> String {
    let number = if unique { "unique()" } else { "i" };
    match field.kind {
        BsonType::Date => format!("new Date({day} + {number} * 60000)"),
        BsonType::ObjectId => "new ObjectId()".to_owned(),
        BsonType::Int | BsonType::Long if unique => number.to_owned(),
        BsonType::Int | BsonType::Long => format!("1 + ({number} % 5)"),
        BsonType::Double => format!("1.5 + ({number} % 5)"),
        BsonType::Decimal => format!("NumberDecimal(`${{1 + ({number} % 5)}}.25`)"),
        BsonType::String => {
            format!("{} + String({number}).padStart(6, \"0\")", quote(&format!("{} ", field.name)))
        }
        _ => "true".to_owned(),
    }
}

/// A document that is still as it was read, whoever writes meanwhile.
pub(crate) fn unchanged(id: &str, read: &str) -> Document {
    doc! {
        "_id": given(id),
        // 4.4 does not take `$eq` here.
        "$expr": { "$in": ["$$ROOT", [{ "$literal": given(read) }]] },
    }
}

/// Refuses when nothing was matched.
pub(crate) fn unless_matched(what: &str) -> Step {
    Step::Code(format!(
        "if (done.matchedCount === 0) throw new Error({});",
        quote(&format!("there is no such {what}"))
    ))
}

/// `pick(comment, ["text", "createTime"])`.
pub(crate) fn picked(from: &str, fields: &[&str]) -> String {
    let list: Vec<String> = fields.iter().map(|field| quote(field)).collect();
    format!("pick({from}, [{}])", list.join(", "))
}

/// A factory for checks: `(i) => ({ … })`.
pub(crate) fn factory(document: &Document) -> String {
    format!("(i) => ({})", js::object(document, 2))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::decide::facts::Bounds;
    use crate::emit::statement::Job;

    const MODELS: [&str; 7] = [
        include_str!("../../../tests/models/all.yaml"),
        include_str!("../../../tests/models/elements.yaml"),
        include_str!("../../../tests/models/kept.yaml"),
        include_str!("../../../tests/models/lists.yaml"),
        include_str!("../../../tests/models/more.yaml"),
        include_str!("../../../tests/models/referenced.yaml"),
        include_str!("../../../tests/models/together.yaml"),
    ];

    fn jobs(text: &str) -> Vec<Job> {
        let model = crate::read("m.yaml", text).unwrap_or_else(|faults| panic!("{faults:#?}"));
        let design = crate::design(&model, ProfileName::Vendor, &Bounds::default());
        let scripts = scripts(&model, &design, ProfileName::Vendor);
        scripts.into_iter().flat_map(|script| script.jobs).collect()
    }

    /// Code without comments and texts.
    fn code(job: &Job) -> String {
        let text = job.shell();
        let lines = text.lines().filter(|line| {
            let line = line.trim_start();
            !["//", "/*", "*"].iter().any(|sign| line.starts_with(sign))
        });
        let parts = lines.map(|line| line.split('"').step_by(2).collect::<Vec<_>>().join("\"\""));
        parts.collect::<Vec<_>>().join("\n")
    }

    fn is_name(c: char) -> bool {
        c.is_alphanumeric() || c == '_'
    }

    /// The names in the pattern that begins here: `_id`, `{ _id }`, `(all, one)`.
    fn names(text: &str) -> impl Iterator<Item = &str> {
        let text = text.trim_start();
        let end = match text.chars().next() {
            Some('{') => text.find('}'),
            Some('(') => text.find(')'),
            _ => text.find(|c| !is_name(c)),
        };
        let names = text[..end.unwrap_or(text.len())].split(|c| !is_name(c));
        names.filter(|name| !name.is_empty())
    }

    /// Names that a function gives to something on its way.
    fn declared(code: &str) -> BTreeSet<&str> {
        let mut found = BTreeSet::new();
        for word in ["const ", "let ", "catch "] {
            found.extend(code.split(word).skip(1).flat_map(names));
        }
        for (end, _) in code.match_indices(" =>") {
            let before = &code[..end];
            let begin = match before.ends_with(')') {
                true => before.rfind('('),
                false => before.rfind(|c| !is_name(c)).map(|at| at + 1),
            };
            found.extend(names(&before[begin.unwrap_or(0)..]));
        }
        found
    }

    /// Names that are called as they are, not as a part of something.
    fn called(code: &str) -> BTreeSet<&str> {
        let calls = code.match_indices('(').map(|(at, _)| {
            let before = &code[..at];
            let begin = before.rfind(|c: char| !is_name(c) && c != '.').map_or(0, |at| at + 1);
            &before[begin..]
        });
        calls.filter(|name| !name.is_empty() && !name.contains('.')).collect()
    }

    #[test]
    fn no_parameter_hides_behind_a_name_of_the_functions_own() {
        let (mut all, mut help) = (BTreeSet::new(), BTreeSet::new());
        for job in MODELS.into_iter().flat_map(jobs) {
            let code = code(&job);
            let (_, body) = code.split_once('\n').unwrap_or_default();
            all.extend(declared(body).into_iter().map(str::to_owned));
            help.extend(called(body).into_iter().map(str::to_owned));
        }
        assert!(all.len() > 30 && help.contains("pick"), "{all:?} {help:?}");
        // Functions that call each other are called like nothing else.
        help.retain(|name| !name.contains(char::is_uppercase));
        let free: Vec<&String> =
            all.iter().chain(&help).filter(|name| js::parameter(name) == **name).collect();
        assert!(free.is_empty(), "parameters may be called {free:?}");
    }

    #[test]
    fn children_are_called_like_anything_the_functions_use() {
        let model = |role: &str| {
            format!(
                "entities:
  host: {{count: 1k, lifecycle: {{growth: 10/year, kept: forever}}, fields: {{title: string}}}}
  kid: {{count: 90k, lifecycle: {{growth: 10k/year, kept: 3 years}}, fields: {{score: double}}}}
relationships:
  host.{role}: {{child: kid, children: {{p50: 10, p95: 40, p99: 90, max: 4k}}, growth: bounded}}
reads:
  r: {{from: host, where: [_id], with: {{host.{role}: all}}, rate: 300/s}}
writes:
  a: {{insert: kid, update: host, rate: 1/min, atomic: true}}
"
            )
        };
        for role in ["attempts", "picks", "errors", "pages"] {
            for job in jobs(&model(role)) {
                let code = code(&job);
                let (_, body) = code.split_once('\n').unwrap_or_default();
                let (declared, called) = (declared(body), called(body));
                for parameter in &job.parameters {
                    let name = parameter.split(' ').next().unwrap_or_default();
                    let hidden = declared.contains(name) || called.contains(name);
                    assert!(!hidden, "{name} in {}", job.shell());
                }
            }
        }
    }
}
