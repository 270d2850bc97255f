"""Compaction in the loop: a model with a small window, sessions that outgrow it."""

from __future__ import annotations

import asyncio
import copy
import json
import unittest
from collections.abc import AsyncGenerator
from typing import Any

from server.agent.loop import BaseAgent
from server.context.budget import estimate, of_message
from server.context.view import pairing_errors
from server.json_types import Usage
from server.lib.strict_json import canonical, dumps
from server.models import Options
from server.session import events
from server.session.events import alias
from server.session.fold import Folder
from server.session.schema import check

from .context.sessions import refusals
from .fakes import CountingToolbox, ScriptedModel, agent, user


class Windowed(ScriptedModel):
    """A strict model with a window: it counts what it is sent, reports it, and refuses more.

    `summary`: what it says when asked to sum up; None: it never answers.
    """

    def __init__(
        self, window: int, *, tells: bool = True, summary: str | None = "Notes: ok"
    ) -> None:
        super().__init__(self.plan)
        self.window, self.summary = window, summary
        self.first_words = ""  # what it says before it notices
        self.told = {"n_ctx": window} if tells else {}  # with a refusal
        self.refused = 0
        self.reads = 10**9  # of a longer prompt the rest is dropped in silence
        self.sizes: list[int] = []

    def plan(self, messages: list[Any]) -> list[tuple[Any, ...]]:
        return [("text", ["Here ", "it ", "is."])]

    async def stream(
        self, messages: list[Any], tools: list[Any], options: Options
    ) -> AsyncGenerator[Any, None]:
        size = sum(map(of_message, messages)) + estimate(dumps(tools))
        self.sizes.append(size)
        if size > self.window:
            self.refused += 1
            if self.first_words:
                yield events.text_start(options.message_id, 1)
                yield events.text_delta(options.message_id, self.first_words)
            yield events.run_error("the prompt is too long", "context_overflow", **self.told)
            return
        assert not pairing_errors(messages), pairing_errors(messages)
        assert not refusals(messages), refusals(messages)
        if "You keep the notes" in str(messages[0]["content"]):
            if self.summary is None:
                await asyncio.Event().wait()
            yield events.text_start(options.message_id, 1)
            yield events.text_delta(options.message_id, str(self.summary))
            usage: Usage = {"prompt_tokens": size, "completion_tokens": 9, "total_tokens": size + 9}
            yield events.text_end(options.message_id, {"usage": usage, "finish_reason": "stop"}, 2)
            return
        async for event in super().stream(messages, tools, options):
            if event["type"] == "TEXT_MESSAGE_END":
                size = min(size, self.reads)
                usage = {
                    "prompt_tokens": size,
                    "completion_tokens": 6,
                    "total_tokens": size + 6,
                }
                event["metadata"]["yaa"]["meta"]["usage"] = usage
            yield event


def long_session(turns: int, **context: Any) -> Any:
    messages: list[Any] = []
    for turn in range(turns):
        call = {
            "id": f"c{turn}",
            "type": "function",
            "function": {"name": "read", "arguments": "{}"},
        }
        messages += [
            {"id": f"q{turn}", "role": "user", "content": f"Question {turn}: " + "why " * 20},
            {"id": f"a{turn}", "role": "assistant", "content": "", "tool_calls": [call]},
            {"id": f"t{turn}", "role": "tool", "tool_call_id": f"c{turn}", "name": "read",
             "content": f"needle-{turn} " + "some result text\n" * 60, "result": {"status": "ok"}},
            {"id": f"b{turn}", "role": "assistant", "content": f"Answer {turn}. " + "so " * 40},
        ]  # fmt: skip
    messages.append(user("And now?"))
    return {"id": "s", "messages": messages, "config": {"context": context}}


class Posted(unittest.IsolatedAsyncioTestCase):
    """What a POST of a session leaves of it."""

    def host(self, model: ScriptedModel, max_context: int | None = None) -> BaseAgent:
        model.facts = {"max_context": max_context} if max_context else {}
        return agent(model, CountingToolbox({"read": "read"}, {}))

    async def post(self, session: Any, host: BaseAgent) -> list[Any]:
        before = json.loads(json.dumps(session))
        run = host.prepare(copy.deepcopy(session))
        found = [copy.deepcopy(event) async for event in run.events()]
        folder = Folder(before)
        for event in found:
            folder.apply(event)
        folder.flush()
        self.assertEqual(canonical(folder.session), canonical(run.session))
        self.session = run.session
        return found

    def records(self) -> list[Any]:
        return list(self.session["context"].get("events", ()))


