"""Every row is played: in one run of so many turns, and in a run of the whole."""

from __future__ import annotations

import os
import re
import unittest
from collections.abc import Iterator
from contextlib import contextmanager

from ..browser.costs import COSTS
from . import soak, suite, tools, turns


@contextmanager
def turn(number: int | None) -> Iterator[None]:
    """Set the turn, or none, and afterwards what was set before."""
    before = os.environ.pop(turns.TURN, None)
    if number is not None:
        os.environ[turns.TURN] = str(number)
    try:
        yield
    finally:
        os.environ.pop(turns.TURN, None)
        if before is not None:
            os.environ[turns.TURN] = before


def some() -> type[unittest.TestCase]:
    """A class of three tests."""

    class Some(unittest.TestCase):
        def test_a(self) -> None:
            pass

        def test_b(self) -> None:
            pass

        def test_c(self) -> None:
            pass

    return Some


class Shares(unittest.TestCase):
    def test_as_many_turns_as_parts_play_every_row_once(self) -> None:
        for count in (1, 2, 5, 23):
            for parts in (1, 3, 7):
                with self.subTest(count=count, parts=parts):
                    played: list[int] = []
                    for number in range(min(parts, count)):
                        with turn(number):
                            found = turns.share(range(count), parts)
                        self.assertTrue(found)
                        played += found
                    self.assertEqual(sorted(played), list(range(count)))

    def test_each_name_has_one_turn_of_as_many_as_parts(self) -> None:
        names = [f"tests.browser.test_{letter}" for letter in "abcdefgh"]
        played = []
        for number in (4, 5, 6):
            with turn(number):
                played.append({name for name in names if turns.plays(name, 3)})
        self.assertEqual(sorted(name for some in played for name in some), names)
        self.assertTrue(all(played))
        with turn(None):
            self.assertTrue(all(turns.plays(name, 3) for name in names))

    def test_turns_of_names_with_costs_cost_the_same(self) -> None:
        for costs in ({"a": 5, "b": 4, "c": 3, "d": 2}, COSTS):
            sums = []
            for number in (7, 8):
                with turn(number):
                    played = [name for name in costs if turns.plays(name, 2, costs)]
                sums.append(sum(costs[name] for name in played))
            self.assertEqual(sum(sums), sum(costs.values()))
            self.assertLessEqual(abs(sums[0] - sums[1]), 0.05 * sum(sums))
            with turn(None):
                self.assertTrue(all(turns.plays(name, 2, costs) for name in costs))

    def test_each_walk_with_a_cost_is_one_that_firefox_walks_in_turns(self) -> None:
        for name in COSTS:
            text = (tools.ROOT / f"{name.replace('.', '/')}.py").read_text()
            self.assertRegex(text, r"\((walks\.)?Both\):", name)

    def test_without_a_turn_all_is_played(self) -> None:
        with turn(None):
            self.assertEqual(turns.share("abcdef", 3), list("abcdef"))
        with turn(5):
            self.assertEqual(turns.share("", 3), [])

    def test_each_test_of_a_class_is_played_in_one_turn(self) -> None:
        played: list[str] = []
        for number in range(2):
            with turn(number):
                inherits: type[unittest.TestCase] = type("Inherits", (some(),), {})
                case = turns.tests(2)(inherits)
                loaded = unittest.defaultTestLoader.loadTestsFromTestCase(case)
                names = [test.id() for test in suite.each(loaded)]
                result = unittest.TestResult()
                loaded.run(result)
            skipped = {test.id() for test, _ in result.skipped}
            played += [name[-1] for name in names if name not in skipped]
            self.assertEqual({why for _, why in result.skipped}, {turns.ELSEWHEN})
        self.assertEqual(sorted(played), ["a", "b", "c"])

    def test_soak_plays_the_whole_of_each_module_that_has_shares(self) -> None:
        users = []
        for path in (tools.ROOT / "tests").rglob("test_*.py"):
            if "node_modules" not in path.parts and path.name != "test_turns.py":
                if re.search(r"\bturns\.(share|whole|tests)\(", path.read_text()):
                    parts = path.relative_to(tools.ROOT).with_suffix("").parts
                    users.append(".".join(parts))
        self.assertEqual(sorted(users), sorted(soak.SHARED))


if __name__ == "__main__":
    unittest.main()
