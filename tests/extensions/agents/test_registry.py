"""Agents from files: replaced, added, broken and mended while the server runs."""

from __future__ import annotations

import json
import os
import tempfile
import unittest
from pathlib import Path
from typing import Any

from server.errors import Problem
from server.extensions.agents.folders import AgentFolders
from server.extensions.agents.registry import AgentRegistry
from server.session.agent_definition import MAX_FILE


class Case(unittest.TestCase):
    """A folder of definitions, and the agents in it."""

    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)
        self.agents = AgentRegistry(self.folder)
        self.writes = 0

    def write(self, name: str, value: Any) -> None:
        """A file as an editor leaves it, at another time than all before."""
        text = value if isinstance(value, bytes | str) else json.dumps(value)
        path = self.folder / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        self.writes += 1
        os.utime(path, ns=(self.writes * 10**9, self.writes * 10**9))

    def resolved(self, name: str | None, **more: Any) -> Any:
        return self.agents.resolve({**more, **({} if name is None else {"agent": name})})

    def refused(self, session: dict[str, Any]) -> Problem:
        with self.assertRaises(Problem) as caught:
            self.agents.resolve(session)
        return caught.exception


class Folder(Case):
    def test_the_built_in_ones(self) -> None:
        listed = self.agents.info()
        names = [item["name"] for item in listed]
        self.assertEqual(sorted(names), ["coder", "default", "planner", "researcher"])
        self.assertEqual([n for n in listed if n.get("default")], listed[:1])
        self.assertEqual({item["origin"] for item in listed}, {"built in"})
        self.assertTrue(all(item["description"] for item in listed))
        self.assertEqual(self.agents.problems(), [])
        self.assertEqual(self.resolved("planner")["mode"], "plan_execute")
        self.assertNotIn("write_file", self.resolved("researcher")["tools"])

    def test_when_each_was_written(self) -> None:
        self.write("mine.json", {"description": "mine"})
        self.write("coder.json", {"description": "mine too"})
        self.write("broken.json", "{")
        found = {name: each.written for name, each in self.agents.usable().items()}
        self.assertEqual((found["mine"], found["coder"]), (1, 2))
        self.assertGreater(found["default"], 1_600_000_000)
        self.assertEqual(set(found), {item["name"] for item in self.agents.info()})

    def test_without_a_name_it_is_the_configured_one(self) -> None:
        for name in (None, "", "auto"):
            self.assertEqual(self.resolved(name)["name"], "default")
        self.write("aaa.json", {"description": "first of the alphabet"})
        self.assertEqual(self.resolved(None)["name"], "default")
        self.write("mine.json", {"description": "mine"})
        self.agents = AgentRegistry(self.folder, "mine")
        self.assertEqual(self.resolved(None)["description"], "mine")
        self.assertEqual(self.agents.info()[0]["name"], "mine")

    def test_a_file_adds_replaces_changes_and_goes(self) -> None:
        self.write("pirate.json", {"systemPrompt": "arr"})
        self.write("coder.json", {"description": "mine"})
        self.assertEqual(self.resolved("pirate"), {"systemPrompt": "arr", "name": "pirate"})
        self.assertEqual(self.resolved("coder"), {"description": "mine", "name": "coder"})
        origin = {item["name"]: item["origin"] for item in self.agents.info()}
        self.assertEqual((origin["coder"], origin["planner"]), ("home", "built in"))
        self.write("pirate.json", {"systemPrompt": "ahoy"})
        self.assertEqual(self.resolved("pirate")["systemPrompt"], "ahoy")
        for name in ("pirate.json", "coder.json"):
            (self.folder / name).unlink()
        self.assertIn("programmer", self.resolved("coder")["systemPrompt"])
        self.assertEqual(self.refused({"agent": "pirate"}).code, "agent_unknown")

    def test_what_is_broken_is_told_and_the_old_one_kept(self) -> None:
        good = {"systemPrompt": "arr"}
        broken: list[tuple[Any, str]] = [
            ('{"systemPrompt": "arr"', "line 1, column"),
            ('{\n"tools": """\na\nb\n""",\n"x": ?}', "line 6, column 6"),
            (b'{"description": "\xff"}', "it is not UTF-8"),
            (b" " * (MAX_FILE + 1), "it is larger than"),
            ([], "expected an object"),
            ({"systemPromt": "arr"}, 'did you mean "systemPrompt"'),
            ({"mode": "fast"}, "/mode"),
            ({"tools": "shell"}, "/tools"),
            ({"policy": {"shell": "allow"}}, "/policy/shell"),
            ({"limits": {"max_steps": -1}}, "/limits/max_steps"),
            ({"limits": {"steps": 1}}, "/limits/steps"),
            ({"prompt": {"rulez": "x"}}, "/prompt/rulez"),
            ({"output_schema": {"type": "objct"}}, "/output_schema"),
            ({"systemPrompt": ["a", 1]}, "/systemPrompt"),
        ]
        for value, said in broken:
            with self.subTest(said):
                self.write("pirate.json", good)
                self.assertEqual((self.resolved("pirate")["systemPrompt"]), "arr")
                self.assertEqual(self.agents.problems(), [])
                with self.assertLogs("yaa.agents", "WARNING"):
                    self.write("pirate.json", value)
                    self.assertEqual(self.resolved("pirate")["systemPrompt"], "arr")
                told = self.agents.problems()
                self.assertTrue(told[0].startswith("agents/pirate.json: "), told)
                self.assertIn(said, told[0])
                self.assertNotIn(str(self.folder), told[0])
        self.assertIn("pirate", [item["name"] for item in self.agents.info()])

    def test_a_file_that_was_never_good_is_no_agent(self) -> None:
        self.write("a b.json", {})
        self.write("broken.json", "{")
        self.write(".hidden.json", "{")
        self.write("notes.txt", "{")
        (self.folder / "folder.json").mkdir()
        (self.folder / "gone.json").symlink_to(self.folder / "nowhere")
        names = [item["name"] for item in self.agents.info()]
        self.assertEqual(sorted(names), ["coder", "default", "planner", "researcher"])
        told = sorted(line.partition(":")[0] for line in self.agents.problems())
        self.assertEqual(told, ["agents/a b.json", "agents/broken.json", "agents/folder.json"])

    def test_names_have_capitals(self) -> None:
        self.write("MyAgent.json", {"description": "Mine."})
        self.assertEqual(self.agents.resolve({"agent": "MyAgent"})["description"], "Mine.")

    def test_a_default_that_is_not_there_is_told(self) -> None:
        self.assertIn("there is no such agent", AgentRegistry(self.folder, "mine").problems()[0])

    def test_three_quotes_and_lines_mean_the_same(self) -> None:
        wanted = 'You are\n  a "pirate". \\o/\n'
        self.write(
            "a.json", '{"systemPrompt": """\nYou are\n  a "pirate". \\o/\n\n""", "mode": "plain"}'
        )
        self.write("b.json", {"systemPrompt": wanted.split("\n"), "mode": "PLAIN"})
        self.write("c.json", b"\xef\xbb\xbf" + json.dumps({"system_prompt": wanted}).encode())
        for name in "abc":
            self.assertEqual(self.resolved(name)["systemPrompt"], wanted)
        self.assertEqual(self.resolved("a")["mode"], self.resolved("b")["mode"])

    def test_a_file_of_seed_001(self) -> None:
        self.write(
            "weather.json",
            {
                "description": "描述",
                "providerType": "BAILIAN",
                "model": "qwen3-max",
                "systemPrompt": "系统提示词",
                "mode": "RE_ACT",
                "tools": ["bash", "city_datetime"],
            },
        )
        found = self.resolved("weather")
        self.assertEqual((found["provider"], found["mode"]), ("bailian", "react"))
        self.assertEqual(found["limits"], {"max_steps": 6})

    def test_an_unknown_one_is_a_clear_422(self) -> None:
        problem = self.refused({"agent": "coderr"})
        self.assertEqual((problem.code, problem.status), ("agent_unknown", 422))
        self.assertIn("Did you mean 'coder'?", problem.detail)
        self.assertEqual(problem.errors[0]["pointer"], "/agent")
        self.assertLess(len(self.refused({"agent": "x" * 100_000}).detail), 300)

    def test_a_copy_goes_on_where_the_file_is_not(self) -> None:
        brought = {"name": "far", "systemPrompt": "from afar", "mode": "react"}
        session = {"agent": "far", "config": {"agent": brought}}
        found = self.agents.resolve(session)
        self.assertEqual(found, {**brought, "limits": {"max_steps": 6}})
        self.assertEqual(self.agents.resolve({"agent": "far", "config": {"agent": found}}), found)
        self.write("far.json", {"systemPrompt": "mine"})
        self.assertEqual(self.agents.resolve(session)["systemPrompt"], "mine")

    def test_a_copy_is_a_strangers(self) -> None:
        for brought, code, pointer in (
            ({"name": "near"}, "agent_unknown", "/agent"),
            ({"name": "far", "mode": 1}, "session_invalid", "/config/agent/mode"),
            ({"name": "far", "tools": {"x": 1}}, "session_invalid", "/config/agent/tools"),
        ):
            problem = self.refused({"agent": "far", "config": {"agent": brought}})
            self.assertEqual((problem.code, problem.errors[0]["pointer"]), (code, pointer))
        bad = {"agent": "../far", "config": {"agent": {"name": "../far"}}}
        self.assertEqual(self.refused(bad).code, "session_invalid")

    def test_a_copy_only_narrows(self) -> None:
        self.agents = AgentRegistry(self.folder, limits={"max_steps": 20, "max_tokens": None})
        policy = {"shell": "auto", "python": "ask", "fetch_url": "deny", "odd\u2028": "auto"}
        limits = {"max_steps": 21, "max_tokens": 10**9, "max_wall_s": 5}
        brought = {"name": "far", "policy": policy, "limits": limits}
        session = {"agent": "far", "config": {"agent": brought}}
        found, remarks = self.agents.resolve_with_warnings(session)
        self.assertEqual(found["policy"], {"python": "ask", "fetch_url": "deny"})
        self.assertEqual(found["limits"], {"max_tokens": 10**9, "max_wall_s": 5})
        (remark,) = remarks
        self.assertEqual(remark["code"], "agent_narrowed")
        left_out = ["policy.shell", "policy.odd\u2028", "limits.max_steps"]
        self.assertEqual(remark["left_out"], left_out)
        self.assertIn("policy.shell", remark["message"])
        again = {"agent": "far", "config": {"agent": found}}
        self.assertEqual(self.agents.resolve_with_warnings(again), (found, []))
        brought["limits"] = {"max_steps": 20}
        self.assertEqual(self.agents.resolve(session)["limits"], {"max_steps": 20}, "no more")
        brought["limits"] = {"max_steps": None}
        self.assertEqual(self.agents.resolve(session)["limits"], {}, "no limit is more than one")
        brought |= {"policy": {str(n): "auto" for n in range(5000)}, "limits": {}}
        (remark,) = self.agents.resolve_with_warnings(session)[1]
        self.assertLess(len(remark["message"]), 1000)

    def test_a_copy_replaces_no_agent_of_this_server(self) -> None:
        """By no spelling of its name, and not where its file is broken."""
        self.write("mine.json", {"policy": {"shell": "deny"}})
        for name in ("default", "auto", "", "coder", "mine"):
            brought = {"name": name, "policy": {"shell": "auto"}}
            found, remarks = self.agents.resolve_with_warnings(
                {"agent": name, "config": {"agent": brought}}
            )
            self.assertNotEqual(found.get("policy", {}).get("shell"), "auto", name)
            self.assertEqual(remarks, [])
        codes = {"Default": "agent_unknown", "MINE": "agent_unknown"}
        for name in (*codes, "mine ", "mi\u200bne", "ｍine"):
            brought = {"name": name, "policy": {"shell": "auto"}}
            problem = self.refused({"agent": name, "config": {"agent": brought}})
            self.assertEqual(problem.code, codes.get(name, "session_invalid"), name)
        with self.assertLogs("yaa.agents", "WARNING"):
            self.write("strict.json", '{"policy": {"shell": "deny"},}')
            brought = {"name": "strict"}
            problem = self.refused({"agent": "strict", "config": {"agent": brought}})
        self.assertEqual(problem.code, "agent_unknown")

    def test_what_is_given_away_is_a_copy(self) -> None:
        self.resolved("coder")["tools"].clear()
        self.assertTrue(self.resolved("coder")["tools"])

    def test_a_placeholder_that_means_nothing_is_told(self) -> None:
        self.write("odd.json", {"prompt": {"rules": "{caracter}"}})
        self.assertIn("{caracter}", self.agents.problems()[0])
        self.assertEqual(self.resolved("odd")["name"], "odd")

    def test_a_tool_that_is_not_there_is_told(self) -> None:
        tools = ["shell", "read_file", "mcp__notes__read"]
        self.write("fine.json", {"tools": ["SHELL", "mcp__notes__*"], "policy": {"notify": "deny"}})
        self.assertEqual(self.agents.problems(tools), [])
        self.write("odd.json", {"tools": ["shel", "mcp__mail__*"], "policy": {"read_fil": "deny"}})
        self.assertEqual(
            self.agents.problems(tools),
            [
                "agents/odd.json: /tools: there is no tool 'shel'; did you mean 'shell'?",
                "agents/odd.json: /tools: there is no tool 'mcp__mail__*'",
                "agents/odd.json: /policy: there is no tool 'read_fil'; did you mean 'read_file'?",
            ],
        )
        self.assertEqual(self.resolved("odd")["name"], "odd", "it can be used all the same")
        self.assertEqual(self.agents.problems([*tools, "shel", "mcp__mail__send", "read_fil"]), [])

    def test_each_key_has_its_own_beside_those_of_the_owner(self) -> None:
        self.write("team.json", {"description": "of the owner"})
        agents = AgentRegistry(self.folder, owners=("", "carol"))
        for owner in ("bob", "../bob", "", "carol", "key-0123456789abcdef", "\ud800"):
            with self.subTest(owner=owner.encode(errors="replace")):
                folder = AgentFolders(self.folder, ("", "carol")).of(owner)[0]
                folder.mkdir(exist_ok=True)
                name = f"own-{len(list(self.folder.iterdir()))}"
                (folder / f"{name}.json").write_text('{"description": "mine"}')
                (folder / "broken.json").write_text("{")
                trusted = owner in ("", "carol")
                self.assertEqual(folder.parent, self.folder.parent if trusted else self.folder)
                listed = {item["name"]: item["origin"] for item in agents.info(owner)}
                self.assertEqual(listed[name], "home" if trusted else "key")
                self.assertEqual((listed["team"], listed["default"]), ("home", "built in"))
                self.assertIn("broken.json", str(agents.problems(owner=owner)))
                for other in ("ann", "carol", "key-1"):
                    sees = trusted or other == owner
                    self.assertEqual(name in agents.usable(other), sees)
                    self.assertEqual("broken.json" in str(agents.problems(owner=other)), sees)
                    if not sees:
                        with self.assertRaises(Problem) as caught:
                            agents.resolve({"agent": name}, other)
                        self.assertNotIn(name, caught.exception.detail.partition("Known:")[2])
                (folder / f"{name}.json").unlink()
                (folder / "broken.json").unlink()

    def test_a_folder_that_is_not_there(self) -> None:
        agents = AgentRegistry(self.folder / "nowhere")
        self.assertEqual(len(agents.info()), 4)


if __name__ == "__main__":
    unittest.main()
