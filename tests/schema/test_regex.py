"""The grammar of patterns: what is one, what isn't, and that the reason says where."""

from __future__ import annotations

import re
import unittest

from server.lib.json_schema.regex import Part, PatternError, parse, write

PATTERNS = [
    *("", "a", "^a$", "a|b|", "(a)", "(?:a)", "(?=a)b", "(?!a)b", "(?<=a)b", "(?<!a)b"),
    *("a*", "a+?", "a??", "a{2}", "a{2,}", "a{2,3}?", "[]", "[^]", "[a-z]", "[-a]", "[a-]"),
    *(r"[\]\\]", r"[\b]", r"\bfoo\B", r"\d\D\w\W\s\S", r"\t\n\v\f\r\0", r"\cA", r"\x41"),
    *(r"\u0041", r"\u{1F600}", r"\ud83d\ude00", r"\p{L}\P{Lu}", r"\p{Letter}", r"[\p{Nd}_]"),
    *(r"(a)\1", r"(?<n>a)\k<n>", r"\/\-\@\ ", "a{", "a{,3}", "a{x}", "}", "]", "你+"),
]
# pattern -> where the reader stopped, and why
NOT_PATTERNS = [
    ("(a", 3, "a group is not closed"),
    ("a)", 2, "unmatched )"),
    ("*", 2, "nothing to repeat"),
    ("^*", 3, "nothing to repeat"),
    ("(?=a)*", 7, "nothing to repeat"),
    ("a**", 4, "a quantifier after a quantifier"),
    ("a++", 4, "a quantifier after a quantifier"),
    ("a{3,2}", 7, "out of order"),
    ("[z-a]", 5, "out of order"),
    (r"[a-\d]", 6, "not between characters"),
    ("[a", 3, "unexpected end"),
    ("a\\", 3, "unexpected end"),
    (r"\a", 3, "the escape"),
    (r"\Z", 3, "the escape"),
    (r"\c1", 3, "the escape"),
    (r"\x4", 3, "the escape"),
    (r"\u{110000}", 3, "the escape"),
    (r"\p{Script=Greek}", 17, "not supported"),
    (r"\pL", 3, "not supported"),
    (r"\01", 4, "the escape"),
    ("(?<1>a)", 3, "unknown kind of group"),
    ("(?i)a", 3, "unknown kind of group"),
    ("(?P<n>a)", 3, "unknown kind of group"),
    ("(?>a)", 3, "unknown kind of group"),
    ("(?#a)", 3, "unknown kind of group"),
    ("(" * 100 + ")" * 100, 52, "nested groups"),
]


class Grammar(unittest.TestCase):
    def test_patterns(self) -> None:
        for source in PATTERNS:
            with self.subTest(source):
                re.compile(write(parse(source)))

    def test_not_patterns(self) -> None:
        for source, at, reason in NOT_PATTERNS:
            with self.subTest(source), self.assertRaises(PatternError) as caught:
                parse(source)
            self.assertIn(reason, str(caught.exception))
            self.assertTrue(str(caught.exception).endswith(f"at character {at}"), caught.exception)

    def test_every_cut_of_a_pattern_is_answered(self) -> None:
        """Half a pattern is a pattern or a PatternError, never anything else."""
        whole = r"^(?<n>[a-\u{7A}\p{L}]{1,3}|\k<n>(?!\cA\x41)+?)$"
        for cut in range(len(whole)):
            try:
                parse(whole[:cut])
            except PatternError as error:
                self.assertIn("not a valid pattern", str(error))

    def test_tree(self) -> None:
        a = Part("set", ranges=((97, 97),))
        tree = Part("seq", (Part("edge", mark="^"), Part("repeat", (a,), low=2)))
        self.assertEqual(parse("^a{2,}"), tree)


if __name__ == "__main__":
    unittest.main()
