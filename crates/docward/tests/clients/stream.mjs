// Drives the generated Node.js client: `stream.mjs dead`, or `stream.mjs stream DATABASE COLLECTION COUNT`.
import { readSync } from 'node:fs';
import { MongoClient } from 'mongodb';
import { OPTIONS, checkConnection, closeSharedClient, connectLoadBalancer, sharedClient } from './mongoClient.mjs';

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function dead() {
  const client = new MongoClient(`mongodb://${process.env.MONGODB_HOSTS}/`, OPTIONS);
  const start = Date.now();
  console.log('health', await checkConnection(client, 1500), Date.now() - start);
  await client.close();
  // Connecting fails, and closes what it opened: nothing keeps the process alive.
  await connectLoadBalancer().then(
    () => { throw new Error('nobody is there'); },
    () => console.log('refused'),
  );
}

async function stream(database, collection, count) {
  const client = await sharedClient();
  if (client !== (await sharedClient())) throw new Error('two clients');
  console.log('health', await checkConnection(client));
  const numbers = client.db(database).collection(collection);
  let retried = 0;
  for (let n = 0; n < count; n += 1) {
    if (n === count - 100) readSync(0, Buffer.alloc(1)); // There is a new primary.
    const until = Date.now() + 600_000;
    for (;;) {
      try {
        await numbers.insertOne({ _id: n });
        break;
      } catch (error) {
        if (error.code === 11000) break; // It was written before the connection was lost.
        retried += 1;
        if (Date.now() > until) throw error;
        await pause(50);
      }
    }
    console.log('ack', n);
    await pause(2);
  }
  console.log('health', await checkConnection(client));
  await closeSharedClient();
  await closeSharedClient();
  console.log('done', retried);
}

const [mode, database, collection, count] = process.argv.slice(2);
await (mode === 'dead' ? dead() : stream(database, collection, Number(count)));
