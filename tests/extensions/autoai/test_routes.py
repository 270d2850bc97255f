"""`/auto-ai/v1` of the server as it is started: what a page with the widget would see."""

from __future__ import annotations

import http.client
import json
import sys
import tempfile
import time
import unittest
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from server.extensions.autoai.routes import ABORTED

from ...bench.peers import config, start
from ...tooling import patience
from ...tooling.api import Api
from ...tooling.child import Child, Yaa

Json = dict[str, Any]

SHORT = "bench tokens=3 delay_us=0"
BASE = "/auto-ai/v1"
PAGE = {"type": "function", "function": {"name": "page_title", "parameters": {"type": "object"}}}
CALLS_PAGE = f"{SHORT} tool=page_title{{}}"


def said(text: str) -> list[Json]:
    return [{"role": "user", "content": text}]


class Stream:
    """A stream, read line by line as the widget does it: only `data:[DONE]` ends it."""

    def __init__(self, api: Api, body: Json) -> None:
        place = urlsplit(api.url)
        self.connection = http.client.HTTPConnection(
            place.hostname or "", place.port, timeout=patience.seconds(60)
        )
        headers = {"Authorization": f"Bearer {api.key}", "Content-Type": "application/json"}
        data = json.dumps(body).encode()
        self.connection.request("POST", f"{BASE}/chat/stream", data, headers)
        self.answer = self.connection.getresponse()
        self.ended = False

    def close(self) -> None:
        self.answer.close()
        self.connection.close()

    def messages(self) -> Iterator[Json]:
        while line := self.answer.readline().decode().strip() or self.answer.readline().decode():
            line = line.strip()
            if line == "data:[DONE]":
                self.ended = True
                return
            if line.startswith("data:"):
                yield json.loads(line[5:])


