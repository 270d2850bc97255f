"""Many conversations with real servers whose lines are cut, over and over: nothing runs twice.

    python3 -m tests.chaos.cuts --cuts 10000 --seed 7

Servers share a home folder, and nginx stands before them. A client reads a part of an answer. Then
its program sleeps, while its machine receives the rest; or it dies. Later it comes back to one of
the servers with what it has read, or with an older document: the same again, with a new message, a
denial, an edited call, after a stop, on another branch. This process is the model and the HTTP API
whose operations are the tools, so calls are counted outside of every server. Clients and what is
judged are those of the simulator (simulator/): this storm has real processes, sockets and disks.

    python3 -m tests.chaos.cuts --two-hosts --cuts 4000

Two servers have a home each, as two hosts do. A client that is cut goes on at the other one: at
once, with all that its machine has received, or 1.5 s after the last event that its program read.
What runs twice is counted.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import copy
import itertools
import json
import math
import random
import socket
import struct
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from typing import Any, NamedTuple

from ..tooling import tools
from .cluster import KEY, Cluster
from .simulator.client import Client, NotPossible
from .simulator.oracle import WRONG, judge
from .simulator.spec import (
    LAYOUTS,
    TOOLS,
    UNASKED,
    Disturbance,
    Spec,
    script_of,
    wanted_by,
)
from .simulator.wire import Answer, Reader
from .simulator.world import Ran

API = "do"  # of the configuration; the model sees its tools as do_bump and so on
# asleep: the machine receives, the program does not read, then the line is closed. open: the same,
# and it stays open. reset, close: at once.
WAYS = ("asleep", "asleep", "open", "reset", "close")
TO_ASKED = ("deny", "cancel", "edit", "keep+user")  # what only a document with questions can do
ACTIONS = (
    *("again", "again", "later", "older", "older-later", "oldest", "user", "user-later"),
    *("user-older", "stop", "sibling", "wish", "both"),
)
SLEEPS_S = (0.0, 0.02, 0.2, 0.6, 1.5)  # of a program whose machine receives
PAUSES_S = (0.0, 0.0, 0.1, 0.5, 1.5, 3.0)  # before it comes back
SETTLED_S = 2.5  # after a conversation, for calls of runs that nobody reads
AT_ONCE = 40
ANSWER_S = 60.0
BEGINS_S = 10  # within which a server begins with a request


class Process:
    """What the simulator's client asks of a server: it is not killed, and nobody counts for it."""

    effects, dead = 0, False

    def __init__(self, name: str) -> None:
        self.name = name


class Place(NamedTuple):
    """A port where clients POST."""

    port: int
    process: Process


class World:
    """What one conversation and its judge know: the time, the servers, what tools did."""

    def __init__(self, ports: list[int]) -> None:
        self.places = [Place(port, Process(f"{number}")) for number, port in enumerate(ports)]
        self.keys: list[Any] = []
        self.ran: list[Ran] = []
        self.asked = 0  # how often the model was
        self.story: list[str] = []
        self.loop = Clock()

    def tell(self, text: str) -> None:
        """Add a line to the story."""
        self.story.append(f"{self.loop.now:9.3f} {text}")

    def now_ms(self) -> int:
        """Return the time in milliseconds."""
        return int(time.time() * 1000)

    def host(self, name: str) -> Place:
        """Return a place: "A" is the first."""
        return self.places[ord(name) % ord("A") % len(self.places)]


class Clock:
    """The time of all conversations, which begin at their own."""

    def __init__(self) -> None:
        self.complaints: list[str] = []
        self._began = time.monotonic()

    @property
    def now(self) -> float:
        """Return seconds since the conversation began."""
        return time.monotonic() - self._began


class Line:
    """A client's socket.

    machine    what its program has taken and not read yet
    has_begun  whether it has read an event
    """

    def __init__(self, sock: socket.socket) -> None:
        self.sock, self.machine, self.has_begun = sock, bytearray(), False

    def close(self, *, reset: bool = False) -> None:
        """Close the socket; with `reset` as the kernel does for a process that was killed."""
        if reset and self.sock.fileno() >= 0:
            linger = struct.pack("ii", 1, 0)
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.sock.close()

    def is_answered(self) -> bool:
        """Return whether the machine has anything that the program has not taken."""
        try:
            return self.sock.recv(1, socket.MSG_PEEK) is not None
        except BlockingIOError:
            return False
        except OSError:
            return True


