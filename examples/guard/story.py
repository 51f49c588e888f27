#!/usr/bin/env python3
"""Compares short-lived programs with and without `docward guard`. Two hundred programs connect, read one document and
end, as PHP pages and serverless functions do: first directly to a server, then through a guard. Prints how many
connections the server opened, and how many it had at the same time.

    python3 examples/guard/story.py              needs only `docward` (built, or on PATH) and Python
    python3 examples/guard/story.py --clients 50

scripts/mongod.py finds or downloads the server. Everything runs on 127.0.0.1 and is stopped at the end.
"""

import argparse
import os
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
AT_ONCE = 20
POOL = 5
PATIENCE = 120


def bson(document):
    """Encodes a document of strings, 32-bit integers and documents; these commands need no other types."""
    parts = b""
    for name, value in document.items():
        key = name.encode() + b"\0"
        if isinstance(value, str):
            text = value.encode() + b"\0"
            parts += b"\x02" + key + struct.pack("<i", len(text)) + text
        elif isinstance(value, dict):
            parts += b"\x03" + key + bson(value)
        else:
            parts += b"\x10" + key + struct.pack("<i", value)
    return struct.pack("<i", len(parts) + 5) + parts + b"\0"


def ask(connection, command):
    """Sends a command and returns the reply message."""
    body = struct.pack("<iB", 0, 0) + bson(command)
    connection.sendall(struct.pack("<iiii", 16 + len(body), 1, 0, 2013) + body)
    answer = b""
    while len(answer) < 4 or len(answer) < struct.unpack_from("<i", answer)[0]:
        part = connection.recv(65536)
        if not part:
            raise ConnectionError("the connection was closed")
        answer += part
    if b"\x01ok\0" + struct.pack("<d", 1.0) not in answer:
        raise RuntimeError(f"the command failed: {answer!r}")
    return answer


def number(answer, name):
    """Returns the first 32-bit integer with this name in a reply, at any depth."""
    at = answer.index(b"\x10" + name.encode() + b"\0") + len(name) + 2
    return struct.unpack_from("<i", answer, at)[0]


def connect(port):
    connection = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
    ask(connection, {"hello": 1, "$db": "admin"})
    return connection


def client(port):
    """Runs one short-lived program."""
    with connect(port) as connection:
        ask(connection, {"find": "t_page", "filter": {}, "limit": 1, "$db": "db_shop"})


def docward():
    for path in (
        os.environ.get("DOCWARD_BIN"),
        os.path.join(ROOT, "target", "release", "docward"),
        os.path.join(ROOT, "target", "debug", "docward"),
        shutil.which("docward"),
    ):
        if path and os.path.exists(path):
            return path
    sys.exit("docward is missing: build it with `cargo build --release`")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start_server(folder, port):
    found = subprocess.run(
        [sys.executable, os.path.join(ROOT, "scripts", "mongod.py")], stdout=subprocess.PIPE, text=True, check=True
    )
    mongod = found.stdout.split()[-1]
    log = open(os.path.join(folder, "mongod.log"), "wb")
    command = [mongod, "--dbpath", folder, "--port", str(port), "--bind_ip", "127.0.0.1"]
    server = subprocess.Popen(command, stdout=log, stderr=log)
    end = time.monotonic() + PATIENCE
    while True:
        try:
            connect(port).close()
            return server
        except OSError:
            if server.poll() is not None or time.monotonic() > end:
                sys.exit(f"the server did not start: see {log.name}")
            time.sleep(0.1)


def start_guard(upstream):
    command = [docward(), "guard", "--upstream", f"mongodb://127.0.0.1:{upstream}/", "--listen", "127.0.0.1:0"]
    guard = subprocess.Popen(command + ["--max-pool", str(POOL)], stderr=subprocess.PIPE, text=True)
    for line in guard.stderr:
        if line.startswith("listening on "):
            return guard, int(line.split()[2].rsplit(":", 1)[1])
    sys.exit("the guard did not start")


def run_clients(port, count, watch):
    """Runs the programs. Returns the maximum number of open connections of the server, and the seconds."""
    began, most = time.monotonic(), 0
    command = [sys.executable, "-S", "-E", os.path.abspath(__file__), "--as-client", str(port)]
    one = lambda _: subprocess.run(command, check=True)
    with ThreadPoolExecutor(AT_ONCE) as programs:
        running = [programs.submit(one, n) for n in range(count)]
        while not all(program.done() for program in running):
            most = max(most, number(ask(watch, STATUS), "current"))
            time.sleep(0.005)
        for program in running:
            program.result()
    return most, time.monotonic() - began


STATUS = {"serverStatus": 1, "metrics": 0, "wiredTiger": 0, "repl": 0, "locks": 0, "$db": "admin"}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--as-client", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.as_client:
        return client(arguments.as_client)
    count = arguments.clients
    started = []
    with tempfile.TemporaryDirectory() as folder:
        try:
            port = free_port()
            started.append(start_server(folder, port))
            with connect(port) as watch:
                rows = []
                for name in ("directly to the server", "through docward guard"):
                    target = port
                    if name.startswith("through"):
                        guard, target = start_guard(port)
                        started.append(guard)
                        # Opens the guard's own connections for server discovery, which are not counted.
                        client(target)
                    before = number(ask(watch, STATUS), "totalCreated")
                    most, seconds = run_clients(target, count, watch)
                    opened = number(ask(watch, STATUS), "totalCreated") - before
                    rows.append((name, opened, most - 1, seconds))
            print(f"{count} programs, {AT_ONCE} at a time, one read each:\n")
            print(f"{'':24}{'opened':>8}{'at once':>9}{'seconds':>9}")
            for name, opened, most, seconds in rows:
                print(f"{name:24}{opened:8}{most:9}{seconds:9.1f}")
            print(f"\nConnections of the server. The guard opens at most {POOL} for commands, and a few for monitoring.")
        finally:
            for process in reversed(started):
                process.terminate()
                process.wait(PATIENCE)
    return None


if __name__ == "__main__":
    sys.exit(main())
