/**
 * Adds the shard key of the document to a filter, as servers before 7.1 require. If another writer changes the key
 * in between, the filter does not match. Without shards, it has no effect.
 */
function withKey(db, collection, filter, fields) {
  const found = db.getCollection(collection).findOne(filter, Object.fromEntries(fields.map((f) => [f, 1])));
  const value = (field) => field.split(".").reduce((at, part) => at?.[part], found) ?? null;
  return { ...filter, ...Object.fromEntries(fields.map((f) => [f, value(f)])) };
}
