"""Compressed bodies: every way to write them, in every piece; and what is none, or too much."""

from __future__ import annotations

import gzip
import unittest
import zlib

from server.lib.http.client import PIECE, Inflater

TEXT = b"".join(b"data: %d\n\n" % number for number in range(50_000))


def raw(data: bytes) -> bytes:
    compressor = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return compressor.compress(data) + compressor.flush()


PACKED = (("gzip", gzip.compress), ("x-gzip", gzip.compress), ("deflate", zlib.compress))
WAYS = (*PACKED, ("deflate", raw))


def inflate(coding: str, data: bytes, step: int, limit: int = 1 << 30) -> bytes:
    inflater = Inflater(coding, limit)
    pieces: list[bytes] = []
    for start in range(0, len(data), step):
        pieces += inflater.feed(data[start : start + step])
    assert all(0 < len(piece) <= PIECE for piece in pieces)
    return b"".join(pieces)


class Inflate(unittest.TestCase):
    def test_every_way_in_every_piece(self) -> None:
        for coding, pack in WAYS:
            for text in (b"", b"a", TEXT, bytes(PIECE), bytes(4 * PIECE + 1)):
                for step in (1, 7, 1 << 20) if len(text) < 1000 else (997, 1 << 20):
                    with self.subTest(coding, size=len(text), step=step):
                        self.assertEqual(inflate(coding, pack(text), step), text)

    def test_each_flush_arrives(self) -> None:
        """Of a stream, whose end is far."""
        compressor = zlib.compressobj(wbits=31)
        inflater = Inflater("gzip", 1000)
        for word in (b"data: 1\n\n", b"data: 2\n\n"):
            sent = compressor.compress(word) + compressor.flush(zlib.Z_SYNC_FLUSH)
            self.assertEqual(b"".join(inflater.feed(sent)), word)

    def test_what_broke_off(self) -> None:
        for coding, pack in WAYS:
            inflater, packed = Inflater(coding, 1000), pack(b"some words")
            self.assertFalse(inflater.is_broken_off)
            list(inflater.feed(packed[:-1]))
            self.assertTrue(inflater.is_broken_off, coding)
            list(inflater.feed(packed[-1:]))
            self.assertFalse(inflater.is_broken_off, coding)

    def test_what_follows_the_end_is_nothing(self) -> None:
        for coding, pack in WAYS:
            inflater = Inflater(coding, 1000)
            self.assertEqual(b"".join(inflater.feed(pack(b"a") + b"junk")), b"a", coding)
            self.assertEqual(list(inflater.feed(b"more")), [])

    def test_what_cannot_be_read(self) -> None:
        for coding, data, words in (
            ("gzip", b"data: 1\n\n", "is not gzip"),
            ("deflate", b"\xff\xff\xff", "is not deflate"),
            ("br", b"\x0b\x00", r"\(br\)"),
            ("gzip, gzip", gzip.compress(b"a"), r"\(gzip, gzip\)"),
        ):
            with self.subTest(coding), self.assertRaisesRegex(ValueError, words):
                inflate(coding, data, 100)

    def test_too_much(self) -> None:
        bomb = gzip.compress(bytes(50 << 20))
        inflater = Inflater("gzip", 10 * PIECE)
        came = 0
        with self.assertRaisesRegex(ValueError, "too much"):
            for piece in inflater.feed(bomb):
                came += len(piece)
        self.assertEqual(came, 10 * PIECE)


if __name__ == "__main__":
    unittest.main()
