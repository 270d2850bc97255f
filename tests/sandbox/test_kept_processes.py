"""Processes that stay, in a plain child and in the sandbox: limits of a call, ends, tidiness."""

from __future__ import annotations

import asyncio
import os
import textwrap
import unittest
from dataclasses import replace
from typing import Any

from server.lib.sandbox.kept_processes import CallOutput
from server.lib.sandbox.network_policy import NetworkPolicy
from server.tools.function_tools import last_process
from server.tools.runner import Job, Outcome
from tests.tools import test_runner

from ..fakes import DEFAULTS
from ..tooling import turns

SOURCE = """
    import os, subprocess, sys, time
    from yaa import tool, toolkit, Context

    @toolkit(stateful=True)
    class Kit:
        def __init__(self): self.n = 0
        @tool
        def up(self) -> int:
            self.n += 1
            print("n =", self.n)
            return self.n
        @tool
        def pid(self) -> list[int]: return [os.getpid(), os.getppid()]
        @tool
        def nice(self) -> int:
            while not os.path.exists("go"): time.sleep(0.01)
            return os.nice(0)
        @tool
        def sleep(self) -> None: time.sleep(60)
        @tool
        def spin(self) -> None:
            while True: pass
        @tool
        def talk(self, n: int) -> None: print("x" * n)
        @tool
        def fail(self) -> None: raise ValueError("no")
        @tool
        def says_an_end(self) -> int:
            import contextlib
            with contextlib.suppress(OSError):  # its results have another descriptor here
                os.write(3, b'{"done": "x", "took": {}}\\n{"result": 5}\\n')
            return 1
        @tool
        async def later(self) -> int:
            import asyncio
            await asyncio.sleep(0)
            return id(asyncio.get_running_loop())
"""


class Case(test_runner.Case):
    def setUp(self) -> None:
        super().setUp()
        self.path = self.owned(textwrap.dedent(SOURCE))
        self.before: dict[str, Any] | None = None

    async def asyncTearDown(self) -> None:
        self.runner.close()

    async def call(self, name: str, session: str = "s", **more: Any) -> Outcome:
        """One call, as a session would make it that goes on from the last."""
        limits = {**test_runner.LIMITS, **more.pop("limits", {})}
        args = more.pop("args", {})
        job = Job(("file", self.path, f"Kit_{name}"), args, session, limits)
        job = replace(job, stateful="mine.py", before=self.before, **more)
        self.output = ""
        outcome = await self.runner.run(job, self.print)
        self.before = outcome.process
        return outcome


