// Ajv on the first documents of a BSON file, decoded beforehand.
// node validate.mjs FILE COUNT SCHEMA REPETITIONS; prints `ajv decode-seconds seconds` per repetition.
import { openSync, readSync, readFileSync } from 'node:fs';
import Ajv from 'ajv';
import { deserialize } from 'bson';

const TYPES = { string: 'string', object: 'object', array: 'array', bool: 'boolean', null: 'null', int: 'number', long: 'number', double: 'number' };

// The schema as Ajv takes it: types that JSON does not have ask for nothing, which is less work.
function plain(schema) {
  const out = {};
  for (const [key, value] of Object.entries(schema)) {
    if (key === 'bsonType') {
      const words = [value].flat();
      if (words.every((word) => TYPES[word])) out.type = [...new Set(words.map((word) => TYPES[word]))];
    } else if (key === 'properties') {
      out[key] = Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, plain(inner)]));
    } else if ((key === 'items' || key === 'additionalProperties') && typeof value === 'object') {
      out[key] = plain(value);
    } else {
      out[key] = value;
    }
  }
  return out;
}

const [file, count, schema, repetitions] = process.argv.slice(2);
const validate = new Ajv({ strict: false }).compile(plain(JSON.parse(readFileSync(schema, 'utf8')).$jsonSchema));
const fd = openSync(file);
const raw = [];
const length = Buffer.alloc(4);
let at = 0;
for (let n = 0; n < Number(count); n++) {
  readSync(fd, length, 0, 4, at);
  const bytes = Buffer.alloc(length.readInt32LE(0));
  readSync(fd, bytes, 0, bytes.length, at);
  at += bytes.length;
  raw.push(bytes);
}
const seconds = (start) => Number(process.hrtime.bigint() - start) / 1e9;
let start = process.hrtime.bigint();
const documents = raw.map((bytes) => deserialize(bytes));
const decoding = seconds(start);
for (let i = 0; i < Number(repetitions); i++) {
  start = process.hrtime.bigint();
  let refused = 0;
  for (const document of documents) refused += validate(document) ? 0 : 1;
  console.log('ajv', decoding, seconds(start), refused);
}
