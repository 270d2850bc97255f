"""Where Python and JSON disagree, which alternative was meant, and what each one has seen."""

from __future__ import annotations

import unittest
from typing import Any

from server.lib.json_schema.keywords import identity
from server.lib.json_schema.validate import validate

BIG = 2**70
SAME: list[tuple[Any, Any]] = [
    (1, 1.0),
    (0, -0.0),
    (BIG, float(BIG)),
    ([1, {"a": 2.0}], [1.0, {"a": 2}]),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
]
DIFFERENT: list[tuple[Any, Any]] = [
    (1, True),
    (0, False),
    (0, None),
    ("1", 1),
    ([], {}),
    ([1], [True]),
    ({"a": 0}, {"a": False}),
    (BIG, BIG + 1),
    ("", None),
    ([[]], []),
    (["a"], "a"),
]

# schema, fits, does not fit
TABLE: list[tuple[Any, list[Any], list[Any]]] = [
    ({"type": "integer"}, [1, 1.0, -0.0, 10**400, 1e300], [True, 1.5, "1", None]),
    ({"type": "number"}, [1, 1.5], [True, "1"]),
    ({"type": "boolean"}, [True], [1, 0]),
    ({"enum": [1, "a", None, [0]]}, [1.0, "a", None, [0.0]], [True, "1", False, [False]]),
    ({"const": {"a": [1]}}, [{"a": [1.0]}], [{"a": [True]}, {"a": 1}]),
    ({"multipleOf": 0.0001}, [0.0075, 1, 10**30, -0.0002], [0.00751, 0.00015]),
    ({"multipleOf": 0.1}, [0.3, 1.1, 1e20], [0.35]),
    ({"multipleOf": 3}, [9, 9.0, 3 * 10**300], [10, 9.5, 1e308 + 1, float("nan")]),
    ({"multipleOf": 1e-8}, [12391239123], [1e-9]),
    ({"maximum": 10**30}, [9e29, "x"], [1.1e30, 10**31]),
    ({"exclusiveMinimum": 0}, [1e-300], [0, -0.0]),
    ({"minLength": 2}, ["你好", "\U0001f600\U0001f600"], ["\U0001f600", "e"]),
    ({"uniqueItems": True}, [[1, True], [0, False], [[1], [True]]], [[1, 1.0], [{}, {}]]),
    ({"uniqueItems": False}, [[1, 1]], []),
    ({"uniqueItems": True}, ["aa", {}], []),
    ({"format": "date"}, [5, None, "2026-01-01"], ["x"]),
    ({"type": "integer", "enum": [1]}, [1], ["1"]),
]


class Equality(unittest.TestCase):
    def test_same_and_different(self) -> None:
        for pairs, expected in ((SAME, True), (DIFFERENT, False)):
            for one, other in pairs:
                with self.subTest(one=one, other=other):
                    self.assertEqual(identity(one) == identity(other), expected)


class Assertions(unittest.TestCase):
    def test_table(self) -> None:
        for schema, good, bad in TABLE:
            for values, count in ((good, 0), (bad, 1)):
                for value in values:
                    with self.subTest(schema=schema, value=value):
                        self.assertEqual(len(validate(value, schema)), count)


CAT = {"type": "object", "properties": {"kind": {"const": "cat"}, "lives": {"type": "integer"}}}
DOG = {"type": "object", "properties": {"kind": {"enum": ["dog", "wolf"]}}, "required": ["name"]}
PET = {"anyOf": [CAT, DOG, {"type": "null"}]}
# schema, value -> the places of the errors
PLACES: list[tuple[Any, Any, list[str]]] = [
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
        for schema, value, expected in PLACES:
            with self.subTest(schema=schema, value=value):
                self.assertEqual([error.pointer for error in validate(value, schema)], expected)


if __name__ == "__main__":
    unittest.main()
