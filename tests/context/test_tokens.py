"""Estimating tokens: against real counts; parts, samples, a bounded time whatever the text."""

from __future__ import annotations

import random
import statistics
import time
import unittest
from typing import Any

from server.context.budget import (
    FACTOR,
    FAMILIES,
    FEW_PLACES,
    MEDIA,
    MESSAGE,
    MOST_OF_CHARACTER,
    PLACES,
    SAMPLED,
    WHOLE,
    WINDOW,
    costs_of,
    estimate,
    estimator,
    of_message,
    of_messages,
    roughly,
)

from ..bench.tokens import PROMISED, by, error, foretold, pieces


class AgainstRealCounts(unittest.TestCase):
    """The texts that the costs were not fitted on. tests/interop counts them again."""

    def test_the_corpus_is_what_was_promised(self) -> None:
        kinds = {piece["kind"] for piece in pieces()}
        self.assertEqual(len(kinds), 15, "ten languages and five kinds of code")
        self.assertLessEqual({"zh", "ja", "ko", "ar", "hi", "ru", "th"}, kinds)
        self.assertGreater(len(pieces("held")), 80)

    def test_the_two_vocabularies_of_the_promise(self) -> None:
        for family, model in PROMISED.items():
            for half in ("fit", "held"):
                with self.subTest(family=family, half=half):
                    found = error(pieces(half), family, by(costs_of(model)))
                    self.assertLessEqual(found.mean, 0.06)
                    self.assertLessEqual(found.p95, 0.15)

    def test_the_others(self) -> None:
        for family in FAMILIES:
            if family:
                with self.subTest(family=family):
                    found = error(pieces("held"), family, by(FAMILIES[family]))
                    self.assertLessEqual(found.mean, 0.065)
                    self.assertLessEqual(found.p95, 0.16)

    def test_the_next_request(self) -> None:
        for family in PROMISED:
            with self.subTest(family=family):
                self.assertLessEqual(foretold(family, seeds=20).mean, 0.02)

    def test_models_are_known_by_their_names(self) -> None:
        cases = {
            "o200k": ("gpt-4o", "gpt-4.1-mini", "openai/gpt-5", "gpt-oss-20b", "o3-mini", "GPT-4o"),
            "cl100k": ("gpt-4", "gpt-4-turbo", "gpt-3.5-turbo"),
            "qwen": ("qwen3-max", "Qwen/Qwen2.5-7B-Instruct", "qwen-plus", "qwq-32b"),
            "qwen35": ("qwen3.6-27b", "Qwen/Qwen3.5-27B"),
            "deepseek": ("deepseek-chat", "deepseek-ai/DeepSeek-V3.2"),
            "llama": ("meta-llama/Llama-3.1-8B", "llama3:8b", "Llama-4-Scout"),
            "gemma": ("gemma-3-4b-it", "gemini-2.5-pro"),
            "": ("MiniMax-M2", "kimi-latest", "glm-4.7", "smollm2", "foo3", ""),
        }
        for family, models in cases.items():
            for model in models:
                with self.subTest(model=model):
                    self.assertIs(costs_of(model), FAMILIES[family])

    def test_no_character_costs_more_than_what_is_reckoned_with(self) -> None:
        """context/budget.py looks no closer at a request that is small even if each costs the
        most."""
        for text in ("1", "1 1", "1\n1\n", "あ", "ไ", "न ", "हि", "é", "\n", "한", "🙂", "1,2,3"):
            for family, costs in FAMILIES.items():
                with self.subTest(text=text, family=family):
                    most = MOST_OF_CHARACTER * len(text * 50)
                    self.assertLessEqual(estimate(text * 50, costs), most)


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
        content = [image, {"type": "text", "text": "hello"}]
        self.assertEqual(of_message({"role": "user", "content": content}), MESSAGE + MEDIA + 1)
        self.assertEqual(of_message({"role": "user", "content": None}), MESSAGE)
        call: Any = {"id": "c", "function": {"name": "read", "arguments": '{"path": "a.txt"}'}}
        self.assertGreater(
            of_message({"role": "assistant", "content": "", "tool_calls": [call]}), 15
        )


