"""Web search in a server: the tool, and what the page and the owner read of it."""

from __future__ import annotations

import copy
import json
import re
import tempfile
from pathlib import Path
from typing import Any
from unittest import IsolatedAsyncioTestCase

from server.app import App
from server.cli.serve import describe
from server.config import load

from ...tooling.tools import ROOT
from .. import needs

OWN = """from yaa import tool
@tool
def web_search(query: str) -> str:
    "Search our archive."
    return query
"""


class Parts(IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        self.home = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def app(self, flags: dict[str, Any]) -> App:
        return App(load(self.home, None, {}, flags | {"server.discover": False}), {})

    async def test_who_searches_the_web(self) -> None:
        """The page and the owner read what is used, or what is missing; the key is nowhere."""
        search = {"provider": "brave", "api_key": "canary-of-search"}
        cases: list[tuple[dict[str, Any], str, str, str]] = [
            ({}, "", "server.discover is off", "off"),
            ({"server.search.url": "http://127.0.0.1:1"}, "searxng", "of server.search.url", "ok"),
            ({f"server.search.{k}": v for k, v in search.items()}, "brave", "with its key", "ok"),
            ({"server.search.provider": "kagi"}, "", "needs a key", ""),
        ]
        for flags, provider, reason, mark in cases:
            with self.subTest(flags):
                async with self.app(flags) as app:
                    facts = app.facts("")
                    names = [tool["name"] for tool in facts["tools"]]
                    self.assertEqual("web_search" in names, provider != "")
                    self.assertEqual(facts["search"]["provider"], provider)
                    self.assertIn(reason, facts["search"]["reason"])
                    self.assertEqual(len(app.problems()["search"]), int(not mark))
                    checks = [each for each in app.checks() if each.name == "search"]
                    self.assertEqual([each.mark for each in checks], [mark] if mark else [])
                    told_at_start = [line for line in describe(app) if line.startswith("  search")]
                    wanted = [f"  search   {facts['search']['reason']}"] if mark == "ok" else []
                    self.assertEqual(told_at_start, wanted)
                    self.assertEqual("web_search" in self.offered(app), provider != "")
                    self.assertIn("fetch_url", self.offered(app))
                    self.assertNotIn("canary", json.dumps(facts))

    def offered(self, app: App) -> list[str]:
        """The tools of the agent that searches."""
        session: Any = copy.deepcopy(app.config.session)
        session |= {"messages": [], "grants": [], "calls": {}, "interrupts": []}
        session["config"]["agent"] = {"name": "finder", "tools": ["web_search", "fetch_url"]}
        return [each["function"]["name"] for each in app.toolbox.declarations(session)]

    @needs("agents")
    async def test_agents_may_name_it_where_it_is_not_there(self) -> None:
        (self.home / "agents").mkdir(mode=0o700)
        text = '{"tools": ["web_search"], "policy": {"web_search": "auto"}}'
        (self.home / "agents" / "finder.json").write_text(text)
        async with self.app({}) as app:
            self.assertEqual(app.agent_problems(), [])

    async def test_the_owners_own_tool_of_that_name_stays(self) -> None:
        (self.home / "tools").mkdir(mode=0o700)
        (self.home / "tools" / "archive.py").write_text(OWN)
        flags = {"server.search.url": "http://127.0.0.1:1", "server.sandbox.require": "none"}
        async with self.app(flags) as app:
            (one,) = [each for each in app.toolbox.info() if each["name"] == "web_search"]
            self.assertEqual(one["description"], "Search our archive.")
            self.assertEqual([*app.toolbox.problems], [])

    def test_people_read_what_it_is_for(self) -> None:
        page = (ROOT / "client/js/i18n/settings.js").read_text()
        texts = re.findall(r"'settings.toolAbout': .*?other \{\}\}'", page, re.DOTALL)
        self.assertEqual(["web_search {" in text for text in texts], [True, True])
