"""The server side of one client connection, with a deadline for every wait.

`listener` makes a `ServerConnection` for each client. It passes received bytes to `parser`, starts
the server's handler once a head is complete (so the key is checked before the body is read), and
parses the next request when the answer has been sent.

Every wait has a deadline and every buffer a limit. Deadlines are plain attributes that `check`
compares, not timers. A disconnect cancels the handler. After a refusal the connection lingers so
that the client can read the answer (RFC 9112 section 9.6).
"""

from __future__ import annotations

import asyncio
import fcntl
import ipaddress
import math
import select
import socket
import sys
import termios
from asyncio.sslproto import SSLProtocol
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Any, Protocol, cast

from ..problem import Problem
from ..runtime.accounts import NOBODY, Accounts, Pool
from ..runtime.run_id import run_id
from . import parser
from .cors import Origins
from .exchange import Exchange, problem_of, refusal_bytes
from .parser import NO_BODY, ProtocolError, TruncatedError

# -- connection limit -----------------------------------------------------------------------------
# The limits on the number of connections, and which connection is closed for a new one.
#
# At the limit a new connection replaces the one that has waited longest for a request. Connections
# in a request are never closed for it. If all are in a request, the new one stays open until its
# head has arrived: spared paths such as `/health` are still answered, others get 503.

SPARE = 8  # connections without a place that may wait for their head at the same time


class PlacedConnection(Protocol):
    """The interface of a connection that `ConnectionLimit` uses."""

    network: str  # from `network_of`

    def is_sending(self) -> bool:
        """Return whether a part of an answer is not sent yet."""

    def give_way(self) -> None:
        """Close the connection, which waits for a request."""

    def turn_away(self) -> None:
        """Answer 503 and close the connection."""

    def abort(self) -> None:
        """Close the connection at once and drop unsent bytes."""


class ConnectionLimit:
    """At most `most` connections, and at most `most_each` of one network (0: no limit).

    `warn` is called with a text when a limit is reached, and again only after the number has
    fallen to half of it.
    """

    def __init__(self, most: int, most_each: int, warn: Callable[[str], None]) -> None:
        self._most, self._most_each, self._warn = most, most_each or math.inf, warn
        self._places = Pool(most, math.inf)  # by network
        self._inside: set[PlacedConnection] = set()  # those with a place
        self._waiting: dict[PlacedConnection, None] = {}  # for a head; longest first
        self._refused: dict[PlacedConnection, None] = {}  # without a place; longest first
        self._warned: set[str] = set()  # networks; "" is for all together

    def take(self, one: PlacedConnection) -> str:
        """Give a new connection a place. Return why there is none, or "" if there is one.

        May close the connection that has waited longest. If more than SPARE connections without a
        place wait for their head, the oldest of them is refused.
        """
        full = one.network if self._places.of(one.network) >= self._most_each else ""
        if full or not self._places.fits(one.network):
            self._tell(full)
            other = self._longest_waiting(full)
            if other is None:
                self._waiting[one] = None
                without = [each for each in self._waiting if each not in self._inside]
                if len(without) > SPARE:
                    self.begin(without[0])
                    without[0].turn_away()
                limit, whose = (self._most_each, " of one address") if full else (self._most, "")
                return f"All {limit} connections{whose} are taken; try again shortly."
            self._remove(other)
            other.give_way()
        self._inside.add(one)
        self._waiting[one] = None
        self._places.change(one.network, 1)
        return ""

    def begin(self, one: PlacedConnection) -> None:
        """Note that a request has arrived on this connection."""
        self._waiting.pop(one, None)

    def end(self, one: PlacedConnection) -> None:
        """Note that the request is answered and the connection waits again, or lingers."""
        self.begin(one)
        (self._waiting if one in self._inside else self._refused)[one] = None

    def longest_refused(self) -> PlacedConnection | None:
        """Remove and return the connection without a place that has lingered longest."""
        for one in self._refused:
            del self._refused[one]
            return one
        return None

    def leave(self, one: PlacedConnection) -> None:
        """Free the place of a closed connection, if it has one."""
        self._remove(one)
        self._refused.pop(one, None)
        if self._places.total <= self._most // 2:
            self._warned.discard("")
        if one.network and self._places.of(one.network) <= self._most_each // 2:
            self._warned.discard(one.network)

    def _remove(self, one: PlacedConnection) -> None:
        self.begin(one)
        if one in self._inside:
            self._inside.remove(one)
            self._places.change(one.network, -1)

    def _tell(self, network: str) -> None:
        if network not in self._warned:
            self._warned.add(network)
            which = f"{self._most} connections of server.limits.max_connections are taken"
            if network:
                key = "server.limits.max_connections_per_address"
                which = f"{self._most_each} connections of {key} are taken by {network}"
            self._warn(
                f"all {which}: one that is idle is closed for each new one, or that gets 503"
            )

    def _longest_waiting(self, network: str) -> PlacedConnection | None:
        for one in self._waiting:
            if one in self._inside and network in ("", one.network) and not one.is_sending():
                return one
        return None


