"""Repairs by schema alone: what is mended, what is left, and what is never touched."""

from __future__ import annotations

import time
import unittest
from typing import Any

from server.lib.json_schema.repair import repair

from .clock import second

POINT = {"type": "object", "properties": {"x": {"type": "integer"}, "y": {"type": "number"}}}
LEAVE: Any = object()  # stays as it is, with an error

# schema, value, mended value
TABLE: list[tuple[Any, Any, Any]] = [
    ({"type": "integer"}, " 5 ", 5),
    ({"type": "integer"}, "5.0", 5),
    ({"type": "integer"}, "+5", 5),
    ({"type": "integer"}, "5.5", LEAVE),
    ({"type": "integer"}, "1e3", LEAVE),
    ({"type": "integer"}, "٣", LEAVE),
    ({"type": "integer"}, "1" * 500, LEAVE),
    ({"type": "integer"}, True, LEAVE),
    ({"type": "number"}, "-2.5e3", -2500.0),
    ({"type": "number"}, "1e999", LEAVE),
    ({"type": "number"}, "NaN", LEAVE),
    ({"type": "boolean"}, "No", False),
    ({"type": "boolean"}, 1, True),
    ({"type": "boolean"}, 2, LEAVE),
    ({"type": "string"}, 5, "5"),
    ({"type": "string"}, 1.5, LEAVE),
    ({"type": "string"}, {"a": 1}, LEAVE),
    ({"type": "string"}, "[1]", "[1]"),
    ({"type": "null"}, "null", None),
    ({"type": ["integer", "null"]}, "null", None),
    ({"type": "array"}, "[1, 2]", [1, 2]),
    ({"type": "array"}, '{"a": 1}', LEAVE),
    ({"type": "array"}, "1, 2", LEAVE),
    ({"type": "array"}, 1, LEAVE),
    (POINT, ' {"x": "1"}', {"x": 1}),
    (POINT, '{"x": 1', LEAVE),
    (POINT, '"{\\"x\\": 1}"', LEAVE),
    (POINT, {"x": None, "y": "1"}, {"y": 1}),
    ({**POINT, "required": ["x"]}, {"x": None}, LEAVE),
    ({"items": {"type": "integer"}}, ["1", 2, "3"], [1, 2, 3]),
    ({"items": {"type": "integer"}}, [None], LEAVE),
    ({"additionalProperties": {"type": "integer"}}, {"a": None}, LEAVE),
    ({"enum": [1, 2]}, "2", 2),
    ({"enum": ["1", "2"]}, 2, "2"),
    ({"enum": [1, "1"]}, True, LEAVE),
    ({"const": True}, "true", True),
    ({"enum": ["red"]}, "Red", LEAVE),
    ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "7", 7),
    ({"anyOf": [POINT, {"type": "null"}]}, '{"x": "1"}', {"x": 1}),
    ({"oneOf": [{"type": "integer"}, {"type": "string"}]}, "5", "5"),
    ({"uniqueItems": True}, [1, 2, 1.0, True], [1, 2, True]),
    ({"format": "date-time"}, "2026-11-21 10:00:00Z", "2026-11-21T10:00:00Z"),
    ({"format": "date"}, " 2026-11-21 ", "2026-11-21"),
    ({"format": "date-time"}, "2026-11-21T10:00:00", LEAVE),
    ({"format": "uuid"}, "0" * 32, "00000000-0000-0000-0000-000000000000"),
    ({"minimum": 5}, 1, LEAVE),
    ({"type": "integer", "minimum": 5}, "1", 1),
]


class Repairs(unittest.TestCase):
    def test_table(self) -> None:
        for schema, value, expected in TABLE:
            with self.subTest(schema=schema, value=value):
                result = repair(value, schema)
                if expected is LEAVE:
                    self.assertNotEqual(result.errors, [])
                    self.assertEqual((result.value, result.repairs), (value, []))
                else:
                    self.assertEqual(result.value, expected)
                    self.assertEqual(type(result.value), type(expected))
                    changed = (value, type(value)) != (expected, type(expected))
                    self.assertEqual(bool(result.repairs), changed)

    def test_each_repair_is_reported_with_its_place(self) -> None:
        value = {"x": "1", "y": None}
        result = repair(value, {**POINT, "additionalProperties": False})
        self.assertEqual(
            [str(one) for one in result.repairs],
            ['/x: string ("1") was taken as integer (1)', "/y: null was taken as not given"],
        )
        self.assertEqual(value, {"x": "1", "y": None})

    def test_too_many_alternatives_can_not_be_mended(self) -> None:
        result = repair(3, {"oneOf": [{"type": "integer"}, {"minimum": 2}]})
        self.assertEqual((result.value, result.repairs, len(result.errors)), (3, [], 1))

    def test_more_than_one_round_of_findings(self) -> None:
        result = repair([str(n) for n in range(1_000)], {"items": {"type": "integer"}})
        self.assertEqual((result.value, result.errors), (list(range(1_000)), []))

    def test_hostile(self) -> None:
        choices = [{"type": "object", "properties": {"a": {"$ref": "#"}}}] * 30
        deep: Any = "x"
        for _ in range(80):
            deep = {"a": deep}
        cases: list[tuple[Any, Any]] = [
            ({"anyOf": [*choices, {"type": "null"}]}, deep),
            ({"anyOf": [{"type": "array", "items": {"$ref": "#"}}] * 50}, "[" * 90 + "]" * 90),
            ({"items": {"type": "integer"}}, ["1"] * 50_000),
            ({"type": "array"}, "[" * 500_000),
        ]
        for schema, value in cases:
            with self.subTest(str(schema)[:60]):
                start = time.process_time()
                repair(value, schema)
                self.assertLess(time.process_time() - start, 2 * second())


if __name__ == "__main__":
    unittest.main()
