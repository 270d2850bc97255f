"""The agent gateway's rows: its agent files and requests, at a server as it is started."""

from __future__ import annotations

import json
import sys
import tempfile
import threading
import unittest
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ...protocols.scripted import Scripted
from ...tooling import turns
from ...tooling.api import Api
from ...tooling.child import Child, Yaa
from .. import needs

Json = dict[str, Any]

TESTED = {  # see test_rows.py
    43: "/api/chats",
    44: "GET /api/chat",
    45: "includeEvents",
    47: "/api/submit",
    48: "a chatId without its session",
    52: "bash, city_datetime, mock_city_weather",
    63: "a window of 20 runs",
    64: "variables of the environment",
    66: "a log line for each model call",
}
DIFFERENT = {
    65: "`AGENT_BASH_WORKING_DIRECTORY` | – | every session has a folder of its own",
    68: "secrets are always masked",
}

# As the document has them: one of each mode, under its names of tools, models and vendors.
AGENTS = {
    "demoPlain": """{
  "description": "描述",
  "providerType": "BAILIAN",
  "model": "qwen3-max",
  "systemPrompt": "系统提示词",
  "mode": "PLAIN",
  "tools": ["bash", "city_datetime"]
}""",
    "demoReAct": '''{
  "description": "ReAct",
  "providerType": "BAILIAN",
  "model": "qwen3-max",
  "systemPrompt": """
你是一个助手。
先思考，再行动。
""",
  "mode": "RE_ACT",
  "tools": ["bash", "city_datetime", "mock_city_weather"]
}''',
    "demoOldName": """{
  "description": "旧名",
  "providerType": "BAILIAN",
  "model": "qwen3-max",
  "systemPrompt": "x",
  "mode": "THINKING_AND_CONTENT_WITH_DUAL_TOOL_CALLS",
  "tools": ["city_datetime", "mock_city_weather"]
}""",
}
MARK = "GHOST"  # a canary of one test
SECRET = "sk-" + "a1B2" * 12


def script(body: Json) -> list[tuple[Any, ...]]:
    """The model: it calls what the last user's message orders (`call NAME {…}`), then says so."""
    messages = body["messages"]
    last = messages[-1]
    if last["role"] == "tool":
        return [("text", f"got {last['content']}"[:300])]
    text = str(last["content"])
    if text.startswith("call "):
        calls = [part.partition(" ") for part in text[5:].split(" ; ")]
        return [("call", name, arguments or "{}") for name, _, arguments in calls]
    return [("text", "你好"), ("text", " 世界")]


@needs("agents")
class Case(unittest.TestCase):
    provider: Scripted
    yaa: Yaa
    api: Api
    env: dict[str, str] = {}
    config: Json = {}

    @classmethod
    def setUpClass(cls) -> None:
        stack = cls.enterClassContext(ExitStack())
        cls.provider = stack.enter_context(Scripted(script))
        home = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "home"
        (home / "agents").mkdir(parents=True)
        for name, text in AGENTS.items():
            (home / "agents" / f"{name.lower()}.json").write_text(text)
        main = {"preset": "openai", "api_url": f"{cls.provider.url}/v1", "api_key": SECRET}
        config: Json = {
            "server": {
                "providers": {"bailian": {**main, "model_name": "qwen3-max"}},
                "discover": False,
                "sandbox": {"require": "none"},
                **cls.config,
            }
        }
        cls.yaa = stack.enter_context(Yaa(config, home=home, env=cls.env))
        cls.api = Api(cls.yaa.url, cls.yaa.key)

    def told(self, body: Json, path: str = "/api/query") -> list[Json]:
        with self.api.stream(body, path) as stream:
            self.assertEqual(stream.status, 200)
            events = [*stream.events()]
            self.assertTrue(stream.text.endswith("data: [DONE]\n\n"), stream.text[-200:])
        self.assertEqual([each["seq"] for each in events], [*range(1, len(events) + 1)])
        return events

    def sent(self) -> list[Json]:
        """The messages of the last request to the model."""
        messages: list[Json] = self.provider.requests[-1]["messages"]
        return messages


