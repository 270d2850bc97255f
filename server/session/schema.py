"""The shape of a session document: kinds of its parts, the check of a document, and its schema.

Nothing is changed. Unknown keys are kept and returned unchanged, so that a client may store data of
its own. docs/reference/session.schema.json is `session_schema` in a file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any

from ..schema import kinds
from ..schema.compile import DRAFT_2020
from ..schema.kinds import FLAG, OBJECT, TEXT, Kind, Misfit, Misfits, Place, misfits, shown
from .config_schema import CONFIG, COUNT, LIMIT, NUMBER, NUMBERS, POSITIVE, TEXT_OR_NONE, TEXTS

Error = dict[str, str]

VERSION = 1
MAX_ID = 256  # characters; of messages, calls, interrupts
ASKED = "int-"  # prefix of a call's id in the id of its interrupt
MAX_SESSION_ID = 128
MAX_ERRORS = 20  # reported at once; more would mostly repeat

# Path of a list or object -> the most entries it may have. Only those whose entries are compared
# with each other or written again for each call; the cost of all others is linear.
MOST = {
    "messages": 100_000,
    "messages/*/tool_calls": 256,
    "interrupts": 1_000,
    "grants": 1_000,
    "grants/*/match": 20,
    "tools": 256,
    "plan/tasks": 100,
    "config/agent/tools": 256,
    "config/limits/tool": 100,
    "config/prompt": 100,
}
MAX_OPEN_CALLS = 512  # calls without a result, in all messages together
MAX_PATTERN = 1_000  # characters, in a grant

STATUSES = ("in_progress", "interrupted", "completed", "failed")
ROLES = ("system", "user", "assistant", "tool", "error")
STATES = (
    *("proposed", "asking", "denied", "started", "done"),
    *("failed", "waiting", "skipped", "indeterminate"),
)
REASONS = ("tool_call", "client_tool", "input_required", "indeterminate", "limit", "model_error")

# Other spellings, accepted and replaced: Chinese and kebab-case ones of earlier projects, and the
# names that other tools export.
STATUS_ALIASES = {
    "in-progress": "in_progress",
    "进行中": "in_progress",
    "已中断": "interrupted",
    "已完成": "completed",
    "失败": "failed",
    "已失败": "failed",
}
ROLE_ALIASES = {
    "agent": "assistant",
    "智能体": "assistant",
    "大模型": "assistant",
    "ai": "assistant",
    "model": "assistant",
    "human": "user",
    "用户": "user",
    "developer": "system",
    "系统": "system",
    "工具": "tool",
    "错误": "error",
}
_RESULTS = ["tool", *(alias for alias, role in ROLE_ALIASES.items() if role == "tool")]


def is_id(value: Any) -> bool:
    """Return whether a value is a string of 1 to MAX_ID characters."""
    return _ID.fits(value)


def role_of(message: Mapping[str, Any]) -> str:
    """Return the message's role, aliases replaced."""
    role: str = message["role"]
    return ROLE_ALIASES.get(role, role)


# -- kinds ----------------------------------------------------------------------------------------


def _look_into_op(op: Any, place: Place, found: Misfits) -> None:
    if (kind := OPS.get(op["op"])) is not None:
        kinds.collect(op, kind, place, found)


def _is_op(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("op"), str)


def _is_interrupt_id(value: Any) -> bool:
    return isinstance(value, str) and is_id(value.removeprefix(ASKED))


def _op(**fields: Kind) -> Kind:
    return kinds.object_of(fields, tuple(fields))


