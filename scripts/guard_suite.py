#!/usr/bin/env python3
"""Runs PyMongo's own test suite against a replica set, then again through `docward guard`, and compares the results.

    python3 scripts/guard_suite.py                          all modules; clients see a router
    python3 scripts/guard_suite.py --modules bulk,cursor    some modules; MODULES lists all
    python3 scripts/guard_suite.py --tests 'Bulk.*upsert'   tests whose name matches a regular expression
    python3 scripts/guard_suite.py --face lb                clients see a load balancer
    python3 scripts/guard_suite.py --together               both runs in parallel: faster, but less reliable
    python3 scripts/guard_suite.py --keep                   keep logs and data, and print their folder

Each run uses its own empty replica set of three members. The second run uses two guards side by side. The script prints
a table of the modules, how many tests are skipped only through the guard, and the tests with different results.
EXPECTED lists the tests that cannot have the same result, with the reasons.

The guard retries some commands when a server fails, so drivers may not see a failure that a test injects. The script
therefore repeats tests with different results through the guard, with failures that last twice as long. A test that
passes then does not count as a difference. The script repeats all other such tests on both sides; a test counts if its
results differ again.

The guard is $DOCWARD_BIN, else target/release/docward, else target/debug/docward. PyMongo and its suite are downloaded
once, verified by their digests, and kept outside the repository.

Exit codes: 0 only expected differences, 1 unexpected differences, 2 could not run.
"""

import argparse
import collections
import collections.abc
import concurrent.futures
import contextlib
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import types
import unittest

import clients
import mongod

# The source distribution contains the suite. The driver itself is the built one of clients.py.
SDIST = (clients.PYMONGO, "a9de02be53b6bb98efe0b9eda84ffa1ec027fcb23a2de62c4f941d9a2f2f3330")

# The modules of the suite that need a server.
MODULES = [
    "crud_unified", "crud_v1", "bulk", "client_bulk_write", "collection", "collection_management", "cursor", "database",
    "raw_bson", "custom_types", "collation", "comment", "run_command", "index_management", "examples",
    "transactions", "transactions_unified", "session", "sessions_unified",
    "change_stream", "gridfs", "gridfs_bucket", "gridfs_spec", "grid_file",
    "retryable_reads", "retryable_reads_unified", "retryable_writes", "retryable_writes_unified",
    "client", "pooling", "monitoring", "command_monitoring", "command_logging", "versioned_api",
    "read_concern", "read_write_concern_spec", "read_preferences", "csot", "unified_format", "load_balancer",
]

# Tests that cannot have the same result: a regular expression for their names, and the reason.
EXPECTED = [
    (r"Dirty_(explicit|implicit)_session",
     "The driver's connection stays open when one behind the guard breaks: there is no session to discard."),
    (r"network_error_in_response_to_(authenticate|saslStart|saslContinue)",
     "The guard answers logins itself, so a server cannot make them fail."),
    (r"network_error_in_response_to|bulk_write_command_network_error|test_network_error_message"
     r"|test_commit_not_retried_after_timeout",
     "The guard returns error 6 for a connection that breaks behind it, or hides it; the driver's own does not break."),
    (r"TestLoadBalancerSdamErrorHandling.test_errors_during_the_initial_connection_hello",
     "The guard answers hello itself, so a server cannot make it fail."),
    (r"TestLoadBalancer(Cursors.*network_error|SdamErrorHandling|Transactions.*transient_network)"
     r"|test_poolClearedEvent_events",
     "The driver's connection stays open when one behind the guard breaks: the driver clears no pool."),
    (r"test_bulk_write_command_error|test_pool_paused_error_is_retryable",
     "The guard returns error 6 when a server changes its role, so that drivers do not think the guard stepped down."),
    (r"in_sharded_cluster_multiple_available|test_connection_timeout_message"
     r"|test_command_is_not_sent_if_RTT_is_greater_than_timeoutMS",
     "The failure is limited to one application name, and servers see the name of the guard."),
    (r"shardCollection_events|TestMongosAndReadPreference.test_(mongos|send_hedge)$",
     "There are no shards behind the guard."),
    (r"test_abortTransaction_sends_recoveryToken|test_commitTransaction_retry_fails_on_new_mongos"
     r"|unpin_after_transient_error_within_a_transaction_and_commit",
     "Both guards use the same primary and need no recovery token, so commands succeed that fail on another router."),
]

