"""The owner sees who runs what and ends one, which stays ended."""

from __future__ import annotations

import unittest
from contextlib import ExitStack
from typing import Any

from ..bench import peers
from ..tooling.child import Yaa
from . import walks

BOB = "the-key-of-bob-123456"


class PeopleRuns(walks.OneEngine):
    def check(self, browser: str) -> None:
        with ExitStack() as stack:
            config: Any = peers.config(peers.start(stack, "tests.bench.provider"))
            config["server"] |= {"api_keys": [{"name": "bob", "key": BOB}], "home_key": True}
            yaa = stack.enter_context(Yaa(config, at_once=True))
            job = {"url": yaa.url, "link": yaa.link, "bob": BOB, "key": yaa.key}
            self.walk("people-runs", browser, job)


if __name__ == "__main__":
    unittest.main()
