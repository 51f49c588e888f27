"""Shared by all artefacts: errors, names, times, reproducible archives."""

import gzip
import hashlib
import io
import os
import tarfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FILES = os.path.join(ROOT, "scripts", "release", "files")

NAME = "docward"
SUMMARY = "MongoDB development rules as a program: audits data, schemas, source code and connection strings"
KEYWORDS = ["audit", "bson", "lint", "mongodb", "schema"]
LICENSE = "Apache-2.0"
THIRD_PARTY = "THIRD-PARTY-LICENSES.txt"

# Zip archives cannot store an earlier time.
EARLIEST = 315_532_800

# zlib needs about twice the time for the last 1 % of level 9.
COMPRESSION = 6


class Failure(Exception):
    """The artefacts cannot be made; the text gives the reason and the advice."""


def source_date():
    """Returns the time of every file in an archive: SOURCE_DATE_EPOCH, or a fixed date."""
    text = os.environ.get("SOURCE_DATE_EPOCH")
    if not text:
        return EARLIEST
    if not text.isdigit():
        raise Failure(f"SOURCE_DATE_EPOCH is `{text}`; it must be a number of seconds since 1970")
    return max(int(text), EARLIEST)


def read(*parts):
    """Reads a file of the repository."""
    with open(os.path.join(ROOT, *parts), "rb") as file:
        return file.read()


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def tar_gz(folder, files):
    """Returns a tar.gz of `{path: (bytes, executable)}` below a folder: the same bytes for the same files."""
    packed = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=packed, compresslevel=COMPRESSION, mtime=0) as stream:
        with tarfile.open(mode="w", fileobj=stream, format=tarfile.USTAR_FORMAT) as tar:
            for path, (data, executable) in sorted(files.items()):
                entry = tarfile.TarInfo(f"{folder}/{path}")
                entry.size = len(data)
                entry.mtime = source_date()
                entry.mode = 0o755 if executable else 0o644
                tar.addfile(entry, io.BytesIO(data))
    return packed.getvalue()
