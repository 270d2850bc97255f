"""The driver itself: it types, presses and sees in both browsers, and hears every complaint."""

from __future__ import annotations

import unittest

from ..tooling import tools
from . import walks

PAGE = tools.ROOT / "tests" / "browser" / "driver-selftest.html"
PART = "a late part comes at once, or later"


class Driver(walks.Both):
    def check(self, browser: str) -> None:
        job = {"url": PAGE.as_uri(), "label": f"{browser}-driver", "late": None}
        walked = walks.walk("driver-selftest.mjs", browser, job, {"echo": lambda: "here"})
        self.assertEqual(walked.error, "")
        steps = ("open", "type and press", "ask the test")
        pages = ("", "#broken", "#loud")
        named = [f"{step} {page}" for page in pages for step in steps]
        found = "what is wrong for some is found, in parts that were clean before too"
        lands = "a press lands where it is aimed, or nowhere"
        seen = "what is waited for is seen, with no frame drawn for it"
        clean = "what was clean in one page is not looked at in the next"
        late = "a module that comes late is waited for, and so is its beginning"
        whole = [*named, found, clean, seen, late, PART, lands, "what others left"]
        self.assertEqual(list(walked.steps), whole)
        self.assertIs(walked.steps[PART]["isAtOnce"], True)
        self.assertIs(walked.steps[clean]["looked"], False)
        self.assertEqual(walked.steps[seen]["drawn"], [0, 0])
        self.assertEqual(walked.steps[late]["said"], ["begun", "begun"])
        self.check_presses(browser, walked.steps[lands]["told"])
        for page in pages:
            self.assertGreater(walked.steps[f"open {page}"]["typable_ms"], 0)
        # each in the step it came with; a good page has none
        self.assertEqual(
            [item["step"] for item in walked.complaints],
            ["type and press #broken", "type and press #loud"],
        )
        for item, words in zip(walked.complaints, ("broken", "loud"), strict=True):
            self.assertIn(f"{words} on purpose", item["text"])

        again = walks.walk("driver-selftest.mjs", browser, job, {"echo": lambda: "here"})
        first, second = (one.steps["what others left"] for one in (walked, again))
        self.assertEqual((first["others"], second["others"]), ([], []))
        self.assertEqual(first["browser"], second["browser"], "one browser serves both")

    def check_presses(self, browser: str, told: list[list[str]]) -> None:
        """What is not pressed hears of nothing; what cannot be pressed fails by its name."""
        still, once, always, covered, none, far = told
        self.assertNotIn("below", str([heard for _, heard in told]))
        self.assertEqual(still, ["", "wanted,wanted"])
        self.assertEqual(once, ["", "wanted,wanted"])
        if browser == "chromium":  # Firefox presses before the page is told that the pointer came
            self.assertIn("moves away when it is pressed: the presses landed on", always[0])
            self.assertEqual(always[1], "")
        self.assertIn('"Wanted" cannot be pressed: it is covered by <div id="cover"', covered[0])
        self.assertEqual(covered[1], "")
        self.assertEqual(none, ['"#nowhere" cannot be pressed: there is none', ""])
        self.assertEqual(far, ["", "far,far"])

    @tools.needs(*walks.NEEDED, tools.browser("chromium"))
    def test_after_one_that_failed_comes_another_browser(self) -> None:
        job = {"url": PAGE.as_uri(), "label": "chromium-driver"}
        gone = walks.walk("no-such-walk.mjs", "chromium", job, {})
        self.assertIn("no-such-walk.mjs", gone.error)
        walked = walks.walk("driver-selftest.mjs", "chromium", job, {"echo": lambda: "here"})
        self.assertEqual(walked.error, "")

    @tools.needs(*walks.NEEDED, tools.browser("chromium"))
    def test_a_page_is_hindered(self) -> None:
        job = {"url": PAGE.as_uri(), "label": "chromium-driver", "late": "5", "slow": 2}
        walked = walks.walk("driver-selftest.mjs", "chromium", job, {"echo": lambda: "here"})
        self.assertEqual(walked.error, "")
        self.assertIs(walked.steps[PART]["isAtOnce"], False)


if __name__ == "__main__":
    unittest.main()
