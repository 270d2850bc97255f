"""A question in the middle of a call of a legacy server: the call is held, goes on, or is cut."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import tempfile
import unittest
from contextlib import aclosing
from pathlib import Path
from typing import Any

from server.extensions.mcp.held_calls import (
    MAX_HELD,
    MAX_QUEUED,
    HeldCalls,
    OpenCall,
    ServerQuestion,
)
from server.extensions.mcp.servers import CUT, McpServers, McpTool, answer_result
from server.tools.base import ToolQuestion

from ... import fakes
from . import test_servers
from .test_library import LIMITS, SCRIPT, Case
from .test_servers import eventually, gone


class Asking(Case):
    async def asks(self, *manners: str, **args: Any) -> tuple[McpTool, dict[str, Any]]:
        """The tool that asks, and its question, after a call."""
        await self.start("legacy", *manners, **args.pop("entry", {}))
        tool = self.tools["mcp__s__ask"]
        asked = await self.call(tool, args)
        assert isinstance(asked, ToolQuestion), asked
        return tool, asked.input

    async def call(self, tool: McpTool, args: Any, question: Any = None, owner: str = "") -> Any:
        return await self.servers.call(tool, args, question, LIMITS, lambda _: None, owner)


class Held(Asking):
    async def test_an_answer_goes_to_the_call_that_asked(self) -> None:
        tool, question = await self.asks()
        self.assertEqual(question["message"], "Your name, please (1)?")
        self.assertEqual(
            self.noted("capabilities")[-1], 'capabilities {"elicitation": {"form": {}}}'
        )
        for word, more in (
            ("accept", {"answer": {"name": "Ann"}}),
            ("decline", {"refused": "decline"}),
            ("cancel", {"refused": "cancel"}),
        ):
            with self.subTest(word):
                tool, question = await self.asks()
                done = await self.call(tool, {}, {**question, **more})
                name = "Ann" if word == "accept" else "None"
                self.assertEqual(done.text, f"hello {name}, {word}")
                self.assertEqual(len(self.noted("tools/call")), 1)
        told = [line for line in self.noted("answer") if "content" in line]
        self.assertEqual(told, [])
        await self.asks()

    async def test_members_left_out_get_their_defaults(self) -> None:
        tool, question = await self.asks()
        await self.call(tool, {}, {**question, "answer": {"name": "Ann"}})
        [told] = self.noted("answer")
        wanted = {"action": "accept", "content": {"loud": True, "name": "Ann"}}
        self.assertEqual(json.loads(told.partition(" ")[2]), wanted)

    async def test_a_call_that_asks_twice(self) -> None:
        tool, question = await self.asks(twice=True)
        again = await self.call(tool, {}, {**question, "answer": {"name": "A"}})
        self.assertEqual(again.input["message"], "Your name, please (2)?")
        self.assertNotEqual(again.input["held"], question["held"])
        done = await self.call(tool, {}, {**again.input, "answer": {"name": "B"}})
        self.assertEqual(done.text, "hello B, accept")
        self.assertEqual(len(self.noted("tools/call")), 1)

    async def test_it_never_runs_twice(self) -> None:
        """Whoever has the session may change the token, or answer again."""
        tool, question = await self.asks()
        answered = {**question, "answer": {"name": "Ann"}}
        odd: list[Any] = ["", "x", None, 5, [question["held"]], {}]
        for token in odd:
            done = await self.call(tool, {}, {**answered, "held": token})
            self.assertIn(CUT, done.error["message"])
        stranger = await self.call(tool, {}, answered, "another owner")
        self.assertIn(CUT, stranger.error["message"])
        self.assertEqual((await self.call(tool, {}, answered)).status, "ok")
        self.assertIn(CUT, (await self.call(tool, {}, answered)).error["message"])
        self.assertEqual(len(self.noted("tools/call")), 1)

    async def test_a_server_that_ends_meanwhile(self) -> None:
        tool, question = await self.asks()
        pid = int(self.noted("start")[-1].split()[1])
        os.kill(pid, signal.SIGKILL)
        await eventually(lambda: gone(pid))  # else it may answer before the signal comes
        done = await self.call(tool, {}, {**question, "answer": {"name": "Ann"}})
        self.assertEqual(done.status, "error")
        self.assertIn("its process ended", done.error["message"])
        self.assertIn(CUT, done.error["message"])
        tool, question = await self.asks(die=True)
        done = await self.call(tool, {}, {**question, "answer": {"name": "Ann"}})
        self.assertIn(CUT, done.error["message"])
        self.assertEqual(len(self.noted("tools/call")), 1)

    async def test_nobody_answers(self) -> None:
        _, _ = await self.asks(entry={"hold_s": 0.05})
        await eventually(lambda: bool(self.noted("notifications/cancelled")))
        self.assertEqual(self.noted("answer"), ['answer {"action": "cancel"}'])

    async def test_a_question_that_cannot_be_shown(self) -> None:
        await self.start("legacy")
        done = await self.call(self.tools["mcp__s__ask"], {"badly": True})
        self.assertEqual(done.text, "hello None, None")
        self.assertIn("-32602", self.noted("answer")[0])

    async def test_two_calls_that_ask_are_not_mixed_up(self) -> None:
        tool, question = await self.asks()
        done = await self.call(tool, {})
        self.assertEqual(done.text, "hello None, cancel", "whose question it is cannot be known")
        done = await self.call(tool, {}, {**question, "answer": {"name": "Ann"}})
        self.assertEqual(done.text, "hello Ann, accept")

    async def test_a_call_that_is_cancelled_or_too_slow(self) -> None:
        tool, question = await self.asks(twice=True)
        limits = {**LIMITS, "wall_s": 0.0}
        answered = {**question, "answer": {"name": "A"}}
        done = await self.servers.call(tool, {}, answered, limits, lambda _: None)
        assert not isinstance(done, ToolQuestion)
        self.assertEqual(done.status, "timeout")
        await eventually(lambda: bool(self.noted("notifications/cancelled")))


class Elsewhere(Asking):
    """The answer gets to another worker, which has the same home folder."""

    async def asks_first(self, **args: Any) -> tuple[McpServers, McpTool, dict[str, Any]]:
        """The holder, the tool of another process that has not been asked, and the question."""
        home = Path(self.enterContext(tempfile.TemporaryDirectory()))
        _, question = await self.asks(entry={"home": home}, **args)
        holder, self.asked = self.servers, self.notes
        await self.start("legacy", home=home)
        return holder, self.tools["mcp__s__ask"], question

    def calls(self) -> tuple[int, int]:
        """How many calls the holder's server got, and that of the other process."""
        texts = (self.asked.read_text(), self.notes.read_text())
        first, second = (text.count("tools/call") for text in texts)
        return first, second

    async def test_another_process_gets_the_answer(self) -> None:
        for more, text in (
            ({"answer": {"name": "Ann"}}, "hello Ann, accept"),
            ({"refused": "decline"}, "hello None, decline"),
        ):
            with self.subTest(text):
                _, tool, question = await self.asks_first()
                stranger = await self.call(tool, {}, {**question, **more}, "another owner")
                self.assertIn(CUT, stranger.error["message"])
                done = await self.call(tool, {}, {**question, **more})
                self.assertEqual(done.text, text)
                again = await self.call(tool, {}, {**question, **more})
                self.assertIn(CUT, again.error["message"])
                self.assertEqual(self.calls(), (1, 0))

    async def test_one_answer_of_several_counts(self) -> None:
        _, tool, question = await self.asks_first()
        names = ("Ann", "Bob", "Cid")
        answers = [{**question, "answer": {"name": name}} for name in names]
        found = await asyncio.gather(*(self.call(tool, {}, each) for each in answers))
        self.assertEqual(sorted(each.status for each in found), ["error", "error", "ok"])
        self.assertEqual(self.calls(), (1, 0))

    async def test_it_asks_again(self) -> None:
        _, tool, question = await self.asks_first(twice=True)
        again = await self.call(tool, {}, {**question, "answer": {"name": "A"}})
        self.assertEqual(again.input["message"], "Your name, please (2)?")
        done = await self.call(tool, {}, {**again.input, "answer": {"name": "B"}})
        self.assertEqual((done.text, self.calls()), ("hello B, accept", (1, 0)))

    async def test_a_holder_that_has_ended(self) -> None:
        holder, tool, question = await self.asks_first()
        await holder.close()
        done = await self.call(tool, {}, {**question, "answer": {"name": "A"}})
        self.assertIn(CUT, done.error["message"])
        self.assertEqual(self.calls(), (1, 0))

    async def test_a_call_that_is_stopped(self) -> None:
        _, tool, question = await self.asks_first(stay=True)
        answered = {**question, "answer": {"name": "A"}}
        limits = {**LIMITS, "wall_s": 1.0}
        done: Any = await self.servers.call(tool, {}, answered, limits, lambda _: None)
        self.assertEqual(done.status, "timeout")
        await eventually(lambda: "notifications/cancelled" in self.asked.read_text())

    async def test_nothing_is_left_behind(self) -> None:
        home = Path(self.enterContext(tempfile.TemporaryDirectory()))
        await self.asks(entry={"home": home})
        [file] = (home / "held_calls").iterdir()
        self.assertEqual(file.stat().st_mode & 0o777, 0o600)
        await self.servers.close()
        self.assertEqual(list((home / "held_calls").iterdir()), [])


