"""Schemas without references: the same verdicts, except inside what contains itself."""

from __future__ import annotations

import json
import unittest
from typing import Any

from server.lib.json_schema.compile import MAX_INLINED, inline
from server.lib.json_schema.validate import check_schema

NODE = {
    "title": "shop.Node",
    "type": "object",
    "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/Node"}}},
}
INSIDE = {"type": "object", "title": "shop.Node", "description": "same shape as shop.Node"}
TABLE: list[tuple[Any, Any]] = [
    ({"type": "string"}, {"type": "string"}),
    (
        {
            "$defs": {"a": {"type": "null"}},
            "properties": {"x": {"$ref": "#/$defs/a", "default": 1}},
        },
        {"properties": {"x": {"type": "null", "default": 1}}},
    ),
    (
        {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"const": 1}}, "items": {"$ref": "#/$defs/a"}},
        {"items": {"const": 1}},
    ),
    (
        {"$defs": {"Node": NODE}, "$ref": "#/$defs/Node"},
        {**NODE, "properties": {"kids": {"type": "array", "items": INSIDE}}},
    ),
    (
        {"definitions": {"a": True}, "items": {"$ref": "#/definitions/a"}},
        {"items": {}},
    ),
    (
        {"properties": {"$ref": {"type": "string"}, "$defs": {"type": "null"}}},
        {"properties": {"$ref": {"type": "string"}, "$defs": {"type": "null"}}},
    ),
    (
        {"const": {"$ref": "#/x"}, "enum": [{"$ref": "#"}]},
        {"const": {"$ref": "#/x"}, "enum": [{"$ref": "#"}]},
    ),
    ({"items": {"$ref": "http://x.test/"}}, {"items": {"$ref": "http://x.test/"}}),
    ({"items": {"$ref": "#/nowhere"}}, {"items": {"$ref": "#/nowhere"}}),
]


class Inline(unittest.TestCase):
    def test_table(self) -> None:
        for schema, expected in TABLE:
            with self.subTest(schema=schema):
                before = json.dumps(schema)
                self.assertEqual(inline(schema), expected)
                self.assertEqual(json.dumps(schema), before)

    def test_a_schema_that_contains_itself(self) -> None:
        written = inline({"type": "object", "properties": {"again": {"$ref": "#"}}})
        again = written["properties"]["again"]
        self.assertEqual(again["properties"]["again"]["description"], "same shape as the whole")

    def test_so_many_references_in_each_other(self) -> None:
        defs = {f"s{n}": {"items": {"$ref": f"#/$defs/s{n + 1}"}} for n in range(3)}
        schema = {"$defs": {**defs, "s3": {}}, "$ref": "#/$defs/s0"}
        cut = {"title": "s2", "description": "same shape as s2"}
        self.assertEqual(inline(schema, 2), {"items": {"items": cut}})
        self.assertEqual(inline(schema, 4), inline(schema))
        kind = {"type": "string", "enum": ["a", "b"]}
        schema = {**schema, "$defs": {**defs, "s2": kind}}  # a name would tell a model less
        self.assertEqual(inline(schema, 2), {"items": {"items": kind}})

    def test_types_in_a_row(self) -> None:
        """As many as a schema that may be used can have."""
        defs = {f"s{n}": {"items": {"$ref": f"#/$defs/s{n + 1}"}} for n in range(2_000)}
        schema = {"$defs": {**defs, "s2000": {}}, "$ref": "#/$defs/s0"}
        self.assertEqual(check_schema(schema), [])
        written = inline(schema)
        self.assertEqual(check_schema(written), [])
        self.assertIn('"description": "same shape as s30"', json.dumps(written))

    def test_doubling_is_bounded(self) -> None:
        defs: dict[str, Any] = {
            f"s{n}": {"properties": {name: {"$ref": f"#/$defs/s{n + 1}"} for name in "ab"}}
            for n in range(40)
        }
        text = json.dumps(inline({"$defs": {**defs, "s40": {}}, "$ref": "#/$defs/s0"}))
        self.assertNotIn("$ref", text)
        self.assertLess(len(text), MAX_INLINED * 200)


if __name__ == "__main__":
    unittest.main()
