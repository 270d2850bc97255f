"""What is measured: each function takes a peer and a size and returns `{figure: value}`.

A figure that a peer cannot have (CPU of a hop that is not there) is left out. Figures are medians
of one round; the rounds are taken in turns over the peers, so that all see the same machine.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import statistics
import time
import urllib.request
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..tooling.child import Yaa
from . import others
from .peers import (
    REPLY_S,
    Peer,
    Reader,
    Reply,
    ask,
    begin,
    config,
    cpu_ms,
    rss_kib,
    spoken_to,
    started,
)

Figures = dict[str, float]
TOOL = "datetime"  # reads only, so nobody is asked
START, RSS, FIRST = "cold start to first 200, ms", "idle RSS, MiB", "first token p50, ms"


@dataclass(frozen=True)
class Size:
    """How much of everything. `tiny` only shows that it runs."""

    turns: int = 60
    tokens: int = 200
    burst: int = 4000
    streams: int = 16
    paced: int = 500
    paced_s: float = 4
    many: int = 1000
    deltas: int = 100
    histories: tuple[int, ...] = (10, 100, 1000, 5000)
    starts: int = 3


# Of this server: what a figure may be at most, or at least where it is a rate. Those of ADDED are
# beyond what the direct way has.
GOALS = {
    START: 150,
    RSS: 32,
    FIRST: 0.6,
    "CPU per turn with a tool, ms": 1.5,
    "deltas/s, 16 streams": 90_000,
    "CPU per 1M tokens, 500 streams, s": 65,
    "delay p99, 1000 streams, ms": 25,
    "RSS per open stream, KiB": 20,
    "CPU per turn, 1000 messages, ms": 7,
    "CPU per turn, 5000 messages, ms": 28,
    "turns/s with a tool, 16 at once": 1_500,
}
ADDED = (FIRST, "delay p99, 1000 streams, ms")
# What the best of other libraries took where the goals were set: the goals as shares of it hold on
# any machine, fast or slow.
BEST = {
    START: 270,
    RSS: 83,
    FIRST: 2.8,
    "CPU per turn with a tool, ms": 12.4,
    "deltas/s, 16 streams": 22_000,
    "CPU per 1M tokens, 500 streams, s": 430,
    "delay p99, 1000 streams, ms": 82,
    "RSS per open stream, KiB": 104,
    "CPU per turn, 1000 messages, ms": 21,
    "CPU per turn, 5000 messages, ms": 55,
    "turns/s with a tool, 16 at once": 370,
}

LINUX = Path("/proc/self/schedstat").exists()
TINY = Size(
    turns=2,
    tokens=5,
    burst=20,
    streams=2,
    paced=2,
    paced_s=0.3,
    many=3,
    deltas=8,
    histories=(10,),
    starts=1,
)


async def steady(peer: Peer, size: Size) -> Figures:
    """One stream at a model's pace: what each delta waits, what the first one waits."""
    order = f"bench tokens={size.tokens} delay_us=5000"
    reply = await ask(peer, peer.request(order, 10), size.tokens)
    delays = [(arrived - written) / 1e6 for arrived, written in reply.stamps()]
    few = peer.request("bench tokens=2 delay_us=5000", 10)
    firsts = [_first_ms(await ask(peer, few, 2)) for _ in range(size.turns // 2)]
    return {
        FIRST: statistics.median(firsts),
        "delay per delta p50, ms": statistics.median(delays),
        "delay per delta p99, ms": _p99(delays),
    }


async def turns(peer: Peer, size: Size) -> Figures:
    """Short turns one after another: what a turn costs beside its deltas."""
    request = peer.request("bench tokens=1 delay_us=0", 10)
    await ask(peer, request, 1)
    before = cpu_ms(peer.pid) if peer.pid else 0.0
    replies = [await ask(peer, request, 1) for _ in range(size.turns)]
    figures = {
        "first delta p50, ms": statistics.median(map(_first_ms, replies)),
        "whole turn p50, ms": statistics.median(map(_whole_ms, replies)),
    }
    if peer.pid:
        figures["CPU per turn, ms"] = (cpu_ms(peer.pid) - before) / size.turns
    return figures


async def tool_turns(peer: Peer, size: Size) -> Figures:
    """Turns with a tool call in the middle, one after another and 16 at once. Neither the model
    alone nor the relay has tools."""
    if peer.name in ("direct", "relay"):
        return {}
    request = peer.request(f"bench tokens=5 delay_us=0 tool={TOOL}", 10)
    await ask(peer, request, 5)
    before = cpu_ms(peer.pid) if peer.pid else 0.0
    replies = [await ask(peer, request, 5) for _ in range(size.turns)]
    figures = {"turn with a tool p50, ms": statistics.median(map(_whole_ms, replies))}
    if peer.pid:
        figures["CPU per turn with a tool, ms"] = (cpu_ms(peer.pid) - before) / size.turns

    async def some() -> None:
        own = peer.request(f"bench tokens=5 delay_us=0 tool={TOOL}", 10)
        for _ in range(size.turns // 2):
            await ask(peer, own, 5)

    began = time.monotonic()
    await asyncio.gather(*(some() for _ in range(size.streams)))
    done = size.streams * (size.turns // 2)
    figures[f"turns/s with a tool, {size.streams} at once"] = done / (time.monotonic() - began)
    return figures


async def histories(peer: Peer, size: Size) -> Figures:
    """One short turn with ever more of a past: cost may grow with the bytes and no faster."""
    figures: Figures = {}
    for count in size.histories:
        request = peer.request("bench tokens=1 delay_us=0", count)
        rounds = max(2, min(size.turns, 20_000 // count))
        before = cpu_ms(peer.pid) if peer.pid else 0.0
        replies = [await ask(peer, request, 1) for _ in range(rounds)]
        name = f"{count} messages"
        figures[f"first delta, {name}, ms"] = statistics.median(map(_first_ms, replies))
        if peer.pid:
            figures[f"CPU per turn, {name}, ms"] = (cpu_ms(peer.pid) - before) / rounds
    return figures


async def throughput(peer: Peer, size: Size) -> Figures:
    """Several streams as fast as they go."""
    order = f"bench tokens={size.burst} delay_us=0"
    requests = [peer.request(order) for _ in range(size.streams)]
    before = cpu_ms(peer.pid) if peer.pid else 0.0
    began = time.monotonic()
    await asyncio.gather(*(ask(peer, request, size.burst) for request in requests))
    total = size.burst * size.streams
    figures = {f"deltas/s, {size.streams} streams": total / (time.monotonic() - began)}
    if peer.pid:
        figures["CPU per relayed delta, µs"] = (cpu_ms(peer.pid) - before) * 1000 / total
    return figures


async def paced(peer: Peer, size: Size) -> Figures:
    """CPU for tokens that come one at a time, each stream one every 50 ms. Counted between two
    moments at which all streams are under way, so that opening and ending them is not in it."""
    if not peer.pid:
        return {}
    seconds = size.paced_s + 2 + size.paced / 50
    order = f"bench tokens={int(seconds / 0.05)} delay_us=50000"
    readers = [await begin(peer, peer.request(order)) for _ in range(size.paced)]
    await _all_begun(readers)
    began, before = time.monotonic_ns(), cpu_ms(peer.pid)
    await asyncio.sleep(size.paced_s)
    ended, spent = time.monotonic_ns(), cpu_ms(peer.pid) - before
    for reader in readers:
        reader.transport.abort()
    stamps = [stamp for reader in readers for stamp, _ in reader.reply.stamps()]
    tokens = sum(began <= stamp < ended for stamp in stamps)
    if tokens < size.paced * 20 * size.paced_s / 2:  # it cannot keep up: whatever it costs
        raise RuntimeError(f"{tokens} tokens came in {size.paced_s} s")
    return {f"CPU per 1M tokens, {size.paced} streams, s": spent * 1000 / max(tokens, 1)}


async def memory(peer: Peer, size: Size) -> Figures:
    """What an open stream takes. Each says a word a second, and goes on for longer than it takes to
    open them all: streams that end meanwhile would leave their memory to others.

    Measured first, on a fresh server: a process keeps the memory that it once took.
    """
    if not peer.pid:
        return {}
    requests = [peer.request("bench tokens=120 delay_us=1000000") for _ in range(size.many)]
    idle = rss_kib(peer.pid)
    readers = [await begin(peer, request) for request in requests]
    await _all_begun(readers)
    busy = rss_kib(peer.pid)
    if any(reader.ended.done() for reader in readers):  # it cannot hold them
        raise RuntimeError("a stream ended before all were open")
    for reader in readers:
        reader.transport.abort()
    return {"RSS per open stream, KiB": (busy - idle) / size.many}


async def crowd(peer: Peer, size: Size) -> Figures:
    """Many slow streams at once, five deltas a second each: the delay of each delta once all have
    begun (while 1,000 come in at one moment, everybody waits for the others to be taken in, and
    that is `first of`), and how many are open then; a slow server may never have all."""
    deltas = size.deltas
    order = f"bench tokens={deltas} delay_us=200000"
    readers = [await begin(peer, peer.request(order)) for _ in range(size.many)]
    await _all_begun(readers)
    all_open = time.monotonic_ns()
    at_once = sum(not reader.ended.done() for reader in readers)
    await asyncio.wait_for(asyncio.gather(*(reader.ended for reader in readers)), REPLY_S)
    stamps = [stamp for reader in readers for stamp in reader.reply.stamps()]
    delays = [(arrived - written) / 1e6 for arrived, written in stamps if written > all_open]
    firsts = [_first_ms(reader.reply) / 1000 for reader in readers]
    whole = sum(len(reader.reply.stamps()) == deltas for reader in readers)
    return {
        f"delay p99, {size.many} streams, ms": _p99(delays or [0.0]),
        f"first of {size.many} at one moment p99, s": _p99(firsts),
        f"open at once of {size.many}": at_once,
        f"whole answers of {size.many}": whole,
    }


async def _all_begun(readers: list[Reader]) -> None:
    while not all(reader.reply.begun or reader.ended.done() for reader in readers):
        await asyncio.sleep(0.1)
    await asyncio.sleep(0.5)


async def hang_up(peer: Peer, size: Size, provider: str) -> Figures:
    """How long after its reader is gone the model stops."""
    waits = []
    for _ in range(min(size.turns, 10)):
        reader = await begin(peer, peer.request("bench tokens=1000 delay_us=5000"))
        while not reader.reply.stamps() and not reader.ended.done():
            await asyncio.sleep(0.005)
        cut_ns = time.monotonic_ns()
        reader.transport.abort()
        gone_ns = 0
        while gone_ns < cut_ns and time.monotonic_ns() - cut_ns < 5e9:
            await asyncio.sleep(0.01)
            gone_ns = await asyncio.to_thread(_gone, provider)
        waits.append((gone_ns - cut_ns) / 1e6)
    return {"hang-up reaches the model p50, ms": statistics.median(waits)}


def cold_starts(size: Size, provider: str, names: Sequence[str] = ()) -> dict[str, Figures]:
    """From starting the process to its first 200, and what it then takes of memory."""
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in ("relay", "yaa", *names)}
    for _ in range(size.starts):
        for name in names:
            began = time.monotonic()
            with contextlib.ExitStack() as stack:
                child, url = spoken_to(stack, [*others.command(name), provider])
                _until_200(f"{url}/health")
                found[name].append((time.monotonic() - began, rss_kib(child.process.pid)))
        began = time.monotonic()
        with contextlib.ExitStack() as stack:
            child, url = started(stack, "tests.tooling.relay", provider.removeprefix("http://"))
            _until_200(f"{url}/v1/models")
            found["relay"].append((time.monotonic() - began, rss_kib(child.process.pid)))
        yaa = Yaa(config(provider), patient=False)
        began = time.monotonic()
        with yaa:
            _until_200(f"{yaa.url}/health")
            took = time.monotonic() - began
            assert yaa.child is not None
            yaa.until_ready()
            found["yaa"].append((took, rss_kib(yaa.child.process.pid)))
    return {
        name: {
            START: statistics.median(s for s, _ in pairs) * 1000,
            RSS: statistics.median(kib for _, kib in pairs) / 1024,
        }
        for name, pairs in found.items()
    }


MEASURES: dict[str, Callable[[Peer, Size], Awaitable[Figures]]] = {
    "memory": memory,
    "crowd": crowd,
    "paced": paced,
    "steady": steady,
    "turns": turns,
    "tools": tool_turns,
    "histories": histories,
    "throughput": throughput,
}


def _first_ms(reply: Reply) -> float:
    return (reply.stamps()[0][0] - reply.sent_ns) / 1e6


def _whole_ms(reply: Reply) -> float:
    return (reply.ended_ns - reply.sent_ns) / 1e6


def _p99(values: list[float]) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, len(ordered) * 99 // 100)]


def _gone(provider: str) -> int:
    with urllib.request.urlopen(f"{provider}/gone", timeout=10) as answer:
        found: int = json.load(answer)["gone_ns"]
    return found


def _until_200(url: str) -> None:
    with urllib.request.urlopen(url, timeout=10) as answer:
        answer.read()
