"""Which providers speak it, and what comes of them where the extension is not named."""

from __future__ import annotations

import unittest
from typing import Any

from server.config import ConfigError
from server.errors import Problem
from server.extensions.messages_api.messages import AnthropicAPI
from server.lib.http.client import Client
from server.models.http_model import RemoteAPI
from server.models.provider import CUSTOM, choose_api, endpoint, request_url
from server.models.registry import Models
from server.models.vendors import DiscoveredProviders

from ...models.fakes import KEY, preset_named
from .. import needs

CLAUDE = {"preset": "anthropic", "api_key": KEY, "model_name": "m"}
OPEN = {"allow": True, "hosts": ["*"]}


def models(entry: Any, **server: Any) -> Models:
    entry = {"api_key": KEY, "model_name": "m", **entry}
    return Models({"providers": {"main": entry}, **server}, Client(), {})


def remote(made: Models, **wanted: Any) -> RemoteAPI:
    api = made.resolve(wanted).api
    assert isinstance(api, RemoteAPI)
    return api


@needs("vendors")
class Named(unittest.TestCase):
    def test_which_providers_speak_it(self) -> None:
        for entry, url in (
            (CLAUDE, "https://api.anthropic.com/v1/messages"),
            ({"preset": "moonshot", "api": "messages"},)
            + ("https://api.moonshot.cn/anthropic/v1/messages",),
            ({"api_url": "http://127.0.0.1:8080/v1/messages"}, "http://127.0.0.1:8080/v1/messages"),
        ):
            for extensions in (["*"], ["messages_api", "vendors"]):
                with self.subTest(entry, extensions=extensions):
                    for wanted in ({}, {"name": "main", "api": "chat"}):
                        api = remote(models(entry, extensions=extensions), **wanted)
                        self.assertIs(type(api), AnthropicAPI)
                        self.assertEqual(api.provider.url, url)

    def test_a_sessions_own(self) -> None:
        own = {"api_url": "https://h.example", "api_key": KEY, "model_name": "m"}
        api = remote(Models({"client_providers": OPEN}, Client(), {}), api="messages", **own)
        self.assertEqual(api.provider.url, "https://h.example/v1/messages")

    def test_its_path(self) -> None:
        for url, wanted in (
            ("https://h/anthropic", "https://h/anthropic/v1/messages"),
            ("https://h/v1/messages?beta=true", "https://h/v1/messages?beta=true"),
        ):
            with self.subTest(url):
                api = choose_api("messages", "", CUSTOM)
                self.assertEqual(endpoint(url, api), wanted)
        self.assertEqual(
            request_url("messages", "", preset_named("deepseek")),
            "https://api.deepseek.com/anthropic/v1/messages",
        )

    def test_which_api_is_meant(self) -> None:
        for url, preset, wanted in (
            ("", "anthropic", "messages"),
            ("https://h/v1/messages", "custom", "messages"),
            ("https://h/v1/chat/completions", "anthropic", "chat"),
        ):
            with self.subTest(url, preset=preset):
                self.assertEqual(choose_api("", url, preset_named(preset)), wanted)


@needs("vendors")
class NotNamed(unittest.TestCase):
    def test_a_configured_one_is_a_mistake(self) -> None:
        for entry in (CLAUDE, {"preset": "moonshot", "api": "messages"}):
            with (
                self.subTest(entry),
                self.assertRaisesRegex(ConfigError, "'messages' needs the"),
            ):
                models(entry, extensions=["vendors"])

    def test_a_found_one_is_skipped(self) -> None:
        found = DiscoveredProviders({"anthropic": CLAUDE, "ollama": {"preset": "ollama"}})
        with self.assertLogs("yaa.llm", "WARNING") as logged:
            made = Models({"extensions": ["vendors"]}, Client(), {}, found)
        self.assertEqual(made.names(), ["ollama"])
        self.assertIn("'messages' needs the extension messages_api", logged.output[0])

    def test_a_sessions_own_is_refused(self) -> None:
        made = Models({"client_providers": OPEN, "extensions": ["vendors"]}, Client(), {})
        with self.assertRaises(Problem) as caught:
            made.resolve(CLAUDE)
        self.assertEqual(caught.exception.code, "session_invalid")
        self.assertIn("'messages' needs the extension messages_api", caught.exception.detail)


if __name__ == "__main__":
    unittest.main()
