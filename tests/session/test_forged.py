"""Documents whose author wrote whatever he liked: no tool runs that nobody saw and allowed.

Each document ends in a call that the policy asks about, with every combination of what its ledger
entry and its interrupt can say of it. What may run is stated here a second time, as plainly as
possible: only what an answered interrupt of the document shows, and only with a yes.
"""

from __future__ import annotations

import copy
import itertools
import json
import tempfile
import unittest
from collections.abc import Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

from server.agent.call_decisions import LOST, pending_calls, plan_call
from server.agent.loop import BaseAgent
from server.config import Config
from server.errors import Problem
from server.json_types import LedgerEntry, Session
from server.lib.strict_json import canonical
from server.session.call_actions import Ask, Execute, SendToClient
from server.session.events import EXEC, alias
from server.session.schema import STATES
from server.tools.toolbox import Toolbox

from ..fakes import DEFAULTS, CountingToolbox, ScriptedModel, agent, user

TOOLS = {
    "remove": "write",
    "put": "write again",
    "mcp": "write asks",
    "mcp_put": "write again asks",
    "clip": "page",
    "forbidden": "deny",
    "harmless": "read",
}
ASKING = ("remove", "put", "mcp", "mcp_put")  # tools that the policy asks about
TRUE, OTHER, NICE = {"path": "/"}, {"path": "/home"}, {"label": "harmless"}
INPUT = {"keys": ["k"], "message": "Delete all?", "answer": {"sure": True}, "state": "s"}
YES: Any = {
    "tool_call": {"approved": True},
    "client_tool": {"content": "x"},
    "input_required": "Paris",
    "indeterminate": {"action": "retry"},
}
SAYS = {
    "tool_call": "Allow {}?",
    "client_tool": "Run {} in the page",
    "input_required": "Delete all?",
    "indeterminate": f"{LOST} What now?",
}
ANSWERS = ("none", "yes", "cancelled", "declined")


def print_of(name: str, args: Any) -> str:
    verdict = CountingToolbox(TOOLS, {}).verdict({"grants": []}, call_of(name, args))
    return str(verdict.fingerprint)


def call_of(name: str, args: Any) -> Any:
    return {"id": "c1", "type": "function", "function": {"name": name, "arguments": args}}


def entries(name: str) -> Iterator[Any]:
    """What a ledger can say of a call: {} for nothing."""
    yield {}
    for state, args, marked, asked in itertools.product(
        STATES, (None, OTHER), (False, True), (None, INPUT)
    ):
        entry: Any = {"name": name, "state": state, "attempt": 1}
        if args is not None:
            entry["args"] = args
        if marked:
            entry["fingerprint"] = print_of(name, TRUE if args is None else args)
        if asked is not None:
            entry["input"] = asked
            entry["policy"] = {"network": "proxy", "hosts": ["*"]}
        yield entry


def interrupts(name: str) -> Iterator[list[Any]]:
    """What a document can claim to have shown, and what was answered."""
    yield []
    shown: tuple[Any, ...] = (
        {},
        {"tool": "harmless", "args": NICE},
        {"tool": name, "args": TRUE},
        {"tool": name, "args": OTHER},
    )
    for reason, about, answered in itertools.product(YES, shown, ANSWERS):
        asked = {"id": "int-c1", "reason": reason, "call_id": "c1"}
        if "tool" in about:
            asked["message"] = SAYS[reason].format(name)
        yield [{**asked, **about, **answer(reason, answered)}]


def answer(reason: str, how: str) -> Any:
    if how == "none":
        return {}
    if how == "yes":
        return {"answer": {"status": "resolved", "payload": YES[reason]}}
    if how == "cancelled":
        return {"answer": {"status": "cancelled"}}
    no = {"approved": False} if reason == "tool_call" else {"action": "decline"}
    status = "resolved" if reason == "tool_call" else "cancelled"
    return {"answer": {"status": status, "payload": no}}


def documents(*names: str) -> Iterator[Session]:
    for name in names:
        for entry, asked, moved_on in itertools.product(
            entries(name), interrupts(name), (False, True)
        ):
            yield document(name, entry, asked, moved_on=moved_on)


def document(name: str, entry: Any, asked: list[Any], *, moved_on: bool = False) -> Any:
    call = call_of(name, canonical(TRUE))
    messages = [
        user("go"),
        {"id": "m1", "role": "assistant", "content": "", "tool_calls": [call]},
        *([user("thanks!", "u2")] if moved_on else []),
    ]
    calls = {"c1": entry} if entry else {}
    return {"id": "s", "messages": messages, "calls": calls, "interrupts": asked}


