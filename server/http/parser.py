"""Parse HTTP/1.1 requests and responses, without I/O (RFC 9112).

`connection` parses requests with it, `connection_pool` responses. A parser is a generator that
yields when it needs more bytes: feed the `Buffer`, then resume the parser with `advance`. Heads are
read line by line, each byte once, and validated before use. Field grammar and framing are in
`headers`.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from .headers import (
    TEXT,
    TOKEN,
    Framing,
    ProtocolError,
    Truncated,
    add_field,
    keeps_alive,
    request_framing,
    response_framing,
    split_authority,
)

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"})

_REQUEST_LINE = re.compile(rb"(" + TOKEN + rb") ([!-\"$-~]+) HTTP/([0-9])\.([0-9])")
_STATUS_LINE = re.compile(rb"HTTP/1\.([0-9]) ([1-5][0-9]{2})(?: (" + TEXT + rb"))?")
_ABSOLUTE = re.compile(r"https?://([^/?]*)(/[^?]*)?(\?.*)?", re.IGNORECASE)
_QUOTED = rb'"(?:[\t !#-\[\]-~\x80-\xff]|\\[\t -~\x80-\xff])*"'  # RFC 9110 section 5.6.4
_CHUNK_LINE = re.compile(  # RFC 9112 section 7.1.1; its BWS is [ \t]*
    rb"([0-9A-Fa-f]{1,16})((?:[ \t]*;[ \t]*%(token)b(?:[ \t]*=[ \t]*(?:%(token)b|%(quoted)b))?)*)"
    % {b"token": TOKEN, b"quoted": _QUOTED}
)
_PLAIN_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,16})\r\n")
_FIRST_BYTE = re.compile(TOKEN[:-1] + rb"|[\r\n]")

T = TypeVar("T")
Steps = Generator[None, None, T]


@dataclass(frozen=True)
class Limits:
    """The largest message that is accepted, in bytes unless said otherwise."""

    line: int = 16 * 1024  # 414; nginx 8 KiB, uvicorn 64 KiB, Go 1 MiB
    head: int = 32 * 1024  # 431; all lines together
    fields: int = 100  # 431; number of header lines
    body: int = 32 * 1024 * 1024  # 413
    chunk_line: int = 256
    chunk_extensions: int = 16 * 1024  # of one body; against amplification as in CVE-2023-39326
    trailers: int = 4 * 1024
    interim: int = 16  # number of 1xx responses before the final one


class Request(NamedTuple):
    """A request head. `path` and `query` are as sent: percent-encoded, the query without `?`."""

    method: str
    target: str
    path: str
    query: str
    headers: dict[str, str]  # lower-case names; `host` is taken from an absolute target
    version: str  # "1.1" or "1.0"
    framing: Framing
    keep_alive: bool


class Response(NamedTuple):
    """A final (not 1xx) response head. `reusable`: the connection may serve another request."""

    status: int
    reason: str
    headers: dict[str, str]
    version: str
    framing: Framing
    reusable: bool


def advance(steps: Steps[T]) -> T | None:
    """Resume a parser. Return its result, or None if it needs more bytes."""
    try:
        next(steps)
    except StopIteration as end:
        result: T = end.value
        return result
    return None


class Buffer:
    """Received bytes that are not parsed yet.

    `line` and `take` return None if more bytes are needed.
    """

    __slots__ = ("_searched", "data", "eof")

    def __init__(self) -> None:
        self.data = bytearray()
        self.eof = False
        self._searched = 0  # bytes known to hold no LF, so that each is searched once

    def feed(self, data: bytes) -> None:
        """Append received bytes."""
        self.data += data

    def feed_eof(self) -> None:
        """Note that no more bytes will come."""
        self.eof = True

    def line(self, limit: int, status: int) -> bytes | None:
        """Return the next line without its CRLF; None if it is incomplete.

        Raises ProtocolError(status) beyond `limit` bytes, ProtocolError(400) for a bare LF, and
        Truncated if the line cannot be completed.
        """
        data = self.data
        end = data.find(b"\n", self._searched)
        if end < 0 and len(data) <= limit + 1:  # one more byte for the CR
            self._searched = len(data)
            self.expect_more()
            return None
        if end < 0 or end - 1 > limit:
            raise ProtocolError(f"a line is longer than {limit} bytes", status)
        self._searched = 0
        if end == 0 or data[end - 1] != 13:
            raise ProtocolError("a line must end with CR LF")
        line = bytes(data[: end - 1])
        del data[: end + 1]
        return line

    def take(self, size: int) -> bytes | None:
        """Return at least one and at most `size` bytes; None if there are none yet.

        Raises Truncated if no more will come.
        """
        data = self.data
        if not data:
            self.expect_more()
            return None
        if size >= len(data):
            piece = bytes(data)
            data.clear()
        else:
            piece = bytes(data[:size])
            del data[:size]
        return piece

    def skip(self, size: int) -> None:
        """Drop `size` bytes."""
        del self.data[:size]
        self._searched = 0

    def expect_more(self) -> None:
        """Raise Truncated if no more bytes will come."""
        if self.eof:
            raise Truncated("the connection was closed inside a message")


def parse_request(buffer: Buffer, limits: Limits) -> Steps[Request]:
    """Read one request head and leave the rest in the buffer. Raises ProtocolError."""
    line = yield from _request_line(buffer, limits)
    match = _REQUEST_LINE.fullmatch(line)
    if match is None or match[3] == b"0":
        raise ProtocolError("the request line is not valid")
    if match[3] != b"1":
        raise ProtocolError("only HTTP/1.1 and HTTP/1.0 are spoken here", 505)
    method, target = match[1].decode("ascii"), match[2].decode("ascii")
    if method not in METHODS:
        raise ProtocolError("this method is not known", 501)
    version = "1.0" if match[4] == b"0" else "1.1"  # 1.2 is answered as 1.1: RFC 9110 section 6.2
    fields = yield from _fields(buffer, limits.head - len(line) - 2, limits.fields)
    path, query = _locate(method, target, fields, version)
    return Request(
        method,
        target,
        path,
        query,
        fields,
        version,
        request_framing(fields, version),
        keeps_alive(fields, version),
    )


def parse_response(buffer: Buffer, method: str, limits: Limits) -> Steps[Response]:
    """Read one final response head, skipping 1xx. Raises ProtocolError.

    `method` is that of the request. Any 101 is refused.
    """
    for _ in range(limits.interim + 1):
        while (line := buffer.line(limits.line, 502)) is None:
            yield
        match = _STATUS_LINE.fullmatch(line)
        if match is None:
            raise ProtocolError("the status line is not valid", 502)
        status = int(match[2])
        version = "1.0" if match[1] == b"0" else "1.1"
        fields = yield from _fields(buffer, limits.head, limits.fields)
        if status == 101:
            raise ProtocolError("the server switched protocols unasked", 502)
        if status >= 200:
            framing, reusable = response_framing(fields, version, status, method)
            reason = (match[3] or b"").decode("latin-1")
            return Response(status, reason, fields, version, framing, reusable)
    raise ProtocolError("too many interim responses", 502)


def _request_line(buffer: Buffer, limits: Limits) -> Steps[bytes]:
    empty = 0
    while True:
        # Refuse a TLS hello at its first byte instead of at the head deadline, and with the same
        # error whether or not its line is complete.
        if buffer.data and not _FIRST_BYTE.match(buffer.data):
            raise ProtocolError("this is not HTTP")
        line = buffer.line(limits.line, 414)
        if line:
            return line
        if line is None:
            yield
        elif empty:
            raise ProtocolError("empty lines where a request should be")
        else:
            empty = 1  # one empty line is skipped: RFC 9112 section 2.2


def _fields(buffer: Buffer, room: int, most: int) -> Steps[dict[str, str]]:
    fields: dict[str, str] = {}
    for _ in range(most + 1):
        while (line := buffer.line(room, 431)) is None:
            yield
        if not line:
            return fields
        room -= len(line) + 2
        if room < 0:
            break
        add_field(fields, line)
    raise ProtocolError("the head is too large or has too many lines", 431)


def _locate(method: str, target: str, fields: dict[str, str], version: str) -> tuple[str, str]:
    """Return path and query of a target, and check Host (RFC 9112 section 3.2)."""
    if "host" in fields:
        host = split_authority(fields["host"])
    elif version == "1.1":
        raise ProtocolError("Host is missing")
    if target.startswith("/"):
        path, _, query = target.partition("?")
        return path, query
    if target == "*" and method == "OPTIONS":
        return "*", ""
    absolute = _ABSOLUTE.fullmatch(target)
    if absolute is None:
        raise ProtocolError("the request target is not valid")
    default = 443 if target[4] in "sS" else 80
    name, port = split_authority(absolute[1])
    if "host" in fields and (name, port or default) != (host[0], host[1] or default):
        raise ProtocolError("Host and the request target disagree")
    fields["host"] = absolute[1]
    return absolute[2] or "/", (absolute[3] or "?")[1:]


class Body:
    """One message body, decoded piece by piece. Call `pull` after each feed of the buffer."""

    __slots__ = ("_buffer", "_error", "_limits", "_pieces", "_steps", "done", "size")

    def __init__(self, buffer: Buffer, framing: Framing, limits: Limits) -> None:
        self._buffer = buffer
        self._limits = limits
        self._pieces: list[bytes | bytearray] = []
        self._error: ProtocolError | None = None
        self.size = 0  # bytes announced or read so far
        self.done = False
        if framing.kind == "chunked":
            self._steps = self._chunked()
        elif framing.kind == "length":
            self._steps = self._exactly(framing.length)
        else:
            self._steps = self._until_close()

    def pull(self) -> bytes:
        """Return all bytes that can be decoded now, b"" if none; set `done` with the last ones.

        Raises ProtocolError, the same on each further call: 413 if the announced or received size
        exceeds `limits.body`, 400 for bad framing, Truncated if the peer closed too early.
        """
        if self._error is not None:
            raise self._error  # resuming the generator after an error would look like the end
        try:
            next(self._steps)
        except StopIteration:
            self.done = True
        except ProtocolError as error:
            self._error = error
            raise
        pieces = self._pieces
        if not pieces:
            return b""
        piece = b"".join(pieces)
        pieces.clear()
        return piece

    def _exactly(self, size: int) -> Steps[None]:
        self._count(size)
        yield from self._copy(size)

    def _until_close(self) -> Steps[None]:
        buffer = self._buffer
        while not (buffer.eof and not buffer.data):
            if buffer.data and (piece := buffer.take(len(buffer.data))):
                self._count(len(piece))
                self._pieces.append(piece)
            else:
                yield

    def _chunked(self) -> Steps[None]:
        buffer, limits = self._buffer, self._limits
        extensions = limits.chunk_extensions
        while True:
            self._whole_chunks()
            line = buffer.line(limits.chunk_line, 400)
            if line is None:
                yield
                continue
            match = _CHUNK_LINE.fullmatch(line)
            if match is None:
                raise ProtocolError("a chunk size is not valid")
            extensions -= len(match[2])
            if extensions < 0:
                raise ProtocolError("too many chunk extensions")
            size = int(match[1], 16)
            self._count(size)
            if size == 0:
                # Trailers are dropped, never merged into the headers (RFC 9110 section 6.5.1).
                yield from _fields(buffer, limits.trailers, limits.fields)
                return
            yield from self._copy(size)
            while len(buffer.data) < 2:
                buffer.expect_more()
                yield
            if not buffer.data.startswith(b"\r\n"):
                raise ProtocolError("a chunk is longer than its size")
            buffer.skip(2)

    def _whole_chunks(self) -> None:
        """Take all complete chunks without extensions.

        A fast path, at half the cost, for the events of models. The general path handles the rest.
        """
        data = self._buffer.data
        position = 0
        while match := _PLAIN_CHUNK.match(data, position):
            start = match.end()
            end = start + int(match[1], 16)
            if end == start or not data.startswith(b"\r\n", end):
                break
            self._count(end - start)
            self._pieces.append(data[start:end])
            position = end + 2
        if position:
            self._buffer.skip(position)

    def _copy(self, size: int) -> Steps[None]:
        while size:
            piece = self._buffer.take(size)
            if piece is None:
                yield
            else:
                size -= len(piece)
                self._pieces.append(piece)

    def _count(self, size: int) -> None:
        self.size += size
        if self.size > self._limits.body:
            raise ProtocolError(f"the body is larger than {self._limits.body} bytes", 413)
