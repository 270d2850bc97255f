"""Processes that wait for calls: there while tools are offered or called, and gone afterwards."""

from __future__ import annotations

import asyncio
import copy
import os
import signal
import socket
import sys
import tempfile
import time
import unittest
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

from server.config import Config
from server.lib.sandbox import supervisor
from server.lib.sandbox.warm_pools import OFFERED, WarmPools
from server.lib.sandbox.worker_pool import WAITING, WorkerPool
from server.tools.runner import Job
from server.tools.toolbox import Toolbox

from ..fakes import DEFAULTS
from ..tooling import patience
from ..tooling.api import Api
from ..tooling.child import Yaa
from ..tools import test_runner
from .test_tiers import OPTIONS

WAIT_S = 30
LONG_S = 3600.0  # an idle time that does not end here
SHORT_S = 0.02
LOADED = """
import sys
from yaa import tool

@tool
def loaded() -> bool:
    "Tell."
    return any(name.endswith(".tools.builtin.html") for name in sys.modules)
"""


def lives(pid: int, parent: bytes = b"") -> bool:
    """Whether a process has not ended, and is a child of `parent` if there is one."""
    state, ppid, *_ = supervisor.stat_of(pid) or (b"Z", b"")
    return state != b"Z" and parent in (b"", ppid)


def has_ended(pid: int) -> bool:
    return not lives(pid)


def below(pid: int) -> list[int]:
    return [*filter(lives, supervisor.descendants(pid))]


async def until(is_so: Callable[[], object]) -> bool:
    """Whether it is so in the end."""
    deadline = time.monotonic() + patience.seconds(WAIT_S)
    while not is_so():
        if time.monotonic() > deadline:
            return False
        await asyncio.sleep(0.005)
    return True


class SlowPool:
    """A pool that is warm from `since` on."""

    since = 0.0

    def warm(self, count: int) -> None:
        self.since = time.monotonic()


class IdleTime(unittest.IsolatedAsyncioTestCase):
    async def test_it_begins_when_the_processes_are_there(self) -> None:
        pools, pool = WarmPools(), SlowPool()
        self.addCleanup(pools.close)
        pools.open(LONG_S)
        pools.touch(pool, OFFERED)  # type: ignore[arg-type]
        self.assertGreaterEqual(pools._used[pool].last, pool.since)  # type: ignore[index]


