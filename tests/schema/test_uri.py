"""RFC 3986 section 5.4, all examples, and the schemes that schemas use."""

from __future__ import annotations

import unittest

from server.schema.references import join, unquote

BASE = "http://a/b/c/d;p?q"
RFC = {
    "g:h": "g:h",
    "g": "http://a/b/c/g",
    "./g": "http://a/b/c/g",
    "g/": "http://a/b/c/g/",
    "/g": "http://a/g",
    "//g": "http://g",
    "?y": "http://a/b/c/d;p?y",
    "g?y": "http://a/b/c/g?y",
    ";x": "http://a/b/c/;x",
    "g;x": "http://a/b/c/g;x",
    "": "http://a/b/c/d;p?q",
    ".": "http://a/b/c/",
    "./": "http://a/b/c/",
    "..": "http://a/b/",
    "../": "http://a/b/",
    "../g": "http://a/b/g",
    "../..": "http://a/",
    "../../g": "http://a/g",
    "../../../g": "http://a/g",
    "../../../../g": "http://a/g",
    "/./g": "http://a/g",
    "/../g": "http://a/g",
    "g.": "http://a/b/c/g.",
    "..g": "http://a/b/c/..g",
    "./../g": "http://a/b/g",
    "./g/.": "http://a/b/c/g/",
    "g/./h": "http://a/b/c/g/h",
    "g/../h": "http://a/b/c/h",
    "g;x=1/../y": "http://a/b/c/y",
    "g?y/../x": "http://a/b/c/g?y/../x",
    "http:g": "http:g",
}
OTHERS = [
    ("", "x.json", "x.json"),
    ("", "a/x.json", "a/x.json"),
    ("http://a", "x", "http://a/x"),
    ("urn:uuid:1", "urn:uuid:2", "urn:uuid:2"),
    ("urn:x:y", "", "urn:x:y"),
    ("file:///a/b.json", "c.json", "file:///a/c.json"),
]


class Join(unittest.TestCase):
    def test_examples_of_the_rfc(self) -> None:
        for reference, expected in RFC.items():
            with self.subTest(reference):
                self.assertEqual(join(BASE, reference), expected)

    def test_others(self) -> None:
        for base, reference, expected in OTHERS:
            with self.subTest(base, reference=reference):
                self.assertEqual(join(base, reference), expected)

    def test_nonsense_is_text_too(self) -> None:
        for text in ("http://[", "://", "%", "\ud800", "a" * 100_000, "../" * 100_000):
            with self.subTest(text[:20]):
                self.assertIsInstance(join(text, text), str)


class Unquote(unittest.TestCase):
    def test_percent_escapes(self) -> None:
        for text, expected in (
            ("a%20b", "a b"),
            ("%E4%BD%A0", "你"),
            ("%", "%"),
            ("%4", "%4"),
            ("%zz", "%zz"),
            ("%FF", "\ufffd"),
            ("%25", "%"),
        ):
            with self.subTest(text):
                self.assertEqual(unquote(text), expected)


if __name__ == "__main__":
    unittest.main()
