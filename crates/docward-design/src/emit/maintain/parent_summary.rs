//! What parents keep of children that live elsewhere: it follows when a child changes, and is worked out
//! again from the children (PT-computed.1).

use bson::{Bson, Document, doc};
use docward_model::Relationship;
use docward_model::shell::{key, quote};

use crate::decide::decision::Decision;
use crate::decide::pattern::Pattern;
use crate::declared::field_plan::Origin;
use crate::emit::js::{self, SPREAD, given, member_of};
use crate::emit::statement::{Job, Method, Statement, Step};
use crate::layout::collection::Purpose;

use super::child_refs::{at, missing};
use super::many_to_many::serves;
use super::summary::Summary;
use super::transaction::{Act, Both};
use super::{Place, Plans, picked, unless_matched};

/// How the children of a parent are found, and the parents of a child.
pub(super) enum Members<'m> {
    /// They hold its id in a field.
    Holding(String),
    /// They list ids of their parents in a field.
    Listing(String),
    /// It lists their ids, in elements or in a field of each element.
    Listed(String, Option<&'m str>),
    /// A collection has pairs of ids: the parent's and the child's.
    Paired(&'m str, &'m str, &'m str),
}

/// A parent that keeps something of its children.
pub(super) struct Keeper<'m> {
    pub(super) relationship: &'m Relationship,
    parent: Place<'m>,
    children: &'m str,
    /// Where children go that are hardly read any more; parents keep figures of these too.
    archive: Option<&'m str>,
    members: Members<'m>,
    pub(super) summary: Summary<'m>,
}

