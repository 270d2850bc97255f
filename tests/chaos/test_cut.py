"""A stream cut over real sockets, after every event and inside one, and gone on with elsewhere.

Each POST meets a server that was just started and has nobody's claims. The client is the plain
rule of the documentation: fold what arrived whole, keep the write-ahead copy, POST again.
"""

from __future__ import annotations

import asyncio
import json
import unittest
from typing import Any

from server.api.auth import Keys
from server.api.router import Route, Router
from server.api.sessions import Runs, Sessions
from server.json_types import Event, Session
from server.lib.http.listener import BaseServer, ServerLimits
from server.lib.http.sse import Decoder
from server.lib.strict_json import canonical
from server.session.fold import Folder

from ..agent.test_loop import TOOLS, Client, complete, plan
from ..fakes import DEFAULTS, CountingToolbox, Ids, ScriptedModel, agent, answer, user
from ..tooling import turns

LIMITS = DEFAULTS["server"]["limits"]
READ_SIZE = 1 << 16


class CutOverSockets(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        self.counts: dict[tuple[str, str], int] = {}
        self.hosts = 0

    async def asyncSetUp(self) -> None:
        self.server: BaseServer | None = None

    async def asyncTearDown(self) -> None:
        await self.stop()

    async def stop(self) -> None:
        if self.server is not None:
            await self.server.close()
            self.server = None

    async def fresh_host(self) -> int:
        """A server that has never heard of the session. Returns its port."""
        await self.stop()
        self.hosts += 1
        model, toolbox = ScriptedModel(plan), CountingToolbox(TOOLS, self.counts)
        sessions = Sessions(
            Runs(agent(model, toolbox, ids=Ids(f"h{self.hosts}-")), LIMITS), streams=True
        )
        routes = {("POST", "/session"): Route(sessions.post)}
        router = Router(routes, sessions.post, Keys([], required=False))
        self.server = BaseServer(router, ServerLimits.of(LIMITS))
        await self.server.listen("127.0.0.1", 0)
        return self.server.port

    async def post(self, session: Session, most: int | None) -> tuple[list[Event], int, bool]:
        """POST and read at most so many bytes of the body, then hang up. Returns the events that
        arrived whole, the bytes read, and whether the stream was cut."""
        reader, writer = await asyncio.open_connection("127.0.0.1", await self.fresh_host())
        body = json.dumps(session).encode()
        head = (
            "POST /session HTTP/1.0\r\nHost: localhost\r\nAccept: text/event-stream\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        writer.write(head.encode() + body)
        await reader.readuntil(b"\r\n\r\n")
        decoder, found, read = Decoder(), [], 0
        while most is None or read < most:
            piece = await reader.read(READ_SIZE if most is None else min(READ_SIZE, most - read))
            if not piece:
                break
            read += len(piece)
            found += [json.loads(frame.data) for frame in decoder.feed(piece)]
        writer.transport.abort()
        terminal = bool(found) and found[-1]["type"] in ("RUN_FINISHED", "RUN_ERROR")
        return found, read, not terminal

    async def drive(self, cut: int | None) -> tuple[Any, list[int]]:
        """A whole conversation whose stream is cut once, `cut` bytes into all that is read.
        Returns the session and how many bytes each POST streamed."""
        self.counts.clear()
        client, sizes = Client(), []
        for _ in range(8):
            found, read, lost = await self.post(client.sends(), cut)
            folder = Folder(client.kept)
            for event in found:
                folder.apply(event)
            folder.flush()
            sizes.append(read)
            if cut is not None:
                cut = None if lost else cut - read
            if lost:
                continue
            if client.kept["status"] == "completed":
                return client.kept, sizes
            complete(client.kept)
        raise AssertionError("the conversation does not come to an end")

    async def test_cut_after_every_event_and_at_every_byte_of_one(self) -> None:
        _, sizes = await self.drive(None)
        ends = await self.frame_ends()
        self.assertGreaterEqual(len(ends), 40)
        executed = next(i for i, (_, name) in enumerate(ends) if name == "tool.exec")
        inside = range(ends[executed - 1][0] + 1, ends[executed][0])
        for cut in turns.share([end for end, _ in ends[:-1]] + list(inside), 4):
            with self.subTest(byte=cut):
                session, _ = await self.drive(cut)
                self.check(session)

    async def frame_ends(self) -> list[tuple[int, str]]:
        """Where each frame of an uncut conversation ends, in bytes read, and its event's name."""
        client, ends, offset = Client(), [], 0
        while client.kept.get("status") != "completed":
            reader, writer = await asyncio.open_connection("127.0.0.1", await self.fresh_host())
            body = json.dumps(complete(client.sends()) if offset else client.sends()).encode()
            writer.write(
                b"POST /session HTTP/1.0\r\nHost: localhost\r\nAccept: text/event-stream\r\n"
                b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body
            )
            await reader.readuntil(b"\r\n\r\n")
            stream = await reader.read()
            client.kept = json.loads(body)
            folder = Folder(client.kept)
            for frame in stream.decode().split("\n\n")[:-1]:
                offset += len(frame.encode()) + 2
                fields = dict(line.split(": ", 1) for line in frame.split("\n"))
                ends.append((offset, fields["event"]))
                folder.apply(json.loads(fields["data"]))
            folder.flush()
            writer.close()
        return ends

    def check(self, session: Any) -> None:
        self.assertEqual(session["messages"][-1]["content"], "Done: 5 results.")
        whole = [m for m in session["messages"] if not m.get("open")]
        calls = sorted(c["id"] for m in whole for c in m.get("tool_calls", ()))
        results = sorted(m["tool_call_id"] for m in whole if m["role"] == "tool")
        self.assertEqual(calls, results)
        once = ("rm", "note")
        twice = [key for key, count in self.counts.items() if count > 1 and key[0] in once]
        self.assertEqual(twice, [], "a call that may not repeat ran twice")


class TrueStreaming(unittest.IsolatedAsyncioTestCase):
    """Two hundred deltas of one character, made one at a time, arrive as two hundred events."""

    async def test_each_delta_arrives_before_the_next_is_made(self) -> None:
        text = [(" \n\tab é世")[i % 8] for i in range(200)]
        gate = asyncio.Semaphore(0)

        class Gated(ScriptedModel):
            async def stream(self, messages, tools, options):  # type: ignore[no-untyped-def]
                async for event in super().stream(messages, tools, options):
                    if event["type"] == "TEXT_MESSAGE_CONTENT":
                        await gate.acquire()
                    yield event

        sessions = Sessions(
            Runs(agent(Gated(lambda _: [("text", text)]), CountingToolbox({}, {})), LIMITS),
            streams=True,
        )
        routes = {("POST", "/session"): Route(sessions.post)}
        router = Router(routes, sessions.post, Keys([], required=False))
        server = BaseServer(router, ServerLimits.of(LIMITS))
        await server.listen("127.0.0.1", 0)
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        body = json.dumps({"messages": [user("go")]}).encode()
        writer.write(
            b"POST /session HTTP/1.0\r\nHost: localhost\r\nAccept: text/event-stream\r\n"
            b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body
        )
        await reader.readuntil(b"\r\n\r\n")
        got: list[str] = []
        while len(got) < len(text):
            frame = dict(
                line.split(": ", 1)
                for line in (await reader.readuntil(b"\n\n")).decode().strip().split("\n")
            )
            if frame["event"] == "text.delta":
                got.append(json.loads(frame["data"])["delta"])
            if frame["event"] in ("text.start", "text.delta"):
                gate.release()  # only now may the model make the next one
        self.assertEqual(got, text)
        await reader.read()
        writer.close()
        await server.close()


class Answers(unittest.IsolatedAsyncioTestCase):
    async def test_json_and_events_tell_the_same(self) -> None:
        """The reply without streaming is the fold of the stream of the same run."""
        outcomes = []
        for _ in range(2):
            host = agent(ScriptedModel(plan), CountingToolbox(TOOLS, {}))
            session: Any = {"id": "s", "messages": [user("go")]}
            run = host.prepare(json.loads(json.dumps(session)))
            folder = Folder(session)
            async for event in run.events():
                folder.apply(json.loads(json.dumps(event)))
            folder.flush()
            outcomes.append(canonical(session))
            self.assertEqual(canonical(run.session), outcomes[-1])
            answer(session, "tool_call", {"approved": True})
        self.assertEqual(outcomes[0], outcomes[1])


if __name__ == "__main__":
    unittest.main()
