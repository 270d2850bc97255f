"""What people are told of a failed call."""

from __future__ import annotations

import json
import unittest
from typing import Any

from server.llm.failure import MAX_QUOTE, Failure, from_chunk, from_status, quote, read_error
from tests.llm.fakes import KEY


class Words(unittest.TestCase):
    def test_every_vendors_error(self) -> None:
        cases = {
            '{"error":{"message":"m","type":"t"}}': "m",
            '{"error":"m"}': "m",
            '{"message":"m","code":"InvalidApiKey"}': "m",
            '{"detail":"m"}': "m",
            '{"detail":[{"loc":["body"],"msg":"m"}]}': "m",
            '{"base_resp":{"status_code":1,"status_msg":"m"}}': "m",
            '{"code":500,"msg":"m","success":false}': "m",
            '[{"error":{"message":"m"}}]': "m",
            '{"error":{"error":{"message":"m"}}}': "m",
            '{"title":"m","status":400}': "m",
            '"m"': "m",
            "m": "m",
            " m\r\n m\t\0 ": "m m",
            "<html><head><title>m</title></head><b>n</b>": "m n",
            "": "",
            "{}": "{}",
        }
        for body, wanted in cases.items():
            with self.subTest(body):
                self.assertEqual(read_error(body.encode()), wanted)

    def test_hostile_bodies(self) -> None:
        for body in (b"\xff" * 9, b"[" * 9999, b"<" * 9999, b'{"error":' * 9999, b"x" * 60_000):
            with self.subTest(body[:9]):
                text = read_error(body)
                self.assertLessEqual(len(text), MAX_QUOTE + 1)
                json.dumps(text).encode()

    def test_keys_are_never_quoted(self) -> None:
        for text in (
            f"bad key {KEY}",
            f"Authorization: Bearer {KEY}",
            "Bearer abcdef123456",
            '{"api_key": "abcdef123456"}',
            "x" * (MAX_QUOTE - 5) + KEY,
            "unusual/key+1234",
        ):
            with self.subTest(text):
                said = quote(text, "unusual/key+1234" if "unusual" in text else KEY)
                for secret in (KEY, KEY[:10], "abcdef123456", "unusual"):
                    self.assertNotIn(secret, said)

    def test_half_pairs_and_controls(self) -> None:
        self.assertEqual(quote("a\ud83d\u202eb\x1b[31m", ""), "a\ufffd b [31m")


class Chunks(unittest.TestCase):
    def test_no_failure(self) -> None:
        chunks: list[Any] = [{}, {"choices": []}, {"error": None}, {"error": ""}, {"usage": {}}]
        for chunk in chunks:
            self.assertIsNone(from_chunk(chunk, "main"))

    def test_says_who(self) -> None:
        failure = from_chunk({"error": {"message": f"no {KEY}"}}, "main", KEY)
        assert failure is not None
        self.assertEqual(failure.message, "main failed: no ***")


class Events(unittest.TestCase):
    def test_shape(self) -> None:
        event = Failure("upstream_error", "m", details={"status": 500}).event(2)
        self.assertEqual(
            event,
            {
                "type": "RUN_ERROR",
                "message": "m",
                "code": "upstream_error",
                "metadata": {"yaa": {"retryable": True, "attempts": 2, "status": 500}},
            },
        )

    def test_a_redirect_says_what_to_do(self) -> None:
        failure = from_status(301, {"location": "http://x/"}, b"", "main")
        self.assertIn("set api_url to the final address", failure.message)
        self.assertNotIn("http://x/", failure.message)


if __name__ == "__main__":
    unittest.main()
