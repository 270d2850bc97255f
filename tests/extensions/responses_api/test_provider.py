"""Which providers speak it, and what they speak where the extension is not named."""

from __future__ import annotations

import unittest
from typing import Any

from server.config import ConfigError
from server.errors import Problem
from server.extensions.responses_api.responses import ResponsesAPI
from server.lib.http.client import Client
from server.models.chat import OpenAIAPI
from server.models.http_model import RemoteAPI
from server.models.provider import choose_api, endpoint
from server.models.registry import Models
from server.models.vendors import DiscoveredProviders

from ...models.fakes import KEY, answer, error, message, options, preset_named, serving, tool
from ...models.speakers import Chat
from ...models.test_cures import ASK, EFFORT, YES
from .. import needs

HERE = "https://api.openai.com/v1"


def models(entry: Any, **server: Any) -> Models:
    entry = {"api_key": KEY, "model_name": "m", **entry}
    return Models({"providers": {"main": entry}, **server}, Client(), {})


def remote(made: Models, **wanted: Any) -> RemoteAPI:
    api = made.resolve(wanted).api
    assert isinstance(api, RemoteAPI)
    return api


@needs("vendors")
class Named(unittest.TestCase):
    def test_a_provider_at_its_vendors_address_speaks_it(self) -> None:
        for entry, url in (
            ({"preset": "openai"}, f"{HERE}/responses"),
            ({"preset": "openai", "api_url": "api.openai.com"}, f"{HERE}/responses"),
            ({"preset": "xai"}, "https://api.x.ai/v1/responses"),
            ({"api_url": "https://h/v1", "api": "responses"}, "https://h/v1/responses"),
            ({"api_url": "https://h/v1/responses/"}, "https://h/v1/responses"),
        ):
            for extensions in (["*"], ["responses_api", "vendors"]):
                with self.subTest(entry, extensions=extensions):
                    api = remote(models(entry, extensions=extensions))
                    self.assertIs(type(api), ResponsesAPI)
                    self.assertEqual(api.provider.url, url)

    def test_its_path(self) -> None:
        for url in ("https://h/v1", "https://h", "https://h/v1/responses/"):
            with self.subTest(url):
                api = choose_api("responses", url, preset_named("openai"))
                self.assertEqual(endpoint(url, api), "https://h/v1/responses")


@needs("vendors")
class NotNamed(unittest.IsolatedAsyncioTestCase):
    def test_a_vendor_is_asked_by_chat_completions(self) -> None:
        for preset, url in (("openai", HERE), ("xai", "https://api.x.ai/v1")):
            api = remote(models({"preset": preset}, extensions=["vendors"]))
            with self.subTest(preset):
                self.assertIs(type(api), OpenAIAPI)
                self.assertEqual(api.provider.url, f"{url}/chat/completions")

    def test_a_configured_one_is_a_mistake(self) -> None:
        for entry in (
            {"preset": "openai", "api": "responses"},
            {"api_url": "https://h/v1/responses"},
            {"preset": "openai", "models": ["a", {"name": "b", "api": "responses"}]},
        ):
            with self.subTest(entry), self.assertRaisesRegex(ConfigError, "'responses' needs the"):
                models(entry, extensions=["vendors"])
            models(entry, extensions=["responses_api", "vendors"])

    def test_a_found_one_is_skipped(self) -> None:
        entry = {"preset": "custom", "api": "responses", "api_url": "https://h/v1/responses"}
        found = DiscoveredProviders({"openai": entry, "ollama": {"preset": "ollama"}})
        with self.assertLogs("yaa.llm", "WARNING") as logged:
            made = Models({"extensions": ["vendors"]}, Client(), {}, found)
        self.assertEqual(made.names(), ["ollama"])
        self.assertIn("'responses' needs the extension responses_api", logged.output[0])

    def test_a_sessions_own_is_refused(self) -> None:
        rules = {"allow": True, "hosts": ["*"]}
        made = Models({"client_providers": rules, "extensions": ["vendors"]}, Client(), {})
        wanted = {"api_url": "https://h.example", "api": "responses", "api_key": KEY}
        with self.assertRaises(Problem) as caught:
            made.resolve({**wanted, "model_name": "m"})
        self.assertEqual(caught.exception.code, "session_invalid")
        self.assertIn("'responses' needs the extension responses_api", caught.exception.detail)

    async def test_a_refusal_that_names_it_is_not_followed(self) -> None:
        client = Client()
        self.addAsyncCleanup(client.close)
        refusal = error("400 No", EFFORT, param="reasoning_effort")
        async with serving(refusal, answer(Chat().stream(YES))) as server:
            entry = {"preset": "openai", "api_url": server.url, "api_key": KEY, "model_name": "m"}
            made = Models({"providers": {"main": entry}, "extensions": ["vendors"]}, client, {})
            asked = remote(made).stream(ASK, [tool("look")], options())
            self.assertEqual(message([event async for event in asked])["content"], "yes")
        lines = [each.line.split()[1] for each in server.requests]
        self.assertEqual(lines, ["/v1/chat/completions"] * 2)


if __name__ == "__main__":
    unittest.main()