class Bounds(unittest.IsolatedAsyncioTestCase):
    async def test_numbers_are_bounded(self) -> None:
        held, sent = HeldCalls(), []  # type: ignore[var-annotated]
        ready: Any = asyncio.get_running_loop().create_future()

        async def begin(caller: Any) -> Any:
            for number in range(MAX_QUEUED + 3):
                caller.ask({"id": number, "params": {}}, sent.append)
            ready.set_result(None)
            return await asyncio.get_running_loop().create_future()

        call = OpenCall(begin, lambda _: None)
        asked = await call.next()
        assert isinstance(asked, ServerQuestion)
        await ready
        self.assertEqual([message["result"]["action"] for message in sent], ["cancel"] * 3)
        tokens = [held.hold(("a",), call, asked, begin) for _ in range(MAX_HELD + 1)]
        self.assertEqual((len({*tokens}), tokens[-1]), (MAX_HELD + 1, ""))
        held.close()

    def test_answers_of_any_shape(self) -> None:
        odd: list[Any] = [
            ({}, {}),
            ({"answer": 5}, {}),
            ({"answer": {"a": 1}, "response_schema": 5}, {"a": 1}),
            (
                {"answer": [], "response_schema": {"properties": {"a": 5, "b": {"default": 2}}}},
                {"b": 2},
            ),
        ]
        for question, content in odd:
            wanted = {"action": "accept", "content": content}
            self.assertEqual(answer_result(question), wanted, question)


