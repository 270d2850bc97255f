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
        self.assertEqual(list(walked.steps), [f"{step} {page}" for page in pages for step in steps])
        for page in pages:
            self.assertGreater(walked.steps[f"open {page}"]["typable_ms"], 0)
        # each in the step it came with; a good page has none
        self.assertEqual(
            [item["step"] for item in walked.complaints],
            ["type and press #broken", "type and press #loud"],
        )
        for item, words in zip(walked.complaints, ("broken", "loud"), strict=True):
            self.assertIn(f"{words} on purpose", item["text"])


if __name__ == "__main__":
    unittest.main()
