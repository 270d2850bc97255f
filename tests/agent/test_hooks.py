"""Hooks: which are loaded, in what order they are asked, what they may change, how they fail."""

from __future__ import annotations

import asyncio
import io
import json
import tempfile
import textwrap
import threading
import unittest
from dataclasses import replace
from pathlib import Path
from typing import Any

from server.agent.hooks import POINTS, Hook, Hooks, hook
from server.agent.loop import BaseAgent
from server.json_types import Event
from server.session.call_actions import Verdict
from server.session.fold import Folder
from server.telemetry import log

from ..fakes import CountingToolbox, ScriptedModel, agent, user
from .test_loop import collect

HEAD = "from yaa import hook\n\n"
TOOLS = {"time": "read", "rm": "auto"}


def two_steps(messages: list[Any]) -> list[tuple[Any, ...]]:
    """A call, then an answer."""
    if messages[-1]["role"] == "tool":
        return [("text", ["do", "ne"])]
    return [("text", ["so"]), ("call", "time", ['{"zone":', '"UTC"}'])]


class Case(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.hooks = Hooks()
        self.stream = io.StringIO()
        log.setup("info", stream=self.stream)
        self.addCleanup(log.setup, "error", stream=io.StringIO())

    def file(self, name: str, source: str) -> Path:
        path = self.folder / name
        path.write_text(HEAD + textwrap.dedent(source))
        path.chmod(0o600)
        return path

    def add(self, point: str, function: Any, *, priority: int = 100, timeout_s: float = 5) -> None:
        hooks = self.hooks._at.setdefault(point, [])
        hooks.append(Hook(f"test.py:{point}", point, priority, timeout_s, function))
        hooks.sort(key=lambda each: each.priority)

    def host(self, script: Any = two_steps) -> BaseAgent:
        self.counts: dict[tuple[str, str], int] = {}
        self.model = ScriptedModel(script)
        made = agent(self.model, CountingToolbox(TOOLS, self.counts))
        made.hooks = self.hooks
        return made

    async def run_once(self, script: Any = two_steps, document: Any | None = None) -> Any:
        document = document or {"id": "s", "messages": [user("go")]}
        before = json.loads(json.dumps(document))
        run = self.host(script).prepare(document, "phone", "ann")
        self.events: list[Event] = await collect(run)
        folder = Folder(before)
        for event in self.events:
            folder.apply(event)
        folder.flush()
        self.assertEqual(before, run.session, "the events alone make the same session")
        return run.session


class Loading(Case):
    def test_by_priority_then_by_file_and_place(self) -> None:
        self.file("b.py", "@hook('pre_call', priority=51)\ndef b(value, ctx): pass\n")
        self.file(
            "a.py",
            """
            @hook("pre_call")
            def late(value, ctx): pass

            @hook("pre_call", priority=0)
            @hook("error")
            async def early(value, ctx): pass

            @hook("pre_call")
            def later(value, ctx): pass
            """,
        )
        self.hooks.load(self.folder)
        names = [each.name for each in self.hooks.hooks_at("pre_call")]
        self.assertEqual(names, ["a.py:early", "b.py:b", "a.py:late", "a.py:later"])
        self.assertEqual(
            [each.guards for each in self.hooks.hooks_at("pre_call")], [True] + 3 * [False]
        )
        self.assertEqual(self.hooks.hooks_at("error")[0].name, "a.py:early")
        loaded = self.hooks.info()["loaded"]
        self.assertIn({"name": "b.py:b", "point": "pre_call", "priority": 51}, loaded)

    def test_files_that_are_refused(self) -> None:
        for name, source, said in (
            ("syntax.py", "def (:\n", "SyntaxError in line 3"),
            ("raises.py", "1 / 0\n", "ZeroDivisionError"),
            ("leaves.py", "raise SystemExit(3)\n", "SystemExit"),
            ("imports.py", "import nowhere_at_all\n", "ModuleNotFoundError"),
            ("point.py", "@hook('pre_cal')\ndef f(v, c): pass\n", "there is no point 'pre_cal'"),
            ("priority.py", "@hook('error', priority=1001)\ndef f(v, c): pass\n", "from 0 to 1000"),
            ("empty.py", "x = 1\n", "there is no hook in it"),
        ):
            self.file(name, source)
            hooks = Hooks()
            hooks.load(self.folder)
            with self.subTest(name=name):
                self.assertEqual(hooks.info()["loaded"], [])
                (problem,) = hooks.problems
                self.assertRegex(problem, rf"^hooks/{name}: .*{said}")
            (self.folder / name).unlink()

    def test_files_that_others_could_have_written(self) -> None:
        path = self.file("a.py", "@hook('error')\ndef f(value, ctx): pass\n")
        for mode in (0o602, 0o606, 0o666):
            path.chmod(mode)
            hooks = Hooks()
            hooks.load(self.folder)
            with self.subTest(mode=oct(mode)):
                self.assertIn("can be written by others", hooks.problems[0])
        path.chmod(0o600)
        self.folder.chmod(0o777)
        hooks = Hooks()
        hooks.load(self.folder)
        self.assertIn("its folder can be written by others", hooks.problems[0])

    def test_a_good_file_beside_a_bad_one(self) -> None:
        self.file("bad.py", "1 / 0\n")
        self.file("good.py", "@hook('error')\ndef f(value, ctx): pass\n")
        self.hooks.load(self.folder)
        self.assertEqual(len(self.hooks.problems), 1)
        self.assertEqual(len(self.hooks.hooks_at("error")), 1)


class Points(Case):
    async def test_the_order_of_a_run_of_two_steps(self) -> None:
        called: list[str] = []
        for point in POINTS:
            self.add(point, lambda value, ctx: called.append(ctx.point))
        session = await self.run_once()
        self.assertEqual(session["status"], "completed")
        self.assertEqual(
            called,
            [
                *("pre_call", "pre_reasoning", "reasoning_chunk", "reasoning_chunk"),
                *("reasoning_chunk", "reasoning_chunk", "post_reasoning"),
                *("pre_acting", "acting_chunk", "post_acting"),
                *("pre_reasoning", "reasoning_chunk", "reasoning_chunk", "post_reasoning"),
                "post_call",
            ],
        )

    async def test_interrupt_error_and_compaction(self) -> None:
        called: list[Any] = []
        for point in ("on_interrupt", "error", "pre_compress"):
            self.add(point, lambda value, ctx: called.append((ctx.point, value)))
        await self.run_once(lambda _: [("error", "it is down")])
        self.assertEqual(called[0], ("error", {"code": "upstream_error", "message": "it is down"}))
        called.clear()
        limits = {"config": {"limits": {"max_steps": 1}}, "messages": [user("go")]}
        await self.run_once(document=limits)
        (interrupt,) = called
        self.assertEqual(interrupt[0], "on_interrupt")
        self.assertEqual(interrupt[1]["interrupts"][0]["limit"], "max_steps")
        called.clear()
        texts = [user("x" * 4000, f"u{n}") for n in range(60)]
        small = {"config": {"context": {"budget": 2000}}, "messages": [*texts, user("go", "last")]}
        await self.run_once(lambda _: [("text", ["hi"])], small)
        self.assertEqual(called[0][0], "pre_compress")
        self.assertTrue(called[0][1]["ops"])

    async def test_what_a_hook_is_told(self) -> None:
        found: list[Any] = []
        self.add("pre_call", lambda value, ctx: found.append((ctx, ctx.session())))
        session = await self.run_once()
        context, document = found[0]
        self.assertEqual(
            (context.run, context.session_id, context.model, context.key_name, context.owner),
            (session["run"]["id"], "s", "scripted", "phone", "ann"),
        )
        document["messages"].clear()
        self.assertTrue(session["messages"])

    async def test_instructions_for_one_request_are_last_and_not_stored(self) -> None:
        added = {"role": "user", "content": "Answer in French."}
        self.add("pre_reasoning", lambda value, ctx: [*value, added])
        session = await self.run_once(lambda _: [("text", ["oui"])])
        self.assertEqual(self.model.requests[0][-1], added)
        self.assertNotIn("French", json.dumps(session))

    async def test_arguments_are_changed_and_the_session_shows_it(self) -> None:
        async def zone(value: Any, ctx: Any) -> Any:
            return {**value, "args": {"zone": "CET"}}

        self.add("pre_acting", zone)
        session = await self.run_once()
        (entry,) = session["calls"].values()
        self.assertEqual((entry["args"], entry["args_by"]), ({"zone": "CET"}, "hook"))
        result = next(m for m in session["messages"] if m["role"] == "tool")
        self.assertIn('"CET"', result["content"])

    async def test_arguments_that_name_a_result_to_come_are_none(self) -> None:
        """All calls of a message are looked at before the first one runs, so it cannot be waited
        for; the call would have run without any arguments."""

        class Templates(CountingToolbox):
            def verdict(self, session: Any, call: Any) -> Verdict:
                found = super().verdict(session, call)
                later = "{{rm.x}}" in (found.args or {}).values()
                return Verdict("wait", "rm has given no result yet") if later else found

        self.add("pre_acting", lambda value, ctx: {**value, "args": {"zone": "{{rm.x}}"}})
        host = self.host()
        host.toolbox = Templates(TOOLS, self.counts)  # type: ignore[assignment]
        run = host.prepare({"messages": [user("go")]})
        await collect(run)
        result = next(m for m in run.session["messages"] if m["role"] == "tool")
        self.assertIn("rm has given no result yet", result["content"])
        self.assertEqual(self.counts, {})

    async def test_a_hook_that_guards_a_tool_guards_what_is_like_it(self) -> None:
        class Alike(CountingToolbox):
            def verdict(self, session: Any, call: Any) -> Verdict:
                return replace(super().verdict(session, call), like="shell")

        def guard(value: Any, ctx: Any) -> Any:
            return {**value, "refused": "no force"} if value["name"] == "shell" else value

        self.add("pre_acting", guard)
        host = self.host()
        host.toolbox = Alike(TOOLS, self.counts)  # type: ignore[assignment]
        run = host.prepare({"messages": [user("go")]})
        await collect(run)
        result = next(m for m in run.session["messages"] if m["role"] == "tool")
        self.assertIn("no force", result["content"])
        self.assertEqual(self.counts, {})

    async def test_a_call_is_refused(self) -> None:
        self.add("pre_acting", lambda value, ctx: {**value, "refused": "not on Sundays"})
        session = await self.run_once()
        result = next(m for m in session["messages"] if m["role"] == "tool")
        self.assertIn("not on Sundays", result["content"])
        self.assertEqual(self.counts, {})
        self.assertEqual(session["status"], "completed")

    async def test_results_and_messages_are_replaced(self) -> None:
        self.add("post_acting", lambda value, ctx: {**value, "content": "noon", "is_error": True})
        self.add("post_reasoning", lambda value, ctx: {**value, "content": value["content"] + "!"})
        self.add("post_call", lambda value, ctx: {"content": value["content"].upper()})
        session = await self.run_once()
        said = [m["content"] for m in session["messages"]]
        self.assertEqual(said, ["go", "so!", "noon", "DONE!"])
        self.assertEqual(self.model.requests[-1][-1]["content"], "noon")
        self.assertTrue(session["messages"][2]["is_error"])

    async def test_a_call_of_the_model_is_taken_away(self) -> None:
        self.add("post_reasoning", lambda value, ctx: {"content": "no tools today"})
        session = await self.run_once()
        self.assertEqual(self.counts, {})
        self.assertEqual(session["calls"], {})
        self.assertNotIn("tool_calls", session["messages"][-1])
        self.assertEqual(session["status"], "completed")

    async def test_one_after_the_other_each_sees_what_the_one_before_gave(self) -> None:
        for priority, letter in ((300, "c"), (51, "a"), (100, "b")):

            def add(value: Any, ctx: Any, letter: str = letter) -> Any:
                return {**value, "content": value["content"] + letter}

            self.add("post_call", add, priority=priority)
        session = await self.run_once()
        self.assertEqual(session["messages"][-1]["content"], "doneabc")


class Failing(Case):
    def broken(self, value: Any, ctx: Any) -> Any:
        raise ValueError("secret path /etc/x")

    async def test_it_is_logged_under_an_id_and_skipped(self) -> None:
        async def leaves(value: Any, ctx: Any) -> Any:
            raise SystemExit(1)

        for function in (self.broken, leaves):
            self.hooks = Hooks()
            for point in POINTS:
                self.add(point, function, priority=51)
            session = await self.run_once()
            self.assertEqual(session["status"], "completed")
        self.assertRegex(self.stream.getvalue(), r"hook test\.py:pre_call failed: ValueError \(inc")
        self.assertRegex(self.stream.getvalue(), r"incident [0-9a-f]{12}\).*secret path")

    async def test_in_the_security_band_the_run_ends(self) -> None:
        for point in POINTS:
            if point in ("error", "on_interrupt", "pre_compress"):
                continue
            self.hooks = Hooks()
            self.add(point, self.broken, priority=50)
            session = await self.run_once()
            with self.subTest(point=point):
                self.assertEqual(session["status"], "failed")
                error = session["messages"][-1]
                self.assertEqual(error["code"], "hook_failed")
                self.assertIn(f"security hook test.py:{point} failed", error["content"])
                self.assertNotIn("/etc/x", json.dumps(self.events))
                if point in ("pre_call", "pre_reasoning", "post_reasoning", "pre_acting"):
                    self.assertEqual(self.counts, {})

    async def test_what_does_not_fit_is_not_taken(self) -> None:
        for point, given in (
            ("pre_reasoning", "text"),
            ("pre_reasoning", [1]),
            ("pre_reasoning", [{"role": "user"}]),
            ("pre_reasoning", [{"role": "tool", "tool_call_id": "x", "content": "", "name": "y"}]),
            ("post_reasoning", {"content": 5}),
            ("post_reasoning", {"content": "", "tool_calls": [{"id": "new"}]}),
            ("pre_acting", {"args": "text"}),
            ("pre_acting", ["x"]),
            ("post_acting", {"content": "x"}),
            ("post_acting", {"content": "x", "is_error": False, "result": {1, 2}}),
            ("post_call", {"content": None}),
            ("post_call", {"content": "half of a pair: \ud83d"}),
        ):
            self.hooks = Hooks()
            self.stream.truncate(0)
            self.add(point, lambda value, ctx, given=given: given)
            session = await self.run_once()
            with self.subTest(point=point, given=given):
                self.assertEqual(session["status"], "completed")
                self.assertEqual(session["messages"][-1]["content"], "done")
                self.assertIn(f"hook test.py:{point} gave", self.stream.getvalue())

    async def test_a_hook_only_has_a_copy(self) -> None:
        def spoil(value: Any, ctx: Any) -> None:
            (value if isinstance(value, dict) else value[0]).clear()

        for point in POINTS:
            self.add(point, spoil)
        session = await self.run_once()
        self.assertEqual(session["messages"][-1]["content"], "done")
        self.assertNotIn("yaa.hooks", self.stream.getvalue())

    async def test_too_slow(self) -> None:
        gate = threading.Event()
        self.addCleanup(gate.set)

        async def never(value: Any, ctx: Any) -> None:
            await asyncio.Event().wait()

        def stuck(value: Any, ctx: Any) -> None:
            gate.wait()

        for function in (never, stuck):
            self.hooks = Hooks()
            self.stream.truncate(0)
            self.add("pre_call", function, timeout_s=0.01)
            session = await self.run_once()
            self.assertEqual(session["status"], "completed")
            self.assertIn("took longer than 0.01 s", self.stream.getvalue())
        for _ in range(5):
            await self.run_once()
        self.assertIn("4 earlier calls have not come back", self.stream.getvalue())

    async def test_a_chunk_hook_that_fails_is_asked_once_a_run(self) -> None:
        self.add("reasoning_chunk", self.broken)
        await self.run_once()
        self.assertEqual(self.stream.getvalue().count("reasoning_chunk failed"), 1)


class Marking(unittest.TestCase):
    def test_what_hook_refuses(self) -> None:
        for point, options in (
            ("nowhere", {}),
            ("error", {"priority": -1}),
            ("error", {"timeout_s": 0}),
        ):
            with self.subTest(point=point, options=options), self.assertRaises(ValueError):
                hook(point, **options)


if __name__ == "__main__":
    unittest.main()
