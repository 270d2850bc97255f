"""A run whose MCP server wants a sign-in in the middle of it: it stops and goes on afterwards, here
and at another server."""

from __future__ import annotations

import copy
import json
import logging
import tempfile
import unittest
from contextlib import aclosing
from pathlib import Path
from typing import Any

from server.config import Config
from server.lib.http.client import Client
from server.tools.toolbox import Toolbox

from ... import fakes
from ...tools.mcp_sign_in_server import REDIRECT, World
from .made import accounts_of, toolbox_of

TOOL = "mcp__notes__note"


def script(messages: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    if messages[-1]["role"] == "tool":
        return [("text", f"done: {messages[-1]['content']}")]
    return [("call", TOOL, '{"text": "milk"}')]


class Run(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        logging.disable(logging.CRITICAL)
        self.addCleanup(logging.disable, logging.NOTSET)
        self.world = World()
        await self.world.start()
        self.addAsyncCleanup(self.world.close)
        self.client = Client()
        self.addAsyncCleanup(self.client.close)

    async def host(self) -> Any:
        """A server with a home folder of its own: its toolbox and its agent."""
        home = Path(self.enterContext(tempfile.TemporaryDirectory()))
        server = copy.deepcopy(fakes.DEFAULTS["server"])
        server["mcpServers"] = {"notes": {"url": self.world.url}}
        toolbox = toolbox_of(Config(server, fakes.DEFAULTS["session"], home), self.client)
        self.addAsyncCleanup(toolbox.close)
        await toolbox.load_owner_tools()
        model = fakes.ScriptedModel(script)
        return toolbox, fakes.agent(model, toolbox, claims=fakes.MemoryClaims())  # type: ignore[arg-type]

    async def sign_in(self, toolbox: Toolbox) -> None:
        begun = await accounts_of(toolbox).begin("notes", REDIRECT)
        await accounts_of(toolbox).finish(await self.world.browse(begun.url))
        await toolbox.load_owner_tools()

    async def play(self, agent: Any, document: Any) -> Any:
        run = agent.prepare(json.loads(json.dumps(document)))
        async with aclosing(run.events()) as source:
            async for _ in source:
                pass
        return json.loads(json.dumps(run.session))

    def reasons(self, session: Any) -> list[str]:
        return [each["reason"] for each in session["interrupts"]]

    def document(self, *, approved: bool = True, unattended: bool = False) -> Any:
        config: dict[str, Any] = {"tool": {TOOL: {"auto_approve": True}} if approved else {}}
        if unattended:
            config["yaa"] = {"unattended": True}
        return {"id": "s1", "messages": [fakes.user("go")], "config": config}

    def last_words(self, session: Any) -> str:
        return str(session["messages"][-1]["content"])

    async def test_the_run_goes_on_after_a_sign_in(self) -> None:
        toolbox, agent = await self.host()
        await self.sign_in(toolbox)
        self.world.revoke()
        asked = await self.play(agent, self.document())
        self.assertEqual(self.reasons(asked), ["mcp_sign_in"])
        [interrupt] = asked["interrupts"]
        self.assertEqual((interrupt["server"], asked["status"]), ("notes", "interrupted"))
        told = ": python3 -m server mcp login notes, or in the page. Then go on."
        self.assertIn(told, interrupt["message"])
        self.assertEqual(self.world.calls, [])
        fakes.answer(asked, "mcp_sign_in", {"action": "retry"})
        again = await self.play(agent, asked)
        self.assertEqual(self.reasons(again), ["mcp_sign_in"], "nobody has signed in")
        await self.sign_in(toolbox)
        fakes.answer(again, "mcp_sign_in", {"action": "retry"})
        done = await self.play(agent, again)
        self.assertEqual((done["status"], self.reasons(done)), ("completed", []))
        self.assertEqual(self.world.calls, ["milk"])
        self.assertEqual(self.last_words(done), "done: noted milk ***")

    async def test_the_run_goes_on_at_another_server_after_a_sign_in_there(self) -> None:
        for approved, signs_in_first, wanted in (
            (True, True, []),
            (True, False, ["mcp_sign_in"]),
            (False, True, ["tool_call"]),
            (False, False, ["tool_call", "mcp_sign_in"]),
        ):
            with self.subTest(approved=approved, signs_in_first=signs_in_first):
                self.world.calls.clear()
                session = await self.session_that_waits(approved=approved)
                other, there = await self.host()
                if signs_in_first:
                    await self.sign_in(other)
                fakes.answer(session, "mcp_sign_in", {"action": "retry"})
                session = await self.play(there, session)
                asked: list[str] = []
                while session["status"] == "interrupted" and len(asked) < 5:
                    asked += self.reasons(session)
                    if asked[-1] == "mcp_sign_in":
                        await self.sign_in(other)
                    fakes.answer(session, "tool_call", {"approved": True})
                    fakes.answer(session, "mcp_sign_in", {"action": "retry"})
                    session = await self.play(there, session)
                self.assertEqual((session["status"], asked), ("completed", wanted))
                self.assertEqual(self.world.calls, ["milk"])

    async def session_that_waits(self, *, approved: bool) -> Any:
        """A session that waits for a sign-in at a server that has been signed in before."""
        toolbox, agent = await self.host()
        await self.sign_in(toolbox)
        self.world.revoke()
        session = await self.play(agent, self.document(approved=approved))
        if not approved:
            fakes.answer(session, "tool_call", {"approved": True})
            session = await self.play(agent, session)
        self.assertEqual(self.reasons(session), ["mcp_sign_in"])
        return session

    async def test_an_approved_call_asks_for_the_sign_in_only(self) -> None:
        toolbox, agent = await self.host()
        await self.sign_in(toolbox)
        self.world.revoke()
        session = await self.play(agent, self.document(approved=False))
        self.assertEqual(self.reasons(session), ["tool_call"])
        fakes.answer(session, "tool_call", {"approved": True})
        session = await self.play(agent, session)
        self.assertEqual(self.reasons(session), ["mcp_sign_in"])
        await self.sign_in(toolbox)
        fakes.answer(session, "mcp_sign_in", {"action": "retry"})
        session = await self.play(agent, session)
        self.assertEqual((session["status"], self.world.calls), ("completed", ["milk"]))

    async def test_who_does_not_sign_in_gets_a_failed_call(self) -> None:
        toolbox, agent = await self.host()
        await self.sign_in(toolbox)
        self.world.revoke()
        session = await self.play(agent, self.document())
        session["interrupts"][0]["answer"] = {"status": "cancelled"}
        session = await self.play(agent, session)
        self.assertEqual(session["status"], "completed")
        self.assertIn("nobody signed in", self.last_words(session))
        self.assertEqual(self.world.calls, [])

    async def test_without_a_person_the_call_fails(self) -> None:
        toolbox, agent = await self.host()
        await self.sign_in(toolbox)
        self.world.revoke()
        session = await self.play(agent, self.document(unattended=True))
        self.assertEqual(session["status"], "completed")
        self.assertIn("nobody signed in", self.last_words(session))

    async def test_no_session_has_a_token(self) -> None:
        toolbox, agent = await self.host()
        await self.sign_in(toolbox)
        tokens = [*self.world.valid, *self.world.refreshable]
        done = await self.play(agent, self.document())
        self.world.revoke()
        asked = await self.play(agent, self.document())
        for text in (json.dumps(done), json.dumps(asked), json.dumps(toolbox.info())):
            for token in tokens:
                self.assertNotIn(token, text)

    async def test_a_name_of_no_tool_is_unknown_after_the_sign_in(self) -> None:
        toolbox, _ = await self.host()
        await self.sign_in(toolbox)
        session = {"config": self.document()["config"], "grants": [], "messages": [], "tools": []}
        call = {"id": "c", "function": {"name": "mcp__notes__other", "arguments": "{}"}}
        verdict = toolbox.verdict(session, call)
        self.assertEqual((verdict.action, verdict.status), ("error", "not_found"))
