"""The ways to the scripted model, started as processes, and one request to any of them.

direct   the harness asks the model itself: the floor, and the harness's own cost
relay    a byte relay in between: the least that a hop can cost in this language
floor    a minimal agent relay without sessions (floor.py): the least that an agent costs
yaa      the server, as its users start it, with the model as its provider
others   programs made of other libraries (others/), where they are asked for
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from server.session.kept_sessions import KeptSession

from ..tooling.child import Child, Yaa
from . import others

STAMP = re.compile(rb"@(\d+)@")
LAST = b"\r\n0\r\n\r\n"  # the chunk that ends an answer
START_S = 60.0
REPLY_S = 180.0
FLOOR_KEY = "a-key-of-the-floor"
# Connections that wait for the next request, by the address they lead to.
KEPT: dict[str, list[asyncio.Transport]] = {}
USAGE = {"prompt_tokens": 10, "completion_tokens": 8, "total_tokens": 18}
META = {"model": "s", "provider": "main", "finish_reason": "stop", "usage": USAGE}


@dataclass(frozen=True)
class Peer:
    """Where to send a request, and in which shape. `pid` is None where there is no hop."""

    name: str
    url: str
    pid: int | None = None
    key: str = ""

    def request(self, order: str, history: int = 0, *, returned: bool = False) -> bytes:
        """A whole HTTP request: `history` earlier messages, then the user's `order`.

        `returned`: the messages are as a server returns them, with ids and what each answer cost;
        else they are bare, as a program sends them.
        """
        messages = [*earlier(history), {"role": "user", "content": order}]
        document: dict[str, Any] = {"messages": messages}
        if self.name == "yaa":
            path = "/session"
            if returned:
                document |= {"id": str(uuid.uuid4())}
                for number, message in enumerate(messages):
                    message |= {"id": f"m{number}"}
                for message in messages[1::2]:
                    message |= {"meta": META}
        elif self.name == "floor" or self.name in others.PROGRAMS:
            path = "/chat"
        else:
            path = "/v1/chat/completions"
            document |= {"stream": True}
        return self.post(path, document)

    def with_base(self, order: str, history: int) -> tuple[bytes, bytes]:
        """Two requests of this server: one with returned messages, one whose base these are."""
        whole = self.request(order, history, returned=True)
        document = json.loads(whole.partition(b"\r\n\r\n")[2])
        *messages, last = document["messages"]
        digest = KeptSession("", "", messages, {}).digest(len(messages))
        base = {"messages": len(messages), "digest": digest}
        return whole, self.post("/session", document | {"base": base, "messages": [last]})

    def post(self, path: str, document: dict[str, Any]) -> bytes:
        """A whole HTTP request with this body."""
        body = json.dumps(document, separators=(",", ":")).encode()
        head = (
            f"POST {path} HTTP/1.1\r\nHost: {urlsplit(self.url).netloc}\r\n"
            f"Content-Type: application/json\r\nAccept: text/event-stream\r\n"
            f"Authorization: Bearer {self.key or '-'}\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        return head.encode() + body


@dataclass
class Reply:
    """What came back, and when: all clocks are CLOCK_MONOTONIC in ns."""

    sent_ns: int
    ended_ns: int = 0
    pieces: list[tuple[int, bytes]] = field(default_factory=list)

    @property
    def body(self) -> bytes:
        return b"".join(piece for _, piece in self.pieces)

    @property
    def begun(self) -> bool:
        """Whether a delta has come."""
        return any(STAMP.search(piece) for _, piece in self.pieces)

    def stamps(self) -> list[tuple[int, int]]:
        """(arrived, written) of each delta."""
        ends: list[tuple[int, int]] = []
        size = 0
        for arrived, piece in self.pieces:
            size += len(piece)
            ends.append((size, arrived))
        found = []
        at = 0
        for match in STAMP.finditer(self.body):
            while ends[at][0] < match.end():
                at += 1
            found.append((ends[at][1], int(match[1])))
        return found


class Reader(asyncio.Protocol):
    """Sends a request and notes when each piece of the answer came. A connection whose answer is
    whole is kept for the next request, as browsers and SDKs do."""

    def __init__(self, request: bytes, kept: list[asyncio.Transport]) -> None:
        self._request, self._kept = request, kept
        self._end = b""
        self.ended = asyncio.get_running_loop().create_future()
        self.reply = Reply(0)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.reply.sent_ns = time.monotonic_ns()
        transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        self.reply.pieces.append((time.monotonic_ns(), data))
        self._end = (self._end + data)[-len(LAST) :]
        if self._end == LAST:
            self._kept.append(self.transport)
            self.connection_lost(None)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.ended.done():
            self.reply.ended_ns = time.monotonic_ns()
            self.ended.set_result(None)


async def ask(peer: Peer, request: bytes, tokens: int | None = None) -> Reply:
    """One request, read to its end. Raises RuntimeError if other than `tokens` deltas came."""
    reader = await begin(peer, request)
    await asyncio.wait_for(reader.ended, REPLY_S)
    found = len(STAMP.findall(reader.reply.body))
    if tokens is not None and found != tokens:
        tail = reader.reply.body[-800:].decode("utf-8", "replace")
        raise RuntimeError(f"{peer.name} sent {found} of {tokens} deltas: {tail}")
    return reader.reply


async def begin(peer: Peer, request: bytes) -> Reader:
    """One request, not waited for."""
    place = urlsplit(peer.url)
    kept = KEPT.setdefault(peer.url, [])
    reader = Reader(request, kept)
    while kept:
        transport = kept.pop()
        if not transport.is_closing():
            transport.set_protocol(reader)
            reader.connection_made(transport)
            return reader
    loop = asyncio.get_running_loop()
    await loop.create_connection(lambda: reader, place.hostname or "", place.port or 0)
    return reader


async def let_go() -> None:
    """Closes the connections that were kept; they end with their loop."""
    for transport in (one for kept in KEPT.values() for one in kept):
        transport.abort()
    KEPT.clear()
    await asyncio.sleep(0)


def earlier(count: int) -> list[dict[str, Any]]:
    """A conversation's past: turns of some 150 bytes, as they are in practice."""
    text = "The quick brown fox jumps over the lazy dog, again and again, without being tired. "
    return [
        {"role": ("user", "assistant")[number % 2], "content": text + text}
        for number in range(count - count % 2)
    ]


