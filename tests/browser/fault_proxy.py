"""A bad line: an HTTP proxy in front of a server, that does to requests what networks do.

`with FaultProxy(host, port) as line: line.use([Fault("hang", "PUT /workspaces")])`. One request for
each connection. Times are given as they are for the page, whose clock runs `speed` times as fast.
"""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

PORTAL = b"<!doctype html><title>Wi-Fi</title><h1>Sign in to the network</h1>"
GATEWAY = b"<html><title>Bad gateway</title><h1>Bad gateway</h1></html>"
END_S = 5.0  # for what is under way, at the end
KINDS = {
    "delay": "the request is passed on after `seconds`",
    "late": "it is passed on at once, and its answer held back for `seconds`",
    "status": "a gateway answers with `status`; the server hears nothing",
    "busy": "the server's own 429, with Retry-After of a second",
    "portal": "a sign-in page answers with 200",
    "hang": "nobody answers; the server hears nothing",
    "deaf": "the server hears it, and nobody answers",
    "lost": "the server answers, and a gateway says `status` (0: the line dies) in its place",
    "head": "the line dies within the head of the answer",
    "body": "the line dies after `bytes` of the answer's body",
    "stand": "after `bytes` of the answer's body nothing more comes",
    "throttle": "`bytes` of the answer in a second",
}
BUSY = b'{"title": "Too much at once", "code": "busy", "status": 429, "detail": "Try again soon."}'


@dataclass
class Fault:
    """What happens to requests whose method and path match `path`, `times` times (-1: to all)."""

    kind: str
    path: str = ""
    seconds: float = 0.0
    status: int = 502
    bytes: int = 0
    times: int = -1

    def takes(self, name: str) -> bool:
        """Whether it happens to this request; counts it."""
        if not self.times or not re.search(self.path, name):
            return False
        self.times -= self.times > 0
        return True


class FaultProxy:
    """The proxy. `url`: where it listens; `log`: the requests that came, as "METHOD path"."""

    def __init__(self, host: str, port: int, speed: float = 1.0) -> None:
        self.target, self.speed = (host, port), speed
        self.log: list[str] = []
        self.url = ""
        self._faults: list[Fault] = []
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._ready = threading.Event()
        self._healed: asyncio.Event
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), name="bad-line")

    def __enter__(self) -> FaultProxy:
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(self, *_: Any) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    def use(self, faults: Iterable[Fault]) -> None:
        """Have these faults from now on, and no others; without any, what hangs is broken."""
        found = list(faults)
        asyncio.run_coroutine_threadsafe(self._use(found), self._loop).result()

    async def _use(self, faults: list[Fault]) -> None:
        self._faults = faults
        if not faults:
            self._healed.set()
            self._healed = asyncio.Event()

    async def _run(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        self._healed = asyncio.Event()
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=1 << 24)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        self._ready.set()
        await self._stop.wait()
        server.close()
        self._healed.set()
        for writer in list(self._writers):
            writer.transport.abort()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=END_S)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            first, *fields = head.decode("latin1").split("\r\n")[:-2]
            length = re.search(r"(?im)^content-length: *(\d+)", "\n".join(fields))
            body = await reader.readexactly(int(length[1]) if length else 0)
            name = " ".join(first.split(" ")[:2])
            self.log.append(name)
            fault = next((each for each in self._faults if each.takes(name)), None)
            gone = asyncio.ensure_future(reader.read(1))
            work = asyncio.ensure_future(self._answer(fault, first, fields, body, writer))
            done, _ = await asyncio.wait({gone, work}, return_when=asyncio.FIRST_COMPLETED)
            if work not in done and fault and fault.kind in ("deaf", "lost", "late"):
                await work  # it does not pass on that its client is gone
            for task in (gone, work):
                task.cancel()
            await asyncio.gather(gone, work, return_exceptions=True)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            await self._close(writer)

    async def _close(self, writer: asyncio.StreamWriter) -> None:
        """Close a connection; at the end of the proxy it is broken, if somebody still reads."""
        self._writers.add(writer)
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()
        self._writers.discard(writer)

    async def _answer(
        self,
        fault: Fault | None,
        first: str,
        fields: list[str],
        body: bytes,
        writer: asyncio.StreamWriter,
    ) -> None:
        kind = fault.kind if fault else ""
        wait = (fault.seconds if fault else 0) / self.speed
        if fault and kind in ("status", "busy", "portal"):
            status = {"busy": 429, "portal": 200}.get(kind, fault.status)
            writer.write(_whole(status, {"busy": BUSY, "portal": PORTAL}.get(kind, GATEWAY)))
            return await writer.drain()
        if kind == "hang":
            await self._healed.wait()
            return writer.transport.abort()
        await asyncio.sleep(wait if kind == "delay" else 0)
        answers, up = await asyncio.open_connection(*self.target)
        try:
            kept = [each for each in fields if not re.match(r"(?i)(connection|accept-enc)", each)]
            sent = "\r\n".join((first, *kept, "Connection: close", "", ""))
            up.write(sent.encode("latin1") + body)
            await up.drain()
            await self._pass_on(fault, kind, wait, answers, writer)
        finally:
            await self._close(up)

    async def _pass_on(
        self,
        fault: Fault | None,
        kind: str,
        wait: float,
        answers: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        if fault and kind in ("lost", "deaf"):
            await answers.read()  # the proxy has all of it, and says so to the server
            if kind == "deaf":
                await self._healed.wait()
            if fault.status and kind == "lost":
                writer.write(_whole(fault.status, GATEWAY))
                return await writer.drain()
            return writer.transport.abort()
        head = await answers.readuntil(b"\r\n\r\n")
        await asyncio.sleep(wait if kind == "late" else 0)
        if kind == "head":
            writer.write(head[:9])
            await writer.drain()
            return writer.transport.abort()
        writer.write(head)
        left = fault.bytes if fault and kind in ("body", "stand", "throttle") else 0
        while piece := await answers.read(1 + int(left * self.speed / 10) if left else 65536):
            if kind in ("body", "stand"):
                piece, left = piece[:left], left - len(piece)
            writer.write(piece)
            await writer.drain()
            if kind in ("body", "stand") and left <= 0:
                if kind == "stand":
                    await self._healed.wait()
                return writer.transport.abort()
            if kind == "throttle" and left:
                await asyncio.sleep(0.1)
        return None


def _whole(status: int, body: bytes) -> bytes:
    kind = "application/json" if body is BUSY else "text/html"
    more = "Retry-After: 1\r\n" if body is BUSY else ""
    head = f"HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
    return f"{head}{more}Connection: close\r\n\r\n".encode() + body
