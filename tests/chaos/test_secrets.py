"""A canary as the server's model key: nothing that leaves the server, or its log, ever holds it.

The whole server runs, over real sockets, between a client and two providers: the configured one,
which misbehaves, and a stranger's, which must never see the key.
"""

from __future__ import annotations

import asyncio
import contextlib
import copy
import json
import logging
import tempfile
import unittest
from pathlib import Path
from typing import Any

from server.api.auth import Keys
from server.app import App, routes
from server.config import Config
from server.lib.http.listener import BaseServer, ServerLimits

from ..fakes import DEFAULTS, user

CANARY = "sk-canary-4f1d0e7a9b"
API_KEY = "api-canary-77c1"
PLAIN = "quince medlar"  # of the owner's, though nothing about it looks like a secret
ANSWER = (
    'data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"hi"}}]}\n\n'
    'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
)


class Provider:
    """Answers every request with what it is told, and remembers all it was sent."""

    def __init__(self) -> None:
        self.received = b""
        self.answer = b""
        self.port = 0

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        self._server.close()

    def says(self, status: str, body: str, *headers: str) -> None:
        head = [f"HTTP/1.1 {status}", f"Content-Length: {len(body.encode())}", *headers]
        self.answer = ("\r\n".join([*head, "Connection: close", "", ""]) + body).encode()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            head = await reader.readuntil(b"\r\n\r\n")
            length = next(
                int(line.split(b":")[1])
                for line in head.split(b"\r\n")
                if line.lower().startswith(b"content-length")
            )
            self.received += head + await reader.readexactly(length)
            writer.write(self.answer)
            await writer.drain()
        writer.close()


