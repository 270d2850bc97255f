"""Messages, and the headers that repeat parts of them."""

from __future__ import annotations

import unittest
from typing import Any

from server.extensions.mcp.peer import (
    MAX_BATCH,
    LinkError,
    RpcError,
    answered_id,
    header_params,
    header_places,
    header_value,
    parse_messages,
    result_of,
)


class Messages(unittest.TestCase):
    def test_what_is_none(self) -> None:
        for text in ("", "5", "[1]", "{", "null", "[" * 100_000, b"\xff\xfe", b'{"a":"\xff"}'):
            with self.subTest(text[:20]):
                self.assertEqual(parse_messages(text), [])

    def test_batches(self) -> None:
        self.assertEqual(parse_messages('[{"id":1},5,{"id":2}]'), [{"id": 1}, {"id": 2}])
        self.assertEqual(len(parse_messages("[" + "{}," * (MAX_BATCH - 1) + "{}]")), MAX_BATCH)
        self.assertEqual(parse_messages("[" + "{}," * MAX_BATCH + "{}]"), [], "a flood")

    def test_what_answers_a_request(self) -> None:
        cases: list[tuple[Any, int | None]] = [(3, 3), ("3", 3), (3.0, 3), (3.5, None)]
        cases += [("x", None), ("9" * 30, None), (None, None), (True, None), ([3], None)]
        cases += [(float("nan"), None), (float("inf"), None), ("", None)]
        for told, wanted in cases:
            with self.subTest(told):
                self.assertEqual(answered_id({"id": told}), wanted)
        self.assertIsNone(answered_id({"id": 3, "method": "ping"}))

    def test_lenient_where_others_are(self) -> None:
        for text in (b'{"a":"\\ud83d"}', b'{"a":1,"a":2}', '{"a":NaN}'):
            with self.subTest(text):
                self.assertEqual(len(parse_messages(text)), 1)

    def test_too_deep_is_an_error_answer(self) -> None:
        (message,) = parse_messages('{"id":3,"result":' + '{"a":' * 200 + "1" + "}" * 201)
        self.assertEqual(message["id"], 3)
        with self.assertRaisesRegex(RpcError, "deeper"):
            result_of(message)

    def test_results(self) -> None:
        self.assertEqual(result_of({"result": {"a": 1}}), {"a": 1})
        for message in ({}, {"result": 5}, {"result": None}):
            with self.subTest(message), self.assertRaises(LinkError):
                result_of(message)
        errors: list[Any] = ["text", {}, {"message": 5, "code": "x"}, []]
        for error in errors:
            with self.subTest(error), self.assertRaises(RpcError):
                result_of({"error": error})


class Headers(unittest.TestCase):
    def test_values(self) -> None:
        for value, text in (
            ("plain", "plain"),
            ("two words", "two words"),
            (True, "true"),
            (5, "5"),
            ("", "=?base64??="),
            (" edge", "=?base64?IGVkZ2U=?="),
            ("a\r\nb", "=?base64?YQ0KYg==?="),
            ("é", "=?base64?w6k=?="),
            ("=?base64?x?=", "=?base64?PT9iYXNlNjQ/eD89?="),
        ):
            with self.subTest(value):
                self.assertEqual(header_value(value), text)

    def test_places(self) -> None:
        inner = {"type": "object", "properties": {"b": {"type": "integer", "x-mcp-header": "B"}}}
        schema = {"type": "object", "properties": {"a": inner, "default": {"type": "string"}}}
        places = header_places(schema)
        self.assertEqual(places, {("a", "b"): "B"})
        self.assertEqual(header_params(places, {"a": {"b": 5}}), {"Mcp-Param-B": "5"})
        for args in ({}, {"a": 5}, {"a": {"b": None}}):
            self.assertEqual(header_params(places, args), {})

    def test_annotations_that_cannot_be_used(self) -> None:
        good: dict[str, Any] = {"type": "string", "x-mcp-header": "A"}
        for schema in (
            {"x-mcp-header": "A", "type": "string"},
            {"properties": {"a": {**good, "x-mcp-header": "a b"}}},
            {"properties": {"a": {**good, "x-mcp-header": ""}}},
            {"properties": {"a": {**good, "x-mcp-header": 5}}},
            {"properties": {"a": {**good, "type": "number"}}},
            {"properties": {"a": good, "b": {**good, "x-mcp-header": "a"}}},
            {"properties": {"a": {"type": "array", "items": good}}},
            {"anyOf": [{"properties": {"a": good}}]},
        ):
            with self.subTest(schema), self.assertRaises(ValueError):
                header_places(schema)


if __name__ == "__main__":
    unittest.main()
