function expiring(name, keys, options) {
  try {
    db.getSiblingDB(database).getCollection(name).createIndex(keys, options);
  } catch (error) {
    if (error.code !== 85) throw error;
    const { expireAfterSeconds } = options;
    db.getSiblingDB(database).runCommand({ collMod: name, index: { keyPattern: keys, expireAfterSeconds } });
  }
}
