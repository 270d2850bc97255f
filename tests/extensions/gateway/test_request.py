"""The gateway's bodies as sessions, and the places of what is wrong with them."""

from __future__ import annotations

import copy
import unittest
from typing import Any

from server.errors import Problem
from server.extensions.gateway import routes

WAITING: Any = {
    "id": "s1",
    "messages": [{"id": "u", "role": "user", "content": "hi"}],
    "interrupts": [
        {"id": "int-c1", "reason": "client_tool", "call_id": "c1"},
        {"id": "int-c2", "reason": "tool_call", "call_id": "c2"},
        {"id": "int-c3", "reason": "input_required", "call_id": "c3"},
        {"id": "limit", "reason": "limit"},
        {"id": "model", "reason": "model_error"},
    ],
}


class Query(unittest.TestCase):
    def test_a_new_chat(self) -> None:
        asked = routes.query(
            {"message": "你好", "agentKey": "coder", "chatId": "c-1", "session": {}}
        )
        self.assertTrue(asked.new)
        self.assertEqual(
            asked.document,
            {
                "id": "c-1",
                "agent": "coder",
                "environment": [],
                "messages": [{"role": "user", "content": "你好"}],
            },
        )

    def test_the_next_message_of_a_chat(self) -> None:
        kept = {"id": "s1", "messages": [{"role": "user", "content": "a"}], "x": 1}
        before = copy.deepcopy(kept)
        asked = routes.query({"message": "b", "session": kept, "chatId": "s1"})
        self.assertFalse(asked.new)
        self.assertEqual([m["content"] for m in asked.document["messages"]], ["a", "b"])
        self.assertEqual(asked.document["x"], 1)
        self.assertEqual(kept, before)

    def test_a_session_goes_on_without_a_message(self) -> None:
        asked = routes.query({"session": WAITING})
        self.assertEqual(asked.document["messages"], WAITING["messages"])

    def test_what_else_a_query_brings(self) -> None:
        body = {
            "message": "Look",
            "scene": {"url": "https://a.example/x", "title": "Über uns"},
            "params": {"a": 1},
            "references": [
                {"id": "r", "name": "plan.pdf", "mimeType": "application/pdf", "sizeBytes": 7},
                {"url": "data:" + "x" * 5000},
                {},
            ],
            "tools": [{"name": "page"}],
            "session": {"environment": [f"{routes.SCENE} before", "kept"], "ext": {"b": 2}},
        }
        document = routes.query(body).document
        scene = f"{routes.SCENE} “Über uns” https://a.example/x"
        self.assertEqual(document["environment"], ["kept", scene])
        self.assertEqual(document["ext"], {"b": 2, "params": {"a": 1}})
        self.assertEqual(document["tools"], [{"name": "page"}])
        text, listed = document["messages"][0]["content"]
        self.assertEqual(text["text"], "Look")
        self.assertIn("- plan.pdf (application/pdf, 7 bytes)\n", listed["text"])
        self.assertLess(len(listed["text"]), 400)

    def test_what_is_wrong_is_named_by_its_field(self) -> None:
        for body, place in (
            ({}, "/message"),
            ({"message": " \n"}, "/message"),
            ({"message": 5}, "/message"),
            ({"message": "x", "role": "system"}, "/role"),
            ({"message": "x", "references": [1]}, "/references/0"),
            ({"message": "x", "scene": {"url": 1}}, "/scene/url"),
            ({"message": "x", "session": []}, "/session"),
            ({"message": "x", "session": {"messages": {}}}, "/session/messages"),
            ({"message": "x", "session": {"environment": [1]}}, "/session/environment/0"),
            ({"message": "x", "chatId": "a", "session": {"id": "b"}}, "/chatId"),
            ({"message": "x", "chatId": "a"}, "/session"),
            ({"message": "x", "chatId": "a", "session": None}, "/session"),
            ({"message": " ", "session": {}}, "/message"),
            ({"message": "x", "wait": -1}, "/wait"),
            ({"message": "x", "wait": 301}, "/wait"),
        ):
            with self.subTest(body), self.assertRaises(Problem) as caught:
                routes.query(body)
            self.assertEqual(caught.exception.status, 400)
            self.assertEqual(caught.exception.errors[0]["pointer"], place)

    def test_how_much_the_model_is_sent(self) -> None:
        for config, expected in (
            (None, {"context": {"window_runs": 20}}),
            ({"context": {"budget": 9}}, {"context": {"budget": 9, "window_runs": 20}}),
            ({"context": {"window_runs": None}}, {"context": {"window_runs": None}}),
            ({"context": {"window_runs": 2}}, {"context": {"window_runs": 2}}),
            ({"context": 5}, {"context": 5}),
            (7, 7),
        ):
            with self.subTest(config):
                session = {} if config is None else {"config": config}
                before = copy.deepcopy(session)
                asked = routes.query({"message": "x", "session": session}, 20)
                self.assertEqual(asked.document["config"], expected)
                self.assertEqual(session, before)
        self.assertNotIn("config", routes.query({"message": "x"}).document)

    def test_how_long_a_stream_waits(self) -> None:
        for more, expected in (
            ({}, routes.WAIT_S),
            ({"wait": None}, routes.WAIT_S),
            ({"session": {}}, 0),
            ({"tools": []}, 0),
            ({"tools": [], "wait": 5}, 5),
            ({"wait": 0}, 0),
        ):
            with self.subTest(more):
                self.assertEqual(routes.query({"message": "x", **more}).wait, expected)

    def test_places_of_the_session_are_told_as_places_of_the_body(self) -> None:
        body = {"message": "x", "agentKey": "a", "tools": [{}], "session": WAITING}
        asked = routes.query(body)
        for ours, theirs in (
            ("/messages/1/content", "/message/content"),
            ("/messages/0/role", "/session/messages/0/role"),
            ("/agent", "/agentKey"),
            ("/tools/0/name", "/tools/0/name"),
            ("/id", "/session/id"),
        ):
            problem = Problem("session_invalid", "no", errors=[{"pointer": ours, "detail": "d"}])
            told = asked.place_in_body(problem)
            self.assertEqual((told.errors[0]["pointer"], told.status), (theirs, 400), ours)


