//! Counts, sums and previews that parents store about children in other documents. They change when
//! a child changes, and can be recomputed from the children (PT-computed.1).

use bson::{Bson, Document, doc};
use docward_model::{Relationship, shell::quote, text};

use super::plans::{Plans, at, by_id, factory, unless_matched, update, varies, vary};
use super::summary::Summary;
use crate::decide::decision::Decision;
use crate::decide::pattern::Pattern;
use crate::declared::field_plan::Origin;
use crate::emit::example::day;
use crate::emit::js::{self, SPREAD, given, member_of};
use crate::emit::statement::{Job, Method, Statement, Step};
use crate::layout::collection::{CollectionPlan, Purpose};

/// How the children of a parent are found.
pub(super) enum ChildLookup<'m> {
    /// Children store the parent's id in this field.
    Holding(String),
    /// Junction documents in this collection store the parent's id in this field. They can only be
    /// counted.
    Paired(&'m str, &'m str),
}

/// A parent with stored data about its children.
pub(super) struct SummaryMaintenance<'m> {
    relationship: &'m Relationship,
    parent: &'m CollectionPlan,
    children: &'m CollectionPlan,
    members: ChildLookup<'m>,
    summary: Summary<'m>,
}

impl<'m> Plans<'m> {
    /// Returns what the parent of a relationship stores about children in other documents.
    pub(super) fn keeper(
        &self,
        relationship: &'m Relationship,
        decision: &'m Decision,
    ) -> Option<SummaryMaintenance<'m>> {
        let (parent, children) = (self.own(&relationship.parent)?, self.own(&relationship.child)?);
        let members = match decision.patterns.first()? {
            Pattern::ParentInChild => {
                ChildLookup::Holding(self.layout.naming.parent_field(relationship))
            }
            Pattern::Junction => {
                let is_it = Purpose::Junction(relationship.name.clone());
                let pairs = self.design.collections.iter().find(|c| c.purpose == is_it)?;
                let mut fields = pairs.fields.iter();
                let id = fields.find(|field| matches!(field.origin, Origin::Reference(_)))?;
                ChildLookup::Paired(&pairs.name, &id.name)
            }
            _ => return None,
        };
        let summary = self.summary(relationship, decision, parent);
        Some(SummaryMaintenance { relationship, parent, children, members, summary })
            .filter(|keeper| !keeper.summary.is_empty())
    }

    /// Returns the function that changes a child and the data about it in all its parents.
    /// Relationships of the same child share this function, which belongs to the first of them.
    pub(super) fn changing(&self, keeper: &SummaryMaintenance<'m>, child_id: &str) -> Option<Job> {
        let r = keeper.relationship;
        let linked = self.layout.linked().filter(|(other, _)| other.child == r.child);
        let all: Vec<SummaryMaintenance<'m>> = linked
            .filter_map(|(other, decision)| self.keeper(other, decision))
            .filter(|other| self.is_changed(&r.child, &other.summary))
            .collect();
        if all.first()?.relationship.name != r.name {
            return None;
        }
        let ChildLookup::Holding(held) = &keeper.members else { return None };
        let parent_id = js::parameter(&self.layout.naming.id_of(&r.parent));
        let filter = doc! { "_id": given(child_id), held: given(&parent_id) };
        let mut steps = self.begin_change(&r.child, &keeper.children.name, filter);
        if all.iter().any(|keeper| !keeper.summary.sums.is_empty()) {
            steps.push(Step::Note(
                "The update subtracts the old value and adds the new one, so concurrent changes \
                 lose nothing."
                    .to_owned(),
            ));
            steps.push(Step::Code("const next = { ...found, ...changes };".to_owned()));
        }
        steps.extend(all.iter().flat_map(SummaryMaintenance::follow));
        steps.push(Step::Code("return true;".to_owned()));
        let keepers: Vec<&str> = all.iter().map(|k| k.relationship.parent.as_str()).collect();
        let mut clauses: Vec<&'static str> =
            all.iter().flat_map(|keeper| keeper.summary.clauses.iter().copied()).collect();
        clauses.sort_unstable();
        clauses.dedup();
        Some(Job {
            name: self.name("change", r, false),
            parameters: vec![parent_id, child_id.to_owned(), "changes".to_owned()],
            does: format!(
                "Changes a `{}` document, and its copies and sums in {}.",
                r.child,
                text::list(&keepers, 3)
            ),
            clauses,
            steps,
        })
    }

    /// Returns steps that change fields of a child. They refuse a change of an id that other stored
    /// data depends on.
    fn begin_change(&self, child: &str, children: &str, filter: Document) -> Vec<Step> {
        let mut steps = vec![Step::Code(
            "if (Object.keys(changes).length === 0) throw new Error(\"nothing to change\");"
                .to_owned(),
        )];
        for held in self.ids_with_more(child) {
            let why = format!(
                "cannot change {held} here, because summaries in its document would \
             become wrong"
            );
            let changed = member_of("changes", &held);
            steps.push(Step::Code(format!(
                "if ({changed} !== undefined) throw new Error({});",
                quote(&why)
            )));
        }
        let change = doc! { "$set": given("changes") };
        let changed =
            Statement::new(children, Method::FindOneAndUpdate, [filter.into(), change.into()]);
        steps.push(Step::Let("found", changed));
        steps.push(Step::Code("if (found === null) return false;".to_owned()));
        steps
    }

    /// Returns lines of a check for the data that a parent `root` stores about its children. A
    /// change of `some` updates the data, and a rebuild gives the same result. `all` is a cursor
    /// over the children, and `change` writes a call.
    pub(super) fn figures_check(
        &self,
        keeper: &SummaryMaintenance<'m>,
        all: &str,
        some: &str,
        change: Option<impl Fn(&str) -> String>,
    ) -> Vec<String> {
        let parents = quote(&keeper.parent.name);
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
        let mut lines = vec!["let children = [];\nlet parent = null;".to_owned()];
        lines.extend(look.iter().cloned());
        if let Some(preview) = &keeper.summary.preview {
            look.push(format!(
                "expect(\"the preview shows the newest as they are\", plain({}), plain({all}.sort({}).limit({}).toArray().map((one) => ({}))));",
                read(&preview.name),
                js::object(&newest_first(preview.by), 0),
                preview.newest,
                js::object(&preview.element("one._id", "one"), 0)
            ));
        }
        if keeper.refills() {
            lines.extend(look.last().cloned());
        }
        let changes = self.changes(keeper);
        if let Some(change) = change.filter(|_| !changes.is_empty()) {
            lines.push(format!("const some = {some};"));
            lines.push(format!("const changes = {};", factory(&changes)));
            lines.push(format!("expect(\"it is changed\", {}, true);", change("changes(301)")));
            lines.push(format!(
                "await together(Array.from({{ length: 8 }}, async (_, i) => {}));",
                change("changes(302 + i)")
            ));
            lines.extend(look.iter().cloned());
            lines.push(format!("refused(\"nothing to change\", null, () => {});", change("{}")));
        }
        lines.push(format!("{rebuild}(at, root._id);"));
        lines.extend(look.iter().cloned());
        lines.push(format!("const none = {};", self.made(keeper.parent)));
        lines.push(format!("at.getCollection({parents}).insertOne(none);"));
        lines.push(format!("{rebuild}(at, none._id);"));
        lines.push(format!("parent = at.getCollection({parents}).findOne({{ _id: none._id }});"));
        let figures = keeper.summary.count.iter().chain(keeper.summary.sums.iter().map(|s| &s.sum));
        lines.extend(figures.map(|name| {
            format!(
                "expect(\"counts and sums are 0 for a parent without children\", Number({}), 0);",
                read(name)
            )
        }));
        let inside: String = lines.iter().map(|line| indented(line)).collect();
        vec![format!("{{\n{inside}}}")]
    }

    /// Returns changes of a child that its parent has to follow, as expressions over `i`.
    fn changes(&self, keeper: &SummaryMaintenance<'m>) -> Document {
        let child = &keeper.relationship.child;
        let writes = self.layout.model.writes.iter().flat_map(|write| &write.sets);
        let sets: Vec<&str> = writes
            .filter_map(|(entity, field)| (entity == child).then_some(field.as_str()))
            .collect();
        let entity = self.layout.model.entity(child);
        let mut made = Document::new();
        for field in keeper.children.fields.iter().filter(|field| field.values.is_empty()) {
            let name = field.name.as_str();
            let summed = keeper.summary.sums.iter().any(|sum| sum.field == name);
            let shown = keeper.summary.preview.iter().any(|p| p.shown.contains(&name));
            let declared = sets.is_empty() || sets.contains(&name);
            if declared && varies(field) && (summed || shown) {
                let unique = entity.and_then(|entity| entity.field(name)).is_some_and(|f| f.unique);
                made.insert(name, given(vary(field, unique, day(self.layout.model))));
            }
        }
        made
    }

    /// Returns the id fields of an entity that other data depends on: figures in the referenced
    /// document, or a copy beside the id.
    fn ids_with_more(&self, entity: &str) -> Vec<String> {
        let naming = self.layout.naming;
        let linked = self.layout.linked().filter(|(_, decision)| decision.patterns.len() > 1);
        let mut found: Vec<String> = linked
            .filter_map(|(r, decision)| match decision.patterns.first() {
                Some(Pattern::ParentInChild) if r.child == entity => Some(naming.parent_field(r)),
                Some(Pattern::ChildrenInParent)
                    if r.parent == entity && decision.facts.children.max <= 1 =>
                {
                    Some(naming.child_field(r))
                }
                _ => None,
            })
            .collect();
        found.dedup();
        found
    }

    /// Returns the function that recomputes what a parent stores.
    pub(super) fn rebuilding(&self, keeper: &SummaryMaintenance<'m>, parent_id: &str) -> Job {
        let SummaryMaintenance { relationship, parent, children, summary, .. } = keeper;
        let mut steps = Vec::new();
        let mut set = Document::new();
        // In a pipeline, a string argument that begins with `$` would be read as a path.
        let literal = |expression: String| -> Bson {
            if summary.sums.is_empty() {
                given(expression)
            } else {
                doc! { "$literal": given(expression) }.into()
            }
        };
        match &keeper.members {
            ChildLookup::Paired(pairs, first) => {
                let filter = doc! { *first: given(parent_id) };
                let number = Statement::new(*pairs, Method::CountDocuments, [filter.into()]);
                steps.push(Step::Let("number", number));
                set.extend(summary.count.iter().map(|count| (count.clone(), given("number"))));
            }
            ChildLookup::Holding(held) => {
                let filter = doc! { held: given(parent_id) };
                let mut group = doc! { "_id": Bson::Null, "count": { "$sum": 1 } };
                group.extend(summary.grouped());
                let pipeline =
                    vec![Bson::from(doc! { "$match": filter }), doc! { "$group": group }.into()];
                let grouped = Statement::new(&children.name, Method::Aggregate, [pipeline.into()]);
                steps.push(Step::Let("found", grouped));
                steps.push(Step::Code("const all = found[0] ?? {};".to_owned()));
                if let Some(count) = &summary.count {
                    set.insert(count, literal("all.count ?? 0".to_owned()));
                }
                for kept in &summary.sums {
                    let of = |word: &str| {
                        literal(format!("all[{}] ?? 0", quote(&format!("{word} {}", kept.field))))
                    };
                    set.insert(&kept.sum, kept.typed(of("sum")));
                    set.extend(kept.having.iter().map(|having| (having.clone(), of("having"))));
                }
                if let Some(preview) = &summary.preview {
                    steps.push(Step::Code(keeper.shown(parent_id)));
                    set.insert(&preview.name, literal("shown".to_owned()));
                }
            }
        }
        let change: Bson = if summary.sums.is_empty() {
            doc! { "$set": set }.into()
        } else {
            summary.stages([set])
        };
        steps.push(Step::Let("done", update(parent, parent_id, change)));
        steps.push(unless_matched(&relationship.parent));
        Job {
            name: self.name("rebuild", relationship, true),
            parameters: vec![parent_id.to_owned()],
            does: format!(
                "Recomputes what the parent stores about `{}` from the documents: for existing \
                 data, and after a crash between two writes. Run it while no other client adds to \
                 this parent.",
                relationship.name
            ),
            clauses: vec!["PT-computed.1"],
            steps,
        }
    }
}

