"""Parse HTTP/1.1 requests and responses, without I/O (RFC 9112).

`connection` parses requests with it, `connection_pool` responses. A parser is a generator that
yields when it needs more bytes: feed the `Buffer`, then resume the parser with `advance`. Heads are
read line by line, each byte once, and validated before use. Field grammar and framing are in
`headers`.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Collection, Generator, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from http import HTTPStatus
from typing import Literal, NamedTuple, TypeVar

# -- headers --------------------------------------------------------------------------------------
# Parse and write HTTP/1.1 header fields, and derive the framing of a message from them.
#
# Used by `parser` for field lines and framing, by `listener` for the Host check. Input that RFC
# 9110 and 9112 do not allow is refused with a status, never repaired: two readers that repair a
# message differently make request smuggling possible.
#
# ProtocolError           the peer broke HTTP; `.status` is the status to answer with
# └ TruncatedError             the peer closed the connection inside a message

# Equal names share one string. Not `sys.intern`: Python 3.12.0 to 3.12.4 never free interned
# strings (gh-113993), and the names come from peers.
_shared = lru_cache(maxsize=256)(str)

TOKEN = rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"  # RFC 9110 section 5.6.2
TEXT = rb"[\t\x20-\x7e\x80-\xff]*"  # field values, reasons, extensions: no CR, LF, NUL or control

_FIELD = re.compile(rb"(" + TOKEN + rb"):[ \t]*(" + TEXT + rb")")
_NAME = re.compile(TOKEN.decode())
_VALUE = re.compile(TEXT.decode("latin-1"))
_DIGITS = re.compile(r"[0-9]+", re.ASCII)
_AUTHORITY = re.compile(r"([A-Za-z0-9._~-]+|\[[0-9A-Fa-f:.]+\])(?::([0-9]{0,5}))?", re.ASCII)
_MAX_LENGTH_DIGITS = 18  # below 2**63; int() of 4,300 digits would raise on its own

PHRASES = {status.value: status.phrase for status in HTTPStatus}


class ProtocolError(Exception):
    """A violation of HTTP or of a limit. `status` is the status to answer with."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


class TruncatedError(ProtocolError):
    """The peer closed the connection before the message was complete."""


class Framing(NamedTuple):
    """How a body ends: after `length` bytes, with the last chunk, or when the peer closes."""

    kind: Literal["length", "chunked", "close"]
    length: int = 0


NO_BODY = Framing("length", 0)
CHUNKED = Framing("chunked")
UNTIL_CLOSE = Framing("close")


def add_field(fields: dict[str, str], line: bytes) -> None:
    """Add one field line. Names become lower case; repeats are joined (RFC 9110 section 5.3).

    Raises ProtocolError for an invalid line and for a second Host.
    """
    match = _FIELD.fullmatch(line)
    if match is None:
        if line[:1] in (b" ", b"\t"):
            raise ProtocolError("a header line may not be folded")
        raise ProtocolError("a header line is not valid")
    name = _shared(match[1].decode("ascii").lower())
    value = match[2].rstrip(b" \t").decode("latin-1")
    if name not in fields:
        fields[name] = value
    elif name == "host":
        raise ProtocolError("Host appears twice")
    else:
        fields[name] = f"{fields[name]}, {value}"


def request_framing(fields: Mapping[str, str], version: str) -> Framing:
    """Return the framing of a request's body (RFC 9112 section 6.3).

    Raises ProtocolError for ambiguous framing.
    """
    if "transfer-encoding" in fields:
        if "content-length" in fields:
            raise ProtocolError("Content-Length and Transfer-Encoding exclude each other")
        if version == "1.0":
            raise ProtocolError("HTTP/1.0 has no Transfer-Encoding")
        return _chunked_only(fields["transfer-encoding"])
    if "content-length" in fields:
        return Framing("length", _content_length(fields["content-length"]))
    return NO_BODY


