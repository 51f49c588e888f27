//! Patterns of single entities: versions, attributes, kinds, and approximate counts.

use bson::{Bson, Document, doc};
use docward_model::shell::quote;
use docward_model::{BsonType, Entity, Relationship};

use crate::decide::decision::Decision;
use crate::decide::pattern::Pattern;
use crate::declared::field_plan::{Origin, Planned};
use crate::emit::example::day;
use crate::emit::js::{self, SPREAD, given, member_of};
use crate::emit::statement::{Job, Method, Script, Statement, Step};
use crate::layout::collection::{CollectionPlan, Purpose};
use crate::layout::index_plan::Partial;

use super::plans::{Plans, at, by_id, factory, is_one_of_each, unchanged, vary};

impl<'m> Plans<'m> {
    pub(super) fn of_entity(&self, entity: &'m Entity, pattern: &'m Pattern) -> Option<Script> {
        match pattern {
            Pattern::Bucket(bucket) => self.bucket(entity, bucket),
            Pattern::TimeSeries { .. } => self.time_series(entity),
            Pattern::DocumentVersioning => self.versions(entity),
            Pattern::SchemaVersioning { current } => self.shapes(entity, *current),
            Pattern::Archive { days } => self.archive(entity, *days),
            Pattern::Attribute { fields } => self.attributes(entity, fields.first()?),
            Pattern::Polymorphic { discriminator } => self.kinds(entity, discriminator),
            _ => None,
        }
    }

