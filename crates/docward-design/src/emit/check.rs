//! The test plan as a script. It runs every function in a scratch database and compares the results
//! with expectations.

use bson::doc;
use docward_model::DesignModel;
use docward_model::shell::quote;

use crate::emit::example::example;
use crate::emit::js::{self, SPREAD, given};
use crate::emit::maintain::Plans;
use crate::emit::statement::Script;
use crate::layout::collection::Purpose;

use super::heading;

const HELP: &str = r#"
var at = db.getSiblingDB(database);
// An interrupted check leaves a marked database; the next check drops it. A database without the mark
// belongs to someone else.
var mark = "docward_check";
var taken = at.getCollectionNames();
if (taken.includes(mark)) at.dropDatabase();
else if (taken.length > 0) throw new Error(`${database} is in use: name another scratch database`);
at.getCollection(mark).insertOne({ _id: "a scratch database of check.js" });
var held = 0;
var failed = [];
var transactions = typeof db.hello().setName === "string" || db.hello().msg === "isdbgrid";
var counted = 0;
function unique() {
  return ++counted;
}
function expect(what, actual, wanted) {
  if (EJSON.stringify(actual) === EJSON.stringify(wanted)) {
    held++;
    return;
  }
  failed.push(`${section}: ${what}: ${EJSON.stringify(actual)} instead of ${EJSON.stringify(wanted)}`);
}
function refused(what, code, work) {
  try {
    work();
  } catch (error) {
    if (code === null || error.code === code) {
      held++;
      return;
    }
    failed.push(`${section}: ${what}: ${error}`);
    return;
  }
  failed.push(`${section}: ${what}: it was not refused`);
}
function near(a, b) {
  return Math.abs(a - b) < 1e-9 * Math.max(1, Math.abs(b));
}
/** Values without their types, for comparing what was sent with what was stored. */
function plain(value) {
  return JSON.parse(EJSON.stringify(value));
}
/** The stages of an explained plan. */
function stages(plan) {
  return JSON.stringify(plan.queryPlanner.winningPlan);
}
/** Waits for all, so that no write is still running when the first failure ends the check. */
async function together(work) {
  const ended = await Promise.allSettled(work);
  const bad = ended.find((one) => one.status === "rejected");
  if (bad) throw bad.reason;
}
var section = "";
"#;

const PREPARE: &str = r#"  section = "01-collections.js and 02-indexes.js";
  for (const file of ["01-collections.js", "02-indexes.js"]) {
    load(__dirname + "/" + file);
    // Run the scripts twice, because they must be repeatable.
    load(__dirname + "/" + file);
  }
  // The documents have dates of the model, so expiry is turned off during the check.
  for (const { name } of at.getCollectionInfos({ type: "collection" })) {
    for (const index of at.getCollection(name).getIndexes()) {
      if (index.expireAfterSeconds === undefined) continue;
      at.runCommand({ collMod: name, index: { name: index.name, expireAfterSeconds: 2147483647 } });
    }
  }
"#;

/// Ends the script with a value that the shell waits for.
const END: &str = r#"
async function checkAll() {
  try {
    await check();
  } catch (error) {
    failed.push(`${section}: ended by: ${error.message} ${EJSON.stringify(error.errInfo ?? {})}`);
  } finally {
    at.dropDatabase();
  }
  if (failed.length > 0) {
    const all = held + failed.length;
    throw new Error(`${failed.length} of ${all} checks failed:\n${failed.join("\n")}`);
  }
  print(held === 1 ? "1 check holds" : `${held} checks hold`);
}
checkAll();
"#;

pub(super) fn script(model: &DesignModel, plans: &Plans<'_>, scripts: &[Script]) -> String {
    let name = format!("{}_check", plans.design.database);
    let mut text = heading(&format!(
        "Tests all scripts in a scratch database, which must not exist, and drops it at the end: \
         mongosh <uri> check.js. The database is `{name}`; to use another: mongosh <uri> --eval \
         'var scratch = \"name\"' check.js. It first drops the database of an interrupted check, \
         so two checks at the same time need two names. It ends with an error if a test fails.",
    ));
    text.push_str(&format!(
        "var database = typeof scratch === \"string\" ? scratch : {};\n",
        quote(&name)
    ));
    text.push_str(HELP);
    text.push_str(
        "\n// New documents of each collection, as an application would make them.\nvar make = {\n",
    );
    for collection in &plans.design.collections {
        text.push_str(&format!("  {}: {},\n", quote(&collection.name), plans.fresh(collection)));
    }
    text.push_str("};\n");
    for script in scripts {
        text.push_str(&format!(
            "load(__dirname + {});\n",
            quote(&format!("/patterns/{}", script.file()))
        ));
    }
    text.push_str("\nasync function check() {\n");
    text.push_str(PREPARE);
    text.push_str(&block("validators", &validators(model, plans)));
    for script in scripts {
        text.push_str(&block(&script.file(), &script.check));
    }
    text.push_str("}\n");
    text.push_str(END);
    text
}

fn block(name: &str, lines: &[String]) -> String {
    let mut text = format!("\n  section = {};\n  {{\n", quote(name));
    for line in lines.iter().flat_map(|line| line.lines()) {
        text.push_str(&format!("    {line}\n"));
    }
    text.push_str("  }\n");
    text
}

/// Checks that each validator accepts its example and refuses a field of an unknown type (DM-11).
fn validators(model: &DesignModel, plans: &Plans<'_>) -> Vec<String> {
    let mut lines = Vec::new();
    for collection in &plans.design.collections {
        let name = quote(&collection.name);
        let sample = example(model, collection);
        if matches!(collection.purpose, Purpose::TimeSeries { .. }) {
            continue;
        }
        lines.push(format!("at.getCollection({name}).insertOne({});", js::object(&sample, 0)));
        let Some(field) = collection.fields.iter().find(|field| field.name != "_id") else {
            continue;
        };
        let bad =
            doc! { SPREAD: given(format!("make[{name}]()")), &field.name: bson::Bson::MinKey };
        lines.push(format!(
            "refused({}, 121, () => at.getCollection({name}).insertOne({}));",
            quote(&format!("a bad `{}` in {}", field.name, collection.name)),
            js::object(&bad, 0)
        ));
        lines.push(format!("at.getCollection({name}).deleteMany({{}});"));
    }
    lines
}
