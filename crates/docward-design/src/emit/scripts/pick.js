/** Returns the given fields that exist. */
function pick(from, fields) {
  return Object.fromEntries(fields.filter((f) => from[f] !== undefined).map((f) => [f, from[f]]));
}