class AutoAi(unittest.TestCase):
    api: Api

    @classmethod
    def setUpClass(cls) -> None:
        stack = cls.enterClassContext(ExitStack())
        yaa = stack.enter_context(Yaa(config(start(stack, "tests.bench.provider"))))
        cls.api = Api(yaa.url, yaa.key)

    def ask(self, method: str, path: str, body: Json | None = None) -> tuple[int, Any]:
        return self.api.request(method, BASE + path, body)

    def told(self, body: Json) -> list[Json]:
        with closing(Stream(self.api, body)) as stream:
            self.assertEqual(stream.answer.status, 200)
            found = list(stream.messages())
            self.assertTrue(stream.ended, found[-1:])
        self.assertEqual(found[-1 - (found[-1]["type"] == "ERROR")]["type"], "SESSION")
        return found

    def test_what_there_is(self) -> None:
        status, health = Api(self.api.url).request("GET", f"{BASE}/health")
        self.assertEqual((status, health["status"]), (200, "online"))
        self.assertLess(abs(health["timestamp"] - time.time() * 1000), 60_000)
        self.assertIn("default", [model["id"] for model in self.ask("GET", "/models")[1]["data"]])
        tools = {tool["name"]: tool for tool in self.ask("GET", "/tools")[1]}
        self.assertEqual(set(tools["calculator"]), {"name", "description"})
        status, tool = self.ask("GET", "/tools/calculator")
        self.assertIn("expression", tool["parameters"]["properties"])
        self.assertIn("expression", tool["requestExample"])
        status, missing = self.ask("GET", "/tools/nothing")
        self.assertEqual((status, "nothing" in missing["error"]["message"]), (404, True))
        self.assertEqual(Api(self.api.url).request("GET", f"{BASE}/tools")[0], 401)

    def test_completions_with_what_the_page_adds(self) -> None:
        body = {
            "messages": said(CALLS_PAGE),
            "environment_context": ["Theme: dark"],
            "frontend_tools": [PAGE],
            "sessionId": "x",
        }
        status, answer = self.ask("POST", "/chat/completions", body)
        self.assertEqual(status, 200, answer)
        (choice,) = answer["choices"]
        self.assertEqual(choice["finish_reason"], "tool_calls")
        (call,) = choice["message"]["tool_calls"]
        self.assertEqual(call["function"]["name"], "page_title")
        status, answer = self.ask("POST", "/chat/completions", {"messages": said(SHORT)})
        self.assertEqual(answer["choices"][0]["finish_reason"], "stop")

    def test_a_stream(self) -> None:
        found = self.told({"messages": said(SHORT), "sessionId": "w-simple"})
        kinds = [message["type"] for message in found]
        self.assertEqual(kinds, ["TASK_INFO", *["CONTENT"] * 3, "SESSION"])
        session = found[-1]["session"]
        self.assertEqual((session["id"], session["status"]), ("w-simple", "completed"))
        again = self.told({"messages": said(SHORT), "session": session})
        roles = [message["role"] for message in again[-1]["session"]["messages"]]
        self.assertEqual(roles, ["user", "assistant"] * 2)

    def test_a_tool_of_the_page_live_or_later_is_the_same(self) -> None:
        ended = [self.live("w-live"), self.later("w-later")]
        for session in ended:
            self.assertEqual(session["status"], "completed")
        bare = [
            [(message["role"], message["content"]) for message in session["messages"]]
            for session in ended
        ]
        self.assertEqual(bare[0][:3], bare[1][:3])
        self.assertEqual(bare[0][3][0], bare[1][3][0])
        self.assertEqual(bare[0][2], ("tool", '{"title":"标题"}'))

    def live(self, name: str) -> Json:
        """The stream stays open, and goes on when the result has come."""
        body = {"messages": said(CALLS_PAGE), "frontend_tools": [PAGE], "sessionId": name}
        results = []
        with closing(Stream(self.api, body)) as stream:
            for message in stream.messages():
                if message["type"] == "ACTION" and message["content"].startswith(
                    "[Frontend Tool Call] "
                ):
                    call = json.loads(message["content"].split("] ", 1)[1])
                    wrong = {"sessionId": name, "toolCall": {"callId": "other"}}
                    self.assertEqual(self.ask("POST", "/chat/tool-result", wrong)[0], 409)
                    result = {"callId": call["callId"], "result": {"title": "标题"}}
                    results.append(
                        self.ask(
                            "POST", "/chat/tool-result", {"sessionId": name, "toolCall": result}
                        )
                    )
                last = message
            self.assertTrue(stream.ended)
        self.assertEqual([status for status, _ in results], [200])
        session: Json = last["session"]
        return session

    def later(self, name: str) -> Json:
        """Nobody waits; the next request brings the session and the result."""
        body = {"messages": said(CALLS_PAGE), "frontend_tools": [PAGE], "sessionId": name}
        found = self.told({**body, "wait": 0})
        call = json.loads(found[-2]["content"].split("] ", 1)[1])
        result = {"callId": call["callId"], "result": {"title": "标题"}}
        late = {"sessionId": name, "toolCall": result}
        status, refused = self.ask("POST", "/chat/tool-result", late)
        self.assertEqual((status, refused["code"]), (409, "resume_required"))
        session = found[-1]["session"]
        done = self.told({"session": session, "tool_results": [result], "frontend_tools": [PAGE]})
        self.assertNotIn("ERROR", [message["type"] for message in done])
        ended: Json = done[-1]["session"]
        return ended

    def test_a_result_that_does_not_come_in_time(self) -> None:
        """The run goes on with an error; and where nothing is waited for, the stream ends."""
        body = {"messages": said(CALLS_PAGE), "frontend_tools": [PAGE]}
        session = self.told({**body, "wait": 0.05})[-1]["session"]
        self.assertEqual(session["status"], "completed")
        [result] = [m for m in session["messages"] if m["role"] == "tool"]
        self.assertEqual(result["is_error"], True)
        self.assertIn("within 0.05 seconds", result["content"])
        found = self.told({**body, "wait": 0})
        self.assertEqual(found[-1]["session"]["finish_reason"], "awaiting")

    def test_an_abort_ends_the_stream_at_once(self) -> None:
        body = {"messages": said("bench tokens=1500 delay_us=20000"), "sessionId": "w-abort"}
        with closing(Stream(self.api, body)) as stream:
            messages = stream.messages()
            task = next(messages)["taskId"]
            next(messages)
            other = Api(self.api.url, "wrong").request("DELETE", f"{BASE}/chat/stream/{task}")
            self.assertEqual(other[0], 401)
            status, answer = self.ask("DELETE", f"/chat/stream/{task}")
            self.assertEqual((status, answer["success"]), (200, True))
            began = time.monotonic()
            *_, session, error = messages
            self.assertLess(time.monotonic() - began, patience.seconds(20))
            self.assertEqual(error, {"type": "ERROR", "content": ABORTED})
            self.assertTrue(stream.ended)
        self.assertEqual(session["session"]["messages"][-1]["open"], True)
        self.assertEqual(self.ask("DELETE", f"/chat/stream/{task}")[0], 404)
        more = {**session["session"], "messages": session["session"]["messages"][:1]}
        again = {"session": more, "messages": said(SHORT)}
        self.assertEqual(self.told(again)[-1]["session"]["status"], "completed")

    def test_somebody_has_to_be_asked(self) -> None:
        order = f'{SHORT} tool=calculator{{"expression":"6*7"}}'
        strict = {"config": {"tool": {"calculator": {"auto_approve": False}}}}
        found = self.told({"messages": said(order), "session": strict})
        ask, last = found[-2:]
        self.assertEqual(ask["type"], "ASK")
        self.assertIn("calculator", ask["content"])
        session = last["session"]
        session["interrupts"][0]["answer"] = {"status": "resolved", "payload": {"approved": True}}
        kinds = [message["type"] for message in self.told({"session": session})]
        self.assertLess(kinds.index("ACTION_START"), kinds.index("OBSERVATION"))
        self.assertEqual(kinds.count("TASK_INFO"), 1)

    def test_what_is_wrong_is_said_before_a_stream(self) -> None:
        provider = {"provider": {"api_url": "http://127.0.0.1:1", "api_key": "k"}}
        for path, body, status in (
            ("/chat/stream", {}, 400),
            ("/chat/stream", {"messages": said("x"), "model": "nobody"}, 404),
            ("/chat/stream", {"session": {"messages": [{"role": "x"}]}}, 400),
            ("/chat/stream", {"session": {"config": {"llm_api": provider}}}, 400),
            ("/chat/completions", {"messages": []}, 400),
            ("/chat/tool-result", {"sessionId": "x"}, 400),
            ("/chat/tool-result", {"sessionId": "x", "toolCall": {"callId": "c"}}, 409),
        ):
            with self.subTest(path=path, body=body):
                found, answer = self.ask("POST", path, body)
                self.assertEqual(found, status, answer)
                self.assertIn("code", answer if status == 409 else answer["error"])