class Warm(test_runner.Case):
    async def opened(self, idle_s: float) -> WorkerPool:
        """The pool of a runner as a server has it when it has started."""
        self.others = {*supervisor.descendants(os.getpid())}
        await self.runner.open({**OPTIONS, "idle_s": idle_s})
        self.addCleanup(self.runner.close)
        if self.runner.pool is None:
            self.skipTest(f"no sandbox here: {self.runner.sandbox['tried']}")
        self.runner.release_workers()
        return self.runner.pool

    async def echo(self, word: str) -> None:
        self.assertEqual((await self.shell(f"echo {word}")).result["output"], f"{word}\n")

    async def gone(self) -> None:
        self.assertTrue(await until(lambda: self.others >= {*supervisor.descendants(os.getpid())}))

    async def test_none_is_left_of_the_proof(self) -> None:
        pool = await self.opened(LONG_S)
        self.assertEqual(pool.pid, 0)
        await self.gone()
        self.assertIn(self.runner.sandbox["tier"], ("A", "B", "C"))

    async def test_they_come_with_an_offer_and_a_call_finds_them(self) -> None:
        pool = await self.opened(LONG_S)
        await asyncio.to_thread(self.runner.prepare, [None])  # as a long session is judged
        self.assertTrue(await until(lambda: len(pool._waiting) == OFFERED))
        zygote, first = pool.pid, pool._waiting[0]
        worker = pool.take()
        self.assertIs(worker, first)
        pool.forget(worker)
        worker.close()
        await self.echo("a")
        self.assertEqual(pool.pid, zygote)
        self.assertEqual(len(pool._waiting), WAITING)

    async def test_what_tools_import_is_there_before_their_calls(self) -> None:
        pool = await self.opened(LONG_S)
        path = self.owned(LOADED)
        for offered in (False, True):
            if offered:
                self.runner.prepare([None])
                self.assertTrue(await until(lambda: len(pool._waiting) == OFFERED))
            found = await self.run_tool(("file", path, "loaded"), {})
            self.assertEqual(found.result, offered, found.error)
            self.runner.release_workers()

    async def test_offers_at_once_start_one_zygote(self) -> None:
        pool = await self.opened(LONG_S)
        offers = (asyncio.to_thread(self.runner.prepare, [None]) for _ in range(8))
        await asyncio.gather(*offers)
        await self.echo("a")
        zygotes = [pid for pid in {*below(os.getpid())} - self.others if lives(pid, me())]
        self.assertEqual(zygotes, [pool.pid])

    async def test_an_offer_of_other_tools_starts_nothing(self) -> None:
        pool = await self.opened(LONG_S)
        self.runner.prepare([])
        await asyncio.sleep(0)
        self.assertEqual(pool.pid, 0)

    async def test_they_go_when_idle_and_come_again(self) -> None:
        pool = await self.opened(SHORT_S)
        for word in ("first", "second"):
            self.runner.prepare([None])
            self.assertTrue(await until(lambda: pool.pid), word)
            await self.gone()
            self.assertEqual(pool.pid, 0, word)
            await self.echo(word)
            await self.gone()

    async def test_an_offer_begins_a_new_idle_time(self) -> None:
        pool = await self.opened(LONG_S)
        self.runner.prepare([None])
        self.assertTrue(await until(lambda: pool.pid))
        use = self.runner._warm._used[pool]
        use.last -= LONG_S
        self.runner.prepare([None])
        self.runner._warm.release(LONG_S)
        self.assertNotEqual(pool.pid, 0)
        use.last -= LONG_S
        self.runner._warm.release(LONG_S)
        self.assertEqual(pool.pid, 0)

    async def test_a_call_that_runs_keeps_them(self) -> None:
        pool = await self.opened(SHORT_S)
        command = "mkfifo pipe; echo on; cat pipe"
        job = Job(test_runner.SHELL, {"command": command}, "s", test_runner.LIMITS)
        call = await self.begun(job)
        self.assertEqual(self.output, "on\n")
        zygote, looked = pool.pid, self.runner._warm._timer
        self.assertTrue(await until(lambda: self.runner._warm._timer is not looked))
        self.runner.release_workers()
        self.assertEqual(pool.pid, zygote)
        await asyncio.to_thread((self.runner.folder("s") / "pipe").write_text, "")
        self.assertEqual((await call).status, "ok")
        await self.gone()

    async def test_a_call_while_they_end(self) -> None:
        pool = await self.opened(LONG_S)
        for _ in range(3):
            self.runner.prepare([None])
            self.assertTrue(await until(lambda: pool.pid))
            before = pool.pid
            self.runner.release_workers()
            await asyncio.gather(self.echo("one"), self.echo("two"))
            self.assertNotEqual(pool.pid, before)

    async def test_a_zygote_that_was_killed_is_replaced(self) -> None:
        pool = await self.opened(LONG_S)
        self.runner.prepare([None])
        self.assertTrue(await until(lambda: len(pool._waiting) == OFFERED))
        for _ in range(2):
            killed = pool.pid
            os.kill(killed, signal.SIGKILL)
            # A worker that waits may be taken until the zygote has ended, and ends with it.
            self.assertTrue(await until(partial(has_ended, killed)))
            await asyncio.gather(self.echo("one"), self.echo("two"))
            self.assertNotIn(pool.pid, (0, killed))

    async def test_a_zygote_that_is_ending_is_replaced(self) -> None:
        """It listens no more, and there is no exit code yet."""
        pool = await self.opened(LONG_S)
        self.runner.prepare([None])
        self.assertTrue(await until(lambda: len(pool._waiting) == OFFERED))
        pool.renew()
        ending = pool.pid
        assert pool._door is not None
        pool._door.shutdown(socket.SHUT_RDWR)
        await self.echo("one")
        self.assertNotIn(pool.pid, (0, ending))

    async def test_a_waiting_worker_is_two_processes_that_end_with_the_zygote(self) -> None:
        pool = await self.opened(LONG_S)
        self.runner.prepare([None])
        self.assertTrue(await until(lambda: len(pool._waiting) == OFFERED))
        for worker in pool._waiting:
            self.assertIn(b"ready", await asyncio.to_thread(worker.recv, 99, socket.MSG_PEEK))
        # Its rehearsal starts more for a moment.
        self.assertTrue(await until(lambda: len(below(pool.pid)) == 2 * OFFERED))
        waiting = below(pool.pid)
        if self.runner.sandbox["tier"] != "A":
            self.skipTest("in tier B a worker ends with its socket")
        os.kill(pool.pid, signal.SIGKILL)
        self.assertTrue(await until(lambda: not any(map(lives, waiting))))

    async def test_a_closed_runner_starts_none(self) -> None:
        pool = await self.opened(LONG_S)
        self.runner.close()
        self.runner.prepare([None])
        await asyncio.sleep(0)
        self.assertEqual(pool.pid, 0)


