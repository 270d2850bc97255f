"""A part of the simulator's worlds: see simulator/.

It has cuts, kills, full disks and late requests. Taking one mechanism out of the server makes it
fail; `python3 -m tests.chaos.simulator` plays the other worlds.
"""

from __future__ import annotations

import gc
import logging
import shutil
import sys
import tempfile
import unittest
from collections import Counter
from pathlib import Path

from .simulator.world import silence
from .simulator.worlds import SHARED_MEMORY, play, random_worlds, share_of, small_worlds

SEED = "1"
PAIRS = (("bump", "ask"), ("ask", "side"), ("look", "bump"))
LATE_PAIRS = (("ask", "look"), ("look", "ask"))  # nothing else leaves a record
UNBEGUN_PAIRS = (("bump", "look"),)  # cut while a call waits until its client knows of it
STORY = 10  # lines of a failure


def collect() -> None:
    """Collect the coroutines of killed servers as long as what they say is not printed."""
    while gc.collect():
        pass


class Part(unittest.TestCase):
    def setUp(self) -> None:
        hook = sys.unraisablehook
        self.addCleanup(setattr, sys, "unraisablehook", hook)
        self.addCleanup(logging.disable, logging.NOTSET)
        self.addCleanup(gc.enable)
        silence()
        gc.disable()
        self.root = Path(tempfile.mkdtemp(prefix="simulator", dir=SHARED_MEMORY))
        self.addCleanup(shutil.rmtree, self.root, ignore_errors=True)
        self.addCleanup(collect)

    def test_nothing_runs_twice_and_no_document_lies(self) -> None:
        small = share_of(small_worlds(self.root, pairs=PAIRS), "1/400", SEED)
        late = share_of(small_worlds(self.root, ("late",), PAIRS), "1/60", SEED)
        denied = (
            spec
            for spec in small_worlds(self.root, ("late",), LATE_PAIRS)
            if spec.disturbances[0].action in ("deny", "cancel")
        )
        unbegun = (
            spec
            for spec in small_worlds(self.root, ("rst",), UNBEGUN_PAIRS)
            if spec.wire == "sse" and spec.disturbances[0][3:] == ("again", "same")
        )
        chosen = (*small, *late, *share_of(denied, "1/3", SEED), *unbegun)
        played: Counter[str] = Counter()
        failures: list[str] = []
        for spec in (*chosen, *random_worlds(SEED, 30)):
            outcome = play(spec, self.root)
            if outcome is None:
                continue
            played.update({each.mode for each in spec.disturbances})
            if outcome.wrong:
                failures.append("\n".join([repr(spec), *outcome.story[-STORY:]]))
        self.assertEqual(len(failures), 0, "\n\n".join(failures[:3]))
        for mode in ("deaf", "rst", "fin", "void", "late", "kill", "full"):
            self.assertGreater(played[mode], 5, mode)


if __name__ == "__main__":
    unittest.main()
