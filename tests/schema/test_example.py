"""Examples fit their schema, or are not given."""

from __future__ import annotations

import unittest
from typing import Any

from server.lib.json_schema.generate import NOTHING, example
from server.lib.json_schema.validate import validate


class Examples(unittest.TestCase):
    def test_they_fit(self) -> None:
        text, whole = {"type": "string"}, {"type": "integer"}
        cases: list[tuple[dict[str, Any], Any]] = [
            ({}, "text"),
            (text, "text"),
            ({**text, "format": "date"}, "2026-11-21"),
            ({**text, "enum": ["a", "b"]}, "a"),
            ({**text, "examples": ["Oslo"]}, "Oslo"),
            ({**text, "minLength": 6, "maxLength": 6}, "textxx"),
            ({**text, "maxLength": 2}, "te"),
            ({**text, "minLength": 6.0, "maxLength": 6.0}, "textxx"),
            ({"type": "array", "items": whole, "minItems": 2.0}, [1, 1]),
            ({**whole, "minimum": 10**400}, 10**400),
            (whole, 1),
            ({**whole, "minimum": 7, "multipleOf": 5}, 10),
            ({**whole, "maximum": -3}, -3),
            ({"type": "number", "exclusiveMinimum": 2}, 3),
            ({"type": "boolean"}, True),
            ({"type": "null"}, None),
            ({"type": ["string", "null"]}, "text"),
            ({"type": "array", "items": whole, "minItems": 2}, [1, 1]),
            ({"anyOf": [{"type": "null"}, text]}, None),
            ({"const": 3}, 3),
            ({"type": "object", "properties": {"start_date": text}}, {"start_date": "2026-03-01"}),
            (
                {"type": "object", "properties": {"a": text, "b": whole}, "required": ["b"]},
                {"b": 1},
            ),
        ]
        for schema, found in cases:
            with self.subTest(schema):
                self.assertEqual(example(schema), found)
                self.assertEqual(validate(example(schema), schema), [])

    def test_none_is_better_than_a_wrong_one(self) -> None:
        deep: dict[str, Any] = {"type": "string", "pattern": "^[0-9]{4}$"}
        self.assertIs(example(deep), NOTHING)
        for _ in range(50):
            deep = {"type": "object", "properties": {"a": deep}, "required": ["a"]}
        self.assertIs(example(deep), NOTHING)

    def test_lists_of_lists_end(self) -> None:
        """A server's schema is a stranger's: twenty lists of twenty each are soon too many."""
        deep: dict[str, Any] = {"type": "string"}
        for _ in range(7):
            deep = {"type": "array", "minItems": 20, "items": deep}
        self.assertIs(example(deep), NOTHING)
        odd = {"type": "number", "minimum": 10**400, "multipleOf": 0.3}
        self.assertIs(example(odd), NOTHING)


if __name__ == "__main__":
    unittest.main()
