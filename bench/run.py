#!/usr/bin/env python3
"""One command for all measurements: python3 bench/run.py [--quick] [--no-peers] [--only-live] [--only-validators]
                                                       [--only-lint] [--only-peers]

Builds the data (generated, not committed), runs Docward, a bare BSON walk, serde_json and npm
mongodb-schema on the same documents in one run, interleaved, and prints medians and ratios. Read the
ratios: absolute figures move with the machine.
"""

import contextlib
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
DATA = os.path.join(HERE, "data")
QUICK = "--quick" in sys.argv
PEERS = "--no-peers" not in sys.argv
REPETITIONS = 3 if QUICK else 7
ORDERS, WIDE, LINES, KEYS = (40_000, 2_000, 20_000, 200_000) if QUICK else (1_000_000, 50_000, 200_000, 2_000_000)
# As many as the baselines that the goals come from were measured on.
PEER_ORDERS, PEER_WIDE = (5_000, 500) if QUICK else (100_000, 5_000)

sys.path.insert(0, os.path.join(ROOT, "scripts"))


def build():
    subprocess.run(["cargo", "build", "--profile", "dist", "--quiet", "-p", "docward"], cwd=ROOT, check=True)
    subprocess.run(["cargo", "build", "--release", "--quiet"], cwd=HERE, check=True)
    target = lambda folder: os.environ.get("CARGO_TARGET_DIR", os.path.join(folder, "target"))
    return os.path.join(target(ROOT), "dist", "docward"), os.path.join(target(HERE), "release", "docward-bench")


def data(bench):
    os.makedirs(DATA, exist_ok=True)
    made = {}
    for name, words in {
        "orders.bson": ["orders", ORDERS],
        "wide.bson": ["wide", WIDE],
        "dynamic.bson": ["dynamic", KEYS],
    }.items():
        path = os.path.join(DATA, f"{words[1]}-{name}")
        if not os.path.exists(path):
            subprocess.run([bench, words[0], path, str(words[1])], check=True)
        made[name] = path
    lines = os.path.join(DATA, f"{LINES}-orders.jsonl")
    if not os.path.exists(lines):
        subprocess.run([bench, "jsonl", made["orders.bson"], lines, str(LINES)], check=True)
    made["orders.jsonl"] = lines
    return made


def control(bench, name, path):
    """Seconds of one in-memory run of a control; the first of two, so that the other is warm."""
    out = subprocess.run([bench, name, path, "2"], check=True, capture_output=True, text=True).stdout
    return min(float(line.split()[1]) for line in out.splitlines())


