"""POSTs that name their base: the answer is that to the whole session, or 409 `base_unknown`."""

from __future__ import annotations

import asyncio
import copy
import hashlib
import io
import json
import random
import time
import unittest
from collections.abc import Iterator
from typing import Any

from server.api.auth import Keys
from server.api.info import HealthHandler
from server.api.router import Route, Router
from server.api.sessions import TERMINAL, Runs, Sessions
from server.lib.http.listener import BaseServer, ServerLimits
from server.lib.http.sse import Decoder
from server.lib.strict_json import canonical
from server.session.fold import Folder
from server.session.kept_sessions import KeptSession
from server.telemetry import log

from ..fakes import DEFAULTS, CountingToolbox, Ids, ManualClock, ScriptedModel, agent, answer, user
from ..tooling import tools
from ..tooling.tools import ROOT
from . import fakes

KEYS = [{"name": "ann", "key": "key-of-ann"}, {"name": "bob", "key": "key-of-bob"}]
TOOLS = {"time": "read", "rm": "write safe"}
SSE = "text/event-stream"
Json = dict[str, Any]


def plan(messages: list[Any]) -> list[tuple[Any, ...]]:
    """What the last message asks for."""
    said = str(messages[-1]["content"])
    if messages[-1]["role"] == "tool":
        return [("text", ["There were ", f"{len(messages)} messages."])]
    if "fail" in said:
        return [("text", ["I "]), ("error", "no")]
    calls = [("call", name, ["{}"]) for name in TOOLS if name in said]
    return [("think", ["Hm"]), ("text", [f"{len(messages)} ", "é😀"]), *calls]


def digest_of(session: Json, count: int) -> str:
    """The digest of the first messages, as docs/reference/http.md defines it."""
    digest, ledger = "", session.get("calls", {})
    for message in session["messages"][:count]:
        ids = [call["id"] for call in message.get("tool_calls") or ()]
        value = [message, {each: ledger[each] for each in ids if each in ledger}]
        digest = hashlib.sha256((digest + canonical(value)).encode()).hexdigest()[:32]
    return digest


def with_base(session: Json, count: int, digest: str | None = None) -> Json:
    """The body of a POST that leaves the first messages and the entries of their calls out."""
    ids = {
        call["id"]
        for message in session["messages"][:count]
        for call in message.get("tool_calls") or ()
    }
    calls = {key: entry for key, entry in session.get("calls", {}).items() if key not in ids}
    base = {
        "messages": count,
        "digest": digest_of(session, count) if digest is None else digest,
    }
    more = {"calls": calls} if "calls" in session else {}
    return {**session, **more, "messages": session["messages"][count:], "base": base}


class Cut(fakes.Channel):
    """A connection that breaks after so many events, or whose server stops then."""

    def __init__(self, body: bytes, events: int) -> None:
        super().__init__(body)
        self.events, self.broken = events, bool(events % 2)  # else the server stops

    async def drain(self) -> None:
        await asyncio.sleep(0)  # what was written is sent
        self.events -= 1
        said = b"".join(each for each in self.log if isinstance(each, bytes))
        if not self.events and b"application/json" not in said:
            self.ended = self.gone = self.broken
            raise asyncio.CancelledError


def pieces_of(stream: bytes) -> Iterator[bytes]:
    """The pieces of a chunked answer that was cut."""
    rest = stream.partition(b"\r\n\r\n")[2]
    while rest:
        size, _, rest = rest.partition(b"\r\n")
        yield rest[: int(size, 16)]
        rest = rest[int(size, 16) + 2 :]


