"""Read recurrence rules: RRULE of RFC 5545, 3.3.10, from FREQ=DAILY up. Pure.

Refused are BYSECOND, BYYEARDAY and BYWEEKNO, and BYSETPOS except for MONTHLY and YEARLY.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, tzinfo
from itertools import islice

from .schedule import YEARS, Times

FREQUENCIES = ("DAILY", "WEEKLY", "MONTHLY", "YEARLY")
WEEKDAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
NUMBERS = {  # part -> the least and the most of its numbers, how many there may be
    "INTERVAL": (1, 1_000, 1),
    "COUNT": (1, 1_000, 1),
    "BYMONTH": (1, 12, 12),
    "BYMONTHDAY": (-31, 31, 62),
    "BYHOUR": (0, 23, 24),
    "BYMINUTE": (0, 59, 60),
    "BYSETPOS": (-366, 366, 100),
}
MOST_TIMES = 48  # of a day
PARTS = ("FREQ", "UNTIL", "BYDAY", "WKST", *NUMBERS)


@dataclass(frozen=True)
class _Rule:
    """A recurrence rule; an empty set is a part that is not there.

    weekdays  (ordinal, 0 for every one, and weekday, 0 for Monday)
    start     the first local time that may be due
    """

    start: datetime
    frequency: str
    interval: int
    week_start: int
    months: frozenset[int]
    month_days: frozenset[int]
    weekdays: frozenset[tuple[int, int]]
    positions: frozenset[int]
    clock: tuple[time, ...]

    def times(self, begin: datetime) -> Iterator[datetime]:
        """Yield the local times that are due, from the period of `begin` on."""
        begin = max(begin, self.start)
        number = first = self._number(self.start.date())
        number += (self._number(begin.date()) - first) // self.interval * self.interval
        while (day := self._first_day(number)).year <= begin.year + YEARS:
            last = self._first_day(number + 1).toordinal()
            days = filter(self._is_due, map(date.fromordinal, range(day.toordinal(), last)))
            period = [datetime.combine(each, one) for each in days for one in self.clock]
            for position, local in enumerate(period):
                wanted = {position + 1, position - len(period)} & self.positions
                if local >= self.start and (wanted or not self.positions):
                    yield local
            number += self.interval

    def _number(self, day: date) -> int:
        """Return the number of a day's period: of its day, week, month or year."""
        match self.frequency:
            case "DAILY":
                return day.toordinal()
            case "WEEKLY":
                return (day.toordinal() - 1 - self.week_start) // 7
            case "MONTHLY":
                return day.year * 12 + day.month - 1
        return day.year

    def _first_day(self, number: int) -> date:
        """Return the first day of a period."""
        match self.frequency:
            case "DAILY":
                return date.fromordinal(number)
            case "WEEKLY":
                return date.fromordinal(number * 7 + 1 + self.week_start)
            case "MONTHLY":
                return date(number // 12, number % 12 + 1, 1)
        return date(number, 1, 1)

    def _is_due(self, day: date) -> bool:
        if self.months and day.month not in self.months:
            return False
        length = calendar.monthrange(day.year, day.month)[1]
        if self.month_days and not {day.day, day.day - length - 1} & self.month_days:
            return False
        if self.weekdays:
            return self._is_due_weekday(day, length)
        if self.month_days or self.frequency == "DAILY":
            return True
        if self.frequency == "WEEKLY":
            return day.weekday() == self.start.weekday()
        any_month = self.frequency == "MONTHLY" or self.months
        return day.day == self.start.day and bool(any_month or day.month == self.start.month)

    def _is_due_weekday(self, day: date, length: int) -> bool:
        number = day.day
        if self.frequency == "YEARLY" and not self.months:  # counted in the year
            number = day.timetuple().tm_yday
            length = 365 + calendar.isleap(day.year)
        ordinals = (0, (number - 1) // 7 + 1, -((length - number) // 7 + 1))
        return any((ordinal, day.weekday()) in self.weekdays for ordinal in ordinals)


def parse_rrule(text: str, zone: tzinfo, start: datetime) -> tuple[Times, datetime | None]:
    """Return the local times of a rule, and the last that may be due. Raises ValueError.

    text   the rule, with or without `RRULE:`, and perhaps a line `DTSTART:` before it
    start  the moment from which on it counts, unless it has a DTSTART
    """
    begin = start.astimezone(zone).replace(second=0, microsecond=0, tzinfo=None, fold=0)
    parts: dict[str, str] = {}
    for line in text.upper().split():
        if line.startswith("DTSTART"):
            begin = _local_time(line.rpartition(":")[2], zone, "DTSTART")
            continue
        for part in line.removeprefix("RRULE:").strip(";").split(";"):
            name, equals, value = part.partition("=")
            if name not in PARTS or not equals:
                raise ValueError(f"RRULE: {part!r} is not read here; {', '.join(PARTS)} are")
            if name in parts:
                raise ValueError(f"RRULE: {name} stands twice")
            parts[name] = value
    rule = _read(parts, begin)
    if "UNTIL" in parts and "COUNT" in parts:
        raise ValueError("RRULE: it has COUNT and UNTIL; one of them can be there")
    last = _local_time(parts["UNTIL"], zone, "UNTIL") if "UNTIL" in parts else None
    if count := max(_numbers(parts, "COUNT"), default=0):
        last = max(islice(rule.times(begin), count), default=begin)
    return rule.times, last


def _read(parts: Mapping[str, str], start: datetime) -> _Rule:
    frequency = parts.get("FREQ", "")
    if frequency not in FREQUENCIES:
        raise ValueError(
            f"RRULE: FREQ is {frequency!r}; it can be {', '.join(FREQUENCIES)}. A cron line can be"
            " due more often, as */15 * * * *"
        )
    numbers = {name: _numbers(parts, name) for name in NUMBERS}
    weekdays = frozenset(map(_weekday, filter(None, parts.get("BYDAY", "").split(","))))
    in_months = frequency in ("MONTHLY", "YEARLY")
    if not in_months and (numbers["BYSETPOS"] or any(ordinal for ordinal, _ in weekdays)):
        raise ValueError("RRULE: BYSETPOS and a BYDAY as 2TU need FREQ=MONTHLY or FREQ=YEARLY")
    if numbers["BYSETPOS"] and not {"BYDAY", *list(NUMBERS)[2:6]} & parts.keys():
        raise ValueError("RRULE: BYSETPOS needs another part that begins with BY")
    if frequency == "WEEKLY" and numbers["BYMONTHDAY"]:
        raise ValueError("RRULE: BYMONTHDAY is not for FREQ=WEEKLY (RFC 5545, 3.3.10)")
    week_start = parts.get("WKST", "MO")
    if week_start not in WEEKDAYS:
        raise ValueError(f"RRULE: WKST is {week_start!r}; it can be {', '.join(WEEKDAYS)}")
    hours, minutes = numbers["BYHOUR"] or {start.hour}, numbers["BYMINUTE"] or {start.minute}
    if (times := len(hours) * len(minutes)) > MOST_TIMES:
        raise ValueError(f"RRULE: it is due {times} times a day; at most {MOST_TIMES} are allowed")
    return _Rule(
        start=start,
        frequency=frequency,
        interval=max(numbers["INTERVAL"], default=1),
        week_start=WEEKDAYS.index(week_start),
        months=numbers["BYMONTH"],
        month_days=numbers["BYMONTHDAY"],
        weekdays=weekdays,
        positions=numbers["BYSETPOS"],
        clock=tuple(
            time(hour, minute, start.second) for hour in sorted(hours) for minute in sorted(minutes)
        ),
    )


def _numbers(parts: Mapping[str, str], name: str) -> frozenset[int]:
    """Return the numbers of a part, none if it is not there."""
    if name not in parts:
        return frozenset()
    low, high, limit = NUMBERS[name]
    words = parts[name].split(",")
    for word in words:
        is_number = re.fullmatch(r"[+-]?[0-9]{1,4}", word)
        if not is_number or not low <= int(word) <= high or (low < 0 and not int(word)):
            raise ValueError(f"RRULE: {name} is {parts[name]!r}; {word!r} is not {low} to {high}")
    if len(words) > limit:
        raise ValueError(f"RRULE: {name} is {parts[name]!r}; it has at most {limit}")
    return frozenset(map(int, words))


def _weekday(word: str) -> tuple[int, int]:
    """Return ordinal and weekday of a word of BYDAY."""
    match = re.fullmatch(r"([+-]?(?:[1-9]|[1-4][0-9]|5[0-3]))?(MO|TU|WE|TH|FR|SA|SU)", word)
    if not match:
        raise ValueError(f"RRULE: {word!r} in BYDAY is no day as MO, 2TU or -1FR")
    return int(match[1] or 0), WEEKDAYS.index(match[2])


def _local_time(text: str, zone: tzinfo, name: str) -> datetime:
    """Return the local time of `20261130`, `20261130T070000`, or that with `Z` for UTC."""
    try:
        match = re.fullmatch(r"((?:19[7-9]|2[0-9]{2})[0-9]{5})(?:T([0-9]{6})(Z)?)?", text)
        if match is None:
            raise ValueError
        clock = match[2] or ("000000" if name == "DTSTART" else "235959")
        local = datetime.strptime(match[1] + clock, "%Y%m%d%H%M%S")
        return (
            local.replace(tzinfo=UTC).astimezone(zone).replace(tzinfo=None) if match[3] else local
        )
    except ValueError:
        wanted = "20261130T070000 or 20261130T060000Z"
        raise ValueError(f"RRULE: {name} is {text!r}; it is written as {wanted}") from None
