"""The part of YAML that skills use, as YAML 1.2.2 means it, and what others accept beside it."""

from __future__ import annotations

import unittest
from typing import Any

from server.lib.agent_skills.front_matter import FrontMatterError, read_front_matter


def fields(*lines: str) -> dict[str, Any]:
    return dict(read_front_matter("\n".join(["---", *lines, "---", "Body."])).fields)


class Values(unittest.TestCase):
    def test_each_form(self) -> None:
        cases: list[tuple[tuple[str, ...], Any]] = [
            (("a: text",), "text"),
            (("a:   text   ",), "text"),
            (("a: text # a remark",), "text"),
            (("a: C#",), "C#"),
            (("a: 1.0",), "1.0"),
            (("a: true",), "true"),
            (("a:",), ""),
            (("a: ~",), ""),
            (("a: null",), ""),
            (("a: 'it''s'",), "it's"),
            (("a: 'C # D' # a remark",), "C # D"),
            (('a: "\\u00e9\\x41\\n\\"\\\\"',), 'éA\n"\\'),
            (('a: "\\ud800"',), "\ufffd"),
            (('a: "one', '  two"'), "one two"),
            (("a: one", "  two", "", "  three"), "one two\nthree"),
            (("a:", "  one", "  two"), "one two"),
            (("a: >", "  one", "  two", "", "  three"), "one two\nthree\n"),
            (("a: >-", "  one", "    more", "  two"), "one\n  more\ntwo"),
            (("a: |", "  one", "   two", ""), "one\n two\n"),
            (("a: |-", "  # not a remark", "  x: y"), "# not a remark\nx: y"),
            (("a: |2-", "   one"), " one"),
            (("a: >-",), ""),
            (("a:", "  - one", '  - "two"', "  - three", "    four"), ["one", "two", "three four"]),
            (("a:", "- one", "- two"), ["one", "two"]),
            (("a: [one, two]",), ["one", "two"]),
            (('a: ["one", "two: 2"]',), ["one", "two: 2"]),
            (("a: []",), []),
            (("a: [1, [2]]",), "[1, [2]]"),
            (('a: {"b": "c"}',), {"b": "c"}),
            (("a:", "  b: c", '  "d": "1.0" # x'), {"b": "c", "d": "1.0"}),
            (("a:", "  b:", "    c: d", "  e: f"), {"b": "c: d", "e": "f"}),
            (("a: 中文", "# a remark", "", "b: x"), "中文"),
        ]
        for lines, expected in cases:
            with self.subTest(lines):
                self.assertEqual(fields(*lines)["a"], expected)

    def test_what_is_no_yaml_is_taken_as_it_is_with_a_remark(self) -> None:
        for value in ("Use it when: asked", "*", "@team", "50% off: all", "'a' and 'b'", "see: "):
            with self.subTest(value):
                found = read_front_matter(f"---\na: {value}\n---")
                self.assertEqual(found.fields["a"], value.strip())
                self.assertEqual(len(found.remarks), 1)
                self.assertIn("line 2: a: ", found.remarks[0])

    def test_usual_yaml_gets_no_remark(self) -> None:
        found = read_front_matter('---\na: "x: y"\nb: http://c.d\nc: >\n  x: y\n---')
        self.assertEqual(found.remarks, [])


class Whole(unittest.TestCase):
    def test_the_body_is_what_is_behind(self) -> None:
        cases = [
            ("---\na: b\n---\n\n# Title\n\ntext\n\n", "# Title\n\ntext"),
            ("\ufeff---\r\na: b\r\n---\r\none\r\ntwo\r\n", "one\ntwo"),
            ("---  \na: b\n---\t\n---\nx", "---\nx"),
            ("---\n---", ""),
        ]
        for text, body in cases:
            with self.subTest(text):
                self.assertEqual(read_front_matter(text).body, body)

    def test_errors_name_the_line(self) -> None:
        cases = [
            ("", "line 1: a skill begins with"),
            ("# no\n---\na: b\n---", "line 1: a skill begins with"),
            ("---\na: b\n", "the line --- that ends the front matter is missing"),
            ("---\n" + "a: b\n" * 600 + "---", "line 502: the line --- that ends"),
            ("---\na: b\njust words\n---", "line 3: wanted `key: value`, found 'just words'"),
            ("---\na: b\n\tc: d\n---", ""),
            ("---\n\tc: d\n---", "line 2: wanted `key: value`, found a tab"),
            ("---\n  c: d\n---", "line 2: wanted `key: value`"),
            ("---\na: b\na: c\n---", "line 3: the key a is there twice"),
            ('---\na: "b\n---', 'line 2: a: the quote " is not closed'),
            ("---\na: 'b\n  c\n---", "line 2: a: the quote ' is not closed"),
            ("---\na: |\n   b\n  c\n---", "line 2: a: its lines are not indented alike"),
        ]
        for text, expected in cases:
            with self.subTest(text[:60]):
                if not expected:
                    read_front_matter(text)
                    continue
                with self.assertRaises(FrontMatterError) as caught:
                    read_front_matter(text)
                self.assertIn(expected, str(caught.exception))

    def test_any_text_is_read_or_refused(self) -> None:
        """Cut and doubled in every place: nothing but the one error comes out."""
        whole = '---\na: "x"\nb:\n  - c\n  - [d\ne: |2\n    f\n\n  g\nh: {"i": \'j\'}\n---\nk'
        for at in range(len(whole)):
            for text in (whole[:at], whole[at:], whole[:at] + whole, whole[:at] + whole[at + 1 :]):
                try:
                    read_front_matter(text)
                except FrontMatterError:
                    continue


if __name__ == "__main__":
    unittest.main()
