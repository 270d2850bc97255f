"""The tool `datetime`: date and time in any zone, with simple arithmetic."""

from __future__ import annotations

import datetime as dt
import importlib
import re
from typing import Annotated, Any

from ..decorators import Context, ToolError, tool

SHORT = {"maxLength": 100}
UNITS = {"d": "days", "h": "hours", "m": "minutes", "s": "seconds", "w": "weeks"}
_OFFSET = re.compile(r"([+-]?)(\d{1,6})([dhmsw])")
_FIXED = re.compile(r"(?:UTC|GMT)?([+-])(\d{1,2})(?::?(\d{2}))?")


@tool(read_only=True, parallel_safe=True)
def datetime(
    ctx: Context,
    zone: Annotated[
        str, "IANA zone such as Asia/Tokyo, or an offset such as +05:30", SHORT
    ] = "UTC",
    offset: Annotated[str, "Time to add, such as +1d, -2h30m, +1w", SHORT] = "",
    at: Annotated[str, "ISO 8601 time to start from instead of now", SHORT] = "",
) -> dict[str, Any]:
    """Tell the current date and time in a time zone, or compute with a given one."""
    where = zone_of(zone)
    moment = dt.datetime.now(where) if not at else moment_of(at, where)
    try:
        moment = (moment.astimezone(dt.UTC) + span_of(offset)).astimezone(where)
    except OverflowError:
        raise ToolError(f"the offset {offset!r} leads out of the calendar") from None
    return {
        "datetime": moment.isoformat(timespec="seconds"),
        "date": moment.date().isoformat(),
        "time": moment.strftime("%H:%M:%S"),
        "weekday": moment.strftime("%A"),
        "zone": zone,
        "utc_offset": moment.strftime("%z"),
        "unix": int(moment.timestamp()),
    }


def zone_of(name: str) -> dt.tzinfo:
    """Return the time zone of an IANA name or an offset. Raises ToolError."""
    if name.upper() in ("UTC", "GMT", "Z", ""):
        return dt.UTC
    if fixed := _FIXED.fullmatch(name):
        sign, hours, minutes = fixed[1], int(fixed[2]), int(fixed[3] or 0)
        if hours < 24 and minutes < 60:
            return dt.timezone(
                dt.timedelta(hours=hours, minutes=minutes) * (-1 if sign == "-" else 1)
            )
    zones = importlib.import_module("zoneinfo")  # imported late: it takes 0.6 MB
    try:
        found: dt.tzinfo = zones.ZoneInfo(name)
        return found
    except (zones.ZoneInfoNotFoundError, ValueError, OSError):
        raise ToolError(
            f"there is no time zone {name[:60]!r}; use a name such as Asia/Tokyo"
        ) from None


def moment_of(text: str, zone: dt.tzinfo) -> dt.datetime:
    """Return the time of an ISO 8601 text, in `zone` if it names none. Raises ToolError."""
    try:
        moment = dt.datetime.fromisoformat(text)
    except ValueError:
        raise ToolError(f"{text[:60]!r} is not an ISO 8601 time such as 2026-03-01T12:00") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=zone)


def span_of(text: str) -> dt.timedelta:
    """Return the time span of a text such as `+1d`, `-2h30m` or `1w 2d`. Raises ToolError.

    A sign holds until the next one.
    """
    rest, total, sign = text.replace(" ", ""), dt.timedelta(), 1
    while rest:
        part = _OFFSET.match(rest)
        if part is None:
            raise ToolError(f"{text[:60]!r} is not an offset such as +1d or -2h30m")
        if part[1]:
            sign = -1 if part[1] == "-" else 1
        total += sign * dt.timedelta(**{UNITS[part[3]]: int(part[2])})
        rest = rest[part.end() :]
    return total