async def request(
    place: Place,
    path: str,
    body: Any,
    headers: Any,
    take: int | None = None,
    *,
    drain: bool = False,
) -> tuple[Answer, Line]:
    """POST, and read up to `take` events: what comes after them stays in the socket.

    `drain`: the program then reads what its machine has received so far.
    """
    loop, answer = asyncio.get_running_loop(), Answer()
    line = Line(socket.socket())
    line.sock.setblocking(False)
    data = json.dumps(body).encode()
    fields = {"Host": "localhost", "Content-Type": "application/json", **headers}
    fields |= {"Connection": "close", "Content-Length": str(len(data))}
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    try:
        async with asyncio.timeout(ANSWER_S):
            await loop.sock_connect(line.sock, ("127.0.0.1", place.port))
            await loop.sock_sendall(
                line.sock, f"POST {path} HTTP/1.1\r\n{head}\r\n".encode() + data
            )
            reader: Any = Reader(answer)
            size = 65536 if take is None else 512
            while not answer.whole and (take is None or len(answer.events) < take):
                if not (piece := await loop.sock_recv(line.sock, size)):
                    break
                line.machine += piece
                reader.read(line, take)
            if drain:
                with contextlib.suppress(BlockingIOError):
                    while piece := line.sock.recv(65536):
                        line.machine += piece
                reader.read(line, None)
    except (OSError, TimeoutError):
        pass  # nginx or the server hung up
    if take is None:
        line.close()
    line.has_begun = bool(answer.events)
    return answer, line


class Talk(Client):
    """The simulator's client on real sockets. `lines`: those that it left open."""

    RETRY_S = 0.15

    world: Any
    host: Any

    def __init__(self, world: World, spec: Spec, name: str, chance: random.Random) -> None:
        super().__init__(world, spec, name)  # type: ignore[arg-type]  # it has what is asked for
        self._chance, self._places = chance, world.places
        self.lines: list[Line] = []
        self.done: Counter[str] = Counter()

    def authorization(self, name: str = "") -> dict[str, str]:
        return {"Authorization": f"Bearer {KEY}"}

    async def request(self, host: Any, path: str, body: Any, headers: Any, **options: Any) -> Any:
        self._asked = self.world.asked
        answer, line = await request(host, path, body, headers, **options)
        if "take" in options and answer.status not in (0, 200):
            line.close()
        if answer.status >= 400:
            self.world.tell(f"  refused: {answer.body}")
        return answer, line

    def _options(self, due: Disturbance | None) -> dict[str, Any]:
        if due is None:
            return {}
        if self.spec.wire not in ("sse", "base"):
            return {"take": 0}
        at = due.at
        if self._sent[-1].get("interrupts") and self._chance.random() < 0.5:
            at = self._chance.randrange(3)  # the questions are still in the document
        return {"take": at}

    async def after(self, due: Disturbance, kept: Any, posted: Any, line: Any) -> Any:
        """End the line, wait, and return the document that is POSTed next."""
        chance = self._chance
        has_begun = await self._has_begun(line)
        if self.spec.wire == "json" and due.mode in ("reset", "close"):
            await asyncio.sleep(chance.random() / 5)
        if due.mode in ("asleep", "open"):
            await asyncio.sleep(chance.choice(SLEEPS_S))
        self.done[f"cut: {due.mode}"] += 1
        if due.mode == "open":
            self.lines.append(line)
        else:
            line.close(reset=due.mode == "reset")
        await asyncio.sleep(chance.choice(PAUSES_S))
        self.host = chance.choice(self._places)
        # Whoever goes on in another way before a request has arrived has two conversations.
        action = due.action if has_begun else "again"
        if has_begun and kept.get("interrupts") and chance.random() < 0.5:
            action = chance.choice(TO_ASKED)
        try:
            document = await self.act(action, kept, posted)
        except NotPossible:
            document, action = kept, "again"
        self.done[f"then: {action}"] += 1
        self.world.tell(f"  {due.mode}, then {action} at {self.host.process.name}")
        return document

    async def _has_begun(self, line: Line) -> bool:
        """Wait until a server has begun with the request; return whether one has."""
        for _ in range(BEGINS_S * 20):
            if line.has_begun or self.world.asked > self._asked or line.is_answered():
                return True
            await asyncio.sleep(0.05)
        return False

    async def act(self, action: str, kept: Any, posted: Any) -> Any:
        """Do what a client does next; return the document that it POSTs then.

        The oldest has all messages of the user's: to go back before one is another branch.
        """
        if action == "oldest":
            sent = [each for each in self._sent if users(each) == users(kept)]
            return copy.deepcopy(sent[0]) if sent else kept
        return await super().act(action, kept, posted)

    def _another(self) -> Any:
        return self._chance.choice(self._places)


