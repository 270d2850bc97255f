"""What a session looks like: its words, and the check that a stranger's document has this shape.

`check` reports every misfit by its place and changes nothing. Keys that are not named here are
kept and come back untouched, so a client may carry whatever it likes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ..jsontext import LARGEST_COUNT
from .events import pointer

VERSION = 1
MAX_ID = 256  # messages, calls, interrupts
MAX_SESSION_ID = 128
MAX_PAUSE_S = 60  # between model calls: other sessions wait for the same provider
MAX_RETRIES = 20
MAX_ERRORS = 20  # enough to repair a document by; the rest would only repeat

STATUSES = ("in_progress", "interrupted", "completed", "failed")
FINISH_REASONS = ("completed", "awaiting", "limit", "cancelled", "failed")
ROLES = ("system", "user", "assistant", "tool", "error")
STATES = (
    *("proposed", "asking", "allowed", "denied", "started", "done"),
    *("failed", "waiting", "skipped", "indeterminate"),
)
REASONS = ("tool_call", "client_tool", "input_required", "indeterminate", "limit", "model_error")
REPLIES = ("full", "delta")
TOOL_MODES = ("auto", "native", "json_schema", "text")
LIMITS = ("max_steps", "max_tokens", "max_cost_micro", "max_wall_s", "max_consecutive_errors")

# Other spellings, accepted and replaced by ours: seed 003 in Chinese and in its Rust version's
# kebab-case, and the names other tools export.
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

Error = dict[str, str]
Check = Callable[[Any], bool]
Fields = dict[str, tuple[Check, str]]  # key -> what fits, and how to say so
Place = tuple[str | int, ...]


def check(document: dict[str, Any]) -> list[Error]:
    """Every misfit of `document`, up to MAX_ERRORS, as {"pointer", "detail"}; empty if it fits."""
    found: list[Error] = []
    for error in _misfits(document):
        found.append(error)
        if len(found) == MAX_ERRORS:
            break
    return found


def role_of(message: dict[str, Any]) -> str:
    """The message's role in our spelling."""
    role: str = message["role"]
    return ROLE_ALIASES.get(role, role)


def _misfits(document: dict[str, Any]) -> Iterator[Error]:
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
    config = document.get("config")
    if isinstance(config, dict):
        yield from _config(config)


def _messages(messages: list[Any]) -> Iterator[Error]:
    call_ids: set[str] = set()
    yield from _unique(messages, "id", "messages")
    for index, message in enumerate(messages):
        if not isinstance(message, dict):
            yield _error(("messages", index), "an object", message)
            continue
        yield from _fields(message, ("messages", index), MESSAGE)
        role = message.get("role")
        if not isinstance(role, str) or ROLE_ALIASES.get(role, role) not in ROLES:
            yield _error(("messages", index, "role"), f"one of {', '.join(ROLES)}", role)
        elif role == "tool" and not isinstance(message.get("tool_call_id"), str):
            yield _error(("messages", index, "tool_call_id"), "the id of a call", None)
        for number, call in enumerate(_list(message.get("tool_calls"))):
            yield from _call(call, ("messages", index, "tool_calls", number), call_ids)


def _call(call: Any, place: Place, seen: set[str]) -> Iterator[Error]:
    if not isinstance(call, dict):
        yield _error(place, "an object", call)
        return
    call_id, function = call.get("id"), call.get("function")
    if not isinstance(call_id, str) or not _is_id(call_id):
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


