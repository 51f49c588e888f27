"""The fault `transaction` of guard_faults.py: a failure between a statement of a transaction and its end.

For each face and login, and for each failure (step-down, kill -9 of the primary, kill -9 and restart of the guard),
programs with PyMongo are in one of three states when the failure happens:

    commit         they have run their statements, and commit after the failure
    commit again   their commit was acknowledged, and they repeat it, like a driver that did not get the reply
    abort          they have run their statements, and abort after the failure

After the failure, each program goes on as drivers do: it repeats a commit with the label
`UnknownTransactionCommitResult`, and runs the transaction again after the label `TransientTransactionError`.
"""

import collections
import concurrent.futures
import os
import signal
import socket
import subprocess
import threading
import time

import guard_suite

FACES = ["router", "lb", "member"]
LOGINS = ["off", "list", "mirror"]
USER, PASSWORD = "app", "app-secret"
STATES = ["commit", "commit again", "abort"]
PROGRAMS_PER_STATE = 4
# Time for a final answer to a commit. A member that stepped down cannot become primary again within this time.
PATIENCE = 90


def free_ports(count):
    """Returns adjacent free ports: with `--face member`, a guard takes one for each member."""
    while True:
        first = guard_suite.free_ports(1)[0]
        with socket.socket() as probe:
            try:
                for port in range(first + 2, first + count):
                    probe.bind(("127.0.0.1", port))
                return list(range(first, first + count))
            except OSError:
                continue


class Guards:
    """The guards of one face and login. `--face router` has two side by side."""

    def __init__(self, servers, face, login):
        self.folder = servers.folder
        self.face, self.login = face, login
        self.ports = free_ports(len(servers.members)) if face == "member" else guard_suite.free_ports(2 if face == "router" else 1)
        more = ["--face", face, "--auth", login]
        if login == "list":
            more += ["--users", self.list_of_users()]
        listen = self.ports[:1] if face == "member" else self.ports
        self.commands = [[guard_suite.binary(), "guard", "--upstream", servers.uri, "--listen", f"127.0.0.1:{port}", *more]
                         for port in listen]
        self.processes = []
        self.start()

    def list_of_users(self):
        command = [guard_suite.binary(), "guard", "user", USER, "--database", "db_faults=readWrite"]
        path = os.path.join(self.folder, "users.toml")
        with open(path, "wb") as file:
            subprocess.run(command, input=f"{PASSWORD}\n".encode(), stdout=file, check=True)
        return path

    def start(self):
        for command in self.commands:
            with open(os.path.join(self.folder, f"guard-{self.ports[0]}.log"), "ab") as log:
                self.processes.append(subprocess.Popen(command, stdout=log, stderr=log))
        end = time.monotonic() + PATIENCE
        for port in self.ports:
            while True:
                try:
                    socket.create_connection(("127.0.0.1", port), 5).close()
                    break
                except OSError:
                    if time.monotonic() > end:
                        raise
                    time.sleep(0.1)

    def stop(self):
        for process in self.processes:
            process.send_signal(signal.SIGKILL)
            process.wait()
        self.processes = []

    def uri(self):
        account = "" if self.login == "off" else f"{USER}:{PASSWORD}@"
        option = {"router": "", "lb": "loadBalanced=true", "member": "replicaSet=rs0"}[self.face]
        return f"mongodb://{account}{','.join(f'127.0.0.1:{port}' for port in self.ports)}/?{option}"


def step_down(servers, _, happened):
    before = servers.primary()
    with servers.client(before) as client:
        client.admin.command("replSetStepDown", 2 * PATIENCE, force=True)
    happened.set()
    servers.primary()
    return lambda: can_be_primary(servers, before)


def can_be_primary(servers, port):
    with servers.client(port) as client:
        client.admin.command("replSetFreeze", 0)


def kill_primary(servers, _, happened):
    before = servers.primary()
    servers.kill(before)
    happened.set()
    # The other members elect one of them before the killed one comes back.
    servers.primary()
    servers.start(before)
    return lambda: None


def restart_guard(_, guards, happened):
    guards.stop()
    happened.set()
    guards.start()
    return lambda: None


FAILURES = {"step-down": step_down, "kill-primary": kill_primary, "restart-guard": restart_guard}


def listener(program):
    from pymongo import monitoring

    class Replies(monitoring.CommandListener):
        """Records the labels of the guard's replies to commits."""

        def started(self, event):
            pass

        def succeeded(self, event):
            self.note(event, event.reply)

        def failed(self, event):
            self.note(event, event.failure)

        def note(self, event, reply):
            if event.command_name == "commitTransaction":
                labels = reply.get("errorLabels", [])
                program.replies[program.attempt].append((reply.get("code"), tuple(labels)))

    return Replies()


