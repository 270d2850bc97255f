"""What there is to see of a run, in two browsers: pictures, gauge, inspector, slider, desk.

Pictures of the way are in .cache/tests/screenshots, for looking at.
"""

from __future__ import annotations

import unittest

from tests.tooling import tools
from tests.tooling.child import Yaa

from .walks import NEEDED, walk


def release(yaa: Yaa) -> None:
    """What a program of the walk waits for, in the workspace of whichever session."""
    for workspace in (yaa.home / "workspaces").iterdir():
        (workspace / "go").touch()


class Seeing(unittest.TestCase):
    maxDiff = None

    def check(self, browser: str) -> None:
        with Yaa({"server": {"discover": False}}) as yaa:
            job = {"url": yaa.link, "label": f"{browser}-seeing"}
            walked = walk("seeing.mjs", browser, job, {"go": lambda: release(yaa)})
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
