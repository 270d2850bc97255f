"""Bodies of `/auto-ai`, for tests of the whole server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from server.extensions.autoai import routes
from server.session.limits import MOST

from ...growing import Growing, brought, entry, superseded, together, turns
from ...protocols.bodies import SESSION, of_asked
from .. import EASY
from ..openai.rows import growing_chats

Json = dict[str, Any]

CHAT, STREAM = "/auto-ai/v1/chat/completions", "/auto-ai/v1/chat/stream"
ROOT = "/v1/chat/stream"
SMALL = {"/auto-ai/v1/chat/tool-result", "/v1/chat/tool-result"}
OPEN = {("GET", "/auto-ai/v1/health")}
FUNCTION = {"name": "n", "parameters": {"type": "object"}}


def chosen(order: str) -> tuple[str, Json]:
    return STREAM, {"messages": [{"role": "user", "content": order}], "sessionId": "chosen"}


def carrying(session: Json, order: str) -> list[tuple[str, Json]]:
    said = {"role": "user", "content": order}
    return [(STREAM, {"messages": [said], "session": session})]


def bare(order: str) -> list[tuple[str, Json]]:
    return [(CHAT, {"model": EASY, "messages": [{"role": "user", "content": order}]})]


HOSTILE: dict[str, tuple[Callable[[Json], None], Json]] = {
    "stream": (
        of_asked(lambda body: routes.stream(body, ["n"])),
        {
            "messages": [{"role": "user", "content": "x"}],
            "sessionId": "s",
            "environment_context": ["f"],
            "frontend_tools": [{"type": "function", "function": FUNCTION}],
            "tool_results": [{"callId": "c", "result": 1, "error": None}],
            "wait": 1,
            "session": SESSION,
        },
    ),
}


def growing() -> Iterator[Growing]:
    for path in (CHAT, STREAM):
        yield from growing_chats(path)
    yield next(growing_chats(ROOT))
    more = {"message": "x"}
    yield Growing(f"{STREAM}: messages with a session", brought(turns, more), STREAM)
    yield Growing(f"{STREAM}: calls", brought(superseded, more), STREAM, most=500)
    calls = MOST["messages/*/tool_calls"]
    yield Growing(f"{STREAM}: results", page_results, STREAM, most=calls)


def page_results(n: int) -> Json:
    waiting = [
        {"id": f"int-c{m}", "reason": "client_tool", "call_id": f"c{m}", "tool": "page", "args": {}}
        for m in range(n)
    ]
    ledger = {f"c{m}": entry("page", "waiting") for m in range(n)}
    tools = [{"name": "page"}]
    session = {"messages": together(n, "page", "{}"), "interrupts": waiting, "calls": ledger}
    results = [{"callId": f"c{m}", "result": "x"} for m in range(n)]
    return {"session": {**session, "tools": tools}, "tool_results": results, "wait": 0}
