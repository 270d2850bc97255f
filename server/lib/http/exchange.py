"""One request and its answer, as a handler sees them.

`connection` makes an `Exchange` for each request, `listener` calls the handler with it. A handler
answers with `respond` or, piece by piece, with a `Stream`; bytes go through the connection's
`Channel`.

An answer is begun once. The exchange sets the framing headers, never the handler. Everything
written in one turn of the event loop is sent together, so several deltas of one read cost one
system call.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import NamedTuple, Protocol

from .. import strict_json
from ..problem import Problem, disk_problem
from .parser import ProtocolError, RequestHead, serialize_response

GATHER = 64 * 1024  # bytes that a stream gathers in one turn of the loop before `drain` sends them
PIECE = 256 * 1024  # bytes of a large answer sent between two calls of `drain`

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
    """The interface of the connection that an exchange uses."""

    ended: bool  # the client has closed its half of the connection, or all of it
    person: str  # whose memory `hold` counts
    behind: bool  # the client reads too slowly, or is gone; then `drain` waits or raises

    def send(self, data: bytes) -> None:
        """Write bytes, or drop them if the connection is closing."""

    async def drain(self) -> None:
        """Wait until the write buffer is small enough. Raises ConnectionResetError."""

    async def flush(self) -> None:
        """Wait until the kernel has every byte. Raises ConnectionResetError."""

    async def read_body(self) -> bytes:
        """Return the whole request body. Raises ProtocolError or Problem."""

    def unacknowledged_bytes(self) -> int | None:
        """Return how many sent bytes the peer has not acknowledged; None if that is not known."""

    def hold(self, size: int, *, always: bool = False) -> None:
        """Set the memory counted for this request to `size` bytes.

        Raises Problem, with the count unchanged, if all requests together would exceed
        `max_memory`, or those of `person` their share. `always` counts them nevertheless.
        """

    def abort(self) -> None:
        """Close the connection at once, which cancels the handler."""

    def end_reading(self) -> bool:
        """Drop the unread rest of the request. Return whether the connection can be kept."""

    def date(self) -> str:
        """Return the value of the Date header."""


class Exchange:
    """A request and its answer. Used only by the task of its handler."""

    __slots__ = (
        "_body", "_channel", "_held", "_stream", "finished", "id", "keep_alive", "peer", "request",
        "status",
    )  # fmt: skip

    def __init__(self, channel: Channel, request: RequestHead, id: str, peer: str) -> None:
        self.request = request
        self.id = id  # names this request in the log
        self.peer = peer  # the client's address without its port
        self.status = 0  # of the answer; 0 before it begins
        self.finished = False  # the answer is complete
        self.keep_alive = False  # the connection is kept after the answer
        self._channel = channel
        self._body: bytes | None = None
        self._held = 0
        self._stream: Stream | None = None

    @property
    def gone(self) -> bool:
        """Return whether the client has disconnected: one reason why a handler is cancelled."""
        return self._channel.ended

    async def body(self) -> bytes:
        """Return the whole request body, and send 100 Continue first if the client waits for it.

        Raises ProtocolError: 413 (by Content-Length, before a byte is read), 408 or 400; and
        Problem("overloaded") if the server has no memory for it.
        """
        if self._body is None:
            if self.status:
                raise RuntimeError("the body is dropped once the answer has begun")
            self._body = await self._channel.read_body()
        return self._body

    def charge(self, person: str) -> None:
        """Count the memory of this request for a person, from now on."""
        self._channel.person = person

    def abort(self) -> None:
        """End the request without an answer, and close its connection."""
        self._channel.abort()

    def hold(self, size: int) -> None:
        """Set the bytes of memory counted for this request until it is answered.

        Raises Problem if that is refused, see `Channel.hold`.
        """
        self._channel.hold(size)
        self._held = size

    async def respond(
        self, status: int, headers: Mapping[str, str] | None = None, body: bytes = b""
    ) -> None:
        """Send the whole answer, and return when the kernel or a bounded buffer has it.

        Content-Length is set here. For HEAD and 304 the handler may give that of the omitted body.
        Raises ValueError for an unsafe header, before anything is sent.
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
        """Send a large body in pieces, so that the write buffer holds no second copy of it."""
        at = 0
        try:
            for at in range(0, len(body), PIECE):
                await self._channel.drain()
                self._channel.send(body[at : at + PIECE])
        except asyncio.CancelledError:  # the server closes: buffer the rest at once
            if not self.gone:
                self._channel.send(body[at:])
                self.finished = True
            raise
        self.finished = True

    @property
    def unacknowledged_bytes(self) -> int | None:
        """Return how many sent bytes the peer has not acknowledged; None if that is not known."""
        return self._channel.unacknowledged_bytes()

    async def flush(self) -> None:
        """Wait until the kernel has all that was sent."""
        await self._channel.flush()

    def stream(self, status: int, headers: Mapping[str, str] | None = None) -> Stream:
        """Begin an answer of unknown length, or of the length in a Content-Length header."""
        head = self._begin(status, headers or {}, None)
        self._stream = Stream(self, self._channel, head)
        return self._stream

    def push(self) -> None:
        """Send the gathered bytes of the stream, if there is one, at once."""
        if self._stream is not None:
            self._stream.push()

    def _begin(self, status: int, headers: Mapping[str, str], size: int | None) -> Head:
        """Return the head of the answer, with the framing its status, method and version allow.

        `size` is the length of the body, None if unknown.
        """
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
        if status in (204, 304):  # no length for 204; for 304 that of the file (RFC 9110 8.6)
            if declared is not None and status == 304:
                fields["Content-Length"] = str(declared)
        elif length is not None:
            fields["Content-Length"] = str(length)
        elif version == "1.0":
            keep = keep and mute  # only closing the connection ends such a body
        else:
            fields["Transfer-Encoding"] = "chunked"
        if not keep:
            fields["Connection"] = "close"
        elif version == "1.0":
            fields["Connection"] = "keep-alive"
        data = serialize_response(status, fields)
        self.status, self.keep_alive = status, keep
        self._body = None  # free the memory: a stream may take hours
        return Head(data, mute, "Transfer-Encoding" in fields, length)


