"""Check that a document from a client has the shape of a session.

Nothing is changed. Unknown keys are kept and returned unchanged, so that a client may store data of
its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from types import NoneType
from typing import Any

from ..schema.validate import check_schema
from ..strict_json import LARGEST_COUNT
from .events import pointer
from .modes import MODES, mode_named

# -- fields ---------------------------------------------------------------------------------------
# Tables of the session document: constants, and a check for the value of each key.
#
# Used by schema.py.

VERSION = 1
MAX_ID = 256  # characters; of messages, calls, interrupts
ASKED = "int-"  # prefix of a call's id in the id of its interrupt
MAX_SESSION_ID = 128
MAX_PAUSE_S = 60  # seconds between the model calls of a session
MAX_RETRIES = 20
MAX_ERRORS = 20  # reported at once; more would mostly repeat

# Path of a list or object -> the most entries it may have. Only those whose entries are compared
# with each other or written again for each call; the cost of all others is linear.
MOST = {
    "messages": 100_000,
    "messages/*/tool_calls": 256,
    "interrupts": 1_000,
    "grants": 1_000,
    "grants/*/match": 20,
    "plan/tasks": 100,
    "config/agent/tools": 256,
    "config/limits/tool": 100,
    "config/prompt": 100,
}
MAX_OPEN_CALLS = 512  # calls without a result, in all messages together
MAX_PATTERN = 1_000  # characters, in a grant

STATUSES = ("in_progress", "interrupted", "completed", "failed")
FINISH_REASONS = ("completed", "awaiting", "limit", "cancelled", "failed")
OP_KINDS = ("stub", "preview", "args", "fold", "pin", "unpin", "expire")  # of `context.ops`
# In the order in which they are tried; see context/strategies.py.
STRATEGIES = (
    "tool_invocation_compress",
    "large_message_offload_with_protection",
    "large_message_offload",
    "previous_round_conversation_summary",
    "current_round_large_message_summary",
    "current_round_message_compress",
)

ROLES = ("system", "user", "assistant", "tool", "error")
STATES = (
    *("proposed", "asking", "allowed", "denied", "started", "done"),
    *("failed", "waiting", "skipped", "indeterminate"),
)
REASONS = ("tool_call", "client_tool", "input_required", "indeterminate", "limit", "model_error")
REPLIES = ("full", "delta")
SUMMARIES = ("extract", "llm")
ON_LIMIT = ("summarize", "stop", "auto")  # auto equals summarize: older documents have it
TOOL_MODES = ("auto", "native", "json_schema", "text")
LIMITS = ("max_steps", "max_tokens", "max_cost_micro", "max_wall_s", "max_consecutive_errors")

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

_NUMBERS = (int, float)
Check = Callable[[Any], bool]
# Key -> check of its value, and the text of what is expected.
Fields = dict[str, tuple[Check, str]]


def is_id(value: Any) -> bool:
    """Return whether a value is a string of 1 to MAX_ID characters."""
    return isinstance(value, str) and 0 < len(value) <= MAX_ID


def _is_content(value: Any) -> bool:
    if value is None or isinstance(value, str):
        return True
    return isinstance(value, list) and all(
        isinstance(part, dict) and isinstance(part.get("type"), str) for part in value
    )


def _count(value: Any) -> bool:
    return type(value) is int and 0 <= value <= LARGEST_COUNT  # isinstance would accept bool


def _number(value: Any) -> bool:
    return type(value) in _NUMBERS and bool(0 <= value <= LARGEST_COUNT)


def _share(value: Any) -> bool:
    return _number(value) and bool(value <= 1)


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _is_pattern(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= MAX_PATTERN


def _is_calibration(value: Any) -> bool:
    return isinstance(value, dict) and _number(value.get("ratio")) and _count(value.get("n"))


def _pause(value: Any) -> bool:
    return _number(value) and bool(value <= MAX_PAUSE_S)


def _optional(fits: Check) -> Check:
    return lambda value: value is None or fits(value)


def _of(*kinds: type) -> Check:
    return lambda value: isinstance(value, kinds)


def _one_of(*names: str) -> Check:
    return lambda value: isinstance(value, str) and value in names


_TEXT = (_of(str), "a string")
_OPTIONAL_TEXT = (_of(str, NoneType), "a string or null")
_OBJECT = (_of(dict), "an object")
_LIST = (_of(list), "an array")
_BOOL = (_of(bool), "true or false")
_COUNT = (_count, "a whole number, 0 or more and below 2^53")
_LIMIT = (_optional(_number), "a number, 0 or more and below 2^53, or null for none")
_MOST = (
    lambda value: isinstance(value, dict) and all(map(_number, value.values())),
    "an object of numbers, 0 or more and below 2^53",
)
_SHARE = (_share, "a number from 0 to 1")
_MAYBE_COUNT = (_optional(_count), "a whole number, 0 or more, or null for none")
_TEXTS = (_texts, "an array of strings")
_SECONDS = (_number, "a number of seconds, 0 or more and below 2^53")
_ID = (is_id, f"a string of 1 to {MAX_ID} characters")

TOP: Fields = {
    "id": (
        lambda value: isinstance(value, str) and 0 < len(value) <= MAX_SESSION_ID,
        f"a string of 1 to {MAX_SESSION_ID} characters",
    ),
    "title": _OPTIONAL_TEXT,
    "start_time": _OPTIONAL_TEXT,
    "startTime": _OPTIONAL_TEXT,
    "character": _OPTIONAL_TEXT,
    "status": (_optional(_one_of(*STATUSES, *STATUS_ALIASES)), f"one of {', '.join(STATUSES)}"),
    "messages": _LIST,
    "config": _OBJECT,
    "version": (lambda value: _count(value) and value > 0, "a whole number, 1 or more"),
    "rev": _COUNT,
    "agent": _TEXT,
    "finish_reason": _OPTIONAL_TEXT,
    "calls": _OBJECT,
    "interrupts": _LIST,
    "grants": _LIST,
    "context": _OBJECT,
    "tools": _LIST,
    "environment": _TEXTS,
    "plan": _OBJECT,
    "usage": _OBJECT,
    "run": _OBJECT,
    "ext": _OBJECT,
}
MESSAGE: Fields = {
    "id": _ID,
    "content": (_is_content, "a string, null, or an array of parts with a type"),
    "tool_calls": (_of(list, NoneType), "an array"),
    "tool_call_id": _ID,
    "name": _OPTIONAL_TEXT,
    "reasoning": (
        lambda value: isinstance(value, dict) and isinstance(value.get("text", ""), str),
        "an object with a text",
    ),
    "open": _BOOL,
    "is_error": _BOOL,
    "meta": _OBJECT,
    "result": (_of(dict, NoneType), "an object"),
}
FUNCTION: Fields = {
    "name": (is_id, "a tool's name"),
    "arguments": (_of(str), "the arguments as a JSON string"),
}
CALL: Fields = {
    "name": _TEXT,
    "fingerprint": _TEXT,
    "state": (_one_of(*STATES), f"one of {', '.join(STATES)}"),
    "attempt": _COUNT,
    "args": _OBJECT,
    "input": _OBJECT,
}
INTERRUPT: Fields = {
    "id": (
        lambda value: isinstance(value, str) and is_id(value.removeprefix(ASKED)),
        f"a string of 1 to {MAX_ID} characters, {ASKED} in front of them not counted",
    ),
    "reason": (_one_of(*REASONS), f"one of {', '.join(REASONS)}"),
    "call_id": _ID,
    "message": _TEXT,
    "response_schema": _OBJECT,
    "limit": _TEXT,
    "allowed": _LIMIT,
    "observed": _LIMIT,
    "answer": (
        lambda value: isinstance(value, dict) and value.get("status") in ("resolved", "cancelled"),
        'an object with status "resolved" or "cancelled"',
    ),
}
GRANT: Fields = {
    "tool": (is_id, "a tool's name"),
    "match": (
        lambda value: isinstance(value, dict) and all(map(_is_pattern, value.values())),
        f"an object of patterns of at most {MAX_PATTERN} characters",
    ),
    "decision": (_one_of("allow", "deny"), "one of allow, deny"),
}
CLIENT_TOOL: Fields = {
    "name": (is_id, "a tool's name"),
    "description": _OPTIONAL_TEXT,
    "parameters": _OBJECT,
    "hints": _OBJECT,
    "wait": _BOOL,
}
USAGE: Fields = {
    **dict.fromkeys(("prompt_tokens", "completion_tokens", "total_tokens", "calls"), _COUNT),
    **dict.fromkeys(("reasoning_tokens", "cached_tokens", "cost_micro"), _COUNT),
    "cost_unit": _OPTIONAL_TEXT,
}
CONFIG: dict[str, Fields] = {
    "yaa": {
        "stream": _BOOL,
        "language": _OPTIONAL_TEXT,
        "reply": (_one_of(*REPLIES), f"one of {', '.join(REPLIES)}"),
        "auto_title": _BOOL,
        "unattended": _BOOL,
        "max_context": _LIMIT,
        "require_finish_tool": _BOOL,
        "mode": (
            _optional(lambda value: isinstance(value, str) and mode_named(value) is not None),
            f"one of {', '.join(MODES)}",
        ),
        "output_schema": (_of(dict, NoneType), "a JSON Schema, or null for none"),
        "tool_detail": _BOOL,
        "result_schema": _BOOL,
        "progress_hint": _BOOL,
        "tool_mode": (_one_of(*TOOL_MODES), f"one of {', '.join(TOOL_MODES)}"),
    },
    "llm_api": {
        "provider": _OBJECT,
        "stream": _BOOL,
        "model_settings": _OBJECT,
        "max_tokens": _MAYBE_COUNT,
        "tool_choice": _OPTIONAL_TEXT,
        "request_timeout": _SECONDS,
        "first_byte_timeout": _SECONDS,
        "idle_timeout": _SECONDS,
        "interval": (_pause, f"a number of seconds, 0 to {MAX_PAUSE_S}"),
        "retry": (
            lambda value: (
                isinstance(value, dict)
                and _count(value.get("times", 0))
                and value.get("times", 0) <= MAX_RETRIES
                and _pause(value.get("delay", 0))
            ),
            f"times (0 to {MAX_RETRIES}) and delay (0 to {MAX_PAUSE_S} seconds)",
        ),
    },
    "prompt": {},
    "agent": {"limits": _OBJECT},
    "tool": {},
    "limits": {
        **{name: _LIMIT for name in LIMITS},
        "tool": _MOST,
        "on_limit": (_one_of(*ON_LIMIT), f"one of {', '.join(ON_LIMIT)}"),
    },
    "context": {
        "enabled": _BOOL,
        "budget": (lambda value: _count(value) and value > 0, "a whole number, 1 or more"),
        **dict.fromkeys(("trigger_ratio", "target_ratio", "min_saving", "summary_ratio"), _SHARE),
        **dict.fromkeys(("max_messages", "ingest_tokens", "window_runs"), _MAYBE_COUNT),
        **dict.fromkeys(("keep_turns", "keep_messages", "large_chars", "preview_chars"), _COUNT),
        "exempt_tools": _TEXTS,
        "strategies": (
            lambda value: _texts(value) and set(value) <= {*STRATEGIES},
            f"an array of names: {', '.join(STRATEGIES)}",
        ),
        "summary": (_one_of(*SUMMARIES), f"one of {', '.join(SUMMARIES)}"),
        "summary_timeout_s": _SECONDS,
        "retain_tool": _BOOL,
    },
}
# The view of the messages that a model gets; see context/ops.py.
CONTEXT: Fields = {
    "ops": _LIST,
    "events": _LIST,
    "pins": _OBJECT,
    "windows": _MOST,
    "calib": (
        lambda value: isinstance(value, dict) and all(map(_is_calibration, value.values())),
        "an object of {ratio, n}",
    ),
}
OPS: dict[str, Fields] = {
    "stub": {"ids": _TEXTS},
    "preview": {"id": _TEXT, "head": _COUNT, "tail": _COUNT},
    "args": {"id": _TEXT, "keep": _COUNT},
    "summary": {"id": _TEXT, "text": _TEXT},
    "fold": {"from": _TEXT, "to": _TEXT, "text": _TEXT},
    "pin": {"ids": _TEXTS},
    "unpin": {"ids": _TEXTS},
    "expire": {"ids": _TEXTS, "after": _COUNT},
}
RECORD: Fields = {"id": _TEXT, "trigger": _TEXT, "at": _COUNT, "after": _COUNT, "before": _COUNT}
PROVIDER: Fields = {
    "name": _TEXT,
    "api_url": _TEXT,
    "api_key": _OPTIONAL_TEXT,
    "model_name": _OPTIONAL_TEXT,
    "model_type": _OBJECT,
    "model_settings": _OBJECT,
    "cost_per_ktoken": _LIMIT,
    "cost_unit": _OPTIONAL_TEXT,
    "max_tokens": _LIMIT,
}
TOOL: Fields = {
    "auto_approve": _BOOL,
    "deny": _BOOL,
    "network": (lambda value: value in ("off", "proxy", "full"), "off, proxy or full"),
}


# -- schema ---------------------------------------------------------------------------------------

Error = dict[str, str]
Place = tuple[str | int, ...]


def check(document: Mapping[str, Any]) -> list[Error]:
    """Return the errors of `document` as {"pointer", "detail"}, at most MAX_ERRORS.

    If a list or object has more entries than MOST allows, only that is reported.
    """
    too_many = list(islice(_too_many(document), MAX_ERRORS))
    return too_many or list(islice(_misfits(document), MAX_ERRORS))


def role_of(message: Mapping[str, Any]) -> str:
    """Return the message's role, aliases replaced."""
    role: str = message["role"]
    return ROLE_ALIASES.get(role, role)


