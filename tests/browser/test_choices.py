"""The mode of a session, what the server remarks on, and a request that is too large."""

from __future__ import annotations

import unittest
from contextlib import ExitStack

from tests.bench import peers
from tests.tooling import tools
from tests.tooling.child import Yaa

from .walks import NEEDED, walk

SMALL_ROOM = 4000  # tokens: enough for a short conversation with its tools, not for a long text


class Choices(unittest.TestCase):
    maxDiff = None

    def check(self, browser: str) -> None:
        with ExitStack() as stack:
            config = peers.config(peers.start(stack, "tests.bench.provider"))
            providers = config["server"]["providers"]
            providers["small"] = {**providers["main"], "max_context": SMALL_ROOM}
            yaa = stack.enter_context(Yaa(config))
            walked = walk(
                "choices.mjs", browser, {"url": yaa.link, "label": f"{browser}-choices"}, {}
            )
        self.assertEqual(walked.error, "", walked.complaints)
        self.assertEqual(walked.complaints, [], "the console is quiet")

    @tools.needs(*NEEDED, tools.package("axe-core"), tools.browser("chromium"))
    def test_chromium(self) -> None:
        self.check("chromium")

    @tools.needs(*NEEDED, tools.package("axe-core"), tools.browser("firefox"))
    def test_firefox(self) -> None:
        self.check("firefox")


if __name__ == "__main__":
    unittest.main()
