#!/usr/bin/env python3
"""How Docward bears very many collections: python3 bench/many_collections.py [--collections N] [--keep FOLDER] [--docward PROGRAM]

Starts a mongod of its own, makes one collection per device (50,000 unless told) with an index each, and
audits it with --metadata-only: wall time, peak memory and the findings of families L and R. Making them
takes minutes, so FOLDER keeps the data for another run. Needs pymongo (pip install pymongo).
"""

import argparse
import collections
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
sys.path.insert(0, os.path.join(ROOT, "scripts"))

# So many files are more than a process may open on most machines: the engine closes what is idle.
CLOSE_IDLE = "file_manager=(close_idle_time=5,close_scan_interval=1,close_handle_minimum=100)"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start(folder, port):
    import mongod
    import pymongo
    process = subprocess.Popen(
        [mongod.find(), "--dbpath", folder, "--port", str(port), "--bind_ip", "127.0.0.1", "--quiet",
         "--wiredTigerEngineConfigString", CLOSE_IDLE, "--logpath", os.path.join(folder, "mongod.log")],
        stdout=subprocess.DEVNULL,
    )
    client = pymongo.MongoClient(f"mongodb://127.0.0.1:{port}", serverSelectionTimeoutMS=2_000)
    # With many files a server takes minutes to start; one that has ended never will.
    while process.poll() is None:
        try:
            client.admin.command("ping")
            return process, client
        except pymongo.errors.ServerSelectionTimeoutError:
            pass
    sys.exit(f"mongod ended with {process.returncode}; see {folder}/mongod.log")


def make(client, wanted):
    """Collections that are not there yet, each with a document and an index besides _id."""
    database = client["db_iot"]
    there = set(database.list_collection_names())
    started = time.monotonic()

    def one(number):
        name = f"t_device_{number:06}"
        if name in there:
            return
        database.command("createIndexes", name, indexes=[{"key": {"ts": 1}, "name": "ts_1"}])
        database[name].insert_one({"value": number})

    with ThreadPoolExecutor(8) as pool:
        for number, _ in enumerate(pool.map(one, range(wanted))):
            if number % 5000 == 0:
                print(f"{number:,} collections after {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)


# A process begins with the peak memory of the one that starts it, so one without the driver does.
MEASURE = """
import os, sys, time
started = time.monotonic()
_, status, usage = os.wait4(os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ), 0)
print(os.waitstatus_to_exitcode(status), time.monotonic() - started, usage.ru_maxrss)
"""


def audit(docward, uri, *flags):
    """Wall seconds, peak memory in MB and the report."""
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report.json")
        command = [docward, "audit", uri, "--format", "json", "--output", report, "--fail-on", "never", *flags]
        measured = subprocess.run([sys.executable, "-S", "-c", MEASURE, *command], stdout=subprocess.PIPE, text=True, check=True)
        code, seconds, kilobytes = measured.stdout.split()
        if code not in ("0", "2"):
            sys.exit("docward audit failed")
        with open(report) as text:
            return float(seconds), int(kilobytes) / 1024, json.load(text)


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--collections", type=int, default=50_000)
    arguments.add_argument("--keep", metavar="FOLDER")
    arguments.add_argument("--docward", help="the program to measure; a dist build unless given")
    options = arguments.parse_args()
    docward = options.docward
    if docward is None:
        subprocess.run(["cargo", "build", "--profile", "dist", "--quiet", "-p", "docward"], cwd=ROOT, check=True)
        target = os.environ.get("CARGO_TARGET_DIR", os.path.join(ROOT, "target"))
        docward = os.path.join(target, "dist", "docward")
    folder = options.keep or tempfile.mkdtemp(prefix="docward-bench-")
    os.makedirs(folder, exist_ok=True)
    process, client = start(folder, free_port())
    host, port = client.address
    try:
        make(client, options.collections)
        client.close()
        for flags in (["--metadata-only"],):
            seconds, megabytes, report = audit(docward, f"mongodb://{host}:{port}", *flags)
            print(f"{options.collections:,} collections, {' '.join(flags)}: {seconds:.1f} s, peak {megabytes:.0f} MB")
            rules = collections.Counter(finding["rule"] for finding in report["findings"])
            print("findings:", ", ".join(f"{rule} {count:,}" for rule, count in sorted(rules.items())))
            for finding in report["findings"]:
                if finding["rule"] in ("L001", "L002", "R012"):
                    print(f"{finding['rule']} {finding['severity']}: {finding['what']}")
            for problem in report["problems"]:
                print("problem:", problem["message"])
    finally:
        process.terminate()
        process.wait()
        if options.keep is None:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
