"""The first minute of a newcomer: install, start, paste a key, ask, approve, read the answer.

From an empty home folder, in a browser, without a file edited by hand: as a wheel in an empty
virtual environment, as one file, and as a checkout. It takes less than a minute of an idle machine,
with the build. The film of the wheel is left among the screenshots.
"""

from __future__ import annotations

import json
import tempfile
import threading
import unittest
from contextlib import ExitStack
from pathlib import Path

from ..tooling import builds, release, tools
from ..tooling.child import Child
from ..tooling.patience import Watch
from . import walks
from .folder_servers import OrderedModel
from .kill_and_continue import developed

SECONDS = 60
KEY = "sk-scripted-0123456789abcdef0123456789"


@tools.needs(*walks.NEEDED, tools.browser("chromium"))
class FirstMinute(unittest.TestCase):
    def check(self, way: str, *, films: bool = False) -> None:
        with ExitStack() as stack:
            late = threading.Event()
            stack.enter_context(Watch(SECONDS, late.set))
            start = stack.enter_context(builds.started(way))
            top = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="yaa-minute-")))
            top.chmod(0o755)
            env = {"HOME": str(top), "YAA_SERVER__DISCOVER": "false", **start.env}
            model = OrderedModel(stack)
            command = [*start.command, "--port", "0", "--print-link"]
            yaa = Child(command, cwd=start.cwd, env=env)
            stack.callback(yaa.stop)
            link = yaa.wait_for(r"https?://[^/\s]+/#code=\S+", SECONDS)[0]
            job = {"url": link, "provider": model.url, "key": KEY, "label": f"minute-{way}"}
            job |= {"command": "yaa", "frames": str(top)} if films else {}
            walked = walks.walk("first-minute.mjs", "chromium", job, {"order": model.order})
            self.assertEqual(walked.error, "", walked.complaints[:5])
            self.assertEqual(walked.complaints, [])
            self.assertFalse(late.is_set(), f"more than {SECONDS} s of an idle machine")
            if films:
                film = json.loads((top / "film.json").read_text())
                (walks.SHOTS / f"first-minute-{way}.webp").write_bytes(developed(film))
            self.assertEqual(yaa.stop(), 0)
            kept = top / ".yaa" / "config.json"
            self.assertIn(KEY, kept.read_text())
            self.assertEqual(kept.stat().st_mode & 0o777, 0o600)
            alone = {**env, **release.ALONE}
            said = builds.run([*start.command, "doctor"], start.cwd, alone)
            self.assertIn("Everything works", said)
            self.assertNotIn("missing ", said)
            self.assertNotIn(KEY, said)

    def test_checkout(self) -> None:
        self.check("checkout")

    def test_pyz(self) -> None:
        self.check("pyz")

    @tools.needs(tools.module("hatchling"), tools.module("pip"))
    def test_wheel(self) -> None:
        self.check("wheel", films=True)


if __name__ == "__main__":
    unittest.main()
