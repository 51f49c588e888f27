#!/usr/bin/env python3
"""Finds or installs mongosh, which runs generated scripts in tests, and prints its path.

    python3 scripts/mongosh.py             $DOCWARD_MONGOSH, a mongosh on PATH, or the one in the cache
    python3 scripts/mongosh.py --install   the same, after downloading it from npm if there is none

The version is pinned and kept outside the repository. Without node and npm it prints nothing and the exit
code is 3: tests that need a shell are skipped with a message, or fail with DOCWARD_REQUIRE_MONGOSH=1.
"""

import os
import shutil
import subprocess
import sys

MONGOSH = "mongosh@2.12.0"
# The exit code if there is none.
MISSING = 3


def cache_directory():
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "docward", MONGOSH.replace("@", "-"))


def program():
    return os.path.join(cache_directory(), "node_modules", ".bin", "mongosh")


def install():
    """Fills a temporary directory and moves it to its place, so that an incomplete one never appears there."""
    target = cache_directory()
    part = f"{target}.{os.getpid()}.part"
    shutil.rmtree(part, ignore_errors=True)
    os.makedirs(part)
    try:
        subprocess.run(
            ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", part, MONGOSH],
            check=True, stdout=sys.stderr,
        )
        os.rename(part, target)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def find(may_install):
    """Returns the path of a shell that can be run, or nothing."""
    named = os.environ.get("DOCWARD_MONGOSH") or shutil.which("mongosh")
    if named:
        return named
    if not shutil.which("node"):
        return None
    if not os.path.exists(program()) and may_install and shutil.which("npm"):
        try:
            install()
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"{MONGOSH} could not be installed: {error}", file=sys.stderr)
    return program() if os.path.exists(program()) else None


def main():
    if sys.argv[1:] not in ([], ["--install"]):
        sys.exit(__doc__)
    path = find("--install" in sys.argv)
    if path is None:
        print("there is no mongosh: set DOCWARD_MONGOSH, or install node with npm", file=sys.stderr)
        return MISSING
    print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
