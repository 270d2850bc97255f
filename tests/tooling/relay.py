"""A TCP relay: bytes in, the same bytes out, and a knife for tests that want the line cut.

In a test it runs in a thread: `with Relay(host, port) as relay: …; relay.cut()`. As a program,
`relay HOST:PORT`, it is the benchmark's measure of the least a hop can cost.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from typing import Any


class _Half(asyncio.Protocol):
    """One side of one connection. What it receives before the other side is there waits."""

    def __init__(self, relay: Relay) -> None:
        self.relay = relay
        self.other: _Half | None = None
        self.transport: asyncio.Transport | None = None
        self.waiting: list[bytes] = []
        self.ended = False
        self.passed = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.relay.halves.add(self)

    def data_received(self, data: bytes) -> None:
        self.passed += len(data)
        if self.other and self.other.transport:
            self.other.transport.write(data)
        else:
            self.waiting.append(data)

    def eof_received(self) -> bool:
        self.ended = True
        if self.other and self.other.transport:
            self.other.transport.write_eof()
        return True

    def pause_writing(self) -> None:
        if self.other and self.other.transport:
            self.other.transport.pause_reading()

    def resume_writing(self) -> None:
        if self.other and self.other.transport:
            self.other.transport.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        self.relay.halves.discard(self)
        if self.other and self.other.transport:
            self.other.transport.close()


class _Near(_Half):
    """The side that connected to us; it makes the far one."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self.relay.start(self._reach())

    async def _reach(self) -> None:
        far = _Half(self.relay)
        far.other = self
        loop = asyncio.get_running_loop()
        try:
            await loop.create_connection(lambda: far, *self.relay.target)
        except OSError:
            if self.transport:
                self.transport.abort()
            return
        self.other = far
        assert far.transport is not None
        for data in self.waiting:
            far.transport.write(data)
        self.waiting.clear()
        if self.ended:
            far.transport.write_eof()


class Relay:
    """`url` is where to connect to; all it hears goes to host:port and back."""

    def __init__(self, host: str, port: int) -> None:
        self.target = (host, port)
        self.halves: set[_Half] = set()
        self.url = ""
        self._tasks: set[asyncio.Task[None]] = set()
        self._refusing = False
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), name="relay")

    def __enter__(self) -> Relay:
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(self, *_: Any) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    def cut(self) -> int:
        """Breaks every connection with a reset, as a pulled cable looks; how many there were."""
        return asyncio.run_coroutine_threadsafe(self._cut(), self._loop).result()

    def refuse(self, refusing: bool) -> None:
        """While True, new connections are broken at once: the network is away."""
        self._refusing = refusing

    def passed(self) -> int:
        """Bytes that came through the connections that are open."""
        return sum(half.passed for half in list(self.halves))

    def start(self, work: Any) -> None:
        task: asyncio.Task[None] = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def serve(self) -> asyncio.Server:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(self._accept, "127.0.0.1", 0, backlog=2048)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        return server

    def _accept(self) -> asyncio.Protocol:
        return _Refused() if self._refusing else _Near(self)

    async def _run(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        server = await self.serve()
        self._ready.set()
        await self._stop.wait()
        server.close()
        await self._cut()

    async def _cut(self) -> int:
        halves = list(self.halves)
        for half in halves:
            if half.transport:
                half.transport.abort()
        return len(halves) // 2


class _Refused(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        transport.abort()


async def main(target: str) -> None:
    host, _, port = target.rpartition(":")
    relay = Relay(host, int(port))
    await relay.serve()
    print(f"READY {relay.url}", flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
