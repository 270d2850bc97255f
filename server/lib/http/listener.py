"""The HTTP server: listens on sockets, runs a handler for each request, closes connections.

`BaseServer.run` turns every exception of a handler into an answer. Connections beyond the limit are
answered with 503 at once. One timer checks the deadlines of all connections. `close` waits for
running exchanges no longer than its `grace_s`.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import itertools
import logging
import os
import socket
import ssl
import time
from collections.abc import Awaitable, Callable, Collection
from pathlib import Path
from typing import Any

from ..problem import Problem
from ..runtime.accounts import Accounts, Rules
from ..runtime.event_loop import repeat
from .acceptor import LAST_WORDS, Acceptor
from .connection import ConnectionLimit, ServerConnection, ServerLimits
from .cors import Origins
from .exchange import Exchange, problem_of, problem_response
from .parser import ProtocolError, RequestHead, host_allowed, is_loopback, split_authority
from .problem_page import host_page, wants_page

# -- tls ------------------------------------------------------------------------------------------
# The server's TLS certificate, reloaded when its files change.
#
# `listener` serves with its context. If a new certificate and key cannot be used, that is logged
# and the old ones are kept. Open connections are not affected by a reload.

SAID = b"This server speaks HTTPS: begin its address with https://\n"
TO_PLAIN_HTTP = (
    b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n"
    b"Connection: close\r\n\r\n%b" % (len(SAID), SAID)
)
LOOK_S = 5.0  # interval at which the files are checked, with one stat each

_tls_log = logging.getLogger("yaa.tls")


class Certificate:
    """A TLS context with the server's certificate.

    `cert`: PEM file with the server's certificate followed by the chain. `key`: PEM file, None if
    `cert` holds the key too. Raises OSError (or its subclass ssl.SSLError) if they cannot be used.
    """

    def __init__(self, cert: Path, key: Path | None = None) -> None:
        self._cert, self._key = cert, key
        self.context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self.context.minimum_version = ssl.TLSVersion.TLSv1_2
        self.context.set_alpn_protocols(["http/1.1"])
        self.context.sslobject_class = _Handshake
        self._seen = self._stamp()
        self._load(self.context)

    async def watch(self) -> None:
        """Reload the files when they change, until cancelled."""

        async def look() -> None:
            """Reload them if they have changed."""
            self.refresh()

        await repeat(LOOK_S, "looking at the certificate", look)

    def refresh(self) -> bool:
        """Load the files if they have changed. Return whether a new certificate is in use.

        New handshakes use what the context holds when they begin (SSL_CTX_use_certificate(3)).
        """
        stamp = self._stamp()
        if stamp == self._seen:
            return False
        self._seen = stamp  # before loading, so that an error is logged once
        try:
            self._load(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER))  # check first, load both or none
            self._load(self.context)
        except OSError as error:
            _tls_log.warning("%s: %s; the old certificate is kept", self._cert, reason(error))
            return False
        _tls_log.info("a new certificate from %s", self._cert)
        return True

    def _load(self, context: ssl.SSLContext) -> None:
        context.load_cert_chain(self._cert, self._key, password=_passphrase)

    def _stamp(self) -> tuple[tuple[int, int, int] | None, ...]:
        return tuple(_stamp(path) for path in (self._cert, self._key) if path is not None)


class _Handshake(ssl.SSLObject):
    """A TLS handshake that answers plain HTTP with status 400 and a text.

    Browsers use plain HTTP for `name:port` and would otherwise show an empty page. The answer is
    sent once, then the client may close.
    """

    _outgoing: ssl.MemoryBIO
    _told: bool

    @classmethod
    def _create(cls, *args: Any, **more: Any) -> Any:
        made = super()._create(*args, **more)  # type: ignore[misc]
        made._outgoing, made._told = args[1], False
        return made

    def do_handshake(self) -> None:
        """Continue the handshake, or answer plain HTTP. Raises ssl.SSLError."""
        if self._told:  # else asyncio would wait and buffer all further input
            raise ssl.SSLError(0, "plain HTTP")
        try:
            super().do_handshake()
        except ssl.SSLError as error:
            if error.reason != "HTTP_REQUEST":
                raise
            self._outgoing.write(TO_PLAIN_HTTP)
            self._told = True
            raise ssl.SSLWantReadError from None


def _stamp(path: Path) -> tuple[int, int, int] | None:
    """Return a value that changes when the file does; None if it cannot be read."""
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_ino, stat.st_size


def _passphrase() -> str:
    """Refuse a key with a passphrase; OpenSSL would ask for it on the terminal."""
    raise OSError(0, "the key has a passphrase; remove it with openssl pkey -in KEY -out PLAIN")


def reason(error: OSError) -> str:
    """Return why certificate and key cannot be used, for a message."""
    if not isinstance(error, ssl.SSLError):
        return error.strerror or str(error)
    if error.reason == "KEY_VALUES_MISMATCH":
        return "certificate and key do not belong together"
    if error.library == "SSL" and error.reason:  # such as EE_KEY_TOO_SMALL, CA_MD_TOO_WEAK
        return f"refused by OpenSSL: {error.reason.replace('_', ' ').lower()}"
    return "no certificate and key in PEM"


# -- listener -------------------------------------------------------------------------------------

TICK = 0.5  # s between two checks of the deadlines
UNWIND = 5.0  # s for cancelled handlers to end when the server closes

__all__ = ["BaseServer", "Exchange", "ServerLimits", "bind"]

_DAYS = "Mon Tue Wed Thu Fri Sat Sun".split()
_MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()

_log = logging.getLogger("yaa.listener")

Handler = Callable[[Exchange], Awaitable[None]]


class BaseServer:
    """An HTTP server that calls `handle(exchange)` for each request in a task of its own.

    `hosts`: names beside localhost that a Host header may hold; see `parser.host_allowed`.
    `origins`: pages that may read refusals. `spared`: paths answered even when all connections are
    taken. `accounts`: what people hold of the process. `count`: called with 1 for each new
    connection and with -1 for each closed one.
    """

    def __init__(
        self,
        handle: Handler,
        limits: ServerLimits,
        *,
        hosts: Collection[str] = (),
        origins: Origins | None = None,
        spared: Collection[str] = (),
        accounts: Accounts | None = None,
        count: Callable[[int], None] = lambda by: None,
    ) -> None:
        self._handle = handle
        self._count = count
        self.limits = limits
        self.origins = origins or Origins()
        self.closing = False
        self.accounts = accounts or Accounts(Rules({"max_memory": limits.max_memory}))
        self.port = 0
        self.tasks: set[asyncio.Task[None]] = set()  # handlers, also of closed connections
        self.loop: asyncio.AbstractEventLoop
        self._hosts = frozenset(hosts)
        self._loopback = True  # all sockets are bound to loopback addresses
        self._acceptor: Acceptor | None = None
        self._connections: set[ServerConnection] = set()
        self.places = ConnectionLimit(
            limits.max_connections, limits.max_connections_per_address, _log.warning
        )
        self._spared = frozenset(spared)
        self._empty = asyncio.Event()
        self._sweeping = False
        self._ids = itertools.count(1)
        self._tag = os.urandom(3).hex()  # makes request ids unique across restarts
        self._date = (0, "")

    async def listen(self, host: str, port: int) -> None:
        """Bind and serve; port 0 chooses a free one, see `.port`. Raises OSError."""
        await self.serve(bind(host, port))

    async def serve(self, sockets: list[socket.socket], tls: ssl.SSLContext | None = None) -> None:
        """Serve on bound sockets; several processes may share them."""
        self.loop = asyncio.get_running_loop()
        self.port = sockets[0].getsockname()[1]
        self._loopback &= all(is_loopback(sock.getsockname()[0]) for sock in sockets)
        if self._acceptor is None:
            self._acceptor = Acceptor(lambda: ServerConnection(self), self.limits.head_timeout_s)
        for sock in sockets:
            self._acceptor.add(sock, tls)

    async def close(self, grace_s: float = 0) -> None:
        """Stop accepting, wait `grace_s` for exchanges, cancel the rest, close everything."""
        self.closing = True
        if self._acceptor is not None:
            await self._acceptor.accept_waiting()
            self._acceptor.close()
        for connection in list(self._connections):
            connection.close_if_idle()
        ends = time.monotonic() + grace_s
        while self.tasks and (left := ends - time.monotonic()) > 0:  # new tasks may begin meanwhile
            await asyncio.wait(self.tasks, timeout=left)
        if self.tasks:
            for task in self.tasks:
                task.cancel()
            await asyncio.wait(self.tasks, timeout=UNWIND)
        if self._connections:  # wait until the last answers are sent
            self._empty.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._empty.wait(), LAST_WORDS)
        for connection in list(self._connections):
            connection.abort()

    # Called by connections (see connection.Server)

    def admit(self, connection: ServerConnection) -> str:
        """Register a new connection. Return why there is no place for it, or ""."""
        self._connections.add(connection)
        self._count(1)
        if not self._sweeping:
            self._sweeping = True
            self.loop.call_later(self._tick(), self._sweep)
        reason = self.places.take(connection)
        if reason and len(self._connections) > 2 * self.limits.max_connections:
            # Refusals take connections too, so their number is limited.
            (self.places.longest_refused() or connection).abort()
        return reason

    def dismiss(self, connection: ServerConnection) -> None:
        """Remove a closed connection."""
        self._connections.discard(connection)
        self._count(-1)
        self.places.leave(connection)
        if not self._connections:
            self._empty.set()

    def is_spared(self, request: RequestHead) -> bool:
        """Return whether the request is served on a connection without a place."""
        return request.path in self._spared and request.method in ("GET", "HEAD")

    async def run(self, exchange: Exchange) -> None:
        """Run the handler for one exchange. Turn exceptions into answers; raise none."""
        try:
            self._screen(exchange.request)
            await self._handle(exchange)
            if not (exchange.finished or exchange.gone):
                raise RuntimeError("the handler left its answer unfinished")
        except asyncio.CancelledError:  # the client is gone, or the server closes
            if not (exchange.status or exchange.gone):
                await self._report(exchange, Problem("overloaded", "The server is closing."))
        except Exception as error:
            about = f"{exchange.id} {exchange.request.method} {exchange.request.path}"
            problem = problem_of(error, exchange.id)
            if not isinstance(error, Problem | ProtocolError):
                if not (exchange.gone and isinstance(error, ConnectionError)):
                    _log.exception("%s failed", about)
            elif exchange.status:  # an answer had begun, so the client cannot be told
                _log.warning("%s was cut off: %s: %s", about, problem.code, problem.detail)
            if not exchange.status:
                await self._report(exchange, problem)

    async def _report(self, exchange: Exchange, problem: Problem) -> None:
        request = exchange.request
        answer = problem_response(problem, self.origins.headers(request.headers))
        accept = request.headers.get("accept", "")
        if problem.code == "host_not_allowed" and wants_page(request.method, accept):
            name, port = split_authority(request.headers["host"])
            answer = host_page(problem, name, port or 80 if self._loopback else None)
        with contextlib.suppress(ConnectionError):
            await exchange.respond(*answer)

    def _screen(self, request: RequestHead) -> None:
        """Check the Host and Expect headers. Raises Problem."""
        host = request.headers.get("host")  # HTTP/1.0 may have none; no browser sends HTTP/1.0
        if host and not host_allowed(host, loopback=self._loopback, names=self._hosts):
            name = split_authority(host)[0]
            raise Problem(
                "host_not_allowed",
                f"The name {name} is not served here; the owner can add it to server.hosts.",
            )
        expected = request.headers.get("expect", "100-continue").lower()
        if expected != "100-continue" and request.version != "1.0":
            raise Problem("expectation_failed", "Only 100-continue can be expected here.")

    def next_id(self) -> str:
        """Return a new request id."""
        return f"{self._tag}-{next(self._ids):x}"

    def date(self) -> str:
        """Return the value of the Date header, cached for one second."""
        now = int(time.time())
        if now != self._date[0]:
            self._date = now, http_date(now)
        return self._date[1]

    def _sweep(self) -> None:
        """Check the deadlines of all connections and schedule the next check.

        For 1,000 connections this costs less than arming and cancelling a timer per request.
        """
        now = self.loop.time()
        for connection in list(self._connections):
            connection.check(now)
        self._sweeping = bool(self._connections)
        if self._sweeping:
            self.loop.call_later(self._tick(), self._sweep)

    def _tick(self) -> float:
        limits = self.limits
        shortest = min(
            limits.head_timeout_s,
            limits.body_grace_s,
            limits.idle_timeout_s,
            limits.write_timeout_s,
            limits.linger_idle_s,
        )
        return max(0.01, min(TICK, shortest / 4))


def bind(host: str, port: int) -> list[socket.socket]:
    """Return sockets bound to every address of `host`, all on one port (a free one if 0).

    Separate from serving so that processes can be forked in between. Raises OSError.
    """
    # As bytes: for a string Python imports its IDNA codec, which takes 3 ms.
    name = host.encode() if host.isascii() else host
    try:
        kind, flags = socket.SOCK_STREAM, socket.AI_PASSIVE
        found = socket.getaddrinfo(name or None, port, type=kind, flags=flags)
    except UnicodeError:  # cannot be encoded as a host name
        raise socket.gaierror(socket.EAI_NONAME, "not a valid name") from None
    sockets: list[socket.socket] = []
    missing: OSError | None = None
    for family, _, _, _, address in dict.fromkeys(found):
        try:
            sock = _bind(family, (address[0], port, *address[2:]), alone=len(found) == 1)
        except OSError as error:
            if error.errno not in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT):
                for sock in sockets:
                    sock.close()
                raise
            missing = error  # "localhost" resolves to ::1 even if IPv6 is switched off
        else:
            sockets.append(sock)
            port = sock.getsockname()[1]
    if missing and not sockets:
        raise missing
    return sockets


def _bind(family: int, address: tuple[Any, ...], *, alone: bool) -> socket.socket:
    # asyncio sets TCP_NODELAY only on sockets whose protocol is given; accepted ones inherit it.
    sock = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:  # "::" alone accepts IPv4 too, but not beside 0.0.0.0
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, not alone)
        sock.bind(address)
    except OSError:
        sock.close()
        raise
    return sock


def http_date(now: int) -> str:
    """Format Unix seconds as an HTTP date (RFC 9110 section 5.6.7), independent of the locale.

    `email.utils.formatdate` does the same, but its import takes 5 ms.
    """
    at = time.gmtime(now)
    day, month = _DAYS[at.tm_wday], _MONTHS[at.tm_mon - 1]
    return f"{day}, {at.tm_mday:02} {month} {at.tm_year} {time.strftime('%H:%M:%S', at)} GMT"
