"""The HTTP proxy of a call with the network `proxy`, its only connection to the outside.

The worker listens on a port of its own, otherwise empty network and sends that socket to the
server, which accepts on it here. The tool sees 127.0.0.1 and nothing else. The proxy takes CONNECT
for TLS and requests with an absolute http:// URL. A host is checked, resolved once and checked
again, and the connection goes to the address that was checked; a redirect is a new request. The
content of a tunnel is not inspected, so an allowed host can relay to others.
"""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass

from ..http.client import is_public, resolve
from ..runtime.event_loop import cancel_all
from .network_policy import NetworkPolicy
from .policy import PROXY_PORT

ENV = {
    name: f"http://127.0.0.1:{PROXY_PORT}"
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
}
MOST = 64  # connections of one call at a time
MOST_REFUSED = 20  # listed in the result
HEAD = 16 * 1024  # bytes
HEAD_S, CONNECT_S = 10.0, 10.0
CHUNK = 64 * 1024

Resolve = Callable[[str, int], Awaitable[list[str]]]
Ends = tuple[asyncio.StreamReader, asyncio.StreamWriter]

_HOST = rb"(\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9_.-]{1,253})"
_CONNECT = re.compile(rb"CONNECT " + _HOST + rb":([0-9]{1,5}) HTTP/1\.[01]")
_REQUEST = re.compile(
    rb"([A-Z]{1,20}) http://" + _HOST + rb"(?::([0-9]{1,5}))?(/[!-~]*)? HTTP/1\.[01]", re.I
)
_FIELD = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[^\x00\r\n]*")
_OURS = (b"host", b"connection", b"keep-alive", b"proxy-connection", b"proxy-authorization")


class ProxyRefusal(Exception):
    """An error response in place of a connection."""

    def __init__(self, status: str, text: str) -> None:
        super().__init__(text)
        self.status, self.text = status, text


@dataclass(frozen=True)
class ProxyRequest:
    """The target of a request. `head`: sent to the host; b"" for a tunnel."""

    host: str
    port: int
    head: bytes


def parse_head(head: bytes) -> ProxyRequest:
    """Parse a request's head, up to its empty line. Raises ProxyRefusal for anything unusual."""
    line, *fields = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
    if not all(_FIELD.fullmatch(field) for field in fields):
        raise ProxyRefusal("400 Bad Request", "a header cannot be read")
    if match := _CONNECT.fullmatch(line):
        return ProxyRequest(*_place(match[1], match[2]), b"")
    if not (match := _REQUEST.fullmatch(line)):
        raise ProxyRefusal(
            "400 Bad Request", "wanted CONNECT host:port, or a whole http:// address"
        )
    host, port = _place(match[2], match[3] or b"80")
    name = f"[{host}]" if ":" in host else host
    own = [b"Host: " + (name if port == 80 else f"{name}:{port}").encode(), b"Connection: close"]
    kept = [field for field in fields if field.partition(b":")[0].lower() not in _OURS]
    start = b"%s %s HTTP/1.1" % (match[1], match[4] or b"/")
    return ProxyRequest(host, port, b"\r\n".join([start, *own, *kept]) + b"\r\n\r\n")


def _place(host: bytes, port: bytes) -> tuple[str, int]:
    if not 0 < int(port) < 65536:
        raise ProxyRefusal("400 Bad Request", "no such port")
    return host.decode().strip("[]").lower().removesuffix("."), int(port)


class NetProxy:
    """The proxy of one call. `refused`: `host:port` of the first MOST_REFUSED refused targets."""

    def __init__(
        self, listener: socket.socket, reach: NetworkPolicy, resolve: Resolve = resolve
    ) -> None:
        self.refused: list[str] = []
        self._listener, self._reach, self._resolve = listener, reach, resolve
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        """Start to accept connections."""
        self._server = await asyncio.start_server(self._accept, sock=self._listener, limit=HEAD)

    def close(self) -> None:
        """End every connection and stop listening."""
        for task in self._tasks:
            task.cancel()
        if self._server is not None:
            self._server.close()
        else:
            self._listener.close()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._tasks) >= MOST:
            writer.transport.abort()
            return
        task = asyncio.ensure_future(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            request = await self._read_head(reader)
            there, back = await self._connect(request.host, request.port)
            try:
                if request.head:
                    back.write(request.head)
                else:
                    writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                await both_ways((reader, writer), (there, back))
            finally:
                back.transport.abort()
        except ProxyRefusal as refused:
            body = f"{refused.text}\n".encode()
            head = f"HTTP/1.1 {refused.status}\r\nContent-Type: text/plain\r\n".encode()
            head += b"Connection: close\r\nContent-Length: %d\r\n\r\n" % len(body)
            writer.write(head + body)
        except (OSError, asyncio.IncompleteReadError):  # the connection was closed
            pass
        finally:
            writer.close()

    async def _read_head(self, reader: asyncio.StreamReader) -> ProxyRequest:
        try:
            async with asyncio.timeout(HEAD_S):
                return parse_head(await reader.readuntil(b"\r\n\r\n"))
        except asyncio.LimitOverrunError:
            raise ProxyRefusal(
                "431 Request Header Fields Too Large", "the head is too long"
            ) from None
        except TimeoutError:
            raise ProxyRefusal("408 Request Timeout", "the head did not come in time") from None

    async def _connect(self, host: str, port: int) -> Ends:
        """Connect to the first address that answers. Raises ProxyRefusal."""
        allowed = self._reach.addresses_allowed(host, port)
        place = f"{host}:{port}"
        if not allowed:
            raise self._refusal(place, f"the sandbox lets through {self._reach.describe()}")
        try:
            async with asyncio.timeout(CONNECT_S):
                addresses = await self._resolve(host, port)
                if allowed == "public" and not all(map(is_public, addresses)):
                    raise self._refusal(place, f"{host} is not on the public internet")
                there, back = await first_of(addresses, port)
        except (OSError, UnicodeError) as error:  # TimeoutError is one
            why = str(error) or "not in time"
            raise ProxyRefusal("502 Bad Gateway", f"{place} cannot be reached: {why}") from None
        ours, theirs = (back.get_extra_info(name) for name in ("sockname", "peername"))
        if allowed == "public" and (not ours or not theirs or ours[0] == theirs[0]):
            back.transport.abort()
            raise self._refusal(place, f"{host} is this machine")
        return there, back

    def _refusal(self, place: str, why: str) -> ProxyRefusal:
        if place not in self.refused and len(self.refused) < MOST_REFUSED:
            self.refused.append(place)
        return ProxyRefusal("403 Forbidden", f"{place} is refused: {why}")


async def first_of(addresses: list[str], port: int) -> Ends:
    """Connect to the first address that answers. Raises OSError if none does."""
    for address in addresses[:-1]:
        with suppress(OSError):
            return await asyncio.open_connection(address, port)
    return await asyncio.open_connection(addresses[-1], port)


async def both_ways(one: Ends, other: Ends) -> None:
    """Copy in both directions until both are at their end or one fails."""
    tasks = [
        asyncio.ensure_future(pass_on(one[0], other[1])),
        asyncio.ensure_future(pass_on(other[0], one[1])),
    ]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
    finally:
        await cancel_all(tasks)


async def pass_on(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    """Copy one direction, no faster than the other side reads."""
    while data := await source.read(CHUNK):
        target.write(data)
        await target.drain()
    with suppress(OSError, RuntimeError):
        target.write_eof()
