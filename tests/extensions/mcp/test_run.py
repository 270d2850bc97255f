"""A whole run with an MCP tool: approved, it asks, the session travels, another host goes on."""

from __future__ import annotations

import json
from contextlib import aclosing
from typing import Any

from ... import fakes
from .test_servers import Case


def script(messages: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    said = [message["content"] for message in messages if message["role"] == "tool"]
    return [("text", said[-1])] if said else [("call", "mcp__s__ask", "{}")]


class Run(Case):
    def setUp(self) -> None:
        super().setUp()
        self.claims = fakes.MemoryClaims()  # of the host that takes the POSTs

    async def post(self, session: dict[str, Any], toolbox: Any) -> Any:
        host = fakes.agent(fakes.ScriptedModel(script), toolbox, claims=self.claims)
        run = host.prepare(json.loads(json.dumps(session)))
        async with aclosing(run.events()) as source:
            found = [event async for event in source]
        self.assertEqual(found[-1]["type"], "RUN_FINISHED", found[-1])
        return run.session

    async def test_a_question_in_the_middle_of_a_call(self) -> None:
        toolbox = await self.toolbox(s=self.entry("modern"))
        session = await self.post({"messages": [fakes.user("go")]}, toolbox)
        self.assertEqual([i["reason"] for i in session["interrupts"]], ["tool_call"])
        fakes.answer(session, "tool_call", {"approved": True})
        session = await self.post(session, toolbox)
        [interrupt] = session["interrupts"]
        self.assertEqual(interrupt["reason"], "input_required")
        self.assertEqual(session["status"], "interrupted")
        session = await self.post(session, toolbox)  # unanswered: it stays open
        self.assertEqual([i["id"] for i in session["interrupts"]], [interrupt["id"]])
        fakes.answer(session, "input_required", {"name": "Ann"})
        session = await self.post(session, toolbox)
        self.assertEqual(session["messages"][-1]["content"], "hello Ann")
        self.assertEqual((session["status"], session["interrupts"]), ("completed", []))

    async def test_another_host_asks_once_more_and_goes_on_with_the_answer(self) -> None:
        toolbox = await self.toolbox(s=self.entry("modern"))
        session = await self.post({"messages": [fakes.user("go")]}, toolbox)
        fakes.answer(session, "tool_call", {"approved": True})
        session = await self.post(session, toolbox)
        fakes.answer(session, "input_required", {"name": "Ann"})
        self.claims, asked = fakes.MemoryClaims(), self.noted()
        session = await self.post(session, toolbox)
        [interrupt] = session["interrupts"]
        self.assertEqual(interrupt["reason"], "tool_call")
        self.assertEqual(
            interrupt["message"],
            'Allow mcp__s__ask? It goes on with the answer {"name":"Ann"} to its question:'
            " Your name?",
        )
        self.assertEqual(self.noted(), asked, "the server was told nothing yet")
        fakes.answer(session, "tool_call", {"approved": True})
        session = await self.post(session, toolbox)
        self.assertEqual(session["messages"][-1]["content"], "hello Ann")

    async def test_what_the_policy_allows_goes_on_anywhere(self) -> None:
        toolbox = await self.toolbox(s=self.entry("modern"))
        allowed = {"config": {"tool": {"mcp__s__ask": {"auto_approve": True}}}}
        session = await self.post({"messages": [fakes.user("go")], **allowed}, toolbox)
        fakes.answer(session, "input_required", {"name": "Ann"})
        self.claims = fakes.MemoryClaims()
        session = await self.post(session, toolbox)
        self.assertEqual(session["messages"][-1]["content"], "hello Ann")

    async def test_a_question_that_is_cancelled_elsewhere_runs_nothing(self) -> None:
        toolbox = await self.toolbox(s=self.entry("modern"))
        for allowed in (False, True):
            with self.subTest(allowed=allowed):
                own = {"config": {"tool": {"mcp__s__ask": {"auto_approve": True}}}}
                given = {"messages": [fakes.user("go")], **(own if allowed else {})}
                session = await self.post(given, toolbox)
                fakes.answer(session, "tool_call", {"approved": True})
                session = await self.post(session, toolbox)
                session["interrupts"][0]["answer"] = {"status": "cancelled"}
                self.claims = fakes.MemoryClaims()
                self.notes.write_text("")
                session = await self.post(session, toolbox)
                [result] = [m for m in session["messages"] if m["role"] == "tool"]
                self.assertEqual(result["result"]["status"], "skipped")
                self.assertEqual(self.noted(), [])

    async def test_a_question_that_is_cancelled_or_passed_over(self) -> None:
        toolbox = await self.toolbox(s=self.entry("modern"))
        for how in ("cancelled", "passed over"):
            with self.subTest(how):
                self.claims = fakes.MemoryClaims()
                self.notes.write_text("")
                session = await self.post({"messages": [fakes.user("go")]}, toolbox)
                fakes.answer(session, "tool_call", {"approved": True})
                session = await self.post(session, toolbox)
                if how == "cancelled":
                    session["interrupts"][0]["answer"] = {"status": "cancelled"}
                else:
                    session["messages"].append(fakes.user("never mind", "u2"))
                session = await self.post(session, toolbox)
                [result] = [m for m in session["messages"] if m["role"] == "tool"]
                told = how == "cancelled"
                self.assertEqual(result["result"]["status"], "ok" if told else "skipped")
                self.assertEqual("answer cancel" in self.noted(), told)
                self.assertEqual((session["status"], session["interrupts"]), ("completed", []))

    async def test_an_answer_that_does_not_fit_is_refused(self) -> None:
        toolbox = await self.toolbox(s=self.entry("modern"))
        session = await self.post({"messages": [fakes.user("go")]}, toolbox)
        fakes.answer(session, "tool_call", {"approved": True})
        session = await self.post(session, toolbox)
        fakes.answer(session, "input_required", {"name": 5})
        with self.assertRaisesRegex(Exception, "name"):
            await self.post(session, toolbox)
