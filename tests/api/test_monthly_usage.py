"""`GET /usage`: what runs have used, each person's own, and everybody's for an owner."""

from __future__ import annotations

import json
import tempfile
import unittest
from pathlib import Path
from typing import Any

from server.api.auth import Keys
from server.app import App, routes
from server.config import load

from . import fakes
from .fakes import KEYS, TYPE

FLAGS = {"server.discover": False, "server.sandbox.require": "none"}
CONTENT = "what I asked in confidence"


class Route(unittest.IsolatedAsyncioTestCase):
    async def ask(self, method: str, path: str, body: Any = None, key: str = "a") -> fakes.Call:
        data = b"" if body is None else json.dumps(body).encode()
        fields = {**TYPE, "Accept": "application/json"}
        fields |= {"Authorization": f"Bearer {key * 20}"} if key else {}
        call = fakes.Call(method, path, fields, data)
        await self.router(call.exchange)
        return call

    async def test_a_run_of_the_demo_and_a_restart(self) -> None:
        home = Path(self.enterContext(tempfile.TemporaryDirectory()), "home")
        for runs in (1, 2):
            async with App(load(home, None, {}, FLAGS), {}) as app:
                self.router = routes(app, Keys([*KEYS, {"name": "cleo", "key": "c" * 20}]))
                session = {"id": f"s{runs}", "messages": [{"role": "user", "content": CONTENT}]}
                self.assertEqual((await self.ask("POST", "/session", session, "b")).status, 200)
                for key, shown in (("a", [("bob", runs)]), ("b", [("bob", runs)]), ("c", [])):
                    told = await self.ask("GET", "/usage", key=key)
                    (month,) = told.json["months"]
                    found = [(each["person"], each["runs"]) for each in month["people"]]
                    self.assertEqual((key, found), (key, shown))
                    self.assertTrue(all(each["tokens"] > 0 for each in month["people"]))
                    self.assertNotIn(CONTENT, told.answer.decode())
        self.assertEqual((await self.ask("GET", "/usage", key="")).status, 401)


if __name__ == "__main__":
    unittest.main()
