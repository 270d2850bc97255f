"""Convert AG-UI messages to messages of a session.

Used by protocols/agui/request.py. Fields that AG-UI does not have are sent to the client in a
message's `metadata.yaa` and `encryptedValue` and come back there, so that messages of this server
are restored exactly, interrupted ones too. Messages of other systems are read by AG-UI's fields
alone. No call is invented, and of several results for a call the first is kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...session.events import SNAPSHOT, pointer
from ...session.fold import extra
from ...strict_json import JSONError, loads
from .content import content_of

Json = dict[str, Any]
Error = dict[str, str]

ROLES = ("developer", "system", "user", "assistant", "tool", "reasoning", "activity")
FOR_EYES = ("activity",)  # not sent to a model; the client keeps it
# Members of this server's messages for which AG-UI has no field, or not for all values.
AS_IT_WAS = ("at", "meta", "open", "name", "is_error", "result", "reasoning", "content")
ITS_OWN = ("id", "role", "tool_calls", "tool_call_id")  # always taken from AG-UI's own fields


def misfits(messages: list[Any]) -> Iterator[Error]:
    """Yield the errors in the messages of a RunAgentInput, with their places."""
    for index, message in enumerate(messages):
        if not isinstance(message, dict):
            yield _error("an object", index)
        elif message.get("role") not in ROLES:
            yield _error(f"one of {', '.join(ROLES)}", index, "role")
        elif message["role"] not in FOR_EYES:
            yield from _fields(message, index)


def _fields(message: Json, index: int) -> Iterator[Error]:
    role = message["role"]
    if not isinstance(message.get("id", ""), str | None):
        yield _error("a string", index, "id")
    kinds = str if role == "reasoning" else (str, list)
    content = message.get("content")
    if not isinstance(content, kinds) and not (content is None and role in ("assistant", "tool")):
        yield _error("a string" if role == "reasoning" else "a string or parts", index, "content")
    if isinstance(content, list):
        for number, part in enumerate(content):
            if not isinstance(part, dict) or not isinstance(part.get("type"), str):
                yield _error("a part with a type", index, "content", number)
    if role == "tool" and not isinstance(message.get("toolCallId"), str):
        yield _error("the id of a call", index, "toolCallId")
    if role != "assistant" or message.get("toolCalls") is None:
        return
    if not isinstance(message["toolCalls"], list):
        yield _error("an array", index, "toolCalls")
        return
    for number, call in enumerate(message["toolCalls"]):
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(function, dict) or not isinstance(call.get("id"), str):
            yield _error("an object with id and function", index, "toolCalls", number)


def session_messages(messages: list[Json]) -> tuple[list[Json], list[int]]:
    """Return (the session's messages, for each the index of the AG-UI message it was made of)."""
    thoughts = _thoughts(messages)
    spoken = {message.get("id") for message in messages if message["role"] == "assistant"}
    names: dict[Any, str] = {}
    answered: set[str] = set()
    found: list[tuple[Json, int]] = []
    for index, message in enumerate(messages):
        role = message["role"]
        if role == "assistant":
            made = _answer(message, thoughts.get(message.get("id")))
            names |= {call["id"]: call["function"]["name"] for call in made.get("tool_calls", ())}
        elif role == "tool":
            if message["toolCallId"] in answered:
                continue
            answered.add(message["toolCallId"])
            made = _result(message, names)
        elif role == "reasoning":
            owner = _owner(message)
            if owner is None or owner in spoken:
                continue
            spoken.add(owner)  # its message was interrupted before the first text
            made = {"id": owner, "role": "assistant", "content": "", "open": True}
            if "at" in (marks := extra(message)):
                made["at"] = marks["at"]
            made["reasoning"] = thoughts[owner]
        elif role in FOR_EYES:
            continue
        else:
            made = _said(message)
        found.append((made, index))
    return [made for made, _ in found], [index for _, index in found]


def _thoughts(messages: list[Json]) -> dict[Any, Json]:
    """Return assistant message id -> reasoning.

    A reasoning message belongs to the message that it names, as this server's do, else to the next
    assistant message.
    """
    found: dict[Any, list[Json]] = {}
    unnamed: list[Json] = []
    for message in messages:
        if message["role"] == "assistant":
            if unnamed:
                found.setdefault(message.get("id"), []).extend(unnamed)
            unnamed = []
        elif message["role"] == "reasoning":
            if (owner := _owner(message)) is not None:
                found.setdefault(owner, []).append(message)
            else:
                unnamed.append(message)
    return {owner: _reasoning(thoughts) for owner, thoughts in found.items()}


def _owner(message: Json) -> str | None:
    owner = extra(message).get("message_id")
    return owner if isinstance(owner, str) else None


def _reasoning(thoughts: list[Json]) -> Json:
    """Return the reasoning of several reasoning messages."""
    reasoning: Json = {"text": "".join(thought["content"] for thought in thoughts)}
    for thought in thoughts:
        if "id" in thought:
            reasoning["id"] = thought["id"]
        if isinstance(field := extra(thought).get("field"), str):
            reasoning["field"] = field
    return reasoning


def _answer(message: Json, reasoning: Json | None) -> Json:
    made = _kept(message) | {"role": "assistant", "content": content_of(message.get("content"))}
    if calls := message.get("toolCalls"):
        made["tool_calls"] = [_call(call) for call in calls]
    if "reasoning_details" in (marks := _marks(message)):
        reasoning = {**(reasoning or {"text": ""}), "details": marks["reasoning_details"]}
    if reasoning is not None:
        made["reasoning"] = reasoning
    return made | _as_it_was(message)


def _call(call: Json) -> Json:
    function = call["function"]
    made = {
        "id": call.get("id"),
        "type": "function",
        "function": {"name": function.get("name"), "arguments": function.get("arguments") or ""},
    }
    return {**_marks(call), **made}


def _result(message: Json, names: dict[Any, str]) -> Json:
    """Return a tool result: one of this server's restored, or one of the application's tools."""
    call_id = message["toolCallId"]
    content, error = content_of(message.get("content")), message.get("error")
    if error and not content:
        content = f"Error: {error}"
    made = _kept(message) | {"role": "tool", "tool_call_id": call_id, "content": content}
    made["name"] = names.get(call_id, "")
    if error:
        made["is_error"] = True
    return made | _as_it_was(message)


def _said(message: Json) -> Json:
    role = "user" if message["role"] == "user" else "system"
    made = _kept(message) | {"role": role, "content": content_of(message["content"])}
    return made | _as_it_was(message)


def _kept(message: Json) -> Json:
    """Return id and name. A message without an id gets one when the session is accepted."""
    return {key: message[key] for key in ("id", "name") if message.get(key) is not None}


def _as_it_was(message: Json) -> Json:
    """Return this server's members that came back: all from a snapshot, else AS_IT_WAS."""
    marks, metadata = _marks(message), message.get("metadata")
    whole = isinstance(metadata, dict) and SNAPSHOT in metadata
    kept = set(marks) - {"reasoning_details", *ITS_OWN} if whole else AS_IT_WAS
    return {key: value for key, value in marks.items() if key in kept}


def _marks(node: Json) -> Json:
    """Return this server's members of a message or a call, from `encryptedValue` and metadata.

    An `encryptedValue` that can't be read belongs to another system and is ignored.
    """
    return {**_unsealed(node.get("encryptedValue")), **extra(node)}


def _unsealed(value: Any) -> Json:
    if not isinstance(value, str) or not value.startswith('{"yaa":'):
        return {}
    try:
        return extra({"metadata": loads(value)})
    except JSONError:
        return {}


def _error(wanted: str, *place: str | int) -> Error:
    return {"pointer": pointer("messages", *place), "detail": f"expected {wanted}"}
