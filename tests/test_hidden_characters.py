"""Characters that are not seen are counted and shown; usual text has none."""

from __future__ import annotations

import json
import unittest

from server.lib.hidden_characters import HIDDEN, count_hidden, first_hidden, visible, written_out
from tests.tooling.tools import ROOT


class Hidden(unittest.TestCase):
    def test_what_is_counted(self) -> None:
        cases = [
            ("plain\ttext\r\nin lines, with ümläuts, 中文 and ♥", {}),
            ("a family 👨‍👩‍👧 and a heart ❤️", {}),
            ("a\u200bb\u200bc", {"U+200B ZERO WIDTH SPACE": 2}),
            ("a\u202eb", {"U+202E RIGHT-TO-LEFT OVERRIDE": 1}),
            ("a\U000e0041b", {"U+E0041 TAG LATIN CAPITAL LETTER A": 1}),
            ("a\x00b\x1b", {"U+0000": 1, "U+001B": 1}),
            ("\ufeffa", {"U+FEFF ZERO WIDTH NO-BREAK SPACE": 1}),
        ]
        for text, expected in cases:
            with self.subTest(repr(text)):
                self.assertEqual(count_hidden(text), expected)

    def test_where_the_first_one_is(self) -> None:
        cases = [
            ("", ""),
            ("a family 👨‍👩‍👧, \r\n\tand a heart ❤️", ""),
            ("\u200b", "U+200B ZERO WIDTH SPACE (line 1, character 1)"),
            ("❤️\na\u202eb\u200b", "U+202E RIGHT-TO-LEFT OVERRIDE (line 2, character 2)"),
            ("\n\n\U000e0041", "U+E0041 TAG LATIN CAPITAL LETTER A (line 3, character 1)"),
        ]
        for text, expected in cases:
            with self.subTest(ascii(text)):
                self.assertEqual(first_hidden(text), expected)

    def test_they_are_shown_by_their_numbers(self) -> None:
        self.assertEqual(visible("a\u200bb\u202e"), "a\\u{200b}b\\u{202e}")
        self.assertEqual(visible("a\nb\t"), "a\nb\t")

    def test_the_table(self) -> None:
        """Every character of the table and no other, and what a person decides by."""
        vectors = json.loads((ROOT / "tests" / "vectors" / "invisible.json").read_text())
        ends = (each.split("-") for each in vectors["ranges"])
        table = {n for one in ends for n in range(int(one[0], 16), int(one[-1], 16) + 1)}
        found = {number for number in range(0x110000) if HIDDEN.match(chr(number))}
        self.assertEqual(found, table)
        kept = {int(each, 16) for each in vectors["usual"]}
        changed = {n for n in range(0x110000) if written_out(f"a{chr(n)}b") != f"a{chr(n)}b"}
        self.assertEqual(changed, (table | {0x0D}) - kept)
        for text, shown in vectors["texts"]:
            self.assertEqual(written_out(text), shown, ascii(text))


if __name__ == "__main__":
    unittest.main()
