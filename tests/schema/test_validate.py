"""Validation as a whole: the official suite, the words of the errors, and hostile input."""

from __future__ import annotations

import gc
import time
import unittest
import weakref
from collections.abc import Callable
from functools import partial
from typing import Any

from server.lib.json_schema.compile import Format
from server.lib.json_schema.keywords import FORMATS
from server.lib.json_schema.validate import (
    MAX_REMEMBERED,
    NO_FORMATS,
    SchemaError,
    Schemas,
    Validator,
    cached_validator,
    check_schema,
    validate,
)

from .clock import second
from .suite import DYNAMIC, REQUIRED, documents, groups


class OfficialSuite(unittest.TestCase):
    def test_required(self) -> None:
        """In the required part `format` is an annotation, as 2020-12 has it by default."""
        for draft, count in REQUIRED.items():
            self.assertEqual(self.run_folder(draft, "", NO_FORMATS), count)

    def test_optional(self) -> None:
        for draft in REQUIRED:
            self.assertGreater(self.run_folder(draft, "optional", FORMATS), 100)

    def test_formats(self) -> None:
        for draft in REQUIRED:
            self.assertGreater(self.run_folder(draft, "optional/format", FORMATS), 400)

    def run_folder(self, draft: str, folder: str, formats: dict[str, Format] | Any) -> int:
        """Run all of it; how many tests there were, the unsupported ones included."""
        known, count, refused = documents(), 0, 0
        for group in groups(draft, folder):
            count += len(group.tests)
            if group.unsupported:
                continue
            try:
                validator = Validator(group.schema, formats=formats, documents=known)
            except SchemaError as error:
                self.assertEqual({each.keyword for each in error.errors}, {"$dynamicRef"})
                refused += len(group.tests)
                continue
            for test in group.tests:
                with self.subTest(draft, group=group.name, test=test["description"]):
                    errors = validator.errors(test["data"])
                    self.assertEqual(not errors, test["valid"], errors)
        self.assertEqual(refused, DYNAMIC.get(folder, 0) if draft == "draft2020-12" else 0)
        return count


PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 2},
        "unit": {"enum": ["celsius", "fahrenheit"]},
        "born": {"type": "string", "format": "date"},
    },
    "required": ["name"],
    "additionalProperties": False,
}
TREE = {"type": "object", "properties": {"sub": {"type": "array", "items": {"$ref": "#"}}}}

# schema, value -> the errors, each "place: message"
MESSAGES: list[tuple[Any, Any, list[str]]] = [
    (True, 1, []),
    (False, 1, ["(root): expected nothing here, got integer (1)"]),
    ({"type": "integer"}, "5", ['(root): expected integer, got string ("5")']),
    ({"type": ["integer", "null"]}, True, ["(root): expected integer or null, got boolean (true)"]),
    ({"minimum": 1}, 0, ["(root): expected at least 1, got integer (0)"]),
    ({"multipleOf": 0.1}, 0.25, ["(root): expected a multiple of 0.1, got number (0.25)"]),
    ({"maxItems": 1}, [1, 2], ["(root): expected at most 1 item, got 2"]),
    ({"minProperties": 2}, {}, ["(root): expected at least 2 properties, got 0"]),
    (
        {"uniqueItems": True},
        [1, {"a": 1}, 1.0],
        ["(root): expected different items, but items 0 and 2 are equal"],
    ),
    (
        {"pattern": "^a"},
        "b" * 100,
        ['(root): expected text matching "^a", got string ("' + "b" * 60 + '…")'],
    ),
    (PERSON, [], ["(root): expected object, got array of 0 items"]),
    (PERSON, {}, ["/name: missing, expected string"]),
    (
        PERSON,
        {"nmae": "x", "unit": "celcius", "born": "2026-02-30"},
        [
            '/unit: expected "celsius" or "fahrenheit", got string ("celcius")'
            ' (did you mean "celsius"?)',
            '/born: expected date such as 2026-11-21, got string ("2026-02-30")',
            '/nmae: unexpected property "nmae"; allowed: "name", "unit" or "born"'
            ' (did you mean "name"?)',
            "/name: missing, expected string",
        ],
    ),
    (TREE, {"sub": [{}, {"sub": [1]}]}, ["/sub/1/sub/0: expected object, got integer (1)"]),
    (
        {"propertyNames": {"maxLength": 1}},
        {"a/b": 1},
        ["/a~1b: the name does not fit: expected at most 1 character, got 3"],
    ),
    (
        {"not": {"type": "string"}},
        "a",
        ['(root): expected anything but string, got string ("a")'],
    ),
    (
        {"contains": {"type": "string"}},
        [1],
        ["(root): expected at least 1 items to be string, got 0"],
    ),
    (
        {"dependentRequired": {"a": ["b"]}},
        {"a": 1},
        ['/b: missing, required together with "a"'],
    ),
    ({"items": False, "prefixItems": [True]}, [1, 2], ["(root): expected at most 1 items, got 2"]),
]

