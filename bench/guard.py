#!/usr/bin/env python3
"""Benchmarks `docward guard`: python3 bench/guard.py [--quick] [--only PART] ...

Builds the load generator and docward, unless $DOCWARD_BENCH_BIN and $DOCWARD_BIN name them. Starts mongod, a plain TCP
forwarder, the guard, and HAProxy in TCP mode if it is installed. Measures them in turns: throughput, latency at a fixed
rate, memory of idle clients, short-lived clients that log in, and PHP processes. Prints Markdown.

Each ratio compares two measurements of the same turn; the tables show the median of the turns. Compare ratios rather
than absolute numbers, which depend on the machine. Runs only on Linux.

The comparison does not include mongobetween, because there is no build of it to download.
"""

import argparse
import concurrent.futures
import contextlib
import json
import os
import resource
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
sys.path.insert(0, os.path.join(ROOT, "scripts"))

POOL = 32
PASSWORD = "bench-only"
PARTS = ("throughput", "latency", "idle", "logins", "php")
median = statistics.median


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a short run of a few minutes")
    parser.add_argument("--only", choices=PARTS, action="append", help="run only this part; can be given several times")
    parser.add_argument("--repetitions", type=int, help="turns per measurement (default: 5; 2 with --quick)")
    parser.add_argument("--seconds", type=float, help="duration of a measurement (default: 5; 1 with --quick)")
    parser.add_argument("--connections", type=int, nargs="+", default=[1, 16, 64, 256],
                        help="numbers of clients for throughput")
    parser.add_argument("--clients", type=int, help="number of idle clients (default: 10000; 2000 with --quick)")
    parser.add_argument("--hold", type=int, metavar="CLIENTS", help="only keep this many idle clients connected")
    parser.add_argument("--minutes", type=float, default=10, help="duration of --hold")
    given = parser.parse_args()
    given.repetitions = given.repetitions or (2 if given.quick else 5)
    given.seconds = given.seconds or (1 if given.quick else 5)
    given.clients = given.clients or (2_000 if given.quick else 10_000)
    given.visits = 200 if given.quick else 1_000
    given.pages = 100 if given.quick else 500
    return given


def build():
    """Builds docward and the load generator. Returns their paths."""
    target = lambda folder: os.environ.get("CARGO_TARGET_DIR", os.path.join(folder, "target"))
    docward = os.environ.get("DOCWARD_BIN")
    if not docward:
        subprocess.run(["cargo", "build", "--profile", "dist", "--quiet", "-p", "docward"], cwd=ROOT, check=True)
        docward = os.path.join(target(ROOT), "dist", "docward")
    bench = os.environ.get("DOCWARD_BENCH_BIN")
    if not bench:
        subprocess.run(["cargo", "build", "--release", "--quiet"], cwd=HERE, check=True)
        bench = os.path.join(target(HERE), "release", "docward-bench")
    return docward, bench


# Processes