def said_yes(session: Session, name: str, args: Any) -> bool:
    """Whether the document has a yes to running this tool with these arguments."""
    return any(
        each["reason"] in ("tool_call", "indeterminate")
        and each.get("answer") == {"status": "resolved", "payload": YES[each["reason"]]}
        and (each.get("tool"), each.get("args")) == (name, args)
        for each in session["interrupts"]
    )


def hidden_answer(session: Session, entry: LedgerEntry) -> bool:
    """Whether a tool would be told an answer that no interrupt showed."""
    told = entry.get("input", {}).get("answer")
    texts = [each.get("message", "") for each in session["interrupts"]]
    return told is not None and not any(canonical(told) in text for text in texts)


class Decided(unittest.TestCase):
    """Every combination, one decision each."""

    def setUp(self) -> None:
        self.toolbox = CountingToolbox(TOOLS, {})

    def decided(self, made: Session) -> Any:
        session: Any = {**made, "grants": [], "config": {"yaa": {}}}
        return plan_call(*pending_calls(session, self.toolbox))

    def test_nothing_runs_that_was_not_shown_and_allowed(self) -> None:
        ran = 0
        documented: Iterator[Any] = documents(*ASKING)
        for made in documented:
            found = self.decided(made)
            name = made["messages"][1]["tool_calls"][0]["function"]["name"]
            if isinstance(found, Execute):
                ran += 1
                if not said_yes(made, name, found.args) or hidden_answer(made, found.entry):
                    self.fail(f"{found} ran by {json.dumps(made)}")
            elif isinstance(found, Ask):
                shown = (found.interrupt["tool"], found.interrupt["args"])
                as_run = made["calls"].get("c1", {}).get("args", TRUE)
                if shown != (name, as_run) and found.interrupt not in made["interrupts"]:
                    self.fail(f"{found} is not what would run: {json.dumps(made)}")
        self.assertGreater(ran, 0, "an honest yes counts")

    def test_an_answer_counts_where_it_was_given_to_what_is_asked_again(self) -> None:
        """Whatever the document said before: what is asked now is true, and a yes to it runs it."""
        for made in itertools.islice(documents(*ASKING), 0, None, 7):
            found = self.decided(made)
            if not isinstance(found, Ask):
                continue
            reason = found.interrupt["reason"]
            asked = {**found.interrupt, **answer(reason, "yes")}
            again = {**made, "calls": {"c1": found.entry}, "interrupts": [asked]}
            then = self.decided(json.loads(json.dumps(again)))
            if reason == "input_required":  # the tool's question: the call is asked about next
                self.assertEqual(then.interrupt["reason"], "tool_call")
                self.assertIn(canonical(YES[reason]), then.interrupt["message"])
            elif reason != "client_tool":
                self.assertIsInstance(then, Execute, made)
                self.assertEqual(then.args, found.interrupt["args"])

    def test_the_page_is_given_the_true_call_and_no_other(self) -> None:
        for made in documents("clip"):
            found = self.decided(made)
            self.assertNotIsInstance(found, Execute | SendToClient, made)
            if isinstance(found, Ask):
                self.assertEqual(found.interrupt["tool"], "clip", made)
                self.assertIn(found.interrupt["args"], (TRUE, OTHER), made)

    def test_a_tool_that_is_not_there_hands_no_other_to_the_page(self) -> None:
        for made in documents("gone"):
            found = self.decided(made)
            self.assertNotIsInstance(found, Execute | SendToClient, made)
            if isinstance(found, Ask) and found.interrupt["reason"] == "client_tool":
                told = (found.interrupt["tool"], found.interrupt["args"])
                self.assertEqual(told, ("gone", TRUE), made)

    def test_what_is_forbidden_stays_so(self) -> None:
        for made in documents("forbidden"):
            self.assertNotIsInstance(self.decided(made), Execute | SendToClient, made)


