//! Patterns of single entities: versions, attributes and kinds.

use bson::doc;
use docward_model::shell::{key, quote};
use docward_model::{BsonType, Entity};

use crate::decide::pattern::Pattern;
use crate::emit::expectations::{Check, made, root_in, stored};
use crate::emit::js::{self, SPREAD, given};
use crate::emit::statement::{Job, Method, Script, Statement, Step};
use crate::layout::collection::{CollectionPlan, Purpose};
use crate::layout::index_plan::Partial;

use super::plans::Plans;

impl<'m> Plans<'m> {
    pub(super) fn of_entity(&self, entity: &'m Entity, pattern: &'m Pattern) -> Option<Script> {
        match pattern {
            Pattern::Bucket(bucket) => self.bucket(entity, bucket),
            Pattern::TimeSeries { .. } => self.time_series(entity),
            Pattern::DocumentVersioning => self.versions(entity),
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
        let conflict = "another client has changed it in the meantime: read it again";
        let save = js::function(&["save", &entity.name]);
        let list = js::function(&["list versions of", &entity.name]);
        let found = Statement::new(&home.name, Method::FindOne, [current.clone().into()]);
        let change = doc! { "$set": given("changes"), "$inc": { "version": 1 } };
        let copied = vec![Step::Run(Statement::insert(&versions.name, copy))];
        let steps = [
            Step::Let("found", found),
            Step::fail_if("found === null", conflict),
            Step::Block("try {".to_owned(), copied, "} catch (error) {"),
            Step::code("  if (error.code !== 11000) throw error;\n}"),
            Step::Let("done", Statement::update(&home.name, current, change)),
            Step::fail_if("done.matchedCount === 0", conflict),
            Step::code("return version + 1;"),
        ];
        let does = "Changes a document if it still has the version that was read, and keeps the \
                    old version. The copy is made first: a crash in between leaves a copy of the \
                    current version, which the next attempt finds.";
        let old = Statement::find(&versions.name, doc! { &held: given(&id) });
        let old = Step::Return(old.then("sort", doc! { "version": -1 }));
        let jobs = vec![
            Job::new(&save, &[&id, "version", "changes"], does, steps),
            Job::new(&list, &[&id], "Old versions, newest first.", [old]),
        ];
        let field =
            entity.fields.iter().find(|f| f.kind == BsonType::String && f.values.is_empty());
        let changes = field.map_or_else(
            || "{ revised: true }".to_owned(),
            |f| js::object(&doc! { &f.name: given("\"revised \" + unique()") }, 0),
        );
        let saved = |version: u8| format!("{save}(at, root._id, {version}, {changes})");
        let mut check = Check::default();
        check.insert("root", &home.name);
        check.expect("the next version", saved(1), 2);
        check.fails("an old version is not changed", saved(1));
        check.run(saved(2) + ";");
        let kept = format!("{list}(at, root._id).map((one) => one.version)");
        check.expect("old versions are kept", kept, "[2, 1]");
        check.expect("one document is current", root_in(&home.name) + ".version", 3);
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

    fn attributes(&self, entity: &'m Entity, first: &str) -> Option<Script> {
        let home = self.own(&entity.name)?;
        let find = js::function(&["find", &entity.name, "by attribute"]);
        let set = js::function(&["set", &entity.name, "attribute"]);
        let id = js::parameter(&self.layout.naming.id_of(&entity.name));
        let pair = doc! { "k": given("name"), "v": given("value") };
        let list = home.fields.iter().find(|field| field.name == "attributes");
        let most = list.and_then(|field| field.items).map_or(999, |items| items.max);
        let last = format!("attributes.{}", most - 1);
        let known = doc! { "_id": given(&id), "attributes.k": given("name") };
        let change = doc! { "$set": { "attributes.$.v": given("value") } };
        let mut room = doc! { "_id": given(&id), "attributes.k": { "$ne": given("name") } };
        room.insert(last.clone(), doc! { "$exists": false });
        let may_be_set = doc! {
            "_id": given(&id),
            "$or": [{ "attributes.k": given("name") }, { last: { "$exists": false } }],
        };
        let by_pair = doc! { "attributes": { "$elemMatch": pair.clone() } };
        let push = doc! { "$push": { "attributes": pair } };
        let open = Statement::new(&home.name, Method::FindOne, [may_be_set.into()]);
        let steps = vec![
            Step::Let("done", Statement::update(&home.name, known, change)),
            Step::return_if("done.matchedCount === 1", "true"),
            Step::Let("added", Statement::update(&home.name, room, push)),
            Step::return_if("added.matchedCount === 1", "true"),
            Step::note("Another writer may have added or removed it between the two writes."),
            Step::Let("open", open),
            Step::return_if("open === null || attempt === 100", "false"),
        ];
        let finds = "Finds by any attribute: one index on name and value serves all of them. \
                     `$elemMatch` requires name and value in the same element.";
        let found = Step::Return(Statement::find(&home.name, by_pair));
        let sets = "Sets an attribute: changes the existing element, or adds one.";
        let jobs = vec![
            Job::new(&find, &["name", "value"], finds, [found]),
            Job::new(&set, &[&id, "name", "value"], sets, [Step::Retry(steps)]).by(&["DM-08.2"]),
        ];
        let kind = entity.field(first)?.kind;
        let value = js::value(&self.maker(false).scalar(first, kind, &[], 7), 0);
        let name = quote(first);
        let mut check = Check::default();
        check.set("root", format!("{{ ...{}, attributes: [] }}", made(&home.name)));
        check.run(format!("{}.insertOne(root);", stored(&home.name)));
        let call = format!("{set}(at, root._id, {name}, {value})");
        check.expect("it is added", &call, true);
        check.expect("it is changed", call, true);
        let number = root_in(&home.name) + ".attributes.length";
        check.expect("there is one of a name", number, 1);
        let call = format!("{find}(at, {name}, {value})");
        check.expect("it is found", format!("{call}{HAS_ROOT}"), true);
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
        let does = format!(
            "Finds documents of one kind. Queries use indexes on fields of one kind only if they \
             name `{discriminator}`."
        );
        let find = Step::Return(Statement::find(&home.name, filter));
        let job = Job::new(&name, &["kind", "more = {}"], does, [find]).by(&[
            "PT-poly.1",
            "PT-poly.2",
            "SN-09",
        ]);
        let kind = quote(&entity.variants.first()?.name);
        let things = stored(&home.name);
        let mut check = Check::default();
        check.insert("root", &home.name);
        check.expect("its kind is found", format!("{name}(at, {kind}){HAS_ROOT}"), true);
        let bad =
            format!("{{ ...{}, {}: \"no such kind\" }}", made(&home.name), key(discriminator));
        let what = "no document is of a kind that is not declared (PT-poly.1)";
        check.refused(what, 121, format!("{things}.insertOne({bad})"));
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
                let plan = format!("stages({things}.find({}).explain())", js::object(&query, 0));
                check.expect(what, format!("{plan}.includes(\"IXSCAN\")"), used);
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
}

/// Tells in a check whether a list of documents contains `root`.
const HAS_ROOT: &str = ".some((one) => String(one._id) === String(root._id))";
