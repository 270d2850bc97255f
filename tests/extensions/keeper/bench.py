"""What kept sessions cost: `python3 -m tests.extensions.keeper.bench [--sessions N] [--kib N]`.

A list, a start and `/health` beside many kept sessions, runs that the keeper drives beside the same
by an HTTP client, and a minute in which nobody asks for anything. Processor time of the server with
its children (Linux: /proc); what is compared is measured in turns, so that both see one machine.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from server.extensions.keeper.folder import KeptFolder, Room

from ...bench.peers import Peer, begin, config, cpu_ms, let_go, start
from ...tooling.api import Api
from ...tooling.child import Yaa

ROOM = Room(1 << 20, 1 << 40, 32 << 20)
LIST_MS, RUN_TIMES = 50.0, 1.1  # the goals
ORDER = "bench tokens={} delay_us=10000 turns={} tool=datetime"
PAGE = "/keeper/sessions?limit=50"
REST_S = 0.5  # for what a start or a run leaves to do
SCHEDULE = {"cron": "0 0 1 1 *", "say": "A new year."}
Figures = dict[str, list[float]]


def fill(home: Path, sessions: int, size: int) -> None:
    """Keep so many sessions of so many bytes, as another program would: without an index."""
    folder = KeptFolder(home, "", ROOM)
    folder.path.mkdir(parents=True)
    for number in range(sessions):
        message = {"id": "m", "role": "user", "content": "x" * max(1, size - 150)}
        session = {"id": f"s{number}", "title": f"Session {number}", "messages": [message]}
        folder.files.file(f"s{number}").write_text(json.dumps(session))


@contextmanager
def serving(provider: str, home: Path) -> Iterator[tuple[Yaa, Peer]]:
    """A server that may keep all of them."""
    settings: Any = config(provider)
    settings["server"]["keeper"] = {"sessions": ROOM.sessions, "total_mb": 1 << 20}
    with Yaa(settings, home=home) as yaa:
        assert yaa.child is not None
        yield yaa, Peer("yaa", yaa.url, yaa.child.process.pid, yaa.key)


def api(peer: Peer) -> Api:
    assert peer.key
    return Api(peer.url, peer.key)


def spent_ms(peer: Peer, path: str, times: int = 1) -> float:
    """What the server spends on a request."""
    assert peer.pid
    client, before = api(peer), cpu_ms(peer.pid)
    for _ in range(times):
        assert client.request("GET", path)[0] == 200, path
    return (cpu_ms(peer.pid) - before) / times


def lists(provider: str, home: Path, rounds: int) -> Figures:
    """The first page of a process and the next one, beside what listing a folder takes."""
    found: Figures = {"no index": [], "first": [], "again": [], "floor": []}
    path = KeptFolder(home, "", ROOM).path
    for number in range(rounds + 1):
        with serving(provider, home) as (_, peer):
            time.sleep(REST_S)
            found["first" if number else "no index"].append(spent_ms(peer, PAGE))
            found["again"].append(spent_ms(peer, PAGE, 5))
        began = time.process_time()
        for file in path.iterdir():
            file.stat()
        found["floor"].append((time.process_time() - began) * 1000)
    return found


def starts(provider: str, homes: dict[str, Path], rounds: int) -> dict[str, Figures]:
    """The processor time until ready, and of /health, of each home folder in turns."""
    found: dict[str, Figures] = {name: {"start": [], "/health": []} for name in homes}
    for _ in range(rounds):
        for name, home in homes.items():
            with serving(provider, home) as (_, peer):
                assert peer.pid
                time.sleep(REST_S)
                found[name]["start"].append(cpu_ms(peer.pid))
                found[name]["/health"].append(spent_ms(peer, "/health", 500))
    return found


class Runs:
    """Runs of one server, by its keeper and by a client. `spent`: what it has spent by now."""

    def __init__(self, yaa: Yaa, peer: Peer, order: str, spent: Callable[[], float]) -> None:
        self._order = order
        self._peer, self._api, self._ids, self._spent = peer, api(peer), count(), spent
        self._marks = Path(yaa.home) / "keeper" / ".running"

    def _documents(self, many: int) -> list[Any]:
        """Kept sessions with something to do, as the server gives them."""
        places = [f"/keeper/sessions/run-{next(self._ids)}" for _ in range(many)]
        document = {"messages": [{"id": "u", "role": "user", "content": self._order}]}
        for place in places:
            assert self._api.request("PUT", place, document)[0] == 201
        return [self._api.request("GET", place)[1] for place in places]

    async def client(self, many: int) -> float:
        """What the server spends on a run that a client asks for, of so many at once."""
        documents = self._documents(many)
        for document in documents:
            assert self._api.request("DELETE", f"/keeper/sessions/{document['id']}")[0] == 204
        requests = [self._peer.post("/session", document) for document in documents]
        await asyncio.sleep(REST_S)
        before = self._spent()
        readers = [await begin(self._peer, request) for request in requests]
        await asyncio.gather(*(reader.ended for reader in readers))
        await asyncio.sleep(REST_S)
        return (self._spent() - before) / many

    async def keeper(self, many: int) -> float:
        """The same of runs that the keeper drives, until no session runs."""
        places = [f"/keeper/sessions/{each['id']}" for each in self._documents(many)]
        requests = [self._peer.post(f"{place}/run", {}) for place in places]
        await asyncio.sleep(REST_S)
        before = self._spent()
        readers = [await begin(self._peer, request) for request in requests]
        while not all(reader.reply.pieces for reader in readers) or any(self._marks.iterdir()):
            await asyncio.sleep(0.02)
        await asyncio.sleep(REST_S)
        spent = (self._spent() - before) / many
        for place in places:
            session = self._api.request("GET", place)[1]
            assert session["status"] == "completed", session
            assert self._api.request("DELETE", place)[0] == 204
        return spent


async def runs(
    provider: str, home: Path, rounds: int, many: int, order: str
) -> dict[str, list[float]]:
    """The processor time of a run, by who asks for it: one alone, and so many at once."""
    found: dict[str, list[float]] = {}
    with serving(provider, home) as (yaa, peer):
        pid = peer.pid or 0
        both = Runs(yaa, peer, order, lambda: cpu_ms(pid))
        for number in range(rounds + 1):
            for name, ways in {"one": 1, "many": many}.items():
                for way in (both.client, both.keeper):
                    spent = await way(ways)
                    if number:  # the first one makes what is made once
                        found.setdefault(f"{way.__name__}, {name}", []).append(spent)
        await let_go()
    return found


def rest(provider: str, home: Path, seconds: float) -> tuple[float, float]:
    """What a server spends that nobody asks, for so long; and one without kept sessions."""
    with tempfile.TemporaryDirectory() as other, ExitStack() as stack:
        both = [stack.enter_context(serving(provider, each)) for each in (home, Path(other) / "h")]
        kept = {"messages": [], "ext": {"keeper": {"schedule": SCHEDULE}}}
        assert api(both[0][1]).request("PUT", "/keeper/sessions/yearly", kept)[0] in (200, 201)
        time.sleep(4 * REST_S)
        pids = [peer.pid or 0 for _, peer in both]
        before = [cpu_ms(pid) for pid in pids]
        time.sleep(seconds)
        with_kept, without = (cpu_ms(pid) - then for pid, then in zip(pids, before, strict=True))
    return with_kept, without


def main() -> None:
    parser = argparse.ArgumentParser(prog="python3 -m tests.extensions.keeper.bench")
    parser.add_argument("--sessions", type=int, default=10_000)
    parser.add_argument("--kib", type=int, default=1, help="size of each")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--many", type=int, default=50, help="runs at once")
    parser.add_argument("--tokens", type=int, default=100, help="of each of the turns of a run")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=60, help="of rest")
    options = parser.parse_args()
    median, missed = statistics.median, list[str]()

    def row(name: str, value: float, goal: float | None = None) -> None:
        misses = goal is not None and value > goal
        wanted = "" if goal is None else f"  ≤ {goal:g}{'  MISSED' if misses else ''}"
        print(f"{name:48} {value:9.2f}{wanted}", flush=True)
        missed.extend([name] * misses)

    with ExitStack() as stack:
        provider = start(stack, "tests.bench.provider")
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        kept, empty = folder / "kept", folder / "empty"
        fill(kept, options.sessions, options.kib << 10)
        listed = lists(provider, kept, options.rounds)
        row("first page without an index, ms", median(listed["no index"]))
        row("first page of a process, ms", median(listed["first"]), LIST_MS)
        row("first page again, ms", median(listed["again"]), LIST_MS)
        row("listing the folder and looking at each, ms", median(listed["floor"]))
        for name in ("start", "/health"):
            both = starts(provider, {"kept": kept, "empty": empty}, options.rounds)
            ours, theirs = (min(both[each][name]) for each in ("kept", "empty"))
            row(f"{name} with kept sessions, ms", ours)
            row(f"{name} without, ms", theirs)
            row(f"{name}, ratio", ours / theirs, RUN_TIMES)
        order = ORDER.format(options.tokens, options.turns)
        spent = asyncio.run(runs(provider, kept, options.rounds, options.many, order))
        for name in ("one", "many"):
            ours, theirs = (median(spent[f"{way}, {name}"]) for way in ("keeper", "client"))
            row(f"a run by the keeper, {name}, ms", ours)
            row(f"a run by a client, {name}, ms", theirs)
            row(f"a run, {name}, ratio", ours / theirs, RUN_TIMES)
        ours, theirs = rest(provider, kept, options.seconds)
        row(f"{options.seconds:g} s of rest with kept sessions, ms", ours, 1.2 * theirs + 5)
        row("without, ms", theirs)
    if missed:
        sys.exit(f"missed: {', '.join(missed)}")


if __name__ == "__main__":
    main()