class InTheLoop(Posted):
    async def test_a_session_that_outgrows_the_window(self) -> None:
        model = Windowed(4_000)
        sent = long_session(30)
        found = await self.post(sent, self.host(model, 4_000))
        self.assertEqual(self.session["finish_reason"], "completed")
        self.assertEqual(model.refused, 0)
        (record,) = self.records()
        self.assertEqual(record["trigger"], "size")
        self.assertLess(record["after"], record["before"] / 3)
        self.assertIn("context.compress", [alias(event) for event in found])
        self.assertEqual(self.session["messages"][: len(sent["messages"])], sent["messages"])

    async def test_a_small_session_is_left_alone(self) -> None:
        model = Windowed(100_000)
        await self.post(long_session(3), self.host(model))
        self.assertEqual(self.session["context"], {})

    async def test_the_prefix_stays_between_compactions(self) -> None:
        model = Windowed(4_000)
        host = self.host(model, 4_000)
        session = long_session(8)
        breaks = 0
        for turn in range(40):
            await self.post(session, host)
            session = self.session
            session["messages"].append(user("more " * 30) | {"id": f"more{turn}"})
        sent = [[dumps(message) for message in request] for request in model.requests]
        for before, after in zip(sent, sent[1:], strict=False):
            breaks += after[: len(before)] != before
        self.assertEqual(breaks, len(self.records()))
        self.assertLess(breaks, 8)
        self.assertEqual(model.refused, 0)

    async def test_a_window_nobody_knew_of_is_learned(self) -> None:
        for tells in (True, False):
            with self.subTest(tells=tells):
                model = Windowed(3_000, tells=tells)
                await self.post(long_session(20), self.host(model))
                self.assertEqual(self.session["finish_reason"], "completed")
                self.assertEqual(model.refused, 1)
                self.assertEqual(self.records()[0]["trigger"], "overflow")
                learned = self.session["context"]["windows"]["scripted"]
                self.assertEqual(learned, 3_000) if tells else self.assertGreater(learned, 3_000)

    async def test_a_report_that_was_of_something_else_is_no_measure_of_what_was_refused(
        self,
    ) -> None:
        """A message was edited since, or the agent has another prompt now and other tools."""
        for tells in (True, False):
            model = Windowed(3_000, tells=tells)
            session = long_session(20)
            usage: Usage = {"prompt_tokens": 90, "completion_tokens": 9, "total_tokens": 99}
            session["messages"][-2]["meta"] = {"usage": usage}
            await self.post(session, self.host(model))
            with self.subTest(tells=tells):
                self.assertEqual(self.session["finish_reason"], "completed")
                self.assertEqual(model.refused, 1)
                self.assertGreaterEqual(self.session["context"]["windows"]["scripted"], 3_000)

    async def test_what_was_shortened_by_hand_fits_whatever_was_reported_before(self) -> None:
        usage = {"prompt_tokens": 90_000, "completion_tokens": 9, "total_tokens": 90_009}
        for enabled in (True, False):
            session = long_session(3, enabled=enabled)
            session["messages"][-2]["meta"] = {"usage": usage}
            model = Windowed(6_000)
            await self.post(session, self.host(model, 6_000))
            with self.subTest(enabled=enabled):
                self.assertEqual((self.session["finish_reason"], model.refused), ("completed", 0))

    async def test_a_window_that_can_be_none_is_not_learned(self) -> None:
        """A session that held it would be refused."""
        for told in (0, -1, True, 10**30):
            model = Windowed(3_000)
            model.told = {"n_ctx": told}
            await self.post(long_session(20), self.host(model))
            with self.subTest(told=told):
                self.assertEqual(self.session["finish_reason"], "completed")
                self.assertGreater(self.session["context"]["windows"]["scripted"], 3_000)
                self.assertEqual(check(self.session), [])

    async def test_a_refusal_in_the_middle_of_an_answer_is_not_told_over(self) -> None:
        """The reader has seen its beginning, and no other event may end a message that is open."""
        model = Windowed(3_000)
        model.first_words = "Well, "
        found = await self.post(long_session(20), self.host(model))
        self.assertEqual((found[-1]["type"], found[-1]["code"]), ("RUN_ERROR", "context_overflow"))
        self.assertEqual([each["type"] for each in found].count("TEXT_MESSAGE_START"), 1)
        self.assertEqual(self.records()[0]["trigger"], "overflow")
        await self.post(self.session, self.host(model))  # as it is now, it fits
        self.assertEqual((self.session["finish_reason"], model.refused), ("completed", 1))

    async def test_what_fits_nowhere_stops_with_the_largest_messages(self) -> None:
        session: Any = {"id": "s", "messages": [{**user("word " * 9_000), "id": "big"}]}
        await self.post(session, self.host(Windowed(2_000), 2_000))
        (interrupt,) = self.session["interrupts"]
        self.assertEqual(interrupt["limit"], "context_overflow")
        self.assertEqual(interrupt["largest"][0]["id"], "big")
        self.assertEqual(self.session["finish_reason"], "limit")
        # With a larger window it goes on as it is.
        interrupt["answer"] = {"status": "resolved", "payload": {"continue": True}}
        await self.post(self.session, self.host(Windowed(90_000), 90_000))
        self.assertEqual(self.session["finish_reason"], "completed")

    async def test_a_refusal_that_nothing_helps_against(self) -> None:
        session: Any = {"id": "s", "messages": [{**user("word " * 9_000), "id": "big"}]}
        await self.post(session, self.host(Windowed(2_000)))
        (interrupt,) = self.session["interrupts"]
        self.assertEqual(interrupt["limit"], "context_overflow")

    async def test_a_large_result_comes_in_as_a_preview(self) -> None:
        model = Windowed(6_000)
        session = long_session(1)
        session["messages"][2]["content"] = "row of a long table\n" * 2_000 + "the end"
        del session["messages"][3:]
        await self.post(session, self.host(model, 6_000))
        (record,) = self.records()
        self.assertEqual(record["trigger"], "ingest")
        seen = model.requests[0][3]["content"]
        self.assertTrue(seen.startswith("row of") and seen.endswith("the end"), seen[-200:])
        self.assertIn('context_reload(handle="m2")', seen)

    async def test_a_models_summary(self) -> None:
        cases: list[tuple[str | None, str]] = [
            ("Notes: the user asks why; needle-3 was found", "llm"),
            ("", "extract"),
            ("far too long " * 4_000, "extract"),
            (None, "extract"),  # it never answers
        ]
        only = ["previous_round_conversation_summary"]
        for summary, source in cases:
            with self.subTest(summary=str(summary)[:20]):
                model = Windowed(10**9, summary=summary)
                session = long_session(
                    40, summary="llm", summary_timeout_s=0.05, strategies=only, budget=4_000
                )
                await self.post(session, self.host(model))
                (fold,) = self.session["context"]["ops"]
                self.assertEqual(fold["source"], source)
                self.assertEqual(self.session["finish_reason"], "completed")
                self.assertIn("context_reload(", fold["text"])
                if source == "llm":
                    self.assertIn(str(summary), fold["text"])
                    self.assertEqual(self.session["usage"]["calls"], 2)

    async def test_switched_off(self) -> None:
        model = Windowed(3_000)
        await self.post(long_session(20, enabled=False), self.host(model, 100_000))
        self.assertEqual(self.session["finish_reason"], "limit")
        self.assertNotIn("ops", self.session["context"])

    async def test_a_prompt_that_is_cut_in_silence_is_told(self) -> None:
        model = Windowed(10**9)
        model.reads = 2_000
        await self.post(long_session(30), self.host(model))
        (warning,) = self.session["run"]["warnings"]
        self.assertEqual((warning["code"], warning["counted"]), ("prompt_cut", 2_000))
        self.assertNotIn("calib", self.session["context"])

    async def test_the_report_of_a_provider_is_learned_from(self) -> None:
        model = Windowed(10**9)
        await self.post(long_session(60, budget=30_000), self.host(model))
        found = self.session["context"]["calib"]["scripted"]
        self.assertEqual(found["n"], 1)
        self.assertAlmostEqual(found["ratio"], 1.0, delta=0.35)


