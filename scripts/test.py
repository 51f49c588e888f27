#!/usr/bin/env python3
"""Runs everything that must pass before a change lands. Needs only Rust and Python: scripts/mongod.py finds or
downloads the server for tests, scripts/browser.py the browser, scripts/clients.py the drivers of other languages,
and scripts/mongosh.py the shell. If a browser, a driver or the shell is not available, its tests are skipped, and
the end of the output says so.

    python3 scripts/test.py            all steps
    python3 scripts/test.py --fast     formatting, and the tests that need no server and no browser
    python3 scripts/test.py NAME...    only these steps (see --list)

Each step is one command. After a failure the later steps still run: the end of the output lists the time of
each step, and every step and test that failed; the exit code is 1.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

GIB = 1 << 30
# The space for a clean build with its tests, and for the data of the servers that run at the same time.
SPACE_WANTED = 16 * GIB
# The exit code of scripts/browser.py if there is no browser and none can be installed.
NO_BROWSER = 3
# The exit code of scripts/mongosh.py if there is no shell and none can be installed.
NO_SHELL = 3
# The exit code of scripts/test_package.py if pip or npm is missing.
NO_PACKAGE_MANAGER = 3

STEPS = [
    ("fmt", ["cargo", "fmt", "--all", "--check"]),
    ("clippy", ["cargo", "clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]),
    ("servers", [sys.executable, "scripts/mongod.py", "--all"]),
    ("browser", [sys.executable, "scripts/browser.py", "--install"]),
    ("clients", [sys.executable, "scripts/clients.py", "--install"]),
    ("mongosh", [sys.executable, "scripts/mongosh.py", "--install"]),
    ("scripts", [sys.executable, "scripts/test_test.py"]),
    ("tests", ["cargo", "test", "--workspace", "--no-fail-fast"]),
    ("packages", [sys.executable, "scripts/test_package.py"]),
    ("examples", ["cargo", "xtask", "examples", "--check"]),
    ("tidy", ["cargo", "xtask", "tidy"]),
    ("site", ["cargo", "xtask", "site"]),
]

# Steps that mostly wait for the network. They run one after the other while the code is checked.
INSTALLS = ("servers", "browser", "clients", "mongosh")
# Test programs that start servers, which the fast tier leaves out.
WITH_SERVERS = {"end_to_end", "decisions", "server", "servers", "verdicts"}
# The number of test programs whose time is printed at the end.
SLOWEST = 5


def fast_steps():
    """Returns the fast steps: formatting, and every test program except those that start servers."""
    packages = json.loads(subprocess.check_output(["cargo", "metadata", "--no-deps", "--format-version=1"], cwd=ROOT))
    names = {
        target["name"]
        for package in packages["packages"]
        for target in package["targets"]
        if "test" in target["kind"]
    }
    # A renamed program would otherwise move its tests to the fast tier unnoticed.
    if gone := WITH_SERVERS - names:
        sys.exit(f"no test program is called {', '.join(sorted(gone))}: correct WITH_SERVERS in scripts/test.py")
    chosen = [word for name in sorted(names - WITH_SERVERS) for word in ("--test", name)]
    tests = ["cargo", "test", "--workspace", "--no-fail-fast", "--lib", "--bins", *chosen]
    return [(name, tests if name == "tests" else command) for name, command in STEPS if name in ("fmt", "tests")]


def need(tool, why):
    if shutil.which(tool) is None:
        sys.exit(f"{tool} is missing: {why}")


def install():
    """Installs the tools of the steps besides cargo; rustup components come with the toolchain."""
    need("cargo", "install Rust from https://rustup.rs")
    for component in ("rustfmt", "clippy"):
        tool = "cargo-fmt" if component == "rustfmt" else "cargo-clippy"
        if shutil.which(tool) is None:
            need("rustup", f"it is needed to add {component}")
            subprocess.run(["rustup", "component", "add", component], check=True)


def threads():
    """Runs more tests in parallel than there are processors, because most of them wait for servers."""
    os.environ.setdefault("RUST_TEST_THREADS", str(2 * (os.cpu_count() or 2)))


def build_once():
    """Disables incremental builds for a temporary build, because they are half of the data it writes."""
    if os.environ.get("CI"):
        os.environ.setdefault("CARGO_INCREMENTAL", "0")


def space():
    """Checks the disk space first, because on a full disk the servers of one test after the other fail to start."""
    folders = {"the build": target_directory(), "servers of the tests": tempfile.gettempdir()}
    for purpose, folder in folders.items():
        while not os.path.isdir(folder):
            folder = os.path.dirname(folder)
        free = shutil.disk_usage(folder).free
        if free < SPACE_WANTED:
            print(
                f"== warning: {free / GIB:.1f} GiB are free in {folder}, which {purpose} may fill;"
                f" {SPACE_WANTED / GIB:.0f} GiB are safe",
                flush=True,
            )


def target_directory():
    return os.environ.get("CARGO_TARGET_DIR") or os.path.join(ROOT, "target")


def has_mdbook():
    return subprocess.run([sys.executable, "scripts/mdbook.py"], cwd=ROOT, capture_output=True).returncode == 0


class Installs:
    """Runs the installing steps in the background. Each step's output is printed when its turn comes."""

    def __init__(self, steps):
        self._steps = steps
        self._done = {name: threading.Event() for name, _ in steps}
        self._results = {}
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self):
        for name, command in self._steps:
            try:
                done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
                self._results[name] = done.returncode, done.stdout
            except OSError as error:
                self._results[name] = 1, f"{command[0]}: {error}\n"
            self._done[name].set()

    def wait(self, name):
        """Waits for a step and prints its output; returns its exit code and output."""
        self._done[name].wait()
        code, output = self._results[name]
        print(output, end="", flush=True)
        return code, output


