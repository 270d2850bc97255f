"""Nothing expires because the clock of the machine was set."""

from __future__ import annotations

import gc
import tempfile
import time
import unittest
import weakref
from pathlib import Path
from typing import Any

from server.app import App
from server.config import load
from server.lib.runtime.clock_jumps import JUMP_S, PAUSE_S, ClockJumps, steady_s

YEAR = 365 * 86_400.0
TEN_MINUTES = 600.0


class Clocks:
    """A machine's clock, and one that nobody sets."""

    wall, steady = 1.8e9, 50.0

    def go(self, seconds: float, jump: float = 0.0) -> None:
        self.steady += seconds
        self.wall += seconds + jump


class Jumps(unittest.TestCase):
    def setUp(self) -> None:
        self.clocks = Clocks()
        self.jumps = ClockJumps(lambda: self.clocks.wall, lambda: self.clocks.steady)

    def test_a_clock_that_runs(self) -> None:
        """Also through a sleep, which the other clock counts, and small corrections."""
        for seconds, jump in ((0, 0), (TEN_MINUTES, 0), (YEAR, 0), (1, JUMP_S), (1, -JUMP_S)):
            with self.subTest(seconds=seconds, jump=jump):
                self.clocks.go(seconds, jump)
                self.assertTrue(self.jumps.may_expire())

    def test_a_jump_is_followed_by_a_day_of_rest(self) -> None:
        for jump in (YEAR, -YEAR, 2 * JUMP_S, 75 * YEAR):
            with self.subTest(jump=jump):
                self.clocks.go(TEN_MINUTES, jump)
                with self.assertLogs("yaa.app", "WARNING") as said:
                    self.assertFalse(self.jumps.may_expire())
                self.assertIn(f"set by {round(jump):+d} s", said.output[0])
                self.clocks.go(PAUSE_S - 1)
                self.assertFalse(self.jumps.may_expire())
                self.clocks.go(2)
                self.assertTrue(self.jumps.may_expire())

    def test_one_that_is_set_right_rests_from_then_on(self) -> None:
        self.clocks.go(TEN_MINUTES, YEAR)
        with self.assertLogs("yaa.app", "WARNING"):
            self.jumps.may_expire()
        self.clocks.go(TEN_MINUTES, -YEAR)
        with self.assertLogs("yaa.app", "WARNING"):
            self.assertFalse(self.jumps.may_expire())
        self.clocks.go(PAUSE_S + 1)
        self.assertTrue(self.jumps.may_expire())

    def test_the_clock_of_this_machine(self) -> None:
        before = steady_s()
        self.assertGreaterEqual(steady_s(), before)
        self.assertTrue(ClockJumps().may_expire())


class Home(unittest.TestCase):
    def test_a_clock_that_is_set_back_and_forth(self) -> None:
        """What a home keeps stays, whoever cleans it, and goes when the clock is right again."""
        clocks = Clocks()
        clocks.wall = time.time()
        with tempfile.TemporaryDirectory() as folder:
            config = load(Path(folder), None, {}, {"server.discover": False})
            app = App(config, {}, clock=lambda: clocks.wall)
            app.jumps = ClockJumps(lambda: clocks.wall, lambda: clocks.steady)
            app.claims.take(("ann", "s1"), "c1", 1, "fingerprint")
            app.claims.store(("ann", "s1"), "c1", 1, {"content": "kept"})
            app.signals.send(("ann", "s1"))
            files = self.files(folder)
            for jump in (YEAR, -YEAR, 2 * YEAR, -3 * YEAR, YEAR):
                with self.subTest(jump=jump), self.assertLogs("yaa.app", "WARNING"):
                    clocks.go(TEN_MINUTES, jump)
                    app.clean()
                    self.assertEqual(self.files(folder), files)
            clocks.go(PAUSE_S + 1)
            app.clean()
            self.assertFalse(self.files(folder) & files)

    def test_what_nobody_refers_to_is_freed(self) -> None:
        """A request that was cut off leaves a cycle, which a quiet server would keep."""

        class Cut:
            """Refers to itself, as the frames of an exception do."""

        with tempfile.TemporaryDirectory() as folder:
            app = App(load(Path(folder), None, {}, {"server.discover": False}), {})
            cut: Any = Cut()
            cut.itself, left = cut, weakref.ref(cut)
            del cut
            gc.freeze()
            gc.unfreeze()  # it is among the oldest now
            app.clean()
            self.assertIsNone(left())

    def files(self, folder: str) -> set[str]:
        return {path.name for name in ("claims", "stops") for path in Path(folder, name).iterdir()}


if __name__ == "__main__":
    unittest.main()
