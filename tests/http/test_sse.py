"""Server-sent events: the standard's own examples, the same events from any cut of the bytes."""

from __future__ import annotations

import random
import unittest
from collections.abc import Iterable

from server.lib.http.sse import Decoder, Event, EventTooLarge, comment, encode

# What the stream says -> events. The first six are examples of the standard (section 9.2.6).
STREAMS: dict[str, tuple[bytes, list[Event]]] = {
    "three lines of data": (b"data: YHOO\ndata: +2\ndata: 10\n\n", [Event("YHOO\n+2\n10")]),
    "four blocks": (
        b": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event",
        [Event("first event", id="1"), Event("second event", id="")],
    ),
    "empty data": (b"data\n\ndata\ndata\n\ndata:", [Event(""), Event("\n")]),
    "one space is dropped": (b"data:test\n\ndata: test\n\n", [Event("test"), Event("test")]),
    "two events by name": (
        b"event: add\ndata: 73857293\n\nevent: remove\ndata: 2153\n\n",
        [Event("73857293", "add"), Event("2153", "remove")],
    ),
    "no data, no event": (b"event: x\nid: 7\n\ndata: a\n\n", [Event("a", id="7")]),
    "CR": (b"data: a\rdata: b\r\rdata: c\r\r", [Event("a\nb"), Event("c")]),
    "CRLF": (b"data: a\r\ndata: b\r\n\r\ndata: c\r\n\r\n", [Event("a\nb"), Event("c")]),
    "line ends mixed": (b"data: a\r\ndata: b\n\rdata: c\r\n\n", [Event("a\nb"), Event("c")]),
    "many empty lines": (b"\n\n\ndata: a\n\n\n\n\ndata: b\n\n\n", [Event("a"), Event("b")]),
    "BOM": (b"\xef\xbb\xbfdata: a\n\n", [Event("a")]),
    "BOM only at the start": (b"data: a\n\n\xef\xbb\xbfdata: b\n\n", [Event("a")]),
    "half a BOM": (b"\xef\xbbdata: a\n\ndata: b\n\n", [Event("b")]),
    "comments": (b":\n: ping\n\n:data: x\ndata: a\n:x\n\n", [Event("a")]),
    "unknown fields": (b"foo: a\nDATA: b\n data: c\ndata : d\ndata: e\n\n", [Event("e")]),
    "colons in data": (b"data: a: b:c\n\ndata::\n\n", [Event("a: b:c"), Event(":")]),
    "id stays, NUL does not": (
        b"id: 1\ndata: a\n\ndata: b\n\nid: x\0\ndata: c\n\nid:\ndata: d\n\n",
        [Event("a", id="1"), Event("b", id="1"), Event("c", id="1"), Event("d")],
    ),
    "UTF-8": ("data: é漢🦆\n\n".encode(), [Event("é漢🦆")]),
    "not UTF-8": (b"data: \xff\xe6\xbc\n\n", [Event("\ufffd\ufffd")]),
    "separators that are not line ends": (
        "data: a\u2028b\x0bc\x85d\n\n".encode(),
        [Event("a\u2028b\x0bc\x85d")],
    ),
    "cut at the end": (b"data: a\n\ndata: b\n", [Event("a")]),
    "a model's stream": (
        b'data: {"x":1}\n\ndata: {"x":2}\n\n: keep\n\ndata: [DONE]\n\n',
        [Event('{"x":1}'), Event('{"x":2}'), Event("[DONE]")],
    ),
}


def decode(pieces: Iterable[bytes]) -> list[Event]:
    decoder = Decoder()
    return [event for piece in pieces for event in decoder.feed(piece)]