@lru_cache(maxsize=1024)  # the same few clients connect again and again
def network_of(peer: str) -> str:
    """Return the part of an address that a client cannot easily change: IPv4, or an IPv6 /64.

    Return "" for loopback addresses, which may be those of a proxy, and for an invalid address.
    """
    try:
        address = ipaddress.ip_address(peer.partition("%")[0])
    except ValueError:
        return ""
    if address.is_loopback:
        return ""
    if isinstance(address, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((address, 64), strict=False))
    return str(address)


# -- connection -----------------------------------------------------------------------------------

READ_AHEAD = 64 * 1024  # bytes buffered during a request before reading pauses
HIGH_WATER = 64 * 1024  # bytes not yet taken by the kernel before `drain` waits
TLS_BUFFER = 64 * 1024  # bytes that asyncio keeps for each TLS connection, in place of 256 KiB
TLS_WORK = 3 * TLS_BUFFER  # bytes besides, of a TLS connection in a request
FLUSH_POLL_S = 0.002  # interval at which `flush` polls the buffers of a TLS connection
HALF_CLOSE_GRACE = 0.25  # s; `printf … | nc -N` closes its half before it reads a quick answer

_HANG_UP = getattr(select, "POLLRDHUP", 0)  # Linux only
_NEVER = float("inf")
SSLProtocol.max_size = TLS_BUFFER


@dataclass(frozen=True)
class ServerLimits(parser.MessageLimits):
    """Limits of the parser and the listener, in seconds, bytes, bytes per second or connections."""

    max_connections: int = 1024  # beyond: the longest idle is closed, or 503 with Retry-After
    max_memory: int = 512 * 1024 * 1024  # bytes held by all requests together; beyond: 503
    max_connections_per_address: int = 256  # 0: no limit; loopback clients have none
    head_timeout_s: float = 10  # from the first byte of a head to its last: 408
    body_grace_s: float = 5  # a body may pause this long ...
    body_min_rate: float = 1024  # ... but must reach this rate (bytes per second): 408
    idle_timeout_s: float = 30  # between requests
    write_timeout_s: float = 30  # aborted if the client reads below body_min_rate for this long
    linger_idle_s: float = 5  # longest pause in what a client still sends while lingering ...
    linger_s: float = 30  # ... and longest lingering; like nginx's lingering_timeout and _time

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> ServerLimits:
        """Return the limits from `server.limits`. Keys of other modules are ignored."""
        ours = {key: config[key] for key in config if key in cls.__dataclass_fields__}
        return cls(body=config["max_request_size"], **ours)


class Phase(Enum):
    """The state of a connection."""

    IDLE = "nothing of a request is here"
    HEAD = "a head is arriving"
    RUNNING = "the handler works; what arrives waits"
    BODY = "the handler waits for the body"
    LINGER = "all is said; what arrives is dropped until the client closes"


