#!/usr/bin/env python3
"""Injects faults into servers and guards while programs write through them. Checks that no acknowledged write is lost
and no write is applied twice.

    python3 scripts/guard_faults.py                    runs for five minutes, with a fault every five seconds
    python3 scripts/guard_faults.py --seconds 60 --every 3
    python3 scripts/guard_faults.py --faults step-down,kill-primary
    python3 scripts/guard_faults.py --faults transaction --face router --auth list
    python3 scripts/guard_faults.py --soak             full load without faults; prints the memory of the guards

The setup is a replica set of three members, two guards side by side, and eight writers with PyMongo. Each writer
inserts documents, appends numbers to a list, appends with an update that drivers do not retry (`multi`), and moves
amounts between accounts in transactions. At the end, the script compares the data with the acknowledged writes.

The fault `transaction` is a run of its own, after the other faults: see guard_transactions.py. It steps the primary down,
kills the primary or restarts the guard between a statement of a transaction and its end, for each face and login.

The guard is $DOCWARD_BIN, else target/release/docward, else target/debug/docward.
Exit codes: 0 no write lost or applied twice, 1 otherwise.
"""

import argparse
import collections
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import clients
import guard_suite
import guard_transactions
import mongod

WRITERS = 8
ACCOUNTS = 10
START = 1000
# Error codes that drivers retry, or that report a changed role of the server.
CODES = [6, 7, 89, 91, 134, 189, 262, 9001, 10107, 11600, 11602, 13435, 13436]
PATIENCE = 120


