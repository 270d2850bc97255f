"""PNGs made smaller: every filter and kind of colour, against pictures whose pixels are known."""

from __future__ import annotations

import random
import struct
import unittest
import zlib
from collections.abc import Sequence
from itertools import pairwise

from server.session import media
from server.tools.builtin.png_scale import CHANNELS, SIGNATURE, ScaleError, made_smaller

from ...tooling.pictures import chunk, gif, png

Rows = list[list[int]]


def paeth(left: int, above: int, corner: int) -> int:
    """As RFC 2083 has it."""
    wanted = left + above - corner
    return min((left, above, corner), key=lambda each: abs(wanted - each))


def encoded(rows: Rows, colour: int, filters: Sequence[int], pieces: int = 1) -> bytes:
    """A PNG of these bytes, row n with filter n, again and again."""
    step = CHANNELS[colour]
    packed = bytearray()
    nothing = [0] * len(rows[0])
    for number, (before, row) in enumerate(pairwise([nothing, *rows])):
        kind = filters[number % len(filters)]
        packed.append(kind)
        for at, value in enumerate(row):
            left = row[at - step] if at >= step else 0
            corner = before[at - step] if at >= step else 0
            above = before[at]
            guesses = (0, left, above, (left + above) // 2, paeth(left, above, corner))
            packed.append((value - guesses[kind % 5]) & 255)
    data = zlib.compress(bytes(packed))
    size = -(-len(data) // pieces)
    head = struct.pack(">IIBBBBB", len(rows[0]) // step, len(rows), 8, colour, 0, 0, 0)
    parts = [chunk(b"IHDR", head)]
    if colour == 3:
        parts += chunk(b"PLTE", bytes(range(192)) * 4), chunk(b"tRNS", b"\x80")
    parts += [chunk(b"IDAT", data[at : at + size]) for at in range(0, len(data), size)]
    return SIGNATURE + b"".join(parts) + chunk(b"IEND", b"")


def decoded(data: bytes) -> tuple[int, int, Rows]:
    """(width, height, rows) of a PNG without filters."""
    width, height, _, colour = struct.unpack_from(">IIBB", data, 16)
    at, packed = 8, b""
    while at < len(data):
        length, kind = struct.unpack_from(">I4s", data, at)
        packed += data[at + 8 : at + 8 + length] if kind == b"IDAT" else b""
        at += 12 + length
    size = width * CHANNELS[colour] + 1
    text = zlib.decompress(packed)
    return width, height, [[*text[at + 1 : at + size]] for at in range(0, len(text), size)]


def noise(width: int, height: int, channels: int) -> Rows:
    source = random.Random(5)
    return [[source.randrange(256) for _ in range(width * channels)] for _ in range(height)]


class Smaller(unittest.TestCase):
    def test_every_filter_and_colour(self) -> None:
        for colour, channels in CHANNELS.items():
            for filters in ((0,), (1,), (2,), (3,), (4,), (4, 1, 0, 3, 2)):
                with self.subTest(colour=colour, filters=filters):
                    rows = noise(13, 9, channels)
                    data = encoded(rows, colour, filters, 3)
                    self.assertEqual(decoded(made_smaller(data, 13)), (13, 9, rows))
                    self.assert_means(decoded(made_smaller(data, 5)), rows, channels, colour)

    def assert_means(
        self, found: tuple[int, int, Rows], rows: Rows, channels: int, colour: int
    ) -> None:
        """Each pixel is that of a square of three by three."""
        width, height, small = found
        self.assertEqual((width, height), (4, 3))
        for y, row in enumerate(small):
            for at, value in enumerate(row):
                x, channel = divmod(at, channels)
                square = [
                    rows[y * 3 + dy][(x * 3 + dx) * channels + channel]
                    for dy in range(3)
                    for dx in range(3)
                ]
                self.assertEqual(value, square[0] if colour == 3 else (sum(square) + 4) // 9)

    def test_what_it_makes_can_be_shown(self) -> None:
        made = made_smaller(encoded(noise(9001, 4, 1), 3, (2,)), 3000)
        self.assertEqual(media.recognise(made)[2:], (2250, 1))
        self.assertIn(b"PLTE", made)
        self.assertIn(b"tRNS", made)

    def test_refused(self) -> None:
        good = encoded(noise(40, 40, 3), 2, (1,))
        deep = good[:24] + b"\x10" + good[25:]
        laced = good[:28] + b"\x01" + good[29:]
        bomb = chunk(b"IHDR", struct.pack(">IIBBBBB", 9_999, 9_999, 8, 2, 0, 0, 0))
        bomb = SIGNATURE + bomb + chunk(b"IDAT", zlib.compress(b"\0" * 5_000_000))
        for name, data, words in (
            ("16 bits", deep, "8 bits a channel"),
            ("interlaced", laced, "8 bits a channel"),
            ("unpacks to gigabytes", bomb, "9999 x 9999 pixels are too many"),
            ("fewer rows than it says", png(3_000, 3_000), "broken"),
            ("narrow", encoded(noise(300, 1, 1), 0, (0,)), "too narrow"),
            ("an unknown filter", encoded(noise(4, 4, 1), 0, (5,)), "broken"),
            ("another format", gif(), "broken"),
            ("nothing", b"", "broken"),
        ):
            with self.subTest(name), self.assertRaisesRegex(ScaleError, words):
                made_smaller(data, 2)
        for end in range(8, len(good) - 20, 37):
            with self.subTest(end=end), self.assertRaises(ScaleError):
                made_smaller(good[:end], 20)
