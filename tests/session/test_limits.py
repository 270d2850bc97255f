"""What the runs of a key may use at most."""

from __future__ import annotations

import copy
import unittest
from typing import Any

from server.session.limits import LimitCeilings, cap_limits, extend_limits, narrow_limits

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

    def test_what_a_person_adds_is_at_once_at_most_the_ceiling(self) -> None:
        for limits, counters, extended, wanted in (
            ({"max_steps": 5}, {"step": 5}, {"max_steps": 3}, {"max_steps": 8}),
            ({"max_steps": 5}, {"step": 5}, {"max_steps": 99}, {"max_steps": 15}),
            ({"max_steps": 5}, {"step": 0}, {"max_steps": 99}, {"max_steps": 10}),
            ({"max_steps": 10}, {"step": 0}, {"max_steps": 10}, {"max_steps": 10}),
            ({"max_steps": 5}, {"step": 5}, {}, {"max_steps": 5}),
            ({"max_wall_s": 9}, {"wall_ms": 9000}, {"max_wall_s": 50}, {"max_wall_s": 29}),
            ({"max_tokens": 9}, {"tokens": 9}, {"max_tokens": 50}, {"max_tokens": 59}),
            ({"max_tokens": None}, {"tokens": 9}, {"max_tokens": 50}, {"max_tokens": None}),
        ):
            run: Any = {**counters, "extended": extended}
            ceilings = {"max_steps": 10, "max_wall_s": 20, "max_tokens": None}
            with self.subTest(limits=limits, run=run):
                self.assertEqual(extend_limits(limits, run, ceilings), wanted)

    def test_two_keys_of_one_person(self) -> None:
        keys = [("ann", {"session": {"max_steps": 5}}), ("ann", {"session": {"max_steps": 7}})]
        made = LimitCeilings.of_keys(SERVER, keys)
        self.assertEqual(made.of("ann")["session"]["max_steps"], 5)
        self.assertIs(made.of("bob"), SERVER)


if __name__ == "__main__":
    unittest.main()
