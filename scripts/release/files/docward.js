#!/usr/bin/env node
// Runs the docward program of this platform, which npm installs as an optional dependency.
"use strict";

const { spawn } = require("node:child_process");
const { optionalDependencies, version } = require("../package.json");

// "Could not run", as for docward itself.
const COULD_NOT_RUN = 2;

const platform = `${process.platform}-${process.arch}`;
const name = `@docward/${platform}`;

function fail(...lines) {
  process.stderr.write(`error: ${lines.join("\n")}\n`);
  process.exit(COULD_NOT_RUN);
}

function program() {
  try {
    return require.resolve(`${name}/bin/docward${process.platform === "win32" ? ".exe" : ""}`);
  } catch {
    if (!(name in optionalDependencies)) {
      const known = Object.keys(optionalDependencies).map((key) => key.split("/")[1]);
      fail(
        `docward ${version} has no npm package for ${platform}, only for ${known.join(", ")}.`,
        "Build it from source instead: cargo install --path crates/docward",
      );
    }
    fail(
      `the package ${name} is not installed, and it holds the docward program for this platform.`,
      "npm leaves it out with --omit=optional, and when node_modules comes from another platform.",
      `Install it: npm install --include=optional ${name}@${version}`,
    );
  }
}

const path = program();
let child;

// Before the program starts: a signal that comes in between would end the launcher alone.
for (const signal of ["SIGTERM", "SIGHUP"]) {
  process.on(signal, () => child.kill(signal));
}
// A terminal sends Ctrl-C to both processes. docward ends at once when it receives it twice, so the launcher
// passes it on only when no terminal can have sent it.
process.on("SIGINT", () => {
  if (!process.stdin.isTTY && !process.stdout.isTTY && !process.stderr.isTTY) child.kill("SIGINT");
});

child = spawn(path, process.argv.slice(2), { stdio: "inherit", windowsHide: true });

child.on("error", (error) => {
  fail(`cannot run ${path}: ${error.message}`, `Install it again: npm install --force ${name}@${version}`);
});

child.on("exit", (code, signal) => {
  if (signal === null) process.exit(code);
  // Ends the same way, for callers that ask which signal it was.
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
