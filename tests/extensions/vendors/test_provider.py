"""Providers with a preset: their address, key and model, and what comes of them without it."""

from __future__ import annotations

import unittest
from typing import Any

from server.config import ConfigError
from server.errors import Problem
from server.lib.http.client import Client
from server.models.registry import Models

from ...models.fakes import KEY
from ...models.test_registry import models, provider

THEIRS = "sk-theirs-0123456789"


class Named(unittest.TestCase):
    def test_mistakes_are_found_at_start(self) -> None:
        for entry, words in (
            ({"preset": "opnai"}, "'opnai' is not known; did you mean openai?"),
            ({"preset": "x"}, "'x' is not known: openai, anthropic, "),
            ({"preset": "openai", "api_url": "http://[::1/v1"}, "Invalid IPv6 URL"),
        ):
            with self.subTest(entry), self.assertRaisesRegex(ConfigError, words):
                models({"main": entry})

    def test_of_the_server(self) -> None:
        for entry, url in (
            ({"preset": "openai", "api": "chat"}, "https://api.openai.com/v1/chat/completions"),
            (
                {"preset": "openai", "api_url": "https://gateway.example/v1"},
                "https://gateway.example/v1/chat/completions",
            ),
            ({"preset": "Kimi"}, "https://api.moonshot.cn/v1/chat/completions"),
        ):
            made = models({"main": {"api_key": KEY, "model_name": "m", **entry}})
            for wanted in ({}, {"name": "main", "api": "chat"}, {"preset": "deepseek"}):
                with self.subTest(entry, wanted=wanted):
                    asked = provider(made, **wanted)
                    self.assertEqual((asked.url, asked.key), (url, KEY))

    def test_the_environments_key_goes_to_its_vendor_only(self) -> None:
        env = {"OPENAI_API_KEY": KEY}
        entry = {"preset": "openai", "model_name": "m"}
        self.assertEqual(provider(models({"main": entry}, env=env)).key, KEY)
        elsewhere = {**entry, "api_url": "https://evil.example/v1"}
        self.assertEqual(provider(models({"main": elsewhere}, env=env)).key, "")

    def test_beside_a_base_url_it_goes_to_that_host_only(self) -> None:
        vendor = {"preset": "openai", "model_name": "m"}
        gateway = {**vendor, "api_url": "https://gate.example/v1"}
        for base, keys in (
            ("https://gate.example", ("", KEY)),
            ("https://api.openai.com", (KEY, "")),
            (" ", (KEY, "")),
            ("https://[", ("", "")),
        ):
            env = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": base}
            found = (provider(models({"main": each}, env=env)).key for each in (vendor, gateway))
            with self.subTest(base):
                self.assertEqual(tuple(found), keys)

    def test_keys_from_the_environment(self) -> None:
        env = {"DEEPSEEK_API_KEY": KEY}
        cases = [
            ({"preset": "deepseek"}, KEY),
            ({"preset": "deepseek", "api_key": "own"}, "own"),
            ({"preset": "deepseek", "api_url": "https://api.deepseek.com/beta/v1"}, KEY),
            ({"preset": "deepseek", "api_url": "https://elsewhere.example/v1"}, ""),
            ({"preset": "custom", "api_url": "https://api.deepseek.com", "model_name": "x"}, ""),
        ]
        for entry, key in cases:
            with self.subTest(entry):
                self.assertEqual(provider(models({"main": entry}, env=env)).key, key)

    def test_with_a_preset(self) -> None:
        rules = {"allow": True, "hosts": ["api.deepseek.com"]}
        found = provider(models(rules=rules), preset="deepseek", api_key=THEIRS)
        self.assertEqual(found.url, "https://api.deepseek.com/v1/chat/completions")
        self.assertEqual((found.model, found.key), ("deepseek-chat", THEIRS))

    def test_a_session_s_own_that_nobody_knows(self) -> None:
        rules = {"allow": True, "hosts": ["*"]}
        with self.assertRaises(Problem) as caught:
            models(rules=rules).resolve({"preset": "deepsek", "api_key": THEIRS})
        self.assertEqual(caught.exception.code, "provider_unknown")
        self.assertIn("Did you mean 'deepseek'?", caught.exception.detail)


class NotNamed(unittest.IsolatedAsyncioTestCase):
    def registry(self, entry: Any = None, **server: Any) -> Models:
        providers = {} if entry is None else {"main": entry}
        return Models({"providers": providers, "extensions": [], **server}, Client(), {})

    def test_a_preset_is_a_mistake_that_names_the_extension(self) -> None:
        said = "preset: '{}' needs the extension vendors, which server.extensions leaves out"
        for preset, words in (
            *((name, said.format(name)) for name in ("openai", "ollama", "Kimi")),
            ("nonsense", "preset: 'nonsense' is not known: custom"),
        ):
            with self.subTest(preset), self.assertRaisesRegex(ConfigError, words):
                self.registry({"preset": preset, "api_key": KEY, "model_name": "m"})

    def test_a_whole_address_is_all_that_is_needed(self) -> None:
        for preset in ({}, {"preset": ""}, {"preset": "custom"}):
            entry = {"api_url": "https://api.openai.com/v1", "api_key": KEY, "model_name": "gpt-5"}
            made = self.registry({**entry, **preset})
            asked = provider(made)
            self.assertEqual(asked.url, "https://api.openai.com/v1/chat/completions")
            self.assertEqual((asked.key, asked.preset.name), (KEY, "custom"))
            self.assertEqual(dict(asked.costs), {})
            self.assertEqual(made.catalog()[0]["about"], {})

    def test_a_session_s_own(self) -> None:
        made = self.registry(client_providers={"allow": True, "hosts": ["*"]})
        own = {"api_key": THEIRS, "model_name": "m"}
        self.assertEqual(provider(made, api_url="https://h.example", **own).key, THEIRS)
        with self.assertRaises(Problem) as caught:
            made.resolve({"preset": "deepseek", **own})
        self.assertEqual(caught.exception.code, "provider_unknown")

    async def test_nothing_is_found(self) -> None:
        client = Client()
        vendors = self.registry().vendors
        found = await vendors.discover({"discover": True}, client, {"OPENAI_API_KEY": KEY})
        await client.close()
        self.assertEqual((found.providers, found.lines), ({}, []))
        self.assertEqual([each["vendor"] for each in vendors.info()], ["custom"])


if __name__ == "__main__":
    unittest.main()