_ID_WORDS = f"a string of 1 to {MAX_ID} characters"
_ID = kinds.text(_ID_WORDS, 1, MAX_ID)
_TOOL_NAME = replace(_ID, words="a tool's name")
_PART = kinds.object_of({"type": TEXT}, ("type",))
_CONTENT = kinds.as_one(
    kinds.either(TEXT_OR_NONE, kinds.list_of(_PART)),
    "a string, null, or an array of parts with a type",
)
USAGE = {
    **dict.fromkeys(("prompt_tokens", "completion_tokens", "total_tokens", "calls"), COUNT),
    **dict.fromkeys(("reasoning_tokens", "cached_tokens", "cost_micro"), COUNT),
    "cost_unit": TEXT_OR_NONE,
}
FUNCTION = {
    "name": _TOOL_NAME,
    "arguments": replace(TEXT, words="the arguments as a JSON string"),
}
TOOL_CALL = {"id": _ID, "function": kinds.object_of(FUNCTION, ("name", "arguments"))}
MESSAGE = {
    "id": _ID,
    "role": kinds.one_of(*ROLES, aliases=ROLE_ALIASES),
    # Nearly always a string, and looked at for each message.
    "content": replace(
        _CONTENT, holds=lambda value: isinstance(value, str) or _CONTENT.holds(value)
    ),
    "tool_calls": kinds.list_of(kinds.object_of(TOOL_CALL, ("id", "function")), none=True),
    "tool_call_id": _ID,
    "name": TEXT_OR_NONE,
    "reasoning": kinds.as_one(kinds.object_of({"text": TEXT}), "an object with a text"),
    "open": FLAG,
    "is_error": FLAG,
    # The size of the next request is computed from the reported token counts.
    "meta": kinds.object_of({"usage": kinds.object_of(USAGE, none=True)}),
    "result": kinds.object_of(none=True),
}
_MESSAGE = replace(
    kinds.object_of(MESSAGE, ("role",)),
    schema={
        "type": "object",
        "if": {"properties": {"role": {"enum": _RESULTS}}, "required": ["role"]},
        "then": {"required": ["tool_call_id"]},
    },
)
CALL = {
    "name": TEXT,
    "fingerprint": TEXT,
    "state": kinds.one_of(*STATES),
    "attempt": COUNT,
    "args": OBJECT,
    "input": OBJECT,
}
INTERRUPT = {
    "id": kinds.leaf(
        _is_interrupt_id,
        f"{_ID_WORDS}, {ASKED} in front of them not counted",
        {"type": "string", "minLength": 1, "maxLength": MAX_ID + len(ASKED)},
    ),
    "reason": kinds.one_of(*REASONS),
    "call_id": _ID,
    "message": TEXT,
    "response_schema": OBJECT,
    "limit": TEXT,
    "allowed": LIMIT,
    "observed": LIMIT,
    "answer": kinds.as_one(
        kinds.object_of({"status": kinds.one_of("resolved", "cancelled")}, ("status",)),
        'an object with status "resolved" or "cancelled"',
    ),
}
GRANT = {
    "tool": _TOOL_NAME,
    "match": kinds.as_one(
        kinds.object_of(each=kinds.text(most=MAX_PATTERN)),
        f"an object of patterns of at most {MAX_PATTERN} characters",
    ),
    "decision": kinds.one_of("allow", "deny"),
}
CLIENT_TOOL = {
    "name": _TOOL_NAME,
    "description": TEXT_OR_NONE,
    "parameters": OBJECT,
    "hints": OBJECT,
    "wait": FLAG,
}
# Of `context.ops`, by `op`. Those of unknown kinds are kept and have no effect.
OPS = {
    "stub": _op(ids=TEXTS),
    "preview": _op(id=TEXT, head=COUNT, tail=COUNT),
    "args": _op(id=TEXT, keep=COUNT),
    "summary": _op(id=TEXT, text=TEXT),
    "fold": _op(**{"from": TEXT, "to": TEXT, "text": TEXT}),
    "pin": _op(ids=TEXTS),
    "unpin": _op(ids=TEXTS),
    "expire": _op(ids=TEXTS, after=COUNT),
}
_OP = Kind(
    _is_op,
    f"an object whose op is one of {', '.join(name for name in OPS if name != 'summary')}",
    lambda value: _is_op(value) and (value["op"] not in OPS or OPS[value["op"]].holds(value)),
    {
        "type": "object",
        "properties": {"op": TEXT.schema},
        "required": ["op"],
        "allOf": [
            {"if": {"properties": {"op": {"const": name}}}, "then": kinds.json_schema(kind)}
            for name, kind in OPS.items()
        ],
    },
    more=_look_into_op,
)
RECORD = {"id": TEXT, "trigger": TEXT, "at": COUNT, "after": COUNT, "before": COUNT}
_CALIBRATION = kinds.object_of({"ratio": NUMBER, "n": COUNT}, ("ratio", "n"))
# The view of the messages that a model gets; see context/ops.py.
CONTEXT = {
    "ops": kinds.list_of(_OP),
    "events": kinds.list_of(kinds.object_of(RECORD, ("at", "after"))),
    "windows": NUMBERS,
    "calib": kinds.as_one(kinds.object_of(each=_CALIBRATION), "an object of {ratio, n}"),
}
TOP = {
    "id": kinds.text(f"a string of 1 to {MAX_SESSION_ID} characters", 1, MAX_SESSION_ID),
    "title": TEXT_OR_NONE,
    "start_time": TEXT_OR_NONE,
    "startTime": TEXT_OR_NONE,
    "character": TEXT_OR_NONE,
    "status": kinds.one_of(*STATUSES, aliases=STATUS_ALIASES, none=True),
    "messages": kinds.list_of(_MESSAGE),
    "config": CONFIG,
    "version": POSITIVE,
    "rev": COUNT,
    "agent": TEXT,
    "finish_reason": TEXT_OR_NONE,
    "calls": kinds.object_of(each=kinds.object_of(CALL, ("state",))),
    "interrupts": kinds.list_of(kinds.object_of(INTERRUPT, ("id", "reason"))),
    "grants": kinds.list_of(kinds.object_of(GRANT, ("tool", "decision"))),
    "context": kinds.object_of(CONTEXT),
    "tools": kinds.list_of(kinds.object_of(CLIENT_TOOL, ("name",))),
    "environment": TEXTS,
    "plan": OBJECT,
    "usage": kinds.object_of(USAGE),
    "run": OBJECT,
    "ext": OBJECT,
}
SESSION = kinds.object_of(TOP)


