#!/usr/bin/env python3
"""Makes the release artefacts of docward for this platform. Needs Rust and Python 3.9, nothing else.

    python3 scripts/package.py                     builds with the profile `dist`, writes to target/package
    python3 scripts/package.py --binary PATH       packages an executable that is already built
    python3 scripts/package.py --only wheel        makes only some of the artefacts

Artefacts, for version V and the platform of the executable:

    docward-V-TRIPLE.tar.gz and .sha256     the program, manual pages, completions
    docward-V-py3-none-TAG.whl              for pip
    docward-V.tgz, docward-OS-CPU-V.tgz     for npm: the launcher, and the program
    docward-V-TRIPLE.cdx.json               the bill of materials, CycloneDX 1.5
    SHA256SUMS                              over all of them

The same executable gives the same bytes. SOURCE_DATE_EPOCH sets the time of the files in the archives.
Exit codes: 0 made, 2 could not be made.
"""

import argparse
import json
import os
import subprocess
import sys

from release import archive, binary, crates, npm, wheel
from release.common import NAME, ROOT, Failure, sha256

SUMS = "SHA256SUMS"
KINDS = ("archive", "wheel", "npm", "sbom")


def build(profile):
    """Builds the program; returns its path."""
    # pcre2-sys links a libpcre2 of this machine if it finds one, and other machines may have none.
    env = {**os.environ, "PCRE2_SYS_STATIC": "1"}
    messages = crates.cargo(
        "build", "--profile", profile, "--locked", "--package", NAME, "--message-format",
        "json-render-diagnostics", env=env,
    )
    for line in messages.splitlines():
        message = json.loads(line)
        if message.get("executable") and message["target"]["name"] == NAME:
            return message["executable"]
    raise Failure("cargo built no executable")


def check(path, version):
    """Returns the path of an executable, after checking that it runs here and has this version."""
    path = os.path.abspath(path)
    if not os.path.isfile(path):
        raise Failure(f"there is no file {path}. Build it first: cargo build --profile dist --locked -p {NAME}")
    if not os.access(path, os.X_OK):
        raise Failure(f"{path} is not executable. If it is the right file: chmod +x {path}")
    try:
        done = subprocess.run([path, "--version"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Failure(f"cannot run {path} --version: {error}. It must be built for this machine") from error
    said = done.stdout.decode(errors="replace").strip()
    if done.returncode != 0 or said != f"{NAME} {version}":
        raise Failure(
            f"`{path} --version` says `{said}` (exit code {done.returncode}), but this workspace is {NAME} {version}."
            " Build the executable from this source"
        )
    return path


def make(path, version, kinds):
    """Returns `(file name, bytes)` of every artefact."""
    with open(path, "rb") as file:
        executable = file.read()
    platform = binary.platform(executable)
    used = crates.crates(platform.triple)
    bill = crates.sbom(used, executable)
    licenses = crates.third_party_licenses(used)
    made = []
    if "archive" in kinds:
        name, data = archive.archive(version, platform, path, executable, licenses)
        made += [(name, data), (f"{name}.sha256", sum_line(name, data).encode())]
    if "wheel" in kinds:
        made.append(wheel.wheel(version, platform, executable, licenses, bill))
    if "npm" in kinds:
        made.append(npm.launcher(version, platform))
        made.append(npm.executable_package(version, platform, executable, licenses))
    if "sbom" in kinds:
        made.append((f"{NAME}-{version}-{platform.triple}.cdx.json", bill))
    return sorted(made)


def sum_line(name, data):
    return f"{sha256(data)}  {name}\n"


def write(folder, made):
    """Writes the artefacts, and removes those of an earlier run, so that no stale file is published."""
    try:
        os.makedirs(folder, exist_ok=True)
        sums = os.path.join(folder, SUMS)
        if os.path.exists(sums):
            with open(sums, encoding="utf-8") as file:
                earlier = [line.split("  ", 1)[-1].strip() for line in file]
            for name in earlier:
                if name == os.path.basename(name) and os.path.isfile(os.path.join(folder, name)):
                    os.remove(os.path.join(folder, name))
            os.remove(sums)
        for name, data in made:
            with open(os.path.join(folder, name), "wb") as file:
                file.write(data)
        # Written last, so that its presence means that all artefacts are complete.
        with open(sums, "w", encoding="utf-8", newline="\n") as file:
            file.write("".join(sum_line(name, data) for name, data in made))
    except OSError as error:
        raise Failure(f"cannot write to {folder}: {error.strerror}") from error


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0], epilog="More: the head of this file, and docs/install.md."
    )
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--binary", metavar="PATH", help="package this executable instead of building one")
    source.add_argument("--profile", default="dist", help="cargo profile to build with (default: dist)")
    parser.add_argument("--output", metavar="DIR", help="where artefacts go (default: target/package)")
    parser.add_argument("--only", metavar="KIND", action="append", choices=KINDS, help=f"one of: {', '.join(KINDS)}; may be repeated")
    return parser.parse_args()


def main():
    given = arguments()
    target = os.environ.get("CARGO_TARGET_DIR") or os.path.join(ROOT, "target")
    folder = given.output or os.path.join(target, "package")
    try:
        version = crates.version()
        path = check(given.binary if given.binary is not None else build(given.profile), version)
        made = make(path, version, given.only or KINDS)
        write(folder, made)
    except Failure as failure:
        print(f"error: {failure}", file=sys.stderr)
        return 2
    for name, data in made:
        print(f"{len(data):>12,}  {os.path.join(folder, name)}")
    print(f"{'':>12}  {os.path.join(folder, SUMS)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
