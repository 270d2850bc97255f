"""What the source systems promised of the page: rows 13, 19, 38, 39 and 90."""

from __future__ import annotations

import unittest
from contextlib import ExitStack

from ..bench import peers
from ..tooling.child import Yaa
from . import walks


class SessionSettings(walks.OneEngine):
    def check(self, browser: str) -> None:
        with ExitStack() as stack:
            config = peers.config(peers.start(stack, "tests.bench.provider"))
            server = config["server"]
            own = server["providers"]["main"]["api_url"]
            server["providers"]["small"] = {**server["providers"]["main"], "model_name": "small"}
            server["client_providers"] = {"allow": True, "hosts": ["127.0.0.1", "localhost"]}
            yaa = stack.enter_context(Yaa(config, at_once=True))
            self.walk("session-settings", browser, {"url": yaa.link, "own": own})


if __name__ == "__main__":
    unittest.main()
