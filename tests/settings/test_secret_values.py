"""Secrets of a configuration are found."""

from __future__ import annotations

import unittest
from typing import Any

from server.settings.secret_values import secrets_in, secrets_within

KEY = "sk-0123456789abcdef"
DOCUMENT: dict[str, Any] = {
    "server": {
        "api_keys": [KEY, {"name": "ann", "key": "k" * 20}],
        "providers": {"main": {"preset": "openai", "api_key": KEY, "headers": {"X-Team": "blue"}}},
        "mcpServers": {"a": {"url": "http://x", "env": {"PATH": "/bin"}}},
        "rest": {"r": {"query": {"api_key": KEY, "page": "2"}}},
        "search": {"api_key": "${BRAVE_API_KEY}", "url": ""},
    }
}


class Secrets(unittest.TestCase):
    def test_every_secret_is_found(self) -> None:
        found = {".".join(map(str, place)) for place, text in secrets_in(DOCUMENT) if text}
        wanted = {
            "server.api_keys.0",
            "server.api_keys.1.key",
            "server.providers.main.api_key",
            "server.providers.main.headers.X-Team",
            "server.mcpServers.a.env.PATH",
            "server.rest.r.query.api_key",
            "server.search.api_key",
        }
        self.assertEqual(found, wanted)

    def test_those_within_addresses_and_arguments_wherever_they_stand(self) -> None:
        address, arguments = f"https://ann:{KEY}@x", ["--key", KEY]
        for value in (address, [address], {"a": [[address]]}, {"args": arguments}):
            with self.subTest(value=value):
                self.assertEqual({*secrets_within(value)}, {KEY})
        self.assertEqual([*secrets_within({"args": ["run"], "url": ["http://x"], "n": 1})], [])
