"""A long session is sent whole once, and then only what is new."""

from __future__ import annotations

import unittest
from contextlib import ExitStack

from ..bench import peers
from ..tooling.child import Yaa
from . import walks


def refused(complaint: walks.Complaint) -> bool:
    """What a browser says of the 409."""
    return any(words in complaint["text"] for words in walks.REQUEST_FAILED)


class SessionBase(walks.OneEngine):
    def check(self, browser: str) -> None:
        with ExitStack() as stack:
            provider = peers.start(stack, "tests.bench.provider")
            yaa = stack.enter_context(Yaa(peers.config(provider)))
            self.walk("session-base", browser, {"url": yaa.link}, expected=refused)


if __name__ == "__main__":
    unittest.main()
