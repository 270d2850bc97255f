"""What a server has of its agents with the extension, and without it."""

from __future__ import annotations

import tempfile
import unittest
from pathlib import Path
from typing import Any

from server.app import App
from server.config import Config, ConfigError, load
from server.errors import Problem

BUILT_IN = ["coder", "default", "planner", "researcher"]


class Connected(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        self.home = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def load(self, **server: Any) -> Config:
        return load(self.home, None, {}, {}, given={"server": {"discover": False, **server}})

    async def app(self, **server: Any) -> App:
        live: Any = object()  # of which the parts need nothing
        app = App(self.load(**server), {}, live=live)
        self.addAsyncCleanup(app.close)
        return app

    async def test_with_it_and_without(self) -> None:
        only = "This server has no agent 'coder'. Known: default."
        for names, agents, saves, refusal in (
            (["agents"], BUILT_IN, True, ""),
            ([], ["default"], False, only),
        ):
            with self.subTest(names):
                app = await self.app(extensions=names)
                self.assertEqual(sorted(app.agents.usable()), agents)
                self.assertEqual("agent_save" in app.toolbox.nameable(), saves)
                self.assertEqual(app.agents.resolve({})["name"], "default")
                runs: Any = object()  # of which these routes need nothing
                routes = [key for part in app.parts.values() for key in part.settings_routes(runs)]
                self.assertEqual(("GET", "/settings/agents") in routes, saves)
                told = ""
                try:
                    self.assertTrue(app.agents.resolve({"agent": "coder"})["tools"])
                except Problem as problem:
                    told = problem.detail
                self.assertEqual(told, refusal)

    async def test_a_configured_folder_has_to_be_there(self) -> None:
        text = "server.agents_dir: there is no such folder"
        for name, problems in (("", []), ("mine", [text]), ("agents", [])):
            app = await self.app(agents_dir=name)
            with self.subTest(name):
                self.assertEqual(app.problems()["agents"], problems)
                self.assertEqual(app.facts("")["agent_problems"], problems)

    async def test_it_is_where_the_configuration_says(self) -> None:
        for name, folder in (("", "agents"), ("mine", "mine")):
            (self.home / folder).mkdir()
            (self.home / folder / f"of-{folder}.json").write_text("{}")
            app = await self.app(agents_dir=name)
            self.assertEqual(sorted(app.agents.usable()), sorted([*BUILT_IN, f"of-{folder}"]))

    def test_no_tool_may_change_it(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            work = Path(name)
            (work / "agents").mkdir()
            (self.home / "agents").symlink_to(work / "agents")
            for mode, given, refused in (
                ("write", str(work / "agents"), True),
                ("write", "", True),  # the home's is a link
                ("overlay", str(work / "agents"), False),
            ):
                folders = {"work": {"path": name, "mode": mode}}
                with self.subTest(mode, given=given):
                    if not refused:
                        self.load(agents_dir=given, folders=folders)
                        continue
                    with self.assertRaises(ConfigError) as caught:
                        self.load(agents_dir=given, folders=folders)
                    self.assertIn("the server loads that", str(caught.exception))


if __name__ == "__main__":
    unittest.main()
