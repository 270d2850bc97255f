"""How values and wishes are put into words: short, bounded, in JSON's terms.

Used by every file here that reports something. Rule of the file: whatever comes in, a short
printable text comes out, because models and people read it and hostile values pass through it.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

from ..jsontext import quote

SHOWN = 60  # characters of a value that a message repeats
LISTED = 20  # alternatives that a message lists


def json_type(value: Any) -> str:
    """The JSON name of a value's type. A float that is whole is still called a number."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case dict():
            return "object"
    return f"a Python {type(value).__name__}"


def describe(value: Any) -> str:
    """The type and a glimpse: `string ("5")`, `array of 3 items`, `object with "a", "b"`."""
    kind = json_type(value)
    if isinstance(value, list):
        return f"array of {len(value)} items" if len(value) != 1 else "array of 1 item"
    if isinstance(value, dict):
        if not value:
            return "empty object"
        more = ", …" if len(value) > 3 else ""
        return "object with " + ", ".join(show(name) for name in list(value)[:3]) + more
    return f"{kind} ({show(value)})" if isinstance(value, int | float | str) else kind


def show(value: Any) -> str:
    """A value as JSON, cut to a glance."""
    match value:
        case str():
            cut = value if len(value) <= SHOWN else value[:SHOWN] + "…"
            return quote(cut).encode("utf-8", "backslashreplace").decode()
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():  # str() refuses more than 4,300 digits
            return str(value) if value.bit_length() <= 200 else f"of {value.bit_length()} bits"
        case float():
            return repr(value)
    return describe(value)


def one_of(values: Iterable[Any]) -> str:
    """`"c" or "f"`; a long list is cut and says so."""
    words = [show(value) for value in values]
    if len(words) > LISTED:
        return ", ".join(words[:LISTED]) + f" or one of {len(words) - LISTED} more"
    return either(words)


def either(words: list[str]) -> str:
    """`a`, `a or b`, `a, b or c`, each word once."""
    words = list(dict.fromkeys(words))
    return " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def nearest(name: Any, names: Iterable[Any]) -> str:
    """` (did you mean "city"?)` when one of `names` looks like it, else nothing."""
    if not isinstance(name, str) or len(name) > SHOWN:  # difflib is quadratic
        return ""
    known = [other for other in names if isinstance(other, str) and len(other) <= SHOWN]
    close = difflib.get_close_matches(name, known[:200], n=1)
    return f" (did you mean {show(close[0])}?)" if close else ""
