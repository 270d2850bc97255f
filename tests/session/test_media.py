"""Files that a model may be shown, recognised by their bytes, and those that hostile peers send."""

from __future__ import annotations

import base64
import time
import unittest
from typing import Any

from server.session import media

from ..tooling import pictures

GOOD: dict[str, tuple[bytes, str, tuple[int, int]]] = {
    "png": (pictures.png(), "image/png", (3, 2)),
    "png with words": (pictures.png(noise=b"a" * 500), "image/png", (3, 2)),
    "jpeg": (pictures.jpeg(640, 480), "image/jpeg", (640, 480)),
    "gif": (pictures.gif(7, 9), "image/gif", (7, 9)),
    "webp": (pictures.webp(30, 40), "image/webp", (30, 40)),
    "webp lossless": (pictures.webp(30, 40, "lossless"), "image/webp", (30, 40)),
    "webp extended": (pictures.webp(30, 40, "extended"), "image/webp", (30, 40)),
    "the largest": (pictures.png(8000, 8000), "image/png", (8000, 8000)),
    "pdf": (pictures.PDF, "application/pdf", (0, 0)),
    "wav": (pictures.wav(), "audio/wav", (0, 0)),
    "mp3": (b"ID3\x04" + b"\0" * 20, "audio/mpeg", (0, 0)),
    "flac": (b"fLaC" + b"\0" * 20, "audio/flac", (0, 0)),
    "opus": (b"OggS" + b"\0" * 24 + b"OpusHead", "audio/ogg", (0, 0)),
}
SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
EMPTY = pictures.chunk(b"IDAT", b"")
CRC = pictures.png()[:30] + b"\xff" + pictures.png()[31:]
PIXELS = pictures.png()[-16:-12], b"wrng"  # the checksum before IEND


def with_chunk(kind: bytes) -> bytes:
    """A PNG with a further chunk behind its head, the checksum of which is wrong."""
    made = pictures.png()
    return made[:33] + pictures.chunk(kind, b"Title\0x")[:-1] + b"?" + made[33:]


BAD: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "neither"),
    "one byte": (b"\xff", "neither"),
    "text": (b"hello", "neither"),
    "svg": (SVG, "neither"),
    "html": (b"<!doctype html><script>", "neither"),
    "bmp": (b"BM" + b"\0" * 60, "neither"),
    "too wide": (pictures.png(8001, 10), "8001 x 10 pixels"),
    "a bomb": (pictures.png(0xFFFFFFFF, 0xFFFFFFFF), "make it smaller"),
    "no width": (pictures.png(0, 10), "0 x 10"),
    "too many bytes": (pictures.png(noise=b"a" * media.MAX_BYTES), "3.75 MB can be shown"),
    "a wrong checksum": (CRC, "checksum"),
    "a wrong checksum of the pixels": (pictures.png().replace(*PIXELS), "checksum"),
    "a kind that is no name": (with_chunk(b"\xffEXt"), "checksum"),
    "an empty png": (b"\x89PNG\r\n\x1a\n" + pictures.chunk(b"IEND", b""), "broken"),
    "a length beyond the end": (pictures.png()[:33] + b"\xff" * 8, "cut off"),
    "jpeg of marks": (b"\xff\xd8" + b"\xff" * 1000, "cut off"),
    "jpeg with an empty segment": (b"\xff\xd8\xff\xe0\x00\x00" + b"\0" * 50, "cut off"),
    "jpeg without a frame": (b"\xff\xd8\xff\xd9", "0 x 0"),
    "gif of nothing": (b"GIF89a" + b"\1\0\1\0" + b"\0" * 5, "cut off"),
    "webp of another kind": (b"RIFF\x10\0\0\0WEBPxxxx" + b"\0" * 12, "cut off"),
    "pdf without an end": (pictures.PDF[:20], "cut off"),
}


