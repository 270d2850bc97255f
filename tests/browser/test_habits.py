"""What people do out of habit, in a hurry or by accident, with the scripted model."""

from __future__ import annotations

import unittest
from contextlib import ExitStack

from tests.bench import peers
from tests.tooling import tools
from tests.tooling.child import Yaa

from .walks import NEEDED, walk


class Habits(unittest.TestCase):
    maxDiff = None

    def check(self, browser: str, script: str = "habits", **more: bool) -> None:
        with ExitStack() as stack:
            config = peers.config(peers.start(stack, "tests.bench.provider"))
            config["server"]["tools"] = {"datetime": {"ceiling": "ask"}}
            yaa = stack.enter_context(Yaa(config))
            job = {"url": f"{yaa.url}/#key={yaa.key}", "label": f"{browser}-{script}", **more}
            walked = walk(f"{script}.mjs", browser, job, {})
        self.assertEqual(walked.error, "", walked.complaints)
        self.assertEqual(walked.complaints, [], "the console is quiet")

    @tools.needs(*NEEDED, tools.browser("chromium"))
    def test_chromium(self) -> None:
        self.check("chromium")

    @tools.needs(*NEEDED, tools.browser("firefox"))
    def test_firefox(self) -> None:
        self.check("firefox")

    @tools.needs(*NEEDED, tools.browser("chromium"))
    def test_chromium_from_session_to_session(self) -> None:
        self.check("chromium", "lists")

    @tools.needs(*NEEDED, tools.browser("firefox"))
    def test_firefox_from_session_to_session(self) -> None:
        self.check("firefox", "lists")

    @tools.needs(*NEEDED, tools.browser("chromium"))
    def test_chromium_without_storage(self) -> None:
        self.check("chromium", "forbidden", forbidden=True)

    @tools.needs(*NEEDED, tools.browser("firefox"))
    def test_firefox_without_storage(self) -> None:
        self.check("firefox", "forbidden", forbidden=True)


if __name__ == "__main__":
    unittest.main()
