#!/usr/bin/env python3
"""Makes the release artefacts from an executable that is already built, installs each of them and runs it.

    python3 scripts/test_package.py        all tests
    python3 scripts/test_package.py -k npm only those with this name

The executable is $DOCWARD_BIN, or a debug build. Nothing is downloaded. Exit code 3: all passed,
but pip, venv or npm is missing and a package was not installed.
"""

import base64
import csv
import hashlib
import io
import json
import os
import re
import shutil
import signal
import stat
import struct
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile
from unittest import mock

from release import binary, common, wheel
from release.common import NAME, ROOT, Failure

# Tells scripts/test.py that a package was not installed.
NO_PACKAGE_MANAGER = 3
PACKAGE = os.path.join(ROOT, "scripts", "package.py")
# The time of the files in the artefacts: 2023-11-14 22:13:20.
MOMENT = 1_700_000_000
SHOP = os.path.join("examples", "shop")
CLEAN_SHOP = os.path.join("examples", "shop-clean")

work = None
executable = None
version = None


def setUpModule():
    global work, executable, version
    work = tempfile.mkdtemp(prefix="docward-packages-")
    unittest.addModuleCleanup(shutil.rmtree, work, ignore_errors=True)
    executable = os.environ.get("DOCWARD_BIN")
    if not executable:
        subprocess.run(["cargo", "build", "--locked", "--package", NAME], cwd=ROOT, check=True)
        target = os.environ.get("CARGO_TARGET_DIR") or os.path.join(ROOT, "target")
        executable = os.path.join(target, "debug", NAME)
    version = run([executable, "--version"]).stdout.split()[1]
    made = package("--output", artefacts(), SOURCE_DATE_EPOCH=str(MOMENT))
    if made.returncode != 0:
        raise AssertionError(made.stderr)


def artefacts():
    return os.path.join(work, "artefacts")


def artefact(pattern):
    """Returns the path of the only artefact whose name matches."""
    found = [name for name in os.listdir(artefacts()) if re.fullmatch(pattern, name)]
    assert len(found) == 1, f"{pattern}: {found} in {os.listdir(artefacts())}"
    return os.path.join(artefacts(), found[0])


