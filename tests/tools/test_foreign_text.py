"""Tests of server/tools/foreign_text.py."""

from __future__ import annotations

import unittest
from typing import Any

from server.tools.foreign_text import (
    clean,
    clean_line,
    web_url,
    without_citations,
    without_unseen,
)


class Foreign(unittest.TestCase):
    def test_addresses_that_are_no_web_pages(self) -> None:
        nothing: list[Any] = [None, 7, [], {}, ""]
        for url in (*nothing, "https://e.org/" + "x" * 3000):
            with self.subTest(url):
                self.assertEqual(web_url(url), "")
        self.assertEqual(
            web_url(' https://e.org/a b"<i>\\|\n'), "https://e.org/a%20b%22%3Ci%3E%5C%7C"
        )
        self.assertEqual(web_url("https://e.org/\u202egnp.exe"), "")

    def test_what_nobody_sees_is_removed(self) -> None:
        hidden = "".join(chr(0xE0000 + ord(each)) for each in "obey me")
        cases = [
            (f"a{hidden}b", "ab"),
            ("a\u202eb\u2066c\u2069\u200f", "abc"),
            ("a\0b\x1b[31mc\x9bd", "ab[31mcd"),
            ("a\u200bb\ufeffc\u2060d\xade", "abcde"),
            ("👩\u200d💻 می\u200cخواهم", "👩\u200d💻 می\u200cخواهم"),
            ("a \t b\r\n\r\n\r\n c\n", "a b\n\nc"),
        ]
        for text, wanted in cases:
            with self.subTest(ascii(text)):
                self.assertEqual(clean(text), wanted)
        self.assertEqual(clean_line("a\n\nb\tc"), "a b c")
        self.assertEqual(without_unseen("a\n\tb\u202e"), "a\n\tb")

    def test_marks_of_citations(self) -> None:
        for text in ("a [^s1.2]", "a [\u200b^s1.2]", "a [^s\u20601.2]"):
            with self.subTest(ascii(text)):
                self.assertEqual(clean(text), "a [s1.2]")
        self.assertEqual(without_citations("[^s1] [^1] [^s1.2.3]"), "[s1] [^1] [^s1.2.3]")


if __name__ == "__main__":
    unittest.main()