@turns.tests(3)
class Rows(Case):
    def test_hello_world(self) -> None:
        """`POST /api/query` as the document says it, with its agent and nothing of ours."""
        events = self.told({"message": "你好", "agentKey": "demoplain"})
        kinds = [each["type"] for each in events]
        self.assertEqual(kinds[:3], ["request.query", "chat.start", "run.start"])
        self.assertEqual(kinds[-2:], ["content.end", "run.complete"])
        said = [each["delta"] for each in events if each["type"] == "content.delta"]
        self.assertEqual(said, ["你", "好", " ", "世", "界"])  # as the model sent them
        status, answer = self.api.request("GET", "/api/agent?agentKey=demoreact")
        self.assertEqual((status, answer["code"], answer["msg"]), (200, 0, "success"))
        self.assertEqual(answer["data"]["instructions"], "你是一个助手。\n先思考，再行动。")
        self.assertEqual(answer["data"]["meta"]["mode"], "RE_ACT")

    def test_43_chats_are_an_empty_list_that_says_why(self) -> None:
        status, answer = self.api.request("GET", "/api/chats")
        self.assertEqual((status, answer["code"], answer["data"]), (200, 0, []))
        self.assertIn("keeps no chats", answer["msg"])
        self.assertEqual(Api(self.api.url).request("GET", "/api/chats")[0], 401)

    def test_44_a_chat_is_got_where_its_session_is_given(self) -> None:
        session = self.told({"message": "你好 & <b>", "agentKey": "demoplain"})[-1]["session"]
        expected = {"chatId", "chatName", "messages", "events", "references"}
        query = f"/api/chat?chatId={session['id']}&session={quote(json.dumps(session))}"
        for path, body in ((query, None), ("/api/chat", {"session": session})):
            status, answer = self.api.request("GET", path, body)
            self.assertEqual((status, answer["code"]), (200, 0), answer)
            self.assertEqual(set(answer["data"]), expected)
            self.assertEqual(answer["data"]["chatId"], session["id"])
            said = [message["content"] for message in answer["data"]["messages"]]
            self.assertEqual(said, ["你好 & <b>", "你好 世界"])
        status, answer = self.api.request("GET", f"/api/chat?chatId={session['id']}")
        self.assertEqual((status, answer["code"]), (404, 404))
        self.assertIn("keeps no chats", answer["msg"])
        self.assertIn("session", answer["data"]["fields"])
        for hostile in ("{", "[]", '{"messages":[{}]}', "%00", "null", "[" * 5000):
            status, answer = self.api.request("GET", f"/api/chat?session={quote(hostile)}")
            self.assertEqual((status, answer["code"]), (400, 400), hostile)

    def test_45_events_come_where_they_are_asked_for(self) -> None:
        order = 'call city_datetime {"city": "Tokyo"}'
        session = self.told({"message": order, "agentKey": "demoplain"})[-1]["session"]
        for body, more, there in (
            ({}, "", False),
            ({"includeEvents": False}, "", False),
            ({"includeEvents": True}, "", True),
            ({}, "?includeEvents=true", True),
        ):
            status, answer = self.api.request(
                "POST", f"/api/chat{more}", {"session": session, **body}
            )
            self.assertEqual(status, 200, answer)
            kinds = [each["type"] for each in answer["data"]["events"]]
            expected = ["message.snapshot", "tool.snapshot", "message.snapshot"] if there else []
            self.assertEqual(kinds, expected)

    def test_47_a_submit_without_a_session_reaches_the_query_that_waits(self) -> None:
        asked = {
            "message": f'call bash {{"command": "echo {MARK}$((1+1))"}}',
            "agentKey": "demoplain",
        }
        with self.api.stream(asked, "/api/query") as stream:
            events = stream.events()
            first = [next(events)]
            while first[-1]["type"] != "awaiting.ask":
                first.append(next(events))
            start = next(each for each in first if each["type"] == "run.start")
            ask = first[-1]
            body = {
                "requestId": "r-1",
                "chatId": start["chatId"],
                "runId": start["runId"],
                "toolId": ask["toolId"],
                "viewId": "v",
                "payload": True,
            }
            for wrong, code in (
                ({"toolId": "call_other"}, 409),
                ({"chatId": "another"}, 409),
                ({"runId": "another"}, 409),
                ({"payload": {"approved": "perhaps"}}, 400),
            ):
                status, answer = self.api.request("POST", "/api/submit", {**body, **wrong})
                self.assertEqual((status, answer["code"]), (code, code), answer)
            answers: list[tuple[int, Json]] = []
            both = [
                threading.Thread(
                    target=lambda: answers.append(self.api.request("POST", "/api/submit", body))
                )
                for _ in range(2)
            ]
            for each in both:
                each.start()
            for each in both:
                each.join()
            rest = [*events]
        self.assertEqual(sorted(status for status, _ in answers), [200, 409])
        data = next(answer["data"] for status, answer in answers if status == 200)
        expected = {"requestId": "r-1", "accepted": True, "toolId": ask["toolId"]}
        self.assertEqual(data, {**expected, "runId": start["runId"]})
        kinds = [each["type"] for each in rest]
        self.assertEqual((kinds[0], kinds[-1]), ("request.submit", "run.complete"))
        self.assertNotIn("run.start", kinds)
        (result,) = [each["result"] for each in rest if each["type"] == "tool.result"]
        self.assertEqual(result["output"], f"{MARK}2\n")
        self.assertEqual(rest[-1]["runId"], start["runId"])
        self.assertEqual(rest[-1]["session"]["status"], "completed")
        self.assertEqual([e["seq"] for e in [*first, *rest]], [*range(1, len(first + rest) + 1)])
        status, answer = self.api.request("POST", "/api/submit", body)
        self.assertEqual((status, list(answer["data"]["fields"])), (409, ["session"]))

    def test_47_a_stream_that_waited_in_vain_ends_with_the_session(self) -> None:
        asked = {"message": 'call bash {"command": "true"}', "agentKey": "demoplain", "wait": 0.05}
        events = self.told(asked)
        self.assertEqual([e["type"] for e in events[-2:]], ["awaiting.ask", "run.complete"])
        self.assertEqual(events[-1]["finishReason"], "awaiting")
        body = {"toolId": events[-2]["toolId"], "payload": False, "session": events[-1]["session"]}
        status, answer = self.api.request("POST", "/api/submit", body)
        self.assertEqual((status, answer["data"]["finishReason"]), (200, "end_turn"), answer)

    def test_48_a_chat_without_its_session_is_an_error_that_says_what_to_send(self) -> None:
        first = self.told({"message": "eins", "agentKey": "demoplain"})
        chat = first[0]["chatId"]
        before = len(self.provider.requests)
        for session in ({}, {"session": None}):
            body = {"message": "zwei", "agentKey": "demoplain", "chatId": chat, **session}
            status, answer = self.api.request("POST", "/api/query", body)
            self.assertEqual((status, answer["code"]), (400, 400))
            self.assertIn("run.complete", answer["data"]["fields"]["session"])
        self.assertEqual(len(self.provider.requests), before)
        self.told({"message": "zwei", "chatId": chat, "session": first[-1]["session"]})
        said = [message["content"] for message in self.sent() if message["role"] == "user"]
        self.assertEqual(said, ["eins", "zwei"])
        new = self.told({"message": "hi", "chatId": "my-own-id", "session": {}})
        self.assertEqual((new[1]["type"], new[1]["chatId"]), ("chat.start", "my-own-id"))

    def test_52_the_documents_tools_are_there_for_agents_that_name_them(self) -> None:
        self.told({"message": "hi", "agentKey": "demoreact"})
        offered = [t["function"]["name"] for t in self.provider.requests[-1]["tools"]]
        self.assertLessEqual({"bash", "city_datetime", "mock_city_weather"}, set(offered))
        self.assertNotIn("shell", offered)
        self.told({"message": "hi"})
        others = {t["function"]["name"] for t in self.provider.requests[-1]["tools"]}
        self.assertFalse(others & {"bash", "city_datetime", "mock_city_weather"})
        _, answer = self.api.request("GET", "/api/agents?tag=bash")
        self.assertEqual({a["key"] for a in answer["data"]}, {"demoplain", "demoreact"})
        _, info = self.api.request("GET", "/info")
        self.assertEqual(info["agent_problems"], [])
        chain = (
            'call city_datetime {"city": "上海"} ; mock_city_weather'
            ' {"city": "上海", "date": "{{city_datetime.date+1d}}"}'
        )
        events = self.told({"message": chain, "agentKey": "demooldname"})
        when, weather = [e["result"] for e in events if e["type"] == "tool.result"]
        self.assertEqual(when["zone"], "Asia/Shanghai")
        self.assertGreater(weather["date"], when["date"])

    def test_52_a_page_may_have_tools_of_these_names(self) -> None:
        page = {"name": "bash", "parameters": {"type": "object"}}
        events = self.told({"message": "call bash {}", "tools": [page]})
        self.assertEqual(events[-2]["mode"], "frontend")

    def test_63_a_window_of_twenty_unless_somebody_says_otherwise(self) -> None:
        def asked(number: int) -> Json:
            return {"role": "user", "content": f"m{number}"}

        past = [m for n in range(30) for m in (asked(n), {"role": "assistant", "content": "ok"})]
        for config, expected in (
            (None, 20),
            ({"context": {"window_runs": 3}}, 3),
            ({"context": {"window_runs": None}}, 31),
        ):
            session = {"messages": past, **({"config": config} if config else {})}
            self.told({"message": "now", "session": session})
            users = [m for m in self.sent() if m["role"] == "user"]
            self.assertEqual(len(users), expected)
        Api(self.api.url, self.api.key).run({"messages": [*past, asked(99)]})
        self.assertEqual(len([m for m in self.sent() if m["role"] == "user"]), 31)  # elsewhere all

    def test_66_one_line_for_each_model_call(self) -> None:
        order = 'call city_datetime {"city": "Rome"}'
        end = self.told({"message": order, "agentKey": "demoplain"})[-1]
        assert self.yaa.child is not None
        self.yaa.child.wait_for(rf"yaa\.run run={end['session']['run']['id']}", 30)
        lines = [
            line
            for line in self.yaa.child.output.splitlines()
            if f" yaa.model run={end['session']['run']['id']} " in line
        ]
        self.assertEqual(len(lines), 2, lines)
        self.assertRegex(lines[0], r" INFO yaa\.model run=\w+ trace=[0-9a-f]{32} \{")
        first, second = (json.loads(line[line.index("{") :]) for line in lines)
        self.assertEqual((first["stage"], first["model"]), ("step 1", "qwen3-max"))
        self.assertEqual((first["messages"], second["messages"]), (2, 4))
        self.assertEqual((first["prompt_tokens"], first["completion_tokens"]), (11, 7))
        self.assertGreater(first["request_chars"], len(order))
        self.assertGreater(second["answer_chars"], 0)
        self.assertGreater(first["ms"], 0)
        self.assertNotIn("Rome", "".join(lines))


