"""The soak and the storm in small: that they run, and find nothing. Long ones are ordered by hand.

Each is a process of its own: the storm adopts what others leave behind.
"""

from __future__ import annotations

import subprocess
import sys
import unittest
from pathlib import Path

from ..tooling.tools import ROOT

SECONDS = 280


@unittest.skipUnless(Path("/proc/self/fd").exists(), "needs /proc to see what is held and left")
class Small(unittest.TestCase):
    def check(self, *command: str) -> str:
        found = subprocess.run(
            [sys.executable, "-m", *command],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        self.assertEqual(found.returncode, 0, found.stdout)
        return found.stdout

    def test_soak(self) -> None:
        self.assertIn("0 wrong", self.check("tests.chaos.soak", "--tiny", "--seed", "1"))

    def test_crowd(self) -> None:
        said = self.check("tests.chaos.crowd", "--minutes", "0.3", "--seed", "3")
        self.assertIn("\n0 wrong", said)

    def test_storm(self) -> None:
        said = self.check("tests.chaos", "--runs", "20", "--seed", "2")
        self.assertIn("\n0 wrong", said)


if __name__ == "__main__":
    unittest.main()