class Submit(unittest.TestCase):
    def test_each_kind_of_answer(self) -> None:
        for tool, payload, more, expected in (
            ("c1", {"lat": 1}, {}, {"content": {"lat": 1}}),
            ("c1", "no", {"isError": True}, {"content": "no", "is_error": True}),
            ("int-c1", False, {}, {"content": False}),
            ("c2", True, {}, {"approved": True}),
            ("c2", {"approved": False, "reason": "r"}, {}, {"approved": False, "reason": "r"}),
            ("c3", "blue", {}, "blue"),
            ("limit", True, {}, {"continue": True}),
            ("model", True, {}, {"retry": True}),
        ):
            with self.subTest(tool=tool, payload=payload):
                before = copy.deepcopy(WAITING)
                body = {"toolId": tool, "payload": payload, "session": WAITING, **more}
                document = routes.submit(body).document
                answers = [i["answer"] for i in document["interrupts"] if "answer" in i]
                self.assertEqual(answers, [{"status": "resolved", "payload": expected}])
                self.assertEqual(WAITING, before)

    def test_what_is_wrong_is_named_by_its_field(self) -> None:
        whole = {"toolId": "c1", "payload": 1, "session": WAITING}
        for body, place in (
            ({**whole, "toolId": "c9"}, "/toolId"),
            ({**whole, "toolId": ""}, "/toolId"),
            ({**whole, "payload": None}, "/payload"),
            ({**whole, "chatId": "other"}, "/chatId"),
            ({**whole, "session": 1}, "/session"),
        ):
            with self.subTest(body), self.assertRaises(Problem) as caught:
                routes.submit(body)
            self.assertEqual(caught.exception.errors[0]["pointer"], place)

    def test_places_of_an_answer(self) -> None:
        asked = routes.submit({"toolId": "c2", "payload": {}, "session": WAITING})
        at = "/interrupts/1/answer/payload/approved"
        problem = Problem("answer_invalid", "no", errors=[{"pointer": at, "detail": "d"}])
        self.assertEqual(asked.place_in_body(problem).errors[0]["pointer"], "/payload/approved")