# Tests of retries that only the driver may do. They are not repeated with failures that last twice as long.
LEFT_TO_DRIVERS = r"(?i)commit|not_return_RetryableWriteError|without_RetryableWriteError_label"

# The environment variable that makes failures last twice as long.
TWICE = "GUARD_SUITE_TWICE"
# Maximum seconds of a test, and maximum seconds without output of a run.
LIMIT = 60
SILENCE = LIMIT + 30
# Maximum lines of an error message, and of its stack trace.
LINES = 12


class Stopped(Exception):
    """The script is being stopped."""


class Processes:
    """All child processes. They are stopped by their ids, however the script ends."""

    def __init__(self):
        self.lock = threading.Lock()
        self.running = []
        self.is_over = False

    def start(self, command, log, **more):
        with self.lock:
            if self.is_over:
                raise Stopped
            with open(log, "ab") as out:
                process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                           start_new_session=True, **more)
            self.running.append(process)
            return process

    def stop(self, process, grace=10):
        """Terminates a process and its children, and kills them if they do not end in time."""
        for how, patience in ((signal.SIGTERM, grace), (signal.SIGKILL, 10)):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, how)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(patience)
                break
        with self.lock:
            if process in self.running:
                self.running.remove(process)

    def stop_all(self):
        with self.lock:
            self.is_over = True
            running = list(reversed(self.running))
        for process in running:
            self.stop(process, grace=2)


PROCESSES = Processes()


def suite_directory():
    """Returns the folder of the suite, and downloads the suite if it is missing."""
    folder = clients.cache_directory(f"{SDIST[0]}-suite")
    if not os.path.isdir(folder):
        clients.as_whole(folder, fetch_suite)
    return folder


def fetch_suite(target):
    with tempfile.TemporaryDirectory() as temporary:
        path = clients.download(*SDIST, temporary, "--no-binary", "pymongo")
        with tarfile.open(path) as archive:
            top = archive.getnames()[0].split("/")[0]
            members = [member for member in archive if member.name.startswith(f"{top}/test/")]
            archive.extractall(temporary, members, filter="data")
        shutil.move(os.path.join(temporary, top, "test"), target)


def free_ports(count):
    """Returns free ports whose next port is free too, because the suite looks for a second router there. They are below
    the ephemeral range, from which an outgoing connection could take a port before the server does."""
    ports = []
    while len(ports) < count:
        port = random.randrange(20_000, 32_000, 2)
        with socket.socket() as one, socket.socket() as next_one, contextlib.suppress(OSError):
            one.bind(("127.0.0.1", port))
            next_one.bind(("127.0.0.1", port + 1))
            if port not in ports:
                ports.append(port)
    return ports


