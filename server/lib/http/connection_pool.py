"""The client side of connections: one exchange at a time on each, and a pool of idle ones.

`client` opens a `ClientConnection` or takes an idle one and starts a `ClientExchange`. Received
bytes go through `parser` into the exchange's list of pieces. For speed, reading uses
`data_received` (4.6 µs an event against 9 with a stream reader), and all time limits of an exchange
share one timer (a timeout object per read costs 7-15 µs). There are no coroutines here, so no
operation can be cancelled half-way.
"""

from __future__ import annotations

import asyncio
import os
import re
import socket
import ssl
import sys
from collections.abc import Hashable
from contextvars import Context
from dataclasses import dataclass, replace

from .parser import (
    Body,
    Buffer,
    MessageLimits,
    ProtocolError,
    ResponseHead,
    TruncatedError,
    advance,
    parse_response,
)

HIGH_WATER = 512 * 1024  # decoded bytes that wait for the reader before the socket is paused
TAIL_BYTES = 64 * 1024  # most bytes discarded after `release` to keep the connection …
TAIL_S = 1.0  # … and the longest pause between two of them, in seconds
_NEVER = float("inf")


class ClientError(Exception):
    """A request without a complete response.

    `kind`: connect, tls, timeout, protocol, closed or refused. The message may name the host, but
    never a path or a header.
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message


@dataclass(frozen=True)
class Timeouts:
    """Time limits in seconds; None means no limit.

    `first_byte` runs until the first byte of the body, since many model servers send the head at
    once and compute afterwards. `idle` applies between any two reads.
    """

    connect: float | None = 10.0
    first_byte: float | None = None
    idle: float | None = None
    total: float | None = None


class ClientExchange:
    """The response to one request on one connection."""

    def __init__(
        self,
        connection: ClientConnection,
        method: str,
        limits: MessageLimits,
        timeouts: Timeouts,
        started: float,
    ) -> None:
        self.connection = connection
        self.pieces: list[bytes] = []
        self.pending = 0  # bytes in pieces
        self.done = False
        self.error: ClientError | None = None  # never raised: it would keep the frames it passes
        self.touched = False  # at least one byte of the response has arrived
        self.head: ResponseHead | None = None
        self._method, self._limits, self._timeouts = method, limits, timeouts
        self._loop = connection.loop
        self._steps = parse_response(connection.buffer, method, limits)  # deleted after the head
        self._body: Body | None = None
        self._body_begun = self._discard = self._paused = False
        self._started, self._last = started, self._loop.time()
        self._waiter: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._watch()

    # -- called by the reader ---------------------------------------------------------------------

    def wait(self) -> asyncio.Future[None]:
        """Return a future that is resolved at the next change: head, bytes, end or error."""
        self._waiter = self._loop.create_future()
        return self._waiter

    def take(self) -> bytes:
        """Return all pieces that have arrived, and resume reading if it was paused."""
        data = self.pieces[0] if len(self.pieces) == 1 else b"".join(self.pieces)
        self.pieces.clear()
        self.pending = 0
        if self._paused:
            self._paused = False
            self._last = self._loop.time()
            self.connection.resume()
        return data

    def release(self) -> None:
        """Discard the rest of the body, up to TAIL_BYTES, so that the connection can be kept."""
        if not self.done and self.error is None:
            self._discard = True
            self._timeouts = Timeouts(idle=TAIL_S)
            self._started = self._last = self._loop.time()
            self.take()
            self._watch()

    def limit_time(self, seconds: float) -> None:
        """Replace all time limits: the response must end within `seconds` from now."""
        if not self.done and self.error is None:
            self._timeouts = Timeouts(total=seconds)
            self._started = self._loop.time()
            self._watch()

    def limit_idle(self, seconds: float | None) -> None:
        """Replace the limit of silence."""
        if not self.done and self.error is None:
            self._timeouts = replace(self._timeouts, idle=seconds)
            self._watch()

    def abort(self, error: ClientError) -> None:
        """Fail with `error` and close the socket at once, unless complete or released."""
        if not self.done and self.error is None and not self._discard:
            self._fail(error)

    # -- called by the connection -----------------------------------------------------------------

    def advance(self) -> None:
        """Parse the bytes in the connection's buffer."""
        if self.done or self.error is not None:
            return None
        self.touched = True
        self._last = self._loop.time()
        try:
            if self._body is None and not self._read_head():
                return None
            assert self._body is not None
            data = self._body.pull()
        except ProtocolError as error:
            where = self.connection.where
            if isinstance(error, TruncatedError):
                return self._fail(ClientError("closed", f"{where} closed the connection early"))
            return self._fail(ClientError("protocol", f"{where} broke HTTP: {error}"))
        if data:
            self._keep(data)
        if self._body.done:
            self._finish()
        self._wake()
        return None

    def connection_lost(self, error: Exception | None) -> None:
        """Handle the end of the connection, with `error` unless it was orderly.

        Only an orderly end may end a body: after an error part of it may be missing
        (RFC 9112 section 8).
        """
        if self.done or self.error is not None:
            return
        self.connection.buffer.feed_eof()
        if error is None and (self.touched or self.connection.buffer.data):
            self.advance()
        if not self.done and self.error is None:
            text = f"{self.connection.where} closed the connection"
            self._fail(ClientError("closed", text if error is None else f"{text}: {plain(error)}"))

    def _read_head(self) -> bool:
        head = advance(self._steps)
        if head is None:
            return False
        del self._steps
        self.head = head
        self._body = Body(self.connection.buffer, head.framing, self._limits)
        if self._method == "CONNECT":  # the tunnel follows: RFC 9110 section 9.3.6
            self.done = True
            self._stop_timer()
            self._wake()
            return False
        return True

    def _keep(self, data: bytes) -> None:
        self.pending += len(data)
        self._body_begun = True
        if self._discard:
            if self.pending > TAIL_BYTES:
                self._fail(ClientError("closed", "the answer went on after its end"))
            return
        self.pieces.append(data)
        if self.pending > HIGH_WATER and not self._paused:
            self._paused = True
            self.connection.pause()

    def _finish(self) -> None:
        if self.error is not None:
            return
        self.done = True
        self._stop_timer()
        assert self.head is not None
        self.connection.finish(reusable=self.head.reusable)

    def _fail(self, error: ClientError) -> None:
        self.error = error
        self._stop_timer()
        self.connection.abort()
        self._wake()

    def _wake(self) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    # -- time -------------------------------------------------------------------------------------

    def _watch(self) -> None:
        """Arm the timer for the nearest deadline. When it fires, it checks for a later one.

        The idle limit counts already: it may be shorter than `first_byte`, and bytes arm no timer.
        """
        idle = self._timeouts.idle
        silent = self._loop.time() + (_NEVER if idle is None else idle)
        nearest = min(silent, *self._deadlines())
        if self._timer is not None and self._timer.when() <= nearest:
            return
        self._stop_timer()
        if nearest < _NEVER:
            self._timer = self._loop.call_at(nearest, self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        silent, whole = self._deadlines()
        if self._loop.time() < min(silent, whole):
            self._watch()
            return
        what = "went silent" if self._body_begun else "sent no answer"
        what = f"{what} for {self._quiet():g} s"
        if whole <= silent:
            what = f"was not done after {round(self._timeouts.total or 0, 2):g} s"
        self._fail(ClientError("timeout", f"{self.connection.where} {what}"))

    def _deadlines(self) -> tuple[float, float]:
        """Return the deadlines for the next byte and for the whole exchange, in loop time."""
        total = self._timeouts.total
        # Time in which reading is paused does not count as the server's silence.
        since = self._loop.time() if self._paused else self._last
        since = since if self._body_begun or self._discard else self._started
        return since + self._quiet(), self._started + (_NEVER if total is None else total)

    def _quiet(self) -> float:
        """Return the longest allowed silence in the current phase, in seconds."""
        limits = self._timeouts
        most = limits.idle if self._body_begun or self._discard else limits.first_byte
        return _NEVER if most is None else most

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class ClientConnection(asyncio.Protocol):
    """A connection to one origin. `where` is its name in messages."""

    def __init__(self, where: str, origin: Hashable, pool: ConnectionPool) -> None:
        self.loop = asyncio.get_running_loop()
        self.where = where
        self.buffer = Buffer()
        self.exchange: ClientExchange | None = None
        self._origin, self._pool = origin, pool
        self._transport: asyncio.Transport | None = None

    def start(
        self, method: str, request: bytes, limits: MessageLimits, timeouts: Timeouts, started: float
    ) -> ClientExchange:
        """Write the serialized `request` and return the exchange for its response.

        `started`: loop time from which the time limits count.
        """
        assert self._transport is not None
        self.exchange = ClientExchange(self, method, limits, timeouts, started)
        self._transport.write(request)
        return self.exchange

    def expect_confirmation(self, seconds: float | None) -> None:
        """End the connection if sent data stays unacknowledged for `seconds`; Linux only.

        None restores the system's default. A live peer that accepts no data for so long counts as
        unresponsive too (TCP_USER_TIMEOUT).
        """
        sock = self.transport.get_extra_info("socket")
        if sys.platform == "linux" and sock is not None:
            milliseconds = 0 if seconds is None else max(1, round(seconds * 1000))
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, milliseconds)

    def adopt(self, transport: asyncio.Transport) -> None:
        """Use another transport from now on, after an upgrade to TLS."""
        self._transport = transport

    @property
    def transport(self) -> asyncio.Transport:
        """Return the transport of the open connection."""
        assert self._transport is not None
        return self._transport

    def alive(self) -> bool:
        """Return whether the connection is open, as far as is known."""
        transport = self._transport
        return transport is not None and not transport.is_closing() and not self.buffer.eof

    def pause(self) -> None:
        """Stop reading from the socket."""
        if self.alive():
            self.transport.pause_reading()

    def resume(self) -> None:
        """Read from the socket again."""
        if self.alive():
            self.transport.resume_reading()

    def finish(self, *, reusable: bool) -> None:
        """Return the connection to the pool after an exchange, or close it."""
        self.exchange = None
        if not reusable or self.buffer.data or not self.alive():
            self.abort()
            return
        self.transport.resume_reading()
        self._pool.put(self._origin, self)

    def abort(self) -> None:
        """Close at once, so that the peer stops sending."""
        self._pool.open.discard(self)
        if self._transport is not None:
            self._transport.abort()

    # -- asyncio.Protocol -------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Register the open connection in the pool."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._pool.open.add(self)

    def data_received(self, data: bytes) -> None:
        """Parse the bytes in the exchange; close the connection if there is none."""
        self.buffer.feed(data)
        if self.exchange is None:
            self.abort()  # data without a request: the next response could not be trusted
        else:
            self.exchange.advance()

    def eof_received(self) -> None:
        """End the exchange in an orderly way."""
        self.buffer.feed_eof()
        if self.exchange is not None:
            self.exchange.connection_lost(None)

    def connection_lost(self, exc: Exception | None) -> None:
        """Remove the connection from the pool and end its exchange."""
        self._pool.open.discard(self)
        self.buffer.feed_eof()
        if self.exchange is not None:
            self.exchange.connection_lost(exc)