def response_framing(
    fields: Mapping[str, str], version: str, status: int, method: str
) -> tuple[Framing, bool]:
    """Return the framing of a response's body, and whether the connection may be used again.

    If both are present, Transfer-Encoding overrides Content-Length and the connection is closed
    afterwards (RFC 9112 section 6.3): some gateways send both, and a client cannot be used for
    smuggling. Raises ProtocolError.
    """
    reusable = keeps_alive(fields, version)
    if method == "HEAD" or status in (204, 304):
        return NO_BODY, reusable
    if "transfer-encoding" in fields:
        if version == "1.0":
            raise ProtocolError("HTTP/1.0 has no Transfer-Encoding")
        framing = _chunked_only(fields["transfer-encoding"])
        return framing, reusable and "content-length" not in fields
    if "content-length" in fields:
        return Framing("length", _content_length(fields["content-length"])), reusable
    return UNTIL_CLOSE, False


def keeps_alive(fields: Mapping[str, str], version: str) -> bool:
    """Return whether the sender keeps the connection after this message (RFC 9112 section 9.3)."""
    if "connection" not in fields:
        return version != "1.0"
    options = [option.strip().lower() for option in fields["connection"].split(",")]
    return "close" not in options and (version != "1.0" or "keep-alive" in options)


def _chunked_only(value: str) -> Framing:
    codings = [coding.strip().lower() for coding in value.split(",")]
    if codings == ["chunked"]:
        return CHUNKED
    if codings[-1] != "chunked" or codings.count("chunked") > 1:
        raise ProtocolError("Transfer-Encoding must end in exactly one chunked")
    raise ProtocolError("chunked is the only Transfer-Encoding here", 501)


def _content_length(value: str) -> int:
    lengths = {length.strip(" \t") for length in value.split(",")}
    length = lengths.pop()
    if lengths or not _DIGITS.fullmatch(length):
        raise ProtocolError("Content-Length is not one number")
    if len(length.lstrip("0")) > _MAX_LENGTH_DIGITS:
        raise ProtocolError("Content-Length is beyond any limit", 413)
    return int(length)


def split_authority(authority: str) -> tuple[str, int | None]:
    """Split `host[:port]` into (lower-case host without brackets, port or None).

    Raises ProtocolError.
    """
    match = _AUTHORITY.fullmatch(authority)
    if match is None or len(match[1]) > 255:
        raise ProtocolError("Host is not valid")
    host = match[1].lower()
    if host.startswith("["):
        host = host[1:-1]
        if _address(host) is None:
            raise ProtocolError("Host is not valid")
    port = int(match[2]) if match[2] else None
    if port is not None and port > 65535:
        raise ProtocolError("Host is not valid")
    return host, port


def host_allowed(authority: str, *, loopback: bool, names: Collection[str] = ()) -> bool:
    """Return whether a Host header may be served; protects against DNS rebinding.

    `loopback`: all our sockets are bound to loopback addresses. Then only loopback names and the
    configured `names` are allowed. Otherwise any valid host is, unless `names` are configured: then
    those, loopback names and IP addresses (rebinding needs a name). Raises ProtocolError.
    """
    host, _ = split_authority(authority)
    host = host.removesuffix(".")
    if host in {name.lower() for name in names} or is_loopback(host):
        return True
    return not loopback and (not names or _address(host) is not None)


@lru_cache(maxsize=256)  # called for each request, incoming and outgoing
def is_loopback(host: str) -> bool:
    """Return whether a host name or address (without brackets or port) is this machine's own."""
    if host == "localhost" or host.endswith(".localhost"):  # RFC 6761 section 6.3
        return True
    address = _address(host)
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        address = address.ipv4_mapped
    return address is not None and address.is_loopback


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def serialize_request(method: str, target: str, fields: Mapping[str, str]) -> bytes:
    """Return a request head as bytes. Raises ValueError for characters that allow injection."""
    if not _NAME.fullmatch(method) or not re.fullmatch(r"[\x21-\x7e]+", target):
        raise ValueError("the address holds what none can, such as a space")  # it may hold a key
    return _serialize(f"{method} {target} HTTP/1.1\r\n", fields)