class Host:
    """A server with two keys. Its ids and times depend on nothing but what it was asked."""

    def __init__(self, name: str, megabytes: float, **limits: int) -> None:
        clock = ManualClock()
        settings = {**DEFAULTS["server"]["limits"], "kept_sessions_mb": megabytes, **limits}
        toolbox = CountingToolbox(TOOLS, {})
        self.agent = agent(ScriptedModel(plan), toolbox, ids=Ids(name), clock=clock)
        self.runs = Runs(self.agent, settings)
        sessions = Sessions(self.runs, streams=True)
        routes = {
            ("GET", "/health"): Route(HealthHandler("1", lambda: True).get, open=True),
            ("POST", "/session"): Route(sessions.post),
            ("POST", "/session/events"): Route(sessions.events),
        }
        self.router = Router(routes, sessions.post, Keys(KEYS))

    async def post(
        self,
        body: Json,
        key: str = "key-of-ann",
        cut: int = 0,
        path: str = "/session",
        accept: str = SSE,
    ) -> tuple[int, Any]:
        """The status, and the events that arrived or the JSON."""
        call = called(body, key, path, accept)
        if cut:
            call.channel = Cut(json.dumps(body).encode(), cut)
            call.exchange = type(call.exchange)(
                call.channel, call.exchange.request, "req-1", "127.0.0.1"
            )
        try:
            await self.router(call.exchange)
        except asyncio.CancelledError:
            frames = Decoder().feed(b"".join(pieces_of(call.sent)))
            return 0, [json.loads(frame.data) for frame in frames]
        if "json" in call.headers["content-type"]:
            return call.status, call.json
        return call.status, [json.loads(frame.data) for frame in Decoder().feed(call.answer)]

    def kept(self, session_id: str, owner: str) -> KeptSession | None:
        return self.runs.bases.find(owner, session_id)


def called(
    body: Json, key: str = "key-of-ann", path: str = "/session", accept: str = SSE
) -> fakes.Call:
    """A request that was not answered yet."""
    headers = {"Content-Type": "application/json", "Accept": accept}
    headers["Authorization"] = f"Bearer {key}"
    return fakes.Call("POST", path, headers, json.dumps(body).encode())


def folded(session: Json, events: list[Json]) -> Json:
    folder = Folder(copy.deepcopy(session))  # type: ignore[arg-type]
    for event in events:
        folder.apply(event)  # type: ignore[arg-type]
    folder.flush()
    return folder.session  # type: ignore[return-value]


def edited(session: Json, chance: random.Random) -> None:
    """Change anything that a client may change, as a person or a program does."""
    messages, calls = session["messages"], session.get("calls", {})
    if not messages:
        return
    index = chance.randrange(len(messages))
    match chance.randrange(7):
        case 0:
            messages[index]["content"] = chance.choice(["", "edited é", "time"])
        case 1:
            messages[index].setdefault("meta", {})["note"] = chance.random()
        case 2:
            while index and messages[index]["role"] != "user":
                index -= 1
            del messages[index:]
        case 3:
            messages.insert(0, user("before", f"n{chance.random()}"))
        case 4 if calls:
            calls[chance.choice(list(calls))]["state"] = chance.choice(["done", "failed"])
        case 5 if calls:
            del calls[chance.choice(list(calls))]
        case _:
            session["title"] = f"t{chance.random()}"


