var database = typeof scratch === "string" ? scratch : NAME;

var at = db.getSiblingDB(database);
// An interrupted check leaves a marked database, which is dropped. A database without the mark
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
/** Waits for all writes, so that none is still running when the first failure ends the check. */
async function together(work) {
  const ended = await Promise.allSettled(work);
  const bad = ended.find((one) => one.status === "rejected");
  if (bad) throw bad.reason;
}
var section = "";

// New documents of each collection, as an application would make them.
var make = MAKERS;
LOADS

async function check() {
  section = "01-collections.js and 02-indexes.js";
  for (const file of ["01-collections.js", "02-indexes.js"]) {
    load(__dirname + "/" + file);
    // Run the scripts twice: they must be repeatable.
    load(__dirname + "/" + file);
  }
  // The documents have dates from the model, which may lie in the past, so expiry is off during the check.
  for (const { name } of at.getCollectionInfos({ type: "collection" })) {
    for (const index of at.getCollection(name).getIndexes()) {
      if (index.expireAfterSeconds === undefined) continue;
      at.runCommand({ collMod: name, index: { name: index.name, expireAfterSeconds: 2147483647 } });
    }
  }
CHECKS
}

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
