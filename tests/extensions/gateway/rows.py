"""Bodies of `/api`, for tests of the whole server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from server.extensions.gateway import routes

from ...growing import Growing, brought, superseded, turns
from ...protocols.bodies import SESSION, of_asked
from .. import EASY

Json = dict[str, Any]

QUERY, SUBMIT, DETAILS = "/api/query", "/api/submit", "/api/chat"
AGENTS = ("/api/agents", "/api/agent?agentKey={}", 400)
OF_PAGE = {**SESSION, "interrupts": [{"id": "i", "reason": "client_tool", "call_id": "c"}]}


def chosen(order: str) -> tuple[str, Json]:
    return QUERY, {"message": order, "chatId": "chosen", "agentKey": "default", "session": {}}


def carrying(session: Json, order: str) -> list[tuple[str, Json]]:
    return [(QUERY, {"message": order, "agentKey": EASY, "session": session})]


HOSTILE: dict[str, tuple[Callable[[Json], None], Json]] = {
    "query": (
        of_asked(routes.query),
        {
            "message": "x",
            "chatId": "s",
            "agentKey": "a",
            "references": [{"name": "a", "sizeBytes": 1, "url": "u"}],
            "scene": {"url": "u", "title": "t"},
            "params": {},
            "tools": [{"name": "n"}],
            "session": SESSION,
        },
    ),
    "submit": (
        of_asked(routes.submit),
        {"toolId": "c", "payload": {"a": 1}, "chatId": "s", "session": OF_PAGE},
    ),
    "chat": (of_asked(routes.chat_request), {"session": SESSION}),
}


def growing() -> Iterator[Growing]:
    bodies: dict[str, Json] = {QUERY: {"message": "x"}, DETAILS: {}}
    bodies[SUBMIT] = {"toolId": "c1", "payload": True}
    for path, more in bodies.items():
        yield Growing(f"{path}: messages", brought(turns, more), path)
        yield Growing(f"{path}: calls", brought(superseded, more), path, most=500)
    reference = {"name": "x", "mimeType": "text/plain", "url": "http://x"}
    yield Growing(
        f"{QUERY}: references", lambda n: {"message": "x", "references": [reference] * n}, QUERY
    )
