#!/usr/bin/env python3
"""Injects faults into a replica set of three members while `docward audit --full` reads it. Checks that the report has
every document exactly once.

    python3 scripts/live_faults.py                     50 runs of each fault
    python3 scripts/live_faults.py --runs 5 --faults step-down,kill
    python3 scripts/live_faults.py --plain             in natural order, not in ranges of `_id`s

The collection has 60,000 documents, and the audit reads it in ranges with two threads and four in turns. A fault that is
an error code fails five getMores on every member. `step-down` changes the primary every second, and `kill` sends SIGKILL to
the member that has returned the most documents. Replies take 300 ms longer in these two, so that the fault hits a reading.

The audit is $DOCWARD_BIN, else target/release/docward, else target/debug/docward.
A member that was killed is the only problem in its report, and the exit code of the audit is then 2.
Exit codes: 0 every report had all documents and no other problem, 1 otherwise.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time

import clients
import guard_faults
import guard_suite

DOCUMENTS = 60_000
CODES = {"NotWritablePrimary": 10107, "CursorKilled": 237, "CursorNotFound": 43, "QueryPlanKilled": 175,
         "MaxTimeMSExpired": 50}
FAULTS = ["none", *CODES, "close", "step-down", "kill"]


def fail(servers, mode, **data):
    """Lets the getMores of Docward fail on every member that runs."""
    data = {"failCommands": ["getMore"], "appName": "docward", "namespace": "db_faults.t_order", **data}
    for port in servers.members:
        if servers.processes[port].poll() is None:
            with servers.client(port) as client:
                client.admin.command("configureFailPoint", "failCommand", mode=mode, data=data)


def returned(servers, port):
    """How many documents a member has returned to Docward's open cursors; None if it does not answer."""
    import pymongo
    try:
        with servers.client(port, serverSelectionTimeoutMS=500) as client:
            stages = [{"$currentOp": {"idleCursors": True, "allUsers": True}},
                      {"$match": {"ns": "db_faults.t_order", "appName": "docward"}}]
            return sum(row.get("cursor", {}).get("nDocsReturned", 0) for row in client.admin.aggregate(stages))
    except pymongo.errors.PyMongoError:  # The member is electing or gone.
        return None


def wait_for_reading(servers, audit):
    """The member from which Docward is reading; None if it ended before."""
    while audit.poll() is None:
        counts = {port: returned(servers, port) or 0 for port in servers.members}
        port = max(counts, key=counts.get)
        if counts[port]:
            return port
    return None


def inject(servers, fault, audit):
    """Injects a fault while the audit reads. Returns how often it did."""
    import pymongo
    hits = 0
    if fault == "kill":
        if port := wait_for_reading(servers, audit):
            servers.kill(port)
            hits = 1
    elif fault == "step-down":
        while wait_for_reading(servers, audit):
            with servers.client(servers.primary()) as client:
                try:
                    client.admin.command("replSetStepDown", 1, force=True)
                    hits += 1
                except pymongo.errors.PyMongoError as error:  # It is no longer the primary.
                    print(f"  {error}", file=sys.stderr)
            time.sleep(1)
    return hits


def restore(servers):
    """Starts what was killed, and waits until every member has the documents."""
    import pymongo
    for port in servers.members:
        if servers.processes[port].poll() is not None:
            servers.start(port)
    end = time.monotonic() + guard_faults.PATIENCE
    for port in servers.members:
        while True:
            try:
                with servers.client(port, serverSelectionTimeoutMS=1000) as client:
                    hello = client.admin.command("hello")
                    if hello["isWritablePrimary"] or hello["secondary"]:
                        break
            except pymongo.errors.PyMongoError:  # It is starting.
                pass
            if time.monotonic() > end:
                raise RuntimeError(f"{port} does not come back")
            time.sleep(0.1)
    servers.primary()