    pub(super) fn beside(&self, entity: &Entity, purpose: &Purpose) -> Option<&'m CollectionPlan> {
        self.design
            .collections
            .iter()
            .find(|collection| collection.entity == entity.name && collection.purpose == *purpose)
    }

    fn versions(&self, entity: &'m Entity) -> Option<Script> {
        let home = self.own(&entity.name)?;
        let versions = self.beside(entity, &Purpose::Versions)?;
        let held = self.layout.naming.id_of(&entity.name);
        let id = js::parameter(&held);
        let current = doc! { "_id": given(&id), "version": given("version") };
        let copy =
            doc! { SPREAD: given("found"), "_id": given("new ObjectId()"), &held: given(&id) };
        let conflict = quote("another client has changed it in the meantime: read it again");
        let save = js::function(&["save", &entity.name]);
        let list = js::function(&["list versions of", &entity.name]);
        let jobs = vec![
            Job {
                name: save.clone(),
                parameters: vec![id.clone(), "version".to_owned(), "changes".to_owned()],
                does: "Changes a document if it still has the version that was read, and keeps \
                 the old version. The copy is made first: a crash in between leaves a copy of the \
                 current version, which the next attempt finds."
                    .to_owned(),
                clauses: Vec::new(),
                steps: vec![
                    Step::Let(
                        "found",
                        Statement::new(&home.name, Method::FindOne, [current.clone().into()]),
                    ),
                    Step::Code(format!("if (found === null) throw new Error({conflict});")),
                    Step::Code("try {".to_owned()),
                    Step::Code(format!("  {};", Statement::insert(&versions.name, copy).shell(2))),
                    Step::Code(
                        "} catch (error) {\n  if (error.code !== 11000) throw error;\n}".to_owned(),
                    ),
                    Step::Let(
                        "done",
                        Statement::update(
                            &home.name,
                            current,
                            doc! { "$set": given("changes"), "$inc": { "version": 1 } },
                        ),
                    ),
                    Step::Code(format!(
                        "if (done.matchedCount === 0) throw new Error({conflict});"
                    )),
                    Step::Code("return version + 1;".to_owned()),
                ],
            },
            Job {
                name: list.clone(),
                parameters: vec![id.clone()],
                does: "Returns old versions, newest first.".to_owned(),
                clauses: Vec::new(),
                steps: vec![Step::Return(
                    Statement::find(&versions.name, doc! { &held: given(&id) })
                        .then("sort", doc! { "version": -1 }),
                )],
            },
        ];
        let field =
            entity.fields.iter().find(|f| f.kind == BsonType::String && f.values.is_empty());
        let changes = field.map_or_else(
            || "{ revised: true }".to_owned(),
            |f| js::object(&doc! { &f.name: given("\"revised \" + unique()") }, 0),
        );
        let check = vec![
            format!("const root = {};", self.made(home)),
            format!("at.getCollection({}).insertOne(root);", quote(&home.name)),
            format!("expect(\"the next version\", {save}(at, root._id, 1, {changes}), 2);"),
            format!(
                "refused(\"an old version is not changed\", null, () => {save}(at, root._id, 1, {changes}));"
            ),
            format!("{save}(at, root._id, 2, {changes});"),
            format!(
                "expect(\"old versions are kept\", {list}(at, root._id).map((one) => one.version), [2, 1]);"
            ),
            format!(
                "expect(\"one document is current\", at.getCollection({}).findOne({{ _id: root._id }}).version, 3);",
                quote(&home.name)
            ),
        ];
        Some(Script {
            about: entity.name.clone(),
            pattern: "document-versioning",
            intro: format!(
                "Old versions of `{}` are stored in `{}`, so queries for current ones never find \
                 them.",
                entity.name, versions.name
            ),
            jobs,
            check,
        })
    }

    fn shapes(&self, entity: &'m Entity, current: u64) -> Option<Script> {
        let home = self.own(&entity.name)?;
        let shape = self.layout.shape();
        let (upgrade, count) = (
            js::function(&["upgrade", &entity.name]),
            js::function(&["count old shapes of", &entity.name]),
        );
        // Documents without a version are older than all versions.
        let old = doc! { &shape: { "$not": { "$gte": current as i32 } } };
        let some = Statement::new(
            &home.name,
            Method::Find,
            [old.clone().into(), doc! { "_id": 1 }.into()],
        )
        .then("limit", given("limit"));
        let mut one = doc! { "_id": given("_id") };
        one.extend(old.clone());
        let one = Statement::new(&home.name, Method::FindOne, [one.into()]);
        let put = Statement::update(&home.name, unchanged("_id", "before"), given("update"));
        let versions = self.beside(entity, &Purpose::Versions).is_some();
        let mut next = doc! { SPREAD: given("change(document)"), "_id": given("_id") };
        next.insert(&shape, current as i32);
        let (mut kept, mut update) = (String::new(), doc! { "$set": given("set") });
        let mut does = format!(
            "Upgrades documents of older shapes to shape {current}, in batches of the given size; \
             `change` converts an old document to the new shape. Call it until it returns 0. It \
             loses no concurrent writes: it reads and changes such a document again, unless the \
             other client has already upgraded it. Readers must accept both shapes until no old \
             one is left."
        );
        if versions {
            kept = "name !== \"version\" && ".to_owned();
            update.insert("$inc", doc! { "version": 1 });
            does.push_str(
                " It stores no old version, because the content is the same. It \
             increases `version`, so clients that have read the old shape must read again before \
             they save.",
            );
        }
        let jobs = vec![
            Job {
                name: upgrade.clone(),
                parameters: vec!["change".to_owned(), "limit = 1000".to_owned()],
                does,
                clauses: Vec::new(),
                steps: vec![
                    Step::Let("old", some),
                    Step::Code("const text = (value) => EJSON.stringify(value, { relaxed: false });\nlet upgraded = 0;".to_owned()),
                    Step::Code("for (const { _id } of old) {\n  for (let attempt = 0; ; \
                     attempt++) {\n    if (attempt === 100) throw new Error(`${_id} changes too \
                     often`);".to_owned()),
                    Step::Code("    // Read twice, because `change` may modify its \
                     argument.".to_owned()),
                    Step::Code(format!("    const before = {};", one.shell(4))),
                    Step::Code(format!("    const document = {};", one.shell(4))),
                    Step::Code("    if (before === null || document === null) break;".to_owned()),
                    Step::Code(format!("    const next = {};", js::object(&next, 4))),
                    Step::Code(format!("    const set = Object.fromEntries(\n      Object.entries(next).filter(([name, value]) => {kept}text(value) !== text(before[name])),\n    );")),
                    Step::Code("    const gone = Object.keys(before).filter((name) => next[name] === undefined);".to_owned()),
                    Step::Code(format!("    const update = {};", js::object(&update, 4))),
                    Step::Code("    if (gone.length > 0) update.$unset = Object.fromEntries(gone.map((name) => [name, \"\"]));".to_owned()),
                    Step::Code(format!("    const done = {};", put.shell(4))),
                    Step::Code("    if (done.matchedCount === 0) continue;\n    upgraded++;\n    break;\n  }\n}\nreturn upgraded;".to_owned()),
                ],
            },
            Job {
                name: count.clone(),
                parameters: Vec::new(),
                does: "Counts the remaining documents of older shapes, with their index.".to_owned(),
                clauses: Vec::new(),
                steps: vec![Step::Return(Statement::new(
                    &home.name,
                    Method::CountDocuments,
                    [old.into()],
                ))],
            },
        ];
        let collection = quote(&home.name);
        let made = self.made(home);
        let of_shape = |version: u64| {
            let mut document = doc! { SPREAD: given(&made) };
            document.insert(&shape, version as i32);
            js::object(&document, 0)
        };
        let mut check = vec![
            format!("const root = {made};"),
            format!("at.getCollection({collection}).insertOne(root);"),
            format!("expect(\"new ones are current\", {count}(at), 0);"),
        ];
        if current > 1 {
            check.push(format!(
                "at.getCollection({collection}).insertMany([{}, {}]);",
                of_shape(current - 1),
                of_shape(1)
            ));
            check.push(format!("expect(\"two are old\", {count}(at), 2);"));
            check.push(format!(
                "expect(\"they are brought up\", {upgrade}(at, (document) => document), 2);"
            ));
            check.push(format!("expect(\"none is left\", {count}(at), 0);"));
            check.push(format!(
                "expect(\"nothing more to do\", {upgrade}(at, (document) => document), 0);"
            ));
            check.push(format!("const late = {};", of_shape(current - 1)));
            check.push(format!(
                "at.getCollection({collection}).insertOne({{ ...late, formerly: 1 }});"
            ));
            check.push(format!(
                "let changed = 0;\n{upgrade}(at, (document) => {{\n  if (changed++ === 0) at.getCollection({collection}).updateOne({{ _id: late._id }}, {{ $set: {{ meanwhile: 1 }} }});\n  document.upgraded = true;\n  delete document.formerly;\n  return document;\n}});"
            ));
            check.push(format!(
                "const upgraded = at.getCollection({collection}).findOne({{ _id: late._id }});"
            ));
            check.push(
                "expect(\"what others write meanwhile is not lost\", [upgraded.meanwhile, upgraded.upgraded, upgraded.formerly ?? 0, changed], [1, true, 0, 2]);".to_owned(),
            );
            check.push(format!(
                "expect(\"and it is current\", Number({}), {current});",
                member_of("upgraded", &shape)
            ));
            if versions {
                check.push(
                    "expect(\"whoever read the old shape must read again\", upgraded.version, late.version + 1);".to_owned(),
                );
            }
        }
        check.push(format!(
            "refused(\"no document without its shape\", 121, () => at.getCollection({collection}).insertOne({{ ...{made}, {}: undefined }}));",
            docward_model::shell::key(&shape)
        ));
        Some(Script {
            about: entity.name.clone(),
            pattern: "schema-versioning",
            intro: format!(
                "The field `{shape}` of `{}` has the version of the shape; {current} is the \
                 current one.",
                entity.name
            ),
            jobs,
            check,
        })
    }

    fn attributes(&self, entity: &'m Entity, first: &str) -> Option<Script> {
        let home = self.own(&entity.name)?;
        let find = js::function(&["find", &entity.name, "by attribute"]);
        let set = js::function(&["set", &entity.name, "attribute"]);
        let id = js::parameter(&self.layout.naming.id_of(&entity.name));
        let pair = doc! { "k": given("name"), "v": given("value") };
        let most = home
            .fields
            .iter()
            .find(|field| field.name == "attributes")
            .and_then(|field| field.items)
            .map_or(999, |items| items.max);
        let known = doc! { "_id": given(&id), "attributes.k": given("name") };
        let change = doc! { "$set": { "attributes.$.v": given("value") } };
        let mut room = doc! { "_id": given(&id), "attributes.k": { "$ne": given("name") } };
        let last = format!("attributes.{}", most - 1);
        room.insert(last.clone(), doc! { "$exists": false });
        let may_be_set = doc! {
            "_id": given(&id),
            "$or": [{ "attributes.k": given("name") }, { last: { "$exists": false } }],
        };
        let jobs = vec![
            Job {
                name: find.clone(),
                parameters: vec!["name".to_owned(), "value".to_owned()],
                does: "Finds documents by any attribute: one index on name and value serves all of them. \
                 `$elemMatch` requires name and value in the same element."
                    .to_owned(),
                clauses: Vec::new(),
                steps: vec![Step::Return(Statement::find(
                    &home.name,
                    doc! { "attributes": { "$elemMatch": pair.clone() } },
                ))],
            },
            Job {
                name: set.clone(),
                parameters: vec![id, "name".to_owned(), "value".to_owned()],
                does: "Sets an attribute: changes the existing element, or adds one.".to_owned(),
                clauses: vec!["DM-08.2"],
                steps: vec![Step::Retry(vec![
                    Step::Let("done", Statement::update(&home.name, known, change)),
                    Step::Code("if (done.matchedCount === 1) return true;".to_owned()),
                    Step::Let(
                        "added",
                        Statement::update(
                            &home.name,
                            room,
                            doc! { "$push": { "attributes": pair } },
                        ),
                    ),
                    Step::Code("if (added.matchedCount === 1) return true;".to_owned()),
                    Step::Note(
                        "Another writer may have added or removed it between the two \
                     writes."
                            .to_owned(),
                    ),
                    Step::Let(
                        "open",
                        Statement::new(&home.name, Method::FindOne, [may_be_set.into()]),
                    ),
                    Step::Code("if (open === null || attempt === 100) return false;".to_owned()),
                ])],
            },
        ];
        let kind = entity.field(first)?.kind;
        let value = js::value(&self.maker(false).scalar(first, kind, &[], 7), 0);
        let name = quote(first);
        let collection = quote(&home.name);
        let check = vec![
            format!("const root = {{ ...{}, attributes: [] }};", self.made(home)),
            format!("at.getCollection({collection}).insertOne(root);"),
            format!("expect(\"it is added\", {set}(at, root._id, {name}, {value}), true);"),
            format!("expect(\"it is changed\", {set}(at, root._id, {name}, {value}), true);"),
            format!(
                "expect(\"there is one of a name\", at.getCollection({collection}).findOne({{ _id: root._id }}).attributes.length, 1);"
            ),
            format!(
                "expect(\"it is found\", {find}(at, {name}, {value}).some((one) => String(one._id) === String(root._id)), true);"
            ),
        ];
        Some(Script {
            about: entity.name.clone(),
            pattern: "attribute",
            intro: format!(
                "Similar fields of `{}` with similar queries are stored as a list of names and \
                 values.",
                entity.name
            ),
            jobs,
            check,
        })
    }

    fn kinds(&self, entity: &'m Entity, discriminator: &str) -> Option<Script> {
        let home = self.own(&entity.name)?;
        let name = js::function(&["list", &entity.name, "of kind"]);
        let filter = doc! { SPREAD: given("more"), discriminator: given("kind") };
        let job = Job {
            name: name.clone(),
            parameters: vec!["kind".to_owned(), "more = {}".to_owned()],
            does: format!(
                "Finds documents of one kind. Queries use indexes on fields of one kind only if \
                 they name `{discriminator}`."
            ),
            clauses: vec!["PT-poly.1", "PT-poly.2", "SN-09"],
            steps: vec![Step::Return(Statement::find(&home.name, filter))],
        };
        let collection = quote(&home.name);
        let kind = quote(&entity.variants.first()?.name);
        let mut check = vec![
            format!("const root = {};", self.made(home)),
            format!("at.getCollection({collection}).insertOne(root);"),
            format!(
                "expect(\"its kind is found\", {name}(at, {kind}).some((one) => String(one._id) === String(root._id)), true);"
            ),
            format!(
                "refused(\"no document is of a kind that is not declared (PT-poly.1)\", 121, () => at.getCollection({collection}).insertOne({{ ...{}, {}: \"no such kind\" }}));",
                self.made(home),
                docward_model::shell::key(discriminator)
            ),
        ];
        // The server could use another index with the same first field instead.
        let leads = |name: &str| {
            let first = home.indexes.iter().filter_map(|index| index.keys.first());
            first.filter(|(first, _)| first == name).count()
        };
        let of_one_kind = home.indexes.iter().find_map(|index| match &index.only {
            Some(Partial::Is(_, kind)) => {
                let (field, _) = index.keys.first().filter(|(first, _)| leads(first) == 1)?;
                Some((field, kind))
            }
            _ => None,
        });
        if let Some((field, kind)) = of_one_kind {
            let with = doc! { field: 1, discriminator: kind.clone() };
            let without = doc! { field: 1 };
            for (query, used, what) in [
                (with, true, "the index of one kind is used when the kind is named (SN-09)"),
                (without, false, "and only then"),
            ] {
                check.push(format!(
                    "expect({}, stages(at.getCollection({collection}).find({}).explain()).includes(\"IXSCAN\"), {used});",
                    quote(what),
                    js::object(&query, 0)
                ));
            }
        }
        Some(Script {
            about: entity.name.clone(),
            pattern: "polymorphic",
            intro: format!(
                "Kinds of `{}` in one collection, distinguished by `{discriminator}`; the \
                 validator checks the fields of each.",
                entity.name
            ),
            jobs: vec![job],
            check,
        })
    }

    /// Returns the function for a count that is written once for many events.
    pub(super) fn approximation(
        &self,
        relationship: &'m Relationship,
        decision: &Decision,
        parent: &CollectionPlan,
        parent_id: &str,
    ) -> Option<(Job, Vec<String>)> {
        let step = decision.patterns.iter().find_map(|pattern| match pattern {
            Pattern::Approximation { step } => Some(*step),
            _ => None,
        })?;
        let count = self.layout.count(relationship);
        let parents = parent.name.as_str();
        let name = self.name("count", relationship, false);
        let more = given(format!("by * {step}"));
        let sum = doc! { "$add": [{ "$ifNull": [format!("${count}"), 0] }, more] };
        let update = Statement::update(
            parents,
            by_id(parent_id),
            vec![Bson::from(doc! { "$set": { &count: { "$max": [0, sum] } } })],
        );
        let job = Job {
            name: name.clone(),
            parameters: vec![
                parent_id.to_owned(),
                "chance = Math.random()".to_owned(),
                "by = 1".to_owned(),
            ],
            does: format!(
                "Counts one new event, or one removed event if `by` is -1, with sampling: about \
                 one call in {step} writes and counts for {step}, so `{count}` is approximate and \
                 never below 0."
            ),
            clauses: vec!["PT-computed.2", "SN-04"],
            steps: vec![
                Step::Code(format!("if (chance >= 1 / {step}) return false;")),
                Step::Let("done", update),
                Step::Code("return done.matchedCount === 1;".to_owned()),
            ],
        };
        let found = format!("at.getCollection({}).findOne({{ _id: root._id }})", quote(parents));
        let read = at(&found, &count);
        let check = vec![
            format!("const was = Number({read});"),
            format!("expect(\"most events are not written\", {name}(at, root._id, 0.99), false);"),
            format!("expect(\"one in {step} is\", {name}(at, root._id, 0), true);"),
            format!("expect(\"and counts for {step}\", Number({read}) - was, {step});"),
            format!("{name}(at, root._id, 0, -1);"),
            format!("expect(\"a removed one is subtracted\", Number({read}) - was, 0);"),
            format!("for (let i = 0; i <= was / {step}; i++) {name}(at, root._id, 0, -1);"),
            format!("expect(\"down to 0 and no further\", Number({read}), 0);"),
        ];
        Some((job, check))
    }

    /// Returns an expression that creates a new document of a collection for a check. Each document
    /// can be inserted.
    pub(crate) fn fresh(&self, collection: &CollectionPlan) -> String {
        let mut document = self.maker(true).document(collection);
        if document.contains_key("_id") {
            document.insert("_id", given("new ObjectId()"));
        }
        let entity = self.layout.model.entity(&collection.entity);
        self.differing(&mut document, &collection.fields, entity);
        own_ids(&mut document, &collection.fields, collection, "");
        factory(&document)
    }

    /// Makes unique fields differ between documents, also in nested objects.
    pub(super) fn differing(
        &self,
        document: &mut Document,
        fields: &[Planned],
        entity: Option<&Entity>,
    ) {
        let model = self.layout.model;
        let day = day(model);
        for field in fields {
            let unique = entity.and_then(|entity| entity.field(&field.name));
            let unique = unique.is_some_and(|f| f.unique) && document.contains_key(&field.name);
            if unique && field.values.is_empty() {
                document.insert(field.name.clone(), given(vary(field, true, day)));
            }
            if let Origin::Embedded(name) = &field.origin
                && let Ok(inside) = document.get_document_mut(&field.name)
            {
                let child = model.relationship(name).and_then(|r| model.entity(&r.child));
                if inside.contains_key("_id") {
                    inside.insert("_id", given("new ObjectId()"));
                }
                self.differing(inside, &field.fields, child);
            }
        }
    }
}

/// Gives each document its own id in fields with a unique index, also in nested objects.
fn own_ids(document: &mut Document, fields: &[Planned], collection: &CollectionPlan, above: &str) {
    for field in fields {
        let path = format!("{above}{}", field.name);
        if let Origin::Embedded(_) = &field.origin
            && let Ok(inside) = document.get_document_mut(&field.name)
        {
            own_ids(inside, &field.fields, collection, &format!("{path}."));
        }
        let is_id =
            field.kind == BsonType::ObjectId && matches!(field.origin, Origin::Reference(_));
        if is_id && document.contains_key(&field.name) && is_one_of_each(collection, &path) {
            document.insert(&field.name, given("new ObjectId()"));
        }
    }
}
