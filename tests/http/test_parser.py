"""Heads and bodies: every accepted message cut everywhere, and a table of what is refused."""

from __future__ import annotations

import itertools
import random
import unittest
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from server.lib.http.parser import (
    CHUNKED,
    NO_BODY,
    UNTIL_CLOSE,
    Body,
    Buffer,
    Framing,
    MessageLimits,
    ProtocolError,
    RequestHead,
    ResponseHead,
    TruncatedError,
    advance,
    parse_request,
    parse_response,
)

LIMITS = MessageLimits()
SMALL = MessageLimits(line=64, head=256, fields=5, body=20, chunk_line=16, chunk_extensions=20)
HOST = b"Host: a\r\n"
POST = b"POST / HTTP/1.1\r\n" + HOST
TE = POST + b"Transfer-Encoding: chunked\r\n\r\n"


def cuts(raw: bytes, trailing: bytes = b"") -> Iterator[list[bytes]]:
    """The same bytes whole, byte by byte, in every two pieces, and with more bytes behind."""
    yield [raw]
    yield [raw[i : i + 1] for i in range(len(raw))]
    if len(raw) < 2000:
        yield from ([raw[:i], raw[i:]] for i in range(1, len(raw)))
    if trailing:
        yield [raw, trailing]
        yield [raw + trailing]


def read_body(
    buffer: Buffer, framing: Framing, limits: MessageLimits, rest: Iterator[bytes]
) -> bytes:
    body = Body(buffer, framing, limits)
    out = body.pull()
    while not body.done:
        piece = next(rest, None)
        if piece is None:
            buffer.feed_eof()
        else:
            buffer.feed(piece)
        out += body.pull()
    return out


def read_request(
    pieces: Iterable[bytes], limits: MessageLimits = LIMITS
) -> tuple[RequestHead, bytes, bytes]:
    """One request from pieces and then EOF: head, body, what is left over."""
    buffer, rest = Buffer(), iter(pieces)
    steps = parse_request(buffer, limits)
    while (request := advance(steps)) is None:
        feed_next(buffer, rest)
    body = read_body(buffer, request.framing, limits, rest)
    return request, body, bytes(buffer.data) + b"".join(rest)


def read_response(
    pieces: Iterable[bytes], method: str = "GET", limits: MessageLimits = LIMITS
) -> tuple[ResponseHead, bytes, bytes]:
    buffer, rest = Buffer(), iter(pieces)
    steps = parse_response(buffer, method, limits)
    while (response := advance(steps)) is None:
        feed_next(buffer, rest)
    body = read_body(buffer, response.framing, limits, rest)
    return response, body, bytes(buffer.data) + b"".join(rest)


def feed_next(buffer: Buffer, rest: Iterator[bytes]) -> None:
    piece = next(rest, None)
    if piece is None:
        buffer.feed_eof()
    else:
        buffer.feed(piece)


@dataclass(frozen=True)
class Good:
    raw: bytes
    method: str = "GET"
    path: str = "/"
    query: str = ""
    headers: dict[str, str] = field(default_factory=lambda: {"host": "a"})
    body: bytes = b""
    version: str = "1.1"
    keep_alive: bool = True


