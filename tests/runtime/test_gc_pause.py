"""Pauses of the garbage collector: when it is on again, and what it then looks at."""

from __future__ import annotations

import gc
import unittest

from server.lib.runtime.offload import LARGE, collector_paused


class Pauses(unittest.TestCase):
    def test_only_for_what_is_large_and_until_the_last_ends(self) -> None:
        for size, on in ((LARGE - 1, True), (LARGE, False)):
            with self.subTest(size=size), collector_paused(size):
                self.assertEqual(gc.isenabled(), on)
                with collector_paused(size):
                    pass
                self.assertEqual(gc.isenabled(), on)
            self.assertTrue(gc.isenabled())
        with self.assertRaises(KeyError), collector_paused(LARGE):
            raise KeyError
        self.assertTrue(gc.isenabled())

    def test_a_collector_that_was_off_stays_off(self) -> None:
        gc.disable()
        self.addCleanup(gc.enable)
        with collector_paused(LARGE):
            pass
        self.assertFalse(gc.isenabled())

    def test_what_was_made_is_not_looked_at_again(self) -> None:
        gc.collect()
        with collector_paused(LARGE):
            made: list[list[int]] = [[] for _ in range(100_000)]
        self.assertLess(len(gc.get_objects(generation=0)), len(made) // 2)
        self.assertGreater(len(gc.get_objects(generation=2)), len(made))


if __name__ == "__main__":
    unittest.main()
