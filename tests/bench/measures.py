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
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from tests.tooling.child import Yaa

from .peers import Peer, Reply, ask, begin, config, cpu_ms, rss_kib, started

Figures = dict[str, float]
TOOL = "datetime"  # reads only, so nobody is asked


@dataclass(frozen=True)
class Size:
    """How much of everything. `tiny` only shows that it runs."""

    turns: int = 60
    tokens: int = 200
    burst: int = 4000
    streams: int = 16
    many: int = 200
    histories: tuple[int, ...] = (10, 100, 1000, 5000)
    starts: int = 5


LINUX = Path("/proc/self/schedstat").exists()
TINY = Size(turns=2, tokens=5, burst=20, streams=2, many=3, histories=(10,), starts=1)


async def steady(peer: Peer, size: Size) -> Figures:
    """One stream at a model's pace: what each delta waits, what the first one waits."""
    order = f"bench tokens={size.tokens} delay_us=5000"
    reply = await ask(peer, peer.request(order, 10), size.tokens)
    delays = [(arrived - written) / 1e6 for arrived, written in reply.stamps()]
    return {
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
    """Turns with a tool call in the middle. Only the server has tools."""
    if peer.name != "yaa":
        return {}
    request = peer.request(f"bench tokens=5 delay_us=0 tool={TOOL}", 10)
    await ask(peer, request, 5)
    before = cpu_ms(peer.pid) if peer.pid else 0.0
    replies = [await ask(peer, request, 5) for _ in range(size.turns)]
    figures = {"turn with a tool p50, ms": statistics.median(map(_whole_ms, replies))}
    if peer.pid:
        figures["CPU per turn with a tool, ms"] = (cpu_ms(peer.pid) - before) / size.turns
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


async def crowd(peer: Peer, size: Size) -> Figures:
    """Many slow streams at once: the delay of each delta, and the memory of an open stream.

    Memory is told by a server that is fresh: what a process once took it keeps. For that figure
    run `--only crowd --rounds 1`.
    """
    deltas = 40
    order = f"bench tokens={deltas} delay_us=50000"
    requests = [peer.request(order) for _ in range(size.many)]
    idle = rss_kib(peer.pid) if peer.pid else 0
    readers = [await begin(peer, request) for request in requests]
    await asyncio.sleep(deltas * 0.05 / 2)
    busy = rss_kib(peer.pid) if peer.pid else 0
    await asyncio.gather(*(reader.ended for reader in readers))
    delays = [(a - w) / 1e6 for reader in readers for a, w in reader.reply.stamps()]
    whole = sum(len(reader.reply.stamps()) == deltas for reader in readers)
    figures = {
        f"delay p99, {size.many} streams, ms": _p99(delays),
        f"whole answers of {size.many}": whole,
    }
    if peer.pid:
        figures["RSS per open stream, KiB"] = (busy - idle) / size.many
    return figures


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


def cold_starts(size: Size, provider: str) -> dict[str, Figures]:
    """From starting the process to its first 200, and what it then takes of memory."""
    found: dict[str, list[tuple[float, float]]] = {"relay": [], "yaa": []}
    for _ in range(size.starts):
        began = time.monotonic()
        with contextlib.ExitStack() as stack:
            child, url = started(stack, "tests.tooling.relay", provider.removeprefix("http://"))
            _until_200(f"{url}/v1/models")
            found["relay"].append((time.monotonic() - began, rss_kib(child.process.pid)))
        began = time.monotonic()
        with Yaa(config(provider)) as yaa:
            _until_200(f"{yaa.url}/health")
            assert yaa.child is not None
            found["yaa"].append((time.monotonic() - began, rss_kib(yaa.child.process.pid)))
    return {
        name: {
            "cold start to first 200, ms": statistics.median(s for s, _ in pairs) * 1000,
            "idle RSS, MiB": statistics.median(kib for _, kib in pairs) / 1024,
        }
        for name, pairs in found.items()
    }


MEASURES: dict[str, Callable[[Peer, Size], Awaitable[Figures]]] = {
    "steady": steady,
    "turns": turns,
    "tools": tool_turns,
    "histories": histories,
    "throughput": throughput,
    "crowd": crowd,
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
