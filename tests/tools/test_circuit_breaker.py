"""Tools that keep failing, read off the messages alone."""

from __future__ import annotations

import copy
import unittest
from typing import Any

from server.tools.policy import Failures

USER = {"id": "u", "role": "user", "content": "go"}


def run(*results: tuple[str, str, str]) -> Any:
    """A session whose run made these calls, one a message: (tool, arguments, status)."""
    messages: list[Any] = [USER]
    for number, (name, arguments, status) in enumerate(results):
        call = made(name, arguments, f"c{number}")
        messages.append({"id": f"a{number}", "role": "assistant", "tool_calls": [call]})
        messages.append(ended(call, status))
    return {"messages": messages}


def made(name: str, arguments: str = "{}", call_id: str = "new") -> Any:
    return {"id": call_id, "function": {"name": name, "arguments": arguments}}


def ended(call: Any, status: str) -> Any:
    message = {"role": "tool", "tool_call_id": call["id"], "name": call["function"]["name"]}
    return {**message, "is_error": status != "ok", "result": {"status": status}}


class Withheld(unittest.TestCase):
    def test_three_failures_in_a_row(self) -> None:
        bad, ok = ("a", "{}", "error"), ("a", "{}", "ok")
        cases: list[tuple[str, list[tuple[str, str, str]], set[str]]] = [
            ("nothing", [], set()),
            ("two", [bad, bad], set()),
            ("three", [bad, bad, bad], {"a"}),
            ("a success between", [bad, bad, ok, bad, bad], set()),
            ("another tool between", [bad, bad, ("b", "{}", "ok"), bad], {"a"}),
            ("every kind", [("a", "{}", s) for s in ("timeout", "limit", "error")], {"a"}),
            ("bad arguments", [("a", "{", "invalid_arguments")] * 3, {"a"}),
            ("denials", [("a", "{}", "denied")] * 9, set()),
            ("a denial between changes nothing", [bad, bad, ("a", "", "denied"), bad], {"a"}),
            ("its refusals change nothing", [bad, bad, bad, ("a", "{}", "not_found")], {"a"}),
        ]
        for name, results, found in cases:
            with self.subTest(name):
                session = run(*results)
                before = copy.deepcopy(session)
                self.assertEqual(Failures(session).withheld_tools(), found)
                self.assertEqual(session, before)

    def test_a_new_question_begins_anew(self) -> None:
        session = run(*[("a", "{}", "error")] * 3)
        session["messages"].append(USER)
        self.assertEqual(Failures(session).withheld_tools(), set())

    def test_calls_of_the_same_message_are_not_refused(self) -> None:
        calls: Any = [made("a", "{}", f"c{number}") for number in range(4)]
        messages: list[Any] = [USER, {"role": "assistant", "tool_calls": calls}]
        messages += [ended(call, "error") for call in calls[:3]]
        self.assertEqual(Failures({"messages": messages}).withheld_tools(), {"a"})
        failures = Failures({"messages": messages})
        self.assertFalse(failures.is_withheld(calls[3]))
        self.assertTrue(failures.is_withheld(made("a")))
        self.assertFalse(failures.is_withheld(made("b")))

    def test_results_without_envelope(self) -> None:
        session = run(*[("a", "{}", "error")] * 3)
        for message in session["messages"]:
            message.pop("result", None)
        self.assertEqual(Failures(session).withheld_tools(), {"a"})


class Notes(unittest.TestCase):
    def test_repetition(self) -> None:
        one = ("a", '{"x": 1, "y": 2}', "error")
        cases: list[tuple[str, list[tuple[str, str, str]], str]] = [
            ("first", [], ""),
            ("second, written otherwise", [one], "failed 2 times now"),
            ("other arguments", [("a", '{"x": 2}', "error")], ""),
            ("other tool", [("b", one[1], "error")], ""),
            ("third", [one, one], "failed 3 times now"),
            ("third of the tool", [("a", "1", "error"), ("a", "2", "limit")], "withheld"),
            ("after a success", [one, (*one[:2], "ok")], ""),
            ("broken JSON", [("a", "{", "invalid_arguments")], ""),
        ]
        for name, results, wanted in cases:
            with self.subTest(name):
                found = Failures(run(*results)).failure_note(made("a", '{"y":2,"x":1.0}'))
                self.assertIn(wanted, found)
                self.assertEqual(bool(found), bool(wanted))
        before = Failures(run(("a", "{", "invalid_arguments")))
        self.assertIn("2 times", before.failure_note(made("a", "{")))


if __name__ == "__main__":
    unittest.main()
