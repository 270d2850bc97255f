"""The secrets in a configuration: where they are, hidden for the page, and put back.

A secret that is shown is `{"secret": true, "tail": "…abcd"}`; `tail` only of one that is long
enough to stay unknown. Pure.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Mapping
from typing import Any

from ..telemetry import redact

Path = tuple[str | int, ...]

HOLDERS = ("headers", "env", "secrets")  # every text in such an object is a secret
TAIL, LONG = 4, 16  # characters that are shown, of a secret of so many characters
_REFERENCE = re.compile(r"\$\{(?:env:)?[A-Za-z_][A-Za-z0-9_]*\}")  # names a variable, is no secret


def secrets_in(value: Any, at: Path = (), *, hidden: bool = False) -> Iterator[tuple[Path, str]]:
    """Yield (place, text) of every secret in a configuration or a part of one."""
    if isinstance(value, dict):
        for key, item in value.items():
            if key in HOLDERS and isinstance(item, dict):
                texts = ((name, text) for name, text in item.items() if isinstance(text, str))
                yield from (((*at, key, name), text) for name, text in texts)
            elif key == "query" and isinstance(item, dict):
                known = set(redact.keys_in(item))
                texts = ((name, text) for name, text in item.items() if isinstance(text, str))
                yield from (((*at, key, name), text) for name, text in texts if text in known)
            else:
                yield from secrets_in(item, (*at, key), hidden=redact.is_secret(key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from secrets_in(item, (*at, index), hidden=hidden)
    elif isinstance(value, str) and hidden:
        yield at, value


def hide(value: Any) -> Any:
    """Return a copy in which every secret is replaced; names of variables (`${NAME}`) stay."""
    shown = copy.deepcopy(value)
    for place, text in secrets_in(value):
        if not text or _REFERENCE.fullmatch(text):
            continue
        tail = {"tail": "…" + text[-TAIL:]} if len(text) >= LONG else {}
        _holder(shown, place)[place[-1]] = {"secret": True, **tail}
    return shown


def is_hidden(value: Any) -> bool:
    """Return whether this stands for a secret that was shown before."""
    return isinstance(value, Mapping) and value.get("secret") is True


def put_back(value: Any, old: Any) -> Any:
    """Return a copy of `value` with each hidden secret taken from the same place of `old`.

    Raises ValueError, with the place, if there is none. In a list an entry with hidden secrets must
    be shown as it was: else one that was taken out would leave its secret to the next.
    """

    def _walk(new: Any, before: Any, at: str) -> Any:
        if is_hidden(new):
            if not isinstance(before, str):
                raise ValueError(at)
            return before
        if isinstance(new, dict):
            known = before if isinstance(before, dict) else {}
            return {key: _walk(item, known.get(key), f"{at}.{key}") for key, item in new.items()}
        if isinstance(new, list):
            rows = before if isinstance(before, list) else []
            return [
                _walk(
                    item,
                    rows[n] if n < len(rows) and _is_shown_as(rows[n], item) else None,
                    f"{at}.{n}",
                )
                for n, item in enumerate(new)
            ]
        return new

    return _walk(value, old, "")


def _is_shown_as(old: Any, new: Any) -> bool:
    """Return whether `new` is `old` with some of its secrets hidden."""
    if is_hidden(new):
        return isinstance(old, str) and old.endswith(str(new.get("tail", ""))[1:])
    if isinstance(new, dict) and isinstance(old, dict):
        return old.keys() == new.keys() and all(_is_shown_as(old[key], new[key]) for key in new)
    if isinstance(new, list) and isinstance(old, list):
        return len(old) == len(new) and all(map(_is_shown_as, old, new))
    return bool(old == new)


def _holder(value: Any, place: Path) -> Any:
    for name in place[:-1]:
        value = value[name]
    return value
