"""Calls of one message: what runs side by side, what is told in which order, what ends them."""

from __future__ import annotations

import asyncio
import copy
import errno
import os
import unittest
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from server.agent.loop import BaseAgent
from server.json_types import Event
from server.session.events import EXEC, alias
from server.session.fold import Folder
from server.session.schema import MAX_ID
from server.tools.execution_claims import Scope

from ..fakes import CountingToolbox, ManualClock, MemoryClaims, ScriptedModel, agent, answer, user

TOOLS = {
    "far": "read safe slow",
    "near": "read safe",
    "keep": "auto safe",
    "alone": "read",
    "page": "page",
    "note": "write",
}


class Case(unittest.IsolatedAsyncioTestCase):
    patience = 0  # turns of the loop that a reader lets pass over each announcement

    def host(self, *names: str, **limits: Any) -> BaseAgent:
        """A host whose model makes these calls, then says so."""

        def script(messages: list[Any]) -> list[tuple[Any, ...]]:
            done = any(message["role"] == "tool" for message in messages)
            return [("text", ["ok"])] if done else [("call", name, "{}") for name in names]

        self.toolbox = CountingToolbox(TOOLS, {})
        return agent(ScriptedModel(script), self.toolbox, limits=limits)

    async def told(self, host: BaseAgent) -> list[tuple[str, str]]:
        """(event, tool) for everything that is about a call's execution."""
        found: list[tuple[str, str]] = []
        run = host.prepare({"id": "s", "messages": [user("go")]})
        async with aclosing(run.events()) as stream:
            async for event in stream:
                name = alias(event)
                if name in (EXEC, "tool.output", "tool.result"):
                    call_id = call_of(event)
                    tool = str(run.session["calls"][call_id]["name"])
                    if name == EXEC:
                        for _ in range(self.patience):  # a reader who takes his time
                            await asyncio.sleep(0)
                        self.assertNotIn((tool, call_id), self.toolbox.counts, "announced first")
                    found.append((name, tool))
        return found


class Names(Case):
    async def test_a_result_gets_an_id_that_nobody_has(self) -> None:
        """Found by fuzzing: in an edited session the usual one may be taken, or be too long, and
        then what came of the run could not be POSTed again."""
        for call_id, other in (("c1", "res-c1"), ("c" * MAX_ID, "m9"), ("c1", "m9")):
            call = {"id": call_id, "function": {"name": "alone", "arguments": "{}"}}
            asked = {"id": "a1", "role": "assistant", "content": "", "tool_calls": [call]}
            first = {**user("before"), "id": other}
            with self.subTest(call_id[:3], other=other):
                host = self.host()
                run = host.prepare({"id": "s", "messages": [first, asked]})
                async for _ in run.events():
                    pass
                ids = [message["id"] for message in run.session["messages"]]
                self.assertEqual(len(set(ids)), len(ids))
                self.assertEqual("res-c1" in ids, call_id == "c1")
                host.prepare(run.session)


class Announced(Case):
    async def test_a_call_takes_only_its_own_interrupt_out(self) -> None:
        """The others may be large, and each of them begins, too."""
        host = self.host(*["note"] * 3)
        run = host.prepare({"id": "s", "messages": [user("go")]})
        async for _ in run.events():
            pass
        session = run.session
        self.assertEqual(len(session["interrupts"]), 3)
        answer(session, "tool_call", {"approved": True})
        found = []
        run = host.prepare(session)
        async for event in run.events():
            if alias(event) == EXEC:
                paths = [change["path"] for change in event["delta"] if change["op"] == "remove"]
                found.append((paths, len(run.session["interrupts"])))
        zero = "/yaa/interrupts/0"
        self.assertEqual(found, [([zero], 2), ([zero], 1), ([zero], 0)])


class Cut(Case):
    async def test_what_was_announced_to_nobody_is_still_to_be_run(self) -> None:
        """The connection breaks while the `tool.exec` is written: the call had not begun, and the
        client does not know that it was to. Nobody has to be asked whether it may have."""
        host = self.host("keep")
        run = host.prepare({"id": "s", "messages": [user("go")]})
        client = copy.deepcopy(run.session)
        folder = Folder(client)
        async with aclosing(run.events()) as stream:
            async for event in stream:
                if alias(event) == EXEC:
                    break
                folder.apply(copy.deepcopy(event))
        self.assertEqual(self.toolbox.counts, {})
        again = host.prepare(client)
        async for _ in again.events():
            pass
        self.assertEqual(again.session["status"], "completed", again.session["interrupts"])
        self.assertEqual(list(self.toolbox.counts.values()), [1])


