//! The test plan as a script. It runs every function in a scratch database and compares the results
//! with expectations.

use bson::doc;
use docward_model::DesignModel;
use docward_model::shell::quote;

use crate::emit::example::example;
use crate::emit::expectations::{Check, made, stored};
use crate::emit::js::{self, SPREAD, given};
use crate::emit::maintain::Plans;
use crate::emit::statement::Script;
use crate::layout::collection::{CollectionPlan, Purpose};

use super::heading;

/// The names in upper case stand for generated code.
const SCRIPT: &str = include_str!("scripts/check.js");

pub(super) fn script(model: &DesignModel, plans: &Plans<'_>, scripts: &[Script]) -> String {
    let name = format!("{}_check", plans.design.database);
    let heading = heading(&format!(
        "Tests all scripts in a scratch database, which must not exist, and drops it at the end: \
         mongosh <uri> check.js. The database is `{name}`; to use another: mongosh <uri> --eval \
         'var scratch = \"name\"' check.js. It first drops the database of an interrupted check, \
         so two checks at the same time need two names. It ends with an error if a test fails.",
    ));
    let makers = plans.design.collections.iter();
    let makers = makers.map(|one| format!("{}: {}", quote(&one.name), plans.fresh(one))).collect();
    let loads: Vec<String> = scripts
        .iter()
        .map(|script| quote(&format!("/patterns/{}", script.file())))
        .map(|path| format!("load(__dirname + {path});"))
        .collect();
    let mut checks = block("validators", &validators(model, plans));
    checks.extend(scripts.iter().map(|script| block(&script.file(), &script.check)));
    let parts = [
        ("NAME", quote(&name)),
        ("MAKERS", js::enclosed("{", makers, "}", 0)),
        ("LOADS", loads.join("\n")),
        ("CHECKS", checks.trim_end().to_owned()),
    ];
    let (mut text, mut rest) = (heading, SCRIPT);
    for (place, code) in parts {
        let (before, after) = rest.split_once(place).unwrap_or((rest, ""));
        text.extend([before, code.as_str()]);
        rest = after;
    }
    text + rest
}

fn block(name: &str, check: &Check) -> String {
    let mut text = format!("\n  section = {};\n  {{\n", quote(name));
    for line in check.lines() {
        text.push_str(&format!("    {line}\n"));
    }
    text.push_str("  }\n");
    text
}

/// Checks that each validator accepts its example and refuses a field of an unknown type (DM-11).
fn validators(model: &DesignModel, plans: &Plans<'_>) -> Check {
    let mut check = Check::default();
    let plain =
        |collection: &&CollectionPlan| !matches!(collection.purpose, Purpose::TimeSeries { .. });
    for collection in plans.design.collections.iter().filter(plain) {
        let stored = stored(&collection.name);
        let sample = js::object(&example(model, collection), 0);
        check.run(format!("{stored}.insertOne({sample});"));
        let Some(field) = collection.fields.iter().find(|field| field.name != "_id") else {
            continue;
        };
        let bad = doc! { SPREAD: given(made(&collection.name)), &field.name: bson::Bson::MinKey };
        let call = format!("{stored}.insertOne({})", js::object(&bad, 0));
        check.refused(&format!("a bad `{}` in {}", field.name, collection.name), 121, call);
        check.run(format!("{stored}.deleteMany({{}});"));
    }
    check
}
