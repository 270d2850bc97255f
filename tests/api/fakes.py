"""Stand-ins for what lies below the api: an exchange without a socket, an agent without a model."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Mapping
from typing import Any

from server.errors import Problem
from server.session.events import Event
from server.wire.headers import NO_BODY, ProtocolError
from server.wire.http11 import Request


def request(
    method: str, path: str, headers: Mapping[str, str] | None = None, query: str = ""
) -> Request:
    fields = {"host": "127.0.0.1:12345"} | {k.lower(): v for k, v in (headers or {}).items()}
    return Request(method, path, path, query, fields, "1.1", NO_BODY, keep_alive=True)


class Stream:
    """Keeps what is written, and in `log` the order of everything that happened to it."""

    def __init__(self) -> None:
        self.log: list[bytes | str] = []
        self.closed = False
        self.gate: asyncio.Event | None = None  # when set, a flush waits for it

    @property
    def data(self) -> bytes:
        return b"".join(piece for piece in self.log if isinstance(piece, bytes))

    def write(self, data: bytes) -> None:
        self.log.append(data)

    async def drain(self) -> None:
        self.log.append("drain")

    async def flush(self) -> None:
        self.log.append("flush")
        if self.gate is not None:
            await self.gate.wait()

    async def close(self) -> None:
        self.closed = True


class Exchange:
    """One request and what was answered."""

    peer = "127.0.0.1"

    def __init__(self, request: Request, body: bytes | ProtocolError = b"") -> None:
        self.request = request
        self._body = body
        self.body_read = False
        self.status = 0
        self.headers: dict[str, str] = {}
        self.answer = b""
        self.out = Stream()

    async def body(self) -> bytes:
        self.body_read = True
        if isinstance(self._body, ProtocolError):
            raise self._body
        return self._body

    async def respond(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        assert not self.status, "answered twice"
        self.status, self.headers, self.answer = status, dict(headers), body

    def stream(self, status: int, headers: Mapping[str, str]) -> Stream:
        assert not self.status, "answered twice"
        self.status, self.headers = status, dict(headers)
        return self.out

    @property
    def json(self) -> Any:
        return json.loads(self.answer)


class Run:
    """A run of given events; between them `wait` is awaited. Knows how it ended."""

    def __init__(self, session: dict[str, Any], script: list[Event | Exception]) -> None:
        self.id = "run_1"
        self.session = session
        self.first_message = len(session.get("messages", []))
        self.script = script
        self.wait: Callable[[], Awaitable[None]] | None = None
        self.given = 0
        self.ended = ""

    async def events(self) -> AsyncGenerator[Event, None]:
        try:
            for event in self.script:
                if self.wait is not None:
                    await self.wait()
                if isinstance(event, Exception):
                    raise event
                self.given += 1
                yield event
            self.session["messages"].append({"id": "m", "role": "assistant", "content": "Hi"})
            self.session |= {"status": "completed", "finish_reason": "completed"}
            self.ended = "finished"
        finally:
            self.ended = self.ended or "closed"


class Agent:
    """`prepare` checks next to nothing and hands out runs of `script`."""

    def __init__(self, script: list[Event | Exception] | None = None) -> None:
        self.script = script or []
        self.runs: list[Run] = []
        self.keys: list[str] = []
        self.problem: Exception | None = None
        self.wait: Callable[[], Awaitable[None]] | None = None

    def prepare(self, document: dict[str, Any], key: str = "") -> Run:
        if self.problem is not None:
            raise self.problem
        if not isinstance(document.get("messages", []), list):
            place = {"pointer": "/messages", "detail": "wanted a list"}
            raise Problem("session_invalid", "messages: wanted a list", errors=[place])
        document.setdefault("messages", [])
        document.setdefault("config", {}).setdefault("yaa", {})
        run = Run(document, list(self.script))
        run.wait = self.wait
        self.runs.append(run)
        self.keys.append(key)
        return run


def run_async(main: Coroutine[Any, Any, None]) -> None:
    """Like asyncio.run with a deadline: a test that waits for ever is a test that failed."""

    async def bounded() -> None:
        async with asyncio.timeout(20):
            await main

    asyncio.run(bounded())