class Time(Case):
    async def test_a_call_has_what_is_left_of_the_run(self) -> None:
        """One that may not run twice has the grace of a disconnect besides; and with nothing left
        no call begins."""
        clock = ManualClock()
        host = self.host("far", "keep", "alone", disconnect_grace_s=7)
        host.clock = host.stopwatch = clock
        self.toolbox.gate = asyncio.Event()
        limits = {"max_wall_s": 5}
        given = {"id": "s", "messages": [user("go")], "config": {"limits": limits}}
        run = host.prepare(given)
        async for event in run.events():
            if event["type"] == "ACTIVITY_SNAPSHOT" and self.toolbox.most == 2:
                clock.now += 5000
                self.toolbox.gate.set()
        self.assertEqual(self.toolbox.patience, {"far": 5, "keep": 12})
        self.assertEqual(run.session["finish_reason"], "limit")
        self.assertEqual([i["limit"] for i in run.session["interrupts"]], ["max_wall_s"])
        states = [entry["state"] for entry in run.session["calls"].values()]
        self.assertEqual(states, ["done", "done", "proposed"])
        answer(run.session, "limit", {"continue": True})
        again = host.prepare(run.session)
        async for _ in again.events():
            pass
        self.assertEqual(again.session["status"], "completed")
        self.assertEqual(sorted(self.toolbox.counts.values()), [1, 1, 1])

    async def test_what_a_slow_reader_takes_is_not_taken_from_a_call(self) -> None:
        """One that may not run twice was begun, and ended before it could do anything."""
        clock = ManualClock()
        host = self.host("keep", "alone", disconnect_grace_s=7)
        host.clock = host.stopwatch = clock
        limits = {"max_wall_s": 5}
        run = host.prepare({"messages": [user("go")], "config": {"limits": limits}})
        async for event in run.events():
            if alias(event) == EXEC:
                clock.now += 5000
        self.assertEqual(self.toolbox.patience, {"keep": 12})
        self.assertEqual(run.session["finish_reason"], "limit")


class FullDisk(Case):
    async def test_a_call_that_cannot_be_claimed_is_not_run_and_not_lost(self) -> None:
        """Nor is one beside it that could be; with room again all of it goes on."""
        host = self.host("keep", "near", "keep")
        claims = host.executions.claims = Fillable()  # type: ignore[assignment]
        run = host.prepare({"id": "s", "messages": [user("go")]})
        client = copy.deepcopy(run.session)
        folder = Folder(client)
        found = []
        async for event in run.events():
            folder.apply(copy.deepcopy(event))
            found.append(event)
            client.get("calls", {}).get("call_2", {}).update({"state": "started"})  # its own mark
        self.assertEqual((found[-1]["type"], found[-1]["code"]), ("RUN_ERROR", "claim_failed"))
        self.assertIn("keep was not run", found[-1]["message"])
        self.assertIn("No space left on device", found[-1]["message"])
        ran = [name for name, _ in self.toolbox.counts]
        self.assertEqual(ran, ["keep", "near"])
        claims.full = False
        again = host.prepare(client)
        async for _ in again.events():
            pass
        self.assertEqual(again.session["status"], "completed")
        self.assertEqual(sorted(self.toolbox.counts.values()), [1, 1, 1])


class Fillable(MemoryClaims):
    """Room for one."""

    full = True

    def take(
        self, scope: Scope, call_id: str, attempt: int, fingerprint: str = "", since_ms: int = 0
    ) -> bool:
        if self.full and self.taken:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return super().take(scope, call_id, attempt, fingerprint, since_ms)


def call_of(event: Event) -> str:
    if event["type"].startswith("ACTIVITY"):
        return str(event["messageId"].removeprefix("out-"))
    return str(event.get("toolCallId") or event.get("metadata", {}).get("yaa", {}).get("exec"))


class Order(Case):
    async def test_side_by_side_and_told_in_call_order(self) -> None:
        found = await self.told(self.host("far", "near", "keep"))
        self.assertGreaterEqual(self.toolbox.most, 2)
        results = [tool for name, tool in found if name == "tool.result"]
        self.assertEqual(results, ["far", "near", "keep"], "though far is done last")
        last_output = max(i for i, (name, _) in enumerate(found) if name == "tool.output")
        first_result = min(i for i, (name, _) in enumerate(found) if name == "tool.result")
        self.assertLess(last_output, first_result, "what near prints does not wait for far")

    async def test_announced_before_it_begins(self) -> None:
        self.patience = 5
        found = await self.told(self.host("far", "near", "alone"))
        self.assertEqual(sum(name == EXEC for name, _ in found), 3)

    async def test_only_neighbours_that_are_safe(self) -> None:
        cases = [
            (("alone", "alone"), 1),
            (("far", "alone", "near"), 1),
            (("alone", "far", "near"), 2),
            (("far", "page", "near"), 2),  # the page's call is not run here at all
            (("far", "nothing", "near"), 1),
        ]
        for names, most in cases:
            with self.subTest(names):
                found = await self.told(self.host(*names))
                self.assertEqual(self.toolbox.most, most)
                results = [tool for name, tool in found if name == "tool.result"]
                self.assertEqual(results, [name for name in names if name != "page"])

    async def test_so_many_at_once_as_may(self) -> None:
        for most in (1, 2, 4):
            with self.subTest(most):
                host = self.host(*["far", "near", "near"] * 3, max_parallel_calls=most)
                found = await self.told(host)
                self.assertEqual(self.toolbox.most, most)
                results = [tool for name, tool in found if name == "tool.result"]
                self.assertEqual(results, ["far", "near", "near"] * 3)


