"""Which schemas can be used, and what is said about the others."""

from __future__ import annotations

import unittest
from typing import Any

from server.lib.json_schema.compile import MAX_SUBSCHEMAS
from server.lib.json_schema.validate import check_schema, validate

DRAFT_7 = "http://json-schema.org/draft-07/schema#"
DRAFT_2019 = "https://json-schema.org/draft/2019-09/schema"
USABLE: list[Any] = [
    True,
    False,
    {},
    {"$schema": "https://json-schema.org/draft/2020-12/schema"},
    {"$schema": DRAFT_7, "items": [{"type": "string"}], "additionalItems": False},
    {"$schema": DRAFT_7[:-1]},
    {"$schema": "https://json-schema.org/draft-07/schema#", "items": [{}]},
    {"$schema": "http://json-schema.org/draft-06/schema#", "items": [{}]},
    {"$schema": "https://json-schema.org/draft/2019-09/schema#", "items": {}},
    {"$dynamicAnchor": "here", "items": {"$ref": "#here"}},
    {"title": 5, "x-anything": {"type": "unheard"}, "examples": [{"$ref": "#/nowhere"}]},
    {"properties": {"$ref": {"type": "string"}, "type": {"enum": []}}},
    {"properties": {"child": {"$ref": "#"}}, "additionalProperties": {"$ref": "#"}},
    {"minLength": 2.0, "format": "unheard-of", "pattern": "a{"},
    {"$defs": {"unused": {"$ref": "#/nowhere"}}},
]
# schema -> errors "place: message"
UNUSABLE: list[tuple[Any, list[str]]] = [
    (5, ["(root): expected a schema (an object, true or false), got integer (5)"]),
    (
        {"$schema": "http://json-schema.org/draft-04/schema#"},
        [
            "/$schema: the dialect 'http://json-schema.org/draft-04/schema' is not supported;"
            " supported: https://json-schema.org/draft/2020-12/schema,"
            " " + DRAFT_7
        ],
    ),
    (
        {"properties": {"a": {"type": "int"}, "b": {"minimum": "1"}}},
        [
            "/properties/a/type: expected one of null, boolean, integer, number, string, array,"
            ' object, or a list of them, got string ("int")',
            '/properties/b/minimum: expected a number, got string ("1")',
        ],
    ),
    (
        {"$schema": DRAFT_2019, "properties": {"a": {"$recursiveRef": "#"}}},
        ["/properties/a/$recursiveRef: this keyword is not supported"],
    ),
    (
        {"properties": {"a": {"$dynamicRef": "#here"}}},
        ["/properties/a/$dynamicRef: this keyword is not supported"],
    ),
    ({"$schema": 7}, ["/$schema: expected text, got integer (7)"]),
    ({"items": [{}]}, ["/items: expected a schema, got array of 1 item"]),
    ({"required": "a"}, ['/required: expected a list of names, got string ("a")']),
    ({"maxItems": -1}, ["/maxItems: expected a whole number from 0, got integer (-1)"]),
    ({"maxItems": float("1e400")}, ["(root): not JSON: Out of range float values are not JSON"]),
    ({"multipleOf": 0}, ["/multipleOf: expected a number above 0, got integer (0)"]),
    ({"anyOf": []}, ["/anyOf: expected a list of schemas, got array of 0 items"]),
    ({"properties": {"a": 1}}, ['/properties: expected an object of schemas, got object with "a"']),
    ({"pattern": "("}, ["/pattern: not a valid pattern: a group is not closed at character 2"]),
    (
        {"patternProperties": {"*": {}}},
        ["/patternProperties: not a valid pattern: nothing to repeat at character 2"],
    ),
    (
        {"$ref": "http://x.test/"},
        ["/$ref: 'http://x.test/' is not part of this schema, and schemas are not fetched"],
    ),
    (
        {"items": {"$ref": "#/$defs/a"}, "$defs": {"a": {"$ref": "#/$defs/b"}}},
        ["/$defs/a/$ref: '#/$defs/b' does not lead to a schema"],
    ),
    ({"$ref": "#"}, ["/$ref: refers to itself without looking into the value"]),
    (
        {"$defs": {"a": {"not": {"$ref": "#/$defs/a"}}}, "items": {"$ref": "#/$defs/a"}},
        ["/$defs/a/$ref: refers to itself without looking into the value"],
    ),
    ({"if": 1, "then": True}, ["/if: expected a schema, got integer (1)"]),
]


class Schemas(unittest.TestCase):
    def test_usable(self) -> None:
        for schema in USABLE:
            with self.subTest(schema=schema):
                self.assertEqual(check_schema(schema), [])

    def test_unusable(self) -> None:
        for schema, expected in UNUSABLE:
            with self.subTest(schema=schema):
                errors = [str(error) for error in check_schema(schema)]
                self.assertEqual(len(errors), len(expected), errors)
                for error, start in zip(errors, expected, strict=True):
                    self.assertEqual(error[: len(start)], start)

    def test_so_many_subschemas_as_may_be(self) -> None:
        """The root is one of them."""
        for more, errors in ((-1, 0), (0, 1)):
            members: dict[str, object] = {
                str(number): {} for number in range(MAX_SUBSCHEMAS + more)
            }
            with self.subTest(more=more):
                self.assertEqual(len(check_schema({"properties": members})), errors)

    def test_a_member_that_is_another_one(self) -> None:
        schema = {"properties": {"a": {"$ref": "#/properties/b"}, "b": {"type": "null"}}}
        self.assertEqual(
            [error.pointer for error in validate({"a": 1, "b": 1}, schema)], ["/a", "/b"]
        )

    def test_one_schema_on_two_ways_is_no_loop(self) -> None:
        schema = {"$defs": {"n": {"minimum": 1}}, "allOf": [{"$ref": "#/$defs/n"}] * 2}
        self.assertEqual(len(validate(0, schema)), 2)


if __name__ == "__main__":
    unittest.main()