ONE, TWO = "one-key-of-sixteen", "two-keys-of-sixteen"


class TwoKeys(unittest.TestCase):
    def test_who_has_another_key_can_neither_answer_nor_end_a_stream(self) -> None:
        stack = self.enterContext(ExitStack())
        home = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        settings = config(start(stack, "tests.bench.provider"))
        settings["server"]["api_keys"] = [ONE, TWO]
        (home / "config.json").write_text(json.dumps(settings))
        child = Child([sys.executable, "-m", "server", "--home", str(home), "--port", "0"])
        stack.callback(child.stop)
        url = child.wait_for(r"^(http://127\.0\.0\.1:\d+)/$", 60)[1]
        mine, theirs = Api(url, ONE), Api(url, TWO)
        body = {"messages": said(CALLS_PAGE), "frontend_tools": [PAGE], "sessionId": "w-mine"}
        with closing(Stream(mine, body)) as stream:
            messages = stream.messages()
            task = next(messages)["taskId"]
            asked = next(m for m in messages if m["content"].startswith("[Frontend Tool Call] "))
            call = json.loads(asked["content"].split("] ", 1)[1])["callId"]

            def give(api: Api, result: str) -> int:
                given = {"sessionId": "w-mine", "toolCall": {"callId": call, "result": result}}
                return api.request("POST", f"{BASE}/chat/tool-result", given)[0]

            self.assertEqual(give(theirs, "forged"), 409)
            self.assertEqual(theirs.request("DELETE", f"{BASE}/chat/stream/{task}")[0], 404)
            self.assertEqual(give(mine, "true"), 200)
            *_, last = messages
            self.assertTrue(stream.ended)
        results = [m["content"] for m in last["session"]["messages"] if m["role"] == "tool"]
        self.assertEqual((results, last["session"]["status"]), (["true"], "completed"))


if __name__ == "__main__":
    unittest.main()
