"""POST /session: what is refused before a run, and how a run's events reach the client."""

from __future__ import annotations

import asyncio
import io
import json
import unittest
from collections.abc import Mapping
from typing import Any

from server.api.auth import Keys
from server.api.router import Route, Router
from server.api.sessions import Runs, Sessions, wants_stream
from server.errors import Problem
from server.lib.http import sse
from server.lib.http.parser import ProtocolError
from server.session import events, snapshot
from server.telemetry import log

from . import fakes
from .fakes import run_async

LIMITS: dict[str, Any] = {
    "max_runs": 2,
    "max_request_size": 1_000_000,
    "heartbeat_s": 15,
    "announce_s": 1,
}
JSON = {"Content-Type": "application/json", "yaa-api-key": "k"}
SSE = JSON | {"Accept": "text/event-stream"}
DOCUMENT: Any = {"id": "s1", "messages": [{"id": "u1", "role": "user", "content": "Hello"}]}
SCRIPT: list[Any] = [
    events.run_started("s1", {"id": "run_1"}, 1),
    events.text_start("m", 2),
    events.text_delta("m", "Hi ü\n"),
    events.text_end("m", {}, 3),
]
EXEC = events.tool_exec("call_1", [], 4)


class Case(unittest.TestCase):
    streams = True
    limits = LIMITS

    def setUp(self) -> None:
        log.setup("error", stream=io.StringIO())
        self.agent: Any = fakes.Agent(SCRIPT)

    def router(self) -> Router:
        handler = Sessions(Runs(self.agent, self.limits), streams=self.streams)
        routes = {("POST", "/session"): Route(handler.post)}
        return Router(routes, handler.post, Keys([{"name": "me", "key": "k"}]))

    def call(self, body: Any = DOCUMENT, headers: Mapping[str, str] | None = None) -> fakes.Call:
        raw = body if isinstance(body, bytes | ProtocolError) else json.dumps(body).encode()
        return fakes.Call("POST", "/session", JSON if headers is None else headers, raw)

    def post(self, body: Any = DOCUMENT, headers: Mapping[str, str] | None = None) -> fakes.Call:
        call = self.call(body, headers)
        run_async(self.router()(call.exchange))
        return call


class Refusing(Case):
    def test_what_prepare_finds_is_said_as_it_is(self) -> None:
        self.agent.problem = Problem(
            "session_invalid", "No.", errors=[{"pointer": "/messages/3/role", "detail": "x"}]
        )
        call = self.post(headers=SSE)
        self.assertEqual(call.status, 422)
        self.assertEqual(call.json["errors"][0]["pointer"], "/messages/3/role")
        self.assertIn("application/json", call.headers["content-type"])

    def test_neither_form_is_accepted(self) -> None:
        self.assertEqual(self.post(headers=JSON | {"Accept": "text/html"}).status, 406)


class Snapshots(Case):
    def router(self) -> Router:
        handler = Sessions(Runs(self.agent, self.limits), streams=self.streams)
        routes = {("POST", "/session"): Route(handler.events)}
        return Router(routes, handler.post, Keys([{"name": "me", "key": "k"}]))

    def test_as_an_array_or_as_a_stream(self) -> None:
        told = snapshot.events(DOCUMENT)
        for accept in ("", "*/*", "application/json"):
            call = self.post(headers=JSON | {"Accept": accept})
            self.assertEqual((call.status, call.json), (200, told), accept)
        call = self.post(headers=SSE)
        self.assertEqual(call.headers["content-type"], "text/event-stream; charset=utf-8")
        decoder = sse.Decoder()
        frames = [*decoder.feed(call.answer), *decoder.end()]
        self.assertEqual([json.loads(frame.data) for frame in frames], told)
        names = ["run.start", "session.snapshot", "messages.snapshot", "run.end"]
        self.assertEqual([frame.event for frame in frames], names)
        self.assertEqual([frame.id for frame in frames], [f"snapshot/{n}" for n in range(1, 5)])
        self.assertEqual(self.agent.runs, [], "nothing runs")

    def test_what_is_no_session_is_refused(self) -> None:
        for body, status in (
            ({"messages": [5]}, 422),
            ({"version": 99}, 422),
            (b"[]", 422),
            (b"{", 400),
        ):
            self.assertEqual(self.post(body).status, status, body)
        self.assertEqual(self.post(headers=JSON | {"Accept": "text/html"}).status, 406)

    def test_a_run_id_of_several_lines_makes_no_frame_of_its_own(self) -> None:
        call = self.post({"run": {"id": "a\nevent: b"}}, headers=SSE)
        self.assertEqual(call.status, 200)
        self.assertEqual(len(sse.Decoder().feed(call.answer)), 4)


