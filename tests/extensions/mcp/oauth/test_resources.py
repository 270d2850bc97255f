"""Resources of a server that wants a sign-in: an ended one is a question, and then it goes on."""

from __future__ import annotations

import unittest
from typing import Any

from server.errors import Problem
from server.extensions.mcp.library import McpLibrary
from server.tools.base import Invocation, ToolQuestion

from . import test_access

LIMITS = {"wall_s": 20.0, "output_kb": 64.0}


class Resources(test_access.Case):
    async def run_tool(self, tool: Any, question: Any = None) -> Any:
        ledger: Any = {"input": question} if question else {}
        session: Any = {}
        call = Invocation(session, {"uri": "note:///a"}, ledger, LIMITS, "", lambda name: name)
        return await tool.run(call, lambda _: None)

    async def test_a_sign_in_that_has_ended(self) -> None:
        servers = self.servers()
        library = McpLibrary(servers)
        await self.sign_in(servers)
        tool = (await self.tools(servers))[""]
        self.assertEqual((await self.run_tool(tool)).text, "a, ***")
        self.world.revoke()
        asked = await self.run_tool(tool)
        assert isinstance(asked, ToolQuestion), asked
        self.assertEqual(asked.input["sign_in"], "s")
        with self.assertRaises(Problem) as caught:
            await library.read("s", "note:///a")
        self.assertIn("it wants a sign-in", caught.exception.detail)
        refused = await self.run_tool(tool, {**asked.input, "refused": "decline"})
        self.assertIn("nobody signed in", refused.error["message"])
        await self.sign_in(servers)
        done = await self.run_tool(tool, {**asked.input, "answer": {"action": "signed_in"}})
        self.assertEqual(done.text, "a, ***")


if __name__ == "__main__":
    unittest.main()
