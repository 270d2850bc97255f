"""Check that a document from a client has the shape of a session. The tables are in fields.py.

Nothing is changed. Unknown keys are kept and returned unchanged, so that a client may store data of
its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from ..schema.validate import check_schema
from .events import pointer
from .fields import (
    CALL,
    CLIENT_TOOL,
    CONFIG,
    CONTEXT,
    FUNCTION,
    GRANT,
    INTERRUPT,
    MAX_ERRORS,
    MAX_ID,
    MAX_OPEN_CALLS,
    MESSAGE,
    MOST,
    OP_KINDS,
    OPS,
    PROVIDER,
    RECORD,
    ROLE_ALIASES,
    ROLES,
    TOOL,
    TOP,
    USAGE,
    Fields,
    is_id,
)

Error = dict[str, str]
Place = tuple[str | int, ...]


def check(document: dict[str, Any]) -> list[Error]:
    """Return the errors of `document` as {"pointer", "detail"}, at most MAX_ERRORS.

    If a list or object has more entries than MOST allows, only that is reported.
    """
    too_many = list(islice(_too_many(document), MAX_ERRORS))
    return too_many or list(islice(_misfits(document), MAX_ERRORS))


def role_of(message: dict[str, Any]) -> str:
    """Return the message's role, aliases replaced."""
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
    if isinstance(context := document.get("context"), dict):
        yield from _context(context)
    config = document.get("config")
    if isinstance(config, dict):
        yield from _config(config)


def _too_many(document: dict[str, Any]) -> Iterator[Error]:
    """Yield an error for each list or object with more entries than MOST allows."""
    for path, most in MOST.items():
        for place, value in _at(document, path.split("/")):
            if len(value) > most:
                detail = f"expected at most {most:,} entries, got {len(value):,}"
                yield {"pointer": pointer(*place), "detail": detail}


def _at(document: dict[str, Any], path: list[str]) -> Iterator[tuple[Place, Any]]:
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
    node: dict[str, Any], place: Place, fields: Fields, required: tuple[str, ...] = ()
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