def audit(docward, path, threads, *flags):
    """Wall seconds and peak memory (KB) of a whole audit, process start included."""
    start = time.monotonic()
    process = subprocess.Popen(
        [docward, "audit", path, "--threads", str(threads), "--format", "json", "--fail-on", "never", *flags],
        stdout=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.monotonic() - start
    if status != 0:
        sys.exit(f"docward audit {path} failed")
    return seconds, usage.ru_maxrss


def medians(runs):
    """Calls each of the functions in turn, several times; medians by name."""
    seen = {name: [] for name in runs}
    for _ in range(REPETITIONS):
        for name, run in runs.items():
            seen[name].append(run())
    return {name: statistics.median(values) for name, values in seen.items()}, seen


def row(*cells):
    print("| " + " | ".join(str(c) for c in cells) + " |", flush=True)


def offline(docward, bench, files):
    memory = {}

    def timed(path, threads):
        seconds, kilobytes = audit(docward, path, threads)
        memory[path, threads] = max(memory.get((path, threads), 0), kilobytes)
        return seconds

    print("\n### BSON files, one run, medians of", REPETITIONS)
    row("data", "MB", "bare walk s", "audit 1 thread s", "of the walk", "audit 2 threads s", "2 against 1", "peak MB (1, 2 threads)")
    row(*["---"] * 8)
    result = {}
    for name in ("orders.bson", "wide.bson"):
        path = files[name]
        size = os.path.getsize(path) / 1e6
        m, _ = medians({
            "walk": lambda: control(bench, "walk", path),
            "one": lambda: timed(path, 1),
            "two": lambda: timed(path, 2),
        })
        peaks = f"{memory[path, 1] / 1024:.0f}, {memory[path, 2] / 1024:.0f}"
        row(name, f"{size:.0f}", f"{m['walk']:.3f}", f"{m['one']:.3f}", f"{m['walk'] / m['one']:.0%}",
            f"{m['two']:.3f}", f"{m['one'] / m['two']:.2f}x", peaks)
        result[name] = m

    path = files["orders.jsonl"]
    size = os.path.getsize(path) / 1e6
    m, _ = medians({
        "serde": lambda: control(bench, "serde-json", path),
        "json": lambda: control(bench, "json", path),
        "audit": lambda: timed(path, 1),
    })
    print("\n### Extended JSON lines")
    row("data", "MB", "serde_json values MB/s", "our parser MB/s", "audit 1 thread MB/s", "parser against serde_json", "audit against serde_json")
    row(*["---"] * 7)
    rate = lambda key: size / m[key]
    row("orders.jsonl", f"{size:.0f}", f"{rate('serde'):.0f}", f"{rate('json'):.0f}", f"{rate('audit'):.0f}",
        f"{m['serde'] / m['json']:.1f}x", f"{m['serde'] / m['audit']:.1f}x")

    path = files["dynamic.bson"]
    seconds, kilobytes = audit(docward, path, 1)
    print(f"\n### Data as keys\n\n{KEYS:,} different keys, {os.path.getsize(path) / 1e6:.0f} MB: "
          f"{seconds:.2f} s, peak {kilobytes / 1024:.0f} MB")
    return result


@contextlib.contextmanager
def running_server():
    """A mongod of its own on a free port: its process id and connection string."""
    import mongod
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    folder = tempfile.mkdtemp(prefix="docward-bench-")
    process = subprocess.Popen(
        [mongod.find(), "--dbpath", folder, "--port", str(port), "--bind_ip", "127.0.0.1", "--quiet"],
        stdout=subprocess.DEVNULL,
    )
    try:
        yield process.pid, f"mongodb://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()
        shutil.rmtree(folder, ignore_errors=True)


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def live(docward, bench, files):
    def control(name, uri, namespace, batch):
        out = subprocess.run([bench, name, uri, namespace, str(batch)], check=True, capture_output=True, text=True)
        return float(out.stdout.split()[1])

    with running_server() as (pid, uri):
        subprocess.run([bench, "load", uri, "bench.orders", files["orders.bson"], str(ORDERS)], check=True)
        for n in range(20):
            subprocess.run([bench, "load", uri, f"twenty.orders{n}", files["orders.bson"], str(ORDERS // 50)], check=True)
        memory = []

        def audited(*flags, threads=1):
            seconds, kilobytes = audit(docward, uri, threads, *flags)
            memory.append(kilobytes)
            return seconds

        full = lambda: audited("--full", "--db", "bench")
        full()
        batches = (0, 1000, 5000, 20000)
        best = min(batches, key=lambda batch: control("drain", uri, "bench.orders", batch))
        raw = min(batches, key=lambda batch: control("drain-raw", uri, "bench.orders", batch))
        memory.clear()
        m, _ = medians({
            "drain": lambda: control("drain", uri, "bench.orders", best),
            "raw": lambda: control("drain-raw", uri, "bench.orders", raw),
            "full": full,
            "two": lambda: audited("--full", "--db", "bench", threads=2),
        })
        print(f"\n### A running server, one run, medians of {REPETITIONS}")
        row("documents", "driver's cursor s", "raw batches ahead s", "audit --full s (1, 2 threads)", "against the cursor", "against raw batches", "peak MB")
        row(*["---"] * 7)
        row(f"{ORDERS:,}", f"{m['drain']:.2f} (batches of {best or 'its own size'})", f"{m['raw']:.2f}", f"{m['full']:.2f}, {m['two']:.2f}",
            f"{m['full'] / m['drain']:.2f}x, {m['two'] / m['drain']:.2f}x",
            f"{m['full'] / m['raw']:.2f}x, {m['two'] / m['raw']:.2f}x", f"{max(memory) / 1024:.0f}")
        memory.clear()
        before = cpu_seconds(pid)
        m, _ = medians({"sampled": lambda: audited("--db", "twenty")})
        cpu = (cpu_seconds(pid) - before) / REPETITIONS
        print(f"\n20 collections of {ORDERS // 50:,} documents, default sample: {m['sampled']:.2f} s, "
              f"{cpu:.2f} s of the server's processor each time, peak {max(memory) / 1024:.0f} MB")


def validators(docward, bench, files):
    """A schema read off the orders, held against them by everyone."""
    path = files["orders.bson"]
    folder = tempfile.mkdtemp(prefix="docward-bench-")
    schema = os.path.join(folder, "orders.schema.json")

    def timed(*words):
        start = time.monotonic()
        process = subprocess.Popen([docward, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        if os.waitstatus_to_exitcode(status) > 1:
            sys.exit(f"docward {' '.join(words)} failed")
        memory.append(usage.ru_maxrss)
        return time.monotonic() - start

    memory = []
    infer = ["schema", "infer", path, "--threads", "1", "--quiet", "--output"]
    timed(*infer, schema)
    checked = lambda source: timed("schema", "check", schema, source, "--threads", "1", "--format", "json", "--quiet")
    with running_server() as (_, uri):
        subprocess.run([bench, "load", uri, "bench.orders", path, str(ORDERS)], check=True)
        checked(uri)
        memory.clear()
        m, _ = medians({
            "walk": lambda: control(bench, "walk", path),
            "profile": lambda: timed("audit", path, "--threads", "1", "--select", "N001", "--format", "json"),
            "infer": lambda: timed(*infer, os.path.join(folder, "again.json"), "--no-check"),
            "both": lambda: timed(*infer, os.path.join(folder, "again.json")),
            "check": lambda: checked(path),
            "server": lambda: checked(uri),
        })
    print(f"\n### Validators: {ORDERS:,} orders, one thread, one run, medians of {REPETITIONS}")
    row("bare walk s", "profile s", "infer without check s", "adds", "infer and check s", "check s", "the server counts s", "the server takes", "peak MB")
    row(*["---"] * 9)
    row(f"{m['walk']:.2f}", f"{m['profile']:.2f}", f"{m['infer']:.2f}", f"{m['infer'] / m['profile'] - 1:+.1%}", f"{m['both']:.2f}",
        f"{m['check']:.2f}", f"{m['server']:.2f}", f"{m['server'] / m['check']:.1f}x", f"{max(memory) / 1024:.0f}")
    if not PEERS:
        return
    own = ORDERS / m["check"]
    node = os.path.join(HERE, "peers")
    row("\nvalidator", "documents", "documents/s, decoded before", "documents/s with decoding", "Docward, which reads the file, is")
    row(*["---"] * 5)
    calls = []
    for name in ("jsonschema", "fastjsonschema"):
        if subprocess.run([sys.executable, "-c", f"import bson, {name}"], capture_output=True).returncode == 0:
            calls.append((name, [sys.executable, "validate.py", path, str(PEER_ORDERS), schema, name, "3"]))
        else:
            print(f"{name} skipped: pip install pymongo {name}")
    if shutil.which("npm") is not None:
        subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund"], cwd=node, check=True)
        calls.append(("ajv", ["node", "validate.mjs", path, str(PEER_ORDERS), schema, "3"]))
    for name, call in calls:
        out = subprocess.run(call, cwd=node, check=True, capture_output=True, text=True).stdout
        lines = [line.split() for line in out.splitlines()]
        decoding, seconds = float(lines[0][1]), statistics.median(float(line[2]) for line in lines)
        alone, whole = PEER_ORDERS / seconds, PEER_ORDERS / (seconds + decoding)
        row(name, f"{PEER_ORDERS:,}", f"{alone:,.0f}", f"{whole:,.0f}", f"{own / alone:.1f}x, {own / whole:.1f}x")
    shutil.rmtree(folder, ignore_errors=True)


PLAIN_PY = """import logging
from dataclasses import dataclass

log = logging.getLogger(__name__)


@dataclass
class Thing{n}:
    name: str
    size: int = {n}

    def grow(self, by: int) -> int:
        for step in range(by):
            self.size += step
            log.debug("grew to %s", self.size)
        return self.size


def total(things):
    return sum(thing.size for thing in things if thing.name != "{n}")
"""
PLAIN_JS = """import { render } from './view{n}.js';

export function list(items) {
  const out = [];
  for (const item of items) {
    if (item.size > {n}) out.push({ name: item.name, size: item.size });
  }
  return render(out, { title: 'list {n}', history: items.map((i) => i.id) });
}
"""
MONGO_PY = """from flask import Flask, jsonify
from pymongo import MongoClient

app = Flask(__name__)
client = MongoClient("mongodb://db1.example.net,db2.example.net/?replicaSet=rs0&maxPoolSize=100")


@app.route("/users/<id>")
def user{n}(id):
    doc = client.shop.t_user.find_one({"_id": id})
    client.shop.t_user.update_one({"_id": id}, {"$push": {"visits": {"at": doc["now"], "n": {n}}}})
    client.shop.t_user.update_one({"_id": id}, {"$push": {"last": {"$each": [1], "$slice": -10}}})
    return jsonify(doc)
"""
MONGO_JS = """const { MongoClient } = require('mongodb');
const client = new MongoClient(process.env.MONGODB_URI, { maxPoolSize: 100, retryWrites: false });

async function save{n}(id, entry) {
  const users = client.db('shop').collection('t_user');
  await users.updateOne({ _id: id }, { $push: { log: entry } });
  await users.updateOne({ _id: id }, { $push: { log: { $each: [entry], $slice: -{n} } } });
}
module.exports = { save{n} };
"""


def lint(docward):
    """Source code: files that have nothing to do with MongoDB, and files that have."""
    plain, mongo = (4_000, 400) if QUICK else (20_000, 2_000)
    folders = {}
    for name, count, texts in (("plain", plain, (PLAIN_PY, PLAIN_JS)), ("mongo", mongo, (MONGO_PY, MONGO_JS))):
        folder = os.path.join(DATA, f"{count}-{name}-code")
        folders[name] = folder
        if os.path.exists(folder):
            continue
        for n in range(count):
            below = os.path.join(folder, f"part{n % 100}")
            os.makedirs(below, exist_ok=True)
            ending = ("py", "js")[n % 2]
            with open(os.path.join(below, f"file{n}.{ending}"), "w") as out:
                # Files of projects are longer than examples.
                out.write(texts[n % 2].replace("{n}", str(n)) + "\n# \n".replace("#", "#" if ending == "py" else "//") * 200)

    def timed(*words, good=(0, 1)):
        start = time.monotonic()
        done = subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if done.returncode not in good:
            sys.exit(f"{' '.join(words)} failed")
        return time.monotonic() - start

    one = lambda folder: timed(docward, "lint", folder, "--threads", "1", "--format", "json", "--quiet")
    m, _ = medians({"plain": lambda: one(folders["plain"]), "mongo": lambda: one(folders["mongo"])})
    print(f"\n### Lint: one thread, medians of {REPETITIONS}")
    row("files", "without MongoDB", "with MongoDB")
    row(*["---"] * 3)
    row("files", f"{plain:,}", f"{mongo:,}")
    row("docward s", f"{m['plain']:.2f}", f"{m['mongo']:.2f}")
    row("docward files/s", f"{plain / m['plain']:,.0f}", f"{mongo / m['mongo']:,.0f}")
    semgrep = shutil.which("semgrep") or os.environ.get("SEMGREP")
    if not PEERS or semgrep is None:
        print("semgrep skipped: pip install semgrep, or name it in SEMGREP")
        return
    call = [semgrep, "scan", "--config", os.path.join(HERE, "peers", "lint.yml"), "--metrics=off",
            "--disable-version-check", "--jobs", "1", "--no-git-ignore", "--quiet"]
    timed(*call, folders["mongo"])
    peer = {name: statistics.median(timed(*call, folders[name]) for _ in range(3)) for name in ("plain", "mongo")}
    row("semgrep s", f"{peer['plain']:.2f}", f"{peer['mongo']:.2f}")
    row("semgrep files/s", f"{plain / peer['plain']:,.0f}", f"{mongo / peer['mongo']:,.0f}")
    row("docward is", f"{peer['plain'] / m['plain']:.0f}x", f"{peer['mongo'] / m['mongo']:.0f}x")


def peers(docward, files):
    node = os.path.join(HERE, "peers")
    if shutil.which("npm") is None:
        print("\npeers skipped: npm is not here")
        return
    subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund"], cwd=node, check=True)
    with running_server() as (_, uri):
        print("\n### npm mongodb-schema on the same documents")
        row("data", "documents", "mode", "documents/s", "Docward (1 thread) is")
        row(*["---"] * 5)
        for name, count in (("orders.bson", PEER_ORDERS), ("wide.bson", PEER_WIDE)):
            collection = f"bench.{name.split('.')[0]}"
            subprocess.run(["node", "load.mjs", uri, collection, files[name], str(count)], cwd=node, check=True,
                           stdout=subprocess.DEVNULL)
            total = {"orders.bson": ORDERS, "wide.bson": WIDE}[name]
            modes = ("cursor", "cursor-no-values", "memory", "memory-no-values")
            ours, theirs = [], {mode: [] for mode in modes}
            # In turns, so that a slow moment of the machine touches both.
            for _ in range(REPETITIONS):
                for mode in modes:
                    ours.append(audit(docward, files[name], 1)[0])
                    # The better of two, because the first run of a process compiles.
                    out = subprocess.run(["node", "schema.mjs", uri, collection, str(count), mode, "2"], cwd=node,
                                         check=True, capture_output=True, text=True).stdout
                    theirs[mode].append(min(float(line.split()[1]) for line in out.splitlines()))
            own = total / statistics.median(ours)
            for mode in modes:
                peer = count / statistics.median(theirs[mode])
                row(name, f"{count:,}", mode, f"{peer:,.0f}", f"{own / peer:.0f}x")


KNOWN = {"--quick", "--no-peers", "--only-live", "--only-validators", "--only-lint", "--only-peers"}


def main():
    unknown = [word for word in sys.argv[1:] if word not in KNOWN]
    if unknown:
        # Hours of measuring are no answer to a question.
        print(__doc__)
        sys.exit(0 if unknown[0] in ("-h", "--help") else f"{unknown[0]} is not known")
    docward, bench = build()
    if "--only-lint" in sys.argv:
        lint(docward)
        return
    files = data(bench)
    if "--only-live" in sys.argv:
        live(docward, bench, files)
        return
    if "--only-validators" in sys.argv:
        validators(docward, bench, files)
        return
    if "--only-peers" in sys.argv:
        peers(docward, files)
        return
    offline(docward, bench, files)
    validators(docward, bench, files)
    lint(docward)
    live(docward, bench, files)
    if PEERS:
        peers(docward, files)


if __name__ == "__main__":
    main()
