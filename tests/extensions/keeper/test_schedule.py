"""Cron lines and recurrence rules by tables: when they are due, and what is refused."""

from __future__ import annotations

import unittest
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any

from server.extensions.keeper.schedule import Schedule
from server.extensions.keeper.session_keys import read_schedule

MONDAY = datetime(2026, 11, 30, 6, 30, tzinfo=UTC)
ROWS = (  # (schedule, zone, after, the next moments in UTC)
    ("*/20 * * * *", "UTC", "2026-11-30T06:30", "06:40 07:00 07:20"),
    ("0 7 * * mon-fri", "UTC", "2026-11-27T07:00", "11-30T07:00 12-01T07:00"),
    ("0 7 * * 7", "UTC", "2026-11-30T00:00", "12-06T07:00 12-13T07:00"),
    ("30 3 1,15 jan,JUL *", "UTC", "2026-11-30T00:00", "2027-01-01T03:30 2027-01-15T03:30"),
    ("0 0 29 2 *", "UTC", "2026-11-30T00:00", "2028-02-29T00:00 2032-02-29T00:00"),
    # Both kinds of day are named: either is enough.
    ("0 0 13 * fri", "UTC", "2026-11-12T12:00", "11-13T00:00 11-20T00:00 11-27T00:00"),
    ("0-30/15 9 1-31/2 * *", "UTC", "2026-11-30T00:00", "12-01T09:00 12-01T09:15 12-01T09:30"),
    ("@daily", "Asia/Shanghai", "2026-11-30T00:00", "11-30T16:00 12-01T16:00"),
    ("@hourly", "UTC", "2026-11-30T06:30", "07:00 08:00"),
    # Clocks go forward from 2 to 3 at 01:00 UTC: as much later as was skipped.
    ("30 2 * * *", "Europe/Berlin", "2026-03-28T12:00", "03-29T01:30 03-30T00:30"),
    ("30 2 * * *", "Europe/Berlin", "2026-03-29T01:10", "03-29T01:30 03-30T00:30"),
    ("0,30 2,3 * * *", "Europe/Berlin", "2026-03-28T12:00", "03-29T01:00 03-29T01:30 03-30T00:00"),
    # Clocks go back from 3 to 2 at 01:00 UTC: the first time.
    ("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00", "10-25T00:30 10-26T01:30"),
    # Every hour is by elapsed time.
    ("30 * * * *", "Europe/Berlin", "2026-10-24T23:45", "00:30 01:30 02:30"),
    ("30 * * * *", "Europe/Berlin", "2026-03-28T23:45", "00:30 01:30 02:30"),
    ("*/30 * * * *", "Australia/Lord_Howe", "2026-04-04T14:25", "14:30 15:00 15:30"),
    ("*/15 2 * * *", "Europe/Berlin", "2026-10-25T00:50", "10-26T01:00 10-26T01:15"),
    ("*/20 * * * *", "Europe/Berlin", "2026-10-25T00:30", "00:40 01:00 01:20"),
    ("30 */2 * * *", "Europe/Berlin", "2026-03-28T23:45", "02:30 04:30"),  # not 02:30 there
    ("FREQ=WEEKLY;BYDAY=TU,TH", "UTC", "2026-11-30T06:30", "12-01T06:30 12-03T06:30"),
    ("FREQ=DAILY;INTERVAL=3", "UTC", "2026-12-04T07:00", "12-06T06:30 12-09T06:30"),
    ("FREQ=DAILY;INTERVAL=3", "UTC", "2026-11-30T06:30", "12-03T06:30 12-06T06:30"),
    ("RRULE:FREQ=MONTHLY;BYDAY=-1FR;BYHOUR=9", "UTC", "2026-11-30T07:00",
     "12-25T09:30 2027-01-29T09:30"),
    ("FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1", "UTC", "2026-11-30T07:00",
     "12-31T06:30 2027-01-29T06:30"),
    ("FREQ=MONTHLY;BYMONTHDAY=31", "UTC", "2027-01-31T07:00", "2027-03-31T06:30 2027-05-31T06:30"),
    ("FREQ=MONTHLY;BYMONTHDAY=-1", "UTC", "2026-11-30T07:00", "12-31T06:30 2027-01-31T06:30"),
    ("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29", "UTC", "2026-11-30T07:00", "2028-02-29T06:30"),
    ("FREQ=YEARLY;BYDAY=20MO", "UTC", "2026-11-30T07:00", "2027-05-17T06:30 2028-05-15T06:30"),
    ("FREQ=WEEKLY;INTERVAL=2;BYDAY=SU;WKST=MO", "UTC", "2026-11-30T07:00",
     "12-06T06:30 12-20T06:30"),
    ("FREQ=WEEKLY;INTERVAL=2;BYDAY=SU;WKST=SU", "UTC", "2026-11-30T07:00",
     "12-13T06:30 12-27T06:30"),
    ("DTSTART:20261201T070000\nRRULE:FREQ=DAILY", "Europe/Berlin", "2026-11-30T07:00",
     "12-01T06:00"),
    ("DTSTART:20261201T070000Z\nFREQ=DAILY", "Europe/Berlin", "2026-11-30T07:00", "12-01T07:00"),
    ("FREQ=DAILY;BYHOUR=2;BYMINUTE=30", "Europe/Berlin", "2027-03-27T12:00", "2027-03-28T01:30"),
)  # fmt: skip
ENDS = (  # (schedule, all of its moments)
    ("FREQ=DAILY;COUNT=3", "11-30T06:30 12-01T06:30 12-02T06:30"),
    ("FREQ=DAILY;BYHOUR=5,7;COUNT=2", "11-30T07:30 12-01T05:30"),
    ("FREQ=DAILY;UNTIL=20261201", "11-30T06:30 12-01T06:30"),
    ("FREQ=DAILY;UNTIL=20261201T063000Z", "11-30T06:30 12-01T06:30"),
    ("FREQ=DAILY;UNTIL=20261201T062959Z", "11-30T06:30"),
    ("FREQ=WEEKLY;BYDAY=MO,TU;COUNT=3", "11-30T06:30 12-01T06:30 12-07T06:30"),
)
REFUSED = (  # (schedule, zone, words of the message)
    ("* * * *", "UTC", "has 4 fields instead of five"),
    ("@often", "UTC", "none of @hourly"),
    ("60 * * * *", "UTC", "the minute is '60'; '60' is not 0 to 59"),
    ("* 5-2 * * *", "UTC", "'5-2' ends before it begins"),
    ("*/0 * * * *", "UTC", "'*/0' has no step as in */5"),
    ("5/10 * * * *", "UTC", "'5/10' has no step"),
    ("* * * foo *", "UTC", "'foo' is not 1 to 12 or jan, feb"),
    ("* * ٣ * *", "UTC", "the day of the month"),
    ("0 0 */2 * mon", "UTC", "crons read differently; write a range, as 1-31/2"),
    ("0 0 13 * */2", "UTC", "crons read differently"),
    ("0 0 * * *", "Europe/Atlantis", "the time zone 'Europe/Atlantis' is not known here"),
    ("0 0 * * *", "../../etc/passwd", "is not known here"),
    ("FREQ=HOURLY", "UTC", "FREQ is 'HOURLY'; it can be DAILY, WEEKLY"),
    ("FREQ=DAILY;BYSECOND=3", "UTC", "'BYSECOND=3' is not read here"),
    ("FREQ=DAILY;INTERVAL=0", "UTC", "INTERVAL is '0'; '0' is not 1 to 1000"),
    ("FREQ=DAILY;INTERVAL=1,2", "UTC", "INTERVAL is '1,2'; it has at most 1"),
    ("FREQ=DAILY;COUNT=2;COUNT=3", "UTC", "COUNT stands twice"),
    ("FREQ=DAILY;COUNT=2;UNTIL=20270101", "UTC", "COUNT and UNTIL"),
    ("FREQ=DAILY;UNTIL=tomorrow", "UTC", "UNTIL is 'TOMORROW'; it is written as 20261130T070000"),
    ("FREQ=DAILY;BYDAY=2MO", "UTC", "BYDAY as 2TU need FREQ=MONTHLY or FREQ=YEARLY"),
    ("FREQ=MONTHLY;BYDAY=XX", "UTC", "'XX' in BYDAY is no day as MO"),
    ("FREQ=MONTHLY;BYMONTHDAY=0", "UTC", "'0' is not -31 to 31"),
    # What its first week counts, which may begin in the middle, is read differently.
    ("FREQ=WEEKLY;BYDAY=MO,TU;BYSETPOS=1", "UTC", "BYSETPOS and a BYDAY"),
    ("FREQ=MONTHLY;BYSETPOS=1", "UTC", "another part that begins with BY"),
    ("FREQ=WEEKLY;BYMONTHDAY=3", "UTC", "BYMONTHDAY is not for FREQ=WEEKLY"),
    ("FREQ=DAILY;BYHOUR=1,2;BYMINUTE=" + ",".join(map(str, range(30))), "UTC", "60 times a day"),
    ("FREQ=DAILY;DTSTART=20260101", "UTC", "'DTSTART=20260101' is not read here"),
    ("FREQ=DAILY;UNTIL=99990101", "UTC", "UNTIL is '99990101'"),
    ("FREQ=DAILY;WKST=XX", "UTC", "WKST is 'XX'"),
)  # fmt: skip


