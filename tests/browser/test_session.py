"""What a person does to a session in the page: branches, edits, approvals, in two browsers.

The model is the built-in demo, so what its tools return is what the answers say.
"""

from __future__ import annotations

import unittest

from tests.tooling import tools
from tests.tooling.child import Yaa

from .walks import NEEDED, walk


class Session(unittest.TestCase):
    maxDiff = None

    def check(self, script: str, browser: str) -> None:
        with Yaa({"server": {"discover": False}}) as yaa:
            label = f"{browser}-{script.removesuffix('.mjs')}"
            walked = walk(script, browser, {"url": yaa.link, "label": label}, {})
        self.assertEqual(walked.error, "", walked.complaints)
        loud = [one for one in walked.complaints if not expected(one)]
        self.assertEqual(loud, [], "the console is quiet")

    @tools.needs(*NEEDED, tools.browser("chromium"))
    def test_branches_in_chromium(self) -> None:
        self.check("branches.mjs", "chromium")

    @tools.needs(*NEEDED, tools.browser("firefox"))
    def test_branches_in_firefox(self) -> None:
        self.check("branches.mjs", "firefox")

    @tools.needs(*NEEDED, tools.browser("chromium"))
    def test_approvals_in_chromium(self) -> None:
        self.check("approvals.mjs", "chromium")

    @tools.needs(*NEEDED, tools.browser("firefox"))
    def test_approvals_in_firefox(self) -> None:
        self.check("approvals.mjs", "firefox")


def expected(complaint: dict[str, str]) -> bool:
    """A run that was stopped may still be ending when the next one is sent; that one waits."""
    return complaint["step"] == "or stops it" and "409" in complaint["text"]


if __name__ == "__main__":
    unittest.main()
