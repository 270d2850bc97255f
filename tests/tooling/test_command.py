"""A command ends, is ended, or is found to hang; what it cost is known."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path

from .command import MARK, Command, end_survivors
from .groups import Group

LONG_S = 600.0
CHILD = """
import subprocess, sys
subprocess.Popen([sys.executable, "-c", "import time; print('up', flush=True); time.sleep(999)"])
"""
STACKS = """
import faulthandler, threading
faulthandler.enable()
def the_place(): threading.Event().wait()
the_place()
"""
TOLD = "from tests.tooling import groups; print(groups.around_s())"
BUSY = "import time\nwhile time.process_time() < 0.3: pass"


def run(source: str, limit_s: float = LONG_S) -> tuple[list[str], Command]:
    child = Command([sys.executable, "-c", source], limit_s)
    return list(child.lines()), child


class CommandTest(unittest.TestCase):
    def test_ends(self) -> None:
        for source, said, problem in (
            ("print('a\\nb')", ["a", "b"], ""),
            ("", [], ""),
            ("import os; os.write(1, b'\\xff half')", ["\ufffd half"], ""),
            ("raise SystemExit(3)", [], "exit code 3"),
            ("import os; os.kill(os.getpid(), 15)", [], "died of SIGTERM"),
        ):
            with self.subTest(source):
                found, child = run(source)
                self.assertEqual((found, child.problem()), (said, problem))

    def test_where_and_with_what_it_runs(self) -> None:
        source = "import os; print(os.getcwd(), os.environ['TESTS_WORD'], 'PATH' in os.environ)"
        with tempfile.TemporaryDirectory() as folder:
            env = {"TESTS_WORD": "word"}
            child = Command([sys.executable, "-c", source], LONG_S, cwd=Path(folder), env=env)
            self.assertEqual(list(child.lines()), [f"{folder} word True"])

    def test_cost(self) -> None:
        below = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {BUSY!r}])"
        for source in (BUSY, below):
            with self.subTest(source):
                self.assertGreater(run(source)[1].cpu_s, 0.3)

    @unittest.skipUnless(Group.makes(), "may not make a control group")
    def test_cost_of_what_nobody_waited_for(self) -> None:
        below = (
            f"import os, subprocess, sys; p = subprocess.Popen([sys.executable, '-c', {BUSY!r}],"
        )
        below += " stdout=subprocess.PIPE, start_new_session=True); p.stdout.read(); os._exit(0)"
        _, child = run(below)
        self.assertEqual(child.problem(), "")
        self.assertGreater(child.cpu_s, 0.3)
        said, _ = run(below.replace("os._exit(0)", TOLD))
        self.assertGreater(float(said[-1]), 0.3, "as a suite says it of each module")

    def test_silence_is_a_hang_and_tells_where(self) -> None:
        said, child = run(STACKS, 1)
        self.assertEqual(child.problem(), "ended after 1 s of silence, its limit")
        self.assertIn("in the_place", "\n".join(said))

    def test_what_a_silent_one_has_started_ends_with_it(self) -> None:
        said, child = run(CHILD, 1)
        self.assertEqual(said, ["up"])
        self.assertIn("silence", child.problem())

    def test_interrupted(self) -> None:
        child = Command(
            [sys.executable, "-c", "import time; print(1, flush=True); time.sleep(999)"], 60
        )
        lines = child.lines()
        self.assertEqual(next(lines), "1")
        threading.Thread(target=child.interrupt).start()
        self.assertIn("KeyboardInterrupt", list(lines)[-1])
        self.assertEqual(child.problem(), "died of SIGINT")
        with self.assertRaises(ChildProcessError):
            os.wait4(child.pid, os.WNOHANG)

    @unittest.skipUnless(Path("/proc/self/environ").exists(), "needs /proc")
    def test_what_survives_in_a_group_of_its_own_is_ended(self) -> None:
        wait = [sys.executable, "-c", "print('up', flush=True); import time; time.sleep(999)"]
        started = []
        for run in (f"one-{os.getpid()}", f"{os.getpid()}-one"):
            env = {**os.environ, MARK: f"before {run} after"}
            child = subprocess.Popen(
                wait, env=env, stdout=subprocess.PIPE, text=True, start_new_session=True
            )
            self.addCleanup(child.wait)
            self.addCleanup(child.kill)
            assert child.stdout is not None
            self.addCleanup(child.stdout.close)
            self.assertEqual(child.stdout.readline(), "up\n")
            started.append((run, child))
        (run, ended), (_, other) = started
        self.assertEqual(end_survivors(run), 1)
        self.assertEqual(ended.wait(), -signal.SIGKILL)
        self.assertIsNone(other.poll())
        self.assertEqual(end_survivors(run), 0)


if __name__ == "__main__":
    unittest.main()
