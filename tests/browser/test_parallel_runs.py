"""At most four runs stream at once, over all tabs: with locks, or with leases on plain http."""

from __future__ import annotations

import unittest
from contextlib import ExitStack

from ..bench import peers
from ..tooling.child import Yaa
from . import walks


class ParallelRuns(walks.Both):
    name = "parallel-runs"

    def check(self, browser: str) -> None:
        with ExitStack() as stack:
            config = peers.config(peers.start(stack, "tests.bench.provider"))
            config["server"] |= {"hosts": ["yaa.test"], "tools": {"datetime": {"ceiling": "ask"}}}
            yaa = stack.enter_context(Yaa(config, at_once=True))
            host = "yaa.test" if browser == "chromium" else "127.0.0.1"
            self.walk(self.name, browser, {"url": yaa.link.replace("127.0.0.1", host)})


if __name__ == "__main__":
    unittest.main()
