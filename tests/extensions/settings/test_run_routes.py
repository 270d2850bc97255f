"""`GET /settings/runs`: what an owner is shown of the last runs, and nobody else."""

from __future__ import annotations

import json
import logging
import tempfile
import unittest
from pathlib import Path
from typing import Any

from server.api.auth import Keys
from server.app import App, routes
from server.config import load

from ...api import fakes
from ...api.fakes import KEYS, TYPE

FLAGS = {"server.discover": False, "server.sandbox.require": "none"}
CONTENT = "what I asked in confidence"


class Runs(unittest.IsolatedAsyncioTestCase):
    async def ask(self, method: str, path: str, body: Any = None, key: str = "a") -> fakes.Call:
        data = b"" if body is None else json.dumps(body).encode()
        fields = {**TYPE, "Authorization": f"Bearer {key * 20}", "Accept": "application/json"}
        call = fakes.Call(method, path, fields, data)
        await self.router(call.exchange)
        return call

    async def test_a_run_of_the_demo(self) -> None:
        logging.disable(logging.CRITICAL)  # the list does not depend on the log's level
        self.addCleanup(logging.disable, logging.NOTSET)
        home = Path(self.enterContext(tempfile.TemporaryDirectory()), "home")
        live: Any = object()  # of which the list needs nothing
        app = await self.enterAsyncContext(App(load(home, None, {}, FLAGS), {}, live=live))
        self.router = routes(app, Keys(KEYS))
        session = {"id": "s-recent", "messages": [{"role": "user", "content": CONTENT}]}
        self.assertEqual((await self.ask("POST", "/session", session, "b")).status, 200)
        told = await self.ask("GET", "/settings/runs")
        (run,) = (each for each in told.json["runs"] if each["session"] == "s-recent")
        for member, value in (("key_name", "bob"), ("model", "demo"), ("agent", "default")):
            self.assertEqual(run[member], value)
        self.assertIn("status", run)
        self.assertIsInstance(run["at"], int)
        self.assertGreaterEqual(run["ms"], 0)
        self.assertNotIn(CONTENT, told.answer.decode())
        self.assertEqual((await self.ask("GET", "/settings/runs", key="b")).status, 403)


if __name__ == "__main__":
    unittest.main()
