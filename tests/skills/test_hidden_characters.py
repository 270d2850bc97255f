"""Characters that are not seen are counted and shown; usual text has none."""

from __future__ import annotations

import re
import unittest

from server.skills.hidden_characters import HIDDEN, count_hidden, first_hidden, visible
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

    def test_the_page_hides_none_of_them_either(self) -> None:
        """The same ranges stand in the page; it also shows tabs and line ends in names."""
        page = (ROOT / "client" / "js" / "core" / "file-names.js").read_text()
        found = re.search(r"const HIDDEN = (.*)/gu\n", page)
        assert found is not None
        for first, last in re.findall(r"\\u([0-9a-f]{4})-\\u([0-9a-f]{4})", found[1]):
            for number in range(int(first, 16), int(last, 16) + 1):
                self.assertRegex(chr(number), HIDDEN)
        bare = re.sub(r"\\u[0-9a-f]{4}-\\u[0-9a-f]{4}", "", found[1])
        for each in re.findall(r"\\u([0-9a-f]{4})", bare):
            self.assertRegex(chr(int(each, 16)), HIDDEN)


if __name__ == "__main__":
    unittest.main()