class Stopping(Case):
    def router(self) -> Router:
        handler = Sessions(Runs(self.agent, self.limits), streams=self.streams)
        routes = {("POST", "/session"): Route(handler.stop)}
        return Router(routes, handler.post, Keys([{"name": "me", "key": "k"}]))

    def test_a_session_by_its_id_and_the_key(self) -> None:
        for self.agent.ended, stopped, running in (
            (True, True, False),
            (False, False, True),
            (None, False, False),
        ):
            call = self.post({"id": "s"})
            self.assertEqual(call.status, 200)
            self.assertEqual(call.json, {"id": "s", "stopped": stopped, "running": running})
        self.assertEqual([session for _, session in self.agent.stopped], ["s"] * 3)

    def test_what_names_no_session(self) -> None:
        for body in ({}, {"id": ""}, {"id": 5}, {"id": "s" * 129}, {"id": None}):
            call = self.post(body)
            self.assertEqual((call.status, call.json["errors"][0]["pointer"]), (422, "/id"), body)
        self.assertEqual(self.agent.stopped, [])


class Naming(Case):
    def test_an_idempotency_key_names_a_session_without_id(self) -> None:
        for headers, document, named in (
            ({}, {}, False),
            ({"Idempotency-Key": "a"}, {}, True),
            ({"Idempotency-Key": "a"}, {"id": "mine"}, False),
        ):
            self.post(document, headers=JSON | headers)
            session = self.agent.runs[-1].session
            self.assertEqual(str(session.get("id", "")).startswith("ses_"), named, headers)
        for key in ("a", "b"):
            self.post({}, headers=JSON | {"Idempotency-Key": key})
        ids = [run.session.get("id") for run in self.agent.runs]
        self.assertEqual(ids[1], ids[3])
        self.assertNotEqual(ids[3], ids[4])


class Choosing(unittest.TestCase):
    def test_accept(self) -> None:
        for accept, otherwise, expected in (
            ("", True, True),
            ("", False, False),
            ("*/*", True, True),
            ("*/*", False, False),
            ("text/event-stream", False, True),
            ("application/json", True, False),
            ("TEXT/Event-Stream", False, True),
            ("application/json, text/event-stream", True, True),
            ("application/json, text/event-stream", False, False),
            ("application/json;q=0.5, text/event-stream", False, True),
            ("application/json, text/event-stream;q=0.9", True, False),
            ("text/*, application/json;q=0.1", False, True),
            ("text/event-stream;q=0, */*", True, False),
            ("text/html, */*;q=0.8", False, False),
            ("application/json ; Q=1.000", True, False),
            ("nonsense, */*", True, True),
        ):
            with self.subTest(accept=accept, otherwise=otherwise):
                self.assertIs(wants_stream(accept, otherwise), expected)
        for accept in ("text/html", "image/*", "application/json;q=0", "nonsense"):
            with self.subTest(accept=accept), self.assertRaises(Problem):
                wants_stream(accept, True)

    def test_the_session_decides_before_the_server(self) -> None:
        case = Case()
        case.setUp()
        for server, own, stream in (
            (True, None, True),
            (False, None, False),
            (True, False, False),
            (False, True, True),
        ):
            with self.subTest(server=server, own=own):
                case.streams = server
                config = {} if own is None else {"config": {"yaa": {"stream": own}}}
                kind = case.post(DOCUMENT | config).headers["content-type"]
                self.assertEqual(kind.startswith("text/event-stream"), stream)


class Replying(Case):
    def test_the_folded_session(self) -> None:
        call = self.post(headers=JSON | {"Accept": "application/json"})
        self.assertEqual(call.status, 200)
        self.assertEqual(call.json["status"], "completed")
        self.assertEqual(len(call.json["messages"]), 2)
        self.assertEqual(call.headers["x-should-retry"], "false")
        self.assertEqual(self.agent.keys, ["me"])
        self.assertEqual(self.agent.runs[0].ended, "finished")

    def test_only_what_is_new(self) -> None:
        wanted = {"config": {"yaa": {"reply": "delta"}}, "title": "T", "start_time": "S"}
        call = self.post(DOCUMENT | wanted, JSON | {"Accept": "application/json"})
        self.assertEqual(
            call.json,
            {
                "id": "s1",
                "title": "T",
                "start_time": "S",
                "finish_reason": "completed",
                "messages": [{"id": "m", "role": "assistant", "content": "Hi"}],
                "usage": {},
            },
        )

    def test_an_error_after_the_run_began_is_not_to_be_repeated(self) -> None:
        self.agent.script = [*SCRIPT[:2], ValueError("canary")]
        call = self.post(headers=JSON | {"Accept": "application/json"})
        self.assertEqual(call.status, 500)
        self.assertEqual(call.headers["x-should-retry"], "false")
        self.assertNotIn(b"canary", call.sent)
        self.assertEqual(self.agent.runs[0].ended, "closed")


