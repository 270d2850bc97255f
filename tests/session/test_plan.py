"""The plan: made, kept, told, and never broken by what a stranger's document holds."""

from __future__ import annotations

import unittest
from typing import Any

from server.json_types import Plan, Session
from server.session import plan

from ..fakes import user


def task(number: str, title: str, status: str = "todo", **more: Any) -> Any:
    return {"id": number, "title": title, "status": status, **more}


class Plans(unittest.TestCase):
    def test_made_and_made_anew(self) -> None:
        first = plan.set_plan({}, " All\nread ", ["Read", " Write\n it "])
        self.assertEqual(
            first, {"goal": "All read", "tasks": [task("1", "Read"), task("2", "Write it")]}
        )
        done = plan.update({"plan": first}, "1", "completed", "two files")
        anew = plan.set_plan({"plan": done}, "More", ["Look", "Read", "Read"])
        read = task("2", "Read", "completed", result="two files")
        self.assertEqual(anew["tasks"], [task("1", "Look"), read, task("3", "Read")])

    def test_told(self) -> None:
        made: Any = {"tasks": [task("1", "a", "completed", result="b"), task("2", "c", "odd")]}
        self.assertEqual(plan.plan_text(made), "[x] 1. a: b\n[?] 2. c")
        made["goal"] = "目标"
        self.assertEqual(plan.plan_text(made), "Goal: 目标\n[x] 1. a: b\n[?] 2. c")

    def test_the_goal_of_a_strangers_plan(self) -> None:
        plans: list[Any] = [None, {}, {"goal": 1}, {"goal": "x" * 2_001}, {"goal": ["a"]}]
        for odd in plans:
            with self.subTest(str(odd)[:20]):
                self.assertEqual(plan.goal_of({"plan": odd}), "")
        made = plan.set_plan({}, "b", ["a"])
        self.assertEqual(plan.update({"plan": made}, "1", "completed")["goal"], "b")
        old: Plan = {"tasks": [task("1", "a")]}
        self.assertNotIn("goal", plan.update({"plan": old}, "1", "completed"))

    def test_refused(self) -> None:
        made = plan.set_plan({}, "b", ["a"])
        for tasks in ([], ["a"] * (plan.MAX_TASKS + 1), ["a", "  "]):
            with self.assertRaises(plan.BadPlan):
                plan.set_plan({}, "b", tasks)
        with self.assertRaises(plan.BadPlan) as caught:
            plan.set_plan({}, " \n", ["a"])
        self.assertIn("goal", str(caught.exception))
        sessions: list[tuple[Session, str]] = [({}, "plan_set"), ({"plan": made}, "there are 1")]
        for session, said in sessions:
            with self.assertRaises(plan.BadPlan) as caught:
                plan.update(session, "7" * 9999, "todo")
            self.assertIn(said, str(caught.exception))
            self.assertLess(len(str(caught.exception)), 200)

    def test_a_strangers_plan(self) -> None:
        whole = task("1", "a")
        odd: list[Any] = [None, {}, {"tasks": 1}, {"tasks": [1, {"id": 1}, whole, {"id": "2"}]}]
        found = [plan.tasks_of({"plan": each}) for each in odd]
        self.assertEqual(found, [[], [], [], [whole]])
        long: Any = {
            "tasks": [{**whole, "title": "x" * 2_001}, {**whole, "result": "x" * 2_001}, whole]
        }
        self.assertEqual(plan.tasks_of({"plan": long}), [whole])

    def test_nothing_is_changed_in_place(self) -> None:
        made = plan.set_plan({}, "b", ["a"])
        plan.update({"plan": made}, "1", "failed", "no")
        self.assertEqual(made, {"goal": "b", "tasks": [task("1", "a")]})

    def test_failed(self) -> None:
        def told(result: Any, name: str = "plan_update") -> Any:
            return {"role": "tool", "name": name, "result": {"status": "ok", "result": result}}

        failed = told(task("2", "fly", "failed", result="no wings"))
        cases: list[tuple[str, list[Any], str]] = [
            ("none", [user("go")], ""),
            ("one", [user("go"), failed, told("x", "add")], "task 2, fly, failed: no wings"),
            ("without a reason", [told(task("2", "fly", "failed"))], "task 2, fly, failed"),
            ("the user has spoken since", [failed, user("go on")], ""),
            ("another status", [told(task("2", "fly", "cancelled"))], ""),
            ("no plan of ours", [told("failed"), told(None), {"role": "tool", "name": "x"}], ""),
        ]
        for name, messages, wanted in cases:
            with self.subTest(name):
                self.assertEqual(plan.failed_task({"messages": messages}), wanted)


if __name__ == "__main__":
    unittest.main()
