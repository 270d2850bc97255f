"""`python3 -m tests.chaos.soak`: many slow streams for minutes, and every tenth client is killed.

The clients that are to die are processes of their own, ended by SIGKILL one after the other. What
must hold: every other stream comes whole; the provider is rid of a dead client's requests within a
second; and when all is over the server has what it had: no more descriptors, threads, runs or
connections. It goes in rounds that are alike, so that a leak can be told from what the allocator
keeps of the first one. The server starts with a soft limit of open files that is too low.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import re
import resource
import statistics
import sys
import time
import urllib.request
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from ..bench.peers import Peer, Reply, ask, begin, config, let_go, rss_kib, started
from ..tooling.child import Child, Yaa
from . import processes

BEGIN_EACH_S = 0.004  # between two clients: a burst of 1,000 is another test
FREED_S = 1.0  # until a dead client's requests are gone
LOOK_EACH_S = 0.02
SETTLED_S = 30.0  # for a loaded machine to end what has ended
START_S = 180.0  # for it to start a client
MORE_KIB = 4096  # of memory, and a tenth, that may be in use after all rounds beyond the first's
LIMITED = (
    "import os, resource, sys; n = int(sys.argv.pop(1));"
    " resource.setrlimit(resource.RLIMIT_NOFILE, (n, resource.getrlimit(7)[1]));"
    " os.execv(sys.executable, [sys.executable, '-m', 'server', *sys.argv[1:]])"
)


@dataclass(frozen=True)
class Size:
    """Of a round. `doomed`: processes of clients that are killed, each with `each` streams."""

    rounds: int
    streams: int
    seconds: float
    doomed: int
    each: int
    delay_s: float  # between two tokens of a stream
    files: int  # the soft limit that the server starts with

    @property
    def order(self) -> str:
        tokens = max(2, round(self.seconds / self.delay_s))
        return f"bench tokens={tokens} delay_us={round(self.delay_s * 1e6)}"

    @property
    def endless(self) -> str:
        """What those are told who do not live to see the end."""
        return self.order.replace("tokens=", "tokens=100")

    @property
    def tokens(self) -> int:
        return int(self.order.split("=")[1].split()[0])


@dataclass
class Held:
    """What the server has: read from /proc and from its own numbers."""

    files: int
    threads: int
    rss_kib: int
    runs: int
    connections: int


class Soak:
    def __init__(self, yaa: Yaa, provider: tuple[Child, str], size: Size) -> None:
        assert yaa.child is not None
        self.pid, self.size = yaa.child.process.pid, size
        self.provider_pid, self.provider = provider[0].process.pid, provider[1]
        self.peer = Peer("yaa", yaa.url, self.pid, yaa.key)
        self.wrong: list[str] = []
        self.freed_s: list[float] = []
        self.raw_s: list[float] = []  # by the clock on the wall
        self.delays_ms: list[float] = []
        self.peak = self.held()

    def held(self) -> Held:
        headers = {"Authorization": f"Bearer {self.peer.key}"}
        asked = urllib.request.Request(f"{self.peer.url}/metrics", None, headers)
        with urllib.request.urlopen(asked) as answer:
            told = answer.read().decode()
        numbers = dict(re.findall(r"^(yaa_runs|yaa_connections) (\d+)", told, re.M))
        return Held(
            len(list(Path(f"/proc/{self.pid}/fd").iterdir())),
            len(list(Path(f"/proc/{self.pid}/task").iterdir())),
            rss_kib(self.pid),
            int(numbers["yaa_runs"]),
            int(numbers["yaa_connections"]) - 1,  # this one
        )

    def open(self) -> int:
        """Streams of the provider's."""
        with urllib.request.urlopen(f"{self.provider}/gone") as answer:
            return int(json.load(answer)["open"])

    async def first(self) -> None:
        """One run, for what a server opens once and keeps (the file that its runs lock)."""
        await ask(self.peer, self.peer.request("bench tokens=2 delay_us=0"), 2)
        await let_go()

    async def round(self, chance: random.Random) -> None:
        """All streams from their beginning to their end."""
        with ExitStack() as stack:
            doomed = [self._doomed() for _ in range(self.size.doomed)]
            for each in doomed:
                stack.callback(each.kill)
            await self._round(chance, doomed)

    async def _round(self, chance: random.Random, doomed: list[Child]) -> None:
        size, replies = self.size, []
        living = size.streams - len(doomed) * size.each
        for each in doomed:
            await asyncio.to_thread(each.wait_for, "READY", START_S)
        for _ in range(living):
            replies.append(await begin(self.peer, self.peer.request(size.order)))
            await asyncio.sleep(BEGIN_EACH_S)
        self.peak = await asyncio.to_thread(self.held)
        left = living + len(doomed) * size.each
        for number, each in enumerate(doomed):
            pause = 0.8 * size.seconds / (size.doomed + 1)
            await asyncio.sleep(pause * chance.uniform(0.5, 1))
            left -= size.each
            each.kill()
            self.freed_s.append(await self._until_open(left, number))
        await asyncio.wait([reader.ended for reader in replies], timeout=size.seconds * 3 + 60)
        for reader in replies:
            self._judge(reader.reply)
        await let_go()

    async def _until_open(self, left: int, number: int) -> float:
        """Seconds until no more than `left` are open, without those in which the server, the
        provider or this process stood in line for a CPU: the machine may be busy with others."""
        began, stood = time.monotonic(), self._stood_s()
        while await asyncio.to_thread(self.open) > left:
            if time.monotonic() - began > SETTLED_S:
                self.wrong.append(f"requests of dead client {number} are still open")
                break
            await asyncio.sleep(LOOK_EACH_S)
        took = time.monotonic() - began
        self.raw_s.append(took)
        return max(0.0, took - (self._stood_s() - stood))

    def _stood_s(self) -> float:
        """How long they were ready to run and did not."""
        return sum(map(processes.stood_s, (self.pid, self.provider_pid, os.getpid())))

    def _judge(self, reply: Reply) -> None:
        stamps = reply.stamps()
        if len(stamps) != self.size.tokens or b"RUN_FINISHED" not in reply.body:
            tail = reply.body[-300:].decode("utf-8", "replace")
            self.wrong.append(f"{len(stamps)} of {self.size.tokens} deltas: {tail!r}")
        self.delays_ms += ((arrived - written) / 1e6 for arrived, written in stamps)

    def _doomed(self) -> Child:
        peer, size = self.peer, self.size
        about = json.dumps([peer.url, peer.key, size.each, size.endless])
        return Child([sys.executable, "-m", "tests.chaos.soak", "--doomed", about])

    def settled(self, before: Held) -> Held:
        """What it has when all is over: the same, after a moment."""
        ends = time.monotonic() + SETTLED_S
        while True:
            now = self.held()
            same = (now.runs, now.connections) == (0, 0) and now.files <= before.files
            if same or time.monotonic() > ends:
                return now
            time.sleep(0.2)


