"""Which alternative was meant, and what each one has seen."""

from __future__ import annotations

import unittest
from typing import Any

from server.schema.validate import validate

CAT = {"type": "object", "properties": {"kind": {"const": "cat"}, "lives": {"type": "integer"}}}
DOG = {"type": "object", "properties": {"kind": {"enum": ["dog", "wolf"]}}, "required": ["name"]}
PET = {"anyOf": [CAT, DOG, {"type": "null"}]}
# schema, value -> the places of the errors
TABLE: list[tuple[Any, Any, list[str]]] = [
    (PET, {"kind": "cat", "lives": "9"}, ["/lives"]),
    (PET, {"kind": "wolf"}, ["/name"]),
    (PET, "cat", [""]),
    (PET, {"kind": "bird"}, [""]),
    ({"oneOf": [PET, {"type": "string"}]}, {"kind": "cat", "lives": "9"}, ["/lives"]),
    ({"items": PET}, [None, {"kind": "cat"}, {"kind": "dog"}], ["/2/name"]),
    ({"if": {"type": "string"}, "then": {"minLength": 2}, "else": {"minimum": 2}}, "a", [""]),
    ({"if": {"type": "string"}, "then": {"minLength": 2}, "else": {"minimum": 2}}, 1, [""]),
    ({"if": {"type": "string"}, "else": {"minimum": 2}}, "a", []),
    ({"then": False, "else": False}, 1, []),
    ({"dependentSchemas": {"a": {"required": ["b"]}}}, {"a": 1}, ["/b"]),
    ({"dependencies": {"a": ["b"], "c": {"required": ["d"]}}}, {"a": 1, "c": 1}, ["/b", "/d"]),
    ({"allOf": [{"minimum": 5}, {"multipleOf": 2}]}, 3, ["", ""]),
    (
        {
            "anyOf": [{"properties": {"a": {"type": "string"}}}, {"properties": {"b": True}}],
            "unevaluatedProperties": False,
        },
        {"a": 1, "b": 1},
        ["/a"],
    ),
    (
        {
            "prefixItems": [True],
            "contains": {"type": "string"},
            "unevaluatedItems": {"type": "null"},
        },
        [1, "a", 2, None],
        ["/2"],
    ),
    (
        {
            "$ref": "#/$defs/a",
            "unevaluatedProperties": False,
            "$defs": {"a": {"properties": {"x": {}}}},
        },
        {"x": 1, "y": 1},
        ["/y"],
    ),
]


class Applicators(unittest.TestCase):
    def test_places(self) -> None:
        for schema, value, expected in TABLE:
            with self.subTest(schema=schema, value=value):
                self.assertEqual([error.pointer for error in validate(value, schema)], expected)


if __name__ == "__main__":
    unittest.main()
