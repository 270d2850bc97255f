"""Values in words: whatever they are, short and printable."""

from __future__ import annotations

import unittest
from typing import Any

from server.schema.report import describe, either, nearest, one_of, show

DESCRIBED: list[tuple[Any, str]] = [
    (None, "null"),
    (True, "boolean (true)"),
    (5, "integer (5)"),
    (10**5000, "integer (of 16610 bits)"),
    (2.50, "number (2.5)"),
    ('a"\n', 'string ("a\\"\\n")'),
    ("x" * 61, 'string ("' + "x" * 60 + '…")'),
    ("\ud800", 'string ("\\ud800")'),
    ([], "array of 0 items"),
    ([1], "array of 1 item"),
    ({}, "empty object"),
    ({"a": 1, "b": 2}, 'object with "a", "b"'),
    (dict.fromkeys("abcde"), 'object with "a", "b", "c", …'),
    ((1,), "a Python tuple"),
]


class Words(unittest.TestCase):
    def test_describe(self) -> None:
        for value, expected in DESCRIBED:
            with self.subTest(expected):
                self.assertEqual(describe(value), expected)
                describe(value).encode()

    def test_lists(self) -> None:
        self.assertEqual(either(["a"]), "a")
        self.assertEqual(either(["a", "b", "a", "c"]), "a, b or c")
        self.assertEqual(one_of([1, "a", None]), '1, "a" or null')
        self.assertTrue(one_of(range(30)).endswith("19 or one of 10 more"))

    def test_show_names_containers(self) -> None:
        self.assertEqual(show([1, 2]), "array of 2 items")

    def test_nearest(self) -> None:
        names = ["city", "country", 5, "x" * 500]
        for name, expected in (
            ("citty", ' (did you mean "city"?)'),
            ("zzz", ""),
            ("c" * 10_000, ""),
            (5, ""),
        ):
            with self.subTest(name):
                self.assertEqual(nearest(name, names), expected)


if __name__ == "__main__":
    unittest.main()
