"""Lists of models as vendors send them, and what is sent in their place."""

from __future__ import annotations

import json
import unittest
from typing import Any

from server.lib.http.client import Client
from server.models.failure import Failure
from server.models.model_list import MAX_MODELS, ListedModel, base_of, list_models
from server.models.registry import Models

from ..extensions import needs
from .fakes import APIS, KEY, Peer, Reply, Server, answer, error, serving


def page(value: Any) -> bytes:
    return answer(json.dumps(value).encode(), kind="application/json")


class Lists(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        self.client = Client()
        self.addAsyncCleanup(self.client.close)

    def api(self, url: str, **more: Any) -> Any:
        entry = {"api_url": url, "api_key": KEY, "model_name": "m", **more}
        return Models({"providers": {"p": entry}}, self.client, {}).resolve({"name": "p"}).api

    async def ask(self, reply: Reply, **more: Any) -> tuple[list[ListedModel] | None, Server]:
        async with serving(reply) as server:
            return await list_models(self.api(server.url, **more), self.client), server

    async def test_shapes(self) -> None:
        for value, wanted in (
            ({"object": "list", "data": [{"id": "a"}, {"id": "b"}]}, ["a", "b"]),
            ({"models": [{"name": "models/gemini-x"}]}, ["gemini-x"]),
            ([{"id": "a", "type": "chat"}], ["a"]),
            ({"data": [{"id": "a"}, {"id": "a"}]}, ["a"]),
            ({"data": [{"id": "text-embed-3"}, {"id": "whisper-1"}, {"id": "a"}]}, ["a"]),
            ({"data": []}, []),
        ):
            with self.subTest(value):
                found, _ = await self.ask(page(value))
                self.assertEqual([model.name for model in found or ()], wanted)

    async def test_what_is_no_list(self) -> None:
        for reply in (answer(b"<html>hello"), page({}), page({"data": {}}), page(5), answer(b"")):
            with self.subTest(reply[-20:]):
                self.assertIsNone((await self.ask(reply))[0])

    async def test_hostile_models(self) -> None:
        rows: list[Any] = [5, None, {}, {"id": 7}, {"id": ""}, {"id": "a\nb"}]
        rows += [{"id": "x" * 5_000}, {"id": "\u202egood"}, {"id": "__proto__"}]
        found, _ = await self.ask(page({"data": rows}))
        self.assertEqual([model.name for model in found or ()], ["__proto__"])
        many = [{"id": f"m{n}"} for n in range(MAX_MODELS + 50)]
        found, _ = await self.ask(page({"data": many}))
        self.assertEqual(len(found or ()), MAX_MODELS)

    async def test_windows(self) -> None:
        for row, window in (
            ({"context_length": 4096}, 4096),
            ({"context_window": 8192}, 8192),
            ({"max_model_len": 100}, 100),
            ({"context_length": "big"}, None),
            ({"context_length": True}, None),
            ({"context_length": -1}, None),
            ({"context_length": 1 << 60}, None),
            ({"context_length": None, "max_model_len": 5}, 5),
        ):
            with self.subTest(row):
                found, _ = await self.ask(page({"data": [{"id": "a", **row}]}))
                self.assertEqual(found, [ListedModel("a", window)])

    async def test_what_is_sent(self) -> None:
        _, server = await self.ask(page({"data": []}))
        asked = server.requests[0]
        self.assertEqual(asked.line, "GET /v1/models HTTP/1.1")
        self.assertEqual(asked.headers["authorization"], f"Bearer {KEY}")
        async with serving(page({"data": []})) as server:
            await list_models(self.api(server.url), self.client, with_key=False)
            self.assertNotIn(KEY, str(server.requests))

    @needs("messages_api")
    async def test_what_the_messages_api_is_sent(self) -> None:
        _, server = await self.ask(page({"data": []}), api="messages", quirks={"bearer": False})
        asked = server.requests[0]
        self.assertEqual(asked.line, "GET /v1/models?limit=1000 HTTP/1.1")
        self.assertEqual(asked.headers["x-api-key"], KEY)
        self.assertNotIn("authorization", asked.headers)

    def test_base_urls(self) -> None:
        for api in APIS:
            for url in ("http://x.example/v1", "http://x.example/p/v1?v=2"):
                with self.subTest(api=api, url=url):
                    self.assertEqual(base_of(self.api(url, api=api)), url.partition("?")[0])

    async def test_a_path_of_a_file_stays_private(self) -> None:
        rows = [{"id": "/home/ada/models/m.gguf"}, {"id": "C:\\models\\n.gguf"}]
        found, _ = await self.ask(page({"data": rows}), quirks={"model_paths": True})
        self.assertEqual([model.name for model in found or ()], ["m.gguf", "n.gguf"])

    async def test_failures(self) -> None:
        async def broken(peer: Peer) -> None:
            await peer.send(b"HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\n{")

        replies: list[tuple[Reply, str, str]] = [
            (error("401 No", f"bad key {KEY}"), "upstream_auth", "is the API key right"),
            (error("429 No", "slow down"), "upstream_rate_limit", "slow down"),
            (error("500 No", "oops"), "upstream_error", "oops"),
            (answer(b"", "302 Found", "location: http://169.254.1.1/"), "upstream_error", "redire"),
            (broken, "upstream_truncated", ""),
            (b"SSH-2.0-x\r\n\r\n", "upstream_error", ""),
        ]
        for reply, code, words in replies:
            with self.subTest(code=code, words=words), self.assertRaises(Failure) as caught:
                await self.ask(reply)
            self.assertEqual(caught.exception.code, code)
            self.assertIn(words, caught.exception.message)
            self.assertNotIn(KEY, caught.exception.message)


if __name__ == "__main__":
    unittest.main()
