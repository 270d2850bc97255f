"""The shape check: every misfit by its place, and strange but fitting documents untouched."""

from __future__ import annotations

import copy
import unittest
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

from server.session.limits import MOST
from server.session.schema import (
    MAX_ERRORS,
    MAX_OPEN_CALLS,
    MAX_PATTERN,
    ROLE_ALIASES,
    STATUS_ALIASES,
    check,
)

CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}

MISFITS: list[tuple[dict[str, Any], str, str]] = [
    ({"id": ""}, "/id", "1 to 128 characters"),
    ({"id": "x" * 129}, "/id", "1 to 128"),
    ({"id": 5}, "/id", "got 5"),
    ({"status": "sleeping"}, "/status", 'got "sleeping"'),
    ({"messages": {}}, "/messages", "an array, got an object"),
    ({"messages": [1]}, "/messages/0", "an object, got 1"),
    ({"messages": [{"content": "x"}]}, "/messages/0/role", "one of system"),
    ({"messages": [{"role": "wizard"}]}, "/messages/0/role", 'got "wizard"'),
    ({"messages": [{"role": ["user"]}]}, "/messages/0/role", "got an array"),
    ({"messages": [{"role": "user", "content": 1}]}, "/messages/0/content", "a string, null"),
    ({"messages": [{"role": "user", "content": [{}]}]}, "/messages/0/content", "parts with a type"),
    ({"messages": [{"role": "tool", "content": ""}]}, "/messages/0/tool_call_id", "id of a call"),
    ({"messages": [{"role": "工具", "content": ""}]}, "/messages/0/tool_call_id", "id of a call"),
    ({"messages": [{"role": "user", "id": "a"}] * 2}, "/messages/1/id", "used before"),
    ({"messages": [{"role": "assistant", "tool_calls": {}}]}, "/messages/0/tool_calls", "array"),
    (
        {"messages": [{"role": "assistant", "tool_calls": [{"function": CALL["function"]}]}]},
        "/messages/0/tool_calls/0/id",
        "1 to 256",
    ),
    (
        {"messages": [{"role": "assistant", "tool_calls": [CALL, CALL]}]},
        "/messages/0/tool_calls/1/id",
        "unique in a session",
    ),
    (
        {
            "messages": [
                {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "f"}}]}
            ]
        },
        "/messages/0/tool_calls/0/function/arguments",
        "JSON string",
    ),
    (
        {"messages": [{"role": "assistant", "meta": {"usage": [1]}}]},
        "/messages/0/meta/usage",
        "an object, got an array",
    ),
    (
        {"messages": [{"role": "assistant", "meta": {"usage": {"prompt_tokens": -1}}}]},
        "/messages/0/meta/usage/prompt_tokens",
        "0 or more",
    ),
    ({"config": []}, "/config", "an object"),
    ({"config": {"agent": {"limits": 5}}}, "/config/agent/limits", "an object, got 5"),
    ({"config": {"yaa": None}}, "/config/yaa", "an object"),
    ({"config": {"yaa": {"stream": "yes"}}}, "/config/yaa/stream", "true or false"),
    ({"config": {"yaa": {"reply": "half"}}}, "/config/yaa/reply", "one of full, delta"),
    ({"config": {"limits": {"max_steps": -1}}}, "/config/limits/max_steps", "0 or more"),
    ({"config": {"limits": {"max_steps": True}}}, "/config/limits/max_steps", "got True"),
    ({"config": {"limits": {"max_wall_s": 10**400}}}, "/config/limits/max_wall_s", "below 2^53"),
    ({"config": {"limits": {"tool": {"cpu_s": -1}}}}, "/config/limits/tool", "of numbers"),
    ({"config": {"limits": {"tool": {"wall_s": "9"}}}}, "/config/limits/tool", "of numbers"),
    ({"config": {"limits": {"tool": {"wall_s": None}}}}, "/config/limits/tool", "of numbers"),
    ({"config": {"llm_api": {"idle_timeout": 1e300}}}, "/config/llm_api/idle_timeout", "seconds"),
    ({"config": {"tool": {"a/b": 1}}}, "/config/tool/a~1b", "an object"),
    ({"config": {"tool": {"x": {"auto_approve": 1}}}}, "/config/tool/x/auto_approve", "true or"),
    ({"config": {"llm_api": {"provider": "main"}}}, "/config/llm_api/provider", "an object"),
    ({"config": {"llm_api": {"retry": 3}}}, "/config/llm_api/retry", "times"),
    ({"config": {"llm_api": {"interval": 1e30}}}, "/config/llm_api/interval", "0 to 60"),
    ({"config": {"llm_api": {"retry": {"times": 999}}}}, "/config/llm_api/retry", "0 to 20"),
    ({"usage": {"total_tokens": "x"}}, "/usage/total_tokens", "0 or more"),
    ({"usage": {"calls": 2**53}}, "/usage/calls", "below 2^53"),
    ({"rev": int("9" * 4300)}, "/rev", "below 2^53"),
    (
        {"messages": [{"role": "tool", "tool_call_id": "c", "result": "x"}]},
        "/messages/0/result",
        "an object",
    ),
    (
        {"interrupts": [{"id": "i", "reason": "limit", "limit": []}]},
        "/interrupts/0/limit",
        "a string",
    ),
    (
        {"interrupts": [{"id": "i", "reason": "limit", "allowed": 10**400}]},
        "/interrupts/0/allowed",
        "below 2^53",
    ),
    ({"calls": {"c": {}}}, "/calls/c/state", "one of proposed"),
    ({"calls": {"c": {"state": "done", "attempt": -1}}}, "/calls/c/attempt", "0 or more"),
    ({"interrupts": [{"id": "i"}]}, "/interrupts/0/reason", "one of tool_call"),
    ({"interrupts": [{"id": "", "reason": "limit"}]}, "/interrupts/0/id", "1 to 256"),
    ({"interrupts": [{"id": "int-" + "i" * 257, "reason": "limit"}]}, "/interrupts/0/id", "256"),
    (
        {"interrupts": [{"id": "i", "reason": "limit", "answer": {"status": "maybe"}}]},
        "/interrupts/0/answer",
        "resolved",
    ),
    ({"grants": [{"tool": "x", "decision": "perhaps"}]}, "/grants/0/decision", "allow, deny"),
    ({"tools": [{"name": ""}]}, "/tools/0/name", "a tool's name"),
    ({"environment": ["a", 1]}, "/environment", "strings"),
    ({"version": 0}, "/version", "1 or more"),
    ({"rev": 1.5}, "/rev", "whole number"),
    ({"ext": []}, "/ext", "an object"),
]


