"""The loop: what a POST makes of a session, and what becomes of one that was cut anywhere."""

from __future__ import annotations

import asyncio
import copy
import gc
import io
import itertools
import json
import threading
import time
import unittest
import weakref
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from typing import Any

from server.agent.loop import REST_S, BaseAgent, Run
from server.config import Config
from server.errors import Problem
from server.lib.runtime import waits
from server.lib.runtime.offload import LARGE
from server.lib.strict_json import LARGEST_COUNT, canonical
from server.session import events
from server.session.events import ALIASES, EXEC, alias
from server.session.fold import Folder, digest
from server.session.kept_sessions import KeptSession
from server.session.limits import cap_limits
from server.session.schema import MAX_ID
from server.telemetry import log
from server.tools.toolbox import Toolbox

from ..fakes import (
    DEFAULTS,
    NOWHERE,
    CountingToolbox,
    Ids,
    ManualClock,
    MemoryClaims,
    ScriptedModel,
    agent,
    answer,
    user,
)
from ..tooling import turns

TOOLS = {"time": "read", "title": "page", "ask_user": "question", "no": "deny"}
TOOLS |= {"finish": "read", "rm": "write safe slow", "note": "write safe"}


def plan(messages: list[Any]) -> list[tuple[Any, ...]]:
    """Five calls at once, two of which run side by side, then an answer that counts the results:
    from the messages alone."""
    results = [m for m in messages if m["role"] == "tool"]
    if not results:
        return [
            ("think", ["Let ", "me ", "see"]),
            ("text", ["I ", "will ", "look", ".", "\n", " "]),
            ("call", "time", ["{", "}"]),
            ("call", "rm", ['{"path"', ": ", '"x"', "}"]),
            ("call", "note", ["{}"]),
            ("call", "title", ["{}"]),
            ("call", "ask_user", ['{"question":"', 'Sure?"}']),
        ]
    return [("text", ["Done", ":", " ", str(len(results)), " results", "."])]


async def collect(run: Run) -> list[Any]:
    return [copy.deepcopy(event) async for event in run.events()]


def fold_all(session: Any, found: list[Any]) -> Any:
    folder = Folder(copy.deepcopy(session))
    for event in found:
        folder.apply(event)
    folder.flush()
    return folder.session


# From which state of the ledger to which (F11); what is not here has a result and is at its end.
LEGAL = {
    "": {"proposed"},
    "proposed": {"asking", "waiting", "started", "done", "failed", "denied", "skipped"},
    "asking": {"started", "denied", "skipped", "failed"},
    "waiting": {"asking", "started", "done", "failed", "skipped"},
    "started": {"done", "failed", "skipped", "indeterminate"},
    "indeterminate": {"started", "done", "skipped"},
}


def illegal(session: Any, found: list[Any]) -> list[tuple[str, str]]:
    """The steps of the ledger, event by event, that no call may take."""
    folder, wrong = Folder(copy.deepcopy(session)), []
    states = {k: entry["state"] for k, entry in folder.session.get("calls", {}).items()}
    for event in found:
        folder.apply(event)
        now = {k: entry["state"] for k, entry in folder.session.get("calls", {}).items()}
        for call_id, state in now.items():
            before = states.get(call_id, "")
            if state != before and state not in LEGAL.get(before, ()):
                wrong.append((before, state))
        states = now
    return wrong


def complete(session: Any) -> Any:
    """Answer whatever is open, as a person would."""
    answer(session, "tool_call", {"approved": True})
    answer(session, "client_tool", {"content": "A page"})
    answer(session, "input_required", "yes")
    answer(session, "indeterminate", {"action": "skip"})
    return session