impl<'m> Plans<'m> {
    /// What the parent of a relationship keeps of children that live elsewhere.
    pub(super) fn keeper(
        &self,
        relationship: &'m Relationship,
        decision: &'m Decision,
    ) -> Option<Keeper<'m>> {
        let parent = self.place_or_element(&relationship.parent)?;
        let child = self.place(&relationship.child).filter(|child| child.path.is_empty())?;
        let members = match decision.patterns.first()? {
            Pattern::ParentInChild => {
                Members::Holding(self.layout.naming.parent_field(relationship))
            }
            Pattern::ParentsInChild => {
                Members::Listing(self.list_of_ids(relationship, &child, true)?.name.clone())
            }
            Pattern::ChildrenInParent => {
                let list = self.list_of_ids(relationship, &parent, false)?;
                let key = list.fields.first().map(|first| first.name.as_str());
                Members::Listed(format!("{}{}", parent.path, list.name), key)
            }
            Pattern::Junction => {
                let is_it = Purpose::Junction(relationship.name.clone());
                let pairs = self.design.collections.iter().find(|c| c.purpose == is_it)?;
                let is_id = |f: &&crate::declared::field_plan::Planned| {
                    matches!(f.origin, Origin::Reference(_))
                };
                let mut ids = pairs.fields.iter().filter(is_id);
                Members::Paired(&pairs.name, &ids.next()?.name, &ids.next()?.name)
            }
            _ => return None,
        };
        let summary = self.summary(relationship, decision, &parent);
        let entity = self.layout.model.entity(&relationship.child)?;
        let archive = self.beside(entity, &Purpose::Archive).map(|archive| archive.name.as_str());
        let children = child.collection.name.as_str();
        Some(Keeper { relationship, parent, children, archive, members, summary })
            .filter(|keeper| !keeper.summary.is_empty())
    }

    /// Whether a declared write changes what a parent keeps: it sets such a field, or does not say what it
    /// sets.
    pub(super) fn is_changed(&self, child: &str, summary: &Summary<'_>) -> bool {
        let kept = |field: &str| {
            summary.sums.iter().any(|sum| sum.field == field)
                || summary.preview.iter().any(|(.., shown)| shown.contains(&field))
        };
        self.layout.model.writes.iter().any(|write| {
            let mut sets = write.sets.iter().filter(|(entity, _)| entity == child).peekable();
            if sets.peek().is_none() {
                return summary.needs_child() && write.updates.iter().any(|name| name == child);
            }
            sets.any(|(_, field)| kept(field))
        })
    }

    /// Whether a declared write deletes documents of an entity.
    pub(super) fn is_deleted(&self, entity: &str) -> bool {
        let mut writes = self.layout.model.writes.iter();
        writes.any(|write| write.deletes.iter().any(|name| name == entity))
    }

    /// The functions that keep what a parent has of its children right: one that changes a child, which is
    /// returned, also in a transaction where it must be, and one that works everything out again.
    pub(super) fn keeping(
        &self,
        keeper: Option<&Keeper<'m>>,
        decision: &'m Decision,
        (parent_id, child_id): (&str, &str),
        jobs: &mut Vec<Job>,
    ) -> Option<Job> {
        let keeper = keeper?;
        let change = self.changing(keeper, child_id);
        if let Some(change) = &change {
            jobs.push(change.clone());
            let found = [keeper.found(parent_id, child_id).shell(4)];
            let both = Both {
                parent: &keeper.parent,
                parent_id,
                keeps: true,
                act: Act::Changes,
                child: None,
                found: &found,
            };
            jobs.extend(self.together(keeper.relationship, decision, change, both));
        }
        jobs.push(self.rebuilding(keeper, parent_id));
        change
    }

    /// The function that changes a child along with what all its parents keep of it. Several relationships
    /// of a child share it: it stands with the first of them.
    pub(super) fn changing(&self, keeper: &Keeper<'m>, child_id: &str) -> Option<Job> {
        let r = keeper.relationship;
        let all: Vec<Keeper<'m>> = self
            .layout
            .linked()
            .filter(|(other, _)| other.child == r.child)
            .filter_map(|(other, decision)| self.keeper(other, decision))
            .filter(|other| self.is_changed(&r.child, &other.summary))
            .collect();
        if all.first()?.relationship.name != r.name {
            return None;
        }
        let parent_id = js::parameter(&self.layout.naming.id_of(&r.parent));
        let filter = keeper.one_of(&parent_id, child_id);
        let mut parameters = vec![child_id.to_owned(), "changes".to_owned()];
        if let Members::Holding(_) = &keeper.members {
            parameters.insert(0, parent_id);
        }
        let mut steps = self.begin_change(&r.child, keeper.children, filter);
        if all.iter().any(|keeper| !keeper.summary.sums.is_empty()) {
            steps.push(Step::Note(
                "What was there is taken off and what is there now put on, so that two changes at the same time lose nothing.".to_owned(),
            ));
            steps.push(Step::Code("const next = { ...found, ...changes };".to_owned()));
        }
        for keeper in &all {
            steps.extend(keeper.follow(child_id));
        }
        steps.push(Step::Code("return true;".to_owned()));
        let keepers: Vec<&str> = all.iter().map(|k| k.relationship.parent.as_str()).collect();
        let mut does = format!(
            "Changes one of `{}`, and what is kept of it in {}.",
            r.child,
            docward_model::text::list(&keepers, 3)
        );
        if let Some(archive) = keeper.archive {
            does.push_str(&format!(" What is in `{archive}` is not changed any more."));
        }
        if all.iter().any(|k| k.relationship.is_shared() && !k.summary.sums.is_empty()) {
            does.push_str(&format!(
                " A link that is made or taken away at the same moment may count the `{}` as it was before: `rebuild…` puts that right.",
                r.child
            ));
        }
        for keeper in &all {
            let Members::Listed(list, key) = &keeper.members else { continue };
            let path = key.map_or_else(|| list.clone(), |key| format!("{list}.{key}"));
            if !serves(&keeper.parent, &path) {
                does.push_str(&format!(
                    " It reads all of `{}` unless you create an index on `{path}`.",
                    keeper.parent.collection.name
                ));
            }
        }
        let mut clauses: Vec<&'static str> =
            all.iter().flat_map(|keeper| keeper.summary.clauses.iter().copied()).collect();
        clauses.sort_unstable();
        clauses.dedup();
        let name = self.name("change", r, false);
        Some(Job { name, parameters, does, clauses, steps })
    }

    /// Steps that give fields of one child other values, unless more follows from one of them.
    pub(super) fn begin_change(&self, child: &str, children: &str, filter: Document) -> Vec<Step> {
        let mut steps = vec![Step::Code(
            "if (Object.keys(changes).length === 0) throw new Error(\"nothing to change\");"
                .to_owned(),
        )];
        for held in self.ids_with_more(child) {
            steps.push(Step::Code(format!(
                "if ({} !== undefined) throw new Error({});",
                member_of("changes", &held),
                quote(&format!("{held} is not changed here: more follows from it"))
            )));
        }
        let change = doc! { "$set": given("changes") };
        let changed =
            Statement::new(children, Method::FindOneAndUpdate, [filter.into(), change.into()]);
        steps.push(Step::Let("found", changed));
        steps.push(Step::Code("if (found === null) return false;".to_owned()));
        steps
    }

    /// In a check: what a parent called `root` keeps of the children that the cursor `all` finds follows a change of
    /// `some`, and is the same when it is worked out again. `change` writes a call.
    pub(super) fn figures_check(
        &self,
        keeper: &Keeper<'m>,
        all: &str,
        some: &str,
        change: Option<impl Fn(&str) -> String>,
    ) -> Vec<String> {
        let none_id = keeper.parent.id_in("none");
        let root_id = keeper.parent.id_in("root");
        let parents = quote(&keeper.parent.collection.name);
        let rebuild = self.name("rebuild", keeper.relationship, true);
        let read = |name: &str| at("parent", name);
        let mut look = vec![
            format!("children = {all}.toArray();"),
            format!("parent = at.getCollection({parents}).findOne({{ _id: root._id }});"),
        ];
        if let Some(count) = &keeper.summary.count {
            look.push(format!(
                "expect(\"the count is right\", Number({}), children.length);",
                read(count)
            ));
        }
        for sum in &keeper.summary.sums {
            look.extend(sum.holds("children", read));
        }
        if let Some((name, newest, by, key, fields)) = &keeper.summary.preview {
            let element = doc! { *key: given("one._id"), SPREAD: given(picked("one", fields)) };
            look.push(format!(
                "expect(\"the preview shows the newest as they are\", plain({}), plain({all}.sort({}).limit({newest}).toArray().map((one) => ({}))));",
                read(name),
                js::object(&newest_first(by), 0),
                js::object(&element, 0)
            ));
        }
        let mut lines = vec!["let children = [];\nlet parent = null;".to_owned()];
        if keeper.refills() {
            lines.extend(look.iter().cloned());
        }
        let changes = self.changes(keeper);
        if let Some(change) = change.filter(|_| !changes.is_empty()) {
            lines.push(format!("const some = {some};"));
            lines.push(format!("const changes = {};", super::factory(&changes)));
            lines.push(format!("expect(\"it is changed\", {}, true);", change("changes(301)")));
            lines.push(format!(
                "await together(Array.from({{ length: 8 }}, async (_, i) => {}));",
                change("changes(302 + i)")
            ));
            lines.extend(look.iter().cloned());
            lines.push(format!("refused(\"nothing to change\", null, () => {});", change("{}")));
        }
        lines.push(format!("{rebuild}(at, {root_id});"));
        lines.extend(look.iter().cloned());
        if let Some(archive) = keeper.archive {
            let (children, archive) = (quote(keeper.children), quote(archive));
            let newest = keeper.summary.preview.as_ref().map_or("_id", |(_, _, by, ..)| *by);
            lines.push(format!(
                "const moved = {all}.sort({}).toArray()[0];",
                js::object(&newest_first(newest), 0)
            ));
            lines.push(format!("at.getCollection({archive}).insertOne(moved);"));
            lines.push(format!("at.getCollection({children}).deleteOne({{ _id: moved._id }});"));
            lines.push("const was = parent;".to_owned());
            lines.push(format!("{rebuild}(at, {root_id});"));
            lines.push(format!(
                "parent = at.getCollection({parents}).findOne({{ _id: root._id }});"
            ));
            lines.push(
                "expect(\"what is archived is kept like the rest\", plain(parent), plain(was));"
                    .to_owned(),
            );
            if let (Some(count), Members::Holding(_)) = (&keeper.summary.count, &keeper.members) {
                let remove = self.name("remove", keeper.relationship, false);
                lines.push(format!(
                    "expect(\"also what is archived is removed\", {remove}(at, {root_id}, moved._id), true);"
                ));
                lines.push(format!(
                    "parent = at.getCollection({parents}).findOne({{ _id: root._id }});"
                ));
                lines.push(format!(
                    "expect(\"and not counted any more\", Number({}), Number({}) - 1);",
                    read(count),
                    at("was", count)
                ));
            }
            lines.push(format!("at.getCollection({archive}).deleteMany({{}});"));
        }
        lines.push(format!("const none = {};", self.made_at(&keeper.parent)));
        lines.push(format!("at.getCollection({parents}).insertOne(none);"));
        lines.push(format!("{rebuild}(at, {none_id});"));
        lines.push(format!("parent = at.getCollection({parents}).findOne({{ _id: none._id }});"));
        let figures = keeper.summary.count.iter().chain(keeper.summary.sums.iter().map(|s| &s.sum));
        lines.extend(
            figures.map(|name| {
                format!("expect(\"of none there is none\", Number({}), 0);", read(name))
            }),
        );
        let inside: String = lines.iter().map(|line| indented(line)).collect();
        vec![format!("{{\n{inside}}}")]
    }

    /// Changes of a child that its parent has to follow, over `i`.
    fn changes(&self, keeper: &Keeper<'m>) -> Document {
        let child = &keeper.relationship.child;
        let Some(place) = self.place(child) else { return Document::new() };
        let sets: Vec<&str> = self
            .layout
            .model
            .writes
            .iter()
            .flat_map(|write| &write.sets)
            .filter_map(|(entity, field)| (entity == child).then_some(field.as_str()))
            .collect();
        let day = crate::emit::example::day(self.layout.model);
        let entity = self.layout.model.entity(child);
        let mut made = Document::new();
        for field in place.fields.iter().filter(|field| field.values.is_empty()) {
            let summed = keeper.summary.sums.iter().any(|sum| sum.field == field.name);
            let shown =
                keeper.summary.preview.iter().any(|(.., shown)| shown.contains(&&*field.name));
            let declared = sets.is_empty() || sets.contains(&field.name.as_str());
            if declared && super::varies(field) && (summed || shown) {
                let unique =
                    entity.and_then(|entity| entity.field(&field.name)).is_some_and(|f| f.unique);
                made.insert(&field.name, given(super::vary(field, unique, day)));
            }
        }
        made
    }

    /// Fields of an entity with an id from which more follows than the id says: what the one it names keeps,
    /// or a copy beside it.
    pub(super) fn ids_with_more(&self, entity: &str) -> Vec<String> {
        let naming = self.layout.naming;
        let mut found: Vec<String> = Vec::new();
        for (r, decision) in self.layout.linked() {
            let more = decision.patterns.len() > 1;
            let held = match decision.patterns.first() {
                Some(Pattern::ParentInChild) if more && r.child == entity => naming.parent_field(r),
                Some(Pattern::ChildrenInParent) if more && r.parent == entity => {
                    if decision.facts.children.max > 1 {
                        continue;
                    }
                    naming.child_field(r)
                }
                _ => continue,
            };
            if !found.contains(&held) {
                found.push(held);
            }
        }
        found
    }

    /// The function that works out again what a parent keeps.
    pub(super) fn rebuilding(&self, keeper: &Keeper<'m>, parent_id: &str) -> Job {
        let Keeper { relationship, parent, children, summary, .. } = keeper;
        let (mut steps, filter) = match &keeper.members {
            // Pairs that are only counted are not read.
            Members::Paired(pairs, first, _) if !summary.needs_child() => {
                let filter = doc! { *first: given(parent_id) };
                let number =
                    Statement::new(*pairs, Method::CountDocuments, [filter.clone().into()]);
                (vec![Step::Let("number", number)], filter)
            }
            _ => keeper.members_of(parent_id),
        };
        let mut group = doc! { "_id": Bson::Null, "count": { "$sum": 1 } };
        group.extend(summary.grouped(""));
        let mut set = Document::new();
        // Links are counted, also those that lead nowhere any more: so do the functions that link.
        let counted = match keeper.members {
            Members::Holding(_) | Members::Listing(_) => "all.count ?? 0",
            Members::Paired(..) if !summary.needs_child() => "number",
            Members::Listed(..) | Members::Paired(..) => "ids.length",
        };
        if counted.starts_with("all") || !summary.sums.is_empty() {
            let mut pipeline = keeper.everywhere(&filter);
            pipeline.push(doc! { "$group": group }.into());
            let grouped = Statement::new(*children, Method::Aggregate, [pipeline.into()]);
            steps.push(Step::Let("found", grouped));
            steps.push(Step::Code("const all = found[0] ?? {};".to_owned()));
        }
        // A pipeline takes what is given for a path where it looks like one.
        let literal = |expression: String| -> Bson {
            if summary.sums.is_empty() {
                given(expression)
            } else {
                doc! { "$literal": given(expression) }.into()
            }
        };
        if let Some(count) = &summary.count {
            set.insert(count, literal(counted.to_owned()));
        }
        for kept in &summary.sums {
            let of = |word: &str| format!("all[{}] ?? 0", quote(&format!("{word} {}", kept.field)));
            set.insert(&kept.sum, kept.typed(literal(of("sum"))));
            if let Some(having) = &kept.having {
                set.insert(having, literal(of("having")));
            }
        }
        if let Some((name, ..)) = &summary.preview {
            steps.push(Step::Code(keeper.shown(&filter)));
            set.insert(name, literal("shown".to_owned()));
        }
        let update: Bson = if summary.sums.is_empty() {
            doc! { "$set": set }.into()
        } else {
            summary.stages([set])
        };
        steps.push(Step::Let("done", parent.update(parent_id, update)));
        steps.push(unless_matched(&relationship.parent));
        let from = keeper.archive.map_or_else(
            || "from the documents themselves".to_owned(),
            |archive| format!("from the documents themselves and those in `{archive}`"),
        );
        Job {
            name: self.name("rebuild", relationship, true),
            parameters: vec![parent_id.to_owned()],
            does: format!(
                "Works out again what the parent keeps of `{}`, {from}: for existing data, and after a crash between two writes. Run it while nobody adds to this parent.",
                relationship.name
            ),
            clauses: vec!["PT-computed.1"],
            steps,
        }
    }
}

