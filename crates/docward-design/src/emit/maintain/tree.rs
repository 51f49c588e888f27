//! The tree pattern: each document stores the id of its parent and the ids of all its ancestors.

use bson::{Bson, doc};
use docward_model::Relationship;
use docward_model::shell::quote;

use crate::declared::field_plan::TREE_DEPTH;
use crate::emit::js::{self, SPREAD, given, member_of};
use crate::emit::statement::{Job, Method, Script, Statement, Step};

use super::extended::Other;
use super::plans::{Plans, factory, missing};

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
        let ancestors = doc! { "ancestors": 1 };
        let find = |id: &str| {
            let filter = doc! { "_id": given(id) };
            Statement::new(nodes, Method::FindOne, [filter.into(), ancestors.clone().into()])
        };
        let below_it = js::object(
            &doc! { SPREAD: given(&node), &held: given(above), "ancestors": given(format!("[...found.ancestors, {above}]")) },
            2,
        );
        let others = self.others(&entity.name, relationship);
        let mut inserted = doc! { SPREAD: given("placed"), "_id": given("_id") };
        others.iter().for_each(|other| other.put(&node, &mut inserted));
        let added = Job {
            name: add.clone(),
            parameters: vec![above.to_owned(), node.clone()],
            does: format!(
                "Adds a `{}` document below the given parent, or at the top if the parent is null.",
                entity.name
            ) + &others.iter().map(Other::words).collect::<String>(),
            clauses: vec!["PT-ref.1"],
            steps: [
                Step::Code(format!("const _id = {node}._id ?? new ObjectId();")),
                Step::Code(format!("let placed = {{ ...{node}, ancestors: [] }};")),
                Step::Code(format!("if ({above} !== null) {{")),
                Step::Code(format!("  const found = {};", find(above).shell(2))),
                Step::Code(format!(
                    "  if (found === null) throw new Error({});",
                    quote(&format!("there is no such {}", entity.name))
                )),
                Step::Code(format!("  placed = {below_it};\n}}")),
            ]
            .into_iter()
            .chain(others.iter().flat_map(|other| other.fetch(&node)))
            .chain([Step::Run(Statement::insert(nodes, inserted))])
            .chain(others.iter().filter_map(|other| other.arrival(&node, "_id")))
            .chain([Step::Code("return _id;".to_owned())])
            .collect(),
        };
        let reading = |name: &str, does: &str, filter| Job {
            name: name.to_owned(),
            parameters: vec![id.to_owned()],
            does: does.to_owned(),
            clauses: vec!["PT-ref.1"],
            steps: vec![Step::Return(Statement::find(nodes, filter))],
        };
        // The move replaces the ancestors of the moved document. The path from there down to each
        // descendant stays the same.
        let from = doc! { "$indexOfArray": ["$ancestors", { "$literal": given(id) }] };
        let rest =
            doc! { "$slice": ["$ancestors", from, { "$max": [1, { "$size": "$ancestors" }] }] };
        let path = doc! { "$concatArrays": [{ "$literal": given("above") }, rest] };
        let pipeline: Vec<Bson> = vec![doc! { "$set": { "ancestors": path } }.into()];
        let top = js::object(&doc! { "$set": { "ancestors": [] }, "$unset": { &held: "" } }, 0);
        let put =
            js::object(&doc! { "$set": { &held: given(above), "ancestors": given("above") } }, 0);
        // The depth is checked first, because the validator could otherwise refuse a write halfway.
        let most = doc! { "$max": { "$size": "$ancestors" } };
        let deepest: Vec<Bson> = vec![
            doc! { "$match": { "ancestors": given(id) } }.into(),
            doc! { "$group": { "_id": Bson::Null, "most": most } }.into(),
        ];
        let moved = Job {
            name: shift.clone(),
            parameters: vec![id.to_owned(), above.to_owned()],
            does: "Moves a document and its descendants below another document, or to the top if the \
             target is null. The function makes two writes: run it in a transaction if other clients \
             move nodes at the same time."
                .to_owned(),
            clauses: vec!["PT-ref.1"],
            steps: vec![
                Step::Code(format!(
                    "const found = {above} === null ? {{ ancestors: [] }} : {};",
                    find(above).shell(0)
                )),
                missing("found", &entity.name),
                Step::Let("own", find(id)),
                missing("own", &entity.name),
                Step::Code(format!(
                    "const above = {above} === null ? [] : [...found.ancestors, {above}];"
                )),
                Step::Let("deepest", Statement::new(nodes, Method::Aggregate, [deepest.into()])),
                Step::Code(format!(
                    "const levels = (deepest[0]?.most ?? own.ancestors.length) - own.ancestors.length;\nif (above.length + levels > {}) throw new Error(\"the tree would be too deep\");",
                    TREE_DEPTH.max
                )),
                Step::Code(format!(
                    "if (above.some((one) => String(one) === String({id}))) throw new Error(\"a document cannot be its own ancestor\");"
                )),
                Step::Run(Statement::update(
                    nodes,
                    doc! { "_id": given(id) },
                    given(format!("{above} === null ? {top} : {put}")),
                )),
                Step::Run(Statement::new(
                    nodes,
                    Method::UpdateMany,
                    [doc! { "ancestors": given(id) }.into(), pipeline.into()],
                )),
            ],
        };
        let mut sample = self.sample(entity, &place.fields, &[]);
        sample.remove(&held);
        sample.remove("ancestors");
        let collection = quote(nodes);
        let mut check: Vec<String> =
            others.iter().flat_map(|other| other.prepare(self, &mut sample)).collect();
        check.extend([
            format!("const one = {};", factory(&sample)),
            format!("const top = {add}(at, null, one(0));"),
            format!("const middle = {add}(at, top, one(1));"),
            format!("const leaf = {add}(at, middle, one(2));"),
            format!("const other = {add}(at, null, one(3));"),
            format!("expect(\"all below\", {below}(at, top).length, 2);"),
            format!("expect(\"one step down\", {children}(at, top).length, 1);"),
            format!(
                "const way = () => at.getCollection({collection}).findOne({{ _id: leaf }}).ancestors.map(String);"
            ),
            "expect(\"the way down, from the top\", way(), [top, middle].map(String));".to_owned(),
            format!("{shift}(at, middle, other);"),
            "expect(\"the way moves along\", way(), [other, middle].map(String));".to_owned(),
            format!("expect(\"nothing is left below\", {below}(at, top).length, 0);"),
            format!("refused(\"nothing is below itself\", null, () => {shift}(at, other, leaf));"),
            format!("refused(\"what is not there is not moved\", null, () => {shift}(at, new ObjectId(), null));"),
            format!(
                "at.getCollection({collection}).updateOne({{ _id: top }}, {{ $set: {{ ancestors: Array.from({{ length: {} }}, () => new ObjectId()) }} }});",
                TREE_DEPTH.max - 1
            ),
            format!("refused(\"nothing gets too deep\", null, () => {shift}(at, middle, top));"),
            "expect(\"and all stays where it was\", way(), [other, middle].map(String));".to_owned(),
            format!("{shift}(at, middle, null);"),
            "expect(\"to the top\", way(), [middle].map(String));".to_owned(),
            format!(
                "expect(\"with nothing above\", {} === undefined, true);",
                member_of(
                    &format!("at.getCollection({collection}).findOne({{ _id: middle }})"),
                    &held
                )
            ),
        ]);
        check
            .push(format!("const made = at.getCollection({collection}).findOne({{ _id: leaf }});"));
        check.extend(others.iter().flat_map(|other| other.followed("made", "4")));
        Some(Script {
            about: relationship.name.clone(),
            pattern: "tree",
            intro: format!(
                "`{}`: each document has the list of its ancestors, so an index finds everything \
                 below one.",
                relationship.name
            ),
            jobs: vec![
                added,
                reading(
                    &below,
                    "Finds all descendants of a document with one query.",
                    doc! { "ancestors": given(id) },
                ),
                reading(&children, "Finds the direct children.", doc! { &held: given(id) }),
                moved,
            ],
            check,
        })
    }
}
