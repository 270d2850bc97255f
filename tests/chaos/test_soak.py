"""The soak, the crowd and the storm in small, in turns: that they run, and find nothing.

Each is a process of its own: the storm adopts what others leave behind. `soak` plays all at length.
"""

from __future__ import annotations

import subprocess
import sys
import unittest
from pathlib import Path

from ..tooling import turns
from ..tooling.tools import ROOT

COMMANDS = (
    "tests.chaos.soak --tiny --seed 1",
    "tests.chaos.crowd --minutes 0.3 --seed 3",
    "tests.chaos --runs 20 --seed 2",
)


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

    def test_one_of_them(self) -> None:
        for command in turns.share(COMMANDS, 3):
            with self.subTest(command=command):
                self.assertRegex(self.check(*command.split()), r"(?m)^0 wrong\b")


if __name__ == "__main__":
    unittest.main()