class ReplicaSet:
    """An empty replica set of three members."""

    def __init__(self, folder):
        self.ports = free_ports(3)
        self.hosts = [f"127.0.0.1:{port}" for port in self.ports]
        self.uri = f"mongodb://{','.join(self.hosts)}/?replicaSet=rs0"
        program = mongod.find()
        self.processes = []
        for port in self.ports:
            data = os.path.join(folder, f"data-{port}")
            os.makedirs(data)
            self.processes.append(PROCESSES.start(
                [program, "--replSet", "rs0", "--bind_ip", "127.0.0.1", "--port", str(port), "--dbpath", data,
                 "--wiredTigerCacheSizeGB", "0.5", "--oplogSize", "256",
                 "--setParameter", "enableTestCommands=1",
                 "--setParameter", "diagnosticDataCollectionEnabled=false"],
                os.path.join(folder, f"mongod-{port}.log")))
        self.initiate()

    def initiate(self):
        import pymongo
        members = [{"_id": at, "host": host, "priority": 2 if at == 0 else 1} for at, host in enumerate(self.hosts)]
        config = {"_id": "rs0", "members": members, "settings": {"electionTimeoutMillis": 5000}}
        for host in self.hosts:
            with pymongo.MongoClient(host, directConnection=True, serverSelectionTimeoutMS=60_000) as client:
                client.admin.command("ping")
        with pymongo.MongoClient(self.hosts[0], directConnection=True) as client:
            client.admin.command("replSetInitiate", config)
            for _ in range(600):
                states = [m["state"] for m in client.admin.command("replSetGetStatus")["members"]]
                if sorted(states) == [1, 2, 2] and client.admin.command("hello")["isWritablePrimary"]:
                    return
                time.sleep(0.1)
        raise RuntimeError("the replica set has no primary")

    def clean(self):
        """Removes the fail points, sessions and data that tests left behind."""
        import pymongo
        for host in self.hosts:
            with pymongo.MongoClient(host, directConnection=True, serverSelectionTimeoutMS=10_000) as client:
                for name in ("failCommand", "stopReplProducer"):
                    client.admin.command("configureFailPoint", name, mode="off")
        with pymongo.MongoClient(self.uri, serverSelectionTimeoutMS=10_000) as client:
            client.admin.command("killAllSessions", [])
            for name in client.list_database_names():
                if name not in ("admin", "config", "local"):
                    client.drop_database(name)

    def stop(self):
        for process in self.processes:
            PROCESSES.stop(process, grace=3)


def wait_for_line(log, text):
    for _ in range(200):
        with open(log) as said:
            if text in said.read():
                return
        time.sleep(0.1)
    raise RuntimeError(f"no line `{text}` in {log}")


