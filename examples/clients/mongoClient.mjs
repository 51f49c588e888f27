// MongoDB client for Node.js (package mongodb, version 5 or later).
//
// Written by docward 0.1.0; regenerate it with `docward connect sdk --lang node`.
//
// One client for the whole process: `sharedClient()` creates it on first use and
// `closeSharedClient()` closes it. Logins and hosts come from the environment:
//
//   MONGODB_USER, MONGODB_PASSWORD    the login
//   MONGODB_HOSTS                     host:port, or several separated by commas; for SRV, only the name
//   MONGODB_REPLICA_SET               the name of the replica set, if there is one
//   MONGODB_TLS                       "false" if the servers do not support TLS
//
// Differences from the rule book's samples:
//
// - the rule book's sample checks only SRV connections; here every method has the check (SDK-ND.2)
// - in functions that start for each request, keep the client between warm calls with a pool of at most 5, or use a pooling proxy (GC-14)
import { MongoClient } from 'mongodb';

/** Time limit of the health check, in milliseconds. */
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

/** Connects and sends one ping. If that fails, closes the client and rethrows the error. */
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

/** Connects through the SRV record of a sharded cluster. The driver finds new mongos by itself. */
export function connectSrv() {
  return connect('mongodb+srv');
}

/** Connects to a replica set. List all members in MONGODB_HOSTS. */
export function connectReplicaSet() {
  return connect('mongodb', { replicaSet: setting('MONGODB_REPLICA_SET') });
}

/** Connects through the load balancer in front of a sharded cluster. */
export function connectLoadBalancer() {
  return connect('mongodb');
}

/**
 * Connects to every mongos of a sharded cluster. Their addresses must be switched on at the provider, and
 * MONGODB_HOSTS must follow when mongos are added or removed.
 */
export function connectAllMongos() {
  return connect('mongodb');
}

/** Returns whether the primary (or a mongos) answers within `timeoutMs`; never rejects. */
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

/** Returns the one client of this process. If it could not connect, the next call tries again. */
export function sharedClient() {
  shared ??= connectReplicaSet().catch((error) => {
    shared = undefined;
    throw error;
  });
  return shared;
}

/** Closes the shared client; safe to call more than once. Call it on SIGTERM or SIGINT. */
export async function closeSharedClient() {
  const closing = shared;
  shared = undefined;
  if (closing) await (await closing).close();
}
