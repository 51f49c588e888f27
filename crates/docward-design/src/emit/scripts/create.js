function createOrChange(db, name, options) {
  const found = db.getCollectionInfos({ name });
  if (found.length === 0) {
    db.createCollection(name, options);
    print(`created ${name}`);
    return;
  }
  const change = { collMod: name };
  if (options.timeseries) {
    if (found[0].type !== "timeseries") throw new Error(`${name} exists already and is not a time series`);
    // The server expects "off" for readings that are kept forever.
    change.expireAfterSeconds = options.expireAfterSeconds ?? "off";
  } else {
    Object.assign(change, options);
  }
  db.runCommand(change);
  print(`changed ${name}`);
}
