"""A minimal agent relay in CPython: the least that an agent behind HTTP costs in this language.

`POST /chat {"messages": […]}` with a key answers with an event stream. It runs the loop of an agent
with one tool, `datetime`, in the process: request to the model, text passed on delta by delta,
calls performed, the model asked again. It has no sessions, events, policy, limits, logs or sandbox.
One parse and one encoding for each delta, one write for each read of a socket, connections kept.

Takes the model's address and a key as arguments, prints `READY http://…`, serves until its standard
input ends.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import re
import sys
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

LENGTH = re.compile(rb"(?i)\r\ncontent-length: *(\d+)")
KEY = re.compile(rb"(?i)\r\nauthorization: *Bearer +(\S+)")
HEAD = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n"
)
REFUSED = b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n"
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "datetime",
            "description": "The date and time now.",
            "parameters": {"type": "object", "properties": {}},
        },
    }
]
MAX_STEPS = 10
Message = dict[str, Any]

encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode


class Model(asyncio.Protocol):
    """One connection to the model: a request at a time, kept for the next one."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._arrived: asyncio.Future[None] | None = None
        self.transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self._data += data
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        self._wake()

    def _wake(self) -> None:
        if self._arrived and not self._arrived.done():
            self._arrived.set_result(None)

    async def _more(self) -> None:
        if self.transport.is_closing():
            raise ConnectionError("the model's connection ended")
        self._arrived = asyncio.get_running_loop().create_future()
        await self._arrived

    async def head(self) -> None:
        """Read past the head of a response."""
        while (end := self._data.find(b"\r\n\r\n")) < 0:
            await self._more()
        del self._data[: end + 4]

    async def events(self) -> list[bytes] | None:
        """Return the data of the events that one read brought; None at the end of the body."""
        while True:
            found, size = [], -1
            while (end := self._data.find(b"\r\n")) >= 0:
                size = int(self._data[:end], 16)
                if len(self._data) < end + size + 4:
                    break
                piece = bytes(self._data[end + 2 : end + 2 + size])
                del self._data[: end + size + 4]
                if not size:
                    break
                found += [line[6:] for line in piece.split(b"\n") if line.startswith(b"data: ")]
            if found:
                if size == 0:
                    self._data[:0] = b"0\r\n\r\n"
                return found
            if size == 0:
                return None
            await self._more()


class Agent(asyncio.Protocol):
    """One connection of a client, one request after the other."""

    def __init__(self, host: str, port: int, key: bytes, kept: list[Model]) -> None:
        self._host, self._port, self._key, self._kept = host, port, key, kept
        self._data = bytearray()
        self._end: tuple[int, int] | None = None  # of the head and the body that are arriving
        self._task: asyncio.Task[None] | None = None
        self._room = asyncio.Event()
        self._room.set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._data += data
        if not self._task:
            self._next()

    def connection_lost(self, exc: Exception | None) -> None:
        self._room.set()
        if self._task:
            self._task.cancel()

    def pause_writing(self) -> None:
        self._room.clear()

    def resume_writing(self) -> None:
        self._room.set()

    def _next(self) -> None:
        self._task = None
        if self._end is None:
            end = self._data.find(b"\r\n\r\n")
            if end < 0:
                return
            length = LENGTH.search(self._data, 0, end)
            self._end = end + 4, end + 4 + (int(length[1]) if length else 0)
        start, stop = self._end
        if len(self._data) < stop:
            return
        head, body = bytes(self._data[:start]), bytes(self._data[start:stop])
        del self._data[:stop]
        self._end = None
        if head.startswith(b"GET "):
            self._transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            return
        key = KEY.search(head)
        if key is None or not hmac.compare_digest(key[1], self._key):
            self._transport.write(REFUSED)
            return
        self._task = asyncio.ensure_future(self._run(body))

    async def _run(self, body: bytes) -> None:
        messages: list[Message] = json.loads(body)["messages"]
        self._transport.write(HEAD)
        for _ in range(MAX_STEPS):
            calls = await self._ask(messages)
            if not calls:
                break
            messages.append({"role": "assistant", "content": None, "tool_calls": calls})
            for call in calls:
                result = datetime.now(UTC).isoformat()
                self._send(encode({"tool": call["function"]["name"], "result": result}))
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})
        self._transport.write(b"0\r\n\r\n")
        self._next()

    async def _ask(self, messages: list[Message]) -> list[Message]:
        """Ask the model, pass its text on, and return the calls that it wants."""
        sent = [
            {name: value for name, value in message.items() if name not in ("id", "meta")}
            for message in messages
        ]
        body = encode({"model": "s", "stream": True, "messages": sent, "tools": TOOLS}).encode()
        model = await self._connect()
        head = (
            f"POST /v1/chat/completions HTTP/1.1\r\nHost: {self._host}:{self._port}\r\n"
            f"Authorization: Bearer k\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        model.transport.write(head.encode() + body)
        calls: list[Message] = []
        try:
            await model.head()
            while (events := await model.events()) is not None:
                texts = []
                for data in events:
                    if data == b"[DONE]":
                        continue
                    for choice in json.loads(data)["choices"]:
                        delta = choice["delta"]
                        if text := delta.get("content"):
                            texts.append(text)
                        calls += delta.get("tool_calls", ())
                if texts:
                    self._send(*(encode({"text": text}) for text in texts))
                    await self._room.wait()
        except BaseException:
            model.transport.abort()
            raise
        self._kept.append(model)
        return calls

    async def _connect(self) -> Model:
        while self._kept:
            model = self._kept.pop()
            if not model.transport.is_closing():
                return model
        loop = asyncio.get_running_loop()
        _, made = await loop.create_connection(Model, self._host, self._port)
        return made

    def _send(self, *events: str) -> None:
        data = "".join(f"data: {event}\n\n" for event in events).encode()
        self._transport.write(b"%x\r\n%b\r\n" % (len(data), data))


async def serve(model: str, key: str) -> None:
    loop = asyncio.get_running_loop()
    place = urlsplit(model)
    kept: list[Model] = []
    host, port = place.hostname or "127.0.0.1", place.port or 80
    server = await loop.create_server(
        lambda: Agent(host, port, key.encode(), kept), "127.0.0.1", 0, backlog=2048
    )
    print(f"READY http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1], sys.argv[2]))
