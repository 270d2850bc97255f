"""A busy server collects when its memory has doubled; in a process with a server alone."""

from __future__ import annotations

import subprocess
import sys
import unittest

from ..tooling import patience
from ..tooling.tools import ROOT

# After each large document all that refers to itself is among the oldest objects.
LOOK = """
import gc, sys, tempfile, threading, weakref
from pathlib import Path

from server.app import App
from server.config import load
from tests.test_accounts import Asked

with tempfile.TemporaryDirectory() as folder:
    app = App(load(Path(folder), None, {}, {"server.discover": False}), {})
    app.accounts.begin(Asked("ann"))
    app.clean()
    for count in (10, sys.getallocatedblocks()):
        left = [threading.Event()]
        left.extend([left] for _ in range(count))
        event = weakref.ref(left[0])
        del left
        gc.freeze()
        gc.unfreeze()
        app.clean()
        print("kept" if event() else "freed")
"""


class Doubled(unittest.TestCase):
    def test_what_nobody_refers_to_is_kept_until_then(self) -> None:
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", LOOK],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=patience.seconds(60),
            check=False,
        )
        self.assertEqual((done.stdout.split(), done.stderr), (["kept", "freed"], ""))


if __name__ == "__main__":
    unittest.main()
