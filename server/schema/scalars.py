"""The Python types that are one JSON value: their schema, and how a value is built.

Used by `shapes`. Rule of the file: a builder gets a value that fits the schema, with FORMATS below
for text; if the type still refuses it (a leap second, a year 0) it raises ValueError, TypeError or
ArithmeticError, and `shapes` says where. Classes of impure modules are known by name and called
through the annotation itself, so nothing here imports them.
"""

from __future__ import annotations

import base64
import datetime
import decimal
import re
from collections.abc import Callable, Mapping
from typing import Any

from . import formats
from .compile import Format

Schema = dict[str, Any]
# (schema, the annotation -> a builder)
Scalar = tuple[Schema, Callable[[Any], Callable[[Any], Any]]]

NUMBER_TEXT = r"^[+-]?[0-9]+(\.[0-9]+)?$"

_SPAN = re.compile(
    r"(?P<sign>[+-])?P(?:(?P<weeks>\d+)W)?(?:(?P<days>\d+)D)?"
    r"(?:T(?:(?P<hours>\d+)H)?(?:(?P<minutes>\d+)M)?(?:(?P<seconds>\d+(?:\.\d+)?)S)?)?",
    re.ASCII,
)


def date_time(text: str) -> datetime.datetime:
    """RFC 3339, and ISO 8601 without an offset: then the result has no time zone either."""
    if text[10:11] not in ("T", "t", " "):
        raise ValueError("a date and a time")
    return datetime.datetime.fromisoformat(text.upper())


def time_of_day(text: str) -> datetime.time:
    if ":" not in text:
        raise ValueError("hours and minutes")
    return datetime.time.fromisoformat(text.upper())


def span(text: str) -> datetime.timedelta:
    """ISO 8601 without years and months, which have no fixed length."""
    match = _SPAN.fullmatch(text)
    if not match or not any(character.isdigit() for character in text) or text[-1] == "T":
        raise ValueError("an ISO 8601 duration in weeks, days, hours, minutes and seconds")
    sign = match["sign"]
    parts = {unit: float(n) for unit, n in match.groupdict().items() if n and unit != "sign"}
    return datetime.timedelta(**parts) * (-1 if sign == "-" else 1)


def raw_bytes(text: str) -> bytes:
    """Base64 in either alphabet (RFC 4648 sections 4 and 5), padding optional."""
    normal = "".join(text.split()).replace("-", "+").replace("_", "/").rstrip("=")
    return base64.b64decode(normal + "=" * (-len(normal) % 4), validate=True)


def number(value: Any) -> decimal.Decimal:
    return decimal.Decimal(repr(value) if isinstance(value, float) else value)


def _accepts(build: Callable[[str], Any]) -> Format:
    def test(text: str) -> bool:
        try:
            build(text)
        except (ValueError, OverflowError):
            return False
        return True

    return test


# What arguments may look like: as lenient as the Python type is without guessing anything.
FORMATS: Mapping[str, Format] = {
    **formats.FORMATS,
    "date-time": _accepts(date_time),
    "time": _accepts(time_of_day),
    "duration": _accepts(span),
}


def _same(build: Callable[[Any], Any]) -> Callable[[Any], Callable[[Any], Any]]:
    return lambda hint: build


def _called(hint: Any) -> Callable[[Any], Any]:
    return lambda value: hint(value)


def _text(format_name: str) -> Schema:
    return {"type": "string", "format": format_name}


SCALARS: dict[str, Scalar] = {
    "builtins.int": ({"type": "integer"}, _same(int)),
    "builtins.float": ({"type": "number"}, _same(float)),
    "builtins.str": ({"type": "string"}, _same(str)),
    "builtins.bool": ({"type": "boolean"}, _same(bool)),
    "builtins.NoneType": ({"type": "null"}, _same(lambda value: None)),
    "builtins.bytes": ({"type": "string", "contentEncoding": "base64"}, _same(raw_bytes)),
    "datetime.datetime": (_text("date-time"), _same(date_time)),
    "datetime.date": (_text("date"), _same(datetime.date.fromisoformat)),
    "datetime.time": (_text("time"), _same(time_of_day)),
    "datetime.timedelta": (_text("duration"), _same(span)),
    "decimal.Decimal": (
        {"anyOf": [{"type": "number"}, {"type": "string", "pattern": NUMBER_TEXT}]},
        _same(number),
    ),
    "uuid.UUID": (_text("uuid"), _called),
    "ipaddress.IPv4Address": (_text("ipv4"), _called),
    "ipaddress.IPv6Address": (_text("ipv6"), _called),
    **{
        f"pathlib.{name}": (_text("path"), _called)
        for name in ("Path", "PurePath", "PosixPath", "PurePosixPath")
    },
}


def scalar(hint: Any) -> Scalar | None:
    """The entry of a class. Python 3.13 has `pathlib._local.Path`, so only the root is compared."""
    if not isinstance(hint, type):
        return None
    return SCALARS.get(f"{hint.__module__.split('.')[0]}.{hint.__qualname__}")
