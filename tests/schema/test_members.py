"""Members of objects and arrays: names that are missing, too many, or null."""

from __future__ import annotations

import unittest
from typing import Any

from server.lib.json_schema.validate import validate

DRAFT_2019 = {"$schema": "https://json-schema.org/draft/2019-09/schema"}
OPEN = {"properties": {"a": {"type": "integer"}, "b": {"type": "string"}}, "required": ["a"]}
# schema, value -> errors as text
TABLE: list[tuple[Any, Any, list[str]]] = [
    (OPEN, {"a": None}, ["/a: expected integer, got null"]),
    (OPEN, {"a": 1, "b": None}, ["/b: expected string or to be left out, got null"]),
    ({"additionalProperties": False}, {"x": 1}, ['/x: unexpected property "x"; none is allowed']),
    (
        {"patternProperties": {"^x": {"type": "null"}}, "additionalProperties": False},
        {"x1": None, "y": 1},
        ['/y: unexpected property "y"'],
    ),
    (
        {"patternProperties": {"a": {"minimum": 1}, "b": {"minimum": 2}}},
        {"ab": 0},
        ["/ab: expected at least 1, got integer (0)", "/ab: expected at least 2, got integer (0)"],
    ),
    ({"additionalProperties": {"type": "null"}}, {"": 1}, ["/: expected null, got integer (1)"]),
    (
        {"propertyNames": False},
        {"a": 1},
        ['/a: the name does not fit: expected nothing here, got string ("a")'],
    ),
    ({"required": ["a", "a/b"]}, {}, ["/a: missing", "/a~1b: missing"]),
    ({"required": ["a"]}, [], []),
    (
        {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "items": [True],
            "additionalItems": False,
        },
        [1, 2],
        ["(root): expected at most 1 items, got 2"],
    ),
    (
        {**DRAFT_2019, "dependentRequired": {"a": ["b"]}, "unevaluatedProperties": False},
        {"a": 1},
        ['/b: missing, required together with "a"', '/a: unexpected property "a"'],
    ),
    ({**DRAFT_2019, "contains": {"const": 1}, "minContains": 0, "maxContains": 1}, [1, 1])
    + (["(root): expected at most 1 items to be 1, got 2"],),
    (
        {"contains": True, "maxContains": 1},
        [1, 2],
        ["(root): expected at most 1 items to be anything, got 2"],
    ),
    ({"contains": False, "minContains": 0}, [1], []),
    ({"unevaluatedProperties": False}, {"a": 1}, ['/a: unexpected property "a"']),
    ({"unevaluatedItems": False}, [1], ["/0: unexpected item 0"]),
]


class Members(unittest.TestCase):
    def test_table(self) -> None:
        for schema, value, expected in TABLE:
            with self.subTest(schema=schema, value=value):
                self.assertEqual([str(error) for error in validate(value, schema)], expected)


if __name__ == "__main__":
    unittest.main()
