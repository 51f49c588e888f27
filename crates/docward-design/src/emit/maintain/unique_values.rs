//! Values that a separate collection keeps unique, because the shard key prevents a unique index.

use bson::{Document, doc};
use docward_model::Entity;

use crate::declared::field_plan::Origin;
use crate::emit::expectations::{Check, stored};
use crate::emit::js::{self, given};
use crate::emit::statement::{Job, Method, Script, Statement, Step};
use crate::layout::collection::{CollectionPlan, Purpose};
use crate::layout::shard_key::UniqueLookup;

use super::plans::{Plans, vary};

impl<'m> Plans<'m> {
    /// Returns the functions for the unique values of an entity.
    pub(super) fn unique_values(&self, entity: &'m Entity) -> Vec<Script> {
        let home = self.own(&entity.name);
        let plan = home.and_then(|home| Some((home, home.shard.as_ref()?)));
        let all = plan.into_iter().flat_map(|(home, plan)| {
            plan.lookups.iter().filter_map(|lookup| self.of_values(home, lookup))
        });
        all.collect()
    }

    fn of_values(&self, home: &CollectionPlan, lookup: &UniqueLookup) -> Option<Script> {
        let is_it = |c: &&CollectionPlan| {
            matches!(c.purpose, Purpose::UniqueValues(_)) && c.name == lookup.collection
        };
        let values = self.design.collections.iter().find(is_it)?;
        let value = values.fields.first()?;
        let (entity, path) = (home.entity.as_str(), lookup.field.as_str());
        let (one, id) = (js::parameter(path), js::parameter(&lookup.holder));
        let name = |verb: &str| js::function(&[verb, entity, path]);
        let copies = values.fields.iter().filter(|f| matches!(f.origin, Origin::Copy(_)));
        let copies: Vec<&str> = copies.map(|field| field.name.as_str()).collect();
        let pair = || doc! { "_id": given(&one), &lookup.holder: given(&id) };
        let mut claimed = pair();
        let mut parameters = vec![one.clone(), id.clone()];
        for copy in &copies {
            claimed.insert(*copy, given(js::parameter(copy)));
            parameters.push(js::parameter(copy));
        }
        let claim = Job {
            name: name("claim"),
            parameters,
            does: format!(
                "Claims a value of `{path}` for a `{entity}`. Call it in the transaction that \
                 stores the value in `{}`. Error 11000 means that the value is taken.",
                home.name
            ),
            clauses: Vec::new(),
            steps: vec![Step::Run(Statement::insert(&lookup.collection, claimed))],
        };
        let release = Job {
            name: name("release"),
            parameters: vec![one.clone(), id.clone()],
            does: format!(
                "Frees a value of `{path}`. Call it in the transaction that changes the value or \
                 deletes the `{entity}`."
            ),
            clauses: Vec::new(),
            steps: vec![Step::Run(Statement::new(
                &lookup.collection,
                Method::DeleteMany,
                [pair().into()],
            ))],
        };
        let by_value: Document = doc! { "_id": given(&one) };
        let by_id: Document = doc! { "_id": given(js::member_of("found", &lookup.holder)) };
        let find = Job {
            name: js::function(&["find", entity, "by", path]),
            parameters: vec![one.clone()],
            does: format!(
                "Returns the `{entity}` with a value of `{path}`, or null. It reads two documents, \
                 each from one shard if the shard key is `_id`."
            ),
            clauses: Vec::new(),
            steps: vec![
                Step::Let(
                    "found",
                    Statement::new(&lookup.collection, Method::FindOne, [by_value.into()]),
                ),
                Step::return_if("found === null", "null"),
                Step::Return(Statement::new(&home.name, Method::FindOne, [by_id.into()])),
            ],
        };
        let there = stored(&lookup.collection);
        let dates = ", new Date()".repeat(copies.len());
        let claims = |of: &str| format!("{}(at, one, {of}{dates})", claim.name);
        let found = |what: &str| format!("{}(at, one){what}", find.name);
        let mut check = Check::default();
        check.insert("root", &home.name);
        check.set("one", vary(value, true, 0));
        check.run(format!("{};", claims("root._id")));
        check.refused("a taken value is refused", 11000, claims("new ObjectId()"));
        check.expect("its document", found("._id"), "root._id");
        check.run(format!("{}(at, one, root._id);", release.name));
        check.expect("the value is free", format!("{there}.countDocuments({{ _id: one }})"), 0);
        check.expect("no document", found(""), "null");
        Some(Script {
            about: format!("{entity}.{path}"),
            pattern: "unique",
            intro: format!(
                "The shard key of `{}` prevents a unique index on `{path}`: `{}` keeps its values \
                 unique.",
                home.name, lookup.collection
            ),
            jobs: vec![claim, release, find],
            check,
        })
    }
}
