"""Schemas as every provider takes them: what some of them refuse is said otherwise."""

from __future__ import annotations

import json
import unittest
from typing import Any

from server.lib.json_schema.portable import MAX_WORDS, original_names, portable
from server.lib.json_schema.validate import validate

LOOKS_AROUND = r"^(?!\.)(?!.*\.\.)([a-z.]*)@[a-z]+$"  # as zod writes an e-mail address

# (a property as its author wrote it, as it is offered)
PROPERTIES: list[tuple[Any, Any]] = [
    ({"type": "string"}, {"type": "string"}),
    (
        {"type": "string", "pattern": LOOKS_AROUND},
        {"type": "string", "description": f"(pattern: {LOOKS_AROUND})"},
    ),
    (
        {"type": "string", "pattern": r"\S", "description": "Who."},
        {"type": "string", "description": r"Who. (pattern: \S)"},
    ),
    ({"type": "string", "pattern": "a" * 201}, {"type": "string"}),
    ({"type": "array"}, {"type": "array", "items": {}}),
    ({"type": ["array", "null"]}, {"type": ["array", "null"], "items": {}}),
    ({"type": "array", "items": True}, {"type": "array", "items": {}}),
    (
        {"type": "array", "prefixItems": [{"type": "string"}, True]},
        {"type": "array", "prefixItems": [{"type": "string"}, {}], "items": {}},
    ),
    (
        {"type": "array", "items": [{"type": "string"}], "additionalItems": False},
        {"type": "array", "prefixItems": [{"type": "string"}], "items": False},
    ),
    (
        {"type": "object", "properties": {"pattern": True, "items": {"type": "array"}}},
        {"type": "object", "properties": {"pattern": {}, "items": {"type": "array", "items": {}}}},
    ),
    (
        {"type": "object", "additionalProperties": True},
        {"type": "object", "additionalProperties": True},
    ),
    ({"anyOf": [{"not": {}}, {"type": "string"}]}, {"anyOf": [{"type": "string"}]}),
    ({"anyOf": [{"not": {}}]}, {"anyOf": [{"not": {}}]}),
    ({"enum": ["pattern", True], "default": {"pattern": "x"}},) * 2,
    (True, {}),
    (False, False),
]

# (a whole schema, the same as it is offered, what its words hold)
WHOLE: list[tuple[Any, Any, str]] = [
    ({"type": "object"}, {"type": "object", "properties": {}}, ""),
    (
        {"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "properties": {}},
        {"type": "object", "properties": {}},
        "",
    ),
    (
        {"type": "object", "oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
        {"type": "object", "properties": {}},
        '{"oneOf":[{"required":["a"]},{"required":["b"]}]}',
    ),
    (
        {
            "type": "object",
            "allOf": [{"$ref": "#/$defs/A"}],
            "$defs": {"A": {"properties": {"a": {"type": "integer"}}}},
        },
        {"type": "object", "properties": {}},
        '{"allOf":[{"properties":{"a":{"type":"integer"}}}]}',
    ),
    (
        {
            "type": "object",
            "allOf": [{"properties": {"a": {}}}],
            "unevaluatedProperties": False,
        },
        {"type": "object", "properties": {}},
        '{"allOf":[{"properties":{"a":{}}}]}',
    ),
    (
        {
            "type": "object",
            "$ref": "#/definitions/A",
            "definitions": {"A": {"type": "object", "properties": {"a": {"type": "null"}}}},
        },
        {"type": "object", "properties": {"a": {"type": "null"}}},
        "",
    ),
    (
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {}}},
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {}}},
        "",
    ),
    ({"type": "object", "properties": {"a": {"$ref": "#"}}},) * 2 + ("",),
    (
        {
            "type": "object",
            "properties": {
                "a": {"anyOf": [{"not": {}}, {"type": "string"}]},
                "b": {"$ref": "#/properties/a/anyOf/1"},
                "c": {"type": "array", "items": [{"type": "null"}]},
                "d": {"$ref": "#/properties/c/items/0"},
            },
        },
        {
            "type": "object",
            "properties": {
                "a": {"anyOf": [{"type": "string"}]},
                "b": {"type": "string"},
                "c": {"type": "array", "prefixItems": [{"type": "null"}], "items": {}},
                "d": {"type": "null"},
            },
        },
        "",
    ),
]


class Portable(unittest.TestCase):
    def test_properties(self) -> None:
        for written, offered in PROPERTIES:
            with self.subTest(written):
                whole = {"type": "object", "properties": {"x": written}}
                before = json.dumps(whole)
                found, words = portable(whole)
                self.assertEqual(found, {"type": "object", "properties": {"x": offered}})
                self.assertEqual(words, "")
                self.assertEqual(json.dumps(whole), before)

    def test_the_top(self) -> None:
        for written, offered, words in WHOLE:
            with self.subTest(written):
                found, said = portable(written)
                self.assertEqual(found, offered)
                self.assertTrue(said.endswith(words) and bool(said) == bool(words), said)

    def test_what_is_the_same_is_the_same_text(self) -> None:
        """Providers cache a prompt by its bytes."""
        plain = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
        self.assertEqual(json.dumps(portable(plain)[0]), json.dumps(plain))

    def test_tuples_keep_their_meaning(self) -> None:
        old: dict[str, Any] = {"type": "array", "items": [{"type": "string"}, {"type": "integer"}]}
        for more in ({}, {"additionalItems": False}, {"additionalItems": {"type": "null"}}):
            written = {"type": "object", "properties": {"x": {**old, **more}}}
            found, _ = portable(written)
            dialect = "http://json-schema.org/draft-07/schema#"
            for value in (["a", 1], ["a", "b"], [1], ["a", 1, None], ["a", 1, 2], []):
                with self.subTest(more, value=value):
                    before = validate({"x": value}, {"$schema": dialect, **written})
                    self.assertEqual(bool(validate({"x": value}, found)), bool(before))

    def test_names_of_arguments(self) -> None:
        text = {"type": "string"}
        names = ["filter[id]", "filter_id", "$top", "a.b-c_1", "x" * 65, "日本", "[", "]"]
        written = {"type": "object", "properties": dict.fromkeys(names, text), "required": names}
        found, _ = portable(written)
        offered = [*found["properties"]]
        for name in offered:
            self.assertRegex(name, r"\A[a-zA-Z0-9_.-]{1,64}\Z")
        self.assertEqual(found["required"], offered)
        self.assertEqual(
            (offered[0], offered[1], offered[3]), ("filter_id_", "filter_id", "a.b-c_1")
        )
        back = original_names(written)
        self.assertEqual([back.get(name, name) for name in offered], names)
        nested = {"type": "object", "properties": {"a": {"properties": {"$b": text}}}}
        self.assertEqual((portable(nested)[0], original_names(nested)), (nested, {}))
        choice = {"type": "object", "properties": {"$a": text}, "anyOf": [{"required": ["$a"]}]}
        self.assertEqual(original_names(choice), {"_a": "$a"})

    def test_words_are_not_without_end(self) -> None:
        choice = [{"required": ["a" * 100]} for _ in range(MAX_WORDS // 100)]
        self.assertEqual(portable({"type": "object", "anyOf": choice})[1], "")


if __name__ == "__main__":
    unittest.main()
