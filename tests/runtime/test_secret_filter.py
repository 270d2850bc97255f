"""Secrets in what a call says: whole, cut by a chunk, cut for good."""

from __future__ import annotations

import unittest

from server.lib.runtime.secret_filter import SecretFilter

SECRETS = ("correct-horse-battery", "correct-1", "пароль-секрет")


class Streams(unittest.TestCase):
    def shown(self, *chunks: str) -> str:
        stream = SecretFilter(SECRETS)
        return "".join([*map(stream.pass_on, chunks), stream.end()])

    def test_wherever_a_stream_is_cut(self) -> None:
        text = "a correct-horse-battery b correct-1 c пароль-секрет d correct-2"
        for size in range(1, len(text)):
            chunks = [text[at : at + size] for at in range(0, len(text), size)]
            self.assertEqual(self.shown(*chunks), "a *** b *** c *** d correct-2", size)

    def test_what_begins_like_one_is_held_back_and_then_shown(self) -> None:
        stream = SecretFilter(SECRETS)
        self.assertEqual(stream.pass_on("is cor"), "is ")
        self.assertEqual(stream.pass_on("al"), "coral")
        self.assertEqual(stream.end(), "")

    def test_a_stream_that_ends_in_one_says_nothing_of_it(self) -> None:
        self.assertEqual(self.shown("x correct-horse-bat"), "x ***")
        self.assertEqual(self.shown("x cor"), "x cor", "three letters are no secret")

    def test_without_secrets_nothing_is_held_back(self) -> None:
        self.assertEqual(SecretFilter().pass_on("correct-horse-battery"), "correct-horse-battery")


class Values(unittest.TestCase):
    def test_everywhere_in_a_value(self) -> None:
        value = {"correct-1": ["x correct-1", 5, None, ("correct-1",)], "b": {"c": True}}
        found = SecretFilter(SECRETS).mask(value)
        self.assertEqual(found, {"***": ["x ***", 5, None, ("***",)], "b": {"c": True}})


if __name__ == "__main__":
    unittest.main()
