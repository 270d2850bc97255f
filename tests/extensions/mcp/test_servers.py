"""MCP servers as tools: real processes with manners of every kind, and what the toolbox makes of
them."""

from __future__ import annotations

import asyncio
import copy
import json
import logging
import os
import signal
import sys
import tempfile
import unittest
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from server.agent.call_decisions import HostRecord, pending_calls, plan_call
from server.config import Config
from server.extensions.mcp.inbox import progress_line
from server.extensions.mcp.links import INHERITED, Launch, StdioLink
from server.extensions.mcp.peer import LinkError, Peer
from server.extensions.mcp.servers import McpServer, McpServers, Silence
from server.lib.http.client import Client
from server.session.call_actions import Ask, Execute, Reply
from server.session.fold import fold
from server.tools.toolbox import Toolbox

from ...fakes import DEFAULTS, events_of
from ...tooling.patience import seconds
from .made import toolbox_of

SCRIPT = str(Path(__file__).parents[2] / "tools" / "mcp_server.py")
SOON_S = 120.0


class Case(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        logging.disable(logging.CRITICAL)  # what is wrong with servers is read from `problems`
        self.addCleanup(logging.disable, logging.NOTSET)
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.home = Path(holder.name)
        self.notes = self.home / "notes"
        self.session: Any = {
            "id": "s",
            "config": copy.deepcopy(DEFAULTS["session"]["config"]),
            "grants": [],
            "messages": [],
            "calls": {},
            "interrupts": [],
        }

    def entry(self, *manners: str, **more: Any) -> Any:
        args = [SCRIPT, str(self.notes), *manners]
        return {"command": sys.executable, "args": args, "probe_timeout": 10, **more}

    async def toolbox(self, **entries: Any) -> Toolbox:
        server = copy.deepcopy(DEFAULTS["server"])
        server["mcpServers"] = entries
        toolbox = toolbox_of(Config(server, DEFAULTS["session"], self.home))
        self.addAsyncCleanup(toolbox.close)
        await toolbox.load_owner_tools()
        return toolbox

    def names(self, toolbox: Toolbox) -> list[str]:
        offered = [tool["function"]["name"] for tool in toolbox.declarations(self.session)]
        return [name for name in offered if name.startswith("mcp__")]

    async def call(self, toolbox: Toolbox, name: str, entry: Any = None, **args: Any) -> Any:
        """(the envelope, what the model reads, live output); folds events into the session."""
        call: Any = {"id": "c1", "function": {"name": name, "arguments": json.dumps(args)}}
        verdict = toolbox.verdict(self.session, call)
        assert verdict.args is not None, verdict
        live: list[str] = []
        last: Any = {}
        for event in await events_of(toolbox, self.session, call, verdict.args, entry or {}):
            fold(self.session, event)
            if event["type"].startswith("ACTIVITY"):
                live.append(json.dumps(event))
            last = event
        result = last.get("metadata", {}).get("yaa", {}).get("result")
        return result, last.get("content"), live

    def noted(self) -> list[str]:
        return self.notes.read_text().splitlines() if self.notes.exists() else []

    async def until(self, true: Callable[[], bool]) -> None:
        await eventually(true)


async def eventually(true: Callable[[], bool]) -> None:
    """Something another process does, seen at last."""
    async with asyncio.timeout(SOON_S):
        while not true():
            await asyncio.sleep(0.01)


def gone(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return True
    return state == "Z"


class Listed(Case):
    async def test_eras_and_manners(self) -> None:
        for manners, starts in (
            (("modern",), 1),
            (("legacy",), 2),
            (("silent",), 2),
            (("modern", "late"), 1),
            (("legacy", "late"), 1),
            (("modern", "chatty", "nonsense"), 1),
            (("legacy", "chatty", "nonsense"), 2),
        ):
            with self.subTest(manners):
                self.notes.unlink(missing_ok=True)
                slow = {"silent", "late"} & {*manners}
                wait = {"probe_timeout": 0.3 if slow else SOON_S}
                toolbox = await self.toolbox(s=self.entry(*manners, **wait))
                self.assertEqual(
                    [name.removeprefix("mcp__s__") for name in self.names(toolbox)],
                    ["again", "ask", "die", "echo", "fail", "flood", "odd_name_5e4baee2"]
                    + ["progress", "slow"],
                )
                started = [note for note in self.noted() if note.startswith("start")]
                self.assertEqual(len(started), starts)
                envelope, content, _ = await self.call(toolbox, "mcp__s__echo", text="hi")
                self.assertEqual(envelope["status"], "ok")
                self.assertTrue(content.startswith("hi by "), content)
                await toolbox.close()

    async def test_one_that_is_fetched_first_costs_a_start_no_more_than_that(self) -> None:
        listed: list[str] = []
        servers = McpServers({"s": self.entry("legacy", "late")}, Client(), patience_s=0.1)
        self.addAsyncCleanup(servers.close)
        await servers.load(lambda name, tools: listed.append(name))
        self.assertEqual(listed, [])
        self.assertIn("takes long to start", "\n".join(servers.problems))
        await self.until(lambda: bool(listed))
        self.assertNotIn("takes long", "\n".join(servers.problems))
        started = [note for note in self.noted() if note.startswith("start")]
        self.assertLessEqual(len(started), 2)

    async def test_one_that_never_lists_is_quoted(self) -> None:
        toolbox = await self.toolbox(s=self.entry("late", "stuck", start_timeout=seconds(0.7)))
        wanted = "it did not list its tools in time; the last it said: fetching"
        self.assertIn(wanted, "\n".join(toolbox.problems))

    async def test_the_last_words_of_one_that_died_have_none_of_its_credentials(self) -> None:
        entry = self.entry("dead", era="legacy", env={"SERVICE_TOKEN": "configuration"})
        toolbox = await self.toolbox(s=entry)
        problems = "\n".join(toolbox.problems)
        self.assertRegex(problems, r"its process ended \(exit 1\): no .* found")
        self.assertNotIn("configuration", problems)

    async def test_unusable_tools_are_left_out_and_said(self) -> None:
        toolbox = await self.toolbox(s=self.entry("modern"))
        problems = "\n".join(toolbox.problems)
        for part in (
            *("schemas are not fetched", "shapeless: its inputSchema", "has no name"),
            "task_only: it runs as a task only",
        ):
            self.assertIn(part, problems)
        self.assertFalse([name for name in self.names(toolbox) if "remote" in name])

    async def test_broken_servers_cost_nobody_else(self) -> None:
        toolbox = await self.toolbox(
            dead=self.entry("dead"),
            missing={"command": "/nonexistent/program"},
            unfit={"command": "x", "url": "http://x"},
            misspelt={"comand": "x"},
            nobody={"url": "http://127.0.0.1:9/?key=hidden"},
            circle=self.entry("modern", "circle"),
            stuck=self.entry("stuck", era="legacy", start_timeout=1),
            off={"command": "x", "disabled": True},
            good=self.entry("modern", allowedTools=["e*", "f*"], disabledTools=["*oo*"]),
        )
        self.assertEqual(self.names(toolbox), ["mcp__good__echo", "mcp__good__fail"])
        said = {line.split(":")[0]: line for line in toolbox.problems}
        for name, part in (
            ("dead", "no configuration found"),
            ("missing", "cannot be started"),
            ("unfit", "either"),
            ("misspelt", "unknown key comand"),
            ("nobody", "127.0.0.1:9 cannot be reached"),
            ("circle", "circle"),
            ("stuck", "in time"),
        ):
            self.assertIn(part, said[f"mcpServers.{name}"])
        self.assertNotIn("hidden", "".join(toolbox.problems))
        self.assertNotIn("mcpServers.off", said)

    async def test_endless_lists_end(self) -> None:
        toolbox = await self.toolbox(s=self.entry("modern", "endless"))
        self.assertEqual(len(self.names(toolbox)), 100)

    async def test_equal_entries_share_a_process(self) -> None:
        toolbox = await self.toolbox(a=self.entry("modern"), b=self.entry("modern", trust=True))
        self.assertEqual(len([n for n in self.noted() if n.startswith("start")]), 1)
        told = {tool["name"]: tool for tool in toolbox.info()}
        self.assertEqual(told["mcp__a__echo"]["policy"], "ask")
        self.assertEqual(told["mcp__b__echo"]["policy"], "run")
        self.assertEqual(told["mcp__b__fail"]["policy"], "ask")
        self.assertEqual(told["mcp__a__echo"]["origin"], "mcp a")
        self.assertTrue(told["mcp__a__echo"]["hints"]["destructive"])


class Called(Case):
    async def test_failures_are_results(self) -> None:
        toolbox = await self.toolbox(s=self.entry("modern"))
        for name, part in (
            ("fail", "it failed on purpose"),
            ("again", "asked for the same call 5 times"),
            ("flood", "a line of more than"),
            ("die", "its process ended (exit 3): goodbye, token=***"),
        ):
            with self.subTest(name):
                envelope, content, _ = await self.call(toolbox, f"mcp__s__{name}")
                self.assertEqual(envelope["status"], "error")
                self.assertIn(part, content)
                _, content, _ = await self.call(toolbox, "mcp__s__echo", text="back")
                self.assertTrue(content.startswith("back by "), content)

    async def test_progress_is_output(self) -> None:
        toolbox = await self.toolbox(s=self.entry("modern"))
        _, content, live = await self.call(toolbox, "mcp__s__progress")
        self.assertEqual(content, "both steps")
        self.assertEqual(len(live), 2)
        self.assertIn("2/2 step", live[1])

    async def test_a_slow_call_ends_at_its_limit_and_the_server_hears_of_it(self) -> None:
        toolbox = await self.toolbox(s=self.entry("modern"))
        limits = self.session["config"]["limits"]["tool"]
        limits["wall_s"], usual = 0.2, limits["wall_s"]
        envelope, content, _ = await self.call(toolbox, "mcp__s__slow")
        limits["wall_s"] = usual
        self.assertEqual(envelope["status"], "timeout")
        self.assertEqual(envelope["error"]["details"]["limit"], "wall_s")
        await eventually(lambda: "got notifications/cancelled" in self.noted())
        _, content, _ = await self.call(toolbox, "mcp__s__echo", text="still")
        self.assertTrue(content.startswith("still by "), content)

    async def test_a_timeout_is_the_longest_silence_and_progress_prolongs_it(self) -> None:
        silence_s = round(seconds(1))
        toolbox = await self.toolbox(s=self.entry("modern", timeout=silence_s))
        self.assertEqual(self.session["config"]["limits"]["tool"]["wall_s"], 300)
        envelope, content, _ = await self.call(toolbox, "mcp__s__slow")
        self.assertEqual(envelope["status"], "timeout")
        self.assertIn(f"was silent for {silence_s} s, the `timeout` of its entry", content)
        await eventually(lambda: "got notifications/cancelled" in self.noted())
        _, content, live = await self.call(toolbox, "mcp__s__progress", text="steady")
        self.assertEqual((content, len(live)), ("both steps", 15))

    async def test_silence_ends_a_call_at_its_own_limit_or_that_of_the_whole(self) -> None:
        now = asyncio.get_running_loop().time()
        for seconds_, wall_s, more_s, first, later in (
            (5, 300, 0, 5, 5),
            (5, 300, 30, 35, 5),
            (60, 20, 30, 20, 20),
        ):
            silence = Silence(seconds_, wall_s)
            async with silence.limit(more_s) as timeout:
                self.assertAlmostEqual((timeout.when() or 0) - now, first, delta=1)
                silence.end()
                self.assertAlmostEqual((timeout.when() or 0) - now, later, delta=1)

    async def test_closing_the_call_cancels_it(self) -> None:
        toolbox = await self.toolbox(s=self.entry("modern"))
        work = asyncio.create_task(self.call(toolbox, "mcp__s__slow"))
        await eventually(lambda: "got tools/call" in self.noted())
        work.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await work
        await eventually(lambda: "got notifications/cancelled" in self.noted())

    async def test_calls_at_once_get_their_own_answers(self) -> None:
        toolbox = await self.toolbox(s=self.entry("modern", "chatty"))
        texts = [f"number {n} " for n in range(20)]
        calls: list[Awaitable[Any]] = [
            self.call(toolbox, "mcp__s__echo", text=text) for text in texts
        ]
        found = await asyncio.gather(*calls)
        for text, (_, content, _) in zip(texts, found, strict=True):
            self.assertTrue(content.startswith(text), (text, content))


class Asked(Case):
    """`input_required`: the run stops, a person answers, the call goes on."""

    def the_call(self, name: str) -> Any:
        return {"id": "c1", "type": "function", "function": {"name": name, "arguments": "{}"}}

    def planned(self, toolbox: Toolbox, call: Any) -> Any:
        """What is done about the call by a host that has begun whatever it is asked about."""
        message: Any = {"role": "assistant", "tool_calls": [call]}
        session: Any = {**self.session, "messages": [message]}
        begun = HostRecord(begun=lambda *_: True)
        return plan_call(*pending_calls(session, toolbox, begun))

    async def waiting(self, toolbox: Toolbox) -> tuple[Any, Ask]:
        """The call, approved and run, and what it asks."""
        call = self.the_call("mcp__s__ask")
        approval = self.planned(toolbox, call)
        self.session["calls"]["c1"] = approval.entry
        payload = {"approved": True}
        answer = {"status": "resolved", "payload": payload}
        self.session["interrupts"] = [{**approval.interrupt, "answer": answer}]
        job = self.planned(toolbox, call)
        self.assertIsInstance(job, Execute)
        self.session["calls"]["c1"], self.session["interrupts"] = job.entry, []
        result, content, _ = await self.call(toolbox, "mcp__s__ask", job.entry)
        self.assertIsNone(result)
        ask = self.planned(toolbox, call)
        self.assertIsInstance(ask, Ask)
        self.session["calls"]["c1"] = ask.entry
        return call, ask

    async def answer(self, toolbox: Toolbox, call: Any, ask: Ask) -> Execute:
        answer = {"status": "resolved", "payload": {"name": "Ann"}}
        self.session["interrupts"] = [{**ask.interrupt, "answer": answer}]
        self.session = json.loads(json.dumps(self.session))  # it travelled
        job = self.planned(toolbox, call)
        assert isinstance(job, Execute), job
        self.assertEqual(job.entry["attempt"], 2)
        return job

    async def test_the_answer_goes_back_with_the_state(self) -> None:
        toolbox = await self.toolbox(s=self.entry("modern"))
        call, ask = await self.waiting(toolbox)
        self.assertEqual(ask.interrupt["reason"], "input_required")
        self.assertEqual(ask.interrupt["message"], "Your name?")
        self.assertEqual(ask.interrupt["server"], "s")
        self.assertEqual(ask.interrupt["response_schema"]["required"], ["name"])
        self.assertIsInstance(self.planned(toolbox, call), Ask)  # as long as nobody answers
        job = await self.answer(toolbox, call, ask)
        _, content, _ = await self.call(toolbox, "mcp__s__ask", job.entry)
        self.assertEqual(content, "hello Ann")

    async def test_a_question_has_no_credentials_and_its_state_comes_back_whole(self) -> None:
        env = {"A_TOKEN": "Your name", "B_TOKEN": "state of"}
        toolbox = await self.toolbox(s=self.entry("modern", env=env))
        call, ask = await self.waiting(toolbox)
        self.assertEqual(ask.interrupt["message"], "***?")
        job = await self.answer(toolbox, call, ask)
        _, content, _ = await self.call(toolbox, "mcp__s__ask", job.entry)
        self.assertEqual(content, "hello Ann")

    async def test_a_state_that_is_lost_is_said(self) -> None:
        toolbox = await self.toolbox(s=self.entry("modern"))
        call, ask = await self.waiting(toolbox)
        await toolbox.close()
        other = await self.toolbox(s=self.entry("modern"))
        job = await self.answer(other, call, ask)
        result, content, _ = await self.call(other, "mcp__s__ask", job.entry)
        self.assertEqual(result["status"], "error")
        self.assertIn("forgotten its question", content)

    async def test_nothing_is_carried_over_to_other_arguments_or_a_denied_tool(self) -> None:
        toolbox = await self.toolbox(s=self.entry("modern"))
        call, _ = await self.waiting(toolbox)
        other = self.the_call("mcp__s__ask")
        other["function"]["arguments"] = '{"text": "changed"}'
        ask = self.planned(toolbox, other)
        self.assertEqual((ask.interrupt["reason"], "input" in ask.entry), ("tool_call", False))
        self.session["config"]["tool"]["mcp__s__ask"] = {"deny": True}
        self.assertIsInstance(self.planned(toolbox, call), Reply)

    async def test_an_input_of_no_shape_harms_nothing(self) -> None:
        toolbox = await self.toolbox(s=self.entry("modern"))
        call, ask = await self.waiting(toolbox)
        unfit: list[Any] = [
            {},
            {"keys": 5, "state": 5, "message": 5, "response_schema": 5},
            {"keys": [{}]},
        ]
        for odd in unfit:
            with self.subTest(odd):
                self.session["calls"]["c1"] = {**ask.entry, "input": odd}
                self.session["interrupts"] = []
                asked = self.planned(toolbox, call)
                self.assertIsInstance(asked.interrupt["response_schema"], dict)
                job = await self.answer(toolbox, call, asked)
                result, _, _ = await self.call(toolbox, "mcp__s__ask", job.entry)
                self.assertIn((result or {}).get("status"), (None, "ok", "error"))

    async def test_a_refusal_is_told_and_runs_nothing_else(self) -> None:
        toolbox = await self.toolbox(s=self.entry("modern"))
        call, ask = await self.waiting(toolbox)
        for payload, wanted in (
            (None, "cancel"),
            ({"action": "decline"}, "decline"),
            ({"action": "accept"}, "cancel"),
            ("decline", "cancel"),
        ):
            with self.subTest(payload):
                self.notes.write_text("")
                self.session["calls"]["c1"] = ask.entry
                answer = {"status": "cancelled", "payload": payload}
                self.session["interrupts"] = [{**ask.interrupt, "answer": answer}]
                job = self.planned(toolbox, call)
                self.assertIsInstance(job, Execute)
                _, content, _ = await self.call(toolbox, "mcp__s__ask", job.entry)
                self.assertEqual(content, "hello stranger")
                self.assertIn(f"answer {wanted}", self.noted())
        self.session["calls"]["c1"] = ask.entry
        changed = {**call, "function": {**call["function"], "arguments": '{"text": "changed"}'}}
        again = self.planned(toolbox, changed)
        self.assertIsInstance(again, Reply, "a refusal runs nothing that was not begun")


class Changed(Case):
    async def test_a_list_that_grows_is_read_again(self) -> None:
        for era in ("modern", "legacy"):
            with self.subTest(era):
                toolbox = await self.toolbox(
                    s=self.entry(era, "growing", allowedTools=["e*", "g*"]),
                    t=self.entry(era, allowedTools=["echo"]),
                )
                before = self.names(toolbox)
                self.assertEqual(before, ["mcp__s__echo", "mcp__s__grow", "mcp__t__echo"])
                await self.call(toolbox, "mcp__s__grow")
                self.assertEqual(self.names(toolbox), before, "asked for when a run begins")
                toolbox.look_again()  # the next run
                await eventually(lambda box=toolbox: "mcp__s__grown" in self.names(box))  # type: ignore[misc]
                wanted = ["mcp__s__echo", "mcp__s__grow", "mcp__s__grown", "mcp__t__echo"]
                self.assertEqual(self.names(toolbox), wanted)
                _, content, _ = await self.call(toolbox, "mcp__t__echo", text="same")
                self.assertTrue(content.startswith("same by "), content)
                await toolbox.close()

    async def test_a_tool_that_is_gone_when_its_call_comes(self) -> None:
        toolbox = await self.toolbox(s=self.entry("modern"))
        call = {"id": "c1", "function": {"name": "mcp__s__gone", "arguments": "{}"}}
        events = await events_of(toolbox, self.session, call, {}, {})
        found = events[-1]["metadata"]["yaa"]["result"]
        self.assertEqual(found["status"], "not_found")
        self.assertIn("no tool named 'mcp__s__gone'", found["error"]["message"])


class Outside(Case):
    async def test_its_environment_is_what_was_named(self) -> None:
        os.environ["YAA_TEST_SECRET_API_KEY"] = "canary"
        self.addCleanup(os.environ.pop, "YAA_TEST_SECRET_API_KEY")
        await self.toolbox(s=self.entry("modern", env={"OWN": "mine", "HOME": "/elsewhere"}))
        [line] = [note for note in self.noted() if note.startswith("env ")]
        self.assertIn("OWN=mine", line)
        self.assertIn("HOME=/elsewhere", line)
        self.assertIn("PATH=", line)
        self.assertNotIn("canary", line)
        names = {pair.partition("=")[0] for pair in line.split()[1:] if "=" in pair}
        # LC_CTYPE: CPython sets it for itself where the locale is C (PEP 538).
        self.assertLessEqual(names, {*INHERITED, "OWN", "LC_CTYPE"})

    async def test_an_echo_of_its_credentials_goes_no_further(self) -> None:
        env = {"ITS_TOKEN": "medlar-99", "ROOT": "/home/me"}
        toolbox = await self.toolbox(s=self.entry("modern", env=env))
        for name in ("echo", "progress"):
            with self.subTest(name):
                text = "medlar-99 in /home/me"
                found = json.dumps(await self.call(toolbox, f"mcp__s__{name}", text=text))
                self.assertNotIn("medlar-99", found)
                self.assertIn("*** in /home/me", found)

    async def test_no_result_claims_a_sandbox(self) -> None:
        toolbox = await self.toolbox(s=self.entry("modern"))
        for name in ("echo", "fail", "die"):
            envelope, _, _ = await self.call(toolbox, f"mcp__s__{name}")
            self.assertEqual(envelope["sandbox"], {"tier": "none"})

    async def test_more_time_than_there_is(self) -> None:
        """A number of milliseconds, as other programs have it, is as long as is allowed."""
        toolbox = await self.toolbox(s=self.entry("modern", timeout=600_000))
        told = {tool["name"]: tool for tool in toolbox.info()}
        self.assertNotIn("unavailable", told["mcp__s__echo"])


class Ended(Case):
    async def test_close_ends_everything(self) -> None:
        for manners in (("modern",), ("modern", "parent"), ("modern", "stubborn", "parent")):
            with self.subTest(manners):
                self.notes.unlink(missing_ok=True)
                toolbox = await self.toolbox(s=self.entry(*manners))
                await toolbox.close()
                pids = [int(n.split()[1]) for n in self.noted() if n[:5] in ("start", "child")]
                for pid in pids:
                    await eventually(lambda pid=pid: gone(pid))  # type: ignore[misc]
                self.assertIn("end of input", self.noted())
                self.assertEqual("SIGTERM" in self.noted(), "stubborn" in manners)

    async def test_a_process_that_was_killed_is_started_again(self) -> None:
        toolbox = await self.toolbox(s=self.entry("modern"))
        pid = int(self.noted()[0].split()[1])
        os.kill(pid, 9)
        await eventually(lambda: gone(pid))
        contents = []
        for _ in range(2):
            contents.append((await self.call(toolbox, "mcp__s__echo", text="x"))[1])
        self.assertTrue(contents[1].startswith("x by "), contents)
        self.assertNotIn(f"x by {pid}", contents)

    async def test_one_that_closed_its_input_is_started_again(self) -> None:
        for manners in (("modern", "deaf"), ("legacy", "deaf")):
            with self.subTest(manners):
                toolbox = await self.toolbox(s=self.entry(*manners))
                _, content, _ = await self.call(toolbox, "mcp__s__deafen")
                self.assertEqual(content, "not a word more")
                for text in ("back", "and again"):
                    _, content, _ = await self.call(toolbox, "mcp__s__echo", text=text)
                    self.assertTrue(content.startswith(f"{text} by "), content)

    async def test_a_request_that_is_not_read_to_its_end_fails(self) -> None:
        """It is larger than the pipe, and smaller than what a writer waits for."""
        deaf = "import os, signal; signal.signal(signal.SIGUSR1, lambda *_: os.close(0))"
        command = f"{deaf}; print(os.getpid(), flush=True)\nwhile True: signal.pause()"
        link = StdioLink("deaf", Launch(sys.executable, ("-c", command)))
        self.addAsyncCleanup(link.close)
        await link.restart()
        await eventually(lambda: bool(link.last_words))
        work = asyncio.create_task(link.request({"id": 1, "method": "x", "params": "x" * 100_000}))
        await asyncio.sleep(0)
        self.assertTrue(link.alive)
        os.kill(int(link.last_words), signal.SIGUSR1)
        with self.assertRaisesRegex(LinkError, "it closed its input"):
            await asyncio.wait_for(work, SOON_S)
        self.assertFalse(link.alive)


class Words(unittest.TestCase):
    def test_credentials_wherever_they_stand(self) -> None:
        key = "4f9a0c1de87b23aa"
        header = [
            "-y",
            "mcp-remote",
            "https://m.example",
            "--header",
            f"Authorization: Bearer {key}",
        ]
        for entry, found in (
            ({"url": f"https://m.example/mcp?api_key=short-1&k={key}&region=eu"}, [key, "short-1"]),
            ({"url": f"https://m.example/s/{key}/mcp"}, [key]),
            ({"url": f"https://m.example/mcp?project_ref={key}"}, []),
            ({"command": "x", "args": ["--database-id", key, f"--repo={key}"]}, []),
            ({"command": "npx", "args": ["mcp-remote", f"https://m.example/{key}/sse"]}, [key]),
            ({"command": "x", "args": ["--api-key", key, "--no-auth", "/srv/a/long/path"]}, [key]),
            ({"command": "x", "args": [f"--token={key}", "--auth", "oauth2"]}, [key]),
            ({"command": "npx", "args": header}, [f"Bearer {key}", key]),
            ({"command": "x", "env": {"KEY": "abcdef"}, "args": ["--key", "abc"]}, ["abcdef"]),
        ):
            with self.subTest(entry):
                peer = Peer(StdioLink("s", Launch("x")))
                self.assertEqual(McpServer("s", entry, peer).credentials(), found)

    def test_progress(self) -> None:
        for params, line in (
            ({"progress": 1, "total": 2, "message": "m"}, "1/2 m\n"),
            ({"progress": 0.5}, "0.5\n"),
            ({"progress": 1.0, "total": 2.0}, "1/2\n"),
            ({"progress": float("inf")}, "inf\n"),
            ({"message": "m", "progress": "x"}, "m\n"),
            ({"message": "m" * 9000}, "m" * 2000 + "\n"),
            ({}, "\n"),
        ):
            with self.subTest(line[:20]):
                self.assertEqual(progress_line(params), line)

    def test_no_servers(self) -> None:
        asyncio.run(McpServers({}, Client()).load(lambda name, tools: self.fail(name)))


if __name__ == "__main__":
    unittest.main()