class Check(unittest.TestCase):
    def test_misfits_name_their_place(self) -> None:
        for document, pointer, detail in MISFITS:
            with self.subTest(pointer):
                errors = check(document)
                self.assertEqual([error["pointer"] for error in errors], [pointer])
                self.assertIn(detail, errors[0]["detail"])

    def test_fitting(self) -> None:
        whole = {
            "id": "../../x",
            "unknown": {"kept": [1]},
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "x"}], "note": 1},
                {"role": "assistant", "content": None, "tool_calls": [CALL]},
                {"role": "tool", "tool_call_id": "c", "content": "x"},
                *({"role": role, "content": "", "tool_call_id": "c"} for role in ROLE_ALIASES),
            ],
            "config": {"yaa": {"new_key": 1}, "prompt": {"x": 1}, "mine": 3},
            "title": None,
        }
        aliased: list[dict[str, Any]] = [{"status": status} for status in STATUS_ALIASES]
        for document in ({}, whole, *aliased):
            before = copy.deepcopy(document)
            self.assertEqual(check(document), [])
            self.assertEqual(document, before)

    def test_what_nobody_relies_on_is_as_others_write_it(self) -> None:
        values: list[Any] = [None, 1.5, 1e303, -1, "x", [], {}]
        for strange in values:
            call = {"id": "c", "type": strange, "extra": strange, "function": CALL["function"]}
            asks = {"role": "assistant", "at": strange, "tool_calls": [call]}
            failed = {"role": "error", "at": strange, "code": strange}
            self.assertEqual(check({"messages": [asks, failed]}), [], strange)

    def test_many_errors_are_capped_and_values_shortened(self) -> None:
        errors = check({"messages": [{"role": "x" * 1000}] * 1000})
        self.assertEqual(len(errors), MAX_ERRORS)
        self.assertLess(len(errors[0]["detail"]), 150)


def calls(count: int, first: int = 0) -> list[dict[str, Any]]:
    return [{**CALL, "id": f"c{number}"} for number in range(first, first + count)]


class Limits(unittest.TestCase):
    """How many entries there may be. Each of them was as many as fit into a request."""

    FULL: ClassVar[dict[str, Callable[[int], dict[str, Any]]]] = {
        "messages": lambda n: {"messages": [{"role": "user"}] * n},
        "messages/*/tool_calls": lambda n: {
            "messages": [{"role": "assistant", "tool_calls": calls(n)}]
        },
        "interrupts": lambda n: {
            "interrupts": [{"id": f"i{number}", "reason": "limit"} for number in range(n)]
        },
        "grants": lambda n: {"grants": [{"tool": "t", "decision": "allow"}] * n},
        "grants/*/match": lambda n: {
            "grants": [
                {"tool": "t", "decision": "deny", "match": {str(each): "x" for each in range(n)}}
            ]
        },
        "tools": lambda n: {"tools": [{"name": "t"}] * n},
        "plan/tasks": lambda n: {"plan": {"tasks": [{}] * n}},
        "config/agent/tools": lambda n: {"config": {"agent": {"tools": ["a*"] * n}}},
        "config/limits/tool": lambda n: {"config": {"limits": {"tool": dict(numbers(n))}}},
        "config/prompt": lambda n: {"config": {"prompt": dict(numbers(n))}},
    }

    def test_each_list(self) -> None:
        self.assertEqual(set(self.FULL), set(MOST))
        for place, most in MOST.items():
            with self.subTest(place):
                self.assertEqual(check(self.FULL[place](most)), [])
                errors = check(self.FULL[place](most + 1))
                pointers = [error["pointer"] for error in errors]
                self.assertEqual(pointers, ["/" + place.replace("*", "0")])
                wanted = f"expected at most {most:,} entries, got {most + 1:,}"
                self.assertEqual(errors[0]["detail"], wanted)

    def test_calls_without_a_result(self) -> None:
        messages: list[dict[str, Any]] = [
            {"role": "assistant", "tool_calls": calls(100, first)} for first in range(0, 600, 100)
        ]
        errors = check({"messages": messages})
        self.assertEqual([error["pointer"] for error in errors], ["/messages"])
        self.assertIn(f"at most {MAX_OPEN_CALLS} calls without a result", errors[0]["detail"])
        for number in range(600 - MAX_OPEN_CALLS):
            messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": ""})
        self.assertEqual(check({"messages": messages}), [])

    def test_a_pattern(self) -> None:
        for length, fits in ((MAX_PATTERN, True), (MAX_PATTERN + 1, False)):
            grant = {"tool": "t", "decision": "allow", "match": {"path": "a" * length}}
            errors = check({"grants": [grant]})
            self.assertEqual(not errors, fits)


def numbers(n: int) -> Iterator[tuple[str, int]]:
    return ((str(number), number) for number in range(n))


if __name__ == "__main__":
    unittest.main()
