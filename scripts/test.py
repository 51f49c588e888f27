#!/usr/bin/env python3
"""Everything that must pass before a change lands. Needs Rust and Python, nothing else: the server that
some tests talk to is found or fetched by scripts/mongod.py, the browser by scripts/browser.py, drivers of
other languages by scripts/clients.py, the shell by scripts/mongosh.py. Where a browser, a driver or the
shell cannot be had its tests are skipped, and the last line says so.

    python3 scripts/test.py            all steps
    python3 scripts/test.py NAME...    only these steps (see --list)

Each step is one command; the first failure ends the run with its exit code.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

GIB = 1 << 30
# A build from nothing with its tests, and the data of the servers that run at once.
SPACE_WANTED = 16 * GIB
# What scripts/browser.py says when there is no browser and none can be installed.
NO_BROWSER = 3
# What scripts/mongosh.py says when there is no shell and none can be installed.
NO_SHELL = 3
# What scripts/test_package.py says when pip or npm is missing.
NO_PACKAGE_MANAGER = 3

STEPS = [
    ("fmt", ["cargo", "fmt", "--all", "--check"]),
    ("clippy", ["cargo", "clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]),
    ("servers", [sys.executable, "scripts/mongod.py", "--all"]),
    ("browser", [sys.executable, "scripts/browser.py", "--install"]),
    ("clients", [sys.executable, "scripts/clients.py", "--install"]),
    ("mongosh", [sys.executable, "scripts/mongosh.py", "--install"]),
    ("tests", ["cargo", "test", "--workspace", "--quiet"]),
    ("packages", [sys.executable, "scripts/test_package.py"]),
    ("examples", ["cargo", "xtask", "examples", "--check"]),
    ("tidy", ["cargo", "xtask", "tidy"]),
]


def need(tool, why):
    if shutil.which(tool) is None:
        sys.exit(f"{tool} is missing: {why}")


def install():
    """What the steps need beyond cargo itself; rustup components come with the toolchain."""
    need("cargo", "install Rust from https://rustup.rs")
    for component in ("rustfmt", "clippy"):
        tool = "cargo-fmt" if component == "rustfmt" else "cargo-clippy"
        if shutil.which(tool) is None:
            need("rustup", f"it is needed to add {component}")
            subprocess.run(["rustup", "component", "add", component], check=True)


def threads():
    """Most tests wait for servers: more of them at once than there are processors, unless told otherwise."""
    os.environ.setdefault("RUST_TEST_THREADS", str(2 * (os.cpu_count() or 2)))


def build_once():
    """A build that is thrown away keeps no parts for the next one: they are half of what it writes."""
    if os.environ.get("CI"):
        os.environ.setdefault("CARGO_INCREMENTAL", "0")


def space():
    """A full disk shows as servers that do not start, one test after the other: better said at once."""
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


def clients(command):
    """Fetches drivers; returns the exit code and which generated clients will not be run."""
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    print(done.stdout, end="", flush=True)
    missing = [line.split(" ")[0] for line in done.stdout.splitlines() if " missing: " in line]
    return done.returncode, [f"the generated client for {language} was not run" for language in missing]


def main():
    names = [name for name, _ in STEPS]
    wanted = [word for word in sys.argv[1:] if not word.startswith("-")]
    if "--list" in sys.argv:
        print("\n".join(names))
        return 0
    unknown = [word for word in wanted if word not in names]
    if unknown:
        sys.exit(f"no step {unknown[0]}; there are: {', '.join(names)}")
    install()
    threads()
    build_once()
    space()
    skipped = []
    for name, command in STEPS:
        if wanted and name not in wanted:
            continue
        print(f"== {name}: {' '.join(command)}", flush=True)
        start = time.monotonic()
        if name == "clients":
            code, missing = clients(command)
            skipped.extend(missing)
        else:
            code = subprocess.run(command, cwd=ROOT).returncode
        if name == "tests" and code == 0:
            # As the tests have built it: another build for the pages alone would take minutes.
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
        print(f"== {name}: {time.monotonic() - start:.0f} s", flush=True)
        if code != 0:
            print(f"== {name} failed", flush=True)
            return code
    print("== all passed" + "".join(f"; SKIPPED: {what}" for what in skipped))
    return 0


if __name__ == "__main__":
    sys.exit(main())