class Server(Protocol):
    """The interface of the server that a connection uses."""

    limits: ServerLimits
    origins: Origins
    loop: asyncio.AbstractEventLoop
    closing: bool
    accounts: Accounts
    tasks: set[asyncio.Task[None]]

    places: ConnectionLimit

    def admit(self, connection: ServerConnection) -> str:
        """Register a connection. Return why there is no place for it, or ""."""

    def dismiss(self, connection: ServerConnection) -> None:
        """Remove a closed connection."""

    def is_spared(self, request: parser.RequestHead) -> bool:
        """Return whether the request is served on a connection without a place."""

    async def run(self, exchange: Exchange) -> None:
        """Run the handler for one exchange."""

    def next_id(self) -> str:
        """Return a new request id."""

    def date(self) -> str:
        """Return the value of the Date header."""


class ServerConnection(asyncio.Protocol):
    """A client connection. Requests are answered one after the other."""

    __slots__ = (
        "_arrived", "_body", "_buffer", "_deadline", "_excess", "_expects", "_framing", "_held",
        "_peer", "_phase", "_raw", "_resumed", "_server", "_steps", "_stops_at", "_taken",
        "_taken_at", "_task", "_transport", "_waiter", "_written", "behind", "ended", "gone",
        "network", "person",
        "socket",
    )  # fmt: skip

    def __init__(self, server: Server) -> None:
        # Of the connection
        self._server = server
        self._transport: asyncio.Transport
        self.socket: Any = None  # the operating system's socket, also with TLS
        self._raw: asyncio.Transport | None = None  # the transport below TLS
        self._peer = ""
        self.network = ""  # of the peer's address
        self._excess = ""  # why this connection has no place; then only spared paths are served
        self._buffer = parser.Buffer()
        self._phase = Phase.IDLE
        self._deadline = _NEVER  # of the phase, in loop time
        self._stops_at = _NEVER  # latest end of lingering, in loop time
        self.ended = False  # the client has closed its sending half
        self.gone = False  # the connection is lost in both directions
        self.behind = False  # the write buffer is above HIGH_WATER, or the client is gone
        # Of writing
        self._resumed: asyncio.Event | None = None  # set once the kernel has taken enough
        self._written = 0
        self._taken = 0  # bytes taken by the kernel ...
        self._taken_at = 0.0  # ... at the last progress, in loop time
        # Of one exchange; its parts are dropped early, since an answer may take hours
        self._steps: parser.Steps[parser.RequestHead]  # only while a head is arriving
        self._task: asyncio.Task[None] | None = None
        self._framing = NO_BODY
        self._expects = False  # the client waits for 100 Continue
        self._body: parser.Body | None = None
        self._arrived = bytearray()
        self._held = 0  # bytes of memory counted for this request ...
        self.person = NOBODY  # ... and this person
        self._waiter: asyncio.Future[None] | None = None

    # Called by the event loop and the server

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Set buffer limits and timeouts, and ask the server for a place."""
        self._transport = cast(asyncio.Transport, transport)  # asyncio has set TCP_NODELAY
        try:
            self._set_up()
        except MemoryError:  # else nothing would ever close it
            self.abort()
            raise

    def _set_up(self) -> None:
        transport = self._transport
        self.socket = transport.get_extra_info("socket")
        transport.set_write_buffer_limits(high=HIGH_WATER)
        # Private, and the only way to see how much of a TLS connection the kernel has not taken.
        self._raw = getattr(getattr(transport, "_ssl_protocol", None), "_transport", None)
        self._server.accounts.take(NOBODY, "memory", self._buffers(TLS_BUFFER), always=True)
        peer = transport.get_extra_info("peername")
        self._peer = str(peer[0]).removeprefix("::ffff:") if peer else ""
        self.network = network_of(self._peer)
        limits, now = self._server.limits, self._server.loop.time()
        self._taken_at, self._deadline = now, now + limits.head_timeout_s
        if sys.platform == "linux":  # detect a peer that vanished without closing
            milliseconds = int(min(max(limits.write_timeout_s * 1000, 1), 2**31 - 1))
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, milliseconds)
        self._excess = self._server.admit(self)

    def data_received(self, data: bytes) -> None:
        """Parse the bytes, buffer them, or drop them, depending on the phase."""
        if self._phase is Phase.LINGER:
            now = self._server.loop.time()
            self._deadline = min(now + self._server.limits.linger_idle_s, self._stops_at)
            return
        self._buffer.feed(data)
        if self._phase is Phase.BODY:
            self._read_body(len(data))
        elif self._phase is Phase.RUNNING:
            self._hold_back()
        else:
            self._read_head()

    def eof_received(self) -> bool:
        """Return whether to keep our half open after the client has closed its half.

        A running handler is cancelled after HALF_CLOSE_GRACE: most such clients are gone.
        """
        self.ended = True
        self._buffer.feed_eof()
        if self._phase is Phase.BODY:
            self._read_body(0)
        if self._task is None or self._raw is not None:  # TLS cannot be closed by halves
            return False
        self._server.loop.call_later(HALF_CLOSE_GRACE, self._cancel)
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        """Free the place of the connection and cancel its handler."""
        self.ended = self.gone = True
        self._buffer.data.clear()  # what was given up is freed at once; see _drop_body
        self._buffer.feed_eof()
        self._server.dismiss(self)
        self._server.accounts.take(NOBODY, "memory", 0, before=self._buffers(TLS_BUFFER))
        self.resume_writing()
        self.behind = True
        self._cancel()

    def pause_writing(self) -> None:
        """Make `drain` wait: the write buffer is above its high-water mark."""
        self._resumed = asyncio.Event()
        self.behind = True

    def resume_writing(self) -> None:
        """Let `drain` return."""
        self.behind = self.gone
        if self._resumed is not None:
            self._resumed.set()
            self._resumed = None

    def check(self, now: float) -> None:
        """Enforce the deadlines. Called every tick, so they are late by at most one tick.

        `now` is in loop time, as all deadlines are.
        """
        waiting, limits = self._unsent(), self._server.limits
        taken = self._written - waiting
        if not waiting or taken - self._taken > limits.body_min_rate * limits.write_timeout_s:
            self._taken, self._taken_at = taken, now
        elif now - self._taken_at > limits.write_timeout_s:
            self.abort()
            return
        if waiting and self._phase is Phase.LINGER:
            self._begin_lingering(now)  # the time to linger starts when the answer has been sent
        if now >= self._deadline:
            self._expire()
        elif self._task is not None and not self._transport.is_reading() and self._hung_up():
            self.ended = True
            self._cancel()

    def _unsent(self) -> int:
        """Return the number of bytes that the kernel has not taken yet."""
        below = self._raw.get_write_buffer_size() if self._raw is not None else 0
        return self._transport.get_write_buffer_size() + below

    def unacknowledged_bytes(self) -> int | None:
        """Return how many sent bytes the peer has not acknowledged (tcp(7), SIOCOUTQ).

        None if that is not known: on other systems than Linux, or when the socket is closed.
        """
        if sys.platform != "linux" or self.socket is None or self.socket.fileno() < 0:
            return None
        count = fcntl.ioctl(self.socket.fileno(), termios.TIOCOUTQ, bytes(4))
        return int.from_bytes(count, sys.byteorder)

    def close_if_idle(self) -> None:
        """Close the connection if it waits for a further request.

        A new connection is left open: its first request is probably on its way.
        """
        if self._phase is Phase.IDLE and self._written:
            self._transport.close()

    def abort(self) -> None:
        """Close the connection at once and drop unsent bytes."""
        self._transport.abort()

    # Called by `ConnectionLimit` (see PlacedConnection)

    def is_sending(self) -> bool:
        """Return whether a part of an answer is not sent yet."""
        return self._unsent() > 0

    def give_way(self) -> None:
        """Close the connection."""
        self._transport.close()

    def turn_away(self) -> None:
        """Answer 503 and close the connection."""
        self._refuse(Problem("overloaded", self._excess, headers={"Retry-After": "1"}))

    def _expire(self) -> None:
        if self._excess and self._phase in (Phase.IDLE, Phase.HEAD):
            self.turn_away()
        elif self._phase is Phase.HEAD:
            seconds = self._server.limits.head_timeout_s
            self._refuse(Problem("timeout", f"The request head took longer than {seconds:g} s."))
        elif self._phase is Phase.BODY and self._waiter is not None:
            rate = self._server.limits.body_min_rate
            self._deadline = _NEVER
            late = ProtocolError(f"the body pauses, or has less than {rate:g} bytes a second", 408)
            if not self._waiter.done():
                self._waiter.set_exception(late)
        elif self._phase is Phase.IDLE:
            self._transport.close()
        else:
            self.abort()

    def _hung_up(self) -> bool:
        """Return whether the client has closed although unread bytes are left; Linux only."""
        if not _HANG_UP:
            return False
        poll = select.poll()
        poll.register(self.socket, _HANG_UP)
        return bool(poll.poll(0))

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()

    # From one request to the next

    def _read_head(self) -> None:
        if self._phase is Phase.IDLE:
            self._phase = Phase.HEAD
            self._deadline = self._server.loop.time() + self._server.limits.head_timeout_s
            self._steps = parser.parse_request(self._buffer, self._server.limits)
        try:
            request = parser.advance(self._steps)
        except TruncatedError:
            self._transport.close()
        except ProtocolError as error:
            self._refuse(problem_of(error, ""))
        else:
            if request is not None:
                self._start(request)

    def _start(self, request: parser.RequestHead) -> None:
        self._server.places.begin(self)
        if self._excess and not self._server.is_spared(request):
            self.turn_away()
            return
        self._phase = Phase.RUNNING
        self._deadline = _NEVER
        del self._steps
        self._body = None
        self._framing = request.framing
        self._expects = request.version != "1.0" and "expect" in request.headers
        self._hold_back()
        exchange = Exchange(self, request, self._server.next_id(), self._peer)
        self._task = self._server.loop.create_task(self._run(exchange))
        self._server.tasks.add(self._task)
        self._task.add_done_callback(self._server.tasks.discard)
        if self.ended:  # a pipelined request whose client has closed its half since
            self._server.loop.call_later(HALF_CLOSE_GRACE, self._cancel)

    async def _run(self, exchange: Exchange) -> None:
        try:
            run_id.set(exchange.id)
            await self._server.run(exchange)
        finally:
            try:
                self._end(exchange)
            except MemoryError:  # else nothing would ever close the connection
                self.abort()
                raise

    def _end(self, exchange: Exchange) -> None:
        self.hold(0)
        self._task, self.person = None, NOBODY
        if not self.gone:
            exchange.push()
            self._go_on(exchange)

    def _go_on(self, exchange: Exchange) -> None:
        if not exchange.finished:  # cut off: the client sees that the last chunk is missing
            self._transport.close()
        elif not exchange.keep_alive or self._server.closing:  # may close since the head was sent
            self._linger()
        else:
            self._phase = Phase.IDLE
            self._deadline = self._server.loop.time() + self._server.limits.idle_timeout_s
            self._server.places.end(self)
            if self._buffer.data or self.ended:
                self._read_head()
            if self._phase in (Phase.IDLE, Phase.HEAD) and not self.ended:
                self._transport.resume_reading()

    def _refuse(self, problem: Problem) -> None:
        """Answer without an exchange, then linger and close."""
        cors = self._server.origins.headers({})
        self.send(refusal_bytes(problem, cors, self._server.date(), self._server.next_id()))
        self._linger()

    def _linger(self) -> None:
        """Close our half and read on.

        Closing with unread bytes would reset the connection, and a client that is still sending
        would lose the answer.
        """
        self._buffer.data.clear()
        self._phase = Phase.LINGER
        self._server.places.end(self)
        self._begin_lingering(self._server.loop.time())
        if self.ended or self._transport.is_closing():
            self._transport.close()
        else:
            try:
                if self._transport.can_write_eof():  # not with TLS; there the length marks the end
                    self._transport.write_eof()
                self._transport.resume_reading()
            except OSError:  # reset before connection_lost was called
                self.abort()

    def _begin_lingering(self, now: float) -> None:
        self._deadline = now + self._server.limits.linger_idle_s
        self._stops_at = now + self._server.limits.linger_s

    # Called by an exchange (see exchange.Channel)

    def send(self, data: bytes) -> None:
        """Write bytes, or drop them if the connection is closing."""
        if not self._transport.is_closing():
            self._written += len(data)
            self._transport.write(data)

    async def drain(self) -> None:
        """Wait until the write buffer is small enough. Raises ConnectionResetError."""
        while self._resumed is not None and not self.gone:
            await self._resumed.wait()
        if self.gone:
            raise ConnectionResetError("the client is gone")

    async def flush(self) -> None:
        """Wait until the kernel has every byte. Raises ConnectionResetError."""
        while self._raw is not None and self._unsent() and not self.gone:
            await asyncio.sleep(FLUSH_POLL_S)  # asyncio's TLS never resumes from a mark of 0
        while self._transport.get_write_buffer_size() and not self.gone:
            self._transport.set_write_buffer_limits(high=0)
            await self.drain()
        self._transport.set_write_buffer_limits(high=HIGH_WATER)
        await self.drain()

    async def read_body(self) -> bytes:
        """Return the request body; b"" if there is none. Raises ProtocolError or Problem.

        Sends 100 Continue if the client waits for it.
        """
        if self._framing is NO_BODY:
            return b""
        self._body = parser.Body(self._buffer, self._framing, self._server.limits)
        try:
            self._arrived += self._body.pull()
            if not self._body.done:
                if self._expects and not self._arrived and not self._buffer.data:
                    self.send(b"HTTP/1.1 100 Continue\r\n\r\n")
                await self._rest_of_body()
            self._framing = NO_BODY  # the body is consumed
            return bytes(self._arrived)
        except BaseException:
            self._framing = parser.UNTIL_CLOSE  # where the next request begins is not known
            raise
        finally:
            self._drop_body()

    def _drop_body(self) -> None:
        """Free what has arrived of a body: the garbage collector may not run for hours."""
        self._arrived, self._body = bytearray(), None

    async def _rest_of_body(self) -> None:
        self.hold(len(self._arrived))
        self._phase = Phase.BODY
        self._deadline = self._server.loop.time() + self._server.limits.body_grace_s
        self._waiter = self._server.loop.create_future()
        self._transport.resume_reading()
        try:
            await self._waiter
        finally:
            self._phase = Phase.RUNNING
            self._deadline = _NEVER
            self._waiter = None

    def _read_body(self, size: int) -> None:
        """Read on in the body; `size` is the number of new bytes.

        Each byte extends the deadline by 1 / body_min_rate, at most to body_grace_s from now.
        """
        if self._body is None or self._waiter is None or self._waiter.done():
            return
        limits, now = self._server.limits, self._server.loop.time()
        bought = size / limits.body_min_rate if limits.body_min_rate else _NEVER
        self._deadline = min(self._deadline + bought, now + limits.body_grace_s)
        try:
            self._arrived += self._body.pull()
            if self._body.done:
                self._waiter.set_result(None)
            else:
                self.hold(sys.getsizeof(self._arrived))  # an eighth may be in reserve
        except (ProtocolError, Problem) as error:
            self._drop_body()
            self._waiter.set_exception(error)

    def hold(self, size: int, *, always: bool = False) -> None:
        """Set the bytes counted for this request; see exchange.Channel."""
        if self._task is not None:  # else work outlives the request, and is not counted any more
            take, held = self._server.accounts.take, self._held
            size += self._buffers(TLS_WORK) if size else 0
            take(self.person, "memory", size, before=held, always=always)
            self._held = size

    def _buffers(self, size: int) -> int:
        """Return the memory of asyncio's buffers: `size` with TLS, else none worth counting."""
        return 0 if self._raw is None else size

    def date(self) -> str:
        """Return the value of the Date header."""
        return self._server.date()

    def end_reading(self) -> bool:
        """Drop the unread body; see exchange.Channel."""
        if self._server.closing or self._excess:
            return False
        if self._framing is NO_BODY:
            return True
        self._body = self._body or parser.Body(self._buffer, self._framing, self._server.limits)
        try:
            self._body.pull()
        except ProtocolError:
            return False
        return self._body.done

    def _hold_back(self) -> None:
        if len(self._buffer.data) > READ_AHEAD and not self.ended:
            self._transport.pause_reading()
