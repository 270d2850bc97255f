"""Log lines hold no secret, stay on one line, and keep what only looks like a secret."""

from __future__ import annotations

import io
import logging
import tempfile
import time
import unittest
from pathlib import Path

from server import log

CANARY = "Zq9canaryZq9"

SECRET_TEXTS = [
    f"Authorization: Bearer {CANARY}",
    f"authorization: {CANARY}",
    f"AUTHORIZATION={CANARY}",
    f"Authorization: YAA-API-KEY {CANARY}",
    f"Authorization: Digest username=me, response={CANARY}",
    f"Proxy-Authorization: Basic {CANARY}",
    f"{{'Authorization': 'Bearer {CANARY}'}}",
    f'{{"authorization":"Bearer {CANARY}"}}',
    f"sent Bearer {CANARY} upstream",
    f"sent bearer {CANARY}",
    f"sent YAA-API-KEY {CANARY}",
    f"YAA-API-KEY: {CANARY}",
    f"X-Api-Key: {CANARY}",
    f"x-goog-api-key={CANARY}",
    f"api_key={CANARY}",
    f"api-key: {CANARY}",
    f"apikey={CANARY}",
    f"apiKey: {CANARY}",
    f"OPENAI_API_KEY={CANARY}",
    f'"api_key": "{CANARY}"',
    f'"api_key": "two words {CANARY} and \\" a quote"',
    f"'api_key': '{CANARY}'",
    f'{{\\"api_key\\": \\"{CANARY}\\"}}',
    f'"api_keys": ["{CANARY}", "{CANARY}"]',
    f"token={CANARY}",
    f"token: {CANARY}",
    f"access_token={CANARY}",
    f"accessToken: '{CANARY}'",
    f"refresh_token={CANARY}&x=1",
    f"id_token : {CANARY}",
    f"client_secret={CANARY}",
    f"secret: {CANARY}",
    f"SECRET_KEY={CANARY}",
    f"aws_secret_access_key = {CANARY}",
    f"password={CANARY}",
    f"passwd:{CANARY}",
    f"passphrase: '{CANARY}'",
    f"private_key: {CANARY}",
    f"credentials={CANARY}",
    f"Cookie: a=1; session={CANARY}",
    f"Set-Cookie: session={CANARY}; HttpOnly",
    f"cookie={CANARY}",
    f"http://host/v1?key={CANARY}",
    f"http://127.0.0.1:12345/#key={CANARY}",
    f"https://me:{CANARY}@host/path",
    f"sk-{CANARY}",
    f"sk-proj-{CANARY}",
    f"sk-ant-api03-{CANARY}",
    f"sk_live_{CANARY}",
    f"ghp_{CANARY}{CANARY}",
    f"github_pat_{CANARY}",
    f"glpat-{CANARY}",
    f"xoxb-{CANARY}",
    f"hf_{CANARY}",
    f"gsk_{CANARY}",
    f"xai-{CANARY}",
    f"AIza{CANARY}{CANARY}",
    f"ya29.{CANARY}",
    f"eyJhbGciOiJI.{CANARY}.{CANARY}",
    f"-----BEGIN RSA PRIVATE KEY-----\n{CANARY}\n-----END RSA PRIVATE KEY-----",
    f"-----BEGIN PRIVATE KEY----- {CANARY}",
]

SECRET_KEYS = [
    "authorization", "Authorization", "Proxy-Authorization", "api_key", "api-key", "apikey",
    "apiKey", "API_KEY", "X-Api-Key", "openaiApiKey", "api_keys", "key", "token", "access_token",
    "accessToken", "refresh-token", "bot_token", "secret", "secrets", "client_secret",
    "clientSecret", "secret_key", "aws_secret_access_key", "password", "Password", "db_password",
    "passwd", "pwd", "passphrase", "private_key", "cookie", "Set-Cookie", "cookies", "auth",
    "credential", "credentials",
]  # fmt: skip

HARMLESS = [
    "token count 12",
    "max_tokens: 5",
    '"max_tokens": 5, "prompt_tokens": 12',
    "total_tokens=17",
    "tokens: 3",
    "token_type: bearer",
    "Basic facts about the tokenizer",
    "the key is in the map",
    "nearest key: server.port",
    "api_key: null",
    '"auth_required": true',
    "task-management risk-taking disk-usage-report",
    "http://127.0.0.1:12345/info",
    "GET /session 200",
    "monkey=banana",
    "author: Jane",
]

HARMLESS_KEYS = ["max_tokens", "tokens", "token_count", "token_type", "author", "monkey",
                 "auth_required", "key_name", "keys", "secretary", "authors"]  # fmt: skip


