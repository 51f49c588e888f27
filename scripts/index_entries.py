#!/usr/bin/env python3
"""Measures the size of an index entry on disk, by the type of its key. Needs pymongo and a scratch server.

    python3 scripts/index_entries.py mongodb://127.0.0.1:27017/ [entries ...]

Prints bytes per entry after a checkpoint, without the reusable free space of the file: for keys inserted in
order, for keys inserted in random order, and for an index built afterwards. The script creates the database
`docward_index_entries` and drops it. `capacity.rs` of docward-design contains the table of the results.
"""

import datetime
import random
import struct
import sys

import pymongo
from bson import Decimal128, Int64, ObjectId

DATABASE = "docward_index_entries"
LETTERS = "abcdefghijklmnopqrstuvwxyz"
BEGIN = datetime.datetime(2024, 1, 1)


def object_ids(number, per_second):
    """Generates ids like the drivers of four processes."""
    processes = [bytes(random.Random(i).randrange(256) for _ in range(5)) for i in range(4)]
    chance, counters = random.Random(1), [1 << 20] * 4
    for i in range(number):
        which = chance.randrange(4)
        counters[which] += 1
        second = 1_700_000_000 + int(i / per_second)
        counter = struct.pack(">I", counters[which])[1:]
        yield ObjectId(struct.pack(">I", second) + processes[which] + counter)


def kinds(n):
    """Returns names with the documents and keys to measure."""
    chance = random.Random(3)

    def text(length):
        return "".join(chance.choices(LETTERS, k=length))

    def later(span):
        return BEGIN + datetime.timedelta(milliseconds=chance.randrange(span * 86_400_000))

    def rising(values):
        return [{"a": value} for value in sorted(values)]

    one, two = [("a", 1)], [("a", 1), ("b", -1)]
    yield "ObjectId", [{"a": i} for i in object_ids(n, 10)], one
    for each in (3, 50, 1000):
        parents = list(object_ids(n // each + 1, 1 / 60))
        yield f"ObjectId of a parent, {each} each", [{"a": parents[i // each]} for i in range(n)], one
        documents = [{"a": parents[i // each], "b": later(60)} for i in range(n)]
        yield f"the same and a date, {each} each", documents, two
    yield "date", rising(later(365) for _ in range(n)), one
    yield "int", rising(chance.randrange(1 << 31) for _ in range(n)), one
    yield "int, 100 values", rising(chance.randrange(100) for _ in range(n)), one
    yield "long", rising(Int64(chance.randrange(1 << 62)) for _ in range(n)), one
    yield "double", rising(chance.random() * 1e5 for _ in range(n)), one
    prices = sorted(chance.randrange(10**7) for _ in range(n))
    yield "decimal", [{"a": Decimal128(f"{p // 100}.{p % 100:02d}")} for p in prices], one
    yield "bool", rising(chance.random() < 0.5 for _ in range(n)), one
    for length in (12, 40, 100):
        yield f"text of {length}", rising(text(length) for _ in range(n)), one
    parents = list(object_ids(100, 1 / 60))
    documents = [{"a": parents[i * 100 // n], "b": text(20)} for i in range(n)]
    yield "ObjectId of 100, text of 20", documents, two
    courses = list(object_ids(max(n // 50, 5), 1 / 60))
    documents = [{"a": chance.sample(courses, 5)} for _ in range(n // 5)]
    yield "lists of 5 ids, 50 times each", documents, one


def measured(database, documents, keys, entries, afterwards):
    collection = database["entries"]
    collection.drop()
    if not afterwards:
        collection.create_index(keys, name="k")
    for i in range(0, len(documents), 5000):
        collection.insert_many([dict(d) for d in documents[i : i + 5000]], ordered=False)
    if afterwards:
        collection.create_index(keys, name="k")
    database.client.admin.command("fsync")
    found = database.command("collStats", "entries", indexDetails=True)
    free = found["indexDetails"]["k"]["block-manager"]["file bytes available for reuse"]
    return (found["indexSizes"]["k"] - free) / entries


def main():
    client = pymongo.MongoClient(sys.argv[1])
    database = client[DATABASE]
    try:
        print("| key | entries | in order | in any order | built afterwards |")
        print("|---|---|---|---|---|")
        for n in [int(word) for word in sys.argv[2:]] or [10_000, 100_000]:
            for name, documents, keys in kinds(n):
                shuffled = documents[:]
                random.Random(5).shuffle(shuffled)
                figures = [
                    measured(database, documents, keys, n, False),
                    measured(database, shuffled, keys, n, False),
                    measured(database, shuffled, keys, n, True),
                ]
                print(f"| {name} | {n:,} | " + " | ".join(f"{f:.1f}" for f in figures) + " |", flush=True)
    finally:
        client.drop_database(DATABASE)


if __name__ == "__main__":
    main()
