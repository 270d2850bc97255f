"""The first start on a terminal with an empty home, from a checkout, a wheel and the one file.

The rest of a newcomer's first minute, a pasted key and an answer, is a browser's walk.
"""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from ..tooling import builds, patience, release, tools, turns
from ..tooling.api import Api

SECONDS = 60
NAMES = {"checkout": "python3 -m server", "wheel": "yaa", "pyz": "python3 yaa.pyz"}


@turns.tests(3)
class FirstStart(unittest.TestCase):
    def check(self, way: str) -> None:
        start = self.enterContext(builds.started(way))
        home = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="yaa-home-")))
        kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        env = {**kept, "HOME": str(home), "YAA_SERVER__DISCOVER": "false", **start.env}
        said = self.serve_once([*start.command, "--port", "0"], start.cwd, env)
        self.assertNotIn("Traceback", said)
        self.assertEqual((home / ".yaa").stat().st_mode & 0o777, 0o700)
        self.assertEqual((home / ".yaa" / "key").stat().st_mode & 0o777, 0o600)
        asked = subprocess.run(
            [*start.command, "--help"], cwd=start.cwd, env=env, capture_output=True, text=True
        )
        self.assertIn(f"usage: {NAMES[way]} [", asked.stdout)
        known = env | release.ALONE | release.PROVIDER
        healthy = builds.run([*start.command, "doctor"], start.cwd, known)
        self.assertIn("Everything works", healthy)
        self.assertNotIn("missing ", healthy)

    def serve_once(self, command: list[str], cwd: Path, env: dict[str, str]) -> str:
        """Start a server on a terminal, use its link, press Ctrl-C; return what it printed."""
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        process = subprocess.Popen(
            command,
            cwd=cwd,
            env=env,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        said = self.read(ours, "", r"\n  ready ")
        link = re.search(r"(http://127\.0\.0\.1:\d+)/(?:\?folder=\S+)?#code=(\S+)", said)
        assert link, said
        status, signed = Api(link[1]).request("POST", "/sign-in", {"code": link[2]})
        self.assertEqual(status, 200, "the printed link signs in")
        api = Api(link[1], signed["key"])
        status, page = api.request("GET", "/", accept="text/html")
        self.assertEqual(status, 200)
        self.assertIn(release.PAGE, page)
        status, info = api.request("GET", "/info")
        self.assertEqual((status, [model["name"] for model in info["models"]]), (200, ["demo"]))
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(patience.seconds(SECONDS)), 0, said)
        return said

    def read(self, terminal: int, said: str, pattern: str) -> str:
        """Read on until the pattern is there."""
        deadline = time.monotonic() + patience.seconds(SECONDS)
        while not re.search(pattern, said):
            self.assertLess(time.monotonic(), deadline, said)
            if select.select([terminal], [], [], 1)[0]:
                said += os.read(terminal, 4096).decode(errors="replace")
        return said

    def test_checkout(self) -> None:
        self.check("checkout")

    def test_pyz(self) -> None:
        self.check("pyz")

    @tools.needs(tools.module("hatchling"), tools.module("pip"))
    def test_wheel(self) -> None:
        self.check("wheel")


if __name__ == "__main__":
    unittest.main()
