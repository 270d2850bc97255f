"""The soak, the crowd and the storm in small, in turns: that they run, and find nothing.

Each is a process of its own: the storm adopts what others leave behind. `soak` plays all at length.
"""

from __future__ import annotations

import logging
import subprocess
import sys
import unittest
from pathlib import Path

from server.telemetry.log import FORMATS

from ..tooling import turns
from ..tooling.tools import ROOT
from .crowd import tracebacks

PARTS = (  # each takes about as much processor time
    ("tests.chaos.soak --tiny --seed 1", "tests.chaos --runs 20 --seed 2"),
    ("tests.chaos.crowd --minutes 0.2 --tiny --seed {seed}",),
    ("tests.chaos.crowd --minutes 0.2 --tiny --seed {seed} --tls",),
)


class Log(unittest.TestCase):
    def test_a_record_with_tracebacks_is_counted_once(self) -> None:
        """Also if one exception led to another; a warning without one is not."""
        lines = []

        class Kept(logging.Handler):
            def emit(self, record: logging.LogRecord) -> None:
                lines.append(self.format(record))

        handler, log = Kept(), logging.Logger("yaa.x")
        handler.setFormatter(FORMATS["text"]())
        log.addHandler(handler)
        for _ in range(2):
            try:
                try:
                    raise KeyError("first")
                except KeyError:
                    raise ValueError("second")  # noqa: B904 - both are logged
            except ValueError:
                log.exception("r-1 GET / failed")
        log.warning("r-2 GET /Traceback was cut off: workspace_conflict: It was changed.")
        self.assertEqual(tracebacks("\n".join(lines)), lines[:2])
        self.assertEqual(lines[0].count("Traceback (most recent call last)"), 2)


@unittest.skipUnless(Path("/proc/self/fd").exists(), "needs /proc to see what is held and left")
class Small(unittest.TestCase):
    def check(self, *command: str) -> str:
        found = subprocess.run(
            [sys.executable, "-m", *command],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        self.assertEqual(found.returncode, 0, found.stdout)
        return found.stdout

    def test_a_part_of_them(self) -> None:
        seed = turns.number() // len(PARTS)  # other attackers when it is its turn again
        for part in turns.share(PARTS, len(PARTS)):
            for command in part:
                with self.subTest(command=command, seed=seed):
                    said = self.check(*command.format(seed=seed).split())
                    self.assertRegex(said, r"(?m)^0 wrong\b")


if __name__ == "__main__":
    unittest.main()
