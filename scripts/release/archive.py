"""The archive for people without pip or npm: the program, its manual pages and shell completions."""

import os
import subprocess
import tempfile

from .common import NAME, THIRD_PARTY, Failure, read, tar_gz

# The locations where shells expect the file: its name is a part of the interface.
COMPLETIONS = {
    "bash": f"{NAME}.bash", "zsh": f"_{NAME}", "fish": f"{NAME}.fish", "powershell": f"_{NAME}.ps1", "elvish": f"{NAME}.elv",
}


def archive(version, platform, binary, executable, licenses):
    """Returns the file name and the bytes of the archive. Runs `binary` to generate manual pages and completions."""
    stem = f"{NAME}-{version}-{platform.triple}"
    files = {
        platform.program: (executable, True),
        "LICENSE": (read("LICENSE"), False),
        "README.md": (read("README.md"), False),
        THIRD_PARTY: (licenses, False),
    }
    for shell, name in COMPLETIONS.items():
        files[f"completions/{name}"] = (_run(binary, "completions", shell), False)
    with tempfile.TemporaryDirectory() as folder:
        _run(binary, "man", folder)
        for name in os.listdir(folder):
            with open(os.path.join(folder, name), "rb") as page:
                files[f"man/man1/{name}"] = (page.read(), False)
    return f"{stem}.tar.gz", tar_gz(stem, files)


def _run(binary, *arguments):
    done = subprocess.run([binary, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode != 0:
        told = done.stderr.decode(errors="replace").strip()
        raise Failure(f"`{binary} {' '.join(arguments)}` ended with code {done.returncode}: {told}")
    return done.stdout
