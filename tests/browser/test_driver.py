"""The driver itself: it types, presses and sees in both browsers, and hears every complaint."""

from __future__ import annotations

import contextlib
import io
import os
import tempfile
import unittest
from pathlib import Path

from ..tooling import environment, tools
from ..tooling.report import Console
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


class Programs(unittest.TestCase):
    """Chromium's shell takes the walks that need no whole browser, where it is."""

    def setUp(self) -> None:
        self.addCleanup(forget)
        self.addCleanup(os.environ.update, dict(os.environ))
        self.addCleanup(os.environ.pop, "YAA_TEST_CHROMIUM", None)
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        os.environ["PATH"] = str(self.folder)
        os.environ.pop("YAA_TEST_CHROMIUM", None)
        self.put("chromium")

    def put(self, name: str, does: str = "") -> None:
        (self.folder / name).write_text(f"#!/bin/sh\n{does}\n")
        (self.folder / name).chmod(0o700)
        forget()

    def chosen(self, walk: str, browser: str = "chromium", *, is_alone: bool = False) -> str:
        path = walks.program_for(walk, browser, is_alone).path
        return path.name if path else ""

    def test_without_the_shell_chromium_walks_everything(self) -> None:
        self.assertEqual(self.chosen("modes"), "chromium")

    def test_the_shell_takes_what_is_a_page_of_its_own(self) -> None:
        self.put(tools.SHELL)
        self.put("firefox")
        self.assertEqual(self.chosen("modes"), tools.SHELL)
        self.assertEqual(self.chosen("modes", is_alone=True), "chromium")
        self.assertEqual(self.chosen("modes", "firefox"), "firefox")
        for walk in walks.WHOLE:
            self.assertEqual(self.chosen(walk), "chromium")

    def test_a_chromium_that_somebody_names_walks_everything(self) -> None:
        self.put(tools.SHELL)
        os.environ["YAA_TEST_CHROMIUM"] = str(self.folder / "chromium")
        forget()
        self.assertEqual(self.chosen("modes"), "chromium")

    def test_it_is_installed_where_the_system_offers_it_and_missed_in_silence(self) -> None:
        self.put("apt-get", f'exec /bin/cp "$0" {self.folder / tools.SHELL}')
        self.put("apt-cache", "exit 100")
        self.assertEqual(self.prepared(), [f"walks: Chromium itself, without {tools.SHELL}"])
        self.put("apt-cache", "exit 0")
        if os.geteuid():
            self.skipTest("only root installs packages")
        self.assertEqual(self.prepared()[-1], f"walks: {tools.SHELL}")
        self.assertEqual(self.chosen("modes"), tools.SHELL)
        self.assertEqual(self.prepared(), [f"walks: {tools.SHELL}"], "it is there")

    def prepared(self) -> list[str]:
        with contextlib.redirect_stdout(io.StringIO()) as said:
            environment.prepare_shell(Console())
        return [line.split("tools", 1)[1].strip() for line in said.getvalue().splitlines()]

    def test_each_walk_that_is_named_is_there(self) -> None:
        folders = (walks.FOLDER, tools.ROOT / "tests" / "bench")
        there = {file.stem for folder in folders for file in folder.glob("*.mjs")}
        self.assertEqual(sorted(walks.WHOLE - there), [])


def forget() -> None:
    tools.shell.cache_clear()
    tools.browser.cache_clear()


if __name__ == "__main__":
    unittest.main()