class Histories(unittest.TestCase):
    """Many texts are measured in a bounded time, whatever their number and length."""

    def test_few_texts_are_measured_whole(self) -> None:
        texts = ["A sentence of a report, number 17.", "", "x" * (WHOLE - 34)]
        each = estimator(texts)
        self.assertEqual(list(map(each, texts)), list(map(estimate, texts)))
        self.assertEqual(estimator([])("hello"), 1)

    def test_of_many_only_windows_are_looked_at(self) -> None:
        for texts in (["y" * 200] * 5_000, ["y" * 1_000_000], ["", "y" * 33_000, ""]):
            read: list[int] = []

            class Counted(str):
                __slots__ = ()

                def __getitem__(self, key: object, read: list[int] = read) -> str:
                    found = super().__getitem__(key)  # type: ignore[index]
                    read.append(len(found))
                    return found

            each = estimator([Counted(text) for text in texts])
            with self.subTest(texts=len(texts)):
                self.assertGreater(sum(read), 0)
                self.assertLessEqual(sum(read), PLACES * WINDOW)
                self.assertGreater(sum(map(each, texts)), sum(map(len, texts)) * 0.01)

    def test_the_error_is_no_larger_than_that_of_a_text(self) -> None:
        """Histories of a thousand messages in ten languages and five kinds of code, by real
        counts."""
        held = pieces("held")
        for vocabulary, model in PROMISED.items():
            costs, errors = costs_of(model), []
            for seed in range(10):
                chosen = random.Random(seed).choices(held, k=1_000)
                counted = sum(piece["tokens"][vocabulary] for piece in chosen)
                texts = [piece["text"] for piece in chosen]
                found = sum(map(estimator(texts, costs), texts))
                errors.append(abs(found / counted - 1))
            self.assertLess(statistics.mean(errors), 0.056, vocabulary)

    def test_a_rough_look_is_right_within_its_factor(self) -> None:
        """Also where all texts are of few kinds."""
        held = pieces("held")
        for vocabulary, model in PROMISED.items():
            for seed in range(30):
                random_ = random.Random(seed)
                few = held if seed % 2 else random_.sample(held, 4)
                chosen = random_.choices(few, k=random_.choice((50, 200, 1_000)))
                counted = sum(MESSAGE + piece["tokens"][vocabulary] for piece in chosen)
                messages: list[Any] = [{"role": "user", "content": e["text"]} for e in chosen]
                found = roughly(messages, costs_of(model))
                self.assertLess(max(found / counted, counted / found), FACTOR, (vocabulary, seed))
        self.assertEqual(roughly([]), 0)

    def test_a_rough_look_reads_a_few_texts(self) -> None:
        read: list[str] = []

        class Counted(str):
            __slots__ = ()

            def isascii(self) -> bool:
                read.append(self)
                return super().isascii()

            def __getitem__(self, key: object) -> str:
                read.append(self)
                return super().__getitem__(key)  # type: ignore[index]

        texts = [Counted(f"A sentence of {number} words. " * 8) for number in range(5_000)]
        messages: list[Any] = [{"role": "user", "content": text} for text in texts]
        self.assertGreater(roughly(messages), 5_000)
        self.assertLessEqual(len(read), FEW_PLACES)

    def test_a_rough_look_counts_calls_and_pictures(self) -> None:
        random_ = random.Random(1)
        picture = {"type": "image_url", "image_url": {"url": "data:,"}}
        call: Any = {"id": "c", "function": {"name": "read", "arguments": '{"path": "a.txt"}'}}
        kinds: list[Any] = [
            {"role": "user", "content": "word " * 30},
            {"role": "user", "content": [picture, {"type": "text", "text": "What is it?"}]},
            {"role": "assistant", "content": "", "tool_calls": [call] * 3},
            {"role": "assistant", "content": None},
        ]
        for count in (1, 30, 400):
            for few in (kinds, *([kind] for kind in kinds)):
                messages = random_.choices(few, k=count)
                exact = sum(map(of_message, messages))
                found = roughly(messages)
                self.assertLess(max(found / exact, exact / found), FACTOR, (count, few))

    def test_messages(self) -> None:
        messages: list[Any] = [
            {"role": "user", "content": "hello"},
            {"role": "assistant", "content": None},
        ]
        self.assertEqual(of_messages(messages), [of_message(each) for each in messages])
