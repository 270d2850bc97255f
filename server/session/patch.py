"""RFC 6902 and 6901 as far as events need them: add, replace, remove, by pointer. Pure.

In the walk: below the fold, which alone applies what is here. The rule of the file: what does not
apply is left undone, and what is put in is a copy.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

_CONTAINERS = (dict, list)
# One object for equal keys, if they are short. Not `sys.intern`: Python 3.12.0 to 3.12.4 never let
# go of what it was given (gh-113993), and keys come from outside.
_shared = lru_cache(maxsize=1024)(str)
SHORT = 64


def patch(root: Any, operation: dict[str, Any], parts: list[str]) -> None:
    """One RFC 6902 add, replace or remove. What does not apply is left undone."""
    for part in parts[:-1]:
        root = step_into(root, part)
    last, op = parts[-1], operation.get("op")
    if op not in ("add", "replace", "remove") or (op != "remove" and "value" not in operation):
        return
    if isinstance(root, dict):
        if op == "add" or last in root:
            if op == "remove":
                del root[last]
            else:
                key = _shared(last) if len(last) <= SHORT else last  # the same in every session
                root[key] = own(operation["value"])
    elif isinstance(root, list):
        index = len(root) if last == "-" and op == "add" else array_index(last)
        if index is not None and index < len(root) + (op == "add"):
            if op == "add":
                root.insert(index, own(operation["value"]))
            elif op == "replace":
                root[index] = own(operation["value"])
            else:
                del root[index]


def step_into(node: Any, part: str) -> Any:
    if isinstance(node, dict):
        return node.get(part)
    if isinstance(node, list) and (index := array_index(part)) is not None and index < len(node):
        return node[index]
    return None


def array_index(part: str) -> int | None:
    """RFC 6901 section 4: digits without a leading zero."""
    ascii_digits = part.isascii() and part.isdigit() and len(part) < 16
    return int(part) if ascii_digits and (part == "0" or part[0] != "0") else None


def parse_pointer(path: Any) -> list[str] | None:
    if not isinstance(path, str) or not path.startswith("/"):
        return None
    parts = path[1:].split("/")
    return [part.replace("~1", "/").replace("~0", "~") for part in parts] if "~" in path else parts


def own(value: Any) -> Any:
    """A copy for the session: later folds change it, and an event never changes."""
    if isinstance(value, dict):
        return {k: own(v) if isinstance(v, _CONTAINERS) else v for k, v in value.items()}
    return [own(item) for item in value] if isinstance(value, list) else value