def _misfits(document: Mapping[str, Any]) -> Iterator[Error]:
    yield from _fields(document, (), TOP)
    messages = document.get("messages")
    if isinstance(messages, list):
        yield from _messages(messages)
    yield from _entries(document.get("calls"), "calls", CALL, ("state",))
    yield from _items(document.get("interrupts"), "interrupts", INTERRUPT, ("id", "reason"))
    yield from _items(document.get("grants"), "grants", GRANT, ("tool", "decision"))
    yield from _items(document.get("tools"), "tools", CLIENT_TOOL, ("name",))
    yield from _unique(document.get("interrupts"), "id", "interrupts")
    if isinstance(usage := document.get("usage"), dict):
        yield from _fields(usage, ("usage",), USAGE)
    if isinstance(context := document.get("context"), dict):
        yield from _context(context)
    config = document.get("config")
    if isinstance(config, dict):
        yield from _config(config)


def _too_many(document: Mapping[str, Any]) -> Iterator[Error]:
    """Yield an error for each list or object with more entries than MOST allows."""
    for path, most in MOST.items():
        for place, value in _at(document, path.split("/")):
            if len(value) > most:
                detail = f"expected at most {most:,} entries, got {len(value):,}"
                yield {"pointer": pointer(*place), "detail": detail}


