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

    def check(self, browser: str, part: str) -> None:
        with ExitStack() as stack:
            config = peers.config(peers.start(stack, "tests.bench.provider"))
            config["server"]["tools"] = {"datetime": {"ceiling": "ask"}}
            yaa = stack.enter_context(Yaa(config))
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="yaa-pick-")))
            (folder / "notes.txt").write_text("Some notes\n")
            job = {
                "url": yaa.url if part == "talk" else yaa.link,
                "key": yaa.key,
                "part": part,
                # a headless window has the focus, as one on a desk does
                "prefs": {"focusmanager.testmode": True},
                "file": str(folder / "notes.txt"),
                "label": f"{browser}-keyboard-{part}",
            }
            walked = walk("keyboard.mjs", browser, job, {})
        self.assertEqual(walked.error, "", walked.complaints)
        # without a key the first look at the server is refused, and browsers say so
        loud = [one for one in walked.complaints if one["step"] != "sign in"]
        self.assertEqual(loud, [], "the console is quiet")

    @tools.needs(*NEEDED, tools.browser("chromium"))
    def test_a_session_in_chromium(self) -> None:
        self.check("chromium", "talk")

    @unittest.skip("NOT CHECKED: in one run of three a key does not arrive, cause unknown")
    @tools.needs(*NEEDED, tools.browser("chromium"))
    def test_what_is_around_it_in_chromium(self) -> None:
        self.check("chromium", "around")

    @unittest.skip("NOT CHECKED: headless Firefox stops at the button for a new session")
    @tools.needs(*NEEDED, tools.browser("firefox"))
    def test_a_session_in_firefox(self) -> None:
        self.check("firefox", "talk")

    @unittest.skip("NOT CHECKED: headless Firefox stops at the button for a new session")
    @tools.needs(*NEEDED, tools.browser("firefox"))
    def test_what_is_around_it_in_firefox(self) -> None:
        self.check("firefox", "around")


if __name__ == "__main__":
    unittest.main()
