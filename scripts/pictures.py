#!/usr/bin/env python3
"""Takes the pictures of README.md and the start page of the site from real runs, with headless Chromium.

    python3 scripts/pictures.py [DOCWARD]     writes docs/screens/; DOCWARD is target/release/docward by default

Run it after a change of the first screen or of the HTML page. The pictures show a duration, so take them with a
release build.
"""

import html
import os
import pty
import re
import subprocess
import sys
import tempfile

import browser

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SCREENS = os.path.join(ROOT, "docs", "screens")
SOURCE = "examples/shop"
COLUMNS = 100
# Wide enough for the terminal at the size of the text below.
TERMINAL_WIDTH = 920
TERMINAL_LINE = 19
REPORT_SIZE = (1100, 900)
# README.md shows pictures at about this width; larger files only make the page slow.
MAX_BYTES = 200_000

# The classes of SGR codes that Docward prints.
STYLES = {"1": "bold", "2": "dim", "31": "red", "32": "green", "33": "yellow", "34": "blue", "36": "cyan"}
PAGE = """<!DOCTYPE html><meta charset="utf-8"><style>
body { margin: 0; background: #1b1e26; color: #d6d9e0; }
pre { margin: 0; padding: 18px 22px; font: 14px/19px "DejaVu Sans Mono", monospace; }
.bold { font-weight: bold; color: #fff; } .dim { color: #8a909e; } .red { color: #ff7b72; }
.green { color: #7ee787; } .yellow { color: #e3b341; } .blue { color: #79c0ff; } .cyan { color: #76e3ea; }
.prompt { color: #7ee787; }
</style><pre>"""


def as_html(text):
    """Converts the colours of a terminal to spans."""
    out = []
    open_spans = 0
    for part in re.split(r"(\x1b\[[0-9;]*m)", text):
        codes = re.fullmatch(r"\x1b\[([0-9;]*)m", part)
        if not codes:
            out.append(html.escape(part))
            continue
        for code in codes[1].split(";"):
            if code in ("", "0"):
                out.append("</span>" * open_spans)
                open_spans = 0
            elif code in STYLES:
                out.append(f'<span class="{STYLES[code]}">')
                open_spans += 1
            else:
                sys.exit(f"the terminal prints the unknown style {code}: add it to STYLES")
    return "".join(out)


def run(docward, work, *arguments):
    """Returns what a terminal would show. `work` has the examples, so that commands are those of the pages."""
    environment = {**os.environ, "COLUMNS": str(COLUMNS), "TERM": "xterm"}
    environment.pop("NO_COLOR", None)
    terminal, program = pty.openpty()
    with subprocess.Popen(
        [docward, *arguments], cwd=work, env=environment, stdin=subprocess.DEVNULL, stdout=program,
        stderr=subprocess.PIPE,
    ) as running:
        os.close(program)
        output = b""
        try:
            while chunk := os.read(terminal, 65536):
                output += chunk
        except OSError:
            # Linux reports the end of a terminal as an error.
            pass
        messages = running.stderr.read().decode()
    os.close(terminal)
    if running.returncode not in (0, 1):
        sys.exit(messages)
    return output.decode().replace("\r\n", "\n")


def shoot(chromium, page, size, picture):
    width, height = size
    with tempfile.TemporaryDirectory() as profile:
        subprocess.run(
            [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--lang=en",
             f"--user-data-dir={profile}", f"--window-size={width},{height}", "--virtual-time-budget=3000",
             f"--screenshot={picture}", f"file://{page}"],
            check=True, capture_output=True,
        )
    size = os.path.getsize(picture)
    if size > MAX_BYTES:
        sys.exit(f"{picture} has {size} bytes, more than {MAX_BYTES}")
    print(f"{os.path.relpath(picture, ROOT)}: {size} bytes")


def main():
    docward = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "target/release/docward")
    chromium, _ = browser.find()
    if not chromium:
        sys.exit("there is no Chromium: python3 scripts/browser.py --install")
    os.makedirs(SCREENS, exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        os.symlink(os.path.join(ROOT, "examples"), os.path.join(work, "examples"))
        screen = run(docward, work, "audit", SOURCE)
        command = f'<span class="prompt">$</span> docward audit {SOURCE}\n'
        page = os.path.join(work, "terminal.html")
        with open(page, "w") as file:
            file.write(PAGE + command + as_html(screen))
        lines = screen.count("\n") + 1
        shoot(chromium, page, (TERMINAL_WIDTH, lines * TERMINAL_LINE + 36), os.path.join(SCREENS, "first-screen.png"))
        run(docward, work, "audit", SOURCE, "--format", "html=report.html")
        shoot(chromium, os.path.join(work, "report.html"), REPORT_SIZE, os.path.join(SCREENS, "report.png"))


if __name__ == "__main__":
    main()