def users(document: Any) -> list[Any]:
    """Return the messages of the user's."""
    return [each for each in document["messages"] if each["role"] == "user"]


class Mover(Talk):
    """A client that goes on at the other of two hosts, with what it has read."""

    def __init__(self, world: Any, spec: Spec, name: str, chance: random.Random) -> None:
        super().__init__(world, spec, name, chance)
        self.behind_s = 0.0
        self.host = world.places[0]

    def _options(self, due: Disturbance | None) -> dict[str, Any]:
        return {} if due is None else {"take": due.at, "drain": not self.behind_s}

    async def after(self, due: Disturbance, kept: Any, posted: Any, line: Any) -> Any:
        """Hang up, now or when the machine has received more, and go to the other host."""
        if kept.get("status") in ("completed", "interrupted"):
            line.close()
            return kept  # the answer was whole
        await asyncio.sleep(self.behind_s)
        self.done["cut: asleep" if self.behind_s else "cut: reset"] += 1
        line.close(reset=True)
        self.host = next(each for each in self._places if each is not self.host)
        return kept


class Stub:
    """The model and the API of all conversations, which are told apart by what users say."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self.talks: dict[str, tuple[World, Any]] = {}
        self.counts: Counter[str] = Counter()
        self._numbers = itertools.count(1)

    async def serve(self) -> asyncio.Server:
        """Listen, and return the server."""
        return await asyncio.start_server(self._connected, "127.0.0.1", 0, backlog=512)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                rows = head.decode().lower().split("\r\n")
                fields = dict(row.split(": ", 1) for row in rows[1:] if row)
                body = await reader.readexactly(int(fields.get("content-length", 0)))
                path = rows[0].split(" ")[1]
                if path.endswith("/chat/completions"):
                    await self._complete(json.loads(body), writer)
                else:
                    await self._run(path.strip("/"), body, writer)
        writer.close()

    async def _run(self, tool: str, body: bytes, writer: asyncio.StreamWriter) -> None:
        tool, _, query = tool.partition("?")
        args = json.loads(body) if body else dict(each.split("=") for each in query.split("&"))
        name = args["n"]
        self.counts[name] += 1
        talk = self.talks.get(name.partition(":")[0])
        if talk:
            world = talk[0]
            world.ran.append(Ran(name, str(args["call"]), tool, world.loop.now))
            world.tell(f"    runs {tool} {name} as {args['call']}")
        await asyncio.sleep(self._chance.choice((0.0, 0.01, 0.05, 0.3)))
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 4\r\n\r\ndone"
        )
        await writer.drain()

    async def _complete(self, asked: Any, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n")
        writer.write(b"Transfer-Encoding: chunked\r\n\r\n")
        first = next(m for m in asked["messages"] if m["role"] == "user")
        world, script = self.talks[str(first["content"]).partition(":")[0]]
        world.asked += 1
        for chunk in self._chunks(script(asked["messages"])):
            piece = f"data: {json.dumps(chunk)}\n\n".encode()
            writer.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            await writer.drain()
            await asyncio.sleep(self._chance.choice((0.0, 0.0, 0.003, 0.02)))
        writer.write(b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n")
        await writer.drain()

    def _chunks(self, wanted: list[Any]) -> list[Any]:
        deltas: list[Any] = []
        place = 0
        for kind, *about in wanted:
            if kind == "text":
                deltas += [{"content": text} for text in about[0]]
                continue
            name, pieces = about
            args = json.loads("".join(pieces)) | {"call": next(self._numbers)}
            text = json.dumps(args)
            head = {"index": place, "id": f"call_{place}", "type": "function"}
            function = {"name": f"{API}_{name}", "arguments": ""}
            deltas.append({"tool_calls": [head | {"function": function}]})
            for part in (text[:9], text[9:]):
                function = {"arguments": part}
                deltas.append({"tool_calls": [{"index": place, "function": function}]})
            place += 1
        chunks = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
        reason = "tool_calls" if place else "stop"
        return [*chunks, {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}]


def config(port: int) -> dict[str, Any]:
    """Return the tools, two of which run without being asked about."""
    number = {"type": "integer"}
    parameters = {"n": {"type": "string", "required": True}, "call": number, "x": number}
    operations = [
        {
            "name": name,
            "method": "GET" if name == "look" else "POST",
            "path": f"/{name}",
            "parameters": parameters,
            "parallel_safe": "safe" in about,
        }
        for name, about in TOOLS.items()
    ]
    api = {"base_url": f"http://127.0.0.1:{port}", "tools": operations}
    unasked = {f"{API}_{name}": {"auto_approve": True} for name in UNASKED}
    return {"server": {"rest": {API: api}}, "session": {"tool": unasked}}


def spec_of(chance: random.Random) -> Spec:
    """Return a conversation of some turns, with some cuts."""
    disturbances, post = [], 0
    for _ in range(chance.randint(2, 7)):
        post += chance.choice((0, 0, 0, 1, 1, 2))
        due = Disturbance(
            *(post, chance.choice((0, 1, 2, 3, *range(24))), chance.choice(WAYS)),
            *(chance.choice(ACTIONS), "other"),
        )
        disturbances.append(due)
        post += 1
    kinds = tuple(chance.choice(tuple(TOOLS)) for _ in range(chance.randint(1, 3)))
    layout, wire = chance.choice(LAYOUTS), chance.choice(("sse", "sse", "sse", "json", "base"))
    page, turns = chance.random() < 0.3, chance.randint(1, 3)
    return Spec(kinds, layout, wire, page, turns, tuple(disturbances))


class Storm:
    """Conversations, some at once, until lines were cut so often.

    told     what happened, counted
    stories  of conversations in which something is wrong
    """

    def __init__(self, ports: list[int], stub: Stub, seed: str) -> None:
        self._ports, self._stub, self._seed = ports, stub, seed
        self.told: Counter[str] = Counter()
        self.stories: list[str] = []

    async def until(self, cuts: int, seconds: float = math.inf, at_once: int = AT_ONCE) -> None:
        """Hold conversations until lines were cut so often, or the time is up."""
        self._ends = time.monotonic() + seconds
        numbers = itertools.count()
        await asyncio.gather(*(self._hold(numbers, cuts) for _ in range(at_once)))

    def cuts(self) -> int:
        """Return how many lines were cut so far."""
        return sum(count for name, count in self.told.items() if name.startswith("cut: "))

    async def _hold(self, numbers: Iterator[int], cuts: int) -> None:
        while self.cuts() < cuts and time.monotonic() < self._ends:
            await self._converse(next(numbers))

    def talk(self, name: str, chance: random.Random) -> Talk:
        """Return the client of a conversation."""
        return Talk(World(self._ports), spec_of(chance), name, chance)

    async def _converse(self, number: int) -> None:
        name, seed = f"{self._seed}/{number}:", f"{self._seed}/{number}"
        talk = self.talk(name, random.Random(seed))
        world: Any = talk.world
        self._stub.talks[seed] = world, script_of(talk.spec)
        await talk.run()
        await asyncio.sleep(SETTLED_S)
        for line in talk.lines:
            line.close()
        name_calls(talk)
        self.told.update(talk.done)
        self.told.update(conversations=1, posts=talk.posts, calls=len(talk.world.ran))
        self.judge(talk)

    def judge(self, talk: Talk) -> None:
        """Count what is wrong with a conversation."""
        wrong = judge(talk)
        self.told.update({name for name in WRONG if any(each.startswith(name) for each in wrong)})
        if wrong:
            self.stories.append("\n".join([repr(talk.spec), *talk.world.story]))


class Move(Storm):
    """Conversations that go on at another host. `asked`: whether a person approves the calls."""

    def __init__(self, ports: list[int], stub: Stub, seed: str, asked: bool, late_s: float) -> None:
        super().__init__(ports, stub, f"{seed}-{asked}-{late_s}")
        self._asked, self._late_s = asked, late_s

    def talk(self, name: str, chance: random.Random) -> Talk:
        """Return the client of a conversation of four calls that is cut twice."""
        kind = "ask" if self._asked else "bump"
        dues = [Disturbance(post, chance.randrange(30), "", "again", "other") for post in (0, 2)]
        layout = chance.choice(LAYOUTS)  # a page marks what it approves, as is documented
        spec = Spec((kind, kind), layout, page=True, turns=2, disturbances=tuple(dues))
        talk = Mover(World(self._ports), spec, name, chance)
        talk.behind_s = self._late_s
        return talk

    def judge(self, talk: Talk) -> None:
        """Count what ran twice, and what was asked."""
        runs = Counter(each.wanted for each in talk.world.ran)
        doubles = sum(count - 1 for count in runs.values())
        reasons = {each[1:3] for each in talk.questions}
        self.told["conversations with a double"] += bool(doubles)
        self.told["doubles"] += doubles
        self.told["questions"] += sum(reason == "indeterminate" for _, reason in reasons)
        self.told["unconfirmed"] += "announcement_unconfirmed" in repr(talk.final)


def name_calls(talk: Talk) -> None:
    """Give what ran the ids that documents have; the model has numbered its calls."""
    ids = {
        str(json.loads(call["function"]["arguments"])["call"]): call["id"]
        for _, document in talk.documents
        for message in document.get("messages", ())
        for call in message.get("tool_calls") or ()
        if wanted_by(call)
    }
    ran = [each._replace(call_id=ids.get(each.call_id, each.call_id)) for each in talk.world.ran]
    talk.world.ran = ran


@contextlib.asynccontextmanager
async def started(seed: str, **kind: Any) -> AsyncIterator[tuple[Cluster, Stub]]:
    """Start servers and what they call."""
    stub = Stub(random.Random(seed))
    server = await stub.serve()
    port = server.sockets[0].getsockname()[1]
    cluster = Cluster(kind.pop("nginx", None), provider=port, config=config(port), **kind)
    await asyncio.to_thread(cluster.__enter__)
    try:
        yield cluster, stub
    finally:
        await asyncio.to_thread(cluster.__exit__, None, None, None)
        server.close()


async def storm(
    cuts: int, seed: str, seconds: float = math.inf, *, count: int = 3, at_once: int = AT_ONCE
) -> Storm:
    """Hold conversations with `count` servers of one home, some through nginx."""
    nginx = tools.nginx().path
    async with started(seed, nginx=nginx, shared=True, count=count) as (cluster, stub):
        held = Storm([*cluster.direct, *cluster.places], stub, seed)
        await held.until(cuts, seconds, at_once)
        for child in cluster.servers:
            if "Traceback" in child.output:
                held.stories.append(child.output)
    return held


async def two_hosts(cuts: int, seed: str) -> None:
    """Print what runs twice if a client goes on at a host that shares nothing with the first."""
    print("| Calls | The client goes on | Cuts | Conversations | With a double | Doubles |", end="")
    print(" Questions | Unconfirmed |\n|---|---|---|---|---|---|---|---|")
    async with started(seed, count=2) as (cluster, stub):
        for asked, late_s in itertools.product((False, True), (0.0, 1.5)):
            held = Move(cluster.direct, stub, seed, asked, late_s)
            await held.until(cuts // 4)
            told, when = held.told, f"{late_s} s behind" if late_s else "at once"
            share = 100 * told["conversations with a double"] / told["conversations"]
            print(f"| {'asked' if asked else 'unasked'} | {when} | {held.cuts()} |", end=" ")
            print(f"{told['conversations']} | {told['conversations with a double']} ", end="")
            print(
                f"({share:.0f} %) | {told['doubles']} of {told['calls'] - told['doubles']} |",
                end="",
            )
            print(f" {told['questions']} | {told['unconfirmed']} |", flush=True)


def main() -> int:
    """Hold the storm, and print what it counted."""
    parser = argparse.ArgumentParser(prog="python3 -m tests.chaos.cuts")
    parser.add_argument("--cuts", type=int, default=10_000)
    parser.add_argument("--seed", default=str(random.SystemRandom().randrange(1 << 32)))
    parser.add_argument("--seconds", type=float, default=math.inf, help="no longer than this")
    parser.add_argument("--stories", type=int, default=3, help="how many failures are told whole")
    parser.add_argument("--two-hosts", action="store_true", help="two servers with a home each")
    options = parser.parse_args()
    print(f"--seed {options.seed}", flush=True)
    if options.two_hosts:
        asyncio.run(two_hosts(options.cuts, options.seed))
        return 0
    began = time.monotonic()
    held = asyncio.run(storm(options.cuts, options.seed, options.seconds))
    print(*held.stories[: options.stories], sep="\n\n")
    for name, count in sorted(held.told.items()):
        print(f"{name}: {count}")
    print(f"{held.cuts()} cuts, {len(held.stories)} wrong in {time.monotonic() - began:.0f} s")
    return min(len(held.stories), 1)


if __name__ == "__main__":
    sys.exit(main())