def serialize_response(status: int, fields: Mapping[str, str]) -> bytes:
    """Return a response head as bytes. Raises ValueError for characters that allow injection."""
    return _serialize(f"HTTP/1.1 {status:03d} {PHRASES.get(status, '')}\r\n", fields)


def _serialize(start: str, fields: Mapping[str, str]) -> bytes:
    # All together, since a name or value is valid if each of its characters is.
    whole = _NAME.fullmatch("".join(fields)) and _VALUE.fullmatch("".join(fields.values()))
    if not whole or "" in fields:
        for name, value in fields.items():
            if not _NAME.fullmatch(name) or not _VALUE.fullmatch(value):
                what = (
                    f"the header {name[:80]!r} holds what none can, such as a line break or a “…”"
                )
                raise ValueError(what)  # without the value, which may be a secret
    lines = "".join([f"{name}: {value}\r\n" for name, value in fields.items()])
    return f"{start}{lines}\r\n".encode("latin-1")


# -- parser ---------------------------------------------------------------------------------------

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
class MessageLimits:
    """The largest message that is accepted, in bytes unless said otherwise."""

    line: int = 16 * 1024  # 414; nginx 8 KiB, uvicorn 64 KiB, Go 1 MiB
    head: int = 32 * 1024  # 431; all lines together
    fields: int = 100  # 431; number of header lines
    body: int = 32 * 1024 * 1024  # 413
    chunk_line: int = 256
    chunk_extensions: int = 16 * 1024  # of one body; against amplification as in CVE-2023-39326
    trailers: int = 4 * 1024
    interim: int = 16  # number of 1xx responses before the final one


class RequestHead(NamedTuple):
    """A request head. `path` and `query` are as sent: percent-encoded, the query without `?`."""

    method: str
    target: str
    path: str
    query: str
    headers: dict[str, str]  # lower-case names; `host` is taken from an absolute target
    version: str  # "1.1" or "1.0"
    framing: Framing
    keep_alive: bool


class ResponseHead(NamedTuple):
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

        Raises TruncatedError if no more will come.
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
        """Raise TruncatedError if no more bytes will come."""
        if self.eof:
            raise TruncatedError("the connection was closed inside a message")


def parse_request(buffer: Buffer, limits: MessageLimits) -> Steps[RequestHead]:
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
    return RequestHead(
        method,
        target,
        path,
        query,
        fields,
        version,
        request_framing(fields, version),
        keeps_alive(fields, version),
    )


def parse_response(buffer: Buffer, method: str, limits: MessageLimits) -> Steps[ResponseHead]:
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
            return ResponseHead(status, reason, fields, version, framing, reusable)
    raise ProtocolError("too many interim responses", 502)


def _request_line(buffer: Buffer, limits: MessageLimits) -> Steps[bytes]:
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

    __slots__ = ("_buffer", "_refusal", "_limits", "_pieces", "_steps", "done", "size")

    def __init__(self, buffer: Buffer, framing: Framing, limits: MessageLimits) -> None:
        self._buffer = buffer
        self._limits = limits
        self._pieces: list[bytes | bytearray] = []
        self._refusal: Callable[[], ProtocolError] | None = None
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
        exceeds `limits.body`, 400 for bad framing, TruncatedError if the peer closed too early.
        """
        if self._refusal is not None:
            raise self._refusal()  # resuming the generator after an error would look like the end
        try:
            next(self._steps)
        except StopIteration:
            self.done = True
        except ProtocolError as error:
            # Kept itself, it would keep all that waits for this body, until a garbage collection.
            self._refusal = partial(type(error), str(error), error.status)
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