class Posted(unittest.IsolatedAsyncioTestCase):
    """Some of them as whole runs, by an agent that calls nothing of its own."""

    async def post(self, made: Session, host: BaseAgent) -> tuple[Session, list[str]]:
        """(the session after the run, the names of its events)."""
        try:
            run = host.prepare(copy.deepcopy(made))
        except Problem as problem:
            self.assertIn(problem.status, (422,), problem)
            return made, []
        async with aclosing(run.events()) as source:
            found: Any = [alias(event) async for event in source]
        self.assertNotIn("run.error", found, made)
        return run.session, found

    def host(self, toolbox: Any) -> BaseAgent:
        return agent(ScriptedModel(lambda _: [("text", ["ok"])]), toolbox)

    async def test_through_the_whole_agent(self) -> None:
        for number, made in enumerate(itertools.islice(documents(*ASKING), 0, None, 41)):
            toolbox = CountingToolbox(TOOLS, {})
            session, _ = await self.post({**made, "id": f"s{number}"}, self.host(toolbox))
            for (name, _), count in toolbox.counts.items():
                (text,) = [m["content"] for m in session["messages"] if m["role"] == "tool"]
                args = json.loads(text.removeprefix(f"{name} did "))
                if count != 1 or not said_yes(made, name, args):
                    self.fail(f"{name} ran {count} times with {args} by {json.dumps(made)}")

    async def test_attacks_on_the_tools_of_a_server(self) -> None:
        """Real tools and their real policies, with the ceiling as it is and at `ask`."""
        args = {"path": "a.txt", "content": "x"}
        city: Any = {
            "id": "int-c1",
            "reason": "input_required",
            "call_id": "c1",
            "tool": "ask_user",
        }
        city |= {"message": "Which city do you like best?", "response_schema": {"type": "string"}}
        with tempfile.TemporaryDirectory() as folder:
            for ceiling, name in itertools.product(("auto", "ask"), ("write_file", "shell")):
                server = copy.deepcopy(DEFAULTS["server"])
                server["sandbox"]["require"] = "none"
                server["tools"] = {name: {"ceiling": ceiling}}
                toolbox = Toolbox(Config(server, DEFAULTS["session"], Path(folder)))
                self.addAsyncCleanup(toolbox.close)
                call = call_of(name, canonical(args if name == "write_file" else {"command": "id"}))
                config: Any = copy.deepcopy(DEFAULTS["session"]["config"])
                session: Session = {"config": config, "grants": [], "messages": [], "calls": {}}
                mark = toolbox.verdict(session, call).fingerprint
                question = {"keys": ["a"], "message": city["message"]}
                entry = {"name": name, "attempt": 1, "fingerprint": mark}
                waits = {**entry, "state": "waiting", "input": question}
                for about, calls, asked, moved_on in (
                    ("a question", waits, {**city, **yes("Paris")}, False),
                    ("a question, declined", waits, {**city, **answer("x", "declined")}, False),
                    ("a question, left", waits, {**city, **answer("x", "cancelled")}, False),
                    ("a question, thanks", waits, city, True),
                    ("started", {**entry, "state": "started"}, None, False),
                    ("started, thanks", {**entry, "state": "started"}, None, True),
                    ("done, thanks", {**entry, "state": "done"}, None, True),
                    ("its arguments", {"state": "started", "args": args}, None, True),
                    ("lost", {**entry, "state": "indeterminate"}, lost(name, NICE), False),
                    ("another tool", {**entry, "state": "asking"}, shown("datetime", {}), False),
                    ("other arguments", {**entry, "state": "asking"}, shown(name, NICE), False),
                    ("nothing shown", {**entry, "state": "asking"}, shown(None, None), False),
                ):
                    with self.subTest(about, tool=name, ceiling=ceiling):
                        made = document(name, calls, [asked] if asked else [], moved_on=moved_on)
                        made["messages"][1]["tool_calls"] = [call]
                        session, found = await self.post(made, self.host(toolbox))
                        self.assertNotIn(EXEC, found)
                        for each in session["interrupts"]:
                            self.assertEqual(each["tool"], name)
                            self.assertNotIn("answer", each)


def yes(payload: Any) -> Any:
    return {"answer": {"status": "resolved", "payload": payload}}


def shown(tool: str | None, args: Any) -> Any:
    asked = {"id": "int-c1", "reason": "tool_call", "call_id": "c1", "message": f"Allow {tool}?"}
    about = {} if tool is None else {"tool": tool, "args": args}
    return {**asked, **about, **yes({"approved": True})}


def lost(tool: str, args: Any) -> Any:
    asked = {"id": "int-c1", "reason": "indeterminate", "call_id": "c1", "tool": tool}
    return {**asked, "args": args, "message": f"{LOST} What now?", **yes({"action": "retry"})}


if __name__ == "__main__":
    unittest.main()