def prepare(servers):
    import pymongo
    with pymongo.MongoClient(servers.uri, w=3) as client:
        order = lambda n: {"_id": n, "orderNo": f"N{n:08}", "amount": n / 8, "note": "x" * 550}
        client.db_faults.t_order.insert_many(map(order, range(DOCUMENTS)))


def run(servers, fault, options):
    """One audit. Returns what was wrong, how often the fault was injected, and the seconds."""
    slow = fault in ("step-down", "kill")
    if fault in CODES:
        fail(servers, {"times": 5}, errorCode=CODES[fault])
    elif fault == "close":
        fail(servers, {"times": 5}, closeConnection=True)
    elif slow:
        fail(servers, "alwaysOn", blockConnection=True, blockTimeMS=300)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        command = [guard_suite.binary(), "audit", servers.uri, "--full", "--format", "json", "--no-progress",
                   "--fail-on", "never", *options]
        command += [] if "--max-rate" in options else ["--save-evidence", f"{folder}/all.json.gz"]
        audit = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        hits = []
        injector = threading.Thread(target=lambda: hits.append(inject(servers, fault, audit)))
        injector.start()
        out, _ = audit.communicate()
        seconds = time.monotonic() - began
        injector.join()
    restore(servers)
    if slow:
        fail(servers, "off")
    elif fault != "none":
        hits = [count_hits(servers)]
    report = json.loads(out)
    documents = report["sources"][0]["documents"]
    wrong = []
    if documents != DOCUMENTS:
        wrong.append(f"{documents:,} documents")
    if audit.returncode and fault != "kill":
        wrong.append(f"exit code {audit.returncode}")
    # A member that was killed is a problem of its own: its workload is missing.
    lost = ("became unreachable during the run", "cannot reach the member") if fault == "kill" else ()
    messages = [problem["message"] for problem in report["problems"]]
    wrong += [message for message in messages if not any(words in message for words in lost)]
    return wrong, hits[0], seconds


def count_hits(servers):
    """How often the fail point failed a getMore in this run, on all members."""
    hits = 0
    for port in servers.members:
        with servers.client(port) as client:
            count = client.admin.command("configureFailPoint", "failCommand", mode="off")["count"]
            hits += count - HITS.get(port, 0)
            HITS[port] = count
    return hits


# The server goes on counting.
HITS = {}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--faults", default=",".join(FAULTS))
    parser.add_argument("--plain", action="store_true", help="read in natural order")
    parser.add_argument("--keep", action="store_true", help="keep the logs and print their folder")
    arguments = parser.parse_args()
    sys.path.insert(0, clients.python(True)[0])
    names = arguments.faults.split(",")
    if unknown := set(names) - {*FAULTS}:
        parser.error(f"unknown faults: {', '.join(sorted(unknown))}")
    return guard_faults.in_folder(arguments, lambda folder: run_all(arguments, names, folder))


def run_all(arguments, names, folder):
    servers = guard_faults.Set(folder, guards=0)
    try:
        prepare(servers)
        print(f"| fault | runs | all {DOCUMENTS:,} documents, no other problem | injected per run | seconds, median and longest |")
        print("|---|---|---|---|---|", flush=True)
        all_wrong = []
        for name in names:
            right, hits, seconds = 0, [], []
            for n in range(arguments.runs):
                options = ["--threads", "1", "--max-rate", "60000"] if arguments.plain else ["--threads", "24"[n % 2]]
                wrong, hit, took = run(servers, name, options)
                right += not wrong
                hits.append(hit)
                seconds.append(took)
                if wrong:
                    all_wrong.append(f"{name}, run {n + 1}, {' '.join(options)}: {'; '.join(wrong)}")
                    print(all_wrong[-1], file=sys.stderr, flush=True)
            middle = sorted(seconds)[len(seconds) // 2]
            print(f"| {name} | {arguments.runs} | {right} | {min(hits)} to {max(hits)} | {middle:.1f} and {max(seconds):.1f} |",
                  flush=True)
        return 1 if all_wrong else 0
    finally:
        servers.stop()


if __name__ == "__main__":
    sys.exit(main())
