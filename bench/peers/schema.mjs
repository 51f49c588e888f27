// mongodb-schema on the first documents of a collection, as Compass calls it (types kept apart).
// node schema.mjs URI DB.COLL COUNT MODE REPETITIONS; prints `MODE seconds documents` per repetition.
import { MongoClient } from 'mongodb';
import { parseSchema } from 'mongodb-schema';

const [uri, namespace, count, mode, repetitions] = process.argv.slice(2);
const [database, collection] = namespace.split('.');
const client = await MongoClient.connect(uri, { promoteValues: false });
const find = () => client.db(database).collection(collection).find({}).limit(Number(count));
const storeValues = !mode.endsWith('-no-values');
const held = mode.startsWith('memory') ? await find().toArray() : null;
for (let i = 0; i < Number(repetitions); i++) {
  const start = process.hrtime.bigint();
  await parseSchema(held ?? find(), { storeValues });
  console.log(mode, Number(process.hrtime.bigint() - start) / 1e9, count);
}
await client.close();