class Asked(Posted):
    """`context.compact`: a person asks that the view be made smaller now."""

    def at_rest(self, turns: int = 8, **context: Any) -> Any:
        session = long_session(turns, **context)
        session["messages"].pop()  # at rest: the last message is an answer
        session["context"] = {"compact": True}
        return session

    async def test_it_is_done_once_and_nothing_is_said(self) -> None:
        for enabled in (True, False):  # of its own accord or not: here a person asks
            with self.subTest(enabled=enabled):
                model, sent = Windowed(10**9), self.at_rest(enabled=enabled)
                host = self.host(model)
                found = await self.post(sent, host)
                (record,) = self.records()
                self.assertEqual(record["trigger"], "asked")
                self.assertLess(record["after"], record["before"] * 0.7)
                self.assertNotIn("compact", self.session["context"])
                self.assertEqual(self.session["messages"], sent["messages"])
                self.assertEqual(self.session["finish_reason"], "completed")
                self.assertEqual([alias(each) for each in found].count("context.compress"), 1)
                ops = self.session["context"]["ops"]
                await self.post(self.session, host)
                self.assertEqual((self.session["context"]["ops"], model.requests), (ops, []))

    async def test_cut_anywhere_and_sent_again_it_is_the_same(self) -> None:
        host, sent = self.host(Windowed(10**9)), self.at_rest()
        whole = await self.post(sent, host)
        context = self.session["context"]
        for told in range(len(whole)):
            folder = Folder(json.loads(json.dumps(sent)))
            for event in whole[:told]:
                folder.apply(copy.deepcopy(event))
            folder.flush()
            await self.post(folder.session, host)
            with self.subTest(told=told):
                for record in (*context["events"], *self.records()):
                    record.pop("timestamp", None)
                self.assertEqual(self.session["context"], context)

    async def test_nothing_to_make_smaller_is_a_record_without_operations(self) -> None:
        session: Any = {
            "id": "s",
            "messages": [user("hi"), {"id": "a", "role": "assistant", "content": "Hello."}],
            "context": {"compact": True},
        }
        for sent in (session, {"id": "s", "messages": [], "context": {"compact": True}}):
            await self.post(sent, self.host(Windowed(10**9)))
            (record,) = self.records()
            self.assertEqual((record["ops"], record["before"]), (0, record["after"]))
            self.assertEqual(self.session["finish_reason"], "completed")
            self.assertEqual(self.session["context"]["ops"], [])

    async def test_a_question_is_answered_after_it(self) -> None:
        model, sent = Windowed(10**9), self.at_rest()
        sent["messages"].append(user("And now?"))
        await self.post(sent, self.host(model))
        (record,) = self.records()
        self.assertEqual((record["trigger"], len(model.requests)), ("asked", 1))
        self.assertLess(model.sizes[0], record["before"])
        self.assertEqual(self.session["messages"][-1]["content"], "Here it is.")

    async def test_a_model_sums_up_where_the_session_has_it(self) -> None:
        """Not over a limit: there it costs nothing."""
        only = ["previous_round_conversation_summary"]
        for limit, source in ((None, "llm"), (1, "extract")):
            model = Windowed(10**9, summary="Notes: needle-1 was found")
            sent = self.at_rest(40, summary="llm", strategies=only)
            if limit:
                sent["config"]["limits"] = {"max_tokens": limit}
                sent["run"] = {"message": "q39", "tokens": 5}
            await self.post(sent, self.host(model))
            with self.subTest(source):
                (fold,) = self.session["context"]["ops"]
                self.assertEqual(fold["source"], source)
                self.assertEqual(self.session["finish_reason"], "completed")

    async def test_it_waits_behind_what_a_person_is_asked(self) -> None:
        sent = self.at_rest()
        call = {"id": "new", "type": "function", "function": {"name": "read", "arguments": "{}"}}
        asks = {"id": "ask", "role": "assistant", "content": "", "tool_calls": [call]}
        sent["messages"] += [user("Delete it."), asks]
        host = agent(Windowed(10**9), CountingToolbox({"read": "write"}, {}))
        await self.post(sent, host)
        self.assertEqual(self.session["finish_reason"], "awaiting")
        self.assertTrue(self.session["context"]["compact"])
        self.assertEqual(self.records(), [])
        self.session["interrupts"][0]["answer"] = {
            "status": "resolved",
            "payload": {"approved": True},
        }
        await self.post(self.session, host)
        self.assertEqual([each["trigger"] for each in self.records()], ["asked"])
        self.assertEqual(self.session["finish_reason"], "completed")

    async def test_another_kind_of_value_is_refused_by_its_name(self) -> None:
        value: Any
        for value in (1, "yes", [], {}):
            (error,) = check({"messages": [], "context": {"compact": value}})
            self.assertEqual(error["pointer"], "/context/compact")
