"""Providers' words for how an answer ended: the same in the page (tests/client/session.test.js)."""

from __future__ import annotations

import json
import unittest
from typing import Any

from server.agent.call_decisions import truncation_error
from server.session.outcome import ended_by

from ..tooling.tools import ROOT

WORDS = json.loads((ROOT / "tests" / "vectors" / "endings.json").read_text("utf-8"))


class Endings(unittest.TestCase):
    def test_words(self) -> None:
        for word, how in WORDS.items():
            with self.subTest(word):
                self.assertEqual(ended_by({"meta": {"finish_reason": word}}), how)

    def test_no_word(self) -> None:
        odd: list[Any] = [None, 3, {}]
        metas: list[Any] = [
            {},
            {"meta": None},
            {"meta": {}},
            *({"meta": {"finish_reason": x}} for x in odd),
        ]
        for message in metas:
            with self.subTest(message):
                self.assertEqual(ended_by(message), "")

    def test_a_call_at_the_limit_is_not_run(self) -> None:
        """Its arguments may be JSON by chance: the limit may have come in the middle of a list."""
        call: Any = {"id": "b", "function": {"name": "f", "arguments": '{"paths":["a"]}'}}
        first: Any = {**call, "id": "a"}
        for word, how in WORDS.items():
            with self.subTest(word):
                message: Any = {"tool_calls": [first, call], "meta": {"finish_reason": word}}
                self.assertEqual(truncation_error(message, first), "")
                self.assertEqual("length limit" in truncation_error(message, call), how == "length")
                without: Any = {**call, "function": {"name": "f", "arguments": " "}}
                self.assertEqual(
                    bool(truncation_error(message, without)), word not in ("stop", "tool_calls")
                )


if __name__ == "__main__":
    unittest.main()