class Set:
    """Three members and some guards. Each can be killed, frozen and restarted. With `has_users`, the members ask for a
    login."""

    def __init__(self, folder, guards=2, has_users=False):
        self.folder = folder
        self.ports = guard_suite.free_ports(3 + guards)
        self.members, self.guards = self.ports[:3], self.ports[3:]
        self.key_file = os.path.join(folder, "key") if has_users else None
        self.login = {}
        self.processes = {}
        if has_users:
            with open(self.key_file, "w", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
                file.write("guardFaults" * 3)
        for port in self.members:
            self.start(port)
        self.initiate()
        if has_users:
            self.add_users()
        hosts = ",".join(f"127.0.0.1:{port}" for port in self.members)
        account = "{username}:{password}@".format(**self.login) if has_users else ""
        self.uri = f"mongodb://{account}{hosts}/?replicaSet=rs0"
        for port in self.guards:
            self.start(port)

    def add_users(self):
        """Adds the account of the guard, and the user that programs log in as."""
        root = {"username": "root", "password": "root-secret"}
        with self.client(self.primary()) as client:
            client.admin.command("createUser", root["username"], pwd=root["password"], roles=["root"])
        self.login = root
        with self.client(self.primary(), w="majority") as client:
            client.admin.command("createUser", guard_transactions.USER, pwd=guard_transactions.PASSWORD,
                                 roles=[{"role": "readWrite", "db": "db_faults"}])

    def start(self, port):
        if port in self.members:
            data = os.path.join(self.folder, str(port))
            os.makedirs(data, exist_ok=True)
            command = [mongod.find(), "--replSet", "rs0", "--bind_ip", "127.0.0.1", "--port", str(port), "--dbpath", data,
                       "--wiredTigerCacheSizeGB", "0.5", "--setParameter", "enableTestCommands=1"]
            command += ["--keyFile", self.key_file] if self.key_file else []
        else:
            command = [guard_suite.binary(), "guard", "--upstream", self.uri, "--listen", f"127.0.0.1:{port}"]
        with open(os.path.join(self.folder, f"{port}.log"), "ab") as log:
            self.processes[port] = subprocess.Popen(command, stdout=log, stderr=log)

    def kill(self, port, how=signal.SIGKILL):
        self.processes[port].send_signal(how)
        if how == signal.SIGKILL:
            self.processes[port].wait()

    def client(self, port, **more):
        import pymongo
        more = {"serverSelectionTimeoutMS": 5000, **self.login, **more}
        return pymongo.MongoClient("127.0.0.1", port, directConnection=True, **more)

    def initiate(self):
        members = [{"_id": at, "host": f"127.0.0.1:{port}"} for at, port in enumerate(self.members)]
        settings = {"electionTimeoutMillis": 2000, "heartbeatIntervalMillis": 500}
        end = time.monotonic() + PATIENCE
        while True:
            try:
                for port in self.members:
                    self.client(port).admin.command("ping")
                config = {"_id": "rs0", "members": members, "settings": settings}
                self.client(self.members[0]).admin.command("replSetInitiate", config)
                break
            except Exception:  # A member is still starting.
                if time.monotonic() > end:
                    raise
                time.sleep(0.5)
        self.primary()

    def primary(self):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            for port in self.members:
                try:
                    with self.client(port, socketTimeoutMS=1000) as client:
                        if client.admin.command("hello")["isWritablePrimary"]:
                            return port
                except Exception:  # The member is killed, frozen or starting.
                    continue
            time.sleep(0.2)
        raise RuntimeError("the replica set has no primary")

    def secondary(self):
        primary = self.primary()
        return random.choice([port for port in self.members if port != primary])

    def stop(self):
        for process in self.processes.values():
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.terminate()
        for process in self.processes.values():
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()


def step_down(servers):
    with servers.client(servers.primary()) as client:
        client.admin.command("replSetStepDown", 5, force=True)


def kill_and_start(servers, port):
    servers.kill(port)
    time.sleep(2)
    servers.start(port)


def freeze(servers, port):
    servers.kill(port, signal.SIGSTOP)
    time.sleep(4)
    servers.kill(port, signal.SIGCONT)


def fail_point(servers):
    code = random.choice(CODES)
    labels = ["RetryableWriteError"] if random.random() < 0.7 else []
    data = {"failCommands": ["insert", "update", "find", "commitTransaction", "abortTransaction"], "errorCode": code,
            "errorLabels": labels}
    if random.random() < 0.4:
        data = {"failCommands": data["failCommands"], "closeConnection": True}
    with servers.client(servers.primary()) as client:
        client.admin.command("configureFailPoint", "failCommand", mode={"times": random.choice([1, 5, 20])}, data=data)


FAULTS = {
    "step-down": step_down,
    "kill-primary": lambda servers: kill_and_start(servers, servers.primary()),
    "kill-secondary": lambda servers: kill_and_start(servers, servers.secondary()),
    "freeze-primary": lambda servers: freeze(servers, servers.primary()),
    "freeze-secondary": lambda servers: freeze(servers, servers.secondary()),
    "fail-point": fail_point,
    "kill-guard": lambda servers: kill_and_start(servers, random.choice(servers.guards)),
}


class Writer(threading.Thread):
    """Writes through the guards, and records which writes were acknowledged."""

    def __init__(self, number, uri, over):
        super().__init__(daemon=True)
        self.number, self.uri, self.over = number, uri, over
        self.inserted, self.pushed, self.multi = [set(), set()], [set(), set()], [set(), set()]
        self.transfers = 0
        self.errors = collections.Counter()
        self.slowest = 0.0

    def attempt(self, sets, n, action):
        began = time.monotonic()
        try:
            action()
            sets[0].add(n)
        except Exception as error:  # Not acknowledged: the write may have been applied or not.
            sets[1].add(n)
            self.errors[f"{type(error).__name__} {getattr(error, 'code', None)}"] += 1
        self.slowest = max(self.slowest, time.monotonic() - began)

    def run(self):
        import pymongo
        client = pymongo.MongoClient(self.uri, w="majority", serverSelectionTimeoutMS=20_000, appname=f"writer{self.number}")
        database = client.db_faults
        own, n = {"_id": self.number}, 0
        while not self.over.is_set():
            n += 1
            key = f"{self.number}-{n}"
            self.attempt(self.inserted, key, lambda: database.t_insert.insert_one({"_id": key}))
            self.attempt(self.pushed, n, lambda: database.t_list.update_one(own, {"$push": {"list": n}}))
            self.attempt(self.multi, n, lambda: database.t_multi.update_many(own, {"$push": {"list": n}}))
            try:
                with client.start_session() as session:
                    session.with_transaction(lambda session: self.transfer(database, session))
                self.transfers += 1
            except Exception as error:
                self.errors[f"transaction {type(error).__name__}"] += 1
        client.close()

    def transfer(self, database, session):
        one, other = random.sample(range(ACCOUNTS), 2)
        database.t_account.update_one({"_id": one}, {"$inc": {"amount": -1}}, session=session)
        database.t_account.update_one({"_id": other}, {"$inc": {"amount": 1}}, session=session)


def prepare(servers):
    import pymongo
    with pymongo.MongoClient(servers.uri, w="majority") as client:
        database = client.db_faults
        for name in ("t_list", "t_multi"):
            database[name].insert_many([{"_id": n, "list": []} for n in range(WRITERS)])
        database.t_account.insert_many([{"_id": n, "amount": START} for n in range(ACCOUNTS)])


def check(servers, writers):
    """Returns one message per lost or repeated write."""
    import pymongo
    servers.primary()
    wrong = []
    with pymongo.MongoClient(servers.uri, readConcernLevel="majority") as client:
        database = client.db_faults
        stored = {found["_id"] for found in database.t_insert.find()}
        for writer in writers:
            lost = writer.inserted[0] - stored
            wrong += [f"acknowledged insert {key} is lost" for key in sorted(lost)]
            for name, sets in (("t_list", writer.pushed), ("t_multi", writer.multi)):
                counts = collections.Counter(database[name].find_one({"_id": writer.number})["list"])
                wrong += [f"{name} {writer.number}: acknowledged append {n} is lost" for n in sets[0] if not counts[n]]
                wrong += [f"{name} {writer.number}: {n} was applied {count} times" for n, count in counts.items() if count > 1]
        amount = sum(account["amount"] for account in database.t_account.find())
        if amount != ACCOUNTS * START:
            wrong.append(f"the sum of the accounts is {amount} (expected {ACCOUNTS * START})")
    return wrong


def memory(process):
    with open(f"/proc/{process.pid}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS:"))