class Recognised(unittest.TestCase):
    def test_by_bytes(self) -> None:
        for name, (data, kind, size) in GOOD.items():
            with self.subTest(name):
                found = media.recognise(data)
                self.assertEqual(found, (kind, data, *size))

    def test_a_part_that_no_picture_needs_may_be_broken(self) -> None:
        for kind in (b"tEXt", b"zTXt", b"iCCP", b"eXIf", b"tRNS"):
            with self.subTest(kind):
                found = media.recognise(with_chunk(kind))
                self.assertEqual(found, ("image/png", pictures.png(), 3, 2))

    def test_refused_in_words(self) -> None:
        for name, (data, words) in BAD.items():
            with self.subTest(name), self.assertRaisesRegex(media.MediaError, words):
                media.recognise(data)

    def test_cut_anywhere(self) -> None:
        for name, (data, kind, _) in GOOD.items():
            if kind in media.PICTURES:
                for end in range(len(data)):
                    with self.subTest(name, end=end), self.assertRaises(media.MediaError):
                        media.recognise(data[:end])

    def test_what_stands_behind_the_end_is_cut_off(self) -> None:
        for name, (data, kind, _) in GOOD.items():
            if kind in media.PICTURES:
                for more in (b"PK\x03\x04" + b"\0" * 40, b"<script>alert(1)</script>", b"\0"):
                    with self.subTest(name):
                        self.assertEqual(media.recognise(data + more).data, data)

    def test_hostile_files_take_no_time(self) -> None:
        most = media.MAX_BYTES
        block = b"\x01\x00"
        head = b"GIF89a\1\0\1\0\0\0\0\x21\xf9"
        for name, data in {
            "png of empty chunks": pictures.png()[:33]
            + pictures.chunk(b"IDAT", b"") * (most // 12),
            "jpeg of small segments": b"\xff\xd8" + b"\xff\xe0\x00\x02" * (most // 4),
            "jpeg of stuffed bytes": pictures.jpeg()[:-2] + b"\xff\x00" * (most // 2 - 100),
            "gif of small blocks": head + block * (most // 2 - 50),
            "gif of extensions": head[:-2] + b"\x21\x00\x00" * (most // 3 - 50),
        }.items():
            with self.subTest(name):
                began = time.process_time()
                with self.assertRaises(media.MediaError):
                    media.recognise(data[:most])
                self.assertLess(time.process_time() - began, 1.5)


def item(data: bytes, **more: Any) -> dict[str, Any]:
    return {"data": base64.b64encode(data).decode(), **more}


class Items(unittest.TestCase):
    def test_what_a_program_sent(self) -> None:
        cases: dict[str, tuple[dict[str, Any], str]] = {
            "not base64": (item(b"") | {"data": "%%%"}, "no base64"),
            "not ascii": ({"data": "é" * 8}, "no base64"),
            "no data": ({"name": "a"}, "a is not shown: it has no data"),
            "a number": ({"data": 5}, "no data"),
            "not a picture": (item(SVG, name="x.png"), "x.png is not shown: it is neither"),
        }
        for name, (given, words) in cases.items():
            with self.subTest(name):
                found, wrong = media.check_items([given], media.MAX_SESSION)
                self.assertEqual(found, [])
                self.assertIn(words, wrong[0])

    def test_a_good_one(self) -> None:
        given = item(pictures.png(), name="a\n]b", path="d/a.png", media_type="text/html", bytes=-1)
        (found,), wrong = media.check_items([given], media.MAX_SESSION)
        self.assertEqual(wrong, [])
        wanted = {"media_type": "image/png", "name": "a_]b", "path": "d/a.png", "width": 3}
        size = len(pictures.png())
        self.assertEqual(found, {**wanted, "height": 2, "bytes": size, "data": given["data"]})
        self.assertEqual(
            media.describe(found), f"picture a_]b: image/png, 3 x 2 pixels, {size} bytes"
        )

    def test_number_and_size_are_limited(self) -> None:
        found, wrong = media.check_items([item(pictures.png())] * 50, media.MAX_SESSION)
        self.assertEqual(len(found), media.MAX_ITEMS)
        self.assertIn("at most 8", wrong[0])
        one = item(pictures.png())
        found, wrong = media.check_items([one, one], len(one["data"]))
        self.assertEqual((len(found), len(wrong)), (1, 1))
        self.assertIn("6 MB in a result and 16 in a session", wrong[0])

    def test_the_room_of_a_session(self) -> None:
        made = [{"media_type": "image/png", "data": "a" * 1_000_000}]
        message = {"role": "tool", "result": {"media": made}}
        self.assertEqual(media.room_left([message] * 3), media.MAX_SESSION - 3_000_000)
        self.assertEqual(media.room_left([message] * 30), 0)

    def test_of_a_document_that_anybody_wrote(self) -> None:
        good = {"media_type": "image/png", "data": "aaaa"}
        given: Any
        for given in (None, [], 5, "x", {"a": 1}, [None, 5, {}], [{"data": 1}], 
                      [{**good, "data": 1}], [{**good, "media_type": "image/svg+xml"}],
                      [{**good, "media_type": []}]):  # fmt: skip
            with self.subTest(given):
                self.assertEqual(media.of_message({"role": "tool", "result": {"media": given}}), [])
        self.assertEqual(media.of_message({"result": {"media": [5, good]}}), [good])
        self.assertEqual(media.of_message({"result": None}), [])


class Sizes(unittest.TestCase):
    def test_of_a_part(self) -> None:
        for name, (data, kind, size) in GOOD.items():
            if size != (0, 0):
                url = f"data:{kind};base64,{base64.b64encode(data).decode()}"
                with self.subTest(name):
                    part = {"type": "image_url", "image_url": {"url": url}}
                    self.assertEqual(media.size_of_part(part), size)

    def test_unknown(self) -> None:
        for url in ("https://a/b.png", "data:image/png;base64,", "data:image/png;base64,iVBOR",
                    "data:image/jpeg;base64,/9j/4AAQ", "data:;base64,é", "", None, 5):  # fmt: skip
            with self.subTest(url):
                part = {"type": "image_url", "image_url": {"url": url}}
                self.assertIsNone(media.size_of_part(part))
        self.assertIsNone(media.size_of_part({"type": "file"}))