class Flow(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        self.counts: dict[tuple[str, str], int] = {}
        self.toolbox = CountingToolbox(TOOLS, self.counts)

    def agent(self, script: Any = plan, **options: Any) -> BaseAgent:
        self.model = ScriptedModel(script)
        return agent(self.model, self.toolbox, **options)

    async def post(self, session: Any, host: BaseAgent) -> list[Any]:
        """POST a copy; hold the fold laws; leave the updated document in `self.session`."""
        before = json.loads(json.dumps(session))
        run = host.prepare(copy.deepcopy(session))
        found = await collect(run)
        self.session: Any = run.session
        self.assertEqual(canonical(fold_all(before, found)), canonical(run.session))
        self.assertEqual(illegal(before, found), [])
        terminal = [e["type"] in ("RUN_FINISHED", "RUN_ERROR") for e in found]
        self.assertEqual(terminal, [False] * (len(found) - 1) + [True])
        said = found[-1]["metadata"]["yaa"]
        self.assertEqual(said["digest"], digest(run.session, said["since"]))
        return found

    async def test_a_whole_conversation(self) -> None:
        host = self.agent()
        found = await self.post({"messages": [user("go")]}, host)
        self.assertEqual(self.session["status"], "interrupted")
        self.assertEqual(self.session["finish_reason"], "awaiting")
        reasons = [i["reason"] for i in self.session["interrupts"]]
        self.assertEqual(reasons, ["tool_call", "tool_call", "client_tool", "input_required"])
        self.assertEqual(found[-1]["outcome"]["type"], "interrupt")
        names = [alias(event) for event in found]
        self.assertEqual(names[0], "run.start")
        self.assertIn(EXEC, names)
        self.assertLess(names.index(EXEC), names.index("tool.result"))

        found = await self.post(complete(self.session), host)
        self.assertEqual(self.session["status"], "completed")
        self.assertEqual(self.session["rev"], 2)
        self.assertEqual(self.session["messages"][-1]["content"], "Done: 5 results.")
        self.assertEqual(sorted(name for name, _ in self.counts), ["note", "rm", "time"])
        self.assertEqual(self.session["interrupts"], [])
        self.assertNotIn("TOOL_CALL_START", [e["type"] for e in found][:-8])
        self.assertEqual(self.session["usage"]["total_tokens"], 36)
        spent = {"inputTokens": 11, "outputTokens": 7, "totalTokens": 18}
        self.assertEqual(found[-1]["usage"], [{"model": "scripted", **spent}], "of this POST")

    async def test_an_agent_says_which_model_and_how_far(self) -> None:
        host = self.agent(lambda _: [("call", "time", ["{}"])])
        copied = {"name": "mine", "provider": "p", "model": "m", "limits": {"max_steps": 2}}
        config = {"agent": copied, "limits": {"on_limit": "stop"}}
        session: Any = {"messages": [user("go")], "agent": "mine", "config": config}
        await self.post(session, host)
        self.assertEqual(self.model.providers, [{"name": "p", "model_name": "m"}])
        self.assertEqual(len(self.model.requests), 2)
        self.assertEqual(self.session["interrupts"][0]["allowed"], 2)
        self.session["config"]["limits"]["max_steps"] = 50  # a session only narrows
        self.session["messages"].append(user("again", "u2"))
        await self.post(self.session, host)
        self.assertEqual(len(self.model.requests), 4)
        self.session["config"]["limits"]["max_steps"] = 1
        self.session["messages"].append(user("again", "u3"))
        await self.post(self.session, host)
        self.assertEqual(len(self.model.requests), 5)

    async def test_an_agent_that_a_session_brings_lets_no_tool_run_unasked(self) -> None:
        server = copy.deepcopy(DEFAULTS["server"])
        server["sandbox"]["require"] = "none"
        config = Config(server, copy.deepcopy(DEFAULTS["session"]), NOWHERE)
        host = self.agent(lambda _: [("call", "shell", ['{"command": "id"}'])])
        host.toolbox = Toolbox(config)
        brought = {"name": "helper", "policy": {"shell": "auto"}, "limits": {"max_steps": 999}}
        session: Any = {"messages": [user("go")], "agent": "helper", "config": {"agent": brought}}
        await self.post(session, host)
        self.assertEqual([i["reason"] for i in self.session["interrupts"]], ["tool_call"])
        self.assertEqual([m["role"] for m in self.session["messages"]], ["user", "assistant"])
        (warning,) = self.session["run"]["warnings"]
        self.assertEqual(warning["left_out"], ["policy.shell", "limits.max_steps"])
        usual = DEFAULTS["session"]["config"]["limits"]["max_steps"]
        self.assertEqual(self.session["config"]["limits"]["max_steps"], usual)
        self.assertEqual(self.session["config"]["agent"]["policy"], {})

    def test_an_unknown_agent_is_refused_before_anything(self) -> None:
        host = self.agent()
        with self.assertRaises(Problem) as caught:
            host.prepare({"messages": [user("go")], "agent": "nobody"})
        self.assertEqual((caught.exception.code, caught.exception.status), ("agent_unknown", 422))
        self.assertEqual((self.model.providers, self.counts), ([], {}))

    async def test_one_line_for_each_run(self) -> None:
        stream = io.StringIO()
        log.setup("debug", style="json", stream=stream)
        self.addCleanup(log.setup, "error", stream=io.StringIO())
        host = self.agent()
        run = host.prepare({"id": "s", "messages": [user("secret plans")]}, "phone")
        found = await collect(run)
        lines = [json.loads(line) for line in stream.getvalue().splitlines()]
        (told,) = [line for line in lines if line["logger"] == "yaa.run"]
        expected: Any = {"session": "s", "key_name": "phone", "status": "interrupted"}
        expected |= {"finish_reason": "awaiting", "model": "scripted", "model_calls": 1}
        expected |= {"tool_calls": 1, "total_tokens": 18, "prompt_tokens": 11, "agent": "default"}
        self.assertEqual({k: told[k] for k in expected}, expected)
        deltas = [line for line in lines if line.get("event", "").isupper()]
        model = [e for e in found if e["type"].startswith(("TEXT", "REASONING", "TOOL_CALL"))]
        of_model = [e for e in model if e["type"] != "TOOL_CALL_RESULT"]
        self.assertEqual([line["event"] for line in deltas], [e["type"] for e in of_model])
        self.assertEqual({line["stage"] for line in deltas}, {"step 1"})
        run.session["messages"].append(user("never mind", "u2"))
        await collect(host.prepare(run.session, "phone"))
        again = json.loads(stream.getvalue().splitlines()[-1])
        self.assertEqual((again["tool_calls"], again["status"]), (4, "completed"))
        lines = [json.loads(line) for line in stream.getvalue().splitlines()]
        tools = [line for line in lines if line["logger"] == "yaa.tool"]
        self.assertEqual(len(tools), 5)
        self.assertEqual({(t["level"], t["key_name"]) for t in tools}, {("info", "phone")})
        self.assertEqual([t["status"] for t in tools], ["ok"] + ["skipped"] * 4)
        info = [line for line in lines if line["level"] != "debug"]
        self.assertNotIn("secret plans", json.dumps(info))

    async def test_a_run_that_is_cut_is_told_too_and_deltas_can_be_switched_off(self) -> None:
        stream = io.StringIO()
        log.setup("debug", style="json", stream=stream)
        self.addCleanup(log.setup, "error", stream=io.StringIO())
        host = self.agent(lambda _: [("text", ["a", "b"])], log={"model_deltas": False})
        run = host.prepare({"id": "s", "messages": [user("go")]})
        async with aclosing(run.events()) as source:
            async for event in source:
                if event["type"] == "TEXT_MESSAGE_CONTENT":
                    break
        lines = [json.loads(line) for line in stream.getvalue().splitlines()]
        (told,) = [line for line in lines if line["logger"] == "yaa.run"]
        self.assertEqual(told["finish_reason"], "cut")
        self.assertEqual([line for line in lines if line.get("event", "").isupper()], [])

    async def test_posting_a_finished_session_again_changes_nothing_but_rev(self) -> None:
        host = self.agent(lambda _: [("text", ["hi"])])
        await self.post({"id": "s", "messages": [user("go")]}, host)
        before = copy.deepcopy(self.session)
        await self.post(self.session, host)
        self.assertEqual(len(self.model.requests), 1)
        self.assertEqual(self.session["messages"], before["messages"])

    async def test_what_was_used_never_outgrows_what_may_be_posted(self) -> None:
        host = self.agent(lambda _: [("text", ["hi"])])
        usage = {"total_tokens": LARGEST_COUNT}
        await self.post({"id": "s", "messages": [user("go")], "usage": usage}, host)
        self.assertEqual(self.session["usage"]["total_tokens"], LARGEST_COUNT)
        await self.post(self.session, host)

    async def test_results_reach_the_model_in_call_order(self) -> None:
        host = self.agent()
        await self.post({"messages": [user("go")]}, host)
        await self.post(complete(self.session), host)
        told = [m.get("name") for m in self.model.requests[-1] if m["role"] == "tool"]
        self.assertEqual(told, ["time", "rm", "note", "title", "ask_user"])

    async def test_denied_with_a_reason(self) -> None:
        host = self.agent()
        await self.post({"messages": [user("go")]}, host)
        answer(self.session, "tool_call", {"approved": False, "reason": "too risky"})
        answer(self.session, "client_tool", {"content": "no page", "is_error": True})
        answer(self.session, "input_required", "no")
        await self.post(self.session, host)
        denied = next(m for m in self.model.requests[-1] if m.get("name") == "rm")
        self.assertIn("too risky", denied["content"])
        self.assertTrue(denied["is_error"])
        envelope = next(m for m in self.session["messages"] if m.get("name") == "rm")["result"]
        self.assertEqual((envelope["status"], envelope["feedback"]), ("denied", "too risky"))
        self.assertNotIn("rm", [name for name, _ in self.counts])

    async def test_edited_arguments_run_instead(self) -> None:
        host = self.agent()
        await self.post({"messages": [user("go")]}, host)
        answer(self.session, "tool_call", {"approved": True, "edited_args": {"path": "y"}})
        answer(self.session, "client_tool", {"content": 1})
        answer(self.session, "input_required", "no")
        await self.post(self.session, host)
        result = next(m for m in self.session["messages"] if m.get("name") == "rm")
        self.assertIn('"y"', result["content"])
        entry = self.session["calls"][result["tool_call_id"]]
        self.assertEqual((entry["args"], entry["state"]), ({"path": "y"}, "done"))

    async def test_changed_arguments_ask_again(self) -> None:
        host = self.agent()
        await self.post({"messages": [user("go")]}, host)
        answer(self.session, "tool_call", {"approved": True})
        call = self.session["messages"][1]["tool_calls"][1]
        call["function"]["arguments"] = '{"path":"/"}'
        await self.post(self.session, host)
        self.assertNotIn("rm", [name for name, _ in self.counts])
        asked = next(i for i in self.session["interrupts"] if i["reason"] == "tool_call")
        self.assertEqual((asked["args"], "answer" in asked), ({"path": "/"}, False))

    async def test_remember_for_the_session(self) -> None:
        def twice(messages: list[Any]) -> list[tuple[Any, ...]]:
            done = sum(m["role"] == "tool" for m in messages)
            return [("call", "rm", [f'{{"n":{done}}}'])] if done < 2 else [("text", ["ok"])]

        host = self.agent(twice)
        await self.post({"messages": [user("go")]}, host)
        answer(self.session, "tool_call", {"approved": True, "remember": "session"})
        await self.post(self.session, host)
        self.assertEqual(self.session["status"], "completed")
        self.assertEqual(self.session["grants"], [{"tool": "rm", "decision": "allow"}])

    async def test_remember_for_arguments_like_these(self) -> None:
        """The pattern a person gave is what is remembered, of a yes and of a no."""
        match = {"path": "/tmp/*"}
        for approved, decision in ((True, "allow"), (False, "deny")):
            with self.subTest(decision):
                host = self.agent()
                await self.post({"messages": [user("go")]}, host)
                payload = {"approved": approved, "remember": "session", "match": match}
                answer(self.session, "tool_call", payload)
                await self.post(self.session, host)
                grants = self.session["grants"]
                self.assertIn({"tool": "rm", "match": match, "decision": decision}, grants)

    async def test_a_question_with_suggestions(self) -> None:
        asked = {"question": "Which?", "suggestions": ["this", "that"]}

        def script(messages: list[Any]) -> list[tuple[Any, ...]]:
            done = messages[-1]["role"] == "tool"
            return [("text", ["ok"])] if done else [("call", "ask_user", [json.dumps(asked)])]

        host = self.agent(script)
        await self.post({"messages": [user("go")]}, host)
        [interrupt] = self.session["interrupts"]
        self.assertEqual(
            (interrupt["message"], interrupt["suggestions"]), ("Which?", ["this", "that"])
        )
        answer(self.session, "input_required", "neither")
        await self.post(self.session, host)
        self.assertEqual(self.model.requests[-1][-1]["content"], "neither")
        self.assertEqual(
            self.model.requests[-1][-1]["tool_call_id"], interrupt["call_id"], "the same call"
        )

    async def test_partly_answered_runs_what_is_answered(self) -> None:
        host = self.agent()
        await self.post({"messages": [user("go")]}, host)
        answer(self.session, "tool_call", {"approved": True})
        await self.post(self.session, host)
        self.assertEqual(self.counts[("rm", self.session["messages"][1]["tool_calls"][1]["id"])], 1)
        reasons = [i["reason"] for i in self.session["interrupts"]]
        self.assertEqual(reasons, ["client_tool", "input_required"])
        await self.post(self.session, host)  # nothing new: still asks, runs nothing
        self.assertEqual(sum(self.counts.values()), 3)

    async def test_a_new_user_message_supersedes_what_is_open(self) -> None:
        host = self.agent()
        await self.post({"messages": [user("go")]}, host)
        self.session["messages"].append(user("never mind", "u2"))
        await self.post(self.session, host)
        self.assertEqual(self.session["status"], "completed")
        self.assertEqual(sum(self.counts.values()), 1)
        skipped = [m for m in self.session["messages"] if "superseded" in str(m.get("content"))]
        self.assertEqual(len(skipped), 4)
        self.assertEqual([m["role"] for m in self.model.requests[-1]][-1], "user")

    async def test_unknown_denied_and_malformed_calls_are_results(self) -> None:
        def script(messages: list[Any]) -> list[tuple[Any, ...]]:
            if any(m["role"] == "tool" for m in messages):
                return [("text", ["sorry"])]
            return [("call", "nope", ["{}"]), ("call", "no", ["{}"]), ("call", "time", ["{x"])]

        await self.post({"messages": [user("go")]}, self.agent(script))
        states = [entry["state"] for entry in self.session["calls"].values()]
        self.assertEqual(states, ["failed", "denied", "failed"])
        self.assertEqual(self.session["status"], "completed")
        self.assertEqual(self.counts, {})

    async def test_what_is_asked_about_the_longest_of_ids_can_be_sent_again(self) -> None:
        call = {"id": "c" * MAX_ID, "function": {"name": "rm", "arguments": "{}"}}
        asked: Any = {"id": "m", "role": "assistant", "content": "", "tool_calls": [call]}
        host = self.agent(lambda _: [("text", ["ok"])])
        await self.post({"messages": [user("go"), asked]}, host)
        answer(self.session, "tool_call", {"approved": True})
        await self.post(self.session, host)
        self.assertEqual(self.session["finish_reason"], "completed")
        self.assertEqual(list(self.counts.values()), [1])

    async def test_finish_ends_the_run(self) -> None:
        await self.post({"messages": [user("go")]}, self.agent(lambda _: [("call", "finish", "")]))
        self.assertEqual(self.session["status"], "completed")
        self.assertEqual(len(self.model.requests), 1)

    async def test_runs_know_nothing_of_each_other(self) -> None:
        """C2: two sessions, event by event in turn, as if each were alone."""

        def script(messages: list[Any]) -> list[tuple[Any, ...]]:
            mine = messages[1]["content"]
            if messages[-1]["role"] == "tool":
                return [("text", [f"{mine} got ", messages[-1]["content"]])]
            return [("think", [mine]), ("call", "time", [f'{{"for":"{mine}"}}'])]

        host = self.agent(script)
        runs = {name: host.prepare({"id": name, "messages": [user(name)]}) for name in ("a", "b")}
        going = {name: run.events() for name, run in runs.items()}
        while going:
            for name in list(going):
                if await anext(going[name], None) is None:
                    del going[name]
        for name, run in runs.items():
            last = run.session["messages"][-1]["content"]
            self.assertEqual(last, f'{name} got time did {{"for":"{name}"}}')
            self.assertEqual(len(run.session["calls"]), 1)
            self.assertEqual(run.session["usage"]["calls"], 2)

    async def test_a_model_that_fails_can_be_tried_again(self) -> None:
        host = self.agent(lambda _: [("text", ["half "]), ("error", "no luck")])
        found = await self.post({"messages": [user("go")]}, host)
        self.assertEqual((found[-1]["type"], self.session["status"]), ("RUN_ERROR", "failed"))
        self.assertEqual(self.session["messages"][-1]["role"], "error")
        self.assertEqual(self.session["interrupts"][0]["reason"], "model_error")
        self.model.script = lambda _: [("text", ["whole"])]
        answer(self.session, "model_error", {"retry": True})
        await self.post(self.session, host)
        self.assertEqual(self.session["messages"][-1]["content"], "whole")
        self.assertEqual([m["role"] for m in self.model.requests[-1]], ["system", "user"])

    async def test_what_a_failed_call_has_cost_counts(self) -> None:
        """All its tokens went into thoughts that nobody saw: they are paid for."""
        used = {"prompt_tokens": 5, "completion_tokens": 32, "total_tokens": 37, "cost_micro": 8}
        host = self.agent(lambda _: [("error", "not a word", "upstream_error", {"usage": used})])
        found = await self.post({"messages": [user("go")]}, host)
        self.assertEqual(found[-1]["type"], "RUN_ERROR")
        self.assertEqual(self.session["usage"], {**self.session["usage"], **used, "calls": 1})
        self.assertEqual(
            (self.session["run"]["tokens"], self.session["run"]["cost_micro"]), (37, 8)
        )

    async def test_a_declined_retry_stays_failed(self) -> None:
        host = self.agent(lambda _: [("error", "no luck")])
        await self.post({"messages": [user("go")]}, host)
        answer(self.session, "model_error", {"retry": False})
        await self.post(self.session, host)
        self.assertEqual((self.session["status"], len(self.model.requests)), ("failed", 1))
        self.assertEqual(self.session["interrupts"], [])

    async def test_two_posts_of_one_session_at_once(self) -> None:
        host = self.agent()
        first = host.prepare({"id": "s", "messages": [user("go")]})
        with self.assertRaises(Problem) as caught:
            host.prepare({"id": "s", "messages": [user("go")]})
        self.assertEqual((caught.exception.code, caught.exception.status), ("run_active", 409))
        await collect(first)
        host.prepare({"id": "s", "messages": [user("go")]})

    async def test_a_run_that_never_began_does_not_block_its_session(self) -> None:
        host = self.agent()
        host.prepare({"id": "s", "messages": [user("go")]})
        host.prepare({"id": "s", "messages": [user("go")]})

    async def test_closing_the_stream_cancels_the_model(self) -> None:
        host = self.agent()
        async with aclosing(host.prepare({"messages": [user("go")]}).events()) as stream:
            async for event in stream:
                if event["type"] == "TEXT_MESSAGE_CONTENT":
                    break
        self.assertEqual(self.model.closed, 1)

    async def test_a_mistake_of_ours_still_ends_the_run(self) -> None:
        def broken(messages: list[Any]) -> list[tuple[Any, ...]]:
            raise RuntimeError("secret path /etc/x")

        with self.assertLogs("yaa.agent", "ERROR") as logged:
            found = await self.post({"messages": [user("go")]}, self.agent(broken))
        self.assertEqual(found[-1]["code"], "internal")
        self.assertNotIn("secret", json.dumps(found))
        incident = found[-1]["metadata"]["yaa"]["incident"]
        self.assertIn(incident, "".join(logged.output))

    async def test_stopping_leaves_runs_at_the_next_safe_point(self) -> None:
        """Without a terminal event: there is more to do, and the client goes on elsewhere."""
        host = self.agent()
        run = host.prepare({"messages": [user("go")]})
        found = []
        async for event in run.events():
            found.append(event)
            if event["type"] == "TEXT_MESSAGE_END":
                await host.close()
        self.assertNotIn(found[-1]["type"], ("RUN_FINISHED", "RUN_ERROR"))
        self.assertEqual(run.session["status"], "in_progress")
        self.assertFalse(any(message.get("open") for message in run.session["messages"]))
        self.assertEqual(self.counts, {}, "no call is begun any more")
        with self.assertRaises(Problem) as caught:
            host.prepare({"messages": [user("another")]})
        self.assertEqual((caught.exception.status, caught.exception.headers["Retry-After"]),
                         (503, "1"))  # fmt: skip
        again = self.agent().prepare(run.session)
        await collect(again)
        self.assertEqual(again.session["finish_reason"], "awaiting")

    async def test_stopping_lets_a_run_that_is_done_say_so(self) -> None:
        host = self.agent(lambda _: [("text", "all")])
        run = host.prepare({"messages": [user("go")]})
        found = []
        async for event in run.events():
            found.append(event)
            if event["type"] == "TEXT_MESSAGE_END":
                host.stop()
        self.assertEqual(found[-1]["result"]["status"], "completed")

    async def test_stopping_begins_no_further_call(self) -> None:
        calls = [("call", "time", ["{}"]), ("call", "time", ["{}"])]
        host = self.agent(lambda m: calls if m[-1]["role"] == "user" else [("text", "done")])
        run = host.prepare({"messages": [user("go")]})
        async for event in run.events():
            if event.get("metadata", {}).get("yaa", {}).get("exec"):
                host.stop()
        results = [m for m in run.session["messages"] if m["role"] == "tool"]
        self.assertEqual((len(results), sum(self.counts.values())), (1, 1))
        again = self.agent(lambda m: [("text", "done")]).prepare(run.session)
        await collect(again)
        self.assertEqual(again.session["status"], "completed")
        self.assertEqual(sorted(self.counts.values()), [1, 1], "each of them once")

    async def test_stopping_in_the_middle_of_a_message_cuts_it(self) -> None:
        host = self.agent()
        run = host.prepare({"messages": [user("go")]})
        found = []

        async def consume() -> None:
            async with aclosing(run.events()) as events:
                async for event in events:
                    found.append(event)
                    if event["type"] == "TEXT_MESSAGE_CONTENT":
                        host.stop()

        with self.assertRaises(asyncio.CancelledError):
            await asyncio.create_task(consume())
        self.assertEqual(found[-1]["type"], "TEXT_MESSAGE_CONTENT")
        self.assertEqual((run.session["status"], self.model.closed), ("in_progress", 1))
        again = self.agent().prepare(run.session)
        await collect(again)
        self.assertEqual(again.session["finish_reason"], "awaiting")

    async def test_a_run_that_was_cut_off_is_freed_at_once(self) -> None:
        """A server with work for hours may not look for cycles, and each keeps a session."""
        host = self.agent()

        async def cut() -> weakref.ref[Run]:
            run = host.prepare({"messages": [user("go")]})
            waits.listener.set(lambda wait: run.stop(str(wait)))
            with suppress(asyncio.CancelledError):
                async with aclosing(run.events()) as events:
                    async for event in events:
                        if event["type"] == "TEXT_MESSAGE_CONTENT":
                            run.interrupt()
                self.fail("it was not cut off")
            return weakref.ref(run)

        gc.collect()
        gc.disable()
        self.addCleanup(gc.enable)
        found = await asyncio.create_task(cut())
        await asyncio.sleep(0)  # until then the loop has the task that has ended
        self.assertIsNone(found())

    async def test_auto_title_makes_one_extra_call_at_the_end(self) -> None:
        def script(messages: list[Any]) -> list[tuple[Any, ...]]:
            naming = "title" in messages[0]["content"]
            return [("text", ['"A ', 'fine name"'] if naming else ["hello"])]

        host = self.agent(script)
        config = {"yaa": {"auto_title": True}}
        found = await self.post({"messages": [user("go")], "config": config}, host)
        self.assertEqual(self.session["title"], "A fine name")
        self.assertEqual(len(self.model.requests), 2)
        self.assertEqual(sum(e["type"] == "TEXT_MESSAGE_START" for e in found), 1)
        await self.post({"messages": [user("go")]}, host)
        self.assertEqual((self.session["title"], len(self.model.requests)), ("go", 3))

    async def test_a_run_that_waits_gets_no_title_yet(self) -> None:
        def script(messages: list[Any]) -> list[tuple[Any, ...]]:
            if "title" in messages[0]["content"]:
                return [("text", ["Named"])]
            done = messages[-1]["role"] == "tool"
            return [("text", ["ok"])] if done else [("call", "rm", ["{}"])]

        host = self.agent(script)
        config = {"yaa": {"auto_title": True}}
        await self.post({"messages": [user("go")], "config": config}, host)
        self.assertEqual((self.session.get("title"), len(self.model.requests)), (None, 1))
        answer(self.session, "tool_call", {"approved": True})
        await self.post(self.session, host)
        self.assertEqual((self.session["title"], len(self.model.requests)), ("Named", 3))
        strict = {"yaa": {"auto_title": True, "require_finish_tool": True}}
        host = self.agent(lambda _: [("text", ["words, and no call of finish"])])
        await self.post({"messages": [user("go")], "config": strict}, host)
        self.assertEqual((self.session.get("title"), len(self.model.requests)), (None, 1))

    async def test_every_event_has_its_name(self) -> None:
        for event in await self.post({"messages": [user("go")]}, self.agent()):
            self.assertIn(alias(event), {*ALIASES.values(), EXEC})


class Limits(Flow):
    async def looped(self, wanted: Any, **options: Any) -> None:
        self.host = self.agent(lambda _: [("call", "time", "{}")], **options)
        await self.post({"messages": [user("go")], "config": {"limits": wanted}}, self.host)

    def limit(self) -> Any:
        self.assertEqual(self.session["finish_reason"], "limit")
        found: Any = self.session["interrupts"][0]
        return {name: found[name] for name in ("limit", "allowed", "observed")}

    async def test_each_limit_stops_the_run_and_says_what_was_used(self) -> None:
        cases = [
            ({"max_steps": 3}, {"limit": "max_steps", "allowed": 3, "observed": 3}),
            ({"max_tokens": 50}, {"limit": "max_tokens", "allowed": 50, "observed": 54}),
        ]
        for limits, expected in cases:
            with self.subTest(limits):
                await self.looped(limits)
                self.assertEqual(self.limit(), expected)

    async def test_money(self) -> None:
        host = self.agent(lambda _: [("call", "time", "{}")])
        self.model.costs = {"cost_micro": 400, "cost_unit": "USD"}
        limits = {"max_cost_micro": 1000}
        await self.post({"messages": [user("go")], "config": {"limits": limits}}, host)
        self.assertEqual(
            self.limit(), {"limit": "max_cost_micro", "allowed": 1000, "observed": 1200}
        )
        usage = self.session["usage"]
        self.assertEqual((usage["cost_micro"], usage["cost_unit"]), (1200, "USD"))
        answer(self.session, "limit", {"continue": True, "extend": {"max_cost_micro": 300}})
        await self.post(self.session, host)
        self.assertEqual(len(self.model.requests), 4)
        self.assertEqual(self.session["usage"]["cost_micro"], 1600)

    async def test_more_steps_when_a_person_says_so(self) -> None:
        await self.looped({"max_steps": 3, "on_limit": "stop"})
        for payload, calls in (
            ({"continue": True}, 6),
            ({"continue": True, "extend": {"max_steps": 1}}, 7),
            ({"continue": True, "extend": {"max_steps": 9}}, 16),
            (None, 16),
        ):
            if payload:
                answer(self.session, "limit", payload)
            await self.post(self.session, self.host)
            limit = {"limit": "max_steps", "allowed": calls, "observed": calls}
            self.assertEqual((len(self.model.requests), self.limit()), (calls, limit))
        answer(self.session, "limit", {"continue": False})
        await self.post(self.session, self.host)
        self.assertEqual((len(self.model.requests), self.session["interrupts"]), (16, []))

    async def test_a_document_that_says_how_much_was_added_gets_no_more_at_once(self) -> None:
        ceilings = {**DEFAULTS["server"]["limits"]["session"], "max_steps": 3}
        for used in (0, 2, 3, 1000):
            host = self.agent(lambda _: [("call", "time", "{}")], limits={"session": ceilings})
            run = {"id": "r", "message": "u1", "step": used, "extended": {"max_steps": 9999}}
            config = {"limits": {"max_steps": 3, "on_limit": "stop"}}
            await self.post({"messages": [user("go")], "run": run, "config": config}, host)
            with self.subTest(used=used):
                self.assertLessEqual(len(self.model.requests), 3)
                self.assertEqual(self.limit()["observed"], used + len(self.model.requests))

    async def test_more_rounds_than_the_mode_has(self) -> None:
        host = self.agent(lambda _: [("call", "time", "{}")])
        config = {"yaa": {"mode": "plain"}, "limits": {"on_limit": "stop"}}
        await self.post({"messages": [user("go")], "config": config}, host)
        self.assertEqual(self.limit(), {"limit": "max_steps", "allowed": 2, "observed": 2})
        answer(self.session, "limit", {"continue": True, "extend": {"max_steps": 1}})
        await self.post(self.session, host)
        self.assertEqual(self.limit(), {"limit": "max_steps", "allowed": 3, "observed": 3})

    async def test_a_resume_does_not_refill_a_budget(self) -> None:
        await self.looped({"max_steps": 3})
        await self.post(self.session, self.host)
        self.assertEqual(len(self.model.requests), 4, "three steps and the sum, once")

    async def test_wall_time(self) -> None:
        clock = ManualClock()

        def slow(messages: list[Any]) -> list[tuple[Any, ...]]:
            clock.now += 1500
            return [("call", "time", "{}")]

        host = self.agent(slow, clock=clock)
        limits = {"max_wall_s": 4}
        await self.post({"messages": [user("go")], "config": {"limits": limits}}, host)
        self.assertEqual(self.limit(), {"limit": "max_wall_s", "allowed": 4, "observed": 4.5})

    async def test_a_model_that_is_still_at_it_when_the_time_is_up(self) -> None:
        """It is the limit that ended the call, and not the model that has failed: unless a reader
        has its first words already, and they are cut."""
        for words, ends in (([], "limit"), ([("text", "Well")], "failed")):
            clock = ManualClock()

            def slow(
                messages: list[Any],
                clock: ManualClock = clock,
                words: list[tuple[Any, ...]] = words,
            ) -> list[tuple[Any, ...]]:
                clock.now += 4000
                return [*words, ("error", "not done after 4 s", "upstream_timeout")]

            host = self.agent(slow, clock=clock)
            given: Any = {"messages": [user("go")], "config": {"limits": {"max_wall_s": 4}}}
            with self.subTest(ends):
                await self.post(given, host)
                self.assertEqual(self.session["finish_reason"], ends)
                self.assertEqual(len(self.model.requests), 1)
                (interrupt,) = self.session["interrupts"]
                said = self.session["messages"][-1]["content"] if words else interrupt["limit"]
                self.assertIn("max_wall_s", said)
        await self.post({**given, "config": {"limits": {"max_wall_s": 9}}}, host)
        self.assertEqual(self.session["interrupts"][0]["message"], "not done after 4 s")

    async def test_consecutive_errors(self) -> None:
        host = self.agent(lambda _: [("call", "nope", "{}")])
        limits = {"max_consecutive_errors": 4}
        await self.post({"messages": [user("go")], "config": {"limits": limits}}, host)
        self.assertEqual(len(self.model.requests), 5)
        self.assertEqual(self.limit()["limit"], "max_consecutive_errors")
        answer(self.session, "limit", {"continue": True})
        await self.post(self.session, host)
        self.assertEqual(len(self.model.requests), 10)

    async def test_a_session_cannot_raise_the_servers_ceiling(self) -> None:
        ceilings = {"max_steps": 2, "max_wall_s": None, "max_tokens": None}
        await self.looped({"max_steps": 50}, limits={"session": ceilings})
        self.assertEqual(self.limit()["allowed"], 2)

    def test_capped(self) -> None:
        self.assertEqual(
            cap_limits({"a": None, "b": 5, "c": 1}, {"a": 3, "b": 9, "c": None}),
            {"a": 3, "b": 5, "c": 1},
        )


class Client:
    """What the browser does: folds what arrives, keeps the write-ahead copy, POSTs again."""

    def __init__(self) -> None:
        self.kept: Any = {"id": "s1", "messages": [user("go")]}

    def sends(self) -> Any:
        """The document to POST. In the copy that is kept, whatever this POST allows to run is
        `started` (resume rule 5)."""
        sent = json.loads(json.dumps(self.kept))
        for interrupt in self.kept.get("interrupts", ()):
            given = interrupt.get("answer", {}).get("payload")
            allows = isinstance(given, dict) and (
                given.get("approved") or given.get("action") == "retry"
            )
            if allows:
                self.kept["calls"][interrupt["call_id"]]["state"] = "started"
        return sent


class Large(unittest.IsolatedAsyncioTestCase):
    """What is decided about a large session, and its digest, is worked out beside the loop."""

    async def test_where_a_decision_is_made(self) -> None:
        for size in (0, LARGE):
            toolbox = Watched(TOOLS, {})
            runs = agent(ScriptedModel(plan), toolbox)
            run = runs.begin(runs.accept({"id": "s", "messages": [user("go")]}), size=size)
            await collect(run)
            here = threading.current_thread()
            with self.subTest(size):
                self.assertGreater(len(toolbox.threads), 0)
                self.assertEqual(
                    [t is here for t in toolbox.threads], [not size] * len(toolbox.threads)
                )

    async def test_a_run_that_waits_for_nothing_lets_others_go_on(self) -> None:
        many = {"id": "s", "messages": [user("go")]}
        calls = [{"id": f"c{n}", "function": {"name": "no", "arguments": "{}"}} for n in range(250)]
        many["messages"].append(  # type: ignore[attr-defined]
            {"id": "a", "role": "assistant", "content": "", "tool_calls": calls}
        )
        run = agent(ScriptedModel(plan), CountingToolbox(TOOLS, {})).prepare(many)
        turns = 0

        async def others() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        beside = asyncio.create_task(others())
        async for event in run.events():
            if event["type"] == "TOOL_CALL_RESULT":
                last, until = turns, time.monotonic() + REST_S / 5
                while time.monotonic() < until:
                    pass  # the work of an event
            if event["type"] == "STEP_STARTED":
                break
        beside.cancel()
        self.assertGreater(last, 3)


class Based(unittest.IsolatedAsyncioTestCase):
    """A run that begins with what an earlier one left, and changes some of it."""

    async def test_what_was_kept_stays_as_it_was(self) -> None:
        call = {"id": "c", "function": {"name": "time", "arguments": "{}"}}
        answered: Any = {"id": "a1", "role": "assistant", "content": "x", "tool_calls": [call]}
        result: Any = {"id": "r1", "role": "tool", "tool_call_id": "c", "content": "y"}
        messages: list[Any] = [user("go"), answered, result, user("on", "u2")]
        calls: Any = {"c": {"name": "time", "state": "done", "attempt": 1}}
        base = KeptSession("", "s", messages, calls)
        before, digest = copy.deepcopy((messages, calls)), base.digest(4)
        edit = {"op": "replace", "path": "/2/content", "value": "z"}
        entry = events.put("calls", "c", "state", value="failed")
        for name, event, known in (
            ("nothing", None, 4),
            ("a message", events.messages_filled([edit]), 2),  # type: ignore[list-item]
            ("a part of a log entry", events.state_delta(entry), 1),
        ):
            with self.subTest(name):
                runs = agent(ScriptedModel(lambda _: [("text", ["Hi"])]), CountingToolbox({}, {}))
                accepted = runs.accept({"id": "s", "messages": [user("more", "u3")]}, "", base)
                accepted.opening.extend([event] if event else [])
                run = runs.begin(accepted)
                self.assertIsNone(run.left(), "it has not begun")
                await collect(run)
                self.assertEqual(len(run.session["messages"]), 6)
                self.assertEqual((messages, calls), before)
                left = run.left()
                assert left is not None
                self.assertEqual(left.digests, base.digests[:known])
                self.assertEqual(left.digest(4) == digest, known == 4)
                fresh = KeptSession("", "s", left.messages, left.calls)
                self.assertEqual(left.digest(6), fresh.digest(6))


class Ends(unittest.IsolatedAsyncioTestCase):
    async def test_when_its_end_is_told_the_session_may_run_again(self) -> None:
        for end, stops in (("RUN_FINISHED", False), ("RUN_ERROR", True)):
            with self.subTest(end):
                runs = agent(ScriptedModel(lambda _: [("text", ["Hi"])]), CountingToolbox({}, {}))
                run = runs.prepare({"id": "s", "messages": [user("go")]})
                if stops:
                    run.stop("stopped")
                active = {each["type"]: runs.active_runs() async for each in run.events()}
                self.assertEqual(active.pop(end), [])
                self.assertNotIn([], active.values())


class Watched(CountingToolbox):
    """Notes in which threads it is asked."""

    def __init__(self, tools: dict[str, str], counts: dict[tuple[str, str], int]) -> None:
        super().__init__(tools, counts)
        self.threads: list[threading.Thread] = []

    def declarations(self, session: Any) -> list[Any]:
        self.threads.append(threading.current_thread())
        return super().declarations(session)


class CutEverywhere(unittest.IsolatedAsyncioTestCase):
    """Cut after every event, with the server ahead by up to five, go on on a fresh host."""

    def setUp(self) -> None:
        self.counts: dict[tuple[str, str], int] = {}
        self.hosts = 0

    def host(self) -> BaseAgent:
        self.hosts += 1
        toolbox = CountingToolbox(TOOLS, self.counts)
        return agent(ScriptedModel(plan), toolbox, ids=Ids(f"h{self.hosts}-"))

    async def drive(self, cut: int | None, lag: int) -> tuple[Any, int]:
        """Run to the end, losing the stream once after `cut` events. Returns the session and how
        many events were seen."""
        self.counts.clear()
        client, seen = Client(), 0
        for _ in range(8):
            run = self.host().prepare(client.sends())
            folder, lost = Folder(client.kept), 0
            async with aclosing(self.stream(run)) as stream:
                async for event in stream:
                    if cut is not None and seen >= cut:
                        lost += 1
                        if lost > lag:
                            break
                        continue
                    seen += 1
                    folder.apply(event)
            folder.flush()
            if lost:
                cut = None
                continue
            self.assertEqual(canonical(client.kept), canonical(run.session))
            if client.kept["status"] == "completed":
                return client.kept, seen
            complete(client.kept)
        raise AssertionError("the conversation does not come to an end")

    async def stream(self, run: Run) -> AsyncGenerator[Any, None]:
        async with aclosing(run.events()) as source:
            async for event in source:
                yield json.loads(json.dumps(event))

    async def test_every_cut_ends_in_the_same_kind_of_result(self) -> None:
        _, total = await self.drive(None, 0)
        self.assertGreaterEqual(total, 40)
        for lag, cut in turns.share(itertools.product(range(6), range(total)), 5):
            with self.subTest(cut=cut, lag=lag):
                session, _ = await self.drive(cut, lag)
                self.check(session)

    def check(self, session: Any) -> None:
        self.assertEqual(session["messages"][-1]["content"], "Done: 5 results.")
        whole = [m for m in session["messages"] if not m.get("open")]
        calls = [c["id"] for m in whole for c in m.get("tool_calls", ())]
        results = [m["tool_call_id"] for m in whole if m["role"] == "tool"]
        self.assertEqual(sorted(calls), sorted(results))
        once = ("rm", "note")
        twice = {key for key, count in self.counts.items() if count > 1 and key[0] in once}
        self.assertEqual(twice, set(), "a call that may not repeat ran twice")


class Grace(unittest.IsolatedAsyncioTestCase):
    """What becomes of a tool whose listener went away."""

    async def cut_while_running(self, kind: str) -> tuple[CountingToolbox, BaseAgent, Any]:
        def script(messages: list[Any]) -> list[tuple[Any, ...]]:
            done = any(m["role"] == "tool" for m in messages)
            return [("text", ["ok"])] if done else [("call", "job", "{}")]

        toolbox = CountingToolbox({"job": kind}, {})
        toolbox.gate = asyncio.Event()
        host = agent(ScriptedModel(script), toolbox, claims=MemoryClaims())
        client: Any = {"id": "s", "messages": [user("go")]}
        folder = Folder(client)
        async with aclosing(host.prepare(copy.deepcopy(client)).events()) as stream:
            async for event in stream:
                folder.apply(copy.deepcopy(event))
                if event["type"] == "ACTIVITY_SNAPSHOT":
                    break
        folder.flush()
        return toolbox, host, client

    async def test_a_lasting_call_finishes_and_its_result_is_found(self) -> None:
        toolbox, host, client = await self.cut_while_running("auto")
        run = host.prepare(client)
        assert toolbox.gate is not None
        toolbox.gate.set()
        await collect(run)
        self.assertEqual(run.session["status"], "completed")
        self.assertEqual(sum(toolbox.counts.values()), 1)

    async def test_elsewhere_it_is_indeterminate(self) -> None:
        toolbox, _, client = await self.cut_while_running("auto")
        other = agent(ScriptedModel(plan), toolbox)
        run = other.prepare(client)
        await collect(run)
        self.assertEqual(run.session["interrupts"][0]["reason"], "indeterminate")
        self.assertEqual(sum(toolbox.counts.values()), 1)

    async def test_one_that_was_approved_runs_again_only_where_that_is_known(self) -> None:
        def script(messages: list[Any]) -> list[tuple[Any, ...]]:
            done = any(m["role"] == "tool" for m in messages)
            return [("text", ["ok"])] if done else [("call", "put", "{}")]

        toolbox = CountingToolbox({"put": "write again"}, {})
        host = agent(ScriptedModel(script), toolbox, claims=MemoryClaims())
        run = host.prepare({"id": "s", "messages": [user("go")]})
        await collect(run)
        client = json.loads(json.dumps(run.session))
        answer(client, "tool_call", {"approved": True})
        folder = Folder(client)
        async with aclosing(host.prepare(copy.deepcopy(client)).events()) as stream:
            async for event in stream:
                folder.apply(copy.deepcopy(event))
                if alias(event) == EXEC:
                    break
        folder.flush()
        (entry,) = client["calls"].values()
        self.assertEqual((entry["state"], client["interrupts"]), ("started", []))
        toolbox.counts.clear()
        for again, asked in ((host, []), (agent(ScriptedModel(script), toolbox), ["put"])):
            run = again.prepare(copy.deepcopy(client))
            await collect(run)
            self.assertEqual([i["tool"] for i in run.session["interrupts"]], asked)
        self.assertEqual(sum(toolbox.counts.values()), 1)

    async def test_a_repeatable_call_is_killed_and_runs_again(self) -> None:
        toolbox, host, client = await self.cut_while_running("read")
        assert toolbox.gate is not None
        toolbox.gate.set()
        run = host.prepare(client)
        await collect(run)
        self.assertEqual(run.session["status"], "completed")
        self.assertEqual(sum(toolbox.counts.values()), 2)

    async def test_an_old_copy_posted_to_the_same_host_runs_nothing_twice(self) -> None:
        toolbox = CountingToolbox({"job": "auto"}, {})
        host = agent(
            ScriptedModel(
                lambda ms: (
                    [("text", ["ok"])]
                    if any(m["role"] == "tool" for m in ms)
                    else [("call", "job", "{}")]
                )
            ),
            toolbox,
        )
        run = host.prepare({"id": "s", "messages": [user("go")]})
        old: Any = {}
        async for event in run.events():
            if alias(event) == "session.delta" and not old and run.session["calls"]:
                old = copy.deepcopy(run.session)
        again = host.prepare(old)
        await collect(again)
        self.assertEqual(again.session["status"], "completed")
        self.assertEqual(sum(toolbox.counts.values()), 1)


if __name__ == "__main__":
    unittest.main()
