//! The tree pattern: each document stores the id of its parent and the ids of all its ancestors.

use bson::{Bson, Document, doc};
use docward_model::Relationship;

use crate::declared::field_plan::TREE_DEPTH;
use crate::emit::expectations::{Check, stored};
use crate::emit::js::{self, SPREAD, given, member_of};
use crate::emit::statement::{Job, Method, Script, Statement, Step};

use super::extended::Other;
use super::plans::{Plans, by_id, factory};

impl<'m> Plans<'m> {
    pub(super) fn tree(&self, relationship: &'m Relationship) -> Option<Script> {
        let place = self.own(&relationship.parent)?;
        let entity = self.layout.model.entity(&relationship.child)?;
        let nodes = place.name.as_str();
        let held = self.layout.naming.field(&["parent", "id"]);
        let node = js::parameter(&self.layout.naming.singular(&entity.name));
        let (id, above) = ("nodeId", "aboveId");
        let name = |verb: &str| js::function(&[verb, &entity.name]);
        let (add, below, children, shift) =
            (name("add"), name("list below"), name("list children of"), name("move"));
        let find = |id: &str| {
            let arguments = [by_id(id).into(), doc! { "ancestors": 1 }.into()];
            Statement::new(nodes, Method::FindOne, arguments)
        };
        let path = given(format!("[...found.ancestors, {above}]"));
        let placed = doc! { SPREAD: given(&node), &held: given(above), "ancestors": path };
        let others = self.others(&entity.name, relationship);
        let mut inserted = doc! { SPREAD: given("placed"), "_id": given("_id") };
        others.iter().for_each(|other| other.put(&node, &mut inserted));
        let under = vec![
            Step::Let("found", find(above)),
            Step::missing("found", &entity.name),
            Step::code(format!("placed = {};", js::object(&placed, 0))),
        ];
        let mut steps = vec![
            Step::code(format!("const _id = {node}._id ?? new ObjectId();")),
            Step::code(format!("let placed = {{ ...{node}, ancestors: [] }};")),
            Step::Block(format!("if ({above} !== null) {{"), under, "}"),
        ];
        steps.extend(others.iter().flat_map(|other| other.fetch(&node)));
        steps.push(Step::Run(Statement::insert(nodes, inserted)));
        steps.extend(others.iter().filter_map(|other| other.arrival(&node, "_id")));
        steps.push(Step::code("return _id;"));
        let mut does = format!(
            "Adds a `{}` below the given parent, or at the top level if the parent is null.",
            entity.name
        );
        does.extend(others.iter().map(Other::words));
        let reading = |name: &str, does: &str, filter: Document| {
            Job::new(name, &[id], does, [Step::Return(Statement::find(nodes, filter))])
                .by(&["PT-ref.1"])
        };
        let all = "Finds all descendants of a node with one query.";
        let jobs = vec![
            Job::new(&add, &[above, &node], does, steps).by(&["PT-ref.1"]),
            reading(&below, all, doc! { "ancestors": given(id) }),
            reading(&children, "Finds the direct children.", doc! { &held: given(id) }),
            moving(&shift, nodes, &entity.name, &held),
        ];
        let mut sample = self.sample(entity, &place.fields, &[]);
        sample.remove(&held);
        sample.remove("ancestors");
        let mut check = Check::default();
        for other in &others {
            other.prepare(&mut sample, &mut check);
        }
        check.set("one", factory(&sample));
        for (name, above, number) in
            [("top", "null", 0), ("middle", "top", 1), ("leaf", "middle", 2), ("other", "null", 3)]
        {
            check.set(name, format!("{add}(at, {above}, one({number}))"));
        }
        let nodes = stored(nodes);
        let moved = |node: &str, above: &str| format!("{shift}(at, {node}, {above})");
        let length = |list: &str| format!("{list}(at, top).length");
        let path = |nodes: &str| format!("[{nodes}].map(String)");
        check.set("way", format!("() => {nodes}.findOne({{ _id: leaf }}).ancestors.map(String)"));
        check.expect("all below", length(&below), 2);
        check.expect("one step down", length(&children), 1);
        check.expect("the way down, from the top", "way()", path("top, middle"));
        check.run(moved("middle", "other") + ";");
        check.expect("the way moves along", "way()", path("other, middle"));
        check.expect("nothing is left below", length(&below), 0);
        check.fails("nothing is below itself", moved("other", "leaf"));
        check.fails("what is not there is not moved", moved("new ObjectId()", "null"));
        check.run(format!(
            "{nodes}.updateOne({{ _id: top }}, {{ $set: {{ ancestors: Array.from({{ length: {} }}, () => new ObjectId()) }} }});",
            TREE_DEPTH.max - 1
        ));
        check.fails("nothing gets too deep", moved("middle", "top"));
        check.expect("and all stays where it was", "way()", path("other, middle"));
        check.run(moved("middle", "null") + ";");
        check.expect("to the top", "way()", path("middle"));
        let above = member_of(&format!("{nodes}.findOne({{ _id: middle }})"), &held);
        check.expect("with nothing above", format!("{above} === undefined"), true);
        check.set("made", format!("{nodes}.findOne({{ _id: leaf }})"));
        for other in &others {
            other.followed(&mut check, "made", 4);
        }
        Some(Script {
            about: relationship.name.clone(),
            pattern: "tree",
            intro: format!(
                "`{}`: each document has the list of its ancestors, so an index finds everything \
                 below one.",
                relationship.name
            ),
            jobs,
            check,
        })
    }
}

