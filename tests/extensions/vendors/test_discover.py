"""Looking around: model servers that are there, others that are not, keys in the environment."""

from __future__ import annotations

import asyncio
import json
import time
import unittest
from typing import Any

from server.extensions.vendors.discovery import LOCAL, discover
from server.lib.http.client import Client
from server.models.http_model import RemoteAPI
from server.models.provider import API_PATHS
from server.models.registry import Models
from server.models.vendors import DiscoveredProviders

from ...models.fakes import KEY, Peer, Reply, Server, answer, serving
from ...tooling import patience


def listing(*models: Any, **more: Any) -> bytes:
    data = [{"id": m, "object": "model"} if isinstance(m, str) else m for m in models]
    body = json.dumps({"object": "list", "data": data, **more}).encode()
    return answer(body, kind="application/json")


class Discovery(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        self.client = Client()

    async def asyncTearDown(self) -> None:
        await self.client.close()

    async def look(
        self, *replies: Reply, name: str = "ollama", **env: str
    ) -> tuple[DiscoveredProviders, Server]:
        async with serving(*replies) as server:
            where = {each: "http://127.0.0.1:1/v1" for each in LOCAL} | {name: server.url}
            return await discover({"discover": True}, self.client, env, where), server

    async def test_a_model_server(self) -> None:
        others = ("text-embed-x", "bge-m3:latest", "x/all-minilm", "multilingual-e5-large")
        found, server = await self.look(listing(*others, "llama", "qwen"))
        self.assertEqual(
            found.providers,
            {
                "ollama": {
                    "preset": "ollama",
                    "api_url": server.url,
                    "model_name": "llama",
                    "models": ["llama", "qwen"],
                }
            },
        )
        self.assertEqual(found.lines, [f"Ollama on port {server.port}: llama, qwen"])
        self.assertNotIn("authorization", server.requests[0].headers)

    async def test_something_else_on_the_port(self) -> None:
        async def mute(peer: Peer) -> None:
            await peer.gone()

        async def garbage(peer: Peer) -> None:
            await peer.send(b"SSH-2.0-x\r\n")

        replies: list[Reply] = [
            answer(b"<html>"),
            answer(b"", "404 No"),
            answer(b"[]"),
            answer(b'{"data": {}}'),
            listing({"id": 7}, {}, 5),
            listing(),
            answer(b"", "302 Found", "location: http://169.254.169.254/"),
            mute,
            garbage,
        ]
        for reply in replies:
            started = time.monotonic()
            found, _ = await self.look(reply)
            with self.subTest(reply):
                self.assertEqual(found, DiscoveredProviders())
                self.assertLess(time.monotonic() - started, patience.seconds(4))

    async def test_llamacpp_whose_template_has_no_tools(self) -> None:
        for supports, mode in ((False, "json_schema"), (True, None)):
            props = {
                "chat_template_caps": {"supports_tools": supports},
                "default_generation_settings": {"n_ctx": 8192},
            }
            replies = listing("/home/ada/models/m.gguf"), answer(json.dumps(props).encode())
            found, server = await self.look(*replies, name="llamacpp")
            entry = found.providers["llamacpp"]
            with self.subTest(supports):
                self.assertEqual((entry.get("tool_mode"), entry["max_context"]), (mode, 8192))
                self.assertEqual(entry["models"], ["m.gguf"])
                self.assertNotIn("ada", " ".join(found.lines))
                self.assertEqual(server.requests[1].line, "GET /props HTTP/1.1")

    async def test_keys_in_the_environment(self) -> None:
        found, _ = await self.look(listing(), DEEPSEEK_API_KEY=KEY, OPENAI_API_KEY="", OTHER="x")
        self.assertEqual(list(found.providers), ["deepseek"])
        self.assertEqual(found.providers["deepseek"]["api_key"], KEY)
        self.assertEqual(found.lines, ["DEEPSEEK_API_KEY is set: deepseek, model deepseek-chat"])

    async def test_a_key_that_belongs_to_another_address(self) -> None:
        """As the vendors' own programs read it: it is sent there, and not to the vendor."""
        env = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
        env |= {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": "https://claude.example/x"}
        found, _ = await self.look(listing(), **env, OPENAI_MODEL="llama")
        models = Models({}, self.client, {}, found)
        for name, url, model, preset in (
            ("openai", "http://127.0.0.1:9/v1/chat/completions", "llama", "custom"),
            ("anthropic", "https://claude.example/x/v1/messages", "claude-sonnet-5", "custom"),
        ):
            if name not in models.names():
                self.assertNotIn("messages", API_PATHS)
                continue
            api = models.resolve({"name": name}).api
            assert isinstance(api, RemoteAPI)
            told = (api.provider.url, api.provider.model, api.provider.preset.name)
            self.assertEqual(told, (url, model, preset))
        self.assertIn("OPENAI_API_KEY is set: openai at 127.0.0.1:9, model llama", found.lines)
        for base, kept in (
            ("https://api.openai.com/v1/", "openai"),
            ("ftp://x", None),
            (" ", "openai"),
        ):
            found, _ = await self.look(listing(), OPENAI_API_KEY=KEY, OPENAI_BASE_URL=base)
            with self.subTest(base):
                self.assertEqual(found.providers.get("openai", {}).get("preset"), kept)
                self.assertNotIn(KEY, " ".join(found.lines))
                Models({}, self.client, {}, found)

    async def test_switched_off(self) -> None:
        async with serving(listing("m")) as server:
            where = {name: server.url for name in LOCAL}
            env = {"OPENAI_API_KEY": KEY}
            found = await discover({"discover": False}, self.client, env, where)
        self.assertEqual((found, server.requests), (DiscoveredProviders(), []))

    async def test_all_at_once(self) -> None:
        together = asyncio.Barrier(len(LOCAL))

        async def script(peer: Peer) -> None:
            await together.wait()
            await peer.send(answer(b"{}"))

        async with serving(script) as server:
            where = {name: server.url for name in LOCAL}
            async with asyncio.timeout(patience.seconds(5)):
                await discover({}, self.client, {}, where)
        self.assertGreaterEqual(len(server.requests), len(LOCAL))

    async def test_what_was_found_can_be_called(self) -> None:
        found, server = await self.look(listing("llama"))
        models = Models({}, self.client, {}, found)
        model = models.resolve({"name": "auto"})
        self.assertEqual((model.name, model.model), ("ollama", "llama"))
        self.assertNotIn(str(server.port), json.dumps(models.catalog()))


if __name__ == "__main__":
    unittest.main()
