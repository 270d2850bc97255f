"""What is measured: each function takes a peer and a size and returns `{figure: value}`.

A figure that a peer cannot have (CPU of a hop that is not there) is left out. Figures are medians
of one round; the rounds are taken in turns over the peers, so that all see the same machine.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import statistics
import time
import urllib.request
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..tooling.child import Yaa
from . import others
from .beside import Beside
from .peers import (
    FLOOR_KEY,
    REPLY_S,
    Peer,
    Reader,
    Reply,
    ask,
    begin,
    config,
    cpu_ms,
    earlier,
    ended_ms,
    pss_kib,
    rss_kib,
    spoken_to,
    started,
)

Figures = dict[str, float]
TOOL = "datetime"  # reads only, so nobody is asked
START, RSS, FIRST = "cold start to first 200, ms", "idle RSS, MiB", "first token p50, ms"
START_CPU, READY_CPU = "CPU until the first 200, s", "CPU until ready, s"
PSS = "memory at rest of all processes (PSS), MiB"
TOOLS_PSS = "memory while tools are offered (PSS), MiB"
REST_S = 1.0  # after the start, for processes that end then
STALL = "longest stall while 5000 bare messages arrive, ms"


@dataclass(frozen=True)
class Size:
    """How much of everything. `tiny` only shows that it runs."""

    turns: int = 60
    tokens: int = 200
    burst: int = 4000
    streams: int = 16
    paced: int = 500
    paced_s: float = 4
    arrivals: int = 500
    many: int = 1000
    deltas: int = 100
    histories: tuple[int, ...] = (10, 100, 1000, 5000)
    starts: int = 3


# How many times the floor of the same run a figure may be at most, or at least where it is a rate.
OF_FLOOR = {
    "CPU per turn with a tool, ms": 6,
    "turns/s with a tool, 16 at once": 1 / 15,
    "first token p99, 500 at once, ms": 10,
    "CPU per 1M tokens, 500 streams, s": 2,
    "CPU per turn, 1000 bare messages, ms": 2,
}
# Of this server: what a figure may be at most, or at least where it is a rate. Those of ADDED are
# beyond what the direct way has.
GOALS = {
    START: 150,
    RSS: 32,
    FIRST: 0.6,
    "deltas/s, 16 streams": 90_000,
    "delay p99, 1000 streams, ms": 25,
    "RSS per open stream, KiB": 20,
    "CPU per turn, 5000 bare messages, ms": 60,
    "CPU per turn, 5000 returned messages, ms": 40,
    "CPU per turn, 5000 kept messages, ms": 8,
    STALL: 10,
    PSS: 40,
    START_CPU: 0.15,
    READY_CPU: 0.5,
}
ADDED = (FIRST, "delay p99, 1000 streams, ms")
LINUX = Path("/proc/self/schedstat").exists()
TINY = Size(
    turns=2,
    tokens=5,
    burst=20,
    streams=2,
    paced=2,
    paced_s=0.3,
    many=3,
    arrivals=3,
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


async def protocols(peer: Peer, size: Size) -> Figures:
    """What a short turn costs over each protocol."""
    if peer.name != "yaa" or not peer.pid:
        return {}
    figures: Figures = {}
    order = "bench tokens=1 delay_us=0"
    for path, document in spoken(order).items():
        request = peer.post(path, document)
        if not (await ask(peer, request)).begun:
            raise RuntimeError(f"{path} did not answer with the model's words")
        before = cpu_ms(peer.pid)
        for _ in range(size.turns):
            await ask(peer, request)
        figures[f"CPU per turn over {path}, ms"] = (cpu_ms(peer.pid) - before) / size.turns
    return figures


def spoken(order: str) -> dict[str, dict[str, object]]:
    """The body of a short turn by the path of its protocol; answers are streams."""
    messages = [*earlier(10), {"role": "user", "content": order}]
    numbered = [{"id": f"m{number}", **message} for number, message in enumerate(messages)]
    return {
        "/session": {"messages": messages},
        "/v1/chat/completions": {"model": "default", "messages": messages, "stream": True},
        "/v1/responses": {"model": "default", "input": messages, "stream": True},
        "/agui/default": {"threadId": "t", "runId": "r", "messages": numbered},
        "/auto-ai/v1/chat/completions": {"model": "default", "messages": messages, "stream": True},
        "/api/query": {"message": order},
    }


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
        figures[TOOLS_PSS] = pss_kib(peer.pid) / 1024

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
    """One short turn with ever more of a past: bare messages, such as the server returned, and
    such as it has kept. The first turn on kept ones stands apart: their digests are made once."""
    figures: Figures = {}
    kinds = ("bare", "returned", "kept") if peer.name == "yaa" else ("bare",)
    order = "bench tokens=1 delay_us=0"
    for count, kind in itertools.product(size.histories, kinds):
        if kind == "kept":
            whole, request = peer.with_base(order, count)
            await ask(peer, whole, 1)
            assert peer.pid is not None
            before = cpu_ms(peer.pid)
            await ask(peer, request, 1)
            first = f"CPU of the first turn, {count} kept messages, ms"
            figures[first] = cpu_ms(peer.pid) - before
        else:
            request = peer.request(order, count, returned=kind == "returned")
        rounds = max(2, min(size.turns, 20_000 // count))
        before = cpu_ms(peer.pid) if peer.pid else 0.0
        replies = [await ask(peer, request, 1) for _ in range(rounds)]
        name = f"{count} {kind} messages"
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


async def arrivals(peer: Peer, size: Size) -> Figures:
    """Many streams that begin at one moment: how many are open together, when each first speaks."""
    if not peer.pid:
        return {}
    order = "bench tokens=100 delay_us=50000"
    readers = [await begin(peer, peer.request(order)) for _ in range(size.arrivals)]
    most = 0
    while not all(reader.reply.begun or reader.ended.done() for reader in readers):
        most = max(most, sum(reader.reply.begun and not reader.ended.done() for reader in readers))
        await asyncio.sleep(0.02)
    most = max(most, sum(reader.reply.begun and not reader.ended.done() for reader in readers))
    await asyncio.wait_for(asyncio.gather(*(reader.ended for reader in readers)), REPLY_S)
    firsts = [_first_ms(reader.reply) for reader in readers]
    return {
        f"first token p99, {size.arrivals} at once, ms": _p99(firsts),
        f"open together of {size.arrivals}": most,
    }


async def stall(peer: Peer, size: Size) -> Figures:
    """How long `GET /health` waits at most while a long bare session arrives and is run."""
    if peer.name != "yaa":
        return {}
    count = max(size.histories)
    request = peer.request("bench tokens=1 delay_us=0", count)
    waits: list[float] = []
    with Beside(peer.url) as beside:
        idle_s = await asyncio.to_thread(beside.longest, lambda: time.sleep(0.5))
        for _ in range(3):
            beside.begin()
            await ask(peer, request, 1)
            waits.append(await asyncio.to_thread(beside.tell))
    return {STALL.replace("5000", str(count)): max(0.0, statistics.median(waits) - idle_s) * 1000}


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
    found: dict[str, list[Figures]] = {name: [] for name in ("relay", "floor", "yaa", *names)}
    for _ in range(size.starts):
        for name in names:
            began = time.monotonic()
            with contextlib.ExitStack() as stack:
                child, url = spoken_to(stack, [*others.command(name), provider])
                _until_200(f"{url}/health")
                found[name].append(_started(began, child.process.pid))
        began = time.monotonic()
        with contextlib.ExitStack() as stack:
            child, url = started(stack, "tests.tooling.relay", provider.removeprefix("http://"))
            _until_200(f"{url}/v1/models")
            found["relay"].append(_started(began, child.process.pid))
        began = time.monotonic()
        with contextlib.ExitStack() as stack:
            child, url = started(stack, "tests.bench.floor", provider, FLOOR_KEY)
            _until_200(f"{url}/health")
            found["floor"].append(_started(began, child.process.pid))
        yaa = Yaa(config(provider), patient=False)
        began = time.monotonic()
        with yaa:
            _until_200(f"{yaa.url}/health")
            assert yaa.child is not None
            pid = yaa.child.process.pid
            figures = _started(began, pid)
            yaa.until_ready()
            ready = {READY_CPU: (cpu_ms(pid) + ended_ms(pid)) / 1000}
            time.sleep(REST_S)
            at_rest = {RSS: rss_kib(pid) / 1024, PSS: pss_kib(pid) / 1024}
            found["yaa"].append({**figures, **ready, **at_rest})
    return {
        name: {figure: statistics.median(one[figure] for one in starts) for figure in starts[0]}
        for name, starts in found.items()
    }


def _started(began: float, pid: int) -> Figures:
    """The figures of a program that has just answered for the first time."""
    return {
        START: (time.monotonic() - began) * 1000,
        START_CPU: cpu_ms(pid) / 1000,
        RSS: rss_kib(pid) / 1024,
        PSS: pss_kib(pid) / 1024,
    }


MEASURES: dict[str, Callable[[Peer, Size], Awaitable[Figures]]] = {
    "memory": memory,
    "crowd": crowd,
    "paced": paced,
    "steady": steady,
    "arrivals": arrivals,
    "stall": stall,
    "turns": turns,
    "protocols": protocols,
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
