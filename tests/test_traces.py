"""Golden traces: what each mode does with a model's answers, event by event.

A case is what is POSTed, what the model says round by round, and every event that comes out. Each
request of every case is held against what a strict provider accepts.
"""

from __future__ import annotations

import copy
import json
import unittest
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from server.config import Config
from server.context.view import pairing_errors
from server.session.events import alias
from server.session.fold import Folder
from server.session.reminders import GO_ON, SUM_UP
from server.tools.toolbox import Toolbox

from .fakes import DEFAULTS, NOWHERE, Ids, ScriptedModel, agent, answer, user

Round = list[tuple[Any, ...]]

GOLDEN = Path(__file__).parent / "vectors" / "traces.json"


def sums(*expressions: str) -> Round:
    return [("call", "calculator", [json.dumps({"expression": e})]) for e in expressions]


def call(name: str, **args: Any) -> tuple[Any, ...]:
    return ("call", name, [json.dumps(args)])


def words(*deltas: str) -> Round:
    return [("text", list(deltas))]


SCHEMA = {
    "type": "object",
    "properties": {"n": {"type": "integer"}},
    "required": ["n"],
    "additionalProperties": False,
}


@dataclass
class Case:
    """`answers`: what a person says to the interrupts after each run but the last."""

    agent: Any
    rounds: list[Round]
    answers: list[tuple[str, Any]] = field(default_factory=list)


CASES: dict[str, Case] = {
    "free, calls of one round side by side": Case({}, [sums("1+1", "2+2"), words("2", " and 4")]),
    "plain, an answer at once": Case({"mode": "plain"}, [words("Hi", ".")]),
    "plain, one call": Case({"mode": "plain"}, [sums("1+1"), words("2")]),
    "plain, two calls at once": Case({"mode": "plain"}, [sums("1+1", "2+2"), words("2")]),
    "plain, a second call is never run": Case(
        {"mode": "plain"}, [sums("1+1"), sums("2+2"), words("2")]
    ),
    "react, one call in each round": Case(
        {"mode": "react"}, [sums("1+1", "2+2"), sums("2+2"), words("4")]
    ),
    "react, an unknown tool and wrong arguments": Case(
        {"mode": "react"},
        [[call("calculater", expression="1")], [call("calculator", x=1)], words("no")],
    ),
    "react, arguments that are no JSON": Case(
        {"mode": "react"}, [[("call", "calculator", ["{", "nothing"])], words("no")]
    ),
    "react, at the limit a sum, then more": Case(
        {"mode": "react", "limits": {"max_steps": 1}},
        [sums("1+1"), words("So far: 2."), sums("2+2"), words("So far: 4.")],
        [("limit", {"continue": True})],
    ),
    "react, a call in the sum is not run": Case(
        {"mode": "react", "limits": {"max_steps": 1}}, [sums("1+1"), sums("2+2")]
    ),
    "plan_execute, a plan carried out": Case(
        {"mode": "plan_execute"},
        [
            [call("plan_set", goal="Done", tasks=["Add", "Double it"])],
            [
                call("plan_update", task="1", status="in_progress"),
                call("datetime", at="2026-02-28T12:00:00Z"),
                call("datetime", at="{{datetime.datetime+1d}}"),
                call("plan_update", task="1", status="completed", result="2"),
            ],
            [call("plan_update", task="2", status="completed", result="4"), ("text", ["4"])],
            words("4"),
        ],
    ),
    "plan_execute, a failed task ends the run": Case(
        {"mode": "plan_execute"},
        [
            [call("plan_set", goal="Done", tasks=["Fly"])],
            [call("plan_update", task="1", status="failed", result="no wings")],
        ],
    ),
    "plan_execute, mistakes with the plan": Case(
        {"mode": "plan_execute"},
        [
            [call("plan_update", task="1", status="completed")],
            [call("plan_set", goal="Done", tasks=[])],
            [call("plan_update", task="9", status="started")],
            words("no"),
        ],
    ),
    "plan_execute, at the limit": Case(
        {"mode": "plan_execute", "limits": {"max_steps": 2}},
        [sums("1+1", "2+2"), sums("3+3"), words("So far: 6.")],
    ),
    "output, wrong once, then right": Case(
        {"output_schema": SCHEMA}, [[call("finish", n="many")], [call("finish", n=3)]]
    ),
    "output, in words, then as it must be": Case(
        {"output_schema": SCHEMA}, [words("three"), [call("finish", n=3)]]
    ),
    "output, in words that are the value": Case(
        {"output_schema": {"type": "integer"}}, [words("```json\n", "3\n```")]
    ),
    "output, no object": Case(
        {"output_schema": {"type": "integer"}, "mode": "plain"},
        [sums("1+2"), [call("finish", output=3)]],
    ),
    "output, never": Case(
        {"output_schema": SCHEMA}, [words("three"), [call("finish")], words("{}")]
    ),
    "strict finish, in words": Case({"require_finish_tool": True}, [words("done")]),
    "strict finish, as it must be": Case(
        {"require_finish_tool": True, "tools": []}, [[call("finish", reason="all done")]]
    ),
}


