#!/usr/bin/env python3
"""Tests of scripts/test.py: how it parses the output of `cargo test`, and that one failure does not hide
another."""

import contextlib
import io
import sys
import unittest
from unittest import mock

import test

OUTPUT = """\
   Compiling docward-code v0.1.0 (/src/crates/docward-code)
    Finished `test` profile [optimized + debuginfo] target(s) in 0.52s
     Running unittests src/lib.rs (target/debug/deps/docward_code-0f3a9b1c2d4e5f60)

running 2 tests
test scan::tests::one ... ok
test scan::tests::other ... FAILED

failures:
    scan::tests::other

test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s

error: test failed, to rerun pass `-p docward-code --lib`
     Running tests/models.rs (target/debug/deps/models-5f60718293a4b5c6)

running 3 tests
test go::a ... ok
test go::b - should panic ... ok
test hostile::slow ... ignored, prints times

test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s

     Running tests/crashes.rs (target/debug/deps/crashes-00112233445566aa)

running 1 test
error: test failed, to rerun pass `-p docward-code --test crashes`
   Doc-tests docward_code

running 1 test
test crates/docward-code/src/lib.rs - (line 4) ... FAILED

test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
"""


class ReadsTheOutputOfCargo(unittest.TestCase):
    def test_failures_are_named_with_their_package(self):
        results = test.Results()
        for line in OUTPUT.splitlines(keepends=True):
            results.read(line)
        results.end()
        self.assertEqual(
            results.failures,
            [
                "docward-code src/lib.rs: scan::tests::other",
                "docward-code tests/crashes.rs: ended without a result",
                "docward-code documentation: crates/docward-code/src/lib.rs - (line 4)",
            ],
        )
        self.assertEqual(results.total(), "3 passed, 3 failed, 1 skipped")


class InstallsRunInTheBackground(unittest.TestCase):
    def test_each_step_returns_its_code_and_output_in_its_turn(self):
        say = lambda text, code: [sys.executable, "-c", f"import sys; print({text!r}); sys.exit({code})"]
        installs = test.Installs([("one", say("php missing: no", 0)), ("two", say("no shell", 3)), ("three", ["/no/such"])])
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            self.assertEqual(installs.wait("two"), (3, "no shell\n"))
            code, output = installs.wait("one")
            self.assertEqual(installs.wait("three")[0], 1)
        self.assertEqual((code, test.missing_clients(output)), (0, ["programs with php were not run"]))
        self.assertTrue(printed.getvalue().startswith("no shell\nphp missing: no\n/no/such"))


class FastTier(unittest.TestCase):
    def test_no_program_that_starts_servers_is_in_it(self):
        steps = dict(test.fast_steps())
        self.assertEqual(list(steps), ["fmt", "tests"])
        programs = set(steps["tests"])
        self.assertFalse(programs & test.WITH_SERVERS)
        self.assertIn("snapshots", programs)

    def test_the_time_of_each_program_is_known(self):
        results = test.Results()
        for line in OUTPUT.splitlines(keepends=True):
            results.read(line)
        self.assertEqual(results.seconds["docward-code src/lib.rs"], 0.01)


class RunsAllSteps(unittest.TestCase):
    def run_steps(self, steps):
        """Returns the exit code and the last lines of a run with these steps, each a line of Python."""
        steps = [(name, [sys.executable, "-c", line]) for name, line in steps]
        out = io.StringIO()
        with (
            mock.patch.object(test, "STEPS", steps),
            mock.patch.object(test, "install"),
            mock.patch.object(test, "space"),
            mock.patch.object(sys, "argv", ["test.py"]),
            mock.patch.dict("os.environ"),
            contextlib.redirect_stdout(out),
        ):
            code = test.main()
        return code, out.getvalue().splitlines()

    def test_a_failure_does_not_hide_another(self):
        said = f"print({OUTPUT!r}); raise SystemExit(101)"
        code, lines = self.run_steps([("fmt", "exit(3)"), ("tests", said), ("tidy", "exit(0)")])
        self.assertEqual(code, 1)
        self.assertTrue(any(line.startswith("== tidy: ") for line in lines), lines)
        self.assertEqual(
            lines[-6:],
            [
                "== failed test: docward-code src/lib.rs: scan::tests::other",
                "== failed test: docward-code tests/crashes.rs: ended without a result",
                "== failed test: docward-code documentation: crates/docward-code/src/lib.rs - (line 4)",
                "== failed step: fmt",
                "== failed step: tests",
                "3 passed, 3 failed, 1 skipped",
            ],
        )
        # The output of the tests is shown unchanged.
        self.assertIn("test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s", lines)

    def test_a_clean_run_ends_with_the_total(self):
        said = "print('     Running unittests src/lib.rs (target/debug/deps/a_b-0123456789abcdef)'); \
print('test result: ok. 7 passed; 0 failed; 2 ignored; 0 measured')"
        code, lines = self.run_steps([("tests", said)])
        self.assertEqual((code, lines[-2:]), (0, ["== all passed", "7 passed, 0 failed, 2 skipped"]))

    def test_tests_that_do_not_build_are_a_failed_step(self):
        code, lines = self.run_steps([("tests", "print('error: could not compile'); exit(101)")])
        self.assertEqual((code, lines[-1]), (1, "== failed step: tests"))


if __name__ == "__main__":
    unittest.main()
