"""One client connection, one exchange on it, and the connections that wait for the next.

In the walk: `client` opens or takes a `Connection` and starts an `Exchange`; bytes from the socket
go through `http11` straight into the exchange's list of pieces. Reading is a protocol's
`data_received` (4.6 µs an event against 9 for a stream reader) and all time limits of an exchange
share one timer that looks at the clock (a timeout object per read costs 7-15 µs).
The rule of the file: no coroutine here, so nothing can be cancelled half-way.
"""

from __future__ import annotations

import asyncio
import os
import re
import socket
import ssl
import sys
from collections.abc import Hashable
from dataclasses import dataclass

from .headers import ProtocolError, Truncated
from .parser import Body, Buffer, Limits, Response, advance, parse_response

HIGH_WATER = 512 * 1024  # decoded bytes that may wait for a slow reader
TAIL_BYTES = 64 * 1024  # what may still come after a reader has seen all it wants …
TAIL_S = 1.0  # … and for how long, to save the connection
_NEVER = float("inf")


class ClientError(Exception):
    """A request that got no whole answer. `kind`: connect, tls, timeout, protocol, closed or
    refused. The message names the host, never a path or a header."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message


@dataclass(frozen=True)
class Timeouts:
    """Seconds; None means no limit. `first_byte` runs until the first byte of the body, since many
    model servers send their head at once and think afterwards; `idle` between any two reads."""

    connect: float | None = 10.0
    first_byte: float | None = None
    idle: float | None = None
    total: float | None = None


class Exchange:
    """One request's answer on one connection."""

    def __init__(
        self,
        connection: Connection,
        method: str,
        limits: Limits,
        timeouts: Timeouts,
        started: float,
    ) -> None:
        self.connection = connection
        self.pieces: list[bytes] = []
        self.pending = 0  # bytes in pieces
        self.done = False
        self.error: ClientError | None = None
        self.touched = False  # any byte of the answer has come
        self.head: Response | None = None
        self._method, self._limits, self._timeouts = method, limits, timeouts
        self._loop = connection.loop
        self._steps = parse_response(connection.buffer, method, limits)  # until the head is here
        self._body: Body | None = None
        self._body_begun = self._discard = self._paused = False
        self._started, self._last = started, self._loop.time()
        self._waiter: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._watch()

    # -- called by the reader ---------------------------------------------------------------------

    def wait(self) -> asyncio.Future[None]:
        """Resolved at the next change: a head, bytes, the end, an error."""
        self._waiter = self._loop.create_future()
        return self._waiter

    def take(self) -> bytes:
        """Everything that has arrived."""
        data = self.pieces[0] if len(self.pieces) == 1 else b"".join(self.pieces)
        self.pieces.clear()
        self.pending = 0
        if self._paused:
            self._paused = False
            self._last = self._loop.time()
            self.connection.resume()
        return data

    def release(self) -> None:
        """The reader has all it wants: let the tail arrive, for the connection's sake."""
        if not self.done and self.error is None:
            self._discard = True
            self._timeouts = Timeouts(idle=TAIL_S)
            self._started = self._last = self._loop.time()
            self.take()
            self._watch()

    def hurry(self, seconds: float) -> None:
        """All that is still to come has so long, whatever comes meanwhile."""
        if not self.done and self.error is None:
            self._timeouts = Timeouts(total=seconds)
            self._started = self._loop.time()
            self._watch()

    def abort(self, error: ClientError) -> None:
        """End now, closing the socket at once; what was released is left to its last second."""
        if not self.done and self.error is None and not self._discard:
            self._fail(error)

    # -- called by the connection -----------------------------------------------------------------

    def advance(self) -> None:
        """Parse what the buffer holds."""
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
            if isinstance(error, Truncated):
                return self._fail(ClientError("closed", f"{where} closed the connection early"))
            return self._fail(ClientError("protocol", f"{where} broke HTTP: {error}"))
        if data:
            self._keep(data)
        if self._body.done:
            self._finish()
        self._wake()
        return None

    def lost(self, error: Exception | None) -> None:
        """The connection is gone. Only an orderly end may end a body: after an error there may have
        been more of it (RFC 9112 section 8)."""
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
        if self._method == "CONNECT":  # what follows is the tunnel: RFC 9110 section 9.3.6
            self.done = True
            self._stop_timer()
            self._wake()
            return False
        return True

    def _keep(self, data: bytes) -> None:
        self.pending += len(data)
        if not self._body_begun:
            self._body_begun = True
            self._watch()  # the idle limit may be the shorter one
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
        self.connection.finished(reusable=self.head.reusable)

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
        """Arm the one timer for the nearest limit; it looks again when it fires."""
        self._stop_timer()
        nearest = min(self._deadlines())
        if nearest < _NEVER:
            self._timer = self._loop.call_at(nearest, self._on_timer)

    def _on_timer(self) -> None:
        silent, whole = self._deadlines()
        if self._loop.time() < min(silent, whole):
            self._watch()
            return
        what = "went silent" if self._body_begun else "sent no answer"
        what = f"{what} for {self._quiet():g} s"
        if whole <= silent:
            what = f"was not done after {self._timeouts.total:g} s"
        self._fail(ClientError("timeout", f"{self.connection.where} {what}"))

    def _deadlines(self) -> tuple[float, float]:
        """When it will have been silent, and when it will have gone on, for too long."""
        total = self._timeouts.total
        # A reader that lags behind is not the server's silence.
        since = self._loop.time() if self._paused else self._last
        since = since if self._body_begun or self._discard else self._started
        return since + self._quiet(), self._started + (_NEVER if total is None else total)

    def _quiet(self) -> float:
        """For how long nothing may come now."""
        limits = self._timeouts
        most = limits.idle if self._body_begun or self._discard else limits.first_byte
        return _NEVER if most is None else most

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class Connection(asyncio.Protocol):
    """A socket to one origin of the pool's. `where` is its name for people."""

    def __init__(self, where: str, origin: Hashable, pool: Pool) -> None:
        self.loop = asyncio.get_running_loop()
        self.where = where
        self.buffer = Buffer()
        self.exchange: Exchange | None = None
        self._origin, self._pool = origin, pool
        self._transport: asyncio.Transport | None = None

    def start(
        self, method: str, request: bytes, limits: Limits, timeouts: Timeouts, started: float
    ) -> Exchange:
        assert self._transport is not None
        self.exchange = Exchange(self, method, limits, timeouts, started)
        self._transport.write(request)
        return self.exchange

    def expect_confirmation(self, seconds: float | None) -> None:
        """What is sent from now on is to be confirmed within so long, or the connection ends; None:
        within the system's patience. To the system (Linux only), a peer that is alive and takes
        nothing for so long has not confirmed it either."""
        sock = self.transport.get_extra_info("socket")
        if sys.platform == "linux" and sock is not None:
            milliseconds = 0 if seconds is None else max(1, round(seconds * 1000))
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, milliseconds)

    def adopt(self, transport: asyncio.Transport) -> None:
        """TLS was put on: from now on this transport is the one to write to."""
        self._transport = transport

    @property
    def transport(self) -> asyncio.Transport:
        assert self._transport is not None
        return self._transport

    def alive(self) -> bool:
        transport = self._transport
        return transport is not None and not transport.is_closing() and not self.buffer.eof

    def pause(self) -> None:
        if self.alive():
            self.transport.pause_reading()

    def resume(self) -> None:
        if self.alive():
            self.transport.resume_reading()

    def finished(self, *, reusable: bool) -> None:
        self.exchange = None
        if not reusable or self.buffer.data or not self.alive():
            self.abort()
            return
        self.transport.resume_reading()
        self._pool.put(self._origin, self)

    def abort(self) -> None:
        """Close without ceremony: the peer must notice at once that nobody listens."""
        self._pool.open.discard(self)
        if self._transport is not None:
            self._transport.abort()

    # -- asyncio.Protocol -------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._pool.open.add(self)

    def data_received(self, data: bytes) -> None:
        self.buffer.feed(data)
        if self.exchange is None:
            self.abort()  # an answer to no question: nothing that follows can be trusted
        else:
            self.exchange.advance()

    def eof_received(self) -> None:
        self.buffer.feed_eof()
        if self.exchange is not None:
            self.exchange.lost(None)

    def connection_lost(self, exc: Exception | None) -> None:
        self._pool.open.discard(self)
        self.buffer.feed_eof()
        if self.exchange is not None:
            self.exchange.lost(exc)