def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def more_files(wanted):
    """Raises the limit of open files for this process and its children, if allowed. Returns the limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard == resource.RLIM_INFINITY:
        hard = wanted
    for most in (max(wanted, hard), hard):
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (min(max(wanted, soft), most), most))
            break
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


@contextlib.contextmanager
def running(command, **options):
    """Runs a process and ends it when the block ends."""
    process = subprocess.Popen([str(word) for word in command], **options)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def until_it_listens(process, port):
    for _ in range(600):
        if process.poll() is not None:
            sys.exit(f"{process.args[0]} exited with code {process.returncode}")
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.1)
    sys.exit(f"{process.args[0]} did not start to listen within 60 s")


@contextlib.contextmanager
def server(bench, *flags, password=()):
    """Starts a mongod with the test documents. Returns its process and address."""
    import mongod
    folder = tempfile.mkdtemp(prefix="docward-bench-")
    port = free_port()
    command = [mongod.find(), "--dbpath", folder, "--port", port, "--bind_ip", "127.0.0.1", "--quiet",
               "--wiredTigerCacheSizeGB", 1, *flags]
    try:
        with running(command, stdout=subprocess.DEVNULL) as process:
            until_it_listens(process, port)
            address = f"127.0.0.1:{port}"
            subprocess.run([bench, "guard-fill", address, *password], check=True)
            yield process, address
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def announced(command, **options):
    """Starts a proxy that prints its address. Returns its process and address."""
    with running(command, text=True, **options) as process:
        lines = process.stderr or process.stdout
        for line in lines:
            if "listening on " in line:
                break
            print(line, end="", file=sys.stderr)
        else:
            sys.exit(f"{command[0]} did not start")
        # Keep reading, so that the proxy does not block on a full pipe.
        threading.Thread(target=lambda: [print(said, end="", file=sys.stderr) for said in lines
                                         if not said.startswith("ending")], daemon=True).start()
        yield process, line.split("listening on ")[1].strip()


def guard(docward, address, *flags, user=""):
    upstream = f"mongodb://{user}{address}/"
    return announced([docward, "guard", "--upstream", upstream, "--listen", "127.0.0.1:0", "--max-pool", POOL,
                      "--grace", 1, *flags], stderr=subprocess.PIPE)


@contextlib.contextmanager
def haproxy(address):
    port = free_port()
    settings = (f"global\n  maxconn 5000\ndefaults\n  mode tcp\n  timeout connect 5s\n  timeout client 10m\n"
                f"  timeout server 10m\nlisten all\n  bind 127.0.0.1:{port}\n  server one {address}\n")
    with tempfile.NamedTemporaryFile("w", suffix=".cfg") as file:
        file.write(settings)
        file.flush()
        with running(["haproxy", "-db", "-f", file.name], stderr=subprocess.DEVNULL) as process:
            until_it_listens(process, port)
            yield process, f"127.0.0.1:{port}"


@contextlib.contextmanager
def contenders(docward, bench):
    """Starts a server and all proxies. Returns addresses and process ids by name, and the server's process id."""
    with contextlib.ExitStack() as stack:
        process, address = stack.enter_context(server(bench))
        all = {"direct": (address, None)}
        forwarder = announced([bench, "guard-forward", address], stdout=subprocess.PIPE)
        for name, start in {"TCP forwarder": forwarder, "HAProxy": haproxy(address),
                            "guard": guard(docward, address)}.items():
            if name == "HAProxy" and shutil.which("haproxy") is None:
                print("HAProxy is not installed (apt-get install haproxy), so it is not measured.\n")
                continue
            proxy, at = stack.enter_context(start)
            all[name] = (at, proxy.pid)
        yield all, process.pid


# Measurements

def ask(bench, *words):
    out = subprocess.run([bench, *(str(word) for word in words if word is not None)], capture_output=True, text=True)
    if out.stderr:
        print(out.stderr, end="", file=sys.stderr)
    if out.returncode != 0:
        sys.exit(f"{' '.join(str(word) for word in words)} failed with exit code {out.returncode}")
    return json.loads(out.stdout)


def row(*cells):
    print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)


def head(*cells):
    row(*cells)
    row(*["---"] * len(cells))


def memory(pid):
    """Returns the resident memory of a process in bytes. Kernel memory of its sockets is not included."""
    with open(f"/proc/{pid}/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmRSS"))


OTHERS = []


def look_at_others():
    """Records the CPU usage of other programs while no measurement runs."""
    def ticks():
        with open("/proc/stat") as stat:
            numbers = [int(word) for word in stat.readline().split()[1:9]]
        return sum(numbers), numbers[3] + numbers[4]
    all, idle = ticks()
    time.sleep(0.5)
    after, idle_after = ticks()
    OTHERS.append(1 - (idle_after - idle) / max(1, after - all))


def in_turns(names, repetitions, measure):
    """Measures all proxies. Each turn starts with another one. Returns a list of results by name."""
    seen = {name: [] for name in names}
    for turn in range(repetitions):
        look_at_others()
        for at in range(len(names)):
            name = names[(turn + at) % len(names)]
            seen[name].append(measure(name))
    return seen


def ratio(ours, theirs):
    return median(a / b for a, b in zip(ours, theirs))


def added(ours, theirs):
    return median(a - b for a, b in zip(ours, theirs))


GOALS = []


def goal(text, value, reached):
    GOALS.append((text, value, "reached" if reached else "missed"))


# Parts

