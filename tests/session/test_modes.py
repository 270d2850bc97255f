"""Modes: their names, and what of a call's place in the run they allow."""

from __future__ import annotations

import unittest
from typing import Any

from server.session.config_schema import CONFIG
from server.session.modes import (
    MODES,
    call_places,
    calls_used,
    catalog,
    is_exhausted,
    mode_named,
    mode_of,
    refuse_beyond,
)

from ..fakes import user


def call(call_id: str, name: str = "t") -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": "{}"}}


def said(message_id: str, *calls: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"id": message_id, "role": "assistant", "content": "", "tool_calls": [*calls], **more}


def session(*messages: dict[str, Any], **calls: str) -> Any:
    return {
        "messages": [*messages],
        "calls": {name: {"state": state} for name, state in calls.items()},
        "run": {},
        "config": {"yaa": {}},
    }


class Names(unittest.TestCase):
    def test_each_is_told_with_what_it_does(self) -> None:
        told = {one["name"]: one["description"] for one in catalog()}
        self.assertEqual(list(told), list(MODES))
        self.assertEqual(len(set(told.values())), len(MODES))
        self.assertEqual(told["plain"], "One tool at most, then the answer.")

    def test_every_alias(self) -> None:
        cases = {
            "plain": ("plain", "PLAIN", "PLAIN_CONTENT", "plain-content", "Oneshot", " plain "),
            "react": ("react", "RE_ACT", "re-act", "ReAct", "THINKING_AND_CONTENT"),
            "plan_execute": (
                *("plan_execute", "PLAN_EXECUTE", "plan-execute", "planExecute"),
                *("plan_and_execute", "THINKING_AND_CONTENT_WITH_DUAL_TOOL_CALLS"),
            ),
            "free": ("", "auto", "free"),
        }
        self.assertEqual(set(cases), set(MODES))
        for name, spellings in cases.items():
            for spelling in spellings:
                with self.subTest(spelling):
                    found = mode_named(spelling)
                    assert found is not None
                    self.assertEqual(found.name, name)
        for wrong in ("fast", "plain2", "re act", "reactt"):
            self.assertIsNone(mode_named(wrong))

    def test_an_unknown_one_is_refused_with_those_there_are(self) -> None:
        mode = CONFIG.fields["yaa"].fields["mode"]
        self.assertEqual(
            [mode.fits(x) for x in ("RE_ACT", "", None, "fast", 1)], [True] * 3 + [False] * 2
        )
        self.assertEqual(mode.words, "one of free, plain, react, plan_execute")

    def test_the_session_then_its_agent(self) -> None:
        for own, agents, wanted in (
            (None, None, "free"),
            ("", "react", "react"),
            ("plain", "react", "plain"),
            ("auto", "react", "free"),
        ):
            made = session()
            made["config"] = {"yaa": {"mode": own}, "agent": {"mode": agents}}
            self.assertEqual(mode_of(made).name, wanted)


class Beyond(unittest.TestCase):
    def skipped(self, mode: str, made: Any) -> list[str]:
        found = []
        for message in made["messages"]:
            for each in message.get("tool_calls") or ():
                before = calls_used(MODES[mode], made)
                if reply := refuse_beyond(
                    MODES[mode], made, each, message, before, call_places(message)
                ):
                    self.assertEqual((reply.state, reply.status), ("skipped", "skipped"))
                    found.append(each["id"])
        return found

    def test_places(self) -> None:
        a, b, end = call("a"), call("b"), call("e", "finish")
        cut = said("m0", call("x"), open=True)
        result = {"id": "r", "role": "tool", "tool_call_id": "a", "content": "", "name": "t"}
        cases: list[tuple[str, str, dict[str, Any], list[str]]] = [
            ("free", "two at once", session(user("go"), said("m", a, b)), []),
            ("plan_execute", "two at once", session(user("go"), said("m", a, b)), []),
            ("react", "two at once", session(user("go"), said("m", a, b)), ["b"]),
            ("react", "finish uses nothing", session(user("go"), said("m", end, a, b)), ["b"]),
            ("react", "round by round", session(user("go"), said("m", a), said("n", b)), []),
            ("react", "asked already", session(user("go"), said("m", a, b), b="asking"), []),
            ("react", "begun already", session(user("go"), said("m", a, b), b="started"), []),
            ("plain", "two at once", session(user("go"), said("m", a, b)), ["b"]),
            ("plain", "a second round", session(user("go"), said("m", a), said("n", b)), ["b"]),
            ("plain", "finish in it", session(user("go"), said("m", a), said("n", end)), []),
            ("plain", "a cut answer", session(user("go"), cut, said("m", a)), []),
            (
                "plain",
                "a new question",
                session(user("go"), said("m", a), result, user("more", "u2"), said("n", b)),
                [],
            ),
        ]
        for mode, name, made, wanted in cases:
            with self.subTest(f"{mode}, {name}"):
                for message in made["messages"][:-1]:  # what is before was decided then
                    for each in message.get("tool_calls") or ():
                        made["calls"].setdefault(each["id"], {"state": "done"})
                self.assertEqual(self.skipped(mode, made), wanted)

    def test_nothing_of_a_sum_is_run(self) -> None:
        for mode in MODES:
            made = session(user("go"), said("m", call("a"), call("e", "finish")))
            made["run"]["summary"] = "m"
            self.assertEqual(self.skipped(mode, made), ["a", "e"])

    def test_exhausted(self) -> None:
        one = session(user("go"), said("m", call("a")))
        for mode, made, wanted in (
            ("plain", one, True),
            ("plain", session(user("go"), said("m", call("e", "finish"))), False),
            ("plain", session(user("go")), False),
            ("react", one, False),
        ):
            self.assertEqual(is_exhausted(MODES[mode], made), wanted)


if __name__ == "__main__":
    unittest.main()
