"""One client's connection: bytes to requests, answers to bytes, and a deadline for every wait.

In the walk: `listener` makes a `Connection` for each client; it feeds what arrives to `http11`,
starts the server's handler once a head is complete (so a key is checked before a body is read), and
looks at the next request when the answer is out. The rules of the file: every wait has a deadline
and every buffer a limit; deadlines are plain attributes that `check` compares, never timers; a
client that is gone cancels its handler; after a refusal the connection lingers so that the client
can read why (RFC 9112 section 9.6).
"""

from __future__ import annotations

import asyncio
import select
import socket
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol, cast

from ..errors import Problem
from ..runtime.run_id import run_id
from . import parser
from .connection_limit import Places, network_of
from .cors import Origins
from .exchange import Exchange, no_memory, problem_of, refusal
from .headers import NO_BODY, ProtocolError, Truncated

READ_AHEAD = 64 * 1024  # bytes kept of a client that sends more than is asked for; then it waits
HIGH_WATER = 64 * 1024  # bytes the kernel has not taken before `drain` waits
FLUSH_POLL_S = 0.002  # between two looks at what a TLS connection still holds
HALF_CLOSE_GRACE = 0.25  # s; `printf … | nc -N` closes its half before it reads a quick answer

_HANG_UP = getattr(select, "POLLRDHUP", 0)  # Linux only
_NEVER = float("inf")


@dataclass(frozen=True)
class Limits(parser.Limits):
    """The parser's limits and the listener's: seconds, bytes per second, connections."""

    max_connections: int = 1024  # beyond them the longest idle is closed, or 503 with Retry-After
    max_memory: int = 512 * 1024 * 1024  # bytes that all requests together hold: 503
    max_connections_per_address: int = 256  # 0: no bound; nor for this machine's own
    head_timeout_s: float = 10  # from a head's first byte to its last: 408
    body_grace_s: float = 5  # a body may pause this long ...
    body_min_rate: float = 1024  # ... but must reach this rate: 408
    idle_timeout_s: float = 30  # between requests
    write_timeout_s: float = 30  # in which a client takes less of its answer than body_min_rate
    linger_idle_s: float = 5  # a refused client may pause this long in what it still sends ...
    linger_s: float = 30  # ... and go on for this long; as nginx's lingering_timeout and _time

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> Limits:
        """From the `server.limits` of the configuration, whose other keys are not ours."""
        ours = {key: config[key] for key in config if key in cls.__dataclass_fields__}
        return cls(body=config["max_request_size"], **ours)


class Phase(Enum):
    IDLE = "nothing of a request is here"
    HEAD = "a head is arriving"
    RUNNING = "the handler works; what arrives waits"
    BODY = "the handler waits for the body"
    LINGER = "all is said; what arrives is dropped until the client closes"


class Server(Protocol):
    """What a connection asks of the server it belongs to."""

    limits: Limits
    origins: Origins
    loop: asyncio.AbstractEventLoop
    closing: bool
    held: int  # bytes of memory that all requests together take
    tasks: set[asyncio.Task[None]]

    places: Places

    def admit(self, connection: Connection) -> str: ...
    def dismiss(self, connection: Connection) -> None: ...
    def is_spared(self, request: parser.Request) -> bool: ...
    async def run(self, exchange: Exchange) -> None: ...
    def next_id(self) -> str: ...
    def date(self) -> str: ...


