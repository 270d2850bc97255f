"""One request and its answer, as a handler sees them; bytes go through the connection's `Channel`.

In the walk: `listener` makes an `Exchange` for each request and calls the handler with it; `api`
answers with `respond` or, piece by piece, with a `Stream`. The rules of the file: an answer is
begun once, framing belongs to us and never to the handler, and what is written in one turn of the
event loop leaves in one send (several deltas born of one read then cost one system call).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from .. import strict_json
from ..errors import Problem
from .headers import ProtocolError, serialize_response
from .parser import Request

GATHER = 64 * 1024  # bytes a stream holds back at most until the loop's turn ends
PIECE = 256 * 1024  # bytes of a large answer that are sent before the client has taken some

CODES = {
    400: "bad_request",
    408: "timeout",
    413: "body_too_large",
    414: "uri_too_long",
    417: "expectation_failed",
    431: "headers_too_large",
    501: "not_implemented",
    505: "http_version",
}

_OURS = frozenset(
    {"connection", "transfer-encoding", "date", "server", "x-request-id", "keep-alive", "upgrade"}
)


class Channel(Protocol):
    """What an exchange asks of the connection it runs on."""

    ended: bool  # the client has closed its half of the connection, or all of it
    socket: Any  # the system's; None where there is none
    behind: bool  # the client reads more slowly than we write, or is gone: `drain` says which

    def send(self, data: bytes) -> None: ...
    async def drain(self) -> None: ...
    async def flush(self) -> None: ...
    async def read_body(self) -> bytes: ...
    def hold(self, size: int, *, always: bool = False) -> bool:
        """Count `size` bytes for this request, in place of what was counted for it, if all of the
        server's requests together stay within `max_memory`, or `always`; whether they do."""

    def end_reading(self) -> bool:
        """Drop what was not read of the request; whether the connection may go on after it."""

    def date(self) -> str: ...


class Exchange:
    """A request and the means to answer it. Belongs to the task of its handler."""

    __slots__ = (
        "_body", "_channel", "_held", "_stream", "finished", "id", "keep_alive", "peer", "request",
        "status",
    )  # fmt: skip

    def __init__(self, channel: Channel, request: Request, id: str, peer: str) -> None:
        self.request = request
        self.id = id  # names this request in the log
        self.peer = peer  # the client's address without its port
        self.status = 0  # of the answer; 0 as long as nothing was sent
        self.finished = False  # the answer is complete
        self.keep_alive = False  # the connection outlives it
        self._channel = channel
        self._body: bytes | None = None
        self._held = 0
        self._stream: Stream | None = None

    @property
    def gone(self) -> bool:
        """The client has left: tells a cancelled handler why."""
        return self._channel.ended

    async def body(self) -> bytes:
        """The whole request body, asked for only now: a 100-continue is sent here if one is due.

        Raises ProtocolError: 413 (by Content-Length before a byte is read), 408, 400.
        """
        if self._body is None:
            if self.status:
                raise RuntimeError("the body is dropped once the answer has begun")
            self._body = await self._channel.read_body()
        return self._body

    def hold(self, size: int) -> None:
        """Note how many bytes of memory this request takes from now on until its answer has left.

        Raises Problem("overloaded") where the server has no room for them.
        """
        if not self._channel.hold(size):
            raise no_memory()
        self._held = size

    async def respond(
        self, status: int, headers: Mapping[str, str] | None = None, body: bytes = b""
    ) -> None:
        """Send the whole answer, and return when the kernel or a bounded buffer has it.

        Content-Length is ours, except for HEAD and 304, where the handler may give that of the
        body it did not make. Raises ValueError for an unsafe header, before anything is sent.
        """
        head = self._begin(status, headers or {}, len(body))
        if head.mute or len(body) <= PIECE:
            self.finished = True
            self._channel.send(head.data if head.mute else head.data + body)
        else:
            self._channel.hold(self._held + len(body), always=True)
            self._channel.send(head.data)
            await self._send_in_pieces(body)
        await self._channel.drain()

    async def _send_in_pieces(self, body: bytes) -> None:
        """Send so that what a slow client has not taken is here once, and not copied."""
        at = 0
        try:
            for at in range(0, len(body), PIECE):
                await self._channel.drain()
                self._channel.send(body[at : at + PIECE])
        except asyncio.CancelledError:  # the server closes: what is left goes to the kernel's side
            if not self.gone:
                self._channel.send(body[at:])
                self.finished = True
            raise
        self.finished = True

    @property
    def socket(self) -> Any:
        """The system's; None where there is none."""
        return self._channel.socket

    async def flush(self) -> None:
        """Wait until the kernel has all that was sent."""
        await self._channel.flush()

    def stream(self, status: int, headers: Mapping[str, str] | None = None) -> Stream:
        """Begin an answer of unknown length; with a Content-Length header, of that length."""
        head = self._begin(status, headers or {}, None)
        self._stream = Stream(self, self._channel, head)
        return self._stream

    def push(self) -> None:
        """Send what a stream has gathered, without waiting for the turn to end."""
        if self._stream is not None:
            self._stream.push()

    def _begin(self, status: int, headers: Mapping[str, str], size: int | None) -> Head:
        """The head of the answer, with the framing its status, method and version allow."""
        if self.status:
            raise RuntimeError("this request was already answered")
        if not 200 <= status <= 599:
            raise ValueError(f"{status} is not the status of an answer")
        version = self.request.version
        mute = self.request.method == "HEAD" or status in (204, 304)
        fields = _fields(self._channel.date(), self.id)
        declared = None
        for name, value in headers.items():
            if name.lower() in _OURS:
                raise ValueError(f"the header {name} belongs to the connection")
            if name.lower() == "content-length":
                declared = int(value) if value.isascii() and value.isdigit() else -1
                if declared < 0 or (size not in (None, declared) and not mute):
                    raise ValueError("Content-Length does not fit the body")
            else:
                fields[name] = value
        length = size if declared is None else declared
        keep = self.request.keep_alive and self._channel.end_reading()
        if status in (204, 304):  # 204 has no length; that of a 304 is the file's (RFC 9110 8.6)
            if declared is not None and status == 304:
                fields["Content-Length"] = str(declared)
        elif length is not None:
            fields["Content-Length"] = str(length)
        elif version == "1.0":
            keep = keep and mute  # nothing but closing ends such a body
        else:
            fields["Transfer-Encoding"] = "chunked"
        if not keep:
            fields["Connection"] = "close"
        elif version == "1.0":
            fields["Connection"] = "keep-alive"
        data = serialize_response(status, fields)
        self.status, self.keep_alive = status, keep
        self._body = None  # a session of 5,000 messages is a megabyte, and a stream may take hours
        return Head(data, mute, "Transfer-Encoding" in fields, length)


