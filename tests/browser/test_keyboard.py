"""Everything that can be done with the page, with keys alone."""

from __future__ import annotations

import tempfile
import unittest
from contextlib import ExitStack
from pathlib import Path

from ..bench import peers
from ..tooling.child import Yaa
from . import walks


class Keyboard(walks.Both):
    def check(self, browser: str) -> None:
        with ExitStack() as stack:
            config = peers.config(peers.start(stack, "tests.bench.provider"))
            config["server"]["tools"] = {"datetime": {"ceiling": "ask"}}
            yaa = stack.enter_context(Yaa(config, at_once=True))
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="yaa-pick-")))
            (folder / "notes.txt").write_text("Some notes\n")
            job = {
                "url": yaa.url,
                "key": yaa.key,
                "file": str(folder / "notes.txt"),
            }
            self.walk("keyboard", browser, job, expected=without_a_key)


def without_a_key(complaint: walks.Complaint) -> bool:
    """The first look at the server is refused, and browsers say so."""
    return complaint["step"] == "sign in"


if __name__ == "__main__":
    unittest.main()