class Pool:
    """Idle connections by origin, the most recently used first; and which are `open` at all."""

    def __init__(self, per_origin: int, idle_s: float) -> None:
        self._per_origin, self._idle_s = per_origin, idle_s
        self.open: set[Connection] = set()
        self._idle: dict[Hashable, list[tuple[Connection, asyncio.TimerHandle]]] = {}

    def take(self, origin: Hashable) -> Connection | None:
        """A connection that is not known to be closed."""
        waiting = self._idle.get(origin, [])
        while waiting:
            connection, timer = waiting.pop()
            timer.cancel()
            if not waiting:
                self._idle.pop(origin, None)
            if connection.alive():
                return connection
        return None

    def put(self, origin: Hashable, connection: Connection) -> None:
        waiting = self._idle.setdefault(origin, [])
        timer = connection.loop.call_later(self._idle_s, self._expire, origin, connection)
        waiting.append((connection, timer))
        if len(waiting) > self._per_origin:
            self._expire(origin, waiting[0][0])

    def close(self) -> None:
        """Closes all that is open: the idle, the one whose tail is awaited, the one still read."""
        for waiting in self._idle.values():
            for _, timer in waiting:
                timer.cancel()
        self._idle.clear()
        for connection in tuple(self.open):
            connection.abort()

    def _expire(self, origin: Hashable, connection: Connection) -> None:
        waiting = self._idle.get(origin, [])
        for entry in waiting:
            if entry[0] is connection:
                waiting.remove(entry)
                entry[1].cancel()
                connection.abort()
                break
        if not waiting:
            self._idle.pop(origin, None)


def plain(error: Exception) -> str:
    """The reason of an OSError or SSLError without addresses or file names."""
    if isinstance(error, ssl.SSLError):
        return (getattr(error, "reason", "") or "cut short").replace("_", " ").lower()
    if isinstance(error, socket.gaierror):  # its numbers are others: BSD's 8 is no errno
        return error.strerror or "not a valid name"
    # asyncio's text has the address; where a name has several, it is that of all their errors.
    numbers = dict.fromkeys(re.findall(r"\[Errno ([0-9]+)\]", str(error)))
    if numbers:
        return ", ".join(os.strerror(int(number)) for number in numbers)
    return getattr(error, "strerror", None) or type(error).__name__
