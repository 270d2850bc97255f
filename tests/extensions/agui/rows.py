"""Bodies of `/agui/{agent}`, for tests of the whole server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from server.errors import Problem
from server.extensions.agui import request
from server.session import accept
from server.session.limits import MOST

from ...growing import Growing, call, user
from ...protocols.bodies import CALL, PARAMETERS, SESSION
from .. import EASY

Json = dict[str, Any]

AGUI = "/agui/default"


def chosen(order: str) -> tuple[str, Json]:
    said = [{"id": "u", "role": "user", "content": order}]
    body: Json = {"threadId": "chosen", "runId": "r", "messages": said, "tools": [], "context": []}
    return AGUI, body | {"state": {}, "forwardedProps": {}}


def of_agui(body: Json) -> None:
    given = request.read(body, "default")
    try:
        accept.accept(given.session)
    except Problem as problem:
        raise request.problem_in_input(problem, given) from None


def carrying(session: Json, order: str) -> list[tuple[str, Json]]:
    said = {"id": "u1", "role": "user", "content": order}
    body = {"threadId": "t", "runId": "r", "messages": [said], "tools": [], "context": []}
    more = {"state": session, "forwardedProps": {"yaa": {"config": session["config"]}}}
    return [(f"/agui/{EASY}", body | more)]


HOSTILE: dict[str, tuple[Callable[[Json], None], Json]] = {
    "agui": (
        of_agui,
        {
            "threadId": "s",
            "runId": "r",
            "state": {"yaa": {key: SESSION[key] for key in ("interrupts", "ext")}},
            "messages": [
                {"id": "u", "role": "user", "content": [{"type": "text", "text": "x"}]},
                {"id": "t", "role": "reasoning", "content": "hm"},
                {"id": "m", "role": "assistant", "toolCalls": [CALL], "metadata": {"yaa": {}}},
            ],
            "tools": [{"name": "page", "parameters": PARAMETERS}],
            "context": [{"description": "d", "value": "v"}],
            "resume": [{"interruptId": "i", "status": "cancelled", "payload": {}}],
            "forwardedProps": {"yaa": {"config": {"limits": {"max_steps": 3}}}},
        },
    ),
}


def growing() -> Iterator[Growing]:
    tools, calls = 256, MOST["messages/*/tool_calls"]
    for name, messages in {"messages": _agui_plain, "thoughts": _thoughts}.items():
        yield Growing(f"{AGUI}: {name}", _agui(messages), AGUI)
    yield Growing(f"{AGUI}: calls", _agui(_agui_calls), AGUI)
    yield Growing(f"{AGUI}: one message", _agui(_agui_together), AGUI, most=calls)
    facts = [{"description": "d", "value": "v"}]
    yield Growing(f"{AGUI}: context", _agui(_one, lambda n: {"context": facts * n}), AGUI)
    yield Growing(f"{AGUI}: tools", _agui(_one, _agui_tools), AGUI, most=tools)
    yield Growing(f"{AGUI}: answers", _agui(_one, _resumed), AGUI, most=MOST["interrupts"])


def _agui(
    messages: Callable[[int], list[Json]], more: Callable[[int], Json] = lambda n: {}
) -> Callable[[int], Json]:
    return lambda n: {"threadId": "t", "runId": "r", "messages": messages(n), **more(n)}


def _one(n: int) -> list[Json]:
    return [user()]


def _agui_plain(n: int) -> list[Json]:
    return [user(number) for number in range(n)]


def _thoughts(n: int) -> list[Json]:
    about = {"metadata": {"yaa": {"message_id": "a"}}}
    thoughts = ({"id": f"t{m}", "role": "reasoning", "content": "x", **about} for m in range(n))
    return [user(), *thoughts, {"id": "a", "role": "assistant", "content": "x"}, user(1)]


def _agui_asked(number: int, *calls: Json) -> Json:
    return {"id": f"a{number}", "role": "assistant", "content": "", "toolCalls": [*calls]}


def _agui_result(number: int) -> Json:
    about = {"id": f"r{number}", "role": "tool"}
    return {**about, "toolCallId": f"c{number}", "content": "2"}


def _agui_calls(n: int) -> list[Json]:
    pairs = ((_agui_asked(m, call(m)), _agui_result(m)) for m in range(n))
    return [user(), *(message for pair in pairs for message in pair)]


def _agui_together(n: int) -> list[Json]:
    return [user(), _agui_asked(0, *map(call, range(n))), *map(_agui_result, range(n))]


def _agui_tools(n: int) -> Json:
    schema = {"type": "object", "properties": {}}
    tools = [{"name": f"t{m}", "description": "d", "parameters": schema} for m in range(n)]
    return {"tools": tools}


def _resumed(n: int) -> Json:
    about = {"reason": "limit", "limit": "max_steps", "allowed": 3, "message": "m"}
    answer = {"status": "resolved", "payload": {"continue": True}}
    return {
        "state": {"yaa": {"interrupts": [{"id": f"i{m}", **about} for m in range(n)]}},
        "resume": [{"interruptId": f"i{m}", **answer} for m in range(n)],
    }
