"""Foreign words in schemas, and what is left alone."""

from __future__ import annotations

import unittest
from typing import Any

from server.schema.normalise import normalise
from server.schema.validate import check_schema

OLD = "http://json-schema.org/draft-07/schema#"
TABLE: list[tuple[Any, Any]] = [
    (True, True),
    ({"type": "dict"}, {"type": "object"}),
    ({"type": "String"}, {"type": "string"}),
    ({"type": "FLOAT"}, {"type": "number"}),
    ({"type": "any", "title": "x"}, {"title": "x"}),
    ({"type": ["int", "null"]}, {"type": ["integer", "null"]}),
    ({"type": "tuple", "items": {"type": "int"}}, {"type": "array", "items": {"type": "integer"}}),
    ({"properties": {"type": {"type": "bool"}}}, {"properties": {"type": {"type": "boolean"}}}),
    ({"type": "string", "nullable": True}, {"type": ["string", "null"]}),
    (
        {"type": "string", "enum": ["a"], "nullable": True},
        {"type": ["string", "null"], "enum": ["a", None]},
    ),
    ({"minimum": 1, "exclusiveMinimum": True}, {"exclusiveMinimum": 1}),
    ({"maximum": 1, "exclusiveMaximum": False}, {"maximum": 1}),
    (
        {"properties": {"a": {"type": "str", "required": True}, "b": {"required": False}}},
        {"properties": {"a": {"type": "string"}, "b": {}}, "required": ["a"]},
    ),
    (
        {"items": [{"type": "int"}], "additionalItems": False},
        {"prefixItems": [{"type": "integer"}], "items": False},
    ),
    ({"items": []}, {}),
    ({"$schema": OLD, "items": [{}]}, {"$schema": OLD, "items": [{}]}),
    (
        {"default": {"type": "dict"}, "enum": [{"type": "int"}]},
        {"default": {"type": "dict"}, "enum": [{"type": "int"}]},
    ),
]
LEFT_ALONE: list[Any] = [{"type": "widget"}, {"type": 5}, {"type": []}, {"required": "a"}, 5]


class Words(unittest.TestCase):
    def test_table(self) -> None:
        for schema, expected in TABLE:
            with self.subTest(schema=schema):
                self.assertEqual(normalise(schema), expected)
                self.assertEqual(check_schema(normalise(schema)), [])

    def test_what_has_no_obvious_meaning_is_for_check_schema(self) -> None:
        for schema in LEFT_ALONE:
            with self.subTest(schema=schema):
                self.assertEqual(normalise(schema), schema)
                self.assertNotEqual(check_schema(schema), [])


if __name__ == "__main__":
    unittest.main()
