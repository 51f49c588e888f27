// Documents, cursors, a transaction, a change stream and models, as programs of Node.js use them.
import assert from "node:assert";
import { createRequire } from "node:module";

const require = createRequire(process.argv[3] + "/");
const { MongoClient } = require("mongodb");
const uri = process.argv[2];
const client = await new MongoClient(uri).connect();
const orders = client.db("db_shop").collection("t_order");
await orders.insertMany(Array.from({ length: 500 }, (_, n) => ({ _id: n, state: "new" })));
let count = 0;
for await (const _ of orders.find().batchSize(50)) count += 1;
assert.equal(count, 500);
const stream = orders.watch();
// Opens it.
assert.equal(await stream.tryNext(), null);
const session = client.startSession();
await session.withTransaction(async () => {
  await orders.updateOne({ _id: 1 }, { $set: { state: "paid" } }, { session });
  await orders.updateOne({ _id: 2 }, { $set: { state: "paid" } }, { session });
});
await session.endSession();
assert.equal(await orders.countDocuments({ state: "paid" }), 2);
assert.equal((await stream.next()).operationType, "update");
await stream.close();
const bulk = await orders.bulkWrite([
  { insertOne: { document: { _id: 1000 } } },
  { updateMany: { filter: { _id: { $lt: 10 } }, update: { $set: { seen: true } } } },
  { deleteOne: { filter: { _id: 3 } } },
]);
assert.deepEqual([bulk.insertedCount, bulk.modifiedCount, bulk.deletedCount], [1, 10, 1]);
await assert.rejects(orders.insertOne({ _id: 1000 }), { code: 11000 });
await client.close();

const mongoose = require("mongoose");
await mongoose.connect(uri, { dbName: "db_shop" });
const Visit = mongoose.model("Visit", new mongoose.Schema({ page: String, hits: Number }, { collection: "t_visit" }));
await Visit.create([{ page: "a", hits: 1 }, { page: "b", hits: 2 }]);
await Visit.updateOne({ page: "a" }, { $inc: { hits: 5 } });
assert.equal((await Visit.findOne({ page: "a" })).hits, 6);
const [sum] = await Visit.aggregate([{ $group: { _id: null, hits: { $sum: "$hits" } } }]);
assert.equal(sum.hits, 8);
await mongoose.disconnect();
console.log("ok");