@dataclass
class Trace:
    posts: list[list[str]]
    model: ScriptedModel
    session: Any


async def traced(case: Case, earlier: Any | None = None) -> Trace:
    """The case, run from its beginning or on top of a session."""
    config = Config(DEFAULTS["server"], DEFAULTS["session"], NOWHERE)
    rounds = iter(case.rounds)
    model = ScriptedModel(lambda _: next(rounds))
    host = agent(model, Toolbox(config), ids=Ids("b" if earlier else ""))  # type: ignore[arg-type]
    copied = {"name": "traced", **case.agent}
    session: Any = {"id": "s", "messages": [user("go")], "agent": "traced"} | (earlier or {})
    session["config"] = {**session.get("config", {}), "agent": copied}
    posts = []
    for number in range(len(case.answers) + 1):
        if number:
            answer(session, *case.answers[number - 1])
        run = host.prepare(copy.deepcopy(session))
        folder, lines = Folder(session), []
        async for event in run.events():
            event = copy.deepcopy(event)
            folder.apply(event)
            lines.append(told(event))
        folder.flush()
        session = folder.session
        assert session == run.session
        posts.append(lines)
    return Trace(posts, model, session)


def told(event: Any) -> str:
    """One event in a line, with what matters of it."""
    name, ours = alias(event), event.get("metadata", {}).get("yaa", {})
    match event["type"]:
        case "STEP_STARTED" | "STEP_FINISHED":
            return f"{name} {event['stepName']}"
        case "TEXT_MESSAGE_CONTENT" | "TOOL_CALL_ARGS":
            return f"{name} {event['delta']}"
        case "TOOL_CALL_START":
            return f"{name} {event['toolCallId']} {event['toolCallName']}"
        case "TOOL_CALL_RESULT":
            status = ours["result"]["status"]
            return f"{name} {event['toolCallId']} {ours['state']} {status}: {event['content']}"
        case "STATE_DELTA":
            return f"{name} {' '.join(change['path'][5:] for change in event['delta'])}"
        case "RUN_FINISHED":
            result = event["result"]
            return f"{name} {event['outcome']['type']} {result['status']} {result['finish_reason']}"
        case "RUN_ERROR":
            return f"{name} {event['code']}: {event['message']}"
    return name