class Side:
    """One of the two runs, direct or through the guard, with its servers and results."""

    def __init__(self, name, folder, arguments):
        self.name = name
        self.folder = os.path.join(folder, name)
        self.arguments = arguments
        self.results = {}
        self.processes = []

    def __enter__(self):
        os.makedirs(self.folder)
        self.servers = ReplicaSet(self.folder)
        # Some tests start programs that import the driver.
        paths = os.pathsep.join([suite_directory(), clients.python(True)[0]])
        self.environment = {**os.environ, "DB_IP": "127.0.0.1", "DB_PORT": str(self.servers.ports[0]),
                            "PYTHONPATH": paths}
        if self.name == "guard":
            self.start_guards()
        return self

    def __exit__(self, *_):
        for process in self.processes:
            PROCESSES.stop(process, grace=2)
        self.servers.stop()

    def start_guards(self):
        """Starts two guards, because the suite looks for a second router on the next port."""
        port = free_ports(1)[0]
        for own in (port, port + 1):
            log = os.path.join(self.folder, f"guard-{own}.log")
            self.processes.append(PROCESSES.start(
                [self.arguments.binary, "guard", "--upstream", self.servers.uri, "--listen", f"127.0.0.1:{own}",
                 "--face", self.arguments.face, "--grace", "1"], log))
            wait_for_line(log, "listening on")
        self.environment["DB_PORT"] = str(port)
        if self.arguments.face == "lb":
            uri = f"mongodb://127.0.0.1:{port}/?loadBalanced=true"
            self.environment |= {"TEST_LOADBALANCER": "1", "SINGLE_MONGOS_LB_URI": uri, "MULTI_MONGOS_LB_URI": uri}

    def run(self, modules):
        for module in modules:
            began = time.monotonic()
            self.servers.clean()
            self.results[module] = self.module(module, self.arguments.tests)
            if not self.arguments.quiet:
                print(f"{self.name}: {module}: {count(self.results[module])}, "
                      f"{time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
        return self

    def module(self, module, tests, is_twice=False):
        """Runs the tests of a module whose names match. Continues after a test that hangs."""
        environment = self.environment | ({TWICE: "1"} if is_twice else {})
        results, log = {}, os.path.join(self.folder, f"{module}.log")
        while True:
            done = os.path.join(self.folder, f"{module}-done.json")
            said = os.path.join(self.folder, f"{module}-results.jsonl")
            with open(done, "w") as out:
                json.dump(list(results), out)
            open(said, "w").close()
            child = PROCESSES.start([sys.executable, "-X", "faulthandler", os.path.abspath(__file__),
                                     "--child", f"test.test_{module}", tests, done, said],
                                    log, env=environment)
            while child.poll() is None and time.time() - os.stat(said).st_mtime < SILENCE:
                time.sleep(0.1)
            hangs = child.poll() is None
            PROCESSES.stop(child, grace=0)
            running = None
            with open(said) as lines:
                for line in map(json.loads, lines):
                    running = line["test"]
                    if line["result"] != "runs":
                        results[running] = (line["result"], line["why"])
                        running = None
            if running:
                results[running] = ("failed", "the test hung, or ended the process")
            elif hangs or child.returncode != 0:
                results[f"test.test_{module}"] = ("failed", f"the module hung or did not start: see {log}")
                return results
            else:
                return results


# The child process runs one module. It writes one line when a test starts and one when it ends.


class TooLong(BaseException):
    """A test took too long. Not an `Exception`, so that tests do not catch it."""


class Report(unittest.TestResult):
    def __init__(self, out, by_class):
        super().__init__()
        self.out = out
        self.by_class = by_class

    def say(self, test, result, why=""):
        self.out.write(json.dumps({"test": test, "result": result, "why": why}) + "\n")
        self.out.flush()

    def startTest(self, test):
        super().startTest(test)
        self.said = ("passed", "")
        self.say(test.id(), "runs")
        signal.setitimer(signal.ITIMER_REAL, LIMIT, 5)

    def stopTest(self, test):
        signal.setitimer(signal.ITIMER_REAL, 0)
        self.say(test.id(), *self.said)
        super().stopTest(test)

    def note(self, test, result, why):
        if isinstance(test, unittest.TestCase) or hasattr(test, "test_case"):
            if self.said[0] != "failed":
                self.said = (result, why)
            return
        # Not a test, but the setup or teardown of a class. A failed setup counts for all tests of the class.
        name = re.search(r"\((.*)\)", test.id())
        step = test.id().split(" ")[0]
        if step == "setUpClass":
            for one in self.by_class.get(name and name[1], []):
                self.say(one, result, why)
        else:
            self.say(test.id(), result, why)

    def failed(self, test, error):
        self.note(test, "failed", reason(error))

    def addError(self, test, err):
        self.failed(test, err)

    def addFailure(self, test, err):
        self.failed(test, err)

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.failed(subtest, err)

    def addSkip(self, test, reason):
        self.note(test, "skipped", str(reason))

    def addExpectedFailure(self, test, err):
        pass

    def addUnexpectedSuccess(self, test):
        self.note(test, "failed", "the test passed, but was expected to fail")


def reason(error):
    """Returns the message of an error and the end of its stack trace."""
    import traceback
    text = "".join(traceback.format_exception_only(*error[:2])).strip().splitlines()
    places = [f"  {frame.filename.split('/test/')[-1]}:{frame.lineno} {frame.line}"
              for frame in traceback.extract_tb(error[2]) if "/unittest/" not in frame.filename]
    return "\n".join(text[:LINES] + places[-LINES:])


def fail_twice():
    """Makes the failures that tests inject last twice as long."""
    from pymongo.synchronous.database import Database
    command = Database.command

    def twice(self, asked, *rest, **more):
        if isinstance(asked, collections.abc.Mapping) and "configureFailPoint" in asked:
            mode = asked.get("mode")
            if isinstance(mode, collections.abc.Mapping) and "times" in mode:
                asked = type(asked)(asked)
                asked["mode"] = {"times": 2 * mode["times"]}
        return command(self, asked, *rest, **more)

    Database.command = twice


def all_tests(suite):
    for part in suite:
        if isinstance(part, unittest.TestSuite):
            yield from all_tests(part)
        else:
            yield part


def child(module, tests, done, said):
    sys.path[:0] = [suite_directory(), clients.python(True)[0]]
    for name in [name for name in sys.modules if name == "test" or name.startswith("test.")]:
        del sys.modules[name]
    # A few modules import pytest to mark tests.
    stub = types.ModuleType("pytest")
    stub.mark = types.SimpleNamespace(load_balancer=None, index_management=None)
    stub.fixture = lambda *_, **__: lambda function: function
    sys.modules["pytest"] = stub

    def too_long(*_):
        raise TooLong(f"the test took longer than {LIMIT} s")

    signal.signal(signal.SIGALRM, too_long)
    if os.environ.get(TWICE):
        fail_twice()
    import test
    test.setup()
    suite = unittest.defaultTestLoader.loadTestsFromName(module)
    with open(done) as names:
        is_done = set(json.load(names))
    wanted = [one for one in all_tests(suite) if one.id() not in is_done and re.search(tests, one.id())]
    by_class = collections.defaultdict(list)
    for one in wanted:
        by_class[f"{type(one).__module__}.{type(one).__qualname__}"].append(one.id())
    with open(said, "a") as out:
        unittest.TestSuite(wanted).run(Report(out, by_class))
    # Exits without waiting for threads and clients that tests left behind.
    os._exit(0)


# Output


def count(results):
    kinds = collections.Counter(result for result, _ in results.values())
    return f"{len(results)} run, {kinds['passed']} passed, {kinds['failed']} failed, {kinds['skipped']} skipped"


def figures(results):
    kinds = collections.Counter(result for result, _ in results.values())
    return "".join(f"{number:6}" for number in
                   (len(results) - kinds["skipped"], kinds["passed"], kinds["failed"], kinds["skipped"]))


def table(modules, direct, guard):
    print(f"{'':28}{'direct':>24}   {'guard':>24}")
    print(f"{'module':28}   run  pass  fail  skip      run  pass  fail  skip")
    for module in modules:
        print(f"{module:28}{figures(direct.results[module])}   {figures(guard.results[module])}")
    whole = [{(m, t): r for m in modules for t, r in side.results[m].items()} for side in (direct, guard)]
    print(f"{'all':28}{figures(whole[0])}   {figures(whole[1])}")


def plain(why):
    """Returns the reason of a skip without the parts that differ between tests."""
    first = (why.splitlines() or [""])[0]
    return re.sub(r"^\w+ (runOnRequirements)|\S+:\d+", lambda m: m[1] or "HOST", first)


def why_expected(test):
    return next((why for pattern, why in EXPECTED if re.search(pattern, test)), None)


def differences(modules, direct, guard):
    """Returns tests with different results, tests skipped only through the guard, and tests that only run there."""
    differ, skipped, more = [], [], []
    for module in modules:
        for test in dict.fromkeys([*direct.results[module], *guard.results[module]]):
            one = direct.results[module].get(test, ("missing", ""))
            two = guard.results[module].get(test, ("missing", ""))
            if one[0] == two[0]:
                continue
            if two[0] == "skipped":
                skipped.append((module, test, one, two))
            elif (one[0], two[0]) == ("skipped", "passed"):
                more.append((module, test, one, two))
            else:
                differ.append((module, test, one, two))
    return differ, skipped, more


def again(differ, direct, guard):
    """Repeats tests with different results. Returns those that the guard hides, unreliable ones, and differences."""
    hidden, unsteady, steady = [], [], []
    for module in dict.fromkeys(module for module, *_ in differ):
        own = [entry for entry in differ if entry[0] == module]
        guard.servers.clean()
        may_hide = [entry for entry in own if not re.search(LEFT_TO_DRIVERS, entry[1])]
        twice = guard.module(module, pattern_of(may_hide), is_twice=True) if may_hide else {}
        hides = [entry for entry in own if entry[3][0] == "failed" and twice.get(entry[1], ("missing",))[0] == "passed"]
        hidden.extend(hides)
        rest = [entry for entry in own if entry not in hides]
        if not rest:
            continue
        for side in (direct, guard):
            side.servers.clean()
        second = [side.module(module, pattern_of(rest)) for side in (direct, guard)]
        for entry in rest:
            results = [said.get(entry[1], ("missing",))[0] for said in second]
            (unsteady if results[0] == results[1] else steady).append(entry)
    return hidden, unsteady, steady


def pattern_of(entries):
    return "|".join(f"^{re.escape(test)}$" for _, test, *_ in entries)


def show(entries, title):
    if entries:
        print(f"\n{title}")
    for _, test, one, two in entries:
        print(f"  {test}: {one[0]} | {two[0]}")
        side = two if two[0] == "failed" else one
        for line in side[1].splitlines()[:1]:
            print(f"      {line[:300]}")
        if why := why_expected(test):
            print(f"      {why}")


def binary():
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    for path in (os.environ.get("DOCWARD_BIN"), *(os.path.join(root, "target", kind, "docward")
                                                  for kind in ("release", "debug"))):
        if path and os.path.exists(path):
            return os.path.abspath(path)
    sys.exit("docward is missing: build it, or set DOCWARD_BIN")


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--modules", default=",".join(MODULES), metavar="A,B")
    parser.add_argument("--tests", default="", metavar="REGEX")
    parser.add_argument("--face", choices=["router", "lb"], default="router")
    parser.add_argument("--together", action="store_true")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--quiet", action="store_true", help="print no progress")
    arguments = parser.parse_args()
    arguments.modules = [name.removeprefix("test_") for name in arguments.modules.split(",")]
    arguments.binary = binary()
    return arguments


def compare(arguments, folder):
    with Side("direct", folder, arguments) as direct, Side("guard", folder, arguments) as guard:
        with concurrent.futures.ThreadPoolExecutor(2 if arguments.together else 1) as pool:
            try:
                for done in [pool.submit(side.run, arguments.modules) for side in (direct, guard)]:
                    done.result()
            except BaseException:
                # Leaving the pool waits for its threads, which wait for their child processes.
                PROCESSES.stop_all()
                raise
        differ, skipped, more = differences(arguments.modules, direct, guard)
        unexpected = [entry for entry in differ if not why_expected(entry[1])]
        expected = [entry for entry in differ if why_expected(entry[1])]
        hidden, unsteady, unexpected = again(unexpected, direct, guard)
        if arguments.keep:
            with open(os.path.join(folder, "results.json"), "w") as out:
                json.dump({side.name: side.results for side in (direct, guard)}, out, indent=1)
    table(arguments.modules, direct, guard)
    if skipped:
        print(f"\n{len(skipped)} tests are skipped only through the guard:")
        for (was, why), number in collections.Counter(
                (one[0], plain(two[1])) for _, _, one, two in skipped).most_common():
            print(f"  {number:4}  ({was} without the guard) {why}")
    if more:
        print(f"\n{len(more)} tests are skipped without the guard and pass through it")
    if hidden:
        print(f"\n{len(hidden)} tests pass if failures last twice as long: the guard hides the first one with a retry")
    show(expected, f"{len(expected)} expected differences (direct | guard):")
    show(unsteady, f"{len(unsteady)} tests differed in the first run only (direct | guard):")
    show(unexpected, f"{len(unexpected)} unexpected differences (direct | guard):")
    better = [entry for entry in unexpected if entry[3][0] == "passed"]
    print(f"\n{len(unexpected)} unexpected differences, {len(better)} of them pass only through the guard")
    return 1 if len(unexpected) > len(better) else 0


def main():
    if sys.argv[1:2] == ["--child"]:
        return child(*sys.argv[2:])
    arguments = read_arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    folder = tempfile.mkdtemp(prefix="guard-suite-")
    try:
        suite_directory()
        path, why = clients.python(True)
        if not path:
            raise RuntimeError(why)
        sys.path.insert(0, path)
        return compare(arguments, folder)
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        if not isinstance(error, (RuntimeError, OSError, Stopped)) and "pymongo" not in type(error).__module__:
            raise
        print(f"error: could not run: {error}", file=sys.stderr)
        return 2
    finally:
        PROCESSES.stop_all()
        if arguments.keep:
            print(f"logs and data: {folder}", file=sys.stderr)
        else:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
