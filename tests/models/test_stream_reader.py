"""The short cut past the JSON parser gives exactly what the parser gives."""

from __future__ import annotations

import json
import random
import unittest
from collections.abc import Callable
from typing import Any

from server.json_types import Event
from server.models.chat_decoder import Decoder
from server.models.decoder import ChunkTemplate, StreamReader

from .fakes import STOP, message, options, provider, said

END = {"choices": [{"delta": {}, "finish_reason": "stop"}]}
TRICKY = [
    *("a", " ", "\n", "", '"', "\\", "\\n", '\\"', "日本", "😀", "\u2028", "\0", "\x7f", "é"),
    *('","finish_reason":"stop"', '"content":"', "}", "]}", "<think>", "</think>", "'", "\u00a0"),
]


def parsed(chunks: list[Any]) -> list[Event]:
    decoder = Decoder(provider(), options())
    events = [event for chunk in chunks for event in decoder.feed(chunk)]
    return events + decoder.finish(0)


def read(frames: list[str]) -> list[Event]:
    reader = StreamReader(Decoder(provider(), options()), provider())
    events = [e for frame in frames for e in reader.feed(f"data: {frame}\n\n".encode())]
    return events + list(reader.finish(0))


class Same(unittest.TestCase):
    def test_random_streams(self) -> None:
        seed = random.Random(3)
        shapes: list[Callable[[str], Any]] = [
            said,
            lambda text: {"id": "x", **said(text), "usage": None},
            lambda text: {**said(text), "usage": {"total_tokens": seed.randrange(9)}},
            lambda text: {"choices": [{"delta": {"content": None, "reasoning_content": text}}]},
            lambda text: {"choices": [{"delta": {"content": text, "reasoning": text}}]},
            lambda text: {"content": text, **said(text)},
            lambda text: {"x": {"content": "a"}, "choices": [{"delta": {"content": text}}]},
            lambda text: {"choices": [{"index": 1, "delta": {"content": text}}]},
            lambda text: {
                "choices": [{"index": 0, "delta": {"role": "assistant", "content": text}}]
            },
            lambda text: {"choices": [{"delta": {"content": [{"type": "text", "text": text}]}}]},
        ]
        styles: list[Any] = [
            {},
            {"ensure_ascii": False},
            {"separators": (",", ":"), "ensure_ascii": False},
        ]
        for _ in range(400):
            few, style = seed.sample(shapes, 2), seed.choice(styles)
            words = [seed.choice(TRICKY) for _ in range(30)]
            chunks = [seed.choice(few)(word) for word in words] + [END]
            frames = [json.dumps(chunk, **style) for chunk in chunks]
            self.assertEqual(read(frames), parsed(chunks))

    def test_another_string_in_the_place_of_the_text(self) -> None:
        """Frames that look like the template and are not JSON, or mean something else."""
        good = json.dumps(said("aa"))
        start, end = good.split("aa")
        for middle in ('x"y', "x\\", "x\ny", "\\u0041", '","role":"x', ""):
            frame = f"{start}{middle}{end}"
            template = ChunkTemplate()
            template.learn(
                good, said("aa"), [{"type": "", "delta": "aa"}], Decoder(provider(), options())
            )
            with self.subTest(middle):
                self.assertEqual(template.text(f"{start}bb{end}"), "bb")
                self.assertEqual(template.text(frame), "")

    def test_beginning_and_end_must_not_overlap(self) -> None:
        template = ChunkTemplate()
        chunk = {"choices": [{"delta": {"content": "a"}}]}
        template.learn(
            json.dumps(chunk), chunk, [{"type": "", "delta": "a"}], Decoder(provider(), options())
        )
        before, after = json.dumps(chunk).split("a}")[0], '"}}]}'
        self.assertEqual(template.text(before[:-1] + after[1:]), "")


class Use(unittest.TestCase):
    def test_it_is_used(self) -> None:
        parses = 0

        class Counting(Decoder):
            def feed(self, chunk: Any) -> list[Event]:
                nonlocal parses
                parses += 1
                return super().feed(chunk)

        for key in ("content", "reasoning_content", "reasoning"):
            parses = 0
            reader = StreamReader(Counting(provider(), options()), provider())
            chunks = [{"choices": [{"delta": {key: f"t{n}"}, "index": 0}]} for n in range(100)]
            frames = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in [*chunks, STOP])
            events = [*reader.feed(frames.encode()), *reader.finish(0)]
            text = "".join(f"t{n}" for n in range(100))
            made = message(events)
            with self.subTest(key):
                self.assertEqual(parses, 2)
                said_or_thought = made["content"] or made["reasoning"]["text"]
                self.assertEqual(said_or_thought, text)

    def test_a_stream_that_is_never_the_same_stops_learning(self) -> None:
        template, decoder = ChunkTemplate(), Decoder(provider(), options())
        for number in range(50):
            chunk = {"id": number, **said("x")}
            self.assertEqual(template.text(json.dumps(chunk)), "")
            template.learn(json.dumps(chunk), chunk, [{"type": "", "delta": "x"}], decoder)
        same = {"id": 1, **said("x")}
        for _ in range(2):
            template.learn(json.dumps(same), same, [{"type": "", "delta": "x"}], decoder)
        self.assertEqual(template.text(json.dumps(same)), "")


if __name__ == "__main__":
    unittest.main()
