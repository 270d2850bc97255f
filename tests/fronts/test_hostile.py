"""Bodies with anything in any place: refused with a place, or a session that the intake takes."""

from __future__ import annotations

import unittest
from collections.abc import Callable
from typing import Any

from server.errors import Problem
from server.fronts import chat, openai, responses
from server.session import intake
from tests.test_app import places, removed, replaced

Json = dict[str, Any]
Read = Callable[[Json], tuple[Json, Any]]

CALL = {"id": "told", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
CARRIER = {
    "id": "ses_1",
    "calls": {"told": "c"},
    "messages": [
        {
            "id": "m",
            "role": "assistant",
            "content": "x",
            "reasoning": {"text": "t"},
            "tool_calls": [{**CALL, "id": "c"}],
            "meta": {"usage": {"prompt_tokens": 1}},
        }
    ],
}
PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}}
FUNCTION = {"name": "weather", "description": "d", "parameters": PARAMETERS}
PARTS = [
    {"type": "text", "text": "t"},
    {"type": "image_url", "image_url": {"url": "https://x", "detail": "low"}},
]
CHAT = {
    "model": "m",
    "messages": [
        {"role": "system", "content": [{"type": "text", "text": "t"}]},
        {"role": "user", "name": "n", "content": PARTS},
        {"role": "assistant", "content": None, "tool_calls": [CALL], "yaa": CARRIER},
        {"role": "tool", "tool_call_id": "told", "content": "r"},
    ],
    "tools": [{"type": "function", "function": FUNCTION}],
    "tool_choice": {"type": "function", "function": {"name": "weather"}},
    "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": PARAMETERS}},
    "stream_options": {"include_usage": True},
    "metadata": {"a": "b"},
    "logit_bias": {"5": 1},
    "stop": ["x"],
    "temperature": 1,
    "max_tokens": 5,
    "environment_context": {"a": "b"},
    "yaa": {"tools": True},
}
RESPONSES = {
    "model": "m",
    "input": [
        {"role": "user", "content": [{"type": "input_text", "text": "t"}]},
        {"type": "function_call", "call_id": "told", "name": "weather", "arguments": "{}"}
        | {"yaa": CARRIER},
        {"type": "function_call_output", "call_id": "told", "output": "r"},
    ],
    "instructions": "i",
    "tools": [{"type": "function", **FUNCTION}],
    "tool_choice": {"type": "function", "name": "weather"},
    "text": {"format": {"type": "json_schema", "name": "n", "schema": PARAMETERS}},
    "reasoning": {"effort": "low"},
    "max_output_tokens": 5,
    "metadata": {},
}
WRONG: tuple[Any, ...] = (
    *(None, True, 5, -1, 1.5, "", "x" * 1000, "\0", [], {}, [None], [[]], ["x"]),
    *({"type": 5}, {"type": "text"}, {"x": []}, [{"role": "user"}], 10**30),
)


def read_chat(body: Json) -> tuple[Json, Any]:
    return chat.read(body, {"shell"}, lambda _: None)


def read_responses(body: Json) -> tuple[Json, Any]:
    return responses.read(body, {"shell"}, lambda _: None)


class Anything(unittest.TestCase):
    def test_in_any_place(self) -> None:
        fronts: tuple[tuple[str, Json, Read], ...] = (
            ("chat", CHAT, read_chat),
            ("responses", RESPONSES, read_responses),
        )
        for name, body, read in fronts:
            self.assertEqual(self.outcome(body, read), "taken", name)
            seen = {"taken": 0, "refused": 0}
            for path in places(body):
                seen[self.outcome(removed(body, path), read)] += 1
                for value in WRONG:
                    with self.subTest(name, path=path, value=str(value)[:20]):
                        seen[self.outcome(replaced(body, path, value), read)] += 1
            self.assertGreater(min(seen.values()), 100, seen)

    def outcome(self, body: Json, read: Read) -> str:
        """taken or refused; anything else is raised."""
        try:
            session, _ = read(body)
            intake.accept(session)
        except Problem as problem:
            error = openai.refusal(openai.translated(problem))["error"]
            self.assertTrue(error["message"])
            self.assertLess(len(error["message"]), 2000)
            self.assertEqual(openai.translated(problem).status, 400)
            return "refused"
        return "taken"


if __name__ == "__main__":
    unittest.main()