def read(text: str, zone: str = "UTC") -> Schedule:
    kind = "rrule" if "FREQ" in text else "cron"
    return read_schedule({kind: text, "zone": zone}, MONDAY)


def moment(text: str, near: datetime) -> datetime:
    """A time as the tables have it: what it leaves out is as in the row's beginning."""
    day = near.date() + timedelta(days=int(near.hour > 12 and text < "12"))
    if len(text) == 5:
        text = f"{day}T{text}"
    elif len(text) == 11:
        text = f"{near.year}-{text}"
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def following(schedule: Schedule, after: datetime) -> Any:
    while (found := schedule.after(after)) is not None:
        yield found
        after = found


class Moments(unittest.TestCase):
    def test_next_moments(self) -> None:
        for text, zone, after, wanted in ROWS:
            with self.subTest(text, zone=zone, after=after):
                begin = moment(after, MONDAY)
                expected = [moment(each, begin) for each in wanted.split()]
                found = list(islice(following(read(text, zone), begin), len(expected)))
                self.assertEqual(found, expected)

    def test_a_rule_ends(self) -> None:
        for text, wanted in ENDS:
            with self.subTest(text):
                found = list(islice(following(read(text), MONDAY - timedelta(days=400)), 9))
                self.assertEqual(found, [moment(each, MONDAY) for each in wanted.split()])

    def test_what_is_never_due(self) -> None:
        for text in ("0 0 31 2 *", "FREQ=MONTHLY;BYMONTH=2;BYMONTHDAY=30"):
            with self.subTest(text):
                self.assertIsNone(read(text).after(MONDAY))

    def test_what_is_refused_is_said(self) -> None:
        for text, zone, words in REFUSED:
            with self.subTest(text), self.assertRaises(ValueError) as caught:
                read(text, zone)
            self.assertIn(words, str(caught.exception))


if __name__ == "__main__":
    unittest.main()