class Streaming(Case):
    def test_frames(self) -> None:
        call = self.post(headers=SSE)
        self.assertEqual(call.status, 200)
        for name, value in (
            ("content-type", "text/event-stream; charset=utf-8"),
            ("cache-control", "no-store"),
            ("x-accel-buffering", "no"),
            ("x-should-retry", "false"),
            ("access-control-allow-origin", "*"),
        ):
            self.assertEqual(call.headers[name], value)
        frames = call.answer.decode().split("\n\n")
        self.assertEqual(frames.pop(), "")
        names = ["run.start", "text.start", "text.delta", "text.end"]
        self.assertEqual(len(frames), len(names))
        for number, (frame, name, event) in enumerate(zip(frames, names, SCRIPT, strict=True), 1):
            head = f"id: run_1/{number}\nevent: {name}\ndata: "
            self.assertTrue(frame.startswith(head), frame)
            self.assertEqual(json.loads(frame.removeprefix(head)), event)
        self.assertNotIn("\r", call.answer.decode())

    def test_tool_exec_has_left_before_the_run_goes_on(self) -> None:
        self.agent.script = [*SCRIPT[:2], EXEC, SCRIPT[3]]

        async def main() -> None:
            call = self.call(headers=SSE)
            call.channel.gate = asyncio.Event()
            task = asyncio.create_task(self.router()(call.exchange))
            while "flush" not in call.channel.log:
                await asyncio.sleep(0)
            for _ in range(20):
                await asyncio.sleep(0)
            self.assertEqual(self.agent.runs[0].given, 3)
            self.assertIn(b"event: tool.exec", call.sent)
            call.channel.gate.set()
            await task
            self.assertEqual(self.agent.runs[0].given, 4)
            self.assertEqual(call.channel.log.count("flush"), 1)

        run_async(main())

    def test_a_quiet_stream_has_the_heartbeat_of_the_configuration(self) -> None:
        self.limits = LIMITS | {"heartbeat_s": 0.005}

        async def main() -> None:
            call = self.call(headers=SSE)

            async def wait() -> None:
                while self.agent.runs[0].given == 2 and b": ping\n\n" not in call.sent:
                    await asyncio.sleep(0)

            self.agent.wait = wait
            await self.router()(call.exchange)
            self.assertEqual(self.agent.runs[0].ended, "finished")
            self.assertEqual(call.headers["x-heartbeat"], "0.005")

        run_async(main())

    def test_how_long_it_may_be_quiet_is_said_where_pages_may_read_it(self) -> None:
        for every, said in ((15, "15"), (2.5, "2.5"), (0, None)):
            self.limits = LIMITS | {"heartbeat_s": every}
            call = self.post(headers=SSE | {"Origin": "http://page.test"})
            self.assertEqual(call.headers.get("x-heartbeat"), said)
            self.assertIn("x-heartbeat", call.headers["access-control-expose-headers"])

    def test_a_client_that_goes_away_closes_the_run(self) -> None:
        async def main() -> None:
            waiting = asyncio.Event()

            async def wait() -> None:
                if self.agent.runs[0].given == 2:
                    waiting.set()
                    await asyncio.Event().wait()

            self.agent.wait = wait
            router = self.router()
            call = self.call(headers=SSE)
            task = asyncio.create_task(router(call.exchange))
            await waiting.wait()
            call.channel.ended = True
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task
            self.assertEqual(self.agent.runs[0].ended, "closed")
            self.agent.wait = None
            for _ in range(LIMITS["max_runs"] + 1):  # its slot is free again
                again = self.call(headers=SSE)
                await router(again.exchange)
                self.assertEqual(again.status, 200)

        run_async(main())

    def test_a_run_that_breaks_ends_the_connection_without_a_terminal_event(self) -> None:
        self.agent.script = [*SCRIPT[:2], ValueError("canary")]
        call = self.call(headers=SSE)
        with self.assertRaises(ValueError):
            run_async(self.router()(call.exchange))
        self.assertFalse(call.exchange.finished)
        self.assertNotIn(b"canary", call.sent)

    def test_the_access_log_knows_the_run_and_its_bytes(self) -> None:
        stream = io.StringIO()
        log.setup("info", style="json", stream=stream)
        self.addCleanup(log.setup, "error", stream=io.StringIO())
        call = self.post(headers=SSE)
        line = json.loads(stream.getvalue().splitlines()[-1])
        self.assertEqual((line["run"], line["key_name"], line["status"]), ("run_1", "me", 200))
        self.assertEqual(line["bytes"], len(call.answer))


if __name__ == "__main__":
    unittest.main()
