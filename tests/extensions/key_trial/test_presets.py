"""Trials of providers with a preset."""

from __future__ import annotations

import unittest
from typing import Any

from server.config import ConfigError
from server.extensions.settings.provider_trial import try_provider
from server.lib.http.client import Client

from ...models.fakes import KEY, answer, error, serving
from ..settings.test_provider_trial import Case, listing


class Trials(Case):
    async def test_which_model_is_suggested(self) -> None:
        cases: list[tuple[tuple[str, ...], dict[str, Any], str]] = [
            (("x", "gpt-4.1-mini"), {"preset": "openai"}, "gpt-4.1-mini"),
            (("x", "y"), {"preset": "openai"}, "x"),
            ((), {"preset": "openai"}, "gpt-4.1-mini"),
            (("x", "y"), {"model_name": "y"}, "y"),
        ]
        for there, entry, name in cases:
            with self.subTest(there=there, entry=entry):
                found, _ = await self.attempt(listing(*there), **entry)
                self.assertEqual((found["ok"], found["model_name"]), (True, name))

    async def test_the_key_of_a_variable_goes_to_its_vendor_only(self) -> None:
        env = {"OPENAI_API_KEY": KEY}
        _, server = await self.attempt(listing("a"), env=env, api_key="", preset="openai")
        self.assertNotIn(KEY, str(server.requests))
        self.assertEqual(len(server.requests), 1)

    async def test_what_proves_a_key_where_the_list_is_public(self) -> None:
        """The name is reached through a proxy, as addresses of this machine need no key."""
        entry = {"preset": "openrouter", "api_url": "http://openrouter.ai/api/v1", "api_key": KEY}
        for reply, is_right in ((answer(b"{}"), True), (error("401 No", "no key"), False)):
            async with serving(listing("m"), reply) as server:
                client = Client({"http_proxy": f"http://127.0.0.1:{server.port}"})
                found = await try_provider("mine", entry, client, {})
                await client.close()
            with self.subTest(is_right):
                self.assertIs(found["ok"], is_right)
                self.assertIn("http://openrouter.ai/api/v1/key ", server.requests[1].line)
                self.assertEqual(len(server.requests), 2)

    async def test_a_trial_knows_no_more_than_the_server(self) -> None:
        client = Client()
        with self.assertRaisesRegex(ConfigError, "needs the extension vendors"):
            await try_provider("main", {"preset": "openai", "api_key": KEY}, client, {}, ())
        entry = {"api_url": "http://api.openai.com/v1", "model_name": "gpt-5"}
        for names, told in (((), {"name": "gpt-5"}), (("vendors",), {"name", "window", "price"})):
            async with serving(answer(b'{"data": [{"id": "gpt-5"}]}')) as server:
                client = Client({"http_proxy": f"http://127.0.0.1:{server.port}"})
                found = await try_provider("main", entry, client, {}, names)
                await client.close()
            with self.subTest(names):
                self.assertEqual(set(found["models"][0]), {*told})


if __name__ == "__main__":
    unittest.main()