CIRCLE = {"properties": {"kind": {"const": "circle"}, "r": {"type": "number"}}, "required": ["r"]}
SQUARE = {"properties": {"kind": {"const": "square"}, "a": {"type": "number"}}, "required": ["a"]}
SHAPES = [{"type": "object", **CIRCLE}, {"type": "object", **SQUARE}]
ALTERNATIVES: list[tuple[Any, Any, list[str]]] = [
    (
        {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "x",
        ['(root): expected integer or null, got string ("x")'],
    ),
    (
        {"anyOf": [PERSON, {"type": "null"}]},
        {"name": 1},
        ["/name: expected string, got integer (1)"],
    ),
    ({"anyOf": SHAPES}, {"kind": "square"}, ["/a: missing, expected number"]),
    ({"oneOf": SHAPES}, {"kind": "circle", "r": "1"}, ['/r: expected number, got string ("1")']),
    ({"anyOf": SHAPES}, [], ["(root): expected object, got array of 0 items"]),
    (
        {"anyOf": SHAPES},
        {"a": "1"},
        ["(root): expected object; the closest fails at /r: missing, expected number"],
    ),
    (
        {"oneOf": [{"type": "integer"}, {"minimum": 1}]},
        2,
        ["(root): expected exactly one of 2 alternatives, but 1 and 2 fit"],
    ),
    (
        {"$defs": {"n": {"type": "null"}}, "anyOf": [{"$ref": "#/$defs/n"}, {"type": "string"}]},
        1,
        ["(root): expected null or string, got integer (1)"],
    ),
]


class Messages(unittest.TestCase):
    def test_every_problem_in_words(self) -> None:
        for schema, value, expected in MESSAGES + ALTERNATIVES:
            with self.subTest(schema=schema, value=value):
                self.assertEqual([str(error) for error in validate(value, schema)], expected)

    def test_errors_have_pointer_keyword_and_message(self) -> None:
        (error,) = validate({"~/": "x"}, {"additionalProperties": {"type": "integer"}})
        self.assertEqual((error.pointer, error.keyword), ("/~0~1", "type"))
        self.assertEqual(error.message, 'expected integer, got string ("x")')

    def test_formats_can_be_left_out(self) -> None:
        self.assertEqual(len(validate("x", {"format": "date"})), 1)
        self.assertEqual(validate("x", {"format": "date"}, formats=False), [])

    def test_a_schema_that_changed_is_compiled_again(self) -> None:
        schema: dict[str, Any] = {"type": "string"}
        self.assertEqual(validate("x", schema), [])
        schema["type"] = "integer"
        self.assertEqual(len(validate("x", schema)), 1)

    def test_an_unusable_schema_is_raised_with_its_errors(self) -> None:
        with self.assertRaises(SchemaError) as caught:
            validate(1, {"type": "int", "minimum": "0"})
        self.assertEqual(
            [error.pointer for error in caught.exception.errors], ["/type", "/minimum"]
        )


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


def doubling(keyword: str, levels: int = 40) -> dict[str, Any]:
    """A small schema that means 2**levels subschemas."""
    steps = {
        f"s{n}": {keyword: [{"$ref": f"#/$defs/s{n + 1}"}, {"$ref": f"#/$defs/s{n + 1}"}]}
        for n in range(levels)
    }
    return {"$defs": {**steps, f"s{levels}": {"type": "integer"}}, "$ref": "#/$defs/s0"}


RECURSIVE = {"items": {"$ref": "#"}}
DOUBLE = {"allOf": [{"items": {"$ref": "#"}}, {"items": {"$ref": "#"}}]}
COLLIDING = [n * (2**61 - 1) for n in range(50_000)]  # CPython hashes them all to 0

# what, schema, value -> the keywords of the errors
HOSTILE: list[tuple[str, Any, Any, list[str]]] = [
    ("deep value", RECURSIVE, nested(10_000), ["limit"]),
    ("deep alternatives", {"anyOf": [{"type": "null"}, RECURSIVE]}, nested(10_000), ["limit"]),
    ("deep equals", {"uniqueItems": True}, [nested(10_000)] * 2, ["limit"]),
    ("deep constant", {"const": 1}, nested(10_000), ["limit"]),
    ("bomb of allOf", doubling("allOf"), "x", ["limit"]),
    ("bomb of anyOf", doubling("anyOf"), "x", ["limit"]),
    ("bomb of oneOf", doubling("oneOf"), "x", ["limit"]),
    ("bomb that grows with the value", DOUBLE, nested(90), ["limit"]),
    ("integers with equal hashes", {"uniqueItems": True}, COLLIDING, []),
    ("huge integer", {"multipleOf": 0.0001, "type": "integer"}, 10**4000, []),
    ("huge integer, shown", {"type": "string"}, 10**5000, ["type"]),
    ("huge against float", {"minimum": 1e308}, 10**4000, []),
    ("tiny divisor", {"multipleOf": 5e-324}, 1e308, []),
    ("1 MB string", {"pattern": "^[a-z]+$", "maxLength": 10}, "x" * 1_000_000, ["maxLength"]),
    ("pattern of many ways", {"pattern": "^(.*)=(.*)=x$"}, "=" * 100_000, ["limit"]),
    ("pattern, many texts", {"items": {"pattern": "(a|b)*a.{9}$"}}, ["a" * 999] * 999, ["limit"]),
    ("too costly below not", {"not": {"pattern": "^(?=.*a).*b.*c.*$"}}, "b" * 100_000, ["limit"]),
    ("half a pair", {"enum": ["\ud800"]}, "\udfff", ["enum"]),
    ("many errors", {"items": False}, [0] * 300_000, ["items"]),
]


class Hostile(unittest.TestCase):
    def test_within_a_second(self) -> None:
        for what, schema, value, expected in HOSTILE:
            with self.subTest(what):
                errors = self.quickly(partial(validate, value, schema))
                self.assertEqual([error.keyword for error in errors], expected)
                for error in errors:
                    self.assertLess(len(str(error).encode()), 500)

    def test_errors_are_capped(self) -> None:
        errors = self.quickly(partial(validate, [0] * 300_000, {"items": {"type": "string"}}))
        self.assertEqual(len(errors), 100)

    def test_hostile_schemas(self) -> None:
        deep: dict[str, Any] = {}
        for _ in range(10_000):
            deep = {"allOf": [deep]}
        chain = {f"s{n}": {"$ref": f"#/$defs/s{n + 1}"} for n in range(5_000)}
        cases: list[tuple[str, Any]] = [
            ("deep", deep),
            ("loop", {"$ref": "#"}),
            ("long chain", {"$defs": {**chain, "s5000": True}, "$ref": "#/$defs/s0"}),
            ("wide", {"allOf": [{"type": "null"}] * 30_000}),
            ("long text", {"description": "x" * 1_000_001}),
            ("exponential pattern", {"pattern": "^(a+)+$"}),
            ("not JSON", {"enum": [float("nan")]}),
            ("not JSON either", {"enum": [object()]}),
        ]
        for what, schema in cases:
            with self.subTest(what):
                errors = self.quickly(partial(check_schema, schema))
                self.assertGreater(len(errors), 0)
                self.assertLess(len(str(errors[0])), 500)

    def test_schemas_of_a_request_share_a_budget(self) -> None:
        schemas = Schemas(max_cost=100_000, max_steps=1_000)
        self.assertEqual(schemas.errors([1] * 600, {"items": {"type": "integer"}}), [])
        left = schemas.errors([1] * 600, {"items": {"type": "integer"}})
        self.assertEqual([error.keyword for error in left], ["limit"])
        wide = [{"properties": {"a": {"pattern": rf"\p{{L}}{n}{n}"}}} for n in range(20)]
        with self.assertRaises(SchemaError) as caught:
            for schema in wide:
                schemas.validator(schema)
        self.assertIn("may cost 100000 to compile, these cost 1", str(caught.exception))
        for refused in ({"type": "text"}, {"pattern": "^(a+)+$"}):
            with self.assertRaises(SchemaError) as caught:
                Schemas().validator(refused)
            self.assertLess(caught.exception.cost, 1_000)

    def test_few_large_schemas_are_kept(self) -> None:
        """They come with sessions, so whoever has a key could fill the memory with them."""
        for size, stays in ((100, True), (MAX_REMEMBERED // 20, False)):
            first = {"description": "x" * size}
            kept = weakref.ref(cached_validator(first))
            for number in range(25):
                cached_validator({"description": f"{number}" + "x" * size})
            gc.collect()
            self.assertEqual(kept() is not None, stays, size)

    def quickly(self, call: Callable[[], Any]) -> Any:
        start = time.process_time()
        result = call()
        self.assertLess(time.process_time() - start, 3 * second())
        return result


if __name__ == "__main__":
    unittest.main()