def soak(size: Size, seed: int) -> tuple[Soak, list[Held]]:
    """(what was found, what the server had at first and after each round)"""
    with ExitStack() as stack:
        provider = started(stack, "tests.bench.provider")
        command = [sys.executable, "-c", LIMITED, str(size.files)]
        yaa = stack.enter_context(Yaa(config(provider[1]), command=command))
        found, chance = Soak(yaa, provider, size), random.Random(seed)
        asyncio.run(found.first())
        held = [found.held()]
        for _ in range(size.rounds):
            asyncio.run(found.round(chance))
            held.append(found.settled(held[0]))
            print(f"at once {found.peak}\nafter   {held[-1]}", flush=True)
    late = [seconds for seconds in found.freed_s if seconds > FREED_S]
    found.wrong += [f"a dead client's requests were open for {seconds:.2f} s" for seconds in late]
    idle, first, last = held[0], held[1], held[-1]
    for name in ("files", "threads", "runs", "connections"):
        if (now := getattr(last, name)) > (then := getattr(idle, name)):
            found.wrong.append(f"{name}: {then} before, {now} after")
    if last.rss_kib > first.rss_kib * 1.1 + MORE_KIB:
        found.wrong.append(f"memory: {first.rss_kib} KiB after one round, {last.rss_kib} after all")
    return found, held


async def doomed(url: str, key: str, count: int, order: str) -> None:
    """A client process, until it is killed."""
    peer = Peer("yaa", url, None, key)
    readers = [await begin(peer, peer.request(order)) for _ in range(count)]
    while not all(reader.reply.stamps() for reader in readers):
        await asyncio.sleep(0.05)
    print("READY", flush=True)
    await asyncio.wait([reader.ended for reader in readers])


def main() -> int:
    options = _options()
    if options.doomed:
        asyncio.run(doomed(*options.doomed))
        return 0
    size = TINY if options.tiny else sized(options.streams, options.seconds)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 4 * size.streams + 256)), hard))
    print(f"{size}, --seed {options.seed}", flush=True)
    found, held = soak(size, options.seed)
    print(f"idle    {held[0]}")
    freed, delays = sorted(found.freed_s), sorted(found.delays_ms)
    print(f"{len(freed)} clients killed, {len(freed) * size.each} streams; freed after", end=" ")
    print(f"{statistics.median(freed):.2f} s (half), {freed[-1]:.2f} s (all)", end=" ")
    print(f"of a CPU's attention, {max(found.raw_s):.2f} s by the clock")
    p99 = delays[len(delays) * 99 // 100]
    print(f"{len(delays)} deltas, {statistics.median(delays):.1f} ms late p50, {p99:.1f} ms p99")
    print("\n".join(found.wrong[:20]))
    print(f"{len(found.wrong)} wrong")
    return min(len(found.wrong), 1)


def sized(streams: int, seconds: float) -> Size:
    """A tenth of the streams are of ten clients that die. 1,024 open files are usual."""
    each = max(1, streams // 100)
    return Size(ROUNDS, streams, seconds / ROUNDS, 10, each, 1.0, min(1024, streams))


ROUNDS = 3
TINY = Size(2, 60, 3, 2, 3, 0.1, 100)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python3 -m tests.chaos.soak")
    parser.add_argument("--streams", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--tiny", action="store_true", help="only show that it runs")
    parser.add_argument("--doomed", type=json.loads, help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
