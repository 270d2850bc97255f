"""Patterns: the same answers as the standard library's, for less work."""

from __future__ import annotations

import random
import unittest
from fnmatch import fnmatchcase

from server.session.agent_definition import fits, is_compiled, matching_names, work

PATTERNS = (
    *("", "*", "**", "a", "a*", "*a", "*a*", "a*b", "a*b*c", "*a*a*a", "?", "a?", "[ab]", "[!ab]"),
    *("[*]", "[?]", "[[]", "a[*]b*", "[", "[]", "[!]", "[]]", "[!]]", "a[b", "[a-c]*", "[c-a]"),
    *("git log *", "*.py", "é*", "\n*", "*\n"),
)


class Fits(unittest.TestCase):
    def test_as_the_standard_library_has_it(self) -> None:
        chance = random.Random(1)
        texts = ["", "a", "ab", "abc", "*", "?", "[", "]", "a*b", "git log -1", "x.py", "é", "\n"]
        for pattern in PATTERNS:
            made = ("".join(chance.choices("abc*[]!-\n", k=chance.randrange(7))) for _ in range(9))
            for text in (*texts, *made):
                with self.subTest(pattern=pattern, text=text):
                    self.assertEqual(fits(text, pattern), fnmatchcase(text, pattern))

    def test_random_patterns(self) -> None:
        chance = random.Random(2)
        for _ in range(1_000):
            pattern = "".join(chance.choices("ab*?[]!-", k=chance.randrange(9)))
            text = "".join(chance.choices("ab[]!*", k=chance.randrange(9)))
            with self.subTest(pattern=pattern, text=text):
                self.assertEqual(fits(text, pattern), fnmatchcase(text, pattern))

    def test_ends_do_not_share_a_character(self) -> None:
        self.assertFalse(fits("aba", "ab*ba"))
        self.assertTrue(fits("abba", "ab*ba"))

    def test_a_quoted_star_needs_no_expression(self) -> None:
        compiled = [pattern for pattern in PATTERNS if is_compiled(pattern)]
        self.assertIn("[ab]", compiled)
        self.assertNotIn("a[*]b*", compiled)

    def test_work_counts_both_where_both_count(self) -> None:
        self.assertEqual(work("a" * 100, "*b*"), 103)
        self.assertGreater(work("a" * 100, "?" * 10), 1_000)


class Names(unittest.TestCase):
    def test_in_whatever_case(self) -> None:
        fit = matching_names(["Shell", "read_*", "x[ab]"])
        for name, wanted in {"shell": 1, "READ_file": 1, "xA": 1, "xc": 0, "shells": 0}.items():
            self.assertEqual(fit(name), bool(wanted), name)
        self.assertFalse(matching_names([])("a"))

    def test_a_list_is_read_once(self) -> None:
        listed = [f"tool_{number}*" for number in range(256)]
        self.assertIs(matching_names(listed), matching_names(list(listed)))


if __name__ == "__main__":
    unittest.main()
