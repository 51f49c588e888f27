"""Drives the generated Python client: `stream.py dead`, or `stream.py stream DATABASE COLLECTION COUNT`."""

import sys
import time

import mongo_client
from pymongo.errors import DuplicateKeyError, PyMongoError


def dead():
    client = mongo_client.connect_load_balancer()
    start = time.monotonic()
    healthy = mongo_client.check_connection(client, 1.5)
    print("health", str(healthy).lower(), int((time.monotonic() - start) * 1000))


def stream(database, collection, count):
    client = mongo_client.shared_client()
    assert client is mongo_client.shared_client()
    print("health", str(mongo_client.check_connection(client)).lower(), flush=True)
    numbers = client[database][collection]
    retried = 0
    for n in range(count):
        if n == count - 100:
            sys.stdin.readline()  # There is a new primary.
        until = time.monotonic() + 600
        while True:
            try:
                numbers.insert_one({"_id": n})
                break
            except DuplicateKeyError:
                break  # It was written before the connection was lost.
            except PyMongoError:
                retried += 1
                if time.monotonic() > until:
                    raise
                time.sleep(0.05)
        print("ack", n, flush=True)
        time.sleep(0.002)
    print("health", str(mongo_client.check_connection(client)).lower())
    mongo_client.close_shared_client()
    mongo_client.close_shared_client()
    print("done", retried)


if sys.argv[1] == "dead":
    dead()
else:
    stream(sys.argv[2], sys.argv[3], int(sys.argv[4]))
