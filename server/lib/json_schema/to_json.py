"""Convert Python values to JSON, and JSON to Python values of scalar types such as dates and UUIDs.

Used by `shapes`, `records` and `generate` for types, defaults and members of enums, and for
encoding a tool's result. What `plain` writes, the builder in SCALARS reads into an equal value. A
builder gets a value that fits the schema; if the type still rejects it (a leap second, a year 0) it
raises ValueError, TypeError or ArithmeticError. Classes of impure modules (paths, UUIDs, addresses)
are recognized by name and called through the annotation, so that nothing here imports them.
"""

from __future__ import annotations

import base64
import dataclasses
import datetime
import decimal
import enum
import math
import re
from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any

from . import keywords
from .compile import Format

NUMBER_TEXT = r"^[+-]?[0-9]+(\.[0-9]+)?$"
_TEXTUAL = {"uuid", "pathlib", "ipaddress", "decimal"}  # modules whose values are their str()
_SPAN = re.compile(
    r"(?P<sign>[+-])?P(?=T?\d)(?:(?P<weeks>\d+)W)?(?:(?P<days>\d+)D)?"
    r"(?:T(?=\d)(?:(?P<hours>\d+)H)?(?:(?P<minutes>\d+)M)?(?:(?P<seconds>\d+(?:\.\d+)?)S)?)?",
    re.ASCII,
)


def plain(value: Any) -> Any:
    """Return the JSON form of `value`. Raises TypeError if it has none, ValueError for NaN."""
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
    if hasattr(value, "model_dump") and hasattr(type(value), "model_fields"):  # of pydantic
        return value.model_dump(mode="json", by_alias=True)
    raise TypeError(f"{type(value).__name__} has no JSON form")


def _key(key: Any) -> str:
    value = plain(key)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float | decimal.Decimal):
        return str(value)
    raise TypeError(f"{type(key).__name__} can't be the name of a property")


def duration(span: datetime.timedelta) -> str:
    """Return a time span in ISO 8601: `P1DT2H`, `-PT0.5S`, `PT0S`."""
    sign, span = ("-", -span) if span < datetime.timedelta() else ("", span)
    minutes, seconds = divmod(span.seconds, 60)
    hours, minutes = divmod(minutes, 60)
    days = f"{span.days}D" if span.days else ""
    time = f"{hours}H" * (hours > 0) + f"{minutes}M" * (minutes > 0)
    if seconds or span.microseconds or not (days or time):
        fraction = f".{span.microseconds:06d}".rstrip("0") if span.microseconds else ""
        time += f"{seconds}{fraction}S"
    return f"{sign}P{days}" + (f"T{time}" if time else "")


# ------------------------------------------------------------------------------ and back again


def date_time(text: str) -> datetime.datetime:
    """Parse RFC 3339, or ISO 8601 without an offset, which gives a naive datetime.

    Raises ValueError.
    """
    if text[10:11] not in ("T", "t", " "):
        raise ValueError("a date and a time")
    return datetime.datetime.fromisoformat(text.upper())


def time_of_day(text: str) -> datetime.time:
    """Parse an ISO 8601 time, which needs minutes. Raises ValueError."""
    if ":" not in text:
        raise ValueError("hours and minutes")
    return datetime.time.fromisoformat(text.upper())


def span(text: str) -> datetime.timedelta:
    """Parse an ISO 8601 duration in weeks, days, hours, minutes and seconds. Raises ValueError.

    Years and months are refused: they have no fixed length.
    """
    match = _SPAN.fullmatch(text)
    if not match:
        raise ValueError("an ISO 8601 duration in weeks, days, hours, minutes and seconds")
    parts = {unit: float(n) for unit, n in match.groupdict().items() if n and unit != "sign"}
    return datetime.timedelta(**parts) * (-1 if match["sign"] == "-" else 1)


def raw_bytes(text: str) -> bytes:
    """Decode base64 in either alphabet (RFC 4648 sections 4 and 5), padding optional."""
    normal = "".join(text.split()).replace("-", "+").replace("_", "/").rstrip("=")
    return base64.b64decode(normal + "=" * (-len(normal) % 4), validate=True)


def number(value: Any) -> decimal.Decimal:
    """Return a JSON number, or its text, as a Decimal with the digits that were written."""
    return decimal.Decimal(repr(value) if isinstance(value, float) else value)


def _accepts(build: Callable[[str], Any]) -> Format:
    def test(text: str) -> bool:
        """Return whether `build` accepts the text."""
        try:
            build(text)
        except (ValueError, OverflowError):
            return False
        return True

    return test


# The formats of arguments: as lenient as the Python types, without guessing.
FORMATS: Mapping[str, Format] = {
    **keywords.FORMATS,
    "date-time": _accepts(date_time),
    "time": _accepts(time_of_day),
    "duration": _accepts(span),
}


def _text(format_name: str) -> dict[str, Any]:
    return {"type": "string", "format": format_name}


# class -> (schema, builder); None: the class itself is the builder
SCALARS: dict[str, tuple[dict[str, Any], Callable[[Any], Any] | None]] = {
    "builtins.int": ({"type": "integer"}, int),
    "builtins.float": ({"type": "number"}, float),
    "builtins.str": ({"type": "string"}, str),
    "builtins.bool": ({"type": "boolean"}, bool),
    "builtins.NoneType": ({"type": "null"}, lambda value: None),
    "builtins.bytes": ({"type": "string", "contentEncoding": "base64"}, raw_bytes),
    "datetime.datetime": (_text("date-time"), date_time),
    "datetime.date": (_text("date"), datetime.date.fromisoformat),
    "datetime.time": (_text("time"), time_of_day),
    "datetime.timedelta": (_text("duration"), span),
    "decimal.Decimal": (
        {"anyOf": [{"type": "number"}, {"type": "string", "pattern": NUMBER_TEXT}]},
        number,
    ),
    "uuid.UUID": (_text("uuid"), None),
    "ipaddress.IPv4Address": (_text("ipv4"), None),
    "ipaddress.IPv6Address": (_text("ipv6"), None),
    **dict.fromkeys(("pathlib.Path", "pathlib.PurePath"), (_text("path"), None)),
    **dict.fromkeys(("pathlib.PosixPath", "pathlib.PurePosixPath"), (_text("path"), None)),
}


def scalar(hint: Any) -> tuple[dict[str, Any], Callable[[Any], Any]] | None:
    """Return (schema, builder) of a class in SCALARS, else None.

    Classes are found by top-level module and name: Python 3.13 has `pathlib._local.Path`.
    """
    if not isinstance(hint, type):
        return None
    known = SCALARS.get(f"{hint.__module__.split('.')[0]}.{hint.__qualname__}")
    return (dict(known[0]), known[1] or hint) if known else None
