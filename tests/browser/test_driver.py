"""The driver itself: it types, presses and sees in both browsers, and hears every complaint."""

from __future__ import annotations

import unittest

from ..tooling import tools
from . import walks

PAGE = tools.ROOT / "tests" / "browser" / "driver-selftest.html"


class Driver(walks.Both):
    def check(self, browser: str) -> None:
        job = {"url": PAGE.as_uri(), "label": f"{browser}-driver"}
        walked = walks.walk("driver-selftest.mjs", browser, job, {"echo": lambda: "here"})
        self.assertEqual(walked.error, "")
        steps = ("open", "type and press", "ask the test")
        pages = ("", "#broken", "#loud")
        named = [f"{step} {page}" for page in pages for step in steps]
        found = "what is wrong for some is found, in parts that were clean before too"
        self.assertEqual(list(walked.steps), [*named, found, "what others left"])
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

    @tools.needs(*walks.NEEDED, tools.browser("chromium"))
    def test_after_one_that_failed_comes_another_browser(self) -> None:
        job = {"url": PAGE.as_uri(), "label": "chromium-driver"}
        gone = walks.walk("no-such-walk.mjs", "chromium", job, {})
        self.assertIn("no-such-walk.mjs", gone.error)
        walked = walks.walk("driver-selftest.mjs", "chromium", job, {"echo": lambda: "here"})
        self.assertEqual(walked.error, "")


if __name__ == "__main__":
    unittest.main()
