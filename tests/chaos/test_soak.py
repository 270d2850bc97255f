"""The soak, the crowd and the storm in small, in turns: that they run, and find nothing.

Each is a process of its own: the storm adopts what others leave behind. `soak` plays all at length.
"""

from __future__ import annotations

import logging
import os
import shutil
import signal
import subprocess
import sys
import unittest
from pathlib import Path

from server.telemetry.log import FORMATS

from ..tooling import turns
from ..tooling.tools import ROOT
from . import processes
from .crowd import tracebacks

PARTS = (
    "tests.chaos.soak --tiny --seed 1",
    "tests.chaos.crowd --minutes 0.2 --tiny --seed {seed}",
    "tests.chaos --runs 20 --seed 2",
    "tests.chaos.crowd --minutes 0.2 --tiny --seed {seed} --tls",
)


@unittest.skipUnless(os.geteuid() == 0 and shutil.which("unshare"), "needs root, and unshare")
class Ends(unittest.TestCase):
    def test_what_a_worker_s_maker_has_made_goes_on(self) -> None:
        """It may be killed while the machine is so busy that it has not ended by itself."""
        command = ["unshare", "--pid", "--fork", "sh", "-c", "sleep 999 & echo up; wait"]
        maker = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.addCleanup(maker.communicate)
        assert maker.stdout is not None
        self.assertEqual(maker.stdout.readline(), "up\n")
        worker, tool = sorted(processes.below(maker.pid))
        self.addCleanup(processes.kill, worker, signal.SIGKILL)
        self.assertEqual(processes.ends_with(maker.pid), {maker.pid})
        self.assertEqual(processes.ends_with(worker), {worker, tool})


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
        for command in turns.share(PARTS, len(PARTS)):
            with self.subTest(command=command, seed=seed):
                said = self.check(*command.format(seed=seed).split())
                self.assertRegex(said, r"(?m)^0 wrong\b")


if __name__ == "__main__":
    unittest.main()