def missing_clients(output):
    """Returns which generated clients will not be run, from the output of scripts/clients.py."""
    missing = [line.split(" ")[0] for line in output.splitlines() if " missing: " in line]
    return [f"programs with {language} were not run" for language in missing]


class Results:
    """Parses the output of `cargo test`, line by line."""

    def __init__(self):
        self.passed = self.failed = self.skipped = 0
        # For example "docward-code tests/models.rs: hostile::some_test".
        self.failures = []
        self.targets = 0
        # Seconds of each test program.
        self.seconds = {}
        self._package = ""
        self._target = None

    def read(self, line):
        line = line.rstrip("\n")
        # Cargo runs the unit tests of a package first; the lines about its other tests do not name it.
        if found := re.match(r"\s+Running unittests (\S+) \(.*?([^/\\]+)-[0-9a-f]+(\.exe)?\)$", line):
            self._package = found[2].replace("_", "-")
            self._begin(f"{self._package} {found[1]}")
        elif found := re.match(r"\s+Running (\S+) \(.*\)$", line):
            self._begin(f"{self._package} {found[1]}")
        elif found := re.match(r"\s+Doc-tests (\S+)$", line):
            self._begin(f"{found[1].replace('_', '-')} documentation")
        elif found := re.match(r"test (.+) \.\.\. FAILED$", line):
            self.failures.append(f"{self._target}: {found[1]}")
        elif found := re.match(r"test result: .*?(\d+) passed; (\d+) failed; (\d+) ignored", line):
            self.passed += int(found[1])
            self.failed += int(found[2])
            self.skipped += int(found[3])
            if self._target is not None and (time_taken := re.search(r"finished in ([\d.]+)s", line)):
                self.seconds[self._target] = float(time_taken[1])
            self._target = None

    def _begin(self, target):
        self.end()
        self._target = target
        self.targets += 1

    def end(self):
        """Records a test program that crashed or was killed, which reports nothing about its tests."""
        if self._target is not None:
            self.failed += 1
            self.failures.append(f"{self._target}: ended without a result")
        self._target = None

    def total(self):
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


def tests(command, results):
    """Runs the tests and prints their output immediately."""
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as running:
        for line in running.stdout:
            print(line, end="", flush=True)
            results.read(line)
    results.end()
    return running.returncode


def main():
    names = [name for name, _ in STEPS]
    wanted = [word for word in sys.argv[1:] if not word.startswith("-")]
    if "--list" in sys.argv:
        print("\n".join(names))
        return 0
    steps = STEPS
    if "--fast" in sys.argv:
        if wanted:
            sys.exit("--fast chooses the steps by itself; leave out the names")
        steps = fast_steps()
    unknown = [word for word in wanted if word not in names]
    if unknown:
        sys.exit(f"no step {unknown[0]}; there are: {', '.join(names)}")
    install()
    threads()
    build_once()
    space()
    skipped = []
    failed = []
    times = []
    results = Results()
    steps = [(name, command) for name, command in steps if not wanted or name in wanted]
    installs = Installs([step for step in steps if step[0] in INSTALLS])
    for name, command in steps:
        print(f"== {name}: {' '.join(command)}", flush=True)
        start = time.monotonic()
        if name in INSTALLS:
            code, output = installs.wait(name)
            if name == "clients":
                skipped.extend(missing_clients(output))
        elif name == "tests":
            code = tests(command, results)
        elif name == "site" and not has_mdbook():
            # Building mdBook takes minutes; the workflow of the site does it.
            skipped.append("the site was not built: scripts/mdbook.py --install builds mdBook once")
            code = 0
        else:
            code = subprocess.run(command, cwd=ROOT).returncode
        if name == "tests" and results.targets > 0:
            # The binary that the tests have built: another build for the pages alone would take minutes.
            os.environ["DOCWARD_BIN"] = os.path.join(target_directory(), "debug", "docward")
        if name == "browser" and code == NO_BROWSER:
            os.environ["DOCWARD_NO_BROWSER"] = "1"
            skipped.append("the HTML report was not tested in a browser")
            code = 0
        if name == "mongosh" and code == NO_SHELL:
            skipped.append("the scripts of designs were not run by a shell")
            code = 0
        if name == "packages" and code == NO_PACKAGE_MANAGER:
            skipped.append("the wheel or the npm packages were not installed: pip, venv or npm is missing")
            code = 0
        times.append(f"{name} {time.monotonic() - start:.0f} s")
        print(f"== {times[-1]}", flush=True)
        if code != 0:
            print(f"== {name} failed", flush=True)
            failed.append(name)
    print(f"== times: {', '.join(times)}")
    slowest = sorted(results.seconds.items(), key=lambda target: -target[1])[:SLOWEST]
    if slowest:
        print(f"== slowest tests: {', '.join(f'{name} {seconds:.0f} s' for name, seconds in slowest)}")
    for what in skipped:
        print(f"== SKIPPED: {what}")
    for failure in results.failures:
        print(f"== failed test: {failure}")
    for name in failed:
        print(f"== failed step: {name}")
    if not failed:
        print("== all passed")
    if results.targets > 0:
        print(results.total())
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
