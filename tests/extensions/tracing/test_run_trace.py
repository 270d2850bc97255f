"""The spans of whole runs: names, times, parents, and what the conventions want on them."""

from __future__ import annotations

import copy
import json
import unittest
from contextlib import aclosing
from typing import Any

from server.config import Config
from server.extensions.tracing.parts import TracingParts
from server.extensions.tracing.spans import CLIENT, Span
from server.json_types import Session
from server.telemetry import trace_context

from ...agent.test_loop import TOOLS, collect, complete, plan
from ...fakes import DEFAULTS, NOWHERE, CountingToolbox, Ids, ScriptedModel, agent, answer, user
from ...test_context import Windowed, long_session
from ...test_docs import first_column, strings
from ...tooling.tools import ROOT
from ..hosts import host_of

THEIRS = trace_context.TraceContext("4b" * 16, "0a" * 8, shared=True)


class Kept:
    """Keeps what parts with these settings export."""

    def __init__(self, **settings: Any) -> None:
        server = copy.deepcopy(DEFAULTS["server"])
        server["tracing"] |= {"url": "http://127.0.0.1:9"} | settings
        made = TracingParts(host_of(Config(server, {}, NOWHERE)))
        self.spans: list[Span] = []
        exporter: Any = made.exporter
        exporter.add, exporter.open = self.spans.append, lambda: None
        self.part = made.run_part

    def named(self, name: str) -> list[Span]:
        return [span for span in self.spans if span.name.startswith(name)]


