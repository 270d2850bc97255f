"""The mode of a session, what the server remarks on, and a request that is too large."""

from __future__ import annotations

import unittest
from contextlib import ExitStack

from ..bench import peers
from ..tooling.child import Yaa
from . import walks

SMALL_ROOM = 4000  # tokens: enough for a short conversation with its tools, not for a long text
TINY_ROOM = 2000  # not enough for the tools, unless they are offered in brief


class Modes(walks.OneEngine):
    def check(self, browser: str) -> None:
        with ExitStack() as stack:
            config = peers.config(peers.start(stack, "tests.bench.provider"))
            providers = config["server"]["providers"]
            providers["small"] = {**providers["main"], "max_context": SMALL_ROOM}
            providers["tiny"] = {**providers["main"], "max_context": TINY_ROOM}
            known = {"max_context": 200_000, "costs": {"input": 0.0025, "output": 0.01}}
            models = [{"name": "wide-1", **known, "cost_unit": "USD"}, "wide-2"]
            providers["wide"] = {**providers["main"], "model_name": "wide-1", "models": models}
            yaa = stack.enter_context(Yaa(config, at_once=True))
            self.walk("modes", browser, {"url": yaa.link})


if __name__ == "__main__":
    unittest.main()
