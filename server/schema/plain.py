"""From Python values to JSON: defaults and enum values in schemas, and what tools return.

Used by `shapes` and `generate`, and by whoever encodes a tool's result. Rule of the file: the
mirror image of `shapes`: what is written here as JSON is read there into an equal value. Classes
of impure modules (paths, UUIDs, addresses) are known by name, so that nothing here imports them.
"""

from __future__ import annotations

import base64
import dataclasses
import datetime
import decimal
import enum
import math
from collections.abc import Mapping, Sequence, Set
from typing import Any

_TEXTUAL = {"uuid", "pathlib", "ipaddress", "decimal"}  # modules whose values are their str()


def plain(value: Any) -> Any:
    """The JSON form of `value`. Raises TypeError if it has none, ValueError for NaN."""
    match value:
        case enum.Enum():
            return plain(value.value)
        case None | bool() | int() | str():
            return value
        case float():
            if not math.isfinite(value):
                raise ValueError(f"{value} is not JSON")
            return value
        case datetime.datetime() | datetime.date() | datetime.time():
            return value.isoformat()
        case datetime.timedelta():
            return duration(value)
        case bytes() | bytearray():
            return base64.b64encode(value).decode()
        case Mapping():
            return {_key(key): plain(item) for key, item in value.items()}
        case Set():
            return [plain(item) for item in sorted(value, key=repr)]  # the same order every time
        case Sequence():
            return [plain(item) for item in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = dataclasses.fields(value)
        return {field.name: plain(getattr(value, field.name)) for field in fields}
    if type(value).__module__.split(".")[0] in _TEXTUAL:
        return str(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")


def _key(key: Any) -> str:
    value = plain(key)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float | decimal.Decimal):
        return str(value)
    raise TypeError(f"{type(key).__name__} can't be the name of a property")


def duration(span: datetime.timedelta) -> str:
    """ISO 8601: `P1DT2H`, `-PT0.5S`, `PT0S`."""
    sign, span = ("-", -span) if span < datetime.timedelta() else ("", span)
    minutes, seconds = divmod(span.seconds, 60)
    hours, minutes = divmod(minutes, 60)
    days = f"{span.days}D" if span.days else ""
    time = f"{hours}H" * (hours > 0) + f"{minutes}M" * (minutes > 0)
    if seconds or span.microseconds or not (days or time):
        fraction = f".{span.microseconds:06d}".rstrip("0") if span.microseconds else ""
        time += f"{seconds}{fraction}S"
    return f"{sign}P{days}" + (f"T{time}" if time else "")