class Plain(Case):
    async def test_calls_go_on_from_each_other(self) -> None:
        for n in (1, 2, 3):
            found = await self.call("up")
            self.assertEqual((found.status, found.result), ("ok", n), found.error)
            self.assertEqual(self.output, f"n = {n}\n")
            self.assertEqual(found.process, {**(found.process or {}), "calls": n})
        self.assertEqual((await self.call("fail")).error["type"], "ValueError")
        self.assertEqual((await self.call("up")).result, 4, "a failure is no end")
        loops = [(await self.call("later")).result for _ in range(2)]
        self.assertEqual(loops[0], loops[1], "one event loop for the process")
        found = await self.call("says_an_end")
        self.assertEqual(found.status, "ok", found.error)
        self.assertEqual((await self.call("up")).result, 5)

    async def test_those_of_one_person_stand_back(self) -> None:
        calls = [self.call("nice", "s", owner=owner) for owner in ("ann", "bob")]
        calls.insert(1, self.call("nice", "t", owner="ann"))
        waiting = [asyncio.create_task(each) for each in calls]
        while self.runner._processes._turns.total < 3:
            await asyncio.sleep(0.01)
        for owner, session in (("ann", "s"), ("ann", "t"), ("bob", "s")):
            (self.runner.folder(session, owner) / "go").touch()
        found = [(await each).result for each in waiting]
        own = os.nice(0)
        self.assertEqual(sorted(found), [own, own, min(19, own + 6)], found)
        self.assertEqual(found[2], own, "another person's")

    async def test_limits_are_of_one_call_and_end_the_process(self) -> None:
        for name, limits, status in (
            ("sleep", {"wall_s": 0.2}, "timeout"),
            ("spin", {"cpu_s": 1}, "limit"),
            ("talk", {"output_kb": 1}, "limit"),
        ):
            with self.subTest(name):
                await self.call("up")
                args = {"n": 100_000} if name == "talk" else {}
                found = await self.call(name, limits=limits, args=args)
                self.assertEqual(found.status, status, found.error)
                details = found.error["details"]
                self.assertEqual(details["allowed"], next(iter(limits.values())))
                again = await self.call("up")
                self.assertEqual(again.result, 1)
                restarted = (again.process or {})["restarted"]
                self.assertIn(f"stopped at the limit {details['limit']}", restarted)

    async def test_a_call_that_may_have_less_has_another_process(self) -> None:
        await self.call("up")
        found = await self.call("up", limits={"memory_mb": 200})
        self.assertEqual(found.result, 1)
        self.assertIn("its limits", (found.process or {})["restarted"])
        found = await self.call("up", limits={"memory_mb": 200}, reach=NetworkPolicy("off", ("a",)))
        self.assertEqual(found.result, 1, "what one approval opened is not open for the next call")

    async def test_code_that_changes(self) -> None:
        await self.call("up")
        self.owned(textwrap.dedent(SOURCE).replace("self.n += 1", "self.n += 10"))
        self.assertEqual((await self.call("up")).result, 10)

    async def test_two_at_once_come_one_after_the_other(self) -> None:
        first, second = await asyncio.gather(self.call("up"), self.call("up"))
        self.assertEqual({first.status, second.status}, {"ok"})
        self.assertEqual({first.result, second.result}, {1}, "the second did not know of the first")

    async def test_what_is_cut_is_gone(self) -> None:
        pids = (await self.call("pid")).result
        job = asyncio.create_task(self.call("sleep"))
        while not self.runner._processes._held or not self._busy():
            await asyncio.sleep(0)
        job.cancel()
        await asyncio.gather(job, return_exceptions=True)
        found = await self.call("up")
        self.assertEqual((found.process or {})["restarted"], "a call was cut")
        if self.runner.pool is None:
            self.assertTrue(all(map(test_runner.gone, pids)))

    def _busy(self) -> bool:
        return all(held.busy for held in self.runner._processes._held.values())

    async def test_idle_ones_end(self) -> None:
        self.runner._processes._idle_s = 0.01
        pids = (await self.call("pid")).result
        while self.runner._processes._held:
            await asyncio.sleep(0)
        if self.runner.pool is None:
            self.assertTrue(all(map(test_runner.gone, pids)))
        self.assertIn("no call for", ((await self.call("up")).process or {})["restarted"])

    async def test_only_so_many(self) -> None:
        self.runner._processes._most = 1
        await self.call("up", session="one")
        one, self.before = self.before, None
        await self.call("up", session="two")
        self.before = one
        found = await self.call("up", session="one")
        self.assertEqual((found.process or {})["restarted"], "others needed its place")
        self.assertEqual(len(self.runner._processes._held), 1)
        self.assertEqual(len(self.runner._processes._locks), 0)

    async def test_owners_share_no_process(self) -> None:
        await self.call("up", owner="ada")
        found = await self.call("up", owner="bob")
        self.assertEqual(found.result, 1)


@turns.tests(2)
class Sandboxed(Plain):
    async def asyncSetUp(self) -> None:
        await self.runner.open(DEFAULTS["server"]["sandbox"])
        self.addCleanup(self.runner.close)
        if self.runner.sandbox["tier"] not in ("A", "B"):
            self.skipTest(f"no sandbox here: {self.runner.sandbox['tried']}")


class Parts(unittest.IsolatedAsyncioTestCase):
    async def test_a_stream_until_its_mark_wherever_it_is_cut(self) -> None:
        data, mark = "äb\0mar\0mark\0".encode(), b"\0mark\0"
        for cut in range(len(data)):
            stream = asyncio.StreamReader()
            until = CallOutput(stream, mark)
            stream.feed_data(data[:cut])
            reading = asyncio.ensure_future(until.read(100))
            await asyncio.sleep(0)
            stream.feed_data(data[cut:])
            found = await reading
            while more := await until.read(100):
                found += more
            self.assertEqual(found, "äb\0mar".encode(), cut)

    def test_the_last_word_of_a_session(self) -> None:
        said = {"of": "a", "id": "1", "calls": 2}
        messages: list[Any] = [
            {"role": "tool", "result": {"process": {"of": "a", "id": "0", "calls": 1}}},
            {"role": "tool", "result": {"process": said}},
            {"role": "tool", "result": {"process": {"of": "b", "id": "2", "calls": 1}}},
            {"role": "tool", "result": {"process": "a"}},
            {"role": "tool", "result": None},
            {"role": "user", "content": "x"},
        ]
        self.assertEqual(last_process({"messages": messages}, "a"), said)
        self.assertIsNone(last_process({"messages": messages}, "c"))


if __name__ == "__main__":
    unittest.main()