class Head(NamedTuple):
    """A serialized response head, and what it promised of the body."""

    data: bytes
    mute: bool  # it is the whole answer
    chunked: bool
    length: int | None


class Stream:
    """The body of an answer, piece by piece. `close` ends it; one that is not closed was cut.

    Once the client is gone, writes go nowhere and `drain` and `flush` raise ConnectionResetError.
    """

    __slots__ = (
        "_channel", "_exchange", "_head", "_left", "_loop", "_pending", "_size", "_start", "_turn",
        "sent_at",
    )  # fmt: skip

    def __init__(self, exchange: Exchange, channel: Channel, head: Head) -> None:
        self._exchange = exchange
        self._channel = channel
        self._head = head._replace(data=b"")
        self._start = head.data  # leaves with the first piece
        self._left = head.length  # bytes that Content-Length still promises
        self._pending: list[bytes] = []
        self._size = 0
        self._loop = asyncio.get_running_loop()
        self.sent_at = self._loop.time()  # when anything was sent at last
        self._turn: asyncio.Handle | None = self._loop.call_soon(self.push)

    def write(self, data: bytes) -> None:
        """Send `data` with all else that is written in this turn of the event loop."""
        if self._exchange.finished:
            raise RuntimeError("this stream is closed")
        if not data or self._head.mute:
            return
        if self._left is not None:
            self._left -= len(data)
            if self._left < 0:
                raise ValueError("more is written than Content-Length promised")
        self._pending.append(data)
        self._size += len(data)
        if self._turn is None:
            self._turn = self._loop.call_soon(self.push)

    @property
    def full(self) -> bool:
        """Whether `drain` has anything to do: after nearly all events it has not."""
        return self._size > GATHER or self._channel.behind

    async def drain(self) -> None:
        """Wait while the client reads more slowly than we write; memory stays bounded by it."""
        if self._size > GATHER:
            self.push()
            await asyncio.sleep(0)  # a client that takes everything must not keep the loop
        await self._channel.drain()

    async def flush(self) -> None:
        """Return when the kernel has every byte: needed before a call that must be known of."""
        self.push()
        await self._channel.flush()

    async def close(self) -> None:
        """End the answer. Raises RuntimeError if it is shorter than its Content-Length."""
        if self._exchange.finished:
            return
        if self._left and not self._head.mute:
            raise RuntimeError(f"{self._left} bytes of the promised Content-Length are missing")
        self._exchange.finished = True
        self.push(b"0\r\n\r\n" if self._head.chunked and not self._head.mute else b"")
        await self._channel.drain()

    def push(self, end: bytes = b"") -> None:
        """Hand over now what was gathered."""
        if self._turn is not None:
            self._turn.cancel()
            self._turn = None
        data = b"".join(self._pending)
        self._pending.clear()
        self._size = 0
        if data and self._head.chunked:
            data = b"%x\r\n%b\r\n" % (len(data), data)
        data = self._start + data + end
        self._start = b""
        if data:
            self.sent_at = self._loop.time()
            self._channel.send(data)


def no_memory() -> Problem:
    """The refusal of a request for which there is no memory now."""
    return Problem(
        "overloaded",
        "The requests under way take all of server.limits.max_memory; try again shortly.",
        headers={"Retry-After": "2"},
    )


def refusal(problem: Problem, cors: Mapping[str, str], date: str, id: str) -> bytes:
    """The whole answer to what is not even a request."""
    status, headers, body = answer(problem, cors)
    length = {"Content-Length": str(len(body)), "Connection": "close"}
    return serialize_response(status, _fields(date, id) | headers | length) + body


def _fields(date: str, id: str) -> dict[str, str]:
    """What every answer has."""
    return {"Date": date, "Server": "yaa", "X-Request-Id": id}


def answer(problem: Problem, cors: Mapping[str, str]) -> tuple[int, dict[str, str], bytes]:
    """A problem as (status, headers, JSON body). `cors`: of `Origins.headers`."""
    headers = {
        "Content-Type": "application/json",
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        **cors,
        **problem.headers,
    }
    return problem.status, headers, strict_json.dumps(problem.body()).encode()


def problem_of(error: Exception, id: str) -> Problem:
    """What a client may know of an error: all of a Problem, the rule it broke, or only an id."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, ProtocolError):
        return Problem(CODES.get(error.status, "bad_request"), str(error), status=error.status)
    return Problem("internal", f"The server made a mistake; its log has the reason under {id}.")