class Masking(unittest.TestCase):
    def test_text_that_holds_a_secret(self) -> None:
        self.assertGreaterEqual(len(SECRET_TEXTS), 40)
        for text in SECRET_TEXTS:
            for around in ("{}", "before {} after", 'in "{}"', "[{}]"):
                with self.subTest(text=text, around=around):
                    self.assertNotIn(CANARY, log.mask(around.format(text)))

    def test_structure_with_secret_keys(self) -> None:
        for key in SECRET_KEYS:
            for value in (CANARY, [CANARY], {"deep": CANARY}, 12345678):
                with self.subTest(key=key, value=value):
                    shown = log.masked({"a": [{key: value, "other": 1}]})
                    self.assertEqual(shown, {"a": [{key: "***", "other": 1}]})

    def test_what_only_looks_like_a_secret_stays(self) -> None:
        for text in HARMLESS:
            with self.subTest(text=text):
                self.assertEqual(log.mask(text), text)
        for key in HARMLESS_KEYS:
            with self.subTest(key=key):
                self.assertEqual(log.masked({key: 5}), {key: 5})
        self.assertEqual(log.masked({"token": None, "key": ""}), {"token": None, "key": ""})

    def test_the_value_passed_in_is_not_changed(self) -> None:
        value = {"api_key": CANARY, "list": [{"token": CANARY}]}
        log.masked(value)
        self.assertEqual(value, {"api_key": CANARY, "list": [{"token": CANARY}]})

    def test_registered_secrets_whatever_they_look_like(self) -> None:
        log.register(["correct horse", "correct horse battery", "abc"])
        self.assertEqual(log.mask("<correct horse battery> <correct horse> abc"), "<***> <***> abc")

    def test_hostile_text_does_not_make_masking_slow(self) -> None:
        texts = [
            "a" * 200_000,
            "token" * 40_000,
            "api_key='" * 20_000,
            'secret="\\' * 30_000,
            "-----BEGIN PRIVATE KEY-----" * 5_000,
            "://a:" * 40_000,
            "eyJaaaaaaaa" * 20_000,
            "cookie: " * 20_000,
            "sk-" * 60_000,
        ]
        for text in texts:
            with self.subTest(text=text[:20]):
                began = time.process_time()
                log.mask(text)
                self.assertLess(time.process_time() - began, 2.0)


class Lines(unittest.TestCase):
    def setUp(self) -> None:
        self.stream = io.StringIO()
        log.setup("debug", stream=self.stream)
        self.addCleanup(log.setup, "error", stream=io.StringIO())
        self.log = log.get("test")

    def test_one_record_is_one_line(self) -> None:
        self.log.info("first\nFAKE\r\x1b[31m line\u2028next %s", "a\nb")
        text = self.stream.getvalue()
        self.assertEqual(text.count("\n"), 1)
        self.assertIn("first\\nFAKE\\r\\x1b[31m line\\u2028next a\\nb", text)

    def test_shape_of_a_line(self) -> None:
        self.log.warning("hello %s", "world")
        line = self.stream.getvalue()
        self.assertRegex(
            line, r"^\d{4}-\d\d-\d\dT[\d:]{8}\.\d{3}Z WARNING yaa\.test hello world\n$"
        )

    def test_run_id_is_on_the_line_while_it_is_set(self) -> None:
        token = log.run_id.set("run_7")
        self.log.info("in")
        log.run_id.reset(token)
        self.log.info("out")
        inside, outside = self.stream.getvalue().splitlines()
        self.assertIn(" run=run_7 in", inside)
        self.assertNotIn("run=", outside)

    def test_no_secret_by_any_way_into_a_line(self) -> None:
        log.register([CANARY])
        self.log.info({"api_key": "hush-hush", "n": 1})
        self.log.info("config %s", {"providers": {"main": {"api_key": "hush-hush"}}})
        self.log.info("%(token)s", {"token": "hush-hush"})
        self.log.info(f"path /{CANARY}")
        self.log.info("%s", CANARY.encode())
        try:
            raise ValueError(f"connect to https://me:hush-hush@host with {CANARY}")
        except ValueError:
            self.log.exception("it failed")
        text = self.stream.getvalue()
        self.assertNotIn(CANARY, text)
        self.assertNotIn("hush-hush", text)
        self.assertEqual(text.count("\n"), 6)
        self.assertIn("ValueError", text)

    def test_level_and_propagation(self) -> None:
        log.setup("warning", stream=self.stream)
        self.log.info("too quiet")
        self.assertEqual(self.stream.getvalue(), "")
        self.assertFalse(logging.getLogger("yaa").propagate)
        self.assertEqual(len(logging.getLogger("yaa").handlers), 1)

    def test_a_log_file_in_a_folder(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            log.setup("info", stream=self.stream, folder=Path(folder))
            self.log.info("kept")
            log.setup("info", stream=self.stream)
            self.assertIn("kept", (Path(folder) / "yaa.log").read_text())


if __name__ == "__main__":
    unittest.main()