class Same(unittest.IsolatedAsyncioTestCase):
    """Two servers, two keys and three sessions; each server has a twin that is sent whole ones."""

    def setUp(self) -> None:
        log.setup("error", stream=io.StringIO())

    async def test_as_whole_or_refused_before_anything_happened(self) -> None:
        taken = refused = cuts = 0
        for seed in range(60):
            chance = random.Random(seed)
            room = chance.choice([0.02, 0.05, 1])
            hosts = [(Host(name, room), Host(name, 0)) for name in ("a", "b")]
            clients = [{"id": f"s{number}", "messages": list[Any]()} for number in range(3)]
            for step in range(14):
                number = chance.randrange(3)
                client: Json = clients[number]
                if chance.random() < 0.3:
                    edited(client, chance)
                if client.get("interrupts") and chance.random() < 0.7:
                    answer(client, "tool_call", {"approved": chance.random() < 0.7})  # type: ignore[arg-type]
                else:
                    words = chance.choice(["hello", "time", "rm", "rm time", "fail", "é" * 50])
                    client["messages"].append(user(words, f"u{seed}-{step}"))
                based, plain = hosts[chance.random() < 0.1]
                key = "key-of-bob" if chance.random() < 0.1 else "key-of-ann"
                cut = chance.randrange(1, 12) if chance.random() < 0.15 else 0
                wanted = await plain.post(client, key, cut)
                count = len(client["messages"])
                count = chance.choice([count - 1, count - 1, chance.randint(1, count + 2)])
                told = {"count": count, "seed": seed, "step": step}
                found = None
                if count > 0 and chance.random() < 0.9:
                    bad = chance.choice(["", "0" * 32, digest_of(client, count - 1)])
                    digest = bad if chance.random() < 0.1 else None
                    found = await based.post(with_base(client, count, digest), key, cut)
                    if found[0] == 409:
                        self.assertEqual(found[1]["code"], "base_unknown", told)
                        found = None
                        refused += 1
                    else:
                        taken += 1
                        self.assertIsNone(digest, told)
                if found is None:
                    found = await based.post(client, key, cut)
                if found[0] == 422:  # the places are those of the body that was sent
                    self.assertEqual((found[0], found[1]["code"]), (wanted[0], wanted[1]["code"]))
                    clients[number] = {"id": client["id"], "messages": []}
                    continue
                self.assertEqual(found, wanted, told)
                cuts += not found[1] or found[1][-1]["type"] not in TERMINAL
                clients[number] = folded(client, found[1])
                self.check_kept(based, client["id"], told)
        self.assertGreater(min(taken, refused), 140)
        self.assertGreater(cuts, 30)

    def check_kept(self, host: Host, session_id: str, told: Json) -> None:
        """No run has changed a message that another one left."""
        for owner in ("ann", "bob"):
            if (kept := host.kept(session_id, owner)) is not None:
                held: Any = {"messages": kept.messages, "calls": kept.calls}
                for count, digest in enumerate(kept.digests, 1):
                    self.assertEqual(digest, digest_of(held, count), told)


class Delta(unittest.IsolatedAsyncioTestCase):
    async def test_a_message_of_the_base_that_was_touched_is_not_new(self) -> None:
        """The run answers a call of the base: its message is copied before it changes."""
        log.setup("error", stream=io.StringIO())
        replies = []
        for megabytes in (1, 0):
            host = Host("a", megabytes)
            session: Json = {"id": "s", "messages": [user("rm")]}
            session["config"] = {"yaa": {"reply": "delta"}}
            session = folded(session, (await host.post(session))[1])
            count = len(session["messages"])
            answer(session, "tool_call", {"approved": True})  # type: ignore[arg-type]
            body = with_base(session, count) if megabytes else session
            status, reply = await host.post(body, accept="application/json")
            self.assertEqual(status, 200, reply)
            replies.append([message["role"] for message in reply["messages"]])
        self.assertEqual(replies, [["tool", "assistant"]] * 2)