class Program:
    """A program that runs one transaction at a time."""

    def __init__(self, guards, number):
        import pymongo
        self.state = STATES[number % len(STATES)]
        self.name = f"{guards.face}-{guards.login}-{number}"
        self.attempt, self.attempts, self.count = None, [], 0
        self.replies = collections.defaultdict(list)
        self.results, self.errors, self.wrong = collections.Counter(), collections.Counter(), []
        # Attempts whose commit was acknowledged, and attempts that were aborted before any commit.
        self.committed, self.aborted = set(), set()
        self.client = pymongo.MongoClient(guards.uri(), w="majority", serverSelectionTimeoutMS=1000 * PATIENCE,
                                          event_listeners=[listener(self)])
        self.end = 0

    def begin(self, failure):
        """Runs the statements of a new transaction. The failure has not happened yet."""
        self.transaction = f"{self.name}-{failure}-{self.count}"
        self.count += 1
        self.end = time.monotonic() + PATIENCE
        self.session = self.client.start_session()
        self.run_statements()
        if self.state == "commit again":
            self.finish()

    def run_statements(self):
        """Runs the statements, again as long as they fail: nothing was committed."""
        from pymongo import errors
        table = self.client.db_faults.t_transaction
        while True:
            self.attempt = f"{self.transaction}-{len(self.attempts)}"
            self.attempts.append(self.attempt)
            try:
                self.session.start_transaction()
                table.insert_one({"_id": self.attempt, "transaction": self.transaction, "list": []}, session=self.session)
                table.update_one({"_id": self.attempt}, {"$push": {"list": 1}}, session=self.session)
                return
            except errors.PyMongoError as error:
                self.note("statement", error)
                if self.session.in_transaction:
                    self.session.abort_transaction()
                self.aborted.add(self.attempt)
                if time.monotonic() > self.end:
                    raise
                time.sleep(0.1)

    def note(self, what, error):
        labels = getattr(error, "_error_labels", [])
        self.errors[f"{what}: {type(error).__name__} {getattr(error, 'code', None)} {sorted(labels)}"] += 1

    def finish(self):
        """Commits, and repeats the commit or the transaction as its errors say."""
        from pymongo import errors
        while True:
            try:
                self.session.commit_transaction()
                self.committed.add(self.attempt)
                self.results["committed"] += 1
                return
            except errors.PyMongoError as error:
                self.note("commit", error)
                if time.monotonic() > self.end:
                    self.wrong.append(f"{self.attempt}: the commit got no final answer: {error}")
                    return
                if error.has_error_label("TransientTransactionError"):
                    self.results["run again"] += 1
                    self.run_statements()
                elif not error.has_error_label("UnknownTransactionCommitResult"):
                    self.results["refused"] += 1
                    return
                time.sleep(0.1)

    def go_on(self):
        """Ends the transaction after the failure."""
        try:
            self.end = time.monotonic() + PATIENCE
            if self.state == "abort":
                self.aborted.add(self.attempt)
                self.session.abort_transaction()
                self.results["aborted"] += 1
            else:
                self.finish()
            self.session.end_session()
        except Exception as error:
            self.wrong.append(f"{self.attempt}: {type(error).__name__}: {error}")

    def check(self, stored):
        """Returns what is wrong with the stored documents of this program."""
        wrong = list(self.wrong)
        own = {attempt: stored[attempt] for attempt in self.attempts if attempt in stored}
        wrong += [f"{attempt}: the committed transaction is lost" for attempt in sorted(self.committed - set(own))]
        wrong += [f"{attempt}: the aborted transaction was committed" for attempt in sorted(self.aborted & set(own))]
        for attempt, document in own.items():
            if document["list"] != [1]:
                wrong.append(f"{attempt}: the update was applied {len(document['list'])} times")
            for code, labels in self.replies[attempt]:
                if "TransientTransactionError" in labels:
                    wrong.append(f"{attempt}: a commit of the committed transaction failed with code {code} and "
                                 f"TransientTransactionError, so that drivers run it again")
        counts = collections.Counter(document["transaction"] for document in own.values())
        wrong += [f"{name} was executed {count} times" for name, count in counts.items() if count > 1]
        return wrong


def run_case(servers, guards, rounds):
    """Runs all failures with the guards of one face and login. Returns what is wrong."""
    import pymongo
    programs = [Program(guards, number) for number in range(PROGRAMS_PER_STATE * len(STATES))]
    with concurrent.futures.ThreadPoolExecutor(len(programs) + 1) as pool:
        for number in range(rounds):
            for name, cause in FAILURES.items():
                print(f"{guards.face} {guards.login} {name}:", end=" ", flush=True)
                servers.primary()
                list(pool.map(lambda program: program.begin(name), programs))
                happened = threading.Event()
                failing = pool.submit(cause, servers, guards, happened)
                failing.add_done_callback(lambda _, happened=happened: happened.set())
                # Some programs go on at once, and others when there is a new primary or guard.
                happened.wait()
                endings = [pool.submit(program.go_on) for program in programs[::2]]
                undo = failing.result()
                endings += [pool.submit(program.go_on) for program in programs[1::2]]
                for ending in endings:
                    ending.result()
                results = sum((program.results for program in programs), collections.Counter())
                print(", ".join(f"{count} {result}" for result, count in sorted(results.items())))
                for program in programs:
                    program.results.clear()
                undo()
    servers.primary()
    with pymongo.MongoClient(servers.uri, readConcernLevel="majority") as client:
        stored = {found["_id"]: found for found in client.db_faults.t_transaction.find()}
    for program in programs:
        program.client.close()
    errors = sum((program.errors for program in programs), collections.Counter())
    for error, count in sorted(errors.items()):
        print(f"    {count} × {error}")
    return [fault for program in programs for fault in program.check(stored)]


def run(servers, faces, logins, rounds):
    """Runs all cases. Returns one message per fault."""
    import pymongo
    with pymongo.MongoClient(servers.uri, w="majority") as client:
        client.db_faults.create_collection("t_transaction")
    wrong = []
    for face in faces:
        for login in logins:
            guards = Guards(servers, face, login)
            try:
                wrong += run_case(servers, guards, rounds)
            finally:
                guards.stop()
    return wrong
