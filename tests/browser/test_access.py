"""Every screen without barriers, in both themes, narrow, and by ear; and on to another server."""

from __future__ import annotations

import unittest
from contextlib import ExitStack

from tests.tooling import tools
from tests.tooling.child import Yaa

from .walks import NEEDED, walk

# The second server has a lower limit, so that something is different there.
OTHER = {"server": {"discover": False}, "session": {"config": {"limits": {"max_steps": 7}}}}


class Access(unittest.TestCase):
    maxDiff = None

    def check(self, browser: str) -> None:
        with ExitStack() as stack:
            yaa = stack.enter_context(Yaa({"server": {"discover": False}}))
            other = stack.enter_context(Yaa(OTHER))
            job = {"url": yaa.link, "other": other.url, "otherKey": other.key}
            walked = walk("access.mjs", browser, {**job, "label": f"{browser}-access"}, {})
        self.assertEqual(walked.error, "", walked.complaints)
        # axe-core asks every frame of the page; the preview's has no origin, and Firefox says so
        loud = [one for one in walked.complaints if "‘postMessage’" not in one["text"]]
        self.assertEqual(loud, [], "the console is quiet")

    @tools.needs(*NEEDED, tools.browser("chromium"))
    def test_chromium(self) -> None:
        self.check("chromium")

    @tools.needs(*NEEDED, tools.browser("firefox"))
    def test_firefox(self) -> None:
        self.check("firefox")


if __name__ == "__main__":
    unittest.main()
