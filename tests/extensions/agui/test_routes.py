"""POST /agui/{agent}: the body, the frames, and refusals in words that its clients read."""

from __future__ import annotations

import asyncio
import io
import json
import unittest
from typing import Any

from server.api.auth import Keys
from server.api.router import Route, Router
from server.api.sessions import Runs
from server.errors import Problem
from server.extensions.agui.request import refusal
from server.extensions.agui.routes import AguiHandler
from server.lib.http import sse
from server.session import events
from server.telemetry import log

from ...api import fakes
from ...api.fakes import run_async

LIMITS = {"max_runs": 2, "max_request_size": 1_000_000, "heartbeat_s": 15, "announce_s": 1}
HEADERS = {"Content-Type": "application/json", "yaa-api-key": "k", "Accept": "text/event-stream"}
INPUT = {
    "threadId": "t1",
    "runId": "r1",
    "messages": [{"id": "u1", "role": "user", "content": "Hello"}],
    "state": {"mine": 1},
}
SCRIPT: list[Any] = [
    events.run_started("t1", {"id": "run_1"}, 1),
    events.text_start("m", 2),
    events.text_delta("m", "Hi ü\n"),
    events.text_end("m", {}, 3),
    events.run_error("No.", "upstream_error"),
]


class Case(unittest.TestCase):
    def setUp(self) -> None:
        log.setup("error", stream=io.StringIO())
        self.agent: Any = fakes.Agent(SCRIPT)

    def post(
        self, body: Any = INPUT, headers: Any = HEADERS, path: str = "/agui/coder"
    ) -> fakes.Call:
        front = AguiHandler(Runs(self.agent, LIMITS))
        table = {("POST", "/agui/{agent}"): Route(front.post, refusal=refusal)}
        router = Router(table, front.post, Keys([{"name": "me", "key": "k"}]))
        call = fakes.Call("POST", path, headers, json.dumps(body).encode())
        run_async(router(call.exchange))
        return call


class Streaming(Case):
    def test_plain_frames(self) -> None:
        call = self.post()
        self.assertEqual(call.status, 200)
        self.assertEqual(call.headers["content-type"], "text/event-stream; charset=utf-8")
        text = call.answer.decode()
        self.assertNotIn("\r", text)
        frames = text.split("\n\n")
        self.assertEqual(frames.pop(), "")
        self.assertTrue(all(frame.startswith("data: {") for frame in frames), frames)
        types = [json.loads(frame.removeprefix("data: "))["type"] for frame in frames]
        self.assertEqual(types[:3], ["RUN_STARTED", "STATE_SNAPSHOT", "TEXT_MESSAGE_START"])
        self.assertEqual(types[-2:], ["STATE_DELTA", "RUN_ERROR"])
        self.assertEqual(json.loads(frames[0][6:])["runId"], "r1")

    def test_the_session_that_is_run(self) -> None:
        self.post(path="/agui/m%C3%BCller")
        (run,) = self.agent.runs
        self.assertEqual((run.session["id"], run.session["agent"]), ("t1", "müller"))

    def test_a_stream_is_all_there_is(self) -> None:
        """Whatever a client says it accepts: the protocol has no other form."""
        for accept in ("", "*/*", "application/json"):
            call = self.post(headers=HEADERS | {"Accept": accept})
            self.assertTrue(call.headers["content-type"].startswith("text/event-stream"))

    def test_a_server_that_stops_is_no_success(self) -> None:
        """Whether between two events or in the middle of a model call."""

        async def stops() -> None:
            if self.agent.runs[-1].given == 2:
                raise asyncio.CancelledError

        for script, wait, ends in (
            (SCRIPT, None, ["upstream_error"]),
            (SCRIPT[:3], None, ["overloaded"]),
            (SCRIPT, stops, ["overloaded"]),
        ):
            with self.subTest(ends=ends, wait=wait):
                self.agent.script, self.agent.wait = script, wait
                found = [json.loads(e.data) for e in sse.Decoder().feed(self.post().answer)]
                codes = [event["code"] for event in found if event["type"] == "RUN_ERROR"]
                self.assertEqual(codes, ends)


class Refusing(Case):
    def test_in_words_of_the_protocol(self) -> None:
        unknown = Problem("agent_unknown", "This server has no agent 'coder'.")
        invalid = Problem("session_invalid", "/id: no", errors=[{"pointer": "/id", "detail": "no"}])
        for body, problem, status, code, message in (
            (INPUT, unknown, 404, "agent_unknown", "This server has no agent 'coder'."),
            (INPUT, invalid, 422, "session_invalid", "/threadId: no"),
            ({}, None, 422, "request_invalid", "/threadId: expected a string that is not empty"),
            ([], None, 422, "request_invalid", "The body must be one JSON object"),
        ):
            with self.subTest(code=code, message=message):
                self.agent.problem = problem
                call = self.post(body)
                self.assertEqual(call.status, status)
                self.assertIn("application/json", call.headers["content-type"])
                self.assertEqual(call.json["code"], code)
                self.assertTrue(call.json["message"].startswith(message), call.json["message"])
        self.assertEqual(self.agent.runs, [])

    def test_before_the_body_is_read(self) -> None:
        call = self.post(headers={"Content-Type": "application/json"})
        self.assertEqual((call.status, call.json["code"]), (401, "unauthorized"))
        self.assertTrue(call.json["message"])


if __name__ == "__main__":
    unittest.main()
