"""A scripted model behind the Chat Completions API, cheap enough to measure others against.

The last `bench …` line of the request says what it does:

    bench tokens=100 delay_us=5000              so many deltas, so far apart
    bench tokens=5 delay_us=0 tool=NAME{"a":1}  calls that tool first; speaks when it has the answer
    bench … tool=ONE{} tool=OTHER{}             calls both at once
    bench … turns=3 tool=NAME{}                 speaks and calls it again, three times in all

Each delta holds the clock's reading at the moment it was written, `@<CLOCK_MONOTONIC in ns>@`,
which whoever reads it on the same machine can compare. `GET /gone` tells when a stream was last
hung up on, in the same clock, and how many are open. A connection is kept for the next request
unless that says otherwise, and an answer comes in chunks, as from other model servers. Prints
`READY http://…`, serves until its standard input ends.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import time
from typing import Any

ORDER = re.compile(rb"bench tokens=(\d+) delay_us=(\d+)(?: turns=(\d+))?(?: tool=(\w+))?")
LENGTH = re.compile(rb"(?i)content-length: *(\d+)")
CLOSE = re.compile(rb"(?i)connection: *close")
NOTES = ("[From the result of", "Since your last turn others")
# Deltas per write when there is no delay between them: the harness is to be the slow one
BURST = 64

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
CHUNK = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "scripted"}


class Provider(asyncio.Protocol):
    """One connection, one request after the other."""

    gone_ns = 0
    open = 0  # streams

    def __init__(self) -> None:
        self._received = bytearray()
        self._task: asyncio.Task[None] | None = None
        self._writable = asyncio.Event()
        self._writable.set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        if not self._task:
            self._next()

    def _next(self) -> None:
        head, found, rest = self._received.partition(b"\r\n\r\n")
        length = LENGTH.search(head)
        size = int(length[1]) if length else 0
        if found and len(rest) >= size:
            del self._received[: len(head) + len(found) + size]
            self._task = asyncio.ensure_future(self._answer(bytes(head), bytes(rest[:size])))

    def connection_lost(self, exc: Exception | None) -> None:
        self._writable.set()
        if self._task:
            Provider.gone_ns = time.monotonic_ns()
            self._task.cancel()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    async def _answer(self, head: bytes, body: bytes) -> None:
        orders = ORDER.findall(body)
        if head.startswith(b"GET /gone"):
            self._transport.write(_json({"gone_ns": Provider.gone_ns, "open": Provider.open}))
        elif not orders:
            self._transport.write(_json({"object": "list", "data": [{"id": "scripted"}]}))
        else:
            tokens, delay_us, turns, tool = orders[-1]
            self._transport.write(HEAD)
            messages = json.loads(body)["messages"] if tool else []
            messages = [each for each in messages if not _is_shown(each)]
            called = bool(messages) and messages[-1]["role"] == "tool"
            again = called and _called(messages) < int(turns or 1)
            if not tool or called:
                await self._speak(int(tokens), int(delay_us) / 1e6)
            if tool and (again or not called):
                self._transport.write(_chunk(_tool_calls(_wanted(messages))))
            else:
                self._transport.write(_chunk(_end("stop", int(tokens))))
            self._transport.write(_chunk(b""))
        self._task = None
        if CLOSE.search(head):
            self._transport.close()
        else:
            self._next()

    async def _speak(self, tokens: int, delay_s: float) -> None:
        Provider.open += 1
        try:
            await self._deltas(tokens, delay_s)
        finally:
            Provider.open -= 1

    async def _deltas(self, left: int, delay_s: float) -> None:
        write, loop = self._transport.write, asyncio.get_running_loop()
        due = loop.time()
        while left:
            batch = 1 if delay_s else min(BURST, left)
            write(_chunk(b"".join(_delta(f"@{time.monotonic_ns()}@ ") for _ in range(batch))))
            left -= batch
            await self._writable.wait()
            due += delay_s
            await asyncio.sleep(max(0.0, due - loop.time()))


def _chunk(data: bytes) -> bytes:
    """The empty one is the last."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def _delta(text: str) -> bytes:
    return (
        b'data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"scripted",'
        b'"choices":[{"index":0,"delta":{"content":"' + text.encode() + b'"},'
        b'"finish_reason":null}]}\n\n'
    )


def _wanted(messages: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """(name, arguments) of each call that the last user's message orders."""
    order = [_words(message) for message in messages if message["role"] == "user"][-1]
    parts = [part.partition("{") for part in order.split(" tool=")[1:]]
    return [(name.strip(), f"{{{rest}".strip() if rest else "{}") for name, _, rest in parts]


def _called(messages: list[dict[str, Any]]) -> int:
    """How often it has called since the user spoke last."""
    spoken = [message["role"] == "user" for message in messages]
    return spoken[::-1].index(True) // 2


def _is_shown(message: dict[str, Any]) -> bool:
    """Whether the server says it: pictures of results, or that others changed files."""
    return message["role"] == "user" and _words(message).startswith(NOTES)


def _words(message: dict[str, Any]) -> str:
    content = message["content"]
    return content if isinstance(content, str) else str(content[0].get("text"))


def _tool_calls(wanted: list[tuple[str, str]]) -> bytes:
    now = time.monotonic_ns()
    calls = [
        {
            "index": index,
            "id": f"call_{now}_{index}",
            "type": "function",
            "function": {"name": name, "arguments": arguments},
        }
        for index, (name, arguments) in enumerate(wanted)
    ]
    delta = {"role": "assistant", "tool_calls": calls}
    return _frame({"choices": [{"index": 0, "delta": delta}]}) + _end("tool_calls", 8)


def _end(reason: str, tokens: int) -> bytes:
    usage = {"prompt_tokens": 10, "completion_tokens": tokens, "total_tokens": tokens + 10}
    return (
        _frame({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
        + _frame({"choices": [], "usage": usage})
        + b"data: [DONE]\n\n"
    )


def _frame(content: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps({**CHUNK, **content}).encode() + b"\n\n"


def _json(value: Any) -> bytes:
    body = json.dumps(value).encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    return head.encode() + b"\r\n\r\n" + body


async def serve() -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Provider, "127.0.0.1", 0, backlog=2048)
    port = server.sockets[0].getsockname()[1]
    print(f"READY http://127.0.0.1:{port}", flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(serve())
