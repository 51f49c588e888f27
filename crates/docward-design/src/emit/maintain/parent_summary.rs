//! Counts, sums and previews that parents store about children in other documents. They change when
//! a child is added or removed, and can be recomputed from the children (PT-computed.1).

use bson::{Bson, Document, doc};
use docward_model::{Relationship, shell::quote};

use super::plans::{Plans, at, update};
use super::summary::Summary;
use crate::emit::expectations::{Check, found, root_in};
use crate::emit::js::{self, SPREAD, given, member_of};
use crate::emit::statement::{Job, Method, Statement, Step};
use crate::layout::collection::CollectionPlan;

/// The documents through which the children of a parent are found.
pub(super) enum ChildLookup<'m> {
    /// Children in this collection store the parent's id in this field.
    Holding(&'m str, String),
    /// Junction documents in this collection store the parent's id in this field. They can only be
    /// counted.
    Paired(&'m str, String),
}

/// A parent with stored data about its children.
pub(super) struct SummaryMaintenance<'a, 'm> {
    pub(super) relationship: &'m Relationship,
    pub(super) parent: &'m CollectionPlan,
    pub(super) members: ChildLookup<'m>,
    pub(super) summary: &'a Summary<'m>,
}

impl Plans<'_> {
    /// Adds to a check that the data which a parent `root` stores about its children is right,
    /// before and after a rebuild. `all` is a cursor over the children.
    pub(super) fn figures_check(&self, keeper: &SummaryMaintenance<'_, '_>, all: &str) -> Check {
        let SummaryMaintenance { relationship, parent, summary, .. } = keeper;
        let rebuild = self.name("rebuild", relationship, true);
        let read = |name: &str| at("parent", name);
        let mut look = Check::default();
        look.run(format!("children = {all}.toArray();"));
        look.run(format!("parent = {};", root_in(&parent.name)));
        if let Some(count) = &summary.count {
            let count = format!("Number({})", read(count));
            look.expect("the count is right", count, "children.length");
        }
        for sum in &summary.sums {
            sum.holds(&mut look, read);
        }
        let mut check = Check::default();
        check.run("let children = [];\nlet parent = null;");
        check.extend(look.clone());
        check.run(format!("{rebuild}(at, root._id);"));
        check.extend(look);
        if let Some(preview) = &summary.preview {
            let newest = format!(
                "plain({all}.sort({}).limit({}).toArray().map((one) => ({})))",
                js::object(&newest_first(preview.by), 0),
                preview.newest,
                js::object(&preview.element("one._id", "one"), 0)
            );
            let shown = format!("plain({})", read(&preview.name));
            check.expect("the preview shows the newest as they are", shown, newest);
        }
        check.insert("none", &parent.name);
        check.run(format!("{rebuild}(at, none._id);"));
        check.run(format!("parent = {};", found(&parent.name, "none")));
        for name in summary.count.iter().chain(summary.sums.iter().map(|sum| &sum.sum)) {
            let what = "counts and sums are 0 for a parent without children";
            check.expect(what, format!("Number({})", read(name)), 0);
        }
        let mut block = Check::default();
        block.block("{", check);
        block
    }

    /// Returns the function that recomputes the data that a parent stores.
    pub(super) fn rebuilding(&self, keeper: &SummaryMaintenance<'_, '_>, parent_id: &str) -> Job {
        let SummaryMaintenance { relationship, parent, members, summary } = keeper;
        let mut steps = Vec::new();
        let mut set = Document::new();
        // In a pipeline, a string argument that begins with `$` would be read as a path.
        let literal = |expression: &str| -> Bson {
            match summary.sums.is_empty() {
                true => given(expression),
                false => doc! { "$literal": given(expression) }.into(),
            }
        };
        match members {
            ChildLookup::Paired(pairs, first) => {
                let filter = doc! { first: given(parent_id) };
                let number = Statement::new(*pairs, Method::CountDocuments, [filter.into()]);
                steps.push(Step::Let("number", number));
                set.extend(summary.count.iter().map(|count| (count.clone(), given("number"))));
            }
            ChildLookup::Holding(children, held) => {
                let mut group = doc! { "_id": Bson::Null, "count": { "$sum": 1 } };
                group.extend(summary.grouped());
                let matched = doc! { "$match": { held: given(parent_id) } };
                let pipeline = vec![Bson::from(matched), doc! { "$group": group }.into()];
                let grouped = Statement::new(*children, Method::Aggregate, [pipeline.into()]);
                steps.push(Step::Let("found", grouped));
                steps.push(Step::code("const all = found[0] ?? {};"));
                if let Some(count) = &summary.count {
                    set.insert(count, literal("all.count ?? 0"));
                }
                for kept in &summary.sums {
                    let of = |word: &str| {
                        literal(&format!("all[{}] ?? 0", quote(&format!("{word} {}", kept.field))))
                    };
                    set.insert(&kept.sum, kept.typed(of("sum")));
                    set.extend(kept.having.iter().map(|having| (having.clone(), of("having"))));
                }
                if let Some(preview) = &summary.preview {
                    steps.extend(preview.shown(children, doc! { held: given(parent_id) }));
                    set.insert(&preview.name, literal("shown"));
                }
            }
        }
        let change: Bson = match summary.sums.is_empty() {
            true => doc! { "$set": set }.into(),
            false => summary.stages(set),
        };
        steps.push(Step::Let("done", update(parent, parent_id, change)));
        steps.push(Step::unless_matched(&relationship.parent));
        let does = format!(
            "Recomputes what the parent stores about `{}` from the documents: for existing data, \
             and after a crash between two writes. Run it while no other client adds to this \
             parent.",
            relationship.name
        );
        let name = self.name("rebuild", relationship, true);
        Job::new(&name, &[parent_id], does, steps).by(&["PT-computed.1"])
    }
}

impl super::summary::Preview<'_> {
    /// Returns steps that assign the current preview to `shown`.
    fn shown(&self, children: &str, filter: Document) -> Vec<Step> {
        let (number, by) = (self.newest as i32, self.by);
        let mut steps = Vec::new();
        let mut these = filter.clone();
        if by != "_id" {
            // The index does not contain ids after the time. The code therefore finds the oldest
            // time in the preview first, and sorts only the children from that time on.
            let find = [filter.into(), doc! { by: 1 }.into()];
            let edge = Statement::new(children, Method::Find, find);
            let edge = edge.then("sort", doc! { by: -1 }).then("skip", number - 1).then("limit", 1);
            let moment = member_of("edge[0]", by);
            let from = js::object(&doc! { by: { "$gte": given(&moment) } }, 0);
            steps.push(Step::Let("edge", edge));
            steps.push(Step::code(format!(
                "const whole = edge.length === 0 || ({moment} ?? null) === null;\nconst from = whole ? {{}} : {from};"
            )));
            these.insert(SPREAD, given("from"));
        }
        let last = Statement::find(children, these).then("sort", newest_first(by));
        steps.push(Step::Let("last", last.then("limit", number)));
        let element = js::object(&self.element("one._id", "one"), 2);
        steps.push(Step::code(format!("const shown = last.map((one) => ({element}));")));
        steps
    }
}

/// Returns an order that puts the newest children first. If two have the same time, the newer id
/// comes first.
fn newest_first(by: &str) -> Document {
    let mut order = doc! { by: -1 };
    order.insert("_id", -1);
    order
}
