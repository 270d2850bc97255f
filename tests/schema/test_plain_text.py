"""Text as Python reads it: lenient about spelling, not about meaning."""

from __future__ import annotations

import datetime
import unittest
from typing import Any

from server.schema.plain import FORMATS, date_time, number, raw_bytes, scalar, span, time_of_day

DAY = datetime.timedelta(days=1)
READ: list[tuple[Any, str, Any]] = [
    (span, "P1W", 7 * DAY),
    (span, "P1DT0.5S", DAY + datetime.timedelta(seconds=0.5)),
    (span, "-PT1H", -datetime.timedelta(hours=1)),
    (span, "+P1D", DAY),
    (time_of_day, "10:30", datetime.time(10, 30)),
    (time_of_day, "10:30:00z", datetime.time(10, 30, tzinfo=datetime.UTC)),
    (date_time, "2026-11-21t10:00:00z", datetime.datetime(2026, 11, 21, 10, tzinfo=datetime.UTC)),
    (date_time, "2026-11-21T10:00", datetime.datetime(2026, 11, 21, 10)),
    (raw_bytes, "_-8=", b"\xff\xef"),
    (raw_bytes, "aG\nk", b"hi"),
    (raw_bytes, "", b""),
]
REFUSED: list[tuple[Any, str]] = [
    *((span, text) for text in ("", "P", "PT", "P1DT", "P1Y", "P1M", "1D", "P-1D", "PT1S ", "P١D")),
    *((time_of_day, text) for text in ("", "25:00", "10", "noon")),
    *((date_time, text) for text in ("", "2026-11-21", "2026-11-21T", "2026-02-30T10:00:00")),
    *((raw_bytes, text) for text in ("a", "!", "a===", "aé==")),
]


class Text(unittest.TestCase):
    def test_read(self) -> None:
        for build, text, expected in READ:
            with self.subTest(build.__name__, text=text):
                self.assertEqual(build(text), expected)

    def test_refused(self) -> None:
        for build, text in REFUSED:
            with self.subTest(build.__name__, text=text), self.assertRaises(ValueError):
                build(text)

    def test_formats_never_raise(self) -> None:
        for name in ("date-time", "time", "duration"):
            for text in ("P" + "9" * 400 + "W", "\0", "T" * 100_000, "0001-01-01T00:00:00+23:59"):
                with self.subTest(name, text=text[:20]):
                    self.assertIn(FORMATS[name](text), (True, False))

    def test_decimals_keep_their_digits(self) -> None:
        self.assertEqual([str(number(v)) for v in (1.1, 5, "1.10")], ["1.1", "5", "1.10"])

    def test_only_exact_classes(self) -> None:
        class Text(str): ...

        self.assertIsNone(scalar(Text))
        self.assertIsNone(scalar("builtins.int"))


if __name__ == "__main__":
    unittest.main()
