// Loads the first documents of a BSON file. node load.mjs URI DB.COLL FILE COUNT
import { openSync, readSync, fstatSync } from 'node:fs';
import { MongoClient } from 'mongodb';
import { deserialize } from 'bson';

const [uri, namespace, file, count] = process.argv.slice(2);
const [database, name] = namespace.split('.');
const client = await MongoClient.connect(uri);
const collection = client.db(database).collection(name);
await collection.drop().catch(() => {});
const fd = openSync(file);
const size = fstatSync(fd).size;
let at = 0;
let batch = [];
const length = Buffer.alloc(4);
for (let n = 0; n < Number(count) && at < size; n++) {
  readSync(fd, length, 0, 4, at);
  const bytes = Buffer.alloc(length.readInt32LE(0));
  readSync(fd, bytes, 0, bytes.length, at);
  at += bytes.length;
  batch.push(deserialize(bytes, { promoteValues: false }));
  if (batch.length === 2000) {
    await collection.insertMany(batch, { ordered: false });
    batch = [];
  }
}
if (batch.length) await collection.insertMany(batch);
console.log(await collection.estimatedDocumentCount());
await client.close();