@contextmanager
def running(names: Sequence[str] = ()) -> Iterator[list[Peer]]:
    """All of them, up: direct, relay, yaa, and what of others is named."""
    with ExitStack() as stack:
        provider = start(stack, "tests.bench.provider")
        relay, relay_url = started(stack, "tests.tooling.relay", urlsplit(provider).netloc)
        floor, floor_url = started(stack, "tests.bench.floor", provider, FLOOR_KEY)
        yaa = stack.enter_context(Yaa(config(provider)))
        assert yaa.child is not None
        peers = [
            Peer("direct", provider),
            Peer("relay", relay_url, relay.process.pid),
            Peer("floor", floor_url, floor.process.pid, FLOOR_KEY),
            Peer("yaa", yaa.url, yaa.child.process.pid, yaa.key),
        ]
        for name in names:
            child, url = spoken_to(stack, [*others.command(name), provider])
            peers.append(Peer(name, url, child.process.pid))
        yield peers


def config(provider: str) -> dict[str, Any]:
    """The server's: this one provider, and room for the streams of the largest measure. All else is
    the default: logging, the sandbox, tools."""
    main = {"api_url": f"{provider}/v1", "api_key": "k", "model_name": "s"}
    return {
        "server": {
            "providers": {"main": main},
            "default_provider": "main",
            "discover": False,
            "limits": {
                "max_runs": 4096,
                "max_connections": 4096,
                "max_connections_per_address": 4096,
            },
        }
    }


def start(stack: ExitStack, module: str, *arguments: str) -> str:
    return started(stack, module, *arguments)[1]


def started(stack: ExitStack, module: str, *arguments: str) -> tuple[Child, str]:
    return spoken_to(stack, [sys.executable, "-m", module, *arguments])


def spoken_to(stack: ExitStack, command: list[str]) -> tuple[Child, str]:
    """A child that lives as long as the stack, and the address it says it listens on."""
    child = Child(command, keep_input=True)
    stack.callback(child.kill)
    return child, child.wait_for(r"READY (http://\S+)", START_S)[1]


def cpu_ms(pid: int) -> float:
    """CPU time of all threads of a process and its children (Linux: schedstat, in ns)."""
    tasks = (task for one in tree(pid) for task in Path(f"/proc/{one}/task").glob("*/schedstat"))
    return sum(int(_read(task).split()[0] or 0) for task in tasks) / 1e6


def ended_ms(pid: int) -> float:
    """CPU time of children that have ended, in steps of 10 ms (Linux: proc_pid_stat(5))."""
    fields = _read(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split()
    return sum(map(int, fields[13:15])) * 1000 / os.sysconf("SC_CLK_TCK")


def pss_kib(pid: int) -> int:
    """Memory of a process and its children, what they share counted once (Linux)."""
    texts = (_read(Path(f"/proc/{one}/smaps_rollup")) for one in tree(pid))
    return sum(int(found[1]) for text in texts if (found := re.search(r"Pss:\s+(\d+) kB", text)))


def tree(pid: int) -> list[int]:
    """The process and all its descendants."""
    found = [pid]
    for one in found:
        for children in Path(f"/proc/{one}/task").glob("*/children"):
            found += map(int, _read(children).split())
    return found


def _read(path: Path) -> str:
    """Empty if the process has ended."""
    try:
        return path.read_text() or "0"
    except OSError:
        return "0"


def rss_kib(pid: int) -> int:
    """Resident memory of a process (Linux)."""
    text = Path(f"/proc/{pid}/status").read_text()
    found = re.search(r"VmRSS:\s+(\d+) kB", text)
    assert found is not None
    return int(found[1])
