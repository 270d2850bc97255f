"""Searching: ECMA-262 against what Python's `re` would say, and patterns made to take for ever."""

from __future__ import annotations

import time
import unittest

from server.lib.json_schema.regex import MAX_LENGTH, MAX_STEPS, Pattern, PatternError

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
    (r"^\p{Any}$", ["你"], [""]),
    (r"^a{,2}$", ["a{,2}"], ["a"]),
]

UNSUPPORTED = [
    ("(?<=a+)b", "not supported"),
    (r"\1", "not supported"),
    (r"(a)\2", "not supported"),
    (r"\k<n>", "not supported"),
    ("(?<n>a)(?<n>b)", "not supported"),
    ("a" * (MAX_LENGTH + 1), f"a pattern may have {MAX_LENGTH} characters"),
]
# What people write, and the length of a text that each must be good for.
ORDINARY = [
    (r"^[a-z0-9]+(-[a-z0-9]+)*$", 1_000_000),
    (r"^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$", 1_000_000),
    (r"^(?=.*\d)(?=.*[a-z])(?=.*[A-Z]).{8,}$", 1_000_000),
    (r"^(?:(?!foo).)*$", 1_000_000),
    (r"^\s*\S[\s\S]*$", 1_000_000),
    (r"^(jpg|jpeg|png)(,(jpg|jpeg|png))*$", 1_000_000),
    (r"^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)\.){3}(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)$", 100),
    (r"^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$", 1_000_000),
    (r'^"(?:[^"\\]|\\.)*"$', 1_000_000),
    (r"^https?://[^\s/$.?#].[^\s]*$", 1_000_000),
    (
        r"^[a-zA-Z0-9.!#$%&'*+/=?^_`{|}~-]+@[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
        r"(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*$",  # HTML's e-mail
        10_000,
    ),
    (
        r"^(?!\.)(?!.*\.\.)([A-Za-z0-9_'+\-\.]*)[A-Za-z0-9_+-]@"
        r"([A-Za-z0-9][A-Za-z0-9\-]*\.)+[A-Za-z]{2,}$",  # zod's e-mail
        300,
    ),
    (
        r"^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-((?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)"
        r"(?:\.(?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*))?"
        r"(?:\+([0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*))?$",  # semantic versions
        1_000_000,
    ),
    (r"foo.*bar", 3_000),
]
# Exponentially many ways: refused when the schema is read.
EXPLOSIVE = [
    *("^(a+)+$", "^(a|aa)+$", "(a*)*b", "(x+x+)+y", r"^(\w+\s?)*$", "((((a+)+)+)+)+$"),
    *("(?:a|a)*b", "^(a(|)(|)(|))*$", "(?=a)(b+)+c", r"(a+)+\1", "(a?){50}a{50}", "(.*,){20}P"),
    *("a*" * 900, "((a?){100000}){100000}", "((){100000}){100000}", "(.*)(.*)(.*)(.*)(.*)[^a]$"),
    *("(?:|){40}$", "(?:()?){40}$", "(?:(?:^)?){40}b", "(?:(?:(?=a))?){40}b", "(?:a?b?){40}$"),
    "(?:a{400}b)*c" * 150,
    *(r"^(([a-z])+.)+[A-Z]([a-z])+$", r"(a\1)*", "(a{999})*b", "(a*b){1,2000000000}c"),
]
# Polynomially many: the longest text that is searched takes about a second.
COSTLY = [
    *("(a|b)*a(a|b){18}$", "^(?=.*a).*b.*c.*$", r"(a+)\1$", "a{50000}b", "(?:a{1000}){1000}b"),
    *("a*a*a*b", "^.*a.*a.*b", "^(x{1,3}){1,4}y.*z.*w"),
]


class Patterns(unittest.TestCase):
    def test_searches(self) -> None:
        for source, hits, misses in SEARCHES:
            pattern = Pattern(source)
            for text, expected in [(t, True) for t in hits] + [(t, False) for t in misses]:
                with self.subTest(source, text=text):
                    self.assertEqual(pattern.search(text), expected)

    def test_ordinary_ones_are_affordable(self) -> None:
        for source, length in ORDINARY:
            with self.subTest(source):
                self.assertLess(Pattern(source).price(length), MAX_STEPS)

    def test_unsupported_ones_say_why(self) -> None:
        for source, reason in UNSUPPORTED:
            with self.subTest(source[:20]), self.assertRaises(PatternError) as caught:
                Pattern(source)
            self.assertIn(reason, str(caught.exception))

    def test_explosive_ones_are_refused_at_once(self) -> None:
        for source in EXPLOSIVE:
            with self.subTest(source[:30]):
                start = time.process_time()
                with self.assertRaises(PatternError) as caught:
                    Pattern(source)
                self.assertIn("not supported", str(caught.exception))
                self.assertLess(time.process_time() - start, second())

    def test_costly_ones_end(self) -> None:
        for source in COSTLY:
            pattern = Pattern(source)
            lengths = [2**power for power in range(20)]
            longest = max(n for n in lengths if pattern.price(n) <= MAX_STEPS)
            self.assertGreater(pattern.price(1_000_000), MAX_STEPS)
            for text in ("a" * longest, "b" * longest, "ab" * (longest // 2)):
                with self.subTest(source, length=longest):
                    start = time.process_time()
                    pattern.search(text)
                    self.assertLess(time.process_time() - start, 3 * second())


if __name__ == "__main__":
    unittest.main()
