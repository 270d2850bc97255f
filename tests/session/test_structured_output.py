"""Structured output: found in words, given by a call, counted when it misses."""

from __future__ import annotations

import unittest
from typing import Any

from server.lib.json_schema.validate import validate
from server.session import outcome
from server.session.schema import check

from ..fakes import user

INTEGER = {"type": "integer"}
RECURSIVE = {
    "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}},
    "type": "object",
    "properties": {"head": {"$ref": "#/$defs/node"}},
}


def session(own: Any = None, agents: Any = None, messages: Any = ()) -> Any:
    config: dict[str, Any] = {"yaa": {"output_schema": own}, "agent": {"output_schema": agents}}
    return {"config": config, "messages": list(messages), "run": {}, "calls": {}}


def words(text: str, message_id: str) -> Any:
    return {"id": message_id, "role": "assistant", "content": text}


def ended(status: str, call_id: str, name: str = "finish") -> list[dict[str, Any]]:
    call = {"id": call_id, "function": {"name": name, "arguments": "{}"}}
    result = {"role": "tool", "tool_call_id": call_id, "result": {"status": status}}
    said = {"id": f"m{call_id}", "role": "assistant", "content": "", "tool_calls": [call]}
    return [said, {"id": f"r{call_id}", **result}]


class Schemas(unittest.TestCase):
    def test_the_sessions_then_the_agents(self) -> None:
        self.assertIsNone(outcome.schema_of(session()))
        self.assertEqual(outcome.schema_of(session(None, INTEGER)), INTEGER)
        self.assertEqual(outcome.schema_of(session({}, INTEGER)), {})

    def test_a_schema_that_cannot_be_used_is_refused(self) -> None:
        cases: list[tuple[Any, str]] = [
            (None, ""),
            ({}, ""),
            (INTEGER, ""),
            (True, "expected a JSON Schema"),
            ({"type": "int"}, "/type: expected one of"),
            ({"pattern": r"\p{L}" * 390}, "costs more than"),
            ([], "expected a JSON Schema"),
        ]
        for value, wrong in cases:
            with self.subTest(value=str(value)[:40]):
                errors = check({"config": {"yaa": {"output_schema": value}}})
                self.assertEqual(len(errors), bool(wrong))
                self.assertIn(wrong, str(errors))

    def test_arguments(self) -> None:
        cases: list[tuple[dict[str, Any], Any]] = [
            (INTEGER, 3),
            ({"type": "array", "items": INTEGER}, [1]),
            ({"anyOf": [INTEGER, {"type": "null"}]}, None),
            (RECURSIVE, {"head": {"next": {"next": {}}}}),
        ]
        for schema, value in cases:
            parameters = outcome.parameters(schema)
            self.assertEqual(parameters["type"], "object")
            args = value if schema is RECURSIVE else {"output": value}
            self.assertEqual(validate(args, parameters), [])
            self.assertEqual(outcome.unwrap_output(schema, args), value)


class Words(unittest.TestCase):
    def test_texts(self) -> None:
        cases: list[tuple[Any, dict[str, Any], Any]] = [
            ("3", INTEGER, 3),
            (" 3\n", INTEGER, 3),
            ("```json\n3\n```", INTEGER, 3),
            ("```\n{}\n```\n", {}, {}),
            ('"é"', {}, "é"),
        ]
        for text, schema, value in cases:
            with self.subTest(text):
                self.assertEqual(outcome.read_output(text, schema), (value, ""))
        for text, said in (
            ("three", "no JSON value"),
            ("", "no JSON value"),
            ("3 of them", "no JSON value"),
            ("NaN", "no JSON value"),
            ("3.5", "expected integer"),
            (None, "no JSON value"),
            ([{"type": "text", "text": "3"}], "no JSON value"),
        ):
            with self.subTest(text):
                self.assertIn(said, outcome.read_output(text, INTEGER)[1])


class Misses(unittest.TestCase):
    def test_in_a_row(self) -> None:
        go, bad = user("go"), ended("invalid_arguments", "c1")
        cases: list[tuple[str, list[dict[str, Any]], int]] = [
            ("none", [go], 0),
            ("words", [go, words("x", "m1")], 1),
            ("words and a call", [go, words("x", "m1"), *bad], 2),
            ("another tool between", [go, *bad, *ended("ok", "c2", "add"), words("x", "m")], 1),
            ("before the user spoke", [go, *bad, user("again", "u2"), words("x", "m")], 1),
            ("a cut one", [go, {**words("x", "m"), "open": True}], 0),
            ("another tool's wrong arguments", [go, *ended("invalid_arguments", "c", "add")], 0),
        ]
        for name, messages, wanted in cases:
            with self.subTest(name):
                self.assertEqual(outcome.count_misses(session(INTEGER, messages=messages)), wanted)

    def test_a_sum_is_none(self) -> None:
        made = session(INTEGER, messages=[user("go"), words("so far", "m1")])
        made["run"]["summary"] = "m1"
        self.assertEqual(outcome.count_misses(made), 0)


if __name__ == "__main__":
    unittest.main()
