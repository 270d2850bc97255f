"""The history, session and errors that Chat Completions and Responses share.

`chat` and `responses` read a body (protocols/openai/fields.py, protocols/openai/tools.py) and
`document` makes the session. Each tool call of the caller's history must have its result, else the
body is refused at the place that is wrong. Runs are unattended: tools that would ask a person are
withheld, because this API has no way to ask.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ...errors import Problem
from ...session.fields import MAX_ID, MAX_SESSION_ID
from ...session.schema import check
from .fields import Json, Place, misfit, param, shown
from .tools import Tools

Recall = Callable[[str], Json | None]  # call id -> hidden messages that this host has kept

OURS = re.compile(r"call_[0-9a-f]{24}_[0-9]{1,4}")  # ids of calls that this server sent
CARRIER = "yaa"  # the member of a message with a run's hidden messages, sent back by the client
CODES = {  # Problem's code -> OpenAI's
    "unauthorized": "invalid_api_key",
    "agent_unknown": "model_not_found",
    "busy": "rate_limit_exceeded",
    "rate_limited": "rate_limit_exceeded",
}
# 424: the agent's definition is wrong; clients do not retry this status (session/outcome.py).
STATUS = {"agent_unknown": 404, "provider_unknown": 424, "provider_not_allowed": 424}


# -- the conversation ------------------------------------------------------------------------------


def paired(history: Iterable[tuple[Place, Json]]) -> tuple[list[Json], str]:
    """Return (messages, each call followed by its result; id of the continued session or "").

    `history` has messages in the form of a session; an assistant message with the hidden messages
    of a run (CARRIER) is replaced by those. Raises Problem for a call or a result without its
    counterpart.
    """
    pairs = Pairs()
    session_id = ""
    for place, message in history:
        if brought := carried(message):
            session_id, messages, told = brought
            for each in messages:
                pairs.add(each, place, told)
            continue
        if message["role"] == "user":
            session_id = ""
        pairs.add({key: value for key, value in message.items() if key != CARRIER}, place, {})
    pairs.close()
    return pairs.messages, session_id


class Pairs:
    """Messages with each result behind its call.

    Ids that occur twice, as small providers produce them, are made unique.
    """

    def __init__(self) -> None:
        self.messages: list[Json] = []
        self._waiting: dict[str, tuple[Place, Json]] = {}  # the caller's id -> place, result
        self._used: set[str] = set()
        self._times: Counter[str] = Counter()  # stem of an id -> how often it was used again

    def add(self, message: Json, place: Place, told: Mapping[str, str]) -> None:
        """Add a message. `told`: id of a call in the message -> id that the caller uses.

        Raises Problem for a result without a call, or an id of two open calls.
        """
        if message["role"] == "tool":
            self._answer(message, place)
            return
        self.messages.append(message)
        if not message.get("tool_calls"):
            return
        message["tool_calls"] = [{**call} for call in message["tool_calls"]]
        for call in message["tool_calls"]:
            name = told.get(call["id"], call["id"])
            if name in self._waiting:
                raise misfit(place, f"the call id {shown(name)} is used by two open calls")
            call["id"] = self._fresh(call["id"])
            result: Json = {"tool_call_id": call["id"]}
            self._waiting[name] = place, result
            self.messages.append(result)

    def close(self) -> None:
        """Refuse calls without a result. Raises Problem."""
        for call_id, (place, _) in self._waiting.items():
            raise misfit(place, f"the call {shown(call_id)} has no result; each call needs one")

    def _answer(self, given: Json, place: Place) -> None:
        call_id = given["tool_call_id"]
        if call_id not in self._waiting:
            raise misfit(place, f"the result for {shown(call_id)} follows no call with that id")
        _, result = self._waiting.pop(call_id)
        result |= {**given, **result}

    def _fresh(self, call_id: str) -> str:
        stem = call_id[: MAX_ID - 12]
        while call_id in self._used:
            self._times[stem] += 1
            call_id = f"{stem}~{self._times[stem] + 1}"
        self._used.add(call_id)
        return call_id


def remembered(message: Json, call_ids: Iterable[str], recall: Recall) -> None:
    """Add the hidden messages that a client has dropped, if this host still has them."""
    first = next(iter(call_ids), "")
    if CARRIER not in message and OURS.fullmatch(first) and (found := recall(first)):
        message[CARRIER] = found


def carried(message: Json) -> tuple[str, list[Json], dict[str, str]] | None:
    """Return (session id, messages, id -> caller's id of the open calls) from a message's CARRIER.

    None if the message has none, or if it is malformed or its open calls differ from the message's.
    """
    brought = message.get(CARRIER)
    if not isinstance(brought, dict):
        return None
    session_id, told = brought.get("id"), brought.get("calls")
    if not isinstance(session_id, str) or len(session_id) > MAX_SESSION_ID:
        return None
    if not isinstance(told, dict) or not all(isinstance(each, str) for each in told.values()):
        return None
    if not isinstance(brought.get("messages"), list):
        return None
    messages = [found for each in brought["messages"] if (found := _copied(each))]
    results = {each["tool_call_id"] for each in messages if each["role"] == "tool"}
    calls = [call["id"] for each in messages for call in each.get("tool_calls", ())]
    waiting = [call_id for call_id in calls if call_id not in results]
    called = [call["id"] for call in message.get("tool_calls") or ()]
    theirs: dict[str, str] = {told[name]: name for name in called if name in told}
    whole = len(messages) == len(brought["messages"]) and len(theirs) == len(called)
    if not whole or set(theirs) != set(waiting) or check({"messages": messages}):
        return None
    return session_id, messages, theirs


def _copied(message: Any) -> Json | None:
    """Return a copy of a message after checking the fields that pairing needs; else None."""
    if not isinstance(message, dict) or message.get("role") not in ("assistant", "tool"):
        return None
    if message["role"] == "tool":
        return dict(message) if isinstance(message.get("tool_call_id"), str) else None
    calls = message.get("tool_calls", [])
    if not isinstance(calls, list):
        return None
    if not all(isinstance(call, dict) and isinstance(call.get("id"), str) for call in calls):
        return None
    return {**message, **({"tool_calls": list(calls)} if calls else {})}


def asked(messages: list[Json], place: Place) -> list[Json]:
    """Return the messages with one to answer at the end. Raises Problem.

    A last system message becomes a user message, because the loop answers only users and results.
    """
    last = messages[-1] if messages else {"role": ""}
    if last["role"] == "system":
        return [*messages[:-1], {**last, "role": "user"}]
    if last["role"] not in ("user", "tool"):
        raise misfit(
            place, "the last one must be the user's or a result: there is nothing to answer"
        )
    return messages


# -- the session ----------------------------------------------------------------------------------


def document(
    agent: str,
    history: Iterable[tuple[Place, Json]],
    offered: Tools,
    *,
    place: Place,
    taken: Iterable[str],
    settings: Json,
    max_tokens: int | None,
    schema: Json | None,
    ext: Json,
) -> Json:
    """Return the session of one request. Raises Problem.

    With the tool choice "required" the server's own tools are denied, so that one of the caller's
    is called. `place`: of the messages in the body. `taken`: names of the server's own tools.
    """
    messages, session_id = paired(history)
    choice = offered.choice if offered.declared else "auto"
    llm: Json = {"model_settings": settings, "max_tokens": max_tokens}
    if choice not in ("auto", "none"):
        llm["tool_choice"] = choice
    yaa: Json = {"unattended": True, "auto_title": False}
    if schema is not None:
        yaa["output_schema"] = schema
    denied = {name: {"deny": True} for name in taken} if choice == "required" else {}
    return {
        **({"id": session_id} if session_id else {}),
        "agent": agent,
        "messages": asked(messages, place),
        "tools": list(offered.declared),
        "config": {"yaa": yaa, "llm_api": llm, "tool": denied},
        "ext": {"openai": ext},
    }


# -- errors ---------------------------------------------------------------------------------------


def refusal(problem: Problem) -> Json:
    """Return the error body that OpenAI's SDKs read."""
    first = problem.errors[0]["pointer"] if problem.errors else ""
    code = CODES.get(problem.code, problem.code)
    ours = problem.status >= 500 or problem.status == 424
    kind = "server_error" if ours else "invalid_request_error"
    kind = "rate_limit_error" if problem.status == 429 else kind
    where = "model" if problem.code == "agent_unknown" else param(first) or None
    return error(problem.detail, kind, code, where)


def error(message: str, kind: str, code: str, where: str | None = None) -> Json:
    """Return an error body in OpenAI's form; `where` is the parameter at fault."""
    return {"error": {"message": message, "type": kind, "param": where, "code": code}}


def translated(problem: Problem) -> Problem:
    """Return the problem with the status for which SDKs raise the right exception.

    This API has no 422: an invalid session counts as an invalid body.
    """
    status = STATUS.get(problem.code, 400 if problem.status == 422 else problem.status)
    headers = problem.headers
    if status >= 500 and "Retry-After" not in headers:
        headers = {**headers, "x-should-retry": "false"}  # a retry would fail the same way
    return Problem(
        problem.code, problem.detail, errors=problem.errors, headers=headers, status=status
    )
