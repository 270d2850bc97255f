"""`/api/*` of the server as it is started, with a scripted model: what its clients would see."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import unittest
from contextlib import ExitStack
from typing import Any

from server.lib.http import sse

from ...bench.peers import config, start
from ...tooling import patience
from ...tooling.api import Api
from ...tooling.child import Yaa
from ...tooling.tools import ROOT
from .. import needs

Json = dict[str, Any]

SHORT = "bench tokens=3 delay_us=0"
PAGE = {"name": "page_title", "parameters": {"type": "object", "properties": {}}}


class Gateway(unittest.TestCase):
    api: Api

    @classmethod
    def setUpClass(cls) -> None:
        stack = cls.enterClassContext(ExitStack())
        yaa = stack.enter_context(Yaa(config(start(stack, "tests.bench.provider"))))
        cls.api = Api(yaa.url, yaa.key)

    def post(self, path: str, body: Json) -> tuple[int, Json]:
        return self.api.request("POST", path, body)

    def told(self, path: str, body: Json) -> list[Json]:
        """The events of a stream, each named as its type, [DONE] behind them."""
        status, text = self.api.request("POST", path, body, accept="text/event-stream")
        self.assertEqual(status, 200, text)
        decoder = sse.Decoder()
        frames = [*decoder.feed(text.encode()), *decoder.end()]
        self.assertEqual(frames.pop().data, "[DONE]")
        events: list[Json] = [json.loads(frame.data) for frame in frames]
        self.assertEqual([frame.event for frame in frames], [each["type"] for each in events])
        self.assertEqual([each["seq"] for each in events], [*range(1, len(events) + 1)])
        return events

    def data(self, path: str) -> Any:
        status, body = self.api.request("GET", path)
        self.assertEqual((status, body["code"], body["msg"]), (200, 0, "success"))
        return body["data"]

    @needs("agents")
    def test_agents(self) -> None:
        keys = [agent["key"] for agent in self.data("/api/agents")]
        self.assertEqual(keys[0], "default")
        self.assertLessEqual({"coder", "researcher", "planner"}, set(keys))
        tagged = [agent["key"] for agent in self.data("/api/agents?tag=WRITE_file")]
        self.assertIn("coder", tagged)
        self.assertNotIn("researcher", tagged)
        coder = self.data("/api/agent?agentKey=coder")
        self.assertIn("shell", coder["meta"]["tools"])
        self.assertTrue(coder["instructions"])
        for query, word in (("?agentKey=nobody", "nobody"), ("", "blank")):
            status, body = self.api.request("GET", f"/api/agent{query}")
            self.assertEqual((status, body["code"]), (400, 400))
            self.assertIn(word, body["data"]["fields"]["agentKey"])

    def test_a_chat_over_two_queries(self) -> None:
        first = self.told("/api/query", {"message": SHORT, "requestId": "q1"})
        kinds = [each["type"] for each in first]
        self.assertEqual(kinds[:3], ["request.query", "chat.start", "run.start"])
        self.assertEqual(kinds[3], "content.start")
        self.assertEqual(kinds[-2:], ["content.end", "run.complete"])
        self.assertEqual(kinds.count("content.delta"), 3)  # as many as the model sent
        end = first[-1]
        self.assertEqual(end["finishReason"], "end_turn")
        again = {"message": SHORT, "session": end["session"], "chatId": first[0]["chatId"]}
        second = self.told("/api/query", again)
        self.assertNotIn("chat.start", [each["type"] for each in second])
        roles = [message["role"] for message in second[-1]["session"]["messages"]]
        self.assertEqual(roles, ["user", "assistant"] * 2)

    def test_a_result_of_the_page_is_submitted(self) -> None:
        asking = {"message": f"{SHORT} tool=page_title{{}}", "tools": [PAGE]}
        for streams in (False, True):
            with self.subTest(streams=streams):
                events = self.told("/api/query", asking)
                kinds = [each["type"] for each in events]
                self.assertEqual(kinds[-2:], ["awaiting.ask", "run.complete"])
                call = next(each["toolId"] for each in events if each["type"] == "tool.start")
                self.assertEqual((events[-2]["toolId"], events[-2]["mode"]), (call, "frontend"))
                body = {
                    "requestId": "r",
                    "chatId": events[0]["chatId"],
                    "runId": events[-1]["runId"],
                    "toolId": call,
                    "payload": {"title": "标题"},
                    "session": events[-1]["session"],
                }
                if streams:
                    going_on = self.told("/api/submit", body)
                    kinds = [each["type"] for each in going_on]
                    self.assertEqual(kinds[:3], ["request.submit", "run.start", "tool.result"])
                    self.assertEqual(going_on[2]["result"], {"title": "标题"})
                    session = going_on[-1]["session"]
                else:
                    status, answer = self.post("/api/submit", body)
                    data = answer["data"]
                    self.assertEqual((status, answer["code"]), (200, 0))
                    known = {key: data[key] for key in ("requestId", "accepted", "toolId")}
                    self.assertEqual(known, {"requestId": "r", "accepted": True, "toolId": call})
                    self.assertEqual(data["finishReason"], "end_turn")
                    session = data["session"]
                self.assertEqual(session["status"], "completed")
                told = [m["content"] for m in session["messages"] if m["role"] == "tool"]
                self.assertEqual(told, ['{"title":"标题"}'])

    def test_an_approval_is_submitted_and_a_call_runs_once(self) -> None:
        body = {
            "message": f'{SHORT} tool=calculator{{"expression":"6*7"}}',
            "stream": False,
            "session": {"config": {"tool": {"calculator": {"auto_approve": False}}}},
        }
        status, answer = self.post("/api/query", body)
        self.assertEqual(status, 200, answer)
        (ask,) = answer["data"]["awaiting"]
        self.assertEqual((ask["mode"], ask["toolName"]), ("approval", "calculator"))
        submit = {"toolId": ask["toolId"], "session": answer["data"]["session"]}
        status, refused = self.post("/api/submit", {**submit, "payload": {"approved": 1}})
        self.assertEqual((status, refused["code"]), (400, 400))
        self.assertEqual(list(refused["data"]["fields"]), ["payload.approved"])
        status, done = self.post("/api/submit", {**submit, "payload": True})
        self.assertEqual(status, 200, done)
        told = [m["content"] for m in done["data"]["session"]["messages"] if m["role"] == "tool"]
        self.assertEqual(told, ["42"])
        status, twice = self.post(
            "/api/submit", {**submit, "payload": True, "session": done["data"]["session"]}
        )
        self.assertEqual((status, list(twice["data"]["fields"])), (400, ["toolId"]))

    def test_the_query_of_the_reference(self) -> None:
        """With a tool of the page, references and a scene, all of which reach the session."""
        page = (ROOT / "docs" / "reference" / "extension-gateway.md").read_text()
        example = page.split("```json\n")[1].split("```")[0]
        end = self.told("/api/query", json.loads(example))[-1]
        session = end["session"]
        self.assertEqual([tool["name"] for tool in session["tools"]], ["page_text"])
        self.assertEqual(len(session["environment"]), 1)
        self.assertIn("plan.pdf", session["messages"][0]["content"][1]["text"])

    def test_the_program_of_the_how_to(self) -> None:
        page = (ROOT / "docs" / "howto" / "gateway-clients.md").read_text()
        program = page.split("```python\n")[1].split("```")[0]
        program = program.replace("My name is Ann.", SHORT).replace("What is my name?", SHORT)
        env = {"YAA_URL": self.api.url.rstrip("/"), "YAA_KEY": self.api.key}
        done = subprocess.run(
            [sys.executable, "-c", program + "print(len(session['messages']))"],
            env=os.environ | env,
            capture_output=True,
            text=True,
            timeout=patience.seconds(60),
            check=False,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        answer, count = done.stdout.splitlines()
        self.assertEqual((answer.count("@"), count), (6, "4"))

    def test_a_server_that_stops_gives_the_session_so_that_it_goes_on(self) -> None:
        quiet = {"server": {"discover": False}}
        with Yaa(quiet) as one, Yaa(quiet) as other:
            assert one.child is not None
            asked = {"message": "stream 1000000"}
            with Api(one.url, one.key).stream(asked, "/api/query") as stream:
                events = stream.events()
                next(event for event in events if event["type"] == "content.delta")
                one.child.process.send_signal(signal.SIGTERM)
                *_, last = events
            self.assertEqual((last["type"], last["code"]), ("run.error", "overloaded"))
            self.assertEqual((last["retriable"], stream.text[-14:]), (True, "data: [DONE]\n\n"))
            said = last["session"]["messages"][1]
            self.assertTrue(said["open"] and said["content"], "as far as it came")
            body = {"session": last["session"], "stream": False}
            body["session"]["messages"][0]["content"] = "stream 2"  # short this time
            status, answer = Api(other.url, other.key).request("POST", "/api/query", body)
            self.assertEqual((status, answer["data"]["finishReason"]), (200, "end_turn"), answer)

    def test_failures_come_in_the_envelope(self) -> None:
        for path, body, status, field in (
            ("/api/query", {"message": ""}, 400, "message"),
            ("/api/query", {"message": "x", "agentKey": "nobody"}, 400, "agentKey"),
            ("/api/query", {"message": "x", "tools": [{"name": "a b"}]}, 400, "tools.0.name"),
            ("/api/query", {"session": {"messages": [{}]}}, 400, "session.messages.0.role"),
            ("/api/submit", {"toolId": "c"}, 400, "payload"),
            ("/api/chat", {"session": {"id": 5}}, 400, "session.id"),
        ):
            with self.subTest(path=path, body=body):
                found, answer = self.post(path, body)
                self.assertEqual((found, answer["code"]), (status, status))
                self.assertIn(field, answer["data"]["fields"])
        status, answer = Api(self.api.url).request("GET", "/api/agents")
        self.assertEqual((status, answer["code"], answer["data"]), (401, 401, {}))
        status, answer = self.api.request("PUT", "/api/query", {})
        self.assertEqual((status, answer["code"]), (405, 405))

    def test_a_provider_of_the_body_is_refused_as_a_sessions(self) -> None:
        provider = {"api_url": "http://127.0.0.1:1/v1", "api_key": "k", "model_name": "m"}
        session = {"config": {"llm_api": {"provider": provider}}}
        status, answer = self.post("/api/query", {"message": "x", "session": session})
        self.assertEqual((status, answer["code"]), (400, 400))

    def test_chats_are_their_clients(self) -> None:
        end = self.told("/api/query", {"message": SHORT})[-1]
        body = {"session": end["session"], "includeEvents": True}
        status, answer = self.post("/api/chat", body)
        kinds = [each["type"] for each in answer["data"]["events"]]
        self.assertEqual(kinds, ["message.snapshot"] * 2)
        self.assertEqual(answer["data"]["chatName"], end["chatName"])
        self.assertEqual(answer["data"]["references"], [])


if __name__ == "__main__":
    unittest.main()
