"""Python validators on the first documents of a BSON file, decoded beforehand.

python3 validate.py FILE COUNT SCHEMA VALIDATOR REPETITIONS; prints `VALIDATOR decode-seconds seconds` per repetition.
"""

import json
import sys
import time

import bson

TYPES = {"string": "string", "object": "object", "array": "array", "bool": "boolean", "null": "null",
         "int": "number", "long": "number", "double": "number"}


def plain(schema):
    """The schema as draft 4: types that JSON does not have ask for nothing, which is less work."""
    out = {}
    for key, value in schema.items():
        if key == "bsonType":
            words = value if isinstance(value, list) else [value]
            if all(word in TYPES for word in words):
                out["type"] = sorted({TYPES[word] for word in words})
        elif key == "properties":
            out[key] = {name: plain(inner) for name, inner in value.items()}
        elif key in ("items", "additionalProperties") and isinstance(value, dict):
            out[key] = plain(value)
        else:
            out[key] = value
    return out


def main():
    path, count, schema, name, repetitions = sys.argv[1:6]
    with open(schema, encoding="utf-8") as file:
        schema = plain(json.load(file)["$jsonSchema"])
    if name == "fastjsonschema":
        import fastjsonschema
        validate = fastjsonschema.compile({"$schema": "http://json-schema.org/draft-04/schema#", **schema})
    else:
        import jsonschema
        validate = jsonschema.Draft4Validator(schema).validate
    with open(path, "rb") as file:
        raw = []
        for _ in range(int(count)):
            head = file.read(4)
            raw.append(head + file.read(int.from_bytes(head, "little") - 4))
    start = time.perf_counter()
    documents = [bson.decode(document) for document in raw]
    decoding = time.perf_counter() - start
    for _ in range(int(repetitions)):
        start = time.perf_counter()
        for document in documents:
            validate(document)
        print(name, decoding, time.perf_counter() - start)


main()
