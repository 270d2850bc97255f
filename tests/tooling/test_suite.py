"""The runner counts what unittest counts, and notices what it does not."""

from __future__ import annotations

import contextlib
import io
import unittest

from .suite import Result


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
                self.assertEqual(bool(failed), name in said.getvalue())


def load_tests(
    loader: unittest.TestLoader, _standard: unittest.TestSuite, _pattern: str | None
) -> unittest.TestSuite:
    return loader.loadTestsFromTestCase(SuiteTest)


if __name__ == "__main__":
    unittest.main()