class Ends(Case):
    """`near` is repeatable, `keep` is not: cut, the one is killed and the other gets its grace."""

    async def cut(self, host: BaseAgent, outputs: int) -> Any:
        self.toolbox.gate = asyncio.Event()
        run = host.prepare({"id": "s", "messages": [user("go")]})
        async with aclosing(run.events()) as stream:
            async for event in stream:
                outputs -= event["type"] == "ACTIVITY_SNAPSHOT"
                if outputs == 0:
                    break
        return run.session

    async def test_a_cut_ends_every_call_of_the_batch(self) -> None:
        host = self.host("near", "keep", "near", "keep")
        session = await self.cut(host, 4)
        calls = list(session["calls"])
        states = {entry["state"] for entry in session["calls"].values()}
        self.assertEqual(states, {"started"})
        await asyncio.sleep(0)
        self.assertEqual(self.toolbox.cancelled, [calls[0], calls[2]])
        assert self.toolbox.gate is not None
        self.toolbox.gate.set()
        again = host.prepare(session)
        async with aclosing(again.events()) as stream:
            async for _ in stream:
                pass
        self.assertEqual(again.session["status"], "completed")
        ran = {call_id: count for (_, call_id), count in self.toolbox.counts.items()}
        self.assertEqual([ran[call_id] for call_id in calls], [2, 1, 2, 1])
        told = [m["tool_call_id"] for m in again.session["messages"] if m["role"] == "tool"]
        self.assertEqual(told, calls)

    async def test_a_result_that_was_held_back_is_not_lost(self) -> None:
        host = self.host("far", "keep")
        run = host.prepare({"id": "s", "messages": [user("go")]})
        async with aclosing(run.events()) as stream:
            async for event in stream:
                if event["type"] == "ACTIVITY_SNAPSHOT" and self.toolbox.most == 2:
                    break
            while self.toolbox.running > 1:  # keep is done, far is not
                await asyncio.sleep(0)
        self.assertEqual([m["role"] for m in run.session["messages"]], ["user", "assistant"])
        again = host.prepare(run.session)
        async with aclosing(again.events()) as stream:
            async for _ in stream:
                pass
        ran = {name: count for (name, _), count in self.toolbox.counts.items()}
        self.assertEqual(ran, {"far": 2, "keep": 1})
        told = [m["name"] for m in again.session["messages"] if m["role"] == "tool"]
        self.assertEqual(told, ["far", "keep"])

    async def test_what_was_not_begun_is_not(self) -> None:
        host = self.host("near", "keep", "near", max_parallel_calls=1)
        session = await self.cut(host, 1)
        states = [entry["state"] for entry in session["calls"].values()]
        self.assertEqual(states, ["started", "proposed", "proposed"])

    async def test_the_servers_end_kills_all(self) -> None:
        host = self.host("keep", "keep")
        await self.cut(host, 2)
        await host.close()
        self.assertEqual(len(self.toolbox.cancelled), 2)

    async def test_a_mistake_in_one_ends_the_others(self) -> None:
        host = self.host("near", "far")

        class Broken(CountingToolbox):
            async def execute(self, session: Any, call: Any, *more: Any, **owner: Any) -> None:
                if call["function"]["name"] == "far":
                    raise RuntimeError("a mistake of ours")
                await super().execute(session, call, *more, **owner)

        broken = Broken(TOOLS, {})
        broken.gate = asyncio.Event()
        host.toolbox = broken  # type: ignore[assignment]
        found: list[Event] = []
        with self.assertLogs("yaa.agent", "ERROR"):
            events: AsyncGenerator[Event, None] = host.prepare({"messages": [user("go")]}).events()
            async with aclosing(events) as stream:
                async for event in stream:
                    found.append(event)
        self.assertEqual(found[-1]["code"], "internal")
        await asyncio.sleep(0)
        self.assertEqual(len(broken.cancelled), 1)


if __name__ == "__main__":
    unittest.main()