class Offered(unittest.IsolatedAsyncioTestCase):
    async def toolbox(self, folder: str, denied: Iterable[str]) -> Toolbox:
        server = copy.deepcopy(DEFAULTS["server"])
        server["tools"] = {name: {"ceiling": "deny"} for name in denied}
        toolbox = Toolbox(Config(server, DEFAULTS["session"], Path(folder)))
        self.addAsyncCleanup(toolbox.close)
        await toolbox.open()
        if toolbox.runner.pool is None:
            self.skipTest("no sandbox here")
        toolbox.release_workers()
        return toolbox

    async def test_only_tools_that_run_in_the_sandbox_start_it(self) -> None:
        config = copy.deepcopy(DEFAULTS["session"]["config"])
        session: Any = {"id": "s", "config": config, "grants": [], "messages": []}
        with tempfile.TemporaryDirectory() as folder:
            entries = (await self.toolbox(folder, ()))._tools
            inside = [name for name, entry in entries.items() if entry.tool.sandboxed]
            for denied, starts in (((), True), (inside[1:], True), (inside, False)):
                toolbox = await self.toolbox(folder, denied)
                pool = toolbox.runner.pool
                assert pool is not None
                for told in ("made", "cached"):
                    with self.subTest(denied=denied, told=told):
                        names = {each["function"]["name"] for each in toolbox.declarations(session)}
                        self.assertIn("calculator", names)
                        self.assertFalse(names & {*denied})
                        await asyncio.sleep(0)
                        self.assertEqual(pool.pid != 0, starts)
                        toolbox.release_workers()


@unittest.skipUnless(sys.platform == "linux", "needs /proc")
class Served(unittest.TestCase):
    def test_a_server_has_processes_only_while_tools_are_in_use(self) -> None:
        idle_s = 0.2
        with Yaa({"server": {"discover": False, "sandbox": {"idle_s": idle_s}}}) as yaa:
            assert yaa.child is not None
            pid, api = yaa.child.process.pid, Api(yaa.url, yaa.key)
            tier = api.request("GET", "/info")[1]["sandbox"]["tier"]
            if tier == "none":
                self.skipTest("no sandbox here")
            self.assertTrue(asyncio.run(until(lambda: not supervisor.descendants(pid))))
            for _ in range(2):
                asked = {"messages": [{"role": "user", "content": "calc 6*7"}]}
                self.assertEqual(api.run(asked)["status"], "completed")
                self.assertTrue(asyncio.run(until(lambda: not supervisor.descendants(pid))))
            self.assertEqual(api.request("GET", "/info")[1]["sandbox"]["tier"], tier)


def me() -> bytes:
    return str(os.getpid()).encode()


if __name__ == "__main__":
    unittest.main()
