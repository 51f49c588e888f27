// MongoDB client for Node.js (package mongodb, version 5 or later).
//
// Written by docward 0.1.0; `docward connect sdk --lang node` writes it again.
//
// One client for the whole process: `sharedClient()` makes it when it is first asked for and
// `closeSharedClient()` closes it. Everything secret comes from the environment:
//
//   MONGODB_USER, MONGODB_PASSWORD    who logs in
//   MONGODB_HOSTS                     host:port, or several with commas; for SRV the name alone
//   MONGODB_REPLICA_SET               the name of the replica set, where there is one
//   MONGODB_TLS                       "false" where servers offer no TLS
//
// Beside the rule book's samples:
//
// - the rule book's sample checks only SRV connections; here every method has the check (SDK-ND.2)
// - in functions that start for each request, keep the client between warm calls with a pool of at most 5, or use a pooling proxy (GC-14)
import { MongoClient } from 'mongodb';

/** Milliseconds that the health check takes at most. */
export const HEALTH_TIMEOUT_MS = 5000;

export const OPTIONS = Object.freeze({
  appName: 'example',
  authSource: 'admin',
  // With SRV or a list of all mongos, the client keeps a pool of this size for each mongos (PF-2).
  maxPoolSize: 150,
  minPoolSize: 10,
  maxIdleTimeMS: 120000,
  waitQueueTimeoutMS: 5000,
  connectTimeoutMS: 10000,
  // Some elections take longer: retry failed operations, or set 15000 (GC-29).
  serverSelectionTimeoutMS: 5000,
  retryWrites: true,
  retryReads: true,
  writeConcern: { w: 'majority' },
  // Class core: core services must read their own writes (RP-1).
  readPreference: 'primary',
});

function setting(name) {
  const value = process.env[name];
  if (!value) throw new Error(`the environment variable ${name} is not set`);
  return value;
}

function uri(scheme) {
  const user = encodeURIComponent(setting('MONGODB_USER'));
  const password = encodeURIComponent(setting('MONGODB_PASSWORD'));
  return `${scheme}://${user}:${password}@${setting('MONGODB_HOSTS')}/`;
}

/** Connects and asks once; a client that cannot is closed before the error goes on. */
async function connect(scheme, more = {}) {
  const tls = process.env.MONGODB_TLS !== 'false';
  const client = new MongoClient(uri(scheme), { ...OPTIONS, tls, ...more });
  try {
    await client.connect();
    await client.db('admin').command({ ping: 1 });
    return client;
  } catch (error) {
    await client.close();
    throw error;
  }
}

/** By the SRV record of a sharded cluster: new mongos are found without a change here. */
export function connectSrv() {
  return connect('mongodb+srv');
}

/** By the members of a replica set; all of them belong into MONGODB_HOSTS. */
export function connectReplicaSet() {
  return connect('mongodb', { replicaSet: setting('MONGODB_REPLICA_SET') });
}

/** By the one address in front of a sharded cluster. */
export function connectLoadBalancer() {
  return connect('mongodb');
}

/**
 * By every mongos of a sharded cluster. Their addresses must be switched on at the provider, and
 * MONGODB_HOSTS must follow when mongos are added or removed.
 */
export function connectAllMongos() {
  return connect('mongodb');
}

/** Whether the primary (or a mongos) answers within the time; never rejects. */
export async function checkConnection(client, timeoutMs = HEALTH_TIMEOUT_MS) {
  let timer;
  const tooLate = new Promise((resolve) => {
    timer = setTimeout(() => resolve(false), timeoutMs);
  });
  const ping = Promise.resolve()
    .then(() => client.db('admin').command({ ping: 1 }, { readPreference: 'primary' }))
    .then(() => true)
    .catch((error) => {
      console.warn(`MongoDB does not answer: ${error.message}`);
      return false;
    });
  try {
    return await Promise.race([ping, tooLate]);
  } finally {
    clearTimeout(timer);
  }
}

let shared;

/** The one client of this process. One that could not connect is not kept: the next call tries again. */
export function sharedClient() {
  shared ??= connectReplicaSet().catch((error) => {
    shared = undefined;
    throw error;
  });
  return shared;
}

/** Closes it; safe to call more than once. Call it when the process is told to end. */
export async function closeSharedClient() {
  const closing = shared;
  shared = undefined;
  if (closing) await (await closing).close();
}