class Connection(asyncio.Protocol):
    """One client: requests one after the other, each answered before the next is looked at."""

    __slots__ = (
        "_arrived", "_body", "_buffer", "_deadline", "_excess", "_expects", "_framing", "_held",
        "_peer", "_phase", "_raw", "_resumed", "_server", "_steps", "_stops_at", "_taken",
        "_taken_at", "_task", "_transport", "_waiter", "_written", "behind", "ended", "gone",
        "network",
        "socket",
    )  # fmt: skip

    def __init__(self, server: Server) -> None:
        # Of the connection
        self._server = server
        self._transport: asyncio.Transport
        self.socket: Any = None  # the system's, below TLS too
        self._raw: asyncio.Transport | None = None  # below TLS
        self._peer = ""
        self.network = ""  # of the peer's address
        self._excess = ""  # why this connection has no place; only /health is served then
        self._buffer = parser.Buffer()
        self._phase = Phase.IDLE
        self._deadline = _NEVER  # of the phase, in loop time
        self._stops_at = _NEVER  # of lingering, however much arrives
        self.ended = False  # the client sends no more
        self.gone = False  # nor does it read
        self.behind = False  # it has not taken what was written, or is gone
        # Of writing
        self._resumed: asyncio.Event | None = None  # set once the kernel has taken enough
        self._written = 0
        self._taken = 0  # bytes the kernel had taken ...
        self._taken_at = 0.0  # ... when it last took some
        # Of one exchange; what was read of it is let go, since an answer may take hours
        self._steps: parser.Steps[parser.Request]  # only while a head is arriving
        self._task: asyncio.Task[None] | None = None
        self._framing = NO_BODY
        self._expects = False  # the client waits for 100 Continue
        self._body: parser.Body | None = None
        self._arrived = bytearray()
        self._held = 0  # bytes of memory
        self._waiter: asyncio.Future[None] | None = None

    # What the event loop and the server call

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # asyncio has set TCP_NODELAY
        self.socket = transport.get_extra_info("socket")
        self._transport.set_write_buffer_limits(high=HIGH_WATER)
        # Not public, and the only way to see what of a TLS connection the kernel has not taken.
        self._raw = getattr(getattr(transport, "_ssl_protocol", None), "_transport", None)
        peer = transport.get_extra_info("peername")
        self._peer = str(peer[0]).removeprefix("::ffff:") if peer else ""
        self.network = network_of(self._peer)
        limits, now = self._server.limits, self._server.loop.time()
        self._taken_at = now
        self._deadline = now + limits.head_timeout_s
        if sys.platform == "linux":  # a peer that vanished without a word stalls writes too
            milliseconds = int(min(max(limits.write_timeout_s * 1000, 1), 2**31 - 1))
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, milliseconds)
        self._excess = self._server.admit(self)

    def data_received(self, data: bytes) -> None:
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
        """The client sends no more, most likely because it is gone. True keeps our half open."""
        self.ended = True
        self._buffer.feed_eof()
        if self._phase is Phase.BODY:
            self._read_body(0)
        if self._task is None or self._raw is not None:  # TLS has no half connections
            return False
        self._server.loop.call_later(HALF_CLOSE_GRACE, self._cancel)
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        self.ended = self.gone = True
        self._server.dismiss(self)
        self.resume_writing()
        self.behind = True
        self._cancel()

    def pause_writing(self) -> None:
        self._resumed = asyncio.Event()
        self.behind = True

    def resume_writing(self) -> None:
        self.behind = self.gone
        if self._resumed is not None:
            self._resumed.set()
            self._resumed = None

    def check(self, now: float) -> None:
        """Enforce what is due. Called every tick, so deadlines are late by at most one."""
        waiting, limits = self._unsent(), self._server.limits
        taken = self._written - waiting
        if not waiting or taken - self._taken > limits.body_min_rate * limits.write_timeout_s:
            self._taken, self._taken_at = taken, now
        elif now - self._taken_at > limits.write_timeout_s:
            self.abort()
            return
        if waiting and self._phase is Phase.LINGER:
            self._begin_lingering(now)  # only now that all is sent, or nearly
        if now >= self._deadline:
            self._expire()
        elif self._task is not None and not self._transport.is_reading() and self._hung_up():
            self.ended = True
            self._cancel()

    def _unsent(self) -> int:
        """Bytes that the kernel has not taken yet."""
        below = self._raw.get_write_buffer_size() if self._raw is not None else 0
        return self._transport.get_write_buffer_size() + below

    def close_if_idle(self) -> None:
        """A client that has never been answered is not idle: its first request is on its way."""
        if self._phase is Phase.IDLE and self._written:
            self._transport.close()

    def abort(self) -> None:
        self._transport.abort()

    # What `Places` asks (see places.Occupant)

    def is_sending(self) -> bool:
        return self._unsent() > 0

    def give_way(self) -> None:
        self._transport.close()

    def turn_away(self) -> None:
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
        """Whether the client is gone though its bytes still wait for us to read them."""
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
        except Truncated:
            self._transport.close()
        except ProtocolError as error:
            self._refuse(problem_of(error, ""))
        else:
            if request is not None:
                self._start(request)

    def _start(self, request: parser.Request) -> None:
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
        if self.ended:  # pipelined by a client that has closed its half since
            self._server.loop.call_later(HALF_CLOSE_GRACE, self._cancel)

    async def _run(self, exchange: Exchange) -> None:
        run_id.set(exchange.id)
        try:
            await self._server.run(exchange)
        finally:
            self._task = None
            self.hold(0)
            if not self.gone:
                exchange.push()
                self._go_on(exchange)

    def _go_on(self, exchange: Exchange) -> None:
        if not exchange.finished:  # cut: without the last chunk the client can tell
            self._transport.close()
        elif not exchange.keep_alive or self._server.closing:  # begun after the head
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
        """Answer what is not even a request, and go no further on this connection."""
        cors = self._server.origins.headers({})
        self.send(refusal(problem, cors, self._server.date(), self._server.next_id()))
        self._linger()

    def _linger(self) -> None:
        """Close our half, and read on: closing with bytes unread would reset the connection and
        take our answer away from a client that is still sending."""
        self._buffer.data.clear()
        self._phase = Phase.LINGER
        self._server.places.end(self)
        self._begin_lingering(self._server.loop.time())
        if self.ended or self._transport.is_closing():
            self._transport.close()
        else:
            try:
                if self._transport.can_write_eof():  # not with TLS; the length tells the end too
                    self._transport.write_eof()
                self._transport.resume_reading()
            except OSError:  # reset, and we have not heard yet
                self.abort()

    def _begin_lingering(self, now: float) -> None:
        self._deadline = now + self._server.limits.linger_idle_s
        self._stops_at = now + self._server.limits.linger_s

    # What an exchange asks (see exchange.Channel)

    def send(self, data: bytes) -> None:
        if not self._transport.is_closing():
            self._written += len(data)
            self._transport.write(data)

    async def drain(self) -> None:
        while self._resumed is not None and not self.gone:
            await self._resumed.wait()
        if self.gone:
            raise ConnectionResetError("the client is gone")

    async def flush(self) -> None:
        """Like drain, with a high-water mark of nothing: the kernel has every byte."""
        while self._raw is not None and self._unsent() and not self.gone:
            await asyncio.sleep(FLUSH_POLL_S)  # TLS in asyncio never resumes from a mark of nothing
        while self._transport.get_write_buffer_size() and not self.gone:
            self._transport.set_write_buffer_limits(high=0)
            await self.drain()
        self._transport.set_write_buffer_limits(high=HIGH_WATER)
        await self.drain()

    async def read_body(self) -> bytes:
        if self._framing is NO_BODY:
            return b""
        self._body = parser.Body(self._buffer, self._framing, self._server.limits)
        self._arrived += self._body.pull()
        if not self._body.done:
            if self._expects and not self._arrived and not self._buffer.data:
                self.send(b"HTTP/1.1 100 Continue\r\n\r\n")
            await self._rest_of_body()
        body, self._arrived = bytes(self._arrived), bytearray()
        self._body, self._framing = None, NO_BODY  # nothing is left of it
        return body

    async def _rest_of_body(self) -> None:
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
        """`size` more bytes are here. They buy time by their number, up to the whole grace."""
        if self._body is None or self._waiter is None or self._waiter.done():
            return
        limits, now = self._server.limits, self._server.loop.time()
        bought = size / limits.body_min_rate if limits.body_min_rate else _NEVER
        self._deadline = min(self._deadline + bought, now + limits.body_grace_s)
        try:
            self._arrived += self._body.pull()
        except ProtocolError as error:
            self._waiter.set_exception(error)
        else:
            if self._body.done:
                self._waiter.set_result(None)
            elif not self.hold(len(self._arrived)):
                self._arrived = bytearray()
                self._waiter.set_exception(no_memory())

    def hold(self, size: int, *, always: bool = False) -> bool:
        total = self._server.held + size - self._held
        if size > self._held and total > self._server.limits.max_memory and not always:
            return False
        self._server.held, self._held = total, size
        return True

    def date(self) -> str:
        return self._server.date()

    def end_reading(self) -> bool:
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