impl SummaryMaintenance<'_> {
    /// Returns the field of the children with the parent's id.
    fn held(&self) -> Option<&str> {
        match &self.members {
            ChildLookup::Holding(held) => Some(held),
            ChildLookup::Paired(..) => None,
        }
    }

    /// Returns code that assigns the current preview of a parent to `shown`. `id` is an expression.
    fn shown(&self, id: &str) -> String {
        let Some((preview, held)) = self.summary.preview.as_ref().zip(self.held()) else {
            return String::new();
        };
        let (number, by) = (preview.newest as i32, preview.by);
        let filter = doc! { held: given(id) };
        // If two children have the same time, the newer id comes first.
        let order = newest_first(by);
        let mut first = String::new();
        let mut these = filter.clone();
        if by != "_id" {
            // The index does not contain ids after the time. The code therefore finds the oldest
            // time in the preview first, and sorts only the children from that time on.
            let find = [filter.into(), doc! { by: 1 }.into()];
            let edge = Statement::new(&self.children.name, Method::Find, find);
            let edge = edge.then("sort", doc! { by: -1 }).then("skip", number - 1).then("limit", 1);
            let moment = member_of("edge[0]", by);
            first = format!(
                "const edge = {};\nconst whole = edge.length === 0 || ({moment} ?? null) === null;\nconst from = whole ? {{}} : {};\n",
                edge.shell(0),
                js::object(&doc! { by: { "$gte": given(&moment) } }, 0)
            );
            these.insert(SPREAD, given("from"));
        }
        let last = Statement::find(&self.children.name, these).then("sort", order);
        format!(
            "{first}const last = {};\nconst shown = last.map((one) => ({}));",
            last.then("limit", number).shell(0),
            js::object(&preview.element("one._id", "one"), 2)
        )
    }

    /// Returns steps that update the parent after the child `found` has become `next`.
    fn follow(&self) -> Vec<Step> {
        let Some(held) = self.held() else { return Vec::new() };
        let id = member_of("found", held);
        let exchange = || update(self.parent, &id, self.summary.exchange("found", "next"));
        let sums = (!self.summary.sums.is_empty()).then(|| Step::Run(exchange()));
        sums.into_iter().chain(self.shown_again(&id)).collect()
    }

    /// Returns steps that update the preview of a parent. `id` is an expression.
    fn shown_again(&self, id: &str) -> Vec<Step> {
        let Some(preview) = &self.summary.preview else { return Vec::new() };
        let parents = self.parent.name.as_str();
        let wanted = doc! { &preview.name: 1 };
        let read = Statement::new(parents, Method::FindOne, [by_id(id).into(), wanted.into()]);
        let kept = member_of("parent", &preview.name);
        let mut same = by_id(id);
        same.insert(&preview.name, given(&kept));
        let set = doc! { "$set": { &preview.name: given("shown") } };
        let write = Statement::update(parents, same, set);
        let code = indented(&format!(
            "const parent = {};\n{}\nif (parent === null || EJSON.stringify({kept}) === EJSON.stringify(shown)) break;\n{};",
            read.shell(0),
            self.shown(id),
            write.shell(0)
        ));
        vec![
            Step::Note(
                "Repeats until the preview matches the documents, because other clients may write \
                 at the same time."
                    .to_owned(),
            ),
            Step::Code(format!("for (let attempt = 0; attempt < 100; attempt++) {{\n{code}}}\n")),
        ]
    }

    /// Whether removing a child refills the preview of its parent. In that case, adding a child
    /// must expect that the preview already contains it.
    fn refills(&self) -> bool {
        self.summary.preview.is_some() && self.summary.follows
    }

    /// Returns steps that refill the preview of a parent after a child is removed. `id` is an
    /// expression.
    pub(super) fn refilled(&self, id: &str) -> Vec<Step> {
        if self.refills() { self.shown_again(id) } else { Vec::new() }
    }
}

/// Returns an order that puts the newest children first. If two have the same time, the newer id
/// comes first.
fn newest_first(by: &str) -> Document {
    let mut order = doc! { by: -1 };
    order.insert("_id", -1);
    order
}

fn indented(code: &str) -> String {
    code.lines().map(|line| format!("  {line}\n")).collect()
}
