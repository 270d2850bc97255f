"""The widget's bodies as sessions, and what is told of a run in its words."""

from __future__ import annotations

import copy
import json
import time
import unittest
from typing import Any

from server.errors import Problem
from server.extensions.autoai import routes
from server.extensions.autoai.routes import StreamTranslator
from server.session import events as e
from server.session.events import alias

Json = Any

HI = {"role": "user", "content": "hi"}
PAGE = {"type": "function", "function": {"name": "shell", "parameters": {"type": "object"}}}
QUESTION = {
    "id": "int-c3",
    "reason": "input_required",
    "call_id": "c3",
    "message": "Which?",
    "response_schema": {"type": "string", "minLength": 2},
}
PENDING = {"id": "int-c1", "reason": "client_tool", "call_id": "c1", "tool": "caller_shell"}
KEPT: Json = {"id": "s1", "messages": [{**HI, "id": "u"}], "interrupts": [QUESTION, PENDING]}


class Bodies(unittest.TestCase):
    def test_the_messages_so_far(self) -> None:
        body = {
            "messages": [HI, {"role": "assistant", "content": "Hello"}, HI],
            "sessionId": "w-1",
            "environment_context": ["Theme: dark"],
            "frontend_tools": [PAGE],
        }
        asked = routes.stream(body, ["shell"])
        document = asked.document
        self.assertEqual((document["id"], document["agent"]), ("w-1", "auto"))
        self.assertEqual([m["role"] for m in document["messages"]], ["user", "assistant", "user"])
        self.assertEqual(document["environment"], ["Theme: dark"])
        self.assertEqual([tool["name"] for tool in document["tools"]], ["caller_shell"])
        self.assertEqual((asked.names, asked.wait), ({"caller_shell": "shell"}, None))
        self.assertIs(document["config"]["yaa"]["unattended"], False)

    def test_the_session_and_what_is_new(self) -> None:
        before = copy.deepcopy(KEPT)
        asked = routes.stream({"session": KEPT, "messages": [HI], "frontend_tools": [PAGE]}, [])
        question, pending = asked.document["interrupts"]
        self.assertEqual(question["answer"], {"status": "resolved", "payload": "hi"})
        self.assertNotIn("answer", pending)
        self.assertEqual(len(asked.document["messages"]), 1, "an answer is no message")
        short = {"session": KEPT, "messages": [{"role": "user", "content": "x"}]}
        document = routes.stream(short, []).document
        self.assertEqual([m["content"] for m in document["messages"]], ["hi", "x"])
        alone = routes.stream({"session": KEPT}, []).document
        self.assertEqual(alone["messages"], KEPT["messages"])
        self.assertEqual(KEPT, before)

    def test_results_of_the_page(self) -> None:
        for result, payload in (
            ({"callId": "c1", "result": {"a": 1}}, {"content": {"a": 1}}),
            ({"callId": "c1", "result": None}, {"content": None}),
            (
                {"callId": "c1", "result": 1, "error": "no", "isError": True},
                {"content": "no", "is_error": True},
            ),
        ):
            body = {"session": KEPT, "tool_results": [result, {"callId": "c9"}], "wait": 0}
            asked = routes.stream(body, [])
            answer = asked.document["interrupts"][1]["answer"]
            self.assertEqual(answer, {"status": "resolved", "payload": payload})
            self.assertEqual(asked.wait, 0)

    def test_what_has_not_come_is_an_error(self) -> None:
        came = {"status": "resolved", "payload": {"content": 1}}
        session: Any = {"interrupts": [{**PENDING, "answer": came}, {**PENDING}, {**QUESTION}]}
        routes.give_up_waiting(session, 30)
        first, second, question = session["interrupts"]
        self.assertEqual(first["answer"], came)
        self.assertNotIn("answer", question)
        payload = second["answer"]["payload"]
        self.assertEqual((payload["is_error"], "within 30 seconds" in payload["content"]), (1, 1))

    def test_what_is_wrong_is_named_by_its_field(self) -> None:
        for body, place in (
            ({}, "/messages"),
            ({"messages": []}, "/messages"),
            ({"messages": [HI], "sessionId": 5}, "/sessionId"),
            ({"messages": [HI], "wait": -1}, "/wait"),
            ({"messages": [HI], "session": []}, "/session"),
            ({"session": {"interrupts": {}}}, "/session/interrupts"),
            ({"session": {}, "tool_results": [{}]}, "/tool_results/0"),
            ({"messages": [HI], "frontend_tools": [{"type": "x"}]}, "/frontend_tools/0/type"),
        ):
            with self.subTest(body), self.assertRaises(Problem) as caught:
                routes.stream(body, [])
            self.assertTrue(caught.exception.errors[0]["pointer"].startswith(place))

    def test_places_of_a_session_that_came_along(self) -> None:
        errors = [{"pointer": "/messages/0/role", "detail": "d"}]
        for body, place in (
            ({"session": KEPT}, "/session/messages/0/role"),
            ({"messages": [HI]}, "/messages/0/role"),
        ):
            problem = Problem("session_invalid", "no", errors=errors)
            told = routes.stream(body, []).place_in_body(problem)
            self.assertEqual(told.errors[0]["pointer"], place)