class Waits(unittest.TestCase):
    def test_what_a_submit_without_a_session_means(self) -> None:
        asked = routes.submit({"toolId": "c1", "payload": 1, "requestId": "r"})
        self.assertEqual(asked.document, {})
        self.assertEqual(asked.told["requestId"], "r")
        for body, found in (
            ({"toolId": "c1"}, "int-c1"),
            ({"toolId": "int-c1", "chatId": ""}, "int-c1"),
            ({"toolId": "c9"}, None),
            ({"toolId": "c1", "chatId": "another"}, None),
        ):
            with self.subTest(body):
                item = routes.waits_for(WAITING, body)
                self.assertEqual(item and item["id"], found)
        there = copy.deepcopy(WAITING)
        for item in there["interrupts"]:
            item["answer"] = {"status": "resolved"}
        self.assertIsNone(routes.waits_for(there, {"toolId": "c1"}))
        refused = routes.refusal(routes.not_waiting({"toolId": "c1"}))
        self.assertEqual((refused["code"], [*refused["data"]["fields"]]), (409, ["session"]))


class ChatInTheQuery(unittest.TestCase):
    def test_the_session_as_json(self) -> None:
        found = routes.chat_in({"session": '{"id":"c"}', "includeEvents": "true"})
        self.assertEqual(found, {"session": {"id": "c"}, "includeEvents": True})
        for text, status in (("", 404), ("{", 400), ("\ud800", 400)):
            with self.subTest(text), self.assertRaises(Problem) as caught:
                routes.chat_in({"session": text})
            self.assertEqual(caught.exception.status, status)
            self.assertEqual(caught.exception.errors[0]["pointer"], "/session")


class Envelope(unittest.TestCase):
    def test_success_and_failure(self) -> None:
        self.assertEqual(routes.envelope([]), {"code": 0, "msg": "success", "data": []})
        errors = [{"pointer": "/a/b", "detail": "d"}]
        self.assertEqual(
            routes.refusal(Problem("request_invalid", "no", errors=errors, status=400)),
            {"code": 400, "msg": "no", "data": {"fields": {"a.b": "d"}}},
        )
        self.assertEqual(
            routes.refusal(Problem("busy", "later")), {"code": 429, "msg": "later", "data": {}}
        )


class Agents(unittest.TestCase):
    ABOUT: Any = {
        "name": "helper",
        "description": "Helps",
        "provider": "bailian",
        "model": "m",
        "systemPrompt": "Be kind.",
        "mode": "react",
        "tools": ["shell", "read_*"],
        "policy": {"read_secret": "deny"},
    }
    TOOLS = ("shell", "read_file", "read_secret", "write_file")

    def test_details(self) -> None:
        self.assertEqual(
            routes.detail(self.ABOUT, self.TOOLS),
            {
                "key": "helper",
                "name": "helper",
                "description": "Helps",
                "instructions": "Be kind.",
                "meta": {
                    "providerType": "BAILIAN",
                    "model": "m",
                    "mode": "RE_ACT",
                    "tools": ["shell", "read_file"],
                },
            },
        )

    def test_a_tag_is_looked_for_in_name_description_and_tools(self) -> None:
        listed = routes.summary(self.ABOUT, self.TOOLS)
        for tag, found in (
            ("", True),
            ("HELP", True),
            ("elps", True),
            ("read_f", True),
            ("write_file", False),
            ("kind", False),
        ):
            self.assertEqual(routes.has_tag(listed, tag), found, tag)


if __name__ == "__main__":
    unittest.main()
