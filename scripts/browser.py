#!/usr/bin/env python3
"""Finds or installs Chromium and its driver for the tests of the HTML report, and prints both paths.

    python3 scripts/browser.py             $DOCWARD_CHROMIUM and $DOCWARD_CHROMEDRIVER, or the programs on PATH
    python3 scripts/browser.py --install   the same; installs Debian's packages if they are missing

Exit code 3 if there is none and none can be installed; the last line gives the reason and the advice.
"""

import os
import shutil
import subprocess
import sys

MISSING = 3
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
PACKAGES = ["chromium", "chromium-driver"]


def find():
    """Returns the paths of browser and driver; either may be None."""
    browser = os.environ.get("DOCWARD_CHROMIUM") or next(filter(None, map(shutil.which, BROWSERS)), None)
    driver = os.environ.get("DOCWARD_CHROMEDRIVER") or shutil.which("chromedriver")
    return browser, driver


def install():
    """Tries to install Debian's packages; returns why that is not possible."""
    if not shutil.which("apt-get"):
        return "there is no apt-get"
    as_root = [] if os.geteuid() == 0 else ["sudo", "-n"]
    if as_root and subprocess.run(["sudo", "-n", "true"], capture_output=True).returncode != 0:
        return "installing needs root"
    quietly = {"stdout": sys.stderr, "env": {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}}
    command = [*as_root, "apt-get", "install", "-y", "--no-install-recommends", *PACKAGES]
    if subprocess.run(command, **quietly).returncode != 0:
        subprocess.run([*as_root, "apt-get", "update"], **quietly)
        if subprocess.run(command, **quietly).returncode != 0:
            return "apt-get could not install them"
    return None


def main():
    browser, driver = find()
    why = "they are not on PATH"
    if not (browser and driver) and "--install" in sys.argv:
        why = install()
        browser, driver = find()
    if not (browser and driver):
        print(f"no Chromium with chromedriver: {why}. Install Debian's {' and '.join(PACKAGES)}, or set "
              "DOCWARD_CHROMIUM and DOCWARD_CHROMEDRIVER", file=sys.stderr)
        return MISSING
    print(browser)
    print(driver)
    return 0


if __name__ == "__main__":
    sys.exit(main())
