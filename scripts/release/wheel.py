"""A Python wheel that contains the executable: `pip install` puts it next to `python`."""

import base64
import hashlib
import io
import re
import time
import zipfile

from .common import COMPRESSION, KEYWORDS, LICENSE, NAME, SUMMARY, THIRD_PARTY, Failure, read, source_date

RUNNER = ("scripts", "release", "files", "__main__.py")
DESCRIPTION = ("scripts", "release", "files", "PACKAGE.md")


def python_version(version):
    """Converts a version of Cargo to that of Python: 1.2.0-rc.1 becomes 1.2.0rc1."""
    match = re.fullmatch(r"(\d+\.\d+\.\d+)(?:-(alpha|beta|rc)\.?(\d+))?", version)
    if not match:
        raise Failure(f"the version {version} has no Python form: use X.Y.Z, or X.Y.Z-alpha.N, -beta.N or -rc.N")
    number, stage, count = match.groups()
    return number + ({"alpha": "a", "beta": "b", "rc": "rc"}[stage] + count if stage else "")


def wheel(version, platform, executable, licenses, sbom):
    """Returns the file name and the bytes of the wheel."""
    version = python_version(version)
    stem = f"{NAME}-{version}"
    info = f"{stem}.dist-info"
    tag = f"py3-none-{platform.wheel_tag}"
    metadata = [
        "Metadata-Version: 2.4",
        f"Name: {NAME}",
        f"Version: {version}",
        f"Summary: {SUMMARY}",
        f"Keywords: {','.join(KEYWORDS)}",
        f"License-Expression: {LICENSE}",
        "License-File: LICENSE",
        f"License-File: {THIRD_PARTY}",
        "Classifier: Environment :: Console",
        "Classifier: Programming Language :: Rust",
        "Classifier: Topic :: Database",
        "Classifier: Topic :: Software Development :: Quality Assurance",
        "Requires-Python: >=3.9",
        "Description-Content-Type: text/markdown",
        "",
        read(*DESCRIPTION).decode(),
    ]
    about = ["Wheel-Version: 1.0", "Generator: docward scripts/package.py", "Root-Is-Purelib: false", f"Tag: {tag}", ""]
    files = {
        f"{NAME}/__init__.py": (f'"""The docward program, as a package."""\n\n__version__ = "{version}"\n'.encode(), False),
        f"{NAME}/__main__.py": (read(*RUNNER), False),
        f"{stem}.data/scripts/{platform.program}": (executable, True),
        f"{info}/METADATA": ("\n".join(metadata).encode(), False),
        f"{info}/WHEEL": ("\n".join(about).encode(), False),
        f"{info}/licenses/LICENSE": (read("LICENSE"), False),
        f"{info}/licenses/{THIRD_PARTY}": (licenses, False),
        # PEP 770: the location where scanners look for bills of materials.
        f"{info}/sboms/{NAME}.cdx.json": (sbom, False),
    }
    record = "".join(f"{path},{_digest(data)},{len(data)}\n" for path, (data, _) in sorted(files.items()))
    record_path = f"{info}/RECORD"
    files_in_order = [*sorted(files.items()), (record_path, (f"{record}{record_path},,\n".encode(), False))]
    return f"{stem}-{tag}.whl", _zip(files_in_order)


def _digest(data):
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def _zip(files):
    packed = io.BytesIO()
    moment = time.gmtime(source_date())[:6]
    with zipfile.ZipFile(packed, "w") as archive:
        for path, (data, executable) in files:
            entry = zipfile.ZipInfo(path, moment)
            entry.create_system = 3  # Unix, so that the file modes below apply.
            entry.external_attr = (0o100755 if executable else 0o100644) << 16
            archive.writestr(entry, data, zipfile.ZIP_DEFLATED, COMPRESSION)
    return packed.getvalue()
