#!/usr/bin/env python3
"""Finds or installs mdBook, which builds the site, and prints its path.

    python3 scripts/mdbook.py             $DOCWARD_MDBOOK, or the program in the cache
    python3 scripts/mdbook.py --install   the same, after building it with `cargo install` if there is none

The version is pinned, because pages and style sheets of versions differ. The program is kept outside the
repository. The first build takes minutes. Exit code 3 if there is none.
"""

import os
import shutil
import subprocess
import sys

VERSION = "0.5.4"
# The exit code if there is none.
MISSING = 3


def cache_directory():
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "docward", f"mdbook-{VERSION}")


def install():
    """Fills a temporary directory and moves it to its place, so that an incomplete one never appears there."""
    target = cache_directory()
    part = f"{target}.{os.getpid()}.part"
    try:
        subprocess.run(
            ["cargo", "install", "mdbook", "--version", VERSION, "--locked", "--no-default-features",
             "--features", "search", "--root", part, "--target-dir", os.path.join(part, "build")],
            check=True, stdout=sys.stderr, cwd=os.path.expanduser("~"),
        )
        shutil.rmtree(os.path.join(part, "build"))
        os.rename(part, target)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def main():
    if sys.argv[1:] not in ([], ["--install"]):
        sys.exit(__doc__)
    path = os.environ.get("DOCWARD_MDBOOK") or os.path.join(cache_directory(), "bin", "mdbook")
    if not os.path.exists(path) and "--install" in sys.argv:
        try:
            install()
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"mdBook {VERSION} could not be installed: {error}", file=sys.stderr)
    if not os.path.exists(path):
        print(f"there is no mdBook {VERSION}: run scripts/mdbook.py --install", file=sys.stderr)
        return MISSING
    print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
