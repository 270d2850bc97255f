"""What people do out of habit, in a hurry or by accident, with the scripted model."""

from __future__ import annotations

import unittest
from contextlib import ExitStack

from ..bench import peers
from ..tooling.child import Yaa
from . import walks


class AccidentalInput(walks.OneEngine):
    def check(self, browser: str) -> None:
        self.walk_served("accidental-input", browser)

    def walk_served(self, name: str, browser: str, **more: bool) -> None:
        with ExitStack() as stack:
            config = peers.config(peers.start(stack, "tests.bench.provider"))
            config["server"]["tools"] = {"datetime": {"ceiling": "ask"}}
            yaa = stack.enter_context(Yaa(config, at_once=True))
            self.walk(name, browser, {"url": yaa.link, **more})


class FromSessionToSession(AccidentalInput):
    def check(self, browser: str) -> None:
        self.walk_served("session-list", browser)


class SmallThings(AccidentalInput):
    def check(self, browser: str) -> None:
        self.walk_served("small-things", browser)


class WithoutStorage(AccidentalInput):
    one_engine = False

    def check(self, browser: str) -> None:
        self.walk_served("storage-forbidden", browser, forbidden=True)


if __name__ == "__main__":
    unittest.main()