class Golden(unittest.IsolatedAsyncioTestCase):
    maxDiff = None

    async def test_every_case_event_by_event(self) -> None:
        golden = json.loads(GOLDEN.read_text())
        self.assertEqual(sorted(golden), sorted(CASES))
        for name, case in CASES.items():
            with self.subTest(name):
                self.assertEqual((await traced(case)).posts, golden[name])

    async def test_a_strict_provider_accepts_every_request(self) -> None:
        for name, case in CASES.items():
            trace = await traced(case)
            self.assertEqual(len(trace.model.requests), len(case.rounds), name)
            requests: list[Any] = trace.model.requests
            for request in requests:
                with self.subTest(name, request=request):
                    self.assertEqual(pairing_errors(request), [])
                    roles = [message["role"] for message in request]
                    self.assertEqual(roles[:2], ["system", "user"])
                    self.assertNotIn(
                        ("assistant", "assistant"), zip(roles, roles[1:], strict=False)
                    )
                    self.assertIn(roles[-1], ("user", "tool"))

    async def test_what_was_offered(self) -> None:
        plain = (await traced(CASES["plain, one call"])).model
        self.assertIn("calculator", names(plain.tools[0]))
        self.assertEqual(plain.tools[1], [])
        wanted = (await traced(CASES["output, no object"])).model
        self.assertEqual(names(wanted.tools[1]), ["finish"])
        parameters = wanted.tools[1][0]["function"]["parameters"]
        self.assertEqual(parameters["properties"], {"output": {"type": "integer"}})
        for name in CASES:
            if "sum" not in name:
                first = (await traced(CASES[name])).model.tools[0]
                plans = "plan_set" in names(first)
                self.assertEqual(plans, name.startswith("plan_execute"), name)

    async def test_what_must_be_called(self) -> None:
        for name, choices in (
            ("output, wrong once, then right", [None, "finish"]),
            ("output, in words, then as it must be", [None, "finish"]),
            ("output, no object", [None, None]),
            ("free, calls of one round side by side", [None, None]),
        ):
            self.assertEqual((await traced(CASES[name])).model.choices, choices)

    async def test_what_is_in_the_document_then(self) -> None:
        for name, value in (
            ("output, wrong once, then right", {"n": 3}),
            ("output, in words that are the value", 3),
            ("output, no object", 3),
        ):
            self.assertEqual((await traced(CASES[name])).session["output"], value)
        never = (await traced(CASES["output, never"])).session
        self.assertEqual((never["status"], "output" in never), ("failed", False))
        kept = (await traced(CASES["plan_execute, a plan carried out"])).session["plan"]
        self.assertEqual(
            [(t["status"], t["result"]) for t in kept["tasks"]],
            [("completed", "2"), ("completed", "4")],
        )

    async def test_a_sum_is_asked_for_beside_the_conversation(self) -> None:
        trace = await traced(CASES["react, at the limit a sum, then more"])
        first, second, third, _ = trace.model.requests
        self.assertEqual(second[-1], {"role": "user", "content": SUM_UP})
        self.assertEqual(trace.model.tools[1], [])
        self.assertEqual([m["content"] for m in third[-2:]], ["So far: 2.", GO_ON])
        said = json.dumps(trace.session["messages"])
        self.assertNotIn(SUM_UP, said)
        self.assertNotIn(GO_ON, said)
        [limit] = trace.session["interrupts"]
        self.assertEqual((limit["limit"], limit["allowed"], limit["observed"]), ("max_steps", 2, 2))

    async def test_a_sum_wherever_it_is_wanted(self) -> None:
        for mode, wanted, rounds in (
            ("free", "auto", 2),
            ("free", "summarize", 2),
            ("react", "stop", 1),
            ("plain", "summarize", 2),
            ("free", "stop", 1),
            ("plan_execute", "auto", 2),
        ):
            case = Case({"mode": mode}, [sums("1+1"), words("so far")])
            limits = {"max_steps": 1, "on_limit": wanted}
            trace = await traced(case, {"config": {"limits": limits}})
            self.assertEqual(len(trace.model.requests), rounds, (mode, wanted))
            self.assertEqual(trace.session["finish_reason"], "limit")

    async def test_no_budget_is_exceeded_for_a_sum(self) -> None:
        for on_limit in ("auto", "summarize"):
            case = Case({"mode": "react"}, [sums("1+1"), words("so far")])
            limits = {"max_tokens": 10, "on_limit": on_limit}  # a call takes 18
            trace = await traced(case, {"config": {"limits": limits}})
            self.assertEqual(len(trace.model.requests), 1, on_limit)
            [limit] = trace.session["interrupts"]
            self.assertEqual((limit["limit"], limit["observed"]), ("max_tokens", 18))

    async def test_posting_again_at_the_limit_asks_for_no_second_sum(self) -> None:
        case = Case({"mode": "react", "limits": {"max_steps": 1}}, [sums("1+1"), words("So far")])
        first = await traced(case)
        again = await traced(Case(case.agent, []), first.session)
        self.assertEqual(again.session["finish_reason"], "limit")
        self.assertEqual(again.session["messages"], first.session["messages"])

    async def test_a_plan_goes_on_at_another_server(self) -> None:
        agent = {"mode": "plan_execute", "limits": {"max_steps": 1}}
        case = Case(
            agent, [[call("plan_set", goal="Done", tasks=["a", "b"])], words("made a plan")]
        )
        first = await traced(case)
        answer(first.session, "limit", {"continue": True})
        update = call("plan_update", task="2", status="completed")
        again = await traced(Case(agent, [[update], words("so far")]), first.session)
        self.assertEqual(
            [t["status"] for t in again.session["plan"]["tasks"]], ["todo", "completed"]
        )

    async def test_a_new_question_takes_the_old_output_away(self) -> None:
        first = await traced(CASES["output, wrong once, then right"])
        first.session["messages"].append(user("and now in words", "u2"))
        first.session["config"]["agent"].pop("output_schema")
        again = await traced(Case({}, [words("three")]), first.session)
        self.assertNotIn("output", again.session)


def names(tools: list[Any]) -> list[str]:
    return [tool["function"]["name"] for tool in tools]


if __name__ == "__main__":
    unittest.main()
