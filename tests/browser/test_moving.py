"""Sessions exported, opened, continued, imported and found again, from disk, in two browsers."""

from __future__ import annotations

import tempfile
import unittest

from tests.tooling import tools
from tests.tooling.child import Yaa

from .walks import NEEDED, walk

PAGE = tools.ROOT / "client" / "index.html"
# A page from disk asks at the usual port before it is told another; a wrong key is refused.
REQUEST_FAILED = ("Failed to load resource", "NetworkError", "Cross-Origin Request Blocked")
MAY_FAIL = {
    "open",
    "what is written is there after a reload",
    "and goes on",
    "what is said while its server is away is not lost",
    "and stays, when it is told to",
}


class Moving(unittest.TestCase):
    maxDiff = None

    def check(self, browser: str) -> None:
        with Yaa({"server": {"discover": False}}) as yaa, tempfile.TemporaryDirectory() as folder:
            job = {
                "url": PAGE.as_uri(),
                "server": yaa.url,
                "key": yaa.key,
                "folder": folder,
                "label": f"{browser}-moving",
            }
            walked = walk("moving.mjs", browser, job, {})
        self.assertEqual(walked.error, "", walked.complaints)
        loud = [
            one
            for one in walked.complaints
            if one["step"] not in MAY_FAIL
            or not any(words in one["text"] for words in REQUEST_FAILED)
        ]
        self.assertEqual(loud, [], "the console is quiet")

    @tools.needs(*NEEDED, tools.package("axe-core"), tools.browser("chromium"))
    def test_chromium(self) -> None:
        self.check("chromium")

    @tools.needs(*NEEDED, tools.package("axe-core"), tools.browser("firefox"))
    def test_firefox(self) -> None:
        self.check("firefox")


if __name__ == "__main__":
    unittest.main()
