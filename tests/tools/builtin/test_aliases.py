"""Tools for agents that name them: what they answer, and whose policy `bash` has."""

from __future__ import annotations

import unittest
from datetime import date
from typing import Any

from server.tools.builtin.aliases import city_datetime, mock_city_weather
from server.tools.decorators import Context, ToolError
from server.tools.toolbox import Toolbox

from ..test_toolbox import Case

CTX = Context({}, lambda _: None)


class Cities(unittest.TestCase):
    def test_zones(self) -> None:
        for city, zone in (
            ("Tokyo", "Asia/Tokyo"),
            (" new  YORK ", "America/New_York"),
            ("上海", "Asia/Shanghai"),
            ("Beijing", "Asia/Shanghai"),
            ("St. Petersburg", "Europe/Moscow"),
            ("Nairobi", "Africa/Nairobi"),
            ("Asia/Kolkata", "Asia/Kolkata"),
            ("Nowhere", "UTC"),
            ("", "UTC"),
            ("../../etc/passwd", "UTC"),
            ("/etc/localtime", "UTC"),
            ("a\x00b", "UTC"),
            ("\ud800", "UTC"),
        ):
            with self.subTest(city):
                found = city_datetime(CTX, city)
                self.assertEqual((found["city"], found["zone"]), (city, zone))
                date.fromisoformat(found["date"])

    def test_the_weather_is_the_same_for_the_same(self) -> None:
        one = mock_city_weather(CTX, "Tokyo", "2026-03-01")
        again = mock_city_weather(CTX, " tokyo", "2026-03-01T10:00:00")
        self.assertEqual((one["sky"], one["celsius"]), (again["sky"], again["celsius"]))
        self.assertEqual(again["date"], "2026-03-01")
        mock_city_weather(CTX, "\ud800", "2026-03-01")
        for day in ("tomorrow", "", "2026-02-30"):
            with self.assertRaises(ToolError):
                mock_city_weather(CTX, "x", day)


class Bash(Case):
    def setUp(self) -> None:
        super().setUp()
        self.session["config"]["agent"] = {"name": "a", "tools": ["Bash"]}

    def verdict(self, box: Toolbox, command: str = "ls") -> Any:
        return box.verdict(self.session, self.call("bash", {"command": command}))

    def offered(self, box: Toolbox) -> set[str]:
        return {tool["function"]["name"] for tool in box.declarations(self.session)}

    def test_only_for_an_agent_that_names_it(self) -> None:
        box = self.toolbox()
        for tools, there in ((["Bash"], True), (["b*"], False), (["*"], False), (None, False)):
            about = {} if tools is None else {"tools": tools}
            self.session["config"]["agent"] = {"name": "a", **about}
            self.assertEqual(self.verdict(box).action, "ask" if there else "error", tools)
        self.assertNotIn("bash", box.names())
        self.assertIn("bash", box.nameable())
        self.assertNotIn("bash", {each["name"] for each in box.info()})

    def test_what_is_said_of_shell_holds(self) -> None:
        self.assertEqual(self.verdict(self.toolbox(shell="deny")).action, "deny")
        box = self.toolbox()
        config, agent = self.session["config"], self.session["config"]["agent"]
        config["tool"] = {"bash": {"auto_approve": True}}
        self.assertEqual(self.verdict(box).action, "run")
        self.assertEqual(self.verdict(self.toolbox(shell="ask")).action, "ask")
        config["tool"] |= {"shell": {"deny": True}}
        self.assertEqual(self.verdict(box).action, "deny")
        config["tool"]["shell"] = {}
        agent["policy"] = {"shell": "ask", "bash": "auto"}
        self.assertEqual(self.verdict(box).action, "ask")
        agent["policy"]["shell"] = "deny"
        self.assertEqual(self.verdict(box).action, "deny")
        del agent["policy"]
        rule = {"tool": "shell", "match": {"command": "rm*"}, "decision": "deny"}
        self.session["grants"] = [rule]
        self.assertEqual(self.verdict(box, "rm -r .").action, "deny")
        self.assertEqual(self.verdict(box).action, "run")

    def test_hooks_know_it_as_shell(self) -> None:
        self.assertEqual(self.verdict(self.toolbox()).like, "shell")

    def test_a_page_that_has_one_keeps_it(self) -> None:
        box = self.toolbox()
        self.session["tools"] = [{"name": "bash", "parameters": {"type": "object"}}]
        box.admit(self.session)
        self.assertEqual(self.verdict(box).action, "client")
        self.session["tools"] = []
        self.assertEqual(self.verdict(box).action, "ask")

    async def test_an_owners_tool_of_the_name_comes_first(self) -> None:
        (self.home / "tools").mkdir()
        source = "from yaa import tool\n@tool(read_only=True)\ndef bash() -> int:\n    'One.'\n"
        (self.home / "tools" / "mine.py").write_text(source + "    return 1\n")
        box = self.toolbox()
        self.addAsyncCleanup(box.close)
        await box.open("none")
        await box.load_owner_tools()
        self.assertEqual(box.problems, [])
        verdict = box.verdict(self.session, self.call("bash", {}))
        self.assertEqual((verdict.action, verdict.like), ("run", ""))
        self.assertEqual([e["origin"] for e in box.info() if e["name"] == "bash"], ["mine.py"])
        self.assertNotIn("bash", {each["name"] for each in box.info_named()})

    async def test_it_runs(self) -> None:
        box = self.toolbox()
        self.addAsyncCleanup(box.close)
        await box.open("none")
        found = await self.execute(box, "bash", {"command": "echo 你好; exit 3"})
        result = found[-1]["metadata"]["yaa"]["result"]["result"]
        self.assertEqual(result, {"exit_code": 3, "output": "你好\n"})
        self.assertIn("bash", self.offered(box))


if __name__ == "__main__":
    unittest.main()
