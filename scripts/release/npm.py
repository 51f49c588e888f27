"""Two npm packages: `docward`, a launcher, and one with the executable of this platform."""

import json

from .common import KEYWORDS, LICENSE, NAME, SUMMARY, THIRD_PARTY, read, tar_gz

# The platforms of a release. The launcher is the same file on all platforms, so it lists all of them.
PLATFORMS = ("linux-arm64", "linux-x64")

LAUNCHER = ("scripts", "release", "files", "docward.js")
DESCRIPTION = ("scripts", "release", "files", "PACKAGE.md")


def platform_package(platform):
    return f"@{NAME}/{platform.npm}"


def launcher(version, platform):
    """Returns the file name and the bytes of `docward`."""
    platforms = sorted({*PLATFORMS, platform.npm})
    manifest = {
        "name": NAME,
        "version": version,
        "description": SUMMARY,
        "keywords": KEYWORDS,
        "license": LICENSE,
        "bin": {NAME: f"bin/{NAME}.js"},
        "engines": {"node": ">=18"},
        "optionalDependencies": {f"@{NAME}/{name}": version for name in platforms},
    }
    files = {
        "package.json": (_json(manifest), False),
        f"bin/{NAME}.js": (read(*LAUNCHER), True),
        "README.md": (read(*DESCRIPTION), False),
        "LICENSE": (read("LICENSE"), False),
    }
    return f"{NAME}-{version}.tgz", tar_gz("package", files)


def executable_package(version, platform, executable, licenses):
    """Returns the file name and the bytes of `@docward/<os>-<cpu>`."""
    name = platform_package(platform)
    manifest = {
        "name": name,
        "version": version,
        "description": f"The docward program for {platform.triple}; install `{NAME}`, which uses it",
        "license": LICENSE,
        "os": [platform.npm_os],
        "cpu": [platform.npm_cpu],
        **({"libc": [platform.npm_libc]} if platform.npm_libc else {}),
        # Without this, Yarn keeps packages zipped, and a program in an archive cannot be run.
        "preferUnplugged": True,
    }
    files = {
        "package.json": (_json(manifest), False),
        f"bin/{platform.program}": (executable, True),
        "README.md": (f"# {name}\n\n{manifest['description']}.\n".encode(), False),
        "LICENSE": (read("LICENSE"), False),
        THIRD_PARTY: (licenses, False),
    }
    return f"{NAME}-{platform.npm}-{version}.tgz", tar_gz("package", files)


def _json(value):
    return (json.dumps(value, indent=2) + "\n").encode()
