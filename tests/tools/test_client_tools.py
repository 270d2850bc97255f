"""Tools of the page: offered, judged and refused like ours; answers cut to size and marked."""

from __future__ import annotations

import copy
import json
import tempfile
import unittest
from pathlib import Path
from typing import Any

from server.config import Config
from server.errors import Problem
from server.session.call_actions import ClientResult, SendToClient
from server.tools import client_tools
from server.tools.result import MAX_RESULT, MAX_TEXT
from server.tools.toolbox import Toolbox

from ..fakes import DEFAULTS

CITY = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city"],
}


class Case(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.home = Path(folder.name)
        config = copy.deepcopy(DEFAULTS["session"]["config"])
        self.session: Any = {
            "id": "s",
            "messages": [],
            "grants": [],
            "config": config,
            "tools": [
                {"name": "weather", "description": "The weather.", "parameters": CITY},
                {"name": "notify", "wait": False},
                {"name": "page_info", "hints": {"read_only": True}},
            ],
        }

    def toolbox(self, **tools: dict[str, str]) -> Toolbox:
        server = copy.deepcopy(DEFAULTS["server"])
        server["tools"] = tools
        return Toolbox(Config(server, copy.deepcopy(DEFAULTS["session"]), self.home))

    def call(self, name: str, arguments: Any = "{}") -> Any:
        text = arguments if isinstance(arguments, str) else json.dumps(arguments)
        return {"id": "c1", "type": "function", "function": {"name": name, "arguments": text}}

    def verdict(self, toolbox: Toolbox, name: str, arguments: Any = "{}") -> Any:
        return toolbox.verdict(self.session, self.call(name, arguments))


class Judged(Case):
    def test_arguments_are_held_against_the_declared_schema(self) -> None:
        cases: list[tuple[str, Any, str, str]] = [
            ("weather", {"city": "Bern"}, "client", ""),
            ("weather", {"city": "Bern", "days": "3"}, "client", ""),
            ("weather", {}, "error", "city"),
            ("weather", {"city": 5.5}, "error", "/city"),
            ("weather", "[]", "error", "JSON object"),
            ("weather", "{", "error", "not valid JSON"),
            ("wether", {}, "error", "did you mean weather"),
            ("notify", {"anything": [1]}, "send", ""),
            ("notify", "nope", "error", "not valid JSON"),
            ("page_info", {}, "client", ""),
        ]
        for name, arguments, action, reason in cases:
            with self.subTest(name, arguments=arguments):
                verdict = self.verdict(self.toolbox(), name, arguments)
                self.assertEqual(verdict.action, action)
                self.assertIn(reason, verdict.reason)
        verdict = self.verdict(self.toolbox(), "weather", {"city": "Bern", "days": "3"})
        self.assertEqual(verdict.args, {"city": "Bern", "days": 3})
        self.assertEqual(len(verdict.repairs), 1)
        self.assertTrue(verdict.fingerprint)
        self.assertTrue(self.verdict(self.toolbox(), "page_info").repeatable)
        self.assertFalse(self.verdict(self.toolbox(), "weather", {"city": "x"}).repeatable)

    def test_policy(self) -> None:
        """(the server's ceiling, the session's rule, its grants) → (action, is it confirmed?)"""
        deny = [{"tool": "NAME", "decision": "deny"}]
        allow = [{"tool": "NAME", "decision": "allow"}]
        cases: list[tuple[str, Any, list[Any], str, bool]] = [
            ("auto", {}, [], "run", False),
            ("deny", {}, [], "deny", False),
            ("deny", {"auto_approve": True}, allow, "deny", False),
            ("auto", {"deny": True}, allow, "deny", False),
            ("auto", {}, deny, "deny", False),
            ("ask", {"auto_approve": True}, allow, "ask", True),
            ("auto", {"auto_approve": False}, [], "ask", True),
            ("auto", {"auto_approve": False}, allow, "run", False),
        ]
        for name, plain in (("weather", "client"), ("notify", "send")):
            for ceiling, rule, grants, action, confirmed in cases:
                with self.subTest(name, ceiling=ceiling, rule=rule, grants=grants):
                    self.session["config"]["tool"] = {name: rule} if rule else {}
                    self.session["grants"] = [{**grant, "tool": name} for grant in grants]
                    toolbox = self.toolbox(**{name: {"ceiling": ceiling}})
                    verdict = self.verdict(toolbox, name, {"city": "Bern"})
                    wanted = {"run": plain, "deny": "deny", "ask": "client"}[action]
                    self.assertEqual(verdict.action, wanted, "to be confirmed is to be waited for")
                    offered = {t["function"]["name"] for t in toolbox.declarations(self.session)}
                    self.assertEqual(name in offered, action != "deny")
                    self.assertEqual(bool(verdict.reason) and action != "deny", confirmed)

    def test_denied_however_the_arguments_are(self) -> None:
        toolbox = self.toolbox(weather={"ceiling": "deny"})
        for arguments in ({"city": "Bern"}, {}, "{broken"):
            self.assertEqual(self.verdict(toolbox, "weather", arguments).action, "deny")

    def test_a_name_that_steers_a_run_is_refused(self) -> None:
        toolbox = self.toolbox()
        toolbox.admit(self.session)
        toolbox.admit({})
        self.session["tools"] += [{"name": "finish"}, {"name": "shell"}, {"name": "plan_set"}]
        with self.assertRaises(Problem) as caught:
            toolbox.admit(self.session)
        problem = caught.exception
        self.assertEqual((problem.code, problem.status), ("session_invalid", 422))
        self.assertEqual([e["pointer"] for e in problem.errors], ["/tools/3/name", "/tools/5/name"])
        self.assertIn("finish is a tool that every run needs", problem.detail)

    def test_a_tool_of_the_page_stands_for_the_servers_of_its_name(self) -> None:
        toolbox = self.toolbox()
        city = {"type": "object", "properties": {"city": {}}, "required": ["city"]}
        page = {each["name"] for each in self.session["tools"]}
        plain = [each["function"]["name"] for each in toolbox.declarations(self.session)]
        for name in ("calculator", "read_file", "shell", "fetch_url"):
            with self.subTest(name):
                self.session["tools"] = [{"name": name, "parameters": city, "wait": True}]
                toolbox.admit(self.session)
                offered = [each["function"] for each in toolbox.declarations(self.session)]
                (mine,) = (each for each in offered if each["name"] == name)
                self.assertEqual(mine["parameters"]["required"], ["city"])
                others = {each["name"] for each in offered} - {name}
                self.assertEqual(others, {*plain} - {name, *page})
                self.assertEqual(self.verdict(toolbox, name, {"city": "Bern"}).action, "client")
                self.assertEqual(self.verdict(toolbox, name, {}).action, "error")
        self.session["tools"] = []
        self.assertEqual(self.verdict(toolbox, "calculator", {"expression": "1"}).action, "run")


class Results(Case):
    def given(self, content: Any, name: str = "weather", **more: Any) -> Any:
        job = ClientResult(self.call(name, {"city": "Bern"}), {"content": content, **more})
        return client_tools.result(self.session, job, 7)

    def test_what_the_model_reads_and_what_is_kept(self) -> None:
        text = {"type": "text", "text": "Sunny"}
        image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
        cases: list[tuple[Any, str]] = [
            ("Sunny", "Sunny"),
            ("", ""),
            (None, "done"),
            ({"c": 21}, '{"c":21}'),
            ([1, 2], "[1,2]"),
            ([], "[]"),
            ([text], "Sunny"),
            ([text, image, text], "Sunny\n[image_url]\nSunny"),
            ([{"type": "text", "text": 5}], "[text]"),
            ([{"type": 5}], '[{"type":5}]'),
        ]
        for content, said in cases:
            with self.subTest(content):
                event = self.given(content)
                self.assertEqual(event["content"], said)
                ours = event["metadata"]["yaa"]
                self.assertEqual((ours["state"], ours["name"]), ("done", "weather"))
                self.assertEqual(ours["result"], {"status": "ok", "result": content})
                self.assertNotIn("is_error", ours)

    def test_an_error(self) -> None:
        event = self.given("no network", is_error=True)
        ours = event["metadata"]["yaa"]
        self.assertEqual(event["content"], "Error: no network")
        self.assertEqual((ours["state"], ours["is_error"]), ("failed", True))
        self.assertEqual(ours["result"]["status"], "error")
        self.assertEqual(ours["result"]["error"]["message"], "no network")

    def test_repeated_failures_are_hinted_at_and_withheld_like_ours(self) -> None:
        call = self.call("weather", {"city": "Bern"})
        for number in range(3):
            made: Any = {**call, "id": f"f{number}"}
            failed = client_tools.result(
                self.session, ClientResult(made, {"content": "x", "is_error": True}), 1
            )
            ours = failed["metadata"]["yaa"]
            self.session["messages"] += [
                {"role": "assistant", "tool_calls": [made]},
                {"role": "tool", "tool_call_id": made["id"], "content": "", **ours},
            ]
        self.assertIn("withheld", failed["content"])
        verdict = self.verdict(self.toolbox(), "weather", {"city": "Bern"})
        self.assertEqual((verdict.action, verdict.status), ("error", "not_found"))

    def test_sizes(self) -> None:
        event = self.given("x" * (MAX_RESULT + 5))
        self.assertLess(len(event["content"]), MAX_TEXT + 100)
        kept = event["metadata"]["yaa"]["result"]["result"]
        self.assertLess(len(kept), MAX_RESULT + 100)
        self.assertIn("characters left out", kept)
        event = self.given({"a": ["y" * MAX_RESULT]})
        self.assertIsInstance(event["metadata"]["yaa"]["result"]["result"], str)
        event = self.given("z" * MAX_RESULT, is_error=True)
        self.assertLess(len(json.dumps(event)), 3 * MAX_TEXT)
        deep: Any = "x"
        for _ in range(90):
            deep = [deep]
        self.assertIn("nested deeper", json.dumps(self.given(deep)["metadata"]))

    def test_what_is_sent_carries_the_arguments_as_judged(self) -> None:
        event = client_tools.result(
            self.session, SendToClient(self.call("notify"), {"text": "Hi"}), 7
        )
        ours = event["metadata"]["yaa"]
        self.assertEqual(ours["state"], "done")
        self.assertEqual(
            ours["result"], {"status": "sent", "result": client_tools.SENT, "args": {"text": "Hi"}}
        )
        self.assertEqual(event["content"], client_tools.SENT)
        event = client_tools.result(
            self.session, SendToClient(self.call("notify"), {"id": 2**60}), 7
        )
        self.assertEqual(event["metadata"]["yaa"]["result"]["args"], {"id": str(2**60)})


if __name__ == "__main__":
    unittest.main()
