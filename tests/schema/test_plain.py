"""Python values as JSON, and back by the type they came from."""

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

from server.schema.plain import plain
from server.schema.records import describe
from server.schema.shapes import Shapes


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
        for number in (float("nan"), float("inf")):
            with self.assertRaises(ValueError):
                plain(number)

    def test_shapes_read_it_back(self) -> None:
        for value, _ in VALUES:
            kind: Any = type(value)
            if isinstance(value, bytearray | OrderedDict | Pair) or kind in (set, frozenset, tuple):
                continue
            with self.subTest(value=value):
                shape = Shapes({}, describe).of(kind, "test")
                self.assertEqual(shape.build(plain(value), None), value)


if __name__ == "__main__":
    unittest.main()