class Told(unittest.TestCase):
    def told(self, run: list[Json], session: Any, step_ms: int = 1) -> list[Json]:
        telling = StreamTranslator({"caller_shell": "shell"})
        found = []
        for number, event in enumerate(run):
            found += telling.translate(event, alias(event), number * step_ms, session)
        return found

    def test_a_run(self) -> None:
        session: Any = {
            "tools": [{"name": "caller_shell"}],
            "calls": {"c1": {"name": "add"}},
            "interrupts": [],
            "id": "s",
            "rev": 0,
            "run": {"id": "run_1"},
        }
        finished = e.run_finished(session, "completed", "completed", [], 8)
        run = [
            e.run_started("s", {"id": "run_1"}, 1),
            *e.think_start("t", "m", "reasoning_content", 1),
            e.think_delta("t", "hm"),
            *e.think_end("t"),
            *e.think_start("t-2", "m", "marks", 1),
            e.think_delta("t-2", "so"),
            e.text_start("m", 2),
            e.text_delta("m", " "),
            e.tool_start("c1", "add", "m"),
            e.tool_args("c1", '{"a":'),
            e.tool_args("c1", "1}"),
            e.tool_end("c1"),
            e.tool_start("c2", "caller_shell", "m"),
            e.tool_end("c2"),
            e.tool_exec("c1", [], 3),
            e.tool_output("c1", "x", first=True),
            e.tool_result("c1", "add", "1", 4),
            e.tool_result("c2", "shell", "no", 4, state="failed", is_error=True),
            finished,
            e.run_started("s", {"id": "run_2"}, 1),
            e.run_error("It hung up.", "upstream_error"),
        ]
        common: list[Json] = [
            {"type": "TASK_INFO", "taskId": "run_1"},
            {"type": "REASONING", "content": "hm"},
            {"type": "THINKING", "content": "so"},
            {"type": "CONTENT", "content": " "},
            {"type": "ACTION_OUTING", "content": "0"},
            {"type": "ACTION", "content": '{"name":"add","arguments":"{\\"a\\":1}"}'},
            {"type": "ACTION_OUTING", "content": "0"},
            {"type": "ACTION_START", "content": "add"},
            {"type": "ACTION_END", "content": "success"},
            {"type": "OBSERVATION", "content": "1"},
            {"type": "ACTION_END", "content": "error"},
            {"type": "OBSERVATION", "content": "no"},
            {"type": "ERROR", "content": "It hung up."},
        ]
        self.assertEqual(self.told(run, session), common)
        slowly = self.told(run, session, step_ms=routes.OUTING_MS)
        lengths = [m["content"] for m in slowly if m["type"] == "ACTION_OUTING"]
        self.assertEqual(lengths, ["0", "5", "7", "0"])

    def test_what_it_waits_for(self) -> None:
        approval = {"id": "i", "reason": "tool_call", "call_id": "c2", "message": "Allow rm?"}
        page: Any = {**PENDING, "args": {"a": "ü"}}
        waiting = [page, {**approval, "args": {"p": 1}}, QUESTION]
        session: Any = {"id": "s", "rev": 0, "run": {"id": "r"}, "interrupts": waiting}
        end = e.run_finished(session, "interrupted", "awaiting", [], 8)
        frontend, allow, question = self.told([end], session)
        self.assertEqual(frontend["type"], "ACTION")
        mark, _, text = frontend["content"].partition("] ")
        self.assertEqual(mark, "[Frontend Tool Call")
        function = {"name": "shell", "arguments": '{"a":"ü"}'}
        call = {"id": "c1", "type": "function", "function": function}
        wanted = {"type": "FRONTEND_TOOL_CALL", "callId": "c1", "toolCall": call}
        self.assertEqual(json.loads(text), wanted)
        self.assertEqual(allow, {"type": "ASK", "content": 'Allow rm? {"p":1}'})
        self.assertEqual(question, {"type": "ASK", "content": "Which?"})
        self.assertFalse(routes.waits_for_page(session))
        self.assertTrue(routes.waits_for_page({"interrupts": [page]}))
        self.assertFalse(routes.waits_for_page({"interrupts": []}))


class Many(unittest.TestCase):
    def test_results_are_not_held_against_all_interrupts(self) -> None:
        waits = [{"call_id": f"c{n}", "reason": "client_tool"} for n in range(20_000)]
        results = [{"callId": f"c{n}"} for n in reversed(range(20_000))]
        kept = {"messages": [{"role": "user", "content": "x"}], "interrupts": waits}
        began = time.process_time()
        routes.stream({"session": kept, "tool_results": results}, [])
        self.assertLess(time.process_time() - began, 2)


class Tools(unittest.TestCase):
    def test_a_tool_with_an_example(self) -> None:
        schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
        tool = {"name": "t", "description": "d", "parameters": schema, "policy": "run"}
        self.assertEqual(routes.summary(tool), {"name": "t", "description": "d"})
        found = routes.detail(tool)
        self.assertEqual((found["parameters"], list(found["requestExample"])), (schema, ["n"]))
        never = {**tool, "parameters": {"type": "object", "required": ["a"], "maxProperties": 0}}
        self.assertNotIn("requestExample", routes.detail(never))
        for returned, shown in (({"type": "integer"}, 1), ({}, None), (None, None)):
            properties = {} if returned is None else {"result": returned}
            told = {**tool, "result_schema": {"properties": properties}}
            self.assertEqual(routes.detail(told).get("responseExample"), shown)


if __name__ == "__main__":
    unittest.main()
