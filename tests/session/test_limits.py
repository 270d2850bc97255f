"""What the runs of a key may use at most."""

from __future__ import annotations

import copy
import unittest
from typing import Any

from server.session.limits import LimitCeilings, cap_limits, narrow_limits

SERVER: dict[str, Any] = {
    "max_runs": 8,
    "max_values": 100,
    "max_parallel_calls": 4,
    "session": {"max_steps": 10, "max_tokens": None},
    "tool": {"memory_mb": 512, "wall_s": 30},
}


class Narrowing(unittest.TestCase):
    def test_capped(self) -> None:
        under = cap_limits({"a": 3, "b": None}, {"a": 2, "b": 5, "c": 1})
        self.assertEqual(under, {"a": 2, "b": 5, "c": 1})
        self.assertEqual(cap_limits({"a": 3}, {"a": None}, {"a": 9}), {"a": 3})

    def test_a_key_only_narrows(self) -> None:
        before = copy.deepcopy(SERVER)
        wide = {"max_values": 999, "session": {"max_steps": 99, "max_tokens": None}}
        self.assertEqual(narrow_limits(SERVER, wide, {"tool": {"memory_mb": 4096}}), SERVER)
        close = {"session": {"max_steps": 0, "max_tokens": 7}, "tool": {"wall_s": 1}}
        found = narrow_limits(SERVER, close, {"max_parallel_calls": 1, "max_runs": 1})
        self.assertEqual(found["session"], {"max_steps": 0, "max_tokens": 7})
        self.assertEqual(found["tool"], {"memory_mb": 512, "wall_s": 1})
        self.assertEqual((found["max_parallel_calls"], found["max_runs"]), (1, 8))
        self.assertEqual(SERVER, before)

    def test_two_keys_of_one_person(self) -> None:
        keys = [("ann", {"session": {"max_steps": 5}}), ("ann", {"session": {"max_steps": 7}})]
        made = LimitCeilings.of_keys(SERVER, keys)
        self.assertEqual(made.of("ann")["session"]["max_steps"], 5)
        self.assertIs(made.of("bob"), SERVER)


if __name__ == "__main__":
    unittest.main()
