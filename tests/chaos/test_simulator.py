"""A part of the simulator's worlds: see simulator/.

It has cuts, kills, full disks and late requests. Taking one mechanism out of the server makes it
fail; `python3 -m tests.chaos.simulator` plays the other worlds.
"""

from __future__ import annotations

import gc
import logging
import random
import shutil
import sys
import tempfile
import unittest
from collections import Counter
from pathlib import Path
from typing import Any

from ..tooling import turns
from .simulator.caller import PROGRAMS
from .simulator.merged import Merged
from .simulator.spec import Disturbance, Spec
from .simulator.whole import play_all
from .simulator.world import silence
from .simulator.worlds import (
    SHARED_MEMORY,
    Outcome,
    play,
    random_worlds,
    share_of,
    small_worlds,
    worlds_of,
)

SEED = "1"
PAIRS = (("bump", "ask"), ("ask", "side"), ("look", "bump"))
LATE_PAIRS = (("ask", "look"), ("look", "ask"))  # nothing else leaves a record
UNBEGUN_PAIRS = (("bump", "look"),)  # cut while a call waits until its client knows of it
CUT_FIRST = {("again", "same"), ("clock", "other")}
# A program asks again while a call of its first try still runs, and nothing else is kept of it.
REPEATED = [
    Spec(("look", "bump"), "apart", wire, False, 1, (Disturbance(0, 1, "fin", "again", place),))
    for wire in PROGRAMS
    for place in ("same", "other")
]
GROUPS = (("sse", ("bump", "ask"), "together"),)
TURNS = 1000  # a mode of a group each
MOST = 60  # worlds of it in the suite
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
        small = share_of(small_worlds(self.root, pairs=PAIRS), "1/480", SEED)
        late = share_of(small_worlds(self.root, ("late",), PAIRS), "1/60", SEED)
        denied = (
            spec
            for spec in small_worlds(self.root, ("late",), LATE_PAIRS)
            if spec.disturbances[0].action in ("deny", "cancel")
        )
        unbegun = (
            spec
            for spec in small_worlds(self.root, ("rst",), UNBEGUN_PAIRS)
            if spec.wire == "sse" and spec.disturbances[0][3:] in CUT_FIRST
            if spec.disturbances[0].action == "again" or spec.disturbances[0].at % 6 == 1
        )
        every = (*small, *late, *share_of(denied, "1/3", SEED), *unbegun, *REPEATED)
        chosen = turns.share((*every, *random_worlds(SEED, 30)), 3)
        played: Counter[str] = Counter()
        failures: list[str] = []
        for spec in chosen:
            outcome = play(spec, self.root)
            if outcome is None:
                continue
            played.update({each.mode for each in spec.disturbances})
            if outcome.wrong:
                failures.append("\n".join([repr(spec), *outcome.story[-STORY:]]))
        self.assertEqual(len(failures), 0, "\n\n".join(failures[:3]))
        for mode in ("deaf", "rst", "fin", "void", "late", "kill", "full"):
            self.assertGreater(played[mode], 5 if turns.whole() else 0, mode)

    def test_worlds_that_count_as_alike_end_alike(self) -> None:
        chance, pairs = random.Random(SEED), []
        for group in GROUPS:
            merged = Merged(self.root)
            specs = worlds_of(group, self.root, ("rst", "kill"))
            alike = [each for each in merged.with_first(specs) if each[0] is not each[1]]
            self.assertGreater(len(alike), merged.counts["possible"] / 4)
            pairs += chance.sample(alike, 8)
        swapped = Spec(("side", "bump"), "apart", "sse", False, 1, pairs[-1][0].disturbances)
        pairs.append((swapped, swapped._replace(kinds=("bump", "bump"))))
        for pair in pairs:
            one, other = (play(each, self.root) for each in pair)
            assert one is not None and other is not None
            self.assertEqual(end_of(one), end_of(other), pair)

    def test_a_server_that_is_killed_does_nothing_any_more(self) -> None:
        """Not even look for stop requests, which it does in a context of its own."""
        due = Disturbance(0, 11, "kill", "day", "other")
        outcome = play(Spec(("side", "side"), "together", "json", False, 1, (due,)), self.root)
        assert outcome is not None
        self.assertEqual(outcome.wrong, [])
        self.assertLess(outcome.client.world.loop._timers, 100)

    def test_another_share_of_all_small_worlds_with_each_commit(self) -> None:
        share, most = f"{turns.number() % TURNS + 1}/{TURNS}", None if turns.whole() else MOST
        file = self.root / "played"
        self.assertEqual(play_all(self.root, file, share, 3, most), 0, share)
        self.assertTrue(file.read_text())


def end_of(outcome: Outcome) -> Any:
    """Return how a world ended, without ids and times."""
    client, final = outcome.client, outcome.client.final
    texts = [
        [each["role"], each.get("open"), str(each["content"]).replace("side", "bump")]
        for each in final["messages"]
    ]
    asked = [reason for _, _, reason, _ in client.questions]
    ran = sorted(each.wanted for each in client.world.ran)
    return outcome.wrong, final.get("status"), texts, asked, ran, client.found


if __name__ == "__main__":
    unittest.main()
