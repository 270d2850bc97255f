"""Stand-ins for what lies below the api: an exchange without a socket, an agent without a model."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Mapping
from typing import Any

from server.errors import Problem
from server.json_types import Event
from server.lib.http.exchange import Exchange
from server.lib.http.parser import (
    NO_BODY,
    Body,
    Buffer,
    MessageLimits,
    ProtocolError,
    RequestHead,
    ResponseHead,
    advance,
    parse_response,
)
from server.session.kept_sessions import KeptSession

from ..tooling import patience

TYPE = {"Content-Type": "application/json"}
KEYS: list[Any] = [
    {"name": "ann", "key": "a" * 20, "owner": True},
    {"name": "bob", "key": "b" * 20},
]


def request(
    method: str, target: str, headers: Mapping[str, str] | None = None, query: str = ""
) -> RequestHead:
    path, _, told = target.partition("?")
    fields = {"host": "127.0.0.1:12345"} | {k.lower(): v for k, v in (headers or {}).items()}
    return RequestHead(method, target, path, query or told, fields, "1.1", NO_BODY, keep_alive=True)


class Channel:
    """A connection without a socket. `log` holds what was sent and, by name, what was awaited."""

    gone = ended = False
    person = ""
    behind = True  # so that every wait is in the log

    def __init__(self, body: bytes | ProtocolError = b"") -> None:
        self.log: list[bytes | str] = []
        self.gate: asyncio.Event | None = None  # when set, a flush waits for it
        self.body_read = False
        self.held: list[int] = []  # bytes of memory, as they were asked for
        self.room = 1 << 40
        self._body = body

    def send(self, data: bytes) -> None:
        self.log.append(data)

    async def drain(self) -> None:
        self.log.append("drain")

    async def flush(self) -> None:
        self.log.append("flush")
        if self.gate is not None:
            await self.gate.wait()

    async def read_body(self) -> bytes:
        self.body_read = True
        if isinstance(self._body, ProtocolError):
            raise self._body
        return self._body

    def hold(self, size: int, *, always: bool = False) -> None:
        self.held.append(size)
        if not always and size > self.room:
            raise Problem("overloaded", "No room")

    def abort(self) -> None:
        self.log.append("abort")

    def unacknowledged_bytes(self) -> int | None:
        return None

    def end_reading(self) -> bool:
        return True

    def date(self) -> str:
        return "Thu, 01 Jan 1970 00:00:00 GMT"


class Call:
    """One request to a handler or a router, and, when it was answered, the answer."""

    def __init__(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str] | None = None,
        body: bytes | ProtocolError = b"",
    ) -> None:
        self.channel = Channel(body)
        asked = request(method, path, headers)
        self.exchange = Exchange(self.channel, asked, "req-1", "127.0.0.1")

    @property
    def status(self) -> int:
        return self.exchange.status

    @property
    def sent(self) -> bytes:
        return b"".join(piece for piece in self.channel.log if isinstance(piece, bytes))

    def read(self) -> tuple[ResponseHead, bytes]:
        """Head and body; ours is the only reader of the bytes, as a client's would be."""
        buffer = Buffer()
        buffer.feed(self.sent)
        buffer.feed_eof()
        head = advance(parse_response(buffer, self.exchange.request.method, MessageLimits()))
        assert head is not None, "no answer"
        body, pieces = Body(buffer, head.framing, MessageLimits()), []
        while not body.done:
            pieces.append(body.pull())
        return head, b"".join(pieces)

    @property
    def headers(self) -> dict[str, str]:
        return self.read()[0].headers

    @property
    def answer(self) -> bytes:
        return self.read()[1]

    @property
    def json(self) -> Any:
        return json.loads(self.answer)


class Run:
    """A run of given events; between them `wait` is awaited. Knows how it ended."""

    def __init__(self, session: Any, script: list[Event | Exception]) -> None:
        self.id = "run_1"
        self.session = session
        self.first_message = len(session.get("messages", []))
        self.script = script
        self.wait: Callable[[], Awaitable[None]] | None = None
        self.given = 0
        self.ended = ""
        self.record = None
        self.base = KeptSession("", "", [], {})

    def confirm_announcements(self, arrived: Callable[[], Awaitable[bool]]) -> None:
        """Nothing is announced."""

    def keep_before_calls(self, keep: Callable[[Any], object]) -> None:
        """Nothing is called."""

    def left(self) -> None:
        """Nothing is kept."""

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
    """`accept` checks next to nothing and hands out runs of `script`."""

    def __init__(self, script: list[Event | Exception] | None = None) -> None:
        self.script = script or []
        self.runs: list[Run] = []
        self.keys: list[str] = []
        self.problem: Exception | None = None
        self.wait: Callable[[], Awaitable[None]] | None = None
        self.stopped: list[tuple[str, str]] = []
        self.ended: bool | None = True  # what a stop says
        self.calls: dict[str, list[asyncio.Task[None]]] = {}  # that outlive their runs

    async def stop_session(self, owner: str, session_id: str, code: str = "stopped") -> bool | None:
        self.stopped.append((owner, session_id))
        return self.ended

    def active_runs(self) -> list[tuple[tuple[str, str], str]]:
        return [(("", run.session["id"]), run.id) for run in self.runs if not run.ended]

    def running_calls(self, owner: str, session_id: str) -> list[asyncio.Task[None]]:
        return self.calls.get(session_id, [])

    def prepare(self, document: Any, key: str = "", owner: str = "") -> Run:
        return self.begin(self.accept(document, owner), key, owner)

    def accept(self, document: Any, owner: str = "", base: Any = None) -> Any:
        if self.problem is not None:
            raise self.problem
        if not isinstance(document.get("messages", []), list):
            place = {"pointer": "/messages", "detail": "wanted a list"}
            raise Problem("session_invalid", "messages: wanted a list", errors=[place])
        document.setdefault("messages", [])
        document.setdefault("config", {}).setdefault("yaa", {})
        return document

    def begin(
        self,
        accepted: Any,
        key: str = "",
        owner: str = "",
        resumed: str = "",
        size: int = 0,
    ) -> Run:
        run = Run(accepted, list(self.script))
        run.wait = self.wait
        self.runs.append(run)
        self.keys.append(key)
        return run


def run_async(main: Coroutine[Any, Any, None]) -> None:
    """Like asyncio.run with a deadline: a test that waits for ever is a test that failed."""

    async def bounded() -> None:
        async with asyncio.timeout(patience.seconds(20)):
            await main

    asyncio.run(bounded())


async def nothing(call: Any) -> None:
    raise AssertionError("no file is asked for")