class Decoding(unittest.TestCase):
    def test_however_cut(self) -> None:
        for name, (raw, events) in STREAMS.items():
            with self.subTest(name, how="whole"):
                self.assertEqual(decode([raw]), events)
            with self.subTest(name, how="byte by byte, with empty reads"):
                self.assertEqual(
                    decode(p for i in range(len(raw)) for p in (raw[i : i + 1], b"")), events
                )
            for i in range(1, len(raw)):
                with self.subTest(name, cut=i):
                    self.assertEqual(decode([raw[:i], raw[i:]]), events)

    def test_any_bytes_any_cut(self) -> None:
        """Random streams of awkward parts give the same events whole and in random pieces."""
        chance = random.Random(20261121)
        parts = [
            b"data: ", b"data:", b"data", b"event: e", b"id: 1", b"retry: 5", b":", b"\n", b"\n\n",
            b"\r", b"\r\n", b"\r\n\r\n", b" ", b"x", b"\xef\xbb\xbf", b"\xe6", b"\xbc", b"\0", b"",
        ]  # fmt: skip
        for round_ in range(400):
            raw = b"".join(chance.choices(parts, k=40))
            events = decode([raw])
            for _ in range(5):
                marks = sorted(chance.choices(range(len(raw) + 1), k=chance.randrange(1, 12)))
                pieces = [raw[a:b] for a, b in zip([0, *marks], [*marks, len(raw)], strict=True)]
                with self.subTest(round=round_, pieces=pieces):
                    self.assertEqual(decode(pieces), events)

    def test_events_come_at_once(self) -> None:
        """An event is out with the byte that ends it, also after a CR that may be half a CRLF."""
        for raw in (b"data: a\n\n", b"data: a\r\n\r", b"data: a\r\r"):
            with self.subTest(raw=raw):
                decoder = Decoder()
                self.assertEqual(decoder.feed(raw[:-1]), [])
                self.assertEqual(decoder.feed(raw[-1:]), [Event("a")])

    def test_end_gives_the_unfinished_event(self) -> None:
        decoder = Decoder()
        self.assertEqual(decoder.feed(b"data: a\n\ndata: [DONE]"), [Event("a")])
        self.assertEqual(decoder.end(), [Event("[DONE]")])
        self.assertEqual(decoder.end(), [])
        self.assertEqual(Decoder().end(), [])

    def test_retry(self) -> None:
        decoder = Decoder()
        for raw, expected in ((b"retry: 50\n\n", 50), (b"retry: 5s\n\n", 50), (b"retry:\n\n", 50)):
            decoder.feed(raw)
            self.assertEqual(decoder.retry, expected)

    def test_an_event_has_a_limit(self) -> None:
        at, over = b"data: 3456789", b"data: 34567890"
        for end in (b"\n\n", b"\r\n\r\n", b"\r\r"):
            for size in (1, 3, 100):
                with self.subTest(end=end, size=size):
                    decoder = Decoder(max_event=13)
                    events = []
                    for piece in pieces_of((at + end) * 3, size):
                        events += decoder.feed(piece)
                    self.assertEqual(events, [Event("3456789")] * 3)
                    with self.assertRaises(EventTooLarge):
                        for piece in pieces_of(over + end, size):
                            decoder.feed(piece)

    def test_comments_have_the_same_limit(self) -> None:
        decoder = Decoder(max_event=13)
        with self.assertRaises(EventTooLarge):
            for _ in range(20):
                decoder.feed(b": x\n")


def pieces_of(raw: bytes, size: int) -> list[bytes]:
    return [raw[i : i + size] for i in range(0, len(raw), size)]


class Encoding(unittest.TestCase):
    def test_frames(self) -> None:
        for arguments, frame in (
            (("{}",), b"data: {}\n\n"),
            (("{}", "text.delta"), b"event: text.delta\ndata: {}\n\n"),
            (("{}", "e", "run/1"), b"id: run/1\nevent: e\ndata: {}\n\n"),
            (("a\nb\r\nc\rd",), b"data: a\ndata: b\ndata: c\ndata: d\n\n"),
            (("a\rb",), b"data: a\ndata: b\n\n"),
            (("",), b"data: \n\n"),
            (("é\u2028",), "data: é\u2028\n\n".encode()),
        ):
            with self.subTest(arguments=arguments):
                self.assertEqual(encode(*arguments), frame)
        self.assertEqual(comment("ping"), b": ping\n\n")

    def test_round_trip(self) -> None:
        raw = b""
        expected = []
        for data in ("", "a", " a", "a\nb", "\n", "a\n", "é🦆", ":", "data: x"):
            raw += encode(data, "e", "1") + comment("ping")
            expected.append(Event(data, "e", "1"))
        self.assertEqual(decode([raw]), expected)

    def test_nothing_breaks_out_of_its_line(self) -> None:
        for text in ("a\nb", "a\rb", "a\0"):
            with self.subTest(text=text):
                with self.assertRaises(ValueError):
                    encode("", event=text)
                with self.assertRaises(ValueError):
                    encode("", id=text)
                with self.assertRaises(ValueError):
                    comment(text)


if __name__ == "__main__":
    unittest.main()
