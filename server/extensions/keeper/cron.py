"""Read cron lines: five fields as in crontab(5), or one of `@hourly`, `@daily`, …. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from typing import NamedTuple

from .schedule import YEARS, Times

MACROS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
MONTHS = tuple("jan feb mar apr may jun jul aug sep oct nov dec".split())
DAYS = tuple("sun mon tue wed thu fri sat".split())


class _Field(NamedTuple):
    name: str
    low: int
    high: int
    names: tuple[str, ...] = ()

    def number(self, word: str, text: str) -> int:
        """Return the value of a number or a name. Raises ValueError."""
        if word.lower() in self.names:
            return self.names.index(word.lower()) + self.low
        value = int(word) if re.fullmatch("[0-9]{1,2}", word) else -1
        if not self.low <= value <= self.high:
            allowed = f"{self.low} to {self.high}"
            allowed += f" or {', '.join(self.names)}" if self.names else ""
            raise ValueError(f"cron: the {self.name} is {text!r}; {word!r} is not {allowed}")
        return value

    def values(self, text: str) -> set[int]:
        """Return the values of a list of `*`, numbers and ranges, each with `/step` or without."""
        values: set[int] = set()
        for entry in text.split(","):
            span, slash, step = entry.partition("/")
            begin, dash, end = span.partition("-")
            if slash and not (re.fullmatch("[1-9][0-9]?", step) and (span == "*" or dash)):
                wrong = f"{entry!r} has no step as in */5 or 0-30/5"
                raise ValueError(f"cron: the {self.name} is {text!r}; {wrong}")
            first = self.low if span == "*" else self.number(begin, text)
            last = self.high if span == "*" else self.number(end, text) if dash else first
            if first > last:
                wrong = f"{span!r} ends before it begins"
                raise ValueError(f"cron: the {self.name} is {text!r}; {wrong}")
            values.update(range(first, last + 1, int(step) if slash else 1))
        return values


FIELDS = (
    _Field("minute", 0, 59),
    _Field("hour", 0, 23),
    _Field("day of the month", 1, 31),
    _Field("month", 1, 12, MONTHS),
    _Field("day of the week", 0, 7, DAYS),
)


def parse_cron(line: str) -> tuple[Times, bool]:
    """Return the local times of a cron line, and whether each hour has some. Raises ValueError."""
    parts = MACROS.get(line.lower(), line).split()
    if len(parts) != len(FIELDS):
        raise ValueError(
            f"cron: {line!r} has {len(parts)} fields instead of five (minute, hour, day of the"
            f" month, month, day of the week), and is none of {', '.join(MACROS)}"
        )
    minutes, hours, days, months, weekdays = (
        field.values(part) for field, part in zip(FIELDS, parts, strict=True)
    )
    by_day, by_weekday = (each != "*" for each in (parts[2], parts[4]))
    if by_day and by_weekday and "*" in parts[2] + parts[4]:
        raise ValueError(
            f"cron: {line!r} has a step of * for one kind of day and names the other, which crons"
            " read differently; write a range, as 1-31/2, for days that match either"
        )
    clock = [time(hour, minute) for hour in sorted(hours) for minute in sorted(minutes)]

    def is_due(day: date) -> bool:
        """Return whether it is due on a day."""
        in_month, in_week = day.day in days, {day.isoweekday(), day.isoweekday() % 7} & weekdays
        fits = in_month or in_week if by_day and by_weekday else in_month and in_week
        return day.month in months and bool(fits)

    def times(begin: datetime) -> Iterator[datetime]:
        """Yield the local times, from the day of `begin` on."""
        for n in range(YEARS * 366):
            if is_due(day := begin.date() + timedelta(n)):
                yield from (datetime.combine(day, one) for one in clock)

    return times, parts[1].startswith("*")