class ConnectionPool:
    """Idle connections by origin; `open` holds all open ones.

    `per_origin`: most idle connections of one origin. `idle_s`: seconds until an idle one is
    closed.
    """

    def __init__(self, per_origin: int, idle_s: float) -> None:
        self._per_origin, self._idle_s = per_origin, idle_s
        self.open: set[ClientConnection] = set()
        self._idle: dict[Hashable, list[tuple[ClientConnection, float]]] = {}  # with since when
        self._timer: asyncio.TimerHandle | None = None  # of the next `_expire`

    def take(self, origin: Hashable) -> ClientConnection | None:
        """Remove and return the most recently used idle connection; None if there is none.

        The peer may have closed it unnoticed.
        """
        waiting = self._idle.get(origin, [])
        while waiting:
            connection, _ = waiting.pop()
            if not waiting:
                self._idle.pop(origin, None)
            if connection.alive():
                return connection
        return None

    def put(self, origin: Hashable, connection: ClientConnection) -> None:
        """Keep an idle connection. Closes the oldest beyond `per_origin`."""
        waiting = self._idle.setdefault(origin, [])
        waiting.append((connection, connection.loop.time()))
        if len(waiting) > self._per_origin:
            waiting.pop(0)[0].abort()
        if self._timer is None:
            # Not in the context of a run, which refers to its whole session.
            self._timer = connection.loop.call_later(
                self._idle_s, self._expire, connection.loop, context=Context()
            )

    def close(self) -> None:
        """Close all open connections, idle or not."""
        self._idle.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for connection in tuple(self.open):
            connection.abort()

    def _expire(self, loop: asyncio.AbstractEventLoop) -> None:
        """Close what has been idle for too long, and look again when the next one will have."""
        self._timer, now = None, loop.time()
        for origin, waiting in tuple(self._idle.items()):
            while waiting and now - waiting[0][1] >= self._idle_s:
                waiting.pop(0)[0].abort()
            if not waiting:
                del self._idle[origin]
        if self._idle:
            oldest = min(waiting[0][1] for waiting in self._idle.values())
            self._timer = loop.call_at(oldest + self._idle_s, self._expire, loop)


def plain(error: Exception) -> str:
    """Return the reason of an OSError or SSLError without addresses or file names."""
    if isinstance(error, ssl.SSLError):
        return (getattr(error, "reason", "") or "cut short").replace("_", " ").lower()
    if isinstance(error, socket.gaierror):  # its numbers are not errno values
        return error.strerror or "not a valid name"
    # asyncio's text holds the addresses, and for several of them all errors.
    numbers = dict.fromkeys(re.findall(r"\[Errno ([0-9]+)\]", str(error)))
    if numbers:
        return ", ".join(os.strerror(int(number)) for number in numbers)
    return getattr(error, "strerror", None) or type(error).__name__