def throughput(given, docward, bench):
    print(f"\n### Throughput: {given.repetitions} turns of {given.seconds:g} s, pool of {POOL}\n")
    head("operation", "clients", "proxy", "op/s (min-max)", "ratio to direct", "ratio to the forwarder", "p50 µs",
         "p99 µs", "proxy µs/op", "mongod µs/op", "errors")
    worst, costs = [], []
    with contenders(docward, bench) as (all, mongod):
        for what in ("find", "insert"):
            for clients in given.connections:
                def measure(name):
                    address, pid = all[name]
                    return ask(bench, "guard-load", address, what, clients, given.seconds, mongod, pid)
                seen = in_turns(list(all), given.repetitions, measure)
                rate = {name: [run["operations"] / run["seconds"] for run in runs] for name, runs in seen.items()}
                for name, runs in seen.items():
                    cost = lambda at: median(run["processor"][at] / max(1, run["operations"]) * 1e6 for run in runs)
                    own = cost(1) if all[name][1] else None
                    row(what, clients, name, f"{median(rate[name]):,.0f} ({min(rate[name]):,.0f}-{max(rate[name]):,.0f})",
                        f"{ratio(rate[name], rate['direct']):.2f}", f"{ratio(rate[name], rate['TCP forwarder']):.2f}",
                        f"{median(run['p50'] for run in runs):,.0f}", f"{median(run['p99'] for run in runs):,.0f}",
                        "" if own is None else f"{own:.1f}", f"{cost(0):.1f}", sum(run["errors"] for run in runs))
                    if name == "guard":
                        worst.append(ratio(rate[name], rate["TCP forwarder"]))
                        costs.append(own)
    goal("throughput at least 0.9 × TCP forwarder", f"{min(worst):.2f} to {max(worst):.2f}", min(worst) >= 0.9)
    goal("at most 30 µs of CPU time per operation", f"{min(costs):.1f} to {max(costs):.1f} µs", max(costs) <= 30)


def latency(given, docward, bench):
    print(f"\n### Latency of finds at a fixed rate: 64 clients, {given.repetitions} turns of {given.seconds:g} s\n")
    print("Latency counts from the planned send time. Added latency is the difference to direct in the same turn.\n")
    head("planned op/s", "proxy", "actual op/s", "p50 µs", "p99 µs (min-max)", "added p50 µs", "added p99 µs", "proxy µs/op",
         "errors")
    with contenders(docward, bench) as (all, _):
        for rate in (2_000, 6_000):
            def measure(name):
                address, pid = all[name]
                return ask(bench, "guard-paced", address, rate, 64, given.seconds, pid)
            seen = in_turns(list(all), given.repetitions, measure)
            figures = lambda name, figure: [run[figure] for run in seen[name]]
            for name, runs in seen.items():
                done = median(run["operations"] / run["seconds"] for run in runs)
                high = figures(name, "p99")
                more = {figure: added(figures(name, figure), figures("direct", figure)) for figure in ("p50", "p99")}
                cost = [run["processor"][0] / max(1, run["operations"]) * 1e6 for run in runs] if all[name][1] else None
                is_direct = name == "direct"
                row(f"{rate:,}", name, f"{done:,.0f}", f"{median(figures(name, 'p50')):,.0f}",
                    f"{median(high):,.0f} ({min(high):,.0f}-{max(high):,.0f})",
                    "" if is_direct else f"{more['p50']:+,.0f}", "" if is_direct else f"{more['p99']:+,.0f}",
                    f"{median(cost):.1f}" if cost else "", sum(run["errors"] for run in runs))
                if name == "guard":
                    goal(f"added p99 at {rate:,} op/s at most 300 µs", f"{more['p99']:+,.0f} µs", more["p99"] <= 300)