def clean_environment(**more):
    """Returns the environment without settings of pip and npm, which could name other package sources."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.lower().startswith(("pip_", "npm_config_", "python", "virtual_env", "source_date_epoch"))
    }
    return {**kept, **more}


def run(command, cwd=ROOT, **environment):
    return subprocess.run(
        command, cwd=cwd, env=clean_environment(**environment), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True,
    )


def package(*arguments, given=None, **environment):
    """Runs scripts/package.py with the executable of the tests, or another."""
    return run([sys.executable, PACKAGE, "--binary", given or executable, *arguments], **environment)


def contents(folder):
    result = {}
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), "rb") as file:
            result[name] = file.read()
    return result


class Case(unittest.TestCase):
    maxDiff = None

    def succeeds(self, command, **more):
        done = run(command, **more)
        self.assertEqual(done.returncode, 0, f"{command}: {done.stdout}{done.stderr}")
        return done.stdout

    def behaves_like_docward(self, command):
        """Checks that a program prints its version and returns every exit code."""
        self.assertEqual(self.succeeds([*command, "--version"]), f"docward {version}\n")
        for arguments, code in [
            (["audit", CLEAN_SHOP, "--format", "json"], 0),
            (["audit", SHOP, "--format", "json"], 1),
            (["audit", "no-such-directory"], 2),
            (["no-such-command"], 2),
        ]:
            done = run([*command, *arguments])
            self.assertEqual(done.returncode, code, f"{arguments}: {done.stderr}")
            if arguments[-1] == "json":
                self.assertEqual(json.loads(done.stdout)["tool"]["version"], version)


class Sums(Case):
    def test_sums_cover_every_artefact(self):
        made = contents(artefacts())
        lines = made.pop("SHA256SUMS").decode().splitlines()
        self.assertEqual([line.split("  ")[1] for line in lines], list(made))
        for line in lines:
            digest, name = line.split("  ")
            self.assertEqual(digest, hashlib.sha256(made[name]).hexdigest(), name)
        self.assertEqual(len(made), 6, list(made))

    def test_sha256sum_accepts_the_files(self):
        if not shutil.which("sha256sum"):
            return
        self.succeeds(["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=artefacts())
        self.succeeds(["sha256sum", "--check", "--strict", os.path.basename(artefact(r".*\.sha256"))], cwd=artefacts())

    def test_the_same_executable_gives_the_same_bytes(self):
        again = os.path.join(work, "again")
        former = os.umask(0o077)
        try:
            done = package(
                "--output", again, TZ="Asia/Tokyo", LC_ALL="C", PYTHONHASHSEED="7", SOURCE_DATE_EPOCH=str(MOMENT)
            )
        finally:
            os.umask(former)
        self.assertEqual(done.returncode, 0, done.stderr)
        copies = contents(again)
        for name, data in contents(artefacts()).items():
            self.assertTrue(data == copies[name], name)

    def test_source_date_epoch_is_the_time_of_every_file(self):
        for name in sorted(os.listdir(artefacts())):
            path = os.path.join(artefacts(), name)
            if name.endswith((".tar.gz", ".tgz")):
                with tarfile.open(path) as tar:
                    self.assertEqual({member.mtime for member in tar}, {MOMENT}, name)
            elif name.endswith(".whl"):
                with zipfile.ZipFile(path) as archive:
                    self.assertEqual({entry.date_time for entry in archive.infolist()}, {(2023, 11, 14, 22, 13, 20)})
            elif name.endswith(".json"):
                with open(path, encoding="utf-8") as file:
                    self.assertEqual(json.load(file)["metadata"]["timestamp"], "2023-11-14T22:13:20Z")

    def test_without_source_date_epoch_times_are_fixed(self):
        with mock.patch.dict(os.environ):
            os.environ.pop("SOURCE_DATE_EPOCH", None)
            first = common.tar_gz("folder", {"file": (b"text", False)})
            self.assertEqual(first, common.tar_gz("folder", {"file": (b"text", False)}))
        with tarfile.open(fileobj=io.BytesIO(first)) as tar:
            self.assertEqual([member.mtime for member in tar], [common.EARLIEST])

    def test_an_earlier_run_leaves_no_artefacts_behind(self):
        folder = os.path.join(work, "reused")
        os.mkdir(folder)
        for name, text in [("docward-0.0.1.tgz", "old"), ("notes.txt", "mine"), ("SHA256SUMS", "00  docward-0.0.1.tgz\n")]:
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(text)
        done = package("--output", folder, "--only", "sbom")
        self.assertEqual(done.returncode, 0, done.stderr)
        names = sorted(os.listdir(folder))
        self.assertEqual(names, ["SHA256SUMS", os.path.basename(artefact(r".*\.cdx\.json")), "notes.txt"])


class Archive(Case):
    def test_the_archive_unpacks_and_runs(self):
        path = artefact(r"docward-.*\.tar\.gz")
        with tarfile.open(path) as tar:
            members = tar.getmembers()
            folder = os.path.basename(path)[: -len(".tar.gz")]
            names = [member.name for member in members]
            self.assertEqual(names, sorted(names))
            self.assertEqual({(member.uid, member.gid) for member in members}, {(0, 0)})
            for name in [
                "docward", "LICENSE", "README.md", "THIRD-PARTY-LICENSES.txt", "man/man1/docward.1", "man/man1/docward-audit.1",
                "completions/docward.bash", "completions/_docward", "completions/docward.fish",
            ]:
                self.assertIn(f"{folder}/{name}", names)
                self.assertGreater(tar.getmember(f"{folder}/{name}").size, 500, name)
            for member in members:
                program = member.name == f"{folder}/docward"
                self.assertEqual(member.mode, 0o755 if program else 0o644, member.name)
            target = os.path.join(work, "unpacked")
            tar.extraction_filter = getattr(tarfile, "data_filter", None)
            tar.extractall(target)
        self.behaves_like_docward([os.path.join(target, folder, "docward")])

    def test_licences_of_linked_crates_are_included(self):
        path = artefact(r"docward-.*\.tar\.gz")
        with tarfile.open(path) as tar:
            name = next(name for name in tar.getnames() if name.endswith("THIRD-PARTY-LICENSES.txt"))
            text = tar.extractfile(name).read().decode()
        for part in ["mongodb ", "pcre2-sys ", "Philip Hazel", "ring ", "Permission is hereby granted"]:
            self.assertTrue(part in text, part)
        self.assertFalse("docward-bson" in text)


class Wheel(Case):
    def test_record_matches_the_files(self):
        with zipfile.ZipFile(artefact(r".*\.whl")) as archive:
            self.assertIsNone(archive.testzip())
            info = f"docward-{wheel.python_version(version)}.dist-info"
            rows = list(csv.reader(io.StringIO(archive.read(f"{info}/RECORD").decode())))
            self.assertEqual(sorted(row[0] for row in rows), sorted(archive.namelist()))
            for path, digest, size in rows:
                if path == f"{info}/RECORD":
                    self.assertEqual((digest, size), ("", ""))
                    continue
                data = archive.read(path)
                expected = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
                self.assertEqual((digest, size), (f"sha256={expected}", str(len(data))), path)
            program = archive.getinfo(f"docward-{wheel.python_version(version)}.data/scripts/docward")
            self.assertEqual(program.external_attr >> 16, stat.S_IFREG | 0o755)
            tag = re.search(r"^Tag: (.*)$", archive.read(f"{info}/WHEEL").decode(), re.MULTILINE).group(1)
            self.assertTrue(artefact(r".*\.whl").endswith(f"-{tag}.whl"), tag)

    def test_the_tag_names_the_glibc_that_is_needed(self):
        if not shutil.which("readelf"):
            return
        told = self.succeeds(["readelf", "--version-info", "--wide", executable], LC_ALL="C")
        needed = max(tuple(map(int, found)) for found in re.findall(r"GLIBC_(\d+)\.(\d+)", told))
        self.assertIn(f"-manylinux_{needed[0]}_{needed[1]}_", artefact(r".*\.whl"))

    def test_pip_installs_it_and_both_ways_run(self):
        folder = os.path.join(work, "venv")
        made = run([sys.executable, "-m", "venv", folder])
        if made.returncode != 0:
            self.skipTest(f"python -m venv does not work here: {made.stdout}{made.stderr}")
        python = os.path.join(folder, "bin", "python")
        pip = [python, "-m", "pip", "--isolated", "--disable-pip-version-check"]
        self.succeeds([*pip, "install", "--no-index", "--no-deps", artefact(r".*\.whl")])
        self.behaves_like_docward([os.path.join(folder, "bin", "docward")])
        self.behaves_like_docward([python, "-m", "docward"])
        listed = self.succeeds([*pip, "show", "--verbose", "docward"])
        self.assertIn(f"Version: {wheel.python_version(version)}", listed)
        self.succeeds([*pip, "check"])
        self.succeeds([*pip, "uninstall", "--yes", "docward"])
        self.assertFalse(os.path.exists(os.path.join(folder, "bin", "docward")))

    def test_python_finds_the_program_in_a_target_folder(self):
        folder = os.path.join(work, "target-folder")
        done = run([
            sys.executable, "-m", "pip", "--isolated", "install", "--no-index", "--no-deps", "--target", folder,
            artefact(r".*\.whl"),
        ])
        if done.returncode != 0 and "No module named pip" in done.stderr:
            self.skipTest("there is no pip")
        self.assertEqual(done.returncode, 0, done.stderr)
        told = self.succeeds([sys.executable, "-m", "docward", "--version"], cwd=work, PYTHONPATH=folder)
        self.assertEqual(told, f"docward {version}\n")
        os.remove(os.path.join(folder, "bin", "docward"))
        done = run([sys.executable, "-m", "docward", "--version"], cwd=work, PYTHONPATH=folder, PATH="/nowhere")
        self.assertEqual(done.returncode, 2)
        self.assertIn("pip install --force-reinstall", done.stderr)

    def test_versions_are_written_as_python_does(self):
        for cargo, python in [("0.1.0", "0.1.0"), ("1.2.3-rc.1", "1.2.3rc1"), ("1.0.0-beta2", "1.0.0b2"), ("1.0.0-alpha.3", "1.0.0a3")]:
            self.assertEqual(wheel.python_version(cargo), python)
        with self.assertRaises(Failure):
            wheel.python_version("1.0.0-nightly")


class Npm(Case):
    @classmethod
    def setUpClass(cls):
        if not (shutil.which("npm") and shutil.which("node")):
            raise unittest.SkipTest("there is no npm")
        cls.pattern = tempfile.mkdtemp(dir=work, prefix="npm-")
        done = cls.npm(cls.pattern, "install", artefact(rf"docward-{re.escape(version)}\.tgz"), cls.platform_package())
        if done.returncode != 0:
            raise AssertionError(done.stderr)

    def setUp(self):
        self.folder = os.path.join(tempfile.mkdtemp(dir=work), "project")
        shutil.copytree(self.pattern, self.folder, symlinks=True)
        self.launcher = os.path.join(self.folder, "node_modules", ".bin", "docward")

    def tearDown(self):
        shutil.rmtree(self.folder)

    @staticmethod
    def npm(folder, *arguments):
        return run(
            ["npm", *arguments], cwd=folder, npm_config_cache=os.path.join(work, "npm-cache"), npm_config_offline="true",
            npm_config_update_notifier="false", npm_config_audit="false", npm_config_fund="false",
        )

    @staticmethod
    def platform_package():
        return artefact(rf"docward-[a-z0-9]+-[a-z0-9]+-{re.escape(version)}\.tgz")

    def program(self):
        """Returns the file that the launcher runs."""
        folder = os.path.join(self.folder, "node_modules", "@docward")
        return os.path.join(folder, os.listdir(folder)[0], "bin", "docward")

    def replace_program(self, script):
        with open(self.program(), "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\n{script}\n")

    def test_npm_installs_both_and_runs_the_program(self):
        self.behaves_like_docward([self.launcher])
        done = self.npm(self.folder, "exec", "--no", "--", "docward", "--version")
        self.assertEqual((done.returncode, done.stdout), (0, f"docward {version}\n"), done.stderr)
        npx = run(["npx", "--no-install", "docward", "audit", os.path.join(ROOT, SHOP)], cwd=self.folder)
        self.assertEqual(npx.returncode, 1, npx.stderr)

    def test_npm_packs_the_same_files(self):
        for path in [artefact(rf"docward-{re.escape(version)}\.tgz"), self.platform_package()]:
            with tarfile.open(path) as tar:
                ours = sorted(tar.getnames())
            packed = json.loads(self.npm(self.folder, "pack", "--json", "--dry-run", path).stdout)[0]
            self.assertEqual(packed["filename"], os.path.basename(path))
            self.assertEqual(sorted(f"package/{file['path']}" for file in packed["files"]), ours)

    def test_npm_launcher_without_the_program_says_what_to_do(self):
        shutil.rmtree(os.path.join(self.folder, "node_modules", "@docward"))
        done = run([self.launcher, "--version"])
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertRegex(done.stderr, r"^error: the package @docward/\S+ is not installed")
        self.assertRegex(done.stderr, rf"npm install --include=optional @docward/\S+@{re.escape(version)}\n")

    def test_npm_launcher_on_another_platform_names_those_that_work(self):
        other = os.path.join(self.folder, "other.js")
        with open(other, "w", encoding="utf-8") as file:
            file.write('Object.defineProperty(process, "arch", { value: "s390x" });\n')
        done = run(["node", "--require", other, os.path.realpath(self.launcher), "--version"])
        self.assertEqual(done.returncode, 2)
        self.assertIn("-s390x, only for linux-arm64, linux-x64", done.stderr)
        self.assertIn("cargo install --path crates/docward", done.stderr)

    def test_npm_launcher_reports_a_program_that_cannot_be_run(self):
        os.chmod(self.program(), 0o644)
        done = run([self.launcher, "--version"])
        self.assertEqual(done.returncode, 2)
        self.assertIn("error: cannot run ", done.stderr)
        self.assertIn("npm install --force @docward/", done.stderr)

    def test_npm_launcher_passes_signals_both_ways(self):
        for number in [signal.SIGTERM, signal.SIGINT, signal.SIGHUP]:
            name = number.name[len("SIG") :]
            # The program exits when it receives the signal; without one the loop exits with another code.
            self.replace_program(
                f"trap 'echo heard; exit 7' {name}\necho ready\ni=0\nwhile [ $i -lt 600 ]; do sleep 0.1; i=$((i+1)); done\nexit 9"
            )
            started = subprocess.Popen(
                [self.launcher], env=clean_environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                text=True, start_new_session=True,
            )
            self.assertEqual(started.stdout.readline(), "ready\n")
            started.send_signal(number)
            said, _ = started.communicate()
            self.assertEqual((started.returncode, said), (7, "heard\n"), name)
        self.replace_program("kill -KILL $$")
        self.assertEqual(run([self.launcher]).returncode, -signal.SIGKILL)

    def test_npm_launcher_passes_input_and_arguments(self):
        self.replace_program('printf "<%s>" "$@"; cat')
        done = subprocess.run(
            [self.launcher, "a b", "", "--x=*"], input="from stdin", stdout=subprocess.PIPE, text=True, env=clean_environment()
        )
        self.assertEqual(done.stdout, "<a b><><--x=*>from stdin")


class Sbom(Case):
    def setUp(self):
        with open(artefact(r".*\.cdx\.json"), encoding="utf-8") as file:
            self.bom = json.load(file)
        self.triple = os.path.basename(artefact(r".*\.cdx\.json"))[len(f"docward-{version}-") : -len(".cdx.json")]

    def named(self, scope=None):
        own = self.bom["metadata"]["component"]
        found = [one for one in [own, *self.bom["components"]] if scope in (None, one["scope"])]
        return {(one["name"], one["version"]) for one in found}

    def tree(self, edges):
        told = self.succeeds(["cargo", "tree", "-p", NAME, "-e", edges, "--target", self.triple, "--prefix", "none", "--locked"])
        words = [line.split() for line in told.splitlines() if line]
        return {(word[0], word[1][1:]) for word in words}

    def test_every_crate_of_the_tree_is_named_and_no_other(self):
        self.assertEqual(self.tree("normal") - self.named(), set())
        self.assertEqual(self.named(), self.tree("normal,build"))
        self.assertEqual(self.named("required"), self.tree("normal,no-proc-macro"))
        names = {name for name, _ in self.named()}
        for development in ["docward-testkit", "assert_cmd", "insta", "fantoccini", "proptest", "xtask"]:
            self.assertNotIn(development, names)

    def test_components_have_purl_licence_and_the_hash_of_the_lock_file(self):
        with open(os.path.join(ROOT, "Cargo.lock"), encoding="utf-8") as file:
            lock = file.read()
        for one in self.bom["components"]:
            self.assertEqual(one["purl"], f"pkg:cargo/{one['name']}@{one['version'].replace('+', '%2B')}")
            self.assertTrue(one["licenses"][0]["expression"], one["name"])
            entry = f'name = "{one["name"]}"\nversion = "{one["version"]}"\n'
            self.assertIn(entry, lock)
            after = lock.split(entry, 1)[1].split("[[package]]", 1)[0]
            pinned = re.findall(r'^checksum = "(.*)"$', after, re.MULTILINE)
            self.assertEqual([each["content"] for each in one.get("hashes", [])], pinned, one["name"])
            self.assertEqual(bool(pinned), not one["name"].startswith("docward"), one["name"])

    def test_the_document_is_complete(self):
        self.assertEqual((self.bom["bomFormat"], self.bom["specVersion"]), ("CycloneDX", "1.5"))
        self.assertRegex(self.bom["serialNumber"], r"^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$")
        with open(executable, "rb") as file:
            digest = hashlib.sha256(file.read()).hexdigest()
        self.assertEqual(self.bom["metadata"]["component"]["hashes"][0]["content"], digest)
        refs = {one["bom-ref"] for one in [self.bom["metadata"]["component"], *self.bom["components"]]}
        graph = {one["ref"]: one["dependsOn"] for one in self.bom["dependencies"]}
        self.assertEqual(set(graph), refs)
        reached, ahead = set(), [self.bom["metadata"]["component"]["bom-ref"]]
        while ahead:
            ref = ahead.pop()
            if ref not in reached:
                reached.add(ref)
                ahead.extend(graph[ref])
        self.assertEqual(reached, refs, "every crate is reached from the program")
        with zipfile.ZipFile(artefact(r".*\.whl")) as archive:
            inside = next(name for name in archive.namelist() if "/sboms/" in name)
            self.assertEqual(json.loads(archive.read(inside)), self.bom)


class BadInput(Case):
    def fails(self, expected, path=None, **environment):
        output = os.path.join(work, "must-not-exist")
        done = package("--output", output, given=path, **environment)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        self.assertTrue(done.stderr.startswith("error: "), done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        self.assertRegex(done.stderr, expected)
        self.assertFalse(os.path.exists(output))

    def script(self, text, mode=0o755):
        handle, path = tempfile.mkstemp(dir=work)
        with os.fdopen(handle, "w") as file:
            file.write(text)
        os.chmod(path, mode)
        return path

    def test_a_binary_that_is_not_there(self):
        self.fails("there is no file .*no-such-file.*cargo build --profile dist", os.path.join(work, "no-such-file"))
        self.fails("there is no file", work)

    def test_a_binary_that_is_not_executable(self):
        self.fails("is not executable.*chmod", self.script("#!/bin/sh\n", 0o644))

    def test_a_binary_of_another_version(self):
        self.fails(
            f"says `docward 9.9.9`.*this workspace is docward {re.escape(version)}", self.script("#!/bin/sh\necho docward 9.9.9\n")
        )
        self.fails("exit code 4", self.script(f"#!/bin/sh\necho docward {version}\nexit 4\n"))

    def test_a_binary_that_cannot_run_here(self):
        self.fails("cannot run .*built for this machine", self.script("\x7fELF, but not really"))

    def test_a_script_instead_of_an_executable(self):
        self.fails("no executable of Linux", self.script(f"#!/bin/sh\necho docward {version}\n"))

    def test_a_date_that_is_no_number(self):
        self.fails("SOURCE_DATE_EPOCH is `yesterday`", SOURCE_DATE_EPOCH="yesterday")

    def test_an_output_that_cannot_be_written(self):
        done = package("--output", os.path.join(executable, "below"), "--only", "sbom")
        self.assertEqual(done.returncode, 2)
        self.assertIn("error: cannot write to ", done.stderr)

    def test_unknown_kinds(self):
        done = package("--only", "rpm")
        self.assertEqual(done.returncode, 2)
        self.assertIn("invalid choice: 'rpm'", done.stderr)

    def test_without_cargo(self):
        self.fails("cannot run /nowhere/cargo", CARGO="/nowhere/cargo")


class Build(Case):
    def test_the_program_is_built_with_the_dist_profile(self):
        """Replaces the compiler, because a distribution build takes minutes and only its arguments are tested."""
        cargo = os.path.join(work, "cargo")
        log = os.path.join(work, "cargo.log")
        message = json.dumps({"reason": "compiler-artifact", "target": {"name": "docward"}, "executable": executable})
        with open(cargo, "w", encoding="utf-8") as file:
            file.write(
                f'#!/bin/sh\nif [ "$1" != build ]; then exec cargo "$@"; fi\n'
                f"echo \"$PCRE2_SYS_STATIC $*\" > '{log}'\necho '{message}'\n"
            )
        os.chmod(cargo, 0o755)
        output = os.path.join(work, "built")
        self.succeeds([sys.executable, PACKAGE, "--only", "sbom", "--output", output], CARGO=cargo)
        with open(log, encoding="utf-8") as file:
            self.assertRegex(file.read(), r"^1 build --profile dist --locked --package docward ")
        with open(cargo, "w", encoding="utf-8") as file:
            file.write('#!/bin/sh\nif [ "$1" != build ]; then exec cargo "$@"; fi\nexit 101\n')
        done = run([sys.executable, PACKAGE, "--output", output], CARGO=cargo)
        self.assertEqual(done.returncode, 2)
        self.assertIn("ended with code 101", done.stderr)


class Platforms(unittest.TestCase):
    """Tests package names for other platforms, on executable headers only."""

    def names(self, data):
        found = binary.platform(data)
        return found.triple, found.wheel_tag, found.npm, found.program

    def test_mach_o(self):
        build = struct.pack("<IIIIII", 0x32, 24, 1, 11 << 16 | 3 << 8, 0, 0)
        header = struct.pack("<IIIIIIII", 0xFEEDFACF, 0x0100000C, 0, 2, 1, len(build), 0, 0)
        self.assertEqual(self.names(header + build), ("aarch64-apple-darwin", "macosx_11_0_arm64", "darwin-arm64", "docward"))
        older = struct.pack("<IIII", 0x24, 16, 10 << 16 | 12 << 8, 0)
        header = struct.pack("<IIIIIIII", 0xFEEDFACF, 0x01000007, 0, 2, 1, len(older), 0, 0)
        self.assertEqual(self.names(header + older), ("x86_64-apple-darwin", "macosx_10_12_x86_64", "darwin-x64", "docward"))

    def test_windows(self):
        data = b"MZ".ljust(60, b"\0") + struct.pack("<I", 64) + b"PE\0\0" + struct.pack("<H", 0x8664)
        self.assertEqual(self.names(data), ("x86_64-pc-windows-msvc", "win_amd64", "win32-x64", "docward.exe"))

    def test_elf_without_interpreter_makes_no_promise(self):
        data = struct.pack("<4sBBBB8xHHIQQQIHHHHHH", b"\x7fELF", 2, 1, 1, 0, 2, 183, 1, 0, 64, 0, 0, 64, 56, 0, 0, 0, 0)
        found = binary.platform(data)
        self.assertEqual(self.names(data), ("aarch64-unknown-linux-musl", "linux_aarch64", "linux-arm64", "docward"))
        self.assertIsNone(found.npm_libc)

    def test_damaged_files(self):
        for data in [b"\x7fELF\x02\x01", b"MZ", b"\xcf\xfa\xed\xfe", b"", b"#!/bin/sh"]:
            with self.assertRaises(Failure):
                binary.platform(data)

    def test_the_highest_symbol_version_counts(self):
        elf = binary.Elf.__new__(binary.Elf)
        for versions, expected in [
            (["GLIBC_2.2.5", "GLIBC_2.34", "GLIBC_2.9", "GCC_3.0"], (2, 34)),
            (["GLIBC_2.17", "GLIBC_ABI_DT_RELR"], (2, 36)),
            (["GLIBC_2.17", "GLIBC_PRIVATE"], None),
            ([], None),
        ]:
            elf.versions = versions
            self.assertEqual(elf.glibc(), expected)


if __name__ == "__main__":
    outcome = unittest.main(exit=False).result
    if not outcome.wasSuccessful():
        sys.exit(1)
    for test, reason in outcome.skipped:
        print(f"SKIPPED: {test.id()}: {reason}")
    sys.exit(NO_PACKAGE_MANAGER if outcome.skipped else 0)
