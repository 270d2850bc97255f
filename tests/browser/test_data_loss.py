"""Sessions are not lost: tabs that are killed, storage that refuses, copies, two tabs at once."""

from __future__ import annotations

import unittest
from contextlib import ExitStack

from ..bench import peers
from ..tooling.child import Yaa
from . import walks


class DataLoss(walks.Both):
    def check(self, browser: str) -> None:
        with ExitStack() as stack:
            yaa = stack.enter_context(Yaa(peers.config(peers.start(stack, "tests.bench.provider"))))
            self.walk("data-loss", browser, {"url": yaa.link})


if __name__ == "__main__":
    unittest.main()