REQUESTS = {
    "plain": Good(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"),
    "one empty line before": Good(b"\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"),
    "query kept as sent": Good(
        b"GET /a%20b?x=%2F&y=|{} HTTP/1.1\r\nHost: a\r\n\r\n", path="/a%20b", query="x=%2F&y=|{}"
    ),
    "names fold, values keep": Good(
        b"GET / HTTP/1.1\r\nHOST:a\r\nX-Tab: \t B c \t\r\nx-empty:\r\nX-Tab: d\r\n\r\n",
        headers={"host": "a", "x-tab": "B c, d", "x-empty": ""},
    ),
    "obs-text in a value": Good(
        b"GET / HTTP/1.1\r\nHost: a\r\nX: \xe9\xff\r\n\r\n", headers={"host": "a", "x": "\xe9\xff"}
    ),
    "1.0 without Host": Good(
        b"GET / HTTP/1.0\r\n\r\n", headers={}, version="1.0", keep_alive=False
    ),
    "1.0 keep-alive": Good(
        b"GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n",
        headers={"connection": "Keep-Alive"},
        version="1.0",
    ),
    "1.2 is read as 1.1": Good(b"GET / HTTP/1.2\r\nHost: a\r\n\r\n"),
    "close among options": Good(
        b"GET / HTTP/1.1\r\nHost: a\r\nConnection: x, Close\r\n\r\n",
        headers={"host": "a", "connection": "x, Close"},
        keep_alive=False,
    ),
    "absolute target": Good(
        b"GET http://A:80/p?q HTTP/1.1\r\nHost: a\r\n\r\n",
        path="/p",
        query="q",
        headers={"host": "A:80"},
    ),
    "absolute target without a path": Good(
        b"GET http://a?q HTTP/1.1\r\nHost: a:80\r\n\r\n", query="q", headers={"host": "a"}
    ),
    "asterisk": Good(b"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", method="OPTIONS", path="*"),
    "IPv6 Host": Good(
        b"GET / HTTP/1.1\r\nHost: [::1]:12345\r\n\r\n", headers={"host": "[::1]:12345"}
    ),
    "length": Good(
        POST + b"Content-Length: 5\r\n\r\nhello",
        method="POST",
        headers={"host": "a", "content-length": "5"},
        body=b"hello",
    ),
    "length repeated alike": Good(
        POST + b"Content-Length: 5\r\nContent-Length: 5,5\r\n\r\nhello",
        method="POST",
        headers={"host": "a", "content-length": "5, 5,5"},
        body=b"hello",
    ),
    "chunked": Good(
        TE + b'5\r\nhello\r\n00A; x="y"\r\n 0123456 \n\r\n0\r\n\r\n',
        method="POST",
        headers={"host": "a", "transfer-encoding": "chunked"},
        body=b"hello 0123456 \n",
    ),
    "chunk extensions": Good(
        TE + b'1;a\r\nx\r\n1 ; a = b\t;c="\\"\xe9;"\r\ny\r\n1;a=1;b=""\r\nz\r\n0;e\r\n\r\n',
        method="POST",
        headers={"host": "a", "transfer-encoding": "chunked"},
        body=b"xyz",
    ),
    "chunks that hold framing": Good(
        TE + b"4\r\n\r\n\r\n\r\n1\r\n0\r\n5\r\n0\r\n\r\n\r\n0\r\n\r\n",
        method="POST",
        headers={"host": "a", "transfer-encoding": "chunked"},
        body=b"\r\n\r\n00\r\n\r\n",
    ),
    "trailers are dropped": Good(
        TE + b"1\r\na\r\n0\r\nAuthorization: Bearer x\r\nHost: b\r\n\r\n",
        method="POST",
        headers={"host": "a", "transfer-encoding": "chunked"},
        body=b"a",
    ),
    "6 KB": Good(
        POST + b"Content-Length: 6500\r\n\r\n" + b"x" * 6500,
        method="POST",
        headers={"host": "a", "content-length": "6500"},
        body=b"x" * 6500,
    ),
}

REFUSED = {
    "no version": (b"GET /\r\n\r\n", 400),
    "HTTP/0.9": (b"GET / HTTP/0.9\r\n\r\n", 400),
    "HTTP/2 preface": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
    "HTTP/3.0": (b"GET / HTTP/3.0\r\n\r\n", 505),
    "lower-case version": (b"GET / http/1.1\r\n\r\n", 400),
    "long version": (b"GET / HTTP/1.10\r\n\r\n", 400),
    "TLS hello": (b"\x16\x03\x01\x02\x00", 400),
    "two spaces": (b"GET  / HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    "tab": (b"GET\t/ HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    "space at the end": (b"GET / HTTP/1.1 \r\n" + HOST + b"\r\n", 400),
    "space at the start": (b" GET / HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    "space in the target": (b"GET /a b HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    "raw UTF-8 in the target": ("GET /é HTTP/1.1\r\n".encode() + HOST + b"\r\n", 400),
    "NUL in the target": (b"GET /\0 HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    "fragment": (b"GET /#x HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    "relative target": (b"GET x HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    "asterisk for GET": (b"GET * HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    "other scheme": (b"GET ftp://a/ HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    "unknown method": (b"BREW / HTTP/1.1\r\n" + HOST + b"\r\n", 501),
    "lower-case method": (b"get / HTTP/1.1\r\n" + HOST + b"\r\n", 501),
    "CONNECT": (b"CONNECT a:443 HTTP/1.1\r\n" + HOST + b"\r\n", 501),
    "method with a separator": (b"GE(T / HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    "bare LF after the request line": (b"GET / HTTP/1.1\n" + HOST + b"\r\n", 400),
    "bare LF after a field": (b"GET / HTTP/1.1\r\nHost: a\n\r\n", 400),
    "bare LF as the end": (b"GET / HTTP/1.1\r\nHost: a\r\n\n", 400),
    "bare LF first": (b"\nGET / HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    "two empty lines first": (b"\r\n\r\nGET / HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    "CR in the request line": (b"GET /\r HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    "CR in a value": (b"GET / HTTP/1.1\r\nHost: a\r\nX: b\rc\r\n\r\n", 400),
    "two CRs": (b"GET / HTTP/1.1\r\nHost: a\r\r\n\r\n", 400),
    "NUL in a value": (b"GET / HTTP/1.1\r\nHost: a\r\nX: \0\r\n\r\n", 400),
    "DEL in a value": (b"GET / HTTP/1.1\r\nHost: a\r\nX: \x7f\r\n\r\n", 400),
    "space before the colon": (b"GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400),
    "space in a name": (b"GET / HTTP/1.1\r\nHost: a\r\nX Y: a\r\n\r\n", 400),
    "empty name": (b"GET / HTTP/1.1\r\nHost: a\r\n: a\r\n\r\n", 400),
    "no colon": (b"GET / HTTP/1.1\r\nHost: a\r\nX\r\n\r\n", 400),
    "obs-fold": (b"GET / HTTP/1.1\r\nHost: a\r\nX: b\r\n c\r\n\r\n", 400),
    "fold before any field": (b"GET / HTTP/1.1\r\n Host: a\r\n\r\n", 400),
    "8-bit name": (b"GET / HTTP/1.1\r\nHost: a\r\nX\xe9: b\r\n\r\n", 400),
    "no Host": (b"GET / HTTP/1.1\r\n\r\n", 400),
    "two Hosts": (b"GET / HTTP/1.1\r\nHost: a\r\nhost: a\r\n\r\n", 400),
    "two Hosts on 1.0": (b"GET / HTTP/1.0\r\nHost: a\r\nhost: a\r\n\r\n", 400),
    "Host with a list": (b"GET / HTTP/1.1\r\nHost: a, b\r\n\r\n", 400),
    "empty Host": (b"GET / HTTP/1.1\r\nHost:\r\n\r\n", 400),
    "Host with a path": (b"GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", 400),
    "Host with a user": (b"GET / HTTP/1.1\r\nHost: u@a\r\n\r\n", 400),
    "Host with a huge port": (b"GET / HTTP/1.1\r\nHost: a:65536\r\n\r\n", 400),
    "Host with a bad port": (b"GET / HTTP/1.1\r\nHost: a:x\r\n\r\n", 400),
    "Host with a bad address": (b"GET / HTTP/1.1\r\nHost: [:::1]\r\n\r\n", 400),
    "Host too long": (b"GET / HTTP/1.1\r\nHost: " + b"a" * 256 + b"\r\n\r\n", 400),
    "target disagrees": (b"GET http://b/ HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    "target's port disagrees": (b"GET https://a/ HTTP/1.1\r\nHost: a:80\r\n\r\n", 400),
    "target with a user": (b"GET http://u@a/ HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    "target without a host": (b"GET http:/// HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    "length and chunked": (
        POST + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        400,
    ),
    "lengths differ": (POST + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!", 400),
    "length list differs": (POST + b"Content-Length: 5, 6\r\n\r\nhello!", 400),
    "length list with a gap": (POST + b"Content-Length: 5,\r\n\r\nhello", 400),
    "length with a plus": (POST + b"Content-Length: +5\r\n\r\nhello", 400),
    "length with a minus": (POST + b"Content-Length: -5\r\n\r\nhello", 400),
    "length in hex": (POST + b"Content-Length: 0x5\r\n\r\nhello", 400),
    "length with an underscore": (POST + b"Content-Length: 1_0\r\n\r\nhellohello", 400),
    "length blank": (POST + b"Content-Length: \r\n\r\n", 400),
    "length with a space": (POST + b"Content-Length: 1 0\r\n\r\nhellohello", 400),
    "length of other digits": (POST + b"Content-Length: \xb2\r\n\r\nhi", 400),
    "length of 30 digits": (POST + b"Content-Length: " + b"9" * 30 + b"\r\n\r\n", 413),
    "length of 5,000 digits": (POST + b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n", 413),
    "coding unknown": (POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501),
    "chunked not last": (POST + b"Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n", 400),
    "chunked twice": (POST + b"Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n", 400),
    "chunked in two lines": (
        POST + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        400,
    ),
    "identity": (POST + b"Transfer-Encoding: identity\r\n\r\n", 400),
    "coding blank": (POST + b"Transfer-Encoding:\r\n\r\n", 400),
    "coding with a parameter": (POST + b"Transfer-Encoding: chunked;q=1\r\n\r\n0\r\n\r\n", 400),
    "coding with a vertical tab": (POST + b"Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n", 400),
    "chunked on 1.0": (b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    "chunk size blank": (TE + b"\r\nhello\r\n0\r\n\r\n", 400),
    "chunk size with a minus": (TE + b"-5\r\nhello\r\n0\r\n\r\n", 400),
    "chunk size with 0x": (TE + b"0x5\r\nhello\r\n0\r\n\r\n", 400),
    "chunk size with an underscore": (TE + b"0_5\r\nhello\r\n0\r\n\r\n", 400),
    "chunk size with a space": (TE + b"5 \r\nhello\r\n0\r\n\r\n", 400),
    "chunk size after a space": (TE + b" 5\r\nhello\r\n0\r\n\r\n", 400),
    "chunk size of 17 digits": (TE + b"00000000000000005\r\nhello\r\n0\r\n\r\n", 400),
    "chunk size beyond the limit": (TE + b"FFFFFFFFFFFFFFFF\r\nhello", 413),
    "chunk line ends in LF": (TE + b"5\nhello\r\n0\r\n\r\n", 400),
    "chunk ends in LF": (TE + b"5\r\nhello\n0\r\n\r\n", 400),
    "chunk too long": (TE + b"5\r\nhello!\r\n0\r\n\r\n", 400),
    "chunk too short": (TE + b"6\r\nhello\r\n0\r\n\r\n", 400),
    "LF in an extension": (TE + b"5;a\nb\r\nhello\r\n0\r\n\r\n", 400),
    "CR in an extension": (TE + b"5;a\rb\r\nhello\r\n0\r\n\r\n", 400),
    **{
        f"chunk extension {each.decode('latin-1')}": (
            TE + b"5" + each + b"\r\nhello\r\n0\r\n\r\n",
            400,
        )
        for each in (
            *(b";", b"; ", b";;", b";a;", b";a ", b";=x", b";a=", b";a=;b", b";a=b=c", b";a b"),
            *(b";bad[=x", b";a=x[", b';a="', b';a="x', b';a="x"y', b';a="\\"', b';"a"=b', b";\xe9"),
        )
    },
    "chunk extension of the last chunk": (TE + b"5\r\nhello\r\n0;\r\n\r\n", 400),
    "bad trailer": (TE + b"0\r\nno colon\r\n\r\n", 400),
    "chunk line too long": (TE + b"1;" + b"x" * 256 + b"\r\na\r\n0\r\n\r\n", 400),
    "extensions too long": (TE + (b"1;" + b"x" * 200 + b"\r\na\r\n") * 90 + b"0\r\n\r\n", 400),
    "trailers too long": (TE + b"0\r\n" + b"X: %s\r\n" % (b"x" * 1000) * 5 + b"\r\n", 431),
    "request line too long": (b"GET /" + b"a" * 16_400 + b" HTTP/1.1\r\n" + HOST + b"\r\n", 414),
    "request line without an end": (b"G" * 17_000, 414),
    "too long, and no request from its first byte on": (b"\x16\x03\x01" + b"a" * 17_000, 400),
    "field too long": (POST + b"X: " + b"a" * 33_000, 431),
    "head too long": (POST + b"X: %s\r\n" % (b"a" * 8000) * 5 + b"\r\n", 431),
    "too many fields": (b"GET / HTTP/1.1\r\n" + HOST + b"X: a\r\n" * 100 + b"\r\n", 431),
}

TRUNCATED = {
    "inside the request line": b"GET / HT",
    "inside a field": b"GET / HTTP/1.1\r\nHos",
    "inside a length body": POST + b"Content-Length: 5\r\n\r\nhell",
    "inside a chunk line": TE + b"5",
    "inside a chunk": TE + b"5\r\nhell",
    "before a chunk's CRLF": TE + b"5\r\nhello\r",
    "before the last chunk": TE + b"5\r\nhello\r\n",
    "inside the trailers": TE + b"0\r\n",
}


class Requests(unittest.TestCase):
    def test_accepted_however_cut(self) -> None:
        for name, case in REQUESTS.items():
            for pieces in cuts(case.raw, b"GET /next"):
                with self.subTest(name, pieces=len(pieces), first=len(pieces[0])):
                    request, body, left = read_request(pieces)
                    self.assertEqual(
                        (request.method, request.path, request.query, request.version),
                        (case.method, case.path, case.query, case.version),
                    )
                    self.assertEqual(request.headers, case.headers)
                    self.assertEqual(request.keep_alive, case.keep_alive)
                    self.assertEqual(body, case.body)
                    self.assertEqual(left, b"".join(pieces)[len(case.raw) :])

    def test_refused_however_cut(self) -> None:
        for name, (raw, status) in REFUSED.items():
            for pieces in cuts(raw, b"GET / HTTP/1.1\r\n"):
                with self.subTest(name, pieces=len(pieces), first=len(pieces[0])):
                    with self.assertRaises(ProtocolError) as caught:
                        read_request(pieces)
                    self.assertEqual(caught.exception.status, status)
                    self.assertNotIsInstance(caught.exception, TruncatedError)

    def test_truncated(self) -> None:
        for name, raw in TRUNCATED.items():
            for pieces in cuts(raw):
                with self.subTest(name), self.assertRaises(TruncatedError):
                    read_request(pieces)

    def test_refused_before_the_peer_is_done(self) -> None:
        """What can only be wrong is refused at once, not at the deadline."""
        for raw in (
            b"\x16",
            b" ",
            b"\0",
            b"GET / HTTP/1.1\n",
            TE + b"5\r\nhelloX.",
            TE + b"-1\r\n",
        ):
            with self.subTest(raw=raw):
                buffer = Buffer()
                buffer.feed(raw)
                with self.assertRaises(ProtocolError):
                    request = advance(parse_request(buffer, LIMITS))
                    assert request is not None
                    Body(buffer, request.framing, LIMITS).pull()

    def test_limits_to_the_byte(self) -> None:
        line = b"GET /%s HTTP/1.1"
        at = line % (b"a" * (SMALL.line - len(line) + 2))
        over = line % (b"a" * (SMALL.line - len(line) + 3))
        fields = HOST + b"X: a\r\n" * (SMALL.fields - 1) + b"\r\n"
        large = POST + b"X: " + b"x" * (SMALL.head - len(POST) - 5) + b"\r\n"
        read = POST + b"Content-Length: 20\r\n\r\n" + b"x" * 20
        for good in (
            at + b"\r\n" + fields,
            large + b"\r\n",
            read,
            TE + b"14\r\n" + b"x" * 20 + b"\r\n0\r\n\r\n",
        ):
            for pieces in cuts(good):
                read_request(pieces, SMALL)
        for bad, status in (
            (over + b"\r\n" + fields, 414),
            (at + b"\r\n" + b"X: a\r\n" + fields, 431),
            (large.replace(b"X: ", b"X: x") + b"\r\n", 431),
            (POST + b"X: " + b"x" * (SMALL.head - len(POST) - 1), 431),
            (POST + b"Content-Length: 21\r\n\r\n", 413),
            (TE + b"a\r\n0123456789\r\nb\r\n", 413),
            (TE + b"1;34567890123456\r\na\r\n", 400),
            (TE + b"1;345678901234\r\na\r\n1;34567890\r\na\r\n0\r\n\r\n", 400),
        ):
            for pieces in cuts(bad):
                with self.subTest(bad=bad), self.assertRaises(ProtocolError) as caught:
                    read_request(pieces, SMALL)
                self.assertEqual(caught.exception.status, status)

    def test_pipelined(self) -> None:
        raw = b"".join(case.raw for case in REQUESTS.values())
        for pieces in ([raw], [raw[i : i + 1] for i in range(len(raw))]):
            rest = b"".join(pieces)
            for case in REQUESTS.values():
                request, body, rest = read_request([rest])
                self.assertEqual((request.method, body), (case.method, case.body))
            self.assertEqual(rest, b"")


class Mutations(unittest.TestCase):
    """What is wrong with a message does not depend on how its bytes were cut."""

    ROUNDS = 600

    def outcome(self, pieces: Iterable[bytes]) -> object:
        try:
            return read_request(pieces)
        except TruncatedError:
            return "truncated"
        except ProtocolError as error:
            return error.status

    def test_same_outcome_however_cut(self) -> None:
        chance = random.Random(20261121)
        seeds = [case.raw for case in REQUESTS.values() if len(case.raw) < 300]
        parts = [b"\r\n", b"\r", b"\n", b" ", b"\t", b":", b",", b"\0", b"0", b"f", b";", b"\xe9"]
        parts += [b"Content-Length: 3\r\n", b"Transfer-Encoding: chunked\r\n", b"Host: a\r\n"]
        outcomes = set()
        for round_ in range(self.ROUNDS):
            raw = bytearray(chance.choice(seeds))
            for _ in range(chance.randrange(1, 4)):
                at = chance.randrange(len(raw))
                raw[at : at + chance.randrange(2)] = chance.choice([b"", *parts])
            expected = self.outcome([bytes(raw)])
            outcomes.add(expected if isinstance(expected, str | int) else "read")
            marks = sorted(chance.choices(range(len(raw) + 1), k=5))
            cut = [bytes(raw[a:b]) for a, b in itertools.pairwise([0, *marks, len(raw)])]
            with self.subTest(round=round_, raw=bytes(raw)):
                self.assertEqual(self.outcome(cut), expected)
                self.assertEqual(self.outcome(bytes([byte]) for byte in raw), expected)
        self.assertLessEqual({"read", "truncated", 400, 501}, outcomes)


RESPONSES: dict[str, tuple[bytes, str, int, dict[str, str], bytes, bool]] = {
    "length": (
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi",
        "GET", 200, {"content-length": "2"}, b"hi", True,
    ),
    "no reason": (b"HTTP/1.1 204\r\n\r\n", "GET", 204, {}, b"", True),
    "empty reason": (b"HTTP/1.1 304 \r\nContent-Length: 9\r\n\r\n", "GET", 304,
                     {"content-length": "9"}, b"", True),
    "reason in UTF-8": ("HTTP/1.1 429 Überlast\r\nContent-Length: 0\r\n\r\n".encode(), "POST", 429,
                        {"content-length": "0"}, b"", True),
    "HEAD": (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", "HEAD", 200,
             {"content-length": "9"}, b"", True),
    "interim first": (
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: x\r\n\r\n"
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi",
        "POST", 200, {"content-length": "2"}, b"hi", True,
    ),
    "chunked": (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n2\r\nhi\r\n1\r\n!\r\n0\r\n\r\n",
        "GET", 200, {"transfer-encoding": "Chunked"}, b"hi!", True,
    ),
    "chunked wins over length": (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 9\r\n\r\n"
        b"2\r\nhi\r\n0\r\n\r\n",
        "GET", 200, {"transfer-encoding": "chunked", "content-length": "9"}, b"hi", False,
    ),
    "told to close": (
        b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi",
        "GET", 200, {"connection": "close", "content-length": "2"}, b"hi", False,
    ),
    "1.0": (b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi", "GET", 200,
            {"content-length": "2"}, b"hi", False),
}  # fmt: skip

BAD_RESPONSES = {
    "not HTTP": (b"SSH-2.0-x\r\n\r\n", 502),
    "HTTP/2": (b"HTTP/2.0 200 OK\r\n\r\n", 502),
    "status of two digits": (b"HTTP/1.1 20 OK\r\n\r\n", 502),
    "status 600": (b"HTTP/1.1 600 X\r\n\r\n", 502),
    "bare LF": (b"HTTP/1.1 200 OK\n\n", 400),
    "switching protocols": (b"HTTP/1.1 101 X\r\n\r\n", 502),
    "interim for ever": (b"HTTP/1.1 100 X\r\n\r\n" * 20, 502),
    "coding unknown": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501),
    "chunked on 1.0": (b"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
    "lengths differ": (b"HTTP/1.1 200 OK\r\nContent-Length: 1, 2\r\n\r\nab", 400),
    "head too long": (b"HTTP/1.1 200 OK\r\n" + b"X: %s\r\n" % (b"a" * 8000) * 5, 431),
}


class Responses(unittest.TestCase):
    def test_accepted_however_cut(self) -> None:
        for name, (raw, method, status, headers, body, reusable) in RESPONSES.items():
            for pieces in cuts(raw, b"HTTP/1.1 "):
                with self.subTest(name, pieces=len(pieces), first=len(pieces[0])):
                    response, got, left = read_response(pieces, method)
                    self.assertEqual(
                        (response.status, response.headers, got, response.reusable),
                        (status, headers, body, reusable),
                    )
                    self.assertEqual(left, b"".join(pieces)[len(raw) :])

    def test_until_close(self) -> None:
        raw = b"HTTP/1.1 200 OK\r\n\r\ndata: 1\n\n"
        for pieces in cuts(raw, b"more"):
            response, body, left = read_response(pieces)
            self.assertEqual((response.framing, response.reusable), (UNTIL_CLOSE, False))
            self.assertIn(body, (b"data: 1\n\n", b"data: 1\n\nmore"))
            self.assertEqual(left, b"")

    def test_until_close_has_a_limit(self) -> None:
        raw = b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 21
        for pieces in cuts(raw):
            with self.assertRaises(ProtocolError) as caught:
                read_response(pieces, limits=SMALL)
            self.assertEqual(caught.exception.status, 413)

    def test_refused_however_cut(self) -> None:
        for name, (raw, status) in BAD_RESPONSES.items():
            for pieces in cuts(raw):
                with self.subTest(name, pieces=len(pieces)):
                    with self.assertRaises(ProtocolError) as caught:
                        read_response(pieces)
                    self.assertEqual(caught.exception.status, status)

    def test_nothing_at_all_is_truncated(self) -> None:
        with self.assertRaises(TruncatedError):
            read_response([])

    def test_reason(self) -> None:
        response, _, _ = read_response([b"HTTP/1.1 500 Not so good\r\n\r\n"])
        self.assertEqual((response.reason, response.version), ("Not so good", "1.1"))


class Bodies(unittest.TestCase):
    def test_pieces_come_as_they_arrive(self) -> None:
        """A stream is handed on read by read, several whole chunks of a read in one piece."""
        buffer = Buffer()
        body = Body(buffer, CHUNKED, LIMITS)
        for fed, expected in (
            (b"", b""),
            (b"3\r\nab", b"ab"),
            (b"c\r\n2\r\nde\r\n2;x\r\nfg\r\n9\r\nhi", b"cdefghi"),
            (b"jklmnop", b"jklmnop"),
            (b"\r", b""),
            (b"\n1\r\nq\r\n0\r\n", b"q"),
        ):
            buffer.feed(fed)
            self.assertEqual(body.pull(), expected)
            self.assertFalse(body.done)
        buffer.feed(b"\r\nrest")
        self.assertEqual((body.pull(), body.done), (b"", True))
        self.assertEqual((bytes(buffer.data), body.size), (b"rest", 17))

    def test_length_pieces(self) -> None:
        buffer = Buffer()
        body = Body(buffer, Framing("length", 5), LIMITS)
        buffer.feed(b"he")
        self.assertEqual((body.pull(), body.done), (b"he", False))
        buffer.feed(b"lloGET")
        self.assertEqual((body.pull(), body.done), (b"llo", True))
        self.assertEqual(buffer.data, b"GET")

    def test_no_body_is_done_at_once(self) -> None:
        body = Body(Buffer(), NO_BODY, LIMITS)
        self.assertEqual((body.pull(), body.done), (b"", True))

    def test_a_broken_body_stays_broken(self) -> None:
        """Asked again, it must not look complete: the connection would be used again."""
        buffer = Buffer()
        buffer.feed(b"1\r\nab\r\n0\r\n\r\n")
        body = Body(buffer, CHUNKED, LIMITS)
        for _ in range(3):
            with self.assertRaises(ProtocolError):
                body.pull()
            self.assertFalse(body.done)

    def test_one_byte_at_a_time_is_linear(self) -> None:
        """Bytes looked at, counted rather than timed: a search starts where the last one ended."""
        looked_at = 0

        class Counting(bytearray):
            def find(self, sub: object, start: object = 0, end: object = None) -> int:
                nonlocal looked_at
                assert isinstance(sub, bytes) and isinstance(start, int)
                looked_at += len(self) - start
                return super().find(sub, start)

        buffer = Buffer()
        buffer.data = Counting()
        steps = parse_request(buffer, LIMITS)
        raw = b"GET /" + b"a" * 15_000 + b" HTTP/1.1\r\n" + HOST + b"X: " + b"b" * 15_000
        for byte in raw:
            buffer.feed(bytes([byte]))
            self.assertIsNone(advance(steps))
        self.assertLess(looked_at, 3 * len(raw))


if __name__ == "__main__":
    unittest.main()
