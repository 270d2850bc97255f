"""Ctrl-C and SIGTERM end all that the suite has started: nothing of any lane is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import unittest
import uuid
from functools import partial
from pathlib import Path

from ..browser import walks
from ..chaos import processes
from . import command, tools, turns

START_S = 120.0
GONE_S = 60.0
# A signal, and the browsers that run then beside the lanes without one.
ROWS: tuple[tuple[signal.Signals, tuple[str, ...]], ...] = (
    (signal.SIGINT, ()),
    (signal.SIGTERM, ("chromium",)),
    (signal.SIGTERM, ("firefox",)),
)


@unittest.skipUnless(Path("/proc/self/environ").exists(), "looks for survivors in /proc")
class Interrupted(unittest.TestCase):
    def check(self, number: signal.Signals, *lanes: str) -> None:
        folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="yaa-interrupted-")))
        mark = uuid.uuid4().hex
        # The run of a suite, in which it is another.
        marks = f"{os.environ.get(command.MARK, '')} {mark}"
        env = os.environ | {command.MARK: marks, "TESTS_READY": str(folder)}
        # A shell that starts it with `&` has Ctrl-C ignored.
        hears = signal.SIG_DFL if number == signal.SIGINT else signal.SIG_IGN
        with (folder / "said").open("wb") as said:
            program = subprocess.Popen(
                [sys.executable, "-m", "tests.tooling.samples.interrupted", *lanes],
                cwd=tools.ROOT,
                env=env,
                stdout=said,
                stderr=said,
                start_new_session=True,
                preexec_fn=partial(signal.signal, signal.SIGINT, hears),
            )
        self.addCleanup(command.end_survivors, str(program.pid))
        self.addCleanup(program.wait)
        self.addCleanup(program.kill)

        def ready() -> bool:
            there = all((folder / lane).exists() for lane in lanes)
            return there or program.poll() is not None

        text = (folder / "said").read_text
        self.assertTrue(processes.until(ready, START_S), text())
        self.assertIsNone(program.poll(), text())
        inherited = command.marked(command.MARK, mark)
        self.assertGreaterEqual(len(inherited), 2 * len(lanes))
        began = processes.born((processes.below(program.pid) | inherited) - {program.pid})
        self.assertGreaterEqual(len(processes.left(began)), 2 * len(lanes))
        program.send_signal(number)
        self.assertEqual(program.wait(), 128 + signal.SIGINT, text())
        self.assertIn("interrupted: ", text())
        processes.until(lambda: not processes.left(began), GONE_S)
        self.assertEqual(processes.left(began), [])
        self.assertEqual(command.marked(command.MARK, mark), set())

    def test_nothing_is_left(self) -> None:
        for number, browsers in turns.share(ROWS, len(ROWS)):
            with self.subTest(number, browsers=browsers):
                self.check(number, *self.lanes(*browsers))

    def lanes(self, *browsers: str) -> list[str]:
        """Those that can run here."""
        node = tools.program_node()
        needed: dict[str, tuple[tools.Tool, ...]] = {"unit": (), "node": (node,)}
        needed |= {each: (*walks.NEEDED, node, tools.browser(each)) for each in browsers}
        return [name for name, those in needed.items() if all(each.path for each in those)]


if __name__ == "__main__":
    unittest.main()
