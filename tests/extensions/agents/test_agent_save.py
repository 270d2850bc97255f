"""Agents that a model writes: checked, whole, under a name that is only a name."""

from __future__ import annotations

import asyncio
import copy
import json
import shutil
import tempfile
import unittest
from pathlib import Path
from typing import Any

from server.config import Config
from server.errors import Problem
from server.extensions.agents.agent_save import MOST, AgentSaveTool, agent_save, save
from server.extensions.agents.folders import AgentFolders
from server.extensions.agents.registry import AgentRegistry
from server.session.agent_definition import MAX_FILE
from server.tools.toolbox import Toolbox

from ...fakes import DEFAULTS, events_of


class Saving(unittest.TestCase):
    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.home = Path(holder.name)
        self.folder = self.home / "agents"
        self.folders = AgentFolders(self.folder)

    def files(self) -> list[str]:
        return sorted(str(p.relative_to(self.home)) for p in self.home.rglob("*") if p.is_file())

    def test_saved_is_an_agent_at_once(self) -> None:
        agents = AgentRegistry(self.folder)
        with self.assertRaises(Problem):
            agents.resolve({"agent": "pirate"})
        wanted = {"systemPrompt": "Arr. ☠\n", "mode": "RE_ACT", "tools": ["shell"]}
        found = save([self.folder], "pirate", wanted)
        self.assertEqual(
            (found.status, found.result), ("ok", {"agent": "pirate", "replaced": False})
        )
        self.assertEqual(agents.resolve({"agent": "pirate"})["systemPrompt"], "Arr. ☠\n")
        self.assertEqual(agents.problems(), [])
        self.assertEqual(self.files(), ["agents/pirate.json"])
        self.assertEqual((self.folder / "pirate.json").stat().st_mode & 0o777, 0o600)

    def test_replaced_only_when_asked_to(self) -> None:
        save([self.folder], "a", {"description": "1"})
        refused = save([self.folder], "a", {"description": "2"})
        self.assertEqual(refused.status, "error")
        self.assertIn("replace", refused.error["message"])
        self.assertIn('"1"', (self.folder / "a.json").read_text())
        self.assertEqual(save([self.folder], "a", {"description": "3"}, replace=True).status, "ok")
        self.assertIn('"3"', (self.folder / "a.json").read_text())
        self.assertEqual(self.files(), ["agents/a.json"])

    def test_what_the_owner_forbade_outlives_a_replacement(self) -> None:
        """Whoever approves the new file sees what it says, not what it leaves out."""
        self.folder.mkdir()
        owners = {"shell": "deny", "fetch_url": "ask", "calculator": "auto", "read_file": "deny"}
        (self.folder / "a.json").write_text(json.dumps({"policy": owners}))
        new = {"policy": {"shell": "ask", "read_file": "deny", "write_file": "ask"}}
        found = save([self.folder], "a", new, replace=True)
        self.assertIn("shell: deny, fetch_url: ask.", found.text or "")
        policy = json.loads((self.folder / "a.json").read_text())["policy"]
        self.assertEqual(
            policy,
            {"shell": "deny", "fetch_url": "ask", "read_file": "deny", "write_file": "ask"},
        )
        self.assertEqual(save([self.folder], "a", {"mode": "plain"}, replace=True).status, "ok")
        self.assertEqual(json.loads((self.folder / "a.json").read_text())["policy"], policy)

    def test_a_policy_that_cannot_be_read_is_not_replaced(self) -> None:
        self.folder.mkdir()
        path = self.folder / "a.json"
        for text in ("{", "[]", '{"policy": {"shell": "never"}}', " " * (MAX_FILE + 1)):
            with self.subTest(text=text[:40]):
                path.write_text(text)
                found = save([self.folder], "a", {}, replace=True)
                self.assertIn("what a.json forbids cannot be read", found.error["message"])
                self.assertEqual(path.read_text(), text)

    def test_a_name_that_is_taken_anywhere_is_only_replaced(self) -> None:
        """By the owner an agent of the server's, by another key those and the owner's."""
        for owner, name in (("", "default"), ("bob", "default"), ("bob", "team")):
            with self.subTest(owner=owner, name=name):
                folders = self.folders.of(owner)
                save(self.folders.of(""), "team", {"description": "by the owner"})
                refused = save(folders, name, {"description": "new"})
                self.assertIn(f"there is an agent {name} already", refused.error["message"])
                self.assertFalse((folders[0] / f"{name}.json").exists())
                found = save(folders, name, {"description": "new"}, replace=True)
                self.assertEqual(found.result, {"agent": name, "replaced": True})
                agents = AgentRegistry(self.folder)
                self.assertEqual(agents.resolve({"agent": name}, owner)["description"], "new")
                told = agents.resolve({"agent": name}, "somebody")["description"]
                self.assertEqual(told == "new", owner == "")
                shutil.rmtree(self.folder)

    def test_what_the_one_below_forbade_stays_forbidden(self) -> None:
        """Also where that file has its prompt between three quotes."""
        self.folder.mkdir()
        (self.folder / "team.json").write_text(
            '{"systemPrompt": """\nsay "hi"\n""", "policy": {"shell": "deny", "python": "auto"}}'
        )
        found = save(self.folders.of("bob"), "team", {"policy": {"python": "ask"}}, replace=True)
        self.assertIn("shell: deny", found.text)
        policy = AgentRegistry(self.folder).resolve({"agent": "team"}, "bob")["policy"]
        self.assertEqual(policy, {"shell": "deny", "python": "ask"})
        self.assertEqual(save(self.folders.of(""), "coder", {}, replace=True).status, "ok")

    def test_no_more_than_so_many(self) -> None:
        folders = self.folders.of("bob")
        for number in range(MOST):
            self.assertEqual(save(folders, f"a{number}", {}).status, "ok")
        refused = save(folders, "one-more", {})
        self.assertIn(f"there are {MOST} agents already", refused.error["message"])
        self.assertEqual(save(folders, "default", {}, replace=True).status, "error")
        self.assertEqual(save(folders, "a0", {}, replace=True).status, "ok")
        self.assertEqual(save(self.folders.of("ann"), "one-more", {}).status, "ok")

    def test_a_link_is_replaced_and_not_followed(self) -> None:
        other = self.home / "config.json"
        other.write_text("{}")
        self.folder.mkdir()
        (self.folder / "a.json").symlink_to(other)
        self.assertEqual(save([self.folder], "a", {}).status, "error")
        self.assertEqual(save([self.folder], "a", {}, replace=True).status, "ok")
        self.assertEqual(other.read_text(), "{}")

    def test_refused_with_everything_named_and_nothing_written(self) -> None:
        cases: list[tuple[str, dict[str, Any], list[str]]] = [
            ("../config", {}, ["an agent's name"]),
            ("a/b", {}, ["an agent's name"]),
            ("", {}, ["an agent's name"]),
            ("a\0", {}, ["an agent's name"]),
            ("a", {"mode": "fast", "tool": []}, ["/mode", "/tool"]),
            ("a", {"systemPrompt": "@notes.md"}, ["write out what @notes.md says"]),
            ("a", {"prompt": {"rules": "@../x.txt"}}, ["write out what @../x.txt says"]),
            ("a", {"policy": {"shell": "auto", "rm": "ask"}}, ["only the owner may let shell run"]),
            ("a", {"systemPrompt": "\ud800"}, ["surrogate"]),
            (
                "a",
                {"prompt": dict.fromkeys(("rules", "mode", "agent"), "日" * 150_000)},
                ["larger"],
            ),
        ]
        for name, definition, said in cases:
            with self.subTest(said):
                found = save([self.folder], name, definition)
                self.assertEqual(found.status, "error")
                for part in said:
                    self.assertIn(part, found.error["message"])
                self.assertNotIn(str(self.home), found.error["message"])
                self.assertEqual(self.files(), [])

    def test_a_folder_that_cannot_be_written(self) -> None:
        self.folder.write_text("a file")
        found = save([self.folder], "a", {})
        self.assertEqual(found.status, "error")
        self.assertIn("cannot be written", found.error["message"])
        self.assertNotIn(str(self.home), found.error["message"])

    def test_it_asks_first(self) -> None:
        toolbox = Toolbox(Config(DEFAULTS["server"], DEFAULTS["session"], self.home))
        toolbox.add([AgentSaveTool.of(agent_save, agents=self.folders)])
        session: Any = {"id": "s", "messages": [], "grants": [], "calls": {}}
        session["config"] = copy.deepcopy(DEFAULTS["session"]["config"])
        arguments = json.dumps({"name": "a", "definition": {"mode": "plain"}})
        call: Any = {"id": "c", "function": {"name": "agent_save", "arguments": arguments}}
        verdict = toolbox.verdict(session, call)
        self.assertEqual(verdict.action, "ask")
        self.assertEqual(verdict.args, {"name": "a", "definition": {"mode": "plain"}})

        async def run() -> list[Any]:
            return await events_of(toolbox, session, call, verdict.args or {}, {})

        (result,) = asyncio.run(run())
        self.assertIn("The agent a is saved", result["content"])
        self.assertEqual(self.files(), ["agents/a.json"])
        session["config"]["agent"] = {"name": "coder", "tools": ["shell"]}
        self.assertEqual(toolbox.verdict(session, call).action, "deny")


if __name__ == "__main__":
    unittest.main()
