"""The view: whatever the session holds, a strict provider accepts what the model is sent."""

from __future__ import annotations

import copy
import random
import unittest
from typing import Any

from server.context.view import NO_RESULT, STOPPED, pairing_errors, view


def calls(*ids: str) -> list[Any]:
    return [
        {"id": i, "type": "function", "function": {"name": "f", "arguments": "{}"}} for i in ids
    ]


def said(text: str = "", *ids: str, **more: Any) -> Any:
    return {
        "role": "assistant",
        "content": text,
        **({"tool_calls": calls(*ids)} if ids else {}),
        **more,
    }


def result(call_id: str, text: str = "x") -> Any:
    return {"role": "tool", "tool_call_id": call_id, "content": text}


USER: Any = {"role": "user", "content": "go"}


class View(unittest.TestCase):
    def roles(self, *messages: Any) -> list[str]:
        seen = view({"messages": list(messages)})
        self.assertEqual(pairing_errors(seen), [])
        return [m["role"] if m["role"] != "tool" else m["tool_call_id"] for m in seen]

    def test_what_is_left_out_and_repaired(self) -> None:
        cases: list[tuple[str, list[Any], list[str]]] = [
            ("errors", [USER, {"role": "error", "content": "x"}], ["user"]),
            ("cut messages and their calls", [USER, said("hal", "c", open=True)], ["user"]),
            ("empty answers", [USER, said("")], ["user"]),
            (
                "order of calls",
                [USER, said("", "a", "b"), result("b"), result("a")],
                ["user", "assistant", "a", "b"],
            ),
            (
                "second results",
                [USER, said("", "a"), result("a"), result("a")],
                ["user", "assistant", "a"],
            ),
            ("results of no call", [USER, result("z")], ["user"]),
            (
                "a result before its call",
                [USER, result("a"), said("", "a")],
                ["user", "assistant", "a"],
            ),
            (
                "late results",
                [USER, said("", "a"), USER, result("a")],
                ["user", "assistant", "a", "user"],
            ),
            (
                "calls that are no model's",
                [{**USER, "tool_calls": calls("a")}, result("a")],
                ["user"],
            ),
            (
                "the same in a history that says texts alone",
                [said("x"), {**USER, "tool_calls": calls("a")}],
                ["assistant", "user"],
            ),
            (
                "an answer that the user stopped",
                [USER, said("hal", "c", open=True), {"role": "error", "content": "x"}, USER],
                ["user", "assistant", "user"],
            ),
            (
                "one that the model has begun again",
                [USER, said("hal", open=True), said("hallo"), USER],
                ["user", "assistant", "user"],
            ),
            (
                "one that was begun again and stopped",
                [USER, said("hal", open=True), said("ha", open=True), USER],
                ["user", "assistant", "user"],
            ),
            ("one of which nothing was seen", [USER, said("", "c", open=True), USER], ["user"] * 2),
            (
                "what a user did not end",
                [USER, said("x"), {**USER, "open": True}],
                ["user", "assistant"],
            ),
            (
                "system messages stay",
                [{"role": "system", "content": "x"}, USER],
                ["system", "user"],
            ),
        ]
        for name, messages, expected in cases:
            with self.subTest(name):
                self.assertEqual(self.roles(*messages), expected)

    def test_what_the_user_saw_of_a_stopped_answer_is_marked(self) -> None:
        stopped = said("One, two,", "c", id="m2", open=True)
        messages = [USER, stopped, {**USER, "content": "shorter"}]
        seen = view({"messages": messages})
        self.assertEqual(
            seen[1], {"id": "m2", "role": "assistant", "content": f"One, two,\n\n{STOPPED}"}
        )
        self.assertTrue(stopped["open"], "the session keeps it as it is")

    def test_a_call_without_result_gets_one(self) -> None:
        seen = view({"messages": [USER, said("", "a"), result("b")]})
        self.assertEqual(seen[-1]["content"], NO_RESULT)

    def test_first_result_wins(self) -> None:
        seen = view({"messages": [said("", "a"), result("a", "one"), result("a", "two")]})
        self.assertEqual(seen[-1]["content"], "one")

    def test_the_last_runs_only(self) -> None:
        """A18: of 25 runs the model sees the last 20, calls and results whole; the session keeps
        all of them."""
        messages: list[Any] = []
        for run in range(25):
            call = f"c{run}"
            messages += [{"role": "user", "content": f"run {run}"}, said("", call), result(call)]
            messages.append(said(f"end {run}"))
        before = copy.deepcopy(messages)
        for runs, first, seen in (
            (20, "run 5", 80),
            (1, "run 24", 4),
            (25, "run 0", 100),
            (26, "run 0", 100),
            (None, "run 0", 100),
            (0, "run 0", 100),
            (True, "run 0", 100),
        ):
            with self.subTest(runs=runs):
                config: Any = {"context": {"window_runs": runs}}
                shown = view({"messages": messages, "config": config})
                self.assertEqual((shown[0]["content"], len(shown)), (first, seen))
                self.assertEqual(pairing_errors(shown), [])
                self.assertEqual(messages, before)

    def test_any_history_is_well_paired_and_its_prefix_stable(self) -> None:
        for seed in range(500):
            random_ = random.Random(seed)
            messages: list[Any] = []
            number = 0
            before: list[Any] = []
            for _ in range(random_.randrange(1, 25)):
                kind = random_.randrange(6)
                if kind == 0:
                    more = {"tool_calls": calls("c0")} if random_.random() < 0.1 else {}
                    messages.append({**USER, **more})
                elif kind < 3:
                    ids = [f"c{number + i}" for i in range(random_.randrange(3))]
                    number += len(ids)
                    messages.append(said(random_.choice(["", "x"]), *ids))
                else:
                    messages.append(result(f"c{random_.randrange(8)}"))
                self.assertEqual(pairing_errors(view({"messages": messages})), [], seed)
                if kind == 0:  # between turns, what was said before is said the same
                    seen = view({"messages": messages})
                    settled = [m for m in before if m.get("content") != NO_RESULT]
                    if settled == before:
                        self.assertEqual(seen[: len(before)], before, seed)
                    before = seen if NO_RESULT not in [m.get("content") for m in seen] else []

    def test_the_validator_looks_each_result_up(self) -> None:
        compared = 0

        class Id(str):
            __hash__ = str.__hash__

            def __eq__(self, other: object) -> bool:
                nonlocal compared
                compared += 1
                return str.__eq__(self, other)

        calls = [{"id": Id(f"c{number}"), "function": {"name": "f"}} for number in range(200)]
        results = [
            {"role": "tool", "tool_call_id": f"c{number}"} for number in reversed(range(200))
        ]
        answer: Any = {"role": "assistant", "content": "", "tool_calls": calls}
        messages: Any = [answer, *results]
        self.assertEqual(pairing_errors(messages), [])
        self.assertLess(compared, 1_000)  # each with every other: 40,000

    def test_the_validator_sees_what_providers_refuse(self) -> None:
        cases: list[tuple[str, list[Any]]] = [
            ("dangling", [said("", "a")]),
            ("dangling before more", [said("", "a"), USER]),
            ("orphan", [result("a")]),
            ("twice", [said("", "a"), result("a"), result("a")]),
            ("reused id", [said("", "a"), result("a"), said("", "a"), result("a")]),
            ("role", [{"role": "error", "content": ""}]),
        ]
        for name, messages in cases:
            with self.subTest(name):
                self.assertTrue(pairing_errors(messages))


if __name__ == "__main__":
    unittest.main()