class Secrets(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        self.ours, self.foreign = Provider(), Provider()
        await self.ours.start()
        await self.foreign.start()
        self.foreign.says("200 OK", ANSWER, "Content-Type: text/event-stream")
        self.seen = ""
        self.log: list[str] = []
        handler = logging.Handler()
        handler.emit = lambda record: self.log.append(self.formatted(record))  # type: ignore[method-assign]
        root = logging.getLogger("yaa")
        before = root.level
        root.addHandler(handler)
        root.setLevel(logging.DEBUG)
        self.addCleanup(root.removeHandler, handler)
        self.addCleanup(root.setLevel, before)
        await self.start()

    def formatted(self, record: logging.LogRecord) -> str:
        return logging.Formatter().format(record)

    async def start(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        server = copy.deepcopy(DEFAULTS["server"])
        server["providers"] = {
            "main": {
                "api_url": f"http://127.0.0.1:{self.ours.port}/v1",
                "api_key": CANARY,
                "model_name": "m",
                "headers": {"X-Thing": PLAIN},
            }
        }
        server["default_provider"] = "main"
        server["discover"] = False
        server["api_keys"] = [API_KEY]
        server["log"] |= {"level": "debug", "model_deltas": True}
        server["client_providers"] = {"allow": True, "hosts": ["127.0.0.1"]}
        config = Config(server, DEFAULTS["session"], Path(holder.name))
        self.app = App(config, {})
        await self.app.open()
        self.server = BaseServer(
            routes(self.app, Keys([API_KEY])), ServerLimits.of(server["limits"])
        )
        await self.server.listen("127.0.0.1", 0)

    async def asyncTearDown(self) -> None:
        await self.server.close()
        await self.app.close()
        await self.ours.stop()
        await self.foreign.stop()
        for where, text in (
            ("an answer or event", self.seen),
            ("the log", "\n".join(self.log)),
            ("a request to a stranger", self.foreign.received.decode()),
        ):
            self.assertNotIn(CANARY, text, f"the key is in {where}")
            self.assertNotIn(PLAIN, text, f"the header is in {where}")
        self.assertNotIn(API_KEY, "\n".join(self.log), "the API key is in the log")

    async def ask(self, method: str, path: str, document: Any = None, accept: str = "*/*") -> int:
        """One request; everything that comes back is kept for the end. Returns the status."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.server.port)
        body = b"" if document is None else json.dumps(document).encode()
        writer.write(
            f"{method} {path} HTTP/1.0\r\nHost: localhost\r\nAuthorization: Bearer {API_KEY}\r\n"
            f"Accept: {accept}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n".encode()
            + body
        )
        answer = (await reader.read()).decode()
        writer.close()
        self.seen += answer
        return int(answer.split(" ")[1])

    async def run_both_ways(self, provider: dict[str, Any] | None = None) -> list[int]:
        session: dict[str, Any] = {"messages": [user("go")]}
        config: dict[str, Any] = {"retry": {"times": 0}}
        if provider is not None:
            config["provider"] = provider
        session["config"] = {"llm_api": config}
        kinds = ("application/json", "text/event-stream")
        return [await self.ask("POST", "/session", session, accept=kind) for kind in kinds]

    async def test_the_key_goes_to_its_own_server(self) -> None:
        self.ours.says("200 OK", ANSWER, "Content-Type: text/event-stream")
        self.assertEqual(await self.run_both_ways(), [200, 200])
        self.assertIn(f"Bearer {CANARY}", self.ours.received.decode())
        self.assertIn(f"x-thing: {PLAIN}", self.ours.received.decode())
        self.assertIn('"hi"', self.seen)

    async def test_a_session_that_names_only_a_foreign_url(self) -> None:
        url = f"http://127.0.0.1:{self.foreign.port}/v1"
        for provider in (
            {"api_url": url},
            {"api_url": url, "name": "main"},
            {"api_url": url, "model_name": "m"},
            {"api_url": url, "api_key": ""},
            {"api_url": url, "api_key": None, "model_name": "m"},
        ):
            with self.subTest(provider=sorted(provider)):
                await self.run_both_ways(provider)
        own = {"api_url": url, "api_key": "theirs", "model_name": "m"}
        self.assertEqual(await self.run_both_ways(own), [200, 200])
        self.assertIn("Bearer theirs", self.foreign.received.decode())

    async def test_a_redirecting_provider(self) -> None:
        for status in ("301 Moved", "302 Found", "307 Temporary", "308 Permanent"):
            target = f"Location: http://127.0.0.1:{self.foreign.port}/v1/chat/completions"
            self.ours.says(status, "", target)
            await self.run_both_ways()
        self.assertEqual(self.foreign.received, b"")

    async def test_a_provider_that_echoes_the_key(self) -> None:
        echoes = [
            json.dumps({"error": {"message": f"Incorrect API key provided: {CANARY}"}}),
            json.dumps({"error": f"bad header Authorization: Bearer {CANARY}"}),
            f"<html>key={CANARY}</html>",
            json.dumps({"error": f"no {PLAIN} is known here"}),
            json.dumps({"detail": {"headers": {"authorization": f"Bearer {CANARY}"}}}),
        ]
        for status in ("400 Bad", "401 Unauthorized", "429 Slow", "500 Oops", "200 OK"):
            for body in echoes:
                self.ours.says(status, body, "Content-Type: application/json")
                await self.run_both_ways()
        event = json.dumps({"error": {"message": f"failed for {CANARY}"}})
        self.ours.says("200 OK", f"data: {event}\n\n", "Content-Type: text/event-stream")
        await self.run_both_ways()

    async def test_information_and_errors(self) -> None:
        self.assertEqual(await self.ask("GET", "/info"), 200)
        self.assertEqual(await self.ask("GET", "/health"), 200)
        self.assertEqual(await self.ask("GET", f"/{CANARY[:3]}"), 404)
        self.assertEqual(await self.ask("POST", "/session", {"messages": 5}), 422)
        await self.run_both_ways({"name": "nobody"})

    async def test_a_key_that_a_session_brings_stays_in_that_session(self) -> None:
        """It comes back in its own document, as everything does, and is nowhere in the log."""
        own = "sk-brought-31337abc"
        url = f"http://127.0.0.1:{self.foreign.port}/v1"
        await self.run_both_ways({"api_url": url, "api_key": own, "model_name": "m"})
        self.assertNotIn(own, "\n".join(self.log))


if __name__ == "__main__":
    unittest.main()
