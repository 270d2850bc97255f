"""MCP servers that crash, lie, flood and stay silent, as processes: each of them costs its own call
an error within its time, and no other call anything."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sys
import tempfile
import time
import unittest
from pathlib import Path
from typing import Any

from server.extensions.mcp.links import Launch, StdioLink
from server.extensions.mcp.peer import LinkError
from server.extensions.mcp.servers import McpServers, McpTool
from server.lib.http.client import Client
from server.lib.json_schema.validate import SchemaError, Validator
from server.lib.strict_json import dumps
from server.tools.base import declaration

from ...chaos import processes
from ...fakes import call_server
from ...tooling import turns
from ...tooling.patience import seconds
from ...tools.mcp_liar import CALLS, HOSTILE_SCHEMAS
from .test_servers import SCRIPT, eventually, gone

LIAR = str(Path(__file__).parents[2] / "tools" / "mcp_liar.py")
PATIENCE_S = 0.5  # what a call may take that is never answered
FLOOD_S = 60.0  # … and one that is flooded: it must end long before, by how much is said
GRACE_S = 10.0  # how much later than its limit a call may end on a machine with much to do
LIMITS = {"wall_s": PATIENCE_S, "output_kb": 64.0}

FAILS: dict[str, str] = {  # what is done → what the caller reads
    "die": "its process ended (exit 3)",
    "die_in_a_line": "its process ended (exit 0)",
    "close_output": "its output ended",
    "flood_of_garbage": "too much that answers nothing",
    "flood_of_empty_lines": "too much that answers nothing",
    "flood_without_lines": "a line of more than",
    "flood_of_notices": "too much that answers nothing",
    "flood_of_progress": "too much that answers nothing",
    "flood_of_requests": "too much that answers nothing",
    "flood_of_deep_json": "too much that answers nothing",
    "twice": "first",
    "no_result": "an answer without a result",
    "odd_result": "an answer without a result",
    "odd_error": "an error without a message",
    "odd_content": "did not say why",
    "deep_result": "nested deeper",
    "unknown_kind": "a result of an unknown kind",
    "odd_question": "not offered here",
}
LATE = (
    *("say_nothing", "stop_reading", "close_input", "no_json", "other_id", "finished_id"),
    "be_slow",
)
FINE = ("behave", "answer_and_die")


class Case(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        logging.disable(logging.CRITICAL)  # what is wrong with servers is read from `problems`
        self.addCleanup(logging.disable, logging.NOTSET)
        self.home = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.notes = self.home / "notes"

    async def asyncSetUp(self) -> None:
        self.client = Client()
        self.addAsyncCleanup(self.client.close)

    async def start(self, manner: str = "-", **more: Any) -> McpServers:
        """The liar, and a good server beside it."""
        entry = {"command": sys.executable, "args": [LIAR, str(self.notes), manner]}
        good = [SCRIPT, str(self.home / "good"), "modern"]
        servers = McpServers(
            {
                "liar": {**entry, "probe_timeout": 10, **more},
                "good": {"command": sys.executable, "args": good, "allowedTools": ["echo"]},
            },
            self.client,
            patience_s=seconds(60),
        )
        self.addAsyncCleanup(servers.close)
        self.tools: dict[str, McpTool] = {}
        await servers.load(lambda _, tools: self.tools.update({t.name: t for t in tools}))
        return servers

    async def ended(self, servers: McpServers) -> None:
        """Closed, with no process left."""
        await servers.close()
        for note in self.notes.read_text().split():
            await eventually(lambda pid=int(note): gone(pid))  # type: ignore[misc]

    async def call(self, servers: McpServers, name: str, wall_s: float = 30, **args: Any) -> Any:
        found = await call_server(
            servers, self.tools[name], args, None, {**LIMITS, "wall_s": wall_s}
        )
        return found[-1]

    async def do(self, servers: McpServers, what: str, wall_s: float = 30, **more: Any) -> Any:
        return await self.call(servers, "mcp__liar__do", wall_s, what=what, **more)


class Called(Case):
    def test_every_manner_is_tried(self) -> None:
        helpers = {"write", "send", "done", "for_ever"}
        self.assertEqual({*FAILS, *LATE, *FINE}, CALLS.keys() - helpers)

    async def check(self, what: str, wall_s: float, status: str, part: str) -> None:
        servers = await self.start()
        self.assertEqual((await self.do(servers, "behave")).text, "fine")
        started = time.monotonic()
        work = asyncio.create_task(self.do(servers, what, wall_s))
        for _ in range(3):  # the good server's answers come while the liar does its worst
            said = await self.call(servers, "mcp__good__echo", text="still here")
            self.assertTrue(said.text.startswith("still here by "), said)
        found = await work
        self.assertLess(time.monotonic() - started, wall_s + seconds(GRACE_S))
        self.assertEqual(found.status, status, found)
        self.assertIn(part, found.error.get("message", found.text))
        await self.ended(servers)

    async def test_failures_are_results(self) -> None:
        for what, part in turns.share(FAILS.items(), 3):
            with self.subTest(what):
                await self.check(what, FLOOD_S, "error", part)

    async def test_silence_ends_at_the_limit(self) -> None:
        for what in LATE:
            with self.subTest(what):
                await self.check(what, PATIENCE_S, "timeout", "wall_s")

    async def test_what_is_well_enough(self) -> None:
        for what in FINE:
            with self.subTest(what):
                await self.check(what, 30, "ok", "fine")

    async def test_an_answer_that_comes_late_is_no_one_elses(self) -> None:
        servers = await self.start()
        self.assertEqual((await self.do(servers, "be_slow", PATIENCE_S)).status, "timeout")
        self.assertEqual((await self.do(servers, "odd_error")).status, "error")
        self.assertEqual((await self.do(servers, "behave")).text, "fine")

    async def test_a_call_that_is_given_up_ends_no_other(self) -> None:
        servers = await self.start()
        slow = asyncio.create_task(self.do(servers, "be_slow"))
        given_up = asyncio.create_task(self.do(servers, "say_nothing"))
        done, _ = await asyncio.wait((slow, given_up), timeout=0.2)
        self.assertFalse(done)
        given_up.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await given_up
        self.assertEqual((await slow).text, "fine")
        self.assertEqual(len(self.notes.read_text().split()), 1, "one process all along")

    async def test_what_is_not_read_is_not_kept(self) -> None:
        servers = await self.start()
        texts = ("x", "x" * 6_000_000, "x" * 6_000_000, "x")
        found = []
        for text in texts:
            found.append(await self.do(servers, "stop_reading", PATIENCE_S, text=text))
        self.assertEqual([f.status for f in found], ["timeout", "timeout", "timeout", "error"])
        self.assertIn("does not read", found[3].error["message"])


class Listed(Case):
    async def test_manners(self) -> None:
        rows = (
            ("die at start", 0, "its process ended (exit 1)"),
            ("flood at start", 0, "too much that answers nothing"),
            ("die after", 1, ""),
            ("silent list", 0, "did not list its tools in time"),
            ("slow list", 0, "did not list its tools in time"),
            ("no list", 0, "no list"),
            ("nothing", 0, "no list"),
            ("many", 1000, "more than 1000 tools"),
            ("many pages", 991, "more than 1000 tools"),
            ("large schemas", 34, "too large together"),
            ("odd cursor", 1, ""),
            ("descriptions", 8, ""),
        )
        for manner, count, part in turns.share(rows, 3):
            with self.subTest(manner):
                self.notes.unlink(missing_ok=True)
                late = manner in ("silent list", "slow list")
                slow = {"start_timeout": seconds(1)} if late else {}
                servers = await self.start(manner, **slow)
                theirs = [tool for tool in self.tools.values() if tool.server == "liar"]
                self.assertEqual(len(theirs), count)
                self.assertIn(part, "".join(servers.problems))
                self.assertEqual(bool(part), bool(servers.problems))
                self.assertLess(max((len(t.description) for t in theirs), default=0), 9_000)
                said = await self.call(servers, "mcp__good__echo", text="hi")
                self.assertTrue(said.text.startswith("hi by "), said)
                await self.ended(servers)

    async def test_names(self) -> None:
        servers = await self.start("names")
        theirs = {name: tool for name, tool in self.tools.items() if tool.server == "liar"}
        for name in theirs:
            self.assertRegex(name, r"\Amcp__liar__[A-Za-z0-9_-]{0,53}\Z")
        self.assertEqual(len(theirs), 13)
        self.assertEqual(self.tools["mcp__good__echo"].server, "good")
        problems = "".join(servers.problems)
        self.assertIn("do: it lists two tools of this name", problems)
        self.assertIn("a tool has no name", problems)
        self.assertEqual((await self.do(servers, "behave")).text, "fine")

    async def test_schemas(self) -> None:
        servers = await self.start("schemas")
        problems = "".join(servers.problems)
        for part in ("more than 65536 characters", "does not describe an object"):
            self.assertIn(part, problems)
        started = time.monotonic()
        usable = set()
        for tool in self.tools.values():
            try:
                Validator(tool.parameters).errors({"a": "a" * 40 + "!", "what": "behave"})
            except SchemaError:
                continue
            dumps(declaration(tool, results=False))
            usable.add(tool.listed_name)
        self.assertLess(time.monotonic() - started, seconds(GRACE_S))
        self.assertEqual(usable, {"do", "echo", "s2", "s12"})
        self.assertEqual(len(HOSTILE_SCHEMAS), 15)

    async def test_problems_have_an_end(self) -> None:
        entry = {"allowedTools": ["*"]}
        servers = await self.start("names", **entry)
        self.assertLessEqual(len(servers.problems), 20)


class Ended(unittest.IsolatedAsyncioTestCase):
    async def test_a_stop_that_is_given_up_is_waited_for_by_the_next(self) -> None:
        """Found by fuzzing: a server that was slow to start was still there when all had ended."""
        command = ["-c", "import os, sys; print(os.getpid(), flush=True); sys.stdin.read()"]
        before = processes.below(os.getpid())
        link = StdioLink("slow", Launch(sys.executable, (*command,)))
        await link.restart()
        stopping = asyncio.create_task(link.close())
        await asyncio.sleep(0)
        stopping.cancel()
        await asyncio.gather(stopping, return_exceptions=True)
        await link.close()
        self.assertTrue(stopping.cancelled())
        self.assertEqual(processes.below(os.getpid()) - before, set())

    async def test_one_that_ended_before_it_was_asked_says_how(self) -> None:
        last = "import sys; sys.exit('no licence')"
        link = StdioLink("short", Launch(sys.executable, ("-c", last)))
        self.addAsyncCleanup(link.close)
        await link.restart()
        assert link._process is not None
        with contextlib.suppress(ChildProcessError):  # the thread that watches it may be first
            os.waitid(os.P_PID, link._process.pid, os.WEXITED | os.WNOWAIT)
        with self.assertRaises(LinkError) as caught:
            for _ in range(2):  # the first only finds that nobody reads it
                await link.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        self.assertEqual(str(caught.exception), "its process ended (exit 1): no licence")


class Again(Case):
    async def test_a_server_that_fails_again_and_again_is_left_alone(self) -> None:
        servers = await self.start()
        for _ in range(2):
            self.assertIn("exit 3", (await self.do(servers, "die")).error["message"])
        started = len(self.notes.read_text().split())
        found = await self.do(servers, "behave")
        self.assertRegex(found.error["message"], r"failed 2 times in a row and is tried again in 1")
        self.assertEqual(len(self.notes.read_text().split()), started)


if __name__ == "__main__":
    unittest.main()
