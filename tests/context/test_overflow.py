"""The stop before a request that is too large, and what could be done."""

from __future__ import annotations

import copy
import unittest
from typing import Any

from server.context.budget import budget_of
from server.context.compact import interrupt

from ..fakes import DEFAULTS, user


class Overflow(unittest.TestCase):
    def told(self, observed: int, window: int | None = None, **context: Any) -> Any:
        config = copy.deepcopy(DEFAULTS["session"]["config"])
        config["context"] |= context
        ops = [{"op": "pin", "ids": ["u1", "gone"]}]
        session: Any = {"messages": [user("x")], "config": config, "context": {"ops": ops}}
        budget = budget_of(session, "m", {"max_context": window})
        return interrupt(session, budget, [{"id": "u1", "role": "user", "tokens": 9}], observed)

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


if __name__ == "__main__":
    unittest.main()
