"""Searching: ECMA-262 against what Python's `re` would say, and patterns made to take for ever."""

from __future__ import annotations

import time
import unittest

from server.schema.patterns import MAX_LENGTH, Pattern, PatternError, TooCostly

from .clock import second

# pattern, texts that match, texts that don't
SEARCHES: list[tuple[str, list[str], list[str]]] = [
    ("a+", ["xxaay"], ["", "b"]),
    ("^abc$", ["abc"], ["abc\n", "xabc"]),
    (r"^\d$", ["1"], ["١", "a"]),
    (r"^\w$", ["a", "_"], ["é", "-"]),
    (r"^\s$", ["\u00a0", "\ufeff", "\u2029"], ["\u200b", "\x1c"]),
    ("^.$", ["a", "你", "\U0001f600"], ["\n", "\r", "\u2028"]),
    ("^[^]$", ["a", "\n"], [""]),
    ("[]", [], ["a", ""]),
    (r"^[\S]$", ["a"], [" "]),
    (r"^[^\W\d]$", ["a", "_"], ["1", "é"]),
    (r"^[[&&||~~-]$", ["[", "&", "|", "~", "-"], ["a"]),
    (r"^\p{Lu}\P{Lu}$", ["Éa"], ["aÉ"]),
    (r"^\p{ASCII}$", ["a"], ["é"]),
    (r"\bfoo\b", ["a foo."], ["food", "éfoo_"]),
    (r"^(a)?\1b$", ["aab", "b"], ["ab"]),
    (r"^(?<x>.)\k<x>$", ["aa"], ["ab"]),
    (r"^(?=.*\d)(?=.*[a-z]).{4,}$", ["abc1"], ["abcd", "a1"]),
    (r"(?<!a)b", ["b", "cb"], ["ab"]),
    (r"^\ud83d\udc32*$", ["", "\U0001f432"], ["\U0001f409"]),
    (r"^\u{1F432}$", ["\U0001f432"], ["u"]),
    (r"^((a)|b)(?:\2x){1,2}(?=\1)\1$", ["aaxa", "aaxaxa", "bxb"], ["bxa"]),
    (r"^\ud83dx$", ["\ud83dx"], ["x"]),
    (r"^\p{Any}\p{Assigned}$", ["a你"], ["a\U000e0fff"]),
    (r"^a{,2}$", ["a{,2}"], ["a"]),
]

UNSUPPORTED = [
    ("(?<=a+)b", "not supported here"),
    ("(?=a)(b+)+", "repetition within repetition"),
    (r"(a+)+\1", "repetition within repetition"),
    ("a" * (MAX_LENGTH + 1), f"a pattern may have {MAX_LENGTH} characters"),
]

# pattern, text, whether it is found; None: refused as too costly
EVIL: list[tuple[str, str, bool | None]] = [
    ("^(a+)+$", "a" * 500_000 + "!", False),
    ("^(a|aa)+$", "a" * 50_000 + "!", False),
    ("(a*)*b", "a" * 500_000, False),
    ("(x+x+)+y", "x" * 100_000, False),
    (r"^(\w+\s?)*$", "a " * 50_000 + "!", False),
    ("(.*)(.*)(.*)(.*)(.*)[^a]$", "a" * 100_000, False),
    ("(a?){50}a{50}", "a" * 49, False),
    ("((((a+)+)+)+)+$", "a" * 100_000 + "!", False),
    ("(a|b)*a(a|b){18}$", "ab" * 50_000, False),
    ("a*" * 900, "a" * 1_000, True),
    (r"^(?=.*a).*b.*c.*$", "b" * 100_000, None),
    (r"(a+)\1$", "a" * 50_000 + "b", None),
    ("a{50000}b", "a" * 99_999, None),
    ("(?:a{1000}){1000}b", "a" * 99_999, None),
    ("(a*b){1,2000000000}", "ab" * 1_000, None),
]


class Patterns(unittest.TestCase):
    def test_searches(self) -> None:
        for source, hits, misses in SEARCHES:
            pattern = Pattern(source)
            for text, expected in [(t, True) for t in hits] + [(t, False) for t in misses]:
                with self.subTest(source, text=text):
                    self.assertEqual(pattern.search(text)[0], expected)

    def test_unsupported_ones_say_why(self) -> None:
        for source, reason in UNSUPPORTED:
            with self.subTest(source[:20]), self.assertRaises(PatternError) as caught:
                Pattern(source)
            self.assertIn(reason, str(caught.exception))

    def test_evil_ones_within_a_second(self) -> None:
        for source, text, expected in EVIL:
            with self.subTest(source[:30]):
                start = time.process_time()
                found: bool | None
                try:
                    found, cost = Pattern(source).search(text)
                except TooCostly:
                    found, cost = None, 0
                self.assertEqual(found, expected)
                self.assertLess(time.process_time() - start, second())
                self.assertLess(cost, 500_000)


if __name__ == "__main__":
    unittest.main()
