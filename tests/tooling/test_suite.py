"""The runner counts what unittest counts, and notices what it does not."""

from __future__ import annotations

import asyncio
import contextlib
import io
import re
import sys
import unittest
from pathlib import Path

from . import suite
from .suite import BEGINS, Result


class Sample(unittest.TestCase):
    """Tests for the runner to run. Not found by discovery: `load_tests` below leaves them out."""

    def passes(self) -> None:
        pass

    def fails(self) -> None:
        self.fail("no")

    def breaks(self) -> None:
        raise KeyError("gone")

    def skips(self) -> None:
        self.skipTest("no such tool")

    def fails_twice_in_parts(self) -> None:
        for number in range(3):
            with self.subTest(number=number):
                self.assertEqual(number, 1)

    def passes_though_a_part_skips(self) -> None:
        for number in range(2):
            with self.subTest(number=number):
                if number:
                    self.skipTest("half")

    @unittest.expectedFailure
    def fails_as_expected(self) -> None:
        self.fail("known")

    @unittest.expectedFailure
    def passes_unexpectedly(self) -> None:
        pass


class AsyncSample(unittest.IsolatedAsyncioTestCase):
    async def runs_without_debug_mode(self) -> None:
        self.assertFalse(asyncio.get_running_loop().get_debug())


class SuiteTest(unittest.TestCase):
    def test_counts(self) -> None:
        for name, passed, failed, skipped in (
            ("passes", 1, 0, 0),
            ("fails", 0, 1, 0),
            ("breaks", 0, 1, 0),
            ("skips", 0, 0, 1),
            ("fails_twice_in_parts", 0, 2, 0),
            ("passes_though_a_part_skips", 1, 0, 1),
            ("fails_as_expected", 1, 0, 0),
            ("passes_unexpectedly", 0, 1, 0),
        ):
            with self.subTest(name), contextlib.redirect_stdout(io.StringIO()) as said:
                result = Result()
                Sample(name).run(result)
                counts = (result.passed, len(result.names), len(result.skipped))
                self.assertEqual(counts, (passed, failed, skipped))
                told = said.getvalue().partition("\n")[2]
                self.assertEqual(bool(failed), name in told)

    def test_a_failure_is_named_with_the_first_lines_of_its_error(self) -> None:
        long = f"{'x' * 999}\n\nsecond\nthird\nfourth"
        for error, lines in (
            (KeyError("gone"), ["KeyError: 'gone'"]),
            (AssertionError(long), [f"AssertionError: {'x' * 184}", "second", "third"]),
            (AssertionError(), ["AssertionError"]),
        ):
            with self.subTest(lines), contextlib.redirect_stdout(io.StringIO()):
                result, test = Result(), Sample("fails")
                result.startTest(test)
                result.addError(test, (type(error), error, None))
                self.assertEqual(result.names, ["\n    ".join([test.id(), *lines])])

    def test_a_test_is_named_as_it_begins(self) -> None:
        with contextlib.redirect_stdout(io.StringIO()) as said:
            Sample("passes").run(Result())
        self.assertEqual(said.getvalue(), f"{BEGINS}{__name__}.Sample.passes\n")

    def test_event_loops_are_not_debugged(self) -> None:
        with contextlib.redirect_stdout(io.StringIO()):
            result = Result()
            AsyncSample("runs_without_debug_mode").run(result)
        self.assertEqual((result.passed, result.names), (1, []))

    def test_those_that_are_wanted(self) -> None:
        loader = unittest.TestLoader()
        broken = loader.loadTestsFromName("tests.tooling.no_such_module")
        kept = [test.id() for test in suite.each(broken)]
        samples = unittest.TestSuite([Sample("passes"), unittest.TestSuite([Sample("skips")])])
        everything = unittest.TestSuite([samples, broken])
        names = [f"{__name__}.Sample.{name}" for name in ("passes", "skips")]
        for pattern, found in (
            (None, names),
            (r"\.skips$", names[1:]),
            (r"\.(?!skips$)\w+$", names[:1]),
            ("nothing", []),
        ):
            with self.subTest(pattern):
                wanted = None if pattern is None else re.compile(pattern)
                chosen = suite.chosen(everything, wanted)
                self.assertEqual([test.id() for test in suite.each(chosen)], [*found, *kept])

    def test_a_module_is_told_in_a_line(self) -> None:
        with contextlib.redirect_stdout(io.StringIO()) as said:
            found = suite.run_module("tests.tooling.test_patience", re.compile("no such name"))
            self.assertEqual(said.getvalue(), "", "nothing of it is wanted here")
            name = "tests.tooling.test_patience.AllowanceTest"
            found = suite.run_module("tests.tooling.test_patience", re.compile(name))
        spent = found.pop("cpu_s")
        self.assertGreater(spent, 0)
        told = {"module": "tests.tooling.test_patience", "passed": 1, "failures": [], "skips": []}
        told |= {"starts": ""}
        self.assertEqual(found, told)
        last = said.getvalue().splitlines()[-1]
        self.assertRegex(last, rf"^ok   {told['module']}  1 tests  [\d.]+ s, CPU {spent:.2f} s$")

    def test_a_module_that_leaves_the_current_folder_has_failed(self) -> None:
        here, name = Path.cwd(), "tests.tooling.samples.strays"
        with contextlib.redirect_stdout(io.StringIO()):
            found = suite.run_module(name)
        self.assertEqual(found["failures"], [f"{name} left the current folder for /"])
        self.assertEqual(Path.cwd(), here)

    def test_a_module_that_keeps_many_objects_has_failed(self) -> None:
        name, most = "tests.tooling.samples.hoards", suite.MOST_KEPT
        with contextlib.redirect_stdout(io.StringIO()):
            (failure,) = suite.run_module(name)["failures"]
        sys.modules.pop(name).KEPT.clear()  # its package has it, too
        self.assertRegex(failure, rf"^{re.escape(name)} keeps \d+ objects, ")
        self.assertGreater(int(failure.split()[2]), most)


def load_tests(
    loader: unittest.TestLoader, _standard: unittest.TestSuite, _pattern: str | None
) -> unittest.TestSuite:
    return loader.loadTestsFromTestCase(SuiteTest)


if __name__ == "__main__":
    unittest.main()