def _at(document: Mapping[str, Any], path: list[str]) -> Iterator[tuple[Place, Any]]:
    """Yield (place, value) of the lists and objects at a path; `*` stands for every list entry."""
    found: Iterator[tuple[Place, Any]] = iter([((), document)])
    for part in path:
        found = _below(found, part)
    return ((place, value) for place, value in found if isinstance(value, dict | list))


def _below(nodes: Iterator[tuple[Place, Any]], part: str) -> Iterator[tuple[Place, Any]]:
    for place, node in nodes:
        if part == "*":
            for index, item in enumerate(_list(node)):
                yield (*place, index), item
        elif isinstance(node, dict) and part in node:
            yield (*place, part), node[part]


def _messages(messages: list[Any]) -> Iterator[Error]:
    call_ids: set[str] = set()
    results: set[str] = set()
    yield from _unique(messages, "id", "messages")
    for index, message in enumerate(messages):
        if not isinstance(message, dict):
            yield _error(("messages", index), "an object", message)
            continue
        yield from _fields(message, ("messages", index), MESSAGE)
        said = message.get("role")
        role = ROLE_ALIASES.get(said, said) if isinstance(said, str) else ""
        if role not in ROLES:
            yield _error(("messages", index, "role"), f"one of {', '.join(ROLES)}", said)
        elif role == "tool":
            if isinstance(answered := message.get("tool_call_id"), str):
                results.add(answered)
            else:
                yield _error(("messages", index, "tool_call_id"), "the id of a call", None)
        if meta := message.get("meta"):
            yield from _report(meta, ("messages", index, "meta", "usage"))
        if calls := message.get("tool_calls"):
            for number, call in enumerate(_list(calls)):
                yield from _call(call, ("messages", index, "tool_calls", number), call_ids)
    if (left := len(call_ids - results)) > MAX_OPEN_CALLS:
        detail = f"expected at most {MAX_OPEN_CALLS} calls without a result, got {left:,}"
        yield {"pointer": pointer("messages"), "detail": detail}


