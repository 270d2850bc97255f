"""Pieces of bodies that several protocols have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from server.errors import Problem
from server.session import accept

Json = dict[str, Any]

INTERRUPT = {
    "id": "i",
    "reason": "input_required",
    "call_id": "c",
    "message": "?",
    "response_schema": {"type": "string", "pattern": "("},
}
SESSION: Json = {
    "id": "s",
    "messages": [
        {"id": "u", "role": "user", "content": "hi"},
        {
            "id": "m",
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": "c", "function": {"name": "n", "arguments": "{}"}}],
        },
    ],
    "interrupts": [INTERRUPT],
    "environment": ["f"],
    "tools": [{"name": "n"}],
    "ext": {},
}
CALL = {"id": "c", "type": "function", "function": {"name": "n", "arguments": "{}"}}
PARAMETERS = {"type": "object", "properties": {"a": {"type": "string"}}}


def of_asked(read: Callable[[Json], Any]) -> Callable[[Json], None]:
    """Of the fronts whose body holds a session."""

    def accepted(body: Json) -> None:
        asked = read(body)
        try:
            accept.accept(asked.document)
        except Problem as problem:
            raise asked.place_in_body(problem) from None

    return accepted