def in_folder(arguments, run):
    """Runs in a temporary folder, which holds data and logs."""
    folder = tempfile.mkdtemp(prefix="guard-faults-")
    try:
        return run(folder)
    finally:
        if arguments.keep:
            print(f"logs: {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)


def run_writers(arguments, names, folder):
    servers = Set(folder)
    # Not earlier: two runs at the same time need different ports.
    random.seed(arguments.seed)
    try:
        prepare(servers)
        uri = "mongodb://" + ",".join(f"127.0.0.1:{port}" for port in servers.guards) + "/"
        over = threading.Event()
        writers = [Writer(n, uri, over) for n in range(WRITERS)]
        for writer in writers:
            writer.start()
        end, done, sizes = time.monotonic() + arguments.seconds, collections.Counter(), []
        while time.monotonic() < end:
            time.sleep(arguments.every)
            if arguments.soak:
                sizes.append([memory(servers.processes[port]) for port in servers.guards])
                continue
            name = random.choice(names)
            try:
                FAULTS[name](servers)
                done[name] += 1
            except Exception as error:  # The member may be down already.
                done[f"{name} ({type(error).__name__})"] += 1
        over.set()
        for writer in writers:
            writer.join(PATIENCE)
        for port in servers.members:
            if servers.processes[port].poll() is not None:
                servers.start(port)
        wrong = check(servers, writers)
        total = lambda pick: sum(pick(writer) for writer in writers)
        errors = sum((writer.errors for writer in writers), collections.Counter())
        print(f"faults: {dict(done)}")
        print(f"acknowledged: {total(lambda w: len(w.inserted[0]))} inserts, {total(lambda w: len(w.pushed[0]))} appends, "
              f"{total(lambda w: len(w.multi[0]))} appends that drivers do not retry, "
              f"{total(lambda w: w.transfers)} transactions")
        print(f"not acknowledged: {total(lambda w: len(w.inserted[1]))} inserts, {total(lambda w: len(w.pushed[1]))} appends, "
              f"{total(lambda w: len(w.multi[1]))} appends that drivers do not retry")
        print(f"errors: {dict(errors)}")
        print(f"slowest write: {max(writer.slowest for writer in writers):.1f} s")
        if sizes:
            show = lambda pair: " and ".join(f"{size / 1024:.1f}" for size in pair)
            middle = sizes[len(sizes) // 2]
            print(f"memory of the guards in MB: {show(sizes[0])} at start, {show(middle)} half-way, {show(sizes[-1])} at end")
        print("\n".join(wrong[:20]) if wrong else "no acknowledged write was lost, no write was applied twice")
        return 1 if wrong else 0
    finally:
        servers.stop()


def run_transactions(arguments, folder):
    servers = Set(folder, guards=0, has_users=True)
    try:
        faces = [arguments.face] if arguments.face else guard_transactions.FACES
        logins = [arguments.auth] if arguments.auth else guard_transactions.LOGINS
        wrong = guard_transactions.run(servers, faces, logins, arguments.rounds)
        print("\n".join(wrong[:20]) if wrong else "no committed transaction was lost, none was executed twice")
        return 1 if wrong else 0
    finally:
        servers.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=300)
    parser.add_argument("--every", type=float, default=5)
    parser.add_argument("--faults", default=",".join([*FAULTS, "transaction"]))
    parser.add_argument("--face", choices=guard_transactions.FACES, help="only this face, for the fault `transaction`")
    parser.add_argument("--auth", choices=guard_transactions.LOGINS, help="only this login, for the fault `transaction`")
    parser.add_argument("--rounds", type=int, default=1, help="how often the fault `transaction` runs through all cases")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--soak", action="store_true")
    parser.add_argument("--keep", action="store_true", help="keep the logs and print their folder")
    arguments = parser.parse_args()
    sys.path.insert(0, clients.python(True)[0])
    names = arguments.faults.split(",")
    unknown = set(names) - {*FAULTS, "transaction"}
    if unknown:
        parser.error(f"unknown faults: {', '.join(sorted(unknown))}")
    statements = [name for name in names if name in FAULTS]
    result = 0
    if statements or arguments.soak:
        result |= in_folder(arguments, lambda folder: run_writers(arguments, statements, folder))
    if "transaction" in names and not arguments.soak:
        result |= in_folder(arguments, lambda folder: run_transactions(arguments, folder))
    return result


if __name__ == "__main__":
    sys.exit(main())
