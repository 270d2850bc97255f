"""A limit is as long as the machine makes it, and is found to be over all the same."""

from __future__ import annotations

import ast
import threading
import time
import unittest
from collections.abc import Iterator

from . import budget
from .patience import LOOKS, USUAL_S, Allowance, Watch, _seen, seconds, slowness
from .tools import ROOT

LONG_S = 600.0
EARLY = """S = {"a": patience.seconds(1)}
class C:
    S = patience.seconds(1)
    def f(self, s=patience.seconds(1)):
        return patience.seconds(1)
"""


def at_import(tree: ast.AST) -> Iterator[int]:
    """The lines of calls of `patience.seconds` that an import makes."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "patience.seconds":
            yield node.lineno
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from at_import(node.args)
        elif not isinstance(node, ast.Lambda):
            yield from at_import(node)


class AllowanceTest(unittest.TestCase):
    def test_seconds_count_as_long_as_they_are_here(self) -> None:
        # the limit, (what happens, at which second, how slow), what is left
        for what, told, left_s in (
            ("idle", [("spend", 4, 1), ("spend", 10, 1)], 0),
            ("busy", [("spend", 4, 2), ("spend", 10, 3)], 6),
            ("a word", [("spend", 9, 1), ("restart", 12, 1), ("spend", 13, 1)], 9),
            ("a word in the middle of a look", [("restart", 5, 1), ("spend", 6, 1)], 9),
            ("over", [("spend", 30, 1)], -20),
        ):
            with self.subTest(what):
                allowance = Allowance(10, 0)
                for name, now_s, slow in told:
                    if name == "spend":
                        allowance.spend(now_s, slow)
                    else:
                        allowance.restart(now_s)
                self.assertEqual(allowance.left_s, left_s)


class PatienceTest(unittest.TestCase):
    def test_work_never_takes_less_than_usual(self) -> None:
        self.assertGreaterEqual(slowness(), 1)
        self.assertGreaterEqual(seconds(3), 3)

    def test_the_slowest_of_the_last_looks_counts(self) -> None:
        now = time.monotonic()
        self.addCleanup(_seen.clear)
        for slow in ([1.0, 90.0, 1.0, 1.0], [0.5] * 4):
            _seen[:] = [(now, each) for each in slow]
            self.assertEqual(slowness(), max(1, *slow))
        _seen.clear()
        slowness()
        self.assertEqual(len(_seen), LOOKS)

    def test_no_limit_is_reckoned_as_its_module_is_imported(self) -> None:
        """The machine may be slower by the time it is used."""
        early = [
            f"{path.relative_to(ROOT)}:{line}"
            for path in sorted((ROOT / "tests").rglob("*.py"))
            if "node_modules" not in path.parts and "patience" in (text := path.read_text())
            for line in at_import(ast.parse(text))
        ]
        self.assertEqual(early, [])
        self.assertEqual([*at_import(ast.parse(EARLY))], [1, 3, 4])

    def test_many_limits_cost_little(self) -> None:
        once_s = budget.dearness() * USUAL_S
        began = time.thread_time()
        for _ in range(50):
            seconds(3)
        self.assertLess(time.thread_time() - began, 10 * once_s)

    def test_what_is_late_is_found(self) -> None:
        late = threading.Event()
        with Watch(0.05, late.set, look_s=0.01):
            self.assertTrue(late.wait(LONG_S))

    def test_it_ends_with_what_it_watches(self) -> None:
        late = threading.Event()
        with Watch(LONG_S, late.set) as watch:
            self.assertTrue(watch.thread.is_alive())
        self.assertFalse(watch.thread.is_alive())
        self.assertFalse(late.is_set())


if __name__ == "__main__":
    unittest.main()