@contextlib.contextmanager
def idle_clients(bench, address, count):
    """Connects clients that send hello. Returns their number, and a function that makes each find a document."""
    with running([bench, "guard-hold", address, count], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        there = int(holder.stdout.readline())

        def find():
            holder.stdin.write("\n")
            holder.stdin.flush()
            return int(holder.stdout.readline())
        yield there, find


def enough_files(count):
    # Other uses need some files too.
    files = more_files(count + 500)
    if files < count + 500:
        print(f"The limit of open files is {files:,} (ulimit -Hn): {files - 500:,} clients instead of {count:,}.\n")
        return files - 500
    return count


def idle(given, docward, bench):
    count = enough_files(given.clients)
    print("\n### Idle clients\n")
    head("clients", "memory before", "after hello", "bytes per client", "after a find", "bytes per client",
         "server connections", "unanswered")
    with server(bench) as (_, upstream), guard(docward, upstream) as (process, address):
        # Warm up, so that the guard's own memory is not counted as that of the clients.
        ask(bench, "guard-load", address, "find", 16, 1)
        time.sleep(1)
        before = memory(process.pid)
        with idle_clients(bench, address, count) as (there, find):
            time.sleep(2)
            after = memory(process.pid)
            answered = find()
            time.sleep(2)
            later = memory(process.pid)
            open_now = ask(bench, "guard-connections", upstream)["current"] - 1
    each = lambda bytes: (bytes - before) / max(1, there)
    megabytes = lambda bytes: f"{bytes / 2**20:.1f} MB"
    row(f"{there:,}", megabytes(before), megabytes(after), f"{each(after):,.0f}", megabytes(later), f"{each(later):,.0f}",
        open_now, there - answered)
    goal("an idle client needs at most 4 KB", f"{each(after):,.0f} bytes after hello, {each(later):,.0f} after a find",
         max(each(after), each(later)) <= 4096)


def hold(given, docward, bench):
    """Keeps idle clients connected for a long time, to show that none is lost and memory does not grow."""
    # Each guard and each load generator needs an open file per client. If the limit is lower, several guards share
    # the clients.
    per_guard = min(given.hold, more_files(given.hold + 500) - 500)
    shares = [per_guard] * (given.hold // per_guard) + [given.hold % per_guard] * (given.hold % per_guard > 0)
    print(f"\n### {given.hold:,} idle clients of {len(shares)} guards for {given.minutes:g} minutes\n")
    head("minute", "clients", "guards MB", "bytes per client", "guards CPU s", "server connections")
    with contextlib.ExitStack() as stack:
        _, upstream = stack.enter_context(server(bench))
        guards = [stack.enter_context(guard(docward, upstream)) for _ in shares]
        total = lambda figure: sum(figure(process.pid) for process, _ in guards)
        before = total(memory)
        holders = [stack.enter_context(idle_clients(bench, address, count))
                   for (_, address), count in zip(guards, shares)]
        there = sum(count for count, _ in holders)
        start, used = time.monotonic(), total(processor)
        while True:
            passed = (time.monotonic() - start) / 60
            now = total(memory)
            row(f"{passed:.1f}", f"{there:,}", f"{now / 2**20:.1f}", f"{(now - before) / max(1, there):,.0f}",
                f"{total(processor) - used:.2f}", ask(bench, "guard-connections", upstream)["current"] - 1)
            if passed >= given.minutes:
                break
            time.sleep(min(60, given.minutes * 60 - passed * 60) + 0.01)
        answered = sum(find() for _, find in holders)
        print(f"\nAfter that, {answered:,} of {there:,} clients got a reply to a find.")


def processor(pid):
    with open(f"/proc/{pid}/stat") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def logins(given, docward, bench):
    print(f"\n### {given.visits:,} clients that connect, log in with SCRAM-SHA-256, find and leave: {given.repetitions} turns\n")
    print("cached: the client process has derived its keys before. PBKDF2: each client derives its keys.\n")
    head("concurrent", "keys", "proxy", "seconds (min-max)", "ratio to direct", "p50 ms", "p99 ms", "guard CPU ms each",
         "mongod CPU ms each", "client CPU ms each", "connections opened at the server", "errors")
    user = f"keeper:{PASSWORD}@"
    created = lambda: ask(bench, "guard-connections", upstream, PASSWORD)["created"]
    with server(bench, "--auth", password=[PASSWORD]) as (mongod, upstream), \
            guard(docward, upstream, user=user) as (process, address):
        for keys in ("cached", "computed"):
            for at_once in (1, 16):
                opened = {"direct": 0, "guard": 0}

                def measure(name):
                    before = created()
                    run = ask(bench, "guard-logins", address if name == "guard" else upstream, PASSWORD, given.visits,
                              at_once, keys, mongod.pid, process.pid)
                    # `created()` itself opened one connection.
                    opened[name] += created() - before - 1
                    return run
                seen = in_turns(["direct", "guard"], given.repetitions, measure)
                seconds = {name: [run["seconds"] for run in runs] for name, runs in seen.items()}
                for name, runs in seen.items():
                    own = seconds[name]
                    cost = lambda at: median(run["processor"][at] for run in runs) / given.visits * 1000
                    row(at_once, "cached" if keys == "cached" else "PBKDF2", name,
                        f"{median(own):.2f} ({min(own):.2f}-{max(own):.2f})", f"{ratio(own, seconds['direct']):.2f}",
                        f"{median(run['p50'] for run in runs) / 1000:.2f}", f"{median(run['p99'] for run in runs) / 1000:.2f}",
                        f"{cost(1):.2f}" if name == "guard" else "", f"{cost(0):.2f}", f"{cost(2):.2f}",
                        f"{opened[name]:,} in all turns", sum(run["errors"] for run in runs))
                if keys == "cached":
                    share = ratio(seconds["guard"], seconds["direct"])
                    goal(f"{at_once} concurrent short-lived clients: at most 0.35 × direct", f"{share:.2f}", share <= 0.35)
                    # A guard that costs nothing would save only its own processor time.
                    saved = median(run["processor"][1] for run in seen["guard"])
                    free = (median(seconds["guard"]) - saved / (1 if at_once == 1 else os.cpu_count())) / median(seconds["direct"])
                    print(f"A guard that uses no processor time would reach {free:.2f}.")


def php(given, docward, bench):
    print(f"\n### {given.pages:,} PHP processes, four at a time: each connects, updates, finds and ends\n")
    if shutil.which("php") is None:
        print("PHP is not installed (apt-get install php-cli php-mongodb), so it is not measured.")
        return
    page = os.path.join(ROOT, "crates", "docward", "tests", "clients", "guard.php")
    head("through", "processes per minute", "connections opened at the server", "most open at once", "failures")
    created = lambda: ask(bench, "guard-connections", upstream)["created"]
    with server(bench) as (_, upstream), guard(docward, upstream) as (_, address):
        for name, target in (("direct", upstream), ("guard", address)):
            failures, most, done = [], [], threading.Event()

            def visit():
                out = subprocess.run(["php", page, f"mongodb://{target}/"], capture_output=True, text=True)
                if out.stdout != "ok\n":
                    failures.append(out.stdout + out.stderr)

            def watch():
                while not done.wait(0.5):
                    most.append(ask(bench, "guard-connections", upstream)["current"])
            before, start = created(), time.monotonic()
            watcher = threading.Thread(target=watch)
            watcher.start()
            with concurrent.futures.ThreadPoolExecutor(4) as pool:
                for _ in range(given.pages):
                    pool.submit(visit)
            seconds = time.monotonic() - start
            done.set()
            watcher.join()
            # Each look at the server opened one connection.
            opened = created() - before - 1 - len(most)
            row(name, f"{given.pages / seconds * 60:,.0f}", f"{opened:,}", max(most, default=0), len(failures))
            for failure in failures[:1]:
                print(failure, file=sys.stderr)
            if name == "guard":
                goal(f"{given.pages:,} PHP processes open at most {POOL} connections", f"{opened:,}", opened <= POOL)


def main():
    given = arguments()
    # Turns these signals into exceptions, so that the blocks that end processes run.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    more_files(4096)
    docward, bench = build()
    version = subprocess.run([docward, "--version"], check=True, capture_output=True, text=True).stdout.strip()
    print(f"{version} ({os.path.getsize(docward) / 2**20:.0f} MB), {os.cpu_count()} CPUs")
    if given.hold:
        hold(given, docward, bench)
        return
    for name, part in zip(PARTS, (throughput, latency, idle, logins, php)):
        if not given.only or name in given.only:
            part(given, docward, bench)
    print("\n### Goals\n")
    head("goal", "measured", "")
    for line in GOALS:
        row(*line)
    if OTHERS:
        print(f"\nOther programs used {median(OTHERS):.0%} of the CPUs between measurements (at most {max(OTHERS):.0%}).",
              end=" ")
        print("This is too much for reliable results." if median(OTHERS) > 0.1 else "")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
