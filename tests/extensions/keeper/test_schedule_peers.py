"""What this reads of cron lines and recurrence rules is what croniter and dateutil read of them."""

from __future__ import annotations

import importlib
import random
import unittest
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any

from server.extensions.keeper.schedule import Schedule
from server.extensions.keeper.session_keys import read_schedule


def peer(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


DATEUTIL, CRONITER = peer("dateutil.rrule"), peer("croniter")
CASES = 80
DAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
MONTH_DAYS = (1, 2, 13, 15, 28, 29, 30, 31, -1, -2, -15)


def a_start(source: random.Random) -> datetime:
    if source.random() < 0.1:
        return datetime(2028, 2, 29, 10, 45, tzinfo=UTC)
    year, month, day = source.randint(2024, 2028), source.randint(1, 12), source.randint(1, 28)
    return datetime(year, month, day, source.randint(0, 23), source.randint(0, 59), tzinfo=UTC)


def a_rule(source: random.Random) -> str:
    frequency = source.choice(["DAILY", "WEEKLY", "MONTHLY", "YEARLY"])
    in_months = frequency in ("MONTHLY", "YEARLY")
    parts = [f"FREQ={frequency}"]

    def add(name: str, values: Any, most: int, share: float = 0.3) -> bool:
        if source.random() >= share:
            return False
        chosen = source.sample([*values], source.randint(1, most))
        parts.append(f"{name}={','.join(map(str, chosen))}")
        return True

    add("INTERVAL", range(1, 6), 1, 0.5)
    numbers = source.choice([("",), ("1", "-1", "2", "5")]) if in_months else ("",)
    by = [
        add("BYMONTH", range(1, 13), 4),
        frequency != "WEEKLY" and add("BYMONTHDAY", MONTH_DAYS, 3),
        add("BYDAY", [source.choice(numbers) + day for day in DAYS], 4, 0.4),
        add("BYHOUR", range(24), 3),
        add("BYMINUTE", range(60), 3),
    ]
    if in_months and any(by):
        add("BYSETPOS", (1, 2, -1, -2, 3), 2)
    add("WKST", ("SU", "MO", "WE"), 1)
    if not add("COUNT", range(1, 31), 1, 0.2):
        parts.append(f"UNTIL=20{source.randint(27, 50)}0615T120000Z")
    return ";".join(parts)


def a_line(source: random.Random) -> str:
    def value(low: int, high: int) -> str:
        share = source.random()
        first = source.randint(low, high - 1)
        span = f"{first}-{source.randint(first + 1, high)}"
        if share < 0.4:
            return "*"
        if share < 0.5:
            return f"*/{source.randint(2, 9)}"
        if share < 0.7:
            return str(source.randint(low, high))
        if share < 0.85:
            return span + source.choice(["", f"/{source.randint(1, 4)}"])
        return ",".join(str(source.randint(low, high)) for _ in range(3))

    return " ".join(value(*each) for each in ((0, 59), (0, 23), (1, 31), (1, 12), (0, 6)))


def following(schedule: Schedule, moment: datetime, until: datetime) -> Iterator[datetime]:
    while (found := schedule.after(moment)) is not None and found < until:
        yield found
        moment = found


class Peers(unittest.TestCase):
    @unittest.skipUnless(DATEUTIL, "python-dateutil is not installed")
    def test_recurrence_rules(self) -> None:
        source, due = random.Random(41), 0
        for _ in range(CASES):
            text, start = a_rule(source), a_start(source)
            until = start.replace(day=28, year=start.year + 40)
            expected = list(
                islice((x for x in DATEUTIL.rrulestr(text, dtstart=start) if x < until), 25)
            )
            with self.subTest(text, start=str(start)):
                schedule = read_schedule({"rrule": text}, start)
                before = start - timedelta(seconds=1)
                self.assertEqual([*islice(following(schedule, before, until), 25)], expected)
                due += bool(expected)
        self.assertGreater(due, CASES / 2)

    @unittest.skipUnless(CRONITER, "croniter is not installed")
    def test_cron_lines(self) -> None:
        source, compared = random.Random(41), 0
        for _ in range(CASES):
            text, start = a_line(source), a_start(source)
            try:
                schedule = read_schedule({"cron": text}, start)
            except ValueError as error:
                self.assertIn("crons read differently", str(error))
                continue
            with self.subTest(text, start=str(start)):
                try:
                    each = CRONITER.croniter(text, start)
                    expected = [each.get_next(datetime) for _ in range(15)]
                except CRONITER.CroniterBadDateError:
                    self.assertIsNone(schedule.after(start))
                    continue
                until = expected[-1] + timedelta(seconds=1)
                self.assertEqual([*following(schedule, start, until)], expected)
                compared += 1
        self.assertGreater(compared, CASES / 2)


if __name__ == "__main__":
    unittest.main()
