"""`python -m docward`: runs the program that this package has installed."""

import os
import subprocess
import sys
import sysconfig


def program():
    """The path of the program: pip puts it where the scripts of the installation are."""
    name = "docward.exe" if os.name == "nt" else "docward"
    package = os.path.dirname(os.path.abspath(__file__))
    user = f"{os.name}_user"
    folders = [
        sysconfig.get_path("scripts"),
        sysconfig.get_path("scripts", user) if user in sysconfig.get_scheme_names() else None,
        # pip install --target FOLDER
        os.path.join(os.path.dirname(package), "bin"),
        # pip install --prefix FOLDER: FOLDER/lib/pythonX.Y/site-packages/docward
        os.path.join(os.path.abspath(os.path.join(package, *[os.pardir] * 4)), "bin"),
    ]
    for folder in filter(None, folders):
        path = os.path.join(folder, name)
        if os.path.isfile(path):
            return path
    looked = ", ".join(filter(None, folders))
    sys.stderr.write(f"error: {name} is not in {looked}. Install the package again: pip install --force-reinstall docward\n")
    sys.exit(2)


def main():
    command = [program(), *sys.argv[1:]]
    if os.name == "nt":
        # Windows has no exec that waits: the shell would go on before the program ends.
        sys.exit(subprocess.run(command).returncode)
    os.execv(command[0], command)


if __name__ == "__main__":
    main()
