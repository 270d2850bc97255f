"""References: where they lead, that they lead nowhere else; RFC 3986 section 5.4, all examples."""

from __future__ import annotations

import unittest
from typing import Any

from server.lib.json_schema.compile import (
    DRAFT_7,
    DRAFT_2020,
    ResourceIndex,
    UnresolvedReference,
    join,
    unquote,
)

SCHEMA: dict[str, Any] = {
    "$id": "http://x.test/root.json",
    "$defs": {
        "a~b/c d": {"type": "null"},
        "named": {"$anchor": "here", "type": "string"},
        "inner": {"$id": "inner.json", "$defs": {"deep": {"$anchor": "here", "type": "array"}}},
        "old": {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "$id": "old.json",
            "definitions": {"x": {"$id": "#tag", "type": "number"}},
        },
    },
    "enum": [{"$id": "not-a-schema.json", "$anchor": "nothing"}],
    "allOf": [{"type": "object"}],
}
# reference -> the type of what it leads to
FOUND = [
    ("#/$defs/a~0b~1c%20d", "null"),
    ("#here", "string"),
    ("inner.json#here", "array"),
    ("http://x.test/inner.json#/$defs/deep", "array"),
    ("#/$defs/inner/$defs/deep", "array"),
    ("old.json#tag", "number"),
    ("#/allOf/0", "object"),
    ("other.json", "boolean"),
    ("http://x.test/other.json#/$defs/y", "integer"),
]
LOST = [
    ("#/$defs/zzz", "does not lead to a schema"),
    ("#/allOf/1", "does not lead to a schema"),
    ("#/allOf/-1", "does not lead to a schema"),
    ("#/allOf/00", "does not lead to a schema"),
    ("#/$id", "does not lead to a schema"),
    ("#nothing", "names an anchor that does not exist"),
    ("not-a-schema.json", "schemas are not fetched"),
    ("http://169.254.169.254/latest", "schemas are not fetched"),
    ("file:///etc/passwd", "schemas are not fetched"),
]
DOCUMENTS = {"http://x.test/other.json": {"type": "boolean", "$defs": {"y": {"type": "integer"}}}}


class References(unittest.TestCase):
    def setUp(self) -> None:
        self.library = ResourceIndex(SCHEMA, DOCUMENTS)

    def test_found(self) -> None:
        for reference, kind in FOUND:
            with self.subTest(reference):
                schema, _ = self.library.resolve(reference, self.library.root)
                self.assertEqual(schema["type"], kind)

    def test_lost(self) -> None:
        for reference, reason in LOST:
            with self.subTest(reference), self.assertRaises(UnresolvedReference) as caught:
                self.library.resolve(reference, self.library.root)
            self.assertIn(reason, str(caught.exception))

    def test_each_resource_has_its_dialect(self) -> None:
        _, resource = self.library.resolve("old.json#tag", self.library.root)
        self.assertEqual(resource.dialect, DRAFT_7)
        self.assertEqual(self.library.root.dialect, DRAFT_2020)

    def test_a_document_without_schema_is_read_like_the_one_that_asks(self) -> None:
        old = {"$schema": DRAFT_7, "$ref": "http://y.test/#tag"}
        library = ResourceIndex(old, {"http://y.test/": {"definitions": {"x": {"$id": "#tag"}}}})
        self.assertEqual(library.resolve(old["$ref"], library.root)[0], {"$id": "#tag"})


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