def _report(meta: Any, place: Place) -> list[Error]:
    """Check the reported token counts: the size of the next request is computed from them."""
    usage = meta.get("usage") if isinstance(meta, dict) else None
    if isinstance(usage, dict):
        return _fields(usage, place, USAGE)
    return [] if usage is None else [_error(place, "an object", usage)]


def _call(call: Any, place: Place, seen: set[str]) -> Iterator[Error]:
    if not isinstance(call, dict):
        yield _error(place, "an object", call)
        return
    call_id, function = call.get("id"), call.get("function")
    if not isinstance(call_id, str) or not is_id(call_id):
        yield _error((*place, "id"), f"a string of 1 to {MAX_ID} characters", call_id)
    elif call_id in seen:
        yield {
            "pointer": pointer(*place, "id"),
            "detail": f"the call id {_shown(call_id)} was used before; call ids are unique "
            "in a session",
        }
    else:
        seen.add(call_id)
    if not isinstance(function, dict):
        yield _error((*place, "function"), "an object", function)
    else:
        yield from _fields(function, (*place, "function"), FUNCTION, ("name", "arguments"))


def _context(context: dict[str, Any]) -> Iterator[Error]:
    """Check `context`. Operations of unknown kinds are kept and have no effect."""
    yield from _fields(context, ("context",), CONTEXT)
    for index, op in enumerate(_list(context.get("ops"))):
        kind = op.get("op") if isinstance(op, dict) else None
        if not isinstance(kind, str):
            yield _error(
                ("context", "ops", index), f"an object whose op is one of {', '.join(OP_KINDS)}", op
            )
        elif kind in OPS:
            fields = OPS[kind]
            yield from _fields(op, ("context", "ops", index), fields, tuple(fields))
    for index, record in enumerate(_list(context.get("events"))):
        if isinstance(record, dict):
            yield from _fields(record, ("context", "events", index), RECORD, ("at", "after"))
        else:
            yield _error(("context", "events", index), "an object", record)