class Refused(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        log.setup("error", stream=io.StringIO())

    async def asyncSetUp(self) -> None:
        self.host = Host("a", 1)
        self.session = await self.grown(self.host)

    async def grown(self, host: Host) -> Json:
        """A session of four messages, which a run of the host has left."""
        session: Json = {"id": "s", "messages": [user("hello")]}
        session = folded(session, (await host.post(session))[1])
        session["messages"].append(user("time", "u2"))
        return folded(session, (await host.post(session))[1])

    async def test_what_is_not_kept_or_not_so(self) -> None:
        session, count = self.session, len(self.session["messages"])
        good = with_base(session, count)
        edited, longer = copy.deepcopy(session), copy.deepcopy(session)
        edited["messages"][0]["content"] = "other"
        longer["messages"].append(user("more", "u3"))
        small = await self.grown(tight := Host("b", 0.012))
        await tight.post({"id": "other", "messages": [user("é" * 900)]})
        cases: list[tuple[str, Host, Json, str]] = [
            ("of another key", self.host, good, "key-of-bob"),
            ("of another session", self.host, {**good, "id": "t"}, "key-of-ann"),
            ("without an id", self.host, {k: v for k, v in good.items() if k != "id"}, ""),
            ("an id that is none", self.host, {**good, "id": ["s"]}, ""),
            ("too many messages", self.host, with_base(longer, count + 1), ""),
            ("far too many", self.host, with_base(session, 2**53 - 1, ""), ""),
            ("edited", self.host, with_base(edited, count), ""),
            ("no digest", self.host, with_base(session, count, ""), ""),
            ("of fewer messages", self.host, with_base(session, 2, digest_of(session, 3)), ""),
            ("of another server", Host("c", 1), good, ""),
            ("of a server that keeps nothing", await self.keeping_nothing(), good, ""),
            ("evicted", tight, with_base(small, len(small["messages"])), ""),
        ]
        for name, host, body, key in cases:
            for path in ("/session", "/session/events"):
                with self.subTest(name, path=path):
                    status, said = await host.post(body, key or "key-of-ann", path=path)
                    self.assertEqual((status, said.get("code")), (409, "base_unknown"))
        self.assertEqual((await self.host.post(good))[0], 200)

    async def keeping_nothing(self) -> Host:
        await self.grown(host := Host("d", 0))
        return host

    async def test_values_of_the_base_and_of_what_follows_count_together(self) -> None:
        host, many = Host("many", 64, max_values=2_000), {"meta": {"n": [1] * 500}}
        sent: Json = {"id": "v", "messages": [{**user("go"), **many}]}
        said = []
        for number in range(4):
            status, found = await host.post(sent, accept="application/json")
            said.append(status)
            if status == 200:
                session, count = found, len(found["messages"])
                session["messages"].append({**user("on", f"v{number}"), **many})
                sent = with_base(session, count)
        self.assertEqual(said, [200, 200, 200, 409])
        self.assertEqual((await host.post(session))[0], 413)

    async def test_what_is_no_base(self) -> None:
        for base, place in (
            (None, "/base"),
            ("x", "/base"),
            ({"messages": 0, "digest": "x"}, "/base/messages"),
            ({"messages": True, "digest": "x"}, "/base/messages"),
            ({"messages": 1.5, "digest": "x"}, "/base/messages"),
            ({"messages": 2}, "/base/digest"),
            ({"messages": 2, "digest": 5}, "/base/digest"),
        ):
            with self.subTest(base):
                status, said = await self.host.post({**self.session, "base": base})
                self.assertEqual((status, said["code"]), (422, "session_invalid"))
                self.assertEqual(said["errors"][0]["pointer"], place)

    async def test_what_follows_is_checked_against_it(self) -> None:
        """Ids are unique in the whole session; a place is one of the body that was sent."""
        session, count = self.session, len(self.session["messages"])
        call = next(m["tool_calls"][0] for m in session["messages"] if m.get("tool_calls"))
        repeated = {"id": "a9", "role": "assistant", "content": "", "tool_calls": [call]}
        for message, place in (
            (user("again", session["messages"][0]["id"]), "/messages/0/id"),
            (repeated, "/messages/0/tool_calls/0/id"),
            ({"id": "u9", "role": "nobody"}, "/messages/0/role"),
        ):
            longer = {**session, "messages": [*session["messages"], message]}
            with self.subTest(place):
                status, said = await self.host.post(with_base(longer, count))
                self.assertEqual((status, said["code"]), (422, "session_invalid"))
                self.assertEqual(said["errors"][0]["pointer"], place)

    async def test_an_entry_that_contradicts_the_base_is_not_taken(self) -> None:
        body = with_base(self.session, len(self.session["messages"]))
        (call_id,) = self.session["calls"]
        body["calls"] = {call_id: {"state": "proposed"}}
        body["messages"] = [user("hello", "u3")]
        status, events = await self.host.post(body)
        self.assertEqual(status, 200)
        kept = self.host.kept("s", "ann")
        assert kept is not None
        self.assertEqual(kept.calls[call_id]["state"], "done")

    async def test_content_blocks_behind_a_base(self) -> None:
        session = copy.deepcopy(self.session)
        blocks = {"id": "u3", "role": "user", "content": [{"type": "text", "text": "hello"}]}
        used = {"type": "tool_use", "id": "t1", "name": "time", "input": {}}
        session["messages"] += [{"id": "a3", "role": "assistant", "content": [used]}, blocks]
        twin = Host("a", 0)
        await self.grown(twin)
        wanted = await twin.post(session)
        found = await self.host.post(with_base(session, len(session["messages"]) - 2))
        self.assertEqual(found, wanted)
        self.assertEqual(found[1][1]["type"], "MESSAGES_SNAPSHOT")

    async def test_a_stored_session_with_a_base(self) -> None:
        whole = await self.host.post(self.session, path="/session/events")
        for count in range(1, len(self.session["messages"]) + 1):
            body = with_base(self.session, count)
            self.assertEqual(await self.host.post(body, path="/session/events"), whole)

    async def test_a_long_stored_session_with_a_base_is_not_written_in_the_loop(self) -> None:
        host = Host("long", 64)
        said = [user("hello " * 30, f"u{number}") for number in range(4_000)]
        sent = {"id": "long", "messages": said}
        _, session = await host.post(sent, accept="application/json")
        body = with_base(session, len(session["messages"]))
        for accept in (SSE, "application/json"):
            with self.subTest(accept):
                call = called(body, path="/session/events", accept=accept)
                loop, process = time.thread_time(), time.process_time()
                await host.router(call.exchange)
                spent = time.thread_time() - loop
                self.assertEqual(call.status, 200)
                self.assertLess(spent, (time.process_time() - process) / 8)

    async def test_a_json_answer_is_kept_too(self) -> None:
        session: Json = {"id": "j", "messages": [user("hello")]}
        _, session = await self.host.post(session, accept="application/json")
        session["messages"].append(user("hello", "u2"))
        status, found = await self.host.post(with_base(session, 2), accept="application/json")
        self.assertEqual((status, len(found["messages"])), (200, 4))
        self.assertNotIn("base", found)


@tools.needs(tools.program_node())
class Page(unittest.IsolatedAsyncioTestCase):
    """The client's own scripts, and the server behind a socket."""

    async def talk(self, host: Host) -> Json:
        server = BaseServer(host.router, ServerLimits.of(DEFAULTS["server"]["limits"]))
        await server.listen("127.0.0.1", 0)
        script = ROOT / "tests" / "client" / "talk-with-base.js"
        command = ("node", str(script), f"http://127.0.0.1:{server.port}", "key-of-ann")
        child = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
        said, _ = await child.communicate()
        self.assertEqual(child.returncode, 0)
        await server.close()
        found: Json = json.loads(said)
        return found

    async def test_it_sends_what_is_new_and_the_digests_are_the_same(self) -> None:
        log.setup("error", stream=io.StringIO())
        ends = [["completed", None]] * 2 + [["awaiting", None]] + [["completed", None]] * 2
        based, whole = await self.talk(Host("a", 1)), await self.talk(Host("a", 0))
        self.assertEqual((based["ends"], whole["ends"]), (ends, ends))
        self.assertEqual(
            based["posts"],
            [[200, 0, 25], [200, 26, 1], [200, 30, 1], [200, 33, 0], [200, 27, 9]],
        )
        refused = [code for code, *_ in whole["posts"]]
        self.assertEqual(refused, [200, 409, 200, 409, 200, 409, 200, 409, 200])
        for session in (based["session"], whole["session"]):
            session["start_time"] = ""
            for number, message in enumerate(session["messages"]):
                message["id"], message["at"] = str(number), 0
        for name in ("messages", "calls", "usage"):
            self.assertEqual(based["session"][name], whole["session"][name])


if __name__ == "__main__":
    unittest.main()
