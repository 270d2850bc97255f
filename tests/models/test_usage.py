"""Usage objects in every dialect, and what they cost."""

from __future__ import annotations

import unittest
from typing import Any

from server.lib.strict_json import LARGEST_COUNT
from server.models import decoder


class Read(unittest.TestCase):
    def test_dialects(self) -> None:
        cases: list[tuple[Any, Any]] = [
            (
                {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5},
                {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5},
            ),
            ({"total_tokens": 5}, {"prompt_tokens": 5, "completion_tokens": 0, "total_tokens": 5}),
            (
                {"prompt_tokens": 3, "total_tokens": 5},
                {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5},
            ),
            (
                {"input_tokens": 3, "output_tokens": 2},
                {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5},
            ),
            (
                {"prompt_tokens": 3.0, "completion_tokens": 0, "prompt_tokens_details": None},
                {"prompt_tokens": 3, "completion_tokens": 0, "total_tokens": 3},
            ),
            (
                {
                    "input_tokens": 9,
                    "output_tokens": 2,
                    "total_tokens": 11,
                    "input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 3},
                    "output_tokens_details": {"reasoning_tokens": 1},
                },
                {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11}
                | {"reasoning_tokens": 1, "cached_tokens": 4, "cache_write_tokens": 3},
            ),
            (
                {
                    "input_tokens": 1,
                    "output_tokens": 2,
                    "cache_read_input_tokens": 5,
                    "cache_creation_input_tokens": 0,
                },
                {"prompt_tokens": 6, "completion_tokens": 2, "total_tokens": 8, "cached_tokens": 5},
            ),
            (  # xAI: thoughts beside the completion
                {
                    "prompt_tokens": 10120,
                    "completion_tokens": 1499,
                    "total_tokens": 14428,
                    "prompt_tokens_details": {"cached_tokens": 128},
                    "completion_tokens_details": {"reasoning_tokens": 2809},
                },
                {"prompt_tokens": 10120, "completion_tokens": 4308, "total_tokens": 14428}
                | {"reasoning_tokens": 2809, "cached_tokens": 128},
            ),
            (  # Gemini: thoughts in the total alone
                {"prompt_tokens": 5, "completion_tokens": 10, "total_tokens": 115},
                {"prompt_tokens": 5, "completion_tokens": 110, "total_tokens": 115},
            ),
            (  # what was cached, beside the prompt: nothing of the answer
                {"prompt_tokens": 5, "completion_tokens": 1, "total_tokens": 106}
                | {"cache_read_input_tokens": 100},
                {"prompt_tokens": 5, "completion_tokens": 1, "total_tokens": 106}
                | {"cached_tokens": 100},
            ),
            (
                {"prompt_tokens": 5, "completion_tokens": 4, "total_tokens": 9}
                | {"completion_tokens_details": {"reasoning_tokens": 3}},
                {"prompt_tokens": 5, "completion_tokens": 4, "total_tokens": 9}
                | {"reasoning_tokens": 3},
            ),
        ]
        for raw, wanted in cases:
            with self.subTest(raw):
                self.assertEqual(decoder.read_usage(raw, 1, 1), wanted)

    def test_sums_stay_what_a_session_may_hold(self) -> None:
        """Found by fuzzing: each number is one, their sum was none, and the session was refused."""
        most = LARGEST_COUNT
        for raw in (
            {"input_tokens": 6, "cache_creation_input_tokens": most, "output_tokens": 1},
            {"input_tokens": most, "cache_read_input_tokens": most, "output_tokens": most},
            {"prompt_tokens": most, "completion_tokens": most},
        ):
            with self.subTest(raw):
                found: Any = decoder.read_usage(raw, 1, 1)
                self.assertLessEqual(max(found.values()), most)
                self.assertEqual(found["total_tokens"], most)

    def test_nothing_usable_is_estimated(self) -> None:
        wanted = {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4, "estimated": True}
        nan = {"prompt_tokens": float("nan")}
        zeros = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
        for raw in (None, {}, {"prompt_tokens": "7"}, {"total_tokens": -1}, nan, zeros):
            with self.subTest(raw):
                self.assertEqual(decoder.read_usage(raw, 9, 3), wanted)


class Price(unittest.TestCase):
    def test_prices(self) -> None:
        used = {"prompt_tokens": 1000, "completion_tokens": 500, "total_tokens": 1500}
        cached = {**used, "cached_tokens": 400}
        cases: list[tuple[Any, dict[str, float], int | None]] = [
            (used, {}, None),
            (used, {"total": 0.002}, 3000),
            (used, {"total": 0.57}, 855_000),  # a float would be a little less
            (used, {"input": 0.001, "output": 0.004}, 3000),
            (cached, {"input": 0.001, "output": 0.004, "cached": 0.0001}, 2640),
            (cached, {"input": 0.001}, 1000),
            ({**used, "cached_tokens": 10**9}, {"input": 0.001, "cached": 0}, 0),
            (
                {**cached, "cache_write_tokens": 100},
                {"input": 0.001, "cached": 0.0001, "cache_write": 0.002},
                740,
            ),
            (used, {"total": 0}, 0),
            (used, {"total": 1e308}, LARGEST_COUNT),
        ]
        for tokens, costs, wanted in cases:
            with self.subTest(costs):
                self.assertEqual(decoder.price(tokens, costs), wanted)


if __name__ == "__main__":
    unittest.main()
