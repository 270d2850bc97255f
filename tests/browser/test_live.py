"""What is drawn beside the conversation while a run goes on, in two browsers."""

from __future__ import annotations

import unittest
from contextlib import ExitStack

from tests.bench import peers
from tests.tooling import tools
from tests.tooling.child import Yaa

from .walks import NEEDED, walk


class Live(unittest.TestCase):
    maxDiff = None

    def check(self, browser: str) -> None:
        with ExitStack() as stack:
            config = peers.config(peers.start(stack, "tests.bench.provider"))
            config["session"] = {"config": {"limits": {"max_steps": 300}}}
            yaa = stack.enter_context(Yaa(config))
            walked = walk("live.mjs", browser, {"url": yaa.link, "label": f"{browser}-live"}, {})
        self.assertEqual(walked.error, "", walked.complaints)
        self.assertEqual(walked.complaints, [], "the console is quiet")

    @tools.needs(*NEEDED, tools.browser("chromium"))
    def test_chromium(self) -> None:
        self.check("chromium")

    @tools.needs(*NEEDED, tools.browser("firefox"))
    def test_firefox(self) -> None:
        self.check("firefox")


if __name__ == "__main__":
    unittest.main()