def _config(config: dict[str, Any]) -> Iterator[Error]:
    for name, fields in CONFIG.items():
        section = config.get(name)
        if isinstance(section, dict):
            yield from _fields(section, ("config", name), fields)
        elif name in config:
            yield _error(("config", name), "an object", section)
    yaa = config.get("yaa")
    if isinstance(yaa, dict) and isinstance(schema := yaa.get("output_schema"), dict):
        for wrong in check_schema(schema)[:1]:
            place = pointer("config", "yaa", "output_schema")
            yield {"pointer": place, "detail": f"expected a JSON Schema that can be used: {wrong}"}
    llm = config.get("llm_api")
    if isinstance(llm, dict) and isinstance(provider := llm.get("provider"), dict):
        yield from _fields(provider, ("config", "llm_api", "provider"), PROVIDER)
    tools = config.get("tool")
    for name, tool in tools.items() if isinstance(tools, dict) else ():
        if isinstance(tool, dict):
            yield from _fields(tool, ("config", "tool", name), TOOL)
        else:
            yield _error(("config", "tool", name), "an object", tool)


def _fields(
    node: Mapping[str, Any], place: Place, fields: Fields, required: tuple[str, ...] = ()
) -> list[Error]:
    found: list[Error] = []  # a list: nearly always empty, and a generator per message is slower
    for name, value in node.items():
        known = fields.get(name)
        if known is not None and not known[0](value):
            found.append(_error((*place, name), known[1], value))
    for name in required:
        if name not in node:
            found.append(_error((*place, name), fields[name][1], None))
    return found


def _items(items: Any, name: str, fields: Fields, required: tuple[str, ...]) -> Iterator[Error]:
    for index, item in enumerate(_list(items)):
        if isinstance(item, dict):
            yield from _fields(item, (name, index), fields, required)
        else:
            yield _error((name, index), "an object", item)


def _entries(entries: Any, name: str, fields: Fields, required: tuple[str, ...]) -> Iterator[Error]:
    for key, entry in entries.items() if isinstance(entries, dict) else ():
        if isinstance(entry, dict):
            yield from _fields(entry, (name, key), fields, required)
        else:
            yield _error((name, key), "an object", entry)


def _unique(items: Any, key: str, name: str) -> Iterator[Error]:
    seen: set[str] = set()
    for index, item in enumerate(_list(items)):
        value = item.get(key) if isinstance(item, dict) else None
        if isinstance(value, str):
            if value in seen:
                detail = f"the id {_shown(value)} was used before; ids are unique in {name}"
                yield {"pointer": pointer(name, index, key), "detail": detail}
            seen.add(value)


def _error(place: Place, wanted: str, value: Any) -> Error:
    return {"pointer": pointer(*place), "detail": f"expected {wanted}, got {_shown(value)}"}


def _shown(value: Any) -> str:
    """Return a value as shown in an error: short scalars as they are, else kind or beginning."""
    if isinstance(value, str):
        return f'"{value[:40]}…"' if len(value) > 40 else f'"{value}"'
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "an array"
    return "null or nothing" if value is None else str(value)[:40]


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
