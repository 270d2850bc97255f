"""The account at the end: its last line, its exit code, and that nothing skipped is quiet."""

from __future__ import annotations

import contextlib
import io
import unittest

from .report import Outcome, Skip, account


def printed(outcomes: list[Outcome]) -> tuple[int, str]:
    with contextlib.redirect_stdout(io.StringIO()) as said:
        code = account(outcomes, 1.5)
    return code, said.getvalue()


class AccountTest(unittest.TestCase):
    def test_last_line_and_exit_code(self) -> None:
        for outcomes, line, code in (
            ([Outcome("unit", passed=2)], "2 passed, 0 failed, 0 skipped", 0),
            ([Outcome("unit", 2, ["t"]), Outcome("lint", 1)], "3 passed, 1 failed, 0 skipped", 1),
            ([Outcome("node", 1, [], [Skip("a", "b", 7)])], "1 passed, 0 failed, 7 skipped", 0),
            ([Outcome("node", 0, [], [Skip("a", "b", 7)])], "0 passed, 0 failed, 7 skipped", 1),
            ([], "0 passed, 0 failed, 0 skipped", 1),
        ):
            with self.subTest(line):
                found, text = printed(outcomes)
                self.assertEqual((text.splitlines()[-1], found), (line, code))

    def test_skips_are_told_once_for_each_reason(self) -> None:
        skips = [Skip("one", "no browser"), Skip("two", "no browser"), Skip("three", "no model")]
        _, text = printed([Outcome("browser", 1, [], skips)])
        self.assertIn("NOT RUN", text)
        self.assertEqual((text.count("no browser"), text.count("no model")), (1, 1))
        for name in ("browser: one", "browser: two", "browser: three"):
            self.assertIn(name, text)

    def test_processor_time_is_told_for_each_lane_and_for_all(self) -> None:
        whole = Outcome("unit", 1, cpu_s=2.5)
        whole.add(Outcome("unit", 1, cpu_s=1.0))
        _, text = printed([whole, Outcome("node", 1, seconds=9.0, cpu_s=0.25)])
        table = [line.split() for line in text.splitlines()]
        self.assertIn(["unit", "2", "0", "0", "0.0", "3.5"], table)
        self.assertIn(["node", "1", "0", "0", "9.0", "0.2"], table)
        self.assertIn(["all", "1.5", "3.8"], table)

    def test_the_ten_dearest_modules_of_all_lanes(self) -> None:
        unit, browser = Outcome("unit", 1), Outcome("browser", 1)
        for number in range(12):
            unit.spend(f"tests.test_{number}", float(number))
        for _ in range(2):  # children for two browsers
            browser.spend("tests.browser.test_a", 3.25)
        _, text = printed([unit, browser])
        table = [line.split() for line in text.partition("the dearest modules")[2].splitlines()]
        names = [row[0].rpartition("_")[2] for row in table if row and row[0].startswith("tests.")]
        self.assertEqual(names, ["11", "10", "9", "8", "7", "a", "6", "5", "4", "3"])
        self.assertIn(["tests.browser.test_a", "6.5"], table)

    def test_failures_are_named(self) -> None:
        _, text = printed([Outcome("unit", 1, ["tests.test_x.X.test_y\n    KeyError: 'z'"])])
        self.assertIn("  unit: tests.test_x.X.test_y\n      KeyError: 'z'\n", text)


if __name__ == "__main__":
    unittest.main()