def _config(config: dict[str, Any]) -> Iterator[Error]:
    for name, fields in CONFIG.items():
        section = config.get(name)
        if isinstance(section, dict):
            yield from _fields(section, ("config", name), fields)
        elif name in config:
            yield _error(("config", name), "an object", section)
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
    node: dict[str, Any], place: Place, fields: Fields, required: tuple[str, ...] = ()
) -> Iterator[Error]:
    for name, value in node.items():
        if name in fields and not fields[name][0](value):
            yield _error((*place, name), fields[name][1], value)
    for name in required:
        if name not in node:
            yield _error((*place, name), fields[name][1], None)


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
    """A value named in an error: its kind when it is large, itself when it is short."""
    if isinstance(value, str):
        return f'"{value[:40]}…"' if len(value) > 40 else f'"{value}"'
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "an array"
    return "null or nothing" if value is None else str(value)[:40]


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _is_id(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) <= MAX_ID


def _is_content(value: Any) -> bool:
    if value is None or isinstance(value, str):
        return True
    return isinstance(value, list) and all(
        isinstance(part, dict) and isinstance(part.get("type"), str) for part in value
    )


def _count(value: Any) -> bool:
    return isinstance(value, int) and _number(value)


def _number(value: Any) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and bool(0 <= value <= LARGEST_COUNT)


def _pause(value: Any) -> bool:
    return _number(value) and bool(value <= MAX_PAUSE_S)


def _optional(fits: Check) -> Check:
    return lambda value: value is None or fits(value)


def _of(kind: type) -> Check:
    return lambda value: isinstance(value, kind)


def _one_of(*names: str) -> Check:
    return lambda value: isinstance(value, str) and value in names


_TEXT = (_of(str), "a string")
_OPTIONAL_TEXT = (_optional(_of(str)), "a string or null")
_OBJECT = (_of(dict), "an object")
_LIST = (_of(list), "an array")
_BOOL = (_of(bool), "true or false")
_COUNT = (_count, "a whole number, 0 or more and below 2^53")
_LIMIT = (_optional(_number), "a number, 0 or more and below 2^53, or null for none")
_MOST = (
    lambda value: isinstance(value, dict) and all(map(_number, value.values())),
    "an object of numbers, 0 or more and below 2^53",
)
_SECONDS = (_number, "a number of seconds, 0 or more and below 2^53")
_ID = (_is_id, f"a string of 1 to {MAX_ID} characters")

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
    "environment": (
        lambda value: isinstance(value, list) and all(isinstance(item, str) for item in value),
        "an array of strings",
    ),
    "plan": _OBJECT,
    "usage": _OBJECT,
    "run": _OBJECT,
    "ext": _OBJECT,
}
MESSAGE: Fields = {
    "id": _ID,
    "content": (_is_content, "a string, null, or an array of parts with a type"),
    "tool_calls": (_optional(_of(list)), "an array"),
    "tool_call_id": _ID,
    "name": _OPTIONAL_TEXT,
    "reasoning": (
        lambda value: isinstance(value, dict) and isinstance(value.get("text", ""), str),
        "an object with a text",
    ),
    "open": _BOOL,
    "is_error": _BOOL,
    "meta": _OBJECT,
    "result": (_optional(_of(dict)), "an object"),
}
FUNCTION: Fields = {
    "name": (_is_id, "a tool's name"),
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
    "id": _ID,
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
    "tool": (_is_id, "a tool's name"),
    "match": (
        lambda value: (
            isinstance(value, dict) and all(isinstance(item, str) for item in value.values())
        ),
        "an object of patterns",
    ),
    "decision": (_one_of("allow", "deny"), "one of allow, deny"),
}
CLIENT_TOOL: Fields = {
    "name": (_is_id, "a tool's name"),
    "description": _OPTIONAL_TEXT,
    "parameters": _OBJECT,
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
        "max_context": _LIMIT,
        "require_finish_tool": _BOOL,
        "tool_detail": (_of(bool), "true or false"),
        "tool_mode": (_one_of(*TOOL_MODES), f"one of {', '.join(TOOL_MODES)}"),
    },
    "llm_api": {
        "provider": _OBJECT,
        "stream": _BOOL,
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
    "tool": {},
    "limits": {**{name: _LIMIT for name in LIMITS}, "tool": _MOST},
    "context": {},
}
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