/// Ids in one statement: a message holds some 840,000 of them.
const AT_ONCE: usize = 10_000;

impl Keeper<'_> {
    /// The filter for one child, by its parent where it holds its id.
    fn one_of(&self, parent_id: &str, child_id: &str) -> Document {
        let mut filter = doc! { "_id": given(child_id) };
        if let Members::Holding(held) = &self.members {
            filter.insert(held, given(parent_id));
        }
        filter
    }

    /// Finds one child.
    fn found(&self, parent_id: &str, child_id: &str) -> Statement {
        let filter = self.one_of(parent_id, child_id);
        Statement::new(self.children, Method::FindOne, [filter.into()])
    }

    /// Finds the children of a parent: what goes before, and a filter.
    fn members_of(&self, parent_id: &str) -> (Vec<Step>, Document) {
        let by_ids = doc! { "_id": { "$in": given("ids") } };
        match &self.members {
            Members::Holding(field) | Members::Listing(field) => {
                (Vec::new(), doc! { field: given(parent_id) })
            }
            Members::Listed(list, key) => {
                let by_parent = self.parent.by(parent_id);
                let find = Statement::new(
                    &self.parent.collection.name,
                    Method::FindOne,
                    [by_parent.into(), doc! { list: 1 }.into()],
                );
                let steps = vec![
                    Step::Let("parent", find),
                    missing("parent", &self.relationship.parent),
                    Step::Code(self.listed(list, *key)),
                ];
                (steps, by_ids)
            }
            Members::Paired(pairs, first, second) => {
                let find = Statement::find(pairs, doc! { *first: given(parent_id) });
                let ids = format!("const ids = pairs.map((one) => {});", member_of("one", second));
                (vec![Step::Let("pairs", find), Step::Code(ids)], by_ids)
            }
        }
    }

    /// The ids in the list of a document called `parent`.
    fn listed(&self, list: &str, key: Option<&str>) -> String {
        let ids = format!("({} ?? [])", maybe("parent", list));
        match key {
            Some(key) => format!("const ids = {ids}.map((one) => {});", member_of("one", key)),
            None => format!("const ids = {ids};"),
        }
    }

    /// The stages that find children, wherever they are. While one is moved it is in both places.
    fn everywhere(&self, filter: &Document) -> Vec<Bson> {
        let these = doc! { "$match": filter.clone() };
        let mut stages = vec![Bson::from(these.clone())];
        if let Some(archive) = self.archive {
            stages.extend([
                doc! { "$unionWith": { "coll": archive, "pipeline": [these] } }.into(),
                doc! { "$group": { "_id": "$_id", "one": { "$first": "$$ROOT" } } }.into(),
                doc! { "$replaceRoot": { "newRoot": "$one" } }.into(),
            ]);
        }
        stages
    }

    /// Names what the preview is to show `shown`.
    fn shown(&self, filter: &Document) -> String {
        let Some((_, newest, by, key, fields)) = &self.summary.preview else {
            return String::new();
        };
        let number = *newest as i32;
        let mut first = String::new();
        // Of those of one moment the newer id stands first.
        let order = newest_first(by);
        let last = if self.archive.is_some() {
            let mut pipeline = self.everywhere(filter);
            pipeline.push(doc! { "$sort": order }.into());
            pipeline.push(doc! { "$limit": number }.into());
            Statement::new(self.children, Method::Aggregate, [pipeline.into()])
        } else if *by == "_id" {
            Statement::find(self.children, filter.clone()).then("sort", order).then("limit", number)
        } else {
            // The index has no ids behind the moment, so what is of the last moment that is shown is found first,
            // and only those are sorted.
            let edge = Statement::new(
                self.children,
                Method::Find,
                [filter.clone().into(), doc! { *by: 1 }.into()],
            );
            let edge =
                edge.then("sort", doc! { *by: -1 }).then("skip", number - 1).then("limit", 1);
            let moment = member_of("edge[0]", by);
            first = format!(
                "const edge = {};\nconst whole = edge.length === 0 || ({moment} ?? null) === null;\nconst from = whole ? {{}} : {};\n",
                edge.shell(0),
                js::object(&doc! { *by: { "$gte": given(&moment) } }, 0)
            );
            let mut these = filter.clone();
            these.insert(SPREAD, given("from"));
            Statement::find(self.children, these).then("sort", order).then("limit", number)
        };
        let element =
            js::object(&doc! { *key: given("one._id"), SPREAD: given(picked("one", fields)) }, 2);
        format!(
            "{first}const last = {};\nconst shown = last.map((one) => ({element}));",
            last.shell(0)
        )
    }

    /// What the parents keep of a child called `found`, now called `next`.
    fn follow(&self, child_id: &str) -> Vec<Step> {
        let parents = self.parent.collection.name.as_str();
        let mut steps = Vec::new();
        let mut paired = None;
        let (filter, method) = match &self.members {
            Members::Holding(held) => (self.parent.by(member_of("found", held)), Method::UpdateOne),
            Members::Listing(list) => {
                let ids = format!("{} ?? []", member_of("found", list));
                (doc! { self.parent.key(): { "$in": given(ids) } }, Method::UpdateMany)
            }
            Members::Listed(list, key) => {
                let path = key.map_or_else(|| list.clone(), |key| format!("{list}.{key}"));
                (doc! { path: given(child_id) }, Method::UpdateMany)
            }
            Members::Paired(pairs, first, second) => {
                let find = Statement::find(pairs, doc! { *second: given(child_id) });
                let name = js::function(&["in", pairs]);
                steps.push(Step::Code(format!("const {name} = {};", find.shell(0))));
                let ids = format!("{name}.map((one) => {})", member_of("one", first));
                paired = Some(ids.clone());
                (doc! { self.parent.key(): { "$in": given(ids) } }, Method::UpdateMany)
            }
        };
        if !self.summary.sums.is_empty() {
            let update = self.summary.exchange("found", "next");
            match &paired {
                // More ids than a message holds go in several.
                Some(ids) => {
                    let some = doc! { self.parent.key(): { "$in": given("some") } };
                    let write = Statement::new(parents, method, [some.into(), update]);
                    steps.push(Step::Code(format!(
                        "for (let from = 0, all = {ids}; from < all.length; from += {AT_ONCE}) {{\n  const some = all.slice(from, from + {AT_ONCE});\n  {};\n}}",
                        write.shell(2)
                    )));
                }
                None => steps.push(Step::Run(match &self.members {
                    Members::Holding(held) => self.parent.update(&member_of("found", held), update),
                    _ => Statement::new(parents, method, [filter.clone().into(), update]),
                })),
            }
        }
        let id = match &self.members {
            Members::Holding(held) => member_of("found", held),
            _ => "keeper".to_owned(),
        };
        let Some(mut code) = self.shown_again(&id) else { return steps };
        if method == Method::UpdateMany {
            let id = self.parent.key();
            let all =
                Statement::new(parents, Method::Find, [filter.into(), doc! { &id: 1 }.into()]);
            let ids = || format!("{}.map((one) => {})", all.shell(0), at("one", &id));
            let all = paired.unwrap_or_else(ids);
            code = format!("for (const keeper of {all}) {{\n{}}}\n", indented(&code));
        }
        steps.push(Step::Note(AGREES.to_owned()));
        steps.push(Step::Code(code));
        steps
    }

    /// Brings the preview of a parent up to date; `id` is an expression.
    fn shown_again(&self, id: &str) -> Option<String> {
        let (preview, ..) = self.summary.preview.as_ref()?;
        let parents = self.parent.collection.name.as_str();
        let mut wanted = doc! { preview: 1 };
        let by_ids = || doc! { "_id": { "$in": given("ids") } };
        let (before, members) = match &self.members {
            Members::Holding(held) => (String::new(), doc! { held: given(id) }),
            Members::Listing(list) => (String::new(), doc! { list: given(id) }),
            Members::Listed(list, key) => {
                wanted.insert(list, 1);
                (format!("{}\n", self.listed(list, *key)), by_ids())
            }
            Members::Paired(pairs, first, second) => {
                let find = Statement::find(pairs, doc! { *first: given(id) });
                let ids = format!("{}.map((one) => {})", find.shell(0), member_of("one", second));
                (format!("const ids = {ids};\n"), by_ids())
            }
        };
        let by_id = self.parent.by(id);
        let read = Statement::new(parents, Method::FindOne, [by_id.clone().into(), wanted.into()]);
        let kept = maybe("parent", preview);
        let mut same = by_id;
        same.insert(preview, given(kept.clone()));
        let write = Statement::update(parents, same, doc! { "$set": { preview: given("shown") } });
        let code = indented(&format!(
            "const parent = {};\n{before}{}\nif (parent === null || EJSON.stringify({kept}) === EJSON.stringify(shown)) break;\n{};",
            read.shell(0),
            self.shown(&members),
            write.shell(0)
        ));
        Some(format!("for (let attempt = 0; attempt < 100; attempt++) {{\n{code}}}\n"))
    }

    /// Whether the preview of a parent is filled again when a child goes: where whoever adds one reckons with
    /// finding it there already, or where the link and the preview are written at once.
    fn refills(&self) -> bool {
        self.summary.preview.is_some()
            && (self.summary.follows || matches!(self.members, Members::Listed(..)))
    }

    /// Fills the preview of a parent that a child is taken away from; `id` is an expression.
    pub(super) fn refilled(&self, id: &str) -> Vec<Step> {
        let code = self.shown_again(id).filter(|_| self.refills());
        code.map(|code| vec![Step::Note(AGREES.to_owned()), Step::Code(code)]).unwrap_or_default()
    }
}

/// The newest by a field first, and of those of one moment the newer id.
fn newest_first(by: &str) -> Document {
    let mut order = doc! { by: -1 };
    order.insert("_id", -1);
    order
}

/// What is said where a preview is brought up to date.
const AGREES: &str =
    "Until the preview agrees with the documents: others may write at the same time.";

/// What may be there at a path of a document that is there: `parent.profile?.ids`.
fn maybe(object: &str, path: &str) -> String {
    let mut parts = path.split('.');
    let first = member_of(object, parts.next().unwrap_or_default());
    parts.fold(first, |at, part| {
        if key(part) == part { format!("{at}?.{part}") } else { format!("{at}?.[{}]", quote(part)) }
    })
}

fn indented(code: &str) -> String {
    code.lines().map(|line| format!("  {line}\n")).collect()
}
