"""The driver itself: it types, presses and sees in both browsers, and hears every complaint."""

from __future__ import annotations

import unittest

from tests.tooling import tools

from .walks import NEEDED, Walked, walk

PAGE = tools.ROOT / "tests" / "browser" / "selftest.html"


def selftest(browser: str, fragment: str = "") -> Walked:
    job = {"url": PAGE.as_uri() + fragment, "label": f"{browser}-driver"}
    return walk("selftest.mjs", browser, job, {"echo": lambda: "here"})


class Driver(unittest.TestCase):
    def check(self, browser: str) -> None:
        with self.subTest("a good page"):
            walked = selftest(browser)
            self.assertEqual((walked.error, walked.complaints), ("", []))
            self.assertEqual(list(walked.steps), ["open", "type and press", "ask the test"])
            self.assertGreater(walked.steps["open"]["typable_ms"], 0)
        for fragment, words in (("#broken", "broken on purpose"), ("#loud", "loud on purpose")):
            with self.subTest(fragment):
                complaints = selftest(browser, fragment).complaints
                self.assertEqual([item["step"] for item in complaints], ["type and press"])
                self.assertIn(words, complaints[0]["text"])

    @tools.needs(*NEEDED, tools.browser("chromium"))
    def test_chromium(self) -> None:
        self.check("chromium")

    @tools.needs(*NEEDED, tools.browser("firefox"))
    def test_firefox(self) -> None:
        self.check("firefox")


if __name__ == "__main__":
    unittest.main()
