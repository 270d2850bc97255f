"""A server whose trials are asked for, with two model servers and a proxy that refuses."""

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
from ...models.fakes import KEY, Server, answer, error, serving

ANY: Any = object()  # the trials need nothing of a live configuration
SECRET = {"secret": True, "tail": "…cdef"}
MODELS = answer(b'{"data": [{"id": "m-1"}]}', kind="application/json")


class Case(unittest.IsolatedAsyncioTestCase):
    env: dict[str, str] = {}

    async def asyncSetUp(self) -> None:
        logging.disable(logging.CRITICAL)
        self.addCleanup(logging.disable, logging.NOTSET)
        self.home = Path(self.enterContext(tempfile.TemporaryDirectory()), "home")
        self.model = await self.enterAsyncContext(serving(MODELS))
        self.other = await self.enterAsyncContext(serving(MODELS))
        self.proxy = await self.enterAsyncContext(serving(error("502 No", "refused")))

    async def start(self, flags: Any = None, keys: Keys | None = None, live: Any = ANY) -> None:
        entry = {"api_url": self.model.url, "api_key": KEY, "headers": {"x-team": "secret-team"}}
        defaults = {
            "server.discover": False,
            "server.sandbox.require": "none",
            "server.providers": {"main": entry},
        }
        env = {"https_proxy": f"http://127.0.0.1:{self.proxy.port}", **self.env}
        config = load(self.home, None, {}, {**defaults, **(flags or {})})
        self.app = await self.enterAsyncContext(App(config, env, live=live))
        self.router = routes(self.app, keys or Keys(KEYS))

    async def ask(self, path: str, body: Any, key: str = "a", **headers: str) -> fakes.Call:
        fields = {**TYPE, **({"Authorization": f"Bearer {key * 20}"} if key else {}), **headers}
        call = fakes.Call("POST", path, fields, json.dumps(body).encode())
        await self.router(call.exchange)
        return call

    async def attempt(self, **body: Any) -> Any:
        """Try a provider."""
        call = await self.ask("/settings/try/provider", body)
        self.assertEqual(call.status, 200, call.answer)
        return call.json

    async def refused(self, path: str, body: Any, code: str, words: str = "") -> fakes.Call:
        call = await self.ask(path, body)
        self.assertEqual(call.json["code"], code, call.json)
        self.assertIn(words, json.dumps(call.json, ensure_ascii=False))
        self.assertIn(call.status, range(400, 500))
        return call

    def sent(self, *servers: Server) -> str:
        """Everything that these servers were sent."""
        return str([each.requests for each in servers])