# -- check ----------------------------------------------------------------------------------------


def check(document: Mapping[str, Any]) -> list[Error]:
    """Return the errors of `document` as {"pointer", "detail"}, at most MAX_ERRORS."""
    return [misfit.error() for misfit in shape_misfits(document)]


def shape_misfits(document: Mapping[str, Any]) -> list[Misfit]:
    """Return what does not fit in a document, at most MAX_ERRORS.

    If a list or object has more entries than MOST allows, only that is reported; ids are compared
    only in a document of the right shape.
    """
    found = list(_too_many(document)) or misfits(document, SESSION, MAX_ERRORS)
    return found[:MAX_ERRORS] or list(islice(_repeated(document), MAX_ERRORS))


def _too_many(document: Mapping[str, Any]) -> Iterator[Misfit]:
    """Yield a misfit for each list or object with more entries than MOST allows."""
    for path, most in MOST.items():
        for place, value in _at(document, path.split("/")):
            if len(value) > most:
                yield Misfit(place, f"expected at most {most:,} entries, got {len(value):,}")


def _at(document: Mapping[str, Any], path: list[str]) -> Iterator[tuple[Place, Any]]:
    """Yield (place, value) of the lists and objects at a path; `*` stands for every list entry."""
    found: Iterator[tuple[Place, Any]] = iter([((), document)])
    for part in path:
        found = _below(found, part)
    return ((place, value) for place, value in found if isinstance(value, dict | list))


def _below(nodes: Iterator[tuple[Place, Any]], part: str) -> Iterator[tuple[Place, Any]]:
    for place, node in nodes:
        if part == "*":
            for index, item in enumerate(node if isinstance(node, list) else ()):
                yield (*place, index), item
        elif isinstance(node, dict) and part in node:
            yield (*place, part), node[part]


def _repeated(document: Mapping[str, Any]) -> Iterator[Misfit]:
    """Yield a misfit for each id that was used before, and for too many calls without a result."""
    messages = document.get("messages", ())
    for name, items in (("messages", messages), ("interrupts", document.get("interrupts", ()))):
        seen: set[str] = set()
        for index, item in enumerate(items):
            if (own := item.get("id")) is not None:
                if own in seen:
                    said = f"the id {shown(own)} was used before; ids are unique in {name}"
                    yield Misfit((name, index, "id"), said)
                seen.add(own)
    call_ids: set[str] = set()
    results: set[str] = set()
    for index, message in enumerate(messages):
        if message["role"] in _RESULTS:
            if (answered := message.get("tool_call_id")) is None:
                yield Misfit(("messages", index, "tool_call_id"), "the id of a call", None)
            results.add(answered)
        for number, call in enumerate(message.get("tool_calls") or ()):
            if call["id"] in call_ids:
                place = ("messages", index, "tool_calls", number, "id")
                said = f"the call id {shown(call['id'])} was used before; call ids are unique"
                yield Misfit(place, f"{said} in a session")
            call_ids.add(call["id"])
    if (left := len(call_ids - results)) > MAX_OPEN_CALLS:
        said = f"expected at most {MAX_OPEN_CALLS} calls without a result, got {left:,}"
        yield Misfit(("messages",), said)


# -- schema ---------------------------------------------------------------------------------------


def session_schema() -> dict[str, Any]:
    """Return the JSON Schema of a session.

    It accepts what `check` does, and also what a schema cannot refuse: ids used twice, too many
    calls without a result, an unusable `output_schema` and the name of an unknown mode.
    """
    made = kinds.json_schema(SESSION)
    for path, most in MOST.items():
        node = made
        for part in path.split("/"):
            node = node["items"] if part == "*" else node.setdefault("properties", {})
            node = node if part == "*" else node.setdefault(part, {})
        if node.get("type", "array") in ("array", ["array", "null"]):
            node["maxItems"] = most
        else:
            node["maxProperties"] = most
    return {"$schema": DRAFT_2020, "title": "A session", **made}
