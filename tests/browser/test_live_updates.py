"""What is drawn beside the conversation while a run goes on."""

from __future__ import annotations

import unittest
from contextlib import ExitStack

from ..bench import peers
from ..tooling.child import Yaa
from . import walks


class LiveUpdates(walks.OneEngine):
    def check(self, browser: str) -> None:
        with ExitStack() as stack:
            config = peers.config(peers.start(stack, "tests.bench.provider"))
            config["session"] = {"config": {"limits": {"max_steps": 300}}}
            config["server"]["limits"]["session"] = {"max_steps": 300}  # or it ends at 100
            yaa = stack.enter_context(Yaa(config, at_once=True))
            self.walk("live-updates", browser, {"url": yaa.link})


if __name__ == "__main__":
    unittest.main()
