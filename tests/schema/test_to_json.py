"""Python values as JSON, and back by the type they came from, lenient only about spelling."""

from __future__ import annotations

import datetime
import decimal
import enum
import ipaddress
import pathlib
import unittest
import uuid
from collections import OrderedDict, namedtuple
from dataclasses import dataclass, field
from typing import Any

from server.lib.json_schema.generate import describe
from server.lib.json_schema.python_types import Shapes
from server.lib.json_schema.to_json import (
    FORMATS,
    date_time,
    number,
    plain,
    raw_bytes,
    scalar,
    span,
    time_of_day,
)


class Colour(enum.Enum):
    RED = "r"


@dataclass
class Point:
    x: float
    tags: list[str] = field(default_factory=list)


Pair = namedtuple("Pair", "a b")
UTC = datetime.UTC

VALUES: list[tuple[Any, Any]] = [
    (None, None),
    (True, True),
    (Colour.RED, "r"),
    (b"hi", "aGk="),
    (bytearray(b"hi"), "aGk="),
    ((1, [2]), [1, [2]]),
    (Pair(1, 2), [1, 2]),
    ({3, 1, 2}, [1, 2, 3]),
    (frozenset("b"), ["b"]),
    (OrderedDict({1: Colour.RED, False: 2}), {"1": "r", "false": 2}),
    (Point(1.5, ["a"]), {"x": 1.5, "tags": ["a"]}),
    (datetime.datetime(2026, 1, 2, tzinfo=UTC), "2026-01-02T00:00:00+00:00"),
    (datetime.date(2026, 1, 2), "2026-01-02"),
    (datetime.time(1, 2), "01:02:00"),
    (datetime.timedelta(), "PT0S"),
    (datetime.timedelta(days=1, hours=2), "P1DT2H"),
    (datetime.timedelta(minutes=61, microseconds=500), "PT1H1M0.0005S"),
    (-datetime.timedelta(hours=25), "-P1DT1H"),
    (decimal.Decimal("1.10"), "1.10"),
    (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
    (pathlib.PurePosixPath("a/b"), "a/b"),
    (ipaddress.ip_address("::1"), "::1"),
]


class Plain(unittest.TestCase):
    def test_values(self) -> None:
        for value, expected in VALUES:
            with self.subTest(value=value):
                self.assertEqual(plain(value), expected)

    def test_what_has_no_form(self) -> None:
        for value in (object(), Colour, len, {(1, 2): 3}, complex(1), [object()]):
            with self.subTest(value=value), self.assertRaises(TypeError):
                plain(value)
        for bad in (float("nan"), float("inf")):
            with self.assertRaises(ValueError):
                plain(bad)

    def test_shapes_read_it_back(self) -> None:
        for value, _ in VALUES:
            kind: Any = type(value)
            if isinstance(value, bytearray | OrderedDict | Pair) or kind in (set, frozenset, tuple):
                continue
            with self.subTest(value=value):
                shape = Shapes({}, describe).of(kind, "test")
                self.assertEqual(shape.build(plain(value), None), value)


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
