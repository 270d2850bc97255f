"""Secrets of a configuration: hidden, put back."""

from __future__ import annotations

import json
import unittest
from typing import Any

from server.extensions.settings.hidden_secrets import hide, put_back

from ...settings.test_secret_values import DOCUMENT, KEY


class Secrets(unittest.TestCase):
    def test_what_is_shown_holds_none(self) -> None:
        shown = json.dumps(hide(DOCUMENT))
        for secret in (KEY, KEY[:-4], "k" * 20, "blue", "/bin"):
            self.assertNotIn(secret, shown)
        self.assertIn("${BRAVE_API_KEY}", shown)
        self.assertIn('"page": "2"', shown)
        hidden = hide(DOCUMENT)["server"]["providers"]["main"]
        self.assertEqual(hidden["api_key"], {"secret": True, "tail": "…cdef"})
        self.assertEqual(hidden["headers"]["X-Team"], {"secret": True}, "too short for a tail")
        self.assertEqual(DOCUMENT["server"]["providers"]["main"]["api_key"], KEY, "a copy")

    def test_what_is_hidden_is_put_back(self) -> None:
        self.assertEqual(put_back(hide(DOCUMENT), DOCUMENT), DOCUMENT)

    def test_an_entry_that_is_taken_out_leaves_its_secret_to_no_other(self) -> None:
        entries = [{"name": name, "key": name * 20} for name in "abc"]
        shown = hide(entries)
        self.assertEqual(put_back(shown[:2], entries), entries[:2])
        for rest in (shown[1:], [shown[0], shown[2]]):
            with self.assertRaises(ValueError):
                put_back(rest, entries)

    def test_within_addresses_and_arguments(self) -> None:
        secret = "a1B2c3D4e5F6g7H8i9"
        cases: list[tuple[Any, Any]] = [
            ({"args": ["--key", secret]}, {"args": ["--key", "***"]}),
            ({"args": [f"API_KEY={secret}"]}, {"args": ["API_KEY=***"]}),
            (
                {"args": ["--header", f"Authorization: Bearer {secret}"]},
                {"args": ["--header", "Authorization: ***"]},
            ),
            ({"args": [f"postgres://me:{secret}@h/db"]}, {"args": ["postgres://me:***@h/db"]}),
            ({"base_url": f"https://{secret}@h/x"}, {"base_url": "https://***@h/x"}),
            ({"api_url": f"http://h/?key={secret}"}, {"api_url": "http://h/?key=***"}),
        ]
        for value, shown in cases:
            with self.subTest(value):
                self.assertEqual(hide(value), shown)
                self.assertEqual(put_back(shown, value), value)
                with self.assertRaises(ValueError):
                    put_back(shown, {})
        for plain in (
            {
                "args": ["-y", "@scope/server", "/data", "--port", "80"],
                "url": "http://h:80/mcp?x=1",
            },
            {"character": f"See https://me:{secret}@h/ and ***this***"},
            {"text": "*** bold *** and a1B2c3D4e5F6g7H8i9", "args": "no list", "url": "http://["},
            {"args": ["--api-key", "${API_KEY}", "--token=${TOKEN}"], "url": "http://${HOST}/"},
        ):
            self.assertEqual(hide(plain), plain)
            self.assertEqual(put_back(plain, {}), plain)

    def test_what_has_no_secret_there_is_refused(self) -> None:
        hidden = {"secret": True}
        for new, old in (
            ({"api_key": hidden}, {}),
            ({"api_key": hidden}, None),
            ({"a": {"api_key": hidden}}, {"a": 5}),
            ([hidden], []),
            (hidden, {"api_key": KEY}),
            ([{"name": "bob", "key": hidden}], [{"name": "ann", "key": "k" * 10}]),
        ):
            with self.subTest(new=new), self.assertRaises(ValueError):
                put_back(new, old)
        for value in ({"secret": "true"}, {"secret": 1}, {"tail": "x"}):
            self.assertEqual(put_back(value, {}), value, "no hidden secret")
