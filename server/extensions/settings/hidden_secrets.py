"""The secrets of a configuration: hidden for the page, and put back.

A secret that is shown is `{"secret": true, "tail": "…abcd"}`; `tail` only of one that is long
enough to stay unknown. A secret within a text, such as an address or an argument of a program, is
`***` there, and is put back if nothing else of the text was changed. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ...lib.runtime.secret_filter import MASK
from ...settings.secret_values import ADDRESS, Path, mask_within, secrets_in

TAIL, LONG = 4, 16  # characters that are shown, of a secret of so many characters
_REFERENCE = re.compile(r"\$\{(?:env:)?[A-Za-z_][A-Za-z0-9_]*\}")  # names a variable, is no secret


def hide(value: Any) -> Any:
    """Return a copy in which every secret is replaced; names of variables (`${NAME}`) stay."""
    shown = mask_within(value)
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

    Raises ValueError, with the place, if there is none, also for a text with `***` that is not what
    is shown there. In a list an entry with hidden secrets must
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

    return _walk(unmask(value, old), old, "")


def unmask(value: Any, old: Any) -> Any:
    """Return a copy in which texts that are shown with `***` are those of `old`.

    Raises ValueError, with the place, for other addresses and arguments with `***`.
    """
    return _unmask(value, old, mask_within(old), "")


def _unmask(new: Any, old: Any, shown: Any, at: str) -> Any:
    if isinstance(new, dict):
        rows, seen = (each if isinstance(each, dict) else {} for each in (old, shown))
        return {
            key: _unmask(item, rows.get(key), seen.get(key), f"{at}.{key}")
            for key, item in new.items()
        }
    if isinstance(new, list):
        pairs = [*zip(old, shown, strict=True)] if isinstance(old, list) else []
        pairs += [(None, None)] * (len(new) - len(pairs))
        return [
            _unmask(item, *pair, f"{at}.{n}")
            for n, (item, pair) in enumerate(zip(new, pairs, strict=False))
        ]
    if not isinstance(new, str) or MASK not in new or new == old:
        return new
    if new == shown:
        return old
    if ADDRESS.fullmatch(new) or ".args." in at:
        raise ValueError(at)
    return new


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
