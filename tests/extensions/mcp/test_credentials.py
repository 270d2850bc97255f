"""A server that repeats its credential in every text: nobody reads it anywhere."""

from __future__ import annotations

import json
import logging
import sys
import unittest
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

from server.errors import Problem
from server.extensions.mcp.library import McpLibrary
from server.extensions.mcp.servers import McpServers, McpTool
from server.lib.http.client import Client

SCRIPT = str(Path(__file__).parents[2] / "tools" / "mcp_parrot.py")
TOKEN = "tok-A1b2C3d4E5f6G7h8I9"
LIMITS = {"wall_s": 10.0, "output_kb": 64}


class Parrot(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        logging.disable(logging.CRITICAL)
        self.addCleanup(logging.disable, logging.NOTSET)
        self.client = Client()
        self.addAsyncCleanup(self.client.close)
        entry = {"command": sys.executable, "args": [SCRIPT], "env": {"SERVICE_TOKEN": TOKEN}}
        self.entry: dict[str, Any] = {**entry, "skills": ["*"]}
        self.servers = McpServers({"s": self.entry}, self.client)
        self.library = McpLibrary(self.servers)
        self.addAsyncCleanup(self.library.close)
        self.tools: list[McpTool] = []
        await self.servers.load(lambda _, listed: self.tools.extend(listed))

    def assert_clean(self, value: Any) -> None:
        self.assertNotIn(
            TOKEN, value if isinstance(value, str) else json.dumps(value, default=vars)
        )

    async def test_what_it_lists(self) -> None:
        self.assertGreaterEqual(len(self.tools), 3)
        for tool in self.tools:
            self.assert_clean(
                [tool.name, tool.listed_name, tool.description, tool.parameters, tool.origin]
            )
        say = next(each for each in self.tools if each.listed_name == "say")
        self.assertEqual(say.description, "Says ***")
        self.assertIn("***", say.parameters["properties"])
        self.assertTrue(self.servers.problems, "one of its skills cannot be used")
        self.assert_clean(self.servers.problems)
        found = await self.library.lists("resources", "templates")
        found += await self.library.lists("prompts")
        self.assertEqual(len(found), 2)
        self.assert_clean(found)
        [(name, skill)] = self.library.skills.found().items()
        self.assert_clean([name, skill.description, skill.frontmatter])

    async def test_what_it_says_when_it_is_asked(self) -> None:
        async def said(asked: Awaitable[Any]) -> Any:
            try:
                return await asked
            except Problem as problem:
                return [problem.detail]

        library, prompt = self.library, {"type": "ref/prompt", "name": "p"}
        skill = library.skills.found()["s:parrot"]
        for asked in (
            library.read("s", "note:///it"),
            library.read("s", "note:///none"),
            library.prompt("s", "p", {}),
            library.prompt("s", "none", {}),
            library.complete("s", prompt, {"name": "a", "value": "x"}, {}),
            library.complete("s", prompt, {"name": "a", "value": "refusal"}, {}),
        ):
            answer = await said(asked)
            self.assertTrue(answer)
            self.assert_clean(answer)
        for args in ({}, {"uri": "note:///it"}, {"uri": "note:///none"}):
            found = await library.outcome("s", args, LIMITS)
            self.assert_clean([found.result, found.error, found.text, found.media])
        _, about = await library.skills.load(skill)
        self.assertIn("Use ***.", about.text)
        self.assert_clean([about.text, await library.skills.read(skill, "SKILL.md")])

    async def test_what_a_call_brings(self) -> None:
        say = next(each for each in self.tools if each.listed_name == "say")
        heard: list[Any] = []
        for how in ("result", "structured", "error", "refusal", "question"):
            with self.subTest(how):
                found: Any = await self.servers.call(say, {"how": how}, None, LIMITS, heard.append)
                shown = vars(found)
                self.assertIn("***", json.dumps(shown, default=vars))
                self.assert_clean(shown)
        self.assertTrue(heard)
        self.assert_clean(heard)


if __name__ == "__main__":
    unittest.main()
