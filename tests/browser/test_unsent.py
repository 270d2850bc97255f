"""What is not sent yet is not lost, with the scripted model."""

from __future__ import annotations

import unittest
from contextlib import ExitStack

from tests.bench import peers
from tests.tooling import tools
from tests.tooling.child import Yaa

from .walks import NEEDED, walk

MISSING = "a language that does not come"


class Unsent(unittest.TestCase):
    def check(self, browser: str) -> None:
        with ExitStack() as stack:
            model = peers.start(stack, "tests.bench.provider")
            yaa = stack.enter_context(Yaa(peers.config(model)))
            job = {"url": f"{yaa.url}/#key={yaa.key}", "label": f"{browser}-unsent"}
            walked = walk("unsent.mjs", browser, job, {})
        self.assertEqual(walked.error, "", walked.complaints)
        others = [one for one in walked.complaints if one["step"] != MISSING]
        self.assertEqual(others, [], "the console is quiet")

    @tools.needs(*NEEDED, tools.browser("chromium"))
    def test_chromium(self) -> None:
        self.check("chromium")

    @tools.needs(*NEEDED, tools.browser("firefox"))
    def test_firefox(self) -> None:
        self.check("firefox")


if __name__ == "__main__":
    unittest.main()