/// Returns the function that moves `nodeId` below `aboveId`. It replaces the ancestors of the moved
/// document. The path from there down to each descendant stays the same.
fn moving(name: &str, nodes: &str, entity: &str, held: &str) -> Job {
    let ancestors = |id: &str| {
        let arguments = [by_id(id).into(), doc! { "ancestors": 1 }.into()];
        Statement::new(nodes, Method::FindOne, arguments)
    };
    let from = doc! { "$indexOfArray": ["$ancestors", { "$literal": given("nodeId") }] };
    let rest = doc! { "$slice": ["$ancestors", from, { "$max": [1, { "$size": "$ancestors" }] }] };
    let path = doc! { "$concatArrays": [{ "$literal": given("above") }, rest] };
    let pipeline: Vec<Bson> = vec![doc! { "$set": { "ancestors": path } }.into()];
    let top = js::object(&doc! { "$set": { "ancestors": [] }, "$unset": { held: "" } }, 0);
    let put = doc! { "$set": { held: given("aboveId"), "ancestors": given("above") } };
    let put = given(format!("aboveId === null ? {top} : {}", js::object(&put, 0)));
    // The depth is checked first, because the validator could otherwise refuse a write halfway.
    let most = doc! { "$max": { "$size": "$ancestors" } };
    let deepest: Vec<Bson> = vec![
        doc! { "$match": { "ancestors": given("nodeId") } }.into(),
        doc! { "$group": { "_id": Bson::Null, "most": most } }.into(),
    ];
    let below = [doc! { "ancestors": given("nodeId") }.into(), pipeline.into()];
    let steps = [
        Step::code(format!(
            "const found = aboveId === null ? {{ ancestors: [] }} : {};",
            ancestors("aboveId").shell(0)
        )),
        Step::missing("found", entity),
        Step::Let("own", ancestors("nodeId")),
        Step::missing("own", entity),
        Step::code("const above = aboveId === null ? [] : [...found.ancestors, aboveId];"),
        Step::Let("deepest", Statement::new(nodes, Method::Aggregate, [deepest.into()])),
        Step::code(
            "const levels = (deepest[0]?.most ?? own.ancestors.length) - own.ancestors.length;",
        ),
        Step::fail_if(
            format!("above.length + levels > {}", TREE_DEPTH.max),
            "it would be too deep",
        ),
        Step::fail_if(
            "above.some((one) => String(one) === String(nodeId))",
            "a node cannot be moved below itself",
        ),
        Step::Run(Statement::update(nodes, by_id("nodeId"), put)),
        Step::Run(Statement::new(nodes, Method::UpdateMany, below)),
    ];
    let does = "Moves a node and everything below it to another parent, or to the top level if the parent is null. It makes \
                two writes: run it in a transaction if other clients move nodes at the same time.";
    Job::new(name, &["nodeId", "aboveId"], does, steps).by(&["PT-ref.1"])
}