class Head(NamedTuple):
    """A serialized response head and the framing of the body."""

    data: bytes
    mute: bool  # the answer has no body
    chunked: bool
    length: int | None  # bytes of the body; None if unknown


class Stream:
    """The body of an answer, piece by piece. Without `close` the client sees it as cut off.

    Once the client is gone, `write` drops its data, and `drain` and `flush` raise
    ConnectionResetError.
    """

    __slots__ = (
        "_channel", "_exchange", "_head", "_left", "_loop", "_pending", "_size", "_start", "_turn",
        "sent_at",
    )  # fmt: skip

    def __init__(self, exchange: Exchange, channel: Channel, head: Head) -> None:
        self._exchange = exchange
        self._channel = channel
        self._head = head._replace(data=b"")
        self._start = head.data  # sent with the first piece
        self._left = head.length  # bytes of Content-Length that are not written yet
        self._pending: list[bytes] = []
        self._size = 0
        self._loop = asyncio.get_running_loop()
        self.sent_at = self._loop.time()  # time of the last send, in loop time
        self._turn: asyncio.Handle | None = self._loop.call_soon(self.push)

    def write(self, data: bytes) -> None:
        """Gather `data`, to be sent when this turn of the event loop ends.

        Raises RuntimeError after `close`, ValueError beyond Content-Length.
        """
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
        """Return whether `drain` would send or wait. Saves calling it after most events."""
        return self._size > GATHER or self._channel.behind

    async def drain(self) -> None:
        """Wait while the client reads too slowly, which bounds the memory of the stream."""
        if self._size > GATHER:
            self.push()
            await asyncio.sleep(0)  # with a fast client nothing else would yield to the loop
        await self._channel.drain()

    async def flush(self) -> None:
        """Send the gathered bytes and wait until the kernel has every byte.

        Used before a tool starts whose call the client must have received.
        """
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
        """Send the gathered bytes, followed by `end`, at once."""
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


def refusal_bytes(problem: Problem, cors: Mapping[str, str], date: str, id: str) -> bytes:
    """Return a whole answer as bytes, for input that could not be read as a request."""
    status, headers, body = problem_response(problem, cors)
    length = {"Content-Length": str(len(body)), "Connection": "close"}
    return serialize_response(status, _fields(date, id) | headers | length) + body


def _fields(date: str, id: str) -> dict[str, str]:
    """Return the headers of every answer."""
    return {"Date": date, "Server": "yaa", "X-Request-Id": id}


def problem_response(
    problem: Problem, cors: Mapping[str, str]
) -> tuple[int, dict[str, str], bytes]:
    """Return (status, headers, JSON body) of a problem. `cors`: from `Origins.headers`."""
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
    """Return the Problem to send for an error.

    A Problem is returned as it is and a ProtocolError with its text. A disk that takes nothing is
    said to. Any other error becomes `internal`, which shows the client only the request `id`.
    """
    if isinstance(error, Problem):
        return error
    if isinstance(error, ProtocolError):
        return Problem(CODES.get(error.status, "bad_request"), str(error), status=error.status)
    if isinstance(error, OSError) and (problem := disk_problem(error)):
        return problem
    return Problem("internal", f"The server made a mistake; its log has the reason under {id}.")


# -- delivery -------------------------------------------------------------------------------------
# Wait until the client's system has acknowledged what was sent.
#
# Used before a tool call starts that may not run twice. Behind a proxy the acknowledgements are
# those of the proxy, and a program may never read what its system has acknowledged.

# First and longest interval between two checks of `wait_for_acknowledgement`.
SOONEST_S, LATEST_S = 0.001, 0.05


async def wait_for_acknowledgement(exchange: Exchange, within_s: float) -> bool:
    """Wait until all bytes handed to the kernel are acknowledged. Return whether they were.

    False if that takes longer than `within_s`, for instance with a sleeping client. True where it
    cannot be determined. Cancelled, like any handler, if the client disconnects.
    """
    loop = asyncio.get_running_loop()
    wait_s, until = SOONEST_S, loop.time() + within_s
    while exchange.unacknowledged_bytes:
        if loop.time() > until:
            return False
        await asyncio.sleep(wait_s)
        wait_s = min(2 * wait_s, LATEST_S)
    return True
