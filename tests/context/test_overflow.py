"""The stop before a request that is too large, and what could be done."""

from __future__ import annotations

import copy
import unittest
from typing import Any

from server.context.budget import budget_of
from server.context.compact import interrupt

from ..fakes import DEFAULTS, user


class Overflow(unittest.TestCase):
    tools: Any = ()

    def told(self, observed: int, window: int | None = None, **context: Any) -> Any:
        config = copy.deepcopy(DEFAULTS["session"]["config"])
        config["context"] |= context
        ops = [{"op": "pin", "ids": ["u1", "gone"]}]
        session: Any = {"messages": [user("x")], "config": config, "context": {"ops": ops}}
        budget = budget_of(session, "m", {"max_context": window})
        largest = [{"id": "u1", "role": "user", "tokens": 9}]
        return interrupt(session, budget, largest, observed, self.tools)

    def test_each_cause_has_its_remedies(self) -> None:
        last = ["unpin", "shorten"]
        cases: list[tuple[int, int | None, Any, str, list[str]]] = [
            (200, None, {"budget": 100}, "budget", ["raise_budget", *last]),
            (200, 300, {"budget": 100}, "budget", ["raise_budget", *last]),
            (400, 300, {"budget": 100}, "budget", [*last, "choose_model"]),
            (400, 300, {"enabled": False}, "window", ["enable_context", *last, "choose_model"]),
            (200, None, {"budget": 100, "strategies": [], "exempt_tools": ["a"]}, "budget",
             ["raise_budget", "enable_strategies", "unpin", "clear_exempt_tools", "shorten"]),
        ]  # fmt: skip
        for observed, window, context, bound, actions in cases:
            with self.subTest(actions=actions, observed=observed):
                found = self.told(observed, window, **context)
                self.assertEqual((found["bound"], found["observed"]), (bound, observed))
                self.assertEqual([each["action"] for each in found["remedies"]], actions)
                self.assertEqual(found["remedies"][actions.index("unpin")]["ids"], ["u1"])
                self.assertIn(str(observed), found["message"])

    def test_tools_that_take_most_of_it_are_named_first(self) -> None:
        function = {"name": "f", "description": "words " * 200}
        self.tools = [{"type": "function", "function": function}] * 50
        found = self.told(20_000, 30_000, budget=10_000)
        first = found["remedies"][0]
        self.assertEqual((first["action"], first["count"]), ("offer_fewer_tools", 50))
        self.assertGreater(first["tokens"], 10_000)
        self.assertIn(f"the 50 there are take about {first['tokens']} tokens", found["message"])
        self.assertIn("tool_detail", found["message"])
        found = self.told(200_000, 30_000, budget=10_000)  # messages are the larger part
        self.assertNotIn("offer_fewer_tools", [each["action"] for each in found["remedies"]])


if __name__ == "__main__":
    unittest.main()