class Run(test_servers.Case):
    """Whole runs: the question is an interrupt, and the answer comes with the next POST."""

    def setUp(self) -> None:
        super().setUp()
        self.claims = fakes.MemoryClaims()

    async def post(self, session: Any, toolbox: Any) -> Any:
        def script(messages: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
            said = [message["content"] for message in messages if message["role"] == "tool"]
            return [("text", said[-1])] if said else [("call", "mcp__s__ask", "{}")]

        host = fakes.agent(fakes.ScriptedModel(script), toolbox, claims=self.claims)
        run = host.prepare(json.loads(json.dumps(session)))
        async with aclosing(run.events()) as source:
            found = [event async for event in source]
        self.assertEqual(found[-1]["type"], "RUN_FINISHED", found[-1])
        return run.session

    def entry(self, *manners: str, **more: Any) -> Any:
        return {**super().entry(), "args": [SCRIPT, str(self.notes), "legacy"], **more}

    async def asked(self) -> tuple[Any, Any]:
        toolbox = await self.toolbox(s=self.entry())
        allowed = {"config": {"tool": {"mcp__s__ask": {"auto_approve": True}}}}
        session = await self.post({"messages": [fakes.user("go")], **allowed}, toolbox)
        [interrupt] = session["interrupts"]
        self.assertEqual(interrupt["reason"], "input_required")
        self.assertEqual(interrupt["message"], "Your name, please (1)?")
        fakes.answer(session, "input_required", {"name": "Ann"})
        return session, toolbox

    async def test_the_run_goes_on(self) -> None:
        session, toolbox = await self.asked()
        session = await self.post(session, toolbox)
        self.assertEqual(session["messages"][-1]["content"], "hello Ann, accept")
        self.assertEqual((session["status"], session["interrupts"]), ("completed", []))

    async def test_another_worker_goes_on(self) -> None:
        session, _ = await self.asked()
        session = await self.post(session, await self.toolbox(s=self.entry()))
        self.assertEqual(session["messages"][-1]["content"], "hello Ann, accept")
        calls = [line for line in self.noted() if line.startswith("tools/call")]
        self.assertEqual(len(calls), 1)

    async def test_at_another_server_the_call_is_reported_cut(self) -> None:
        session, _ = await self.asked()
        self.home = self.home / "another"
        self.home.mkdir()
        other = await self.toolbox(s=self.entry())
        self.claims = fakes.MemoryClaims()
        session = await self.post(session, other)
        self.assertIn("may have done some of its work", session["messages"][-1]["content"])
        calls = [line for line in self.noted() if line.startswith("tools/call")]
        self.assertEqual(len(calls), 1)


if __name__ == "__main__":
    unittest.main()
