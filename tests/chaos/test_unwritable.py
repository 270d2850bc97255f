"""What is answered on a disk that refuses is what is.

`python3 -m tests.chaos.unwritable` fails every call in turn; this takes some of them.
"""

from __future__ import annotations

import subprocess
import sys
import unittest

from ..tooling import turns
from ..tooling.tools import ROOT
from .unwritable import STORIES


class Unwritable(unittest.TestCase):
    def test_every_route_that_changes_something(self) -> None:
        stories = turns.share([story.name for story in STORIES], 3)
        command = [sys.executable, "-m", "tests.chaos.unwritable", *stories]
        done = subprocess.run(
            [*command, "--stride", "5", "--brief"],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("\n0 wrong", done.stdout)


if __name__ == "__main__":
    unittest.main()