class Case(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        self.sink, self.hosts = Kept(), 0
        token = trace_context.current.set(None)
        self.addCleanup(trace_context.current.reset, token)

    async def run_once(self, document: Session, script: Any = plan) -> Any:
        self.hosts += 1
        ids = Ids(f"{self.hosts}-")
        parts = [self.sink.part]
        host = agent(ScriptedModel(script), CountingToolbox(TOOLS, {}), ids=ids, parts=parts)
        run = host.prepare(copy.deepcopy(document))
        await collect(run)
        return run.session


class Runs(Case):
    async def test_spans_nest_and_carry_the_run(self) -> None:
        trace_context.current.set(THEIRS)
        session = await self.run_once({"id": "s", "messages": [user("go")]})
        await self.run_once(complete(session))
        first, second = self.sink.named("invoke_agent default")
        self.assertEqual(first.attributes["yaa.run.id"], session["run"]["id"])
        for run in (first, second):
            self.assertEqual(run.parent_id, THEIRS.span_id)
            self.assertEqual(run.context.trace_id, THEIRS.trace_id)
            self.assertEqual(run.attributes["gen_ai.conversation.id"], "s")
            self.assertEqual(run.attributes["gen_ai.operation.name"], "invoke_agent")
        self.assertEqual(first.attributes["yaa.finish_reason"], "awaiting")
        self.assertEqual(second.attributes["yaa.finish_reason"], "completed")
        ids = {first.context.span_id, second.context.span_id}
        below = [s for s in self.sink.spans if s not in (first, second)]
        self.assertEqual({s.parent_id for s in below}, ids)
        self.assertEqual(len(self.sink.named("chat scripted")), 2)
        tools = [s.attributes["gen_ai.tool.name"] for s in self.sink.named("execute_tool")]
        self.assertEqual(sorted(tools), ["note", "rm", "time"])
        for span in self.sink.spans:
            self.assertGreaterEqual(span.end_ns, span.start_ns)
            self.assertEqual(span.error, "")
        for span in below:
            run = first if span.parent_id == first.context.span_id else second
            self.assertLessEqual(run.start_ns, span.start_ns)
            self.assertLessEqual(span.end_ns, run.end_ns)
        self.assertEqual(trace_context.current.get(), THEIRS, "what was there before the run")

    async def test_what_a_call_of_the_model_says(self) -> None:
        await self.run_once({"messages": [user("go")]}, lambda _: [("text", ["hi"])])
        (chat,) = self.sink.named("chat")
        self.assertEqual(chat.kind, CLIENT)
        first = chat.attributes.pop("gen_ai.response.time_to_first_chunk")
        self.assertGreaterEqual(first, 0)
        self.assertLess(first, 60)
        session_id = chat.attributes.pop("gen_ai.conversation.id")
        self.assertTrue(session_id)
        expected = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": "yaa",
            "gen_ai.request.model": "scripted",
            "gen_ai.response.model": "scripted",
            "gen_ai.response.finish_reasons": ["stop"],
            "gen_ai.usage.input_tokens": 11,
            "gen_ai.usage.output_tokens": 7,
            "yaa.step": "step 1",
        }
        self.assertEqual(chat.attributes, expected)
        (run,) = self.sink.named("invoke_agent")
        self.assertEqual(run.attributes["gen_ai.usage.input_tokens"], 11)

    async def test_titles_are_calls_of_the_model_too(self) -> None:
        wanted: Any = {"config": {"yaa": {"auto_title": True}}, "messages": [user("go")]}
        await self.run_once(wanted, lambda _: [("text", ["A title"])])
        chats = self.sink.named("chat")
        self.assertEqual(["yaa.step" in chat.attributes for chat in chats], [True, False])
        self.assertEqual(chats[1].attributes["gen_ai.usage.output_tokens"], 7)
        self.assertEqual(chats[1].error, "")

    async def test_failures(self) -> None:
        await self.run_once({"messages": [user("go")]}, lambda _: [("error", "it is down")])
        for name in ("chat", "invoke_agent"):
            (span,) = self.sink.named(name)
            with self.subTest(name=name):
                self.assertEqual(span.attributes["error.type"], "upstream_error")
                self.assertEqual(span.error, "it is down")

    async def test_a_run_that_is_cut(self) -> None:
        model = ScriptedModel(lambda _: [("text", ["a", "b"])])
        host = agent(model, CountingToolbox({}, {}), parts=[self.sink.part])
        async with aclosing(host.prepare({"messages": [user("go")]}).events()) as source:
            async for event in source:
                if event["type"] == "TEXT_MESSAGE_CONTENT":
                    break
        self.assertEqual(
            [(s.name, s.attributes["error.type"]) for s in self.sink.spans],
            [("chat scripted", "cancelled"), ("invoke_agent default", "cancelled")],
        )

    async def test_compaction(self) -> None:
        texts = [user("x" * 4000, f"u{n}") for n in range(60)]
        wanted: Any = {
            "config": {"context": {"budget": 2000}},
            "messages": [*texts, user("go", "last")],
        }
        await self.run_once(wanted, lambda _: [("text", ["hi"])])
        found = self.sink.named("compact")
        self.assertGreaterEqual(len(found), 1)
        told = found[0].attributes
        self.assertGreater(told["yaa.compaction.before"], told["yaa.compaction.after"])
        (run,) = self.sink.named("invoke_agent")
        self.assertEqual(found[0].parent_id, run.context.span_id)

    async def test_a_request_that_is_too_large_and_the_smaller_one_after_it(self) -> None:
        model = Windowed(3_000)
        host = agent(model, CountingToolbox({"read": "read"}, {}), parts=[self.sink.part])
        await collect(host.prepare(long_session(20)))
        refused, answered = self.sink.named("chat")
        self.assertEqual(refused.attributes["error.type"], "context_overflow")
        self.assertEqual(refused.error, "the prompt is too long")
        self.assertEqual(answered.error, "")
        self.assertEqual(len(self.sink.named("compact")), 1)

    async def test_content_only_where_it_is_wanted(self) -> None:
        await self.run_once({"messages": [user("my question")]})
        self.assertNotIn("my question", repr(self.sink.spans))
        self.sink = Kept(content=True)
        await self.run_once({"messages": [user("my question")]})
        (chat,) = self.sink.named("chat")
        asked = chat.attributes["gen_ai.input.messages"]
        text = {"type": "text", "content": "my question"}
        self.assertEqual(asked, [{"role": "user", "parts": [text]}])
        said = chat.attributes["gen_ai.output.messages"][0]
        self.assertEqual(said["role"], "assistant")
        self.assertIn("tool_call", [part["type"] for part in said["parts"]])
        self.assertTrue(chat.attributes["gen_ai.system_instructions"])
        self.assertTrue(chat.attributes["gen_ai.tool.definitions"])
        (tool,) = self.sink.named("execute_tool")
        self.assertEqual(json.loads(tool.attributes["gen_ai.tool.call.arguments"]), {})
        self.assertIn("time did", tool.attributes["gen_ai.tool.call.result"])

    async def test_a_denied_call_has_no_span_and_a_failed_one_says_so(self) -> None:
        session = await self.run_once({"messages": [user("go")]})
        self.sink.spans.clear()
        answer(session, "tool_call", {"approved": False})
        answer(session, "client_tool", {"content": "x"})
        answer(session, "input_required", "no")
        await self.run_once(session)
        self.assertEqual(self.sink.named("execute_tool"), [])

    async def test_nobody_wants_one(self) -> None:
        unsampled = trace_context.TraceContext("4b" * 16, "0a" * 8, sampled=False, shared=True)
        for sink, context in ((Kept(url=""), None), (Kept(), unsampled)):
            self.sink = sink
            trace_context.current.set(context)
            await self.run_once({"messages": [user("go")]}, lambda _: [("text", ["hi"])])
            self.assertEqual(sink.spans, [])


class Page(unittest.TestCase):
    def test_each_span_and_attribute_has_a_row(self) -> None:
        page = (ROOT / "docs/reference/extension-tracing.md").read_text()
        texts = set(strings("server/extensions/tracing/parts.py"))
        prefixes = ("gen_ai.", "server.", "error.", "yaa.")
        names = {x for x in texts if x.startswith(prefixes) and x[-1] not in ".: "}
        names |= {f"yaa.{key}" for key in ("status", "finish_reason")}
        names |= {f"yaa.compaction.{key}" for key in ("trigger", "before", "after")}
        self.assertEqual(sorted(first_column(page, "Attribute")), sorted(names))
        kinds = {"invoke_agent", "execute_tool", "chat", "compact"}
        self.assertLessEqual(kinds, {text.strip() for text in texts})
        self.assertEqual({*first_column(page, "Span")}, kinds)


if __name__ == "__main__":
    unittest.main()
