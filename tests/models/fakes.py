"""Stand-ins for the model's side: options, providers, the fold of a stream, a scripted server."""

from __future__ import annotations

import asyncio
import json
import logging
import unittest
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

from server import extensions
from server.json_types import Event, Session
from server.models import Options, registry
from server.models.http_model import RemoteAPI
from server.models.provider import Preset, Provider, choose_api, endpoint
from server.models.tool_mode import MODES
from server.models.vendors import known_vendors
from server.session.fold import Folder

logging.getLogger("yaa.llm").addHandler(logging.NullHandler())  # failures are what is tested

# Every API that is there: in a server's registry are those that its configuration names.
APIS: dict[str, type[RemoteAPI]] = registry.APIS | extensions.model_apis((extensions.ALL,))
# So every tool mode.
TOOL_MODES = {**MODES, **extensions.tool_modes((extensions.ALL,))}
# Presets, too: `custom`, and those of an extension.
PRESETS = known_vendors((extensions.ALL,)).presets
KEY = "sk-canary-0123456789abcdef"


def options(**changes: Any) -> Options:
    numbers = count(1)
    fixed = {
        "message_id": "msg_1",
        "reasoning_id": "think_1",
        "new_id": lambda kind: f"{kind}_new{next(numbers)}",
        "now_ms": lambda: 1_700_000_000_000,
    }
    return Options(**{**fixed, **changes})


def usual_api(preset: Preset) -> str:
    """The API that a vendor is asked by, "" if that is not there."""
    with suppress(ValueError):
        return choose_api("", preset.base_url, preset)
    return ""


def preset_named(name: str) -> Preset:
    """A preset; a test of one that no extension has is skipped."""
    if name not in PRESETS:
        raise unittest.SkipTest(f"no extension has the preset {name}")
    return PRESETS[name]


def provider(url: str = "http://127.0.0.1:1", preset: str = "custom", **changes: Any) -> Provider:
    quirks = changes.pop("quirks", {})
    of_preset = replace(preset_named(preset), **quirks)
    made = Provider("main", endpoint(url), "m-1", of_preset, key=KEY)
    return replace(made, **changes) if changes else made


def tool(name: str, properties: Any | None = None) -> Any:
    parameters = {"type": "object", "properties": properties or {}}
    function = {"name": name, "description": f"does {name}", "parameters": parameters}
    return {"type": "function", "function": function}


def fold(events: Iterable[Event], session: Session | None = None) -> Session:
    session = session if session is not None else {"messages": []}
    folder = Folder(session)
    for event in events:
        folder.apply(event)
    folder.flush()
    return session


def message(events: Iterable[Event]) -> Any:
    """The one message a stream makes."""
    (made,) = fold(events)["messages"]
    return dict(made)


def check_brackets(events: list[Event]) -> list[str]:
    """What the official AG-UI client would refuse: contents outside their start and end."""
    wrong, opened = [], set()
    keys = {"TEXT_MESSAGE": "messageId", "TOOL_CALL": "toolCallId"}
    keys |= {"REASONING_MESSAGE": "messageId", "REASONING": "messageId"}
    for event in events:
        kind, _, step = event["type"].rpartition("_")
        if kind not in keys:
            continue
        entity = (kind, event.get(keys[kind]))
        if step == "START" and entity in opened:
            wrong.append(f"{entity} opened twice")
        if step != "START" and entity not in opened:
            wrong.append(f"{event['type']} outside {entity}")
        if step == "START":
            opened.add(entity)
        elif step == "END":
            opened.discard(entity)
    return [*wrong, *(f"{entity} stays open" for entity in sorted(opened))]


# -- a model server over real sockets --------------------------------------------------------------


def sse(*chunks: Any, done: bool = True) -> bytes:
    frames = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks]
    return "".join([*frames, "data: [DONE]\n\n" if done else ""]).encode()


def said(text: str, finish: str | None = None) -> Any:
    return {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": finish}]}


STOP: Any = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}


def answer(
    body: bytes, status: str = "200 OK", *headers: str, kind: str = "text/event-stream"
) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"content-type: {kind}", f"content-length: {len(body)}"]
    return "\r\n".join([*lines, *headers, "", ""]).encode() + body


def error(status: str, message: str, *headers: str, **fields: Any) -> bytes:
    body = json.dumps({"error": {"message": message, **fields}}).encode()
    return answer(body, status, *headers, kind="application/json")


CHUNKED = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
)


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


@dataclass
class Request:
    line: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Peer:
    """One connection's side of a script: `await peer.send(bytes)`, `await peer.gone()`."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def gone(self) -> None:
        """Returns when the other side has closed."""
        try:
            while await self.reader.read(65536):
                pass
        except ConnectionError:
            pass


Reply = bytes | Callable[[Peer], Awaitable[None]]


@dataclass
class Server:
    """Answers request number n with script n (the last one again and again); counts everything."""

    scripts: list[Reply]
    tls: Any = None
    requests: list[Request] = field(default_factory=list)
    connections: int = 0
    port: int = 0
    asked: asyncio.Event = field(default_factory=asyncio.Event)  # a request has come
    _tasks: set[asyncio.Task[Any]] = field(default_factory=set)

    @property
    def url(self) -> str:
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}/v1"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        try:
            while request := await read_request(reader):
                script = self.scripts[min(len(self.requests), len(self.scripts) - 1)]
                self.requests.append(request)
                self.asked.set()
                if isinstance(script, bytes):
                    writer.write(script)
                    await writer.drain()
                else:
                    await script(Peer(reader, writer))
                    break
        except (ConnectionError, asyncio.CancelledError):
            pass  # a stopped server's task ends quietly
        finally:
            self._tasks.discard(task)
            writer.close()

    async def stop(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


async def read_request(reader: asyncio.StreamReader) -> Request | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except asyncio.IncompleteReadError:
        return None
    line, *lines = head.removesuffix("\r\n\r\n").split("\r\n")
    headers = {k.lower(): v.strip() for k, _, v in (each.partition(":") for each in lines)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Request(line, headers, body)


@asynccontextmanager
async def serving(*scripts: Reply, tls: Any = None) -> AsyncIterator[Server]:
    server = Server(list(scripts), tls)
    listener = await asyncio.start_server(server.serve, "127.0.0.1", 0, ssl=tls, limit=1 << 26)
    server.port = listener.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listener.close()
        await server.stop()


class FakeTime:
    """A clock that moves when somebody sleeps, and remembers how long each time."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)
