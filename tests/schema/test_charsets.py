"""Sets of characters: algebra, and the Unicode properties that are known."""

from __future__ import annotations

import unicodedata
import unittest

from server.schema.charsets import LAST, complement, only, unicode_property, union

SETS = [(), ((0, LAST),), only("a"), only("abcxyz"), ((5, 9), (20, 30)), ((0, 0), (LAST, LAST))]
KNOWN = ["L", "Letter", "Lu", "Uppercase_Letter", "gc=Nd", "General_Category=Nd", "digit", "Zs"]


class Algebra(unittest.TestCase):
    def test_complement_twice_is_the_same(self) -> None:
        for ranges in SETS:
            with self.subTest(ranges):
                self.assertEqual(complement(complement(ranges)), ranges)
                self.assertEqual(union([ranges, complement(ranges)]), ((0, LAST),))

    def test_union_joins_what_touches(self) -> None:
        self.assertEqual(union([((1, 2),), ((3, 4), (9, 9)), ((4, 6),)]), ((1, 6), (9, 9)))


class Properties(unittest.TestCase):
    def test_known_ones(self) -> None:
        for name in KNOWN:
            with self.subTest(name):
                self.assertTrue(unicode_property(name))
        for low, high in unicode_property("Lu") or ():
            self.assertEqual({unicodedata.category(chr(c)) for c in range(low, high + 1)}, {"Lu"})

    def test_unknown_ones(self) -> None:
        for name in ("", "Script=Greek", "Greek", "l", "Emoji"):
            with self.subTest(name):
                self.assertIsNone(unicode_property(name))


if __name__ == "__main__":
    unittest.main()
