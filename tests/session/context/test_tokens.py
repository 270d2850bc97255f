"""Estimating tokens: parts, samples, and a bounded time whatever the text."""

from __future__ import annotations

import time
import unittest

from server.session.context.tokens import MEDIA, SAMPLED, estimate, of_content, of_message


class Estimates(unittest.TestCase):
    def test_a_long_text_is_sampled(self) -> None:
        line = "A sentence of a report, number 17.\n"
        long = line * (SAMPLED // len(line) + 200)
        self.assertAlmostEqual(
            estimate(long), estimate(line) * len(long) / len(line), delta=estimate(long) * 0.05
        )

    def test_hostile_text_is_cheap(self) -> None:
        for text in (
            "aA" * 500_000,
            "a1" * 500_000,
            "=" * 1_000_000,
            " " * 1_000_000,
            "🙂" * 250_000,
        ):
            started = time.process_time()
            self.assertGreater(estimate(text), 100)
            self.assertLess(time.process_time() - started, 1.0, text[:4])

    def test_parts_and_calls(self) -> None:
        image = {"type": "image_url", "image_url": {"url": "data:" + "x" * 10**6}}
        self.assertEqual(of_content([image, {"type": "text", "text": "hello"}]), MEDIA + 1)
        self.assertEqual(of_content(None), 0)
        call = {"id": "c", "function": {"name": "read", "arguments": '{"path": "a.txt"}'}}
        self.assertGreater(
            of_message({"role": "assistant", "content": "", "tool_calls": [call]}), 15
        )
