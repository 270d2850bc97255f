"""What the server tells about itself, openly and with a key."""

from __future__ import annotations

import unittest
from functools import partial
from typing import Any

from server.api.info import HealthHandler, InfoHandler
from server.api.router import RequestContext

from . import fakes
from .fakes import run_async


class InfoCase(unittest.TestCase):
    def setUp(self) -> None:
        self.models = [{"name": "main"}]
        self.info = InfoHandler("1.2", {"agent": "default"}, {"type": "object"}, self.facts)

    def facts(self, owner: str) -> dict[str, Any]:
        return {"models": self.models, "asked by": owner}

    def test_health_says_only_that_it_lives(self) -> None:
        for opened, status in ((False, "starting"), (True, "ok")):
            asked = fakes.Call("GET", "/health")
            run_async(
                HealthHandler("1.2", partial(bool, opened)).get(RequestContext(asked.exchange, {}))
            )
            self.assertEqual(asked.status, 200)
            self.assertEqual(asked.json, {"status": status, "version": "1.2"})

    def test_info_asks_for_the_facts_each_time(self) -> None:
        for models in ([{"name": "main"}], []):
            self.models = models
            asked = fakes.Call("GET", "/info")
            run_async(self.info.get(RequestContext(asked.exchange, {})))
            self.assertEqual(
                asked.json,
                {
                    "version": "1.2",
                    "command": "python3 -m server",
                    "defaults": {"agent": "default"},
                    "config_schema": {"type": "object"},
                    "models": models,
                    "asked by": "",
                    "owner": True,
                },
            )


if __name__ == "__main__":
    unittest.main()
