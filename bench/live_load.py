#!/usr/bin/env python3
"""Measures how much an audit of a running deployment slows down its writers: python3 bench/live_load.py [--rounds N]

A replica set of three members, 64 writers (4 processes of 16 threads) and the audit share this machine. Windows without
an audit and with audits back to back alternate. Prints the throughput of writers in each window with an audit, as a share
of the mean of the windows before and after it, and the same for windows without one: the noise floor. Prints Markdown.

    python3 bench/live_load.py --audit '--sample 10000' --audit '--max-rate 2000'

The audit is $DOCWARD_BIN, else target/release/docward, else target/debug/docward.
"""

import argparse
import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "scripts"))

import clients
import guard_faults
import guard_suite

COLLECTIONS, DOCUMENTS = 20, 20_000
PROCESSES, THREADS = 4, 16
WARM_UP = 2


def prepare(uri):
    import pymongo
    document = lambda n: {"_id": n, "orderNo": f"N{n:08}", "amount": n / 8, "items": [n % 7] * (n % 9), "note": "x" * 500}
    with pymongo.MongoClient(uri, w=3) as client:
        for number in range(COLLECTIONS):
            client.db_load[f"t_order_{number}"].insert_many(map(document, range(DOCUMENTS)))


def write(uri, counter, over):
    """One process of writers: each thread inserts and updates small documents."""
    sys.path.insert(0, clients.python(True)[0])
    import pymongo
    client = pymongo.MongoClient(uri, maxPoolSize=THREADS)

    def run(thread):
        n = 0
        key = f"{os.getpid()}-{thread}"
        while not over.is_set():
            n += 1
            client.db_write.t_event.insert_one({"_id": f"{key}-{n}", "n": n, "text": "y" * 100})
            client.db_write.t_event.update_one({"_id": f"{key}-{n}"}, {"$set": {"n": 0}})
            with counter.get_lock():
                counter.value += 2

    threads = [threading.Thread(target=run, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def window(counter, seconds):
    """Writes per second."""
    before, began = counter.value, time.monotonic()
    time.sleep(seconds)
    return (counter.value - before) / (time.monotonic() - began)


def audited(uri, options, counter, seconds):
    """Writes per second while audits run back to back, and the seconds that each took."""
    over, took = threading.Event(), []

    def audits():
        with tempfile.TemporaryDirectory() as folder:
            while not over.is_set():
                began = time.monotonic()
                command = [guard_suite.binary(), "audit", uri, "--db", "db_load", "--format", "json", "--no-progress",
                           "--output", f"{folder}/report.json", *options]
                audit = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                while audit.poll() is None and not over.wait(0.05):
                    pass
                if audit.poll() is None:
                    audit.kill()
                    took.append(None)
                else:
                    took.append(time.monotonic() - began)
                audit.wait()

    runner = threading.Thread(target=audits)
    runner.start()
    rate = window(counter, seconds)
    over.set()
    runner.join()
    return rate, took


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=8, help="the length of a window")
    parser.add_argument("--audit", action="append", default=[], help="options of an audit; default: none and --max-rate 2000")
    parser.add_argument("--keep", action="store_true", help="keep the logs and print their folder")
    arguments = parser.parse_args()
    arguments.audit = arguments.audit or ["", "--max-rate 2000"]
    sys.path.insert(0, clients.python(True)[0])
    return guard_faults.in_folder(arguments, lambda folder: measure(arguments, folder))


def measure(arguments, folder):
    servers = guard_faults.Set(folder, guards=0)
    counter, over = multiprocessing.Value("q", 0), multiprocessing.Event()
    writers = [multiprocessing.Process(target=write, args=(servers.uri, counter, over)) for _ in range(PROCESSES)]
    shares, seconds = {options: [] for options in ["no audit", *arguments.audit]}, {}
    try:
        prepare(servers.uri)
        for writer in writers:
            writer.start()
        time.sleep(WARM_UP)
        before = window(counter, arguments.seconds)
        for _ in range(arguments.rounds):
            for options, found in shares.items():
                if options == "no audit":
                    rate = window(counter, arguments.seconds)
                else:
                    rate, took = audited(servers.uri, options.split(), counter, arguments.seconds)
                    seconds.setdefault(options, []).extend(took)
                time.sleep(0.5)
                after = window(counter, arguments.seconds)
                found.append(2 * rate / (before + after))
                before = after
    finally:
        over.set()
        for writer in writers:
            writer.join(10)
            writer.kill()
        servers.stop()
    print("| audit | windows | throughput of writers, median (least to most) | audits ended, seconds of each |")
    print("|---|---|---|---|")
    for options, found in shares.items():
        ended = [took for took in seconds.get(options, []) if took]
        took = f"{len(ended)}, {statistics.median(ended):.1f}" if ended else "none"
        name = "none: the noise floor" if options == "no audit" else f"`{options}`" if options else "default sample"
        print(f"| {name} | {len(found)} | {statistics.median(found):.2f} ({min(found):.2f} to {max(found):.2f}) "
              f"| {took if options != 'no audit' else '–'} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
