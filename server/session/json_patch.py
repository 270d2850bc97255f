"""Apply the RFC 6902 operations add, replace and remove at RFC 6901 pointers. Pure.

An operation that does not apply is ignored; values are copied.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import repeat
from typing import Any

from ..json_types import Change

_CONTAINERS = (dict, list)
_KINDS = repeat(_CONTAINERS)
# Short equal keys share one string. Not `sys.intern`: Python 3.12.0 to 3.12.4 never free interned
# strings (https://github.com/python/cpython/issues/113993), and keys come from clients.
_shared = lru_cache(maxsize=1024)(str)
SHORT = 64  # characters


def patch(root: Any, operation: Change, parts: list[str]) -> None:
    """Apply one RFC 6902 add, replace or remove in `root`; ignore it if it does not apply.

    `parts` is the parsed path.
    """
    for part in parts[:-1]:
        root = step_into(root, part)
    last, op = parts[-1], operation.get("op")
    if op not in ("add", "replace", "remove") or (op != "remove" and "value" not in operation):
        return
    if isinstance(root, dict):
        if op == "remove":
            root.pop(last, None)
        elif op == "add" or last in root:
            key = _shared(last) if len(last) <= SHORT else last  # keys repeat in every session
            root[key] = copy_json(operation["value"])
    elif isinstance(root, list):
        index = len(root) if last == "-" and op == "add" else array_index(last)
        if index is not None and index < len(root) + (op == "add"):
            if op == "add":
                root.insert(index, copy_json(operation["value"]))
            elif op == "replace":
                root[index] = copy_json(operation["value"])
            else:
                del root[index]


def step_into(node: Any, part: str) -> Any:
    """Return the member of an object or list, None if there is none."""
    if isinstance(node, dict):
        return node.get(part)
    if isinstance(node, list) and (index := array_index(part)) is not None and index < len(node):
        return node[index]
    return None


def array_index(part: str) -> int | None:
    """Return an array index, None unless RFC 6901 section 4 allows it (no leading zero)."""
    ascii_digits = part.isascii() and part.isdigit() and len(part) < 16
    return int(part) if ascii_digits and (part == "0" or part[0] != "0") else None


def parse_pointer(path: Any) -> list[str] | None:
    """Return the unescaped parts of an RFC 6901 pointer, None if it is not one or is empty."""
    if not isinstance(path, str) or not path.startswith("/"):
        return None
    parts = path[1:].split("/")
    return [part.replace("~1", "/").replace("~0", "~") for part in parts] if "~" in path else parts


def copy_json(value: Any) -> Any:
    """Return a copy for the session: later folds change it, and an event must never change."""
    if isinstance(value, dict):
        if any(map(isinstance, value.values(), _KINDS)):
            return {k: copy_json(v) if isinstance(v, _CONTAINERS) else v for k, v in value.items()}
        return {**value}
    return [copy_json(item) for item in value] if isinstance(value, list) else value
