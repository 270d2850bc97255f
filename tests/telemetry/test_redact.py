"""No secret is left in a text or a structure, and what only looks like one stays."""

from __future__ import annotations

import json
import re
import time
import unittest
from collections.abc import Iterator
from pathlib import Path

from server.lib.runtime.secret_filter import remove_texts
from server.telemetry import redact

from ..tooling import turns

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "secrets.json").read_text())
CANARY = "Zq9canaryZq9"


def corpus() -> Iterator[tuple[str, list[str]]]:
    """(text, the secrets in it)"""
    for marked in VECTORS["texts"]:
        yield re.sub("[⟦⟧]", "", marked), re.findall("⟦(.*?)⟧", marked)


class Masking(unittest.TestCase):
    def test_text_that_holds_a_secret(self) -> None:
        texts = list(corpus())
        self.assertGreaterEqual(len(texts), 120)
        for text, secrets in texts:
            for around in ("{}", "before {} after", 'in "{}"', "[{}]", "\n{}\n"):
                shown = redact.mask(around.format(text))
                with self.subTest(text=text, around=around):
                    self.assertTrue(secrets)
                    for secret in secrets:
                        self.assertNotIn(secret, shown)
                        self.assertNotIn(CANARY, shown)

    def test_text_inside_of_json(self) -> None:
        for text, secrets in corpus():
            for ascii_only in (False, True):
                inner = json.dumps({"content": f"see\n{text}"}, ensure_ascii=ascii_only)
                for whole in (inner, json.dumps({"arguments": inner})):
                    with self.subTest(whole=whole):
                        shown = redact.mask(whole)
                        self.assertFalse([each for each in secrets if each in shown])

    def test_structure_with_secret_keys(self) -> None:
        for key in VECTORS["keys"]:
            for value in (CANARY, [CANARY], {"deep": CANARY}, 12345678):
                with self.subTest(key=key, value=value):
                    shown = redact.mask_values({"a": [{key: value, "other": 1}]})
                    self.assertEqual(shown, {"a": [{key: "***", "other": 1}]})

    def test_a_header_as_name_and_value(self) -> None:
        shown = redact.mask_values({"name": "X-Api-Key", "value": CANARY})
        self.assertEqual(shown, {"name": "X-Api-Key", "value": "***"})
        self.assertEqual(redact.mask_values({"key": "cookie", "value": CANARY})["value"], "***")
        plain = {"name": "accept", "value": "text/html"}
        self.assertEqual(redact.mask_values(plain), plain)

    def test_every_string_of_a_structure(self) -> None:
        value = {"messages": [{"content": f"Bearer {CANARY}", "n": 1}], f"sk-{CANARY}": ("x",)}
        shown = redact.mask_all(value)
        self.assertEqual(shown, {"messages": [{"content": "Bearer ***", "n": 1}], "***": ["x"]})

    def test_what_only_looks_like_a_secret_stays(self) -> None:
        for text in VECTORS["harmless"]:
            with self.subTest(text=text):
                self.assertEqual(redact.mask(text), text)
        for key in VECTORS["harmless_keys"]:
            with self.subTest(key=key):
                self.assertEqual(redact.mask_values({key: 5}), {key: 5})
        self.assertEqual(redact.mask_values({"token": None, "key": ""}), {"token": None, "key": ""})

    def test_the_value_passed_in_is_not_changed(self) -> None:
        value = {"api_key": CANARY, "list": [{"token": CANARY}]}
        redact.mask_all(value)
        self.assertEqual(value, {"api_key": CANARY, "list": [{"token": CANARY}]})

    def test_what_somebody_is_known_by(self) -> None:
        given = {"Authorization": "Bearer abc-def", "X-Auth-Key": "k" * 8, "PGPASSWORD": "p" * 6}
        plain = {"Accept": "application/json", "ROOT": "/home/me", "N_KEY": 7, "token": "short"}
        found = redact.credentials({**given, **plain}.items())
        self.assertEqual(found, ["Bearer abc-def", "k" * 8, "abc-def", "p" * 6])

    def test_what_somebody_is_known_by_under_a_name_that_does_not_tell(self) -> None:
        key = "4f9a0c1de87b23aa"
        for value, found in (
            (key, [key]),
            (f"abc-{key}.x", [f"abc-{key}.x"]),
            (f"Door {key}", [key]),
            (f"https://hooks.example/s/{key}/mcp?k={key}9", [key + "9", key]),
            ("postgres://me:open-sesame@db.example/main", ["open-sesame"]),
            (f"/srv/{key}", []),
            (f"--size={key}", []),
            ("claude-sonnet-4-5-20250929", []),
            ("application/x-www-form-urlencoded; charset=utf-8", []),
            ("prompt-caching-2024-07-31", []),
            ("1234567890123456", []),
            ("extraordinarilylongword", []),
            ("MyCompanyProject2024", []),
            (f"mcp/time@sha256:{key * 4}", []),
            (f"https://{key}.cloud.example:443/x", []),
            (f"https://{key}@errors.example/7", [key]),
            ("postgres://postgres:postgres@localhost/app", []),
            ("postgres://me:password@localhost/app", []),
        ):
            with self.subTest(value):
                self.assertEqual(redact.credentials([("X-Door", value)]), found)
        for name in ("NOTION_DATABASE_ID", "boardId", "--project-ref", "GIT_COMMIT", "DB", "Image"):
            with self.subTest(name):
                self.assertEqual(redact.credentials([(name, key)]), [])
                self.assertEqual(redact.keys_in({name: key}), [])
        self.assertEqual(redact.credentials([("REPO", f"https://{key}@git.example/x")]), [key])
        for name in ("SESSION_ID", "app_id", "Mcp-Session-Id", "IDEA", "PROJECT_KEY"):
            with self.subTest(name):
                self.assertEqual(redact.credentials([(name, key)]), [key])
                self.assertEqual(redact.keys_in({name: key}), [key])
        self.assertEqual(
            redact.credentials([("DB_PASS", "sesame"), ("X-Jwt", "a.b.c.d")]),
            ["a.b.c.d", "sesame"],
        )

    def test_keys_of_an_address(self) -> None:
        given = {"appid": "a" * 16, "api_key": "k" * 6, "token": "short", "n_key": 1234567}
        given |= {"metric": "m" * 15, "q": "q" * 17}
        self.assertEqual(redact.keys_in(given), ["q" * 17, "a" * 16, "k" * 6])

    def test_json_that_spells_its_names_in_ascii_stays_json(self) -> None:
        text = r'{"\u0061pi_key": "%s", "a": "\u0022\u005c\u0000\u001f \ud83e\udd86 \u00e9"}'
        shown = redact.mask(text % CANARY)
        self.assertEqual(json.loads(shown), {"api_key": "***", "a": '"\\\0\x1f 🦆 é'})

    def test_exact_texts_are_cleared_and_nothing_else(self) -> None:
        value = {"abc-def": ["Bearer abc-def", {"n": 1, "token": "mine"}], "x": None, "y": True}
        shown = remove_texts(value, ["Bearer abc-def", "abc-def"])
        self.assertEqual(shown, {"***": ["***", {"n": 1, "token": "mine"}], "x": None, "y": True})
        self.assertIn("abc-def", value)

    def test_registered_secrets_whatever_they_look_like(self) -> None:
        redact.register(["correct horse", "correct horse battery", "abc"])
        shown = redact.mask("<correct horse battery> <correct horse> abc")
        self.assertEqual(shown, "<***> <***> abc")

    def test_the_time_grows_with_the_text_and_no_faster(self) -> None:
        """Four times the text may take twelve times as long, on a machine that is busy at the wrong
        moment; a square would take sixteen."""
        pieces = [
            *("a", "token", "api_key='", 'secret="\\', "-----BEGIN PRIVATE KEY-----", "://a:"),
            *("eyJaaaaaaaa", "cookie: ", "sk-", "password ", "key A1", "mysql ", " -u a", "--a-"),
            *(
                "密码是",
                "Basic a",
                "Digest ",
                "bearer ",
                "://1",
                "[",
                '\\\\"',
                "a.",
                "authorization'",
            ),
            *("x-", "?key=", "SG.a", "0a", "<password>", "bot1234567:", "\n", " ", "token is "),
        ]
        for piece in turns.share(pieces, 3):
            with self.subTest(piece=piece):
                small, large = (self.seconds(piece * (size // len(piece))) for size in SIZES)
                self.assertLess(large, max(12 * small, 0.5))
        each = 1_048_576 // len(pieces)
        whole = "".join(piece * (each // len(piece)) for piece in pieces)
        self.assertLess(self.seconds(whole), 10.0)

    def seconds(self, text: str) -> float:
        began = time.process_time()
        redact.mask(text)
        return time.process_time() - began


SIZES = (65_536, 262_144)


if __name__ == "__main__":
    unittest.main()
