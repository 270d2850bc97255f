"""A server on a real socket and a client that controls every byte. Not a test itself."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Collection
from typing import TypeVar

from server.lib.http.connection import ServerLimits
from server.lib.http.cors import Origins
from server.lib.http.exchange import Exchange
from server.lib.http.listener import BaseServer, Handler
from server.lib.http.parser import (
    Body,
    Buffer,
    ResponseHead,
    TruncatedError,
    advance,
    parse_response,
)

from ..tooling import patience

PATIENCE = 10  # before a test that waits for something gives up
CALM = ServerLimits(body=6_000_000)

T = TypeVar("T")


def quick() -> ServerLimits:
    """Limits that a test waits for."""
    quick_s = patience.seconds(0.2)
    return ServerLimits(
        head_timeout_s=quick_s,
        body_grace_s=quick_s,
        idle_timeout_s=quick_s,
        write_timeout_s=quick_s,
        linger_idle_s=quick_s,
        linger_s=2.5 * quick_s,
        body=6_000_000,
    )


async def soon(awaitable: Awaitable[T]) -> T:
    return await asyncio.wait_for(awaitable, patience.seconds(PATIENCE))


async def echo(exchange: Exchange) -> None:
    """Answers with the body, or with method and path where there is none."""
    body = await exchange.body()
    request = exchange.request
    await exchange.respond(
        200, {"Content-Type": "text/plain"}, body or f"{request.method} {request.path}".encode()
    )


@contextlib.asynccontextmanager
async def serving(
    handle: Handler = echo,
    limits: ServerLimits = CALM,
    hosts: Collection[str] = (),
    origins: Origins | None = None,
    spared: Collection[str] = (),
) -> AsyncIterator[BaseServer]:
    server = BaseServer(handle, limits, hosts=hosts, origins=origins, spared=spared)
    await server.listen("127.0.0.1", 0)
    try:
        yield server
    finally:
        await server.close()


@contextlib.asynccontextmanager
async def connected(server: BaseServer, window: int = 0) -> AsyncIterator[Client]:
    """`window`: bytes the kernel takes for a client that does not read."""
    sock = socket.socket()
    sock.setblocking(False)
    if window:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, window)
    await soon(asyncio.get_running_loop().sock_connect(sock, ("127.0.0.1", server.port)))
    client = Client(*await soon(asyncio.open_connection(sock=sock)))
    try:
        yield client
    finally:
        await client.close()


class Client:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self.socket: socket.socket = writer.get_extra_info("socket")
        self.buffer = Buffer()

    async def send(self, *packets: bytes) -> None:
        for packet in packets:
            self.writer.write(packet)
            await soon(self.writer.drain())

    async def head(self, method: str = "GET") -> ResponseHead:
        steps = parse_response(self.buffer, method, ServerLimits(interim=0))  # no 100 unasked
        while (response := advance(steps)) is None:
            await self.more()
        return response

    async def answer(self, method: str = "GET") -> tuple[ResponseHead, bytes]:
        response = await self.head(method)
        body = Body(self.buffer, response.framing, ServerLimits(body=1 << 40))
        content = bytearray(body.pull())
        while not body.done:
            await self.more()
            content += body.pull()
        return response, bytes(content)

    async def ask(self, raw: bytes, method: str = "GET") -> tuple[ResponseHead, bytes]:
        await self.send(raw)
        return await self.answer(method)

    async def more(self) -> bytes:
        """One read: what one packet, or several that came close together, brought."""
        data = await soon(self.reader.read(1 << 20))
        self.buffer.feed(data)
        if not data:
            self.buffer.feed_eof()
        return data

    async def closed(self) -> bool:
        """Wait for the server's end; whether nothing but it came."""
        with contextlib.suppress(ConnectionError):
            while await self.more():
                pass
        return not self.buffer.data

    async def cut(self) -> bool:
        """Whether the answer under way ends before its framing says so."""
        try:
            await self.answer()
        except TruncatedError:
            return True
        return False

    def reset(self) -> None:
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()

    async def close(self) -> None:
        self.writer.close()
        with contextlib.suppress(ConnectionError):
            await self.writer.wait_closed()


def get(path: str = "/", *headers: str, version: str = "1.1") -> bytes:
    return request("GET", path, *headers, version=version)


def post(body: bytes, path: str = "/", *headers: str) -> bytes:
    return request("POST", path, f"Content-Length: {len(body)}", *headers) + body


def request(method: str, path: str, *headers: str, version: str = "1.1") -> bytes:
    lines = [f"{method} {path} HTTP/{version}", "Host: localhost", *headers, "", ""]
    return "\r\n".join(lines).encode()