class Denied(Case):
    config: Json = {"tools": {"shell": {"ceiling": "deny"}}}

    def test_52_what_is_forbidden_to_shell_is_forbidden_to_bash(self) -> None:
        events = self.told({"message": 'call bash {"command": "id"}', "agentKey": "demoplain"})
        offered = [t["function"]["name"] for t in self.provider.requests[-2]["tools"]]
        self.assertNotIn("bash", offered)
        (result,) = [each for each in events if each["type"] == "tool.result"]
        self.assertIn("does not allow bash", str(result["result"]))


class Variables(Case):
    @classmethod
    def setUpClass(cls) -> None:
        agents = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        (agents / "outside.json").write_text(AGENTS["demoPlain"])
        cls.env = {
            "AGENT_EXTERNAL_DIR": str(agents),
            "AGENT_REFRESH_INTERVAL_MS": "10000",
            "AGENT_LLM_INTERACTION_LOG_MASK_SENSITIVE": "false",
            "MEMORY_CHAT_K": "2",
            "MEMORY_CHAT_DIR": "/nowhere/chats",
            "YAA_LOG_LEVEL": "debug",
        }
        super().setUpClass()

    def test_64_variables_that_mean_something_are_read(self) -> None:
        _, answer = self.api.request("GET", "/api/agents?tag=outside")
        self.assertEqual([agent["key"] for agent in answer["data"]], ["outside"])
        past = [{"role": role, "content": "x"} for _ in range(5) for role in ("user", "assistant")]
        self.told({"message": "now", "agentKey": "outside", "session": {"messages": past}})
        self.assertEqual(len([m for m in self.sent() if m["role"] == "user"]), 2)

    def test_64_the_others_are_told_once(self) -> None:
        assert self.yaa.child is not None
        said = self.yaa.child.output
        for name in ("AGENT_REFRESH_INTERVAL_MS", "MEMORY_CHAT_DIR"):
            self.assertEqual(said.count(f"{name} changes nothing here"), 1)
        self.assertNotIn("/nowhere/chats", said)

    def test_64_the_port(self) -> None:
        with tempfile.TemporaryDirectory() as home:
            command = [sys.executable, "-m", "server", "--home", home, "--print-link"]
            env = {"SERVER_PORT": "0", "YAA_SERVER__DISCOVER": "false"}
            child = Child(command, env=env)
            self.addCleanup(child.stop)
            link = child.wait_for(r"http://127\.0\.0\.1:(\d+)/#code=(\S+)", 60)
            self.assertNotEqual(link[1], "12345")
            child.wait_for(r"SERVER_PORT is read as server\.port", 60)
            url = f"http://127.0.0.1:{link[1]}"
            self.assertEqual(Api(url).request("GET", "/health")[0], 200)
            child.stop()

    def test_66_request_and_answer_at_debug_masked(self) -> None:
        asked = f"my key is {SECRET} and 密码 is known"
        end = self.told({"message": asked, "agentKey": "outside"})[-1]
        assert self.yaa.child is not None
        self.yaa.child.wait_for(rf"INFO yaa\.run run={end['session']['run']['id']}", 30)
        mine = [
            line
            for line in self.yaa.child.output.splitlines()
            if f"yaa.model run={end['session']['run']['id']}" in line
        ]
        requests = [line for line in mine if '"event":"request"' in line]
        self.assertTrue(any("my key is ***" in line for line in requests), requests)
        self.assertTrue(any("系统提示词" in line for line in requests))
        (answer,) = [line for line in mine if '"event":"answer"' in line]
        self.assertIn("你好 世界", answer)
        self.assertNotIn(SECRET, self.yaa.child.output)


if __name__ == "__main__":
    unittest.main()
