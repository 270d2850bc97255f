"""Dates: zones, offsets, month ends, and what is not one."""

from __future__ import annotations

import datetime as dt
import unittest

from server.lib.json_schema.generate import schema_of
from server.tools.builtin.clock import datetime
from server.tools.decorators import Context, ToolError

CTX = Context({}, lambda _: None)


class Clock(unittest.TestCase):
    def test_computed(self) -> None:
        cases = [
            ("UTC", "+1d", "2026-02-28T12:00", "2026-03-01T12:00:00+00:00"),
            ("Asia/Tokyo", "", "2026-01-01T00:00:00Z", "2026-01-01T09:00:00+09:00"),
            ("+05:30", "-2h30m", "2026-01-01T05:30", "2026-01-01T03:00:00+05:30"),
            ("UTC", "1w 2d -1h", "2026-01-01", "2026-01-09T23:00:00+00:00"),
            ("Europe/Berlin", "+1h", "2026-03-29T01:30", "2026-03-29T03:30:00+02:00"),
            ("UTC+2", "", "2026-01-01T00:00Z", "2026-01-01T02:00:00+02:00"),
        ]
        for zone, offset, at, expected in cases:
            with self.subTest(zone=zone, offset=offset):
                self.assertEqual(datetime(CTX, zone, offset, at)["datetime"], expected)

    def test_now(self) -> None:
        before = int(dt.datetime.now(dt.UTC).timestamp())
        self.assertGreaterEqual(datetime(CTX)["unix"], before)

    def test_no_text_takes_long_to_read(self) -> None:
        """It is read in the server's own process."""
        asked = schema_of(datetime, inject=(Context,)).parameters["properties"]
        self.assertEqual([about["maxLength"] for about in asked.values()], [100, 100, 100])

    def test_refused(self) -> None:
        cases = [
            ("Mars/Base", "", "", "no time zone"),
            ("../../etc/passwd", "", "", "no time zone"),
            ("/etc/localtime", "", "", "no time zone"),
            ("UTC", "tomorrow", "", "not an offset"),
            ("UTC", "", "yesterday", "ISO 8601"),
            ("UTC", "+999999w", "", "out of the calendar"),
        ]
        for zone, offset, at, message in cases:
            with self.subTest(zone + offset + at), self.assertRaisesRegex(ToolError, message):
                datetime(CTX, zone, offset, at)


if __name__ == "__main__":
    unittest.main()
