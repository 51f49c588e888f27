"""The crates of an executable: the bill of materials and third-party licences."""

import json
import os
import re
import subprocess
import uuid
from datetime import datetime, timezone

from .common import LICENSE, NAME, ROOT, Failure, read, sha256, source_date

NOTICE = re.compile(r"^(licen[cs]e|copying|copyright|notice|unlicense|authors)([-._].*)?$", re.IGNORECASE)
# Matches a comment with licence terms; one that only names a licence repeats the file LICENSE.
C_NOTICE = re.compile(
    r"/\*((?:(?!\*/).)*Copyright(?:(?!\*/).)*(?:Redistribution and use|Permission is hereby granted)(?:(?!\*/).)*)\*/", re.DOTALL
)
C_HEAD = 8192


def cargo(*arguments, env=None):
    """Returns the output of cargo; its messages go to the terminal."""
    command = [os.environ.get("CARGO", "cargo"), *arguments]
    try:
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, env=env)
    except OSError as error:
        raise Failure(f"cannot run {command[0]}: {error.strerror}. Install Rust, or put cargo on PATH") from error
    if done.returncode != 0:
        raise Failure(f"`{' '.join(command)}` ended with code {done.returncode}; its messages are above")
    return done.stdout


def version():
    """Returns the version of the workspace."""
    members = json.loads(cargo("metadata", "--locked", "--no-deps", "--format-version", "1"))["packages"]
    return next(package["version"] for package in members if package["name"] == NAME)


class Crate:
    """A package of the dependency graph."""

    def __init__(self, package, linked, checksum, depends):
        self.name = package["name"]
        self.version = package["version"]
        self.folder = os.path.dirname(package["manifest_path"])
        # Old manifests separate alternatives with a slash.
        self.license = (package["license"] or "").replace("/", " OR ")
        self.repository = package["repository"]
        self.linked = linked
        self.checksum = checksum
        self.depends = depends
        self.local = package["source"] is None

    @property
    def purl(self):
        return f"pkg:cargo/{self.name}@{self.version.replace('+', '%2B')}"


def crates(triple):
    """Returns every crate that the build of the executable uses, sorted; `linked` excludes build tools.

    `cargo metadata` merges the features of the whole workspace, including tests; only `cargo tree` resolves
    them like a build of this package. So `cargo tree` selects the crates, and the metadata describes them.
    """
    linked = _tree(triple, "normal,no-proc-macro")
    used = _tree(triple, "normal,build") | linked
    found = json.loads(cargo("metadata", "--locked", "--format-version", "1", "--filter-platform", triple))
    packages = {package["id"]: package for package in found["packages"]}
    nodes = {node["id"]: node for node in found["resolve"]["nodes"]}
    keys = {one: (package["name"], package["version"]) for one, package in packages.items()}
    checksums = _checksums()
    result = []
    for one, package in packages.items():
        if keys[one] not in used:
            continue
        depends = set()
        for dependency in nodes[one]["deps"]:
            wanted = any(kind["kind"] != "dev" for kind in dependency["dep_kinds"])
            if wanted and keys[dependency["pkg"]] in used:
                depends.add(dependency["pkg"])
        result.append((package, depends))
    if len(result) != len(used):
        raise Failure("`cargo tree` and `cargo metadata` do not name the same crates")
    made = {
        package["id"]: Crate(package, keys[package["id"]] in linked, checksums.get(keys[package["id"]]), depends)
        for package, depends in result
    }
    for crate in made.values():
        crate.depends = sorted(made[one].purl for one in crate.depends)
    return sorted(made.values(), key=lambda crate: (crate.name, crate.version))


def _tree(triple, edges):
    """Returns `(name, version)` of the crates that `cargo tree` lists."""
    lines = cargo(
        "tree", "--locked", "--package", NAME, "--edges", edges, "--target", triple, "--prefix", "none",
        "--format", "{p}",
    ).splitlines()
    words = [line.split() for line in lines if line.strip()]
    return {(name, number[1:]) for name, number, *_ in words}


def _checksums():
    """Returns the SHA-256 of every archive that Cargo.lock pins."""
    result = {}
    for block in read("Cargo.lock").decode().split("[[package]]"):
        field = dict(re.findall(r'^(name|version|checksum) = "(.*)"$', block, re.MULTILINE))
        if "checksum" in field:
            result[(field["name"], field["version"])] = field["checksum"]
    return result


def sbom(used, executable):
    """Returns a CycloneDX 1.5 document, the same for the same crates and executable."""
    own = next(crate for crate in used if crate.name == NAME)
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": None,
        "version": 1,
        "metadata": {
            "lifecycles": [{"phase": "build"}],
            "component": {**_component(own), "type": "application", "hashes": _hashes(sha256(executable))},
        },
        "components": [_component(crate) for crate in used if crate is not own],
        "dependencies": [
            {"ref": crate.purl, "dependsOn": crate.depends} for crate in sorted(used, key=lambda crate: crate.purl)
        ],
    }
    if os.environ.get("SOURCE_DATE_EPOCH"):
        document["metadata"]["timestamp"] = _iso(source_date())
    content = json.dumps(document, sort_keys=True)
    document["serialNumber"] = uuid.UUID(bytes=bytes.fromhex(sha256(content.encode()))[:16], version=4).urn
    return (json.dumps(document, indent=2) + "\n").encode()


def _iso(seconds):
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def _hashes(digest):
    return [{"alg": "SHA-256", "content": digest}]


def _component(crate):
    component = {
        "type": "library",
        "bom-ref": crate.purl,
        "name": crate.name,
        "version": crate.version,
        # In CycloneDX, `excluded` components are not reachable at run time, such as build scripts and macros.
        "scope": "required" if crate.linked else "excluded",
        "purl": crate.purl,
    }
    if crate.checksum:
        component["hashes"] = _hashes(crate.checksum)
    if crate.license:
        component["licenses"] = [{"expression": crate.license}]
    if crate.repository:
        component["externalReferences"] = [{"type": "vcs", "url": crate.repository}]
    return component


def third_party_licenses(used):
    """Returns the licence texts of the linked crates, each text once with the crates that it covers."""
    texts, silent = {}, []
    for crate in used:
        if not crate.linked or crate.local:
            continue
        label = f"{crate.name} {crate.version} ({crate.license or 'no licence stated'})"
        found = _notices(crate.folder)
        for text in found:
            texts.setdefault(text, []).append(label)
        if not found:
            silent.append(label)
    lines = [
        "The docward program contains the libraries below. Docward itself is under " + LICENSE + ", see LICENSE.",
        "",
    ]
    for text, labels in sorted(texts.items(), key=lambda pair: pair[1]):
        lines += ["=" * 80, *labels, "=" * 80, "", text, ""]
    if silent:
        lines += ["=" * 80, "Libraries whose archives hold no licence text:", *silent, "=" * 80]
    return ("\n".join(lines) + "\n").encode()


def _notices(folder):
    """Returns the licences and notices in a crate, and those at the beginning of bundled C sources."""
    found = []
    for place, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            is_c = name.endswith((".c", ".h"))
            if not is_c and (not NOTICE.match(name) or name.endswith((".rs", ".py", ".sh"))):
                continue
            with open(os.path.join(place, name), encoding="utf-8", errors="replace") as file:
                texts = C_NOTICE.findall(file.read(C_HEAD)) if is_c else [file.read()]
            for text in texts:
                text = "\n".join(line.rstrip() for line in text.strip().splitlines())
                if text and text not in found:
                    found.append(text)
    return found
