"""Everything that can be done with the page, with keys alone."""

from __future__ import annotations

import tempfile
import unittest
from contextlib import ExitStack
from pathlib import Path

from tests.bench import peers
from tests.tooling import tools
from tests.tooling.child import Yaa

from .walks import NEEDED, walk


class Keyboard(unittest.TestCase):
    maxDiff = None

    def check(self, browser: str) -> None:
        with ExitStack() as stack:
            config = peers.config(peers.start(stack, "tests.bench.provider"))
            config["server"]["tools"] = {"datetime": {"ceiling": "ask"}}
            yaa = stack.enter_context(Yaa(config))
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="yaa-pick-")))
            (folder / "notes.txt").write_text("Some notes\n")
            job = {
                "url": yaa.url,
                "key": yaa.key,
                "file": str(folder / "notes.txt"),
                "label": f"{browser}-keyboard",
            }
            walked = walk("keyboard.mjs", browser, job, {})
        self.assertEqual(walked.error, "", walked.complaints)
        # without a key the first look at the server is refused, and browsers say so
        loud = [one for one in walked.complaints if one["step"] != "sign in"]
        self.assertEqual(loud, [], "the console is quiet")

    @tools.needs(*NEEDED, tools.browser("chromium"))
    def test_in_chromium(self) -> None:
        self.check("chromium")

    @tools.needs(*NEEDED, tools.browser("firefox"))
    def test_in_firefox(self) -> None:
        self.check("firefox")


if __name__ == "__main__":
    unittest.main()
