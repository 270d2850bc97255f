"""What is not sent yet is not lost, with the scripted model."""

from __future__ import annotations

import unittest
from contextlib import ExitStack

from ..bench import peers
from ..tooling.child import Yaa
from . import walks


class Drafts(walks.Both):
    def check(self, browser: str) -> None:
        with ExitStack() as stack:
            model = peers.start(stack, "tests.bench.provider")
            yaa = stack.enter_context(Yaa(peers.config(model)))
            self.walk("drafts", browser, {"url": yaa.link}, expected=is_missing)


def is_missing(complaint: walks.Complaint) -> bool:
    return complaint["step"] == "a language that does not come"


if __name__ == "__main__":
    unittest.main()
